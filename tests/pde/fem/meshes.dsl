# Regions, meshes and Gmsh files.

# ---- regions
L = polygon([0, 0; 2, 0; 2, 1; 1, 1; 1, 2; 0, 2]);
inside(L, [0.5, 0.5; 1.5, 1.5; 1.5, 0.5])  #> [true, false, true]
signed_distance(L, [0.5, 0.5; 1.5, 1.5; 1.5, 0.5; 3, 3])  #~ [-0.5, 0.5, -0.5, √5]
R = difference(box([0, 2.2], [0, 0.41]), disk([0.2, 0.2], 0.05; name = "cylinder"));
R.names  #> list("left", "right", "bottom", "top", "cylinder")
inside(R, [0.2, 0.2; 1, 0.2])  #> [false, true]
signed_distance(R, [0.2, 0.3])  #~ -0.05
# Interior pieces of the boundary are removed: two adjacent boxes.
U = union(box([0, 1], [0, 1]), box([1, 2], [0, 1]));
signed_distance(U, [1, 0.5])  #~ -0.5
# A lens: half its area, by counting random points.
I = intersect(disk([0, 0], 1), disk([1, 0], 1));
P = I.lo + (I.hi - I.lo) * rand(20000, 2);
mean(f64(inside(I, P))) * prod(I.hi - I.lo)  #~ 2π/3 - √3/2 tol 0.02
holed = polygon([0, 0; 4, 0; 4, 3; 0, 3]; holes = list([1, 1; 2, 1; 1, 2]), names = list("a", "b", "c", "d"));
holed.names  #> list("a", "b", "c", "d", "hole")
# points inside, and on the boundary with outer normals
X = sample(R, 500);
sum(inside(R, X))  #> 500
b = sample_boundary(R, 400);
max(abs(signed_distance(R, b.points))) < 1e-12  #> true
sum(inside(R, b.points + 1e-6 * b.normals))  #> 0
sum(inside(R, b.points - 1e-6 * b.normals))  #> 400
c = sample_boundary(R, 50; part = "cylinder");
c.points + 0.05 * c.normals  #~ zeros(50, 1) + [0.2, 0.2]
B = difference(ball([0, 0, 0], 1), box([0, 1], [0, 1], [0, 1]));
q = sample_boundary(B, 300);
max(abs(signed_distance(B, q.points))) < 1e-12  #> true
sum(inside(B, q.points + 1e-4 * q.normals))  #> 0
sample_boundary(box([0, 1]), 10).normals[.., 0]^2  #~ ones(10)
why(f) = try { f(); "fine" } catch e { str(e) }
why(() -> disk([0, 0], -1)) == "fine"  #> false
contains(why(() -> sample_boundary(R, 5; part = "lid")), "has no part lid; it has left, right, bottom, top, cylinder")  #> true

# ---- Delaunay: areas fill the square, no point is inside a circumcircle
P = rand(300, 2);
T = delaunay(P);
D = [P[T[i, 1], 0] - P[T[i, 0], 0] for i in 0..len(T)];
inner = map(t -> {
  (a, b, c) = (P[t[0]], P[t[1]], P[t[2]])
  M = stack(b - a, c - a)
  m = a + linsolve(M, 0.5 * stack(sum((b - a)^2), sum((c - a)^2)))
  r = sum((a - m)^2)
  sum(f64(sum((P - m)^2; axis = 1) < r * (1 - 1e-6)))
}, T);
sum(inner)  #> 0.0
delaunay([0, 0; 1, 0; 0, 1])  #> [[0, 1, 2]]

# ---- meshes: they fill the region, and no triangle is thin
quality(m) = { X = m.points[m.cells]; e(i, j) = sum((X[.., i, ..] - X[.., j, ..])^2; axis = 1); min(4√3 * cell_sizes(m) / (e(0, 1) + e(1, 2) + e(2, 0))) }
m = mesh(L, 0.1);
sum(cell_sizes(m))  #~ 3.0
quality(m) > 0.5  #> true
min(abs(m.points - [1, 1])[.., 0] + abs(m.points - [1, 1])[.., 1]) < 1e-12  #> true
d = mesh(disk([0, 0], 1), 0.1);
sum(cell_sizes(d))  #~ π tol 0.01
quality(d) > 0.5  #> true
r = mesh(R, 0.03);
sum(cell_sizes(r))  #~ 2.2*0.41 - π*0.05^2 tol 1e-3
quality(r) > 0.4  #> true
sum(cell_sizes(mesh(holed, 0.25)))  #~ 11.5
k = r.faces[findall(r.tags == 4)];
max(abs(sqrt(sum((r.points[ravel(k)] - 0.2)^2; axis = 1)) - 0.05)) < 1e-12  #> true
quality(mesh(box([0, 1], [0, 2]), 0.2)) > 0.8  #> true
sum(cell_sizes(mesh(box([0, 1], [0, 2], [0, 3]), 0.5)))  #~ 6.0
b = mesh(ball([1, 0, 0], 2), 0.5);
sum(cell_sizes(b))  #~ 4/3*π*8 tol 0.06
sum(cell_sizes(refine(b)))  #~ 4/3*π*8 tol 0.02

# ---- refinement
# Areas and names are kept, curved boundaries are followed, and angles stay
# bounded.
sum(cell_sizes(refine(d)))  #~ π tol 0.002
len(refine(r).cells) == 4 * len(r.cells)  #> true
sum(refine(r).tags == 4) == 2 * sum(r.tags == 4)  #> true
a = mesh(L, 0.4)
for k in 0..12 { c = mean(a.points[a.cells]; axis = 1); a = refine(a; marked = sum((c - 1)^2; axis = 1) < 0.6^k) }
sum(cell_sizes(a))  #~ 3.0
quality(a) > 0.25  #> true
# No hanging nodes: each interior edge belongs to two triangles.
E = concat(a.cells[.., [0, 1]], a.cells[.., [1, 2]], a.cells[.., [2, 0]]; axis = 0);
(_, times) = unique(min(E; axis = 1) * len(a.points) + max(E; axis = 1); counts = true);
(max(times), sum(times == 1) == len(a.faces))  #> (2, true)

# ---- Gmsh files, versions 2.2 and 4.1, and errors in them
old = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n2\n1 7 \"floor\"\n2 9 \"inside\"\n$EndPhysicalNames\n$Nodes\n5\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n10 0.5 0.5 0\n$EndNodes\n$Elements\n6\n1 15 2 0 1 1\n2 1 2 7 1 1 2\n3 2 2 9 1 1 2 10\n4 2 2 9 1 2 3 10\n5 2 2 9 1 3 4 10\n6 2 2 9 1 4 1 10\n$EndElements\n"
write_text("/tmp/atled-test-2.msh", old)
m2 = mesh("/tmp/atled-test-2.msh");
m2.cells  #> [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]
map(k -> m2.names[k], list(m2.tags[0], m2.tags[1]))  #> list("floor", "boundary")
new = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n1 7 \"floor\"\n$EndPhysicalNames\n$Entities\n1 1 1 0\n1 0 0 0 0\n1 0 0 0 1 0 0 1 7 2 1 -2\n1 0 0 0 1 1 0 0 1 1\n$EndEntities\n$Nodes\n2 5 1 10\n0 1 0 1\n1\n0 0 0\n2 1 0 4\n2\n3\n4\n10\n1 0 0\n1 1 0\n0 1 0\n0.5 0.5 0\n$EndNodes\n$Elements\n3 6 1 6\n0 1 15 1\n1 1\n1 1 1 1\n2 1 2\n2 1 2 4\n3 1 2 10\n4 2 3 10\n5 3 4 10\n6 4 1 10\n$EndElements\n"
write_text("/tmp/atled-test-4.msh", new)
m4 = mesh("/tmp/atled-test-4.msh");
same(m2.cells, m4.cells) and same(m2.points, m4.points)  #> true
m4.names[m4.tags[0]]  #> floor
problem tent {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  -Δ(u) == 1
  u == 0 at boundary
}
solve(tent, fem(mesh = refine(refine(m4)), order = 3)).u(0.5, 0.5)  #~ 0.0736713532815138 tol 1e-4
broken(part, by) = { write_text("/tmp/atled-test-x.msh", replace(old, part, by)); try { load("/tmp/atled-test-x.msh"); "fine" } catch e { str(e) } }
contains(broken("4 0 1 0", "4 0 x 0"), ":14: a coordinate is wanted here")  #> true
contains(broken("6 2 2 9", "6 3 2 9"), ":24: an element of type 3")  #> true
contains(broken("2 3 10", "2 3 11"), ":22: there is no node 11")  #> true
contains(broken("2.2 0 8", "2.2 1 8"), ":2: a binary file")  #> true
contains(broken("$EndElements\n", ""), "$EndElements is wanted here")  #> true
contains(broken("$Nodes\n5", "$Nodes\n900000000"), ":10: the number of nodes is 900000000, more than the file can hold")  #> true
contains(broken("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n", "nothing\n"), "no file of Gmsh")  #> true
# in a function, where the trip count is not known in advance
turned(m, n) = { for j in 0..n { m = refine(m; marked = mean(m.points[m.cells]; axis = 1)[.., 0] < 0.3) }; m }
sum(cell_sizes(turned(mesh(box([0, 1], [0, 1], [0, 1]), 0.5), 3))) #~ 1.0
sum(cell_sizes(refine(turned(mesh(L, 0.5), 3)))) #~ 3.0

# ---- the region of a file
# Its names in conditions, its cells refined; given by a variable, and by mesh()
# in the domain.
write_text("/tmp/atled-test-square.msh", "$MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
3
1 1 \"west\"
1 2 \"east\"
2 3 \"inside\"
$EndPhysicalNames
$Nodes
4
1 0 0 0
2 1 0 0
3 1 1 0
4 0 1 0
$EndNodes
$Elements
4
1 1 2 1 1 1 4
2 1 2 2 2 2 3
3 2 2 3 3 1 2 3
4 2 2 3 3 1 3 4
$EndElements
")
square = mesh("/tmp/atled-test-square.msh");
(square.region.lo, square.region.hi)                                   #> ([0, 0], [1, 1])
inside(square.region, [0.3, 0.9; 1.2, 0.5])                            #> [true, false]
signed_distance(square.region, [0.5, 0.25])                            #~ -0.25
len(mesh(square.region).cells)                                         #> 2
sum(cell_sizes(mesh(square.region, 0.2)))                              #~ 1
max(norm(mesh(square.region, 0.2).points; axis = 1)) <= sqrt(2)        #> true
problem by_value {
  domain (x, y) in square.region
  field u
  lap(u) == 0
  u == 0 at west
  u == 1 at east
}
solve(by_value, fem(mesh = refine(square))).u(0.3, 0.5)                #~ 0.3 tol 1e-12
try { solve(by_value, fem(mesh = square)).u(0.3, 0.5) < 0 } catch e { contains(e, "a finer one") }    #> true
solve(by_value, fem(h = 0.2)).u(0.3, 0.5)                              #~ 0.3 tol 1e-12
solve(by_value).u(0.3, 0.5)                                            #~ 0.3 tol 1e-12
problem by_file(f = 1) {
  domain (x, y) in mesh("/tmp/atled-test-square.msh").region
  field u
  lap(u) == -f
  u == 0 at west, east
}
solve(by_file(2), fem(h = 0.3, order = 2)).u(0.5, 0.5)                 #~ 0.25 tol 1e-12
# in three dimensions
write_text("/tmp/atled-test-solid.msh", "$MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
1
2 1 \"base\"
$EndPhysicalNames
$Nodes
4
1 0 0 0
2 1 0 0
3 0 1 0
4 0 0 1
$EndNodes
$Elements
2
1 2 2 1 1 1 2 3
2 4 2 0 2 1 2 3 4
$EndElements
")
solid = mesh("/tmp/atled-test-solid.msh").region;
inside(solid, [0.2, 0.2, 0.2; 0.4, 0.4, 0.4])                          #> [true, false]
problem wedge {
  domain (x, y, z) in solid
  field u
  lap(u) == 0
  u == z at boundary
}
solve(wedge, fem(h = 0.3)).u(0.2, 0.2, 0.3)                            #~ 0.3 tol 1e-12
