#!/usr/bin/env bash
# work_precision.sh - work-precision diagrams of the integrators.
#
# Use: scripts/bench/work_precision.sh FOLDER
#          measures, writes work_precision.csv and the pictures; FOLDER is the
#          folder of a release build with bench/work_precision/run
#      scripts/bench/work_precision.sh --draw ATLED
#          draws the pictures from the present work_precision.csv, and prints
#          the table of docs/reference/work_precision.md
#      PEERS=0
#          without SciPy and diffrax, which bench/peers/setup.sh installs;
#          missing peers are skipped
#
# The files are in docs/images/work_precision. Machine code is compiled before
# the timing (ATLED_NATIVE=always). All sides use one thread; the time is
# processor time.
set -euo pipefail
cd "$(dirname "$0")/../.."
table=docs/images/work_precision/work_precision.csv

if [ "${1:?folder of the build, or --draw}" = --draw ]; then
	exec "${2:?the atled program}" scripts/bench/work_precision.dsl
fi
build=$1 lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
ATLED_NATIVE=always "$build/bench/work_precision/run" >"$lines"
python=bench/peers/venv/bin/python
if [ "${PEERS:-1}" = 1 ] && [ -x "$python" ]; then
	export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
	export XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
	for peer in scipy diffrax; do
		"$python" bench/peers/precision_peer.py "$peer" >>"$lines" ||
			echo "work_precision: $peer failed" >&2
	done
fi
{
	echo problem,side,method,rtol,ms,error
	sed 's/.*"problem": *"\([^"]*\)", *"side": *"\([^"]*\)", *"method": *"\([^"]*\)", '\
'*"rtol": *\([^,]*\), *"ms": *\([^,]*\), *"error": *\([^}]*\)}/\1,\2,\3,\4,\5,\6/' "$lines"
} >"$table"
"$build/atled" scripts/bench/work_precision.dsl
