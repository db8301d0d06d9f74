# map over records applies the function to each field.
w = (a = [1.0, 2], b = [3.0])
map(v -> 2v, w)                       #> (a = [2, 4], b = [6])
map((p, g) -> p - g, w, w)            #> (a = [0, 0], b = [0])
# fields of equal extent, of every kind, and in another order
map(v -> sum(v), (a = [1.0, 2], b = [3.0, 4]))        #> (a = 3.0, b = 7.0)
map((p, q) -> p + len(q), (a = 1, b = 2), (b = [1, 2, 3], a = [1]))    #> (a = 2, b = 5)
map(v -> map(u -> u + 1, v), (inner = (x = 1, y = 2.5), rest = (1, 2)))    #> (inner = (x = 2, y = 3.5), rest = (2, 3))
step(p, g) = map((p, g) -> p - 0.5g, p, g)
step(w, (a = [2.0, 2], b = [4.0]))    #> (a = [0, 1], b = [1])
grad(w -> sum(map(v -> sum(v^2), w).a))(w)            #> (a = [2, 4], b = [0])
