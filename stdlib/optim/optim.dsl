# optim.dsl - minimisation: of anything smooth, of sums of squares, within
# bounds and under constraints.
#
# Parameters may be arrays, records, tuples or lists of arrays; results have the
# same form. Where the gradient vanishes, at x(p), its change does: f_xx dx +
# f_xp dp = 0.
# That is the derivative of a minimum, of every order, whatever the method, and
# by it the value changes by f_p dp alone. The methods themselves are in
# line_search.dsl (along lines), trust_region.dsl (within a radius),
# least_squares.dsl (sums of squares) and constraints.dsl.

# ---- methods for minimize

# lbfgs(; memory = 10): limited-memory BFGS, for many unknowns: `memory` pairs
# of steps and changes of the gradient stand for the Hessian
#   Each step ends a line search for the strong conditions of Wolfe. [Nocedal
#   and Wright, Numerical Optimization, 2006, algorithms 7.4, 7.5]
#     minimize(x -> (x - 3)^2, 0.0, lbfgs()).x            #~ 3 tol 1e-6
lbfgs(; memory = 10) = (name = "lbfgs", memory = memory, run = _lbfgs)
# bfgs(): the method of Broyden, Fletcher, Goldfarb and Shanno, with a whole
# matrix: some hundred unknowns. Within bounds it is lbfgs(memory = 20)
#   [Nocedal and Wright 2006, algorithm 6.1]
#     minimize(x -> sum((x - [1, 2])^4 + x^2), [0.0, 0], bfgs()).converged  #> true
bfgs() = (name = "bfgs", memory = 20, run = _bfgs, update = _bfgs_update)
# ssbroyden(): self-scaled Broyden, as bfgs() with a member of Broyden's class
# and a scaling chosen at each step (Al-Baali and Khalfan 2005): for losses of
# small networks. Within bounds it is
#   lbfgs(memory = 20)
#     minimize(x -> 100 * (x[1] - x[0]^2)^2 + (1 - x[0])^2, [-1.2, 1.0], ssbroyden()).x   #~ [1, 1] tol 1e-6
ssbroyden() = (name = "ssbroyden", memory = 20, run = _bfgs, update = _ssbroyden_update)
# conjugate_gradient(): non-linear conjugate gradients: three vectors of memory
#   [Hager and Zhang, SIAM J. Optim. 16, 2005, eqs. 1.2-1.6]
#     minimize(x -> sum([1.0, 10, 100] * (x - 1)^2), zeros(3), conjugate_gradient()).x   #~ [1, 1, 1] tol 1e-6
conjugate_gradient() = (name = "conjugate_gradient", memory = 10, run = _nonlinear_cg)
# newton(; radius = 1.0): Newton's method with the whole Hessian within a trust
# radius, whose steps are exact minima of the quadratic model, also where it
# bends downwards
#   An eigenvalue problem each step: some hundred unknowns. [Moré and Sorensen,
#   SIAM J. Sci. Stat. Comput. 4, 1983; Nocedal and Wright 2006, section 4.3]
#     minimize(x -> (x[0]^2 - 1)^2 + x[1]^2, [0.0, 1], newton()).value      #~ 0 tol 1e-12
newton(; radius = 1.0) = (name = "newton", radius = radius, run = _trust_newton)
# newton_cg(; radius = 1.0): Newton's method with products of the Hessian and
# vectors only, by conjugate gradients within a trust radius: many unknowns
#   [Steihaug, SIAM J. Numer. Anal. 20, 1983; Nocedal and Wright 2006, algorithm
#   7.2]
#     minimize(x -> sum((x[1..] - x[..-1]^2)^2 + (1 - x[..-1])^2), zeros(5), newton_cg()).x      #~ ones(5) tol 1e-8
newton_cg(; radius = 1.0) = (name = "newton_cg", radius = radius, run = _trust_cg)
# nelder_mead(; size = 0.1): the simplex method, which takes values of f only: a
# few unknowns, functions with kinks
#   size: of the first simplex, relative to 1 + |x|. Stops when the values at
#   its corners agree. Coefficients by the number of unknowns. [Nelder and Mead
#   1965; Gao and Han, Comput. Optim. Appl. 51, 2012]
#     minimize(x -> abs(x[0] - 1) + abs(x[1] - 2), [0.0, 0], nelder_mead(), steps = 400).x      #~ [1, 2] tol 1e-5
nelder_mead(; size = 0.1) = (name = "nelder_mead", size = size, run = _nelder_mead)
# adam(; rate = 1e-3, beta1, beta2): Adam, steps by running means of the
# gradient and of its squares; for gradients that are noisy or come in millions
#   rate: a number, or a function of the number of the step, from 1. [Kingma and
#   Ba, 2015, algorithm 1]
#     minimize(x -> (x - 3)^2, 2.0, adam(rate = 0.1), steps = 500).x   #~ 3 tol 1e-3
adam(; rate = 1e-3, beta1 = 0.9, beta2 = 0.999) = _first_order_method(
  "adam", rate, 0.0,
  (m, v, g, k) -> {
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g^2
    (m, v, (m / (1 - beta1^k)) / (sqrt(v / (1 - beta2^k)) + 1e-8))
})
# adamw(; rate, beta1, beta2, decay = 1e-2): Adam, with weights that decay by
# rate * decay each step [Loshchilov and Hutter, 2019]
#     minimize(x -> (x - 3)^2, 2.0, adamw(rate = 0.05, decay = 0.0), steps = 800).x   #~ 3 tol 1e-3
adamw(; rate = 1e-3, beta1 = 0.9, beta2 = 0.999, decay = 1e-2) =
  (...adam(rate = rate, beta1 = beta1, beta2 = beta2), name = "adamw", decay = decay)
# adamax(; rate, beta1, beta2): Adam with the largest recent gradient in place
# of the mean square [Kingma and Ba, 2015, algorithm 2]
#     minimize(x -> (x - 3)^2, 2.9, adamax(rate = 0.02), steps = 800).x   #~ 3 tol 1e-2
adamax(; rate = 2e-3, beta1 = 0.9, beta2 = 0.999) = _first_order_method(
  "adamax", rate, 0.0,
  (m, v, g, k) -> {
    m = beta1 * m + (1 - beta1) * g
    v = max(beta2 * v, abs(g))
    (m, v, m / (1 - beta1^k) / (v + 1e-300))
})
# nadam(; rate, beta1, beta2): Adam with Nesterov's momentum [Dozat, 2016]
#     minimize(x -> (x - 3)^2, 2.0, nadam(rate = 0.05), steps = 800).x   #~ 3 tol 1e-3
nadam(; rate = 1e-3, beta1 = 0.9, beta2 = 0.999) = _first_order_method(
  "nadam", rate, 0.0,
  (m, v, g, k) -> {
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g^2
    ahead = beta1 * m / (1 - beta1^(k + 1)) + (1 - beta1) * g / (1 - beta1^k)
    (m, v, ahead / (sqrt(v / (1 - beta2^k)) + 1e-8))
})
# rmsprop(; rate, decay = 0.9): steps by the root of a running mean of squared
# gradients [Tieleman and Hinton, 2012]
#     minimize(x -> (x - 3)^2, 2.0, rmsprop(rate = k -> 0.5 / k), steps = 800).x   #~ 3 tol 1e-2
rmsprop(; rate = 1e-2, decay = 0.9) = _first_order_method(
  "rmsprop", rate, 0.0, (m, v, g, k) -> {
    v = decay * v + (1 - decay) * g^2
    (m, v, g / (sqrt(v) + 1e-8))
})
# adagrad(; rate): steps by the root of the sum of all squared gradients [Duchi,
# Hazan and Singer, 2011]
#     minimize(x -> (x - 3)^2, 2.0, adagrad(rate = 0.5), steps = 800).x   #~ 3 tol 1e-3
adagrad(; rate = 1e-2) = _first_order_method("adagrad", rate, 0.0, (m, v, g, k) -> {
  v = v + g^2
  (m, v, g / (sqrt(v) + 1e-10))
})
# gradient_descent(; rate, momentum = 0.0, nesterov = false): steps of rate
# times the gradient, with momentum
#   [Nesterov's: Sutskever et al., 2013]
#     minimize(x -> (x - 3)^2, 2.0, gradient_descent(rate = 0.1, momentum = 0.5, nesterov = true), steps = 200).x    #~ 3 tol 1e-6
gradient_descent(; rate = 1e-2, momentum = 0.0, nesterov = false) = _first_order_method(
  "gradient_descent", rate, 0.0,
  (m, v, g, k) -> {
    m = momentum * m + g
    (m, v, if nesterov { g + momentum * m } else { m })
})
# soap(; rate = 3e-3, beta1 = 0.95, beta2 = 0.95, every = 10, largest = 2000):
# Adam in the eigenvectors of Shampoo's preconditioner: for networks, whose
# weights are matrices
#   Each matrix among the parameters has running means of G G' and G'G of its
#   gradient G; Adam's squares are taken in their eigenvectors, which follow by
#   a step of orthogonal iteration `every` steps.
#   Sides longer than `largest`, and what is no matrix, are treated as by
#   adam(). [Vyas et al., arXiv:2409.11321, algorithms 3 and 4]
#     minimize(W -> sum((W @ [1.0, 0.9; 0.9, 1] - eye(2))^2), zeros(2, 2), soap(rate = k -> 0.5 / sqrt(k)), steps = 1000).value < 1e-3      #> true
soap(; rate = 3e-3, beta1 = 0.95, beta2 = 0.95, every = 10, largest = 2000) =
  (name = "soap", rate = rate, decay = 0.0,
    start = (x, matrices) -> _soap_start(x, matrices, largest), update = (s, g, k, matrices) ->
    _soap_update(s, g, k, matrices, (beta1 = beta1, beta2 = beta2, every = every)),
    run = _first_order)
# update(mean, square, gradient, step) gives new means, and the direction that
# is followed `rate` far.
_first_order_method(name, rate, decay, update) = (name = name, rate = rate, decay = decay,
  start = (x, matrices) -> (zeros_like(x), zeros_like(x)), update = (s, g, k, matrices) -> {
    (m, v, d) = update(s[0], s[1], g, 1.0 * k)
    ((m, v), d)
  }, run = _first_order)

# ---- minimize

# minimize(f, x0, method = lbfgs(); lower, upper, equal, below, steps, tol,
# progress, partial): x with the least f(x) near x0
#   f takes parameters like x0 and gives a real number. lower, upper: bounds,
#   numbers or in the form of x0. equal: a function of x, whose values shall be
#   0; below: one whose values shall not be above 0; these numbers or vectors
#   (augmented Lagrangian, whose inner method is `method`).
#   Gives a record: x, value, gradient_norm (within bounds of the part that they
#   leave free), iterations, evaluations (of f), converged, message, and with
#   constraints violation and multipliers (equal, below). Stops when the
#   gradient's norm is below tol * (1 + |f|) and each element of the gradient
#   below tol times its own change over |x|, whatever constant is added to f and
#   whatever its units are, or where no step lowers f any more, by rounding.
#   Where the gradient vanishes and f falls beside it, at a maximum, a saddle or
#   an inflection, it goes on from there: looked at is the direction of the
#   lowest curvature that ten gradients show, a hundredth of the unknowns' sizes
#   far. An f or a gradient that is not finite, at x0 or where f falls without a
#   bound, is an error; with partial = true a record that says so.
#   progress = false: it does not tell how far it has come.
#   Derivatives of x and value, of every order, are those of the minimum by
#   whatever f, bounds and constraints are made of; its Hessian must not be
#   singular. x0 has none. Under map the result's fields can be asked for, not
#   the message.
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
# A run that ended with status 4 is an error, which says where and when, unless
# what it came to is asked for.
_assure_finite(who, what, r, partial) = if r.status == 4 and not partial {
  error(
    "{who}: {what} is {r.value}, and its gradient has the norm {r.gradient_norm}, after "
    "{r.iterations} steps, where the unknowns are {r.x}; partial = true gives what was reached")
}
# Where the matrices of parameters lie in their vector, as (where it begins,
# rows, columns), and where the next ones begin, the first at n.
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
# A constraint as a function of the vector of parameters that gives a vector;
# none stays none.
_of_vector(c, back) = if kind(c) == "none" { none } else { w -> ravel(_flat(c(back(w))) + 0.0) }
# What bounds there are when there are none.
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
# the simplex method asks for no gradient
_lowest_by(f, v, b, o, steps, tol) =
  if o.name == "nelder_mead" { o.run(f, v, b, o, steps, tol) } else {
    _onwards((x, steps) -> o.run(f, x, b, o, steps, tol), value_and_grad(f), v, b, steps)
  }

# What stands at a bound moves with it, and the gradient of the rest stays 0.
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

# lm(; geodesic = true, damping = 1e-3, equations = "qr"): Levenberg-Marquardt:
# steps of Gauss and Newton, damped by the scale of each unknown, with geodesic
# acceleration from second derivatives along the step
#   damping: of the first step, relative. The damping is divided by 5 after a
#   good step, doubled after a bad one. equations = "normal": J'J is factored
#   instead of J, and each step takes the best of
#   several dampings: many residuals, some hundred unknowns, no bounds, half of
#   the digits. [Moré 1978; Transtrum and Sethna, arXiv:1201.5885]
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
# gauss_newton_cg(; damping = 1e-3, sketch = 0, turns = 150): steps of Levenberg
# and Marquardt, bent and damped by trial as those of lm(equations = "normal"),
# whose equations are solved by conjugate gradients with products of J and J'
# with vectors only: thousands of unknowns
#   The preconditioner is A'A + λI, A being `sketch` random combinations of the
#   rows of J (0: by the number of unknowns). turns: at most so many products
#   for a direction. No bounds.
#   Directions are solved for the more accurately the less is left of the
#   residual (Dembo and Steihaug, Math. Programming 26, 1983). [Nocedal and
#   Wright 2006, section 10.3; Clarkson and Woodruff, J. ACM 63, 2017]
#     r(x) = concat(10 * (x[1..] - x[..-1]^2), 1 - x[..-1])
#     least_squares(r, zeros(20), gauss_newton_cg()).x     #~ ones(20) tol 1e-6
gauss_newton_cg(; damping = 1e-3, sketch = 0, turns = 150) =
  (name = "gauss_newton_cg", damping = damping, sketch = sketch,
    turns = turns, run = _by_trials)
# gauss_newton(): undamped steps, shortened until they lower the sum (and of
# least norm where the Jacobian has no full rank): good starts, small residuals
#   [Nocedal and Wright 2006, section 10.3]
#     least_squares(x -> [10 * (x[1] - x[0]^2), 1 - x[0]], [-1.2, 1], gauss_newton()).x     #~ [1, 1]
gauss_newton() = (name = "gauss_newton", run = _gauss_newton)
# dogleg(; radius = 1.0): within a trust radius, between the step of Gauss and
# Newton and steepest descent
#   [Powell 1970; Nocedal and Wright 2006, section 4.1]
#     least_squares(x -> [10 * (x[1] - x[0]^2), 1 - x[0]], [-1.2, 1], dogleg()).x     #~ [1, 1]
dogleg(; radius = 1.0) = (name = "dogleg", radius = radius, run = _dogleg)

# least_squares(r, x0, method = lm(); lower, upper, jac, steps, tol, progress,
# partial): x with the least sum(r(x)^2)/2 near x0
#   r takes parameters like x0 and gives an array, its Jacobian is exact. lower,
#   upper as for minimize. jac(x) gives (r, J) together when it can be had
#   cheaper than by jacobian(r), x0 then a vector.
#   Gives a record: x, value, gradient_norm, iterations, evaluations (of r),
#   converged, message. Stops when a step, or the part of the residual that the
#   Jacobian can reach, is below tol, relative to x and to the residual, or
#   where no step lowers the sum any more, and the gradient vanishes as minimize
#   has it; from maxima and saddles it goes on as that does. A residual that is
#   not finite is an error, with partial = true a record that says so.
#   Derivatives as of minimize, with the whole Hessian.
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
