# plot_values.dsl - figures as values: the contents of their layers, and their
# composition.

x = linspace(0.0, 1, 5)
p = plot(x, x^2, x^3, labels = list("a", "b"), title = "powers");
p.kind                                    #> figure
len(p.panels[0].layers)                   #> 2
p.panels[0].layers[1].label               #> b
p.panels[0].layers[1].y                   #~ x^3
plot(x, expand(x, 1) * [1, 2, 3]).panels[0].layers[2].y     #~ 3x
plot([3, 1, 2]).panels[0].layers[0].x     #> [0, 1, 2]
q = plot(t -> t^2, (0, 2), n = 3);
q.panels[0].layers[0].y                   #> [0, 1, 4]
len(plot(sin, cos, (0, 1)).panels[0].layers)     #> 2
plot(t -> t, (1, 100), logx = true, n = 3).panels[0].layers[0].x   #~ [1, 10, 100]

# A histogram counts every finite value once; its densities have area 1.
h = hist([0.0, 0.1, 0.9, 1.0, 0.0/0, 1.0/0], bins = 2).panels[0].layers[0];
h.y                                       #> [2, 2]
h.x                                       #~ [0.25, 0.75]
seed(4)
v = randn(1000);
d = hist(v, density = true).panels[0].layers[0];
sum(d.y * d.b)                            #~ 1.0
sum(hist(v, bins = 7).panels[0].layers[0].y)     #> 1000.0
sum(hist(v, range = (0, 1)).panels[0].layers[0].y) == sum((v >= 0) and (v <= 1))   #> true
hist([5.0, 5, 5]).panels[0].layers[0].y[1]       #> 3.0

# stairs
stairs([0.0, 1, 2], [5.0, 6, 7]).panels[0].layers[0].x              #> [0, 1, 1, 2, 2, 2]
stairs([0.0, 1, 2], [5.0, 6, 7], at = "pre").panels[0].layers[0].x  #> [0, 0, 0, 1, 1, 2]
stairs([0.0, 1, 2], [5.0, 6, 7], at = "mid").panels[0].layers[0].x  #> [0, 0.5, 0.5, 1.5, 1.5, 2]
stairs([0.0, 1, 2], [5.0, 6, 7]).panels[0].layers[0].y              #> [5, 5, 6, 6, 7, 7]

# grouped and stacked bars
b = bar([0.0, 1], [1.0, 2; 3, 4], width = 0.8);
b.panels[0].layers[0].x                   #~ [-0.2, 0.8]
b.panels[0].layers[1].x                   #~ [0.2, 1.2]
c = bar([0.0, 1], [1.0, 2; 3, 4], stacked = true);
c.panels[0].layers[1].a                   #> [1, 3]
c.panels[0].layers[1].y                   #> [3, 7]
bar(list("p", "q"), [1, 2], horizontal = true).panels[0].layers[0].x   #> [1, 2]

# fields from functions
f = heatmap([0.0, 1], [0.0, 1, 2], (x, y) -> 10x + y);
f.panels[0].layers[0].z
#> [[0, 1, 2],
#>  [10, 11, 12]]
contour([0.0, 1], [0.0, 1], (x, y) -> x, levels = [0.7, 0.2]).panels[0].layers[0].levels   #> [0.2, 0.7]

# composition: the options of the first figure take precedence
o = overlay(plot(x, x, title = "first", xlabel = "x"), plot(x, 2x, title = "second", ylabel = "y"), hline(0.5));
(len(o.panels), len(o.panels[0].layers), o.panels[0].title, o.panels[0].ylabel)   #> (1, 3, "first", "y")
overlay(list(o, vline(1)), title = "mine").panels[0].title                         #> mine
s = subplots(plot(x), plot(x), plot(x), plot(x), plot(x));
(s.rows, s.cols, len(s.panels))           #> (2, 3, 5)
(subplots(list(p, q), cols = 1).rows, subplots(s, p).rows)   #> (2, 2)

# options as a record
style = (xlabel = "t / s", logy = true, grid = true)
plot(x, ...style).panels[0].logy          #> true

# A second y axis: a figure's options for y apply to the axis on the right.
t = linspace(0.0, 10, 50)
two = overlay(plot(t, t, ylabel = "left", label = "a"), right_axis(plot(t, 1 + t^4, ylabel = "right", logy = true, ylim = (1, 1e5), label = "b")), xlabel = "t");
r = two.panels[0];
(r.ylabel, r.y2label, r.logy, r.logy2, r.ylim, r.y2lim)     #> ("left", "right", false, true, none, (1, 100000.0))
(has(r.layers[0], "right"), r.layers[1].right, r.layers[1].label)   #> (false, true, "b (right)")
overlay(two, y2label = "other", y2ticks = [1.0, 100]).panels[0].y2label   #> other
right_axis(bar([1, 2], [3, 4], label = "b"), mark = false).panels[0].layers[0].label  #> b
try { right_axis(heatmap(ones(3, 3))) } catch m { m }   #> right_axis: pictures of fields by colour, and those in space, have no second axis

# options are passed on
loglog([1.0, 2], [1.0, 2]; aspect = 1, grid = true).panels[0].grid   #> true
hist([1.0, 2, 3]; bins = 2, xlabel = "x").panels[0].ylabel           #> count
image(ones(2, 3); map = "grey", zlabel = "z").panels[0].ylim         #> (1.5, -0.5)

# ---- animations of solutions
# The file name may be the second argument, and every field has its curve.
problem two() {
  domain t in [0, 0.1], x in [0, 1]
  field u, v
  u_t == u_xx - v
  v_t == v_xx + u
  u == sin(π*x) at t = 0
  v == 0*x at t = 0
  u == 0 at x = 0, x = 1
  v == 0 at x = 0, x = 1
}
film = solve(two(), fd(n = 21));
path = "/tmp/atled-two-fields.gif"
animate(film, path);
exists(path)                 #> true
animate(film.u, 4, file = path);
page = "/tmp/atled-two-fields.pdf"
show(plot([1, 2]), file = page)
exists(page)                 #> true
try { animate(k -> plot([1, 2]), path) } catch m { m }    #> animate: how many frames? animate(k -> picture, n; file)
