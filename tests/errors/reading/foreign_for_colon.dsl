#! error E0104 2:7-2:8 "expected `in` and what to go through, found `=`" hint "a loop is written for i in a..b { ... }; the end b is left out"
for i = 1:10 { print(i) }
