#!/usr/bin/env bash
# comparison_page.sh - generator of docs/guide/comparison.md.
#
# Compares the length of the programs of examples/ with that of the same
# programs in Python (bench/peers/examples/). Lines without code do not count.
#
# Use: scripts/docs/comparison_page.sh
#          writes the page
#      scripts/docs/comparison_page.sh --check
#          fails when the page is out of date, or when an Atled program is more
#          than one line longer than its peer
#      scripts/docs/comparison_page.sh --run PYTHON
#          runs the Python programs in a temporary folder; they need NumPy,
#          SciPy, JAX and matplotlib
set -euo pipefail
export LC_ALL=C.UTF-8 # sorting and number formats must not depend on the locale
cd "$(dirname "$0")/../.."

lines() { grep -cvE '^[[:space:]]*(#.*)?$' "$1"; }
# characters without comments and indentation
letters() {
	sed -E 's/^[[:space:]]*(#.*)?$//; s/^[[:space:]]+//; s/[[:space:]]+#[^"'"'"']*$//' "$1" |
		tr -d '\n' | wc -m
}
libraries() {
	grep -oE '^(import|from) (numpy|scipy|jax)' "$1" | awk '{print $2}' | sort -u |
		sed 's/numpy/NumPy/; s/scipy/SciPy/; s/jax/JAX/' | paste -sd ' ' | sed 's/ /, /g'
}
title() { sed -n '1s/^# //p' "$1"; }

page() {
	cat <<'TEXT'
# The same in Python

Made by `scripts/docs/comparison_page.sh`. These programs of `examples/` have a
peer in `bench/peers/examples/` that does the same task and makes the same
checks and a like picture, as somebody would write it who knows NumPy, SciPy,
JAX and matplotlib well. Blank lines and comments do not count; importing does,
since it has to be written. Characters are counted without indentation.

| task | Atled: lines | characters | Python: lines | characters | with |
| --- | --- | --- | --- | --- | --- |
TEXT
	local a p total_a=0 total_p=0 chars_a=0 chars_p=0 n=0
	for a in examples/*.dsl; do
		p=bench/peers/examples/$(basename "$a" .dsl).py
		[ -f "$p" ] || continue
		printf '| [%s](../../%s) | %d | %d | %d | %d | %s |\n' "$(basename "$a" .dsl)" "$a" \
			"$(lines "$a")" "$(letters "$a")" "$(lines "$p")" "$(letters "$p")" "$(libraries "$p")"
		total_a=$((total_a + $(lines "$a"))) total_p=$((total_p + $(lines "$p")))
		chars_a=$((chars_a + $(letters "$a"))) chars_p=$((chars_p + $(letters "$p")))
		n=$((n + 1))
	done
	printf '| **all %d** | **%d** | **%d** | **%d** | **%d** | |\n' \
		"$n" "$total_a" "$chars_a" "$total_p" "$chars_p"
	cat <<'TEXT'

What the lines do not say: gradients through a solver (`epidemic`, `pendulum`)
are exact in Atled and differences in SciPy, where a step has to be chosen; the
second derivative of an eigenvalue (`oscillator`) is NaN when JAX takes it
backwards twice, so the peer goes forwards; a loop that is left early has to
become one of fixed length to be differentiated in JAX (`newton`); and a
differential equation is stated in Atled and discretised by hand in Python
(`heat`, `burgers`, `kdv`, `wave`).
TEXT
}

case ${1:-} in
--check)
	failed=0 passed=0
	if page | scripts/docs/wrap.py - | cmp -s - docs/guide/comparison.md; then passed=1; else
		echo 'docs/guide/comparison.md is out of date: run scripts/docs/comparison_page.sh'
		failed=1
	fi
	for a in examples/*.dsl; do
		p=bench/peers/examples/$(basename "$a" .dsl).py
		[ -f "$p" ] || continue
		if [ "$(lines "$a")" -le $(($(lines "$p") + 1)) ]; then passed=$((passed + 1)); else
			echo "$a has $(lines "$a") lines, $p $(lines "$p")"
			failed=$((failed + 1))
		fi
	done
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ]
	;;
--run)
	folder=$(mktemp -d)
	trap 'rm -rf "$folder"' EXIT
	root=$PWD
	for p in bench/peers/examples/*.py; do
		echo "== $p"
		(cd "$folder" && "$2" "$root/$p")
	done
	;;
*) page | scripts/docs/wrap.py - >docs/guide/comparison.md ;;
esac
