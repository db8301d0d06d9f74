# The Kuramoto–Sivashinsky equation: in a flame front long waves grow, short
# ones are damped, and the nonlinear term transfers energy between them. The
# motion never ends, and two solutions diverge by a factor e in some ten units
# of time.
# Initial values and domain are those of Kassam and Trefethen (SIAM J. Sci.
# Comput. 26, 2005). There is no exact solution; the reference is a finer
# solution by another method up to t = 30, before chaos has grown. fem() and
# fv() have no fourth derivatives, and the errors of a network or a sum of sines
# would grow too.

problem kuramoto {
  domain t in [0, 150], x in [0, 32π] periodic
  field u
  u_t + u*u_x + u_xx + u_xxxx == 0
  u == cos(x/16)*(1 + sin(x/16)) at t = 0
}

x = linspace(0, 32π, 201)
best = solve(kuramoto, fourier(n = 192, time = radau5()); t = (0, 30), rtol = 1e-9,
  atol = 1e-10).u(30, x)
print("method               error")
methods = ((fourier(n = 192), 1e-4), (fourier(n = 192, time = cnab2(1/64)), 1e-3),
  (fd(n = 400, order = 8), 1e-4), (chebyshev(n = 192), 1e-4))
for (k, (how, bound)) in enumerate(methods) {
  s = solve(kuramoto, how; t = (0, 30), rtol = 1e-7, atol = 1e-9)
  off = norm(s.u(30, x) - best)/norm(best)
  print("{s.method:-10s} {("etdrk4", "cnab2", "bdf", "bdf")[k]:-8s} {off:8.1e}")
  assert(off < bound)
}
# The plot is correct only qualitatively, as its error estimate shows: near t =
# 150 the initial values no longer determine the solution.
s = solve(kuramoto, fourier(n = 128), rtol = 1e-5, partial = true, saveat = linspace(0, 150, 201))
heatmap(s.times, s.x, s.values, title = "chaos of a flame front", xlabel = "t", ylabel = "x",
  zlabel = "u", dpi = 96, file = "kuramoto.png")
