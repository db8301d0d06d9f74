# Arrays without elements in padded arrays and box updates. Machine code clamps
# an index outside a box into it before it reads. An empty array has no valid
# index, so nothing may be read or divided there.
#
# Oracle: plain loops. The programs are IR texts in which one loop selects a
# data-dependent number of elements and pads them.
program(result, steps) = read_ir("fn @p[n, _.1](%0: f64[n], %1: f64[n, 3], %2: i64[n], %3: f64) -> ({result}) \{
%10: f64[n] = broadcast %3 \{shape: [n], axes: []}
%11: bool[n] = lt %10, %0
%12: i64[_.1] = nonzero %11 \{length: _.1}
{steps}
}")
row = program("f64[_.1 + 1]", "%20: f64[_.1] = gather %0, %12 \{axis: 0, batch: 0}
%21: f64[_.1 + 1] = pad %20 \{low: [1], length: [_.1 + 1], stride: [1]}
return %21")
table = program("f64[_.1 + 1, 3]", "%20: f64[_.1, 3] = gather %1, %12 \{axis: 0, batch: 0}
%21: f64[_.1 + 1, 3] = pad %20 \{low: [1, 0], length: [_.1 + 1, 3], stride: [1, 1]}
return %21")
columns = program("f64[3, _.1 + 1]", "%20: f64[_.1, 3] = gather %1, %12 \{axis: 0, batch: 0}
%21: f64[3, _.1] = transpose %20 \{perm: [1, 0]}
%22: f64[3, _.1 + 1] = pad %21 \{low: [0, 1], length: [3, _.1 + 1], stride: [1, 1]}
return %22")
quotient = program("i64[_.1 + 1]", "%20: i64[_.1] = gather %2, %12 \{axis: 0, batch: 0}
%21: i64[_.1] = broadcast 100 \{shape: [_.1], axes: []}
%22: i64[_.1] = floordiv %21, %20
%23: i64[_.1 + 1] = pad %22 \{low: [1], length: [_.1 + 1], stride: [1]}
return %23")
spread = program("f64[2*_.1 + 2]", "%20: f64[_.1] = gather %0, %12 \{axis: 0, batch: 0}
%21: f64[_.1 + 1] = pad %20 \{low: [1], length: [_.1 + 1], stride: [1]}
%22: f64[2*_.1 + 2] = pad %21 \{low: [0], length: [2*_.1 + 2], stride: [2]}
return %22")
box = program("f64[n]", "%20: f64[_.1] = gather %0, %12 \{axis: 0, batch: 0}
%21: f64[n] = add %0, %10
%22: f64[n] = update %21, %20 \{start: [0], stride: [1]}
return %22")
rows = program("f64[n, 3]", "%20: f64[_.1, 3] = gather %1, %12 \{axis: 0, batch: 0}
%21: f64[n, 3] = add %1, %1
%22: f64[n, 3] = update %21, %20 \{start: [0, 0], stride: [1, 1]}
return %22")
far(a, b) = sum(abs(a - b))
# The distance of all results from those of the loops.
check(n, above) = {
  x = rand(n)
  A = rand(n, 3)
  k = 1 + i64(9 * rand(n))
  (X, R, T, Q) = (x + above, A + A, zeros(n + 1, 3), zeros(n + 1))
  m = 0
  for i in 0..n {
    if x[i] > above {
      X[m] = x[i]
      R[m] = A[i]
      m += 1
      T[m] = A[i]
      Q[m] = 100 // k[i]
    }
  }
  y = zeros(m + 1)
  for i in 0..m { y[i + 1] = X[i] }
  z = spread(x, A, k, above)
  far(row(x, A, k, above), y) + far(table(x, A, k, above), T[0..m + 1]) + far(columns(x, A, k, above), T[0..m + 1]') + far(quotient(x, A, k, above), Q[0..m + 1]) + far(z[iota(m + 1) * 2], y) + sum(abs(z)) - sum(abs(y)) + far(box(x, A, k, above), X) + far(rows(x, A, k, above), R)
}
worst = 0.0
for i in 0..400 { worst = max(worst, check(1 + i % 37, if i % 3 == 0 { 0.5 } else { 1.5 })) }
worst                               #~ 0 tol 1e-12
