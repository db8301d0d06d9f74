#! error E0104 2:7-2:8 "expected the end of the statement, found `:`" hint "a record is written (name = value, ...)"
x = {a: 1}
