" Vim syntax for Atled (.dsl). Copy editors/vim/ to ~/.vim/ or ~/.vim/pack/atled/start/atled/.
if exists("b:current_syntax")
  finish
endif
setlocal iskeyword=@,48-57,_,128-255
" ---- made by scripts/docs/editor_words.py
syntax keyword atledKeyword if else for while break continue return try catch and or not in
syntax keyword atledDeclare problem domain field eigen event use derivative at by as periodic falling rising terminal
syntax keyword atledConstant true false none pi inf nan
syntax keyword atledType bool i32 i64 f32 f64 c64 c128
syntax keyword atledFunction Bernoulli Beta Binomial Cauchy ChiSquared Dirichlet Exponential FDist Gamma Geometric Gumbel Laplace LogNormal
syntax keyword atledFunction Logistic MultivariateNormal NegativeBinomial Normal Pareto Poisson StudentT Uniform Weibull abs accepts acos
syntax keyword atledFunction acosh adagrad adam adamax adams adamw adjoint airyai airyaiprime airybi airybiprime akima all amg angle animate
syntax keyword atledFunction annotate any apply arange argmax argmin args argsort argwhere asin asinh assert assoclegendre atan atan2 atanh
syntax keyword atledFunction auto autocorrelation ball bar bartlett barycentric bdf besseli besselj besselk bessely beta betainc betaincinv
syntax keyword atledFunction bfgs bicgstab bincount binomial bitand bitshift bitxor blackman block_diag box broadcast_to brownian bvp cbrt
syntax keyword atledFunction ccdf cdf ceil cell_sizes cg chars chebder chebfit chebint chebval chebyshev chebyshevt chebyshevu check_grad
syntax keyword atledFunction checkpoint choice cholesky circulant clamp clausen clock cnab2 codes collect collocation column_stack compare
syntax keyword atledFunction compose concat cond conditioning conj conjugate_gradient conservation conserved contains contour contourf
syntax keyword atledFunction convergence convolve corrcoef correlate cos cosh coshint cosint cost count count_nonzero cov cross cubature
syntax keyword atledFunction cubic_hermite cummax cummin cumprod cumsum cumtrapz curl dawson dct dde deeponet delaunay dense det diag
syntax keyword atledFunction diagonal diff difference digamma digitize dilog disk divergence dogleg dop853 dot dst dtype e each eig eigh
syntax keyword atledFunction eigs eigsh eigvals eigvalsh ellipe ellipeinc ellipf ellipj ellipk ellippi ellippiinc ends_with enumerate env
syntax keyword atledFunction erf erfc erfcinv erfcx erfinv error errorbars etdrk4 euler euler_maruyama event exists exit exp expand expint
syntax keyword atledFunction expinti explain expm expm1 eye factor factorial factorisations factorize fd fem fft fft2 fftfreq fftn fftshift
syntax keyword atledFunction field fill_between find findall fit fixed_point flatten flip floor fno follow fourier fresnelc fresnels
syntax keyword atledFunction from_codes full full_like fv gamma gamma_lower gamma_upper gammainc gammaincc gammaincinv gauss_chebyshev
syntax keyword atledFunction gauss_hermite gauss_jacobi gauss_laguerre gauss_legendre gauss_newton gauss_newton_cg gcd gegenbauer
syntax keyword atledFunction geometric_mean geomspace gmres grad gradient gradient_descent grid_interpolant hamming hankel hann
syntax keyword atledFunction harmonic_mean has heatmap hermite hessian heun hilbert hilbert_matrix hist histogram hline hspan hstack hvp
syntax keyword atledFunction hyp0f1 hyp1f1 hyp2f1 hypu icdf ichol0 idct identity idst ifft ifft2 ifftn ifftshift ilu0 im imag image imex
syntax keyword atledFunction implicit inside inspect integrate interp interp2 interpn intersect inv iota iqr ir irfft isfinite isin isnan
syntax keyword atledFunction isprime jacobi jacobi_preconditioner jacobiam jacobian jacobicn jacobidn jacobisn jet join jvp kaiser keys kind
syntax keyword atledFunction kinsol kron kurtosis laguerre lambertw laplacian largest lbeta lbfgs lcm learn_operator least_squares leaves
syntax keyword atledFunction legendre len lexsort lgamma linear_map linear_regression linearize lines linregress linsolve linspace list
syntax keyword atledFunction list_files lm load log log10 log1p log2 logdet loglog logm logpdf logspace logsumexp lower lstsq lu manufacture
syntax keyword atledFunction map map_rows matrix_power matrix_rank max mean median mesh mesh_data meshgrid milstein min minimize minres mlp
syntax keyword atledFunction mod mode moment moments moveaxis moving moving_mean multirate nadam nan_check nanmax nanmean nanmin nansum
syntax keyword atledFunction native nelder_mead newton newton_cg nnz nonzero norm normalize nth_derivative null_space ode one_hot ones
syntax keyword atledFunction ones_like orth oscillatory outer overlay pad pad_end pad_start pairwise_distances partial pchip pdf percentile
syntax keyword atledFunction periodogram permutation pinn pinv plan plot plot3 polyadd polyder polydiv polyfit polyfromroots polygamma
syntax keyword atledFunction polygon polyint polymul polyroots polysub polyval pow primes print prod progress ptp push qr quadrature
syntax keyword atledFunction quantile quiver radau radau13 radau5 radau9 rand randint randn rank ranks ravel ravel_index rbf read_ir
syntax keyword atledFunction read_lines read_text real reconstruct record refine relu repeat replace report reshape rewrite rfft rfftfreq
syntax keyword atledFunction rfm right_axis rigid_modes rk4 rms rmsprop rodas5p roll root rot90 round same sample sample_boundary save
syntax keyword atledFunction scatter scatter3 sde searchsorted sech seed semilogx semilogy setdiff setxor shape shooting show shuffle
syntax keyword atledFunction sigmoid sign signed_distance sin sinc sinh sinhint sinint size skewness slogdet smallest soap softmax softplus
syntax keyword atledFunction solve sort sort_rows sparse sparsity spdiags spearman spectral_derivative speye spherical_harmonic sphericali
syntax keyword atledFunction sphericalj sphericalk sphericaly spline split sqrt sqrtm squeeze sri ssbroyden stack stairs starts_with std
syntax keyword atledFunction stem stop_gradient str streamlines subplots sum surface svd svdvals swapaxes symplectic take take_along tan
syntax keyword atledFunction tanh taylor tile to_sparse toeplitz trace train transpose trapz tril trim trim_end trim_start trisolve triu
syntax keyword atledFunction trunc tsit5 union unique unravel_index upper value_and_grad values vander var vjp vline vspan vstack
syntax keyword atledFunction weighted_mean welch where windows write_text xavier zeros zeros_like zeta zip zscore
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
