# attach.sh: what cannot be attached to or launched is refused with one line that tells the cause, and nothing
# is left behind (cases 26, 32, 47, 48, 51); slots that others hold, and slots used again (54, 55, 58).
. "$(dirname "$0")/lib.sh"

# refused NAME STATUS PATTERN COMMAND...: a command with a report gets one line and this status; nothing is
# reported.
refused() {
	name=$1 want=$2 pattern=$3
	shift 3
	rm -f "$tmp/report"
	"$@" >"$tmp/prof.out" 2>"$tmp/prof.err" 9>&-
	is "$name: status" $? "$want"
	matches "$name: one line" "$(cat "$tmp/prof.err")" "$pattern"
	[ ! -s "$tmp/prof.out" ] && [ ! -e "$tmp/report" ]
	ok $? "$name: nothing is reported"
}

# unharmed NAME PID: the target is as it was, in every thread.
unharmed() {
	untraced "$2" && all_clear "$2"
	ok $? "$1: the target is untraced, runs, and is not armed"
}

nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'
chmod 755 "$tmp"
# shellcheck disable=SC2086 # $nobody is a command with its arguments
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null && $nobody test -x "$WATCHPROF" -a -x "$BIN/two"; then
	can_nobody=1
fi

# Case 47 a: already traced. By the tracer's id and name.
target "$BIN/steady" 3 1000
mkfifo "$tmp/hold"
"$BIN/hold" "$target" <"$tmp/hold" >"$tmp/hold.out" 9>&- &
hold=$!
pids="$pids $hold"
exec 8>"$tmp/hold"
until_true has_line "$tmp/hold.out" holding
refused "traced by another program" 125 "watchprof: process $target is already traced by process $hold (hold)*" \
	"$WATCHPROF" --report -e v:w -p "$target"
exec 8>&-
wait "$hold"
unharmed "traced by another program" "$target"
attach -n 10 -e v:w
wait "$prof"
is "once that has gone: exactly 10 hits" "$(total "$tmp/report" v:w)" 10
go
is "traced by another program: the target ends as alone" $? 7

if [ -n "${can_nobody:-}" ]; then
	# The case that works, so that the refusals below have one cause only.
	scope=/proc/sys/kernel/yama/ptrace_scope
	former=$([ -w $scope ] && cat $scope)
	[ -z "$former" ] || echo 0 >$scope
	target $nobody "$BIN/two" wait
	rm -f "$tmp/prof.err"
	$nobody "$WATCHPROF" -v --report=tsv -e counter:w -p "$target" >"$tmp/report" 2>"$tmp/prof.err" 9>&- &
	prof=$!
	until_true has_line "$tmp/prof.err" '^watchprof: armed in'
	go
	wait "$prof"
	is "a user's own process, without root: counted" "$(total "$tmp/report" counter:w)" 1500

	# b: Yama.
	if [ -n "$former" ]; then
		target $nobody "$BIN/two" wait
		echo 1 >$scope
		refused "Yama's ptrace_scope is 1" 125 "watchprof: process $target: the system lets only a parent attach (kernel.yama.ptrace_scope is 1)*" \
			$nobody "$WATCHPROF" --report -e counter:w -p "$target"
		"$WATCHPROF" --report=tsv -d 0.01 -e counter:w -p "$target" >"$tmp/report" 9>&-
		is "Yama's ptrace_scope is 1: root may" $? 0
		$nobody "$WATCHPROF" --report=tsv -e counter:w -- "$BIN/two" >"$tmp/report" 9>&-
		is "Yama's ptrace_scope is 1: a launched program may be watched" "$(total "$tmp/report" counter:w)" 1500
		echo "$former" >$scope
		unharmed "Yama's ptrace_scope is 1" "$target"
		go
	else
		skip "Yama's ptrace_scope is 1" "this kernel has no Yama"
	fi

	# c: another user's.
	target "$BIN/two" wait
	refused "another user's process" 125 "watchprof: process $target (two) belongs to user 0;*" \
		$nobody "$WATCHPROF" --report -e counter:w -p "$target"
	unharmed "another user's process" "$target"

	# root, but without the capability.
	go
	target $nobody "$BIN/two" wait
	refused "root without CAP_SYS_PTRACE" 125 "watchprof: process $target (two) may not be traced from here: a capability (CAP_SYS_PTRACE) is missing*" \
		setpriv --bounding-set -all --inh-caps -all "$WATCHPROF" --report -e counter:w -p "$target"
	unharmed "root without CAP_SYS_PTRACE" "$target"
	go

	# d: it has made itself untraceable.
	target $nobody "$BIN/hidden"
	refused "not dumpable" 125 "watchprof: process $target (hidden) has made itself untraceable*run watchprof as root" \
		$nobody "$WATCHPROF" --report -e counter:w -p "$target"
	attach -d 0.01 -e counter:w
	wait "$prof"
	is "not dumpable: root may" $? 0
	unharmed "not dumpable" "$target"
	go
	is "not dumpable: the target ends as alone" $? 7

	# Case 32.
	cp "$BIN/two" "$tmp/special"
	chmod 4755 "$tmp/special"
	$nobody "$WATCHPROF" --report=tsv -e counter:w -- "$tmp/special" >"$tmp/report" 2>"$tmp/prof.err" 9>&-
	is "a set-user-id program, without root: its status" $? 0
	matches "a set-user-id program, without root: one warning" "$(cat "$tmp/prof.err")" "watchprof: warning: *set-user-id*"
	is "a set-user-id program, without root: the report has it" "$(grep -c '^# warning.*set-user-id' "$tmp/report")" 1
	is "a set-user-id program, without root: counted" "$(rows "$tmp/report" counter:w)" "1000 f
500 g"
	launch -e counter:w -- "$tmp/special"
	is "a set-user-id program, as root: no warning" "$status $message" "0 "
	$nobody "$WATCHPROF" --report=tsv -e counter:w -- "$BIN/two" >"$tmp/report" 2>"$tmp/prof.err" 9>&-
	is "another program, without root: no warning" "$? $(cat "$tmp/prof.err")" "0 "
else
	skip "users and their rights" "needs root, setpriv, and a build that others can read"
fi

# Case 48: a sandbox. The program to launch would leave a mark.
if "$BIN/noptrace" EPERM true 2>/dev/null; then
	target "$BIN/two" wait
	case $ENGINE in
	dr) says="watchprof: this kernel or sandbox does not provide ptrace debug registers*" ways="EPERM ENOSYS POKE" ;;
	page) says="watchprof: *trace*" ways="EPERM ENOSYS" ;;
	esac
	for how in $ways; do
		refused "ptrace gives $how, launched" 124 "$says" \
			"$BIN/noptrace" $how "$WATCHPROF" --engine=$ENGINE --report -o "$tmp/report" -e v:w -- touch "$tmp/mark"
		[ ! -e "$tmp/mark" ] && until_true nothing_left_over
		ok $? "ptrace gives $how, launched: nothing ran and nothing is left behind"
		refused "ptrace gives $how, attached" 124 "$says" \
			"$BIN/noptrace" $how "$WATCHPROF" --engine=$ENGINE --report -o "$tmp/report" -e counter:w -p "$target"
	done
	unharmed "ptrace fails" "$target"
	go
	# Where only the debug registers are missing, pages do.
	"$BIN/noptrace" POKE "$WATCHPROF" --engine=auto --report=tsv -o "$tmp/report" -e counter:w -- "$BIN/two" >"$tmp/prof.out" 2>"$tmp/prof.err" 9>&-
	is "no debug registers: counted by pages" "$? $(field "$tmp/report" engine) $(rows "$tmp/report" counter:w | tr '\n' ' ')" "0 page 1000 f 500 g "
	matches "no debug registers: one line tells" "$(cat "$tmp/prof.err")" "watchprof: warning: debug registers do not fire here: the page engine is used*"
else
	skip "a sandbox without ptrace" "this kernel has no seccomp filters"
fi

# Case 51.
if [ -x "$BIN/bits32" ] && [ "$(echo | "$BIN/bits32")" = ready ]; then
	target "$BIN/bits32"
	refused "a 32-bit process" 125 "watchprof: process $target (bits32) is a 32-bit program, which is not supported" \
		"$WATCHPROF" --report -e v:w -p "$target"
	unharmed "a 32-bit process" "$target"
	go
	is "a 32-bit process: it ends as alone" $? 7
	refused "a 32-bit program, launched" 125 "watchprof: *bits32: a 32-bit program, which is not supported" \
		"$WATCHPROF" --report -o "$tmp/report" -e v:w -- "$BIN/bits32"
	until_true nothing_left_over
	ok $? "a 32-bit program, launched: nothing is left behind"
	# Through a 64-bit one: it has run, but ends unwatched.
	echo | "$WATCHPROF" --report=tsv -o "$tmp/report" -e v:w -- sh -c "exec '$BIN/bits32'" >"$tmp/prof.out" 2>"$tmp/prof.err" 9>&-
	got=$?
	[ $got -eq 7 ] || [ $got -eq 125 ]
	ok $? "a 64-bit program that executes a 32-bit one: refused, or it ends as alone"
	grep -q '32-bit' "$tmp/prof.err"
	ok $? "a 64-bit program that executes a 32-bit one: it is told"
	target sh -c "echo ready; read x; exec '$BIN/bits32'"
	rm -f "$tmp/prof.err"
	"$WATCHPROF" --report=tsv -o "$tmp/report" -v -e 0x10000/8:w -p "$target" >"$tmp/prof.out" 2>"$tmp/prof.err" 9>&- &
	prof=$!
	until_true has_line "$tmp/prof.err" '^watchprof: armed in'
	go
	is "an attached program that executes a 32-bit one: it ends as alone" $? 7
	wait "$prof"
else
	skip "a 32-bit process" "there are none here"
fi

# Processes that are no more, or hardly.
target "$BIN/zombie"
child=$(said ready)
refused "a process that has ended" 125 "watchprof: process $child (zombie) has ended already and waits for its parent*" \
	"$WATCHPROF" --report -e v:w -p "$child"
go
refused "a process that is no more" 125 "watchprof: there is no process $child" "$WATCHPROF" --report -e v:w -p "$child"

us=0
bad=0
while [ $us -le "${VANISH_US:-60000}" ]; do
	target "$BIN/steady" 4 0
	"$BIN/killafter" $us "$target" &
	killer=$!
	"$WATCHPROF" -q --report=tsv -d 5 -o "$tmp/report" -e v:w -p "$target" >"$tmp/prof.out" 2>"$tmp/prof.err" 9>&-
	case $?$(cat "$tmp/prof.err") in
	0) field "$tmp/report" end | grep -Eq 'killed by signal 9|has vanished' || bad=$((bad + 1)) ;;
	"125watchprof: "*"process $target"*) ;;
	*)
		bad=$((bad + 1))
		sed 's/^/# /' "$tmp/prof.err"
		;;
	esac
	wait "$killer"
	exec 9>&-
	wait "$target" 2>/dev/null
	us=$((us + 1500))
done 2>/dev/null
is "a process killed at any moment of the attach: told, or refused with a line that names it" $bad 0
until_true nothing_left_over
ok $? "a process killed at any moment of the attach: nothing is left behind"

if [ $ENGINE = page ]; then
	skip "slots" "the page engine has none"
	done_testing
	exit
fi

# Case 54: the limit, and slots that are free again.
target "$BIN/slots"
attach -e a:w -e b:w -e c:w -e d:w
tell 1
heard '^done 1'
leave
is "four watches" "$(for v in a b c d; do total "$tmp/report" $v:w; done | tr '\n' ' ')" "1 2 3 4 "
refused "two objects of three slots" 125 "watchprof: 6 debug register slots are needed and a processor has 4: s takes 3; t takes 3*" \
	"$WATCHPROF" --report -e s -e t -p "$target"
attach -e t:w -e d:w
tell 2
heard '^done 2'
leave
is "four other slots, used again" "$(total "$tmp/report" t:w) $(total "$tmp/report" d:w)" "6 4"
refused "five watches" 125 "watchprof: 5 debug register slots are needed and a processor has 4: *" \
	"$WATCHPROF" --report -e a -e b -e c -e d -e s+16/8 -p "$target"
unharmed "refusals" "$target"
attach -e s:w
tell 3
heard '^done 3'
leave
is "three slots, after refusals" "$(total "$tmp/report" s:w)" 5
attach -e a -e b -e c -e d
tell 4
heard '^done 4'
leave
is "all four, with another access" "$(for v in a b c d; do total "$tmp/report" $v; done | tr '\n' ' ')" "1 2 3 4 "

# Case 58.
"$WATCHPROF" --report=tsv -d 0.01 -e table/8:w -p "$target" >"$tmp/report" 2>"$tmp/prof.err" 9>&-
is "a constant table: status" $? 0
matches "a constant table: a warning that names the mapping" "$(cat "$tmp/prof.err")" \
	"watchprof: warning: table/8:w: the memory at 0x* is read-only (*/slots)"
is "a constant table: the report has it" "$(grep -c '^# warning.table/8:w: the memory at 0x.*/slots)$' "$tmp/report")" 1
"$WATCHPROF" --report=tsv -d 0.01 -e table/8:rw -p "$target" >"$tmp/report" 2>"$tmp/prof.err" 9>&-
is "a constant table, read: no warning" "$? $(cat "$tmp/prof.err")" "0 "
"$WATCHPROF" --report=tsv -d 0.01 -e 0x10000/8:w -p "$target" >"$tmp/report" 2>"$tmp/prof.err" 9>&-
is "an address that is not mapped: status" $? 0
matches "an address that is not mapped: a warning" "$(cat "$tmp/prof.err")" \
	"watchprof: warning: 0x10000/8:w: nothing is mapped at 0x10000 now"
go
is "slots: the target ends as alone" $? 7

# Case 55: slots that the program itself holds, in one of its five threads.
target "$BIN/perfslots" 4
if has_line "$tmp/target.out" 'no events'; then
	skip "slots held by perf events" "$(said 'no events:')"
else
	refused "all slots are held" 125 "watchprof: the hardware breakpoint slots of thread * are in use by another tool*" \
		"$WATCHPROF" --report -e v:w -p "$target"
	unharmed "all slots are held" "$target"
	tell o
	heard '^own'
	is "all slots are held: the holder's events still count" "$(said own)" 20
	tell c
	heard '^closed'
	attach -e v:w
	tell w
	heard '^wrote'
	leave
	is "slots given back: 10 hits" "$(rows "$tmp/report" v:w)" "10 write_ten"
	is "slots given back: all threads are armed" "$(field "$tmp/report" threads_armed) $(field "$tmp/report" complete)" "5 yes"
	go
	is "slots given back: the target ends as alone" $? 7

	target "$BIN/perfslots" 3
	refused "one slot is free and two are needed" 125 "watchprof: the hardware breakpoint slots of thread * are in use by another tool*" \
		"$WATCHPROF" --report -e v:w -e own/8:w -p "$target"
	unharmed "one slot is free and two are needed" "$target"
	attach -e v:w
	tell w
	heard '^wrote'
	tell o
	heard '^own'
	leave
	is "one slot is free and one is needed: 10 hits" "$(rows "$tmp/report" v:w)" "10 write_ten"
	is "one slot is free and one is needed: the holder's events count, too" "$(said own)" 15
	unharmed "one slot is free and one is needed" "$target"
	go
	is "one slot is free and one is needed: the target ends as alone" $? 7
fi
until_true nothing_left_over
ok $? "no process of watchprof is left"
done_testing
