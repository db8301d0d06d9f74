# Random numbers: reproducible, seeded, with the state passed by the compiler.
seed(1)
a = rand(5)
seed(1)
b = rand(5)
same(a, b)                   #> true
seed(2)
same(a, rand(5))             #> false
same(rand(5), rand(5))       #> false
shape(rand(2, 3))            #> (2, 3)
shape(rand())                #> ()
shape(randn(4))              #> (4,)
seed(3)
u = rand(10000)
min(u) >= 0                  #> true
max(u) < 1                   #> true
abs(mean(u) - 0.5) < 0.02    #> true
abs(var(u) - 1/12) < 0.005   #> true
g = randn(10000)
abs(mean(g)) < 0.05          #> true
abs(var(g) - 1) < 0.05       #> true
k = randint(3, 7, 1000)
min(k)                       #> 3
max(k)                       #> 6
dtype(k)                     #> i64
# In functions, loops, branches; the state continues.
f() = rand()
seed(5)
x = f()
y = f()
x != y                       #> true
seed(5)
f() == x                     #> true
walk(n) = { s = 0.0; for i in 0..n { s += randn() }; s }
seed(7)
p = walk(10)
seed(7)
walk(10) == p                #> true
walk(10) == p                #> false
h(c) = if c { rand() } else { 0.0 }
seed(1)
h(true) == a[0]              #> true
rejection() = { x = rand(); while x < 0.9 { x = rand() }; x }
rejection() >= 0.9           #> true
mc(n) = { c = 0; for i in 0..n { if rand()^2 + rand()^2 < 1 { c += 1 } }; 4c / n }
seed(11)
abs(mc(2000) - pi) < 0.15    #> true
# A function that draws can be differentiated.
noisy(x) = x^2 + 0 * rand()
noisy'(3.0)                  #> 6.0
seed(4)
loss(w) = sum((w * rand(3))^2)
l1 = grad(loss)(2.0)
seed(4)
r = rand(3)
l1                           #~ 2 * 2 * sum(r^2)
# Each row of a map draws its own numbers.
seed(6)
m = map(x -> x + rand(), zeros(4))
len(m)                       #> 4


# Each row of a map sets its own seed. Oracle: a loop over the rows, including
# the numbers drawn after it.
draw(k, n) = { seed(k); sum(randn(n)) }
as_loop = f -> {
  seed(77)
  out = list()
  for k in list(2, 3, 5, 11) { out = push(out, f(k)) }
  after = rand()
  seed(77)
  mapped = [f(k) for k in [2, 3, 5, 11]]
  same = mapped == stack(...out)
  sum(same) == 4 and after == rand()
}
as_loop(k -> draw(k, 4))                                                            #> true
as_loop(k -> { t = 0.0; while t < 5 { t = t + abs(draw(k, 4)) + 0.1 }; t })         #> true
as_loop(k -> { t = 0.0; for i in 0..k { t = t + draw(k + i, 3) }; t })              #> true
as_loop(k -> if k > 3 { draw(k, 4) + rand() } else { rand() })                      #> true
as_loop(k -> { a = rand(); seed(3); b = rand(); a + k*b })                          #> true
as_loop(k -> { seed(3); k*rand() })                                                 #> true
as_loop(k -> { seed(k); 2.0*k })                                                    #> true
as_loop(k -> { x = draw(k, 2); x + sum([draw(j, 3)*k for j in [1, 2]]) })           #> true
as_loop(k -> { r = try { draw(k, 2) } catch e { 0.0 }; r + rand() })                #> true
down = k -> if k <= 1 { draw(k, 2) } else { down(k - 1) + 1 }
as_loop(down)                                                                       #> true
# An empty map leaves the state unchanged.
seed(5)
first = rand()
seed(5)
len([draw(k, 2) for k in iota(0)])                                                  #> 0
rand() == first                                                                     #> true
# The derivative of such a map.
mapped(a) = sum(map(k -> a*draw(k, 4) + sin(a*k)*rand(), [2, 3, 5]))
looped(a) = { s = 0.0; for k in [2, 3, 5] { s = s + a*draw(k, 4) + sin(a*k)*rand() }; s }
mapped'(0.3)                                                                        #~ looped'(0.3) tol 1e-14
grad(mapped)(0.3)                                                                   #~ grad(looped)(0.3) tol 1e-14


# Index notation draws for each element, even if no index is mentioned.
apart(x) = { y = sort(ravel(x)); min(y[1..] - y[..-1]) > 0 }
apart([rand() for k in 0..5])                                                       #> true
apart([0.0*k + rand() for k in [2, 3, 5]])                                          #> true
apart([sum(rand() for j in 0..3) for i in 0..4])                                    #> true
one(k) = rand()
apart([one(i) for i in 0..3, j in 0..4])                                            #> true
x = [1.0, 1.0, 1.0]
D[i, j] := x[i] + rand() for j in 0..3
apart(D)                                                                            #> true
seed(4)
abs(mean(4.0*(rand()^2 + rand()^2 < 1) for k in 0..10000) - π) < 0.05               #> true
late(k) = { x = rand(); while x < 0.5 { x = rand() }; if k > 2 { x } else { rand() } }
apart([late(1) for k in 0..4])                                                      #> true
# A value drawn before the comprehension is the same for all elements.
r = rand()
apart([r for k in 0..3])                                                            #> false
