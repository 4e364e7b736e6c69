# values.sh: what writes left in the watched bytes: changed or not, by whom last, which values; and what changed
# without a counted access.
. "$(dirname "$0")/lib.sh"

# value WATCH KEY: of the report.
value() {
	awk -F '\t' -v watch="$1" -v key="$2" '$1 == "# value" && $2 == watch && $3 == key { print $4 }' "$tmp/report"
}

for depth in 32 0; do
	launch --stack=$depth -e phase:w -- "$BIN/values"
	is "--stack=$depth: hits" "$(total "$tmp/report" phase:w)" 60
	is "--stack=$depth: every second store is silent" \
		"$(for key in writes changed silent min max current last_writer last_from last_to; do value phase:w $key; done)" \
		"60
30
30
1
30
30
store
30
30"
	is "--stack=$depth: the values that have a place" "$(value phase:w frequent | tr ',' '\n' | grep -c ' x 2$')" 16
	is "--stack=$depth: the others" "$(value phase:w others)" 28
	matches "--stack=$depth: when" "$(value phase:w last_time)" "[0-9]*.[0-9]*"
done

launch -e wide -- "$BIN/values"
is "sixteen bytes in two slots" "$(for key in writes changed silent last_to; do value wide $key; done)" "2
1
1
\"\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\""

launch -e outside -- "$BIN/values"
is "the kernel writes: reads tell" \
	"$(for key in unseen unseen_first unseen_last writes current; do value outside $key; done)" "2
3
5
0
9"
"$WATCHPROF" --report -e outside -- "$BIN/values" >"$tmp/text" 2>/dev/null
matches "the kernel writes: the text report" "$(grep 'without a counted access' "$tmp/text")" \
	"  changed 2 times at least without a counted access (the kernel, or another process): found by hits 3 to 5"
launch -e outside:r -e phase:w -- "$BIN/values"
is "where writes are not watched, a change is nothing to tell" "$(value outside:r unseen)" 0
"$WATCHPROF" --report=json -e phase:w -- "$BIN/values" >"$tmp/json" 2>/dev/null
is "json has the same" "$(sed -n 's/.*"silent" *: *\([0-9]*\).*/\1/p' "$tmp/json" | head -n 1)" 30
done_testing
