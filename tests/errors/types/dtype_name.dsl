#! error E0306 2:1-2:24 "`dtype` is one of bool, i32, i64, f32, f64, c64, c128"
zeros(3; dtype = "f16")
