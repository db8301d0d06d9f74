# Heat with a conductivity that depends on temperature, checked by the method of
# manufactured solutions: choose u and substitute it into the equation; the
# residual is the source that makes u exact. The error must then fall at least
# as fast as the order of the method.

exact(t, x) = sin(π*x) * exp(-t) + 0.2x
k(u) = 1 + 0.5u^2

# The source is U_t - (k(U) U_x)_x of the exact solution U, differentiated in
# the problem itself.
problem heat() {
  domain t in [0, 0.5], x in [0, 1]
  field u
  U = exact(t, x)
  source = ∂t(U) - ∂x(k(U) * ∂x(U))
  u_t == ∂x(k(u) * ∂x(u)) + source
  u == exact(0, x) at t = 0
  u == 0   at x = 0
  u == 0.2 at x = 1
}

x = linspace(0, 1, 101)
error(order, n) = {
  s = solve(heat(), fd(n = n, order = order), rtol = 1e-10, atol = 1e-12)
  max(abs(s.u(0.5, x) - exact(0.5, x)))
}
for order in (2, 4) {
  e1 = error(order, 31)
  e2 = error(order, 61)
  observed = log2(e1 / e2)
  print("order {order}: {e1:.2e} -> {e2:.2e}, observed order {observed:.2f}")
  assert(observed > order - 0.2)
}

plot(solve(heat(), fd(n = 61, order = 4)), title = "heat with a conductivity k(u)",
  file = "heat.png")
