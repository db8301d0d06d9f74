/* derivative_check.h - what the tests of derivatives share: lines of calculus,
 * the check of a function at a point, words for programs.
 *
 * Needs: lang/, autodiff/, backend/ (the evaluator runs what the transforms
 * make). Guarantees: prints a line for each failure only.
 *
 * The check of a function f at a point:
 *   jvp        against the eighth-order central difference along a random direction
 *   linearise  primal results and residuals, then the linear part: the same results and tangents as the jvp
 *   transpose  <w, J dx> = <J^T w, dx>
 * and the same for its jvp and its vjp as functions of their own, which gives
 * forward over forward, reverse over forward, forward over reverse and reverse
 * over reverse.
 */
#ifndef ATLED_TESTS_UNIT_AUTODIFF_DERIVATIVE_CHECK_H
#define ATLED_TESTS_UNIT_AUTODIFF_DERIVATIVE_CHECK_H

#include "autodiff/autodiff.h"
#include "backend/backend.h"

enum { MOST = 1000 }; /* parameters or results of a derived function */

typedef struct Tally {
	uint32_t passed, failed;
} Tally;

typedef struct T { /* what one test has at hand */
	Tally *tally;
	Ctx *c;
	Builder *b;
	const char *name;
	uint64_t random;
	Fn *rules[OP_COUNT][DT_COUNT]; /* the lines of calculus that were asked for */
	Fn *ruled;                     /* calls of this function have a written rule ... */
	Fn *rule;                      /* ... which is this */
} T;

typedef struct Named {
	const char *name;
	void (*test)(T *t);
} Named;
/* Runs the tests whose names contain the word (NULL: all), each in a context of
 * its own; prints the count. The exit status. */
int run_tests(const Named *tests, uint32_t n, const char *word);

void check_at(T *t, bool good, const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
#define CHECK(t, x) check_at((t), (x), __FILE__, __LINE__, "%s", #x)
void show_diags(T *t);
double uniform(T *t, double lo, double hi);

/* ---- values -------------------------------------------------------------- */

/* Every real and imaginary part in row-major order; returns how many. `out` may
 * be NULL. */
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
	double step;       /* of the difference */
	double difference; /* between tangent and difference quotient */
	double agree;      /* between two ways to the same tangent */
	double pairing;    /* between the two sides of the identity */
} Bounds;
extern const Bounds usual;

/* (parameters of f, a cotangent for each active result) -> cotangents of the
 * active parameters. Owned. */
Fn *reverse_of(T *t, Fn *f, const bool *active);
/* Checks f at args to the given order of derivatives; releases both. */
void check_all(T *t, Fn *f, uint32_t n, Value *args, uint32_t order, const Bounds *bounds);
/* Its jvp (or, in reverse, its vjp) cannot be made: the first diagnostic has
 * the code and the words. Releases f. */
void expect_error(T *t, Fn *f, bool reverse, DiagCode code, const char *words, int line);

/* ---- words for programs -------------------------------------------------- */

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

#endif
