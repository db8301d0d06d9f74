# Operators: meaning, precedence, associativity. Oracle: expected values.

1 + 2 * 3            #> 7
(1 + 2) * 3          #> 9
2^3^2                #> 512
-2^2                 #> -4
(-2)^2               #> 4
2^-1                 #> 0.5
2^-2                 #> 0.25
10 - 3 - 2           #> 5
24 / 4 / 2           #> 3.0
7 // 2               #> 3
-7 // 2              #> -4
7 // -2              #> -4
7 % 3                #> 1
-7 % 3               #> 2
7 % -3               #> -2
7.5 // 2             #> 3.0
-7.5 % 2             #> 0.5
6 / 3                #> 2.0
1 / 0                #> inf
-1 / 0               #> -inf
0 / 0                #> nan
+3                   #> 3
--3                  #> 3
2 * -3               #> -6
2 - -3               #> 5
3 * 4 % 5            #> 2
2 + 3 == 5           #> true
1 < 2                #> true
1 < 2 < 3            #> true
1 < 3 < 2            #> false
1 <= 1 < 2 == 2      #> true
1 != 2               #> true
1 ≠ 2                #> true
1 ≤ 1                #> true
2 ≥ 3                #> false
not true             #> false
not 1 > 2            #> true
true and false       #> false
true or false        #> true
false and 1 // 0 > 0 #> false
true or 1 // 0 > 0   #> true
not false and false  #> false
true or true and false   #> true
1 + 1 == 2 and 2 * 2 == 4    #> true
2^0.5                #~ sqrt(2)
(-8)^(1/3)           #> nan
2.0^3                #> 8.0
2^3                  #> 8
0^0                  #> 1
0.0^0                #> 1.0

# Element-wise operators.
[1, 2, 3] + [10, 20, 30]     #> [11, 22, 33]
[1, 2, 3] * [10, 20, 30]     #> [10, 40, 90]
[1, 2, 3]^2                  #> [1, 4, 9]
2^[1, 2, 3]                  #> [2, 4, 8]
[1, 2, 4] / 2                #> [0.5, 1, 2]
[7, 8, 9] // 2               #> [3, 4, 4]
[7, 8, 9] % 2                #> [1, 0, 1]
-[1, 2]                      #> [-1, -2]
[1, 2, 3] > 2                #> [false, false, true]
[1, 2, 3] == [1, 5, 3]       #> [true, false, true]
not [true, false]            #> [false, true]
[true, true] and [true, false]   #> [true, false]
[false, true] or [false, false]  #> [false, true]
1 < [1, 2, 3] < 3            #> [false, true, false]

# Products of vectors and matrices.
A = [1, 2; 3, 4]
v = [5, 6]
A @ v                #> [17, 39]
v @ A                #> [23, 34]
A @ A                #> [[7, 10], [15, 22]]
v @ v                #> 61
v · v                #> 61
dot(v, v)            #> 61
A'                   #> [[1, 3], [2, 4]]
A' @ v               #> [23, 34]
A * A                #> [[1, 4], [9, 16]]
[1, 0, 0] × [0, 1, 0]        #> [0, 0, 1]
cross([1, 2, 3], [4, 5, 6])  #> [-3, 6, -3]
outer(v, v)          #> [[25, 30], [30, 36]]
2A                   #> [[2, 4], [6, 8]]
A @ [1, 0; 0, 1] == A        #> [[true, true], [true, true]]
[1, 2, 3] @ [1.5, 0, 0]      #> 1.5
[1 + 1im, 2]'        #> [1 - 1im, 2 - 0im]
[1, 2; 3, 4im]'      #> [[1 - 0im, 3 - 0im], [2 - 0im, 0 - 4im]]

# Assignment operators.
a = 5
a += 2
a                    #> 7
a -= 3
a                    #> 4
a *= 2
a                    #> 8
a /= 4
a                    #> 2.0
a ^= 3
a                    #> 8.0

# Functions: composition, pipes, arithmetic of functions.
f(x) = x + 1
g(x) = 2x
(f ∘ g)(3)           #> 7
(g ∘ f)(3)           #> 8
3 |> f |> g          #> 8
3 |> (x -> x^2)      #> 9
(f + g)(3)           #> 10
(f * g)(3)           #> 24
(f - g)(3)           #> -2
(f / g)(3)           #~ 4/6
(2 * f)(3)           #> 8
(-f)(3)              #> -4
(f^2)(3)             #> 16
compose(f, g)(3)     #> 7
(sin ∘ cos)(0.5)     #~ sin(cos(0.5))
