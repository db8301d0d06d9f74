/* op_counter.h - operation and memory counts of a call of a kernel IR module.
 *
 * Needs: kir.h.
 *
 * Contract:
 * - Runs nothing. Extents, trip counts and sizes are integers that follow from
 *   the call's words; other instructions are only counted.
 */
#ifndef ATLED_BACKEND_NATIVE_KIR_OP_COUNTER_H
#define ATLED_BACKEND_NATIVE_KIR_OP_COUNTER_H

#include "backend/native/kir/kir.h"

/* An integer that may be unknown. */
typedef struct KNumber {
	int64_t v;
	bool known;
} KNumber;

typedef struct KCost {
	/* Floating-point operations: + - * / and functions count one each, a fused
	 * multiply-add two. */
	double flops;
	double arena_bytes;   /* of the whole call */
	double scratch_bytes; /* of one thread, at most */
	/* All trip counts were known. Otherwise loops with unknown trip counts
	 * count as one iteration. */
	bool exact;
	KNumber *values; /* by value of the entry function, as last computed; in `scratch` */
} KCost;

/* words: the call's words, as far as known. */
KCost kmodule_count_ops(const KModule *m, uint32_t nwords, const KNumber *words, Arena *scratch);

#endif
