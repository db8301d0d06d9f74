# Error estimates and adaptive refinement of finite elements. Estimates of the
# gradient and of goal functionals against known errors; bisection of intervals
# and tetrahedra.
# As users run it only: compiling all of it takes minutes.
# In a long check only: it takes half a minute.

# ---- estimates against errors
# A smooth solution, and the corner of an L, where the gradient grows as
# r^(-1/3).
problem smooth {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  -Δ(u) == 2π^2*sin(π*x)*sin(π*y)
  u == 0 at boundary
}
# of r^(2/3) sin(2φ/3), with φ from 0 to 3π/2
angle(x, y) = mod(atan2(y, x) + 2π, 2π)
problem corner {
  domain (x, y) in polygon([0, 0; 1, 0; 1, 1; -1, 1; -1, -1; 0, -1])
  field u
  Δ(u) == 0
  u == (x^2 + y^2)^(1/3)*sin(2/3*mod(atan2(y, x) + 2π, 2π)) at boundary
}
corner_slopes(x) = { r = norm(x); φ = angle(x[0], x[1]); 2/3*r^(-1/3)*stack(-sin(φ/3), cos(φ/3)) }
smooth_slopes(x) = π*stack(cos(π*x[0])*sin(π*x[1]), sin(π*x[0])*cos(π*x[1]))
# relative root mean square
off(s, exact) = sqrt(s.integral(q -> sum((q.slopes.u - exact(q.x))^2)) / s.integral(q -> sum(exact(q.x)^2)))
effectivity(k) = { s = solve(smooth, fem(1/10, k, degree = 10)); s.slopes_error() / off(s, smooth_slopes) }
(effectivity(1), effectivity(2), effectivity(3)) #~ (1, 1, 1) tol 0.03

adaptive(k, tol) = solve(corner, fem(0.25, k, adapt = tol, degree = 10))
for (k, tol) in list((1, 0.03), (2, 3e-3), (3, 1e-3)) {
  s = adaptive(k, tol)
  e = off(s, corner_slopes)
  assert(s.error <= tol and s.error > 0.8e and s.error < 1.25e, "order {k}: {s.error} said, {e} is, with {s.stats}")
}
# Order 2, which uniform meshes cannot reach here: errors are proportional to
# the inverse of the number of unknowns.
(a, b) = (adaptive(2, 1e-2), adaptive(2, 5e-4));
log(off(a, corner_slopes) / off(b, corner_slopes)) / log(b.stats.unknowns / a.stats.unknowns) > 0.9 #> true
# A limit on the number of unknowns; the error states the accuracy reached.
few = solve(corner, fem(0.25, 1, adapt = 1e-6, max_unknowns = 400));
few.stats.unknowns < 1500 and few.error > 1e-3 #> true

# ---- goal functionals
# The estimate is signed, and correcting by it reduces the error.
goal(s) = s.integral(q -> q.u)
r = solve(smooth, fem(1/10, 1)).error_in(goal);
r.correction / (4/π^2 - r.value) #~ 1 tol 0.02
abs(4/π^2 - r.corrected) < 0.02*abs(4/π^2 - r.value) #> true
r = solve(smooth, fem(1/10, 3)).error_in(goal);
r.correction / (4/π^2 - r.value) #~ 1 tol 0.02
# A nonlinear equation whose flux depends on u, and a nonlinear goal.
problem bent {
  domain (x, y) in box([0, 1], [0, 2])
  field u
  w = exp(x)*sin(y)
  -∇·((1 + u^2)*grad(u)) == -2*w*exp(2x)
  u == w at left, bottom
  (1 + u^2)*∂n(u) == (1 + w^2)*w at right
  u == w at top
}
for k in list(1, 2) {
  r = solve(bent, fem(1/8, k)).error_in(s -> s.integral(q -> q.u^2*(q.x[0] + 1)))
  # ∫ exp(2x) (x + 1) ∫ sin(y)^2
  exact = ((0.75*exp(2) - 0.25))*(1 - sin(4)/4)
  assert(abs(r.correction / (exact - r.value) - 1) < 0.1, "order {k}: {r.correction} said, {exact - r.value} is")
}
# A mesh adapted to one goal is finer where that goal is sensitive.
s = solve(corner, fem(0.25, 2, adapt = 1e-6, goal = s -> s.integral(q -> q.u)));
p = solve(corner, fem(0.02, 2));
fine = solve(corner, fem(0.25, 3, adapt = 1e-9, goal = s -> s.integral(q -> q.u))).integral(q -> q.u)
abs(s.integral(q -> q.u) / fine - 1) < 3e-6 #> true
s.stats.unknowns < p.stats.unknowns / 4 and abs(s.integral(q -> q.u) - fine) < abs(p.integral(q -> q.u) - fine) #> true

# ---- fluxes through parts of the boundary
# For -Δu = 2π² sin sin, the total flux equals the source, 8; a quarter leaves
# through each side.
s = solve(smooth, fem(1/8, 2));
(s.flux("boundary").u, s.flux("left").u) #~ (8, 2) tol 1e-2
s.integral(q -> -sum(q.slopes.u * q.normal); at = "left") #~ 2 tol 5e-2

# ---- layers in one and in three dimensions
problem layer {
  domain x in [0, 1]
  field u
  -u_xx + 10000*u == 0
  u == 1 at left
  u == 0 at right
}
s = solve(layer, fem(1/4, 2, adapt = 1e-3));
s.u([0.005, 0.02]) #~ exp(-[0.5, 2]) tol 1e-4
s.stats.unknowns < 150 #> true
problem bump {
  domain (x, y, z) in box([0, 1], [0, 1], [0, 1])
  field u
  w = exp(-20*(x^2 + y^2 + z^2))
  -Δ(u) == (120 - 1600*(x^2 + y^2 + z^2))*w
  u == w at right, top, front
  ∂n(u) == 0 at left, bottom, back
}
s = solve(bump, fem(1/4, 2, adapt = 0.03));
e = off(s, x -> -40*x*exp(-20*sum(x^2)))
assert(s.error <= 0.03 and s.error > 0.8e and s.error < 1.25e, "{s.error} said, {e} is, with {s.stats}")
s.u(0.1, 0.1, 0.1) #~ exp(-0.6) tol 5e-3

# ---- bisected tetrahedra
# They remain conforming, fill their region, and keep their shape; parts of the
# boundary keep their area.
shapes(m) = {
  X = m.points[m.cells]
  e(i, j) = sum((X[.., i, ..] - X[.., j, ..])^2; axis = 1)
  min(cell_sizes(m) / (e(0, 1) + e(0, 2) + e(0, 3) + e(1, 2) + e(1, 3) + e(2, 3))^1.5)
}
# The maximum number of cells at a face, and whether the faces with one cell are
# the boundary.
whole(m) = {
  T = sort(m.cells; axis = 1)
  n = len(m.points)
  F = concat(...map(f -> T[.., f[0]]*n^2 + T[.., f[1]]*n + T[.., f[2]], list((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3))))
  (_, c) = unique(F; counts = true)
  (max(c), sum(c == 1) == len(m.faces))
}
areas(m) = { A = map(X -> 0.5*norm(cross(X[1] - X[0], X[2] - X[0])), m.points[m.faces]); [sum(A*(m.tags == k)) for k in 0..6] }
m = mesh(box([0, 1], [0, 2], [0, 1]), 0.5);
best = shapes(m);
for k in 0..16 { c = mean(m.points[m.cells]; axis = 1); m = refine(m; marked = sum((c - [0, 0, 0.1])^2; axis = 1) < 2*0.7^k) }
whole(m) #> (2, true)
sum(cell_sizes(m)) #~ 2.0
areas(m) #~ [2, 2, 1, 1, 2, 2]
shapes(m) > 0.99*best #> true
# A mesh with cells of many shapes and a curved boundary, with uniform
# refinement in between.
b = mesh(ball([0, 0, 0], 1), 0.6);
best = shapes(b);
for k in 0..7 { c = mean(b.points[b.cells]; axis = 1); b = refine(b; marked = sum((c - [0.5, 0.5, 0.6])^2; axis = 1) < 0.3*0.6^k) }
whole(b) #> (2, true)
whole(refine(refine(b); marked = iota(8*len(b.cells)) < 3)) #> (2, true)
shapes(b) > 0.2*best #> true
max(abs(sqrt(sum(b.points[unique(ravel(b.faces))]^2; axis = 1)) - 1)) < 1e-12 #> true

# ---- derivatives with respect to parameters, on the last mesh
problem heated(k) {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  -∇·((1 + k*u^2)*∇(u)) == 10
  u == 0 at boundary
}
middle(k) = solve(heated(k), fem(1/4, 2, adapt = 0.02)).u(0.5, 0.5)
made = solve(heated(2.0), fem(1/4, 2, adapt = 0.02)).mesh;
fixed(k) = solve(heated(k), fem(mesh = made, order = 2)).u(0.5, 0.5)
middle'(2.0) #~ (fixed(2.001) - fixed(1.999)) / 0.002 tol 1e-6
why(p, m) = try { solve(p, m).stats.unknowns } catch e { str(e) }
contains(why(smooth, fem(0.5, adapt = -1.0)), "a positive number") #> true
contains(try { solve(smooth, fem(0.5), estimate = false).flux("lid").u } catch e { str(e) }, "no part of its boundary that is called lid") #> true
contains(try { solve(smooth, fem(0.5), estimate = false).error_in(s -> s.u([0.1, 0.2], 0.5)).value } catch e { str(e) }, "the goal is one number") #> true
# An initial guess saves Newton iterations.
s = solve(heated(50.0), fem(1/8, 2));
solve(heated(50.0), fem(1/8, 2), guess = s).stats.newton < s.stats.newton #> true
