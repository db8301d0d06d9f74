# Initial values at regular singular points, where the equations are undefined:
# closed forms of the Lane-Emden and Bessel equations, and derivatives with
# respect to parameters. Problems without a smooth solution, or with several,
# are refused.

problem lane(n, a) {
  domain r in [0.0, 3.0]
  field θ
  θ_rr + 2/r*θ_r + a*θ^n == 0
  θ == 1 at r = 0
  θ_r == 0 at r = 0
}
s = solve(lane(1, 1.0); rtol = 1e-9)
s.θ([0.0, 0.01, 0.3, 0.7, 2.0, 3.0])   #~ [1, sin(0.01)/0.01, sin(0.3)/0.3, sin(0.7)/0.7, sin(2.0)/2, sin(3.0)/3] tol 1e-8
s.θ_r([0.0, 0.5])                      #~ [0, 2*cos(0.5) - 4*sin(0.5)] tol 1e-8
s.error < 1e-7                         #> true
solve(lane(0, 1.0)).θ(2.0)             #~ 1 - 4/6 tol 1e-6

# multiplied by the radius, as textbooks also write it
problem times_r(n) {
  domain r in [0.0, 6.89684862]
  field θ
  r*θ_rr + 2*θ_r + r*θ^n == 0
  θ == 1 at r = 0
  θ_r == 0 at r = 0
}
# Horedt, Seven-digit tables of Lane-Emden functions, 1986
s = solve(times_r(3); rtol = 1e-10)
s.θ(5.0)             #~ 0.1108198 tol 1e-7
s.θ(6.89684862)      #~ 0 tol 1e-8
solve(times_r(5); rtol = 1e-9).θ(5.0)     #~ (1 + 25/3)^-0.5 tol 1e-7

# every method, with its own steps
problem bessel {
  domain x in [0.0, 10.0]
  field y
  x^2*y_xx + x*y_x + (x^2 - 1)*y == 0
  y == 0 at x = 0
  y_x == 0.5 at x = 0
}
for m in (auto(), tsit5(), dop853(), radau5(), bdf(), rodas5p()) {
  s = solve(bessel, m; rtol = 1e-8)
  for x in [0.0, 1.0, 2.0, 5.0, 10.0] { assert(abs(s.y(x) - besselj(1, x)) < 1e-6, "{m.name} {x}: {s.y(x)}") }
}

# Values at chosen times, including the initial time and one inside the first
# piece.
solve(lane(1, 1.0); saveat = [0.0, 0.5, 2.0], rtol = 1e-9).values[.., 0]    #~ [1, sin(0.5)/0.5, sin(2.0)/2] tol 1e-8
solve(lane(1, 1.0); saveat = [0.5], rtol = 1e-9).values[.., 0]              #~ [sin(0.5)/0.5] tol 1e-8

# towards smaller values
problem mirrored {
  domain r in [-3.0, 0.0]
  field θ
  θ_rr + 2/r*θ_r + θ == 0
  θ == 1 at r = 0
  θ_r == 0 at r = 0
}
solve(mirrored; rtol = 1e-9).θ(-2.0)    #~ sin(2.0)/2 tol 1e-7

# Derivatives of sin(√a r)/(√a r) with respect to a, inside the first piece and
# after it.
at(r) = a -> solve(lane(1, a); rtol = 1e-10).θ(r)
(at(2.0))'(1.0)     #~ (2*cos(2.0) - sin(2.0))/4 tol 1e-7
(at(0.2))'(1.0)     #~ (0.2*cos(0.2) - sin(0.2))/0.4 tol 1e-8
(at(2.0))''(1.0)    #~ 0.19844794905715 tol 1e-6

# two fields, one of which is singular
problem pair {
  domain t in [0.0, 2.0]
  field u, v
  u_t == -u/t + 2*v
  v_t == -v
  u == 0 at t = 0
  v == 1 at t = 0
}
# (t u)' == 2 t exp(-t)
solve(pair; rtol = 1e-9).u(1.5)         #~ 2*(1 - 2.5*exp(-1.5))/1.5 tol 1e-7

# No smooth solution: a derivative that contradicts the equation, a logarithm,
# an essential singularity; or several solutions.
refused(p) = try { solve(p); false } catch e { len(split(e, "no solution")) > 1 }
problem bent { domain r in [0.0, 3.0]
  field θ
  θ_rr + 2/r*θ_r + θ == 0
  θ == 1 at r = 0
  θ_r == 1 at r = 0
}
problem logarithm { domain r in [0.0, 3.0]
  field y
  r*y_r == y + r
  y == 0 at r = 0
}
problem essential { domain r in [0.0, 1.0]
  field y
  y_r == -1/r^2*y
  y == 1 at r = 0
}
problem many { domain r in [0.0, 1.0]
  field y
  r*y_r == 2*y
  y == 0 at r = 0
}
(refused(bent), refused(logarithm), refused(essential), refused(many))     #> (true, true, true, true)
