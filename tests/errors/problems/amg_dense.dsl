#! error E0505 2:1 "amg takes a sparse matrix; linsolve is for dense ones"
amg([2.0, 1; 1, 2])
