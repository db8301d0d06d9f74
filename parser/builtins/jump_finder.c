/* jump_finder.c - the comparisons of a function at which it may jump.
 *
 * Needs: jump_finder.h, written_out.h.
 *
 * Method: one walk in program order finds what each value depends on: the
 * place, moving values, or both. Loops are walked until nothing changes. A
 * comparison counts by the dependence of its operands.
 */
#include "parser/builtins/jump_finder.h"

/* ---- failures ------------------------------------------------------------ */

static bool is_risky(const JumpFinder *j, const Inst *in) {
	bool risky = inst_may_fail(j->f, in);
	for (uint32_t k = 0; k < in->nargs; k++) {
		const Ref r = inst_arg(j->f, in, k);
		risky = risky || (ref_is_value(r) && j->risky[REF_INDEX(r)]);
	}
	return risky;
}

void find_risks(JumpFinder *j, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = &j->f->insts.at[j->f->inst_order.at[g->insts + i]];
		for (uint32_t k = 0; k < in->nregions; k++) find_risks(j, inst_region(j->f, in, k));
		const bool risky = is_risky(j, in);
		for (uint32_t k = 0; k < in->nresults; k++) j->risky[in->results + k] = risky;
	}
}

/* ---- comparisons --------------------------------------------------------- */

/* For the two operands of a comparison: the table from which `element` is
 * taken, if `sought` is searched for in it; else REF_NONE. */
static Ref table_of(const JumpFinder *j, Ref element, Ref sought) {
	const Inst *in = ref_inst(j->f, element);
	if (!in || in->op != OP_GATHER || !ref_is_value(sought)) return REF_NONE;
	if (j->f->vals.at[REF_INDEX(sought)].region != 0) return REF_NONE;
	const Ref table = inst_arg(j->f, in, 0);
	const bool known = !ref_is_value(table) || j->f->vals.at[REF_INDEX(table)].region == 0;
	if (j->risky[REF_INDEX(sought)]) return REF_NONE;
	const uint8_t of = depends(j, sought) | depends(j, table);
	return known && is_asked(j, of) && !(depends(j, table) & OF_PLACE) &&
	               ref_ty(j->f, table)->rank == 1 && is_real_number(j->f, table) &&
	               is_real_number(j->f, sought)
	           ? table
	           : REF_NONE;
}

static void note_other(JumpFinder *j, const Inst *in) {
	if (!j->other.source) j->other = span_of(j->sp->c, in->span);
}

/* True for a search in a table, which is represented by its knots. */
static bool is_search(const JumpFinder *j, const Inst *in) {
	if ((in->op != OP_LT && in->op != OP_LE) || j->hidden) return false;
	const Ref x = inst_arg(j->f, in, 0), y = inst_arg(j->f, in, 1);
	return table_of(j, x, y) != REF_NONE || table_of(j, y, x) != REF_NONE;
}

/* `top`: it is in no loop, and in no branch that may fail. */
static void note(JumpFinder *j, const Inst *in, bool top) {
	const Ref x = inst_arg(j->f, in, 0);
	if (!is_real_number(j->f, x)) return;
	if (!top) {
		if (!is_search(j, in)) note_other(j, in);
		return;
	}
	j->n += !j->wanted[in - j->f->insts.at];
	j->wanted[in - j->f->insts.at] = true;
}

/* Which comparisons count in a region of `in`. Loops of the text count in the
 * last pass, when the effect of later iterations is known; in a `while`, only
 * its own text counts. Loops of the library count in the first pass, except
 * `while`. */
static Counted counted_in(const JumpFinder *j, const Inst *in, bool first, bool last,
                          bool condition, Counted outer) {
	const bool loop = in->op == OP_WHILE;
	Counted here = outer;
	if (in->op != OP_FOR && !loop) return here;
	if (is_own_text(j->sp->c, in))
		here = !last || condition ? COUNTED_NONE : loop ? COUNTED_OWN : COUNTED_ALL;
	else here = (j->hidden ? last : first && !loop) ? COUNTED_ALL : COUNTED_NONE;
	return here > outer ? here : outer;
}

/* The dependence of the failures in a region. */
static uint8_t failures_depend(const JumpFinder *j, const Region *g) {
	uint8_t of = 0;
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = &j->f->insts.at[j->f->inst_order.at[g->insts + i]];
		if (inst_may_fail(j->f, in)) of |= args_depend(j, in);
		for (uint32_t k = 0; k < in->nregions; k++)
			of |= failures_depend(j, inst_region(j->f, in, k));
	}
	return of;
}

static bool is_used(const JumpFinder *j, Ref r) {
	for (uint32_t i = 0; i < j->f->args.n; i++)
		if (j->f->args.at[i] == r) return true;
	return false;
}

/* True when a comparison in a `while` only determines its end, as the tolerance
 * of an iteration does. */
static bool ends_only(const JumpFinder *j, const Region *g, const Inst *comparison) {
	const Ref said = inst_result(comparison, 0);
	bool ends = false;
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = &j->f->insts.at[j->f->inst_order.at[g->insts + i]];
		for (uint32_t k = 0; k < in->nargs; k++) {
			if (inst_arg(j->f, in, k) != said) continue;
			if (in->op != OP_IF) return false;
			for (uint32_t n = 0; n < in->nresults; n++)
				if (ref_ty(j->f, inst_result(in, n))->dtype != DT_BOOL) return false;
			ends = true;
		}
	}
	return ends;
}

/* Walks the regions until nothing changes, because a carried value may depend
 * on the result of a later iteration. */
static void walk_inner(JumpFinder *j, const Inst *in, bool top, Counted counted) {
	const bool loop = in->op == OP_FOR || in->op == OP_WHILE;
	const uint32_t skip = in->op == OP_FOR, passes = loop ? in->nresults + 2u : 1u;
	const bool counts = counted != COUNTED_NONE && is_own_text(j->sp->c, in);
	uint8_t entry = in->op == OP_IF ? depends(j, inst_arg(j->f, in, 0)) : 0;
	for (uint32_t pass = 0; pass < passes; pass++)
		for (uint32_t i = 0; i < in->nregions; i++) {
			const Region *g = inst_region(j->f, in, i);
			const bool condition = in->op == OP_WHILE && i == 0, tried = in->op == OP_TRY && i == 0;
			const bool last = pass + 1 == passes;
			for (uint32_t k = 0; loop && k < in->nresults; k++)
				j->of[g->params + skip + k] |=
					depends(j, inst_arg(j->f, in, k + skip)) | j->of[in->results + k];
			find_jumps(j, g, top && in->op == OP_IF && cannot_fail(j, g),
			           counted_in(j, in, pass == 0, last, condition, counted));
			/* The trip count of a loop, and a failure, affect the result. */
			if (condition) entry |= depends(j, j->f->args.at[g->results]);
			if (tried) entry |= failures_depend(j, g);
			if (tried && is_asked(j, entry) && counts) note_other(j, in);
			for (uint32_t k = 0; !condition && k < g->nresults; k++)
				j->of[in->results + k] |=
					depends(j, j->f->args.at[g->results + k]) | (loop ? 0 : entry);
			/* The result of an iteration is continuous if its carried values
			 * depend on the same as its end. Otherwise each iteration is a
			 * step. */
			for (uint32_t k = 0; last && in->op == OP_WHILE && !condition && k < in->nresults;
			     k++) {
				const bool carries = is_asked(j, j->of[in->results + k]);
				if (counts && is_asked(j, entry) && !carries && is_used(j, inst_result(in, k)))
					note_other(j, in);
				j->of[in->results + k] |= entry;
			}
		}
}

void find_jumps(JumpFinder *j, const Region *g, bool top, Counted counted) {
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = &j->f->insts.at[j->f->inst_order.at[g->insts + i]];
		const uint8_t of = args_depend(j, in);
		const bool bend = in->op == OP_ABS || in->op == OP_MAX || in->op == OP_MIN;
		const bool own = is_own_text(j->sp->c, in);
		const bool counts =
			is_asked(j, of) && (counted == COUNTED_ALL || (counted == COUNTED_OWN && own));
		if (counts && (j->bends || (j->turns && bend))) {
			if (top && bend) note(j, in, true);
		} else if (counts && (!j->own || own) && !(j->others && own)) {
			switch ((Op)in->op) {
			case OP_LT:
			case OP_LE:
				if (counted == COUNTED_ALL || !ends_only(j, g, in)) note(j, in, top);
				break;
			case OP_SIGN:
			case OP_FLOOR:
			case OP_ROUND:
			case OP_FLOORDIV:
			case OP_MOD: note(j, in, top); break;
			case OP_ARGMAX:
			case OP_ARGSORT: note(j, in, false); break;
			case OP_CONVERT:
				if (dtype_is_int((Dtype)ref_ty(j->f, inst_result(in, 0))->dtype)) note(j, in, top);
				break;
			default: break;
			}
		}
		if (in->nregions) walk_inner(j, in, top, counted);
		else
			for (uint32_t k = 0; k < in->nresults; k++) j->of[in->results + k] |= of;
	}
}

/* ---- values that meet others --------------------------------------------- */

void note_met(JumpFinder *j, Ref r) {
	if (depends(j, r) != OF_PLACE || !is_real_number(j->f, r) || j->risky[REF_INDEX(r)] != j->risks)
		return;
	j->n += !j->met[REF_INDEX(r)];
	j->met[REF_INDEX(r)] = true;
}

void find_met(JumpFinder *j, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = &j->f->insts.at[j->f->inst_order.at[g->insts + i]];
		for (uint32_t k = 0; k < in->nargs && args_depend(j, in) == OF_BOTH; k++)
			note_met(j, inst_arg(j->f, in, k));
		const bool open = !j->risks && is_chosen_by_place(j, in);
		for (uint32_t k = 0; open && k < in->nregions; k++) find_met(j, inst_region(j->f, in, k));
	}
}

/* ---- searches in tables -------------------------------------------------- */

/* True when the user's text makes integers of values that depend on the place
 * alone. */
static bool counts_places(const JumpFinder *j, const Inst *in) {
	const bool of_two = in->op == OP_FLOORDIV || in->op == OP_MOD;
	if (!of_two && in->op != OP_FLOOR && in->op != OP_ROUND && in->op != OP_CONVERT) return false;
	if (in->op == OP_CONVERT && !dtype_is_int((Dtype)ref_ty(j->f, inst_result(in, 0))->dtype))
		return false;
	for (uint32_t k = 0; k < in->nargs; k++) {
		const Ref r = inst_arg(j->f, in, k);
		if (!is_real_number(j->f, r) || (ref_is_value(r) && j->risky[REF_INDEX(r)])) return false;
	}
	return args_depend(j, in) == OF_PLACE && is_own_text(j->sp->c, in);
}

void find_tables(JumpFinder *j, const Region *g, const Inst *loop) {
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = &j->f->insts.at[j->f->inst_order.at[g->insts + i]];
		if (g == &j->f->regions.at[0] && counts_places(j, in))
			j->searches[j->nsearches++] = (TableSearch){.whole = in};
		for (uint32_t k = 0; loop && k < 2 && (in->op == OP_LT || in->op == OP_LE); k++) {
			const Ref sought = inst_arg(j->f, in, k),
					  table = table_of(j, inst_arg(j->f, in, 1 - k), sought);
			bool known = table == REF_NONE;
			for (uint32_t n = 0; n < j->nsearches; n++)
				known = known || (!j->searches[n].whole && j->searches[n].sought == sought &&
				                  j->searches[n].table == table &&
				                  (!j->turns || j->searches[n].loop == loop));
			if (!known)
				j->searches[j->nsearches++] =
					(TableSearch){.sought = sought, .table = table, .loop = loop};
		}
		for (uint32_t k = 0; k < in->nregions; k++)
			find_tables(j, inst_region(j->f, in, k), loop || !is_loop(in) ? loop : in);
	}
}

/* Selects the loops that search a table for one scalar and return only
 * scalars. */
static void want_searches(JumpFinder *j) {
	uint32_t n = 0;
	for (uint32_t k = 0; k < j->nsearches; k++) {
		const TableSearch s = j->searches[k];
		if (s.whole || !s.loop->nresults || ref_ty(j->f, s.sought)->rank) continue;
		bool numbers = j->f->vals.at[s.loop->results].region == 0;
		for (uint32_t i = 0; i < s.loop->nresults; i++) {
			const Ref r = inst_result(s.loop, i);
			const bool alone = !j->turns || j->either || !(depends(j, r) & OF_MOVING);
			numbers = numbers && alone && ref_ty(j->f, r)->rank == 0;
		}
		if (!numbers) continue;
		j->wanted[s.loop - j->f->insts.at] = true;
		j->searches[n++] = s;
	}
	j->nsearches = n;
	j->n += n;
}

void find_searches(JumpFinder *j) {
	j->searches = ARENA_ARRAY(j->sp->a, TableSearch, 2 * j->f->insts.n + 1);
	find_tables(j, &j->f->regions.at[0], NULL);
	want_searches(j);
}
