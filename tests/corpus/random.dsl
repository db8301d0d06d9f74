# Random numbers: reproducible, seeded, threaded by the compiler.
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
# in functions, loops, branches; the state goes on
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
# drawing is no obstacle to a derivative
noisy(x) = x^2 + 0 * rand()
noisy'(3.0)                  #> 6.0
seed(4)
loss(w) = sum((w * rand(3))^2)
l1 = grad(loss)(2.0)
seed(4)
r = rand(3)
l1                           #~ 2 * 2 * sum(r^2)
# each row of a map draws its own
seed(6)
m = map(x -> x + rand(), zeros(4))
len(m)                       #> 4
