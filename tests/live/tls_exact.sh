# tls_exact.sh: exact counts of thread-local variables, and right results of the program, where threads begin, end, fork and
# take signals, and where the kernel uses memory beside the variables. Every number is known beforehand.
. "$(dirname "$0")/lib.sh"

# hits WATCH FUNCTION: of all processes.
hits() {
	rows "$tmp/report" "$1" | awk -v name="$2" '$2 == name { sum += $1 } END { print sum + 0 }'
}

# windows: times in which accesses were not seen; debug registers have none.
windows() {
	field "$tmp/report" windows | grep -v '^0$'
}

# exact MODE WATCH FUNCTION HITS [OPTION...]: attach while it waits, and let it run to its end; then the same launched.
exact() {
	mode=$1 watch=$2 function=$3 expected=$4
	shift 4
	name="$mode, $watch${*:+, $*}"
	# shellcheck disable=SC2086
	want=$(echo | "$BIN/tls_exact" $mode | sed -n 's/^result //p')
	# shellcheck disable=SC2086
	target "$BIN/tls_exact" $mode
	attach -e "$watch" "$@"
	go
	is "$name, attached: it ends well" $? 0
	wait "$prof"
	is "$name, attached: result, and hits in $function" \
		"$(said result), $(hits "$watch" "$function"), $(windows)" "$want, $expected, "
	# shellcheck disable=SC2086
	echo | "$WATCHPROF" -q --report=tsv -o "$tmp/report" -e "$watch" "$@" -- "$BIN/tls_exact" $mode >"$tmp/out" 2>"$tmp/err"
	is "$name, launched: it ends well" $? 0
	is "$name, launched: result, and hits in $function" \
		"$(sed -n 's/^result //p' "$tmp/out"), $(hits "$watch" "$function"), $(windows)" "$want, $expected, "
}

for access in w rw; do
	exact counters counter:$access add_one 8000
	exact births counter:$access add_one 860
	exact "none $BIN/libtls_late.so" late_tv:w tls_late_bump 14000 --pending
	exact forks counter:$access add_one 100
	exact forks counter:$access add_one 400 -f
	exact sequences counter:$access add_one 10
	exact signals counter:$access add_one 300
	exact robust counter:$access add_one 24
	exact robust counter:$access add_one 48 -f
	exact calls counter:$access add_one 250
	exact leader counter:$access add_one 33
done
# Again and again in the middle of it.
for access in w rw; do
	target "$BIN/tls_exact" rounds
	tell start
	heard going
	got=
	for hits in ${TLS_ROUNDS:-1 50 51 300 301 302 303 304}; do
		attach -e counter:$access -n $hits
		wait "$prof"
		got="$got$(total "$tmp/report" counter:$access) "
	done
	is "rounds, counter:$access: as many hits as were asked for" "$got" "${TLS_ROUNDS:-1 50 51 300 301 302 303 304} "
	go
	is "rounds, counter:$access: it ends well" "$? $(said result)" "0 0"
done
# The last look at the value that is returned is a read.
exact "none $BIN/libtls_late.so" late_tv tls_late_bump 14007 --pending
done_testing
