#! error E0204 4:1-4:4 "this is i64, not a function" hint "a variable of this program hides the library's `sin`: give it another name"
pi = 3
sin = 4
sin(2)
