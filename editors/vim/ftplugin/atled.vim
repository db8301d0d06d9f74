" How Atled programs are edited: comments, width, and `gq` by the formatter (whole statements, as in gggqG).
if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1
setlocal comments=:# commentstring=#\ %s
setlocal expandtab shiftwidth=2 softtabstop=2 textwidth=0
setlocal suffixesadd=.dsl include=^\\s*use
if executable("atled")
  setlocal formatprg=atled\ fmt\ -
  setlocal makeprg=atled\ check\ % errorformat=%f:%l:%c:\ %m,%-G%.%#
endif
let b:undo_ftplugin = "setlocal comments< commentstring< expandtab< shiftwidth< softtabstop< textwidth< suffixesadd< include< formatprg< makeprg< errorformat<"
