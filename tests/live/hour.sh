# hour.sh: redis-server under load, threads that come and go, and a shell script that forks, each watched by a watchprof of
# its own whose watches are changed through the control socket all the time: HOUR_SECONDS long (scripts/soak). Each count is
# compared with the target's own; memory and descriptors of watchprof must stay as they are. Results as TAP, then a table.
here=$(cd "$(dirname "$0")" && pwd)
: "${WATCHPROF:?the program under test}" "${BIN:?the directory of the targets}" "${HOUR_SECONDS:?}"
run=$(mktemp -d)
trap 'rm -rf "$run"' EXIT
[ $# -gt 0 ] || set -- redis churn forks
# Whatever is started below has this in its environment.
export HOUR_RUN="$run"

# left_over: processes of this run, other than this one and those that look.
left_over() {
	(unset HOUR_RUN && grep -alF "HOUR_RUN=$run" /proc/[0-9]*/environ 2>/dev/null)
}

for strand in "$@"; do
	mkdir "$run/$strand"
	# A program of its own, so that each sees its own processes only.
	cp "$WATCHPROF" "$run/$strand/watchprof"
	WATCHPROF=$run/$strand/watchprof TMPDIR=$run/$strand HOUR_TABLE=$run/$strand.table \
		sh "$here/hour_$strand.sh" >"$run/$strand.out" 2>&1 </dev/null &
done
wait
for strand in "$@"; do
	# One that has not come to its end has no plan.
	grep -q '^1\.\.' "$run/$strand.out" || echo "not ok 0 - $strand: it has come to its end" >>"$run/$strand.out"
	cat "$run/$strand.out"
done >"$run/all"
if [ -z "$(left_over)" ]; then
	echo "ok 0 - no process is left"
else
	echo "not ok 0 - no process is left"
	for environ in $(left_over); do
		echo "# left: $(tr '\0' ' ' <"${environ%environ}cmdline" | cut -c 1-200)"
	done
fi >>"$run/all"
awk '
	/^(not )?ok [0-9]+/ { n++; sub(/ok [0-9]+/, "ok " n) }
	/^1\.\.[0-9]+/ { next }
	{ print }
	/^not ok/ { bad++ }
	END { print "1.." n; exit bad > 0 }' "$run/all"
status=$?
printf 'strand\trounds\tsamples\tseconds\tVmRSS (KiB)\tKiB/h\tgrowth\tbound\n'
cat "$run"/*.table
exit $status
