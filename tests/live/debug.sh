# debug.sh: where symbols come from: separate debug files, files that were replaced since the start,
# other mount namespaces, servers (cases 66 to 68).
. "$(dirname "$0")/lib.sh"

expected='1000 f
500 g'
home=$tmp/home
mkdir "$home"

# counted NAME OPTION... -- PROGRAM: the program is found with its functions, and nothing is said.
counted() {
	name=$1
	shift
	launch -e counter:w "$@"
	is "$name" "$(rows "$tmp/report" counter:w)$message" "$expected"
}

# build_id PROGRAM
build_id() {
	launch -e 0x10000/1:w -- "$1"
	field "$tmp/report" build_id
}

if [ -e "$BIN/debug/by-id.debug" ]; then
	cp "$BIN/by-id" "$BIN/by-link" "$home"
	id=$(build_id "$home/by-id")
	rest=${id#??}
	tree=.build-id/${id%"$rest"}
	mkdir -p "$home/.debug" "$tmp/dir$home" "$tmp/tree/$tree" "$tmp/none"

	for form in by-id by-link; do
		cp "$BIN/debug/$form.debug" "$home"
		counted "$form: beside the program" -- "$home/$form"
		mv "$home/$form.debug" "$home/.debug"
		counted "$form: in .debug" -- "$home/$form"
		mv "$home/.debug/$form.debug" "$tmp/dir$home"
		counted "$form: below --debug-dir, by the program's path" --debug-dir="$tmp/none" --debug-dir="$tmp/dir" -- "$home/$form"
		mv "$tmp/dir$home/$form.debug" "$tmp/dir"
		counted "$form: in --debug-dir" --debug-dir="$tmp/dir" -- "$home/$form"
		rm "$tmp/dir/$form.debug"
	done
	cp "$BIN/debug/by-id.debug" "$tmp/tree/$tree/$rest.debug"
	counted "by-id: by build-id" --debug-dir="$tmp/tree" -- "$home/by-id"
	if [ -w /usr/lib ] && mkdir -p "/usr/lib/debug/$tree" 2>/dev/null; then
		cp "$BIN/debug/by-id.debug" "/usr/lib/debug/$tree/$rest.debug"
		counted "by-id: in the system's directory, by build-id" -- "$home/by-id"
		rm "/usr/lib/debug/$tree/$rest.debug"
		rmdir "/usr/lib/debug/$tree" 2>/dev/null
	else
		skip "by-id: in the system's directory, by build-id" "it cannot be written"
	fi
	rm "$tmp/tree/$tree/$rest.debug"

	launch --debug-dir="$tmp/dir" -e counter:w -- "$home/by-link"
	matches "by-link, the debug file is gone: where it was searched" "$message" "watchprof: warning: counter:w: no variable \
named 'counter' in any module that is loaded; $home/by-link is stripped and no debug file was found: searched by-link.debug in \
$home, $home/.debug, $tmp/dir$home, $tmp/dir and /usr/lib/debug$home; waiting for*"
	launch --debug-dir="$tmp/dir" -e counter:w -- "$home/by-id"
	matches "by-id, the debug file is gone: where it was searched" "$message" "*: searched $tmp/dir/$tree/$rest.debug, \
/usr/lib/debug/$tree/$rest.debug, and by-id.debug in $home, $home/.debug, $tmp/dir$home, $tmp/dir and /usr/lib/debug$home; \
waiting for*"

	cp "$BIN/debug/other.debug" "$home/by-id.debug"
	cp "$BIN/debug/other.debug" "$home/by-link.debug"
	other=$(build_id "$BIN/other")
	launch -e counter:w -- "$home/by-id"
	matches "another build's debug file is refused: both build-ids are told" "$(echo "$message" | sed -n 1p)" \
		"watchprof: warning: $home/by-id.debug is not used: its build-id is $other, that of $home/by-id is $id"
	is "and nothing is counted at its addresses" "$(total "$tmp/report" counter:w)" 0
	launch -e counter:w -- "$home/by-link"
	matches "the same by checksum" "$(echo "$message" | sed -n 1p)" \
		"watchprof: warning: $home/by-link.debug is not used: its CRC is ????????, the .gnu_debuglink of $home/by-link has ????????"
	mkfifo "$home/.debug/by-id.debug"
	rm "$home/by-id.debug"
	launch -e counter:w -- "$home/by-id"
	is "a pipe by the name of a debug file is not waited for" "$status $(total "$tmp/report" counter:w)" "0 0"
else
	skip "separate debug files" "there was no objcopy"
fi
if [ -e "$BIN/by-section" ]; then
	counted "in the program's own .gnu_debugdata" -- "$BIN/by-section"
else
	skip "in the program's own .gnu_debugdata" "there was no xz"
fi

# editions NAME: both watches of the process $target, counted as of the first edition.
editions() {
	attach -e counter:w -e stock:w
	go
	wait "$prof"
	is "$1" "$(rows "$tmp/report" counter:w) $(rows "$tmp/report" stock:w)" "100 bump 50 store"
}

first() {
	rm -rf "$tmp/run"
	cp -r "$BIN/first" "$tmp/run"
	target "$tmp/run/edition"
}

first
for file in edition libedition.so; do
	cp "$BIN/second/$file" "$tmp/run/new"
	mv "$tmp/run/new" "$tmp/run/$file"
done
if [ "$(id -u)" = 0 ]; then
	editions "program and library were replaced since the start"
	first
	rm "$tmp/run/edition" "$tmp/run/libedition.so"
	editions "program and library were deleted since the start"
	first
	rm "$tmp/run/edition" "$tmp/run/libedition.so"
	attach -e 'libedition.so!stock:w'
	go
	wait "$prof"
	is "a deleted library by its name" "$(rows "$tmp/report" 'libedition.so!stock:w')" "50 store"
	# The binary of another build lies over the program in a namespace of its own.
	cp -r "$BIN/second" "$tmp/host"
	if unshare -m true 2>/dev/null; then
		# shellcheck disable=SC2016
		target unshare -m sh -c 'mount --bind "$1" "$2" && exec "$2/edition"' sh "$BIN/first" "$tmp/host"
		editions "another build is mounted over it in the target's namespace"
	else
		skip "another build is mounted over it in the target's namespace" "unshare is not possible here"
	fi
	# What dwz has moved to a common file lies where only the target sees it, in a root directory or namespace.
	if [ -e "$BIN/expr-c" ] && command -v dwz >/dev/null && unshare -m true 2>/dev/null; then
		mkdir "$tmp/inner" "$tmp/outer"
		cp "$BIN/expr-c" "$BIN/expr-5" "$tmp/inner"
		dwz -m "$tmp/inner/shared" -M "$tmp/outer/shared" "$tmp/inner/expr-c" "$tmp/inner/expr-5"
		# shellcheck disable=SC2016
		target unshare -m sh -c 'mount --bind "$1" "$2" && exec "$2/expr-c"' sh "$tmp/inner" "$tmp/outer"
		attach -e 'tree.parts[2].u:w'
		go
		wait "$prof"
		is "a common file of dwz in the target's namespace" "$(rows "$tmp/report" 'tree.parts[2].u:w')$(cat "$tmp/outer/shared" 2>/dev/null)" "4 touch"
	else
		skip "a common file of dwz in the target's namespace" "needs dwz and unshare"
	fi
else
	go
	skip "replaced and deleted files, other namespaces" "not root"
fi

# --- servers ---

# server FILE [DIR]: serves DIR, or takes connections and never answers; each connection is a line in FILE.
# Its port in $port.
server() {
	rm -f "$tmp/port"
	: >"$1"
	"$python" - "$@" >"$tmp/port" 2>/dev/null 9>&- <<'END' &
import http.server, os, socket, sys, threading, time
log = open(sys.argv[1], 'a', buffering=1)
class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        log.write(self.path + '\n')
        super().do_GET()
    def log_message(self, *args):
        pass
if len(sys.argv) > 2:
    os.chdir(sys.argv[2])
    s = http.server.HTTPServer(('127.0.0.1', 0), Handler)
    print(s.server_port, flush=True)
    s.serve_forever()
s = socket.socket()
s.bind(('127.0.0.1', 0))
s.listen(64)
print(s.getsockname()[1], flush=True)
kept = []
while True:
    kept.append(s.accept())
    log.write('connected\n')
END
	pids="$pids $!"
	until_true has_line "$tmp/port" . || return 1
	port=$(cat "$tmp/port")
}

# asked FILE: how often the server was asked
asked() {
	wc -l <"$1" | tr -d ' '
}

# A library is cut off in place, while its code is on the call path.
cp "$BIN/libcutoff.so" "$tmp/cutoff.so"
launch --group=path -e v:w -- "$BIN/cutoff" "$tmp/cutoff.so"
is "a library that is cut off while it is in use: the target goes on, and so does watchprof" "$status" 7
is "its hits are counted, and their path ends there" "$(grep -c "^10	.*	cut < cutoff.so+0x[0-9a-f]* < \[broken\]" "$tmp/report")" 1
is "and that is told" "$message" \
	"watchprof: warning: a file that the target runs was cut off or could not be read: names and call paths are missing"

python=$(command -v /usr/bin/python3 || command -v /usr/bin/python3.11)
if [ -e "$BIN/debug/by-id.debug" ] && [ -n "$python" ] && [ -n "$(ls /usr/lib*/libdebuginfod.so.1 /usr/lib/*/libdebuginfod.so.1 2>/dev/null)" ] &&
	server "$tmp/mute"; then
	export DEBUGINFOD_CACHE_PATH="$tmp/cache" DEBUGINFOD_URLS="http://127.0.0.1:$port"
	rm -f "$home/.debug/by-id.debug"
	launch -e counter:w -- "$home/by-id"
	is "without --debuginfod no server is asked" "$status $(asked "$tmp/mute")" "0 0"
	target "$home/by-id" wait
	attach -e 0x10000/1:w
	go
	wait "$prof"
	is "nor in a running process" "$(asked "$tmp/mute")" 0
	export DEBUGINFOD_TIMEOUT=1 DEBUGINFOD_RETRY_LIMIT=0
	target "$home/by-id" wait
	attach --debuginfod -e 0x10000/1:w
	go
	wait "$prof"
	is "a server that never answers is given up after its first question" \
		"$(sort -u "$tmp/mute") $(grep -c 'debuginfod: asking for' "$tmp/prof.err") $(grep -c 'it is not asked again' "$tmp/prof.err")" \
		"connected 1 1"
	launch -q --debuginfod -e counter:w -- "$home/by-id"
	is "-q: no word of that" "$message" ""
	export DEBUGINFOD_TIMEOUT=600
	: >"$tmp/mute"
	"$BIN/unignore" "$WATCHPROF" --debuginfod -o "$tmp/report" -e 0x10000/1:w -- /bin/sh -c ": >$tmp/began" 2>"$tmp/prof.err" &
	prof=$!
	pids="$pids $prof"
	until_true has_line "$tmp/mute" connected
	"$BIN/sendsig" INT "$prof"
	until_true has_line "$tmp/prof.err" interrupted || kill -9 "$prof"
	wait "$prof"
	is "SIGINT ends the wait for a server, and nothing has been run" "$? $(tail -n 1 "$tmp/prof.err") $([ -e "$tmp/began" ] && echo began)" \
		"130 watchprof: interrupted while debug information was fetched: nothing was watched "
	unset DEBUGINFOD_TIMEOUT DEBUGINFOD_RETRY_LIMIT
	mkdir -p "$tmp/www/buildid/$id"
	cp "$BIN/debug/by-id.debug" "$tmp/www/buildid/$id/debuginfo"
	server "$tmp/asked" "$tmp/www"
	export DEBUGINFOD_URLS="http://127.0.0.1:$port"
	launch --debuginfod -e counter:w -- "$home/by-id"
	is "a server's debug file, before the program runs" "$(rows "$tmp/report" counter:w)" "$expected"
	is "with a line on stderr before and after" "$(echo "$message" | grep -F "$home/by-id" | sed 's/[0-9]*\.[0-9] s$/N s/')" \
		"watchprof: debuginfod: asking for the debug info of $home/by-id (build-id $id) ...
watchprof: debuginfod: an answer for $home/by-id after N s"
	is "it was asked once" "$(grep -c "$id" "$tmp/asked")" 1
	target "$home/by-id" wait
	attach --debuginfod -e counter:w
	go
	wait "$prof"
	is "the same in a running process" "$(rows "$tmp/report" counter:w)" "$expected"
	# A library that the program is linked with, in a directory with a quote in its name.
	cp -r "$BIN/held" "$tmp/it's"
	library=$(cat "$BIN/debug/libheld.id")
	mkdir "$tmp/www/buildid/$library"
	cp "$BIN/debug/libheld.debug" "$tmp/www/buildid/$library/debuginfo"
	launch --debuginfod -e 'libheld.so!counter:w' -- "$tmp/it's/held"
	is "a server's debug file of a library, before the program runs" "$(rows "$tmp/report" 'libheld.so!counter:w')" "$expected"
	is "it was asked for that once" "$(grep -c "$library" "$tmp/asked")" 1
	has_line "$tmp/report" two_functions.h
	ok $? "and its lines are known"
	unset DEBUGINFOD_URLS
	launch --debuginfod -e counter:w -- "$BIN/by-id.full"
	is "no server is named" "$message" \
		"watchprof: warning: --debuginfod: DEBUGINFOD_URLS is not set, there is no server to ask"
else
	skip "servers" "needs python3, objcopy and libdebuginfod"
fi
done_testing
