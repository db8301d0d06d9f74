/* scalar.c - C reference: scalar loops.
 *
 * Mandelbrot set, planets, Fibonacci numbers, Lorenz system by Runge-Kutta.
 *
 * Method: plain C, one thread, compiled with -O2, to which the goal refers.
 *
 * Needs: limit.h.
 */
#include "limit.h"

#include <math.h>

static int64_t size_of(const Case *c) { return *(const int64_t *)c->in[0].data; }

static void number_setup(Case *c) {
	c->in[0] = limit_array(WHOLE64, 1, 0, 0);
	*(int64_t *)c->in[0].data = c->n;
	c->out[0] = limit_array(c->row->variant ? REAL64 : WHOLE64,
	                        c->row->variant ? c->row->variant : 1, 0, 0);
	c->in[0].rank = 0;
	if (c->row->variant <= 1) c->out[0].rank = 0;
	c->ins = c->outs = 1;
}

static void mandelbrot_run(Case *c) {
	int64_t n = size_of(c), total = 0;
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < n; j++) {
			double a = -2.0 + 2.5 * (double)j / (double)n, b = -1.25 + 2.5 * (double)i / (double)n,
				   x = 0, y = 0;
			int64_t k = 0;
			while (k < 100 && x * x + y * y <= 4) {
				double z = x * x - y * y + a;
				y = 2 * x * y + b;
				x = z;
				k++;
			}
			total += k;
		}
	*(int64_t *)c->out[0].data = total;
}

static __attribute__((noinline)) int64_t fib(int64_t n) {
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
static void fib_run(Case *c) { *(int64_t *)c->out[0].data = fib(size_of(c)); }

static void planets_run(Case *c) {
	/* Sun, Jupiter, Saturn, Uranus, Neptune: au, au/day, solar masses */
	static const double x0[5][3] = {
		{0, 0, 0},
		{4.84143144246472090, -1.16032004402742839, -0.103622044471123109},
		{8.34336671824457987, 4.12479856412430479, -0.403523417114321381},
		{12.8943695621391310, -15.1111514016986312, -0.223307578892655734},
		{15.3796971148509165, -25.9193146099879641, 0.179258772950371181}};
	static const double v0[5][3] = {
		{0, 0, 0},
		{0.00166007664274403694, 0.00769901118419740425, -0.0000690460016972063023},
		{-0.00276742510726411, 0.00499852801234917238, 0.0000230417297573763929},
		{0.00296460137564761618, 0.00237847173959480950, -0.0000296589568540237556},
		{0.00268067772490389322, 0.00162824170038242295, -0.0000951592254519715870}};
	static const double mass[5] = {1, 0.000954791938424326609, 0.000285885980666130812,
	                               0.0000436624404335156298, 0.0000515138902046611451};
	const double G = 0.00029591220828559, dt = 10;
	double x[5][3], v[5][3];
	for (int i = 0; i < 5; i++)
		for (int k = 0; k < 3; k++) x[i][k] = x0[i][k], v[i][k] = v0[i][k];
	for (int64_t step = 0, n = size_of(c); step < n; step++) {
		for (int i = 0; i < 5; i++)
			for (int j = i + 1; j < 5; j++) {
				double dx = x[i][0] - x[j][0], dy = x[i][1] - x[j][1], dz = x[i][2] - x[j][2];
				double r2 = dx * dx + dy * dy + dz * dz, f = G * dt / (r2 * sqrt(r2));
				v[i][0] -= dx * (f * mass[j]), v[i][1] -= dy * (f * mass[j]),
					v[i][2] -= dz * (f * mass[j]);
				v[j][0] += dx * (f * mass[i]), v[j][1] += dy * (f * mass[i]),
					v[j][2] += dz * (f * mass[i]);
			}
		for (int i = 0; i < 5; i++)
			for (int k = 0; k < 3; k++) x[i][k] += dt * v[i][k];
	}
	double e = 0;
	for (int i = 0; i < 5; i++) {
		e += 0.5 * mass[i] * (v[i][0] * v[i][0] + v[i][1] * v[i][1] + v[i][2] * v[i][2]);
		for (int j = i + 1; j < 5; j++) {
			double dx = x[i][0] - x[j][0], dy = x[i][1] - x[j][1], dz = x[i][2] - x[j][2];
			e -= G * mass[i] * mass[j] / sqrt(dx * dx + dy * dy + dz * dz);
		}
	}
	*(double *)c->out[0].data = e;
}

typedef struct Point {
	double x, y, z;
} Point;
static inline Point slope(Point p) {
	return (Point){10 * (p.y - p.x), p.x * (28 - p.z) - p.y, p.x * p.y - 8.0 / 3 * p.z};
}
static inline Point ahead(Point p, double h, Point d) {
	return (Point){p.x + h * d.x, p.y + h * d.y, p.z + h * d.z};
}

static void lorenz_run(Case *c) {
	int64_t steps = size_of(c);
	double h = 1e-5;
	Point p = {1, 0, 0};
	for (int64_t k = 0; k < steps; k++) {
		Point k1 = slope(p), k2 = slope(ahead(p, h / 2, k1)), k3 = slope(ahead(p, h / 2, k2)),
			  k4 = slope(ahead(p, h, k3));
		p.x += h / 6 * (k1.x + 2 * k2.x + 2 * k3.x + k4.x);
		p.y += h / 6 * (k1.y + 2 * k2.y + 2 * k3.y + k4.y);
		p.z += h / 6 * (k1.z + 2 * k2.z + 2 * k3.z + k4.z);
	}
	double *out = c->out[0].data;
	out[0] = p.x, out[1] = p.y, out[2] = p.z;
}

#define ROW(label, text, f, t, tol, big, small, v, r)                                              \
	{                                                                                              \
		.name = label, .title = text, .program = "scalar", .function = f, .type = t, .goal = 1.3,  \
		.tolerance = tol, .full = big, .quick = small, .variant = v, .setup = number_setup,        \
		.run = r                                                                                   \
	}

const Row scalar_rows[] = {
	ROW("mandelbrot", "Mandelbrot, 512 x 512, 100 turns", "mandelbrot", "(i64) -> i64", 0, 512, 48,
        0, mandelbrot_run),
	ROW("nbody", "five planets, 1e5 steps", "planets", "(i64) -> f64", 1e-9, 100000, 500, 1,
        planets_run),
	ROW("fib", "fib(35)", "fib", "(i64) -> i64", 0, 35, 19, 0, fib_run),
	ROW("lorenz", "Lorenz by Runge-Kutta, 1e6 steps", "lorenz", "(i64) -> f64[3]", 1e-9, 1000000,
        5000, 3, lorenz_run),
	{0},
};
