v = ones(20000)
sum(grad(x -> sum(cumsum(x)^2))(v))
