#! error E0604 4:1-4:29 "root: the Jacobian is singular, or not finite"
lines(a) = x -> [x[0] + x[1], a * x[0] + x[1] - 1]
root(lines(2.0), [1.0, 2.0])
root(lines(1.0), [1.0, 2.0])[0]
