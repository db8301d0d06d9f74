# Zeros and fixed points: values, and derivatives of every order with respect to
# captured values. Oracle: closed forms.

root(x -> x^2 - 2, 1.0) #~ sqrt(2) tol 1e-15
root(x -> x^2 - 2, (0.0, 2.0)) #~ sqrt(2) tol 1e-15
root(x -> x^2 - 2, (0, 2)) #~ sqrt(2) tol 1e-15
root(cos, (1, 2)) #~ pi/2 tol 1e-15
root(x -> x^3 - 2x + 2, 0.0) #~ -1.7692923542386314
root(z -> z^2 + 1, 0.5 + 0.5im) #~ 1im
root(x -> [x[0]^2 + x[1]^2 - 1, x[0] - x[1]], [1.0, 0.5]) #~ [1,1]/sqrt(2)
r(p) = root(x -> [x[0]^2 + x[1]^2 - p, x[0] - p*x[1]], [1.0, 0.5])
e_(p) = { y = sqrt(p/(1 + p^2)); [p*y, y] }
r(2.0) #~ e_(2.0)
jacobian(r)(2.0) #~ jacobian(e_)(2.0)
taylor(r, 2.0, 5) #~ taylor(e_, 2.0, 5)
grad(grad(grad(p -> sum(r(p)))))(2.0) #~ grad(grad(grad(p -> sum(e_(p)))))(2.0)
map(r, [1.0, 2.0, 3.0]) #~ map(e_, [1.0,2.0,3.0])
map(p -> jacobian(r)(p), [1.0, 2.0, 3.0]) #~ map(p -> jacobian(e_)(p), [1.0,2.0,3.0])
root(q -> (a = q.a^2 - 2, b = q.b * q.a - [1.0, 2.0]), (a = 1.0, b = [1.0, 1.0])) #~ (a = sqrt(2), b = [1,2]/sqrt(2))
grad(p -> root(q -> (a = q.a^2 - p, b = q.b * q.a - [1.0, 2.0]), (a = 1.0, b = [1.0, 1.0])).b[1])(2.0) #~ -1/2^1.5
fixed_point(cos, 1.0) #~ 0.7390851332151607
fixed_point(x -> cos(x), [1.0, 0.5]) #~ 0.7390851332151607 * [1,1]
k(p) = fixed_point(x -> cos(p * x), 1.0)
k'(1.0) #~ -sin(k(1.0))*k(1.0)/(1+sin(k(1.0)))
taylor(k, 1.0, 4) #~ taylor(p -> root(x -> x - cos(p*x), 1.0), 1.0, 4)
map(k, [0.5, 1.0]) #~ [k(0.5), k(1.0)]
sq(p) = implicit(x -> x^2 - p, sqrt(2.0))
taylor(sq, 2.0, 5) #~ taylor(sqrt, 2.0, 5)

# The iterations are not differentiated: the derivative at a known zero costs a
# few operations.
cheap(p) = root(x -> exp(x) - p, 1.0)
cheap'(2.0)                  #~ 0.5
cheap''(2.0)                 #~ -0.25
cheap''''(2.0)               #~ -6/16
# Oracle: the complex step.
steep(p) = root(x -> x^3 + p*x - 1, 0.5)
steep'(1.5)                  #~ { x = steep(1.5); -x / (3x^2 + 1.5) }
h = 1e-30
steep'(1.5)                  #~ imag(root(x -> x^3 + (1.5 + h*1im)*x - 1, 0.5 + 0im)) / h tol 1e-10
# A root inside a root.
outer_zero(p) = root(x -> x - 0.5*root(z -> z^2 - p*x, 1.0), 1.0)
outer_zero'(3.0)             #~ 0.25
outer_zero''(3.0)            #~ 0 tol 1e-10
# The starting point x0 does not matter.
(x0 -> root(x -> x^2 - 2, x0))'(1.0)  #~ 0
# Batch elements stop one by one; failures of branches not taken do not reach a
# derivative.
grad(ps -> sum(map(p -> root(x -> x^2 - p, (0.0, 10.0)), ps)))([1.0, 4, 9])  #~ [1/2, 1/4, 1/6]
hessian(ps -> sum(map(p -> root(x -> x^2 - p, 1.0), ps)^3))([1.0, 4])  #~ [0.75, 0; 0, 0.375]
map(p -> hessian(q -> root(x -> [q[0]*x[0] - x[1], x[1]^2 - q[1]], [1.0, 1.0])[0])(p), [1.0, 4; 2, 9])  #~ map(p -> hessian(q -> sqrt(q[1])/q[0])(p), [1.0, 4; 2, 9]) tol 1e-11
# Large extents: a system of symbolic size.
big(p, n) = root(x -> x^3 + x - p * (1 + iota(n)), ones(n))
grad(p -> sum(big(p, 40)))(2.0)  #~ sum((1 + iota(40)) / (3*big(2.0, 40)^2 + 1))
try { root(x -> x^2 + 1, (0, 1)) } catch m { m }        #> root: f does not change its sign between 0.0 and 1.0, where it is 1.0 and 2.0
try { root(x -> [x[0] + x[1], x[0] + x[1] - 1], [1.0, 2.0])[0] } catch m { m }  #> root: the Jacobian is singular, or not finite, at x = [1, 2]
try { fixed_point(x -> 2x + 1, 1.0, steps = 20, memory = 0) } catch m { m }     #> fixed_point: no convergence in 20 steps; the norm of g(x) - x is 2097152.0
# Zeros close to 0: the iteration goes on when its steps are negligible relative
# to the distance from x0.
root(x -> x^2 - 1e-40, 1.0) / 1e-20                     #~ 1
root(x -> x^3 - 1e-60, 1.0) / 1e-20                     #~ 1
root(x -> [x[0]^2 - 1e-40], [1.0]) / 1e-20              #~ [1]
root(x -> x^2 - 1e-40, (1.0, 1e-20)) / 1e-20            #~ 1
abs(root(x -> x^2, 1.0)) < 1e-100                       #> true
fixed_point(x -> 0.5 * (x + 1e-20 / x), 1.0; memory = 0) / 1e-10   #~ 1
fixed_point(x -> 0.5 * x + 0.5e-20, 1.0) / 1e-20        #~ 1
(p -> root(x -> x^2 - p, 1.0))'(1e-40) * 1e-20          #~ 0.5
