# fem_linear.dsl - by what the linear systems of finite elements are solved:
# sparse factors, conjugate gradients with the diagonal, or with algebraic
# multigrid (amg.dsl).
#
# Factors of problems in space fill in: their elements grow with the power 4/3
# of the unknowns, their time with the square, where multigrid stays with the
# unknowns.

# How systems with matrices like A are to be solved: method, way as text,
# whether that is multigrid, and the hierarchy that belongs to A
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
          "fem(linear = \"{method}\") is for symmetric matrices, and that of {P.info.name} is "
          "not; fem(linear = \"direct\") serves it")
      }
      if not positive {
        error(
          "fem(linear = \"{method}\") is for positive definite matrices, and that of "
          "{P.info.name} is not; fem(linear = \"direct\") serves it")
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
# By itself multigrid is taken in space, where no field is there to keep an
# equation that does not mention it
_multigrid_suits(P) = {
  fine = P.d == 3
  for f in each(P.nf) { if _is_multiplier(P.info, P.eqs, f, P.nf) { fine = false } }
  fine
}
# What an elliptic matrix without conditions makes nearly zero, of the unknowns
# that are free: constants of each component, and rotations of a vector that has
# as many as there are coordinates; and at which node each unknown is
_what_is_small(P, D, free) = {
  component = i64(zeros(D.total))
  node = i64(zeros(D.total))
  for c in each(P.nc) {
    component[D.starts[c]..D.starts[c] + D.counts[c]] = c
    # elements of one order share their nodes
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

# Of Δ(u) == f the matrix is negative definite: -1 where its whole diagonal is
# negative
_sign_of(A) =
  if max(concat([-1.0], stop_gradient(where(A.rows == A.columns, A.values, -1.0)))) < 0 {
    -1.0
  } else {
    1.0
  }
_times_sign(A, s) = (...A, values = s * A.values)

# x with A x == b, and how many iterations that took
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
# A step of Newton's method, whose matrix is no longer that of S: its hierarchy
# serves while it does, else that of the matrix is made
_turn_of(P, D, m, S, A, b, free) = if S.iterates {
  enough = 1e-10 * norm(b)
  s = _sign_of(A)
  B = _times_sign(A, s)
  (x, k, r, good) =
    _conjugate(v -> B @ v, s * b, S.M.apply, 60, (r, rho, first) -> not (norm(r) > enough))
  if good and norm(r) <= enough { x } else { _step_of(P, _systems(P, D, m, A, free), A, b)[0] }
} else { _step_of(P, S, A, b)[0] }
