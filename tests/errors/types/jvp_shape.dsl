#! error E0302 2:25-2:36 "a tangent is f64[3] for an argument that is f64[2]"
jvp(x -> x^2, [1.0, 2], [1.0, 2, 3])
