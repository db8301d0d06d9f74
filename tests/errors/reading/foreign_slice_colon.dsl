#! error E0104 3:4-3:5 "expected `,` or `]` after an index, found `:`" hint "a part of an array is written x[a..b]; the end b is left out"
x = [1, 2, 3, 4]
x[1:3]
