# Delaunay triangulations: they fill the hull, every triangle is anticlockwise,
# and no circumcircle contains a point.

# twice the areas
areas(P, T) = {
  (A, B, C) = (P[T[.., 0]], P[T[.., 1]], P[T[.., 2]])
  (B[.., 0] - A[.., 0]) * (C[.., 1] - A[.., 1]) - (B[.., 1] - A[.., 1]) * (C[.., 0] - A[.., 0])
}
# How far the corner of a neighbour lies inside a circumcircle, relative to the
# squares of the sides: at most 0 for every inner edge if and only if the
# triangulation is Delaunay's (Delaunay's lemma). And the number of edges at the
# border.
inside_circles(P, T) = {
  (a, b, c) = (concat(T[.., 0], T[.., 1], T[.., 2]), concat(T[.., 1], T[.., 2], T[.., 0]), concat(T[.., 2], T[.., 0], T[.., 1]))
  order = lexsort((max(a, b), min(a, b)))
  (a, b, c) = (a[order], b[order], c[order])
  twins = findall(a[..-1] == b[1..] and b[..-1] == a[1..])
  (A, B, C, D) = (P[a[twins]], P[b[twins]], P[c[twins]], P[c[twins + 1]])
  (A, B, C) = (A - D, B - D, C - D)
  square(X) = X[.., 0]^2 + X[.., 1]^2
  cross(X, Y) = X[.., 0] * Y[.., 1] - X[.., 1] * Y[.., 0]
  det = square(A) * cross(B, C) + square(B) * cross(C, A) + square(C) * cross(A, B)
  (max(det / max(square(A), square(B), square(C))^2), len(a) - 2 * len(twins))
}
# (all corners anticlockwise, every point used, as many as Euler's formula says,
# empty circles)
check(P) = {
  T = delaunay(P)
  (most, border) = inside_circles(P, T)
  (min(areas(P, T)) > 0, len(unique(ravel(T))) == len(P), len(T) == 2 * len(P) - 2 - border, most < 1e-9)
}
lattice(n, m) = stack(f64(iota(n * m) % n), f64(iota(n * m) // n); axis = 1)
turned(P, φ) = P @ [cos(φ), sin(φ); -sin(φ), cos(φ)]

# ---- random points
for n in list(4, 10, 100, 1000, 20000) { print(check(rand(n, 2))) }
#> (true, true, true, true)
#> (true, true, true, true)
#> (true, true, true, true)
#> (true, true, true, true)
#> (true, true, true, true)
check(randn(3000, 2) * [1, 1e-3])          #> (true, true, true, true)
# far from the origin; large and small coordinates give the same triangles
check(rand(500, 2) + [1e6, -3e6])          #> (true, true, true, true)
P = rand(500, 2);
T = delaunay(P);
all(delaunay(2.0^900 * P) == T)            #> true
all(delaunay(2.0^-900 * P) == T)           #> true
# most points in a small part
check(concat(rand(300, 2), 1e-4 * rand(300, 2) + 0.5; axis = 0))   #> (true, true, true, true)
# a hundred thousand points
P = rand(100000, 2);
T = delaunay(P);
(most, border) = inside_circles(P, T);
(min(areas(P, T)) > 0, most < 1e-9, len(T) == 200000 - 2 - border)   #> (true, true, true)

# ---- many points on one circle
check(lattice(40, 30))                     #> (true, true, true, true)
len(delaunay(lattice(40, 30)))             #> 2262
check(0.1 * lattice(30, 30))               #> (true, true, true, true)
check(turned(lattice(30, 30), 0.3))        #> (true, true, true, true)
check(turned(lattice(200, 100), 1.0) / 300)   #> (true, true, true, true)
check(lattice(30, 30) * [1, √3 / 2] + 0.5 * stack(f64(iota(900) // 30 % 2), zeros(900); axis = 1))   #> (true, true, true, true)
check(lattice(2, 500))                     #> (true, true, true, true)
circle(n) = { φ = 2π * iota(n) / n; stack(cos(φ), sin(φ); axis = 1) }
check(circle(4))                           #> (true, true, true, true)
check(circle(300))                         #> (true, true, true, true)
check(concat(circle(7), 2 * circle(14), 3 * circle(21), zeros(1, 2); axis = 0))   #> (true, true, true, true)
delaunay([0, 0; 1, 0; 1, 1; 0, 1; 0.5, 0.5])   #> [[0, 1, 4], [0, 4, 3], [1, 2, 4], [2, 3, 4]]

# ---- points on a straight hull make no flat triangles
x = 0.1 * iota(20);
line = stack(x, x / 3; axis = 1);
fan = concat(line, zeros(1, 2) + [0, 5]; axis = 0);
T = delaunay(fan);
len(T)                                     #> 19
min(areas(fan, T)) > 0.1                   #> true

# ---- the order of corners and triangles, and integers as points
delaunay([0, 0; 1, 0; 0, 1])               #> [[0, 1, 2]]
delaunay([0, 1; 1, 0; 0, 0])               #> [[0, 2, 1]]
delaunay([0, 0; 2, 0; 2, 2; 0, 2; 1, 1; 3, 1])   #> [[0, 1, 4], [0, 4, 3], [1, 2, 4], [1, 5, 2], [2, 3, 4]]
all(delaunay(f32(lattice(5, 5))) == delaunay(lattice(5, 5)))   #> true
P = rand(50, 2);
all(delaunay(P) == delaunay(P))            #> true

# ---- it is constant: derivatives pass it, in batches it is a loop
around(P) = { T = delaunay(P); sum(areas(P, T)) }
grad(around)([0, 0; 1, 0; 0, 1.0])         #> [[-1, -1], [1, 0], [0, 1]]
map(around, stack([0, 0; 1, 0; 0, 1.0], [0, 0; 2, 0; 0, 1.0], [1, 0; 2, 2; 0, 1.0]))   #> [1, 2, 3]

# ---- refusals
why(f) = try { f(); "fine" } catch e { e }
why(() -> delaunay([0, 0; 1, 1]))          #> delaunay(P) takes at least three points, not 2
why(() -> delaunay(ones(4, 3)))            #> delaunay(P) takes points of the plane, f64[n, 2]
why(() -> delaunay([0, 0; 1, 1; 2, 2; 5, 5]))   #> delaunay(P): all points are on one line
why(() -> delaunay(line))                  #> delaunay(P): all points are on one line
why(() -> delaunay(ones(4, 2)))            #> delaunay(P): points 0 and 1 are at one place
why(() -> delaunay([0, 0; 1, 0; 0, 1; 3, 3; 1, 0]))   #> delaunay(P): points 1 and 4 are at one place
why(() -> delaunay([0, 0; 1, 0; 0, 0.0 / 0]))   #> delaunay(P): point 2 is not finite
why(() -> delaunay([0, 0; 1, 0; 1 / 0.0, 2]))   #> delaunay(P): point 2 is not finite
contains(why(() -> delaunay([0, 0; 1, 0; 0, 1; 1, 1; 1, 1 + 1e-12])), "lies so close to others")   #> true
