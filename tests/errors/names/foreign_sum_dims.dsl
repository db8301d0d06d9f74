#! error E0203 2:16 "`sum` has no argument `dims`" hint "here it is called axis"
sum([1,2;3,4], dims=1)
