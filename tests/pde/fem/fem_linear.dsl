# Conjugate gradients with algebraic multigrid for finite elements: iteration
# counts that hardly grow, agreement with factorisation, derivatives, refusals,
# and the default choice.
# As users run it only: compiling all of it takes minutes.
# In a long check only: it takes half a minute.

problem brick {
  domain (x, y, z) in box([0, 1], [0, 1], [0, 1])
  field u
  -Δ(u) == x
  u == 0 at boundary
}
problem plate(k = 1.0) {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  -k*Δ(u) + 3*u == x
  u == 0 at boundary
}
by(p, h, order, w) = solve(p, fem(h = h, order = order, linear = w), estimate = false)
steps(p, h, order) = by(p, h, order, "amg").stats.iterations

# ---- h halved three times: at most half as many more iterations
a = steps(plate(), 1/40, 1)
(steps(plate(), 1/80, 1) <= 1.5*a, steps(plate(), 1/160, 1) <= 1.5*a, steps(plate(), 1/320, 1) <= 1.5*a, a > 5, a < 20)        #> (true, true, true, true, true)
b = steps(brick, 1/12, 1)
(steps(brick, 1/24, 1) <= 1.5*b, b > 5, b < 20)      #> (true, true, true)
steps(plate(), 1/48, 2) < 40         #> true
# With Jacobi preconditioning, iterations grow as 1/h.
by(plate(), 1/96, 1, "cg").stats.iterations > 10*a   #> true

# ---- agreement with factorisation, elements of order 1 to 3
values(w, order) = by(plate(2.0), 1/40, order, w).u([0.2, 0.5], [0.3, 0.9])
values("amg", 1)     #~ values("direct", 1) tol 1e-11
values("amg", 2)     #~ values("direct", 2) tol 1e-11
values("amg", 3)     #~ values("direct", 3) tol 1e-11

# ---- coefficients that jump by 1e4, with cells of aspect ratio up to 250
problem jump {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  -∇·((1 + 1e4*(0.5 + 0.5*tanh(1000*(abs(x - 0.5) - 0.25))))*∇(u)) == 1
  u == 0 at boundary
}
s = by(jump, 1/64, 1, "amg");
s.stats.iterations < 40      #> true
s.u(0.5, 0.5)        #~ by(jump, 1/64, 1, "direct").u(0.5, 0.5) tol 1e-10

# ---- elasticity in two and three dimensions: a bar held at one end
# The near null space of the levels includes rotations.
problem bar {
  domain (x, y) in box([0, 4], [0, 1])
  field v[2]
  -0.7*Δ(v) - 1.7*grad(div(v)) == [0, -1e-2]
  v == [0, 0] at left
  div(v)*normal + 0.7*(grad(v) + grad(v)')@normal == [0, 0] at right, bottom, top
}
s = by(bar, 1/16, 1, "amg");
(s.stats.iterations < 40, 8*s.stats.iterations < by(bar, 1/16, 1, "cg").stats.iterations)    #> (true, true)
s.v(4.0, 0.5)        #~ by(bar, 1/16, 1, "direct").v(4.0, 0.5) tol 1e-7
problem beam {
  domain (x, y, z) in box([0, 4], [0, 1], [0, 1])
  field v[3]
  -0.7*Δ(v) - 1.7*grad(div(v)) == [0, 0, -1e-2]
  v == [0, 0, 0] at left
  div(v)*normal + 0.7*(grad(v) + grad(v)')@normal == [0, 0, 0] at right, bottom, top, front, back
}
s = by(beam, 1/4, 1, "amg");
s.stats.iterations < 30      #> true
s.v(4.0, 0.5, 0.5)   #~ by(beam, 1/4, 1, "direct").v(4.0, 0.5, 0.5) tol 1e-7

# ---- Newton's method, with the levels of the first matrix
problem bent {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  -Δ(u) + 30*u^3 == 100*x
  u == 0 at boundary
}
s = by(bent, 1/48, 1, "amg");
(s.stats.newton > 2, s.stats.iterations < 25)        #> (true, true)
s.u(0.4, 0.7)        #~ by(bent, 1/48, 1, "direct").u(0.4, 0.7) tol 1e-10

# ---- derivatives by implicit differentiation
at(k, w) = by(plate(k), 1/40, 1, w).u(0.3, 0.6)
(k -> at(k, "amg"))'(1.3)    #~ (k -> at(k, "direct"))'(1.3) tol 1e-10
grad(k -> at(k, "amg"))(1.3) #~ (k -> at(k, "direct"))'(1.3) tol 1e-10

# ---- unsupported problems are refused
problem wind {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  -Δ(u) + 20*u_x == 1
  u == 0 at boundary
}
contains(try { str(by(wind, 1/8, 1, "amg").u(0.5, 0.5)) } catch e { str(e) }, "fem(linear = \"amg\") is for symmetric matrices, and that of wind is not")  #> true
problem ringing {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  -Δ(u) - 200*u == x
  u == 0 at boundary
}
contains(try { str(by(ringing, 1/40, 1, "amg").u(0.5, 0.5)) } catch e { str(e) }, "the matrix is not positive definite; fem(linear = \"direct\") serves it")        #> true
problem stokes {
  domain (x, y) in box([0, 1], [0, 1])
  field v[2], p
  Δ(v) == grad(p)
  div(v) == 0
  v == [1, 0] at y = 1
  v == [0, 0] at x = 0, x = 1, y = 0
  p == 0      at (0, 0)
}
contains(try { str(by(stokes, 1/4, 2, "amg").v(0.5, 0.5)) } catch e { str(e) }, "is for positive definite matrices, and that of stokes is not")         #> true

# ---- Δ(u) == f has a negative definite matrix; two coupled unknowns
problem pair {
  domain (x, y) in box([0, 1], [0, 1])
  field u, w
  Δ(u) - u + w == -1
  Δ(w) + u - w == x
  u == 0 at boundary
  w == 0 at boundary
}
s = by(pair, 1/40, 1, "amg");
s.stats.iterations < 20      #> true
s.w(0.4, 0.6)        #~ by(pair, 1/40, 1, "direct").w(0.4, 0.6) tol 1e-11
# estimates by elements of one order more, dual solutions, adaptive meshes
s.error_in(s -> s.u(0.5, 0.5)).correction    #~ by(pair, 1/40, 1, "direct").error_in(s -> s.u(0.5, 0.5)).correction tol 1e-9
solve(pair, fem(order = 2, adapt = 1e-2, linear = "amg")).error < 1e-2       #> true

# ---- default
# Factorisation for few unknowns, in two dimensions, and for matrices that are
# not symmetric definite; multigrid beyond 20,000 unknowns in three dimensions.
by(brick, 1/8, 1, "auto").stats.linear       #> sparse factors
by(plate(), 1/160, 1, "auto").stats.linear   #> sparse factors
s = by(brick, 1/29, 1, "auto");
(s.stats.unknowns, s.stats.linear)   #> (21952, "conjugate gradients with algebraic multigrid")
s.u(0.4, 0.5, 0.6)   #~ by(brick, 1/29, 1, "direct").u(0.4, 0.5, 0.6) tol 1e-11
explain(s)[-62..]    #> linear systems by conjugate gradients with algebraic multigrid
problem humming {
  domain (x, y, z) in box([0, 1], [0, 1], [0, 1])
  field u
  -Δ(u) - 200*u == x
  u == 0 at boundary
}
by(humming, 1/29, 1, "auto").stats.linear    #> sparse factors
