#!/usr/bin/env bash
# gallery.sh - test of one gallery problem, examples/pde/NAME.dsl.
#
# Use: ATLED=program tests/pde/gallery.sh FILE FOLDER
#
# Checks:
# - The program runs within its time limit.
# - It states its problem once, in a block of at most 15 lines. Every solution
#   that it computes has exactly this text.
# - At least two methods are used, unless a comment of the program says
#   `one method`.
# - The picture is drawn, and docs/images/gallery has one.
# - The table is that of docs/guide/gallery.md.
#
# Contract:
# - The last line is "N passed, N failed". FOLDER gets the printed output
#   (NAME.txt) and the picture.
# - A program without a problem block is not supported.
# - The time limit is in processor time: three times the promise of the page on
#   the machine of docs/reference/performance.md, scaled by ATLED_PACE (run time
#   relative to that machine, in percent). It holds with and without cached
#   machine code.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
atled=${ATLED:-$PWD/build/atled} file=$1 name=$(basename "$1" .dsl) passed=0 failed=0
mkdir -p "$2" || exit 2
folder=$(cd "$2" && pwd)
rm -f "$folder/$name".*

holds() { # WHAT COMMAND...
	local what=$1
	shift
	if "$@"; then passed=$((passed + 1)); else
		failed=$((failed + 1))
		echo "gallery: failed: $name: $what"
	fi
}
at_least() { [ "$1" -ge "$2" ]; }

# The problem block, from `problem` to the closing brace at the start of a line.
block=$(sed -n '/^problem /,/^}/p' "$file")
holds 'one problem block, and no other in the file' \
	test "$(grep -cE '(^|[^a-z_"])problem +[a-z_A-Z]+ *[({]' "$file")" = 1
holds "at most 15 lines, not $(wc -l <<<"$block")" at_least 15 "$(wc -l <<<"$block")"
holds 'laid out by atled fmt' cmp -s <("$atled" fmt - <"$file") "$file"
holds 'nothing that atled check finds' test -z "$("$atled" check "$file" 2>&1)"

# The program, with solve() and fit() wrapped to print what they solved. The
# file keeps its name, since a problem's text is read from it.
{
	cat <<'TEXT'
_told(s, p) = {
  if kind(p) == "problem" { print("\n=== {s.method} === {replace(s.text, "\n", "⏎")}") }
  s
}
_solve(p, ...m; ...o) = _told(solve(p, ...m; ...o), p)
_fit(p, ...m; ...o) = {
  f = fit(p, ...m; ...o)
  if kind(p) == "problem" { _told(f.solution, p) }
  f
}
TEXT
	sed -E 's/(^|[^a-zA-Z_.])(solve|fit)\(/\1_\2(/g' "$file"
} >"$folder/$name.dsl"
(
	cd "$folder" || exit 2
	TIMEFORMAT=%U
	time "$atled" "$name.dsl" >"$name.out" 2>"$name.err"
	echo "$?" >"$name.status"
) 2>"$folder/$name.seconds"
status=$(<"$folder/$name.status") seconds=$(tail -n 1 "$folder/$name.seconds")
holds 'it runs' test "$status" = 0
[ "$status" = 0 ] || cat "$folder/$name.err"
# The reference machine has AVX-512. A shell measures ATLED_PACE without vector
# instructions, so narrower vectors need an allowance of their own.
most=$((15 * ${ATLED_PACE:-100} / 100))
grep -qsw avx512f /proc/cpuinfo || most=$((most * 3 / 2))
case ${ATLED_KIND:-release} in
asan | tsan | stress) ;;
*) holds "$seconds s of processor time" at_least "$most" "${seconds%[.,]*}" ;;
esac

told=$(grep -a '^=== ' "$folder/$name.out")
# Removes the added lines, each with the empty line before it.
awk '{ line[NR] = $0 } END {
	for (i = 1; i <= NR; i++)
		if (!(line[i] == "" && line[i + 1] ~ /^=== /) && line[i] !~ /^=== /) print line[i]
}' "$folder/$name.out" >"$folder/$name.txt"
methods=$(sed -E 's/^=== (.*) === .*/\1/' <<<"$told" | sort -u)
texts=$(sed -E 's/^=== .* === //' <<<"$told" | sort -u | sed 's/⏎/\n/g')
holds "every solution carries the text of the problem block" test "$texts" = "$block"
if ! grep -q '^#.*one method' "$file"; then
	holds "two methods at least, not only: $methods" at_least "$(wc -l <<<"$methods")" 2
fi
# shellcheck disable=SC2086 # a word for each
for method in $methods; do
	holds "a line about $method" grep -q "^$method\\b" "$folder/$name.txt"
done

picture=$folder/$name.png
holds 'a picture is drawn' test -s "$picture"
holds "docs/images/gallery/$name.png is there, of at most 120 kB" at_least 120000 \
	"$(stat -c %s "docs/images/gallery/$name.png" 2>/dev/null || echo 999999999)"
words() { awk '{ print $1 }' | paste -sd ' '; }
shown=$(awk -v name="$name" '
	$0 == "<a id=\"" name "\"></a>" { here = 1 }
	here && /^```text/ { on = 1; next }
	on && /^```/ { exit }
	on' docs/guide/gallery.md)
holds 'docs/guide/gallery.md has the table (scripts/docs/gallery_page.sh)' \
	test "$(words <<<"$shown")" = "$(words <"$folder/$name.txt")"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
