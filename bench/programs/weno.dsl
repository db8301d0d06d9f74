# weno.dsl - Sod's shock tube by the finite volumes of the library.
#
# The final time is proportional to the width of a cell, 100/n.

problem tube(T) {
  domain t in [0, T], x in [0, 1]
  field ρ, m, E
  u = m/ρ
  p = 0.4*(E - 0.5*m*u)
  ρ_t + ∂x(m) == 0
  m_t + ∂x(m*u + p) == 0
  E_t + ∂x((E + p)*u) == 0
  ρ == if x < 0.5 { 1 } else { 0.125 } at t = 0
  m == 0                               at t = 0
  E == if x < 0.5 { 2.5 } else { 0.25 } at t = 0
  ρ_x == 0 at x = 0, x = 1
  m_x == 0 at x = 0, x = 1
  E_x == 0 at x = 0, x = 1
}

sod(n) =
  solve(tube(100.0/n), fv(n = n, reconstruct = "weno5"), saveat = [100.0/n],
    estimate = false).values[-1]
