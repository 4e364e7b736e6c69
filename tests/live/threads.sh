# threads.sh: every thread counts exactly, found or born later.
. "$(dirname "$0")/lib.sh"

runs=${CROWD_RUNS:-10}
i=1
while [ "$i" -le "$runs" ]; do
	target "$BIN/crowd" 4 4 10000
	attach --stack=0 -e v:w
	go
	wait "$prof"
	is "4 threads before and 4 after the attach, run $i of $runs: 80000" \
		"$(rows "$tmp/report" v:w)" "80000 write_one"
	i=$((i + 1))
done
is "all nine threads were armed" "$(field "$tmp/report" threads_armed)" 9
is "four of them were born while watched" "$(field "$tmp/report" threads_born)" 4

target "$BIN/crowd" 4 4 100
attach -e v:w
"$WATCHPROF" --report=json -o "$tmp/json" -p "$target" -e v:w 2>"$tmp/second.err"
is "a second watchprof is refused: status" $? 125
matches "a second watchprof is refused: the tracer is named" "$(cat "$tmp/second.err")" \
	"watchprof: process $target is already traced by process * (watchprof), and a process has one tracer;*"
go
wait "$prof"
is "the first one is not disturbed" "$(rows "$tmp/report" v:w)" "800 write_one"

target "$BIN/crowd" 1 50 20
attach -e v:w
go
wait "$prof"
is "50 short threads after the attach" "$(rows "$tmp/report" v:w)" "1020 write_one"

(echo go) | "$WATCHPROF" --report=json -o "$tmp/json" -e v:w -- "$BIN/crowd" 2 2 250 >/dev/null
is "json: each thread has its own count" "$(tr -d ' \n' <"$tmp/json" |
	sed 's/.*"threads":\[//; s/\].*//' | tr '}' '\n' | grep -c '"hits":250,')" 4
done_testing
