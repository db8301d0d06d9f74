# Tuples, records, lists, ranges, destructuring. Oracle: expected values.

t = (1, 2.5, "three")
t                    #> (1, 2.5, "three")
t[0]                 #> 1
t[-1]                #> three
t[1..]               #> (2.5, "three")
len(t)               #> 3
(1,)                 #> (1,)
()                   #> ()
(1, (2, 3))          #> (1, (2, 3))
(a, b) = (1, 2)
a + b                #> 3
(a, b) = (b, a)
a                    #> 2
a, b = 5, 6
b                    #> 6
(p, (q, r)) = (1, (2, 3))
q * r                #> 6
(u, v) = [10, 20]
u                    #> 10
_, w = (1, 2)
w                    #> 2
(1, 2) + (3, 4)      #> (4, 6)
2 * (1, 2)           #> (2, 4)
(...(1, 2), 3)       #> (1, 2, 3)
(1, 2) == (1, 2)     #> true
(1, 2) == (1, 3)     #> false
swap(p) = (p[1], p[0])
swap((1, 2))         #> (2, 1)

r = (W = [1, 2], b = 0.5)
r                    #> (W = [1, 2], b = 0.5)
r.W                  #> [1, 2]
r.b                  #> 0.5
len(r)               #> 2
keys(r)              #> ("W", "b")
values(r)            #> ([1, 2], 0.5)
has(r, "W")          #> true
has(r, "x")          #> false
field(r, "b")        #> 0.5
field(r, "zzz", 7)   #> 7
(...r, b = 1.5)      #> (W = [1, 2], b = 1.5)
(...r, c = 3)        #> (W = [1, 2], b = 0.5, c = 3)
(b = 1, ...r)        #> (b = 0.5, W = [1, 2])
r.b = 9.0
r.b                  #> 9.0
r.W[0] = 7
r.W                  #> [7, 2]
r.b += 1
r.b                  #> 10.0
2 * (x = 1, y = 2)   #> (x = 2, y = 4)
(x = 1, y = 2) + (x = 10, y = 20)    #> (x = 11, y = 22)
(x = 1) == (x = 1)   #> true
(x = 1).x            #> 1
nested = (a = (b = (c = 42)))
nested.a.b.c         #> 42
nested.a.b.c = 43
nested.a.b.c         #> 43
record(("m", "n"), (1, 2))   #> (m = 1, n = 2)
norm2(p) = p.x^2 + p.y^2
norm2((x = 3, y = 4))        #> 25
area((w, h)) = w * h
area((3, 4))         #> 12

l = list(1, "two", [3, 4])
l                    #> list(1, "two", [3, 4])
l[1]                 #> two
l[2][0]              #> 3
len(l)               #> 3
push(l, 5)           #> list(1, "two", [3, 4], 5)
len(list())          #> 0
l[0] = 100
l[0]                 #> 100
push([1, 2], 3)      #> [1, 2, 3]
push([], 1)          #> [1]
push([1, 2; 3, 4], [5, 6])   #> [[1, 2], [3, 4], [5, 6]]
zip([1, 2], (3, 4))  #> list((1, 3), (2, 4))
enumerate(("a", "b"))        #> list((0, "a"), (1, "b"))
map(x -> x^2, (1, 2, 3))     #> (1, 4, 9)
map((a, b) -> a + b, list(1, 2), list(10, 20))       #> list(11, 22)
leaves((a = 1, b = (2, 3)))  #> list(1, 2, 3)
same((a = 1), (a = 1))       #> true
same([1, 2], [1, 2])         #> true
same([1, 2], [1, 3])         #> false
same([1, 2], [1, 2, 3])      #> false

0..5                 #> 0..5
collect(0..5)        #> [0, 1, 2, 3, 4]
collect(0..10 by 3)  #> [0, 3, 6, 9]
collect(5..0 by -2)  #> [5, 3, 1]
collect(0..0)        #> []
len(0..5)            #> 5
len(0..10 by 3)      #> 4
(0..5)[2]            #> 2
(2..10 by 2)[1]      #> 4
(0..5) + 1           #> [1, 2, 3, 4, 5]
2 * (0..3)           #> [0, 2, 4]
sum(0..5)            #> 10
kind(0..5)           #> range
sum(x for x in 0..4) #> 6
(...(0..3), 9)       #> (0, 1, 2, 9)
kind(t)              #> tuple
kind(r)              #> record
kind(l)              #> list
kind([1])            #> array
kind(sin)            #> function
none == none         #> true
kind(none) == "none" #> true
(...(0..3))          #> (0, 1, 2)
(...t)               #> (1, 2.5, "three")
(...(1, 2), ...[3, 4])       #> (1, 2, 3, 4)
(...r)               #> (W = [7, 2], b = 10.0)

# A branch that ends with an assertion has no value when the assertion holds.
# The types of the names are then known only at run time.
outer(x) = {
  (a, b) = if x > 0 { (x, 2.0) } else { assert(x < -1, "between") }
  a + b
}
outer(1.0)                        #> 3.0
try { outer(-0.5) } catch m { m } #> between
try { outer(-2.0) } catch m { m } #> cannot take none apart into 2 names
kinds(n) = {
  (a, (b, c)) = if n > 0 { (n, ("s", [1.0, 2])) } else { list(ones(2), (a = 1, b = none)) }
  (c, b, a)
}
kinds(1)                          #> ([1, 2], "s", 1)
kinds(0)                          #> (none, 1, [1, 1])
rows_of(n) = { (a, b) = if n > 0 { [1, 2; 3, 4] } else { (1, 2, 3) }; b }
rows_of(1)                        #> [3, 4]
try { rows_of(0) } catch m { m }  #> 3 values for 2 names
