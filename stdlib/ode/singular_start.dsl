# singular_start.dsl - problems in one coordinate that start at a regular
# singular point, such as r == 0 for r*u_rr + 2*u_r + r*u == 0.
#
# At such a point the equations have no value, but smooth solutions satisfy them
# in the limit. On a first piece the solution is a polynomial with the initial
# values that satisfies the equations at Chebyshev points after the start
# (collocation, as in bvp.dsl). The piece is halved until two degrees agree to
# the tolerances. A solution that is not smooth there has no such polynomial and
# remains an error.

_singular_degrees = (8, 12)

# Whether the rates of y' = f(t, y) have no value at t0, but one just inside.
_begins_singular(f, y0, t0, t1) =
  any(not (abs(f(t0, y0)) < inf)) and all(abs(f(t0 + 1e-6 * (t1 - t0), y0)) < inf)

# Whether an equation depends on the coordinate, according to its code.
_depends_on_coordinate(info) = {
  any = false
  for q in info.equations { if _residual_dependence(info, q).depends[0] { any = true } }
  any
}
# Where and how the rest begins, and what to save of it: after a singular point,
# or at the start of the whole.
_first_piece(f, y0, tspan, o, singular) = {
  (t0, t1) = (f64(tspan[0]), f64(tspan[1]))
  way = sign(t1 - t0)
  asked = f64(o.saveat)
  behind = asked[way * (asked - t0) > 0]
  first = if len(behind) > 0 { behind[0] } else { t1 }
  (found, times, rows) = if singular { _past_singular(f, y0, t0, t1, first, o) } else {
    many = _singular_degrees[1]
    (false, zeros(many + 1) + t0, zeros(many + 1, len(y0)) + y0)
  }
  end = if found { times[-1] } else { t0 }
  (found = found, times = times, rows = rows, end = end, state = if found { rows[-1] } else { y0 },
    saveat = if found { behind } else { asked })
}
# The rows of the first piece without the last one. If all rows are requested,
# they are those of steps with `degree` equal parts.
_early_rows(piece, o, degree) = {
  n = len(piece.state)
  if not piece.found { (zeros(0), zeros(0, n)) } else if _asks_all(o.saveat) {
    # steps short enough for polynomials of that degree
    parts = degree * i64(ceil(1.5 * o.rtol^(-1.0 / (degree + 1))))
    x = f64(iota(parts)) / parts
    (piece.times[0] + x * (piece.times[-1] - piece.times[0]), _at_fractions(piece.rows, x))
  } else {
    now = f64(o.saveat)[f64(o.saveat) == piece.times[0]]
    (now, zeros(len(now), n) + piece.rows[0])
  }
}

# The first piece: whether it exists, its times (Chebyshev points), and the
# states there. It ends at `first`, the first requested time after t0, or
# before.
_past_singular(f, y0, t0, t1, first, o) = {
  many = _singular_degrees[1]
  (found, h, Z) =
    _primal(() -> _agreeing(f, y0, t0, sign(t1 - t0) * min(0.25 * abs(t1 - t0), abs(first - t0)),
      o))
  (x, D) = _polynomial_on(many)
  U = _zeros_at(u -> _off_polynomial(f, y0, t0, h, x, D, u), ravel(Z[1..]))
  rows = concat(expand(y0, 0), reshape(U, many, len(y0)))
  (found > 0, t0 + h * x, rows)
}
# Whether polynomials of both degrees agree on a piece of length h or less, its
# length, and the polynomial of higher degree.
_agreeing(f, y0, t0, h, o) = {
  (few, many) = _singular_degrees
  (found, turn) = (false, 0)
  Z = zeros(many + 1, len(y0)) + y0
  while not found and turn < 24 {
    Y = _on_polynomial(f, y0, t0, h, few)
    Z = _on_polynomial(f, y0, t0, h, many)
    size = max(abs(Z); axis = 0)
    # also near the start, where a non-smooth solution bends
    at = [0.01, 0.1, 0.5, 1.0]
    off = max(abs(_at_fractions(Y, at) - _at_fractions(Z, at)); axis = 0)
    found = max(off / (size + 1e-3 * max(size) + 1e-300)) < 0.1 * o.rtol
    if not found { h = 0.5 * h }
    turn = turn + 1
  }
  (f64(found), h, Z)
}
# The s + 1 Chebyshev points of [0, 1], and the differentiation matrix on them.
_polynomial_on(s) = { (z, D) = _chebyshev_matrices(s, 1); (0.5 + 0.5 * z, 2 * D[1]) }
# The values at x of the polynomial through values at these points.
_at_fractions(Y, x) = {
  nodes = _polynomial_on(len(Y) - 1)[0]
  transpose(map(y -> barycentric(nodes, y)(x), transpose(Y)))
}
# The residual of the equations at all points but the first.
_off_polynomial(f, y0, t0, h, x, D, u) = {
  Y = concat(expand(y0, 0), reshape(u, len(x) - 1, len(y0)))
  ravel((D @ Y)[1..] - h * map(f, t0 + h * x[1..], Y[1..]))
}
# The values at the points by Newton's method; NaN if it does not converge.
_on_polynomial(f, y0, t0, h, s) = {
  (x, D) = _polynomial_on(s)
  F = u -> _off_polynomial(f, y0, t0, h, x, D, u)
  u = ravel(broadcast_to(expand(y0, 0), s, len(y0)) + 0.0)
  (turn, last, open) = (0, inf, true)
  while open {
    J = _jacobian(F, u)
    # none of several solutions is chosen
    d = if _is_singular(J) { 0.0 * u + nan } else { _solved_or_nan(J, F(u)) }
    now = norm(d)
    # corrections that no longer decrease are rounding, or diverge
    open = now > 0 and now < last and turn < 30
    if not (now < inf) { u = u + nan } else if now < last { u = u - d }
    if now >= last and now > 1e-9 * (norm(u) + 1e-300) { u = u + nan }
    last = now
    turn = turn + 1
  }
  concat(expand(y0, 0), reshape(u, s, len(y0)))
}
