# Derivatives at points where a formula divides by zero or its squares overflow
# although the derivative exists. Oracle: closed forms.

# Powers at 0: the exponent 0 is a constant, 1 a line, 2 a parabola, for literal
# exponents and for arrays.
(x -> sum(5x^[0, 4]))'(0.0)                  #~ 0
hessian(x -> sum(x^[1.0, 2, 3]))([0.0, 0, 0])     #~ [0, 0, 0; 0, 2, 0; 0, 0, 0]
p = [0.0, 1, 2, 3]
grad(x -> sum(x^p))([0.0, 0, 0, 0])          #~ [0, 1, 0, 0]
grad(x -> grad(y -> sum(y^p))(x)[2])([0.0, 0, 0, 0])        #~ [0, 0, 2, 0]
grad(x -> grad(y -> grad(z -> sum(z^p))(y)[3])(x)[3])([0.0, 0, 0, 0])     #~ [0, 0, 0, 6]
jvp(x -> sum(x^p), [0.0, 0, 0, 0], [1.0, 1, 1, 1])[1]       #~ 1
taylor(t -> sum(t^p), 0.0, 3)                #~ [1, 1, 1, 1]
(t -> sum(t^p))'''(0.0)                      #~ 6
grad(x -> sum(x^[0, 1, 2]))([2.0, 2, 2])     #~ [0, 1, 4]
grad(x -> sum(x^[-1.0, -2]))([2.0, 2])       #~ [-1/4, -1/4]
grad(q -> sum([0.0, 2]^q))([2.0, 3])         #~ [0, 8*log(2)]

# With respect to exponents: 0^p is 0 for p > 0, and p x^(p-1) does not vanish
# with p.
(p -> 0.0^p)'(1.0)   #~ 0
(p -> 0.0^p)''(2.0)   #~ 0
(x -> (p -> x^p)'(2.0))'(0.0)   #~ 0
(p -> (x -> x^p)'(3.0))'(0.0)   #~ 1/3
(p -> (x -> x^p)'(3.0))'(2.0)   #~ 3 + 6*log(3)
(p -> (x -> x^p)''(3.0))'(1.0)   #~ 1/3
grad(q -> sum([0.0, 2]^q))([2.0, 3])   #~ [0, 8*log(2)]
jvp(q -> jvp(q -> sum([0.0, 2]^q), q, [1.0,1])[1], [2.0, 3], [1.0, 1])[1]   #~ 8*log(2)^2

# |x|^2 is x^2.
(x -> abs(x)^2)''(0.0)                       #~ 2
(x -> abs(x)*abs(x))''(0.0)                  #~ 2
(x -> abs(x)^4)''''(0.0)                     #~ 24
hessian(x -> sum(abs(x)^2))([0.0, 2.0])      #~ [2, 0; 0, 2]

# The modulus of complex numbers: z/|z|, by convention 0 at 0. Its even powers
# are polynomials.
grad(z -> abs(z))(3e160 + 4e160im)           #~ 0.6 + 0.8im
grad(z -> abs(z))(3e-170 + 4e-170im)         #~ 0.6 + 0.8im
abs(3e300 + 4e300im)                         #~ 5e300
abs([3e-320 + 4e-320im, 0im])                #~ [5e-320, 0] tol 1e-3
abs([inf + 1im, -inf + 0im])                 #> [inf, inf]
isnan(abs(nan + 1im))                        #> true
dtype(abs(c64(1im)))                         #> f32
grad(z -> abs(z))(0im)                       #~ 0im
grad(z -> abs(z)^2)(0im)                     #~ 0im
grad(z -> abs(z)^2)(3 + 4im)                 #~ 6 + 8im
grad(x -> sum(abs(fft(x))^2))([1.0, 1, 1, 1])     #~ [8, 8, 8, 8]
hessian(x -> sum(abs(x + 0im)^2))([0.0, 2.0])     #~ [2, 0; 0, 2]
hessian(x -> abs(x + 0im)[0]^2)([0.0, 2.0])  #~ [2, 0; 0, 0]
hessian(x -> abs(x[0] + x[1]*im)^4)([1.0, 2.0])   #~ [28, 16; 16, 52]
hessian(x -> abs(x[0] + x[1]*im))([1.0, 2.0])     #~ [4, -2; -2, 1]/5^1.5
(x -> abs(x + 2im))'''(0.3)                  #~ -3*0.3*4/(0.09 + 4)^2.5
f(z) = { a = abs(z); a*a }
hessian(x -> f(x[0] + x[1]*im))([0.0, 0.0])  #~ [2, 0; 0, 2]
norm([3im, 4])                               #~ 5
norm([3e200im, 4e200])/5e200                 #~ 1
