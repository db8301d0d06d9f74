" Indentation of Atled programs as `atled fmt` lays them out: two spaces for each bracket that stays open, and for a statement that goes on.
if exists("b:did_indent")
  finish
endif
let b:did_indent = 1
setlocal indentexpr=AtledIndent(v:lnum) indentkeys=0{,0},0),0],o,O,=else,=catch
let b:undo_indent = "setlocal indentexpr< indentkeys<"
if exists("*AtledIndent")
  finish
endif

" A line without its strings and its comment.
function s:Code(line)
  let code = substitute(a:line, '"\(\\.\|[^"\\]\)*"', '""', 'g')
  return substitute(code, '\s*#.*$', '', '')
endfunction

" How many more brackets a line opens than it closes; those that close at its start are left out.
function s:Opens(code)
  let opens = 0
  for ch in split(substitute(a:code, '^\s*[]})]\+', '', ''), '\zs')
    if ch =~ '[[({]'
      let opens += 1
    elseif ch =~ '[])}]'
      let opens -= 1
    endif
  endfor
  return opens
endfunction

function s:GoesOn(code)
  return a:code =~ '\(=\|:=\|->\|[-+*/%^@:<>]\|\<and\|\<or\|\<not\|\<in\)\s*$'
endfunction

function AtledIndent(lnum)
  let before = prevnonblank(a:lnum - 1)
  if before == 0
    return 0
  endif
  let code = s:Code(getline(before))
  let opens = s:Opens(code)
  let indent = indent(before) + (opens > 0 ? shiftwidth() : 0)
  if opens < 0
    let indent -= shiftwidth()
  endif
  let earlier = prevnonblank(before - 1)
  let continued = earlier > 0 && s:GoesOn(s:Code(getline(earlier)))
  if s:GoesOn(code) && opens == 0 && !continued
    let indent += shiftwidth()
  elseif continued && !s:GoesOn(code) && opens == 0
    let indent -= shiftwidth()
  endif
  if getline(a:lnum) =~ '^\s*[])}]'
    let indent -= shiftwidth()
  endif
  return indent < 0 ? 0 : indent
endfunction
