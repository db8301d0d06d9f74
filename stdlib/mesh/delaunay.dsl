# delaunay.dsl - Delaunay triangulation of points in the plane.

# delaunay(P): the triangles i64[m, 3], anticlockwise, of the Delaunay
# triangulation of points f64[n, 2].
#   Method: incremental insertion in biased random order, with edge flips until
#   no circumcircle contains a point (Lawson 1977; order: Amenta, Choi and Rote
#   2003). Cost: O(n log n). To resolve collinear and cocircular points the
#   tests move them by 1e-7 of their mean distance; thin triangles between
#   points on a straight hull may therefore be present or not.
#     delaunay([0, 0; 1, 0; 1, 1; 0, 1.2])       #> [[0, 1, 2], [0, 2, 3]]
delaunay(P) = {
  assert(rank(P) == 2 and shape(P)[-1] == 2, "delaunay(P) takes points of the plane, f64[n, 2]")
  n = len(P)
  assert(n >= 3, "delaunay(P) takes at least three points, not {n}")
  X = f64(P)
  lo = min(X; axis = 0)
  width = max(max(X; axis = 0) - lo)
  assert(width > 0, "delaunay(P): all points are at one place")
  noise = _noise(2 * n) - 0.5
  X = (X - lo) / width + 1e-7 / sqrt(f64(n)) * reshape(noise, n, 2)
  order = _insertion_order(X)
  T = _triangulated(X[order])
  order = order[T]
  # rotate the smallest corner to the front, then sort by the corners
  first = argmin(order; axis = 1)
  order = stack(...map(k -> _take_each(order, (first + k) % 3), list(0, 1, 2)); axis = 1)
  order[lexsort((order[.., 2], order[.., 1], order[.., 0]))]
}
_take_each(A, k) = map((row, i) -> row[i], A, k)
# Pseudo-random scalars between 0 and 1, the same in every run.
_noise(n) = mod(abs(_scrambled(iota(n) + 1.0, 0.0)), 1.0)
# Half of the points last, a quarter before them, and so on; each group is
# ordered along a snake of squares.
_insertion_order(X) = {
  n = len(X)
  r = _noise(n)
  part = clamp(i64(ceil(log2(f64(n) * r + 1e-300))), 0, 60)
  k = f64(max(1, i64(sqrt(f64(n) / 4))))
  row = floor(k * clamp(X[.., 1], 0.0, 1.0))
  along = where(mod(row, 2.0) == 0, X[.., 0], -X[.., 0])
  lexsort((along, row, f64(part)))
}

_triangulated(X) = {
  n = len(X)
  # an enclosing triangle, whose corners are the last three points
  X = concat(X, [-40.0, -30; 40, -30; 0.5, 60]; axis = 0)
  x = X[.., 0]
  y = X[.., 1]
  most = 2 * n + 2
  # Corners of triangle t at 3t .., and its neighbours opposite to the corners.
  # One spare triangle receives values to be discarded.
  T = zeros_like(iota(3 * most + 3))
  N = T - 1
  T[0] = n
  T[1] = n + 1
  T[2] = n + 2
  count = 1
  at = 0
  stack_ = zeros_like(iota(4 * most + 64))
  spare = 3 * most
  p = 0
  while p < n {
    (px, py) = (x[p], y[p])
    t = at
    moved = true
    turns = 0
    while moved and turns < 4 * most {
      (a, b, c) = (T[3t], T[3t + 1], T[3t + 2])
      outside_c = (x[b] - x[a]) * (py - y[a]) - (y[b] - y[a]) * (px - x[a]) < 0
      outside_a = (x[c] - x[b]) * (py - y[b]) - (y[c] - y[b]) * (px - x[b]) < 0
      outside_b = (x[a] - x[c]) * (py - y[c]) - (y[a] - y[c]) * (px - x[c]) < 0
      next = if outside_c {
        N[3t + 2]
      } else if outside_a {
        N[3t]
      } else if outside_b {
        N[3t + 1]
      } else {
        -1
      }
      moved = next >= 0
      t = if moved { next } else { t }
      turns = turns + 1
    }
    (a, b, c) = (T[3t], T[3t + 1], T[3t + 2])
    (na, nb, nc) = (N[3t], N[3t + 1], N[3t + 2])
    (t1, t2) = (count, count + 1)
    count = count + 2
    T[3t] = p
    T[3t + 1] = a
    T[3t + 2] = b
    N[3t] = nc
    N[3t + 1] = t1
    N[3t + 2] = t2
    T[3t1] = p
    T[3t1 + 1] = b
    T[3t1 + 2] = c
    N[3t1] = na
    N[3t1 + 1] = t2
    N[3t1 + 2] = t
    T[3t2] = p
    T[3t2 + 1] = c
    T[3t2 + 2] = a
    N[3t2] = nb
    N[3t2 + 1] = t
    N[3t2 + 2] = t1
    # update the neighbours of t
    ia = if na < 0 {
      spare
    } else {
      3na + (if N[3 * max(na, 0)] == t { 0 } else if N[3 * max(na, 0) + 1] == t { 1 } else { 2 })
    }
    N[ia] = t1
    ib = if nb < 0 {
      spare
    } else {
      3nb + (if N[3 * max(nb, 0)] == t { 0 } else if N[3 * max(nb, 0) + 1] == t { 1 } else { 2 })
    }
    N[ib] = t2
    stack_[0] = t
    stack_[1] = t1
    stack_[2] = t2
    top = 3
    while top > 0 {
      top = top - 1
      t = stack_[top]
      m = N[3t]
      q = max(m, 0)
      (a, b) = (T[3t + 1], T[3t + 2])
      k = if T[3q] != a and T[3q] != b {
        0
      } else if T[3q + 1] != a and T[3q + 1] != b {
        1
      } else {
        2
      }
      d = T[3q + k]
      (ax, ay) = (px - x[d], py - y[d])
      (bx, by) = (x[a] - x[d], y[a] - y[d])
      (cx, cy) = (x[b] - x[d], y[b] - y[d])
      inner = (ax^2 + ay^2) * (bx * cy - cx * by) - (bx^2 + by^2) * (ax * cy - cx * ay) +
        (cx^2 + cy^2) * (ax * by - bx * ay)
      flip = m >= 0 and inner > 0
      (nA, nB) = (N[3q + (k + 1) % 3], N[3q + (k + 2) % 3])
      tB = N[3t + 1]
      # t = (p, a, d) and q = (p, d, b), or into the spare triangle
      (wt, wq) = (if flip { 3t } else { spare }, if flip { 3q } else { spare })
      T[wt] = p
      T[wt + 1] = a
      T[wt + 2] = d
      tA = N[3t + 2]
      N[wt] = nA
      N[wt + 1] = q
      N[wt + 2] = tA
      T[wq] = p
      T[wq + 1] = d
      T[wq + 2] = b
      N[wq] = nB
      N[wq + 1] = tB
      N[wq + 2] = t
      (e, g) = (max(nA, 0), max(tB, 0))
      iA = if flip and nA >= 0 {
        3e + (if N[3e] == q { 0 } else if N[3e + 1] == q { 1 } else { 2 })
      } else {
        spare
      }
      N[iA] = t
      iB = if flip and tB >= 0 {
        3g + (if N[3g] == t { 0 } else if N[3g + 1] == t { 1 } else { 2 })
      } else {
        spare
      }
      N[iB] = q
      stack_[top] = t
      stack_[top + 1] = q
      top = if flip { top + 2 } else { top }
    }
    at = t
    p = p + 1
  }
  all = reshape(T[..3 * count], count, 3)
  all[max(all; axis = 1) < n]
}
