# Regular singular points at the ends of an interval, for collocation and
# shooting: cylinders, balls, both ends at once, systems, nonlinear terms, and
# expressions that are 0/0 there. Oracle: closed forms.
# As users run it only: compiling all of it takes minutes.

problem disk {
  domain r in [0, 1]
  field u
  r*u_rr + u_r == -r
  u_r == 0 at r = 0
  u == 0 at r = 1
}
solve(disk).u([0.0, 0.5])                    #~ [0.25, 3/16] tol 1e-7
solve(disk, shooting(3)).u([0.0, 0.5])       #~ [0.25, 3/16] tol 1e-6
problem divided(c = 1) {
  domain r in [0, 1]
  field u
  1/r*∂r(r*∂r(u)) == -c
  u_r == 0 at r = 0
  u == 0 at r = 1
}
solve(divided()).u(0.5)                      #~ 3/16 tol 1e-7
# derivatives with respect to parameters
grad(c -> solve(divided(c)).u(0.5))(1.0)     #~ 3/16 tol 1e-6
problem ball {
  domain r in [0, 2]
  field u
  r*u_rr + 2u_r + r*u == 0
  u_r == 0 at r = 0
  u == sin(2.0)/2 at r = 2
}
solve(ball, shooting(4)).u(1.0)              #~ sin(1.0) tol 1e-5
solve(ball).u(1.0)                           #~ sin(1.0) tol 1e-6
# The Lane-Emden equation of index 5: (1 + r^2/3)^(-1/2).
problem star {
  domain r in [0, 1]
  field u
  r*u_rr + 2u_r + r*u^5 == 0
  u_r == 0 at r = 0
  u == sqrt(0.75) at r = 1
}
solve(star).u([0.0, 0.5])                    #~ [1, 1/sqrt(1 + 1/12)] tol 1e-6
solve(star, collocation(8), rtol = 1e-9).u(0.5)      #~ 1/sqrt(1 + 1/12) tol 1e-8
solve(star, shooting(3), guess = (u = 1.0)).u(0.0)   #~ 1 tol 1e-5
# Legendre's equation of degree 2, singular at both ends. At 1 the regular
# solution has u' = 3 u.
problem legendre {
  domain x in [-1, 1]
  field u
  (1 - x^2)*u_xx - 2x*u_x + 6u == 0
  u == 1 at x = -1
  u_x == 3 at x = 1
}
solve(legendre, guess = (u = x -> x^2)).u([0.0, 0.5])      #~ [-0.5, -0.125] tol 1e-5
# a system: v diffuses and heats u
problem pair {
  domain r in [0, 1]
  field u, v
  1/r*∂r(r*∂r(u)) == -4v
  r*v_rr + v_r == 4r
  u_r == 0 at r = 0
  v_r == 0 at r = 0
  u == 0 at r = 1
  v == 1 at r = 1
}
# v = r^2, u = (1 - r^4)/4
s = solve(pair);
(s.u(0.5), s.v(0.5))                         #~ (0.234375, 0.25) tol 1e-6
