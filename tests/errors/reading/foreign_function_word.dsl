#! error E0104 2:10-2:11 "expected the end of the statement, found `f`" hint "a function is written f(x) = ..."
function f(x)
  x
end
