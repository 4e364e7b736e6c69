# control.sh: the control socket: each command and each refusal; exact counts over changes of the set of
# watches; reports in the middle of a run; --max-rate.
. "$(dirname "$0")/lib.sh"

socket=$tmp/socket

# ask COMMAND...: the answers.
ask() {
	"$BIN/ask" "$socket" "$@" 9>&-
}

# write_times NAME COUNT: the target writes one of its variables.
write_times() {
	before=$(grep -c "^done $1" "$tmp/target.out")
	echo "$1 $2" >&9
	until_true has_more "$before" "^done $1"
}

has_more() {
	[ "$(grep -c "$2" "$tmp/target.out")" -gt "$1" ]
}

# hits ANSWER WATCH: of a watch in the answer to list.
hits() {
	echo "$1" | tr '{' '\n' | sed -n "s|^\"watch\":\"$2\".*\"hits\":\([0-9]*\).*|\1|p"
}

# settled WATCH COUNT: list shows so many hits (those on their way have come in).
settled() {
	until_true test_hits "$1" "$2"
	is "$3" "$(hits "$(ask list)" "$1")" "$2"
}

test_hits() {
	[ "$(hits "$(ask list)" "$1")" = "$2" ]
}

# has_children PID COUNT
has_children() {
	[ "$(grep -l "^PPid:[[:space:]]*$1\$" /proc/[0-9]*/status 2>/dev/null | grep -c .)" -eq "$2" ]
}

target "$BIN/board" 2
attach --control="$socket" -e v:w -e a:w
echo start >&9
is "the socket has mode 600" "$(stat -c %a "$socket")" 600
write_times a 10
settled a:w 10 "list: hits of a watch"
matches "add: done" "$(ask 'add b:w')" '{"ok":true}'
write_times b 7
settled b:w 7 "add: it counts"
is "change: done" "$(ask 'change b:rw-')" '{"ok":true}'
write_times b 3
settled b:rw- 6 "change: read and write of b++ are two hits"
settled b:w 7 "change: the former watch keeps its counts"
is "clear: done" "$(ask 'clear a:---')" '{"ok":true}'
write_times a 5
settled a:w 10 "clear: it counts no more"
is "add: a cleared one" "$(ask 'add a:w')" '{"ok":true}'
write_times a 5
settled a:w 15 "add: a cleared watch goes on from where it stopped"

is "refused: no such command" "$(ask 'dance')" \
	"{\"ok\":false,\"error\":\"unknown command 'dance': use list, add, change, clear, pause, resume, zero, report, trace, quit\"}"
is "refused: no access" "$(ask 'change a')" \
	'{"ok":false,"error":"a: no access after a colon: give EXPR:ACCESS, as in a:-w-, or a:--- to clear"}'
is "refused: letters out of place" "$(ask 'add c:w-r')" \
	"{\"ok\":false,\"error\":\"c:w-r: bad access 'w-r': use rw, w, r or x (or rw-, -w-, r--, --x)\"}"
matches "refused: an unknown name" "$(ask 'add nobody:w')" '{"ok":false,"error":"nobody:w: *'
is "refused: a duplicate" "$(ask 'add a:-w-')" '{"ok":false,"error":"a:-w-: it is watched already, as a:w"}'
is "refused: clearing what is not set" "$(ask 'clear c:---')" \
	'{"ok":false,"error":"c:---: it is not watched, so it cannot be changed or cleared"}'
is "refused: changing what is not set" "$(ask 'change c:-w-')" \
	'{"ok":false,"error":"c: it is not watched, so it cannot be changed or cleared"}'
ask 'add c:w' >/dev/null
[ $ENGINE = page ] || matches "refused: more than the slots" "$(ask 'add d:w')" \
	'{"ok":false,"error":"5 debug register slots are needed and a processor has 4: *'
is "refused: an argument too many" "$(ask 'pause now')" '{"ok":false,"error":"pause takes no argument"}'
is "refused: none at all" "$(ask 'add')" '{"ok":false,"error":"add needs an argument: add WATCH"}'
is "a refused watch is not in the list" "$(ask list | grep -c '"watch":"d:w"')" 0
ask 'clear c' >/dev/null
is "a freed slot is used again" "$(ask 'add d:w')" '{"ok":true}'
write_times d 4
settled d:w 4 "a freed slot counts"

i=0
while [ $i -lt "${CONTROL_ROUNDS:-10}" ]; do
	i=$((i + 1))
	ask 'clear d:w' 'add c:rw' 'clear c:rw' 'add d:w'
done >"$tmp/answers"
is "many changes: all done" "$(sort -u "$tmp/answers")" '{"ok":true}'
ask 'report tsv' >"$tmp/answer"
matches "report: as text in an answer" "$(cut -c 1-74 "$tmp/answer")" \
	'{"ok":true,"format":"tsv","encoding":"text","report":"# watchprof-report 1*'
matches "report: pprof in base64" "$(ask 'report pprof' | cut -c 1-70)" \
	'{"ok":true,"format":"pprof","encoding":"base64","report":"H4sI*'
is "report: an unknown format" "$(ask 'report odt' | cut -c 1-60)" "{\"ok\":false,\"error\":\"unknown report format 'odt': use text, "
rm -f "$tmp/report"
kill -USR1 "$prof"
until_true test -s "$tmp/report"
is "SIGUSR1: a report while it runs" "$(field "$tmp/report" end)" running
is "SIGUSR1: with the counts so far" "$(total "$tmp/report" a:w)" 15
go
is "the target ends by itself" $? 0
wait "$prof"
is "status" $? 0
is "no hit of v was lost in all that" "$(total "$tmp/report" v:w)" "$(sed -n 's/^writes //p' "$tmp/target.out")"
is "nothing is lost" "$(field "$tmp/report" lost)" 0
is "complete" "$(field "$tmp/report" complete)" yes
is "the socket is gone" "$(ls "$socket" 2>&1 >/dev/null | grep -c .)" 1

target "$BIN/board"
attach --control="$socket" -e a:w -e b:w
write_times a 3
is "pause" "$(ask pause)" '{"ok":true}'
write_times a 100
is "resume" "$(ask resume)" '{"ok":true}'
write_times a 4
settled a:w 7 "pause: nothing is counted"
is "zero" "$(ask zero)" '{"ok":true}'
write_times a 5
settled a:w 5 "zero: from there"
"$WATCHPROF" --control="$socket" -e a:w -- "$BIN/four" >"$tmp/second" 2>&1
is "a socket in use: status" $? 125
is "a socket in use: refused" "$(cat "$tmp/second")" \
	"watchprof: --control: another program listens at $socket; give another name"
is "quit" "$(ask quit)" '{"ok":true}'
wait "$prof"
is "quit: status" $? 0
is "quit: how it ended" "$(field "$tmp/report" end)" "ended by the control socket"
is "a paused run is not complete" "$(field "$tmp/report" complete) $(field "$tmp/report" sampled)" "no yes"
go

# A trace that begins in the middle of the run.
target "$BIN/board"
attach --control="$socket" -e a:w
write_times a 3
settled a:w 3 "trace: before it"
matches "trace: there is none" "$(ask 'trace off')" '{"ok":false,"error":"there is no trace: *'
matches "trace: a file that cannot be" "$(ask "trace on $tmp/no/trace")" '{"ok":false,"error":"*'
is "trace: on, to a file" "$(ask "trace on $tmp/traced")" '{"ok":true}'
matches "trace: there is one" "$(ask 'trace on other')" '{"ok":false,"error":"there is a trace already, to *'
write_times a 4
settled a:w 7 "trace: while it is on"
ask 'trace off' >"$tmp/answer"
write_times a 2
settled a:w 9 "trace: while it is off"
ask 'trace on' 'add b:w' >"$tmp/answer"
write_times b 1
settled b:w 1 "trace: on again"
ask quit >"$tmp/answer"
wait "$prof"
is "trace: the hits that came while it was on" "$(grep -v '^#' "$tmp/traced" | cut -f 4 | uniq -c | awk '{ print $1, $2 }' | tr '\n' ' ')" "4 a:w 1 b:w "
is "trace: and the report tells" "$(field "$tmp/report" trace_hits)" 5
is "trace: it begins as others do" "$(head -n 1 "$tmp/traced"; grep -c '^# module.*/board' "$tmp/traced")" "# watchprof-trace 1
1"
go

# What was written while nothing was watched is no change that somebody else made.
target "$BIN/board"
attach --control="$socket" -e a:rw -e a:w,changed
write_times a 3
settled a:rw 6 "pause: before it"
ask pause >"$tmp/answer"
write_times a 5
ask resume >"$tmp/answer"
write_times a 2
settled a:rw 10 "pause: after it"
ask quit >"$tmp/answer"
wait "$prof"
is "pause: every write has changed it, and nobody else has" \
	"$(awk -F '\t' '$1 == "# value" && $2 == "a:rw" && ($3 == "changed" || $3 == "unseen") { print $3, $4 }' "$tmp/report" | sort | tr '\n' ' ')" \
	"changed 5 unseen 0 "
is "pause: the filter has the value" "$(total "$tmp/report" a:w,changed)" 5
go

# Writes that are under way when the set of watches changes are no reads.
target "$BIN/hammer" 4
attach --control="$socket" -e word:r
tell start
ask pause resume pause resume pause resume pause resume pause resume pause resume pause resume quit >"$tmp/answer"
wait "$prof"
is "no write is taken for a read" "$(grep -c '"ok":true' "$tmp/answer") $(total "$tmp/report" word:r)" "15 0"
go

touch "$tmp/file"
launch --control="$tmp/file" -e a:w -- "$BIN/four"
is "no socket: refused" "$message" "watchprof: --control: $tmp/file is there and is no socket; give another name"
[ -f "$tmp/file" ]
ok $? "no socket: the file is left alone"

# A worker that was killed leaves its socket behind; the next run takes it.
target "$BIN/board"
attach --control="$socket" -e a:w
kill -9 "$(awk '/^TracerPid:/ { print $2 }' "/proc/$target/status")"
wait "$prof"
[ -S "$socket" ]
ok $? "a dead socket stays"
"$BIN/unignore" "$WATCHPROF" -v --report=tsv -o "$tmp/report" --control="$socket" -p "$target" -e b:w \
	>"$tmp/prof.out" 2>"$tmp/prof.err" 9>&- &
prof=$!
pids="$pids $prof"
write_times b 1
is "a dead socket is replaced" "$(ask quit)" '{"ok":true}'
wait "$prof"
go

# A watch that is added is armed in forked children, too.
mkfifo "$tmp/input"
"$WATCHPROF" -q -f --report=tsv -o "$tmp/report" --control="$socket" -e a:w -- "$BIN/offspring" <"$tmp/input" >"$tmp/said" 2>&1 &
prof=$!
pids="$pids $prof"
exec 8>"$tmp/input"
until_true has_line "$tmp/said" ready
is "children: add" "$(ask 'add b:w' 8>&-)" '{"ok":true}'
echo >&8
exec 8>&-
wait "$prof"
is "children: all processes count" "$(total "$tmp/report" a:w) $(total "$tmp/report" b:w)" "3 15"

# Reports to the standard output are written one behind the other.
target "$BIN/board"
"$WATCHPROF" -q --report=tsv --control="$socket" -p "$target" -e a:w >"$tmp/said" 9>&- &
prof=$!
pids="$pids $prof"
ask list >/dev/null
kill -USR1 "$prof"
until_true has_line "$tmp/said" '^# end	running'
ask quit >/dev/null
wait "$prof"
is "SIGUSR1: status" $? 0
is "SIGUSR1: standard output has one report behind the other" "$(sed -n 's/^# end\t//p' "$tmp/said" | tr '\n' ' ')" \
	"running ended by the control socket "
go

# A report that nobody reads, as the pipe is full: the target goes on, and commands are obeyed, until it is read.
target "$BIN/board"
mkfifo "$tmp/full"
exec 8<>"$tmp/full"
head -c 65536 /dev/zero >&8
"$WATCHPROF" -q --report=tsv --control="$socket" -p "$target" -e a:w >"$tmp/full" 8>&- 9>&- &
prof=$!
pids="$pids $prof"
ask list >/dev/null 8>&-
write_times a 4
kill -USR1 "$prof"
until_true has_children "$prof" 3
write_times a 5
settled a:w 9 "a report under way: hits are counted" 8>&-
ask quit >/dev/null 8>&-
rm -f "$tmp/said"
cat "$tmp/full" 8>&- >"$tmp/said" &
reader=$!
pids="$pids $reader"
until_true test -s "$tmp/said"
exec 8>&-
wait "$prof"
is "a report under way: status" $? 0
wait "$reader"
is "a report under way: both come, in order" "$(tr -d '\0' <"$tmp/said" | sed -n 's/^# \(end\|hits\)\t//p' | tr '\n' ' ')" \
	"4 running 9 ended by the control socket "
go

# The same, and nobody ever reads: a signal ends the wait for the report under way, another one that for the last.
has_gone() {
	! grep -q '^State:.*[^Z] (' "/proc/$1/status"
}
target "$BIN/board"
exec 8<>"$tmp/full"
head -c 65536 /dev/zero >&8
"$BIN/unignore" "$WATCHPROF" -q --report=tsv -o "$tmp/report" --report=tsv -o "$tmp/full" --control="$socket" -p "$target" \
	-e a:w 2>"$tmp/prof.err" 8>&- 9>&- &
prof=$!
pids="$pids $prof"
ask list >/dev/null 8>&-
write_times a 4
kill -USR1 "$prof"
until_true has_line "$tmp/report" '^# end	running'
ask quit >/dev/null 8>&-
until_true untraced "$target"
"$BIN/sendsig" INT "$prof"
until_true has_line "$tmp/report" '^# end	ended by'
is "a report that nobody reads: SIGINT ends the wait for it" "$(total "$tmp/report" a:w) $(field "$tmp/report" warning)" \
	"4 a report in the middle of the run was not finished: nobody has read it, and a signal ended that"
# It waits on, for as long as something else takes.
"$WATCHPROF" -q -d 0.5 --report=tsv -o /dev/null -e a:w -p "$target" 8>&- 9>&-
! has_gone "$prof"
ok $? "a report that nobody reads: the last one waits for a reader"
"$BIN/sendsig" INT "$prof"
until_true has_gone "$prof" || kill -9 "$prof"
wait "$prof"
is "a report that nobody reads: another one ends watchprof" $? 130
exec 8>&-
go

# Many more hits than the limit: about its number in each second, and it says so.
target "$BIN/board" 4
attach --max-rate=50 -e v:w -e a:w -d 2.5
echo start >&9
write_times a 20
wait "$prof"
is "--max-rate: status" $? 0
is "--max-rate: the other watch is whole" "$(total "$tmp/report" a:w)" 20
is "--max-rate: it is told" "$(field "$tmp/report" sampled) $(field "$tmp/report" complete) $(field "$tmp/report" max_rate)" "yes no 50"
# 51 in each whole second, and of each other thread one more; the first and the last second may be short ones.
is "--max-rate: so many in each second" "$(echo "$(total "$tmp/report" v:w) $(field "$tmp/report" duration)" |
	awk '{ s = int($2); print ($1 >= 51 * (s - 1) && $1 <= 56 * (s + 1)) ? "good" : $0 }')" good
is "--max-rate: the share of time" "$(awk -F '\t' '$1 == "# watch" && $2 == "v:w" { print ($12 > 0 && $12 < 0.9) ? "less" : $12 }' "$tmp/report")" less
is "--max-rate: all the time" "$(awk -F '\t' '$1 == "# watch" && $2 == "a:w" { print $12 }' "$tmp/report")" 1.000000
go

# A thread that waits is not interrupted all the time: it would begin to wait anew each time.
target "$BIN/hammer" 2 1500
attach --max-rate=50 -e word:w
tell start
until_true has_lines '^timeout' 2
ok $? "--max-rate: long waits of other threads end"
leave
go
done_testing
