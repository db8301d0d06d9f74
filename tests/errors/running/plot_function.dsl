#! error E0605 2:1-2:10 "plot: a function is drawn on an interval, plot(f, (a, b)), or over a grid, heatmap(x, y, f)"
plot(sin)
