# ode_explicit.dsl - explicit integrators: Runge-Kutta methods of orders 5 and 8
# with step control and dense output, fixed-step Euler and Runge-Kutta methods,
# symplectic compositions.
#
# ode.dsl describes the record of a method.
#
# A method here is defined by one step; the time loop is shared. The loops are
# while loops over scalars and vectors of static extent. The right-hand side,
# the stages and the step control therefore compile to one piece of machine code
# in registers, also for each batch element of a map.
#
# Derivatives are those of the steps taken, in every mode and order; step sizes
# count as constants. The ends of the interval and saveat carry their tangents
# through the step that reaches them.

# tsit5(; max_steps, first_step, max_step): explicit Runge-Kutta method of order
# 5 with an error estimate of order 4 and dense output of order 4, for non-stiff
# problems and rtol from 1e-3 to 1e-7.
#   max_steps: 0 means 500000. first_step: 0 means automatic. max_step: the
#   longest step. dop853() needs fewer evaluations for tight tolerances; for
#   stiff problems see bdf(). It has seven stages, the last of which is the
#   first of the next step. [Ch. Tsitouras, Runge-Kutta pairs of order 5(4)
#   satisfying only the first column simplifying assumption, Comput. Math. Appl.
#   62 (2011) 770-775]
#     ode((t, y) -> [y[1], -y[0]], [1.0, 0], (0.0, 10.0); method = tsit5(), rtol = 1e-8, atol = 1e-10).y(10.0)   #~ [cos(10), -sin(10)] tol 1e-6
tsit5(; max_steps = 0, first_step = 0.0, max_step = inf) =
  (name = "tsit5", degree = 4, explicit = true, max_steps = max_steps, first_step = first_step,
    max_step = max_step, integrate = _by_tsit5, turn = _tsit5_turn, implicit = none,
    solve = _solve_ode)
_by_tsit5(m, f, jac, y0, t0, t1, o) = _marched(_tsit5(f, o), m, f, y0, t0, t1, o)

# dop853(; max_steps, first_step, max_step): explicit Runge-Kutta method of
# order 8 with error estimates of orders 5 and 3 and dense output of order 7,
# for non-stiff problems and rtol from 1e-6 to 1e-13.
#   Options are those of tsit5(). It has twelve stages, and three more in steps
#   that need dense output. [E. Hairer, S. P. Norsett and G. Wanner, Solving
#   Ordinary Differential Equations I, 2nd ed., Springer 1993, II.5 and II.6]
#     ode((t, y) -> [y[1], -y[0]], [1.0, 0], (0.0, 10.0); method = dop853(), rtol = 1e-12, atol = 1e-14).y(10.0)   #~ [cos(10), -sin(10)] tol 1e-10
dop853(; max_steps = 0, first_step = 0.0, max_step = inf) =
  (name = "dop853", degree = 7, explicit = true, max_steps = max_steps, first_step = first_step,
    max_step = max_step, integrate = _by_dop853, turn = _dop853_turn, implicit = none,
    solve = _solve_ode)
_by_dop853(m, f, jac, y0, t0, t1, o) = _marched(_dop853(f, o), m, f, y0, t0, t1, o)

# rk4(h): the classical Runge-Kutta method of order 4 in equal steps of at most
# h. It has no error control and ignores rtol and atol.
#   Dense output is the cubic Hermite interpolant. [W. Kutta, Z. Math. Phys. 46
#   (1901) 435-453]
#     ode((t, y) -> y, [1.0], (0.0, 1.0); method = rk4(0.01)).y(1.0)   #~ [exp(1)] tol 1e-9
rk4(h; max_steps = 0) =
  (name = "rk4", degree = 3, max_steps = max_steps, first_step = h, max_step = inf,
    integrate = _by_rk4, turn = _rk4_turn, implicit = none, solve = _solve_ode,
    coarser = (info, m, s) -> ((...m, first_step = 2 * m.first_step), 16.0), finer = _in_halves)
_by_rk4(m, f, jac, y0, t0, t1, o) = _marched(_rk4(f), m, f, y0, t0, t1, o)

# euler(h): the explicit Euler method, of order 1, in equal steps of at most h,
# for teaching
#     ode((t, y) -> y, [1.0], (0.0, 1.0); method = euler(0.5)).y(1.0)   #> [2.25]
euler(h; max_steps = 0) =
  (name = "euler", degree = 1, max_steps = max_steps, first_step = h, max_step = inf,
    integrate = _by_euler, turn = _euler_turn, implicit = none, solve = _solve_ode,
    coarser = (info, m, s) -> ((...m, first_step = 2 * m.first_step), 2.0), finer = _in_halves)
# The same method with each step halved, including the steps of a piece shorter
# than one step.
_in_halves(m) = (...m, cut = 2 * _pieces_of_step(m))
_pieces_of_step(m) = if has(m, "cut") { m.cut } else { 1 }
_by_euler(m, f, jac, y0, t0, t1, o) = _marched(_euler(f), m, f, y0, t0, t1, o)

# symplectic(h; order): symplectic, symmetric integration of a separable
# Hamiltonian system in equal steps of at most h. The energy error stays bounded
# over long times.
#   y = (q, p), an even number of unknowns: first all positions, then all
#   momenta. q' must depend on p alone and p' on q alone (and both on t);
#   otherwise an error.
#   order 2: Störmer-Verlet, one force a step; 4: six forces; 6: ten; 8:
#   seventeen. [order 4 and 6: S. Blanes and P. C. Moan, J. Comput. Appl. Math.
#   142 (2002) 313-330, S6 and S10; order 8: W. Kahan and R.-C. Li, Math. Comp.
#   66 (1997) 1089-1099, 17 stages]
#     pendulum = (t, y) -> [y[1], -sin(y[0])]
#     energy(y) = y[1]^2 / 2 - cos(y[0])
#     s = ode(pendulum, [1.0, 0], (0.0, 1000.0); method = symplectic(0.1; order = 4));
#     energy(s.values[-1]) - energy([1.0, 0])   #~ 0 tol 1e-6
symplectic(h; order = 2, max_steps = 0) = {
  order = _known(order, "order")
  (name = "symplectic", order = order, degree = max(3, order - 1), max_steps = max_steps,
    first_step = h, max_step = inf, integrate = _by_symplectic, turn = _symplectic_turn,
    implicit = none, solve = _solve_ode, finer = _in_halves)
}
_by_symplectic(m, f, jac, y0, t0, t1, o) = {
  n = len(y0)
  if n % 2 != 0 {
    error("symplectic() wants positions and as many momenta, an even number of unknowns, not {n}")
  }
  # the tangent of q' along any q is 0, and that of p' along any p; one
  # direction with distinct elements suffices
  way = sin(1.0 + iota(n))
  (_, by_q) = jvp(y -> f(t0, y), stop_gradient(y0), way * f64(iota(n) < n // 2))
  (_, by_p) = jvp(y -> f(t0, y), stop_gradient(y0), way * f64(iota(n) >= n // 2))
  if max(abs(by_q[..n // 2])) > 0 {
    error(
      "symplectic() wants q' to depend on the momenta alone, the second half of y; here it also "
      "depends on the positions: take dop853() or bdf()")
  }
  if max(abs(by_p[n // 2..])) > 0 {
    error(
      "symplectic() wants p' to depend on the positions alone, the first half of y; here it also "
      "depends on the momenta: take dop853() or bdf()")
  }
  _marched(_composition(f, m.order), m, f, y0, t0, t1, o)
}

# ---- time stepping
#
# A step is a record with the fields
#   order     the order of the error in the step size
#   begin     (t, y): the state x carried between steps besides t and y
#   slope     (t, y, x): y'
#   step      (t, y, h, x) -> (y at t + h, the new x, the error relative to the
#             tolerance or none, data for dense output)
#   dense     (t, y, h, z, q): the coefficients of a polynomial in θ = 0..1
#   at        (c, θ): its value
#   refused   optional (x, new): the state after a rejected step, which gave new
#   rate      optional (t, y): replaces the whole right-hand side for choosing
#             the first step
#   lands     optional: steps end at the times of saveat
#   strain    optional (t, y, h, z, q): h times an estimate of the largest
#             eigenvalue of the Jacobian, divided by its stability limit

_marched(one, m, f, y0, t0, t1, o) = {
  (s, times, Y) = _march(one, m, f, y0, t0, t1, o)
  (times, Y, _as_asked(_counted(one, s), s.status != 0, say -> _why(one, s, f, t1, o, say), o))
}
# The same as far as it goes: the final state, and the rows so far.
_march(one, m, f, y0, t0, t1, o) = {
  _check_given(one, m, f, y0, t0, t1, o)
  if _asks_all(o.saveat) {
    _march_whole(one, m, f, y0, t0, t1, o)
  } else {
    _check_saveat(o.saveat, t0, t1)
    if _asks_one(o.saveat) { _march_to(one, m, f, y0, t0, t1, o) } else {
      if has(one, "lands") {
        _march_by(one, m, f, y0, t0, t1, o)
      } else {
        _march_through(one, m, f, y0, t0, t1, o)
      }
    }
  }
}

_check_given(one, m, f, y0, t0, t1, o) = {
  if len(y0) == 0 { error("a differential equation needs an unknown: the initial value is empty") }
  v = f(t0, y0)
  if kind(v) != "array" { _refuse("the right-hand side must be a vector like the unknowns") }
  if rank(v) != 1 {
    _refuse(
      "the right-hand side must be a vector like the unknowns, not an array with {rank(v)} axes")
  }
  if dtype(v) == "c128" or dtype(v) == "c64" {
    _refuse(
      "the right-hand side gives complex numbers: y' = f(t, y) is in real ones, take real and "
      "imaginary parts as two unknowns")
  }
  if _is_fixed(len(v)) and _is_fixed(len(y0)) {
    if len(v) != len(y0) {
      _refuse("the right-hand side gives {len(v)} numbers for {len(y0)} unknowns")
    }
  }
  times = abs(t0) < inf and abs(t1) < inf
  values = max(abs(y0)) < inf
  steps = m.first_step >= 0 and m.max_step > 0 and (one.adaptive or m.first_step > 0)
  limits = o.rtol >= 0 and o.rtol < inf and min(o.atol) >= 0 and max(o.atol) < inf
  measured = not one.adaptive or
    (min(o.atol + o.rtol * abs(y0)) > 0 and _rms(2.2e-16 * y0 / (o.atol + o.rtol * abs(y0))) <= 1)
  if not (times and values and steps and limits and measured) {
    if not times { error("the first and the last time must be finite numbers, not {t0} and {t1}") }
    if not values {
      i = argmax(f64(not (abs(y0) < inf)))
      error("initial value {i} is {y0[i]}")
    }
    if not steps { error("the step of {m.name}() must be more than 0") }
    if not limits { error("rtol and atol must be finite numbers, zero or more") }
    i = argmin(o.atol + o.rtol * abs(y0))
    if min(o.atol + o.rtol * abs(y0)) > 0 {
      error("rtol and atol ask for more than 64-bit numbers can hold: loosen them")
    }
    error(
      "y[{i}] has nothing to measure its error by: its atol is 0, and rtol or its initial value "
      "too")
  }
}

_check_saveat(times, t0, t1) = {
  way = if t1 >= t0 { 1.0 } else { -1.0 }
  s = way * stop_gradient(times)
  if not (s[0] >= way * t0 and s[-1] <= way * t1) {
    error("saveat must lie between {t0} and {t1}; it goes from {times[0]} to {times[-1]}")
  }
  if len(s) > 1 {
    if not all(s[1..] >= s[..-1]) {
      error("the times of saveat must be in order, from {t0} to {t1}")
    }
  }
}

# The state of the integration. h: the next step; past: the logarithm of the
# error of the last accepted step; stiff: how often stability and not the error
# limited recent steps. status: 0 running, 1 the step is too small, 2 steps are
# used up, 4 an equal step gives values that are not finite, 3 the problem is
# stiff. For 3, the steps with a strain above m.edge exceed the others by
# m.patience (for methods with `watch`).
_start(one, m, f, y0, t0, t1, o) = {
  x = one.begin(t0, y0)
  span = stop_gradient(t1 - t0)
  h = if one.adaptive {
    if m.first_step > 0 {
      min(f64(m.first_step), abs(span))
    } else {
      _first_step(if has(one, "rate") { one.rate } else { f }, one.order, stop_gradient(t0),
        stop_gradient(y0), span, o)
    }
  } else {
    abs(span) / (_pieces_of_step(m) * max(1.0, ceil(abs(span) / m.first_step - 1e-10)))
  }
  s = (t = t0, y = y0, x = x, h = where(span < 0, -1.0, 1.0) * min(h, m.max_step), past = log(1e-4),
    again = false, steps = 0, failures = 0, stiff = 0, status = 0)
  if one.adaptive { s } else { (...s, before = (t = t0, y = y0, x = x)) }
}
# The final state: before a step that gave values that are not finite.
_stood(one, s) = if one.adaptive { s } else {
  if s.status == 4 { (...s, ...s.before, steps = s.steps - 1) } else { s }
}

# Hairer, Norsett and Wanner, II.4: a step for which the error of an Euler step,
# and the change of the derivative over it, are a hundredth of the tolerance.
_first_step(f, order, t0, y0, span, o) = {
  way = where(span < 0, -1.0, 1.0)
  scale = stop_gradient(o.atol + o.rtol * abs(y0))
  f0 = f(t0, y0)
  d0 = _rms(y0 / scale)
  d1 = _rms(f0 / scale)
  # at least the resolution of t
  h0 = min(abs(span), max(where(d0 < 1e-5 or d1 < 1e-5, 1e-6, 0.01 * d0 / d1), 1e-12 * abs(t0)))
  d2 = _rms((f(t0 + way * h0, y0 + way * h0 * f0) - f0) / scale) / h0
  d = max(d1, d2)
  h1 = where(d <= 1e-15, max(1e-6, 1e-3 * h0), (0.01 / d)^(1 / (order + 1)))
  h = min(100 * h0, h1)
  stop_gradient(min(abs(span), where(h > 0, h, 1e-6 * h0)))
}
_rms(v) = sqrt(sum(v * v) / len(v))

# One step towards t1, accepted or not. PI step size control as in Hairer and
# Wanner, Solving Ordinary Differential Equations II, IV.2, with exponents 1/q -
# 0.75 β and β.
_advance(one, m, s, t1) = {
  left = t1 - s.t
  last = abs(left) <= (if one.adaptive { 1.01 } else { 1 + 1e-9 }) * abs(s.h)
  h = if last { left } else { s.h }
  (z, x, e, q) = one.step(s.t, s.y, h, s.x)
  c = (h = h, z = z, q = q)
  t = if last { t1 } else { s.t + h }
  if kind(e) == "none" {
    # Equal steps cannot be shortened: integration ends where values are not
    # finite. Only the loop needs this test, so the earlier state is carried
    # along (_stood).
    v = one.slope(t, z, x)
    finite = abs(stop_gradient(sum(z) + where(last, 0.0, sum(v)))) < inf
    steps = s.steps + 1
    status = where(finite, where(last, 0, where(steps >= _most_steps(m), 2, 0)), 4)
    ((t = t, y = z, x = x, h = s.h, past = s.past, again = false, steps = steps, failures = 0,
      stiff = 0, status = status, before = (t = s.t, y = s.y, x = s.x)),
      finite, c)
  } else {
    # From here on scalars have no tangents. Choices by `where` avoid branches,
    # so that the batch elements of a map share one code path.
    e = stop_gradient(e)
    taken = e <= 1
    le = log(max(e, 1e-10))
    k = 1 / one.order
    grow = 0.9 * exp((0.75 * one.beta - k) * le + where(taken, one.beta * s.past, 0.0))
    most = where(s.again, 1.0, where(taken, one.longest, 1.0))
    size = stop_gradient(h)
    next = where(size < 0, -1.0, 1.0) * min(abs(size) * where(e < inf, clamp(grow, 0.1, most), 0.1),
      m.max_step)
    count = i64(taken)
    steps = s.steps + count
    failures = s.failures + 1 - count
    stuck = abs(next) <= 1e-15 * max(abs(stop_gradient(s.t)), 1e-290)
    used = steps + failures >= _most_steps(m)
    # Steps at the stability limit alternate: some are just inside, some are
    # rejected.
    stiff = if has(m, "watch") {
      where(stop_gradient(one.strain(s.t, s.y, h, z, q)) > m.edge, s.stiff + 1, max(0, s.stiff - 3))
    } else { 0 }
    status = where(taken,
      where(last, 0, where(has(m, "watch") and stiff >= _patience(m), 3, where(used, 2, 0))),
      where(stuck, 1, where(used, 2, 0)))
    still = if has(one, "refused") { one.refused(s.x, x) } else { s.x }
    ((t = if taken { t } else { s.t }, y = if taken { z } else { s.y },
      x = if taken {
        x
      } else {
        still
      }, h = next, past = where(taken, max(le, log(1e-4)), s.past), again = not taken,
      steps = steps, failures = failures, stiff = stiff, status = status),
      taken, c)
  }
}
_patience(m) = if has(m, "patience") { m.patience } else { 0 }
_most_steps(m) = if m.max_steps > 0 { m.max_steps } else { 500000 }

# The end value alone: no rows are stored.
_march_to(one, m, f, y0, t0, t1, o) = {
  end = o.saveat[0]
  s = _start(one, m, f, y0, t0, end, o)
  while s.t != end and s.status == 0 {
    s = _advance(one, m, s, end)[0]
    progress(s.steps; time = s.t, from = t0, to = end, dt = s.h)
  }
  s = _stood(one, s)
  (s, o.saveat, reshape(s.y, 1, len(y0)))
}

_march_through(one, m, f, y0, t0, t1, o) = {
  count = len(o.saveat)
  end = o.saveat[-1]
  s = _start(one, m, f, y0, t0, end, o)
  way = where(stop_gradient(end - t0) < 0, -1.0, 1.0)
  Y = expand(y0, 0) + expand(o.saveat - t0, 1) * expand(f(t0, y0), 0)
  j = 0
  while s.t != end and s.status == 0 {
    (now, taken, c) = _advance(one, m, s, end)
    if taken and way * (o.saveat[j] - now.t) <= 0 {
      p = one.dense(s.t, s.y, c.h, c.z, c.q)
      more = true
      while more {
        Y[j] = one.at(p, (o.saveat[j] - s.t) / c.h)
        j = j + 1
        more = j < count and way * (o.saveat[min(j, count - 1)] - now.t) <= 0
      }
    }
    s = now
    progress(s.steps; time = s.t, from = t0, to = end, dt = s.h)
  }
  (_stood(one, s), o.saveat, Y)
}

# The same with steps that end at those times. A step cut short there does not
# reduce the next one.
_march_by(one, m, f, y0, t0, t1, o) = {
  count = len(o.saveat)
  end = o.saveat[-1]
  s = _start(one, m, f, y0, t0, end, o)
  Y = expand(y0, 0) + expand(o.saveat - t0, 1) * expand(f(t0, y0), 0)
  j = 0
  while j < count and s.status == 0 {
    stop = o.saveat[min(j, count - 1)]
    if s.t == stop {
      if s.steps > 0 { Y[j] = s.y }
      j = j + 1
    } else {
      before = s.h
      (s, taken, c) = _advance(one, m, s, stop)
      if taken and abs(stop_gradient(c.h)) < abs(before) {
        s = (...s, h = where(abs(s.h) < abs(before), before, s.h))
      }
      progress(s.steps; time = s.t, from = t0, to = end, dt = s.h)
    }
  }
  (_stood(one, s), o.saveat, Y)
}

# The rows of all steps, stored in chunks of doubling size.
_march_whole(one, m, f, y0, t0, t1, o) = {
  n = len(y0)
  d = m.degree
  s = _start(one, m, f, y0, t0, t1, o)
  times = reshape(t0, 1)
  Y = reshape(y0, 1, n)
  size = 64
  signs = if has(o, "halt") { o.halt.signs } else { i64(zeros(0)) }
  halted = false
  while s.t != t1 and s.status == 0 and not halted {
    T = zeros(size, d)
    R = zeros(size, d, n)
    k = 0
    while s.t != t1 and s.status == 0 and not halted and k < size {
      (now, taken, c) = _advance(one, m, s, t1)
      if taken {
        p = one.dense(s.t, s.y, c.h, c.z, c.q)
        T[k] = stack(...map(i -> s.t + (i / d) * c.h, each(1, d)), now.t)
        R[k] = stack(...map(i -> one.at(p, i / d), each(1, d)), now.y)
        k = k + 1
        if has(o, "halt") { (signs, halted) = _halted(o.halt, signs, now.t, now.y) }
      }
      s = now
      progress(s.steps; time = s.t, from = t0, to = t1, dt = s.h)
    }
    times = concat(times, reshape(T[..k], k * d))
    Y = concat(Y, reshape(R[..k], k * d, n))
    size = 2 * size
  }
  (_stood(one, s), times, Y)
}

_counted(one, s) = _stats(_marched_counts(one, s))
_marched_counts(one, s) =
  i64([s.steps, one.start + one.stages * (s.steps + s.failures), 0, 0, s.failures, 0, 0])

_why(one, s, f, t1, o, say) = {
  v = one.slope(s.t, s.y, s.x)
  k = argmax(abs(v) / (o.atol + o.rtol * abs(s.y)))
  i = _not_finite(v)
  if i >= 0 { _why_not_finite(s.t, s.y, v, i, o, say) } else { if s.status == 4 {
    say(
      "no solution beyond t = {_clock(o, s.t)}: after one more step of {s.h} it is no longer "
      "finite; the fastest element is y[{k}] = {s.y[k]}, whose slope is {v[k]}; "
      "{_last_values(o, s.y)}. It may grow without bound, or the steps may be too long for the "
      "equation: dop853() and bdf() choose theirs")
  } else { if s.status == 1 {
    say(
      "no solution beyond t = {_clock(o, s.t)}: the step became too small to change t ({s.h}), and "
      "its error is still too large; the fastest element is y[{k}] = {s.y[k]}, whose slope is "
      "{v[k]}; {_last_values(o, s.y)}. The solution may jump, leave the domain of the equations or "
      "grow without bound there: stop before it, or say what happens there")
  } else { if abs(s.h) <= 1e-7 * abs(t1 - s.t) {
    say(
      "no solution beyond t = {_clock(o, s.t)}: {s.steps + s.failures} steps are used up on the "
      "way to t = {_clock(o, t1)}; the last was {s.h} long, the fastest element is y[{k}] = "
      "{s.y[k]}; {_last_values(o, s.y)}. {_jumps_there}; or that the problem is stiff, for which "
      "bdf or rodas5p need far fewer")
  } else {
    say(
      "no solution beyond t = {_clock(o, s.t)}: {s.steps + s.failures} steps are used up on the "
      "way to t = {_clock(o, t1)}; the last was {s.h} long, the fastest element is y[{k}] = "
      "{s.y[k]}; {_last_values(o, s.y)}. A stiff method (bdf) may need far fewer; or allow more "
      "with max_steps, or loosen rtol and atol")
  } } } }
}

# ---- Runge-Kutta methods from their coefficients

# The slopes of a step are a list of vectors for few unknowns: stages are
# unrolled, with constant coefficients and all values in registers. For more
# unknowns the right-hand side would be inlined once for each stage; slopes are
# then rows of a matrix, filled in a loop.
_slopes(x, rows) = if _is_fixed(len(x)) { list(x) } else {
  K = zeros(rows, len(x))
  K[0] = x
  K
}
# Σ w[j] k[j].
_weighted(w, k) = {
  s = none
  if kind(k) == "array" { _row(w, len(k)) @ k } else {
    for j in each(len(w)) {
      if w[j] != 0.0 { s = if kind(s) == "none" { w[j] * k[j] } else { s + w[j] * k[j] } }
    }
    s
  }
}
_row(w, n) = stack(...w, ...map(i -> 0.0, each(len(w), n)))
# Adds m further stages with weights a at the times c to those in k.
_stages(f, t, y, h, k, m, a, c) = {
  if kind(k) == "array" {
    A = stack(...map(w -> _row(w, len(k)), a))
    C = stack(...c)
    for i in 0..len(c) { k[m + i] = f(t + C[i] * h, y + h * (A[i] @ k)) }
  } else {
    for i in each(len(c)) { k = push(k, f(t + c[i] * h, y + h * _weighted(a[i], k))) }
  }
  k
}
_scaled(e, y, z, o) = e / (o.atol + o.rtol * max(abs(y), abs(z)))

# Coefficients and interpolant: Tsitouras 2011, section 4. The last row has the
# weights of the step.
_tsit5(f, o) = {
  c = list(0.161, 0.327, 0.9, 0.9800255409045097, 1.0)
  a = list(list(0.161), list(-0.008480655492356989, 0.335480655492357),
           list(2.8971530571054935, -6.359448489975075, 4.3622954328695815),
           list(5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525),
           list(5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401,
             -0.028269050394068383))
  b = list(0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081,
    2.324710524099774)
  e = list(-0.00178001105222577714, -0.0008164344596567469, 0.007880878010261995,
    -0.1447110071732629, 0.5823571654525552, -0.45808210592918697, 0.015151515151515152)
  # b_i(θ), by descending powers of θ from 4 to 1
  p =
    list(list(-1.0530884977290216, 0.1017, 2.490627285651253, -16.548102889244902,
      47.37952196281928, -34.87065786149661, 2.5),
         list(2.9132554618219126, -0.2234, -5.941033872131505, 30.33818863028232, -88.1789048947664,
           65.09189467479366, -4.0),
         list(-2.763706197274826, 0.1317, 3.9302962368947516, -12.411077166933676,
           37.50931341651104, -27.896526289197286, 1.5),
         list(1.0))
  step = (t, y, h, x) -> {
    # the last stage is the derivative at z
    k = _stages(f, t, y, h, _slopes(x, 7), 1, push(a, b), push(c, 1.0))
    z = y + h * _weighted(b, k)
    (z, k[6], _rms(_scaled(h * _weighted(e, k), y, z, o)), k)
  }
  (order = 5, adaptive = true, beta = 0.04, longest = 10.0, start = 2, stages = 6, begin = f,
    slope = (t, y, x) -> x, step = step,
    dense = (t, y, h, z, k) -> (y, map(w -> h * _weighted(w, k), p)), at = (c, θ) -> c[0] +
    θ * (c[1][3] + θ * (c[1][2] + θ * (c[1][1] + θ * c[1][0]))))
}

# Coefficients: Hairer, Norsett and Wanner 1993, II.5 (the method), II.10 (the
# error estimate of orders 5 and 3, section "DOP853"), II.6 (dense output).
_dop853(f, o) = {
  c = list(0.05260015195876773, 0.0789002279381516, 0.1183503419072274, 0.2816496580927726, 1 / 3,
    0.25, 4 / 13, 0.6512820512820513, 0.6, 6 / 7, 1.0)
  a = list(list(0.05260015195876773), list(0.0197250569845379, 0.0591751709536137),
    list(0.02958758547680685, 0.0, 0.08876275643042054),
    list(0.2413651341592667, 0.0, -0.8845494793282861, 0.924834003261792),
           list(0.037037037037037035, 0.0, 0.0, 0.17082860872947386, 0.12546768756682242),
           list(0.037109375, 0.0, 0.0, 0.17025221101954405, 0.06021653898045596, -0.017578125),
           list(0.03709200011850479, 0.0, 0.0, 0.17038392571223998, 0.10726203044637328,
             -0.015319437748624402, 0.008273789163814023),
           list(0.6241109587160757, 0.0, 0.0, -3.3608926294469414, -0.868219346841726,
             27.59209969944671, 20.154067550477894, -43.48988418106996),
           list(0.47766253643826434, 0.0, 0.0, -2.4881146199716677, -0.590290826836843,
             21.230051448181193, 15.279233632882423, -33.28821096898486, -0.020331201708508627),
           list(-0.9371424300859873, 0.0, 0.0, 5.186372428844064, 1.0914373489967295,
             -8.149787010746927, -18.52006565999696, 22.739487099350505, 2.4936055526796523,
             -3.0467644718982196),
           list(2.273310147516538, 0.0, 0.0, -10.53449546673725, -2.0008720582248625,
             -17.9589318631188, 27.94888452941996, -2.8589982771350235, -8.87285693353063,
             12.360567175794303, 0.6433927460157636))
  b = list(0.054293734116568765, 0.0, 0.0, 0.0, 0.0, 4.450312892752409, 1.8915178993145003,
    -5.801203960010585, 0.3111643669578199, -0.1521609496625161, 0.20136540080403034,
    0.04471061572777259)
  e3 = list(-0.18980075407240762, 0.0, 0.0, 0.0, 0.0, 4.450312892752409, 1.8915178993145003,
    -5.801203960010585, -0.4226823213237919, -0.1521609496625161, 0.20136540080403034,
    0.02265179219836082)
  e5 = list(0.01312004499419488, 0.0, 0.0, 0.0, 0.0, -1.2251564463762044, -0.4957589496572502,
    1.6643771824549864, -0.35032884874997366, 0.3341791187130175, 0.08192320648511571,
    -0.022355307863886294)
  inner_c = list(0.1, 0.2, 7 / 9)
  inner_a =
    list(list(0.056167502283047954, 0.0, 0.0, 0.0, 0.0, 0.0, 0.25350021021662483,
      -0.2462390374708025, -0.12419142326381637, 0.15329179827876568, 0.00820105229563469,
      0.007567897660545699, -0.008298),
         list(0.03183464816350214, 0.0, 0.0, 0.0, 0.0, 0.028300909672366776, 0.053541988307438566,
           -0.05492374857139099, 0.0, 0.0, -0.00010834732869724932, 0.0003825710908356584,
           -0.00034046500868740456, 0.1413124436746325),
         list(-0.42889630158379194, 0.0, 0.0, 0.0, 0.0, -4.697621415361164, 7.683421196062599,
           4.06898981839711, 0.3567271874552811, 0.0, 0.0, 0.0, -0.0013990241651590145,
           2.9475147891527724, -9.15095847217987))
  d =
    list(list(-8.428938276109013, 0.0, 0.0, 0.0, 0.0, 0.5667149535193777, -3.0689499459498917,
      2.38466765651207, 2.117034582445028, -0.871391583777973, 2.2404374302607883,
      0.6315787787694688, -0.08899033645133331, 18.148505520854727, -9.194632392478356,
      -4.436036387594894),
         list(10.427508642579134, 0.0, 0.0, 0.0, 0.0, 242.28349177525817, 165.20045171727028,
           -374.5467547226902, -22.113666853125306, 7.733432668472264, -30.674084731089398,
           -9.332130526430229, 15.697238121770845, -31.139403219565178, -9.35292435884448,
           35.81684148639408),
         list(19.985053242002433, 0.0, 0.0, 0.0, 0.0, -387.0373087493518, -189.17813819516758,
           527.8081592054236, -11.57390253995963, 6.8812326946963, -1.0006050966910838,
           0.7777137798053443, -2.778205752353508, -60.19669523126412, 84.32040550667716,
           11.99229113618279),
         list(-25.69393346270375, 0.0, 0.0, 0.0, 0.0, -154.18974869023643, -231.5293791760455,
           357.6391179106141, 93.40532418362432, -37.45832313645163, 104.0996495089623,
           29.8402934266605, -43.53345659001114, 96.32455395918828, -39.17726167561544,
           -149.72683625798564))
  step = (t, y, h, x) -> {
    k = _stages(f, t, y, h, _slopes(x, 16), 1, push(a, b), push(c, 1.0))
    z = y + h * _weighted(b, k)
    five = _scaled(_weighted(e5, k), y, z, o)
    three = _scaled(_weighted(e3, k), y, z, o)
    s5 = sum(five * five)
    both = s5 + 0.01 * sum(three * three)
    # 0/0 is an error of 0, and NaN remains NaN
    error = abs(h) * s5 / sqrt(len(y) * (if both == 0 { 1.0 } else { both }))
    (z, k[12], error, k)
  }
  # Hairer and Wanner II, IV.2: the last two stages have the same time and
  # similar values
  strain = (t, y, h, z, k) -> {
    u = y + h * _weighted(a[10], k)
    abs(h) * sqrt(sum((k[12] - k[11])^2) / max(sum((z - u)^2), 1e-300)) / 6.1
  }
  dense = (t, y, h, z, k) -> {
    k = _stages(f, t, y, h, k, 13, inner_a, inner_c)
    up = z - y
    bent = h * k[0] - up
    (y, up, bent, 2 * up - h * (k[0] + k[12]), ...map(w -> h * _weighted(w, k), d))
  }
  (order = 8, adaptive = true, beta = 0.03, longest = 10.0, start = 2, stages = 12, begin = f,
    slope = (t, y, x) -> x, step = step, dense = dense, strain = strain, at = (c, θ) -> {
      η = 1 - θ
      c[0] + θ * (c[1] + η * (c[2] + θ * (c[3] + η * (c[4] + θ * (c[5] + η * (c[6] + θ * c[7]))))))
  })
}

_rk4(f) = {
  step = (t, y, h, k1) -> {
    k2 = f(t + 0.5 * h, y + 0.5 * h * k1)
    k3 = f(t + 0.5 * h, y + 0.5 * h * k2)
    k4 = f(t + h, y + h * k3)
    z = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    last = f(t + h, z)
    (z, last, none, (k1, last))
  }
  (order = 4, adaptive = false, start = 1, stages = 4, begin = f, slope = (t, y, x) -> x,
    step = step, dense = (t, y, h, z, q) -> _two_point((y, h * q[0]), (z, h * q[1])),
    at = _two_point_at)
}

_euler(f) = (order = 1, adaptive = false, start = 1, stages = 1, begin = f, slope = (t, y, x) -> x,
  step = (t, y, h, k) -> {
    z = y + h * k
    (z, f(t + h, z), none, ())
  },
  dense = (t, y, h, z, q) -> _two_point((y,), (z,)), at = _two_point_at)

# The polynomial with given values and derivatives (the j-th times h^j / j!) at
# θ = 0 and θ = 1, by divided differences in Newton's form.
_two_point(left, right) = {
  m = len(left)
  level = list(...map(i -> if i < m { left[0] } else { right[0] }, each(2 * m)))
  out = list(level[0])
  for k in each(1, 2 * m) {
    level =
      list(...map(i -> if i +
        k < m { left[k] } else { if i >= m { right[k] } else { level[i + 1] - level[i] } },
        each(2 * m - k)))
    out = push(out, level[0])
  }
  out
}
_two_point_at(c, θ) = {
  m = len(c) // 2
  p = c[2 * m - 1]
  for k in each(1, 2 * m) {
    i = 2 * m - 1 - k
    p = c[i] + (if i < m { θ } else { θ - 1 }) * p
  }
  p
}

# ---- symplectic compositions
#
# Momenta are updated with a[i] and positions with b[i], alternately, momenta
# last. The last force is the first of the next step.

_composition(f, order) = {
  (a, b) = _symplectic_weights(order)
  step = (t, y, h, force) -> {
    n = len(y) // 2
    q = y[..n]
    p = y[n..]
    tq = t
    tp = t
    F = force
    for i in each(len(b)) {
      p = p + a[i] * h * F
      tp = tp + a[i] * h
      q = q + b[i] * h * f(tp, concat(q, p))[..n]
      tq = tq + b[i] * h
      F = f(tq, concat(q, p))[n..]
    }
    z = concat(q, p + a[len(b)] * h * F)
    (z, F, none, ())
  }
  orders = max(3, order - 1) // 2
  (order = order, adaptive = false, start = 1, stages = len(b),
    begin = (t, y) -> f(t, y)[len(y) // 2..], slope = (t, y, x) -> f(t, y), step = step,
    dense = (t, y, h, z, q) -> _two_point((y, ..._scaled_slopes(f, t, y, h, orders)),
      (z, ..._scaled_slopes(f, t + h, z, h, orders))),
    at = _two_point_at)
}
# h y', h^2 y'' / 2, ... of the solution through (t, y).
_scaled_slopes(f, t, y, h, orders) = {
  out = list(h * f(t, y))
  if orders > 1 {
    second = (t, y) -> jvp(s -> f(s[0], s[1]), (t, y), (1.0, f(t, y)))[1]
    out = push(out, h^2 / 2 * second(t, y))
    if orders > 2 {
      out = push(out, h^3 / 6 * jvp(s -> second(s[0], s[1]), (t, y), (1.0, f(t, y)))[1])
    }
  }
  out
}
_symplectic_weights(order) = {
  order = _known(order, "order")   # the lists have different extents
  if order == 2 { (list(0.5, 0.5), list(1.0)) } else { if order == 4 {
    a = list(0.0792036964311957, 0.353172906049774, -0.0420650803577195)
    b = list(0.209515106613362, -0.143851773179818)
    _mirrored(a, b)
  } else { if order == 6 {
    a = list(0.0502627644003922, 0.413514300428344, 0.0450798897943977, -0.188054853819569,
      0.541960678450780)
    b = list(0.148816447901042, -0.132385865767784, 0.067307604692185, 0.432666402578175)
    _mirrored(a, b)
  } else { if order == 8 {
    g = list(0.13020248308889008, 0.56116298177510838, -0.38947496264484729, 0.15884190655515560,
      -0.39590389413323758, 0.18453964097831571, 0.25837438768632205, 0.29501172360931030)
    half = 0.0
    for v in g { half = half + v }
    g = list(...g, 1 - 2 * half, ...map(i -> g[7 - i], each(8)))
    (list(0.5 * g[0], ...map(i -> 0.5 * (g[i] + g[i + 1]), each(16)), 0.5 * g[16]), g)
  } else { error("symplectic() has the orders 2, 4, 6 and 8, not {order}") } } } }
}
# All weights of a symmetric composition from the first ones. The middle a makes
# their sum 1, and so does the middle pair of b.
_mirrored(a, b) = {
  middle = 1.0
  for v in a { middle = middle - 2 * v }
  pair = 0.5
  for v in b { pair = pair - v }
  b = list(...b, pair)
  (list(...a, middle, ...map(i -> a[len(a) - 1 - i], each(len(a)))),
    list(...b, ...map(i -> b[len(b) - 1 - i], each(len(b)))))
}
