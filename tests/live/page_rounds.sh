# page_rounds.sh: attach to hot threads and let go, crash, and be killed, again and again: the target lives, and its sums are
# right. ROUNDS, CRASHES and KILLS say how often (200, 200 and 500 for the long run); WORK is what the threads of the killed
# rounds do (page_rounds.c).
. "$(dirname "$0")/lib.sh"

rounds=${ROUNDS:-8}
crashes=${CRASHES:-4}
kills=${KILLS:-5}

# One round of attaching and letting go, in one of four ways; false: not as it should be.
one_round() {
	case $(($1 % 4)) in
	0)
		attach -n 20 -e "$(said at)/8"
		wait "$prof" && [ "$(field "$tmp/report" hits)" = 20 ]
		;;
	1)
		attach -d 0.02 -e "$(said at)/8:w"
		wait "$prof"
		;;
	*)
		attach --stack=0 -e "$(said at)/8"
		"$BIN/sendsig" "$([ $(($1 % 4)) -eq 2 ] && echo INT || echo TERM)" "$prof"
		wait "$prof"
		;;
	esac && [ "$(field "$tmp/report" complete)" = yes ] && untraced "$target"
}

# let_go WORK: the same target all the time.
let_go() {
	target "$BIN/page_rounds" "$1"
	i=0
	bad=0
	while [ "$i" -lt "$rounds" ] && kill -0 "$target"; do
		if ! one_round "$i"; then
			bad=$((bad + 1))
			echo "# round $i: end '$(field "$tmp/report" end)', $(field "$tmp/report" hits) hits, complete $(field "$tmp/report" complete), $(tail -n 1 "$tmp/prof.err")"
		fi
		i=$((i + 1))
	done
	is "work $1: attach and let go, $rounds times" "$i, $bad bad" "$rounds, 0 bad"
	go
	is "work $1: it lives, and its sums are right" "$?" 7
	echo "# sums $(said sums)"
}

# ran_twice: of the target's sums one is one too many, as of an instruction that the killed worker had made for it and could not tell.
ran_twice() {
	said sums | awk '{ gsub(",", ""); exit !($1 - $3 + $4 - $6 == 1 && ($1 == $3 || $4 == $6) && $8 == 0) }'
}

# struck SIGNAL WHO N WORK [WATCH]: a new target each time, and WHO gets the signal at some moment of the first 30 ms. Numbers of the
# dead in $died, of those in which one instruction ran twice in $twice, of other wrong sums in $wrong.
struck() {
	i=0
	died=0
	wrong=0
	twice=0
	while [ "$i" -lt "$3" ]; do
		target "$BIN/page_rounds" "$4"
		attach -e "${5:-$(said at)/8}"
		worker=$(awk '/^TracerPid/ { print $2 }' "/proc/$target/status")
		# shellcheck disable=SC2046
		"$BIN/killafter" "-$1" $((i * 7919 % 30011)) $([ "$2" = all ] && echo "$prof") "$worker"
		{ wait "$prof"; } 2>/dev/null
		until_true let_alone
		go
		case $? in
		7) ;;
		1)
			if ran_twice; then
				twice=$((twice + 1))
			else
				wrong=$((wrong + 1)) && echo "# round $i: $(said sums)"
			fi
			;;
		*) died=$((died + 1)) && echo "# round $i: dead" ;;
		esac
		i=$((i + 1))
	done
	echo "# work $4: signal $1 to $2, $3 times: $died died, $wrong with wrong sums, $twice in which one instruction ran twice"
}

# Nobody traces it any more; or it has died.
let_alone() {
	[ ! -e "/proc/$target/status" ] || has_line "/proc/$target/status" '^State:.*Z' || untraced "$target"
}

if [ $ENGINE != page ]; then
	skip "rounds" "of the page engine"
	done_testing
	exit
fi
let_go am
let_go amdch
for signal in 11 6; do
	for work in am amdch; do
		struck $signal worker "$crashes" $work
		is "work $work: a crash of the worker by signal $signal, $crashes times" "$died dead, $((wrong + twice)) wrong" "0 dead, 0 wrong"
	done
done
# What the kernel is asked for while nobody opens pages fails, so work is what makes no calls there. One in a hundred may be lost.
for who in worker all; do
	struck 9 $who "$kills" "${WORK:-a}"
	[ $(((died + wrong) * 100)) -lt $((kills + 100)) ]
	ok $? "SIGKILL of $who, $kills times: at least 99 % live, and have done all that they did"
done
# Breakpoints in a function that four threads call without pause.
for who in worker all; do
	struck 9 $who "$kills" a add_one:x
	is "SIGKILL of $who, add_one:x, $kills times" "$died dead, $((wrong + twice)) wrong" "0 dead, 0 wrong"
done
# SIGKILL of the worker, and the first process has done what is to be done.
worker_kill() {
	kill -9 "$(awk '/^TracerPid/ && $2 { print $2; exit }' /proc/"$target"/task/*/status)"
	{ wait "$prof"; } 2>/dev/null
}

# Breakpoints are in the code: those of a watch for execution, and of the wait for libraries.
# bereft WHAT OPTION...: SIGKILL of the worker while the target waits.
bereft() {
	what=$1
	shift
	attach "$@"
	worker_kill
	tell "${line:-}"
	go
	is "SIGKILL of the worker, $what: the target lives" "$?" 0
}
target "$BIN/board"
line="a 100" bereft "obey:x" -e obey:x
is "obey:x: it does what it does" "$(said done)" a
target "$BIN/plugins" wait "open:$BIN/plugin.so" write:3
line='' bereft "--pending" --pending -e nowhere:w
# Of a process whose first thread has ended there is nothing below its own number in /proc.
target "$BIN/leader"
until_true has_line "/proc/$target/task/$target/status" '^State:.*Z'
other=$(ls "/proc/$target/task" | grep -vx "$target")
ours() {
	echo "$(grep -c 'r-xp 00000000 00:00 0 *$' "/proc/$target/task/$other/maps") $(ls "/proc/$target/task" | wc -l)"
}
before=$(ours)
attach -e v:w
is "the first thread has ended: a mapping and a thread of ours are there" "$(ours)" "1 3"
worker_kill
is "the first thread has ended, SIGKILL of the worker: they are gone" "$(ours)" "$before"
tell a
heard '^wrote 100'
go
is "the first thread has ended, SIGKILL of the worker: the target lives" "$?" 7
until_true nothing_left_over
ok $? "no process of watchprof is left"
# An instruction that raises a general protection fault of its own, as hlt does, where both processes left a breakpoint.
target "$BIN/firsts_own" protected early
attach -e load:x -e down:x -e v:w
kill -9 "$prof"
worker_kill
until_true untraced "$target"
go
is "SIGKILL of both: an instruction at a breakpoint has its own fault" $? 7
done_testing
