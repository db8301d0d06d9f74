#! error E0104 2:1-2:3 "`if` is a keyword and cannot be a name"
if = 3
