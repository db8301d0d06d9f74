# ode_rest.dsl - derivatives at equilibria, and of solutions with unexcited
# modes.
#
# A component at rest has no error, however long the step, so step control does
# not see its response to a perturbation, which is its derivative. Derivatives
# there do not come from the steps, but from the sensitivity equations or the
# adjoint problem (CVODES), which control their own errors. A whole solution has
# more rows there, so that its derivatives can be interpolated.
#
# All unknowns may move and a mode still be unexcited: a perturbation of two
# equal pendulums that swing together excites their relative motion. The
# eigenvalues of the Jacobian reveal such modes.

# Whether an unknown keeps its value, within ten times atol, for a hundredth of
# the way. T, Y: rows.
_rests(T, Y, o) = {
  (T, Y) = (stop_gradient(T), stop_gradient(Y))
  (at, since, longest) = (Y[0], T[0] + 0.0 * Y[0], 0.0 * Y[0])
  for k in 1..len(T) {
    moved = not (abs(Y[k] - at) <= 10 * o.atol + o.rtol * abs(at))
    longest = where(moved, longest, max(longest, abs(T[k] - since)))
    at = where(moved, Y[k], at)
    since = where(moved, T[k], since)
  }
  any(longest > 0.01 * abs(T[-1] - T[0]))
}

# Whether derivatives should come from the sensitivity equations: for a solution
# at rest or with an unexcited mode, unless the Jacobian grows as 1/(t - t0)
# from the start. There some perturbations are unbounded and CVODES stops, while
# those of the steps are finite.
_wants_equations(m, f, jac, T, Y, o) =
  if _rests(T, Y, o) or len(_primal(() -> _missed_modes(m, f, jac, T, Y, o, 200))) > 0 {
    near = stop_gradient(1e-12 * (T[-1] - T[0]))
    not (max(abs(stop_gradient(jac(T[0] + near, Y[0])))) * abs(near) > 0.1)
  } else { false }

# Eigenvalues of the Jacobian for which steps are too long: c128[k]. It checks
# the longest step, and for up to eight unknowns two others. For more than
# `most` unknowns it checks the largest eigenvalue alone, without a prior bound.
_missed_modes(m, f, jac, T, Y, o, most) = {
  (T, Y) = (stop_gradient(T), stop_gradient(Y))
  if len(Y[0]) > most {
    _missed_of(m, (t, y, after) -> 1e300, (t, y, yp) -> _largest_rate(f, t, y), T, Y, o)
  } else {
    matrix = (t, y) -> try { _matrix_at(jac, t, y, o) } catch e { zeros(len(y), len(y)) }
    _missed_of(m, (t, y, after) -> _lasting_below(matrix(t, y), after),
      (t, y, yp) -> eigvals(matrix(t, y)), T, Y, o)
  }
}
# A bound for the absolute values of those eigenvalues of A whose perturbations
# last for the time `after`: exp(real(λ) after) > 1e-9. Real parts are bounded
# by A + A' with Gershgorin discs, imaginary ones by A - A' (Bendixson 1902). A
# is balanced (Osborne 1960), so that rows and columns have equal weight: the
# matrix of a heat equation becomes symmetric, whatever its boundary conditions.
_lasting_below(A, after) = {
  n = len(A)
  off = where(expand(iota(n), 1) == expand(iota(n), 0), 0.0, A)
  for turn in 0..2 {
    (row, column) = (sum(abs(off); axis = 1), sum(abs(off); axis = 0))
    d = where(row > 0 and column > 0, sqrt(column / where(row > 0, row, 1.0)), 1.0)
    off = expand(d, 1) * off / expand(d, 0)
  }
  diagonal = A[iota(n), iota(n)]
  all = max(abs(diagonal) + sum(abs(off); axis = 1))
  real_part = max(diagonal + 0.5 * sum(abs(off + off'); axis = 1))
  imaginary_part = 0.5 * max(sum(abs(off - off'); axis = 1))
  min(all, sqrt(max(real_part, 21 / max(after, 1e-100))^2 + imaginary_part^2))
}
# An approximate dominant eigenvalue of the Jacobian, by 26 products with it:
# c128[1].
_largest_rate(f, t, y) = {
  times_J = v -> try { jvp(u -> f(t, u), y, v)[1] } catch e { 0.0 * y }
  (v, grown) = (sin(1.0 + 2.3 * iota(len(y))^2 % 7.0), 0.0)
  for turn in 0..24 {
    v = times_J(v / max(norm(v), 1e-300))
    if turn >= 12 { grown = grown + log(max(norm(v), 1e-300)) }
  }
  # margin for several eigenvalues of similar size, where the iteration has not
  # converged
  size = 1.2 * exp(grown / 12)
  # two products return a decaying mode to itself, and an oscillating one to its
  # opposite
  v = v / max(norm(v), 1e-300)
  (w, twice) = { w = times_J(v); (w, times_J(w)) }
  back = clamp((v @ twice) / max(norm(twice), 1e-300), -1.0, 1.0)
  along = size * sqrt(0.5 + 0.5 * back)
  [(if v @ w > 0 { along } else { -along }) + 1im * sqrt(size^2 - along^2)]
}
# The approximate stability limit of explicit steps for h |λ|: about 3.3 for
# order 5 and 6 for order 8.
_stable_for(m) = 0.75 * _order_of_steps(m)
# below(t, y, after): a bound for lasting rates; rates(t, y, y'): the rates.
_missed_of(m, below, rates, T, Y, o) = {
  (n, d) = (len(Y[0]), m.degree)
  steps = (len(T) - 1) // d
  found = c128(zeros(0))
  if steps > 0 {
    h = T[d + d * iota(steps)] - T[d * iota(steps)]
    longest = argmax(abs(h))
    for k in if n > 8 { stack(longest) } else { stack(steps // 2, steps - 1, longest) } {
      (t, y) = (T[d * k], Y[d * k])
      top = below(t, y, abs(t - T[0]))
      if len(_too_fast(m, concat([1im * top], [c128(-top)]), 0.0, abs(h[k]), n, o)) > 0 {
        λ = rates(t, y, (Y[d * k + d] - y) / h[k])
        found = concat(found, _too_fast(m, λ, abs(t - T[0]), abs(h[k]), n, o))
      }
    }
  }
  found
}
# The rates λ for which a step of h, at the time `after` its beginning, is too
# long. If a mode of frequency λ dominates, step control limits (h |λ|)^(p +
# 1)/(p + 1)! to about three times rtol. A thousand times rtol shows that the
# mode was not controlled. Decaying modes that a method resolves or keeps
# bounded do not affect lasting derivatives. For more than 32 unknowns the
# fastest waves of a grid are ignored, too: only unstable steps count.
_too_fast(m, λ, after, h, n, o) = {
  p = _order_of_steps(m)
  size = (1000 * max(o.rtol, 1e-12) * exp(lgamma(p + 2)))^(1 / (p + 1))
  unstable = if has(m, "explicit") { _stable_for(m) } else { inf }
  waves = real(λ) > -abs(imag(λ))
  limit = where(waves and (n <= 32 or unstable == inf), size, max(size, unstable))
  λ[h * abs(λ) > limit and real(λ) * after > -21]
}

# The rate of perturbations of a solution with these rows, if it is at rest or
# has an unexcited mode; then at least `known`. Otherwise 0.
_rate_of_changes(m, f, jac, T, Y, o, known) = {
  λ = if _rests(T, Y, o) {
    concat(_rates_at(jac, T[0], Y[0], o), [known + 0im])
  } else {
    _missed_modes(m, f, jac, T, Y, o, 32)
  }
  # an implicit method need not resolve decaying modes
  λ = if has(m, "explicit") { λ } else { λ[real(λ) > -abs(imag(λ))] }
  max(concat([0.0], abs(λ)))
}
# The step size that resolves a perturbation of this rate to rtol.
_step_for_changes(m, rate, o) = {
  p = _order_of_steps(m)
  (max(o.rtol, 1e-9) * exp(lgamma(p + 2)))^(1 / (p + 1)) / rate
}
_order_of_steps(m) = {
  order = if has(m, "order") { m.order } else { 0 }
  f64(if _known(order, "the order of a method") > 0 { order } else { m.degree + 1 })
}

# Rows at saveat, or at T if all are requested, with the derivatives of the
# sensitivity equations.
_by_sensitivities(m, f, jac, y0, t0, t1, o, T, Y) = {
  at = if _asks_all(o.saveat) { _between(T, t0, t1) } else { o.saveat }
  # Sensitivities scale with the quantities that change, which may be small
  # compared to atol. Then the first row, not all rows, gives the sizes.
  (sizes, first) = (max(abs(stop_gradient(Y)); axis = 0), max(abs(stop_gradient(Y[0]))))
  sizes = where(sizes <= 100 * o.atol and first > 0, min(sizes, first), sizes)
  sizes = max(sizes, 1e-6 * max(sizes))
  atol = min(o.atol, where(sizes > 0, o.rtol * sizes, inf))
  # Errors of many steps accumulate, more for backward differentiation, which
  # stiff problems need.
  of = part -> (...o, saveat = at, rtol = part * o.rtol, atol = part * atol)
  rate = max(abs(stop_gradient(jac(t0, y0))))
  rows = if rate * abs(stop_gradient(t1 - t0)) > 1e4 {
    _by_cvode(bdf(max_step = m.max_step), f, jac, y0, t0, t1, of(0.01))[1]
  } else { _by_cvode(adams(max_step = m.max_step), f, jac, y0, t0, t1, of(0.1))[1] }
  (at, rows)
}

# The number of parts for each step of a whole solution, so that the method's
# polynomials resolve its derivatives. It applies where an unknown is at rest
# from the start (for more than 32 unknowns all of them), or a mode is
# unexcited.
_parts_at_rest(f, jac, T, Y, m, o) =
  _parts_by(m, f, (t, y, yp) -> _rates_at(jac, t, y, o),
    () -> _missed_modes(m, f, jac, T, Y, o, 32), stop_gradient(T), stop_gradient(Y), o)
_parts_by(m, f, rates, missed, T, Y, o) = {
  (n, d) = (len(Y[0]), m.degree)
  # relative to the other unknowns, however large atol is
  within = min(10 * o.atol, 1e-3 * max(abs(Y))) + o.rtol * abs(Y[0])
  early = 0.01 * abs(T[-1] - T[0])
  moved = 0.0 * Y[0]
  k = 0
  open = true
  # ends of steps, so that whole steps are at rest
  while open and k + d < len(T) {
    moved = max(moved, f64(not (abs(Y[k + d] - Y[0]) <= within)))
    open = (if n <= 32 { min(moved) } else { max(moved) }) == 0
    if open { k = k + d }
  }
  if abs(T[k] - T[0]) <= early {
    λ = missed()
    if len(λ) == 0 { _uncut(T, d) } else { _parts_for(λ, T, T[-1], n, d, max(o.rtol, 1e-9)) }
  } else {
    λ =
      concat(rates(T[0], Y[0], 0.0 * Y[0]), 1im * expand(_rate_of_watched(f, T[0], T[k], Y[0]), 0))
    _parts_for(λ, T, T[k], n, d, max(o.rtol, 1e-9))
  }
}
# The largest relative rate of change between a and b of functions of t alone.
_rate_of_watched(f, a, b, y) = {
  watched = t -> _watched(f, t, y)
  if len(watched(a)) == 0 { 0.0 } else {
    V = _seen_at(watched, linspace(a, b, 2049))
    size = max(abs(V); axis = 0)
    change = abs(V[1..] - V[..-1]) / expand(where(size > 0, size, 1.0), 0)
    max(where(change < inf, change, 0.0)) * 2048 / abs(b - a)
  }
}
# A whole solution with its steps split where it is at rest, and the number of
# parts of each.
_with_rest(f, jac, T, Y, m, o) = {
  q = _parts_at_rest(f, jac, T, Y, m, o)
  (at, rows) = if _are_uncut(q) { (T, Y) } else { _parted(T, Y, q, m.degree) }
  (at, rows, q)
}
_uncut(T, d) = i64(ones((len(T) - 1) // d))
_are_uncut(parts) = sum(parts) == len(parts)
# Eigenvalues of the Jacobian; for a large one a sequence of decay rates up to a
# bound; zeros if it has no value.
_rates_at(jac, t, y, o) = try { _finite_rates(jac, t, y, o) } catch e { c128(zeros(len(y))) }
_finite_rates(jac, t, y, o) = {
  n = len(y)
  if n > 200 {
    c128(-2.0 * max(abs(jac(t, y))) * 2^(-f64(iota(60))))
  } else {
    eigvals(_matrix_at(jac, t, y, o))
  }
}
# The dense Jacobian, or zeros if it is not finite.
_matrix_at(jac, t, y, o) = {
  n = len(y)
  J = jac(t, y)
  A = zeros(n, n)
  # a complex right-hand side or one of another extent is reported elsewhere
  if kind(o.pattern) == "none" { A[..len(J), ..] = real(J) } else {
    (column_start, rows) = o.pattern
    A[rows, repeat(iota(n), column_start[1..] - column_start[..-1])] = J
  }
  if all(abs(A) < inf) { A } else { zeros(n, n) }
}
# The same for these rates λ up to the time `end`: h |λ| is small for those that
# still matter, exp(t λ) > 1e-9.
_parts_for(λ, T, end, n, d, tol) = {
  steps = (len(T) - 1) // d
  (a, b) = (T[d * iota(steps)], T[d + d * iota(steps)])
  way = sign(T[-1] - T[0])
  # the error of interpolating exp(h λ) by a polynomial of degree d, 2 (h λ /
  # 4)^(d + 1) / (d + 1)!, is tol
  size = 4 * (0.5 * tol * exp(lgamma(d + 2.0)))^(1 / (d + 1))
  most = 4e6 / (n * d)
  out = i64(zeros(steps)) + 1
  for k in 0..steps {
    if way * (a[k] - end) < 0 {
      lasting = real(λ) * (a[k] - T[0]) > -21
      rate = max(where(lasting, abs(λ), 0.0))
      h = abs(b[k] - a[k])
      out[k] = if rate > 0 {
        i64(min(ceil(max(h * rate / size, 64 * h / abs(T[-1] - T[0]))), 1e6))
      } else {
        1
      }
    }
  }
  max(1, i64(f64(out) * min(1.0, min(5000.0, most) / sum(out))))
}
# The rows of a solution, and those by its polynomials where step k is split
# into q[k] parts.
_parted(T, Y, q, d) = {
  k = repeat(iota(len(q)), q)
  j = iota(len(k)) - (cumsum(q) - q)[k]
  (a, b) = (T[d * k], T[d + d * k])
  nodes = 0.5 - 0.5 * cos(π * (iota(d) + 1) / d)
  at = expand(a, 1) + (expand(f64(j), 1) + expand(nodes, 0)) / expand(f64(q[k]), 1) *
    expand(b - a, 1)
  at = concat(T[..1], ravel(at))
  # ends stay unchanged
  at[d * cumsum(q)] = T[d + d * iota(len(q))]
  (at,
    map((i, t) -> _through_one(T, Y, d * i, d, t), concat(i64(zeros(1)), repeat(k, d + 0 * k)), at))
}

# ---- F(t, y, y') == 0

# Whether F(t, y, y') == 0 has so few unknowns that dense matrices cost little
# compared to its steps.
_has_few(y) = len(y) <= 100
# The finite eigenvalues of F_y + λ F_y' at these values; 0 for others and where
# they have no value. For many unknowns a single one without a bound.
_rates_of_implicit(F, t, y, yp) = if not _has_few(y) { stack(1e300im) } else { try {
  (A, B) = (_rows_jacobian(v -> F(t, v, yp), y), _rows_jacobian(v -> F(t, y, v), yp))
  # by the eigenvalues 1/(s - λ) of a transformed problem
  s = 0.7 * max(abs(A)) / max(abs(B))
  μ = eigvals(linsolve(A + s * B, B))
  known = abs(μ) > 1e-8 * max(abs(μ))
  where(known, s - 1 / where(known, μ, 1 + 0im), 0im)
} catch e { c128(zeros(len(y))) } }
_missed_by_implicit(F, T, Y, o) = if not _has_few(Y[0]) { c128(zeros(0)) } else {
  _missed_of((degree = 5), (t, y, after) -> 1e300, (t, y, yp) -> _rates_of_implicit(F, t, y, yp),
    stop_gradient(T), stop_gradient(Y), o)
}
# _with_rest for an implicit system.
_with_rest_of_implicit(F, T, Y, o) = {
  (T, Y) = (stop_gradient(T), stop_gradient(Y))
  q = _parts_by((degree = 5), (t, y) -> F(t, y, 0.0 * y),
    (t, y, yp) -> _rates_of_implicit(F, t, y, yp), () -> _missed_by_implicit(F, T, Y, o), T, Y, o)
  (at, rows) = if _are_uncut(q) { (T, Y) } else { _parted(T, Y, q, 5) }
  (at, rows, q)
}
# Whether an implicit system is at rest or has an unexcited mode, judged by rows
# at times T after t0 and y0 and the number of steps to the last.
_is_idle_implicit(F, t0, y0, T, Y, steps, o) = {
  (times, rows) = (stop_gradient(concat(expand(t0, 0), T)), stop_gradient(concat(expand(y0, 0), Y)))
  if _rests(times, rows, o) { true } else {
    # steps of the mean length at the end
    h = (times[-1] - times[0]) / max(steps, 1)
    λ = _rates_of_implicit(F, times[-1], rows[-1], 0.0 * rows[0])
    len(_too_fast((degree = 5), λ, abs(times[-1] - times[0]), abs(h), len(y0), o)) > 0
  }
}
# Rows at saveat with derivatives by the equation for all rates.
_by_rate_of_implicit(m, F, jac, y0, id, t0, t1, o, T, Y) = {
  (y, slope) = _dae_start(F, jac, y0, id, t0, o)
  r = _solved_implicit(F, id, slope)
  f = _rate_of_implicit(F, id, slope)
  start = where(id > 0, y0, r(t0, y))
  _by_sensitivities(m, f, (t, u) -> _rows_jacobian(v -> f(t, v), u), start, t0, t1,
    (...o, pattern = none), T, Y)[1]
}
