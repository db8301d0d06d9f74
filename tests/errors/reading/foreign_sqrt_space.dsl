#! error E0104 2:6-2:7 "expected the end of the statement, found `2`" hint "a call is written sqrt(...), a product with `*`"
sqrt 2
