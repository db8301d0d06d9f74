# fourier.dsl - problems solved by fast transforms.
#
# A flame front by fourier(), Poisson's equation by discrete sine transforms,
# and Poisson's equation as a problem.

problem kuramoto(T) {
  domain t in [0, T], x in [0, 128] periodic
  field u
  u_t + u*u_x + u_xx + u_xxxx == 0
  u == cos(2π*x/128)*(1 + sin(2π*x/128)) at t = 0
}

flame(T) =
  solve(kuramoto(T), fourier(1024; time = cnab2(1/16)); saveat = [T], estimate = false).values[-1]

poisson(f) = {
  n = len(f)
  λ = (2(n + 1)*sin(0.5π*(1 + iota(n))/(n + 1)))^2
  s = dst(dst(f; type = 1, axis = 0); type = 1, axis = 1)
  s = [s[i, j]/(λ[i] + λ[j]) for i, j]
  idst(idst(s; type = 1, axis = 0); type = 1, axis = 1)
}

problem stretched {
  domain x in [0, 1], y in [0, 1]
  field u
  -u_xx - u_yy == 1.25
  u == 0 at x = 0, x = 1, y = 0, y = 1
}

membrane(n) =
  reshape(solve(stretched, fd(n = n + 2, order = 2); estimate = false).values, n + 2,
    n + 2)[1..-1, 1..-1]
