# Dtypes: promotion, weak literals, conversions. Oracle: expected values.

dtype(1 + 2)                 #> i64
dtype(1 + 2.0)               #> f64
dtype(1 / 2)                 #> f64
dtype(4 // 2)                #> i64
dtype(true + 1)              #> i64
dtype(true + true)           #> i64
dtype(1 + 2im)               #> c128
dtype(1 > 2)                 #> bool
dtype(2^2)                   #> i64
dtype(2^-2)                  #> f64
dtype(2.0^2)                 #> f64

# Literals take the dtype of the other operand.
x = f32(1.5)
dtype(x)                     #> f32
dtype(2 * x)                 #> f32
dtype(2.5 * x)               #> f32
dtype(x / 3)                 #> f32
dtype(x^2)                   #> f32
dtype(sin(x))                #> f32
dtype(1im * x)               #> c64
dtype(x * 1.0im)             #> c64
dtype(x + f64(1))            #> f64
dtype(2pi * x)               #> f32
dtype([1, 2] * x)            #> f32
y = 2.5
dtype(x * y)                 #> f32
dtype(x * f64(y))            #> f64
dtype(x * (1 + 2))           #> f32
k = i32(3)
dtype(k + 1)                 #> i32
dtype(k * 2.5)               #> f64
dtype(k + i64(1))            #> i64
dtype(k / 2)                 #> f64
dtype(k * k)                 #> i32
dtype(k + x)                 #> f32
dtype(-k)                    #> i32
dtype(abs(k))                #> i32
dtype(sqrt(k))               #> f64
dtype(c64(1) + 1)            #> c64
dtype(c64(1) + 1.0)          #> c64
dtype(c64(1) + y)            #> c64
dtype(where(true, 1, x))     #> f32
dtype([x, 1, 2.5])           #> f32
dtype([k, 1])                #> i32
dtype(max(x, 0))             #> f32
dtype(concat([1], [2.5]))    #> f64

# Conversions.
i64(2.9)                     #> 2
i64(-2.9)                    #> -2
i32(7)                       #> 7
f64(3)                       #> 3.0
f64([1, 2])                  #> [1, 2]
f32(0.1)                     #> 0.1
bool(0)                      #> false
bool(2)                      #> true
bool([0, 1, 2])              #> [false, true, true]
i64(true)                    #> 1
c128(2)                      #> 2 + 0im
real(3 + 4im)                #> 3.0
imag(3 + 4im)                #> 4.0
real(3)                      #> 3
imag(3)                      #> 0
floor(2.7)                   #> 2.0
floor(7)                     #> 7
ceil(2.1)                    #> 3.0
round(2.5)                   #> 2.0
round(3.5)                   #> 4.0
trunc(-2.5)                  #> -2.0
sign(-3)                     #> -1
sign(2.5)                    #> 1.0

# Sums and products keep the dtype; counts of booleans are integers.
dtype(sum([1, 2]))           #> i64
dtype(sum(f32([1, 2])))      #> f32
sum([true, false, true])     #> 2
dtype(sum([true]))           #> i64
dtype(mean([1, 2]))          #> f64
mean([1, 2])                 #> 1.5

# Integers.
9007199254740993 + 0         #> 9007199254740993
3 * 9007199254740993         #> 27021597764222979
2^62                         #> 4611686018427387904
i64(2^62) - 1 + 2^62         #> 9223372036854775807
i32(2147483647)              #> 2147483647
dtype(2^i64(3))              #> i64
7 // 2 * 2 + 7 % 2           #> 7
mod(7, 3)                    #> 1
mod(-7, 3)                   #> 2
abs(-5)                      #> 5
pow(2, 10)                   #> 1024
1 == 1.0                     #> true
f32(0.1) == 0.1              #> true
f64(f32(0.1)) == 0.1         #> false

# any and all of an empty array have a value, in functions of constant and of
# symbolic extents.
nothing(v, n) = (any(v[..n] > 1), all(v[..n] > 1), any(expand(v, 1)[..n] > 1; axis = 0))
nothing([1.0, 2], 0)         #> (false, true, [false])
(m -> nothing(zeros(m) + 2, m - 20))(20)     #> (false, true, [false])
all(zeros(0) > 1)            #> true
