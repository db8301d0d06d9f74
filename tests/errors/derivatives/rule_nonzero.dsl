#! error E0401 2:11-2:21 "`nonzero` gives as many indices as there are true elements: under map each lane would have a length of its own" trace "in the map of pick"
pick(x) = x[x > 1.2]
map(pick, [1.0, 2; 3, 4])
