# The internal form of a problem: residuals on jet space against values computed
# by hand, boundary locations and shapes.

look(p) = solve(p, (name = "look", solve = (info, m, o) -> info))
# The index of the jet of field f, differentiated k = (...) times; -1 if there
# is none.
place(i, f, k) = {
  found = -1
  for (n, j) in enumerate(i.jets) { if j == (f, ...k) { found = n } }
  found
}

# ---- derivatives of expressions
# D_x D_x u^2 = 2 u_x^2 + 2 u u_xx, also through local definitions.
problem porous {
  domain t in [0, 1], x in [0, 1]
  field u
  flux = ∂x(u*u)
  u_t == d(flux, x)
  u == sin(π*x) at t = 0
  u == 0 at left, right
}
i = look(porous);
i.jets  #> ((0, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 2))
(i.time, i.space, i.equations[0].rows)  #> (0, (1,), 0)
i.equations[0].residual((0.0, 0.5), (0.5, 1.0, 2.0, 3.0))  #> -10.0
# The coefficient depends on x and t: D_x(x t u_x) = t u_x + x t u_xx.
problem layered {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == ∂x(x*t*∂x(u))
  u == 0 at t = 0
  ∂n(u) == 2u at boundary
}
i = look(layered);
i.equations[0].residual((3.0, 0.5), (1.0, 10.0, 2.0, 4.0))  #> -2.0
# this is 10 - (3*2 + 0.5*3*4)
map(c -> (c.at.coord, c.at.side, c.at.value), i.conditions)  #> ((0, 0, 0.0), (1, 0, 0.0), (1, 1, 1.0))
# ∂n is -u_x at the lower end, u_x at the upper one.
i.conditions[1].residual((3.0, 0.0), (1.0, 10.0, 2.0, 4.0))  #> -4.0
i.conditions[2].residual((3.0, 1.0), (1.0, 10.0, 2.0, 4.0))  #> 0.0
# mixed and high orders
problem plate {
  domain (x, y) in box([0, 1], [0, 1])
  field w
  Δ(Δ(w)) == 1
  w == 0 at boundary
  ∂n(w) == 0 at boundary
}
i = look(plate);
kind(i.region)  #> none
(i.lo, i.hi, i.periodic)  #> ((0.0, 0.0), (1.0, 1.0), (false, false))
n = len(i.jets)
jets = map(k -> if k == place(i, 0, (4, 0)) { 3.0 } else { if k == place(i, 0, (2, 2)) { 5.0 } else { if k == place(i, 0, (0, 4)) { 7.0 } else { 100.0 } } }, list(...(0..n)))
i.equations[0].residual((0.3, 0.4), jets)  #~ 3.0 + 2*5 + 7 - 1
len(i.conditions)  #> 8

# ---- vector fields: v·grad(v) is (v·∇)v
problem cavity(Re = 100) {
  domain (x, y) in box([0, 1], [0, 1])
  field v[2], p
  v·grad(v) == -grad(p) + Δ(v)/Re
  div(v) == 0
  v == [1, 0] at y = 1
  v == [0, 0] at x = 0, x = 1, y = 0
  p == 0      at (0, 0)
}
i = look(cavity());
i.jets  #> ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 0, 1), (0, 2, 0), (0, 0, 2))
(i.sizes, i.time, i.space)  #> ((2, 0), -1, (0, 1))
map(q -> q.rows, i.equations)  #> (2, 0)
jets = list([1.0, 2], 3.0, [4.0, 5], [6.0, 7], 8.0, 9.0, [10.0, 11], [12.0, 13])
i.equations[0].residual((0.3, 0.4), jets)  #~ [16 + 8 - 22/100, 19 + 9 - 24/100]
i.equations[1].residual((0.3, 0.4), jets)  #> 11.0
i.conditions[0].residual((0.3, 1.0), jets)  #> [0, 2]
map(c -> (c.at.coord, c.at.side), i.conditions)  #> ((1, 1), (0, 0), (0, 1), (1, 0), (-1, -1))
(i.conditions[4].at.point, i.conditions[4].at.name)  #> ((0.0, 0.0), "")
# in conservation form: div(v v') = (v·∇)v + v div(v)
problem conserved {
  domain x in [0, 1] periodic, y in [0, 1] periodic
  field v[2]
  div(expand(v, 1)*expand(v, 0)) == v
}
i = look(conserved);
jets = map(j -> if j == (0, 0, 0) { [1.0, 2] } else { if j == (0, 1, 0) { [4.0, 5] } else { [6.0, 7] } }, list(...i.jets))
i.equations[0].residual((0.3, 0.4), jets)  #~ [16 + 11 - 1, 19 + 22 - 2]
i.conditions  #> ()

# ---- three dimensions
# curl, ∇·(k∇u) without mixed derivatives, elasticity by a stress.
problem solid(k = 2.0, μ = 1.5, λ = 3.0) {
  domain (x, y, z) in box([0, 1], [0, 2], [0, 3])
  field u, w[3], a[3]
  ∇·(k*x*∇(u)) == 1
  E = (grad(w) + grad(w)')/2
  σ = 2μ*E + λ*div(w)*eye(3)
  div(σ) == 0*w
  ∇×(∇×(a)) == a
  ∂n(u) == x at x = 0, top
  u == 0 at right, bottom, back, front
  w == [0, 0, 0] at x = 0, x = 1, y = 0, y = 2, z = 0
  σ @ normal == [0, 0, 1] at front
  a == [0, 0, 0] at boundary
}
i = look(solid());
map(q -> q.rows, i.equations)  #> (0, 3, 3)
place(i, 0, (1, 1, 0))  #> -1
# u_x = 5, u_xx = 1, u_yy = 2, u_zz = 3 at x = 0.5: k(u_x + x(u_xx + u_yy +
# u_zz)) - 1
value(j) = if j == (0, 1, 0, 0) { 5.0 } else { if j == (0, 2, 0, 0) { 1.0 } else { if j == (0, 0, 2, 0) { 2.0 } else { if j == (0, 0, 0, 2) { 3.0 } else { 100.0 } } } }
jets = map(j -> if j[0] == 0 { value(j) } else { zeros(3) }, list(...i.jets))
i.equations[0].residual((0.5, 0.0, 0.0), jets)  #~ 2*(5 + 0.5*6) - 1
# For w = (x^2 y, y^2 z, z^2 x) at (x, y, z): μ Δw + (λ + μ) grad(div(w)), where
# div(w) = 2xy + 2yz + 2zx.
(x0, y0, z0) = (0.3, 0.7, 1.1)
W = [x0^2*y0, y0^2*z0, z0^2*x0]
first = list([2*x0*y0, 0, z0^2], [x0^2, 2*y0*z0, 0], [0, y0^2, 2*z0*x0])
mixed(j) = if j[3] == 0 { [2*x0, 0, 0] } else { if j[2] == 0 { [0, 0, 2*z0] } else { [0, 2*y0, 0] } }
pure(j) = if j[1] == 2 { [2*y0, 0, 0] } else { if j[2] == 2 { [0, 2*z0, 0] } else { [0, 0, 2*x0] } }
of_W(j) = {
  n = j[1] + j[2] + j[3]
  if n == 0 { W } else { if n == 1 { first[j[2] + 2*j[3]] } else { if max(j[1], max(j[2], j[3])) == 2 { pure(j) } else { mixed(j) } } }
}
jets = map(j -> if j[0] == 0 { 0.0 } else { f64(of_W(j)) }, list(...i.jets))
i.equations[1].residual((x0, y0, z0), jets)  #~ 1.5*[2*y0, 2*z0, 2*x0] + 4.5*2*[y0 + z0, z0 + x0, x0 + y0]
# curl curl = grad div - Δ
i.equations[2].residual((x0, y0, z0), jets)  #~ 2*[y0 + z0, z0 + x0, x0 + y0] - 2*[y0, z0, x0] - W
# The traction at z = 3, with the normal (0, 0, 1): μ(w_z + grad(w_3)) + λ
# div(w) normal - (0, 0, 1).
traction = [1.5*(z0^2), 1.5*(y0^2), 2*1.5*2*z0*x0 + 3*(2*x0*y0 + 2*y0*z0 + 2*z0*x0) - 1]
those(i, text) = {
  out = list()
  for c in i.conditions { if find(c.text, text) >= 0 { out = push(out, c) } }
  out
}
front = those(i, "normal")
(front[0].at.coord, front[0].at.side, front[0].rows)  #> (2, 1, 3)
front[0].residual((x0, y0, z0), jets)  #~ traction
# ∂n on faces: -u_x at x = 0, u_y at y = 2
flux = those(i, "∂n")
jets = map(j -> if j == (0, 1, 0, 0) { 5.0 } else { if j == (0, 0, 1, 0) { 7.0 } else { if j[0] == 0 { 0.0 } else { zeros(3) } } }, list(...i.jets))
map(c -> c.residual((0.25, 0.0, 0.0), jets), flux)  #> list(-5.25, 6.75)
len(those(i, "a == [0, 0, 0] at boundary"))  #> 6

# ---- two dimensions: the curl of a stream function, and of a vector (a scalar)
problem stream {
  domain (x, y) in box([0, 1], [0, 1])
  field v[2], ψ
  v == curl(ψ)
  -Δ(ψ) == curl(v)
  ψ == 0 at boundary
  v == [0, 0] at left
}
i = look(stream);
map(q -> q.rows, i.equations)  #> (2, 0)
jets = map(j -> if j[0] == 0 { if j[1] == 1 { [1.0, 2] } else { if j[2] == 1 { [3.0, 4] } else { [0.0, 0] } } } else { if j[1] == 1 { 5.0 } else { if j[2] == 1 { 6.0 } else { 0.0 } } }, list(...i.jets))
i.equations[0].residual((0.0, 0.0), jets)  #> [-6, 5]
i.equations[1].residual((0.0, 0.0), jets)  #~ -(2.0 - 3)

# ---- a region is a value with the extents of its bounding box
# The method provides the normal of its boundary.
problem droplet {
  domain t in [0, 1], (x, y) in (lo = (-1.0, -2.0), hi = (1.0, 2.0))
  field u
  u_t == Δ(u)
  u == 0 at t = 0
  ∂n(u) + u == 0 at rim
  u == 1 at boundary
}
i = look(droplet);
(i.lo, i.hi, i.region.lo)  #> ((0.0, -1.0, -2.0), (1.0, 1.0, 2.0), (-1.0, -2.0))
map(c -> (c.at.coord, c.at.name), i.conditions)  #> ((0, ""), (-1, "rim"), (-1, "boundary"))
jets = map(j -> if j == (0, 0, 0, 0) { 1.0 } else { if j == (0, 0, 1, 0) { 3.0 } else { if j == (0, 0, 0, 1) { 5.0 } else { 0.0 } } }, list(...i.jets))
i.conditions[1].residual((0.0, 0.5, 0.5), jets, (0.6, 0.8))  #~ 0.6*3 + 0.8*5 + 1

# ---- an eigenvalue in several coordinates is the last jet
problem membrane {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  eigen λ
  -Δ(u) == λ*u
  u == 0 at boundary
}
i = look(membrane);
(i.fields, i.eigen, len(i.equations), i.jets[-1])  #> (("u", "λ"), "λ", 1, (1, 0, 0))
i.jets  #> ((0, 0, 0), (0, 2, 0), (0, 0, 2), (1, 0, 0))
i.equations[0].residual((0.0, 0.0), (2.0, 3.0, 4.0, 10.0))  #> -27.0

# ---- residuals are functions of a point
# They can be mapped over points, and differentiated with respect to their
# inputs.
i = look(cavity());
P = rand(7, 2)
size(map(q -> i.equations[0].residual((q[0], q[1]), list([1.0, 2], 3.0, [4.0, 5], [6.0, 7], 8.0, 9.0, [10.0, 11], [12.0, 13])), P))  #> 14
effect(Re) = look(cavity(Re)).equations[0].residual((0.3, 0.4), list([1.0, 2], 3.0, [4.0, 5], [6.0, 7], 8.0, 9.0, [10.0, 11], [12.0, 13]))[0]
effect'(10.0)  #~ 22/100

# ---- every spelling of the operators
problem spelled {
  domain x in [0, 1] periodic, y in [0, 1] periodic
  field v[2], u
  ∂x²(v) + d(v, y, 2) + ∇²(v) + ∇²v + Δ(v) + lap(v) - 5Δ(v) == v·∇(v) - v·grad(v) + 0*v
  v·∇u + ∇·v + ∇·(u*v) + ∇×(v) - (v·grad(u) + div(v) + div(u*v) + curl(v)) + ∂x(∂y(u)) - u_xy + d(u, x, 1) - ∂x(u) == 0
}
i = look(spelled);
jets = map(j -> if j[0] == 0 { [sin(1 + j[1] + 3*j[2]), cos(2*j[1] - j[2])] } else { 1.0 + j[1] - 2*j[2]^2 }, list(...i.jets))
i.equations[0].residual((0.3, 0.4), jets)  #~ [0, 0]
i.equations[1].residual((0.3, 0.4), jets)  #~ 0

# ---- every solution has its problem's source text, including comments
problem carried(k = 0.1) {
  domain t in [0, 0.1], x in [0, 1]
  field u
  u_t == k*u_xx   # as on paper
  u == sin(π*x) at t = 0
  u == 0        at boundary
}
said = map(m -> solve(carried(0.2), m; progress = false).text, (fd(n = 11), chebyshev(6), fem(h = 0.2), rfm(50), pinn([4], 50; steps = 2)));
[text == look(carried()).text for text in said]   #> [true, true, true, true, true]
find(said[0], "  u_t == k*u_xx   # as on paper\n  u == sin(π*x) at t = 0\n") > 0   #> true
find(said[0], "problem carried(k = 0.1) ")   #> 0

# ---- u' in one coordinate
# ' of a field or of its derivative is the derivative with respect to the only
# coordinate; of a function and of a matrix it means what it means elsewhere.
A = [1.0, 2; 3, 4]
problem primed {
  domain x in [0, 1]
  field u, v
  h(x) = x^3
  ∂x((1 + x)*u') + u'' - h'(x)*u == v'
  v' + u_x' == sum(A'[1]*[u, v])
  u == 0 at x = 0
  u' == 1 at x = 1
  v == 0 at x = 0
}
i = look(primed);
i.jets  #> ((0, 0), (1, 0), (0, 1), (0, 2), (1, 1))
u, v, ux, uxx, vx = 0.3, -0.7, 1.1, 0.9, 2.3
jets = list(u, v, ux, uxx, vx)
i.equations[0].residual((0.4,), jets)  #~ ux + 1.4*uxx + uxx - 3*0.4^2*u - vx
i.equations[1].residual((0.4,), jets)  #~ vx + uxx - (2*u + 4*v)
i.conditions[1].residual((1.0,), jets)  #~ ux - 1
