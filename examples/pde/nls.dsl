# Schrödinger's nonlinear equation: i ψ_t + ψ_xx/2 + |ψ|²ψ = 0, for the real and
# the imaginary part of ψ. Two solitons at the same place beat. From 2 sech x
# the height rises to 4 and returns in the time π/2 (J. Satsuma and N. Yajima,
# Prog. Theor. Phys. Suppl. 55, 1974); ∫|ψ|² = 8 is conserved. The period of 24
# is long enough to approximate the infinite line. cnab2() needs a linear part
# that does not couple fields, and fem() needs boundaries. The Newton steps of
# rfm() from 0 do not find this solution; pinn() takes too long for an example.

problem beating {
  domain t in [0, π/2], x in [-12, 12] periodic
  field u, v
  u_t == -v_xx/2 - (u^2 + v^2)*v
  v_t == u_xx/2 + (u^2 + v^2)*u
  u == 2sech(x) at t = 0
  v == 0        at t = 0
}

# ψ = 4 (cosh 3x + 3 e^{4it} cosh x) e^{it/2} / (cosh 4x + 4 cosh 2x + 3 cos 4t)
below(t, x) = cosh(4x) + 4cosh(2x) + 3cos(4t)
ψ(t, x) = 4(cosh(3x) + 3exp(4im*t)*cosh(x))*exp(0.5im*t)/below(t, x)
x = linspace(-12, 12, 241)
times = [π/8, π/4, 3π/8, π/2]
exact = map(t -> stack(real(ψ(t, x)), imag(ψ(t, x))), times)
print("method        error    ∫|ψ|²")
y = -12 + 0.08*iota(300)
for (how, bound) in ((fourier(n = 320), 3e-5), (fd(n = 384, order = 8), 3e-5),
  (chebyshev(n = 256, time = radau5()), 3e-5)) {
  s = solve(beating, how; rtol = 1e-7, atol = 1e-9)
  off = norm(map(t -> stack(s.u(t, x), s.v(t, x)), times) - exact)/norm(exact)
  print("{s.method:-10s} {off:8.1e}  {0.08sum(s.u(π/2, y)^2 + s.v(π/2, y)^2):.6f}")
  assert(off < bound)
}
s = solve(beating, fourier(n = 320), rtol = 1e-6, saveat = linspace(0, π/2, 101))
size = sqrt(s.values[.., ..320]^2 + s.values[.., 320..]^2)
heatmap(s.times, s.x[110..211], size[.., 110..211], title = "two solitons beat", xlabel = "t",
  ylabel = "x", zlabel = "|ψ|", file = "nls.png")
