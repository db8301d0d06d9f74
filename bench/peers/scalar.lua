-- scalar.lua - the scalar rows in Lua, for LuaJIT; one line of JSON each. Use: luajit scalar.lua [--quick]
-- For Lua beside the evaluator: lua5.4 scalar.lua --run NAME ARGUMENT TIMES prints the results of one of the functions.
local quick = arg[1] == "--quick"
local sqrt = math.sqrt

local function mandelbrot(n)
  local total = 0
  for i = 0, n - 1 do
    for j = 0, n - 1 do
      local a, b, x, y, k = -2.0 + 2.5 * j / n, -1.25 + 2.5 * i / n, 0.0, 0.0, 0
      while k < 100 and x * x + y * y <= 4 do
        x, y = x * x - y * y + a, 2 * x * y + b
        k = k + 1
      end
      total = total + k
    end
  end
  return total
end

local function fib(n)
  if n < 2 then return n end
  return fib(n - 1) + fib(n - 2)
end

local function planets(steps)
  local x = {{0, 0, 0}, {4.84143144246472090, -1.16032004402742839, -0.103622044471123109}, {8.34336671824457987, 4.12479856412430479, -0.403523417114321381}, {12.8943695621391310, -15.1111514016986312, -0.223307578892655734}, {15.3796971148509165, -25.9193146099879641, 0.179258772950371181}}
  local v = {{0, 0, 0}, {0.00166007664274403694, 0.00769901118419740425, -0.0000690460016972063023}, {-0.00276742510726411, 0.00499852801234917238, 0.0000230417297573763929}, {0.00296460137564761618, 0.00237847173959480950, -0.0000296589568540237556}, {0.00268067772490389322, 0.00162824170038242295, -0.0000951592254519715870}}
  local mass = {1.0, 0.000954791938424326609, 0.000285885980666130812, 0.0000436624404335156298, 0.0000515138902046611451}
  local G, dt = 0.00029591220828559, 10.0
  for _ = 1, steps do
    for i = 1, 5 do
      local xi, vi, mi = x[i], v[i], mass[i]
      for j = i + 1, 5 do
        local xj, vj, mj = x[j], v[j], mass[j]
        local dx, dy, dz = xi[1] - xj[1], xi[2] - xj[2], xi[3] - xj[3]
        local r2 = dx * dx + dy * dy + dz * dz
        local f = G * dt / (r2 * sqrt(r2))
        vi[1], vi[2], vi[3] = vi[1] - dx * (f * mj), vi[2] - dy * (f * mj), vi[3] - dz * (f * mj)
        vj[1], vj[2], vj[3] = vj[1] + dx * (f * mi), vj[2] + dy * (f * mi), vj[3] + dz * (f * mi)
      end
    end
    for i = 1, 5 do
      local p, q = x[i], v[i]
      p[1], p[2], p[3] = p[1] + dt * q[1], p[2] + dt * q[2], p[3] + dt * q[3]
    end
  end
  return x[1][1]
end

local function lorenz(steps)
  local h, x, y, z = 1e-5, 1.0, 0.0, 0.0
  for _ = 1, steps do
    local a1, b1, c1 = 10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z
    local p, q, r = x + h / 2 * a1, y + h / 2 * b1, z + h / 2 * c1
    local a2, b2, c2 = 10 * (q - p), p * (28 - r) - q, p * q - 8 / 3 * r
    p, q, r = x + h / 2 * a2, y + h / 2 * b2, z + h / 2 * c2
    local a3, b3, c3 = 10 * (q - p), p * (28 - r) - q, p * q - 8 / 3 * r
    p, q, r = x + h * a3, y + h * b3, z + h * c3
    local a4, b4, c4 = 10 * (q - p), p * (28 - r) - q, p * q - 8 / 3 * r
    x = x + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    y = y + h / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
    z = z + h / 6 * (c1 + 2 * c2 + 2 * c3 + c4)
  end
  return x + y + z
end

if arg[1] == "--run" then
  local f = ({mandelbrot = mandelbrot, planets = planets, fib = fib})[arg[2]]
  for _ = 1, tonumber(arg[4]) do print(f(tonumber(arg[3]))) end
  return
end

-- the clock is that of the processor: one thread, and other work on the machine does not count
for _, t in ipairs {{"mandelbrot", mandelbrot, 512, 48}, {"nbody", planets, 100000, 500}, {"fib", fib, 35, 19}, {"lorenz", lorenz, 1000000, 5000}} do
  local n, times, sink = quick and t[4] or t[3], {}, 0
  for k = 1, 6 do
    local turns, start = 0, os.clock()
    repeat
      sink = sink + t[2](n)
      turns = turns + 1
    until os.clock() - start > (quick and 0.01 or 0.1)
    if k > 1 then times[#times + 1] = (os.clock() - start) / turns end
  end
  table.sort(times)
  print(string.format('{"row": "%s", "peer": "LuaJIT", "ms": %.6g, "low": %.6g, "high": %.6g}', t[1], 1e3 * times[3], 1e3 * times[1], 1e3 * times[5]))
end
