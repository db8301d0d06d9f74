#! error E0301 2:9-2:12 "`rewrite` wants a piece of IR, not a function" hint "ir(f, x) makes one"
rewrite(sin, (sin = x -> x))
