# Sliding-window fusion: consecutive steps over nearly the same rows run block
# by block in one loop.
#
# Oracle: the same steps with gathers instead of slices (take instead of cut),
# which are not fused; the results are bit-identical. Only sums, products and
# quotients are used, so that every engine rounds in the same way.

line(n) = [1 + 1/(1 + 0.001*(i % 97)^2) for i in 0..n]
grid(n, m) = [1 + 1/(1 + 0.01*((3*i + 7*j) % 31)^2) for i in 0..n, j in 0..m]
same(f, g, args) = { ok = true; for a in args { ok = ok and sum(abs(f(a) - g(a))) == 0 }; ok }
cut(v, from, n) = v[from..from + n]
take(v, from, n) = v[iota(n) + from]
sizes = (2, 3, 7, 8, 9, 63, 64, 65, 100, 1003, 2048, 5000, 20011, 70001)
lines = map(n -> line(n), list(...sizes))

# Averages, values at both faces of a cell, fluxes, residuals. The halos are two
# cells, one cell and one face.
values(a, b, c) = (b - 0.25*(c - a)/(1 + (c - a)*(c - a)), b + 0.25*(c - a)/(1 + (a - c)*(a - c)))
flux(l, r) = 0.5*(l*l/(1 + r) + r*r/(1 + l)) - 0.5*(r - l)
step(part, u, h) = {
  n = len(u)
  p = concat(u[..1], u[..1], u, u[-1..], u[-1..])
  low, high = values(part(p, 0, n + 2), part(p, 1, n + 2), part(p, 2, n + 2))
  f = flux(part(high, 0, n + 1), part(low, 1, n + 1))
  u - h*(part(f, 1, n) - part(f, 0, n))
}
three(part, u) = {
  v = step(part, u, 0.3)
  w = 0.75*u + 0.25*step(part, v, 0.3)
  u/3 + 2/3*step(part, w, 0.3)
}
same(u -> step(cut, u, 0.3), u -> step(take, u, 0.3), lines)   #> true
same(u -> three(cut, u), u -> three(take, u), lines)           #> true
march(part, u, k) = { for _ in 0..k { u = three(part, u) }; u }
same(u -> march(cut, u, 5), u -> march(take, u, 5), lines)     #> true

# Growing halos before and after; all steps are results as well.
far(part, u) = {
  n = len(u) - 70
  a = 1/(1 + part(u, 0, n + 60)*part(u, 10, n + 60)) + part(u, 3, n + 60)*part(u, 3, n + 60)
  b = part(a, 40, n + 20)/(1 + part(a, 0, n + 20)*part(a, 0, n + 20)) + part(a, 7, n + 20)
  c = part(b, 20, n)/(1 + part(b, 0, n)*part(b, 0, n)) - part(b, 13, n)
  (a, b, c)
}
all_of(part, u) = { (a, b, c) = far(part, u); concat(a, b, c) }
same(u -> all_of(cut, u), u -> all_of(take, u), map(n -> line(n), list(70, 71, 75, 134, 135, 500, 3000, 30001)))   #> true

# The last step is reduced to a sum or a maximum.
total(part, u) = {
  n = len(u) - 2;
  a = 1/(1 + u*u*u/(2 + u));
  b = a*a/(1 + a);
  d = part(b, 2, n)/part(b, 0, n) + part(b, 1, n)*part(a, 0, n)/(1 + part(a, 2, n));
  (max(d), sum(round(1024*d)))
}
same(u -> total(cut, u)[0], u -> total(take, u)[0], map(n -> line(n), list(3, 9, 130, 5003, 70001)))   #> true
same(u -> total(cut, u)[1], u -> total(take, u)[1], map(n -> line(n), list(3, 9, 130, 5003, 70001)))   #> true

# Derivatives read at earlier rows. Integers, so that the order of summation
# does not matter.
energy(part, u) = {
  n = len(u) - 6
  p, q = part(u, 0, n + 4), part(u, 2, n + 4)
  a = p*p*q + 3*p*q + q*q - 5*p
  b = part(a, 0, n + 2)*part(a, 2, n + 2) - part(a, 1, n + 2)*part(a, 0, n + 2) + 2*part(a, 2, n + 2)*part(a, 2, n + 2)
  sum(part(b, 2, n)*part(b, 0, n) - 2*part(b, 1, n))
}
whole(n) = [1.0*(i % 5) - 2 for i in 0..n]
wholes = map(n -> whole(n), list(6, 7, 20, 1003, 5000, 70001))
same(u -> grad(u -> energy(cut, u))(u), u -> grad(u -> energy(take, u))(u), wholes)   #> true
find(plan(grad(u -> energy(cut, u)), whole(1000)), "in one stream") >= 0            #> true

# Two axes: along rows of memory and across them, twice.
smooth(part, u) = {
  n, m = len(u) - 2, len(u[0])
  d = part(u, 2, n)/(1 + part(u, 0, n)*part(u, 0, n)) + part(u, 1, n)*part(u, 1, n)
  e = d[.., 1..-1]/(1 + d[.., 2..]*d[.., ..-2]) + d[.., 2..]*d[.., 1..-1]
  k = n - 2
  part(e, 2, k)/(1 + part(e, 0, k)*part(e, 1, k)) - part(e, 1, k)
}
grids = list(grid(4, 3), grid(5, 9), grid(40, 1000), grid(1000, 20), grid(3000, 7), grid(300, 300))
same(u -> smooth(cut, u), u -> smooth(take, u), grids)   #> true

# Cumulative sums along the other axis, and a division by row sums.
ranked(part, u) = {
  n = len(u) - 1
  a = cumsum(u*u/(1 + u); axis = 1)
  s = sum(round(1024*a); axis = 1)
  part(a, 1, n)/(1 + part(a, 0, n)*part(a, 0, n)) + reshape(part(s, 0, n)/part(s, 1, n), n, 1)
}
same(u -> ranked(cut, u), u -> ranked(take, u), grids)   #> true

# Slices of a concatenation with several uses, at several offsets, twice, in a
# loop.
joined(part, u) = {
  n = len(u)
  for _ in 0..4 {
    v = u*u/(1 + u*u) + 0.1*u
    p = concat(v[3..4], v[1..2], v, v[0..1])
    w = 0.25*(part(p, 0, n) + part(p, 1, n) + part(p, 2, n) + part(p, 3, n)) - 0.5*v
    q = concat(w[-2..], w, w, w[..2])
    u = part(q, 2, n) + 0.3*part(q, n, n) + 0.01*v
  }
  u
}
same(u -> joined(cut, u), u -> joined(take, u), map(n -> line(n), list(5, 17, 1003, 20011)))   #> true
joined_along(part, u) = {
  n, m = len(u), len(u[0])
  for _ in 0..4 {
    v = u*u/(1 + u*u) + 0.1*u
    p = concat(v[-1..], v, v[..1])
    q = concat(v[.., -1..], v, v[.., ..1]; axis = 1)
    u = 0.2*(part(p, 2, n) + part(p, 0, n) + q[.., 2..] + q[.., ..-2]) - 0.1*v
  }
  u
}
same(u -> joined_along(cut, u), u -> joined_along(take, u), grids)   #> true

# The plan shows which version is fused.
find(plan(u -> step(cut, u, 0.3), line(1000)), "in one stream") >= 0   #> true
find(plan(u -> step(take, u, 0.3), line(1000)), "in one stream") >= 0   #> false

# Concatenations of existing arrays: a ring, as a longer array or by remainders.
# Then several long operands, computed operands, and concatenations as results.
ring(part, u) = {
  n = len(u)
  p = part(u, n)
  a = p(0)*p(4)/(1 + p(2)*p(2)) + p(1)*p(3)
  a/(1 + u*u)
}
longer(u, n) = { p = concat(u[-2..], u, u[..2]); k -> p[k..k + n] }
remainders(u, n) = k -> u[mod(iota(n) + (k - 2), n)]
around(part, u, k) = { for _ in 0..k { v = ring(part, u); u = 0.5*(u + ring(part, v)) }; u }
rings = map(n -> line(n), list(2, 3, 8, 65, 1003, 20011, 70001))
same(u -> ring(longer, u), u -> ring(remainders, u), rings)            #> true
same(u -> around(longer, u, 4), u -> around(remainders, u, 4), rings)  #> true
singles = map(u -> f32(u), rings)
same(u -> around(longer, u, 3), u -> around(remainders, u, 3), singles)   #> true
find(plan(u -> ring(longer, u), line(100000)), "in one stream") >= 0   #> true

pairs(u, v) = concat(u, 2*v, u*v, u[..1])
picked(u, v) = {
  n = len(u);
  [if i < n { u[i] } else if i < 2*n { 2*v[i - n] } else if i < 3*n { u[i - 2*n]*v[i - 2*n] } else { u[0] } for i in 0..(3*n + 1)]
}
same(u -> pairs(u, 1/u), u -> picked(u, 1/u), rings)                   #> true
same(u -> { p = pairs(u, 1/u); p[1..] - p[..-1] }, u -> { p = picked(u, 1/u); p[1..] - p[..-1] }, rings)   #> true

# Rows of three contiguous elements.
threes(n) = [1 + 1/(1 + 0.01*((3*i + 7*j) % 31)^2) for i in 0..n, j in 0..3]
turned(part, u, k) = {
  n = len(u)
  for _ in 0..k {
    p = part(u, n)
    a = p(1)*p(3)/(1 + p(2)*p(2))
    q = part(a, n)
    u = 0.5*u + q(0)*q(4)/(1 + q(3)*q(3))
  }
  u
}
same(u -> turned(longer, u, 3), u -> turned(remainders, u, 3), map(n -> threes(n), list(2, 3, 9, 66, 1003, 20011)))   #> true

# A result that concatenates values computed earlier in the same fused loop.
framed(part, u) = {
  n = len(u) - 4
  a = u*u/(1 + u*u*u)
  b = part(a, 0, n)/(1 + part(a, 4, n)*part(a, 4, n)) + part(a, 2, n)*part(u, 1, n)
  c = 1/(1 + b*b)
  (concat(u[..2], c, u[-2..]), c)
}
both(part, u) = { (p, c) = framed(part, u); concat(p, c) }
same(u -> both(cut, u), u -> both(take, u), map(n -> line(n), list(5, 12, 66, 1003, 20011, 70001)))   #> true
find(plan(u -> framed(cut, u), line(100000)), "in one stream") >= 0   #> true
# At top level: inside a longer function c would be computed directly in its
# final place.
u1 = line(70001)
(p, c) = framed(cut, u1)
sum(abs(p[2..-2] - c))                                                 #> 0.0
u2 = 3*line(60001)
(p, c) = framed(cut, u2)
sum(abs(p[2..-2] - c)) + abs(p[1] - u2[1]) + abs(p[-1] - u2[-1])       #> 0.0
