% octave_peer.m - rows in Octave: arrays as its users write them, and scalar loops; one line of JSON each.
% Use: octave-cli octave_peer.m [--quick]. Scalar loops run at a hundredth of the work, or less, and their time is multiplied: at full size they take
% many minutes.
1;
function show(row, f, quick, scale)
  f();
  times = [];
  for k = 1:3
    turns = 0;
    start = tic;
    do
      f();
      turns += 1;
    until toc(start) > 0.01 + 0.09 * !quick
    times(k) = 1e3 * scale * toc(start) / turns;
    if times(k) > 2000 break; end
  end
  printf('{"row": "%s", "peer": "Octave", "ms": %.6g, "low": %.6g, "high": %.6g}\n', row, median(times), min(times), max(times));
  fflush(stdout);
end
function y = chain(x)
  a = 0.5 * x + 0.1;
  b = tanh(a);
  p = b .* b - 0.3 * x;
  d = exp(-p .* p);
  f = d .* b + a;
  h = f ./ sqrt(f .* f + 1);
  y = tanh(h - 0.2 * d) .* p + h;
end
function y = softmax(x)
  e = exp(x - max(x, [], 2));
  y = e ./ sum(e, 2);
end
function u = heat(u, steps)
  for k = 1:steps
    u(2:end-1, 2:end-1) += 0.2 * (u(1:end-2, 2:end-1) + u(3:end, 2:end-1) + u(2:end-1, 1:end-2) + u(2:end-1, 3:end) - 4 * u(2:end-1, 2:end-1));
  end
end
function total = mandelbrot(n)
  total = 0;
  for i = 0:n-1
    for j = 0:n-1
      a = -2 + 2.5 * j / n; b = -1.25 + 2.5 * i / n; x = 0; y = 0; k = 0;
      while k < 100 && x * x + y * y <= 4
        z = x * x - y * y + a;
        y = 2 * x * y + b;
        x = z;
        k += 1;
      end
      total += k;
    end
  end
end
function r = fib(n)
  if n < 2 r = n; else r = fib(n - 1) + fib(n - 2); end
end
function d = slope(u)
  d = [10 * (u(2) - u(1)); u(1) * (28 - u(3)) - u(2); u(1) * u(2) - 8 / 3 * u(3)];
end
function u = lorenz(steps)
  h = 1e-5;
  u = [1; 0; 0];
  for k = 1:steps
    k1 = slope(u); k2 = slope(u + h / 2 * k1); k3 = slope(u + h / 2 * k2); k4 = slope(u + h * k3);
    u += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
  end
end
quick = any(strcmp(argv(), "--quick"));
n = 1e7;
if quick n = 2e5; end
x = rand(n, 1) * 6 - 3;
show("wave", @() 1.3 * sin(x) + exp(-x .^ 2) * 0.7, quick, 1);
show("chain-1e7", @() chain(x), quick, 1);
m = n;
if quick m = 5e5; end
x = rand(m, 1); y = rand(m, 1);
show("triad", @() x + 3 * y, quick, 1);
show("sum", @() sum(x), quick, 1);
show("dot", @() x' * y, quick, 1);
show("max", @() max(x), quick, 1);
show("cumsum", @() cumsum(x), quick, 1);
rows = 8192;
if quick rows = 128; end
x = rand(rows, 1024);
show("softmax", @() softmax(x), quick, 1);
a = rand(1024); b = rand(1024);
show("matmul-1024", @() a * b, quick, 1);
n = 1024; steps = 1000;
if quick n = 128; steps = 20; end
u = rand(n);
show("heat", @() heat(u, steps), quick, 1);
if quick
  show("mandelbrot", @() mandelbrot(16), quick, (48 / 16) ^ 2);
  show("fib", @() fib(10), quick, fib(19) / fib(10));
  show("lorenz", @() lorenz(100), quick, 50);
else
  show("mandelbrot", @() mandelbrot(32), quick, (512 / 32) ^ 2);
  show("fib", @() fib(12), quick, 9227465 / 144);
  show("lorenz", @() lorenz(1000), quick, 1000);
end
