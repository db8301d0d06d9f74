# special.dsl - special functions as array functions: shapes, dtypes, domains,
# map, composed derivatives. special_values.dsl tests their values.

# ---- shapes and dtypes
besselj([0, 1, 2], 2.0)                    #~ [0.22389077914123567, 0.5767248077568734, 0.3528340286156377]
shape(besselj(expand(iota(3), 1), linspace(0.0, 5, 4)))   #> (3, 4)
shape(gamma(ones(2, 3, 4)))                #> (2, 3, 4)
shape(betainc(ones(3, 1), ones(1, 4), 0.5))   #> (3, 4)
shape(erfc(zeros(0)))                      #> (0,)
gamma(5)                                   #> 24.0
gamma([true, true])                        #> [1, 1]
dtype(gamma(f32(2.5)))                     #> f32
dtype(besselj(2, f32(2.5)))                #> f32
dtype(besselj(2, f64(2.5)))                #> f64
dtype(besselj([0.5], f32(2.5)))            #> f64
besselj(1, f32(2.5))                       #~ besselj(1, 2.5) tol 1e-7
erfc(transpose([1.0, 2; 3, 4]))            #~ transpose(erfc([1.0, 2; 3, 4]))
besselj(1, linspace(0.0, 9, 10)[.. by -2]) #~ besselj(1, [9.0, 7, 5, 3, 1])
# many elements are distributed over threads
x = linspace(0.1, 50, 20000);
sum(besselj(0, x)^2)                       #~ sum(map(x -> besselj(0, x)^2, x)) tol 1e-12
k = 7777;
besselj(0, x)[k] == besselj(0, x[k])       #> true

# ---- outside the domain: NaN; at poles an infinity or NaN; never an error
(besselj(0.5, -1), bessely(0, -1), gammainc(-1, 2), betainc(1, 1, 2), legendre(1.5, 0.3))   #> (nan, nan, nan, nan, nan)
(lgamma(0), expint(0), besselk(0, 0), bessely(0, 0), zeta(1), ellipk(1))   #> (inf, inf, inf, -inf, inf, inf)
(gamma(-1), gamma(0), digamma(0), jacobisn(1, 2), lambertw(-1), hyp2f1(1, 1, 2, 3), erfinv(1.5))   #> (nan, nan, nan, nan, nan, nan, nan)
(gamma(200), besseli(0, 1e4), expinti(1e4), erfcx(-30), airybi(200))   #> (inf, inf, inf, inf, inf)
(erfc(30), besselk(0, 1e4), expint(1e4), airyai(200), gammaincc(1, 1e5))   #> (0.0, 0.0, 0.0, 0.0, 0.0)
all(isnan([gamma(nan), besselj(0, nan), besselj(nan, 1), ellipk(nan), hyp1f1(1, 2, nan), zeta(nan), dilog(nan), sinint(nan),
  fresnels(nan), jacobiam(nan, 0.5), betaincinv(1, nan, 0.5)]))  #> true
(erfinv(1), erfcinv(0), erfcinv(2), gammaincinv(2, 1), betaincinv(2, 3, 1))   #> (inf, inf, -inf, inf, 1.0)
(besselj(0, inf), gammainc(2, inf), zeta(inf), fresnels(inf), digamma(inf))   #> (0.0, 1.0, 1.0, 0.5, inf)
besselk(0, 700; scaled = true)             #~ 0.04736236945461358 tol 1e-13

# ---- identities
a = linspace(0.3, 7, 12);
max(abs(besselj(2.3, a) * bessely(1.3, a) - besselj(1.3, a) * bessely(2.3, a) - 2 / (π * a))) < 1e-13   #> true
max(abs(airyai(-a) * airybiprime(-a) - airyaiprime(-a) * airybi(-a) - 1 / π)) < 1e-13   #> true
max(abs(gammainc(a, 2.0) + gammaincc(a, 2.0) - 1)) < 1e-14   #> true
max(abs(gammainc(a, gammaincinv(a, 0.3)) - 0.3)) < 1e-14   #> true
max(abs(betainc(a, 2.5, betaincinv(a, 2.5, 0.7)) - 0.7)) < 1e-14   #> true
max(abs(erf(erfinv(linspace(-0.9, 0.9, 7))) - linspace(-0.9, 0.9, 7))) < 1e-15   #> true
max(abs(lambertw(a) * exp(lambertw(a)) - a)) < 1e-14   #> true
max(abs(ellipf(jacobiam(a, 0.8), 0.8) - a)) < 1e-13   #> true
m = 0.37;
ellipk(m) * ellipe(1 - m) + ellipe(m) * ellipk(1 - m) - ellipk(m) * ellipk(1 - m)   #~ π / 2
# Y_l^m are orthonormal on the sphere
(t, w) = gauss_legendre(12);
overlap(l, k, m) = 2π * sum(w * real(spherical_harmonic(l, m, acos(t), 0.0) * conj(spherical_harmonic(k, m, acos(t), 0.0))))
[overlap(3, 3, 2), overlap(3, 5, 2), overlap(4, 4, -1), overlap(4, 2, 0)]   #~ [1, 0, 1, 0]
spherical_harmonic(3, -2, 0.7, 0.4)        #~ conj(spherical_harmonic(3, 2, 0.7, 0.4))
spherical_harmonic(2, 1, 0.7, 0.4)         #~ -sqrt(15 / (8π)) * sin(0.7) * cos(0.7) * exp(0.4im)

# ---- large parameters
# Oracle: SciPy 1.17.1; for the first, the series with 30 digits.
gammainc(1e7, 9974701.778718654) / 5.8937323336404671e-16   #~ 1 tol 1e-13
gammaincc(1e5, [99747.01778718654, 100284.60498941515]) / [0.788034878996478, 0.18400652925817584]   #~ [1, 1] tol 1e-12
betainc(1e5, 3e5, 0.25)                    #~ 0.5002427886356727 tol 1e-12
gammainc(1e5, gammaincinv(1e5, 0.2))       #~ 0.2 tol 1e-13
betaincinv(0.1, 0.1, [0.001, 0.9, 0.999]) <= 1   #> [true, true, true]
betainc(3e5, 1e5, betaincinv(3e5, 1e5, 0.2))   #~ 0.2 tol 1e-12

# ---- derivatives compose
f(x) = besselj(0, x)
f'''''(1.3)                                #~ (f''''(1.3 + 1e-4) - f''''(1.3 - 1e-4)) / 2e-4 tol 1e-6
grad(x -> sum(besselj([0, 1, 2], x)))(1.3) #~ besselj(-1, 1.3) + 0.5 * (besselj(0, 1.3) - besselj(2, 1.3)) + 0.5 * (besselj(1, 1.3) - besselj(3, 1.3))
map(grad(x -> besselj(1, x)^2), [1.0, 2.0])   #~ [besselj(1, 1.0) * (besselj(0, 1.0) - besselj(2, 1.0)), besselj(1, 2.0) * (besselj(0, 2.0) - besselj(2, 2.0))]
map(x -> map(n -> besselj(n, x), iota(3)), [1.0, 2])   #~ besselj(expand(iota(3), 0), [1.0; 2.0])
jacobian(x -> erfc(x))([0.3, 0.7])         #~ diag(-2 / sqrt(π) * exp(-[0.3, 0.7]^2))
hessian(p -> betainc(p[0], p[1], p[2]))([2.0, 3, 0.3])   #~ hessian(p -> betainc(p[0], p[1], p[2]))([2.0, 3, 0.3])'
h(p) = gammainc(p[0], p[1])
hessian(h)([2.5, 1.3])[0, 0]               #~ (grad(h)([2.5001, 1.3])[0] - grad(h)([2.4999, 1.3])[0]) / 2e-4 tol 1e-7
grad(a -> gammainc(a, 0.0))(2.0)           #> 0.0
sinc'(0.0)                                 #~ 0
sinc''(0.0)                                #~ -π^2 / 3
taylor(sinc, 0.0, 4)                       #~ [1, 0, -π^2 / 6, 0, π^4 / 120]
# the spherical harmonics at the pole, where the azimuth is undefined
grad(t -> real(spherical_harmonic(2, 1, t, 0.0)))(0.0)   #~ -sqrt(15 / (8π))
# at fixed order
grad(n -> besselj(stop_gradient(n), 2.0))(1.0)   #> 0.0
# Bessel's equation
b(x) = besselj(2.5, x)
max(abs(map(x -> x^2 * b''(x) + x * b'(x) + (x^2 - 6.25) * b(x), linspace(0.5, 20, 9)))) < 1e-11   #> true

# ---- integers
gcd(-12, 18)                               #> 6
gcd([0, 5, 12], [0, 0, 8])                 #> [0, 5, 4]
lcm([4, 0, -3], 6)                         #> [12, 0, 6]
sum(primes(100))                           #> 1060
len(primes(100000))                        #> 9592
(primes(2), primes(3), primes(0))          #> ([], [2], [])
sum(i64(isprime(iota(1000))))              #> 168
isprime(1000003)                           #> true
factorize(9699690)                         #> [2, 3, 5, 7, 11, 13, 17, 19]
factorize(1)                               #> []
factorize(999983 * 2)                      #> [2, 999983]
factorial(20)                              #> 2.43290200817664e+18
binomial(50, 25)                           #> 126410606437752.0
binomial(-2.5, 2)                          #~ 35/8

# ---- second derivatives with respect to parameters of inverse functions
# And derivatives of zeta on the left (mpmath, 40 digits).
(a -> gammaincinv(a, 0.7))''(2.5)               #~ -0.03806343617519231 tol 1e-13
(a -> gammaincinv(a, 0.7))'''(2.5)              #~ 0.023987881774974009 tol 1e-12
(a -> betaincinv(a, 1.9, 0.7))''(2.5)           #~ -0.051142265187685835 tol 1e-13
(a -> icdf(FDist(a, 3.9), 0.7))''(2.5)          #~ -0.062020554535429927 tol 1e-12
(n -> cdf(StudentT(n), 0.7))''(2.5)             #~ -0.0075820448260707487 tol 1e-13
# in either order
mixed(f) = [∂(∂(f, 0), 1)(2.5, 0.7) - ∂(∂(f, 1), 0)(2.5, 0.7)]
mixed((a, p) -> icdf(Gamma(a, 1.9), p))         #~ [0] tol 1e-12
mixed((n, x) -> cdf(StudentT(n), x))            #~ [0] tol 1e-13
mixed((n, p) -> icdf(StudentT(n), p))           #~ [0] tol 1e-12
mixed((n, p) -> icdf(FDist(3.0, n), p))         #~ [0] tol 1e-12
mixed((a, p) -> icdf(Beta(a, 1.9), p))          #~ [0] tol 1e-12
map(s -> nth_derivative(zeta, s, 1), [-20.5, -12.3, -4.0, -0.1, 2.0])    #~ [300.577922970655, 0.0856032728486388, 0.00798381145026862, -0.744773208133053, -0.937548254315844] tol 1e-10
map(s -> nth_derivative(zeta, s, 3), [-8.5, -1.5])                       #~ [-0.0231633415775618, -0.16220477386151572] tol 1e-12

# ---- polynomials whose recurrences divide by 0 or lose a small parameter
# Oracle: mpmath.

[jacobi(4, -1.5, -0.5, 0.3), jacobi(5, -2, -3, 0.3)]           #~ [0.16415625, 0.0336415625] tol 1e-15
[jacobi(30, -2, -3, 0.3), jacobi(9, -3.5, -1.5, 0.3)]          #~ [0.025367121299387583, 0.00047714100585937313] tol 1e-15
jacobi(4, -1.5, -0.5 + 1e-12, 0.3)                             #~ 0.16415625 tol 1e-10
jacobi(20, -3.5, -30, 0.7) / 12.798506792551452                 #~ 1 tol 4e-15
jacobi(300, -200.5, -99.25, 0.4) / 1.1454554501389468e-84        #~ 1 tol 4e-14
gegenbauer([2, 3, 4], 1e-30, 0.3) / 1e-30                      #~ [chebyshevt(2, 0.3), 2/3 * chebyshevt(3, 0.3), 0.5 * chebyshevt(4, 0.3)]
(l -> gegenbauer(4, l, 0.3))'(1e-30)                           #~ 0.5 * chebyshevt(4, 0.3)
[chebyshevt(-3, 0.5), (x -> chebyshevt(-3, x))'(0.5)]          #~ [0, 0]
