/* jump_finder.h - finds the jumps of a function, and makes functions of them.
 *
 * Needs: written_out.h. Private to jumps.c, jump_finder.c and jump_functions.c.
 *
 * Contract:
 * - The caller sets what is asked, and marks the parameters in `of`.
 * - find_risks comes before all other searches.
 */
#ifndef ATLED_PARSER_BUILTINS_JUMP_FINDER_H
#define ATLED_PARSER_BUILTINS_JUMP_FINDER_H

#include "parser/builtins/written_out.h"

enum { OF_PLACE = 1, OF_MOVING = 2, OF_BOTH = 3 };

/* A search: its argument, its table, and the outermost loop that searches. Or
 * the instruction that makes integers, and none of these. */
typedef struct TableSearch {
	Ref sought, table;
	const Inst *loop, *whole;
} TableSearch;

typedef VEC(Ref) VEC_REFS;

typedef struct JumpFinder {
	Sp *sp;
	const Fn *f;
	uint8_t *of;   /* by value: what it depends on (OF_...) */
	uint8_t asked; /* dependence of the comparisons that count */
	bool either;   /* ... or any dependence on the place */
	bool own;      /* comparisons of the library do not count */
	bool others;   /* only those count */
	bool bends;    /* kinks count instead of jumps */
	bool turns;    /* ... and in addition to jumps */
	bool marks;    /* 1 if it moves, else 0, replaces the difference */
	bool hidden;   /* comparisons in loops count, in any iteration */
	bool *wanted;  /* by instruction: a comparison that counts */
	/* By value: depends on the place alone and meets what depends on more;
	 * NULL: not requested. */
	bool *met;
	bool *risky;    /* by value: computing it may fail where the program would not compute it */
	uint32_t n;     /* number of comparisons that count */
	VEC_REFS parts; /* their differences, in the new function */
	bool risks;     /* only values that may fail are requested */
	TableSearch *searches;
	uint32_t nsearches;
	Span other; /* a jump that is not represented; no source: none */
} JumpFinder;

/* Which comparisons of a region count. */
typedef enum Counted { COUNTED_ALL, COUNTED_OWN, COUNTED_NONE } Counted;

static inline uint8_t depends(const JumpFinder *j, Ref r) {
	return ref_is_value(r) ? j->of[REF_INDEX(r)] : 0;
}

static inline bool is_asked(const JumpFinder *j, uint8_t of) {
	return j->either ? (of & OF_PLACE) != 0 : of == j->asked;
}

static inline uint8_t args_depend(const JumpFinder *j, const Inst *in) {
	uint8_t of = 0;
	for (uint32_t k = 0; k < in->nargs; k++) of |= depends(j, inst_arg(j->f, in, k));
	return of;
}

static inline bool is_loop(const Inst *in) { return in->op == OP_WHILE || in->op == OP_FOR; }

/* True when the branch can be computed even if it is not taken. */
static inline bool cannot_fail(const JumpFinder *j, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++)
		if (inst_may_fail(j->f, &j->f->insts.at[j->f->inst_order.at[g->insts + i]])) return false;
	return true;
}

/* True when the values of its branches are inspected: the place alone selects
 * the branch, and the user's text does so. */
static inline bool is_chosen_by_place(const JumpFinder *j, const Inst *in) {
	return in->op == OP_IF && depends(j, inst_arg(j->f, in, 0)) == OF_PLACE &&
	       is_own_text(j->sp->c, in);
}

/* ---- jump_finder.c ------------------------------------------------------- */

/* Marks the values of a region, and of its inner regions, whose computation may
 * fail. */
void find_risks(JumpFinder *j, const Region *g);
/* Finds what the values of a region depend on, and its comparisons that count.
 * `top`: it is in no loop, and in no branch that may fail. */
void find_jumps(JumpFinder *j, const Region *g, bool top, Counted counted);
/* Selects the searches in tables. */
void find_searches(JumpFinder *j);
/* Records the tables that are searched in loops, and integers made outside
 * loops. `loop`: the outermost one around g, or NULL. */
void find_tables(JumpFinder *j, const Region *g, const Inst *loop);
/* Marks a value that depends on the place alone. */
void note_met(JumpFinder *j, Ref r);
/* Marks values that depend on the place alone where they meet values that
 * depend on more. */
void find_met(JumpFinder *j, const Region *g);

/* ---- jump_functions.c ---------------------------------------------------- */

/* (parameters) -> argument and table of each search. */
Fn *make_tables(JumpFinder *j);
/* (parameters) -> the wanted differences, or the values that are met. */
Fn *make_compared(JumpFinder *j);
/* (parameters, sides, before, behind) -> the value, where each wanted value is
 * that before, that behind or unchanged. `place`: the parameter that is the
 * place. */
Fn *make_sided(JumpFinder *j, uint32_t place);

#endif
