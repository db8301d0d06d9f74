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
syntax keyword atledFunction abs acos acosh adam adams adjoint all angle any apply arange argmax argmin argsort asin asinh assert atan atan2
syntax keyword atledFunction atanh bdf broadcast_to cbrt ceil chebyshev check_grad checkpoint cholesky clamp collect compare compose concat
syntax keyword atledFunction conj cos cosh cost cross cumprod cumsum curl dense det diag diff divergence dot dtype e eig eigh enumerate erf
syntax keyword atledFunction erfc error exp expand explain expm1 eye fd fft field findall fixed_point flatten flip floor fornberg fourier
syntax keyword atledFunction full grad has heatmap hessian hvp ifft im imag implicit integrate interp inv iota ir isfinite isnan jacobian
syntax keyword atledFunction jet jvp keys kind laplacian lbfgs least_squares leaves len linear_map linearize linsolve linspace list lm_step
syntax keyword atledFunction log log10 log1p log2 loglog logspace lstsq lu map max mean min minimize mlp mod nan_check native norm
syntax keyword atledFunction nth_derivative ode ones ones_like outer partial pinn pinv plan plot pow print prod push qr rand randint randn
syntax keyword atledFunction rank ravel real record relu reshape root round same searchsorted sech seed shape sigmoid sign sin sinh size
syntax keyword atledFunction softplus solve sort sparse sparsity sqrt stack std stop_gradient str sum svd tan tanh taylor trace transpose
syntax keyword atledFunction trapz trisolve trunc value_and_grad values var vjp where xavier zeros zeros_like zip
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
