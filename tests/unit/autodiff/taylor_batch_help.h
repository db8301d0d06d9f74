/* taylor_batch_help.h - shared helpers of the jet and batch tests: random
 * values, protected transforms, a host function, the runner.
 *
 * Needs: autodiff/, backend/, check.h.
 * Guarantees: everything works on one Test. An element-wise derivative rule is
 * read when first used and lives as long as the context.
 */
#ifndef ATLED_TESTS_UNIT_AUTODIFF_TAYLOR_BATCH_HELP_H
#define ATLED_TESTS_UNIT_AUTODIFF_TAYLOR_BATCH_HELP_H

#include "autodiff/autodiff.h"
#include "backend/backend.h"
#include "tests/unit/support/check.h"

typedef struct Test {
	Ctx *c;
	uint64_t random;
} Test;

void jb_show_diags(Test *t); /* and clears them */
void jb_show_fn(const Fn *f);

/* ---- element-wise derivative rules, in the parser's context slot --------- */

typedef struct Lines {
	Fn *at[OP_COUNT][DT_COUNT];
} Lines;

Fn *jb_line_of_calculus(Ctx *c, Op op, Dtype d);
void jb_free_lines(Ctx *c, void *state);

/* ---- values -------------------------------------------------------------- */

/* How the parameters of a case are filled. */
typedef struct Fill {
	double lo, hi;
	int64_t ints; /* upper bound of integers */
	/* Added times (1 + row / 2) to the diagonal of arrays whose last two axes
	 * are equal. */
	double diagonal;
} Fill;

double jb_random_in(Test *t, double lo, double hi);
Tensor *jb_random_tensor(Test *t, const Fill *fill, Dtype d, uint32_t rank, const int64_t *shape);
/* lanes >= 0: with a leading batch axis of that extent. */
Value jb_random_value(Test *t, const Fill *fill, const Type *ty, int64_t lanes);
Value jb_lane_of(Test *t, Value batched, int64_t lane);
double complex jb_element(const Tensor *x, const int64_t *index);
/* Returns the largest difference relative to the largest element (or 1),
 * INFINITY when the shapes differ. */
double jb_difference(Test *t, Value a, Value b);
double jb_number(Value v);
void jb_drop(uint32_t n, Value *v);

/* ---- functions ----------------------------------------------------------- */

Fn *jb_read_fn(Ctx *c, const char *text);
Fn *jb_source(Test *t, const char *text); /* reports errors in the text */
bool jb_run(Test *t, Fn *f, const Value *args, Value *results);

/* A transform to run inside ctx_protect; NULL when it throws or does not
 * verify. */
typedef struct Ask {
	Fn *f, *out;
	uint32_t order;
	const bool *mask;
	bool *flags;
	bool partly, verified;
} Ask;

void jb_ask_jet(Ctx *c, void *ask);
void jb_ask_batch(Ctx *c, void *ask);
Fn *jb_protected(Test *t, void (*ask)(Ctx *, void *), Ask *q);
Fn *jb_jet_of(Test *t, Fn *f, uint32_t order, const bool *active, bool *flags);
Fn *jb_batch_of(Test *t, Fn *f, const bool *batched);
uint32_t jb_count_op(const Fn *f, Op op);

/* Runs `batched` and, for each batch element, f. `mask` selects the batched
 * parameters. Every result must agree. */
bool jb_same_as_single_calls(Test *t, const char *name, Fn *f, Fn *batched, const bool *mask,
                             const Fill *fill, int64_t lanes, double tolerance);
/* The host function y = sin(x) z, z a scalar, with or without its derivative
 * and its batch rule. Its jvp is cos(x) z dx + sin(x) dz, with a host call for
 * the sine. `scalar`: x is a scalar, otherwise a vector. */
Fn *jb_host_fn(Test *t, bool derivative, bool batch, bool scalar);

/* ---- runner -------------------------------------------------------------- */

typedef struct TestCase {
	const char *name;
	void (*run)(Test *t);
} TestCase;
/* The body of main: runs all tests in one context with the backend and ends
 * like check_end. */
int jb_run_tests(size_t n, const TestCase *tests);

#endif
