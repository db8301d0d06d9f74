#!/usr/bin/env bash
# setup.sh - installer of the packages of the Python peers in bench/peers/venv.
#
# Use: bench/peers/setup.sh [PYTHON]
#
# The packages are those of requirements.txt. With the dependencies of PyTorch
# they take some minutes and several GB. `make bench` uses the environment if it
# exists; building and testing Atled never need it.
set -euo pipefail
cd "$(dirname "$0")"
python=${1:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
	echo "setup: $python is older than 3.11; name another one: bench/peers/setup.sh PYTHON" >&2
	exit 1
fi
"$python" -m venv venv
venv/bin/python -m pip install --quiet --upgrade pip
venv/bin/python -m pip install --quiet --requirement requirements.txt
venv/bin/python -c 'import os
os.environ["DDE_BACKEND"] = "pytorch"
import deepxde, diffrax, jax, numba, numpy, scipy, torch
print("peers: deepxde", deepxde.__version__, "diffrax", diffrax.__version__,
      "jax", jax.__version__, "numba", numba.__version__, "numpy", numpy.__version__,
      "scipy", scipy.__version__, "torch", torch.__version__)'
