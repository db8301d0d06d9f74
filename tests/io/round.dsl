# Round trips through files: every dtype, every number of axes, empty arrays,
# views, structures, functions, solutions.
at(name) = "/tmp/atled-data-{name}"

# Whether shape, dtype and values survive.
check(name, x) = {
  save(at(name), x, compress = true)
  y = load(at(name))
  bool(str(shape(y)) == str(shape(x))) and bool(dtype(y) == dtype(x)) and bool(same(y, x))
}
cube = reshape(iota(24), 2, 3, 4)
strange = [0.1, -0.0, 1e-310, 1e308, 1.0/0, -1.0/0]
for ending in list("npy", "h5") {
  print(ending, check("b.{ending}", cube > 5), check("i.{ending}", i32(cube)), check("l.{ending}", cube), check("f.{ending}", f32(cube) / 7), check("d.{ending}", strange), check("c.{ending}", c64(cube + 1im)), check("z.{ending}", cube / 3 + 0.5im))
  print(check("0.{ending}", 2.5), check("01.{ending}", 3), check("02.{ending}", true), check("03.{ending}", 1.5 - 2im), check("04.{ending}", f32(0.1)))
  print(check("e1.{ending}", zeros(0)), check("e2.{ending}", i32(zeros(0, 3))), check("e3.{ending}", zeros(2, 0, 3) > 0))
  print(check("v1.{ending}", cube[.. by -1, 1.., .. by 2]), check("v2.{ending}", cube[0]'), check("v3.{ending}", broadcast_to([1.0, 2], 3, 2)))
  print(check("r5.{ending}", reshape(cube, 2, 1, 3, 4, 1)), check("r8.{ending}", reshape(cube, 1, 2, 1, 3, 1, 2, 2, 1)))
}
#> npy true true true true true true true
#> true true true true true
#> true true true
#> true true true
#> true true
#> h5 true true true true true true true
#> true true true true true
#> true true true
#> true true true
#> true true

# NaN, and the signs of zeros
save(at("nan.npy"), [0.0/0, -0.0])
x = load(at("nan.npy"))
x                                        #~ [0.0/0, 0]
1 / x[1]                                 #> -inf
save(at("nan.csv"), [0.0/0, -0.0; 1.5, 1.0/0])
y = load(at("nan.csv"))
y                                        #~ [0.0/0, 0; 1.5, 1.0/0]
1 / y[0, 1]                              #> -inf

# structures
all_of_it = (n = none, l = list(1, "two", list()), t = (1.5, true), r = 2..9 by 3, s = "ä\n\"{1}\"", e = (a = zeros(0, 2), b = "")  , names = list("a", "", "longer"))
for ending in list("npz", "h5") {
  save(at("all.{ending}"), all_of_it)
  print(load(at("all.{ending}")))
}
#> (n = none, l = list(1, "two", list()), t = (1.5, true), r = 2..9 by 3, s = "ä\n\"1\"", e = (a = [], b = ""), names = list("a", "", "longer"))
#> (n = none, l = list(1, "two", list()), t = (1.5, true), r = 2..9 by 3, s = "ä\n\"1\"", e = (a = [], b = ""), names = list("a", "", "longer"))
save(at("names.npz"), record(("a/b", "50 %", "ä"), (1, 2, 3)))
keys(load(at("names.npz")))              #> ("a/b", "50 %", "ä")
save(at("names.h5"), record(("a/b", "50 %", "ä"), (1, 2, 3)))
keys(load(at("names.h5")))               #> ("a/b", "50 %", "ä")
save(at("list.h5"), list(1, [2.0, 3]))
load(at("list.h5"))                      #> list(1, [2, 3])
save(at("one.h5"), none)
nothing = load(at("one.h5"))
kind(nothing)                            #> none

# functions, with their captured values
k = 2.5
w = [1.0, 2]
scaled = x -> k * sum(x * w) + helper(1.0)
helper(x) = x + 1
save(at("f.h5"), (f = scaled, g = sin ∘ cos, p = x -> x^2))
k = 100.0
r = load(at("f.h5"))
r.f([1.0, 1])                            #> 9.5
grad(r.f)([1.0, 1])                      #> [2.5, 5]
r.g(1.0)                                 #> 0.5143952585235492
r.p'(3.0)                                #> 6.0
problem decay(rate = 2.0) {
  domain t in [0, 1]
  field u
  u_t == -rate * u
  u == 1 at t = 0
}
save(at("problem.npz"), (p = decay(3.0),))
p = load(at("problem.npz")).p
solve(p, bdf(), rtol = 1e-9, atol = 1e-11).u(0.5)   #~ exp(-1.5) tol 1e-7

# solutions
problem heat(k = 1.0) {
  domain t in [0, 0.1], x in [0, 1]
  field u
  u_t == k*u_xx
  u == sin(π*x) at t = 0
  u == 0        at x = 0, x = 1
}
s = solve(heat(), fd(n = 21), rtol = 1e-8, atol = 1e-10);
for ending in list("npz", "h5") {
  save(at("solution.{ending}"), s, compress = true)
  q = load(at("solution.{ending}"))
  print(q.u(0.05, [0.3, 0.5]) == s.u(0.05, [0.3, 0.5]), q.stats.steps == s.stats.steps, q.method)
}
#> [true, true] true fd
#> [true, true] true fd
q = load(at("solution.h5"));
∂(q.u, 1)(0.05, 0.25) == ∂(s.u, 1)(0.05, 0.25)      #> true
c = solve(decay(), bdf(), rtol = 1e-9, atol = 1e-11);
save(at("ode.h5"), c)
d = load(at("ode.h5"));
d.u(0.3) == c.u(0.3)                     #> true
save(at("solution.vti"), s)
v = load(at("solution.vti"));
shape(v.point.u)                         #> (21, 201)
v.spacing                                #~ [0.05, 0.0005]
v.point.u[10, 100] == s.u(0.05, 0.5)     #> true
save(at("moment.vti"), s, at = 0.05)
len(load(at("moment.vti")).point.u)      #> 201
save(at("ode.vti"), c)
len(load(at("ode.vti")).point.u)         #> 201

# tables
table = (t = [0.1, 2/3, -3e-300], n = [1, -9007199254740993, 9223372036854775807], name = list("a", "b, c", "say \"x\"\nand y"), ok = [true, false, true], z = [1 + 2im, -0.5im, 3], digits = list("12", "", "true"))
for ending in list("csv", "tsv") {
  save(at("table.{ending}"), table)
  print(load(at("table.{ending}")))
  print(load(at("table.{ending}")) .t == table.t)
}
#> (t = [0.1, 0.666667, -3e-300], n = [1, -9007199254740993, 9223372036854775807], name = list("a", "b, c", "say \"x\"\nand y"), ok = [true, false, true], z = [1 + 2im, -0 - 0.5im, 3 + 0im], digits = list("12", "", "true"))
#> [true, true, true]
#> (t = [0.1, 0.666667, -3e-300], n = [1, -9007199254740993, 9223372036854775807], name = list("a", "b, c", "say \"x\"\nand y"), ok = [true, false, true], z = [1 + 2im, -0 - 0.5im, 3 + 0im], digits = list("12", "", "true"))
#> [true, true, true]
save(at("m.csv"), [1, 2; 3, 4])
load(at("m.csv"))                        #> [[1, 2], [3, 4]]
save(at("m2.csv"), (a = [1, 2], b = [0.5, 1]), header = false)
load(at("m2.csv"))                       #> [[1, 0.5], [2, 1]]
load(at("m2.csv"), header = false)       #> [[1, 0.5], [2, 1]]
save(at("semi.csv"), (a = [1, 2], b = list("x", "y")), separator = ";")
read_text(at("semi.csv"))                #> a;b 1;x 2;y
load(at("semi.csv"))                     #> (a = [1, 2], b = list("x", "y"))
write_text(at("hand.csv"), "x, y ,words\n 1 ,NA,\"a \"\"b\"\"\"\n2,,c\n\n3,1e3,\n")
h = load(at("hand.csv"))
h.x                                      #> [1, 2, 3]
h.y                                      #~ [0.0/0, 0.0/0, 1000]
h.words                                  #> list("a \"b\"", "c", "")
write_text(at("hand.dat"), "1;2\n3;4\n")
# Row names, as pandas and R write them, are the column c0. So is a column of
# missing values in a table without a header.
write_text(at("index.csv"), ",a,b\n0,1.5,x\n1,2.5,y\n")
load(at("index.csv"))                    #> (c0 = [0, 1], a = [1.5, 2.5], b = list("x", "y"))
write_text(at("index.csv"), "\"\",\"a\"\n\"first\",1\n\"second\",2\n")
load(at("index.csv"))                    #> (c0 = list("first", "second"), a = [1, 2])
write_text(at("index.csv"), ",a\n,b\n")
load(at("index.csv")).c1                 #> list("a", "b")
load(at("hand.dat"), format = "csv")     #> [[1, 2], [3, 4]]
load(at("hand.dat"), format = "csv", separator = ";", header = true)   #> (1 = [3], 2 = [4])

# JSON
j = (i = [1, -9223372036854775807], x = [0.1, 2.0, 1e300], m = [1, 2; 3, 4], s = "ä\"\\\n\t", l = list(1, "a", none, true), e = [], r = (deep = list(list(1, "x"), 2.5),), ok = [true, false], n = 0..3)
save(at("j.json"), j)
load(at("j.json"))                       #> (i = [1, -9223372036854775807], x = [0.1, 2, 1e+300], m = [[1, 2], [3, 4]], s = "ä\"\\\n\t", l = list(1, "a", none, true), e = [], r = (deep = list(list(1, "x"), 2.5)), ok = [true, false], n = [0, 1, 2])
dtype(load(at("j.json")).i)              #> i64
dtype(load(at("j.json")).x)              #> f64
load(at("j.json")).x[0] == 0.1           #> true
write_text(at("hand.json"), "\{\"a\": \"\\u00e4\\ud83d\\ude00\", \"b\": [[1, 2.5], [3, 4]], \"c\": [[1], [2, 3]], \"d\": 1E3\}")
load(at("hand.json"))                    #> (a = "ä😀", b = [[1, 2.5], [3, 4]], c = list([1], [2, 3]), d = 1000.0)

# grids
g = (points = [0.0, 0; 1, 0; 0, 1; 1, 1], cells = [0, 1, 2; 1, 3, 2], point = (T = f32([1, 2, 3, 4]), v = [0.0, 1; 2, 3; 4, 5; 6, 7]), cell = (k = [true, false], z = [1im, 2]))
save(at("g.vtu"), g, compress = true)
load(at("g.vtu"))                        #> (points = [[0, 0], [1, 0], [0, 1], [1, 1]], cells = [[0, 1, 2], [1, 3, 2]], types = [5, 5], point = (T = [1, 2, 3, 4], v = [[0, 1], [2, 3], [4, 5], [6, 7]]), cell = (k = [true, false], z = [0 + 1im, 2 + 0im]))
save(at("cloud.vtu"), (points = [0.0, 0, 1; 1, 2, 3], point = (T = [1, 2],)))
load(at("cloud.vtu"))                    #> (points = [[0, 0, 1], [1, 2, 3]], cells = [[0], [1]], types = [1, 1], point = (T = [1, 2]), cell = ())

# strings
write_text(at("t.txt"), "one\r\ntwo\n\nthree")
read_lines(at("t.txt"))                  #> list("one", "two", "", "three")
save(at("t2.txt"), list("a", "b"))
load(at("t2.txt"))                       #> a b
exists(at("t2.txt"))                     #> true
exists("/tmp/no such file")              #> false
list_files("tests/io", ".dsl")           #> list("ir_binary.dsl", "loaded_in_functions.dsl", "npz_alone.dsl", "round.dsl", "samples.dsl", "solutions.dsl", "xml.dsl")

# in functions with declared types
total(v: f64[n], m: i64[a, b]) = sum(v) + sum(m) * n + a
load_total() = total(load("/tmp/atled-data-decl.npy"), load("/tmp/atled-data-m.csv"))
save("/tmp/atled-data-decl.npy", f32([1, 2, 3]))
load_total()                             #> 38.0
fields(r: (t: f64[n], n: i64[n])) = sum(r.t * r.n)
save(at("rec.npz"), (t = [1.0, 2], n = [3, 4], more = "x"))
fields(load(at("rec.npz")))              #> 11.0
max(sum(load(at("m.csv")), axis = 0))    #> 6
try { load("/tmp/no such file.npy") } catch m { m }   #> /tmp/no such file.npy: No such file or directory
