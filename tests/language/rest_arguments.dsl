# `f(x; ...options)` collects the named arguments that no other parameter takes
# in a record, which can be passed on.

wave(x; amplitude = 1.0, phase = 0.0, power = 1) = amplitude * sin(x + phase)^power
twice(x; scale = 2.0, ...options) = scale * wave(x; ...options)
thrice(x; ...o) = twice(x; scale = 3.0, ...o)

twice(1.0)                       #~ 2*sin(1)
twice(1.0; phase = 0.5)          #~ 2*sin(1.5)
twice(1.0, scale = 1.0, power = 2, amplitude = 3.0)  #~ 3*sin(1)^2
thrice(1.0; phase = 0.5, power = 3)   #~ 3*sin(1.5)^3

# The collected record is an ordinary record.
taken(x; ...rest) = rest
taken(1)                         #> ()
taken(1; b = 2, a = "text")      #> (b = 2, a = "text")
taken(1; b = 2, a = [1, 2]).a    #> [1, 2]
has(taken(1; b = 2), "b")        #> true
more(x; ...o) = wave(x; ...(...o, phase = 1.0))
more(1.0; phase = 7.0, power = 2)  #~ sin(2)^2
only(; ...o) = len(o)
only(; a = 1, b = 2)             #> 2
chosen(x; ...o) = if x > 0 { wave(x; ...o) } else { wave(-x; ...o) }
chosen(-1.0; phase = 0.5)        #~ sin(1.5)

# A record is spread into a call of any function, including builtins.
options = (phase = 0.5, power = 2)
wave(1.0; ...options)            #~ sin(1.5)^2
wave(1.0; amplitude = 2.0, ...options)  #~ 2*sin(1.5)^2
column_sums(x; ...o) = sum(x; ...o)
column_sums([1, 2; 3, 4]; axis = 0)     #> [4, 6]
column_sums([1, 2; 3, 4])               #> 10

# Anonymous functions, and functions in variables.
g = (x; ...o) -> wave(2x; ...o)
g(0.5; phase = 1.0)              #~ sin(2)
apply(f, x; ...o) = f(x; ...o)
apply(twice, 1.0; phase = 0.5)   #~ 2*sin(1.5)
apply((x; k = 1) -> k * x, 3; k = 4)    #> 12

# Derivatives with respect to options as to arguments; also map, jets and
# batches.
grad(x -> twice(x; phase = 0.5, power = 2))(1.0)     #~ 4*sin(1.5)*cos(1.5)
grad(p -> twice(1.0; phase = p, power = 2))(0.5)     #~ 4*sin(1.5)*cos(1.5)
hessian(p -> sum(thrice(p; phase = p[0])))([0.5, 1])[0, 0]  #~ grad(grad(u -> 3*sin(2u) + 3*sin(1 + u)))(0.5)
map(x -> twice(x; phase = x), [1.0, 2])              #~ [2*sin(2), 2*sin(4)]
map(p -> thrice(1.0; phase = p), [0.0, 0.5])         #~ [3*sin(1), 3*sin(1.5)]
twice'(1.0)                      #~ 2*cos(1)
big(x; ...o) = sum(thrice(x; ...o))
grad(x -> big(x; phase = 0.5))(ones(40))             #~ 3*cos(1.5)*ones(40)

# One specialisation for all values.
total(x; ...o) = { s = 0.0; for i in 0..len(x) { s += wave(x[i]; ...o) }; s }
total(ones(30); phase = 0.5)     #~ 30*sin(1.5)
total(ones(40); phase = 0.25)    #~ 40*sin(1.25)

# A rule receives the options, too; they have no tangent.
half(x; ...o) = 0.5 * wave(x; ...o)
derivative half(x; ...o), dx = 0.5 * cos(x + o.phase) * dx
half(1.0; phase = 0.5)           #~ 0.5*sin(1.5)
grad(x -> half(x; phase = 0.5))(1.0)  #~ 0.5*cos(1.5)

# `f(x, ...ys)` collects the remaining positional arguments in a tuple, which
# can be spread into another call.
rest(x, ...ys) = (x, len(ys), ys)
rest(1)                          #> (1, 0, ())
rest(1, 2, [3, 4])               #> (1, 2, (2, [3, 4]))
total(...xs) = { s = 0.0; for x in xs { s += x }; s }
total()                          #> 0.0
total(1, 2, 3.5)                 #> 6.5
total(...(1, 2), 3)              #> 6.0
times(...xs; scale = 1) = scale * total(...xs)
times(1, 2; scale = 3)           #> 9.0
times(1, 2, scale = 3)           #> 9.0
((...xs) -> len(xs))(1, 2)       #> 2
grad(x -> total(x^2, 3x))(2.0)   #> 7.0
map(x -> total(x, 1), [1.0, 2])  #> [2, 3]
both(a, b = 5, ...c; ...o) = (a, b, c, o)
both(1)                          #> (1, 5, (), ())
both(1, 2, 3; k = 4)             #> (1, 2, (3,), (k = 4))
whole(...xs) = sum(stack(...xs))
whole(...map(x -> x^2, list(1.0, 2.0)))   #> 5.0
