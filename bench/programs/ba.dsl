# ba.dsl - bundle adjustment (ADBench): reprojection errors and derivatives.
#
# A camera has a rotation (an axis times an angle), centre, focal length,
# principal point and two coefficients of radial distortion. An observation is
# of one point by one camera. It has a weight w, which adds the error 1 - w^2.

rotate(r, x) = {
  s = r · r
  if s > 0 {
    θ = sqrt(s)
    axis = r/θ
    x*cos(θ) + (axis × x)*sin(θ) + axis*((axis · x)*(1 - cos(θ)))
  } else { x + r × x }
}

project(camera, x) = {
  p = rotate(camera[..3], x - camera[3..6])
  p = p[..2]/p[2]
  q = p · p
  p*(1 + camera[9]*q + camera[10]*q^2)*camera[6] + camera[7..9]
}

reprojection(camera, x, w, seen) = w*(project(camera, x) - seen)

# the sum of squared errors; observation i is of point at[i] by camera by[i]
objective(cameras, points, weights, by, at, seen) = {
  errors = map(reprojection, cameras[by], points[at], weights, seen)
  sum(errors^2) + sum((1 - weights^2)^2)
}

step(cameras, points, weights, by, at, seen) = {
  (value, (c, x, w)) =
    value_and_grad(((c, x, w)) -> objective(c, x, w, by, at, seen))((cameras, points, weights))
  (value, c, x, w)
}

# The derivatives of the two errors of each observation with respect to its 15
# unknowns: f64[observations, 2, 15].
jacobians(cameras, points, weights, by, at, seen) =
  map((c, x, w, s) -> jacobian(p -> reprojection(p[..11], p[11..14], p[14], s))(concat(c, x, [w])),
    cameras[by], points[at], weights, seen)
