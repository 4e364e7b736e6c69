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
"$WATCHPROF" --list-vars -- "$0" >"$tmp/out" 2>"$tmp/err"
is "no program" "$?$(cat "$tmp/out")" 125
matches "no program: the message" "$(cat "$tmp/err")" "watchprof: $0: its symbols cannot be read: *"
"$WATCHPROF" --list-vars -- no-such-program 2>"$tmp/err"
is "not found" "$? $(cat "$tmp/err")" "127 watchprof: no-such-program: not found in PATH"
done_testing
