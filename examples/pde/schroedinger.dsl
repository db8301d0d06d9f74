# Schrödinger's equation: that of the harmonic oscillator, i ψ_t = -ψ_xx/2 +
# x²ψ/2, for the real and the imaginary part of ψ. A displaced wave packet
# oscillates like a particle and keeps its shape (E. Schrödinger,
# Naturwissenschaften 14, 1926). ∫|ψ|² = 1 is conserved, and nothing is damped.
# The packet stays far from the ends, where ψ is set to 0. fourier() needs a
# period.

start(x) = exp(-(x - 1)^2/2)/π^0.25
problem oscillator {
  domain t in [0, 2], x in [-7, 7]
  field u, v
  u_t == -v_xx/2 + x^2*v/2
  v_t == u_xx/2 - x^2*u/2
  u == start(x) at t = 0
  v == 0        at t = 0
  u == 0        at boundary
  v == 0        at boundary
}

# The phase is p x - pq/2 - t/2 with q = cos t, p = -sin t.
size(t, x) = exp(-(x - cos(t))^2/2)/π^0.25
phase(t, x) = -sin(t)*x + 0.5sin(t)*cos(t) - t/2
x = linspace(-7, 7, 201)
times = [0.5, 1.0, 2.0]
exact = map(t -> stack(size(t, x)*cos(phase(t, x)), size(t, x)*sin(phase(t, x))), times)
print("method        error    ∫|ψ|²")
methods = (fd(n = 161, order = 6), chebyshev(n = 48), fem(h = 0.2, order = 3), rfm(400),
  pinn([16, 16], 800; steps = 30))
for (how, bound) in zip(methods, (1e-5, 1e-5, 1e-4, 2e-3, 2e-2)) {
  s = solve(oscillator, how; rtol = 1e-5, atol = 1e-7)
  off = norm(map(t -> stack(s.u(t, x), s.v(t, x)), times) - exact)/norm(exact)
  print("{s.method:-10s} {off:8.1e}  {trapz(s.u(2, x)^2 + s.v(2, x)^2, x):.6f}")
  assert(off < bound)
}
s = solve(oscillator, fd(n = 161, order = 6), rtol = 1e-6)
t = linspace(0, 2, 81)
overlay(heatmap(t, x, map(t -> s.u(t, x), t), zlabel = "Re ψ"),
  plot(t, cos(t), colour = "black", style = "dashed"), title = "a packet swings like a particle",
  xlabel = "t", ylabel = "x", file = "schroedinger.png")
