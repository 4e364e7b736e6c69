# interposed.sh: several libraries define one name: the definition that the dynamic linker chose is watched
# (case 62), and it is said where that is another one than was named.
. "$(dirname "$0")/lib.sh"

# counted NAME EXPECTED WATCH PROGRAM [ARG...]: rows by name.
counted() {
	name=$1 expected=$2 watch=$3
	shift 3
	launch -q -e "$watch" -- "$@"
	is "$name" "$(rows "$tmp/report" "$watch" | sort -k 2 | tr '\n' ' ')$status" "$expected 0"
}

# object WATCH: what it was resolved to, without directories.
object() {
	awk -F '\t' -v watch="$1" '$1 == "# watch" && $2 == watch { print $11 }' "$tmp/report" | sed 's|/[^ ,:]*/||g'
}

# two_objects NAME PROGRAM [ARG...]: v alone is ambiguous, and each of them is found by its module.
two_objects() {
	kind=$1
	shift
	launch -e v:w -- "$@"
	case $message in
	*"v:w: ambiguous, 2 variables match"*/liba.so*/"$other"*) ok 0 "$kind: ambiguous" ;;
	*) is "$kind: ambiguous" "$message" "both" ;;
	esac
	counted "$kind: that of the one" "10 a_bump" liba.so!v:w "$@"
	counted "$kind: that of the other" "20 b_bump" "$other!v:w" "$@"
}

counted "a copy relocation: the executable's is used" "10 a_bump 20 b_bump 5 direct" v:w "$BIN/order-copy"
is "and is what was named" "$(object v:w)" "v (order_library.c:2) in order-copy"
counted "the same, named with the library" "10 a_bump 20 b_bump 5 direct" liba.so!v:w "$BIN/order-copy"
is "and that is said" "$(object liba.so!v:w)" "v (order_library.c:2) in order-copy, which is used instead of that in liba.so"
target "$BIN/two-shared" wait
attach -e libtwo.so!counter:w
go
wait "$prof"
is "the same, attached" "$(rows "$tmp/report" libtwo.so!counter:w | tr '\n' ' ')" "1000 f 500 g "

counted "the first library in the order of search" "10 a_bump 20 b_bump" v:w "$BIN/order"
is "is liba.so" "$(object v:w)" "v (order_library.c:2) in liba.so"
counted "named by the second" "10 a_bump 20 b_bump" libb.so!v:w "$BIN/order"
is "is said to be the first" "$(object libb.so!v:w)" "v (order_library.c:2) in liba.so, which is used instead of that in libb.so"
counted "linked in the other order" "10 a_bump 20 b_bump" v:w "$BIN/order-reverse"
is "it is the other one" "$(object v:w)" "v (order_library.c:2) in libb.so"

counted "preloaded" "10 a_bump 20 b_bump" v:w env LD_PRELOAD="$BIN/libpre.so" "$BIN/order"
is "that comes first" "$(object v:w)" "v (order_library.c:2) in libpre.so"
counted "preloaded, named by the second" "10 a_bump 20 b_bump" libb.so!v:w env LD_PRELOAD="$BIN/libpre.so" "$BIN/order"
counted "preloaded before a copy: the executable's all the same" "10 a_bump 20 b_bump 5 direct" v:w \
	env LD_PRELOAD="$BIN/libpre.so" "$BIN/order-copy"

other=libb_symbolic.so
two_objects "-Bsymbolic" "$BIN/order-symbolic"
other=libb_protected.so
two_objects "protected" "$BIN/order-protected"
other=libb.so
counted "loaded one by one: each has its own; the first" "10 a_bump" liba.so!v:w "$BIN/order-late" "$BIN/liba.so" "$BIN/libb.so"
counted "the second" "20 b_bump" libb.so!v:w "$BIN/order-late" "$BIN/liba.so" "$BIN/libb.so"
counted "loaded into a program that has one: that, from then on" "20 b_bump 5 direct" libb.so!v:w \
	"$BIN/order-late-direct" "$BIN/liba.so" "$BIN/libb.so"
counted "a function that is named with its module is itself" "1 b_bump" libb.so!b_bump:x "$BIN/order"
cp "$BIN/plugin.so" "$tmp"
counted "in two namespaces: the program's" "3 construct 2 destruct 10 plugin_write" pv:w \
	"$BIN/plugins" open:"$BIN/plugin.so" write:10 space:"$tmp/plugin.so" write:20
done_testing
