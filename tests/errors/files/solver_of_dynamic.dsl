#! error E0803 6:5-6:28 "types must be known here before it runs" second 4:6 "known only when it runs"
f(t, y) = {
  k = t > 0 or [true, false]
  if all(k) { -y } else { -2y }
}
s = ode(f, [1.0], (0, 1.0))
print(s.y)
