#! error E0401 5:12-5:18 "types must be known here before it runs" hint "branches that give one shape"
f(x) = x^3
derivative f(x) = {
  k = x > 0 or [true, false]
  3x^2*(if all(k) { 1 } else { 2 })
}
print(f'(2.0))
