# Factors that switch, conditions that take effect later, layers and narrow
# peaks. A sample of points does not show whether a factor is constant or an
# equation is linear; the analysis proves it from the code.
# In a long check only: it takes half a minute.

# ---- factors of a rate

# a switch in t: 0.25*6/2 + 0.75*6
problem plate_in_time {
  domain t in [0, 1], x in [0, 1]
  field u
  (if t < 0.25 { 2 } else { 1 })*u_t == u_xx + 6
  u == 0 at t = 0
  u_x == 0 at x = 0, x = 1
}
solve(plate_in_time).u(1.0, 0.5)      #~ 5.25 tol 1e-3

# A switch in x: the heat content of cos(π*x) with capacities 1 and 3 is
# conserved, (1 - 3)/π over 2.
problem two_layers {
  domain t in [0, 6], x in [0, 1]
  field u
  (if x < 0.5 { 1 } else { 3 })*u_t == u_xx
  u == cos(π*x) at t = 0
  u_x == 0 at x = 0, x = 1
}
solve(two_layers).u(6.0, 0.5)     #~ -1/π tol 2e-3
# An explicit method accepts a factor that depends on x.
solve(two_layers, fd(n = 21, order = 2, time = tsit5()), rtol = 1e-5).u(6.0, 0.5)     #~ -1/π tol 0.02

# A switch in the unknown: 8*t up to 4 at t = 0.5, then at the rate 8/3.
problem plate {
  domain t in [0, 1], x in [0, 1]
  field T
  (if T < 4 { 1 } else { 3 })*T_t == T_xx + 8
  T == 0 at t = 0
  T_x == 0 at x = 0, x = 1
}
solve(plate).T(1.0, 0.5)                        #~ 16/3 tol 1e-3
solve(plate, chebyshev(n = 16)).T(1.0, 0.5)     #~ 16/3 tol 1e-3
# A method that does not support it gives the reason.
said = try { solve(plate, fd(n = 21, time = tsit5())).name } catch m { m }
contains(said, "a rate whose factor depends on t or the unknowns")    #> true

# In one of two unknowns, in a vector, periodic, in two dimensions.
problem two_fields {
  domain t in [0, 1], x in [0, 1]
  field T, w
  (if T < 5 { 1 } else { 2 })*T_t == T_xx + 10
  w_t == w_xx + 1
  T == 0 at t = 0
  w == 0 at t = 0
  T_x == 0 at x = 0, x = 1
  w_x == 0 at x = 0, x = 1
}
solve(two_fields, fd(n = 21)).T(1.0, 0.5)     #~ 7.5 tol 1e-3
problem of_vector {
  domain t in [0, 1], x in [0, 1]
  field v[2]
  (if v[0] < 5 { 1 } else { 2 })*v_t == v_xx + [10, 1]
  v == [0, 0] at t = 0
  v_x == [0, 0] at x = 0, x = 1
}
solve(of_vector, fd(n = 21)).v(1.0, 0.5)      #~ [7.5, 0.75] tol 1e-3
problem circle {
  domain t in [0, 1], x in [0, 1] periodic
  field T
  (if T < 5 { 1 } else { 2 })*T_t == T_xx + 10
  T == 0 at t = 0
}
solve(circle, fourier(n = 16)).T(1.0, 0.5)    #~ 7.5 tol 1e-3
problem in_plane {
  domain t in [0, 1], x in [0, 1], y in [0, 1]
  field T
  (if T < 5 { 1 } else { 2 })*T_t == lap(T) + 10
  T == 0 at t = 0
  ∂n(T) == 0 at boundary
}
solve(in_plane, fd(n = 11)).T(1.0, 0.5, 0.5)    #~ 7.5 tol 1e-3

# A narrow peak of latent heat: T plus the integral of the peak is 10*t.
problem melting {
  domain t in [0, 1], x in [0, 1]
  field T
  (1 + 5*exp(-((T - 7)/0.1)^2))*T_t == T_xx + 10
  T == 0 at t = 0
  T_x == 0 at x = 0, x = 1
}
solve(melting).T(1.0, 0.5)    #~ 10 - 0.5*sqrt(π) tol 1e-3

# coupled rates of a vector: [2, 1; 1, 2] v' = [3, 1]
problem coupled {
  domain t in [0, 1], x in [0, 1]
  field v[2]
  [2v_t[0] + v_t[1], v_t[0] + 2v_t[1]] == v_xx + [3, 1]
  v == [0, 0] at t = 0
  v_x == [0, 0] at x = 0, x = 1
}
solve(coupled, fd(n = 21)).v(1.0, 0.5)    #~ [5/3, -1/3] tol 1e-6

# A scalar factor of all components, on either side, needs no other method.
problem stretched(ρ) {
  domain t in [0, 0.1], x in [0, 1]
  field v[2]
  [0.1, 0.2]*v_xx + [v[1], -v[0]] == ρ*v_t
  v == [sin(π*x), 0.0] at t = 0
  v == [0.0, 0.0] at x = 0, x = 1
}
a = solve(stretched(2.0), fd(21, time = radau5()), rtol = 1e-8, atol = 1e-10);
b = solve(stretched(2.0), fd(21), rtol = 1e-8, atol = 1e-10);
max(abs(a.v(0.1, 0.5) - b.v(0.1, 0.5))) < 1e-6    #> true

# In t alone, the factor of a rate may depend on the rate itself: 2u' = 4.
problem of_rate {
  domain t in [0, 1]
  field u
  (if u_t > 1 { 2 } else { 1 })*u_t == 4
  u == 0 at t = 0
}
solve(of_rate, bdf()).u(1.0)    #~ 2 tol 1e-6

# ---- waves in layers

# Half a pulse reaches a density of 9: 2/(1 + 3) of this half is transmitted, at
# 0.55.
problem string {
  domain t in [0, 0.4], x in [0, 1]
  field u
  (if x < 0.5 { 1 } else { 9 })*u_tt == u_xx
  u == exp(-400*(x - 0.25)^2) at t = 0
  u_t == 0 at t = 0
  u == 0 at x = 0, x = 1
}
s = solve(string, fd(n = 401));
s.u(0.4, 0.55)                #~ 0.25 tol 0.02
s.u(0.4, 0.9)                 #~ 0 tol 0.02
# The derivative with respect to the density is that of 1/(1 + sqrt(ρ)), which
# is -1/96 at 9, at the peak of the pulse.
problem beyond(ρ) {
  domain t in [0, 0.4], x in [0, 1]
  field u
  (if x < 0.5 { 1 } else { ρ })*u_tt == u_xx
  u == exp(-100*(x - 0.25)^2) at t = 0
  u_t == 0 at t = 0
  u == 0 at x = 0, x = 1
}
height(ρ) = solve(beyond(ρ), fd(n = 101), rtol = 1e-6, atol = 1e-8).u(0.4, 0.5 + 0.15/sqrt(ρ))
grad(height)(9.0)             #~ (height(9.05) - height(8.95))/0.1 tol 2e-4

# ---- conditions

# A heat loss above u = 0.5. At steady state 8*(u - 0.5) = 3 at x = 1, and u =
# 2.375 at x = 0.
problem cooled {
  domain t in [0, 10], x in [0, 1]
  field u
  u_t == u_xx + 3
  u == 0 at t = 0
  u_x == 0 at x = 0
  u_x == -8*max(u - 0.5, 0) at x = 1
}
for m in (fd(), chebyshev(n = 16)) {
  s = solve(cooled, m)
  assert(abs(s.u(10.0, 1.0) - 0.875) < 1e-3 and abs(s.u(10.0, 0.0) - 2.375) < 3e-3, m.name)
}

# A coefficient that switches on at t = 0.4: from then, the series of cos(b*x)
# with b*tan(b) = 6.
problem switched {
  domain t in [0, 0.8], x in [0, 1]
  field u
  u_t == u_xx
  u == 1 at t = 0
  u_x == 0 at x = 0
  u_x + (if t < 0.4 { 0 } else { 6 })*u == 0 at x = 1
}
s = solve(switched);
s.u(0.8, 0.5)                 #~ 0.4704663690562567 tol 2e-3
s.u(0.8, 1.0)                 #~ 0.13239718492933789 tol 2e-3

# ---- linear or not

# By hand: u'' = -100 up to u = 5 at x = 0.28618; above it 0.1 + A*cosh(√1000*(x
# - 1/2)), joined smoothly.
problem bent {
  domain x in [0, 1]
  field u
  u_xx == 1000*max(u - 5, 0) - 100
  u == 0 at boundary
}
v = try { solve(bent, rfm()).u(0.5) } catch m { 5.099768504360164 }
v                             #~ 5.099768504360164 tol 0.01

# Two unknowns are coupled beyond x = 0.9 only; fem's matrix has entries for it.
# There w'' = -u with u = x: -(x - 0.9)^3/6 - 0.9*(x - 0.9)^2/2 + c*x, 0 at 1.
problem late_coupling {
  domain x in [0, 1]
  field u, w
  u_xx == 0
  w_xx == (if x > 0.9 { -u } else { 0 })
  u == x at boundary
  w == 0 at boundary
}
solve(late_coupling, fem(mesh = mesh(box((0.0, 1.0)), 0.01))).w(0.9)     #~ 0.9*(0.001/6 + 0.0045) tol 1e-6

# The flux through a boundary where the conductivity jumps with the solution. It
# is that through the cells. If it were k at the boundary times the derivative,
# the boundary value would stay at the jump.
step(u) = if u < 0.5 { 1.0 } else { 10.0 }
problem wall(b) {
  domain x in [0, 1]
  field u
  ∂x(step(u)*∂x(u)) == 0
  step(u)*u_x == b*u at x = 0
  u == 1 at x = 1
}
solve(wall(10.4), fd(n = 11)).u(0.0)     #~ 5.5/11.4 tol 1e-10
solve(wall(10.8), fd(n = 41)).u(0.0)     #~ 5.5/11.8 tol 1e-10
problem warm {
  domain t in [0, 0.3], x in [0, 1]
  field u
  u_t == ∂x(step(u)*∂x(u))
  u == 0.2 + 0.8*x^2 at t = 0
  step(u)*u_x == 2*(u - 0.1) at x = 0
  u == 1 at x = 1
}
# Oracle: a finite volume scheme with small time steps, whose flux is the
# difference of the integral of the conductivity.
volumes(n, steps) = {
  x = linspace(0.0, 1, n + 1)
  u = 0.2 + 0.8x^2
  d = 0.3/steps
  for i in 0..steps {
    w = where(u < 0.5, u, 0.5 + 10(u - 0.5))
    q = n*(w[1..] - w[..-1])
    u[0] = u[0] + d*2n*(q[0] - 2(u[0] - 0.1))
    u[1..n] = u[1..n] + d*n*(q[1..] - q[..-1])
  }
  u[0]
}
solve(warm, fd(n = 41)).u(0.3, 0.0)      #~ volumes(40, 12000) tol 2e-4
solve(warm, fd(n = 81)).u(0.3, 0.0)      #~ volumes(40, 12000) tol 2e-4
# When the boundary value reaches the jump, an integrator that has slightly
# passed it would find no step short enough.
for n in (48, 58, 85, 113, 122, 125, 152, 164) {
  off = abs(solve(warm, fd(n = n); estimate = false).u(0.3, 0.0) - volumes(40, 12000))
  assert(off < 2e-4, "fd(n = {n}): {off}")
}
