# ir(f, x) is a function: calls, derivatives, map, inspection, rewriting.

f(x) = sum(sin(x) * x)
p = ir(f, ones(100))
kind(p)                          #> function
p(ones(20))                      #~ 20*sin(1)
p([i for i in 0..20])            #~ f([f64(i) for i in 0..20])
same(str(ir(p)), str(p))         #> true

# Derivatives and batching work on it.
grad(p)(2ones(30))               #~ sin(2ones(30)) + 2cos(2ones(30))
hvp(p, ones(20), ones(20))       #~ grad(x -> grad(f)(x)[0])(ones(20))[0] * ones(20)
map(p, [1, 1; 2, 2] @ ones(2, 20))  #~ [f(2ones(20)), f(4ones(20))]

# Records, tuples and captured data.
k = 3.0
layer(w, x) = (out = tanh(w.W @ x + w.b) * k, norm = sum(x^2))
w = (W = ones(3, 20), b = [1.0, 2, 3])
q = ir(layer, w, ones(20))
q(w, ones(20)).out               #~ layer(w, ones(20)).out
grad((w, x) -> q(w, x).norm, 1)(w, ones(20))  #~ 2ones(20)
scaled(s) = { g = ir(x -> s * x, 1.0); g(5.0) }
scaled(2.0)                      #~ 10
scaled'(2.0)                     #~ 5

# An integer that determines a type is fixed.
first(x, n) = sum(x[..n])
h = ir(first, ones(20), 3)
h(2ones(40), 3)                  #~ 6

# Loops, branches, effects.
walk(x, n) = { s = x; for i in 0..n { s = if s[0] > 0 { tanh(s) } else { s - 1 } }; sum(s) }
l = ir(walk, ones(20), 5)
l(ones(20), 7)                   #~ walk(ones(20), 7)
grad(l)(ones(20), 4)             #~ grad(walk)(ones(20), 4)
said = ir(x -> { print("x is {x}"); 2x }, 1.0)
said(4.0);
#> x is 4.0

# Inspection.
r = inspect(p)
r.name                           #> f
[len(r.parameters), len(r.instructions), len(r.results)]  #> [1, 3, 1]
r.parameters[0].name             #> x
sines(p) = { n = 0; for i in inspect(p).instructions { if i.operation == "sin" { n += 1 } }; n }
sines(p)                         #> 1
r.instructions[2].operation      #> reduce_sum
r.instructions[2].attributes.axes[0]   #> 0
r.instructions[1].operands[0]    #> %0
r.instructions[0].line           #> 3
loop = inspect(l).instructions[-1]
kind(inspect(grad(p) |> g -> ir(g, ones(20))).callees)   #> list
len(inspect(ir(walk, ones(20), 5)).instructions) > 1     #> true
inspect(ir(x -> x + 1, 1.0)).instructions[0].operands[1] #> 1.0

# Rewriting replaces operations, also in loops and called functions.
rewrite(p, (sin = x -> x))(3ones(20))          #~ 180
rewrite(l, (tanh = x -> k * x))(ones(20), 3)   #~ 20*27
outer(x) = 2f(x)
rewrite(ir(outer, ones(20)), (sin = cos, mul = (a, b) -> a + b))(ones(20))   #~ 20*(cos(1) + 1) + 2
c = rewrite(ir(x -> exp(x), 1.0), (exp = x -> exp(min(x, 10.0))))
c(100.0)                         #~ exp(10)
c'(1.0)                          #~ exp(1)
same(str(rewrite(p, (cos = x -> x))), str(p))  #> true

# Reading back from text.
again = read_ir(str(rewrite(p, (sin = x -> x^2))))
again(2ones(30))                 #~ 240
grad(again)(ones(20))            #~ 3ones(20)
two = read_ir("fn @two(%0: f64, %1: f64) -> (f64, f64) \{ %2: f64 = add %0, %1\n return %2, %0 \}")
two(1.0, 2.0)                    #> (3.0, 1.0)

# Cost and plan.
cost(p) == cost(f, ones(100)) or cost(p) > 0    #> true
len(plan(p)) > 20                #> true
len(plan(p, ones(100))) > 20     #> true
