# Checkpointed loops. Oracle: plain loops. Compiled for this machine only.

# ---- while and for with several carried values; 0 to 60 iterations
step(u, v, k, a) = (u + 0.05 * (v * a - u * sin(u)), 0.9 * v + 0.1 * cos(u * k))
by_while(a, n) = { u = [0.1, 0.2, 0.3]; v = a * [1, 2, 3]; k = 0; while k < n { (u, v) = step(u, v, k, a); k += 1 }; sum(u * v) }
by_for(a, n) = { u = [0.1, 0.2, 0.3]; v = a * [1, 2, 3]; for k in 0..n { (u, v) = step(u, v, k, a) }; sum(u * v) }
farthest = 0.0
for n in list(0, 1, 2, 3, 7, 20, 60) {
  for s in list(1, 2, 3, 5, 70) {
    w = grad(checkpoint(a -> by_while(a, n); snapshots = s))(0.7) - grad(a -> by_while(a, n))(0.7)
    f = grad(checkpoint(a -> by_for(a, n); snapshots = s))(0.7) - grad(a -> by_for(a, n))(0.7)
    farthest = max(farthest, abs(w), abs(f))
  }
}
farthest < 1e-12                                             #> true
# The trip count as an argument.
grad(checkpoint(by_for; snapshots = 3))(0.7, 20)             #~ grad(by_for)(0.7, 20)
grad(checkpoint(by_while; snapshots = 3))(0.7, 20)           #~ grad(by_while)(0.7, 20)
grad(checkpoint(by_for; snapshots = 3))(0.7, -2)             #~ grad(by_for)(0.7, -2)
checkpoint(by_for)(0.7, 20)                                  #~ by_for(0.7, 20)
# The number of checkpoints follows from the memory or the context's limit.
grad(checkpoint(by_for; memory = 300))(0.7, 20)              #~ grad(by_for)(0.7, 20)
grad(checkpoint(by_while; memory = 1))(0.7, 20)              #~ grad(by_while)(0.7, 20)
grad(checkpoint(by_while))(0.7, 20)                          #~ grad(by_while)(0.7, 20)

# ---- more derivatives, in all mixtures
F = checkpoint(a -> by_for(a, 20); snapshots = 4)
W = checkpoint(a -> by_while(a, 20); snapshots = 4)
t = a -> by_for(a, 20)
F'(0.7)                                                      #~ t'(0.7)
F''(0.7)                                                     #~ t''(0.7)
grad(F)'(0.7)                                                #~ t''(0.7)
grad(grad(F))(0.7)                                           #~ t''(0.7)
grad(a -> F'(a))(0.7)                                        #~ t''(0.7)
grad(F)''(0.7)                                               #~ t'''(0.7) tol 1e-11
grad(W)'(0.7)                                                #~ t''(0.7)
grad(grad(W))(0.7)                                           #~ t''(0.7)
grad(a -> W'(a))(0.7)                                        #~ t''(0.7)
taylor(W, 0.7, 3)                                            #~ taylor(t, 0.7, 3)
grad(a -> taylor(W, a, 2)[2])(0.7)                           #~ grad(a -> taylor(t, a, 2)[2])(0.7) tol 1e-11
linearize(F, 0.7)[1](1.0)                                    #~ t'(0.7)
linearize(W, 0.7)[1](1.0)                                    #~ t'(0.7)
U(x) = { u = x; for k in 0..10 { u = u + 0.1 * sin(u) * x[0] }; u }
jacobian(checkpoint(U; snapshots = 3))([0.1, 0.2])           #~ jacobian(U)([0.1, 0.2])
hessian(x -> sum(checkpoint(U; snapshots = 3)(x)^3))([0.1, 0.2])  #~ hessian(x -> sum(U(x)^3))([0.1, 0.2])
h = 1e-30
imag(by_for(0.7 + h * im, 20)) / h                           #~ grad(F)(0.7)

# ---- map over and inside a gradient, with different trip counts
map(grad(F), [0.1, 0.2, 0.3])                                #~ map(grad(t), [0.1, 0.2, 0.3])
map(grad(W), [0.1, 0.2, 0.3])                                #~ map(grad(t), [0.1, 0.2, 0.3])
grad(xs -> sum(map(F, xs)))([0.1, 0.2, 0.3])                 #~ map(grad(t), [0.1, 0.2, 0.3])
grad(xs -> sum(map(W, xs)))([0.1, 0.2, 0.3])                 #~ map(grad(t), [0.1, 0.2, 0.3])
powers(x, a) = { s = x; while s < a { s = s * x }; s }
P = checkpoint(x -> powers(x, 50.0); snapshots = 2)
map(a -> grad(checkpoint(x -> powers(x, a); snapshots = 2))(2.0), [3.0, 20.0, 50.0])  #~ [4, 80, 192]
map(grad(P), [2.0, 3.0, 5.0])                                #~ [192, 108, 75]
map(x -> grad(P)'(x), [2.0, 3.0, 5.0])                       #~ [480, 108, 30]
grad(xs -> sum(map(P, xs)))([2.0, 3.0, 5.0])                 #~ [192, 108, 75]
map(xs -> map(grad(P), xs), [2.0, 3.0; 5.0, 7.0])            #~ [192, 108; 75, 147]

# ---- nested loops, some with data-dependent trip counts
nest(x) = {
  s = x
  for i in 0..6 {
    t = s
    while abs(t) > 0.3 { t = 0.7 * t * cos(x) }
    for j in 0..i { t = t + 0.1 * sin(t * j + x) }
    s = s + t
  }
  s
}
grad(checkpoint(nest; snapshots = 1))(0.8)                   #~ grad(nest)(0.8)
grad(checkpoint(nest; snapshots = 2))(0.8)                   #~ grad(nest)(0.8)
grad(checkpoint(nest; memory = 100))(0.8)                    #~ grad(nest)(0.8)
grad(checkpoint(nest; snapshots = 2))'(0.8)                  #~ nest''(0.8) tol 1e-11
grad(grad(checkpoint(nest; snapshots = 2)))(0.8)             #~ nest''(0.8) tol 1e-11
after(x) = { s = x; for i in 0..5 { s = s * cos(s) }; for j in 0..7 { s = s + x * sin(s) }; s }
grad(checkpoint(after; snapshots = 2))(0.8)                  #~ grad(after)(0.8)

# ---- break, return, branches, try, a loop in a branch
brk(x) = { s = x; for i in 0..100 { s = s + sin(s) * 0.2; if s > 2 { break } }; s * x }
grad(checkpoint(brk; snapshots = 3))(0.8)                    #~ grad(brk)(0.8)
ret(x) = { s = x; for i in 0..100 { s = s + sin(s) * 0.2; if s > 2 { return s^2 } }; s * x }
grad(checkpoint(ret; snapshots = 3))(0.8)                    #~ grad(ret)(0.8)
tr(x) = { s = x; for i in 0..10 { s = try { if s > 1 { error("x") }; s * 1.4 } catch e { s * 0.5 } }; s }
grad(checkpoint(tr; snapshots = 2))(0.6)                     #~ grad(tr)(0.6)
iff(x) = if x > 0 { s = x; for i in 0..10 { s = s * cos(s) }; s } else { x^2 }
grad(checkpoint(iff; snapshots = 2))(0.6)                    #~ grad(iff)(0.6)
grad(checkpoint(iff; snapshots = 2))(-0.6)                   #~ -1.2

# ---- carried records, lists, updated arrays, complex numbers, matrices
rec(p) = {
  st = (pos = p.x, vel = [0.1, 0.2], hist = list(1.0, p.x))
  for i in 0..17 {
    st = (pos = st.pos + 0.1 * sum(st.vel), vel = st.vel * cos(st.pos), hist = list(st.hist[1], st.hist[0] * st.pos))
  }
  st.pos * st.hist[0] + p.y
}
grad(checkpoint(rec; snapshots = 2))((x = 0.4, y = 2.0))     #~ grad(rec)((x = 0.4, y = 2.0))
upd(x) = { v = zeros(6) + x; for i in 1..6 { v[i] = v[i - 1] * sin(v[i] + x) }; sum(v) }
grad(checkpoint(upd; snapshots = 2))(0.4)                    #~ grad(upd)(0.4)
cpx(z) = { w = z; for k in 0..5 { w = w^2 + z }; abs(w)^2 }
grad(checkpoint(cpx; snapshots = 2))(0.1 + 0.2im)            #~ grad(cpx)(0.1 + 0.2im)
net(W, x) = { y = x; n = len(x); for i in 0..12 { y = tanh(W @ y) + x / n }; sum(y) }
seed(1)
A = randn(20, 20) * 0.2
b = randn(20)
grad(checkpoint(net; snapshots = 3))(A, b)                   #~ grad(net)(A, b)
grad(checkpoint(net; snapshots = 3), 1)(A, b)                #~ grad(net, 1)(A, b)
grad(b -> sum(grad(checkpoint(net; snapshots = 3))(A, b)))(b)  #~ grad(b -> sum(grad(net)(A, b)))(b)
lin(x) = { s = x; for i in 1..8 { s = s * 2 + i * x }; s }
grad(checkpoint(lin; snapshots = 2))(0.3)                    #~ lin'(0.3)
mean_of(x, n) = { s = 0.0; for i in 0..n { s = s + x[i] / n }; s }
grad(checkpoint(mean_of; snapshots = 2))([1.0, 2.0, 3.0, 4.0], 4)  #~ [1, 1, 1, 1] / 4
# Arrays that grow.
grow(x) = { v = [x, 1.0]; while len(v) < 9 { v = concat(v * x, [sin(sum(v))]) }; sum(v) }
grad(checkpoint(grow; snapshots = 2))(0.4)                   #~ grad(grow)(0.4)

# ---- random numbers are drawn again identically; output is printed once
rnd(x) = { s = x; for i in 0..9 { s = s + 0.3 * randn() * sin(s) + sum(x * rand(2)) }; s }
seed(4)
expected = grad(rnd)(0.4)
seed(4)
grad(checkpoint(rnd; snapshots = 2))(0.4)                    #~ expected
next = rand()
seed(4)
rnd(0.4);
rand()                                                       #~ next
seed(4)
expected = map(grad(rnd), [0.4, 0.5])
seed(4)
map(grad(checkpoint(rnd; snapshots = 2)), [0.4, 0.5])        #~ expected
pr(x) = { s = x; for i in 0..3 { print(i); s = s * sin(s) }; s }
g = grad(checkpoint(pr; snapshots = 2))(0.4)
#> 0
#> 1
#> 2
g                                                            #~ grad(x -> { s = x; for i in 0..3 { s = s * sin(s) }; s })(0.4)

# ---- a failure in an iteration is the program's failure
er(x) = { s = x; for i in 0..10 { if s > 3 { error("too far") }; s = s * 1.5 }; s }
try { grad(checkpoint(er; snapshots = 2))(1.0) } catch e { e }  #> too far
grad(checkpoint(er; snapshots = 2))(0.01)                    #~ 1.5^10
try { checkpoint(er; snapshots = 0) } catch e { e }          #> the number of snapshots is at least 1, not 0

# ---- the cost is reported in advance
walk(x, n) = { s = x; for k in 0..n { s = s + 0.001 * sin(s * x) }; s }
explain(checkpoint(x -> walk(x, 1000); snapshots = 20), 0.3)  #> loop at line 148: 1000 turns, 16 bytes for a snapshot. 20 snapshots and the last state take 336 bytes; 2747 turns are run again, recompute factor 2.747
explain(checkpoint(walk; memory = 16000), 0.3, 1000)          #> loop at line 148: 1000 turns, 16 bytes for a snapshot. 999 snapshots and the last state take 16000 bytes; 999 turns are run again, recompute factor 0.999
explain(checkpoint(walk; snapshots = 3), 0.3, 0)              #> loop at line 148: 0 turns, 16 bytes for a snapshot. 1 snapshots take 16 bytes; 0 turns are run again, recompute factor 0.000
explain(checkpoint(x -> powers(x, 1e6); snapshots = 1), 1.5)  #> loop at line 54: 34 turns, 16 bytes for a snapshot. 1 snapshots take 16 bytes; 561 turns are run again, recompute factor 16.500, after one sweep that counts the turns
explain(checkpoint(x -> x^2), 1.5)                            #> no loop keeps snapshots
# A loop that cannot be checkpointed is reported with the reason.
grows(x) = { v = [x]; for i in 0..9 { v = push(v, sin(v[-1]) + 0.1x) }
  s = sum(v); for i in 0..9 { s = sin(s) * x }; s }
explain(checkpoint(grows; snapshots = 4), 0.3)
#> loop at line 155 keeps tapes, no snapshots: an array that it carries changes its length from turn to turn
#> loop at line 156: 9 turns, 16 bytes for a snapshot. 4 snapshots and the last state take 80 bytes; 12 turns are run again, recompute factor 1.333
grad(checkpoint(grows; snapshots = 4))(0.3)                   #~ grad(grows)(0.3)

# ---- 10^6 iterations in 64 MB: states need 96 MB, the tape more than 1 GB
chain(u, w) = concat(u[6..], -w * u[..6] - 0.1 * u[..6]^3)
rk4(f, u, h) = { a = f(u); b = f(u + 0.5h * a); c = f(u + 0.5h * b); d = f(u + h * c); u + h / 6 * (a + 2b + 2c + d) }
swing(w) = {
  u = concat(linspace(0.5, 1, 6), zeros(6));
  t = 0;
  while t < 1000000 { u = rk4(u -> chain(u, w), u, 1e-5); t += 1 };
  sum(u[..6]^2)
}
explain(checkpoint(swing; memory = 64e6), 1.3)               #> loop at line 168: 1000000 turns, 112 bytes for a snapshot. 571428 snapshots take 63999936 bytes; 1428570 turns are run again, recompute factor 1.429, after one sweep that counts the turns
grad(checkpoint(swing; memory = 64e6))(1.3)                  #~ swing'(1.3) tol 1e-10
grad(checkpoint(swing; memory = 1e6))(1.3)                   #~ swing'(1.3) tol 1e-10
