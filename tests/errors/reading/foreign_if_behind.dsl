#! error E0104 2:7-2:9 "expected the end of the statement, found `if`" hint "a choice is written if c { a } else { b }"
x = 1 if true else 2
