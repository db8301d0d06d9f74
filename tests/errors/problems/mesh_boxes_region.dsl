#! error E0505 2:1-2:85 "this region is none, and is cut into simplices"
mesh(difference(box([0, 1], [0, 1]), box([0.5, 1], [0.5, 1])), 0.5; cells = "boxes")
