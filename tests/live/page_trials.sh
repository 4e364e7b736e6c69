# page_trials.sh: a program that changes the mappings of what is watched, ends in any way, or has very many threads does what
# it does unwatched.
. "$(dirname "$0")/lib.sh"

# trial NAME HITS [paused]: attach while it waits; HITS in add_one, "-" where they are not known beforehand.
trial() {
	target "$BIN/page_trials" "$1"
	go
	want=$?
	want="$want $(said result)"
	target "$BIN/page_trials" "$1"
	attach -e "$(said at)/8:w" --control="$tmp/socket"
	[ -z "${3:-}" ] || "$BIN/ask" "$tmp/socket" pause 9>&- >/dev/null
	go
	is "$1${3:+, $3}: as it is unwatched" "$? $(said result)" "$want"
	wait "$prof"
	[ "$2" = - ] || is "$1: hits" "$(rows "$tmp/report" "$(said at)/8:w" | awk '$2 == "add_one" { n = $1 } END { print n + 0 }')" "$2"
}

trial mprotect 200
trial munmap 50
trial fixed 50
trial mremap 50
trial madvise 50
trial brk 5000
trial heap 20
trial beside 20
trial data 0
trial data 0 paused
trial exit -
trial exec -
trial leader 1000
trial killed -
trial last -
trial last - paused
trial crowd 4000
trial vforks 40
trial setegid 160
trial stops 5000
trial timer 5000
trial steps -

# A child that cannot be watched: it does what it does, and the report tells.
target "$BIN/page_trials" filtered
attach -f -e "$(said at)/8:w"
go
is "a child with a filter of calls: as it is unwatched" "$? $(said result)" "0 2001"
wait "$prof"
is "a child with a filter of calls: it is told" "$(field "$tmp/report" hits) $(field "$tmp/report" threads_unarmed) $(field "$tmp/report" complete)" \
	"1 1 no"

if unshare -p -f true 2>/dev/null; then
	target "$BIN/page_trials" first
	attach -f -e "$(said at)/8:w"
	go
	is "the first process of a namespace: as it is unwatched" "$? $(said result)" "0 $((20 << 8))"
	wait "$prof"
	is "the first process of a namespace: hits" "$(field "$tmp/report" hits)" 20
else
	skip "the first process of a namespace" "there can be none"
fi

# As many separate runs of pages as there is room for, and more.
# stripes N: options for N watches of 256 pages each.
stripes() {
	for i in $(seq 0 $(($1 - 1))); do
		printf -- '-e 0x%x/1048576:w\n' $(($(said at) + (i << 20)))
	done
}
target "$BIN/page_trials" striped
# shellcheck disable=SC2046
attach $(stripes 4)
leave
is "1024 runs of pages" "$? $(field "$tmp/report" complete)" "0 yes"
# shellcheck disable=SC2046
launch -p "$target" $(stripes 5)
is "more runs of pages: status" "$status" 125
matches "more runs of pages: it says so" "$message" \
	"watchprof: process $target: what is watched lies in more than 1024 separate runs of pages, *"
go
is "more runs of pages: the target lives" "$? $(said result)" "0 0"

# What is code now is the program's, when the breakpoint goes.
target "$BIN/page_trials" code
attach -e "$(said at)/1:x" --control="$tmp/socket"
tell on
heard '^made'
"$BIN/ask" "$tmp/socket" pause 9>&- >/dev/null
go
is "code that is made where a breakpoint is" "$? $(said result)" "0 7"
wait "$prof"
trial gate 50
trial vsyscall 50
trial gateexit 1
done_testing
