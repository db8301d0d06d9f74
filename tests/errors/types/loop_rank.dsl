#! error E0305 2:29-2:39 "`x` changes its type in the loop: f64 before, f64[2] after one turn" second 3:3 "`x` starts here"
f(x) = { for i in 0..5000 { x = [x, x] }; x }
f(1.0)
