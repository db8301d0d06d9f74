/* schedule.h - a unit before it is emitted: in which order its instructions
 * run, how long values live, and which share memory.
 *
 * Needs: lower/context.h. Guarantees: the order is fixed before lifetimes are
 * worked out; a value that is overwritten in place has no later use on any
 * path; every value that needs memory belongs to one class, and a class has one
 * place in memory.
 */
#ifndef ATLED_BACKEND_NATIVE_UNIT_SCHEDULE_H
#define ATLED_BACKEND_NATIVE_UNIT_SCHEDULE_H

#include "backend/native/lower/context.h"

typedef enum PieceKind {
	PIECE_SMALL,  /* one instruction on registers, or a call */
	PIECE_DIRECT, /* elements of an array in memory, read or written one by one */
	/* a factorisation or triangular solve of a matrix in memory, or a host
	 * function */
	PIECE_MATRIX,
	PIECE_ALIAS, /* the operand's memory under another shape */
	PIECE_RUN,   /* array instructions: a plan of fusion.c */
	/* instructions, loops and branches too, that see one row at a time:
	 * map_vectorise.c */
	PIECE_ROWS,
	PIECE_CONTROL /* if, for, while */
} PieceKind;

typedef struct Sched Sched;

/* How a loop carries an array. */
typedef enum CarryKind {
	CARRY_SMALL,   /* in registers */
	CARRY_SAME,    /* the body passes it on */
	CARRY_INPLACE, /* the body changes it where it lies */
	CARRY_PAIR     /* the body writes its next value beside it, and the two places are swapped */
} CarryKind;
typedef struct Carry {
	CarryKind kind;
	bool direct;    /* PAIR: the body's result can be computed right where it belongs */
	uint32_t other; /* PAIR: the second place, a slot plus 1 */
} Carry;

typedef struct Tiles Tiles; /* several turns of a loop at once: time_tiling.c */

typedef struct Piece {
	PieceKind kind;
	InstId inst; /* not of runs */
	uint32_t n;  /* RUN, ROWS */
	const InstId *insts;
	Dim row;           /* ROWS */
	uint32_t lanes;    /* ROWS: all in one vector, see lanes_take */
	uint32_t from, to; /* positions */
	ArrayPlan *plan;
	Sched *regions[2];
	Carry *carries;     /* loops, by carried value */
	const Tiles *tiles; /* `for`; NULL: turn by turn */
} Piece;

/* A region's pieces in execution order. */
struct Sched {
	Sched *outer;
	Piece *owner;         /* NULL: the unit or the body of a function */
	const Region *region; /* NULL: the unit */
	uint32_t ninsts;
	const InstId *insts;
	VEC(Piece *) pieces;
	uint32_t end; /* position at which its results are read */
};

/* What is known of a value. */
typedef struct ValueFlow {
	Sched *home;        /* where it is defined; NULL: outside of the unit */
	Piece *piece;       /* that defines it; NULL: a region's parameter */
	Piece *last;        /* the last piece at its own level that uses it, or contains a use */
	bool at_end;        /* a result of the region it is defined in */
	bool outside;       /* used after the unit */
	bool alias;         /* has the memory of another value */
	uint32_t shared;    /* how many values have its memory: it cannot be given away */
	VEC(uint32_t) uses; /* positions, increasing */
	/* its class: value plus 1 of another member; 0: it speaks for the class
	 * itself */
	uint32_t joined;
	uint32_t lives_to; /* position */
	bool owned;        /* its class has memory of its own */
} ValueFlow;

/* Memory of a class, kept with the value that speaks for it. */
typedef struct Class {
	uint32_t from, to;
	uint32_t slot;   /* plus 1; 0: none */
	uint32_t output; /* plus 1; 0: none */
	KRef dynamic;    /* in emission: a pointer that changes from turn to turn */
	bool is_dynamic;
} Class;

struct Flow {
	ValueFlow *values; /* by value of the function */
	Class *classes;
	uint32_t next; /* position */
	Sched *top;
	bool *in_run; /* by value: computed by the run that is being gathered */
	VEC(InstId) run;
	bool run_fails; /* something in it may fail */
	bool by_rows;   /* something in it can only be done row by row, of length `row` */
	Dim row;
};

/* Orders, links, lays out. `region`: of an internal function's body, NULL for a
 * unit's instructions. */
void flow_make(Lower *l, const Region *region, uint32_t ninsts, const InstId *insts);
/* Asks arrays_plan for the runs' plans, so that all memory is known. */
void flow_plan(Lower *l);
uint32_t flow_class(const Lower *l, uint32_t value);
/* What the instruction costs to run once, roughly: for polls. */
uint32_t flow_work(const Lower *l, const Sched *s);
bool direct_takes(const Lower *l, const Inst *in);
/* The result is operand 0 with some elements changed. */
bool writes_elements(const Inst *in);
/* The position where operand x dies with this piece, and is read there once
 * only: its memory may be taken over. */
bool flow_dies_at(const Lower *l, Ref x, const Piece *p);
/* An update in the run p may be made where its array lies: the array is read
 * nowhere else in the run but at elements that the update does not write, or at
 * its own for what it writes, and by nothing that is computed for others.
 * Whether it is needed after the run is not looked at. */
bool run_updates_in_place(const Lower *l, const Piece *p, const Inst *in);
/* The same, and the array is not needed later. */
bool run_takes_memory(const Lower *l, const Piece *p, const Inst *in);
/* The result, needed after the run, is array x from before the run with boxes
 * changed where it lies; x dies there. */
bool run_changes(const Lower *l, const Piece *p, const Inst *in, Ref *x);
/* Calls visit for every operand of the piece and of what its regions contain.
 */
typedef void (*RefVisit)(void *ud, Ref r);
void inst_refs(const Fn *f, const Inst *in, RefVisit visit, void *ud);

bool flow_may_fail(const Fn *f, const Inst *in);

/* Result k of a `for` is a tape that a turn only writes on, and that begins as
 * one number for all elements: most turns write anyway, so it is put there, by
 * lower_begin_tape, where none does. What comes in need not be computed then.
 */
bool flow_fills_tape(const Lower *l, const Inst *in, uint32_t k);
void lower_begin_tape(Lower *l, const Inst *in, uint32_t k);

/* map_vectorise.c */
/* The instruction treats each row of its arrays for itself; `row`: the length
 * of the axis. */
bool rows_take(const Lower *l, const Inst *in, Dim row);
/* ... and is best done so, or cannot be done otherwise. */
bool rows_must(const Lower *l, const Inst *in, Dim *row);
/* A loop over small arrays that have an axis of fixed length in common, which
 * the loop goes through element by element or sums over: the axis is a vector,
 * and what the loop carries is registers. */
bool lanes_take(const Lower *l, const Inst *in, Dim *row, uint32_t *lanes);
/* The value stays in memory although it is carried by a loop that is done by
 * rows. */
bool rows_tape(const Lower *l, Ref r, const Piece *p);
/* Operand k begins such a tape, see flow_fills_tape. */
bool rows_fill_tape(const Lower *l, const Inst *in, uint32_t k, const Piece *p);
/* It looks along the rows, but in a way that those who are done by rows and
 * read it know. */
bool rows_understand(const Lower *l, const Inst *in, Dim row);
void rows_emit(Lower *l, const Piece *p);

/* time_tiling.c, once the runs in the loop have their plans */
/* How several turns of the loop can be done at once; NULL: they cannot. */
const Tiles *tiles_plan(Lower *l, const Piece *p, const Inst *in);
/* How many, for the lengths that there are: at least 1. */
KRef tiles_turns(Lower *l, const Tiles *t);
/* Does turns from .. from + turns - 1, at most `most`. at: of each array that
 * is carried in two places that which is read, that which is written, that
 * which is next. */
void tiles_emit(Lower *l, const Piece *p, const Tiles *t, KRef from, KRef turns, KRef most,
                const KRef *at);

/* unit/control.c */
#define POLL_WORK 2048 /* operations between two polls, about */
/* In a loop's turn of so many operations. turns: how many there are, or -1. */
void lower_poll(Lower *l, KRef turn, KRef turns, uint32_t work);
/* Around a loop that says how far it has come. */
void lower_progress(Lower *l, const Inst *in, bool begins);
void lower_pieces(Lower *l, const Sched *s);
/* lower.c: calls of recursive functions */
void lower_call(Lower *l, const Inst *in);
/* The memory of value r holds `elements` of its type; pointers equal: nothing.
 */
void lower_copy(Lower *l, Ref like, KRef to, KRef from);
KRef lower_count(Lower *l, TypeId t);
KType lower_ktype(const Lower *l, Ref r);

#endif
