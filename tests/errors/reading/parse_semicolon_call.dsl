#! error E0104 3:5-3:6 "expected `,` or `)` after an argument, found `2`" hint "a product is written 2 * x, or 2x without a space"
f(x) = x
f(1 2)
