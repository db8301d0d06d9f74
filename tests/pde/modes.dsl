# Eigenproblems as they are stated: on a line without a guess, with the eigenvalue in conditions, with fluxes that
# jump, and with either sign; and what is no linear eigenproblem is refused.

refused(p, m) = try { str(solve(p, m).method) } catch e { e }

# ---- on a line: the condition that does not hold for 0 says how large a mode is

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

# layers: of k u' the flux goes on, so that √k cot(√(λ/k)/2) changes its sign at the layers' border
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

# an elastic end with a weight on it: tan(√λ) == 1/√λ
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

# ---- in the plane

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

# ---- what is not linear in the field, or in the eigenvalue

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

# a system of first order has λ off its own fields; collocation takes it, grids say why they do not
problem first_order {
  domain x in [0, 1]
  field u, v
  eigen λ
  u_x == v
  v_x == -λ*u
  u == 0 at x = 0, x = 1
  v == 1 at x = 0
}
for m in (fd(n = 21), chebyshev(10)) {
  assert(contains(refused(first_order, m), "the field for whose derivatives it stands"), refused(first_order, m))
}
solve(first_order, collocation(), guess = (u = x -> sin(π*x)/π, v = x -> cos(π*x), λ = 9.0)).λ     #~ π^2 tol 1e-5
