use "_orders.dsl"
w = [0.3, -0.2, 0.7]
N = [0.3, 1.2, -0.7; 0.9, -0.4, 0.5; 0.2, 0.6, -1.1]
A(t) = [3.0, 0.4, -0.3; 0.2, 2.0, 0.5; 0.7, -0.1, 1.0] + sin(t * N)
S(t) = A(t) @ A(t)' + [1.0, 0, 0; 0, 2, 0; 0, 0, 3]
orders("cholesky", t -> sum(cholesky(S(t)) * N), 0.4)    #> cholesky: forward 4, reverse 4, Taylor 4, batch yes
orders("lu", t -> { (L, U, p) = lu(A(t)); sum(L * N) + sum(U^2 * N) }, 0.4)    #> lu: forward 4, reverse 4, Taylor 4, batch yes
orders("solved", t -> sum(linsolve(A(t), N * t) * N) + sum(linsolve(S(t), w)), 0.4)    #> solved: forward 4, reverse 4, Taylor 4, batch yes
orders("qr", t -> { (Q, R) = qr(A(t)); sum(Q * N) + sum(R * N) }, 0.4)    #> qr: forward 4, reverse 4, Taylor 4, batch yes
orders("eigh", t -> { (l, V) = eigh(S(t)); sum(l^2 * w) + sum(V^2 * N) }, 0.4)    #> eigh: forward 4, reverse 4, Taylor 4, batch yes
orders("eig", t -> { (l, V) = eig(A(t)); sum(real(l^3)) }, 0.4)    #> eig: forward 4, reverse 4, Taylor 4, batch yes
orders("svd", t -> { (U, s, V) = svd(A(t)); sum(s^2 * w) + sum(U^2 * N) + sum((V * V) * N) }, 0.4)    #> svd: forward 4, reverse 4, Taylor 4, batch yes
orders("trisolve", t -> sum(trisolve(A(t), N) * N), 0.4)    #> trisolve: forward 4, reverse 4, Taylor 4, batch yes
