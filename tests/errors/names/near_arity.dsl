#! error E0201 5:1-5:6 "no `steep`; did you mean `steps`?"
step(x) = x + 1
steps(f, n, x) = { for k in 0..n { x = f(x) }; x }
sleep() = 1
steep(step, 3, 1.0)
