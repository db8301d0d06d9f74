#! error E0107 2:3-2:5 "`:=` defines a tensor by its indices" hint "write T[i, j] := ...; a name is given a value by `=`"
x := 3
