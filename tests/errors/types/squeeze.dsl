#! error E0302 2:1-2:31 "cannot squeeze axis 0 of f64[2, 1]: its length is not 1"
squeeze(zeros(2, 1); axis = 0)
