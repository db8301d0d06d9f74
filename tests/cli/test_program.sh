#!/usr/bin/env bash
# test_program.sh - tests of the program `atled` as a command.
#
# Use: ATLED=PROGRAM tests/cli/test_program.sh
#
# Checks exit codes, streams, options, its own documentation, and the test
# runner. The last line is "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
atled=${ATLED:-build/atled} passed=0 failed=0
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
unset NO_COLOR

fail() {
	failed=$((failed + 1))
	echo "test_program: failed: $1"
	shift
	printf '  %s\n' "$@"
}

# gives WHAT CODE STDOUT STDERR-PART COMMAND...: runs the command and compares
# its exit code, standard output (`*` matches anything) and a part of standard
# error.
gives() {
	local what=$1 code=$2 out=$3 err=$4 got status
	shift 4
	got=$("$@" 2>"$work/err" </dev/null)
	status=$?
	if [ $status -ne "$code" ]; then
		fail "$what" "exit code $status, not $code" "$(cat "$work/err")"
	elif [ "$out" != '*' ] && [ "$got" != "$out" ]; then
		fail "$what" "it wrote: $got"
	elif [ -n "$err" ] && ! grep -qF -- "$err" "$work/err"; then
		fail "$what" "on stderr: $(cat "$work/err")"
	elif [ -z "$err" ] && [ -s "$work/err" ]; then
		fail "$what" "on stderr: $(cat "$work/err")"
	else
		passed=$((passed + 1))
	fi
}

# holds WHAT COMMAND...: the command must succeed
holds() {
	local what=$1
	shift
	if "$@" >"$work/out" 2>&1; then passed=$((passed + 1)); else
		fail "$what" "$(cat "$work/out")"
	fi
}

# programs used below
printf 'x = 2\nx * 21\nx;\n' >"$work/good.dsl"
printf '#!/usr/bin/env atled\nlen(args)\nargs[1]\n' >"$work/args.dsl"
printf 'a = [1, 2]\nb = a + [1, 2, 3]\n' >"$work/shape.dsl"
printf 'k = 1.0\nwhile k > 0 { k = k + 1 }\nk\n' >"$work/endless.dsl"

gives 'an expression' 0 2 '' "$atled" -e 1+1
gives 'several expressions' 0 $'3\n4.0' '' "$atled" -e 'x = 3; x' --eval='x + 1.0'
gives 'a file' 0 42 '' "$atled" "$work/good.dsl"
gives 'run' 0 42 '' "$atled" run "$work/good.dsl"
gives 'arguments of a program' 0 $'2\n--seed' '' "$atled" "$work/args.dsl" one --seed
gives 'standard input' 0 7 '' bash -c 'echo 3+4 | "$1" -' - "$atled"
gives 'standard input without a word' 0 7 '' bash -c 'echo 3+4 | "$1"' - "$atled"
gives 'does not compile' 3 '' '[E0302]' "$atled" "$work/shape.dsl"
gives 'does not parse' 3 '' '[E01' "$atled" -e '(1'
gives 'fails while running' 1 '' 'so it is' "$atled" -e 'error("so it is")'
gives 'an index out of range' 1 '' '[E06' "$atled" -e 'f(i) = [1, 2, 3][i]
f(7)'
gives 'a time limit' 5 '' '[E0903]' "$atled" --time-limit 0.2 "$work/endless.dsl"
# Each function inlines the one before twice.
{
	echo 'g0(x) = x + 1'
	for k in {1..30}; do
		printf 'f%d(f, x) = f(x) + f(2x)*%d\ng%d(x) = f%d(y -> g%d(y), x)\n' \
			$k $k $k $k $((k - 1))
	done
	echo 'g30(1.0)'
} >"$work/doubling.dsl"
gives 'a time limit before it runs' 5 '' '[E0903]' \
	timeout 30 "$atled" --time-limit 0.2 "$work/doubling.dsl"
gives 'a time limit in a loop whose work is no number' 5 '' '[E0903]' timeout 30 "$atled" \
	--time-limit 0.2 -e 's = 0.0; for i in 0..9223372036854775807 { s += 1 }'
gives 'a time limit in a map of such loops' 5 '' '[E0903]' timeout 30 "$atled" --time-limit 0.2 \
	-e 'f(x) = { s = x; for i in 0..4611686018427387905 { s = s/2 + 1 }; s }' -e 'map(f, rand(9))'
gives 'a time limit in recursion' 5 '' '[E0903]' timeout 30 "$atled" --time-limit 0.2 \
	-e 'fib(n) = if n < 2 { n } else { fib(n - 1) + fib(n - 2) }' -e 'fib(60)'
# Each function calls the one before twice; none is recursive.
{
	echo 'g0(n) = n + 1'
	for k in {1..45}; do
		echo "g$k(n) = if n < 0 { 0 } else { g$((k - 1))(n) + g$((k - 1))(n + 1) }"
	done
	echo 'g45(i64(rand()))'
} >"$work/chain.dsl"
gives 'a time limit in a chain of calls' 5 '' '[E0903]' timeout 30 "$atled" --time-limit 0.2 \
	"$work/chain.dsl"
# A program of very many names takes seconds, not minutes.
many=300000
seq -f 'f%.0f(x) = x + 1' $many >"$work/functions.dsl"
{ echo 'x = 1.0'; seq -f 'x%.0f = x' $many; } >"$work/variables.dsl"
{ echo 'f(x) = {'; seq -f '  y%.0f = x' $many; echo '  y7 }'; echo 'f(1)'; } >"$work/locals.dsl"
{ seq -f 'a%.0f = 1,' $many | sed '1s/^/r = (/' | tr '\n' ' '; echo 'z = 2); r.z'; } >"$work/fields.dsl"
{ seq -f 'a%.0f,' $many | sed '1s/^/f(/' | tr '\n' ' '; echo 'z) = z'; } >"$work/parameters.dsl"
for names in functions variables locals fields parameters; do
	gives "very many $names" 0 '*' '' timeout 30 "$atled" "$work/$names.dsl"
	holds "a check of very many $names" timeout 60 "$atled" check "$work/$names.dsl"
done
gives 'a step limit' 5 '' '[E0903]' "$atled" --step-limit 10000 "$work/endless.dsl"
gives 'a memory limit' 5 '' '[E0901]' "$atled" --mem-limit 20M -e 'x = randn(3000, 3000); sum(x)'
gives 'files are denied' 6 '' 'granted' "$atled" --safe -e 'use "x.dsl"'
gives 'rules are trusted' 0 2.0 '' "$atled" -e 'f(x) = x^2' -e 'derivative f(x) = x' -e "f'(2.0)"
gives 'rules are checked' 3 '' 'the derivative rule of `f` gives' \
	"$atled" --check-rules -e 'f(x) = x^2' -e 'derivative f(x) = x' -e "f'(2.0)"
gives 'a right rule' 0 4.0 '' \
	"$atled" --check-rules -e 'f(x) = x^2' -e 'derivative f(x) = 2x' -e "f'(2.0)"
gives 'an exit code of its own' 7 1 '' "$atled" -e 'print(1); exit(7); print(2)'
gives 'an exit from a function' 3 '' '' \
	"$atled" -e 'f(x) = if x > 2 { exit(i64(x)) } else { x }' -e 'y = f(3.0)' -e 'y'
gives 'an exit from a loop' 9 $'0\n1\n2' '' \
	"$atled" -e 'for i in 0..10 { print(i); if i == 2 { exit(i + 7) } }'
gives 'an exit from a map' 4 '' '' \
	"$atled" -e 'map(x -> if x > 3 { exit(i64(x)) } else { x }, [1.0, 4, 2])'
gives 'an exit that try does not catch' 0 '' '' "$atled" -e 'try { exit() } catch m { print(m) }'
gives 'an exit in machine code' 5 '' '' \
	env ATLED_NATIVE=always "$atled" -e 'f(x) = if x > 2 { exit(i64(x)) } else { x }' \
	-e 'f(5.0) + 1'
gives 'an exit on standard input' 6 '' '' bash -c 'printf "exit(6)\n1" | "$1"' - "$atled"
gives 'a code that is none' 1 '' 'from 0 to 255, not 256' "$atled" -e 'exit(256)'
gives 'the environment' 0 deep '' env ATLED_TEST_DEPTH=deep "$atled" -e 'env("ATLED_TEST_DEPTH")'
gives 'the environment is denied' 6 '' 'ATLED_TEST_DEPTH is not granted' \
	env ATLED_TEST_DEPTH=deep "$atled" --safe -e 'env("ATLED_TEST_DEPTH")'
gives 'nothing in the environment' 1 '' 'has no variable `ATLED_NO_SUCH`' \
	"$atled" -e 'env("ATLED_NO_SUCH")'
gives 'nothing in the environment, which is said' 0 'a default' '' \
	"$atled" -e 'env("ATLED_NO_SUCH", "a default")'
# A function of a solution is the same in the session that loads it, also when
# that one has solved other problems before.
cat >"$work/decay.dsl" <<'TEXT'
problem decay {
  field u
  domain t in [0, 1]
  u_t == -u
  u == 1 at t = 0
}
problem other(k) {
  field v
  domain x in [0, 1]
  k*v_xx == sin(x) - v^2
  v == 0 at x = 0, x = 1
}
TEXT
{
	cat "$work/decay.dsl"
	echo 's = solve(decay(), pinn([6], 20; steps = 40), partial = true)'
	echo "save(\"$work/kept.npz\", s); print(s.u(0.5))"
} >"$work/save.dsl"
{
	cat "$work/decay.dsl"
	echo 'o = solve(other(2.0), pinn([6], 20; steps = 3), partial = true); o.v(0.5);'
	echo "s = load(\"$work/kept.npz\"); print(s.u(0.5))"
} >"$work/load.dsl"
kept=$("$atled" "$work/save.dsl" 2>"$work/err")
holds 'a solution was saved' test -n "$kept"
gives 'a loaded solution' 0 "$kept" '' "$atled" -e "s = load(\"$work/kept.npz\"); print(s.u(0.5))"
gives 'a loaded solution among others' 0 "$kept" '' "$atled" "$work/load.dsl"
gives 'the clock is denied' 6 '' '[E0802]' "$atled" --safe -e 'clock()'
gives 'the clock is denied in a function' 6 '' '[E0802]' \
	"$atled" --safe -e 'f(x) = { t = clock(); x + t }' -e 'sum(map(f, rand(3)))'
gives 'the clock is granted' 0 true '' "$atled" -e 'clock() >= 0'
gives 'printing is not denied' 0 1 '' "$atled" --safe -e 'print(1)'
gives 'an unknown option' 2 '' '--nonsense' "$atled" --nonsense
gives 'an option without its value' 2 '' 'SECONDS' "$atled" --time-limit
gives 'a wrong value' 2 '' 'purple' "$atled" --color=purple -e 1
gives 'a missing file' 2 '' 'No such file' "$atled" "$work/none.dsl"
gives 'a folder' 2 '' 'folder' "$atled" "$work"
gives 'a command with too little' 2 '' 'usage: atled doc' "$atled" doc
gives '-e and a file' 2 '' 'do not go together' "$atled" -e 1 "$work/good.dsl"
gives 'check finds nothing' 0 '' '' "$atled" check "$work/good.dsl"
gives 'check finds a shape' 3 '' '[E0302]' "$atled" check "$work/shape.dsl"
gives 'check does not run' 0 '' '' "$atled" check "$work/endless.dsl"
gives 'a seed' 0 "$("$atled" --seed 5 -e 'rand()')" '' "$atled" --seed=5 -e 'rand()'
gives 'explain' 0 '*' '' "$atled" explain e0302
gives 'explain nothing' 2 '' 'E9999' "$atled" explain E9999
gives 'doc' 0 '*' '' "$atled" doc sin
holds 'doc has an example' bash -c '"$1" doc sin | grep -q "#~ 0.5"' - "$atled"
holds 'doc of a name that shares its comment' \
	bash -c '"$1" doc acosh | grep -q "acosh(x), atanh(x): "' - "$atled"
gives 'doc of nothing' 2 '' 'nobody' "$atled" doc nobody
gives 'version' 0 '*' '' "$atled" --version
gives 'an interrupt' 130 '' 'interrupted' \
	bash -c '"$1" "$2" & sleep 0.5; kill -INT $!; wait $!' - "$atled" "$work/endless.dsl"
gives 'a closed pipe' 0 '1' '' \
	bash -c '"$1" -e "for i in 1..100000 { print(i) }" | head -n 1' - "$atled"

holds 'JSON messages' bash -c '! "$1" --json -e "[1,2] + [1,2,3]" 2>"$2/json" &&
	[ "$(wc -l <"$2/json")" = 1 ] && python3 -c "
import json, sys
e = json.load(open(sys.argv[1]))
assert e[\"code\"] == \"E0302\" and e[\"line\"] == 1 and e[\"column\"] == 1, e" "$2/json"' - \
	"$atled" "$work"
holds 'info is JSON' bash -c '"$1" info --json | python3 -m json.tool' - "$atled"
holds 'no word of the language is a name' bash -c '"$1" info --json | python3 -c "
import json, sys
info = json.load(sys.stdin)
assert not set(info[\"keywords\"]) & set(info[\"names\"])"' - "$atled"
holds 'doc of several names' \
	bash -c '[ "$("$1" doc sin cos | grep -c ": .*ine, radians")" = 2 ]' - "$atled"
gives 'doc of several names, one unknown' 2 '*' 'nobody' "$atled" doc sin nobody
holds 'doc is JSON' bash -c '"$1" doc --json median | python3 -c "
import json, sys
r = json.load(sys.stdin)
assert r[\"name\"] == \"median\" and r[\"help\"].startswith(\"median(x; axis, keepdims)\"), r"' \
	- "$atled"
printf 'x = 1 + 1\nfor k in 0..3 { x += k }\n' >"$work/bench.dsl"
holds 'bench is JSON' bash -c '"$1" bench --json --profile "$2" | python3 -c "
import json, sys
rows = [json.loads(line) for line in sys.stdin]
parts = [r for r in rows if \"line\" in r]
assert [r[\"line\"] for r in parts] == [1, 2] and parts[0][\"text\"] == \"x = 1 + 1\", rows
assert all(r[\"running\"] >= 0 and r[\"native\"] in (True, False) for r in parts), rows
assert ([r[\"runs\"] > 1 for r in rows if \"runs\" in r] == [True]
        and rows[-1][\"profile\"] == \"evaluator\"), rows"' - "$atled" "$work/bench.dsl"
printf '1 + 1 #> 2\n"a\\"b" #> c\n' >"$work/one.dsl"
printf '#! skip not "here"\n1\n' >"$work/two.dsl"
holds 'test is JSON' bash -c '"$1" test --json "$2/one.dsl" "$2/two.dsl" >"$2/told"
[ $? = 4 ] && python3 -c "
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
assert (rows[0][\"line\"] == 2 and \"expected\" in rows[0][\"message\"]
        and rows[0][\"file\"].endswith(\"one.dsl\")), rows
assert (rows[1][\"skipped\"] == \"not \\\"here\\\"\"
        and rows[2] == dict(passed=1, failed=1, skipped=1)), rows" "$2/told"' - "$atled" "$work"
holds 'explain is JSON' bash -c '"$1" explain --json | python3 -c "
import json, sys
rows = [json.loads(line) for line in sys.stdin]
assert len(rows) > 50 and all(r[\"code\"][0] in \"EW\" and r[\"title\"] for r in rows)" &&
	"$1" --json explain e0302 | python3 -m json.tool' - "$atled"
holds 'colour when asked' \
	bash -c '"$1" --color=always -e nothing_here 2>&1 | grep -q "$(printf "\033\\[")"' - "$atled"
holds 'no colour elsewhere' \
	bash -c '! "$1" -e nothing_here 2>&1 | grep -q "$(printf "\033")"' - "$atled"
holds 'help names every command' bash -c 'for c in run check ir test bench explain info doc; do
	"$1" --help | grep -q "^  $c " || exit 1
done' - "$atled"
holds 'ir' bash -c '"$1" ir "$2" "f(f64[n])" | grep -q "fn @f"' - "$atled" <(echo 'f(x) = x * 2')
cat >"$work/bench.dsl" <<'DSL'
f(x) = sum(sin(x)*x)

y = f(randn(200000))
for i in 0..3 {
  y = y + i
}
print("hidden")
y;
DSL
holds 'bench' bash -c '"$1" bench --profile "$2" >"$3" && grep -q "^ *3 .* y = f(randn" "$3" &&
	grep -q "^ *4 .* for i in 0..3 { \.\.\.$" "$3" && grep -q "^ *all" "$3" &&
	grep -q "the evaluator and what it calls" "$3" && ! grep -q "^hidden" "$3"' - \
	"$atled" "$work/bench.dsl" "$work/benched"
gives 'bench of what does not compile' 3 '' '[E0302]' "$atled" bench "$work/shape.dsl"
printf 'x = 1\nerror("so it is")\n' >"$work/failing.dsl"
gives 'bench of what fails' 1 '' 'failing.dsl:2:1' "$atled" bench "$work/failing.dsl"
gives 'a dump of what there is none of' 2 '' '--dump' "$atled" --dump=llvm -e 1
gives 'plan of what is no function' 3 '' '[E0204]' "$atled" -e 'plan(3, 2)'
gives 'native without arguments' 3 '' 'takes at least 1 argument' "$atled" -e 'native()'
gives 'plan of a wrong argument' 3 '' '[E0302]' "$atled" -e 'plan(x -> x + [1, 2, 3], [1, 2])'
if "$atled" -e 'print(native(x -> sum(sin(x)), ones(100)))' | grep -q 'native code is off'; then
	echo 'test_program: no machine code here, so none is looked at'
else
	holds 'kernel code' bash -c 'ATLED_NATIVE=always "$1" --dump=kir \
		-e "f(x) = sum(sin(x))" -e "f(randn(100))" 2>&1 | grep -q "^entry {"' - "$atled"
	holds 'assembly' bash -c '"$1" -e "f(x) = sum(sin(x))" -e "print(native(f, ones(100)))" |
		grep -q "^; unit 1 of f$"' - "$atled"
	holds 'a profile has lines' \
		bash -c 'ATLED_NATIVE=always "$1" bench --profile "$2" | grep -q "bench.dsl:1"' - \
		"$atled" "$work/bench.dsl"
fi
holds 'completion is bash' bash -n <("$atled" --completion bash)
holds 'completion completes' bash -c 'source <("$1" --completion bash)
	COMP_WORDS=(atled --ti) COMP_CWORD=1
	_atled
	[ "${COMPREPLY[*]}" = --time-limit= ]' - "$atled"
if command -v zsh >/dev/null; then
	"$atled" --completion zsh >"$work/_atled"
	holds 'completion is zsh' zsh -n "$work/_atled"
	# the completions of zsh, by its completion system
	holds 'zsh completes' zsh -fc 'autoload -U compinit
		fpath=($2 $fpath)
		compinit -u -D
		_arguments() { print -l -- "$@" >$2/spec; }
		source $2/_atled >/dev/null 2>&1
		_arguments() { print -l -- "$@"; }
		_atled | grep -q -- "^--color=\[.*(auto always never)"' - "$atled" "$work"
fi
if command -v fish >/dev/null; then
	"$atled" --completion fish >"$work/atled.fish"
	holds 'completion is fish' fish --no-execute "$work/atled.fish"
	holds 'fish completes' bash -c 'offers() {
			HOME=$2 fish --no-config -c "source $2/atled.fish; complete -C \"atled $1\"" |
				grep -q "^$3"
		}
		offers --ti "$1" --time-limit && offers expl "$1" explain &&
			offers "--color " "$1" always' - "$work"
fi
holds 'a pipe gets no progress within a minute' bash -c 'ATLED_NATIVE=off "$1" --time-limit 3 \
	-e "for i in 0..1000000000 { sin(f64(i)) }" 2>&1 >/dev/null | grep -q step && exit 1
exit 0' - "$atled"
holds 'a pipe gets lines of progress after two seconds, so often' \
	bash -c 'ATLED_PROGRESS_EVERY=0.2 "$1" --time-limit 4 -e "f(n) = {
			x = 0.0; for k in 0..n { x = 0.5*x + sin(f64(k)); progress(k, n; loss = x) }; x
		}" -e "f(1000000000000)" 2>&1 >/dev/null |
		grep -c "^atled: .*step [0-9]* of 1000000000000  loss .* s" |
		grep -qE "^([3-9]|1[0-9])$"' - "$atled"
gives 'completion for another shell' 2 '' '--completion' "$atled" --completion tcsh
holds 'the manual page is the one of docs/' diff <("$atled" --man) docs/man/atled.1

# ---- pictures ----------------------------------------------------------------

# The end of a file's name chooses its format.
for ending in png svg pdf; do
	gives "a picture as $ending" 0 '' '' \
		"$atled" -e "plot([1.0, 3, 2], title = \"three\", file = \"$work/a.$ending\")"
done
holds 'a PNG' test "$(head -c 4 "$work/a.png" | tail -c 3)" = PNG
holds 'an SVG with its text' grep -q '>three</text>' "$work/a.svg"
holds 'a PDF with its title' grep -qa '/Title (three)' "$work/a.pdf"
gives 'an animation as gif' 0 '' '' \
	"$atled" -e "animate(k -> plot([1.0, k]), 2, file = \"$work/a.gif\")"
holds 'a GIF' test "$(head -c 6 "$work/a.gif")" = GIF89a
gives 'an ending in capitals' 0 '' '' "$atled" -e "plot([1.0, 3], file = \"$work/B.PDF\")"
holds 'its PDF' test "$(head -c 5 "$work/B.PDF")" = %PDF-

# A library that cannot be loaded is named with its package, and the picture in
# the terminal needs none.
mkdir "$work/lib"
without() { # PACKAGE FORMAT LIBRARY...
	local package=$1 ending=$2 library
	shift 2
	rm -f "$work/lib/"* "$work/a.$ending"
	for library in "$@"; do echo no library >"$work/lib/$library"; done
	local call="plot([1.0, 3], file = \"$work/a.$ending\")"
	[ "$ending" != gif ] || call="animate(k -> plot([1.0, k]), 2, file = \"$work/a.gif\")"
	gives "a $ending without $package" 1 '' "apt-get install $package" \
		env LD_LIBRARY_PATH="$work/lib" "$atled" -e "$call"
	holds "no $ending without $package" test ! -e "$work/a.$ending"
}
soname() { # NAME
	sed -n "s/^#define SONAME_$1 \"\(.*\)\"/\1/p" "$(dirname "$atled")/generated/sonames.h"
}
if [ -r "$(dirname "$atled")/generated/sonames.h" ]; then
	without libcairo2 png "$(soname CAIRO)"
	without libcairo2 pdf "$(soname CAIRO)"
	without libfreetype6 svg "$(soname FREETYPE)"
	without libgif7 gif "$(soname GIF)"
	for library in CAIRO FREETYPE; do echo no library >"$work/lib/$(soname $library)"; done
	gives 'a picture in the terminal without libraries' 0 '*' '' \
		env LD_LIBRARY_PATH="$work/lib" "$atled" -e 'surface([0.0, 1], [0.0, 1], (x, y) -> x*y)'
fi

# ---- the test runner ---------------------------------------------------------
mkdir "$work/tests"
cat >"$work/tests/a.dsl" <<'DSL'
x = 3.5
x  #> 3.5
x * 2  #~ 7 tol 1e-12
[1.0, 2.0] / 3 #~ [0.333333333333, 0.666666666667] tol 1e-11
A = [1, 2; 3, 4]
A @ A  #> [[7, 10], [15, 22]]
print("two")
print("lines")
#> two
#> lines
"text with #> inside"  #> text with #> inside
DSL
cat >"$work/tests/b.dsl" <<'DSL'
#! error E0302 4:5-4:10 "cannot add i64[3] and i64[4]"
a = [1, 2, 3]
b = [1, 2, 3, 4]
c = a + b
DSL
echo '#! skip needs a reason' >"$work/tests/c.dsl"
echo 'this is no program' >"$work/tests/_helper.dsl"
gives 'tests pass' 0 "skip: $work/tests/c.dsl: needs a reason
7 passed, 0 failed, 1 skipped" '' "$atled" test "$work/tests"
gives 'a filter' 0 '1 passed, 0 failed, 0 skipped' '' "$atled" test --filter b.dsl "$work/tests"
# failures must be detected
wrong() { # WHAT TEXT
	printf '%s\n' "$2" >"$work/wrong.dsl"
	local out
	out=$("$atled" test "$work/wrong.dsl" 2>&1)
	if [ $? -eq 4 ] && [[ $out == *'1 failed'* ]]; then passed=$((passed + 1)); else
		fail "the runner sees: $1" "$out"
	fi
}
wrong 'another value' '1 + 1 #> 3'
wrong 'a value that is near but not near enough' '1.0 #~ 1.0001 tol 1e-5'
wrong 'another number of values' '[1.0, 2.0] #~ [1.0]'
wrong 'no value' 'x = 1 #> 1'
wrong 'a NaN' '0.0 / 0.0 #~ 1'
wrong 'an error' 'nothing_here #> 1'
wrong 'an error after the last assertion' $'1 #> 1\nnothing_here'
wrong 'an error without assertions' 'nothing_here'
wrong 'no error' $'#! error E0201\n1'
wrong 'another code' $'#! error E0302\nnothing_here'
wrong 'another place' $'#! error E0201 2:2\nnothing_here'
wrong 'another end' $'#! error E0201 2:1-2:5\nnothing_here'
wrong 'another message' $'#! error E0201 "shape"\nnothing_here'
wrong 'a hint that is not there' $'#! error E0201 hint "try harder"\nnothing_here'
wrong 'more errors' $'#! error E0201\n(\n)\n(1'

cat >"$work/doc.md" <<'MD'
# A page
```dsl
x = 2
x + 1  #> 3
```
The session goes on:
```dsl
x * 10
print("said")
```
```text
20
said
```
A new one, which fails:
```dsl new file=f.dsl
x + 1
```
```text
f.dsl:1:1: no `x` [E0201]
  1 | x + 1
    | ^
```
```python
not for us
```
MD
gives 'documents' 0 '3 passed, 0 failed, 0 skipped' '' "$atled" test --docs "$work/doc.md"
printf '```dsl\n1 + 1\n```\n\n```text\n3\n```\n' >"$work/bad.md"
gives 'a document that is wrong' 4 '*' '' "$atled" test --docs "$work/bad.md"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
