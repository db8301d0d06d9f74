# spectral.dsl - Fourier pseudo-spectral solution of periodic problems: the
# linear part with constant factors exactly or implicitly in time, the remainder
# explicitly.
#
# Method: the equations are u_t + L u + N(u) == 0. L u are the terms with
# constant factors (linear in the problem's info); their Fourier symbol follows
# from the derivative of the residual with respect to its jets. N is the
# remaining residual, evaluated at the grid points. A field without a time
# derivative, whose equations are all linear (a stream function, a potential),
# follows from the others mode by mode.
#
# A constraint C u == 0, such as div(v) == 0, makes a system of index 2, with a
# field p such as a pressure that enters the rates by G p. For each mode p = -(C
# G)⁻¹ C (L u + N), which preserves C u. The integrated system is u_t + P (L u +
# N) == 0 with the Leray projection P = 1 - G (C G)⁻¹ C (A. J. Chorin, Math.
# Comp. 22, 1968), which is exact for constant factors. In modes where C G is
# zero, such as the mean, nothing constrains u, and p is 0 unless a condition at
# a point fixes it.
#
# Storage: in one dimension modes are real, in half-complex layout: the real
# parts of the lower half, then the imaginary parts backwards (_half_waves). A
# complex factor of a mode is then two real factors, for the mode's own element
# and for its other part (_wave_factors). In more dimensions modes are complex,
# and two real arrays share one complex transform.

# etdrk4(dt; max_steps): exponential time differencing Runge-Kutta of order 4
# for fourier(): stiff linear parts do not limit the step.
#   Without dt the step follows from rtol: two steps are compared with one of
#   twice the length. The comparison happens every fourth time, at the end, and
#   where the difference of the stages has grown. If it fails, the steps since
#   the last successful one are repeated. A step is the duration divided by a
#   power of two. Coefficients come from contour integrals, or by scaling and
#   squaring of the blocks where the linear part couples fields. The order is
#   lower where the nonlinear part drives modes whose linear part is much faster
#   than a step. [Sources: S. M. Cox and P. C. Matthews, Exponential time
#   differencing for stiff systems, J. Comput. Phys. 176 (2002); A.-K. Kassam
#   and L. N. Trefethen, Fourth-order time-stepping for stiff PDEs, SIAM J. Sci.
#   Comput. 26 (2005)]
#     problem wave() {
#       domain t in [0, 1], x in [0, 2π] periodic
#       field u
#       u_t + u*u_x == 0.1*u_xx
#       u == sin(x) at t = 0
#     }
#     a = solve(wave(), fourier(32; time = etdrk4()); rtol = 1e-8).u(1.0, 2.0);
#     a                             #~ solve(wave(), fourier(32; time = bdf()); rtol = 1e-9, atol = 1e-11).u(1.0, 2.0) tol 1e-6
etdrk4(dt = none; max_steps = 1000000) =
  (name = "etdrk4", spectral = true, dt = dt, max_steps = max_steps)

# cnab2(dt): Crank-Nicolson for the linear part and Adams-Bashforth for the
# remainder, of order 2, with the fixed step dt, for fourier().
#   dt is shortened slightly where the duration is not a multiple of it. The
#   steps have no error control.
#     problem fisher() {
#       domain t in [0, 1], x in [0, 2π] periodic
#       field u
#       u_t == 0.1*u_xx + u*(1 - u)
#       u == 0.5 + 0.2cos(x) at t = 0
#     }
#     a = solve(fisher(), fourier(16; time = cnab2(0.001))).u(1.0, 0.0);
#     a                             #~ solve(fisher(), fourier(16); rtol = 1e-8).u(1.0, 0.0) tol 1e-6
cnab2(dt) = (name = "cnab2", spectral = true, dt = dt, max_steps = 100000000)

_solve_fourier(info, m, o) = {
  time = _time_of(info)
  if time < 0 { _solve_grid(info, m, o) } else {
    spectral = if kind(m.step) == "none" {
      _is_semilinear(info, time)
    } else {
      has(m.step, "spectral")
    }
    if not spectral {
      _solve_grid(info,
        if kind(m.step) == "none" { m } else { (...m, time = m.step, chosen = true) }, o)
    } else {
      if not _is_semilinear(info, time) {
        _refuse(
          "{m.step.name}() serves equations of first order in t with constant factors at the "
          "highest derivatives and of every rate; fourier(time = bdf()) does others")
      }
      _solve_spectral(info, m, o, time)
    }
  }
}

# Whether each time derivative and each highest space derivative has constant
# factors. Fields without a time derivative must follow linearly from the
# others, at most one of them through a constraint.
_is_semilinear(info, time) = {
  held = _constraint_of(info, time)
  fine = len(info.conditions) > 0 and held.fine
  for (i, p) in enumerate(info.periodic) { if i != time and not p { fine = false } }
  for c in info.conditions {
    if c.at.coord != time and not _is_gauge(info, c, held.field) { fine = false }
  }
  rates = 0
  for q in info.equations {
    top = 0
    rate = 0
    for i in (...q.linear, ...q.nonlinear) {
      j = info.jets[i]
      o = 0
      for d in each(len(info.coords)) { if d != time { o = o + j[1 + d] } }
      if o > top { top = o }
      if j[1 + time] == 1 { rate = rate + 1; if o > 0 { fine = false } }
      if j[1 + time] > 1 { fine = false }
    }
    for i in q.nonlinear {
      j = info.jets[i]
      o = 0
      for d in each(len(info.coords)) { if d != time { o = o + j[1 + d] } }
      if j[1 + time] > 0 { fine = false }
      if o == top and o > 1 { fine = false }
    }
    if rate > 1 { fine = false }
    if rate == 0 and len(q.nonlinear) > 0 { fine = false }
    if rate == 0 and _without_rates(info, time, q) > 1 { fine = false }
    rates = rates + rate
  }
  fine and rates > 0
}

# Returns the equation without time derivatives all of whose fields have one,
# and the field without a time derivative that no such equation contains: -1 and
# -1 where there are none. fine: whether there is at most one of each, and the
# field is scalar and enters linearly.
_constraint_of(info, time) = {
  (equation, field, equations, fields) = (-1, -1, 0, 0)
  n = len(info.fields)
  rated = map(k -> 0, each(n))
  said = map(k -> 0, each(n))
  for j in info.jets { if j[1 + time] > 0 { rated[j[0]] = 1 } }
  for (e, q) in enumerate(info.equations) {
    rate = 0
    other = 0
    for i in (...q.linear, ...q.nonlinear) {
      j = info.jets[i]
      if j[1 + time] > 0 { rate = 1 }
      if rated[j[0]] == 0 { other = 1 }
    }
    if rate == 0 {
      for i in (...q.linear, ...q.nonlinear) { said[info.jets[i][0]] = 1 }
      if other == 0 { equation = e; equations = equations + 1 }
    }
  }
  for k in each(n) { if rated[k] == 0 and said[k] == 0 { field = k; fields = fields + 1 } }
  fine = equations == fields and equations < 2
  if fine and equations == 1 {
    fine = len(info.space) > 1 and info.sizes[field] == 0 and info.equations[equation].rows == 0
    for q in info.equations {
      for i in q.nonlinear { if info.jets[i][0] == field { fine = false } }
    }
  }
  (equation = equation, field = field, fine = fine)
}
# Returns how many unknowns without a time derivative an equation has.
_without_rates(info, time, q) = {
  n = 0
  for k in each(len(info.fields)) {
    here = 0
    for i in (...q.linear, ...q.nonlinear) { if info.jets[i][0] == k { here = 1 } }
    for j in info.jets { if j[0] == k and j[1 + time] > 0 { here = 0 } }
    n = n + here * max(1, info.sizes[k])
  }
  n
}
# Whether a condition fixes the value of a field at a point.
_is_gauge(info, c, field) = if c.at.coord >= 0 or c.at.name != "" { false } else {
  fine = field >= 0
  for i in c.jets {
    o = 0
    for d in each(len(info.coords)) { o = o + info.jets[i][1 + d] }
    if o > 0 or info.jets[i][0] != field { fine = false }
  }
  fine
}

# ---- Fourier modes

_periodic_nodes(m, n, a, b, periodic, top) = {
  if n % 2 != 0 or n < 2 { error("fourier(n) takes an even number of points, not {n}") }
  j = iota(n)
  (x = a + (b - a) * j / f64(n), D = none, idx = none, width = n, dense = true, a = a, b = b,
    periodic = true, cluster = none, family = "fourier", ends = j, series = none)
}

# Returns the factor of each mode for derivatives of these orders; odd ones of
# the highest mode are zero.
_symbol(T, orders) = {
  out = ones(...T.n) + 0im
  for (p, o) in enumerate(orders) {
    if o > 0 {
      n = T.n[p]
      g = T.dims[p]
      j = iota(n)
      k = (2π / (g.b - g.a)) * f64(where(j > n // 2, j - n, j))
      own = if o % 2 == 1 { where(j == n // 2, 0.0, k) } else { k }
      power = own^o * (1 + 0im, 1im, -1 + 0im, -1im)[o % 4]
      out = out * reshape(power, ...map(q -> if q == p { n } else { 1 }, (...(0..T.count),)))
    }
  }
  out
}
# Returns 1 for the modes that a product of two keeps free of aliasing: the
# lower two thirds.
_lower_waves(T) = {
  out = ones(...T.n)
  for p in each(T.count) {
    n = T.n[p]
    j = iota(n)
    keep = where(3 * where(j > n // 2, n - j, j) < n, 1.0, 0.0)
    out = out * reshape(keep, ...map(q -> if q == p { n } else { 1 }, (...(0..T.count),)))
  }
  out
}
# ---- arrays of modes

# Returns factors for each mode as _times_waves takes them: in one dimension
# (own, other), none for a part that the factors lack. what: "real", "imaginary"
# or "complex".
_wave_factors(T, s, what) = if T.count > 1 { s } else {
  (own = if what == "imaginary" { none } else { real(s) },
    other = if what == "real" { none } else { -imag(s) })
}
_times_waves(T, s, w) =
  if T.count > 1 { s * w } else if kind(s.other) == "none" { s.own * w } else {
    n = len(w)
    # A mode's real part is at k, its imaginary part at n - k.
    other = s.other * w[(n - iota(n)) % n]
    if kind(s.own) == "none" { other } else { s.own * w + other }
  }
# Returns the sum of squared absolute values of all modes.
_power_of_waves(T, w) = if T.count > 1 { sum(abs(w)^2) } else {
  2 * sum(w^2) - w[0]^2 - w[len(w) // 2]^2
}

_to_waves(T, u) = { v = u; for p in each(T.count) { v = fft(v; axis = p) }; v }
_from_waves(T, u) = { v = u; for p in each(T.count) { v = ifft(v; axis = p) }; v }
# Returns a(-k).
_turned_waves(T, a) = {
  v = a
  for p in each(T.count) { v = take(v, (T.n[p] - iota(T.n[p])) % T.n[p]; axis = p) }
  v
}
# Projects modes onto those of real arrays. Rounding errors in the other part
# would be invisible, and grow where the linear part does.
_real_waves(T, w) =
  if T.count == 1 { w } else { map(v -> 0.5 * (v + conj(_turned_waves(T, v))), w) }
# Returns real arrays from their modes, two in one transform, as flat arrays.
_values_of_waves(T, waves) = if T.count == 1 {
  out = list()
  n = T.n[0]
  for i in each((len(waves) + 1) // 2) {
    if 2 * i + 1 < len(waves) {
      both = _two_from_half_waves(concat(waves[2 * i], waves[2 * i + 1]))
      out = push(push(out, both[..n]), both[n..])
    } else { out = push(out, _from_half_waves(waves[2 * i], 0)) }
  }
  out
} else {
  out = list()
  for i in each((len(waves) + 1) // 2) {
    if 2 * i + 1 < len(waves) {
      z = _from_waves(T, waves[2 * i] + 1im * waves[2 * i + 1])
      out = push(push(out, ravel(real(z))), ravel(imag(z)))
    } else { out = push(out, ravel(real(_from_waves(T, waves[2 * i])))) }
  }
  out
}
_waves_of(T, reals) = if T.count == 1 { map(u -> _half_waves(u, 0), reals) } else {
  out = list()
  for i in each((len(reals) + 1) // 2) {
    a = reshape(reals[2 * i], ...T.n)
    if 2 * i + 1 < len(reals) {
      z = _to_waves(T, a + 1im * reshape(reals[2 * i + 1], ...T.n))
      w = conj(_turned_waves(T, z))
      out = push(push(out, 0.5 * (z + w)), -0.5im * (z - w))
    } else { out = push(out, _to_waves(T, a + 0im)) }
  }
  out
}

# ---- the problem in Fourier space

_spectral_form(info, grid, dealias) = {
  S = (...grid, widths = map(k -> _width(info, k), (...(0..grid.count),)))
  T = S.T
  matched = _matched(info, S)
  held = _constraint_of(info, S.time)
  # Components of fields with a time derivative: (field, component).
  parts = list()
  for k in each(S.count) {
    if S.orders[k] == 1 { for c in each(_width(info, k)) { parts = push(parts, (k, c)) } }
  }
  n = len(parts)
  equation_of = k -> { at = 0; for (e, f) in enumerate(matched) { if f == k { at = e } }; at }
  x = _some_point(info, S)
  # The factor in row r of equation e of component c of jet i.
  factor = (e, r, i, c) -> {
    v = jvp(js -> _residual_at(info, S, info.equations[e], info.lo[S.time], x, js),
      _zero_jets(info), _unit_jet(info, i, c))[1]
    if info.equations[e].rows == 0 { v } else { v[r] }
  }
  # The symbol in row r of equation e of component c of field k, or none.
  linear = (e, r, k, c) -> {
    total = none
    for i in info.equations[e].linear {
      j = info.jets[i]
      if j[0] == k and _jet_time(S, j) == 0 {
        own = factor(e, r, i, c) * _symbol(T, _jet_space(S, j))
        total = if kind(total) == "none" { own } else { total + own }
      }
    }
    total
  }
  # Components of fields without a time derivative: for each part its share, by
  # mode.
  share = (k, c, b) -> {
    e = equation_of(k)
    own = linear(e, c, k, c)
    if kind(own) == "none" { _refuse("{info.fields[k]} does not follow from the other fields") }
    by = linear(e, c, b[0], b[1])
    if kind(by) == "none" {
      none
    } else {
      where(abs(own) > 0, -by / where(abs(own) > 0, own, 1 + 0im), 0im)
    }
  }
  shares = map(k -> if S.orders[k] == 1 or k == held.field { none } else {
    map(c -> map(b -> share(k, c, b), parts), each(_width(info, k)))
  }, each(S.count))
  rate = p -> {
    total = 0.0
    for i in info.equations[equation_of(p[0])].linear {
      if info.jets[i][0] == p[0] and _jet_time(S, info.jets[i]) == 1 {
        total = factor(equation_of(p[0]), p[1], i, p[1])
      }
    }
    total
  }
  scales = map(p -> -1.0 / rate(p), parts)
  # L[a][b]: the linear part, with fields without a time derivative substituted.
  L = map(a -> map(b -> {
    (k, c) = parts[a]
    e = equation_of(k)
    total = linear(e, c, ...parts[b])
    for f in each(S.count) {
      if S.orders[f] == 0 and f != held.field {
        for d in each(_width(info, f)) {
          by = linear(e, c, f, d)
          if kind(by) != "none" and kind(shares[f][d][b]) != "none" {
            total = if kind(total) == "none" {
              by * shares[f][d][b]
            } else {
              total + by * shares[f][d][b]
            }
          }
        }
      }
    }
    if kind(total) == "none" { none } else { scales[a] * total }
  }, each(n)), each(n))
  project = if held.field < 0 {
    none
  } else {
    _projection(info, S, parts, scales, linear, equation_of, held, L)
  }
  # All factors are real where each derivative in the linear part has even
  # order.
  even = true
  for q in info.equations {
    for i in q.linear { if _orders_of(S, info.jets[i]) % 2 == 1 { even = false } }
  }
  what = if even { "real" } else { "complex" }
  prepared = map(k -> if S.orders[k] == 1 or k == held.field { none } else {
    map(c -> map(b -> if kind(shares[k][c][b]) ==
      "none" { none } else { _wave_factors(T, shares[k][c][b], what) },
      each(n)), each(_width(info, k)))
  }, each(S.count))
  coupled = false
  for a in each(n) { for b in each(n) { if a != b and kind(L[a][b]) != "none" { coupled = true } } }
  if held.field >= 0 { coupled = true }
  LP = if held.field < 0 { L } else { _projected_blocks(project, L, n, ones(...T.n) + 0im) }
  # The jets in the nonlinear part.
  needed = list()
  for i in each(len(info.jets)) {
    use = false
    for p in parts {
      for b in info.equations[equation_of(p[0])].nonlinear { if b == i { use = true } }
    }
    if use { needed = push(needed, i) }
  }
  # By component: the jet, its component, its factors.
  streams = list()
  for i in needed {
    symbol = _wave_factors(T, _symbol(T, _jet_space(S, info.jets[i])),
      if _orders_of(S, info.jets[i]) % 2 == 1 { "imaginary" } else { "real" })
    for c in each(_width(info, info.jets[i][0])) {
      streams = push(streams,
        (jet = i, component = c, plain = _orders_of(S, info.jets[i]) == 0, symbol = symbol))
    }
  }
  keep = if dealias { _lower_waves(T) } else { none }
  driven = (t, w) -> {
    waves = list()
    for s in streams {
      own = _waves_of_part(S, prepared, parts, info.jets[s.jet][0], s.component, w)
      waves = push(waves, if s.plain { own } else { _times_waves(T, s.symbol, own) })
    }
    values = _values_of_waves(T, waves)
    jets = map(i -> {
      v = list()
      for (a, s) in enumerate(streams) { if s.jet == i { v = push(v, values[a]) } }
      if len(v) == 0 {
        none
      } else if info.sizes[info.jets[i][0]] == 0 {
        v[0]
      } else {
        stack(...v; axis = 1)
      }
    }, each(len(info.jets)))
    zero = _zero_jets(info)
    own = list()
    for k in each(S.count) {
      if S.orders[k] == 1 {
        q = info.equations[equation_of(k)]
        all = map_rows(r -> {
          # Jets that are linear in this equation are in L, even if others have
          # them nonlinearly.
          js =
            map(i -> if contains(q.nonlinear, i) { r.j[i] } else { zero[i] }, each(len(info.jets)))
          _residual_at(info, S, q, t, r.x, js)
        }, (x = T.X, j = jets))
        for (a, p) in enumerate(parts) {
          if p[0] == k {
            own = push(own, scales[a] * (if info.sizes[k] == 0 { all } else { all[.., p[1]] }))
          }
        }
      }
    }
    N = _waves_of(T, own)
    if dealias { map(v -> keep * v, N) } else { N }
  }
  rest = (t, w) -> if held.field < 0 { driven(t, w) } else { project.of(driven(t, w)) }
  pressure = (t, w) -> {
    N = driven(t, w)
    project.held(map(a -> {
      total = N[a]
      for b in each(n) { if kind(L[a][b]) != "none" { total = total + L[a][b] * w[b] } }
      total
    }, each(n)))
  }
  all = (t, w) -> {
    waves = list()
    for k in each(S.count) {
      for c in each(_width(info, k)) {
        waves = push(waves, if k ==
          held.field { pressure(t, w) } else { _waves_of_part(S, prepared, parts, k, c, w) })
      }
    }
    values = map(r -> ravel(r), _values_of_waves(T, waves))
    if held.field >= 0 {
      at = _first_part(info, S.levels, held.field, 0)
      values[at] = values[at] + _gauge(info, S, held.field, t, values[at])
    }
    concat(...values)
  }
  start = U -> {
    w = _waves_of(T, map(p -> _part_of(S, U, _first_part(info, S.levels, p[0], 0) + p[1]), parts))
    if dealias { map(v -> keep * v, w) } else { w }
  }
  consistent = w -> if held.field < 0 { w } else { project.start(w) }
  # The time derivative of a state; 0 for fields without one.
  rate_of = (t, U) -> {
    w = start(U)
    N = rest(t, w)
    moved = map(a -> {
      total = N[a]
      for b in each(n) {
        if kind(LP[a][b]) != "none" {
          total = total + _times_waves(T, _wave_factors(T, LP[a][b], what), w[b])
        }
      }
      total
    }, each(n))
    (waves, a) = (list(), 0)
    for k in each(S.count) {
      for c in each(_width(info, k)) {
        if S.orders[k] == 1 {
          waves = push(waves, moved[a]);
          a = a + 1
        } else {
          waves = push(waves, 0.0 * moved[0])
        }
      }
    }
    concat(...map(r -> ravel(r), _values_of_waves(T, waves)))
  }
  (L = LP, coupled = coupled, factors = s -> _wave_factors(T, s, what),
    times = (s, w) -> _times_waves(T, s, w), power = w -> _power_of_waves(T, w), rest = rest,
    real = w -> _real_waves(T, w), all = all, start = start, consistent = consistent,
    rate = rate_of, count = n)
}

# Returns the constraint's field and the projection, on modes of the parts.
# held: the field that enforces the constraint under these rates; of: the
# projected rates.
_projection(info, S, parts, scales, linear, equation_of, held, L) = {
  T = S.T
  q = info.equations[held.equation]
  if len(q.nonlinear) > 0 {
    _refuse("`{q.text}` is a constraint whose factors are not constant; fem() serves it")
  }
  for s in list(0.0, 0.4127) {
    x = map(i -> info.lo[i] + (0.3719 + 0.2 * s) * (info.hi[i] - info.lo[i]), S.T.space)
    if _residual_at(info, S, q, info.lo[S.time] + s, x, _zero_jets(info)) != 0 {
      error(
        "`{q.text}` has a term without an unknown; fourier() serves constraints that are "
        "homogeneous, fem() others")
    }
  }
  C = map(p -> linear(held.equation, 0, ...p), parts)
  G = map(a -> {
    g = linear(equation_of(parts[a][0]), parts[a][1], held.field, 0)
    if kind(g) == "none" { none } else { scales[a] * g }
  }, each(len(parts)))
  both = 0im * ones(...T.n)
  for a in each(len(parts)) {
    if kind(C[a]) != "none" and kind(G[a]) != "none" { both = both + C[a] * G[a] }
  }
  held_by = abs(both) > 0
  if max(abs(both)) == 0 {
    error(
      "{info.fields[held.field]} does not act on what `{q.text}` constrains; fem() may serve it")
  }
  inverse = where(held_by, 1 / where(held_by, both, 1 + 0im), 0im)
  off = r -> {
    total = 0im * ones(...T.n)
    for a in each(len(parts)) { if kind(C[a]) != "none" { total = total + C[a] * r[a] } }
    total
  }
  field = r -> -inverse * off(r)
  of = r -> {
    p = field(r)
    map(a -> if kind(G[a]) == "none" { r[a] } else { r[a] + G[a] * p }, each(len(parts)))
  }
  # Projects the initial values. An unresolved remainder is removed; a larger
  # one is an error.
  start = w -> {
    v = of(w)
    d = 0.0
    size = 0.0
    for a in each(len(parts)) {
      d = d + _power_of_waves(T, w[a] - v[a]);
      size = size + _power_of_waves(T, w[a])
    }
    if d > 1e-4 * size {
      error(
        "{info.name}: the initial values do not satisfy `{q.text}`: {100 * sqrt(d / size):.1f} % "
        "of them do not")
    }
    v
  }
  (held = field, of = of, start = start, C = C, G = G, inverse = inverse)
}
# Returns P L by blocks.
_projected_blocks(project, L, n, one) = map(a -> map(b -> {
  total = if kind(L[a][b]) == "none" { 0 * one } else { L[a][b] }
  if kind(project.G[a]) != "none" {
    for c in each(n) {
      if kind(project.C[c]) != "none" and kind(L[c][b]) != "none" {
        total = total - project.G[a] * project.inverse * project.C[c] * L[c][b]
      }
    }
  }
  total
}, each(n)), each(n))
# Returns the shift of a field known up to a constant that satisfies its
# condition at a point.
_gauge(info, S, k, t, u) = {
  shift = 0.0
  for c in info.conditions {
    if c.at.coord != S.time {
      x = map(i -> c.at.point[i], each(len(c.at.point)))
      here = _values_at(S.T, _coefficients(S.T, u), x)
      of = v -> {
        js = map(i -> if info.jets[i][0] == k and _orders_of(S, info.jets[i]) ==
          0 { 0.0 * _zero_jets(info)[i] + v } else {
            _zero_jets(info)[i]
          }, each(len(info.jets)))
        _residual_at(info, S, c, t, x, js)
      }
      (r, slope) = jvp(of, here, 1.0)
      shift = -r / slope
    }
  }
  shift
}
# Returns the total order in space of a jet.
_orders_of(S, j) = { o = 0; for d in _jet_space(S, j) { o = o + d }; o }
_waves_of_part(S, shares, parts, k, c, w) = if S.orders[k] == 1 {
  at = 0
  for f in each(k) { if S.orders[f] == 1 { at = at + S.widths[f] } }
  w[at + c]
} else {
  total = 0 * w[0]
  for b in each(len(parts)) {
    if kind(shares[k][c][b]) != "none" { total = total + _times_waves(S.T, shares[k][c][b], w[b]) }
  }
  total
}

# ---- exponential time differencing

# Returns the coefficients for a step h: e^{hL}, e^{hL/2}, and the weights Q,
# f1, f2, f3 of Cox and Matthews. Each is an n by n array of mode factors, none
# where zero.
_etd_weights(F, h) = {
  ready = W -> map(r -> map(s -> if kind(s) == "none" { none } else { F.factors(s) }, r), W)
  c = _etd_factors(F, h)
  (E = ready(c.E), E2 = ready(c.E2), Q = ready(c.Q), f1 = ready(c.f1), f2 = ready(c.f2),
    f3 = ready(c.f3))
}
_etd_factors(F, h) = if F.coupled { _etd_blocks(F, h) } else {
  means = map(a -> if kind(F.L[a][a]) == "none" { none } else { _etd_contour(h * F.L[a][a], h) },
    each(F.count))
  # For L = 0: the classical Runge-Kutta weights.
  pick = i -> map(a -> map(b -> if a != b { none } else if kind(means[a]) == "none" {
    (1.0, 1.0, 0.5 * h, h / 6, h / 6, h / 6)[i] + 0im * F.start_like
  } else { means[a][i] }, each(F.count)), each(F.count))
  (E = pick(0), E2 = pick(1), Q = pick(2), f1 = pick(3), f2 = pick(4), f3 = pick(5))
}
# Returns means over 32 points of a circle of radius 1 around each number.
_etd_contour(z, h) = {
  Q = 0 * z
  f1 = 0 * z
  f2 = 0 * z
  f3 = 0 * z
  for j in 0..32 {
    r = z + exp(1im * π * (j + 0.5) / 16)
    e = exp(r)
    r3 = r^3
    Q = Q + (exp(0.5 * r) - 1) / r
    f1 = f1 + (-4 - r + e * (4 - 3 * r + r^2)) / r3
    f2 = f2 + (2 + r + e * (r - 2)) / r3
    f3 = f3 + (-4 - 3 * r - r^2 + e * (4 - r)) / r3
  }
  (exp(z), exp(0.5 * z), (h / 32) * Q, (h / 32) * f1, (h / 32) * f2, (h / 32) * f3)
}

# For blocks: φ0 to φ3 of 2^-s z by their series, then doubling: φ_n(2z) = 2^-n
# (φ0(z) φ_n(z) + sum_k φ_k(z)/(n - k)!).
_etd_blocks(F, h) = {
  n = F.count
  zero = 0 * F.start_like
  z = map(a -> map(b -> if kind(F.L[a][b]) == "none" { zero } else { h * F.L[a][b] }, each(n)),
    each(n))
  whole = _block_phi(z, n)
  half = _block_phi(_block_scaled(z, 0.5, n), n)
  sum3 = (a, b, c) ->
    map(i -> map(j -> h * (a * whole[1][i][j] + b * whole[2][i][j] + c * whole[3][i][j]), each(n)),
      each(n))
  (E = whole[0], E2 = half[0], Q = _block_scaled(half[1], 0.5 * h, n), f1 = sum3(1.0, -3.0, 4.0),
    f2 = sum3(0.0, 1.0, -2.0), f3 = sum3(0.0, -1.0, 4.0))
}
_block_scaled(A, s, n) = map(i -> map(j -> s * A[i][j], each(n)), each(n))
_block_product(A, B, n) = map(i -> map(j -> {
  total = A[i][0] * B[0][j]
  for k in each(1, n) { total = total + A[i][k] * B[k][j] }
  total
}, each(n)), each(n))
_block_sum(A, B, n) = map(i -> map(j -> A[i][j] + B[i][j], each(n)), each(n))
_block_phi(z, n) = {
  size = 0.0
  for i in each(n) { for j in each(n) { size = max(size, max(abs(z[i][j]))) } }
  s = i64(max(0.0, ceil(log2(max(stop_gradient(size), 1e-300) * n / 0.25))))
  y = _block_scaled(z, 1.0 / 2.0^s, n)
  one = map(i -> map(j -> (if i == j { 1.0 } else { 0.0 }) + 0 * z[0][0], each(n)), each(n))
  # sum_k y^k / (k + p)!
  series = p -> {
    first = (1.0, 1.0, 2.0, 6.0)[p]
    total = _block_scaled(one, 1.0 / first, n)
    power = one
    factorial = first
    for k in each(1, 14) {
      power = _block_product(power, y, n)
      factorial = factorial * (k + p)
      total = _block_sum(total, _block_scaled(power, 1.0 / factorial, n), n)
    }
    total
  }
  (a, b, c, d) = (series(0), series(1), series(2), series(3))
  for turn in 0..s {
    d = _block_scaled(_block_sum(_block_sum(_block_product(a, d, n), _block_scaled(b, 0.5, n), n),
      _block_sum(c, d, n), n), 0.125,
      n)
    c = _block_scaled(_block_sum(_block_product(a, c, n), _block_sum(b, c, n), n), 0.25, n)
    b = _block_scaled(_block_sum(_block_product(a, b, n), b, n), 0.5, n)
    a = _block_product(a, a, n)
  }
  list(a, b, c, d)
}

_by_waves(F, W, w) = map(a -> {
  total = none
  for b in each(F.count) {
    if kind(W[a][b]) != "none" {
      own = F.times(W[a][b], w[b])
      total = if kind(total) == "none" { own } else { total + own }
    }
  }
  total
}, each(F.count))
_plus_waves(a, b) = map(i -> a[i] + b[i], each(len(a)))

# Returns the next state, and the squared difference of the nonlinear part at
# the two middle stages.
_etd_step(F, c, t, h, w) = {
  n = F.count
  N = F.rest(t, w)
  u = _by_waves(F, c.E2, w)
  a = _plus_waves(u, _by_waves(F, c.Q, N))
  Na = F.rest(t + 0.5 * h, a)
  b = _plus_waves(u, _by_waves(F, c.Q, Na))
  Nb = F.rest(t + 0.5 * h, b)
  d = _plus_waves(_by_waves(F, c.E2, a), _by_waves(F, c.Q, map(i -> 2 * Nb[i] - N[i], each(n))))
  Nd = F.rest(t + h, d)
  middle = map(i -> 2 * (Na[i] + Nb[i]), each(n))
  apart = 0.0
  for i in each(n) { apart = apart + stop_gradient(F.power(Nb[i] - Na[i])) }
  (_plus_waves(_plus_waves(_by_waves(F, c.E, w), _by_waves(F, c.f1, N)),
    _plus_waves(_by_waves(F, c.f2, middle), _by_waves(F, c.f3, Nd))), apart)
}

# Returns the state at t + s from that at t, in two steps.
_etd_reach(F, t, s, w) = {
  c = _etd_weights(F, 0.5 * s)
  _etd_step(F, c, t + 0.5 * s, 0.5 * s, _etd_step(F, c, t, 0.5 * s, w)[0])[0]
}

# Returns the distance of two states in units of the tolerance.
_wave_distance(F, a, b, o, points) = {
  worst = 0.0
  for i in each(len(a)) {
    scale = o.atol * points + o.rtol * sqrt(F.power(b[i]))
    worst = max(worst, sqrt(F.power(a[i] - b[i])) / max(scale, 1e-300))
  }
  stop_gradient(worst)
}

# Advances over the whole interval in blocks of two steps; stores rows at the
# ends of blocks, or at saveat.
_etd_march(F, m, o, t0, t1, U0, points, name) = {
  w = F.consistent(F.start(U0))
  span = t1 - t0
  fixed = kind(m.dt) != "none"
  # The number of blocks of two steps: as dt or the longest step requires, and
  # at least 16 with adaptive steps.
  blocks = if fixed { max(1, i64(ceil(0.5 * span / m.dt - 1e-9))) } else {
    max(16, i64(ceil(0.5 * span / o.longest)))
  }
  h = 0.5 * span / blocks
  c = _etd_weights(F, h)
  double = if fixed { c } else { _etd_weights(F, 2 * h) }
  done = 0
  steps = 0
  failures = 0
  since = 0
  saves = len(o.saveat)
  next = 0
  size = if saves > 0 { saves } else { if fixed { blocks + 1 } else { 64 } }
  Y = zeros(size, len(U0))
  times = zeros(size)
  rows = 0
  if saves == 0 { Y[0] = F.all(t0, w); times[0] = t0; rows = 1 } else {
    while next < saves and o.saveat[min(next, saves - 1)] <= t0 {
      Y[next] = F.all(t0, w);
      times[next] = o.saveat[next];
      next = next + 1
    }
  }
  # The state of the last successful comparison, and the difference of the
  # stages then.
  (seen, seen_done, seen_rows, seen_next, calm) = (w, done, rows, next, 0.0)
  while done < blocks {
    t = t0 + span * (done / f64(blocks))
    (one, _) = _etd_step(F, c, t, h, w)
    (two, apart) = _etd_step(F, c, t + h, h, one)
    check = not fixed and
      (since % 4 == 0 or done == blocks - 1 or apart > 4 * calm or o.longest < inf)
    err = if check {
      _wave_distance(F, _etd_step(F, double, t, 2 * h, w)[0], two, o, points) /
        (15 * min(1.0, 20.0 / blocks))
    } else {
      0.0
    }
    finite = sum(abs(two[0])) < inf
    if (err > 1 or not finite) and not fixed {
      if blocks > m.max_steps {
        error(
          "{name}: no solution beyond t = {t}: steps of {h} are too long, and more than "
          "{m.max_steps} are needed; either the points are too few for what it becomes, or it "
          "grows without bound there")
      }
      # An error found now may have grown since the last comparison, so return
      # to that state.
      (w, done, rows, next) = (seen, seen_done, seen_rows, seen_next)
      blocks = 2 * blocks
      done = 2 * done
      seen_done = done
      h = 0.5 * h
      double = c
      c = _etd_weights(F, h)
      failures = failures + 1
      since = 0
    } else {
      if not finite {
        error(
          "{name}: the solution is not finite beyond t = {t} with steps of {h}; take a smaller dt")
      }
      t2 = t0 + span * ((done + 1) / f64(blocks))
      if saves == 0 {
        if rows >= len(times) {
          Y = concat(Y, zeros(len(times), len(U0)))
          times = concat(times, zeros(len(times)))
        }
        Y[rows] = F.all(t2, two)
        times[rows] = t2
        rows = rows + 1
      } else {
        while next < saves and o.saveat[min(next, saves - 1)] <= t2 + 1e-13 * abs(span) {
          s = o.saveat[next]
          Y[next] = if abs(s - t2) <= 1e-13 * abs(span) {
            F.all(t2, two)
          } else {
            F.all(s, _etd_reach(F, t, s - t, w))
          }
          times[next] = s
          next = next + 1
        }
      }
      w = F.real(two)
      done = done + 1
      steps = steps + 2
      since = since + 1
      if check and err < 0.01 and done % 2 == 0 and blocks % 2 == 0 and blocks > 1 and
        2 * abs(h) <= o.longest {
        blocks = blocks // 2
        done = done // 2
        h = 2 * h
        c = double
        double = _etd_weights(F, 2 * h)
        since = 0
      }
      if check { (seen, seen_done, seen_rows, seen_next, calm) = (w, done, rows, next, apart) }
    }
    progress(steps; time = t, from = t0, to = t1, dt = h)
  }
  stats = i64([steps, 4 * steps, 0, 0, failures, 0, 0])
  if saves == 0 { (times[..rows], Y[..rows], _stats(stats)) } else { (times, Y, _stats(stats)) }
}

# ---- Crank-Nicolson and Adams-Bashforth

_cnab_march(F, m, o, t0, t1, U0) = {
  w = F.consistent(F.start(U0))
  span = t1 - t0
  steps = max(1, i64(ceil(span / m.dt - 1e-9)))
  h = span / steps
  n = F.count
  one = F.start_like
  below = map(a -> if kind(F.L[a][a]) == "none" { one } else { 1 / (1 - 0.5 * h * F.L[a][a]) },
    each(n))
  up =
    map(a -> F.factors(if kind(F.L[a][a]) ==
      "none" { one } else { (1 + 0.5 * h * F.L[a][a]) * below[a] }), each(n))
  down = map(b -> F.factors(h * b), below)
  saves = len(o.saveat)
  # Stores at most about 200 rows.
  every = max(1, (steps + 199) // 200)
  size = if saves > 0 { saves } else { (steps + every - 1) // every + 1 }
  Y = zeros(size, len(U0))
  times = zeros(size)
  rows = 0
  if saves == 0 { Y[0] = F.all(t0, w); times[0] = t0; rows = 1 }
  before = F.rest(t0, w)
  for k in 0..steps {
    t = t0 + k * h
    N = F.rest(t, w)
    to = rest -> map(a -> F.times(up[a], w[a]) + F.times(down[a], rest[a]), each(n))
    later = to(map(a -> 1.5 * N[a] - 0.5 * before[a], each(n)))
    # The first step has no predecessor: it is taken twice, the second time with
    # the mean of both ends.
    later = if k > 0 {
      later
    } else {
      M = F.rest(t + h, later);
      to(map(a -> 0.5 * (N[a] + M[a]), each(n)))
    }
    if saves == 0 {
      if (k + 1) % every == 0 or k + 1 == steps {
        Y[rows] = F.all(t + h, later)
        times[rows] = t0 + (k + 1) * h
        rows = rows + 1
      }
    } else {
      # Linear interpolation between two steps.
      more = rows < saves and o.saveat[min(rows, saves - 1)] <= t + h * (1 + 1e-9)
      while more {
        s = (o.saveat[rows] - t) / h
        Y[rows] = (1 - s) * F.all(t, w) + s * F.all(t + h, later)
        times[rows] = o.saveat[rows]
        rows = rows + 1
        more = rows < saves and o.saveat[min(rows, saves - 1)] <= t + h * (1 + 1e-9)
      }
    }
    before = N
    w = if k % 8 == 7 { F.real(later) } else { later }
  }
  if not (sum(abs(w[0])) < inf) {
    error(
      "cnab2({m.dt}): the solution is not finite at t = {t1}; the rest of the equation needs a "
      "smaller step")
  }
  (times, Y, _stats(i64([steps, steps, 0, 0, 0, 0, 0])))
}

# ---- solve

_solve_spectral(info, m, o, time) = {
  S = _structure(info, (...m, grid = _periodic_nodes))
  step = if kind(m.step) == "none" { etdrk4() } else { m.step }
  form = _spectral_form(info, S, m.dealias)
  F = (...form, start_like = ones(...S.T.n) + 0im)
  (t0, t1) = _span_of(info, S, o)
  U0 = _initial(info, S)
  saved = (...o, saveat = f64(o.saveat),
    atol = _atol_by_sizes(o, max(abs(reshape(U0, S.parts, S.T.P)); axis = 1)))
  if step.name == "cnab2" and F.coupled {
    _refuse("cnab2() serves linear parts that couple no fields; etdrk4() does others")
  }
  clock = _clock_of(info)
  U0 = U0 + clock.firm(t0)
  s = _restarts_along(clock, t0, t1, if kind(step.dt) == "none" { 1 } else { 8 })
  longest = _longest_seeing(clock.watched, s, t0, t1)
  # No warning for solutions that only serve comparisons.
  if kind(step.dt) != "none" and not o.partial {
    if step.dt > 2 * longest { _warn_of_narrow(step.name, step.dt, longest) }
  }
  run = (U, a, b, saveat) -> {
    o = (...saved, saveat = saveat, longest = longest)
    if step.name == "cnab2" {
      _cnab_march(F, step, o, a, b, U)
    } else {
      _etd_march(F, step, o, a, b, U, f64(S.T.P), info.name)
    }
  }
  (times, Y, stats) = if _is_fixed(len(s)) { run(U0, t0, t1, saved.saveat) } else {
    _in_pieces(run, (y, s, a, b) -> _across(F.rate, y, s, a, b), s, _is_sharp(clock, t0), 1, U0, t0,
      t1, saved.saveat)
  }
  between = _dense(times, Y, 1, false)
  state = t -> if len(o.saveat) > 0 { between(t) } else if step.name == "cnab2" {
    # Interpolates through rows on this side of a switch. Without a sharp switch
    # there are two rows at that time.
    (early, late) = (concat([-inf], s[s <= t])[-1], concat(s[s > t], [inf])[0])
    (first, last) =
      if _is_sharp(clock, t0) { (sum(i64(times < early)), sum(i64(times <= late))) } else {
        (max(sum(i64(times <= early)) - 1, 0), min(sum(i64(times < late)) + 1, len(times)))
      }
    _through_nearest_of(times, Y, t, first, last)
  } else {
    # From the row before t by steps of the method; of length zero at a row, to
    # define the derivative with respect to t there.
    r = clamp(sum(i64(times <= stop_gradient(t))) - 1, 0, len(times) - 1)
    reach = () -> F.all(t, _etd_reach(F, times[r], t - times[r], F.start(Y[r])))
    if t == times[r] { _value_of(reach, Y[r]) } else { reach() }
  }
  _grid_solution(info, m, S, times, Y, stats, state)
}
