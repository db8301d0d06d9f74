# fem_conditions.dsl - conditions of finite elements on the boundary: fixed
# values and given fluxes.
#
# Method: a condition on values (Dirichlet) fixes them at the nodes of its
# faces, one component in each row. A condition on first derivatives (Neumann,
# Robin) determines the flux q · n of the weak form (weak.dsl). The flux is
# solved for by the derivatives with respect to the normal derivatives, and is
# integrated over the faces. Conditions that do neither are refused.

# ---- conditions at points and faces

_no_rates(P) = (zeros(P.nc), zeros(P.nc, P.d, P.d))
# Returns a condition's residual at a point, as a vector.
_condition_at(P, c, t, x, z, normal) = {
  (v, H) = _no_rates(P)
  (at, jets) = (_fem_coords(P, t, x), _fem_jets(P, z, v, H, P.lambda))
  ravel(0.0 +
    (if _has_normal(c) {
      c.residual(at, jets, (...map(k -> normal[k], each(P.d)),))
    } else {
      c.residual(at, jets)
  }))
}
_has_normal(c) = c.at.coord < 0 and kind(c.at.point) == "none"
_at_start(P, c) = P.info.time >= 0 and c.at.coord == P.info.time
# Returns 0 for a condition on values only, 1 for one on first derivatives.
_condition_order(P, c) = {
  top = 0
  for k in c.jets {
    j = P.info.jets[k]
    space = 0
    for a in P.info.space { space = space + j[1 + a] }
    top = max(top, space)
    if P.info.time >= 0 {
      if j[1 + P.info.time] > 0 and not _at_start(P, c) {
        _refuse("fem() takes no rates in conditions on the boundary: `{c.text}`")
      }
    }
  }
  if top > 1 {
    _refuse(
      "fem() takes values and first derivatives in conditions on the boundary, not second ones: "
      "`{c.text}`")
  }
  top
}
# Returns the field that a condition determines: the field of its derivatives,
# if it has any.
_condition_field(P, c, order) = {
  found = -1
  for k in c.jets {
    j = P.info.jets[k]
    space = 0
    for a in P.info.space { space = space + j[1 + a] }
    if space == order and j[0] < P.nf {
      if found >= 0 and found != j[0] {
        _refuse("fem() takes conditions on one field each: `{c.text}`")
      }
      found = j[0]
    }
  }
  if found < 0 { _refuse("fem() finds no field in the condition `{c.text}`") }
  found
}

# Returns the indices of the faces on which a condition holds.
_faces_at(P, D, c) = if c.at.coord >= 0 {
  axis = _axis_of(P, c.at.coord)
  findall(abs(D.middle[.., axis] - c.at.value) < 1e-8 * D.width[axis])
} else if c.at.name == "boundary" { iota(len(D.middle)) } else {
  number = -1
  for (k, name) in enumerate(D.mesh.names) { if name == c.at.name { number = k } }
  if number < 0 {
    error(
      "fem(): the mesh has no part of its boundary that is called {c.at.name}; it has "
      "{join(D.mesh.names, ", ")}")
  }
  findall(D.mesh.tags == number)
}
_axis_of(P, coord) = {
  axis = 0
  for (k, a) in enumerate(P.info.space) { if a == coord { axis = k } }
  axis
}

# ---- fixed values

# Returns the values that conditions fix: a list of (condition, row, component,
# nodes).
_fixed_values(P, D, t) = {
  out = list()
  for c in P.info.conditions {
    if not _at_start(P, c) {
      if _condition_order(P, c) == 0 {
        f = _condition_field(P, c, 0)
        c0 = P.first[f]
        x0 = 0.6281 * min(D.X; axis = 0) + 0.3719 * max(D.X; axis = 0)
        normal = zeros(P.d)
        if not _is_linear(P.info, list(c)) {
          _refuse(
            "fem(): a condition on values fixes one component at a time, linearly; `{c.text}` does "
            "not")
        }
        S =
          jacobian(u -> _condition_at(P, c, t, x0, concat(expand(u, 1), zeros(P.nc, P.d); axis = 1),
            normal))(0.5 +
            0.1 * iota(P.nc))
        for r in each(len(S)) {
          own = abs(S[r])
          which = argmax(own)
          assert(own[which] > 0 and sum(own) <= own[which] * (1 + 1e-9),
            "fem(): a condition on values fixes one component at a time, linearly; `{c.text}` does "
            "not")
          nodes = if kind(c.at.point) != "none" { _node_at(D, c, c0) } else {
            on = _faces_at(P, D, c)
            table = _face_nodes(P.cell, P.orders[c0])
            here = D.dofs[D.owner[on]]
            columns = _local_starts(P)[c0] + table[D.side[on]]
            ravel(map((row, k) -> row[k], here, columns)) - D.starts[c0]
          }
          for b in out {
            if kind(c.at.point) == "none" and kind(b.condition.at.point) == "none" and
              _same_place(c, b.condition) and
              which == b.which {
              error(
                "fem(): `{b.condition.text}` and `{c.text}` of {P.info.name} both give one value, "
                "and one of them would be lost")
            }
          }
          # Components of one field have the same nodes.
          count = D.counts[c0]
          out =
            push(out, (condition = c, row = r, which = which, nodes = nodes + D.starts[c0] +
              (which - c0) * count))
        }
      }
    }
  }
  out
}
# Returns the node of component c0 at the point of a condition.
_node_at(D, c, c0) = {
  x = f64(stack(...c.at.point))
  far = sum((D.X[D.starts[c0]..D.starts[c0] + D.counts[c0]] - x)^2; axis = 1)
  i = argmin(far)
  assert(sqrt(far[i]) < 1e-6 * max(D.width),
    "fem(): no node of the mesh is where `{c.text}` says; the nearest is at "
    "{D.X[D.starts[c0] + i]}")
  concat([0], expand(i, 0))[1..]
}
# Returns U with the fixed values at t.
_with_fixed(P, D, fixed, t, U) = {
  for q in fixed {
    U[q.nodes] = map(x -> _told_value(P, q.condition, t, x, q.row, q.which), D.X[q.nodes])
  }
  U
}
# Returns the value of component `which` from row r of a condition, which is
# linear in it.
_told_value(P, c, t, x, r, which) = {
  at = v -> _condition_at(P, c, t, x,
    expand(v * f64(iota(P.nc) == which), 1) * f64(iota(1 + P.d) == 0), zeros(P.d))[r]
  a = at(0.0)
  -a / (at(1.0) - a)
}

# ---- fluxes

# Returns the fluxes that conditions on derivatives determine: a list of
# (conditions, field, faces). The flux is that of the equation tested with the
# functions of this field. It depends on derivatives in the conditions at one
# place, given with their fields. In a system this need not be the field's own
# equation.
_fluxes(P, D, t) = {
  told = list()
  for c in P.info.conditions {
    if not _at_start(P, c) {
      if _condition_order(P, c) == 1 {
        if kind(c.at.point) != "none" {
          _refuse("fem() takes slopes on the boundary, not at a point: `{c.text}`")
        }
        told = push(told, (condition = c, field = _condition_field(P, c, 1)))
      }
    }
  }
  out = list()
  used = map(c -> false, told)
  for (k, first) in enumerate(told) {
    # Each place once.
    new = true
    for c in told[..k] { if _same_place(c.condition, first.condition) { new = false } }
    if new {
      on = _faces_at(P, D, first.condition)
      for g in each(P.nf) {
        own = list()
        for (i, c) in enumerate(told) {
          if _same_place(c.condition, first.condition) and _bends_by(P, g, c.field) {
            own = push(own, c);
            used[i] = true
          }
        }
        if len(own) > 0 {
          _refuse_lost(P, own, g)
          e = stop_gradient(_flux_defect(P, D, own, g, t, on))
          if not (e < 1e-8) {
            error(
              "fem(): `{own[0].condition.text}` does not give the flux of its equation, A "
              "∇{P.info.fields[own[0].field]} · n, where A is what stands before the second "
              "derivatives")
          }
          out = push(out, (conditions = own, field = g, faces = on))
        }
      }
    }
  }
  for (i, c) in enumerate(told) {
    if not used[i] {
      _refuse(
        "fem() finds no flux that `{c.condition.text}` gives: no equation has second derivatives "
        "of {P.info.fields[c.field]}")
    }
  }
  out
}
_same_place(a, b) = a.at.coord == b.at.coord and a.at.side == b.at.side and a.at.name == b.at.name
# Whether the equation that is tested with the functions of field g has second
# derivatives of field f.
_bends_by(P, g, f) = {
  any = false
  for k in P.info.equations[P.eqs[g]].jets {
    j = P.info.jets[k]
    space = 0
    for a in P.info.space { space = space + j[1 + a] }
    if j[0] == f and space == 2 { any = true }
  }
  any
}
# Refuses a flux condition that would be lost: where values of g are given at
# the same place, its equation is not tested there. An example is a clamped
# plate as two equations.
_refuse_lost(P, own, g) = {
  c0 = own[0].condition
  for c in P.info.conditions {
    if not _at_start(P, c) and P.info.sizes[g] == 0 {
      if _condition_order(P, c) == 0 and kind(c.at.point) == "none" {
        if _condition_field(P, c, 0) == g and _same_place(c, c0) {
          _refuse(
            "fem() would lose `{c0.text}`: it gives the flux of an equation whose functions "
            "`{c.text}` holds at 0 there; "
            "{if P.d == 1 { "fd(), chebyshev() or collocation()" } else { "fd() or chebyshev()" }} "
            "may serve this")
        }
      }
    }
  }
}
# Returns q · n of the rows of field f.
_normal_flux(P, rule, t, x, z, n, f) = {
  c = P.first[f]
  (_flux(P, rule, t, x, z, zeros(P.nc), P.lambda) @ n)[c..c + max(1, P.info.sizes[f])]
}
# Returns the flux q·n under conditions b == 0: q·n - Q B⁻¹ b, where Q and B are
# the derivatives of q·n and b with respect to the normal derivatives. This is
# correct where b is γ q·n plus terms with tangential derivatives only, and both
# are linear in first derivatives. The result then does not depend on normal
# derivatives. Tangential ones remain where mixed derivatives may be split among
# q's components in several ways, as in elasticity; across faces between cells
# their contributions cancel.
_given_flux(P, rule, cs, g, t, x, z, n) = {
  q = _told_by(P, rule, cs, g, t, x, z, n)
  # At a coordinate singularity, such as 1/r*r at r = 0, use the value just
  # inside.
  inside = _told_by(P, rule, cs, g, t, x - 1e-9 * (1e-3 + abs(x)) * n, z, n)
  where(abs(q) < inf, q, inside)
}
_told_by(P, rule, cs, g, t, x, z, n) = {
  q = _normal_flux(P, rule, t, x, z, n, g)
  Q = _slopes_across(y -> _normal_flux(P, rule, t, x, y, n, g), z, n)
  for o in _told_fields(P, cs) {
    m = len(o.components)
    columns = P.first[o.field] + stack(...o.components)
    of = y -> concat(...map(c -> _condition_at(P, c.condition, t, x, y, n), o.conditions))
    b = of(z)
    B = _slopes_across(of, z, n)[.., columns]
    # A condition without derivatives at this place, such as r*u_r at r = 0, is
    # either trivial or inconsistent.
    lost = max(abs(stop_gradient(B))) == 0
    free = if m == 1 { b / where(lost, 1.0, B[.., 0]) } else { linsolve(where(lost, eye(m), B), b) }
    q = q - Q[.., columns] @ where(lost, where(b == 0, 0.0, nan), free)
    # Components without derivatives in any condition have zero flux, or given
    # values.
    if o.field == g and m < len(q) {
      q = q * f64(map(k -> any(stack(...o.components) == k), iota(len(q))))
    }
  }
  q
}
# Returns conditions on derivatives at one place, grouped by field, with the
# components whose derivatives they contain, proven from their code.
_told_fields(P, cs) = {
  (fields, out) = (list(), list())
  for c in cs { if not contains(fields, c.field) { fields = push(fields, c.field) } }
  for f in fields {
    (own, components) = (list(), list())
    for c in cs { if c.field == f { own = push(own, c) } }
    for a in each(max(1, P.info.sizes[f])) {
      has_it = false
      for c in own { if _tells_slope(P, c.condition, f, a) { has_it = true } }
      if has_it { components = push(components, a) }
    }
    out = push(out, (field = f, conditions = own, components = components))
  }
  out
}
# Whether a condition has first derivatives of component a of field f.
_tells_slope(P, c, f, a) = {
  any_ = false
  for r in each(max(1, c.rows)) {
    on = _row_dependence(P.info, c, r)
    for (i, j) in enumerate(P.info.jets) {
      space = 0
      for d in P.info.space { space = space + j[1 + d] }
      if j[0] == f and space == 1 { if on[i][a] { any_ = true } }
    }
  }
  any_
}
# Returns the derivatives of g with respect to the normal derivatives of all
# components: f64[rows, nc].
_slopes_across(g, z, n) =
  _jacobian(s -> g(z + concat(zeros(len(s), 1), expand(s, 1) * n; axis = 1)), 0 * z[.., 0])
# Returns how much a flux from conditions still depends on the normal
# derivatives, tested at a few faces with generic values.
_flux_defect(P, D, cs, g, t, on) = {
  whole = true
  for o in _told_fields(P, cs) {
    rows = 0
    for c in o.conditions { rows = rows + max(1, c.condition.rows) }
    n = len(o.components)
    if n != rows or n == 0 or (o.field != g and n != max(1, P.info.sizes[o.field])) {
      whole = false
    }
  }
  if not whole { 1.0 } else if len(on) == 0 { 0.0 } else {
    k = min(3, len(on))
    R = map(e -> {
      (x, n) = (D.middle[e], D.normals[e])
      z = 0.3 + mod(0.618 * reshape(iota(P.nc * (1 + P.d)), P.nc, 1 + P.d), 1.0)
      left = _slopes_across(y -> _given_flux(P, D.nodes, cs, g, t, x, y, n), z, n)
      Q = _slopes_across(y -> _normal_flux(P, D.nodes, t, x, y, n, g), z, n)
      stack(max(abs(left)), 1e-300 + max(where(abs(Q) < inf, abs(Q), 1.0)))
    }, on[iota(k) * len(on) // k])
    max(where(R[.., 0] == 0, 0.0, R[.., 0] / R[.., 1]))
  }
}

# Returns the data at the quadrature points of face `side` of a cell: weights,
# shape functions, the transformation of their derivatives, points, values and
# derivatives, outer normals.
_on_face(P, D, places, side, U) = {
  (det, I, x) = _drawn(D, places, D.face_drawing[0][side], D.face_drawing[1][side])
  inward = I -> _inward_slopes(P.cell, I)[side]
  g = if rank(I) == 2 { 0 * x + inward(I) } else { map(inward, I) }
  length = sqrt(sum(g^2; axis = 1))
  (T, F) = (map(T -> T[side], D.face_tables), _turning(I))
  (D.face_rule[1] * abs(det) * length, T, F, x, _at_points(P, T, F, U), -g / expand(length, 1))
}
# Returns residual and Jacobian of one face with a given flux, with respect to
# all unknowns of its cell.
_face_forms(P, D, cs, f, t, places, side, U) = {
  (W, T, F, x, z, n) = _on_face(P, D, places, side, U)
  c0 = P.first[f]
  (above, below) = (zeros(c0), zeros(P.nc - c0 - max(1, P.info.sizes[f])))
  at = (x, z, n) -> concat(expand(concat(above, _given_flux(P, D.nodes, cs, f, t, x, z, n), below),
    1), zeros(P.nc, P.d);
    axis = 1)
  J = map((x, z, n) -> _jacobian(y -> ravel(at(x, reshape(y, P.nc, 1 + P.d), n)), ravel(z)), x, z,
    n)
  (_tested(P, T, W, F, map(at, x, z, n)),
    _tested_twice(P, T, none, W, F, reshape(J, -1, P.nc, 1 + P.d, P.nc, 1 + P.d)))
}
