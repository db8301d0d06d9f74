#!/usr/bin/env bash
# bench.sh - the benchmarks of bench/: Atled, hand-written C and peers.
#
# Use: scripts/bench/bench.sh FOLDER, the folder of a release build with
# bench/run
#
#   QUICK=1          small sizes; the peers only with PEERS=1
#   BENCH="a b"      only rows whose name contains one of the words
#   THREADS=2        threads of all sides
#   PEERS=0          without the peers
#
# - Atled and C run alternately, then the installed peers. Prints one table
#   (Markdown).
# - bench/peers/setup.sh installs the Python peers. LuaJIT, Lua 5.4 and Octave
#   are packages of the system. A missing peer is reported and skipped.
# - The comparison of the evaluator with Lua (bench_evaluator.sh) and the set-up
#   of large problems (bench_setup.sh) come last.
# - FOLDER/bench/results.json has the measurements, a line for each row and
#   side.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
build=${1:?folder of the build} failed=0
results=$build/bench/results.json
threads=${THREADS:-2} peers=${PEERS:-$((1 - ${QUICK:-0}))}
rows=(--threads "$threads") sides=(--threads "$threads") quick=()
if [ "${QUICK:-0}" = 1 ]; then rows+=(--quick) sides+=(--quick) quick=(--quick); fi
for word in ${BENCH:-}; do rows+=(--only "$word") sides+=(--only "$word"); done

unset OPENBLAS_CORETYPE # all sides must choose the kernels for this machine themselves

[ -x "$build/bench/run" ] || {
	echo "bench: $build/bench/run is not built; say make bench" >&2
	exit 2
}
echo "bench: Atled and C, by turns" >&2
"$build/bench/run" --json "${rows[@]}" >"$results" || failed=1

peer() { # NAME COMMAND...
	local name=$1
	shift
	if ! command -v "$1" >/dev/null; then
		echo "bench: $name is not installed: skipped" >&2
		return
	fi
	echo "bench: $name" >&2
	"$@" >>"$results" 2>"$build/bench/peer.log" || {
		echo "bench: $name failed:" >&2
		tail -n 3 "$build/bench/peer.log" >&2
	}
}
# the peers use as many threads as Atled
export PYTHONDONTWRITEBYTECODE=1
export OMP_NUM_THREADS=$threads OPENBLAS_NUM_THREADS=$threads MKL_NUM_THREADS=$threads
if [ "$peers" = 1 ]; then
	peer LuaJIT luajit bench/peers/scalar.lua "${quick[@]}"
	peer Octave octave-cli --no-init-file --no-window-system bench/peers/octave_peer.m "${quick[@]}"
	for name in numpy jax torch numba python; do
		peer "$name" bench/peers/venv/bin/python "bench/peers/${name}_peer.py" "${sides[@]}"
	done
fi

processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
echo
echo "$(uname -sm), ${processor:-unknown processor}, $(getconf _NPROCESSORS_ONLN) cores," \
	"$(date +%F)"
awk '
# Returns the value of a key in the line, without quotes.
function field(name,    at, rest) {
	at = index($0, "\"" name "\":")
	if (!at) return ""
	rest = substr($0, at + length(name) + 3)
	sub(/^ */, "", rest)
	if (substr(rest, 1, 1) == "\"") {
		rest = substr(rest, 2)
		return substr(rest, 1, index(rest, "\"") - 1)
	}
	match(rest, /^[^,}]*/)
	return substr(rest, 1, RLENGTH)
}
function ms(x) { return x == "" ? "" : (x + 0 < 100 ? sprintf("%.3g", x) : sprintf("%.0f", x)) }
/"machine":/ {
	printf "%s threads, %s-bit vectors; measured: ", field("threads"), field("vector_bits")
	printf "fused multiply-adds %.0f Gflop/s in f64, ", field("peak64") / 1e9
	printf "%.0f in f32, triad %.1f GB/s%s\n\n", field("peak32") / 1e9, \
		field("bandwidth") / 1e9, field("quick") == "true" ? "; small sizes" : ""
	next
}
/"title":/ {
	name = field("row")
	order[++n] = name
	title[name] = field("title")
	atled[name] = field("atled_ms")
	if (atled[name] == "") { text[name] = "failed |  |  |  | "; next }
	share = field("atled_of_peak")
	what = " of FMA peak"
	c_share = field("c_of_peak")
	if (share == "") {
		share = field("atled_of_bandwidth")
		what = " of triad"
		c_share = field("c_of_bandwidth")
	}
	if (field("others") + 0 > 0.1) {
		noisy++
		if (field("others") > worst) worst = field("others") + 0
	}
	text[name] = sprintf("%s | %s | %.2f (%.2f..%.2f)%s | %s | %s", ms(atled[name]), \
		ms(field("c_ms")), field("ratio"), field("low"), field("high"), \
		field("fine") == "true" ? "" : " **wrong**", field("goal"), \
		share == "" ? "" : sprintf("%.2f (C %.2f)%s", share, c_share, what))
	if (field("other") != "") {
		cell[name, field("other")] = field("other_ms")
		if (!seen[field("other")]++) column[++columns] = field("other")
	}
	next
}
/"peer":/ && /"ms":/ {
	name = field("row"); p = field("peer"); cell[name, p] = field("ms")
	if (!seen[p]++) column[++columns] = p
}
END {
	printf "| row | Atled ms | C ms | x C (smallest..largest) | goal | of the machine |"
	for (k = 1; k <= columns; k++) printf " %s ms (x Atled) |", column[k]
	printf "\n| --- | --- | --- | --- | --- | --- |"
	for (k = 1; k <= columns; k++) printf " --- |"
	printf "\n"
	for (i = 1; i <= n; i++) {
		name = order[i]
		printf "| %s | %s |", title[name], text[name]
		for (k = 1; k <= columns; k++) {
			c = cell[name, column[k]]
			printf(" %s |", c == "" ? "" : \
				atled[name] + 0 > 0 ? sprintf("%s (%.3g)", ms(c), c / atled[name]) : ms(c))
		}
		printf "\n"
	}
	if (noisy)
		printf "\nDuring %d of %d rows other programs used the processors (up to %.1f of them): " \
			"those figures are not to be relied on.\n", noisy, n, worst
}' "$results"
if [ "$peers" = 1 ] && [ -z "${BENCH:-}" ]; then
	echo
	scripts/bench/bench_evaluator.sh "$build" || failed=1
fi
if [ -z "${BENCH:-}" ]; then
	echo
	scripts/bench/bench_setup.sh "$build" || failed=1
fi
exit "$failed"
