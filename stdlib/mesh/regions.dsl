# regions.dsl - regions of the line, the plane and space: boxes, disks, balls,
# polygons with holes, their unions, differences and intersections.
#
# A region is a record:
#   region     "box", "disk", "ball", "polygon", "mesh" (of a file, in space),
#              "union", "difference" or "intersection"
#   lo, hi     f64[d], its bounding box
#   names      list of the names of its boundary's parts
#   curves     in the plane: f64[k, 6], the pieces of its boundary with the
#              region on their left: (0, x0, y0, x1, y1, 0), a line, or (1, x,
#              y, r, a, b), an arc around (x, y) of radius r from angle a to
#              angle b; elsewhere f64[0, 6]
#   part       i64[k], the index of each piece in names
# and its constituents: centre and radius, or first and second.
#
# inside, signed_distance, sample and sample_boundary take points f64[n, d] or
# one point f64[d].

# box([a, b], [c, d], ...): an interval, a rectangle, or a box.
#   Boundary parts: left and right, bottom and top, back and front.
#     box([0, 1], [0, 2]).hi        #> [1, 2]
box(...sides) = {
  assert(len(sides) >= 1 and len(sides) <= 3, "box([a, b], ...) takes one to three intervals")
  lo = f64(stack(...map(s -> s[0], list(...sides))))
  hi = f64(stack(...map(s -> s[1], list(...sides))))
  assert(min(hi - lo) > 0,
    "box([a, b], ...): each interval goes from its lower end to its upper one")
  d = len(sides)
  (curves, part) = if d == 2 {
    (a, b, c, e) = (lo[0], hi[0], lo[1], hi[1])
    (_lines([a, c; b, c; b, e; a, e]), [2, 1, 3, 0])
  } else { _no_curves() }
  names = list("left", "right", "bottom", "top", "back", "front")
  (region = "box", lo = lo, hi = hi, names = list(...map(k -> names[k], each(2 * d))),
    curves = curves, part = part)
}
_no_curves() = (zeros(0, 6), iota(0))
# The closed polygon through points, as boundary pieces.
_lines(P) = {
  n = len(P)
  Q = P[(iota(n) + 1) % n]
  zero = 0 * P[.., 0]
  stack(zero, P[.., 0], P[.., 1], Q[.., 0], Q[.., 1], zero; axis = 1)
}
_area_of(P) =
  { Q = P[(iota(len(P)) + 1) % len(P)]; 0.5 * sum(P[.., 0] * Q[.., 1] - Q[.., 0] * P[.., 1]) }
_turned_round(P, sign) = if sign * _area_of(P) < 0 { P[.. by -1] } else { P }

# disk(centre, radius; name = "circle"): a disk in the plane
#     inside(disk([0, 0], 1), [0.5, 0.5; 1, 1])        #> [true, false]
disk(centre, radius; name = "circle") = {
  c = f64(centre)
  r = f64(radius)
  assert(len(c) == 2 and r > 0,
    "disk(centre, radius) takes a point of the plane and a positive radius")
  (region = "disk", lo = c - r, hi = c + r, names = list(name),
    curves = expand(stack(1.0, c[0], c[1], r, 0.0, 2π), 0), part = iota(1), centre = c, radius = r)
}
# ball(centre, radius; name = "sphere"): a ball in space
#     signed_distance(ball([0, 0, 0], 2), [0, 0, 3])   #> 1.0
ball(centre, radius; name = "sphere") = {
  c = f64(centre)
  r = f64(radius)
  assert(len(c) == 3 and r > 0, "ball(centre, radius) takes a point of space and a positive radius")
  (curves, part) = _no_curves()
  (region = "ball", lo = c - r, hi = c + r, names = list(name), curves = curves, part = part,
    centre = c, radius = r)
}
_polygon_region(P, holes, names) = {
  X = f64(P)
  assert(rank(X) == 2 and shape(X)[-1] == 2 and len(X) >= 3,
    "polygon([x, y; ...]) takes the corners, f64[n, 2], at least three")
  outer = _turned_round(X, 1.0)
  assert(abs(_area_of(outer)) > 0, "polygon([x, y; ...]): the corners are on one line")
  curves = list(_lines(outer))
  n = len(X)
  named = kind(names) != "none"
  if named {
    assert(len(names) == n,
      "polygon: {len(names)} names for {n} sides; name k belongs to the side from corner k to the "
      "next")
  }
  # the index of each given side, also if the orientation was reversed
  order = if _area_of(X) < 0 { (2 * n - 2 - iota(n)) % n } else { iota(n) }
  part = list(if named { order } else { 0 * order })
  last = if named { n } else { 1 }
  for h in holes {
    C = _lines(_turned_round(f64(h), -1.0))
    curves = push(curves, C)
    part = push(part, full(last, len(C)))
  }
  all = list()
  if named { for k in names { all = push(all, k) } } else { all = push(all, "outline") }
  if len(holes) > 0 { all = push(all, "hole") }
  (region = "polygon", lo = min(X; axis = 0), hi = max(X; axis = 0), names = all,
    curves = concat(...curves; axis = 0), part = concat(...part))
}

_region_union(a, b) =
  _combined("union", a, b, min(stack(a.lo, b.lo); axis = 0), max(stack(a.hi, b.hi); axis = 0))
# difference(a, b): the region a without b
#     inside(difference(box([0, 2], [0, 2]), disk([1, 1], 0.5)), [1, 1])      #> false
difference(a, b) = {
  assert(_is_region(a) and _is_region(b),
    "difference(a, b) takes two regions; setdiff is for arrays")
  _combined("difference", a, b, a.lo, a.hi)
}
_region_intersection(a, b) =
  _combined("intersection", a, b, max(stack(a.lo, b.lo); axis = 0),
    min(stack(a.hi, b.hi); axis = 0))
_is_region(a) = if kind(a) == "record" { has(a, "region") } else { false }

_combined(how, a, b, lo, hi) = {
  assert(len(lo) == len(b.lo),
    "{how}: one region has {len(lo)} dimensions and the other {len(b.lo)}")
  own = list(...a.names)
  for n in b.names { if not _among(n, a.names) { own = push(own, n) } }
  numbers = stack(...map(n -> _number_of(n, own), list(...b.names)))
  bare = (region = how, lo = lo, hi = hi, first = a, second = b)
  (curves, part) = if len(lo) == 2 {
    width = max(max(stack(a.hi, b.hi); axis = 0) - min(stack(a.lo, b.lo); axis = 0))
    back = if how == "difference" { _reversed(b.curves) } else { b.curves }
    none_ = X -> 0 * X[.., 0] > 1
    (C, i) = _kept(bare, a.curves, width, none_)
    (E, j) = _kept(bare, back, width, X -> _curve_distance(a.curves, X)[0] < 1e-8 * width)
    (concat(C, E; axis = 0), concat(a.part[i], numbers[b.part[j]]))
  } else { _no_curves() }
  assert(len(lo) != 2 or len(curves) > 0, "{how}: nothing is left of the region")
  (...bare, names = own, curves = curves, part = part)
}
_among(n, names) = { found = false; for k in names { if k == n { found = true } }; found }
_number_of(n, names) = { at = -1; for (k, m) in enumerate(names) { if m == n { at = k } }; at }

# ---- curves

# Points of pieces C f64[k, 6] at s f64[k] in [0, 1], and the outer normals
# there: f64[k, 2].
_on_curves(C, s) = {
  arc = C[.., 0] == 1
  θ = C[.., 4] + s * (C[.., 5] - C[.., 4])
  (dx, dy) = (C[.., 3] - C[.., 1], C[.., 4] - C[.., 2])
  x = where(arc, C[.., 1] + C[.., 3] * cos(θ), C[.., 1] + s * dx)
  y = where(arc, C[.., 2] + C[.., 3] * sin(θ), C[.., 2] + s * dy)
  turn = sign(C[.., 5] - C[.., 4])
  length = where(arc, 1.0, sqrt(dx^2 + dy^2))
  nx = where(arc, turn * cos(θ), dy / length)
  ny = where(arc, turn * sin(θ), -dx / length)
  (stack(x, y; axis = 1), stack(nx, ny; axis = 1))
}
_curve_lengths(C) =
  where(C[.., 0] == 1, C[.., 3] * abs(C[.., 5] - C[.., 4]),
    sqrt((C[.., 3] - C[.., 1])^2 + (C[.., 4] - C[.., 2])^2))
_reversed(C) = {
  arc = C[.., 0] == 1
  stack(C[.., 0], where(arc, C[.., 1], C[.., 3]), where(arc, C[.., 2], C[.., 4]),
    where(arc, C[.., 3], C[.., 1]), where(arc, C[.., 5], C[.., 2]), where(arc, C[.., 4], 0.0);
    axis = 1)
}
_cut(C, a, b) = {
  arc = C[.., 0] == 1
  (dx, dy, dθ) = (C[.., 3] - C[.., 1], C[.., 4] - C[.., 2], C[.., 5] - C[.., 4])
  stack(C[.., 0], where(arc, C[.., 1], C[.., 1] + a * dx), where(arc, C[.., 2], C[.., 2] + a * dy),
    where(arc, C[.., 3], C[.., 1] + b * dx), where(arc, C[.., 4] + a * dθ, C[.., 2] + b * dy),
    where(arc, C[.., 4] + b * dθ, 0.0);
    axis = 1)
}
# Distances of points X f64[n, 2] from pieces, the index of the nearest piece,
# and the nearest point on it.
_curve_distance(C, X) = {
  x = expand(X[.., 0], 1)
  y = expand(X[.., 1], 1)
  arc = C[.., 0] == 1
  (dx, dy) = (C[.., 3] - C[.., 1], C[.., 4] - C[.., 2])
  s = clamp(((x - C[.., 1]) * dx + (y - C[.., 2]) * dy) / where(arc, 1.0, dx^2 + dy^2), 0.0, 1.0)
  # for an arc the angle from its lower end, or the nearer end
  (from, to) = (min(C[.., 4], C[.., 5]), max(C[.., 4], C[.., 5]))
  middle = 0.5 * (from + to)
  θ = middle + mod(atan2(y - C[.., 2], x - C[.., 1]) - middle + π, 2π) - π
  θ = clamp(θ, from, to)
  px = where(arc, C[.., 1] + C[.., 3] * cos(θ), C[.., 1] + s * dx)
  py = where(arc, C[.., 2] + C[.., 3] * sin(θ), C[.., 2] + s * dy)
  D = (px - x)^2 + (py - y)^2
  k = argmin(D; axis = 1)
  at = iota(len(X))
  (sqrt(D[at, k]), k, stack(px[at, k], py[at, k]; axis = 1))
}
# The parts of pieces C that are boundary of a region: the left side is inside
# and the right side outside. They are found on a grid of each piece; the ends
# by bisection.
_kept(r, C, width, drop) = {
  n = 256
  ε = 1e-9 * width
  keeps = (rows, s) -> {
    (X, N) = _on_curves(rows, s)
    inside(r, X - ε * N) and not inside(r, X + ε * N) and not drop(X)
  }
  m = len(C)
  grid = (iota(n) + 0.5) / n
  mask = reshape(keeps(repeat(C, n), ravel(zeros(m, 1) + grid)), m, n)
  no = expand(0 * C[.., 0] > 1, 1)
  padded = concat(no, mask, no; axis = 1)
  (i, j) = nonzero(padded[.., 1..] and not padded[.., ..-1])
  (_, e) = nonzero(padded[.., ..-1] and not padded[.., 1..])
  rows = C[i]
  # between grid points: only one side is kept
  find = (outer, inner) -> {
    for k in 0..50 {
      s = 0.5 * (outer + inner)
      good = keeps(rows, s)
      (outer, inner) = (where(good, outer, s), where(good, s, inner))
    }
    inner
  }
  a = where(j == 0, 0.0, find((j - 0.5) / n, (j + 0.5) / n))
  b = where(e == n, 1.0, find((e + 0.5) / n, (e - 0.5) / n))
  # refine the ends of a piece, which the grid does not reach
  a = where(j == 0, find(0 * a, a + 0.5 / n), a)
  b = where(e == n, find(0 * b + 1, b - 0.5 / n), b)
  (a, b) = (where(a < 1e-7, 0.0, a), where(b > 1 - 1e-7, 1.0, b))
  (_cut(rows, a, b), i)
}

# ---- queries

_as_points(r, X) = {
  P = f64(X)
  d = len(r.lo)
  assert(rank(P) >= 1 and shape(P)[-1] == d,
    "points of a region of {d} dimensions are f64[n, {d}], or f64[{d}] for one")
  reshape(P, -1, shape(P)[-1])
}

# inside(region, points): whether points are in a region. For points on the
# boundary the result may be either.
#     inside(box([0, 1], [0, 1]), [0.5, 0.5])          #> true
inside(r, X) = {
  y = _is_inside(r, _as_points(r, X))
  if rank(X) == 1 { y[0] } else { reshape(y, ...shape(X)[..-1]) }
}
_is_inside(r, X) =
  if r.region == "box" { min(min(X - r.lo; axis = 1), min(r.hi - X; axis = 1)) >= 0 }
else if r.region == "disk" or r.region == "ball" { sum((X - r.centre)^2; axis = 1) <= r.radius^2 }
else if r.region == "polygon" { _crossings(r.curves, X) % 2 == 1 }
else if r.region == "mesh" {
  C = r.mesh.points[_ascending(r.mesh.cells)]
  _locator(C, C, 1e-9, 1e-9, (k, P) -> _reference_of(C[k], P))(X)[2]
} else if r.region == "union" { _is_inside(r.first, X) or _is_inside(r.second, X) }
else if r.region == "difference" { _is_inside(r.first, X) and not _is_inside(r.second, X) }
else { _is_inside(r.first, X) and _is_inside(r.second, X) }
# The number of lines that a ray to the right crosses.
_crossings(C, X) = {
  (x, y) = (expand(X[.., 0], 1), expand(X[.., 1], 1))
  (x0, y0, x1, y1) = (C[.., 1], C[.., 2], C[.., 3], C[.., 4])
  spans = (y0 <= y) != (y1 <= y)
  at = x0 + (y - y0) / where(y1 == y0, 1.0, y1 - y0) * (x1 - x0)
  sum(i64(spans and x < at); axis = 1)
}

# signed_distance(region, points): the distance from the boundary, negative
# inside.
#   Exact in the plane and for boxes and balls. For unions, differences and
#   intersections in space it is a bound with the right sign that is 0 on the
#   boundary.
#     signed_distance(disk([0, 0], 1), [0, 0; 3, 4])   #> [-1, 4]
signed_distance(r, X) = {
  P = _as_points(r, X)
  y = if len(r.lo) == 2 {
    if r.region == "disk" {
      _distance_from(r, P)
    } else {
      where(stop_gradient(_is_inside(r, P)), -1.0, 1.0) * _curve_distance(r.curves, P)[0]
    }
  } else { _distance_from(r, P) }
  if rank(X) == 1 { y[0] } else { reshape(y, ...shape(X)[..-1]) }
}
_distance_from(r, X) = if r.region == "box" {
  q = abs(X - 0.5 * (r.lo + r.hi)) - 0.5 * (r.hi - r.lo)
  out = sum(max(q, 0.0)^2; axis = 1)
  where(out > 0, sqrt(where(out > 0, out, 1.0)), max(q; axis = 1))
} else if r.region == "disk" or r.region == "ball" {
  sqrt(sum((X - r.centre)^2; axis = 1)) - r.radius
} else if r.region == "union" { min(_distance_from(r.first, X), _distance_from(r.second, X)) }
else if r.region == "difference" { max(_distance_from(r.first, X), -_distance_from(r.second, X)) }
else { max(_distance_from(r.first, X), _distance_from(r.second, X)) }

# ---- sample points

# Quasi-random points of the unit cube, shifted (M. Roberts 2018).
_spread_points(n, d, shift) = {
  g = if d == 1 {
    1.618033988749895
  } else if d == 2 {
    1.324717957244746
  } else {
    1.2207440846057596
  }
  mod(shift + expand(iota(n) + 1.0, 1) * expand(g^-(iota(d) + 1.0), 0), 1.0)
}
# n evenly spread points inside a region, f64[n, d]: sample(region, n).
_sample_region(r, n) = {
  d = len(r.lo)
  shift = rand()
  X = r.lo + (r.hi - r.lo) * _spread_points(n, d, shift)
  if r.region == "box" { X } else {
    # increase the number of points in the bounding box until n are inside
    m = 2 * n + 64
    kept = zeros(0, d)
    turns = 0
    while len(kept) < n and turns < 30 {
      Y = r.lo + (r.hi - r.lo) * _spread_points(m, d, shift)
      kept = Y[findall(_is_inside(r, Y))]
      m = 2 * m
      turns = turns + 1
    }
    assert(len(kept) >= n,
      "sample(region, n): the region has next to no points in its bounding box")
    kept[..n]
  }
}

# sample_boundary(region, n; part): n boundary points, evenly spread by length
# or area. The result is a record: points f64[n, d]; normals f64[n, d], outer
# unit normals; names, for each point the index of its part in region.names.
# part: the name of one part, to sample that alone.
#     b = sample_boundary(disk([0, 0], 2), 50);
#     max(abs(b.points - 2 * b.normals)) < 1e-12       #> true
sample_boundary(r, n; part = "") = {
  number = _number_of(part, r.names)
  assert(part == "" or part == "boundary" or number >= 0,
    "sample_boundary: the region has no part {part}; it has {join(r.names, ", ")}")
  all = part == "" or part == "boundary"
  if len(r.lo) == 2 {
    at = findall(_on_part(r.part, number, all))
    C = r.curves[at]
    total = cumsum(_curve_lengths(C))
    s = total[-1] * mod(rand() + (iota(n) + 1.0) * 0.6180339887498949, 1.0)
    k = min(searchsorted(total, s), len(total) - 1)
    before = total - _curve_lengths(C)
    (X, N) = _on_curves(C[k], (s - before[k]) / _curve_lengths(C)[k])
    (points = X, normals = N, names = r.part[at][k])
  } else { _sample_surface(r, n, number, all) }
}
_sample_surface(r, n, number, all) = if r.region == "box" {
  d = len(r.lo)
  side = r.hi - r.lo
  areas =
    stack(
      ...map(k -> prod(side) / side[k // 2] *
        (if all { 1.0 } else { if k == number { 1.0 } else { 0.0 } }),
        each(2 * d)))
  total = cumsum(areas)
  shift = rand()
  s = total[-1] * mod(shift + (iota(n) + 1.0) * 0.5545497, 1.0)
  face = min(searchsorted(total, s), 2 * d - 1)
  X = r.lo + side * _spread_points(n, d, shift)
  on = expand(face // 2, 1) == iota(d)
  upper = expand(face % 2 == 1, 1)
  (points = where(on, where(upper, r.hi, r.lo), X),
    normals = where(on, where(upper, 1.0, -1.0), 0.0), names = face)
} else if r.region == "ball" {
  u = _spread_points(n, 2, rand())
  z = 2 * u[.., 0] - 1
  ρ = sqrt(1 - z^2)
  N = stack(ρ * cos(2π * u[.., 1]), ρ * sin(2π * u[.., 1]), z; axis = 1)
  (points = r.centre + r.radius * N, normals = N, names = 0 * iota(n))
} else {
  # the points of both surfaces that are on the region's surface
  (a, b) = (r.first, r.second)
  flip = if r.region == "difference" { -1.0 } else { 1.0 }
  numbers = stack(...map(k -> _number_of(k, r.names), list(...b.names)))
  ε = 1e-7 * max(r.hi - r.lo)
  (A, B) = (_area_estimate(a), _area_estimate(b))
  m = 4 * n + 64
  d = len(r.lo)
  (P, N, K) = (zeros(0, d), zeros(0, d), iota(0))
  turns = 0
  while len(P) < n and turns < 20 {
    na = max(8, i64(f64(m) * A / (A + B)))
    (s, q) = (_sample_surface(a, na, 0, true), _sample_surface(b, max(8, m - na), 0, true))
    X = concat(s.points, q.points; axis = 0)
    Y = concat(s.normals, flip * q.normals; axis = 0)
    k = concat(s.names, numbers[q.names])
    on = findall(_is_inside(r, X - ε * Y) and not _is_inside(r, X + ε * Y) and
      _on_part(k, number, all))
    order = on[argsort(_noise(len(on)))]
    (P, N, K) = (X[order], Y[order], k[order])
    m = 2 * m
    turns = turns + 1
  }
  assert(len(P) >= n, "sample_boundary: the part has next to no points")
  (points = P[..n], normals = N[..n], names = K[..n])
}
# Pseudo-random scalars between 0 and 1, the same in every run.
_noise(n) = mod(abs(_scrambled(iota(n) + 1.0, 0.0)), 1.0)
_area_estimate(r) = if r.region == "ball" { 4π * r.radius^2 } else if r.region == "box" {
  s = r.hi - r.lo
  2 * sum(prod(s) / s)
} else { _area_estimate(r.first) + _area_estimate(r.second) }
_on_part(k, number, all) = if all { k >= 0 } else { k == number }
