# Functions of loaded values, whose types are known only at run time.
save("/tmp/atled-loaded.npz", (a = f32([1.0, 2]), b = 2.5, n = [1, 2]))
dtype(f64(load("/tmp/atled-loaded.npz").a))        #> f64
sum(f64(load("/tmp/atled-loaded.npz").a))          #> 3.0
total(file) = { w = load(file); sum(f64(w.a)) }
total("/tmp/atled-loaded.npz")                     #> 3.0
flat(w) = sum(flatten(w)[0])
both(file) = flat(load(file))
both("/tmp/atled-loaded.npz")                      #> 5.5

# arithmetic, indices, shapes, loops, branches
scaled(file) = { w = load(file); 2f64(w.a) + w.b * w.n }
scaled("/tmp/atled-loaded.npz")                    #> [4.5, 9]
last(file) = load(file).a[-1]
last("/tmp/atled-loaded.npz")                      #> 2.0
norms(file) = { w = load(file); norm(f64(w.a)) + max(w.n) + len(w.a) + shape(w.n)[0] }
norms("/tmp/atled-loaded.npz")                     #~ sqrt(5) + 6
walk(file) = { w = load(file); s = 0.0; for i in 0..len(w.n) { s = s + f64(w.n[i]) * w.b }; s }
walk("/tmp/atled-loaded.npz")                      #> 7.5
either(file) = { w = load(file); if w.b > 2 { f64(w.a) } else { zeros(2) } }
either("/tmp/atled-loaded.npz")                    #> [1, 2]
doubled(file) = map(v -> 2f64(v), load(file))
doubled("/tmp/atled-loaded.npz").b                 #> 5.0
solved(file) = { w = load(file); linsolve([2.0, 0; 0, 4], f64(w.a)) }
solved("/tmp/atled-loaded.npz")                    #> [0.5, 0.5]

# words of a text file are converted to numbers on request
write_text("/tmp/atled-loaded.txt", "1 2.5\n3 4\n")
column(file, k) = { s = 0.0; for l in read_lines(file) { s = s + f64(split(l, " ")[k]) }; s }
column("/tmp/atled-loaded.txt", 1)                 #> 6.5
whole(file) = i64(split(read_lines(file)[1], " ")[0]) + 1
whole("/tmp/atled-loaded.txt")                     #> 4
many(file) = zeros(i64(load(file).n[1]), 2)
shape(many("/tmp/atled-loaded.npz"))               #> (2, 2)
number(x: f64) = x
grad(x -> number(load("/tmp/atled-loaded.npz").b) * x^2)(3.0) #> 15.0
