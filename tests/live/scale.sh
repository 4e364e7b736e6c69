# scale.sh: many threads, short-lived threads, and a process whose main thread has gone (cases 17, 20, 21, 23,
# 24). All counts are exact; times are only shown.
. "$(dirname "$0")/lib.sh"

# centiseconds since the boot.
now_cs() {
	read -r up rest </proc/uptime
	echo "${up%.*}${up#*.}"
}

# disarmed PID: DR7 is 0 in every thread that can be asked (a main thread that has gone cannot), and none of
# them is traced or stopped.
disarmed() {
	"$BIN/peekdr" "$1" >"$tmp/dr7" 2>/dev/null
	[ -s "$tmp/dr7" ] && ! grep -v ' 0$' "$tmp/dr7" && untraced "$1"
}

# Case 24: the main thread has gone before the attach.
target "$BIN/leader"
until_true has_line "/proc/$target/status" '^State:.*Z'
attach -e v:w
tell 1
heard '^wrote 100'
tell 2
heard '^wrote 200'
leave
is "no main thread: status" $? 0
is "no main thread: the worker's 200 writes" "$(rows "$tmp/report" v:w)" "200 write_one"
is "no main thread: one thread is armed" "$(field "$tmp/report" threads_armed) $(field "$tmp/report" complete)" "1 yes"
disarmed "$target"
ok $? "no main thread: the worker is disarmed and runs"
attach -n 50 -e v:w
tell 3
wait "$prof"
is "no main thread, -n: exactly 50" "$(rows "$tmp/report" v:w)" "50 write_one"
heard '^wrote 300'
attach -e v:w
go
is "no main thread: the process ends as alone, watched" $? 7
wait "$prof"
is "no main thread: watchprof sees the end" "$? $(rows "$tmp/report" v:w)" "0 100 write_one"
is "no main thread: how it ended is not known" "$(field "$tmp/report" end)" "the target has vanished"

# It goes while it is watched.
target "$BIN/leader" late
attach -e v:w
tell 0
until_true has_line "/proc/$target/status" '^State:.*Z'
tell 1
heard '^wrote 100'
leave
is "the main thread goes while watched: 100" "$? $(rows "$tmp/report" v:w)" "0 100 write_one"
disarmed "$target"
ok $? "the main thread goes while watched: the worker is disarmed and runs"
go
is "the main thread goes while watched: the process ends as alone" $? 7
printf '\n\n\n' >"$tmp/input"
launch -e v:w -- "$BIN/leader" <"$tmp/input"
is "launched, without a main thread: status and count" "$status $(rows "$tmp/report" v:w)" "7 300 write_one"
is "launched, without a main thread: how it ended" "$(field "$tmp/report" end)" "the target exited with status 7"

# Case 17, 20: hot threads, all of them found.
for run in 1 2 3; do
	target "$BIN/crowd" 8 0 10000
	attach --stack=0 -e v:w
	go
	wait "$prof"
	is "8 hot threads, run $run: exact" "$(rows "$tmp/report" v:w)" "80000 write_one"
done
target "$BIN/crowd" 8 0 1000
"$WATCHPROF" -v --report=json -o "$tmp/json" -p "$target" -e v:w >"$tmp/prof.out" 2>"$tmp/json.err" 9>&- &
prof=$!
pids="$pids $prof"
until_true has_line "$tmp/json.err" '^watchprof: armed in'
go
wait "$prof"
is "8 hot threads: 1000 for each" "$(tr -d ' \n' <"$tmp/json" | sed 's/.*"threads":\[//; s/\].*//' | tr '}' '\n' |
	grep -c '"hits":1000,')" 8

# Case 23. The herd's nanoseconds for a write, watched: with and without the sleepers.
# The process that traces is a child of the one that was started, if it has one.
peak_kb() {
	for pid in $(cat "/proc/$prof/task/$prof/children") "$prof"; do
		sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$pid/status"
	done | sort -n | tail -n 1
}
sleepers=${HERD_SLEEPERS:-2000}
for n in 0 "$sleepers"; do
	target "$BIN/herd" "$n"
	start=$(now_cs)
	attach -e v:w
	attach_cs=$(($(now_cs) - start))
	tell write
	heard '^ns'
	eval "ns_$n=$(said ns)"
	kb=$(peak_kb)
	is "$n sleepers: all threads are armed" "$(sed -n 's/^watchprof: armed in \([0-9]*\) .*/\1/p' "$tmp/prof.err")" $((n + 2))
	if [ "$n" -gt 0 ]; then
		leave
		is "$n sleepers: it leaves" $? 0
		disarmed "$target"
		ok $? "$n sleepers: every thread is disarmed and runs"
		go
		is "$n sleepers: it ends as alone" $? 7
	else
		go
		is "$n sleepers: it ends as alone, watched" $? 7
		wait "$prof"
	fi
	is "$n sleepers: 10000 writes" "$(rows "$tmp/report" v:w)" "10000 write_one"
	[ "${kb:-65536}" -lt 65536 ]
	ok $? "$n sleepers: less than 64 MiB of memory (peak $kb kB)"
	echo "# $n sleepers: attach $attach_cs cs, $(said ns) ns for a write"
done
eval "few=\$ns_0 many=\$ns_$sleepers"
# shellcheck disable=SC2154 # set by eval
echo "# time for a hit with $sleepers sleepers, against none: $((many * 100 / few)) %"

# The end of a herd that is watched: all its threads at once.
target "$BIN/herd" "$sleepers"
attach -e v:w
tell write
heard '^ns'
go
is "$sleepers sleepers end while watched: as alone" $? 7
wait "$prof"
is "$sleepers sleepers end while watched: told" "$? $(field "$tmp/report" end)" "0 the target exited with status 7"
is "$sleepers sleepers end while watched: 10000 writes" "$(rows "$tmp/report" v:w)" "10000 write_one"

# Case 21 and more: threads come and go without a pause, also while they are being attached to. What they
# write after the attach is counted exactly.
rounds=${CHURN_ROUNDS:-50}
target "$BIN/churn"
i=0
bad=0
before=0
while [ "$i" -lt "$rounds" ]; do
	attach --stack=0 -e v:w
	tell write
	i=$((i + 1))
	until_true has_lines '^wrote' $i
	leave || bad=$((bad + 1))
	now=$(said wrote)
	if [ "$(total "$tmp/report" v:w) $(field "$tmp/report" complete)" != "$((now - before)) yes" ]; then
		bad=$((bad + 1))
		echo "# round $i: $((now - before)) writes, $(total "$tmp/report" v:w) hits, $(field "$tmp/report" threads_unarmed) unarmed"
	fi
	before=$now
done
is "brief threads all the time, $rounds attaches: exact each time" $bad 0
[ "$before" -ge $((rounds * 100)) ]
ok $? "brief threads all the time: they have written ($before)"
tell quit
heard '^quiet'
disarmed "$target"
ok $? "brief threads all the time: those that remain are disarmed and run"
go
is "brief threads all the time: it ends as alone" $? 7
done_testing
