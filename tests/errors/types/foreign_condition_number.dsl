#! error E0301 2:4 "a condition must be true or false, not i64" hint "a number is compared: x != 0; a loop without end is while true { ... }"
if 3 { 1 }
