/* checkpoint.h - loops that keep snapshots when they are run backwards, instead
 * of tapes.
 *
 * Needs: linearise.h. Guarantees: used only by autodiff/reverse/checkpoint.c,
 * linearise*.c and transpose.c. The schedule is binomial checkpointing:
 * Griewank and Walther, "Algorithm 799: Revolve", ACM Trans. Math. Softw. 26
 * (2000). Of n turns with s snapshots, of which the state at the beginning is
 * one, r n - C(s + r, r - 1) turns are run for nothing but the state after
 * them, where r is the least with n <= C(s + r, s): no schedule has fewer.
 *
 * A loop is three functions. The operands that are the same in all turns come
 * first and are called *fixed*: witnesses of the lengths that types mention,
 * and what the body uses from outside. *State* is what the loop carries and is
 * not linear, *carried* what it carries and is, *held* the linear values from
 * outside.
 *
 *     step:    fixed, turn, state | carried, held -> state, carried
 *     advance: fixed, turn, state -> state
 *     run:     fixed, count, state, stack | carried, held -> carried
 *
 * `run` is the loop in the linear part of a split, from the beginning; its
 * transpose is the schedule. The stack is there when the snapshots of the first
 * way have been taken while the primal part ran: an array for each part of the
 * state with a row for each snapshot, their turns, how many there are.
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

/* What a loop of the function in plan is as operands of those functions. */
typedef struct SnapshotPlan {
	Fn *run;
	const SnapshotLoop *loop;
	uint32_t nwitnesses, ncaptured;
	TypeId *witnesses; /* bool, empty; in the source function's symbols */
	/* in the source function: state and carried as before the loop */
	Ref *captured, *state, *carried, *held;
} SnapshotPlan;

/* The functions of a loop, which the entry of the split owns. NULL: it keeps
 * tapes, and *why says for what reason. It must be found by `find_births` where
 * symbols come from. */
const SnapshotPlan *snapshot_plan(Plan *p, const Inst *in, bool swept, TapeReason *why);
/* values the stack consists of: 0 when there is no state to keep */
uint32_t snapshot_stack_size(const SnapshotLoop *loop);

/* The forward way of a `for`, in the primal part: `state` before the loop
 * becomes that after it; fills the stack. */
void snapshot_sweep(Builder *b, Arena *a, const SnapshotLoop *loop, Ref count, const Ref *fixed,
                    Ref *state, Ref *stack);
/* How many rows the stack of a loop of so many turns has, and how many bytes
 * each. */
void snapshot_sizes(Builder *b, const SnapshotLoop *loop, Ref count, const Ref *state, Ref *rows,
                    Ref *bytes);
/* linearise.c: the values of a function that are not linear, alone: (the other
 * parameters) -> results that are not linear. Borrowed. */
Fn *plain_part(Ctx *c, Fn *f, const bool *linear);

#endif
