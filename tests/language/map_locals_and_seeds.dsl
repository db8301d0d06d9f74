# `map` of functions whose locals change their type before an exit, and of
# functions that call `seed` inside a derivative. Oracle: the function called by
# itself.

f(x) = {
  s = 0.0
  for i in 0..3 { l = list(); l = push(l, x); s += l[0]; if i == 1 { break } }
  s
}
map(f, [1.0, 2.0])                    #~ [2, 4]
map(f', [1.0, 2.0])                   #~ [2, 2]
grad(x -> sum(map(f, x)))([1.0, 2.0]) #~ [2, 2]
# Batch elements exit in different iterations.
g(x) = {
  s = 0.0
  for i in 0..4 { l = 0; l = [x, 2x]; s += sum(l); if s > 5 { break }; l = none }
  s
}
map(g, [1.0, 2.0, 7.0])               #~ [6, 6, 21]
stack(g(1.0), g(2.0), g(7.0))         #~ [6, 6, 21]
map(g', [1.0, 2.0, 7.0])              #~ [6, 3, 3]
h(x) = {
  k = 0
  while true { l = (x, 1); l = list(x, 2); k += 1; if k * x > 3 { return l[0] * k }; l = "none" }
}
map(h, [1.0, 2.0, 5.0])               #~ [4, 4, 5]

# Seeds.
r(x) = { seed(3); x*rand() }
u = { seed(3); rand() }
map(r, [1.0, 2.0])                    #~ [u, 2u]
map(r', [1.0, 2.0])                   #~ [u, u]
map(grad(r), [1.0, 2.0])              #~ [u, u]
map(r'', [1.0, 2.0])                  #~ [0, 0]
map(x -> jvp(r, x, 3.0)[1], [1.0, 2.0])      #~ [3u, 3u]
map(x -> taylor(r, x, 2), [1.0, 2.0]) #~ [u, u, 0; 2u, u, 0]
grad(x -> sum(map(r, x)))([1.0, 2.0]) #~ [u, u]
jacobian(x -> map(r, x))([1.0, 2.0])  #~ [u, 0; 0, u]
q(x) = { seed(3); x^2*rand() + x*rand() }
v = { seed(3); rand(); rand() }
map(q', [1.0, 2.0])                   #~ [2u + v, 4u + v]
map(q'', [1.0, 2.0])                  #~ [2u, 2u]
[r'(x) for x in [1.0, 2.0]]           #~ [u, u]
# After a map that draws, the random state is that of the last element.
w = { map(r', [1.0, 2.0]); rand() }
w                                     #~ v
