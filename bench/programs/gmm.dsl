# gmm.dsl - log-likelihood of a Gaussian mixture with a Wishart prior (ADBench).
#
# Value and gradient, for gamma = 1 and m = 0. A component has a weight, a mean
# and the inverse of the factor of its covariance: d logarithms of the diagonal,
# then the columns below it. Constants that depend on the sizes alone and need
# the gamma function are left out.

log_sum_exp(v) = {
  m = max(v; axis = 0)
  m + log(sum(exp(v - m); axis = 0))
}

# where the element (r, c) below the diagonal stands
place(d) = [if r > c { d + c*d - c*(c + 1)//2 + r - c - 1 } else { 0 } for r in 0..d, c in 0..d]
below(d) = expand(iota(d), 1) > expand(iota(d), 0)

objective(alphas, means, icf, x) = {
  (n, d) = shape(x)
  inner = map((a, m, q) -> {
    L = where(below(d), q[place(d)], 0.0)
    y = (x - m)*exp(q[..d]) + (x - m) @ L'
    a + sum(q[..d]) - 0.5*sum(y^2; axis = 1)
  }, alphas, means, icf)
  prior = 0.5*sum(exp(icf[.., ..d])^2) + 0.5*sum(icf[.., d..]^2)
  sum(log_sum_exp(inner)) - n*log_sum_exp(alphas) + prior - 0.5*n*d*log(2π)
}

step(alphas, means, icf, x) = {
  (value, (a, m, q)) = value_and_grad(((a, m, q)) -> objective(a, m, q, x))((alphas, means, icf))
  (value, a, m, q)
}
