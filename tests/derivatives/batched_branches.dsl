# Short branches under map are computed for all batch elements and selected.
# Oracle: expected values and derivatives; errors and NaN of a branch not taken
# have no effect.

xs = [-2.0, -0.5, 0.0, 0.5, 1.0, 3.0]
alone(f) = stack(...map(k -> f(xs[k]), list(0, 1, 2, 3, 4, 5)))

clipped(x) = if x < 1 { 2x - 3 } else { -x }
same(map(clipped, xs), alone(clipped))                     #> true
same(map(clipped', xs), alone(clipped'))                   #> true
between(x) = if x > -1 and x < 1 or x == 3 { 1 } else { 0 }
map(between, xs)                                           #> [0, 1, 1, 1, 0, 1]
nested(x) = if x > 0 { if x > 0.7 { x - 1 } else { 3x } } else { if x < -1 { [x, 1.0][0] } else { 0.0 } }
same(map(nested, xs), alone(nested))                       #> true
same(map(grad(nested), xs), alone(grad(nested)))           #> true
vector(x) = { v = [x, 2x, 3x]; if x > 0 { v + 1 } else { -v } }
same(map(vector, xs), alone(vector))                       #> true
same(map(jacobian(vector), xs), alone(jacobian(vector)))   #> true
counted(x) = { n = 0; s = x; while s < 2 and n < 9 { if s > 0.2 { s = s + s } else { s = s + 0.3; n = n + 1 } }; s + n }
same(map(counted, xs), alone(counted))                     #> true
same(map(grad(counted), xs), alone(grad(counted)))         #> true
picked(x) = { r = if x > 0 { (a = x, b = 1) } else { (a = 0.5, b = 2) }; r.a * r.b }
same(map(picked, xs), alone(picked))                       #> true

# An infinite or undefined value on the side not taken reaches neither values
# nor derivatives.
guarded(x) = if x > 0 { log(x) } else { x - 1 }
map(guarded, xs)                                           #~ [-3, -1.5, -1, log(0.5), 0, log(3)]
map(guarded', xs)                                          #~ [1, 1, 1, 2, 1, 1/3]
map(guarded'', xs)                                         #~ [0, 0, 0, -4, -1, -1/9]
scaled(x) = { big = if x > 0.7 { inf } else { 2.0 }; if x > 0.7 { x } else { big * x } }
map(scaled', xs)                                           #~ [2, 2, 2, 2, 1, 1]
map(x -> jvp(grad(scaled), x, 1.0)[1], xs)                 #~ zeros(6)
# An index out of range and a failed assertion stay in their branch.
safe(k) = if k < 3 { [1.0, 2, 3][k] } else { 0.0 }
map(safe, [0, 5, 2, 7])                                    #> [1, 0, 3, 0]
checked(x) = if x > 0 { assert(x > 0, "no"); x } else { 0.0 }
map(checked, xs)                                           #> [0, 0, 0, 0.5, 1, 3]
# A function that always fails is not destructured.
failing(x) = { error("always"); (1.0, 2.0) }
both(x) = { (a, b) = failing(x); a + b }
try { both(1.0) } catch m { m }                            #> always

# The Jacobian of a few selections, each element with its own condition.
choose(x) = where([x[0] > 0, x[1] > 0, false], x * [2.0, 3, 5], -x)
jacobian(choose)([1.0, -1, 2])        #~ [2, 0, 0; 0, -1, 0; 0, 0, -1]
each(x) = where(x > 1, x^2, 3x)
jacobian(each)([0.5, 2, 1])           #~ [3, 0, 0; 0, 4, 0; 0, 0, 3]
