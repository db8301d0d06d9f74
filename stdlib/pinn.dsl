# pinn.dsl - neural solvers: a network trained until it satisfies the equations of a problem.
#
# The residual of each equation is fed with the Taylor jets of the network (u, u_t, u_x, u_xx ... in one propagation per coordinate). The
# default trainer is Levenberg-Marquardt on the residual vector with its exact Jacobian, with geodesic acceleration; boundary and initial
# values are built into the ansatz where the statement allows it (Lagaris, Likas and Fotiadis 1998), else they are rows of their own.

# pinn(hidden, points; ...): a tanh network with these hidden layers.
#   points: collocation points; boundary: points on each condition when they are soft; steps: trainer's iterations; trainer: "lm", "lbfgs" or
#   "adam"; hard: build conditions into the ansatz (true, false, or "auto"); weight: of soft conditions; refine: iterations between renewals
#   of half the points, drawn where the residual is large (RAD; Wu et al. 2023); seed: of the weights and points.
#     problem decay() {
#       domain t in [0, 1]
#       field u
#       u_t == -u
#       u == 1 at t = 0
#     }
#     pinn((8,), 20; steps = 50).hidden    #> (8,)
pinn(hidden = [20, 20, 20], points = 2500; boundary = 200, steps = 60, trainer = "lm", hard = "auto", weight = 10.0, refine = 15,
  seed = 1, tol = 1e-13) =
  (name = "pinn", hidden = hidden, points = points, boundary = boundary, steps = steps, trainer = trainer, hard = hard,
    weight = weight, refine = refine, seed = seed, tol = tol, solve = _solve_pinn)

# ---- jets of a network

_time_order(info) = {
  o = 0
  for j in info.jets { if j[2] == 0 { o = max(o, j[1]) } }
  o
}
_space_order(info) = {
  o = 0
  for j in info.jets { if j[1] == 0 { o = max(o, j[2]) } }
  o
}

# u(t, x) -> f64[nf]. The jets of the problem at a point, as a list: one expansion in t, one in x, and nested ones for mixed derivatives.
_network_jets(info, u, t, x) = {
  nt = max(1, _time_order(info))
  nx = max(1, _space_order(info))
  (v, ct) = _jet(s -> u(s, x), t, _directions(t, nt))
  (w, cx) = _jet(s -> u(t, s), x, _directions(x, nx))
  map(j -> if j[1] == 0 and j[2] == 0 { v[j[0]] }
      else { if j[2] == 0 { _factorial(j[1]) * ct[j[1] - 1][j[0]] }
        else { if j[1] == 0 { _factorial(j[2]) * cx[j[2] - 1][j[0]] }
          else { _mixed(u, t, x, j) } } }, list(...info.jets))
}
_mixed(u, t, x, j) = {
  inner = r -> _jet(s -> u(r, s), x, _directions(x, j[2]))[1][j[2] - 1]
  _factorial(j[1]) * _factorial(j[2]) * _jet(inner, t, _directions(t, j[1]))[1][j[1] - 1][j[0]]
}

# ---- conditions built in

# The condition of a field at an end, and whether it fixes the value itself.
_fixes_value(info, c) = len(c.jets) == 1 and info.jets[c.jets[0]][1] == 0 and info.jets[c.jets[0]][2] == 0

# What a condition u == g says: g at (t, x).
_value_wanted(info, c, t, x) = {
  zero = map(j -> 0.0, list(...info.jets))
  one = map(j -> 1.0, list(...info.jets))
  z = c.residual((t, x), zero)
  -z / (c.residual((t, x), one) - z)
}

_can_build_in(info) = {
  good = not info.periodic[1]
  for c in info.conditions { good = good and _fixes_value(info, c) }
  for k in list(...(0..len(info.fields))) {
    n0 = 0
    for c in info.conditions { if _is_time(c) and info.jets[c.jets[0]][0] == k { n0 = n0 + 1 } }
    good = good and n0 == 1 and len(_end_conditions(info, k, 0)) == 1 and len(_end_conditions(info, k, 1)) == 1
  }
  good
}

_initial_condition(info, k) = {
  out = list()
  for c in info.conditions { if _is_time(c) and info.jets[c.jets[0]][0] == k { out = push(out, c) } }
  out[0]
}

# The network wrapped so that the conditions hold exactly: values blended from the sides plus a factor that vanishes there times the network.
_built_in(info, raw, t, x) = {
  (t0, t1) = (info.lo[0], info.hi[0])
  (a, b) = (info.lo[1], info.hi[1])
  n = raw(t, x)
  factor = (t - t0) / (t1 - t0) * 4 * (x - a) * (b - x) / (b - a)^2
  parts = list()
  for k in list(...(0..len(info.fields))) {
    g = y -> _value_wanted(info, _initial_condition(info, k), t0, y)
    left = s -> _value_wanted(info, _end_conditions(info, k, 0)[0], s, a)
    right = s -> _value_wanted(info, _end_conditions(info, k, 1)[0], s, b)
    blend = g(x) + (b - x) / (b - a) * (left(t) - g(a)) + (x - a) / (b - a) * (right(t) - g(b))
    parts = push(parts, blend + factor * n[k])
  }
  stack(...parts)
}

# ---- the trainer

# Quasi-random points of the unit square: the R2 sequence (M. Roberts 2018), shifted.
_r2(n, shift) = {
  k = 1 + iota(n)
  stack(mod(shift + k * 0.7548776662466927, 1.0), mod(shift + k * 0.5698402909980532, 1.0); axis = 1)
}

_solve_pinn(info, m, o) = {
  if len(info.coords) != 2 { _refuse("pinn() solves problems in t and one space coordinate") }
  for (k, f) in enumerate(info.fields) { if info.sizes[k] != 0 { _refuse("pinn() takes scalar fields; {f} is a vector") } }
  seed(m.seed)
  (t0, t1) = (info.lo[0], info.hi[0])
  (a, b) = (info.lo[1], info.hi[1])
  nf = len(info.fields)
  periodic = info.periodic[1]
  hard = if kind(m.hard) == "string" { _can_build_in(info) } else { m.hard }
  net = mlp(list(if periodic { 3 } else { 2 }, ...m.hidden, nf))
  (v0, back) = flatten(net.weights)
  # inputs scaled to [-1, 1]; a periodic axis enters by its first harmonic
  raw = (w, t, x) -> {
    s = 2 * (t - t0) / (t1 - t0) - 1
    z = if periodic { θ = 2π * (x - a) / (b - a); [s, cos(θ), sin(θ)] } else { [s, 2 * (x - a) / (b - a) - 1] }
    apply(net, w, z)
  }
  u = (w, t, x) -> if hard { _built_in(info, (tt, xx) -> raw(w, tt, xx), t, x) } else { raw(w, t, x) }
  inside = (w, t, x) -> {
    jets = _network_jets(info, (tt, xx) -> u(w, tt, xx), t, x)
    stack(...map(q -> q.residual((t, x), jets), list(...info.equations)))
  }
  at_points = (f, w, T, X) -> ravel(map((t, x) -> f(w, t, x), T, X))
  jacobian_at = (f, w, T, X) -> {
    J = map((t, x) -> _rows_of(w, t, x, f, back), T, X)
    reshape(J, -1, len(v0))
  }
  N = m.points
  grid = _r2(N, 0.5)
  T = t0 + (t1 - t0) * grid[.., 0]
  X = a + (b - a) * grid[.., 1]
  scale = 1 / sqrt(f64(N))
  # soft conditions: (function of the weights and a coordinate pair, its points, its weight)
  soft = if hard { list() } else { _soft_rows(info, u, m) }
  residual = (v, T, X) -> {
    w = back(v)
    rows = list(scale * at_points(inside, w, T, X))
    for s in soft { rows = push(rows, s.weight * at_points(s.f, w, s.T, s.X)) }
    concat(...rows)
  }
  both = (v, T, X) -> {
    w = back(v)
    rows = list(scale * jacobian_at(inside, w, T, X))
    for s in soft { rows = push(rows, s.weight * jacobian_at(s.f, w, s.T, s.X)) }
    (residual(v, T, X), concat(...rows; axis = 0))
  }
  if m.trainer == "lm" {
    v = v0
    value = 0.5 * sum(residual(v, T, X)^2)
    lambda = 1.0
    gn = inf
    k = 0
    stuck = false
    while k < m.steps and not stuck and value > m.tol {
      if m.refine > 0 and k > 0 and k % m.refine == 0 {
        # half of the points anew: candidates kept with probability growing with the residual
        C = 4 * N
        cand = rand(C, 2)
        ct = t0 + (t1 - t0) * cand[.., 0]
        cx = a + (b - a) * cand[.., 1]
        w = back(v)
        size_ = sum(abs(reshape(at_points(inside, w, ct, cx), C, nf)); axis = 1)
        key = rand(C)^(1 / (size_ / mean(size_) + 1))
        chosen = argsort(key; descending = true)[..N // 2]
        T = concat(T[..N - N // 2], ct[chosen])
        X = concat(X[..N - N // 2], cx[chosen])
        value = 0.5 * sum(residual(v, T, X)^2)
      }
      (v, value, lambda, gn, stuck) = _lm_step(p -> residual(p, T, X), p -> both(p, T, X), v, value, lambda)
      k = k + 1
      if o.progress { progress(k, m.steps; loss = value) }
    }
    _pinn_solution(info, m, u, back(v), value, k)
  } else {
    loss = v -> sum(residual(v, T, X)^2)
    r = minimize(loss, v0, if m.trainer == "adam" { adam(rate = 5e-3) } else { lbfgs(memory = 20) }; steps = m.steps, tol = m.tol,
      progress = o.progress)
    _pinn_solution(info, m, u, back(r.x), 0.5 * r.value, r.iterations)
  }
}

# The rows that one point gives to the Jacobian: f64[nr, P].
_rows_of(w, t, x, f, back) = {
  (y, pull) = vjp(p -> f(p, t, x), w)
  map(d -> concat(...map(l -> ravel(l), leaves(pull(d)))), eye(len(y)))
}

_soft_rows(info, u, m) = {
  out = list()
  n = m.boundary
  s = (iota(n) + 0.5) / f64(n)
  for c in info.conditions {
    f = (w, t, x) -> {
      jets = _network_jets(info, (tt, xx) -> u(w, tt, xx), t, x)
      stack(c.residual((t, x), jets))
    }
    places = list()
    if _is_time(c) { places = push(places, (c.at.value + 0 * s, info.lo[1] + (info.hi[1] - info.lo[1]) * s)) } else {
      if c.at.side == 0 { places = push(places, (info.lo[0] + (info.hi[0] - info.lo[0]) * s, info.lo[1] + 0 * s)) }
      if c.at.side == 1 { places = push(places, (info.lo[0] + (info.hi[0] - info.lo[0]) * s, info.hi[1] + 0 * s)) }
    }
    for p in places { out = push(out, (f = f, T = p[0], X = p[1], weight = m.weight / sqrt(f64(n)))) }
  }
  out
}

_pinn_solution(info, m, u, w, loss, iterations) = {
  functions = map(k -> _pinn_field(info, u, w, k), list(...(0..len(info.fields))))
  (...record(info.fields, functions), weights = w, stats = (steps = iterations, loss = loss), method = m.name, kind = "pde",
   info = (fields = info.fields, coords = info.coords, lo = info.lo, hi = info.hi))
}

_pinn_field(info, u, w, k) = (t, x) -> {
  tr = f64(t)
  xr = f64(x)
  if rank(tr) == 0 and rank(xr) == 0 { u(w, tr, xr)[k] } else {
    both = tr + 0 * xr
    reshape(map((tt, xx) -> u(w, tt, xx)[k], ravel(both), ravel(xr + 0 * tr)), ...shape(both))
  }
}
