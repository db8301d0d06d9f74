# kdv.dsl - the Korteweg-de Vries equation by a network.
#
# The problem is that of Zabusky and Kruskal (1965). The reference is a Fourier
# solution with an integrating factor.
problem kdv() {
  domain t in [0, 1], x in [-1, 1] periodic
  field u
  u_t + u*u_x + 0.022^2*u_xxx == 0
  u == cos(π*x) at t = 0
}
# v = exp(-i c k^3 t) û, with classical Runge-Kutta steps for v
reference(n, steps) = {
  k = π * where(iota(n) < n // 2, iota(n), where(iota(n) == n // 2, 0, iota(n) - n))
  kept = where(abs(k) < π * n / 3, 1.0, 0.0)
  h = 1.0 / steps
  x = -1 + 2iota(n) / n
  slope = (t, v) -> {
    turn = exp(0.022^2 * k^3 * t * 1im)
    u = real(ifft(v * turn))
    kept * (-0.5im * k) * fft(u^2) * conj(turn)
  }
  v = fft(cos(π * x))
  out = zeros(11, n)
  out[0] = cos(π * x)
  for j in 0..steps {
    t = j * h
    a = slope(t, v)
    b = slope(t + h / 2, v + h / 2 * a)
    c = slope(t + h / 2, v + h / 2 * b)
    d = slope(t + h, v + h * c)
    v = v + h / 6 * (a + 2b + 2c + d)
    if (j + 1) % (steps // 10) == 0 {
      s = (j + 1) * h
      out[(j + 1) // (steps // 10)] = real(ifft(v * exp(0.022^2 * k^3 * s * 1im)))
    }
  }
  out
}
n = 256
exact = reference(n, 4000)
x = -1 + 2iota(n) / n
e(u) = norm(u(expand(linspace(0, 1, 11), 1), x) - exact) / norm(exact)

# Errors and seconds of five seeds, with their medians. The first seed includes
# compilation.
measure(name, target, solved) = {
  errors = zeros(5)
  times = zeros(5)
  for k in 0..5 {
    t = clock()
    (errors[k], steps, loss) = solved(k + 1)
    times[k] = clock() - t
    print(
      "  {name} seed {k + 1}: error {errors[k]:.2e}, {steps} steps, loss {loss:.1e}, "
      "{times[k]:.2f} s")
  }
  print(
    "{name}: median error {sort(errors)[2]:.2e}, worst {max(errors):.2e}; "
    "median {sort(times)[2]:.2f} s, with compilation {times[0]:.2f} s; target {target}")
}
measure("KdV 0.022", "1e-4 in 120 s", k -> {
  s = solve(kdv(),
    pinn([20, 20, 20], 4096; steps = 260, refine = 20, slabs = 4, boundary = 250, seed = k))
  (e(s.u), s.stats.steps, s.stats.loss)
})
