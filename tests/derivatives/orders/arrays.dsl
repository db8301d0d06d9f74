use "_orders.dsl"
w = [0.3, -0.2, 0.7]
w6 = [0.3, -0.2, 0.7, 1.1, 0.4, -0.5]
M = [0.3, 1.2, -0.7; 0.9, -0.4, 0.5]
v(t) = 1.2 + sin(t * [1.0, 1.7, 0.4, 2.2, 1.3, 0.8]) * w6
m(t) = reshape(v(t), 2, 3)
orders("broadcast", t -> sum(broadcast_to(sin(t * w), 2, 3) * M), 0.4)    #> broadcast: forward 4, reverse 4, Taylor 4, batch yes
orders("reshape", t -> sum(reshape(sin(t * iota(6)), 2, 3) * M), 0.4)    #> reshape: forward 4, reverse 4, Taylor 4, batch yes
orders("transpose", t -> sum(cumprod(transpose(m(t))) * transpose(M)), 0.4)    #> transpose: forward 4, reverse 4, Taylor 4, batch yes
orders("slice", t -> sum(v(t)[1..4]^3) * v(t)[5], 0.4)    #> slice: forward 4, reverse 4, Taylor 4, batch yes
orders("pad", t -> sum(grad(x -> sum(exp(x[1..3])))(v(t)) * v(t)^2), 0.4)    #> pad: forward 4, reverse 4, Taylor 4, batch yes
orders("update", t -> { x = v(t); x[2] = exp(t) * x[1]; x[3..5] = x[0..2]^2; prod(x) }, 0.4)    #> update: forward 4, reverse 4, Taylor 4, batch yes
orders("concat", t -> prod(concat(v(t), exp(v(t)))), 0.4)    #> concat: forward 4, reverse 4, Taylor 4, batch yes
orders("gather", t -> sum(v(t)[[2, 0, 0, 5]]^3), 0.4)    #> gather: forward 4, reverse 4, Taylor 4, batch yes
orders("scatter_add", t -> prod(grad(x -> sum(exp(x[[2, 0, 0, 5, 1, 3, 4]])))(v(t))), 0.4)    #> scatter_add: forward 4, reverse 4, Taylor 4, batch yes
orders("scatter_set", t -> { x = v(t); for i in [2, 0, 3] { x[i] = x[i + 1]^2 * t }; prod(x) }, 0.4)    #> scatter_set: forward 4, reverse 4, Taylor 4, batch yes
orders("push", t -> prod(push(v(t), sin(t)^2 + 1)), 0.4)    #> push: forward 4, reverse 4, Taylor 4, batch yes
orders("reduce_sum", t -> sum(v(t)^3), 0.4)    #> reduce_sum: forward 4, reverse 4, Taylor 4, batch yes
orders("reduce_prod", t -> prod(v(t)), 0.4)    #> reduce_prod: forward 4, reverse 4, Taylor 4, batch yes
orders("reduce_max", t -> max(v(t))^3, 0.4)    #> reduce_max: forward 4, reverse 4, Taylor 4, batch yes
orders("reduce_min", t -> min(v(t))^3, 0.4)    #> reduce_min: forward 4, reverse 4, Taylor 4, batch yes
orders("argmax", t -> v(t)[argmax(v(t))]^3, 0.4)    #> argmax: forward 4, reverse 4, Taylor 4, batch yes
orders("cumsum", t -> prod(cumsum(v(t))), 0.4)    #> cumsum: forward 4, reverse 4, Taylor 4, batch yes
orders("cumprod", t -> sum(cumprod(v(t)) * w6), 0.4)    #> cumprod: forward 4, reverse 4, Taylor 4, batch yes
orders("dot", t -> sum(m(t) @ transpose(m(t)) @ M), 0.4)    #> dot: forward 4, reverse 4, Taylor 4, batch yes
orders("argsort", t -> sum(sort(v(t)) * exp(t * w6)), 0.4)    #> argsort: forward 4, reverse 4, Taylor 4, batch yes
orders("nonzero", t -> sum(v(t)[v(t) > 1.2]^3), 0.4)    #> nonzero: forward 4, reverse 4, Taylor 4, batch yes
orders("iota", t -> sum(exp(t * iota(20) / 20)^2), 0.4)    #> iota: forward 4, reverse 4, Taylor 4, batch yes
orders("random_bits", t -> { seed(1); sum(exp(t * rand(3))) }, 0.4; lanes = false)    #> random_bits: forward 4, reverse 4, Taylor 4, batch no
orders("fft", t -> { z = fft(v(t) * (1 + 2im)); real(z[1] * conj(z[2])) + imag(ifft(z^2)[3]) }, 0.4)    #> fft: forward 4, reverse 4, Taylor 4, batch yes
orders("extent", t -> exp(t * len(v(t)[v(t) > 1.2]) / 3), 0.4)    #> extent: forward 4, reverse 4, Taylor 4, batch yes
orders("bind_dim", t -> sum(exp(t * linspace(0, 1, i64(3 + 4t)))), 0.4)    #> bind_dim: forward 4, reverse 4, Taylor 4, batch yes
orders("guard", t -> sum(v(t)[v(t) > 1.2] * exp(t * w6)[v(t) > 1.2]), 0.4)    #> guard: forward 4, reverse 4, Taylor 4, batch yes
