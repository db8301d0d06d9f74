#! error E0202 2:1 "`sum` takes 1 argument, and 2 are given" hint "by name it takes axis keepdims"
sum([1,2;3,4], 1)
