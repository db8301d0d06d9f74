#! error E0208 9:6-9:7 "the parameter `x` stands twice"
#! error E0208 10:11-10:12 "the parameter `x` stands twice"
#! error E0208 11:13-11:18 "the parameter `n` stands twice"
#! error E0208 12:13-12:18 "the field `a` stands twice"
#! error E0208 13:5-13:6 "the name `a` stands twice"
#! error E0208 14:9-14:10 "the name `i` stands twice"
#! error E0208 15:14-15:15 "the parameter `a` stands twice"
# The last of them used to count, without a word.
f(x, x) = x
g((y, (x, x)) -> x)
h(x; n = 1, n = 2) = x
r = (a = 1, a = 2)
(a, a) = (1, 2)
for (i, i) in zip([1, 2], [3, 4]) { }
problem p(a, a) {
  domain x in [0, 1]
  field u
  u == a
}
