#! error E0604 2:1 "root: as many equations are wanted as there are unknowns, 1, not 3"
root(x -> x^2 + [1.0, 2, 3], [1.0], kinsol())
