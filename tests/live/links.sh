# links.sh: the five forms in which a program may be linked give the same counts.
. "$(dirname "$0")/lib.sh"

for form in two two-nopie two-static two-staticpie two-shared; do
	launch -e counter:w -- "$BIN/$form"
	is "$form: launched" "$(rows "$tmp/report" counter:w)" '1000 f
500 g'
	target "$BIN/$form" wait
	attach -e counter:w
	go
	wait "$prof"
	is "$form: attached" "$(rows "$tmp/report" counter:w)" '1000 f
500 g'
done

launch -e counter:w -- "$BIN/two-stripped"
is "stripped to its dynamic symbols: the counts are right" \
	"$(rows "$tmp/report" counter:w | cut -d' ' -f1 | tr '\n' ' ')" "1000 500 "
done_testing
