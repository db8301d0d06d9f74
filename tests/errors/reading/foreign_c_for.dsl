#! error E0104 2:8-2:9 "expected `,` or `)` after a name, found `=`" hint "a loop is written for i in a..b { ... }; the end b is left out"
for (i = 0; i < 3; i += 1) { print(i) }
