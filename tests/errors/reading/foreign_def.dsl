#! error E0104 2:5-2:6 "expected the end of the statement, found `f`" hint "a function is written f(x) = ..."
def f(x):
  return x
