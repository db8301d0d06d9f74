#! error E0404 2:12-2:15 "`sin` is not a function of this program: it has its derivative"
derivative sin(x) = 1
