#!/usr/bin/env bash
# test_grants.sh - test of the functions that need a grant.
#
# Use: ATLED_BUILD=build tests/calls/test_grants.sh
#
# Method: calls every function of the library without a grant, and runs the
# examples of its help. Which of them are denied what must be the table in
# docs/guide/embedding.md, and no file may appear. The last line is "N passed, N
# failed", counting functions.
set -uo pipefail
build=$(realpath "${ATLED_BUILD:-build}") root=$PWD passed=0 failed=0
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
page=$root/docs/guide/embedding.md

mkdir "$folder/empty" && cd "$folder/empty" || exit 2
"$build/tests/library_calls" --page "$root/docs/reference/library.md" --denied --count 12 \
	--jobs 0 >"$folder/out" 2>&1
cd "$root" || exit 2
tail -n 1 "$folder/out" | grep -q ' passed, 0 failed$' ||
	{ failed=$((failed + 1)) && grep '^failed' "$folder/out"; }
grep -xE '[a-z_0-9]+: (files|clock|output|environment)' "$folder/out" | sort >"$folder/got"
# rows of the table: | `ATLED_GRANT_FILES` | `load`, `save` ... |
sed -nE 's/^\| `ATLED_GRANT_([A-Z]+)` \| (`.*`)[^`]*\|$/\1 \2/p' "$page" |
	while read -r grant names; do
		for name in $names; do
			[[ $name =~ ^\`([a-z_0-9]+)\`,?$ ]] && echo "${BASH_REMATCH[1]}: ${grant,,}"
		done
	done | sort >"$folder/said"
while read -r line; do passed=$((passed + 1)); done <"$folder/got"
if ! diff "$folder/said" "$folder/got" >"$folder/diff" || [ "$passed" -eq 0 ]; then
	failed=$((failed + 1))
	echo "failed: the table of $page (<) is not what is denied (>):"
	cat "$folder/diff"
fi
rmdir "$folder/empty" || { failed=$((failed + 1)) && echo 'failed: a file appeared'; }
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
