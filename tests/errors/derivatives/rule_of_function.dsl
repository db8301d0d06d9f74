#! error E0404 3:1-3:24 "names 1 tangent for 2 parameters"
of(f, x) = f(x)
derivative of(f, x), df = df(x)
