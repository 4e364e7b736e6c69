# disassembly.sh: real programs: what their accesses did is known, and is what objdump's text of the
# instructions says. The programs are stripped copies: without line numbers, rows are instructions.
. "$(dirname "$0")/lib.sh"

# bare PROGRAM: a copy of it in $program, whose debug information is not found.
bare() {
	program=$tmp/${1##*/}
	objcopy --dump-section .note.gnu.build-id="$tmp/id" "$1" "$program"
	head -c "$(wc -c <"$tmp/id")" /dev/zero >"$tmp/no-id"
	objcopy --strip-all --update-section .note.gnu.build-id="$tmp/no-id" --remove-section=.gnu_debuglink "$1" "$program"
}

# known REPORT NAME: of its hits, so many have reads and writes that are known.
known() {
	jq -r '[.lines[] | select(.reads != null and .writes != null) | .hits] | add' "$1" >"$tmp/known"
	jq -r '[.lines[].hits] | add' "$1" >"$tmp/all"
	[ "$(cat "$tmp/all")" -ge 500 ] && [ "$(($(cat "$tmp/known") * 1000))" -ge "$(($(cat "$tmp/all") * 995))" ]
	ok $? "$2: 99.5 % of the hits have a known kind ($(cat "$tmp/known") of $(cat "$tmp/all"))"
}

# compare REPORT SYMBOL OFFSET: with the disassembly of $program; the first watch is that far into the symbol.
compare() {
	value=$(nm -D "$program" | sed -n "s/^\([0-9a-f]*\) . $2\$/\1/p")
	address=$(jq -r '.watches[0].address' "$1")
	jq -r --arg file "$program" '.lines[] | select(.module == $file) |
		[.address, .hits, .reads // "-", .writes // "-"] | join(" ")' "$1" >"$tmp/sites"
	$python "$(dirname "$0")/disassembly.py" objdump "$program" $((address - 0x$value - $3)) 500 <"$tmp/sites" >"$tmp/compared"
	summary=$(tail -n 1 "$tmp/compared")
	matches "$2: as objdump has it" "$summary" "instructions [1-9]*, wrong 0"
	[ "$summary" = "${summary%wrong 0}" ] && sed 's/^/# /' "$tmp/compared"
	checked=$(echo "$summary" | sed 's/.*checked \([0-9]*\).*/\1/')
	instructions=$((instructions + $(echo "$summary" | sed 's/instructions \([0-9]*\).*/\1/')))
	[ "$checked" -ge 500 ]
	ok $? "$2: 500 hits at least were compared ($summary)"
}

python=/usr/bin/python3.11
instructions=0
for tool in objcopy nm objdump jq $python; do
	command -v $tool >/dev/null && continue
	skip "real programs against objdump" "no $tool here"
	done_testing
	exit
done

bare $python
cat >"$tmp/work.py" <<'END'
import json, re, sys, decimal, datetime, collections, string, textwrap, ast, pickle, random, functools, itertools, io, struct
for i in range(30): json.loads(json.dumps({'a': [None] * i, 'b': {str(i): None}}))
re.compile('(a|b)*c').match('abababc')
ast.dump(ast.parse(open(json.__file__).read()))
pickle.loads(pickle.dumps([None, 1, 'x', {None: None}, (None,)]))
sorted([3, 1, 2], key=lambda x: x)
d = decimal.Decimal('1.5') / 7
datetime.datetime.now().isoformat()
class A:
    __slots__ = ('x',)
    def __init__(self): self.x = None
    def __getattr__(self, n): return None
A().y; del A().x
def g():
    try:
        yield None
    finally:
        pass
list(g()); set([None]) | {None}; frozenset([None]); (None,) + (None,); [None][:]; {**{None: None}}
'%s %r' % (None, None); f'{None}'; str(None); repr(None); hash(None); None == None; None is None
try: None.x
except AttributeError: pass
try: None + 1
except TypeError: pass
END
for singleton in _Py_NoneStruct _Py_TrueStruct; do
	"$WATCHPROF" --report=json -o "$tmp/report" -e $singleton/8 -- "$program" -I -S "$tmp/work.py" >/dev/null 2>"$tmp/prof.err"
	is "python, $singleton: status" $? 0
	known "$tmp/report" "python"
	compare "$tmp/report" $singleton 0
done

if command -v redis-server >/dev/null && command -v redis-cli >/dev/null; then
	bare "$(command -v redis-server)"
	PATH=$tmp:$PATH redis_start
	for offset in 64 256; do
		rm -f "$tmp/prof.err" "$tmp/report"
		"$BIN/unignore" "$WATCHPROF" -v --report=json -o "$tmp/report" -p "$target" -e server+$offset/32 >"$tmp/prof.out" 2>"$tmp/prof.err" &
		prof=$!
		pids="$pids $prof"
		until_true has_line "$tmp/prof.err" '^watchprof: armed in'
		i=0
		while [ $i -lt 300 ]; do
			echo "set key$i $i"
			echo "lpush list$i a b c"
			echo "sort list$i alpha"
			i=$((i + 1))
		done | $cli >/dev/null
		"$BIN/sendsig" INT "$prof"
		wait "$prof"
		known "$tmp/report" "redis, server+$offset"
		compare "$tmp/report" server $offset
	done
	redis_stop
else
	skip "redis" "redis-server is not installed"
fi
[ "$instructions" -ge 500 ]
ok $? "500 different instructions at least were compared ($instructions)"
done_testing
