# hour_lib.sh: what the three strands of hour.sh share: rounds until the time is over, counts of the control socket against
# those of the target, samples of watchprof's memory and descriptors, and what is looked at in the end.
# A strand sets strand, and calls watched once its watchprof is armed; HOUR_SECONDS is the time, HOUR_REST that between rounds.
. "$(dirname "$0")/lib.sh"

: "${HOUR_SECONDS:?}"
socket=$tmp/socket
round=0
bad=0
sample_every=10
# What is opened and allocated once only has been after a sixth of the time, 20 s to 5 min.
warm_up=$((HOUR_SECONDS / 6))
[ $warm_up -ge 20 ] || warm_up=20
[ $warm_up -le 300 ] || warm_up=300
# Growth that is no leak: of the allocator, within the time that is judged; and per hour.
slack_kib=512
slack_kib_per_hour=512
# Of each process that was followed, its line in the report is kept, of 10,000 at most: the entry (48, in an array that
# doubles), its command and its end, and its sites. 470 were measured.
listed_most=10000
listed_bytes=512

now() {
	date +%s
}

# wrong TEXT: this round is a bad one.
wrong() {
	bad=$((bad + 1))
	[ $bad -gt 20 ] || echo "# $strand: round $round: $1"
}

# ask COMMAND...: the answers of the control socket.
ask() {
	"$BIN/ask" "$socket" "$@" 9>&-
}

# must COMMAND...: each is done.
must() {
	answers=$(ask "$@")
	[ "$(echo "$answers" | grep -c '^{"ok":true')" -eq $# ] || wrong "$* is answered: $(echo "$answers" | cut -c 1-200 | grep -v '^{"ok":true')"
}

# hits WATCH: by the answer to list.
hits() {
	ask list | tr '{' '\n' | sed -n "s|^\"watch\":\"$1\".*\"hits\":\([0-9]*\).*|\1|p"
}

test_hits() {
	[ "$(hits "$1")" = "$2" ]
}

# settled WATCH COUNT TEXT: it has that many hits (those on their way have come in).
settled() {
	until_true test_hits "$1" "$2" || wrong "$3: $1 has $(hits "$1") hits, the target says $2"
}

# looked_at WATCH COUNT: the reports of a running watchprof, by the socket and by a signal, while nothing is counted.
looked_at() {
	rm -f "$tmp/report"
	"$BIN/sendsig" USR1 "$prof"
	until_true test -s "$tmp/report"
	[ "$(field "$tmp/report" end) $(total "$tmp/report" "$1")" = "running $2" ] ||
		wrong "SIGUSR1: end '$(field "$tmp/report" end)', $(total "$tmp/report" "$1") hits of $1, not $2"
	must 'report text' 'report json' 'report pprof'
}

descriptors() {
	ls "/proc/$1/fd" | wc -l
}

# open_files: the descriptors of both processes that are no connection to the control socket, which come and go.
open_files() {
	ls -l "/proc/$prof/fd" "/proc/$worker/fd" | sed -n 's/.* -> //p' | grep -v '^socket:' | sort
}

sockets() {
	ls -l "/proc/$worker/fd" | grep -c ' -> socket:'
}

# Nobody is connected, it only listens: the worker sees ten times a second who has gone.
closed() {
	[ "$(sockets)" -eq 1 ]
}

# watched: the process that works, and the start of the time. Where nothing is watched that is all.
watched() {
	worker=$(awk '/^TracerPid:/ { print $2 }' "/proc/$target/status")
	if [ "${worker:-0}" -eq 0 ]; then
		is "$strand: the target is watched" "$(tail -n 3 "$tmp/prof.err")" "armed"
		done_testing
		exit 1
	fi
	started=$(now)
	sampled=$started
	: >"$tmp/samples"
}

# sample [LISTED]: every ten seconds: time, memory, processes in the report. Called at one place of a round, where nobody is
# connected to the socket.
sample() {
	[ $(($(now) - sampled)) -ge $sample_every ] || return 0
	sampled=$(now)
	listed=${1:-0}
	[ "$listed" -le $listed_most ] || listed=$listed_most
	echo "$((sampled - started)) $(awk '/^VmRSS:/ { print $2 }' "/proc/$worker/status") $listed $(open_files | wc -l)" >>"$tmp/samples"
	[ -e "$tmp/files" ] || [ $((sampled - started)) -lt $warm_up ] || open_files >"$tmp/files"
}

# same_files: no more is open than after the warm-up: what looks into a thread's files for a moment, or writes a report, may be
# open at either time.
same_files() {
	open_files >"$tmp/files.end"
	comm -13 "$tmp/files" "$tmp/files.end" >"$tmp/files.more"
	[ ! -s "$tmp/files.more" ]
}

# rounds: run `one_round` until the time is over.
rounds() {
	until [ $(($(now) - started)) -ge "$HOUR_SECONDS" ]; do
		round=$((round + 1))
		one_round
		[ $bad -lt 100 ] || break
		kill -0 "$prof" 2>/dev/null || { wrong "watchprof has ended"; break; }
		[ "${HOUR_REST:-0}" = 0 ] || sleep "$HOUR_REST"
	done
	is "$strand: $round rounds, each with the target's own counts" "$bad bad" "0 bad"
	judge_samples
}

# judge_samples: what grew after the warm-up, by least squares.
judge_samples() {
	awk -v warm=$warm_up -v slack=$slack_kib -v per_hour=$slack_kib_per_hour -v bytes=$listed_bytes '
		$1 < warm { next }
		!n { first = $1; least = most = $2; listed = $3 }
		{ n++; x = $1 - first; sx += x; sy += $2; sxx += x * x; sxy += x * $2; span = x
		  if ($2 < least) least = $2
		  if ($2 > most) most = $2
		  grown = ($3 - listed) * bytes / 1024 }
		END {
			slope = n > 1 ? (n * sxy - sx * sy) / (n * sxx - sx * sx) : 0
			bound = slack + per_hour * span / 3600 + grown
			printf "%d %d %d %d %.0f %.0f %.0f %d\n", n, span, least, most, slope * 3600, slope * span, bound,
				(n >= 3 && slope * span <= bound)
		}' "$tmp/samples" >"$tmp/slope"
	read -r n span least most slope growth bound is_flat <"$tmp/slope"
	[ "$is_flat" = 1 ]
	ok $? "$strand: memory is flat: $growth KiB by its slope, of at most $bound ($n samples)"
	until_true closed
	ok $? "$strand: watchprof has closed the connections to its socket"
	until_true same_files
	is "$strand: watchprof has no more descriptors at the end than after the beginning" "$(cat "$tmp/files.more")" ""
	printf '%s\t%d\t%d\t%d\t%d..%d\t%d\t%d\t%d\n' "$strand" "$round" "$n" "$span" "$least" "$most" "$slope" "$growth" "$bound" \
		>"${HOUR_TABLE:-$tmp/table}"
	[ -z "${HOUR_SAMPLES:-}" ] || cp "$tmp/samples" "$HOUR_SAMPLES.$strand"
}

# is_over: the end of watchprof's run: its status and what its report says of it.
is_over() {
	wait "$prof"
	is "$strand: watchprof's status" $? "${1:-0}"
	is "$strand: nothing was lost" "$(field "$tmp/report" lost) $(field "$tmp/report" threads_unarmed)" "0 0"
	until_true nothing_left_over
	ok $? "$strand: no process of watchprof is left"
}
