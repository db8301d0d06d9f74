# Coefficients with jumps: finite differences of fluxes, and refusals by methods
# that apply the product rule. Oracles: resistances in series, Kirchhoff's
# transformation, Neumann's melting front.
# As users run it only: compiling all of it takes minutes.
# In a long check only: it takes half a minute.

# ---- a coefficient that jumps at a point, on a node and between nodes
problem wall(c = 0.25) {
  domain x in [0, 1]
  field u
  ∂x((if x < c { 1 } else { 6 })*∂x(u)) == 0
  u == 0 at x = 0
  u == 1 at x = 1
}
solve(wall()).u(0.25)                        #~ 2/3 tol 1e-12
s = solve(wall(0.3333), fd(n = 81));
at(c) = c/(c + (1 - c)/6)
# Exact to rounding at the nodes; between the nodes around the kink, to the
# estimate.
s.u(0.5)                                     #~ at(0.3333) + (1 - at(0.3333))*(0.5 - 0.3333)/0.6667 tol 1e-11
# The estimate is a mean square; the error at the kink itself is larger.
abs(s.u(0.3333)/at(0.3333) - 1) <= 5*s.error #> true
contains(explain(wall()), "the product rule does not hold")    #> true

# Methods that apply the product rule refuse.
refuses(m) = try { solve(wall(), m).u(0.5) < 0 } catch e { contains(e, "derives what may jump") and contains(e, "fem()") }
refuses(chebyshev(n = 16))                   #> true
refuses(collocation())                       #> true
refuses(shooting(4))                         #> true
refuses(rfm())                               #> true
refuses(pinn([8], 20; steps = 5))            #> true

# ---- layers: in time, in two dimensions, in vectors, periodic
problem warming {
  domain t in [0, 3], x in [0, 1]
  field u
  (if x < 0.25 { 2 } else { 1 })*u_t == ∂x((if x < 0.25 { 1 } else { 6 })*∂x(u))
  u == x at t = 0
  u == 0 at x = 0
  u == 1 at x = 1
}
solve(warming, fd(n = 41)).u(3.0, 0.25)      #~ 2/3 tol 1e-4
problem plate {
  domain x in [0, 1], y in [0, 1]
  field u
  k = if x < 0.25 { 1 } else { 6 }
  div(k*grad(u)) == 0
  u == 0 at left
  u == 1 at right
  ∂n(u) == 0 at bottom, top
}
solve(plate, fd(n = 21)).u(0.25, 0.5)        #~ 2/3 tol 1e-9
problem pair {
  domain x in [0, 1]
  field u[2]
  ∂x((if x < 0.25 { 1 } else { 6 })*∂x(u)) == [0, 0]
  u == [0, 0] at x = 0
  u == [1, 2] at x = 1
}
solve(pair, fd(n = 41)).u(0.25)              #~ [2/3, 4/3] tol 1e-10
problem ring {
  domain x in [0, 1] periodic
  field u
  u - 0.01*∂x((if x < 0.25 { 1 } else { 6 })*∂x(u)) == sin(2π*x)
}
# The sum over the ring is that of the source: jumps conserve.
abs(sum(solve(ring, fd(n = 80)).values)) < 1e-10      #> true

# ---- a coefficient that jumps with the unknown
# u = 2.5x below 0.5, by Kirchhoff's transformation ∫k du.
problem switch {
  domain x in [0, 1]
  field u
  ∂x((if u < 0.5 { 1 } else { 4 })*∂x(u)) == 0
  u == 0 at x = 0
  u == 1 at x = 1
}
solve(switch, fd(n = 41), guess = (u = x -> x)).u([0.1, 0.2, 0.5])    #~ [0.25, 0.5, 0.6875] tol 1e-9

# ---- second derivatives of a function with a kink
# Neumann's melting front, T = 2 - 2 erf(x/2√t)/erf(λ), in both forms.
problem melting {
  domain t in [0, 0.05], x in [0, 1]
  field H
  H_t == ∂x²(max(H - 1, 0))
  H == if x > 0 { 0 } else { 3 } at t = 0
  H == 3 at x = 0
  H_x == 0 at x = 1
}
contains(explain(melting), "fd(order = 2)")    #> true
s = solve(melting, fd(n = 201));
max(s.H(0.05, [0.1, 0.25]) - 1, 0)           #~ [1.33149035, 0.46239318] tol 2e-3
problem melting_by_flux(k = 1) {
  domain t in [0, 0.05], x in [0, 1]
  field H
  T = max(H - 1, 0)
  H_t == ∂x((if x < 2 { k } else { 3 })*∂x(T))
  H == if x > 0 { 0 } else { 3 } at t = 0
  H == 3 at x = 0
  H_x == 0 at x = 1
}
max(solve(melting_by_flux(), fd(n = 201)).H(0.05, [0.1, 0.25]) - 1, 0)    #~ [1.33149035, 0.46239318] tol 2e-3

# ---- a derivative of a step, and a beam whose stiffness jumps
problem point_load {
  domain x in [0, 1]
  field u
  u_xx == d(if x < 0.5 { 0 } else { 1 }, x)
  u == 0 at x = 0, x = 1
}
solve(point_load, fd(n = 81)).u(0.5)         #~ -0.25 tol 2e-3
problem beam {
  domain x in [0, 1]
  field u
  ∂x²((if x < 0.5 { 1 } else { 2 })*u_xx) == 1
  u == 0 at x = 0, x = 1
  u_xx == 0 at x = 0, x = 1
}
s = solve(beam, fd(n = 81));
s.u(0.5)                                     #~ 0.009765625 tol 2e-4
abs(s.u(0.5)/0.009765625 - 1) <= 3*s.error   #> true

# ---- expressions proven smooth enough for every method
# Factors outside a derivative, jumps in another coordinate, kinks under one
# derivative, continuous tables.
problem fine {
  domain t in [0, 0.1], x in [0, 1]
  field u
  u_t == ∂x((if t < 5 { 1 } else { 2 })*u_x) + ∂x(max(u, -9)*u_x) + (if x < 2 { 1 } else { 3 })*u_xx + ∂x(interp(x, [0.0, 1], [1.0, 1])*∂x(u)) + ∂x²(1/(2 + u^2))
  u == sin(π*x) at t = 0
  u == 0 at x = 0, x = 1
}
solve(fine, chebyshev(n = 24)).u(0.1, 0.5)   #~ solve(fine, fd(n = 81)).u(0.1, 0.5) tol 1e-5

# ---- finite elements: fluxes as written, with terms besides derivatives
solve(wall(), fem(h = 0.05)).u(0.25)         #~ 2/3 tol 1e-10
problem darcy {
  domain x in [0, 1]
  field u
  ∂x((if x < 0.25 { 1 } else { 6 })*(∂x(u) - 1)) == 0
  u == 0 at x = 0, x = 1
}
# u_x = 1 + q/k and u(1) = 0: q = -1/0.375
solve(darcy, fem(h = 0.05)).u(0.25)          #~ 0.25 - 0.25/0.375 tol 1e-10
solve(darcy, fd(n = 41)).u(0.25)             #~ 0.25 - 0.25/0.375 tol 1e-10
# A smooth factor of the derivative, integrated by parts.
problem shell {
  domain r in [1, 2]
  field u
  1/r*∂r(r*(if r < 1.5 { 1 } else { 6 })*∂r(u)) == 0
  u == 0 at r = 1
  u == 1 at r = 2
}
solve(shell, fem(h = 0.02, order = 2)).u(1.5)   #~ log(1.5)/(log(1.5) + log(2/1.5)/6) tol 1e-8
solve(shell, fd(n = 101)).u(1.5)             #~ log(1.5)/(log(1.5) + log(2/1.5)/6) tol 1e-6
solve(point_load, fem(h = 0.05)).u(0.5)      #~ -0.25 tol 1e-10
# a factor that jumps has no weak form
problem divided {
  domain x in [0, 1]
  field u
  (if x < 0.5 { 1 } else { 3 })*∂x((if x < 0.25 { 1 } else { 6 })*∂x(u)) == -1
  u == 0 at x = 0, x = 1
}
try { solve(divided, fem(h = 0.05)).u(0.5) < 0 } catch e { contains(e, "divide the equation by it") }   #> true
# Coefficients that switch with the unknowns need fd() in t.
problem switching {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == ∂x((if u < 0.5 { 1 } else { 4 })*∂x(u))
  u == x at t = 0
  u == 0 at x = 0
  u == 1 at x = 1
}
solve(switching, fd(n = 41)).u(1.0, [0.2, 0.5])    #~ [0.5, 0.6875] tol 1e-5
try { solve(switching, fem(h = 0.1)).u(1.0, 0.5) < 0 } catch e { contains(e, "fd()") }    #> true
# Finite volumes accept fluxes of outermost derivatives only.
problem conducting {
  domain t in [0, 3], x in [0, 1]
  field u
  u_t == ∂x((if x < 0.25 { 1 } else { 6 })*∂x(u))
  u == x at t = 0
  u == 0 at x = 0
  u == 1 at x = 1
}
solve(conducting, fv(n = 80)).u(3.0, 0.25)   #~ 2/3 tol 2e-2
try { solve(melting, fv(n = 50)).H(0.05, 0.1) < 0 } catch e { contains(e, "fv() derives by the rules of calculus") }    #> true
