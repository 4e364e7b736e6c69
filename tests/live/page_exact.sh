# page_exact.sh: exact counts and right results where threads, locks, handlers, children and calls of the kernel meet at a
# watched variable. Every number is known beforehand.
. "$(dirname "$0")/lib.sh"

# hits FUNCTION: of all watches, of all processes.
hits() {
	awk -F '\t' -v name="$1" '
		/^#/ { next }
		!n { for (n = 1; n <= NF; n++) at[$n] = n; next }
		index($at["function"], name) == 1 { sum += $at["hits"] }
		END { print sum + 0 }' "$tmp/report"
}

# alone PROGRAM MODE: its result unwatched is what it must be watched, too.
alone() {
	echo | "$BIN/$1" "$2" | sed -n 's/^result //p'
}

# exact PROGRAM MODE ACCESS FUNCTION HITS [OPTION...]: attach while it waits, watch v, let it run to its end.
exact() {
	program=$1 mode=$2 access=$3 function=$4 expected=$5
	shift 5
	name="$program $mode:$access${*:+ $*}"
	want=$(alone "$program" "$mode")
	target "$BIN/$program" "$mode"
	attach -e "$(said at)/$access" "$@"
	go
	is "$name: it ends well" $? 0
	wait "$prof"
	is "$name: result" "$(said result)" "$want"
	[ "$expected" != tries ] || expected=$(said tries)
	is "$name: hits in $function" "$(hits "$function")" "$expected"
	is "$name: no time in which accesses were not seen" "$(field "$tmp/report" windows)" 0
}

for access in 8:rw 8:w; do
	exact page_exact atomic $access add_one 20000
	exact page_exact mutex $access add_plain 8000
	exact page_exact mixed $access add_one 8000
	is "page_exact mixed:$access: the others" "$(hits add_mixed)" 4000
	exact page_exact births $access add_one 500
	exact page_exact robust $access add_one 20
	exact page_exact forks $access add_one 1010 -f
done
exact page_exact compared 8:rw add_compared tries
exact page_exact code 8:rw "[anonymous" 5000
exact page_exact read 8:w add_one 5000
exact page_exact recvmsg 8:w add_one 5000
exact page_exact poll 8:w add_one 5000
exact page_exact conds 8:w add_plain 200
exact page_exact reader 8:w add_one 5000
exact page_exact across 8:rw add_one 5000
exact page_exact heap 8:w add_one 20000
exact page_exact data 8:w add_one 20000
exact page_exact-nopie data 8:w add_one 20000
exact page_exact shared 8:w add_one 20000
exact page_exact shm 8:w add_one 20000
exact page_exact forks 8:w add_one 10
exact page_exact sharedforks 8:w add_one 10
exact page_exact sharedforks 8:rw add_one 1010 -f
exact page_exact vforks 8:w add_one 20
exact page_exact vforks 8:rw add_one 20 -f
exact page_exact stack 8:w add_one 5000
exact page_exact altstack 8:w add_one 5000
exact page_exact array 1048576:w run_array 1024
exact page_exact array 1048576:r run_array 1024
done_testing
