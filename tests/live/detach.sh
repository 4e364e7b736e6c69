# detach.sh: on every way out the target lives and goes on, disarmed.
. "$(dirname "$0")/lib.sh"

# alive NAME: the target is disarmed, runs on, and ends as it always does.
alive() {
	all_clear "$target"
	ok $? "$1: DR7 is 0 in every thread"
	is "$1: no thread is left stopped" "$(cat /proc/"$target"/task/*/status | grep -c '^State:.*[Tt] (')" 0
	go
	is "$1: the target lives and ends as it does alone" $? 7
}

for pause in 1000 0; do
	for name in INT TERM HUP QUIT; do
		target "$BIN/steady" 4 $pause
		attach -e v:w
		"$BIN/sendsig" "$name" "$prof"
		wait "$prof"
		is "SIG$name, pause $pause: status 0" $? 0
		is "SIG$name, pause $pause: the report tells" "$(field "$tmp/report" end)" "interrupted by SIG$name"
		alive "SIG$name, pause $pause"
	done
	target "$BIN/steady" 4 $pause
	attach -d 0.3 -e v:w
	wait "$prof"
	is "-d, pause $pause: status 0" $? 0
	alive "-d, pause $pause"
	target "$BIN/steady" 4 $pause
	attach -n 50 -e v:w
	wait "$prof"
	is "-n, pause $pause: exactly 50" "$(field "$tmp/report" hits)" 50
	alive "-n, pause $pause"
done

target "$BIN/steady" 4 0
rounds=${DETACH_ROUNDS:-50}
i=0
bad=0
while [ "$i" -lt "$rounds" ]; do
	"$WATCHPROF" --report=tsv -n 20 -p "$target" -e v >"$tmp/report" 2>"$tmp/prof.err" || bad=$((bad + 1))
	[ "$(field "$tmp/report" hits)" = 20 ] || bad=$((bad + 1))
	i=$((i + 1))
done
is "$rounds rounds on hot threads: every round counts" $bad 0
alive "$rounds rounds on hot threads"

target "$BIN/steady" 2 1000
kill -STOP "$target"
until_true has_line "/proc/$target/status" '^State:.*T (stopped)'
attach -d 0.3 -e v
wait "$prof"
is "a stopped target: no hits" "$(field "$tmp/report" hits)" 0
has_line "/proc/$target/status" '^State:.*T (stopped)'
ok $? "a stopped target is still stopped afterwards"
kill -CONT "$target"
alive "a stopped target, continued"

# A target that others leave no processor for is waited for: with its registers as they are it would die.
if command -v chrt >/dev/null && command -v taskset >/dev/null; then
	target taskset -c 0 chrt -i 0 "$BIN/steady" 2 0
	attach --stack=0 -e v
	timeout 6 nice -n -20 taskset -c 0 sh -c 'echo spins; while :; do :; done' >"$tmp/hog" 9>&- &
	hog=$!
	until_true has_line "$tmp/hog" spins
	leave
	is "a starved target: status 0" $? 0
	alive "a starved target"
	wait "$hog"
else
	skip "a starved target" "chrt or taskset is not installed"
fi

# The worker is who traces the target.
tracer() {
	awk '/^TracerPid/ { print $2 }' "/proc/$target/status"
}

# deaths SIGNAL STATUS WHO NAME: watchprof is two processes, and WHO of them dies of SIGNAL, at any point of
# what it does; the target of two hot or two slower threads lives.
deaths() {
	rounds=${DEATH_ROUNDS:-20}
	i=0
	bad=0
	while [ "$i" -lt "$rounds" ]; do
		target "$BIN/steady" 2 $((i % 2 * 1000))
		attach -e v
		case $3 in
		first) who=$prof ;;
		worker) who=$(tracer) ;;
		esac
		kill "-$1" "$who"
		{ wait "$prof"; } 2>/dev/null
		[ $? -eq "$2" ] || bad=$((bad + 1))
		# The worker hears of it; until then it watches, and nobody else can.
		until_true all_clear "$target" || bad=$((bad + 1))
		go
		[ $? -eq 7 ] || bad=$((bad + 1))
		i=$((i + 1))
	done
	is "$4, $rounds times: the target lives" $bad 0
}
deaths SEGV 139 worker "a crash of the worker"
deaths ABRT 134 worker "an abort of the worker"
deaths SEGV 139 first "a crash of the first process"
deaths KILL 137 first "SIGKILL of watchprof"

settled() {
	[ ! -e "/proc/$target/status" ] || has_line "/proc/$target/status" '^State:.*Z' || all_clear "$target"
}

# If the worker is killed, the first process has to be quicker than the next access: at one
# every 200 ms it mostly is, in an emulated machine as well. That some are saved is tested here; how many is measured by
# SURVIVAL=200 of this script.
survival() {
	rounds=${SURVIVAL:-10}
	i=0
	saved=0
	while [ "$i" -lt "$rounds" ]; do
		target "$BIN/steady" 1 "$1"
		attach --stack=0 -e v
		kill -KILL "$(tracer)"
		{ wait "$prof"; } 2>/dev/null
		until_true settled
		go
		[ $? -eq 7 ] && saved=$((saved + 1))
		i=$((i + 1))
	done
	echo "# SIGKILL of the worker, an access every $1 us: $saved of $rounds targets live"
}
[ -z "${SURVIVAL:-}" ] || survival 0
[ -z "${SURVIVAL:-}" ] || survival 1000
[ -z "${SURVIVAL:-}" ] || survival 10000
survival 200000
[ "$saved" -ge 1 ]
ok $? "SIGKILL of the worker: the first process saves targets"
until_true nothing_left_over
ok $? "no process of watchprof is left"
# A thread in vfork(2) cannot be stopped: it is waited for, as it would die of its watches otherwise.
target "$BIN/vforks"
attach -e v:w
tell go
until_true has_line "$tmp/target.out" child
"$BIN/sendsig" INT "$prof"
until_true has_line "$tmp/prof.err" 'it is waited for'
tell go
exec 9>&-
wait "$target"
is "a thread in vfork: it lives on" $? 0
wait "$prof"
is "a thread in vfork: watchprof has waited for it" $? 0
done_testing
