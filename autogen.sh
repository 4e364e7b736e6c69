#!/bin/sh
# Make configure from configure.ac; only needed in a checkout of the repository.
set -e
cd "$(dirname "$0")"
mkdir -p m4 build-aux
autoreconf --install --force "$@"
