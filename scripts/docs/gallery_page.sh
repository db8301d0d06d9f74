#!/usr/bin/env bash
# gallery_page.sh - generator of docs/guide/gallery.md.
#
# Shows each program of examples/pde/ with its comment, its problem, the table
# that it prints and its picture.
#
# Use: scripts/docs/gallery_page.sh
#          runs all programs, updates their tables and pictures, writes the page
#      scripts/docs/gallery_page.sh NAME...
#          runs only these; the others keep the tables of the page
#      scripts/docs/gallery_page.sh --check
#          fails when the page is out of date, given its tables; runs nothing
#      ATLED=build/atled
#          the program
#
# A title is the comment up to its first colon or full stop.
# tests/pde/gallery.sh checks the programs and the first words of their tables.
set -euo pipefail
export LC_ALL=C.UTF-8 # sorting and number formats must not depend on the locale
cd "$(dirname "$0")/../.."
atled=${ATLED:-$PWD/build/atled} page=docs/guide/gallery.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

plain() { sed -n '/^#/!q; s/^# \{0,1\}//p' "$1"; }
comment() { plain "$1" | sed 's/[*<]/\\&/g'; }
title() { plain "$1" | tr '\n' ' ' | sed -E 's/[:.] .*//; s/[:.] *$//'; }
block() { sed -n '/^problem /,/^}/p' "$1"; }
# the present table of the page
kept() {
	awk -v name="$1" '
		$0 == "<a id=\"" name "\"></a>" { here = 1 }
		here && /^```text/ { on = 1; next }
		on && /^```/ { exit }
		on' "$page" 2>/dev/null || true
}
# the first words of a table's lines, but for its head
methods() {
	sed 1d "$1" | awk 'NF { print $1 }' | awk '!seen[$0]++' |
		grep -xE 'fd|fv|fem|chebyshev|fourier|rfm|pinn|deeponet|fno|collocation|auto' |
		paste -sd ' ' | sed 's/ /, /g'
}

write() {
	cat <<'TEXT'
# A gallery of problems

Made by `scripts/docs/gallery_page.sh` from the programs of `examples/pde/`.
Each states one problem and hands this one statement to every method that serves
it; what is printed is the relative error of each, against an exact solution or
a value from elsewhere that the comment names. `make check` runs them all and
compares the statements that the solutions carry. How problems are stated is in
[problems.md](../methods/problems.md), what the methods do in
[howto_pde.md](howto_pde.md), [fem.md](../methods/fem.md),
[conservation.md](../methods/conservation.md) and
[neural.md](../methods/neural.md).

| problem | methods |
| --- | --- |
TEXT
	local file name
	for file in examples/pde/*.dsl; do
		name=$(basename "$file" .dsl)
		printf '| [%s](#%s) | %s |\n' "$(title "$file")" "$name" "$(methods "$work/$name.txt")"
	done
	for file in examples/pde/*.dsl; do
		name=$(basename "$file" .dsl)
		printf '\n<a id="%s"></a>\n\n## %s\n\n%s\n' "$name" "$(title "$file")" "$(comment "$file")"
		# shellcheck disable=SC2016 # Markdown markup
		printf '\n```dsl skip\n%s\n```\n\n```text\n%s\n```\n' \
			"$(block "$file")" "$(cat "$work/$name.txt")"
		printf '\n![%s](../images/gallery/%s.png)\n\n[%s](../../%s)\n' \
			"$(title "$file")" "$name" "$name.dsl" "$file"
	done
}

run() {
	local file=$PWD/examples/pde/$1.dsl
	(cd "$work" && "$atled" "$file" >"$1.txt")
	mkdir -p docs/images/gallery
	cp "$work/$1.png" docs/images/gallery/
}

case ${1:-} in
--check) wanted=' ' ;;
'') wanted=' '$(cd examples/pde && printf '%s ' *.dsl | sed 's/\.dsl / /g') ;;
*) wanted=" $* " ;;
esac
for file in examples/pde/*.dsl; do
	name=$(basename "$file" .dsl)
	case $wanted in *" $name "*) run "$name" ;; *) kept "$name" >"$work/$name.txt" ;; esac
done
if [ "${1:-}" = --check ]; then
	if write | scripts/docs/wrap.py - | cmp -s - "$page"; then echo '1 passed, 0 failed'; else
		echo "$page is out of date: run scripts/docs/gallery_page.sh"
		echo '0 passed, 1 failed'
		exit 1
	fi
else
	write | scripts/docs/wrap.py - >"$work/page"
	cp "$work/page" "$page"
fi
