# signals.sh: what happens to a launched program when watchprof is asked to end, or is killed; and Ctrl-C, which
# both of them get.
. "$(dirname "$0")/lib.sh"

# begin PAUSE: launch a program that writes every so many microseconds; watchprof is $prof, it is $child.
begin() {
	rm -f "$tmp/report" "$tmp/prof.err" "$tmp/prof.out" "$tmp/go"
	mkfifo "$tmp/go"
	"$BIN/unignore" "$WATCHPROF" -v --report=tsv -o "$tmp/report" -e v:w -- "$BIN/steady" 2 "$1" \
		<"$tmp/go" >"$tmp/prof.out" 2>"$tmp/prof.err" &
	prof=$!
	pids="$pids $prof"
	exec 9>"$tmp/go"
	until_true has_line "$tmp/prof.out" ready
	child=$(child_of "$prof")
}

# child_of PID: the program that runs somewhere below it.
child_of() {
	for pid in $(cat "/proc/$1/task/$1/children"); do
		[ "$(cat "/proc/$pid/comm")" != steady ] || echo "$pid"
		child_of "$pid"
	done
}

# watchprof in the background gets its own signals only; it hands them on.
for signal in INT:2 TERM:15 HUP:1 QUIT:3; do
	name=${signal%:*}
	begin 1000
	"$BIN/sendsig" "$name" "$prof"
	wait "$prof"
	got=$?
	exec 9>&-
	is "launched, SIG$name: 128+N, as the program ended" "$got" $((128 + ${signal#*:}))
	is "launched, SIG$name: the report is there" "$(field "$tmp/report" end | cut -d' ' -f1-3)" "the target was"
	child=$(field "$tmp/report" pid)
	[ -n "$child" ] && ! kill -0 "$child" 2>/dev/null
	ok $? "launched, SIG$name: no process is left"
done

# lives_on: the program is let go, disarmed, and ends as it always does: it says how often it wrote.
lives_on() {
	until_true cleared
	(trap '' PIPE && echo >&9) 2>/dev/null
	exec 9>&-
	until_true gone "$child"
	has_line "$tmp/prof.out" '^writes'
}

cleared() {
	gone "$child" || all_clear "$child"
}

gone() {
	[ ! -e "/proc/$1/status" ] || has_line "/proc/$1/status" '^State:.*Z'
}

begin 0
kill -KILL "$prof"
{ wait "$prof"; } 2>/dev/null
is "launched, SIGKILL of watchprof: status" $? 137
lives_on
ok $? "launched, SIGKILL of watchprof: the program lives and ends as alone"
# As after an attach, this is a race (detach.sh) with the next write; of twenty in a row, some win.
i=0
saved=0
while [ $i -lt 20 ] && [ $saved -eq 0 ]; do
	begin 200000
	kill -KILL "$(awk '/^TracerPid/ { print $2 }' "/proc/$child/status")"
	{ wait "$prof"; } 2>/dev/null
	gone "$child" || ! lives_on || saved=$((saved + 1))
	exec 9>&-
	i=$((i + 1))
done
[ $saved -eq 1 ]
ok $? "launched, SIGKILL of the worker: a program is saved ($i tried)"

# The terminal sends its signals to the whole foreground group.
if command -v tmux >/dev/null; then
	tm() {
		tmux -S "$tmp/tmux" "$@"
	}
	shown() {
		tm capture-pane -p -t t | grep -q "$1"
	}
	tm -f /dev/null new-session -d -s t -x 100 -y 24 "PS1='\$ ' sh"
	# shellcheck disable=SC2089
	for key in 'c 2 INT Interrupt' '\ 3 QUIT Quit'; do
		# shellcheck disable=SC2086,SC2090
		set -- $key
		rm -f "$tmp/report"
		tm send-keys -t t "clear; $WATCHPROF --report=tsv -o $tmp/report -e v:w -- $BIN/steady 2 1000; echo st\$((\$?))" Enter
		until_true shown '^ready'
		tm send-keys -t t "C-$1"
		until_true shown "st$((128 + $2))"
		ok $? "Ctrl-$1 to both, launched: 128+$2"
		matches "Ctrl-$1 to both, launched: the report is there" "$(field "$tmp/report" end)" "the target was killed by signal $2 ($4)"
		target "$BIN/steady" 2 1000
		rm -f "$tmp/report"
		tm send-keys -t t "clear; $WATCHPROF -v --report=tsv -o $tmp/report -e v:w -p $target; echo st\$((\$?))" Enter
		until_true shown '^watchprof: armed in'
		tm send-keys -t t "C-$1"
		until_true shown "st0"
		ok $? "Ctrl-$1, attached: status 0"
		is "Ctrl-$1, attached: the report is there" "$(field "$tmp/report" end)" "interrupted by SIG$3"
		all_clear "$target"
		ok $? "Ctrl-$1, attached: the target is disarmed"
		go
		is "Ctrl-$1, attached: the target lives" $? 7
	done
	tm kill-server
else
	skip "Ctrl-C" "tmux is not installed"
fi
until_true nothing_left_over
ok $? "no process of watchprof is left"
done_testing
