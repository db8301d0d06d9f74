# Products with matrices that are known to be zero on one side of a diagonal.
# Oracle: the same matrices by an element-wise mask, where the zeros are not
# known. Non-finite factors of the zeros are included.

given(X, A, B) = {
  first = X @ A
  concat([first, tanh(tanh(first) @ A' - 0.5) @ B, X @ B']; axis = 1)
}
low(X, W, V) = given(X, tril(W), triu(V))
strict(X, W, V) = given(X, tril(W; k = -1), triu(V; k = 1))
wide(X, W, V) = given(X, tril(W; k = 3), triu(V; k = -2))
chosen(X, W, V) = {
  n = shape(W)[0]
  r = expand(iota(n), 1)
  c = expand(iota(n), 0)
  given(X, where(c > r, 0.0, W), where(r + 1 < c - 1, V, 0.0))
}
same(f, A, B, X, W, V) = {
  y = f(X, W, V)
  z = given(X, A, B)
  finite = isfinite(y) and isfinite(z)
  all(isnan(y) == isnan(z)) and all(isfinite(y) == isfinite(z)) and max(abs(where(finite, y - z, 0.0))) < 1e-13
}
all_of(n, X) = {
  W = rand(n, n)
  V = rand(n, n)
  c = [j - i for i in 0..n, j in 0..n]
  r0 = same(low, W*f64(c <= 0), V*f64(c >= 0), X, W, V)
  r1 = same(strict, W*f64(c <= -1), V*f64(c >= 1), X, W, V)
  r2 = same(wide, W*f64(c <= 3), V*f64(c >= -2), X, W, V)
  r3 = same(chosen, W*f64(c <= 0), V*f64(c > 2), X, W, V)
  [r0, r1, r2, r3]
}
all_of(10, rand(300, 10))   #> [true, true, true, true]
all_of(20, rand(300, 20))   #> [true, true, true, true]
all_of(33, rand(200, 33))   #> [true, true, true, true]
all_of(64, rand(200, 64))   #> [true, true, true, true]

# One non-finite element, at several positions of a row.
spoilt(n, at, x) = where((expand(iota(200), 1) == 77) and (expand(iota(n), 0) == at), x, rand(200, n))
all(all_of(20, spoilt(20, 0, inf)))    #> true
all(all_of(20, spoilt(20, 1, inf)))    #> true
all(all_of(20, spoilt(20, 7, nan)))    #> true
all(all_of(20, spoilt(20, 18, inf)))   #> true
all(all_of(20, spoilt(20, 19, -inf)))  #> true

# Derivatives, with the transposed products.
loss(f, X, W, V) = sum(f(X, W, V)^2)
dL(f, X, W, V) = grad(((W, V)) -> loss(f, X, W, V))((W, V))
c = [j - i for i in 0..20, j in 0..20]
X = rand(300, 20)
W = rand(20, 20)
V = rand(20, 20)
(a, b) = dL(low, X, W, V)
(d, e) = dL(given, X, W*f64(c <= 0), V*f64(c >= 0))
max(abs(a - where(c <= 0, d, 0.0))) < 1e-9   #> true
max(abs(b - where(c >= 0, e, 0.0))) < 1e-9   #> true

# Single precision, where a vector has more lanes.
y = low(f32(X), f32(W), f32(V))
z = given(f32(X), f32(W)*f32(c <= 0), f32(V)*f32(c >= 0))
max(abs(y - z)) < 1e-4                           #> true
all_of(20, spoilt(20, 3, inf)) == all_of(20, X)  #> [true, true, true, true]
