# bvp.dsl - boundary value problems y' = f(t, y, p), c(y(a), ..., y(b), p) = 0,
# by collocation with mesh refinement or multiple shooting, with unknown
# parameters such as eigenvalues.
#
# Method: a method solves a system of equations G(z) = 0 by Newton's method with
# exact sparse Jacobians: blocks along the interval, and the conditions.
#
# Contract: derivatives follow from G_z dz = -dG (see _collocated), whatever
# found z. They exist in every order and mode, with respect to values that f and
# the conditions capture and to both ends.
#
# Sources: U. Ascher, R. Mattheij and R. Russell, Numerical Solution of Boundary
# Value Problems for Ordinary Differential Equations, SIAM 1995; J. Kierzenka
# and L. Shampine, ACM Trans. Math. Softw. 27 (2001) 299-316 (residual control);
# P. Deuflhard, Newton Methods for Nonlinear Problems, Springer 2004, ch. 3 and
# 8 (damping, shooting).

# bvp(f, conditions, (a, b), guess; parameters, at, method, rtol, atol,
# partial): solves y' = f(t, y) between a and b, y f64[n], with n
# conditions(y(a), y(b)) == 0.
#   guess: an approximation of y: a vector, a function of t, or the solution of
#   a similar problem. A vector instead of (a, b) gives the initial mesh.
#   parameters: a guess of unknown parameters p (a scalar or a vector), each of
#   which needs one more condition: f(t, y, p), conditions(ya, yb, p). at: the
#   points, ends included, whose values the conditions receive: conditions(Y),
#   Y[j] = y(at[j]).
#   method: collocation(order), shooting(segments). rtol, atol: an interval's
#   residual times its length is at most atol + rtol * max abs(y[i]).
#   The result is a record: y, a function of t; times and values, the nodes;
#   parameters; error, an estimate for each unknown; residual, the largest
#   relative to the tolerance; stats; method; complete. partial = true: if the
#   mesh would become too fine, the result is the current approximation, with
#   complete = false.
#   Errors name the equation, the place and the last values. A derivative with
#   respect to the place of a jump of f is an error: the nodes at the jump do
#   not move.
#     s = bvp((t, y) -> [y[1], -exp(y[0])], (ya, yb) -> [ya[0], yb[0]], (0.0, 1.0), [0.0, 0.0]);
#     s.y(0.5)[0]                      #~ 0.140539214 tol 1e-7
#     m = bvp((t, y, p) -> [y[1], -p[0] * y[0]], (ya, yb, p) -> [ya[0], yb[0], ya[1] - 1], (0.0, π), t -> [sin(t), cos(t)]; parameters = 1.2);
#     m.parameters                     #~ [1] tol 1e-6
bvp(f, conditions, span, guess; parameters = none, at = none, method = collocation(), rtol = 1e-6,
  atol = none, partial = false) =
  {
    free = kind(parameters) != "none"
    p0 = if free { ravel(f64(parameters)) } else { zeros(0) }
    meshed = kind(span) == "array"
    (a, b) = (f64(span[0]), f64(span[-1]))
    mesh = if meshed { f64(span) } else { zeros(0) }
    start = if kind(guess) == "function" {
      t -> f64(guess(t))
    } else if kind(guess) == "record" {
      t -> guess.y(t)
    } else {
      t -> f64(guess)
    }
    places = if kind(at) == "none" { stack(a, b) } else { f64(at) }
    several = kind(at) != "none"
    P = (f = if free { f } else { (t, y, p) -> f(t, y) },
      c = if several { if free { conditions } else { (Y, p) -> conditions(Y) } } else {
        if free { (Y, p) -> conditions(Y[0], Y[1], p) } else { (Y, p) -> conditions(Y[0], Y[1]) }
      }, a = a, b = b, at = places, mesh = mesh, start = start, p0 = p0, free = free,
      rtol = f64(rtol), atol = if kind(atol) == "none" {
        1e-9
      } else {
        f64(atol)
      }, by_size = kind(atol) == "none",
      partial = partial, name = "bvp", of = i -> "y[{i}]", equation = i -> "equation {i}",
      condition = i -> "condition {i}", coordinate = "t")
    y0 = start(a)
    along = (compared = t -> _own_switches(P.f, t, y0, p0),
      others = t -> _library_switches(P.f, t, y0, p0), watched = t -> _watched(P.f, t, y0, p0),
      tables = t -> _clock_tables(P.f, t, y0, p0))
    switches = _primal(() -> _changes_along(along, a + 0.0, b + 0.0, true))
    r = _solved_between((...P, switches = switches), method)
    # nodes are at the jumps of f, and do not move with them
    still = stop_gradient(y0)
    z = _unmoved_place(t -> P.f(t, still, p0), a + 0.0) +
      _kept_knots(t -> P.f(t, still, p0), along.watched, a + 0.0, b + 0.0, false)
    (...r, y = t -> r.y(t) + z, values = r.values + z, parameters = r.parameters + z)
  }
_solved_between(P, m) = {
  _check_between(P)
  m.between(m, P)
}
_check_between(P) = {
  (a, b) = (stop_gradient(P.a), stop_gradient(P.b))
  if not (b > a and abs(a) < inf and abs(b) < inf) {
    error(
      "{P.name}: the interval goes from a smaller to a larger finite number, not from {a} to {b}")
  }
  y = P.start(a)
  if rank(y) != 1 {
    _refuse("the guess of a boundary value problem gives a vector, a number for each unknown")
  }
  n = len(y)
  k = len(P.p0)
  v = P.f(a, y, P.p0)
  if len(v) != n { error("{P.name}: the right-hand side gives {len(v)} numbers for {n} unknowns") }
  s = stop_gradient(P.at)
  if not (len(s) >= 1 and s[0] >= a and s[-1] <= b and all(s[1..] > s[..-1])) {
    error("{P.name}: the places of conditions go upwards from {a} to {b}; they are {s}")
  }
  given = len(P.c(map(P.start, P.at), P.p0))
  if given != n + k {
    error(
      "{P.name}: {given} condition{if given == 1 { "" } else { "s" }} for {n} "
      "unknowns{if k > 0 { " and {k} parameters" } else { "" }}: as many are wanted")
  }
}

# ---- collocation

# collocation(order; nodes, max_nodes, steps): piecewise polynomials that
# satisfy the equation at Lobatto points, of order 4 (cubics), 6 or 8, on an
# adaptive mesh.
#   nodes: size of the initial mesh (21); max_nodes: 20000; steps: Newton steps
#   on one mesh. The polynomials are the dense output. [implicit Runge-Kutta
#   methods Lobatto IIIA, for order 4 as in Kierzenka and Shampine 2001]
#     bvp((t, y) -> [y[1], y[0]], (ya, yb) -> [ya[0] - 1, yb[0]], (0.0, 1.0), [0.0, 0.0]; method = collocation(8)).y(0.5)[0]   #~ sinh(0.5) / sinh(1) tol 1e-8
collocation(order = 4; nodes = 21, max_nodes = 20000, steps = 50) = {
  order = _known(order, "order")
  if order != 4 and order != 6 and order != 8 {
    _refuse("collocation(order) is of order 4, 6 or 8")
  }
  (name = "collocation", order = order, nodes = nodes, max_nodes = max_nodes, steps = steps,
    between = _by_collocation, solve = _solve_between)
}

# Points and weights of a step. c: the Lobatto points in [0, 1]. A[j, k] = ∫ l_k
# to c_j, where l_k is 1 at c_k and 0 at the others. g: Gauss points, one more
# than there are of c, with weights w. L and B: the l_k at g and their integrals
# up to g. E[j, i]: weights that integrate values at the points g up to c_j.
_lobatto(order) = {
  c = if order == 4 { [0.0, 0.5, 1.0] }
  else if order == 6 { [0.0, 0.5 - 0.5 / sqrt(5.0), 0.5 + 0.5 / sqrt(5.0), 1.0] }
  else { [0.0, 0.5 - 0.5 * sqrt(3 / 7), 0.5, 0.5 + 0.5 * sqrt(3 / 7), 1.0] }
  s = len(c)
  (x, w) = gauss_legendre(s + 1)
  g = 0.5 + 0.5 * x
  # coefficients of l_k by powers, in columns; powers and their integrals at
  # points
  powers = (t, m) -> expand(t, 1)^expand(f64(iota(m)), 0)
  sums = (t, m) -> expand(t, 1)^expand(f64(iota(m) + 1), 0) / expand(f64(iota(m) + 1), 0)
  V = inv(powers(c, s))
  (c = c, A = sums(c, s) @ V, g = g, w = 0.5 * w, L = powers(g, s) @ V, B = sums(g, s) @ V,
    E = sums(c, s + 1) @ inv(powers(g, s + 1)), V = V)
}

# z: y at all points (node, inner points, node ...), then p. Everything that
# depends on the mesh σ = (nodes - a)/(b - a) alone.
_mesh_of(P, q, σ, n, k) = {
  N = len(σ) - 1
  s = len(q.c)
  d = σ[1..] - σ[..-1]
  inside = expand(σ[..-1], 1) + expand(d, 1) * expand(q.c[..-1], 0)
  point = concat(reshape(inside, N * (s - 1)), σ[-1..])
  at = expand((s - 1) * iota(N), 1) + expand(iota(s), 0)
  t = stop_gradient(P.a) + stop_gradient(P.b - P.a) * σ
  places = (s - 1) * map(x -> argmin(abs(t - x)), stop_gradient(P.at))
  # elements: of the intervals with respect to y and p, then of the conditions
  # with respect to y and p
  M = N * (s - 1) + 1
  row[i, j, l, m, r] := (i * (s - 1) + j) * n + l + 0 * m + 0 * r for i in 0..N, j in 0..s - 1,
    l in 0..n, m in 0..s, r in 0..n
  column[i, j, l, m, r] := ((s - 1) * i + m) * n + r + 0 * j + 0 * l for i in 0..N, j in 0..s - 1,
    l in 0..n, m in 0..s, r in 0..n
  prow[e, r] := e + 0 * r for e in 0..(M - 1) * n, r in 0..k
  pcolumn[e, r] := M * n + r + 0 * e for e in 0..(M - 1) * n, r in 0..k
  crow[e, x, r] := (M - 1) * n + e + 0 * x + 0 * r for e in 0..n + k, x in 0..len(places), r in 0..n
  ccolumn[e, x, r] := places[x] * n + r + 0 * e for e in 0..n + k, x in 0..len(places), r in 0..n
  drow[e, r] := (M - 1) * n + e + 0 * r for e in 0..n + k, r in 0..k
  dcolumn[e, r] := M * n + r + 0 * e for e in 0..n + k, r in 0..k
  rows = concat(ravel(row), ravel(prow), ravel(crow), ravel(drow))
  columns = concat(ravel(column), ravel(pcolumn), ravel(ccolumn), ravel(dcolumn))
  S = sparse(rows, columns, f64(iota(len(rows))), M * n + k, M * n + k)
  (σ = σ, d = d, point = point, at = at, places = places, S = S, order = i64(S.values), n = n,
    k = k, points = M)
}
_split_between(g, z) = (reshape(z[..g.points * g.n], g.points, g.n), z[g.points * g.n..])
_times_between(P, x) = P.a + (P.b - P.a) * x

# G(z): for each interval and inner point y - y(start) - ∫ f, then the
# conditions.
_equations_between(P, q, g, z) = {
  (U, p) = _split_between(g, z)
  F = map((t, u) -> P.f(t, u, p), _times_between(P, g.point), U)
  (Y, f) = (U[g.at], F[g.at])
  h = (P.b - P.a) * g.d
  A = q.A[1..]
  sums[i, j, l] := sum(A[j, m] * f[i, m, l] for m)
  R = Y[.., 1..] - Y[.., ..1] - expand(expand(h, 1), 2) * sums
  concat(ravel(R), P.c(U[g.places], p))
}
# Its Jacobian, a sparse matrix.
_matrix_between(P, q, g, z) = {
  (U, p) = _split_between(g, z)
  (n, k) = (g.n, g.k)
  t = _times_between(P, g.point)
  h = (P.b - P.a) * g.d
  s = len(q.c)
  J = map((t, u) -> _jacobian(v -> P.f(t, v, p), u), t, U)[g.at]
  A = q.A[1..]
  own = zeros(s - 1, s)
  own[iota(s - 1), iota(s - 1) + 1] = 1.0
  own[.., 0] = -1.0
  I = eye(n)
  K[i, j, l, m, r] := own[j, m] * I[l, r] - h[i] * A[j, m] * J[i, m, l, r]
  Y = U[g.places]
  C = _jacobian(v -> P.c(reshape(v, len(g.places), n), p), ravel(Y))
  values = if P.free {
    D = map((t, u) -> _jacobian(w -> P.f(t, u, w), p), t, U)[g.at]
    Q[i, j, l, r] := -h[i] * sum(A[j, m] * D[i, m, l, r] for m)
    concat(ravel(K), ravel(Q), ravel(C), ravel(_jacobian(w -> P.c(Y, w), p)))
  } else { concat(ravel(K), ravel(C)) }
  (...g.S, values = values[g.order])
}

# z, with the derivatives of a zero of G; A(z) is the Jacobian of G.
_collocated(G, A, z) = z
derivative _collocated(G, A, z), dG, dA, dz = -linsolve(A(y), dG(y))

# The scales of corrections: for each unknown of y the largest value on the
# mesh.
_weights_between(P, g, z) = {
  (U, p) = _split_between(g, z)
  size = max(abs(U); axis = 0)
  concat(ravel(size + _least_of(P, size) + 0 * U), abs(p) + P.atol / P.rtol)
}

# Newton's method with the natural monotonicity test: a simplified correction
# with the old Jacobian must be shorter than the last one (Deuflhard's
# NLEQ-ERR).
#
# Returns z, the status and the number of iterations. status: 0 converged, 1
# singular matrix, 2 no decrease, 3 iterations used up, 4 G is not finite
# initially, 5 corrections are small but G is not. In case 5 an equation exceeds
# 100 times `loose` of its terms, which are scaled by the weights.
_newton_damped(G, A, weights, z, tol, loose, steps) = {
  v = G(z)
  state = if sum(i64(not (abs(v) < inf))) > 0 { 4 } else { -1 }
  damp = 1.0
  turn = 0
  simple = 0 * z
  last = inf
  while state < 0 {
    J = A(z)
    d = try { -linsolve(J, v) } catch m { 0 * v + nan }
    # a guess of zero has no scale
    weight = max(weights(z), weights(z + d)) + 1e-300
    size = v -> sqrt(sum((v / weight)^2) / len(v))
    nd = size(d)
    if not (nd < inf) { state = 1 } else {
      if turn > 0 {
        mu = last * size(simple) * damp / (size(simple - d) * nd + 1e-300)
        damp = clamp(mu, 1e-4, 1.0)
      }
      # at rounding, corrections no longer shrink
      if nd <= tol or (turn > 2 and nd < 1e-9 and nd >= 0.5 * last) {
        z = z + d
        state = 0
      } else {
        open = true
        while open {
          trial = z + damp * d
          w = G(trial)
          fine = sum(i64(not (abs(w) < inf))) == 0
          simple = if fine { -linsolve(J, w) } else { nan * d }
          ns = size(simple)
          mu = 0.5 * nd * damp^2 / (size(simple - (1 - damp) * d) + 1e-300)
          if ns <= (1 - 0.25 * damp) * nd {
            open = false
            z = trial
            v = w
            if damp == 1 and ns <= tol { z = z + simple; state = 0 }
          } else {
            damp = if fine { min(0.5 * damp, max(mu, 0.1 * damp)) } else { 0.5 * damp }
            # the accuracy that rounding allows in an ill-conditioned system
            if damp < 1e-5 { open = false; state = if nd <= loose { 0 } else { 2 } }
          }
        }
        last = nd
      }
    }
    turn = turn + 1
    if state < 0 and turn >= steps { state = 3 }
  }
  if state == 0 {
    J = A(z)
    parts = (...J, values = abs(J.values)) @ (weights(z) + 1e-300)
    if not all(abs(G(z)) <= min(100 * loose, 0.1) * parts) { state = 5 }
  }
  (z, state, turn)
}

# Derivatives and residuals. For each interval: the residual times its length
# relative to the tolerance, and the worst unknown; and the error that follows.
_residuals(P, q, g, z) = {
  (U, p) = _split_between(g, z)
  F = map((t, u) -> P.f(t, u, p), _times_between(P, g.point), U)
  (Y, f) = (U[g.at], F[g.at])
  h = (P.b - P.a) * g.d
  t = _times_between(P, expand(g.σ[..-1], 1) + expand(g.d, 1) * expand(q.g, 0))
  (L, B) = (q.L, q.B)
  slope[i, x, l] := sum(L[x, m] * f[i, m, l] for m)
  sums[i, x, l] := sum(B[x, m] * f[i, m, l] for m)
  y = Y[.., ..1] + expand(expand(h, 1), 2) * sums
  r = slope - reshape(map((t, u) -> P.f(t, u, p), ravel(t), reshape(y, size(t), g.n)), ...shape(y))
  scale = max(abs(U); axis = 0)
  scale = P.rtol * (scale + _least_of(P, scale)) + 1e-300
  (w, E) = (q.w, q.E[1..])
  square[i, l] := sum(w[x] * r[i, x, l]^2 for x)
  of = expand(h, 1) * sqrt(square) / scale
  off[i, j, l] := h[i] * sum(E[j, x] * r[i, x, l] for x)
  (f, max(of; axis = 1), argmax(of; axis = 1), concat(-ravel(off), zeros(g.n + g.k)), scale)
}

_by_collocation(m, P) = {
  q = _lobatto(m.order)
  n = len(P.start(P.a))
  k = len(P.p0)
  # the search has no derivatives
  (σ, z, error, worst, counts) = _primal(() -> _searched(m, P, q, n, k))
  σ = stop_gradient(σ)
  g = _mesh_of(P, q, σ, n, k)
  z = _collocated(v -> _equations_between(P, q, g, v), v -> _matrix_between(P, q, g, v), z)
  (U, p) = _split_between(g, z)
  f = map((t, u) -> P.f(t, u, p), _times_between(P, g.point), U)[g.at]
  (nodes, h) = (_times_between(P, σ), (P.b - P.a) * g.d)
  s = len(q.c)
  y = t -> {
    i = clamp(searchsorted(stop_gradient(nodes), stop_gradient(t)) - 1, 0, len(h) - 1)
    x = (t - nodes[i]) / h[i]
    U[(s - 1) * i] + h[i] * _integral_to(q, x, f[i])
  }
  (y = _over_times(P.coordinate, nodes, y), times = nodes, values = U[(s - 1) * iota(len(nodes))],
    parameters = p, error = error, residual = worst, stats = (nodes = len(nodes),
      newton = counts[0], meshes = counts[1], rhs = counts[2]), method = m.name,
    complete = counts[3] == 0)
}

_searched(m, P, q, n, k) = {
  s = len(q.c)
  (a, length) = (P.a, P.b - P.a)
  fixed = unique((concat(P.at, P.switches) - a) / length)
  σ = if len(P.mesh) > 1 { (P.mesh - a) / length } else { linspace(0.0, 1.0, max(m.nodes, 2)) }
  σ = unique(concat(σ, fixed))
  # nodes at conditions replace neighbours that nearly coincide with them
  σ = σ[concat([true], σ[1..] - σ[..-1] > 1e-10)]
  σ = concat(σ[..-1], [1.0])
  g = _mesh_of(P, q, σ, n, k)
  U = map(x -> P.start(a + length * x), g.point)
  z = concat(ravel(U), P.p0)
  newton = 0
  meshes = 1
  rhs = 0
  tries = 0
  state = -1   # 0 done, 1 no more nodes
  before = inf
  worst = inf
  error_at = zeros(n)
  while state < 0 {
    tol = clamp(1e-3 * P.rtol, 1e-13, 1e-8)
    (found, how, turns) =
      _newton_damped(v -> _equations_between(P, q, g, v), v -> _matrix_between(P, q, g, v),
        v -> _weights_between(P, g, v), z, tol, 0.1 * P.rtol, m.steps)
    newton = newton + turns
    rhs = rhs + turns * len(g.point)
    if how != 0 {
      # Newton's method may converge on a finer mesh
      more = 2 * len(g.d)
      if tries >= 3 or how == 4 or more >= m.max_nodes {
        _lost_between(m, P, q, v -> _equations_between(P, q, g, v), g, found, how, turns)
      }
      tries = tries + 1
      meshes = meshes + 1
      middle = 0.5 * (σ[1..] + σ[..-1])
      σ = sort(concat(σ, middle))
      g = _mesh_of(P, q, σ, n, k)
      z = concat(ravel(map(x -> P.start(a + length * x), g.point)), P.p0)
    } else {
      z = found
      (f, size, which, off, scale) = _residuals(P, q, g, z)
      rhs = rhs + len(g.d) * (s + 1)
      worst = max(size)
      e = try { linsolve(_matrix_between(P, q, g, z), off) } catch m { 0 * z + nan }
      error_at = max(abs(_split_between(g, e)[0]); axis = 0)
      if worst <= 1 { state = 0 } else {
        target = _refined(g, size, s + 1, fixed, before, worst)
        if len(target) > m.max_nodes {
          i = argmax(size)
          if not P.partial {
            error(
              "{P.name}: {len(target)} nodes would be needed and {m.max_nodes} are allowed; the "
              "largest residual is that of {P.equation(which[i])} near {P.coordinate} = "
              "{a + length * σ[i]:.9g}, {size[i]:.3g} times what rtol and atol allow; y there is "
              "{_split_between(g, z)[0][(s - 1) * i]}. Loosen the tolerances, take collocation(8), "
              "or allow more with max_nodes")
          }
          state = 1
        } else {
          before = worst
          meshes = meshes + 1
          new = _mesh_of(P, q, target, n, k)
          (U, p) = _split_between(g, z)
          fine = map(x -> _on_mesh(q, g, U, f, length, x), new.point)
          z = concat(ravel(fine), p)
          g = new
          σ = target
        }
      }
    }
  }
  if state == 0 and not P.partial { _check_conditions(P, q, g, z) }
  (σ, z, error_at, worst, [newton, meshes, rhs, state])
}
# An error if slightly different conditions have no solution nearby: then z is
# one of many solutions, or none. On a mesh the perturbed solution is finite,
# but differs by its own size, and grows on finer meshes. In a problem with
# layers it also differs, but does not grow.
_check_conditions(P, q, g, z) = {
  A = _matrix_between(P, q, g, z)
  w = _moved_by_conditions(P, g, z, A)
  most = max(abs(w))
  if most > 1e3 {
    weights = _units_between(P, g, z)
    bit = 1e-6 / most
    off = (_residuals(P, q, g, z + bit * w * weights)[3] - _residuals(P, q, g, z)[3]) / bit
    e = _correction(A, off) / weights
    if not (max(abs(e)) <= 0.3 * most) {
      σ = sort(concat(g.σ, 0.5 * (g.σ[1..] + g.σ[..-1])))
      fine = _mesh_of(P, q, σ, g.n, g.k)
      (U, p) = _split_between(g, z)
      f = map((t, u) -> P.f(t, u, p), _times_between(P, g.point), U)[g.at]
      z = concat(ravel(map(x -> _on_mesh(q, g, U, f, P.b - P.a, x), fine.point)), p)
      v = max(abs(_moved_by_conditions(P, fine, z, _matrix_between(P, q, fine, z))))
      if not (v <= 5 * most and most <= 1e11) {
        error(_undetermined(P.name; why = "conditions that differ a little move it without end"))
      }
    }
  }
}
_units_between(P, g, z) = { sizes = _weights_between(P, g, z); where(sizes > 0, sizes, 1.0) }
# The change of the unknowns, relative to their sizes, when the conditions are
# changed by the size of their terms. A is the matrix of the unknowns; the
# result is NaN if it is singular.
_moved_by_conditions(P, g, z, A) = {
  weights = _units_between(P, g, z)
  inner = (g.points - 1) * g.n
  part = (...A, values = abs(A.values)) @ weights
  # no two perturbations are equal, or they could be compatible
  part[..inner] = 0.0
  part[inner..] *= 1 + 0.37 * iota(g.n + g.k)
  _correction(A, part) / weights
}
_on_mesh(q, g, U, f, length, x) = {
  s = len(q.c)
  i = clamp(searchsorted(g.σ, x) - 1, 0, len(g.d) - 1)
  θ = (x - g.σ[i]) / g.d[i]
  U[(s - 1) * i] + length * g.d[i] * _integral_to(q, θ, f[i])
}
# ∫ to x of the polynomial with values f at the points c.
_integral_to(q, x, f) = {
  C = (q.V @ f) / expand(f64(iota(len(q.c)) + 1), 1)
  y = 0 * f[0]
  for j in 0..len(q.c) { y = x * (y + C[len(q.c) - 1 - j]) }
  y
}

# A mesh that equidistributes the residual at a third of the tolerance. An
# interval becomes 0.4 to 4 intervals, neighbours have similar sizes, and every
# place of a condition is a node.
_refined(g, size, order, fixed, before, worst) = {
  m = clamp((size / 0.3)^(1 / order), 0.4, 4.0)
  far = concat(m[1..], m[-1..])
  near = concat(m[..1], m[..-1])
  m = max(m, 0.5 * max(far, near))
  # if the last refinement gained little, increase the number of intervals
  N = len(m)
  m = if worst > 0.5 * before { m * max(1.0, 1.5 * N / sum(m)) } else { m }
  of = searchsorted(fixed[..], g.σ[..-1] + 0.5 * g.d)
  many = zeros(len(fixed) + 1)
  many[of] += m
  whole = where(many > 0, max(1.0, ceil(many - 1e-9)), 1.0)
  m = m * (whole / where(many > 0, many, 1.0))[of]
  sums = concat([0.0], cumsum(m))
  count = i64(round(sums[-1]))
  at = f64(iota(count + 1))
  i = clamp(searchsorted(sums, at + 1e-9) - 1, 0, N - 1)
  σ = g.σ[i] + clamp((at - sums[i]) / m[i], 0.0, 1.0) * g.d[i]
  # restore the fixed nodes exactly
  for x in fixed { σ[argmin(abs(σ - x))] = x }
  σ[0] = 0.0
  σ[count] = 1.0
  σ
}

# Newton's method has failed: reports where the equations are worst, and what to
# try.
_lost_between(m, P, q, G, g, z, how, turns) = {
  v = G(z)
  s = len(q.c)
  (U, p) = _split_between(g, z)
  inner = (g.points - 1) * g.n
  bad = f64(not (abs(v) < inf))
  w = if sum(bad) > 0 { bad } else { abs(v) }
  e = argmax(w)
  i = min(e // (g.n * (s - 1)), len(g.d) - 1)
  place = if e < inner {
    "{P.equation(e % g.n)} near {P.coordinate} = {P.a + (P.b - P.a) * g.σ[i]:.9g}"
  } else {
    P.condition(e - inner)
  }
  values = "y there is {U[(s - 1) * i]}{if g.k > 0 { ", the parameters are {p}" } else { "" }}"
  if how == 4 {
    error(
      "{P.name}: {place} is not finite at the guess; {values}. A division by zero, or a root or "
      "logarithm of a negative number there? Another guess may avoid it")
  }
  if how == 1 {
    error(
      "{P.name}: the linear system of Newton's method is singular after {turns} turns; the largest "
      "residual is that of {place}; {values}. The conditions may not determine the solution (one "
      "that says nothing new, an eigenvalue problem without a norm), or a fold of solutions is "
      "near: try another guess")
  }
  if how == 5 {
    error(
      "{P.name}: Newton's corrections are as small as they should be, and {place} is still off by "
      "{v[e]:.3g}; {values}. Solutions that start almost alike go too far apart within a segment, "
      "or not at all: shooting() with more segments, or collocation()")
  }
  error(
    "{P.name}: Newton's method does not get on, after {turns} turns on {len(g.d) + 1} nodes; the "
    "largest residual is that of {place}, {v[e]:.3g}; {values}. Try a guess nearer to the "
    "solution, one from an easier problem (`guess` takes a solution), or more nodes")
}

# ---- multiple shooting

# shooting(segments; method, steps): multiple shooting: initial value problems
# from guessed states at the start of each segment, joined continuously (1:
# simple shooting).
#   method: the integrator of the segments, by default dop853(); its derivatives
#   with respect to initial values are those of its steps. It has the accuracy
#   of the integrator and needs few nodes, as long as solutions do not diverge
#   by many powers of ten within a segment. Evaluating the solution integrates
#   again. [P. Deuflhard, Newton Methods for Nonlinear Problems, Springer 2004,
#   ch. 7.1]
#     s = bvp((t, y) -> [y[1], -sin(y[0])], (ya, yb) -> [ya[0] - 1, yb[0]], (0.0, 2.0), [1.0, 0.0]; method = shooting(4), rtol = 1e-9);
#     (s.y(2.0)[1]^2 - s.y(0.0)[1]^2) / 2 - 1 + cos(1)       #~ 0 tol 1e-7
shooting(segments = 8; method = dop853(), steps = 50) =
  (name = "shooting", segments = segments, method = method, steps = steps, between = _by_shooting,
    solve = _solve_between)

_by_shooting(m, P) = {
  n = len(P.start(P.a))
  k = len(P.p0)
  q = (c = [0.0, 1.0],)
  o = _integration(zeros(n), none, (rtol = 0.1 * P.rtol, atol = 0.1 * P.atol, saveat = []))
  # Over [0, 1], so that a moving time is an ordinary parameter. sizes: of the
  # unknowns over all segments.
  run_to = part -> (t0, t1, y, p, sizes) -> {
    f = (x, u) -> (t1 - t0) * P.f(t0 + x * (t1 - t0), u, p)
    own = (...o, rtol = part * o.rtol, saveat = [1.0],
      atol = zeros_like(y) + part * 0.1 * _atol_by_sizes(P, sizes))
    _go(m.method, f, (x, u) -> _rows_jacobian(v -> f(x, v), u), y, 0.0, 1.0, own)[1][0]
  }
  run = run_to(1.0)
  (σ, z, counts) = _primal(() -> _shot(m, P, q, run, run_to(0.01), n, k))
  σ = stop_gradient(σ)
  g = _mesh_of(P, q, σ, n, k)
  z = _collocated(v -> _meetings(P, run, g, v), v -> _meeting_matrix(P, run, g, v), z)
  (U, p) = _split_between(g, z)
  nodes = _times_between(P, σ)
  y = t -> {
    i = clamp(searchsorted(stop_gradient(nodes), stop_gradient(t)) - 1, 0, len(nodes) - 2)
    run(nodes[i], t, U[i], p, max(abs(U); axis = 0))
  }
  (y = _over_times(P.coordinate, nodes, y), times = nodes, values = U, parameters = p, error = none,
    residual = max(abs(_meetings(P, run, g, z))),
    stats = (nodes = len(nodes), newton = counts[0], meshes = 1, rhs = 0), method = m.name,
    complete = true)
}
_shot(m, P, q, run, finer, n, k) = {
  fixed = (concat(P.at, P.switches) - P.a) / (P.b - P.a)
  σ = if len(P.mesh) > 1 {
    (P.mesh - P.a) / (P.b - P.a)
  } else {
    linspace(0.0, 1.0, max(m.segments, 1) + 1)
  }
  σ = unique(concat(σ, fixed))
  σ = concat(σ[..-1][σ[1..] - σ[..-1] > 1e-10], [1.0])
  g = _mesh_of(P, q, σ, n, k)
  z = concat(ravel(map(P.start, _times_between(P, g.point))), P.p0)
  (found, how, turns) =
    _newton_damped(v -> _meetings(P, run, g, v), v -> _meeting_matrix(P, run, g, v),
      v -> _weights_between(P, g, v), z, max(0.1 * P.rtol, 1e-13), P.rtol, m.steps)
  if (how == 0 or how == 2 or how == 3) and not P.partial {
    _check_meetings(P, run, finer, g, found)
  }
  if how != 0 { _lost_between(m, P, q, v -> _meetings(P, run, g, v), g, found, how, turns) }
  # extents of their own: code outside _primal cannot refer to the mesh's
  # extents in here
  (σ[σ >= 0], found[found == found], [turns])
}
# An error where slightly different conditions move the unknowns far, and
# farther with finer integration: only integration errors keep the matrix from
# being singular.
_check_meetings(P, run, finer, g, z) = {
  most = max(abs(_moved_by_conditions(P, g, z, _meeting_matrix(P, run, g, z))))
  if most > 1e3 {
    v = max(abs(_moved_by_conditions(P, g, z, _meeting_matrix(P, finer, g, z))))
    if not (v <= 5 * most and most <= 1e11) {
      error(_undetermined(P.name; why = "conditions that differ a little move it without end"))
    }
  }
}
_meetings(P, run, g, z) = {
  (U, p) = _split_between(g, z)
  t = _times_between(P, g.σ[..-1])
  sizes = max(abs(U); axis = 0)
  ends = map((t0, t1, y) -> run(t0, t1, y, p, sizes), t, t + (P.b - P.a) * g.d, U[..-1])
  concat(ravel(U[1..] - ends), P.c(U[g.places], p))
}
_meeting_matrix(P, run, g, z) = {
  (U, p) = _split_between(g, z)
  t = _times_between(P, g.σ[..-1])
  to = t + (P.b - P.a) * g.d
  n = g.n
  sizes = max(abs(U); axis = 0)
  J = map((t0, t1, y) -> _jacobian(v -> run(t0, t1, v, p, sizes), y), t, to, U[..-1])
  I = eye(n)
  own = [0.0, 1.0]
  K[i, j, l, m, r] := own[m] * I[l, r] - (1 - own[m]) * J[i, l, r] for j in 0..1
  Y = U[g.places]
  C = _jacobian(v -> P.c(reshape(v, len(g.places), n), p), ravel(Y))
  values = if P.free {
    D = map((t0, t1, y) -> _jacobian(w -> run(t0, t1, y, w, sizes), p), t, to, U[..-1])
    concat(ravel(K), -ravel(D), ravel(C), ravel(_jacobian(w -> P.c(Y, w), p)))
  } else { concat(ravel(K), ravel(C)) }
  (...g.S, values = values[g.order])
}

# ---- problems in one coordinate with conditions at both ends

_is_between(info) = {
  far = false
  if len(info.coords) == 1 { for c in info.conditions { if c.at.side == 1 { far = true } } }
  far
}

# Whether the only coordinate is periodic. The solution is then a periodic
# function.
_is_loop(info) = len(info.coords) == 1 and info.periodic[0]
_refuse_loop(info, m) = if _is_loop(info) {
  _refuse(
    "{info.coords[0]} of {info.name} is periodic, and {m.name}() goes from one end of an interval "
    "to the other: fourier(), chebyshev() and fd() seek periodic solutions")
}

# Whether the equations determine the highest derivatives, as collocation and
# shooting require.
_is_plain_between(info) = {
  S = info.structure
  plain = S.left < 0
  for c in S.turns { if c > 0 { plain = false } }
  for d in S.orders { if d == 0 { plain = false } }
  plain and _is_linear_in_highest(info, S)
}
_solve_between(info, m, o) = {
  _refuse_loop(info, m)
  if len(info.coords) != 1 {
    _refuse("{m.name}() solves problems in one coordinate; {info.name} also has {info.coords[1]}")
  }
  _refuse_jumps(info, m.name)
  if not _is_plain_between(info) {
    _refuse(
      "{m.name}() wants the equations of {info.name} to determine the highest derivative of each "
      "unknown, and these to enter linearly; chebyshev() and fd() take others")
  }
  S = info.structure
  sizes = info.sizes
  orders = S.orders
  (a, b) = if kind(o.t) == "none" {
    (f64(info.lo[0]), f64(info.hi[0]))
  } else {
    (f64(o.t[0]), f64(o.t[1]))
  }
  highest_at = _highest_between(info, S, a, b, t -> _guessed(info, orders, o.guess, t))
  flow = (t, y) -> {
    (parts, highest) = (_parts(y, sizes, orders), highest_at(t, y));
    _state(map((own, v) -> push(own[1..], v), parts, highest))
  }
  all = (t, y) -> _with_highest(_parts(y, sizes, orders), highest_at(t, y))
  conditions = (Y, p) -> {
    ends = list(all(a, Y[0]), all(b, Y[1]))
    _join(
      map(c -> c.residual((if c.at.side == 1 { b } else { a },),
        _jets_of(info, ends[if c.at.side == 1 { 1 } else { 0 }])),
        list(...info.conditions)))
  }
  labels = _rate_names(info, orders)
  told = map(c -> "the condition `{replace(c.text, "\n", " ")}`", list(...info.conditions))
  # a condition on a vector has one line for each component
  lines =
    i64(_numbers(map(c -> size(c.residual((a,), _jets_of(info, all(a, _flat_state(info, orders))))),
      list(...info.conditions))))
  P = (f = (t, y, p) -> flow(t, y), c = conditions, a = a, b = b, at = stack(a, b), mesh = zeros(0),
    start = t -> _guessed(info, orders, o.guess, t), p0 = zeros(0), free = false,
    rtol = f64(o.rtol), atol = f64(o.atol), by_size = _is_by_size(o), partial = o.partial,
    name = info.name, equation = i -> _told(labels, i),
    condition = i -> _told(told, sum(i64(cumsum(lines) <= i))), coordinate = info.coords[0],
    switches = _primal(() -> _places_of_switches(info, 0, false, true)))
  r = _solved_between(P, m)
  (times, Y) =
    if _asks_all(o.saveat) { (r.times, r.values) } else { (f64(o.saveat), map(r.y, f64(o.saveat))) }
  s =
    (..._solution_of(info, m, orders, all, r.y, (a, b), times, Y, r.stats),
      error = _relative_between(info, orders, P, r), residual = r.residual, complete = r.complete)
  if info.eigen == "" {
    s
  } else {
    (...s, ...record(list(info.eigen), list(_field(s, info.eigen)(a))))
  }
}
# The error in the form of all methods of solve: relative to each field's root
# mean square.
_relative_between(info, orders, P, r) = if kind(r.error) == "none" { none } else {
  h = r.times[1..] - r.times[..-1]
  w = (concat(h, [0.0]) + concat([0.0], h)) / (2 * sum(h))
  sizes = sqrt(sum(expand(w, 1) * r.values^2; axis = 0))
  sizes = sizes + 1e-300 + _least_of((...P, by_size = true), sizes)
  worst = 0.0
  at = 0
  for (k, n) in enumerate(info.sizes) {
    width = max(1, n)
    worst = max(worst, norm(r.error[at..at + width]) / norm(sizes[at..at + width]))
    at = at + width * orders[k]
  }
  stop_gradient(worst)
}
# The highest derivatives as functions of the coordinate and the state. At an
# end the equations may not determine them: a regular singular point, such as r
# == 0 for r*u_rr + u_r, has a coefficient 0 or an infinite term. There the
# equations are required at a distance of 1e-8 of the interval inside, to which
# the state is extrapolated by these derivatives. This is the limit by
# l'Hôpital's rule.
_highest_between(info, S, a, b, guess) = {
  sizes = info.sizes
  (highest_at, _, _) = _explicit_rates(info, S)
  zero = _flat_zero(info)
  residual = (t, y, δ, highest) -> {
    moved = map((own, v) -> {
      next = push(own[1..], v)
      map((x, dx) -> x + δ * dx, own, next)
    }, _parts(y, sizes, S.orders), _split(highest, sizes))
    _highest_residual(info, S, t, moved, _split(highest, sizes))
  }
  within = (t, y, δ) -> {
    at = highest -> residual(t + δ, y, δ, highest)
    highest = zero
    # one iteration suffices for linear equations
    for turn in 0..2 { highest = highest - linsolve(_jacobian(at, highest), at(highest)) }
    _split(highest, sizes)
  }
  (low, high) = _primal(() -> map(t -> {
    y = guess(t)
    M = _jacobian(r -> residual(t, y, 0.0, r), zero)
    finite = all(abs(M) < inf) and all(abs(residual(t, y, 0.0, zero)) < inf)
    if finite { _is_singular(M) } else { true }
  }, (a, b)))
  step = 1e-8 * (b - a)
  (t, y) -> if low or high {
    within(t, y, if low and t == a { step } else if high and t == b { -step } else { 0.0 * step })
  } else { highest_at(t, y) }
}
_flat_state(info, orders) = _state(_zero_parts(info, orders))
_told(labels, i) = {
  s = ""
  for (k, label) in enumerate(labels) { if k == i { s = label } }
  s
}
_rate_names(info, orders) = {
  out = list()
  for (k, name) in enumerate(info.fields) {
    for j in each(orders[k]) {
      for x in each(max(1, info.sizes[k])) {
        of = if info.sizes[k] == 0 { "" } else { "[{x}]" }
        out = push(out, "the equation for {_derivative_name(name, info.coords[0], j + 1)}{of}")
      }
    }
  }
  out
}
# The state of a guess at t: for each field its value and derivatives, those of
# functions by differentiation. Missing ones are 0.
_guessed(info, orders, guess, t) = {
  parts = list()
  for (k, name) in enumerate(info.fields) {
    own = list()
    nought = if info.sizes[k] == 0 { 0.0 } else { zeros(info.sizes[k]) }
    for j in each(orders[k]) {
      label = if j == 0 { name } else { _derivative_name(name, info.coords[0], j) }
      own = push(own, if has(guess, label) {
        _guess_value(_field(guess, label), 0, t)
      } else if has(guess, name) {
        _guess_value(_field(guess, name), j, t)
      } else {
        nought
      })
    }
    parts = push(parts, own)
  }
  _state(parts)
}
_guess_value(f, j, t) = if kind(f) == "function" {
  g = f
  for i in each(j) { g = _slope_of(g) }
  f64(g(t))
} else { if j == 0 { f64(f) } else { 0.0 * f64(f) } }
_slope_of(g) = t -> jvp(g, t, 1.0)[1]
