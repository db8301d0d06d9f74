r = (a = 1, b = "two", c = [1.0, 2])
l = list(1, "x", r)
print("{r.a} {r.c:.2e} {l}")
r.b
