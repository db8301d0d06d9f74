#! error E0505 2:1-2:34 "boxes are made of a region"
mesh("part.msh"; cells = "boxes")
