# typed.sh: values are shown and compared as what their variables are.
. "$(dirname "$0")/lib.sh"

# value WATCH KEY...: of the report, with blanks between.
value() {
	watch=$1
	shift
	for key in "$@"; do
		awk -F '\t' -v watch="$watch" -v key="$key" '$1 == "# value" && $2 == watch && $3 == key { print $4 }' "$tmp/report"
	done | paste -s -d ' '
}

# typed WATCH KEYS WANTED
typed() {
	launch -e "$1" -- "$BIN/typed"
	# shellcheck disable=SC2086
	is "$1: $2" "$(value "$1" $2)" "$3"
}

typed balance:w "min max last_from last_to current" "-2000 2000 1000 2000 2000"
typed balance:w frequent "-2000 x 1, -1000 x 1, 0 x 1, 1000 x 1, 2000 x 1"
typed octet:w "min max last_to" "200 200 200"
typed small:w "min max last_from last_to" "-200 -200 0 -200"
typed state:w "min max frequent current" "STATE_GONE 7 STATE_BUSY x 1, 7 x 1, STATE_GONE x 1 STATE_GONE"
typed rate:w "min max frequent" "-1 1.25 -1 x 1, -0.25 x 1, 0.5 x 1, 1.25 x 1"
typed share:w "min max current" "0 0.375 0.375"
typed wide:w "min last_from current" "0.1 0 0.1"
typed is_open:w "last_from last_to" "false true"
typed title:w "last_from last_to" '"a\\"" "a\\"\\t"'
typed text:w "last_from last_to" "title+0x2 numbers+0xc"
typed handler:w "last_from last_to" "handle 0x1234"
# A field in the bytes of others: writes of those leave it as it is.
typed flags.low:w "writes changed silent current" "2 1 1 5"
typed flags.middle:w "min max current" "-3 0 -3"
typed flags.high:w "current" "200"
# A part of a variable has no type.
typed balance/2:w "current" "0x7d0 (2000)"
# Nor has an address.
typed balance+1/1:w "current" "0x7 (7)"

# filtered WATCH PASSED LEFT
filtered() {
	launch -e "$1" -- "$BIN/typed"
	is "$1" "$(total "$tmp/report" "$1") $(value "$1" filtered)" "$2 $3"
}

filtered "balance:w,new<0" 2 3
filtered "balance:w,new>-1500,new<=1000" 3 2
filtered "state:w,new==STATE_BUSY" 1 2
filtered "state:w,old!=STATE_BUSY" 2 1
filtered "state:w,new<STATE_IDLE" 1 2
filtered "rate:w,new>0.4" 2 2
filtered "rate:w,new<0" 2 2
filtered "share:w,new==0.125" 1 3
filtered "is_open:w,new==true" 1 0
filtered "octet:w,new>100" 1 0
filtered "flags.middle:w,new==-3" 1 1

is "an unknown name is refused" "$("$WATCHPROF" --report -e state:w,new==BUSY -- "$BIN/typed" 2>&1 >/dev/null)" \
	"watchprof: state:w,new==BUSY: 'BUSY' in a filter is no number, and enum state has no such name; it has STATE_IDLE, STATE_BUSY, STATE_GONE"
is "a variable that is no number is refused" "$("$WATCHPROF" --report -e numbers:w,new==1 -- "$BIN/typed" 2>&1 >/dev/null)" \
	"watchprof: numbers:w,new==1: new and old are compared as numbers, and the 32 bytes are none; name a member or an element, or give a length of 1, 2, 4 or 8"

"$WATCHPROF" --report=json -e balance:w -e rate:w -e state:w -- "$BIN/typed" >"$tmp/json" 2>/dev/null
is "json: numbers are numbers" "$(grep -c -e '"min": *-2000,' -e '"min": *-1,' -e '"max": *1.25,' -e '"min": *"STATE_GONE"' "$tmp/json")" 4
"$WATCHPROF" --report -e balance:w -- "$BIN/typed" >"$tmp/text" 2>/dev/null
is "the text report" "$(grep 'written between' "$tmp/text")" "  value 2000; 5 writes changed it, 0 did not; written between -2000 and 2000"
done_testing
