# inverse.dsl - parameters of a problem from data: fit(problem, data; for =
# ...).
#
# Method: nonlinear least squares. The model is the solution, evaluated at the
# points of measurement. The Jacobian of the residuals with respect to the
# parameters is the derivative of solve. For the grid methods these are the
# sensitivities of the semi-discrete equations.
# A method may have its own way, in a field `fit`: a network trains its weights
# and the parameters together.

# Implements fit(problem, data; ...); o holds the options.
_fit_problem(problem, data, o) = {
  if kind(data) != "record" {
    error(
      "fit: the data of a problem are a record of columns: the coordinates and what was measured")
  }
  bound = if kind(o.start) == "none" { problem } else { problem(...o.start) }
  known = _parameters(bound)
  names = if kind(o.unknowns) == "none" { keys(known) } else { list(...o.unknowns) }
  if len(names) == 0 {
    error("fit: the problem has no parameters; write problem name(k) \{ ... \}")
  }
  wrong = _missing(names, known)
  if len(wrong) > 0 {
    error("fit: the problem has no parameter {wrong[0]}; it has {join(keys(known), ", ")}")
  }
  info = _problem_info(bound)
  seen = _measured(info.fields, data)
  if len(seen) == 0 {
    error("fit: the data have no column of an unknown, {join(list(...info.fields), " or ")}")
  }
  places = _measured(info.coords, data)
  unplaced = _missing(info.coords, data)
  if len(unplaced) > 0 {
    error("fit: the data have no column {unplaced[0]}, which is a coordinate of the problem")
  }
  method = o.by
  # Features and networks would extrapolate to measurements outside the domain.
  at = map(i -> {
    x = field(data, places[i]) + 0.0
    told = not info.periodic[i] and (i == info.time or kind(info.region) == "none")
    if told { _known_at(info.coords[i], info.lo[i], info.hi[i], x) } else { x }
  }, each(len(places)))
  again = p -> bound(...(...known, ...p))
  if kind(method) != "none" and has(method, "fit") {
    f = method.fit(bound, data, names, o)
    _refuse_misfit(info, again(f.p), f, method.name, seen, at, data)
    f
  } else {
    answer = p -> solve(again(p), method; rtol = o.rtol, atol = o.atol, progress = false,
      estimate = false)
    values_of = (s, x) -> concat(...map(name -> ravel(field(s, name)(...x) + 0.0), seen))
    y = concat(...map(name -> ravel(field(data, name) + 0.0), seen))
    # A trial at which the problem has no solution, for example because it grows
    # out of bounds, counts as one that does not fit.
    model = (p, x) -> try { values_of(answer(p), x) } catch m { nan + 0.0 * y }
    given = record(names, map(name -> _as_real(field(known, name)), names))
    p0 = _first_solved(given, p -> all(abs(_primal(() -> model(p, at))) < inf),
      p -> _primal(() -> values_of(answer(p), at)))
    f = fit(model, at, y, p0, o.method; sigma = _sigmas(o.sigma, seen, data), lower = o.lower,
      upper = o.upper, loss = o.loss, level = o.level, steps = o.steps, tol = o.tol,
      progress = o.progress)
    (...f.p, ...f, std = f.stderr, solution = answer(f.p))
  }
}
# Fails when a fit by features or a network is not consistent with the
# equations. Such methods can match the measurements without satisfying the
# equations. The default method solves the problem with the fitted parameters;
# its solution must match the measurements about as well. Where that solution
# fails, there is no check.
_refuse_misfit(info, problem, f, name, seen, at, data) = {
  (off, own, usual) = _primal(() -> {
    columns = g -> concat(...map(k -> ravel(g(k) + 0.0), seen))
    y = columns(k -> field(data, k))
    other = try {
      s = solve(problem; progress = false);
      columns(k -> field(s, k)(...at))
    } catch m {
      nan + 0.0 * y
    }
    (norm(other - y), norm(columns(k -> field(f.solution, k)(...at)) - y), norm(y))
  })
  if off > 5 * own + 0.02 * usual {
    error(
      "fit(by = {name}()): with the parameters that were found a solution of {info.name} by "
      "{_choose(info).name}() misses the measurements by {100 * off / usual:.2g} %, that of "
      "{name}() by {100 * own / usual:.2g} %: it does not satisfy the equations well enough to say "
      "what they are. Without `by`, or by = {_choose(info).name}(), solutions themselves are "
      "fitted")
  }
}
# Returns initial parameters with which the problem has a solution: the given
# ones, else the nearest of those multiplied by a power of 2, all together or
# one by one. Where none is found, the error of solve for the given ones is
# reported.
_first_solved(given, solved, tell) = {
  (v, back) = flatten(given)
  n = len(v)
  (w, found, k) = (v, solved(given), 1)
  while not found and k < 7 {
    j = 0
    while not found and j < 2 * (n + 1) {
      factor = if j % 2 == 0 { 0.5^k } else { 2.0^k }
      w = where((iota(n) == j // 2 - 1) or (j < 2), factor, 1.0) * v
      found = solved(back(w))
      j = j + 1
    }
    k = k + 1
  }
  if not found {
    tell(given)
    error("fit: the solution with the parameters to begin with has no values at the data")
  }
  back(w)
}
_missing(names, data) = {
  lost = list()
  for name in names { if not has(data, name) { lost = push(lost, name) } }
  lost
}
_as_real(p) = if kind(p) == "array" { p + 0.0 } else { p }
_measured(names, data) = {
  found = list()
  for name in names { if has(data, name) { found = push(found, name) } }
  found
}
# Returns the standard deviations of all columns, concatenated. sigma is one
# number for all, or a record with a number or a column for each.
_sigmas(sigma, seen, data) = if kind(sigma) == "record" {
  concat(...map(name -> ravel(field(sigma, name) + 0.0 * field(data, name)), seen))
} else { sigma }

# ---- by a network
# Method: the network's weights and the parameters are unknowns of one
# least-squares problem. Its rows are the equations, the conditions that are not
# built into the ansatz, and the measurements (Raissi, Perdikaris and
# Karniadakis 2019). The derivative of the measured values with respect to a
# parameter lets the weights respond, so that the equations hold to first order.
# From these derivatives come the standard errors, as for any other method.
# Where the measurements have noise, they also drive Gauss-Newton steps of the
# parameters, towards the least squares among solutions of the equations.

# The method's hook. Unknowns are (net = weights, p = parameters in units of
# their initial values). Only declared symmetries are built in, because a
# symmetry at the initial parameters need not hold at others.
_fit_pinn(bound, data, names, o) = {
  method = o.by
  if kind(o.lower) != "none" or kind(o.upper) != "none" {
    _refuse(
      "fit(...; by = pinn()) knows no bounds: write exp(k) in the problem for a parameter that is "
      "positive")
  }
  if o.loss != "squares" and kind(o.sigma) == "none" {
    _refuse(
      "fit(...; by = pinn(), loss = \"{o.loss}\") needs sigma, from where on a residual is large")
  }
  if method.slabs > 1 { _refuse("fit(...; by = pinn()) trains in one slab of time") }
  known = _parameters(bound)
  p0 = record(names, map(name -> _as_real(field(known, name)), names))
  units = record(names, map(name -> _usual_size(field(p0, name)), names))
  real_ = q -> record(names, map(name -> field(units, name) * field(q, name), names))
  begun = _problem_info(bound)
  _box_only(begun, method)
  seen = _measured(begun.fields, data)
  # The units of the problem with the initial parameters, and of the
  # measurements.
  scales = _units_of(begun,
    map(f -> if contains(seen, f) {
      y = field(data, f) + 0.0;
      list(min(y), max(y))
    } else {
      list()
    }, list(...begun.fields)))
  stated = q -> _in_units(_problem_info(bound(...(...known, ...real_(q)))), scales)
  info = _in_units(begun, scales)
  m = _with_symmetries(info, (...method, symmetry = false))
  seed(m.seed)
  (start, B) = _pinn_weights(info, m)
  (never, h) = _building_in(info, m)
  # The network's values are in units of the measured ones.
  (inside, sigmas) = _data_in_units(info, seen, data, o.sigma)
  sizes = _output_sizes(info, seen, inside)
  u = (w, xs) -> _ansatz(stated(w.p), m, B, never, h)(_last_scaled(w.net, sizes), xs)
  rows_of = (pick, read) -> (w, x) -> {
    now = stated(w.p)
    read(now, pick(now), x, _network_slots(now, xs -> u(w, xs), _list_of(info, x)))
  }
  blocks = _pinn_blocks(info, m, rows_of, never, h)
  measured = _measured_block(info, seen, inside, (...o, sigma = sigmas), u)
  (v0, back) =
    flatten(
      (net = start, p = record(names, map(name -> field(p0, name) / field(units, name), names))))
  at = map(name -> field(data, name) + 0.0, info.coords)
  numbers = map(f -> _place_of(info.fields, f), seen)
  told = _in_stated_units(info, u)
  values_at = (w, z) -> concat(...map(k -> ravel(_pinn_field(begun, told, w, k)(...z)), numbers))
  y = concat(...map(f -> ravel(field(data, f) + 0.0), seen))
  sigma = _sigmas(o.sigma, seen, data)
  weight = if kind(sigma) == "none" { 1.0 } else { 1 / (sigma + 0 * y) }
  np = len(flatten(p0)[0])
  left = v -> _damp_outliers(o.loss, weight * (values_at(back(v), at) - y))
  along_of = (f, v, along) -> stack(...map(k -> jvp(f, v, along[.., k])[1], each(np)); axis = 1)
  quarter = (...m, steps = max(1, (m.steps + 3) // 4))
  (_, back_net) = flatten(start)
  (v, k, share, loss, first, noisy) = (v0, 0, inf, 0.0, inf, false)
  for turn in 0..4 {
    share = if turn == 3 {
      share
    } else {
      min(share, _measured_share(info, blocks, measured, back(v)))
    }
    if turn == 0 { first = share }
    # Noise is the part of the misfit that remains while the equations become
    # satisfied.
    noisy = turn == 3 and share < 0.3 * first
    n = 0
    if noisy {
      # A step towards the least squares among solutions of the equations. The
      # network follows; the measurements only guide it.
      J = along_of(left, v, _responses(m, blocks, v, back, np))
      A = J' @ J
      q = v[-np..] - linsolve(A + diag(zeros(np) + 1e-10 * trace(A)), J' @ left(v))
      now = back(concat(v[..-np], q)).p
      s = 0.1 * m.data * share
      held = map(b -> {
        own = (...b, rows = (net, x) -> b.rows((net = net, p = now), x))
        if has(b, "parts") {
          (...own, parts = (net, x) -> b.parts((net = net, p = now), x))
        } else {
          own
        }
      }, blocks)
      block = (...measured, rows = (net, x) -> s * measured.rows((net = net, p = now), x),
        weight = 1.0)
      (net, loss, n) = _train_pinn(info, quarter, o, push(held, block), v[..-np], back_net)
      v = concat(net, q)
    } else {
      s = m.data * share
      block = (...measured, rows = (w, x) -> s * measured.rows(w, x), weight = 1.0)
      (v, loss, n) = _train_pinn(info, quarter, o, push(blocks, block), v, back)
    }
    k = k + n
  }
  along = _responses(m, blocks, v, back, np)
  w = back(v)
  (p, form) = flatten(real_(w.p))
  unit = flatten(record(names, map(name -> field(units, name) + 0.0 * field(p0, name), names)))[0]
  rest = values_at(w, at) - y
  jacobian_at = z -> along_of(v -> values_at(back(v), z), v, along) / unit
  f = _fitted(p, form, p0, p < -inf, weight * rest, expand(weight + 0 * y, 1) * jacobian_at(at),
    (y = y, weight = weight, sigma = sigma, level = o.level), z -> values_at(w, z), jacobian_at,
    -rest, (iterations = k, evaluations = k, converged = loss < inf,
      message = "trained for {k} steps; loss {loss:.1e}"))
  now = _in_units(_problem_info(bound(...(...known, ...f.p))), scales)
  (...f.p, ...f, std = f.stderr, solution = _pinn_solution(now, m, none, u, w, w.net, loss, k))
}
# Returns the derivatives of the unknowns with respect to each parameter under
# which the equations hold to first order, as columns of weights and parameters.
_responses(m, blocks, v, back, n) = {
  (X, a) = (map(b -> b.X, blocks), len(v) - n)
  soft = _block_weights(m, blocks, v, back, X)
  trainer = if _by_matrix(m.trainer, len(v)) { lm() } else { _pinn_trainer(m.trainer) }
  if trainer.name != "gauss_newton_cg" {
    G = _gram(blocks, soft, v, back, X)[0]
    L = _damped_factor(G[..a, ..a], 1e-13 * trace(G[..a, ..a]) / a)
    concat(-trisolve(L, trisolve(L, G[..a, a..]); adjoint = true), eye(n); axis = 0)
  } else {
    # Too many weights to form the matrix: products with it.
    r = v -> _all_rows(blocks, soft, back(v), X)
    pull = vjp(r, v)[1]
    A = _row_sketch(blocks, soft, v, back, X, _sketch_rows(trainer, a, 1000))[.., ..a]
    l = 1e-13 * sum(A^2) / a
    smooth = _smoother(A, A @ A', l)
    product = p -> pull(jvp(r, v, concat(p, zeros(n)))[1])[..a] + l * p
    # Orthogonal combinations of the parameters' effects on the equations, so
    # that dependent parameters stay dependent up to rounding.
    (U, s, V) =
      svd(stack(...map(i -> jvp(r, v, concat(zeros(a), f64(iota(n) == i)))[1], each(n)); axis = 1))
    Z =
      stack(...map(i -> _preconditioned(product, smooth, -pull(U[.., i])[..a], 1e-6,
        6 * trainer.turns)[0], each(n));
        axis = 1)
    concat((Z * where(s > 1e-12 * s[0], s, 0.0)) @ V', eye(n); axis = 0)
  }
}
_usual_size(p) =
  { s = if kind(p) == "array" { sqrt(mean(p^2)) } else { abs(p) }; if s > 0 { s } else { 1.0 } }
_last_scaled(w, sizes) =
  map((l, k) -> if k + 1 == len(w) { (W = expand(sizes, 1) * l.W, b = sizes * l.b) } else { l }, w,
    each(len(w)))
_output_sizes(info, seen, data) = concat(...map(k -> {
  f = info.fields[k]
  s = if contains(seen, f) { _usual_size(field(data, f) + 0.0) } else { 1.0 }
  zeros(max(1, info.sizes[k])) + s
}, each(len(info.fields))))

# Returns the block of measurement rows, in units of their standard deviations
# or of the measured sizes. A point has coordinates, values and units.
_measured_block(info, seen, data, o, u) = {
  n = len(field(data, info.coords[0]))
  d = len(info.coords)
  flat = y -> reshape(y + 0.0, n, -1)
  Y = concat(...map(f -> flat(field(data, f)), seen); axis = 1)
  S =
    concat(
      ...map(f -> flat(0.0 * field(data, f) +
        (if kind(o.sigma) == "none" { _usual_size(field(data, f) + 0.0) } else {
          if kind(o.sigma) == "record" { field(o.sigma, f) } else { o.sigma }
      })), seen); axis = 1)
  c = shape(Y)[1]
  X = concat(stack(...map(k -> field(data, k) + 0.0, info.coords); axis = 1), Y, S; axis = 1)
  at = (w, x) -> {
    y = u(w, _list_of(info, x))
    concat(...map(f -> {
      k = _place_of(info.fields, f);
      a = _first_component(info, k);
      y[a..a + max(1, info.sizes[k])]
    }, seen))
  }
  (rows = (w, x) -> _damp_outliers(o.loss, (at(w, x) - x[d..d + c]) / x[d + c..]), X = X, at = at,
    Y = Y, S = S)
}
_place_of(names, f) = { k = 0; for (i, n) in enumerate(names) { if n == f { k = i } }; k }
# Returns the root mean square residual of the equations relative to that of the
# measurements. Residuals of rates are multiplied by the length of the time
# interval.
_measured_share(info, blocks, measured, w) = {
  e = map(x -> blocks[0].rows(w, x), blocks[0].X)
  r = map(x -> measured.rows(w, x), measured.X)
  time = if info.time < 0 { 1.0 } else { info.hi[info.time] - info.lo[info.time] }
  clamp(time * sqrt(mean(e^2) / max(mean(r^2), 1e-300)), 1e-3, 1e3)
}
