/* checkpoint.h - reverse mode of loops with checkpoints instead of tapes.
 *
 * Method: binomial checkpointing: Griewank and Walther, "Algorithm 799:
 * Revolve", ACM Trans. Math. Softw. 26 (2000). For n iterations and s
 * checkpoints (the initial state is one of them), r n - C(s + r, r - 1)
 * iterations are recomputed only to restore states, the minimum possible. Here
 * r is the least integer with n <= C(s + r, s).
 *
 * Needs: linearise.h. Used only by autodiff/reverse/{checkpoint,linearise*}.c.
 *
 * A loop becomes three functions. Their operands are:
 * - *fixed*: the same in all iterations. They come first: witnesses of the
 *   extents that types mention, and the values captured from outside.
 * - *state*: the values that the loop carries and that are not linear.
 * - *carried*: the values that the loop carries and that are linear.
 * - *held*: the linear values captured from outside.
 *
 *     step:    fixed, iteration, state | carried, held -> state, carried
 *     advance: fixed, iteration, state -> state
 *     run:     fixed, count, state, stack | carried, held -> carried
 *
 * `run` is the loop in the linear part of a split, from its first iteration;
 * its transpose is the schedule. It has a stack when the primal part stores the
 * checkpoints of the first sweep. The stack is an array for each component of
 * the state with a row for each checkpoint, their iterations, and their number.
 */
#ifndef ATLED_AUTODIFF_REVERSE_CHECKPOINT_H
#define ATLED_AUTODIFF_REVERSE_CHECKPOINT_H

#include "autodiff/reverse/linearise.h"

typedef struct SnapshotLoop {
	Fn *step, *advance; /* borrowed: they live as long as `run` */
	uint32_t nfixed, nstate, ncarried, nheld;
	AttrId policy;
	bool swept; /* the stack comes from the primal part */
} SnapshotLoop;

/* The operands of those functions for one loop of the function being
 * planned. */
typedef struct SnapshotPlan {
	Fn *run;
	const SnapshotLoop *loop;
	uint32_t nwitnesses, ncaptured;
	TypeId *witnesses; /* bool, empty; in the source function's symbols */
	/* In the source function: state and carried as before the loop. */
	Ref *captured, *state, *carried, *held;
} SnapshotPlan;

/* The functions of a loop, owned by the entry of the split. Returns NULL when
 * the loop must use tapes, and sets *why to the reason. `find_births` must have
 * run before, to find where symbols are defined. */
const SnapshotPlan *snapshot_plan(LinearisePlan *p, const Inst *in, bool swept, TapeReason *why);
/* The number of values in the stack; 0 when there is no state to store. */
uint32_t snapshot_stack_size(const SnapshotLoop *loop);

/* The forward sweep of a `for`, in the primal part: replaces `state` before the
 * loop by that after it, and fills the stack. */
void snapshot_sweep(Builder *b, Arena *a, const SnapshotLoop *loop, Ref count, const Ref *fixed,
                    Ref *state, Ref *stack);
/* The number of rows in the stack of a loop of `count` iterations, and the
 * bytes of each row. */
void snapshot_sizes(Builder *b, const SnapshotLoop *loop, Ref count, const Ref *state, Ref *rows,
                    Ref *bytes);
/* linearise.c: the part of a function that is not linear: (the other
 * parameters) -> results that are not linear. Borrowed. */
Fn *plain_part(Ctx *c, Fn *f, const bool *linear);

#endif
