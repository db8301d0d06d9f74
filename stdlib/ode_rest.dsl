# ode_rest.dsl - derivatives where a solution rests.
#
# What does not move has no error, however long the step: nothing looks at how it would answer to a change, which is
# its derivative. So this is not taken from the steps there, but from the equations of sensitivities or the adjoint
# problem (CVODES), whose own errors are looked at. And a whole solution has more rows there, between which they can be read.

# Whether an unknown keeps its value, within ten times atol, for a hundredth of the way. T, Y: rows.
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

# Whether derivatives are to come from the equations: of a solution that rests, unless the Jacobian grows as 1/(t - t0) from its
# beginning. Some changes have no bound there, and CVODES stops; those of the steps have values.
_wants_equations(jac, T, Y, o) = if _rests(T, Y, o) {
  near = stop_gradient(1e-12 * (T[-1] - T[0]))
  not (max(abs(stop_gradient(jac(T[0] + near, Y[0])))) * abs(near) > 0.1)
} else { false }

# Rows at saveat, or at T where all are asked for, whose derivatives are those of the equations
_by_sensitivities(m, f, jac, y0, t0, t1, o, T, Y) = {
  at = if _asks_all(o.saveat) { _between(T, t0, t1) } else { o.saveat }
  # Changes are measured in sizes of what changes, which may be small beside atol, so that
  # rows are no sizes either but for the first.
  (sizes, first) = (max(abs(stop_gradient(Y)); axis = 0), max(abs(stop_gradient(Y[0]))))
  sizes = where(sizes <= 100 * o.atol and first > 0, min(sizes, first), sizes)
  sizes = max(sizes, 1e-6 * max(sizes))
  atol = min(o.atol, where(sizes > 0, o.rtol * sizes, inf))
  # errors of many steps add up, the more by backward differences, which stiff problems want
  of = part -> (...o, saveat = at, rtol = part * o.rtol, atol = part * atol)
  rate = max(abs(stop_gradient(jac(t0, y0))))
  rows = if rate * abs(stop_gradient(t1 - t0)) > 1e4 {
    _by_cvode(bdf(max_step = m.max_step), f, jac, y0, t0, t1, of(0.01))[1]
  } else { _by_cvode(adams(max_step = m.max_step), f, jac, y0, t0, t1, of(0.1))[1] }
  (at, rows)
}

# Into how many parts each step of a whole solution is to be cut, so that the polynomials of the method, of degree d,
# hold what its derivatives do where an unknown rests from the beginning, or of more than 32 all do.
_parts_at_rest(f, jac, T, Y, d, o) = {
  (T, Y) = (stop_gradient(T), stop_gradient(Y))
  n = len(Y[0])
  # beside what else there is, however large atol
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
  if abs(T[k] - T[0]) <= early { _uncut(T, d) } else {
    λ = concat(_rates_at(jac, T[0], Y[0], o), 1im * expand(_rate_of_watched(f, T[0], T[k], Y[0]), 0))
    _parts_for(λ, T, T[k], n, d, max(o.rtol, 1e-9))
  }
}
# How fast what depends on the time alone changes between a and b, beside its size
_rate_of_watched(f, a, b, y) = {
  watched = t -> _watched(f, t, y)
  if len(watched(a)) == 0 { 0.0 } else {
    V = _seen_at(watched, linspace(a, b, 2049))
    size = max(abs(V); axis = 0)
    change = abs(V[1..] - V[..-1]) / expand(where(size > 0, size, 1.0), 0)
    max(where(change < inf, change, 0.0)) * 2048 / abs(b - a)
  }
}
# A whole solution with its steps cut in parts where it rests, and into how many each
_with_rest(f, jac, T, Y, d, o) = {
  q = _parts_at_rest(f, jac, T, Y, d, o)
  (at, rows) = if _are_uncut(q) { (T, Y) } else { _parted(T, Y, q, d) }
  (at, rows, q)
}
_uncut(T, d) = i64(ones((len(T) - 1) // d))
_are_uncut(parts) = sum(parts) == len(parts)
# Eigenvalues of the Jacobian, or of a large one a series of decays as fast as any may be; none where it has no value
_rates_at(jac, t, y, o) = try { _finite_rates(jac, t, y, o) } catch e { c128(zeros(len(y))) }
_finite_rates(jac, t, y, o) = {
  n = len(y)
  J = jac(t, y)
  if n > 200 { c128(-2.0 * max(abs(J)) * 2^(-f64(iota(60)))) } else {
    A = zeros(n, n)
    # of a right-hand side that is complex or of another length it is said elsewhere
    if kind(o.pattern) == "none" { A[..len(J), ..] = real(J) } else {
      (column_start, rows) = o.pattern
      A[rows, repeat(iota(n), column_start[1..] - column_start[..-1])] = J
    }
    if all(abs(A) < inf) { eigvals(A) } else { c128(zeros(n)) }
  }
}
# The same by these rates λ up to the time `end`: h |λ| is small for those that are not over, exp(t λ) < 1e-9
_parts_for(λ, T, end, n, d, tol) = {
  steps = (len(T) - 1) // d
  (a, b) = (T[d * iota(steps)], T[d + d * iota(steps)])
  way = sign(T[-1] - T[0])
  # what the polynomial of degree d leaves of exp(h λ), 2 (h λ / 4)^(d + 1) / (d + 1)!, is tol
  size = 4 * (0.5 * tol * exp(lgamma(d + 2.0)))^(1 / (d + 1))
  most = 4e6 / (n * d)
  out = i64(zeros(steps)) + 1
  for k in 0..steps {
    if way * (a[k] - end) < 0 {
      lasting = real(λ) * (a[k] - T[0]) > -21
      rate = max(where(lasting, abs(λ), 0.0))
      h = abs(b[k] - a[k])
      out[k] = if rate > 0 { i64(min(ceil(max(h * rate / size, 64 * h / abs(T[-1] - T[0]))), 1e6)) } else { 1 }
    }
  }
  max(1, i64(f64(out) * min(1.0, min(5000.0, most) / sum(out))))
}
# The rows of a solution, and those by its polynomials where step k is cut into q[k] parts
_parted(T, Y, q, d) = {
  k = repeat(iota(len(q)), q)
  j = iota(len(k)) - (cumsum(q) - q)[k]
  (a, b) = (T[d * k], T[d + d * k])
  nodes = 0.5 - 0.5 * cos(π * (iota(d) + 1) / d)
  at = expand(a, 1) + (expand(f64(j), 1) + expand(nodes, 0)) / expand(f64(q[k]), 1) * expand(b - a, 1)
  at = concat(T[..1], ravel(at))
  # ends are what they were
  at[d * cumsum(q)] = T[d + d * iota(len(q))]
  (at, map((i, t) -> _through_one(T, Y, d * i, d, t), concat(i64(zeros(1)), repeat(k, d + 0 * k)), at))
}
