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
syntax keyword atledFunction diagonal diff difference digamma digitize dilog disk divergence dogleg dop853 dot dst dtype e eig eigh eigs
syntax keyword atledFunction eigsh eigvals eigvalsh ellipe ellipeinc ellipf ellipj ellipk ellippi ellippiinc else ends_with enumerate erf
syntax keyword atledFunction erfc erfcinv erfcx erfinv error errorbars etdrk4 euler euler_maruyama event exists exp expand expint expinti
syntax keyword atledFunction explain expm expm1 eye factor factorial factorisations factorize fd fem fft fft2 fftfreq fftn fftshift field
syntax keyword atledFunction fill_between find findall fit fixed_point flatten flip floor fno follow fourier fresnelc fresnels from_codes
syntax keyword atledFunction full full_like fv gamma gamma_lower gamma_upper gammainc gammaincc gammaincinv gauss_chebyshev gauss_hermite
syntax keyword atledFunction gauss_jacobi gauss_laguerre gauss_legendre gauss_newton gauss_newton_cg gcd gegenbauer geometric_mean geomspace
syntax keyword atledFunction gmres grad gradient gradient_descent grid_interpolant hamming hankel hann harmonic_mean has heatmap hermite
syntax keyword atledFunction hessian heun hilbert hilbert_matrix hist histogram hline hspan hstack hvp hyp0f1 hyp1f1 hyp2f1 hypu icdf ichol0
syntax keyword atledFunction idct identity idst ifft ifft2 ifftn ifftshift ilu0 im imag image imex implicit inside inspect integrate interp
syntax keyword atledFunction interp2 interpn intersect inv iota iqr ir irfft isfinite isin isnan isprime jacobi jacobi_preconditioner
syntax keyword atledFunction jacobiam jacobian jacobicn jacobidn jacobisn jet join jvp kaiser keys kind kinsol kron kurtosis laguerre
syntax keyword atledFunction lambertw laplacian largest lbeta lbfgs lcm learn_operator least_squares leaves legendre len lexsort lgamma
syntax keyword atledFunction linear_map linear_regression linearize lines linregress linsolve linspace list list_files lm load log log10
syntax keyword atledFunction log1p log2 logdet loglog logm logpdf logspace logsumexp lower lstsq lu manufacture map matrix_power matrix_rank
syntax keyword atledFunction max mean median mesh mesh_data meshgrid milstein min minimize minres mlp mod mode moment moments moveaxis
syntax keyword atledFunction moving moving_mean multirate nadam nan_check nanmax nanmean nanmin nansum native nelder_mead newton newton_cg
syntax keyword atledFunction nnz nonzero norm normalize nth_derivative null_space ode one_hot ones ones_like orth oscillatory outer overlay
syntax keyword atledFunction pad pad_end pad_start pairwise_distances partial pchip pdf percentile periodogram permutation pinn pinv plan
syntax keyword atledFunction plot plot3 polyadd polyder polydiv polyfit polyfromroots polygamma polygon polyint polymul polyroots polysub
syntax keyword atledFunction polyval pow primes print prod progress ptp push qr quadrature quantile quiver radau radau13 radau5 radau9 rand
syntax keyword atledFunction randint randn rank ranks ravel ravel_index rbf read_ir read_lines read_text real reconstruct record refine relu
syntax keyword atledFunction repeat replace report reshape rewrite rfft rfftfreq rfm right_axis rigid_modes rk4 rms rmsprop rodas5p roll
syntax keyword atledFunction root rot90 round same sample sample_boundary save scatter scatter3 sde searchsorted sech seed semilogx semilogy
syntax keyword atledFunction setdiff setxor shape shooting show shuffle sigmoid sign signed_distance sin sinc sinh sinhint sinint size
syntax keyword atledFunction skewness slogdet smallest soap softmax softplus solve sort sort_rows sparse sparsity spdiags spearman
syntax keyword atledFunction spectral_derivative speye spherical_harmonic sphericali sphericalj sphericalk sphericaly spline split sqrt
syntax keyword atledFunction sqrtm squeeze sri ssbroyden stack stairs starts_with std stem stop_gradient str streamlines subplots sum
syntax keyword atledFunction surface svd svdvals swapaxes symplectic take take_along tan tanh taylor tile to_sparse toeplitz trace train
syntax keyword atledFunction transpose trapz tril trim trim_end trim_start trisolve triu trunc tsit5 union unique unravel_index upper
syntax keyword atledFunction value_and_grad values vander var vjp vline vspan vstack weighted_mean welch where windows write_text xavier
syntax keyword atledFunction zeros zeros_like zeta zip zscore
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
