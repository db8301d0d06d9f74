#! error E0210 3:7-3:20 "x has a type that is known only when it runs, and the declaration leaves dtype or axes open" second 2:10 "declared here" hint "declare both, as in x: f64[n, m]"
total(x: f64[...]) = sum(x)
total(load("x.npy"))
