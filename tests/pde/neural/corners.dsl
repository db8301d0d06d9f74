# Networks with singular parts at corners where initial and boundary conditions
# are incompatible. Oracle: chebyshev(60).
# As users run it only: compiling all of it takes long.
x = linspace(0, 1, 101)
t = expand(linspace(0.1, 1, 10), 1)
off(p, m) = {
  f = solve(p, chebyshev(60), rtol = 1e-9, atol = 1e-11)
  norm(solve(p, m).u(t, x) - f.u(t, x)) / norm(f.u(t, x))
}

# Incompatible rates. The layer is (t + x²/2D) erfc(x/√(4Dt)) - x √(t/πD)
# exp(-x²/4Dt), seen from a distant boundary.
problem heated() {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == 0.01u_xx
  u == 0 at t = 0
  u == t at x = 0
  u == 0 at x = 1
}
with_layer = off(heated(), pinn([10], 300; steps = 30));
assert(with_layer < 3e-4, "{with_layer}")
assert(off(heated(), pinn([10], 300; steps = 30, corners = false)) > 10 * with_layer)
D = 0.01
layer(t, x) = (t + x^2/(2D))*erfc(x/sqrt(4D*t)) - x*sqrt(t/(π*D))*exp(-x^2/(4D*t))
solve(heated(), pinn([10], 300; steps = 30)).u(0.5, 0.1)     #~ layer(0.5, 0.1) tol 3e-4

# Incompatible values at the other boundary, with a term of order 0. The corner
# itself is not sampled.
problem jump() {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == 0.05u_xx - u
  u == 1 at t = 0
  u == exp(-t) at x = 0
  u == 0 at x = 1
}
by_layer = off(jump(), pinn([12, 12], 400; steps = 40));
assert(by_layer < 2e-3, "{by_layer}")
assert(off(jump(), pinn([12, 12], 400; steps = 40, corners = false)) > 4 * by_layer)
