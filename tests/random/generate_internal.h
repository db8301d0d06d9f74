/* generate_internal.h - what the files of the generator share: the pool of
 * values, small choices, and the kinds of steps.
 *
 * Needs: generate.h. Guarantees: a value in the pool can be used in the open
 * region; every float in it has a bound on its size, which steps keep small so
 * that results are mostly finite.
 */
#ifndef ATLED_TESTS_RANDOM_GENERATE_INTERNAL_H
#define ATLED_TESTS_RANDOM_GENERATE_INTERNAL_H

#include "tests/random/generate.h"
#include <math.h>

enum { POOL_MOST = 1024, DIMS_MOST = 24, CALLEES_MOST = 3, INSTS_MOST = 700, REGION_DEPTH = 3 };

typedef struct V {
	Ref ref;
	double mag; /* no element should be larger in magnitude; INFINITY: anything */
} V;

typedef struct Entry {
	V v;
	uint64_t key; /* from the step that made it: choices go by this, not by the place in the pool */
	uint32_t uses;
} Entry;

/* What a program fails with on purpose: one kind each, because nothing fixes
 * which of two failures comes first. */
typedef enum Failure { FAIL_NONE, FAIL_INDEX, FAIL_DIVISION, FAIL_USER, FAIL_GUARD } Failure;

typedef enum Style {
	STYLE_MIXED,
	STYLE_ROWS,
	STYLE_LOOPS,
	STYLE_ARRAYS,
	STYLE_LAYERS,
	STYLE_COUNT
} Style;

typedef struct Gen {
	Ctx *c;
	Builder *b;
	Plan *plan;
	Sample *program;
	uint64_t rng;    /* of the present step */
	uint64_t step;   /* its name */
	uint32_t serial; /* values it has put in the pool */
	uint32_t npool, ndims, ncallees, depth;
	Entry pool[POOL_MOST];
	Dim dims[DIMS_MOST]; /* lengths that shapes are made from; known everywhere in the function */
	Fn *callees[CALLEES_MOST];
	int64_t (*lengths)[SYMS_MOST]; /* [SETS], of the function that is made */
	double cap;                    /* elements of the largest value */
	double turns;                  /* how often the open region runs at most */
	Dtype real;                    /* most floats are this */
	Style style;
	Failure failure;
	bool wild, callee;
	Ref token; /* the last one, at top level; REF_NONE: nothing was printed yet */
} Gen;

/* ---- choices ------------------------------------------------------------- */

int64_t below(Gen *g, int64_t n);
bool chance(Gen *g, int percent);
double between(Gen *g, double lo, double hi); /* three digits after the point */

/* ---- types and lengths --------------------------------------------------- */

Type type_at(const Gen *g, Ref r);
TypeId type_id_at(const Gen *g, Ref r);
int64_t least(const Gen *g, Dim d); /* over the sets of lengths; 0 when it is not known */
int64_t most(const Gen *g, Dim d);  /* 100 when it is not known */
double count_most(const Gen *g, uint32_t rank, const Dim *dims);
bool affordable(const Gen *g, uint32_t rank, const Dim *dims);
Dim any_dim(Gen *g);
Dim small_dim(Gen *g, int64_t lo, int64_t hi);
Dim symbol_dim(Gen *g);
Dim born_dim(Gen *g, int64_t longest); /* a symbol whose length only the run knows */
Dim plus(const Gen *g, Dim d, int64_t n);

/* ---- the pool ------------------------------------------------------------ */

enum {
	KIND_REALS = KIND_R,
	KIND_INEXACT = KIND_R | KIND_C,
	KIND_NUMBER = KIND_I | KIND_R | KIND_C,
	KIND_ALL = 15
};
void put(Gen *g, V v);
/* A value of one of the kinds with a rank in the range: one from the pool, else
 * one that is made. */
V choose(Gen *g, unsigned kinds, uint32_t rank_from, uint32_t rank_to);
/* false when the pool has none */
bool choose_if(Gen *g, unsigned kinds, uint32_t rank_from, uint32_t rank_to, V *out);
bool choose_type(Gen *g, TypeId t, V *out);

/* ---- small pieces -------------------------------------------------------- */

V apply1(Gen *g, Op op, V x);
V apply2(Gen *g, Op op, V x, V y); /* of one type */
V konst(Gen *g, TypeId like, double x);
V times(Gen *g, V x, double by);
V shifted(Gen *g, V x, double by);
V tame(Gen *g, V x, double limit); /* no larger than the limit; integers from 0 below it */
V positive(Gen *g, V x);           /* a real from 0.25 up */
V generic(Gen *g, V x);            /* a real that is nowhere near a whole number by construction */
V as_dtype(Gen *g, V x, Dtype d);
V fit(Gen *g, V x, uint32_t rank, const Dim *dims);
/* x with a box replaced by something, that may come from x. bound > 0: for real
 * x that stays within it. */
V draw_update(Gen *g, V x, double bound);
V fit_type(Gen *g, V x, TypeId t); /* shape and dtype */
V drop_axes(Gen *g, V x, uint32_t n, const int *axes);
V reduced(Gen *g, Op op, V x, uint32_t n, const int *axes);
/* valid ones, unless the program is to fail */
V index_into(Gen *g, Dim length, uint32_t rank, const Dim *dims);
V condition(Gen *g);                    /* a bool scalar */
V partner(Gen *g, V x, unsigned kinds); /* another value of x's type */
V sliced(Gen *g, V x, int axis, Dim start, Dim length, int64_t stride);
AttrId words(Gen *g, uint32_t n, const int64_t *w);

/* ---- steps: each puts values in the pool, or says false when it does not apply ---- */

typedef bool (*Step)(Gen *g);
typedef struct StepKind {
	const char *name;
	Step run;
	uint8_t weight[STYLE_COUNT];
} StepKind;
/* each ends with a NULL name */
extern const StepKind array_steps[], control_steps[], pattern_steps[];

void run_steps(Gen *g, uint64_t name, uint32_t n);
/* What is put in the pool between the two is gone after the second. */
typedef struct Scope {
	uint32_t npool, depth;
	double turns;
} Scope;
Scope scope_open(Gen *g, double turns);
void scope_close(Gen *g, Scope s);
/* The newest real that nothing has used since the scope was opened, else any.
 */
V latest(Gen *g, const Scope *s);

#endif
