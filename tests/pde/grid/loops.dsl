# Periodic problems without time or ends.

# second order: sin(2π*x), manufactured
problem ring {
  domain x in [0, 1] periodic
  field u
  3u - u_xx == (3 + 4π^2)*sin(2π*x)
}
s = solve(ring);
s.method                    #> fourier
s.u([0.25, 0.6])            #~ [1, sin(1.2π)] tol 1e-10
solve(ring, fd(n = 40)).u([0.25, 0.6])            #~ [1, sin(1.2π)] tol 1e-3
solve(ring, chebyshev(n = 16)).u([0.25, 0.6])     #~ [1, sin(1.2π)] tol 1e-10
contains(explain(ring), "x is periodic, so solve() takes fourier()")    #> true

# first order: (2*cos(2π*x) + 2π*sin(2π*x))/(4 + 4π^2)
problem first_order {
  domain x in [0, 1] periodic
  field u
  u_x + 2u == cos(2π*x)
}
s = solve(first_order);
s.u([0.25, 0.0])    #~ [2π, 2]/(4 + 4π^2) tol 1e-10

# The same with a coordinate named t: a periodic response has no initial time.
problem response {
  domain t in [0, 1] periodic
  field u
  u_t + 2u == cos(2π*t)
}
solve(response).u([0.25, 0.0])    #~ [2π, 2]/(4 + 4π^2) tol 1e-10

# nonlinear: sin(x), manufactured; two unknowns
problem cubic {
  domain x in [0, 2π] periodic
  field u
  u_xx - u^3 - u == -2sin(x) - sin(x)^3
}
solve(cubic).u([0.25, 1.0])    #~ [sin(0.25), sin(1.0)] tol 1e-8
problem pair {
  domain t in [0, 2π] periodic
  field u, w
  u_t == w
  w_t + u + 0.5w == cos(t)
}
s = solve(pair);
s.u([0.25, 1.0])    #~ [2sin(0.25), 2sin(1.0)] tol 1e-8

