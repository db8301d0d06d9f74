#! error E0301 2:1-2:2 "`and` and `or` join conditions, and this is i64"
1 and true
