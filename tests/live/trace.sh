# trace.sh: a line for each hit, in every format; the binary form decoded; the flight recorder.
. "$(dirname "$0")/lib.sh"

# hit_lines FILE: how many lines of a text trace are hits.
hit_lines() {
	awk '!/^#/ { n++ } END { print n + 0 }' "$1"
}

# column FILE NAME: the values of a column of a text trace, with the number of each.
column() {
	awk -F '\t' -v name="$2" '
		/^# time\t/ { sub(/^# /, ""); for (i = 1; i <= NF; i++) at[$i] = i; next }
		/^#/ { next }
		{ n[$at[name]]++ }
		END { for (value in n) print n[value], value }' "$1" | sort -rn
}

launch -e counter:w --trace="$tmp/trace" --trace-stack -- "$BIN/two"
is "text: as many lines as hits" "$(hit_lines "$tmp/trace")" 1500
is "text: by function" "$(column "$tmp/trace" function | sed 's/+0x.*//')" '1000 f
500 g'
is "text: kinds" "$(column "$tmp/trace" kind)" "1500 w"
is "text: each write's old value is the former one's new one" "$(awk -F '\t' '
	/^#/ { next } { bad += n++ && $6 != last; last = $7 } END { print bad + 0, last }' "$tmp/trace")" "0 2000"
is "text: watches" "$(column "$tmp/trace" watch)" "1500 counter:w"
is "text: tasks" "$(column "$tmp/trace" task | sed 's/-[0-9]*$//')" "1500 two"
is "text: paths" "$(column "$tmp/trace" path | sed 's/+0x[0-9a-f]*//g; s/ < main.*/ < main/')" '1000 f < main
500 g < main'
is "text: times go up" "$(awk '/^#/ { next } $1 < last { bad++ } { last = $1 } END { print bad + 0 }' "$tmp/trace")" 0
is "text: its end" "$(tail -n 1 "$tmp/trace")" "# end	the target exited with status 0"
is "the report tells of the trace" "$(field "$tmp/report" trace_hits) $(field "$tmp/report" trace_dropped)" "1500 0"
is "the counts are the same" "$(field "$tmp/report" hits)" 1500

# The program writes to v on which processor it is. Threads without a struct rseq are asked for in /proc.
for tunable in 1 0; do
	for stack in 0 32; do
		launch -e v:w --stack=$stack --trace="$tmp/roams" -- env GLIBC_TUNABLES=glibc.pthread.rseq=$tunable "$BIN/roams"
		is "processors, struct rseq $tunable, --stack=$stack: status" $? 0
		is "processors, struct rseq $tunable, --stack=$stack: each hit has its own" \
			"$(awk -F '\t' '/^#/ { next } { n++; same += $3 == $7 } END { print n - same, (n > 0) }' "$tmp/roams")" "0 1"
	done
done
launch -e roam:x --stack=0 --trace="$tmp/roams" -- "$BIN/roams"
is "processors: of calls" "$(awk -F '\t' '/^#/ { next } { print $3 }' "$tmp/roams" | grep -c '^[0-9]')" 2
launch -e v:w --trace="$tmp/roams" --trace-format=binary -- "$BIN/roams"
"$WATCHPROF" --decode "$tmp/roams" --trace-format=json >"$tmp/json"
is "processors: in JSON" "$(sed -n 's/.*"cpu":\([0-9]*\),.*"new_value":"\([0-9]*\)".*/\1 \2/p' "$tmp/json" | awk '$1 == $2 { n++ } END { print (n > 0 && n == NR) }')" 1

launch -e counter:w --trace="$tmp/binary" --trace-format=binary --trace-stack -- "$BIN/two"
rm -f "$tmp/moved"
mv "$tmp/binary" "$tmp/moved"
"$WATCHPROF" --decode "$tmp/moved" >"$tmp/decoded"
is "binary: decoded: status" $? 0
is "binary: as many lines as hits" "$(hit_lines "$tmp/decoded")" 1500
is "binary: the same functions" "$(column "$tmp/decoded" function)" "$(column "$tmp/trace" function)"
is "binary: the same paths" "$(column "$tmp/decoded" path)" "$(column "$tmp/trace" path)"
is "binary: the program is among the modules" "$(grep -c "^# module	.*/two	" "$tmp/decoded")" 1
"$WATCHPROF" --decode "$tmp/moved" --trace-format=json >"$tmp/json"
is "binary: as JSON: hits" "$(grep -c '^{"type":"hit",.*}$' "$tmp/json")" 1500
head -c 9000 "$tmp/moved" >"$tmp/short"
"$WATCHPROF" --decode "$tmp/short" >"$tmp/decoded" 2>"$tmp/error"
is "cut off: status" $? 125
matches "cut off: one line" "$(cat "$tmp/error")" "watchprof: $tmp/short: the trace is cut off after [0-9]* hits, in the record at byte *"
"$WATCHPROF" --decode "$tmp/report" >"$tmp/decoded" 2>"$tmp/error"
is "no trace: refused" "$? $(cat "$tmp/error")" \
	"125 watchprof: $tmp/report: not a binary trace of watchprof (made with --trace-format=binary)"

launch -e counter:w --trace --trace-format=json -- "$BIN/two"
is "JSON on the standard error" "$(grep -c '^{"type":"hit",' "$tmp/prof.err")" 1500

launch -e counter:w --trace="$tmp/ring" --flight=16K -- "$BIN/two"
went=$(field "$tmp/report" trace_overwritten)
is "flight: kept and gone are all" "$(($(hit_lines "$tmp/ring") + went))" 1500
is "flight: the newest are kept" "$(column "$tmp/ring" function | sed 's/.* //; s/+0x.*//')" g
is "flight: it says how many went" "$(sed -n 's/^# overwritten\t//p' "$tmp/ring")" "$went"

launch -e counter:w -e counter:w,new==1002 --trace="$tmp/ring" --flight=1M -- "$BIN/two"
is "flight: a filter that fires dumps what led there" "$(hit_lines "$tmp/ring.1") $(tail -n 5 "$tmp/ring.1" | awk -F '\t' 'NR == 1 { print $4, $7 }')" \
	"1001 counter:w counter:w,new==1002 1002"
is "flight: the hits that the filter left out" "$(field "$tmp/report" filtered)" 1499
rm -f "$tmp/ring.1"

target "$BIN/board"
attach -e a:w --trace="$tmp/ring" --flight=1M --trace-format=binary --control="$tmp/socket"
echo "a 5" >&9
until_true has_line "$tmp/target.out" "^done a"
kill -USR2 "$prof"
until_true test -e "$tmp/ring.1"
is "SIGUSR2: a dump in the middle" "$("$WATCHPROF" --decode "$tmp/ring.1" | grep -vc '^#')" 5
is "control: off" "$("$BIN/ask" "$tmp/socket" 'trace off' 9>&-)" '{"ok":true}'
echo "a 7" >&9
echo "b 1" >&9
until_true has_line "$tmp/target.out" "^done b"
go
wait "$prof"
is "off: not traced, but counted" "$("$WATCHPROF" --decode "$tmp/ring" | grep -vc '^#') $(field "$tmp/report" hits)" "5 12"

# A named pipe.
mkfifo "$tmp/pipe"
exec 8<>"$tmp/pipe"
launch -e counter:w --trace="$tmp/pipe" -n 300 -- "$BIN/two"
cat <&8 >"$tmp/piped" &
reader=$!
pids="$pids $reader"
until_true has_line "$tmp/piped" "^# end"
is "a small trace fits a pipe that nobody reads yet" "$(hit_lines "$tmp/piped")" 300
kill "$reader"
exec 8>&-

is "refused: binary on a terminal" "$("$WATCHPROF" -e v --trace --trace-format=binary -- true 2>&1)" \
	"watchprof: --trace-format=binary: give the trace a file, with --trace=FILE"
is "refused: a ring without a file" "$("$WATCHPROF" -e v --flight=1M -- true 2>&1)" \
	"watchprof: --flight: where shall the newest hits be written? Give --trace=FILE as well"
echo precious >"$tmp/earlier"
"$WATCHPROF" -q -e nobody:w --trace="$tmp/earlier" -p $$ >/dev/null 2>&1
is "refused: an earlier trace stays" "$? $(cat "$tmp/earlier")" "125 precious"
is "refused: no such place" "$("$WATCHPROF" -e v --trace=/no/such -- true 2>&1)" \
	"watchprof: /no/such: the trace cannot be written there: No such file or directory"
done_testing
