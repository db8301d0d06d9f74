#! error E0301 3:7-3:12 "a condition must be true or false, not bool[2]" hint "write any(...) or all(...), or where(c, a, b) for each element"
x = [1.0, 2]
while x > 0 { x = x - 1 }
