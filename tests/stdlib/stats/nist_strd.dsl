# NIST StRD nonlinear regression: digits that agree with the certified
# parameters (LRE, at most 10), from both starts. Exact Jacobians,
# Levenberg-Marquardt with default options. At least 6 digits from start 2 and 4
# from start 1 are required for every set.

use "_nist_strd.dsl" as s

lre(x, c) = min(-log10(abs(x - c) / abs(c) + 1e-10))
found(d, model, start) = least_squares(p -> model(p, d.x) - d.y, start)
reached(d, model) = {
  (a, b) = (found(d, model, d.start1), found(d, model, d.start2))
  rss = max(abs(2 * [a.value, b.value] / d.rss - 1))
  (lre(a.x, d.certified) >= 4, lre(b.x, d.certified) >= 6, rss < (if d.rss < 1e-20 { 0.1 } else { 1e-9 }), a.converged and
    b.converged)
}
rational2(p, x) = (p[0] + p[1] * x + p[2] * x^2) / (1 + p[3] * x + p[4] * x^2)
rational3(p, x) = (p[0] + p[1] * x + p[2] * x^2 + p[3] * x^3) / (1 + p[4] * x + p[5] * x^2 + p[6] * x^3)
gauss(p, x) = p[0] * exp(-p[1] * x) + p[2] * exp(-(x - p[3])^2 / p[4]^2) + p[5] * exp(-(x - p[6])^2 / p[7]^2)
lanczos(p, x) = p[0] * exp(-p[1] * x) + p[2] * exp(-p[3] * x) + p[4] * exp(-p[5] * x)
chwirut(p, x) = exp(-p[0] * x) / (p[1] + p[2] * x)
enso(p, x) = p[0] + p[1] * cos(2π * x / 12) + p[2] * sin(2π * x / 12) + p[4] * cos(2π * x / p[3]) + p[5] * sin(2π * x / p[3]) +
  p[7] * cos(2π * x / p[6]) + p[8] * sin(2π * x / p[6])

reached(s.chwirut1, chwirut)   #> (true, true, true, true)
reached(s.chwirut2, chwirut)   #> (true, true, true, true)
reached(s.danwood, (p, x) -> p[0] * x^p[1])   #> (true, true, true, true)
reached(s.enso, enso)   #> (true, true, true, true)
reached(s.gauss1, gauss)   #> (true, true, true, true)
reached(s.gauss2, gauss)   #> (true, true, true, true)
reached(s.gauss3, gauss)   #> (true, true, true, true)
reached(s.hahn1, rational3)   #> (true, true, true, true)
reached(s.kirby2, rational2)   #> (true, true, true, true)
reached(s.lanczos1, lanczos)   #> (true, true, true, true)
reached(s.lanczos2, lanczos)   #> (true, true, true, true)
reached(s.lanczos3, lanczos)   #> (true, true, true, true)
reached(s.mgh17, (p, x) -> p[0] + p[1] * exp(-x * p[3]) + p[2] * exp(-x * p[4]))   #> (true, true, true, true)
reached(s.misra1a, (p, x) -> p[0] * (1 - exp(-p[1] * x)))   #> (true, true, true, true)
reached(s.misra1b, (p, x) -> p[0] * (1 - (1 + p[1] * x / 2)^-2))   #> (true, true, true, true)
reached(s.misra1c, (p, x) -> p[0] * (1 - (1 + 2 * p[1] * x)^-0.5))   #> (true, true, true, true)
reached(s.misra1d, (p, x) -> p[0] * p[1] * x / (1 + p[1] * x))   #> (true, true, true, true)
nelson = (...s.nelson, x = (s.nelson.x1, s.nelson.x2), y = log(s.nelson.y))
reached(nelson, (p, x) -> p[0] - p[1] * x[0] * exp(-p[2] * x[1]))   #> (true, true, true, true)
reached(s.roszman1, (p, x) -> p[0] - p[1] * x - atan(p[2] / (x - p[3])) / π)   #> (true, true, true, true)

# Ill-conditioned linear sets: Longley (economic series that rise together,
# public domain: J. Am. Stat. Assoc. 62, 1967) and Pontius (a load cell,
# quadratic in loads up to 3e6). By least squares and by fit(), against the
# certified coefficients (https://www.itl.nist.gov/div898/strd/lls/lls.shtml).
longley = (y = [60323.0, 61122, 60171, 61187, 63221, 63639, 64989, 63761, 66019, 67857, 68169, 66513, 68655, 69564, 69331, 70551],
  x = stack(ones(16), [83.0, 88.5, 88.2, 89.5, 96.2, 98.1, 99.0, 100.0, 101.2, 104.6, 108.4, 110.8, 112.6, 114.2, 115.7, 116.9],
    [234289.0, 259426, 258054, 284599, 328975, 346999, 365385, 363112, 397469, 419180, 442769, 444546, 482704, 502601, 518173, 554894],
    [2356.0, 2325, 3682, 3351, 2099, 1932, 1870, 3578, 2904, 2822, 2936, 4681, 3813, 3931, 4806, 4007],
    [1590.0, 1456, 1616, 1650, 3099, 3594, 3547, 3350, 3048, 2857, 2798, 2637, 2552, 2514, 2572, 2827],
    [107608.0, 108632, 109773, 110929, 112075, 113270, 115094, 116219, 117388, 118734, 120445, 121950, 123366, 125368, 127852, 130081],
    1947.0 + iota(16); axis = 1),
  certified = [-3482258.63459582, 15.0618722713733, -0.0358191792925910, -2.02022980381683, -1.03322686717359, -0.0511041056535807,
    1829.15146461355], rss = 836424.055505915)
load = 150000.0 * (iota(20) + 1)
pontius = (y = [0.11019, 0.21956, 0.32949, 0.43899, 0.54803, 0.65694, 0.76562, 0.87487, 0.98292, 1.09146, 1.20001, 1.30822, 1.41599,
    1.52399, 1.63194, 1.73947, 1.84646, 1.95392, 2.06128, 2.16844, 0.11052, 0.22018, 0.32939, 0.43886, 0.54798, 0.65739, 0.76596,
    0.87474, 0.98300, 1.09150, 1.20004, 1.30818, 1.41613, 1.52408, 1.63159, 1.73965, 1.84696, 1.95445, 2.06177, 2.16829],
  x = stack(ones(40), concat(load, load), concat(load, load)^2; axis = 1),
  certified = [0.673565789473684e-3, 0.732059160401003e-6, -0.316081871345029e-14], rss = 0.155761768796992e-5)
for d in list(longley, pontius) {
  c = lstsq(d.x, d.y)
  a = least_squares(p -> d.x @ p - d.y, 0 * d.certified)
  f = fit((p, x) -> x @ p, d.x, d.y, 0 * d.certified)
  print(min(lre(c, d.certified)) > 9, min(lre(a.x, d.certified)) > 9, min(lre(f.p, d.certified)) > 9, abs(2 * a.value / d.rss - 1) < 1e-11)
}
#> true true true true
#> true true true true
