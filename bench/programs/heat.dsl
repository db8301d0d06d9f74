# heat.dsl - explicit steps of the heat equation on a square grid.
#
# The step is in index notation. The boundary values stay as they are.

heat(u, steps) = {
  n = len(u)
  for k in 0..steps {
    change[i, j] := u[i-1, j] + u[i+1, j] + u[i, j-1] + u[i, j+1] - 4u[i, j] for i in 1..n-1,
      j in 1..n-1
    u[1..-1, 1..-1] += 0.2*change
  }
  u
}
