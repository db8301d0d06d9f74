# Burgers' equations in the plane: two velocities advect each other, and an
# oblique front passes through the square. The exact solution is Fletcher's, by
# the Cole-Hopf transformation in two dimensions (Int. J. Numer. Meth. Fluids 3,
# 1983); it also provides the boundary values. The system is not a conservation
# law, so fv() does not apply.

front(t, x, y, ν) = 1/(4 + 4exp((4y - 4x - t)/(32ν)))
problem burgers(ν = 0.02) {
  domain t in [0, 0.5], x in [0, 1], y in [0, 1]
  field u, v
  u_t + u*u_x + v*u_y == ν*lap(u)
  v_t + u*v_x + v*v_y == ν*lap(v)
  u == 3/4 - front(t, x, y, ν) at t = 0
  v == 3/4 + front(t, x, y, ν) at t = 0
  u == 3/4 - front(t, x, y, ν) at boundary
  v == 3/4 + front(t, x, y, ν) at boundary
}

p = burgers()
x = linspace(0, 1, 41)
square(f) = map(a -> map(b -> f(a, b), x), x)
exact = square((a, b) -> [0.75 - front(0.5, a, b, 0.02), 0.75 + front(0.5, a, b, 0.02)])
off(s) = norm(square((a, b) -> [s.u(0.5, a, b), s.v(0.5, a, b)]) - exact)/norm(exact)
methods =
  (fd(n = 31), chebyshev(n = 14), fem(h = 1/12, order = 2), rfm(300), pinn([12], 800; steps = 30))
print("method        error")
for (how, bound) in zip(methods, (1e-5, 1e-5, 2e-4, 1e-3, 2e-3)) {
  s = solve(p, how; rtol = 1e-6, atol = 1e-8)
  print("{s.method:-10s} {off(s):8.1e}")
  assert(off(s) < bound)
}
s = solve(p, chebyshev(n = 14))
speed = square((a, b) -> s.u(0.5, a, b))
grid = linspace(0.05, 0.95, 13)
overlay(heatmap(x, x, speed, zlabel = "u"),
  quiver(grid, grid, (a, b) -> s.u(0.5, a, b), (a, b) -> s.v(0.5, a, b)),
  title = "two velocities and their front at t = 0.5", xlabel = "x", ylabel = "y", dpi = 128,
  file = "burgers_2d.png")
