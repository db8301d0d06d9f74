# newton.dsl - ten Newton iterations for many systems of three equations each.

f(v, p) = [sum(v^2) - p[0], v[0]*v[1]*v[2] - p[1], v[0] - v[1]^2 + v[2] - p[2]]

newton(v, p) = {
  for k in 0..10 { v -= linsolve(jacobian(u -> f(u, p))(v), f(v, p)) }
  v
}

solve_all(vs, ps) = map(newton, vs, ps)
