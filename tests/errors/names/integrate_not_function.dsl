#! error E0204 3:1-3:24 "this is a tuple, not a function"
# The integrand is looked at for jumps before it is called.
integrate((0, 1), 0, 1)
