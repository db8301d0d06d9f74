# inverse_features.dsl - parameters of a problem from data by random features:
# fit(problem, data; by = rfm(...)).
#
# Method: the amplitudes of the features and the parameters are the unknowns of
# one nonlinear least-squares problem: equations, conditions and measurements.
# It is linear in the amplitudes where the equations are. Gauss-Newton steps
# begin with amplitudes that fit the measurements. Standard errors follow from
# the derivatives of the amplitudes with respect to the parameters under which
# equations and conditions hold.

_fit_rfm(bound, data, names, o) = {
  m = o.by
  if kind(o.lower) != "none" or kind(o.upper) != "none" {
    _refuse(
      "fit(...; by = rfm()) knows no bounds: write exp(k) in the problem for a parameter that is "
      "positive")
  }
  if o.loss != "squares" {
    _refuse("fit(...; by = rfm()) knows squares alone, not loss = \"{o.loss}\"")
  }
  known = _parameters(bound)
  p0 = record(names, map(name -> _as_real(field(known, name)), names))
  units = record(names, map(name -> _usual_size(field(p0, name)), names))
  (q, form) = flatten(record(names, map(name -> field(p0, name) / field(units, name), names)))
  real_ = q -> {
    r = form(q);
    record(names, map(name -> field(units, name) * field(r, name), names))
  }
  stated = q -> _problem_info(bound(...(...known, ...real_(q))))
  info = _problem_info(bound)
  _box_only(info, m)
  seen = _measured(info.fields, data)
  at = map(name -> field(data, name) + 0.0, info.coords)
  P = stack(...at; axis = 1)
  n = len(P)
  y = concat(...map(f -> ravel(field(data, f) + 0.0), seen))
  Y = concat(...map(f -> reshape(field(data, f) + 0.0, n, -1), seen); axis = 1)
  components = concat(...map(f -> {
    k = _place_of(info.fields, f)
    _first_component(info, k) + iota(max(1, info.sizes[k]))
  }, seen))
  sizes = sqrt(mean(Y^2; axis = 0)) + 1e-300
  M = if m.features > 0 { m.features } else { 200 }
  s = if kind(m.bandwidth) == "none" {
    _bandwidth_of_data(info, P, Y / sizes, m.seed)
  } else {
    0.0 * _box_lengths(info) + m.bandwidth
  }
  count = _component_count(info)
  pick = f64(expand(components, 1) == iota(count))
  unit = mean(sizes)
  blocks = _rfm_blocks(info, m.rows, m.weight, M, inf * _box_lengths(info), 0.5)
  measured = (P = P, Y = Y, pick = pick, weight = unit / (sizes * sqrt(f64(n))))
  best = _joint_steps(info, m, stated, blocks, measured, s, M, q)
  k = best.steps
  # Wider bandwidths, while the residual of the equations falls.
  if kind(m.bandwidth) == "none" {
    missed = 0
    while missed < 3 {
      next = _joint_steps(info, m, stated, blocks, measured, 1.5^(missed + 1) * best.s, M, best.q)
      k = k + next.steps
      # After a large residual the next one is hard to predict.
      missed = if next.left < best.left {
        0
      } else if best.left < 1e-8 * norm(Y) {
        3
      } else {
        missed + 1
      }
      if missed == 0 { best = next }
    }
  }
  (s, f, a, q) = (best.s, best.f, best.a, best.q)
  waves = map(b -> _waves_at(info, f, b.equations, b.X), blocks)
  Φ = sin(P @ f.W' + f.b)
  (A, Q, w, r) = _joint_rows(info, stated, blocks, waves, f, a, q)
  along = -stack(...map(j -> _least_squares(A, Q[.., j]), each(len(q))); axis = 1)
  error = norm(r) / max(1e-300, sqrt(mean((Φ @ a')^2)))
  values_at = (a, z) ->
    concat(...map(g -> ravel(_rfm_field(info, f, a, _place_of(info.fields, g))(...z)), seen))
  (p, back) = flatten(real_(q))
  scale = flatten(record(names, map(name -> field(units, name) + 0.0 * field(p0, name), names)))[0]
  jacobian_at =
    z -> stack(...map(j -> values_at(reshape(along[.., j], count, -1), z), each(len(q)));
      axis = 1) / scale
  sigma = _sigmas(o.sigma, seen, data)
  weight = if kind(sigma) == "none" { 1.0 } else { 1 / (sigma + 0 * y) }
  rest = values_at(a, at) - y
  g = _fitted(p, back, p0, p < -inf, weight * rest, expand(weight + 0 * y, 1) * jacobian_at(at),
    (y = y, weight = weight, sigma = sigma, level = o.level), z -> values_at(a, z), jacobian_at,
    -rest, (iterations = k, evaluations = k, converged = best.good,
      message = "{k} steps; what is left of the equations {error:.1e}"))
  now = stated(q)
  (...g.p, ...g, std = g.stderr,
    solution = _rfm_solution(now, m, (f = f, a = a, error = error, s = s, steps = k)))
}
# Gauss-Newton steps for amplitudes and parameters q, with M features of
# bandwidth s. d: points P, values Y, their components, and the weight of each.
_joint_steps(info, m, stated, blocks, d, s, M, q) = {
  f = _draw_features(info, M, s, m.seed)
  Φ = sin(d.P @ f.W' + f.b)
  count = _component_count(info)
  waves = map(b -> _waves_at(info, f, b.equations, b.X), blocks)
  a = transpose(d.pick) @ _ridge(Φ, d.Y)'
  # Rows of the measurements with respect to all amplitudes.
  D = concat(...map(c -> concat(...map(k -> d.pick[c, k] * d.weight[c] * Φ, each(count)); axis = 1),
    each(shape(d.pick)[0])); axis = 0)
  left =
    (a, q, w) ->
    concat(
      ...map((b, z, w) -> w *
        ravel(_block_residual(stated(q), b, _slot_values(info, f, b.equations, z, a))),
        blocks, waves, w))
  misfit = a -> ravel(transpose((Φ @ (d.pick @ a)' - d.Y) * d.weight))
  (steps, turns, idle, done, gap, damping) = (0, 0, 0, false, inf, 0.0)
  while not done {
    (A, Q, w, r) = _joint_rows(info, stated, blocks, waves, f, a, q)
    e = misfit(a)
    # Damped where a full step is too long, as when rows leave large amplitudes
    # undetermined.
    (J, rest_) =
      (concat(concat(A, Q; axis = 1), concat(D, zeros(len(D), len(q)); axis = 1); axis = 0),
        -concat(r, e))
    step = if damping > 0 {
      n = shape(J)[1]
      _least_squares(concat(J, damping * eye(n); axis = 0), concat(rest_, zeros(n)))
    } else {
      _least_squares(J, rest_)
    }
    (da, dq) = (reshape(step[..-len(q)], count, -1), step[-len(q)..])
    value = norm(r)^2 + norm(e)^2
    (t, v) = (2.0, inf)
    while t > 0.1 and not (v < value) {
      t = 0.5 * t
      v = norm(left(a + t * da, q + t * dq, w))^2 + norm(misfit(a + t * da))^2
    }
    gap = norm(r)
    if v < value { a = a + t * da; q = q + t * dq }
    steps = steps + 1
    turns = turns + 1
    # Converged when no step, full or damped, reduces the value.
    idle = if v < 0.9 * value { 0 } else { idle + 1 }
    done = turns >= 3 * m.steps or idle >= 5 or (damping == 0 and t == 1 and v < value and idle > 0)
    damping = if v < value and t == 1 {
      if damping > 1e-5 { 0.01 * damping } else { 0.0 }
    } else {
      max(1e-3, 30 * damping)
    }
  }
  # With noisy measurements the residual of the equations can become much
  # smaller. The parameters are then those of least squares among solutions of
  # the equations, by steps along these.
  (b, p, rest) = (a, q, inf)
  noisy = norm(misfit(a)) > 1e-4 * norm(d.Y * d.weight)
  for turn in 0..(if noisy { 3 } else { 0 }) {
    for _ in 0..2 {
      (A, Q, w, r) = _joint_rows(info, stated, blocks, waves, f, b, p)
      b = b - reshape(_least_squares(A, r), count, -1)
    }
    (A, Q, w, r) = _joint_rows(info, stated, blocks, waves, f, b, p)
    rest = norm(r)
    if turn < 2 {
      along = -stack(...map(j -> _least_squares(A, Q[.., j]), each(len(q))); axis = 1)
      J = D @ along
      N = J' @ J
      dp = -linsolve(N + diag(zeros(len(q)) + 1e-10 * trace(N)), J' @ misfit(b))
      p = p + dp
      b = b + reshape(along @ dp, count, -1)
    }
  }
  if rest < 0.5 * gap { a = b; q = p; gap = rest }
  (a = a, q = q, f = f, s = s, left = gap, steps = steps, good = turns < 3 * m.steps)
}
# Returns amplitudes f64[M, c] for values Y [n, c] at rows Φ, regularised where
# the values do not determine them.
_ridge(Φ, Y) = {
  M = shape(Φ)[1]
  A = concat(Φ, 1e-7 * eye(M); axis = 0)
  B = concat(Y, zeros(M, shape(Y)[1]); axis = 0)
  stack(...map(j -> _least_squares(A, B[.., j]), each(shape(Y)[1])); axis = 1)
}
# Returns the bandwidth with which half of the measurements predict the other
# half best, in proportion to the lengths of the box.
_bandwidth_of_data(info, P, Y, seed_) = {
  half = iota(len(P)) % 2 == 0
  (best, s) = (inf, 0.0 * _box_lengths(info))
  for k in 0..9 {
    trial = 2.0^k / _box_lengths(info)
    f = _draw_features(info, 200, trial, seed_)
    Φ = sin(P @ f.W' + f.b)
    c = _ridge(Φ[half], Y[half])
    e = norm((Φ @ c - Y)[not half])
    if e < best { best = e; s = trial }
  }
  s
}
# Returns the residuals of block b at slots V: f64[n, r].
_block_residual(info, b, V) = map((x, v) -> _rows_at(info, _block_equations(info, b), x, v), b.X, V)
_block_equations(info, b) =
  if b.condition < 0 { list(...info.equations) } else { list(info.conditions[b.condition]) }
# Returns weighted rows of equations and conditions: with respect to amplitudes,
# with respect to parameters, their weights (a list), and the residual.
_joint_rows(info, stated, blocks, waves, f, a, q) = {
  (parts, sides, weights, rest) = (list(), list(), list(), list())
  now = stated(q)
  for (k, b) in enumerate(blocks) {
    V = _slot_values(info, f, b.equations, waves[k], a)
    (R, C) = _linearised(info, _block_equations(now, b), b.X, V)
    A = _feature_rows(info, f, b.equations, waves[k], C)
    (n, r) = shape(R)
    w = ravel(broadcast_to(expand(b.weight / (sqrt(f64(n)) * _mean_square_rows(A, r)), 0), n, r))
    parts = push(parts, A * expand(w, 1))
    sides =
      push(sides,
        stack(
          ...map(j -> jvp(q -> ravel(_block_residual(stated(q), b, V)), q,
            f64(iota(len(q)) == j))[1],
            each(len(q))); axis = 1) * expand(w, 1))
    weights = push(weights, w)
    rest = push(rest, w * ravel(R))
  }
  (concat(...parts; axis = 0), concat(...sides; axis = 0), weights, concat(...rest))
}
