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
syntax keyword atledFunction Logistic MultivariateNormal NegativeBinomial Normal Pareto Poisson StudentT Uniform Weibull abs acos acosh adam
syntax keyword atledFunction adams adjoint airyai airyaiprime airybi airybiprime akima all angle animate annotate any apply arange argmax
syntax keyword atledFunction argmin argsort argwhere asin asinh assert assoclegendre atan atan2 atanh autocorrelation bar bartlett
syntax keyword atledFunction barycentric bdf besseli besselj besselk bessely beta betainc betaincinv bincount binomial blackman block_diag
syntax keyword atledFunction broadcast_to cbrt ccdf cdf ceil cg chars chebder chebfit chebint chebval chebyshev chebyshevt chebyshevu
syntax keyword atledFunction check_grad checkpoint choice cholesky circulant clamp clock codes collect column_stack compare compose concat
syntax keyword atledFunction cond conj contains contour contourf convolve corrcoef correlate cos cosh coshint cosint cost count
syntax keyword atledFunction count_nonzero cov cross cubic_hermite cummax cummin cumprod cumsum cumtrapz curl dawson dct dense det diag
syntax keyword atledFunction diagonal diff digamma digitize dilog divergence dot dst dtype e eig eigh eigvals eigvalsh ellipe ellipeinc
syntax keyword atledFunction ellipf ellipj ellipk ellippi ellippiinc else ends_with enumerate erf erfc erfcinv erfcx erfinv error errorbars
syntax keyword atledFunction exists exp expand expint expinti explain expm expm1 eye factorial factorize fd fft fft2 fftfreq fftn fftshift
syntax keyword atledFunction field fill_between find findall fixed_point flatten flip floor fourier fresnelc fresnels from_codes full
syntax keyword atledFunction full_like gamma gamma_lower gamma_upper gammainc gammaincc gammaincinv gauss_chebyshev gauss_hermite
syntax keyword atledFunction gauss_jacobi gauss_laguerre gauss_legendre gcd gegenbauer geometric_mean geomspace grad gradient hamming hankel
syntax keyword atledFunction hann harmonic_mean has heatmap hermite hessian hilbert hilbert_matrix hist histogram hline hspan hstack hvp
syntax keyword atledFunction hyp0f1 hyp1f1 hyp2f1 hypu icdf idct identity idst ifft ifft2 ifftn ifftshift im imag image implicit inspect
syntax keyword atledFunction integrate interp interp2 interpn intersect inv iota iqr ir irfft isfinite isin isnan isprime jacobi jacobiam
syntax keyword atledFunction jacobian jacobicn jacobidn jacobisn jet join jvp kaiser keys kind kron kurtosis laguerre lambertw laplacian
syntax keyword atledFunction largest lbeta lbfgs lcm least_squares leaves legendre len lexsort lgamma linear_map linear_regression linearize
syntax keyword atledFunction lines linregress linsolve linspace list list_files load log log10 log1p log2 logdet loglog logm logpdf logspace
syntax keyword atledFunction lower lstsq lu map matrix_power matrix_rank max mean median meshgrid min minimize mlp mod mode moment moments
syntax keyword atledFunction moveaxis moving moving_mean nan_check nanmax nanmean nanmin nansum native nnz nonzero norm normalize
syntax keyword atledFunction nth_derivative null_space ode one_hot ones ones_like orth outer overlay pad pad_end pad_start
syntax keyword atledFunction pairwise_distances partial pchip pdf percentile periodogram permutation pinn pinv plan plot plot3 polyadd
syntax keyword atledFunction polyder polydiv polyfit polyfromroots polygamma polygon polyint polymul polyroots polysub polyval pow primes
syntax keyword atledFunction print prod ptp push qr quantile quiver rand randint randn rank ranks ravel ravel_index read_ir read_lines
syntax keyword atledFunction read_text real record relu repeat replace reshape rewrite rfft rfftfreq rms roll root rot90 round same sample
syntax keyword atledFunction save scatter scatter3 searchsorted sech seed semilogx semilogy setdiff setxor shape show shuffle sigmoid sign
syntax keyword atledFunction sin sinc sinh sinhint sinint size skewness slogdet smallest softplus solve sort sort_rows sparse sparsity
syntax keyword atledFunction spdiags spearman spectral_derivative speye spherical_harmonic sphericali sphericalj sphericalk sphericaly
syntax keyword atledFunction spline split sqrt sqrtm squeeze stack stairs starts_with std stem stop_gradient str streamlines subplots sum
syntax keyword atledFunction surface svd svdvals swapaxes take take_along tan tanh taylor tile to_sparse toeplitz trace transpose trapz tril
syntax keyword atledFunction trim trim_end trim_start trisolve triu trunc union unique unravel_index upper value_and_grad values vander var
syntax keyword atledFunction vjp vline vspan vstack weighted_mean welch where windows write_text xavier zeros zeros_like zeta zip zscore
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
