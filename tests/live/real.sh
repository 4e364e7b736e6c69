# real.sh: real programs from Debian packages, that nobody here wrote and that have no debug
# info. Each count is confirmed by the program itself, or follows from what it was asked to do.
. "$(dirname "$0")/lib.sh"

# redis: its variable `server` is in .dynsym. In it is a counter of all commands that redis also
# shows by INFO; its offset is where memory follows INFO.
redis_commands() {
	$cli info stats | tr -d '\r' | sed -n 's/^total_commands_processed://p'
}

redis_find() {
	"$WATCHPROF" --report=tsv -d 0.1 -p "$target" -e server/8 >"$tmp/where" 2>/dev/null
	server=$(awk -F '\t' '$1 == "# watch" { print $3 }' "$tmp/where")
	# INFO's reply was made before INFO itself was counted.
	"$BIN/findword" "$target" "$server" 16000 $(($(redis_commands) + 1)) >"$tmp/first"
	# A script's commands are counted, too, though they are not read from anybody.
	for i in 1 2 3; do $cli eval "return redis.call('ping')" 0; done >/dev/null
	"$BIN/findword" "$target" "$server" 16000 $(($(redis_commands) + 1)) | grep -Fx -f "$tmp/first"
}

redis() {
	redis_start
	offset=$(redis_find)
	case $offset in
	'' | *[!0-9]*) is "redis: the counter is found in one place" "$offset" "a number" ; return ;;
	esac
	attach -e "server+$offset/8:w"
	before=$(redis_commands)
	i=0
	while [ $i -lt 100 ]; do
		echo "set key$i $i"
		echo "get key$i"
		i=$((i + 1))
	done | $cli >"$tmp/replies"
	after=$(redis_commands)
	"$BIN/sendsig" INT "$prof"
	wait "$prof"
	is "redis: every reply is right" "$(awk 'NR % 2 ? $0 != "OK" : $0 != NR / 2 - 1' "$tmp/replies" | wc -l)" 0
	# The 200, the first INFO, and what redis-cli asks for itself when it starts.
	[ $((after - before)) -ge 201 ]
	ok $? "redis: it says itself that it had these commands ($((after - before)))"
	# The last INFO shows the counter before it was counted itself.
	is "redis: one write for each command, all by its function call" \
		"$(rows "$tmp/report" "server+$offset/8:w")" "$((after - before + 1)) call"
	redis_stop
}

# python: every `x = ...` takes a reference of the Ellipsis object and gives up the one of the
# round before: two writes of its count. What start and end do besides falls out of the difference.
python_run() {
	launch -e _Py_EllipsisObject/8:w -- "$python" -I -S -c "
def f(n):
    for i in range(n): x = ...
f($1)"
	hits=$(total "$tmp/report" _Py_EllipsisObject/8:w)
}

python=/usr/bin/python3.11
if command -v redis-server >/dev/null && command -v redis-cli >/dev/null; then
	redis
else
	skip "redis" "redis-server is not installed"
fi
if [ -x $python ]; then
	python_run 1000
	few=$hits
	python_run 2000
	is "python: its status" "$status" 0
	is "python: 1000 more rounds are 2000 more writes" $((hits - few)) 2000
	is "python: most in the interpreter's loop" "$(rows "$tmp/report" _Py_EllipsisObject/8:w | head -1 | cut -d' ' -f2)" \
		_PyEval_EvalFrameDefault
else
	skip "python" "python3.11 is not installed"
fi
done_testing
