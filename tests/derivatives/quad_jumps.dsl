# Derivatives of integrals whose integrand has a jump or kink at a position that
# moves with the parameter. Oracle: Leibniz' rule, d/da of the integral of f =
# the integral of f_a + (f before the jump - f after it) times the speed of the
# jump.
# As users run it only: compiling all of it takes long.
# Compiled for this machine only.
# In a long check only: it takes minutes.

f(a) = integrate(x -> if x < a { 1.0 } else { 3.0 }, 0, 1)
f'(0.4)                       #~ -2
grad(f)(0.4)                  #~ -2
f''(0.4)                      #~ 0
g(a) = integrate(x -> f64(x > a)*exp(x), 0, 1)
g'(0.3)                       #~ -exp(0.3)
g''(0.3)                      #~ -exp(0.3) tol 1e-9
g'''(0.3)                     #~ -exp(0.3) tol 1e-8
grad(g)(0.3)                  #~ -exp(0.3)
hessian(g)(0.3)               #~ -exp(0.3) tol 1e-9
# Kinks: the second derivative comes from the jump of the first.
k(a) = integrate(x -> abs(x - a), 0, 1)
k'(0.3)                       #~ -0.4 tol 1e-10
k''(0.3)                      #~ 2 tol 1e-10
hessian(k)(0.3)               #~ 2 tol 1e-10
r(a) = integrate(x -> max(x - a, 0.0)^2, 0, 1)
[r'(0.3), r''(0.3), r'''(0.3)]   #~ [-0.49, 1.4, -2] tol 1e-9
relu_(a) = integrate(x -> if x < a { 0.0 } else { x - a }, 0, 1)
[relu_'(0.3), relu_''(0.3)]   #~ [-0.7, 1] tol 1e-9
# Nested branches, two jumps, a position that depends on the parameter, reversed
# limits, and infinite ones.
s(a) = integrate(x -> if x < a { 1.0 } else if x < 2a { x } else { a }, 0, 1)
# a + (4a^2 - a^2)/2 + a (1 - 2a) = 2a - a^2/2
s'(0.3)                       #~ 2 - 0.3 tol 1e-9
s''(0.3)                      #~ -1 tol 1e-9
w(a) = integrate(x -> where(x > a and x < a + 1e-3, 1.0, 0.0)*x, 0, 1; rtol = 1e-9)
w'(0.3)                       #~ 1e-3 tol 1e-8
q(a) = integrate(x -> if x^2 < a { x } else { 0.0 }, 0, 2)
q'(0.5)                       #~ 0.5 tol 1e-9
b(a) = integrate(x -> if x < a { 1.0 } else { 3.0 }, 1, 0)
b'(0.4)                       #~ 2 tol 1e-10
i(a) = integrate(x -> f64(x > a)*exp(-x), 0, inf)
i'(0.3)                       #~ -exp(-0.3) tol 1e-9
i''(0.3)                      #~ exp(-0.3) tol 1e-8
# Arrays, several parameters, both limits, and a map.
v(p) = integrate(x -> (if x < p[0] { p[1] } else { 2.0 })*[1.0, x], p[2], 1)
# p1 (p0 - p2) + 2 (1 - p0), p1 (p0^2 - p2^2)/2 + 1 - p0^2
jacobian(v)([0.4, 3.0, 0.1])  #~ [1, 0.3, -3; 0.4, 0.075, -0.3] tol 1e-10
grad(p -> v(p)[1])([0.4, 3.0, 0.1])   #~ [0.4, 0.075, -0.3] tol 1e-10
map(f', [0.2, 0.7])           #~ [-2, -2]
# A jump that does not move has no effect; nor has one outside the interval.
m(a) = integrate(x -> a*(if x < 0.5 { 1.0 } else { 3.0 }), 0, 1)
m'(2.0)                       #~ 2 tol 1e-10
f'(1.5)                       #~ 0
# Steps: floor(3x + a) jumps by 1 at (k - a)/3, so the integral over [0, 1]
# grows by 1/3 * 3 with a.
o(a) = integrate(x -> floor(3x + a), 0, 1)
o'(0.4)                       #~ 1 tol 1e-10
(a -> integrate(x -> round(3x + a), 0, 1))'(0.4)      #~ 1 tol 1e-10
(a -> integrate(x -> (3x + a) % 1.0, 0, 1))'(0.4)     #~ 0 tol 1e-10
(a -> integrate(x -> x*f64(i64(3x + a)), 0, 1))'(0.4) #~ (0.2 + 1.6/3 + 2.6/3)/3 tol 1e-10
# A loop that ends at convergence is no jump.
l(a) = integrate(x -> { y = 1.0; d = 1.0; while abs(d) > 1e-15 { d = 0.5*(a*x + 1 - y^2)/y; y += d }; y }, 0, 1)
l'(1.0)                       #~ (a -> 2/3*((1 + a)^1.5 - 1)/a)'(1.0) tol 1e-9
# Integrals of integrals: the triangle x + y < p has the area p^2/2.
t(p) = integrate(y -> integrate(x -> where(x + y < p, 1.0, 0.0), 0, 1; rtol = 1e-7), 0, 1; rtol = 1e-5)
t'(0.5)                       #~ 0.5 tol 1e-5
grad(t)(0.5)                  #~ 0.5 tol 1e-5
# A table indexed by integers jumps at fixed positions, whatever its values are
# compared with.
rows = [0.0, 1, 0, 1, 0, 1, 0, 1, 0, 1];
grad(p -> integrate(x -> if rows[i64(10x)] > 0.5*p { p } else { 0.0 }, 0, 1))(1.0)   #~ 0.5 tol 1e-12
grad(p -> integrate(x -> if rows[i64(10x)] > 0.5*p { p } else { 0.0 }, 1, 0))(1.0)   #~ -0.5 tol 1e-12
