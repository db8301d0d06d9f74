# contraction.dsl - products of matrices.
#
# Rows "matmul-...", "affine-..." and "layer-...".

matmul(a, b) = a @ b

# many small products at once
matmuls(as, bs) = map((a, b) -> a @ b, as, bs)

# a layer of a network, for every row of x, and what it is without its tanh
affine(x, W, b) = x @ W' + b
layer(x, W, b) = tanh(x @ W' + b)
