# Conversions of numbers that do not fit: the nearest number that does, for one
# number, arrays, parts of larger expressions, and constants alike. Oracle: the
# rule, written out.

whole = [0, 1, -1, 7, 2147483647, 2147483648, -2147483648, -2147483649, 4294967295, 4294967296,
  -4294967297, 9223372036854775807, -9223372036854775807]
low = -2147483648
high = 2147483647
fit = min(max(whole, low), high)
to_i32(x) = i32(x)
i64(i32(whole)) - fit                                #> [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
i64(map(to_i32, whole)) - fit                        #> [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
in_sums(v) = sum(abs(i64(i32(v + 0)) * 1 - min(max(v, low), high)))
in_sums(whole)                                       #> 0
in_sums(concat(whole, whole, whole, whole, whole))   #> 0
one_by_one(v) = { n = 0
  for x in v { n = n + abs(i64(i32(x)) - min(max(x, low), high)) }
  n }
one_by_one(whole)                                    #> 0
(i32(4294967295), i32(-2147483649), i32(2147483647)) #> (2147483647, -2147483648, 2147483647)
small(x) = { k = i32(x); i64(k) + 0.5 }
(small(4294967296), small(-3000000000))              #> (2147483647.5, -2147483647.5)

# reals
real = [0.5, -0.5, 2147483646.9, 2147483647.5, 3e9, -2147483648.9, -3e9, 1e300, -1e300, 1 / 0.0]
i64(i32(real))
#> [0, 0, 2147483646, 2147483647, 2147483647, -2147483648, -2147483648, 2147483647, -2147483648, 2147483647]
i64(map(to_i32, real)) - i64(i32(real))              #> [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
i64([9.3e18, -9.3e18, 1e300]) == [9223372036854775807, -9223372036854775807 - 1, 9223372036854775807]
#> [true, true, true]
i32(0.0 / 0)                                         #> 0
