# Principal components: the singular value decomposition finds the plane that
# nearly contains a cloud of points in twenty dimensions.

seed(6)
(points, dimensions) = (300, 20)
hidden = randn(points, 2) * [3.0, 1.5]
directions = qr(randn(dimensions, 2))[0]
X = hidden @ directions' + 0.1randn(points, dimensions)

(U, s, V) = svd(X - mean(X; axis = 0))
explained = s^2 / sum(s^2)
print("share of the variance: {explained[..4]}")
assert(explained[0] + explained[1] > 0.95)

# The two directions span the plane of the cloud: all cosines of the angles
# between the planes are near 1.
cosines = svd(directions' @ V[.., ..2])[1]
print("cosines {cosines}")
assert(min(cosines) > 0.999)
semilogy(1 + iota(dimensions), explained, marker = "circle", xlabel = "component",
  ylabel = "share of the variance", file = "components.png")
