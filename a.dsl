f(x) = if x > 0 { 5 }
f(3)
f(-3)
kind(f(-3))
g(x) = if x > 0 { 5 } else { 6 }
g(3)
h(x) = if x > 0 { [1.0,x] }
h(3)
√2π
√2*π
x = 3
√x^2
2√4
√4x
√2√3
2√4x
if 3 > 2 { 7 }
y = if 3 > 2 { 7 }
y
y = if 3 > 4 { 7 }
y
-x^2
2.0^-x
1/2π
-2x
√2π^2
w(x) = if x > 0 { x^2 }
w(3.0) + 1
n(v) = { s = 0.0; for x in v { if x > 0 { s += x; s } }; s }
n([1.0,-2,3])
u(x) = { if x > 2 { return 7 }; 8 }
u(3) + u(1)
kind(w(-3.0))
w'(3.0)
