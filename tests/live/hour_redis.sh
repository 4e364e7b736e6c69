# hour_redis.sh: a redis-server under load for as long as HOUR_SECONDS say (see hour.sh). INFO tells how many commands and
# connections it had; both counters are watched.
. "$(dirname "$0")/hour_lib.sh"
strand=redis
load=${HOUR_LOAD:-2000}

# counted: into commands and connections, what INFO says: with its own connection, and without itself as a command.
counted() {
	$cli info stats | tr -d '\r' >"$tmp/info"
	commands=$(sed -n 's/^total_commands_processed://p' "$tmp/info")
	connections=$(sed -n 's/^total_connections_received://p' "$tmp/info")
}

# words VALUE: where in redis' variable `server` it stands.
words() {
	"$BIN/findword" "$target" "$server" 16000 "$1" | sort
}

# find_counters: real.sh tells how. Pings of one connection and scripts' commands make the two differ from all else.
find_counters() {
	"$WATCHPROF" --engine="$ENGINE" --report=tsv -d 0.1 -p "$target" -e server/8:w >"$tmp/where" 2>/dev/null
	server=$(awk -F '\t' '$1 == "# watch" { print $3 }' "$tmp/where")
	for way in ping eval many; do
		for i in 1 2 3 4 5 6 7; do
			case $way in
			ping) printf 'ping\nping\nping\n' ;;
			eval) echo "eval 'for i = 1, 9 do redis.call(\"ping\") end' 0" ;;
			many) printf 'mget a b c\nping\n\nping\nping\nping\n' ;;
			esac | $cli >"$tmp/replies"
		done
		counted
		words $((commands + 1)) >"$tmp/commands.$way"
		words "$connections" >"$tmp/connections.$way"
	done
	# redis samples the number of commands into another word, which has the same value when it is idle. The connections are
	# counted in the word behind.
	commands_at=$(cat "$tmp"/commands.* | sort | uniq -c | sed -n 's/^ *3 //p' | while read -r at; do
		cat "$tmp"/connections.* | grep -cx $((at + 8)) | grep -qx 3 && echo "$at"
	done)
}

# load_run: some thousand commands by redis' own benchmark, and 200 with replies that are looked at.
load_run() {
	redis-benchmark -s "$tmp/redis" -t set,get,incr,lpush -n $((load / 4)) -c 20 -q >"$tmp/bench" 2>&1 &&
		! grep -qi error "$tmp/bench" || echo "redis-benchmark failed" >>"$tmp/load.bad"
	awk 'BEGIN { for (i = 0; i < 100; i++) { print "set key" i " " i; print "get key" i } }' | $cli >"$tmp/load.replies"
	awk 'NR % 2 ? $0 != "OK" : $0 != NR / 2 - 1 { w++ } END { exit w + (NR != 200) > 0 }' "$tmp/load.replies" ||
		echo "a wrong reply" >>"$tmp/load.bad"
}

one_round() {
	rm -f "$tmp/load.bad"
	before=$(hits "$by_connection")
	must "add $by_connection"
	counted
	connections_before=$connections
	load_run 9>&- &
	loader=$!
	must 'add call:x' 'list' 'clear call:x' 'report tsv'
	must 'add server/8:w' 'change server/8:rw' 'clear server/8:rw' 'add call:x' 'clear call:x'
	wait $loader
	counted
	[ ! -e "$tmp/load.bad" ] || wrong "$(cat "$tmp/load.bad")"
	settled "$by_command" $((commands + 1 - base)) "commands"
	settled "$by_connection" $((${before:-0} + connections + 1 - connections_before)) "connections"
	must "clear $by_connection"
	# Nothing but the list is asked for, so the counters stand.
	[ $((round % 3)) -ne 0 ] || looked_at "$by_command" $((commands + 1 - base))
	if [ $((round % 10)) -eq 0 ]; then
		must zero
		base=$((commands + 1))
	fi
	sample
}

redis_start
find_counters
case $commands_at in
'' | *[!0-9]*)
	is "redis: its counters are found in one place each" "$commands_at" "a number"
	redis_stop
	done_testing
	exit 1
	;;
esac
by_command="server+$commands_at/8:w"
by_connection="server+$((commands_at + 8))/8:w"
before_all=$(descriptors "$target")
attach --control="$socket" --engine="$ENGINE" -e "$by_command"
watched
counted
base=$commands
rounds
counted
settled "$by_command" $((commands + 1 - base)) "at the end"
must quit
is_over
is "redis: the report has the last count, too" "$(total "$tmp/report" "$by_command")" $((commands + 1 - base))
is "redis: it still answers" "$($cli set last word) $($cli get last)" "OK word"
untraced "$target"
ok $? "redis: no thread is traced or stopped"
all_clear "$target"
ok $? "redis: no debug register is armed"
same_descriptors() {
	[ "$(descriptors "$target")" = "$before_all" ]
}
until_true same_descriptors
is "redis: the target's descriptors" "$(descriptors "$target")" "$before_all"
redis_stop
echo "# redis: $commands commands of $connections connections"
done_testing
