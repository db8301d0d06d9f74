#! error E0104 3:7-3:8 "expected the end of the statement, found `x`" hint "a call needs parentheses: print(x)"
x = 1
print x
