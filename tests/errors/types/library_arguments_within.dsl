#! error E0303 3:8-3:15 "no axis 0" trace "in diff, where x is a number"
# a function of the user's between: the call of the library is what is pointed at
f(x) = diff(x) + 1
f(2.0)
