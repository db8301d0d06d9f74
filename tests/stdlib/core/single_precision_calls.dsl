# Functions of f32 arguments return f32: one call of each function that takes
# real arrays, with literals as its options.
# | Exceptions, which return f64: generated locations (linspace and related
# functions), and integrals, which are accumulated in f64.

x = f32([0.3, 0.6, 0.9])
y = f32([1.0, 3, 2])
z = f32(0.4)
A = f32([4.0, 1, 0; 1, 3, 1; 0, 1, 2])
v = f32([0.5, 1.5, 2.5, 3, 1, 0.25, 2, 1.75])
seed(1)

dtype(sin(x))                                                #> f32
dtype(cos(x))                                                #> f32
dtype(tan(x))                                                #> f32
dtype(asin(x))                                               #> f32
dtype(acos(x))                                               #> f32
dtype(atan(x))                                               #> f32
dtype(sinh(x))                                               #> f32
dtype(cosh(x))                                               #> f32
dtype(tanh(x))                                               #> f32
dtype(exp(x))                                                #> f32
dtype(expm1(x))                                              #> f32
dtype(log(x))                                                #> f32
dtype(log1p(x))                                              #> f32
dtype(sqrt(x))                                               #> f32
dtype(cbrt(x))                                               #> f32
dtype(abs(x))                                                #> f32
dtype(sign(x))                                               #> f32
dtype(floor(x))                                              #> f32
dtype(round(x))                                              #> f32
dtype(erf(x))                                                #> f32
dtype(round(x, 2))                                           #> f32
dtype(atan2(x, 1.0))                                         #> f32
dtype(min(x, 0.5))                                           #> f32
dtype(max(0.5, x))                                           #> f32
dtype(x % 0.4)                                               #> f32
dtype(x // 0.4)                                              #> f32
dtype(x^0.5)                                                 #> f32
dtype(2.0^x)                                                 #> f32
dtype(-x)                                                    #> f32
dtype(x/3)                                                   #> f32
dtype(1/x)                                                   #> f32
dtype(ceil(x))                                               #> f32
dtype(trunc(x))                                              #> f32
dtype(asinh(x))                                              #> f32
dtype(acosh(1 + x))                                          #> f32
dtype(atanh(x))                                              #> f32
dtype(sech(x))                                               #> f32
dtype(log2(x))                                               #> f32
dtype(log10(x))                                              #> f32
dtype(relu(x))                                               #> f32
dtype(sigmoid(x))                                            #> f32
dtype(softplus(x))                                           #> f32
dtype(clamp(x, 0.4, 0.8))                                    #> f32
dtype(jacobian(sin)(x))                                      #> f32
dtype(hessian(x -> sum(sin(x)))(x))                          #> f32
dtype(hvp(x -> sum(sin(x)), x, x))                           #> f32
dtype(laplacian(x -> sum(sin(x)))(x))                        #> f32
dtype(curl(x -> x^2)(x))                                     #> f32
dtype(grad(x -> sum(sin(x)))(x))                             #> f32
dtype(jvp(sin, x, x)[1])                                     #> f32
dtype(sin'(z))                                               #> f32
dtype(eye(3; dtype = f32))                                   #> f32
dtype(identity(3; dtype = f32))                              #> f32
dtype(diag(x))                                               #> f32
dtype(diagonal(A))                                           #> f32
dtype(tril(A))                                               #> f32
dtype(triu(A))                                               #> f32
dtype(zeros_like(x))                                         #> f32
dtype(ones_like(x))                                          #> f32
dtype(full_like(x, 0.5))                                     #> f32
dtype(flip(x))                                               #> f32
dtype(roll(x, 1))                                            #> f32
dtype(rot90(A))                                              #> f32
dtype(ravel(A))                                              #> f32
dtype(tile(x, 2))                                            #> f32
dtype(repeat(x, 2))                                          #> f32
dtype(pad(x, 1))                                             #> f32
dtype(pad(x, 1; value = 0.5))                                #> f32
dtype(pad(x, 1; mode = "edge"))                              #> f32
dtype(hstack((x, y)))                                        #> f32
dtype(vstack((x, y)))                                        #> f32
dtype(column_stack((x, y)))                                  #> f32
dtype(split(v, 2)[0])                                        #> f32
dtype(take(x, [0, 1]))                                       #> f32
dtype(take_along(x, [0, 1]))                                 #> f32
dtype(sort(x))                                               #> f32
dtype(sort_rows(A))                                          #> f32
dtype(largest(x, 2))                                         #> f32
dtype(smallest(x, 2))                                        #> f32
dtype(unique(x))                                             #> f32
dtype(union(x, y))                                           #> f32
dtype(intersect(x, x))                                       #> f32
dtype(setdiff(x, y))                                         #> f32
dtype(diff(x))                                               #> f32
dtype(trapz(y, x))                                           #> f32
dtype(trapz(y, 0.1))                                         #> f32
dtype(trapz(y))                                              #> f32
dtype(cumtrapz(y, x))                                        #> f32
dtype(cumtrapz(y))                                           #> f32
dtype(cummax(x))                                             #> f32
dtype(cummin(x))                                             #> f32
dtype(cumsum(x))                                             #> f32
dtype(cumprod(x))                                            #> f32
dtype(windows(x, 2))                                         #> f32
dtype(moving(mean, v, 2))                                    #> f32
dtype(moving_mean(v, 2))                                     #> f32
dtype(outer(x, y))                                           #> f32
dtype(meshgrid(x, y)[0])                                     #> f32
dtype(concat(x, y))                                          #> f32
dtype(stack(x, y))                                           #> f32
dtype(x[[0, 1]])                                             #> f32
dtype(expand(x, 0))                                          #> f32
dtype(reshape(x, 3, 1))                                      #> f32
dtype(transpose(A))                                          #> f32
dtype(A @ x)                                                 #> f32
dtype(A @ A)                                                 #> f32
dtype(x · y)                                                 #> f32
dtype(moveaxis(A, 0, 1))                                     #> f32
dtype(squeeze(expand(x, 0); axis = 0))                       #> f32
dtype(broadcast_to(x, 2, 3))                                 #> f32
dtype(linsolve(A, x))                                        #> f32
dtype(det(A))                                                #> f32
dtype(lstsq(A, x))                                           #> f32
dtype(pinv(A))                                               #> f32
dtype(logdet(A))                                             #> f32
dtype(slogdet(A)[1])                                         #> f32
dtype(eigvalsh(A))                                           #> f32
dtype(svdvals(A))                                            #> f32
dtype(dot(x, y))                                             #> f32
dtype(cross(x, y))                                           #> f32
dtype(kron(A, A))                                            #> f32
dtype(norm(x))                                               #> f32
dtype(norm(A, 2))                                            #> f32
dtype(norm(A, "nuc"))                                        #> f32
dtype(norm(A; axis = 0))                                     #> f32
dtype(normalize(x))                                          #> f32
dtype(normalize(A; axis = 1))                                #> f32
dtype(cond(A))                                               #> f32
dtype(orth(A))                                               #> f32
dtype(block_diag((A, A)))                                    #> f32
dtype(toeplitz(x))                                           #> f32
dtype(hankel(x))                                             #> f32
dtype(circulant(x))                                          #> f32
dtype(vander(x))                                             #> f32
dtype(cholesky(A))                                           #> f32
dtype(qr(A)[0])                                              #> f32
dtype(eigh(A)[0])                                            #> f32
dtype(svd(A)[1])                                             #> f32
dtype(real(eigvals(A)))                                      #> f32
dtype(real(eig(A)[0]))                                       #> f32
dtype(mean(x))                                               #> f32
dtype(weighted_mean(x, y))                                   #> f32
dtype(weighted_mean(x, [1, 2, 3]))                           #> f32
dtype(geometric_mean(x))                                     #> f32
dtype(harmonic_mean(x))                                      #> f32
dtype(rms(x))                                                #> f32
dtype(median(x))                                             #> f32
dtype(quantile(x, 0.3))                                      #> f32
dtype(quantile(x, [0.3, 0.5]))                               #> f32
dtype(percentile(x, 30))                                     #> f32
dtype(mode(x))                                               #> f32
dtype(var(x))                                                #> f32
dtype(std(x))                                                #> f32
dtype(ptp(x))                                                #> f32
dtype(iqr(x))                                                #> f32
dtype(moment(x, 2))                                          #> f32
dtype(skewness(x))                                           #> f32
dtype(kurtosis(x))                                           #> f32
dtype(zscore(x))                                             #> f32
dtype(nansum(x))                                             #> f32
dtype(nanmean(x))                                            #> f32
dtype(nanmax(x))                                             #> f32
dtype(nanmin(x))                                             #> f32
dtype(cov(x, y))                                             #> f32
dtype(cov(A))                                                #> f32
dtype(corrcoef(x, y))                                        #> f32
dtype(corrcoef(A))                                           #> f32
dtype(linregress(x, y).slope)                                #> f32
dtype(pairwise_distances(A, A))                              #> f32
dtype(mean(A; axis = 0))                                     #> f32
dtype(median(A; axis = 0))                                   #> f32
dtype(quantile(A, 0.3; axis = 1))                            #> f32
dtype(var(A; axis = 0))                                      #> f32
dtype(std(A; axis = 1))                                      #> f32
dtype(moment(A, 3; axis = 0))                                #> f32
dtype(zscore(A; axis = 0))                                   #> f32
dtype(iqr(A; axis = 0))                                      #> f32
dtype(weighted_mean(A, y; axis = 1))                         #> f32
dtype(gamma(x))                                              #> f32
dtype(lgamma(x))                                             #> f32
dtype(digamma(x))                                            #> f32
dtype(polygamma(1, x))                                       #> f32
dtype(beta(x, y))                                            #> f32
dtype(lbeta(x, y))                                           #> f32
dtype(factorial(x))                                          #> f32
dtype(binomial(y, x))                                        #> f32
dtype(gammainc(y, x))                                        #> f32
dtype(gammaincc(y, x))                                       #> f32
dtype(gammaincinv(y, x))                                     #> f32
dtype(gamma_lower(y, x))                                     #> f32
dtype(gamma_upper(y, x))                                     #> f32
dtype(betainc(y, y, x))                                      #> f32
dtype(betaincinv(y, y, x))                                   #> f32
dtype(erfc(x))                                               #> f32
dtype(erfcx(x))                                              #> f32
dtype(erfinv(x))                                             #> f32
dtype(erfcinv(x))                                            #> f32
dtype(dawson(x))                                             #> f32
dtype(fresnels(x))                                           #> f32
dtype(fresnelc(x))                                           #> f32
dtype(expint(x))                                             #> f32
dtype(expinti(x))                                            #> f32
dtype(sinint(x))                                             #> f32
dtype(cosint(x))                                             #> f32
dtype(sinhint(x))                                            #> f32
dtype(coshint(x))                                            #> f32
dtype(sinc(x))                                               #> f32
dtype(besselj(1, x))                                         #> f32
dtype(bessely(1, x))                                         #> f32
dtype(besseli(1, x))                                         #> f32
dtype(besselk(1, x))                                         #> f32
dtype(besselj(0.5, x))                                       #> f32
dtype(sphericalj(1, x))                                      #> f32
dtype(sphericaly(1, x))                                      #> f32
dtype(sphericali(1, x))                                      #> f32
dtype(sphericalk(1, x))                                      #> f32
dtype(airyai(x))                                             #> f32
dtype(airybi(x))                                             #> f32
dtype(airyaiprime(x))                                        #> f32
dtype(airybiprime(x))                                        #> f32
dtype(ellipk(x))                                             #> f32
dtype(ellipe(x))                                             #> f32
dtype(ellipf(x, x))                                          #> f32
dtype(ellipeinc(x, x))                                       #> f32
dtype(ellippi(x, x))                                         #> f32
dtype(ellippiinc(x, x, x))                                   #> f32
dtype(jacobiam(x, x))                                        #> f32
dtype(jacobisn(x, x))                                        #> f32
dtype(jacobicn(x, x))                                        #> f32
dtype(jacobidn(x, x))                                        #> f32
dtype(hyp0f1(y, x))                                          #> f32
dtype(hyp1f1(y, y, x))                                       #> f32
dtype(hypu(y, y, x))                                         #> f32
dtype(hyp2f1(y, y, y, x/2))                                  #> f32
dtype(legendre(3, x))                                        #> f32
dtype(chebyshevt(3, x))                                      #> f32
dtype(chebyshevu(3, x))                                      #> f32
dtype(hermite(3, x))                                         #> f32
dtype(laguerre(3, x))                                        #> f32
dtype(gegenbauer(3, 0.5, x))                                 #> f32
dtype(jacobi(3, 0.5, 0.5, x))                                #> f32
dtype(assoclegendre(2, 1, x))                                #> f32
dtype(real(spherical_harmonic(2, 1, x, x)))                  #> f32
dtype(zeta(1 + x))                                           #> f32
dtype(dilog(x))                                              #> f32
dtype(clausen(x))                                            #> f32
dtype(lambertw(x))                                           #> f32
dtype(interp(f32(0.5), x, y))                                #> f32
dtype(polyval(x, z))                                         #> f32
dtype(polyder(x))                                            #> f32
dtype(polyadd(x, y))                                         #> f32
dtype(polysub(x, y))                                         #> f32
dtype(polymul(x, y))                                         #> f32
dtype(polydiv(y, x)[0])                                      #> f32
dtype(polyfromroots(x))                                      #> f32
dtype(real(rfft(v)))                                         #> f32
dtype(real(fft(v)))                                          #> f32
dtype(real(ifft(fft(v))))                                    #> f32
dtype(real(fft2(A)))                                         #> f32
dtype(fftshift(v))                                           #> f32
dtype(ifftshift(v))                                          #> f32
dtype(convolve(x, y))                                        #> f32
dtype(correlate(x, y))                                       #> f32
dtype(real(hilbert(v)))                                      #> f32
dtype(softmax(x))                                            #> f32
dtype(logsumexp(x))                                          #> f32
dtype(logsumexp(A; axis = 0))                                #> f32
dtype(minimize(w -> sum((w - 1)^2), f32([0.0, 0])).x)        #> f32
dtype(minimize(w -> sum((w - 1)^2), f32([0.0, 0]), bfgs()).x) #> f32
dtype(minimize(w -> sum((w - 1)^2), f32([0.0, 0]), conjugate_gradient()).x) #> f32
dtype(minimize(w -> sum((w - 1)^2), f32([0.0, 0]), ssbroyden()).x) #> f32
dtype(minimize(w -> sum((w - 1)^2), f32([0.0, 0]), nelder_mead()).x) #> f32
dtype(minimize(w -> sum((w - 1)^2), f32([0.0, 0]), adam(), steps = 5).x) #> f32
dtype(minimize(w -> sum((w - 1)^2), f32([0.0, 0]), adamw(), steps = 5).x) #> f32
dtype(minimize(w -> sum((w - 1)^2), f32([0.0, 0]), adamax(), steps = 5).x) #> f32
dtype(minimize(w -> sum((w - 1)^2), f32([0.0, 0]), nadam(), steps = 5).x) #> f32
dtype(minimize(w -> sum((w - 1)^2), f32([0.0, 0]), rmsprop(), steps = 5).x) #> f32
dtype(minimize(w -> sum((w - 1)^2), f32([0.0, 0]), adagrad(), steps = 5).x) #> f32
dtype(minimize(w -> sum((w - 1)^2), f32([0.0, 0]), gradient_descent(), steps = 5).x) #> f32
dtype(minimize(w -> sum((w.a - 1)^2), (a = f32([3.0, 2]),), soap(), steps = 5).x.a) #> f32
dtype(minimize(w -> sum((w - 1)^2), f32([0.0, 0])).value)    #> f32
dtype(minimize(w -> sum((w - 1)^2), f32([0.0, 0]); upper = f32(0.5)).x) #> f32
dtype(train((w, i) -> mean((w.a*v[i] - 3v[i])^2), (a = f32(0.0),), 8; batch = 4, epochs = 2, progress = false).x.a) #> f32
dtype(mlp([2, 3, 1]; dtype = f32).weights[0].W)              #> f32
dtype(apply(mlp([3, 3, 1]; dtype = f32), mlp([3, 3, 1]; dtype = f32).weights, x)) #> f32
dtype(pdf(Normal(), x))                                      #> f32
dtype(logpdf(Normal(), x))                                   #> f32
dtype(cdf(Normal(), x))                                      #> f32
dtype(ccdf(Normal(), x))                                     #> f32
dtype(icdf(Normal(), x))                                     #> f32
dtype(pdf(Normal(0.5, 2.0), x))                              #> f32
dtype(cdf(Uniform(), x))                                     #> f32
dtype(pdf(Exponential(), x))                                 #> f32
dtype(cdf(Exponential(2.0), x))                              #> f32
dtype(pdf(Gamma(2.0), x))                                    #> f32
dtype(cdf(Gamma(2.0), x))                                    #> f32
dtype(icdf(Gamma(2.0), x))                                   #> f32
dtype(pdf(Beta(2.0, 3.0), x))                                #> f32
dtype(cdf(Beta(2.0, 3.0), x))                                #> f32
dtype(icdf(Beta(2.0, 3.0), x))                               #> f32
dtype(pdf(ChiSquared(3.0), x))                               #> f32
dtype(cdf(ChiSquared(3.0), x))                               #> f32
dtype(pdf(StudentT(3.0), x))                                 #> f32
dtype(cdf(StudentT(3.0), x))                                 #> f32
dtype(icdf(StudentT(3.0), x))                                #> f32
dtype(pdf(FDist(3.0, 4.0), x))                               #> f32
dtype(cdf(FDist(3.0, 4.0), x))                               #> f32
dtype(pdf(LogNormal(), x))                                   #> f32
dtype(cdf(LogNormal(), x))                                   #> f32
dtype(icdf(LogNormal(), x))                                  #> f32
dtype(pdf(Weibull(2.0), x))                                  #> f32
dtype(cdf(Weibull(2.0), x))                                  #> f32
dtype(icdf(Weibull(2.0), x))                                 #> f32
dtype(pdf(Cauchy(), x))                                      #> f32
dtype(cdf(Cauchy(), x))                                      #> f32
dtype(icdf(Cauchy(), x))                                     #> f32
dtype(pdf(Laplace(), x))                                     #> f32
dtype(cdf(Laplace(), x))                                     #> f32
dtype(icdf(Laplace(), x))                                    #> f32
dtype(pdf(Logistic(), x))                                    #> f32
dtype(cdf(Logistic(), x))                                    #> f32
dtype(icdf(Logistic(), x))                                   #> f32
dtype(pdf(Gumbel(), x))                                      #> f32
dtype(cdf(Gumbel(), x))                                      #> f32
dtype(icdf(Gumbel(), x))                                     #> f32
dtype(pdf(Pareto(2.0), 1 + x))                               #> f32
dtype(cdf(Pareto(2.0), 1 + x))                               #> f32
dtype(icdf(Pareto(2.0), x))                                  #> f32
dtype(logpdf(MultivariateNormal(x, A), x))                   #> f32
dtype(logpdf(Dirichlet(y), x/sum(x)))                        #> f32
dtype(moments(Normal(z, z)).mean)                            #> f32
dtype(shuffle(x))                                            #> f32
dtype(choice(x))                                             #> f32
dtype(choice(x, 2))                                          #> f32

# the exceptions
dtype(linspace(z, 1.0, 5))                                   #> f64
dtype(integrate(t -> z*t^2, 0, 1))                           #> f64
dtype(quadrature(t -> z*t^2, 0, 1).value)                    #> f64
