#! error E0404 3:23-3:35 "the rule of `f` gives f64[3] for a result that is f64[2]" second 4:1 "`f` is called here"
f(x) = [x, x]
derivative f(x), dx = [dx, dx, dx]
f'(1.0)
