# Blocked, packed matrix products, with every number of columns in the last
# tile. Oracle: explicit sums.
off(n, k, m) = {
  a = sin(reshape(iota(n * k), n, k) * 0.7)
  b = cos(reshape(iota(k * m), k, m) * 0.3)
  c = a @ b
  own = b' @ b
  rows = [0, n // 2, n - 1]
  other = stack(...map(i -> sum(expand(a[i], 1) * b; axis = 0), list(...(rows[0], rows[1], rows[2]))))
  columns = stack(...map(j -> sum(expand(b[.., j], 1) * b; axis = 0), list(...(0, m // 2, m - 1))))
  max(max(abs(c[rows] - other)), max(abs(own[[0, m // 2, m - 1]] - columns)))
}
for m in 265..313 { assert(off(150, 270, m) < 1e-11, "{m} columns: {off(150, 270, m)} off") }
# The same with a column-major operand, and with a second operand so large that
# it is packed.
by_columns(n, k, m) = {
  (a, b) = (sin(reshape(iota(n * k), n, k) * 0.7), cos(reshape(iota(k * m), k, m) * 0.3))
  (at, bt) = (a' + 0.0, b' + 0.0)
  times(at, bt, a, b) = max(abs(a @ b - at' @ bt')) + max(abs(at' @ b - a @ bt'))
  times(at, bt, a, b) + max(abs((a @ b)[n - 1] - sum(expand(a[n - 1], 1) * b; axis = 0)))
}
for m in 280..312 { assert(by_columns(150, 270, m) < 1e-11, "{m} columns: {by_columns(150, 270, m)} off") }
by_columns(70, 900, 1003) < 1e-11   #> true
by_columns(201, 30, 20000) < 1e-11  #> true
off(130, 257, 941) < 1e-11   #> true
off(97, 1030, 300) < 1e-11   #> true
