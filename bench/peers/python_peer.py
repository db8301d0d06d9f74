"""python_peer.py - the scalar rows in plain Python.

Needs: numpy, for common.py only. Prints one line of JSON for each row.
"""
import math

import common
from common import measure, size

PEER = "CPython"

# Sun, Jupiter, Saturn, Uranus, Neptune
X = [[0.0, 0.0, 0.0], [4.84143144246472090, -1.16032004402742839, -0.103622044471123109],
     [8.34336671824457987, 4.12479856412430479, -0.403523417114321381],
     [12.8943695621391310, -15.1111514016986312, -0.223307578892655734],
     [15.3796971148509165, -25.9193146099879641, 0.179258772950371181]]
V = [[0.0, 0.0, 0.0], [0.00166007664274403694, 0.00769901118419740425, -0.0000690460016972063023],
     [-0.00276742510726411, 0.00499852801234917238, 0.0000230417297573763929],
     [0.00296460137564761618, 0.00237847173959480950, -0.0000296589568540237556],
     [0.00268067772490389322, 0.00162824170038242295, -0.0000951592254519715870]]
MASS = [1.0, 0.000954791938424326609, 0.000285885980666130812, 0.0000436624404335156298,
        0.0000515138902046611451]


def mandelbrot(n):
    total = 0
    for i in range(n):
        b = -1.25 + 2.5 * i / n
        for j in range(n):
            a, x, y, k = -2.0 + 2.5 * j / n, 0.0, 0.0, 0
            while k < 100 and x * x + y * y <= 4:
                x, y = x * x - y * y + a, 2 * x * y + b
                k += 1
            total += k
    return total


def planets(steps):
    G, dt = 0.00029591220828559, 10.0
    x, v = [p[:] for p in X], [p[:] for p in V]
    for _ in range(steps):
        for i in range(5):
            xi, vi, mi = x[i], v[i], MASS[i]
            for j in range(i + 1, 5):
                xj, vj, mj = x[j], v[j], MASS[j]
                dx, dy, dz = xi[0] - xj[0], xi[1] - xj[1], xi[2] - xj[2]
                r2 = dx * dx + dy * dy + dz * dz
                f = G * dt / (r2 * math.sqrt(r2))
                vi[0] -= dx * f * mj
                vi[1] -= dy * f * mj
                vi[2] -= dz * f * mj
                vj[0] += dx * f * mi
                vj[1] += dy * f * mi
                vj[2] += dz * f * mi
        for p, q in zip(x, v):
            p[0] += dt * q[0]
            p[1] += dt * q[1]
            p[2] += dt * q[2]
    return x


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def lorenz(steps):
    h = 1e-5
    x, y, z = 1.0, 0.0, 0.0
    for _ in range(steps):
        a1, b1, c1 = 10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z
        p, q, r = x + h / 2 * a1, y + h / 2 * b1, z + h / 2 * c1
        a2, b2, c2 = 10 * (q - p), p * (28 - r) - q, p * q - 8 / 3 * r
        p, q, r = x + h / 2 * a2, y + h / 2 * b2, z + h / 2 * c2
        a3, b3, c3 = 10 * (q - p), p * (28 - r) - q, p * q - 8 / 3 * r
        p, q, r = x + h * a3, y + h * b3, z + h * c3
        a4, b4, c4 = 10 * (q - p), p * (28 - r) - q, p * q - 8 / 3 * r
        x += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        y += h / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
        z += h / 6 * (c1 + 2 * c2 + 2 * c3 + c4)
    return x, y, z


if __name__ == "__main__":
    for row, f in (("mandelbrot", mandelbrot), ("nbody", planets), ("fib", fib),
                   ("lorenz", lorenz)):
        measure(PEER, row, lambda: lambda: f(size(row)))
