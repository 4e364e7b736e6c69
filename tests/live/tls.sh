# tls.sh: thread-local variables: each thread's own is watched (case 61), wherever it comes from.
. "$(dirname "$0")/lib.sh"

each='157 first
150 second
150 third'

# split FILE WATCH: as rows, in order of the function.
split() {
	rows "$1" "$2" | sort -k 2
}

# run NAME EXPECTED WATCH PROGRAM [ARG...]: the rows of a launched program.
run() {
	name=$1 expected=$2 watch=$3
	shift 3
	launch -q -e "$watch" -- "$@"
	is "$name" "$(split "$tmp/report" "$watch") $(field "$tmp/report" complete) $message" "$expected yes "
}

# run_attached: the same of a program that is attached to.
run_attached() {
	name=$1 expected=$2 watch=$3
	shift 3
	target "$@"
	attach -e "$watch"
	go
	wait "$prof"
	is "$name" "$(split "$tmp/report" "$watch") $(field "$tmp/report" complete)" "$expected yes"
}

for model in local-exec initial-exec local-dynamic global-dynamic; do
	run "$model: launched, split by thread" "$each" tv:w "$BIN/tls-$model"
	run_attached "$model: attached, old and new threads" "$each" tv:w "$BIN/tls-$model" wait
done
for kind in static staticpie; do
	run "$kind: launched" "$each" tv:w "$BIN/tls-$kind"
	run_attached "$kind: attached" "$each" tv:w "$BIN/tls-$kind" wait
done

run "with an initial value" "450 others" tl:w "$BIN/tls"
run "a static, of two bytes" "450 others" ts:w "$BIN/tls"
run "a part by its offset" "450 others" pair+4/4:w "$BIN/tls"
run "a member" "450 others" pair.tail:w "$BIN/tls"
run "a member, in a static program" "450 others" pair.tail:w "$BIN/tls-static"
run_attached "a member, attached" "450 others" pair.tail:w "$BIN/tls" wait
run "the whole: parts together" "456 others" pair:w "$BIN/tls"
run "a static of a function" "450 count_up" calls:w "$BIN/tls"
run "the same, by the function" "450 count_up" count_up::calls:w "$BIN/tls"
run "reads count, too" "900 count_up" calls "$BIN/tls"

run "of a library that is linked: launched" "450 tls_bump" lib_tv:w "$BIN/tls-linked"
run_attached "of a library that is linked: attached" "450 tls_bump" lib_tv:w "$BIN/tls-linked" wait
for model in global-dynamic local-dynamic initial-exec; do
	library=$BIN/libtls_$model.so
	run "of a library that comes later, $model: launched" "457 tls_late_bump" late_tv:w "$BIN/tls" run "$library"
	run_attached "of one that no thread has touched, $model: attached" "457 tls_late_bump" late_tv:w \
		"$BIN/tls" wait "$library"
done
run "together with its module" "457 tls_late_bump" libtls_late.so!late_tv:w "$BIN/tls" run "$BIN/libtls_late.so"

launch -q -e tv:w -e lib_tv:w -e late_tv:w -e tl:w -- "$BIN/tls-linked" run "$BIN/libtls_late.so"
is "four at once, in all four slots" "$(for v in tv lib_tv late_tv tl; do total "$tmp/report" $v:w; done | tr '\n' ' ')" \
	"457 450 457 450 "
is "the report names no address" \
	"$(awk -F '\t' '$1 == "# watch" && $2 == "tv:w" { print $3 }' "$tmp/report")" "per thread"
matches "the object says what it is" "$(awk -F '\t' '$1 == "# watch" && $2 == "tv:w" { print $11 }' "$tmp/report")" \
	"tv (*tls.c:*), thread-local, in */tls-linked"

# The vector of a thread moves before the library's block exists.
set --
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do
	cp "$BIN/libtls_more.so" "$tmp/more$i.so"
	set -- "$@" "$tmp/more$i.so"
done
run "a library out of many" "40 tls_late_bump" late_tv:w "$BIN/tls_many" "$BIN/libtls_late.so" "$@"

launch -q -e tv:w -e late_tv:w -- "$BIN/tls_churn" 500 "$BIN/libtls_late.so"
is "threads that come and go: every write of each" "$(total "$tmp/report" tv:w) $(total "$tmp/report" late_tv:w) \
$(field "$tmp/report" complete)" "2500 1500 yes"

launch -q -f -e tv:w -- "$BIN/tls_fork"
is "a forked child has a copy at the same place" "$(split "$tmp/report" tv:w)" "10 child_writes
5 parent_writes
3 thread_writes"

if [ -x "$BIN/tls-cc" ]; then
	launch -q -e ns::computed:w -- "$BIN/tls-cc"
	is "C++: computed at first use: 65 writes by work, 4 by the initialisers" \
		"$(rows "$tmp/report" ns::computed:w | awk '{ n[$2 ~ /^work/] += $1 } END { print n[1], n[0] }')" "65 4"
	run "C++: in a namespace" "65 work(void*)" ns::plain:w "$BIN/tls-cc"
	run "C++: of a class" "65 work(void*)" counter::shared:w "$BIN/tls-cc"
	launch -q -e in_function::local:w -- "$BIN/tls-cc"
	is "C++: in a function: written once more by its initialiser in each thread" \
		"$(total "$tmp/report" in_function::local:w)" 69
else
	skip "thread-local variables of C++" "there is no C++ compiler"
fi

run "another version of glibc: of the program" "$each" tv:w "$BIN/tls-alien"
target "$BIN/tls-alien" wait
"$WATCHPROF" --report=tsv -p "$target" -e lib_tv:w >"$tmp/out" 2>"$tmp/err" 9>&-
is "of a library: refused" $? 125
is "of a library: one line" "$(cat "$tmp/err")" "watchprof: lib_tv:w: a thread-local variable of a library, and the process's \
C library is another version than the libthread_db of this system; give the address of one thread's"
go
is "of a library: nothing happened to the program" $? 0

if [ -x "$BIN/tls-musl" ]; then
	run "musl: of a static program" "$each" tv:w "$BIN/tls-musl-static"
	run "musl: of the program" "$each" tv:w "$BIN/tls-musl"
	launch -e lib_tv:w -- "$BIN/tls-musl"
	is "musl: of a library: one line" "$message" "watchprof: lib_tv:w: a thread-local variable of a library, and the \
process's C library does not tell debuggers where its threads have such variables (glibc does); give the address of one thread's"
	is "musl: of a library: refused" "$status" 125
else
	skip "thread-local variables with musl" "there is no musl-gcc"
fi
done_testing
