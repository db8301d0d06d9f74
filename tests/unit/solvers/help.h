/* help.h - shared helpers of the tests of the SUNDIALS host functions: values,
 * problems and their solution, interrupts and allocation failure, the runner.
 *
 * Needs: solvers/, autodiff/, backend/, check.h.
 * Guarantees: everything works on one T.
 */
#ifndef ATLED_TESTS_UNIT_SOLVERS_HELP_H
#define ATLED_TESTS_UNIT_SOLVERS_HELP_H

#include "autodiff/autodiff.h"
#include "backend/backend.h"
#include "solvers/solvers.h"
#include "tests/unit/support/check.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 8 }; /* unknowns of a problem */

typedef struct T { /* the state of a test */
	Ctx *c;
	Builder *b;
} T;

void sv_show_diags(T *t);

static inline void near_at(double got, double want, double tolerance, const char *what,
                           const char *file, int line) {
	double off = fabs(got - want) / fabs(want);
	check_msg_at(off <= tolerance, what, file, line, "%.15g instead of %.15g: off by %.2g", got,
	             want, off);
}
#define NEAR(got, want, tolerance) near_at((got), (want), (tolerance), #got, __FILE__, __LINE__)

/* Checks that there are `degree` rows for each step, except that up to 32 of
 * the first steps may be merged into one. */
static inline bool rows_of_steps(int64_t rows, int64_t degree, int64_t steps) {
	return (rows - 1) % degree == 0 && rows <= 1 + degree * steps &&
	       rows > 1 + degree * (steps - 32);
}

/* ---- values -------------------------------------------------------------- */

static inline Value vector(T *t, int64_t n, const double *x) {
	Tensor *v = tensor_new(t->c, DT_F64, 1, &n);
	for (int64_t i = 0; i < n; i++) ((double *)(void *)v->data)[i] = x[i];
	return value_tensor(v);
}

static inline Value filled(T *t, int64_t n, double x) {
	Value v = vector(t, 0, NULL);
	value_unref(v);
	Tensor *w = tensor_new(t->c, DT_F64, 1, &n);
	for (int64_t i = 0; i < n; i++) ((double *)(void *)w->data)[i] = x;
	return value_tensor(w);
}

static inline double number(Value v, int64_t i) {
	return ((const double *)(const void *)v.tensor->data)[i];
}

static inline void drop(Value *v, uint32_t n) {
	for (uint32_t i = 0; i < n; i++) {
		value_unref(v[i]);
		v[i] = (Value){.kind = V_UNSET};
	}
}

static inline int64_t stat(Value stats, int64_t i) {
	return ((const int64_t *)(const void *)stats.tensor->data)[i];
}

static inline double last(Value values, int64_t i) {
	return number(values, (values.tensor->shape[0] - 1) * values.tensor->shape[1] + i);
}

/* ---- arithmetic on scalars in the function being built ------------------- */

static inline Ref K(T *t, double x) { return build_f64(t->b, x); }
static inline Ref add(T *t, Ref x, Ref y) { return build2(t->b, OP_ADD, x, y); }
static inline Ref sub(T *t, Ref x, Ref y) { return build2(t->b, OP_SUB, x, y); }
static inline Ref mul(T *t, Ref x, Ref y) { return build2(t->b, OP_MUL, x, y); }
static inline Ref neg(T *t, Ref x) { return build1(t->b, OP_NEG, x); }

static inline Ref element(T *t, Ref v, int64_t i) {
	return build_reshape(
		t->b, build_slice(t->b, v, (Dim[]){dim_const(t->c, i)}, (Dim[]){dim_const(t->c, 1)}, NULL),
		0, NULL);
}

static inline Ref gathered(T *t, uint32_t n, const Ref *x) {
	Ref parts[MOST * MOST];
	for (uint32_t i = 0; i < n; i++)
		parts[i] = build_reshape(t->b, x[i], 1, (Dim[]){dim_const(t->c, 1)});
	return n == 1 ? parts[0] : build_concat(t->b, n, parts, 0);
}

/* ---- problems ------------------------------------------------------------ */

typedef struct Problem {
	const char *name;
	uint32_t n, np;
	double y0[MOST], p[4], t1;
	void (*f)(T *t, const Ref *p, Ref time, const Ref *y, Ref *out);
	/* out[i*n + j] = df_i/dy_j; REF_NONE: zero, and not in the pattern */
	void (*jacobian)(T *t, const Ref *p, Ref time, const Ref *y, Ref *out);
} Problem;

extern const Problem SV_ROBERTSON, SV_LOTKA_VOLTERRA;

/* The solver settings of a problem. */
typedef struct Setting {
	bool sparse, adams;
	int64_t degree, max_steps;
	double t0, t1, rtol, atol, max_step;
	const double *atols; /* NULL: atol everywhere */
	const double *at;
	int64_t nat;
} Setting;

/* ---- solution ------------------------------------------------------------ */

static inline TypeId scalar(T *t) { return type_scalar(t->c, DT_F64); }
static inline TypeId vector_type(T *t, Dtype d, int64_t n) {
	Dim k = dim_const(t->c, n);
	return type_tensor(t->c, d, 1, &k);
}

/* (y0, t0, t1, rtol, atol, saveat, max_step, p...) -> times, values, stats. The
 * caller owns it; NULL on failure. */
Fn *sv_make_solve(T *t, const Problem *p, const Setting *w);
uint32_t sv_solve_args(T *t, const Problem *p, const Setting *w, Value *args);
Status sv_run(T *t, Fn *f, const Value *args, Value *results);
Status sv_solve(T *t, const Problem *p, const Setting *w, Value *results);
/* The same; reports a failure. */
bool sv_solved(T *t, const Problem *p, const Setting *w, Value *results);
bool sv_failed_with(T *t, Status st, Status want, DiagCode code, const char *words);
bool sv_told(T *t, Status st, const char *what); /* reports a status other than ST_OK */

/* ---- interrupts and allocation failure ----------------------------------- */

/* Interrupts at poll 1, 2, ...: the run stops, nothing leaks, and the next run
 * gives the same bits. */
void sv_interrupt_everywhere(T *t, Fn *f, const Value *args, uint32_t nresults);
/* The same with each allocation failing once, and with all from there on. */
void sv_fail_allocations(T *t, Fn *f, const Value *args, uint32_t nresults);

/* ---- runner -------------------------------------------------------------- */

typedef struct TestCase {
	const char *name;
	void (*run)(T *t);
} TestCase;
/* The body of main: runs all tests in one context with the solvers and ends
 * like check_end. */
int sv_run_tests(size_t n, const TestCase *tests);

#endif
