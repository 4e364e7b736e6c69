# insn.sh: what instructions do to a watched variable, told by the hits that they make: each form of
# insn_forms.h, executed some times, has so many hits, reads and writes. And reads alone, several
# watches on the same bytes, masked stores.
. "$(dirname "$0")/lib.sh"

# counted FILE: "function hits reads writes" of each row of a tsv report.
counted() {
	awk -F '\t' '
		/^#/ { next }
		!n { for (n = 1; n <= NF; n++) at[$n] = n; next }
		{ print $at["function"], $at["hits"], $at["reads"], $at["writes"] }' "$1"
}

# form_results EXPECTED COUNTED: TAP lines without numbers, one for each form.
form_results() {
	awk '
		FNR == NR { want[$1] = $2 " " $3 " " $4; order[++n] = $1; next }
		{ got[$1] = $2 " " $3 " " $4 }
		END {
			for (i = 1; i <= n; i++) {
				f = order[i]
				have = f in got ? got[f] : "0 0 0"
				if (want[f] ~ /^-/) { print "skip", f; continue }
				good = have == want[f]
				if (want[f] ~ /^0-/) {
					split(want[f], most, /[- ]/)
					good = have == "0 0 0" || have == most[2] " " most[2] " 0"
				}
				print good ? "good" : "bad", f, have, "expected", want[f]
				delete got[f]
			}
			for (f in got) print "bad", f, got[f], "expected nothing"
		}' "$1" "$2"
}

for depth in 0 32; do
	"$WATCHPROF" --stack=$depth --report=tsv -o "$tmp/report" -e form_area/8 -- "$BIN/insn" 3 >"$tmp/expected" 2>"$tmp/prof.err"
	is "--stack=$depth: status" $? 0
	counted "$tmp/report" >"$tmp/counted"
	form_results "$tmp/expected" "$tmp/counted" >"$tmp/results"
	if [ $depth -eq 0 ]; then
		while read -r result name rest; do
			case $result in
			good) ok 0 "$name" ;;
			skip) skip "$name" "this processor does not have it" ;;
			*) is "$name" "${rest% expected *}" "${rest##* expected }" ;;
			esac
		done <"$tmp/results"
	else
		is "--stack=$depth: the same" "$(grep '^bad' "$tmp/results")" ""
	fi
	is "--stack=$depth: 60 forms at least" "$([ "$(grep -c '^good' "$tmp/results")" -ge 60 ] && echo yes)" yes
done

# Where writes alone are armed, the forms that write have the same counts.
"$WATCHPROF" --stack=0 --report=tsv -o "$tmp/report" -e form_area/8:w -- "$BIN/insn" 3 >"$tmp/expected" 2>"$tmp/prof.err"
awk '$4 ~ /^[1-9]/ { print } $2 == "-" { print }' "$tmp/expected" >"$tmp/writers"
counted "$tmp/report" >"$tmp/counted"
is "write watch: the forms that write, with their reads" "$(form_results "$tmp/writers" "$tmp/counted" | grep '^bad')" ""

# And reads alone.
"$WATCHPROF" --stack=0 --report=tsv -o "$tmp/report" -e form_area/8:r -- "$BIN/insn" 3 >"$tmp/expected" 2>"$tmp/prof.err"
awk '$3 ~ /^[1-9]|^0-/ { print } $2 == "-" { print }' "$tmp/expected" >"$tmp/readers"
counted "$tmp/report" >"$tmp/counted"
is "read watch: the forms that read, with their writes" "$(form_results "$tmp/readers" "$tmp/counted" | grep '^bad')" ""
done_testing
