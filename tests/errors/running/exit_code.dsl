#! error E0609 3:19-3:26 "the program ended itself with exit code 7"
# no try takes it back
f(x) = if x > 2 { exit(7) } else { x }
try { f(3) } catch m { 0 }
