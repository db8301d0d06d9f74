# ode_radau.dsl - the Radau IIA methods of orders 5, 9 and 13 for stiff systems.
#
# ode_rosenbrock.dsl has the parts shared with the Rosenbrock method: rows,
# storage, linear systems, and messages for failures.

# radau(; order, max_steps, first_step, max_step): the Radau IIA methods of
# order 5, 9 or 13, for stiff problems at high accuracy: 3, 5 or 7 stages,
# L-stable, stiffly accurate, dense output of order 3, 5 or 7.
#   It is compiled like rodas5p(). Simplified Newton iterations keep Jacobian
#   and factors while they converge fast, so it suits problems where these are
#   expensive. Higher orders take fewer and more expensive steps: for few
#   unknowns order 9 pays from about 6 digits on, order 13 from about 11.
#   rtol and atol refer to the order of the step; the embedded formula of order
#   3, 5 or 7 gets an equivalent tolerance, and so do values between the ends of
#   steps: for rtol = 1e-9 about 1e-7, 4e-7 or 7e-7.
#   Derivatives of every order are those of the steps taken, whose sizes count
#   as fixed, with one linear system for the stages of each step. It can be
#   mapped with saveat. [Hairer and Wanner, Solving Ordinary Differential
#   Equations II, IV.8; Stiff differential equations solved by Radau methods, J.
#   Comput. Appl. Math. 111 (1999) 93-111]
#     ode((t, y) -> -1000 * (y - cos(t)), [0.0], (0.0, 1.0); method = radau(order = 9), rtol = 1e-9).y(1.0)   #~ [(1e6 * cos(1) + 1000 * sin(1)) / (1e6 + 1)] tol 5e-9
radau(; order = 5, max_steps = 0, first_step = 0.0, max_step = inf) = {
  stages = len(_radau(order).c)
  (name = "radau{order}", order = order, finds = true, degree = stages, max_steps = max_steps,
    first_step = first_step, max_step = max_step, integrate = _by_radau, turn = _radau_turn,
    implicit = none, solve = _solve_ode)
}
# radau5(; max_steps, first_step, max_step): radau(order = 5)
#     ode((t, y) -> -1000 * (y - cos(t)), [0.0], (0.0, 1.0); method = radau5()).y(1.0)   #~ [cos(1) + 0.001 * sin(1)] tol 1e-5
radau5(; max_steps = 0, first_step = 0.0, max_step = inf) =
  radau(order = 5, max_steps = max_steps, first_step = first_step, max_step = max_step)

# radau9(; max_steps, first_step, max_step): radau(order = 9)
#     ode((t, y) -> -1000 * (y - cos(t)), [0.0], (0.0, 1.0); method = radau9(), rtol = 1e-9).y(1.0)   #~ [(1e6 * cos(1) + 1000 * sin(1)) / (1e6 + 1)] tol 5e-9
radau9(; max_steps = 0, first_step = 0.0, max_step = inf) =
  radau(order = 9, max_steps = max_steps, first_step = first_step, max_step = max_step)
# radau13(; max_steps, first_step, max_step): radau(order = 13)
#     ode((t, y) -> -1000 * (y - cos(t)), [0.0], (0.0, 1.0); method = radau13(), rtol = 1e-11).y(1.0)   #~ [(1e6 * cos(1) + 1000 * sin(1)) / (1e6 + 1)] tol 1e-11
radau13(; max_steps = 0, first_step = 0.0, max_step = inf) =
  radau(order = 13, max_steps = max_steps, first_step = first_step, max_step = max_step)

# The stage values y + z solve z = h (A (x) I) f(y + z). The transformation T of
# A^-1 to one real and one, two or three complex eigenvalues splits simplified
# Newton iterations into one real system of n unknowns and complex ones.
# Matrices are kept while the iterations converge fast and the step size stays
# nearly the same.
#
# A new Jacobian is evaluated at the middle stage as predicted by the polynomial
# of the last step. Compared with the start of the step this needs fewer
# iterations and leaves a smaller iteration error. If the iterations do not
# converge, the start of the step is used, whose value is known.
_by_radau(m, f, given, y, t0, t1, o) =
  _stiff_end(m, f, _radau_march(m, f, given, y, t0, t1, o), t1, o)
_radau_march(m, f, given, y, t0, t1, o) = {
  L = _stiff_systems(given, o)
  R = _radau(m.order)
  y0 = _as_long_as(y, f(t0, y))
  (s, h) = _stiff_begin(m, f, y0, t0, t1, o, 3)
  J = stop_gradient(0.0 * L.jacobian(t0, y0))
  (P, C) = _radau_matrices(R, L, J, 1.0)
  last = abs(h) >= abs(t1 - t0)
  s = (...s, h = if last { t1 - t0 } else { h }, f = f(t0, y0),
    Z = zeros(len(R.c), 1) * expand(y0, 0), kept_h = h, before_h = h, before_root = 1.0,
    rejected = false, J = J, P = P, C = C, fresh = 0, current = false, faccon = 1.0, last = last)
  while s.state == 0 {
    s = _radau_steps(R, f, L, t0, t1, o, s)
    s = _stiff_room(s, o)
  }
  s
}

# The factors of gamma/h - J, and of each alpha/h + i beta/h - J.
_radau_matrices(R, L, J, h) = {
  r = 1 / h
  P = L.factors(J, R.gamma * r)
  C = list()
  for k in each(len(R.alpha)) { C = push(C, L.pair(P, J, R.alpha[k] * r, R.beta[k] * r)) }
  (P, C)
}

_radau_steps(R, f, L, t0, t1, o, s) = {
  sign = if t1 < s.t { -1.0 } else { 1.0 }
  whole = _asks_all(o.saveat)
  S = len(R.c)
  part = 1 / (S * len(s.y))
  middle = S // 2
  most = 7 + 5 * (S - 3) // 2   # iterations
  c = stack(...R.c)
  between = 0.5 * (R.c[middle - 1] + R.c[middle])
  # the tolerance of the embedded formula of order S for which the error of the
  # step is about the requested one
  asked = clamp(if o.rtol > 0 { o.rtol } else { max(o.atol) }, 1e-13, 1e-3)
  allowed = 0.1 * asked^((S + 1) / (2 * S))
  rtol = o.rtol * (allowed / asked)
  atol = o.atol * (allowed / asked)
  enough = max(10 * 2.3e-16 / allowed, min(0.03, allowed^((S - 1) / (S + 1))))
  while s.state == 0 {
    t = s.t
    y = s.y
    # only the stages need its derivative with respect to the end of the last
    # step
    h = stop_gradient(s.h)
    scale = 1 / (atol + rtol * abs(stop_gradient(y)))
    # from the polynomial of the last step
    Z = stop_gradient(if s.accepted > 0 { _radau_beyond(R, h / s.kept_h, s.Z) } else { 0.0 * s.Z })
    if s.fresh == 0 {
      ahead = if s.rejected { 0.0 } else { 1.0 }
      s.J = stop_gradient(L.jacobian(t + ahead * R.c[middle] * h, y + ahead * Z[middle]))
      s.current = s.rejected or s.accepted == 0
      s.jacobians = s.jacobians + 1
    }
    if s.fresh < 2 {
      (P, C) = _radau_matrices(R, L, s.J, h)
      s.P = P
      s.C = C
      s.factorisations = s.factorisations + 1
    }
    W = _mixed(R.TI, Z)
    r = 1 / h
    faccon = max(s.faccon, 2.3e-16)
    faccon = sqrt(faccon * sqrt(faccon))
    # The iterations end where faccon * size <= enough, faccon = near / (1 -
    # close).
    (near, close) = (faccon, 0.0)
    theta = 0.001
    # the reciprocal of the last size is computed early, so that no division is
    # on the critical path
    (before, before_q, shrink) = (0.0, 0.0, 0.5)
    rest_before = Z
    turn = 0
    going = true
    good = false
    while going {
      # neither the iterations nor the error for the next step have derivatives
      G = 0.0 * Z
      for i in 0..S { G[i] = stop_gradient(f(t + c[i] * h, y + Z[i])) }
      D = _mixed(R.TI, G)
      rests = list(D[0] - (R.gamma * r) * W[0])
      for k in each(middle) {
        (a, b) = (R.alpha[k] * r, R.beta[k] * r)
        (i, j) = (2 * k + 1, 2 * k + 2)
        rests = list(...rests, D[i] - (a * W[i] - b * W[j]), D[j] - (a * W[j] + b * W[i]))
      }
      parts = list(L.solve(s.P, rests[0]))
      for k in each(middle) {
        parts = list(...parts, ...L.solve_pair(s.C[k], rests[2 * k + 1], rests[2 * k + 2]))
      }
      D = stack(...parts)
      # of each equation at each stage, in units of the unknowns
      rest = h * _mixed(R.T, stack(...rests))
      size = sqrt(sum((D * expand(scale, 0))^2) * part)
      turn = turn + 1
      bad = false
      if turn > 1 {
        q = size * before
        theta = if turn == 2 { q } else { sqrt(q * before_q) }
        before_q = q
        bad = not (theta < 0.99)
        shrink = 0.5
        if not bad {
          (near, close) = (theta, theta)
          # The predicted size after the remaining iterations. Usually it is
          # clear that they suffice.
          bad = turn < most
          if turn + 2 < most and theta^3 * size < enough * (1 - theta) { bad = false }
          if bad {
            faccon = theta / (1 - theta)
            ahead = faccon * size * theta^(most - 1 - turn) / enough
            bad = ahead >= 1
            shrink = 0.8 * clamp(ahead, 1e-4, 20.0)^(-1 / (most + 3 - turn))
          }
        }
      }
      W = W + D
      # equilibrium components stay there exactly: corrections at rounding are
      # ignored
      next = _mixed(R.T, W)
      moves = abs(next - Z) > min(1e-15 / expand(scale, 0), 1e-15 * max(abs(stop_gradient(y))))
      Z = where(moves, next, Z)
      before = 1 / max(size, 2.3e-16)
      good = not bad and turn > 1 and near * size <= enough * (1 - close)
      # An equation that the matrix considers stiffer than it is has small
      # corrections, however large its residual.
      if good {
        held = abs(rest) > 0.5 * abs(rest_before) and abs(rest) * expand(scale, 0) > enough and
          moves
        good = not any(held)
        if not good {
          # a residual at the rounding error of f, some dozens of units in the
          # last place, counts as 0
          rounding = 50 * 2.3e-16 * abs(h) * L.product(abs(s.J), abs(stop_gradient(y + Z[S - 1])))
          good = not any(held and abs(rest) > expand(rounding, 0))
        }
      }
      rest_before = rest
      going = not bad and not good and turn < most
    }
    faccon = near / (1 - close)
    s.newton = s.newton + turn
    s.rhs = s.rhs + S * turn + 1
    s.steps = s.steps + 1
    error = 0.0
    e = 0.0 * s.f
    if good {
      d = R.e[0] * Z[0]
      for i in each(1, S) { d = d + R.e[i] * Z[i] }
      d = r * d
      e = L.solve(s.P, d + stop_gradient(s.f))
      error = max(sqrt(mean((e * scale)^2)), 1e-10)
      if error >= 1 and (s.accepted == 0 or s.rejected) {
        e = L.solve(s.P, d + stop_gradient(f(t, y + e)))
        s.rhs = s.rhs + 1
        error = max(sqrt(mean((e * scale)^2)), 1e-10)
      }
      if error < 1 {
        # Stiff components follow f at the stages, but not necessarily between
        # them. The defect of the polynomial in the largest gap detects this.
        (inner, slope) = jvp(x -> _radau_between(R, x, y, Z), between, 1.0)
        inner = L.solve(s.P, stop_gradient(f(t + between * h, inner)) - r * slope)
        s.rhs = s.rhs + 1
        size = sqrt(mean((inner * scale)^2))
        if size > error { (error, e) = (size, inner) }
      }
    }
    if good and error < 1 {
      size = h
      h = s.h
      s.Z = _radau_stages(R, f, t, y, h, Z)
      s.t = if s.last { t1 } else { t + h }
      s.y = y + s.Z[S - 1]
      if whole {
        for i in 0..S {
          s.T[s.k + i] = if i == S - 1 { s.t } else { t + c[i] * h }
          s.Y[s.k + i] = y + s.Z[i]
        }
        s.k = s.k + S
      } else {
        while s.k < len(o.saveat) and sign * (o.saveat[min(s.k, len(o.saveat) - 1)] - s.t) <= 0 {
          s.T[s.k] = o.saveat[s.k]
          s.Y[s.k] = _radau_between(R, (o.saveat[s.k] - t) / h, y, s.Z)
          s.k = s.k + 1
        }
      }
      h = size
      root = _radau_root(S, error)
      grow = (0.9 * (2 * most + 1)) / (turn + 2 * most) / root
      if s.accepted > 0 { grow = min(grow, 0.9 * (h / s.before_h) * s.before_root / (root * root)) }
      grow = clamp(grow, 0.2, 8.0)
      if s.rejected { grow = min(grow, 1.0) }
      grow = min(grow, s.max_step / abs(h))
      s.before_h = h
      s.before_root = max(root, 0.01^(1 / (S + 1)))
      s.kept_h = h
      s.faccon = faccon
      s.accepted = s.accepted + 1
      s.rejected = false
      s.f = f(s.t, s.y)
      ended = s.last or (not whole and s.k >= len(o.saveat))
      s.last = sign * (s.t + 1.0001 * h * grow - t1) >= 0
      keep = theta <= 0.001 and grow >= 1 and grow <= 1.2 and not s.last
      s.h = if s.last { t1 - s.t } else { if keep { h } else { h * grow } }
      s.fresh = if keep { 2 } else { if theta <= 0.001 { 1 } else { 0 } }
      s.current = false
      s.state = if ended { 1 } else { if whole and s.k + S > len(s.T) { 2 } else { 0 } }
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
      s.h = h * (if good {
        (if s.accepted == 0 {
          0.1
        } else {
          clamp(0.9 * (2 * most + 1) / (turn + 2 * most) / _radau_root(S, error), 0.2, 1.0)
        })
      } else {
        shrink
      })
      if good { s.failures = s.failures + 1 } else { s.newton_failures = s.newton_failures + 1 }
      s.rejected = true
      s.last = false
      s.fresh = if s.current or good { 1 } else { 0 }
      s.faccon = faccon
      s.error = error
      s.worst = _worst(e * scale)
    }
    if s.state == 0 { s.state = _stiff_state(s, stop_gradient(s.h)) }
    progress(s.steps; time = s.t, from = t0, to = t1, dt = s.h)
  }
  s
}

# The root by the order S + 1 of the embedded formula.
_radau_root(S, error) = {
  r = sqrt(error)
  if S == 3 { sqrt(r) } else { if S == 5 { cbrt(r) } else { sqrt(sqrt(r)) } }
}
# M @ Z for few stages, unrolled.
_mixed(M, Z) = {
  rows = list()
  for i in each(len(M)) {
    v = M[i, 0] * Z[0]
    for j in each(1, len(M)) { if M[i, j] != 0 { v = v + M[i, j] * Z[j] } }
    rows = push(rows, v)
  }
  stack(...rows)
}

# The stages of a step x times as long, by the polynomial of the last one.
_radau_beyond(R, x, Z) = {
  (S, V) = (len(R.c), _mixed(R.Q, Z))
  rows = list()
  for i in each(S) {
    at = R.c[i] * x
    v = V[S - 1]
    for k in each(1, S) { v = V[S - 1 - k] + at * v }
    rows = push(rows, at * v)
  }
  stack(...rows)
}
# The polynomial through the start of a step and its stages, at the fraction x
# of it.
_radau_between(R, x, y, Z) = {
  v = y
  for j in each(len(R.c)) {
    w = x / R.c[j]
    for k in each(len(R.c)) { if k != j { w = w * ((x - R.c[k]) / (R.c[j] - R.c[k])) } }
    v = v + w * Z[j]
  }
  v
}

# The stages as the solution of their equations, which defines their
# derivatives.
_radau_stages(R, f, t, y, h, Z) = {
  (S, n) = (len(R.c), len(y))
  z = implicit(z -> {
    slopes = list()
    for i in each(S) { slopes = push(slopes, f(t + R.c[i] * h, y + z[i * n..(i + 1) * n])) }
    z - h * ravel(_mixed(R.A, slopes))
  }, ravel(Z))
  reshape(z, S, n)
}

# ---- coefficients
#
# Computed with 60 digits. The nodes c are the roots of P_S - P_{S-1} on [0, 1]
# (Legendre polynomials). A integrates the polynomials through values at them.
# T^-1 A^-1 T has the blocks gamma and alpha, -beta; beta, alpha. Q maps stages
# to the coefficients of the powers x, x^2, ... of their polynomial x steps
# after the end. e belongs to the error estimate.
_radau(order) = {
  order = _known(order, "order")   # the lists have different extents
  if order != 5 and order != 9 and order != 13 {
    _refuse("radau() has the orders 5, 9 and 13, not {order}")
  }
  if order == 5 {
    (c = list(0.15505102572168219, 0.64494897427831781, 1.0),
      A = [0.19681547722366043, -0.065535425850198388, 0.023770974348220152;
        0.39442431473908728, 0.29207341166522846, -0.04154875212599793;
        0.37640306270046728, 0.51248582618842161, 0.11111111111111111],
      T = [0.094438762488975241, -0.14125529502095421, -0.030029194105147424;
        0.25021312296533331, 0.20412935229379993, 0.38294211275726194;
        1.0, 1.0, 0.0],
      TI = [4.1787185915519047, 0.32768282076106239, 0.52337644549944955;
        -4.1787185915519047, -0.32768282076106239, 0.47662355450055045;
        -0.50287263494578688, 2.5719269498556054, -0.59603920482822492],
      Q = [5.5319726474218083, -7.5319726474218083, 5.0;
        21.112754694671032, -16.446088028004365, 7.3333333333333333;
        15.580782047249224, -8.9141153805825572, 3.3333333333333333],
      gamma = 3.6378342527444957, alpha = list(2.6810828736277521), beta = list(3.0504301992474106),
      e = [-10.048809399827416, 1.3821427331607489, -0.33333333333333333])
  } else { if order == 9 {
    (c = list(0.057104196114517682, 0.27684301363812383, 0.58359043236891682, 0.86024013565621945,
      1.0),
      A = [0.072998864317903324, -0.026735331107945572, 0.018676929763984354, -0.01287910609330644,
        0.0050428392338820152;
        0.15377523147918247, 0.14621486784749351, -0.03644456890512809, 0.021233063119304719,
        -0.0079355799027287775;
        0.14006304568480987, 0.29896712949128348, 0.16758507013524896, -0.033969101686617747,
        0.010944288744192252;
        0.14489430810953476, 0.27650006876015923, 0.32579792291042103, 0.12875675325490976,
        -0.015708917378805328;
        0.14371356079122594, 0.28135601514946206, 0.31182652297574125, 0.22310390108357074, 0.04],
      T = [0.013576867344947943, -0.011478515255229515, -0.01401985889287541, -0.010242047817908827,
        0.047673877290295724;
        0.0016179004017190875, -0.0076688307491801629, 0.024708578426518527, 0.050172864517371058,
        -0.094331819181611437;
        0.079157853347447208, 0.019398463998828951, 0.081800353703751171, -0.23053953404341795,
        0.1027030453801259;
        0.41225608268046145, 0.40760117128019907, 0.19968242788680253, 0.37789390224886125,
        0.46674413033249436;
        1.0, 1.0, 0.0, 1.0, 0.0],
      TI = [27.697693775684088, 12.783337911304406, 3.2084893867134299, -0.95149041224891622,
        0.7415504960259896;
        -33.041880213519, -17.376953479063567, -0.17212906325400556, -0.099169777982542643,
        0.53122811583830667;
        -8.611443979875292, 9.6999914095288082, 1.9147286396968743, 2.41869200608494,
        -1.0474634879353374;
        5.3441864378349116, 4.593615567759161, -3.0363603234594243, 1.0506601902314589,
        -0.27277861186429627;
        3.7480598074398049, -3.9849657363438847, -1.0444156416080188, 1.1840985681379485,
        -0.44991777015678037],
      Q = [8.4124242235942887, -6.970256116656661, 8.7771142041504732, -18.219282311088101, 13.0;
        100.4396126255528, -80.974680857794791, 93.024404594262299, -106.48933636202031, 54.0;
        347.74841405973546, -264.41996793636538, 250.56775199103728, -221.89619811440736, 98.0;
        455.60862108125431, -317.43839626402225, 258.42329473705867, -197.79351955429073, 81.2;
        199.88739542347736, -127.022853068795, 92.10283313613322, -64.167375490815583, 25.2],
      gamma = 6.2867047517292766, alpha = list(5.7009532986717894, 3.6556943254635723),
      beta = list(3.2102656003085499, 6.5437368993600773),
      e = [-27.780933944064637, 3.6414784980492132, -1.2525477211691187, 0.59200316718454287, -0.2])
  } else {
    (c = list(0.029316427159784892, 0.14807859966848429, 0.3369846902811543, 0.55867151877155013,
      0.7692338620300545, 0.92694567131974111, 1.0),
      A = [0.037546264993921331, -0.014039334556460402, 0.010352789600742301,
        -0.0081583225402750119, 0.0063884138795346849, -0.0046023267791486555,
        0.0018289425614706437;
        0.080147596515618968, 0.081062063985891537, -0.021237992120711035, 0.014000291238817119,
        -0.010234185730090164, 0.0071534651513645905, -0.0028126393724067233;
        0.072063846941881902, 0.17106835498388662, 0.10961456404007211, -0.024619871728984054,
        0.014760377043950817, -0.0095752593967914006, 0.0036726783971383057;
        0.07570512581982442, 0.15409015514217114, 0.22710773667320239, 0.11747818703702478,
        -0.023810827153044174, 0.012709985533661206, -0.0046088442812896334;
        0.073912342163191847, 0.16135560761594243, 0.2068672415521042, 0.23700711534269423,
        0.10308679353381345, -0.018854139152580449, 0.0058589009748887918;
        0.07470556205979623, 0.1583072238724687, 0.21415342326720003, 0.21987784703186004,
        0.19875212168063527, 0.069265501605509133, -0.0081160081977282901;
        0.074494235556010318, 0.15910211573365074, 0.2123518895029778, 0.22355491450728323,
        0.19047493682211558, 0.1196137446126562, 0.020408163265306122],
      T = [0.0024435843048706115, -0.0012386461879528741, -0.0027606174805438525,
        -0.0040551614523310239, 0.0044272327532682855, 0.021567551351320773, 0.0087835679251441444;
        -0.0018153396483193172, -0.000066666353393963382, 0.0031854748251662098,
        0.0084155682765595892, -0.0040319495702245495, -0.038131648134411547, -0.021525560594006876;
        0.0046053393311618748, -0.0023521809829433383, 0.00041690777252975627,
        -0.0085604310616034321, -0.0069232126650239089, 0.057396508939381715, 0.058850529208426791;
        0.017870023342853069, 0.0031150711523461753, 0.025116604913438822, -0.037371242302384457,
        0.0082390072985077194, -0.03821469359696835, -0.16573681127294385;
        0.12818100807728391, 0.10171773248171515, 0.095045020356046228, 0.0053667613791817701,
        0.19321111610126201, -0.24917421246526369, 0.27356330579866232;
        0.52006514974882469, 0.52175194527476529, 0.12807194463554389, 0.52657422645844926,
        0.27553439498962581, 0.53158464908362843, 0.48632283661757289;
        1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0],
      TI = [227.51530596268069, 166.64802246760975, 43.265145884526215, 3.6230900613410161,
        3.572674832938798, -2.7435563656033673, 1.4514535402547504;
        -299.1862480282521, -243.04074536874479, -48.777104078037869, -2.0386719057419344,
        1.6735602398610849, -1.0873740320571062, 0.90193824929609937;
        -93.076502897435306, 23.881631056281144, 39.278880730813844, 14.38891568549108,
        -3.5104383993993612, 4.8632848855661807, -2.2464827295912399;
        74.6783322350227, 87.408588979900816, 4.0241587373799979, -3.7148063151583642,
        -3.4300939859823174, 2.6966048097653124, -0.93869274360754619;
        58.356528851906577, -10.068773957800181, -30.366388842566671, -1.020020865184866,
        -0.11241750037842496, 1.8906408310003776, -0.97164863938314823;
        -3.0073901694512921, -11.015866078765771, 1.4877994561316563, 2.1303881595592825,
        -1.8161410868175656, 1.1343255878951611, -0.41469904594330353;
        -8.4419631883210847, -0.650525274057515, 6.9406707303698765, -3.2050475255978984,
        1.0712809435464786, -0.35485074912162219, 0.091985491327865542],
      Q = [11.495455205116665, -8.5170724230566246, 8.3810313019648246, -10.033441651950401,
        15.094393942991167, -34.420366375065631, 25.0;
        275.54374105710077, -202.92932440017647, 196.88500159110799, -228.10140694200598,
        311.94993152292371, -389.34794282895003, 204.0;
        2061.20719360048, -1499.2808412130001, 1412.7764560232435, -1529.9703263913724,
        1727.4552107557478, -1692.1876927750987, 780.0;
        6842.9956224634858, -4883.4348381914411, 4406.3690708369226, -4359.346239195871,
        4287.8877040682188, -3684.471319981315, 1590.0;
        11228.10711448497, -7809.885302994199, 6679.8860398769354, -6075.3908809206779,
        5418.9906254619162, -4293.7075959089451, 1782.0;
        8917.6845988207282, -6010.0452928077918, 4859.9875322843133, -4113.4502540870107,
        3415.6025791122629, -2562.922020465359, 1037.1428571428571;
        2735.4141990507477, -1778.7262387691536, 1362.1980775102003, -1085.5032512608871,
        853.89998454275025, -616.42562821651461, 245.14285714285714],
      gamma = 8.9368327884052163,
      alpha = list(8.5118348251029457, 7.1410552191876401, 4.378693561506806),
      beta = list(3.2810136243250588, 6.623045922639276, 10.169693283795012),
      e = [-54.374436894128615, 7.0000240042591865,
        -2.3556610919875572, 1.1322890661061344, -0.64689132676735871, 0.38753338537535238,
        -0.14285714285714286])
  } }
}
