/* context.h - from a unit's instructions to kernel code: what the files that
 * lower share.
 *
 * Needs: unit.h. The work is divided so:
 *
 *     partition.c          which instructions of a region go into which unit (unit_step.c runs a unit as a step of the evaluator)
 *     lower.c         the unit's frame: inputs, lengths, places of values, memory slots, outputs; calls
 *     schedule.c    the order of its instructions, lifetimes, which values share memory
 *     unit/control.c branches, loops with what they carry, single elements of
 *     arrays in memory
 *     scalarise.c   instructions on scalars and small fixed shapes: every element a register
 *     lower/small_linalg.c  factorisations and triangular solves of such matrices
 *     map_vectorise.c    what treats each row of its arrays for itself, with loops and branches: lanes are rows, a row is registers
 *     fusion.c   straight-line array instructions: what is computed where, which loops are shared, what is kept
 *     loops/emit.c   the loops of such a plan
 *     time_tiling.c  several turns at once of a loop that holds one such plan
 *     sliding_window.c several of the plan's loops along nearly the same rows
 *     as one
 *
 * Two passes over a unit: plan (arrays_plan for each run of array instructions,
 * so that all memory is known), then emit.
 */
#ifndef ATLED_BACKEND_NATIVE_LOWER_CONTEXT_H
#define ATLED_BACKEND_NATIVE_LOWER_CONTEXT_H

#include "backend/eval/core/unit.h"

/* Arrays of fixed shape with at most this many elements live in registers. */
#define SMALL_COUNT 32
#define FACTOR_ROWS 8 /* of the largest matrix that is factorised in registers */

/* A fixed shape, row-major. */
typedef struct Shape {
	uint32_t rank, count;
	int64_t n[MAX_RANK];
} Shape;

/* Where a value of the function is while code for the unit is emitted. */
typedef enum PlaceKind {
	PLACE_NONE,  /* not computed (yet), or only ever computed inside the loops that use it */
	PLACE_SMALL, /* elements[0..count) in row-major order, each a uniform value */
	/* row-major without gaps at `pointer`, readable to the next multiple of
	 * 64 bytes */
	PLACE_MEMORY
} PlaceKind;
typedef struct Place {
	PlaceKind kind;
	uint32_t count;
	KRef *elements;
	KRef pointer;
} Place;

typedef struct ArrayPlan ArrayPlan;

/* A piece of the unit's arena: bytes as a Dim (number of elements times their
 * size; rounded up to 64 when laid out). */
typedef struct MemorySlot {
	Dim elements;
	uint32_t element_bytes;
	/* live over these positions of the emission order (Lower.position),
	 * inclusive */
	uint32_t from, to;
	KRef pointer; /* set when the entry has laid the arena out */
} MemorySlot;

typedef struct Flow Flow; /* order, lifetimes and memory of a unit's values: schedule.h */

/* A length that the caller works out, with its value at the entry (0: read
 * where it is needed). */
typedef struct UnitDim {
	Dim dim;
	KRef value;
} UnitDim;
/* How a factorisation has exchanged rows: step j brings into row j the row i
 * for which where[j][i] holds; larger[j][i] holds for it and for some before
 * it. The permutation p says the same in numbers. */
typedef struct Exchanges {
	uint32_t n;
	KRef p[FACTOR_ROWS], larger[FACTOR_ROWS][FACTOR_ROWS], where[FACTOR_ROWS][FACTOR_ROWS];
} Exchanges;
typedef struct UnitCallee {
	const Fn *fn;
	uint32_t number; /* in the module */
	bool built;
} UnitCallee;

typedef struct Lower {
	Ctx *c;
	const Fn *f;
	Unit *unit;
	Arena *scratch; /* dies with the lowering */
	KBuilder k;
	KRef *syms; /* by symbol: its length (i64) while in scope; 0: unknown */
	/* by symbol: the lengths of the call that asked for the compilation; -1
	 * unknown. They steer choices of speed only: the code is right for all
	 * lengths */
	const int64_t *hints;
	Place *places; /* by value */
	VEC(MemorySlot) slots;
	uint32_t *slot_of;    /* by value: its slot plus 1 in `slots`; 0: none */
	const uint32_t *uses; /* by value: everywhere in the function */
	/* by value: used after (outside of) the run of array instructions that
	 * computes it */
	bool *needed;
	KRef nowhere;      /* native_nowhere(); 0 where nothing asks for it */
	uint32_t position; /* counts instructions in plan and again in emission order */
	VEC(UnitSite) sites;
	bool failed; /* something cannot be lowered after all: the unit is given up */
	/* of the unit's entry function: owns slots, sites and the lists below */
	struct Lower *root;
	Flow *flow;
	uint32_t loops;          /* that are around what is being lowered */
	VEC(UnitDim) dims;       /* lengths that are polynomials: words of the call */
	VEC(const void *) hosts; /* the root's: calls of host functions, by number */
	/* recursive functions of the program that became functions of the module */
	VEC(UnitCallee) callees;
	VEC(Exchanges) exchanges; /* of the factorisations so far */
	/* map_vectorise.c: lanes are rows. A value with an axis of length `row` has
	 * PLACE_SMALL for the elements of its lane's row */
	bool in_rows;
	Dim row;
	/* there is one vector of so many lanes, and the axis of length `row`
	 * lies in it; 0: as many as there are rows */
	uint32_t row_lanes;
	KRef row_number; /* i64, varying */
} Lower;

/* ---- lower.c ------------------------------------------------------------- */

/* The unit's module, or NULL when it cannot be lowered. `insts` are consecutive
 * in execution order after clustering; hints as above. describe: with notes. */
Unit *lower_unit(Ctx *c, const Fn *f, uint32_t ninsts, const InstId *insts, const KTarget *target,
                 const int64_t *hints, Arena *keep, bool describe);
/* May this instruction (with its regions) stand in a unit? */
bool lower_takes(const Fn *f, const Inst *in);
/* The instruction that makes the text of a failure's message, looking through
 * formats that add nothing; NULL for constants. */
const Inst *message_text(const Fn *f, Ref r);

/* A length as i64: constants, symbols, polynomials. All symbols of array types
 * in a unit are known on entry. */
KRef lower_dim(Lower *l, Dim d);
/* The length under the hints; `fallback` when a symbol has none. */
int64_t lower_hint(const Lower *l, Dim d, int64_t fallback);
/* Where r is: computed values, parameters of open regions, inputs, constants
 * (scalar constants become PLACE_SMALL, array constants are inputs of the
 * unit). */
const Place *lower_place(Lower *l, Ref r);
void lower_set_memory(Lower *l, Ref r, KRef pointer);
void lower_set_small(Lower *l, Ref r, uint32_t count, const KRef *elements);
void lower_set_place(Lower *l, Ref r, Place place); /* of a value or a large constant */
/* Result r may turn out to lie in the memory of x, an array that comes in. */
bool lower_may_reuse(const Lower *l, Ref x, Ref r);
/* In planning: a slot for value r with the given number of elements, alive from
 * position `from` to `to`. */
void lower_slot(Lower *l, Ref r, uint32_t from, uint32_t to);
/* In emission: the memory where the materialised value r belongs: its slot, or
 * the output buffer, or the other half of a loop's pair. */
KRef lower_destination(Lower *l, Ref r);
/* A failing check of instruction `in`: the number for k_fail_if. */
int64_t lower_site(Lower *l, SiteKind kind, const Inst *in);

/* One axis of what slice, pad and update take or write: `length` positions from
 * `start` with a stride, on an axis of length `whole`. */
typedef struct Side {
	Dim start, length, whole;
	int64_t stride;
} Side;
Side inst_side(const Fn *f, const Inst *in, uint32_t axis);
/* The two have no position in common, whatever the lengths; and: an update
 * whose nest is that of its box (fusion.c), not element by element. */
bool sides_apart(Ctx *c, Side x, Side y);
bool update_by_box(const Fn *f, const Inst *in);
/* Fails where such an instruction leaves its axes; nothing where it is known
 * that it does not. */
void lower_check_sides(Lower *l, const Inst *in);

/* ---- scalarise.c --------------------------------------------------------- */

/* The element-wise primitive `op` of instruction `in` on one element (uniform
 * or varying), with the checks of integer arithmetic. mask: lanes that count, 0
 * all. */
KRef lower_element(Lower *l, const Inst *in, KRef x, KRef y, KRef mask);
/* All operands and results are small: lowers the instruction into registers. */
bool small_takes(const Lower *l, const Inst *in);
/* The same for what is neither element-wise nor control flow, where operands
 * and results are small; out: elements of the result. */
bool small_rule(const Lower *l, const Inst *in, uint32_t out);
void lower_small(Lower *l, const Inst *in);
/* Is the type one of fixed shape with at most SMALL_COUNT elements? Gives the
 * count. */
bool type_is_small(Ctx *c, TypeId t, uint32_t *count);
/* The value's shape, without the axis of rows where lanes are rows. */
Shape lower_shape(const Lower *l, Ref r);
int lower_row_axis(const Lower *l, Ref r); /* -1: it has none */

/* ---- lower/small_linalg.c ------------------------------------------------ */

/* A factorisation or solve whose matrices (operand 0 of type t) may be
 * registers. */
bool factor_takes_type(Ctx *c, const Inst *in, TypeId t);
void lower_factor(Lower *l, const Inst *in);
/* One matrix in memory (or registers, which are put there): the runtime
 * factorises it, or solves. */
bool matrix_takes(const Fn *f, const Inst *in);
void lower_matrix(Lower *l, const Inst *in);
/* x[index[k]] for k < n, each x being `width` elements; true where the indices
 * are the permutation of a factorisation, whose exchanges are done again: that
 * is less than to look each number up. */
bool factor_permute(Lower *l, uint32_t n, const KRef *index, uint32_t width, const KRef *x,
                    KRef *out);

/* ---- map_vectorise.c ----------------------------------------------------- */

/* A factorisation or solve of one small matrix, or a few, for each row. */
bool rows_take_factor(const Fn *f, const Inst *in, Dim *row);

/* ---- fusion.c, loops/emit.c ---------------------------------------------- */

/* Plans a straight-line run of array instructions (element-wise, shape
 * changing, gather, scatter, reductions, cumulative sums, contractions, iota)
 * and the small ones between them that depend on them. l->needed says which
 * results are wanted afterwards. Asks for slots. NULL: cannot be done. */
struct Piece;
ArrayPlan *arrays_plan(Lower *l, const struct Piece *run);
/* Emits it; sets the places of the needed results. */
void arrays_emit(Lower *l, ArrayPlan *p);

#endif
