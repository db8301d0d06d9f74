# fv_flux.dsl - numerical fluxes and reconstructions of fv.dsl: functions of a
# few numbers, mapped over faces.
#
# They work for any system: a flux is a function, its derivatives form the
# Jacobian, and the eigenvalues are the wave speeds.

# ---- speeds

# Returns the Jacobian of the flux along the k-th coordinate, by columns.
_fv_columns(s, k, X, U) =
  map(j -> jvp(W -> _fv_flux(s, k, X, W), U, map(i -> if i == j { 1.0 } else { 0.0 }, s.all))[1],
    s.all)
# Returns the smallest and the largest wave speed; with two unknowns NaN where
# the eigenvalues are complex.
_fv_speeds(s, k, X, U) = {
  A = _fv_columns(s, k, X, U)
  (low, high) = _fv_ends(A)
  if s.m != 2 { (low, high) } else { (where(_fv_is_turning(A), nan, low), high) }
}

# ---- one unknown with a flux of any form

# Whether the speed f' of one unknown may have extremes between two states: true
# unless f' is proven affine, as where f is quadratic.
_fv_turns(s, k) = if s.m > 1 { false } else {
  d = s.dims
  told =
    _dependence((...a) -> jvp(u -> _fv_flux(s, k, (...map(i -> a[i], each(d + 1)),), list(u))[0],
      a[d + 1], 1.0)[1],
      ...map(i -> 0.5, each(d + 2)))
  told.factors[d + 1][d + 1]
}

# Returns f and f' on states from a to b: (f at these states and where f'
# vanishes between two of them, in order; f'). Between the states f' is
# interpolated linearly, which is exact where f is quadratic. This is the flux
# of front tracking (C. M. Dafermos, J. Math. Anal. Appl. 38 (1972) 33-41), with
# parabolas instead of lines.
_fv_path(s, k, X, a, b) = {
  f = u -> _fv_flux(s, k, X, list(u))[0]
  n = if _fv_turns(s, k) { 8 } else { 1 }
  at = map(i -> a + (i / n) * (b - a), each(n + 1))
  known = map(u -> jvp(f, u, 1.0), at)
  F = list(known[0][0])
  for i in each(n) {
    (p, q) = (known[i][1], known[i + 1][1])
    turn = if p * q < 0 { p / (p - q) } else { 1.0 }
    F = push(push(F, f(at[i] + turn * (at[i + 1] - at[i]))), known[i + 1][0])
  }
  (F, map(v -> v[1], known))
}
# Returns bounds of f' from a to b: the extremes of its known values, extended
# as far as a parabola through three of them may exceed them.
_fv_extremes(s, k, X, a, b) = {
  p = _fv_path(s, k, X, a, b)[1]
  (low, high, bend) = (p[0], p[0], 0.0 * p[0])
  for v in p { low = min(low, v); high = max(high, v) }
  for i in each(1, len(p) - 1) { bend = max(bend, abs(p[i - 1] - 2 * p[i] + p[i + 1])) }
  (low - 0.25 * bend, high + 0.25 * bend)
}

# Returns the smallest and the largest eigenvalue of a small matrix with real
# eigenvalues; A[j][i] is row i of column j. Up to three rows it uses a closed
# form. For more, Laguerre's iteration on the characteristic polynomial starts
# outside the roots (at the Laguerre-Samuelson bound) and does not pass a root.
_fv_ends(A) = if len(A) == 1 { (A[0][0], A[0][0]) } else {
  if len(A) == 2 {
    (mean, half) = _fv_pair(A)
    (mean - half, mean + half)
  } else {
    if len(A) == 3 {
      (mean, r, c) = _fv_cubic(A)
      (far, near) = _fv_outer(abs(c))
      (mean - r * where(c > 0, near, far), mean + r * where(c > 0, far, near))
    } else {
      m = len(A)
      c = _fv_polynomial(A)
      (-_fv_laguerre(map(j -> if (m - j) % 2 == 0 { c[j] } else { -c[j] }, each(m + 1))),
        _fv_laguerre(c))
    }
  }
}
_fv_pair(A) = {
  mean = 0.5 * (A[0][0] + A[1][1])
  d = 0.5 * (A[0][0] - A[1][1])
  apart = d^2 + A[1][0] * A[0][1]
  # At a double eigenvalue the square root has no derivative.
  (mean, where(apart > 0, sqrt(where(apart > 0, apart, 1.0)), 0.0))
}
# Whether the eigenvalues of a 2 by 2 matrix are complex, by more than rounding.
_fv_is_turning(A) = {
  (d, both) = (0.5 * (A[0][0] - A[1][1]), A[1][0] * A[0][1])
  d^2 + both < -1e-10 * (d^2 + abs(both))
}
# For a matrix with three rows: the eigenvalues are mean + 2r cos((acos(c) +
# 2πj)/3).
_fv_cubic(A) = {
  mean = (A[0][0] + A[1][1] + A[2][2]) * (1.0 / 3.0)
  a = A[0][0] - mean
  b = A[1][1] - mean
  d = A[2][2] - mean
  p = -(a * b + a * d + b * d) + A[1][0] * A[0][1] + A[2][0] * A[0][2] + A[2][1] * A[1][2]
  q = a * (b * d - A[2][1] * A[1][2]) - A[1][0] * (A[0][1] * d - A[2][1] * A[0][2]) +
    A[2][0] * (A[0][1] * A[1][2] - b * A[0][2])
  # For a triple eigenvalue the cube of r must not underflow.
  r = sqrt(max(1e-100, p * (1.0 / 3.0)))
  (mean, r, clamp(0.5 * q / (r * r * r), -1.0, 1.0))
}
# Returns 2cos(acos(c)/3) for c from 0 to 1, and the distance of the root at the
# other end. The first is smooth in e = 1 - c, so it is 2 minus e times a
# polynomial. The second follows by dividing the cubic by the first root. Both
# are accurate to 2e-13.
_fv_outer(c) = {
  e = 1 - c
  g =
    _estrin(list(0.2222222222221402, 0.032921810731108225, 0.00853528225231556,
      0.002709664023966146, 0.00095608002596953, 0.0003657914369846411, 0.00011740855999472615,
      0.00014115819112163477, -0.00016724941755547813, 0.000315239083019471, -0.0003272215649800756,
      0.00023870430304322163, -0.00010031588187774241, 2.0618465760458116e-05), e)
  d = e * g
  # At a double eigenvalue the square root has no derivative.
  apart = 3 * d * (4 - d)
  (2 - d, 0.5 * (2 - d + where(apart > 0, sqrt(where(apart > 0, apart, 1.0)), 0.0)))
}

# Returns the coefficients of det(λ - A), from λ^0 on (Faddeev-LeVerrier).
_fv_polynomial(A) = {
  m = len(A)
  all = each(m)
  M = map(j -> map(i -> if i == j { 1.0 } else { 0.0 }, all), all)
  c = list(1.0)
  for k in each(1, m + 1) {
    AM = map(j -> map(i -> { t = 0.0; for l in all { t = t + A[l][i] * M[j][l] }; t }, all), all)
    trace = 0.0
    for i in all { trace = trace + AM[i][i] }
    new = -trace / k
    c = list(new, ...c)
    M = map(j -> map(i -> AM[j][i] + (if i == j { new } else { 0.0 }), all), all)
  }
  c
}
_fv_laguerre(c) = {
  m = len(c) - 1
  mean = -c[m - 1] / m
  x = mean + sqrt(max(0.0, (m - 1) * (c[m - 1] * c[m - 1] * (m - 1) - 2 * m * c[m - 2]))) / m
  x = x + 1e-9 * (abs(x - mean) + 1e-300)
  for _ in each(6) {
    p = c[m]
    d = 0.0 * x
    e = 0.0 * x
    for j in each(1, m + 1) {
      e = e * x + d
      d = d * x + p
      p = p * x + c[m - j]
    }
    h = sqrt(max(0.0, (m - 1) * ((m - 1) * d * d - m * p * 2 * e)))
    x = if p > 0 and d + h > 0 { x - m * p / (d + h) } else { x }
  }
  x
}

# ---- reconstruction

# Returns the values at the lower and the upper face of the middle one of 1, 3
# or 5 averages.
_fv_edges(m, v) = if m.reconstruct == "first" { (v[0], v[0]) } else {
  if m.reconstruct == "muscl" {
    half = 0.5 * _fv_limited(m, v[1] - v[0], v[2] - v[1])
    (v[1] - half, v[1] + half)
  } else { _fv_weno(m, v) }
}

_fv_limited(m, a, b) = if m.limiter == "minmod" {
  if a * b <= 0 { 0.0 } else { if abs(a) < abs(b) { a } else { b } }
} else {
  if m.limiter == "vanleer" { if a * b <= 0 { 0.0 } else { 2 * a * b / (a + b) } } else {
    if a * b <= 0 { 0.0 } else {
      p = min(2 * abs(a), abs(b))
      q = min(abs(a), 2 * abs(b))
      (if a > 0 { 1.0 } else { -1.0 }) * max(p, q)
    }
  }
}

# WENO weights of Jiang and Shu, or of R. Borges, M. Carmona, B. Costa and W. S.
# Don, J. Comput. Phys. 227 (2008) 3191-3211. Both faces share three smoothness
# measures, scaled by four. Parabolas are written as corrections of the middle
# average by its differences, to save arithmetic, which dominates the time of a
# flux.
_fv_weno(m, v) = {
  (a, b, c, d) = (v[1] - v[0], v[2] - v[1], v[3] - v[2], v[4] - v[3])
  (p, q, r) = (b - a, c - b, d - c)
  # 3b + p is p1 + b, and so on: sums instead of products, because
  # multiplications and divisions share the busy execution ports.
  (p1, q1, r1) = (p + b + b, b + c, r - c - c)
  x = 13.0 / 3.0 * p * p + p1 * p1
  y = 13.0 / 3.0 * q * q + q1 * q1
  w = 13.0 / 3.0 * r * r + r1 * r1
  (i, j, k) = if m.reconstruct == "weno5z" {
    τ = abs(x - w)
    f = y -> 1 + (τ / (y + 4e-40)) * (τ / (y + 4e-40))
    (f(x), 2 * f(y), f(w))
  } else {
    # Weights over a common denominator: one division.
    (x2, y2, w2) = ((x + 4e-6) * (x + 4e-6), (y + 4e-6) * (y + 4e-6), (w + 4e-6) * (w + 4e-6))
    (y2 * w2, (x2 + x2) * w2, x2 * y2)
  }
  (i3, k3) = (i * (1.0 / 3.0), k * (1.0 / 3.0))
  (s, t) = (p1 + b, c - r1)
  low = (j * (b + q1) + i * s + k3 * (t - r)) / (6 * (i + j + k3))
  high = (i3 * (s + p) + j * (c + q1) + k * t) / (6 * (i3 + j + k))
  (v[2] - low, v[2] + high)
}

# ---- fluxes

# Returns the values on both sides of all faces along the k-th coordinate,
# reconstructed in each cell from padded averages P.
_fv_sides(s, m, grid, k, P) = {
  n = grid.n[k]
  width = 2 * grid.g - 1
  pieces = list()
  for p in P { for o in each(width) { pieces = push(pieces, _fv_cut(p, k, o, o + n + 2)) } }
  edges = _fv_each(s, (...a) -> {
    cells = map(i -> map(o -> a[i * width + o], each(width)), s.all)
    own = map(v -> v[grid.g - 1], cells)
    e = map(v -> _fv_edges(m, v), cells)
    _fv_flat(list(..._fv_kept(s, m, map(v -> v[0], e), map(v -> v[1], e), own)))
  }, pieces)
  _fv_at_ends(s, m, grid, k, P, map(i -> _fv_cut(edges[s.m + i], k, 0, n + 1), s.all),
    map(i -> _fv_cut(edges[i], k, 1, n + 2), s.all))
}
# Returns the fluxes at all faces along the k-th coordinate, from padded
# averages and speeds.
_fv_face_fluxes(s, m, grid, k, t, waves) = if _fv_stands(s) {
  # The terms written under a derivative, which do not depend on the state.
  zero = _fv_zero(s)
  _fv_each(s, (...a) -> {
    X = (t, ...map(i -> a[i], each(s.dims)))
    _fv_terms(s, "flux", k + 1, X, _fv_jets(s, zero, _fv_none(s), list(zero, zero, zero), zero))
  }, grid.faces[k])
} else {
  n = grid.n[k]
  ks = each(s.dims)
  (left, right) = _fv_sides(s, m, grid, k, waves.P)
  speeds = if m.flux == "rusanov" or m.flux == "hll" {
    _fv_flat(map(c -> list(_fv_cut(c, k, 0, n + 1), _fv_cut(c, k, 1, n + 2)), waves.speeds))
  } else { list() }
  _fv_each(s, (...a) -> {
    X = (t, ...map(i -> a[i], ks))
    L = map(i -> a[s.dims + i], s.all)
    R = map(i -> a[s.dims + s.m + i], s.all)
    _fv_between(s, m, k, X, L, R, map(i -> a[s.dims + 2 * s.m + i], each(len(speeds))))
  }, list(...grid.faces[k], ...left, ...right, ...speeds))
}
# Replaces both sides of the end faces by the value at the face where a
# condition on the derivative is imposed.
_fv_at_ends(s, m, grid, k, P, left, right) =
  if not s.diffuses or grid.periodic[k] { (left, right) } else {
    (n, g) = (grid.n[k], grid.g)
    (low, high) = (_fv_meets_at_face(s, k + 1, 0), _fv_meets_at_face(s, k + 1, 1))
    at = i -> {
      face = j -> 0.5 * (_fv_cut(P[i], k, j, j + 1) + _fv_cut(P[i], k, j + 1, j + 2))
      v -> concat(if low[i] { face(g - 1) } else { _fv_cut(v, k, 0, 1) }, _fv_cut(v, k, 1, n),
        if high[i] { face(g + n - 1) } else { _fv_cut(v, k, n, n + 1) }; axis = k)
    }
    (map(i -> if low[i] or high[i] { at(i)(left[i]) } else { left[i] }, s.all),
      map(i -> if low[i] or high[i] { at(i)(right[i]) } else { right[i] }, s.all))
  }
# Returns the values at both faces of a cell, or the cell's averages where
# either face violates positivity. Replacing one face alone would change the
# mean of the reconstruction.
_fv_kept(s, m, lower, upper, own) = if kind(m.positive) == "none" { (lower, upper) } else {
  fine = min(_fv_to_keep(s, m, lower), _fv_to_keep(s, m, upper)) > 0
  (map(i -> if fine { lower[i] } else { own[i] }, s.all),
    map(i -> if fine { upper[i] } else { own[i] }, s.all))
}
# Returns the minimum of the values that must stay positive.
_fv_to_keep(s, m, U) = {
  v = m.positive(...map(k -> _fv_field(s, k, U), each(len(s.info.fields))))
  if kind(v) == "array" { v + 0.0 } else { w = v[0] + 0.0; for q in v { w = min(w, q) }; w }
}

_fv_between(s, m, k, X, L, R, c) = if m.flux == "rusanov" {
  f = _fv_flux(s, k, X, L)
  g = _fv_flux(s, k, X, R)
  a = max(c[0], c[1])
  map(i -> 0.5 * (f[i] + g[i]) - 0.5 * a * (R[i] - L[i]), s.all)
} else {
  if m.flux == "hll" { _fv_hll(s, k, X, L, R, min(c[0], c[1]), max(c[2], c[3])) } else {
    if m.flux == "roe" {
      _fv_roe(s, k, X, L, R)
    } else {
      if m.flux == "godunov" { _fv_godunov(s, k, X, L, R) } else { _fv_hllc(s, k, X, L, R) }
    }
  }
}

# HLL flux: A. Harten, P. D. Lax and B. van Leer, SIAM Rev. 25 (1983) 35-61.
_fv_hll(s, k, X, L, R, low, high) = {
  f = _fv_flux(s, k, X, L)
  g = _fv_flux(s, k, X, R)
  a = min(low, 0.0)
  b = max(high, 0.0)
  # Where all speeds are zero, both sides have equal weights.
  moves = b - a > 1e-200
  w = if moves { 1 / (b - a) } else { 0.0 }
  (p, q) = if moves { (b * w, -a * w) } else { (0.5, 0.5) }
  map(i -> p * f[i] + q * g[i] + a * p * (R[i] - L[i]), s.all)
}

# Roe flux: |A|(R - L) with A the mean of the Jacobian along the segment from L
# to R (I. Toumi, J. Comput. Phys. 102 (1992) 360-373), by Gauss quadrature. |A|
# is the polynomial in A that equals |λ| at the eigenvalues, smoothed near 0
# (Harten's entropy fix).
_fv_roe(s, k, X, L, R) = if s.m == 1 { _fv_osher(s, k, X, L, R) } else {
  f = _fv_flux(s, k, X, L)
  g = _fv_flux(s, k, X, R)
  D = map(i -> R[i] - L[i], s.all)
  nodes = (0.11270166537925831, 0.5, 0.88729833462074169)
  weights = (0.27777777777777778, 0.44444444444444444, 0.27777777777777778)
  A = map(j -> _fv_zero(s), s.all)
  for q in list(0, 1, 2) {
    B = _fv_columns(s, k, X, map(i -> L[i] + nodes[q] * D[i], s.all))
    A = map(j -> map(i -> A[j][i] + weights[q] * B[j][i], s.all), s.all)
  }
  V = _fv_absolute(A, D, _fv_eigenvalues(_fv_columns(s, k, X, L)),
    _fv_eigenvalues(_fv_columns(s, k, X, R)))
  map(i -> 0.5 * (f[i] + g[i]) - 0.5 * V[i], s.all)
}
_fv_times(A, D) = {
  all = each(len(D))
  map(i -> { t = 0.0; for j in all { t = t + A[j][i] * D[j] }; t }, all)
}
_fv_rounded(x, d) = if abs(x) < d { 0.5 * (x * x / d + d) } else { abs(x) }
# Returns all eigenvalues of a matrix with two or three rows, ascending.
_fv_eigenvalues(A) =
  if len(A) == 2 { (mean, half) = _fv_pair(A); list(mean - half, mean + half) } else {
    (mean, r, c) = _fv_cubic(A)
    φ = acos(c)
    (x, z) = (mean + 2 * r * cos(φ / 3), mean + 2 * r * cos((φ + 2π) / 3))
    list(z, 3 * mean - x - z, x)
  }
# Returns the width of the entropy fix for the speed x of a wave: at least d,
# and for a rarefaction from the speed l on the left to r on the right, the
# width of its fan on either side (A. Harten and J. M. Hyman, J. Comput. Phys.
# 50 (1983) 235-269).
_fv_opening(x, l, r, d) = max(d, max(x - l, r - x))
_fv_absolute(A, D, left, right) = {
  m = len(A)
  all = each(m)
  if m == 2 {
    (mean, half) = _fv_pair(A)
    # At least as far apart as rounding can distinguish eigenvalues.
    h = max(half, 1e-10 * (abs(mean) + 1e-300))
    δ = 0.1 * (abs(mean) + h)
    a = _fv_rounded(mean - h, _fv_opening(mean - h, left[0], right[0], δ))
    b = _fv_rounded(mean + h, _fv_opening(mean + h, left[1], right[1], δ))
    V = _fv_times(A, D)
    map(i -> a * D[i] + (b - a) / (2 * h) * (V[i] - (mean - h) * D[i]), all)
  } else {
    (z, y, x) = (..._fv_eigenvalues(A),)
    (mean, r, c) = _fv_cubic(A)
    δ = 0.1 * (abs(mean) + 2 * r)
    w = 1e-7 * (abs(mean) + r)
    a = _fv_rounded(x, _fv_opening(x, left[2], right[2], δ))
    b = _fv_rounded(y, _fv_opening(y, left[1], right[1], δ))
    e = _fv_rounded(z, _fv_opening(z, left[0], right[0], δ))
    ab = (a - b) / max(x - y, w)
    be = (b - e) / max(y - z, w)
    abe = (ab - be) / max(x - z, w)
    V = _fv_times(A, D)
    # Newton's form: e + be (A - z) + abe (A - z)(A - y).
    P = map(i -> V[i] - z * D[i], all)
    Q = _fv_times(A, P)
    map(i -> e * D[i] + be * P[i] + abe * (Q[i] - y * P[i]), all)
  }
}

# Engquist-Osher flux of one unknown: |A|(R - L) is the integral of |f'| from L
# to R. This equals Roe's flux where f' keeps its sign, and opens a rarefaction
# where it does not (B. Engquist and S. Osher, Math. Comp. 34 (1980) 45-75).
_fv_osher(s, k, X, L, R) = {
  F = _fv_path(s, k, X, L[0], R[0])[0]
  total = 0.0 * L[0]
  for i in each(1, len(F)) { total = total + abs(F[i] - F[i - 1]) }
  list(0.5 * (F[0] + F[len(F) - 1]) - (if R[0] >= L[0] { 0.5 } else { -0.5 }) * total)
}

# Godunov flux (S. K. Godunov, Mat. Sb. 47 (1959) 271-306): the minimum of f
# between L and R, or the maximum between R and L, for f of any form (S. Osher,
# SIAM J. Numer. Anal. 21 (1984) 217-235).
_fv_godunov(s, k, X, L, R) = {
  F = _fv_path(s, k, X, L[0], R[0])[0]
  (low, high) = (F[0], F[0])
  for v in F { low = min(low, v); high = max(high, v) }
  list(if L[0] <= R[0] { low } else { high })
}

# HLLC flux of density, momenta and energy: E. F. Toro, M. Spruce and W.
# Speares, Shock Waves 4 (1994) 25-34. The pressure is the flux of momentum
# minus momentum times velocity.
_fv_hllc(s, k, X, L, R) = {
  m = s.m
  f = _fv_flux(s, k, X, L)
  g = _fv_flux(s, k, X, R)
  u = L[1 + k] / L[0]
  v = R[1 + k] / R[0]
  p = f[1 + k] - L[1 + k] * u
  q = g[1 + k] - R[1 + k] * v
  l = _fv_speeds(s, k, X, L)
  r = _fv_speeds(s, k, X, R)
  a = min(l[0], r[0])
  b = max(l[1], r[1])
  c = (q - p + L[1 + k] * (a - u) - R[1 + k] * (b - v)) / (L[0] * (a - u) - R[0] * (b - v))
  star = (U, w, pressure, e) -> {
    by = (e - w) / (e - c)
    map(i -> if i == 1 + k { U[0] * by * c } else {
      if i == m - 1 { by * (U[i] + (c - w) * (U[0] * c + pressure / (e - w))) } else { U[i] * by }
    }, s.all)
  }
  x = star(L, u, p, a)
  y = star(R, v, q, b)
  map(i -> if a >= 0 {
    f[i]
  } else {
    if c >= 0 {
      f[i] + a * (x[i] - L[i])
    } else {
      if b > 0 { g[i] + b * (y[i] - R[i]) } else { g[i] }
    }
  }, s.all)
}

# Returns the largest imaginary part of the eigenvalues of the flux's Jacobian
# at these places and states, 0 where all are real.
_fv_imaginary(s, k, t, X, V) = {
  d = s.dims
  A =
    map(
      (...a) -> stack(...map(c -> stack(...map(v -> v + 0.0, c)),
        _fv_columns(s, k, (t, ...map(i -> a[i], each(d))),
          map(i -> a[d + i], s.all))); axis = 1), ...X, ...V)
  most = 0.0
  for j in 0..len(A) {
    if all(abs(A[j]) < inf) {
      λ = eigvals(A[j])
      if max(abs(imag(λ))) > 1e-5 * (1e-300 + max(abs(λ))) { most = max(most, max(abs(imag(λ)))) }
    }
  }
  most
}
# Checks the requirements of a flux in some states, and that the eigenvalues are
# real.
_fv_check_flux(s, m, k, X, V) = {
  d = s.dims
  state = a -> map(i -> a[d + i], s.all)
  point = a -> (s.info.lo[0], ...map(i -> a[i], each(d)))
  along = s.info.coords[k + 1]
  if s.m > 1 {
    λ = _fv_imaginary(s, k, s.info.lo[0], X, V)
    if λ > 0 {
      error(
        "fv() wants a hyperbolic system, and the speeds of its waves along {along} are not real: "
        "the derivative of the flux has eigenvalues with imaginary part {λ:.3g} at the beginning")
    }
  }
  if m.flux == "roe" and s.m > 3 {
    _refuse(
      "fv(flux = \"roe\") serves up to three unknowns, and here are {s.m}; \"hll\" and \"rusanov\" "
      "serve any number")
  }
  if m.flux == "godunov" {
    if s.m != 1 {
      _refuse(
        "fv(flux = \"godunov\") is for one unknown, and here are {s.m}; take \"hll\", \"roe\" or "
        "\"rusanov\"")
    }
  }
  if m.flux == "hllc" {
    say =
      ("fv(flux = \"hllc\") is for compressible flow: fields density, momenta and energy, in this "
        "order, with fluxes m, m*u + p, (E + p)*u; \"hll\" serves any system")
    if s.m != 2 + d { _refuse(say) }
    wrong = map((...a) -> {
      # Shifted away from states at rest, where other systems look alike.
      W = state(a)
      U = map(i -> W[i] + 0.1 * (1 + i) * (1 + abs(W[i])), s.all)
      f = _fv_flux(s, k, point(a), U)
      u = U[1 + k] / U[0]
      p = f[1 + k] - U[1 + k] * u
      e = abs(f[0] - U[1 + k]) + abs(f[s.m - 1] - (U[s.m - 1] + p) * u)
      for j in each(d) { if j != k { e = e + abs(f[1 + j] - U[1 + j] * u) } }
      e / (1 + abs(f[s.m - 1]))
    }, ...X, ...V)
    if not (max(wrong) < 1e-9) { error(say) }
  }
}
