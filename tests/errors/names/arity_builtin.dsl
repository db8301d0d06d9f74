#! error E0202 2:1-2:10 "`sin` takes 1 argument, and 2 are given"
sin(1, 2)
