#! error E0505 2:1 "diff takes differences of neighbours in an array; the derivative of f is f', of a function of arrays grad(f)"
diff(x -> x^2)
