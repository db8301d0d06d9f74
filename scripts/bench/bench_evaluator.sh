#!/usr/bin/env bash
# bench_evaluator.sh - benchmark of the evaluator, without machine code, and
# Lua.
#
# Use: scripts/bench/bench_evaluator.sh FOLDER, the folder of a release build
#
#   QUICK=1          small sizes
#
# Method: both run scalar loops alternately; the table (Markdown) has the median
# of five ratios. The time is the processor time of whole programs, which other
# work on the machine affects less. Without lua5.4, reports that it is missing.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:?folder of the build} turns=5
if ! command -v lua5.4 >/dev/null; then
	echo "bench: Lua 5.4 is not installed: its rows are skipped" >&2
	exit 0
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
rows=("mandelbrot 200 5" "planets 100000 1" "fib 27 10") # function, argument, repetitions
if [ "${QUICK:-0}" = 1 ]; then rows=("mandelbrot 50 5" "planets 5000 1" "fib 20 10") turns=1; fi

TIMEFORMAT=%U
seconds() { { time "$@" >/dev/null; } 2>&1; }
export ATLED_NATIVE=off
echo '| evaluator, without machine code | Atled ms | Lua 5.4 ms |' \
	'x Lua (smallest..largest) | goal |'
echo "| --- | --- | --- | --- | --- |"
for row in "${rows[@]}"; do
	read -r name argument often <<<"$row"
	{
		cat bench/programs/scalar.dsl
		echo "for k in 0..$often { print($name($argument)) }"
	} >"$scratch/$name.dsl"
	for ((k = 0; k < turns; k++)); do
		echo "$(seconds "$build/atled" "$scratch/$name.dsl")" \
			"$(seconds lua5.4 bench/peers/scalar.lua --run "$name" "$argument" "$often")"
	done | awk -v name="$name($argument)" -v often="$often" '
		function sorted(v, n,    i, j, t) {
			for (i = 2; i <= n; i++)
				for (j = i; j > 1 && v[j - 1] > v[j]; j--) {
					t = v[j]
					v[j] = v[j - 1]
					v[j - 1] = t
				}
		}
		{ a[NR] = $1; l[NR] = $2; r[NR] = $1 / $2 }
		END {
			sorted(a, NR)
			sorted(l, NR)
			sorted(r, NR)
			m = int((NR + 1) / 2)
			printf "| %s | %.3g | %.3g | %.2f (%.2f..%.2f) | 4 |\n", name, \
				1e3 * a[m] / often, 1e3 * l[m] / often, r[m], r[1], r[NR]
		}'
done
