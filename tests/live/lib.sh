# lib.sh: what the live tests share: TAP output, targets with a handshake, reports as tables.
# Runs in any POSIX shell (busybox in the emulated machine). It needs WATCHPROF (the program
# under test) and BIN (the directory of the targets). No test waits for a time to pass:
# everything waits for a condition, within a limit after which the test fails.

: "${WATCHPROF:?the program under test}" "${BIN:?the directory of the targets}"
# The program itself, where WATCHPROF is a script that runs it (page.test).
PROGRAM=$(readlink -f "${PROGRAM:-$WATCHPROF}")
# ENGINE: dr or page. Few results depend on it: where there are no slots, and each access stops before it is made.
ENGINE=${ENGINE:-dr}
tap=0
failed=0
tmp=$(mktemp -d)
pids=

# ok STATUS NAME: one result.
ok() {
	tap=$((tap + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tap - $2"
	else
		echo "not ok $tap - $2"
		failed=$((failed + 1))
	fi
}

# skip NAME REASON: a result that could not be had here.
skip() {
	tap=$((tap + 1))
	echo "ok $tap - $1 # SKIP $2"
}

# is NAME GOT EXPECTED
is() {
	if [ "$2" = "$3" ]; then
		ok 0 "$1"
	else
		ok 1 "$1"
		echo "$2" | sed 's/^/#      got: /'
		echo "$3" | sed 's/^/# expected: /'
	fi
}

# matches NAME TEXT PATTERN: TEXT is one line, and the (case) pattern fits it.
matches() {
	# shellcheck disable=SC2254
	case $2 in
	$3) is "$1" one-line "$(echo "$2" | awk 'END { print NR == 1 ? "one-line" : "lines: " NR }')" ;;
	*) is "$1" "$2" "$3" ;;
	esac
}

# rows FILE WATCH: "hits function" for each row of a watch in a tsv report, by name of column.
rows() {
	awk -F '\t' -v watch="$2" '
		/^#/ { next }
		!n { for (n = 1; n <= NF; n++) at[$n] = n; next }
		$at["watch"] == watch { print $at["hits"], $at["function"] }' "$1"
}

# field FILE KEY: a header field of a tsv report.
field() {
	awk -F '\t' -v key="# $2" '$1 == key { print $2; exit }' "$1"
}

# total FILE WATCH: the hits of a watch, by its own line.
total() {
	awk -F '\t' -v watch="$2" '$1 == "# watch" && $2 == watch { print $7; exit }' "$1"
}

# until_true COMMAND...: try again until it succeeds, for 60 seconds at most.
until_true() {
	tries=0
	until "$@" 2>/dev/null; do
		tries=$((tries + 1))
		[ $tries -lt 1200 ] || return 1
		sleep 0.05
	done
}

has_line() {
	grep -q "$2" "$1"
}

# target COMMAND...: start it with its input held open; waits until it says "ready". Its
# process is $target, its output in $tmp/target.out.
target() {
	rm -f "$tmp/go" "$tmp/target.out"
	mkfifo "$tmp/go"
	"$@" <"$tmp/go" >"$tmp/target.out" 2>"$tmp/target.err" &
	target=$!
	pids="$pids $target"
	exec 9>"$tmp/go"
	until_true has_line "$tmp/target.out" ready
}

# go: release the target, and give its exit status.
go() {
	(trap '' PIPE && echo >&9) 2>/dev/null # it may have died
	exec 9>&-
	wait "$target"
}

# tell LINE: say it to the target, which goes on waiting.
tell() {
	echo "$1" >&9
}

# has_lines PATTERN N: the target has said it N times.
has_lines() {
	[ "$(grep -c "$1" "$tmp/target.out")" -ge "$2" ]
}

# heard PATTERN [N]: wait until it has (N: 1).
heard() {
	until_true has_lines "$1" "${2:-1}"
}

# said KEY: the rest of the last of the target's lines that begin so.
said() {
	sed -n "s/^$1 //p" "$tmp/target.out" | tail -n 1
}

# all_clear PID: nobody traces it, and DR7 is 0 in every one of its threads.
all_clear() {
	"$BIN/peekdr" "$1" >"$tmp/dr7" && [ -s "$tmp/dr7" ] && ! grep -v ' 0$' "$tmp/dr7"
}

# untraced PID: nobody traces any thread of it, none is stopped.
untraced() {
	! grep -hq '^TracerPid:.*[1-9]' /proc/"$1"/task/*/status 2>/dev/null &&
		! grep -hq '^State:.*[Tt] (' /proc/"$1"/task/*/status 2>/dev/null
}

# attach OPTION...: start watchprof on the target; waits until it is armed. It is $prof; its
# report goes to $tmp/report, its messages to $tmp/prof.err.
attach() {
	rm -f "$tmp/prof.err" "$tmp/report"
	"$BIN/unignore" "$WATCHPROF" -v --report=tsv -o "$tmp/report" -p "$target" "$@" >"$tmp/prof.out" 2>"$tmp/prof.err" 9>&- &
	prof=$!
	pids="$pids $prof"
	until_true has_line "$tmp/prof.err" '^watchprof: armed in'
}

# leave: end it by SIGINT; its status.
leave() {
	"$BIN/sendsig" INT "$prof"
	wait "$prof"
}

# launch ARG...: watchprof with a report to $tmp/report; its status in $status, its messages in $message but for what
# is told of every run on this machine (tests/vm/dead.sh).
launch() {
	rm -f "$tmp/report" "$tmp/prof.err"
	"$WATCHPROF" --report=tsv -o "$tmp/report" "$@" >"$tmp/prof.out" 2>"$tmp/prof.err" 9>&-
	status=$?
	message=$(grep -v '^watchprof: warning: debug registers do not fire here' "$tmp/prof.err")
}

# redis_start: a redis-server on a socket; its process is $target, $cli the command that talks to it.
redis_start() {
	redis-server --port 0 --unixsocket "$tmp/redis" --save '' --daemonize no >"$tmp/redis.out" 2>&1 &
	target=$!
	pids="$pids $target"
	cli="redis-cli -s $tmp/redis"
	until_true has_line "$tmp/redis.out" 'eady to accept connections'
}

redis_stop() {
	$cli shutdown nosave 2>/dev/null
	wait "$target"
	is "redis: it ends as it should" $? 0
}

# nothing_left_over: no process runs the program under test.
nothing_left_over() {
	! ls -l /proc/[0-9]*/exe 2>/dev/null | grep -qF -e "-> $PROGRAM"
}

finish() {
	# Our own children only: the others have ended, and their ids may be somebody else's by now.
	for pid in $pids; do
		[ "$(awk '/^PPid:/ { print $2 }' "/proc/$pid/status" 2>/dev/null)" = $$ ] && kill -9 "$pid" 2>/dev/null
	done
	rm -rf "$tmp"
}
trap finish EXIT

# done_testing: the plan, and the verdict as exit status.
done_testing() {
	echo "1..$tap"
	[ "$failed" -eq 0 ]
}
