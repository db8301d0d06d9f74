#! error E0103 2:11-2:16 "`.3ff` is no format" hint "a width, a precision and one of e f g d x s"
x = 2; "{x:.3ff}"
