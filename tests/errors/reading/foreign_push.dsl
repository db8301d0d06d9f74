#! error E0104 2:5 "`!` is not an operator here" hint "values do not change, and names have no `!`: x = f(x)"
push!(list(1), 3)
