# A long loop in which some iterations define results of data-dependent extent.
# It switches to machine code at the current iteration. Oracle: masks.
x = sin(iota(60) + 1.0)
picked(n) = {
  (s, k) = (0.0, 0)
  while k < n {
    if k % 3 == 2 {
      at = findall(x > 0.3 * sin(k))
      s = s + sum(cos(x[at]) * at) * 1e-3
    }
    k = k + 1
  }
  s
}
by_masks(n) = {
  s = 0.0
  for k in 0..n { if k % 3 == 2 { s = s + sum(where(x > 0.3 * sin(k), cos(x) * iota(60), 0.0)) * 1e-3 } }
  s
}
picked(200000)                #~ by_masks(200000) tol 1e-6

# Here 80 n = 6400 determines n: the Jacobian of a function of 80 numbers, by
# rows, in each batch element.
squares(y) = { w = reshape(y, 40, 2); ravel(w * w) }
of_lanes(y, ts) = map(s -> sum(jacobian(u -> s * squares(u))(y)), ts)
from_length(n) = of_lanes(zeros(n) + 1, [1.0, 2.0])
from_length(80)              #> [160, 320]
