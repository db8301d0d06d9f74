#! error E0505 2:1-2:66 "bounds need lm(), gauss_newton() or dogleg()"
least_squares(x -> x - 1, zeros(3), gauss_newton_cg(); lower = 0)
