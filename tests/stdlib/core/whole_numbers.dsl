# Integers and extreme values: sums and squares that do not wrap, norms that
# neither overflow nor underflow, and tables with one entry.

# Averages of integers whose sum exceeds i32 or i64.
n = i32([2000000011, 2000000013])
mean(n)                                       #~ 2000000012
mean([9000000000000000000, 9000000000000000002]) / 9e18        #~ 1
mean(i32([2000000011, 1; 2000000013, 2]); axis = 0)    #~ [2000000012, 1.5]
weighted_mean(n, [1, 3])                      #~ 2000000012.5
nanmean(n)                                    #~ 2000000012
rms(i32([60000, 80000, 0, 0]))                #~ 50000
(var(n), std(n), var(i32([2000000011, 1; 2000000013, 2]); axis = 0))   #~ (1, 1, [1, 0.25])
moment(i32([0, 100000]), 4)                   #~ 5e4^4
linregress(i32([2000000000, 2000000001, 2000000002]), [1, 3, 5]).slope       #~ 2
linregress(i32([60000, 60001, 60002]), [1, 3, 6]).intercept_stderr           #~ linregress([60000.0, 60001, 60002], [1, 3, 6]).intercept_stderr
trapz(i32([2000000000, 2000000000]))          #~ 2e9
trapz([1, 1], i32([-2000000000, 2000000000])) #~ 4e9
cumtrapz(i32([2000000000, 2000000000, 2000000000]))    #~ [0, 2e9, 4e9]
gradient(i32([-2000000000, 2000000000]))      #~ [4e9, 4e9]
interp(0, i32([-2000000000, 2000000000]), i32([-2000000000, 2000000000]))        #~ 0
moving_mean(n, 2)                             #~ [2000000012]
pairwise_distances(i32([-60000, 0; 0, 0]), i32([0, 80000]))    #~ [100000; 80000]
norm(i32([60000, 80000]))                     #~ 100000
norm([4000000000, 3000000000])                #~ 5e9
norm(i32([60000, 80000; 0, 0]); axis = 1)     #~ [100000, 0]
norm(i32([60000, 80000; 0, 0]), "fro")        #~ 100000
norm(i32([-2147483648, 0]), 1)                #~ 2147483648
(dtype(mean(f32([1, 2; 3, 4]); axis = 0)), dtype(var(f32([1, 2; 3, 4]); axis = 0)), dtype(norm(f32([1, 2]))))        #> ("f32", "f32", "f32")
mean([true, false, true, true])               #~ 0.75

# Norms whose squares overflow or underflow, and their derivatives.
norm([3e200, 4e200]) / 5e200                  #~ 1
norm([3e-200, 4e-200]) / 5e-200               #~ 1
norm(f32([3e20, 4e20])) / 5e20                #~ 1 tol 1e-6
norm([3e200, 4e200], 3) / 1e200               #~ 91^(1/3)
norm([3e-200, 4e-200], 3) / 1e-200            #~ 91^(1/3)
norm([3e200, 4e200; 3e-200, 4e-200]; axis = 1) / [5e200, 5e-200]       #~ [1, 1]
norm([3e200, 4e200; 0, 0], "fro") / 5e200     #~ 1
map(x -> norm(x), [3.0, 4; 3e200, 4e200]) / [5, 5e200]         #~ [1, 1]
normalize([3e200, 4e200])                     #~ [0.6, 0.8]
(norm([inf, 1.0]), norm(zeros(0)), norm(zeros(0), 3), isnan(norm([nan, 1])))         #> (inf, 0.0, 0.0, true)
grad(x -> norm(x))([3e200, 4e200])            #~ [0.6, 0.8]
hessian(x -> norm(x))([3e200, 4e200]) * 1e200 #~ [0.128, -0.096; -0.096, 0.072]
grad(x -> norm(x, 3))([3e200, 4e200])         #~ [9, 16] / 91^(2/3)

# Tables with one entry or none, and with NaN.
linspace(2, 5, 1)                             #> [2]
linspace(i32(-2000000000), i32(2000000000), 3)         #~ [-2e9, 0, 2e9]
(geomspace(2, 5, 1), logspace(2, 5, 1), len(linspace(0, 1, 0)))        #> ([2], [100], 0)
histogram([1.0, 2, nan, 4], 3)                #> ([1, 1, 1], [1, 2, 3, 4])
histogram([1.0, 2, nan, inf, 4], 3; range = (1, 4))[0]         #> [1, 1, 1]
histogram([nan, 7.0], 1)                      #> ([1], [6.5, 7.5])
refused(f) = try { f(); "" } catch m { m }
contains(refused(() -> histogram([nan])), "range")     #> true
contains(refused(() -> histogram([1.0, inf])), "range")        #> true
contains(refused(() -> histogram(zeros(0))), "range")  #> true
contains(refused(() -> arange(0, 1, 0.0)), "not 0")    #> true

# ---- logarithms of powers of the base are integers

k = iota(609) - 300
all(log10(10.0^k) == k)                                        #> true
k2 = iota(2098) - 1074
all(log2(2.0^k2) == k2)                                        #> true
[floor(log10(1000)), floor(log10(999.999)), log10(inf), log10(0.0)]   #> [3, 2, inf, -inf]
log10([1.7976931348623157e308, 2.5])                           #~ [308.25471555991674, 0.3979400086720376] tol 1e-15
(log10'(1000.0), nth_derivative(log2, 8.0, 2))                 #~ (1/(1000log(10)), -1/(64log(2)))
all(cbrt((1.0 * k)^3) == k)                                    #> true
dtype(log2(f32(8)))                                            #> f32
# ---- exponents, and multiples that do not fit

[k for k in 0..309 if log10(10.0^k) != k or log10(10.0^-k) != -k]    #> []
[k for k in -1074..1024 if log2(2.0^k) != k]          #> []
i64(floor(log10([1000, 10^15, 999])))                 #> [3, 15, 2]
log10([1e23, 0, inf, 2])                              #~ [23, -inf, inf, 0.301029995663981195]
(log2(1 + 2.3e-16) > 0, dtype(log10(f32(1000))), log10(f32(1000)))   #> (true, "f32", 3.0)
(log10'(1000.0), log10''(1000.0))                     #~ (1e-3 / log(10), -1e-6 / log(10))
too_large(f) = try { f(); "fits" } catch m { m }
too_large(() -> lcm(2^62, 6))                         #> lcm: the multiple is too large for i64
too_large(() -> lcm(i32(100_000), i32(99_999)))       #> lcm: the multiple is too large for i32
lcm([4, -6, 0, 0, 2^62], [6, 4, 5, 0, 2^61])          #> [12, 12, 0, 0, 4611686018427387904]
