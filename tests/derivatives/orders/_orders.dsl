# The orders up to which the derivatives of a scalar function agree. The tests
# of this folder use these functions.

_next(f) = t -> jvp(f, t, 1.0)[1]
_near(x, y, size, tol) = abs(x - y) <= tol * max(size, 1.0)

# Returns the derivative of g at t by 8th-order central differences, which
# evaluate g at eight points.
_slope(g, t, h) =
  (672(g(t + h) - g(t - h)) - 168(g(t + 2h) - g(t - 2h)) + 32(g(t + 3h) - g(t - 3h)) - 3(g(t + 4h) - g(t - 4h))) / (840h)

# Returns the highest order up to which all entries are true.
_highest(good) = { n = 0; for i in iota(4) { n = if good[i] and n == i { n + 1 } else { n } }; n }

# Compares g at three points in a map with single calls.
_alike(g, t, size, tol) = {
  ts = [t, t + 0.001, t - 0.002]
  max(abs(map(g, ts) - [g(ts[0]), g(ts[1]), g(ts[2])])) <= tol * max(size, 1.0)
}

# orders(name, f, t; exact = none) returns
# "name: forward n, reverse n, Taylor n, batch yes", where n is the order up to
# which the derivatives of f at t agree.
# - forward: nested jvp, within 1e-9 of the central difference of the next lower
#   derivative, or within 1e-12 of `exact` (a list of four)
# - reverse: grad of the nested jvp, nested jvp of grad, and grad of grad,
#   within 1e-11 of forward
# - Taylor: one expansion, within 1e-11 of forward
# - batch: map of the fourth derivative and of the gradient over three points,
#   within 1e-11 of single calls
#
# Errors are relative to the largest of the derivatives up to that order. With
# `lanes` false the batch is not tested, because it is an error (tests/errors)
# or draws its own random numbers.
orders(name, f, t; exact = none, h = 0.01, lanes = true) = {
  d1 = _next(f)
  d2 = _next(d1)
  d3 = _next(d2)
  d4 = _next(d3)
  F = [d1(t), d2(t), d3(t), d4(t)]
  N = if exact == none { [_slope(f, t, h), _slope(d1, t, h), _slope(d2, t, h), _slope(d3, t, h)] } else { exact }
  R = [grad(f)(t), grad(d1)(t), grad(d2)(t), grad(d3)(t)]
  M = [grad(f)(t), _next(grad(f))(t), _next(_next(grad(f)))(t), grad(grad(d2))(t)]
  T = taylor(f, t, 4)[1..] * [1, 2, 6, 24]
  S = cumsum(abs(F)) + abs(f(t))
  near = if exact == none { 1e-9 } else { 1e-12 }
  forward = _highest(map((x, y, s) -> _near(x, y, s, near), F, N, S))
  reverse = _highest(map((x, y, z, s) -> _near(x, z, s, 1e-11) and _near(y, z, s, 1e-11), R, M, F, S))
  series = _highest(map((x, y, s) -> _near(x, y, s, 1e-11), T, F, S))
  batch = if lanes { _alike(d4, t, S[3], 1e-11) and _alike(grad(f), t, S[0], 1e-11) } else { false }
  "{name}: forward {forward}, reverse {reverse}, Taylor {series}, batch {if batch { "yes" } else { "no" }}"
}

# solver_orders(name, f, t, exact, tol) does the same for a solver, whose
# derivatives must match exact (f64[4]) within tol.
solver_orders(name, f, t, exact, tol) = {
  d1 = _next(f)
  d2 = _next(d1)
  d3 = _next(d2)
  forward = _highest(abs([d1(t), d2(t), d3(t), _next(d3)(t)] - exact) <= tol)
  back = abs([grad(f)(t), grad(d1)(t), grad(d2)(t), grad(d3)(t)] - exact) <= tol
  twice = abs([grad(f)(t), grad(grad(f))(t), _next(grad(grad(f)))(t), grad(grad(d2))(t)] - exact) <= tol
  series = _highest(abs(taylor(f, t, 4)[1..] * [1, 2, 6, 24] - exact) <= tol)
  batch = _alike(d1, t, 1.0, tol) and _alike(grad(f), t, 1.0, tol)
  "{name}: forward {forward}, reverse {min(_highest(back), _highest(twice))}, Taylor {series}, batch {if batch { "yes" } else { "no" }}"
}
