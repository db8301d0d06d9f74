#! error E0604 2:1-2:54 "the Jacobian is singular, or not finite, at x = [1, 2]"
root(x -> [x[0] + x[1], x[0] + x[1] - 1], [1.0, 2.0])[0]
