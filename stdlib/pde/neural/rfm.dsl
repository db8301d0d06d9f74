# rfm.dsl - random feature method: the solution as a sum of sines with random
# wave vectors, with amplitudes by least squares.
#
# Method: u(x) = sum_m c_m sin(w_m.x + b_m) with random, fixed w_m (Huang, Zhu
# and Siew 2006; Chen, Chi, E and Yang, Bridging traditional and machine
# learning-based algorithms for solving PDEs: the random feature method, 2022).
# A derivative of a feature is a power of w_m times a sine or cosine of the same
# argument. Differentiating an equation's residual with respect to its jets
# linearises it. So one assembly serves every operator, in any number of
# coordinates, for systems and vector fields. A linear problem takes one QR
# factorisation, a nonlinear one such a factorisation for each Newton step. The
# spread of the wave vectors along each axis is found by trial solves with few
# features, judged by the residual at other points.

# rfm(features; bandwidth, rows, weight, steps, tol, most, seed): random sine
# features and least squares.
#   features: their number; 0: as many as the error requires, at most `most`.
#   The target error is 1e-12 for up to 750 features and rises to tol for more
#   than a thousand.
#   bandwidth: the standard deviation of the wave vectors on each axis, in the
#   order of the domains, a number or a vector; none: found by trials.
#   rows: equations at interior points for each unknown. weight: of conditions
#   relative to equations, both scaled by their features. steps: of Newton's
#   method, for nonlinear problems.
#   It suits smooth solutions on boxes and on periodic axes. The solution's
#   `error` is the residual at points not used, times a calibrated ratio: that
#   of the difference of two solutions with other features to their residuals.
#     problem poisson() {
#       domain x in [0, 1], y in [0, 1]
#       field u
#       u_xx + u_yy == -2π^2*sin(π*x)*sin(π*y)
#       u == 0 at x = 0, x = 1, y = 0, y = 1
#     }
#     s = solve(poisson(), rfm(300))
#     s.u(0.5, 0.25)                 #~ sin(0.25π) tol 1e-9
rfm(features = 0; bandwidth = none, rows = 2.0, weight = 100.0, steps = 20, tol = 1e-9, most = 1600,
  seed = 1) =
  (name = "rfm", features = features, bandwidth = bandwidth, rows = rows, weight = weight,
    steps = steps, tol = tol, most = most, seed = seed, takes_guess = true, solve = _solve_rfm,
    fit = _fit_rfm)

# ---- jets as one vector, with a slot for each component of each jet

# Returns the first slot of each jet, then the number of slots.
_slot_starts(info) = {
  out = list()
  at = 0
  for j in info.jets { out = push(out, at); at = at + max(1, info.sizes[j[0]]) }
  push(out, at)
}
_jets_in(info, v) = {
  starts = _slot_starts(info)
  map(k -> if info.sizes[info.jets[k][0]] ==
    0 { v[starts[k]] } else { v[starts[k]..starts[k + 1]] },
    each(len(info.jets)))
}
# Returns the slots as (component of the solution, order in each coordinate
# ...), with components counted through all fields.
_slots(info) = {
  out = list()
  for j in info.jets {
    for c in each(max(1, info.sizes[j[0]])) {
      out = push(out, (_first_component(info, j[0]) + c, ...j[1..]))
    }
  }
  out
}
_component_count(info) = _first_component(info, len(info.fields))
_first_component(info, k) = {
  n = 0
  for s in list(...info.sizes[..k]) { n = n + max(1, s) }
  n
}
_box_lengths(info) = stack(...info.hi) - stack(...info.lo)
_coordinates(info, x) = map(k -> x[k], (...(0..len(info.coords))))
# Returns a list of equations at a point x f64[d], as a function of the slots,
# as one vector.
_rows_at(info, equations, x, v) = {
  jets = _jets_in(info, v)
  concat(...map(q -> {
    r = q.residual(_coordinates(info, x), jets);
    if rank(r) == 0 { [r] } else { ravel(r) }
  }, equations))
}

# ---- points

# Returns n quasi-random points of the unit cube, f64[n, d], by generalised
# golden ratios (M. Roberts 2018).
_quasi(n, d, shift) = {
  phi = 2.0
  for k in 0..40 { phi = (1 + phi)^(1.0 / (d + 1)) }
  mod(shift + expand(1.0 + iota(n), 1) * expand(phi^(-(1.0 + iota(d))), 0), 1.0)
}
_box_points(info, n, shift) = {
  (lo, hi) = (stack(...info.lo), stack(...info.hi))
  lo + (hi - lo) * _quasi(n, len(info.coords), shift)
}
# Returns points where a condition holds: on a face of the box, or a single
# point.
_condition_points(info, c, n, shift) = if c.at.coord < 0 {
  if has(c.at, "point") and kind(c.at.point) == "tuple" {
    if len(c.at.point) == len(info.coords) {
      reshape(stack(...c.at.point) + 0.0, 1, len(info.coords))
    } else {
      # A place in space at all times.
      t = _time_axis(info)
      y = _box_points(info, n, shift)
      stack(...map(k -> if k == t {
        y[.., k]
      } else {
        c.at.point[if k < t { k } else { k - 1 }] + 0.0 * y[.., k]
      },
        each(len(info.coords))); axis = 1)
    }
  } else {
    _refuse("this method serves boxes, not a condition at {c.at.name}")
  }
} else {
  d = len(info.coords)
  k = c.at.coord
  value = if c.at.side == 0 { info.lo[k] } else if c.at.side == 1 { info.hi[k] } else { c.at.value }
  if d == 1 { reshape(stack(value + 0.0), 1, 1) } else {
    y = _quasi(n, d - 1, shift)
    stack(...map(i -> if i == k { value + 0.0 * y[.., 0] } else {
      info.lo[i] + (info.hi[i] - info.lo[i]) * y[.., if i < k { i } else { i - 1 }]
    }, each(d)); axis = 1)
  }
}

_box_only(info, m) = {
  if has(info, "region") and kind(info.region) != "none" {
    _refuse("{m.name}() serves boxes; fem() serves other regions")
  }
  for (k, a) in enumerate(info.lo) {
    if kind(a) == "none" { _refuse("{m.name}() needs an interval for {info.coords[k]}") }
  }
  if kind(info.eigen) == "string" and info.eigen != "" {
    _refuse("{m.name}() does not serve eigenproblems")
  }
  _refuse_jumps(info, m.name)
  if m.name == "rfm" and info.time >= 0 {
    if _switches_by_clock(info) {
      _refuse(
        "{info.name} switches by the clock, and what rfm() is a sum of is smooth over all times: "
        "fd(), chebyshev() and fem() begin anew where it switches")
    }
  }
}

# ---- features

# Returns wave vectors f64[M, d] and phases, with integer harmonics on periodic
# axes. The random numbers are the same for every bandwidth, so that bandwidths
# can be compared.
_draw_features(info, M, bandwidth, start) = {
  seed(start)
  raw = randn(M, len(info.coords)) * bandwidth
  W = stack(...map(k -> if info.periodic[k] {
    base = 2π / (info.hi[k] - info.lo[k])
    base * round(raw[.., k] / base)
  } else { raw[.., k] }, each(len(info.coords))); axis = 1)
  (W = W, b = 2π * rand(M))
}

_whole_order(slot) = { n = 0; for k in list(...slot[1..]) { n = n + k }; n }

# Returns for each slot w^a with its sign, f64[M]: D^a sin θ = w^a sin(θ + |a|
# π/2), a sine where |a| is even, a cosine where it is odd.
_wave_power(info, f, slot) = {
  order = _whole_order(slot)
  power = 1.0 + 0.0 * f.b
  for k in each(len(info.coords)) { if slot[1 + k] > 0 { power = power * f.W[.., k]^slot[1 + k] } }
  if order % 4 >= 2 { -power } else { power }
}
_is_sine(slot) = _whole_order(slot) % 2 == 0

# Whether equations contain slot s. The first slot always counts, because it
# provides the size of the solution.
_is_mentioned(info, equations, s) = {
  starts = _slot_starts(info)
  found = s == 0
  for q in equations {
    for j in q.jets { if starts[j] <= s and s < starts[j + 1] { found = true } }
  }
  found
}
_mentions(info, equations, sine) = {
  found = false
  for (s, slot) in enumerate(_slots(info)) {
    if _is_mentioned(info, equations, s) and _is_sine(slot) == sine { found = true }
  }
  found
}
# Returns sin θ and cos θ at a block's points, f64[n, M], where its equations
# have derivatives of even or odd order.
_waves_at(info, f, equations, X) = {
  θ = X @ f.W' + f.b
  (S = if _mentions(info, equations, true) { sin(θ) } else { zeros(0, 0) },
    K = if _mentions(info, equations, false) { cos(θ) } else { zeros(0, 0) })
}

# Returns the rows of a block as a matrix, from sines and cosines at its points
# and C f64[n, r, slots], the derivatives of its equations. A component's
# columns are S (C_even w^a) + K (C_odd w^a).
_feature_rows(info, f, equations, waves, C) = {
  rows = shape(C)[0] * shape(C)[1]
  concat(
    ...map(c -> {
      (S, K) = (_part_slots(info, equations, c, true), _part_slots(info, equations, c, false))
      even = if len(S) == 0 { 0.0 } else { _feature_part(info, f, S, C) * expand(waves.S, 1) }
      odd = if len(K) == 0 { 0.0 } else { _feature_part(info, f, K, C) * expand(waves.K, 1) }
      if len(S) + len(K) == 0 { zeros(rows, len(f.b)) } else {
        reshape(if len(K) == 0 { even } else if len(S) == 0 { odd } else { even + odd }, rows,
          len(f.b))
      }
    },
      each(_component_count(info))); axis = 1)
}
# Returns the slots of a component in the equations, of even or odd order.
_part_slots(info, equations, c, sine) = {
  own = list()
  for (s, slot) in enumerate(_slots(info)) {
    if slot[0] == c and _is_sine(slot) == sine and _is_mentioned(info, equations, s) {
      own = push(own, s)
    }
  }
  own
}
# Returns the factors of the sines, or the cosines: f64[n, r, M].
_feature_part(info, f, own, C) = {
  (n, r, ns) = shape(C)
  powers = map(s -> _wave_power(info, f, _slots(info)[s]), own)
  reshape(reshape(stack(...map(s -> C[.., .., s], own); axis = 2), n * r, len(own)) @
    stack(...powers), n, r, len(f.b))
}

# Returns the slots' values f64[n, slots] from amplitudes f64[components, M]; 0
# where the equations do not contain them.
_slot_values(info, f, equations, waves, a) =
  stack(
    ...map(s -> {
      slot = _slots(info)[s]
      if _is_mentioned(info, equations, s) {
        (if _is_sine(slot) { waves.S } else { waves.K }) @ (_wave_power(info, f, slot) * a[slot[0]])
      } else {
        zeros(max(len(waves.S), len(waves.K)))
      }
    },
      each(len(_slots(info)))); axis = 1)

# ---- least squares

# Returns the c that minimises |A c - b|, from the triangular factor of [A b]
# alone. Dependent columns get amplitude 0.
_least_squares(A, b) = {
  n = shape(A)[1]
  R = qr(concat(A, expand(b, 1); axis = 1))[1]
  trisolve(_without_lost(R[..n, ..n]), R[..n, n]; lower = false)
}
_without_lost(T) = {
  top = max(abs(stop_gradient(diag(T))))
  lost = abs(stop_gradient(diag(T))) <= 1e-17 * top
  T + diag(where(lost, 1e20 * top, 0.0))
}
# Derivative: where A c == b nearly holds, dc is the least-squares solution of A
# dc = db - dA c. The factors of [A b] are not differentiable where it holds
# exactly.
derivative _least_squares(A, b), dA, db = {
  (Q, T) = qr(A)
  moved = (if _absent(db) { 0 * b } else { db }) - (if _absent(dA) { 0 * b } else { dA @ y })
  trisolve(_without_lost(T), Q' @ moved; lower = false)
}

# Whether equations are jointly linear in all their jets, proven from their
# code.
_is_linear(info, equations) = {
  n = len(info.coords)
  linear = true
  for q in equations {
    d = _residual_dependence(info, q)
    for i in each(len(info.jets)) {
      for k in each(len(info.jets)) { if d.factors[n + i][n + k] { linear = false } }
    }
  }
  linear
}

# Returns residuals f64[n, r] and their derivatives f64[n, r, slots].
_linearised(info, equations, X, V) =
  {
    assert(rank(X) == 2, "X");
    assert(rank(V) == 2, "V");
    map((x, v) -> { f = s -> _rows_at(info, equations, x, s); (f(v), jacobian(f)(v)) }, X, V)
  }

# Returns the number of points of a condition on a face for M features of
# bandwidths s. Features resolve about M^(1/d) places along an axis, or the
# number of waves in its length if that is larger. More points than a few times
# the places on the face add no information.
_face_points(info, c, M, s) = {
  d = len(info.coords)
  places = if c.at.coord < 0 { inf } else {
    max(f64(M)^((d - 1) / d), prod(where(iota(d) == c.at.coord, 1.0, 1 + s * _box_lengths(info))))
  }
  max(4, i64(min(f64(M // (2 * d)), ceil(4 * places))))
}

# Returns blocks of rows: the equations inside, the equations near the ends, and
# each condition (condition: its index, -1 for equations), for M features of
# bandwidths s (inf: any).
_rfm_blocks(info, rows, weight, M, s, shift) = {
  out =
    list((equations = list(...info.equations), X = _box_points(info, i64(ceil(rows * M)), shift),
      weight = 1.0, condition = -1))
  rim = _rim_points(info, M, shift)
  if kind(rim) != "none" {
    out = push(out, (equations = list(...info.equations), X = rim, weight = 1.0, condition = -1))
  }
  for (k, c) in enumerate(info.conditions) {
    out =
      push(out, (equations = list(c),
        X = _condition_points(info, c, _face_points(info, c, M, s), shift), weight = weight,
        condition = k))
  }
  out
}

# Returns points near each end of each non-periodic axis, and near the corners,
# at a fraction of the distance between other points. Without them no equation
# would control the features beyond the outermost points. none where all axes
# are periodic.
_rim_points(info, M, shift) = {
  d = len(info.coords)
  (lo, hi) = (stack(...info.lo), stack(...info.hi))
  off = 0.1 * f64(M)^(-1.0 / d)
  n = max(4, i64(f64(M)^((d - 1.0) / d)) // 2)
  parts = list()
  for k in each(d) {
    if not info.periodic[k] {
      for side in (off, 1 - off) {
        y = if d == 1 { zeros(1, 0) } else { _quasi(n, d - 1, shift) }
        parts =
          push(parts,
            stack(...map(i -> if i ==
              k { side + zeros(len(y)) } else { y[.., if i < k { i } else { i - 1 }] },
              each(d)); axis = 1))
      }
    }
  }
  # The corners, for up to four axes.
  free = true
  for k in each(d) { if info.periodic[k] { free = false } }
  if free and d > 1 and d < 5 {
    c = iota(2^d)
    parts =
      push(parts, stack(...map(i -> off + (1 - 2 * off) * f64(c // 2^i % 2), each(d)); axis = 1))
  }
  if len(parts) == 0 { none } else { lo + (hi - lo) * concat(...parts; axis = 0) }
}

# Returns scales for weighting rows and for the search of features, without
# derivatives.
_mean_square_rows(A, r) = {
  s = sqrt(mean(reshape(stop_gradient(A)^2, -1, r, shape(A)[1]); axis = (0, 2)))
  where(s > 0, s, 1.0)
}

# Returns amplitudes, and the number of steps: one step where the equations are
# linear, else damped Newton steps. They begin with the solution `from` = (f, a)
# of other features, if it has any amplitudes, else with 0.
_rfm_amplitudes(info, m, blocks, f, from, scales, linear) = {
  waves = map(q -> _waves_at(info, f, q.equations, q.X), blocks)
  d = zeros(_component_count(info), len(f.b))
  best = d
  (value, steps, t, poor) = (inf, 0, 1.0, 0)
  borrowed = not linear and len(from.f.b) > 0
  done = false
  while not done {
    lines = map((q, z) -> {
      V = if borrowed {
        _slot_values(info, from.f, q.equations, _waves_at(info, from.f, q.equations, q.X), from.a)
      } else {
        _slot_values(info, f, q.equations, z, best + t * d)
      }
      (R, C) = _linearised(info, q.equations, q.X, V)
      # The residual of the linearised equations at zero amplitudes.
      (if borrowed { R - sum(C * expand(V, 1); axis = 2) } else { R }, C)
    }, blocks, waves)
    v = if borrowed {
      1e300
    } else {
      sqrt(
        sum(stack(...map((q, l, s) -> q.weight^2 * mean((stop_gradient(l[0]) / s)^2), blocks, lines,
          scales))))
    }
    if v < value or (v == value and steps == 1) {
      best = best + t * d
      poor = if v > 0.5 * value and t == 1 { poor + 1 } else { 0 }
      # Stops after three full steps in a row with little reduction, on none at
      # all, or at a negligible residual. The first step is always taken: the
      # derivatives of the solution come from it.
      done = steps >= m.steps or (steps > 0 and (poor == 3 or v > 0.99 * value or v < 1e-10))
      value = v
      t = 1.0
      if not done {
        parts = list()
        right = list()
        for (k, q) in enumerate(blocks) {
          (A, w) = _weighed_rows(info, f, q, waves[k], lines[k][1])
          parts = push(parts, A)
          right = push(right, -ravel(lines[k][0]) * w)
        }
        d = reshape(_least_squares(concat(...parts; axis = 0), concat(...right)),
          _component_count(info), -1)
        steps = steps + 1
        borrowed = false
        if linear { best = d; done = true }
      }
    } else {
      t = 0.5 * t
      done = t < 1e-3 or not (v < inf)
    }
  }
  (a = best, steps = steps)
}

# Returns a block's rows as a matrix, and their factors.
_weighed_rows(info, f, q, waves, C) = {
  A = _feature_rows(info, f, q.equations, waves, C)
  (n, r) = shape(C)[..2]
  w = ravel(broadcast_to(expand(q.weight / (sqrt(f64(n)) * _mean_square_rows(A, r)), 0), n, r))
  (A * expand(w, 1), w)
}

# Returns how well a nonzero function satisfies the homogeneous linear
# equations, measured as in _held_out. The function is normalised by a sum of
# its values at some places with irregular signs. If it does as well as the
# solution, the solution is not unique.
_kernel_left(info, blocks, held, f, a, scales) = {
  lines_of = q -> {
    waves = _waves_at(info, f, q.equations, q.X)
    (waves, _linearised(info, q.equations, q.X, _slot_values(info, f, q.equations, waves, a))[1])
  }
  parts = map(q -> { (waves, C) = lines_of(q); _weighed_rows(info, f, q, waves, C)[0] }, blocks)
  S = sin(_box_points(info, 7, 0.3) @ f.W' + f.b)
  row =
    concat(...map(c -> sum(S * expand(cos(7.1 * (iota(7) + 1.3 * c)^2), 1); axis = 0),
      each(_component_count(info))))
  A = concat(...parts, expand(100 * row / norm(row), 0); axis = 0)
  b = reshape(_least_squares(A, 100.0 * (iota(len(A)) == len(A) - 1)), _component_count(info), -1)
  (worst, size) = (0.0, 1e-300)
  for (k, q) in enumerate(held) {
    (waves, C) = lines_of(q)
    V = _slot_values(info, f, q.equations, waves, b)
    worst = max(worst, sqrt(mean((sum(C * expand(V, 1); axis = 2) / scales[k])^2)))
    size = max(size, sqrt(mean(V[.., 0]^2)))
  }
  worst / size
}

# Returns the size of an equation's rows for waves of length 2 L, which makes
# residuals comparable with the solution.
_wave_scales(info, equations, lines, X) = {
  base = π / _box_lengths(info)
  f = (W = broadcast_to(expand(base, 0), 8, len(base)), b = 2π * iota(8) / 8.0)
  _mean_square_rows(_feature_rows(info, f, equations, _waves_at(info, f, equations, X), lines[1]),
    shape(lines[0])[1])
}

# Returns the residual at points not used, in units of the solution, and
# relative to it.
_held_out(info, blocks, f, a, scales) = {
  worst = 0.0
  size = 1e-300
  for (k, q) in enumerate(blocks) {
    V = stop_gradient(_slot_values(info, f, q.equations, _waves_at(info, f, q.equations, q.X), a))
    R = stop_gradient(map((x, v) -> _rows_at(info, q.equations, x, v), q.X, V))
    worst = max(worst, sqrt(mean((R / scales[k])^2)))
    size = max(size, sqrt(mean(V[.., 0]^2)))
  }
  if worst < inf { (worst, worst / size) } else { (inf, inf) }
}

# Returns the line of balanced bandwidths: w_i = (c w^n / c_i)^(1/n_i), with w
# the bandwidth of the first space axis. For these the terms of highest pure
# order along the axes have equal size. The result is (factor, power) of each
# axis, with bandwidth = factor * w^power. Axes without pure derivatives scale
# with their length.
_balance(info, C) = {
  d = len(info.coords)
  main = 0
  for k in each(d) { if main == 0 and info.coords[0] == "t" and k > 0 { main = k } }
  (order, size) = (zeros(d), zeros(d))
  for (s, slot) in enumerate(_slots(info)) {
    for k in each(d) {
      if slot[1 + k] > 0 and _whole_order(slot) == slot[1 + k] {
        c = sqrt(mean(stop_gradient(C[.., .., s])^2))
        if c > 0 and slot[1 + k] == order[k] { size[k] = max(size[k], c) }
        if c > 0 and slot[1 + k] > order[k] { order[k] = f64(slot[1 + k]); size[k] = c }
      }
    }
  }
  known = order > 0 and order[main] > 0
  safe = where(known, order, 1.0)
  factor = where(known, (size[main] / where(known, size, 1.0))^(1 / safe),
    _box_lengths(info)[main] / _box_lengths(info))
  (factor = factor, power = where(known, order[main] / safe, 1.0),
    unit = 1 / _box_lengths(info)[main])
}

# Returns the bandwidths at place p of this line, twice as wide as those of the
# place before; place 0 is about one wave in the length of the box.
_bandwidth_at(balance, length, p) = {
  s = balance.factor * (2.0^p * balance.unit)^balance.power
  if p < 0 { s } else { clamp(s, 0.5 / length, 512 / length) }
}
# Whether a place is worth a trial.
_is_place(balance, length, p) =
  p >= -4 and p <= 9 and all(balance.factor * (2.0^p * balance.unit)^balance.power <= 512 / length)

# Fits a parabola to three logarithms of the residuals around place p (line has
# places from -4; negative: unknown). Returns its curvature and its minimum
# relative to p; 0 where not all are known.
_valley(line, p) = {
  y = if p > -4 and min(line[p + 3..p + 6]) > 0 { log(line[p + 3..p + 6]) } else { zeros(3) }
  bend = y[0] - 2y[1] + y[2]
  (bend, if bend > 0 { 0.5 * (y[0] - y[2]) / bend } else { 0.0 })
}

# Returns the values of all components at points X, f64[n, components], their
# sizes, and their rates of variation along each axis: rms of derivative by rms
# of value. Components that are free up to a constant (1.0) have mean 0.
_values_and_rates(info, f, a, X, free) = {
  a = stop_gradient(a)
  θ = X @ f.W' + f.b
  (U, K) = (sin(θ) @ a', cos(θ))
  U = U - free * mean(U; axis = 0)
  size = sqrt(mean(U^2; axis = 0)) + 1e-300
  rates = map(k -> sqrt(mean(((K @ (f.W[.., k] * a)') / size)^2)), each(len(info.coords)))
  (U, size, stack(...rates))
}
# Returns the distance of two solutions at the same points, relative to the size
# of the second.
_apart(U, V, size) = max(sqrt(mean((U - V)^2; axis = 0)) / size)

# Returns the target error with M features; it is weaker where more features
# make the solve expensive.
_goal(M, tol) = min(tol, max(1e-12, 1e-12 * (M / 750.0)^16))

# Returns how many features will reach the target, if up to M the logarithm of
# the error fell by `fell` for each one. It falls more slowly near rounding. A
# few features too many cost less than another solve.
_features_ahead(M, error, fell, tol) = {
  next = M
  while next < 2 * M and log(error) - 0.7fell * (next - M) > log(_goal(next, tol)) - 2 {
    next = next + 20
  }
  max(next, M + M // 10)
}

# Returns features fitted to a guess (by field, values or functions of the
# coordinates, 0 without one), at the bandwidth that fits best.
_features_of_guess(info, m, guess, M, held, balance, length) = {
  values = X -> concat(...map(k -> {
    given = if has(guess, info.fields[k]) { field(guess, info.fields[k]) } else { 0.0 }
    v = if kind(given) == "function" {
      given(...map(j -> X[.., j], each(len(info.coords))))
    } else {
      given
    }
    if info.sizes[k] == 0 {
      expand(f64(v) + zeros(len(X)), 1)
    } else {
      f64(v) + zeros(len(X), info.sizes[k])
    }
  }, each(len(info.fields))); axis = 1)
  X = _box_points(info, 3 * M, 0.5)
  (Y, Z) = (values(X), values(held))
  best = (f = (W = zeros(0, len(length)), b = zeros(0)), a = zeros(_component_count(info), 0))
  e = inf
  for p in 0..8 {
    f = _draw_features(info, M, _bandwidth_at(balance, length, p), m.seed)
    a = _ridge(sin(X @ f.W' + f.b), Y)'
    off = norm(sin(held @ f.W' + f.b) @ a' - Z)
    if off < e { best = (f = f, a = a); e = off }
  }
  best
}

_solve_rfm(info, m, o) = {
  _box_only(info, m)
  d = len(info.coords)
  few = if m.features > 0 { min(m.features, 200) } else { 200 }
  held = _rfm_blocks(info, 0.5, 1.0, few, inf * _box_lengths(info), 0.137)
  at_rest = map(q -> _linearised(info, q.equations, q.X, zeros(len(q.X), _slot_starts(info)[-1])),
    held)
  scales = map((q, l) -> _wave_scales(info, q.equations, l, q.X), held, at_rest)
  linear = _is_linear(info, (...info.equations, ...info.conditions))
  free = _free_components(info)
  balance = _balance(info, at_rest[0][1])
  length = _box_lengths(info)
  given = kind(m.bandwidth) != "none"
  limit = min(900, if m.features > 0 { m.features } else { m.most })
  # One loop decides the next trial. Stage 0: bandwidths along the line of
  # balance, with more features when these are too few to decide. 1: between the
  # places of the line. 2: axes in proportion to the solution's variation. 3:
  # more features. 4: fewer, to calibrate the residual.
  M = if given and m.features > 0 { m.features } else { few }
  stage = if given { 3 } else { 0 }
  s = if given { 0.0 * length + m.bandwidth } else { _bandwidth_at(balance, length, 0) }
  (place, turns, slow, level_e, level_M) = (0, 0, 0, inf, M)
  # deep: the bandwidth comes from few features that resolved the solution only
  # roughly. nudge: the offset of the minimum from the best place then.
  deep = false
  nudge = 1.0 + 0.0 * length
  # The first pass goes from narrow to wide.
  sweep = true
  # Residuals at the places -4 .. 9, and one beyond, with M features; negative:
  # not tried.
  line = zeros(15) - 1.0
  best = (s = s, M = M, a = zeros(_component_count(info), 0), f = (W = zeros(0, d), b = zeros(0)),
    e = inf, error = inf, steps = 0, place = 0, U = zeros(len(held[0].X), _component_count(info)),
    size = zeros(_component_count(info)), rates = zeros(d))
  nothing = if kind(o.guess) == "none" or linear {
    (f = best.f, a = best.a)
  } else {
    _features_of_guess(info, m, o.guess, few, held[0].X, balance, length)
  }
  # The error for each unit of the residual, from two different solutions
  # (negative: unknown), the larger of their residuals, and their distance.
  (ratio, ratio_e, apart) = (-1.0, inf, 0.0)
  done = false
  while not done {
    f = _draw_features(info, M, stop_gradient(s), m.seed)
    start = if best.error < 0.3 { (f = best.f, a = best.a) } else { nothing }
    r = _rfm_amplitudes(info, m, _rfm_blocks(info, m.rows, m.weight, M, s, 0.5), f, start, scales,
      linear)
    (e, error) = _held_out(info, held, f, r.a, scales)
    (U, size, rates) = _values_and_rates(info, f, r.a, held[0].X, free)
    now = (s = s, M = M, a = r.a, f = f, e = e, error = error, steps = r.steps, place = place,
      U = U, size = size, rates = rates)
    if max(e, best.e) < ratio_e {
      ratio_e = max(e, best.e)
      apart = _apart(U, best.U, if e < best.e { size } else { best.size })
      ratio = apart / sqrt(e^2 + best.e^2 + 1e-300)
    }
    before = best
    better = stage < 4 and e < (if stage == 1 or stage == 2 { 0.8 } else { 1.0 }) * best.e
    if better { best = now }
    if stage == 0 {
      line[place + 4] = e
      sweep = sweep and place < 8 and _is_place(balance, length, place + 1) and
        not (best.error < 0.1 and e > 100 * best.e)
      if sweep { place = place + 1 } else {
        # Continue with the neighbours of the best place.
        p = best.place
        (bend, shift) = _valley(line, p)
        # If the neighbours are much worse, these features resolve the solution
        # roughly. More features then help more than a better bandwidth.
        deep = m.features == 0 and bend > 3 and best.error < 1 and ratio >= 0 and
          ratio * best.error < 0.03
        if _is_place(balance, length, p + 1) and line[p + 5] < 0 {
          place = p + 1
        } else if p > -4 and line[p + 3] < 0 {
          place = p - 1
        } else if best.error > 0.01 and M < limit and not deep {
          (level_e, level_M) = (best.e, M)
          M = min(limit, M + M // 2)
          line = zeros(15) - 1.0
          best = (...best, e = inf)
          place = p
        } else {
          stage = 1
        }
      }
      s = _bandwidth_at(balance, length, place)
      if stage == 1 {
        shift = _valley(line, best.place)[1]
        turns = 0
        if deep and best.error > 0.01 {
          # The noise of few features would decide this trial, so the minimum is
          # used without it.
          nudge = 2.0^(shift * balance.power)
          stage = 2
        } else if abs(shift) > 0.15 { s = best.s * 2.0^(shift * balance.power) } else { stage = 2 }
      }
    } else if stage == 1 { stage = 2 } else if stage == 2 and not better { turns = turns + 1 }
    if stage == 2 {
      if not deep and best.error > (if M <= 450 { 1e-3 } else { 0.01 }) {
        # Poorly resolved: wider and narrower along each axis, and by large
        # factors where the solution is not found at all.
        if turns >= (if d > 3 { 0 } else if best.error > 0.1 { 4d } else { 2d }) {
          stage = 3
        } else {
          s = best.s
          (axis, factor) = (turns // 2 % d, if turns < 2d { 1.5 } else { 4.0 })
          s[axis] = s[axis] * (if turns % 2 == 0 { factor } else { 1 / factor })
        }
      } else {
        # Resolved: in proportion to the variation.
        k = best.rates / best.s
        k = max(k, 0.01 * max(k), 1e-300)
        factor = clamp(k / exp(mean(log(k))), 0.25, 4.0)
        if turns >= 2 or max(abs(log(factor))) < 0.4 {
          stage = 3
        } else {
          s = best.s * factor^(if turns == 0 { 1.0 } else { 0.5 })
        }
      }
    }
    if stage == 4 { done = true }
    if stage == 3 {
      s = best.s
      if m.features > 0 {
        done = M == m.features
        if not done { M = m.features } else if ratio < 0 and M >= 50 {
          # A second solution calibrates the residual of the first.
          (stage, done, M) = (4, false, M // 2)
        }
      } else {
        known = if ratio < 0 { best.error } else { ratio * best.e }
        if M > before.M { (level_e, level_M) = (before.e, before.M) }
        fell = if level_M < best.M {
          log(level_e / max(best.e, 1e-300)) / (best.M - level_M)
        } else {
          0.0
        }
        slow = if M > before.M and e > 0.3 * before.e and e < 1e-2 { slow + 1 } else { 0 }
        # Residuals do not fall below rounding.
        done = known < (if best.error < 3e-12 { m.tol } else { _goal(M, m.tol) }) or M >= m.most or
          slow == 2
        M = min(m.most, if fell > 0 { _features_ahead(M, known, fell, m.tol) } else { 2 * M })
        # More features can represent shorter waves; a poorly resolved solution
        # had the bandwidth that its features could represent.
        if not given {
          s = s * (f64(M) / best.M)^(0.5 / d) *
            (if deep and
              best.error > 0.01 { nudge * (f64(M) / best.M)^(0.3 / d) } else { 1.0 + 0.0 * s })
        }
      }
    }
    if o.progress { progress(turns, 0; features = M, error = best.error) }
  }
  # Inaccurate solutions may agree by chance, so their estimate is at least the
  # residual itself.
  error_ = if ratio < 0 {
    best.error
  } else if best.error > 1e-3 {
    max(best.error, ratio * best.e)
  } else {
    ratio * best.e
  }
  # Where the equations have jumps or kinks, more features reduce the residual
  # but hardly the error, so errors may exceed the difference of two solutions.
  error_ = if ratio >= 0 and _compares_values(info) { max(error_, 2 * apart) } else { error_ }
  # With high derivatives the residual may be large for a good solution, so the
  # residual relative to the size of the rows counts too.
  if not linear and not (error_ < 0.1 or best.e < 0.1) {
    error(
      "{info.name}: Newton's method has found no solution with {best.M} random features: what is "
      "left of the equations is {error_:.1g} of it, after {best.steps} steps. More features, a "
      "shorter time or weaker nonlinear terms may help, or a guess: solve(..., guess = (u = ...)), "
      "the solution of an easier problem, say; fd(), chebyshev() and pinn() serve layers and long "
      "times")
  }
  if (info.time < 0 or d == 1) and max(free) == 0 and best.error < 1e-4 and not o.partial {
    left =
      _primal(() -> _kernel_left(info, _rfm_blocks(info, m.rows, m.weight, best.M, best.s, 0.5),
        held, best.f, best.a, scales))
    if left < clamp(1e3 * best.error, 1e-9, 1e-5) {
      error(_undetermined(info.name; why = "another function satisfies them as well"))
    }
  }
  # A wave of zero frequency removes the mean over the box from components that
  # are free up to a constant.
  shifted = if max(free) == 0 { (f = best.f, a = best.a) } else {
    half = 0.5 * best.f.W * length
    parts = prod(where(half == 0, 1.0, sin(half) / where(half == 0, 1.0, half)); axis = 1)
    mean_ = best.a @ (sin(best.f.W @ (stack(...info.lo) + 0.5 * length) + best.f.b) * parts)
    (f = (W = concat(best.f.W, zeros(1, d)), b = concat(best.f.b, [0.5 * π])),
      a = concat(best.a, -expand(free * mean_, 1); axis = 1))
  }
  _rfm_solution(info, m, (...best, ...shifted, error = error_))
}
# Returns 1.0 for the components of fields that are determined only up to a
# constant, else 0.0.
_free_components(info) = {
  free = zeros(_component_count(info))
  for k in _free_constants(info, (count = len(info.fields),)) {
    pinned = false
    for c in info.conditions {
      d = _residual_dependence(info, c)
      for (i, j) in enumerate(info.jets) {
        if j[0] == k and d.depends[len(info.coords) + i] { pinned = pinned or c.at.coord < 0 }
      }
    }
    if not pinned { free[_first_component(info, k).._first_component(info, k + 1)] = 1.0 }
  }
  free
}

_rfm_solution(info, m, r) = {
  functions = map(k -> _rfm_field(info, r.f, r.a, k), each(len(info.fields)))
  (...record(info.fields, functions), features = r.f, values = r.a, times = [], error = r.error,
    bandwidth = r.s, stats = (features = len(r.f.b), steps = r.steps), method = m.name,
    kind = "pde", info = (fields = info.fields, coords = info.coords, lo = info.lo, hi = info.hi))
}

# Returns a field as a function of coordinates that are numbers or arrays that
# broadcast.
_rfm_field(info, f, a, k) = {
  first = _first_component(info, k)
  size = info.sizes[k]
  _of_coordinates(info, X -> {
    S = sin(X @ f.W' + f.b)
    if size == 0 { S @ a[first] } else { S @ a[first..first + size]' }
  }, size)
}

# Turns a function of points f64[n, d] into one of the coordinates, one argument
# each.
_of_coordinates(info, g, size) = (...xs) -> {
  assert(len(xs) == len(info.coords),
    "a field of this solution is a function of {len(info.coords)} coordinates")
  shared = 0.0
  for x in xs { shared = shared + 0.0 * x }
  y = g(stack(...map(x -> ravel(x + shared), list(...xs)); axis = 1))
  if rank(shared) == 0 {
    y[0]
  } else if size == 0 {
    reshape(y, ...shape(shared))
  } else {
    reshape(y, ...shape(shared), size)
  }
}
