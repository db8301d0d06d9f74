#! error E0301 2:1-2:10 "cannot order a string and a string"
"a" < "b"
