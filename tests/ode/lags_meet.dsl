# Equal lags that reach a breaking point at the same time and move
# independently: derivatives against closed forms, or refused.
# In a long check only: it takes a minute.
# As users run it only: compiling all of it takes minutes.
delayed(p) = dde((t, y, Z) -> [Z[0, 0] + 2 * Z[1, 0]], [1.0], (0.0, 2.0); lags = list(p[0], p[1]), past = t -> [1.0], rtol = 1e-9).values[-1, 0]
at = [1.0, 1.0]

# Equal lags whose delayed times reach a jump of the rate: second derivatives
# with respect to them are refused; those with respect to other parameters are
# right.
kept(p, k) = dde((t, y, Z) -> -k*(Z[0] + Z[1]), [2.0], (0.0, 3.5); lags = list(p[0], p[1]), past = t -> [1.0], rtol = 1e-10, atol = 1e-12).values[-1, 0]
# The closed form sums over all words of lags whose total is less than the end
# time: each contributes a delayed value of the history.
kept_exact(p, k) = {
  v = 2 - 2k*3.5
  for n in 1..4 {
    for w in 0..2^n {
      lag = 0.0
      for i in 0..n { lag = lag + p[(w // 2^i) % 2] }
      past = max(3.5 - lag, 0.0)
      v = v + (-k)^n*past^n/gamma(n + 1.0) + 2(-k)^(n + 1)*past^(n + 1)/gamma(n + 2.0)
    }
  }
  v
}
kept(at, 1.0)                                         #~ kept_exact(at, 1.0) tol 1e-9
grad(p -> kept(p, 1.0))(at)                           #~ grad(p -> kept_exact(p, 1.0))(at) tol 1e-7
hessian(p -> kept(p, 1.0))([1.0, 1.1])                #~ hessian(p -> kept_exact(p, 1.0))([1.0, 1.1]) tol 1e-6
(k -> kept(at, k))''(1.0)                             #~ (k -> kept_exact(at, k))''(1.0) tol 1e-6
contains(try { str(hessian(p -> kept(p, 1.0))(at)) } catch e { e }, "lags that are equal come to a jump")    #> true
hessian(delayed)(at)                                  #~ [3, 0; 0, 6] tol 1e-5
# Where the derivative of the rate jumps: third derivatives with respect to
# different lags, and second ones.
bent(p) = dde((t, y, Z) -> -Z[0] - Z[1], [1.0], (0.0, 2.5); lags = [p[0], p[1]], past = t -> [1.0], rtol = 1e-9, atol = 1e-11).y(2.5)[0]
bent_exact(p) = {
  (a, b) = (2.5 - p[0], 2.5 - p[1])
  -4 + a^2 + b^2 - ((a - p[0])^3 + 2(a - p[1])^3 + (b - p[1])^3)/3
}
hessian(bent)(at)                                     #~ hessian(bent_exact)(at) tol 1e-6
jacobian(hessian(bent))([1.0, 1.1])                   #~ jacobian(hessian(bent_exact))([1.0, 1.1]) tol 1e-5
contains(try { str(jacobian(hessian(bent))(at)) } catch e { e }, "lags that are equal come to a jump of the slope of the rate")    #> true
