/* tasks.c - the same work in Atled and in hand-written C, in one run: what a ratio of 1 would mean is the machine's limit in plain C.
 *
 * Needs: include/atled.h only. Guarantees: both sides are checked against each other before they are timed; a time is the least of several
 * batches of at least 0.1 s, so that other work on the machine matters little.
 */
#include "atled.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char program[] =
    "mandel(n, limit) = {\n"
    "  total = 0\n"
    "  for i in 0..n {\n"
    "    for j in 0..n {\n"
    "      cr = 3.0*j/n - 2.0\n"
    "      ci = 2.0*i/n - 1.0\n"
    "      x = 0.0\n"
    "      y = 0.0\n"
    "      k = 0\n"
    "      while k < limit and x*x + y*y < 4.0 {\n"
    "        z = x*x - y*y + cr\n"
    "        y = 2.0*x*y + ci\n"
    "        x = z\n"
    "        k = k + 1\n"
    "      }\n"
    "      total = total + k\n"
    "    }\n"
    "  }\n"
    "  total\n"
    "}\n"
    "wave(a, b, x) = a*sin(x) + exp(-x*x)*b\n"
    "layer(W, b, x) = sum(tanh(x @ W' + b))\n";


static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef void (*Work)(void *ud);

/* Seconds of one run. */
static double measure(Work work, void *ud) {
	double best = INFINITY;
	work(ud);
	for (int batch = 0; batch < 5; batch++) {
		double start = now(), spent = 0;
		int runs = 0;
		while (spent < 0.1) {
			work(ud);
			runs++;
			spent = now() - start;
		}
		if (spent / runs < best) best = spent / runs;
	}
	return best;
}

typedef struct Task {
	const char *name;
	atled_raw call;
	void *ud;
	const int64_t *lengths;
	const void *const *in;
	void *const *out;
	Work c;
	void *c_ud;
} Task;

static void run_atled(void *ud) {
	Task *t = ud;
	if (t->call(t->ud, t->lengths, t->in, t->out) != ATLED_OK) {
		fprintf(stderr, "tasks: %s failed\n", t->name);
		exit(1);
	}
}

static void report(Task *t) {
	double a = measure(run_atled, t), c = measure(t->c, t->c_ud);
	printf("%-44s  %10.3f ms  %10.3f ms  %7.1f x\n", t->name, 1e3 * a, 1e3 * c, a / c);
}

/* ---- mandelbrot: scalar loops ------------------------------------------------------------------------------------------------- */

typedef struct Mandel {
	int64_t n, limit, total;
} Mandel;

static void mandel_c(void *ud) {
	Mandel *m = ud;
	m->total = 0;
	for (int64_t i = 0; i < m->n; i++)
		for (int64_t j = 0; j < m->n; j++) {
			double cr = 3.0 * (double)j / (double)m->n - 2.0, ci = 2.0 * (double)i / (double)m->n - 1.0, x = 0, y = 0;
			int64_t k = 0;
			for (; k < m->limit && x * x + y * y < 4.0; k++) {
				double z = x * x - y * y + cr;
				y = 2.0 * x * y + ci;
				x = z;
			}
			m->total += k;
		}
}

/* ---- element-wise ----------------------------------------------------------------------------------------------------------------- */

#define WAVE_N 1000000
typedef struct Wave {
	double a, b, *x, *y, *z;
} Wave;

static void wave_c(void *ud) {
	Wave *w = ud;
	for (int64_t i = 0; i < WAVE_N; i++) w->z[i] = w->a * sin(w->x[i]) + exp(-w->x[i] * w->x[i]) * w->b;
}

/* ---- gradient of a layer: contractions and tanh -------------------------------------------------------------------------------------- */

#define ROWS 2000
#define WIDTH 32
typedef struct Layer {
	double W[WIDTH * WIDTH], b[WIDTH], *x, gW[WIDTH * WIDTH], gA[WIDTH * WIDTH];
} Layer;

static void layer_c(void *ud) {
	Layer *l = ud;
	memset(l->gW, 0, sizeof l->gW);
	for (int r = 0; r < ROWS; r++) {
		const double *x = l->x + r * WIDTH;
		for (int i = 0; i < WIDTH; i++) {
			double z = l->b[i];
			for (int j = 0; j < WIDTH; j++) z += x[j] * l->W[i * WIDTH + j];
			double h = tanh(z), d = 1 - h * h;
			for (int j = 0; j < WIDTH; j++) l->gW[i * WIDTH + j] += d * x[j];
		}
	}
}

/* ---- main --------------------------------------------------------------------------------------------------------------------------------- */

static void write_err(void *ud, const char *text, size_t n) {
	(void)ud;
	fwrite(text, 1, n, stderr);
}

static int give_up(atled_context *ctx) {
	for (size_t i = 0; i < atled_error_count(ctx); i++) atled_error_write(ctx, i, ATLED_ERROR_TEXT, write_err, NULL);
	return 1;
}

static bool differ(const char *name, const double *x, const double *y, int64_t n) {
	for (int64_t i = 0; i < n; i++)
		if (!(fabs(x[i] - y[i]) <= 1e-9 * (1 + fabs(y[i])))) {
			fprintf(stderr, "tasks: %s: element %lld is %.17g in Atled and %.17g in C\n", name, (long long)i, x[i], y[i]);
			return true;
		}
	return false;
}

int main(void) {
	atled_context *ctx = atled_context_new(NULL);
	if (!ctx) return 1;
	atled_function *mandel, *wave, *layer, *gradient;
	if (atled_compile(ctx, program, sizeof program - 1, "tasks.dsl") != ATLED_OK || atled_lookup(ctx, "mandel", "(i64, i64) -> i64", &mandel) != ATLED_OK ||
	    atled_lookup(ctx, "wave", "(f64, f64, f64[n]) -> f64[n]", &wave) != ATLED_OK ||
	    atled_lookup(ctx, "layer", "(f64[m, k], f64[m], f64[n, k]) -> f64", &layer) != ATLED_OK || atled_derive(ctx, layer, "grad 0", &gradient) != ATLED_OK)
		return give_up(ctx);

	printf("%-44s  %13s  %13s  %9s\n", "task", "Atled", "plain C", "ratio");
	Mandel m = {.n = 128, .limit = 100};
	int64_t total = 0;
	Task tm = {"mandelbrot 128 x 128, 100 turns: scalar loops", .in = (const void *const[]){&m.n, &m.limit}, .out = (void *const[]){&total}, .c = mandel_c, .c_ud = &m};
	if (atled_entry(ctx, mandel, &tm.call, &tm.ud) != ATLED_OK) return give_up(ctx);
	run_atled(&tm);
	mandel_c(&m);
	if (total != m.total) {
		fprintf(stderr, "tasks: mandelbrot: %lld in Atled and %lld in C\n", (long long)total, (long long)m.total);
		return 1;
	}
	report(&tm);

	Wave w = {1.5, 0.5, malloc(WAVE_N * sizeof(double)), malloc(WAVE_N * sizeof(double)), malloc(WAVE_N * sizeof(double))};
	if (!w.x || !w.y || !w.z) return 1;
	for (int64_t i = 0; i < WAVE_N; i++) w.x[i] = 6.0 * (double)i / WAVE_N - 3;
	int64_t wave_length = WAVE_N;
	Task tw = {"a sin x + b exp(-x^2), 10^6 elements", .lengths = &wave_length, .in = (const void *const[]){&w.a, &w.b, w.x}, .out = (void *const[]){w.y}, .c = wave_c, .c_ud = &w};
	if (atled_entry(ctx, wave, &tw.call, &tw.ud) != ATLED_OK) return give_up(ctx);
	run_atled(&tw);
	wave_c(&w);
	if (differ("a sin x + b exp(-x^2)", w.y, w.z, WAVE_N)) return 1;
	report(&tw);

	static Layer l;
	l.x = malloc(ROWS * WIDTH * sizeof(double));
	if (!l.x) return 1;
	for (int i = 0; i < WIDTH * WIDTH; i++) l.W[i] = 0.2 * sin(1.7 * i);
	for (int i = 0; i < WIDTH; i++) l.b[i] = 0.1 * cos(2.3 * i);
	for (int i = 0; i < ROWS * WIDTH; i++) l.x[i] = sin(0.37 * i);
	int64_t sizes[3] = {WIDTH, WIDTH, ROWS};
	Task tl = {"gradient of a 32 x 32 tanh layer, 2000 rows", .lengths = sizes, .in = (const void *const[]){l.W, l.b, l.x}, .out = (void *const[]){l.gA}, .c = layer_c, .c_ud = &l};
	if (atled_entry(ctx, gradient, &tl.call, &tl.ud) != ATLED_OK) return give_up(ctx);
	run_atled(&tl);
	layer_c(&l);
	if (differ("gradient of a layer", l.gA, l.gW, WIDTH * WIDTH)) return 1;
	report(&tl);

	free(w.x), free(w.y), free(w.z), free(l.x);
	atled_function_free(mandel), atled_function_free(wave), atled_function_free(layer), atled_function_free(gradient);
	atled_context_free(ctx);
	return 0;
}
