/* taylor_batch_help.h - what the test of jets and batches is made with: checks,
 * random values, protected transforms.
 *
 * Needs: autodiff/, backend/. Guarantees: everything works on one Test; a line
 * of calculus is read when it is first asked for and lives as long as the
 * context.
 */
#ifndef ATLED_TESTS_UNIT_AUTODIFF_TAYLOR_BATCH_HELP_H
#define ATLED_TESTS_UNIT_AUTODIFF_TAYLOR_BATCH_HELP_H

#include "autodiff/autodiff.h"
#include "backend/backend.h"

typedef struct Test {
	Ctx *c;
	int passed, failed;
	uint64_t random;
} Test;

void jb_check(Test *t, bool good, int line, const char *what);
#define CHECK(t, condition) jb_check((t), (condition), __LINE__, #condition)
void jb_show_diags(Test *t); /* and forgets them */
void jb_show_fn(const Fn *f);

/* ---- the lines of calculus: state in the slot of the parser -------------- */

typedef struct Lines {
	Fn *at[OP_COUNT][DT_COUNT];
} Lines;

Fn *jb_line_of_calculus(Ctx *c, Op op, Dtype d);
void jb_free_lines(Ctx *c, void *state);

/* ---- values -------------------------------------------------------------- */

/* What the parameters of a case are filled with. */
typedef struct Fill {
	double lo, hi;
	int64_t ints; /* integers are below this */
	/* added times (1 + row number / 2) to the diagonal of arrays whose last
	 * two axes are equal */
	double diagonal;
} Fill;

double jb_random_in(Test *t, double lo, double hi);
Tensor *jb_random_tensor(Test *t, const Fill *fill, Dtype d, uint32_t rank, const int64_t *shape);
/* lanes >= 0: with a leading axis of that length. */
Value jb_random_value(Test *t, const Fill *fill, const Type *ty, int64_t lanes);
Value jb_lane_of(Test *t, Value batched, int64_t lane);
double complex jb_element(const Tensor *x, const int64_t *index);
/* Largest difference relative to the largest number (or 1), INFINITY when the
 * shapes differ. */
double jb_difference(Test *t, Value a, Value b);
double jb_number(Value v);
void jb_drop(uint32_t n, Value *v);

/* ---- functions ----------------------------------------------------------- */

Fn *jb_read_fn(Ctx *c, const char *text);
Fn *jb_source(Test *t, const char *text); /* says what is wrong with the text */
bool jb_run(Test *t, Fn *f, const Value *args, Value *results);

/* A transform that is asked for inside ctx_protect; NULL when it throws or does
 * not verify. */
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

#endif
