# page_forms.sh: each form of insn_forms.h leaves the same registers, flags, vector registers and memory watched by pages as
# unwatched.
. "$(dirname "$0")/lib.sh"

if [ $ENGINE != page ]; then
	skip "forms of instructions" "other engines run none"
	done_testing
	exit
fi
"$BIN/page_forms" >"$tmp/alone"
n=$(wc -l <"$tmp/alone")
[ "$n" -ge 140 ]
ok $? "there are 140 forms at least ($n)"
for access in rw w r; do
	launch -e form_area/8:$access -- "$BIN/page_forms"
	is "$access: it ends well" "$status $message" "0 "
	is "$access: every form leaves what it leaves alone" "$(diff "$tmp/alone" "$tmp/prof.out")" ""
	[ "$(field "$tmp/report" hits)" -ge 100 ]
	ok $? "$access: they were watched ($(field "$tmp/report" hits) hits, $(field "$tmp/report" stepped) stepped)"
done
done_testing
