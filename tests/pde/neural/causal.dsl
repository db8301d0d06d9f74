# Causal weights: later times have little weight until the equations hold at
# earlier ones. Without them, training may converge to a wrong solution whose
# residual is small at most points.
# As users run it only: compiling all of it takes long.

# The Lotka-Volterra equations: with this seed, the plain network follows half a
# cycle and then stays close to the equilibrium.
problem predators(T = 20) {
  domain t in [0, T]
  field x, y
  x_t == x*(1 - y)
  y_t == y*(x - 1)
  x == 2 at t = 0
  y == 1 at t = 0
}
ts = linspace(0.0, 20, 201)
r = solve(predators(); rtol = 1e-9, atol = 1e-11);
off(s) = norm(s.x(ts) - r.x(ts)) / norm(r.x(ts))
plain = solve(predators(), pinn([20, 20], 400; steps = 150, seed = 3), partial = true);
off(plain) > 0.1                                         #> true
off(solve(predators(), pinn([20, 20], 400; steps = 150, seed = 3, causal = true)))      #~ 0 tol 1e-3
