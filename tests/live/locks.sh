# locks.sh: locks that lie in the watched page with what they guard: futexes of every kind do what they do unwatched, and
# every write is counted. ENGINE: values of --engine.
. "$(dirname "$0")/lib.sh"
rounds=${LOCKS_ROUNDS:-100}

alone=$("$BIN/locks" "$rounds" 2>&1)
want="14 robust_run
$((rounds / 10)) barrier_run
$((rounds * 12)) mutex_run
$((rounds * 4)) cond_run
$((rounds * 4)) rwlock_run
$((rounds * 4)) semaphore_run
$((rounds * 4)) spin_run"
for engine in ${ENGINE:-auto}; do
	out=$("$WATCHPROF" -q --engine="$engine" --report=tsv -o "$tmp/report" -e box.count:w -- "$BIN/locks" "$rounds" 2>&1)
	is "--engine=$engine: the sums are right" "$out" "$alone"
	is "--engine=$engine: every write is counted" "$(rows "$tmp/report" box.count:w | grep _run | LC_ALL=C sort)" \
		"$(echo "$want" | LC_ALL=C sort)"
done
done_testing
