# auto(), which detects stiffness at run time: reference solutions of stiff and
# nonstiff problems, its cost, and the switch of methods in values, in
# derivatives and under map.
# As users run it only: compiling all of it takes long.

# Stiff: Robertson (test set for IVP solvers), van der Pol with μ = 1000.
robertson = (t, y) -> { r = 1e4 * y[1] * y[2]; q = 3e7 * y[1]^2; [-0.04y[0] + r, 0.04y[0] - r - q, q] }
chain(m) = ode(robertson, [1.0, 0, 0], (0.0, 1e11); method = m, rtol = 1e-8, atol = [1e-12, 1e-16, 1e-12], saveat = [40.0, 1e11])
r = chain(auto());
r.values[1] / [0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050]    #~ [1, 1, 1] tol 1e-5
r.stats.rhs < 1.3 * chain(rodas5p()).stats.rhs    #> true
r.stats.jacobians > 100                           #> true
relaxing = (t, y) -> [y[1], 1000 * (1 - y[0]^2) * y[1] - y[0]]
v = ode(relaxing, [2.0, 0], (0.0, 2000.0); method = auto(), rtol = 1e-7, atol = 1e-9, saveat = [0.5, 1000, 2000]);
v.values[2]    #~ [1.706167732170469, -0.8928097010248125e-3] tol 1e-5

# A whole solution extends over the switch: all its polynomials have one degree,
# and its times are monotone.
fast = (t, y) -> [-1e4 * (y[0] - cos(t)), y[0]]
settled(t) = cos(t) + 1e-4 * sin(t)
for end in list(3.0, -0.002) {
  w = ode(fast, [1.0, 0], (0.0, end); method = auto(), rtol = 1e-8, atol = 1e-10)
  assert(len(w.times) % 7 == 1, "rows of {len(w.times)}")
  assert(w.times[0] == 0 and w.times[-1] == end, "ends")
  assert(all(sign(end) * (w.times[1..] - w.times[..-1]) > 0), "times in order")
}
w = ode(fast, [1.0, 0], (0.0, 3.0); method = auto(), rtol = 1e-8, atol = 1e-10);
max([abs(w.y(t)[0] - settled(t)) for t in [0.01, 0.1, 0.5, 1.234, 2.9]]) < 1e-7    #> true
w.stats.jacobians > 0                     #> true
w.stats.steps < 300                       #> true
chosen =
  ode(fast, [1.0, 0], (0.0, 3.0); method = auto(), rtol = 1e-8, atol = 1e-10, saveat = [1e-4, 0.001, 0.5, 1.5, 3.0]).values;
chosen[.., 0]                             #~ settled([1e-4, 0.001, 0.5, 1.5, 3.0]) tol 2e-5
chosen[2.., 0]                            #~ settled([0.5, 1.5, 3.0]) tol 1e-7
wide = ode((t, y) -> -1000 * (y - cos(t)), zeros(20), (0.0, 2.0); method = auto(), rtol = 1e-7, atol = 1e-9);
wide.values[-1, 3]                        #~ (1e6 * cos(2) + 1000 * sin(2)) / 1000001 tol 1e-6

# Not stiff: it stays explicit.
lorenz = (t, u) -> [10(u[1] - u[0]), u[0] * (28 - u[2]) - u[1], u[0] * u[1] - 8/3 * u[2]]
prey = (t, u) -> [1.5u[0] - u[0] * u[1], -3u[1] + u[0] * u[1]]
jacobians(f, y, T, r) = ode(f, y, (0.0, T); method = auto(), rtol = r, atol = r * 1e-2, saveat = [T]).stats.jacobians
[jacobians(lorenz, [1.0, 0, 0], 10.0, r) + jacobians(prey, [1.0, 1], 30.0, r) for r in [1e-2, 1e-4, 1e-6, 1e-9]]    #> [0, 0, 0, 0]
jacobians((t, y) -> [y[1], -y[0]], [1.0, 0], 100.0, 1e-3)    #> 0

# derivatives and map across the switch
member(p) =
  ode((t, y) -> [-p[0] * y[0] + y[1], -1e4 * (y[1] - y[0]^2)], [1.0, p[1]], (0.0, 2.0); method = auto(), rtol = 1e-8,
    atol = 1e-10, saveat = [1.0, 2.0]).values[1, 0]
sure(p) =
  ode((t, y) -> [-p[0] * y[0] + y[1], -1e4 * (y[1] - y[0]^2)], [1.0, p[1]], (0.0, 2.0); method = bdf(), rtol = 1e-10,
    atol = 1e-12, saveat = [1.0, 2.0]).values[1, 0]
grad(member)([2.0, 0.3])                  #~ grad(sure)([2.0, 0.3]) tol 1e-6
map(member, [2.0, 0.3; 3.0, 0.1; 4.0, 2])    #~ map(sure, [2.0, 0.3; 3.0, 0.1; 4.0, 2]) tol 1e-6

# Reverse mode at one time traverses the steps that were taken: explicit ones,
# Rosenbrock's, Radau IIA's at tolerance 1e-12, and all kinds in one run.
# Oracle: the adjoint problem of bdf().
last(f, y0, T, r, m) = p -> ode((t, y) -> f(p, y), y0, (0.0, T); method = m, rtol = r, atol = 1e-3r, saveat = [T]).values[0, 0]
both_ways(f, y0, T, r, p) = max(abs(grad(last(f, y0, T, r, auto()))(p) - grad(last(f, y0, T, 1e-11, bdf()))(p)))
swinging = (p, y) -> [p[0] * y[1], -p[1] * y[0] - p[2] * y[1]^3]
reacting = (k, y) -> { r = 1e4 * k[1] * y[1] * y[2]; q = 3e7 * k[2] * y[1]^2; [-0.04k[0] * y[0] + r, 0.04k[0] * y[0] - r - q, q] }
relaxing_by = (p, y) -> [p[0] * y[1], 300p[1] * (1 - y[0]^2) * y[1] - p[2] * y[0]]
both_ways(swinging, [1.0, 0.5], 5.0, 1e-9, [1.0, 1.2, 0.1]) < 1e-7            #> true
both_ways(reacting, [1.0, 0, 0], 40.0, 1e-9, [1.0, 1.0, 1.0]) < 1e-7          #> true
both_ways(reacting, [1.0, 0, 0], 40.0, 1e-12, [1.0, 1.0, 1.0]) < 1e-8         #> true
both_ways(relaxing_by, [2.0, 0], 100.0, 1e-8, [1.0, 1.0, 1.0]) < 1e-6         #> true
both_ways((p, y) -> [y[1], 30p[0] * (1 - y[0]^2) * y[1] - p[1] * y[0]], [2.0, 0], 60.0, 1e-9, [1.0, 1.0]) < 1e-5    #> true
g = map(grad(last(swinging, [1.0, 0.5], 5.0, 1e-9, auto())), [1.0, 1.2, 0.1; 0.7, 2.0, 0.3])
g[1]                                      #~ grad(last(swinging, [1.0, 0.5], 5.0, 1e-11, bdf()))([0.7, 2.0, 0.3]) tol 1e-7
hessian(last(reacting, [1.0, 0, 0], 1.0, 1e-9, auto()))([1.0, 1, 1])    #~ hessian(last(reacting, [1.0, 0, 0], 1.0, 1e-11, bdf()))([1.0, 1, 1]) tol 1e-6

# It is the default method.
ode(fast, [1.0, 0], (0.0, 3.0)).method    #> auto
# It switches in both directions: implicit while HIRES relaxes, explicit where
# the tolerance keeps implicit steps short.
relaxation = (t, y) -> [-1.71y[0] + 0.43y[1] + 8.32y[2] + 0.0007, 1.71y[0] - 8.75y[1], -10.03y[2] + 0.43y[3] + 0.035y[4], 8.32y[1] + 1.71y[2] - 1.12y[3],
  -1.745y[4] + 0.43y[5] + 0.43y[6], -280y[5]*y[7] + 0.69y[3] + 1.71y[4] - 0.43y[5] + 0.69y[6], 280y[5]*y[7] - 1.81y[6], 1.81y[6] - 280y[5]*y[7]]
hires(r, m, saveat) = ode(relaxation, [1.0, 0, 0, 0, 0, 0, 0, 0.0057], (0.0, 321.8122); method = m, rtol = r, atol = 1e-4r, saveat = saveat)
both = hires(1e-8, auto(), [321.8122]);
both.values[0, [0, 7]] / [0.0007371312573325667, 0.0028500016048142313]   #~ [1, 1] tol 1e-8
both.stats.jacobians > 50 and both.stats.steps > 2 * both.stats.jacobians    #> true
hires(1e-8, auto(), []).values[-1]        #~ both.values[0] tol 1e-9
hires(1e-8, auto(), [5.0, 60, 321.8122]).values[1]    #~ hires(1e-10, bdf(), [60.0]).values[0] tol 1e-9
# Many unknowns: the Jacobian is sparse where its pattern is, and dense in the
# derivative.
n = 100
diffusing(k) = (t, u) -> 1e4k[0] * (concat(u[1..], [0.0]) - 2u + concat([0.0], u[..-1]))
cooled(k) = ode(diffusing(k), sin(π * (iota(n) + 1) / (n + 1)), (0.0, 0.1); rtol = 1e-8, atol = 1e-10, saveat = [0.1]).values[0, 50]
decay = 1e4 * (2 - 2cos(π / (n + 1))) * 0.1
cooled([1.0])                             #~ sin(51π / (n + 1)) * exp(-decay) tol 1e-7
grad(cooled)([1.0])[0]                    #~ -decay * sin(51π / (n + 1)) * exp(-decay) tol 1e-6
full = ode((t, u) -> -1e3 * u + sum(u) / len(u), ones(80), (0.0, 1.0); rtol = 1e-8, atol = 1e-10, saveat = [0.5]);
max(abs(full.values))                     #~ 0 tol 1e-8
