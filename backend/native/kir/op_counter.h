/* op_counter.h - what a call of kernel code will do, worked out from the code
 * itself and the lengths of its arguments.
 *
 * Needs: kir.h. Runs nothing: lengths, trip counts and sizes are whole numbers
 * that follow from the call's words; everything else is only counted.
 */
#ifndef ATLED_BACKEND_NATIVE_KIR_OP_COUNTER_H
#define ATLED_BACKEND_NATIVE_KIR_OP_COUNTER_H

#include "backend/native/kir/kir.h"

/* A whole number that may be unknown. */
typedef struct KNumber {
	int64_t v;
	bool known;
} KNumber;

typedef struct KCost {
	/* operations on real numbers: + - * / and functions are one each, a
	 * fused multiply-add two */
	double flops;
	double arena_bytes;   /* of the whole call */
	double scratch_bytes; /* of a thread, at most */
	/* every trip count was known; otherwise loops nobody can count
	 * beforehand count as one turn */
	bool exact;
	KNumber *values; /* by value of the entry function, as last met; in `scratch` */
} KCost;

/* words: of the call, as far as they are known. */
KCost kmodule_measure(const KModule *m, uint32_t nwords, const KNumber *words, Arena *scratch);

#endif
