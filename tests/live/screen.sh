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

# A shell that keeps the pane and tells what it was left with.
tm -f /dev/null new-session -d -s t -x 100 -y 24 "PS1='\$ ' sh"
settings() {
	tm send-keys -t t "stty -a >$tmp/stty.$1; echo told\$((40 + 2)) $1" Enter
	until_true shown "told42 $1"
}
settings before

target "$BIN/steady" 2 2000
tm send-keys -t t "clear; $WATCHPROF -i 0.2 -p $target -e v:w; echo status\$?" Enter
until_true shown 'work  *steady.c'
ok $? "the histogram has the function that writes"
until_true shown '1 v:w '
ok $? "the header has the watch"
tm send-keys -t t p
until_true shown '- work'
ok $? "p: call paths"
tm send-keys -t t Space
until_true shown 'PAUSED'
ok $? "space: paused"
tm send-keys -t t Space '?'
until_true shown 'all about the selected row'
ok $? "?: help"
tm send-keys -t t '?'
i=0
while [ $i -lt 40 ]; do
	tm resize-window -t t -x $((1 + i * 7 % 120)) -y $((1 + i * 5 % 40))
	i=$((i + 1))
done
tm resize-window -t t -x 100 -y 24
until_true shown 'call path'
ok $? "it lives through 40 changes of size"
tm send-keys -t t q
until_true shown 'status0'
ok $? "q: status 0"
shown 'ended by the user\|hits  share'
ok $? "the report is on the terminal afterwards"
go
is "the target lives" $? 7
settings after
is "the terminal is as it was" "$(cat "$tmp/stty.after")" "$(cat "$tmp/stty.before")"

tm send-keys -t t "clear; TERM=dumb $WATCHPROF -e counter:w -- $BIN/two; echo dumb\$?" Enter
until_true shown 'dumb0'
shown 'no live screen'
ok $? "TERM=dumb: one line, and a report"
tm send-keys -t t "clear; $WATCHPROF -e counter:w -- $BIN/two" Enter
until_true shown 'The run has ended'
ok $? "the target ends: the screen stays"
shown 'exited with status 0'
ok $? "and tells how it ended"
tm send-keys -t t q
tm kill-server
done_testing
