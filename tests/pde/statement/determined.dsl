# Conditions that make a solution unique: a value at one point, a mean, a norm;
# open ends. Problems with several solutions are refused.

# ---- unique up to a constant
# A value at any point fixes the constant. Manufactured solution:
# cos(π*x)*cos(2π*y).
problem pinned(a = 0.0, b = 0.0, v = 1.0) {
  domain x in [0, 1], y in [0, 1]
  field u
  -lap(u) == 5π^2*cos(π*x)*cos(2π*y)
  ∂n(u) == 0 at boundary
  u == v at (a, b)
}
right(x, y) = cos(π*x)*cos(2π*y)
solve(pinned(), chebyshev(n = 12)).u(0.3, 0.2)    #~ right(0.3, 0.2) tol 1e-6
solve(pinned(), fd(n = 21)).u(0.3, 0.2)           #~ right(0.3, 0.2) tol 0.01
# at a point that is no node
s = solve(pinned(0.37, 0.81, 2.0), fd(n = 21));
s.u(0.37, 0.81)    #~ 2.0 tol 1e-12
s.u(0.3, 0.2)      #~ 2 + right(0.3, 0.2) - right(0.37, 0.81) tol 0.02
# the derivative with respect to this value
(v -> solve(pinned(0.0, 0.0, v), fd(n = 21, order = 2)).u(0.3, 0.2))'(1.0)    #~ 1.0 tol 1e-9

# Without such a value, the mean over the nodes is 0: cos(2π*x)*cos(4π*y).
problem torus {
  domain x in [0, 1] periodic, y in [0, 1] periodic
  field u
  -lap(u) == 20π^2*cos(2π*x)*cos(4π*y)
}
s = solve(torus, fourier(n = 16));
s.u(0.1, 0.2)    #~ cos(0.2π)*cos(0.8π) tol 1e-9
# On a line, in a system with another field that is determined.
problem line {
  domain x in [0, 1]
  field u, w
  u_xx == cos(π*x)
  w_xx - w == u_x
  u_x == 0 at x = 0, x = 1
  w == 0 at x = 0, x = 1
}
s = solve(line, chebyshev(n = 20));
s.u(0.0) - s.u(0.5)    #~ -1/π^2 tol 1e-9
solve(line, fd(n = 41)).w(0.3)    #~ s.w(0.3) tol 1e-5
# Unbalanced fluxes have no solution.
problem lost {
  domain x in [0, 1], y in [0, 1]
  field u
  -lap(u) == 1
  ∂n(u) == 0 at boundary
  u == 0 at (0, 0)
}
said = try { str(solve(lost, fd(n = 21)).u(0.5, 0.5)) } catch m { m }
contains(said, "do not balance")    #> true

# ---- an eigenproblem whose condition sets the amplitude: sin(π*x)/π
problem string {
  domain x in [0, 1]
  field u
  eigen λ
  -u_xx == λ*u
  u == 0 at x = 0, x = 1
  u_x == 1 at x = 0
}
for m in (fd(n = 101), chebyshev(n = 20)) {
  s = solve(string, m)
  assert(abs(s.λ/π^2 - 1) < 1e-5 and abs(s.u(0.5) - 1/π) < 1e-5, m.name)
  assert(max(abs(s.values/(π*(1 + iota(6)))^2 - 1)) < 1e-3, m.name)
}

# ---- a scalar conservation law with open ends: a fan from 0.9 to 0.2
problem traffic {
  domain t in [0, 0.3], x in [-1, 1]
  field u
  u_t + ∂x(u*(1 - u)) == 0
  u == if x < 0 { 0.9 } else { 0.2 } at t = 0
}
solve(traffic, fv(n = 100)).u(0.3, 0.0)    #~ 0.5 tol 0.02

# ---- resonance
# There is one solution for each amplitude of a mode, or none. Methods would
# return an arbitrary one.
problem resonant(a = 0.0, b = 0.0, f = 0.0, k = π) {
  domain x in [0, 1]
  field u
  u_xx + k^2*u == f*sin(2π*x)
  u == a at x = 0
  u == b at x = 1
}
is_refused(p, m) = contains(try { solve(p, m).method } catch m { m }, "do not determine")
ways = (collocation(), collocation(6), fd(n = 41), fd(n = 81, order = 2), fem(0.02), fem(0.05, order = 2));
map(m -> is_refused(resonant(f = 1.0), m), ways)                #> (true, true, true, true, true, true)
map(m -> is_refused(resonant(a = 1.0, b = -1.0), m), ways)      #> (true, true, true, true, true, true)
map(m -> is_refused(resonant(a = 1.0, b = 1.0), m), ways)       #> (true, true, true, true, true, true)
map(m -> is_refused(resonant(), m), ways)                       #> (true, true, true, true, true, true)
# Close to resonance and far from it, the solution is unique.
map(m -> is_refused(resonant(f = 1.0, k = 1.01π), m), ways)     #> (false, false, false, false, false, false)
solve(resonant(a = 1.0, k = 1.01π)).u(0.5)                      #~ sin(0.505π)/sin(1.01π) tol 1e-4
# A solution without layers is accepted, although other data would produce
# layers.
problem calm(eps = 1e-3) {
  domain x in [0, 1]
  field u
  -eps*u_xx + u_x == eps*π^2*sin(π*x) + π*cos(π*x)
  u == 0 at x = 0, x = 1
}
map(m -> solve(calm, m).u(0.5), (collocation(), fd(n = 41), fem(0.02)))    #~ (1.0, 1.0, 1.0) tol 2e-2
# in two dimensions
problem membrane {
  domain x in [0, 1], y in [0, 1]
  field u
  lap(u) + 5π^2*u == sin(π*x)*sin(π*y)
  u == 0 at boundary
}
is_refused(membrane, fd(n = 41))    #> true
is_refused(membrane, fem(0.05))     #> true
# with random features and with shooting, whatever solution they find
others = (rfm(), shooting())
map(m -> is_refused(resonant(f = 1.0), m), others)                #> (true, true)
map(m -> is_refused(resonant(a = 1.0, b = -1.0), m), others)      #> (true, true)
map(m -> is_refused(resonant(), m), others)                       #> (true, true)
map(m -> solve(resonant(a = 1.0, k = 1.001π), m).u(0.5), others)  #~ (sin(0.5005π)/sin(1.001π), sin(0.5005π)/sin(1.001π)) tol 1e-4
problem compatible {
  domain x in [0, 1]
  field u
  u_xx + π^2*u == sin(2π*x)
  u == 0 at x = 0, x = 1
}
map(m -> is_refused(compatible, m), (...others, collocation(), chebyshev()))   #> (true, true, true, true)
is_refused(membrane, rfm())                                       #> true

# ---- duplicate conditions: one would be lost
said(p, m) = try { str(solve(p, m).u(0.5)) } catch e { e }
problem twice {
  domain x in [0, 1]
  field u
  u_xx == 1
  u == 0 at x = 0
  u == 1 at x = 0
}
problem twice_in_time {
  domain t in [0, 1]
  field u
  u_tt == 1
  u == 0 at t = 0
  u == 1 at t = 0
}
map(p -> contains(said(p, none), "one of them would be lost"), (twice, twice_in_time))    #> (true, true)
contains(said(twice, fem(0.1)), "one of them would be lost")      #> true
