#! error E0104 2:10-2:14 "expected `{` after the condition of `if`, found `then`" hint "a block is written { ... }"
if 1 < 2 then 3 else 4
