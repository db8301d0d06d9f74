/* unit.h - instructions of one region that run as one piece of machine code.
 *
 * Needs: frame.h, kir.h, abi.h. The evaluator runs a unit as one step of a
 * prepared block; a plan says which instructions of a function become units. A
 * unit reads values made outside (arrays by pointer,
 * scalars and lengths as words) and gives values used outside. What it computes
 * may fail at numbered sites; each knows the instruction and the message the
 * evaluator would give.
 */
#ifndef ATLED_BACKEND_EVAL_CORE_UNIT_H
#define ATLED_BACKEND_EVAL_CORE_UNIT_H

#include "backend/eval/core/frame.h"
#include "backend/native/kir/abi.h"
#include "backend/native/kir/kir.h"

/* An array that goes in, or comes out. Arrays come in row-major without gaps.
 */
typedef struct UnitArray {
	Ref ref; /* the value of the function */
	/* outputs: the memory of input `reuse` may be taken when that input dies
	 * here and is nobody else's */
	bool may_reuse;
	uint32_t reuse;
} UnitArray;

typedef enum SiteKind {
	SITE_INDEX,    /* index a outside 0 .. b-1 */
	SITE_DIVIDE,   /* integer division or remainder by zero */
	SITE_POWER,    /* integer to the power a < 0 */
	SITE_EMPTY,    /* largest or smallest of nothing */
	SITE_FAIL,     /* the user's error with a constant message */
	SITE_GUARD,    /* two lengths, a and b, that must be equal are not */
	SITE_SLICE,    /* what a slice (or pad) takes along axis a does not lie on it */
	SITE_SINGULAR, /* pivot a of matrix b (-1: the only one) is zero, or not positive */
	SITE_MATRIX,   /* the same of one matrix with b rows, in memory */
	SITE_CALL,     /* of a function by machine code: only calls around a failure are told by it */
	SITE_PROGRESS, /* a loop says how far it has come */
	SITE_INTERNAL  /* memory or another Status (a) */
} SiteKind;
typedef struct UnitSite {
	SiteKind kind;
	InstId inst; /* of `fn` */
	const Fn *fn;
} UnitSite;

typedef struct Unit {
	const Fn *fn;
	uint32_t ninsts;
	const InstId *insts; /* in execution order */
	KModule *module;
	uint32_t ninputs, noutputs, nwords, nresults;
	UnitArray *inputs, *outputs; /* call->buffers: inputs, then outputs */
	Ref *words;                  /* scalar inputs; then the lengths: nsyms symbol numbers */
	uint32_t nsyms;
	SymId *syms; /* call->words[nwords + k] is the length of syms[k] */
	uint32_t ndims;
	/* call->words[nwords + nsyms + k] is the length dims[k], a polynomial of
	 * symbols */
	Dim *dims;
	Ref *results;       /* scalar outputs */
	UnitSite *sites;    /* module->nsites */
	const void **hosts; /* the HostCalls that call->hosts has */
	const char *notes;  /* its loops in words, see describe.h; NULL when nobody asked */
						/* Arrays whose value is a scalar constant or that were
						 * never needed do not appear. */
} Unit;

/* A unit on its way to code, then as part of it. */
typedef struct NativeUnit {
	Unit *unit;             /* its module is freed when it has been compiled */
	struct NativeRequest *request; /* in the background */
	struct NativeCode *code;
	NativeEntry entry;
	/* decoded for running, by prepare */
	const int32_t *words;  /* operands */
	const DimRef *lengths; /* symbols, then polynomials */
	const TypeRef *outputs;
	const Dtype *result_dtypes;
	struct Figure *figure; /* of the profile; NULL: not timed yet */
	Tensor **constants;    /* by input: an array constant without gaps, or NULL. Owned */
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
	NativeItems *regions; /* by region; at NULL: every instruction for itself */
	VEC(NativeUnit *) units;
	uint32_t ninsts; /* in units, inner ones included */
} NativePlan;

#endif
