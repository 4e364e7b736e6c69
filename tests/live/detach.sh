# detach.sh: on every way out the target lives and goes on, disarmed.
. "$(dirname "$0")/lib.sh"

# all_clear PID: DR7 is 0 in every one of its threads.
all_clear() {
	"$BIN/peekdr" "$1" >"$tmp/dr7" && [ -s "$tmp/dr7" ] && ! grep -v ' 0$' "$tmp/dr7"
}

# alive NAME: the target is disarmed, runs on, and ends as it always does.
alive() {
	all_clear "$target"
	ok $? "$1: DR7 is 0 in every thread"
	is "$1: no thread is left stopped" "$(cat /proc/"$target"/task/*/status | grep -c '^State:.*[Tt] (')" 0
	go
	is "$1: the target lives and ends as it does alone" $? 7
}

for pause in 1000 0; do
	for name in INT TERM HUP QUIT; do
		target "$BIN/steady" 4 $pause
		attach -e v:w
		"$BIN/sendsig" "$name" "$prof"
		wait "$prof"
		is "SIG$name, pause $pause: status 0" $? 0
		is "SIG$name, pause $pause: the report tells" "$(field "$tmp/report" end)" "interrupted by SIG$name"
		alive "SIG$name, pause $pause"
	done
	target "$BIN/steady" 4 $pause
	attach -d 0.3 -e v:w
	wait "$prof"
	is "-d, pause $pause: status 0" $? 0
	alive "-d, pause $pause"
	target "$BIN/steady" 4 $pause
	attach -n 50 -e v:w
	wait "$prof"
	is "-n, pause $pause: exactly 50" "$(field "$tmp/report" hits)" 50
	alive "-n, pause $pause"
done

target "$BIN/steady" 4 0
rounds=${DETACH_ROUNDS:-50}
i=0
bad=0
while [ "$i" -lt "$rounds" ]; do
	"$WATCHPROF" --report=tsv -n 20 -p "$target" -e v >"$tmp/report" 2>"$tmp/prof.err" || bad=$((bad + 1))
	[ "$(field "$tmp/report" hits)" = 20 ] || bad=$((bad + 1))
	i=$((i + 1))
done
is "$rounds rounds on hot threads: every round counts" $bad 0
alive "$rounds rounds on hot threads"

target "$BIN/steady" 2 1000
kill -STOP "$target"
until_true has_line "/proc/$target/status" '^State:.*T (stopped)'
attach -d 0.3 -e v
wait "$prof"
is "a stopped target: no hits" "$(field "$tmp/report" hits)" 0
has_line "/proc/$target/status" '^State:.*T (stopped)'
ok $? "a stopped target is still stopped afterwards"
kill -CONT "$target"
alive "a stopped target, continued"

# A crash of watchprof itself, at any point of what it does.
rounds=${CRASH_ROUNDS:-20}
i=0
while [ "$i" -lt "$rounds" ]; do
	target "$BIN/steady" 2 $((i % 2 * 1000))
	attach -e v
	kill -SEGV "$prof"
	{ wait "$prof"; } 2>/dev/null
	[ $? -eq 139 ] || bad=$((bad + 1))
	go
	[ $? -eq 7 ] || bad=$((bad + 1))
	i=$((i + 1))
done
is "$rounds crashes of watchprof itself: it dies of them, the target lives" $bad 0
done_testing
