# Sod's shock tube: gas at rest, eight times as dense on the left, and the wall between is taken away. Density, momentum and energy are conserved; five methods are asked for the same
# state between the waves, whose pressure and speed the exact solution of the Riemann problem gives (E. F. Toro, Riemann Solvers and Numerical Methods for Fluid Dynamics, test 1).

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

pressure(s, x) = 0.4*(s.E(0.2, x) - s.m(0.2, x)^2/(2*s.ρ(0.2, x)))
print("                        p*        u*")
print("exact              0.303130  0.927453")
for (flux, how) in (("rusanov", "first"), ("rusanov", "muscl"), ("roe", "muscl"), ("hllc", "muscl"), ("hll", "weno5")) {
  s = solve(sod(), fv(n = 400, flux = flux, reconstruct = how), saveat = [0.2])
  p = pressure(s, 0.65)
  u = s.m(0.2, 0.65)/s.ρ(0.2, 0.65)
  print("{flux:8s}{how:8s}  {p:.6f}  {u:.6f}")
  assert(abs(p - 0.303130178050647) < 3e-3 and abs(u - 0.92745262004895) < 1e-2)
}

x = linspace(0, 1, 801)
coarse = solve(sod(), fv(n = 100, reconstruct = "first"), saveat = [0.2])
fine = solve(sod(), fv(n = 400, flux = "hllc", reconstruct = "weno5"), saveat = [0.2])
y = stack(coarse.ρ(0.2, x), fine.ρ(0.2, x), pressure(fine, x), fine.m(0.2, x)/fine.ρ(0.2, x); axis = 1)
plot(x, y, labels = list("density, first order, 100 cells", "density, WENO5, 400 cells", "pressure", "speed"),
  title = "Sod's tube at t = 0.2", xlabel = "x", legend = "outside", file = "sod.png")
