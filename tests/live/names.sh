# names.sh: which variable or function a name means, and what is said where that is none or several
# (cases 58 to 60, 66).
. "$(dirname "$0")/lib.sh"

# hits NAME WATCH EXPECTED PROGRAM: the hits of a watch in a run of the program.
hits() {
	launch -e "$2" -- "$BIN/$4"
	is "$1" "$(total "$tmp/report" "$2") $message" "$3 "
}

# told NAME WATCH PATTERN PROGRAM: the first line that is said of a watch before the program runs.
told() {
	launch -e "$2" -- "$BIN/$4"
	matches "$1" "$(echo "$message" | sed -n 1p)" "watchprof: $3"
}

# listed: the candidates of the last message, without directories and numbers.
listed() {
	echo "$message" | sed -n 's/^  \(.*\) at 0x[0-9a-f]*, [0-9]* bytes/\1/p' |
		sed 's|, in .*/|, in |; s|, /.*/|, |; s|:[0-9][0-9]*|:N|'
}

if [ -x "$BIN/names-cc" ]; then
	hits "a function with its parameters" 'count():x' 3 names-cc
	hits "a function without its parameters" count:x 3 names-cc
	hits "a function in a namespace" ns::count:x 4 names-cc
	hits "the same with its parameters" 'ns::count():x' 4 names-cc
	hits "an overload by its parameters" 'pick(int):x' 5 names-cc
	hits "another, with blanks" 'pick( long ):x' 6 names-cc
	told "overloads without parameters" pick:x "pick:x: ambiguous, 2 functions match;*" names-cc
	is "overloads without parameters: the list" "$(listed | sort)" "pick(int), names.cc:N, in names-cc
pick(long), names.cc:N, in names-cc"
	hits "a static member of a template" 'box<int>::total:w' 7 names-cc
	hits "that of another type" 'box<long>::total:w' 8 names-cc
	told "that of any type" total:w "total:w: ambiguous, 2 variables match;*" names-cc
	hits "a function of a template" 'pair<int, long>::f:x' 7 names-cc
	hits "the same without the blank" 'pair<int,long>::f:x' 7 names-cc
	hits "a scope inside of the brackets" 'pair<long, pair<int, long>*>::f:x' 8 names-cc
	hits "a function template by its arguments" 'twice<int>:x' 10 names-cc
	hits "with its parameters, without what it returns" 'twice<long>(long):x' 1 names-cc
	hits "an operator" 'ns::coin::operator<:x' 9 names-cc
	hits "the end of the same" 'operator<:x' 9 names-cc
	hits "a constructor" 'coin::coin:x' 18 names-cc
	hits "a static of a C++ function" ns::deep::depth:w 3 names-cc
	hits "the same with parameters" 'ns::deep()::depth:w' 3 names-cc
	hits "an unnamed namespace" hidden:w 6 names-cc
	hits "the exact name wins" level:w 20 names-cc
	hits "but not over a file" names.cc::level:w 4 names-cc
	hits "and the file of the exact one" names_more.c::level:w 20 names-cc
	hits "a function by file" names.cc::ns::count:x 4 names-cc
	told "the wrong file" names_more.c::hidden \
		"*no variable named 'hidden' in*with that source file; did you mean names.cc::(anonymous namespace)::hidden; waiting*" names-cc
	told "a C++ function in other letter case" Count:x "*; did you mean count, ns::count*" names-cc
	told "a template without arguments" twice:x "*; did you mean twice<*>, twice<*>*" names-cc
	for form in 5 4; do
		program=scopes-$form
		hits "an inline namespace left out (DWARF $form)" ns::x:w 3 $program
		hits "not left out (DWARF $form)" ns::v1::x:w 3 $program
		hits "another namespace beside it (DWARF $form)" ns::v2::x:w 9 $program
		hits "not the same name elsewhere (DWARF $form)" ns::y:w 4 $program
		hits "which has its own name (DWARF $form)" other::ns::y:w 12 $program
		hits "a static member there (DWARF $form)" ns::part::made:w 5 $program
		hits "a function there (DWARF $form)" ns::count:x 6 $program
		hits "with its parameters (DWARF $form)" 'ns::count(int):x' 6 $program
		hits "its static (DWARF $form)" ns::count::calls:w 6 $program
		hits "two inline namespaces left out (DWARF $form)" ns::bottom:w 7 $program
		hits "the outer one (DWARF $form)" ns::deep::bottom:w 7 $program
		hits "the inner one (DWARF $form)" ns::v1::bottom:w 7 $program
	done
	told "a namespace that is not inline" ns::z:w "*no variable named 'ns::z' *; did you mean ns::v2::z; waiting*" scopes-5
	told "without debug info nobody knows" ns::bottom:w \
		"*no variable named 'ns::bottom' *; did you mean ns::v1::deep::bottom; waiting*" scopes-bare
	hits "an unnamed namespace left out" ns::unnamed:w 10 scopes-bare
	hits "and written" 'ns::(anonymous namespace)::unnamed:w' 10 scopes-bare
	hits "one outside of all others" '(anonymous namespace)::x:w' 13 scopes-bare
	hits "the plain name" hidden:w 14 scopes-bare
	hits "a static member of a class" counter::n:w 15 scopes-bare
	hits "of a class in it, by a suffix" nested::n:w 16 scopes-bare
	hits "an inline one" counter::nested::in_class:w 17 scopes-bare
	told "a plain name of several scopes" x:w "x:w: ambiguous, 3 variables match;*" scopes-5
	is "a plain name of several scopes: the list" "$(listed)" "ns::v1::x, scopes.cc:N, in scopes-5
ns::v2::x, scopes.cc:N, in scopes-5
(anonymous namespace)::x, scopes.cc:N, in scopes-5"
else
	skip "names of C++" "there is no C++ compiler"
fi

hits "a function's static" a::n:w 3 names-c
hits "that of another function" b::n:w 5 names-c
hits "with its file" names_c.c::b::n:w 5 names-c
told "without the function" n:w "n:w: ambiguous, 2 variables match; name one as FILE.c::n, FUNCTION::n, MODULE!n or by address:" names-c
is "without the function: the list" "$(listed | sed 's/^[^,]*, //' | sort)" \
	"names_c.c:N, function a, in names-c
names_c.c:N, function b, in names-c"
told "of a function that has none" crowd::n:w "*no variable named 'crowd::n' *; did you mean *n*, *n*; waiting*" names-c

hits "by file, without debug info" names_left.c::side:w 10 names-c
hits "by the other file" names_right.c::side:w 30 names-c
told "without the file" side:w "side:w: ambiguous, 2 variables match;*" names-c
is "without the file: the list" "$(listed | sort)" "side, names_left.c, in names-c
side, names_right.c, in names-c"

hits "a specialised function" restock:x 6 names-c
hits "by its symbol" restock.constprop.0:x 6 names-c
told "two of one function" refill:x "refill:x: ambiguous, 2 functions match;*" names-c
is "two of one function: the list" "$(listed)" "refill.constprop.0, names_c.c:N, in names-c
refill.isra.1, names_c.c:N, in names-c"
told "a part that was split off is not the function" remnant:x "*; did you mean remnant.part.0; waiting*" names-c

told "the program comes first" shade "shade: ambiguous, 2 variables match;*" names-c
is "the program comes first: the list" "$(listed | sed 's/.*, in //' | tr '\n' ' ')" "names-c libnames.so "
told "more than the list holds" many "many: ambiguous, 14 variables match;*" names-c
is "more than the list holds: 12 and the rest" "$(listed | wc -l | tr -d ' ') $(echo "$message" | sed -n '$p')" "12   and 2 more"

told "a short name: other letter case" xy "*; did you mean Xy; waiting*" names-c
told "a short name: nothing else" ax "*no variable named 'ax' in any module that is loaded; --list-vars*" names-c
told "a function where a variable is asked for" main \
	"*no variable named 'main' *; there is a function of that name: main:x counts its calls; waiting*" names-c
told "a variable where a function is asked for" kettle:x \
	"*no function named 'kettle' *; there is a variable of that name: kettle:rw counts its accesses; waiting*" names-c
told "near misses, the best first" Kettle "*; did you mean kettle, kettles; waiting*" names-c

told "a constant that was optimised away" level "level: level was optimised away: debug information has it, *" gone
told "with its file" gone.c::level "gone.c::level: level was optimised away: *" gone
told "a function's constant" fill::limit "fill::limit: fill::limit was optimised away: *" gone
hits "the same name in another function" drain::limit:w 4 gone
hits "a static that is not optimised away" fill::kept:w 3 gone
told "a local variable" fill::local \
	"fill::local: fill::local is a local variable of fill (*gone.c:10), which has no fixed place in memory: *" gone
told "one that lies on the stack" drain::place "drain::place: drain::place is a local variable of drain (*gone.c:20), *" gone
told "a parameter" gone.c::fill::amount "gone.c::fill::amount: fill::amount is a local variable of fill (*gone.c:6), *" gone
told "a member of one" fill::local.x "fill::local.x: fill::local is a local variable of fill *" gone
told "its name alone may mean others" local "*no variable named 'local' *; there is a local variable of fill (*gone.c:10) \
of that name, which has no fixed place in memory; waiting*" gone

# A stripped program, with its debug file at two of the places where it is searched.
cp "$BIN/names-stripped" "$BIN/libnames.so" "$tmp"
launch -e kettle:w -- "$tmp/names-stripped"
id=$(field "$tmp/report" build_id)
rest=${id#??}
matches "stripped: one line that says so, and where a debug file was searched" "$message" \
	"watchprof: warning: kettle:w: no variable named 'kettle' in any module that is loaded; \
$tmp/names-stripped is stripped and no debug file was found: \
searched /usr/lib/debug/.build-id/${id%"$rest"}/$rest.debug, and names-stripped.debug in $tmp, $tmp/.debug and \
/usr/lib/debug$tmp; waiting for*"
if [ -e "$BIN/names-stripped.debug" ]; then
	cp "$BIN/names-stripped.debug" "$tmp"
	launch -e kettle:w -- "$tmp/names-stripped"
	is "a debug file beside it" "$(total "$tmp/report" kettle:w) $message" "1 "
	mkdir "$tmp/.debug"
	mv "$tmp/names-stripped.debug" "$tmp/.debug"
	launch -e a::n:w -- "$tmp/names-stripped"
	is "a debug file in .debug" "$(total "$tmp/report" a::n:w) $message" "3 "
	launch -e no_such_name -- "$tmp/names-stripped"
	matches "then it is not called stripped" "$message" "*no variable named 'no_such_name' *; --list-vars*"
else
	skip "separate debug files" "there was no objcopy"
fi
done_testing
