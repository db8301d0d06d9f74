# interpolation_nd.dsl - interpolation in several variables: piecewise linear
# and cubic on rectilinear grids, radial basis functions at scattered points.

# ---- grids

# interpn(axes, values, points; method, ends): interpolation on a d-dimensional
# grid at points whose coordinates are along the last axis.
#   axes: a tuple of d ascending vectors. values: an array whose d axes have
#   their extents. points: [..., d]. method: "linear", constant beyond the ends,
#   or a method of grid_interpolant. grid_interpolant returns the function
#   itself, for more than one call. Derivatives with respect to values and
#   points.
#     interpn(([0, 1], [0, 1]), [0, 1; 2, 3], [0.5, 0.5])   #> 1.5
interpn(axes, values, points; method = "linear", ends = "not-a-knot") =
  grid_interpolant(axes, values; method = method, ends = ends)(points)

# grid_interpolant(axes, values; method, ends): the function of points [..., d]
# that interpolates the values on a rectilinear grid of d axes.
#   method: "cubic", a tensor product of splines with these ends (twice
#   continuously differentiable; "not-a-knot", "natural" or "clamped" with
#   slopes 0); "pchip", monotone along grid lines where the values are; "akima",
#   with little overshoot at jumps; "linear". Beyond the ends the outer cubic
#   continues; "linear" is constant.
#   Cubic methods cost 4^d products for each point. Derivatives with respect to
#   points, values and axes exist to every order for which the pieces are
#   smooth. For pchip and akima those with respect to values hold where no case
#   distinction changes. [de Boor, A Practical Guide to Splines, 1978, ch. XVII]
#     f = grid_interpolant(([0.0, 1, 2, 3], [0.0, 1, 2, 3]), [x^3 * y^2 for x in 0..4, y in 0..4])
#     f([1.5, 2.5])                #~ 1.5^3 * 2.5^2
#     grad(f)([1.5, 2.5])          #~ [3 * 1.5^2 * 2.5^2, 2 * 1.5^3 * 2.5]
grid_interpolant(axes, values; method = "cubic", ends = "not-a-knot") = {
  d = len(axes)
  assert(kind(axes) == "tuple" or kind(axes) == "list", "the axes of a grid are a tuple of vectors")
  assert(rank(values) == d, "{d} axes are given for values with {rank(values)}")
  for j in each(d) {
    assert(len(axes[j]) == shape(values)[j] and len(axes[j]) > 1,
      "axis {j} has {len(axes[j])} places for {shape(values)[j]} values")
    assert(all(axes[j][1..] > axes[j][..-1]), "the places of axis {j} must ascend")
  }
  if method == "linear" { points -> _multilinear(axes, values, points) } else {
    xs = map(x -> x + 0.0, axes)
    # For every subset of axes, encoded as the bits of an integer: the mixed
    # derivatives along them at the grid points.
    D = list(values + 0.0)
    for s in each(1, 2^d) {
      j = _highest_bit(s, d)
      D = push(D, _slopes_along(xs[j], D[s - 2^j], j, method, ends))
    }
    D = map(ravel, D)
    points -> _tensor_cubic(xs, D, points)
  }
}
_highest_bit(s, d) = {
  j = 0
  for k in each(d) { if 2^k <= s { j = k } }
  j
}
_slopes_along(x, A, j, method, ends) = {
  lines = moveaxis(A, j, -1)
  rows = reshape(lines, len(ravel(lines)) // len(x), len(x))
  slopes = map(y -> if method == "cubic" { _spline_slopes(x, y, ends, (0.0, 0.0)) } else {
    if method == "pchip" { pchip(x, y).slopes } else {
      if method != "akima" {
        _refuse(
          "interpolation on a grid has the methods \"linear\", \"cubic\", \"pchip\" and \"akima\"")
      }
      akima(x, y).slopes
    }
  }, rows)
  moveaxis(reshape(slopes, ...shape(lines)), -1, j)
}
_cells(axes, points) = {
  d = len(axes)
  assert(shape(points)[-1] == d,
    "points on a grid of {d} axes have {d} coordinates along their last axis")
  map(j -> _interval(axes[j], points[..., j]), (...(0..d)))
}
_multilinear(axes, values, points) = {
  d = len(axes)
  k = _cells(axes, points)
  t = map(j -> clamp((points[..., j] - axes[j][k[j]]) / (axes[j][k[j] + 1] - axes[j][k[j]]), 0.0,
    1.0), (...(0..d)))
  flat = ravel(values)
  total = 0.0
  for corner in each(2^d) {
    weight = 1.0
    at = 0
    for j in each(d) {
      up = (corner // 2^j) % 2
      weight = weight * (if up == 1 { t[j] } else { 1 - t[j] })
      at = at * len(axes[j]) + k[j] + up
    }
    total = total + weight * flat[at]
  }
  total
}
_tensor_cubic(axes, D, points) = {
  d = len(axes)
  k = _cells(axes, points)
  # The four Hermite basis functions in each direction: of value and slope at
  # the left, then at the right end.
  basis = map(j -> {
    h = axes[j][k[j] + 1] - axes[j][k[j]]
    t = (points[..., j] - axes[j][k[j]]) / h
    s = 1 - t
    list(s^2 * (1 + 2 * t), s^2 * t * h, t^2 * (3 - 2 * t), -t^2 * s * h)
  }, (...(0..d)))
  total = 0.0
  for corner in each(2^d) {
    at = 0
    for j in each(d) { at = at * len(axes[j]) + k[j] + (corner // 2^j) % 2 }
    for set in each(2^d) {
      weight = 1.0
      for j in each(d) { weight = weight * basis[j][2 * ((corner // 2^j) % 2) + (set // 2^j) % 2] }
      total = total + weight * D[set][at]
    }
  }
  total
}
# interp2(x, y, xs, ys, Z): bilinear interpolation of Z[i, j] given at (xs[i],
# ys[j]); x and y have the same shape
#     interp2(0.5, 1.0, [0, 1], [0, 1], [0, 1; 2, 3])   #> 2.0
interp2(x, y, xs, ys, Z) = {
  p = x + 0.0 * y
  q = y + 0.0 * x
  interpn((xs, ys), Z, stack(p, q; axis = rank(p)))
}

# ---- scattered points

# rbf(points, values; kernel, smooth, epsilon): radial basis function
# interpolation: the function of x [..., d] through values [n] at n scattered
# points [n, d]. It is a sum of radial functions centred at the points and a
# polynomial.
#   kernel: "thin_plate" (r² log r), "cubic" (r³), "quintic" (-r⁵), with a
#   polynomial of degree 1, 1, 2; "linear" (-r), "multiquadric" (-√(1 + (ε
#   r)²)), "gaussian" (exp(-(ε r)²)), each with a constant. smooth > 0
#   approximates the values instead of interpolating them, by a ridge term on
#   the matrix.
#   Cost: one dense linear system of n unknowns. No two points may be equal.
#   Derivatives with respect to x, values and points. [Fasshauer, Meshfree
#   Approximation Methods with MATLAB, 2007]
#     f = rbf([0.0, 0; 1, 0; 0, 1; 1, 1; 0.5, 0.3], [1.0, 3, 0, 2, 1.7])      # 1 + 2x - y
#     f([0.25, 0.75])              #~ 0.75
#     grad(f)([0.25, 0.75])        #~ [2, -1]
rbf(points, values; kernel = "thin_plate", smooth = 0.0, epsilon = 1.0) = {
  assert(rank(points) == 2 and rank(values) == 1, "rbf takes points [n, d] and values [n]")
  assert(len(points) == len(values),
    "rbf takes as many values as points, {len(points)}, not {len(values)}")
  X = points + 0.0
  n = len(X)
  # centred and scaled by the extent of the points, to condition the polynomial
  low = stop_gradient(min(X; axis = 0))
  high = stop_gradient(max(X; axis = 0))
  middle = 0.5 * (low + high)
  size = where(high > low, 0.5 * (high - low), 1.0)
  phi = q -> _radial(kernel, q, epsilon)
  P = _monomials((X - middle) / size, _radial_degree(kernel))
  q = shape(P)[1]
  assert(n >= q, "rbf: this kernel wants at least {q} points")
  # Every kernel has the sign that makes it conditionally positive definite.
  K = phi(_squared_distances(X, X)) + smooth * eye(n)
  A = concat(concat(K, P; axis = 1), concat(P', zeros(q, q); axis = 1))
  c = linsolve(A, concat(values + 0.0, zeros(q)))
  x -> {
    assert(shape(x)[-1] == shape(X)[1], "this function takes points of {shape(X)[1]} coordinates")
    Z = reshape(x + 0.0, len(ravel(x)) // shape(X)[1], shape(X)[1])
    y = phi(_squared_distances(Z, X)) @ c[..n] +
      _monomials((Z - middle) / size, _radial_degree(kernel)) @ c[n..]
    if rank(x) == 1 { y[0] } else { reshape(y, ...shape(x)[..-1]) }
  }
}
_squared_distances(A, B) = sum((expand(A, 1) - expand(B, 0))^2; axis = 2)
_radial_degree(kernel) =
  if kernel == "thin_plate" or kernel == "cubic" { 1 } else if kernel == "quintic" { 2 } else { 0 }
# The kernel as a function of the squared distance. At 0 its derivatives are
# those of the limit.
_radial(kernel, q, epsilon) = {
  near = q <= 0
  p = where(near, 1.0, q)
  if kernel == "thin_plate" { where(near, 0.0, 0.5 * q * log(p)) } else {
    if kernel == "cubic" { where(near, 0.0, q * sqrt(p)) } else {
      if kernel == "quintic" { where(near, 0.0, -q^2 * sqrt(p)) } else {
        if kernel == "linear" { where(near, 0.0, -sqrt(p)) } else {
          if kernel == "multiquadric" { -sqrt(1 + epsilon^2 * q) } else {
            if kernel != "gaussian" {
              _refuse(
                "rbf has the kernels \"thin_plate\", \"cubic\", \"quintic\", \"linear\", "
                "\"multiquadric\" and \"gaussian\"")
            }
            exp(-epsilon^2 * q)
          }
        }
      }
    }
  }
}
# 1, the coordinates, their products: one column each.
_monomials(X, degree) = {
  one = 0.0 * X[.., ..1] + 1
  if degree == 0 { one } else { if degree == 1 { concat(one, X; axis = 1) } else {
    d = _known(shape(X)[1], "the number of coordinates")
    out = concat(one, X; axis = 1)
    for i in each(d) {
      for j in each(i, d) { out = concat(out, expand(X[.., i] * X[.., j], 1); axis = 1) }
    }
    out
  } }
}
