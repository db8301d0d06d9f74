# IR in files: loaded functions can be called, differentiated, mapped, traversed
# and transformed like the saved ones. Damaged files report the location.

f(a, x) = sum(tanh(a * x))
p = ir(f, 2.0, zeros(100))
save("/tmp/atled-ir-p.air", p)
q = load("/tmp/atled-ir-p.air");
same(str(p), str(q))                     #> true
q(2.0, ones(30))                         #~ 30 * tanh(2)
grad(q)(2.0, ones(30))                   #~ 30 * (1 - tanh(2)^2)
hessian(a -> q(a, ones(20)))(0.5)        #~ hessian(a -> f(a, ones(20)))(0.5)
map(q, [1.0, 2], ones(2, 20))            #~ [20 * tanh(1), 20 * tanh(2)]
inspect(q).name                          #> f
rewrite(q, (tanh = x -> x))(2.0, ones(30))   #~ 60

# records, captured data, large constants shared by two operations
k = 3.0
big = [i * 0.5 for i in 0..200]
layer(w, x) = (out = tanh(w.W @ x + w.b) * k + sum(big), norm = sum(x^2), twice = [big, big])
w = (W = ones(3, 20), b = [1.0, 2, 3])
save("/tmp/atled-ir-layer.air", ir(layer, w, ones(20)))
l = load("/tmp/atled-ir-layer.air");
l(w, ones(20)).out                       #~ layer(w, ones(20)).out
grad((w, x) -> l(w, x).norm, 1)(w, ones(20))  #~ 2ones(20)

# recursion, loops, branches, ranges, values that determine types, derivatives
fact(n) = if n < 2 { 1 } else { n * fact(n - 1) }
save("/tmp/atled-ir.air", ir(fact, 5))
load("/tmp/atled-ir.air")(10)            #> 3628800
walk(x, n) = { s = x; for i in 0..n { s = if s[0] > 0 { tanh(s) } else { s - 1 } }; sum(s) }
save("/tmp/atled-ir.air", ir(walk, ones(20), 5))
load("/tmp/atled-ir.air")(ones(20), 7)   #~ walk(ones(20), 7)
save("/tmp/atled-ir.air", ir(grad(walk), ones(20), 5))
load("/tmp/atled-ir.air")(ones(20), 5)   #~ grad(walk)(ones(20), 5)
first(x, n) = sum(x[..n])
save("/tmp/atled-ir.air", ir(first, ones(20), 3))
load("/tmp/atled-ir.air")(2ones(40), 3)  #~ 6
total(r) = { s = 0; for i in r { s += i }; s }
save("/tmp/atled-ir.air", ir(total, 0..5))
load("/tmp/atled-ir.air")(0..5)          #> 10
try { load("/tmp/atled-ir.air")(0..10) } catch m { m }  #> this IR was made for the value 5 here, which decides a type in it
made(g, x) = g(x) + 1
save("/tmp/atled-ir.air", ir(made, x -> 2x, 1.0))

# effects
save("/tmp/atled-ir.air", ir(x -> { print("x is {x}"); x + 0 * rand() }, 1.0))
said = load("/tmp/atled-ir.air");
said(4.0);
#> x is 4.0

# beside other values, in the other formats
save("/tmp/atled-ir.h5", (n = 1, inner = (p = p, l = l)))
load("/tmp/atled-ir.h5").inner.p(2.0, ones(30))  #~ 30 * tanh(2)
save("/tmp/atled-ir.npz", list(p, 2))
load("/tmp/atled-ir.npz")[0](2.0, ones(30))      #~ 30 * tanh(2)

# values that cannot be written, and damaged files
try { save("/tmp/atled-ir2.air", f) } catch m { m }                  #> /tmp/atled-ir2.air: a file of this format holds a piece of IR; ir(f, x) makes one of a function
write_text("/tmp/atled-ir3.air", "not this")
try { load("/tmp/atled-ir3.air") } catch m { m }                     #> /tmp/atled-ir3.air: byte 0: this is not the binary form of a function
