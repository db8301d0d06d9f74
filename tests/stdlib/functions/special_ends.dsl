# special_ends.dsl - special functions and distributions in limiting cases: far
# tails, almost integer orders, arguments close to a singularity, and
# intermediate overflow or underflow. Oracle: mpmath with 40 to 60 digits, or
# the closed form given.

worst(y, want) = max(abs(y - want) / max(abs(want), 1e-300))

# ---- hypergeometric functions
# Large negative arguments, and arguments close to 1 with integer or almost
# integer c - a - b.
hyp1f1(1.5, 4.0, -1500.0)/0.00007757584291945310795          #~ 1 tol 1e-13
hyp1f1(29.16104619622523, 1.3307781576866884, -71.06619693882988)/-9.446415330686253e-18   #~ 1 tol 1e-13
hyp1f1(0.5, 2.5, -900.0)                                     #~ 0.044286728858041990738 tol 1e-15
hyp2f1(-0.25, -0.25, 3.0, -3000.0)                           #~ -3.4577568736843828 tol 1e-13
hyp2f1(1.5, -0.5, 2.0, 0.999)/0.42696543073853409804         #~ 1 tol 1e-13
hyp2f1(3.5, -1.5, 1.0, 0.998)/67.021491517830267815          #~ 1 tol 1e-13
# ellipk(m) is π/2 2F1(1/2, 1/2; 1; m)
worst(π/2 * hyp2f1(0.5, 0.5, 1, [0.999, 1 - 2.0^-30, 1 - 2.0^-50, -1e6, -1e15]),
  ellipk([0.999, 1 - 2.0^-30, 1 - 2.0^-50, -1e6, -1e15])) < 1e-14   #> true
# log(1 - x)/-x is 2F1(1, 1; 2; x)
worst(hyp2f1(1, 1, 2, [1 - 2.0^-20, 1 - 2.0^-52, -1e12, -1e100]), [20 * log(2) / (1 - 2.0^-20), 52 * log(2) / (1 - 2.0^-52),
  log1p(1e12) / 1e12, 100 * log(10) / 1e100]) < 1e-14   #> true

hyp2f1(-23.74574883055077, -25.79521227639276, 25.613514694598496, -93.27969606583082)/-1.0825583582161514e+34   #~ 1 tol 1e-12
# parameters that are almost integer in several ways
hyp2f1(4.0236800005622335, 1e-12, 2.0236790005632335, 0.9999976400532351)   #~ 1.0293445658818372 tol 1e-13
hypu(7.489814207560772, 1.99, 0.5455183417621499)/7.819177269631539e-05      #~ 1 tol 1e-13
hypu(-4.184974989463257, 1e-5, 0.12311429621307012)                          #~ -1.205597064778004 tol 1e-12

# ---- Bessel functions: order close to an integer
besselj(20.01, 6.0)/9.1213298111422676841e-10                #~ 1 tol 1e-14
besseli(15.02, 4.0)/3.0818691085015804889e-8                 #~ 1 tol 1e-14
besseli(1, 3.6383357811852864e-09; scaled = true)/1.8191678839738996e-09     #~ 1 tol 1e-14
sphericali(3, 1.3327778862492525e-10)/2.2546754474632617e-32                 #~ 1 tol 1e-14
sphericalk(89, 0.02)          #> inf
expint(500.0; n = 50)/1.2955909710987690091e-220             #~ 1 tol 1e-13
expint(600.0; n = 40)/4.1416478918851928942e-264             #~ 1 tol 1e-13

# ---- Lambert's function: W(x) = x - x^2 + ...
lambertw(1e-60)*1e60          #~ 1
lambertw(1e-40)*1e40          #~ 1
lambertw(inf)                 #> inf
lambertw([-1 / e, -0.36787944117144233])      #~ [-1, -1]
lambertw(-1 / e; lower = true)   #~ -1

# ---- inverse hyperbolic functions and the sigmoid
asinh(-1e180)                              #~ -415.15846391948816843
acosh(1e170)                               #~ 392.13261298954771159
acosh(1 + 2.0^-40)/1.3486991523485067976e-6   #~ 1 tol 1e-15
atanh(2.0^-40 - 1)                         #~ -14.209517201478651469 tol 1e-15
sech(720.0)/4.0644616048485863e-313                 #~ 1 tol 1e-6
sigmoid(-50.0)/1.928749847963917783e-22    #~ 1 tol 1e-14
log(sigmoid(-45.0))                        #~ -45 tol 1e-14
sigmoid(-37.0)/8.5330476257440650661e-17   #~ 1 tol 1e-14
# sigmoid' = s (1 - s), and every derivative is one function on both sides of 0
map(sigmoid', [-40.0, 0, 40]) / (sigmoid([-40.0, 0, 40]) * sigmoid([40.0, 0, -40]))   #~ [1, 1, 1] tol 1e-13
nth_derivative(sigmoid, 0.0, 5)            #~ 0.25 tol 1e-13
nth_derivative(asinh, 0.0, 5)              #~ 9 tol 1e-12
(asinh'(1e180), acosh'(1e180), atanh'(-0.5))   #~ (1e-180, 1e-180, 4/3)

# ---- tails of distributions
icdf(StudentT(0.1), 1e-17)/-1.6044257056665689769e166        #~ 1 tol 1e-12
ccdf(StudentT(1e6), 9.0)/1.1304865167464301865e-19           #~ 1 tol 1e-12
ccdf(StudentT(1e8), 7.0)/1.2798205367885652316e-12           #~ 1 tol 1e-12
# the density of FDist(1, 1) is 1/(π*sqrt(x)*(1 + x)), its quantile tan(π*p/2)^2
pdf(FDist(1, 1), 1e19)*π*sqrt(1e19)*(1 + 1e19)               #~ 1 tol 1e-13
icdf(FDist(1, 1), 0.99999999)/4052847304964345.9             #~ 1 tol 1e-7
ccdf(FDist(1, 1), 1e200) * π * 1e100 / 2                     #~ 1 tol 1e-13
ccdf(Beta(0.2, 0.7), 1e-20)                                  #~ 0.99991033744192182 tol 1e-15
1 - ccdf(Beta(0.2, 0.7), 5.322192641333262e-27)              #~ 4.9868837e-6 tol 1e-12
# Cauchy's distribution is StudentT(1): the quantile is -cot(π p)
icdf(Cauchy(), 1 - 2.0^-40) * π / 2.0^40                     #~ 1 tol 1e-14
icdf(Cauchy(), 0.5 + 2.0^-40) * 2.0^40 / π                   #~ 1 tol 1e-14
icdf(Logistic(), 0.5 + 2.0^-40) * 2.0^38                     #~ 1 tol 1e-14
logpdf(Cauchy(), 1e200) + log(π) + 400 * log(10)             #~ 0 tol 1e-12
logpdf(StudentT(2), 1e200) + 600 * log(10)                   #~ 0 tol 1e-12
# far from its mass, a density keeps its logarithm
logpdf(Gamma(1e8), 1e8 + 4e5)                                #~ -808.00631718198382 tol 1e-12

# probabilities close to 1, and a shape of 1e-8
logpdf(Poisson(1e-10), 0) * 1e10                             #~ -1 tol 1e-15
logpdf(Binomial(7, 1e-12), 0) / 7e-12                        #~ -1 tol 1e-11
betainc(0.4376446967689286, 2.179716439331163e-08, 0.94724069599795)/1.0120266965002703e-07   #~ 1 tol 1e-13
gammaincc(1.7824101090874787e-08, 0.002372043417241848)/9.74828288990484e-08                  #~ 1 tol 1e-13

# The variance of a narrow Weibull distribution: the difference of two squares
# that are almost 1.
worst(moments(Weibull([1e12, 1e6, 30, 3, 0.5])).variance, [1.6449340668439233e-24, 1.6449297637827162e-12, 0.0016817805002180166,
  0.10533288486847873, 20]) < 1e-14   #> true

# ---- at both infinities: 0 and 1, and no density
ends = (Normal(), Uniform(), Exponential(), Gamma(2.5), Beta(2, 3), ChiSquared(3), StudentT(4), FDist(4, 9), LogNormal(),
  Weibull(1.5), Cauchy(), Laplace(), Logistic(), Gumbel(), Pareto(2.0), Poisson(3), Binomial(5, 0.3), Geometric(0.3),
  NegativeBinomial(2.5, 0.3));
for d in ends {
  assert(cdf(d, inf) == 1 and ccdf(d, inf) == 0 and pdf(d, inf) == 0 and logpdf(d, inf) == -inf, "{d.family} at inf")
}
for d in ends {
  assert(cdf(d, -inf) == 0 and ccdf(d, -inf) == 1 and pdf(d, -inf) == 0 and logpdf(d, -inf) == -inf, "{d.family} at -inf")
}
for d in ends {
  assert(isnan(cdf(d, nan)) and isnan(ccdf(d, nan)) and isnan(pdf(d, nan)) and isnan(logpdf(d, nan)), "{d.family} at nan")
  assert(icdf(d, 0.0) <= icdf(d, 1e-9) and icdf(d, 1.0) >= icdf(d, 0.999) and isnan(icdf(d, 1.1)), "quantiles of {d.family}")
}
(softplus(-inf), relu(-inf), sigmoid(-inf))   #> (0.0, 0.0, 0.0)
cdf(FDist(4, 9), inf)         #> 1.0
cdf(Cauchy(), inf)            #> 1.0
ccdf(FDist(4, 9), inf)        #> 0.0

# the exponential integrals close to the largest and the smallest numbers, and
# functions of the same growth (mpmath)
worst(expinti([705, 716.3, -710]), [2.13814897568785397e+303, 1.70078733598697999e+308, -6.29577363673904981e-312]) < 1e-12   #> true
worst(expint([-705, -716.3]), [-2.13814897568785397e+303, -1.70078733598697999e+308]) < 1e-13     #> true
worst(sinhint([705, -717]), [1.06907448784392698e+303, -1.71080832999054915e+308]) < 1e-13        #> true
worst(coshint([705, 716.5]), [1.06907448784392698e+303, 1.03838283555134394e+308]) < 1e-13        #> true
(expinti(717.0), expinti(-inf), expint(-800), sinhint(-800), coshint(inf))        #> (inf, 0.0, -inf, -inf, inf)
worst(zeta([-161.25, -170.5, -250.5, -251, -259.5]), [-1.56448395696256789e158, 1.73632156090945518e171, 1.3106450149434268e293, 1.17209627670508266e294, 3.98276611811232202e307]) < 1e-13        #> true
(zeta(-200), zeta(-261.1), zeta(-1e300))      #> (0.0, -inf, 0.0)
sinint(-inf)  #~ -π/2
1e200 * polygamma(1, 1e200)   #~ 1
expinti(-710) / -6.29577363673904981e-312     #~ 1 tol 1e-10
# far left of 0, by x^a e^-x / (x - a)
gamma_upper(-inf, [0.5, 1.0, 2.0])   #> [inf, 0, 0]
