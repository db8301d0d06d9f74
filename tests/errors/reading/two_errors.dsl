#! error E0104 3:6-3:7 "expected the end of the statement, found `=`" hint "`=` gives a name a value; to compare, write `==`"
f(x) = x +
g(y) = ] y
h = 3
