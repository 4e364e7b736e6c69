# kinds.sh: reads and writes beside hits; reads alone; several watches on the same bytes, each with its own
# counts, whether the processor names all slots that were hit (Bochs, real ones) or one (QEMU).
. "$(dirname "$0")/lib.sh"

# kinds WATCH: "hits reads writes function" for each row of a watch.
kinds() {
	awk -F '\t' -v watch="$1" '
		/^#/ { next }
		!n { for (n = 1; n <= NF; n++) at[$n] = n; next }
		$at["watch"] == watch { print $at["hits"], $at["reads"], $at["writes"], $at["function"] }' "$tmp/report"
}

# slots WATCH: by its own line.
slots() {
	awk -F '\t' -v watch="$1" '$1 == "# watch" && $2 == watch { print $6 }' "$tmp/report"
}

for depth in 32 0; do
	launch --stack=$depth -e cell -- "$BIN/kinds"
	is "--stack=$depth: hits, reads, writes" "$(kinds cell)" '100 100 0 reader
40 0 40 writer
7 7 7 changer'
done
launch -e cell:r -- "$BIN/kinds"
is "reads alone: what reads, and nothing else" "$(kinds cell:r)" '100 100 0 reader
7 7 7 changer'
is "reads alone: hits" "$(field "$tmp/report" hits)" 107
launch -n 101 -e cell:r -- "$BIN/kinds"
is "reads alone: -n counts reads" "$(field "$tmp/report" hits)" 101
launch -e cell:w -- "$BIN/kinds"
is "writes alone: the reads of what writes are known" "$(kinds cell:w)" '40 0 40 writer
7 7 7 changer'

launch -e cell:r -e cell:w -e cell -- "$BIN/kinds"
is "three watches of one variable: each has its own count" \
	"$(for v in cell:r cell:w cell; do total "$tmp/report" $v; done | tr '\n' ' ')" "107 47 147 "
is "three watches of one variable: hits" "$(field "$tmp/report" hits)" 147

launch -e both/4 -e both -e both+4/4:r -- "$BIN/kinds"
is "a part and the whole: the part" "$(kinds both/4)" '5 0 5 write_both
3 0 3 write_first'
is "a part and the whole: the whole" "$(kinds both)" '5 0 5 write_both
3 0 3 write_first
2 2 0 read_second'
is "a part and the whole: the reads of the other part" "$(kinds both+4/4:r)" '2 2 0 read_second'
launch -e both:w -e both/4 -- "$BIN/kinds"
is "writes of the whole, all of a part: the whole" "$(kinds both:w)" '5 0 5 write_both
3 0 3 write_first'
is "writes of the whole, all of a part: the part" "$(kinds both/4)" '5 0 5 write_both
3 0 3 write_first'

launch -e pair/8 -e pair+8/8:w -- "$BIN/kinds"
is "one store over two watches: the first" "$(kinds pair/8)" '11 0 11 write_pair
6 6 0 read_pair'
is "one store over two watches: the second" "$(kinds pair+8/8:w)" '11 0 11 write_pair'
is "one store over two watches: hits" "$(field "$tmp/report" hits)" 17

launch -e source -e copy -- "$BIN/kinds"
is "a copy: reads the source" "$(kinds source)" '9 9 0 copies'
is "a copy: writes the destination" "$(kinds copy)" '9 0 9 copies'
is "a copy: hits" "$(field "$tmp/report" hits)" 9
launch -e source:w -e copy:r -- "$BIN/kinds"
is "a copy: neither writes the source nor reads the destination" "$(field "$tmp/report" hits)" 0
launch -e plain -e lined -e nameless -- "$BIN/bare"
is "without unwind tables: a function with a symbol" "$(kinds plain)" "9 6 6 plain_function"
is "without unwind tables: lines" "$(kinds lined)" "6 6 3 lined_label"
# Where the instruction has not run yet, it is known whatever there are for tables.
case $ENGINE in
dr) unknown="3 - - nameless_label 3" ;;
page) unknown="3 3 3 nameless_label 0" ;;
esac
is "without unwind tables, lines and symbols with a size: unknown, and counted as such" "$(kinds nameless) $(field "$tmp/report" unknown_kinds)" \
	"$unknown"
# The processor stops in the middle: the hits are still those of the instruction, not of the line before it.
launch --group=line -e area -- "$BIN/bare"
is "a rep under way: the line" "$(awk -F '\t' '!/^#/ && $5 == "area" { print $8 }' "$tmp/report")" \
	"$(grep -n 'rep stosb' "$(dirname "$0")/bare_lined.S" | cut -d : -f 1)"
done_testing
