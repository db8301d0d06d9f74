# nonlinear.dsl - nonlinear systems by KINSOL, for root and fixed_point: large
# systems, sparse or matrix-free.
#
# The derivatives of a zero do not depend on the solver (roots.dsl). Here they
# use the same kind of linear solver as the search, so that a system too large
# for a dense matrix never forms one.

# kinsol(; strategy, linear, tol, memory, hold, scale_x, scale_f, L): a method
# for root(f, x0, kinsol()) and fixed_point(g, x0, kinsol()): SUNDIALS' KINSOL.
#   strategy: "linesearch" (Newton's method with a line search), "newton" (full
#   steps), "picard" (x - L⁻¹ f(x) with Anderson acceleration over `memory`
#   earlier steps). L is a constant matrix near the Jacobian, by default the
#   Jacobian at the initial guess. fixed_point uses Anderson acceleration.
#   linear: "dense"; "sparse" (the pattern of f, by KLU); "krylov" (matrix-free
#   GMRES with exact products, for systems that need no preconditioner). hold:
#   number of steps that share a Jacobian.
#   Stops when max(abs(f(x) * scale_f)) <= tol. scale_x, scale_f: scalars or
#   vectors that scale unknowns and equations to size 1; both 1 by default.
#   [Hindmarsh et al., ACM TOMS 31, 2005; Walker and Ni, SIAM J. Numer. Anal.
#   49, 2011]
#     root(x -> [x[0]^2 + x[1]^2 - 1, x[0] - x[1]], [1.0, 0], kinsol())     #~ [1, 1] / √2
#     bratu(u) = concat(u[1..], [0]) - 2u + concat([0], u[..-1]) + exp(u) / 1001^2
#     max(root(bratu, zeros(1000), kinsol(linear = "sparse")))    #~ 0.140539 tol 1e-5
kinsol(; strategy = "linesearch", linear = "dense", tol = 1e-12, memory = 5, hold = 1,
  scale_x = 1.0, scale_f = 1.0, L = none) =
  (name = "kinsol", strategy = _one_of("kinsol has the strategies", strategy,
    list("newton", "linesearch", "picard")),
    linear = _one_of("kinsol has the linear solvers", linear, list("dense", "sparse", "krylov")),
    tol = tol, memory = memory, hold = hold, scale_x = scale_x, scale_f = scale_f, L = L)
_one_of(what, word, words) = {
  k = -1
  for (i, w) in enumerate(words) { if w == word { k = i } }
  if k < 0 { _refuse("{what} {join(words, ", ")}, not {word}") }
  k
}

_by_kinsol(f, x0, m, steps) = if kind(x0) == "array" and rank(x0) == 1 {
  _kinsol_zero(f, stop_gradient(x0 + 0.0), m, steps)
} else {
  (v, back) = flatten(x0)
  back(_kinsol_zero(w -> flatten(f(back(w)))[0], stop_gradient(v + 0.0), m, steps))
}
# Solves J z = b, where J is the Jacobian of f at y, by the linear solver of
# method m.
_kinsol_linear(f, y, m, b) = if m.linear == 0 { linsolve(_jacobian(f, y), b) } else {
  if m.linear == 1 { linsolve(_sparse_jacobian(f, y), b) } else {
    linear_map(r -> gmres(v -> jvp(f, y, v)[1], r; tol = 1e-12),
      r -> gmres(w -> vjp(f, y)[1](w), r; tol = 1e-12), b)
  }
}
derivative _kinsol_zero(f, x0, m, steps), df, dx0, dm, dsteps = -_kinsol_linear(f, y, m, df(y))
_kinsol_zero(f, x0, m, steps) = {
  v = f(x0)
  if rank(v) != 1 { _refuse("root: the equations must be a vector like the unknowns") }
  if len(v) != len(x0) {
    error("root: as many equations are wanted as there are unknowns, {len(x0)}, not {len(v)}")
  }
  if m.strategy == 2 {
    L = if kind(m.L) == "none" {
      if m.linear == 1 { _sparse_jacobian(f, x0) } else { _jacobian(f, x0) }
    } else {
      m.L
    }
    if kind(L) != "array" {
      elements = L.values
      _kinsol_call(f, u -> elements, (L.column_start, L.rows), x0, m, 1, steps)
    } else {
      _kinsol_call(f, u -> L, none, x0, m, 0, steps)
    }
  } else {
    if m.linear == 1 {
      p = sparsity(f, x0)
      _kinsol_call(f, u -> _compressed(f, u, p), (p.column_start, p.rows), x0, m, 1, steps)
    } else {
      if m.linear == 2 {
        _kinsol_products(f, x0, m, steps)
      } else {
        _kinsol_call(f, u -> _jacobian(f, u), none, x0, m, 0, steps)
      }
    }
  }
}
_kinsol_call(f, jac, pattern, x0, m, linear, steps) = {
  (colptr, rowind) = if kind(pattern) == "none" {
    (i64(zeros(0)), i64(zeros(0)))
  } else {
    (i64(pattern[0]), i64(pattern[1]))
  }
  _host("kinsol", ((f, (x0,)), (jac, (x0,))),
    (x0, 0 * x0 + m.scale_x, 0 * x0 + m.scale_f, f64(m.tol), colptr, rowind),
        (m.strategy, linear, steps, m.memory, m.hold))[0]
}
_kinsol_products(f, x0, m, steps) =
  _host("kinsol", ((f, (x0,)), ((u, v) -> jvp(f, u, v)[1], (x0, x0))),
        (x0, 0 * x0 + m.scale_x, 0 * x0 + m.scale_f, f64(m.tol), i64(zeros(0)), i64(zeros(0))),
    (m.strategy, 2, steps, m.memory, m.hold))[0]

derivative _kinsol_fixed(g, x0, m, steps), dg, dx0, dm,
  dsteps = _kinsol_linear(x -> x - g(x), y, m, dg(y))
_kinsol_fixed(g, x0, m, steps) = {
  if len(g(x0)) != len(x0) { error("fixed_point: g must give what it takes, {len(x0)} numbers") }
  _host("kinsol", ((g, (x0,)), (u -> u, (x0,))),
        (x0, 0 * x0 + m.scale_x, 0 * x0 + m.scale_f, f64(m.tol), i64(zeros(0)), i64(zeros(0))),
    (3, 0, steps, m.memory, 1))[0]
}
