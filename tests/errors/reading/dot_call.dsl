#! error E0104 3:3-3:4 "expected the name of a field behind `.`, found `(`" hint "functions of numbers work element by element already: f(x); any other by map(f, x)"
f(x) = x^2
f.(linspace(0, 1, 3))
