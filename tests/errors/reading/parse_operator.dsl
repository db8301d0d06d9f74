#! error E0104 2:8-2:8 "expected an expression, found the end of the text"
x = 3 +
