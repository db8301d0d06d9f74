# pinn.dsl - physics-informed neural networks: a network trained to satisfy the
# equations of a problem, in any number of coordinates, for systems and vector
# fields.
#
# Method: the residual of each equation is evaluated on the Taylor jets of the
# network (u, u_t, u_x, u_xx ..., one propagation for each coordinate;
# pinn_network.dsl). Conditions are built into the ansatz where the problem
# allows it (pinn_ansatz.dsl). Otherwise they are residual rows of their own,
# with balanced weights. Training minimises the sum of squares of the rows
# (pinn_training.dsl).

# pinn(hidden, points; ...): a network with these hidden layers and tanh or sin
# as activation.
#   points: the number of collocation points; boundary: points on each condition
#   that is not built in.
#   steps: the trainer's iterations. trainer: "lm", "gauss_newton_cg",
#   "ssbroyden", "lbfgs", "soap" or "adam", or such an optimiser with its
#   settings, such as adam(rate = 1e-3). "auto" takes the first for up to 2500
#   weights, else the second. tol: the loss at which training stops.
#   hard: build conditions into the ansatz (true, false, or "auto": where values
#   on the faces agree at edges and corners). weight: of conditions that are not
#   built in, a number or "auto".
#   refine: the number of iterations after which half of the points are
#   resampled, preferably where the residual (RAD; Wu et al. 2023) or the terms
#   of the equations are large. seed: of the weights and points.
#   activation: tanh or sin; frequency: a factor of the first layer's weights;
#   fourier: the number of random Fourier features (Tancik et al. 2020), with
#   the standard deviation frequency; residual: layers add their output to their
#   input.
#   symmetry: build in symmetries of the problem about the midpoints of its
#   coordinates (with t, of periodic axes only). even, odd: the name of a
#   coordinate about whose midpoint the solution is known to be even or odd.
#   solve's guess is a record of numbers or functions of the coordinates, or a
#   solution, for example on a coarse grid. The network is first fitted to its
#   values and derivatives, with half as many steps, and then trained on the
#   equations.
#   corners: in t and one space coordinate, initial and boundary values may be
#   inconsistent, in value or by the equation in rate. The singular part that
#   follows is added to the network (in solve only, with slabs = 1).
#   A problem in units (m, s, Pa) is nondimensionalised; explain(solution)
#   reports the units of its coordinates and fields.
#   slabs: the number of time windows solved one after the other. causal: later
#   times have a small weight until the equations hold at earlier ones. data: in
#   fit(problem, data; by = pinn()), a factor of the measurements' balanced
#   weight.
#   error of the solution is the residual of the equations at other points than
#   those of training, relative to the size of their terms. For initial value
#   problems in t alone, it is at least the difference to an integrator's
#   solution.
#   Errors: residuals that are not finite, with the place and the step; hard =
#   true with conditions along more than four coordinates.
#     problem decay() {
#       domain t in [0, 1]
#       field u
#       u_t == -u
#       u == 1 at t = 0
#     }
#     s = solve(decay(), pinn((8,), 20; steps = 30))
#     s.u(1.0)                       #~ exp(-1) tol 1e-5
pinn(hidden = (20, 20, 20), points = 2500; boundary = 200, steps = 60, trainer = "auto",
  hard = "auto", weight = "auto", refine = 15, seed = 1, tol = 1e-20, activation = tanh,
  frequency = 1.0, fourier = 0, residual = false, even = "", odd = "", symmetry = true, slabs = 1,
  causal = false, data = 1.0, corners = true) =
  (name = "pinn", hidden = hidden, points = points, boundary = boundary, steps = steps,
    trainer = trainer, hard = hard, weight = weight, refine = refine, seed = seed, tol = tol,
    activation = activation, frequency = frequency, fourier = fourier, residual = residual,
    even = even, odd = odd, symmetry = symmetry, slabs = slabs, causal = causal, data = data,
    corners = corners, takes_guess = true, solve = _solve_pinn, fit = _fit_pinn)

_solve_pinn(stated, method, o) = {
  _box_only(stated, method)
  plain = _in_units(stated, _units_of(stated, _nothing_said(stated)))
  info = if method.corners and method.slabs == 1 {
    _with_layers(plain, _corner_layers(plain))
  } else {
    plain
  }
  m = _with_symmetries(info, method)
  seed(m.seed)
  (weights, B) = _pinn_weights(info, m)
  (v0, back) = flatten(weights)
  if m.slabs > 1 { _solve_windows(info, m, o, v0, back, B) } else {
    (never, h) = _building_in(info, m)
    u = _ansatz(info, m, B, never, h)
    blocks = _pinn_blocks(info, m, _pinn_rows(info, u), never, h)
    v1 = _fitted_to_guess(info, m, o, u, v0, back)
    (v, loss, k) = _train_pinn(info, m, o, blocks, v1, back)
    w = back(v)
    _pinn_solution(info, m, o, (w, xs) -> u(w, xs), w, w, loss, k)
  }
}

# ---- initial guess

# Returns weights with which the ansatz u fits solve's guess, by least squares
# of values and derivatives at points of the box, with the same trainer. Without
# a guess it returns v. An accuracy of a thousandth suffices, since the guess is
# usually a coarse solution.
_fitted_to_guess(info, m, o, u, v, back) = if kind(o.guess) == "none" { v } else {
  d = len(info.coords)
  places = _box_points(info, m.points, 0.5)
  (T, scale, known) = _guessed_rows(info, _guess_in_units(info, o.guess), places)
  rows = (w, x) -> {
    xs = _list_of(info, x)
    parts = list(u(w, xs))
    for k in each(d) { parts = push(parts, jvp(s -> u(w, _replaced(xs, k, s)), xs[k], 1.0)[1]) }
    x[-1] * (concat(...parts) * scale - x[d..-1])
  }
  X = concat(places, where(expand(known, 1) > 0, T, 0.0), expand(known, 1); axis = 1)
  own = (...m, refine = 0, causal = false, steps = max(10, m.steps // 2),
    tol = 0.5e-6 * mean(sum(X[.., d..-1]^2; axis = 1)))
  _train_pinn(info, own, o, list((rows = rows, X = X, weight = 1.0)), v, back)[0]
}
# Returns the guess at points X: values of all components, then derivatives
# along each coordinate, scaled so that these have a third of the weight. Also
# the scales, 0 for what the guess lacks, and where it is known, 1.0 or 0.0 (a
# mesh may end before a round region does).
_guessed_rows(info, guess, X) = {
  d = len(info.coords)
  n = len(X)
  columns = list(...map(j -> X[.., j], each(d)))
  (values, slopes, said, sloped) = (list(), map(k -> list(), each(d)), list(), list())
  for k in each(len(info.fields)) {
    size = info.sizes[k]
    given = if has(guess, info.fields[k]) { field(guess, info.fields[k]) } else { none }
    table = y -> if size == 0 { expand(f64(y) + zeros(n), 1) } else { f64(y) + zeros(n, size) }
    values =
      push(values, table(if kind(given) == "function" { given(...columns) } else if kind(given) ==
        "none" { 0.0 } else { given }))
    for j in each(d) {
      own = if kind(given) == "function" {
        table(jvp(s -> given(..._replaced(columns, j, s)), columns[j], ones(n))[1])
      } else { zeros(n, max(1, size)) }
      slopes[j] = push(slopes[j], own)
    }
    said = push(said, full(if kind(given) == "none" { 0.0 } else { 1.0 }, max(1, size)))
    sloped = push(sloped, full(if kind(given) == "function" { 1.0 } else { 0.0 }, max(1, size)))
  }
  T = concat(...values, ...map(s -> concat(...s; axis = 1), slopes); axis = 1)
  known = where(sum(abs(T); axis = 1) < inf, 1.0, 0.0)
  if sum(known) == 0 {
    error("guess: it is no finite number anywhere in the domain of {info.name}")
  }
  size = sqrt(sum(where(expand(known, 1) > 0, T, 0.0)^2; axis = 0) / sum(known))
  c = _component_count(info)
  # One scale for all components, and one for all derivatives; a guess may be 0.
  unit = max(size[..c])
  units = concat(concat(...said) / (if unit > 0 { unit } else { 1.0 }), ...map(j -> {
    own = max(size[(1 + j) * c..(2 + j) * c])
    concat(...sloped) * (if own > 0 { 1 / (3 * own) } else { 0.0 })
  }, each(d)))
  (T * expand(units, 0), units, known)
}

# ---- time windows
# Time windows are solved one after the other. The end of one is the initial
# state of the next, given at points as rows.

_time_window(info, j, n) = {
  t = _time_axis(info)
  step = (info.hi[t] - info.lo[t]) / n
  kept = list()
  for c in info.conditions { if c.at.coord != t { kept = push(kept, c) } }
  (...info, lo = map(k -> if k == t { info.lo[t] + j * step } else { info.lo[k] },
    (...(0..len(info.coords)))),
    hi = map(k -> if k == t { info.lo[t] + (j + 1) * step } else { info.hi[k] },
      (...(0..len(info.coords)))), conditions = kept)
}

_solve_windows(info, m, o, v0, back, B) = {
  t = _time_axis(info)
  if t < 0 { _refuse("pinn(slabs = ...) needs t among the coordinates") }
  starts = _slot_starts(info)
  initial = list()
  for c in info.conditions {
    if c.at.coord == t {
      if c.at.side != 0 or _fixes(info, c) < 0 {
        _refuse("pinn(slabs = ...) begins with values of fields or their rates")
      }
      initial = push(initial, c)
    }
  }
  if len(initial) == 0 { _refuse("pinn(slabs = ...) needs initial conditions") }
  n = m.slabs
  # The slots with initial values.
  given = v -> concat(...map(c -> v[starts[c.jets[0]]..starts[c.jets[0] + 1]], initial))
  place = _condition_points(info, initial[0], 2 * m.boundary, 0.5)
  target = map(x -> concat(...map(c -> _value_wanted(info, c, _list_of(info, x)), initial)), place)
  V = zeros(n, len(v0))
  h_of = zeros(n)
  (v, loss, steps) = (v0, 0.0, 0)
  for j in 0..n {
    own = _time_window(info, j, n)
    (never, h) = _building_in(own, m)
    u = _ansatz(own, m, B, never, h)
    begin = stack(...map(k -> if k == t { own.lo[t] + 0.0 * place[.., k] } else { place[.., k] },
      each(len(info.coords)));
      axis = 1)
    d = len(info.coords)
    first =
      (rows = (w, x) -> given(_network_slots(info, xs -> u(w, xs), _list_of(info, x))) - x[d..],
        X = concat(begin, target; axis = 1))
    blocks = push(_pinn_blocks(own, m, _pinn_rows(own, u), never, h), first)
    (v, loss, k) = _train_pinn(own, m, o, blocks, _fitted_to_guess(own, m, o, u, v, back), back)
    V[j] = v
    h_of[j] = h
    steps = steps + k
    w = back(v)
    end =
      stack(...map(k -> if k == t { own.hi[t] + 0.0 * place[.., k] } else { place[.., k] },
        each(len(info.coords)));
        axis = 1)
    target = map(x -> given(_network_slots(info, xs -> u(w, xs), _list_of(info, x))), end)
  }
  at = (w, xs) -> {
    j = clamp(i64(floor(n * stop_gradient((xs[t] - info.lo[t]) / (info.hi[t] - info.lo[t])))), 0,
      n - 1)
    own = _time_window(info, j, n)
    never = _building_in(own, m)[0]
    _ansatz(own, m, B, never, h_of[j])(back(w[j]), xs)
  }
  _pinn_solution(info, m, o, at, V, V, loss, steps)
}

# ---- solutions as functions, and their error

# o: the options of solve, or none for a solution fitted to measurements.
_pinn_solution(info, m, o, u, w, weights, loss, iterations) = {
  stated = _as_stated(info)
  told = _in_stated_units(info, u)
  functions = map(k -> _pinn_field(stated, told, w, k), each(len(info.fields)))
  left = _pinn_left_over(info, m, u, w)
  error_ = if kind(o) == "none" or not _begins_in_time(stated) { left } else {
    max(left, _pinn_off_steps(stated, o, functions))
  }
  if kind(o) != "none" { _judge_network(stated, o, error_) }
  (...record(info.fields, functions), weights = weights,
    stats = (steps = iterations, loss = loss, ..._units_said(info)), times = [], values = [],
    error = error_, method = m.name, kind = "pde",
    info = (fields = info.fields, coords = info.coords, lo = stated.lo, hi = stated.hi))
}
# Checks the error of a trained network. In time a residual accumulates, so a
# relative residual of a third is an error unless partial = true. Without time,
# values are more accurate than second derivatives, so it is a warning.
_judge_network(info, o, error_) = {
  left = if len(info.coords) == 1 and info.time >= 0 {
    ("the solution of {info.name} by pinn() is off by {100 * error_:.2g} %, by its equations or "
      "beside an integrator's")
  } else { "pinn() leaves {100 * error_:.2g} % of the equations of {info.name} after training" }
  help = "take more steps or points, slabs = ..., or a guess"
  if error_ > 0.3 and not o.partial {
    if info.time >= 0 { error("{left}: {help}; partial = true gives it all the same") }
  }
  if error_ > 0.3 and (info.time < 0 or o.partial) { _warning("{left}: {help}") }
}
# Whether this is an initial value problem in t alone.
_begins_in_time(info) = {
  fine = len(info.coords) == 1 and info.time == 0
  for c in info.conditions { if c.at.side != 0 { fine = false } }
  fine
}
# Returns the relative difference of the fields to those of an integrator: the
# root mean square over the interval, of the worst field; 0 where the integrator
# fails. In t alone errors persist, and a small residual may shift a front far.
_pinn_off_steps(info, o, functions) = {
  t = linspace(info.lo[0], info.hi[0], 1025)
  sample = fs -> map(f -> reshape(f(t) + 0.0, len(t), -1), fs)
  own = sample(functions)
  by_steps = try {
    m = auto()
    r =
      m.solve(info, m, (...o, t = none, saveat = t, progress = false, partial = false, guess = none,
        rtol = 1e-7, atol = 1e-9))
    sample(map(f -> field(r, f), list(...info.fields)))
  } catch e { map(y -> 0.0 * y + nan, own) }
  sizes = map(y -> norm(ravel(y)), by_steps)
  largest = 0.0
  for v in sizes { largest = max(largest, v) }
  worst = 0.0
  for (k, y) in enumerate(by_steps) {
    gap = norm(ravel(own[k] - y)) / max(sizes[k], 1e-6 * largest + 1e-300)
    worst = if gap < inf { max(worst, gap) } else { worst }
  }
  worst
}
# Returns the residual of the equations at points not used for training,
# relative to the sum of the absolute values of their terms.
_pinn_left_over(info, m, u, w) = {
  equations = list(...info.equations)
  X = _box_points(info, max(20, m.points // 4), 0.137)
  V = map(x -> _network_slots(info, xs -> u(w, xs), _list_of(info, x)), X)
  R = map((x, v) -> _rows_at(info, equations, x, v), X, V)
  parts = map((x, v) -> _part_sizes(info, equations, x, v), X, V)
  bad = not (sum(abs(R) + abs(parts); axis = 1) < inf)
  if any(bad) {
    error(
      "pinn(): what was trained is no finite number at {_pinn_place(info, X[argmax(i64(bad))])}")
  }
  norm(R) / max(1e-300, norm(parts))
}
_pinn_field(info, u, w, k) = {
  first = _first_component(info, k)
  size = info.sizes[k]
  _of_coordinates(info,
    X -> map(x -> {
      y = u(w, _list_of(info, x));
      if size == 0 { y[first] } else { y[first..first + size] }
    },
      X),
    size)
}
