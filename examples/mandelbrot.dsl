# The Mandelbrot set: the number of iterations after which z -> z^2 + c leaves
# the disc of radius 2, for every c of a grid.

escape(c; most = 200) = {
  z = 0 * c
  turns = 0
  while turns < most and real(z)^2 + imag(z)^2 <= 4 {
    z = z^2 + c
    turns += 1
  }
  turns
}

x = linspace(-2.2, 0.8, 300)
y = linspace(-1.2, 1.2, 240)
turns = [escape(x[i] + y[j] * im) for i, j]

assert(escape(0im) == 200 and escape(1 + 0im) == 3)
area = mean(turns == 200) * 3.0 * 2.4
print("area of the set about {area:.2f}")               # 1.5066 on much finer grids
assert(abs(area - 1.5066) < 0.05)
heatmap(x, y, turns, logz = true, aspect = 1, xlabel = "Re c", ylabel = "Im c",
  zlabel = "turns until |z| > 2", file = "mandelbrot.png")
