# Implicit steps by GMRES with incomplete factors: the solution, its derivatives
# forwards and backwards. Oracle: exact factors. Each solution is within rtol of
# the largest element, 5; the slopes sum 72 elements. Larger systems are in
# large_systems.dsl.
problem brusselator(A = 3.4, α = 0.1) {
  domain t in [0, 1], x in [0, 1] periodic, y in [0, 1] periodic
  field u, v
  u_t == 1 + u^2*v - (A + 1)*u + α*Δ(u)
  v_t == A*u - u^2*v + α*Δ(v)
  u == 22*y*(1 - y)^1.5 at t = 0
  v == 27*x*(1 - x)^1.5 at t = 0
}
end(n, l; A = 3.4) = solve(brusselator(A = A), fd(n, 2; time = bdf(linear = l)); t = (0.0, 0.3), saveat = [0.3], rtol = 1e-7, atol = 1e-9).values[0];
exact = end(10, "sparse");
max(abs(exact)) > 1                    #> true
end(10, "krylov")                      #~ exact tol 5e-7
slope(l) = jvp(a -> sum(end(6, l; A = a)), 3.4, 1.0)[1];
slope("krylov")                        #~ slope("sparse") tol 1e-6
back(l) = grad(a -> end(6, l; A = a[0])[5] * a[1])([3.4, 1.0]);
back("krylov")                         #~ back("sparse") tol 1e-6
