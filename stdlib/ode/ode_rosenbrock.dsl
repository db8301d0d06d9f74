# ode_rosenbrock.dsl - the Rosenbrock method Rodas5P for stiff systems of
# moderate size, and the parts shared with the Radau methods (ode_radau.dsl).
#
# The loop over the steps contains the right-hand side, its exact Jacobian and
# the linear systems, and compiles to one piece of code. It writes to arrays
# with space for a number of steps. When they are full they are enlarged, and
# the loop continues.

# ---- Rodas5P

# Steinebach, Construction of Rosenbrock-Wanner method Rodas5P and numerical
# benchmarks within the Julia Differential Equations package, BIT 63:27 (2023),
# table 1, in the form without products with the Jacobian (Hairer and Wanner II,
# IV.7, (7.25)).
_rodas5p_step(f, L, t, y, h, J, ft) = {
  g = 0.21193756319429014
  F = L.factors(J, 1 / (g * h))
  s = 1 / h
  k1 = L.solve(F, f(t, y) + (h * 0.21193756319429014) * ft)
  k2 =
    L.solve(F, f(t + 0.6358126895828704 * h, y + 3.0 * k1) + (s * -14.155112264123755) * k1 +
      (h * -0.42387512638858027) * ft)
  k3 =
    L.solve(F,
      f(t + 0.4095798393397535 * h, y + 2.849394379747939 * k1 + 0.45842242204463923 * k2) +
      s * (-17.97296035885952 * k1 -
        2.859693295451294 * k2) + (h * -0.3384627126235924) * ft)
  k4 =
    L.solve(F,
      f(t + 0.9769306725060716 * h, y - 6.954028509809101 * k1 + 2.489845061869568 * k2 -
        10.358996098473584 * k3) +
      s * (147.12150275711716 * k1 - 1.41221402718213 * k2 + 71.68940251302358 * k3) +
      (h * 1.8046452872882734) * ft)
  k5 =
    L.solve(F,
      f(t + 0.4288403609558664 * h,
        y + 2.8029986275628964 * k1 + 0.5072464736228206 * k2 - 0.3988312541770524 * k3 -
        0.04721187230404641 * k4) +
      s * (165.43517024871676 * k1 - 0.4592823456491126 * k2 + 42.90938336958603 * k3 -
        5.961986721573306 * k4) +
      (h * 2.325825639765069) * ft)
  u =
    y - 7.502846399306121 * k1 + 2.561846144803919 * k2 - 11.627539656261098 * k3 -
    0.18268767659942256 * k4 +
    0.030198172008377946 * k5
  k6 =
    L.solve(F,
      f(t + h, u) + s * (24.854864614690072 * k1 - 3.0009227002832186 * k2 + 47.4931110020768 * k3 +
        5.5814197821558125 * k4 -
        0.6610691825249471 * k5))
  u = u + k6
  k7 =
    L.solve(F,
      f(t + h, u) + s * (30.91273214028599 * k1 - 3.1208243349937974 * k2 + 77.79954646070892 * k3 +
        34.28646028294783 * k4 -
        19.097331116725623 * k5 - 28.087943162872662 * k6))
  u = u + k7
  k8 =
    L.solve(F,
      f(t + h, u) + s * (37.80277123390563 * k1 - 3.2571969029072276 * k2 +
        112.26918849496327 * k3 + 66.9347231244047 * k4 -
        40.06618937091002 * k5 - 54.66780262877968 * k6 - 9.48861652309627 * k7))
  # the step is y + x (y1 - y + (1 - x) (a + x (b + x c)))
  a =
    25.948786856663858 * k1 - 2.5579724845846235 * k2 + 10.433815404888879 * k3 -
    2.3679251022685204 * k4 +
    0.524948541321073 * k5 + 1.1241088310450404 * k6 + 0.4272876194431874 * k7 -
    0.17202221070155493 * k8
  b =
    -9.91568850695171 * k1 - 0.9689944594115154 * k2 + 3.0438037242978453 * k3 -
    24.495224566215796 * k4 +
    20.176138334709044 * k5 + 15.98066361424651 * k6 - 6.789040303419874 * k7 -
    6.710236069923372 * k8
  c =
    11.419903575922262 * k1 + 2.8879645146136994 * k2 + 72.92137995996029 * k3 +
    80.12511834622643 * k4 -
    52.072871366152654 * k5 - 59.78993625266729 * k6 - 0.15582684282751913 * k7 +
    4.883087185713722 * k8
  (u + k8, k8, a, b, c, F)
}

# rodas5p(; max_steps, first_step, max_step): a Rosenbrock method of order 5 for
# stiff problems of up to some hundred unknowns: 8 stages, L-stable, stiffly
# accurate, dense output of order 4.
#   It compiles with the right-hand side and its exact Jacobian to one loop, so
#   small problems take microseconds. Each step takes a Jacobian, a derivative
#   with respect to t, a factorisation and 8 right-hand sides. The error is that
#   of an embedded method of order 4.
#   Derivatives of every order are those of the steps taken, whose sizes count
#   as fixed. It can be mapped with saveat. max_steps: by default 500000.
#   [Steinebach, BIT Numerical Mathematics 63:27 (2023), table 1]
#     ode((t, y) -> -1000 * (y - cos(t)), [0.0], (0.0, 1.0); method = rodas5p()).y(1.0)   #~ [cos(1) + 0.001 * sin(1)] tol 1e-5
rodas5p(; max_steps = 0, first_step = 0.0, max_step = inf) =
  (name = "rodas5p", degree = 4, max_steps = max_steps, first_step = first_step,
    max_step = max_step, integrate = _by_rodas5p, turn = _rodas5p_turn, implicit = none,
    solve = _solve_ode)

_by_rodas5p(m, f, given, y, t0, t1, o) =
  _stiff_end(m, f, _rodas5p_march(m, f, given, y, t0, t1, o), t1, o)
_rodas5p_march(m, f, given, y, t0, t1, o) = {
  L = _stiff_systems(given, o)
  y0 = _as_long_as(y, f(t0, y))
  (s, h) = _stiff_begin(m, f, y0, t0, t1, o, 4)
  s = (...s, h = h, before_h = h, before_root = 1.0, rejected = false, J = 0.0 * L.jacobian(t0, y0),
    ft = 0.0 * y0)
  while s.state == 0 {
    s = _rodas5p_steps(f, L, t0, t1, o, s)
    s = _stiff_room(s, o)
  }
  s
}

# Steps until the end, or until the caller must act first.
_rodas5p_steps(f, L, t0, t1, o, s) = {
  sign = if t1 < s.t { -1.0 } else { 1.0 }
  whole = _asks_all(o.saveat)
  while s.state == 0 {
    last = sign * (s.t + 1.0001 * s.h - t1) >= 0
    h = if last { t1 - s.t } else { s.h }
    if not s.rejected {
      s.J = L.jacobian(s.t, s.y)
      s.ft = jvp(t -> f(t, s.y), s.t, 1.0)[1]
      s.jacobians = s.jacobians + 1
    }
    (y, e, a, b, c, F) = _rodas5p_step(f, L, s.t, s.y, h, s.J, s.ft)
    scale = o.atol + o.rtol * max(abs(s.y), abs(y))
    e = stop_gradient(e / scale)
    error = _rms(e)
    size = stop_gradient(h)
    s.steps = s.steps + 1
    s.rhs = s.rhs + 8
    s.factorisations = s.factorisations + 1
    if error <= 1 {
      # Stiff components follow f at the stages, but not necessarily between
      # them. The defect of the polynomial in the first gap, the largest,
      # detects this.
      (inner, slope) = jvp(x -> _rodas5p_between(x, s.y, y, a, b, c), 0.2, 1.0)
      inner = stop_gradient(L.solve(F, f(s.t + 0.2 * h, inner) - slope / h) / scale)
      s.rhs = s.rhs + 1
      if _rms(inner) > error { (error, e) = (_rms(inner), inner) }
    }
    if error <= 1 {
      t = if last { t1 } else { s.t + h }
      if whole {
        for j in list(0.14644660940672624, 0.5, 0.8535533905932737) {
          s.T[s.k] = s.t + j * h
          s.Y[s.k] = _rodas5p_between(j, s.y, y, a, b, c)
          s.k = s.k + 1
        }
        s.T[s.k] = t
        s.Y[s.k] = y
        s.k = s.k + 1
      } else {
        while s.k < len(o.saveat) and sign * (o.saveat[min(s.k, len(o.saveat) - 1)] - t) <= 0 {
          s.T[s.k] = o.saveat[s.k]
          s.Y[s.k] = _rodas5p_between((o.saveat[s.k] - s.t) / h, s.y, y, a, b, c)
          s.k = s.k + 1
        }
      }
      # Gustafsson's predictive control (Hairer and Wanner II, IV.8, (8.25))
      root = max(error, 1e-10)^0.2
      grow = 0.9 / root
      predicted = grow * (size / s.before_h) * (s.before_root / root)
      grow = clamp(if s.accepted > 0 { min(grow, predicted) } else { grow }, 0.2, 6.0)
      grow = if s.rejected { min(grow, 1.0) } else { grow }
      s.before_h = size
      s.before_root = max(root, 0.4)
      s.accepted = s.accepted + 1
      s.t = t
      s.y = y
      s.h = clamp(size * grow, -s.max_step, s.max_step)
      s.rejected = false
      s.state = if last or (not whole and s.k >= len(o.saveat)) {
        1
      } else {
        if whole and s.k + 4 > len(s.T) { 2 } else { 0 }
      }
      if has(o, "halt") {
        (signs, halted) = _halted(o.halt, s.signs, s.t, s.y)
        s.signs = signs
        if halted { s.state = 1 }
      }
      if has(o, "worth") {
        if s.state == 0 and s.accepted >= 12 and abs(stop_gradient(s.h)) * _row_sums(s.J) <
          o.worth {
          s.state = 5
        }
      }
    } else {
      # a NaN also takes this branch
      s.h = size * (if error < inf { clamp(0.9 * error^(-0.2), 0.1, 0.9) } else { 0.1 })
      s.failures = s.failures + 1
      s.rejected = true
      s.error = error
      s.worst = _worst(e)
    }
    if s.state == 0 { s.state = _stiff_state(s, stop_gradient(s.h)) }
    progress(s.steps; time = s.t, from = t0, to = t1, dt = s.h)
  }
  s
}
# The dense output of Rodas5P at the fraction x of a step.
_rodas5p_between(x, y, y1, a, b, c) = y + x * (y1 - y + (1 - x) * (a + x * (b + x * c)))

# ---- shared by the methods

# The state of an integration, with its rows; h is the first step. state: 0
# running, 1 at the end, 2 needs space for more rows, 3 steps are used up, 4 the
# step is too small, 5 the step size times the size of the Jacobian is less than
# o.worth.
_stiff_begin(m, f, y0, t0, t1, o, order) = {
  _check_given((adaptive = true,), m, f, y0, t0, t1, o)
  count = len(o.saveat)
  whole = _asks_all(o.saveat)
  if not whole { _check_saveat(o.saveat, t0, t1) }
  room = if whole { m.degree * 128 + 1 } else { count }
  T = zeros(room) + 0.0 * t0
  Y = zeros(room, len(y0)) + 0.0 * expand(y0, 0)
  k = 0
  if whole { T[0] = t0; Y[0] = y0; k = 1 }
  while k < count and o.saveat[min(k, max(count - 1, 0))] == t0 {
    T[k] = o.saveat[k];
    Y[k] = y0 + (o.saveat[k] - t0) * f(t0, y0);
    k = k + 1
  }
  done = t0 == t1 or (not whole and k >= count)
  span = stop_gradient(t1 - t0)
  h = if m.first_step > 0 {
    min(f64(m.first_step), abs(span))
  } else {
    _first_step(f, order, stop_gradient(t0), stop_gradient(y0), span, o)
  }
  h = where(span < 0, -1.0, 1.0) * min(h, m.max_step)
  ((t = t0, y = y0, k = k, T = T, Y = Y, state = if done { 1 } else { 0 }, steps = 0, accepted = 0,
    failures = 0, rhs = 2, jacobians = 0, factorisations = 0, newton = 0, newton_failures = 0,
    error = 0.0, worst = 0, max_step = f64(m.max_step), limit = if m.max_steps > 0 {
      m.max_steps
    } else {
      500000
    }, signs = if has(o, "halt") { o.halt.signs } else { i64(zeros(0)) }), h)
}

# The maximum row sum of absolute values, a measure of stiffness.
_row_sums(J) = max(sum(abs(stop_gradient(J)); axis = 1))
# The index of the largest error. NaN and infinite errors count as largest.
_worst(e) = argmax(where(abs(e) < inf, abs(e), inf))

# Doubles the space for rows, if their number is not known.
_stiff_room(s, o) = {
  if _asks_all(o.saveat) {
    if s.state == 2 {
      s.T = concat(s.T, 0.0 * s.T)
      s.Y = concat(s.Y, 0.0 * s.Y)
      s.state = 0
    }
  }
  s
}

# The step is below the resolution of t, or the steps are used up.
_stiff_state(s, h) = if abs(h) <= 4e-16 * abs(s.t) or abs(h) < 1e-300 {
  4
} else {
  if s.steps >= s.limit { 3 } else { 0 }
}

_stiff_end(m, f, s, t1, o) = {
  counts =
    _stats([s.accepted, s.rhs, s.jacobians, s.factorisations, s.failures, s.newton,
      s.newton_failures])
  counts = _as_asked(counts, s.state >= 3, say -> _stiff_why(m, f, s, t1, o, say), o)
  # as many rows as times, in every batch element of a map
  if _asks_all(o.saveat) or o.quiet == 1 {
    (s.T[..s.k], s.Y[..s.k], counts)
  } else {
    (s.T, s.Y, counts)
  }
}

_stiff_why(m, f, s, t1, o, say) = {
  v = f(s.t, s.y)
  i = _not_finite(v)
  # without a rejected step, or with an error that is not finite, name the
  # unknown that changes fastest
  k = if s.error > 0 and s.error < inf {
    s.worst
  } else {
    argmax(abs(v) / (o.atol + o.rtol * abs(s.y)))
  }
  # one string for each case: a map cannot have a string that differs between
  # batch elements
  stuck = why -> say(
    "no solution beyond t = {_clock(o, s.t)}: the step became too small to change t ({s.h}), and "
    "{why}; the trouble is y[{k}] = {s.y[k]}, whose slope is {v[k]}; {_last_values(o, s.y)}. The "
    "right-hand side may jump there, back and forth: make the place of the jump an event, or "
    "smooth it. Or the solution may jump, leave the domain of the equations or grow without bound "
    "there: stop before it, or say what happens there")
  if i >= 0 { _why_not_finite(s.t, s.y, v, i, o, say) } else { if s.state == 4 {
    if s.error == 0 { stuck("the solution changes faster and faster") } else {
      if s.error < inf {
        stuck("its error is still too large")
      } else {
        stuck("its equations still cannot be solved")
      }
    }
  } else { if abs(s.h) <= 1e-7 * abs(t1 - s.t) {
    say(
      "no solution beyond t = {_clock(o, s.t)}: {s.steps} steps of {m.name}() are used up on the "
      "way to t = {_clock(o, t1)}; the last was {s.h} long; y[{k}] = {s.y[k]} has the largest "
      "error; {_last_values(o, s.y)}. {_jumps_there}")
  } else {
    say(
      "no solution beyond t = {_clock(o, s.t)}: {s.steps} steps of {m.name}() are used up on the "
      "way to t = {_clock(o, t1)}; the last was {s.h} long; y[{k}] = {s.y[k]} has the largest "
      "error; {_last_values(o, s.y)}. Allow more with max_steps, or loosen rtol and atol")
  } } }
}

# The linear systems of a method's steps, with matrices a I - J, as a record:
#   jacobian    (t, y) -> J, as the array that the loop carries: a matrix, or
#               the elements of a pattern by columns
#   product     (J, x) -> J x
#   factors     (J, a) -> the factors of a I - J; solve: (factors, r) -> x
#   pair        (P, J, a, b) -> the factors of (a + i b) I - J; solve_pair:
#               (factors, p, q) -> the real and the imaginary part of the
#               solution for p + i q
# For a matrix everything is inside the compiled loop. For a pattern the host
# has banded and sparse factors (solvers/linear/shifted_system.c) and uses the
# faster ones.
_stiff_systems(given, o) = if kind(o.pattern) == "none" {
  (jacobian = given, product = (J, x) -> J @ x, factors = (J, a) -> _factors(a * eye(len(J)) - J),
    solve = _by_step_factors, pair = (P, J, a, b) -> if _is_small(J) {
      _small_pair(P.p, J, a, b)
    } else {
      e = eye(len(J))
      _factors(concat(concat(a * e - J, -b * e; axis = 1), concat(b * e, a * e - J; axis = 1)))
    }, solve_pair = (F, p, q) -> if has(F, "re") { _small_pair_solved(F, p, q) } else {
      n = len(p)
      x = _by_step_factors(F, concat(p, q))
      (x[..n], x[n..])
  })
} else {
  (column_start, rows) = o.pattern
  columns = repeat(iota(len(column_start) - 1), column_start[1..] - column_start[..-1])
  (plan, room, room_of_pair) = _host("shifted_plan", (), (column_start, rows), (o.way,))
  (jacobian = given, product = (J, x) -> _rows_summed(J * x[columns], rows, len(x)),
    factors = (J, a) -> (J = J, a = a, F = _shifted_factors(plan, room, J, a, 0.0, false)),
    solve = (F, r) -> _shifted_solve(plan, F.F, rows, columns, F.J, F.a, r),
    pair = (P, J, a, b) -> _shifted_factors(plan, room_of_pair, J, a, b, true),
    solve_pair = (F, p, q) -> {
      n = len(p)
      x = _host("shifted_solve", (), (plan, F, stop_gradient(concat(p, q))), (1, 0))[0]
      (x[..n], x[n..])
  })
}
_shifted_factors(plan, room, J, a, b, pair) =
  _host("shifted_factor", (), (plan, room, stop_gradient(J), stop_gradient(a), stop_gradient(b)),
    (if pair { 1 } else { 0 },))[0]
_shifted_solve(plan, F, rows, columns, J, a, r) =
  _host("shifted_solve", (), (plan, F, r), (0, 0))[0]
_shifted_adjoint(plan, F, rows, columns, J, a, r) =
  _host("shifted_solve", (), (plan, F, r), (0, 1))[0]
# (a I - J) dx = dr - da x + dJ x
derivative _shifted_solve(plan, F, rows, columns, J, a, r), dplan, dF, drows, dcolumns, dJ, da,
  dr = {
  change = if _absent(dr) { 0 * r } else { dr }
  if not _absent(da) { change = change - da * y }
  if not _absent(dJ) { change = change + _rows_summed(dJ * y[columns], rows, len(r)) }
  linear_map(b -> _shifted_solve(plan, F, rows, columns, J, a, b),
    b -> _shifted_adjoint(plan, F, rows, columns, J, a, b), change)
}
derivative _shifted_adjoint(plan, F, rows, columns, J, a, r), dplan, dF, drows, dcolumns, dJ, da,
  dr = {
  change = if _absent(dr) { 0 * r } else { dr }
  if not _absent(da) { change = change - da * y }
  if not _absent(dJ) { change = change + _rows_summed(dJ * y[rows], columns, len(r)) }
  linear_map(b -> _shifted_adjoint(plan, F, rows, columns, J, a, b),
    b -> _shifted_solve(plan, F, rows, columns, J, a, b), change)
}

# y with the extent of the slopes: an equal extent gives the loop over the steps
# static extents.
_as_long_as(y, slope) = {
  assert(len(y) == len(slope),
    "the right-hand side gives {len(slope)} numbers for {len(y)} unknowns")
  y + zeros(len(slope))
}

# The factors of a matrix used by many systems. Reciprocals of the pivots are
# stored, because a solve would wait for each division.
_factors(A) = {
  (F, p) = _lu(stop_gradient(A))
  d = 1 / diag(F)
  (A = A, F = F, p = p, U = expand(d, 1) * F, d = d)
}
_by_step_factors(F, r) = {
  x = trisolve(F.U, F.d * trisolve(F.F, r[F.p]; lower = true, unit = true); lower = false,
    unit = true)
  _solved(F.A, F.F, F.p, r, x)
}

# Complex factors of (a + i b) I - J for few unknowns, all in registers. Real
# factors of twice the size would take twice the work, in memory. Rows are in
# the pivot order p of a real shift, a nearly equal matrix, so there is no pivot
# search. If that fails, iterations do not converge and the step becomes
# shorter.
_is_small(J) = if _is_fixed(len(J)) { len(J) <= 5 } else { false }
_small_pair(p, J, a, b) = {
  n = len(J)
  X = stop_gradient((a * eye(n) - J)[p])
  Y = stop_gradient((b * eye(n))[p])
  for k in each(n) {
    d = 1 / (X[k, k]^2 + Y[k, k]^2)
    (u, v) = (d * X[k, k], -d * Y[k, k])
    X[k, k] = u
    Y[k, k] = v
    for i in each(k + 1, n) {
      (x, y) = (X[i, k] * u - Y[i, k] * v, X[i, k] * v + Y[i, k] * u)
      X[i, k] = x
      Y[i, k] = y
      for j in each(k + 1, n) {
        X[i, j] = X[i, j] - (x * X[k, j] - y * Y[k, j])
        Y[i, j] = Y[i, j] - (x * Y[k, j] + y * X[k, j])
      }
    }
  }
  (re = X, im = Y, p = p)
}
_small_pair_solved(F, p, q) = {
  n = len(p)
  (X, Y) = (F.re, F.im)
  x = stop_gradient(p[F.p])
  y = stop_gradient(q[F.p])
  for i in each(1, n) {
    for j in each(i) {
      (u, v) = (x[j], y[j])
      x[i] = x[i] - (X[i, j] * u - Y[i, j] * v)
      y[i] = y[i] - (X[i, j] * v + Y[i, j] * u)
    }
  }
  for k in each(n) {
    i = n - 1 - k
    for j in each(i + 1, n) {
      (u, v) = (x[j], y[j])
      x[i] = x[i] - (X[i, j] * u - Y[i, j] * v)
      y[i] = y[i] - (X[i, j] * v + Y[i, j] * u)
    }
    (u, v) = (x[i], y[i])
    x[i] = X[i, i] * u - Y[i, i] * v
    y[i] = X[i, i] * v + Y[i, i] * u
  }
  (x, y)
}
