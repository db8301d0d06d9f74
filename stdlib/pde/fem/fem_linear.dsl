# fem_linear.dsl - linear solvers of finite elements: sparse factors, conjugate
# gradients preconditioned by the diagonal or by algebraic multigrid (amg.dsl).
#
# In three dimensions the fill of sparse factors grows with the power 4/3 of the
# number of unknowns and their time with the square. Multigrid is linear in the
# number of unknowns.

# Returns how to solve systems with matrices like A: the method, its
# description, whether it iterates, and the preconditioner of A.
_systems(P, D, m, A, free) = {
  method = if m.linear == "auto" and not _multigrid_suits(P) { "direct" } else { m.linear }
  if method == "direct" {
    (method = method, way = "sparse factors", iterates = false, M = none)
  } else {
    A = _times_sign(A, _sign_of(A))
    even = _is_symmetric(A)
    positive = min(concat([1.0], diagonal(A))) > 0
    if method != "auto" {
      if not even {
        error(
          "fem(linear = \"{method}\") is for symmetric matrices, and that of {P.info.name} is not; "
          "fem(linear = \"direct\") serves it")
      }
      if not positive {
        error(
          "fem(linear = \"{method}\") is for positive definite matrices, and that of {P.info.name} "
          "is not; fem(linear = \"direct\") serves it")
      }
    }
    if method == "cg" {
      (method = method, way = "conjugate gradients with the diagonal", iterates = true,
        M = jacobi_preconditioner(A))
    } else {
      takes = if method == "auto" { even and positive and len(free) > 20000 } else { true }
      H = if takes {
        (near, nodes) = _what_is_small(P, D, free)
        _hierarchy(A.column_start, A.rows, stop_gradient(A.values), nodes, near, 16, 1000, 0.08)
      } else { _no_hierarchy() }
      (method = method,
        way = if takes {
          "conjugate gradients with algebraic multigrid"
        } else {
          "sparse factors"
        }, iterates = takes, M = _cycles(H, 1))
    }
  }
}
# Whether "auto" may use multigrid: in three dimensions, without a field that
# enforces an equation that does not contain it.
_multigrid_suits(P) = {
  fine = P.d == 3
  for f in each(P.nf) { if _is_multiplier(P.info, P.eqs, f, P.nf) { fine = false } }
  fine
}
# Returns the near-null space of an elliptic matrix without conditions, on the
# free unknowns, and the node of each unknown. It has constants of each
# component, and rotations of a vector with as many components as coordinates.
_what_is_small(P, D, free) = {
  component = i64(zeros(D.total))
  node = i64(zeros(D.total))
  for c in each(P.nc) {
    component[D.starts[c]..D.starts[c] + D.counts[c]] = c
    # Elements of one order share their nodes.
    node[D.starts[c]..D.starts[c] + D.counts[c]] = iota(D.counts[c]) +
      D.total * (P.orders[c] - P.orders[0])
  }
  node = if all(map(k -> k == P.orders[0], stack(...P.orders))) { node } else { iota(D.total) }
  columns = map(c -> where(component == c, 1.0, 0.0), each(P.nc))
  for f in each(P.nf) {
    if P.info.sizes[f] == P.d and P.d > 1 {
      turns = _rotations(D.X, component - P.first[f], P.d)
      for r in turns { columns = push(columns, r) }
    }
  }
  (stack(...columns; axis = 1)[free], node[free])
}

# Returns -1 where the whole diagonal is negative, since Δ(u) == f has a
# negative definite matrix; else 1.
_sign_of(A) =
  if max(concat([-1.0], stop_gradient(where(A.rows == A.columns, A.values, -1.0)))) < 0 {
    -1.0
  } else {
    1.0
  }
_times_sign(A, s) = (...A, values = s * A.values)

# Returns x with A x == b, and the number of iterations.
_step_of(P, S, A, b) = if S.method == "direct" { (linsolve(A, b), 0) } else {
  s = _sign_of(A)
  _upright_step(P, S, _times_sign(A, s), s * b)
}
_upright_step(P, S, A, b) = if S.method == "auto" {
  if S.iterates {
    try {
      r = cg(A, b; tol = 1e-12, steps = 500, preconditioner = S.M, report = true)
      (r.x, r.iterations)
    } catch e { (linsolve(A, b), 0) }
  } else { (linsolve(A, b), 0) }
} else {
  try {
    r = cg(A, b; tol = 1e-12, preconditioner = S.M, report = true)
    (r.x, r.iterations)
  } catch e {
    error(
      "fem(linear = \"{S.method}\") does not solve {P.info.name}: {e}; fem(linear = \"direct\") "
      "serves it")
  }
}
# Returns a Newton step. Its matrix is no longer that of S; the hierarchy of S
# is reused while it converges, else one for the matrix is built.
_turn_of(P, D, m, S, A, b, free) = if S.iterates {
  enough = 1e-10 * norm(b)
  s = _sign_of(A)
  B = _times_sign(A, s)
  (x, k, r, good) =
    _conjugate(v -> B @ v, s * b, S.M.apply, 60, (r, rho, first) -> not (norm(r) > enough))
  if good and norm(r) <= enough { x } else { _step_of(P, _systems(P, D, m, A, free), A, b)[0] }
} else { _step_of(P, S, A, b)[0] }
