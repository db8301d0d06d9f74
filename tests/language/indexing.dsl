# x[i], slices with steps, negative indices, gathers, masks, `...`. Oracle:
# expected values.

x = [10, 20, 30, 40, 50]
x[0]                 #> 10
x[4]                 #> 50
x[-1]                #> 50
x[-5]                #> 10
x[1..3]              #> [20, 30]
x[..2]               #> [10, 20]
x[3..]               #> [40, 50]
x[..]                #> [10, 20, 30, 40, 50]
x[1..-1]             #> [20, 30, 40]
x[-2..]              #> [40, 50]
x[..-2]              #> [10, 20, 30]
x[-3..-1]            #> [30, 40]
x[2..2]              #> []
x[.. by 2]           #> [10, 30, 50]
x[1.. by 2]          #> [20, 40]
x[.. by -1]          #> [50, 40, 30, 20, 10]
x[3..0 by -1]        #> [40, 30, 20]
x[3.. by -2]         #> [40, 20]
x[-1..0 by -2]       #> [50, 30]
x[[0, 2]]            #> [10, 30]
x[[-1, 0]]           #> [50, 10]
x[[4, 4, 4]]         #> [50, 50, 50]
x[[0, 1; 2, 3]]      #> [[10, 20], [30, 40]]
x[x > 25]            #> [30, 40, 50]
x[x > 100]           #> []
x[[true, false, true, false, false]] #> [10, 30]
x[0..0]              #> []
i = 2
x[i]                 #> 30
x[i - 1..i + 1]      #> [20, 30]
x[len(x) - 1]        #> 50
x[argmax(x)]         #> 50
x[(1, 2)[0]]         #> 20

A = [1, 2, 3; 4, 5, 6; 7, 8, 9]
A[0]                 #> [1, 2, 3]
A[0, 0]              #> 1
A[-1, -1]            #> 9
A[1, ..]             #> [4, 5, 6]
A[.., 1]             #> [2, 5, 8]
A[..., 0]            #> [1, 4, 7]
A[0, ...]            #> [1, 2, 3]
A[...]               #> [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
A[1.., 1..]          #> [[5, 6], [8, 9]]
A[..2, -1]           #> [3, 6]
A[.. by 2, .. by 2]  #> [[1, 3], [7, 9]]
A[.. by -1]          #> [[7, 8, 9], [4, 5, 6], [1, 2, 3]]
A[[0, 2]]            #> [[1, 2, 3], [7, 8, 9]]
A[.., [0, 2]]        #> [[1, 3], [4, 6], [7, 9]]
A[[0, 1], [1, 2]]    #> [2, 6]
A[[0; 1], [1, 2]]    #> [[2, 3], [5, 6]]
A[1, [0, 2]]         #> [4, 6]
A[[0, 2], 1]         #> [2, 8]
A[[0, 2], 1..]       #> [[2, 3], [8, 9]]
A[A > 5]             #> [6, 7, 8, 9]
A[[true, false, true]]       #> [[1, 2, 3], [7, 8, 9]]
A[.., [false, true, true]]   #> [[2, 3], [5, 6], [8, 9]]
A[A[.., 0] > 3]      #> [[4, 5, 6], [7, 8, 9]]
A[i, i]              #> 9
A[i, 0..i]           #> [7, 8]
T = reshape(0..24, 2, 3, 4)
T[1, 2, 3]           #> 23
T[..., -1]           #> [[3, 7, 11], [15, 19, 23]]
T[0, ..., 0]         #> [0, 4, 8]
T[1, .., 1..3]       #> [[13, 14], [17, 18], [21, 22]]
T[[0, 1], .., [0, 3]]        #> [[0, 4, 8], [15, 19, 23]]
T[.., [0, 1], [0, 1]]        #> [[0, 5], [12, 17]]

# Indices known only at run time.
at(x, i) = x[i]
at(x, 3)             #> 40
at(x, -2)            #> 40
window(x, i, n) = x[i..i + n]
window(x, 1, 3)      #> [20, 30, 40]
last(x) = x[-1]
last(iota(100))      #> 99
mid(x) = x[1..-1]
len(mid(iota(100)))  #> 98
every(x) = x[.. by 3]
every(iota(20))      #> [0, 3, 6, 9, 12, 15, 18]
every(iota(21))      #> [0, 3, 6, 9, 12, 15, 18]
every(iota(22))      #> [0, 3, 6, 9, 12, 15, 18, 21]
rev(x) = x[.. by -1]
rev(iota(20))[0]     #> 19
s = 0
for k in 0..5 { s += x[k] * x[-1 - k] }
s                    #> 3500
positives(x) = x[x > 0]
positives([-1, 2, -3, 4])    #> [2, 4]
len(positives(iota(50) - 10))        #> 39

# Many elements added at repeated indices: in order, for any number of threads.
many = [(k*k*31 + 7k) % 777 for k in 0..60000]
heap = [sin(0.001k + j) for k in 0..60000, j in 0..3]
low = [cos(k + 2j) for k in 0..777, j in 0..3]
collect(s, c, at) = { for k in 0..len(at) { s[at[k]] += c[k] }; s }
max(abs(grad(x -> sum(x[many]^2 * heap))(low) - 2*low*collect(zeros(777, 3), heap, many))) < 1e-11  #> true
max(abs(grad(x -> sum(x[many]^3 * heap[.., 0]))(low[.., 0]) - 3*low[.., 0]^2*collect(zeros(777), heap[.., 0], many))) < 1e-11  #> true
try { grad(x -> sum(x[many + 1]^2 * heap))(low) } catch e { e }  #> index 777 is out of range for an axis of length 777

# An inferred extent in a mapped function: facts about all rows together hold
# for each row.
in_threes(A, r) = sum(reshape(A^2, -1, r, shape(A)[1]); axis = (0, 2))
of_rows(X, r) = map(x -> in_threes(x*X, r), [1.0, 2.0])
of_rows(ones(8, 3), 2)  #> [[12, 12], [48, 48]]
jacobian(p -> map(x -> in_threes(x*ones(8, 3), 2), p))([1.0])  #> [[[24], [24]]]
