# Delay differential equations against closed forms. The oracle of the
# Mackey-Glass equation is a Chebyshev method of steps; two of its
# discretisations agree to 1e-14. B1 and B2 are from the test set of W. H.
# Enright and H. Hayashi; the problem with a state-dependent lag is A. C.
# Neves'.
# In a long check only: it takes half a minute.

# u' = -u(t - 1), u = 0 before 0 and u(0) = 1: sum (-1)^k (t - k)^k / k!
r = dde((t, y, Z) -> -Z[0], [1.0], (0.0, 10.0); lags = 1.0, past = t -> [0.0], rtol = 1e-10, atol = 1e-12);
r.y(2.5)                     #~ [-3/8] tol 1e-9
r.y(5.0)                     #~ [5/24] tol 1e-9
r.y(10.0)                    #~ [19223/362880] tol 1e-9
r.y(-0.5)                    #> [0]
r.breaks[..4]                #~ [0, 1, 2, 3] tol 1e-12
b = dde((t, y, Z) -> -Z[0], [1.0], (0.0, 5.0); lags = 1.0, past = t -> [0.0], method = bdf(), rtol = 1e-9, atol = 1e-11, saveat = [2.5, 5.0]);
b.values[.., 0]              #~ [-3/8, 5/24] tol 1e-7

# Mackey and Glass, lag 14
m = dde((t, y, Z) -> [0.2Z[0, 0]/(1 + Z[0, 0]^10) - 0.1y[0]], [0.5], (0.0, 500.0); lags = 14.0, rtol = 1e-10, atol = 1e-12, saveat = [14.0, 28, 100, 200, 500]);
m.values[.., 0]              #~ [0.875966490677, 1.25308127425, 0.828187747811, 1.26273316516, 1.0104431117] tol 2e-9

# B1: the lag vanishes at t = 1, and is short nearby. B2: it vanishes at the
# initial time, and the right-hand side jumps with a delayed value.
b1 = dde((t, y, Z) -> 1 - Z[0], [log(0.1)], (0.1, 10.0); lags = (t, y) -> t - exp(1 - 1/t), past = t -> [log(t)], method = adams(), rtol = 1e-9, atol = 1e-11);
b1.y(10.0)                   #~ [log(10)] tol 1e-7
b1.y(1.0)                    #~ [0] tol 1e-7
b2 = dde((t, y, Z) -> [if Z[0, 0] < 0 { 1.0 } else { -1.0 }] - y, [1.0], (0.0, 2.0); lags = (t, y) -> t/2, method = tsit5(), rtol = 1e-8, atol = 1e-10);
b2.y(1.0)                    #~ [2*exp(-1.0) - 1] tol 1e-7
b2.y(2.0)                    #~ [1 - 6*exp(-2.0)] tol 1e-6

# A state-dependent lag: y = t until t = e, then exp(t/e).
s = dde((t, y, Z) -> y*Z[0]/t, [1.0], (1.0, 7.0); lags = (t, y) -> t - log(y[0]), past = t -> [1.0], method = bdf(), rtol = 1e-9, atol = 1e-11);
[s.y(2.0)[0], s.y(5.0)[0], s.y(7.0)[0]]      #~ [2, exp(5/e), exp(7/e)] tol 1e-6
s.breaks                     #~ [1, e] tol 1e-8

# Two lags and two unknowns: y' = -(x(t-1) + x(t-2))/2, x' = y, with constant
# history. The second lag reaches only the history.
two = dde((t, y, Z) -> [y[1], -(Z[0, 0] + Z[1, 0])/2], [1.0, 0], (0.0, 1.5); lags = [1.0, 2.0], method = adams(), rtol = 1e-10, atol = 1e-12);
# Until t = 1, x = 1 - t²/2; then x'' = -(x(t - 1) + 1)/2 = -1 + (t - 1)²/4.
two.y(1.5)[0]                #~ 1 - 1.5^2/2 + 0.5^4/48 tol 1e-9

# derivatives with respect to a rate and to the lag itself
end(p) = dde((t, y, Z) -> -p[0]*Z[0], [1.0], (0.0, 2.5); lags = p[1], past = t -> [0.0], method = bdf(), rtol = 1e-9, atol = 1e-11).y(2.5)[0]
exact(p) = 1 - p[0]*(2.5 - p[1]) + p[0]^2*(2.5 - 2*p[1])^2/2
q = [1.2, 0.9]
grad(end)(q)                 #~ grad(exact)(q) tol 1e-8
jvp(end, q, [0.3, 0.4])[1]   #~ grad(exact)(q) @ [0.3, 0.4] tol 1e-8

# ---- results do not depend on the length of the interval

# Beyond 100 lags. By the method of steps: 1 - t + (t-1)^2/2 - (t-2)^3/6 +
# (t-3)^4/24. Later values agree with those of a short interval.
long = dde((t, y, Z) -> -Z[0], [1.0], (0.0, 150.0); lags = 1.0);
long.y(3.5)[0]               #~ 1 - 3.5 + 2.5^2/2 - 1.5^3/6 + 0.5^4/24 tol 1e-5
long.y(9.0)[0]               #~ dde((t, y, Z) -> -Z[0], [1.0], (0.0, 9.0); lags = 1.0, rtol = 1e-10, atol = 1e-12).y(9.0)[0] tol 1e-6
# Oracle: SciPy's DOP853 at 1e-12, by the method of steps.
early(T) = dde((t, y, Z) -> 0.2Z[0]/(1 + Z[0]^10) - 0.1y, [0.9], (0.0, T); lags = 10.0, rtol = 1e-6, atol = 1e-9).y(60.0)[0]
early(990.0)                 #~ 0.77200473398 tol 1e-6
early(1010.0)                #~ 0.77200473398 tol 1e-6
# A lag far shorter than the steps: exp(λ t) with λ = -exp(-λ τ), plus an
# initial transient of size τ.
shortly(τ, r) = dde((t, y, Z) -> -Z[0], [1.0], (0.0, 3.0); lags = τ, rtol = r, atol = 1e-3r)
rate_of(τ) = root(z -> z + exp(-z*τ), -1.0)
fine = shortly(1e-5, 1e-6);
fine.y(3.0)[0]               #~ exp(3*rate_of(1e-5)) tol 1e-7
(fine.stats.steps < 1000, len(fine.breaks))  #> (true, 9)
shortly(1e-3, 1e-6).y(3.0)[0]        #~ shortly(1e-3, 1e-9).y(3.0)[0] tol 1e-7
# A short lag beside a long one, whose breaking points are not stepped over.
beside(r) = dde((t, y, Z) -> -Z[0] + 0.1Z[1], [1.0], (0.0, 20.0); lags = [1.0, 0.001], rtol = r, atol = 1e-2r).y(20.0)[0]
beside(1e-6)                 #~ beside(1e-9) tol 1e-7

# No lags, which is an ordinary equation with a history; an empty interval; an
# invalid `past`.
plain = dde((t, y, Z) -> -y + len(Z), [1.0], (0.0, 1.0); lags = [], past = t -> [2.0], rtol = 1e-9);
(plain.y(1.0)[0], plain.y(-1.0)[0], plain.y([0.0, 0.5; 0.5, 1.0])[1, 1, 0])      #~ (exp(-1), 2, exp(-1)) tol 1e-8
dde((t, y, Z) -> -y, [1.0], (0.0, 1.0); lags = list(), rtol = 1e-9, saveat = [0.5]).values      #~ [exp(-0.5)]' tol 1e-8
dde((t, y, Z) -> -Z[0], [1.0], (2.0, 2.0); lags = 1.0).y(2.0)      #> [1]
try { str(dde((t, y, Z) -> -Z[0], [1.0], (0.0, 1.0); lags = 1.0, past = [0.0]).y(1.0)) } catch m { m }      #> past is a function of t, the state before the beginning: past = t -> [0.0]
try { str(dde((t, y, Z) -> -Z[0], [1.0], (0.0, 1.0); lags = 1.0, past = t -> 0.0).y(1.0)) } catch m { m[..28] }      #> past gives () for a state of
try { str(dde((t, y, Z) -> -Z[0], [1.0, 2], (0.0, 1.0); lags = 1.0, past = t -> [0.0]).y(1.0)) } catch m { m[..30] }      #> past gives (1,) for a state of
# Breaking points move with the initial time, the lags, and a jump of the
# history. The derivative at one that meets the end is one-sided.
exactly(f, y0, span, lag, past) = dde(f, y0, span; lags = lag, past = past, rtol = 1e-10, atol = 1e-12).values[-1, 0]
# The solution is 1 until t0 + lag, then 1 - (u - lag), then with the term (u -
# 2 lag)^2/2, where u is the time since t0.
stepped(p) = exactly((t, y, Z) -> -Z[0], [1.0], (p[0], 2.5), p[1], t -> [0.0])
grad(stepped)([0.0, 1.0])        #~ [0.5, 0] tol 1e-8
hessian(stepped)([0.0, 1.0])     #~ [[1, 2], [2, 4]] tol 1e-6
torn(c) = exactly((t, y, Z) -> Z[0], [0.0], (0.0, 1.0), 1.0, t -> [if t < c { 1.0 } else { 3.0 }])
torn(-0.4)                       #~ 1.8 tol 1e-12
grad(torn)(-0.4)                 #~ -2 tol 1e-9
met(p) = exactly((t, y, Z) -> Z[0], [5.0], (0.0, p[0]), p[1], t -> [2.0])
grad(met)([1.0, 1.0])            #~ [2, 0] tol 1e-9
