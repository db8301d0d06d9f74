#!/usr/bin/env bash
# test_method.sh - test that a new PDE method takes one file in its folder.
#
# Use: tests/tree/test_method.sh
#
# Adds collocation at the Gauss-Lobatto points of Legendre's polynomials to a
# copy of the library, builds the copy, and tests it on a boundary value problem
# and on the heat equation, against exact solutions.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
# Objects are copied as well, so that only the library has to be made again.
find . -type f -not -path './build*' -not -path './.git/*' -not -path '*/venv/*' -print0 |
	xargs -0 cp -p --parents -t "$copy" || exit 2
if [ -d build ]; then
	mkdir "$copy/build"
	find build -mindepth 1 -maxdepth 1 -not -name tests -not -name run -not -name log \
		-not -name cache -not -name bench -exec cp -rp -t "$copy/build" {} + || exit 2
fi
unset MAKEFLAGS
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

# the one file
cat >"$copy/stdlib/pde/grid/lobatto.dsl" <<'DSL'
# lobatto.dsl - collocation at Legendre-Gauss-Lobatto points.

# lobatto(n): polynomial collocation at the n + 1 Gauss-Lobatto points of
# Legendre's polynomials, for coordinates with two ends.
#     problem p() { domain x in [0, 1]; field u; u_xx == 1; u == 0 at boundary }
#     solve(p(), lobatto(8)).u(0.5)      #~ -0.125 tol 1e-12
lobatto(n = none) = (name = "lobatto", n = n, usual = (24, 16, 8), order = 8, cluster = none,
  time = _usual_stepper(none, 0), chosen = false, grid = _lobatto_grid, count = 6, near = 0.0,
  solve = _solve_grid, others = _grid_others)

# The inner points are eigenvalues of a Jacobi matrix (Golub and Welsch 1969).
# The derivatives are those of barycentric interpolation (Berrut and Trefethen
# 2004).
_lobatto_grid(m, n, a, b, periodic, top) = {
  if periodic { _refuse("lobatto() serves coordinates with two ends") }
  k = iota(n - 2) + 1.0
  e = sqrt(k * (k + 2) / ((2 * k + 1) * (2 * k + 3)))
  J = concat(concat(zeros(n - 2, 1), diag(e); axis = 1), zeros(1, n - 1))
  s = concat([-1.0], eigh(J + J')[0], [1.0])
  x = a + (b - a) * (s + 1) / 2
  same = eye(n + 1) == 1
  dx = where(same, 1.0, expand(x, 1) - expand(x, 0))
  w = 1 / prod(dx; axis = 1)
  D = where(same, 0.0, expand(w, 0) / expand(w, 1) / dx)
  all = iota(n + 1)
  (x = x, D = _powers(D - diag(sum(D; axis = 1)), top), width = n + 1, dense = true,
    idx = broadcast_to(expand(all, 0), n + 1, n + 1), a = a, b = b, periodic = false,
    cluster = none, between = n + 1, family = "local", ends = all, series = none)
}
DSL

holds 'it builds' make -s -C "$copy" -j"$(getconf _NPROCESSORS_ONLN)" all

cat >"$copy/lobatto.dsl" <<'DSL'
problem bar() { domain x in [0, 2]; field u; u_xx == exp(x); u == 1 at x = 0; u_x == 0 at x = 2 }
s = solve(bar(), lobatto(16));
s.u(0.7)                          #~ exp(0.7) - 0.7exp(2.0) tol 1e-10
s.method                          #> lobatto
problem heat() {
  domain t in [0, 0.1], x in [0, 1]
  field u
  u_t == u_xx
  u == sin(π * x) at t = 0
  u == 0 at x = 0, x = 1
}
solve(heat(), lobatto(); rtol = 1e-9).u(0.1, 0.3)      #~ exp(-0.1π^2) * sin(0.3π) tol 1e-7
lobatto(4).name                  #> lobatto
DSL
holds 'it solves' env ATLED_NATIVE=off "$copy/build/atled" test "$copy/lobatto.dsl"
holds 'users find it' bash -c '"$1" doc lobatto | grep -q "^lobatto(n): polynomial"' - \
	"$copy/build/atled"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
