# Derivatives of every order of event times of differential-algebraic equations
# with a nonlinear algebraic equation. Oracle: a fall from height 1 with
# acceleration g takes T = sqrt(2/g), so T' = -1/sqrt(2 g^3), T'' = 3/4 sqrt(2)
# g^-2.5, T''' = -15/8 sqrt(2) g^-3.5.
problem fall(g) {
  domain t in [0, 5]
  field h, v, w
  h_t == v
  v_t == -w
  w^3 == g^3 + 0*h
  h == 1 at t = 0
  v == 0 at t = 0
  w == 2 at t = 0
  event hit: h falling terminal
}
T(g) = solve(fall(g); rtol = 1e-9, atol = 1e-11).events.hit.times[0]
T(2.0)                        #~ 1 tol 1e-8
T'(2.0)                       #~ -1/4 tol 1e-7
T''(2.0)                      #~ 3/16 tol 1e-6
T'''(2.0)                     #~ -15/64 tol 1e-6
grad(T)(2.0)                  #~ -1/4 tol 1e-7
grad(g -> T'(g))(2.0)         #~ 3/16 tol 1e-6
# At the event, the speed is -sqrt(2 g) and the algebraic unknown is g.
at_hit(g) = solve(fall(g); rtol = 1e-9, atol = 1e-11).events.hit.states[0]
speed(g) = at_hit(g)[1]
speed'(2.0)                   #~ -1/2 tol 1e-7
speed''(2.0)                  #~ 1/8 tol 1e-6
(g -> at_hit(g)[2])'(2.0)     #~ 1 tol 1e-7
(g -> at_hit(g)[2])''(2.0)    #~ 0 tol 1e-5

# The acceleration depends on the height through an algebraic unknown: h_t = -w
# with w^2 = c h + 1, so w_t = -c/2 and w(t) = sqrt(1 + c) - c t/2. h = 1/2
# where w = sqrt(1 + c/2), at T = 2 (sqrt(1 + c) - sqrt(1 + c/2))/c.
problem drain(c) {
  domain t in [0, 3]
  field h, w
  h_t == -w
  w^2 == c*h + 1
  h == 1 at t = 0
  w == 1.4 at t = 0
  event half: h - 0.5 falling terminal
}
D(c) = solve(drain(c); rtol = 1e-9, atol = 1e-11).events.half.times[0]
E(c) = 2*(sqrt(1 + c) - sqrt(1 + c/2))/c
D(1.0)                        #~ E(1.0) tol 1e-8
D'(1.0)                       #~ E'(1.0) tol 1e-6
D''(1.0)                      #~ E''(1.0) tol 1e-5
D'''(1.0)                     #~ E'''(1.0) tol 1e-5

# A ball that rebounds with half its speed: impacts at T, 2T, 2.5T ...
problem bounce(g) {
  domain t in [0, 2.2]
  field h, v, w
  h_t == v
  v_t == -w
  w^3 == g^3 + 0*h
  h == 1 at t = 0
  v == 0 at t = 0
  w == 2 at t = 0
  event hit: h falling { v = -0.5*v }
}
B(g) = solve(bounce(g); rtol = 1e-9, atol = 1e-11).events.hit.times[1]
B(2.0)                        #~ 2 tol 1e-7
B'(2.0)                       #~ -1/2 tol 1e-6
B''(2.0)                      #~ 3/8 tol 1e-5
