# keepdims = true: every reduction keeps the reduced axes with extent 1; the
# values are the same.

x = reshape(f32(iota(24))/7 + 1, 2, 3, 4)
reductions = list(sum, prod, max, min, mean, geometric_mean, harmonic_mean, rms, median, var, std, ptp, iqr, skewness, kurtosis,
  nansum, nanmean, nanmax, nanmin, logsumexp, norm)
for f in reductions {
  assert(rank(f(x)) == 0 and shape(f(x; keepdims = true)) == (1, 1, 1) and shape(f(x; axis = -2, keepdims = true)) == (2, 1, 4))
  assert(shape(f(x; axis = 1)) == (2, 4) and all(ravel(f(x; axis = 1, keepdims = true)) == ravel(f(x; axis = 1))))
  assert(dtype(f(x)) == "f32" and dtype(f(x; axis = 1)) == "f32")
}
shape(mean(x; axis = (0, 2), keepdims = true))              #> (1, 3, 1)
shape(sum(x; axis = (0, 2), keepdims = true))               #> (1, 3, 1)
shape(argmax(x; axis = 1, keepdims = true))                 #> (2, 1, 4)
shape(argmin(x; keepdims = true))                           #> (1, 1, 1)
shape(count(x > 2; axis = 0, keepdims = true))              #> (1, 3, 4)
shape(count_nonzero(x; keepdims = true))                    #> (1, 1, 1)
shape(any(x > 2; axis = 0, keepdims = true))                #> (1, 3, 4)
shape(weighted_mean(x, [1, 2, 1]; axis = 1, keepdims = true))       #> (2, 1, 4)
shape(moment(x, 3; axis = 2, keepdims = true))              #> (2, 3, 1)
shape(percentile(x, 30; axis = 2, keepdims = true))         #> (2, 3, 1)
shape(quantile(x, [0.1, 0.2]; axis = 1, keepdims = true))   #> (2, 2, 1, 4)
# of empty arrays
mean(zeros(0, 3); axis = 1)                                 #> []
shape(mean(zeros(0, 3); axis = 1, keepdims = true))         #> (0, 1)

# the values: rows of 1, 2 and 3, 4
mean([1.0, 2; 3, 4]; axis = 1, keepdims = true)             #> [[1.5], [3.5]]
logsumexp([1.0, 2; 3, 4]; axis = 1, keepdims = true)        #~ [2.3132616875182228; 4.313261687518223]
var([1.0, 2; 3, 4]; axis = 0, ddof = 1, keepdims = true)    #> [[2, 2]]

# pad along one axis, several, all
shape(pad(ones(1, 2, 3, 4), 1; axis = (2, 3)))              #> (1, 2, 5, 6)
shape(pad(ones(1, 2, 3, 4), 1; axis = list(-1)))            #> (1, 2, 3, 6)
shape(pad(ones(1, 2, 3, 4), (0, 2); axis = (0, -1)))        #> (3, 2, 3, 6)
pad([1, 2; 3, 4], 1; axis = (0, 1)) == pad([1, 2; 3, 4], 1) #> [[true, true, true, true], [true, true, true, true], [true, true, true, true], [true, true, true, true]]
