#!/usr/bin/env bash
# bench_setup.sh - benchmark of the set-up of large problems.
#
# Use: scripts/bench/bench_setup.sh FOLDER, the folder of a release build with
#      bench/run
#
#   THREADS=2
#   QUICK=1          small sizes
#
# Prints two tables (Markdown):
# - The 2-D Brusselator, from reading the program to the first steps. The time
#   is that of the whole process: start-up, compilation (with a new cache for
#   each size), pattern of the Jacobian, choice of a solver, factorisation.
#   Start-up and compilation dominate at small sizes. The largest size takes
#   some 3 GB and is skipped when less than 6 GB are available.
# - The assembly of linear finite elements.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:?folder of the build} threads=${THREADS:-2}
sizes=(32 64 256 1024) h=1/707
if [ "${QUICK:-0}" = 1 ]; then sizes=(32 64 128) h=1/100; fi
unset OPENBLAS_CORETYPE
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
spare=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo 2>/dev/null || echo 0)

echo "| 2-D Brusselator, N x N points: parse to first step | unknowns | s | processor s | MB |" \
	"processor us an unknown | bytes an unknown |"
echo "| --- | --- | --- | --- | --- | --- | --- |"
for n in "${sizes[@]}"; do
	if [ "$n" -gt 512 ] && [ "$spare" -gt 0 ] && [ "$spare" -lt 6000000 ]; then
		echo "bench: less than 6 GB of memory: N = $n is left out" >&2
		continue
	fi
	{ cat bench/programs/setup.dsl; echo "first_steps($n)"; } >"$scratch/setup.dsl"
	read -r wall busy bytes < <(
		XDG_CACHE_HOME="$scratch/$n" "$build/bench/run" --spent "$build/atled" \
			--threads "$threads" "$scratch/setup.dsl" 2>"$scratch/log"
	) || {
		cat "$scratch/log" >&2
		exit 1
	}
	awk -v n="$n" -v wall="$wall" -v busy="$busy" -v bytes="$bytes" 'BEGIN {
		m = 2 * n * n
		printf "| N = %d | %d | %.2f | %.2f | %.0f | %.3g | %.0f |\n", n, m, wall, busy, \
			bytes / 1e6, 1e6 * busy / m, bytes / m
	}'
done

{ cat bench/programs/triangles.dsl; echo "whole($h)"; } >"$scratch/triangles.dsl"
echo
echo "| Poisson, linear elements, h = $h | triangles | s | of the solution of the linear system |"
echo "| --- | --- | --- | --- |"
"$build/atled" --threads "$threads" "$scratch/triangles.dsl" | awk '
	{
		if ($5 > 1e-3) {
			print "bench: the elements written out and those of fem() differ by " $5 > "/dev/stderr"
			exit 1
		}
		printf "| the matrix from its triangles, with its pattern | %d | %.3f | %.2f |\n", \
			$1, $3, $3 / $4
		printf "| the linear system | | %.3f | 1 |\n", $4
		printf "| all of solve(..., fem()) | | %.3f | %.2f |\n", $2, $2 / $4
	}'
