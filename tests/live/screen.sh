# screen.sh: the live screen in a real pseudo-terminal (tmux): keys typed, screen read.
. "$(dirname "$0")/lib.sh"

if ! command -v tmux >/dev/null; then
	skip "the live screen" "tmux is not installed"
	done_testing
	exit
fi
LC_ALL=C.UTF-8
export LC_ALL
tm() {
	tmux -S "$tmp/tmux" "$@"
}

shown() {
	tm capture-pane -p -t t | grep -q -e "$1"
}

hung_shown() {
	tm capture-pane -p -t h | grep -q -e "$1"
}

not_shown() {
	! shown "$1"
}

type_keys() {
	tm send-keys -t t "$@"
}

# see TEXT NAME: the screen has it, or will have it.
see() {
	until_true shown "$1"
	ok $? "$2"
	shown "$1" || tm capture-pane -p -t t | sed 's/^/# /'
}

# A shell that keeps the pane and tells what it was left with.
tm -f /dev/null new-session -d -s t -x 100 -y 24 "PS1='\$ ' sh"
settings() {
	type_keys "stty -a >$tmp/stty.$1; echo told\$((40 + 2)) $1" Enter
	until_true shown "told42 $1"
}
settings before

echo input >"$tmp/input"

# --- views, keys, reports, sizes ---
target "$BIN/pulses" "${PULSE_US:-200}"
type_keys "clear; $WATCHPROF -i 0.1 -p $target -e v:w; echo status\$?" Enter
see '> 1 v:w  0 hits' "the header has the watch"
echo >&9
see 'drum  *pulses.c:' "the histogram has the functions that write"
see 'fiddle  *pulses.c:' "and the other one"
type_keys + oth
see 'other  *8 ' "+: the variables of the target"
type_keys :w Enter
see '> 2 other:w  0 hits' "a second watch"
type_keys -
see '2 other:w .*cleared' "-: it is cleared"
type_keys Tab s n
see 'hits  *rate  *reads  *writes  *function' "s: sorted by name"
type_keys G / drum Enter
until_true shown '^drum .*pulses.c:'
ok $? "/: the row is selected, its full text is below"
type_keys '\' fiddle Enter
until_true not_shown ' drum '
ok $? "\\: one function is left out"
type_keys Escape
see ' drum ' "Esc: it is there again"
type_keys 2
see '- drum' "2: call paths"
see '- beat' "with the callers"
type_keys x
see '+ ' "x: folded"
type_keys 3
see '\[3 callees\]' "3: the other way round"
see '- beat' "with the callees"
type_keys 4
see ' pulses *$' "4: threads by name"
type_keys 5
see 'v = value;' "5: the source at the hottest line"
type_keys 6
see 'value written' "6: values"
see '% *[0-9]* 1 *$' "with what was written"
type_keys 6
see '^[> ]*[0-9]*\.[0-9]\{6\}  *[0-9][0-9]*  *[12]  *[12-]  *\(drum\|fiddle\)  *pulses.c:' "6 again: the last writes"
type_keys 7
see 'access  *hits' "7: watches"
type_keys 1 Enter
see 'Call paths' "Enter: details"
type_keys Escape Space
see 'PAUSED' "space: paused"
type_keys Space '?'
see 'all about the selected row' "?: help"
type_keys '?'
i=0
while [ $i -lt "${RESIZES:-1000}" ]; do
	tm resize-window -t t -x $((1 + i * 7 % 120)) -y $((1 + i * 5 % 40))
	i=$((i + 1))
done
tm resize-window -t t -x 100 -y 24
see '1 functions' "it lives through $i changes of size"
echo >&9
until_true has_line "$tmp/target.out" '^writes'
writes=$(awk '$1 == "writes" { print $2 }' "$tmp/target.out")
see "> 1 v:w  $writes hits" "every hit was counted meanwhile"
type_keys Tab Tab w s C-u "$tmp/saved.tsv" Enter
see 'a report of .* hits was written' "w: a report is written"
is "and has every hit" "$(total "$tmp/saved.tsv" v:w)" "$writes"
type_keys t C-u "$tmp/trace" Enter
see 'TRACED' "t: a trace begins"
type_keys t
until_true not_shown 'TRACED'
ok $? "t: and is off"
type_keys q
see 'status0' "q: status 0"
is "the trace begins as one from the start does" "$(sed -n 's/^# watch.*\(v:w\)$/\1/p' "$tmp/trace" | head -n 1)" v:w
shown 'ended by the user\|hits  share'
ok $? "the report is on the terminal afterwards"
go
is "the target lives" $? 7
is "no call of it was interrupted by the screen" "$(awk '$1 == "eintr" { print $2 == 0 }' "$tmp/target.out")" 1
settings after
is "the terminal is as it was" "$(cat "$tmp/stty.after")" "$(cat "$tmp/stty.before")"

# --- without a watch ---
target "$BIN/pulses" "${PULSE_US:-200}"
type_keys "clear; $WATCHPROF -i 0.1 -p $target; echo status\$?" Enter
see 'Variables: [1-9]' "no -e: the list of variables"
type_keys Escape
see 'nothing is watched' "Esc: it need not be"
type_keys q
see 'status0' "q: status 0"
type_keys "clear; $WATCHPROF -i 0.1 -p $target; echo status\$?" Enter
until_true shown 'Variables: [1-9]'
type_keys v Enter
see '> 1 v  0 hits' "v is watched"
echo >&9
echo >&9
until_true has_line "$tmp/target.out" '^writes'
see "> 1 v  $(awk '$1 == "writes" { print $2 }' "$tmp/target.out") hits" "with all hits"
type_keys q
see 'status0' "q: status 0"
go
is "the target lives" $? 7

# --- instructions ---
type_keys "clear; $WATCHPROF -e counter -- $BIN/two-unsourced" Enter
until_true shown 'The run has ended'
type_keys 5
see '2000 .* f:$' "the source is not there: the function"
see '1000 .* +0x[0-9a-f]*  *mov .*(%rip), %eax <counter>' "hits of the instruction that reads"
see '1000 .* +0x[0-9a-f]*  *mov %eax, .*(%rip) <counter>' "and of that which writes"
see '+0x[0-9a-f]*  *add \$0x1, %eax' "and what is between them"
see '  g:$' "and the other function"
type_keys q
until_true not_shown 'The run has ended'
type_keys "clear; $WATCHPROF -e counter -- $BIN/two-stripped" Enter
until_true shown 'The run has ended'
type_keys 5
see '500 .* +0x[0-9a-f]*  *mov %eax, .*(%rip)' "without debug information: the same"
type_keys q
until_true not_shown 'The run has ended'
type_keys "clear; $WATCHPROF -e counter -- $BIN/two" Enter
until_true shown 'The run has ended'
type_keys 5
see '2000 .*counter++;' "with a source: its lines"
type_keys 5
see '+0x[0-9a-f]*  *add \$0x1, %eax' "5 once more: instructions"
type_keys q
until_true not_shown 'The run has ended'

# --- launched without a watch ---
type_keys "clear; $WATCHPROF --stdin=$tmp/input --stdout=$tmp/output -- $BIN/two wait; echo status\$?" Enter
see 'Variables: [1-9]' "no -e with a command: its variables"
[ ! -s "$tmp/output" ]
ok $? "it has not begun"
type_keys stdout/2097152 Enter
see "2097152" "what does not fit is refused"
type_keys + counter:w
see '^[> ]* counter ' "a variable of it"
type_keys Enter
see '1500 hits' "is watched from the beginning"
type_keys q
see 'status0' "and it has run"
is "and written" "$(cat "$tmp/output")" ready
type_keys "clear; $WATCHPROF --stdout=$tmp/output -- $BIN/two; echo status\$?" Enter
until_true shown 'Variables: [1-9]'
type_keys Escape
see 'waits at its start' "Esc: it waits on"
type_keys q
see 'status137' "q: it is killed"
[ ! -s "$tmp/output" ]
ok $? "and has never begun"

# --- a member is chosen ---
target "$BIN/expr-c" wait
type_keys "clear; $WATCHPROF -i 0.1 -p $target; echo status\$?" Enter
until_true shown 'Variables: [1-9]'
type_keys tree
see '^+ tree  ' "a variable that has members"
type_keys Right
see '\.b2 .*unsigned int:3  *+52 bit 1' "right: they are unfolded"
type_keys Down Down Down Right
see '\[2\] .*struct part' "an array in it, too"
type_keys Down Down Down Right
see '\.u  ' "and what it is of"
type_keys Down Down Enter
see '> 1 tree.parts\[2\].u  0 hits' "Enter: it is watched"
type_keys + 'tree.va'
see '^  tree.val  *8 long int' "a path that is typed is completed"
type_keys :w Enter
see '> 2 tree.val:w  0 hits' "and watched"
go
see '2 tree.val:w  3 hits' "hits of the one"
see '1 tree.parts\[2\].u  4 hits' "and of the other"
type_keys q
see 'status0' "q: status 0"

# --- to the shell and back; Ctrl-C ---
target "$BIN/pulses" "${PULSE_US:-200}"
type_keys "clear; $WATCHPROF -i 0.1 -p $target -e v:w; echo status\$?" Enter
until_true shown '> 1 v:w  0 hits'
type_keys C-z
see 'Stopped' "^Z: the shell is there"
settings stopped
is "with its terminal as it was" "$(cat "$tmp/stty.stopped")" "$(cat "$tmp/stty.before")"
echo >&9
echo >&9
until_true has_line "$tmp/target.out" '^writes'
ok $? "the target runs on"
type_keys "clear; fg" Enter
see "> 1 v:w  $(awk '$1 == "writes" { print $2 }' "$tmp/target.out") hits" "fg: the screen is back, with all hits"
type_keys C-c
see 'interrupted by SIGINT' "Ctrl-C ends it"
settings interrupted
is "the terminal is as it was" "$(cat "$tmp/stty.interrupted")" "$(cat "$tmp/stty.before")"
go
is "the target lives" $? 7

# --- its worker is killed ---
target "$BIN/pulses" "${PULSE_US:-200}"
type_keys "clear; $WATCHPROF -i 0.1 -p $target -e v:w; echo worker\$?" Enter
until_true shown '> 1 v:w  0 hits'
kill -9 "$(awk '/^TracerPid/ { print $2 }' "/proc/$target/status")"
until_true shown 'worker137'
settings killed
is "its worker is killed: the terminal is as it was" "$(cat "$tmp/stty.killed")" "$(cat "$tmp/stty.before")"
is "with its picture, its cursor and no mouse" "$(tm display-message -p -t t '#{alternate_on} #{cursor_flag} #{mouse_any_flag}')" "0 1 0"
echo >&9
echo >&9
go
is "the target lives" $? 7
tm respawn-pane -k -t t "PS1='\$ ' sh"
settings before

# --- a terminal that goes, with nobody in it but watchprof ---
over() {
	[ -s "$tmp/hangup" ] && nothing_left_over
}
mkfifo "$tmp/hold"
exec 8<>"$tmp/hold"
tm new-session -d -s h -x 100 -y 24 "$WATCHPROF --stdin=$tmp/hold --report=tsv -o $tmp/hangup -e counter:w -- $BIN/two wait"
until_true hung_shown ready
tm kill-session -t h
until_true over
exec 8>&-
is "the terminal is gone: the run ends, and its report is there" "$(field "$tmp/hangup" end | cut -d' ' -f1-3)" "the target was"

# --- terminals ---
# without WORD SETTING NAME: a run without a live screen; what it says of that, as the report may be longer than the screen.
without() {
	type_keys "clear; ($2; $WATCHPROF -e counter:w -- $BIN/two 2>$tmp/without; echo status\$? $1)" Enter
	until_true shown "status0 $1"
	is "$3: one line, and a report" "$(grep -c 'no live screen' "$tmp/without") $(tm capture-pane -p -t t | grep -c 'call paths:')" "1 1"
}
without dumb "TERM=dumb" "TERM=dumb"
without unknown "TERM=nonesuch" "an unknown TERM"
without unset "unset TERM" "TERM unset"
colors() {
	tm capture-pane -e -p -t t | grep -c "$(printf '\033')\[\([0-9]*;\)*3[1-7]m"
}
# screen_of NAME=VALUE...: the screen of a run in another environment, kept in $tmp/screen.
screen_of() {
	type_keys "clear; env $* $WATCHPROF -e counter:w -- $BIN/two" Enter
	until_true shown 'The run has ended'
	tm capture-pane -p -t t >"$tmp/screen"
	n_colors=$(colors)
	type_keys q
	until_true not_shown 'The run has ended'
}
screen_of TERM=screen-256color
ok $((n_colors == 0)) "colours"
ok "$(grep -q '█' "$tmp/screen"; echo $?)" "blocks in UTF-8"
screen_of TERM=screen-256color NO_COLOR=1
is "NO_COLOR: none" "$n_colors" 0
screen_of TERM=linux
ok $((n_colors == 0)) "TERM=linux, with 8: colours"
screen_of TERM=linux NO_COLOR=1
is "NO_COLOR there: none" "$n_colors" 0
screen_of TERM=vt100
is "TERM=vt100: none" "$n_colors" 0
screen_of LC_ALL=C
is "LC_ALL=C: ASCII only" "$(LC_ALL=C grep -c '[^ -~]' "$tmp/screen")" 0
ok "$(grep -q '####' "$tmp/screen"; echo $?)" "with another bar"

# --- within GNU screen ---
if command -v screen >/dev/null; then
	mkdir -m 700 "$tmp/screens"
	type_keys "clear; SCREENDIR=$tmp/screens screen -U -c /dev/null sh" Enter
	until_true not_shown clear
	settings screen
	screen_of LC_ALL=C.UTF-8
	ok "$(grep -q '█' "$tmp/screen"; echo $?)" "in GNU screen: blocks"
	ok $((n_colors == 0)) "in GNU screen: colours"
	type_keys "clear; $WATCHPROF -e counter:w -- $BIN/two" Enter
	until_true shown 'The run has ended'
	tm resize-window -t t -x 70 -y 20
	type_keys 55
	see '\[5 source\]' "in GNU screen: keys and another size"
	tm resize-window -t t -x 100 -y 24
	type_keys q
	until_true not_shown 'The run has ended'
	settings screen-after
	# screen may tell the former size for a while.
	is "in GNU screen: the terminal is as it was" "$(sed 's/rows.*columns [0-9]*//' "$tmp/stty.screen-after")" \
		"$(sed 's/rows.*columns [0-9]*//' "$tmp/stty.screen")"
	type_keys "exit" Enter
	until_true shown terminating
else
	skip "in GNU screen" "it is not installed"
fi

# --- launched programs ---
type_keys "clear; $WATCHPROF --stdin=$tmp/input --stdout=$tmp/output -e counter:w -- $BIN/two wait; echo status\$?" Enter
see 'The run has ended' "the target ends: the screen stays"
see 'exited with status 0' "and tells how it ended: it has read --stdin"
see '1500 hits' "with all hits"
type_keys o
see '^ready' "o: what it has written"
type_keys Escape w j C-u "$tmp/ended.json" Enter
see 'a report of 1500 hits' "w: a report after the end"
type_keys q
see 'status0' "q: its status"
is "--stdout has its output" "$(cat "$tmp/output")" ready
ok "$(grep -q '"hits": *1500' "$tmp/ended.json"; echo $?)" "the report has all hits"

# --- no second process: no way to the shell ---
target "$BIN/pulses" "${PULSE_US:-200}"
cat >"$tmp/alone" <<END
FAULT_PROGRAM=$PROGRAM FAULT_CALL=fork FAULT_AT=2 FAULT_LOG=$tmp/fault.log LD_PRELOAD=$BIN/faults.so
export FAULT_PROGRAM FAULT_CALL FAULT_AT FAULT_LOG LD_PRELOAD
$WATCHPROF --engine=$ENGINE -i 0.1 -p $target -e v:w
echo status\$?
END
type_keys "clear; sh $tmp/alone" Enter
until_true shown '> 1 v:w  0 hits'
is "there is only one process" "$(cat "$tmp/fault.log")" failed
type_keys C-z
see 'no second process' "^Z is refused"
echo >&9
echo >&9
until_true has_line "$tmp/target.out" '^writes'
ok $? "the target runs on"
see "> 1 v:w  $(awk '$1 == "writes" { print $2 }' "$tmp/target.out") hits" "and so does the screen"
type_keys q
see 'status0' "q ends it"
go

# --- servers are asked before the screen is there ---
type_keys "clear; DEBUGINFOD_URLS=http://127.0.0.1:1/ $WATCHPROF --debuginfod -- $(readlink -f /bin/sleep) 1000" Enter
see 'Variables: ' "--debuginfod: the screen comes"
not_shown 'debuginfod: '
ok $? "and nothing has been written over it"
type_keys Escape
until_true shown 'waits at its start'
type_keys q
until_true shown 'debuginfod: nothing for'
ok $? "what was said before is there when it has gone"

# --- the terminal goes away ---
has_tracer() {
	[ "$(awk '/^TracerPid/ { print $2 }' "/proc/$1/status")" != 0 ]
}
has_no_tracer() {
	! has_tracer "$1"
}
target "$BIN/pulses" "${PULSE_US:-200}"
tm new-window -d -t t:9 "$WATCHPROF -p $target -e v:w"
until_true has_tracer "$target"
tm kill-window -t t:9
until_true has_no_tracer "$target"
ok $? "a closed terminal ends the run"
echo >&9
echo >&9
go
is "the target lives" $? 7
tm kill-server
done_testing
