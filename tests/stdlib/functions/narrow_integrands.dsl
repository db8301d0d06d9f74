# Narrow features of integrands count in full: pulses defined by comparisons,
# and smooth peaks.
for w in [0.01, 1e-4, 1e-6] {
  pulse(x) = if x > 0.4123 and x < 0.4123 + w { 1/w } else { 0.0 }
  # 0.4123 + w is rounded
  tol = 1e-12 + 2e-16/w
  assert(abs(integrate(pulse, 0, 1) - 1) < tol and abs(integrate(pulse, 1, 0) + 1) < tol, "{w}")
  assert(abs(integrate(pulse, -inf, inf) - 1) < 10tol and abs(integrate(pulse, 0, inf) - 1) < 10tol, "inf {w}")
  if w > 1e-5 { assert(abs(integrate(pulse, 0, 1; rule = "tanh_sinh") - 1) < tol, "tanh_sinh {w}") }
  f(x) = if abs(x - 3) < w { [1/w, x/w] } else { [0.0, 0.0] }
  v = integrate(f, -10, 10)
  # rtol refers to the largest element
  assert(max(abs(v - [2, 6])) < 6e-10 + 1e-14/w, "{w}: {v}")
}
# a comb: mod jumps, and is compared
integrate(x -> if x % 1.0 < 0.001 { 1000.0 } else { 0.0 }, 0, 100)                #~ 100 tol 1e-8
# The limits and the pulse of the inner integral depend on the outer variable.
integrate(x -> integrate(y -> if y > x and y < x + 1e-5 { 1e5*y } else { 0.0 }, 0, 3), 0, 1)   #~ 0.500005 tol 1e-9
(s -> integrate(x -> if x > s and x < s + 1e-4 { x^2*1e4 } else { 0.0 }, 0, 1))'(0.4)            #~ 0.8 + 1e-4 tol 1e-7

# A peak close to one end of a very long interval.
for b in [1e5, 1e8, 1e15, 1e19] {
  assert(abs(integrate(x -> x * exp(-x), 0, b) - 1) < 1e-9, "x exp(-x) to {b}")
  assert(abs(integrate(x -> x * exp(x), -b, 0) + 1) < 1e-9, "x exp(x) from -{b}")
}
integrate(x -> x^3 / (exp(x) - 1), 0, 1e8)   #~ π^4 / 15 tol 1e-8
integrate(x -> x * exp(-1000x), 0, 1e5)      #~ 1e-6 tol 1e-15
# An interior infinity, whether or not a node hits it: as accurate as the
# rounding of the location allows, which the estimate includes.
for c in [0.1, 0.3, 0.7, 1/3] {
  r = quadrature(x -> 1 / sqrt(abs(x - c)), 0, 1)
  off = abs(r.value - 2 * (sqrt(c) + sqrt(1 - c)))
  assert(off < 1e-7 and off <= r.error, "{c}: off {off}, said {r.error}")
}
try { str(integrate(x -> 1 / abs(x - 0.3), 0, 1)) } catch m { contains(m, "not reached") }   #> true

# Peaks on a base, and holes, which only points between the nodes reveal.
peak(x, c, w) = exp(-((x - c)/w)^2)
integrate(x -> 1 + peak(x, 0.3, 1e-4), 0, 1)                        #~ 1 + 1e-4*sqrt(π) tol 1e-9
integrate(x -> cos(x) - 0.3peak(x, 0.71, 3e-4), 0, 1)               #~ sin(1) - 0.9e-4*sqrt(π) tol 1e-9
integrate(x -> [1 + peak(x, 0.3, 1e-4), x], 0, 1)                   #~ [1 + 1e-4*sqrt(π), 0.5] tol 1e-9
integrate(x -> 1/(1 + x^2) + peak(x, 20, 1e-3), 0, inf)             #~ π/2 + 1e-3*sqrt(π) tol 1e-8
missed = 0
for i in 0..20 {
  c = 0.05 + 0.9((0.6180339887i) % 1.0)
  if abs(integrate(x -> 1 + peak(x, c, 1.2e-3), 0, 1) - 1 - 1.2e-3*sqrt(π)) > 1e-8 { missed += 1 }
}
missed                        #> 0
# A narrow peak where intervals are split, such as the middle, is on both sides
# of the split.
bell(x, c, w) = exp(-((x - c)/w)^2)/(w*sqrt(π))
for w in [1e-3, 1e-5, 1e-6] {
  assert(abs(integrate(x -> bell(x, 0.5, w), 0, 1) - 1) < 1e-9, "alone {w}")
  assert(abs(integrate(x -> x + bell(x, 0.5, w), 0, 1) - 1.5) < 1e-9, "on a slope {w}")
  assert(abs(integrate(x -> bell(x, 0.7, w) + (if x < 0.4 { 1.0 } else { 2.0 }), 0, 1) - 2.6) < 1e-9, "beside a jump {w}")
  assert(abs(integrate(x -> exp(-x) + bell(x, 1.0, w), 0, inf) - 2) < 1e-9, "to infinity {w}")
  assert(max(abs(integrate(x -> [1.0, bell(x, -2.0, w)], -3, -1) - [2, 1])) < 1e-9, "an array {w}")
}

# Several peaks and nothing else: those that few points reveal are searched for
# elsewhere, too.
for w in [1e-3, 4e-4] {
  for i in 0..12 {
    c = 0.05 + 0.9*mod(0.618*(i + 1) + 0.7549*(1 + 0.1*i)*iota(3), 1)
    v = integrate(x -> sum(exp(-((x - c)/w)^2))/(w*sqrt(π)), 0, 1)
    assert(abs(v - 3) < 1e-8, "peaks of {w} at {c}: {v}")
  }
}
integrate(t -> sum(exp(-((t - [0.5, 8.0, 16.0])/0.004)^2))/(0.004*sqrt(π)), 0, 24)    #~ 3 tol 1e-9
