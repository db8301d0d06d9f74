# dae_start.dsl - consistent initial values and rates of a system F(t, y, y') ==
# 0 of index 1, including the rates of algebraic unknowns.
#
# An integrator's first step follows the line through y and y'. With a zero rate
# for an algebraic unknown that line is wrong at any step size: an unknown such
# as z == sin(t) would be rejected however short the step. The rates of the
# algebraic unknowns follow from the time derivative of the equations.

# y and y' at t0. Differential unknowns (id 1) keep their values y0; their rates
# and the algebraic unknowns are solved for, starting from the given values and
# from rates of zero.
#
# Method: Newton's method with the natural monotonicity test (Deuflhard, Newton
# Methods for Nonlinear Problems, Springer 2004, 3.3.2). If it fails, the result
# is y0 and zeros, and the integrator reports the error. Rates and algebraic
# values have no derivatives: the integrator computes both again with its
# sensitivities.
_dae_start(F, jac, y0, id, t0, o) = {
  (y, yp) = _primal(() -> _dae_started(F, jac, y0, id, t0, o))
  (where(id > 0, y0, y), yp)
}
_dae_started(F, jac, y0, id, t0, o) = {
  moves = id > 0
  # columns by unknown: rates of differential ones, values of algebraic ones
  matrix = (y, yp) -> if kind(o.pattern) == "none" {
    where(expand(moves, 0), _rows_jacobian(v -> F(t0, y, v), yp),
      _rows_jacobian(v -> F(t0, v, yp), y))
  } else {
    (column_start, rows) = o.pattern
    columns = repeat(iota(len(column_start) - 1), column_start[1..] - column_start[..-1])
    # the derivative with respect to y' is the part that grows with c; a large c
    # preserves its digits
    still = jac(t0, y, yp, 0.0)
    moving = 1e-10 * (jac(t0, y, yp, 1e10) - still)
    sparse(rows, columns, where(moves[columns], moving, still), len(y0), len(y0))
  }
  solve = (A, r) -> try {
    linsolve(A, r)
  } catch e {
    if kind(A) == "sparse" { 0 * r + nan } else { pinv(A) @ r }
  }
  (y, yp) = (y0, 0.0 * y0)
  size_of = (d, y, yp) -> _rms(d / (o.atol + o.rtol * abs(where(moves, yp, y))))
  r = F(t0, y, yp)
  A = matrix(y, yp)
  d = -solve(A, r)
  size = size_of(d, y, yp)
  turn = 0
  open = size < inf
  while open and size > 1e-3 and turn < 50 {
    part = 1.0
    taken = false
    while not taken and part > 1e-5 {
      step = part * d
      (y1, yp1) = (where(moves, y, y + step), where(moves, yp + step, yp))
      r1 = F(t0, y1, yp1)
      size1 = size_of(solve(A, r1), y1, yp1)
      taken = size1 <= (1 - 0.25 * part) * size
      if taken { y = y1; yp = yp1; r = r1 } else { part = 0.5 * part }
    }
    open = taken
    turn = turn + 1
    if taken {
      A = matrix(y, yp)
      d = -solve(A, r)
      size = size_of(d, y, yp)
    }
  }
  # at rounding, a negligible relative change also counts as converged
  there = size <= 1e-3 or max(abs(d) / (1 + max(abs(where(moves, yp, y))))) <= 1e-9
  (_, drift) = jvp(q -> F(q[0], q[1], yp), (t0, y), (1.0, where(moves, yp, 0.0)))
  rates = -solve(A, drift)
  all = where(moves, yp, rates)
  if there and max(abs(y) + abs(all)) < inf { (y, all) } else { (y0, 0.0 * y0) }
}
