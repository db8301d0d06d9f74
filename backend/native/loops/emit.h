/* emit.h - interface of the files that emit an array plan.
 *
 * Covers a group's loops, sums over the rows, and the kinds of groups.
 * emit_region.c describes the whole.
 *
 * Contract: private to loops/emit_*.c. loops.h has what others may call.
 */
#ifndef ATLED_BACKEND_NATIVE_LOOPS_EMIT_H
#define ATLED_BACKEND_NATIVE_LOOPS_EMIT_H

#include "backend/native/loops/loops.h"

/* ---- loops of a group: emit_loops.c -------------------------------------- */

/* Loops over inner axes of a group. Axes of fixed extent are unrolled in the
 * innermost body while it stays small. */
typedef struct Loops {
	uint32_t naxes;
	const Dim *dims;
	bool fixed[MAX_AXES]; /* unrolled */
	int64_t length[MAX_AXES];
	int64_t combinations; /* of the unrolled axes' indices */
	int lane;             /* the axis of the lanes; -1: the row, or none */
} Loops;

/* most: the largest number of combinations of unrolled axes. */
Loops plan_loops(ArrayEmit *e, uint32_t naxes, const Dim *dims, int64_t most);
/* Combination c of indices of the unrolled axes; the other axes are open loops.
 * An axis of extent 0 counts as one of extent 1, so that a sum over it has an
 * accumulator. */
void loops_combination(const Loops *s, int64_t c, Index *at);
void open_loop(ArrayEmit *e, uint32_t axis, Dim length);
/* Closes a loop. mark: e->memo.n before it was opened. */
void close_loop(ArrayEmit *e, uint32_t mark);
/* Opens the loop over the block's rows. */
void open_row_loop(ArrayEmit *e);
/* The same for a group, with the borders of its updates. */
void open_group_rows(ArrayEmit *e, const LoopGroup *g);
/* In a vector loop over the block's rows, whose lane 0 is at `base`. */
void lanes_along_rows(ArrayEmit *e, KRef base);
/* A node's index from that of its group: inserts the row, if the node has
 * it. */
void node_index(const LoopNode *n, const Index *inner, Index *at);
/* The first of the group's axes that is reduced. Reduced axes are the last ones
 * of any node that reduces. */
uint32_t first_reduced(const ArrayEmit *e, const LoopGroup *g);
/* The axis along which memory is contiguous for most of the group: the last
 * axis of the array of the first node, or of its operand if it reduces. */
int inner_lane(ArrayEmit *e, const LoopGroup *g, const Loops *s);
/* Does the group prefetch the next row? */
bool prefetches_next_row(ArrayEmit *e, const LoopGroup *g);
/* May lanes along the rows run past the end? */
bool group_pads(ArrayEmit *e, const LoopGroup *g);
/* Elements of a node's result. */
KRef result_count(ArrayEmit *e, const LoopNode *n);
/* Stores an element of a node in scratch and memory, as the node has them. */
void store_element(ArrayEmit *e, LoopNode *n, const Index *at, KRef value);

/* ---- sums over the rows, and reductions: emit_reduce.c ------------------- */

/* Exact extremes of floats (NaN wins, +0 is above -0) for a plain comparison
 * and three bitwise operations an element. Three values are accumulated: the
 * extreme, ignoring NaN and the signs of zeros; the combined sign bits, needed
 * only for a result of zero; and a flag for NaN. The result is assembled at the
 * end. */
typedef enum ExtremePart { EXTREME_VALUE, EXTREME_SIGNS, EXTREME_NAN, EXTREME_PARTS } ExtremePart;
bool is_extreme(const ArrayEmit *e, const LoopNode *n);
/* The initial value of an accumulator, its next value, and the reduction of its
 * lanes. EXTREME_VALUE also serves for reductions that are no extremes, except
 * in extreme_next. */
KRef extreme_identity(ArrayEmit *e, Op op, KType t, ExtremePart part);
KRef extreme_next(ArrayEmit *e, Op op, ExtremePart part, KRef old, KRef x);
KRef extreme_fold(ArrayEmit *e, Op op, ExtremePart part, KRef x);
KRef extreme_result(ArrayEmit *e, const KRef *parts);
/* The operand of a sum over the rows, at the nest's index; for a contraction
 * the product of its operands. */
KRef term_at(ArrayEmit *e, LoopNode *n, const Index *at);
/* partial[at] = partial[at] op value. */
void add_to_partial(ArrayEmit *e, const LoopNode *n, const Index *at, KRef value);
void clear_partial(ArrayEmit *e, const LoopNode *n);
/* Combines the chunks' sums in order. */
void join_partials(ArrayEmit *e, const LoopNode *n, KRef nparts);
/* An extreme of no elements is an error, except for bools: any and all have an
 * answer. */
void check_empty(ArrayEmit *e, const LoopNode *n);
/* A group that reduces inner axes. */
void emit_reduce_group(ArrayEmit *e, const LoopGroup *g);

/* ---- groups without inner reductions: emit_map.c ------------------------- */

void emit_map_group(ArrayEmit *e, const LoopGroup *g);

/* ---- groups of one node: emit_scan.c ------------------------------------- */

void emit_scan(ArrayEmit *e, const LoopGroup *g, LoopNode *n);
void emit_join(ArrayEmit *e, const LoopGroup *g, LoopNode *n);
void emit_scatter(ArrayEmit *e, const LoopGroup *g, LoopNode *n);
void emit_guard(ArrayEmit *e, const LoopNode *n);

#endif
