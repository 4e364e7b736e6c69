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
if [ "$("$BIN/aside" ring)" = "a 11 ring 1" ]; then
	launch -e a:w -- "$BIN/aside" ring
	is "io_uring: the program is as it was" "$status $(cat "$tmp/prof.out")" "4 a 11 ring 1"
	is "io_uring: counted until then" "$(rows "$tmp/report" a:w)" "1 main"
	is "io_uring: it is told" "$(field "$tmp/report" complete) $(echo "$message" | grep -c 'warning: the target has begun to use asynchronous')" "no 1"
else
	skip "io_uring" "this kernel has none, or forbids it"
fi
done_testing
