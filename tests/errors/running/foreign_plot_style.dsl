#! error E0605 2:1 "plot: what a curve looks like is given by name: colour = \"red\", style = \"dashed\""
plot([1, 2], [1, 2], "r--")
