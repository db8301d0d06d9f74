# conditions.dsl - assignment of the boundary conditions on a grid to field
# components and nodes.
#
# Method: each row of a condition must determine its own component. The
# assignment is a bipartite matching (Kuhn) of rows to components. Dataflow
# analysis of the residual's code proves which components a row has. At an
# inflow end the incoming field is determined.
# Needs a structure S from grid_residual.dsl.

# Returns the boundary conditions, grouped by what they determine: each row
# determines a component of a field (_determined_on). Further rows for the same
# component use the next layers of nodes. In problems of higher order in t, time
# derivatives of a condition determine the further parts. The deepest layers
# come first, so that conditions on outer nodes are not overwritten.
_conditions_of(info, S) = {
  of = _determined_on(info, S)
  out = list()
  for (n, c) in enumerate(info.conditions) {
    p = _position(S, c.at.coord)
    side = if p < 0 { 0 } else { c.at.side }
    for (r, at) in enumerate(of[n]) {
      (k, a) = at
      low = _rate_in(info, S, c, r, k, a)
      first = min(low, S.levels[k] - 1)
      for level in each(first, if p < 0 { first + 1 } else { S.levels[k] }) {
        part = _first_part(info, S.levels, k, level) + a
        layer = 0
        for o in out {
          for w in o.rows {
            if p >= 0 and o.p == p and o.side == side and w.part == part { layer = layer + 1 }
          }
        }
        row = (row = r, field = k, component = a, part = part)
        own = (q = c, n = n, p = p, side = side, shift = max(0, level - low), layer = layer,
          rate = low >= S.levels[k], rows = list(row))
        new = true
        for (i, o) in enumerate(out) {
          if o.n == n and o.shift == own.shift and o.layer == layer and o.rate == own.rate {
            out[i] = (...o, rows = push(o.rows, row))
            new = false
          }
        }
        if new { out = push(out, own) }
      }
    }
  }
  deepest = 0
  for c in out { deepest = max(deepest, c.layer) }
  sorted = list()
  for d in each(deepest + 1) {
    for c in out { if c.layer == deepest - d { sorted = push(sorted, c) } }
  }
  sorted
}
# Returns for each boundary condition the (field, component) that each of its
# rows determines, by preference (_wishes). On a face a component takes half as
# many rows as its order along the normal, so that all components get theirs
# where possible. A component of odd order takes the extra half if no other
# needs it. Rows beyond these go to their first preference.
_determined_on(info, S) = {
  all = list()
  for k in each(S.count) { for a in each(_width(info, k)) { all = push(all, (k, a)) } }
  wishes = map(c -> if S.time >= 0 and c.at.coord == S.time { list() } else {
    map(r -> _wishes(info, S, c, r, all), each(max(1, c.rows)))
  }, list(...info.conditions))
  out = map(w -> map(o -> all[o[0]], w), wishes)
  for p in each(S.T.count) {
    orders = map(at -> _order_of(info, at[0], S.T.space[p]), all)
    for side in list(0, 1) {
      own = list()
      for (n, c) in enumerate(info.conditions) {
        if c.at.coord == S.T.space[p] and c.at.side == side {
          for r in each(len(wishes[n])) { own = push(own, (n, r)) }
        }
      }
      said = map(w -> wishes[w[0]][w[1]], own)
      places = map(w -> -1, own)
      for room in list(map(o -> o // 2, orders), map(o -> (o + 1) // 2, orders)) {
        for i in each(len(own)) {
          if places[i] < 0 { places = _assigned(said, room, places, i, list()).places }
        }
      }
      for (i, w) in enumerate(own) {
        if places[i] >= 0 { (n, r) = w; rows = out[n]; rows[r] = all[places[i]]; out[n] = rows }
      }
    }
  }
  out
}
# Returns the components, as indices in `all`, in row r of a condition, by
# preference. First is the component with the highest normal derivative, then
# with the highest time derivative. Ties go to an incoming field, then to the
# order in the problem.
_wishes(info, S, c, r, all) = {
  on = _row_dependence(info, c, r)
  inward = map(at -> _goes_in(info, c, at[0]), all)
  out = list()
  for turn in each(len(all)) {
    (best, top) = (-1, -1)
    for i in (...c.linear, ...c.nonlinear) {
      j = info.jets[i]
      score = (if _position(S, c.at.coord) < 0 { 0 } else { j[1 + c.at.coord] }) * 10 +
        _jet_time(S, j)
      for b in each(_width(info, j[0])) {
        # In a vector condition, prefer the component of the row.
        a = (b + r) % _width(info, j[0])
        for (k, at) in enumerate(all) {
          own = 2 * score + (if inward[k] { 1 } else { 0 })
          if at[0] == j[0] and at[1] == a and on[i][a] and own > top and not contains(out, k) {
            best = k;
            top = own
          }
        }
      }
    }
    if best >= 0 { out = push(out, best) }
  }
  if len(out) == 0 {
    _refuse("the condition `{c.text}` says nothing of {_listed(list(...info.fields))}")
  }
  out
}
# Returns, by coordinate, side and field, whether a field enters there. It does
# where an advection equation of its own, u_t + v*u_x + ..., carries it inwards
# and that is known at specialisation time. solve() computes this once, because
# less is known while errors are estimated.
_ways_in(info) = (...map(a -> (...map(side -> (...map(k -> {
  v = _way_in(info, a, side, k)
  if _is_fixed(v) { _known(v > 0, "the way of a wave") } else { false }
}, each(len(info.fields))),), list(0, 1)),), each(len(info.coords))),)
_goes_in(info, c, k) =
  if has(info, "ways") and c.at.coord >= 0 { info.ways[c.at.coord][c.at.side][k] } else { false }
# Fails where a condition would determine an outgoing field instead of an
# incoming one, because the directions are only known at run time.
_check_ways(info, S, conditions) = {
  for c in conditions {
    if c.p >= 0 {
      for w in c.rows {
        own = _way_in(info, c.q.at.coord, c.q.at.side, w.field)
        for k in each(S.count) {
          other = _way_in(info, c.q.at.coord, c.q.at.side, k)
          if k != w.field and own < 0 and other > 0 and
            _row_dependence(info, c.q, w.row)[_lowest_jet(info, k)][0] {
            error(
              "{info.name}: `{c.q.text}` would give {info.fields[w.field]}, which goes out there, "
              "and not {info.fields[k]}, which goes in, since the way of both is known only when "
              "it runs; rfm() serves this")
          }
        }
      }
    }
  }
}
# Returns the index of the jet of lowest order of a field.
_lowest_jet(info, k) = {
  (at, least) = (0, 100)
  for (i, j) in enumerate(info.jets) {
    order = _jet_order(j)
    if j[0] == k and order < least { at = i; least = order }
  }
  at
}
# Returns the inward velocity of field k; 0 where no equation shows it, or
# anything but the place changes it.
_way_in(info, a, side, k) = if info.time < 0 or a == info.time or info.sizes[k] > 0 { 0.0 } else {
  x = map(i -> if i == a and side == 1 { info.hi[i] + 0.0 } else { info.lo[i] + 0.0 },
    each(len(info.coords)))
  others = list()
  for i in each(len(info.coords)) { if i != a { others = push(others, i) } }
  way = 0.0
  for q in info.equations {
    (rate, slope, plain) = (-1, -1, true)
    for i in q.jets {
      j = info.jets[i]
      order = _jet_order(j)
      if j[0] == k and order == 1 and j[1 + info.time] == 1 {
        rate = i
      } else if j[0] == k and order == 1 and j[1 + a] == 1 {
        slope = i
      } else if order > 0 {
        plain = false
      }
    }
    if plain and rate >= 0 and slope >= 0 {
      d = _residual_dependence(info, q)
      if _has_fixed_slope(info, d, rate, others) and _has_fixed_slope(info, d, slope, others) {
        by = i -> q.residual(x, _unit_jet(info, i, 0)) - q.residual(x, _zero_jets(info))
        way = by(rate) * by(slope) * (if side == 0 { 1.0 } else { -1.0 })
      }
    }
  }
  way
}
# Assigns row i to a component with free capacity, or moves assigned rows to
# free some (Kuhn's augmenting path): (done, places, tried).
_assigned(wishes, room, places, i, tried) = {
  done = false
  for k in wishes[i] {
    taken = 0
    for o in places { if o == k { taken = taken + 1 } }
    if not done and taken < room[k] { places[i] = k; done = true }
  }
  for k in wishes[i] {
    if not done and not contains(tried, k) {
      tried = push(tried, k)
      for o in each(len(wishes)) {
        if not done and places[o] == k {
          moved = _assigned(wishes, room, places, o, tried)
          tried = moved.tried
          if moved.done { places = moved.places; places[i] = k; done = true }
        }
      }
    }
  }
  (done = done, places = places, tried = tried)
}
# Returns the highest order in t in which row r of a condition contains
# component a of field k.
_rate_in(info, S, c, r, k, a) = {
  on = _row_dependence(info, c, r)
  top = 0
  for i in (...c.linear, ...c.nonlinear) {
    if info.jets[i][0] == k { if on[i][a] { top = max(top, _jet_time(S, info.jets[i])) } }
  }
  top
}
# Returns, by jet and component, whether row r of a residual depends on it,
# proven from its code. For scalar residuals: whether the residual has the jet.
_row_dependence(info, q, r) = if not _has_vectors(info, q) {
  map(i -> map(a -> contains(q.jets, i), each(_width(info, info.jets[i][0]))), each(len(info.jets)))
} else {
  of = (x, v) -> {
    jets = map(i -> if info.sizes[info.jets[i][0]] == 0 { v[i][0] } else { stack(...v[i]) },
      each(len(info.jets)))
    # On the boundary of a region the residual also takes the normal.
    all = if _has_normal(q) {
      q.residual(x, jets, (...map(d -> 0.6, list(...info.space)),))
    } else {
      q.residual(x, jets)
    }
    if rank(all) == 0 { all } else { all[r] }
  }
  on = _dependence(of, (...map(c -> 0.1, info.coords),),
    map(j -> map(a -> 0.0, each(_width(info, j[0]))), list(...info.jets))).depends
  map(i -> map(a -> on[len(info.coords) + _jet_start(info, i) + a],
    each(_width(info, info.jets[i][0]))),
    each(len(info.jets)))
}
_row_at(v, r) = if rank(v) == 1 { v } else { v[.., r] }
# Returns the rows of U that hold the rows of a condition.
_rows_of(S, c) = map(w -> w.part * S.T.P + _places_of(S, c), c.rows)
_position(S, coord) = {
  at = -1
  for (p, i) in enumerate(S.T.space) { if i == coord { at = p } }
  at
}

# Returns the nodes of a layer of a face. For a condition at a point,
# _nearest_node returns the nearest node.
_layer_nodes(T, p, side, layer) = {
  l = iota(T.P // T.n[p])
  s = T.stride[p]
  (l // s) * (s * T.n[p]) + l % s + (if side == 0 { layer } else { T.n[p] - 1 - layer }) * s
}
_nearest_node(S, point) = {
  node = 0
  for (p, g) in enumerate(S.T.dims) { node = node + argmin(abs(g.x - point[p])) * S.T.stride[p] }
  reshape(node, 1)
}
_nodes_of(S, c) =
  if c.p < 0 { _nearest_node(S, c.q.at.point) } else { _layer_nodes(S.T, c.p, c.side, 0) }
_places_of(S, c) =
  if c.p < 0 { _nearest_node(S, c.q.at.point) } else { _layer_nodes(S.T, c.p, c.side, c.layer) }

# Returns the total order of a jet (field, orders by coordinate).
_jet_order(j) = { n = 0; for o in list(...j[1..]) { n = n + o }; n }
# Returns the dependence of a residual on its inputs, proven from its code for
# all values (_dependence). Inputs are numbered: coordinates from 0, then jets,
# then the components of the outer normal.
_residual_dependence(info, q) = {
  x = (...map(c -> 0.1, info.coords),)
  if _is_on_boundary(q) {
    _dependence(q.residual, x, _zero_jets(info), (...map(a -> 0.5, info.space),))
  } else {
    _dependence(q.residual, x, _zero_jets(info))
  }
}
# Whether a residual is affine in jet i with a derivative that no jet and none
# of these coordinates changes. d: its dependence.
_has_fixed_slope(info, d, i, coords) = {
  n = len(info.coords)
  fine = true
  for k in list(...coords) { if d.factors[n + i][k] { fine = false } }
  for k in each(len(info.jets)) { if d.factors[n + i][n + k] { fine = false } }
  fine
}
_times_of(S) = if S.time < 0 { list() } else { list(S.time) }
_fields_in(info, q) = {
  n = 0
  for k in each(len(info.fields)) {
    here = 0
    for i in q.jets { if info.jets[i][0] == k { here = 1 } }
    n = n + here
  }
  n
}

# Returns how many components the rows of a condition depend on.
_components_in(info, c) = {
  found = list()
  for w in c.rows {
    on = _row_dependence(info, c.q, w.row)
    for (i, j) in enumerate(info.jets) {
      for a in each(_width(info, j[0])) {
        part = _first_component(info, j[0]) + a
        if on[i][a] and not contains(found, part) { found = push(found, part) }
      }
    }
  }
  len(found)
}
# Whether the values at the nodes of a condition can be eliminated line by line:
# the condition is linear in jets along the normal, with factors that depend
# only on the place.
_is_eliminable(info, S, c) =
  if c.p < 0 or c.rate or (S.T.count > 1 and _components_in(info, c) > len(c.rows)) { false } else {
    d = _residual_dependence(info, c.q)
    fine = true
    for (i, j) in enumerate(info.jets) {
      if d.depends[len(info.coords) + i] {
        if _jet_time(S, j) + c.shift >= S.levels[j[0]] { fine = false }
        for k in S.T.space { if k != c.q.at.coord and j[1 + k] > 0 { fine = false } }
        if not _has_fixed_slope(info, d, i, _times_of(S)) { fine = false }
      }
    }
    fine
  }
