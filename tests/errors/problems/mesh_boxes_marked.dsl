#! error E0505 3:1-3:48 "boxes of which some are cut have no common faces: refine(m) cuts all of them"
m = mesh(box([0, 1], [0, 1]), 0.5; cells = "boxes")
refine(m; marked = [true, false, false, false])
