#! error E0401 2:11-2:21 "`nonzero` gives as many indices as there are true elements: under map each lane would have a length of its own" trace "in the map of loss" trace "from the result: `*` at 4:11, `reduce_sum` at 3:12, `*` at 3:16"
pick(x) = x[x > 1.2]
score(x) = sum(pick(x)^3)
loss(x) = 2score(x)
map(loss, [1.0, 2; 3, 4])
