# Convergence reports of minimisations: converged at minima, at any scale of f
# and of the unknowns and with any constant added; not converged elsewhere.

methods = list(lbfgs(), bfgs(), ssbroyden(), conjugate_gradient(), newton(), newton_cg())
is_at(f, x0, x, tol) = map(m -> {
  r = minimize(f, x0, m)
  r.converged and max(abs(r.x - x)) <= tol * max(abs(x))
}, methods)
# a large constant or the scale of f does not hide the minimum
is_at(x -> 1e12 + (x - 4)^2, 0.0, 4.0, 1e-8)                  #> list(true, true, true, true, true, true)
is_at(x -> -1e15 + sum((x - [4, 5])^2), [0.0, 0], [4.0, 5], 1e-8)        #> list(true, true, true, true, true, true)
is_at(x -> 1e-12 * (x - 4)^2, 0.0, 4.0, 1e-8)                 #> list(true, true, true, true, true, true)
is_at(x -> 1e12 * (x - 4)^2, 0.0, 4.0, 1e-8)                  #> list(true, true, true, true, true, true)
is_at(x -> 1e-20 * sum((x - [4, 5])^4 + (x - [4, 5])^2), [0.0, 0], [4.0, 5], 1e-8)     #> list(true, true, true, true, true, true)
# nor does the scale of the unknowns, or a start that is much steeper than the
# end
is_at(x -> (1e8 * x - 4)^2, 0.0, 4e-8, 1e-8)                  #> list(true, true, true, true, true, true)
minimize(x -> cosh(20 * x[0]) + (x[1] - 3)^2, [1.0, 0]).x     #~ [0, 3] tol 1e-6
# from the minimum itself, to within rounding
again(m) = {
  f = x -> 100 * (x[1] - x[0]^2)^2 + (1 - x[0])^2
  minimize(f, minimize(f, [-1.2, 1.0], m).x, m).converged
}
map(again, methods)                           #> list(true, true, true, true, true, true)
minimize(x -> cos(x + π) + 5, 0.0).converged  #> true
minimize(x -> cos(x + π) + 5, 1e-9).converged #> true
# Without a minimum, or where the gradient does not vanish, there is no
# convergence.
verdict(f, x0, m) = minimize(f, x0, m; partial = true).converged
map(m -> verdict(x -> sum(2x), [5.0, 5], m), methods)         #> list(false, false, false, false, false, false)
map(m -> verdict(x -> 1e12 + sum(2x), [5.0, 5], m), methods)  #> list(false, false, false, false, false, false)
verdict(x -> sum(2x), [5.0, 5], nelder_mead())                #> false
verdict(x -> sum(2x), [5.0, 5], adam(rate = 0.1))             #> false
verdict(x -> exp(-x), 1.0, lbfgs())           #> false
verdict(x -> 1 + sum(abs(x)), [1.0, 2], lbfgs())              #> false
minimize(x -> 1e12 + (x - 4)^2, 2.0, adam(rate = 0.1), steps = 2000).x   #~ 4 tol 1e-3
# with bounds: interior, active, and scales of f again
B(f) = { r = minimize(f, 5.0; lower = 0, upper = 10); (r.converged, r.x) }
B(x -> 1e30 * (x - 3)^2)                      #~ (true, 3)
B(x -> 1e-30 * (x - 3)^2)                     #~ (true, 3) tol 1e-8
B(x -> 1e12 + 2x)                             #~ (true, 0)
B(x -> 1e12 - x^2)                            #~ (true, 10)
# with constraints
r = minimize(x -> 1e12 + sum((x - 3)^2), [0.0, 0]; equal = x -> sum(x) - 1)
(r.converged, r.x)                            #~ (true, [0.5, 0.5])
minimize(x -> 1e12 + x[0] - x[1], [0.0, 0]; equal = x -> x[0], steps = 20, partial = true).converged     #> false

# Least squares: at (x² + 1)²/2, the Jacobian vanishes with the gradient.
squares(r, x0) = map(m -> { r = least_squares(r, x0, m); r.converged }, list(lm(), lm(geodesic = false), dogleg()))
squares(x -> [x[0]^2 + 1], [1.0])             #> list(true, true, true)
least_squares(x -> [x[0]^2 + 1], [1.0]).x     #~ [0] tol 1e-6
squares(x -> [x[0]^2 + 1, x[1] - 3], [1.0, 0])        #> list(true, true, true)
squares(x -> 1e10 * [x[0]^2 + 1, x[1] - 3], [1.0, 0]) #> list(true, true, true)
# An initial residual of 2e18 does not make the remaining one negligible.
least_squares(x -> [exp(60 * x[0]) - 1, x[1] - 3], [0.7, 0], gauss_newton()).x    #~ [0, 3] tol 1e-8
least_squares(x -> [exp(-x[0])], [1.0]; steps = 30).converged  #> false

# Neither a step limit nor a stiff direction beside a flat one makes a minimum:
# MGH10 of NIST, with the minimum 43.97292758, and Powell's badly scaled
# function, with the minimum 0.
ym = [34780.0, 28610, 23650, 19630, 16370, 13720, 11540, 9744, 8261, 7030, 6005, 5147, 4427, 3820, 3307, 2872]
tt = 45 + 5 * (1.0 + iota(16))
map(m -> {
  r = least_squares(x -> x[0] * exp(x[1] / (tt + x[2])) - ym, [2.0, 400000, 25000], m)
  r.converged == (r.value < 43.98)
}, list(lm(), lm(geodesic = false), dogleg()))        #> list(true, true, true)
map(m -> {
  r = minimize(x -> (1e4 * x[0] * x[1] - 1)^2 + (exp(-x[0]) + exp(-x[1]) - 1.0001)^2, [0.0, 1], m)
  r.converged == (r.value < 1e-12)
}, methods)          #> list(true, true, true, true, true, true)
minimize(x -> sum((x - 1)^2), [0.0, 0], nelder_mead()).message        #> the values at the corners agree

# values that are not finite are reported with place and step
said(f) = try { f(); "" } catch m { m }
m = said(() -> minimize(x -> sum(log(x)), [-1.0]))
contains(m, "is nan") and contains(m, "after 0 steps") and contains(m, "[-1]")       #> true
m = said(() -> minimize(x -> sum(2x), [5.0, 5]))
contains(m, "is -inf") and contains(m, "steps, where the unknowns are")        #> true
contains(said(() -> least_squares(x -> log(x), [-1.0])), "is nan")     #> true
contains(said(() -> minimize(x -> sum(log(x)), [-1.0]; equal = x -> x - 1)), "is nan")       #> true
minimize(x -> sum(log(x)), [-1.0]; partial = true).message     #> the function is not finite
