#! error E0104 3:10-3:11 "expected `{` after the condition of `if`, found `:`" hint "a block is written { ... }"
x = 1
if x == 1:
  print(x)
