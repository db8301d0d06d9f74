#! error E0301 2:1-2:8 "cannot order a string and i64"
"a" < 1
