# hour_churn.sh: threads that come and go and write v, for as long as HOUR_SECONDS say (see hour.sh). Their program counts
# the writes itself.
. "$(dirname "$0")/hour_lib.sh"
strand=churn

# wrote: at rest, after at least 100 more writes; how many there were in all.
wrote() {
	told=$((told + 1))
	tell w
	heard '^wrote' $told || wrong "no answer"
	written=$(said wrote)
}

one_round() {
	# Each write is one call of write_one.
	must 'add write_one:x'
	calls_before=$(hits write_one:x)
	tell hot
	wrote
	settled v:w $((written - base)) "while threads come and go"
	settled write_one:x $((calls_before + written - last)) "calls of the function that writes"
	last=$written
	# The set of watches is changed while threads write.
	tell hot
	must 'clear write_one:x' 'add is_writing:r' 'change is_writing:rw' 'clear is_writing:rw'
	must 'add write_one:x' 'list' 'clear write_one:x' 'report tsv'
	wrote
	settled v:w $((written - base)) "over changes of the watches"
	[ $((round % 3)) -ne 0 ] || looked_at v:w $((written - base))
	must pause
	before=$((written - base))
	wrote
	settled v:w "$before" "while watchprof pauses"
	base=$((written - before))
	must resume
	wrote
	settled v:w $((written - base)) "after the pause"
	must zero
	base=$written
	last=$written
	settled v:w 0 "from zero"
	sample
}

told=0
target "$BIN/churn"
before_all=$(descriptors "$target")
attach --control="$socket" --engine="$ENGINE" -e v:w
watched
base=0
last=0
rounds
tell hot
wrote
settled v:w $((written - base)) "at the end"
tell quit
heard '^quiet'
"$BIN/sendsig" INT "$prof"
is_over
is "churn: the report has the last count, too" "$(total "$tmp/report" v:w)" $((written - base))
untraced "$target"
ok $? "churn: no thread is traced or stopped"
all_clear "$target"
ok $? "churn: no debug register is armed"
is "churn: the target's descriptors" "$(descriptors "$target")" "$before_all"
go
is "churn: the target lives and ends as alone" $? 7
echo "# churn: $written writes, each by a thread of its own"
done_testing
