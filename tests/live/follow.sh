# follow.sh: -f watches forked children as well, each process for itself (case 27).
. "$(dirname "$0")/lib.sh"

# by_process FILE WATCH: "hits function" with the process as "parent" (the target) or "child".
by_process() {
	awk -F '\t' -v watch="$2" '
		$1 == "# pid" { target = $2 }
		/^#/ { next }
		!n { for (n = 1; n <= NF; n++) at[$n] = n; next }
		$at["watch"] == watch { print $at["hits"], $at["function"], $at["pid"] == target ? "parent" : "child" }' "$1"
}

# processes FILE: "hits end" of each process that was followed.
processes() {
	awk -F '\t' '$1 == "# process" { print $4, $5 }' "$1"
}

for way in fork vfork vfork-exec spawn; do
	launch -f -e v:w -- "$BIN/family" $way
	is "$way, launched with -f: status" "$status" 0
	is "$way, launched with -f: parent and child apart" "$(by_process "$tmp/report" v:w)" "20 write_child child
10 write_parent parent"
	is "$way, launched with -f: the child in the list" "$(processes "$tmp/report")" "20 exited with status 3"
	is "$way, launched with -f: complete" "$(field "$tmp/report" complete)" yes
	target "$BIN/family" $way wait
	attach -f -e v:w
	go
	is "$way, attached with -f: status" $? 0
	wait "$prof"
	is "$way, attached with -f: parent and child apart" "$(by_process "$tmp/report" v:w)" "20 write_child child
10 write_parent parent"
done

launch -f -e v:w -- "$BIN/family" many
is "100 forks, 100 threads with -f: status" "$status" 0
is "100 forks with -f: the parent is exact" "$(by_process "$tmp/report" v:w | grep parent)" "10 write_parent parent"
is "100 forks with -f: all are listed" "$(processes "$tmp/report" | wc -l | tr -d ' ')" 100

# Through a shell, which is what people type; two programs in a row, and one beside.
launch -f -e counter:w -e v:w -- sh -c "'$BIN/two'; '$BIN/family' fork; '$BIN/two' & wait; exit 5"
is "a shell script with -f: status" "$status" 5
is "a shell script with -f: one program twice" "$(rows "$tmp/report" counter:w | sort | tr '\n' ' ')" "1000 f 1000 f 500 g 500 g "
is "a shell script with -f: another one and its child" "$(rows "$tmp/report" v:w | tr '\n' ' ')" "20 write_child 10 write_parent "

# A child that outlives the target: the run goes on to its end.
launch -f -e counter:w -- sh -c "('$BIN/two' >'$tmp/go2'; :) & exit 3"
is "a child that outlives the target: status of the target" "$status" 3
is "a child that outlives the target: it is counted to its end" "$(total "$tmp/report" counter:w)" 1500

# Detach: parent and children are disarmed and live.
rm -f "$tmp/report"
mkfifo "$tmp/go3" "$tmp/go4"
"$BIN/unignore" "$WATCHPROF" -v -f --report=tsv -o "$tmp/report" -d 0.5 -e v:w -- \
	sh -c "'$BIN/steady' 2 1000 <'$tmp/go3' & '$BIN/steady' 2 0 <'$tmp/go4'; echo \$? >'$tmp/ends'; wait \$!; echo \$? >>'$tmp/ends'" \
	>"$tmp/prof.out" 2>"$tmp/prof.err" &
prof=$!
exec 8<>"$tmp/go3" 7<>"$tmp/go4" # a child may open it late
until_true test -s "$tmp/report"
ok $? "-f with -d: the report comes while the children live"
for child in $(awk -F '\t' '$1 == "# process" && $4 > 0 { print $2 }' "$tmp/report"); do
	"$BIN/peekdr" "$child" >"$tmp/dr7" 2>&1 && [ -s "$tmp/dr7" ] && ! grep -v ' 0$' "$tmp/dr7"
	ok $? "-f with -d: DR7 is 0 in every thread of a child"
	sed "s/^/# /" "$tmp/dr7"
done
echo >&8
echo >&7
wait "$prof"
exec 8>&- 7>&-
is "-f with -d: both children end as they do alone" "$(tr '\n' ' ' <"$tmp/ends")" "7 7 "
# Who forks and ends at once, as daemons do, or executes a program, leaves a child that is watched.
for mode in exit exec; do
	totals=
	for i in 1 2 3 4 5 6 7 8 9 10; do
		launch -f -e v:w -- "$BIN/daemons" $mode
		totals="$totals $(total "$tmp/report" v:w)"
	done
	is "the parents of a daemon are gone, $mode" "$totals" " 10 10 10 10 10 10 10 10 10 10"
done

# Libraries that came or went since the fork: each process has its own.
plugin=$BIN/plugin.so
socket=$tmp/socket

# branched NAME EXPECTED -- STEP...: rows of pv by process, launched.
branched() {
	name=$1 expected=$2
	shift 3
	launch -q -f -e pv:w -- "$BIN/plugins" "$@"
	is "$name" "$(by_process "$tmp/report" pv:w | sort | tr '\n' ' ')$status" "$expected 0"
}

# changed NAME EXPECTED COMMAND... -- STEP...: the same, where commands are given while it waits.
changed() {
	name=$1 expected=$2 watch=pv:w
	shift 2
	[ "${1%% *}" != add ] || watch=a:w
	mkfifo "$tmp/input"
	commands=
	while [ "$1" != -- ]; do
		commands="$commands$1
"
		shift
	done
	shift
	"$WATCHPROF" -q -f --report=tsv -o "$tmp/report" --control="$socket" -e "$watch" -- "$BIN/plugins" "$@" \
		<"$tmp/input" >"$tmp/said" 2>"$tmp/prof.err" &
	prof=$!
	pids="$pids $prof"
	exec 8>"$tmp/input"
	until_true has_line "$tmp/said" ready
	echo "$commands" | while read -r command; do
		[ -z "$command" ] || "$BIN/ask" "$socket" "$command" 8>&-
	done >"$tmp/answers"
	is "$name: done" "$(sort -u "$tmp/answers")" '{"ok":true}'
	echo >&8
	exec 8>&-
	wait "$prof"
	is "$name" "$(by_process "$tmp/report" pv:w | sort | tr '\n' ' ')$?" "$expected 0"
	rm "$tmp/input" "$tmp/said"
}

branched "a child loads a library" "11 plugin_write child 2 destruct child 3 construct child" -- \
	fork c:open:"$plugin" c:write:11
branched "both load it" "11 plugin_write child 2 destruct child 2 destruct parent 3 construct child 3 construct parent 5 plugin_write parent" -- \
	fork c:open:"$plugin" c:write:11 open:"$plugin" write:5
# The parent may be at it before the child has run at all.
i=0
bad=0
while [ $i -lt 20 ]; do
	launch -q -f -e pv:w -- "$BIN/plugins" fork c:open:"$plugin" c:write:11 open:"$plugin" write:5
	[ "$status $(total "$tmp/report" pv:w)" = "0 26" ] || bad=$((bad + 1))
	i=$((i + 1))
done
is "both load it, 20 times: bad" $bad 0
branched "the child has it elsewhere" \
	"2 destruct child 2 destruct parent 3 construct child 3 construct parent 5 plugin_write parent 8 plugin_write child" -- \
	fork c:hold c:map:30 c:open:"$plugin" c:write:8 open:"$plugin" write:5 let
branched "the child unloads it, and has something else there" "2 destruct child 2 destruct parent 3 construct parent 4 plugin_write parent" -- \
	open:"$plugin" write:1 fork c:close c:map:9 write:3
changed "paused and resumed, the child has something else where the parent's library is" \
	"2 destruct parent 3 construct parent 5 plugin_write parent" pause resume -- \
	fork c:hold c:map:7 open:"$plugin" write:5 wait let
changed "paused and resumed, the parent has unloaded it" \
	"13 plugin_write child 2 destruct child 2 destruct parent 3 construct parent" pause resume -- \
	open:"$plugin" fork c:hold c:write:13 close wait let
changed "added, the child has something else there" "2 destruct parent 5 plugin_write parent" 'add pv:w' -- \
	fork c:hold c:map:7 open:"$plugin" wait write:5 let
changed "added, the child has it, too" "2 destruct child 2 destruct parent 5 plugin_write parent 7 plugin_write child" 'add pv:w' -- \
	open:"$plugin" fork c:hold c:write:7 wait write:5 let
done_testing
