# Loops over small arrays with a common axis, which machine code holds in one
# vector. Oracle: values and gradients of each element by itself.
decay(x, n) = { for i in 0..n { x = x - 0.1*sin(x)*exp(-x^2) }; x }
each(x, n) = [decay(x[k], n) for k in 0..len(x)]
near(x, y) = max(abs(x - y)) < 1e-13
line(n) = [0.3 + sin(1.7k) for k in 0..n]
near(decay([0.3, 1.2, -0.4, 2.0], 50), each([0.3, 1.2, -0.4, 2.0], 50))                       #> true
near(decay([0.3, 1.2, -0.4, 2.0, 0.1], 50), each([0.3, 1.2, -0.4, 2.0, 0.1], 50))             #> true
near(decay(line(7), 31), each(line(7), 31))                                                   #> true
near(decay(line(8), 31), each(line(8), 31))                                                   #> true
near(decay(line(9), 31), each(line(9), 31))                                                   #> true
near(decay(line(14), 31), each(line(14), 31))                                                 #> true
near(decay(line(16), 31), each(line(16), 31))                                                 #> true
near(decay(line(17), 31), each(line(17), 31))                                                 #> true
near(decay(line(32), 3), each(line(32), 3))                                                   #> true
near(decay(line(33), 3), each(line(33), 3))                                                   #> true
decay(line(5), 0) == line(5)                                                                  #> [true, true, true, true, true]
max(abs(decay(f32(line(11)), 20) - decay(line(11), 20))) < 1e-5                               #> true
dtype(decay(f32(line(11)), 20))                                                               #> f32
near(grad(x -> sum(decay(x, 20)^2))(line(14)), [grad(x -> decay(x, 20)^2)(x) for x in line(14)])  #> true
near(diag(jacobian(x -> decay(x, 7))(line(6))), [grad(x -> decay(x, 7))(x) for x in line(6)])  #> true

# Integers, which wrap, and a counter.
count(k, n) = { for i in 0..n { k = k*3 + i % 5; k = if i == 3 { k + 1 } else { k } }; k }
count([1, 2, 3, 4, 5], 4)                                                                     #> [100, 181, 262, 343, 424]
count([1, 2, 3, 4, 5], 4) - [count(k, 4) for k in 1..6]                                       #> [0, 0, 0, 0, 0]

# Sums, products and extremes over the axis that feed back into it.
unit(x, n) = { for i in 0..n { y = x*(1.1 + 0.1*sin(x)); x = y/sqrt(sum(y^2)) }; x }
unit(line(6), 40) · unit(line(6), 40)                                                         #~ 1 tol 1e-14
several(x, n) = {
  (s, p, low, high) = (0.0, 1.0, 0.0, 0.0)
  for i in 0..n {
    x = cos(1.3x) + 0.01*i*sin(x)*exp(-x^2)
    (s, p, low, high) = (s + sum(x), prod(x), min(x), max(x))
    x = (x - high)/(high - low) + x*(p + 1)
  }
  (s, p, low, high, x)
}
slowly(x, n) = {
  (s, p, low, high) = (0.0, 1.0, 0.0, 0.0)
  for i in 0..n {
    x = [cos(1.3v) + 0.01*i*sin(v)*exp(-v^2) for v in x]
    (p, low, high) = (1.0, x[0], x[0])
    for v in x { s += v; p *= v; low = min(low, v); high = max(high, v) }
    x = [(v - high)/(high - low) + v*(p + 1) for v in x]
  }
  (s, p, low, high, x)
}
several(line(5), 6)                                                                           #~ slowly(line(5), 6) tol 1e-11
several(line(13), 6)                                                                          #~ slowly(line(13), 6) tol 1e-11
grad(x -> { (s, p, low, high, y) = several(x, 3); s + p + low*high + sum(y) })(line(6))       #~ grad(x -> { (s, p, low, high, y) = slowly(x, 3); s + p + low*high + sum(y) })(line(6)) tol 1e-9
until(x) = { n = 0; while sum(x^2) > 1e-3 { x = x*(0.7 + 0.1*cos(x)*exp(-x^2)); n += 1 }; (n, x) }
until(line(6))[0]                                                                             #> 18
max(abs(until(line(6))[1])) < 0.05                                                            #> true
extremes(x, n) = { h = x[0]; for i in 0..n { x = -x*1.0 + 0.0*abs(x) + sqrt(x^2)*0.0; h = max(x) }; h }
1/extremes([0.0, 0, 0, 0, 0], 1)                                                              #> inf
extremes([1, nan, 2, 3, 4.0], 2)                                                              #> nan

# Several axes, the last of which is the vector; rows of tables selected by the
# iteration; an unrolled inner loop.
network(w, u, rows) = {
  h = zeros(2, 6)
  total = 0.0
  for t in 0..len(rows) - 1 {
    x = rows[t]
    for l in 0..2 {
      g = 1/(1 + exp(-(x*w[l, 0] + h[l]*w[l, 1])))
      h[l] = g*h[l] + (1 - g)*tanh(x*w[l, 2])
      x = h[l]
    }
    total += sum((rows[t + 1] - x*u)^2) + log(sum(exp(x)))
  }
  (total, h)
}
by_element(w, u, rows) = {
  h = [[0.0 for k in 0..6] for l in 0..2]
  total = 0.0
  for t in 0..len(rows) - 1 {
    e = 0.0
    for k in 0..6 {
      x = rows[t, k]
      for l in 0..2 {
        g = 1/(1 + exp(-(x*w[l, 0, k] + h[l, k]*w[l, 1, k])))
        h[l, k] = g*h[l, k] + (1 - g)*tanh(x*w[l, 2, k])
        x = h[l, k]
      }
      total += (rows[t + 1, k] - x*u[k])^2
      e += exp(x)
    }
    total += log(e)
  }
  (total, h)
}
w = [sin(3l + 2g + k^2) for l in 0..2, g in 0..3, k in 0..6]
rows = [cos(t + 0.4k) for t in 0..30, k in 0..6]
network(w, line(6), rows)                                                                     #~ by_element(w, line(6), rows) tol 1e-12
g(f) = grad(((w, u, rows)) -> f(w, u, rows)[0])((w, line(6), rows))
g(network)                                                                                    #~ g(by_element) tol 1e-11
hvp(w -> network(w, line(6), rows)[0], w, w)                                                  #~ hvp(w -> by_element(w, line(6), rows)[0], w, w) tol 1e-9
network(w, line(6), rows[..1])                                                                #~ (0.0, zeros(2, 6))

# Other operations along the axis are not vectorised.
turn(x, n) = { for i in 0..n { x = concat(x[1..], x[..1])*1.5 - sin(x)*exp(-x^2) }; x }
turned(x, n) = { m = len(x); for i in 0..n { x = [x[(k + 1) % m]*1.5 - sin(x[k])*exp(-x[k]^2) for k in 0..m] }; x }
turn(line(6), 5)                                                                              #~ turned(line(6), 5) tol 1e-12
square(a, n) = { for i in 0..n { a = a' * 0.9 + sin(a)*exp(-a^2) }; a }
squared(a, n) = { for i in 0..n { a = [a[k, j]*0.9 + sin(a[j, k])*exp(-a[j, k]^2) for j in 0..5, k in 0..5] }; a }
square([sin(j + 2k) for j in 0..5, k in 0..5], 4)                                             #~ squared([sin(j + 2k) for j in 0..5, k in 0..5], 4) tol 1e-12
flat(x, n) = { for i in 0..n { a = reshape(sin(x)*exp(-x^2), 2, 3); x = reshape(a + reshape(cos(x), 2, 3), 6) + x }; x }
flat(line(6), 4)                                                                              #~ { x = line(6); for i in 0..4 { x = sin(x)*exp(-x^2) + cos(x) + x }; x } tol 1e-12
numbered(x, n) = { for i in 0..n { x = x + sin(iota(6)*x)*exp(-x^2) }; x }
numbered(line(6), 4)                                                                          #~ [{ x = line(6)[k]; for i in 0..4 { x = x + sin(k*x)*exp(-x^2) }; x } for k in 0..6] tol 1e-12
matrix(a, x, n) = { for i in 0..n { x = tanh(a @ x)*exp(-x^2) + sin(x) }; x }
matrix([sin(j + 2k) for j in 0..6, k in 0..6], line(6), 5)                                    #~ { x = line(6); a = [sin(j + 2k) for j in 0..6, k in 0..6]; for i in 0..5 { x = [tanh(sum(a[j]*x))*exp(-x[j]^2) + sin(x[j]) for j in 0..6] }; x } tol 1e-12

# The rows that the loop stores in each iteration, and scalars.
kept(x, n) = {
  rows = zeros(n, 5)
  sums = zeros(n)
  for i in 0..n { x = sin(x)*exp(-x^2) + 0.3; rows[i] = x; sums[i] = sum(x^2) }
  (rows, sums)
}
kept(line(5), 40)[1]                                                                          #~ sum(kept(line(5), 40)[0]^2; axis = 1) tol 1e-13
near(kept(line(5), 40)[0][39], kept(line(5), 41)[0][39])                                      #> true
grad(x -> sum(kept(x, 20)[1]))(line(5))                                                       #~ grad(x -> sum(kept(x, 20)[0]^2))(line(5)) tol 1e-12

# An index out of range fails in its iteration.
pick(x, t, n) = { for i in 0..n { x = x + sin(x)*exp(-x^2)*t[i] }; x }
try { sum(pick(line(5), ones(3, 5), 4)) } catch e { -1.0 }                                       #> -1.0

# Branches under map: the gradient of each row is that of its own branch. The
# values given to the other branch have no effect.
bent(w, x) = if x > 0 { w*sqrt(x) } else { w^2*x }
xs = [sin(3.1k) for k in 0..100]
gradient(w, xs) = grad(((w, xs)) -> sum(map(x -> bent(w, x), xs)))((w, xs))
gradient(0.7, xs)                                                                             #~ (sum([if x > 0 { sqrt(x) } else { 1.4x } for x in xs]), [if x > 0 { 0.35/sqrt(x) } else { 0.49 } for x in xs]) tol 1e-12
gradient(0.7, -abs(xs) - 1)                                                                   #~ (sum(1.4*(-abs(xs) - 1)), 0.49*ones(100)) tol 1e-12
gradient(0.7, abs(xs) + 1)                                                                    #~ (sum(sqrt(abs(xs) + 1)), 0.35/sqrt(abs(xs) + 1)) tol 1e-12
norm(r) = { s = r · r; if s > 0 { sqrt(s)*exp(-s) } else { r[0] + 2r[1] } }
rs = [if k % 5 == 2 { 0.0 } else { cos(k + 2j) } for k in 0..70, j in 0..3]
grad(rs -> sum(map(norm, rs)^2 + map(norm, rs)))(rs)                                          #~ [grad(r -> norm(r)^2 + norm(r))(rs[k])[j] for k in 0..70, j in 0..3] tol 1e-12
hvp(rs -> sum(map(norm, rs)), rs, rs + 1)                                                     #~ [hvp(norm, rs[k], rs[k] + 1)[j] for k in 0..70, j in 0..3] tol 1e-11
far(table, at, rs) = sum(map((r, t) -> norm(r*t), rs, table[at]))
table = [1.0 + cos(j) for j in 0..9]
at = [(7k) % 9 for k in 0..70]
grad(((t, rs)) -> far(t, at, rs))((table, rs))                                                #~ grad(((t, rs)) -> sum([norm(rs[k]*t[at[k]]) for k in 0..70]))((table, rs)) tol 1e-12
try { far(table, at + 5, rs) } catch e { -1.0 }                                       #> -1.0

# A tape needs its initial contents only when there are fewer iterations than
# places.
begun(n, m) = {
  t = ones(m, 2, 20);
  b = ones(m);
  for i in 0..n { t[i] = cos(i)*ones(2, 20); b[i] = i*2.0 };
  (sum(t), sum(b), t[-1, 1, 19], b[-1])
}
begun(20, 20)                                                                                 #~ (40*sum(cos(iota(20)*1.0)), 380.0, cos(19.0), 38.0) tol 1e-12
begun(18, 20)                                                                                 #~ (40*sum(cos(iota(18)*1.0)) + 80, 308.0, 1.0, 1.0) tol 1e-12
begun(0, 20)                                                                                  #~ (800, 20, 1, 1)
spin(x, n) = { for i in 0..n { x = [x[1]*0.99 + x[0]*0.1, sin(x[2]) - x[0]*0.1, x[0] + 0.01*x[1]^2] }; sum(x^2) }
grad(x -> spin(x, 300))([0.1, 0.2, 0.3])                                                      #~ jacobian(x -> [spin(x, 300)])([0.1, 0.2, 0.3])[0] tol 1e-12
check_grad(x -> spin(x, 30), [0.1, 0.2, 0.3]).reverse_forward < 1e-12                         #> true
shared(n, m) = {
  a = zeros(m, 6)
  for i in 0..n { a[(2i) % m] += 1.0 }
  u = zeros(m, 6)
  x = line(6)
  for i in 0..n - 3 { x = sin(x)*exp(-x^2) + 0.3; u[i] = x }
  (sum(a), sum(u[-3..]), sum(zeros(m, 6)))
}
shared(20, 20)                                                                                #~ (120, 0, 0)
