#! error E0202 3:1-3:8 "this IR takes 1 argument, and 2 are given"
p = ir(sin, 2.0)
p(1, 2)
