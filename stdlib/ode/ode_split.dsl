# ode_split.dsl - integrators for split right-hand sides: stiff and non-stiff
# (IMEX), fast and slow (multirate).
#
# A method is defined by one step, as in ode_explicit.dsl, whose time loop it
# uses. ode.dsl describes the record of a method. A stage's equations are solved
# by iteration and differentiated as equations.

# imex(; implicit, explicit, max_steps, first_step, max_step): implicit-explicit
# integration of y' = f, of which the part `implicit` is stiff: an additive
# Runge-Kutta method of order 4 with six stages, L-stable in the stiff part.
#   ode(f, ...; method = imex(implicit = g)) takes f - g as the non-stiff part.
#   `explicit` gives that part if it is cheaper alone; the sum of both must be
#   f. The stiff part's equations are solved by Newton's method with its exact
#   Jacobian, which is reused while it converges. The Jacobian is dense, or with
#   ode(...; sparse = true) sparse on the pattern of g.
#   It pays if g is linear or simple and the rest is expensive, or not smooth
#   enough for an implicit method: diffusion with reactions, a stiff spring with
#   a table. Dense output has order 3. In stiff directions it interpolates the
#   stages, whose errors shorten steps where they are large. Derivatives of
#   every order are those of the steps taken. [C. A. Kennedy and M. H.
#   Carpenter, Additive Runge-Kutta schemes for convection-diffusion-reaction
#   equations, Appl. Numer. Math. 44 (2003) 139-181, ARK4(3)6L[2]SA]
#     stiff = (t, y) -> [-1e5 * (y[0] - y[1]), 0.0]
#     s = ode((t, y) -> stiff(t, y) + [0.0, cos(t)], [0.0, 0], (0.0, 2.0); method = imex(implicit = stiff), rtol = 1e-8, atol = 1e-10);
#     s.y(2.0)                       #~ [sin(2), sin(2)] tol 1e-5
imex(; implicit, explicit = none, max_steps = 0, first_step = 0.0, max_step = inf) =
  (name = "imex", degree = 4, max_steps = max_steps, first_step = first_step, max_step = max_step,
    stiff = implicit, rest = explicit, integrate = _by_imex, implicit = none, solve = _solve_ode)

_by_imex(m, f, jac, y0, t0, t1, o) = {
  g = (t, y) -> f64(m.stiff(t, y))
  r = if kind(m.rest) == "none" { (t, y) -> f(t, y) - g(t, y) } else { (t, y) -> f64(m.rest(t, y)) }
  if len(g(t0, y0)) != len(y0) {
    error("imex: the implicit part gives {len(g(t0, y0))} numbers for {len(y0)} unknowns")
  }
  if kind(m.rest) != "none" { _parts_add_up("imex", f, r, g, t0, y0) }
  one = _ark4(r, g, o, kind(o.pattern) != "none", t0, y0)
  (s, times, Y) = _march(one, m, f, y0, t0, t1, o)
  counts = _as_asked(_counted(one, s), s.status != 0, say -> _why(one, s, f, t1, o, say), o)
  (times, Y,
    (...counts, jacobians = s.x[4], factorisations = counts.steps + counts.error_test_failures))
}

# A computed stage z with g(z) = 0. Its derivatives are those of the equation,
# by dense or sparse linear systems.
_stage_of(g, z, linear) = z
derivative _stage_of(g, z, linear), dg, dz,
  dlinear = -_kinsol_linear(g, y, (linear = linear,), dg(y))

_ark4(fe, fi, o, sparse, t0, y0) = {
  γ = 0.25
  c = list(0.5, 0.332, 0.62, 0.85, 1.0)
  ae = list(list(0.5), list(0.221776, 0.110224),
    list(-0.04884659515311858, -0.177720652326401, 0.84656724747951961),
            list(-0.15541685842491548, -0.3567050098221991, 1.0587258798684427,
              0.30339598837867193), list(0.20142435067267633, 0.0087420578429041849,
              0.15993995707168115, 0.40382906052207751, 0.22606457389066084))
  ai = list(list(0.25), list(0.137776, -0.055776),
    list(0.14463686602698217, -0.22393190761334475, 0.44929504158636258),
            list(0.098258783283564771, -0.59154424281967044, 0.81012105382829958,
              0.28316440570780599), list(0.15791629516167136, 0.0, 0.18675894052400077,
              0.68056529530933463, -0.27524053099500667))
  b = list(0.15791629516167136, 0.0, 0.18675894052400077, 0.68056529530933463, -0.27524053099500667,
    0.25)
  e = list(0.00320449439845927, 0.0, -0.00244625113768, -0.02148007591958729, 0.0439468680685724,
    -0.02322503541076487)
  # b_i(θ), powers of θ from 1 to 3
  p = list(list(0.961753400252887, -1.7641875401903802, 0.9603504350991645), list(0.0, 0.0, 0.0),
           list(0.787405595186356, -0.7745046691555105, 0.17385801449315527),
    list(-2.7454419208663343, 9.640235844412924, -6.214228628237255),
    list(3.7035172806122283, -12.544886411271,
      8.566128599663765), list(-1.707234355185137, 5.443342776203966, -3.486108421018829))
  # coefficients, by powers of θ, of the polynomial that is 0 at 0, from its
  # values at 0.332, 0.62, 0.85 and 1
  w = list(list(15.928461184034376, -18.082621818688846, 13.55070817986419, -4.59512553839689),
           list(-60.35889370876024, 93.82202291610278, -76.2220751990573, 26.658262422523375),
           list(74.65521655515163, -139.81672859099595, 128.5026348964968, -47.32639983191512),
           list(-30.22478403042576, 64.07732749358202, -65.83126787730369, 26.263262947788633))
  # the interpolant of the others, at 0.85
  late = list(-0.45912504809657795, 0.9733570316921336, 0.39894815631894104)
  pattern = if sparse { _pattern(fi, (t0, y0), 1, false) } else { none }
  exact = _has_one_jacobian(fi, stop_gradient(t0), stop_gradient(y0))
  slopes = if sparse {
    (t, y) -> stop_gradient(_jacobian_on(u -> fi(t, u), y, pattern).values)
  } else {
    (t, y) -> stop_gradient(_jacobian(u -> fi(t, u), y))
  }
  like = if sparse {
    _jacobian_on(u -> fi(stop_gradient(t0), u), stop_gradient(y0), pattern)
  } else {
    none
  }
  # carried: both parts, J, whether it can be reused, the number of Jacobians,
  # whether it could be reused after a rejection
  step = (t, y, h, x) -> {
    size = stop_gradient(h)
    at = stop_gradient(y)
    now = stop_gradient(t)
    scale = 1 / (o.atol + o.rtol * abs(at))
    # solves with I - h γ J, where J is fixed during the step
    old = x[3]
    J = if old { x[2] } else { slopes(now, at) }
    by = if sparse {
      M = speye(len(y)) - (γ * size) * (...like, values = J)
      v -> linsolve(M, v)
    } else {
      F = _factors(eye(len(y)) - (γ * size) * J)
      v -> _by_step_factors(F, v)
    }
    ke = list(x[0])
    ki = list(x[1])
    z = y
    stages = list()
    good = true
    slow = 0.0
    for i in each(5) {
      s = t + c[i] * h
      r = y + h * (_weighted(ae[i], ke) + _weighted(ai[i], ki))
      (found, ends, rate) =
        _ark4_stage(fi, stop_gradient(s), γ * size, stop_gradient(r), stop_gradient(z), by, scale,
          exact)
      good = good and ends
      slow = max(slow, rate)
      z = _stage_of(u -> u - r - (γ * h) * fi(s, u), found, if sparse { 1 } else { 0 })
      stages = push(stages, z)
      ki = push(ki, (z - r) / (γ * h))
      ke = push(ke, fe(s, z))
    }
    k = list(...map(j -> ke[j] + ki[j], each(6)))
    y1 = y + h * _weighted(b, k)
    # The error filtered by the matrix: of the stiff part only as much as an
    # implicit method would make (Hairer and Wanner II, IV.8).
    error = _rms(_scaled(by(stop_gradient(h * _weighted(e, k))), y, y1, o))
    # Dense output: the method's own polynomial; in stiff directions, where that
    # has large errors, the interpolant of the stages.
    rigid = v -> { v = v - by(v); v - by(v) }
    ups = list(stages[1] - y, stages[2] - y, stages[3] - y, y1 - y)
    inside = list(...map(j -> {
      through = _weighted(w[j], ups)
      own = if j < 3 { h * _weighted(map(c -> c[j], p), k) } else { 0.0 * through }
      own + rigid(through - own)
    }, list(0, 1, 2, 3)))
    # In stiff directions the step's error estimate is not reliable. There the
    # last stage should equal the end, and the other stages their interpolant.
    size_ = v -> _rms(_scaled(rigid(stop_gradient(v)), y, y1, o))
    error = max(error, size_(y1 - stages[4]))
    error = if _asks_one(o.saveat) { error } else {
      max(error, 0.2 * size_(ups[2] - _weighted(late, list(ups[0], ups[1], ups[3]))))
    }
    serves = good and slow < 0.2
    (y1, (fe(t + h, y1), fi(t + h, y1), J, serves, x[4] + (if old { 0 } else { 1 }), serves or
      not old),
      # unsolved equations shorten the step like a large error
      if good { error } else { 50.0 + 0.0 * error }, inside)
  }
  (order = 4, adaptive = true, beta = 0.04, longest = 5.0, start = 2, stages = 6,
    begin = (t, y) -> (fe(t, y), fi(t, y), slopes(stop_gradient(t), stop_gradient(y)), true, 1,
      true),
    refused = (x, new) -> (x[0], x[1], new[2], new[5], new[4], new[5]), slope = (t, y, x) -> x[0] +
    x[1], step = step,
    dense = (t, y, h, z, inside) -> (y, ...inside),
    at = (c, θ) -> c[0] + θ * (c[1] + θ * (c[2] + θ * (c[3] + θ * c[4]))))
}
# z with z = r + c g(s, z), c = γ h, by iterations with the matrix of the step:
# (z, whether it converged, the contraction rate of the last iteration, or 0).
# exact: g has a constant Jacobian. With a matrix from a point where g is
# stiffer, corrections are small even for large residuals, so two successive
# residuals are compared.
_ark4_stage(g, s, c, r, z, by, scale, exact) = {
  (k, before, theta) = (0, 0.0, 0.5)
  (open, good) = (true, false)
  left = 0 * z
  while open {
    rest = r + c * g(s, z) - z
    d = by(rest)
    size = _rms(d * scale)
    z = z + d
    k = k + 1
    theta = if k > 1 { max(0.1 * theta, size / max(before, 1e-300)) } else { theta }
    before = size
    good = size == 0 or (theta < 1 and size * theta / (1 - min(theta, 0.999)) <= 1e-3) or
      size <= 1e-5
    if good and not exact and size > 0 {
      good = k > 1 and not any(abs(rest) > 0.5 * abs(left) and abs(rest) * scale > 1e-3 and
        abs(d) > 5e-16 * abs(z))
    }
    left = rest
    open = not good and k < 12 and size < inf and (k < 3 or theta < 1)
  }
  (z, good, if k > 1 { theta } else { 0.0 })
}
# Whether g's Jacobian with respect to y is constant, by the dependences of g.
_has_one_jacobian(g, t, y) = {
  same = true
  for (i, row) in enumerate(_dependence(g, t, y).factors) {
    for b in row { if b and i > 0 { same = false } }
  }
  same
}

# multirate(h; fast, slow, inner, order, first_step, max_step): multirate
# integration of y' = f, whose part `fast` moves much faster than the rest: slow
# steps, in which `inner` integrates the fast part.
#   ode(f, ...; method = multirate(fast = g)) takes f - g as the slow part, or
#   `slow` if that is cheaper alone; the sum of both must be f. The slow part is
#   evaluated 3 times a step (order 3), or 5 times (order 4), however many steps
#   g needs; stats.rhs counts these evaluations.
#   rtol and atol control the slow steps by an embedded formula of one order
#   less, for which the fast part is integrated again over the last third or
#   fifth of the step. A step that is too long, or in which `inner` fails, is
#   rejected. With h the steps are equal, at most h, which then determines the
#   error of the slow part. inner is any method, by default dop853(). Its
#   tolerances are a tenth of rtol and atol, with h all of them.
#   Steps end at the times of saveat. Between the steps of a whole solution the
#   dense output is a cubic Hermite interpolant, which does not resolve the fast
#   part. Derivatives are those of the steps. [A. Sandu, A class of multirate
#   infinitesimal GARK methods, SIAM J. Numer. Anal. 57 (2019) 2300-2327,
#   MRI-GARK-ERK33a and ERK45a with their embedded formulas; the embedded
#   formula of order 4 has an additional term for the slow part]
#     quick = (t, y) -> [-50 * y[1], 50 * y[0], 0.0]
#     f = (t, y) -> quick(t, y) + [0.0, 0.0, -y[2] + 0.1 * y[0]^2]
#     s = ode(f, [1.0, 0, 1], (0.0, 1.0); method = multirate(fast = quick), rtol = 1e-6, atol = 1e-8, saveat = [1.0]);
#     s.values[0, ..2]               #~ [cos(50), sin(50)] tol 1e-5
multirate(h = 0.0; fast, slow = none, inner = dop853(), order = 3, max_steps = 0, first_step = 0.0,
  max_step = inf) =
  (name = "multirate", degree = 3, max_steps = max_steps, equal = h,
    first_step = if h > 0 {
      h
    } else {
      first_step
    }, max_step = max_step, fast = fast, slow = slow, inner = inner, order = _known(order, "order"),
    integrate = _by_multirate, implicit = none, solve = _solve_ode,
    finer = m -> (...m, equal = 0.5 * m.equal, first_step = 0.5 * m.first_step))

_by_multirate(m, f, jac, y0, t0, t1, o) = {
  if not (m.equal >= 0) { error("the step of multirate() must be more than 0") }
  g = (t, y) -> f64(m.fast(t, y))
  if len(g(t0, y0)) != len(y0) {
    error("multirate: the fast part gives {len(g(t0, y0))} numbers for {len(y0)} unknowns")
  }
  r = if kind(m.slow) == "none" { (t, y) -> f(t, y) - g(t, y) } else { (t, y) -> f64(m.slow(t, y)) }
  if kind(m.slow) != "none" { _parts_add_up("multirate", f, r, g, t0, y0) }
  if m.equal > 0 {
    _marched(_mri(r, g, m, o, false), m, f, y0, t0, t1, o)
  } else {
    _marched(_mri(r, g, m, o, true), m, f, y0, t0, t1, o)
  }
}
_parts_add_up(name, f, r, g, t0, y0) = {
  whole = f(t0, y0)
  off = max(abs(r(t0, y0) + g(t0, y0) - whole))
  if off > 1e-8 * (max(abs(whole)) + max(abs(g(t0, y0)))) {
    error(
      "{name}: the two parts do not add up to the right-hand side, which at t = {t0} is off by "
      "{off}")
  }
}
_mri(slow, g, m, o, adaptive) = {
  if m.order != 3 and m.order != 4 { _refuse("multirate has the orders 3 and 4, not {m.order}") }
  # The slow part in stage i is a polynomial in time: w0 and w1 are the constant
  # and linear weights of the earlier stages; v0 and v1 those of the embedded
  # formula in the last stage.
  #
  # For order 4 the published embedded formula sees errors of the fast part
  # alone: without a fast part both formulas agree. Therefore 0.148...
  # (-2.516..., 6.548..., -4.548..., -0.483..., 1) is added to its v0. This
  # preserves order 3 (it is orthogonal to 1, c, c² and A c of the slow stages),
  # and its size is a tenth of the last term, that of c³.
  (c, w0, w1, v0, v1) = if m.order == 3 {
    (list(0.0, 1 / 3, 2 / 3, 1.0), list(list(1 / 3), list(-1 / 3, 2 / 3), list(0.0, -2 / 3, 1.0)),
      list(list(0.0), list(0.0, 0.0), list(0.5, 0.0, -0.5)), list(1 / 12, -1 / 3, 7 / 12),
      list(0.0, 0.0, 0.0))
  } else {
    (list(0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
      list(list(0.2), list(-3.3125, 3.5125),
        list(-0.51212346039379852, 1.9554969207875972, -1.2433734603937985),
        list(-0.10689272115871615, -4.6566930569811165, 3.9949685327575311, 0.96861724538230187),
        list(0.91196084369075203, -0.18373270837722069, -1.1939268660908644, -2.6119830068113195,
          3.2776817375886527)),
      list(list(0.0), list(6.2875, -6.2875),
        list(-0.038253079212402903, 0.69525615842480581, -0.65700307921240286),
        list(1.8761669464252899, 3.0037681973833417, -3.0, -1.8799351438086316),
        list(-2.4238031914893616, 2.0, 1.0, 5.0, -5.5761968085106384)),
      list(-2.3250490926953034, 3.4386864697911124, -1.3677152078114488, -0.18362411233092962,
        0.63770194304656906),
      list(6213 / 1880, -6213 / 1880, 0.0, 0.0, 0.0))
  }
  stages = m.order + (m.order - 3)
  part = if adaptive { 0.1 } else { 1.0 }
  # Integrates from z over stage i, along the slow slopes k with those weights.
  # Also returns whether that succeeded.
  along = (t, h, i, z, k, w, v) -> {
    size = c[i + 1] - c[i]
    a = t + c[i] * h
    end = if i == stages - 1 { t + h } else { t + c[i + 1] * h }
    steady = _weighted(w, k) / size
    bent = _weighted(v, k)
    rising = if kind(bent) == "none" { 0.0 * steady } else { bent / size }
    F = (s, u) -> g(s, u) + steady + ((s - a) / (size * h)) * rising
    (times, rows, counts) =
      _integrate(m.inner, F, (s, u) -> _rows_jacobian(w -> F(s, w), u), none, z, a, end,
        (rtol = part * o.rtol, atol = part * o.atol, saveat = stack(list(end)),
          quiet = if adaptive { 2 } else { 0 }, switches = _no_switches))
    (rows[0], if has(counts, "complete") { counts.complete == 1 } else { true })
  }
  # carried: the slow slope
  step = (t, y, h, x) -> {
    k = list(x)
    z = y
    other = y
    good = true
    for i in each(stages) {
      start = z
      if adaptive {
        if good { (z, good) = along(t, h, i, start, k, w0[i], w1[i]) }
        if i == stages - 1 {
          if good { (other, good) = along(t, h, i, start, k, v0, v1) }
        }
      } else { (z, good) = along(t, h, i, start, k, w0[i], w1[i]) }
      k = push(k, slow(t + c[i + 1] * h, z))
    }
    last = k[-1]
    # a step too long for the inner method is rejected like one with a large
    # error
    error = if adaptive {
      where(good, _rms(_scaled(stop_gradient(z - other), y, z, o)), 50.0)
    } else {
      none
    }
    (z, last, error, (x + g(t, y), last + g(t + h, z)))
  }
  (order = m.order, adaptive = adaptive, beta = 0.04, longest = 5.0, start = 3, stages = stages,
    lands = true, begin = slow, rate = slow, slope = (t, y, x) -> x + g(t, y), step = step,
    dense = (t, y, h, z, q) -> _two_point((y, h * q[0]), (z, h * q[1])), at = _two_point_at)
}
