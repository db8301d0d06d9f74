#! error E0104 2:6 "expected the end of the statement, found `{`" hint "a function is written f(x) = { ... }"
f(x) { x }
