# manual.sh WORK: the pipelines of the manual page, as they are written there, on a report of a real run. TAP.
: "${SRC:?}" "${1:?}"
n=0
bad=0
is() {
	n=$((n + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		printf '#      got: %s\n# expected: %s\n' "$2" "$3"
		bad=1
	fi
}

# The words of the page: \et is a tab for awk.
sed 's/\\e/\\/g' "$SRC/man/watchprof.1" >"$1/man"
# What stands between the quotation marks of the awk example, and of the jq example.
program=$(sed -n "/| awk -F '.t' '\$/,/' | sort -rn\$/p" "$1/man" | sed "1d; \$s/' | sort -rn\$//")
filter=$(sed -n "s/^ *jq -r '\(.*\)'\$/\1/p" "$1/man")
is "awk: the hits by function" "$(awk -F '\t' "$program" "$1/real.tsv" | sort -rn | sed 's/__memset[a-z0-9_]*/memset/')" \
	"$(printf '15 memset\n3 h\n2 h' | awk '{ n[$2] += $1 } END { for (f in n) print n[f], f }' | sort -rn)"
if command -v jq >/dev/null; then
	is "jq: the hottest path" "$(jq -r "$filter" "$1/real.json" | sed 's/__memset[a-z0-9_]*/memset/; s/ < __libc.*//')" "memset < f < main"
	is "jq: all rows of each kind add up" \
		"$(jq -c '[.hits, (.functions, .lines, .threads, .paths | map(.hits) | add)]' "$1/real.json")" "[20,20,20,20,20]"
	is "jq: the trace has a line for each hit" "$(jq -r 'select(.type == "hit") | .watches[0]' "$1/trace.json" | sort | uniq -c |
		awk '{ print $1, $2 }')" "20 s:w"
fi
echo "1..$n"
exit $bad
