#! error E0401 2:12-2:39 "`bind_dim` makes a length of a number that differs from lane to lane: all lanes have one shape" trace "in the map of nodes"
nodes(t) = linspace(0, t, i64(3 + 4t))^2
map(nodes, [0.5, 1])
