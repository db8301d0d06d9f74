# Poisson's equation on a square: a membrane under a uniform load, -Δu = 1, held
# at its edges. The second derivatives are discontinuous at the corners, where u
# = 0 requires 0 and the load 1, so no method converges exponentially. The
# deflection in the middle is 0.07367135328151382 (the double sine series,
# summed to 18 digits).

problem membrane {
  domain x in [0, 1], y in [0, 1]
  field u
  -Δ(u) == 1
  u == 0 at boundary
}

middle = 0.07367135328151382
quarter = 0.04528615810947271
print("method       relative errors in the middle and at (1/4, 1/4)")
for (how, bound) in ((fd(n = 65, order = 2), 1e-3), (fd(n = 65, order = 4), 1e-4),
  (chebyshev(n = 32), 1e-7), (fem(h = 1/16, order = 2), 1e-4), (rfm(400), 1e-2),
  (pinn([12, 12], 300; steps = 30), 1e-2)) {
  s = solve(membrane, how; progress = false)
  errors = [abs(s.u(0.5, 0.5)/middle - 1), abs(s.u(0.25, 0.25)/quarter - 1)]
  print("{s.method:-12s} {errors[0]:.1e} {errors[1]:.1e}")
  assert(max(errors) < bound)
}

s = solve(membrane, fd(n = 65, order = 4))
x = linspace(0, 1, 41)
surface(x, x, s.u(expand(x, 1), expand(x, 0)), title = "a membrane under a uniform load",
  xlabel = "x", ylabel = "y", zlabel = "u", dpi = 110, file = "poisson.png")
