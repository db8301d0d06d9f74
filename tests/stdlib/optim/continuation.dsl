# Curves of zeros by continuation: past the folds of a circle and of a cubic,
# and Bratu's problem past its turning point.

c = follow((x, p) -> x^2 + p^2 - 1, [0.0], 1.0; step = -0.1, most = 0.2, steps = 60)
max(abs(c.x[.., 0]^2 + c.p^2 - 1)) < 1e-12   #> true
len(c.folds) >= 1            #> true
# p = x^3 - x has folds at x = ±1/sqrt(3)
c = follow((x, p) -> x^3 - x - p, [-1.5], -1.875; step = 0.1, most = 0.1, until = (-3, 3))
len(c.folds)                 #> 2
abs(c.p[c.folds] - [2, -2] / (3 * sqrt(3))) < 0.02   #> [true, true]
c.p[-1] > 3                  #> true
# u'' + p exp(u) = 0, u = 0 at both ends: the largest p is 3.513830719125161
n = 19
h = 1 / (n + 1)
bratu(u, p) = { v = concat([0.0], u, [0.0]); (v[2..] - 2 * v[1..-1] + v[..-2]) / h^2 + p * exp(u) }
b = follow(bratu, zeros(n), 0.0; step = 0.3, steps = 30)
abs(max(b.p) - 3.5138307) < 0.02     #> true
len(b.folds)                 #> 1
try { str(follow((x, p) -> x^2 + 1 + p^2, [0.0], 1.0).p) } catch m { contains(m, "no zero") }        #> true
