x = rand(5); y = randn(2, 2)
sort(x); argsort(x); sum(y, axis = 0); cumsum(x)
