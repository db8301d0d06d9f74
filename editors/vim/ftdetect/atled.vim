" Atled programs end in .dsl
autocmd BufNewFile,BufRead *.dsl setfiletype atled
