#! error E0602 4:3-4:8 "cannot add f64[len(y)] and f64[len(x)]: len(y) = 80 and len(x) = 20 differ"
grown(x, y = x) = {
  for k in 0..3 { y = concat(y, x) }
  y + x
}
grown(ones(20))
