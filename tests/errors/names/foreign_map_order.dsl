#! error E0204 2:5 "`map` takes a function, not i64[2]" hint "the function comes first: map(f, xs)"
map([1, 2], x -> x)
