# What an integrand is for a short while only counts, where it compares its argument with something.
for w in [0.01, 1e-4, 1e-6] {
  pulse(x) = if x > 0.4123 and x < 0.4123 + w { 1/w } else { 0.0 }
  # 0.4123 + w is known to a rounding
  tol = 1e-12 + 2e-16/w
  assert(abs(integrate(pulse, 0, 1) - 1) < tol and abs(integrate(pulse, 1, 0) + 1) < tol, "{w}")
  assert(abs(integrate(pulse, -inf, inf) - 1) < 10tol and abs(integrate(pulse, 0, inf) - 1) < 10tol, "inf {w}")
  if w > 1e-5 { assert(abs(integrate(pulse, 0, 1; rule = "tanh_sinh") - 1) < tol, "tanh_sinh {w}") }
  f(x) = if abs(x - 3) < w { [1/w, x/w] } else { [0.0, 0.0] }
  v = integrate(f, -10, 10)
  # rtol of the largest element
  assert(max(abs(v - [2, 6])) < 6e-10 + 1e-14/w, "{w}: {v}")
}
# a comb: mod jumps, and is compared
integrate(x -> if x % 1.0 < 0.001 { 1000.0 } else { 0.0 }, 0, 100)                #~ 100 tol 1e-8
# the inner integral's ends and pulse move with the outer variable
integrate(x -> integrate(y -> if y > x and y < x + 1e-5 { 1e5*y } else { 0.0 }, 0, 3), 0, 1)   #~ 0.500005 tol 1e-9
(s -> integrate(x -> if x > s and x < s + 1e-4 { x^2*1e4 } else { 0.0 }, 0, 1))'(0.4)            #~ 0.8 + 1e-4 tol 1e-7
