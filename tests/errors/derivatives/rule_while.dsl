#! error E0401 2:22-2:64 "`while` gives an array whose length differs from lane to lane" trace "in the map of grow"
grow(t) = { v = [t]; while v[-1] < 5 { v = push(v, v[-1] * 2) }; v }
map(grow, [0.4, 0.3])
