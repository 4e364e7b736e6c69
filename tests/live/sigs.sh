# sigs.sh: the target's signals, masks, handlers and job control are what they would be without watchprof,
# and no system call of it fails because it was stopped (cases 33, 34, 36, 37).
. "$(dirname "$0")/lib.sh"

rounds=${ATTACH_ROUNDS:-20}

# warned FILE: how many lines of it are warnings about SIGTRAP.
warned() {
	grep -c 'warning.*SIGTRAP' "$1"
}

# Case 34. A mask is as it was; a handler or an ignore setting that is lost is warned of, once.
for how in attached launched; do
	for mode in blocked partial allbut bare handled ignored worker pending; do
		# What a launched program blocks or ignores before its first hit cannot be known from outside: where all
		# other signals are blocked, SIGTRAP is taken to have been, too.
		case $how-$mode in
		launched-partial | launched-allbut | launched-ignored) continue ;;
		esac
		if [ $how = attached ]; then
			target "$BIN/masked" $mode
			attach -e v:w
			tell write
			go
			status=$?
			wait "$prof"
		else
			printf 'write\ngo\n' >"$tmp/input"
			launch -e v:w -- "$BIN/masked" $mode <"$tmp/input"
			cp "$tmp/prof.out" "$tmp/target.out"
		fi
		is "SIGTRAP $mode, $how: it lives" "$status" 0
		is "SIGTRAP $mode, $how: three hits" "$(rows "$tmp/report" v:w)" "3 write_three"
		is "SIGTRAP $mode, $how: its mask is as it was" "$(said mask)" same
		case $mode in
		bare) is "SIGTRAP $mode, $how: its action is as it was" "$(said action)" kept ;;
		handled | allbut)
			is "SIGTRAP $mode, $how: its action is as it was" "$(said action)" kept
			is "SIGTRAP $mode, $how: nothing to warn of" "$(warned "$tmp/report") $(warned "$tmp/prof.err")" "0 0"
			;;
		*)
			# Not lost would be better still, and then there would be nothing to warn of.
			want=$([ "$(said action)" = lost ] && echo "1 1" || echo "0 0")
			is "SIGTRAP $mode, $how: warned once if its action is lost" \
				"$(warned "$tmp/report") $(warned "$tmp/prof.err")" "$want"
			;;
		esac
		[ $mode != pending ] || is "SIGTRAP pending, $how: still pending, its origin kept" "$(said pending)" "kept, code 0"
	done
done

# The mask is restored even where the hit is under way when watchprof leaves.
target "$BIN/masked" hammer
i=0
bad=0
while [ "$i" -lt "$rounds" ]; do
	"$WATCHPROF" -q --report=tsv -o "$tmp/report" -n 20 -p "$target" -e v:w 2>"$tmp/prof.err" 9>&- || bad=$((bad + 1))
	[ "$(field "$tmp/report" hits)" = 20 ] || bad=$((bad + 1))
	i=$((i + 1))
done
is "all signals blocked in hot threads: $rounds rounds of 20 hits" $bad 0
go
is "all signals blocked in hot threads: it lives" $? 0
is "all signals blocked in hot threads: every mask is as it was" "$(said mask)" same

# Every signal there is, SIGTRAP among them.
target "$BIN/every"
attach -e v:w
go
is "every signal: 62 are handled" $? 62
wait "$prof"
is "every signal: each once, from the right sender" "$(grep -v '^ready' "$tmp/target.out")" "fault 11 code 1 at 0x1234"
is "every signal: exact counts" "$(rows "$tmp/report" v:w)" "63 write_one
62 handler
1 fault_handler"
launch -e v:w -- "$BIN/every"
is "every signal, launched: exact counts" "$(rows "$tmp/report" v:w)" "63 write_one
62 handler
1 fault_handler"

# Case 36 and job control. The parent sees its child stop and go on, watched or not.
# jobs: start the pair; the child is $target, the parent $parent.
jobs_begin() {
	target "$BIN/jobs"
	parent=$target
	target=$(said ready)
}

# all_stopped: no thread of the child runs. One that is let go in a stop enters that again by itself, a
# moment later.
all_stopped() {
	! grep -hq '^State:.*[^T] (' /proc/"$target"/task/*/status
}

# still_stopped NAME: every thread of the child is stopped, and nobody traces it.
still_stopped() {
	until_true all_stopped
	ok $? "$1: every thread is still stopped"
	is "$1: nobody traces it" "$(awk '/^TracerPid/ { print $2 }' "/proc/$target/status")" 0
}

# jobs_end NAME: the pair ends; the child has exited with 3.
jobs_end() {
	echo e >&9
	exec 9>&-
	wait "$parent"
	is "$1: the pair ends as it should" "$? $(grep -c ' not ' "$tmp/target.out")" "0 0"
}

# stop_and_go N: three stops and continues, the first of them being the Nth.
stop_and_go() {
	for n in $1 $(($1 + 1)) $(($1 + 2)); do
		tell s
		heard 'stopped by 19' "$n"
		tell c
		heard '^continued' "$n"
	done
}

jobs_begin
attach -e v:w
tell b
stop_and_go 1
jobs_end "stopped and continued while watched"
wait "$prof"
is "stopped and continued while watched: the parent saw it, and no writes in between" "$(grep -c '^stopped by 19, at rest' "$tmp/target.out")" 3
is "stopped and continued while watched: its handler of SIGCONT ran as often" "$(said handled)" 3
is "stopped and continued while watched: exact" "$(rows "$tmp/report" v:w)" "$(said writes) write_one"

jobs_begin
tell b
tell s
heard 'stopped by 19, at rest'
attach -e v:w
leave
is "attached to a stopped target: its threads are armed" "$(field "$tmp/report" threads_armed)" 3
is "attached to a stopped target: no hits" "$(total "$tmp/report" v:w)" 0
still_stopped "attached to a stopped target"
tell c
heard '^continued'
jobs_end "attached to a stopped target"

jobs_begin
tell s
heard 'stopped by 19, at rest'
attach -e v:w
tell b
tell c
heard '^continued'
stop_and_go 2
tell t
heard 'stopped by 20, at rest'
leave
[ "$(total "$tmp/report" v:w)" -ge 40 ]
ok $? "stopped at first, then continued: the hits of the time between"
still_stopped "stopped by SIGTSTP while watched"
tell c
heard '^continued' 5
jobs_end "stopped by SIGTSTP while watched"

jobs_begin
tell b
i=0
bad=0
while [ "$i" -lt "$rounds" ]; do
	tell s
	heard 'stopped by 19, at rest' $((i + 1))
	"$WATCHPROF" -q --report=tsv -d 0.01 -p "$target" -e v:w >"$tmp/report" 2>"$tmp/prof.err" 9>&-
	until_true all_stopped || bad=$((bad + 1))
	tell c
	heard '^continued' $((i + 1)) || bad=$((bad + 1))
	i=$((i + 1))
done
is "$rounds rounds on a stopped target: it is stopped after each, and goes on when told to" $bad 0
jobs_end "$rounds rounds on a stopped target"

# released: let the sleepers go; their status.
released() {
	tell r
	exec 9>&-
	wait "$target"
}

# Case 37. No call fails because of watchprof, and none because of a signal that means nothing.
target "$BIN/waits"
i=0
while [ "$i" -lt "$rounds" ]; do
	attach -e v:w
	leave
	i=$((i + 1))
done
released
is "sleeping calls, $rounds attaches: they end as they should" $? 0
is "sleeping calls, $rounds attaches: no EINTR" "$(grep -v ready "$tmp/target.out")" "EINTR 0"

target "$BIN/waits"
attach -e v:w
tell i
heard '^sent'
released
is "sleeping calls, ignorable signals while watched: no EINTR" "$? $(grep -Ev 'ready|sent' "$tmp/target.out")" "0 EINTR 0"
wait "$prof"
# Pages are open while other threads sleep in calls that write into them: that is told. (That the value is another one, too, if it is
# looked at before the target has ended.)
case $ENGINE-$(total "$tmp/report" v:w) in
page-0) is "sleeping calls, ignorable signals while watched: the hit that is missing is told" "$(field "$tmp/report" complete) $(field "$tmp/report" windows | grep -c '[1-9]')" "no 1" ;;
*) is "sleeping calls, ignorable signals while watched: one hit" "$(total "$tmp/report" v:w)" 1 ;;
esac

target "$BIN/waits"
attach -e v:w
tell k
heard '^ended'
released
is "sleeping calls, children that end while watched: no EINTR" "$? $(grep -Ev 'ready|ended' "$tmp/target.out")" "0 EINTR 0"
wait "$prof"

# And each signal that is handled gives EINTR once, as it should.
target "$BIN/pwait"
i=0
bad=0
while [ "$i" -lt "$rounds" ]; do
	"$WATCHPROF" -q --report=tsv -o "$tmp/report" -n 20 -p "$target" -e v:w 2>"$tmp/prof.err" 9>&- || bad=$((bad + 1))
	i=$((i + 1))
done
is "handled signals while attached and let go: $rounds attaches" $bad 0
go
is "handled signals while attached and let go: each gives one EINTR" "$? $(grep -v ready "$tmp/target.out" | tr '\n' ' ')" \
	"0 handled 0 EINTR 0 "

# Queued signals.
for way in handler wait fd; do
	target "$BIN/queue" $way
	i=0
	bad=0
	while [ "$i" -lt "$rounds" ]; do
		"$WATCHPROF" -q --report=tsv -o "$tmp/report" -n 50 -p "$target" -e v:w 2>"$tmp/prof.err" 9>&- || bad=$((bad + 1))
		[ "$(total "$tmp/report" v:w)" = 50 ] || bad=$((bad + 1))
		i=$((i + 1))
	done
	is "queued signals, $way: $rounds attaches of 50 hits" $bad 0
	go
	is "queued signals, $way: 10000 and more, none is lost, in order" "$? $(grep -v ready "$tmp/target.out" | tr '\n' ' ')" \
		"0 lost 0 disorder 0 enough 1 "
done
done_testing
