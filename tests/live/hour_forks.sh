# hour_forks.sh: a shell script that forks for as long as HOUR_SECONDS say (see hour.sh), launched with -f. A preloaded
# library counts its forks and the programs it executes (census.c).
. "$(dirname "$0")/hour_lib.sh"
strand=forks
forks=${HOUR_FORKS:-20}

# For each line it makes five children, N times, and looks at what they give.
cat >"$tmp/script" <<-'END'
	wrong=0
	echo ready
	while read -r n; do
		while [ "$n" -gt 0 ]; do
			(exit 3)
			[ $? -eq 3 ] || wrong=$((wrong + 1))
			[ "$(echo "$n")" = "$n" ] || wrong=$((wrong + 1))
			echo "$n" | { read -r m && [ "$m" = "$n" ]; } || wrong=$((wrong + 1))
			"$1" -c 'exit 4'
			[ $? -eq 4 ] || wrong=$((wrong + 1))
			n=$((n - 1))
		done
		echo forked
	done
	echo "wrong $wrong"
	exit 7
END

# counted: into births and loads, what the library says.
counted() {
	"$BIN/census" "$tmp/census" >"$tmp/counted" || wrong "no counts"
	read -r births loads <"$tmp/counted"
}

# forked: the script has made N times five children more.
forked() {
	told=$((told + 1))
	tell "$1"
	heard '^forked' $told || wrong "no answer"
	counted
}

counts_agree() {
	settled births:w $((births - births_base)) "forks, $1"
	settled loads:w $((loads - loads_base)) "programs, $1"
}

one_round() {
	before=$(hits spare:w)
	births_before=$births
	must 'add spare:w'
	forked "$forks"
	counts_agree "while nothing is changed"
	settled spare:w $((${before:-0} + births - births_before)) "a watch of this round"
	# The set of watches is changed while the script forks.
	told=$((told + 1))
	tell "$forks"
	must 'clear spare:w' 'add spare:r' 'change spare:rw' 'clear spare:rw' 'report tsv' 'add spare:w' 'list' 'clear spare:w'
	heard '^forked' $told || wrong "no answer"
	counted
	counts_agree "over changes of the watches"
	[ $((round % 3)) -ne 0 ] || looked_at births:w $((births - births_base))
	must zero
	births_base=$births
	loads_base=$loads
	sample $((births + loads))
}

told=0
shell=$(command -v dash || command -v sh)
dd if=/dev/zero of="$tmp/census" bs=16 count=1 2>/dev/null
mkfifo "$tmp/go"
: >"$tmp/target.out"
"$BIN/unignore" "$WATCHPROF" -v -f --report=tsv -o "$tmp/report" --control="$socket" --engine="$ENGINE" --stdin="$tmp/go" \
	--stdout="$tmp/target.out" -e births:w -e loads:w -- \
	env CENSUS="$tmp/census" LD_PRELOAD="$BIN/libcensus.so" "$shell" "$tmp/script" "$shell" >"$tmp/prof.out" 2>"$tmp/prof.err" &
prof=$!
pids="$pids $prof"
exec 9>"$tmp/go"
until_true has_line "$tmp/target.out" ready
target=$(ask list | sed -n 's/.*"pid":\([0-9]*\).*/\1/p')
pids="$pids $target"
watched
births_base=0
loads_base=0
counted
before_all=$(descriptors "$target")
rounds
forked "$forks"
counts_agree "at the end"
is "forks: the target's descriptors" "$(descriptors "$target")" "$before_all"
is "forks: its only tracer is the one it had" "$(awk '/^TracerPid:/ { print $2 }' "/proc/$target/status")" "$worker"
exec 9>&-
is_over 7
is "forks: the report has the last counts, too" "$(total "$tmp/report" births:w) $(total "$tmp/report" loads:w)" \
	"$((births - births_base)) $((loads - loads_base))"
is "forks: each child gave what it gives alone" "$(said wrong)" 0
[ ! -e "/proc/$target" ]
ok $? "forks: the script has ended"
echo "# forks: $births forks, $loads programs"
done_testing
