#!/usr/bin/env bash
# test_primitive.sh - test that a new element-wise primitive takes three edits.
#
# Use: LONG=yes tests/tree/test_primitive.sh
#
# Adds versin to a copy of the sources: its row in prims.def, its derivative
# rule in calculus.dsl, and its code generation in prims.c. Builds the copy and
# tests values, and derivatives in every mode, by the evaluator and by native
# code.
#
# It runs in long checks only, because a change of prims.def rebuilds almost
# everything.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2

if [ -z "${LONG:-}" ]; then
	echo 'skip: a new primitive is added and built in a long check only'
	echo '0 passed, 0 failed, 1 skipped'
	exit
fi

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z | xargs -0 cp --parents -t "$copy" || exit 2
passed=0 failed=0

# holds WHAT COMMAND...: the command must succeed
holds() {
	local what=$1
	shift
	if "$@" >"$copy/out" 2>&1; then passed=$((passed + 1)); else
		failed=$((failed + 1))
		printf '%s: failed\n' "$what"
		tail -n 40 "$copy/out"
	fi
}

# the three edits
sed -i '/^EW1(COS,/i EW1(VERSIN, "versin", CALL, R | C, SAME, NONLINEAR, MATHS, 15, 12,\
    2 * sin(x / 2) * sin(x / 2), -3, 3, "versin(x): 1 - cos(x)")' \
	"$copy/lang/ir/prims.def"
echo 'derivative versin(x) = sin(x)' >>"$copy/stdlib/core/calculus.dsl"
sed -i '/^PRIM2(EQ) {/i PRIM1(VERSIN) {\
	const LLVMValueRef half = LLVMBuildFMul(e->b, x, number(e, t, x, 0.5), "");\
	const LLVMValueRef sine = emit_prim(e, OP_SIN, t, half, NULL);\
	return LLVMBuildFMul(e->b, number(e, t, x, 2), LLVMBuildFMul(e->b, sine, sine, ""), "");\
}\
' "$copy/backend/codegen/prims.c"

holds 'it builds' make -s -C "$copy" -j"$(getconf _NPROCESSORS_ONLN)" all

# Oracle: the same function composed of existing primitives.
cat >"$copy/versin.dsl" <<'DSL'
by_hand(x) = 1 - cos(x)
xs = linspace(-3, 3, 17)
versin(xs) - by_hand(xs)            #~ zeros(17) tol 1e-15
versin(1e-9)                        #~ 5e-19 tol 1e-33
versin(f32(0.5))                    #~ 0.12241744 tol 1e-7
versin(1 + 2im) - by_hand(1 + 2im)  #~ 0im tol 1e-14
versin'(1.3) - by_hand'(1.3)        #~ 0 tol 1e-15
versin''(1.3) - by_hand''(1.3)      #~ 0 tol 1e-15
versin'''(1.3) - by_hand'''(1.3)    #~ 0 tol 1e-15
total(f) = x -> sum(f(x) * x^2)
grad(total(versin))(xs) - grad(total(by_hand))(xs)                            #~ zeros(17) tol 1e-14
jvp(total(versin), xs, cos(xs))[1] - jvp(total(by_hand), xs, cos(xs))[1]      #~ 0 tol 1e-13
map(versin', xs) - map(by_hand', xs)                                          #~ zeros(17) tol 1e-15
DSL
holds 'the evaluator has it' env ATLED_NATIVE=off "$copy/build/atled" test "$copy/versin.dsl"
holds 'native code has it' env ATLED_NATIVE=always "$copy/build/atled" test "$copy/versin.dsl"
holds 'users find it' \
	bash -c '"$1" doc versin | grep -q "^versin(x): 1 - cos(x)"' - "$copy/build/atled"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
