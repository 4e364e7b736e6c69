# paths.sh: call paths over signals, large and variable frames, deep recursion and code without rules.
. "$(dirname "$0")/lib.sh"

# with TEXT: the numbers of hits and the paths that have it, with what lies behind main left out.
with() {
	sed -n 's/ < main < .*/ < main/; s/^ *\([0-9][0-9]*  [^ ].*\)/\1/p' "$tmp/text" | grep -F "$1"
}

for build in paths paths-static; do
	"$WATCHPROF" --report=text -e v:w --stack=64 -- "$BIN/$build" >"$tmp/text"
	is "$build: a signal handler" "$(with on_own)" "10  put < handler < [signal] < trap < on_own_stack < main"
	is "$build: a signal handler on its own stack" "$(with on_other)" \
		"10  put < handler < [signal] < trap < on_other_stack < main"
	is "$build: a frame of 300,000 bytes" "$(with large)" "10  put < from_large_frame < main"
	is "$build: frames of varying size" "$(with alloca)" "10  put < from_alloca < main"
	is "$build: recursion is kept" "$(with recurse | tr ' ' '\n' | grep -c recurse)" 40
	is "$build: code made at run time ends the path" "$(with '[broken]' | grep -c '^10  .* < \[broken\]')" 1
	is "$build: all hits" "$(sed -n 's/^ *\([0-9]*\) hits$/\1/p' "$tmp/text")" 60
	"$WATCHPROF" --report=text -e v:w --stack=8 -- "$BIN/$build" >"$tmp/text"
	is "$build: the depth limit is marked" "$(with recurse)" \
		"10  put < recurse < recurse < recurse < recurse < recurse < recurse < recurse < [truncated]"
done
done_testing
