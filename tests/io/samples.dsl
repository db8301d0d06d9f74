# Files written by NumPy, pandas, h5py and VTK's own writers
# (tests/io/write_samples.py).
s = "tests/io/samples/"
grid = reshape(iota(6), 2, 3)

# npy: every numeric dtype
x = load("{s}bool.npy")
x                                        #> [[false, true, true], [true, true, true]]
x = load("{s}int8.npy")
dtype(x)                                 #> i32
same(x, grid - 2)                        #> true
same(load("{s}uint8.npy"), grid)         #> true
same(load("{s}int16.npy"), grid - 2)     #> true
same(load("{s}uint16.npy"), grid)        #> true
dtype(load("{s}int32.npy"))              #> i32
same(load("{s}int32.npy"), grid - 2)     #> true
dtype(load("{s}uint32.npy"))             #> i64
same(load("{s}uint32.npy"), grid)        #> true
dtype(load("{s}int64.npy"))              #> i64
same(load("{s}int64.npy"), grid - 2)     #> true
same(load("{s}uint64.npy"), grid)        #> true
dtype(load("{s}float16.npy"))            #> f32
same(load("{s}float16.npy"), f64(grid - 2))   #> true
dtype(load("{s}float32.npy"))            #> f32
same(load("{s}float32.npy"), f64(grid - 2))   #> true
same(load("{s}float64.npy"), f64(grid - 2))   #> true
dtype(load("{s}complex64.npy"))          #> c64
dtype(load("{s}complex128.npy"))         #> c128
same(load("{s}complex128.npy"), grid - 2 + 0im)   #> true
f = load("{s}fortran.npy")
same(f, reshape(f64(iota(24)), 2, 3, 4)) #> true
same(load("{s}big.npy"), f64(grid))      #> true
load("{s}big_complex.npy")               #> [0 + 1im, 1 + 1im, 2 + 1im]
load("{s}scalar.npy")                    #> 2.5
shape(load("{s}empty.npy"))              #> (0, 3)
load("{s}texts.npy")                     #> list("one", "zwei", "drei ä")

# npz
a = load("{s}stored.npz")
same(a.a, grid)                          #> true
a.b                                      #~ [1.5, 0.0/0]
b = load("{s}packed.npz")
shape(b.a)                               #> (50, 50)
b.text                                   #> hello

# tables
c = load("{s}pandas.csv")
c.t                                      #> [0, 0.5, 1]
dtype(c.n)                               #> i64
c.name                                   #> list("a", "b,c", "say \"x\"")
c.u                                      #~ [1.5, 0.0/0, -2e-300] tol 1e-310
c.ok                                     #> [true, false, true]
d = load("{s}pandas.tsv")
same(d.t, c.t)                           #> true
d.name[2] == c.name[2]                   #> true
same(load("{s}savetxt.csv"), f64(grid))  #> true
rows = load("{s}pandas.json")
rows[0].name                             #> a
kind(rows[1].u)                          #> none

# HDF5
h = load("{s}h5py.h5")
same(h.grid, grid)                       #> true
h.z                                      #> [1 + 2im, 3 - 4im]
dtype(h.z32)                             #> c64
h.truth                                  #> [true, false]
dtype(h.small)                           #> i32
h.half                                   #> [0.5, 1.5]
h.big_end                                #> [0, 1, 2]
h.text                                   #> hällo
h.texts                                  #> list("one", "two")
h.fixed                                  #> list("ab", "cde")
h.number                                 #> 2.5
kind(h.nothing)                          #> none
same(h.packed, reshape(f64(iota(1000)), 100, 10))   #> true
h.inner.deeper.x                         #> [1, 2, 3]
h.link.x                                 #> [1, 2, 3]
h.rows                                   #> (k = [1, 3], v = [2.5, 4.5])
l = load("{s}latest.h5")
l.x[9]                                   #> 9
len(l.c)                                 #> 20

# VTK: text, base64, appended base64, appended raw, compressed, lengths of 4
# bytes, the other byte order.
u = f64(iota(24))
check_image(name) = {
  r = load("tests/io/samples/image_{name}.vti")
  same_u(v: f64[n, m, k]) = all(v[0] == reshape([0.0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22], 4, 3)')
  same_k(v: i32[a, b, c]) = all(v[0] == [0, 2, 4; 1, 3, 5])
  same_v(v: f32[a, b, c, d]) = v[1, 2, 3, 2] == 71
  same_u(r.point.u) and same_k(r.cell.k) and same_v(r.point.v)
}
check_grid(name) = {
  r = load("tests/io/samples/grid_{name}.vtu")
  whole(p: f64[n, m], c: i64[k], o: i64[l], t: i64[l], T: f64[n]) = all(p[4] == [1.0, 1, 1]) and all(c == [0, 1, 2, 3, 1, 2, 4]) and all(o == [4, 7]) and all(t == [10, 5]) and T[4] == 4
  whole(r.points, r.cells, r.offsets, r.types, r.point.T)
}
for name in list("ascii", "binary", "appended", "raw", "packed", "narrow", "big") {
  print(name, check_image(name), check_grid(name))
}
#> ascii true true
#> binary true true
#> appended true true
#> raw true true
#> packed true true
#> narrow true true
#> big true true
r = load("{s}image_raw.vti")
(r.origin, r.spacing, r.dims)            #> ([1, 2, 3], [0.1, 0.2, 0.3], [2, 3, 4])
