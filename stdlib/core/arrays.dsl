# arrays.dsl - everyday array functions: creating, rearranging, joining,
# splitting, searching, sets, and operations along an axis.
#
# Contract:
# - `axis` counts from 0; negative values count from the last axis. It must be
#   known before the program runs.
# - Extents may depend on values unless a comment states otherwise.
# - Derivatives are those of the elements that are moved.
# - Under map all batch elements must give results of the same extents.

# ---- creating arrays

# linspace(a, b, n = 50): f64[n], evenly spaced from a to b, both included. With
# n = 1 the result is a alone.
#     linspace(0, 1, 5)             #> [0, 0.25, 0.5, 0.75, 1]
#     linspace(2, 5, 1)             #> [2]
linspace(a, b, n = 50) = a + (b + 0.0 - a) * _shares(n)
# Fractions from 0 to 1 of n evenly spaced points.
_shares(n) = iota(n) / f64(max(n - 1, 1))
# logspace(a, b, n): f64[n], 10^a .. 10^b, evenly spaced in the exponent
#     logspace(0, 3, 4)             #~ [1, 10, 100, 1000]
logspace(a, b, n) = 10.0^linspace(a, b, n)
# geomspace(a, b, n): f64[n] from a to b, both included, with a constant ratio
# of neighbours. a and b are not 0; different signs give NaN. With n = 1 the
# result is a alone.
#     geomspace(1, 16, 5)           #~ [1, 2, 4, 8, 16]
geomspace(a, b, n) = {
  t = _shares(n)
  # Each half starts at its own end and takes two factors: the ends are exact,
  # and nothing between them overflows.
  way = log(abs(b + 0.0)) - log(abs(a + 0.0))
  way = where((a < 0) == (b < 0), way, nan)
  half = exp(0.5 * way * where(t < 0.5, t, t - 1))
  where(t < 0.5 or n == 1, a + 0.0, b + 0.0) * half * half
}
# arange(a, b, step = 1): a, a + step, ... below b (above b for step < 0). The
# elements are integers when all arguments are. arange(b) begins at 0. A step of
# 0 is an error.
#     arange(0, 1, 0.25)            #> [0, 0.25, 0.5, 0.75]
#     arange(3)                     #> [0, 1, 2]
arange(a, b = none, step = 1) = if kind(b) == "none" { arange(0, a) } else {
  assert(step != 0, "arange takes steps that are not 0")
  a + step * iota(max(0, i64(ceil((b - a) / step))))
}
# eye(n, m = n; k = 0, dtype = f64): [n, m], ones on the k-th diagonal above the
# main one (below it for k < 0), zeros elsewhere
#     eye(2)                        #> [[1, 0], [0, 1]]
#     eye(2, 3; k = 1)              #> [[0, 1, 0], [0, 0, 1]]
eye(n, m = n; k = 0, dtype = f64) = dtype(expand(iota(n) + k, 1) == expand(iota(m), 0))
# identity(n; dtype = f64): the identity matrix [n, n]
#     identity(2)                   #> [[1, 0], [0, 1]]
identity(n; dtype = f64) = eye(n; dtype = dtype)
# diag(v): the square matrix with the vector v on its diagonal. For a matrix,
# its diagonal.
#     diag([1.0, 2])                #> [[1, 0], [0, 2]]
#     diag([1, 2; 3, 4])            #> [1, 4]
diag(v) = if kind(v) == "sparse" {
  diagonal(v)
} else if kind(v) == "array" and rank(v) == 0 {
  _refuse("diag takes a vector or a matrix, not a number")
} else if rank(v) == 1 {
  where(expand(iota(len(v)), 1) == iota(len(v)), expand(v, 1), 0)
} else {
  diagonal(v)
}
# diagonal(A; k = 0): the k-th diagonal of a matrix above the main one, below it
# for k < 0. A is dense or sparse.
#     A = [1, 2, 3; 4, 5, 6]
#     diagonal(A)                   #> [1, 5]
#     diagonal(A; k = -1)           #> [4]
diagonal(A; k = 0) = if kind(A) == "sparse" { _sparse_diagonal(A, k) } else {
  _want_matrix("diagonal", A)
  (m, n) = shape(A)
  i = iota(max(0, min(m + min(k, 0), n - max(k, 0))))
  A[i - min(k, 0), i + max(k, 0)]
}
# tril(A; k = 0), triu(A; k = 0): the lower or upper triangle of a matrix, or of
# each matrix of a stack. tril keeps the elements up to the k-th diagonal above
# the main one, triu those from it on. The others are 0.
#     A = [1, 2; 3, 4]
#     tril(A)                       #> [[1, 0], [3, 4]]
#     triu(A; k = 1)                #> [[0, 2], [0, 0]]
tril(A; k = 0) = where(_diagonals("tril", A) <= k, A, 0)
triu(A; k = 0) = where(_diagonals("triu", A) >= k, A, 0)
# The index of the diagonal that each element of a matrix is on.
_diagonals(who, A) = {
  if kind(A) != "array" or rank(A) < 2 { _refuse("{who} takes a matrix, not {_axes_in_words(A)}") }
  expand(iota(shape(A)[-1]), 0) - expand(iota(shape(A)[-2]), 1)
}
# Argument checks by the number of axes. The message names the call of the user,
# not the inner operation that would fail.
_want_matrix(who, A) =
  if kind(A) != "array" or rank(A) != 2 { _refuse("{who} takes a matrix, not {_axes_in_words(A)}") }
_want_vector(who, x) =
  if kind(x) != "array" or rank(x) != 1 { _refuse("{who} takes a vector, not {_axes_in_words(x)}") }
_want_square(who, A) = {
  _want_matrix(who, A)
  assert(shape(A)[0] == shape(A)[1],
    "{who} takes a square matrix, not one of {shape(A)[0]} by {shape(A)[1]}")
}
_axes_in_words(x) = if kind(x) != "array" { "a {kind(x)}" }
else if rank(x) == 0 { "a number" }
else if rank(x) == 1 { "a vector" }
else if rank(x) == 2 { "a matrix" }
else { "an array of {rank(x)} axes" }
# zeros_like(x), ones_like(x), full_like(x, value): arrays of x's shape and
# dtype. Their derivative with respect to x is zero.
#     zeros_like([1, 2])            #> [0, 0]
#     ones_like([1.5, 2])           #> [1, 1]
#     full_like([1, 2], 7)          #> [7, 7]
zeros_like(x) = where(true, 0, stop_gradient(x))
ones_like(x) = where(true, 1, stop_gradient(x))
full_like(x, value) = broadcast_to(where(true, value, sum(zeros_like(x))), shape(x))
# one_hot(k, n): f64[..., n]: for each integer of k a row with 1 at that index
# and 0 elsewhere. The row is 0 when the integer is not in 0 .. n-1.
#     one_hot([2, 0], 3)            #> [[0, 0, 1], [1, 0, 0]]
one_hot(k, n) = f64(expand(k, rank(k)) == iota(n))
# meshgrid(x, y, z; indexing = "xy"): a tuple of arrays with the coordinates of
# a grid. Vectors of extents n and m (and l) give arrays [m, n] (or [m, n, l]),
# the layout of plots. With indexing = "ij" they give [n, m] (or [n, m, l]).
#     (X, Y) = meshgrid([1, 2, 3], [10, 20])
#     X                             #> [[1, 2, 3], [1, 2, 3]]
#     Y                             #> [[10, 10, 10], [20, 20, 20]]
meshgrid(x, y, z = none; indexing = "xy") = {
  assert(indexing == "xy" or indexing == "ij", "indexing is \"xy\" or \"ij\"")
  v = if kind(z) == "none" { list(x, y) } else { list(x, y, z) }
  d = list()
  for a in v { d = push(d, len(a)) }
  out = list()
  for (k, a) in enumerate(v) {
    b = a
    for j in each(k + 1, len(v)) { b = expand(b, rank(b)) }
    b = broadcast_to(b, d)
    out = push(out, if indexing == "ij" { b } else { swapaxes(b, 0, 1) })
  }
  (...out)
}
# A hash of the pair (i, j): large values without order, the same in every run.
# It does not use the random number stream. Only the fractional part is used.
_scrambled(i, j) = 43758.5453 * sin(12.9898 * i + 78.233 * j)

# ---- rearranging elements and axes

# flip(x; axis = 0): x in reverse order along an axis. Lists and strings are
# reversed from their end.
#     flip([1, 2, 3])               #> [3, 2, 1]
#     flip([1, 2; 3, 4]; axis = 1)  #> [[2, 1], [4, 3]]
flip(x; axis = 0) = if kind(x) != "array" { x[.. by -1] } else { _flip(x, axis) }
_flip(x, axis) = moveaxis(moveaxis(x, axis, 0)[.. by -1], 0, axis)
# roll(x, n; axis = 0): elements shifted cyclically by n places towards the end
# of an axis
#     roll([1, 2, 3, 4], 1)         #> [4, 1, 2, 3]
#     roll([1, 2; 3, 4], 1; axis = 1)     #> [[2, 1], [4, 3]]
roll(x, n; axis = 0) = {
  y = moveaxis(x, axis, 0)
  k = n % max(len(y), 1)
  moveaxis(concat(y[len(y) - k..], y[..len(y) - k]), 0, axis)
}
# rot90(A, k = 1): a matrix rotated counterclockwise by k right angles
#     rot90([1, 2; 3, 4])           #> [[2, 4], [1, 3]]
rot90(A, k = 1) = {
  q = _known(k, "the number of turns") % 4
  if q == 0 {
    A
  } else if q == 1 {
    flip(transpose(A))
  } else if q == 2 {
    flip(flip(A; axis = 1))
  } else {
    flip(transpose(A); axis = 1)
  }
}
# ravel(x): all elements as a vector
#     ravel([1, 2; 3, 4])           #> [1, 2, 3, 4]
ravel(x) = reshape(x, -1)
# tile(x, n): x repeated n times. n is a scalar for the last axis, or a tuple
# with one count for each axis. A tuple longer than the rank of x adds leading
# axes.
#     tile([1, 2], 3)               #> [1, 2, 1, 2, 1, 2]
#     tile([1, 2], (2, 2))          #> [[1, 2, 1, 2], [1, 2, 1, 2]]
tile(x, n) = {
  reps = if kind(n) == "array" { if rank(n) == 0 { (n,) } else { (...n) } } else { (...n) }
  y = x
  for k in each(max(0, len(reps) - rank(x))) { y = expand(y, 0) }
  for (k, r) in enumerate(reps) {
    a = rank(y) - len(reps) + k
    m = shape(y)[a]
    y = _gather(y, iota(m * r) % max(m, 1), a)
  }
  y
}
# repeat(x, n; axis = 0): each element (row, column ...) repeated n times in
# place. n is a scalar, or a vector with one count for each element. For a
# string: the string n times.
#     repeat([1, 2], 2)             #> [1, 1, 2, 2]
#     repeat([1, 2, 3], [0, 1, 2])  #> [2, 3, 3]
#     repeat("ab", 3)               #> ababab
repeat(x, n; axis = 0) = if kind(x) == "array" {
  m = shape(x)[_axis(x, axis)]
  if rank(n) == 0 { _gather(x, iota(m * n) // max(n, 1), axis) } else {
    assert(len(n) == m, "repeat takes one count for each of {m} elements, not {len(n)}")
    ends = cumsum(n)
    _gather(x, searchsorted(ends, iota(sum(n))), axis)
  }
} else { _text_repeat(x, n) }
# pad(x, n; axis, mode = "constant", value = 0): x with n more elements at both
# ends of an axis, of several axes, axis = (2, 3), or of every axis by default.
# n = (before, after) applies to each of them.
#   Modes: "constant" fills with the value; "edge" repeats the last element;
#   "reflect" mirrors about the last element; "symmetric" mirrors about the edge
#   after it; "wrap" continues periodically.
#     pad([1, 2, 3], 1)             #> [0, 1, 2, 3, 0]
#     pad([1, 2, 3], (0, 2); mode = "edge")      #> [1, 2, 3, 3, 3]
#     pad([1, 2, 3], 2; mode = "reflect")        #> [3, 2, 1, 2, 3, 2, 1]
#     shape(pad(ones(1, 2, 3, 4), 1; axis = (2, 3)))      #> (1, 2, 5, 6)
pad(x, n; axis = none, mode = "constant", value = 0) = {
  (before, after) = if kind(n) == "array" { (n[...], n[...]) } else { n }
  y = x
  axes = if kind(axis) == "none" {
    each(rank(x))
  } else if kind(axis) == "tuple" or kind(axis) == "list" {
    list(...axis)
  } else {
    list(axis)
  }
  for k in axes {
    a = _axis(x, k)
    y = _pad_axis(y, before, after, a, mode, value)
  }
  y
}
_pad_axis(x, before, after, axis, mode, value) = {
  y = moveaxis(x, axis, 0)
  m = len(y)
  k = iota(m + before + after) - before
  r = if mode == "constant" {
    part = j -> broadcast_to(where(true, value, sum(y[..0])), list(j, ...list(...shape(y))[1..]))
    concat(part(before), y, part(after))
  } else {
    assert(m > 0, "only a constant pads an axis without elements")
    if mode == "edge" { y[clamp(k, 0, m - 1)] }
    else if mode == "wrap" { y[k % m] }
    else if mode == "reflect" { q = k % max(2m - 2, 1); y[min(q, 2m - 2 - q)] }
    else if mode == "symmetric" { q = k % (2m); y[min(q, 2m - 1 - q)] }
    else { _refuse("pad has the modes constant, edge, reflect, symmetric and wrap") }
  }
  moveaxis(r, 0, axis)
}

# ---- joining and splitting

# hstack(parts): the arrays of a tuple or list joined side by side. Vectors are
# joined end to end, others along axis 1.
#     hstack(([1, 2], [3]))         #> [1, 2, 3]
#     hstack(([1; 2], [3; 4]))      #> [[1, 3], [2, 4]]
hstack(parts) = if rank(parts[0]) < 2 { concat(parts) } else { concat(parts; axis = 1) }
# vstack(parts): the arrays of a tuple or list joined vertically. Vectors become
# rows; others are joined along axis 0.
#     vstack(([1, 2], [3, 4]))      #> [[1, 2], [3, 4]]
vstack(parts) = {
  rows = list()
  for p in parts { rows = push(rows, if rank(p) == 1 { expand(p, 0) } else { p }) }
  concat(rows)
}
# column_stack(parts): a matrix with the vectors of a tuple or list as columns.
# Matrices are included unchanged.
#     column_stack(([1, 2], [3, 4]))      #> [[1, 3], [2, 4]]
column_stack(parts) = {
  columns = list()
  for p in parts { columns = push(columns, if rank(p) == 1 { expand(p, 1) } else { p }) }
  concat(columns; axis = 1)
}
# split(x, n; axis = 0): a list of n parts of equal extents. When n is a list or
# tuple of places, x is cut before each of them.
#   For a string: split(s, ",") returns the parts between separators; without a
#   separator it returns the words.
#     split([1, 2, 3, 4], 2)        #> list([1, 2], [3, 4])
#     split([1, 2, 3, 4], (1,))     #> list([1], [2, 3, 4])
#     split("a, b", ", ")           #> list("a", "b")
split(x, n = none; axis = 0) = if kind(x) == "array" {
  y = moveaxis(x, axis, 0)
  m = len(y)
  parts = list()
  if kind(n) == "array" and rank(n) == 0 {
    count = _known(n, "the number of parts")
    assert(count > 0 and m % count == 0, "{m} elements do not split into {count} equal parts")
    w = m // count
    for k in each(count) { parts = push(parts, moveaxis(y[k * w..(k + 1) * w], 0, axis)) }
  } else {
    start = 0
    for stop in (...n, m) { parts = push(parts, moveaxis(y[start..stop], 0, axis)); start = stop }
  }
  parts
} else { if kind(n) == "none" { _text_words(x) } else { _text_split(x, n) } }

# ---- indexing and searching

# take(x, i; axis = 0): the elements (rows, columns ...) with indices i along an
# axis. i has any shape; its axes replace that axis. Negative indices count from
# the end.
#     take([10, 20, 30], [2, -1, 0])      #> [30, 30, 10]
#     take([1, 2; 3, 4], 1; axis = 1)     #> [2, 4]
take(x, i; axis = 0) = { m = shape(x)[_axis(x, axis)]; _gather(x, where(i < 0, i + m, i), axis) }
# take_along(x, i; axis = -1): elements along an axis, with indices that differ
# from row to row. The other axes of i are those of x.
#     x = [3, 1, 2; 7, 9, 8]
#     take_along(x, argsort(x))           #> [[1, 2, 3], [7, 8, 9]]
take_along(x, i; axis = -1) =
  { m = shape(x)[_axis(x, axis)]; _gather_along(x, where(i < 0, i + m, i), axis) }
# nonzero(x): indices of the elements that are not 0, as a tuple of vectors, one
# for each axis
#     (i, j) = nonzero([0, 5; 7, 0])
#     (i, j)                        #> ([0, 1], [1, 0])
nonzero(x) = unravel_index(findall(ravel(x) != 0), shape(x))
# argwhere(c): i64[_, rank], one row of indices for each true condition
#     argwhere([1, 5; 7, 0] > 4)    #> [[0, 1], [1, 0]]
argwhere(c) = stack(unravel_index(findall(ravel(c)), shape(c)); axis = 1)
# unravel_index(k, lengths): a tuple of the indices of element k of an array
# with these extents. Elements are counted row by row (row-major order).
#     unravel_index(5, (2, 3))      #> (1, 2)
unravel_index(k, lengths) = {
  out = list()
  rest = k
  for a in each(len(lengths)) {
    out = list(rest % lengths[len(lengths) - 1 - a], ...out)
    rest = rest // lengths[len(lengths) - 1 - a]
  }
  (...out)
}
# ravel_index(index, lengths): the row-major position of the element with these
# indices in an array with these extents. index is a tuple of scalars or arrays.
#     ravel_index((1, 2), (2, 3))   #> 5
ravel_index(index, lengths) = {
  k = 0
  for a in each(len(lengths)) { k = k * lengths[a] + index[a] }
  k
}
# searchsorted(a, v; side = "right"): for each v the number of elements of the
# ascending vector a that are <= v. With side = "left": the number of elements <
# v. It uses bisection. NaN counts as the largest value.
#     searchsorted([1, 3, 5], [0, 3, 9])               #> [0, 2, 3]
#     searchsorted([1, 3, 5], [0, 3, 9]; side = "left")    #> [0, 1, 3]
searchsorted(a, v; side = "right") = {
  _want_vector("searchsorted", a)
  n = len(a)
  assert(side == "left" or side == "right", "side is \"left\" or \"right\"")
  lo = i64(isnan(v)) * 0
  hi = lo + n
  width = n
  while width > 0 {
    mid = (lo + hi) // 2
    m = a[min(mid, n - 1)]
    up = if side == "left" { _before(m, v) } else { not _before(v, m) }
    open = lo < hi
    (lo, hi) = (where(open and up, mid + 1, lo), where(open and not up, mid, hi))
    width = width // 2
  }
  lo
}
# The order of sort: NaN last.
_before(a, b) = (a < b) or (isnan(b) and not isnan(a))
# digitize(x, edges; right = false): the bin index of each x: the number of
# ascending edges that are <= x (right = true: < x)
#     digitize([0.5, 1, 7], [1, 2, 3])    #> [0, 1, 3]
digitize(x, edges; right = false) =
  if _known(right, "right") {
    searchsorted(edges, x; side = "left")
  } else {
    searchsorted(edges, x)
  }
# lexsort(keys): the permutation that sorts by the last key; ties are sorted by
# the key before it, and so on. keys is a tuple or list of vectors.
#     lexsort(([3, 1, 2], [0, 0, 1]))     #> [1, 0, 2]
lexsort(keys) = {
  if kind(keys) == "array" {
    if rank(keys) != 2 { _want_keys() }
  } else if len(keys) == 0 {
    _want_keys()
  }
  assert(len(keys) > 0, "lexsort takes one key or more")
  n = len(keys[0])
  order = iota(n)
  for k in keys {
    _want_vector("lexsort, as each key,", k)
    assert(len(k) == n, "lexsort takes keys of one length, not {n} and {len(k)}")
    order = order[argsort(k[order])]
  }
  order
}
_want_keys() = _refuse("lexsort takes a tuple or list of vectors: lexsort((by_last, by_first))")
# sort_rows(A; descending = false): the rows of a matrix in lexicographic order
#     sort_rows([2, 1; 1, 9; 1, 3]) #> [[1, 3], [1, 9], [2, 1]]
sort_rows(A; descending = false) = {
  _want_matrix("sort_rows", A)
  order = iota(len(A))
  for k in 0..shape(A)[1] {
    column = take(A, shape(A)[1] - 1 - k; axis = 1)[order]
    order =
      order[if _known(descending,
        "descending") { argsort(column; descending = true) } else { argsort(column) }]
  }
  A[order]
}
# largest(x, k), smallest(x, k): the k largest elements of a vector in
# descending order; the k smallest in ascending order
#     largest([3, 9, 1, 7], 2)      #> [9, 7]
#     smallest([3, 9, 1, 7], 2)     #> [1, 3]
largest(x, k) = sort(x; descending = true)[..k]
smallest(x, k) = sort(x)[..k]

# ---- sets

# unique(x; counts = false, inverse = false): the distinct elements, ascending,
# as a vector.
#   counts = true returns (values, number of occurrences). inverse = true
#   returns (values, index of each element of x among the values). Both return
#   (values, inverse, counts).
#   NaN counts as one value. Derivatives are those of the first of equal
#   elements.
#     unique([3, 1, 3])                   #> [1, 3]
#     unique([3, 1, 3]; counts = true)    #> ([1, 3], [1, 2])
#     unique([3, 1, 3]; inverse = true)   #> ([1, 3], [1, 0, 1])
unique(x; counts = false, inverse = false) = {
  if kind(x) != "array" { _refuse("unique takes an array of numbers, not a {kind(x)}") }
  v = ravel(x)
  order = argsort(v)
  s = v[order]
  before = concat(s[..min(1, len(s))], s)[..len(s)]
  first = (iota(len(s)) == 0) or ((s != before) and not (isnan(s) and isnan(before)))
  values = s[first]
  group = cumsum(i64(first)) - 1
  c = _known(counts, "counts")
  n = if c { bincount(group; n = len(values)) } else { none }
  if _known(inverse, "inverse") {
    place = zeros(len(v); dtype = i64)
    place[order] = group
    if c { (values, reshape(place, shape(x)), n) } else { (values, reshape(place, shape(x))) }
  } else if c { (values, n) } else { values }
}
# isin(x, set): whether each element of x is an element of the array set. Cost:
# O(n log n).
#     isin([1, 2, 3], [3, 1])       #> [true, false, true]
isin(x, set) = {
  s = sort(ravel(set))
  k = searchsorted(s, x; side = "left")
  if len(s) == 0 { k < 0 } else { (k < len(s)) and (s[min(k, len(s) - 1)] == x) }
}
# union(a, b): the distinct elements of both, ascending. For two regions: the
# region of both.
#     union([3, 1], [1, 2])         #> [1, 2, 3]
union(a, b) =
  if kind(a) == "record" { _region_union(a, b) } else { unique(concat(ravel(a), ravel(b))) }
# intersect(a, b): the distinct elements that are in both, ascending. For two
# regions: their intersection.
#     intersect([3, 1, 2], [1, 3, 5])     #> [1, 3]
intersect(a, b) =
  if kind(a) == "record" { _region_intersection(a, b) } else { u = unique(a); u[isin(u, b)] }
# setdiff(a, b): the distinct elements of a that are not in b, ascending
#     setdiff([3, 1, 2], [1, 5])    #> [2, 3]
setdiff(a, b) = { u = unique(a); u[not isin(u, b)] }
# setxor(a, b): the distinct elements that are in exactly one of both, ascending
#     setxor([3, 1, 2], [1, 5])     #> [2, 3, 5]
setxor(a, b) = union(setdiff(a, b), setdiff(b, a))

# ---- counting

# count(c; axis, keepdims): number of true conditions. count(s, part): number of
# occurrences of a substring, without overlaps.
#     count([1, 5, 7] > 4)          #> 2
#     count("banana", "an")         #> 2
count(c, part = none; axis = none, keepdims = false) = if kind(part) != "none" {
  _text_count(c, part)
} else if kind(axis) == "none" {
  sum(i64(c != false); keepdims = keepdims)
} else {
  sum(i64(c != false); axis = axis, keepdims = keepdims)
}
# count_nonzero(x; axis, keepdims): number of elements that are not 0
#     count_nonzero([0, 3, 0, 4])   #> 2
count_nonzero(x; axis = none, keepdims = false) = count(x != 0; axis = axis, keepdims = keepdims)
# bincount(k; weights, n = 0): how often each of 0, 1, 2 ... occurs in k, an
# array of non-negative integers. With weights: the sums of the weights. The
# result has at least n elements.
#     bincount([0, 2, 2])           #> [1, 0, 2]
#     bincount([0, 2, 2]; weights = [0.5, 1, 2])    #> [0.5, 0, 3]
bincount(k; weights = none, n = 0) = {
  if kind(k) != "array" or not (dtype(k) == "i64" or dtype(k) == "i32") {
    _refuse(
      "bincount counts integers, and this is "
      "{if kind(k) == "array" { dtype(k) } else { kind(k) }}; i64(k) makes them of reals")
  }
  v = ravel(k)
  m = max(concat(v, [n - 1])) + 1
  assert(min(concat(v, [0])) >= 0, "bincount counts integers that are not negative")
  if kind(weights) == "none" {
    c = zeros(m; dtype = i64)
    c[v] += 1
    c
  } else {
    w = ravel(weights)
    assert(len(w) == len(v), "bincount takes as many weights as numbers, not {len(w)} for {len(v)}")
    c = sum(w[..0]) + zeros(m)
    c[v] += w
    c
  }
}
# histogram(x, bins = 10; range, weights, density = false): (counts, edges): the
# number of elements of x in each of `bins` bins of equal width. The bins extend
# from the smallest to the largest element, or over range = (a, b). When bins is
# a vector, it holds the ascending edges.
#   The last bin includes its upper edge, the others do not. density = true
#   scales the counts to an integral of 1. NaN and elements outside the edges
#   are not counted.
#   Error when there is no range: x is empty, has only NaN, or has infinite
#   elements. Counts are differentiable with respect to the weights.
#     (n, edges) = histogram([1, 2, 2, 4], 3)
#     n                             #> [1, 2, 1]
#     edges                         #> [1, 2, 3, 4]
#     histogram([1.0, nan, 2, 2], 2)[0]   #> [1, 2]
histogram(x, bins = 10; range = none, weights = none, density = false) = {
  v = ravel(x)
  edges = if rank(bins) == 1 { f64(bins) } else {
    assert(bins > 0, "a histogram has one bin or more")
    (a, b) = if kind(range) == "none" {
      (min(concat(where(isnan(v), inf, v), [inf])), max(concat(where(isnan(v), -inf, v), [-inf])))
    } else { (range[0] + 0.0, range[1] + 0.0) }
    assert(abs(a) < inf and abs(b) < inf,
      "a histogram of nothing, or of infinite elements, needs its range = (a, b)")
    flat = a == b
    linspace(where(flat, a - 0.5, a), where(flat, b + 0.5, b), bins + 1)
  }
  m = len(edges) - 1
  assert(m > 0 and all(edges[1..] >= edges[..-1]),
    "the edges of a histogram are two or more, and ascend")
  k = where(v == edges[m], m - 1, searchsorted(edges, v) - 1)
  inside = (v >= edges[0]) and (v <= edges[m])
  w = if kind(weights) == "none" { i64(inside) } else {
    assert(size(weights) == size(x),
      "histogram takes as many weights as elements, not {size(weights)} for {size(x)}")
    where(inside, ravel(weights), 0)
  }
  n = sum(w[..0]) + zeros(m; dtype = i64)
  n[clamp(k, 0, m - 1)] += w
  (if _known(density, "density") { n / (sum(n) * (edges[1..] - edges[..-1])) } else { n }, edges)
}

# ---- operations along an axis

# diff(x; n = 1, axis = 0): differences of neighbours along an axis, applied n
# times
#     diff([1, 4, 9])               #> [3, 5]
#     diff([1, 4, 9]; n = 2)        #> [2]
diff(x; n = 1, axis = 0) = {
  if kind(x) == "function" {
    _refuse(
      "diff takes differences of neighbours in an array; the derivative of f is f', of a function "
      "of arrays grad(f)")
  }
  y = moveaxis(x, axis, 0)
  assert(len(y) >= n, "diff: {len(y)} elements have no differences of order {n}")
  for k in each(n) { y = y[1..] - y[..-1] }
  moveaxis(y, 0, axis)
}
# gradient(y, h = 1.0; axis = 0, edge_order = 1): the derivative of a table by
# finite differences, with y's extent. Inside it uses the parabola through three
# neighbours. At the ends it uses the line through two, or with edge_order = 2
# the parabola.
#   h is the step, or the vector of the abscissae. y has at least edge_order + 1
#   rows. Fornberg, Math. Comp. 51 (1988)
#     gradient([0, 1, 4, 9])        #> [1, 2, 4, 5]
#     gradient([0, 1, 9], [0, 1, 3])      #> [1, 2, 4]
gradient(y, h = 1.0; axis = 0, edge_order = 1) = {
  if kind(y) == "function" {
    _refuse(
      "gradient takes differences of neighbours in an array; the gradient of a function f at x is "
      "grad(f)(x)")
  }
  u = moveaxis(y, axis, 0) + 0.0
  n = len(u)
  order = _known(edge_order, "edge_order")
  assert(order == 1 or order == 2, "edge_order is 1 or 2")
  assert(n > order, "a derivative at the ends of order {order} takes {order + 1} rows, not {n}")
  x = _like(if rank(h) == 0 { h * iota(n) } else { h + 0.0 }, u)
  assert(len(x) == n, "gradient takes as many places as rows, {n}, not {len(x)}")
  s = x[1..] - x[..-1]
  for k in each(1, rank(u)) { s = expand(s, rank(s)) }
  d = (u[1..] - u[..-1]) / s
  inside = (s[1..] * d[..-1] + s[..-1] * d[1..]) / (s[1..] + s[..-1])
  (a, b) = if order == 1 { (d[..1], d[-1..]) } else {
    (d[..1] - s[..1] * (d[1..2] - d[..1]) / (s[..1] + s[1..2]),
      d[-1..] + s[-1..] * (d[-1..] - d[-2..-1]) / (s[-1..] + s[-2..-1]))
  }
  moveaxis(concat(a, inside, b), 0, axis)
}
# trapz(y, x = 1.0; axis = 0): integral of y over x by the trapezoidal rule. x
# holds the abscissae, or is the step between them.
#     trapz([0, 1, 4], [0, 1, 2])   #> 3.0
#     trapz([0, 1, 4], 0.5)         #> 1.5
trapz(y, x = 1.0; axis = 0) = sum(_trapezoids(_table("trapz", y, axis), x); axis = 0)
# cumtrapz(y, x = 1.0; axis = 0): cumulative integrals by the trapezoidal rule,
# with y's extent. The first one is 0.
#     cumtrapz([0, 1, 4], [0, 1, 2])      #> [0, 0.5, 3]
cumtrapz(y, x = 1.0; axis = 0) = {
  u = _table("cumtrapz", y, axis)
  moveaxis(concat(zeros_like(u[..min(1, len(u))]), cumsum(_trapezoids(u, x))), 0, axis)
}
# The values along an axis, with this axis moved to the front.
_table(who, y, axis) = {
  if kind(y) != "array" or rank(y) == 0 {
    _refuse("{who} takes the values along an axis, not {_axes_in_words(y)}")
  }
  moveaxis(y, axis, 0) + 0.0
}
_trapezoids(y, places) = {
  x = _like(places + 0.0, y)
  h = if rank(x) == 0 { x } else {
    assert(len(x) == len(y), "an integral of {len(y)} values takes as many places, not {len(x)}")
    m = max(len(x) - 1, 0)
    s = x[len(x) - m..] - x[..m]
    for k in each(1, rank(y)) { s = expand(s, rank(s)) }
    s
  }
  m = max(len(y) - 1, 0)
  0.5 * (y[len(y) - m..] + y[..m]) * h
}
# cummax(x; axis = 0), cummin(x; axis = 0): the largest or smallest element so
# far along an axis. All results from a NaN on are NaN. The derivative is that
# of the selected element, the first of equal ones.
#     cummax([1, 3, 2, 5])          #> [1, 3, 3, 5]
#     cummin([4, 5, 2, 3])          #> [4, 4, 2, 2]
cummax(x; axis = 0) = _cumulative(x, axis, 1)
cummin(x; axis = 0) = _cumulative(x, axis, -1)
# The index of the largest element so far, by doubling: iteration k covers the
# last 2^k elements.
_cumulative(x, axis, sign) = {
  y = moveaxis(x, axis, 0)
  v = sign * stop_gradient(y)
  n = len(y)
  at = i64(isnan(v)) * 0
  i = iota(n)
  for k in each(1, rank(y)) { i = expand(i, rank(i)) }
  at = at + i
  step = 1
  while step < n {
    early = max(i - step, 0)
    before = _gather_along(at, early + at * 0, 0)
    (p, q) = (_gather_along(v, before, 0), _gather_along(v, at, 0))
    at = where((p >= q) or isnan(p), before, at)
    step = 2step
  }
  moveaxis(_gather_along(y, at, 0), 0, axis)
}
# windows(x, n; step = 1): all windows of n consecutive rows, as a new axis
# after the first: [_, n, ...]. step is the number of rows between the starts of
# windows. n and step are at least 1.
#     windows([1, 2, 3, 4], 2)      #> [[1, 2], [2, 3], [3, 4]]
windows(x, n; step = 1) = {
  assert(n >= 1 and step >= 1, "a window is 1 row or more, and so is its step")
  x[expand(step * iota(max(0, (len(x) - n) // step + 1)), 1) + iota(n)]
}
# moving(f, x, n): f of every window of n consecutive rows
#     moving(max, [1, 5, 2, 3], 2)  #> [5, 5, 3]
moving(f, x, n) = map(f, windows(x, n))
# moving_mean(x, n): the mean of every window of n consecutive rows
#     moving_mean([1, 2, 6, 4], 2)  #> [1.5, 4, 5]
moving_mean(x, n) = sum(windows(x + 0.0, n); axis = 1) / n
# outer(x, y): the outer product of two vectors: matrix of x_i y_j
#     outer([1, 2], [3, 4])         #> [[3, 4], [6, 8]]
outer(x, y) = {
  _want_vector("outer", x)
  _want_vector("outer", y)
  expand(x, 1) * expand(y, 0)
}
