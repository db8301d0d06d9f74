#! error E0302 2:33-2:41 "cannot add f64[axis 1 of T - 1, 2] and f64[axis 1 of T, 2]" trace "called by"
moved(T) = { u = T[0, 1.., ..]; u + T[0] }
moved(ones(20, 30, 2))
