# process.sh: children, exec and the end of a process (cases 16, 27, 29, 44). A child runs as it would
# without watchprof, unwatched; after exec the names are looked up in the new program.
. "$(dirname "$0")/lib.sh"

launch -e 0x10000/1:w -- "$BIN/two" "$(printf 'a\377b')" '' c
is "the command line is told as a whole, whatever bytes are in it" "$(field "$tmp/report" command)" "$BIN/two a\\xffb  c"

# state FILE WATCH: the state of a watch at the end.
state() {
	awk -F '\t' -v watch="$2" '$1 == "# watch" && $2 == watch { print $9; exit }' "$1"
}

# one_warning NAME PATTERN: the report has exactly one warning, and (case) PATTERN fits it.
one_warning() {
	matches "$1" "$(awk -F '\t' '$1 == "# warning" { print $2 }' "$tmp/report")" "$2"
}

# no_warning NAME: neither the report nor the messages have one.
no_warning() {
	is "$1: no warning" "$(grep -c '^# warning' "$tmp/report")$(grep -c 'warning' "$tmp/prof.err")" 00
}

# run_launched and run_attached COMMAND...: then $got is the status of the program, and $prof_status that of
# watchprof after an attach.
run_launched() {
	launch -e v:w -- "$@"
	got=$status
	prof_status=0
}

run_attached() {
	target "$@" wait
	attach -e v:w
	go 2>/dev/null
	got=$?
	wait "$prof"
	prof_status=$?
}

for how in launched attached; do
	for way in fork vfork vfork-exec spawn system clone-silent clone-shared clone-usr1 clone-parent; do
		run_$how "$BIN/family" $way
		is "$way, $how: every child ends as it should" "$got $prof_status" "0 0"
		is "$way, $how: the parent's writes, nothing of the child's" \
			"$(rows "$tmp/report" v:w)" "10 write_parent"
		is "$way, $how: complete" "$(field "$tmp/report" complete)" yes
	done
	run_$how "$BIN/family" many
	is "100 forks and 100 threads, $how: status" "$got" 0
	is "100 forks and 100 threads, $how: no write is counted twice" "$(rows "$tmp/report" v:w)" "10 write_parent"
	is "100 forks and 100 threads, $how: threads armed" "$(field "$tmp/report" threads_armed)" 101
	run_$how "$BIN/family" storm
	is "children made while others write, $how: status" "$got" 0
	is "children made while others write, $how: exact" "$(rows "$tmp/report" v:w)" "20010 write_parent"
done

# Exec: the same name at another address.
two_stages='7 late
5 early'
three_more='35 early
7 late'
for how in launched attached; do
	run_$how "$BIN/stage1" main "$BIN/stage2"
	is "exec, $how: status of the new program" "$got" 4
	is "exec, $how: 5 and 7, each in its program" "$(rows "$tmp/report" v:w)" "$two_stages"
	is "exec, $how: the watch is armed in the end" "$(state "$tmp/report" v:w)" armed
	is "exec, $how: how it ended" "$(field "$tmp/report" end)" "the target exited with status 4"
	no_warning "exec, $how"

	run_$how "$BIN/stage1" thread "$BIN/stage2"
	is "exec by another thread, $how: status" "$got" 4
	is "exec by another thread, $how: exact in both programs" "$(rows "$tmp/report" v:w)" "$three_more"
	is "exec by another thread, $how: complete" "$(field "$tmp/report" complete)" yes

	i=0
	bad=0
	while [ $i -lt "${EXEC_ROUNDS:-10}" ]; do
		run_$how "$BIN/stage1" hammer "$BIN/stage2"
		[ "$got $prof_status" = "4 0" ] || bad=$((bad + 1))
		rows "$tmp/report" v:w | grep -q '^7 late$' || bad=$((bad + 1))
		i=$((i + 1))
	done
	is "exec while others write, $how: ${EXEC_ROUNDS:-10} rounds, 7 in the new program each time" $bad 0
done

run_attached "$BIN/stage1" main "$BIN/stage2-other"
is "exec of a program without the name, attached: status" "$got" 4
is "exec of a program without the name, attached: what was counted before" "$(rows "$tmp/report" v:w)" "5 early"
is "exec of a program without the name, attached: the state says so" "$(state "$tmp/report" v:w)" "ended at exec"
one_warning "exec of a program without the name, attached: the report warns once" "v:w: the watch ended at exec*"
has_line "$tmp/prof.err" '^watchprof: warning: v:w: the watch ended at exec'
ok $? "exec of a program without the name, attached: a warning when it happens"

run_launched "$BIN/stage1" main "$BIN/stage2-other"
is "exec of a program without the name, launched: status" "$got" 4
is "exec of a program without the name, launched: what was counted before" "$(rows "$tmp/report" v:w)" "5 early"
is "exec of a program without the name, launched: it is pending" "$(state "$tmp/report" v:w)" pending

# One of two watches goes on.
target "$BIN/stage1" main "$BIN/stage2" wait
attach -e v:w -e elsewhere
go
wait "$prof"
is "exec, two watches: one ends" "$(state "$tmp/report" v:w), $(state "$tmp/report" elsewhere)" "armed, ended at exec"
is "exec, two watches: the other one is counted in both programs" "$(rows "$tmp/report" v:w)" "$two_stages"

# A program that executes itself all the time is attached to at any moment of that.
target "$BIN/again"
i=0
bad=0
while [ $i -lt "${EXEC_ROUNDS:-10}" ]; do
	"$WATCHPROF" --report=tsv -o "$tmp/report" -n 30 -p "$target" -e v:w \
		>"$tmp/prof.out" 2>"$tmp/prof.err" 9>&- ||
		bad=$((bad + 1))
	[ "$(rows "$tmp/report" v:w)" = "30 write_three" ] || bad=$((bad + 1))
	i=$((i + 1))
done
is "a program that executes itself all the time: ${EXEC_ROUNDS:-10} attaches count exactly" $bad 0
go
is "a program that executes itself all the time: it lives on" $? 7

# Launched through other programs that execute it.
launch -e v:w -- sh -c "exec '$BIN/stage2'"
is "sh -c exec: 7" "$status $(rows "$tmp/report" v:w)" "4 7 late"
launch -e v:w -- env WATCHED=yes "$BIN/stage2"
is "env: 7" "$status $(rows "$tmp/report" v:w)" "4 7 late"
launch -e v:w -- sh -c "exec env A=1 sh -c \"exec '$BIN/stage1' main '$BIN/stage2'\""
is "sh, env, sh, two programs: 5 and 7" "$status $(rows "$tmp/report" v:w)" "4 $two_stages"
launch -e v:w -- sh -c "'$BIN/stage2'; exit 9"
is "the child of a shell is not watched: nothing is counted, the status is the shell's" \
	"$status $(total "$tmp/report" v:w)" "9 0"

# Ends.
for end in 0:0 3:3 255:255 abort:134 kill:137 segv:139 thread:5 last:0; do
	run_launched "$BIN/ends" "${end%:*}"
	is "launched, ends by ${end%:*}: status ${end#*:}" "$got" "${end#*:}"
	is "launched, ends by ${end%:*}: the report has its 4 writes" "$(rows "$tmp/report" v:w)" "4 write_four"
	run_attached "$BIN/ends" "${end%:*}"
	is "attached, ends by ${end%:*}: as alone; watchprof gives 0" "$got $prof_status" "${end#*:} 0"
	is "attached, ends by ${end%:*}: the report has its 4 writes" "$(rows "$tmp/report" v:w)" "4 write_four"
done
for end in 3:"exited with status 3" abort:"was killed by signal 6 (Aborted)" kill:"was killed by signal 9 (Killed)"; do
	launch -e v:w -- "$BIN/ends" "${end%%:*}"
	is "the report tells the end: ${end#*:}" "$(field "$tmp/report" end)" "the target ${end#*:}"
done
done_testing
