# page_clear.sh: programs that nobody here wrote give what they give unwatched, whichever of their pages is watched. PAGES (100 for
# the long run) says how many pages of each, SEED which, PROGRAMS of whom.
. "$(dirname "$0")/lib.sh"

python=/usr/bin/python3.11
if [ $ENGINE != page ] || [ ! -x $python ] || ! command -v setarch >/dev/null; then
	skip "pages of real programs" "another engine, or python3.11 or setarch is not installed"
	done_testing
	exit
fi
pages=${PAGES:-2}
$python "$(dirname "$0")/page_clear.py" "$pages" "$WATCHPROF" >"$tmp/clear"
is "the programs were run" "$?" 0
grep '^#' "$tmp/clear"
grep -v '^#' "$tmp/clear" >"$tmp/lines"
met=0
while read -r name _ runs _ different _ refused _ touched; do
	echo "# $name: $runs pages, $refused refused, $touched touched"
	is "$name: $pages pages watched, one a run: what it gives is the same" "$runs $different" "$pages 0"
	[ "$refused" -lt "$runs" ]
	ok $? "$name: not all of them were refused"
	met=$((met + touched))
done <"$tmp/lines"
[ -s "$tmp/lines" ]
ok $? "there was a program"
[ "$met" -gt 0 ]
ok $? "some pages were in use ($met)"
done_testing
