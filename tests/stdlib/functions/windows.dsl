# Windows: slices of constant extent whose ends vary by batch element.
windows(x, n) = [x[s..s + n] for s in 0..4]
windows([1, 2, 3, 4, 5, 6], 3)
#> [[1, 2, 3],
#>  [2, 3, 4],
#>  [3, 4, 5],
#>  [4, 5, 6]]
apart(x, n, k) = [x[k*s..k*s + n + 1] for s in 0..3]
apart([1, 2, 3, 4, 5, 6], 1, 2)
#> [[1, 2],
#>  [3, 4],
#>  [5, 6]]
backward(x, n) = [sum(x[s + n..s by -1]) for s in 0..3]
backward([1.0, 2, 3, 4, 5, 6], 2)     #> [5, 7, 9]
means(x, n) = [mean(x[s..s + n]) for s in 0..(len(x) - n + 1)]
means([1.0, 2, 3, 4, 5, 6], 3)        #> [2, 3, 4, 5]
grad(x -> sum(means(x, 2)^2))([1.0, 2, 4])    #> [1.5, 4.5, 3]
rows(a, n) = [a[s..s + n, s] for s in 0..3]
rows([1, 2, 3; 4, 5, 6; 7, 8, 9; 10, 11, 12], 2)
#> [[1, 4],
#>  [5, 8],
#>  [9, 12]]
none_at_all(x, n) = x[2..2 + n]
none_at_all([1, 2, 3], 0)             #> []
piece(x, s, n) = x[s..s + n]
piece([1, 2, 3], 2, -1)               #> []
try { piece([1, 2, 3], 2, 4) } catch m { m }  #> a slice of 4 elements from index 2 does not fit an axis of length 3
