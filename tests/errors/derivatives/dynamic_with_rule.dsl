#! error E0404 7:7-7:14 "types must be known here before it runs" second 4:9 "known only when it runs"
f(x) = {
  k = x > 0 or [true, false]
  x*(if all(k) { 1.0 } else { 2.0 })
}
derivative f(x) = 1
print(f'(2.0))
