# continuation.dsl - numerical continuation: solution branches of f(x, p) = 0 in
# p, through folds.

# follow(f, x0, p0; step = 0.1, least = 1e-5, most = 1.0, steps = 100, until,
# tol): pseudo-arclength continuation of the zeros of f(x, p) through a zero
# near x0 at p0.
#   f takes a vector x and a scalar p and returns as many values as x has. step:
#   the first step along the curve, in x and p together; its sign is the
#   direction in p. A step is halved when Newton's method does not converge in 8
#   iterations. It grows after fast convergence, between least and most. The
#   curve ends after `steps` points, or where p leaves `until` = (low, high).
#   The result is a record: p [k], x [k, n], folds (the indices of the points
#   after which p reverses). No derivatives. [Keller, 1977; Allgower and Georg,
#   Introduction to Numerical Continuation Methods, 2003, chapter 6]
#     c = follow((x, p) -> x^2 + p^2 - 1, [0.0], 1.0; step = -0.1, steps = 40);
#     max(abs(c.x[.., 0]^2 + c.p^2 - 1)) < 1e-10      #> true
follow(f, x0, p0; step = 0.1, least = 1e-5, most = 1.0, steps = 100, until = (-inf, inf),
  tol = 1e-11) = {
  x = ravel(x0 + 0.0)
  n = len(x)
  g = z -> f(z[..n], z[n])
  z = concat(x, [p0 + 0.0])
  if len(g(z)) != n { error("follow: as many equations are wanted as there are unknowns, {n}") }
  # minimum norm projection onto the curve
  (z, turns, good) = _onto(g, z, tol)
  if not good { error("follow: there is no zero near the start; at the last point f is {g(z)}") }
  t = _tangent(g, z, concat(zeros(n), [1.0]))
  # at a fold p gives no direction; x does
  t = if abs(t[n]) < 1e-12 {
    t * (if max(t) >= -min(t) { 1.0 } else { -1.0 })
  } else {
    t * sign(t[n])
  }
  t = t * sign(step)
  h = abs(step)
  Z = zeros(steps, n + 1)
  Z[0] = z
  turned = zeros(steps)
  k = 1
  open = steps > 1
  while open {
    (z1, turns, good) = _onto(g, z + h * t, tol)
    # the same branch: neither reversed nor another one
    good = good and (z1 - z) @ t > 0.5 * norm(z1 - z) and norm(z1 - z) < 2 * h
    if good {
      t1 = _tangent(g, z1, t)
      turned[k - 1] = if t1[n] * t[n] < 0 { 1.0 } else { 0.0 }
      Z[k] = z1
      z = z1
      t = t1
      k = k + 1
      h = if turns <= 3 { min(1.5 * h, most) } else { h }
      open = k < steps and z[n] >= until[0] and z[n] <= until[1]
    } else {
      h = 0.5 * h
      if h < least {
        error("follow: the curve is lost at p = {z[n]}: no step of {least} or more leads on")
      }
    }
  }
  (p = Z[..k, n], x = Z[..k, ..n], folds = findall(turned[..k] > 0))
}
# Newton's method with minimum norm steps: (place, iterations, converged).
_onto(g, z, tol) = {
  k = 0
  found = false
  open = true
  while open {
    v = g(z)
    J = _jacobian(g, z)
    d = pinv(J) @ v
    z = z - d
    k = k + 1
    # a small step, which is not due to a vanishing Jacobian
    found = norm(d) <= tol * (1 + norm(z)) and norm(v) <= 1e-6 * norm(J) * (1 + norm(z))
    open = not found and k < 8 and norm(d) < inf
  }
  (z, k, found)
}
# The unit tangent of the curve in the direction of t.
_tangent(g, z, t) = {
  J = _jacobian(g, z)
  d = t - pinv(J) @ (J @ t)
  # t is normal to the curve: take any vector of the null space
  d = if norm(d) > 1e-8 { d } else { svd(concat(J, zeros(1, len(z))))[2][.., -1] }
  d / norm(d)
}
