#! error E0204 2:1-2:6 "this is a string, not a function"
"abc"(2)
