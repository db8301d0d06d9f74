# The least-squares problems of Moré, Garbow and Hillstrom (ACM TOMS 7, 1981)
# whose minima have closed forms or are printed there. From the standard starts,
# by every least-squares method, and as sums of squares by minimize().

t = 0.1 * (iota(10) + 1)
problems = list(
  (name = "Rosenbrock", r = x -> [10 * (x[1] - x[0]^2), 1 - x[0]], x0 = [-1.2, 1], x = [1, 1.0], tol = 1e-10),
  (name = "Powell, badly scaled", r = x -> [1e4 * x[0] * x[1] - 1, exp(-x[0]) + exp(-x[1]) - 1.0001], x0 = [0.0, 1],
    x = [1.09815932969975976e-05, 9.10614673986700218], tol = 1e-8),
  (name = "Brown, badly scaled", r = x -> [x[0] - 1e6, x[1] - 2e-6, x[0] * x[1] - 2], x0 = [1.0, 1], x = [1e6, 2e-6],
    tol = 1e-10),
  (name = "Beale", r = x -> [1.5, 2.25, 2.625] - x[0] * (1 - x[1]^[1.0, 2, 3]), x0 = [1.0, 1], x = [3, 0.5], tol = 1e-10),
  (name = "helical valley", r = x -> [10 * (x[2] - 10 * (atan2(x[1], x[0]) / (2π))), 10 * (sqrt(x[0]^2 + x[1]^2) - 1), x[2]],
    x0 = [-1.0, 0, 0], x = [1.0, 0, 0], tol = 1e-9),
  (name = "Wood",
    r = x -> [10 * (x[1] - x[0]^2), 1 - x[0], sqrt(90.0) * (x[3] - x[2]^2), 1 - x[2], sqrt(10.0) * (x[1] + x[3] - 2),
      (x[1] - x[3]) / sqrt(10.0)], x0 = [-3.0, -1, -3, -1], x = ones(4), tol = 1e-10),
  (name = "Powell, singular",
    r = x -> [x[0] + 10 * x[1], sqrt(5.0) * (x[2] - x[3]), (x[1] - 2 * x[2])^2, sqrt(10.0) * (x[0] - x[3])^2],
    x0 = [3.0, -1, 0, 1], x = zeros(4), tol = 1e-6),
  (name = "box", r = x -> exp(-t * x[0]) - exp(-t * x[1]) - x[2] * (exp(-t) - exp(-10t)), x0 = [0.0, 10, 20], x = [1.0, 10, 1],
    tol = 1e-9),
  (name = "linear, full rank", r = x -> concat(x, zeros(6)) - 2 / 11 * sum(x) - 1, x0 = ones(5), x = -ones(5), tol = 1e-10)
)
near(x, p) = max(abs(x - p.x) / max(p.least, abs(p.x))) <= p.tol
for p in problems {
  of = p.name
  # Where the residuals determine them, small unknowns beside large ones must be
  # accurate relative to themselves.
  q = (...p, least = if max(abs(p.x)) > 0 { 1e-6 } else { 1.0 })
  squares = list()
  for m in list(lm(), lm(geodesic = false), dogleg(), gauss_newton()) {
    r = least_squares(q.r, q.x0, m)
    squares = push(squares, near(r.x, q) and r.converged)
  }
  whole = list()
  for m in list(lbfgs(), bfgs(), newton_cg()) {
    r = minimize(x -> sum(q.r(x)^2), q.x0, m; steps = 500, tol = 1e-12)
    whole = push(whole, near(r.x, (...q, tol = max(q.tol, if of == "Powell, singular" { 1e-4 } else { 1e-8 }))) and r.converged)
  }
  print("{of}: {squares} {whole}")
}
#> Rosenbrock: list(true, true, true, true) list(true, true, true)
#> Powell, badly scaled: list(true, true, true, true) list(true, true, true)
#> Brown, badly scaled: list(true, true, true, true) list(true, true, true)
#> Beale: list(true, true, true, true) list(true, true, true)
#> helical valley: list(true, true, true, true) list(true, true, true)
#> Wood: list(true, true, true, true) list(true, true, true)
#> Powell, singular: list(true, true, true, true) list(true, true, true)
#> box: list(true, true, true, true) list(true, true, true)
#> linear, full rank: list(true, true, true, true) list(true, true, true)

# the residual sum of squares, and Newton's method with the whole Hessian
2 * least_squares(problems[8].r, problems[8].x0).value       #~ 6 tol 1e-12
for k in list(0, 3, 4, 5, 7) {
  print(near(minimize(x -> sum(problems[k].r(x)^2), problems[k].x0, newton()).x, (...problems[k], least = 1.0, tol = 1e-9)))
}
#> true
#> true
#> true
#> true
#> true
# from more distant starts
least_squares(problems[0].r, [-12.0, 10]).x  #~ [1, 1] tol 1e-10
least_squares(problems[3].r, [-3.0, 2], lower = [-5, 0]).converged  #> true
least_squares(problems[5].r, [-30.0, -10, -30, -10]).x       #~ ones(4) tol 1e-9
