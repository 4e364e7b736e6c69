# counts.sh: exact counts per function, launched and attached; several watches; limits.
. "$(dirname "$0")/lib.sh"

two_rows='1000 f
500 g'

launch -e counter:w -- "$BIN/two"
is "launch: status of the program" "$status" 0
is "launch: f 1000, g 500, nothing else" "$(rows "$tmp/report" counter:w)" "$two_rows"
is "launch: hits in the header" "$(field "$tmp/report" hits)" 1500
is "launch: complete" "$(field "$tmp/report" complete)" yes
is "launch: how it ended" "$(field "$tmp/report" end)" "the target exited with status 0"

target "$BIN/two" wait
attach -e counter:w
go
is "attach: the target's status" $? 0
wait "$prof"
is "attach: status 0" $? 0
is "attach: f 1000, g 500, nothing else" "$(rows "$tmp/report" counter:w)" "$two_rows"

launch --stack=0 -e counter:w -- "$BIN/two"
is "--stack=0: the same counts" "$(rows "$tmp/report" counter:w)" "$two_rows"

# A read-modify-write is one instruction or two, as compiled: -O0 reads and writes apart.
launch -e counter -- "$BIN/two"
is "rw: a hit for each instruction" "$(rows "$tmp/report" counter)" '2000 f
1000 g'

launch -e a:w -e b:w -e c:w -e d:w -- "$BIN/four"
is "four watches: four counts" "$(for v in a b c d; do total "$tmp/report" $v:w; done | tr '\n' ' ')" "10 20 30 40 "
is "four watches: total" "$(field "$tmp/report" hits)" 100
launch -e a -e b -e c -e d -- "$BIN/four"
is "four watches rw: reads come on top" \
	"$(for v in a b c d; do total "$tmp/report" $v; done | tr '\n' ' ')" "15 25 35 45 "

launch -e d:w -e d:rw -- "$BIN/four"
is "two accesses of one variable: each has its own count" \
	"$(total "$tmp/report" d:w) $(total "$tmp/report" d:rw)" "40 45"

launch -n 123 -e counter:w -- "$BIN/two"
is "-n: exactly that many" "$(field "$tmp/report" hits)" 123
is "-n: the program still ends by itself" "$status" 0
is "-n: how it ended" "$(field "$tmp/report" end)" "the limit of 123 hits was reached"

launch -e write_all:x -- "$BIN/four"
is "x: a hit for each call" "$(rows "$tmp/report" write_all:x)" "40 write_all"

launch -e counter:w -- sh -c "exec '$BIN/two'"
is "launch through a shell: found in the program that it execs" "$(rows "$tmp/report" counter:w)" "$two_rows"

for code in 0 3; do
	launch -e PATH:w -- sh -c "exit $code"
	is "exit status $code is passed on" "$status" $code
done
for name in ABRT:134 KILL:137; do
	launch -e counter:w -- sh -c "kill -${name%:*} \$\$"
	is "death by SIG${name%:*} gives ${name#*:}" "$status" "${name#*:}"
	is "death by SIG${name%:*}: the report is written" "$(field "$tmp/report" hits)" 0
done

target "$BIN/two" wait
"$WATCHPROF" --report=tsv -d 0.3 -p "$target" -e counter >"$tmp/report" 2>"$tmp/prof.err"
is "-d on an idle variable: status 0" $? 0
is "-d on an idle variable: no hits" "$(field "$tmp/report" hits)" 0
is "-d on an idle variable: the self-test is told" "$(field "$tmp/report" self_test)" "ok, 2 of 2 hits"
is "-d on an idle variable: unchanged" "$(awk -F '\t' '$1 == "# watch" { print $10 }' "$tmp/report")" no
go
launch -e neighbour1/2:w -- "$BIN/four"
matches "a watch that reaches beyond its variable: a warning that names what is there" "$message" \
	"watchprof: warning: neighbour1/2:w: the last 1 of the watched bytes are not neighbour1's; there is *"
launch -e c+1/3:w -- "$BIN/four"
is "one that ends with it: none" "$message" ""
done_testing
