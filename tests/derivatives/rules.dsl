# User-defined derivative rules. Oracle: expected values.

softclip(x) = x / sqrt(1 + x^2)
derivative softclip(x) = 1 / (1 + x^2)       # deliberately wrong, which shows that the rule is used
softclip(1.0)                #~ 1 / sqrt(2)
softclip'(1.0)               #> 0.5
softclip''(1.0)              #> -0.5
grad(x -> sum(softclip(x)))([0.0, 1, 2])     #~ [1, 0.5, 0.2]
jvp(softclip, [0.0, 1], [1, 10])[1]  #~ [1, 5]
map(softclip', [0.0, 1])     #~ [1, 0.5]
map(x -> softclip(x), [0.0, 1])      #~ [0, 1 / sqrt(2)]
grad(x -> sum(map(softclip, x)))([0.0, 1])   #~ [1, 0.5]
grad(x -> sum(map(y -> softclip(2y), x)))([0.0, 1])  #~ [2, 0.4]
taylor(softclip, 0.0, 3)     #~ [0, 1, 0, -1/3]
hessian(x -> sum(softclip(x)))([1.0, 2])     #~ [-0.5, 0; 0, -4/25]
g(x) = 3softclip(x^2)
g'(1.0)                      #~ 3
softclip(2)                  #~ 2 / sqrt(5)

# The result is y.
myexp(x) = exp(x)
derivative myexp(x) = 2y
myexp'(0.0)                  #> 2.0
myexp''(0.0)                 #> 4.0
# A rule may call its own function.
dbl(x) = exp(x)
derivative dbl(x) = dbl(x)
dbl'''(1.0)                  #~ e

# Two arguments: one partial derivative for each.
mul(a, b) = a * b
derivative mul(a, b) = (10b, 100a)
grad(mul)(2.0, 3.0)          #> 30.0
grad(mul, 1)(2.0, 3.0)       #> 200.0
grad(p -> mul(p[0], p[1]))((2.0, 3.0))       #> (30.0, 200.0)
grad(a -> mul(a, 3))(2.0)    #> 30.0

# The general form: the tangent. The transpose is derived.
proj(x) = x / norm(x)
derivative proj(x), dx = { n = norm(x); dx / n - x * (x @ dx) / n^3 }
jacobian(proj)([3.0, 4])     #~ [0.128, -0.096; -0.096, 0.072]
grad(x -> proj(x)[0])([3.0, 4])      #~ [0.128, -0.096]
hessian(x -> proj(x)[0])([3.0, 4])   #~ hessian(x -> (x / norm(x))[0])([3.0, 4])
map(x -> proj(x), [3.0, 4; 0, 1])    #~ [0.6, 0.8; 0, 1]
map(grad(x -> proj(x)[0]), [3.0, 4; 0, 1])   #~ [0.128, -0.096; 1, 0]
clip(x) = min(max(x, 0), 1)
derivative clip(x), dx = dx          # straight through
grad(x -> sum(clip(x) * [1, 2, 3]))([-1.0, 0.5, 7])  #> [1, 2, 3]
norms(p) = p.W * p.b
derivative norms(p), dp = 2(dp.W * p.b + p.W * dp.b)
grad(norms)((W = 3.0, b = 5.0))      #> (W = 10.0, b = 6.0)
pairf(x) = (x^2, x^3)
derivative pairf(x), dx = (dx, 7dx)
jvp(pairf, 2.0, 1.0)         #> ((4.0, 8.0), (1.0, 7.0))
grad(x -> pairf(x)[0] + pairf(x)[1])(2.0)    #> 8.0
scaled(x, n) = n * x
derivative scaled(x, n), dx, dn = 5dx
grad(x -> scaled(x, 3))(1.0) #> 5.0
withopt(x; k = 2) = k * x
derivative withopt(x; k = 2), dx, dk = 100 * k * dx
withopt'(1.0)                #> 200.0
(x -> withopt(x; k = 3))'(1.0)       #> 300.0
# Implicit differentiation of a root: the iteration is never differentiated.
root(a) = { x = 1.0; for i in 0..60 { x = x - (x^3 + x - a) / (3x^2 + 1) }; x }
derivative root(a), da = da / (3y^2 + 1)
root(2.0)                    #~ 1
root'(2.0)                   #~ 1/4
root''(2.0)                  #~ -6/64
root'''(2.0)                 #~ 27/4^4 * 4/3 - 6/4^4 tol 1
grad(a -> root(a)^2)(2.0)    #~ 0.5
map(root', [2.0, 10.0])      #~ [1/4, 1/13]
taylor(root, 2.0, 2)         #~ [1, 1/4, -3/64]
# A new rule replaces the old one.
derivative softclip(x) = 7.0
softclip'(1.0)               #> 7.0
softclip(x) = 2x             # a new function of the same name has no rule
softclip'(1.0)               #> 2.0

# The tangent of a function argument is a function: the change of its value at
# fixed arguments due to its captured data.
half_way(f, x) = f(x) / 2
derivative half_way(f, x), df, dx = df(x) / 2 + 10 * jvp(f, x, dx)[1]
(p -> half_way(x -> p^2 * x, 3.0))'(2.0)      #> 6.0
(p -> half_way(x -> p^2 * x, p))'(2.0)        #> 44.0
grad(p -> half_way(x -> p[0] * p[1] * x, 3.0))([2.0, 5])     #> [7.5, 3]
(p -> half_way(x -> x^2, p))'(3.0)            #> 60.0
of_two(r, x) = r.f(x) + r.a
derivative of_two(r, x), dr, dx = 3dr.f(x) + 5dr.a
(p -> of_two((f = x -> p * x, a = p^2), 4.0))'(2.0)  #> 32.0
map(p -> grad(q -> half_way(x -> q * x, 3.0))(p), [1.0, 2])  #> [1.5, 1.5]

# linear_map: a linear function with the given adjoint; its iterations are not
# differentiated.
heron(A, b) = {   # A x = b for symmetric A by conjugate gradients
  x = zeros_like(b)
  r = b
  p = r
  while norm(r) > 1e-14 * norm(b) {
    a = (r @ r) / (p @ A @ p)
    x = x + a * p
    s = r - a * (A @ p)
    p = s + (s @ s) / (r @ r) * p
    r = s
  }
  x
}
solve_by(A, b) = linear_map(b -> heron(A, b), b -> heron(A, b), b)
S = [4.0, 1, 0; 1, 3, 1; 0, 1, 5]
grad(b -> solve_by(S, b)[0])([1.0, 2, 3])    #~ inv(S)[0] tol 1e-11
jacobian(b -> solve_by(S, b))([1.0, 2, 3])   #~ inv(S) tol 1e-11
hessian(b -> sum(solve_by(S, b)^2))([1.0, 2, 3])     #~ 2 * inv(S) @ inv(S) tol 1e-11
hessian(b -> sum(solve_by(S, b)^3))([1.0, 2, 3])     #~ hessian(b -> sum((inv(S) @ b)^3))([1.0, 2, 3]) tol 1e-11
map(grad(b -> solve_by(S, b)[0]), [1.0, 2, 3; 0, 1, 0])      #~ [1; 1] * inv(S)[0] tol 1e-11
grad(bs -> sum(map(b -> solve_by(S, b)^2, bs)))([1.0, 2, 3; 0, 1, 0])        #~ 2 * [1.0, 2, 3; 0, 1, 0] @ inv(S) @ inv(S) tol 1e-11
grad(b -> sum(map(k -> k * solve_by(S, b), [1.0, 2])))([1.0, 2, 3])  #~ 3 * inv(S) @ [1, 1, 1] tol 1e-11
linear_map(p -> p.a * 2 + p.b, w -> (a = 2w, b = w), (a = 1.0, b = 3.0))     #> 5.0
grad(p -> linear_map(q -> q.a * 2 + q.b, w -> (a = 20w, b = w), p)^2)((a = 1.0, b = 3.0))    #> (a = 200.0, b = 10.0)
