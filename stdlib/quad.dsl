# quad.dsl - integrals of functions of a number, as accurate as is asked for, and differentiated as integrals.
#
# The Gauss-Kronrod pair of 7 and 15 points, globally adaptive; a change of the variable takes infinite ends to finite ones and weakens singularities at the
# ends (Shampine, Vectorized adaptive quadrature in MATLAB, J. Comput. Appl. Math. 211, 2008).

# integrate(f, a, b; rtol, atol, limit): integral of f from a to b, either of which may be infinite. f takes a number and gives a number or an array, whose largest
# element then counts. The error is estimated to be below max(atol, rtol * |result|), or as small as rounding allows; an error says when that is not reached
# with `limit` more intervals than the ten it begins with.
# Derivatives, of every order: by what f captures the integral of the derivative, by a and b the value there (Leibniz).
#     integrate(x -> exp(-x^2), -inf, inf)    #~ sqrt(π)
#     (a -> integrate(x -> sin(a * x), 0, 1))'(2.0)   #~ sin(2) / 2 + (cos(2) - 1) / 4
integrate(f, a, b; rtol = 1e-10, atol = 0.0, limit = 500) =
  _integral(f, a + 0.0, b + 0.0, (rtol = rtol, atol = atol, limit = limit))

# The change of f along the tangents t of what it captures is linear in t; so is its integral, whose adjoint is the integral of the adjoint.
derivative _integral(f, a, b, o), df, da, db, do = {
  inner = if _absent(df) { 0 * y } else {
    (t, still) = _moves(df)
    d = _moved(df, still)
    forward = t -> _integral(_moved(d, t), a, b, o)
    (_, back) = flatten(still)
    backward = w -> back(_integral(x -> flatten(vjp(t -> _moved(d, t)(x), still)[1](w))[0], a, b, o))
    linear_map(forward, backward, t)
  }
  upper = if _absent(db) { 0 * y } else { f(b) * db }
  lower = if _absent(da) { 0 * y } else { f(a) * da }
  inner + upper - lower
}
# Globally adaptive: of all intervals so far the one with the largest error is halved (Piessens et al., QUADPACK, 1983). The place between a and b is
# told by its distance z from the nearer end, negative from b, so that there is no cancellation towards either end.
_integral(f, a, b, o) = {
  both = abs(a) == inf and abs(b) == inf
  up = not both and abs(b) == inf
  down = not both and abs(a) == inf
  way = if a < b { 1.0 } else { -1.0 }
  # f(x(z)) dx/dz: part is the share of the way behind x, and left the share before it, both with a slope that vanishes at the ends
  g = q -> {
    z = abs(q)
    near = 0.25 * z^2 * (3 - z)
    dz = 0.75 * z * (2 - z)
    part = if q > 0 { near } else { 1 - near }
    left = if q > 0 { 1 - near } else { near }
    if both { f(way * (part - left) / (4 * part * left)) * (way * dz * (1 - 2 * part * left) / (4 * (part * left)^2)) } else {
      if up { r = part / left; f(a + way * r^2) * (way * 2 * r * dz / left^2) } else {
        if down {
          r = left / part;
          f(b - way * r^2) * (way * 2 * r * dz / part^2)
        } else {
          f(if q > 0 { a + (b - a) * near } else { b - (b - a) * near }) * ((b - a) * dz)
        }
      }
    }
  }
  like = 0 * g(0.1)
  n = 10
  left = concat(-1 + 0.2 * iota(10), zeros(o.limit))
  width = concat(zeros(10) + 0.2, zeros(o.limit))
  (I, A, E) = _kronrod(g, left[0..10], width[0..10], size(like))
  total = sum(I; axis = 0)
  parts = concat(I, zeros(o.limit, size(like)) + 0 * I[0]; axis = 0)
  sizes = concat(A, zeros(o.limit))
  errors = concat(E, zeros(o.limit))
  open = a != b
  while open {
    if not (sum(sizes) < inf) { error("integrate: the function is infinite or NaN between {a} and {b}") }
    open = sum(errors) > max(max(o.atol, o.rtol * max(abs(total))), 2e-14 * sum(sizes))
    if open {
      if n == o.limit + 10 {
        error(
          "integrate: the tolerance is not reached between {a} and {b} with {o.limit} intervals; the error is estimated to be {sum(errors):.1e}")
      }
      k = argmax(errors)
      w = 0.5 * width[k]
      two = [left[k], left[k] + w]
      (Ih, Ah, Eh) = _kronrod(g, two, [w, w], size(like))
      total = total + (sum(Ih; axis = 0) - parts[k])
      # an interval as exact as rounding allows is not looked at again
      least = where(Eh <= 5e-15 * Ah, 0.0, Eh)
      left[n] = two[1]
      width[k] = w
      width[n] = w
      parts[k] = Ih[0]
      parts[n] = Ih[1]
      sizes[k] = Ah[0]
      sizes[n] = Ah[1]
      errors[k] = least[0]
      errors[n] = least[1]
      n = n + 1
    }
  }
  reshape(sum(parts; axis = 0), shape(like))
}
# (integrals, of the absolute value, estimates of the error) over the intervals from left, of these widths
_kronrod(g, left, width, m) = {
  s = expand(left + 0.5 * width, 1) + expand(0.5 * width, 1) * _kronrod_nodes
  values = reshape(map(g, ravel(s)), len(left), 15, m)
  h = expand(0.5 * width, 1)
  I = h * sum(values * expand(_kronrod_weights, 1); axis = 1)
  G = h * sum(values * expand(_gauss_weights, 1); axis = 1)
  A = 0.5 * width * max(sum(abs(values) * expand(_kronrod_weights, 1); axis = 1); axis = 1)
  (I, A, max(abs(I - G); axis = 1))
}
# Nodes and weights of the Gauss-Kronrod pair (7, 15) on [-1, 1], from the zeros of the Legendre and Stieltjes polynomials; the Gauss weights have zeros
# where only the larger rule has a node.
_kronrod_half = [0.9914553711208126, 0.9491079123427585, 0.8648644233597691, 0.7415311855993945, 0.5860872354676911,
  0.4058451513773972, 0.2077849550078985]
_kronrod_nodes = concat(-_kronrod_half, [0.0], flip(_kronrod_half))
_kronrod_half_weights = [0.022935322010529224, 0.06309209262997856, 0.10479001032225019, 0.14065325971552592, 0.1690047266392679,
  0.19035057806478542, 0.20443294007529889]
_kronrod_weights = concat(_kronrod_half_weights, [0.20948214108472782], flip(_kronrod_half_weights))
_gauss_half_weights = [0.0, 0.1294849661688697, 0.0, 0.27970539148927664, 0.0, 0.3818300505051189, 0.0]
_gauss_weights = concat(_gauss_half_weights, [0.4179591836734694], flip(_gauss_half_weights))
