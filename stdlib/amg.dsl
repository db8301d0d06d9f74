# amg.dsl - algebraic multigrid as a preconditioner: smoothed aggregation.
#
# Unknowns that depend on each other strongly are put together; a vector that is constant (or as `near_null` says) on such an aggregate, smoothed once, is what the next
# coarser matrix P' A P has an unknown for. What a few steps of a smoother leave of an error is such, so that the number of iterations does not grow with the matrix.

# amg(A; levels, strength, sweeps, near_null): smoothed aggregation for a sparse matrix, as a preconditioner for cg, minres, gmres and bicgstab
#   A symmetric positive definite, as of diffusion or elasticity; near such a matrix it serves gmres and bicgstab, too. levels: matrices, the last of which is factorised. strength: of elements
#   that count, beside the root of the product of their diagonal elements. sweeps: degree of the Chebyshev smoother. near_null: the vector that A makes smallest, 1 everywhere unless given.
#   Symmetric V-cycles; no derivatives: a preconditioner does not change the solution. [Vaněk, Mandel and Brezina, Computing 56, 1996; Adams, Brezina, Hu and Tuminaro, J. Comput. Phys. 188, 2003]
#     T = spdiags((2.0, -1.0, -1.0), (0, 1, -1), 40);
#     A = kron(T, speye(40)) + kron(speye(40), T);
#     cg(A, ones(1600); preconditioner = amg(A), report = true).iterations < 15    #> true
amg(A; levels = 3, strength = 0.08, sweeps = 2, near_null = none) = {
  if kind(A) != "sparse" { _refuse("amg takes a sparse matrix; linsolve is for dense ones") }
  levels = _known(levels, "levels")
  if levels < 2 { _refuse("amg takes two levels or more") }
  M = (...A, values = stop_gradient(A.values))
  n = len(M.column_start) - 1
  if n != len(M.row_start) - 1 { error("amg takes a square matrix, not one of {n} rows and {len(M.row_start) - 1} columns") }
  v = if kind(near_null) == "none" { ones(n) } else { stop_gradient(near_null + 0.0) }
  if len(v) != n { error("amg: near_null has {len(v)} numbers for {n} unknowns") }
  all = list()
  for k in list(...(0..levels - 1)) {
    d = diagonal(M)
    if not (min(abs(d)) > 0) { error("amg: there is a 0 on the diagonal") }
    top = _largest_scaled(M, d)
    (which, count) = _aggregates(M.column_start, M.rows, M.values, d, strength)
    square = zeros(count)
    square[which] += v^2
    size = sqrt(where(square > 0, square, 1.0))
    T = sparse(iota(len(which)), which, v / size[which], len(which), count)
    # damped by 4/3 of the inverse of the largest eigenvalue
    P = T - _scaled_rows(M @ T, (4 / 3) / (top * d))
    R = P'
    all = push(all, (A = M, P = P, R = R, d = d, top = top))
    M = R @ (M @ P)
    v = size
  }
  coarsest = M
  (apply = r -> _v_cycle(all, coarsest, sweeps, r),
    adjoint = r -> _v_cycle(map(l -> (...l, A = l.A'), all), coarsest', sweeps, r))
}
_scaled_rows(A, s) = (...A, values = A.values * s[A.rows])
# A bound of the largest eigenvalue of A with its rows divided by d: some steps of the power method, and a tenth more
_largest_scaled(A, d) = {
  x = sin(1.0 + iota(len(d)))
  y = 1.0
  for k in 0..15 {
    x = (A @ x) / d
    y = norm(x)
    x = x / y
  }
  1.1 * y
}
# Columns of A as neighbourhoods: first those that are whole, then neighbours of these, then what is left.
_aggregates(starts, rows, values, d, strength) = {
  n = len(starts) - 1
  which = i64(zeros(n)) - 1
  count = 0
  least = strength^2
  for j in 0..n {
    open = which[j] < 0
    for p in starts[j]..starts[j + 1] {
      i = rows[p]
      if i != j and values[p]^2 > least * abs(d[i] * d[j]) and which[i] >= 0 { open = false }
    }
    if open {
      which[j] = count
      for p in starts[j]..starts[j + 1] {
        i = rows[p]
        if values[p]^2 > least * abs(d[i] * d[j]) { which[i] = count }
      }
      count = count + 1
    }
  }
  first = which
  for j in 0..n {
    if first[j] < 0 {
      best = 0.0
      for p in starts[j]..starts[j + 1] {
        i = rows[p]
        if i != j and first[i] >= 0 and abs(values[p]) > best and values[p]^2 > least * abs(d[i] * d[j]) {
          best = abs(values[p])
          which[j] = first[i]
        }
      }
    }
  }
  for j in 0..n {
    if which[j] < 0 {
      which[j] = count
      for p in starts[j]..starts[j + 1] {
        i = rows[p]
        if which[i] < 0 and values[p]^2 > least * abs(d[i] * d[j]) { which[i] = count }
      }
      count = count + 1
    }
  }
  (which, count)
}
_v_cycle(levels, coarsest, sweeps, r) = {
  down = list()
  rest = list(r)
  for (k, l) in enumerate(levels) {
    x = _chebyshev_smooth(l, rest[k], sweeps)
    down = push(down, x)
    rest = push(rest, l.R @ (rest[k] - l.A @ x))
  }
  x = linsolve(coarsest, rest[len(levels)])
  for k in list(...(0..len(levels))) {
    i = len(levels) - 1 - k
    l = levels[i]
    x = down[i] + l.P @ x
    x = x + _chebyshev_smooth(l, rest[i] - l.A @ x, sweeps)
  }
  x
}
# x near A^-1 r in the upper three quarters of the spectrum, from 0: a polynomial of the scaled matrix, so that it is symmetric where A is
_chebyshev_smooth(l, r, sweeps) = {
  middle = 0.625 * l.top
  half = 0.375 * l.top
  sigma = middle / half
  rho = 1 / sigma
  step = r / (middle * l.d)
  x = step
  for k in 1..sweeps {
    next = 1 / (2 * sigma - rho)
    step = next * rho * step + (2 * next / half) * ((r - l.A @ x) / l.d)
    rho = next
    x = x + step
  }
  x
}
