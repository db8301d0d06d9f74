# Sod's shock tube: gas at rest, eight times as dense on the left, and the wall
# between is removed. A rarefaction runs left, a contact and a shock right (G.
# A. Sod, J. Comput. Phys. 27, 1978). A single number, the root of an equation,
# determines the state between them (E. F. Toro, Riemann Solvers and Numerical
# Methods for Fluid Dynamics, test 1: p* = 0.30313, u* = 0.92745). Finite
# volumes are the one method for shocks, with several fluxes and
# reconstructions: differences and spectral methods oscillate, and networks see
# no residual where there is no derivative. At a shock every method is of first
# order, so errors are in the mean (L1).

problem sod(γ = 1.4) {
  domain t in [0, 0.2], x in [0, 1]
  field ρ, m, E
  u = m/ρ
  p = (γ - 1)*(E - m*u/2)
  ρ_t + ∂x(m) == 0
  m_t + ∂x(m*u + p) == 0
  E_t + ∂x((E + p)*u) == 0
  ρ == if x < 0.5 { 1 } else { 0.125 }  at t = 0
  m == 0                                at t = 0
  E == if x < 0.5 { 2.5 } else { 0.25 } at t = 0
}

# The speeds across a rarefaction on the left and a shock on the right that lead
# to a pressure p; they are equal at p*.
fan(p) = 2sqrt(1.4)/0.4*(1 - p^(0.4/2.8))
shock(p) = (p - 0.1)*sqrt(2/2.4/0.125/(p + 0.1*0.4/2.4))
p = root(p -> fan(p) - shock(p), 0.3)
assert(abs(p - 0.303130178050647) < 1e-12 and abs(fan(p) - 0.92745262004895) < 1e-12)
left = p^(1/1.4)
right = 0.125*(p/0.1 + 0.4/2.4)/(0.4/2.4*p/0.1 + 1)
speed = shock(p)*right/(right - 0.125)
exact(x) = {
  s = (x - 0.5)/0.2
  if s < -sqrt(1.4) {
    1.0
  } else if s < shock(p) - sqrt(1.4*p/left) {
    (2/2.4 - 0.4/2.4*s/sqrt(1.4))^5
  } else if s < shock(p) {
    left
  } else if s < speed {
    right
  } else {
    0.125
  }
}

x = (0.5 + iota(1000))/1000.0
ρ = map(exact, x)
print("method                relative error of the density, in the mean")
for (flux, how, bound) in (("rusanov", "first", 5e-2), ("rusanov", "muscl", 1e-2),
  ("roe", "muscl", 1e-2), ("hllc", "muscl", 1e-2), ("hll", "weno5", 1e-2)) {
  s = solve(sod(), fv(n = 400, flux = flux, reconstruct = how), saveat = [0.2])
  off = mean(abs(s.ρ(0.2, x) - ρ))/mean(ρ)
  print("{s.method:-4s} {flux:-8s}{how:-8s} {off:.1e}")
  assert(off < bound)
}

coarse = solve(sod(), fv(n = 100, reconstruct = "first"), saveat = [0.2])
fine = solve(sod(), fv(n = 400, flux = "hll", reconstruct = "weno5"), saveat = [0.2])
y = stack(ρ, coarse.ρ(0.2, x), fine.ρ(0.2, x), fine.m(0.2, x)/fine.ρ(0.2, x); axis = 1)
plot(x, y, labels = list("density, exact", "first order, 100 cells", "WENO5, 400 cells", "speed"),
  title = "Sod's tube at t = 0.2", xlabel = "x", legend = "outside", file = "sod.png")
