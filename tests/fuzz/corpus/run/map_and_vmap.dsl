g(x, y) = { z = x; for i in 0..3 { z = z * y + i }; z }
map(x -> g(x, 2), linspace(0, 1, 5))
jvp(x -> g(x, x), 1.0, 1.0)
