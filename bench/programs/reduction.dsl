# reduction.dsl - memory-bound operations.
#
# Rows "triad", "sum", "dot", "max", "softmax", "layernorm" and "cumsum".

triad(b, c) = b + 3c
total(x) = sum(x)
product(x, y) = x · y
largest(x) = max(x)
running(x) = cumsum(x)

# One reciprocal for each row, as in the C reference. A division for each
# element is slower.
softmax(x) = {
  e = exp(x - expand(max(x; axis = 1), 1))
  e * (1 / sum(e; axis = 1, keepdims = true))
}

layer_norm(x, gain, shift) = {
  d = x - expand(mean(x; axis = 1), 1)
  d / sqrt(expand(mean(d^2; axis = 1), 1) + 1e-5) * gain + shift
}
