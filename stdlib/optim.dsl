# optim.dsl - minimisation: Levenberg-Marquardt for sums of squares, L-BFGS and Adam for anything smooth.
#
# Parameters may be arrays, records, tuples or lists of arrays; results have the same form. Where the gradient vanishes, at x(p), its change does: f_xx dx + f_xp dp = 0.
# That is the derivative of a minimum, of every order, whatever the method, and by it the value changes by f_p dp alone.

# lbfgs(; memory), adam(; rate, beta1, beta2): methods for minimize
#     minimize(x -> (x - 3)^2, 0.0, lbfgs()).x            #~ 3 tol 1e-6
#     minimize(x -> (x - 3)^2, 2.0, adam(rate = 0.1), steps = 500).x   #~ 3 tol 1e-3
lbfgs(; memory = 10) = (name = "lbfgs", memory = memory, run = _lbfgs)
adam(; rate = 1e-3, beta1 = 0.9, beta2 = 0.999) = (name = "adam", rate = rate, beta1 = beta1, beta2 = beta2, run = _adam)

# minimize(f, x0, method; steps, tol, progress): (x, value, gradient_norm, iterations);
# f takes parameters like x0 and gives a real number. Stops when the gradient's norm is below tol * (1 + |f|).
# Derivatives of x and value, of every order, are those of the minimum by whatever f captures; its Hessian must not be singular. x0 has none.
#     minimize(x -> (x[0] - 1)^2 + 10 * (x[1] - x[0]^2)^2, [0.0, 0]).x   #~ [1, 1] tol 1e-6
minimize(f, x0, method = lbfgs(); steps = 200, tol = 1e-10, progress = false) = {
  (v, back) = flatten(x0)
  o = (...method, progress = progress)
  g = w -> f(back(w))
  r = if o.progress { method.run(g, v, o, steps, tol) } else { _minimum(g, stop_gradient(v), o, steps, tol) }
  (x = back(r.x), value = r.value, gradient_norm = r.gradient_norm, iterations = r.iterations)
}
derivative _minimum(f, v, o, steps, tol), df, dv, do, dsteps, dtol = {
  (x = -linsolve(_hessian(f, y.x), grad(df)(y.x)), value = df(y.x), gradient_norm = 0.0, iterations = y.iterations)
}
_minimum(f, v, o, steps, tol) = o.run(f, v, o, steps, tol)

# Adam (Kingma and Ba 2015, algorithm 1).
_adam(f, x, o, steps, tol) = {
  m = zeros_like(x)
  v = zeros_like(x)
  vg = value_and_grad(f)
  value = f(x)
  gn = inf
  k = 0
  while k < steps and gn > tol * (1 + abs(value)) {
    (value, g) = vg(x)
    gn = norm(g)
    k = k + 1
    m = o.beta1 * m + (1 - o.beta1) * g
    v = o.beta2 * v + (1 - o.beta2) * g^2
    x = x - o.rate * (m / (1 - o.beta1^f64(k))) / (sqrt(v / (1 - o.beta2^f64(k))) + 1e-8)
    if o.progress { if k % 100 == 0 { print("adam {k}: {value:.4e}") } }
  }
  (x = x, value = f(x), gradient_norm = gn, iterations = k)
}

# Limited-memory BFGS, two-loop recursion (Nocedal and Wright, Numerical Optimization, algorithms 7.4 and 7.5), with a
# backtracking line search for sufficient decrease; pairs with too little curvature are left out.
_lbfgs(f, x, o, steps, tol) = {
  vg = value_and_grad(f)
  (value, g) = vg(x)
  n = len(x)
  M = o.memory
  S = zeros(M, n)
  Y = zeros(M, n)
  rho = zeros(M)
  stored = 0
  k = 0
  stuck = false
  while k < steps and norm(g) > tol * (1 + abs(value)) and not stuck {
    q = g
    alpha = zeros(M)
    for i in 0..min(stored, M) {
      j = (stored - 1 - i) % M
      a = rho[j] * (S[j] @ q)
      q = q - a * Y[j]
      alpha[j] = a
    }
    if stored > 0 {
      j = (stored - 1) % M
      q = q * ((S[j] @ Y[j]) / (Y[j] @ Y[j]))
    }
    for i in 0..min(stored, M) {
      j = (stored - min(stored, M) + i) % M
      b = rho[j] * (Y[j] @ q)
      q = q + S[j] * (alpha[j] - b)
    }
    slope = -(g @ q)
    step = if stored > 0 { 1.0 } else { min(1.0, 1 / max(1e-300, norm(g))) }
    trial = f(x - step * q)
    tries = 0
    while not (trial <= value + 1e-4 * step * slope) and tries < 40 {
      step = 0.5 * step
      trial = f(x - step * q)
      tries = tries + 1
    }
    if tries == 40 { stuck = true } else {
      x1 = x - step * q
      (value, g1) = vg(x1)
      s = x1 - x
      y = g1 - g
      if s @ y > 1e-12 * norm(s) * norm(y) {
        j = stored % M
        S[j] = s
        Y[j] = y
        rho[j] = 1 / (s @ y)
        stored = stored + 1
      }
      x = x1
      g = g1
    }
    k = k + 1
    if o.progress { if k % 50 == 0 { print("lbfgs {k}: {value:.4e}") } }
  }
  (x = x, value = value, gradient_norm = norm(g), iterations = k)
}

# least_squares(r, x0; jac, steps, tol): Levenberg-Marquardt for sum(r(x)^2)/2, x0 a vector.
# jac(x) gives (r, J) together when it can be had cheaper than by jacobian(r). Damping is searched over a geometric ladder each step, with
# geodesic acceleration (Transtrum and Sethna, arXiv:1201.5885).
# Gives (x, value, gradient_norm, iterations). Derivatives as of minimize, with the whole Hessian.
#     t = linspace(0, 1, 20)
#     least_squares(p -> p[0] * exp(-p[1] * t) - 2 * exp(-3 * t), [1.0, 1]).x   #~ [2, 3] tol 1e-8
least_squares(r, x0; jac = none, steps = 100, tol = 1e-14, progress = false) = {
  both = if kind(jac) == "none" { x -> (r(x), jacobian(r)(x)) } else { jac }
  o = (progress = progress,)
  if o.progress { _levenberg(r, both, f64(x0), o, steps, tol) } else { _least(r, both, stop_gradient(f64(x0)), o, steps, tol) }
}
derivative _least(r, both, x0, o, steps, tol), dr, dboth, dx0, do, dsteps, dtol = {
  change = x -> r(x) @ dr(x)
  (x = -linsolve(_hessian(x -> 0.5 * sum(r(x)^2), y.x), grad(change)(y.x)), value = change(y.x), gradient_norm = 0.0,
    iterations = y.iterations)
}
_least(r, both, x0, o, steps, tol) = _levenberg(r, both, x0, o, steps, tol)
_levenberg(r, both, x, o, steps, tol) = {
  value = 0.5 * sum(r(x)^2)
  lambda = 1.0
  k = 0
  stuck = false
  gn = inf
  while k < steps and not stuck and value > tol {
    (x, value, lambda, gn, stuck) = _lm_step(r, both, x, value, lambda)
    k = k + 1
    if o.progress { if k % 10 == 0 { print("lm {k}: {value:.4e}  damping {lambda:.1e}") } }
  }
  (x = x, value = value, gradient_norm = gn, iterations = k)
}

# One step of Levenberg-Marquardt with geodesic acceleration: tries smaller and larger damping and keeps the best true loss.
# Gives (x, loss, damping, gradient norm, whether nothing improved).
_lm_step(r, both, x, value, lambda) = {
  (res, J) = both(x)
  G = J' @ J
  g = J' @ res
  diagonal = diag(G)
  floor_ = 1e-14 * max(diagonal)
  best = value
  best_x = x
  best_lambda = lambda * 100
  for factor in [1e-2, 0.1, 0.5, 3.0, 30.0] {
    l = max(lambda * factor, floor_)
    L = cholesky(G + diag(zeros_like(g) + l))
    d = -trisolve(L, trisolve(L, g); adjoint = true)
    h = 0.1
    rvv = (2 / h) * ((r(x + h * d) - res) / h - J @ d)
    a = -trisolve(L, trisolve(L, J' @ rvv); adjoint = true)
    small = norm(a) <= 0.75 * norm(d)
    x1 = x + d
    x2 = if small { x + d + 0.5 * a } else { x + d }
    v1 = 0.5 * sum(r(x1)^2)
    v2 = 0.5 * sum(r(x2)^2)
    if v1 < best { best = v1; best_x = x1; best_lambda = l }
    if v2 < best { best = v2; best_x = x2; best_lambda = l }
  }
  (best_x, best, best_lambda, norm(g), not (best < value))
}
