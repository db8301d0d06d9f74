/* test_delaunay.c - the host function `delaunay` when something fails: memory,
 * interrupts, limits, qhull's own errors, several threads.
 *
 * Oracle: every call gives a triangulation, or a status with at most one
 * message; memory is returned, and nothing is printed.
 *
 * Needs: solvers/geometry/delaunay_qhull.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "solvers/geometry/delaunay_qhull.h"
#include "lang/base/tensor.h"
#include "tests/unit/support/check.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static Ctx *fresh(void) {
	Ctx *c = ctx_new(NULL);
	if (!c) exit(2);
	return c;
}

static Value points(Ctx *c, int64_t n, double (*coordinate)(int64_t i)) {
	Tensor *t = tensor_new(c, DT_F64, 2, (int64_t[]){n, 2});
	if (!t) exit(2);
	for (int64_t i = 0; i < 2 * n; i++) ((double *)(void *)t->data)[i] = coordinate(i);
	return value_tensor(t);
}

static double at_random(int64_t i) {
	const double x = 43758.5453 * sin(12.9898 * (double)(i + 1));
	return x - floor(x);
}
static double on_a_circle(int64_t i) {
	return i % 2 ? sin(0.5 * (double)i - 0.5) : cos(0.5 * (double)i);
}
static double on_a_line(int64_t i) { return (double)(i / 2) / (i % 2 ? 3 : 1); }
static double at_one_place(int64_t i) { return (double)(i % 2); }
static double not_finite(int64_t i) { return i == 7 ? NAN : at_random(i); }
/* two points that rounding does not separate */
static double crowded(int64_t i) { return i / 2 == 50 ? at_random(i - 2) + 1e-14 : at_random(i); }

static Status run(Ctx *c, Value p, Value *triangles) {
	const HostCall call = {.def = &delaunay_host};
	triangles->kind = V_UNSET;
	diag_clear(c);
	return delaunay_host.eval(c, &call, 1, &p, 1, triangles);
}

/* Corners in range, and anticlockwise. */
static bool sound(Value p, Value triangles) {
	const double *x = (const double *)(const void *)p.tensor->data;
	const int64_t *id = (const int64_t *)(const void *)triangles.tensor->data,
				  n = p.tensor->shape[0];
	bool good = triangles.tensor->rank == 2 && triangles.tensor->shape[1] == 3;
	for (int64_t k = 0; good && k < triangles.tensor->shape[0]; k++, id += 3) {
		for (int i = 0; i < 3; i++) good &= id[i] >= 0 && id[i] < n;
		if (!good) break;
		const double *a = x + 2 * id[0], *b = x + 2 * id[1], *c = x + 2 * id[2];
		good = (b[0] - a[0]) * (c[1] - a[1]) > (b[1] - a[1]) * (c[0] - a[0]);
	}
	return good;
}

static void test_values(void) {
	Ctx *c = fresh();
	for (int64_t n = 3; n < 3000; n = 2 * n + 1) {
		Value p = points(c, n, at_random), t;
		CHECK(run(c, p, &t) == ST_OK && sound(p, t) && !diag_total(c));
		value_unref(t);
		value_unref(p);
	}
	Value p = points(c, 100, on_a_circle), t;
	CHECK(run(c, p, &t) == ST_OK && sound(p, t) && t.tensor->shape[0] == 98);
	value_unref(t);
	value_unref(p);
	ctx_free(c);
}

/* Errors are messages, below and above the size that runs on its own thread. */
static void test_messages(void) {
	static const struct {
		double (*coordinate)(int64_t i);
		const char *says;
	} cases[] = {{on_a_line, "all points are on one line"},
	             {at_one_place, "points 0 and 1 are at one place"},
	             {not_finite, "point 3 is not finite"},
	             {crowded, "lies so close to others"}};
	Ctx *c = fresh();
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
		for (int64_t n = 200; n < 5000; n += 4000) {
			Value p = points(c, n, cases[k].coordinate), t;
			const size_t held = heap_used(c);
			CHECK(run(c, p, &t) == ST_ERROR && t.kind == V_UNSET && diag_total(c) == 1);
			CHECK_MSG(strstr(diag_at(c, 0)->message, cases[k].says), "%s", diag_at(c, 0)->message);
			diag_clear(c);
			CHECK(heap_used(c) <= held + 10000);
			value_unref(p);
		}
	ctx_free(c);
}

static void test_failures(void) {
	for (int64_t n = 300; n < 30000; n += 20000) {
		Ctx *c = fresh();
		Value p = points(c, n, at_random), t;
		CHECK(run(c, p, &t) == ST_OK);
		value_unref(t);
		int failures = 0;
		Status st = ST_NOMEM;
		for (uint64_t k = 1; k < 20 && st != ST_OK; k++) {
			heap_fail_at(c, k, false);
			st = run(c, p, &t);
			heap_fail_at(c, 0, false);
			if (st == ST_OK) value_unref(t);
			else CHECK(st == ST_NOMEM && t.kind == V_UNSET), failures++;
		}
		CHECK(st == ST_OK && failures >= 2);
		ctx_interrupt_at_poll(c, 1);
		CHECK(run(c, p, &t) == ST_INTERRUPTED && t.kind == V_UNSET);
		ctx_interrupt_at_poll(c, 0);
		ctx_clear_interrupt(c);
		/* what was left behind does not disturb the next call */
		CHECK(run(c, p, &t) == ST_OK && sound(p, t));
		value_unref(t);
		heap_set_limit(c, heap_used(c) + (size_t)n * 500);
		CHECK(run(c, p, &t) == ST_NOMEM && t.kind == V_UNSET);
		value_unref(p);
		ctx_free(c); /* waits for calls left behind */
	}
}

static void *many(void *arg) {
	Ctx *c = fresh();
	for (int k = 0; k < 10; k++) {
		Value p = points(c, 100 + 50 * k, k % 2 ? at_random : on_a_circle), t;
		const Status st = run(c, p, &t);
		*(bool *)arg &= st == ST_OK && sound(p, t);
		if (st == ST_OK) value_unref(t);
		value_unref(p);
	}
	ctx_free(c);
	return NULL;
}

static void test_threads(void) {
	pthread_t threads[4];
	bool good[4] = {true, true, true, true};
	for (int k = 0; k < 4; k++)
		if (pthread_create(&threads[k], NULL, many, &good[k])) exit(2);
	for (int k = 0; k < 4; k++) {
		pthread_join(threads[k], NULL);
		CHECK(good[k]);
	}
}

int main(void) {
	/* nothing is printed to stderr */
	char path[] = "/tmp/atled-test-delaunay-XXXXXX";
	const int file = mkstemp(path), before = dup(STDERR_FILENO);
	if (file < 0 || before < 0 || dup2(file, STDERR_FILENO) < 0) return 2;
	unlink(path);
	test_values();
	test_messages();
	test_failures();
	test_threads();
	dup2(before, STDERR_FILENO);
	CHECK(lseek(file, 0, SEEK_END) == 0);
	return check_end();
}
