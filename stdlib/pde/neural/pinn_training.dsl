# pinn_training.dsl - training of a PINN on blocks of residual rows at points.
#
# Method: the default trainer is Levenberg-Marquardt with geodesic acceleration
# (Transtrum and Sethna 2012). Small networks use the exact Gram matrix J'J,
# accumulated point by point without storing J. Larger ones use conjugate
# gradients (both in least_squares.dsl). Half of the points are resampled where
# residuals are large (RAD; Wu et al. 2023). The tangent kernel balances the
# weights of conditions (Wang, Yu and Perdikaris 2022).

# ---- rows and points

# Returns rows_of(pick, read): the rows read(info, equations, point, slots) of
# the equations or conditions pick(info), for a network u(w, xs) and a point.
_pinn_rows(info, u) =
  (pick, read) -> (w, x) -> read(info, pick(info), x,
    _network_slots(info, xs -> u(w, xs), _list_of(info, x)))
# Returns the sum of the absolute values of the terms of each row.
_part_sizes(info, equations, x, slots) =
  abs(_jacobian(v -> _rows_at(info, equations, x, v), slots)) @ abs(slots) +
  abs(_rows_at(info, equations, x, 0 * slots))
# Returns blocks of rows: the equations inside, and conditions (without points
# where they are built in). Points have a weight as their last column. anew(n):
# n other points; parts: the sizes of the equations' terms.
_pinn_blocks(info, m, rows_of, never, h) = {
  n_soft = if h > 0 { 0 } else { m.boundary }
  d = len(info.coords)
  (lo, hi) = (stack(...info.lo), stack(...info.hi))
  alike = X -> concat(X, ones(len(X), 1); axis = 1)
  weighted = rows -> (w, x) -> x[d] * rows(w, x)
  equations = info -> list(...info.equations)
  blocks =
    list((said = join((...map(q -> q.text, list(...info.equations)),), "; "),
      rows = weighted(rows_of(equations, _rows_at)), parts = rows_of(equations, _part_sizes),
      X = alike(_folded(info, m, _box_points(info, m.points, 0.5))),
      anew = n -> alike(_folded(info, m, lo + (hi - lo) * rand(n, d)))))
  for (i, c) in enumerate(info.conditions) {
    may = not never and (_fixes(info, c) == 0 or
      (_fixes(info, c) == 1 and _some_built_in(info, info.jets[c.jets[0]][0])))
    X = alike(_condition_points(info, c, m.boundary, 0.5))
    blocks = push(blocks,
      (said = c.text, rows = weighted(rows_of(info -> list(info.conditions[i]), _rows_at)),
        like = X[0], X = if may {
          X[..min(len(X), n_soft)]
        } else {
          X
        }, anew = n -> alike(_condition_points(info, c, n, rand()))))
  }
  blocks
}

# ---- training

# Here and below, X has the points of each block.
_share(soft, k, X) = soft[k] / sqrt(max(1.0, f64(len(X))))

# Returns the number of rows of a block at a point. A block that may have no
# points has a sample point (like).
_row_count(b, w) = len(b.rows(w, if has(b, "like") { b.like } else { b.X[0] }))
# Returns all rows, weighted, as one vector.
_all_rows(blocks, soft, w, X) =
  concat(...map(k -> _share(soft, k, X[k]) * ravel(map(x -> blocks[k].rows(w, x), X[k])),
    each(len(blocks))))

# Returns J'J and J'r, accumulated equation by equation.
_gram(blocks, soft, v, back, X) = {
  w = back(v)
  (G, g) = (zeros(len(v), len(v)), zeros(len(v)))
  for k in each(len(blocks)) {
    Y = X[k]
    s = _share(soft, k, Y)
    for i in each(_row_count(blocks[k], w)) {
      (r, J) =
        map(x -> { (r, dr) = value_and_grad(w -> blocks[k].rows(w, x)[i])(w); (r, flatten(dr)[0]) },
          Y)
      G = G + s^2 * (J' @ J)
      g = g + s^2 * (J' @ r)
    }
  }
  (G, g)
}

# Returns the trace of J'J of one block, without the matrix.
_gram_trace(block, v, back, X) = {
  w = back(v)
  total = 0.0
  for i in each(_row_count(block, w)) {
    J = map(x -> flatten(grad(w -> block.rows(w, x)[i])(w))[0], X)
    total = total + sum(J^2) / max(1.0, f64(len(X)))
  }
  total
}
# Returns a random sketch A with `rows` rows: sums of the rows of groups of
# points with random signs, so that the expectation of A'A is J'J. Each row
# costs one gradient over its group.
_row_sketch(blocks, soft, v, back, X, rows) = {
  w = back(v)
  sizes = map(k -> len(X[k]) * _row_count(blocks[k], w), each(len(blocks)))
  all = 0
  for n in sizes { all = all + n }
  concat(...map(k -> {
    Y = X[k]
    (n, c) = (len(Y), _row_count(blocks[k], w))
    s = min(n, (rows * sizes[k] + all - 1) // max(1, all))
    q = max(1, (n + s - 1) // max(1, s))
    at = iota(s * q)
    signs = reshape(where(expand(at, 1) < n, _signs(s * q, c), 0.0), s, q, c)
    groups = reshape(Y[min(at, max(0, n - 1))], s, q, shape(Y)[1])
    _share(soft, k, Y) *
      map((y, e) -> grad(v -> { w = back(v); sum(map((x, c) -> c @ blocks[k].rows(w, x), y, e)) })(
        v), groups,
        signs)
  }, each(len(blocks))); axis = 0)
}

# Returns (weights as a vector, loss, steps).
_train_pinn(info, m, o, blocks, v0, back) = {
  rows = (v, soft, X) -> _all_rows(blocks, soft, back(v), X)
  X = map(b -> b.X, blocks)
  soft = _block_weights(m, blocks, v0, back, X)
  trainer = if _by_matrix(m.trainer, len(v0)) { lm() } else { _pinn_trainer(m.trainer) }
  if m.causal { _check_causal(info, trainer) }
  if trainer.name == "lm" or trainer.name == "gauss_newton_cg" {
    v = v0
    # The points with their original weights, and the steepness of the causal
    # weights.
    (P, steep, unit) = (X, 1.0, 0.0)
    lambda = 1.0
    k = 0
    stuck = 0
    value = 0.5 * sum(rows(v, soft, X)^2)
    (first, many) =
      (value, if trainer.name == "lm" { 0 } else { _sketch_rows(trainer, len(v), 1000) })
    while k < m.steps and stuck < 2 and value > m.tol {
      if m.refine > 0 and k > 0 and k % m.refine == 0 {
        P = map((b, Y) -> _renewed(b, back(v), Y), blocks, P)
        X = P
        value = 0.5 * sum(rows(v, soft, X)^2)
      }
      if m.causal {
        L = _slices_left(info, blocks[0], back(v), P[0])
        if k == 0 { unit = 1e-300 + mean(L) }
        q = (cumsum(L) - L) / unit
        while exp(-steep * q[-1]) > 0.99 and steep < 1e12 { steep = 10 * steep }
        X = if 4 * k < 3 * m.steps or steep == 1 {
          _with_first(P, _in_turn(info, P[0], exp(-steep * q)))
        } else {
          P
        }
        value = 0.5 * sum(rows(v, soft, X)^2)
      }
      system = if trainer.name == "lm" { _normal(..._gram(blocks, soft, v, back, X)) } else {
        A = _row_sketch(blocks, soft, v, back, X, many)
        _sketched(A, _forcing(value, first), trainer.turns)
      }
      step = _damping_search(p -> rows(p, soft, X), system, v, value, lambda)
      v = step.x
      lambda = step.damping
      if trainer.name != "lm" { many = _more_rows(trainer, many, len(v), step.turns) }
      stuck = if step.value < value { 0 } else { stuck + 1 }
      value = step.value
      k = k + 1
      if o.progress { progress(k, m.steps; loss = value) }
    }
    if not (value < inf) { _pinn_failed(info, blocks, back(v), X, k) }
    (v, value, k)
  } else {
    r =
      minimize(w -> sum(_all_rows(blocks, soft, w, X)^2), back(v0), trainer; steps = m.steps,
        tol = m.tol, progress = o.progress)
    if not (r.value < inf) { _pinn_failed(info, blocks, r.x, X, r.iterations) }
    (flatten(r.x)[0], 0.5 * r.value, r.iterations)
  }
}
# Reports where the rows are not finite, after k steps of training.
_pinn_failed(info, blocks, w, X, k) = {
  for (j, b) in enumerate(blocks) {
    if len(X[j]) > 0 {
      bad = not (sum(abs(map(x -> b.rows(w, x), X[j])); axis = 1) < inf)
      if any(bad) {
        x = X[j][argmax(i64(bad))]
        error(
          "pinn(), after {k} steps of training: "
          "`{if has(b, "said") { b.said } else { "what was measured" }}` is no finite number at "
          "{_pinn_place(info, x)}")
      }
    }
  }
  error("pinn(): the sum of squares is no finite number after {k} steps of training")
}
# Returns a point of the box as a string, in the problem's own coordinates.
_pinn_place(info, x) = {
  names = list(...info.coords)
  of = i -> if has(info, "units") {
    info.units.origin[i] + info.units.length[i] * x[i]
  } else {
    x[i]
  }
  text = ""
  for (i, n) in enumerate(names) {
    here = "{n} = {of(i):.6g}"
    text = if i == 0 { here } else { "{text}, {here}" }
  }
  text
}

# ---- causal weights
# Method: Wang, Sankaran and Perdikaris 2022. A time slice has the weight
# exp(-steep Σ r²), with r² the mean square residuals of earlier slices relative
# to those of the untrained network. When all slices count, steep is multiplied
# by ten. In the last quarter of the steps all weights are equal, so that the
# result does not depend on them.

_check_causal(info, trainer) = {
  if _time_axis(info) < 0 { _refuse("pinn(causal = true) needs t among the coordinates") }
  if trainer.name != "lm" and trainer.name != "gauss_newton_cg" {
    _refuse("pinn(causal = true) is of the trainers \"lm\" and \"gauss_newton_cg\"")
  }
}
_slice_of(info, X) = {
  t = _time_axis(info)
  clamp(i64(floor(32 * (X[.., t] - info.lo[t]) / (info.hi[t] - info.lo[t]))), 0, 31)
}
_slices_left(info, b, w, X) = {
  s = _slice_of(info, X)
  (total, count) = (zeros(32), zeros(32))
  total[s] += sum(map(x -> b.rows(w, x), X)^2; axis = 1)
  count[s] += ones(len(X))
  total / max(count, 1.0)
}
_in_turn(info, X, weights) = _with_weights(X, X[.., -1] * sqrt(weights[_slice_of(info, X)]))
_with_first(P, first) = map(k -> if k == 0 { first } else { P[k] }, each(len(P)))

# ---- trainers

# Whether steps use the matrix J'J and not products with it: where requested,
# and for "auto" while that is faster.
_by_matrix(by, n) =
  if kind(by) == "record" { by.name == "lm" } else { by == "lm" or (by == "auto" and n <= 2500) }
# Returns the other optimisers, of minimize or least_squares, by name or with
# their settings.
_pinn_trainer(by) = if kind(by) == "record" {
  if by.name == "gauss_newton" or by.name == "dogleg" { _not_a_trainer() } else { by }
} else if by == "auto" or by == "gauss_newton_cg" { gauss_newton_cg() } else if by == "ssbroyden" {
  ssbroyden()
} else if by == "lbfgs" {
  lbfgs(memory = 20)
} else if by == "adam" {
  adam(rate = 5e-3)
} else if by == "soap" {
  soap(rate = 5e-3)
} else {
  _not_a_trainer()
}
_not_a_trainer() =
  _refuse(
    "pinn() trains by \"auto\", \"lm\", \"gauss_newton_cg\", \"ssbroyden\", \"lbfgs\", \"soap\" or "
    "\"adam\", or by such an optimiser with its settings, as in trainer = adam(rate = 1e-3)")

# ---- weights of blocks

# Returns the weight of each block; a block may have its own.
_block_weights(m, blocks, v, back, X) = {
  soft = if kind(m.weight) == "string" {
    _balanced(blocks, v, back, X)
  } else {
    where(iota(len(blocks)) == 0, 1.0, f64(m.weight))
  }
  for (k, b) in enumerate(blocks) { if has(b, "weight") { soft[k] = b.weight } }
  soft
}
# Returns weights of conditions: the geometric mean of 1 and the weight that
# equalises their gradients with those of the equations. Gradients are measured
# by the trace of the tangent kernel (Wang, Yu and Perdikaris 2022).
# Second-order steps need less balancing than gradients, and train more slowly
# with full weights.
_balanced(blocks, v, back, X) = {
  size =
    stack(...map(k -> if len(X[k]) == 0 {
      0.0
    } else {
      _gram_trace(blocks[k], v, back, X[k])
    },
      each(len(blocks))))
  clamp(where(size > 0, (size[0] / where(size > 0, size, 1.0))^0.25, 1.0), 1.0, 1e3)
}

# ---- resampling

# Resamples half of a block's points, and keeps the other half of the original
# ones. Candidates are selected with a probability that grows with their
# residual. For equations it also grows with the size of their terms, so that
# layers are resolved before errors appear between the points. Such points are
# many in a layer, so each is weighted inversely to their density.
_renewed(b, w, X) = if not has(b, "anew") or len(X) < 2 { X } else {
  n = len(X)
  C = b.anew(12 * n)
  left = X -> sum(abs(map(x -> b.rows(w, x), X)); axis = 1)
  rest = left(C)
  size = 1e-300 + mean(rest)
  if has(b, "parts") {
    terms = X -> sum(map(x -> b.parts(w, x), X); axis = 1)
    parts = terms(C)
    unit = 1e-300 + mean(parts)
    Y = _half_by(X, C, 1 + rest / size + parts / unit)
    _with_weights(Y, 1 / sqrt(1 + terms(Y) / unit))
  } else { _half_by(X, C, 1 + rest / size) }
}
_half_by(X, C, chance) = {
  n = len(X)
  concat(X[..n - n // 2], C[argsort(rand(len(C))^(1 / chance); descending = true)[..n // 2]];
    axis = 0)
}
_with_weights(X, weights) = concat(X[.., ..-1], expand(weights, 1); axis = 1)
