# list.sh: --list-vars.
. "$(dirname "$0")/lib.sh"
tab=$(printf '\t')

# listed OPTION...: the list without directories and line numbers.
listed() {
	"$WATCHPROF" "$@" 2>"$tmp/err" | sed "s|$tab/[^$tab]*/|$tab|g; s|:[0-9][0-9]*\$|:N|"
}

is "a variable by its name" "$(listed --list-vars=kettle -- "$BIN/names-c")" \
	"kettle${tab}4${tab}volatile int${tab}.bss${tab}names-c${tab}names_c.c:N
kettles${tab}4${tab}volatile int${tab}.bss${tab}names-c${tab}names_c.c:N"
is "by a pattern" "$(listed --list-vars='k?ttle' -- "$BIN/names-c" | cut -f 1)" kettle
is "without debug info" "$(listed --list-vars=side -- "$BIN/names-c")" "side${tab}4${tab}-${tab}.bss${tab}names-c${tab}-
side${tab}4${tab}-${tab}.bss${tab}names-c${tab}-"
is "statics of functions" "$(listed --list-vars=tally -- "$BIN/expr-c")" \
	"tally.0${tab}8${tab}volatile struct {...}${tab}.bss${tab}expr-c${tab}expr_c.c:N"
is "thread-local" "$(listed --list-vars='t[vls]' -- "$BIN/tls" | cut -f 1-4)" "tl${tab}8${tab}long int${tab}.tdata
ts${tab}2${tab}short int${tab}.tbss
tv${tab}4${tab}int${tab}.tbss"
if [ -x "$BIN/names-cc" ]; then
	is "C++" "$(listed --list-vars='box*' -- "$BIN/names-cc" | cut -f 1-3)" "box<int>::total${tab}4${tab}volatile int
box<long>::total${tab}8${tab}volatile long int"
else
	skip "C++" "there is no C++ compiler"
fi
is "a control character in a name is escaped" "$(listed --list-vars='ev*il' -- "$BIN/evil" | cut -f 1-3)" "ev\\x1bil${tab}4${tab}volatile int"
is "every line has six fields" "$("$WATCHPROF" --list-vars -- "$BIN/names-c" | awk -F '\t' 'NF != 6' | wc -l | tr -d ' ')" 0
target "$BIN/two-shared" wait
is "a library's variable of a process" "$(listed --list-vars='counte[r]' -p "$target" | cut -f 1,2,5)" \
	"counter${tab}4${tab}libtwo.so"
go
is "the process has not noticed" $? 0

# --- members ---
parts() {
	"$WATCHPROF" -q --list-members="$1" -- "$BIN/$2" 2>&1 | cut -f 1-3,6
}
is "members, with bit-fields" "$(parts tree expr-c)" "tree.next${tab}8${tab}struct node *${tab}+0
tree.val${tab}8${tab}long int${tab}+8
tree.parts${tab}36${tab}struct part []${tab}+16
tree.b1${tab}1${tab}unsigned int:1${tab}+52 bit 0
tree.b2${tab}1${tab}unsigned int:3${tab}+52 bit 1
tree.b3${tab}2${tab}unsigned int:12${tab}+52 bit 4
tree.color${tab}4${tab}enum color${tab}+56
tree.d${tab}8${tab}double${tab}+64"
is "a union and a struct without names" "$(parts 'tree.parts[1]:w' expr-c | cut -f 1,4)" "tree.parts[1].a${tab}+0
tree.parts[1].u${tab}+4
tree.parts[1].f${tab}+4
tree.parts[1].s1${tab}+8
tree.parts[1].s2${tab}+10"
is "elements" "$(parts 'matrix[2]' expr-c | tail -n 1)" "matrix[2][3]${tab}4${tab}volatile int${tab}+12"
matches "none" "$(parts 'counts[1]' expr-c)" "watchprof: counts?1? has no members: its type is int"
is "all of a process can be named" "$(
	target "$BIN/expr-c" wait
	for base in head '*to_head'; do
		"$WATCHPROF" -q --list-members="$base" -p "$target" | cut -f 1 | while IFS= read -r expr; do
			"$WATCHPROF" -q -d 0.001 --report -o /dev/null -p "$target" -e "$expr/1" 2>&1 || echo "$expr"
		done
	done
	go
)" ""
if [ -x "$BIN/expr-cc" ]; then
	is "bases, hidden and static members" "$(parts object expr-cc | cut -f 1,4)" "object.c${tab}+20
object.ref${tab}+24
object.base::a${tab}+8 of base
object.b${tab}+12 of base
object.made${tab}static of base
object.other::a${tab}+16 of other"
else
	skip "bases, hidden and static members" "there is no C++ compiler"
fi
"$WATCHPROF" --list-vars -- "$0" >"$tmp/out" 2>"$tmp/err"
is "no program" "$?$(cat "$tmp/out")" 125
matches "no program: the message" "$(cat "$tmp/err")" "watchprof: $0: its symbols cannot be read: *"
"$WATCHPROF" --list-vars -- no-such-program 2>"$tmp/err"
is "not found" "$? $(cat "$tmp/err")" "127 watchprof: no-such-program: not found in PATH"
done_testing
