#!/usr/bin/env bash
# fuzz.sh - lets each libFuzzer target explore, then compares the derivatives of new random programs in every mode.
# Use: scripts/check/fuzz.sh FOLDER RANDOM_PROGRAMS. Targets are in FOLDER/fuzz, kept inputs in tests/fuzz/corpus/NAME; new ones go to
# FOLDER/corpus/NAME, what fails to FOLDER/found/. An input worth keeping is copied to tests/fuzz/corpus/NAME, which `make check` replays.
# Targets that read programs start from those of the tree as well, one input for each paragraph, with their words as the dictionary.
#   FUZZ_SECONDS=60      how long each target explores, or
#   FUZZ_RUNS=1000000    how many inputs it is given
#   FUZZ_ONLY=WORD       only the targets whose names contain it, and no random programs
#   FUZZ_LENGTH=400      bytes of a program at most
#   FUZZ_TIMEOUT=10      seconds that one input may take; more where other work runs beside, since they are of the clock
# Then FUZZ_STATEMENTS (20000) random statements are solved by all methods (tests/statements).
# Of FUZZ_PROGRAMS (280000) random programs, with seeds from FUZZ_SEED (the time) on, 100,000 are compared in every mode; a seed that fails is
# printed, and `RANDOM_PROGRAMS --engine orders --brief --count 1 --shrink --seed N` shows what it is.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
build=$1 random=$2 failed=0 ran=0 only=${FUZZ_ONLY:-}
export ATLED_VERIFY=1 # each function of the IR is verified as it is built
programs=${FUZZ_PROGRAMS:-280000} first=${FUZZ_SEED:-$(date +%s)000}
extent=(-max_total_time="${FUZZ_SECONDS:-60}")
[ -z "${FUZZ_RUNS:-}" ] || extent=(-runs="$FUZZ_RUNS" -max_total_time="${FUZZ_SECONDS:-0}")

# The programs of the tree in paragraphs, each a file of FOLDER/seeds. A fuzzer joins what is in small pieces, and shortens large ones slowly.
seeds=$build/seeds
rm -rf "$seeds"
mkdir -p "$seeds" "$build/found"
awk -v to="$seeds" 'BEGIN { RS = "" } length($0) < 2000 { file = sprintf("%s/%05d.dsl", to, ++n); printf "%s\n", $0 > file; close(file) }' \
	tests/{language,derivatives,native,ode}/*.dsl tests/{errors,stdlib}/*/*.dsl examples/*.dsl stdlib/*/*.dsl stdlib/*/*/*.dsl
# the words and marks that they are made of, the commonest first; a mark is what stands between names, numbers and blanks
cat "$seeds"/*.dsl | sed 's/#.*//' | grep -oE '[[:alpha:]_][[:alnum:]_]*|[^][:alnum:][:space:]_"\\(){}[]+|[][(){}]' | sort | uniq -c | sort -rn |
	LC_ALL=C awk 'BEGIN { for (i = 128; i < 256; i++) hex[sprintf("%c", i)] = sprintf("\\x%02X", i) }
		$1 > 4 && length($2) < 24 {
			word = ""
			for (i = 1; i <= length($2); i++) { c = substr($2, i, 1); word = word (c in hex ? hex[c] : c) }
			printf "\"%s\"\n", word
		}' | head -n 900 >"$build/words"
# names of primitives and their attributes, for the text form of functions
grep -oE '"[a-z_0-9]+"' lang/ir/prims.def | sort -u >"$build/words_ir"
cat "$build/words" >>"$build/words_ir"

for target in "$build"/fuzz/*; do
	name=$(basename "$target") kept=tests/fuzz/corpus/$(basename "$target")
	if [ ! -f "$target" ] || [ ! -x "$target" ] || [[ $name != *"$only"* ]]; then continue; fi
	mkdir -p "$build/corpus/$name"
	folders=("$build/corpus/$name") more=()
	[ -d "$kept" ] && folders+=("$kept")
	case $name in
	parse | check | format)
		folders+=("$seeds")
		# short ones, which are quick; rare features are not weighed, which takes longer than checking a program
		more=(-dict="$build/words" -max_len="${FUZZ_LENGTH:-400}" -entropic=0)
		;;
	ir_text) more=(-dict="$build/words_ir" -max_len="${FUZZ_LENGTH:-1000}") ;;
	esac
	echo "== $name, ${extent[*]}"
	ran=$((ran + 1))
	"$target" "${extent[@]}" -timeout="${FUZZ_TIMEOUT:-10}" -rss_limit_mb=4096 -artifact_prefix="$build/found/$name-" -print_final_stats=1 "${more[@]}" \
		"${folders[@]}" || failed=$((failed + 1))
done
if [ -z "$only" ]; then
	echo "== derivatives of $programs random programs from seed $first on"
	ran=$((ran + 1))
	"$random" --engine orders --brief --jobs 0 --count "$programs" --seed "$first" --orders $((programs * 100 / 280)) || failed=$((failed + 1))
	echo "== ${FUZZ_STATEMENTS:-20000} random statements from seed $first on"
	ran=$((ran + 1))
	ATLED=build/atled python3 tests/statements/test_statements.py --count "${FUZZ_STATEMENTS:-20000}" --first "$first" --features --shrink || failed=$((failed + 1))
fi
echo "fuzz: $ran targets, $failed found a fault"
[ "$failed" -eq 0 ]
