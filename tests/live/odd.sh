# odd.sh: accesses whose count or owner is easily got wrong (cases 2, 5, 6, 8, 9, 11, 19, 33, 59).
. "$(dirname "$0")/lib.sh"

launch -e silent:w -e pointer -e middle+4/4:w -- "$BIN/odd"
is "stores of an unchanged value count" "$(rows "$tmp/report" silent:w)" "300 store_silent"
is "an indirect call belongs to the caller" "$(rows "$tmp/report" pointer)" "200 dispatch"
is "partial overlap counts once, neighbours never" "$(rows "$tmp/report" middle+4/4:w)" "1 main
1 store_wide"

launch -e packed+1/4:w -- "$BIN/odd"
is "an unaligned member in three pieces" "$(total "$tmp/report" packed+1/4:w)" 1
launch -e pair:w -- "$BIN/odd"
is "a 16-byte store over two slots counts once" "$(rows "$tmp/report" pair:w)" "100 store_pair"
launch -e by_kernel:w -e either/4:w -e either+4/4:w -- "$BIN/odd"
is "the kernel's writes are no hits" "$(total "$tmp/report" by_kernel:w)" 0
is "one instruction, two watches" \
	"$(rows "$tmp/report" either/4:w) $(rows "$tmp/report" either+4/4:w)" "500 store_either 500 store_either"

# How many stores memset needs for 8 bytes depends on the processor; clear_f calls it 10 times and
# clear_g 5 times.
"$WATCHPROF" --report=text -e cleared/8:w -- "$BIN/odd" >"$tmp/text"
by_f=$(sed -n 's/^ *\([0-9]*\)  [^<]* < clear_f < main < .*/\1/p' "$tmp/text")
by_g=$(sed -n 's/^ *\([0-9]*\)  [^<]* < clear_g < main < .*/\1/p' "$tmp/text")
is "memset: the paths name its callers" "$((by_f / 10)) $((by_f % 10))" "$((by_g / 5)) $((by_g % 5))"
[ "$((by_f / 10))" -ge 1 ]
ok $? "memset: at least one store for each call"

# The first hits of a thread and the last ones before the end have whole paths, too.
for i in 1 2 3 4 5; do
	echo go | "$WATCHPROF" --report=text -e v:w -- "$BIN/crowd" 1 1 3
	"$WATCHPROF" --report=text -e d:rw -- "$BIN/four"
done >"$tmp/text"
is "no path is cut or broken" "$(grep -cE '\[(truncated|broken)\]' "$tmp/text")" 0
is "they end where the thread began" "$(grep -cE '< (_start|__clone3?|clone|libc.so.6\+0x[0-9a-f]*)$' "$tmp/text")" \
	"$(grep -c ' < ' "$tmp/text")"
launch --stack=0 -e pointer -- "$BIN/odd"
is "an indirect call belongs to the caller without a stack, too" "$(rows "$tmp/report" pointer)" "200 dispatch"
for stack in 0 32; do
	launch --stack=$stack -e pointer -- "$BIN/odd-static"
	is "and in a static program, --stack=$stack" "$(rows "$tmp/report" pointer)" "200 dispatch"
done

launch -e v:w -- "$BIN/traps"
is "its own 20 SIGTRAPs reach its handler" "$status" 20
is "and 100 writes are counted" "$(total "$tmp/report" v:w)" 100
launch -e v:w -- "$BIN/traps" die
is "without a handler it dies as it would alone" "$status" 133
is "and the report is written" "$(total "$tmp/report" v:w)" 4

launch -e twins_a.c::counter:w -e twins_b.c::counter:w -- "$BIN/twins"
is "two statics of one name, by file" \
	"$(rows "$tmp/report" twins_a.c::counter:w) $(rows "$tmp/report" twins_b.c::counter:w)" "10 bump_a 20 bump_b"
done_testing
