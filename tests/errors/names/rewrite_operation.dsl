#! error E0201 3:12-3:29 "no operation is called `tan_h`; did you mean `tanh`?"
p = ir(sin, 2.0)
rewrite(p, (tan_h = x -> x,))
