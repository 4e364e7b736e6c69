# brief.sh: threads and processes that come and go while watches are set, changed and cleared: nobody is refused, counted twice
# or hurt by that, and what was opened for a process goes with it.
. "$(dirname "$0")/lib.sh"

socket=$tmp/socket

# ask COMMAND...: the answers.
ask() {
	"$BIN/ask" "$socket" "$@" 9>&-
}

# Attached to while threads are just being made, or end.
i=0
while [ $i -lt "${BRIEF_ATTACHES:-12}" ]; do
	i=$((i + 1))
	target "$BIN/churn"
	tell hot
	"$BIN/unignore" "$WATCHPROF" --report=tsv -o "$tmp/report" -n 3 -e v:w -p "$target" >"$tmp/prof.out" 2>"$tmp/prof.err" 9>&-
	echo "$? $(field "$tmp/report" hits)" >>"$tmp/attaches"
	tell quit
	heard '^quiet'
	go
	echo "lived $?" >>"$tmp/attaches"
done
is "attached to brief threads: watched, and they live" "$(sort -u "$tmp/attaches" | tr '\n' ' ')" "0 3 lived 7 "

# Several threads are at one place at the same time.
target "$BIN/churn"
attach -e v:w -e write_one:x
for i in 1 2 3 4 5; do
	tell hot
	tell w
	heard '^wrote' $i
done
leave
is "executions by brief threads: each once" "$(total "$tmp/report" write_one:x)" "$(said wrote)"
is "and the writes there" "$(total "$tmp/report" v:w)" "$(said wrote)"

# A place that threads are about to execute is watched no more.
attach --control="$socket" -e v:w
before=$(said wrote)
tell hot
i=0
while [ $i -lt "${BRIEF_CHANGES:-10}" ] && ask 'add write_one:x' 'clear write_one:x' >>"$tmp/answers"; do
	i=$((i + 1))
done
is "an x watch, cleared while threads come there: done" "$(sort -u "$tmp/answers")" '{"ok":true}'
(trap '' PIPE && tell w) 2>/dev/null
heard '^wrote' 6
leave
is "an x watch, cleared while threads come there: no write is lost" "$(total "$tmp/report" v:w)" $(($(said wrote) - before))
tell quit
heard '^quiet'
all_clear "$target"
ok $? "brief threads: those that remain are disarmed"
go
is "brief threads: they live" $? 7

# The files that the worker has open, but connections to its socket.
open_files() {
	ls -l "/proc/$1/fd" | sed -n 's/.* -> //p' | grep -v '^socket:' | sort
}

same_files() {
	open_files "$worker" >"$tmp/files.now"
	cmp -s "$tmp/files" "$tmp/files.now"
}

# A script whose children end, and execute, while the set of watches is changed. After each line it makes them as long as there
# is a file.
shell=$(command -v dash || command -v sh)
rm -f "$tmp/report" "$tmp/answers" "$tmp/target.out" "$tmp/go"
mkfifo "$tmp/go"
dd if=/dev/zero of="$tmp/census" bs=16 count=1 2>/dev/null
"$BIN/unignore" "$WATCHPROF" -f --report=tsv -o "$tmp/report" --control="$socket" --stdin="$tmp/go" --stdout="$tmp/target.out" \
	-e births:w -e loads:w -- env CENSUS="$tmp/census" LD_PRELOAD="$BIN/libcensus.so" "$shell" -c \
	"echo ready; while read -r word; do while [ -e '$tmp/on' ]; do (exit 3) & (exit 3) & '$shell' -c :; wait; done; echo rest; done; exit 7" \
	>"$tmp/prof.out" 2>"$tmp/prof.err" &
prof=$!
pids="$pids $prof"
exec 9>"$tmp/go"
until_true has_line "$tmp/target.out" ready
# change_watches N: so often, while children come and go.
change_watches() {
	touch "$tmp/on"
	tell go
	i=0
	while [ $i -lt "$1" ] && ask 'add spare:w' 'clear spare:w' 'add spare:r' 'clear spare:r' >>"$tmp/answers"; do
		i=$((i + 1))
	done
	rm "$tmp/on"
}
change_watches 2
heard '^rest' 1
worker=$(awk '/^TracerPid:/ { print $2 }' "/proc/$(ask list | sed -n 's/.*"pid":\([0-9]*\).*/\1/p')/status")
open_files "$worker" >"$tmp/files"
change_watches "${BRIEF_CHANGES:-10}"
heard '^rest' 2
is "watches changed while children come and go: done" "$(sort -u "$tmp/answers")" '{"ok":true}'
until_true same_files
is "watches changed while children come and go: no more files are open" "$(cat "$tmp/files.now")" "$(cat "$tmp/files")"
exec 9>&-
wait "$prof"
is "brief processes: the script's status" $? 7
is "brief processes: each birth and each program counts once" \
	"$(total "$tmp/report" births:w) $(total "$tmp/report" loads:w)" "$("$BIN/census" "$tmp/census")"
until_true nothing_left_over
ok $? "no process of watchprof is left"
done_testing
