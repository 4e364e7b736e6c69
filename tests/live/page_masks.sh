# page_masks.sh: a program's own masks and handlers of SIGSEGV are to it, while a variable is watched, while that is paused,
# and afterwards, what they are without that.
. "$(dirname "$0")/lib.sh"

# looked N: what the target said the N-th time that it looked.
looked() {
	awk -v n="$1" '/^looked/ { seen++; next } /^ready/ || /^at / || /^ignored it/ { next } seen == n - 1' "$tmp/target.out"
}

# segv_bit FIELD: of SIGSEGV in a field of the target's /proc/PID/status.
segv_bit() {
	echo $((0x$(awk -v key="$1:" '$1 == key { print $2 }' "/proc/$target/status") >> 10 & 1))
}

for access in rw w; do
	target "$BIN/page_masks"
	tell look
	heard '^looked'
	attach -e "$(said at)/8:$access" --control="$tmp/socket"
	tell look
	heard '^looked' 2
	tell ignore
	heard '^ignored it'
	is "$access: the program ignores it, and ours is in force" "$(segv_bit SigIgn) $(segv_bit SigCgt)" "0 1"
	"$BIN/ask" "$tmp/socket" pause 9>&- >/dev/null
	tell look
	heard '^looked' 3
	"$BIN/ask" "$tmp/socket" resume 9>&- >/dev/null
	tell look
	heard '^looked' 4
	leave
	is "$access: watchprof ends well" $? 0
	tell look
	heard '^looked' 5
	go
	is "$access: the target ends well" $? 0
	is "$access: it has looked" "$(looked 1 | wc -l | tr -d ' ')" 16
	is "$access: the same while it is watched" "$(looked 2)" "$(looked 1)"
	is "$access: the same while that is paused" "$(looked 3)" "$(looked 1)"
	is "$access: the same while it is watched again" "$(looked 4)" "$(looked 1)"
	is "$access: the same afterwards" "$(looked 5)" "$(looked 1)"
	is "$access: there were hits" "$([ "$(total "$tmp/report" "$(said at)/8:$access")" -gt 10 ] && echo yes)" yes
done
done_testing
