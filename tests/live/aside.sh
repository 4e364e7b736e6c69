# aside.sh: what the page engine cannot do well, it tells: a neighbour that is busy, and a kernel that works in memory by itself.
. "$(dirname "$0")/lib.sh"

if [ $ENGINE != page ]; then
	skip "what the page engine tells" "it is another engine"
	done_testing
	exit
fi
launch -e a:w -- "$BIN/aside"
is "a busy neighbour: the count" "$status $(rows "$tmp/report" a:w)" "4 1 main"
is "a busy neighbour: how often" "$(field "$tmp/report" neighbours | awk '{ print ($1 >= 3000) }')" 1
matches "a busy neighbour: a warning" "$message" \
	"watchprof: warning: [0-9]* of [0-9]* stops were accesses to other variables in the same pages*"
# taken MODE WATCH NAME: from some point on the kernel works in the page by itself.
taken() {
	if [ "$("$BIN/aside" "$1")" != "a 11 ring 1" ]; then
		skip "$3" "this kernel has none, or forbids it"
		return
	fi
	launch -e "$2" -- "$BIN/aside" "$1"
	is "$3: the program is as it was" "$status $(cat "$tmp/prof.out")" "4 a 11 ring 1"
	is "$3: counted until then" "$(rows "$tmp/report" "$2")" "1 main"
	is "$3: it is told" "$(field "$tmp/report" complete) $(echo "$message" | grep -c 'warning: the target has begun to use asynchronous')" "no 1"
}

taken ring a:w io_uring
taken dispatch a:rw "system calls dispatched"
# Who only writes there is shut out: the kernel only reads.
launch -e a:w -- "$BIN/aside" dispatch
is "system calls dispatched, writes watched: all are counted" "$status $(rows "$tmp/report" a:w) $(field "$tmp/report" complete)" "4 11 main yes"
done_testing
