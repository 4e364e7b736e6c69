# code.sh: the names of the code that makes the hits: inlined functions, code made at run time, the vdso,
# statics of one name, with and without debug info.
. "$(dirname "$0")/lib.sh"

# frames FILE WATCH: the functions of each path of a watch in a json report, innermost first, by hits.
frames() {
	awk -v watch="$2" '
		/^watch / { on = index($0, "watch " watch ":") == 1 }
		on && /^ +[0-9]+  .* < / { sub(/ < main.*/, ""); print }' "$1" | sed 's/^ *//; s/  */ /g'
}

for program in code code-clang code-split code-lto; do
	if [ ! -x "$BIN/$program" ]; then
		skip "$program: the names of code" "there was no compiler for it"
		continue
	fi
	target "$BIN/$program"
	attach -e v:w -e processor:w
	go
	wait "$prof"
	is "$program: code made at run time by its list, one row for what has no name" "$(rows "$tmp/report" v:w | sed 's/0x[0-9a-f]*/N/')" \
		"80 outer
30 alpha
20 be\\x1bta
15 [anonymous N]"
	is "$program: the vdso" "$(rows "$tmp/report" processor:w)" "25 __vdso_getcpu"
	target "$BIN/$program"
	rm -f "$tmp/report" "$tmp/prof.err"
	"$BIN/unignore" "$WATCHPROF" -v --report=text -o "$tmp/report" --trace="$tmp/trace" -p "$target" -e v:w \
		>"$tmp/prof.out" 2>"$tmp/prof.err" 9>&- &
	prof=$!
	pids="$pids $prof"
	until_true has_line "$tmp/prof.err" '^watchprof: armed in'
	go
	wait "$prof"
	is "$program: inlined functions are frames" "$(frames "$tmp/report" v:w | grep outer | sort)" \
		"40 inner (inlined) < middle (inlined) < outer
40 outer"
	is "$program: inlined functions are in a trace" "$(awk -F '\t' '
		!/^#/ && $8 ~ /outer/ { sub(/[+]0x[0-9a-f]*/, "", $8); n[$8]++ }
		END { for (f in n) print n[f], f }' "$tmp/trace" | sort)" \
		"40 inner (inlined) < middle (inlined) < outer
40 outer"
done

for compiler in g++ clang++; do
	if [ ! -x "$BIN/spaces-$compiler" ]; then
		skip "inlined functions in namespaces, $compiler" "there was no compiler for it"
		continue
	fi
	"$WATCHPROF" -q --report=text -o "$tmp/report" -e outer_space::inner_space::v:w -- "$BIN/spaces-$compiler"
	is "inlined functions in namespaces, $compiler" "$(frames "$tmp/report" outer_space::inner_space::v:w | sed 's/ outer_space::inner_space::inner(int) / inner /')" \
		"40 inner (inlined) < outer_space::inner_space::outer(int)"
done

target "$BIN/code" "$tmp/list"
attach -e v:w
go
wait "$prof"
is "a list that is a link to another file is not read" "$(rows "$tmp/report" v:w | grep -c alpha)" 0
if [ "$(id -u)" = 0 ]; then
	target "$BIN/code"
	chown 12345 "/tmp/perf-$target.map"
	attach -e v:w
	go
	wait "$prof"
	is "a list that somebody else has written is not read" "$(rows "$tmp/report" v:w | grep -c alpha)" 0
	if unshare -fp true 2>/dev/null; then
		mkdir "$tmp/tmp"
		cp "$BIN/code" "$tmp/tmp"
		# The target's own /tmp, and its own number.
		# shellcheck disable=SC2016
		target unshare -fpm sh -c 'mount --bind "$1" /tmp && exec /tmp/code' sh "$tmp/tmp"
		# Others come and go meanwhile: awk would stop at one that is gone.
		target=$(grep -lx "PPid:.$target" /proc/[0-9]*/status 2>/dev/null | sed -n '1s|/proc/\([0-9]*\)/.*|\1|p')
		attach -e v:w
		(trap '' PIPE && echo >&9) 2>/dev/null
		exec 9>&-
		wait "$prof"
		is "the list in the target's own /tmp, by its own number" "$(rows "$tmp/report" v:w | sed -n 2,3p)" "30 alpha
20 be\\x1bta"
	else
		skip "the list in the target's own /tmp" "unshare is not possible here"
	fi
else
	skip "a list that somebody else has written is not read" "not root"
fi

for form in same same-bare; do
	launch -e v:w -- "$BIN/$form"
	is "$form: statics of one name are told apart by file" "$(rows "$tmp/report" v:w)" "20 bump
10 bump"
done
# Where a function begins with an access of its own, it is both. (Of a repeated one processors report the first iteration, QEMU each.)
for first in add load push sub endbr test jump divide $([ $ENGINE != page ] || echo repeat); do
	target "$BIN/firsts"
	attach -e "first_$first:x" -e v
	go
	is "first_$first: the program does what it does" $? 7
	wait "$prof"
	is "first_$first: it is counted" "$(rows "$tmp/report" "first_$first:x")" "100 first_$first"
	is "first_$first: and all accesses" "$(rows "$tmp/report" v | sort)" "1 main
100 first_add
100 first_endbr
100 first_jump
100 first_load
100 first_push
100 first_sub
100 first_test"
	[ $ENGINE != page ] || [ $first = divide ] || is "first_$first: no step" "$(field "$tmp/report" stepped)" 0
done

# own NAME WATCH...: firsts_own NAME, watched.
own() {
	name=$1
	shift
	target "$BIN/firsts_own" "$name"
	attach "$@"
	go
	is "$name: the program does what it does" $? 7
	wait "$prof"
}

own protected -e load:x
is "protected: each call once" "$(rows "$tmp/report" load:x)" "50 load"
own protected -e load:x -e protection:x
is "protected, and its handler: each call once" "$(rows "$tmp/report" load:x; rows "$tmp/report" protection:x)" "50 load
50 protection"
own jumped -e load:x
is "jumped: each call once" "$(rows "$tmp/report" load:x)" "51 load"
own guarded -e load:x
is "guarded: each call once" "$(rows "$tmp/report" load:x)" "50 load"
own locked -e down:x
is "locked: each call" "$(rows "$tmp/report" down:x)" "2000 down"
own patched -e patched:x -e v:w
is "patched: the new code is what runs" "$(rows "$tmp/report" v:w)" "50 patched"
own loop -e turned:x
is "loop: each turn" "$(rows "$tmp/report" turned:x | awk '{ n += $1 } END { print n }')" 50
target "$BIN/firsts_own" protected
attach --control="$tmp/socket" -e load:x -e v:w
is "a watch is cleared" "$("$BIN/ask" "$tmp/socket" "clear load:---" 9>&-)" '{"ok":true}'
go
is "protected, where a watch was: the program does what it does" $? 7
wait "$prof"
launch -e _start:x -- "$BIN/two-static"
is "a program's first instruction" "$(total "$tmp/report" _start:x)" 1
target "$BIN/firsts_own" shared
address=$(said ready)
if [ $ENGINE = page ]; then
	"$WATCHPROF" -q --report -p "$target" -e "$address:x" 2>"$tmp/refused"
	is "shared code that cannot be written is refused" $? 125
	matches "and it is said why" "$(cat "$tmp/refused")" "*$address:x: *shared and not writable*"
	go
	is "shared: and it goes on" $? 7
else
	attach -e "$address:x"
	go
	is "shared: the program does what it does" $? 7
	wait "$prof"
	is "shared: each call" "$(total "$tmp/report" "$address:x")" 50
fi
done_testing
