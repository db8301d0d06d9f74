# Derivatives of the minimiser and of the minimum through the optimality
# conditions. Oracle: the zero of the gradient, and closed forms.

well(x, p) = (x[0] - p)^2 + (x[1] - x[0]^2)^2 + 0.1x[1]^4
m(p) = minimize(x -> well(x, p), [0.5, 0.5], tol = 1e-13)
z(p) = root(x -> grad(y -> well(y, p))(x), [0.8, 0.7])
m(1.0).x                     #~ z(1.0) tol 1e-9
jacobian(p -> m(p).x)(1.0)   #~ jacobian(z)(1.0) tol 1e-7
taylor(p -> m(p).x, 1.0, 3)  #~ taylor(z, 1.0, 3) tol 1e-6
# The first derivative of the minimum is the partial derivative with respect to
# the parameter (envelope theorem). The second needs that of the minimiser.
(p -> m(p).value)'(1.0)      #~ -2(z(1.0)[0] - 1) tol 1e-9
grad(p -> m(p).value)(1.0)   #~ -2(z(1.0)[0] - 1) tol 1e-9
grad(grad(p -> m(p).value))(1.0)     #~ 2 - 2jacobian(z)(1.0)[0] tol 1e-7
map(p -> m(p).x, [1.0, 1.5]) #~ map(z, [1.0, 1.5]) tol 1e-8
map(p -> grad(q -> m(q).value)(p), [1.0, 1.5])       #~ map(p -> -2(z(p)[0] - p), [1.0, 1.5]) tol 1e-8
# Records as arguments and results: min (a - u)² + v a², |b - uv|².
r(p) = minimize(q -> (q.a - p.u)^2 + sum((q.b - p.u*p.v)^2) + q.a^2 * p.v, (a = 1.0, b = [1.0, 2.0]))
grad(p -> r(p).x.a)((u = 1.0, v = 2.0))      #~ (u = 1/3, v = -1/9) tol 1e-8
grad(p -> r(p).x.b[1])((u = 1.0, v = 2.0))   #~ (u = 2, v = 1) tol 1e-8
# The starting point does not matter.
grad(x0 -> sum(minimize(x -> sum((x - 1)^2), x0).x))([3.0, 4])       #~ [0, 0]

# Least squares with a nonzero residual.
three(x, p) = [x[0] - p, 10(x[1] - x[0]^2), x[1] - 2]
fit(p) = least_squares(x -> three(x, p), [0.5, 0.5])
flat(p) = root(x -> grad(y -> sum(three(y, p)^2))(x), [1.2, 1.5])
fit(1.0).x                   #~ flat(1.0) tol 1e-8
jacobian(p -> fit(p).x)(1.0) #~ jacobian(flat)(1.0) tol 1e-6
grad(grad(p -> fit(p).value))(1.0)   #~ 1 - jacobian(flat)(1.0)[0] tol 1e-6
# A linear fit: the derivative of the coefficients with respect to the data is
# the pseudo-inverse.
t = linspace(0, 1, 5)
line(y) = least_squares(c -> c[0] + c[1] * t - y, [0.0, 0.0]).x
jacobian(line)([1.0, 2, 2, 3, 5])    #~ pinv(transpose(stack(ones(5), t))) tol 1e-9
