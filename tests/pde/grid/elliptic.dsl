# Problems without time on boxes: Newton's method, fast transforms,
# eigenproblems. Oracle: closed forms evaluated with mpmath.

# -Δu = 1 on the unit square
problem poisson {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  -lap(u) == 1
  u == 0 at boundary
}
s = solve(poisson, chebyshev(24));
s.u(0.5, 0.5) #~ 0.0736713532815138156 tol 1e-10
max(abs(s.u([0.25, 0.5], 0.25) - [0.0452861581094727058, 0.0573349064746083336])) < 1e-10 #> true
f = solve(poisson, fd(65, 4));
f.u(0.5, 0.5) #~ 0.0736713532815138156 tol 1e-8
# At the corners, where fourth order is not attainable, fd is off by 4.6e-5; its
# root mean square error is 2.9e-6.
s.error < 1e-5 and f.error > 2.9e-6 and f.error < 1e-5 #> true
# The fast sine transform agrees with sparse factors of the same differences.
t = solve(poisson, fd(33, 2));
t.stats.elements #> 0
n = solve(poisson, fd(33, 2; cluster = (0.5, 1e6)));
t.u(0.5, 0.25) #~ n.u(0.5, 0.25) tol 1e-8
# The estimate is close to the error.
abs(t.error / (abs(t.u(0.5, 0.5) - 0.0736713532815138156) / 0.0736713532815138156) - 1) < 0.2 #> true

# data on the faces, a term in u, periodic in one coordinate
problem strip {
  domain x in [0, 1] periodic, y in [0, 1]
  field u
  lap(u) - 3u == cos(2π*x)*y
  u == sin(2π*x) at y = 0
  u == 1 + 0*x   at y = 1
}
a = solve(strip, fd([256, 257], 2));
b = solve(strip, chebyshev([16, 20]));
a.u(0.3, 0.4) #~ b.u(0.3, 0.4) tol 1e-4
b.u(1.3, 0.4) #~ b.u(0.3, 0.4) tol 1e-12

# Data on all faces that disagree at edges, a coefficient for each direction,
# and an indefinite operator. Fast transforms agree with sparse factors in one
# to three dimensions, including the edges.
problem bar {
  domain z in [0, 2]
  field u
  u_zz + 30u == sin(3z)
  u == 1 at z = 0
  2u == 3 at z = 2
}
problem slab {
  domain x in [0, 1], y in [0, 2]
  field u
  2u_xx + 0.5u_yy + 40u == exp(x)*y
  u == 1 + y at x = 0
  3u == y^2 at x = 1
  u == 7 at y = 0
  u == -x at y = 2
}
problem block {
  domain x in [0, 1], y in [0, 1] periodic, z in [0, 1]
  field u
  u_xx + 2u_yy + 3u_zz - u == x*cos(2π*y)*z
  u == cos(2π*y) at x = 0
  u == z at x = 1
  u == 5 + y - y at z = 0
  u == x*sin(2π*y) at z = 1
}
gap(p, n) = {
  (fast, factors) = (solve(p, fd(n, 2), estimate = false), solve(p, fd(n, 2; cluster = (0.5, 1e7)), estimate = false))
  assert(fast.stats.elements == 0 and factors.stats.elements > 0)
  max(abs(fast.values - factors.values))
}
gap(bar, 41) < 1e-6         #> true
gap(slab, [21, 18]) < 1e-6   #> true
map(g -> len(g), solve(slab, fd([21, 18], 2), estimate = false).grid)   #> (21, 18)
max(abs(solve(block, fd([9, 8, 10], 2)).values - solve(block, fd([9, 8, 10], 2; cluster = (0.5, 1e7))).values)) < 1e-6   #> true
# a derivative with respect to a parameter of the boundary values
problem warm(a) {
  domain x in [0, 1], y in [0, 1]
  field u
  lap(u) == 0
  u == a*x*(1 - x) at y = 0
  u == 0 at x = 0, x = 1, y = 1
}
centre(a) = solve(warm(a), fd(33, 2)).u(0.5, 0.5)
centre'(2.0) #~ centre(1.0) tol 1e-12

# Bratu's problem, and its derivative with respect to the parameter.
problem bratu(λ) {
  domain x in [0, 1], y in [0, 1]
  field u
  lap(u) + λ*exp(u) == 0
  u == 0 at boundary
}
mid(λ) = solve(bratu(λ), chebyshev(14)).u(0.5, 0.5)
mid'(1.0) #~ (mid(1.001) - mid(0.999)) / 2e-3 tol 1e-6
# the other solution, from another guess
high = solve(bratu(6.0), chebyshev(20); guess = (u = (x, y) -> 6*sin(π*x)*sin(π*y)));
high.u(0.5, 0.5) > solve(bratu(6.0), chebyshev(20)).u(0.5, 0.5) + 0.5 #> true

# A clamped plate, with two conditions on each face: the centre of ΔΔu = 1
# (Timoshenko and Woinowsky-Krieger, Theory of Plates and Shells, table 35:
# 0.00126).
problem plate {
  domain x in [0, 1], y in [0, 1]
  field u
  lap(lap(u)) == 1
  u == 0 at boundary
  ∂n(u) == 0 at boundary
}
solve(plate, chebyshev(20)).u(0.5, 0.5) #~ 0.001265319 tol 1e-7
solve(plate, fd(33, 4)).u(0.5, 0.5) #~ 0.001265319 tol 2e-5

# three dimensions, and a system
problem ball {
  domain x in [0, 1], y in [0, 1], z in [0, 1]
  field u, w
  -lap(u) == w
  -lap(w) == 9π^4*sin(π*x)*sin(π*y)*sin(π*z)
  u == 0 at boundary
  w == 0 at boundary
}
solve(ball, chebyshev(10)).u(0.5, 0.5, 0.5) #~ 1.0 tol 1e-5

# A nonlinear system of two fields with the manufactured solution u = sin(πx)
# cos(πy), v = -cos(πx) sin(πy).
problem stirred {
  domain x in [0, 1], y in [0, 1]
  field u, v
  -lap(u) + u*u_x + v*u_y == 2π^2*sin(π*x)*cos(π*y) + 0.5π*sin(2π*x)
  -lap(v) + u*v_x + v*v_y == -2π^2*cos(π*x)*sin(π*y) + 0.5π*sin(2π*y)
  u == sin(π*x)*cos(π*y)  at boundary
  v == -cos(π*x)*sin(π*y) at boundary
}
q = solve(stirred, chebyshev(16));
abs(q.u(0.3, 0.2) - sin(0.3π)*cos(0.2π)) + abs(q.v(0.3, 0.2) + cos(0.3π)*sin(0.2π)) < 1e-9 #> true

# eigenvalues: a membrane with one free side
problem membrane {
  domain x in [0, 1], y in [0, 2]
  field u
  eigen λ
  -lap(u) == λ*u
  u == 0 at left, right, bottom
  ∂n(u) == 0 at top
}
m = solve(membrane, chebyshev(16; count = 3));
max(abs(m.λ/π^2 - [1 + 1/16, 1 + 9/16, 1 + 25/16])) < 1e-8 #> true
abs(m.u(0.5, 1.0)) #~ sin(π/4) tol 1e-3
max(abs(solve(membrane, fd([33, 33], 4; count = 2)).λ/π^2 - [1 + 1/16, 1 + 9/16])) < 1e-4 #> true

# H = -½Δ + ½r²: n + m + 1. And -Δ + x⁴ + y⁴: twice 1.060362090484182899647, the
# ground state of p² + x⁴.
problem oscillator {
  domain x in [-6, 6], y in [-6, 6]
  field ψ
  eigen E
  -0.5*lap(ψ) + 0.5*(x^2 + y^2)*ψ == E*ψ
  ψ == 0 at boundary
}
max(abs(solve(oscillator, chebyshev(30; count = 4)).E - [1, 2, 2, 3])) < 5e-6 #> true
problem quartic {
  domain x in [-4, 4], y in [-4, 4]
  field ψ
  eigen E
  -lap(ψ) + (x^4 + y^4)*ψ == E*ψ
  ψ == 0 at boundary
}
solve(quartic, chebyshev(30; count = 1)).E[0] #~ 2.120724180968365799 tol 1e-7

# A simply supported plate, given by lap(u) on its edges. At corners, lap(u) is
# one condition, not two.
problem plate {
  domain x in [0, 1], y in [0, 1]
  field u
  lap(lap(u)) == 4*π^4*sin(π*x)*sin(π*y)
  u == 0      at boundary
  lap(u) == 0 at boundary
}
solve(plate, chebyshev(14)).u(0.3, 0.6) #~ sin(0.3π)*sin(0.6π) tol 1e-7
solve(plate, fd([21, 21], 4)).u(0.3, 0.6) #~ sin(0.3π)*sin(0.6π) tol 1e-4
problem sagging {
  domain t in [0, 1], x in [0, 1], y in [0, 1]
  field u
  u_t == -lap(lap(u))/100
  u == sin(π*x)*sin(π*y) at t = 0
  u == 0      at boundary
  lap(u) == 0 at boundary
}
solve(sagging, fd([11, 11], 2)).u(0.5, 0.3, 0.6) #~ exp(-0.02*π^4)*sin(0.3π)*sin(0.6π) tol 2e-2

# A mixed derivative on a grid so fine that multifrontal factorisation is used:
# elimination must keep its accuracy.
problem mixed {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  u_xx + u_xy + u_yy == 5
  u == x^2 + y^2 + x*y at boundary
}
solve(mixed, fd(order = 4, n = 85)).u(0.5, 0.3)     #~ 0.49 tol 1e-10
