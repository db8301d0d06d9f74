#! error E0104 2:8-2:9 "expected the end of the statement, found `3`" hint "a choice is written if a { ... } else if b { ... } else { ... }"
switch 3 { }
