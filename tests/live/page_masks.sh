# page_masks.sh: a program's own masks and handlers of SIGSEGV are to it, while a variable is watched and afterwards, what
# they are without that.
. "$(dirname "$0")/lib.sh"

# looked N: what the target said the N-th time that it looked.
looked() {
	awk -v n="$1" '/^looked/ { seen++; next } /^ready/ || /^at / { next } seen == n - 1' "$tmp/target.out"
}

for access in rw w; do
	target "$BIN/page_masks"
	tell look
	heard '^looked'
	attach -e "$(said at)/8:$access"
	tell look
	heard '^looked' 2
	leave
	is "$access: watchprof ends well" $? 0
	tell look
	heard '^looked' 3
	go
	is "$access: the target ends well" $? 0
	is "$access: it has looked" "$(looked 1 | wc -l | tr -d ' ')" 16
	is "$access: the same while it is watched" "$(looked 2)" "$(looked 1)"
	is "$access: the same afterwards" "$(looked 3)" "$(looked 1)"
	is "$access: there were hits" "$([ "$(total "$tmp/report" "$(said at)/8:$access")" -gt 10 ] && echo yes)" yes
done
done_testing
