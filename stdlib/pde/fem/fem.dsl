# fem.dsl - finite elements: assembly of a weak form (weak.dsl) on a mesh
# (mesh.dsl), Newton's method, adaptive meshes, and solutions as functions.
#
# Unknowns are nodal values, component after component. One function of a cell
# yields the residual and the exact Jacobian. It is mapped over all cells, and
# its results are scattered into a sparse matrix whose pattern is computed once.

# fem(h, order; mesh, degree, steps, near, path, adapt, goal, max_unknowns,
# linear, cells): finite elements of order 1, 2 or 3 on intervals, triangles or
# tetrahedra of about size h.
#   It solves equations and systems of second order in space that have a weak
#   form: -div(a(x, u, ∇u) ∇u) and terms of lower order. They may be in space
#   alone, have a first derivative in t, or an eigenvalue; domains are boxes and
#   regions. A field that its own equation does not contain (a pressure) has
#   elements of one order less: Taylor-Hood elements.
#   Conditions are values (Dirichlet), or with ∂n the flux (Neumann, Robin).
#   Without a condition the flux is 0. Where Newton's method does not converge,
#   continuation increases the nonlinear terms gradually, which for flow is
#   continuation in the Reynolds number. A guess is the initial iterate, as are
#   solutions on a coarser mesh.
#   cells: "simplices", or "boxes" for rectangles and boxes. Boxes have products
#   of polynomials of degree 1, 2 or 3 in each coordinate (Q1, Q2, Q3), which
#   are more accurate for smooth solutions with as many unknowns.
#   mesh: a mesh to use instead (of mesh(region, h), mesh("part.msh"), refine(m)
#   ...).
#   degree: the polynomial degree that quadrature integrates exactly.
#   steps: the maximum number of Newton steps.
#   near: the eigenvalues nearest to this number are computed; 0 by default.
#   path: the number of nodes of the integral over derivatives that defines the
#   flux. It is needed (as 8) where coefficients of second derivatives depend on
#   first derivatives; else 1.
#   adapt: the relative error wanted, for problems in space alone. The mesh is
#   refined where the error of the gradient is largest. It stops when elements
#   of one order more estimate an error below adapt, or at max_unknowns. Without
#   h the initial cells are an eighth of the region's width.
#   goal: a function of the solution with a number as its value, such as s ->
#   s.u(0.5, 0.5) or s -> s.integral(q -> q.u); adapt then controls the error of
#   this value. solution.error is the estimate.
#   linear: "direct" uses sparse factors. Two others use conjugate gradients,
#   for problems in space alone with a symmetric positive definite matrix: "amg"
#   with algebraic multigrid (amg), "cg" with the diagonal as preconditioner.
#   "auto" uses multigrid in three dimensions from 20,000 unknowns where the
#   matrix is symmetric and conjugate gradients converge, else factors.
#   solution.stats.linear and explain(solution) report the choice and the
#   iterations.
#   The solution's fields are functions of the coordinates; it also has
#   solution.mesh, solution.stats and solution.error. A problem in space alone
#   also has the following functions.
#   solution.integral(f; at): the integral of f(q) over the mesh, or with at
#   over a part of the boundary. q has x, the fields by name, slopes (a record
#   of their gradients), and on the boundary normal.
#   solution.flux(part): a record of ∮ q · n for each field, where F = div q + S
#   is its equation, left side minus right. It converges at twice the order of
#   the integral of gradients.
#   solution.indicator(): for each cell an estimate of the error of the gradient
#   there, by which refine can mark cells.
#   solution.slopes_error(): the relative error of the gradient (of a pressure,
#   its values) in the root mean square, estimated by elements of one order
#   more.
#   solution.error_in(goal): the goal's value, correction (an estimate of its
#   signed error), corrected (their sum), relative, and indicator, the error's
#   distribution over the cells [dual weighted residuals: Becker and Rannacher,
#   Acta Numerica 10, 2001].
#   Errors: a problem without such a form; an h above the length of the domain;
#   boxes on another region or with adapt; conditions that determine neither
#   values nor the flux; unknowns determined only up to a constant; Newton's
#   method that does not converge.
#     problem poisson {
#       domain x in [0, 1], y in [0, 1]
#       field u
#       -u_xx - u_yy == 1
#       u == 0 at x = 0, x = 1, y = 0, y = 1
#     }
#     solve(poisson, fem(h = 1/16, order = 2)).u(0.5, 0.5)   #~ 0.0736713532815138 tol 1e-5
#     solve(poisson, fem(h = 1/16, order = 2, cells = "boxes")).u(0.5, 0.5)   #~ 0.0736713532815138 tol 1e-6
#     solve(poisson, fem(order = 2, adapt = 1e-2)).error < 1e-2     #> true
#     solve(poisson, fem(h = 1/8)).error_in(s -> s.u(0.5, 0.5)).corrected    #~ 0.0736713532815138 tol 1e-3
fem(h = none, order = 1; mesh = none, degree = 0, steps = 30, near = 0.0, path = 1, max_steps = 0,
  adapt = none, goal = none, max_unknowns = 200000, linear = "auto", cells = none) =
  (name = "fem", h = h, order = order, mesh = mesh, degree = degree, steps = steps, near = near,
    path = path, max_steps = max_steps, adapt = adapt, goal = goal, max_unknowns = max_unknowns,
    cells = if kind(cells) == "none" {
      none
    } else {
      ("simplices", "boxes")[_one_of("fem has the cells", cells, list("simplices", "boxes"))]
    },
    linear = _linear_of(linear), solve = _solve_fem, others = _fem_others,
    takes_guess = true)

_linear_of(word) = {
  _one_of("fem has the linear solvers", word, list("auto", "direct", "cg", "amg"))
  word
}
_solve_fem(info, m, o) =
  if info.eigen != "" and len(info.coords) == 1 { _fem_line_modes(info, m, o) } else {
    _solve_weak(info, m, o)
  }
_solve_weak(info, m, o) = {
  info = _with_plain_starts(info)
  order = _known(m.order, "the order of the elements")
  if order < 1 or order > 3 { _refuse("fem() has elements of order 1, 2 and 3, not {order}") }
  P = _weak_problem(info, "fem", order)
  M = _fem_mesh(info, m, P.d)
  P = (...P, cell = _cell_of(M, P.d))
  _check_options(P, m, o)
  m = (...m, bend = _bend_of(M, order))
  D = _discrete(P, M, m)
  t0 = if info.time >= 0 { info.lo[info.time] } else { 0.0 }
  _check_form(P, D, m, t0)
  if P.eigen { _fem_eigen(P, D, m, o) } else if info.time >= 0 { _fem_lines(P, D, m, o) }
  else if kind(m.adapt) != "none" { _fem_adaptive(P, M, m, o) } else { _fem_steady(P, D, m, o) }
}

_fem_mesh(info, m, d) = if kind(m.mesh) != "none" {
  assert(shape(m.mesh.points)[1] == d,
    "fem(): {info.name} has {d} space coordinates, its mesh is of {shape(m.mesh.points)[1]} "
    "dimensions")
  # In one coordinate both are intervals.
  own = if has(m.mesh, "axes") { "boxes" } else { "simplices" }
  if d > 1 and kind(m.cells) != "none" {
    if m.cells != own {
      _refuse(
        "fem(cells = \"{m.cells}\") is given a mesh of {own}; its cells are what the mesh has")
    }
  }
  m.mesh
} else {
  r = if kind(info.region) != "none" {
    info.region
  } else {
    box(...map(a -> (info.lo[a], info.hi[a]), list(...info.space)))
  }
  if kind(m.h) != "none" {
    wide = max(r.hi - r.lo)
    assert(f64(m.h) <= wide * (1 + 1e-9),
      "fem(h = {m.h}): such cells are larger than the whole domain of {info.name}, which is "
      "{wide:.3g} long; h is their size in units of the coordinates")
  }
  # Coefficients that jump along a coordinate do so between cells, so that no
  # jump is inside a cell.
  cuts = if r.region != "box" { list() } else {
    map(a -> _primal(() -> _places_of_switches(info, a, false, true)), list(...info.space))
  }
  jumps = false
  for c in cuts { jumps = jumps or not _is_fixed(len(c)) }
  # An adaptive mesh begins coarse.
  h = if kind(m.h) != "none" or kind(m.adapt) == "none" { m.h } else { max(r.hi - r.lo) / 8 }
  r = if jumps {
    own = if kind(h) == "none" { max(r.hi - r.lo) / 32 } else { f64(h) }
    (...r, cuts = cuts, parts = 8, h = own, base = (h = own, parts = 8))
  } else { r }
  if kind(m.cells) != "none" and r.region != "box" {
    if m.cells == "boxes" {
      _refuse(
        "fem(cells = \"boxes\") serves intervals, rectangles and boxes; {info.name} is on another "
        "region, which simplices fill: fem(h, order)")
    }
  }
  mesh(r, h; cells = if kind(m.cells) == "none" { "simplices" } else { m.cells })
}

# Returns the quadrature degree for problems that jump within cells: enough
# points to resolve the part of a cell beyond the jump to a few hundredths.
_degree_for_jumps(d) = if d == 1 { 30 } else if d == 2 { 14 } else { 8 }

# ---- data that stays constant during a solve

_discrete(P, M, m) = {
  (d, cell) = (P.d, P.cell)
  cells = if cell.boxes { M.cells } else { _ascending(M.cells) }
  orders = P.orders
  top = 1
  for k in orders { top = max(top, k) }
  degree = if m.degree > 0 {
    m.degree
  } else if _jumps_across(P.info) {
    max(2 * top, _degree_for_jumps(d))
  } else if top == 1 {
    2
  } else {
    2 * top
  }
  rule = _cell_rule(cell, degree)
  # Unknowns: the first node of each component, and those of each cell.
  starts = list()
  dofs = list()
  places = list()
  total = 0
  (owner, side) =
    if cell.boxes { _grid_sides(M.axes) } else { _owners(cells, M.faces, len(M.points)) }
  corners = M.points[_framed(cell, cells)]
  bent = if m.bend == 1 { corners } else { _bent_places(M, cells, owner, side, m.bend) }
  spaces = map(k -> _drawn_nodes(_nodes(M, cells, k), bent, cell, k, m.bend), each(1, top + 1))
  for k in orders {
    (count, nodes, X) = spaces[k - 1]
    starts = push(starts, total)
    dofs = push(dofs, nodes + total)
    places = push(places, X)
    total = total + count
  }
  counts = map(k -> spaces[k - 1][0], orders)
  X = concat(...places; axis = 0)
  (face_rule, face_points) = _face_rule(cell, degree)
  face_tables = map(k -> {
    e = _element(cell, k)
    stack(...map(F -> _shape_table(e, F), face_points))
  }, orders)
  tables = map(k -> _shape_table(_element(cell, k), rule[0]), orders)
  (mesh = M, cells = cells, corners = corners, rule = rule, tables = tables,
    products = _products(P, tables, degree), starts = (...starts,), counts = (...counts,),
    dofs = concat(...dofs; axis = 1), X = X, total = total, owner = owner, side = side,
    middle = mean(M.points[M.faces]; axis = 1), normals = map((p, s) -> _outer_normal(cell, p, s),
      corners[owner], side), width = max(M.points; axis = 0) -
    min(M.points; axis = 0), face_rule = face_rule, face_points = stack(...face_points),
    bend = m.bend, places = bent, drawing = _drawing(d, m.bend, rule[0]),
    face_drawing = (stack(...map(F -> _shapes(_element(_simplex(d), m.bend), F), face_points)),
      stack(...map(F -> _shape_slopes(_element(_simplex(d), m.bend), F), face_points))),
    face_tables = face_tables, nodes = _path_nodes(m.path),
    coupled = _couplings(P, _path_nodes(m.path),
      if P.info.time >= 0 {
        P.info.lo[P.info.time] + 0.0
      } else {
        0.0
      }, mean(corners[0]; axis = 0)))
}
# Returns the nodes of elements of order k in cells mapped by other nodes.
_drawn_nodes(space, bent, cell, k, g) = if g == 1 { space } else {
  (count, nodes, X) = space
  N = _shapes(_element(cell, g), _node_places(cell, k))
  X[nodes] = map(P -> N @ P, bent)
  (count, nodes, X)
}
_outer_normal(cell, corners, side) = {
  (_, I) = _det_inverse(_directions_of(corners), cell.d)
  g = _inward_slopes(cell, I)[side]
  -g / norm(g)
}

_check_form(P, D, m, t0) = {
  form = _form_of(P)
  e = if form == "proven" { 0.0 } else if form == "none" { inf } else {
    # Points spread over the mesh.
    n = len(D.cells)
    k = min(64, n)
    stop_gradient(_form_defect(P, D.nodes, t0, mean(D.corners[iota(k) * n // k]; axis = 1)))
  }
  if e > (if m.path == 1 { 1e-9 } else { 1e-5 }) {
    error(
      "fem(): the equations of {P.info.name} have no weak form here: they are not linear in the "
      "second derivatives, or what stands before these is no derivative of a "
      "flux{if m.path == 1 {
        "; where it depends on slopes, fem(path = 8) integrates the flux"
      } else { "" }}")
  }
}

# Returns the offset of each component among a cell's unknowns, and their total.
_local_starts(P) = {
  out = list()
  at = 0
  for k in P.orders { out = push(out, at); at = at + _node_count(P.cell, k) }
  push(out, at)
}

# Returns values and derivatives of shape functions at points of the reference
# cell: f64[n, nb, 1 + d].
_shape_table(el, ξ) = concat(expand(_shapes(el, ξ), 2), _shape_slopes(el, ξ); axis = 2)
# Returns for each two components the contribution of each element of a form at
# each point to a cell's matrix, by rows: f64[nb nb, n, 1 + d, 1 + d]; none
# where this is too large.
_products(P, tables, degree) = {
  many = map(k -> _node_count(P.cell, k), P.orders)
  points = ((_known(degree, "the degree") + 2) // 2)^P.d
  pair = (r, c) -> if many[r] * many[c] * points * (1 + P.d)^2 > 2^22 { none } else {
    (A, B) = (tables[r], tables[c])
    reshape([A[q, i, a] * B[q, j, b] for i, j, q, a, b], many[r] * many[c], shape(A)[0], 1 + P.d,
      1 + P.d)
  }
  (...map(r -> (...map(c -> pair(r, c), each(P.nc)),), each(P.nc)),)
}

# Returns the transformation of values and derivatives from reference to
# physical coordinates, f64[1 + d, 1 + d], for curved cells one at each point.
# Forms are evaluated in reference coordinates, where shape functions are the
# same in all cells.
_turning(I) = if rank(I) == 2 {
  d = shape(I)[0]
  concat(expand(concat([1.0], zeros(d)), 0), concat(zeros(d, 1), I; axis = 1); axis = 0)
} else { map(_turning, I) }
_at_points(P, T, F, U) = {
  s = _local_starts(P)
  z =
    stack(...map(c -> { B = T[c]; u = U[s[c]..s[c + 1]]; [sum(B[q, i, a] * u[i] for i) for q, a] },
      each(P.nc));
      axis = 1)
  if rank(F) == 2 {
    [sum(z[q, c, b] * F[b, a] for b) for q, c, a]
  } else {
    [sum(z[q, c, b] * F[q, b, a] for b) for q, c, a]
  }
}

# Returns the data at the quadrature points of a cell: weights, the
# transformation of derivatives, points, values and derivatives, rates.
_cell_points(P, D, places, U, V) = {
  (det, I, x) = _drawn(D, places, ...D.drawing)
  F = _turning(I)
  (D.rule[1] * abs(det), F, x, _at_points(P, D.tables, F, U),
    _at_points(P, D.tables, F, V)[.., .., 0])
}
# Returns the sums of w f64[n, nc, 1 + d] at the points with each test function.
_tested(P, T, W, F, w) = {
  y = if rank(F) == 2 { [sum(W[q] * w[q, c, a] * F[b, a] for a) for q, c, b] } else {
    [sum(W[q] * w[q, c, a] * F[q, b, a] for a) for q, c, b]
  }
  concat(...map(c -> { B = T[c]; [sum(B[q, i, a] * y[q, c, a] for q, a) for i] }, each(P.nc)))
}
# Returns the sums of J f64[n, nc, 1 + d, nc, 1 + d], or of rates f64[n, nc, 1 +
# d, nc, 1], with each test and each shape function: f64[nl, nl].
_tested_twice(P, T, products, W, F, J) = {
  rates = shape(J)[4] == 1
  blocks = r -> c -> {
    G = J[.., r, .., c, ..]
    H = if rates { if rank(F) == 2 { [sum(W[q] * F[a, e] * G[q, e, b] for e) for q, a, b] } else {
      [sum(W[q] * F[q, a, e] * G[q, e, b] for e) for q, a, b]
    } } else if rank(F) == 2 {
      [sum(W[q] * F[a, e] * G[q, e, f] * F[b, f] for e, f) for q, a, b]
    } else {
      [sum(W[q] * F[q, a, e] * G[q, e, f] * F[q, b, f] for e, f) for q, a, b]
    }
    (A, B) = (T[r], if rates { T[c][.., .., ..1] } else { T[c] })
    K = if kind(products) == "none" { none } else { products[r][c] }
    if kind(K) == "none" { [sum(A[q, i, a] * H[q, a, b] * B[q, j, b] for q, a, b) for i, j] } else {
      L = if rates { K[.., .., .., ..1] } else { K }
      reshape(reshape(L, shape(L)[0], -1) @ ravel(H), shape(A)[1], shape(B)[1])
    }
  }
  concat(...map(r -> concat(...map(blocks(r), each(P.nc)); axis = 1), each(P.nc)); axis = 0)
}

# Returns the residual f64[nl] of one cell and its Jacobian f64[nl, nl].
_cell_forms(P, D, t, lambda, places, U, V) = {
  (W, F, x, z, v) = _cell_points(P, D, places, U, V)
  at = (x, z, v) -> _weak_at(P, D.nodes, t, x, z, v, lambda)
  J = map((x, z, v) -> _jacobian(y -> ravel(at(x, reshape(y, P.nc, 1 + P.d), v)), ravel(z)), x, z,
    v)
  (_tested(P, D.tables, W, F, map(at, x, z, v)),
    _tested_twice(P, D.tables, D.products, W, F, reshape(J, -1, P.nc, 1 + P.d, P.nc, 1 + P.d)))
}
# Returns the derivative of the residual with respect to the rates.
_cell_mass(P, D, t, places, U, V) = {
  (W, F, x, z, v) = _cell_points(P, D, places, U, V)
  J = map((x, z, v) -> _jacobian(y -> ravel(_weak_at(P, D.nodes, t, x, z, y, 0.0)), v), x, z, v)
  _tested_twice(P, D.tables, D.products, W, F, reshape(J, -1, P.nc, 1 + P.d, P.nc, 1))
}

# ---- conditions

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

# ---- the matrix

# Returns the sparse matrix (without values) of the free unknowns, and the place
# of each element of each cell's matrix in it. The index past the end is for
# elements that are dropped.
_pattern_of(P, D, fluxes, number, n) = {
  B = D.coupled
  for q in fluxes { B = _coupled_by_flux(P, q, B) }
  (r, c, column_start, row_start, place, flip, mirrored) =
    _host("cells_pattern", (), (number[D.dofs], i64(_of_unknowns(P, B)), i64(n)), ())
  (rows = r, columns = c, column_start = column_start, row_start = row_start, place = place,
    flip = flip, mirrored = mirrored == 1)
}
# Returns the symmetrised matrix where A is symmetric up to rounding, because
# only an exactly symmetric positive definite matrix is solved by Cholesky
# factors.
_symmetrised(S, A) = {
  T = A.values[S.flip]
  small = 1e-13 * max(abs(A.values))
  (...A, values = if S.mirrored and max(abs(A.values - T)) <=
    small { 0.5 * (A.values + T) } else { A.values })
}
_matrix_on(S, K) = {
  v = zeros(len(S.rows) + 1)
  v[ravel(S.place)] += ravel(K)
  (rows = S.rows, columns = S.columns, values = v[..-1], column_start = S.column_start,
    row_start = S.row_start)
}
# Returns which components' values, derivatives and rates can be in the equation
# of which component: bool[nc, nc].
_couplings(P, nodes, t, x) = {
  n = 1 + P.d
  # t and the place are arguments too: components may couple elsewhere even if
  # they do not here.
  p =
    _pattern((y, t, x) ->
      ravel(_weak_at(P, nodes, t, x, reshape(y[..P.nc * n], P.nc, n), y[P.nc * n..], 1.0)),
      (zeros(P.nc * (n + 1)) + 0.7, t, x), 0, false)
  B = eye(P.nc) > 2
  B[p.rows // n, where(p.columns < P.nc * n, p.columns // n, p.columns - P.nc * n)] = true
  B
}
# Adds the couplings by conditions that determine a flux (_given_flux).
_coupled_by_flux(P, q, B) = {
  n = 1 + P.d
  (g, rows) = (P.first[q.field], max(1, P.info.sizes[q.field]))
  for c in q.conditions {
    (a, m) = (P.first[c.field], max(1, P.info.sizes[c.field]))
    # The place and the normal are arguments, as above.
    p = _pattern((z, t, x, s) -> _condition_at(P, c.condition, t, x, reshape(z, P.nc, n), s),
      (zeros(P.nc * n) + 0.7, 0.1, zeros(P.d) + 0.1, zeros(P.d) + 0.5), 0, false)
    told = zeros(m, P.nc)
    told[p.rows, p.columns // n] = 1.0
    # The derivatives of the field in each row. Rows with their own component
    # only are independent.
    slopes = zeros(m, P.nc)
    slopes[p.rows, p.columns // n] += where(p.columns % n > 0, 1.0, 0.0)
    mixed = sum(slopes[.., a..a + m] * (1 - eye(m))) > 0
    # Rows of the flux by the components whose derivatives the conditions
    # replace.
    Q = where(B[g..g + rows, a..a + m], 1.0, 0.0)
    B[g..g + rows, ..] = B[g..g + rows, ..] or Q @ (if mixed { ones(m, m) @ told } else { told }) >
      0
  }
  B
}
# Returns which elements of a cell's matrix can be nonzero, block by block.
_of_unknowns(P, B) = {
  owner = concat(...map(c -> full(c, _node_count(P.cell, P.orders[c])), each(P.nc)))
  B[expand(owner, 1), expand(owner, 0)]
}

# Returns the residual of all unknowns and the matrix of the free ones, at U and
# rates V.
_assembled(P, D, S, fluxes, t, lambda, U, V) = {
  (R, K) = map((p, u, v) -> _cell_forms(P, D, t, lambda, p, u, v), D.places, U[D.dofs], V[D.dofs])
  out = zeros(D.total)
  out[ravel(D.dofs)] += ravel(R)
  A = _matrix_on(S, K)
  for q in fluxes {
    cells = D.owner[q.faces]
    dofs = D.dofs[cells]
    (r, k) =
      map((p, s, u) -> _face_forms((...P, lambda = lambda), D, q.conditions, q.field, t, p, s, u),
        D.places[cells], D.side[q.faces], U[dofs])
    out[ravel(dofs)] += ravel(r)
    v = concat(A.values, [0.0])
    v[ravel(S.place[cells])] += ravel(k)
    A = (...A, values = v[..-1])
  }
  (out, _symmetrised(S, A))
}

# ---- problems in space alone

_fem_steady(P, D, m, o, start = none) = {
  first = if kind(start) != "none" {
    start
  } else if kind(o.guess) == "none" {
    zeros(D.total)
  } else {
    _guess_at_nodes(P, D, o.guess)
  }
  (U, stats) = _fem_values(P, D, m, first)
  _fem_solution(P, D, m, U, stats)
}
# Returns the values of all unknowns from initial ones, and the solver's
# statistics.
_fem_values(P, D, m, first) = {
  t = 0.0
  fixed = _fixed_values(P, D, t)
  fluxes = _fluxes(P, D, t)
  (number, free) = _free_unknowns(D, fixed)
  assert(len(free) > 0,
    "fem(): the conditions of {P.info.name} fix all values of this mesh; a finer one is needed")
  pattern = _pattern_of(P, D, fluxes, number, len(free))
  zero = zeros(D.total)
  start = _with_fixed(P, D, fixed, t, first)
  forms = U -> { (R, A) = _assembled(P, D, pattern, fluxes, t, 0.0, U, zero); (R[free], A) }
  add = (U, d) -> { U[free] += d; U }
  (R, A) = forms(start)
  _check_determined(P, D, number, A)
  S = _systems(P, D, m, A, free)
  (d, iterations) = _step_of(P, S, A, R)
  U = add(start, -d)
  (R1, _) = forms(U)
  # Where fixed values cancel in all equations, the free unknowns are 0.
  rounding = 1e-14 * max(abs(A.values)) * norm(U)
  (U, turns, iterations, response) =
    if norm(R1) <= 1e-12 * _size_of(A, U[free]) + rounding {
      (U, 1, iterations, _checked_factors(P, D, S, A, U, free))
    } else {
      _newton_fem(P, D, m, S, forms, add, free, start, U)
    }
  (U, (unknowns = len(free), cells = len(D.cells), newton = turns, iterations = iterations,
    response = response, linear = if S.iterates and iterations == 0 and S.method == "auto" {
      "sparse factors"
    } else {
      S.way
  }))
}
# Returns a guess at the nodes: a record of numbers, of functions of the
# coordinates, or a solution; 0 where it has no value.
_guess_at_nodes(P, D, guess) = {
  U = zeros(D.total)
  for f in each(P.nf) {
    name = P.info.fields[f]
    if has(guess, name) {
      g = field(guess, name)
      c0 = P.first[f]
      X = D.X[D.starts[c0]..D.starts[c0] + D.counts[c0]]
      v = if kind(g) == "function" { g(...map(k -> X[.., k], each(P.d))) } else { g }
      m = max(1, P.info.sizes[f])
      V = zeros(len(X), m) + (if P.info.sizes[f] == 0 { expand(v + zeros(len(X)), 1) } else { v })
      for i in each(m) {
        U[D.starts[c0 + i]..D.starts[c0 + i] + len(X)] = where(abs(V[.., i]) < inf, V[.., i], 0.0)
      }
    }
  }
  stop_gradient(U)
}
_size_of(A, u) = norm((...A, values = abs(A.values)) @ abs(u))
_free_unknowns(D, fixed) = {
  mark = zeros(D.total)
  for q in fixed { mark[q.nodes] = 1.0 }
  (where(mark == 0, cumsum(i64(mark == 0)) - 1, -1), findall(mark == 0))
}
# Fails for a component without fixed values to which a constant may be added.
_check_determined(P, D, number, A) = {
  for f in each(P.nf) {
    for c in each(P.first[f], P.first[f] + max(1, P.info.sizes[f])) {
      on = number[D.starts[c]..D.starts[c] + D.counts[c]]
      if min(on) >= 0 {
        e = zeros(len(A.row_start) - 1)
        e[on] = 1.0
        if norm(A @ e) <= 1e-10 * _size_of(A, e) {
          error(
            "fem(): {P.info.fields[f]} of {P.info.name} is determined up to a constant only: say "
            "its value at one point of the mesh, {P.info.fields[f]} == 0 at a corner")
        }
      }
    }
  }
}

# Returns a solution by linear elements of moderate size, for comparison or as
# an initial guess.
_by_elements(info, o) = {
  length = max(...map(c -> info.hi[c] - info.lo[c], (...info.space,)), 0.0)
  m = fem(length / (if len(info.space) == 1 { 64 } else if len(info.space) == 2 { 24 } else { 6 }))
  m.solve(info, m, (...o, progress = false, estimate = false, guess = none))
}
# Newton's method from U. Where it fails, continuation from the linear problem
# in the strength s of the nonlinearity, up to 1: R(0) + (R(s U) - R(0)) / s ==
# 0.
_newton_fem(P, D, m, S, forms, add, free, start, U) = {
  first = stop_gradient(U)
  solver = (A, R) -> _turn_of(P, D, m, S, A, R, free)
  (V, good, turns) = _newton_turns(forms, add, solver, free, first, 1.0, m.steps)
  if not good {
    (W, s, more) = _by_strength((V, s) -> _newton_turns(forms, add, solver, free, V, s, 12), first)
    V = W
    turns = turns + more
    if s < 1 {
      error(
        "fem(): Newton's method did not converge for {P.info.name}; with its nonlinear terms times "
        "{s:.3g} it did. A finer mesh may help, or there is no solution near")
    }
  }
  # A last step, from which alone derivatives of the solution follow.
  W = start
  W[free] = stop_gradient(V)[free]
  (R, A) = forms(W)
  systems = _systems(P, D, m, A, free)
  (d, iterations) = _step_of(P, systems, A, R)
  response = _checked_factors(P, D, systems, A, W, free)
  (add(W, -d), turns + 1, iterations, response)
}
# Returns the response of A (steady.dsl); fails where rounding alone changes the
# solution. With conjugate gradients it returns 0: another solve costs as much
# as the first, and they fail on singular systems anyway.
_checked_factors(P, D, S, A, U, free) = if S.iterates { 0.0 } else {
  size = stop_gradient(abs(U))
  most = concat(...map(c -> zeros(D.counts[c]) + max(size[D.starts[c]..D.starts[c] + D.counts[c]]),
    each(P.nc)))
  _primal(() -> {
    B = (...A, values = stop_gradient(A.values))
    if _moved_by_rounding(B, most[free]) > 1e-3 { error(_undetermined(P.info.name)) }
    max(abs(_correction(B, _some_loads(P, D)[free])))
  })
}
# Returns a fixed load vector, the same function on every mesh.
_some_loads(P, D) = {
  V = map(p -> abs(_det_inverse(_directions_of(p), P.d)[0]), D.corners)
  s = _local_starts(P)
  load = zeros(D.total)
  for c in each(P.nc) {
    X = D.X[D.starts[c]..D.starts[c] + D.counts[c]]
    (low, wide) = (min(X; axis = 0), max(X; axis = 0) - min(X; axis = 0))
    b = cos(((X - expand(low, 0)) / expand(wide, 0)) @ (1.3 + 0.8 * f64(iota(P.d))) + 0.7 * c)
    on = D.dofs[.., s[c]..s[c + 1]]
    load[ravel(on)] += ravel(expand(V / f64(shape(on)[1]), 1) + 0.0 * on) *
      b[ravel(on) - D.starts[c]]
  }
  load
}
_newton_turns(forms, add, solver, free, U, strength, steps) = {
  origin = if strength < 1 { forms(0 * U)[0] } else { 0 * U[free] }
  form = U -> { (R, A) = forms(strength * U); (origin + (R - origin) / strength, A) }
  (R, A) = form(U)
  e = norm(R)
  good = false
  k = 0
  stuck = not (e < inf)
  while k < steps and not good and not stuck {
    d = -solver(A, R)
    step = 1.0
    V = add(U, d)
    (R1, A1) = form(V)
    e1 = norm(R1)
    while not (e1 < (1 - 1e-4 * step) * e) and step > 1e-3 {
      step = 0.5 * step
      V = add(U, step * d)
      (R1, A1) = form(V)
      e1 = norm(R1)
    }
    stuck = not (e1 < e) and e > 1e-11 * _size_of(A, U[free])
    U = V
    R = R1
    A = A1
    e = e1
    good = e <= 1e-12 * _size_of(A, U[free]) or (step == 1.0 and norm(d) <= 1e-9 * norm(U[free]))
    k = k + 1
  }
  (U, good, k)
}

# ---- solutions as functions

_fem_solution(P, D, m, U, stats) = {
  info = P.info
  own = _fem_functions(P, D, _place_in(D), U)
  names = map(f -> info.fields[f], each(P.nf))
  (...own, mesh = D.mesh, values = U, times = zeros(0), stats = stats, error = none,
    indicator = () -> _slope_errors(P, D, U), error_in = goal -> _goal_error(P, D, m, U, goal),
    slopes_error = () -> _slopes_missing(P, D, m, U), method = "fem", kind = "pde",
    smooth = _smooth_inside(P),
    info = (fields = names, coords = info.coords, lo = info.lo, hi = info.hi))
}
# Returns the order up to which each field has nonzero derivatives within cells.
_smooth_inside(P) = map(f -> P.orders[P.first[f]], (...(0..P.nf),))
# Returns the parts of a solution that follow from its values: its fields, and
# integrals of them.
_fem_functions(P, D, place, U) = {
  functions = map(f -> _fem_field(P, D, place, U, f), each(P.nf))
  names = map(f -> P.info.fields[f], each(P.nf))
  integral(f; at = none) =
    if kind(at) == "none" { _integral_inside(P, D, U, f) } else { _integral_on(P, D, U, f, at) }
  (...record(names, functions), integral = integral, flux = part -> _flux_through(P, D, U, part))
}
# Returns a field as a function of the space coordinates: numbers, or arrays
# that broadcast.
_fem_field(P, D, place, U, f) = (...point) -> _field_at(P, D, place, U, f, point)
_field_at(P, D, place, U, f, xs) = {
  zero = 0.0
  for x in xs { zero = zero + 0.0 * x }
  X = stack(...map(x -> ravel(zero + x), list(...xs)); axis = 1)
  k = P.orders[P.first[f]]
  (cell, ξ, inside) = place(X)
  B = _shapes(_element(P.cell, k), _for_derivatives(ξ, k))
  s = _local_starts(P)
  m = max(1, P.info.sizes[f])
  parts =
    map(c -> where(inside, sum(B * U[D.dofs[.., s[c]..s[c + 1]][cell]]; axis = 1), nan),
      each(P.first[f], P.first[f] + m))
  if P.info.sizes[f] == 0 {
    if rank(zero) == 0 { parts[0][0] } else { reshape(parts[0], ...shape(zero)) }
  } else {
    reshape(stack(...parts; axis = 1), ...shape(zero), m)
  }
}

# Returns ξ, limited to derivatives of order k. Higher derivatives of
# polynomials of degree k are 0, whatever the solution is, so they are an error.
_for_derivatives(ξ, k) = ξ
derivative _for_derivatives(ξ, k), dξ, dk = _left_of(ξ, k, k - 1) * dξ
_left_of(ξ, k, left) = 1 + 0 * ξ
derivative _left_of(ξ, k, left), dξ, dk, dleft = if left > 0 {
  0 * _left_of(ξ, k, left - 1) * dξ
} else {
  _refuse(
    "a solution by fem() of order {k} has derivatives by place up to order {k}, as its cells are "
    "polynomials of that degree; elements of a higher order have more, as fem(order = {k + 1}), "
    "and fd() and chebyshev() have all")
}

# ---- error indicator

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
