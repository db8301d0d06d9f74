# Stochastic differential equations against their exact laws and paths. The
# linear and the additive problem are SciML's prob_sde_linear and
# prob_sde_additive (DiffEqProblemLibrary). Moments of the linear one: E X = x0
# e^(a t), E X² = x0² e^((2a + b²) t).
# As users run it only: compiling all of it takes long.
# In a long check only: it takes half a minute.
a = 1.01
b = 0.87
slope(h, e) = { x = log(h) - mean(log(h)); x @ log(e) / (x @ x) }
linear(m, seed) = sde((t, x) -> a*x, (t, x) -> b*x, [0.5], (0.0, 1.0); method = m, seed = seed, saveat = [1.0])
# At t = 1: the numerical value, and the exact one on the same path.
pair(m, seed) = { s = linear(m, seed); [s.values[0, 0], 0.5*exp(a - b^2/2 + b*s.W[0, 0])] }
h = 2.0^(-collect(3..8))
ends(make) = map(k -> map(seed -> pair(make(h[k]), seed), iota(1000)), list(0, 1, 2, 3, 4))
strong(make) = slope(h, stack(...map(r -> mean(abs(r[.., 0] - r[.., 1])), ends(make))))
weak(make) = slope(h, stack(...map(r -> abs(mean(r[.., 0] - r[.., 1])), ends(make))))

# ---- orders, by regression over h = 1/8 .. 1/128
# The mean of 1000 paths has an uncertainty of a few hundredths.
strong(euler_maruyama)       #~ 0.5 tol 0.08
strong(milstein)             #~ 1 tol 0.08
strong(heun)                 #~ 1 tol 0.08
strong(sri)                  #~ 1.5 tol 0.12
weak(euler_maruyama)         #~ 1 tol 0.25
weak(milstein)               #~ 1 tol 0.1

# Additive noise: the Euler-Maruyama method has order 1, and x is known along
# the path.
additive(m, seed) =
  sde((t, x) -> 0.05/sqrt(1 + t) - x/(2*(1 + t)), (t, x) -> [0.1*0.05/sqrt(1 + t)], [1.0], (0.0, 1.0); method = m, seed = seed,
    saveat = [1.0])
off(m, seed) = { s = additive(m, seed); abs(s.values[0, 0] - (1 + 0.05*(1 + 0.1*s.W[0, 0]))/sqrt(2)) }
slope(h, stack(...map(k -> mean(map(seed -> off(euler_maruyama(h[k]), seed), iota(200))), list(0, 1, 2, 3, 4))))   #~ 1 tol 0.1
slope(h, stack(...map(k -> mean(map(seed -> off(sri(h[k]), seed), iota(200))), list(0, 1, 2, 3, 4)))) > 1.4    #> true

# ---- laws: 20000 paths, within four standard errors
many = map(seed -> pair(sri(1/16), seed)[0], iota(20000));
near(x, exact) = abs(mean(x) - exact) < 4*std(x)/sqrt(len(x))
near(many, 1.3728005075084582)        #> true
near(many^2, 4.017282338753169)       #> true
(θ, σ) = (1.5, 0.7)
ou =
  map(seed -> sde((t, x) -> -θ*x, (t, x) -> σ + 0*x, [2.0], (0.0, 1.0); method = sri(1/16), seed = seed,
    saveat = [0.4, 1.0]).values[.., 0], iota(20000));
near(ou[.., 0], 2exp(-0.4θ))          #> true
near(ou[.., 1], 2exp(-θ))             #> true
near((ou[.., 0] - 2exp(-0.4θ))^2, σ^2*(1 - exp(-0.8θ))/2θ)      #> true
near((ou[.., 1] - 2exp(-θ))^2, σ^2*(1 - exp(-2θ))/2θ)           #> true

# ---- paths
# Increments are normal and independent in all cells, and the same for all
# steps, methods and saveat.
W = brownian((0.0, 2.0); seed = 11, n = 3)
W(0.0)                                #> [0, 0, 0]
w = map(seed -> map(t -> brownian((0.0, 2.0); seed = seed)(t)[0], [0.5, 0.75, 1.7, 2.0]), iota(20000));
near(w[.., 0]^2, 0.5)                 #> true
near((w[.., 1] - w[.., 0])^2, 0.25)   #> true
near((w[.., 2] - w[.., 1])^2, 0.95)   #> true
near((w[.., 3] - w[.., 2])*(w[.., 2] - w[.., 0]), 0.0)          #> true
near(w[.., 1]^4, 3*0.75^2)            #> true
drift = (t, x) -> [-x[0] + x[1], -x[1], 0.5x[2]]
noise = (t, x) -> [0.3, 0.2x[1], 0.1*sin(x[2])]
at = [0.3, 0.9, 1.25, 2.0]
on(m) = sde(drift, noise, [1.0, 1, 1], (0.0, 2.0); method = m, seed = 11, saveat = at)
on(euler_maruyama(0.5)).W             #~ map(W, at) tol 1e-12
on(sri()).W                           #~ map(W, at) tol 1e-12
on(milstein(1/256)).W                 #~ map(W, at) tol 1e-12
on(sri(1/512)).values                 #~ on(sri(1/4096)).values tol 1e-5
on(sri(1/512)).values                 #~ on(milstein(1/4096)).values tol 1e-3
fine = sde(drift, noise, [1.0, 1, 1], (0.0, 2.0); method = sri(), rtol = 1e-5, atol = 1e-7, seed = 11);
fine.values[-1]                       #~ on(sri(1/4096)).values[-1] tol 2e-4
fine.stats.refused > 0                #> true
fine.W                                #~ map(W, fine.times) tol 1e-12
all(fine.times[1..] > fine.times[..-1])         #> true

# ---- smaller tolerances give smaller errors
errors =
  map(
    tol -> mean(map(seed -> {
      s = sde((t, x) -> a*x, (t, x) -> b*x, [0.5], (0.0, 1.0); rtol = tol, atol = tol, seed = seed, saveat = [1.0]);
      abs(s.values[0, 0] - 0.5*exp(a - b^2/2 + b*s.W[0, 0]))
    }, iota(200))), [1e-2, 1e-3, 1e-4])
errors[0] < 3e-2 and errors[1] < 0.3*errors[0] and errors[2] < 0.3*errors[1]    #> true

# ---- Itô and Stratonovich
# dx = x∘dW has the solution e^W; as an Itô equation its drift is x/2. Each
# method solves both.
both(m) = {
  s = sde((t, x) -> 0*x, (t, x) -> x, [1.0], (0.0, 1.0); calculus = "stratonovich", method = m, seed = 4)
  i = sde((t, x) -> 0.5x, (t, x) -> x, [1.0], (0.0, 1.0); method = m, seed = 4)
  [s.values[-1, 0] - i.values[-1, 0], s.values[-1, 0] - exp(s.W[-1, 0])]
}
both(milstein(1/1024))                #~ [0, 0] tol 2e-3
both(sri(1/1024))                     #~ [0, 0] tol 1e-4
both(heun(1/1024))                    #~ [0, 0] tol 2e-3
both(euler_maruyama(1/4096))          #~ [0, 0] tol 5e-2

# ---- scalar and general noise
# One process for two unknowns; a rotation that keeps the radius; two processes
# as one matrix.
s = sde((t, x) -> 0*x, (t, x) -> [-x[1], x[0]], [1.0, 0], (0.0, 1.0); noise = "scalar", calculus = "stratonovich",
  method = sri(1/1024), seed = 9);
s.values[-1]                          #~ [cos(s.W[-1, 0]), sin(s.W[-1, 0])] tol 1e-4
m = sde((t, x) -> 0*x, (t, x) -> [-x[1], x[0]], [1.0, 0], (0.0, 1.0); noise = "scalar", calculus = "stratonovich",
  method = milstein(1/4096), seed = 9);
m.values[-1]                          #~ [cos(m.W[-1, 0]), sin(m.W[-1, 0])] tol 1e-3
g = (t, x) -> [0.3x[0], 0.4x[0]; 0.1x[1], 0.0]
gen(m) = sde((t, x) -> [0.2, 0.1]*x, g, [1.0, 2.0], (0.0, 1.0); method = m, seed = 6)
r = gen(milstein(1/2048));
r.values[-1]                          #~ [exp(0.2 - 0.125 + r.W[-1] @ [0.3, 0.4]), 2exp(0.1 - 0.005 + 0.1*r.W[-1, 0])] tol 1e-3
gen(heun(1/2048)).values[-1]          #~ r.values[-1] tol 1e-3
gen(euler_maruyama(1/8192)).values[-1]          #~ r.values[-1] tol 1e-2
shape(r.W)                            #> (2049, 2)

# ---- derivatives along the path
# Of x0 e^(..) with respect to x0, a and b, in both modes and of second order;
# of a nonlinear equation against differences.
value(p) = {
  s = sde((t, x) -> p[1]*x, (t, x) -> p[2]*x, [p[0]], (0.0, 1.0); method = sri(1/256), seed = 3, saveat = [1.0]);
  s.values[0, 0]
}
w1 = brownian((0.0, 1.0); seed = 3)(1.0)[0]
X = 0.5exp(a - b^2/2 + b*w1)
grad(value)([0.5, a, b])              #~ X*[2, 1, w1 - b] tol 1e-3
check_grad(value, [0.5, a, b]).reverse_forward < 1e-12          #> true
hessian(value)([0.5, a, b])[0]        #~ X*[0, 2, 2*(w1 - b)] tol 1e-2
double(p) =
  sde((t, x) -> p[0]*x - x^3, (t, x) -> p[1]*cos(x), [0.3], (0.0, 1.0); method = milstein(1/128), seed = 8,
    saveat = [0.37, 1.0]).values[.., 0] @ [1.0, 2.0]
check_grad(double, [1.2, 0.5])        #~ (reverse_forward = 0.0, differences = 0.0) tol 1e-8

# ---- refused input
said(f) = try { f(); "nothing" } catch m { m }
said(() -> sde((t, x) -> x^3, (t, x) -> 0.1x, [5.0], (0.0, 1.0); seed = 1).values)[..24]      #> no solution beyond t = 0
said(() -> sde((t, x) -> x^3, (t, x) -> 0.1x, [50.0], (0.0, 1.0); method = euler_maruyama(0.1), seed = 1).values)[..24]       #> no solution beyond t = 0
said(() -> sde((t, x) -> x, (t, x) -> [x[1], x[0]], [1.0, 2], (0.0, 1.0); method = sri(), seed = 1).values)[..67]     #> sri() wants diagonal noise whose g[i] depends on x[i] alone; here g
said(() -> sde((t, x) -> x, (t, x) -> x, [1.0], (1.0, 0.0)).values)       #> a stochastic differential equation goes forward in time, not from 1.0 to 0.0
said(() -> sde((t, x) -> x, (t, x) -> x, [1.0], (0.0, 1.0); method = euler_maruyama(0.0)).values)      #> the step of euler_maruyama(h) must be more than 0, not 0.0

# Noncommutative noise: a Brownian motion and its Lévy area (Heisenberg group).
# Errors against the same path in 512 steps: order 1, where euler_maruyama has
# 1/2.
heisenberg(method, seed) =
  sde((t, x) -> 0*x, (t, x) -> [1.0, 0.0; 0.0, 1.0; -0.5x[1], 0.5x[0]], [0.0, 0, 0], (0.0, 1.0); method = method,
    seed = seed).values[-1][2]
exact_areas = [heisenberg(milstein(2.0^-9), seed) for seed in 0..24]
area_error(k) = mean(abs([heisenberg(milstein(2.0^-k), seed) for seed in 0..24] - exact_areas))
area_error(3) < 0.035         #> true
area_error(7) < 0.0035        #> true
# The area over a unit interval has mean 0 and variance 1/4 (Lévy 1951).
areas_at_1 = [heisenberg(milstein(2.0^-6), seed) for seed in 100..500]
abs(mean(areas_at_1)) < 0.08 and abs(mean(areas_at_1^2) - 0.25) < 0.06     #> true
# All unknowns of a system with state-dependent noise, against a fine path. Its
# derivative with respect to a captured value, against differences along the
# same path.
turning(p, n, seed) =
  sde((t, x) -> -0.5x, (t, x) -> [p*cos(x[1]), 0.3; 0.2, p*sin(x[0])], [0.5, 1.0], (0.0, 1.0); method = milstein(1/n),
    seed = seed).values[-1]
max(abs(turning(0.8, 64, 5) - turning(0.8, 512, 5))) < 0.01   #> true
grad(p -> sum(turning(p, 32, 5)))(0.8)   #~ (sum(turning(0.8 + 1e-6, 32, 5)) - sum(turning(0.8 - 1e-6, 32, 5))) / 2e-6 tol 1e-7
# Commutative noise needs no areas: general noise that is diagonal gives the
# same result as diagonal noise.
a = sde((t, x) -> -x, (t, x) -> [x[0], 0.0; 0.0, 2x[1]], [1.0, 2], (0.0, 1.0); method = milstein(1/64), seed = 2).values[-1]
a    #~ sde((t, x) -> -x, (t, x) -> [x[0], 2x[1]], [1.0, 2], (0.0, 1.0); method = milstein(1/64), seed = 2).values[-1] tol 1e-12

# Derivatives with respect to the ends of the interval: the path is stretched
# with it. dX/dT of a geometric Brownian motion, and the derivative of an
# equation without noise.
stretched(T, method) = sde((t, x) -> 0.5x, (t, x) -> 0.4x, [1.3], (0.0, T); method = method, seed = 11).values[-1][0]
end_of_path = sde((t, x) -> 0.5x, (t, x) -> 0.4x, [1.3], (0.0, 2.0); method = sri(0.1), seed = 11).W[-1][0]
slope_of_end = 1.3 * exp((0.5 - 0.08) * 2 + 0.4 * end_of_path) * (0.5 - 0.08 + 0.4 * end_of_path / 4)
grad(T -> stretched(T, sri(1e-3)))(2.0)         #~ slope_of_end tol 1e-4
jvp(T -> stretched(T, milstein(1e-3)), 2.0, 1.0)[1]   #~ slope_of_end tol 1e-3
grad(T -> stretched(T, sri(0.25)))(1.9)         #~ (stretched(1.9 + 1e-6, sri(0.25)) - stretched(1.9 - 1e-6, sri(0.25))) / 2e-6 tol 1e-7
begun_at(t0) =
  sde((t, x) -> t*x, (t, x) -> 0*x, [1.3], (t0, 2.0); rtol = 1e-8, atol = 1e-10, seed = 11, saveat = [1.5, 1.9]).values[0][0]
grad(begun_at)(0.5)                             #~ -0.5 * begun_at(0.5) tol 1e-6

# With respect to saveat: the path is stretched between neighbouring times, W by
# the square root of the factor. W itself, at times inside cells, of first and
# second order, in both modes.
W_at(s) = sde((t, x) -> 0*x, (t, x) -> 1 + 0*x, [0.0], (0.0, 1.0); method = euler_maruyama(0.25), seed = 5, saveat = s).W[.., 0]
s0 = [0.4, 0.45, 0.9]
(w1, w2, w3) = W_at(s0)
J = [w1/(2*0.4), 0, 0; w1/(2*0.4) - (w2 - w1)/(2*0.05), (w2 - w1)/(2*0.05), 0; w1/(2*0.4) - (w2 - w1)/(2*0.05),
  (w2 - w1)/(2*0.05) - (w3 - w2)/(2*0.45), (w3 - w2)/(2*0.45)];
jacobian(W_at)(s0)                    #~ J tol 1e-12
grad(s -> W_at(s) @ [1.0, -2, 3])(s0)     #~ [1.0, -2, 3] @ J tol 1e-12
jvp(s -> jvp(W_at, s, [1.0, 0, 0])[1], s0, [1.0, 0, 0])[1][0]     #~ -w1/(4*0.4^2) tol 1e-12
# Its first moment: steps of order 1.5 across these times, against the solution;
# and the second moments of all times.
later(s) = sde((t, x) -> 0.5x, (t, x) -> 0.4x, [1.3], (0.0, 2.0); method = sri(1/512), seed = 11, saveat = s).values[1, 0]
w = sde((t, x) -> 0.5x, (t, x) -> 0.4x, [1.3], (0.0, 2.0); method = sri(1/512), seed = 11, saveat = [0.7, 1.6]).W[.., 0];
grad(later)([0.7, 1.6]) / (1.3 * exp(0.42 * 1.6 + 0.4 * w[1]))    #~ [0.4 * (w[0]/(2*0.7) - (w[1] - w[0])/(2*0.9)), 0.42 + 0.4 * (w[1] - w[0])/(2*0.9)] tol 1e-4
product(s) =
  mean(map(k -> {
    x = sde((t, x) -> -x, (t, x) -> 0.5 + 0*x, [1.0], (0.0, 1.0); method = sri(1/8), seed = k, saveat = s).values;
    x[0, 0] * x[1, 0]
  }, iota(4000)))
both(s) = exp(-s[0] - s[1]) + 0.125 * (exp(s[0] - s[1]) - exp(-s[0] - s[1]))
grad(product)([0.37, 0.8])            #~ grad(both)([0.37, 0.8]) tol 2e-2
# The end of the interval does not move the values at given times.
late(T) =
  mean(map(k -> sde((t, x) -> 0*x, (t, x) -> 1 + 0*x, [0.0], (0.0, T); method = euler_maruyama(0.25), seed = k,
    saveat = [0.4]).values[0, 0]^2, iota(100)))
late'(1.0)                            #> 0.0

# ---- the kind of noise is proven for all times and states
swapped(t, x) = if t < 0.5 { 0.1 * x } else { 0.1 * [x[1], x[0]] }
by_sri = try { sde((t, x) -> 0 * x, swapped, [1.0, 2.0], (0.0, 1.0); method = sri(), seed = 1); "nothing" } catch e { e };
find(by_sri, "depends on x[i] alone") > 0     #> true
# Columns that commute until t = 0.5 are treated as noncommutative throughout.
# Halving the step four times therefore reduces the error at least fivefold.
turning(t, x) = if t < 0.5 { [0.3, 0.0; 0.0, 0.3] } else { [0.3 * x[1], 0.1; 0.2, 0.3 * x[0]] }
at_end(h) = sde((t, x) -> 0 * x, turning, [1.0, 2.0], (0.0, 1.0); method = milstein(h), seed = 5, noise = "general").values[-1]
fine = at_end(1/4096)
norm(at_end(1/256) - fine) < 0.2 * norm(at_end(1/16) - fine)     #> true

# Steps end where the drift or the noise switches with time, also inside cells,
# and move with the switch.
switched(s, m) = sde((t, x) -> (if t < s { -1.0 } else { 2.0 }) * x, (t, x) -> (if t < s { 0.5 } else { 0.1 }) * x, [1.0],
  (0.0, 1.0); method = m, rtol = 1e-4, atol = 1e-6, seed = 5, saveat = [0.3, 1.0])
{ s = switched(0.3, sri())
  exact = exp(-0.3 + 2 * 0.7 - 0.125 * 0.3 - 0.005 * 0.7 + 0.5 * s.W[0, 0] + 0.1 * (s.W[1, 0] - s.W[0, 0]))
  s.values[1, 0] / exact }                                                                #~ 1 tol 3e-4
steady(s, m) = sde((t, x) -> [if t < s { 0.0 } else { 1.0 }], (t, x) -> [0.2], [0.0], (0.0, 1.0); method = m, seed = 5)
for m in list(sri(), sri(0.1), heun(0.1), euler_maruyama(0.1), milstein(0.1)) {
  r = steady(0.3, m)
  assert(abs(r.values[-1, 0] - 0.2 * r.W[-1, 0] - 0.7) < 1e-12, m.name)
}
grad(s -> steady(s, sri(0.1)).values[-1, 0])(0.3)                                         #~ -1 tol 1e-12
# Where the state switches, errors meet the tolerance. Oracle: steps of 1e-6.
turned(m) = sde((t, x) -> [if x[0] > 0 { -1.0 } else { 1.0 }], (t, x) -> [0.5], [0.1], (0.0, 1.0); method = m, rtol = 1e-3,
  atol = 1e-4, seed = 5, saveat = [1.0]).values[0, 0]
turned(sri())                                                                             #~ 0.308652 tol 1e-3
