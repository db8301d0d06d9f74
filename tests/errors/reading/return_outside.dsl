#! error E0104 2:1-2:9 "`return` stands outside a function"
return 3
