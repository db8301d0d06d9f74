# The ends of a slice are in 0 .. n; negative ones count from the end. Other
# ends are errors in every context, whether they are known before the program
# runs or not.

failing(f) = try { f(); "none" } catch m { m }
outside(f) = failing(f) != "none"
x = [1, 2, 3]
(outside(() -> x[1..9]), outside(() -> x[..-5]), outside(() -> x[-7..2]), outside(() -> x[4..]), outside(() -> x[3..]))   #> (true, true, true, true, false)
(outside(() -> x[3..0 by -1]), outside(() -> x[2..-5 by -1]), outside(() -> x[2.. by -1]))      #> (true, true, false)
failing(() -> x[..-5])       #> the end -2 of this slice is out of range for length 3
# Extents and ends known only at run time.
ends(x, k) = (outside(() -> x[1..k]), outside(() -> x[k..]), outside(() -> x[k..0 by -1]), outside(() -> x[3..k by 2]))
ends(iota(20), 35)           #> (true, true, true, true)
ends(iota(20), 20)           #> (false, false, true, false)
ends(iota(20), 19)           #> (false, false, false, false)
far(x) =
  (outside(() -> x[..-35]), outside(() -> x[1..35]), outside(() -> x[-35..]), outside(() -> x[35..]),
    outside(() -> x[35..0 by -1]), outside(() -> x[..-20]))
far(iota(20))                #> (true, true, true, true, true, false)
# -k counts from the end when k is known only at run time, like a literal does.
last(x, k) = (x[-k..], x[..-k], x[1..-k], x[-k..-k - 1 by -1], x[-k - 1..-k])
last([1, 2, 3, 4, 5], 2)     #> ([4, 5], [1, 2, 3], [2, 3], [4], [3])
last([1, 2, 3, 4, 5], 1)     #> ([5], [1, 2, 3, 4], [2, 3, 4], [5], [4])
tails(x, y) = (x[..-len(y)], x[-len(y)..])
tails([1, 2, 3, 4], [0, 0, 0])       #> ([1], [2, 3, 4])
lags(x) = [sum(x[..-k] * x[k..]) for k in 1..4]
lags([1, 2, 3, 4, 5])        #> [40, 26, 14]
map(k -> sum(iota(5)[-k..]), [1, 2, 3])      #> [4, 7, 9]
s = 0
for k in 1..4 { s += sum(iota(5)[..-k]) }
s                            #> 10
blank(x, k) = { x[-k..] = 0.0; x[..-k - 2] *= 2; x }
blank([1.0, 2, 3, 4, 5], 2)  #> [2, 2, 3, 0, 0]
grad((x, k) -> sum(x[-k..]^2) + sum(x[..-k] * x[k..]))([1.0, 2, 3, 4, 5], 2)       #> [3, 4, 6, 10, 13]
dense(jacobian(x -> last(x + 0.0, len(x) - 2)[0]; sparse = true)(ones(4)))         #> [[0, 0, 1, 0], [0, 0, 0, 1]]
columns(A, k) = (A[.., -k..], A[..-k, 0])
columns([1, 2, 3; 4, 5, 6], 1)       #> ([[3], [6]], [1])
(outside(() -> (k -> x[..-k])(4)), outside(() -> (k -> x[-k..])(4)), outside(() -> (k -> x[-k..])(3)))     #> (true, true, false)
# Without a minus, when the value itself is negative.
mid(x, k) = (x[..k], x[k..], x[1..k], x[k.. by -1])
mid([1, 2, 3, 4, 5], -2)     #> ([1, 2, 3], [4, 5], [2, 3], [4, 3, 2, 1])
mid([1, 2, 3, 4, 5], 3)      #> ([1, 2, 3], [4, 5], [2, 3], [4, 3, 2, 1])
found(x, y) = { k = sum(y); (x[..k], x[k - 1..]) }
(found([1, 2, 3], [-1, 0]), found([1, 2, 3], [1, 1]))    #> (([1, 2], [2, 3]), ([1, 2], [2, 3]))
down(x, n) = if n < -2 { 0 } else { sum(x[..n]) + down(x, n - 1) }
down([1, 2, 3], 3)           #> 14
around(x, n) = { s = 0; for k in -2..n { s += sum(x[..k]) }; s }
around([1, 2, 3], 2)         #> 5
wiped(x, k) = { x[k..] = 0; x }
wiped([1, 2, 3], -2)         #> [1, 0, 0]
grad((x, k) -> sum(x[..k]^2))([1.0, 2, 3], -1)           #> [2, 4, 0]
map((x, k) -> x[k..][0], [1, 2, 3; 4, 5, 6], [-1, 1])    #> [3, 5]
pair(x, y) = { k = sum(y); x[k..k + 2] }
(outside(() -> mid(x, -4)), outside(() -> pair(x, [-3, 0])), pair(x, [1, 0]))    #> (true, true, [2, 3])
# Unused, and in the `try` of a derivative.
cut(x, k) = try { x[..k]; sum(x^2) } catch m { 5sum(x) }
(cut(ones(20), 20), cut(ones(20), 21))                   #> (20.0, 100.0)
grad(x -> cut(x, 21))(ones(20))[0]                       #> 5.0
grad(x -> cut(x, 20))(ones(20))[0]                       #> 2.0
shorter(x) = try { zeros(len(x) - 30); true } catch m { false }
(shorter(ones(20)), shorter(ones(40)))                   #> (false, true)
# Lists and strings.
(outside(() -> list(1, 2, 3)[..-5]), outside(() -> list(1, 2, 3)[1..7]), outside(() -> list(1, 2, 3)[3..]),
  outside(() -> (1, 2)[2.. by -1]))  #> (true, true, false, true)
(outside(() -> "abc"[..-5]), outside(() -> "abc"[1..9]), outside(() -> "abc"[3..]), outside(() -> "abc"[3.. by -1]))    #> (true, true, false, true)

# A method that cannot solve a problem.
problem heat {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx
  u == sin(π*x) at t = 0
  u == 0 at x = 0, x = 1
}
try { solve(heat, fourier(16)).method } catch m { "refused" }       #> refused
