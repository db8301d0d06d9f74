#!/usr/bin/env bash
# run_all.sh - runner of all tests. `make check` calls it.
#
# Use: tests/run_all.sh KIND FOLDER
#
# KIND is the kind of build (check, asan, tsan, stress, polls), FOLDER its
# folder.
#
#   LONG=yes           also every form of every test, and the files marked for
#                      long checks (`make check-long`)
#   BUILT=no           the build failed; this is one failure, and no test runs
#                      unless KEEP_GOING is set
#   TESTS=words        only tests whose label contains one of the words
#   RANDOM_COUNT=1000  number of random programs
#   STATEMENTS=300     number of random problems
#   TEST_SECONDS=120   time limit of a program; larger for tests that compile
#                      much, sanitized builds and slow machines
#   ATLED_PACE=100     run time relative to the machine of
#                      docs/reference/performance.md, in percent; default:
#                      measured
#   TEST_JOBS=2        number of concurrent tests; default: the processors. The
#                      tests in `alone` run by themselves.
#
# Contract:
# - A test ends with the line "N passed, N failed" (", N skipped" may follow),
#   or its exit status counts (examples).
# - A test that crashes, exceeds its time or prints no such line is one failure.
# - Missing programs are not run.
# - The last line is the sum, which is also written to FOLDER/summary. The exit
#   status is 0 when nothing failed.
# - Results are printed in the order of this file, though tests run
#   concurrently.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
kind=$1 build=$2
passed=0 failed=0 skipped=0 failures=()

finish() {
	if [ ${#failures[@]} -gt 0 ]; then printf '\nfailed:\n'; printf '  %s\n' "${failures[@]}"; fi
	printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped" |
		tee "$build/summary"
	[ "$failed" -eq 0 ]
	exit
}

# The tests have their own home, so that no user's history or settings are used.
mkdir -p "$build/log" "$build/home"
export ATLED_VERIFY=1 # verify each function of the IR as it is built
export HOME=$PWD/$build/home ATLED=$PWD/$build/atled ATLED_BUILD=$PWD/$build ATLED_KIND=$kind
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1}
# At its end atled does not join the threads of the compiler and of library
# calls abandoned by ^C.
export TSAN_OPTIONS=${TSAN_OPTIONS:-report_thread_leaks=0:allocator_may_return_null=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
# All kinds of build share the code generator; the code cache is in the build
# folder.
export ATLED_CODEGEN=${ATLED_CODEGEN:-$PWD/build/libatled-codegen.so} ATLED_CACHE=$PWD/$build/cache
unset MAKEFLAGS MAKELEVEL MFLAGS XDG_CONFIG_HOME XDG_STATE_HOME XDG_DATA_HOME XDG_CACHE_HOME
case $kind in asan | polls | coverage) slower=4 ;; tsan | stress) slower=10 ;; *) slower=1 ;; esac
# This loop takes 100 ms of processor time on the reference machine. The shell's
# interpreter and the evaluator scale similarly between machines. The minimum of
# five measurements excludes the effect of other work.
loop() {
	local i TIMEFORMAT=%U
	time for ((i = 0; i < 100000; i++)); do :; done
}
if [ -z "${ATLED_PACE:-}" ]; then
	ATLED_PACE=$(for _ in 1 2 3 4 5; do loop 2>&1; done | tr , . | sort -n |
		awk 'NR == 1 { printf "%d", $1 < 0.1 ? 100 : 1000 * $1 }')
fi
export ATLED_PACE
limit=$((${TEST_SECONDS:-120} * slower * ATLED_PACE / 100))

count_failure() { # LABEL WHY
	failed=$((failed + 1))
	failures+=("$1: $2")
}

if [ "${BUILT:-yes}" = no ]; then
	count_failure build 'it did not build; the compiler says why above'
	[ -n "${KEEP_GOING:-}" ] || finish
fi

# Tests that depend on the clock or a terminal, and would fail beside others;
# and random programs, which use all processors themselves. They run first, so
# that the processors idle only once.
alone=' unit/api/test_api_limits unit/native/test_compile_service unit/native/test_tiers'
alone+=' unit/base/test_thread_pool unit/repl/test_edit unit/base/test_interrupt'
alone+=' unit/repl/test_prompt cli/test_program.sh random/programs random/guarded '
jobs=${TEST_JOBS:-$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)}

# The started tests, in order: label, kind of count, process. The first
# `reported` of them have been reported.
labels=() hows=() processes=() reported=0
trap 'kill "${processes[@]:reported}" 2>/dev/null; exit 130' INT TERM

# Runs a command and writes its exit status and run time in seconds to LOG.end.
# A signal to end this process ends the command, too.
run_one() { # LOG SECONDS COMMAND...
	local log=$1 seconds=$2 start=$SECONDS status command
	shift 2
	timeout -k 5 "$seconds" "$@" >"$log" 2>&1 </dev/null &
	command=$!
	trap 'kill "$command"' INT TERM
	wait "$command"
	status=$?
	echo "$status $((SECONDS - start))" >"$log.end"
}

is_wanted() { # LABEL
	local word
	[ -n "${TESTS:-}" ] || return 0
	for word in $TESTS; do [[ $1 != *"$word"* ]] || return 0; done
	return 1
}

# run HOW LABEL SECONDS COMMAND... HOW is counts (the command prints a summary
# line) or status (it is one test). Starts the command when a job is free. Its
# result is reported after those of the commands before it.
run() {
	local how=$1 label=$2 seconds=$3 log most=$jobs
	shift 3
	is_wanted "$label" || return
	case $alone in
	*" $label "*)
		[ "$turn" = alone ] || return
		most=1
		;;
	*) [ "$turn" = beside ] || return ;;
	esac
	make_room $((most - 1))
	log=$build/log/${label//\//_}.log
	rm -f "$log.end"
	run_one "$log" "$seconds" "$@" 2>/dev/null & # hides the shell's messages about signals
	labels+=("$label") hows+=("$how") processes+=("$!")
	if [ "$most" -eq 1 ]; then make_room 0; fi
}

# Waits until at most MOST tests run. Reports finished tests, up to the first
# that still runs.
make_room() { # MOST
	local running
	while :; do
		running=" $(jobs -pr | tr '\n' ' ')"
		while [ "$reported" -lt ${#labels[@]} ] &&
			[[ $running != *" ${processes[reported]} "* ]]; do
			report "${hows[reported]}" "${labels[reported]}"
			reported=$((reported + 1))
		done
		[ "$(wc -w <<<"$running")" -gt "$1" ] || return 0
		wait -n 2>/dev/null
	done
}

# Prints the result of a finished test, and its output if something failed.
report() { # HOW LABEL
	local how=$1 label=$2 log status took summary p f s why=''
	log=$build/log/${label//\//_}.log
	read -r status took 2>/dev/null <"$log.end" || status=255 took=0 # its shell was killed
	rm -f "$log.end"
	p=0 f=0 s=0
	case $status in
	124 | 137) why="stopped after $took s" ;;
	*) [ "$status" -lt 128 ] || why="ended by signal $((status - 128))" ;;
	esac
	if [ "$how" = status ]; then
		if [ "$status" -eq 0 ]; then p=1; else f=1 why=${why:-exit status $status}; fi
	else
		summary=$(grep -aE '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' "$log" | tail -n 1)
		if [ -n "$summary" ]; then
			read -r p f s _ <<<"$(tr -cs 0-9 ' ' <<<"$summary") 0"
			if [ "$f" -gt 0 ]; then why=${why:+$why, }"$f failed"; fi
			if [ "$f" -eq 0 ] && [ "$status" -ne 0 ]; then
				f=1 why=${why:-"exit status $status, though nothing failed"}
			fi
			if [ $((p + f + s)) -eq 0 ]; then f=1 why='it tested nothing'; fi
		else
			f=1 why=${why:-"exit status $status, no summary line"}
		fi
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	printf '%-6s %-42s %6d passed%s %4d s\n' \
		"$([ "$f" -eq 0 ] && echo ok || echo FAILED)" "$label" "$p" \
		"$([ "$s" -eq 0 ] || printf ', %d skipped' "$s")" "$took"
	if [ "$f" -gt 0 ]; then
		failures+=("$label: $why")
		tail -n "${TEST_LINES:-200}" "$log" | sed 's/^/       | /'
	else
		grep -aiE '^ *skip' "$log" | sed 's/^/       | /'
	fi
}

shopt -s nullglob

long=${LONG:+yes}

every_test() {
	run counts layers 60 scripts/check/layers.sh
	run counts layers-self-test 60 scripts/check/layers.sh --self-test
	run counts tree 60 scripts/check/tree.py
	run counts tree-self-test 60 scripts/check/tree.py --self-test
	for source in tests/unit/*/test_*.c; do
		name=${source#tests/}
		run counts "${name%.c}" $((limit * 2)) "$build/tests/$(basename "$source" .c)"
	done
	for source in tests/fuzz/*.c; do
		name=$(basename "$source" .c)
		[ "$name" = replay ] || run counts "fuzz/$name" "$limit" \
			"$build/tests/replay_$name" "tests/fuzz/corpus/$name"
	done
	# The time goes into compiling each program in a dozen forms. For at least a
	# tenth of the programs, first and second derivatives must have been
	# compared in every mode.
	programs=600
	[ -z "$long" ] || programs=20000
	[ "$slower" -eq 1 ] || programs=100
	programs=${RANDOM_COUNT:-$programs}
	# without the code cache, since this code is never used again
	run counts random/programs $((limit * 20)) \
		env ATLED_CACHE=off "$build/tests/random_programs" --brief --jobs 0 \
		--count "$programs" --orders $((programs / 10))
	# with inaccessible guard pages after arrays
	[ "$slower" -gt 1 ] || run counts random/guarded $((limit * 20)) \
		env ATLED_CACHE=off "$build/tests/random_programs" --brief --guarded --jobs 0 \
		--seed 1000000 --count $((programs / 6))
	run counts random/self-test "$limit" "$build/tests/random_programs" --self-test --count 50
	# library functions with arguments that make no sense
	calls=4
	[ -z "$long" ] || calls=100
	mkdir -p "$build/run/calls"
	run counts calls $((limit * 5)) env -C "$build/run/calls" "$PWD/$build/tests/library_calls" \
		--page "$PWD/docs/reference/library.md" --count "$calls" --jobs 0 --slower "$slower"
	# many contexts at work; interrupts come by the clock
	run counts soak "$limit" "$build/tests/soak_test" --seconds $((5 * slower))
	# failing allocations, interrupts and system calls at random places of
	# programs
	places=6
	[ -z "$long" ] || places=300
	[ "$slower" -eq 1 ] || places=3
	run counts faults $((limit * 5)) "$build/tests/fault_test" --count "$places" --seconds 0.02 \
		tests/{language,native}/[!_]*.dsl tests/errors/{files,limits}/*.dsl
	run counts faults/io $((limit * 5)) "$build/tests/fault_test" --io --count $((places * 5)) \
		tests/io/[!_]*.dsl
	local corpus=(tests/language tests/derivatives tests/native)
	# every folder of scripts: as a user runs them, and with all functions
	# compiled
	for folder in $(printf '%s\n' tests/*/*.dsl tests/*/*/*.dsl | grep -v ^tests/fuzz/ |
		xargs -r -n 1 dirname | sort -u); do
		# programs that must fail must do so quickly: no unsolvable problem may
		# hang a solver
		budget=()
		[[ $folder != tests/errors/* ]] || budget=(--time-limit=$((limit / 4)))
		# each of these files takes seconds of solver time: separate runs
		# balance the load and respect the time limit
		groups=("$folder")
		case $folder in tests/pde/* | tests/ode) groups=("$folder"/[!_]*.dsl) ;; esac
		for group in "${groups[@]}"; do
			files=("$group")
			[ -f "$group" ] || files=("$group"/[!_]*.dsl)
			[ -n "$long" ] || mapfile -t files < <(grep -L 'In a long check only' "${files[@]}")
			[ ${#files[@]} -gt 0 ] || continue
			run counts "${group%.dsl}" $((limit * 3)) "$ATLED" "${budget[@]}" test "${files[@]}"
			# The run above compiles frequently used functions. Compiling all
			# functions is slow; without LONG, only the corpus is run so: it has
			# every kind of code.
			[ -n "$long" ] || [[ " ${corpus[*]} " = *" $folder "* ]] || continue
			# files where compiling every function would take long are marked
			mapfile -t scripts < <(grep -L 'As users run it only' "${files[@]}")
			[ ${#scripts[@]} -eq 0 ] || run counts "${group%.dsl}-native" $((limit * 3)) \
				env ATLED_NATIVE=always "$ATLED" "${budget[@]}" test "${scripts[@]}"
		done
	done
	# Code with the lanes, registers and masks of other machines, in
	# instructions of this one; and on x86-64 for a machine with SSE2 only. Each
	# target gets its share of the corpus, with LONG all of it.
	files=()
	for folder in "${corpus[@]}"; do files+=("$folder"/[!_]*.dsl); done
	mapfile -t scripts < <(grep -L 'Compiled for this machine only' "${files[@]}")
	local targets=(v4-shape neon-shape scalar-shape x86-64) share
	for target in "${!targets[@]}"; do
		[ "$kind" = check ] || break
		[ "${targets[target]}" != x86-64 ] || [ "$(uname -m)" = x86_64 ] || continue
		share=()
		for ((i = 0; i < ${#scripts[@]}; i++)); do
			[ -z "$long" ] && [ $((i % ${#targets[@]})) -ne "$target" ] || share+=("${scripts[i]}")
		done
		run counts "corpus-${targets[target]}" $((limit * 3)) \
			env ATLED_NATIVE=always ATLED_TARGET="${targets[target]}" "$ATLED" test "${share[@]}"
	done
	if grep -rqE '^ *```dsl' README.md docs 2>/dev/null; then
		# in separate folders, since some examples write files
		mkdir -p "$build/run/docs" "$build/run/docs-native"
		run counts docs $((limit * 3)) \
			env -C "$build/run/docs" "$ATLED" test --docs "$PWD/README.md" "$PWD/docs"
		[ -z "$long" ] || mapfile -t pages < <(
			grep -L 'As users run it only' "$PWD"/README.md "$PWD"/docs/*/*.md
		)
		[ -z "$long" ] || run counts docs-native $((limit * 3)) \
			env -C "$build/run/docs-native" ATLED_NATIVE=always "$ATLED" test --docs "${pages[@]}"
	fi
	# scripts that test the program with a terminal, pipes, signals
	for script in tests/*/test_*.sh tests/*/test_*.py; do
		case $script in
		tests/statements/*)
			# The methods are tested here, not their machine code.
			statements=200 brief=(--brief) limits=8 native=off
			[ -z "$long" ] || statements=3000 brief=() limits=80 native=
			[ "$slower" -eq 1 ] || statements=10
			run counts "${script#tests/}" $((limit * limits)) env ATLED_NATIVE="$native" \
				python3 "$script" --count "${STATEMENTS:-$statements}" "${brief[@]}"
			;;
		tests/cli/test_hostile.py) # a third of the programs, with LONG all
			run counts "${script#tests/}" $((limit * 5)) \
				python3 "$script" --jobs 1 --every "$([ -n "$long" ] && echo 1 || echo 3)"
			;;
		*.py) run counts "${script#tests/}" "$limit" python3 "$script" ;;
		# it builds a copy of the tree
		tests/tree/test_primitive.sh) run counts "${script#tests/}" $((limit * 5)) "$script" ;;
		*) run counts "${script#tests/}" "$limit" "$script" ;;
		esac
	done
	for example in examples/*.dsl; do
		name=$(basename "$example" .dsl)
		rm -rf "$build/run/$name"
		mkdir -p "$build/run/$name"
		# shellcheck disable=SC2016 # the inner shell expands these
		run status "examples/$name.dsl" "$limit" bash -c 'cd "$1" && exec "$2" "$3"' \
			run "$build/run/$name" "$ATLED" "$PWD/$example"
	done
	# the problems of the gallery with all their methods; without LONG, an
	# eighth
	local gallery=(examples/pde/*.dsl)
	for ((i = 0; i < ${#gallery[@]}; i++)); do
		[ -n "$long" ] || [ $((i % 8)) -eq 7 ] || continue
		example=${gallery[i]}
		run counts "gallery/$(basename "$example" .dsl)" "$limit" \
			tests/pde/gallery.sh "$example" "$build/run/gallery"
	done
	for example in examples/*.c; do
		run status "$example" "$limit" "$build/examples/$(basename "$example" .c)"
	done
	if [ "$kind" = check ] && [ -f include/atled.h ]; then
		run counts library 300 scripts/check/installed_library.sh build
		run counts abi 60 scripts/check/abi.py build/libatled.so
		run counts library-page 60 scripts/docs/library_page.py --check
		run counts comparison-page 60 scripts/docs/comparison_page.sh --check
		run counts gallery-page 60 scripts/docs/gallery_page.sh --check
		run counts grammar-page 60 scripts/docs/grammar_page.sh --check
		run counts derivatives-page 60 scripts/docs/derivatives_page.sh --check
		run counts special-page 60 scripts/docs/special_page.sh --check
		run counts install 300 tests/install_test.sh build
	fi
}

for turn in alone beside; do every_test; done
make_room 0

if [ $((passed + failed + skipped)) -eq 0 ]; then
	count_failure tests "there were none${TESTS:+ with one of \"$TESTS\" in their label}"
fi
finish
