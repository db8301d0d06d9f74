# Correct rules pass the rule check in every context. Wrong rules are in
# tests/errors and in tests/unit/api/test_api_host.c.
#! check-rules

soft(x) = x / (1 + abs(x))
derivative soft(x) = 1 / (1 + abs(x))^2
soft'(1.0)                   #> 0.25
soft''(1.0)                  #> -0.25
grad(x -> sum(soft(x)))([1.0, 3])    #> [0.25, 0.0625]
hessian(x -> sum(soft(x)))([1.0, 3]) #~ [-0.25, 0; 0, -1/32]
taylor(soft, 1.0, 3)         #> [0.5, 0.25, -0.125, 0.0625]
map(soft, [1.0, 3])          #> [0.5, 0.75]
grad(x -> sum(map(y -> soft(2y), x)))(linspace(1.0, 2, 20))[0]       #~ 2/9
map(x -> map(soft, x), zeros(0, 3))
soft(f32([1, 3]))            #> [0.5, 0.75]
soft(linspace(-1, 1, 100))[0]        #> -0.5
# The edge of a domain, a kink, a pole.
root(x) = sqrt(x)
derivative root(x) = 0.5 / y
root'(0.0)                   #> inf
ramp(x) = max(x, 0)
derivative ramp(x) = f64(x > 0)
ramp'(0.0)                   #> 0.0
pole(x) = 1 / x
derivative pole(x) = -y^2
pole'(0.0)                   #> -inf
# A function that fails elsewhere.
inside(x) = if x > 1 { error("outside") } else { x^2 }
derivative inside(x) = 2x
inside'(1.0)                 #> 2.0
# Several arguments, structures, integers, options, complex numbers, several
# results.
mul(a, b) = a * b
derivative mul(a, b) = (b, a)
grad(mul)(2.0, 3.0)          #> 3.0
unit(x) = x / norm(x)
derivative unit(x), dx = { n = norm(x); dx / n - x * (x @ dx) / n^3 }
jacobian(unit)([3.0, 4])     #~ [0.128, -0.096; -0.096, 0.072]
pair(p) = (sum(p.W * p.b), p.W)
derivative pair(p), dp = (sum(dp.W * p.b) + sum(p.W * dp.b), dp.W)
grad(p -> pair(p)[0])((W = [1.0, 2], b = 3.0))       #> (W = [3, 3], b = 3.0)
times(x, n; k = 2) = k * n * x
derivative times(x, n; k = 2), dx, dn, dk = k * n * dx
grad(x -> times(x, 3))(1.0)  #> 6.0
square(z) = z * z
derivative square(z) = 2z
square(1 + 2im)              #> -3 + 4im
# Rules that call their own function, and each other's.
ex(x) = exp(x)
derivative ex(x) = ex(x)
ex'''(0.0)                   #> 1.0
s(x) = sin(x)
c(x) = cos(x)
derivative s(x) = c(x)
derivative c(x) = -s(x)
s'''''(0.0)                  #> 1.0
# In a loop the check runs once; in a function with captured values.
k = 3.0
scaled(x) = k * x
derivative scaled(x), dx = k * dx
(x -> { for i in 0..50 { x = scaled(x) / 3 }; x })'(1.0)     #> 1.0
