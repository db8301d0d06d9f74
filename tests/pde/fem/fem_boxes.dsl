# Finite elements on boxes (tensor products of Lagrange elements): orders,
# exactness for polynomials, conditions of every kind, systems, flow,
# eigenvalues, and problems in t. Oracles: exact solutions, triangles and other
# methods.
# As users run it only: compiling all of it takes minutes.
# In a long check only: it takes half a minute.

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
  e = map(n -> { s = solve(made(), fem(h = 1/n, order = k, cells = "boxes")); stack(l2(s), h1(s)) }, list(10, 20))
  log2(e[0] / e[1])
}
orders(1)  #~ [2, 1] tol 0.15
orders(2)  #~ [3, 2] tol 0.15
orders(3)  #~ [4, 3] tol 0.15

# ---- the same in three dimensions
# Errors at points that are no nodes, with fluxes on two sides.
problem brick {
  domain (x, y, z) in box([0, 1], [0, 1], [0, 1])
  field u
  w = exp(x)*sin(2y)*cos(z)
  -Δ(u) == 4w
  u == w at left, right, bottom, top
  ∂n(u) == 0 at back
  ∂n(u) == -exp(x)*sin(2y)*sin(z) at front
}
(q, qw) = gauss_legendre(3; a = 0.0, b = 1.0)
cube(v) = { zero = zeros(len(v), len(v), len(v)); (ravel(expand(expand(v, 1), 2) + zero), ravel(expand(v, 1) + zero), ravel(v + zero)) }
(bx, by, bz) = cube(ravel(expand(iota(16)/16, 1) + q/16));
(vx, vy, vz) = cube(ravel(zeros(16, 1) + qw/16));
f3 = exp(bx)*sin(2by)*cos(bz);
off(k, n) = sqrt(sum(vx*vy*vz*(solve(brick, fem(h = 1/n, order = k, cells = "boxes")).u(bx, by, bz) - f3)^2))
log2(off(1, 8) / off(1, 16))  #~ 2 tol 0.15
log2(off(2, 4) / off(2, 8))   #~ 3 tol 0.15
log2(off(3, 2) / off(3, 4))   #~ 4 tol 0.15

# ---- exactness for polynomials of degree k in each variable
# With all kinds of conditions, to rounding. On triangles only total degree k is
# exact.
problem patch(k = 1) {
  domain (x, y) in box([0, 2], [-1, 1])
  field u
  p = (1 + x)^k*(2 - y)^k
  -Δ(u) + u == p - k*(k - 1)*((1 + x)^(k - 2)*(2 - y)^k + (1 + x)^k*(2 - y)^(k - 2))
  u == p at left
  ∂n(u) + u == p + k*(1 + x)^(k - 1)*(2 - y)^k at right
  ∂n(u) == k*(1 + x)^k*(2 - y)^(k - 1) at bottom
  ∂n(u) == -k*(1 + x)^k*(2 - y)^(k - 1) at top
}
left_out(k, m) = max(abs(solve(patch(k), m).u(2X, 2Y - 1) - (1 + 2X)^k*(3 - 2Y)^k)) / 9.0^k
left_out(1, fem(h = 0.7, cells = "boxes")) < 1e-13               #> true
left_out(2, fem(h = 0.7, order = 2, cells = "boxes")) < 1e-13    #> true
left_out(3, fem(h = 0.7, order = 3, cells = "boxes")) < 1e-13    #> true
left_out(3, fem(h = 0.7, order = 3)) > 1e-5                      #> true
problem block(k = 1) {
  domain (x, y, z) in box([0, 1], [0, 1.5], [0, 1])
  field u
  p = (x*y*(1 + z))^k
  -Δ(u) == -k*(k - 1)*(x^(k - 2)*(y*(1 + z))^k + y^(k - 2)*(x*(1 + z))^k + (1 + z)^(k - 2)*(x*y)^k)
  u == p at left, right, bottom, back
  ∂n(u) == k*y^(k - 1)*(x*(1 + z))^k at top
  ∂n(u) + 2u == 2p + k*(1 + z)^(k - 1)*(x*y)^k at front
}
left_in(k) = max(abs(solve(block(k), fem(h = 0.5, order = k, cells = "boxes")).u(bx, 1.5by, bz) - (1.5*bx*by*(1 + bz))^k)) / 3.0^k
left_in(1) < 1e-13  #> true
left_in(2) < 1e-13  #> true
left_in(3) < 1e-13  #> true

# ---- one coordinate has intervals, whatever `cells` is
problem rod {
  domain x in [0, 1]
  field u
  -u_xx + u == (1 + π^2)*sin(π*x)
  u == 0 at left, right
}
max(abs(solve(rod, fem(h = 1/20, order = 3, cells = "boxes")).values - solve(rod, fem(h = 1/20, order = 3)).values))  #> 0.0

# ---- conjugate gradients, integrals, fluxes, outside points, gradients
problem warm {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  -Δ(u) == 1
  u == 0 at boundary
}
s = solve(warm, fem(h = 1/12, order = 2, cells = "boxes"));
s.u([0.25, 0.31], [0.5, 0.77]) #~ solve(warm, fem(h = 1/12, order = 2, cells = "boxes", linear = "cg")).u([0.25, 0.31], [0.5, 0.77]) tol 1e-11
# from the double sine series
s.u(0.5, 0.5)                   #~ 0.0736713532815138 tol 1e-6
s.integral(q -> q.u)            #~ 0.035144253738788451 tol 1e-6
s.flux("left").u                #~ 0.25 tol 1e-3
s.flux("boundary").u            #~ 1.0 tol 1e-12
s.integral(q -> 1.0; at = "top")  #~ 1.0
s.integral(q -> q.normal[1]; at = "boundary")  #~ 0.0
try { str((s.u)(2.0, 0.5)) } catch e { str(e)[..30] }  #> the solution is known for x fr
s.u(1, [0, 1])                  #~ [0, 0]
shape(s.u([0.1; 0.2; 0.3], [0.5, 0.6]))  #> (3, 2)
∂(s.u, 0)(0.37, 0.3)            #~ (s.u(0.3701, 0.3) - s.u(0.3699, 0.3))/0.0002 tol 1e-9
# the mesh, and its refinement
m = mesh(box([0, 1], [0, 2], [0, 3]), 0.5; cells = "boxes");
(shape(m.cells), sum(cell_sizes(m)), len(m.faces))   #> ((48, 8), 6.0, 88)
fine = refine(m);
(shape(fine.cells), sum(cell_sizes(fine)), len(fine.faces))   #> ((384, 8), 6.0, 352)
map(k -> sum(fine.tags == k), list(...(0..6)))    #> list(96, 96, 48, 48, 32, 32)
g = mesh(box([0, 1], [0, 1]), 1/6; cells = "boxes");
solve(warm, fem(mesh = refine(g), order = 2)).u(0.3, 0.4)   #~ s.u(0.3, 0.4)

# ---- estimates: of the gradient, of a goal, by a coarser mesh
problem smooth {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  -Δ(u) == 2π^2*sin(π*x)*sin(π*y)
  u == 0 at boundary
}
t = solve(smooth, fem(h = 1/8, order = 2, cells = "boxes"); estimate = true);
# of the gradient, whose mean square is π²/2
missing = sqrt(sum(W*((jvp(x -> t.u(x, Y), X, ones_like(X))[1] - π*cos(π*X)*sin(π*Y))^2 + (jvp(y -> t.u(X, y), Y, ones_like(Y))[1] - π*sin(π*X)*cos(π*Y))^2))) / (π/sqrt(2.0));
t.slopes_error() / missing  #~ 1 tol 0.05
norm(t.indicator()) / (missing*π/sqrt(2.0))  #~ 1 tol 0.3
known = sqrt(sum(W*(t.u(X, Y) - sin(π*X)*sin(π*Y))^2))/0.5;
assert(t.error > 0.3known and t.error < 3known, "{t.error} {known}")
r = t.error_in(s -> s.u(0.3, 0.4));
r.corrected  #~ sin(0.3π)*sin(0.4π) tol 1e-5
abs(r.corrected - sin(0.3π)*sin(0.4π)) < 0.1*abs(r.value - sin(0.3π)*sin(0.4π))  #> true

# ---- nonlinear, with the flux 1 + u^2 times the gradient
# The exact solution is 1 + x + y^2/2. Derivatives with respect to a parameter;
# triangles and other methods agree.
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
s = solve(robin(), fem(h = 1/4, order = 2, cells = "boxes"));
s.u([0.3, 0.9], [0.7, 1.9])  #~ [1 + 0.3 + 0.245, 1.9 + 1.805] tol 1e-8
s.stats.newton > 2  #> true
middle(k) = solve(robin(k), fem(h = 1/4, order = 2, cells = "boxes")).u(0.5, 1.0)
middle'(1.0)  #~ (middle(1.001) - middle(0.999)) / 0.002 tol 1e-6
problem bratu {
  domain x in [0, 1], y in [0, 1]
  field u
  Δ(u) + 4exp(u) == 0
  u == 0 at boundary
}
spots = ([0.5, 0.2, 0.9], [0.5, 0.7, 0.35]);
on_boxes = solve(bratu, fem(h = 1/12, order = 3, cells = "boxes")).u(...spots);
solve(bratu, fem(h = 1/12, order = 3)).u(...spots)  #~ on_boxes tol 1e-5
solve(bratu, chebyshev(24)).u(...spots)             #~ on_boxes tol 1e-6
solve(bratu, fd(n = 65, order = 4)).u(...spots)     #~ on_boxes tol 1e-5
c = compare(solve(bratu, fem(h = 1/10, order = 2, cells = "boxes")), solve(bratu, fem(h = 1/10, order = 2)))
c.agree  #> true

# ---- a system of two fields: exact solutions x(1 - x) y and sin(x + y)
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
s = solve(pair, fem(h = 1/12, order = 3, cells = "boxes"));
(s.a(0.3, 0.4), s.b(0.3, 0.4))  #~ (0.3*0.7*0.4, sin(0.7)) tol 1e-6

# ---- elasticity with forces on two sides
# A vector field of degree 2; in three dimensions, one of degree 1 in each
# variable.
problem pulled(μ = 1.0, λ = 2.0) {
  domain (x, y) in box([0, 1], [0, 1])
  field w[2]
  σ = μ*(grad(w) + grad(w)') + λ*div(w)*eye(2)
  div(σ) == [3μ + λ, 5μ + 3λ]
  w == [x^2 + x*y, y^2 - x*y] at left, bottom
  σ @ normal == [2μ*(2x + y) + λ*(x + 3y), μ*(x - y)] at right
  σ @ normal == [μ*(x - y), 2μ*(2y - x) + λ*(x + 3y)] at top
}
solve(pulled(), fem(h = 1/4, order = 2, cells = "boxes")).w([0.3, 1.0], [0.6, 0.9])  #~ [0.27, 0.18; 1.9, -0.09] tol 1e-11
problem twisted(μ = 1.0, λ = 2.0) {
  domain (x, y, z) in box([-1, 1], [-1, 1], [0, 2])
  field w[3]
  σ = μ*(grad(w) + grad(w)') + λ*div(w)*eye(3)
  div(σ) == [0, 0, 0]
  w == [-y*z, x*z, 0] at boundary
}
solve(twisted(), fem(h = 0.7, cells = "boxes")).w(0.3, 0.7, 1.2)  #~ [-0.84, 0.36, 0] tol 1e-12
# with one free node, where all fixed contributions cancel
solve(twisted(), fem(h = 1, cells = "boxes")).w(0.3, 0.7, 1.2)  #~ [-0.84, 0.36, 0] tol 1e-12
# without a known solution, against triangles and chebyshev()
problem heavy(μ = 1.0, λ = 2.0) {
  domain x in [0, 1], y in [0, 1]
  field w[2]
  σ = μ*(grad(w) + grad(w)') + λ*div(w)*eye(2)
  div(σ) == [0, sin(π*x)*sin(π*y)]
  w == [0, 0] at boundary
}
on_boxes = solve(heavy, fem(h = 1/10, order = 3, cells = "boxes")).w(0.3, 0.6);
solve(heavy, fem(h = 1/10, order = 3)).w(0.3, 0.6)  #~ on_boxes tol 2e-6
solve(heavy, chebyshev(20)).w(0.3, 0.6)             #~ on_boxes tol 2e-6

# ---- flow: Kovasznay 1948; pressure of one order less, orders 3 and 2
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
e = map(n -> { s = solve(kovasznay(), fem(h = 1/n, order = 2, cells = "boxes")); stack(ev(s), ep(s)) }, list(16, 32));
log2(e[0] / e[1])  #~ [3, 2] tol 0.15

# ---- eigenvalues π²(i² + j²) of the square, of order 2k, and of a cube
problem drum {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  eigen λ
  -Δ(u) == λ*u
  u == 0 at boundary
}
values(k, n) = solve(drum, fem(h = 1/n, order = k, cells = "boxes"), count = 4).λ - π^2*[2, 5, 5, 8]
log2(values(1, 8) / values(1, 16))  #~ [2, 2, 2, 2] tol 0.15
log2(values(2, 6) / values(2, 12))  #~ [4, 4, 4, 4] tol 0.15
max(abs(values(3, 10))) < 1e-4      #> true
problem bell {
  domain (x, y, z) in box([0, 1], [0, 1], [0, 1])
  field u
  eigen λ
  -Δ(u) == λ*u
  ∂n(u) == 0 at boundary
}
solve(bell, fem(h = 1/4, order = 3, cells = "boxes"), count = 5).λ  #~ π^2*[0, 1, 1, 1, 2] tol 1e-3

# ---- in t
# Heat with time-dependent boundary values and a mass matrix; flow with a
# pressure.
problem heat(D = 0.5) {
  domain t in [0, 0.2], (x, y) in box([0, 1], [0, 1])
  field u
  w = exp(-t)*sin(x + y)
  (1 + x)*u_t == D*Δ(u) - (1 + x)*w + 2D*w
  u == sin(x + y) at t = 0
  u == exp(-t)*sin(x + y) at left, right, bottom
  ∂n(u) == exp(-t)*cos(x + y) at top
}
s = solve(heat(), fem(h = 1/6, order = 3, cells = "boxes"), rtol = 1e-8, atol = 1e-10);
s.u(0.2, 0.3, [0.4, 1.0])  #~ exp(-0.2)*sin(0.3 + [0.4, 1.0]) tol 1e-6
s.u([0.0, 0.1], 0.3, 0.4)  #~ exp(-[0, 0.1])*sin(0.7) tol 1e-6
problem vortices(ν = 0.05) {
  domain t in [0, 0.5], (x, y) in box([0, π], [0, π])
  field v[2], p
  v_t + v·grad(v) == -grad(p) + ν*Δ(v)
  div(v) == 0
  v == [cos(x)*sin(y), -sin(x)*cos(y)] at t = 0
  v == exp(-2ν*t)*[cos(x)*sin(y), -sin(x)*cos(y)] at boundary
  p == 0 at (0, 0)
}
s = solve(vortices(), fem(h = π/10, order = 2, cells = "boxes"), rtol = 1e-4, atol = 1e-7);
s.v(0.5, 1.0, 0.6)  #~ exp(-0.05)*[cos(1.0)*sin(0.6), -sin(1.0)*cos(0.6)] tol 2e-3
starts_with(explain(s), "solved by fem: ")   #> true

# ---- plots: the edges of all boxes, each once; fields with the boundary
ms = plot(mesh(box([0, 1], [0, 2]), 0.5; cells = "boxes"))
len(ms.panels[0].layers[0].x)   #> 66
len(plot(solve(warm, fem(h = 1/4, cells = "boxes")).u).panels[0].layers)   #> 2
