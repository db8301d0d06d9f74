# Eigenvalues of sparse matrices with a mass matrix and in complex arithmetic:
# closed forms, dense decompositions, singular masses, derivatives, what is
# refused.

refused(f) = try { str(f()) } catch m { m }
nearest(w, s, k) = w[argsort(abs(w - s))][..k]
# how far a is from being a part of b
apart(a, b) = max([min(abs(b - x)) for x in a])

# ---- linear elements: closed forms in one and two dimensions
stiffness(n) = (n + 1.0)*spdiags((2.0, -1.0, -1.0), (0, 1, -1), n)
mass(n) = (1/(6.0*(n + 1)))*spdiags((4.0, 1.0, 1.0), (0, 1, -1), n)
exact(n) = { c = cos(π*(iota(n) + 1)/(n + 1)); 6*(n + 1.0)^2*(1 - c)/(2 + c) }
(K, M) = (stiffness(200), mass(200))
(w, V) = eigsh(K, 6; sigma = 0.0, mass = M)
w/exact(200)[..6]            #~ ones(6) tol 1e-11
V' @ (M @ V)                 #~ eye(6) tol 1e-11
norm(K @ V - (M @ V)*w)/norm(K @ V)    #~ 0 tol 1e-10
(w, V) = eigsh(K, 4; which = "LA", mass = M)
w/exact(200)[196..]          #~ ones(4) tol 1e-11
V' @ (M @ V)                 #~ eye(4) tol 1e-11
eigsh(K, 3; mass = M)[0]/exact(200)[197..]     #~ ones(3) tol 1e-11
eigsh(stiffness(60), 3; which = "SM", mass = mass(60))[0]/exact(60)[..3]     #~ ones(3) tol 1e-9
eigsh(stiffness(90), 3; which = "SA", mass = mass(90))[0]/exact(90)[..3]     #~ ones(3) tol 1e-9
# all but one of few and of more dimensions
eigsh(stiffness(12), 11; sigma = 0.0, mass = mass(12))[0]/exact(12)[..11]    #~ ones(11) tol 1e-11
eigsh(stiffness(90), 89; sigma = 0.0, mass = mass(90))[0]/exact(90)[..89]    #~ ones(89) tol 1e-9
# The square has 2, 5, 5, 8, 10, 10, ... times π², and k cuts the list anywhere.
(K2, M2) = (kron(stiffness(30), mass(30)) + kron(mass(30), stiffness(30)), kron(mass(30), mass(30)))
square = sort(ravel(expand(exact(30), 0) + expand(exact(30), 1)))
lowest(k) = max(abs(eigsh(K2, k; sigma = 0.0, mass = M2)[0]/square[..k] - 1))
(lowest(1), lowest(2), lowest(3), lowest(4), lowest(5), lowest(6), lowest(12)) #~ (0, 0, 0, 0, 0, 0, 0) tol 1e-11
inside = sort(nearest(square, 300.0, 8))
(w, V) = eigsh(K2, 8; sigma = 300.0, mass = M2)
w/inside                     #~ ones(8) tol 1e-11
V' @ (M2 @ V)                #~ eye(8) tol 1e-11
(w, V) = eigs(K2, 8; sigma = 300.0, mass = M2)
sort(real(w))/inside         #~ ones(8) tol 1e-11
sum(abs(V)^2; axis = 0)      #~ ones(8) tol 1e-12
# without a shift, both ends
eigsh(K2, 5; which = "LA", mass = M2)[0]/square[895..]     #~ ones(5) tol 1e-11
sort(real(eigs(K2, 5; mass = M2)[0]))/square[895..]        #~ ones(5) tol 1e-10

# ---- multiple eigenvalues, of which a Krylov space has one vector each
seed(7)
misses(k) = {
  bad = 0
  for trial in 0..30 {
    d = 1 + floor(40*rand(200))
    A = spdiags((d,), (0,), 200)
    low = eigsh(A, k; sigma = 0.0)[0]
    high = eigsh(A, k; which = "LA")[0]
    any = sort(real(eigs(A, k; sigma = 0.0)[0]))
    bad = bad + i64(max(abs(low - sort(d)[..k])) > 1e-9) +
      i64(max(abs(high - sort(d)[200 - k..])) > 1e-9) + i64(max(abs(any - sort(d)[..k])) > 1e-9)
  }
  bad
}
(misses(3), misses(5), misses(8))      #> (0, 0, 0)
eigsh(speye(100), 4)[0]                #~ ones(4) tol 1e-14
eigsh(2*speye(100), 4; sigma = 1.0)[0] #~ 2*ones(4) tol 1e-14
# two pairs, each apart by a part in 10^9
close = spdiags((where(iota(150) < 4, 1 + (iota(150) // 2)*1.0 + (iota(150) % 2)*1e-9, 5.0 + iota(150)),), (0,), 150)
eigsh(close, 4; sigma = 0.5)[0]        #~ [1, 1 + 1e-9, 2, 2 + 1e-9] tol 1e-13

# an eigenvalue 0 without a shift
eigsh(spdiags((1.0*iota(150),), (0,), 150), 3; which = "SM")[0]      #~ [0, 1, 2] tol 1e-10
real(eigs(spdiags((1.0*iota(150),), (0,), 150), 3; which = "SR")[0]) #~ [2, 1, 0] tol 1e-10

# ---- against dense decompositions
n = 80
p = sin(iota(n)*1.3)
A = spdiags((3p, 0.5 + 0*p[1..], 0.5 + 0*p[1..], 0.2 + 0*p[5..], 0.2 + 0*p[5..]), (0, 1, -1, 5, -5), n)
B = spdiags((3 + cos(iota(n)*1.0), 0.7 + 0*p[1..], 0.7 + 0*p[1..]), (0, 1, -1), n)
reduced(A, B) = { L = cholesky(B); C = linsolve(L, linsolve(L, A)'); (w, Y) = eigh(0.5*(C + C')); (w, linsolve(L', Y)) }
(w, Y) = reduced(dense(A), dense(B))
eigsh(A, 5; mass = B)[0]               #~ sort(nearest(w, 0.0, n)[n - 5..]) tol 1e-12
eigsh(A, 5; which = "SA", mass = B)[0] #~ w[..5] tol 1e-12
(v, V) = eigsh(A, 5; sigma = 0.1, mass = B)
v                                      #~ sort(nearest(w, 0.1, 5)) tol 1e-12
V' @ (B @ V)                           #~ eye(5) tol 1e-12
k = argmin(abs(w - v[0]))
V[.., 0]^2                             #~ Y[.., k]^2 tol 1e-11
# without symmetry, with real and complex shifts
R = spdiags((0.1*iota(n), -0.2, 0.4, 0.1), (0, 1, -1, 5), n)
N = spdiags((3.0, 0.3, 0.5), (0, 1, -1), n)
w = eig(linsolve(dense(N), dense(R)))[0]
for s in (1.234, 1.213 + 0.5im) {
  (v, V) = eigs(R, 6; sigma = s, mass = N)
  assert(apart(v, nearest(w, s, 6)) < 1e-9 and apart(nearest(w, s, 6), v) < 1e-9, "{v}")
  assert(max(abs(R @ V - (N @ V)*v)) < 1e-12, "{s}")
}
apart(eigs(R, 6; mass = N)[0], nearest(w, 0.0, n)[n - 6..])          #~ 0 tol 1e-9
apart(eigs(R, 4; which = "LR", mass = N)[0], w[argsort(-real(w))][..4])        #~ 0 tol 1e-9
apart(eigs(R, 4; which = "SR", mass = N)[0], w[argsort(real(w))][..4])         #~ 0 tol 1e-9
w = eig(dense(R))[0]
apart(eigs(R, 4; which = "LI")[0], w[argsort(-abs(imag(w)))][..4])   #~ 0 tol 1e-9
# eigs takes a mass that is neither symmetric nor definite
J = spdiags((where(iota(n) < 30, -1.0, 1.0), 0.2), (0, 1), n)
w = eig(linsolve(dense(J), dense(A)))[0]
apart(eigs(A, 5; sigma = 0.2, mass = J)[0], nearest(w, 0.2, 5))      #~ 0 tol 1e-9
apart(eigs(A, 5; mass = J)[0], nearest(w, 0.0, n)[n - 5..])          #~ 0 tol 1e-9
# complex matrices
Z = spdiags((0.1*iota(n) + 3im*sin(iota(n)*2.0), -0.2 + 0.3im, 0.1, 0.1im), (0, 1, -1, 5), n)
C = spdiags((3.0 + im, 0.2 + 0.2im, 0.5 + 0.2im), (0, 1, -1), n)
w = eig(linsolve(dense(C), dense(Z)))[0]
(v, V) = eigs(Z, 6; sigma = 0.4 + 0.1im, mass = C)
apart(v, nearest(w, 0.4 + 0.1im, 6))   #~ 0 tol 1e-9
max(abs(Z @ V - (C @ V)*v))            #~ 0 tol 1e-12
apart(eigs(Z, 6; mass = C)[0], nearest(w, 0.0, n)[n - 6..])          #~ 0 tol 1e-9
w = eig(dense(Z))[0]
apart(eigs(Z, 3; which = "LI")[0], w[argsort(-imag(w))][..3])        #~ 0 tol 1e-9
apart(eigs(Z, 3; which = "SI")[0], w[argsort(imag(w))][..3])         #~ 0 tol 1e-9
H = spdiags((2.0 + p, -1.0 + 0.5im, -1.0 - 0.5im), (0, 1, -1), n)
P = spdiags((4.0, 1.0im, -1.0im), (0, 1, -1), n)
w = reduced(dense(H), dense(P))[0]
(v, V) = eigsh(H, 5; sigma = 0.3, mass = P)
v                                      #~ sort(nearest(w, 0.3, 5)) tol 1e-12
dtype(v)                               #> f64
max(abs(V' @ (P @ V) - eye(5)))        #~ 0 tol 1e-12
eigsh(H, 5; which = "SA", mass = P)[0] #~ w[..5] tol 1e-12
eigsh(H, 5; mass = P)[0]               #~ w[n - 5..] tol 1e-12
eigsh(H, 5; which = "LA")[0]           #~ eigvalsh(dense(H))[n - 5..] tol 1e-12
# a ring with a flux: multiple eigenvalues 2 - 2cos(2π j/n) in pairs
ring = spdiags((2.0 + 0im, -1.0 + 0im, -1.0 + 0im, -1.0 + 0im, -1.0 + 0im), (0, 1, -1, 119, -119), 120)
eigsh(ring, 5; sigma = -0.01)[0]       #~ 2 - 2cos(2π*[0.0, 1, 1, 2, 2]/120) tol 1e-12
sort(real(eigs(ring, 4; sigma = -0.01)[0]))    #~ 2 - 2cos(2π*[0.0, 1, 1, 2]/120) tol 1e-12

# ---- a singular mass: infinite eigenvalues do not appear
# those of E' K^-1 E, where E has the columns with mass
finite(K, on, s) = {
  D = zeros(len(on), len(on))
  S = inv(dense(K) - s*diag(where(on, 1.0, 0.0)))
  θ = eigvalsh(S[findall(on)][.., findall(on)])
  s + 1/θ
}
lumped(on) = spdiags((where(on, 1.0, 0.0),), (0,), len(on))
K = stiffness(200)
for on in (iota(200) % 2 == 0, iota(200) < 70, iota(200) % 50 == 0) {
  for s in (0.0, 77.7) {
    r = finite(K, on, s)
    least = sort(r[argsort(abs(r - s))][..3])
    (w, V) = eigsh(K, 3; sigma = s, mass = lumped(on))
    assert(max(abs(w/least - 1)) < 1e-11, "{w} {least}")
    assert(max(abs(V' @ (lumped(on) @ V) - eye(3))) < 1e-11, "{s}")
    w = sort(real(eigs(K, 3; sigma = s, mass = lumped(on))[0]))
    assert(max(abs(w/least - 1)) < 1e-11, "{w} {least}")
  }
}
# all finite ones and one more
on = iota(200) % 50 == 0
eigsh(K, 4; sigma = 0.0, mass = lumped(on))[0]   #~ sort(finite(K, on, 0.0)) tol 1e-10
refused(() -> eigsh(K, 5; sigma = 0.0, mass = lumped(on)))
#> eigsh: 5 eigenvalues where only 4 are finite, since the mass matrix is singular
contains(refused(() -> eigs(K, 5; sigma = 0.0, mass = lumped(on))), "4 are finite")     #> true
# a mass of low rank without zero rows
G = sin(outer(iota(200) + 1.0, iota(30) + 1.0)*0.37)
B = to_sparse(G @ G')
T = G' @ linsolve(K, G)
r = sort(1/eigvalsh(0.5*(T + T')))
eigsh(K, 6; sigma = 0.0, mass = B)[0]/r[..6]     #~ ones(6) tol 1e-11
eigsh(K, 20; sigma = 0.0, mass = B)[0]/r[..20]   #~ ones(20) tol 1e-10
contains(refused(() -> eigsh(K, 31; sigma = 0.0, mass = B)), "only 30 are finite")      #> true
# a saddle point: a pressure without mass, whose infinite eigenvalues have
# chains of two vectors
m = 120
D = sparse(concat(iota(60), iota(60)), concat(2*iota(60), 2*iota(60) + 1), concat(ones(60), -0.5*ones(60)), 60, m)
L = stiffness(m)
saddle = sparse(concat(L.rows, D.rows + m, D.columns), concat(L.columns, D.columns, D.rows + m),
  concat(L.values, D.values, D.values), m + 60, m + 60)
fluid = sparse(iota(m), iota(m), ones(m), m + 60, m + 60)
# velocities (1, 2) in each pair satisfy the constraint
Q = sparse(concat(2*iota(60), 2*iota(60) + 1), concat(iota(60), iota(60)), concat(ones(60), 2*ones(60))/sqrt(5.0), m, 60)
r = eigvalsh(dense(Q' @ L @ Q))
(w, V) = eigsh(saddle, 5; sigma = 0.0, mass = fluid)
w/r[..5]                               #~ ones(5) tol 1e-11
max(abs(D @ V[..m]))                   #~ 0 tol 1e-12
sort(real(eigs(saddle, 5; sigma = 0.0, mass = fluid)[0]))/r[..5]     #~ ones(5) tol 1e-10
eigsh(saddle, 5; sigma = 300.0, mass = fluid)[0]   #~ sort(nearest(r, 300.0, 5)) tol 1e-9

# ---- derivatives, against dense ones
A(p) = spdiags((2.0 + p*sin(iota(70)), -1.0, -1.0), (0, 1, -1), 70)
B(p) = spdiags((4.0 + p^2*cos(iota(70)), 1.0 + 0.3p, 1.0 + 0.3p), (0, 1, -1), 70)
f(p) = eigsh(A(p), 3; sigma = -1.0, mass = B(p))
g(p) = { (w, V) = reduced(dense(A(p)), dense(B(p))); (w[..3], V[.., ..3]) }
(p -> f(p)[0])'(0.3)         #~ (p -> g(p)[0])'(0.3) tol 1e-11
(p -> f(p)[0])''(0.3)        #~ (p -> g(p)[0])''(0.3) tol 1e-10
(p -> f(p)[1]^2)'(0.3)       #~ (p -> g(p)[1]^2)'(0.3) tol 1e-10
(p -> f(p)[1]^2)''(0.3)      #~ (p -> g(p)[1]^2)''(0.3) tol 1e-9
weights = cos(3.0*iota(70))
whole(w, V) = sum(w*[1.0, 2, 3]) + sum((weights @ V)^2*[1.0, 2, 3])
by_sparse(v) = whole(...eigsh(A(v[0]), 3; which = "SA", mass = B(v[1])))
by_dense(v) = { (w, V) = reduced(dense(A(v[0])), dense(B(v[1]))); whole(w[..3], V[.., ..3]) }
grad(by_sparse)([0.3, 0.4])  #~ grad(by_dense)([0.3, 0.4]) tol 1e-10
hvp(by_sparse, [0.3, 0.4], [1.0, 0.7])       #~ hvp(by_dense, [0.3, 0.4], [1.0, 0.7]) tol 1e-9
check_grad(by_sparse, [0.3, 0.4]).reverse_forward    #~ 0 tol 1e-11
# with respect to single elements of the mass: -w v_i v_j
(w, V) = eigsh(A(0.3), 1; sigma = -1.0, mass = B(0.3))
part = grad(b -> eigsh(A(0.3), 1; sigma = -1.0, mass = (...B(0.3), values = b))[0][0])
part(B(0.3).values)          #~ -w[0]*V[B(0.3).rows, 0]*V[B(0.3).columns, 0] tol 1e-12
# a singular mass, and the eigenvalue of a saddle point, against differences
s(p) = eigsh(A(p), 3; sigma = -1.0, mass = lumped(iota(70) % 2 == 0))[0]
s'(0.3)                      #~ (s(0.3 + 1e-5) - s(0.3 - 1e-5))/2e-5 tol 1e-8
# eigs: values, in all modes and of every order
general(p) = spdiags((0.1*iota(70), -0.2 + 0.1p, 0.4, 0.1 + p*cos(iota(65))), (0, 1, -1, 5), 70)
h(p) = eigs(general(p), 3; sigma = 1.234, mass = B(p))[0]
hd(p) = { w = eig(linsolve(dense(B(p)), dense(general(p))))[0]; w[argsort(stop_gradient(abs(w - 1.234)))][..3] }
h(0.1)                       #~ hd(0.1) tol 1e-10
h'(0.1)                      #~ hd'(0.1) tol 1e-9
h''(0.1)                     #~ hd''(0.1) tol 1e-7
grad(p -> real(sum(h(p)*[1.0, 2, 3])))(0.1)      #~ real(sum(h'(0.1)*[1.0, 2, 3])) tol 1e-10
third(p) = real(eigs(spdiags((2.0 + p*sin(iota(40)), -1.0, -3.0), (0, 1, -1), 40), 3; which = "LR")[0])
thirdd(p) = sort(real(eigvals(diag(2.0 + p*sin(iota(40))) - eye(40; k = 1) - 3eye(40; k = -1))); descending = true)[..3]
third''(0.3)                 #~ thirdd''(0.3) tol 1e-5
z(p) = eigs(spdiags((0.1*iota(70) + 3im*p, -0.2 + 0.3im*p, 0.1, 0.1im), (0, 1, -1, 5), 70), 3; sigma = 1.0 + im, mass = B(p))[0]
z'(0.1)                      #~ (z(0.1 + 1e-5) - z(0.1 - 1e-5))/2e-5 tol 1e-8
z''(0.1)                     #~ (z'(0.1 + 1e-5) - z'(0.1 - 1e-5))/2e-5 tol 1e-7
# Hermitian: values and vectors
e(p) = eigsh(spdiags((2.0 + p*sin(iota(70)*1.0), -1.0 + 0.5im*p, -1.0 - 0.5im*p), (0, 1, -1), 70), 2; sigma = 0.3,
  mass = spdiags((4.0 + p, 1.0im, -1.0im), (0, 1, -1), 70))
(p -> e(p)[0])'(0.2)         #~ (e(0.2 + 1e-5)[0] - e(0.2 - 1e-5)[0])/2e-5 tol 1e-8
(p -> e(p)[1])'(0.2)         #~ (e(0.2 + 1e-5)[1] - e(0.2 - 1e-5)[1])/2e-5 tol 1e-6
(p -> e(p)[0])''(0.2)        #~ ((p -> e(p)[0])'(0.2 + 1e-5) - (p -> e(p)[0])'(0.2 - 1e-5))/2e-5 tol 1e-7

# ---- what is refused
K = stiffness(100)
signs = spdiags((where(iota(100) < 40, -1.0, 1.0),), (0,), 100)
refused(() -> eigsh(K, 5; sigma = 0.0, mass = signs))
#> eigsh: the mass matrix is not positive semidefinite, so that the eigenvalues may be complex; eigs takes any
refused(() -> eigsh(K, 5; mass = signs))         #> eigsh: without sigma the mass matrix must be positive definite
# no diagonal element tells this one
contains(refused(() -> eigsh(K, 5; sigma = 0.0, mass = spdiags((1.0, 0.6, 0.6), (0, 1, -1), 100))), "not positive semidefinite")      #> true
contains(refused(() -> eigsh(K, 5; sigma = 0.0, mass = spdiags((1.0, 0.6), (0, 1), 100))), "mass matrix is not symmetric")            #> true
refused(() -> eigsh(K, 5; mass = lumped(iota(100) < 50)))    #> eigsh: without sigma the mass matrix must be positive definite
refused(() -> eigs(K, 5; mass = lumped(iota(100) < 50)))     #> eigs: without sigma the mass matrix must be regular
refused(() -> eigsh(K, 5; mass = speye(7)))      #> eigsh: a matrix of 100 by 100 has a mass of as many rows, not 7 by 7
refused(() -> eigsh(K, 5; mass = eye(100)))      #> eigsh takes a sparse matrix as mass, as to_sparse(B) makes one
refused(() -> eigsh(K, 5; sigma = im))           #> eigsh: sigma is real, as the eigenvalues are
refused(() -> eigsh((...K, values = K.values + im), 5))      #> eigsh: the matrix is not Hermitian; eigs takes any
refused(() -> eigs(nan*K, 5))                    #> eigs: 298 elements of the matrix are not finite
refused(() -> eigs(K, 5; mass = inf*speye(100))) #> eigs: 100 elements of the mass are not finite
contains(refused(() -> eigsh(2*speye(100), 5; sigma = 2.0)), "sigma = 2.0 is an eigenvalue")         #> true
# nearly an eigenvalue: others would be inaccurate
contains(refused(() -> eigsh(spdiags((1.0 + iota(100),), (0,), 100), 5; sigma = 50 + 1e-11)), "is nearly an eigenvalue")     #> true
contains(refused(() -> eigsh(spdiags((iota(1100) - 549.5,), (0,), 1100), 1; which = "SM")), "have converged; sigma = a number")    #> true
