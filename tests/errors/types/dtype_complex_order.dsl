#! error E0306 2:1-2:8 "`<` has no meaning for c128: complex numbers have no order"
1im < 2
