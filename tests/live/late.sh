# late.sh: libraries that come later, go, and come again (case 64).
. "$(dirname "$0")/lib.sh"

plugin=$BIN/plugin.so
mkdir "$tmp/one" "$tmp/two"
cp "$plugin" "$tmp/one"
cp "$plugin" "$tmp/two"

# counted NAME EXPECTED WATCH [OPTION...] -- STEP...: rows by name, then state of the watch, as launched.
counted() {
	name=$1 expected=$2 watch=$3
	shift 3
	options=
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	shift
	# shellcheck disable=SC2086
	launch -q -e "$watch" $options -- "$BIN/plugins" "$@"
	is "$name" "$(result "$watch") $status" "$expected 0"
}

# result WATCH: rows by name, state, complete.
result() {
	rows "$tmp/report" "$1" | sort -k 2 | tr '\n' ' '
	awk -F '\t' -v watch="$1" '$1 == "# watch" && $2 == watch { printf "%s ", $9 }' "$tmp/report"
	field "$tmp/report" complete
}

# attached NAME EXPECTED WATCH [OPTION...] -- STEP...: the same, attached at the step wait.
attached() {
	name=$1 expected=$2 watch=$3
	shift 3
	options=
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	shift
	target "$BIN/plugins" "$@"
	# shellcheck disable=SC2086
	attach -e "$watch" $options
	go
	wait "$prof"
	is "$name" "$(result "$watch")" "$expected"
}

counted "loaded: constructor, code and destructor" "3 construct 2 destruct 100 plugin_write armed yes" pv:w -- \
	open:"$plugin" write:100
counted "loaded, unloaded, loaded again" "6 construct 4 destruct 150 plugin_write armed yes" pv:w -- \
	open:"$plugin" write:100 close open:"$plugin" write:50
counted "unloaded at the end" "3 construct 2 destruct 100 plugin_write unloaded yes" pv:w -- \
	open:"$plugin" write:100 close
counted "something else in its place" "3 construct 2 destruct 100 plugin_write unloaded yes" pv:w -- \
	open:"$plugin" write:100 close map:30
counted "loaded again elsewhere" "6 construct 4 destruct 150 plugin_write armed yes" pv:w -- \
	open:"$plugin" write:100 close map:30 open:"$plugin" write:50
counted "again and again" "30 construct 20 destruct 100 plugin_write armed yes" pv:w -- \
	$(for i in 1 2 3 4 5 6 7 8 9; do echo "open:$plugin write:10 close"; done) open:"$plugin" write:10
counted "relocations are not the program's" "armed yes" where:w -- open:"$plugin" write:1
counted "loaded by a thread while others run" "3 construct 2 destruct 100 plugin_write armed yes" pv:w -e busy:w -- \
	thread:"$plugin" write:100
is "and the others are counted all the while" "$(total "$tmp/report" busy:w)" 1000
counted "in a namespace of its own" "3 construct 2 destruct 100 plugin_write armed yes" pv:w -- \
	space:"$plugin" write:100
counted "the copy that the path names" "3 construct 2 destruct 70 plugin_write unloaded yes" two/plugin.so!pv:w -- \
	open:"$tmp/one/plugin.so" write:100 close open:"$tmp/two/plugin.so" write:70 close open:"$tmp/one/plugin.so" write:5
counted "never loaded" "never found yes" pv:w -- own:1

if [ $ENGINE = dr ]; then
	launch -e a:w -e b:w -e c:w -e busy:w -e pv:w -- "$BIN/plugins" own:1
	is "no slot is left to wait with: refused before the program runs" \
		"$(echo "$message" | tail -n 1) $status" "watchprof: 5 debug register slots are needed and a processor has 4: a:w takes 1; \
b:w takes 1; c:w takes 1; busy:w takes 1; the wait for libraries takes 1; watch fewer, or shorter pieces (NAME/LENGTH) 125"
fi

# All four slots are used as soon as it is there: nothing tells that it goes.
full="-e a:w -e b:w -e c:w"
counted "four slots: loaded" "3 construct 2 destruct 100 plugin_write armed yes" pv:w $full -- \
	own:7 open:"$plugin" own:7 write:100 own:7
is "four slots: the others are counted all the while" "$(for v in a b c; do total "$tmp/report" $v:w; done | tr '\n' ' ')" \
	"21 21 21 "
counted "four slots: something else in its place, loaded again elsewhere" \
	"6 construct 4 destruct 150 plugin_write armed yes" pv:w $full -- \
	open:"$plugin" write:100 close map:30 open:"$plugin" write:50
target "$BIN/plugins" wait open:"$plugin" write:100 close wait open:"$plugin" write:50
attach --pending -e pv:w $full
echo >&9
until_true has_line "$tmp/prof.err" 'plugin.so was unloaded'
go
wait "$prof"
is "four slots: that it is gone is noticed without a hit, too" "$(result pv:w)" \
	"6 construct 4 destruct 150 plugin_write armed yes"

attached "attached: it is there, goes and comes again" "3 construct 4 destruct 150 plugin_write armed yes" pv:w -- \
	open:"$plugin" write:1 wait write:100 close open:"$plugin" write:50
attached "attached: something else in its place" "2 destruct 100 plugin_write unloaded yes" pv:w -- \
	open:"$plugin" write:1 wait write:100 close map:30
attached "attached with --pending: it comes" "3 construct 2 destruct 100 plugin_write armed yes" pv:w --pending -- \
	wait open:"$plugin" write:100
attached "attached with --pending: it comes, goes and comes again" "6 construct 4 destruct 150 plugin_write armed yes" \
	pv:w --pending -- wait open:"$plugin" write:100 close map:30 open:"$plugin" write:50
attached "attached with --pending: it never comes" "never found yes" pv:w --pending -- wait own:1

target "$BIN/plugins" wait own:1
"$WATCHPROF" --report=tsv -p "$target" -e pv:w >"$tmp/out" 2>"$tmp/err" 9>&-
is "attached without --pending: an error" $? 125
matches "attached without --pending: that says why" "$(cat "$tmp/err")" "watchprof: pv:w: no variable named 'pv' in any module*"
go
target "$BIN/two-static" wait
"$WATCHPROF" --report=tsv -p "$target" --pending -e pv:w >"$tmp/out" 2>"$tmp/err" 9>&-
is "a static program loads no libraries: an error even with --pending" $? 125
go
# A program that cannot bring the name ends the watch, and not the run.
target "$BIN/stage1" main "$BIN/two-static" wait
attach --pending -e pv:w
go
wait "$prof"
is "attached with --pending: exec of a static program" "$? $(field "$tmp/report" end | cut -d ' ' -f 1-3)" "0 the target exited"
is "attached with --pending: exec of a static program, that is told" \
	"$(grep -c 'warning: pv:w: the watch ended at exec' "$tmp/prof.err")" 1
# Attached while the dynamic linker has loaded nothing yet: an auditor holds it there.
target env LD_AUDIT="$BIN/audit.so" "$BIN/order"
attach -e v:w --pending
go
wait "$prof"
is "attached before its libraries are loaded" "$(rows "$tmp/report" v:w | sort -k 2 | tr '\n' ' ')" "10 a_bump 20 b_bump "

target "$BIN/circle"
attach -e v:w
go
wait "$prof"
is "a list of libraries without an end" "$(rows "$tmp/report" v:w)" "10 main"

launch -q -e pv:w -- sh -c "exec env A=1 '$BIN/plugins' open:'$plugin' write:10"
is "through other programs" "$(result pv:w) $status" "3 construct 2 destruct 10 plugin_write armed yes 0"
done_testing
