# calls.sh: system calls on the watched page give what they give unwatched: results, errno, memory.
# CALLS_ENGINES: values of --engine.
. "$(dirname "$0")/lib.sh"

# run COMMAND...: the target, in an empty directory that must be empty again, to $tmp/out.
run() {
	mkdir "$tmp/calls"
	"$@" "$BIN/calls" "$tmp/calls" >"$tmp/out" 2>"$tmp/errors" && rmdir "$tmp/calls"
}

run env
ok $? "the calls alone"
mv "$tmp/out" "$tmp/alone"
is "a line for each case" "$(grep -c ' sum ' "$tmp/alone")" "$(wc -l <"$tmp/alone" | tr -d ' ')"
run env
is "nothing differs from run to run" "$(cat "$tmp/out")" "$(cat "$tmp/alone")"
for engine in ${CALLS_ENGINES:-auto}; do
	# Where most arguments begin; and where hardly anything is, but in the same page.
	for watch in calls_page/8:rw calls_page+64/8:w calls_page+4088/8:rw; do
		run "$WATCHPROF" -q --engine="$engine" --report=tsv -o "$tmp/report" -e "$watch" --
		ok $? "--engine=$engine -e $watch: it ends well"
		is "--engine=$engine -e $watch: all calls as they are alone" "$(diff "$tmp/alone" "$tmp/out")" ""
	done
done
done_testing
