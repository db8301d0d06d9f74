#! error E0603 4:5-4:10 "10000000000 * 10000000000 does not fit in an integer of type i64"
# A variable that the program gave a known value is known, too.
n = 10^10
m = n * n
