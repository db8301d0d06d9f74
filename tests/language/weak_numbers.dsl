# A real literal takes the dtype of the other operand, also when it was named,
# stored, passed or carried by a loop before.

rate = 0.1
options = (rate = 0.1, n = 3)
scaled(x; by = 0.5) = by*x
dtype(rate)                                         #> f64
dtype(rate*f32([1.0, 2]))                           #> f32
dtype(rate*f64(1))                                  #> f64
dtype(rate*c64(1))                                  #> c64
dtype(rate*i32(2))                                  #> f64
dtype(options.rate*f32([1.0, 2]))                   #> f32
dtype(options.n*f32([1.0, 2]))                      #> f32
dtype(scaled(f32([1.0, 2])))                        #> f32
dtype(scaled(f32([1.0, 2]); by = 0.25))             #> f32
dtype(scaled(f32([1.0, 2]); by = f64(0.25)))        #> f64
dtype(π*f32(2.0))                                   #> f32
dtype(where(f32([1.0, 2]) > 1.5, f32([1.0, 2]), -inf))      #> f32
half = rate/2
dtype(half*f32(1.0))                                #> f32
pair = list(0.1, 0.2)
dtype(pair[0]*f32(2))                               #> f32
(a, b) = (0.1, 3)
(dtype(a*f32(2)), dtype(b*i32(2)))                  #> ("f32", "i64")
# An array literal is f64, and integers are i64 as soon as they are named.
weights = [0.5, 0.25]
dtype(weights*f32(2))                               #> f64

# Closures, map, derivatives, recursion.
f = x -> rate*x
dtype(f(f32(2)))                                    #> f32
g = { q = 0.3; x -> q*x }
dtype(g(f32(2)))                                    #> f32
dtype(map(x -> rate*x, f32([1.0, 2])))              #> f32
dtype(grad(x -> rate*sum(x^2))(f32([1.0, 2])))      #> f32
first(x; tol = 1e-8) = if tol < 1 { tol + x } else { first(x; tol = tol/2) }
dtype(first(f32(1)))                                #> f32
# Weak and strong scalars need separate specialisations, or one of them would
# get the other's dtype.
times(x, y) = { z = x*y; for k in 0..3 { z = z + sum([k, 1])*x*y }; z }
(dtype(times(0.5, f32(2))), dtype(times(f64(0.5), f32(2))), dtype(times(f32(0.5), f32(2))))     #> ("f32", "f64", "f32")

# Loops.
step(x, h) = { k = h/2; y = x; for i in 0..3 { y = y - k*y }; y }
dtype(step(f32([1.0, 2]), rate))                    #> f32
total(x) = { s = 0.0; for i in 0..len(x) { s = s + x[i] }; s }
(dtype(total(f32([1.0, 2]))), dtype(total([1.0, 2])))       #> ("f32", "f64")
# s becomes f64, so t is f64 from the first iteration on.
both(x, y) = { s = 0.0; t = f32(0); for i in 0..2 { t = t + s*x; s = s + y }; (dtype(s), dtype(t)) }
both(f32(1), f64(2.0))                              #> ("f64", "f64")
kept(n) = { x = 1.0; while x > 0.1 { x = x/2 }; x }
dtype(kept(3)*f32(2))                               #> f32
either(c) = if c > 0 { 0.5 } else { 0.25 }
dtype(either(1)*f32(2))                             #> f32
