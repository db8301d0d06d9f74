# A recursive function takes f64[2]. A guard, not the argument's type,
# establishes that the argument has two elements. Oracle: the expected values.
parted = read_ir("fn @halved(%0: f64[2], %1: i64) -> (f64) \{
  %2: bool = eq %1, 0
  %3: f64 = if %2 \{
    %4: f64 = reduce_sum %0 \{axes: [0]}
    yield %4
  } \{
    %5: f64[2] = broadcast 0.5 \{shape: [2], axes: []}
    %6: f64[2] = mul %0, %5
    %7: f64[2] = add %6, f64[2]\{1.0, 2.0}
    %8: i64 = add %1, -1
    %9: f64 = call %7, %8 \{callee: @halved}
    yield %9
  }
  return %3
}

fn @parted[p, q](%0: f64[2], %1: f64, %2: i64) -> (f64) \{
  %3: f64[2] = broadcast %1 \{shape: [2], axes: []}
  %4: bool[2] = lt %0, %3
  %5: i64[p] = nonzero %4 \{length: p}
  %6: f64[p] = gather %0, %5 \{axis: 0, batch: 0}
  %7: bool[2] = le %3, %0
  %8: i64[q] = nonzero %7 \{length: q}
  %9: f64[q] = gather %0, %8 \{axis: 0, batch: 0}
  %10: f64[p + q] = concat %6, %9 \{axis: 0}
  guard \{left: p + q, right: 2, what: \"lengths differ\"}
  %11: f64 = call %10, %2 \{callee: @halved}
  return %11
}")
v = [0.25, -0.5]
map(k -> parted(v, 0.0, k), list(0, 1, 2, 3))   #> list(-0.25, 2.875, 4.4375, 5.21875)
parted(v, 1.0, 3)                               #> 5.21875
