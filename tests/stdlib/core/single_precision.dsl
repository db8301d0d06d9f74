# Functions of f32 arguments return f32, with the accuracy of f32. Oracle: the
# values in f64.

A = f32([2.0, 1; 1, 3])
b = f32([1.0, 2])
list(...map(dtype, (inv(A), expm(A), trace(A), det(A), logdet(A), slogdet(A)[1], pinv(A), lstsq(A, b))))   #> list("f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32")
list(...map(dtype, (sqrtm(A), logm(A), matrix_power(A, -2), lu(A)[0], cond(A), null_space(A), orth(A))))   #> list("c64", "c64", "f32", "f32", "f32", "f32", "f32")
list(...map(dtype, (norm(A), norm(A, 1), norm(b, 3), norm(b, 0), normalize(b))))   #> list("f32", "f32", "f32", "f32", "f32")
list(...map(dtype, (median(b), quantile(b, 0.3), quantile(b, [0.3, 0.4]), percentile(b, 30), iqr(b))))   #> list("f32", "f32", "f32", "f32", "f32")
taylor(x -> x^2, f32(3.0), 2)                #> [9, 6, 1]
dtype(taylor(x -> x^2, f32(3.0), 2))         #> f32
dtype(taylor(x -> x^2, f32(3.0), 0))         #> f32
dtype(nth_derivative(x -> x^3, f32(1.0), 2)) #> f32
list(...map(dtype, (laplacian(x -> sum(x^2))(b), divergence(x -> x^2)(b), hessian(x -> sum(x^2))(b), grad(det)(A))))   #> list("f32", "f32", "f32", "f32")
dtype(inv(c64([2.0, 1im; 1, 3])))            #> c64
dtype(inv([2, 1; 1, 3]))                     #> f64
taylor(x -> x^2, 3, 3)                       #> [9, 6, 1, 0]

inv(A)                                       #~ [0.6, -0.2; -0.2, 0.4] tol 1e-6
expm(f32([0.0, 1; -1, 0]))                   #~ [cos(1), sin(1); -sin(1), cos(1)] tol 1e-6
# scaling and squaring
expm(f32([0.0, 30; -30, 0]))                 #~ [cos(30), sin(30); -sin(30), cos(30)] tol 1e-4
sqrtm(A) @ sqrtm(A)                          #~ A tol 1e-5
expm(logm(A))                                #~ A tol 1e-5
trace(A)                                     #> 5.0
median(f32([2.0, 1, 3, 5]))                  #> 2.5
logdet(A)                                    #~ log(5) tol 1e-6
null_space(f32([1.0, 1]) * [1.0; 1])[0, 0]^2 #~ 0.5 tol 1e-6
# Elements off the diagonal do not affect a trace.
trace([1.0, inf; nan, 2])                    #> 3.0

# The dtype of locations, steps and factors does not affect the result's dtype.
dtype(gradient(f32([1.0, 2, 4]), 0.1))          #> f32
dtype(trapz(f32([1.0, 2]), [0, 1]))   #> f32
dtype(cumtrapz(f32([1.0, 2]), [0, 1]))          #> f32
dtype(polyfit(f32([1.0, 2, 3]), f32([1.0, 2, 3]), 1))   #> f32
dtype(irfft(rfft(f32([1.0, 2]))))     #> f32
dtype(dct(f32([1.0, 2])))             #> f32
dtype(idct(f32([1.0, 2]); ortho = true))        #> f32
dtype(dst(f32([1.0, 2])))             #> f32
dtype(idst(f32([1.0, 2]); type = 1))  #> f32
dtype(spectral_derivative(f32([1.0, 2, 3, 2])))         #> f32
polyfit(f32([1.0, 2, 3]), f32([3.0, 5, 7]), 1)  #~ [1, 2] tol 1e-5
idst(dst(f32([1.0, 2, 4])))           #~ [1, 2, 4] tol 1e-5
