#! error E0303 3:1-3:23 "a number has no length" trace "in polyval, where c is a number and x is f64[3]"
x = [1, 2, 3.0]
polyval(2.0, x - x[0])
