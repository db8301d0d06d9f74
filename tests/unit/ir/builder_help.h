/* builder_help.h - shared helpers of the builder's tests: types, parameters and
 * values of the function being built, the runner.
 *
 * Needs: lang/builder/, check.h.
 * Guarantees: a test starts with a builder of its own, which is abandoned when
 * the test leaves it open.
 */
#ifndef ATLED_TESTS_UNIT_IR_BUILDER_HELP_H
#define ATLED_TESTS_UNIT_IR_BUILDER_HELP_H

#include "lang/builder/internal.h"
#include "tests/unit/support/check.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct T { /* the state of one test */
	Ctx *c;
	Builder *b;
} T;

/* ---- shorthands ---------------------------------------------------------- */

static inline TypeId vec(T *t, Dtype d, Dim n) { return type_tensor(t->c, d, 1, &n); }

static inline TypeId mat(T *t, Dtype d, Dim n, Dim m) {
	return type_tensor(t->c, d, 2, (Dim[]){n, m});
}

static inline TypeId num(T *t, Dtype d) { return type_scalar(t->c, d); }

static inline Dim len(T *t, int64_t v) { return dim_const(t->c, v); }

static inline Dim sym(T *t, const char *name) { return build_fresh_dim(t->b, atom(t->c, name), 0); }

static inline Ref param(T *t, TypeId type) { return build_param(t->b, type, 0); }

static inline bool is_f64(T *t, Ref r, double x) {
	Value v;
	return ref_splat(t->b->fn, r, &v) && v.dtype == DT_F64 && v.f == x;
}

static inline bool is_i64(T *t, Ref r, int64_t x) {
	Value v;
	return ref_splat(t->b->fn, r, &v) && v.dtype == DT_I64 && v.i == x;
}

static inline bool is_op(T *t, Ref r, Op op) {
	const Inst *in = ref_inst(t->b->fn, r);
	return in && in->op == op;
}

static inline Ref arg_of(T *t, Ref r, uint32_t k) {
	return inst_arg(t->b->fn, ref_inst(t->b->fn, r), k);
}

static inline uint32_t count_op(const Fn *f, Op op) {
	uint32_t n = 0;
	for (uint32_t i = 0; i < f->insts.n; i++) n += f->insts.at[i].op == op;
	return n;
}

static inline Ref ints(T *t, uint32_t n, const int64_t *x) {
	Tensor *v = tensor_new(t->c, DT_I64, 1, (int64_t[]){n});
	if (!v) ctx_throw(t->c, ST_NOMEM);
	memcpy(v->data, x, n * sizeof *x);
	t->b->pending = v; /* freed with the builder when the next line throws */
	Ref r = build_const(t->b, (Value){.kind = V_TENSOR, .tensor = v});
	t->b->pending = NULL;
	tensor_unref(v);
	return r;
}

static inline bool holds_ints(T *t, Ref r, uint32_t n, const int64_t *x) {
	const Const *k = ref_constant(t->b->fn, r);
	return k && k->value.kind == V_TENSOR && k->value.tensor->dtype == DT_I64 &&
	       k->value.tensor->count == n && !memcmp(k->value.tensor->data, x, n * sizeof *x);
}

/* ---- runner -------------------------------------------------------------- */

typedef struct Job {
	void (*test)(T *t);
} Job;

static inline void job_body(Ctx *c, void *arg) {
	Job *j = arg;
	T t = {.c = c, .b = build_begin(c, atom(c, "test"), 0, NULL)};
	j->test(&t);
	if (t.b) build_abandon(t.b);
}

static inline void print_text(void *ud, const char *text, size_t n) {
	(void)ud;
	fwrite(text, 1, n, stdout);
}

/* Runs the test in a context of its own; it must leave no diagnostic. */
static inline void run(void (*test)(T *t)) {
	Ctx *c = ctx_new(NULL);
	Job j = {.test = test};
	Status s = ctx_protect(c, job_body, &j);
	if (s != ST_OK || diag_total(c)) {
		CHECK_MSG(false, "a test ended with status %d", (int)s);
		for (uint32_t i = 0; i < diag_total(c); i++)
			diag_render(c, diag_at(c, i), false, print_text, NULL);
	}
	ctx_free(c);
}

#endif
