#! error E0301 2:32-2:46 "the value loss must be a real number, not f64[2]"
for k in 0..3 { progress(k, 3; loss = ones(2)) }
