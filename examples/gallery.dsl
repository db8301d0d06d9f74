# gallery.dsl - every kind of picture that Atled draws, each in a few lines,
# written as gallery-NAME.png.

to(name) = "gallery-{name}.png"

# ---- curves

x = linspace(0.0, 10, 300)
plot(x, sin(x), exp(-x/4)*cos(2x), labels = list("sin x", "e^(−x/4) cos 2x"),
  title = "Two oscillations", xlabel = "x / rad", ylabel = "amplitude", file = to("curves"))

h = 0.5^iota(9)
loglog(h, h^2, 0.3h^4, 2e-13/h + 0*h, marker = "auto",
  labels = list("second order", "fourth order", "rounding"), xlabel = "step h",
  ylabel = "‖u_h − u‖_2", grid = true, file = to("loglog"))

semilogy(linspace(0, 3, 100), map(t -> exp(-5t) + 1e-6, linspace(0.0, 3, 100)), xlabel = "t / s",
  ylabel = "residual", title = "Convergence, ε = 10^−6", file = to("semilogy"))

# A parametric curve, with equal units.
t = linspace(0.0, 2π, 800)
plot(sin(3t), sin(4t + 0.5), aspect = 1, title = "Lissajous 3 : 4", colour = "purple",
  file = to("parametric"))

# Lines, areas and labels.
overlay(
  plot(x -> sin(x)/x, (0.01, 20), label = "sin(x)/x"),
  hline(0.0), hspan(-0.1, 0.1, label = "±10 %", colour = "green"),
  vline(π, style = "dashed"),
  annotate("first zero at π", 7.5, 0.55, to = (π, 0.0)),
  title = "A decaying wave", xlabel = "x", file = to("annotated"))

# ---- samples

seed(3)
a = randn(400)
b = 0.6a + 0.8randn(400)
scatter(a, b, values = a + b, zlabel = "a + b", xlabel = "a", ylabel = "b",
  title = "Correlated samples", map = "diverging", file = to("scatter"))

m = linspace(0.5, 6, 12)
overlay(
  fill_between(x[..200], 0.8sqrt(x[..200]), 1.2sqrt(x[..200]), label = "model ± 20 %",
    colour = "sky"),
  plot(x[..200], sqrt(x[..200]), label = "model", colour = "blue"),
  errorbars(m, sqrt(m) + 0.08randn(12), 0.15 + 0*m; xerr = 0.1, label = "measured", colour = "red"),
  xlabel = "time / s", ylabel = "distance / m", file = to("errorbars"))

bar(list("Monday", "Tuesday", "Wednesday", "Thursday", "Friday"),
  [3.0, 2; 4, 1; 2.5, 3; 5, 2; 4, 4], labels = list("morning", "evening"), ylabel = "visits",
  file = to("bar"))
bar(list("residual", "Jacobian", "linear solve", "output"), [1.2, 3.4, 7.9, 0.4], horizontal = true,
  colour = "green", xlabel = "time / ms", title = "One step", file = to("barh"))

hist(randn(5000), xlabel = "x", title = "5000 normal numbers", file = to("hist"))

n = iota(30)
subplots(
  stem(n, exp(-0.1n)*cos(0.6n), xlabel = "n", title = "stem"),
  stairs(n[..12], [0, 1, 1, 3, 2, 4, 4, 5, 3, 6, 7, 7], xlabel = "n", title = "stairs"),
  cols = 2, file = to("steps"))

# ---- fields

u = linspace(-3.0, 3, 121)
v = linspace(-2.0, 2, 81)
peaks(x, y) =
  3(1 - x)^2*exp(-x^2 - (y + 1)^2) - 10(x/5 - x^3 - y^5)*exp(-x^2 - y^2) - exp(-(x + 1)^2 - y^2)/3
heatmap(u, v, peaks, xlabel = "x", ylabel = "y", zlabel = "height", title = "Heat map",
  file = to("heatmap"))
contour(u, v, peaks, levels = 14, xlabel = "x", ylabel = "y", title = "Contours",
  file = to("contour"))
overlay(contourf(u, v, peaks, levels = 12),
  contour(u, v, peaks, levels = 12, numbers = false, colour = "black", width = 0.5), xlabel = "x",
  ylabel = "y", title = "Filled contours", file = to("contourf"))
surface(u, v, peaks, xlabel = "x", ylabel = "y", zlabel = "height", title = "A surface",
  file = to("surface"))
heatmap(u, v, (x, y) -> atan2(y, x), map = "cyclic", aspect = 1, zlabel = "angle",
  title = "A phase", file = to("phase"))
image(map(i -> map(j -> f64((i*j) % 7), f64(iota(8))), f64(iota(12))), title = "A matrix",
  map = "inferno", file = to("image"))

# ---- vectors

quiver(linspace(-2.0, 2, 21), linspace(-1.5, 1.5, 17), (x, y) -> -y, (x, y) -> x - x^3/3,
  title = "Vectors", xlabel = "x", ylabel = "y", file = to("quiver"))
w = linspace(-2π, 2π, 60)
overlay(streamlines(w, linspace(-3.0, 3, 50), (x, y) -> y, (x, y) -> -sin(x)), title = "A pendulum",
  xlabel = "angle θ / rad", ylabel = "dθ/dt / s^−1", file = to("streamlines"))

# ---- in space

s = linspace(0.0, 30, 1500)
plot3(cos(s)*s, sin(s)*s, s, xlabel = "x", ylabel = "y", zlabel = "z", title = "A conical spiral",
  file = to("plot3"))
scatter3(randn(300), randn(300), randn(300), xlabel = "x", ylabel = "y", zlabel = "z",
  file = to("scatter3"))

# ---- solutions

problem burgers(ν = 0.01/π) {
  domain t in [0, 1], x in [-1, 1]
  field u
  u_t + u*u_x == ν*u_xx
  u == -sin(π*x) at t = 0
  u == 0         at x = -1, x = 1
}
solution = solve(burgers(0.02), fd(n = 201), rtol = 1e-6, atol = 1e-8);
plot(solution, file = to("solution"))

# ---- panels of any kinds

subplots(
  plot(x, sin(x), title = "curve", xlabel = "x"),
  heatmap(u, v, peaks, title = "field", xlabel = "x", ylabel = "y"),
  surface(u, v, peaks, title = "surface"),
  hist(a, title = "histogram"),
  title = "Four panels", file = to("panels"))

# ---- films

wave = linspace(0.0, 2π, 120)
animate(k -> plot(wave, sin(wave - 2π*k/24), title = "phase {15k}°", ylim = (-1.2, 1.2),
  xlabel = "x"), 24,
  file = "gallery-wave.gif")
animate(solution, 40, file = to("burgers"))
