# versions.sh: names with several definitions: versions of a library's variable, weak and strong ones, and those of
# which there is one in the process (STB_GNU_UNIQUE).
. "$(dirname "$0")/lib.sh"

# counted NAME EXPECTED WATCH PROGRAM [ARG...]: hits, and what was resolved to, without directories and lines.
counted() {
	name=$1 expected=$2 watch=$3
	shift 3
	launch -q -e "$watch:w" -- "$@"
	is "$name" "$(awk -F '\t' -v watch="$watch:w" '$1 == "# watch" && $2 == watch { print $7, $11 }' "$tmp/report" |
		sed 's|/[^ ,:]*/||g; s| ([^)]*)||')" "$expected"
}

# told NAME WATCH PATTERN PROGRAM: the first line that is said of a watch.
told() {
	launch -e "$2:w" -- "$4"
	matches "$1" "$(echo "$message" | sed -n 1p)" "watchprof: $3"
}

# listed: the candidates of the last message, without addresses and directories.
listed() {
	echo "$message" | sed -n 's|^  \([^ ]*\) at .*/\([^/]*\)$|\1 in \2|p'
}

counted "the plain name is the default version" "25 stock in libversions.so" stock "$BIN/versions-pic"
counted "of which the program may have a copy" "25 stock in versions" stock "$BIN/versions"
counted "an old version by its name" "3 stock@V1 in libversions.so" stock@V1 "$BIN/versions"
counted "the default one by its name" "25 stock@@V2 in libversions.so" stock@V2 "$BIN/versions-pic"
counted "the same as the linker writes it" "25 stock@@V2 in libversions.so" stock@@V2 "$BIN/versions-pic"
counted "the name with the module" "25 stock in libversions.so" libversions.so!stock "$BIN/versions-pic"
counted "the version with the module" "3 stock@V1 in libversions.so" libversions.so!stock@V1 "$BIN/versions-pic"
counted "the version with the file" "3 stock@V1 in libversions.so" versions_library.c::stock@V1 "$BIN/versions-pic"
counted "a program linked to the old one: the default version all the same" "5 stock in libversions.so" stock \
	"$BIN/versions-old-pic"
counted "and the old one" "23 stock@V1 in libversions.so" stock@V1 "$BIN/versions-old-pic"
counted "a copy of the old one" "20 stock@V1 in versions-old" stock@V1 "$BIN/versions-old"
counted "the same, named with the library" "20 stock@V1 in versions-old, which is used instead of that in libversions.so" \
	libversions.so!stock@V1 "$BIN/versions-old"
counted "beside which the default one is in the library" "5 stock@@V2 in libversions.so" stock@V2 "$BIN/versions-old"
told "the plain name then may be either" stock "stock:w: ambiguous, 2 variables match; name one as *, stock@VERSION, *" \
	"$BIN/versions-old"
is "they are listed with their versions" "$(listed)" "stock@V1 in versions-old
stock@@V2 in libversions.so"
told "old versions only" relic "relic:w: ambiguous, 2 variables match; name one as *, relic@VERSION, *" "$BIN/versions"
is "and these are listed" "$(listed)" "relic@V1 in libversions.so
relic@V2 in libversions.so"
counted "one of them" "7 relic@V1 in libversions.so" relic@V1 "$BIN/versions"
counted "the other" "9 relic@V2 in libversions.so" relic@V2 "$BIN/versions"
told "no default version" relic@@V2 "*no variable named 'relic@@V2' *; did you mean relic@V2, *" "$BIN/versions"
told "a version that is not there" stock@V3 "*no variable named 'stock@V3' *; did you mean stock@V1, stock@@V2*" \
	"$BIN/versions-pic"
counted "two versions of one variable" "24 tray in libversions.so" tray "$BIN/versions"
counted "by the older name" "24 tray@V1 in libversions.so" tray@V1 "$BIN/versions"
mkdir "$tmp/bare"
cp "$BIN/versions-pic" "$tmp/bare"
cp "$BIN/libversions-bare.so" "$tmp/bare/libversions.so"
counted "a stripped library: the default version" "25 stock in libversions.so" stock "$tmp/bare/versions-pic"
counted "a stripped library: the old one" "3 stock@V1 in libversions.so" stock@V1 "$tmp/bare/versions-pic"

counted "weak and strong in one program" "7 both in weak" both "$BIN/weak"
counted "by the file of the weak one" "7 both in weak" weak.c::both "$BIN/weak"
counted "by the file of the strong one" "7 both in weak" weak_strong.c::both "$BIN/weak"
counted "a weak second name" "4 nick in weak" nick "$BIN/weak"
counted "the first name" "4 full in weak" full "$BIN/weak"
counted "a weak definition that comes first is used" "30 v in liba_weak.so" v "$BIN/order-weak"
counted "also where the strong one is named" "30 v in liba_weak.so, which is used instead of that in libb.so" libb.so!v \
	"$BIN/order-weak"

if [ -e "$BIN/unique" ]; then
	set -- "$BIN/libfirst.so" "$BIN/libsecond.so"
	counted "unique: of two libraries the first one's" "30 depot::shared in libfirst.so" depot::shared "$BIN/unique" "$@"
	counted "unique: named with the second" \
		"30 depot::shared in libfirst.so, which is used instead of that in libsecond.so" \
		libsecond.so!depot::shared "$BIN/unique" "$@"
	counted "unique: loaded in the other order" "30 depot::shared in libsecond.so" libsecond.so!shared "$BIN/unique" \
		"$BIN/libsecond.so" "$BIN/libfirst.so"
	counted "unique: what the program exports" \
		"35 depot::shared in unique-exe, which is used instead of that in libfirst.so" libfirst.so!shared \
		"$BIN/unique-exe" "$@"
	counted "unique: what it does not export is its own" "5 depot::shared in unique-own" shared "$BIN/unique-own" "$@"
	counted "unique: then the libraries share one" "30 depot::shared in libfirst.so" libfirst.so!shared "$BIN/unique-own" "$@"
	counted "not unique: each has its own" "20 depot::own in libsecond.so" libsecond.so!own "$BIN/unique" "$@"
else
	skip "unique variables" "there is no C++ compiler"
fi
done_testing
