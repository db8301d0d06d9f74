# Vector fields and unknown parameters in scaled units and in SI units: networks
# give errors of the same size. Oracle: exact solutions.
# As users run it only: compiling all of it takes long.
# In a long check only: it takes half a minute.

rel(a, b) = norm(a - b) / norm(b)
x = linspace(0, 1, 21)
alike(first, second; most) = { assert(first < most and second < 3*first, "{first} {second}"); true }

# Plane strain of 2 cm of steel, with displacements of micrometres and stresses
# in Pa. The force is that of w = U sin(πx/L) sin(πy/L) [1, 1].
problem elastic(L = 1.0, U = 1.0, λ = 1.5, μ = 1.0) {
  domain x in [0, L], y in [0, L]
  field w[2]
  k = π/L
  f = (λ + 3μ)*sin(k*x)*sin(k*y) - (λ + μ)*cos(k*x)*cos(k*y)
  μ*lap(w) + (λ + μ)*grad(div(w)) + U*k^2*[f, f] == 0
  w == [0, 0] at boundary
}
moved = (L, U, s) -> rel(s.w(L*x, 0.3*L + 0*x), expand(U*sin(π*x)*sin(0.3π), 1) + zeros(21, 2))
m = pinn([24], 400; steps = 40, hard = false)
# First, conditions as penalty rows, which are a millionth in size where the
# equations are 1e9. Then a guess: a coarse classical solution in the problem's
# units.
alike(moved(1.0, 1.0, solve(elastic(), m)), moved(0.02, 1e-6, solve(elastic(0.02, 1e-6, 1.2e11, 8e10), m)); most = 2e-4)     #> true
coarse = solve(elastic(0.02, 1e-6, 1.2e11, 8e10), fem(h = 0.003));
moved(0.02, 1e-6, solve(elastic(0.02, 1e-6, 1.2e11, 8e10), m; guess = coarse)) < 1e-4                      #> true

# Kovasznay's flow of oil in m, m/s and Pa: pressure and velocity have different
# scales.
problem kovasznay(L = 1.0, V = 1.0, ρ = 1.0) {
  domain x in [-0.5L, L], y in [-0.5L, 1.5L]
  field v[2], p
  λ = 10 - sqrt(100 + 4π^2)
  ρ*v·grad(v) == -grad(p) + ρ*V*L/20*Δ(v)
  div(v) == 0
  v == V*[1 - exp(λ*x/L)*cos(2π*y/L), λ/(2π)*exp(λ*x/L)*sin(2π*y/L)] at boundary
  p == ρ*V^2*(1 - exp(2λ*x/L))/2 at x = L
}
λ = 10 - sqrt(100 + 4π^2)
flow = (s, L, V, ρ) -> rel(concat(s.v(L*x, 0.3*L + 0*x)[.., 0]/V, s.p(L*x, 0.3*L + 0*x)/(ρ*V^2)),
  concat(1 - exp(λ*x)*cos(0.6π), (1 - exp(2λ*x))/2))
# For four seeds, errors are 0.5 to 1.3e-4 in scaled units and 0.6 to 2.1e-4 in
# SI units.
m = pinn([16, 16], 300; boundary = 60, steps = 50, seed = 2)
alike(flow(solve(kovasznay(), m), 1.0, 1.0, 1.0), flow(solve(kovasznay(0.02, 0.5, 900.0), m), 0.02, 0.5, 900.0); most = 2e-4)      #> true

# the diffusivity of steel, 1e-5 m²/s, from temperatures in K
problem heat(D = 0.8, L = 1.0, T = 1.0, a = 1/3, b = 2/3) {
  domain t in [0, T], x in [0, L]
  field u
  u_t == D*u_xx
  u == a + b*sin(π*x/L) at t = 0
  u == a                at x = 0, x = L
}
seed(3)
(t, y) = (0.05 + 0.9*rand(200), 0.05 + 0.9*rand(200))
u = 1/3 + 2/3*exp(-0.4*π^2*t)*sin(π*y)
m = pinn([16], 300; steps = 40)
r = fit(heat(), (t = t, x = y, u = u); for = D, by = m, progress = false)
q = fit(heat(2e-5, 0.05, 100.0, 300.0, 600.0), (t = 100*t, x = 0.05*y, u = 900*u); for = D, by = m, progress = false)
alike(abs(r.D/0.4 - 1), abs(q.D/1e-5 - 1); most = 2e-4)                                                     #> true
q.solution.u(50.0, 0.025)                                                                                   #~ 300 + 600*exp(-0.2*π^2) tol 0.2
# From measurements with 9 K of noise: agrees with least squares by a classical
# method, with the same standard error.
noise = 0.01*randn(200)
data = (t = 100*t, x = 0.05*y, u = 900*(u + noise))
n = fit(heat(2e-5, 0.05, 100.0, 300.0, 600.0), data; for = D, by = m, sigma = 9.0, progress = false)
c = fit(heat(2e-5, 0.05, 100.0, 300.0, 600.0), data; for = D, by = chebyshev(16), sigma = (u = 9.0), progress = false)
abs(n.D - c.D) < 0.1*c.std.D                                                                                #> true
n.std.D / c.std.D                                                                                           #~ 1 tol 0.02
