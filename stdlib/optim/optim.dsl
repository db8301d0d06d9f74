# optim.dsl - minimisation of smooth functions and of sums of squares, with
# bounds and constraints.
#
# Contract:
# - Parameters may be arrays, records, tuples or lists of arrays; results have
#   the same form.
# - At a minimum x(p) the gradient vanishes for all p: f_xx dx + f_xp dp = 0.
#   This gives the derivative of the minimum, of every order, for all methods.
#   The value changes by f_p dp alone.
#
# The methods are in line_search.dsl, trust_region.dsl, least_squares.dsl (sums
# of squares) and constraints.dsl.

# ---- methods for minimize

# lbfgs(; memory = 10): limited-memory BFGS, for many unknowns. `memory` pairs
# of steps and gradient changes approximate the Hessian.
#   Each step ends a line search for the strong Wolfe conditions. [Nocedal and
#   Wright, Numerical Optimization, 2006, algorithms 7.4, 7.5]
#     minimize(x -> (x - 3)^2, 0.0, lbfgs()).x            #~ 3 tol 1e-6
lbfgs(; memory = 10) = (name = "lbfgs", memory = memory, run = _lbfgs)
# bfgs(): the Broyden-Fletcher-Goldfarb-Shanno method with a dense matrix, for
# up to some hundred unknowns. With bounds it is lbfgs(memory = 20).
#   [Nocedal and Wright 2006, algorithm 6.1]
#     minimize(x -> sum((x - [1, 2])^4 + x^2), [0.0, 0], bfgs()).converged  #> true
bfgs() = (name = "bfgs", memory = 20, run = _bfgs, update = _bfgs_update)
# ssbroyden(): self-scaled Broyden method for losses of small networks. It is
# bfgs() with a member of the Broyden class and a scaling chosen at each step
# (Al-Baali and Khalfan 2005). With bounds it is lbfgs(memory = 20).
#     minimize(x -> 100 * (x[1] - x[0]^2)^2 + (1 - x[0])^2, [-1.2, 1.0], ssbroyden()).x   #~ [1, 1] tol 1e-6
ssbroyden() = (name = "ssbroyden", memory = 20, run = _bfgs, update = _ssbroyden_update)
# conjugate_gradient(): nonlinear conjugate gradient method, with three vectors
# of memory.
#   [Hager and Zhang, SIAM J. Optim. 16, 2005, eqs. 1.2-1.6]
#     minimize(x -> sum([1.0, 10, 100] * (x - 1)^2), zeros(3), conjugate_gradient()).x   #~ [1, 1, 1] tol 1e-6
conjugate_gradient() = (name = "conjugate_gradient", memory = 10, run = _nonlinear_cg)
# newton(; radius = 1.0): Newton's method with the dense Hessian in a trust
# region of this initial radius. Its steps are exact minima of the quadratic
# model, also an indefinite one.
#   Each step solves an eigenvalue problem: for up to some hundred unknowns.
#   [Moré and Sorensen, SIAM J. Sci. Stat. Comput. 4, 1983; Nocedal and Wright
#   2006, section 4.3]
#     minimize(x -> (x[0]^2 - 1)^2 + x[1]^2, [0.0, 1], newton()).value      #~ 0 tol 1e-12
newton(; radius = 1.0) = (name = "newton", radius = radius, run = _trust_newton)
# newton_cg(; radius = 1.0): matrix-free Newton's method for many unknowns, by
# conjugate gradients in a trust region.
#   It uses Hessian-vector products only. [Steihaug, SIAM J. Numer. Anal. 20,
#   1983; Nocedal and Wright 2006, algorithm 7.2]
#     minimize(x -> sum((x[1..] - x[..-1]^2)^2 + (1 - x[..-1])^2), zeros(5), newton_cg()).x      #~ ones(5) tol 1e-8
newton_cg(; radius = 1.0) = (name = "newton_cg", radius = radius, run = _trust_cg)
# nelder_mead(; size = 0.1): the Nelder-Mead simplex method, which uses values
# of f only: for few unknowns, and functions with kinks.
#   size: of the first simplex, relative to 1 + |x|. It stops when the values at
#   the corners agree. Coefficients depend on the number of unknowns. [Nelder
#   and Mead 1965; Gao and Han, Comput. Optim. Appl. 51, 2012]
#     minimize(x -> abs(x[0] - 1) + abs(x[1] - 2), [0.0, 0], nelder_mead(), steps = 400).x      #~ [1, 2] tol 1e-5
nelder_mead(; size = 0.1) = (name = "nelder_mead", size = size, run = _nelder_mead)
# adam(; rate = 1e-3, beta1, beta2): Adam: steps by running means of the
# gradient and of its squares, for stochastic gradients or millions of unknowns.
#   rate: a scalar, or a function of the step number, from 1. [Kingma and Ba,
#   2015, algorithm 1]
#     minimize(x -> (x - 3)^2, 2.0, adam(rate = 0.1), steps = 500).x   #~ 3 tol 1e-3
adam(; rate = 1e-3, beta1 = 0.9, beta2 = 0.999) = _first_order_method(
  "adam", rate, 0.0,
  (m, v, g, k) -> {
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g^2
    (m, v, (m / (1 - beta1^k)) / (sqrt(v / (1 - beta2^k)) + 1e-8))
})
# adamw(; rate, beta1, beta2, decay = 1e-2): Adam with decoupled weight decay of
# rate * decay each step [Loshchilov and Hutter, 2019]
#     minimize(x -> (x - 3)^2, 2.0, adamw(rate = 0.05, decay = 0.0), steps = 800).x   #~ 3 tol 1e-3
adamw(; rate = 1e-3, beta1 = 0.9, beta2 = 0.999, decay = 1e-2) =
  (...adam(rate = rate, beta1 = beta1, beta2 = beta2), name = "adamw", decay = decay)
# adamax(; rate, beta1, beta2): Adam with the largest recent gradient instead of
# the mean square [Kingma and Ba, 2015, algorithm 2]
#     minimize(x -> (x - 3)^2, 2.9, adamax(rate = 0.02), steps = 800).x   #~ 3 tol 1e-2
adamax(; rate = 2e-3, beta1 = 0.9, beta2 = 0.999) = _first_order_method(
  "adamax", rate, 0.0,
  (m, v, g, k) -> {
    m = beta1 * m + (1 - beta1) * g
    v = max(beta2 * v, abs(g))
    (m, v, m / (1 - beta1^k) / (v + 1e-300))
})
# nadam(; rate, beta1, beta2): Adam with Nesterov momentum [Dozat, 2016]
#     minimize(x -> (x - 3)^2, 2.0, nadam(rate = 0.05), steps = 800).x   #~ 3 tol 1e-3
nadam(; rate = 1e-3, beta1 = 0.9, beta2 = 0.999) = _first_order_method(
  "nadam", rate, 0.0,
  (m, v, g, k) -> {
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g^2
    ahead = beta1 * m / (1 - beta1^(k + 1)) + (1 - beta1) * g / (1 - beta1^k)
    (m, v, ahead / (sqrt(v / (1 - beta2^k)) + 1e-8))
})
# rmsprop(; rate, decay = 0.9): RMSProp: gradient steps divided by the root of a
# running mean of squared gradients [Tieleman and Hinton, 2012]
#     minimize(x -> (x - 3)^2, 2.0, rmsprop(rate = k -> 0.5 / k), steps = 800).x   #~ 3 tol 1e-2
rmsprop(; rate = 1e-2, decay = 0.9) = _first_order_method(
  "rmsprop", rate, 0.0, (m, v, g, k) -> {
    v = decay * v + (1 - decay) * g^2
    (m, v, g / (sqrt(v) + 1e-8))
})
# adagrad(; rate): AdaGrad: gradient steps divided by the root of the sum of all
# squared gradients [Duchi, Hazan and Singer, 2011]
#     minimize(x -> (x - 3)^2, 2.0, adagrad(rate = 0.5), steps = 800).x   #~ 3 tol 1e-3
adagrad(; rate = 1e-2) = _first_order_method("adagrad", rate, 0.0, (m, v, g, k) -> {
  v = v + g^2
  (m, v, g / (sqrt(v) + 1e-10))
})
# gradient_descent(; rate, momentum = 0.0, nesterov = false): gradient descent
# with step size `rate` and momentum.
#   [Nesterov momentum: Sutskever et al., 2013]
#     minimize(x -> (x - 3)^2, 2.0, gradient_descent(rate = 0.1, momentum = 0.5, nesterov = true), steps = 200).x    #~ 3 tol 1e-6
gradient_descent(; rate = 1e-2, momentum = 0.0, nesterov = false) = _first_order_method(
  "gradient_descent", rate, 0.0,
  (m, v, g, k) -> {
    m = momentum * m + g
    (m, v, if nesterov { g + momentum * m } else { m })
})
# soap(; rate = 3e-3, beta1 = 0.95, beta2 = 0.95, every = 10, largest = 2000):
# SOAP: Adam in the eigenbasis of Shampoo's preconditioner, for networks, whose
# weights are matrices.
#   Each parameter matrix has running means of G G' and G'G of its gradient G.
#   Adam's squares are taken in their eigenvectors, which one orthogonal
#   iteration updates after every `every` steps. Sides larger than `largest`,
#   and parameters that are not matrices, are treated as by adam(). [Vyas et
#   al., arXiv:2409.11321, algorithms 3 and 4]
#     minimize(W -> sum((W @ [1.0, 0.9; 0.9, 1] - eye(2))^2), zeros(2, 2), soap(rate = k -> 0.5 / sqrt(k)), steps = 1000).value < 1e-3      #> true
soap(; rate = 3e-3, beta1 = 0.95, beta2 = 0.95, every = 10, largest = 2000) =
  (name = "soap", rate = rate, decay = 0.0,
    start = (x, matrices) -> _soap_start(x, matrices, largest), update = (s, g, k, matrices) ->
    _soap_update(s, g, k, matrices, (beta1 = beta1, beta2 = beta2, every = every)),
    run = _first_order)
# update(mean, square, gradient, step) returns the new means and the direction,
# which is multiplied by `rate`.
_first_order_method(name, rate, decay, update) = (name = name, rate = rate, decay = decay,
  start = (x, matrices) -> (zeros_like(x), zeros_like(x)), update = (s, g, k, matrices) -> {
    (m, v, d) = update(s[0], s[1], g, 1.0 * k)
    ((m, v), d)
  }, run = _first_order)

# ---- minimize

# minimize(f, x0, method = lbfgs(); lower, upper, equal, below, steps, tol,
# progress, partial): a local minimiser x of f, starting from x0.
#   f takes parameters like x0 and returns a real scalar. lower, upper: bounds,
#   scalars or in the form of x0. equal: a function of x with the constraint
#   equal(x) = 0; below: one with the constraint below(x) <= 0; both return
#   scalars or vectors. Constraints use the augmented Lagrangian method, with
#   `method` for the inner problems.
#   The result is a record: x, value, gradient_norm (with bounds that of the
#   free unknowns), iterations, evaluations (of f), converged, message, and with
#   constraints violation and multipliers (equal, below).
#   Convergence: the gradient's norm is below tol * (1 + |f|), and each element
#   of the gradient is below tol times its own change over |x|. The latter does
#   not depend on a constant added to f, or on units. The search also ends where
#   rounding prevents any step from lowering f.
#   At a stationary point that is not a minimum (a maximum, saddle or
#   inflection) the search continues. It tests the direction of the lowest
#   curvature in a Krylov space of ten gradients, at a hundredth of the
#   unknowns' sizes.
#   An f or gradient that is not finite, at x0 or where f is unbounded below, is
#   an error; with partial = true the record reports it. progress = false: no
#   progress reports.
#   Derivatives of x and value, of every order, are those of the minimum with
#   respect to everything that f, bounds and constraints depend on. The Hessian
#   must not be singular. x0 has no derivative. Under map all fields of the
#   result except the message are available.
#     minimize(x -> (x[0] - 1)^2 + 10 * (x[1] - x[0]^2)^2, [0.0, 0]).x   #~ [1, 1] tol 1e-6
#     minimize(x -> sum((x - [2, 3])^2), [0.0, 0]; upper = 2.5).x        #~ [2, 2.5] tol 1e-6
#     minimize(cos, 0.0).x                                               #~ pi tol 1e-6
#     minimize(x -> sum(x^2), [1.0, 0]; equal = x -> sum(x) - 1).x       #~ [0.5, 0.5] tol 1e-6
minimize(f, x0, method = lbfgs(); lower = none, upper = none, equal = none, below = none,
  steps = 200, tol = 1e-10, progress = true, partial = false) = {
  (v, back) = flatten(x0)
  o = (...method, progress = progress, matrices = _matrices_in(x0, 0)[0])
  g = w -> f(back(w))
  start = stop_gradient(v + 0.0)
  if kind(equal) != "none" or kind(below) != "none" {
    _constrained(g, start, _bound(lower, v, -inf), _bound(upper, v, inf), _of_vector(equal, back),
      _of_vector(below, back), o, steps, tol, back, partial)
  } else {
    r = if kind(lower) != "none" or kind(upper) != "none" {
      (lo, hi) = (_bound(lower, v, -inf), _bound(upper, v, inf))
      assert(all(lo <= hi), "minimize: a lower bound is above its upper bound")
      _bounded_minimum(g, clamp(start, stop_gradient(lo), stop_gradient(hi)), lo, hi, o, steps, tol)
    } else {
      _minimum(g, start, o, steps, tol)
    }
    _assure_finite("minimize", "the function", r, partial)
    (x = back(r.x), value = r.value, gradient_norm = r.gradient_norm, iterations = r.iterations,
      evaluations = r.evaluations, converged = r.status == 1,
      message = if r.status == 1 and r.gradient_norm != r.gradient_norm {
        "the values at the corners agree"
      } else {
        _outcome(r.status)
    })
  }
}
# A run that ended with status 4 is an error that reports where and when, unless
# a partial result was requested.
_assure_finite(who, what, r, partial) = if r.status == 4 and not partial {
  error(
    "{who}: {what} is {r.value}, and its gradient has the norm {r.gradient_norm}, after "
    "{r.iterations} steps, where the unknowns are {r.x}; partial = true gives what was reached")
}
# The positions of the parameters' matrices in their vector, as (start, rows,
# columns), and the end position; the first one starts at n.
_matrices_in(x, n) = if kind(x) == "array" {
  (if rank(x) == 2 { list((n, shape(x)[0], shape(x)[1])) } else { list() }, n + prod(shape(x)))
} else {
  (found, at) = (list(), n)
  for part in (if kind(x) == "record" { map(k -> field(x, k), keys(x)) } else { list(...x) }) {
    (more, at) = _matrices_in(part, at)
    found = list(...found, ...more)
  }
  (found, at)
}
# A bound as a vector.
_bound(b, v, default) = if kind(b) == "none" { 0 * v + default } else if kind(b) == "array" {
  if rank(b) == 0 { 0 * v + b } else { ravel(b + 0.0) }
} else { flatten(b)[0] }
# A constraint as a function from the parameter vector to a vector; none stays
# none.
_of_vector(c, back) = if kind(c) == "none" { none } else { w -> ravel(_flat(c(back(w))) + 0.0) }
# The bounds of an unbounded problem.
_nowhere = (lower = none, upper = none)
_outcome(status) = if status == 1 {
  "the gradient vanishes"
} else if status == 2 {
  "no step lowers the value any more, and the gradient does not vanish"
} else if status == 3 {
  "the steps are used up"
} else { "the function is not finite" }

derivative _minimum(f, v, o, steps, tol), df, dv, do, dsteps, dtol = {
  (x = -linsolve(_hessian(f, y.x), grad(df)(y.x)), value = df(y.x), gradient_norm = 0.0,
    iterations = y.iterations, evaluations = y.evaluations, status = y.status)
}
_minimum(f, v, o, steps, tol) = _lowest_by(f, v, _nowhere, o, steps, tol)
# the simplex method needs no gradient
_lowest_by(f, v, b, o, steps, tol) =
  if o.name == "nelder_mead" { o.run(f, v, b, o, steps, tol) } else {
    _onwards((x, steps) -> o.run(f, x, b, o, steps, tol), value_and_grad(f), v, b, steps)
  }

# Unknowns at a bound move with it; the gradient of the others stays 0.
derivative _bounded_minimum(f, v, lower, upper, o, steps, tol), df, dv, dlower, dupper, do, dsteps,
  dtol = {
  still = 0 * y.x
  low = y.x <= lower
  fixed = low or y.x >= upper
  moved = where(low, (if _absent(dlower) { still } else { dlower }),
    if _absent(dupper) { still } else { dupper })
  change = if _absent(df) { still } else { grad(df)(y.x) }
  dx =
    linsolve(where(expand(fixed, 1), eye(len(y.x)), _hessian(f, y.x)), where(fixed, moved, -change))
  at = if _absent(df) { 0.0 } else { df(y.x) }
  (x = dx, value = at + grad(f)(y.x) @ where(fixed, moved, 0.0), gradient_norm = 0.0,
    iterations = y.iterations, evaluations = y.evaluations, status = y.status)
}
_bounded_minimum(f, v, lower, upper, o, steps, tol) =
  _lowest_by(f, v, (lower = lower, upper = upper), o, steps, tol)

# ---- sums of squares

# lm(; geodesic = true, damping = 1e-3, equations = "qr"): Levenberg-Marquardt
# method with scaled damping, and geodesic acceleration from second derivatives
# along the step.
#   damping: the relative damping of the first step. It is divided by 5 after a
#   good step and doubled after a bad one. equations = "normal" factorises J'J
#   instead of J, and each step takes the best of several dampings: for many
#   residuals and up to some hundred unknowns, without bounds, with half of the
#   digits. [Moré 1978; Transtrum and Sethna, arXiv:1201.5885]
#     least_squares(x -> [10 * (x[1] - x[0]^2), 1 - x[0]], [-1.2, 1], lm(geodesic = false)).x     #~ [1, 1]
#     least_squares(x -> [10 * (x[1] - x[0]^2), 1 - x[0]], [-1.2, 1], lm(equations = "normal")).x  #~ [1, 1] tol 1e-6
lm(; geodesic = true, damping = 1e-3, equations = "qr") = {
  assert(equations == "qr" or equations == "normal",
    "lm: equations are \"qr\" or \"normal\", not \"{equations}\"")
  assert(equations == "qr" or geodesic,
    "lm: steps by the normal equations are always bent; geodesic = false goes with \"qr\"")
  (name = "lm", geodesic = geodesic, damping = damping, equations = equations,
    run = if equations == "qr" { _levenberg } else { _by_trials })
}
# gauss_newton_cg(; damping = 1e-3, sketch = 0, turns = 150): matrix-free
# Levenberg-Marquardt method for thousands of unknowns.
#   Steps and dampings are those of lm(equations = "normal"). The equations are
#   solved by conjugate gradients with products of J and J' only. The
#   preconditioner is A'A + λI, where A consists of `sketch` random combinations
#   of the rows of J (0: chosen by the number of unknowns). turns: the maximal
#   number of products for a direction. No bounds.
#   The accuracy of directions increases as the residual decreases (Dembo and
#   Steihaug, Math. Programming 26, 1983). [Nocedal and Wright 2006, section
#   10.3; Clarkson and Woodruff, J. ACM 63, 2017]
#     r(x) = concat(10 * (x[1..] - x[..-1]^2), 1 - x[..-1])
#     least_squares(r, zeros(20), gauss_newton_cg()).x     #~ ones(20) tol 1e-6
gauss_newton_cg(; damping = 1e-3, sketch = 0, turns = 150) =
  (name = "gauss_newton_cg", damping = damping, sketch = sketch,
    turns = turns, run = _by_trials)
# gauss_newton(): Gauss-Newton method: undamped steps, shortened until they
# lower the sum, with minimum norm for a rank-deficient Jacobian. For good
# initial guesses and small residuals.
#   [Nocedal and Wright 2006, section 10.3]
#     least_squares(x -> [10 * (x[1] - x[0]^2), 1 - x[0]], [-1.2, 1], gauss_newton()).x     #~ [1, 1]
gauss_newton() = (name = "gauss_newton", run = _gauss_newton)
# dogleg(; radius = 1.0): Powell's dogleg method: a trust region step between
# Gauss-Newton and steepest descent.
#   [Powell 1970; Nocedal and Wright 2006, section 4.1]
#     least_squares(x -> [10 * (x[1] - x[0]^2), 1 - x[0]], [-1.2, 1], dogleg()).x     #~ [1, 1]
dogleg(; radius = 1.0) = (name = "dogleg", radius = radius, run = _dogleg)

# least_squares(r, x0, method = lm(); lower, upper, jac, steps, tol, progress,
# partial): a local minimiser x of sum(r(x)^2)/2, starting from x0.
#   r takes parameters like x0 and returns an array; its Jacobian is exact.
#   lower, upper: as for minimize. jac(x) returns (r, J) if that is cheaper than
#   jacobian(r); x0 is then a vector.
#   The result is a record: x, value, gradient_norm, iterations, evaluations (of
#   r), converged, message. Convergence: a step, or the projection of the
#   residual on the range of the Jacobian, is below tol, relative to x and to
#   the residual. Where no step lowers the sum, the gradient must vanish as for
#   minimize. From maxima and saddle points the search continues as in minimize.
#   A residual that is not finite is an error; with partial = true the record
#   reports it.
#   Derivatives are those of minimize, with the full Hessian.
#     t = linspace(0, 1, 20)
#     least_squares(p -> p[0] * exp(-p[1] * t) - 2 * exp(-3 * t), [1.0, 1]).x   #~ [2, 3] tol 1e-8
#     least_squares(p -> p.a * exp(-p.k * t) - 2 * exp(-3 * t), (a = 1.0, k = 1.0)).x.k   #~ 3 tol 1e-8
least_squares(r, x0, method = lm(); lower = none, upper = none, jac = none, steps = 500,
  tol = 1e-12, progress = true, partial = false) = {
  (v, back) = flatten(x0)
  residual = w -> ravel(_flat(r(back(w))) + 0.0)
  both = if kind(jac) == "none" {
    w -> (residual(w), _jacobian(residual, w))
  } else {
    w -> jac(back(w))
  }
  o = (...method, progress = progress)
  start = stop_gradient(v + 0.0)
  q = if kind(lower) != "none" or kind(upper) != "none" {
    (lo, hi) = (_bound(lower, v, -inf), _bound(upper, v, inf))
    assert(all(lo <= hi), "least_squares: a lower bound is above its upper bound")
    _bounded_least(residual, both, clamp(start, stop_gradient(lo), stop_gradient(hi)), lo, hi, o,
      steps, tol)
  } else {
    _least(residual, both, start, o, steps, tol)
  }
  _assure_finite("least_squares", "half the sum of squares", q, partial)
  (x = back(q.x), value = q.value, gradient_norm = q.gradient_norm, iterations = q.iterations,
    evaluations = q.evaluations, converged = q.status == 1, message = _outcome_of_squares(q.status))
}
_outcome_of_squares(status) = if status == 1 {
  "the residual cannot be lowered any more, to first order"
} else if status == 2 {
  "no step lowers the sum of squares any more, and its gradient does not vanish"
} else { _outcome(status) }

derivative _least(r, both, x0, o, steps, tol), dr, dboth, dx0, do, dsteps, dtol = {
  change = x -> r(x) @ dr(x)
  (x = -linsolve(_hessian(x -> 0.5 * sum(r(x)^2), y.x), grad(change)(y.x)), value = change(y.x),
    gradient_norm = 0.0, iterations = y.iterations, evaluations = y.evaluations, status = y.status)
}
_least(r, both, x0, o, steps, tol) = _least_squares_by(r, both, x0, _nowhere, o, steps, tol)
_least_squares_by(r, both, x0, b, o, steps, tol) = {
  vg = if o.run == _by_trials {
    _half_square(r)
  } else {
    w -> { (res, J) = both(w); (0.5 * (res @ res), res @ J) }
  }
  _onwards((x, steps) -> o.run(r, both, x, b, o, steps, tol), vg, x0, b, steps)
}
derivative _bounded_least(r, both, x0, lower, upper, o, steps, tol), dr, dboth, dx0, dlower, dupper,
  do, dsteps, dtol = {
  f = x -> 0.5 * sum(r(x)^2)
  still = 0 * y.x
  low = y.x <= lower
  fixed = low or y.x >= upper
  moved = where(low, (if _absent(dlower) { still } else { dlower }),
    if _absent(dupper) { still } else { dupper })
  change = x -> if _absent(dr) { 0 * x[0] } else { r(x) @ dr(x) }
  dx = linsolve(where(expand(fixed, 1), eye(len(y.x)), _hessian(f, y.x)),
    where(fixed, moved, -grad(change)(y.x)))
  (x = dx, value = change(y.x) + grad(f)(y.x) @ where(fixed, moved, 0.0), gradient_norm = 0.0,
    iterations = y.iterations, evaluations = y.evaluations, status = y.status)
}
_bounded_least(r, both, x0, lower, upper, o, steps, tol) =
  _least_squares_by(r, both, x0, (lower = lower, upper = upper), o, steps, tol)
