# Functions whose early returns have one type: the type is known at
# specialisation time, as batched code requires.
sgn(x) = { if x > 0 { return 1 }; if x < 0 { return -1 }; 0 }
map(sgn, [5.0, -2, 0])                #> [1, -1, 0]
first_over(xs, y) = { for x in xs { if x > y { return x } }; -1.0 }
map(xs -> first_over(xs, 4), [1.0, 5; 6, 2; 0, 1])    #> [5, 6, -1]
pair(A, y) = { for i in 0..2 { for j in 0..2 { if A[i, j] == y { return (i, j) } } }; (-1, -1) }
map(y -> pair([1.0, 2; 3, 4], y), [3.0, 2, 7])        #> ([1, 0, -1], [0, 1, -1])
turns(n) = { k = 0; while n != 1 { n = if n % 2 == 0 { n // 2 } else { 3n + 1 }; k = k + 1 }; k }
map(turns, [27, 1, 8])                #> [111, 0, 3]
grad(x -> sum(map(y -> { if y > 1 { return y^2 }; 3y }, x)))([2.0, 0.5])    #> [4, 3]
