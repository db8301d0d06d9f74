# Finite elements with curved sides: the orders on disks, balls and beside round
# holes are those of straight sides; the flow past a cylinder.
# As users run it only: compiling all of it takes minutes.
# In a long check only: it takes half a minute.

# ---- orders k + 1 in L2 and k in H1 for -sin(r² - 1), on a disk
problem plate {
  domain (x, y) in disk([0, 0], 1)
  field u
  r2 = x^2 + y^2
  -Δ(u) == 4*cos(r2 - 1) - 4*r2*sin(r2 - 1)
  u == 0 at boundary
}
exact(x) = -sin(sum(x^2) - 1)
l2(s) = sqrt(s.integral(q -> (q.u - exact(q.x))^2))
h1(s) = sqrt(s.integral(q -> sum((q.slopes.u + 2*q.x*cos(sum(q.x^2) - 1))^2)))
orders(k) = {
  m = refine(mesh(disk([0, 0], 1), 0.3))
  (a, b) = (solve(plate, fem(mesh = m, order = k)), solve(plate, fem(mesh = refine(m), order = k)))
  log2(stack(l2(a) / l2(b), h1(a) / h1(b)))
}
orders(1) #~ [2, 1] tol 0.15
orders(2) #~ [3, 2] tol 0.15
orders(3) #~ [4, 3] tol 0.15
# Areas, lengths and fluxes; values and gradients close to the boundary, outside
# the chords.
s = solve(plate, fem(0.2, 3));
(s.integral(q -> 1.0), s.integral(q -> 1.0; at = "circle"), s.flux("circle").u) #~ (π, 2π, 4π) tol 1e-6
s.integral(q -> q.normal*q.x[0]; at = "circle") #~ [π, 0] tol 1e-6
φ = 0.1*iota(63);
s.u(0.999*cos(φ), 0.999*sin(φ)) #~ 0*φ - sin(0.999^2 - 1) tol 3e-5
jvp(r -> s.u(r*cos(φ), r*sin(φ)), 0.999, 1.0)[1] #~ 0*φ - 2*0.999*cos(0.999^2 - 1) tol 1e-2
sum(s.u(1.05*cos(φ), 1.05*sin(φ)) < inf) #> 0
# adaptive refinement: the estimate agrees with the remaining error
a = solve(plate, fem(0.5, 2, adapt = 1e-3));
a.error < 1e-3 and a.error / (h1(a) / sqrt(a.integral(q -> sum(q.slopes.u^2)))) > 0.9 #> true

# ---- Robin conditions on a ring between two circles: log(r)
problem ring {
  domain (x, y) in difference(disk([0, 0], 2; name = "outer"), disk([0, 0], 1; name = "inner"))
  field u
  Δ(u) == 0
  ∂n(u) + u == 1/2 + log(2) at outer
  ∂n(u) == -1 at inner
}
off(k, n) = { m = mesh(difference(disk([0, 0], 2; name = "outer"), disk([0, 0], 1; name = "inner")), 0.4); for j in 0..n { m = refine(m) }; s = solve(ring, fem(mesh = m, order = k)); sqrt(s.integral(q -> (q.u - log(norm(q.x)))^2)) }
log2(off(2, 0) / off(2, 1)) > 2.8 #> true
log2(off(3, 0) / off(3, 1)) > 3.8 #> true

# ---- eigenvalues: zeros of Bessel functions, j01² and j11² twice
problem drum {
  domain (x, y) in disk([0, 0], 1)
  field u
  eigen λ
  -Δ(u) == λ*u
  u == 0 at boundary
}
solve(drum, fem(0.2, 3), count = 3).λ #~ [5.78318596294679, 14.6819706421239, 14.6819706421239] tol 1e-5

# ---- a ball
problem globe {
  domain (x, y, z) in ball([0, 0, 0], 1)
  field u
  r2 = x^2 + y^2 + z^2
  -Δ(u) == 6*cos(r2 - 1) - 4*r2*sin(r2 - 1)
  u == 0 at boundary
}
of(k, h) = { s = solve(globe, fem(h, k)); stack(l2(s), h1(s)) }
log2(of(2, 5/12) / of(2, 5/24)) > [2.85, 1.85] #> [true, true]
# Cells at the edges of the cube that is mapped onto the ball have two boundary
# faces, so the asymptotic order is reached late.
log(of(3, 0.2) / of(3, 0.15)) / log(4/3) > [3.75, 2.75] #> [true, true]

# ---- the flow past a cylinder at Re = 20
# Schäfer and Turek's benchmark 2D-1 (1996). Values by spectral elements, Nabh
# 1998: 5.57953523384, 0.010618948146, 0.11752016697.
problem cylinder(ν = 1e-3) {
  domain (x, y) in difference(box([0, 2.2], [0, 0.41]), disk([0.2, 0.2], 0.05; name = "cylinder"))
  field v[2], p
  v·grad(v) == -grad(p) + ν*Δ(v)
  div(v) == 0
  ν*∂n(v) - p*normal == [0, 0]         at right
  v == [1.2*y*(0.41 - y)/0.41^2, 0]    at left
  v == [0, 0]                          at bottom, top, cylinder
}
m = mesh(difference(box([0, 2.2], [0, 0.41]), disk([0.2, 0.2], 0.05; name = "cylinder")), 0.04);
for j in 0..4 { c = mean(m.points[m.cells]; axis = 1); m = refine(m; marked = norm(c - [0.2, 0.2]; axis = 1) < 0.05 + 0.1*0.6^j) }
s = solve(cylinder(), fem(mesh = m, order = 3));
F = 500*(s.flux("cylinder").v + s.integral(q -> q.p*q.normal; at = "cylinder"));
F[0] #~ 5.57953523384 tol 1e-4
F[1] #~ 0.010618948146 tol 1e-4
s.p(0.15, 0.2) - s.p(0.25, 0.2) #~ 0.11752016697 tol 2e-4
