#!/usr/bin/env bash
# fuzz.sh - fuzzing with libFuzzer, random programs and random problems.
#
# Use: scripts/check/fuzz.sh FOLDER RANDOM_PROGRAMS
#
# Method:
# - Each libFuzzer target of FOLDER/fuzz explores. It starts from the inputs of
#   tests/fuzz/corpus/NAME; new inputs go to FOLDER/corpus/NAME, failing ones to
#   FOLDER/found/. Copy an input worth keeping to tests/fuzz/corpus/NAME, which
#   `make check` replays.
# - Targets that read programs start from the programs of the tree as well, one
#   input for each paragraph, with their words as the dictionary.
# - The derivatives of random programs are compared in every mode. A failing
#   seed is printed; `RANDOM_PROGRAMS --engine orders --brief --count 1 --shrink
#   --seed N` shows its program.
# - Random problems are solved by all methods (tests/statements).
#
#   FUZZ_SECONDS=60        time for each target, or
#   FUZZ_RUNS=1000000      number of inputs for each target
#   FUZZ_ONLY=WORD         only targets with WORD in their names, and no random
#                          tests
#   FUZZ_LENGTH=400        maximum size of a program in bytes
#   FUZZ_TIMEOUT=10        time for one input, in seconds of wall-clock time;
#                          more is needed on a busy machine
#   FUZZ_PROGRAMS=280000   number of random programs; 100/280 of them must have
#                          been compared in every mode
#   FUZZ_SEED=N            first seed; the default depends on the time
#   FUZZ_STATEMENTS=20000  number of random problems
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
build=$1 random=$2 failed=0 ran=0 only=${FUZZ_ONLY:-}
export ATLED_VERIFY=1 # verify each function of the IR as it is built
programs=${FUZZ_PROGRAMS:-280000} first=${FUZZ_SEED:-$(date +%s)000}
extent=(-max_total_time="${FUZZ_SECONDS:-60}")
[ -z "${FUZZ_RUNS:-}" ] || extent=(-runs="$FUZZ_RUNS" -max_total_time="${FUZZ_SECONDS:-0}")

# Splits the programs of the tree into paragraphs, each a file of FOLDER/seeds.
# A fuzzer combines small inputs well, but shortens large ones slowly.
seeds=$build/seeds
rm -rf "$seeds"
mkdir -p "$seeds" "$build/found"
awk -v to="$seeds" '
	BEGIN { RS = "" }
	length($0) < 2000 {
		file = sprintf("%s/%05d.dsl", to, ++n)
		printf "%s\n", $0 > file
		close(file)
	}' \
	tests/{language,derivatives,native,ode}/*.dsl tests/{errors,stdlib}/*/*.dsl examples/*.dsl \
	stdlib/*/*.dsl stdlib/*/*/*.dsl
# Dictionary: their words and operators, the most frequent first. Operators are
# the characters between names, numbers and blanks.
cat "$seeds"/*.dsl | sed 's/#.*//' |
	grep -oE '[[:alpha:]_][[:alnum:]_]*|[^][:alnum:][:space:]_"\\(){}[]+|[][(){}]' |
	sort | uniq -c | sort -rn |
	LC_ALL=C awk '
		BEGIN { for (i = 128; i < 256; i++) hex[sprintf("%c", i)] = sprintf("\\x%02X", i) }
		$1 > 4 && length($2) < 24 {
			word = ""
			for (i = 1; i <= length($2); i++) {
				c = substr($2, i, 1)
				word = word (c in hex ? hex[c] : c)
			}
			printf "\"%s\"\n", word
		}' | head -n 900 >"$build/words"
# dictionary of the IR's text form: names of primitives and their attributes
grep -oE '"[a-z_0-9]+"' lang/ir/prims.def | sort -u >"$build/words_ir"
cat "$build/words" >>"$build/words_ir"

for target in "$build"/fuzz/*; do
	name=$(basename "$target") kept=tests/fuzz/corpus/$(basename "$target")
	if [ ! -f "$target" ] || [ ! -x "$target" ] || [[ $name != *"$only"* ]]; then continue; fi
	mkdir -p "$build/corpus/$name"
	folders=("$build/corpus/$name") more=()
	[ -d "$kept" ] && folders+=("$kept")
	case $name in
	parse | check | format | run)
		folders+=("$seeds")
		# Short inputs are fast. Entropic weighting of rare features is off: it
		# takes longer than checking a program.
		more=(-dict="$build/words" -max_len="${FUZZ_LENGTH:-400}" -entropic=0)
		;;
	calls | line) more=(-max_len="${FUZZ_LENGTH:-400}" -entropic=0) ;;
	ir_text) more=(-dict="$build/words_ir" -max_len="${FUZZ_LENGTH:-1000}") ;;
	esac
	echo "== $name, ${extent[*]}"
	ran=$((ran + 1))
	"$target" "${extent[@]}" -timeout="${FUZZ_TIMEOUT:-10}" -rss_limit_mb=4096 \
		-artifact_prefix="$build/found/$name-" -print_final_stats=1 "${more[@]}" \
		"${folders[@]}" || failed=$((failed + 1))
done
if [ -z "$only" ]; then
	echo "== derivatives of $programs random programs from seed $first on"
	ran=$((ran + 1))
	"$random" --engine orders --brief --jobs 0 --count "$programs" --seed "$first" \
		--orders $((programs * 100 / 280)) || failed=$((failed + 1))
	echo "== ${FUZZ_STATEMENTS:-20000} random statements from seed $first on"
	ran=$((ran + 1))
	ATLED=build/atled python3 tests/statements/test_statements.py \
		--count "${FUZZ_STATEMENTS:-20000}" --first "$first" --features --shrink ||
		failed=$((failed + 1))
fi
echo "fuzz: $ran targets, $failed found a fault"
[ "$failed" -eq 0 ]
