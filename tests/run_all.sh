#!/usr/bin/env bash
# run_all.sh - runs every test there is and adds up what they say. `make check` calls it.
#
# Use: tests/run_all.sh KIND FOLDER, with the kind of build (check, asan, tsan, stress) and its folder.
#   LONG=yes         what takes longer, too: every form of every test, and the files that say so. `make check-long`
#   BUILT=no         the build failed: that is one failure, and unless KEEP_GOING is set nothing else is tried
#   TESTS=words      only what has one of the words in its label
#   RANDOM_COUNT=1000 how many random programs, STATEMENTS=300 how many random statements of problems
#   TEST_SECONDS=120 the time one program may take, those that compile much two or three times that;
#                    the sanitized builds get more, and so do slower machines
#   ATLED_PACE=100   what this machine takes beside that of docs/reference/performance.md, in percent; measured
#   TEST_JOBS=2      how many run at a time, the processors when not given; those in `alone` below run by themselves
#
# Each program ends with a line "N passed, N failed" (", N skipped" may follow), or is counted by its exit status where its author is not
# ours to ask (the examples). One that crashes, runs out of time or says nothing is one failure. What is not there is not run. The last
# line here is the sum, the exit status says whether nothing failed, and FOLDER/summary keeps the line. Several may run at once, but the lines come
# in the order that is written here.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
kind=$1 build=$2
passed=0 failed=0 skipped=0 failures=()

finish() {
	if [ ${#failures[@]} -gt 0 ]; then printf '\nfailed:\n'; printf '  %s\n' "${failures[@]}"; fi
	printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped" | tee "$build/summary"
	[ "$failed" -eq 0 ]
	exit
}

# The tests have a home of their own, so that nobody's history or settings are read or written.
mkdir -p "$build/log" "$build/home"
export ATLED_VERIFY=1 # the library checks each function of the IR that it builds
export HOME=$PWD/$build/home ATLED=$PWD/$build/atled ATLED_BUILD=$PWD/$build ATLED_KIND=$kind
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1}
# atled does not wait at its end for the compiler, nor then for calls of libraries that ^C left behind: their threads are not joined
export TSAN_OPTIONS=${TSAN_OPTIONS:-report_thread_leaks=0}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
# the code generator is LLVM and the same for all kinds of build; compiled code is kept with the build
export ATLED_CODEGEN=${ATLED_CODEGEN:-$PWD/build/libatled-codegen.so} ATLED_CACHE=$PWD/$build/cache
unset MAKEFLAGS MAKELEVEL MFLAGS XDG_CONFIG_HOME XDG_STATE_HOME XDG_DATA_HOME XDG_CACHE_HOME
case $kind in asan) slower=4 ;; tsan | stress) slower=10 ;; *) slower=1 ;; esac
# A loop of this shell takes 100 ms of that machine's processor. Its interpreter and the evaluator slow
# down alike from machine to machine. The shortest of five counts, so that other work does not.
loop() {
	local i TIMEFORMAT=%U
	time for ((i = 0; i < 100000; i++)); do :; done
}
if [ -z "${ATLED_PACE:-}" ]; then
	ATLED_PACE=$(for _ in 1 2 3 4 5; do loop 2>&1; done | tr , . | sort -n | awk 'NR == 1 { printf "%d", $1 < 0.1 ? 100 : 1000 * $1 }')
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

# Those that look at the clock or drive a terminal: what runs beside them could make them fail. The random programs share the processors out themselves. They go first, so
# that processors wait for each other once.
alone=' unit/api/test_api unit/native/test_compile_service unit/native/test_tiers unit/base/test_thread_pool unit/repl/test_edit unit/base/test_interrupt unit/repl/test_prompt cli/test_program.sh random/programs random/guarded '
jobs=${TEST_JOBS:-$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)}

# What was started, in order: label, how it is counted, its process. The first `reported` of them have had their lines.
labels=() hows=() processes=() reported=0
trap 'kill "${processes[@]:reported}" 2>/dev/null; exit 130' INT TERM

# Runs a command and writes beside its log how it ended and after how many seconds; when told to end, so is the command.
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

# run HOW LABEL SECONDS COMMAND...   HOW: counts (it prints a summary line) or status (it is one test)
# Starts a command once there is room for it; its line comes when those before it have theirs.
run() {
	local how=$1 label=$2 seconds=$3 log most=$jobs
	shift 3
	is_wanted "$label" || return
	case $alone in *" $label "*) [ "$turn" = alone ] || return; most=1 ;; *) [ "$turn" = beside ] || return ;; esac
	make_room $((most - 1))
	log=$build/log/${label//\//_}.log
	rm -f "$log.end"
	run_one "$log" "$seconds" "$@" 2>/dev/null & # the shell need not tell of signals
	labels+=("$label") hows+=("$how") processes+=("$!")
	if [ "$most" -eq 1 ]; then make_room 0; fi
}

# Waits until no more than so many run, and prints the lines of those that have ended, up to the first that has not.
make_room() { # MOST
	local running
	while :; do
		running=" $(jobs -pr | tr '\n' ' ')"
		while [ "$reported" -lt ${#labels[@]} ] && [[ $running != *" ${processes[reported]} "* ]]; do
			report "${hows[reported]}" "${labels[reported]}"
			reported=$((reported + 1))
		done
		[ "$(wc -w <<<"$running")" -gt "$1" ] || return 0
		wait -n 2>/dev/null
	done
}

# A line about one that has ended, and all of its output if something failed.
report() { # HOW LABEL
	local how=$1 label=$2 log status took summary p f s why=''
	log=$build/log/${label//\//_}.log
	read -r status took 2>/dev/null <"$log.end" || status=255 took=0 # its shell was ended
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
			if [ "$f" -eq 0 ] && [ "$status" -ne 0 ]; then f=1 why=${why:-"exit status $status, though nothing failed"}; fi
			if [ $((p + f + s)) -eq 0 ]; then f=1 why='it tested nothing'; fi
		else
			f=1 why=${why:-"exit status $status, no summary line"}
		fi
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	printf '%-6s %-42s %6d passed%s %4d s\n' "$([ "$f" -eq 0 ] && echo ok || echo FAILED)" "$label" "$p" \
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
	run counts rooms 60 scripts/check/layers.sh
	run counts rooms-self-test 60 scripts/check/layers.sh --self-test
	for source in tests/unit/*/test_*.c; do
		name=${source#tests/}
		run counts "${name%.c}" $((limit * 2)) "$build/tests/$(basename "$source" .c)"
	done
	for source in tests/fuzz/*.c; do
		name=$(basename "$source" .c)
		[ "$name" = replay ] || run counts "fuzz/$name" "$limit" "$build/tests/replay_$name" "tests/fuzz/corpus/$name"
	done
	# each program is compiled in a dozen forms, which is what takes the time: most are brief, and all processors take part
	# of a tenth at least the derivatives of first and second order must have been compared in every mode
	programs=600
	[ -z "$long" ] || programs=20000
	[ "$slower" -eq 1 ] || programs=100
	programs=${RANDOM_COUNT:-$programs}
	# their code is not kept: nobody asks for it again
	run counts random/programs $((limit * 20)) env ATLED_CACHE=off "$build/tests/random_programs" --brief --jobs 0 --count "$programs" --orders $((programs / 10))
	# and some with memory behind arrays that nobody may read
	[ "$slower" -gt 1 ] || run counts random/guarded $((limit * 20)) env ATLED_CACHE=off "$build/tests/random_programs" --brief --guarded --jobs 0 --seed 1000000 --count $((programs / 6))
	run counts random/self-test "$limit" "$build/tests/random_programs" --self-test --count 50
	local corpus=(tests/language tests/derivatives tests/native)
	# every folder of scripts, so that none is forgotten: as a user runs them, and with all functions compiled
	for folder in $(printf '%s\n' tests/*/*.dsl tests/*/*/*.dsl | grep -v ^tests/fuzz/ | xargs -r -n 1 dirname | sort -u); do
		# what must fail must do so soon, each program for itself: nothing that a solver cannot do may hang it
		budget=()
		[[ $folder != tests/errors/* ]] || budget=(--time-limit=$((limit / 4)))
		# solvers are at work for seconds in each file: by themselves, so that all processors have something to do and none runs out of time
		groups=("$folder")
		case $folder in tests/pde/* | tests/ode) groups=("$folder"/[!_]*.dsl) ;; esac
		for group in "${groups[@]}"; do
			files=("$group")
			[ -f "$group" ] || files=("$group"/[!_]*.dsl)
			[ -n "$long" ] || mapfile -t files < <(grep -L 'In a long check only' "${files[@]}")
			[ ${#files[@]} -gt 0 ] || continue
			run counts "${group%.dsl}" $((limit * 3)) "$ATLED" "${budget[@]}" test "${files[@]}"
			# what runs often is compiled above, too; all of it is many functions that run once. Three folders have every kind of code.
			[ -n "$long" ] || [[ " ${corpus[*]} " = *" $folder "* ]] || continue
			# where compiling every function would take long the file says so
			mapfile -t scripts < <(grep -L 'As users run it only' "${files[@]}")
			[ ${#scripts[@]} -eq 0 ] || run counts "${group%.dsl}-native" $((limit * 3)) env ATLED_NATIVE=always "$ATLED" "${budget[@]}" test "${scripts[@]}"
		done
	done
	# code for the lanes, registers and masks of machines that are not at hand, in this one's instructions, and on x86-64 for a machine with SSE2 alone
	# each takes its share of these folders, and all of them in a long check
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
		run counts "corpus-${targets[target]}" $((limit * 3)) env ATLED_NATIVE=always ATLED_TARGET="${targets[target]}" "$ATLED" test "${share[@]}"
	done
	if grep -rqE '^ *```dsl' README.md docs 2>/dev/null; then
		# in folders of their own: some examples write files
		mkdir -p "$build/run/docs" "$build/run/docs-native"
		run counts docs $((limit * 3)) env -C "$build/run/docs" "$ATLED" test --docs "$PWD/README.md" "$PWD/docs"
		[ -z "$long" ] || mapfile -t pages < <(grep -L 'As users run it only' "$PWD"/README.md "$PWD"/docs/*/*.md)
		[ -z "$long" ] || run counts docs-native $((limit * 3)) env -C "$build/run/docs-native" ATLED_NATIVE=always "$ATLED" test --docs "${pages[@]}"
	fi
	# scripts that drive the program: a terminal, pipes, signals
	for script in tests/*/test_*.sh tests/*/test_*.py; do
		case $script in
		tests/statements/*)
			statements=300 brief=(--brief) limits=8
			[ -z "$long" ] || statements=3000 brief=() limits=80
			[ "$slower" -eq 1 ] || statements=10
			run counts "${script#tests/}" $((limit * limits)) python3 "$script" --count "${STATEMENTS:-$statements}" "${brief[@]}"
			;;
		*.py) run counts "${script#tests/}" "$limit" python3 "$script" ;;
		tests/tree/test_primitive.sh) run counts "${script#tests/}" $((limit * 5)) "$script" ;; # it builds
		*) run counts "${script#tests/}" "$limit" "$script" ;;
		esac
	done
	for example in examples/*.dsl; do
		name=$(basename "$example" .dsl)
		rm -rf "$build/run/$name"
		mkdir -p "$build/run/$name"
		# shellcheck disable=SC2016 # the inner shell expands these
		run status "examples/$name.dsl" "$limit" bash -c 'cd "$1" && exec "$2" "$3"' run "$build/run/$name" "$ATLED" "$PWD/$example"
	done
	# each problem of the gallery, by all of its methods; an eighth of them where time is short
	local gallery=(examples/pde/*.dsl)
	for ((i = 0; i < ${#gallery[@]}; i++)); do
		[ -n "$long" ] || [ $((i % 8)) -eq 7 ] || continue
		example=${gallery[i]}
		run counts "gallery/$(basename "$example" .dsl)" "$limit" tests/pde/gallery.sh "$example" "$build/run/gallery"
	done
	for example in examples/*.c; do
		run status "$example" "$limit" "$build/examples/$(basename "$example" .c)"
	done
	if [ "$kind" = check ] && [ -f include/atled.h ]; then
		run counts library 300 scripts/check/installed_library.sh build
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

if [ $((passed + failed + skipped)) -eq 0 ]; then count_failure tests "there were none${TESTS:+ with one of \"$TESTS\" in their label}"; fi
finish
