# Further times of the problems of test_set_1.dsl, and further problems, by the
# methods of the library and by the default method. Sources: the Bari test set
# (Mazzia and Magherini) and Hairer and Wanner's stiff test set. Oracle:
# extrapolation or Radau IIA of order 13 in quadruple precision.

off(y, reference) = max(abs(y / reference - 1))

# HIRES continued to t = 421.8122
hires = (t, y) -> [-1.71y[0] + 0.43y[1] + 8.32y[2] + 0.0007, 1.71y[0] - 8.75y[1], -10.03y[2] + 0.43y[3] + 0.035y[4], 8.32y[1] + 1.71y[2] - 1.12y[3],
  -1.745y[4] + 0.43y[5] + 0.43y[6], -280y[5]*y[7] + 0.69y[3] + 1.71y[4] - 0.43y[5] + 0.69y[6], 280y[5]*y[7] - 1.81y[6], 1.81y[6] - 280y[5]*y[7]]
later = [0.0006703055035818635, 0.0001309968469863469, 4.686223159773258e-05, 0.0010446680205517048, 0.0005948838309514851, 0.001399628833942774,
  0.0010144927577184796, 0.004685507242281521]
relaxed(m, r) = ode(hires, [1.0, 0, 0, 0, 0, 0, 0, 0.0057], (0.0, 421.8122); method = m, rtol = r, atol = 1e-5r, saveat = [421.8122]).values[0]
off(relaxed(auto(), 1e-8), later) < 1e-6       #> true
off(relaxed(auto(), 1e-10), later) < 1e-8      #> true
off(relaxed(bdf(), 1e-10), later) < 1e-8       #> true

# van der Pol's oscillator with ε = 1e-6 at t = 1, 2 ... 11
relaxing = (t, y) -> [y[1], ((1 - y[0]^2)*y[1] - y[0])/1e-6]
waves = [-1.86364625480813, 0.753543086543546, 1.706167732170456, -0.8928097010248257, -1.510606936744095, 1.178380000730945, 1.194414677695905,
  -2.799585996540082, 1.890428596416747, -0.734511868016694, -1.737716306805883, 0.8604008653025923, 1.551614645548223, -1.102382892533321,
  -1.278631984330405, 2.013890883009155, -1.91655294948983, 0.7169573003463228, 1.768163792391936, -0.8315276407898496, -1.590150544829062,
  1.040279389212485]
swung(m, r) = ode(relaxing, [2.0, 0], (0.0, 11.0); method = m, rtol = r, atol = 1e-2r, saveat = iota(11) + 1.0).values
off(ravel(swung(rodas5p(), 1e-8)), waves) < 1e-6    #> true
# These take few long steps. Close to this tolerance, the phase error is 40 to
# 200 tolerances.
off(ravel(swung(auto(), 1e-8)), waves) < 4e-6       #> true
off(ravel(swung(radau5(), 1e-10)), waves) < 1e-6    #> true

# E5 over thirteen decades, the second and the third species. Rounding would
# spoil the invariant y2 = y3 + y4, because y2 falls from 1e-10 to 1e-22. The
# fourth species is therefore computed from it.
e5 = (t, y) -> {
  a = 7.89e-10y[0]
  b = 1.1e7y[0]*y[2]
  [-a - b, a - 1.13e9y[1]*y[2], a - b - 1.13e9y[1]*y[2] + 1.13e3*(y[1] - y[2])]
}
times = [10.0, 1000.0, 100000.0, 10000000.0, 1000000000.0, 100000000000.0, 10000000000000.0]
second = [1.3846281519376517e-11, 1.3822370304983736e-10, 2.3734781561205976e-12, 1.8188895860807023e-14, 1.4840957952870065e-16, 1.0192582568142706e-20, 8.861233521291085e-23]
third = [7.637003853007391e-13, 8.251573500683834e-12, 2.2123586689581663e-12, 1.8188812376786725e-14, 1.4840957948345692e-16, 1.0192582568142706e-20, 8.861233521291085e-23]
burnt(m) = ode(e5, [0.00176, 0, 0], (0.0, 1e13); method = m, rtol = 1e-9, atol = 1e-29, saveat = times).values
for m in list(bdf(), rodas5p(), radau5()) {
  b = burnt(m)
  assert(off(b[..-1, 1], second[..-1]) < 1e-6 and off(b[..-1, 2], third[..-1]) < 1e-6, "{m.name} to t = 1e11")
  assert(off(b[-1, 1..], [second[-1], third[-1]]) < 1e-4, "{m.name} at t = 1e13")
}
ends = burnt(auto());
off(ends[-1, 1..], [second[-1], third[-1]]) < 1e-4     #> true

# Chemical kinetics at Akzo Nobel: the time integral of the first species, as
# one more unknown (DAE of index 1).
problem akzo() {
  domain t in [0, 180]
  field a, b, c, d, e, f, g
  r1 = 18.7a^4*sqrt(abs(b))
  r2 = 0.58c*d
  r3 = 0.58/34.4*a*e
  r4 = 0.09a*d^2
  r5 = 0.42f^2*sqrt(abs(b))
  a_t == -2r1 + r2 - r3 - r4
  b_t == -0.5r1 - r4 - 0.5r5 + 3.3*(0.9/737 - b)
  c_t == r1 - r2 + r3
  d_t == -r2 + r3 - 2r4
  e_t == r2 - r3 + r5
  0 == 115.83a*d - f
  g_t == a
  a == 0.444 at t = 0
  b == 0.00123 at t = 0
  c == 0 at t = 0
  d == 0.007 at t = 0
  e == 0 at t = 0
  g == 0 at t = 0
}
solve(akzo(), rtol = 1e-9, atol = 1e-13).g(180.0)      #~ 31.26421619494406 tol 1e-6

# Lorenz at t = 15, where errors have grown by 1e6
lorenz = (t, u) -> [10(u[1] - u[0]), u[0]*(28 - u[2]) - u[1], u[0]*u[1] - 8/3*u[2]]
off(ode(lorenz, [1.0, 0, 0], (0.0, 15.0); rtol = 1e-13, atol = 1e-13, saveat = [15.0]).values[0],
  [-10.30703578205043, -4.451151241384303, 35.09466338572222]) < 1e-6    #> true

# Hénon-Heiles at t = 1000
stars = (t, y) -> [y[2], y[3], -y[0]*(1 + 2y[1]), -y[1] - (y[0]^2 - y[1]^2)]
max(abs(ode(stars, [0.1, 0, 0, 0.5], (0.0, 1000.0); rtol = 1e-13, atol = 1e-14, saveat = [1000.0]).values[0] -
  [-0.020869654947295507, -0.38163084134669734, 0.05684673704038535, 0.27197223256780373])) < 1e-8    #> true

# Euler's equations of a rigid body at t = 20
body = (t, y) -> [-2y[1]*y[2], 1.25y[0]*y[2], -0.5y[0]*y[1]]
turned(m) = ode(body, [1.0, 0, 0.9], (0.0, 20.0); method = m, rtol = 1e-11, atol = 1e-13, saveat = [20.0]).values[0]
free = [0.6062038539648122, 0.628747210450178, 0.8073851485756026]
max(abs(turned(auto()) - free)) < 1e-9      #> true
max(abs(turned(adams()) - free)) < 1e-8     #> true

# Lotka-Volterra at t = 10, with derivatives with respect to all four rates and
# both initial values, in the order a, b, c, d, x(0), y(0).
prey(p) = ode((t, y) -> [p[0]*y[0] - p[1]*y[0]*y[1], -p[2]*y[1] + p[3]*y[0]*y[1]], p[4..], (0.0, 10.0); rtol = 1e-10, atol = 1e-12, saveat = [10.0]).values[0]
p0 = [1.5, 1, 3, 1, 1, 1]
off(prey(p0), [1.0263447675750894, 0.9096910781360417]) < 1e-8     #> true
by_all = [2.160557523562618, -6.256770517220816, 0.1885687770780593, -0.6979775889893585, 0.5631827941681977, -1.709017680597935, 0.9396512871530798, -2.743979155920181, 1.9659960547281692, -2.743979155920181, 0.1885687770780593, 0.21171348914668314]
off(ravel(transpose(jacobian(prey)(p0))), by_all) < 1e-6         #> true
max(abs(grad(p -> prey(p)[0])(p0) - by_all[.. by 2])) < 1e-6     #> true
