# filters.sh: conditions behind the access: what meets all of them counts, the rest is counted as filtered.
# values stores 1 1 2 2 ... 30 30 in phase.
. "$(dirname "$0")/lib.sh"

# filtered WATCH PASSED LEFT: so many hits of this watch count, the others are filtered.
filtered() {
	launch -e "$1" -- "$BIN/values"
	is "$1: hits" "$(total "$tmp/report" "$1")" "$2"
	is "$1: filtered" "$(awk -F '\t' -v watch="$1" '$1 == "# value" && $2 == watch && $3 == "filtered" { print $4 }' "$tmp/report")" "$3"
}

filtered phase:w,changed 30 30
filtered phase:w,new==3 2 58
filtered "phase:w,new!=3" 58 2
filtered "phase:w,new>25" 10 50
filtered "phase:w,new>=25,new<=0x1a" 4 56
filtered phase:w,old==3 2 58
filtered phase:w,old==3,changed 1 59
filtered "phase:w,new>-1" 60 0
filtered "phase:w,func=st*" 60 0
filtered phase:w,func=main 0 60
filtered "phase:w,thread=val*" 60 0
filtered phase:w,thread=other,changed 0 60
filtered phase:rw,changed 30 30

launch -n 7 -e "phase:w,new>20" -- "$BIN/values"
is "-n counts what passed" "$(field "$tmp/report" hits)" 7
launch -e "phase:w,changed" -e phase:w -- "$BIN/values"
is "a watch beside it has all" "$(total "$tmp/report" phase:w,changed) $(total "$tmp/report" phase:w)" "30 60"
is "its own values are those of all writes" "$(awk -F '\t' '$2 == "phase:w,changed" && $3 == "silent" { print $4 }' "$tmp/report")" 30
# A forked child has its parent's value.
launch -f -e v:w,changed -e v:w -- "$BIN/heirs" 20
is "changed: in forked children, too" "$(total "$tmp/report" v:w,changed) $(total "$tmp/report" v:w)" "60 120"
"$WATCHPROF" --report -e phase:w,new==99 -- "$BIN/values" >"$tmp/text" 2>/dev/null
matches "no hit passed: the text report says why" "$(grep 'self-test' "$tmp/text")" "  0 hits: no access met the filters; self-test: *"
is "no hit passed: how many there were" "$(grep filtered "$tmp/text")" "  60 more filtered"
done_testing
