#! error E0301 3:4-3:9 "a condition must be true or false, not bool[2]" hint "write any(...) or all(...), or where(c, a, b) for each element"
x = [1, 2]
if x > 1 { 3 }
