/* context.h - the state shared by the files that lower a unit to the kernel IR.
 *
 * Needs: unit.h.
 *
 *   jit/partition.c        the instructions of each unit
 *   run/unit_step.c        runs a unit as a step of the evaluator
 *   unit/lower.c           a unit's inputs, extents, places of values, memory
 *                          slots, outputs; calls
 *   unit/schedule.c        the order of its instructions
 *   unit/in_place.c        arrays that are changed in place
 *   unit/memory.c          lifetimes, sharing of memory
 *   unit/control.c         branches, loops and their carried values, single
 *                          elements of arrays in memory
 *   unit/map_legality.c    instructions, loops and branches that treat each row
 *                          independently
 *   unit/map_vectorise.c   their loops: lanes are rows
 *   lower/scalarise.c      scalars and small fixed shapes in registers
 *   lower/small_linalg.c   small factorisations and triangular solves
 *   loops/fusion.c         the plan of a run of array instructions
 *   loops/storage.c        the memory of its values
 *   loops/emit_region.c    the loops of such a plan
 *   loops/time_tiling.c    several iterations at once of a loop with one plan
 *   loops/sliding_window.c one loop for several of a plan's regions
 *
 * A unit is lowered in two passes: planning (arrays_plan for each run of array
 * instructions, so that all memory is known), then emission.
 */
#ifndef ATLED_BACKEND_NATIVE_LOWER_CONTEXT_H
#define ATLED_BACKEND_NATIVE_LOWER_CONTEXT_H

#include "backend/eval/core/unit.h"

/* Arrays of fixed shape with at most this many elements are in registers. */
#define SMALL_COUNT 32
/* Extent of the largest matrix that is factorised in registers. */
#define FACTOR_ROWS 8

/* The largest number of chunks of a parallel loop. The number of
 * chunks depends on extents alone. */
#define MAX_PARTS 16

/* A fixed shape, row-major. */
typedef struct StaticShape {
	uint32_t rank, count;
	int64_t n[MAX_RANK];
} StaticShape;

/* Storage of a value of the function, while code for the unit is emitted. */
typedef enum StorageKind {
	PLACE_NONE,  /* not computed (yet), or inlined into the loops that use it */
	PLACE_SMALL, /* elements[0..count) in row-major order, each a uniform value */
	/* Row-major without gaps at `pointer`, readable to the next multiple of 64
	 * bytes. */
	PLACE_MEMORY
} StorageKind;
typedef struct Storage {
	StorageKind kind;
	uint32_t count;
	KRef *elements;
	KRef pointer;
} Storage;

typedef struct ArrayPlan ArrayPlan;

/* A part of the unit's arena: `elements` times `element_bytes` bytes, rounded
 * up to 64. */
typedef struct MemorySlot {
	Dim elements;
	uint32_t element_bytes;
	/* Live over these positions of the emission order (Lower.position),
	 * inclusive. */
	uint32_t from, to;
	KRef pointer; /* set when the unit's entry has laid out the arena */
} MemorySlot;

typedef struct Flow Flow; /* order, lifetimes and memory of a unit's values: schedule.h */

/* An extent that the unit's caller evaluates, with its value at the entry (0:
 * loaded where it is needed). */
typedef struct UnitDim {
	Dim dim;
	KRef value;
} UnitDim;
/* The row exchanges of a pivoted factorisation. Step j moves to row j the row i
 * for which where[j][i] holds. larger[j][i] holds for it, and may hold for rows
 * before it. p is the same permutation as integers. */
typedef struct Exchanges {
	uint32_t n;
	KRef p[FACTOR_ROWS], larger[FACTOR_ROWS][FACTOR_ROWS], where[FACTOR_ROWS][FACTOR_ROWS];
} Exchanges;
typedef struct UnitCallee {
	const Fn *fn;
	uint32_t number; /* its number in the module */
	bool built;
} UnitCallee;

typedef struct Lower {
	Ctx *c;
	const Fn *f;
	Unit *unit;
	Arena *scratch; /* freed with the lowering */
	KBuilder k;
	/* By symbol: its extent (i64) while in scope; 0: unknown. */
	KRef *syms;
	/* By symbol: the extents of the call that requested the compilation; -1:
	 * unknown. They affect speed only: the code is correct for all extents. */
	const int64_t *hints;
	Storage *places; /* by value */
	VEC(MemorySlot) slots;
	uint32_t *slot_of;    /* by value: its slot plus 1 in `slots`; 0: none */
	const uint32_t *uses; /* by value: its uses in the whole function */
	/* By value: used outside the run of array instructions that computes it. */
	bool *needed;
	KRef nowhere;      /* native_nowhere(); 0 where nothing needs it */
	uint32_t position; /* counts instructions, in planning and again in emission */
	VEC(UnitSite) sites;
	bool failed; /* something cannot be lowered: the unit is abandoned */
	/* The lowering of the unit's entry function. It owns slots, sites and the
	 * lists below. */
	struct Lower *root;
	Flow *flow;
	uint32_t loops;          /* open loops around the current instruction */
	VEC(UnitDim) dims;       /* polynomial extents, passed as words of the call */
	VEC(const void *) hosts; /* the root's: calls of host functions, by number */
	/* Recursive functions of the program that became functions of the
	 * module. */
	VEC(UnitCallee) callees;
	VEC(Exchanges) exchanges; /* of the factorisations so far */
	/* map_vectorise.c: lanes are rows. A value with an axis of extent `row` is
	 * PLACE_SMALL, with the elements of its lane's row. */
	bool in_rows;
	Dim row;
	/* The axis of extent `row` is one vector of this many lanes; 0: vectors
	 * along any number of rows. */
	uint32_t row_lanes;
	KRef row_number; /* i64, varying */
} Lower;

/* ---- lower.c ------------------------------------------------------------- */

/* Lowers a unit. Returns NULL when it cannot be lowered. `insts` are
 * consecutive in execution order after clustering; hints as above. describe:
 * with notes. */
Unit *lower_unit(Ctx *c, const Fn *f, uint32_t ninsts, const InstId *insts, const KTarget *target,
                 const int64_t *hints, Arena *keep, bool describe);
/* Can this instruction, with its regions, be in a unit? */
bool lower_takes(const Fn *f, const Inst *in);
/* The instruction that computes the text of a failure's message, without
 * formats that add nothing; NULL for constants. */
const Inst *message_text(const Fn *f, Ref r);

/* An extent as i64: a constant, symbol or polynomial. All symbols of array
 * types in a unit are known on entry. */
KRef lower_dim(Lower *l, Dim d);
/* The extent under the hints; `fallback` if it has a symbol without a hint. */
int64_t lower_hint(const Lower *l, Dim d, int64_t fallback);
/* The place of r: a computed value, a parameter of an open region, an input or
 * a constant. Scalar constants become PLACE_SMALL; array constants are inputs
 * of the unit. */
const Storage *lower_place(Lower *l, Ref r);
void lower_set_memory(Lower *l, Ref r, KRef pointer);
void lower_set_small(Lower *l, Ref r, uint32_t count, const KRef *elements);
void lower_set_place(Lower *l, Ref r, Storage place); /* of a value or a large constant */
/* May result r be in the memory of x, an incoming array, at run time? */
bool lower_may_reuse(const Lower *l, Ref x, Ref r);
/* In planning: a memory slot for value r, live from position `from` to `to`. */
void lower_slot(Lower *l, Ref r, uint32_t from, uint32_t to);
/* In emission: the memory for the materialised value r. It is its slot, the
 * output buffer, or the other buffer of a double-buffered loop. */
KRef lower_destination(Lower *l, Ref r);
/* Adds a check of instruction `in` that may fail; returns its site for
 * k_fail_if. */
int64_t lower_site(Lower *l, SiteKind kind, const Inst *in);

/* One axis of the range that slice, pad or update reads or writes: `length`
 * positions from `start` with a stride, on an axis of extent `whole`. */
typedef struct AxisRange {
	Dim start, length, whole;
	int64_t stride;
} AxisRange;
AxisRange inst_side(const Fn *f, const Inst *in, uint32_t axis);
/* sides_apart: the two have no position in common, for all extents.
 * update_by_box: the update has the nest of its box (fusion.c) and is not
 * computed element by element. */
bool sides_apart(Ctx *c, AxisRange x, AxisRange y);
bool update_by_box(const Fn *f, const Inst *in);
/* Emits checks that such an instruction stays inside its axes, except where
 * that is provable. */
void lower_check_sides(Lower *l, const Inst *in);

/* ---- scalarise.c --------------------------------------------------------- */

/* The element-wise primitive of `in` on one element (uniform or varying), with
 * the checks of integer arithmetic. mask: active lanes; 0: all. */
KRef lower_element(Lower *l, const Inst *in, KRef x, KRef y, KRef mask);
/* Can the instruction be lowered into registers? All its operands and results
 * must be small. */
bool small_takes(const Lower *l, const Inst *in);
/* The same for instructions that are neither element-wise nor control flow,
 * whose operands and results are small. out: elements of the result. */
bool small_rule(const Lower *l, const Inst *in, uint32_t out);
void lower_small(Lower *l, const Inst *in);
/* Is the type a fixed shape with at most SMALL_COUNT elements? Sets *count
 * unless `count` is NULL. */
bool type_is_small(Ctx *c, TypeId t, uint32_t *count);
/* The value's shape, without the row axis where lanes are rows. */
StaticShape lower_shape(const Lower *l, Ref r);
int lower_row_axis(const Lower *l, Ref r); /* -1: it has none */

/* ---- lower/small_linalg.c ------------------------------------------------ */

/* Can this factorisation or solve be unrolled in registers? t: the type of
 * operand 0, the matrices. */
bool factor_takes_type(Ctx *c, const Inst *in, TypeId t);
void lower_factor(Lower *l, const Inst *in);
/* A factorisation or solve by the runtime, for one matrix in memory. Registers
 * are stored first. Or a direct call of a host function. */
bool matrix_takes(const Fn *f, const Inst *in);
void lower_matrix(Lower *l, const Inst *in);
/* out = x[index[k]] for k < n, each x having `width` elements. Applies if the
 * indices are a known factorisation's permutation, else returns false.
 * Repeating the exchanges costs less than looking up each index. */
bool factor_permute(Lower *l, uint32_t n, const KRef *index, uint32_t width, const KRef *x,
                    KRef *out);

/* ---- map_legality.c ------------------------------------------------------ */

/* A factorisation or solve of one small matrix, or a few, for each row. */
bool rows_take_factor(const Fn *f, const Inst *in, Dim *row);

/* ---- fusion.c, emit_region.c --------------------------------------------- */

/* Plans a straight-line run of array instructions (element-wise, shape changes,
 * gather, scatter, reductions, scans, contractions, iota), including small ones
 * between them that depend on them. l->needed marks the results needed
 * afterwards. Allocates memory slots. NULL: not possible. */
struct SchedStep;
ArrayPlan *arrays_plan(Lower *l, const struct SchedStep *run);
/* Emits the plan; sets the places of the needed results. */
void arrays_emit(Lower *l, ArrayPlan *p);

#endif
