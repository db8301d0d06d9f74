#! error E0505 2:1-2:32 "pad has the modes constant, edge, reflect, symmetric and wrap"
pad([1, 2], 1; mode = "mirror")
