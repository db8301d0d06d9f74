/* help.h - shared helpers of the tests of the public interface: values and
 * tensors, recorded text, a host function, the runner.
 *
 * Needs: atled.h, check.h.
 * Guarantees: everything works on the context of one T.
 */
#ifndef ATLED_TESTS_UNIT_API_HELP_H
#define ATLED_TESTS_UNIT_API_HELP_H

#include "atled.h"
#include "tests/unit/support/check.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct T { /* the state of a test */
	atled_context *x;
} T;

static inline void to_stdout(void *ud, const char *text, size_t n) {
	(void)ud;
	fwrite(text, 1, n, stdout);
}

static inline bool fine_at(T *t, atled_status st, const char *what, const char *file, int line) {
	if (check_msg_at(st == ATLED_OK, what, file, line, "status %d", (int)st)) return true;
	for (size_t i = 0; i < atled_error_count(t->x); i++)
		atled_error_write(t->x, i, ATLED_ERROR_TEXT, to_stdout, NULL);
	return false;
}
#define FINE(t, x) fine_at((t), (x), #x, __FILE__, __LINE__)

typedef struct Said {
	char text[4096];
	size_t n;
} Said;

static inline void hear(void *ud, const char *text, size_t n) {
	Said *s = ud;
	if (n > sizeof s->text - 1 - s->n) n = sizeof s->text - 1 - s->n;
	memcpy(s->text + s->n, text, n);
	s->n += n;
	s->text[s->n] = 0;
}

/* What a store writes, in one piece; the caller frees it. */
typedef struct Bytes {
	char *at;
	size_t n;
} Bytes;

static inline void keep_bytes(void *ud, const char *text, size_t n) {
	Bytes *b = ud;
	b->at = malloc(n);
	b->n = b->at ? n : 0;
	if (b->at) memcpy(b->at, text, n);
}

static inline bool near(double x, double y, double tol) {
	return fabs(x - y) <= tol * fmax(1, fabs(y));
}

static inline double number(T *t, const char *text) {
	atled_value *v = NULL;
	double d = NAN;
	FINE(t, atled_eval(t->x, text, ATLED_ZERO, "test", &v));
	if (v && !atled_value_f64(v, &d)) d = NAN;
	atled_value_free(v);
	return d;
}

static inline atled_tensor *scalar(T *t, double d) {
	atled_tensor *s = NULL;
	atled_array a = {.size = sizeof a};
	if (atled_tensor_new(t->x, ATLED_F64, 0, NULL, &s) != ATLED_OK ||
	    atled_tensor_view(s, &a) != ATLED_OK)
		return NULL;
	*(double *)a.data = d;
	return s;
}

static inline atled_tensor *vector(T *t, int64_t n, const double *from) {
	atled_tensor *s = NULL;
	atled_array a = {.size = sizeof a};
	if (atled_tensor_new(t->x, ATLED_F64, 1, &n, &s) != ATLED_OK ||
	    atled_tensor_view(s, &a) != ATLED_OK)
		return NULL;
	memcpy(a.data, from, (size_t)n * sizeof *from);
	return s;
}

static inline double element(const atled_tensor *s, int64_t i) {
	atled_array a = {.size = sizeof a};
	if (atled_tensor_view(s, &a) != ATLED_OK) return NAN;
	return ((double *)a.data)[a.rank ? i * a.strides[a.rank - 1] : 0];
}

static inline void free_all(int n, atled_tensor **s) {
	for (int i = 0; i < n; i++) {
		atled_tensor_free(s[i]);
		s[i] = NULL;
	}
}

/* ---- a host function ----------------------------------------------------- */

/* y[i] = x[i]^2 * a */
static inline int square_value(void *ud, atled_context *ctx, const atled_array *in,
                               atled_array *out) {
	const double *x = in[0].data, a = *(double *)in[1].data;
	(void)ctx;
	++*(int *)ud;
	for (int64_t i = 0; i < in[0].count; i++) ((double *)out[0].data)[i] = x[i] * x[i] * a;
	return 0;
}

static inline int square_jvp(void *ud, atled_context *ctx, const atled_array *in,
                             const atled_array *y, const atled_array *dx, atled_array *out) {
	const double *x = in[0].data, a = *(double *)in[1].data, *d = dx[0].data,
				 da = *(double *)dx[1].data;
	(void)ctx;
	(void)ud;
	(void)y;
	for (int64_t i = 0; i < in[0].count; i++)
		((double *)out[0].data)[i] = 2 * x[i] * d[i] * a + x[i] * x[i] * da;
	return 0;
}

static inline int square_vjp(void *ud, atled_context *ctx, const atled_array *in,
                             const atled_array *y, const atled_array *w, atled_array *out) {
	const double *x = in[0].data, a = *(double *)in[1].data, *c = w[0].data;
	(void)ctx;
	(void)ud;
	(void)y;
	if (out[0].data)
		for (int64_t i = 0; i < in[0].count; i++) ((double *)out[0].data)[i] = 2 * x[i] * a * c[i];
	if (out[1].data)
		for (int64_t i = 0; i < in[0].count; i++) *(double *)out[1].data += x[i] * x[i] * c[i];
	return 0;
}

/* Defines the host function with the given rules. */
static inline atled_status define_square(T *t, const char *name, bool jvp, bool vjp, int *calls) {
	atled_host h = {.size = sizeof h,
	                .name = name,
	                .type = "(f64[n], f64) -> f64[n]",
	                .ud = calls,
	                .value = square_value};
	if (jvp) h.jvp = square_jvp;
	if (vjp) h.vjp = square_vjp;
	return atled_define_host(t->x, &h);
}

/* ---- runner -------------------------------------------------------------- */

typedef struct TestCase {
	const char *name;
	void (*run)(T *t);
} TestCase;

static inline void run_tests(T *t, size_t n, const TestCase *tests) {
	for (size_t i = 0; i < n; i++) {
		check_in(tests[i].name);
		tests[i].run(t);
	}
}

#endif
