#! error E0104 2:9-2:10 "expected the end of the statement, found `:`" hint "a record is written (name = value, ...)"
x = {"a": 1}
