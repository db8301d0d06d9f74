# Networks trained on problems with closed-form solutions.
# As users run it only: compiling all of it takes long.

problem heat(D = 0.1) {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == D*u_xx
  u == sin(π*x) at t = 0
  u == 0        at x = 0, x = 1
}
exact(t, x) = exp(-0.1*π^2*t)*sin(π*x)
xs = linspace(0, 1, 33)
err(s) = norm(s.u(0.7, xs) - exact(0.7, xs)) / norm(exact(0.7, xs))

# conditions imposed exactly by the ansatz, the default here
hard = solve(heat(), pinn(hidden = [12, 12], points = 300, steps = 25));
err(hard) < 1e-5  #> true
hard.u(0.0, 0.25)  #~ 0.7071067811865476 tol 1e-12
hard.u(0.4, 1.0)  #~ 0.0 tol 1e-12

# conditions as penalty rows
soft = solve(heat(), pinn(hidden = [12, 12], points = 300, steps = 30, hard = false, boundary = 60));
err(soft) < 1e-3  #> true

# other trainers reduce the loss more slowly
quasi = solve(heat(), pinn(hidden = [12, 12], points = 200, steps = 150, trainer = "lbfgs"));
err(quasi) < 3e-2  #> true
first = solve(heat(), pinn(hidden = [12, 12], points = 200, steps = 200, trainer = "adam"));
first.stats.loss < 1.0  #> true

# a periodic problem, by harmonics of the axis
problem ring {
  domain t in [0, 1], x in [0, 2π] periodic
  field u
  u_t + u_x == 0.1*u_xx
  u == sin(x) at t = 0
}
p = solve(ring, pinn(hidden = [16, 16], points = 400, steps = 30, boundary = 80));
p.u(1.0, 0.3)  #~ -0.5829122688 tol 2e-3
p.u(0.5, 0.3) - p.u(0.5, 0.3 + 2π)  #~ 0.0 tol 1e-10

# The classical and the neural solution of the same problem agree.
compare(hard, solve(heat(), chebyshev(n = 16)), tol = 1e-4).agree  #> true

# the default architecture: layers of 20
problem fading {
  domain t in [0, 1]
  field u
  u_t == -u
  u == 1 at t = 0
}
solve(fading, pinn(points = 40, steps = 6)).u(1.0)              #~ exp(-1) tol 1e-3
