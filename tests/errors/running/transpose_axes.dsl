#! error E0608 2:1-2:30 "the axes of a transpose are each of 0 .. 1 once"
transpose([1, 2; 3, 4], 0, 0)
