# signals.sh: what happens to a launched program when watchprof is asked to end.
. "$(dirname "$0")/lib.sh"

# watchprof in the background gets its own signals only; it hands them on.
for signal in INT:2 TERM:15 HUP:1 QUIT:3; do
	name=${signal%:*}
	rm -f "$tmp/report" "$tmp/prof.err" "$tmp/prof.out" "$tmp/go"
	mkfifo "$tmp/go"
	"$BIN/unignore" "$WATCHPROF" -v --report=tsv -o "$tmp/report" -e v:w -- "$BIN/steady" 2 1000 \
		<"$tmp/go" >"$tmp/prof.out" 2>"$tmp/prof.err" &
	prof=$!
	exec 9>"$tmp/go"
	until_true has_line "$tmp/prof.out" ready
	"$BIN/sendsig" "$name" "$prof"
	wait "$prof"
	got=$?
	exec 9>&-
	is "launched, SIG$name: 128+N, as the program ended" "$got" $((128 + ${signal#*:}))
	is "launched, SIG$name: the report is there" "$(field "$tmp/report" end | cut -d' ' -f1-3)" "the target was"
	child=$(field "$tmp/report" pid)
	[ -n "$child" ] && ! kill -0 "$child" 2>/dev/null
	ok $? "launched, SIG$name: no process is left"
done
done_testing
