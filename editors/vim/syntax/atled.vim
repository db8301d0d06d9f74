" Vim syntax for Atled (.dsl). Copy editors/vim/ to ~/.vim/ or ~/.vim/pack/atled/start/atled/.
if exists("b:current_syntax")
  finish
endif
setlocal iskeyword=@,48-57,_,128-255
syntax keyword atledKeyword if else for while in break continue return try catch use as and or not by at
syntax keyword atledDeclare problem domain field event eigen derivative periodic rising falling terminal
syntax keyword atledConstant true false none pi inf nan im
syntax keyword atledType bool i32 i64 f32 f64 c64 c128
syntax keyword atledDerivative grad jvp vjp jacobian hessian taylor jet map solve
syntax match atledNumber "\<\d[0-9_]*\(\.\d\+\)\?\([eE][-+]\?\d\+\)\?\(im\)\?"
syntax match atledOperator ":=\|->\||>\|==\|!=\|<=\|>="
syntax region atledInterpolation start="{" end="}" contained contains=TOP
syntax region atledString start=+"+ skip=+\\.+ end=+"+ contains=atledInterpolation
syntax match atledComment "#.*$"
highlight default link atledKeyword Statement
highlight default link atledDeclare Structure
highlight default link atledConstant Constant
highlight default link atledType Type
highlight default link atledDerivative Function
highlight default link atledNumber Number
highlight default link atledOperator Operator
highlight default link atledString String
highlight default link atledInterpolation Special
highlight default link atledComment Comment
let b:current_syntax = "atled"
