# Eigenproblems as stated: in one dimension without a guess, with the eigenvalue
# in conditions, with jumping fluxes, and with either sign. Problems that are
# not linear eigenproblems are refused.

refused(p, m) = try { str(solve(p, m).method) } catch e { e }

# ---- one dimension: the inhomogeneous condition sets the amplitude

problem mathieu(q) {
  domain x in [0, π/2]
  field u
  eigen λ
  u_xx + (λ - 2q*cos(2x))*u == 0
  u_x == 0 at x = 0, x = π/2
  u == 1 at x = 0
}
# a_0(1) and a_0(5), DLMF 28.6
solve(mathieu(1.0)).λ     #~ -0.4551386041 tol 1e-8
solve(mathieu(5.0)).λ     #~ -5.8000460208 tol 1e-8

problem beam {
  domain x in [0, 1]
  field u
  eigen λ
  u_xxxx == λ*u
  u == 0 at x = 0, x = 1
  u_x == 0 at x = 0, x = 1
  u_xx == 1 at x = 0
}
solve(beam).λ             #~ 4.730040744862704^4 tol 1e-3

# Layers: the flux k u' is continuous, so √k cot(√(λ/k)/2) changes its sign at
# the interface.
problem layers {
  domain x in [0, 1]
  field u
  eigen λ
  ∂x((if x < 0.5 { 1 } else { 10 })*∂x(u)) + λ*u == 0
  u == 0 at x = 0, x = 1
  u_x == 1 at x = 0
}
layered = root(l -> cos(sqrt(l)/2)/sin(sqrt(l)/2) + sqrt(10.0)*cos(sqrt(l/10)/2)/sin(sqrt(l/10)/2), 30.0)
solve(layers).λ                          #~ layered tol 1e-3
fine = solve(layers, fem(0.005, order = 2))
fine.λ                                   #~ layered tol 1e-5
(u -> u(1e-9)/1e-9)(fine.u)              #~ 1 tol 1e-4

# an elastic end with a weight: tan(√λ) == 1/√λ
elastic = root(l -> tan(sqrt(l)) - 1/sqrt(l), 0.7)
problem weighted {
  domain x in [0, 1]
  field u
  eigen λ
  u_xx + λ*u == 0
  u == 0 at x = 0
  u_x == λ*u at x = 1
  u_x == 2 at x = 0
}
s = solve(weighted, fem(0.02, order = 3))
(s.λ, s.u(0.5))           #~ (elastic, 2sin(sqrt(elastic)/2)/sqrt(elastic)) tol 1e-7
s.mode(1).u(0.5)          #~ 2sin(sqrt(s.values[1])/2)/sqrt(s.values[1]) tol 1e-5
solve(weighted, collocation(); guess = (u = x -> 2x, λ = 1.0)).λ   #~ elastic tol 1e-6
contains(refused(weighted, chebyshev()), "has λ in a condition")    #> true

# ---- two dimensions

problem plate(s) {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  eigen λ
  s*(u_xx + u_yy + λ*u) == 0
  u == 0 at boundary
}
for sign in (1.0, -1.0) {
  got = solve(plate(sign), fem(0.1, order = 2)).λ[..3]
  assert(max(abs(got - π^2*[2.0, 5, 5])) < 0.05, "{got}")
}
problem weighted_plate {
  domain x in [0, 1], y in [0, 1]
  field u
  eigen λ
  -Δ(u) == λ*u
  u == 0 at x = 0
  u_x == λ*u at x = 1
  u_y == 0 at y = 0, y = 1
}
solve(weighted_plate, fem(0.1, order = 2)).λ[0]        #~ elastic tol 1e-5
contains(refused(weighted_plate, fd(n = 11)), "has λ in a condition")     #> true

# ---- nonlinear in the field or in the eigenvalue

problem square {
  domain x in [0, 1]
  field u
  eigen λ
  u_xx + λ^2*u == 0
  u == 0 at x = 0, x = 1
  u_x == 1 at x = 0
}
problem bent {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  eigen λ
  -Δ(u) == λ*(u + u^3)
  u == 0 at boundary
}
for m in (fd(n = 21), chebyshev(10), fem(0.1)) {
  assert(contains(refused(square, m), "is not linear in λ"), "{m.name}: {refused(square, m)}")
  assert(contains(refused(bent, m), "is not linear in u"), "{m.name}: {refused(bent, m)}")
}
solve(square; guess = (u = x -> sin(π*x)/π, λ = 3.0)).λ     #~ π tol 1e-5

# ---- systems in which some equations have no eigenvalue

problem first_order(k = 1.0) {
  domain x in [0, 1]
  field u, v
  eigen λ
  u_x == k*v
  v_x == -λ*u
  u == 0 at x = 0, x = 1
  v == 1 at x = 0
}
s = solve(first_order())
(s.method, s.error < 1e-9)         #> ("chebyshev", true)
s.values                           #~ π^2*[1.0, 4, 9, 16, 25, 36] tol 1e-7
s.u(0.5)                           #~ 1/π tol 1e-9
s.mode(1).v(0.5)                   #~ -1 tol 1e-8
(k -> solve(first_order(k)).λ)'(2.0)    #~ -π^2/4 tol 1e-8
solve(first_order(), collocation(), guess = (u = x -> sin(π*x)/π, v = x -> cos(π*x), λ = 9.0)).λ     #~ π^2 tol 1e-5
# Central differences do not see modes that alternate between points.
contains(refused(first_order(), fd()), "alternate from point to point")    #> true

# A beam by its moment, free at one end: cosh(k) cos(k) == -1; and by four
# equations of first order.
clamped_free = [1.8751040687119612, 4.694091132974175]^4
problem moments {
  domain x in [0, 1]
  field u, w
  eigen λ
  u_xx == w
  w_xx == λ*u
  u == 0 at x = 0
  u_x == 0 at x = 0
  w == 0 at x = 1
  w_x == 0 at x = 1
  u == 1 at x = 1
}
problem slopes {
  domain x in [0, 1]
  field a, b, c, d
  eigen λ
  a_x == b
  b_x == c
  c_x == d
  d_x == λ*a
  a == 0 at x = 0
  b == 0 at x = 0
  c == 0 at x = 1
  d == 0 at x = 1
  a == 1 at x = 1
}
solve(moments).values[..2] / clamped_free    #~ [1.0, 1] tol 1e-6
solve(slopes).values[..2] / clamped_free     #~ [1.0, 1] tol 1e-6
contains(refused(moments, fd()), "a field of its own in each equation")   #> true
# For u' == λ v, v' == -λ u, the mode with λ == 0 occurs twice on a grid, once
# with the highest polynomial. This is reported.
problem turning {
  domain x in [0, 1]
  field u, v
  eigen λ
  u_x == λ*v
  v_x == -λ*u
  u == 0 at x = 0, x = 1
  v == 1 at x = 0
}
contains(refused(turning, none), "an eigenvalue of turning")             #> true
solve(turning, chebyshev(near = 3.0, count = 1)).λ                       #~ π tol 1e-9
# A coupled mass matrix (2, 1; 1, 2) with eigenvalues 3 and 1.
problem coupled {
  domain x in [0, 1]
  field u, v
  eigen λ
  -u_xx == λ*(2u + v)
  -v_xx == λ*(u + 2v)
  u == 0 at x = 0, x = 1
  v == 0 at x = 0, x = 1
  u_x == 1 at x = 0
}
solve(coupled).values[..3]          #~ π^2*[1/3, 1, 4/3] tol 1e-8
# a supported plate by its moment
problem plate_by_moments {
  domain x in [0, 1], y in [0, 1]
  field u, w
  eigen λ
  u_xx + u_yy == w
  w_xx + w_yy == λ*u
  u == 0 at boundary
  w == 0 at boundary
}
solve(plate_by_moments, chebyshev(12)).λ[..3]/π^4         #~ [4.0, 25, 25] tol 1e-4

# ---- coefficients that jump: elements end at the jumps
# Oracle: matching conditions at the jumps, on the even and on the odd half.

problem well {
  domain x in [-6, 6]
  field u
  eigen E
  -u_xx/2 + (if abs(x) < 1 { 0 } else { 2 })*u == E*u
  u == 0 at x = -6, x = 6
  u_x == 1 at x = -6
}
s = solve(well)
s.method                      #> fem
s.values[..2]                 #~ [0.53031255468205547, 1.79721428205313560] tol 1e-6
contains(explain(well), "elements")       #> true
problem heavy {
  domain x in [0, 1]
  field u
  eigen λ
  -u_xx == λ*(if x < 0.3 { 1 } else { 4 })*u
  u == 0 at x = 0, x = 1
  u_x == 1 at x = 0
}
halves = [2.737374753427913, 12.65886981323882, 31.06623569229614]
s = solve(heavy)
s.values[..3]                 #~ halves tol 1e-5
problem heavy_plate {
  domain x in [0, 1], y in [0, 1]
  field u
  eigen λ
  -u_xx - u_yy == λ*(if x < 0.3 { 1 } else { 4 })*u
  u == 0 at x = 0, x = 1
  u_y == 0 at y = 0, y = 1
}
s = solve(heavy_plate)
(s.method, s.error < 0.01)    #> ("fem", true)
s.λ[0]                        #~ halves[0] tol 1e-3
# the estimates of other methods cover their errors
for m in (chebyshev(), fd()) {
  s = solve(heavy, m; partial = true)
  assert(max(abs(s.values[..3] - halves) / halves) < s.error and s.error < 0.3, "{m.name}: {s.values} {s.error}")
}

# ---- error estimates of eigenvalues

problem cantilever {
  domain x in [0, 1]
  field u
  eigen λ
  u_xxxx == λ*u
  u == 0 at x = 0
  u_x == 0 at x = 0
  u_xx == 0 at x = 1
  u_xxx == 0 at x = 1
  u == 1 at x = 1
}
s = solve(cantilever)
s.values[..2] / clamped_free        #~ [1.0, 1] tol 5e-7
(len(s.errors), abs(s.λ/clamped_free[0] - 1) < s.errors[0])    #> (6, true)
# Each has its own estimate, even if others are much larger. With many points,
# rounding dominates.
for m in (chebyshev(16), chebyshev(24), chebyshev(40), chebyshev(64), fd(60), fd(161)) {
  s = solve(cantilever, m; partial = true)
  off = abs(s.values[..2] / clamped_free - 1)
  assert(all(off < 2 * s.errors[..2]), "{m.name}: {off} {s.errors}")
  # The rounding error of a finer grid is not attributed to this one.
  assert(all(s.errors[..2] < 10 * off + 1e-9), "{m.name}: {off} {s.errors}")
}
# Fourth derivatives are not computed as products of matrices, which would lose
# digits.
abs(solve(cantilever, chebyshev(40)).λ / clamped_free[0] - 1) < 1e-7    #> true
# An eigenvalue that is 0 on all grids has no error.
problem rolling {
  domain x in [0, 1]
  field u
  eigen λ
  -u_xx == λ*u
  u_x == 0 at x = 0, x = 1
  u == 1 at x = 0
}
for m in (fem(0.05), fd(41), chebyshev(16)) { assert(solve(rolling, m).errors[0] < 1e-9, "{m.name}") }
problem box_modes {
  domain x in [0, 1], y in [0, 1]
  field u
  eigen λ
  -Δ(u) == λ*u
  u == 0 at boundary
}
exact = π^2*[2.0, 5, 5, 8, 10, 10]
for m in (fd(21, 2), fd(31), chebyshev(12), fem(0.1), fem(0.1, order = 2)) {
  s = solve(box_modes, m; partial = true)
  off = max(abs(s.λ - exact) / exact)
  assert(off < 2 * s.error and s.error < 300 * off + 1e-9, "{m.name}: {off} {s.error}")
}
contains(try { str(solve(box_modes, fem(0.3)).error) } catch e { e }, "an eigenvalue of box_modes by fem() is off by")    #> true
# The estimate of each mode uses its own differences, not its neighbours'.
s = solve(box_modes, chebyshev(12))
off = abs(s.λ - exact)/exact
all(off < 2*s.errors and s.errors < 10*off + 1e-11)    #> true
# Few points do not resolve a coefficient peak of 120, so the agreement of two
# coarse grids proves little.
problem hilly {
  domain x in [0, 1], y in [0, 1]
  field u
  eigen λ
  -∂x((1 + 119.5exp(-((x - 0.69)/0.09)^2))*u_x) - ∂y((1 + 0.67sin(2.42y))*u_y) == λ*u
  u_x == 0 at x = 0, x = 1
  u == 0 at y = 0, y = 1
}
s = solve(hilly, chebyshev(12); partial = true)
exact = [13.608066438491776, 30.17096440355548, 57.04223179844903, 73.60512976351273]
all(abs(s.λ[..4] - exact)/exact < 3*s.errors[..4])    #> true
# 0 is also recognised
problem free_ends {
  domain x in [0, 1]
  field u
  eigen λ
  -u_xx == λ*u
  u_x == 0 at x = 0, x = 1
  u == 1 at x = 0
}
s = solve(free_ends)
(abs(s.values[0]) < 1e-9, s.error < 1e-8)         #> (true, true)
solve(free_ends, fd()).error < 1e-6               #> true
problem near_one {
  domain x in [0, 1]
  field u
  eigen λ
  -u_xx == λ*u
  u == 0 at x = 0, x = 1
  u_x == 1 at x = 0
}
s = solve(near_one; guess = (u = x -> x*(1 - x), λ = 9.0))
(s.method, s.error > 0, s.error < 1e-5)           #> ("collocation", true, true)

# ---- nanometres and joules

problem nano {
  domain x in [0, 1e-9]
  field u
  eigen λ
  u_xx + λ*u == 0
  u == 0 at x = 0, x = 1e-9
  u_x == 1 at x = 0
}
problem electron {
  domain x in [0, 1e-9]
  field u
  eigen E
  -6.1e-39*u_xx == E*u
  u == 0 at x = 0, x = 1e-9
  u_x == 1 at x = 0
}
for m in (none, fd(), fem(order = 3), chebyshev(24)) {
  for s in (solve(nano, m), solve(electron, m)) {
    got = s.values / (s.values[0]*[1.0, 4, 9, 16, 25, 36])
    assert(max(abs(got - 1)) < 1e-4 and s.error < 1e-3, "{got} {s.error}")
  }
}
(solve(nano).λ*1e-18, solve(electron).E*1e21)    #~ (π^2, 6.1π^2) tol 1e-8
