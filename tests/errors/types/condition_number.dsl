#! error E0301 2:4-2:5 "a condition must be true or false, not i64"
if 1 { 3 }
