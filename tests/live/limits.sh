# limits.sh: many hits, none lost without a word; exactly so many; what a report without hits tells.
. "$(dirname "$0")/lib.sh"

many=${LIMIT_HITS:-1000000}

target "$BIN/board"
attach --stack=0 -e a:w
echo "a $many" >&9
go
wait "$prof"
is "$many hits: each is counted" "$(total "$tmp/report" a:w)" "$many"
is "$many hits: none is lost" "$(field "$tmp/report" lost) $(field "$tmp/report" complete)" "0 yes"

target "$BIN/board"
attach -n 1000 -e a:w
echo "a 5000" >&9
wait "$prof"
is "--max-hits=1000: status" $? 0
is "--max-hits=1000: exactly" "$(field "$tmp/report" hits)" 1000
go
is "--max-hits=1000: the target goes on" "$? $(grep -c '^done a' "$tmp/target.out")" "0 1"

# A table of sites that is too small: told, and the sum is right.
launch --max-sites=1 -e counter:w -- "$BIN/two"
is "overrun: the sum is right" "$(total "$tmp/report" counter:w)" 1500
is "overrun: it is told" "$(field "$tmp/report" overrun)" 500

# Without hits: address, size, access, threads, self-test; and whether the value changed.
case $ENGINE in
dr) slot="1 slot, " ;;
page) slot= ;;
esac
silent() {
	"$WATCHPROF" -q --report -p "$target" -e a:w -d 0.3
}
target "$BIN/board" 2
silent >"$tmp/text"
matches "no hits: what was watched" "$(sed -n 's/^watch //p' "$tmp/text")" "a:w: 8 bytes at 0x*, access w, $slot""a *"
is "no hits: an untouched variable" "$(sed -n 's/^  0 hits: //p' "$tmp/text")" \
	"no access seen, value unchanged; self-test: ok, 2 of 2 hits"
matches "no hits: threads" "$(sed -n 1p "$tmp/text")" "watchprof: *, 1 threads armed, 0 hits"
# The same in a pipe: valid, empty, and it ends.
is "no hits: a table with a header, and nothing else" "$("$WATCHPROF" -q --report=tsv -p "$target" -e a:w -d 0.3 | grep -v '^#' |
	awk -F '\t' '{ print NR, $1 }')" "1 hits"
go

target "$BIN/board"
"$WATCHPROF" -q --report -p "$target" -e 'a:w' --control="$tmp/socket" >"$tmp/text" 9>&- &
prof=$!
pids="$pids $prof"
"$BIN/ask" "$tmp/socket" pause 9>&- >/dev/null
echo "a 3" >&9
until_true has_line "$tmp/target.out" "^done a"
"$BIN/ask" "$tmp/socket" resume quit 9>&- >/dev/null
wait "$prof"
matches "a change that no hit tells of" "$(sed -n 's/^  0 hits: //p' "$tmp/text")" "its value changed without a counted access*"
is "a pause is told" "$(grep -c '^  a SAMPLE: the watch was armed for [0-9.]* % of the time' "$tmp/text")" 1
go

# A program that ends by itself: a change that was seen before is told; else nothing is said of its value.
for change in 3 0; do
	target "$BIN/board"
	"$WATCHPROF" -q --report -p "$target" -e 'a:w' --control="$tmp/socket" >"$tmp/text" 9>&- &
	prof=$!
	pids="$pids $prof"
	"$BIN/ask" "$tmp/socket" pause 9>&- >/dev/null
	echo "a $change" >&9
	until_true has_line "$tmp/target.out" "^done a"
	"$BIN/ask" "$tmp/socket" resume list 9>&- >/dev/null
	go
	wait "$prof"
	sed -n 's/^  0 hits: //p' "$tmp/text" >"$tmp/silence.$change"
done
matches "a program that ends: a change that no hit tells of" "$(cat "$tmp/silence.3")" "its value changed without a counted access*"
is "a program that ends: no change was seen" "$(cat "$tmp/silence.0")" \
	"no access seen, value not compared at the end; self-test: ok, 2 of 2 hits"
done_testing
