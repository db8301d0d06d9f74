# Finite elements for flow: Taylor-Hood elements against Kovasznay's solution
# and in the driven cavity.
# As users run it only: compiling all of it takes long.
# In a long check only: it takes half a minute.

(g, gw) = gauss_legendre(4; a = 0.0, b = 1.0)
n = 40
px = ravel(expand(iota(n)/n, 1) + expand(g/n, 0));
wx = ravel(zeros(n, 1) + gw/n);
X = ravel(expand(px, 1) + 0*px);
Y = ravel(0*expand(px, 1) + px);
W = ravel(outer(wx, wx));

# ---- flow: Kovasznay 1948, orders 3 and 2 of Taylor-Hood elements
problem kovasznay(Re = 40) {
  domain (x, y) in box([-0.5, 1], [-0.5, 0.5])
  field v[2], p
  λ = Re/2 - sqrt(Re^2/4 + 4π^2)
  v·grad(v) == -grad(p) + Δ(v)/Re
  div(v) == 0
  v == [1 - exp(λ*x)*cos(2π*y), λ/(2π)*exp(λ*x)*sin(2π*y)] at boundary
  p == 0 at (-0.5, -0.5)
}
λ = 20 - sqrt(400 + 4π^2)
xs = -0.5 + 1.5*X;
ys = Y - 0.5;
U = stack(1 - exp(λ*xs)*cos(2π*ys), λ/(2π)*exp(λ*xs)*sin(2π*ys); axis = 1);
P = (1 - exp(2λ*xs))/2;
ev(s) = sqrt(sum(expand(W, 1)*(s.v(xs, ys) - U)^2))
ep(s) = { d = s.p(xs, ys) - P; sqrt(sum(W*(d - sum(W*d))^2)) }
e = map(n -> { s = solve(kovasznay(), fem(h = 1/n, order = 2)); stack(ev(s), ep(s)) }, list(8, 16));
log2(e[0] / e[1])  #~ [3, 2] tol 0.15

# ---- the driven cavity at Re = 100
# Ghia, Ghia and Shin 1982 (2 %), and values of a spectral solution.
problem cavity(Re = 100) {
  domain (x, y) in box([0, 1], [0, 1])
  field v[2], p
  v·grad(v) == -grad(p) + Δ(v)/Re
  div(v) == 0
  v == [1, 0] at y = 1
  v == [0, 0] at x = 0, x = 1, y = 0
  p == 0      at (0, 0)
}
s = solve(cavity(), fem(h = 1/32, order = 2));
y = [0.8516, 0.7344, 0.6172, 0.5, 0.4531, 0.2813, 0.1719, 0.1016]
ghia = [0.23151, 0.00332, -0.13641, -0.20581, -0.2109, -0.15662, -0.1015, -0.06434]
max(abs(s.v(0.5, y)[.., 0] - ghia)) < 0.02*0.25  #> true
(s.v(0.5, 0.5)[0], s.v(0.5, 0.1719)[0], s.v(0.9063, 0.5)[1])  #~ (-0.20914139, -0.10173392, -0.17707213) tol 2e-3
# Where Newton's method fails from rest, continuation increases the convection.
solve(cavity(2000), fem(h = 1/24, order = 2); estimate = false).stats.newton > 8  #> true

# The default for a pressure between walls is fem(), with t and without.
problem lid {
  domain x in [0, 1], y in [0, 1]
  field v[2], p
  grad(p) == Δ(v)
  div(v) == 0
  v == [16x^2*(1 - x)^2, 0] at top
  v == [0, 0] at left, right, bottom
  p == 0      at (0, 0)
}
solve(lid).method   #> fem
contains(explain(lid), "fem(order = 2)")   #> true
