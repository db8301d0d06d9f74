# quad.dsl - integrals of functions of a number, as accurate as is asked for, and differentiated as integrals; oscillating integrands; Gauss's rules.
#
# The Gauss-Kronrod pair of 7 and 15 points, globally adaptive; a change of the variable takes infinite ends to finite ones and weakens singularities at the
# ends (Shampine, Vectorized adaptive quadrature in MATLAB, J. Comput. Appl. Math. 211, 2008); for strong ones the tanh-sinh rule. Several dimensions are in cubature.dsl.

# integrate(f, a, b; rtol, atol, limit, rule): integral of f from a to b, either of which may be infinite. f takes a number and gives a number or an array, whose largest
# element then counts. The error is estimated to be below max(atol, rtol * |result|), or as small as rounding allows; an error says when that is not reached
# with `limit` more intervals than the ten it begins with.
#   rule: "gauss_kronrod", or "tanh_sinh" for smooth functions with poles at the ends, such as x^-0.9: each level of it doubles the points, 12 at most. [Takahasi and Mori 1974]
#   Derivatives, of every order: by what f captures the integral of the derivative, by a and b the value there (Leibniz).
#     integrate(x -> exp(-x^2), -inf, inf)    #~ sqrt(π)
#     (a -> integrate(x -> sin(a * x), 0, 1))'(2.0)   #~ sin(2) / 2 + (cos(2) - 1) / 4
#     integrate(x -> x^-0.9, 0, 1; rule = "tanh_sinh")      #~ 10 tol 1e-10
integrate(f, a, b; rtol = 1e-10, atol = 0.0, limit = 500, rule = "gauss_kronrod") =
  _integral(f, a + 0.0, b + 0.0, (rtol = rtol, atol = atol, limit = limit, rule = rule)).value

# quadrature(f, a, b; rtol, atol, limit, rule): as integrate, a record: value, error (an estimate, no derivative), evaluations of f
#     q = quadrature(exp, 0, 1);
#     (q.error < 1e-10, q.evaluations)      #> (true, 150)
quadrature(f, a, b; rtol = 1e-10, atol = 0.0, limit = 500, rule = "gauss_kronrod") =
  _integral(f, a + 0.0, b + 0.0, (rtol = rtol, atol = atol, limit = limit, rule = rule))

# The change of f along the tangents t of what it captures is linear in t; so is its integral, whose adjoint is the integral of the adjoint.
derivative _integral(f, a, b, o), df, da, db, do = {
  inner = if _absent(df) { 0 * y.value } else {
    (t, still) = _moves(df)
    d = _moved(df, still)
    forward = t -> _integral(_moved(d, t), a, b, o).value
    (_, back) = flatten(still)
    backward = w -> back(_integral(x -> flatten(vjp(t -> _moved(d, t)(x), still)[1](w))[0], a, b, o).value)
    linear_map(forward, backward, t)
  }
  upper = if _absent(db) { 0 * y.value } else { f(b) * db }
  lower = if _absent(da) { 0 * y.value } else { f(a) * da }
  (value = inner + upper - lower, error = 0.0, evaluations = y.evaluations)
}
_integral(f, a, b, o) =
  if o.rule == "gauss_kronrod" { _globally(f, a, b, o) } else if o.rule == "tanh_sinh" { _tanh_sinh(f, a, b, o) } else {
    error("integrate: a rule is \"gauss_kronrod\" or \"tanh_sinh\"")
  }
# Globally adaptive: of all intervals so far the one with the largest error is halved (Piessens et al., QUADPACK, 1983). The place between a and b is
# told by its distance z from the nearer end, negative from b, so that there is no cancellation towards either end.
_globally(f, a, b, o) = {
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
  (value = reshape(sum(parts; axis = 0), shape(like)), error = sum(errors), evaluations = 15 * (2 * n - 10))
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

# ---- double exponential

# Sums over t = j h of f(x(t)) x'(t), with x(t) so that x' vanishes double exponentially: between a and b by tanh(π/2 sinh t), to infinity by exp(π/2 sinh t), both ways
# by sinh(π/2 sinh t). h is halved until two sums agree; the last is then much better than that. Places are told by their distance from the nearer end.
_tanh_sinh(f, a, b, o) = {
  both = abs(a) == inf and abs(b) == inf
  up = not both and abs(b) == inf
  down = not both and abs(a) == inf
  way = if a < b { 1.0 } else { -1.0 }
  g = t -> {
    s = 1.5707963267948966 * sinh(t)
    ds = 1.5707963267948966 * cosh(t)
    # the share of the way from the nearer end, and its slope
    near = 1 / (1 + exp(2 * abs(s)))
    x = if both { way * sinh(s) } else if up { a + way * exp(s) } else if down { b - way * exp(-s) } else {
      if s < 0 { a + (b - a) * near } else { b - (b - a) * near }
    }
    w = if both {
      way * cosh(s) * ds
    } else if up {
      way * exp(s) * ds
    } else if down {
      way * exp(-s) * ds
    } else {
      (b - a) * 2 * near * (1 - near) * ds
    }
    # at the ends themselves, which rounding reaches, the weight has vanished
    v = f(if x == a or x == b {
      0.5 * (if abs(a) < inf { a } else { 0.0 }) + 0.5 * (if abs(b) < inf { b } else { 0.0 }) + 0.25
    } else {
      x
    })
    where(x == a or x == b or not (w < inf and w > -inf) or w == 0, 0 * _finite(v), v * w)
  }
  like = 0 * _finite(g(0.1))
  # beyond, exp(2|s|) leaves the numbers
  extent = if both or up or down { 6.0 } else { 6.1 }
  n = 6
  h = extent / n
  points = h * (iota(2 * n + 1) - n)
  total = h * _sum_of(g, points, size(like))
  count = 2 * n + 1
  level = 1
  miss = inf
  open = a != b
  while open {
    h = 0.5 * h
    n = 2 * n
    last = total
    total = 0.5 * total + h * _sum_of(g, h * (2 * iota(n) + 1 - n), size(like))
    count = count + n
    change = max(abs(total - last))
    if not (change < inf) { error("integrate: the function is infinite or NaN between {a} and {b}") }
    # twice the digits of the change, once it falls so
    miss = if level < 3 {
      change
    } else {
      max(min(change, 10 * change^2 / max(max(abs(total)), 1e-300)), 1e-16 * max(abs(total)))
    }
    level = level + 1
    open = miss > max(max(o.atol, o.rtol * max(abs(total))), 1e-15 * max(abs(total)))
    if open and level > 12 {
      error("integrate: the tolerance is not reached between {a} and {b}; the error is estimated to be {miss:.1e}")
    }
  }
  (value = reshape(if a == b { 0 * total } else { total }, shape(like)), error = miss, evaluations = count)
}
_finite(v) = where(abs(v) < inf, v, 0 * stop_gradient(where(abs(v) < inf, v, 1.0)))
_sum_of(g, points, m) = sum(reshape(map(g, points), len(points), m); axis = 0)

# ---- oscillating integrands

# oscillatory(f, phase, a, b; part = "exp", rtol, atol, limit): integral of f(x) exp(i phase(x)) from a to b; of f(x) cos or sin(phase(x)) with part = "cos" or "sin"
#   phase: a number ω, for ω x, or a function; f takes a number and gives one, real or complex. The cost does not grow with the phase. b may be infinite for a phase ω x (ω not 0) and an f that
#   falls to 0 at last without oscillating itself. On intervals where the phase turns far, p' + i phase' p = f is solved by collocation at 17 Chebyshev points, where it hardly turns the rule of
#   integrate is used; at infinity, integrals over half periods are extrapolated by the epsilon algorithm.
#   Derivatives, of every order, by what f and phase capture and by a and b, on the intervals found. [Levin, Math. Comp. 38, 1982; Chen, Serkh and Bremer 2022; Wynn 1956]
#     oscillatory(x -> 1 / (1 + x), 1000.0, 0, 1; part = "cos")    #~ 4.142989629867e-4 tol 1e-12
#     oscillatory(x -> 1 / x, 1.0, 0, inf; part = "sin")  #~ π/2 tol 1e-9
oscillatory(f, phase, a, b; part = "exp", rtol = 1e-10, atol = 1e-15, limit = 400) = {
  g = if kind(phase) == "function" { phase } else { x -> phase * x }
  (a, b) = (a + 0.0, b + 0.0)
  if abs(b) == inf {
    assert(kind(phase) != "function", "oscillatory: to infinity the phase is a number, ω for ω x")
    _oscillating_on(f, phase + 0.0, a, part, rtol, atol, limit)
  } else { _oscillating(f, g, a, b, part, rtol, atol, limit) }
}
# The parts of the way where the intervals end are found without derivatives; what they add up to has derivatives.
_oscillating(f, g, a, b, part, rtol, atol, limit) = {
  (left, width) = _panels(f, g, stop_gradient(a), stop_gradient(b), part, rtol, atol, limit)
  sum(map((l, w) -> _levin_panel(f, g, a + (b - a) * l, (b - a) * w, part)[0], left, width))
}
_panels(f, g, a, b, part, rtol, atol, limit) = {
  at = (l, w) -> { (I, E) = _levin_panel(f, g, a + (b - a) * l, (b - a) * w, part); (stop_gradient(I), stop_gradient(E)) }
  left = zeros(limit + 1)
  width = concat([1.0], zeros(limit))
  (I, E) = at(0.0, 1.0)
  parts = concat([1.0], zeros(limit)) * I
  errors = concat([1.0], zeros(limit)) * E
  n = 1
  open = a != b
  while open {
    if not (abs(sum(parts)) < inf) { error("oscillatory: the function is infinite or NaN between {a} and {b}") }
    open = sum(errors) > max(max(atol, rtol * abs(sum(parts))), 1e-14 * sum(abs(parts)))
    if open {
      if n > limit {
        error(
          "oscillatory: the tolerance is not reached between {a} and {b} with {limit} intervals; the error is estimated to be {sum(errors):.1e}")
      }
      k = argmax(errors)
      w = 0.5 * width[k]
      (I1, E1) = at(left[k], w)
      (I2, E2) = at(left[k] + w, w)
      left[n] = left[k] + w
      width[k] = w
      width[n] = w
      parts[k] = I1
      parts[n] = I2
      # an interval as exact as rounding allows is not looked at again
      errors[k] = if w < 1e-15 or E1 <= 1e-15 * abs(I1) { 0.0 } else { E1 }
      errors[n] = if w < 1e-15 or E2 <= 1e-15 * abs(I2) { 0.0 } else { E2 }
      n = n + 1
    }
  }
  (left[..n], width[..n])
}
# One interval: (integral, estimate of its error)
_levin_panel(f, g, l, w, part) = {
  turn = abs(stop_gradient(g(l + w) - g(l))) + abs(stop_gradient(g(l + w) + g(l) - 2 * g(l + 0.5 * w)))
  if turn < 10 {
    values = map(x -> { s = f(x); s * _wave(g(x), part) }, l + 0.5 * w * (1 + _kronrod_nodes))
    I = 0.5 * w * (_kronrod_weights @ values)
    (I, abs(I - 0.5 * w * (_gauss_weights @ values)))
  } else {
    x = l + 0.5 * w * (1 + _levin_nodes)
    v = map(f, x)
    slope = map(x -> jvp(g, x, 1.0)[1], x)
    I = _levin(v, slope, g(l + w), g(l), w, _levin_matrix, part)
    # every other point
    J = _levin(v[.. by 2], slope[.. by 2], g(l + w), g(l), w, _levin_matrix_half, part)
    (I, abs(I - J))
  }
}
_wave(phase, part) =
  if part == "exp" { exp(im * phase) } else if part == "cos" { cos(phase) } else if part == "sin" { sin(phase) } else {
    error("oscillatory: a part is \"exp\", \"cos\" or \"sin\"")
  }
_levin(v, slope, right, left, w, D, part) = {
  p = linsolve((2 / w) * D + im * diag(slope), v + 0im)
  if part == "exp" {
    p[-1] * exp(im * right) - p[0] * exp(im * left)
  } else if part == "cos" {
    real(p[-1]) * cos(right) - imag(p[-1]) * sin(right) - real(p[0]) * cos(left) + imag(p[0]) * sin(left)
  } else {
    real(p[-1]) * sin(right) + imag(p[-1]) * cos(right) - real(p[0]) * sin(left) - imag(p[0]) * cos(left)
  }
}
_chebyshev_points(n) = -cos(π * iota(n + 1) / n)
# differentiation at Chebyshev points (Trefethen, Spectral Methods in MATLAB, 2000, chapter 6; the diagonal by sums of rows)
_chebyshev_slopes(n) = {
  x = _chebyshev_points(n)
  i = iota(n + 1)
  c = where(i == 0 or i == n, 2.0, 1.0) * where(i % 2 == 0, 1.0, -1.0)
  D = outer(c, 1 / c) / (expand(x, 1) - x + eye(n + 1))
  D - diag(sum(D; axis = 1))
}
_levin_nodes = _chebyshev_points(16)
_levin_matrix = _chebyshev_slopes(16)
_levin_matrix_half = _chebyshev_slopes(8)

# To infinity: half periods, the first of them such that the phase then has a whole number of turns, and Wynn's epsilon algorithm for the sums.
_oscillating_on(f, omega, a, part, rtol, atol, limit) = {
  g = x -> omega * x
  step = 3 * π / abs(omega)
  most = 60
  sums = 0im * zeros(most)
  total = 0im
  best = 0im
  found = false
  k = 0
  while not found and k < most {
    more = _oscillating(f, g, a + k * step, a + (k + 1) * step, part, rtol, atol + 1e-16 * abs(stop_gradient(best)), limit)
    total = total + more
    sums[k] = total
    k = k + 1
    if k >= 5 and k % 2 == 1 {
      next = _epsilon(sums[..k])
      change = abs(stop_gradient(next - best))
      found = change <= max(atol, 0.1 * rtol * abs(stop_gradient(next))) or
        abs(stop_gradient(more)) <= 1e-17 * abs(stop_gradient(total))
      best = next
    }
  }
  if not found { error("oscillatory: no convergence to infinity; does the function fall to 0?") }
  if part == "exp" { best } else { real(best) }
}
# the last element of the table's last even column that rounding leaves sense to
_epsilon(s) = {
  n = len(s)
  before = 0 * s
  now = s
  answer = s[n - 1]
  k = 1
  open = true
  while open and k < n {
    d = now[1..n - k + 1] - now[..n - k]
    far = abs(stop_gradient(d)) > 1e-15 * abs(stop_gradient(now[1..n - k + 1]))
    open = all(far)
    if open {
      next = before[1..n - k + 1] + 1 / where(far, d, 1.0)
      before = concat(now[..n - k], now[n - k..])
      now = concat(next, 0 * s[..k])
      if k % 2 == 0 { answer = now[n - k - 1] }
    }
    k = k + 1
  }
  answer
}
