#! error E0204 3:1-3:4 "this is i64, not a function" second 2:1 "i64 came from here" hint "a variable of this program hides the library's `sum`: give it another name"
sum = 3
sum([1, 2])
