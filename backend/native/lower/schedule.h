/* schedule.h - a unit before emission: the order of its instructions, lifetimes
 * of values, and sharing of memory.
 *
 * Needs: lower/context.h.
 *
 * Contract:
 * - The order is fixed before lifetimes are computed.
 * - A value that is overwritten in place has no later use on any path.
 * - Every value that needs memory belongs to one alias class. A class has one
 *   place in memory.
 */
#ifndef ATLED_BACKEND_NATIVE_LOWER_SCHEDULE_H
#define ATLED_BACKEND_NATIVE_LOWER_SCHEDULE_H

#include "backend/native/lower/context.h"

typedef enum SchedStepKind {
	SCHED_SCALAR,  /* one instruction on registers, or a call */
	SCHED_ELEMENT, /* elements of an array in memory, loaded or stored one by one */
	/* A factorisation or triangular solve of a matrix in memory, or a host
	 * function. */
	SCHED_MATRIX,
	SCHED_ALIAS, /* the operand's memory under another shape */
	SCHED_LOOPS, /* array instructions: a plan of fusion.c */
	/* Instructions, loops and branches that treat each row independently:
	 * map_vectorise.c. */
	SCHED_VECTOR_MAP,
	SCHED_CONTROL /* if, for, while */
} SchedStepKind;

typedef struct Sched Sched;

/* How a loop carries a value. */
typedef enum CarryKind {
	CARRY_SMALL,     /* in registers */
	CARRY_INVARIANT, /* loop-invariant */
	CARRY_INPLACE,   /* the body changes it in place */
	/* Double-buffered: the body writes the next value to the other buffer. */
	CARRY_DOUBLE_BUFFER
} CarryKind;
typedef struct Carry {
	CarryKind kind;
	bool direct;    /* double-buffered: the body can compute its result in the destination */
	uint32_t other; /* double-buffered: the second buffer, a slot plus 1 */
} Carry;

typedef struct TimeTiling TimeTiling; /* time tiling of a loop: time_tiling.c */

typedef struct SchedStep {
	SchedStepKind kind;
	InstId inst; /* not of loops */
	uint32_t n;  /* loops, vectorised maps */
	const InstId *insts;
	Dim row; /* of a vectorised map */
	/* Of a vectorised map: one vector of this many lanes, see
	 * axis_is_vectorisable. */
	uint32_t lanes;
	uint32_t from, to; /* positions */
	ArrayPlan *plan;
	Sched *regions[2];
	Carry *carries;           /* loops, by carried value */
	const TimeTiling *tiling; /* `for`; NULL: not tiled */
} SchedStep;

/* A region's steps in execution order. */
struct Sched {
	Sched *outer;
	SchedStep *owner;     /* NULL: the unit or the body of a function */
	const Region *region; /* NULL: the unit */
	uint32_t ninsts;
	const InstId *insts;
	VEC(SchedStep *) steps;
	uint32_t end; /* position at which its results are read */
};

/* Definition, uses and memory of a value. */
typedef struct ValueFlow {
	Sched *home;     /* the schedule that defines it; NULL: outside the unit */
	SchedStep *step; /* the step that defines it; NULL: a region's parameter */
	/* The last step of its own schedule that uses it or contains a use. */
	SchedStep *last;
	bool at_end;        /* a result of the region that defines it */
	bool outside;       /* used after the unit */
	bool alias;         /* stored in the memory of another value */
	uint32_t shared;    /* number of values in its memory; if not 0, the memory cannot be reused */
	VEC(uint32_t) uses; /* positions, increasing */
	/* Union-find: a member of its alias class, as value plus 1; 0: the
	 * representative. */
	uint32_t parent;
	uint32_t lives_to; /* position */
	bool owned;        /* its class has its own memory */
} ValueFlow;

/* The memory of an alias class, stored with its representative. */
typedef struct AliasClass {
	uint32_t from, to;
	uint32_t slot;   /* plus 1; 0: none */
	uint32_t output; /* plus 1; 0: none */
	KRef dynamic;    /* in emission: a pointer that changes between iterations */
	bool is_dynamic;
} AliasClass;

struct Flow {
	ValueFlow *values; /* by value of the function */
	AliasClass *classes;
	uint32_t next; /* position */
	Sched *top;
	bool *in_run; /* by value: computed by the run that is being collected */
	VEC(InstId) run;
	bool run_fails; /* an instruction in it may fail */
	/* An instruction in it must be vectorised over rows of extent `row`. */
	bool by_rows;
	Dim row;
};

/* Orders the instructions, links loop-carried values and branch results to
 * memory, and lays out memory. `region`: an internal function's body; NULL for
 * a unit's instructions. */
void flow_make(Lower *l, const Region *region, uint32_t ninsts, const InstId *insts);
/* Calls arrays_plan for the runs, so that all memory is known. */
void flow_plan(Lower *l);
uint32_t flow_class(const Lower *l, uint32_t value);
/* Approximate cost of one execution of the schedule, for polls: without that of
 * nested loops which poll themselves. */
uint32_t flow_work(const Lower *l, const Sched *s);
bool direct_takes(const Lower *l, const Inst *in);
/* The result is operand 0 with some elements changed. */
bool writes_elements(const Inst *in);
/* Is this step the last use of operand x, and does it read x only once? Then
 * x's memory may be reused. */
bool flow_dies_at(const Lower *l, Ref x, const SchedStep *p);
/* Can an update in run p change its array in place? Other reads of the array in
 * the run must be of elements that the update does not write, or element by
 * element of its own box for the new values. No value computed from them may be
 * needed after the run. Uses of the array after the run are not examined. */
bool run_updates_in_place(const Lower *l, const SchedStep *p, const Inst *in);
/* The same, and the array is not needed later. */
bool run_takes_memory(const Lower *l, const SchedStep *p, const Inst *in);
/* Is the result, needed after the run, an array x from before the run whose
 * last use this is, with boxes changed in place? */
bool run_changes(const Lower *l, const SchedStep *p, const Inst *in, Ref *x);
/* Calls visit for every operand of the instruction and of those in its
 * regions. */
typedef void (*RefVisit)(void *ud, Ref r);
void inst_refs(const Fn *f, const Inst *in, RefVisit visit, void *ud);

bool flow_may_fail(const Fn *f, const Inst *in);

/* Is result k of a `for` a tape that iterations only write, with a constant
 * initial value? Most loops write every element, so the incoming array need not
 * be computed. lower_begin_tape then stores the constant only where no
 * iteration writes. */
bool tape_needs_fill(const Lower *l, const Inst *in, uint32_t k);
void lower_begin_tape(Lower *l, const Inst *in, uint32_t k);

/* ---- map_legality.c, map_vectorise.c ------------------------------------- */

/* Does the instruction treat each row independently? `row`: the extent of the
 * row axis. */
bool map_is_vectorisable(const Lower *l, const Inst *in, Dim row);
/* Is it also best vectorised over rows, or impossible otherwise? */
bool map_needs_vector(const Lower *l, const Inst *in, Dim *row);
/* A loop over small arrays with a common axis of fixed extent, along which all
 * is element-wise or summed. The axis becomes a vector of *lanes lanes, and
 * loop-carried values are registers. */
bool axis_is_vectorisable(const Lower *l, const Inst *in, Dim *row, uint32_t *lanes);
/* Does the value stay in memory although a loop that is vectorised over rows
 * carries it? */
bool value_is_tape(const Lower *l, Ref r, const SchedStep *p);
/* Is operand k the initial value of such a tape, see tape_needs_fill? */
bool operand_fills_tape(const Lower *l, const Inst *in, uint32_t k, const SchedStep *p);
/* Does it read across rows, but in an idiom that vectorised users of its result
 * recognise? */
bool is_cross_row_idiom(const Lower *l, const Inst *in, Dim row);
/* map_vectorise.c: emits such a step. */
void rows_emit(Lower *l, const SchedStep *p);

/* ---- time_tiling.c ------------------------------------------------------- */

/* The time tiling of a loop whose runs are planned; NULL: not possible. */
const TimeTiling *time_tiling_plan(Lower *l, const SchedStep *p, const Inst *in);
/* The tile depth in iterations for the actual extents: at least 1. */
KRef time_tiling_depth(Lower *l, const TimeTiling *t);
/* Emits iterations from .. from + trip_count - 1, at most `most`. at: for each
 * double-buffered array three pointers, to the buffer that the first iteration
 * reads, that it writes, and that the second one writes. */
void time_tiling_emit(Lower *l, const SchedStep *p, const TimeTiling *t, KRef from, KRef trip_count,
                      KRef most, const KRef *at);

/* ---- unit/control.c ------------------------------------------------------ */

#define POLL_WORK 2048 /* approximate operations between two polls */
/* In a loop iteration of `work` operations: polls, if due. trip_count: the trip
 * count, or -1. */
void lower_poll(Lower *l, KRef iteration, KRef trip_count, uint32_t work);
/* After a loop whose iterations poll: counts those since the last poll, so that
 * nests of short loops poll, too. */
void lower_poll_rest(Lower *l, KRef trip_count, uint32_t work);
/* Whether the iterations of a `for`, of `work` operations each, poll. Those of
 * one that is known to be short do not. */
bool lower_polls(const Lower *l, const Inst *in, uint32_t work);
/* Operations of a `for` that no poll of its own counts. */
double lower_unpolled(const Lower *l, const Inst *in, uint32_t work);
/* Around a loop that reports its progress. */
void lower_progress(Lower *l, const Inst *in, bool begins);
void lower_steps(Lower *l, const Sched *s);
/* lower.c: calls of recursive functions. */
void lower_call(Lower *l, const Inst *in);
/* Copies all elements of a value of `like`'s type; nothing if the pointers are
 * equal. */
void lower_copy(Lower *l, Ref like, KRef to, KRef from);
KRef lower_count(Lower *l, TypeId t);
KType lower_ktype(const Lower *l, Ref r);

#endif
