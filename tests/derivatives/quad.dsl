# Integrals, and their derivatives with respect to limits and captured values.
# Oracle: closed forms.
# As users run it only: compiling all of it takes long.
# Compiled for this machine only.

integrate(x -> x^2, 0, 1) #~ 1/3 tol 1e-15
integrate(exp, 0, 1) #~ e - 1 tol 1e-14
integrate(exp, 1, 0) #~ 1 - e tol 1e-14
integrate(x -> exp(-x^2), -inf, inf) #~ sqrt(pi) tol 1e-13
integrate(x -> exp(-x^2), inf, -inf) #~ -sqrt(pi) tol 1e-13
integrate(x -> 1/(1 + x^2), 0, inf)  #~ pi/2 tol 1e-12
integrate(x -> 1/(1 + x^2), -inf, 0)  #~ pi/2 tol 1e-12
integrate(x -> 1/(1 + x^2), inf, 0)  #~ -pi/2 tol 1e-12
integrate(x -> 1/(1 + x^2), 1, -inf)  #~ -3pi/4 tol 1e-12
integrate(x -> 1/sqrt(x), 0, 1) #~ 2 tol 1e-10
integrate(log, 0, 1) #~ -1 tol 1e-10
integrate(x -> abs(x - 0.3), 0, 1) #~ 0.29 tol 1e-10
integrate(x -> [x, x^2, sin(x)], 0, 1) #~ [1/2, 1/3, 1-cos(1)]
integrate(x -> sin(100x), 0, pi) #~ 0 tol 1e-12
integrate(x -> exp(1im*x), 0, pi) #~ 2im
F(p) = integrate(x -> exp(-p*x^2), -inf, inf)
taylor(F, 1.0, 4) #~ taylor(p -> sqrt(pi/p), 1.0, 4) tol 1e-9
grad(grad(F))(2.0) #~ 0.75*sqrt(pi)*2^-2.5 tol 1e-9
L(p) = integrate(x -> sin(p[0]*x), p[1], p[2])
l(p) = (cos(p[0]*p[1]) - cos(p[0]*p[2]))/p[0]
L([2.0, 0.5, 1.5])  #~ l([2.0,0.5,1.5])
grad(L)([2.0, 0.5, 1.5])  #~ grad(l)([2.0,0.5,1.5])
hessian(L)([2.0, 0.5, 1.5])  #~ hessian(l)([2.0,0.5,1.5])
jacobian(hessian(L))([2.0, 0.5, 1.5])  #~ jacobian(hessian(l))([2.0,0.5,1.5])
map(L, [2.0, 0.5, 1.5; 3, 1, 2])  #~ map(l, [2.0,0.5,1.5; 3,1,2])
map(hessian(L), [2.0, 0.5, 1.5; 3, 1, 2])  #~ map(hessian(l), [2.0,0.5,1.5; 3,1,2])
(p -> integrate(x -> p/sqrt(x), 0, 1))'(1.0) #~ 2 tol 1e-10
(p -> integrate(x -> integrate(y -> exp(p*x*y), 0, x), 0, 1))(0.0) #~ 0.5
(p -> integrate(x -> integrate(y -> exp(p*x*y), 0, x), 0, 1))'(0.0) #~ 1/8

# Integrands with kinks, peaks and oscillations (closed forms).
integrate(x -> 1 / ((x - 0.3)^2 + 1e-6), 0, 1)   #~ 1e3 * (atan(700.0) + atan(300.0)) tol 1e-9
integrate(x -> exp(-20abs(x - 0.7)), 0, 1)       #~ (2 - exp(-14) - exp(-6)) / 20 tol 1e-10
integrate(x -> cos(50x), 0, 2)                   #~ sin(100) / 50 tol 1e-12
integrate(x -> x^-0.75, 0, 1, rtol = 1e-6)       #~ 4 tol 1e-5
# The derivative is sharper than the function: its integral chooses its own
# intervals.
wide(p) = integrate(x -> tanh(p * (x - 0.5)), 0, 1)
wide'(1000.0)                #~ 0 tol 1e-12
edge(c) = integrate(x -> tanh(1000 * (x - c)), 0, 1)
edge'(0.3)                   #~ -tanh(700) - tanh(300) tol 1e-9
grad(edge)(0.3)              #~ -2 tol 1e-9
# Terms that do not depend on captured values are not computed: the end may be a
# pole.
(p -> integrate(x -> p / sqrt(x), 0, 1))'(1.0)   #~ 2 tol 1e-10
grad(p -> integrate(x -> x^p, 0, 1))(0.5)        #~ -1 / 1.5^2 tol 1e-9
integrate(x -> x^-0.75, 1, 0, rtol = 1e-6)       #~ -4 tol 1e-5
integrate(x -> (1 - x)^-0.5, 0, 1)               #~ 2 tol 1e-7
try { str(integrate(x -> 1 / x, 0, 1)) } catch m { "too hard" }      #> too hard
try { str(integrate(x -> sin(1/x), 0, 1, limit = 20)) } catch m { "too hard" }       #> too hard
