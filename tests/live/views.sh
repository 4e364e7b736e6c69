# views.sh: the tables, orders and formats of a report, read by programs that are not ours.
. "$(dirname "$0")/lib.sh"

# column FILE NAME...: these columns of the rows of a tsv report.
column() {
	file=$1
	shift
	awk -F '\t' -v names="$*" '
		/^#/ { next }
		!n { for (n = 1; n <= NF; n++) at[$n] = n; count = split(names, want, " "); next }
		{ for (i = 1; i <= count; i++) printf "%s%s", $at[want[i]], i < count ? " " : "\n" }' "$file"
}

# memset's own name is in the symbols of the C library, if they are there.
launch -e s:w -- "$BIN/blamed"
# memset of 8 bytes is one store or two, as the processor's form of it has it.
per=$((($(field "$tmp/report" hits) - 5) / 15))
is "memset makes as many stores at every call" "$((15 * per + 5))" "$(field "$tmp/report" hits)"
f=$((10 * per)) g=$((5 * per)) all=$((15 * per + 5))
is "the function to blame: memset's callers, with their counts" \
	"$(column "$tmp/report" hits blame | sort -k 2)" "$f f
$g g
5 h"
leaf=$(column "$tmp/report" function blame | awk '$2 == "f" { print $1 }')
case $leaf in
*memset* | libc*) ok 0 "the leaf is still the function ($leaf)" ;;
*) ok 1 "the leaf is still the function ($leaf)" ;;
esac
launch --group=blame -e s:w -- "$BIN/blamed"
is "--group=blame: a row for each" "$(column "$tmp/report" hits function | sort -k 2)" "$f f
$g g
5 h"
launch --skip-module= -e s:w -- "$BIN/blamed"
is "--skip-module=: nobody else is to blame" "$(column "$tmp/report" hits blame)" "$((f + g)) $leaf
5 h"
launch --skip-module=blamed,libc -e s:w -- "$BIN/blamed"
is "--skip-module of all: the owner is to blame again" "$(column "$tmp/report" hits blame)" "$((f + g)) $leaf
5 h"

launch --group=thread -e s:w -- "$BIN/blamed"
is "--group=thread" "$(column "$tmp/report" hits)" "$((all - 2))
2"
launch --group=watch -e s:w -e s -- "$BIN/blamed"
is "--group=watch" "$(column "$tmp/report" hits watch)" "$all s:w
$all s"
launch --group=line --sort=name "--filter=[h]" -e s:w -- "$BIN/blamed"
is "--group=line, --filter: the line of h" "$(column "$tmp/report" hits function line)" \
	"5 h $(grep -n 's = 2' "$(dirname "$0")/blamed.c" | cut -d: -f1)"
launch --limit=1 -e s:w -- "$BIN/blamed"
is "--limit=1: one row" "$(column "$tmp/report" hits function)" "$f $leaf"
launch --group=path -e s:w -- "$BIN/blamed"
is "--group=path: memset's callers are in the path" \
	"$(column "$tmp/report" hits path | grep -c "^$f $leaf < f < main\|^$g $leaf < g < main")" 2
launch --group=callers --sort=name -e s:w -- "$BIN/blamed"
is "--group=callers: the tree, each node with its path" \
	"$(column "$tmp/report" hits path | grep "^[0-9]* $leaf\( < [fg]\)*$" | tr '\n' ';')" \
	"$((f + g)) $leaf;$f $leaf < f;$g $leaf < g;"

# Several reports of one run.
"$WATCHPROF" -q --report=csv -o "$tmp/csv" --report=json -o "$tmp/json" --report=folded -o "$tmp/folded" \
	--report=pprof -o "$tmp/pprof" --report=tsv -e s:w -- "$BIN/blamed" >"$tmp/report" 2>"$tmp/prof.err"
is "five reports of one run: status" $? 0
is "tsv on the standard output" "$(field "$tmp/report" hits)" $all
# A flame graph program adds up the last words of lines that end in a number.
is "folded: the sum" "$(awk '$NF ~ /^[0-9]+$/ { n += $NF } END { print n + 0 }' "$tmp/folded")" $all
is "folded: the stacks of f" "$(grep -c "^s:w;.*;main;f;$leaf $f\$" "$tmp/folded")" 1
if command -v python3 >/dev/null; then
	is "csv, as python reads it: every record has the same fields, rows add up" "$(python3 - "$tmp/csv" <<-'END'
		import csv, sys
		records = list(csv.DictReader(open(sys.argv[1], newline='')))
		rows = [r for r in records if r['record'] == 'row']
		run = {r['key']: r['value'] for r in records if r['record'] == 'run'}
		print(sum(int(r['hits']) for r in rows), run['hits'], run['complete'], any(None in r for r in records),
		      any(v is None for r in records for v in r.values()))
	END
	)" "$all $all yes False False"
	is "json, as python reads it" "$(python3 - "$tmp/json" <<-'END'
		import json, sys
		j = json.load(open(sys.argv[1]))
		print(j['hits'], *(sum(r['hits'] for r in j[k]) for k in ('functions', 'lines', 'threads', 'paths')))
	END
	)" "$all $all $all $all $all"
else
	skip "csv and json, as python reads them" "no python3"
fi
# go is also a function of lib.sh
if which go >/dev/null; then
	top=$(command go tool pprof -top -sample_index=hits "$tmp/pprof" 2>&1)
	is "pprof, as go reads it: the total" "$(echo "$top" | awk '/^Showing/ { print $5 }')" "$all,"
	is "pprof: the program" "$(echo "$top" | awk '/^File:/ { print $2 }')" blamed
	is "pprof: the leaves" "$(echo "$top" | awk -v leaf="$leaf" '$6 == leaf || $6 == "h" { print $1, $6 }')" "$((f + g)) $leaf
5 h"
	is "pprof: the reads and writes beside" \
		"$(command go tool pprof -top -sample_index=writes "$tmp/pprof" 2>&1 | awk '/^Showing/ { print $5 }')" "$all,"
	is "pprof: threads are labels" "$(command go tool pprof -tags -sample_index=hits "$tmp/pprof" 2>&1 | grep -A3 '^ *thread:' | awk 'NR > 1 && NF { print $1 }' | sort -n | tr '\n' ' ')" "2.0 $((all - 2)).0 "
else
	skip "pprof, as go reads it" "no go"
fi

# refused OPTION...: nothing is run, one line, status 125.
refused() {
	launch "$@" -e s:w -- "$BIN/blamed"
	matches "$*: one line" "$message" "watchprof: *"
	is "$*: status" "$status" 125
}
refused --group=lines
refused --sort=size
refused --limit=0
refused --report=json --report=csv
refused --report=json -o "$tmp/same" --report=csv -o "$tmp/same"
[ ! -e "$tmp/same" ]
ok $? "nothing is written"
done_testing
