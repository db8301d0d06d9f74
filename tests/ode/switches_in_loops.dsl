# Rates and integrands that are piecewise by a comparison in a loop, a table
# search, or abs and similar functions: integrals, solutions, and their
# derivatives where the jumps have known locations. Errors for unknown locations
# are tested in errors/loop_integrand.dsl, jump_in_integrand.dsl and
# loop_rate.dsl.

(lo, mid, hi) = (1.0, 10.0, 3.0)
ks = [lo, mid, hi]
# lo up to a, mid up to b, then hi
by_if(x, a, b) = if x > b { hi } else if x > a { mid } else { lo }
by_search(x, a, b) = ks[searchsorted(stack(a, b), x)]
by_bins(x, a, b) = ks[digitize(x, stack(a, b))]
by_count(x, a, b) = ks[sum(i64(stack(a, b) < x))]
by_find(x, a, b) = ks[len(findall(stack(a, b) < x))]
by_loop(x, a, b) = { k = lo; for (i, e) in enumerate(stack(a, b)) { if x > e { k = ks[i + 1] } }; k }
by_index(x, a, b) = { e = stack(a, b); j = 0; for i in 0..2 { j = j + i64(x > e[i]) }; ks[j] }
by_return(x, a, b) = { e = stack(a, b); for i in 0..2 { if x < e[i] { return ks[i] } }; hi }
by_break(x, a, b) = { e = stack(a, b); k = lo; for i in 0..2 { if x >= e[i] { k = ks[i + 1] } else { break } }; k }
by_while(x, a, b) = { e = stack(a, b); i = 0; while i < 2 and x > e[min(i, 1)] { i = i + 1 }; ks[i] }
by_sum(x, a, b) = { e = stack(a, b); lo + sum(if x > e[i] { ks[i + 1] - ks[i] } else { 0.0 } for i in 0..2) }

# ∫ x k dx, and y' = t k
whole(a, b) = 0.5*(lo*a^2 + mid*(b^2 - a^2) + hi*(1 - b^2))
slopes(f, a, b) = stack((s -> f(s, b))'(a), (s -> f(a, s))'(b))
for (i, k) in enumerate(list(by_if, by_search, by_bins, by_count, by_find, by_loop, by_index, by_sum, by_return, by_break, by_while)) {
  a = 0.15 + 0.2*mod(0.618*(i + 1), 1)
  b = 0.4 + 0.5*mod(0.414*(i + 1), 1)
  area(a, b) = integrate(x -> x*k(x, a, b), 0, 1)
  assert(abs(area(a, b) - whole(a, b)) < 1e-9, "{i}")
  assert(norm(slopes(area, a, b) - slopes(whole, a, b)) < 1e-9, "{i} {a} {b}: {slopes(area, a, b)}")
  final(a, b) = ode((t, y) -> stack(t*k(t, a, b)), [0.0], (0.0, 1.0); rtol = 1e-9, atol = 1e-10).y(1.0)[0]
  assert(abs(final(a, b) - whole(a, b)) < 1e-7, "{i}: {final(a, b)}")
  assert(norm(slopes(final, a, b) - slopes(whole, a, b)) < 1e-7, "{i} {a} {b}: {slopes(final, a, b)}")
}
(a -> integrate(x -> x*by_search(x, a, 0.7), 0, 1))''(0.3)    #~ lo - mid tol 1e-8

# a table of 200 moving knots, and one of 3000 fixed knots
at = linspace(0, 1, 200)^2
values = sin(7*at) + 0.3*cos(40*at)
moved(a) = integrate(x -> interp(x, a*at, values), 0, 0.8)
(moved(0.9 + 1e-5) - moved(0.9 - 1e-5))/2e-5    #~ moved'(0.9) tol 1e-7
at = sort(mod(0.618*iota(3000), 1))
values = cos(9*at) + mod(7*at, 1)
parts = (at[1..] - at[..-1])*(values[1..] + values[..-1])/2
integrate(x -> interp(x, at, values), at[0], at[-1])    #~ sum(parts) tol 1e-12

# A rate that holds each of 400 values for a while: its integral, and the
# derivative with respect to the time scale.
ends = linspace(0, 1, 400)^1.3
values = sin(40*ends) + 2*ends
held(a) = { e = clamp(concat(a*ends, [1.0]), 0.0, 1.0); sum(values*(e[1..] - e[..-1])) }
rested(a) = ode((t, y) -> stack(values[searchsorted(a*ends, t) - 1]), [0.0], (0.0, 1.0); rtol = 1e-8, atol = 1e-10).y(1.0)[0]
rested(0.8)     #~ held(0.8) tol 1e-9
rested'(0.8)    #~ held'(0.8) tol 1e-9
(a -> integrate(t -> values[searchsorted(a*ends, t) - 1], 0, 1))'(0.8)    #~ held'(0.8) tol 1e-9

# The history of a delay equation and the path of a stochastic one both depend
# on the jump.
past(k) = a -> dde((t, y, Z) -> stack(Z[0][0]), [0.0], (0.0, 1.0); lags = [1.0], past = t -> stack(k(t + 1, a, 2.0)), rtol = 1e-8).y(1.0)[0]
past(by_search)'(0.3)    #~ lo - mid tol 1e-9
path(k) = a -> sde((t, x) -> stack(k(t, a, 2.0)), (t, x) -> stack(0.1), [0.0], (0.0, 1.0); seed = 3).y(1.0)[0]
path(by_search)'(0.3)    #~ lo - mid tol 1e-9
# A jump at an unknown location restarts the integration where it is detected.
by_turns(x, a, b) = { s = lo; e = a; while x > e { s = mid; e = e + 10 }; s }
path(by_turns)(0.3)      #~ path(by_if)(0.3) tol 1e-9

# In a boundary value problem, nodes do not move with a jump.
between(k) = a -> bvp((t, y) -> stack(y[1], k(t, a, 2.0)), (ya, yb) -> stack(ya[0], yb[0]), (0.0, 1.0), [0.0, 0.0]).y(0.5)[0]
said(f) = try { "{f()}" } catch m { m }
for k in list(by_if, by_search, by_turns) {
  assert(abs(between(k)(0.3) + 1.0475) < 3e-6, "between: {between(k)(0.3)}")
  assert(contains(said(() -> between(k)'(0.3)), "at a place that depends on what is differentiated by"), said(() -> between(k)'(0.3)))
}

# Very short doses, written as sums, loops and comparisons.
(at, w) = ([0.5, 8.0, 16.0], 0.002)
in_sum(t, at, w) = sum(if t >= τ and t < τ + w { 1/w } else { 0.0 } for τ in at)
in_loop(t, at, w) = { s = 0.0; for τ in at { if t - τ >= 0 and t - τ < w { s = s + 1/w } }; s }
in_window(t, at, w) = { s = 0.0; for i in 0..3 { if abs(t - at[i] - w/2) < w/2 { s = s + 1/w } }; s }
in_any(t, at, w) = if any(abs(t - at - w/2) < w/2) { 1/w } else { 0.0 }
in_turn(t, at, w) = { s = 0.0; for k in 0..3 { if t >= 7.75*k + 0.5 and t < 7.75*k + 0.5 + w { s = s + 1/w } }; s }
in_two(t, at, w) = if max(t - at[1], at[1] - t) < w/2 or (t - at[2])^2 < w^2/4 { 1.5/w } else { 0.0 }
gone(dose) = (at, w) -> ode((t, y) -> stack(dose(t, at, w) - 0.1*y[0]), [0.0], (0.0, 24.0); rtol = 1e-9).y(24.0)[0]
for dose in list(in_sum, in_loop, in_window, in_any, in_turn, in_two) {
  assert(abs(integrate(t -> dose(t, at, w), 0, 24) - 3) < 1e-9, "{integrate(t -> dose(t, at, w), 0, 24)}")
}
# y(24) after doses that decay, and its derivatives with respect to their times.
left(at, w) = sum(exp(-0.1*(24 - at))*(exp(0.1*w) - 1))/(0.1*w)
for dose in list(in_sum, in_loop, in_window, in_any) {
  assert(abs(gone(dose)(at, w) - left(at, w)) < 1e-7, "{gone(dose)(at, w)}")
  assert(norm(grad(at -> gone(dose)(at, w))(at) - grad(at -> left(at, w))(at)) < 1e-6, "{grad(at -> gone(dose)(at, w))(at)}")
}

gone(in_turn)(at, w)    #~ left([0.5, 8.25, 16.0], w) tol 1e-7
gone(in_two)(at, w)     #~ 1.5*left(at[1..] - w/2, w) tol 1e-7

# each of twenty steps moves
(p -> integrate(x -> { s = 0.0; for k in 0..20 { s += if x < p + k/100 { 1.0 } else { 2.0 } }; s }, 0, 1))'(0.4)    #~ -20 tol 1e-9

# Two comparisons at one location: each contributes only its own change.
both(a, b) = integrate(x -> (if x > a { 1.0 } else { 2.0 })*(if 2*x > 2*b { 3.0 } else { 5.0 }), 0, 1)
((a -> both(a, 0.3))'(0.3), (b -> both(0.3, b))'(0.3), (a -> both(a, a))'(0.3), (a -> both(a, 2a - 0.3))'(0.3))  #~ (4.0, 3.0, 7.0, 10.0) tol 1e-9
grad(q -> both(q[0], q[1]))([0.3, 0.3])    #~ [4, 3] tol 1e-9
fixed(a) = integrate(x -> (if x > a { 1.0 } else { 2.0 }) + (if x > 0.3 { 3.0 } else { 0.0 }), 0, 1)
fixed'(0.3)    #~ 1 tol 1e-9
