# soak.sh: attach and let go, again and again: hot threads, brief threads, a redis-server under load and a
# python3 program with threads and child processes. Nobody dies, stops, loses a reply or a descriptor
# (cases 41, 42). SOAK_ROUNDS (500 for the full soak) and ROUNDS (of the real programs) set how often.
. "$(dirname "$0")/lib.sh"

soak_rounds=${SOAK_ROUNDS:-60}
churn_rounds=${CHURN_ROUNDS:-50}
rounds=${ROUNDS:-50}

descriptors() {
	ls "/proc/$target/fd" | wc -l
}

# try_attach OPTION...: as attach, but does not wait for one that has failed.
try_attach() {
	rm -f "$tmp/prof.err" "$tmp/report"
	"$BIN/unignore" "$WATCHPROF" -v --report=tsv -o "$tmp/report" -p "$target" "$@" >"$tmp/prof.out" 2>"$tmp/prof.err" 9>&- &
	prof=$!
	until_true armed_or_gone && has_line "$tmp/prof.err" '^watchprof: armed in'
}

armed_or_gone() {
	has_line "$tmp/prof.err" '^watchprof: armed in' || ! kill -0 "$prof"
}

# one_round N WATCH: attach to the target and let it go, in one of four ways; false: not as it should be.
one_round() {
	case $(($1 % 4)) in
	0)
		try_attach -n 20 -e "$2" || return 1
		wait "$prof" && [ "$(field "$tmp/report" hits)" = 20 ]
		;;
	1)
		try_attach -d 0.02 -e "$2" || return 1
		wait "$prof" && [ "$(field "$tmp/report" end)" = "the duration of 0.020 s was reached" ]
		;;
	*)
		signal=$([ $(($1 % 4)) -eq 2 ] && echo INT || echo TERM)
		try_attach --stack=0 -e "$2" || return 1
		"$BIN/sendsig" "$signal" "$prof"
		wait "$prof" && [ "$(field "$tmp/report" end)" = "interrupted by SIG$signal" ]
		;;
	esac && [ "$(field "$tmp/report" complete)" = yes ] && untraced "$target"
}

# soak NAME N WATCH: N rounds; reports the bad ones.
soak() {
	i=0
	bad=0
	while [ "$i" -lt "$2" ] && kill -0 "$target" 2>/dev/null; do
		if ! one_round $i "$3"; then
			bad=$((bad + 1))
			echo "# $1: round $i: end '$(field "$tmp/report" end)', $(field "$tmp/report" hits) hits, $(tail -n 1 "$tmp/prof.err")"
		fi
		i=$((i + 1))
	done
	is "$1: $2 rounds of attach and let go" "$i rounds, $bad bad" "$2 rounds, 0 bad"
}

# Eight threads that do nothing but write.
target "$BIN/steady" 8 0
before=$(descriptors)
soak "hot threads" "$soak_rounds" v
all_clear "$target"
ok $? "hot threads: every one is disarmed"
is "hot threads: its descriptors" "$(descriptors)" "$before"
go
is "hot threads: it lives and ends as alone" $? 7

# Threads that come and go, and write.
target "$BIN/churn"
before=$(descriptors)
tell hot
soak "brief threads" "$churn_rounds" v:w
tell quit
heard '^quiet'
all_clear "$target"
ok $? "brief threads: those that remain are disarmed"
is "brief threads: its descriptors" "$(descriptors)" "$before"
go
is "brief threads: it lives and ends as alone" $? 7

# Programs that nobody here wrote.
# redis_load: sends commands and checks the replies, as long as $tmp/load is there.
redis_load() {
	n=0
	wrong=0
	while [ -e "$tmp/load" ]; do
		awk 'BEGIN { for (i = 0; i < 100; i++) { print "set key" i " " i; print "get key" i } }' | $cli >"$tmp/replies"
		wrong=$((wrong + $(awk 'NR % 2 ? $0 != "OK" : $0 != NR / 2 - 1 { w++ } END { print w + (NR != 200) }' "$tmp/replies")))
		n=$((n + 1))
	done
	echo "loads $n" >"$tmp/load.end"
	echo "wrong $wrong" >>"$tmp/load.end"
}

# redis_bench: a storm of its own tool; as long as $tmp/load is there.
redis_bench() {
	failed_runs=0
	while [ -e "$tmp/load" ]; do
		redis-benchmark -s "$tmp/redis" -t set,get,incr,lpush -n 2000 -c 20 -q >"$tmp/bench" 2>&1 || failed_runs=$((failed_runs + 1))
		grep -qi error "$tmp/bench" && failed_runs=$((failed_runs + 1))
	done
	echo "failed $failed_runs" >"$tmp/bench.end"
}

redis() {
	redis_start
	before=$(descriptors)
	touch "$tmp/load"
	redis_load &
	load=$!
	bench=
	if command -v redis-benchmark >/dev/null; then
		redis_bench &
		bench=$!
	fi
	soak "redis" "$rounds" call:x
	rm "$tmp/load"
	wait $load $bench
	is "redis: every reply is right" "$(sed -n 's/^wrong //p' "$tmp/load.end")" 0
	echo "# redis: $(head -n 1 "$tmp/load.end") of 200 commands while that lasted"
	[ -z "$bench" ] || is "redis: its own benchmark sees no failure" "$(cat "$tmp/bench.end")" "failed 0"
	is "redis: it still answers" "$($cli set last word) $($cli get last)" "OK word"
	all_clear "$target"
	ok $? "redis: every thread is disarmed"
	until_true same_descriptors
	is "redis: its descriptors" "$(descriptors)" "$before"
	redis_stop
}

# Connections that were closed are so a moment later.
same_descriptors() {
	[ "$(descriptors)" = "$before" ]
}

python_program() {
	cat <<-'END'
	import queue, subprocess, sys, threading
	over = threading.Event()
	counts = {"sums": 0, "children": 0, "wrong": 0}
	lock = threading.Lock()
	def count(what, is_right):
	    with lock:
	        counts[what] += 1
	        counts["wrong"] += not is_right
	def add(todo, done):
	    while True:
	        n = todo.get()
	        if n is None:
	            return
	        total = 0
	        for i in range(n):
	            x = ...
	            total += i
	        done.put((n, total))
	def give(todo, done):
	    while not over.is_set():
	        for n in range(50):
	            todo.put(n)
	        for n in range(50):
	            n, total = done.get()
	            count("sums", total == n * (n - 1) // 2)
	def run():
	    while not over.is_set():
	        child = subprocess.run(["sh", "-c", "read x; echo $((x * 7)); exit 3"], input=b"6\n", capture_output=True)
	        count("children", child.returncode == 3 and child.stdout == b"42\n" and child.stderr == b"")
	todo, done = queue.Queue(), queue.Queue()
	adders = [threading.Thread(target=add, args=(todo, done)) for i in range(3)]
	others = [threading.Thread(target=give, args=(todo, done)), threading.Thread(target=run), threading.Thread(target=run)]
	for thread in adders + others:
	    thread.start()
	print("ready", flush=True)
	sys.stdin.readline()
	over.set()
	for thread in others:
	    thread.join()
	for thread in adders:
	    todo.put(None)
	for thread in adders:
	    thread.join()
	for what in counts:
	    print(what, counts[what])
	sys.exit(0 if counts["wrong"] == 0 else 1)
	END
}

python=/usr/bin/python3.11
if command -v redis-server >/dev/null && command -v redis-cli >/dev/null; then
	redis
else
	skip "redis" "redis-server is not installed"
fi
if [ -x $python ]; then
	python_program >"$tmp/program.py"
	target $python -I -S "$tmp/program.py"
	soak "python" "$rounds" _Py_EllipsisObject/8:w
	all_clear "$target"
	ok $? "python: every thread is disarmed"
	go
	is "python: it lives and ends as alone" $? 0
	is "python: every result is right" "$(said wrong)" 0
	[ "$(said sums)" -gt 0 ] && [ "$(said children)" -gt 0 ]
	ok $? "python: there were results ($(said sums) sums, $(said children) children)"
	is "python: nothing on its standard error" "$(cat "$tmp/target.err")" ""
else
	skip "python" "python3.11 is not installed"
fi
until_true nothing_left_over
ok $? "no process of watchprof is left"
done_testing
