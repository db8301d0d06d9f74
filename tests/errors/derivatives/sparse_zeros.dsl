#! error E0401 2:12-2:57 "a sparse derivative has no derivative with respect to an array whose zeros decide its pattern"
f(W) = sum(jacobian(x -> W @ x; sparse = true)([1.0, 2]).values)
grad(f)([1.0, 0; 0, 1])
