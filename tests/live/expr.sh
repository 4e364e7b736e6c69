# expr.sh: expressions: members, elements, bit-fields, pointers and casts, in C, C++, Rust and Go, and
# in debug information of every form that compilers and distributions make.
here=$(dirname "$0")
. "$here/lib.sh"

has_begun() {
	has_line "$tmp/prof.err" '^watchprof: armed in' || ! kill -0 "$prof"
}

# attach_or_end OPTION...: start watchprof on the target; waits until it is armed or has ended.
attach_or_end() {
	rm -f "$tmp/prof.err" "$tmp/report"
	"$WATCHPROF" -v --report=tsv -o "$tmp/report" -p "$target" "$@" >"$tmp/prof.out" 2>"$tmp/prof.err" 9>&- &
	prof=$!
	pids="$pids $prof"
	until_true has_begun
}

# counted NAME PROGRAM EXPR=HITS...: attach with these watches (:w), let the program run, compare.
counted() {
	name=$1
	program=$2
	shift 2
	target "$BIN/$program"
	head=$(sed -n 's/^head //p' "$tmp/target.out")
	wanted=
	for pair in "$@"; do
		expr=$(echo "${pair%=*}" | sed "s/HEAD/$head/")
		wanted="$wanted$expr=${pair##*=}
"
		set -- "$@" -e "$expr:w"
		shift
	done
	attach_or_end "$@"
	if ! has_line "$tmp/prof.err" '^watchprof: armed in'; then
		is "$name: armed" "$(cat "$tmp/prof.err")" "watchprof: armed in ..."
		go
		return
	fi
	go
	wait "$prof"
	got=$(awk -F '\t' '$1 == "# watch" { sub(":w$", "", $2); print $2 "=" $7 }' "$tmp/report")
	is "$name" "$got" "${wanted%?}"
}

# object EXPR: what the report of the last run says that EXPR:w is, without directories.
object() {
	awk -F '\t' -v watch="$1:w" '$1 == "# watch" && $2 == watch { print $11 }' "$tmp/report" |
		sed 's|[^ :()]*/||g'
}

# refused NAME EXPR PATTERN: the message for EXPR when attaching to the target that waits.
refused() {
	message=$("$WATCHPROF" --report=tsv -d 0.1 -p "$target" -e "$2" 2>&1 >/dev/null)
	matches "$1" "${message#"watchprof: $2: "}" "$3"
}

c_forms() {
	counted "members and elements" expr-c 'tree.val=3' 'tree.parts[2].u=4' 'tree.parts[0x1].s2=5' 'tree.color=7'
	is "what they are" "$(object 'tree.parts[2].u')" "tree.parts[2].u (expr_c.c:40) in expr-c"
	counted "a bit-field, pointers through the heap" expr-c 'tree.b2=6' 'head->val=8' 'head->next->parts[1].f=9' \
		'matrix[1][2]=11'
	is "a bit-field is told as such" "$(object tree.b2)" "tree.b2, bits 1..3 of 1 byte (expr_c.c:40) in expr-c"
	is "and a warning tells of its neighbours" "$(grep -c 'tree.b2:w: tree.b2 is a bit-field: what is done to other fields' \
		"$tmp/prof.err")" 1
	counted "stars and brackets" expr-c '(*head).val=8' '(*(*to_head)).val=8' '(*to_head)->next->next->val=3' \
		'(*head->next).next=10'
	counted "what a pointer to a pointer points at" expr-c '**to_head/8=0' '*head->next/8=10' '*matrix[2]=0' 'matrix[2]+12=12'
	is "how it is written" "$(object '**to_head/8')" "**to_head (expr_c.c:43) in expr-c"
	counted "flexible arrays, a type of another unit" expr-c 'flexible->data[5]=13' 'trailing->last[3]=14' \
		'opaque->secret=15' 'table[1]->d=16'
	counted "statics of files and functions" expr-c 'expr_c.c::hidden.b=18' 'expr_more.c::hidden.b=21' \
		'step::tally.calls=19' 'name[3]=17'
	counted "casts" expr-c '(struct node *)HEAD->val=8' '((node_t *)any)->val=8' '(node_t *)HEAD->next->parts[1].f=9' \
		'(unsigned long *)HEAD[1]=8'
	counted "parts by offset and length" expr-c 'tree.parts[2].u+2/2=4' '((struct node *)any)->next+8/4=8' \
		'expr-c!tree.parts[1]+10=5' '*expr-c!expr_c.c::head+8/8=8'

	target "$BIN/expr-c"
	refused "an unknown member, with near ones" tree.vall "tree has no member 'vall'; did you mean val"
	refused "nothing near: what there is" tree.zzzzzz "tree has no member 'zzzzzz'; it has next, val, parts, b1, b2, ..."
	refused "outside of an array" 'matrix[3]' "matrix has 3 elements, and *3* is outside of it"
	refused "outside of the second dimension" 'matrix[1][4]' "matrix* has 4 elements, and *4* is outside of it"
	refused "a member of a pointer" head.val "head is a pointer: write head->val"
	refused "a star before what is no pointer" '*tree.val' "tree.val is no pointer: its type is long int"
	refused "an element of what is no array" 'tree.val[1]' "tree.val is no array: its type is long int"
	refused "NULL" 'nothing->val' "nothing is NULL now, and pointers are followed once*"
	refused "a pointer to nowhere" '*nowhere/8' "nowhere is 0x10, where no memory can be read"
	refused "void" '*any' "\*any has no size that is known: its type is void, so how many bytes?*"
	refused "a part of a bit-field" 'tree.b2.x' "tree.b2 is a bit-field, which has no parts"
	refused "an unknown type" '(struct nodee *)0x1000->x' "no type named 'struct nodee' in *; did you mean struct node*"
	refused "the same in other letter case" '((Node_t *)any)->val' "no type named 'Node_t' in *; did you mean node_t*"
	refused "nothing near" '(struct qqqqqqqq *)0x1000->x' "no type named 'struct qqqqqqqq' in the debug information of any module that is loaded"
	[ $ENGINE = page ] || refused "a whole struct" 'table[1]->parts' "the object is 36 bytes*"
	refused "an unknown variable with a member" treee.val "no variable named 'treee' in *; did you mean tree*"
	go
	counted "what a refusal leaves behind: nothing" expr-c tree.val=3
}

# Types of one name that differ.
cast_forms() {
	counted "the file's type" casts 'casts.c::((struct record *)casts_first)->count=3' \
		'casts_other.c::((struct record *)casts_other)->count=4'
	counted "a typedef of the file" casts 'casts_other.c::((record_t *)casts_other)->count=4'
	counted "a cast without brackets" casts 'casts_other.c::(struct record *)HEAD->count=4'
	counted "of a variable of the file" casts 'casts.c::((struct record *)slot)->count=3' \
		'casts_other.c::((struct record *)slot)->count=4'
	counted "of a variable of another file" casts 'casts_other.c::((struct record *)casts.c::slot)->name/8=3'
	counted "the same type in both files" casts '((struct shared *)casts_shared)->second=5'
	counted "a declared type whose definitions are the same" casts 'casts_opaque_shared->second=5'
	counted "a declared type, by the file of its definition" casts 'casts.c::((struct record *)casts_opaque)->count=3'
	target "$BIN/casts"
	message=$("$WATCHPROF" --report=tsv -d 0.1 -p "$target" -e 'casts_opaque->count' 2>&1 >/dev/null)
	is "a declared type whose definitions differ: refused with a list" "$(echo "$message" | wc -l | tr -d ' ') $(echo "$message" | sed -n 1p)" \
		"3 watchprof: casts_opaque->count: ambiguous, 2 different types are named 'struct record'; \
name one as FILE.c::(struct record *)... or MODULE!(struct record *)...:"
	refused "a type that is declared and never defined" 'casts_nowhere->count' \
		"\\*casts_nowhere has no members that are known: its type is struct nowhere, which is only declared *"
	message=$("$WATCHPROF" --report=tsv -d 0.1 -p "$target" -e '((struct record *)casts_first)->count' 2>&1 >/dev/null)
	is "types that differ: refused with a list" "$(echo "$message" | sed 's|, /[^ ]*/|, |; s|in /.*/|in |')" \
		"watchprof: ((struct record *)casts_first)->count: ambiguous, 2 different types are named 'struct record'; \
name one as FILE.c::(struct record *)... or MODULE!(struct record *)...:
  struct record, 16 bytes, casts.c:$(grep -n '^struct record {' "$here/casts.c" | sed -n '2s/:.*//p'), in casts
  struct record, 32 bytes, casts_other.c:$(grep -n '^struct record {' "$here/casts.c" | sed -n '1s/:.*//p'), in casts"
	message=$("$WATCHPROF" --report=tsv -d 0.1 -p "$target" -e '((record_t *)casts_first)->count' 2>&1 >/dev/null)
	matches "typedefs of them" "$(echo "$message" | sed -n 1p)" "*: ambiguous, 2 different types are named 'record_t'; *"
	refused "a file without the type" 'stdio.h::((struct record *)casts_first)->count' \
		"no type named 'struct record' in * with that source file; did you mean struct record*"
	go
}

# The same source in all forms of debug information.
forms() {
	for form in 4 5 gz split types lto dwz debug nosymbol dwp4 dwp5 dwpgcc dwpdebug; do
		if [ -e "$BIN/expr-$form" ]; then
			counted "debug information: $form" "expr-$form" 'tree.parts[2].u=4' 'head->val=8' 'opaque->secret=15' \
				'tree.b2=6'
		else
			skip "debug information: $form" "it could not be built"
		fi
	done
	for form in dwp4 dwp5 dwpgcc; do
		if [ -e "$BIN/expr-$form" ]; then
			counted "a package: statics, members, casts ($form)" "expr-$form" 'expr_c.c::hidden.b=18' 'expr_more.c::hidden.b=21' \
				'step::tally.calls=19' '((struct node *)any)->val=8'
			is "its lines ($form)" "$(object 'step::tally.calls' | sed 's/^[^(]*//')" "(expr_c.c:62) in expr-$form"
		fi
	done
	if [ -e "$BIN/expr-clang" ]; then
		counted "debug information: clang" expr-clang 'tree.parts[2].u=4' '((struct node *)any)->val=8' \
			'opaque->secret=15' 'step::tally.calls=19'
	else
		skip "debug information: clang" "there is no clang"
	fi
}

cc_forms() {
	counted "members of bases" expr-cc object.base::a=3 object.b=4 object.other::a=5 pointer-\>c=6
	counted "references" expr-cc object.ref=7 reference=7 pointer-\>ref=7 referred=7
	counted "static members" expr-cc base::made=8 'pointer->made=8' 'box<int>::total=10' of_long.total=11
	counted "inline variables" expr-cc 'box<int>::inlined=12' of_int.inlined=12 inline_variable=15 of_int.value=9
	counted "variable templates" expr-cc 'variable<int>=13' 'variable<short>=14' of_long.value=19 inlined=12
	counted "unnamed and other namespaces" expr-cc unnamed.y=16 'ns::(anonymous namespace)::unnamed.y=16' \
		'nested.in.q[2]=17' 'expr_cc.cc::ns::nested.in.q[2]=17'
	counted "statics of functions" expr-cc 'count(int)::tally.calls=18' count::tally.calls=18 tally.calls=18
	target "$BIN/expr-cc"
	refused "a virtual base" object.v "where 'v' lies in object is known only to the program as it runs*"
	message=$("$WATCHPROF" --report=tsv -d 0.1 -p "$target" -e total 2>&1 >/dev/null)
	is "two templates" "$(echo "$message" | sed -n 's/^  \(.*\) at .*/\1/p')" "box<int>::total
box<long>::total"
	refused "a member of two bases" object.a "several bases of object have a member 'a'; name one as object.BASE::a"
	refused "a base that is none" object.bas::a "object has no member 'bas::a'*"
	refused "a misspelt name that is mangled" 'inline_variabel' "no variable named 'inline_variabel' *; did you mean inline_variable"
	go
}

rust_forms() {
	counted "Rust ($1): an atomic, a tuple" "$1" "${1#expr-}::COUNTER=100" PAIR.1=3 POINT.x=4 'POINT.y[2]=5'
	counted "Rust ($1): a tuple in a struct, modules, functions" "$1" "POINT.t.1=6" inner::DEEP=7 count::CALLS=8
	counted "Rust ($1): whole enums" "$1" SHAPE/4=9
	is "Rust ($1): functions have readable names" "$(rows "$tmp/report" SHAPE/4:w | cut -d' ' -f2)" "${1#expr-}::main"
	target "$BIN/$1"
	refused "Rust ($1): a variant" SHAPE.at "*SHAPE holds one of several variants*"
	go
}

go_forms() {
	counted "Go: a counter" expr-go main.counter=100 main.root.val=3 counter=100
	is "Go: functions have readable names" "$(rows "$tmp/report" main.counter:w | cut -d' ' -f2)" main.bump
	counted "Go: structs, slices, pointers" expr-go 'main.hist[1].arr[2]=4' 'main.list.array[3]=5' main.head.next.val=6 \
		'main.head->val=3'
	target "$BIN/expr-go"
	refused "Go: near misses" main.countr "no variable named 'main.countr' *; did you mean main.counter"
	refused "Go: an unknown member" main.root.vall "main.root has no member 'vall'; did you mean val"
	go
}

# missing_in PROGRAM: what is said of tree.val there.
missing_in() {
	target "$1"
	attach_or_end -e tree.val:w
	wait "$prof"
	go
}

# What was split off and is not there any more.
missing() {
	missing_in "$BIN/expr-missing"
	matches "a .dwo file is missing: a warning names it" "$(sed -n 1p "$tmp/prof.err")" \
		"watchprof: warning: *expr-missing: debug information that was split off to /*/expr-missing-expr_c.dwo is missing, \
and there is no package *expr-missing.dwp that can be read: *"
	matches "and the expression is refused" "$(sed -n '$p' "$tmp/prof.err")" \
		"watchprof: tree.val:w: there is no debug information for tree in *expr-missing, and members, elements and pointers need it; *"
	counted "parts by offset and length need none" expr-missing 'tree+8/8=3'
	if [ -e "$BIN/expr-dwp4" ]; then
		mkdir "$tmp/package"
		cp "$BIN/expr-dwp4" "$tmp/package"
		head -c 1000 "$BIN/expr-dwp4.dwp" >"$tmp/package/expr-dwp4.dwp"
		missing_in "$tmp/package/expr-dwp4"
		matches "a package that is cut off is none" "$(sed -n 1p "$tmp/prof.err")" \
			"*expr_c.dwo is missing, and there is no package *expr-dwp4.dwp that can be read: *"
		cp "$BIN/expr-missing" "$tmp/package/other"
		cp "$BIN/expr-dwp4.dwp" "$tmp/package/other.dwp"
		missing_in "$tmp/package/other"
		matches "nor that of another program" "$(sed -n 1p "$tmp/prof.err")" \
			"*expr_c.dwo is not in *other.dwp: *"
	fi
	if [ -e "$BIN/expr-dwptypes" ]; then
		missing_in "$BIN/expr-dwptypes"
		matches "types in units of their own are not read from a package" "$(sed -n 1p "$tmp/prof.err")" \
			"watchprof: warning: *expr-dwptypes.dwp: types that were compiled with -fdebug-types-section *"
	fi
}

c_forms
cast_forms
forms
missing
if [ -e "$BIN/expr-cc" ]; then cc_forms; else skip "expressions of C++" "there is no C++ compiler"; fi
for mangling in legacy v0; do
	if [ -e "$BIN/expr-$mangling" ]; then rust_forms expr-$mangling; else skip "Rust ($mangling)" "there is no rustc"; fi
done
if [ -e "$BIN/expr-go" ]; then go_forms; else skip "Go" "there is no Go compiler"; fi
done_testing
