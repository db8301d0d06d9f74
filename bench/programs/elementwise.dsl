# elementwise.dsl - element-wise arithmetic: rows "wave" and "chain".

wave(a, b, x) = a*sin(x) + exp(-x^2)*b

# 20 operations on each element
chain(x) = {
  a = 0.5x + 0.1
  b = tanh(a)
  p = b*b - 0.3x
  d = exp(-p*p)
  f = d*b + a
  h = f / sqrt(f*f + 1)
  tanh(h - 0.2d)*p + h
}
