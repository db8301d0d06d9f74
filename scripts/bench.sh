#!/usr/bin/env bash
# bench.sh - runs the measurements: every bench/*.dsl through `atled bench`, then every program built from bench/*.c.
# Use: scripts/bench.sh FOLDER, the folder of a release build. BENCH=word runs only those whose name contains the word.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
build=$1 failed=0

measure() { # NAME COMMAND...
	local name=$1
	shift
	case $name in *"${BENCH:-}"*) ;; *) return ;; esac
	echo "== $name"
	"$@" || { echo "bench: $name failed" >&2; failed=1; }
}

echo "$(uname -sm), $(getconf _NPROCESSORS_ONLN) processors, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)"
for f in bench/*.dsl; do
	if [ -e "$f" ]; then measure "$f" "$build/atled" bench "$f"; fi
done
for f in bench/*.c; do
	if [ -e "$f" ]; then measure "$f" "$build/bench/$(basename "$f" .c)"; fi
done
exit "$failed"
