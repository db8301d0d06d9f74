# grids.dsl - derivative operators on intervals (finite differences, Chebyshev,
# Fourier), and their tensor products.
#
# A grid of one coordinate is a record:
# - x: f64[n], the nodes, ascending
# - D: list by order of derivative 0, 1, ... of the weights of the nodes that a
#   row uses, f64[n, width]; on a dense grid of all nodes, f64[n, n]
# - idx: i64[n, width], the indices of these nodes
# - ends: i64[.], the nodes that the first and the last row use
# - family: "local", "chebyshev" or "fourier", the interpolation between nodes
# - series: the matrix from values to coefficients, none for "local"
# - between: of a "local" grid, the nodes of the interpolation between nodes
# - width, dense: the nodes that a row uses, and whether these are all nodes
# - a, b, periodic, cluster: the interval, and how nodes cluster in it
#
# A tensor grid T has these fields:
# - dims: one such grid for each space coordinate
# - n, P: the numbers of nodes in each coordinate, and in all
# - stride[p]: the distance in memory of neighbours in coordinate p
# - X: all points, by coordinate
# Values at the nodes are a vector f64[P], with the last coordinate fastest.

# Returns the weights of derivatives 0..m at z of the polynomial through the
# columns of X, for all rows together: z f64[n], X f64[n, w]; a list of m + 1
# arrays f64[n, w]. Method: B. Fornberg, Generation of finite difference
# formulas on arbitrarily spaced grids, Math. Comp. 51 (1988).
_fornberg(z, X, w, m) = {
  zero = 0 * z
  C = map(i -> map(k -> zero, each(m + 1)), each(w))
  C[0] = map(k -> if k == 0 { zero + 1 } else { zero }, each(m + 1))
  c1 = zero + 1
  c4 = X[.., 0] - z
  for i in each(1, w) {
    c2 = zero + 1
    c5 = c4
    c4 = X[.., i] - z
    for j in each(i) {
      c3 = X[.., i] - X[.., j]
      c2 = c2 * c3
      if j == i - 1 {
        old = C[j]
        row = C[i]
        for k in each(m + 1) {
          row[k] = if k == 0 {
            -c1 * c5 * old[0] / c2
          } else {
            c1 * (k * old[k - 1] - c5 * old[k]) / c2
          }
        }
        C[i] = row
      }
      old = C[j]
      row = C[j]
      for k in each(m + 1) {
        row[k] = if k == 0 { c4 * old[0] / c3 } else { (c4 * old[k] - k * old[k - 1]) / c3 }
      }
      C[j] = row
    }
    c1 = c2
  }
  map(k -> stack(...map(i -> C[i][k], each(w)); axis = 1), each(m + 1))
}

# Maps s in [-1, 1] to points of [a, b]: linearly, or concentrated around x0
# over a width w by a tan map (Bayliss and Turkel 1992).
_place(s, a, b, cluster) = if kind(cluster) == "none" { 0.5 * (a + b) + 0.5 * (b - a) * s } else {
  (x0, w) = cluster
  lo = atan((a - x0) / w)
  hi = atan((b - x0) / w)
  x0 + w * tan(0.5 * (lo + hi) + 0.5 * (hi - lo) * s)
}
_unplace(x, a, b, cluster) = if kind(cluster) == "none" { (2 * x - (a + b)) / (b - a) } else {
  (x0, w) = cluster
  lo = atan((a - x0) / w)
  hi = atan((b - x0) / w)
  (2 * atan((x - x0) / w) - (lo + hi)) / (hi - lo)
}

_fd_grid(m, n, a, b, periodic, top) = {
  w = 2 * ((top + 1) // 2) - 1 + m.order
  if n < (if periodic { w } else { 2 * w }) {
    error(
      "fd() of order {m.order} needs at least {if periodic { w } else { 2 * w }} points in each "
      "coordinate here, not {n}")
  }
  if periodic {
    h = (b - a) / n
    x = a + h * iota(n)
    offset = iota(w) - w // 2
    W = _fornberg([0.0], expand(f64(offset), 0), w, top)
    idx = (expand(iota(n), 1) + expand(offset, 0)) % n
    (x = x, idx = idx, width = w, between = _between_for(m, w),
      D = map(k -> broadcast_to(W[k] / h^k, n, w),
        each(top + 1)), dense = false, a = a, b = b, periodic = true, cluster = none,
      family = "local", ends = idx[0], series = none)
  } else {
    # One-sided first derivatives of order 6 and 8 have eigenvalues with
    # positive real parts, and so have second derivatives of order 8.
    if m.order > 4 and top == 1 and m.waves {
      _refuse(
        "fd(order = {m.order}) makes waves of first order in space grow beside walls; fd(order = "
        "4) and chebyshev() do not")
    }
    if m.order == 8 and top == 2 and m.waves {
      _refuse(
        "fd(order = 8) makes waves grow beside walls, which nothing damps; fd(order = 6) and "
        "chebyshev() do not")
    }
    if m.order > 2 and top == 3 and m.waves {
      _refuse(
        "fd(order = {m.order}) makes waves of third order in space grow beside walls; fd(order = "
        "2) and rfm() do not")
    }
    x = _place(linspace(-1, 1, n), a, b, m.cluster)
    start = clamp(iota(n) - w // 2, 0, n - w)
    idx = expand(start, 1) + expand(iota(w), 0)
    D = _fornberg(x, x[idx], w, top)
    (x = x, idx = idx, width = w, between = _between_for(m, w), D = if m.order == 6 and top == 2 and
      m.waves { _narrowed(D, x, w, top) } else { D },
      dense = false, a = a, b = b, periodic = false, cluster = m.cluster, family = "local",
      ends = concat(iota(w), n - w + iota(w)), series = none)
  }
}

# Returns the number of interpolation nodes: two where derivatives may jump,
# else one more than the differences use.
_between_for(m, w) = if has(m, "bends") { 2 } else { w + 1 }

# For undamped waves: drops one node from the rows next to the ends. With all w
# nodes there, second derivatives of order 6 have eigenvalues off the real axis,
# and waves grow. With w - 1 the eigenvalues are real, and one order less at a
# boundary keeps the order inside (B. Gustafsson, Math. Comp. 29, 1975).
_narrowed(D, x, w, top) = {
  first = _fornberg(x[1..2], expand(x[..w - 1], 0), w - 1, top)
  last = _fornberg(x[-2..-1], expand(x[1 - w..], 0), w - 1, top)
  map(k -> {
    own = D[k]
    own[1] = concat(first[k][0], [0.0])
    own[-2] = concat([0.0], last[k][0])
    own
  }, each(top + 1))
}

# Returns the Chebyshev-Lobatto grid, ascending in x (Trefethen, Spectral
# Methods in MATLAB, chapter 6). A mapping enters by its derivative.
_chebyshev_grid(m, n, a, b, periodic, top) =
  if periodic { _fourier_grid(m, n + n % 2, a, b, periodic, top) } else {
    if top == 3 and m.waves {
      _refuse(
        "chebyshev() makes waves of third order in space grow beside walls; fd(order = 2) and "
        "rfm() do not")
    }
    if n < top { error("chebyshev(n) needs n of at least {top} here, not {n}") }
    k = iota(n + 1)
    (s, D) = _chebyshev_matrices(n, if kind(m.cluster) == "none" { top } else { 1 })
    x = _place(s, a, b, m.cluster)
    # s_j = sin(pi (2j - n)/(2n)) = cos(pi (n - j)/n)
    weight = where((k == 0) or (k == n), 0.5, 1.0)
    series = (2.0 / n) * expand(weight, 1) * cos(π * expand(k, 1) * expand(n - k, 0) / f64(n)) *
      expand(weight, 0)
    on = if kind(m.cluster) == "none" { map(l -> D[l] * (2.0 / (b - a))^l, each(top + 1)) } else {
      slope = jvp(r -> _place(r, a, b, m.cluster), s, ones_like(s))[1]
      _powers(D[1] / expand(slope, 1), top)
    }
    (x = x, D = on, idx = broadcast_to(expand(k, 0), n + 1, n + 1), width = n + 1, dense = true,
      a = a, b = b, periodic = false, cluster = m.cluster, family = "chebyshev", ends = k,
      series = series)
  }

# Returns n + 1 Chebyshev-Lobatto points of [-1, 1], ascending, and the
# differentiation matrices up to the order top. Each follows from the one before
# by a recurrence, since matrix products have larger rounding errors (B. D.
# Welfert, SIAM J. Numer. Anal. 34, 1997). Differences of points are products of
# sines, and rows sum to 0 (R. Baltensperger and M. R. Trummer, SIAM J. Sci.
# Comput. 24, 2003).
_chebyshev_matrices(n, top) = {
  k = iota(n + 1)
  s = sin(π * (2 * k - n) / (2.0 * n))
  c = where((k == 0) or (k == n), 2.0, 1.0) * where(k % 2 == 0, 1.0, -1.0)
  (i, j) = (expand(k, 1), expand(k, 0))
  same = i == j
  sum_ = i + j
  apart = 2 * sin(π * min(sum_, 2 * n - sum_) / (2.0 * n)) * sin(π * (i - j) / (2.0 * n))
  Z = where(same, 0.0, 1 / where(same, 1.0, apart))
  C = expand(c, 1) / expand(c, 0)
  out = list(eye(n + 1))
  for l in each(1, top + 1) {
    last = out[l - 1]
    off = l * Z * (C * expand(diag(last), 1) - last)
    out = push(out, broadcast_to(off - diag(sum(off; axis = 1)), n + 1, n + 1))
  }
  (s, out)
}

_powers(D1, top) = {
  out = list(eye(len(D1)), D1)
  for k in each(2, top + 1) { out = push(out, D1 @ out[k - 1]) }
  out
}

# Returns the Fourier grid of an even number of points (Trefethen, chapter 3).
_fourier_grid(m, n, a, b, periodic, top) = {
  if not periodic {
    _refuse(
      "fourier() is for problems that are periodic in all space coordinates; chebyshev() serves "
      "those that are so in some")
  }
  if n % 2 != 0 or n < 2 { error("fourier(n) takes an even number of points, not {n}") }
  h = 2π / n
  j = iota(n)
  k = expand(j, 1) - expand(j, 0)
  sign = where(k % 2 == 0, 1.0, -1.0)
  half = 0.5 * h * k
  same = k == 0
  safe = where(same, 1.0, half)
  scale = 2π / (b - a)
  D1 = where(same, 0.0, 0.5 * sign / tan(safe)) * scale
  D2 = where(same, -(π^2) / (3 * h^2) - 1 / 6.0, -0.5 * sign / sin(safe)^2) * scale^2
  out = list(eye(n), D1, D2)
  for o in each(3, top + 1) { out = push(out, D2 @ out[o - 2]) }
  (x = a + (b - a) * j / f64(n), D = out, idx = broadcast_to(expand(j, 0), n, n), width = n,
    dense = true, a = a, b = b, periodic = true, cluster = none, family = "fourier", ends = j,
    series = none)
}

# ---- tensor products

# Returns the index of the time coordinate, or -1; _space_of those of space. A
# solution's info has no such field, so there the name t decides.
_time_of(info) = if has(info, "time") { info.time } else {
  at = -1
  for (i, name) in enumerate(info.coords) { if name == "t" { at = i } }
  at
}
_space_of(info) = {
  out = list()
  for i in each(len(info.coords)) { if i != _time_of(info) { out = push(out, i) } }
  out
}

# Returns the number of points of coordinate p from a method's n: a number for
# all, a tuple with one for each, or none for the default of `count`
# coordinates.
_points_in(n, p, count, usual) =
  if kind(n) == "none" { usual[count - 1] } else if kind(n) == "array" and rank(n) == 0 { n } else {
    if len(n) != count { _refuse("n has {len(n)} numbers for {count} space coordinates") }
    n[p]
  }

# Returns the highest order of derivative with respect to a coordinate, at least
# 1.
_top_by(info, coordinate) = {
  o = 1
  for j in info.jets { o = max(o, j[1 + coordinate]) }
  o
}

_tensor(info, m) = {
  space = _space_of(info)
  count = len(space)
  if count > 3 {
    _refuse("{m.name}() serves up to three space coordinates; {info.name} has {count}")
  }
  of = (...m, waves = _time_axis(info) >= 0 and
    (info.type == "hyperbolic" or info.type == "dispersive"))
  dims = list()
  for (p, i) in enumerate(space) {
    dims =
      push(dims, m.grid(of, _points_in(m.n, p, count, m.usual), info.lo[i], info.hi[i],
        info.periodic[i], _top_by(info, i)))
  }
  n = map(g -> len(g.x), dims)
  P = 1
  for k in n { P = P * k }
  stride = map(p -> { s = 1; for q in each(p + 1, count) { s = s * n[q] }; s }, each(count))
  X = map(p -> if count == 1 { dims[p].x } else {
    ravel(broadcast_to(reshape(dims[p].x, ...map(q -> if q == p { n[q] } else { 1 }, each(count))),
      ...n))
  }, each(count))
  dense = true
  for g in dims { if not g.dense { dense = false } }
  (dims = (...dims,), n = (...n,), P = P, stride = (...stride,), X = (...X,), space = (...space,),
    count = count, dense = dense)
}

# Returns the indices in coordinate p of these nodes.
_at_in(T, nodes, p) = if T.count == 1 { nodes } else { (nodes // T.stride[p]) % T.n[p] }

# Returns the k-th derivative along coordinate p of values at the nodes.
_derived_along(T, p, k, u) = if k == 0 { u } else {
  g = T.dims[p]
  if T.count == 1 { if g.dense { g.D[k] @ u } else { sum(g.D[k] * u[g.idx]; axis = 1) } } else {
    n = T.n[p]
    after = T.stride[p]
    if g.dense {
      if p == 0 { ravel(g.D[k] @ reshape(u, n, after)) } else if p == T.count - 1 {
        ravel(reshape(u, T.P // n, n) @ g.D[k]')
      } else {
        ravel(g.D[k] @ reshape(u, T.P // (n * after), n, after))
      }
    } else {
      v = reshape(u, T.P // (n * after), n, after)
      W = g.D[k]
      total = 0.0 * v
      for s in each(g.width) {
        total = total + reshape(W[.., s], 1, n, 1) * take(v, g.idx[.., s]; axis = 1)
      }
      ravel(total)
    }
  }
}
# Returns the mixed derivative of these orders, one for each space coordinate.
_derived(T, orders, u) = {
  v = u
  for (p, k) in enumerate(orders) { v = _derived_along(T, p, k, v) }
  v
}

# Return, for the derivative of these orders at given nodes, the nodes it uses
# and their weights: [nodes, used]. support: the coordinates along which the
# stencil extends.
_used_by(T, nodes, support) = {
  column = reshape(0 * nodes, len(nodes), 1)
  for (p, on) in enumerate(support) {
    i = _at_in(T, nodes, p)
    column = if on {
      _spread_over(column, T.dims[p].idx[i] * T.stride[p])
    } else {
      column + expand(i * T.stride[p], 1)
    }
  }
  column
}
_spread_over(column, other) = reshape(expand(column, 2) + expand(other, 1), len(other), -1)
_weights_of(T, nodes, orders, support) = {
  W = reshape(1.0 + 0.0 * nodes, len(nodes), 1)
  for (p, on) in enumerate(support) {
    if on {
      own = T.dims[p].D[orders[p]][_at_in(T, nodes, p)]
      # On a grid, the identity also has zero weights for the neighbours.
      W = reshape(expand(W, 2) * expand(own, 1), len(own), -1)
    }
  }
  W
}

# ---- values between the nodes

# Returns the data of the interpolation in all coordinates: values, or
# coefficients of series.
_coefficients(T, u) = if T.count == 1 {
  _series_of(T.dims[0], reshape(u, 1, T.n[0], 1))[0, .., 0]
} else if T.count == 2 {
  _series_along(T, 1, _series_along(T, 0, u))
} else {
  _series_along(T, 2, _series_along(T, 1, _series_along(T, 0, u)))
}
_series_along(T, p, u) =
  if T.dims[p].family == "local" {
    u
  } else {
    ravel(_series_of(T.dims[p], reshape(u, T.P // (T.n[p] * T.stride[p]), T.n[p], T.stride[p])))
  }
# Returns the coefficients along the middle axis; of a Fourier series those of
# 1, cos θ, ..., cos nθ/2, sin θ, ..., sin (n/2 - 1)θ.
_series_of(g, v) =
  if g.family == "local" { v } else if g.family == "chebyshev" { g.series @ v } else {
    n = shape(v)[1]
    z = fft(v; axis = 1)
    q = iota(n // 2 + 1)
    weight = where((q == 0) or (q == n // 2), 1.0, 2.0) / n
    concat(reshape(weight, 1, n // 2 + 1, 1) * real(z[.., ..n // 2 + 1]),
      (-2.0 / n) * imag(z[.., 1..n // 2]); axis = 1)
  }

# Returns the value at x, of any shape, from coefficients c f64[n]; for a number
# x, rows from c f64[n, m].
_between_nodes(g, c, x) =
  if g.family == "local" {
    _local_value(g, c, x)
  } else if g.family == "chebyshev" {
    _chebyshev_value(g, c, x)
  } else {
    _fourier_value(g, c, x)
  }

# Lagrange interpolation on g.between neighbouring nodes.
_local_value(g, u, x) = {
  n = len(g.x)
  w = g.between
  total = 0.0 * x + 0.0 * u[0]
  if g.periodic {
    h = (g.b - g.a) / n
    start = i64(floor((stop_gradient(x) - g.a) / h)) - w // 2 + 1
    s = (x - g.a) / h - start
    for j in each(w) {
      p = 1.0
      for k in each(w) { if k != j { p = p * ((s - k) / (j - k)) } }
      total = total + p * u[(start + j) % n]
    }
  } else {
    cell = searchsorted(g.x, stop_gradient(x)) - 1
    start = clamp(cell - w // 2 + 1, 0, n - w)
    for j in each(w) {
      p = 1.0
      for k in each(w) {
        if k != j { p = p * ((x - g.x[start + k]) / (g.x[start + j] - g.x[start + k])) }
      }
      total = total + p * u[start + j]
    }
  }
  total
}

# Clenshaw summation of the Chebyshev series.
_chebyshev_value(g, c, x) = {
  n = len(c) - 1
  s = _unplace(x, g.a, g.b, g.cluster)
  b1 = 0.0 * s + 0.0 * c[0]
  b2 = b1
  for j in 0..n {
    b0 = c[n - j] + 2 * s * b1 - b2
    b2 = b1
    b1 = b0
  }
  c[0] + s * b1 - b2
}

_fourier_value(g, c, x) = {
  half = len(c) // 2
  θ = expand(2π * (x - g.a) / (g.b - g.a), rank(x))
  basis = concat(cos(θ * iota(half + 1)), sin(θ * (1 + iota(half - 1))); axis = rank(x))
  basis @ c
}

# Returns the local interpolation at a number x as (nodes, weights).
_local_weights(g, x) = {
  n = len(g.x)
  w = g.between
  (first, place) = if g.periodic {
    h = (g.b - g.a) / n
    k = i64(floor((stop_gradient(x) - g.a) / h)) - w // 2 + 1
    (k, g.a + h * (k + iota(w)))
  } else {
    k = clamp(searchsorted(g.x, stop_gradient(x)) - 1 - w // 2 + 1, 0, n - w)
    (k, g.x[k + iota(w)])
  }
  own = list()
  for j in each(w) {
    p = 1.0
    for k in each(w) { if k != j { p = p * ((x - place[k]) / (place[j] - place[k])) } }
    own = push(own, p)
  }
  ((first + iota(w)) % n, stack(...own))
}

# Returns the value at one point, a number for each coordinate.
_value_at(T, c, point) = if T.dims[0].family == "local" {
  at = 0
  weight = 1.0
  for (p, g) in enumerate(T.dims) {
    (i, w) = _local_weights(g, point[p])
    at = ravel(expand(at + zeros_like(at), rank(at)) + i * T.stride[p])
    weight = ravel(expand(weight, rank(weight)) * w)
  }
  sum(weight * c[at])
} else {
  v = c
  for (p, g) in enumerate(T.dims) {
    v = _between_nodes(g, if p < T.count - 1 { reshape(v, T.n[p], T.stride[p]) } else { v },
      point[p])
  }
  v
}
# Returns the values at many points: coordinates of any shapes that broadcast.
_values_at(T, c, where_) = if T.count == 1 { _between_nodes(T.dims[0], c, f64(where_[0])) } else {
  total = 0.0
  for x in where_ { total = total + 0.0 * f64(x) }
  if rank(total) == 0 { _value_at(T, c, map(x -> f64(x), where_)) } else {
    reshape(map_rows(r -> _value_at(T, c, r.x),
      (x = map(x -> ravel(f64(x) + 0.0 * total), where_))), ...shape(total))
  }
}
