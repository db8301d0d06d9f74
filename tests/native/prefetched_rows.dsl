# A loop along a row prefetches the next row of what earlier loops along the
# same axis have read. Sums over further axes of another array lie between, and
# the indices of their loops have no value there. Oracle: the rows one by one.
f(y, A, c) = {
  t = sum(y)
  s = atan(sum(c))
  u = atan(s * 1.25 - y)
  v = atan(1.875u * t)
  w = 1.875v + sum(A; axis = (0, 1))
  (w, cos(4erf(3w)))
}
y = map(k -> sin(linspace(0, 3, 19) + k), iota(17))
A = map(k -> reshape(cos(iota(54 * 7 * 19) * 0.1 + k), 54, 7, 19), iota(17))
c = map(k -> cos(linspace(0, 3, 54) + k), iota(17))
rows(y, A, c) = map(f, y, A, c)
(w, z) = rows(y, A, c)
one = map(k -> f(y[k], A[k], c[k]), each(17))
max(abs(w - stack(...map(r -> r[0], one))))         #~ 0 tol 1e-13
max(abs(z - stack(...map(r -> r[1], one))))         #~ 0 tol 1e-12
