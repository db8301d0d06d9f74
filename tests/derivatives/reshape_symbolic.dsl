# Reshapes whose extents match only because of a guard, in derivatives and under
# map.
f(z) = { n = len(z); q = reshape(z, n//2, 2); ravel(q[.., 0] * q[.., 1]) }
g(n) = { z = 1.0 + iota(n); jacobian(f)(z) }
g(6)   #~ [2, 1, 0, 0, 0, 0; 0, 0, 4, 3, 0, 0; 0, 0, 0, 0, 6, 5]
h(n) = { Z = map(k -> k + 1.0 + iota(n), iota(3)); map(f, Z) }
h(4)   #~ [2, 12; 6, 20; 12, 30]
d(n) = { Z = map(k -> k + 1.0 + iota(n), iota(3)); map(grad(z -> sum(f(z))), Z) }
d(4)   #~ [2, 1, 4, 3; 3, 2, 5, 4; 4, 3, 6, 5]
