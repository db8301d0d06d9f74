#!/usr/bin/env bash
# fuzz.sh - lets each libFuzzer target explore for FUZZ_SECONDS (60), then compares the derivatives of new random programs in every mode.
# Use: scripts/fuzz.sh FOLDER RANDOM_PROGRAMS. Targets are in FOLDER/fuzz, kept inputs in tests/fuzz/corpus/NAME; new ones go to
# FOLDER/corpus/NAME, what fails to FOLDER/found/. An input worth keeping is copied to tests/fuzz/corpus/NAME, which `make check` replays.
# Of FUZZ_PROGRAMS (280000) random programs, with seeds from FUZZ_SEED (the time) on, 100,000 are compared in every mode; a seed that fails is
# printed, and `RANDOM_PROGRAMS --engine orders --brief --count 1 --shrink --seed N` shows what it is.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
build=$1 random=$2 seconds=${FUZZ_SECONDS:-60} failed=0 ran=0
programs=${FUZZ_PROGRAMS:-280000} first=${FUZZ_SEED:-$(date +%s)000}

for target in "$build"/fuzz/*; do
	if [ ! -f "$target" ] || [ ! -x "$target" ]; then continue; fi
	name=$(basename "$target") kept=tests/fuzz/corpus/$(basename "$target")
	mkdir -p "$build/corpus/$name" "$build/found"
	folders=("$build/corpus/$name")
	[ -d "$kept" ] && folders+=("$kept")
	echo "== $name, $seconds s"
	ran=$((ran + 1))
	"$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -artifact_prefix="$build/found/$name-" -print_final_stats=1 \
		"${folders[@]}" || failed=$((failed + 1))
done
echo "== derivatives of $programs random programs from seed $first on"
ran=$((ran + 1))
"$random" --engine orders --brief --jobs 0 --count "$programs" --seed "$first" --orders $((programs * 100 / 280)) || failed=$((failed + 1))
echo "fuzz: $ran targets, $failed found a fault"
[ "$failed" -eq 0 ]
