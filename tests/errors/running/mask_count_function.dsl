#! error E0602 2:13-2:25 "cannot write f64[len(v)] into f64[sum(x > 0)], what the mask takes of f64[n]"
f(x, v) = { x[x > 0] = v; x }
f(linspace(-1.0, 1, 30), zeros(20))
