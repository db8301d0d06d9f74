/* unit.h - units: instructions of a region as one piece of machine code.
 *
 * Needs: frame.h, kir.h, abi.h.
 *
 * - The evaluator runs a unit as one step of a prepared block. A plan lists the
 *   instructions of a function that become units.
 * - A unit reads values from outside: arrays by pointer, scalars and extents as
 *   words. It writes the values that are used outside.
 * - A unit may fail at numbered sites. Each site records the instruction and
 *   the evaluator's message.
 */
#ifndef ATLED_BACKEND_EVAL_CORE_UNIT_H
#define ATLED_BACKEND_EVAL_CORE_UNIT_H

#include "backend/eval/core/frame.h"
#include "backend/native/kir/abi.h"
#include "backend/native/kir/kir.h"

/* An input or output array. Inputs are row-major without gaps. */
typedef struct UnitArray {
	Ref ref; /* the function's value */
	/* Outputs: the memory of input `reuse` may be taken if that input dies here
	 * and is not shared. */
	bool may_reuse;
	uint32_t reuse;
} UnitArray;

typedef enum SiteKind {
	SITE_INDEX,    /* index a is outside 0 .. b-1 */
	SITE_DIVIDE,   /* integer division or remainder by zero */
	SITE_POWER,    /* integer to a negative power a */
	SITE_EMPTY,    /* maximum or minimum of an empty array */
	SITE_FAIL,     /* the user's error; its message may contain the scalars a and b */
	SITE_GUARD,    /* extents a and b differ but must be equal */
	SITE_SLICE,    /* a slice, pad or update exceeds axis a */
	SITE_SINGULAR, /* pivot a of matrix b (-1: the only one) is zero or not positive */
	SITE_MATRIX,   /* the same for a matrix in memory with b rows */
	SITE_CALL,     /* a call of machine code, for traces of failures only */
	SITE_PROGRESS, /* a loop reports its progress */
	SITE_INTERNAL  /* memory or another Status (a) */
} SiteKind;
typedef struct UnitSite {
	SiteKind kind;
	InstId inst; /* of `fn` */
	const Fn *fn;
} UnitSite;

/* The input arrays are operands defined outside the unit, and array constants
 * that are too large for registers. */
typedef struct Unit {
	const Fn *fn;
	uint32_t ninsts;
	const InstId *insts; /* in execution order */
	KModule *module;
	uint32_t ninputs, noutputs, nwords, nresults;
	UnitArray *inputs, *outputs; /* in call->buffers: inputs, then outputs */
	Ref *words;                  /* scalar inputs */
	uint32_t nsyms;
	SymId *syms; /* call->words[nwords + k] is the extent of syms[k] */
	uint32_t ndims;
	/* call->words[nwords + nsyms + k] is the extent dims[k], a polynomial of
	 * symbols. */
	Dim *dims;
	Ref *results;       /* scalar outputs */
	UnitSite *sites;    /* module->nsites */
	const void **hosts; /* the HostCalls in call->hosts */
	const char *notes;  /* its loops in words, see describe.h; or NULL */
} Unit;

/* A unit during compilation, and later as part of the code. */
typedef struct NativeUnit {
	Unit *unit;                    /* its module is freed after compilation */
	struct NativeRequest *request; /* background compilation */
	struct NativeCode *code;
	NativeEntry entry;
	/* Decoded for execution, by prepare. */
	const int32_t *words;  /* operands */
	const DimRef *lengths; /* symbols, then polynomials */
	const TypeRef *outputs;
	const Dtype *result_dtypes;
	struct Figure *figure; /* of the profile; NULL: not timed yet */
	Tensor **constants;    /* by input: a contiguous array constant, or NULL; owned */
} NativeUnit;

/* One step of a block: an instruction for the evaluator, or a unit. */
typedef struct NativeItem {
	NativeUnit *unit; /* NULL: inst */
	InstId inst;
} NativeItem;

typedef struct NativeItems {
	uint32_t n;
	const NativeItem *at;
} NativeItems;

typedef struct NativePlan {
	Ctx *c;
	const Fn *f;
	Arena *keep;
	NativeItems *regions; /* by region; `at` is NULL when every instruction is a step of its own */
	VEC(NativeUnit *) units;
	uint32_t ninsts; /* in units, including nested ones */
	double cost;     /* of the units */
	bool cut;        /* it cost more than its limit, and is incomplete */
} NativePlan;

#endif
