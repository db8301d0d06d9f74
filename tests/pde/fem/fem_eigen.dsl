# Finite elements for eigenvalues and for problems in t.
# As users run it only: compiling all of it takes long.
# In a long check only: it takes half a minute.

# ---- the L-shaped membrane
# λ1 is from Betcke and Trefethen 2005, the third eigenvalue is 2π². The order
# on uniform meshes is 4/3.
problem membrane {
  domain (x, y) in polygon([0, 0; 2, 0; 2, 1; 1, 1; 1, 2; 0, 2])
  field u
  eigen λ
  -Δ(u) == λ*u
  u == 0 at boundary
}
L = polygon([0, 0; 2, 0; 2, 1; 1, 1; 1, 2; 0, 2]);
λ1 = 9.63972384402194
m = mesh(L, 0.2);
s = solve(membrane, fem(mesh = m, order = 2), count = 3);
m2 = refine(m);
s2 = solve(membrane, fem(mesh = m2, order = 2), count = 3);
s3 = solve(membrane, fem(mesh = refine(m2), order = 2), count = 3);
s3.λ[0]  #~ 9.63972384402194 tol 1e-3
s3.λ[2]  #~ 2π^2 tol 1e-5
log2((s2.λ[0] - λ1) / (s3.λ[0] - λ1))  #~ 4/3 tol 0.15
# Bisection towards the corner is more accurate with fewer unknowns.
near_corner(m, k) = { c = mean(m.points[m.cells]; axis = 1); sum((c - 1)^2; axis = 1) < 0.5^k }
for k in 2..11 { m = refine(m; marked = near_corner(m, k)) }
r = solve(membrane, fem(mesh = m, order = 2), count = 1);
r.stats.unknowns < s3.stats.unknowns  #> true
abs(r.λ[0] - λ1) < 0.5 * abs(s3.λ[0] - λ1)  #> true
# one normalised function for each eigenvalue
len(s.u)  #> 3
abs(s.u[2](0.5, 0.5))  #~ 2/√3 * sin(π/2)^2 tol 2e-2

# ---- the disk: squares of zeros of Bessel functions; those with an angle twice
problem drum {
  domain (x, y) in disk([0, 0], 1)
  field u
  eigen λ
  -Δ(u) == λ*u
  u == 0 at boundary
}
s = solve(drum, fem(h = 0.05, order = 2), count = 6);
s.λ  #~ [5.7831859629467845, 14.681970642123893, 14.681970642123893, 26.374616427163391, 26.374616427163391, 30.471262343662086] tol 2e-3
# derivatives with respect to a parameter of the problem
problem well(k = 4.0) {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  eigen λ
  -Δ(u) + k*x*u == λ*u
  u == 0 at boundary
}
lowest(k) = solve(well(k), fem(h = 1/8, order = 2), count = 1).λ[0]
lowest'(4.0)  #~ (lowest(4.001) - lowest(3.999)) / 0.002 tol 1e-6
# Without fixed values, 0 is an eigenvalue.
problem free {
  domain (x, y) in box([0, 1], [0, 2])
  field u
  eigen λ
  -Δ(u) == λ*u
  ∂n(u) == 0 at boundary
}
solve(free, fem(h = 1/8, order = 3), count = 4).λ  #~ π^2 * [0, 1/4, 1, 1] tol 1e-4

# The sum and the difference of two fields have w' == w and w' == -w at the end:
# k cos(k) == sin(k) and k cos(k) == -sin(k), k^2 == λ.
problem crossing {
  domain x in [0, 1]
  field a, b
  eigen λ
  -a_xx == λ*a
  -b_xx == λ*b
  a == 0 at left
  b == 0 at left
  a_x == b at right
  b_x == a at right
  a_x == 1 at left
}
solve(crossing, fem(h = 0.05, order = 3), count = 4).values    #~ [0, 4.115858365, 20.19072856, 24.13934203] tol 1e-5

# ---- conditions with the normal of a region
# λ = k^2, with k where the derivative of J1 or J2 is 0, or where k J1 == J0.
problem free_disk {
  domain (x, y) in disk([0, 0], 1)
  field u
  eigen λ
  -Δ(u) == λ*u
  ∂n(u) == 0 at boundary
}
solve(free_disk, fem(h = 0.2, order = 2), count = 4).λ    #~ [0, 3.389957, 3.389957, 9.328363] tol 2e-3
problem by_slopes {
  domain (x, y) in disk([0, 0], 1)
  field u
  eigen λ
  -Δ(u) == λ*u
  grad(u)·normal + u == 0 at boundary
}
solve(by_slopes, fem(h = 0.2, order = 2), count = 1).λ    #~ [1.576993] tol 1e-4
# 2t tanh(t), with tanh(t) == cot(t)
problem steklov {
  domain (x, y) in polygon([0, 0; 1, 0; 1, 1; 0, 1])
  field u
  eigen λ
  -Δ(u) == 0
  ∂n(u) == λ*u at boundary
}
solve(steklov, fem(h = 0.2, order = 2), count = 3).λ    #~ [0, 1.376500, 1.376500] tol 1e-3

# A pressure without mass: the square's Stokes eigenvalues, of which the second
# is double.
problem stokes {
  domain (x, y) in box([0, 1], [0, 1])
  field v[2], p
  eigen λ
  -Δ(v) + grad(p) == λ*v
  -div(v) == 0
  v == [0, 0] at boundary
  p == 0 at (0, 0)
}
solve(stokes, fem(h = 1/10, order = 2), count = 3; estimate = false).λ   #~ [52.3447, 92.1245, 92.1245] tol 0.2
problem pulled {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  eigen λ
  -Δ(u) == λ*(x - 0.4)*u
  u == 0 at boundary
}
try { str(solve(pulled, fem(h = 1/10)).λ) } catch m { contains(m, "not positive semidefinite") }      #> true

# ---- in t: heat, with time-dependent boundary values and a mass matrix
problem heat(D = 0.5) {
  domain t in [0, 0.2], (x, y) in box([0, 1], [0, 1])
  field u
  w = exp(-t)*sin(x + y)
  (1 + x)*u_t == D*Δ(u) - (1 + x)*w + 2D*w
  u == sin(x + y) at t = 0
  u == exp(-t)*sin(x + y) at left, right, bottom
  ∂n(u) == exp(-t)*cos(x + y) at top
}
s = solve(heat(), fem(h = 1/8, order = 3), rtol = 1e-8, atol = 1e-10);
s.u(0.2, 0.3, [0.4, 1.0])  #~ exp(-0.2)*sin(0.3 + [0.4, 1.0]) tol 1e-6
s.u([0.0, 0.1], 0.3, 0.4)  #~ exp(-[0, 0.1])*sin(0.7) tol 1e-6
problem plume {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t + u*u_x == 0.1*u_xx
  u == sin(π*x) at t = 0
  u == 0 at left, right
}
a = solve(plume, fem(h = 1/40, order = 3), rtol = 1e-8, atol = 1e-10);
b = solve(plume, chebyshev(40), rtol = 1e-9, atol = 1e-11);
a.u(0.7, [0.2, 0.5, 0.8])  #~ b.u(0.7, [0.2, 0.5, 0.8]) tol 1e-6

# ---- decaying flow
# The decay rate of the Taylor-Green vortices, with a pressure that has no rate.
problem vortices(ν = 0.05) {
  domain t in [0, 0.5], (x, y) in box([0, π], [0, π])
  field v[2], p
  v_t + v·grad(v) == -grad(p) + ν*Δ(v)
  div(v) == 0
  v == [cos(x)*sin(y), -sin(x)*cos(y)] at t = 0
  v == exp(-2ν*t)*[cos(x)*sin(y), -sin(x)*cos(y)] at boundary
  p == 0 at (0, 0)
}
s = solve(vortices(), fem(h = π/12, order = 2), rtol = 1e-4, atol = 1e-7);
s.v(0.5, 1.0, 0.6)  #~ exp(-0.05)*[cos(1.0)*sin(0.6), -sin(1.0)*cos(0.6)] tol 2e-3

# ---- second derivatives of eigenvalues
# Eigenvectors depend on the parameters, too. Of a double eigenvalue, the sum is
# differentiable.
problem tilted(k = 4.0, wide = 1.3) {
  domain x in [0, 1], y in [0, wide]
  field u
  eigen λ
  -Δ(u) + k*x*y*u == λ*u
  u == 0 at boundary
}
modes(k, wide) = solve(tilted(k, wide), fem(h = 1/4, order = 3), count = 4; estimate = false)
value(k) = modes(k, 1.3).λ[3]
share(k) = { u = modes(k, 1.3).u[3]; u(0.3, 0.4)/u(0.5, 0.6) }
pair(k) = { λ = modes(k, 1.0).λ; λ[1] + λ[2] }
slope(f, x) = (f(x + 0.01) - f(x - 0.01))/0.02
bend(f, x) = (f(x + 0.01) - 2f(x) + f(x - 0.01))/1e-4
(value'(20.0), value''(20.0))   #~ (slope(value, 20.0), bend(value, 20.0)) tol 1e-7
(share'(20.0), share''(20.0))   #~ (slope(share, 20.0), bend(share, 20.0)) tol 1e-6
grad(share)(20.0)               #~ share'(20.0) tol 1e-9
(pair'(0.0), pair''(0.0))       #~ (slope(pair, 0.0), bend(pair, 0.0)) tol 1e-7
