# Products that are cut and packed, with every number of columns left over for the last tile, beside sums written out.
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
off(130, 257, 941) < 1e-11   #> true
off(97, 1030, 300) < 1e-11   #> true
