# Integers: floor division, remainders, powers, and library functions on integer
# arrays. Oracle: expected values.
7 // 2               #> 3
-7 // 2              #> -4
-7 % 2               #> 1
[7, -7] // 2         #> [3, -4]
[7, -7] % [2, 2]     #> [1, 1]
try { 1 // 0 } catch e { -1 }    #> -1
try { 1 % 0 } catch e { -1 }     #> -1
3^4                  #> 81
(-2)^3               #> -8
[1, 2, 3]^3          #> [1, 8, 27]
n = 5
2^n                  #> 32
10^18                #> 1000000000000000000
dtype(10^18)         #> i64
1 / 3 * 3            #> 1.0
gcd(a, b) = { while b != 0 { (a, b) = (b, a % b) }; a }
gcd(48, 18)          #> 6
fact(n) = if n <= 1 { 1 } else { n * fact(n - 1) }
fact(20)             #> 2432902008176640000
fib(n) = { (a, b) = (0, 1); for i in 0..n { (a, b) = (b, a + b) }; a }
fib(90)              #> 2880067194370816120
sum(1..101)          #> 5050
prod(1..11)          #> 3628800
cumsum([1, 2, 3])    #> [1, 3, 6]
cumprod([1, 2, 3, 4])        #> [1, 2, 6, 24]
cumsum([1, 2, 3]; reverse = true)    #> [6, 5, 3]
cumsum([1, 2; 3, 4]; axis = 1)       #> [[1, 3], [3, 7]]
max([3, 1, 2])       #> 3
min([3, 1, 2])       #> 1
argmax([3, 9, 2])    #> 1
argmin([3, 9, 2])    #> 2
argmax([1, 5; 7, 2]) #> 2
argmax([1, 5; 7, 2]; axis = 0)       #> [1, 0]
argmax([1, 5; 7, 2]; axis = 1)       #> [1, 0]
sort([3, 1, 2])      #> [1, 2, 3]
sort([3, 1, 2]; descending = true)   #> [3, 2, 1]
argsort([3, 1, 2])   #> [1, 2, 0]
sort([3, 1; 2, 5]; axis = 0)         #> [[2, 1], [3, 5]]
sort([3, 1; 2, 5])   #> [[1, 3], [2, 5]]
findall([true, false, true])         #> [0, 2]
findall([1, 5, 2, 7] > 2)            #> [1, 3]
any([false, true])   #> true
all([false, true])   #> false
all([true, true; false, true]; axis = 1)     #> [true, false]
sum([1, 2; 3, 4]; axis = 0)          #> [4, 6]
sum([1, 2; 3, 4]; axis = 1)          #> [3, 7]
sum([1, 2; 3, 4]; axis = -1)         #> [3, 7]
sum([1, 2; 3, 4]; axis = (0, 1))     #> 10
sum([1, 2; 3, 4]; axis = 1, keepdims = true) #> [[3], [7]]
sum([])              #> 0.0
prod([])             #> 1.0
any([1, 2] > 5)      #> false
all([] > 1)          #> true
mean([1, 2, 3, 6])   #> 3.0
mean([1, 2; 3, 4]; axis = 0)         #> [2, 3]
var([1, 2, 3, 4])    #> 1.25
std([1, 1, 1])       #> 0.0
var([1, 2; 3, 6]; axis = 0)          #> [1, 4]
norm([3, 4])         #> 5.0
searchsorted([1, 3, 5], [0, 3, 9])   #> [0, 2, 3]
interp(0.5, [0, 1], [10, 20])        #> 15.0
interp([-1, 0.25, 7], [0, 1], [10, 20])      #> [10, 12.5, 20]
clamp(5, 0, 3)       #> 3
clamp([-1, 0.5, 2], 0, 1)    #> [0, 0.5, 1]
trapz([0, 1, 4], [0, 1, 2])  #> 3.0
