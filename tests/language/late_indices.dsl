# Items of lists and tuples at an index that only the run knows, lists and
# strings that grow, and rows of values whose type only the run knows. Oracle:
# the same with known indices.

words = split("the cat sat on the mat", " ")
i = 0
text = ""
while i < len(words) { text = text + words[i]; i = i + 1 }
text                                     #> thecatsatonthemat

last(w, k) = { j = 0
  for i in 0..k { j = mod(j + 2, 3) }
  w[j] }
last(list("a", "b", "c"), 5)             #> b
last((1.0, [2.0, 3], "c"), 5)            #> [2, 3]
last((1, 2, 3), 4)                       #> 3

# functions, and arrays of several lengths
fs = (sin, x -> x^2, cos)
call(x) = { k = argmax(x)
  fs[k](0.5) }
call([1.0, 3, 2])                        #> 0.25
call([1.0, 3, 4])                        #~ cos(0.5)
names = ("x", "y", "z")
largest(x) = names[argmax(x)]
largest([1.0, 3, 2])                     #> y
largest([5.0, 3, 2])                     #> x
names[-argmax([1.0, 3])]                 #> z

# The same function with an index that is known, and one that is not.
item(l, i) = l[i]
item(words, 1)                           #> cat
i = 0
n = 0
while i < 6 { n = n + len(item(words, i)); i = i + 1 }
n                                        #> 17
item(words, 2)                           #> sat
item((1, "b"), 0) + 1                    #> 2
through(l, i) = item(l, i + 1)
through(words, 1)                        #> sat
i = 0
text = ""
while i < 5 { text = text + through(words, i); i = i + 1 }
text                                     #> catsatonthemat

thrice(l, i) = { s = ""
  for k in 0..3 { s = s + l[i] }
  s }
turned(l, i) = { s = ""
  for k in 0..3 { s = s + l[mod(i + k, 3)] }
  s }
letters = list("a", "b", "c")
(thrice(letters, 1), turned(letters, 1)) #> ("bbb", "bca")
i = 0
text = ""
while i < 3 { text = text + thrice(letters, i) + turned(letters, i) + " "; i = i + 1 }
text + "."                               #> aaaabc bbbbca ccccab .

# A loop of known length gives its index a value: shapes may depend on it.
sizes = (2, 3)
total = 0.0
for k in 0..2 { total = total + sum(ones(sizes[k])) }
total                                    #> 5.0

# Items of one type stay arrays, which have derivatives.
chosen(x) = { t = (x, 2x, x^2)
  i = 0
  s = 0.0
  while i < 3 { s = s + t[i] * (i + 1); i = i + 1 }
  s }
chosen(3.0)                              #> 42.0
chosen'(3.0)                             #> 23.0
chosen''(3.0)                            #> 6.0

# Other items are constants of a derivative when they do not depend on x.
number(x: f64) = x
scaled(x) = { i = 1
  while x + i < 3 { i = i + 1 }
  x * number(list(5.0, "b")[i - i]) }
scaled(3.0)                              #> 15.0
scaled'(3.0)                             #> 5.0
first(l) = { i = 1
  while i > 0 { i = i - 1 }
  l[i] }
jacobian(x -> map(y -> y * number(first(list(2.0, "a"))), x))([1.0, 2])   #> [[2, 0], [0, 2]]

# outside
try { item(words, 6 + i64(rand() * 0)) } catch m { m }    #> index 6 is out of range for length 6
try { k = 7 + argmax([1.0, 0]); words[k] } catch m { m }  #> index 7 is out of range for length 6

# What grows in a loop leaves what was kept of it as it was.
l = list()
kept = list()
s = ""
t = ""
for i in 0..5000 {
  if i == 3 { kept = l; t = s }
  l = push(l, i)
  s = s + "ab"
}
(len(l), l[4999], kept, len(s), t)       #> (5000, 4999, list(0, 1, 2), 10000, "ababab")
l = list(1)
for i in 0..4200 { if i < 3 { l = push(l, l) } else { l = push(l, 1) } }
(len(l), l[3])                           #> (4201, list(1, list(1), list(1, list(1))))
grown(l, n) = { k = l
  for i in 0..n { k = push(k, l) }
  k }
k = grown(list(1, 2), 4200)
(len(k), k[4201], k[0])                  #> (4202, list(1, 2), 1)
grown((1, 2), 2)                         #> (1, 2, (1, 2), (1, 2))

# A value that no row decides is that of each row.
spelled(n) = { s = "x"
  for k in 0..n { s = s + "y" }
  len(s) }
map(i -> spelled(5000), 0..3)            #> [5001, 5001, 5001]
sum(map(i -> spelled(5000), 0..3))       #> 15003
map(i -> (spelled(5000), i), 0..2)       #> ([5001, 5001], [0, 1])
map(i -> map(j -> spelled(5000), 0..2), 0..3)   #> [[5001, 5001], [5001, 5001], [5001, 5001]]
map_rows(r -> spelled(5000), (a = [1.0, 2],))   #> [5001, 5001]
listed(n) = { l = list()
  for k in 0..n { l = push(l, [k, 1]) }
  l }
map(i -> listed(5000)[2], 0..2)          #> [[2, 1], [2, 1]]

# Items that are replaced, and parts that are taken, at such an index.
l = list("a", "b", "c")
kept = l
i = 0
while i < 3 { l[i] = "z{i}"; i = i + 1 }
(l, kept)                                #> (list("z0", "z1", "z2"), list("a", "b", "c"))
renewed(l, x) = { k = argmax(x)
  l[k] = "new"
  l }
renewed(list(1, "b", 3.0), [1.0, 2])     #> list(1, "new", 3.0)
renewed((1, 2), [3.0, 2])                #> ("new", 2)
l = (1, 2.5, [3.0, 4])
i = 0
while i < 3 { l[i] += 1; i = i + 1 }
l                                        #> (2, 3.5, [4, 5])
l = list(1, "b", 3.0)
i = 1
text = ""
while i < 3 { text = text + "{l[i..]} {l[0..i]} "; i = i + 1 }
text + "."                               #> list("b", 3.0) list(1) list(3.0) list(1, "b") .
many = list()
for i in 0..5000 { many = push(many, i) }
held = many
for i in 0..5000 { many[i] = -many[i] }
(many[4999], held[4999], len(many))      #> (-4999, 4999, 5000)
made(n) = { l = list()
  for i in 0..n { l = push(l, i) }
  l[2] = "z"
  l[3] += 1
  (l[2], l[3], l[4]) }
made(5000)                               #> ("z", 4, 4)
try { k = 3 + argmax([1.0, 0]); l[k] = 1; l } catch m { m }   #> index 3 is out of range for length 3

# Items of several types keep theirs at top level too.
mixed = (9007199254740993, 2.5, true)
turn = 0
while turn < 3 { print(mixed[turn]); turn += 1 }
#> 9007199254740993
#> 2.5
#> true
print(([1, 2], [2.5, 3])[argmax([1.0, 0.5])])   #> [1, 2]
