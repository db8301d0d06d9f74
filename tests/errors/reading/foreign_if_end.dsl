#! error E0104 2:8-2:8 "expected `{` after the condition of `if`, found the end of the line" hint "the `{` of a block stands on the same line"
if true
  print(1)
end
