#! error E0104 2:1-2:6 "`break` stands outside a loop"
break
