# page_crammed.sh: a program that has as many mappings as it may have: pages cannot be shut then, and that is told.
. "$(dirname "$0")/lib.sh"

# crammed: watched from when it has few mappings until it has as many as it may.
crammed() {
	target "$BIN/crammed"
	attach -e there.v:w
	tell begin
	heard '^free 1000'
	tell cram
	heard '^crammed 2000'
}

crammed
until_true has_line "$tmp/prof.err" 'could not be protected again'
matches "pages that cannot be shut again: one warning" "$(grep warning "$tmp/prof.err")" \
	"watchprof: warning: watched pages could not be protected again*vm.max_map_count*"
tell release
heard '^released 3000'
go
is "the program does what it does alone" $? 7
wait "$prof"
is "what was written before and after is counted" "$(rows "$tmp/report" there.v:w)" "2000 work"
is "and the report tells of the time between" "$(field "$tmp/report" windows) $(field "$tmp/report" complete)" "1 no"
[ "$(field "$tmp/report" window_time)" != 0.000000 ]
ok $? "and how long it was"

# It has not ended when the report is written.
crammed
leave
is "let go: status" $? 0
is "let go: hits, windows, complete" "$(field "$tmp/report" hits) $(field "$tmp/report" windows) $(field "$tmp/report" complete)" "1000 1 no"
[ "$(field "$tmp/report" window_time)" != 0.000000 ]
ok $? "let go: how long it was"
untraced "$target"
ok $? "let go: nobody traces it"

# Now another one comes.
launch -p "$target" -e there.v:w
is "attached to when it is full: status" "$status" 125
matches "attached to when it is full: one line" "$message" "watchprof: *: Cannot allocate memory: *vm.max_map_count*"
untraced "$target"
ok $? "attached to when it is full: nobody traces it"
tell release
heard '^released 3000'
go
is "attached to when it is full: it does what it does alone" $? 7
done_testing
