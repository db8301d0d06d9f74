# Finite elements: orders by manufactured solutions, conditions of every kind,
# systems, flow, derivatives with respect to parameters.
# As users run it only: compiling all of it takes minutes.
# In a long check only: it takes half a minute.

# ---- Poisson's equation on the square
# u(1/2, 1/2) is from its double sine series.
problem poisson {
  domain x in [0, 1], y in [0, 1]
  field u
  -u_xx - u_yy == 1
  u == 0 at x = 0, x = 1, y = 0, y = 1
}
s = solve(poisson, fem(h = 1/16, order = 2));
s.u(0.5, 0.5)  #~ 0.0736713532815138 tol 1e-5
s.u([0.25, 0.5], 0.25)  #~ [0.0452861581094727, 0.0573349064746083] tol 2e-5
solve(poisson, fem(h = 1/32, order = 3)).u(0.5, 0.5)  #~ 0.0736713532815138 tol 1e-7
shape(s.u([0.1; 0.2; 0.3], [0.5, 0.6]))  #> (3, 2)
try { str((s.u)(2.0, 0.5)) } catch e { str(e)[..30] }  #> the solution is known for x fr

# ---- orders 2, 3, 4 in L2 and one less in H1, variable coefficients
# Coefficient, advection and reaction vary.
problem made(a = 1.0) {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  w = sin(2x)*exp(y)
  -∇·((1 + a*x*y)*grad(u)) + u_x + u == (1 + a*x*y)*3w - a*y*2cos(2x)*exp(y) - a*x*w + 2cos(2x)*exp(y) + w
  u == sin(2x)*exp(y) at boundary
}
exact(x, y) = sin(2x)*exp(y)
(g, gw) = gauss_legendre(4; a = 0.0, b = 1.0)
n = 40
px = ravel(expand(iota(n)/n, 1) + expand(g/n, 0));
wx = ravel(zeros(n, 1) + gw/n);
X = ravel(expand(px, 1) + 0*px);
Y = ravel(0*expand(px, 1) + px);
W = ravel(outer(wx, wx));
l2(s) = sqrt(sum(W*(s.u(X, Y) - exact(X, Y))^2))
h1(s) = sqrt(sum(W*((jvp(x -> s.u(x, Y), X, ones_like(X))[1] - 2cos(2X)*exp(Y))^2 + (jvp(y -> s.u(X, y), Y, ones_like(Y))[1] - exact(X, Y))^2)))
orders(k) = {
  e = map(n -> { s = solve(made(), fem(h = 1/n, order = k)); stack(l2(s), h1(s)) }, list(10, 20))
  log2(e[0] / e[1])
}
orders(1)  #~ [2, 1] tol 0.15
orders(2)  #~ [3, 2] tol 0.15
orders(3)  #~ [4, 3] tol 0.15

# ---- in one and in three dimensions
problem rod {
  domain x in [0, 1]
  field u
  -u_xx + u == (1 + π^2)*sin(π*x)
  u == 0 at left, right
}
at = [0.11, 0.37, 0.83]
e(k, n) = norm(solve(rod, fem(h = 1/n, order = k)).u(at) - sin(π*at))
e(2, 40) < 1e-5  #> true
e(3, 20) < 1e-6  #> true
problem brick {
  domain (x, y, z) in box([0, 1], [0, 1], [0, 1])
  field u
  w = exp(x)*sin(y)*cos(z)
  -Δ(u) == w
  u == w at left, right, bottom, top
  ∂n(u) == 0 at back
  ∂n(u) == -exp(x)*sin(y)*sin(z) at front
}
f = (x, y, z) -> exp(x)*sin(y)*cos(z)
e3(k, n) = abs(solve(brick, fem(h = 1/n, order = k)).u(0.45, 0.55, 0.52) - f(0.45, 0.55, 0.52))
e3(1, 6) < 5e-3  #> true
e3(2, 4) < 1e-3  #> true
e3(3, 3) < 3e-5  #> true

# Conjugate gradients give the same values and derivatives. They refuse a matrix
# that is not symmetric.
at(h, w) = solve(brick, fem(h = h, order = 2, linear = w)).u([0.45, 0.2], 0.55, 0.52)
at(1/4, "cg") #~ at(1/4, "direct") tol 1e-10
contains(try { str(solve(made(), fem(h = 1/4, linear = "cg")).u(0.5, 0.5)) } catch e { str(e) }, "is not; fem(linear") #> true

# ---- Robin and Neumann conditions with a coefficient that depends on u
# The exact solution is 1 + x + y^2/2.
problem robin(k = 1.0) {
  domain (x, y) in box([0, 1], [0, 2])
  field u
  w = 1 + x + y^2/2
  -∇·((1 + u^2)*grad(u)) == -2*w*(1 + y^2) - (1 + w^2)
  u == k*w at left
  (1 + u^2)*∂n(u) + u == (1 + w^2) + w at right
  ∂n(u) == 0 at bottom
  ∂n(u) == 2 at top
}
s = solve(robin(), fem(h = 1/4, order = 2));
s.u([0.3, 0.9], [0.7, 1.9])  #~ [1 + 0.3 + 0.245, 1.9 + 1.805] tol 1e-7
s.stats.newton > 2  #> true
# Derivatives with respect to a parameter, by implicit differentiation of the
# solution.
middle(k) = solve(robin(k), fem(h = 1/4, order = 2)).u(0.5, 1.0)
middle'(1.0)  #~ (middle(1.001) - middle(0.999)) / 0.002 tol 1e-6

# ---- pure Neumann conditions, with a value at a point and without one
problem insulated {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  -Δ(u) == 2π^2*cos(π*x)*cos(π*y)
  ∂n(u) == 0 at boundary
  u == 1 at (0, 0)
}
solve(insulated, fem(h = 1/16, order = 3)).u(1, [0, 0.5, 1])  #~ [-1, 0, 1] tol 1e-4

# ---- a system: reaction and diffusion of two fields
# The exact solutions are x(1 - x) y and sin(x + y).
problem pair {
  domain (x, y) in box([0, 1], [0, 1])
  field a, b
  p = x*(1 - x)*y
  q = sin(x + y)
  -Δ(a) + a*b == 2y + p*q
  -2*Δ(b) + b - a^2 == 5q - p^2
  a == p at boundary
  b == q at boundary
}
s = solve(pair, fem(h = 1/12, order = 3));
(s.a(0.3, 0.4), s.b(0.3, 0.4))  #~ (0.3*0.7*0.4, sin(0.7)) tol 1e-6

# ---- elasticity: a vector field with mixed derivatives
# For (x^2 + xy, y^2 - xy): div = x + 3y, μ Δw + (λ + μ) grad(div w) = (2μ + λ +
# μ, 2μ + 3(λ + μ)).
problem elastic(μ = 1.0, λ = 2.0) {
  domain (x, y) in box([0, 1], [0, 1])
  field w[2]
  E = (grad(w) + grad(w)')/2
  div(2μ*E + λ*div(w)*eye(2)) == [3μ + λ, 5μ + 3λ]
  w == [x^2 + x*y, y^2 - x*y] at boundary
}
solve(elastic(), fem(h = 1/4, order = 2)).w(0.3, 0.6)  #~ [0.09 + 0.18, 0.36 - 0.18] tol 1e-9

# With forces on a side: σ n at the right of the same displacement, n = (1, 0).
problem pulled(μ = 1.0, λ = 2.0) {
  domain (x, y) in box([0, 1], [0, 1])
  field w[2]
  σ = μ*(grad(w) + grad(w)') + λ*div(w)*eye(2)
  div(σ) == [3μ + λ, 5μ + 3λ]
  w == [x^2 + x*y, y^2 - x*y] at left, bottom
  σ @ normal == [2μ*(2x + y) + λ*(x + 3y), μ*(x - y)] at right
  σ @ normal == [μ*(x - y), 2μ*(2y - x) + λ*(x + 3y)] at top
}
solve(pulled(), fem(h = 1/4, order = 2)).w([0.3, 1.0], [0.6, 0.9])  #~ [0.27, 0.18; 1.9, -0.09] tol 1e-9

# ---- errors: no weak form, unsupported conditions
why(p, m) = try { solve(p, m).stats.unknowns } catch e { e }
problem monge {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  u_xx*u_yy == 1
  u == 0 at boundary
}
contains(str(why(monge, fem(h = 0.5))), "no weak form")  #> true
problem ratio {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  -Δ(u) == 1
  u_x == 0 at bottom
  u == 0 at left, right, top
}
contains(str(why(ratio, fem(h = 0.5))), "does not give the flux")  #> true
problem apart {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  -Δ(u) == 1
  ∂n(u) == 0 at bottom, left, right, top
  u == 0 at (0.3, 0.3)
}
contains(str(why(apart, fem(h = 0.5))), "no node of the mesh")  #> true
# ---- a coefficient that depends on the gradient
# Scherk's minimal surface.
problem minimal(a = 0.8) {
  domain (x, y) in box([-1, 1], [-1, 1])
  field u
  ∇·(∇(u)/sqrt(1 + u_x^2 + u_y^2)) == 0
  u == log(cos(a*x)/cos(a*y))/a at boundary
}
contains(str(why(minimal(), fem(h = 0.5))), "fem(path = 8)")  #> true
solve(minimal(), fem(h = 1/3, order = 2, path = 8)).u(0.3, [0.7, 0.1])  #~ log(cos(0.24)/cos(0.8*[0.7, 0.1]))/0.8 tol 2e-3
# ---- adaptive refinement at the corner of an L
# u(0.9, 0.9) is 0.09806, from 10^5 unknowns.
problem corner {
  domain (x, y) in polygon([0, 0; 2, 0; 2, 1; 1, 1; 1, 2; 0, 2])
  field u
  -Δ(u) == 1
  u == 0 at boundary
}
m = mesh(polygon([0, 0; 2, 0; 2, 1; 1, 1; 1, 2; 0, 2]), 0.25);
s = solve(corner, fem(mesh = refine(refine(m)), order = 2));
for k in 0..11 { e = solve(corner, fem(mesh = m, order = 2)).indicator(); m = refine(m; marked = e > 0.3 * max(e)) }
r = solve(corner, fem(mesh = m, order = 2));
r.stats.unknowns < s.stats.unknowns / 2  #> true
norm(r.indicator()) < 0.5 * norm(s.indicator())  #> true
abs(r.u(0.9, 0.9) - 0.09806) < 0.2 * abs(s.u(0.9, 0.9) - 0.09806)  #> true

# Undamped waves, for which BDF would take 40,000 steps.
problem packet {
  domain t in [0, 3], x in [-8, 8]
  field u, v
  u_t == -v_xx/2 + x^2*v/2
  v_t == u_xx/2 - x^2*u/2
  u == exp(-(x - 2)^2/2) at t = 0
  v == 0                 at t = 0
  u == 0                 at boundary
  v == 0                 at boundary
}
w = solve(packet, fem(h = 0.2, order = 3); rtol = 1e-5, atol = 1e-7);
w.u(3.0, -1.5) #~ exp(-(1.5 + 2cos(3))^2/2)*cos(3sin(3) + 2sin(3)*cos(3) - 1.5) tol 1e-4
w.stats.steps < 1000 #> true

# A vertex that ninety triangles share: a column of the matrix with 271
# elements.
wheel = 2π*iota(90)/90;
hub = (points = concat(zeros(1, 2), stack(cos(wheel), sin(wheel); axis = 1)), cells = stack(0*iota(90), 1 + iota(90), 1 + (iota(90) + 1) % 90; axis = 1),
  faces = stack(1 + iota(90), 1 + (iota(90) + 1) % 90; axis = 1), tags = 0*iota(90), names = list("boundary"), region = none);
problem loaded {
  domain (x, y) in disk([0, 0], 1)
  field u
  -Δ(u) == 1
  u == 0 at boundary
}
# a quarter of the square of the inscribed circle's radius
solve(loaded, fem(mesh = hub, order = 2)).u(0.0, 0.0)  #~ 0.25*cos(π/90)^2 tol 1e-6

# A polynomial of degree k in each cell has k derivatives with respect to
# position. The next one would always be 0, so it is refused.
problem sagging(c = 1.0) {
  domain x in [0, 1]
  field u
  u_xx == -c
  u == 0 at x = 0, x = 1
}
bend(m, x) = { s = solve(sagging, m; estimate = false); ∂(∂(s.u, 0), 0)(x) }
bend(fem(0.1, order = 2), 0.37)                                                         #~ -1 tol 1e-9
contains(try { str(bend(fem(0.1), 0.37)) } catch e { str(e) }, "fem(order = 2)")        #> true
# Derivatives with respect to parameters that do not move the position are not
# limited.
(c -> solve(sagging(c = c^3), fem(0.1); estimate = false).u(0.5))''(1.0)                #~ 0.75 tol 1e-9
