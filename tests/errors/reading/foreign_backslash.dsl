#! error E0101 3:3-3:4 "the character `\\` (U+005C) has no meaning here" hint "a linear system is solved by linsolve(A, b)"
A = rand(3)
A \ b
