# The library's basic array functions: values against NumPy's, boundary cases
# and empty arrays, derivatives, map.
A = [1, 2, 3; 4, 5, 6]
check(f, x) = { c = check_grad(f, x); c.reverse_forward < 1e-12 and c.differences < 1e-8 }

# creation
geomspace(2, 32, 5)          #~ [2, 4, 8, 16, 32]
eye(2, 3; k = -1, dtype = i64)       #> [[0, 0, 0], [1, 0, 0]]
dtype(identity(2; dtype = f32))      #> f32
dtype(zeros(2; dtype = "i32"))       #> i32
full(2, 2, 2; dtype = f32)   #> [[2, 2], [2, 2]]
diag([1, 2])                 #> [[1, 0], [0, 2]]
diag([1im, 2])               #~ [1im, 0; 0, 2]
diagonal(A; k = 1)           #> [2, 6]
diagonal(A; k = 2)           #> [3]
diagonal(A'; k = -2)         #> [3]
len(diagonal(A; k = 5))      #> 0
tril([1, 2; 3, 4]; k = -1)   #> [[0, 0], [3, 0]]
triu(reshape(iota(8), 2, 2, 2))      #> [[[0, 1], [0, 3]], [[4, 5], [0, 7]]]
grad(v -> sum(diag(v)^2))([1.0, 2])  #> [2, 4]
one_hot([[0, 2], [1, 5]], 3) #> [[[1, 0, 0], [0, 0, 1]], [[0, 1, 0], [0, 0, 0]]]
(X, Y, Z) = meshgrid([1, 2], [3, 4, 5], [6, 7])
shape(X)                     #> (3, 2, 2)
(X[2, 1, 0], Y[2, 1, 0], Z[2, 1, 1]) #> (2, 5, 7)
(X, Y) = meshgrid([1, 2], [3, 4, 5]; indexing = "ij")
Y                            #> [[3, 4, 5], [3, 4, 5]]

# axes and order
x = reshape(iota(24), 2, 3, 4)
shape(moveaxis(x, -1, 0))    #> (4, 2, 3)
moveaxis(x, 2, 0)[3, 1, 2]   #> 23
swapaxes(x, 0, 2)[3, 2, 1]   #> 23
shape(squeeze(reshape(x, 1, 24, 1); axis = (0, 2)))  #> (24,)
flip(A; axis = -1)           #> [[3, 2, 1], [6, 5, 4]]
roll([1, 2, 3, 4], -1)       #> [2, 3, 4, 1]
roll([1, 2, 3], 7)           #> [3, 1, 2]
len(roll(zeros(0), 1))       #> 0
shift(x, k) = roll(x, k; axis = 1)
shift(A, 2)                  #> [[2, 3, 1], [5, 6, 4]]
grad(v -> sum(roll(v, 1) * [1, 2, 3]))([1.0, 2, 3])  #> [2, 3, 1]
map(v -> roll(v, 1), A)      #> [[3, 1, 2], [6, 4, 5]]
rot90(A)                     #> [[3, 6], [2, 5], [1, 4]]
rot90(A, 2)                  #> [[6, 5, 4], [3, 2, 1]]
rot90(A, -1)                 #> [[4, 1], [5, 2], [6, 3]]
tile([1, 2; 3, 4], (1, 2))   #> [[1, 2, 1, 2], [3, 4, 3, 4]]
shape(tile(A, (2, 1, 3)))    #> (2, 2, 9)
repeat(A, 2; axis = 1)       #> [[1, 1, 2, 2, 3, 3], [4, 4, 5, 5, 6, 6]]
repeat(A, [2, 0])            #> [[1, 2, 3], [1, 2, 3]]
grad(v -> sum(repeat(v, 3)^2))([1.0, 2])     #> [6, 12]
pad(A, 1)                    #> [[0, 0, 0, 0, 0], [0, 1, 2, 3, 0], [0, 4, 5, 6, 0], [0, 0, 0, 0, 0]]
pad(A, (1, 0); axis = 1, value = 9)  #> [[9, 1, 2, 3], [9, 4, 5, 6]]
pad([1, 2, 3], 4; mode = "wrap")     #> [3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1]
pad([1, 2, 3], 2; mode = "symmetric")        #> [2, 1, 1, 2, 3, 3, 2]
pad([1, 2, 3], 5; mode = "reflect")  #> [2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2]
pad([7], 2; mode = "reflect")        #> [7, 7, 7, 7, 7]
grad(v -> sum(pad(v, (2, 1); mode = "edge")^2))([1.0, 2, 3]) #> [6, 4, 12]
map(v -> pad(v, 1; mode = "reflect"), A)     #> [[2, 1, 2, 3, 2], [5, 4, 5, 6, 5]]

# joining and splitting
hstack((A, A))[0]            #> [1, 2, 3, 1, 2, 3]
vstack(([1, 2, 3], A))[1]    #> [1, 2, 3]
column_stack(([1, 2], A))    #> [[1, 1, 2, 3], [2, 4, 5, 6]]
split(iota(7), (2, 5))       #> list([0, 1], [2, 3, 4], [5, 6])
split(A, 3; axis = 1)        #> list([[1], [4]], [[2], [5]], [[3], [6]])
sum(split(iota(6), 3)[1])    #> 5

# indexing and searching
take(A, [0, -1]; axis = -1)  #> [[1, 3], [4, 6]]
take(A, [0, 1; 1, 0]; axis = 1)[0]   #> [[1, 2], [2, 1]]
take_along(A, argsort(A; descending = true))         #> [[3, 2, 1], [6, 5, 4]]
take_along(A, [1, 0, 1; 0, 0, 0]; axis = 0)          #> [[4, 2, 6], [1, 2, 3]]
grad(x -> sum(take(x, [0, 0, 1])))([1.0, 2, 3])      #> [2, 1, 0]
nonzero([0, 1, 2])           #> ([1, 2],)
argwhere([0, 1; 1, 1] > 0)   #> [[0, 1], [1, 0], [1, 1]]
unravel_index([0, 5], (2, 3))        #> ([0, 1], [0, 2])
ravel_index(([0, 1], [0, 2]), (2, 3))        #> [0, 5]
searchsorted([1, 2, 2, 3], [2, 2.5, 0, 9, nan])      #> [3, 3, 0, 4, 4]
searchsorted([1, 2, 2, 3], [2, 2.5, 0, 9, nan]; side = "left")       #> [1, 3, 0, 4, 4]
searchsorted(zeros(0), [1, 2])       #> [0, 0]
searchsorted([1, 5, 9], 5)   #> 2
s = sort(randn(1000))
v = randn(500)
same(searchsorted(s, v), sum(expand(s, 0) <= expand(v, 1); axis = 1))        #> true
map(x -> searchsorted([1, 3, 5], x), [0, 1, 7])      #> [0, 1, 3]
digitize([0.5, 1, 7], [1, 2, 3]; right = true)       #> [0, 0, 3]
lexsort(([3, 1, 2], [0, 0, 1]))      #> [1, 0, 2]
sort_rows([2, 1; 1, 9; 1, 3]; descending = true)     #> [[2, 1], [1, 9], [1, 3]]
largest([3, nan, 1, 7], 2)   #> [7, 3]

# sets
unique([2, 1; 1, 2])         #> [1, 2]
unique([3.0, 1, 3, nan, nan]; counts = true)         #> ([1, 3, nan], [1, 2, 2])
unique([2, 1; 1, 2]; inverse = true, counts = true)  #> ([1, 2], [[1, 0], [0, 1]], [2, 2])
unique(zeros(0))             #> []
unique([true, false, true])  #> [false, true]
jvp(x -> unique(x), [3.0, 1, 3], [1.0, 2, 3])        #> ([1, 3], [2, 1])
isin([1, 2], zeros(0))       #> [false, false]
isin([1, 2; 3, 4], [4, 1])   #> [[true, false], [false, true]]
union([1.5], [1, 2])         #> [1, 1.5, 2]
intersect([1, 2, 2], [2, 2, 3])      #> [2]
setdiff([1, 1, 2], [2])      #> [1]
setxor([1, 2], [2, 3])       #> [1, 3]

# counting
count([1, 5; 7, 8] > 4; axis = 0)    #> [1, 2]
bincount([1, 1, 3]; n = 6)   #> [0, 2, 0, 1, 0, 0]
bincount(zeros(0; dtype = i64))      #> []
grad(w -> sum(bincount([0, 2, 2]; weights = w)^2))([1.0, 2, 3])      #> [2, 10, 10]
histogram([1.0, 2, 2, 4], 3; density = true)[0]      #> [0.25, 0.5, 0.25]
histogram([0.0, 1, 5, 2], [0.0, 1, 2])[0]    #> [1, 2]
histogram([1.0, 1, 1], 2)    #> ([0, 3], [0.5, 1, 1.5])
histogram([1, 2, 3], 2; range = (0, 4), weights = [1.0, 2, 4])       #> ([1, 6], [0, 2, 4])
sum(histogram(randn(1000), 20)[0])   #> 1000
map(x -> histogram(x, 3)[0], [1.0, 2, 3; 4, 4, 5])   #> [[1, 1, 1], [2, 0, 1]]
grad(w -> sum(histogram([1, 2, 3], 2; weights = w)[0]^2))([1.0, 2, 4])       #> [2, 12, 12]
dtype(histogram([1, 2])[0])  #> i64
round(-1234.567, 2)          #> -1234.57
round([0.126, 55.4], [2, -1])        #> [0.13, 60]

# along an axis
diff([1, 4, 9; 2, 2, 2]; axis = 1)   #> [[3, 5], [0, 0]]
diff([1, 4, 9, 20]; n = 3)   #> [4]
gradient([1.0, 2, 4, 7, 11, 16])     #> [1, 1.5, 2.5, 3.5, 4.5, 5]
gradient([1.0, 2, 4, 7, 11, 16], 2.0)        #> [0.5, 0.75, 1.25, 1.75, 2.25, 2.5]
gradient([1.0, 2, 4, 7, 11, 16], [0.0, 1, 1.5, 3.5, 4, 6])   #~ [1, 3, 3.5, 6.7, 6.9, 2.5]
t = [0.0, 1, 3, 4, 7]
gradient(3t^2 - t, t; edge_order = 2)        #~ 6t - 1
gradient(outer(t, t); axis = 1)[2]   #~ 3gradient(t)
check(y -> sum(gradient(y, t; edge_order = 2)^2), sin(t))    #> true
trapz([1.0, 2; 3, 4], [0.0, 2]; axis = 1)    #> [3, 7]
cumtrapz([1, 2; 3, 4; 5, 6], 0.5)    #> [[0, 0], [1, 1.5], [3, 4]]
hessian(y -> trapz(y^3, 0.5))([1.0, 2])      #> [[1.5, 0], [0, 3]]
cummax([1, 5; 7, 2; 3, 9])   #> [[1, 5], [7, 5], [7, 9]]
cummax([1, 5, 2; 7, 2, 8]; axis = 1) #> [[1, 5, 5], [7, 7, 8]]
cummin([4.0, nan, 2])        #> [4, nan, nan]
cummax([2, 2, 1, 2])         #> [2, 2, 2, 2]
grad(x -> sum(cummax(x) * [1, 2, 3, 4]))([1.0, 3, 2, 5])     #> [1, 5, 0, 4]
grad(x -> sum(cummax(x)))([2.0, 2])  #> [2, 0]
map(cummin, [4, 5, 2; 1, 7, 0])      #> [[4, 4, 2], [1, 1, 0]]
hessian(x -> sum(cummax(x)^2))([1.0, 3, 2])  #> [[2, 0, 0], [0, 4, 0], [0, 0, 0]]
w = randn(300)
same(cummax(w), [max(w[..k + 1]) for k in 0..300])   #> true
windows([1, 2, 3, 4, 5], 3; step = 2)        #> [[1, 2, 3], [3, 4, 5]]
len(windows([1, 2], 3))      #> 0
shape(windows(A', 2))        #> (2, 2, 2)
moving(x -> max(x) - min(x), [1.0, 5, 2, 3], 3)      #> [4, 3]
moving_mean([1, 3; 5, 7; 9, 11], 2)  #> [[3, 5], [7, 9]]
grad(x -> sum(moving_mean(x, 2)^2))([1.0, 3, 5])     #> [2, 6, 4]

# ---- extreme magnitudes

geomspace(1e-200, 1e200, 5)                                    #~ [1e-200, 1e-100, 1, 1e100, 1e200]
geomspace(1, 1000, 4)[[0, 3]]                                  #> [1, 1000]
geomspace(-1, -8, 4)                                           #~ [-1, -2, -4, -8]
[round(1e300, 20), round(1.23456e-200, 203), round(5.0, -400), round(1.5, 400)]   #~ [1e300, 1.235e-200, 0, 1.5]
round(123456.0, -2)                                            #> 123500.0
failing_edges(e) = try { histogram([1.0, 2], e); "counted" } catch m { m }
failing_edges([3.0, 1])      #> the edges of a histogram are two or more, and ascend
(failing_edges([1.0]) == failing_edges([0, nan]), failing_edges([0, 1, 1, 2]))     #> (true, "counted")
# extents that would broadcast are refused
unlike(f) = try { f(); "taken" } catch m { m }
unlike(() -> trapz([1.0, 2, 3], [0.0, 1]))             #> an integral of 3 values takes as many places, not 2
unlike(() -> cumtrapz([1.0, 2], [1.0]))                #> an integral of 2 values takes as many places, not 1
unlike(() -> bincount([1, 2]; weights = [1.0]))        #> bincount takes as many weights as numbers, not 1 for 2
unlike(() -> histogram([1.0, 2], 2; weights = [1.0]))  #> histogram takes as many weights as elements, not 1 for 2

# without elements: as in NumPy and SciPy
trapz(zeros(0))                 #> 0.0
trapz(zeros(0), zeros(0))       #> 0.0
trapz(zeros(3, 0); axis = 1)    #> [0, 0, 0]
grown(n) = (trapz(ones(n)), cumtrapz(ones(n)))
grown(0)                        #> (0.0, [])
grown(1)                        #> (0.0, [0])
grown(3)                        #> (2.0, [0, 1, 2])
lexsort((zeros(0), zeros(0)))   #> []

# wrong arguments are reported at the call
try { trapz(5.0) } catch m { m }            #> trapz takes the values along an axis, not a number
try { tril([1.0, 2]) } catch m { m }        #> tril takes a matrix, not a vector
try { triu(3.0) } catch m { m }             #> triu takes a matrix, not a number
try { sort_rows([1.0, 2]) } catch m { m }   #> sort_rows takes a matrix, not a vector
try { lexsort([1, 2]) } catch m { m }       #> lexsort takes a tuple or list of vectors: lexsort((by_last, by_first))
try { lexsort(()) } catch m { m }           #> lexsort takes a tuple or list of vectors: lexsort((by_last, by_first))
try { lexsort(([1, 2], [1, 2, 3])) } catch m { m }    #> lexsort takes keys of one length, not 2 and 3
try { diagonal([1.0, 2]) } catch m { m }    #> diagonal takes a matrix, not a vector
try { diag(3.0) } catch m { m }             #> diag takes a vector or a matrix, not a number
try { outer(2.0, [1.0]) } catch m { m }     #> outer takes a vector, not a number

# Zeros and ones do not depend on the values of the argument.
(zeros_like([inf, nan]), ones_like([nan, 1.0]))     #> ([0, 0], [1, 1])
cumtrapz([inf, 1.0])            #> [0, inf]
vander([inf, 1.0], 2)           #> [[inf, 1], [1, 1]]
matrix_power([inf, 0; 0, 1.0], 0)   #> [[1, 0], [0, 1]]
convolve([inf, 1.0], [1.0, 2])  #> [inf, inf, 2]
polyval([3.0], [inf, 1.0])      #> [3, 3]
