#!/usr/bin/env bash
# special_page.sh - generator of docs/reference/special.md.
#
# Lists the largest relative error of each special function and distribution,
# and that of SciPy.
#
# Use: scripts/docs/special_page.sh [FOLDER]
#          writes the page; FOLDER (default: build) has the program
#      scripts/docs/special_page.sh --check [FOLDER]
#          fails when a function is missing on the page, or when its error is
#          larger than the page says
#
# scripts/docs/special/reference.py makes the values, conditions and errors of
# SciPy in tests/stdlib/functions/_special_reference.dsl. The last digits depend
# on the C library, so the check allows twice the error of the page plus four
# units in the last place.
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "$0")/../.."
check=
if [ "${1:-}" = --check ]; then check=yes; shift; fi
program=${ATLED:-${1:-build}/atled}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

# group|name|points|error|error of SciPy
cat >"$stage/rows.dsl" <<TEXT
use "$PWD/tests/stdlib/functions/_special_reference.dsl" as s
use "$PWD/tests/stdlib/functions/_special_table.dsl" as table
for r in s.rows { print(table.line(r)) }
TEXT
"$program" "$stage/rows.dsl" >"$stage/rows"

page() {
	cat <<'TEXT'
# Special functions: how exact they are

Made by `scripts/docs/special_page.sh` from
`tests/stdlib/functions/special_table.dsl`; do not change it by hand.

TEXT
	sed -n 's/^# mpmath \(.*\), SciPy \([^ ]*\)\. .*/Each function is compared with mpmath \1 at '\
'points drawn over its whole domain: extremes, both signs, tails, nearly whole orders. '\
'SciPy \2 is compared at the same points./p' tests/stdlib/functions/_special_reference.dsl
	cat <<'TEXT'
The table has the worst relative error. Where the condition c of the function at
a point is above 1000, the error there counts divided by c/1000: near a zero,
say, the last digit of the argument changes the value by more than 1e-13 of it.
`-` is a function that SciPy lacks, `nan` a point where it has no value.
`make check` holds each function to 1e-12, and to twice SciPy's error where that
is above 1e-14.

TEXT
	awk -F'|' '
		$1 != group {
			group = $1
			printf "\n## %s\n", toupper(substr(group, 1, 1)) substr(group, 2)
			printf "\n| function | points | Atled | SciPy |\n| --- | --- | --- | --- |\n"
		}
		{ printf "| `%s` | %s | %s | %s |\n", $2, $3, $4, $5; n++ }
		END { printf "\n%d functions.\n", n }' "$stage/rows"
}

if [ -z "$check" ]; then
	page | scripts/docs/wrap.py - >docs/reference/special.md
	exit
fi
# reads the functions and errors of the page, then those of the rows
awk -F'|' '
	NR == FNR { if ($2 ~ /^ `/) { name = substr($2, 3, length($2) - 4); said[name] = $4 + 0 } next }
	!($2 in said) { print $2 ": not on the page"; failed++; next }
	$4 + 0 > 2 * said[$2] + 1e-15 {
		printf "%s: %s, and %s on the page\n", $2, $4, said[$2]
		failed++
		next
	}
	{ passed++ }
	END {
		if (failed)
			print "docs/reference/special.md is out of date: run scripts/docs/special_page.sh"
		print passed + 0 " passed, " failed + 0 " failed"
		exit failed > 0
	}
' docs/reference/special.md "$stage/rows"
