#! error E0104 2:15-2:17 "expected `{` after what the loop goes through, found `do`" hint "a block is written { ... }"
for i in 0..3 do
  print(i)
end
