# tally.sh: what 20,000 hits ask of the system once their paths are known, and what 10,000 paths take of
# memory.
. "$(dirname "$0")/lib.sh"
hits=${TALLY_HITS:-20000}
memory_hits=${MEMORY_HITS:-40000}

# The greatest size so far of watchprof's processes, in kilobytes.
worker_peak() {
	for pid in "$prof" $(cat /proc/"$prof"/task/*/children); do
		sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$pid/status"
	done | sort -n | tail -n 1
}

# tally STACK: run, and fail unless all hits were counted.
tally() {
	rm -f "$tmp/tally"
	LD_PRELOAD="$BIN/libtally.so" TALLY_FILE="$tmp/tally" TALLY_CONTS="$hits" \
		"$WATCHPROF" --report=tsv -o "$tmp/report" --stack="$1" -e v:w -- "$BIN/deep" $((hits + 2000)) >"$tmp/out" 2>&1
	is "--stack=$1: all hits" "$(total "$tmp/report" v:w)" $((hits + 2000))
}

# count NAME: how often it was called.
count() {
	awk -v name="$1" '$1 == name { print $2 }' "$tmp/tally"
}

if ldd "$WATCHPROF" 2>/dev/null | grep -q asan; then
	skip "system calls of $hits hits" "a sanitizer counts allocations itself"
	done_testing
	exit
fi
target "$BIN/deep" "$memory_hits" 10000
attach --stack=32 -e v:w
echo >&9
until_true has_line "$tmp/target.out" written
peak=$(worker_peak)
[ "${peak:-65536}" -lt 65536 ]
ok $? "$memory_hits hits on 10,000 paths take less than 64 MiB (${peak:-unknown} kB)"
go
wait "$prof"
is "and all are counted" "$(total "$tmp/report" v:w)" "$memory_hits"
is "each with its path" "$(field "$tmp/report" overrun)" 0

tally 32
is "no memory is allocated" "$(count allocate)" 0
is "no file is opened" "$(count open) $(count map)" "0 0"
is "no signal is masked" "$(count sigmask)" 0
is "stack and watched bytes are read by one call a hit" "$(count process_vm_readv)" "$hits"
# GETSIGINFO, GETREGS (PEEKUSER of RSP where frames need no more), GETSIGMASK, POKEUSER of DR6, CONT: one slot is armed, so that DR6 is not asked.
is "five requests to the thread a hit" "$(count ptrace)" $((hits * 5))
tally 0
is "without a stack, no memory is allocated" "$(count allocate)" 0
is "and no file is opened" "$(count open) $(count map)" "0 0"
# PEEKDATA reads the watched word; nothing reads the stack, nor registers, as the code says what it touched.
is "nor the stack read" "$(count process_vm_readv)" 0
is "five requests to the thread a hit, too" "$(count ptrace)" $((hits * 5))
done_testing
