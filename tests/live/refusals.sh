# refusals.sh: bad input gets one clear line and the right status; nothing is touched.
. "$(dirname "$0")/lib.sh"

# The program must not have run: it would leave this file.
mark=$tmp/mark
launched="touch $mark"

# refused NAME STATUS PATTERN ARG...
refused() {
	name=$1 want=$2 pattern=$3
	shift 3
	rm -f "$mark"
	launch "$@"
	is "$name: status" "$status" "$want"
	matches "$name: one line" "$message" "$pattern"
	[ ! -e "$mark" ] && [ ! -s "$tmp/report" ] && [ ! -s "$tmp/prof.out" ]
	ok $? "$name: nothing ran, nothing was reported"
}

# What neither engine can watch as a whole, and what each says of it.
too_large=counter/1048577
case $ENGINE in
page) too_large_said="1048577 bytes; a watch has 1048576 at most" ;;
*) too_large_said="the object is 1048577 bytes*" ;;
esac

# shellcheck disable=SC2086
{
refused "bad access" 125 "watchprof: v:q: bad access 'q'*" -e v:q -- $launched
refused "a filter that is none" 125 "watchprof: v:w,fast: bad filter 'fast': *" -e v:w,fast -- $launched
refused "no watch" 125 "watchprof: no watch: name a variable with -e*" -- $launched
refused "no target" 125 "watchprof: no target: give -p PID*" -e v
refused "program not found" 127 "watchprof: no-such-program: command not found" -e v -- no-such-program
refused "program not executable" 126 "watchprof: /etc/passwd: cannot be executed: Permission denied" -e v -- /etc/passwd
[ "$ENGINE" = page ] || refused "five watches" 125 "watchprof: 5 debug register slots are needed and a processor has 4: a takes 1;*" \
	-e a -e b -e c -e d -e fifth -- "$BIN/four"
[ "$ENGINE" = page ] || refused "a 40-byte object" 125 "watchprof: large: the object is 40 bytes*cover 32 at most*" -e large -- "$BIN/four"
refused "no such process" 125 "watchprof: there is no process 99999999" -e v -p 99999999
refused "a kernel address" 125 "watchprof: 0xffff800000000000/8:w: 0xffff800000000000 is not an address of user memory" -e 0xffff800000000000/8:w -- "$BIN/four"
}

launch -e counter:w -- "$BIN/twins"
is "ambiguous: status" "$status" 125
is "ambiguous: it says so first" "$(echo "$message" | sed -n '1s/;.*//p')" \
	"watchprof: counter:w: ambiguous, 2 variables match"
is "ambiguous: both candidates with their files" "$(echo "$message" | sed -n 's/.*, \([^ ]*twins_[ab].c:[0-9]*\), in .*/\1/p' |
	sed 's|.*/||' | sort | tr '\n' ' ')" "twins_a.c:2 twins_b.c:2 "

# A name of the target's is no order to the terminal.
refused "a program with a control character in its name" 127 "watchprof: $tmp/a\\\\x1b\\[2Jb: command not found" \
	-e v -- "$tmp/$(printf 'a\033[2Jb')"

target "$BIN/two" wait
launch -e conter:w -p "$target"
is "unknown name: status" "$status" 125
matches "unknown name: one line with a near miss" "$message" \
	"watchprof: conter:w: no variable named 'conter' in any module that is loaded; did you mean counter*"
is "unknown name: nobody traces the target" "$(awk '/^TracerPid/ { print $2 }' "/proc/$target/status")" 0

refused "an object that is too large, attached" 125 "watchprof: $too_large: $too_large_said" -e $too_large -p "$target"
go
is "refusals leave the target alone" $? 0

target "$BIN/crowd" 1 0 1
for tid in /proc/"$target"/task/*; do
	tid=${tid##*/}
	[ "$tid" = "$target" ] || refused "a thread id" 125 "watchprof: $tid is a thread of process $target;*" -e v -p "$tid"
done
go

# Where the page engine has no breakpoints.
if [ "$ENGINE" = page ]; then
	refused "a system call" 125 "watchprof: first_call:x: the instruction there is a system call: *" -e first_call:x -- "$BIN/firsts"
	refused "hlt" 125 "watchprof: first_halt:x: the instruction there is hlt*" -e first_halt:x -- "$BIN/firsts"
fi

launch -e no_such_name -- "$BIN/two"
is "unknown in a launched program: it runs, unwatched" "$status" 0
is "unknown in a launched program: the report says so" \
	"$(awk -F '\t' '$1 == "# watch" { print $9 }' "$tmp/report")" "never found"
matches "unknown in a launched program: one warning" "$message" \
	"watchprof: warning: no_such_name: no variable named 'no_such_name' *waiting for a library*"

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	target "$BIN/two" wait
	chmod 755 "$tmp"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$WATCHPROF" --report -e counter:w -p "$target" >"$tmp/prof.out" 2>"$tmp/prof.err"
	is "another user's process: status" $? 125
	matches "another user's process: one line" "$(cat "$tmp/prof.err")" "watchprof: process $target (two) belongs to user 0;*"
	go
else
	skip "another user's process" "needs root and setpriv"
fi

"$WATCHPROF" --report -o "$tmp/no/such/dir/report" -e counter:w -- "$BIN/two" >/dev/null 2>"$tmp/prof.err"
is "a report that cannot be written: status" $? 125
matches "a report that cannot be written: one line" "$(cat "$tmp/prof.err")" "watchprof: $tmp/no/such/dir/report: *"

"$WATCHPROF" --no-such-option >/dev/null 2>&1
is "an unknown option: status" $? 125
done_testing
