#!/usr/bin/env bash
# work_precision.sh - measures how long each integrator takes for the error it gets, and draws docs/images/work_precision/*.png.
#
# Use: scripts/bench/work_precision.sh FOLDER         the folder of a release build in which bench/work_precision/run was built: measures, keeps docs/images/work_precision/work_precision.csv, draws
#      scripts/bench/work_precision.sh --draw ATLED   draws again from docs/images/work_precision/work_precision.csv, and prints the table of docs/reference/work_precision.md
#      PEERS=0                                  without SciPy and diffrax (bench/peers/setup.sh installs them); what is not there is skipped
# Machine code is made before anything is timed (ATLED_NATIVE=always), one thread is used, and the time is the processor's.
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
	export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
	for peer in scipy diffrax; do "$python" bench/peers/precision_peer.py "$peer" >>"$lines" || echo "work_precision: $peer failed" >&2; done
fi
{
	echo problem,side,method,rtol,ms,error
	sed 's/.*"problem": *"\([^"]*\)", *"side": *"\([^"]*\)", *"method": *"\([^"]*\)", *"rtol": *\([^,]*\), *"ms": *\([^,]*\), *"error": *\([^}]*\)}/\1,\2,\3,\4,\5,\6/' "$lines"
} >"$table"
"$build/atled" scripts/bench/work_precision.dsl
