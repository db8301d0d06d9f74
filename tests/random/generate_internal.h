/* generate_internal.h - interface shared by the files of the generator.
 *
 * Declares the pool of values, random choices, and the kinds of steps.
 *
 * Needs: generate.h.
 *
 * Guarantees:
 * - A value of the pool can be used in the open region.
 * - Every float of the pool has a bound on its magnitude. Steps keep it small,
 *   so that results are mostly finite.
 */
#ifndef ATLED_TESTS_RANDOM_GENERATE_INTERNAL_H
#define ATLED_TESTS_RANDOM_GENERATE_INTERNAL_H

#include "tests/random/generate.h"
#include <math.h>

enum { POOL_MOST = 1024, DIMS_MOST = 24, CALLEES_MOST = 3, INSTS_MOST = 700, REGION_DEPTH = 3 };

typedef struct V {
	Ref ref;
	double mag; /* bound on the magnitude of its elements; INFINITY: none */
} V;

typedef struct Entry {
	V v;
	/* Made by the step that created the value. Choices depend on it, not on the
	 * position in the pool. */
	uint64_t key;
	uint32_t uses;
} Entry;

/* The failure that a program has on purpose: only one kind, because the order
 * of two failures is not defined. */
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
	uint64_t rng;    /* of the current step */
	uint64_t step;   /* name of the current step */
	uint32_t serial; /* number of values that the step has put in the pool */
	uint32_t npool, ndims, ncallees, depth;
	Entry pool[POOL_MOST];
	Dim dims[DIMS_MOST]; /* extents for shapes; known everywhere in the function */
	Fn *callees[CALLEES_MOST];
	int64_t (*lengths)[SYMS_MOST]; /* [SETS], of the function being made */
	double cap;                    /* elements of the largest value */
	double turns;                  /* bound on the iterations of the open region */
	Dtype real;                    /* the dtype of most floats */
	Style style;
	Failure failure;
	bool wild, callee;
	Ref token; /* the last one, at top level; REF_NONE: no output yet */
} Gen;

/* ---- random choices ------------------------------------------------------ */

int64_t below(Gen *g, int64_t n);
bool chance(Gen *g, int percent);
double between(Gen *g, double lo, double hi); /* three decimal places */

/* ---- types and extents --------------------------------------------------- */

Type type_at(const Gen *g, Ref r);
TypeId type_id_at(const Gen *g, Ref r);
/* The extent in this set; false when only the run knows it. */
bool length_in(const Gen *g, int set, Dim d, int64_t *out);
int64_t least(const Gen *g, Dim d); /* over the sets of extents; 0 when unknown */
int64_t most(const Gen *g, Dim d);  /* 100 when unknown */
double count_most(const Gen *g, uint32_t rank, const Dim *dims);
bool affordable(const Gen *g, uint32_t rank, const Dim *dims);
Dim any_dim(Gen *g);
Dim small_dim(Gen *g, int64_t lo, int64_t hi);
Dim symbol_dim(Gen *g);
Dim born_dim(Gen *g, int64_t longest); /* a symbol whose extent only the run determines */
Dim plus(const Gen *g, Dim d, int64_t n);

/* ---- the pool ------------------------------------------------------------ */

enum {
	KIND_REALS = KIND_R,
	KIND_INEXACT = KIND_R | KIND_C,
	KIND_NUMBER = KIND_I | KIND_R | KIND_C,
	KIND_ALL = 15
};
void put(Gen *g, V v);
/* Returns a value of one of the kinds, of a rank in the range: from the pool if
 * possible, else a new one. */
V choose(Gen *g, unsigned kinds, uint32_t rank_from, uint32_t rank_to);
/* false when the pool has none */
bool choose_if(Gen *g, unsigned kinds, uint32_t rank_from, uint32_t rank_to, V *out);
bool choose_type(Gen *g, TypeId t, V *out);

/* ---- building blocks ----------------------------------------------------- */

V apply1(Gen *g, Op op, V x);
V apply2(Gen *g, Op op, V x, V y); /* of one type */
V konst(Gen *g, TypeId like, double x);
V times(Gen *g, V x, double by);
V shifted(Gen *g, V x, double by);
V tame(Gen *g, V x, double limit); /* bounded by the limit; integers become 0 .. limit - 1 */
V positive(Gen *g, V x);           /* a real >= 0.25 */
V generic(Gen *g, V x);            /* a real that is not near an integer by construction */
V as_dtype(Gen *g, V x, Dtype d);
V fit(Gen *g, V x, uint32_t rank, const Dim *dims);
/* Returns x with a box replaced by other values, perhaps taken from x. With
 * bound > 0 a real x stays within it. */
V draw_update(Gen *g, V x, double bound);
V fit_type(Gen *g, V x, TypeId t); /* shape and dtype */
V drop_axes(Gen *g, V x, uint32_t n, const int *axes);
V reduced(Gen *g, Op op, V x, uint32_t n, const int *axes);
/* valid indices, unless the program is to fail */
V index_into(Gen *g, Dim length, uint32_t rank, const Dim *dims);
V condition(Gen *g);                    /* a boolean scalar */
V partner(Gen *g, V x, unsigned kinds); /* another value of x's type */
V sliced(Gen *g, V x, int axis, Dim start, Dim length, int64_t stride);
AttrId words(Gen *g, uint32_t n, const int64_t *w);

/* ---- steps --------------------------------------------------------------- */

/* Puts values in the pool, or returns false when the step does not apply. */
typedef bool (*Step)(Gen *g);
typedef struct StepKind {
	const char *name;
	Step run;
	uint8_t weight[STYLE_COUNT];
} StepKind;
/* each table ends with a NULL name */
extern const StepKind array_steps[], control_steps[], pattern_steps[];

void run_steps(Gen *g, uint64_t name, uint32_t n);
/* scope_close removes the values that were put in the pool since scope_open. */
typedef struct Scope {
	uint32_t npool, depth;
	double turns;
} Scope;
Scope scope_open(Gen *g, double turns);
void scope_close(Gen *g, Scope s);
/* Returns the newest real that was not used since the scope was opened, or any
 * real. */
V latest(Gen *g, const Scope *s);

#endif
