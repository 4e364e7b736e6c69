# lib.sh: what the scripts beside it share: packages and the build. Quiet about what
# goes well: the output of each step is kept and shown only if the step fails.
top=$(cd "$(dirname "$0")/.." && pwd)
build=${WATCHPROF_BUILD:-$top/build}
log=$build/steps.log

say() {
	echo "watchprof: $*"
}

fail() {
	say "FAILED: $*"
	exit 1
}

# as_root COMMAND...
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		fail "needs root for: $* (no sudo here)"
	fi
}

# step NAME COMMAND...: run it; on failure show the end of what it said.
step() {
	name=$1
	shift
	mkdir -p "$build"
	started=$(date +%s)
	"$@" >"$log" 2>&1 </dev/null || {
		status=$?
		tail -n 60 "$log"
		fail "$name (status $status)"
	}
	say "$name: ok ($(($(date +%s) - started)) s)"
}

# What each tool is called by the package managers. The first set builds and watches, the second
# is for the tests.
apt_build="gcc libc6-dev make autoconf automake pkg-config libdw-dev libunwind-dev libncurses-dev
	libjson-c-dev libiberty-dev libzydis-dev libprotobuf-c-dev protobuf-c-compiler zlib1g-dev"
apt_test="libcmocka-dev clang libclang-rt-dev llvm gdb jq tmux screen python3 procps util-linux mandoc groff xz-utils
	dpkg-dev debhelper lintian debootstrap clang-tidy
	qemu-system-x86 busybox-static cpio bochs bochs-term bochsbios vgabios isolinux syslinux-common xorriso
	python3-jsonschema chromium
	redis-server sqlite3 python3.11 libc6-dbg libdebuginfod1 python3.11-dbg libkrb5-dbg dwz golang-go rustc g++ musl-tools"
# npm has no package of its own where node is not Debian's.
command -v npm >/dev/null || apt_test="$apt_test nodejs npm"
dnf_build="gcc make autoconf automake pkgconf-pkg-config elfutils-devel libunwind-devel ncurses-devel
	json-c-devel binutils-devel zydis-devel protobuf-c-devel protobuf-c-compiler zlib-devel"
dnf_test="python3-jsonschema chromium nodejs-npm libcmocka-devel sqlite clang llvm gdb jq tmux screen python3 procps-ng util-linux mandoc xz qemu-system-x86 busybox cpio
	bochs xorriso syslinux redis glibc-static musl-gcc"
pacman_build="gcc make autoconf automake pkgconf libelf libunwind ncurses json-c binutils zydis protobuf-c zlib"
pacman_test="python-jsonschema chromium npm cmocka sqlite clang llvm gdb jq tmux screen python procps-ng util-linux mandoc xz qemu-system-x86 busybox cpio bochs
	libisoburn syslinux redis"
zypper_build="gcc make autoconf automake pkgconf libdw-devel libunwind-devel ncurses-devel libjson-c-devel
	binutils-devel libZydis-devel libprotobuf-c-devel protobuf-c zlib-devel"
zypper_test="python3-jsonschema chromium npm libcmocka-devel clang llvm gdb jq tmux screen python3 procps util-linux mandoc xz qemu-x86 busybox-static cpio bochs
	xorriso syslinux redis glibc-devel-static"

# The ones of these Debian packages that are not installed.
apt_missing() {
	for package in "$@"; do
		dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || echo "$package"
	done
}

# The ones of these Debian packages that this release has: names with a version come and go.
apt_known() {
	apt-cache show "$@" 2>/dev/null | sed -n 's/^Package: //p' | sort -u
}

# How many words.
count() {
	echo $#
}

install_apt() {
	# A package archive may have moved on since the list was read.
	as_root apt-get install -y --no-install-recommends "$@" ||
		{ as_root apt-get update && as_root apt-get install -y --no-install-recommends "$@"; }
}

# packages build|all: install what is missing, after saying what.
packages() {
	if command -v apt-get >/dev/null; then
		wanted=$apt_build
		[ "$1" = build ] || wanted="$wanted $apt_test"
		# shellcheck disable=SC2086
		wanted=$(apt_missing $wanted)
		[ -n "$wanted" ] || return 0
		# shellcheck disable=SC2046,SC2086
		if [ "$(count $(apt_known $wanted))" -ne "$(count $wanted)" ]; then
			step "lists of packages" as_root apt-get update
			missing=$wanted
			wanted=$(apt_known $wanted)
			for package in $missing; do
				echo "$wanted" | grep -qx "$package" || say "this release has no $package; what needs it is left out"
			done
			[ -n "$wanted" ] || return 0
		fi
		say "installing:" $wanted
		export DEBIAN_FRONTEND=noninteractive
		# Debian starts a server when it is installed; the tests start their own.
		# shellcheck disable=SC2086
		step "packages" install_apt $wanted
		return
	fi
	for manager in dnf pacman zypper; do
		command -v $manager >/dev/null || continue
		eval "wanted=\$${manager}_build"
		[ "$1" = build ] || eval "wanted=\"\$wanted \$${manager}_test\""
		say "installing, where missing:" $wanted
		case $manager in
		dnf) set -- dnf install -y ;;
		pacman) set -- pacman -S --needed --noconfirm ;;
		zypper) set -- zypper --non-interactive install ;;
		esac
		# shellcheck disable=SC2086
		step "packages" as_root "$@" $wanted
		return
	done
	say "no known package manager; building with what is here (README.md lists what is needed)"
}

# configured DIR OPTION...: configure a build tree once, again if the options changed.
configured() {
	dir=$1
	shift
	[ -x "$top/configure" ] && [ "$top/configure" -nt "$top/configure.ac" ] &&
		[ "$top/Makefile.in" -nt "$top/Makefile.am" ] || step "autogen" "$top/autogen.sh"
	mkdir -p "$dir"
	[ "$(cat "$dir/options" 2>/dev/null)" = "$*" ] && [ "$dir/config.status" -nt "$top/configure" ] && return
	(cd "$dir" && step "configure${*:+ $*}" "$top/configure" --quiet "$@") || exit 1
	echo "$*" >"$dir/options"
}

jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
