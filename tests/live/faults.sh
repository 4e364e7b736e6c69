# faults.sh: whatever fails at whatever step, the target goes on untouched, nothing is left behind, and no half of a
# report: the nth allocation, open, read, write, ptrace, waitpid, fork and look at memory; full disks, closed pipes,
# directories that cannot be written. FAULT_STEPS=all takes each n, not only the first ones and then fewer and
# fewer; few, one in two of these.
. "$(dirname "$0")/lib.sh"

# faulty CALL N COMMAND...: the Nth such call of each process of watchprof fails.
faulty() {
	FAULT_PROGRAM=$PROGRAM FAULT_CALL=$1 FAULT_AT=$2 FAULT_LOG=$tmp/fault.log LD_PRELOAD=$BIN/faults.so
	export FAULT_PROGRAM FAULT_CALL FAULT_AT FAULT_LOG LD_PRELOAD
	shift 2
	rm -rf "$tmp/fault.log" "$tmp/out"
	mkdir "$tmp/out"
	timeout -s KILL 120 "$@" >"$tmp/prof.out" 2>"$tmp/prof.err" </dev/null 9>&-
	status=$?
	unset FAULT_PROGRAM FAULT_CALL FAULT_AT FAULT_LOG LD_PRELOAD
}

# next N: the step behind N.
next() {
	case ${FAULT_STEPS:-} in
	all) echo $(($1 + 1)) ;;
	few) echo $(($1 * 2)) ;;
	*) [ "$1" -lt 12 ] && echo $(($1 + 1)) || echo $(($1 + $1 / 3)) ;;
	esac
}

# wrong TEXT: one more step that ended badly.
wrong() {
	wrongs=$((wrongs + 1))
	echo "# $call $n: status $status: $1"
	sed 's/^/#   /' "$tmp/prof.err" | head -5
}

# A report is there as a whole, or not at all, and nothing beside it.
whole_report() {
	[ -e "$tmp/out/report" ] || return 0
	grep -q '^hits	' "$tmp/out/report" && [ -z "$(tail -c 1 "$tmp/out/report" | tr -d '\n')" ]
}

# judged GOOD: what must be so after every step, with the status that a run without the failure would have.
judged() {
	case $status in
	"$1") [ -s "$tmp/out/report" ] || wrong "no report" ;;
	124 | 125 | 126 | 127) grep -q '^watchprof: ' "$tmp/prof.err" || wrong "it does not say why" ;;
	124?*) ;;
	*) wrong "a status that is none" ;;
	esac
	whole_report || wrong "half a report"
	[ -z "$(find "$tmp/out" -type f ! -name report)" ] || wrong "a file is left: $(ls -A "$tmp/out")"
	until_true nothing_left_over || wrong "a process is left"
}

# steps CALL GOOD COMMAND...: fail each step until there are no more.
steps() {
	call=$1
	good=$2
	shift 2
	n=1
	taken=0
	wrongs=0
	while :; do
		faulty "$call" "$n" "$@"
		judged "$good"
		$check
		[ -e "$tmp/fault.log" ] || break
		taken=$((taken + 1))
		n=$(next "$n")
	done
	is "$name: $call fails at each of $taken steps up to $n" "$wrongs" 0
	[ "$taken" -gt 0 ]
	ok $? "$name: $call has failed at all"
}

# The target that others attach to is as before.
target_untouched() {
	all_clear "$target" || wrong "debug registers are left: $(cat "$tmp/dr7")"
	until_true untraced "$target" || wrong "the target is left traced or stopped"
}

calls=${FAULT_CALLS-malloc open read write ptrace waitpid memory fork}
name=attach
check=target_untouched
target "$BIN/steady" 2 1000
for call in $calls; do
	# shellcheck disable=SC2086
	steps "$call" 0 "$WATCHPROF" --report=tsv -o "$tmp/out/report" -n 20 -d 3 -p "$target" -e v:w
done
go
is "the target ends as it does alone" $? 7

# The program that was launched is not left behind, either.
no_child() {
	! ls -l /proc/[0-9]*/exe 2>/dev/null | grep -qF -e "-> $(readlink -f "$BIN/two")" || wrong "the target is left"
}
name=launch
check=no_child
for call in $calls; do
	steps "$call" 0 "$WATCHPROF" --report=tsv -o "$tmp/out/report" -e counter "$BIN/two"
done

# refused_output NAME STATUS PATTERN ARG...: a run that cannot write what it is to write says so, and its target lives.
# Its standard output is $out.
refused_output() {
	what=$1
	wanted=$2
	pattern=$3
	shift 3
	target "$BIN/steady" 2 1000
	timeout -s KILL 120 "$WATCHPROF" --report=tsv -n 20 -p "$target" -e v:w "$@" >"$out" 2>"$tmp/prof.err" 9>&-
	is "$what: status $wanted" $? "$wanted"
	matches "$what: it says why" "$(tail -n 1 "$tmp/prof.err")" "$pattern"
	all_clear "$target"
	ok $? "$what: disarmed"
	go
	is "$what: the target lives" $? 7
}

out=/dev/null
refused_output "a full device" 125 'watchprof: /dev/full: *No space left on device*' -o /dev/full
refused_output "a directory that is not there" 125 '*No such file or directory*' -o "$tmp/none/report"
# The counts are not the trace's: they are reported.
refused_output "a full trace" 0 'watchprof: warning: *No space left on device*' -o "$tmp/report" --trace=/dev/full
is "a full trace: the report" "$(field "$tmp/report" hits)" 20
out=/dev/full
refused_output "a full standard output" 125 '*No space left on device*'
list_full() {
	"$WATCHPROF" --list-vars -- "$BIN/two" 2>&1 >/dev/full
	echo "status $?"
}
is "a list, and a full standard output" "$(list_full)" "watchprof: standard output: No space left on device
status 125"

# A reader that has gone away.
target "$BIN/steady" 2 1000
mkfifo "$tmp/pipe"
(exec 8<"$tmp/pipe" && exec 8<&-) &
reader=$!
timeout -s KILL 120 "$WATCHPROF" --report=tsv -n 20 -p "$target" -e v:w >"$tmp/pipe" 2>"$tmp/prof.err" 9>&-
status=$?
wait $reader
matches "a closed pipe: it says why" "$status $(tail -n 1 "$tmp/prof.err")" '125 *Broken pipe*'
all_clear "$target"
ok $? "a closed pipe: disarmed"
go
is "a closed pipe: the target lives" $? 7

# Little room on a disk: the former report stays as it is.
if [ "$(id -u)" -eq 0 ] && unshare --mount true 2>/dev/null; then
	target "$BIN/steady" 2 1000
	# shellcheck disable=SC2016
	unshare --mount sh -c 'mkdir "$1/small" && mount -t tmpfs -o size=4k none "$1/small" || exit 9
		echo former >"$1/small/report"
		"$2" --report=tsv -o "$1/small/report" -n 20 -p "$3" -e v:w 2>"$1/prof.err"
		echo $?
		cat "$1/small/report"
		ls -A "$1/small"' sh "$tmp" "$WATCHPROF" "$target" >"$tmp/small.out" 9>&-
	is "a full disk: status, former report, nothing else" "$(tr '\n' ' ' <"$tmp/small.out")" "125 former report "
	matches "a full disk: it says why" "$(tail -n 1 "$tmp/prof.err")" '*No space left on device*'
	# shellcheck disable=SC2016
	unshare --mount sh -c 'mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp || exit 9
		touch "$1/file" 2>/dev/null && exit 9
		"$2" --report=tsv -n 20 -p "$3" -e v:w' sh "$tmp" "$WATCHPROF" "$target" >"$tmp/small.out" 2>"$tmp/prof.err" 9>&-
	is "/tmp cannot be written: status" $? 0
	is "/tmp cannot be written: the report" "$(field "$tmp/small.out" hits)" 20
	all_clear "$target"
	ok $? "a full disk: disarmed"
	go
	is "a full disk: the target lives" $? 7
else
	skip "a full disk" "it needs root and a mount namespace"
fi
done_testing
