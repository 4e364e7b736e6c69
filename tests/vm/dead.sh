# dead.sh: in the emulated machine, on what virtual machines with dead debug registers are: what is said, that the page engine
# is taken by itself and counts exactly, and live tests with that choice. MODULE makes the registers dead.
dir=$(dirname "$0")
insmod "$MODULE" || exit
. "$dir/../live/lib.sh"

# --- what it says of the machine ---
"$WATCHPROF" --self-test >"$tmp/both" 2>"$tmp/err"
is "the self-test succeeds: one of the engines works" $? 0
matches "it says that registers never fire" "$(head -n 1 "$tmp/both")" "debug registers: *accepted but never fire*"
is "it says that the page engine works" "$(sed 1d "$tmp/both")" "page engine: ok, one write and one read gave two hits"
"$WATCHPROF" --engine=dr --self-test >"$tmp/one" 2>&1
is "asked for debug registers, it fails" $? 124

# --- they are asked for: refused, nothing is touched ---
launch --engine=dr -e stock:w -- touch "$tmp/mark"
is "debug registers are asked for: status" "$status" 124
matches "debug registers are asked for: one line" "$(cat "$tmp/prof.err")" "watchprof: debug registers are accepted but never fire here*"
[ ! -e "$tmp/mark" ]
ok $? "debug registers are asked for: nothing ran"

# --- nothing is asked for: the demo's command; examples/shop says how many it sold ---
launch -e stock:w -e sold -- "$SHOP"
is "the choice is left to it: status" "$status" 0
matches "the choice is left to it: one line says so" "$(cat "$tmp/prof.err")" "watchprof: warning: debug registers do not fire here: the page engine is used*"
is "the report has the engine" "$(field "$tmp/report" engine)" page
sold=$(sed -n 's/^shop: .* \([0-9]*\) sold.*/\1/p' "$tmp/prof.out")
is "writes of stock" "$(rows "$tmp/report" stock:w | sort -k 2 | tr '\n' ' ')" "500 restock ${sold:-0} take_from_stock "
is "accesses of sold" "$(rows "$tmp/report" sold | sort -k 2 | tr '\n' ' ')" "$((sold - 500)) buy 500 buy_in_a_hurry 1 main "

# --- it is told once something is watched, and only then ---
launch -q -e stock:w -- "$SHOP"
is "-q: nothing is told" "$(cat "$tmp/prof.err")" ""
launch -e no_such_name:w -- "$SHOP"
matches "no such variable: one line, of that" "$(cat "$tmp/prof.err")" "watchprof: warning: no_such_name:w: *"
done_testing
