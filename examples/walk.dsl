# Random walks: distances grow like the square root of time, and ten thousand
# walkers are one array.

seed(7)
(walkers, steps) = (10000, 400)
heading = 2π * rand(walkers, steps)
x = cumsum(cos(heading); axis = 1)
y = cumsum(sin(heading); axis = 1)
r2 = mean(x^2 + y^2; axis = 0)
n = 1 + iota(steps)

slope = sum(n * r2) / sum(n * n)
print("mean square distance {slope:.3f} per step, theory 1")
assert(abs(slope - 1) < 0.05)

# After many steps the distance has a Rayleigh distribution: the median square
# is log(2) n.
middle = sort(x[.., -1]^2 + y[.., -1]^2)[walkers // 2]
print("median of the square {middle:.1f}, theory {steps * log(2):.1f}")
assert(abs(middle / (steps * log(2)) - 1) < 0.05)
plot(x[0], y[0], file = "walk.png", aspect = 1, title = "one of {walkers} walks", xlabel = "x",
  ylabel = "y")
