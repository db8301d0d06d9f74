#! error E0401 2:15-2:42 "`bind_dim` makes a length of a number that differs from lane to lane: all lanes have one shape" trace "in the map of loss"
loss(t) = sum(linspace(0, t, i64(3 + 4t))^2)
map(loss, [0.5, 1])
