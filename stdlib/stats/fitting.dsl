# fitting.dsl - parameter estimation: fits of models to data, with uncertainties
# and identifiability.

# fit(model, x, y, p0, method = lm(); sigma, lower, upper, loss, level = 0.95,
# steps, tol): the parameters p for which model(p, x) fits y best, starting from
# p0.
#   model returns an array like y. p0 is an array, record, tuple or list. x is
#   any value that model takes. sigma: standard deviations of y, a scalar or an
#   array like y. Without sigma they are assumed equal and estimated from the
#   residuals. lower, upper, method, steps, tol: as for least_squares. loss:
#   "squares", or the robust losses "huber", "soft_l1" or "cauchy", which reduce
#   the weight of residuals beyond sigma (outliers).
#   The result is a record. p and stderr (standard errors), lower and upper
#   (ends of the confidence intervals at this level, by Student's distribution)
#   have the form of p0. covariance and correlation are [n, n] in the order of
#   flatten(p0). residuals: y - model; chi2: sum of squares of residuals over
#   sigma; dof: degrees of freedom; deviation: sqrt(chi2 / dof), inf when dof is
#   0; r2, aic, bic. value(x): the fitted model; band(x): the half-width of its
#   confidence interval. iterations, evaluations, converged, message describe
#   the search. identifiability: see below. report(r) returns the result as
#   text.
#   identifiability analyses J, the Jacobian of the residuals with respect to
#   relative changes of the parameters: singular_values, condition,
#   undetermined, directions, names. undetermined: the number of parameter
#   combinations that leave the model unchanged to first order; directions:
#   these combinations, as rows of relative changes. A parameter with less than
#   a thousandth of the largest effect is scaled to that thousandth. The
#   standard error of an undetermined parameter is inf. A parameter at a bound
#   counts as known.
#   All results have derivatives with respect to y, x, sigma and values that
#   model captures. [Bates and Watts, Nonlinear Regression Analysis, 1988,
#   sections 2.3, 2.5; Transtrum, Machta and Sethna, Phys. Rev. E 83, 2011]
#     x = [0.0, 1, 2, 3]
#     f = fit((p, x) -> p.a * exp(-p.k * x), x, 2 * exp(-0.5 * x), (a = 1.0, k = 1.0))
#     f.p.k                         #~ 0.5 tol 1e-10
#     f.identifiability.undetermined    #> 0
#
#   fit(problem, data; for = (a, b), by = method, start, rtol = 1e-8, atol =
#   1e-10, ...): these parameters of a problem, or without `for` all parameters.
#   data is a record of columns (load("file.csv")): each coordinate, and the
#   measured unknowns. The search starts at the values in start, else at the
#   problem's own. by: a method of solve. by = pinn(...) trains a network and
#   the parameters together; by = rfm(...) finds amplitudes of random features
#   with them. sigma may be a record with a scalar or column for each measured
#   unknown.
#   The result has the fields above, and each parameter by its name, std (their
#   standard errors), and solution.
#     problem decay(k = 1.0) {
#       domain t in [0, 4]
#       field u
#       u_t == -k*u
#       u == 1 at t = 0
#     }
#     t = [1.0, 2, 3]
#     r = fit(decay, (t = t, u = exp(-0.7t)); for = k)
#     r.k                           #~ 0.7 tol 1e-6
fit(model, x, y = none, p0 = none, method = lm(); sigma = none, lower = none, upper = none,
  loss = "squares", level = 0.95, steps = 500, tol = 1e-12, progress = true, unknowns = none,
  by = none, start = none, rtol = 1e-8, atol = 1e-10) =
  if kind(model) == "problem" {
    _fit_problem(model, x,
      (method = method, sigma = sigma, lower = lower, upper = upper, loss = loss, level = level,
        steps = steps, tol = tol, progress = progress, unknowns = unknowns, by = by, start = start,
        rtol = rtol, atol = atol))
  } else {
    _fit(model, x, y, p0, method, sigma, lower, upper, loss, level, steps, tol, progress)
  }

_fit(model, x, y, p0, method, sigma, lower, upper, loss, level, steps, tol, progress) = {
  (v0, back) = flatten(p0)
  data = ravel(y + 0.0)
  weight = if kind(sigma) == "none" { 1.0 } else { ravel(1 / (sigma + 0 * y)) }
  residual = v -> weight * (ravel(model(back(v), x) + 0.0) - data)
  m = len(data)
  assert(level > 0 and level < 1,
    "fit: level is the probability of the intervals, between 0 and 1, and not {level}")
  assert(len(residual(stop_gradient(v0 + 0.0))) == m,
    "fit: the model gives another number of values than there are data, {m}")
  q = least_squares(v -> _damp_outliers(loss, residual(v)), v0, method;
    lower = _flat_bound(lower, v0),
    upper = _flat_bound(upper, v0), steps = steps, tol = tol, progress = progress)
  v = q.x
  held = v <= _bound(lower, v, -inf) or v >= _bound(upper, v, inf)
  predict = (w, z) -> ravel(model(back(w), z) + 0.0)
  _fitted(v, back, p0, held, residual(v), _jacobian(residual, v),
    (y = y, weight = weight, sigma = sigma, level = level), z -> model(back(v), z),
    z -> _jacobian(w -> predict(w, z), v), y - model(back(v), x), q)
}

# The result of a fit, as a record. Arguments: the parameters v and the function
# that restores their form; which are held; the weighted residuals and their
# Jacobian with respect to the parameters; the data; the fitted model and its
# Jacobian as functions of x; the plain residuals; and the outcome of the
# search.
_fitted(v, back, p0, held, r, jacobian, d, value, jacobian_at, residuals, q) = {
  (m, n) = (len(r), len(v))
  moving = sum(i64(not held))
  J = where(held, 0.0, jacobian)
  chi2 = r @ r
  dof = m - moving
  # without degrees of freedom the spread cannot be estimated
  spread = if dof > 0 { chi2 / dof } else { inf }
  # Relative changes of the parameters that are not held. If the relative change
  # of a parameter has nearly no effect beside the others, as at value 0, its
  # unit follows from its column.
  columns = sqrt(sum(J^2; axis = 0))
  most = max(columns * abs(v))
  least = (if most > 0 { 1e-3 * most } else { 1.0 }) / where(columns > 0, columns, 1.0)
  unit = where(columns > 0, max(abs(v), least), abs(v) + f64(v == 0))
  P = f64(expand(findall(where(moving == 0, iota(n) == 0, not held)), 1) == iota(n))
  (U, s, V) = svd(concat((J * unit) @ P', zeros(max(0, n - m), len(P))))
  known = s > 1e-10 * max(s)
  W = expand(unit, 1) * (P' @ where(known, V / where(known, s, 1.0), 0.0))
  directions = (transpose(V) @ P)[not known and moving > 0]
  lost = any(abs(directions) > 1e-4; axis = 0)
  variance = if kind(d.sigma) == "none" { spread } else { 1.0 }
  C = variance * (W @ W')
  stderr = where(lost, inf, sqrt(diag(C)))
  reach = if dof > 0 { icdf(StudentT(f64(dof)), 0.5 * (1 + d.level)) } else { inf }
  total = sum((d.weight * (ravel(d.y + 0.0) - _weighted_mean(ravel(d.y + 0.0), d.weight)))^2)
  deviations = where(stderr > 0 and stderr < inf, stderr, 1.0)
  (p = back(v), stderr = back(stderr), lower = back(v - reach * stderr),
    upper = back(v + reach * stderr), covariance = C, correlation = C / outer(deviations,
      deviations), level = d.level, residuals = residuals, chi2 = chi2, dof = dof,
    deviation = sqrt(spread), r2 = 1 - chi2 / total,
    aic = _information(chi2, m, moving, 2.0, d.sigma),
    bic = _information(chi2, m, moving, log(f64(m)), d.sigma),
    identifiability = (singular_values = s,
      condition = if moving == 0 {
        1.0
      } else {
        s[0] / s[-1]
      }, undetermined = shape(directions)[0], directions = directions, names = _names_of(p0)),
    value = value, band = z -> reach * norm(jacobian_at(z) @ W * sqrt(variance); axis = 1),
    iterations = q.iterations, evaluations = q.evaluations, converged = q.converged,
    message = q.message)
}
_flat_bound(b, v) = if kind(b) == "none" { none } else { _bound(b, v, 0.0) }
_weighted_mean(y, w) = sum(w^2 * y) / sum(w^2 + 0 * y)
# -2 log likelihood for normal errors, up to a constant, plus a penalty for each
# parameter.
_information(chi2, m, n, price, sigma) =
  if kind(sigma) == "none" { m * log(chi2 / m) + price * (n + 1) } else { chi2 + price * n }
# s(r), where s^2 is the loss, for least_squares to minimise the sum; s is r
# near 0 (Triggs et al., Bundle Adjustment, 2000, section 4.3).
_damp_outliers(loss, r) = if loss == "squares" {
  r
} else if loss == "soft_l1" {
  r * sqrt(2 / (1 + sqrt(1 + r^2)))
} else if loss == "huber" {
  far = abs(r) > 1
  where(far, sign(r) * sqrt(2 * where(far, abs(r), 1.0) - 1), r)
} else if loss == "cauchy" {
  q = r^2
  near = q < 1e-5
  r * where(near, 1 - q / 4 + 13 / 96 * q^2, sqrt(log1p(where(near, 1.0, q)) / where(near, 1.0, q)))
} else { error("fit: a loss is \"squares\", \"huber\", \"soft_l1\" or \"cauchy\"") }

# The names of the elements of flatten(p): fields of a record by name, elements
# of arrays by index.
_names_of(p) = _named("p", p)
_named(name, p) = if kind(p) == "array" {
  if rank(p) == 0 {
    list(name)
  } else if rank(p) == 1 {
    _numbered(name, len(p))
  } else {
    _numbered(name, size(p))
  }
} else {
  all = list()
  for (k, part) in enumerate(if kind(p) == "record" { values(p) } else { p }) {
    at = if kind(p) == "record" { keys(p)[k] } else { "{name}[{k}]" }
    for one in _named(at, part) { all = push(all, one) }
  }
  all
}
_numbered(name, n) = {
  all = list()
  for k in 0..n { all = push(all, "{name}[{k}]") }
  all
}

# report(r): the result of fit as text: each parameter with its standard error
# and confidence interval, the goodness of fit, and the combinations that the
# data do not determine
#     f = fit((p, x) -> p[0] + p[1] * x, [0.0, 1, 2, 3], [1.0, 3, 5, 7.1], [0.0, 0]);
#     print(report(f)[..6])         #> p[0] =
report(r) = {
  text = ""
  (v, _) = flatten(r.p)
  (e, _) = flatten(r.stderr)
  (lo, _) = flatten(r.lower)
  (hi, _) = flatten(r.upper)
  k = 0
  for name in r.identifiability.names {
    text = text + (if e[k] == 0 { "{name} = {v[k]:.8g}\n" } else {
      "{name} = {v[k]:.8g} ± {e[k]:.2g}   {100 * r.level:.3g} % [{lo[k]:.6g}, {hi[k]:.6g}]\n"
    })
    k = k + 1
  }
  text = text +
    "chi2 {r.chi2:.6g}, {r.dof} degrees of freedom, deviation {r.deviation:.4g}, R² {r.r2:.6f}\n"
  i = r.identifiability
  if i.undetermined == 0 {
    text = text + "the data determine all parameters; condition {i.condition:.2g}"
  } else {
    text = text +
      ("the data do not determine {i.undetermined} of {len(v)} combinations; the model stays as it "
        "is under relative changes")
    for row in 0..i.undetermined {
      text = text + "\n "
      k = 0
      for name in i.names {
        if abs(i.directions[row, k]) > 1e-4 { text = text + " {name}: {i.directions[row, k]:+.3f}" }
        k = k + 1
      }
    }
  }
  if not r.converged { text = text + "\nnot converged: {r.message}" }
  text
}
