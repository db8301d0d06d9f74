# `progress` reports how far a loop is, and changes nothing else. Oracle: the
# same program without it.

f(a, n) = {
  x = 0.0
  for k in 0..n {
    x = x + sin(a * f64(k))
    progress(k + 1, n; loss = x, rate = 2a)
  }
  x
}
plain(a, n) = {
  x = 0.0
  for k in 0..n { x = x + sin(a * f64(k)) }
  x
}
f(2.0, 100) == plain(2.0, 100)          #> true
(a -> f(a, 10))'(2.0) == (a -> plain(a, 10))'(2.0)       #> true
grad(a -> f(a, 10))(2.0) == grad(a -> plain(a, 10))(2.0) #> true
(a -> f(a, 10))''(2.0) == (a -> plain(a, 10))''(2.0)     #> true
same(taylor(a -> f(a, 10), 1.0, 3), taylor(a -> plain(a, 10), 1.0, 3))   #> true
same(map(a -> f(a, 10), [1.0, 2]), map(a -> plain(a, 10), [1.0, 2]))     #> true
same(map(n -> f(1.0, n), [1, 7]), map(n -> plain(1.0, n), [1, 7]))       #> true
same(map(grad(a -> f(a, 10)), [1.0, 2]), map(grad(a -> plain(a, 10)), [1.0, 2]))   #> true
grad(a -> checkpoint(a -> f(a, 30); snapshots = 3)(a))(1.0)    #~ grad(a -> plain(a, 30))(1.0)
jvp(grad(a -> f(a, 10)), 2.0, 1.0)[1]   #~ (a -> plain(a, 10))''(2.0)

# In a while, a branch and a try; without a number of steps; integers, and
# single precision.
g(x) = {
  k = 0
  while x > 1 {
    x = x / 2
    k = k + 1
    if k % 2 == 0 { progress(k; x = x, k = k) } else { progress(k, none) }
    try { progress(k, 10; time = x, from = 0.0, to = 1.0, dt = f32(0.5)) } catch e { 0 }
  }
  k
}
g(1000.0)                               #> 10
grad(x -> f(x, 4) + g(x))(3.0) == grad(x -> plain(x, 4))(3.0)   #> true

# It remains in the function and in its text.
p = ir(f, 2.0, 10)
len(split(str(p), "progress"))          #> 2
len(split(str(ir(grad(a -> f(a, 10)), 2.0)), "!transpose progress"))    #> 1
same(str(read_ir(str(p))), str(p))      #> true
save("/tmp/atled-progress.air", p)
load("/tmp/atled-progress.air")(2.0, 10) == plain(2.0, 10)      #> true
rewrite(p, (sin = x -> x))(1.0, 4)      #> 6.0

# A loop whose state is one vector, and nested loops.
h(v, n) = {
  for k in 0..n {
    for j in 0..3 { v = v + 0.1 * sin(v); progress(j, 3) }
    progress(k, n; size = sum(v^2))
  }
  v
}
q(v, n) = { for k in 0..n { for j in 0..3 { v = v + 0.1 * sin(v) } }; v }
same(h(linspace(0.1, 1, 8), 50), q(linspace(0.1, 1, 8), 50))    #> true
same(map(v -> h(v, 5), ones(6, 8)), map(v -> q(v, 5), ones(6, 8)))     #> true

# Outside loops, and as the value of a statement.
progress(1, 2; loss = 0.5)
kind(progress(1))                       #> none

# Optimisers print nothing, and can be silenced.
minimize(x -> sum((x - 1)^2), [0.0, 0]; progress = false).x     #~ [1, 1]
grad(a -> minimize(x -> sum((x - a)^2), [0.0, 0]; progress = true).x[0])(2.0)    #~ 1.0
