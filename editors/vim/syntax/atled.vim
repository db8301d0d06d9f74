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
syntax keyword atledFunction bicgstab bincount binomial bitand bitshift bitxor blackman block_diag broadcast_to brownian bvp cbrt ccdf cdf
syntax keyword atledFunction ceil cg chars chebder chebfit chebint chebval chebyshev chebyshevt chebyshevu check_grad checkpoint choice
syntax keyword atledFunction cholesky circulant clamp clausen clock codes collect collocation column_stack compare compose concat cond
syntax keyword atledFunction conditioning conj conjugate_gradient contains contour contourf convolve corrcoef correlate cos cosh coshint
syntax keyword atledFunction cosint cost count count_nonzero cov cross cubature cubic_hermite cummax cummin cumprod cumsum cumtrapz curl
syntax keyword atledFunction dawson dct dde dense det diag diagonal diff digamma digitize dilog divergence dogleg dop853 dot dst dtype e eig
syntax keyword atledFunction eigh eigs eigsh eigvals eigvalsh ellipe ellipeinc ellipf ellipj ellipk ellippi ellippiinc else ends_with
syntax keyword atledFunction enumerate erf erfc erfcinv erfcx erfinv error errorbars euler euler_maruyama event exists exp expand expint
syntax keyword atledFunction expinti explain expm expm1 eye factor factorial factorisations factorize fd fft fft2 fftfreq fftn fftshift
syntax keyword atledFunction field fill_between find findall fit fixed_point flatten flip floor follow fourier fresnelc fresnels from_codes
syntax keyword atledFunction full full_like gamma gamma_lower gamma_upper gammainc gammaincc gammaincinv gauss_chebyshev gauss_hermite
syntax keyword atledFunction gauss_jacobi gauss_laguerre gauss_legendre gauss_newton gcd gegenbauer geometric_mean geomspace gmres grad
syntax keyword atledFunction gradient gradient_descent grid_interpolant hamming hankel hann harmonic_mean has heatmap hermite hessian heun
syntax keyword atledFunction hilbert hilbert_matrix hist histogram hline hspan hstack hvp hyp0f1 hyp1f1 hyp2f1 hypu icdf ichol0 idct
syntax keyword atledFunction identity idst ifft ifft2 ifftn ifftshift ilu0 im imag image imex implicit inspect integrate interp interp2
syntax keyword atledFunction interpn intersect inv iota iqr ir irfft isfinite isin isnan isprime jacobi jacobi_preconditioner jacobiam
syntax keyword atledFunction jacobian jacobicn jacobidn jacobisn jet join jvp kaiser keys kind kinsol kron kurtosis laguerre lambertw
syntax keyword atledFunction laplacian largest lbeta lbfgs lcm least_squares leaves legendre len lexsort lgamma linear_map linear_regression
syntax keyword atledFunction linearize lines linregress linsolve linspace list list_files lm load log log10 log1p log2 logdet loglog logm
syntax keyword atledFunction logpdf logspace logsumexp lower lstsq lu map matrix_power matrix_rank max mean median meshgrid milstein min
syntax keyword atledFunction minimize minres mlp mod mode moment moments moveaxis moving moving_mean multirate nadam nan_check nanmax
syntax keyword atledFunction nanmean nanmin nansum native nelder_mead newton newton_cg nnz nonzero norm normalize nth_derivative null_space
syntax keyword atledFunction ode one_hot ones ones_like orth oscillatory outer overlay pad pad_end pad_start pairwise_distances partial
syntax keyword atledFunction pchip pdf percentile periodogram permutation pinn pinv plan plot plot3 polyadd polyder polydiv polyfit
syntax keyword atledFunction polyfromroots polygamma polygon polyint polymul polyroots polysub polyval pow primes print prod progress ptp
syntax keyword atledFunction push qr quadrature quantile quiver radau5 rand randint randn rank ranks ravel ravel_index rbf read_ir
syntax keyword atledFunction read_lines read_text real record relu repeat replace report reshape rewrite rfft rfftfreq rfm right_axis rk4
syntax keyword atledFunction rms rmsprop rodas5p roll root rot90 round same sample save scatter scatter3 sde searchsorted sech seed semilogx
syntax keyword atledFunction semilogy setdiff setxor shape shooting show shuffle sigmoid sign sin sinc sinh sinhint sinint size skewness
syntax keyword atledFunction slogdet smallest softmax softplus solve sort sort_rows sparse sparsity spdiags spearman spectral_derivative
syntax keyword atledFunction speye spherical_harmonic sphericali sphericalj sphericalk sphericaly spline split sqrt sqrtm squeeze sri
syntax keyword atledFunction ssbroyden stack stairs starts_with std stem stop_gradient str streamlines subplots sum surface svd svdvals
syntax keyword atledFunction swapaxes symplectic take take_along tan tanh taylor tile to_sparse toeplitz trace train transpose trapz tril
syntax keyword atledFunction trim trim_end trim_start trisolve triu trunc tsit5 union unique unravel_index upper value_and_grad values
syntax keyword atledFunction vander var vjp vline vspan vstack weighted_mean welch where windows write_text xavier zeros zeros_like zeta zip
syntax keyword atledFunction zscore
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
