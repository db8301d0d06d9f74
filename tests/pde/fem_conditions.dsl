# Conditions with slopes for finite elements: where the flux vanishes by itself, in systems whose fields have their fluxes in each other's equations, and what would be lost.
# As users run it only: compiling all of it takes minutes.

# ---- the axis of a disk, r u'' + u' = -r: u = (1 - r^2)/4, in three forms
problem disk {
  domain r in [0, 1]
  field u
  r*u_rr + u_r == -r
  u_r == 0 at r = 0
  u == 0 at r = 1
}
solve(disk, fem(h = 0.05)).u(0.5)                  #~ 3/16 tol 1e-3
solve(disk, fem(h = 0.05, order = 2)).u(0.5)       #~ 3/16 tol 1e-10
problem divided {
  domain r in [0, 1]
  field u
  1/r*∂r(r*∂r(u)) == -1
  r*u_r == 0 at r = 0
  u == 0 at r = 1
}
solve(divided, fem(h = 0.05, order = 2)).u(0.5)    #~ 3/16 tol 1e-10
# Lane and Emden's equation of index 5: (1 + r^2/3)^(-1/2)
problem star {
  domain r in [0, 1]
  field u
  r*u_rr + 2u_r + r*u^5 == 0
  u_r == 0 at r = 0
  u == sqrt(0.75) at r = 1
}
solve(star, fem(h = 0.05, order = 2), guess = (u = 1.0)).u(0.0)    #~ 1 tol 1e-6
# in t, beside differences
problem diffusion {
  domain t in [0, 0.1], r in [0, 1]
  field C
  r*C_t == ∂r(r*∂r(C))
  C == 1 - r^2 at t = 0
  C_r == 0 at r = 0
  C == 0 at r = 1
}
solve(diffusion, fem(h = 0.05, order = 2)).C(0.1, 0.0)    #~ solve(diffusion, fd(n = 201)).C(0.1, 0.0) tol 1e-4

# ---- a phase field in two equations; SciPy's Radau on cosines at 1e-10
problem separating(ε = 0.1) {
  domain t in [0, 0.1], x in [0, 1]
  field u, μ
  u_t == μ_xx
  μ == u^3 - u - ε^2*u_xx
  u == 0.1*cos(π*x) at t = 0
  u_x == 0 at boundary
  μ_x == 0 at boundary
}
solve(separating(), fem(h = 0.02, order = 2)).u(0.1, 0.1)    #~ 0.2195858 tol 1e-3
# fluxes across, told by both conditions: u + v and u - v are Robin's and Neumann's problems, w'' = -2 with w(0) = 0 and w'(1) + w(1) = 0, and z'' = 0, z(0) = 0, z'(1) = 1
problem crossed {
  domain x in [0, 1]
  field u, v
  u_xx + v_xx == -2
  u_xx - v_xx == 0
  u == 0 at x = 0
  v == 0 at x = 0
  u_x == 0.5 - 0.5*(u + v) at x = 1
  v_x == -0.5 - 0.5*(u + v) at x = 1
}
s = solve(crossed, fem(h = 0.1, order = 2));
s.u(1.0) + s.v(1.0)                                #~ 0.5 tol 1e-10
s.u(1.0) - s.v(1.0)                                #~ 1 tol 1e-10

# ---- a clamped plate in two equations has its slope where its equation is not tested
problem clamped {
  domain x in [0, 1]
  field u, w
  w == u_xx
  w_xx == 1
  u == 0 at x = 0, x = 1
  u_x == 0 at x = 0, x = 1
}
try { solve(clamped, fem(h = 0.05, order = 2)).u(0.5) < 0 } catch e { contains(e, "would lose") }    #> true
