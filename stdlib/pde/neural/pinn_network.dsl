# pinn_network.dsl - the network of a PINN: its inputs and weights, its Taylor
# jets, and the symmetries of the problem that it has.
#
# Method: one Taylor expansion for each coordinate gives the pure derivatives,
# nested ones the mixed derivatives. A symmetry about the midpoint of a
# coordinate is the odd or even part of the network, or on a periodic axis the
# cosine as its only input. Reflecting equations and conditions at points of the
# box tests whether the problem has it.

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
