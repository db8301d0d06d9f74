#! error E0602 4:3-4:15 "cannot add f64[sum(x > 0)] and f64[n]: sum(x > 0) = 20 and n = 30 differ" second 3:7 "sum(x > 0) = 20 is from here"
mixed(x, n) = {
  z = x[x > 0]
  z + zeros(n)
}
mixed(ones(20), 30)
