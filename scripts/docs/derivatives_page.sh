#!/usr/bin/env bash
# derivatives_page.sh - generator of docs/reference/derivatives.md.
#
# Lists the derivatives of every primitive of lang/ir/prims.def, and the orders
# to which they are tested.
#
# Use: scripts/docs/derivatives_page.sh [FOLDER]
#          writes the page; FOLDER (default: build) has the program
#      scripts/docs/derivatives_page.sh --check [FOLDER]
#          fails when the page is out of date or the tests do not support it
#
# Method:
# - The orders come from the expected outputs in tests/derivatives/orders/*.dsl,
#   the errors from tests/errors/derivatives/rule_*.dsl. `make check` runs both.
# - For every test of tests/derivatives/orders, this script checks that the
#   differentiated function contains the named primitive.
# - The primitives without machine code, and the reasons, are read from
#   backend/native/explain/show.c.
set -euo pipefail
export LC_ALL=C.UTF-8 # sorting and number formats must not depend on the locale
cd "$(dirname "$0")/../.."
check=
if [ "${1:-}" = --check ]; then check=yes; shift; fi
program=${ATLED:-${1:-build}/atled}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

# name and kind of derivative (the sixth column of its row)
primitives() {
	sed -nE '
		s/^EW[12]\([A-Z0-9_]+, "([a-z_0-9]+)", [A-Z]+, [^,]*, [A-Z]+, ([A-Z]+),.*/\1 \2/p
		s/^ST\([A-Z0-9_]+, "([a-z_0-9]+)", -?[0-9]+, -?[0-9]+, "[^"]*", ([A-Z]+),.*/\1 \2/p
	' lang/ir/prims.def | sed "s/ NONLINEAR$/ RULE/"
}

# "name|forward|reverse|Taylor|batch" for each test
orders() {
	local row='([a-z_0-9]+): forward ([0-9]), reverse ([0-9]), Taylor ([0-9]), batch (yes|no)'
	sed -nE "s/.*#> $row\$/\\1|\\2|\\3|\\4|\\5/p" tests/derivatives/orders/*.dsl
}

# "name|message" for each test of an error
errors() {
	sed -nE 's/^#! error E0401 [^"]*"([^"]*)".*/\1/p' tests/errors/derivatives/rule_*.dsl |
		sed -nE 's/^`([a-z_0-9]+)` (.*)/\1|\2/p' | sort -u
}

# "NAME|reason" for each primitive OP_NAME without machine code
kept() {
	sed -n '/^static const char \*reason/,/^}/p' backend/native/explain/show.c |
		sed -nE '/return "/{s/^[^"]*return "([^"]*)".*/&\n\1/;p;}' |
		awk '
			/case OP_/ {
				n = 0
				line = $0
				while (match(line, /OP_[A-Z_]+/)) {
					name[n++] = substr(line, RSTART + 3, RLENGTH - 3)
					line = substr(line, RSTART + RLENGTH)
				}
				next
			}
			n {
				for (i = 0; i < n; i++) print name[i] "|" $0
				n = 0
			}'
}

# Prints the tests whose function does not contain the primitive. Skips tests of
# other features (recursion, records).
strangers() {
	local file row name call='^(solver_)?orders\("([a-z_0-9]+)", (.*), 0\.4[;,)].*#> .*'
	for file in tests/derivatives/orders/*.dsl; do
		case $(basename "$file") in _*) continue ;; esac
		{
			sed -E '/#> |^use /d' "$file"
			sed -nE "s/$call/print(\"== \\2\"); print(ir(\\3, 0.4))/p" "$file"
		} >"$stage/rows.dsl"
		"$program" "$stage/rows.dsl" >"$stage/rows.txt"
		sed -nE 's/^(solver_)?orders\("([a-z_0-9]+)".*/\2/p' "$file" | while read -r row; do
			grep -q "^$row " "$stage/primitives" || continue
			awk -v row="$row" '
				/^== / { on = $2 == row; next }
				on && $0 ~ ("(^|[= ])" row "( |$)") { found = 1 }
				END { exit !found }' "$stage/rows.txt" ||
				echo "$file: the function of \`$row\` does not hold it"
		done
	done
}

page() {
	cat <<'TEXT'
# Which derivatives there are

Made by `scripts/docs/derivatives_page.sh` from `lang/ir/prims.def` and the
tests; `make check` tests that it is up to date. Every primitive has every rule,
or an error that names it, the reason, and the way from the result to it
(E0401).

| column | what it says |
| --- | --- |
| rule | *calculus*: a line of `stdlib/core/calculus.dsl`, from which all modes follow; *function*: one for each mode in `autodiff/`; *linear*, *bilinear*: none is needed; *none*: piecewise constant or no number, so that the derivative is zero; *structure*: regions and callees are transformed |
| forward | the order up to which nested `jvp` is tested along a line: each against differences of 8th order of the one before (1e-9) or closed forms (1e-12) |
| reverse | the same of `grad` of nested `jvp`, nested `jvp` of `grad`, and `grad` of `grad`, against forward (1e-11) |
| Taylor | the same of one expansion, against forward (1e-11) |
| batching | `map` of the fourth derivative and of the gradient, against one place after the other (1e-11) |
| machine code | whether compiled code holds it, or what the evaluator does instead |

First and second derivatives of random programs are compared besides: forward,
reverse and Taylor mode, their mixtures and complex steps
([testing.md](testing.md)).

| primitive | rule | forward | reverse | Taylor | batching | machine code |
| --- | --- | --- | --- | --- | --- | --- |
TEXT
	orders >"$stage/orders"
	errors >"$stage/errors"
	kept >"$stage/kept"
	primitives | awk -v stage="$stage" '
	function text(mode) { return zero ? (mode ? "zero, to order " mode : "zero") : mode }
	BEGIN {
		FS = "|"
		while ((getline < (stage "/orders")) > 0) { f[$1] = $2; r[$1] = $3; t[$1] = $4; b[$1] = $5 }
		while ((getline < (stage "/errors")) > 0) error[$1] = $2
		while ((getline < (stage "/kept")) > 0) kept[$1] = $2
		batch["random_bits"] = "each lane its own numbers"
		batch["nonzero"] = batch["bind_dim"] = batch["extent"] = \
			"yes; lane by lane where lengths differ, which may not leave the map"
		word["RULE"] = "function"
		word["LINEAR"] = "linear"
		word["BILINEAR"] = "bilinear"
		word["ZERO"] = "none"
		word["STRUCT"] = "structure"
		FS = " "
	}
	{
		name = $1; kind = word[$2]; zero = $2 == "ZERO"
		if ($2 == "RULE" && $3 == "EW") kind = "calculus"
		upper = toupper(name)
		if (name == "stop_gradient") upper = "STOP"
		if (name == "bind_dim") upper = "BIND"
		if (name == "random_bits") upper = "RANDOM"
		code = upper in kept ? "evaluator: " kept[upper] : "yes"
		if (name ~ /^(lu|cholesky|trisolve)$/)
			code = "small matrices; others: a library routine of linear algebra"
		if (name == "call") code = "yes; recursive or large functions by themselves"
		if (name in f) {
			lanes = name in batch ? batch[name] : b[name] == "yes" ? "yes" : \
				(name in error) ? "error: " error[name] : "?"
			printf "| `%s` | %s | %s | %s | %s | %s | %s |\n", \
				name, kind, text(f[name]), text(r[name]), text(t[name]), lanes, code
		} else if (name in error) {
			printf "| `%s` | %s | error: %s | error | error " \
				"| as one value for all lanes | %s |\n", name, kind, error[name], code
		} else if (name == "box") {
			printf "| `%s` | %s | what it holds is not followed: an error at `unbox` | error " \
				"| error | as one value for all lanes | %s |\n", name, kind, code
		} else if (name == "warn") {
			# only the library warns; tests/ode/systems.dsl differentiates such
			# functions
			printf "| `%s` | %s | zero | zero | zero | as one value for all lanes | %s |\n", \
				name, kind, code
		} else if (name == "start") {
			printf "| `%s` | %s | zero | zero | zero " \
				"| only where a program is run on its own | %s |\n", name, kind, code
		} else {
			printf "| `%s` | %s | ? | ? | ? | ? | %s |\n", name, kind, code
		}
	}'
	printf '\nTested in the same way, to the orders (forward, reverse, Taylor) behind them:'
	awk -F'|' '
		NR == FNR { split($0, w, " "); is[w[1]] = 1; next }
		!($1 in is) { printf "%s %s (%s, %s, %s)", n++ ? "," : "", $1, $2, $3, $4 }
		END { print "." }' "$stage/primitives" "$stage/orders"
}

# RULE means different things in ST and EW rows
primitives | while read -r name kind; do
	row=ST
	if grep -qE "^EW[12]\([A-Z0-9_]+, \"$name\"" lang/ir/prims.def; then row=EW; fi
	echo "$name $kind $row"
done >"$stage/primitives"
primitives() { cat "$stage/primitives"; }

page | scripts/docs/wrap.py - >"$stage/page"
if [ -z "$check" ]; then
	cp "$stage/page" docs/reference/derivatives.md
	exit
fi
failed=0
cmp -s "$stage/page" docs/reference/derivatives.md || {
	echo 'docs/reference/derivatives.md is out of date: run scripts/docs/derivatives_page.sh'
	failed=1
}
if grep -n '| ? ' "$stage/page"; then
	echo 'these primitives have no test in tests/derivatives/orders' \
		'or tests/errors/derivatives/rule_*.dsl'
	failed=$((failed + 1))
fi
strangers >"$stage/strangers"
if [ -s "$stage/strangers" ]; then cat "$stage/strangers"; failed=$((failed + 1)); fi
echo "$((3 - failed)) passed, $failed failed"
[ "$failed" = 0 ]
