# integers.dsl - common divisors and multiples, primes and prime factors.
#
# Method: Euclid's algorithm, the sieve of Eratosthenes, trial division.

# gcd(a, b), lcm(a, b): greatest common divisor and least common multiple of
# integers.
#   Integer arrays that broadcast. The result is never negative; gcd(0, 0) is 0.
#   Euclid's algorithm, element by element.
#     gcd([12, 18, 0], 8)         #> [4, 2, 8]
gcd(a, b) = {
  _want_whole("gcd", a)
  _want_whole("gcd", b)
  x = abs(a + 0 * b)
  y = abs(b + 0 * a)
  while any(y != 0) {
    r = where(y == 0, 0, x % where(y == 0, 1, y))
    x = where(y == 0, x, y)
    y = r
  }
  x
}
# lcm(a, b): see gcd. A result that overflows the integer type is an error.
#     lcm(4, 6)                   #> 12
lcm(a, b) = {
  g = gcd(a, b)
  times = abs(a // where(g == 0, 1, g))
  y = abs(b + 0 * a)
  multiple = times * y
  assert(all(ravel(multiple // where(y == 0, 1, y) == where(y == 0, 0, times))),
    "lcm: the multiple is too large for {dtype(a)}")
  multiple
}
_want_whole(name, x) = assert(dtype(x) == "i64" or dtype(x) == "i32", "{name} takes integers")
# primes(n): the primes below n, ascending.
#   i64. The sieve of Eratosthenes over odd integers, with 8 bytes for each.
#     primes(20)                  #> [2, 3, 5, 7, 11, 13, 17, 19]
primes(n) = {
  half = max(n // 2, 0)
  composite = zeros(half) # of 2k + 1
  k = 1
  while 2 * k * (k + 1) < half {
    if composite[k] == 0 {
      composite[2 * k * (k + 1) + (2 * k + 1) * iota((half - 1 - 2 * k * (k + 1)) // (2 * k + 1) +
        1)] = 1.0
    }
    k += 1
  }
  odd = 2 * findall(composite == 0) + 1
  if n > 2 { concat([2], odd[1..]) } else { odd[..0] }
}
# isprime(n): whether each integer is prime.
#   Trial division up to the square root.
#     isprime([0, 1, 2, 9, 97])   #> [false, false, true, false, true]
isprime(n) = {
  _want_whole("isprime", n)
  prime = n == 2 or (n > 1 and n % 2 == 1)
  k = 3
  while any(prime and k * k <= n) {
    prime = prime and (n % k != 0 or n == k)
    k += 2
  }
  prime
}
# factorize(n): the prime factors of an integer n >= 1, ascending, with
# multiplicity
#     factorize(360)              #> [2, 2, 2, 3, 3, 5]
factorize(n) = {
  _want_whole("factorize", n)
  assert(n >= 1, "factorize takes an integer from 1 on")
  factors = iota(64) * 0
  count = 0
  k = 2
  while k * k <= n {
    if n % k == 0 {
      factors[count] = k
      count += 1
      n = n // k
    } else { k += if k == 2 { 1 } else { 2 } }
  }
  if n > 1 { factors[count] = n; count += 1 }
  factors[..count]
}
