#! error E0701 2:1 "no zero found: the linear system of a step cannot be solved: the Jacobian is singular, or nearly; after 1 steps equation 1 is off by 3, with x[1] = 1"
root(x -> [x[0] + x[1], 2*x[0] + 2*x[1] - 1], [1.0, 1], kinsol())
