# fv_boundaries.dsl - boundary conditions of fv.dsl, and the ghost cells that
# satisfy them.
#
# Needs: a system s, a method m and a grid from fv.dsl. Dataflow analysis of a
# condition's code proves which fields it contains.

# Returns the conditions at an end. told: those of each field. slopes: whether a
# condition has the field's derivative. together: whether a condition couples
# fields with conditions. whole: whether they determine the whole state and
# nothing diffuses. why: what fv() cannot impose, or "". A condition belongs to
# a field whose derivative it has, else to one whose value it has.
_fv_end(info, coord, side) = {
  fields = each(len(info.fields))
  (n, x) = (len(info.coords), info.coords[coord])
  (why, whole) = ("", not _fv_is_diffusive(info))
  slopes = map(k -> false, fields)
  found = list()
  for c in info.conditions {
    if c.at.coord == coord and c.at.side == side {
      d = _residual_dependence(info, c).depends
      (value, slope, steep) = (map(k -> false, fields), map(k -> false, fields), false)
      for (i, j) in enumerate(info.jets) {
        if d[n + i] {
          order = _jet_order(j)
          if order == 0 { value[j[0]] = true } else {
            if order == 1 and j[1 + coord] == 1 {
              slope[j[0]] = true
              (slopes[j[0]], steep, whole) = (true, true, false)
            } else {
              why =
                ("fv() meets values and first derivatives by {x} at an end of {x}, no rates and no "
                  "other derivatives: `{c.text}`; fd() meets such conditions")
            }
          }
        }
      }
      found =
        push(found, (c = c, has = map(k -> value[k] or slope[k], fields),
          own = if steep { slope } else { value }, width = _fv_width(info, c)))
    }
  }
  told = map(k -> list(), fields)
  room = map(k -> max(1, info.sizes[k]), fields)
  open = map(c -> true, found)
  for _ in each(len(found)) {
    # First the condition with the fewest choices.
    (next, at, least) = (-1, -1, n + len(fields) + 1)
    for (i, c) in enumerate(found) {
      (choice, first) = (0, -1)
      for k in fields {
        if c.own[k] and room[k] >= c.width { choice = choice + 1; if first < 0 { first = k } }
      }
      if open[i] and choice < least { (next, at, least) = (i, first, choice) }
    }
    open[next] = false
    if at < 0 {
      if why == "" {
        why =
          ("fv() takes at most one condition on each field at each end of {x}, and is left with "
            "`{found[next].c.text}`")
      }
    } else {
      told[at] = push(told[at], found[next].c)
      room[at] = room[at] - found[next].width
    }
  }
  for k in fields {
    if room[k] > 0 { whole = false }
    if why == "" and len(told[k]) > 0 and room[k] > 0 {
      why =
        ("fv() wants conditions on all components of {info.fields[k]} at an end of {x}, or on "
          "none; fd() and fem() take some")
    }
    if why == "" and len(told[k]) == 0 and slopes[k] {
      why =
        ("fv() has no condition that tells {info.fields[k]} at an end of {x}, where another has "
          "its slope; fd() meets such conditions")
    }
  }
  together = false
  for c in found {
    (known, waves) = (0, 0)
    for k in fields {
      if c.has[k] and len(told[k]) > 0 { known = known + 1 }
      if c.has[k] and not _fv_field_diffuses(info, k, coord) { waves = waves + 1 }
    }
    if known > 1 { together = true }
    # The waves decide at run time which of them enters.
    if why == "" and waves > 1 and not whole {
      why =
        ("fv() meets conditions on one field each at an end of {x} where waves go in and out, and "
          "this one has several: `{c.c.text}`; fd() meets such conditions")
    }
  }
  for k in fields { if len(told[k]) > 1 { together = true } }
  (told = told, slopes = slopes, together = together, whole = whole, why = why)
}
# Returns how many scalar equations a condition has.
_fv_width(info, c) = {
  r = c.residual((...map(i -> 0.1, info.coords),), _zero_jets(info))
  if kind(r) == "array" { if rank(r) > 0 { len(r) } else { 1 } } else { 1 }
}
# Whether a field's equation has second derivatives of it along a coordinate;
# _fv_is_diffusive: whether any equation has second derivatives.
_fv_field_diffuses(info, k, coord) = {
  found = false
  for term in info.equations[_fv_rows(info)[k]].terms {
    for j in term.jets {
      o = info.jets[j]
      if o[0] == k and o[1 + coord] + (if term.coord == coord { 1 } else { 0 }) > 1 { found = true }
    }
  }
  found
}
_fv_is_diffusive(info) = {
  found = false
  for q in info.equations {
    for term in q.terms {
      o = _fv_orders(info, term.jets)
      if o.second or (term.coord > 0 and o.first) { found = true }
    }
  }
  found
}
# Returns the reason why conditions at ends are not for fv(), or "".
_fv_why_not_ends(info) = {
  why = ""
  for coord in each(1, len(info.coords)) {
    for side in (0, 1) {
      if why == "" and not info.periodic[coord] { why = _fv_end(info, coord, side).why }
    }
  }
  why
}

# Returns the state of the ghost cell j cells outside of an end. U is the state
# j cells inside, and X a point on the end. Conditions are imposed on the mean
# of both and the difference quotient between them. Where the whole state is
# given and nothing diffuses, they are imposed on the ghost state alone. A field
# without a condition has the state `last`.
_fv_outside(s, coord, side, end, distance, X, U, last) = {
  out = if side == 0 { -1.0 } else { 1.0 }
  zero = _fv_zero(s)
  # The residual of a condition for a ghost state W.
  left = (c, W) -> {
    own = if end.whole { W } else { map(i -> 0.5 * (U[i] + W[i]), s.all) }
    slope = if end.whole { zero } else { map(i -> out * (W[i] - U[i]) / distance, s.all) }
    c.residual(X, _fv_jets(s, own, map(j -> if j == coord { slope } else { zero }, s.space),
      list(zero, zero, zero), zero))
  }
  values = map(k -> {
    q = end.told[k]
    inside = _fv_field(s, k, U)
    if len(q) == 0 { _fv_field(s, k, last) } else {
      if end.together {
        inside
      } else {
        _fv_meeting(v -> left(q[0], _fv_with(s, k, last, v)), inside)
      }
    }
  }, each(len(s.info.fields)))
  W = map(v -> v + 0.0, _fv_numbers(s, values))
  if not end.together { W } else {
    at = list()
    for k in each(len(s.info.fields)) {
      if len(end.told[k]) > 0 {
        for i in each(max(1, s.info.sizes[k])) { at = push(at, s.first[k] + i) }
      }
    }
    v = _fv_meeting_together(v -> {
      V = W
      for (i, a) in enumerate(at) { V[a] = v[i] }
      concat(...map(c -> ravel(left(c, V) + 0.0), _fv_flat(end.told)))
    }, stack(...map(a -> W[a], at)))
    for (i, a) in enumerate(at) { W[a] = v[i] }
    W
  }
}
# Returns a state with other values for field k.
_fv_with(s, k, U, v) = {
  size = s.info.sizes[k]
  map(i -> if i < s.first[k] or i >= s.first[k] + max(1, size) { U[i] } else {
    if size == 0 { v } else { v[i - s.first[k]] }
  }, s.all)
}
# Returns a root of r by Newton's method from v, in one step where r is proven
# affine. Without convergence the result is nan, which ends the time stepping
# with an error.
_fv_meeting(r, v) = {
  one = 1.0 + 0.0 * v
  turn = v -> { (y, d) = jvp(r, v, one); v - y / d }
  if _fv_is_affine(r, v) { turn(v) } else {
    w = v
    before = v
    for _ in each(20) { before = w; w = turn(w) }
    if kind(v) == "array" and rank(v) > 0 {
      where(abs(w - before) <= 1e-9 * (abs(v) + abs(w)), w, nan)
    } else { if abs(w - before) <= 1e-9 * (abs(v) + abs(w)) { w } else { nan } }
  }
}
# The same for several numbers and as many equations.
_fv_meeting_together(r, v) = {
  units = eye(len(v))
  turn = v -> v - linsolve(stack(...map(i -> jvp(r, v, units[i])[1], each(len(v))); axis = 1), r(v))
  if _fv_is_affine(r, v) { turn(v) } else {
    w = v
    before = v
    for _ in each(20) { before = w; w = turn(w) }
    where(max(abs(w - before)) <= 1e-9 * max(abs(v) + abs(w)), w, nan)
  }
}
# Whether a function is proven affine.
_fv_is_affine(r, v) = {
  bends = false
  for row in _dependence(r, v).factors { for b in row { if b { bends = true } } }
  not bends
}
# Returns, for each number of the state, whether a condition on its derivative
# is imposed at the end face. The whole flux there is that of the state at the
# face, so a condition on the flux holds to rounding.
_fv_meets_at_face(s, coord, side) = {
  out = map(i -> false, s.all)
  if s.diffuses {
    for (k, steep) in enumerate(s.ends[coord - 1][side].slopes) {
      if steep { for i in each(max(1, s.info.sizes[k])) { out[s.first[k] + i] = true } }
    }
  }
  out
}

# Returns U with g ghost cells on each side of an axis.
_fv_padded(s, grid, k, g, t, U) = {
  n = grid.n[k]
  if grid.periodic[k] {
    map(u -> concat(_fv_cut(u, k, n - g, n), u, _fv_cut(u, k, 0, g); axis = k), U)
  } else {
    low = list()
    high = list()
    others = each(s.dims)
    for j in each(g) {
      for side in list(0, 1) {
        end = s.ends[k][side]
        at = if side == 0 { j } else { n - 1 - j }
        edge = if side == 0 { 0 } else { n - 1 }
        inside = map(u -> _fv_cut(u, k, at, at + 1), U)
        last = map(u -> _fv_cut(u, k, edge, edge + 1), U)
        x = map(i -> if i == k {
          0.0 * inside[0] + (if side == 0 { grid.lo[k] } else { grid.hi[k] })
        } else {
          _fv_cut(grid.centres[i], k, 0, 1)
        }, others)
        v = _fv_each(s, (...a) -> {
          X = (t, ...map(i -> a[i], others))
          W = map(i -> a[s.dims + i], s.all)
          V = map(i -> a[s.dims + s.m + i], s.all)
          _fv_outside(s, k + 1, side, end, (2 * j + 1) * grid.h[k], X, W, V)
        }, list(...x, ...inside, ...last))
        if side == 0 { low = push(low, v) } else { high = push(high, v) }
      }
    }
    order = each(g)
    map(i -> concat(...map(j -> low[g - 1 - j][i], order), U[i], ...map(j -> high[j][i], order);
      axis = k), s.all)
  }
}
