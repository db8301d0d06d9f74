# An extremum over a filter that selects nothing.
x = [1, 2]
failed(f) = try { "{f()}" } catch m { m }
failed(() -> max(x[i] for i if x[i] > 10))   #> the largest element of nothing
failed(() -> min(x[i] for i if x[i] > 10))   #> the smallest element of nothing
largest(x) = max(x[i] for i if x[i] > 0)
failed(() -> largest([-1.0, -2.0]))          #> the largest element of nothing
largest([-1.0, 2.0])                         #> 2.0
A = [1, 2; 3, 4]
[max(A[i, j] for j if A[i, j] > 2 or i == 0) for i]  #> [2, 4]
failed(() -> [max(A[i, j] for j if A[i, j] > 2) for i])      #> the largest element of nothing
failed(() -> [min(A[i, j] for j if i > 0) for i])    #> the smallest element of nothing
max(A[i, j] for i, j if i > 0)               #> 4
any(A[i, j] > 1 for i, j if i > 5)           #> false
all(A[i, j] > 1 for i, j if i > 5)           #> true
map(largest, [1.0, -2.0; -3.0, 4.0])         #> [1, 4]
failed(() -> map(largest, [1.0, 2.0; -3.0, -4.0]))   #> the largest element of nothing
grad(largest)([1.0, -2.0, 4.0])              #> [0, 0, 1]
shape([max(A[i, j] for j if j > 0) for i in 0..0])   #> (0,)
