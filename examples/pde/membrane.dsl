# Eigenvalues of the L: the drum in the logo of a well-known program. λ1 =
# 9.6397238440219 (Fox, Henrici and Moler 1967; Betcke and Trefethen 2005)
# belongs to a mode that is singular at the re-entrant corner. The third mode is
# sin(πx) sin(πy), smooth, with λ3 = 2π². For regions that are not boxes there
# is one method, fem(). Its orders differ in accuracy for the third eigenvalue
# and hardly for the first.

problem membrane {
  domain (x, y) in polygon([0, 0; 2, 0; 2, 1; 1, 1; 1, 2; 0, 2])
  field u
  eigen λ
  -Δ(u) == λ*u
  u == 0 at boundary
}

(first, third) = (9.639723844021941, 2π^2)
print("method  order  mesh          unknowns  relative errors of λ1, λ3")
told(s, order, mesh) = {
  e = [s.λ[0]/first - 1, s.λ[2]/third - 1]
  print("{s.method:-8s}{order}      {mesh:-14s}{s.stats.unknowns:8d}  {e[0]:.1e}  {e[1]:.1e}")
  e
}
for order in (1, 2, 3) {
  e = told(solve(membrane, fem(h = 0.1, order = order), count = 3), order, "cells of 0.1")
  assert(e[0] > 0 and e[0] < 2e-2 and abs(e[1]) < (2e-2, 1e-4, 1e-6)[order - 1])
}

m = mesh(polygon([0, 0; 2, 0; 2, 1; 1, 1; 1, 2; 0, 2]), 0.2)
for k in 0..20 {
  c = mean(m.points[m.cells]; axis = 1)
  m = refine(m; marked = sum((c - [1, 1])^2; axis = 1) < 0.25*0.5^k)
}
s = solve(membrane, fem(mesh = m, order = 3), count = 3)
assert(told(s, 3, "graded")[0] < 1e-5)
plot(s.u[0], title = "the first mode of the L", xlabel = "x", ylabel = "y", file = "membrane.png")
