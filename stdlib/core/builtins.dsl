# builtins.dsl - examples of the functions that are written in C, for `atled
# doc` and docs/reference/library.md. There is no code here.
#
# Form: "# NAME" stands above details (indented by 2) and an example (indented
# by 4 or more), as in the comments of the library's functions. The first
# sentence of the help is in the table of builtins.

# abs
#     abs([-2, 3])                  #> [2, 3]
#     abs(3 + 4im)                  #> 5.0

# sign
#     sign([-2.5, 0, 3])            #> [-1, 0, 1]

# floor
#     floor([-1.5, 1.5])            #> [-2, 1]

# round
#     round([0.5, 1.5, 2.7])        #> [0, 2, 3]
#     round(3.14159, 2)             #> 3.14

# sqrt
#     sqrt(2.25)                    #> 1.5
#     sqrt(-4 + 0im)                #~ 2im

# cbrt
#     cbrt(-27.0)                   #~ -3

# exp
#     exp(1.0)                      #~ e

# expm1
#     expm1(1e-12)                  #~ 1e-12 tol 1e-23

# log
#     log(e^2)                      #~ 2

# log1p
#     log1p(1e-12)                  #~ 1e-12 tol 1e-23

# sin
#     sin(π/6)                      #~ 0.5

# cos
#     cos(π/3)                      #~ 0.5

# tan
#     tan(π/4)                      #~ 1

# asin
#     asin(0.5)                     #~ π/6

# acos
#     acos(0.5)                     #~ π/3

# atan
#     atan(1.0)                     #~ π/4

# sinh
#     sinh(1.0)                     #~ (e - 1/e) / 2

# cosh
#     cosh(1.0)                     #~ (e + 1/e) / 2

# tanh
#   The derivative, 1 - tanh(x)^2, has an absolute error of 1e-16 and is 0 for
#   |x| > 19; sech(x)^2 has full relative accuracy there.
#     tanh(0.5)                     #~ (e - 1) / (e + 1)

# erf
#     erf(0.5)                      #~ 0.5204998778130465

# real
#     real(3 + 4im)                 #> 3.0

# imag
#     imag(3 + 4im)                 #> 4.0

# conj
#     conj(3 + 4im)                 #> 3 - 4im

# stop_gradient
#     (x -> x * stop_gradient(x))'(3.0)   #> 3.0

# atan2
#     atan2(1, -1)                  #~ 3π/4

# mod
#     mod([-7, 7], 3)               #> [2, 1]

# bitand
#     bitand(12, 10)                #> 8

# bitxor
#     bitxor([12, -1], [10, 7])     #> [6, -8]

# bitshift
#     bitshift([3, 12, -1], [2, -2, -60])   #> [12, 3, 15]

# pow
#     pow([1, 2, 3], 2)             #> [1, 4, 9]

# where
#     x = [-1, 2, -3]
#     where(x > 0, x, 0)            #> [0, 2, 0]

# bool
#     bool([0, 2])                  #> [false, true]

# i32
#     i32(-2.7)                     #> -2

# i64
#     i64([1.9, -1.9])              #> [1, -1]
#     i64("12") + i64("0xff")       #> 267

# f32
#     dtype(f32(1.5) * 2)           #> f32

# f64
#     f64([1, 2]) / 2               #> [0.5, 1]
#     f64(" 1.5e3 ")                #> 1500.0
#     try { f64("1,5"); "?" } catch m { m }   #> cannot read "1,5" as f64

# c64
#     dtype(c64(1))                 #> c64

# c128
#     c128(2)                       #> 2 + 0im

# zeros
#     zeros(3)                      #> [0, 0, 0]
#     dtype(zeros(3; dtype = i32))  #> i32
#     shape(zeros((2, 3)))          #> (2, 3)

# ones
#     ones(2, 2)                    #> [[1, 1], [1, 1]]

# full
#     full(7, 2, 2)                 #> [[7, 7], [7, 7]]

# iota
#     iota(4)                       #> [0, 1, 2, 3]

# collect
#     collect(1..8 by 3)            #> [1, 4, 7]

# clock
#     t = clock()
#     s = sum(sin(iota(1000)))
#     clock() - t < 10              #> true

# len
#     len([5, 6, 7])                #> 3
#     len("aπ")                     #> 2
#     len((1, "two"))               #> 2

# shape
#     shape(zeros(2, 3))            #> (2, 3)

# size
#     size(zeros(2, 3))             #> 6

# rank
#     rank(zeros(2, 3))             #> 2

# dtype
#     dtype([1, 2])                 #> i64

# reshape
#     reshape(iota(6), 2, -1)       #> [[0, 1, 2], [3, 4, 5]]

# transpose
#     transpose([1, 2; 3, 4])       #> [[1, 3], [2, 4]]
#     shape(transpose(zeros(2, 3, 4), 0, 2, 1))   #> (2, 4, 3)

# adjoint
#     [1, 2im; 3, 4]'               #~ [1, 3; -2im, 4]

# concat
#     concat([1, 2], [3])           #> [1, 2, 3]
#     concat([1; 2], [3; 4]; axis = 1)    #> [[1, 3], [2, 4]]

# stack
#     stack([1, 2], [3, 4])         #> [[1, 2], [3, 4]]
#     stack([1, 2], [3, 4]; axis = 1)     #> [[1, 3], [2, 4]]

# moveaxis
#     shape(moveaxis(zeros(2, 3, 4), 0, 2))    #> (3, 4, 2)

# swapaxes
#     shape(swapaxes(zeros(2, 3, 4), 0, -1))   #> (4, 3, 2)

# squeeze
#     shape(squeeze(zeros(1, 3, 1)))           #> (3,)
#     shape(squeeze(zeros(1, 3, 1); axis = 0)) #> (3, 1)

# expand
#     expand([1, 2], 1) * [10, 20, 30]    #> [[10, 20, 30], [20, 40, 60]]

# broadcast_to
#     broadcast_to([1, 2], 2, 2)    #> [[1, 2], [1, 2]]

# sum
#     sum([1, 2; 3, 4])             #> 10
#     sum([1, 2; 3, 4]; axis = 0)   #> [4, 6]
#     sum(i^2 for i in 0..4)        #> 14

# prod
#     prod([1, 2, 3, 4])            #> 24

# max
#     max([3, 1, 2])                #> 3
#     max([3, 1, 2], 2)             #> [3, 2, 2]

# min
#     min([3, 1; 2, 5]; axis = 1)   #> [1, 2]

# any
#     any([1, 5] > 4)               #> true

# all
#     all([1, 5; 6, 7] > 4; axis = 1)     #> [false, true]

# argmax
#     argmax([3, 8, 2])             #> 1
#     argmax([1, 2; 4, 3]; axis = 1)      #> [1, 0]

# argmin
#     argmin([3, 8, 2])             #> 2

# cumsum
#     cumsum([1, 2, 3])             #> [1, 3, 6]
#     cumsum([1, 2, 3]; reverse = true)   #> [6, 5, 3]

# cumprod
#     cumprod([1, 2, 3, 4])         #> [1, 2, 6, 24]

# sort
#     sort([3, 1, 2])               #> [1, 2, 3]
#     sort([3, 1, 2]; descending = true)  #> [3, 2, 1]

# argsort
#     argsort([30, 10, 20])         #> [1, 2, 0]

# findall
#     findall([5, 1, 7] > 4)        #> [0, 2]

# cholesky
#     cholesky([4.0, 2; 2, 5])      #> [[2, 0], [1, 2]]

# qr
#     (Q, R) = qr([3.0, 1; 4, 2])
#     R[0, 0]                       #~ 5
#     Q @ R                         #~ [3, 1; 4, 2]

# eigh
#     (w, V) = eigh([2.0, 1; 1, 2])
#     w                             #~ [1, 3]
#     V @ diag(w) @ V'              #~ [2, 1; 1, 2]

# eig
#     (w, V) = eig([0.0, -1; 1, 0])
#     sort(imag(w))                 #~ [-1, 1]

# svd
#     (U, s, V) = svd([3.0, 0; 0, 4])
#     s                             #~ [4, 3]

# trisolve
#     trisolve([2.0, 0; 1, 4], [2.0, 9])  #> [1, 2]

# fft
#     fft([1, 0, 0, 0])             #~ [1, 1, 1, 1]

# ifft
#     real(ifft(fft([1, 2, 3])))    #~ [1, 2, 3]

# rand
#     x = rand(100)
#     all(x >= 0 and x < 1)         #> true

# randn
#     seed(1)
#     abs(mean(randn(10_000))) < 0.05     #> true

# seed
#     seed(7)
#     a = rand(3)
#     seed(7)
#     same(a, rand(3))              #> true

# jvp
#     jvp(x -> sum(x^2), [1.0, 2], [1.0, 0])   #> (5.0, 2.0)

# vjp
#     (y, pull) = vjp(x -> x^2, [1.0, 3])
#     pull([1.0, 1])                #> [2, 6]

# linearize
#     (y, push) = linearize(x -> x^3, 2.0)
#     push(1.0)                     #> 12.0

# grad
#     grad(x -> sum(x^3))([1.0, 2]) #> [3, 12]
#     grad((a, b) -> a * b, 1)(3.0, 4.0)  #> 3.0

# value_and_grad
#     value_and_grad(x -> sum(x^2))([1.0, 2])  #> (5.0, [2, 4])

# ∂
#     ∂((x, y) -> x^2 * y, 1)(3.0, 4.0)   #> 9.0

# partial
#     partial((x, y) -> x^2 * y, 0)(3.0, 4.0)  #> 24.0

# checkpoint
#     walk(x) = { for k in 0..100 { x = x + 0.01 * sin(x) }; x }
#     checkpoint(walk; snapshots = 5)'(1.0)    #~ walk'(1.0)

# map
#     map(x -> sum(x^2), [1, 2; 3, 4])    #> [5, 25]
#     map(x -> 2x, (a = [1, 2], b = 3))   #> (a = [2, 4], b = 6)

# map_rows
#     map_rows(p -> p.x * p.y, (x = [1, 2], y = [3, 4]))    #> [3, 8]

# flatten
#     (v, back) = flatten((a = 1.0, b = [2.0, 3]))
#     v                             #> [1, 2, 3]
#     back(10v)                     #> (a = 10.0, b = [20, 30])

# linear_map
#     f = x -> linear_map(v -> 2v, w -> 2w, x)
#     grad(x -> sum(f(x)))([1.0, 2])      #> [2, 2]

# print
#     print("x =", 3, [1, 2])
#     #> x = 3 [1, 2]

# str
#     str(1.5) + "!"                #> 1.5!

# progress
#   steps may be omitted or none. At most 8 named real scalars; time, from, to
#   and dt are those of an integration. It has no effect on results and no
#   derivative; under map the values are omitted.
#     x = 1.0
#     for k in 0..60 { x = 0.5 * (x + 2 / x); progress(k + 1, 60; residual = x^2 - 2) }
#     x                             #~ sqrt(2)

# exit
#     limited(x) = if x > 2 { exit(3) } else { x }
#     limited(1)                    #> 1

# error
#     try { error("no good") } catch m { m }   #> no good

# assert
#     try { assert(1 > 2, "one is less") } catch m { m }   #> one is less

# list
#     len(list(1, "two", [3, 4]))   #> 3

# each
#  Loops and map over a list are unrolled item by item, so that each item may
#  have another type. Its integers must be known before the program runs; there
#  are at most 100000.
#     r = (1.5, "two", [3, 4])
#     map(k -> kind(r[k]), each(3)) #> list("array", "string", "array")
#     map(k -> k^2, each(2, 5))     #> list(4, 9, 16)

# push
#     push([1, 2], 3)               #> [1, 2, 3]

# keys
#     keys((a = 1, b = 2))          #> ("a", "b")

# values
#     values((a = 1, b = [2, 3]))   #> (1, [2, 3])

# leaves
#     len(leaves((a = 1, b = (2, 3))))    #> 3

# has
#     has((a = 1), "b")             #> false

# field
#     field((a = 1), "a")           #> 1
#     field((a = 1), "b", 0)        #> 0

# record
#     record(("a", "b"), (1, 2))    #> (a = 1, b = 2)

# kind
#     kind([1, 2])                  #> array
#     kind("text")                  #> string

# accepts
#     accepts((x, y) -> x + y, 1)   #> false

# zip
#     for (a, b) in zip([1, 2], (3.5, 4.5)) { print(a, b) }
#     #> 1 3.5
#     #> 2 4.5

# enumerate
#     for (k, x) in enumerate([10, 20]) { print(k, x) }
#     #> 0 10
#     #> 1 20

# same
#     same([1, 2], [1, 2])          #> true
#     same([1, 2], [1, 2, 3])       #> false

# compose
#     (sqrt ∘ abs)(-9.0)            #> 3.0

# ir
#   Everything that decides a type (an axis, a rank) is fixed in it; extents
#   above 16 are not.
#     p = ir(x -> sum(sin(x)), ones(20))
#     p(2ones(30))                  #~ 30 * sin(2)
#     grad(p)(zeros(20))[0]         #> 1.0

# inspect
#   symbols, results: list of strings; parameters: list of (value, name, type);
#   instructions: list of (operation, operands, results, types, attributes,
#   regions, transforms, line, column), where a region is (parameters,
#   instructions, results); callees: list of such records.
#     p = ir(x -> x * sin(x), 2.0)
#     inspect(p).instructions[0].operation   #> sin

# rewrite
#   A rule receives the operands of its operation and returns a value of the
#   same type. It applies in loops, branches and called functions, and is not
#   applied to its own result.
#     p = ir(x -> x * sin(x), 2.0)
#     rewrite(p, (sin = x -> x - x^3/6,))(0.1)   #~ 0.1 * (0.1 - 0.001/6)

# read_ir
#   The parameters become the arguments. A single result is returned as itself,
#   several as a tuple.
#     p = ir(x -> x^2, 2.0)
#     read_ir(str(p))(3.0)          #> 9.0

# plan
#     plan(x -> sum(x^2), ones(1000));

# native
#     native(x -> sum(x^2), ones(1000));

# cost
#     cost(x -> sum(x^2), ones(100)) < 300     #> true

# nan_check
#     r = nan_check(x -> log(x) - log(x), [1.0, 0.0]);
#     (r.found, r.operation, r.index)     #> (true, "-", [1])
