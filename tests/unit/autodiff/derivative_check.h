/* derivative_check.h - shared helpers of the derivative tests: rules, the check
 * of a function at a point, program construction.
 *
 * Needs: lang/, autodiff/, backend/ (the evaluator runs the transformed
 * functions).
 * Guarantees: prints a line for each failure only.
 *
 * Method: the check of a function f at a point compares
 * - jvp with the eighth-order central difference along a random direction;
 * - linearise (primal results and residuals, then the linear part) with the
 *   results and tangents of the jvp;
 * - transpose by the identity <w, J dx> = <J^T w, dx>.
 *
 * It then checks the jvp and the vjp of f as functions of their own. This
 * covers forward over forward, reverse over forward, forward over reverse and
 * reverse over reverse.
 */
#ifndef ATLED_TESTS_UNIT_AUTODIFF_DERIVATIVE_CHECK_H
#define ATLED_TESTS_UNIT_AUTODIFF_DERIVATIVE_CHECK_H

#include "autodiff/autodiff.h"
#include "backend/backend.h"
#include "tests/unit/support/check.h"

enum { MOST = 1000 }; /* parameters or results of a derived function */

typedef struct T { /* the state of one test */
	Ctx *c;
	Builder *b;
	const char *name;
	uint64_t random;
	Fn *rules[OP_COUNT][DT_COUNT]; /* the element-wise derivative rules used so far */
	Fn *ruled;                     /* a function with a user-defined rule ... */
	Fn *rule;                      /* ... and that rule */
} T;

typedef struct Named {
	const char *name;
	void (*test)(T *t);
} Named;
/* Runs the tests whose names contain `word` (NULL: all), each in its own
 * context, and prints the count. Returns the exit status. */
int run_tests(const Named *tests, uint32_t n, const char *word);

void show_diags(T *t);
double uniform(T *t, double lo, double hi);

/* ---- values -------------------------------------------------------------- */

/* Writes every real and imaginary part in row-major order and returns their
 * number. `out` may be NULL. */
size_t flatten(T *t, Value v, double *out);
Value shaped(T *t, Value v, const double *numbers); /* of v's type and shape */
void release(uint32_t n, Value *v);
Value array(T *t, Dtype d, uint32_t rank, const int64_t *shape, double lo, double hi); /* random */
Value vector(T *t, int64_t n, double lo, double hi);
Value matrix(T *t, int64_t m, int64_t n);
Value number(T *t, double lo, double hi);
Value numbers(T *t, int64_t n, const double *x);
Value integers(T *t, int64_t n, const int64_t *x);
bool run(T *t, Fn *f, const Value *args, Value *results);

/* ---- the check ----------------------------------------------------------- */

typedef struct Bounds {
	double step;       /* of the central difference */
	double difference; /* between tangent and central difference */
	double agree;      /* between two ways to compute the same tangent */
	double pairing;    /* between the two sides of the identity */
} Bounds;
extern const Bounds usual;

/* Returns (parameters of f, a cotangent for each active result) -> cotangents
 * of the active parameters. The caller owns it. */
Fn *reverse_of(T *t, Fn *f, const bool *active);
/* Checks f at args to the given order of derivatives; releases both. */
void check_all(T *t, Fn *f, uint32_t n, Value *args, uint32_t order, const Bounds *bounds);
/* Checks that the jvp of f (with `reverse`, its vjp) cannot be made: the first
 * diagnostic has the given code and words. Releases f. */
void expect_error(T *t, Fn *f, bool reverse, DiagCode code, const char *words, const char *file,
                  int line);

/* ---- program construction ------------------------------------------------ */

void begin(T *t, const char *name);
Fn *end(T *t, uint32_t n, const Ref *results);
Fn *end1(T *t, Ref r);
Dim len(T *t, int64_t n);
Dim sym(T *t, const char *name);
TypeId num(T *t);
TypeId vec(T *t, Dim n);
TypeId mat(T *t, Dim m, Dim n);
Ref param(T *t, TypeId type, const char *name);
Ref constant(T *t, Value v); /* releases v */
Ref mul(Builder *b, Ref x, Ref y);
Ref add(Builder *b, Ref x, Ref y);
Ref sub(Builder *b, Ref x, Ref y);
Ref total(T *t, Ref x);          /* sum of all elements */
Ref element(T *t, Ref x, Ref i); /* x[i] */
Ref first_of(T *t, Ref x);
Ref with_ints(T *t, Op op, Ref x, uint32_t n, const int64_t *words);
/* A loop whose trip count depends on x. */
Ref shrink(T *t, Ref x, Ref weight);

#endif
