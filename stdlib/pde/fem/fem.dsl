# fem.dsl - finite elements: the method, its mesh, and solutions as functions.
#
# Method: Galerkin's method on the weak form (weak.dsl). fem_assembly.dsl has
# the unknowns and the matrix, fem_conditions.dsl the conditions. fem_steady.dsl
# solves problems in space alone, fem_adapt.dsl also refines their mesh.
# fem_time.dsl solves problems in t, fem_eigen.dsl eigenproblems.

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

# Returns a solution by linear elements of moderate size, for comparison or as
# an initial guess.
_by_elements(info, o) = {
  length = max(...map(c -> info.hi[c] - info.lo[c], (...info.space,)), 0.0)
  m = fem(length / (if len(info.space) == 1 { 64 } else if len(info.space) == 2 { 24 } else { 6 }))
  m.solve(info, m, (...o, progress = false, estimate = false, guess = none))
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
