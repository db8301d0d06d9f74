#! error E0205 3:3-3:9 "no field `append`: this is i64[3]" hint "values do not change: a list grows by items = push(items, x), arrays are joined by concat"
x = [1, 2, 3]
x.append(4)
