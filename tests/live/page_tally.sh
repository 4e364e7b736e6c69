# page_tally.sh: what 20,000 accesses to a shut page ask of the system, once their paths are known.
. "$(dirname "$0")/lib.sh"
hits=${TALLY_HITS:-20000}

# tally STACK HOW: run, and fail unless all accesses were counted.
tally() {
	rm -f "$tmp/tally"
	LD_PRELOAD="$BIN/libtally.so" TALLY_FILE="$tmp/tally" TALLY_CONTS="$hits" \
		"$WATCHPROF" --report=tsv -o "$tmp/report" --stack="$1" -e v:rw -- "$BIN/page_tally" "$2" $((hits + 2000)) >"$tmp/out" 2>&1
	is "$2, --stack=$1: all hits" "$(total "$tmp/report" v:rw)" $((hits + 2000))
}

# count NAME: how often it was called.
count() {
	awk -v name="$1" '$1 == name { print $2 }' "$tmp/tally"
}

# costs WHAT REQUESTS READS WRITES: so many for each access, and nothing else.
costs() {
	is "$1: requests to the thread" "$(count ptrace)" $((hits * $2))
	is "$1: reads of its memory" "$(count pread)" $((hits * $3))
	is "$1: writes into it" "$(count pwrite)" $((hits * $4))
	is "$1: in no other way" "$(count process_vm_readv)" 0
	is "$1: no memory is allocated, no file opened, no signal masked" "$(count allocate) $(count open) $(count map) $(count sigmask)" "0 0 0 0"
}

if ldd "$PROGRAM" 2>/dev/null | grep -q asan; then
	skip "system calls of $hits accesses" "a sanitizer counts allocations itself"
	done_testing
	exit
fi
# GETSIGINFO, GETREGS, POKEUSER of the instruction pointer or SETREGS, SYSCALL. The instruction is read; what it wrote or read is the
# value.
tally 0 write
costs "a write" 4 1 1
tally 0 read
costs "a read" 4 2 0
tally 0 add
costs "an addition" 4 2 1
tally 32 write
costs "a write, with its path" 4 2 1
done_testing
