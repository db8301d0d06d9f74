#! error E0302 2:7-2:25 "cannot add i64[2] and i64[3]"
try { [1, 2] + [1, 2, 3] } catch e { 0 }
