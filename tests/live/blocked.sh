# blocked.sh: while a thread sleeps in a system call on the watched page, another one's accesses to it are all counted, and the call
# brings what it brings unwatched. ENGINE: value of --engine.
. "$(dirname "$0")/lib.sh"
hits=${BLOCKED_HITS:-300}

alone=$("$BIN/blocked" "$hits")
kinds=$(echo "$alone" | wc -l)
out=$("$WATCHPROF" -q --engine="${ENGINE:-auto}" --report=tsv -o "$tmp/report" -e box.count:w -- "$BIN/blocked" "$hits" 2>&1)
is "$((kinds)) calls bring what they bring alone" "$out" "$alone"
is "every access is counted" "$(rows "$tmp/report" box.count:w)" "$((hits * kinds)) count_run"
done_testing
