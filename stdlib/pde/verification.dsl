# verification.dsl - verification of methods: problems with known solutions,
# observed orders of convergence, conserved quantities, and the sample points in
# boxes for them and compare_solutions.dsl.
#
# A solution is a record of functions; the functions here do not depend on the
# method that made it.

# manufacture(problem; u = (t, x, ...) -> ..., ...): the problem whose solution
# is given, one function for each field. Its equations get a source term, its
# boundary and initial conditions the values of the functions, all by
# differentiating the functions. solve takes it like the problem. Its field
# exact has the functions, and problem the original problem.
#   The function of a vector field returns a vector. Events are unchanged.
#   [Source: P. J. Roache, J. Fluids Eng. 124 (2002) 4-10]
#     problem burgers(ν = 0.1) {
#       domain t in [0, 0.5], x in [0, 1]
#       field u
#       u_t + u*u_x == ν*u_xx
#       u == 0 at t = 0
#       u == 0 at x = 0, x = 1
#     }
#     p = manufacture(burgers(); u = (t, x) -> exp(-t)*sin(3x) + x);
#     s = solve(p, fd(n = 41), rtol = 1e-8, atol = 1e-10);
#     s.u(0.5, 0.3)                  #~ exp(-0.5)*sin(0.9) + 0.3 tol 1e-4
manufacture(problem; ...exact) = {
  info = _problem_info(problem)
  functions = map(f -> {
    if not has(exact, f) {
      _refuse(
        "manufacture() wants a function for each field, and {f} has none, as in manufacture(p; {f} "
        "= (t, x) -> exp(-t)*sin(x))")
    }
    field(exact, f)
  }, (...info.fields,))
  jets = X -> map(j -> _exact_jet(info, functions, j, X), (...info.jets,))
  source = residual -> ((...X) -> residual(X, jets(X)) + 0.0)
  less = q -> ((X, J, normal = none) -> if kind(normal) ==
    "none" { q.residual(X, J) - _at_all(source(q.residual), X) } else {
      q.residual(X, J, normal) - q.residual(X, jets(X), normal)
  })
  equations = map(q -> (...q, residual = less(q),
    by_fluxes = if len(q.fluxes) == 0 {
      none
    } else {
      (X, J, S) -> q.by_fluxes(X, J, S) - _at_all(source(q.residual), X)
    },
    terms = (...q.terms, (coord = -1, factor = -1.0, f = (X, J) -> _at_all(source(q.residual), X),
      part = -1, jets = (), text = "source"))), (...info.equations,))
  conditions = map(c -> (...c, residual = less(c)), (...info.conditions,))
  (statement = (...info, equations = equations, conditions = conditions,
    name = "{info.name} with a known solution"),
    exact = record(info.fields, functions), problem = problem)
}
_is_made(p) = if kind(p) == "record" { has(p, "statement") } else { false }

# Returns the derivative of f with respect to its i-th argument: of numbers, or
# of arrays element by element.
_put_by(f, i) = (...X) -> jvp(y -> f(..._put(X, i, y)), f64(X[i]), ones_like(f64(X[i])))[1]
_put(X, i, y) = map(k -> if k == i { y } else { X[k] }, (...(0..len(X)),))
_derived_by(f, orders) = {
  g = f
  for (i, n) in enumerate(orders) { for _ in each(n) { g = _put_by(g, i) } }
  g
}
_exact_jet(info, functions, j, X) = {
  orders = map(i -> j[1 + i], (...(0..len(info.coords)),))
  v = _derived_by(functions[j[0]], orders)(...map(x -> f64(x), X))
  if info.sizes[j[0]] > 0 { if kind(v) == "array" { v } else { stack(...v) } } else { v }
}
# Evaluates f, a function of numbers, at numbers or at arrays of points.
_at_all(f, X) = {
  most = 0
  for x in X { most = max(most, rank(x)) }
  if most == 0 { f(...X) } else {
    together = 0.0 * X[0]
    for x in X { together = together + 0.0 * x }
    reshape(map(f, ...map(x -> ravel(x + together), X)), ...shape(together))
  }
}

# convergence(problem, family, ns; exact, rtol, atol): the observed order of
# convergence of a method. family(n) is the method with n points or cells. The
# error is relative, of all fields, in the root mean square over points off the
# grid. It is taken at the end of the time interval, or everywhere without t.
# exact is a record of functions; for a problem by manufacture the default is
# its own. Without it, differences between one n and the next are measured.
#   Prints a table; returns (n, errors, orders, order), where order is the last
#   one. fd(n) has n - 1 intervals, so use n -> fd(n = n + 1) to halve the step
#   when n doubles.
#     problem heat() {
#       domain t in [0, 0.5], x in [0, 1]
#       field u
#       u_t == 0.1*u_xx
#       u == 0 at t = 0
#       u == 0 at x = 0, x = 1
#     }
#     p = manufacture(heat(); u = (t, x) -> exp(-t)*sin(5x));
#     convergence(p, n -> fd(n = n + 1, order = 2), (20, 40)).order    #~ 2 tol 0.1
convergence(problem, family, ns; exact = none, rtol = 1e-9, atol = 1e-11) = {
  info = _problem_info(problem)
  truth = if kind(exact) == "none" {
    if _is_made(problem) { problem.exact } else { none }
  } else {
    exact
  }
  names = (...info.fields,)
  sample = s -> concat(...map(f -> ravel(_off_grid(info, field(s, f))), names))
  values = map(n -> sample(solve(problem, family(n); rtol = rtol, atol = atol)), (...ns,))
  count = len(ns)
  size = if kind(truth) == "none" { norm(values[count - 1]) } else { norm(sample(truth)) }
  errors = if kind(truth) == "none" {
    map(k -> norm(values[k] - values[k + 1]) / size, (...(0..(count - 1)),))
  } else {
    right = sample(truth)
    map(v -> norm(v - right) / size, values)
  }
  orders = map(k -> log(errors[k] / errors[k + 1]) / log(f64(ns[k + 1]) / f64(ns[k])),
    (...(0..(len(errors) - 1)),))
  print("{info.name}: relative error and order")
  for (k, e) in enumerate(errors) {
    if k == 0 {
      print("  {ns[k]:6d}  {e:.3e}")
    } else {
      print("  {ns[k]:6d}  {e:.3e}  {orders[k - 1]:.2f}")
    }
  }
  (n = stack(...ns), errors = stack(...errors),
    orders = if len(orders) > 0 {
      stack(...orders)
    } else {
      zeros(0)
    }, order = if len(orders) > 0 { orders[len(orders) - 1] } else { none })
}
# Returns quasi-random points in a box, n in each of d coordinates: multiples of
# powers of the root of x^(d+1) = x + 1 (the R_d sequence of M. Roberts). They
# keep a hundredth of the extent away from the ends.
_points_in_box(info, ks, n) = {
  d = len(ks)
  φ = 1.5
  for _ in each(60) { φ = (1 + φ)^(1.0 / (d + 1)) }
  map(p -> {
    z = 0.5 + iota(n) * φ^(-f64(p + 1))
    lo = info.lo[ks[p]]
    lo + (info.hi[ks[p]] - lo) * (0.01 + 0.98 * (z - floor(z)))
  }, (...(0..d),))
}
_space_indices(info) = (...info.space,)
_off_grid(info, f) = {
  ks = _space_indices(info)
  if len(ks) == 0 { f(info.hi[0]) } else {
    points = _points_in_box(info, ks, if len(ks) == 1 { 97 } else { 400 })
    f(..._with_time(info, ks, info.hi[max(info.time, 0)], points))
  }
}
_with_time(info, ks, t, points) =
  map(i -> if i == info.time {
    t
  } else {
    points[if info.time >= 0 and i > info.time { i - 1 } else { i }]
  },
    (...(0..len(info.coords)),))

# conserved(s, density; n): the integral over space of density(fields ...) at
# the times that a solution stores: (times, values, drift), where drift is its
# largest change relative to its largest value.
#   It uses the midpoint rule on n points along each coordinate. Flux through
#   the boundary counts as a change.
#     problem ring() {
#       domain t in [0, 1], x in [0, 2π] periodic
#       field u
#       u_t + u*u_x == 0.1*u_xx
#       u == 1 + sin(x) at t = 0
#     }
#     conserved(solve(ring(), fourier(64), rtol = 1e-9, atol = 1e-11), u -> u).drift < 1e-7     #> true
conserved(s, density; n = none) = {
  info = s.info
  time = _time_of(info)
  if time < 0 { _refuse("conserved() looks at solutions in t, and this one has none") }
  ks = (..._space_of(info),)
  d = len(ks)
  per = if kind(n) != "none" {
    n
  } else {
    if d == 1 { 2000 } else { if d == 2 { 120 } else { 30 } }
  }
  volume = 1.0
  for k in ks { volume = volume * (info.hi[k] - info.lo[k]) }
  total = if d == 0 { 1 } else { per^d }
  points = map(p -> {
    i = ks[p]
    info.lo[i] + (info.hi[i] - info.lo[i]) * (((iota(total) // per^(d - 1 - p)) % per) + 0.5) / per
  }, (...(0..d),))
  coords = t -> map(i -> if i == time { t } else { points[if i > time { i - 1 } else { i }] },
    (...(0..len(info.coords)),))
  values = map(t -> {
    fields = map(f -> field(s, f)(...coords(t)), (...info.fields,))
    if d == 0 { density(...fields) + 0.0 } else { volume * mean(map(density, ...fields)) }
  }, f64(s.times))
  (times = s.times, values = values,
    drift = max(abs(values - values[0])) / max(1e-300, max(abs(values))))
}
