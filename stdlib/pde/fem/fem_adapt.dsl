# fem_adapt.dsl - error estimates and adaptive meshes for finite elements:
# integrals and fluxes of solutions, errors of the gradient and of goals,
# refinement.
#
# Method: estimates use a richer space, the elements of one order more on the
# same mesh. One Newton step there from the solution u_h is w = -A⁻¹ R; |w|
# estimates the error of u_h. J'(w) = -z · R with A' z = J' estimates the error
# of a goal J(u_h): the residual weighted by the dual solution (Becker and
# Rannacher, Acta Numerica 10, 2001). Each estimate solves one linear problem,
# also for nonlinear equations. The indicator compares gradients with their
# continuous average at the nodes (Zienkiewicz and Zhu 1987).

_check_options(P, m, o) = {
  if kind(o.guess) != "none" and (P.eigen or P.info.time >= 0) {
    _refuse("fem() begins with a guess for problems in space alone, and {P.info.name} is none")
  }
  if (m.linear == "cg" or m.linear == "amg") and (P.eigen or P.info.time >= 0) {
    _refuse(
      "fem(linear = \"{m.linear}\") is for problems in space alone, and {P.info.name} is none")
  }
  if kind(m.goal) != "none" and kind(m.adapt) == "none" {
    _refuse(
      "fem(goal = ...) says for what the mesh is refined; by how much, adapt says: fem(adapt = "
      "1e-3, goal = ...)")
  }
  if kind(m.adapt) != "none" {
    if P.eigen or P.info.time >= 0 {
      _refuse(
        "fem(adapt = ...) refines the mesh of problems in space alone; of {P.info.name} the mesh "
        "can be made before: fem(mesh = refine(m; marked = ...))")
    }
    if P.cell.boxes {
      _refuse(
        "fem(adapt = ...) cuts some cells in two, which simplices allow; boxes of which some are "
        "cut have no common faces")
    }
    if not (m.adapt > 0) {
      error(
        "fem(adapt = ...) takes the relative error that is wanted, a positive number, not "
        "{m.adapt}")
    }
  }
}

# ---- integrals

# Returns the argument of a user's function at a point: x, the fields by name,
# slopes (a record of their gradients), and on the boundary normal.
_point_of(P, x, z, normal) = {
  names = map(f -> P.info.fields[f], each(P.nf))
  value = f -> {
    c = P.first[f];
    if P.info.sizes[f] == 0 { z[c, 0] } else { z[c..c + P.info.sizes[f], 0] }
  }
  slope = f -> {
    c = P.first[f];
    if P.info.sizes[f] == 0 { z[c, 1..] } else { z[c..c + P.info.sizes[f], 1..] }
  }
  q = (...record(names, map(value, each(P.nf))), x = x,
    slopes = record(names, map(slope, each(P.nf))))
  if kind(normal) == "none" { q } else { (...q, normal = normal) }
}
_integral_inside(P, D, U, f) = sum(map((p, u) -> {
  (W, _, x, z, _) = _cell_points(P, D, p, u, 0 * u)
  W @ map((x, z) -> 0.0 + f(_point_of(P, x, z, none)), x, z)
}, D.places, U[D.dofs]); axis = 0)
_integral_on(P, D, U, f, part) = {
  faces = _faces_of_part(D, part)
  cells = D.owner[faces]
  sum(map((p, s, u) -> {
    (W, _, _, x, z, n) = _on_face(P, D, p, s, u)
    W @ map((x, z, n) -> 0.0 + f(_point_of(P, x, z, n)), x, z, n)
  }, D.places[cells], D.side[faces], U[D.dofs[cells]]); axis = 0)
}
_faces_of_part(D, part) = if part == "boundary" { iota(len(D.middle)) } else {
  number = _number_of(part, D.mesh.names)
  if number < 0 {
    error(
      "fem(): the mesh has no part of its boundary that is called {part}; it has "
      "{join(D.mesh.names, ", ")}")
  }
  findall(D.mesh.tags == number)
}
# Returns ∮ q · n over a part of the boundary from the residual there, which
# converges at twice the order of the gradient (Carey 1982). The result is a
# record, a number or vector for each field.
_flux_through(P, D, U, part) = {
  r = map((p, u) -> {
    (W, F, x, z, v) = _cell_points(P, D, p, u, 0 * u)
    _tested(P, D.tables, W, F, map((x, z, v) -> _weak_at(P, D.nodes, 0.0, x, z, v, 0.0), x, z, v))
  }, D.places, U[D.dofs])
  R = zeros(D.total)
  R[ravel(D.dofs)] += ravel(r)
  on = _faces_of_part(D, part)
  here = D.dofs[D.owner[on]]
  of = c -> {
    columns = _local_starts(P)[c] + _face_nodes(P.cell, P.orders[c])[D.side[on]]
    -sum(R[unique(ravel(map((row, k) -> row[k], here, columns)))])
  }
  all = f -> {
    m = P.info.sizes[f]
    if m == 0 { of(P.first[f]) } else { stack(...map(i -> of(P.first[f] + i), each(m))) }
  }
  record(map(f -> P.info.fields[f], each(P.nf)), map(all, each(P.nf)))
}

# ---- estimates

# Returns the problem in elements of one order more: the solution there (V), the
# same with fixed values (W), the residual of the unknowns and their matrix.
_enriched(P, D, m, U) = {
  top = 1
  for k in P.orders { top = max(top, k) }
  Q = (...P, orders = map(k -> k + 1, P.orders))
  E =
    _discrete(Q, D.mesh, (...m, degree = if m.degree > 0 { max(m.degree, 2 * top + 2) } else { 0 }))
  V = zeros(E.total)
  (s, t) = (_local_starts(P), _local_starts(Q))
  for c in each(P.nc) {
    B = _shapes(_element(P.cell, P.orders[c]), _node_places(P.cell, Q.orders[c]))
    V[E.dofs[.., t[c]..t[c + 1]]] = U[D.dofs[.., s[c]..s[c + 1]]] @ B'
  }
  fixed = _fixed_values(Q, E, 0.0)
  (number, free) = _free_unknowns(E, fixed)
  W = _with_fixed(Q, E, fixed, 0.0, V)
  fluxes = _fluxes(Q, E, 0.0)
  (R, A) =
    _assembled(Q, E, _pattern_of(Q, E, fluxes, number, len(free)), fluxes, 0.0, 0.0, W, 0 * W)
  (P = Q, D = E, V = V, W = W, R = R, A = A, free = free)
}
# Returns for each cell the squared norm of the fields: of the gradient, for a
# pressure of its values.
_cell_norms(P, D, U) = {
  held =
    concat(...map(f -> zeros(max(1, P.info.sizes[f])) +
      (if _is_multiplier(P.info, P.eqs, f, P.nf) { 1.0 } else { 0.0 }),
      each(P.nf)))
  weight = concat(expand(held, 1), expand(1 - held, 1) + zeros(P.nc, P.d); axis = 1)
  map((p, u) -> {
    (W, _, _, z, _) = _cell_points(P, D, p, u, 0 * u);
    sum(expand(expand(W, 1), 2) * weight * z^2)
  }, D.places,
    U[D.dofs])
}
# Returns the relative error of the gradient, in the root mean square.
_slopes_missing(P, D, m, U) = {
  e = _enriched(P, D, m, U)
  better = e.W
  better[e.free] -= _step_of(e.P, _systems(e.P, e.D, m, e.A, e.free), e.A, e.R[e.free])[0]
  sqrt(sum(_cell_norms(e.P, e.D, better - e.V)) / max(1e-300, sum(_cell_norms(e.P, e.D, better))))
}
# Returns J(u) - J(u_h) and its distribution over the cells.
_goal_error(P, D, m, U, goal) = {
  e = _enriched(P, D, m, U)
  place = _place_in(e.D)
  J = V -> 0.0 + goal(_fem_functions(e.P, e.D, place, V))
  value = J(e.V)
  assert(rank(value) == 0,
    "error_in(goal): the goal is one number, such as s -> s.u(0.5, 0.5) or s -> s.integral(q -> "
    "q.u)")
  z = 0 * e.W
  z[e.free] = _step_of(e.P, _systems(e.P, e.D, m, e.A', e.free), e.A', grad(J)(e.W)[e.free])[0]
  # Subtracts the part of z in the solution's own elements, since their residual
  # is 0 (Galerkin orthogonality).
  (s, t) = (_local_starts(P), _local_starts(e.P))
  rest = z
  for c in each(P.nc) {
    low = _element(P.cell, P.orders[c])
    high = _element(P.cell, e.P.orders[c])
    down = _shapes(high, _node_places(P.cell, P.orders[c]))
    up = _shapes(low, _node_places(P.cell, e.P.orders[c]))
    own = e.D.dofs[.., t[c]..t[c + 1]]
    rest[own] = z[own] - z[own] @ (up @ down)'
  }
  share = zeros(e.D.total)
  share[ravel(e.D.dofs)] += 1.0
  local = abs(rest * e.R) / share
  correction = J(e.W) - value - sum(z[e.free] * e.R[e.free])
  (value = value, correction = correction, corrected = value + correction,
    relative = abs(correction) / max(1e-300, abs(value + correction)),
    indicator = sum(local[e.D.dofs]; axis = 1))
}

# ---- indicator of the gradient's error

# Returns the points where derivatives of an element of order k are accurate to
# order k + 1, and the matrix from there to its nodes. For boxes these are the
# Gauss points with k in each coordinate (Zlámal 1978). Simplices have none, so
# their nodes are used. For odd orders the errors at nodes have opposite signs
# on both sides, and cancel in the average.
_good_slopes(cell, k) = if cell.boxes {
  k = _known(k, "the order")
  (x, _) = gauss_legendre(k; a = 0.0, b = 1.0)
  powers = x -> _simplex_monomials(expand(x, 1), 1, k - 1)
  line = powers(_line_nodes(k)) @ inv(powers(x))
  (from, to) = (_box_places(cell.d, k - 1), _box_places(cell.d, k))
  spread = 1.0
  for a in each(cell.d) { spread = spread * line[to[.., a]][.., from[.., a]] }
  (x[from], spread)
} else { (_node_places(cell, k), eye(1)) }
# Returns for each cell the norm of the difference between the gradient and its
# continuous average at the nodes (Zienkiewicz and Zhu 1987), summed over all
# components.
_slope_errors(P, D, U) = {
  total = zeros(len(D.cells))
  s = _local_starts(P)
  for c in each(P.nc) {
    el = _element(P.cell, P.orders[c])
    dofs = D.dofs[.., s[c]..s[c + 1]]
    # Small cells have more accurate derivatives than large neighbours.
    size_ = p -> 1 / abs(_det_inverse(_directions_of(p), P.d)[0])
    nodes = _node_places(P.cell, P.orders[c])
    (spots, spread) = _good_slopes(P.cell, P.orders[c])
    slopes_at = ξ -> {
      (S, drawing) = (_shape_slopes(el, ξ), _drawing(P.d, D.bend, ξ))
      (p, u) -> {
        (_, I, _) = _drawn(D, p, ...drawing)
        B = _drawn_slopes(S, I)
        [sum(B[n, i, a] * u[i] for i) for n, a]
      }
    }
    V = map(size_, D.corners)
    G = map(slopes_at(nodes), D.places, U[dofs])
    best = if P.cell.boxes and P.orders[c] % 2 == 0 {
      at = slopes_at(spots);
      map((p, u) -> spread @ at(p, u), D.places, U[dofs])
    } else {
      G
    }
    (sums, weights) = (zeros(D.total, P.d), zeros(D.total))
    sums[ravel(dofs)] += reshape(best * expand(expand(V, 1), 2), -1, P.d)
    weights[ravel(dofs)] += ravel(0 * dofs + expand(V, 1))
    smooth = sums / expand(weights, 1)
    one = (p, g, r) -> {
      (det, _, _) = _drawn(D, p, ...D.drawing)
      E = D.tables[c][.., .., 0] @ (r - g)
      sum(D.rule[1] * abs(det) * sum(E^2; axis = 1))
    }
    total = total + map(one, D.places, G, smooth[dofs])
  }
  sqrt(total)
}

# ---- adaptive meshes

# The loop solve, estimate, mark, refine. Averaged gradients mark the cells in
# each iteration; elements of one order more decide when to stop.
_fem_adaptive(P, M, m, o) = {
  # In a form whose types do not change between iterations.
  pinned =
    M -> (...M, points = reshape(M.points, -1, P.d), cells = reshape(M.cells, -1, P.d + 1),
      faces = reshape(M.faces, -1, P.d))
  M = pinned(_to_be_bisected(M))
  (factor, e, turns, done) = (1.0, inf, 1, false)
  D = _discrete(P, M, m)
  U = _fem_values(P, D, m,
    if kind(o.guess) == "none" { zeros(D.total) } else { _guess_at_nodes(P, D, o.guess) })[0]
  while not done {
    D = (...D, bend = m.bend)
    full = D.total >= m.max_unknowns
    (share, e, factor) = _where_and_how_much(P, D, m, stop_gradient(U), factor, full)
    done = e <= m.adapt or full
    if not done {
      M = pinned(refine(M; marked = _bulk(share)))
      E = _discrete(P, M, m)
      U = _fem_values(P, E, m,
        _guess_at_nodes(P, E, _fem_functions(P, D, _place_in(D), stop_gradient(U))))[0]
      D = E
      turns = turns + 1
    }
  }
  s = _fem_steady(P, (...D, bend = m.bend), m, (...o, guess = none), U)
  (...s, error = e, stats = (...s.stats, meshes = turns))
}
# Returns each cell's part of the error, and the relative error. The richer
# elements are used only where the error may be small enough; factor is the
# ratio of their last estimate to the averaged one.
_where_and_how_much(P, D, m, U, factor, full) = if kind(m.goal) != "none" {
  r = _goal_error(P, D, m, U, m.goal)
  (stop_gradient(r.indicator), stop_gradient(r.relative), factor)
} else {
  share = stop_gradient(_slope_errors(P, D, U)^2)
  rough = sqrt(sum(share) / max(1e-300, sum(_cell_norms(P, D, U))))
  if factor * rough <= m.adapt or full {
    sharp = stop_gradient(_slopes_missing(P, D, m, U))
    (share, sharp, sharp / max(1e-300, rough))
  } else { (share, factor * rough, factor) }
}
# Marks the fewest cells that have half of the total (Dörfler 1996).
_bulk(share) = {
  order = argsort(-share)
  total = cumsum(share[order])
  count = 1 + sum(total < 0.5 * total[-1])
  marked = zeros(len(share))
  marked[order[..min(count, len(share))]] = 1.0
  marked > 0
}
