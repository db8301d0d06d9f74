# Boundary value problems against closed forms, published constants, and SciPy's
# solve_bvp (1.17, tol 1e-10), an independent implementation of the formula of
# order 4.
# As users run it only: compiling all of it takes long.
# In a long check only: it takes half a minute.

# ---- orders, on uniform meshes: y'' = y, at the middle node
middle(order, n) = bvp((t, y) -> [y[1], y[0]], (ya, yb) -> [ya[0] - 1, yb[0]], linspace(0.0, 5.0, n + 1), [0.0, 0.0]; method = collocation(order), rtol = 1e5, atol = 1e5).values[n//2, 0] - sinh(2.5)/sinh(5)
log2(middle(4, 16)/middle(4, 32))       #~ 4 tol 0.1
log2(middle(6, 8)/middle(6, 16))        #~ 6 tol 0.1
log2(middle(8, 4)/middle(8, 8))         #~ 8 tol 0.15
# Between the nodes, the polynomials have orders 4, 5 and 6.
between(order, n) = { s = bvp((t, y) -> [y[1], y[0]], (ya, yb) -> [ya[0] - 1, yb[0]], linspace(0.0, 5.0, n + 1), [0.0, 0.0]; method = collocation(order), rtol = 1e5, atol = 1e5); max(map(t -> abs(s.y(t)[0] - sinh(5 - t)/sinh(5)), linspace(0.0, 5.0, 401))) }
log2(between(4, 20)/between(4, 40))     #~ 4 tol 0.2
log2(between(6, 20)/between(6, 40))     #~ 5 tol 0.3
log2(between(8, 10)/between(8, 20))     #~ 6 tol 0.3

# ---- Bratu: two solutions; u(1/2) = 2 log cosh(z), z = sqrt(λ/8) cosh(z)
bratu = (t, y) -> [y[1], -exp(y[0])]
walls = (ya, yb) -> [ya[0], yb[0]]
top(z) = 2*log(cosh(root(z -> z - cosh(z)/sqrt(8), z)))
low = bvp(bratu, walls, (0.0, 1.0), [0.0, 0.0]; rtol = 1e-9, atol = 1e-11);
low.y(0.5)[0]                           #~ top(0.4) tol 1e-9
high = bvp(bratu, walls, (0.0, 1.0), t -> [4sin(π*t), 4π*cos(π*t)]; rtol = 1e-9, atol = 1e-11);
high.y(0.5)[0]                          #~ top(2.2) tol 1e-8
high.y(0.5)[0]                          #~ 4.091467246189265 tol 1e-8
# The estimated error is close to the true one.
abs(high.y(0.5)[0] - top(2.2)) < 2*high.error[0] and high.error[0] < 1e-8       #> true
bvp(bratu, walls, (0.0, 1.0), t -> [4sin(π*t), 4π*cos(π*t)]; method = shooting(8), rtol = 1e-9, atol = 1e-11).y(0.5)[0]    #~ top(2.2) tol 1e-8
bvp(bratu, walls, (0.0, 1.0), t -> [4sin(π*t), 4π*cos(π*t)]; method = collocation(8), rtol = 1e-11, atol = 1e-13).y(0.5)[0]    #~ top(2.2) tol 1e-11

# ---- Troesch, by continuation from smaller μ
# y'(0) and y'(1) as tabulated by Roberts and Shipman, J. Comput. Phys. 10
# (1972) 232, to all their digits.
troesch(μ, guess) = bvp((t, y) -> [y[1], μ*sinh(μ*y[0])], (ya, yb) -> [ya[0], yb[0] - 1], (0.0, 1.0), guess; rtol = 1e-9, atol = 1e-11)
five = troesch(5.0, t -> [t, 1.0]);
five.values[0, 1]                       #~ 4.5750461e-2 tol 1e-8
five.values[-1, 1]                      #~ 12.100495 tol 1e-6
ten = troesch(10.0, five);
ten.values[0, 1]                        #~ 3.5833778e-4 tol 3e-7
ten.values[-1, 1]                       #~ 148.40642 tol 1e-5

# ---- boundary layers: Blasius, Falkner and Skan (SciPy, same interval)
skan(m) = bvp((t, y) -> [y[1], y[2], -(m + 1)/2*y[0]*y[2] - m*(1 - y[1]^2)], (a, b) -> [a[0], a[1], b[1] - 1], (0.0, 8.0), t -> [t, tanh(t), 1/cosh(t)^2]; rtol = 1e-9, atol = 1e-11).values[0, 2]
bvp((t, y) -> [y[1], y[2], -0.5*y[0]*y[2]], (a, b) -> [a[0], a[1], b[1] - 1], (0.0, 12.0), t -> [t, 1.0, 0.0]; rtol = 1e-9, atol = 1e-11).values[0, 2]      #~ 0.332057336215196 tol 1e-9
skan(0.5)                               #~ 0.8997168084962408 tol 1e-8
skan(2.0)                               #~ 1.7150679552036754 tol 1e-8

# ---- unknown parameters
# Mathieu's a_4(5) (DLMF 28.2; Abramowitz and Stegun, table 20.1), a nonlinear
# eigenvalue, and the period of van der Pol's oscillator (both SciPy).
q = 5.0
mathieu(m) = bvp((t, y, p) -> [y[1], -(p[0] - 2q*cos(2t))*y[0]], (a, b, p) -> [a[0] - 1, a[1], b[1]], (0.0, π), t -> [cos(4t), -4sin(4t)]; parameters = 15.0, method = m, rtol = 1e-8, atol = 1e-10).parameters
mathieu(collocation(6))                 #~ [17.096581684] tol 1e-8
mathieu(shooting(8))                    #~ [17.096581684] tol 1e-8
bvp((t, y, p) -> [y[1], -p[0]*y[0] - y[0]^3], (a, b, p) -> [a[0], b[0], a[1] - 1], (0.0, 1.0), t -> [sin(π*t)/π, cos(π*t)]; parameters = [9.0], rtol = 1e-9, atol = 1e-11).parameters       #~ [9.79344217] tol 1e-8
bvp((t, y, p) -> p[0]*[y[1], (1 - y[0]^2)*y[1] - y[0]], (a, b, p) -> [a[0] - b[0], a[1] - b[1], a[1]], (0.0, 1.0), t -> [2cos(2π*t), -2sin(2π*t)]; parameters = [6.0], rtol = 1e-8, atol = 1e-10).parameters       #~ [6.66328686] tol 1e-7

# ---- interior and end layers, on adapted meshes
# ε u'' + t u' = -ε π² cos πt - π t sin πt
ε = 1e-5
shock = bvp((t, y) -> [y[1], (-t*y[1] - ε*π^2*cos(π*t) - π*t*sin(π*t))/ε], (a, b) -> [a[0] + 2, b[0]], (-1.0, 1.0), [0.0, 0.0]; rtol = 1e-6);
max(map(t -> abs(shock.y(t)[0] - cos(π*t) - erf(t/sqrt(2ε))/erf(1/sqrt(2ε))), linspace(-1.0, 1.0, 401))) < 1e-6      #> true
shock.stats.nodes < 1000                #> true
edge = bvp((t, y) -> [y[1], -y[1]/ε], (a, b) -> [a[0], b[0] - 1], (0.0, 1.0), [0.0, 0.0]; rtol = 1e-6);
edge.y(2e-5)[0]                         #~ 1 - exp(-2) tol 1e-6

# ---- conditions at more than two points, which remain nodes
cubic = bvp((t, y) -> [y[1], y[2], 0*y[0]], Y -> [Y[0, 0], Y[1, 0] - 1, Y[2, 0]], (0.0, 1.0), [0.0, 0, 0]; at = [0.0, 0.3, 1.0]);
cubic.y(0.65)[0]                        #~ 0.65*0.35/0.21 tol 1e-12
bvp((t, y) -> [y[1], y[2], 0*t], Y -> [Y[0, 0], Y[1, 0] - 1, Y[2, 0]], (0.0, 1.0), [0.0, 0, 0]; at = [0.0, 0.3, 1.0]).y(0.65)[0]      #~ 0.65*0.35/0.21 tol 1e-12
third = bvp((t, y) -> [y[1], y[2], -50y[1] + sin(20t)], Y -> [Y[0, 0], Y[1, 0] - 1, Y[2, 1]], (0.0, 1.0), [0.0, 0, 0]; at = [0.0, 1/3, 1.0], rtol = 1e-8);
min(abs(third.times - 1/3)) < 1e-15     #> true
third.y(1/3)[0]                         #~ 1 tol 1e-9
bvp((t, y) -> [y[1], y[2], -50y[1] + sin(20t)], Y -> [Y[0, 0], Y[1, 0] - 1, Y[2, 1]], (0.0, 1.0), [0.0, 0, 0]; at = [0.0, 1/3, 1.0], method = shooting(5), rtol = 1e-9, atol = 1e-11).y(0.8)      #~ third.y(0.8) tol 1e-6

# ---- derivatives
# With respect to a parameter (closed form), to an end, and of an eigenvalue;
# both modes, both methods, second order.
mid(m) = λ -> bvp((t, y) -> [y[1], -λ*exp(y[0])], walls, (0.0, 1.0), [0.0, 0.0]; method = m, rtol = 1e-10, atol = 1e-12).y(0.5)[0]
exact(λ) = 2*log(cosh(root(z -> z - sqrt(λ/8)*cosh(z), 0.4)))
mid(collocation(8))'(1.0)               #~ exact'(1.0) tol 1e-9
grad(mid(collocation(8)))(1.0)          #~ exact'(1.0) tol 1e-9
mid(collocation(8))''(1.0)              #~ exact''(1.0) tol 1e-8
mid(shooting(4))'(1.0)                  #~ exact'(1.0) tol 1e-8
grad(mid(shooting(4)))(1.0)             #~ exact'(1.0) tol 1e-8
mid(shooting(4))''(1.0)                 #~ exact''(1.0) tol 1e-7
# On (0, b), u(b/2) is the value for λ b² on (0, 1).
wide(b) = bvp(bratu, walls, (0.0, b), [0.0, 0.0]; method = collocation(6), rtol = 1e-10, atol = 1e-12).y(b/2)[0]
wide'(1.0)                              #~ 2*exact'(1.0) tol 1e-8
# The derivative of Mathieu's a_0(q), by its expansion -q²/2 + 7q⁴/128.
a0(q) = bvp((t, y, p) -> [y[1], -(p[0] - 2q*cos(2t))*y[0]], (a, b, p) -> [a[0] - 1, a[1], b[1]], (0.0, π), [1.0, 0.0]; parameters = 0.0, method = collocation(6), rtol = 1e-9, atol = 1e-11).parameters[0]
a0(0.1)                                 #~ -0.005 + 7*1e-4/128 - 29*1e-6/2304 tol 1e-9
a0'(0.1)                                #~ -0.1 + 28*1e-3/128 - 6*29*1e-5/2304 tol 1e-7

# ---- errors
said(f) = try { f(); "nothing" } catch m { m }
said(() -> bvp(bratu, (a, b) -> [a[0]], (0.0, 1.0), [0.0, 0.0]))        #> bvp: 1 condition for 2 unknowns: as many are wanted
said(() -> bvp(bratu, walls, (1.0, 0.0), [0.0, 0.0]))                   #> bvp: the interval goes from a smaller to a larger finite number, not from 1.0 to 0.0
said(() -> bvp((t, y) -> [y[1], 1/y[0]], walls, (0.0, 1.0), [0.0, 0.0]))[..50]         #> bvp: equation 1 near t = 0 is not finite at the gu
# y'' = -π² y has many solutions with y(0) = y(1) = 0 and none with y(1) = 1.
# Past the fold, at λ = 4, Bratu's problem has none.
said(() -> bvp((t, y) -> [y[1], -π^2*y[0] + 1], walls, (0.0, 1.0), [0.0, 0.0]; rtol = 1e-12, atol = 1e-12)) != "nothing"    #> true
said(() -> bvp((t, y) -> [y[1], -4exp(y[0])], walls, (0.0, 1.0), [0.0, 0.0]))[..43]    #> bvp: Newton's method does not get on, after
said(() -> bvp((t, y) -> [y[1], 0*y[0]], (a, b) -> [a[1], b[1] - 1], (0.0, 1.0), [0.0, 0.0]))[..60]    #> bvp: the linear system of Newton's method is singular after
narrow = (a, b) -> [a[0], b[0] - 1]
thin(partial) = bvp((t, y) -> [y[1], y[0]/1e-8], narrow, (0.0, 1.0), [0.0, 0.0]; method = collocation(max_nodes = 40), partial = partial)
said(() -> thin(false))[..5]            #> bvp: 
thin(true).complete                     #> false

# ---- problems with conditions at both ends
problem bratus(λ = 1.0) {
  domain x in [0, 1]
  field u
  u_xx == -λ*exp(u)
  u == 0 at x = 0, x = 1
}
explain(bratus())[..42]                 #> bratus: conditions at both ends of x, so s
solve(bratus(), rtol = 1e-9, atol = 1e-11).u(0.5)        #~ top(0.4) tol 1e-9
upper = solve(bratus(), collocation(8), rtol = 1e-9, atol = 1e-11, guess = (u = x -> 4sin(π*x),));
upper.u(0.5)                            #~ top(2.2) tol 1e-9
upper.u_x(0.5)                          #~ 0 tol 1e-8
2*log(cosh(root(z -> z - sqrt(1.1/8)*cosh(z), 2.1)))     #~ solve(bratus(1.1), shooting(), rtol = 1e-9, atol = 1e-11, guess = upper).u(0.5) tol 1e-8
(λ -> solve(bratus(λ), collocation(8), rtol = 1e-9, atol = 1e-11).u(0.5))'(1.0)      #~ exact'(1.0) tol 1e-8
problem mathieus(q) {
  domain x in [0, π]
  field u
  eigen λ
  u_xx + (λ - 2q*cos(2x))*u == 0
  u == 1 at x = 0
  u_x == 0 at x = 0, x = π
}
w = solve(mathieus(5.0), collocation(6), guess = (u = x -> cos(4x), λ = 15.0), rtol = 1e-8, atol = 1e-10);
w.λ                                     #~ 17.096581684 tol 1e-8
(q -> solve(mathieus(q), collocation(6), rtol = 1e-9, atol = 1e-11, guess = (u = 1.0,)).λ)'(0.1)      #~ -0.1 + 28*1e-3/128 - 6*29*1e-5/2304 tol 1e-7
# A clamped and free beam under load (fourth order); a layer, as a system with
# all conditions on one unknown; vectors, with t as the coordinate.
problem beam {
  domain x in [0, 2]
  field w
  d(w, x, 4) == 24
  w == 0 at x = 0
  w_x == 0 at x = 0
  w_xx == 0 at x = 2
  w_xxx == 0 at x = 2
}
solve(beam()).w([1.0, 2.0])             #~ [1 - 8 + 24, 16 - 64 + 96] tol 1e-8
problem layer(ε = 0.1) {
  domain x in [0, 1]
  field u, v
  u_x == v
  ε*v_x == -v
  u == 0 at x = 0
  u == 1 at x = 1
}
solve(layer()).u(0.1)                   #~ (1 - exp(-1))/(1 - exp(-10)) tol 1e-6
problem springs(k = [1.0, 2]) {
  domain t in [0, 1]
  field y[2]
  y_tt == -k*y
  y == [0.0, 0]   at t = 0
  y == [1.0, 2.0] at t = 1
}
solve(springs(), rtol = 1e-8).y(0.5)    #~ [sin(0.5)/sin(1), 2sin(sqrt(2)/2)/sin(sqrt(2))] tol 1e-8
said(() -> solve(bratus(4.0)).u(0.5))[..46]              #> bratus: Newton's method does not get on, after

# Batched: each batch element has its own mesh.
map(mid(collocation(8)), [0.5, 1.0, 3.0])                #~ [exact(0.5), exact(1.0), exact(3.0)] tol 1e-9
grad(v -> sum(map(mid(collocation(6)), v)))([0.5, 1.0])  #~ [exact'(0.5), exact'(1.0)] tol 1e-8
map(mid(shooting(2)), [0.5, 1.0])                        #~ [exact(0.5), exact(1.0)] tol 1e-8

# ---- all conditions at one end: an initial value problem in x

problem started {
  domain x in [0, 1]
  field u
  u_xx == -u
  u == 0 at x = 0
  u_x == 1 at x = 0
}
problem ended {
  domain x in [0, 1]
  field u
  u_xx == -u
  u == 0 at x = 1
  u_x == 1 at x = 1
}
problem started_pair {
  domain x in [0, 1]
  field v[2]
  v_xx == -v
  v == [0, 1] at x = 0
  v_x == [1, 0] at x = 0
}
solve(started).method                                    #> auto
solve(ended).method                                      #> collocation
map(m -> solve(started, m).u(0.5), (none, collocation(), shooting(), chebyshev(), rfm(60)))    #~ (sin(0.5), sin(0.5), sin(0.5), sin(0.5), sin(0.5)) tol 1e-6
map(m -> solve(ended, m).u(0.5), (none, collocation(), shooting(), chebyshev(), rfm(60)))      #~ (-sin(0.5), -sin(0.5), -sin(0.5), -sin(0.5), -sin(0.5)) tol 1e-6
solve(started_pair).v(0.5)                               #~ [sin(0.5), cos(0.5)] tol 1e-6
contains(said(() -> solve(started, fd()).u(0.5)), "differences from both")    #> true
# an equation without a derivative, and a method that accepts it
problem loaded {
  domain x in [0, 1]
  field u, w
  u_xx == w
  w == sin(π*x)
  u == 0 at x = 0, x = 1
}
(solve(loaded).method, contains(said(() -> solve(loaded, collocation()).u(0.5)), "chebyshev() and fd() take others"))    #> ("chebyshev", true)
solve(loaded).u(0.5)                                     #~ -1/π^2 tol 1e-9

# ---- t alone, for methods that take coordinates of space

problem thrown {
  domain t in [0, 1]
  field u
  u_tt == -sin(π*t)
  u == 0 at t = 0, t = 1
}
map(m -> solve(thrown, m).u(0.5), (none, fd(), chebyshev(), fem(0.02, order = 2)))    #~ (1/π^2, 1/π^2, 1/π^2, 1/π^2) tol 1e-6
problem faded {
  domain t in [0, 1]
  field u
  u_t == -u
  u == 1 at t = 0
}
map(m -> solve(faded, m).u(0.5), (fd(), chebyshev()))    #~ (exp(-0.5), exp(-0.5)) tol 1e-8
problem tones {
  domain t in [0, 1]
  field u
  eigen λ
  u_tt + λ*u == 0
  u == 0 at t = 0, t = 1
  u_t == 1 at t = 0
}
map(m -> solve(tones, m).λ, (none, fd(), fem(0.02, order = 3)))     #~ (π^2, π^2, π^2) tol 1e-6
