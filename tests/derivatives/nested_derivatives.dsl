# Nested derivatives with respect to one variable become one Taylor expansion.
# The values are the same in every context. Oracle: closed forms.

f(x) = sin(x)*exp(0.3x)
d1(x) = (cos(x) + 0.3sin(x))*exp(0.3x)
d2(x) = (0.6cos(x) - 0.91sin(x))*exp(0.3x)
d3(x) = (-0.73cos(x) - 0.873sin(x))*exp(0.3x)
f'(0.7)      #~ d1(0.7)
f''(0.7)     #~ d2(0.7)
f'''(0.7)    #~ d3(0.7)
f''''(0.7)   #~ nth_derivative(f, 0.7, 4)
map(f''', [0.1, 0.7])        #~ [d3(0.1), d3(0.7)]
grad(x -> sum(map(f'', x)))([0.1, 0.7])      #~ [d3(0.1), d3(0.7)]
dtype(f''(f32(0.7)))         #> f32

# Directions other than 1, and directions that vary.
jvp(x -> jvp(f, x, 2.0)[1], 0.7, 3.0)[1]     #~ 6d2(0.7)
jvp(x -> jvp(f, x, x)[1], 0.7, 1.0)[1]       #~ d1(0.7) + 0.7d2(0.7)
jvp(x -> jvp(y -> jvp(f, y, 2.0)[1], x, x^2)[1], 0.7, 3.0)[1]        #~ 6*(1.4d2(0.7) + 0.49d3(0.7))

# Taylor expansions of derivatives, derivatives of Taylor expansions.
nth_derivative(f', 0.7, 2)   #~ d3(0.7)
taylor(f'', 0.7, 1)          #~ [d2(0.7), d3(0.7)]
(x -> taylor(f, x, 2)[2])'(0.7)      #~ d3(0.7)/2
(x -> taylor(f, x^2, 2)[1])''(0.7)   #~ 2d2(0.49) + 4*0.49*d3(0.49)

# Inside other functions, with other variables.
g(x, k) = f'(x)*k + f(k*x)
(x -> g(x, 3.0))''(0.7)      #~ 3d3(0.7) + 9d2(2.1)
∂(g, 1)(0.7, 3.0)            #~ d1(0.7) + 0.7d1(2.1)
grad(((x, k)) -> (s -> g(s, k))'(x))((0.7, 3.0))     #~ (3d3(0.7) + 9d2(2.1), d2(0.7) + d1(2.1) + 2.1d2(2.1))
(k -> (x -> (s -> f(k*s))'(x))'(0.7))'(2.0)          #~ 4*d2(1.4) + 4*0.7*d3(1.4)

# Constant results, several results, vectors, loops, branches, recursion.
pair(x) = (x^3, 2.0, [x, x^2])
second(x) = jvp(s -> jvp(pair, s, 1.0)[1], x, 1.0)[1]
second(2.0)                  #~ (12, 0, [0, 2])
lin(x) = 3x + 1
lin''(2.0)                   #> 0.0
loop(x) = { y = x
  for k in 0..5 { y = y*x }
  y }
loop'''(2.0)                 #~ 6*5*4*2^3
way(x) = if x > 0 { x^3 } else { -x^3 }
way''(-2.0)                  #~ 12
again(x, n) = if n == 0 { 1.0 } else { x*again(x, n - 1) }
(x -> again(x, 5))''(2.0)    #~ 160
root2(x) = { y = x
  while abs(y*y - x) > 1e-14 { y = 0.5*(y + x/y) }
  y }
root2''(2.0)                 #~ -0.25*2^-1.5 tol 1e-9

# A user-defined rule.
soft(x) = log(1 + exp(x))
derivative soft(x), dx = dx/(1 + exp(-x))
soft''(0.5)                  #~ exp(0.5)/(1 + exp(0.5))^2
