/* index_sets.h - interned sets of input indices: the inputs that the elements
 * of a value depend on.
 *
 * Method: each set has an integer id. An array of sets is an array of ids,
 * which the evaluator handles like any other (a slice of sets is a slice of
 * their ids). Only unions need the sets themselves.
 *
 * Needs: lang/ir/host.h.
 *
 * Contract:
 * - Equal sets have equal ids. Id 0 is the empty set, i + 1 the set of i alone.
 * - Members are ascending.
 * - Memory is the context's. A function that fails returns a negative id.
 */
#ifndef ATLED_AUTODIFF_SPARSE_INDEX_SETS_H
#define ATLED_AUTODIFF_SPARSE_INDEX_SETS_H

#include "lang/ir/host.h"

typedef struct IndexSets IndexSets;
IndexSets *index_sets_new(Ctx *c, int64_t ninputs); /* NULL when memory fails */
void index_sets_free(IndexSets *s);

typedef struct SetView { /* valid until the next union */
	const int32_t *at;   /* NULL: the set of `single` alone */
	int32_t count, single;
} SetView;
SetView index_sets_view(const IndexSets *s, int32_t set);
static inline int32_t set_member(SetView v, int32_t k) { return v.at ? v.at[k] : v.single; }

int32_t index_sets_union(IndexSets *s, int32_t a, int32_t b);
int32_t index_sets_union_of(IndexSets *s, int64_t n, const int32_t *sets);

enum { SETS_TERMS = 24 };
/* The operations on arrays of sets that the evaluator does not have: one host
 * function with the operation as its option. */
typedef enum SetsOp {
	SETS_UNION, /* (a, b, ...): element-wise union, of at most SETS_TERMS */
	SETS_ANY,   /* (a[n, k]): union along the last axis */
	/* (a[n, k]): running union along the last axis; SETS_CUMULATE_BACK runs
	 * from its end. */
	SETS_CUMULATE,
	SETS_CUMULATE_BACK,
	/* (a[b, i, k], w[b, j, k]) -> [b, i, j]: union of a[b, i, k] over the k
	 * where w[b, j, k] holds. */
	SETS_DOT,
	/* (x[a, p, n, r], index[a, q], u[a, p, q, r]): unites u with x at the
	 * indices along n. */
	SETS_SCATTER,
	SETS_DIFFER, /* (a, b) -> bool: whether any element differs */
	SETS_OPS
} SetsOp;
Ref index_sets_build(Builder *b, SetsOp op, uint32_t nargs, const Ref *args);
/* Registers the host function. *in_use is the table of sets that it works on.
 * Throws. */
void index_sets_register(Ctx *c, IndexSets **in_use);

#endif
