#! error E0104 2:11-2:12 "expected `{` after the condition of `while`, found `:`" hint "a block is written { ... }"
while true:
  break
