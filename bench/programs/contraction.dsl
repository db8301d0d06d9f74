# contraction.dsl - products of matrices: rows "matmul-..." and "layer-...".

matmul(a, b) = a @ b

# many small products at once
matmuls(as, bs) = map((a, b) -> a @ b, as, bs)

# a layer of a network, for every row of x
layer(x, W, b) = tanh(x @ W' + b)
