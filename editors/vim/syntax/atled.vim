" Vim syntax for Atled (.dsl). Copy editors/vim/ to ~/.vim/ or ~/.vim/pack/atled/start/atled/.
if exists("b:current_syntax")
  finish
endif
setlocal iskeyword=@,48-57,_,128-255
" ---- made by scripts/editors.py
syntax keyword atledKeyword if else for while break continue return try catch and or not in
syntax keyword atledDeclare problem domain field eigen event use derivative at by as periodic falling rising terminal
syntax keyword atledConstant true false none pi inf nan
syntax keyword atledType bool i32 i64 f32 f64 c64 c128
syntax keyword atledFunction Bernoulli Beta Binomial Cauchy ChiSquared Dirichlet Exponential FDist Gamma Geometric Gumbel Laplace LogNormal
syntax keyword atledFunction Logistic MultivariateNormal NegativeBinomial Normal Pareto Poisson StudentT Uniform Weibull abs acos acosh
syntax keyword atledFunction adagrad adam adamax adams adamw adjoint airyai airyaiprime airybi airybiprime akima all amg angle animate
syntax keyword atledFunction annotate any apply arange argmax argmin argsort argwhere asin asinh assert assoclegendre atan atan2 atanh auto
syntax keyword atledFunction autocorrelation bar bartlett barycentric bdf besseli besselj besselk bessely beta betainc betaincinv bfgs
syntax keyword atledFunction bicgstab bincount binomial blackman block_diag broadcast_to cbrt ccdf cdf ceil cg chars chebder chebfit chebint
syntax keyword atledFunction chebval chebyshev chebyshevt chebyshevu check_grad checkpoint choice cholesky circulant clamp clausen clock
syntax keyword atledFunction codes collect column_stack compare compose concat cond conditioning conj conjugate_gradient contains contour
syntax keyword atledFunction contourf convolve corrcoef correlate cos cosh coshint cosint cost count count_nonzero cov cross cubature
syntax keyword atledFunction cubic_hermite cummax cummin cumprod cumsum cumtrapz curl dawson dct dde dense det diag diagonal diff digamma
syntax keyword atledFunction digitize dilog divergence dogleg dop853 dot dst dtype e eig eigh eigs eigsh eigvals eigvalsh ellipe ellipeinc
syntax keyword atledFunction ellipf ellipj ellipk ellippi ellippiinc else ends_with enumerate erf erfc erfcinv erfcx erfinv error errorbars
syntax keyword atledFunction euler event exists exp expand expint expinti explain expm expm1 eye factor factorial factorisations factorize
syntax keyword atledFunction fd fft fft2 fftfreq fftn fftshift field fill_between find findall fit fixed_point flatten flip floor follow
syntax keyword atledFunction fourier fresnelc fresnels from_codes full full_like gamma gamma_lower gamma_upper gammainc gammaincc
syntax keyword atledFunction gammaincinv gauss_chebyshev gauss_hermite gauss_jacobi gauss_laguerre gauss_legendre gauss_newton gcd
syntax keyword atledFunction gegenbauer geometric_mean geomspace gmres grad gradient gradient_descent grid_interpolant hamming hankel hann
syntax keyword atledFunction harmonic_mean has heatmap hermite hessian hilbert hilbert_matrix hist histogram hline hspan hstack hvp hyp0f1
syntax keyword atledFunction hyp1f1 hyp2f1 hypu icdf ichol0 idct identity idst ifft ifft2 ifftn ifftshift ilu0 im imag image imex implicit
syntax keyword atledFunction inspect integrate interp interp2 interpn intersect inv iota iqr ir irfft isfinite isin isnan isprime jacobi
syntax keyword atledFunction jacobi_preconditioner jacobiam jacobian jacobicn jacobidn jacobisn jet join jvp kaiser keys kind kinsol kron
syntax keyword atledFunction kurtosis laguerre lambertw laplacian largest lbeta lbfgs lcm least_squares leaves legendre len lexsort lgamma
syntax keyword atledFunction linear_map linear_regression linearize lines linregress linsolve linspace list list_files lm load log log10
syntax keyword atledFunction log1p log2 logdet loglog logm logpdf logspace lower lstsq lu map matrix_power matrix_rank max mean median
syntax keyword atledFunction meshgrid min minimize minres mlp mod mode moment moments moveaxis moving moving_mean multirate nadam nan_check
syntax keyword atledFunction nanmax nanmean nanmin nansum native nelder_mead newton newton_cg nnz nonzero norm normalize nth_derivative
syntax keyword atledFunction null_space ode one_hot ones ones_like orth oscillatory outer overlay pad pad_end pad_start pairwise_distances
syntax keyword atledFunction partial pchip pdf percentile periodogram permutation pinn pinv plan plot plot3 polyadd polyder polydiv polyfit
syntax keyword atledFunction polyfromroots polygamma polygon polyint polymul polyroots polysub polyval pow primes print prod ptp push qr
syntax keyword atledFunction quadrature quantile quiver radau5 rand randint randn rank ranks ravel ravel_index rbf read_ir read_lines
syntax keyword atledFunction read_text real record relu repeat replace report reshape rewrite rfft rfftfreq right_axis rk4 rms rmsprop
syntax keyword atledFunction rodas5p roll root rot90 round same sample save scatter scatter3 searchsorted sech seed semilogx semilogy
syntax keyword atledFunction setdiff setxor shape show shuffle sigmoid sign sin sinc sinh sinhint sinint size skewness slogdet smallest
syntax keyword atledFunction softplus solve sort sort_rows sparse sparsity spdiags spearman spectral_derivative speye spherical_harmonic
syntax keyword atledFunction sphericali sphericalj sphericalk sphericaly spline split sqrt sqrtm squeeze stack stairs starts_with std stem
syntax keyword atledFunction stop_gradient str streamlines subplots sum surface svd svdvals swapaxes symplectic take take_along tan tanh
syntax keyword atledFunction taylor tile to_sparse toeplitz trace transpose trapz tril trim trim_end trim_start trisolve triu trunc tsit5
syntax keyword atledFunction union unique unravel_index upper value_and_grad values vander var vjp vline vspan vstack weighted_mean welch
syntax keyword atledFunction where windows write_text xavier zeros zeros_like zeta zip zscore
" ---- end
syntax match atledNumber "\<0x[0-9a-fA-F_]\+\|\<0o[0-7_]\+\|\<0b[01_]\+"
syntax match atledNumber "\<\d[0-9_]*\(\.\.\@!\d*\)\?\([eE][-+]\?\d\+\)\?\(im\>\)\?"
syntax match atledOperator ":=\|->\||>\|==\|!=\|<=\|>=\|\.\.\.\?\|[·×∘∂∇√∈]"
syntax match atledDefinition "^\s*\zs\k\+\ze\s*([^=]*)\s*\(->[^=]*\)\?=[^=]"
syntax region atledBraces start="{" end="}" transparent contained contains=TOP
syntax region atledInterpolation matchgroup=Special start="{" end="}" contained contains=atledBraces,TOP
syntax match atledEscape +\\\(u{\x\+}\|[nrte"\\{}']\)+ contained
syntax region atledString start=+"+ skip=+\\.+ end=+"+ contains=atledInterpolation,atledEscape
syntax match atledComment "#.*$" contains=atledTodo,@Spell
syntax match atledExpected "#[>~].*$"
syntax keyword atledTodo contained TODO FIXME XXX
syntax sync minlines=100
highlight default link atledKeyword Statement
highlight default link atledDeclare Structure
highlight default link atledConstant Constant
highlight default link atledType Type
highlight default link atledFunction Function
highlight default link atledDefinition Identifier
highlight default link atledNumber Number
highlight default link atledOperator Operator
highlight default link atledString String
highlight default link atledEscape SpecialChar
highlight default link atledComment Comment
highlight default link atledExpected SpecialComment
highlight default link atledTodo Todo
let b:current_syntax = "atled"
