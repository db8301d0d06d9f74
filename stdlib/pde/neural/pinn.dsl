# pinn.dsl - physics-informed neural networks: a network trained to satisfy the
# equations of a problem, in any number of coordinates, for systems and vector
# fields.
#
# Method: the residual of each equation is evaluated on the Taylor jets of the
# network (u, u_t, u_x, u_xx ..., one propagation for each coordinate). The
# default trainer is Levenberg-Marquardt with geodesic acceleration (Transtrum
# and Sethna 2012). Small networks use the exact Gram matrix J'J, accumulated
# point by point without storing J. Larger ones use conjugate gradients (both in
# least_squares.dsl).
#
# Conditions are built into the ansatz where the problem allows it (Lagaris,
# Likas and Fotiadis 1998; on boxes by transfinite interpolation, Gordon and
# Hall 1973). Otherwise they are residual rows of their own, with balanced
# weights.

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

# ---- jets of a network
# Here and below, xs is the list of the coordinates of a point.

_replaced(xs, k, s) = map(i -> if i == k { s } else { xs[i] }, each(len(xs)))

# Returns the number of coordinates that a jet is differentiated by; _pure_order
# returns the highest order of a pure derivative with respect to a coordinate.
_axes_of(j) = { n = 0; for o in list(...j[1..]) { n = n + (if o > 0 { 1 } else { 0 }) }; n }
_pure_order(info, k) = {
  o = 0
  for j in info.jets { if _axes_of(j) == 1 { o = max(o, j[1 + k]) } }
  o
}

# Returns the jets of the problem at a point as a vector of slots, for u(xs) ->
# f64[components]: one Taylor expansion for each coordinate, nested ones for
# mixed derivatives.
_network_slots(info, u, xs) = {
  pure = map(k -> {
    n = _pure_order(info, k);
    if n == 0 {
      list()
    } else {
      list(_jet(s -> u(_replaced(xs, k, s)), xs[k], _directions(xs[k], n)))
    }
  },
    each(len(xs)))
  value = {
    out = list();
    for p in pure { if len(p) > 0 and len(out) == 0 { out = push(out, p[0][0]) } };
    if len(out) > 0 { out[0] } else { u(xs) }
  }
  parts = list()
  for j in info.jets {
    axes = _axes_of(j)
    all = if axes == 0 { value } else if axes == 1 {
      k = _first_axis(j)
      _factorial(j[1 + k]) * pure[k][0][1][j[1 + k] - 1]
    } else { _nested(u, xs, j, 0) }
    first = _first_component(info, j[0])
    parts = push(parts, all[first..first + max(1, info.sizes[j[0]])])
  }
  concat(...parts)
}
_first_axis(j) =
  { a = -1; for (k, o) in enumerate(list(...j[1..])) { if a < 0 and o > 0 { a = k } }; a }
_nested(u, xs, j, k) =
  if k == len(xs) { u(xs) } else if j[1 + k] == 0 { _nested(u, xs, j, k + 1) } else {
    n = j[1 + k]
    _factorial(n) * _jet(s -> _nested(u, _replaced(xs, k, s), j, k + 1), xs[k],
      _directions(xs[k], n))[1][n - 1]
  }

# ---- conditions built into the ansatz

_time_axis(info) = { a = -1; for (k, n) in enumerate(info.coords) { if n == "t" { a = k } }; a }

# Returns 0 if a condition fixes the value of a field on a face, 1 if it fixes
# an initial rate, -1 if it cannot be built in.
_fixes(info, c) = if len(c.jets) != 1 or c.at.coord < 0 or c.at.side < 0 { -1 } else {
  j = info.jets[c.jets[0]]
  r =
    c.residual(_coordinates(info, stack(...info.lo)), _jets_in(info, zeros(_slot_starts(info)[-1])))
  if rank(r) != (if info.sizes[j[0]] == 0 { 0 } else { 1 }) or info.periodic[c.at.coord] or
    not _says_each(info, c, len(ravel(r))) {
    -1
  } else if _axes_of(j) == 0 {
    0
  } else {
    if _axes_of(j) == 1 and c.at.coord == _time_axis(info) and j[1 + c.at.coord] == 1 and
      c.at.side == 0 {
      1
    } else {
      -1
    }
  }
}
# Whether each row of a condition is proven affine in its own component of the
# jet, and thus determines it. The proof treats the components of a vector as
# one value: it shows that rows are affine with slopes that do not depend on the
# place. So the matrix of slopes at one place is the matrix at all.
_says_each(info, c, rows) = {
  starts = _slot_starts(info)
  (first, n) = (starts[c.jets[0]], starts[c.jets[0] + 1] - starts[c.jets[0]])
  f = (x, v) -> _rows_at(info, list(c), x, v)
  if rows != n { false } else {
    told = _dependence(f, zeros(len(info.coords)), zeros(starts[-1]))
    if told.factors[1][1] or (n > 1 and told.factors[1][0]) { false } else if n == 1 { true } else {
      x = stack(...map(a -> a + 0.0, list(...info.lo)))
      slots = iota(starts[-1])
      mixed = _now(() -> {
        slopes = map(k -> f(x, where(slots == first + k, 1.0, 0.0)) - f(x, 0.0 * slots), iota(n))
        sum(abs(slopes * (1 - eye(n))))
      })
      if _is_fixed(mixed) { mixed == 0 } else {
        # The matrix depends on parameters, but the shape of the network must be
        # known at specialisation time: require one component each.
        if mixed > 0 {
          error(
            "pinn() would build `{c.text}` into its network, which takes conditions for one "
            "component each: pinn(hard = false) does not")
        }
        true
      }
    }
  }
}
# Returns the conditions of a field on an axis that can be built in.
_built_in(info, k, axis, what) = {
  out = list()
  for c in info.conditions {
    if _fixes(info, c) == what and c.at.coord == axis and info.jets[c.jets[0]][0] == k {
      out = push(out, c)
    }
  }
  out
}
# Returns the axes with time first: the blend on later axes is corrected by that
# of earlier ones.
_axis_order(info) = {
  t = _time_axis(info)
  out = if t >= 0 { list(t) } else { list() }
  for k in each(len(info.coords)) { if k != t { out = push(out, k) } }
  out
}
_face(info, c, xs) =
  _replaced(xs, c.at.coord, if c.at.side == 0 { info.lo[c.at.coord] } else { info.hi[c.at.coord] })

# Returns the value that a condition prescribes for its jet at a point:
# f64[components of the field].
_value_wanted(info, c, xs) = {
  (starts, i) = (_slot_starts(info), c.jets[0])
  zero = zeros(starts[-1])
  one = concat(zeros(starts[i]), ones(starts[i + 1] - starts[i]), zeros(starts[-1] - starts[i + 1]))
  z = _rows_at(info, list(c), stack(...xs), zero)
  -z / (_rows_at(info, list(c), stack(...xs), one) - z)
}
# Returns the same for the smooth part of a solution.
_smooth_value_wanted(info, c, xs) = if not has(info, "layers") { _value_wanted(info, c, xs) } else {
  k = info.jets[c.jets[0]][0]
  first = _first_component(info, k)
  _value_wanted(info, c, xs) - _layers_at(info, xs)[first..first + max(1, info.sizes[k])]
}

# Returns the blend (transfinite interpolation) of the values prescribed for
# field k on the first n axes in order: f64[components of the field].
_blend(info, k, xs, n) = if n == 0 { zeros(max(1, info.sizes[k])) } else {
  axis = _axis_order(info)[n - 1]
  below = _blend(info, k, xs, n - 1)
  sides = _built_in(info, k, axis, 0)
  rates = _built_in(info, k, axis, 1)
  out = below
  (a, b) = (info.lo[axis], info.hi[axis])
  for c in sides {
    share = if len(sides) == 1 {
      1.0
    } else if c.at.side == 0 {
      (b - xs[axis]) / (b - a)
    } else {
      (xs[axis] - a) / (b - a)
    }
    out = out + share * (_smooth_value_wanted(info, c, _face(info, c, xs)) -
      _blend(info, k, _face(info, c, xs), n - 1))
  }
  for c in rates { out = out + (xs[axis] - a) * _value_wanted(info, c, _face(info, c, xs)) }
  out
}
# Returns a product that vanishes where values are built in.
_vanishing(info, k, xs) = {
  f = 1.0
  for axis in each(len(xs)) {
    (a, b) = (info.lo[axis], info.hi[axis])
    sides = _built_in(info, k, axis, 0)
    s = (xs[axis] - a) / (b - a)
    for c in sides { f = f * (if c.at.side == 0 { s } else { 1 - s }) }
    if len(sides) == 2 { f = 4 * f }
    if len(_built_in(info, k, axis, 1)) > 0 { f = f * s }
  }
  f
}
_some_built_in(info, k) = {
  n = 0
  for axis in each(len(info.coords)) { n = n + len(_built_in(info, k, axis, 0)) }
  n > 0
}

# Returns 1.0 where the prescribed values agree at edges and corners and fit
# periodic axes, else 0.0.
_can_build_in(info) = {
  worst = 0.0
  X = _box_points(info, 1000, 0.31)
  d = len(info.coords)
  for k in each(len(info.fields)) {
    if _some_built_in(info, k) {
      G = x -> _blend(info, k, _list_of(info, x), d)
      size = 1 + max(abs(map(G, X)))
      for axis in each(d) {
        for c in _built_in(info, k, axis, 0) {
          gap = map(x -> {
            xs = _face(info, c, _list_of(info, x));
            _blend(info, k, xs, d) - _smooth_value_wanted(info, c, xs)
          },
            X)
          worst = max(worst, max(abs(gap)) / size)
        }
        if info.periodic[axis] {
          jump = x -> {
            at = s -> jvp(y -> _blend(info, k, _replaced(_list_of(info, x), axis, y), d), s, 1.0)
            ((g0, d0), (g1, d1)) = (at(info.lo[axis]), at(info.hi[axis]))
            concat(g1 - g0, (info.hi[axis] - info.lo[axis]) * (d1 - d0))
          }
          worst = max(worst, max(abs(map(jump, X))) / size)
        }
      }
    }
  }
  if worst < 1e-6 { 1.0 } else { 0.0 }
}
_list_of(info, x) = map(k -> x[k], each(len(info.coords)))

# ---- the network

# Returns the inputs scaled to [-1, 1]. A periodic axis enters by its first
# harmonic, or by the cosine alone where the solution is even about the
# midpoint.
_network_inputs(info, m, xs) = {
  parts = list()
  for (k, x) in enumerate(xs) {
    s = 2 * (x - info.lo[k]) / (info.hi[k] - info.lo[k]) - 1
    if info.periodic[k] {
      parts = push(parts, cos(π * s))
      if not _by_cosine(m, k) { parts = push(parts, sin(π * s)) }
    } else { parts = push(parts, s) }
  }
  stack(...parts)
}
_network_width(info, m) = {
  n = 0
  for (k, p) in enumerate(info.periodic) {
    n = n + (if p and not _by_cosine(m, k) { 2 } else { 1 })
  }
  n
}

# Returns the network's value; with symmetries, its odd or even part about the
# midpoints of their axes.
_network_at(info, m, w, B, xs) = _image(info, m, w, B, xs, 0)
_image(info, m, w, B, xs, k) =
  if k == len(xs) { _network(m, w, B, _network_inputs(info, m, xs)) } else {
    y = _image(info, m, w, B, xs, k + 1)
    if len(m.parity[k]) == 0 or _by_cosine(m, k) { y } else {
      0.5 * (y + stack(...m.parity[k]) * _image(info, m, w, B,
        _replaced(xs, k, _turned_about(info, k, xs[k])), k + 1))
    }
  }
_turned_about(info, k, s) = info.lo[k] + info.hi[k] - s
# On an axis with a symmetry, points of one half suffice.
_folded(info, m, X) =
  stack(...map(k -> if len(m.parity[k]) == 0 { X[.., k] } else {
    middle = 0.5 * (info.lo[k] + info.hi[k])
    middle + abs(X[.., k] - middle)
  }, each(len(info.coords))); axis = 1)

# ---- symmetries of the problem

# Returns, for each axis, the signs of the components under reflection about its
# midpoint, an empty list where unknown. They are the declared ones, else those
# under which the equations and conditions are invariant. If the problem has one
# solution, that solution has the symmetry. With t only periodic axes are
# tested, since odd parts between boundaries slowed training. Odd symmetry is
# used only where points are resampled: a front fixed by it may become a jump
# between points. Evenness, built in by a cosine, is always used.
_parity(info, m) = {
  out = list()
  steady = _time_axis(info) < 0
  signed = if steady { true } else if _is_fixed(m.refine) { m.refine > 0 } else { false }
  for (k, n) in enumerate(info.coords) {
    found = list()
    if n == m.odd or n == m.even {
      for c in each(_component_count(info)) {
        found = push(found, if n == m.odd { -1.0 } else { 1.0 })
      }
    } else if m.symmetry and k != _time_axis(info) and (steady or info.periodic[k]) and
      _component_count(info) <= 5 {
      for code in each(if signed { 2^_component_count(info) } else { 1 }) {
        if len(found) == 0 {
          signs = list()
          rest = code
          for c in each(_component_count(info)) {
            signs = push(signs, 1.0 - 2.0 * (rest % 2));
            rest = rest // 2
          }
          if _is_symmetry(info, k, signs) { found = signs }
        }
      }
    }
    out = push(out, found)
  }
  out
}
_with_symmetries(info, m) = {
  parity = _parity(info, m)
  (...m, parity = parity, cosine = _cosines(info, parity))
}
# Whether an axis enters by its cosine alone. This is stored as the length of a
# list, because lengths stay static in functions where numbers are arguments.
_by_cosine(m, k) = len(m.cosine[k]) > 0
_cosines(info, parity) = map(k -> {
  even = info.periodic[k] and len(parity[k]) > 0
  for s in parity[k] { if s < 0 { even = false } }
  if even { list(k) } else { list() }
}, each(len(info.coords)))
_is_symmetry(info, k, signs) = {
  same = true
  for q in info.equations { if same and not _turns_into(info, q, q, k, signs) { same = false } }
  for c in info.conditions {
    if same {
      met = false
      if c.at.coord == k {
        for o in info.conditions {
          if not met and o.at.coord == k and c.at.side + o.at.side == 1 and c.at.side >= 0 and
            o.at.side >= 0 {
            if _turns_into(info, c, o, k, signs) { met = true }
          }
        }
      } else if c.at.coord >= 0 { met = _turns_into(info, c, c, k, signs) }
      same = met
    }
  }
  same
}
# Whether residual q at a point with jets is, up to the sign of its rows, o at
# the mirrored point with mirrored jets. It is tested at enough places to detect
# data in a small part of the box (nondimensional.dsl), with different jets at
# each place. An asymmetry missed between the places shows in the error of the
# solution.
_turns_into(info, q, o, k, signs) = {
  if len(_residual_rows(info, q)) != len(_residual_rows(info, o)) { false } else {
    slots = _slots(info)
    turned = stack(...map(s -> signs[s[0]] * (if s[1 + k] % 2 == 1 { -1.0 } else { 1.0 }), slots))
    gap = _now(() -> {
      X = _size_places(info, q)
      Y =
        stack(...map(i -> if i == k { _turned_about(info, k, X[.., i]) } else { X[.., i] },
          each(len(info.coords)));
          axis = 1)
      V = 0.3 + cos(1.3 * expand(iota(len(X)) + 1.0, 1) + 2.3 * iota(len(slots)))
      a = map((x, v) -> _rows_at(info, list(q), x, v), X, V)
      b = map((y, v) -> _rows_at(info, list(o), y, v * turned), Y, V)
      off = c -> max(abs(c) / (1e-300 + abs(a) + abs(b)); axis = 0)
      # A row keeps or changes its sign at all places.
      worst = max(where(off(a - b) < off(a + b), off(a - b), off(a + b)))
      if all(abs(a) + abs(b) < inf) { worst } else { inf }
    })
    # A value known only at run time cannot determine the shape of a network.
    if not _is_fixed(gap) { false } else { gap < 1e-9 }
  }
}
_residual_rows(info, q) =
  _rows_at(info, list(q), zeros(len(info.coords)), zeros(_slot_starts(info)[-1]))

_network(m, w, B, z) = {
  h = if m.fourier == 0 { z } else { θ = B @ z; concat(cos(θ), sin(θ)) }
  for (k, layer) in enumerate(w) {
    y = layer.W @ h + layer.b
    h = if k + 1 == len(w) {
      y
    } else {
      a = m.activation(y);
      if m.residual and k > 0 { h + a } else { a }
    }
  }
  h
}

# Returns (never, h): h = 1.0 when conditions are built into the ansatz, 0.0
# when they do not agree and are residual rows. A blend over n axes evaluates
# conditions 3^n times at a point, for each derivative too, so with more than 4
# axes conditions are rows.
_building_in(info, m) = {
  (n, most) = (0, 0)
  for k in each(len(info.fields)) {
    n = n + (if _some_built_in(info, k) { 1 } else { 0 })
    axes = 0
    for axis in each(len(info.coords)) {
      axes = axes + (if len(_built_in(info, k, axis, 0)) > 0 { 1 } else { 0 })
    }
    most = max(most, axes)
  }
  asked = if kind(m.hard) == "string" { false } else { m.hard }
  if asked and most > 4 {
    _refuse(
      "pinn(hard = true) builds conditions in along 4 coordinates at most, and here are conditions "
      "along {most}; without hard they are rows of their own")
  }
  never = if kind(m.hard) == "string" { n == 0 or most > 4 } else { not m.hard or n == 0 }
  (never, if never { 0.0 } else if kind(m.hard) == "string" { _can_build_in(info) } else { 1.0 })
}
# Returns the solution as a function of weights and coordinates:
# f64[components].
_ansatz(info, m, B, never, h) = (w, xs) -> {
  y = _network_at(info, m, w, B, xs)
  smooth = if never { y } else {
    parts = list()
    for k in each(len(info.fields)) {
      first = _first_component(info, k)
      own = y[first..first + max(1, info.sizes[k])]
      parts = push(parts, if _some_built_in(info, k) {
        h * _blend(info, k, xs, len(xs)) + (1 - h + h * _vanishing(info, k, xs)) * own
      } else {
        own
      })
    }
    concat(...parts)
  }
  if has(info, "layers") { smooth + _layers_at(info, xs) } else { smooth }
}

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
# Returns (weights, frequencies of Fourier features). Weights suit the range of
# tanh: variance 25/9 of the inputs' mean square, with transitions spread over
# the domain.
_pinn_weights(info, m) = {
  ni = _network_width(info, m)
  net =
    mlp(list(if m.fourier == 0 { ni } else { 2 * m.fourier }, ...m.hidden, _component_count(info)))
  B = m.frequency * randn(m.fourier, ni)
  weights = map((l, k) -> {
    (rows, columns) = shape(l.W)
    gain = if k == 0 and m.fourier == 0 { m.frequency } else { 1.0 }
    if k + 1 == len(net.weights) {
      (W = randn(rows, columns) / sqrt(f64(columns)), b = zeros(rows))
    } else {
      (W = gain * 5 / 3 * randn(rows, columns) / sqrt(f64(columns)),
        b = gain * (2 * rand(rows) - 1))
    }
  }, net.weights, each(len(net.weights)))
  (weights, B)
}

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
