# ode_stiff.dsl - integrators for small and middling stiff systems, written in the language: Rosenbrock and Radau methods.
#
# The loop over the steps is one program with the right-hand side, its exact Jacobian and the linear systems inside, and compiles into one piece of code. It
# writes into arrays with room for a number of steps; when they are full they are made larger, and the loop goes on where it was.

# ---- Rodas5P

# Steinebach, Construction of Rosenbrock-Wanner method Rodas5P and numerical benchmarks within the Julia Differential Equations package, BIT 63:27 (2023),
# table 1, in the form without products by the Jacobian (Hairer and Wanner II, IV.7, (7.25)).
_rodas5p_step(f, t, y, h, J, ft) = {
  g = 0.21193756319429014
  F = _factors(eye(len(y)) / (g * h) - J)
  s = 1 / h
  k1 = _by_factors(F, f(t, y) + (h * 0.21193756319429014) * ft)
  k2 =
    _by_factors(F, f(t + 0.6358126895828704 * h, y + 3.0 * k1) + (s * -14.155112264123755) * k1 +
      (h * -0.42387512638858027) * ft)
  k3 =
    _by_factors(F,
      f(t + 0.4095798393397535 * h, y + 2.849394379747939 * k1 + 0.45842242204463923 * k2) + s * (-17.97296035885952 * k1 -
        2.859693295451294 * k2) + (h * -0.3384627126235924) * ft)
  k4 =
    _by_factors(F,
      f(t + 0.9769306725060716 * h, y - 6.954028509809101 * k1 + 2.489845061869568 * k2 - 10.358996098473584 * k3) +
        s * (147.12150275711716 * k1 - 1.41221402718213 * k2 + 71.68940251302358 * k3) + (h * 1.8046452872882734) * ft)
  k5 =
    _by_factors(F,
      f(t + 0.4288403609558664 * h,
        y + 2.8029986275628964 * k1 + 0.5072464736228206 * k2 - 0.3988312541770524 * k3 - 0.04721187230404641 * k4) +
        s * (165.43517024871676 * k1 - 0.4592823456491126 * k2 + 42.90938336958603 * k3 - 5.961986721573306 * k4) +
        (h * 2.325825639765069) * ft)
  u =
    y - 7.502846399306121 * k1 + 2.561846144803919 * k2 - 11.627539656261098 * k3 - 0.18268767659942256 * k4 +
      0.030198172008377946 * k5
  k6 =
    _by_factors(F,
      f(t + h, u) + s * (24.854864614690072 * k1 - 3.0009227002832186 * k2 + 47.4931110020768 * k3 + 5.5814197821558125 * k4 -
        0.6610691825249471 * k5))
  u = u + k6
  k7 =
    _by_factors(F,
      f(t + h, u) + s * (30.91273214028599 * k1 - 3.1208243349937974 * k2 + 77.79954646070892 * k3 + 34.28646028294783 * k4 -
        19.097331116725623 * k5 - 28.087943162872662 * k6))
  u = u + k7
  k8 =
    _by_factors(F,
      f(t + h, u) + s * (37.80277123390563 * k1 - 3.2571969029072276 * k2 + 112.26918849496327 * k3 + 66.9347231244047 * k4 -
        40.06618937091002 * k5 - 54.66780262877968 * k6 - 9.48861652309627 * k7))
  # the step is y + x (y1 - y + (1 - x) (a + x (b + x c)))
  a =
    25.948786856663858 * k1 - 2.5579724845846235 * k2 + 10.433815404888879 * k3 - 2.3679251022685204 * k4 +
      0.524948541321073 * k5 + 1.1241088310450404 * k6 + 0.4272876194431874 * k7 - 0.17202221070155493 * k8
  b =
    -9.91568850695171 * k1 - 0.9689944594115154 * k2 + 3.0438037242978453 * k3 - 24.495224566215796 * k4 +
      20.176138334709044 * k5 + 15.98066361424651 * k6 - 6.789040303419874 * k7 - 6.710236069923372 * k8
  c =
    11.419903575922262 * k1 + 2.8879645146136994 * k2 + 72.92137995996029 * k3 + 80.12511834622643 * k4 -
      52.072871366152654 * k5 - 59.78993625266729 * k6 - 0.15582684282751913 * k7 + 4.883087185713722 * k8
  (u + k8, k8, a, b, c)
}

# rodas5p(): a Rosenbrock method of order 5 (8 stages, L-stable, stiffly accurate) with dense output of order 4, for stiff problems of some ten unknowns
rodas5p(; max_steps = 0) =
  (name = "rodas5p", degree = 4, max_steps = max_steps, integrate = _by_rodas5p, implicit = none, solve = _solve_ode)

_by_rodas5p(m, f, jac, y0, t0, t1, o) = {
  (s, h) = _march_begin(m, f, y0, t0, t1, o, 4)
  s = (...s, h = h, before_h = h, before_root = 1.0, rejected = false, J = 0.0 * jac(t0, y0), ft = 0.0 * y0)
  while s.state == 0 {
    s = _rodas5p_steps(f, jac, t1, o, s)
    s = _march_on(s)
  }
  _march_end(m, s, t1)
}

# Steps until the end, or until something else is to be done first.
_rodas5p_steps(f, jac, t1, o, s) = {
  sign = if t1 < s.t { -1.0 } else { 1.0 }
  whole = len(o.saveat) == 0
  while s.state == 0 {
    last = sign * (s.t + 1.0001 * s.h - t1) >= 0
    h = if last { t1 - s.t } else { s.h }
    if not s.rejected {
      s.J = jac(s.t, s.y)
      s.ft = jvp(t -> f(t, s.y), s.t, 1.0)[1]
      s.jacobians = s.jacobians + 1
    }
    (y, e, a, b, c) = _rodas5p_step(f, s.t, s.y, h, s.J, s.ft)
    error = stop_gradient(_error_norm(e, s.y, y, o))
    size = stop_gradient(h)
    s.steps = s.steps + 1
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
      s.h = if last and abs(grow) >= 1 { s.h } else { size * grow }
      s.rejected = false
      s.state = if last or (not whole and s.k >= len(o.saveat)) { 1 } else { if whole and s.k + 4 > len(s.T) { 2 } else { 0 } }
    } else {
      # a NaN comes here, too
      s.h = size * (if error < inf { clamp(0.9 * error^(-0.2), 0.1, 0.9) } else { 0.1 })
      s.failures = s.failures + 1
      s.rejected = true
      s.error = error
    }
    if s.state == 0 {
      s.state = if abs(s.h) <= 4e-16 * max(abs(s.t), abs(t1 - s.t)) { 4 } else { if s.steps >= s.limit { 3 } else { 0 } }
    }
  }
  s
}
# What Rodas5P gives between the ends of a step, at the fraction x.
_rodas5p_between(x, y, y1, a, b, c) = y + x * (y1 - y + (1 - x) * (a + x * (b + x * c)))

# ---- what the methods share

# How far a march has come, and the rows that it leaves.
_march_begin(m, f, y0, t0, t1, o, order) = {
  whole = len(o.saveat) == 0
  for k in 0..len(o.saveat) {
    before = if k > 0 { o.saveat[k - 1] } else { t0 }
    along = if t1 < t0 { -1.0 } else { 1.0 }
    if not (along * (o.saveat[k] - before) >= 0 and along * (o.saveat[k] - t1) <= 0) {
      error("the times at which the solution is wanted must lie between {t0} and {t1} and go from the one to the other; time {k} is {o.saveat[k]}")
    }
  }
  room = if whole { m.degree * 128 + 1 } else { len(o.saveat) }
  T = zeros(room) + 0.0 * t0
  Y = zeros(room, len(y0)) + 0.0 * expand(y0, 0)
  k = 0
  if whole { T[0] = t0; Y[0] = y0; k = 1 }
  while k < len(o.saveat) and o.saveat[min(k, max(len(o.saveat) - 1, 0))] == t0 { T[k] = t0; Y[k] = y0; k = k + 1 }
  done = t0 == t1 or (not whole and k >= len(o.saveat))
  s = (t = t0, y = y0, k = k, T = T, Y = Y, state = if done { 1 } else { 0 }, steps = 0, accepted = 0, failures = 0, jacobians = 0, factorisations = 0,
       newton = 0, newton_failures = 0, error = 0.0, limit = if m.max_steps > 0 { m.max_steps } else { 100000000 })
  (s, stop_gradient(if done { t1 - t0 } else { _first_step(f, y0, t0, t1, order, o) }))
}

# Room for twice as many rows.
_march_on(s) = {
  if s.state == 2 {
    s.T = concat(s.T, 0.0 * s.T)
    s.Y = concat(s.Y, 0.0 * s.Y)
    s.state = 0
  }
  s
}

_march_end(m, s, t1) = {
  if s.state >= 3 { error("{m.name}: no solution beyond t = {s.t}: state {s.state}, h = {s.h}") }
  (s.T[..s.k], s.Y[..s.k], _stats([s.accepted, 0, s.jacobians, s.factorisations, s.failures, s.newton, s.newton_failures]))
}

# A matrix that many systems have in common: its factors, with the reciprocals of the pivots taken out, since a solve waits for each division.
_factors(A) = {
  (F, p) = _lu(stop_gradient(A))
  d = 1 / diag(F)
  (A = A, F = F, p = p, U = expand(d, 1) * F, d = d)
}
_by_factors(F, r) = {
  x = trisolve(F.U, F.d * trisolve(F.F, r[F.p]; lower = true, unit = true); lower = false, unit = true)
  _solved(F.A, F.F, F.p, r, x)
}

# The root mean square of errors, each relative to what is allowed.
_error_norm(e, y, y1, o) = sqrt(mean((e / (o.atol + o.rtol * max(abs(y), abs(y1))))^2))

# Hairer, Norsett and Wanner I, II.4, p. 169
_first_step(f, y0, t0, t1, order, o) = {
  scale = o.atol + o.rtol * abs(y0)
  slope = f(t0, y0)
  d0 = sqrt(mean((y0 / scale)^2))
  d1 = sqrt(mean((slope / scale)^2))
  h0 = if d0 < 1e-5 or d1 < 1e-5 { 1e-6 } else { 0.01 * d0 / d1 }
  along = if t1 < t0 { -1.0 } else { 1.0 }
  h0 = along * min(h0, abs(t1 - t0))
  d2 = sqrt(mean(((f(t0 + h0, y0 + h0 * slope) - slope) / scale)^2)) / abs(h0)
  most = max(d1, d2)
  h1 = if most <= 1e-15 { max(1e-6, 1e-3 * abs(h0)) } else { (0.01 / most)^(1 / (order + 1)) }
  along * min(min(100 * abs(h0), h1), abs(t1 - t0))
}
