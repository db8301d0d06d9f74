/* help.h - shared helpers of the evaluator tests: random tensors, building and
 * running a function, comparison.
 *
 * Needs: backend/eval/code.h.
 * Guarantees: random values depend only on the seed in T.
 */
#ifndef ATLED_TESTS_UNIT_EVAL_HELP_H
#define ATLED_TESTS_UNIT_EVAL_HELP_H

#include "backend/backend.h"
#include "tests/unit/support/check.h"
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#undef I

typedef struct T { /* the state of a test */
	Ctx *c;
	Builder *b;
	Fn *f;
	uint64_t seed;
	Text printed;
} T;

#define SHAPE(...) (sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), ((int64_t[]){__VA_ARGS__})

void ev_show_diags(T *t);
uint64_t ev_bits(T *t);
double ev_uniform(T *t, double lo, double hi);
int64_t ev_below(T *t, int64_t n);
void ev_put(Dtype d, void *p, double re, double im);
double _Complex ev_at(const Tensor *x, const int64_t *index);
void ev_fill(T *t, Tensor *x, double lo, double hi);
Tensor *ev_tensor(T *t, Dtype d, uint32_t rank, const int64_t *shape, double lo, double hi);
bool ev_step(uint32_t rank, const int64_t *shape, int64_t *index);
double ev_off(double _Complex a, double _Complex b);
double ev_distance(Value v, const double _Complex *want);
TypeId ev_type_like(T *t, Value v, bool symbolic);
void ev_begin(T *t);
Ref ev_param(T *t, TypeId type);
TypeId ev_num(T *t, Dtype d);
Dim ev_len(T *t, int64_t n);
TypeId ev_vec(T *t, Dtype d, int64_t n);
TypeId ev_vec_of(T *t, Dtype d, Dim n);
bool ev_build_it(T *t, void (*make)(T *, const void *), const void *what);
Status ev_call(T *t, const Value *args, Value *results);
Status ev_once(T *t, void (*make)(T *, const void *), const void *what, const Value *args,
               Value *results);
void ev_drop(Value *v, uint32_t n);
bool ev_failed_with(T *t, Status st, Status want, DiagCode code, const char *words);

typedef struct TestCase {
	const char *name;
	void (*run)(T *t);
} TestCase;
/* The body of main: makes a context with the backend, runs all cases and ends
 * like check_end. */
int ev_run_tests(size_t n, const TestCase *tests);

#endif
