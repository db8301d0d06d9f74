#! error E0602 3:1-3:20 "cannot write f64[2] into f64[sum(x > 0)], what the mask takes of f64[4]: 2 and sum(x > 0) = 3 differ"
x = [1.0, 2, -3, 4]
x[x > 0] = [1.0, 2]
