/* jumps.c - discontinuities of a function: its comparisons as switching
 * functions.
 *
 * Needs: specialise/internal.h, written_out.h, the transforms of ir_services.
 *
 * Contract: the switching functions are read from the program, not found by
 * sampling.
 *
 * Method: a comparison is represented by the difference of its operands, which
 * has a zero where the function may jump. floor, mod and similar functions are
 * represented by a sine with a zero at each jump. A search in a table is
 * represented by the distance of the argument from each knot. All are f64[k]; k
 * may be 0. The place is the value of x, or of t.
 *
 * For an integrand f(x) whose captured values move; df is its derivative:
 * _switches(df, x)            comparisons that depend on x and on moving values
 * _moving_knots(df, x)        knots of tables that do
 * _switches_and_knots(df, x)  both
 * _moving_turns(df, x)        all jumps and kinks in x, moving or not
 * _turn_changes(df, x)        the change of these along the tangents
 * _turns_that_move(df, x)     1 for each of these that moves, else 0
 * _moving_switches(df, x)     number of moving comparisons in the user's text
 * _refuse_hidden(df, t)       0, or an error if a moving jump has no switching
 *                             function
 *
 * For f(t, ...): what depends on t and on no other argument:
 * _clock_switches(f, t, ...)  comparisons
 * _own_switches(f, t, ...)    those of the user's text: comparisons by which
 *                             the library chooses a formula are mostly no jumps
 * _library_switches(f, t, ...)  the others
 * _hides_switches(f, t, ...)  true if the text has some without a switching
 *                             function
 * _clock_bends(f, t, ...)     arguments of abs, differences of max and min
 * _clock_turns(f, t, ...)     both, and searches in tables
 * _clock_sides(f, sides, before, behind, t, ...)  f(t, ...), where each of
 *                             these is evaluated at the time `before` if its
 *                             entry in sides is negative, at `behind` if it is
 *                             positive
 * _clock_values(f, t, ...)    scalars of f that depend on t alone, where they
 *                             meet others or are the result; none inside loops
 * _clock_lookups(f, t, ...)   those that may fail, such as table look-ups; the
 *                             caller evaluates them where failure is harmless
 * _clock_tables(f, t, ...)    the tables that f searches, each a tuple of
 *                             argument and table, both vectors. An operation of
 *                             the text that makes integers, such as an index,
 *                             has an empty table.
 *
 * Limits: these have no switching function, and are an error if they move:
 * - a position in a sorted order;
 * - comparisons in a loop that is not unrolled;
 * - comparisons in a branch that may fail;
 * - the result of a `while` as a function of its trip count. If the carried
 *   values depend on the place, the loop is taken for an iteration, whose
 *   result is continuous.
 *
 * `while` loops of the library are ignored.
 */
#include "parser/builtins/table.h"
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

static uint8_t depends(const JumpFinder *j, Ref r) {
	return ref_is_value(r) ? j->of[REF_INDEX(r)] : 0;
}

static bool is_asked(const JumpFinder *j, uint8_t of) {
	return j->either ? (of & OF_PLACE) != 0 : of == j->asked;
}

static uint8_t args_depend(const JumpFinder *j, const Inst *in) {
	uint8_t of = 0;
	for (uint32_t k = 0; k < in->nargs; k++) of |= depends(j, inst_arg(j->f, in, k));
	return of;
}

/* Which comparisons of a region count. */
typedef enum Counted { COUNTED_ALL, COUNTED_OWN, COUNTED_NONE } Counted;

static void walk(JumpFinder *j, const Region *g, bool top, Counted counted);

/* True when the branch can be computed even if it is not taken. */
static bool cannot_fail(const JumpFinder *j, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++)
		if (inst_may_fail(j->f, &j->f->insts.at[j->f->inst_order.at[g->insts + i]])) return false;
	return true;
}

static bool is_risky(const JumpFinder *j, const Inst *in) {
	bool risky = inst_may_fail(j->f, in);
	for (uint32_t k = 0; k < in->nargs; k++) {
		const Ref r = inst_arg(j->f, in, k);
		risky = risky || (ref_is_value(r) && j->risky[REF_INDEX(r)]);
	}
	return risky;
}

/* Marks the values of a region, and of its inner regions, whose computation may
 * fail. */
static void find_risks(JumpFinder *j, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = &j->f->insts.at[j->f->inst_order.at[g->insts + i]];
		for (uint32_t k = 0; k < in->nregions; k++) find_risks(j, inst_region(j->f, in, k));
		const bool risky = is_risky(j, in);
		for (uint32_t k = 0; k < in->nresults; k++) j->risky[in->results + k] = risky;
	}
}

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
			walk(j, g, top && in->op == OP_IF && cannot_fail(j, g),
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

static void walk(JumpFinder *j, const Region *g, bool top, Counted counted) {
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

/* An integrand at a place, and its comparisons as a function: (parameters) -> a
 * vector. */
typedef struct Compared {
	Specialisation spec;
	bool *active;
	Ref *tangents;
	uint32_t nactive;
	uint32_t n; /* number of comparisons that count */
	Span other; /* a jump that is not represented; no source: none */
	Fn *fn;     /* one reference; NULL: no comparisons */
} Compared;

/* sin(pi x), or cos(pi x): a function with a simple zero wherever floor(x), or
 * round(x), jumps. */
static Ref zero_where_whole(Builder *b, Op wave, Ref x) {
	Ref half_turn = build_full(b, ref_type(build_fn(b), x), 3.141592653589793);
	return build1(b, wave, build2(b, OP_MUL, half_turn, x));
}

static Dim count_elements(Ctx *c, const Type *t) {
	Dim size = dim_const(c, 1);
	for (uint32_t a = 0; a < t->rank; a++) size = dim_mul(c, size, t->dims[a]);
	return size;
}

/* Converts to a vector of f64. */
static Ref as_vector(Builder *b, Ref r) {
	Dim size = count_elements(build_ctx(b), ref_ty(build_fn(b), r));
	return build_convert(b, build_reshape(b, r, 1, &size), DT_F64);
}

static void add_part(JumpFinder *j, Builder *b, Ref d, uint8_t of) {
	const TypeId like = type_with_dtype(j->sp->c, ref_type(build_fn(b), d), DT_F64);
	if (j->marks) d = build_full(b, like, of == OF_BOTH);
	VEC_PUSH(j->sp->a, &j->parts, as_vector(b, d));
}

/* The operands of a search are stopped, because it needs no derivative of them.
 * The positions of the knots need it, so this removes the stop. */
static Ref moving(const Fn *f, Ref r) {
	const Inst *in = ref_inst(f, r);
	return in && in->op == OP_STOP ? inst_arg(f, in, 0) : r;
}

static bool is_loop(const Inst *in) { return in->op == OP_WHILE || in->op == OP_FOR; }

static void add_knots(JumpFinder *j, Builder *b, RefMap *map, const Inst *loop) {
	for (uint32_t k = 0; k < j->nsearches; k++) {
		if (j->searches[k].loop != loop) continue;
		const Ref table = as_vector(b, refmap_get(b, map, moving(j->f, j->searches[k].table)));
		const Ref sought = refmap_get(b, map, moving(j->f, j->searches[k].sought));
		const TypeId like = ref_type(build_fn(b), table);
		const Ref all = build_broadcast_scalar(b, build_convert(b, sought, DT_F64), like);
		const uint8_t of = depends(j, j->searches[k].table) | depends(j, j->searches[k].sought);
		add_part(j, b, build2(b, OP_SUB, all, table), of);
	}
}

static void add_difference(JumpFinder *j, Builder *b, RefMap *map, const Inst *in) {
	if (is_loop(in)) {
		add_knots(j, b, map, in);
		return;
	}
	Ref d = refmap_get(b, map, inst_arg(j->f, in, 0));
	Ref y = in->nargs > 1 ? refmap_get(b, map, inst_arg(j->f, in, 1)) : REF_NONE;
	switch ((Op)in->op) {
	case OP_LT:
	case OP_LE:
	case OP_MAX:
	case OP_MIN: d = build2(b, OP_SUB, d, y); break;
	case OP_FLOORDIV:
	case OP_MOD: d = zero_where_whole(b, OP_SIN, build2(b, OP_DIV, d, y)); break;
	case OP_FLOOR:
	case OP_CONVERT: d = zero_where_whole(b, OP_SIN, d); break;
	case OP_ROUND: d = zero_where_whole(b, OP_COS, d); break;
	default: break; /* sign, absolute value: the number itself */
	}
	add_part(j, b, d, args_depend(j, in));
}

/* The enclosing branches of a region: each is taken when its condition equals
 * `when`. */
typedef struct EnclosingBranch {
	Ref condition;
	bool when;
	const struct EnclosingBranch *outer;
} EnclosingBranch;

/* A value of a branch; 0 where the branch is not taken. */
static Ref where_taken(Builder *b, const EnclosingBranch *taken, Ref d) {
	const Ref nothing = build_zeros(b, ref_type(build_fn(b), d));
	for (; taken; taken = taken->outer)
		d = taken->when ? build_select(b, taken->condition, d, nothing)
		                : build_select(b, taken->condition, nothing, d);
	return d;
}

/* True when the values of its branches are inspected: the place alone selects
 * the branch, and the user's text does so. */
static bool is_chosen_by_place(const JumpFinder *j, const Inst *in) {
	return in->op == OP_IF && depends(j, inst_arg(j->f, in, 0)) == OF_PLACE &&
	       is_own_text(j->sp->c, in);
}

/* Computes both branches, so that their comparisons have values, and then the
 * `if` for its results. */
static void copy_region(JumpFinder *j, Builder *b, RefMap *map, const Region *g,
                        const EnclosingBranch *taken) {
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = &j->f->insts.at[j->f->inst_order.at[g->insts + i]];
		if (j->wanted[in - j->f->insts.at]) add_difference(j, b, map, in);
		for (uint32_t k = 0; in->op == OP_IF && k < in->nregions; k++) {
			if (!cannot_fail(j, inst_region(j->f, in, k)) || (j->met && !is_chosen_by_place(j, in)))
				continue;
			const EnclosingBranch here = {refmap_get(b, map, inst_arg(j->f, in, 0)), k == 0, taken};
			copy_region(j, b, map, inst_region(j->f, in, k), &here);
		}
		build_copy_inst(b, map, in);
		for (uint32_t k = 0; j->met && k < in->nresults; k++)
			if (j->met[in->results + k])
				add_part(j, b, where_taken(b, taken, refmap_get(b, map, inst_result(in, k))),
				         OF_PLACE);
	}
}

static void meet(JumpFinder *j, Ref r) {
	if (depends(j, r) != OF_PLACE || !is_real_number(j->f, r) || j->risky[REF_INDEX(r)] != j->risks)
		return;
	j->n += !j->met[REF_INDEX(r)];
	j->met[REF_INDEX(r)] = true;
}

/* Marks values that depend on the place alone where they meet values that
 * depend on more. */
static void meet_in(JumpFinder *j, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = &j->f->insts.at[j->f->inst_order.at[g->insts + i]];
		for (uint32_t k = 0; k < in->nargs && args_depend(j, in) == OF_BOTH; k++)
			meet(j, inst_arg(j->f, in, k));
		const bool open = !j->risks && is_chosen_by_place(j, in);
		for (uint32_t k = 0; open && k < in->nregions; k++) meet_in(j, inst_region(j->f, in, k));
	}
}

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

/* Records the tables that are searched in loops, and integers made outside
 * loops. */
static void find_tables(JumpFinder *j, const Region *g, const Inst *loop) {
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

/* Selects the searches in tables. */
static void find_searches(JumpFinder *j) {
	j->searches = ARENA_ARRAY(j->sp->a, TableSearch, 2 * j->f->insts.n + 1);
	find_tables(j, &j->f->regions.at[0], NULL);
	want_searches(j);
}

/* (parameters) -> argument and table of each search. */
static Fn *make_tables(JumpFinder *j) {
	RefMap map;
	Builder *b = written_begin(j->sp, j->f, &map);
	Ref *results = ARENA_ARRAY(j->sp->a, Ref, 2 * j->nsearches + 1);
	copy_region(j, b, &map, &j->f->regions.at[0], NULL);
	for (uint32_t k = 0; k < j->nsearches; k++) {
		const Inst *in = j->searches[k].whole;
		if (in) {
			Dim none = dim_const(j->sp->c, 0);
			Ref x = refmap_get(b, &map, inst_arg(j->f, in, 0));
			if (in->nargs > 1) x = build2(b, OP_DIV, x, refmap_get(b, &map, inst_arg(j->f, in, 1)));
			if (in->op == OP_ROUND)
				x = build2(b, OP_ADD, x, build_full(b, ref_type(build_fn(b), x), 0.5));
			results[2 * k] = as_vector(b, x);
			results[2 * k + 1] = build_zeros(b, type_tensor(j->sp->c, DT_F64, 1, &none));
		} else {
			results[2 * k] = as_vector(b, refmap_get(b, &map, moving(j->f, j->searches[k].sought)));
			results[2 * k + 1] =
				as_vector(b, refmap_get(b, &map, moving(j->f, j->searches[k].table)));
		}
	}
	return build_end(b, 2 * j->nsearches, results);
}

/* (parameters) -> the wanted differences, or the values that are met. */
static Fn *make_compared(JumpFinder *j) {
	const Fn *f = j->f;
	RefMap map;
	Builder *b = written_begin(j->sp, j->f, &map);
	copy_region(j, b, &map, &f->regions.at[0], NULL);
	Dim none = dim_const(j->sp->c, 0);
	Ref all = j->parts.n ? build_concat(b, j->parts.n, j->parts.at, 0)
	                     : build_zeros(b, type_tensor(j->sp->c, DT_F64, 1, &none));
	return build_end(b, 1, &all);
}

/* A place on each side of a zero, at which the wanted values are evaluated. */
typedef struct Sides {
	const JumpFinder *j;
	Ref *before, *behind; /* by value */
	Ref *which;           /* by instruction */
} Sides;

/* The wanted values, in branches as copy_region visits them. */
static void copy_wanted(const JumpFinder *j, Builder *b, RefMap *map, const Region *g,
                        Ref *values) {
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const uint32_t n = j->f->inst_order.at[g->insts + i];
		const Inst *in = &j->f->insts.at[n];
		for (uint32_t k = 0; in->op == OP_IF && k < in->nregions; k++)
			if (cannot_fail(j, inst_region(j->f, in, k)))
				copy_wanted(j, b, map, inst_region(j->f, in, k), values);
		build_copy_inst(b, map, in);
		for (uint32_t k = 0; j->wanted[n] && k < in->nresults; k++)
			values[in->results + k] = refmap_get(b, map, inst_result(in, k));
	}
}

/* The number of entries in `sides` for a wanted instruction: a search has one
 * for each knot. */
static Dim parts_of(const JumpFinder *j, Ctx *c, const Inst *in) {
	if (!is_loop(in)) return count_elements(c, ref_ty(j->f, inst_result(in, 0)));
	Dim knots = dim_const(c, 0);
	for (uint32_t k = 0; k < j->nsearches; k++)
		if (j->searches[k].loop == in)
			knots = dim_add(c, knots, ref_ty(j->f, j->searches[k].table)->dims[0]);
	return knots;
}

/* Stores where the entries of each wanted instruction start in `sides`, in the
 * order of copy_region. Returns the number of all entries. */
static Dim find_lengths(const JumpFinder *j, Ctx *c, const Region *g, Dim at, Dim *starts) {
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const uint32_t n = j->f->inst_order.at[g->insts + i];
		const Inst *in = &j->f->insts.at[n];
		for (uint32_t k = 0; in->op == OP_IF && k < in->nregions; k++)
			if (cannot_fail(j, inst_region(j->f, in, k)))
				at = find_lengths(j, c, inst_region(j->f, in, k), at, starts);
		if (!j->wanted[n]) continue;
		starts[n] = at;
		at = dim_add(c, at, parts_of(j, c, in));
	}
	return at;
}

static void take_side(Builder *b, RefMap *map, const Inst *in) {
	const Sides *s = map->copied_ud;
	const uint32_t n = (uint32_t)(in - s->j->f->insts.at);
	if (!s->j->wanted[n]) return;
	const Ref none = build_zeros(b, ref_type(build_fn(b), s->which[n]));
	const Ref is_early = build2(b, OP_LT, s->which[n], none),
			  is_late = build2(b, OP_LT, none, s->which[n]);
	for (uint32_t k = 0; k < in->nresults; k++) {
		const Ref r = inst_result(in, k), own = refmap_get(b, map, r);
		const Ref early = build_select(b, is_early, s->before[in->results + k], own);
		refmap_set(map, r, build_select(b, is_late, s->behind[in->results + k], early));
	}
}

/* Marks the values in g that follow from the loop `from`. Returns true when
 * there are any. */
static bool find_followers(const JumpFinder *j, const Region *g, const Inst *from, bool *follows) {
	bool any = false;
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = &j->f->insts.at[j->f->inst_order.at[g->insts + i]];
		bool used = in == from;
		for (uint32_t k = 0; k < in->nargs; k++) {
			const Ref r = inst_arg(j->f, in, k);
			used = used || (ref_is_value(r) && follows[REF_INDEX(r)]);
		}
		for (uint32_t k = 0; k < in->nregions; k++)
			used = find_followers(j, inst_region(j->f, in, k), from, follows) || used;
		for (uint32_t k = 0; used && k < in->nresults; k++) follows[in->results + k] = true;
		any = any || used;
	}
	return any;
}

/* A kink at a knot of a table, such as clamping a place between two knots,
 * takes the side of the search. A side of its own takes precedence. */
static void follow_searches(const JumpFinder *j, Builder *b, Ref *which) {
	for (uint32_t m = 0; m < j->f->insts.n; m++) {
		const Inst *loop = &j->f->insts.at[m];
		if (!j->wanted[m] || !is_loop(loop)) continue;
		bool *follows = ARENA_ARRAY(j->sp->a, bool, j->f->vals.n + 1);
		find_followers(j, &j->f->regions.at[0], loop, follows);
		const TypeId one = ref_type(build_fn(b), which[m]);
		const Ref half = build2(b, OP_MUL, which[m], build_full(b, one, 0.5));
		for (uint32_t n = 0; n < j->f->insts.n; n++) {
			const Inst *in = &j->f->insts.at[n];
			if (!j->wanted[n] || is_loop(in) || !follows[in->results]) continue;
			const TypeId like = ref_type(build_fn(b), which[n]);
			which[n] = build2(b, OP_ADD, which[n], build_broadcast_scalar(b, half, like));
		}
	}
}

/* (parameters, sides, before, behind) -> the value, where each wanted value is
 * that before, that behind or unchanged. */
static Fn *make_sided(JumpFinder *j, uint32_t place) {
	Ctx *c = j->sp->c;
	Arena *a = j->sp->a;
	const Region *top = &j->f->regions.at[0];
	RefMap map, early, late;
	Builder *b = written_begin(j->sp, j->f, &map);
	early = late = refmap_new(b, j->f, true);
	late.values = ARENA_ARRAY(a, Ref, j->f->vals.n + 1u);
	for (uint32_t k = 0; k < fn_nparams(j->f); k++) {
		const Ref r = refmap_get(b, &map, fn_param(j->f, k));
		refmap_set(&early, fn_param(j->f, k), r);
		refmap_set(&late, fn_param(j->f, k), r);
	}
	Dim *starts = ARENA_ARRAY(a, Dim, j->f->insts.n + 1);
	Dim total = find_lengths(j, c, top, dim_const(c, 0), starts);
	const TypeId number = type_tensor(c, DT_F64, 0, NULL);
	const Ref sides = build_param(b, type_tensor(c, DT_F64, 1, &total), atom(c, "sides"));
	refmap_set(&early, fn_param(j->f, place), build_param(b, number, atom(c, "before")));
	refmap_set(&late, fn_param(j->f, place), build_param(b, number, atom(c, "behind")));
	Sides s = {.j = j,
	           .before = ARENA_ARRAY(a, Ref, j->f->vals.n + 1),
	           .behind = ARENA_ARRAY(a, Ref, j->f->vals.n + 1),
	           .which = ARENA_ARRAY(a, Ref, j->f->insts.n + 1)};
	copy_wanted(j, b, &early, top, s.before);
	copy_wanted(j, b, &late, top, s.behind);
	for (uint32_t n = 0; n < j->f->insts.n; n++) {
		if (!j->wanted[n]) continue;
		const Inst *in = &j->f->insts.at[n];
		const Type t = *ref_ty(build_fn(b), s.before[in->results]);
		Dim size = parts_of(j, c, in);
		const Ref part = build_slice(b, sides, &starts[n], &size, NULL);
		const int all = 0;
		s.which[n] = is_loop(in) ? build_reduce(b, OP_REDUCE_SUM, part, 1, &all)
		                         : build_reshape(b, part, t.rank, t.dims);
	}
	follow_searches(j, b, s.which);
	map.copied = take_side;
	map.copied_ud = &s;
	for (uint32_t i = 0; i < top->ninsts; i++)
		build_copy_inst(b, &map, &j->f->insts.at[j->f->inst_order.at[top->insts + i]]);
	const Ref result = refmap_get(b, &map, fn_result(j->f, 0));
	return build_end(b, 1, &result);
}

/* What is requested of an integrand; from MOVING_BOTH on, including searches in
 * tables. */
typedef enum Moving {
	MOVING_OWN,      /* comparisons of the text that move, only counted */
	MOVING_SWITCHES, /* comparisons that move */
	MOVING_BOTH,     /* ... and knots */
	MOVING_KNOTS,    /* knots alone */
	MOVING_TURNS,    /* all jumps and kinks, moving or not */
	MOVING_MARKS,    /* 1 for each of those that moves, else 0 */
} Moving;

static Compared compared(Sp *sp, const CallArguments *call, Moving moving) {
	const bool own = moving == MOVING_OWN;
	Av *df = call->args[0];
	CallArguments at = {.span = call->span, .callee_span = call->spans[0], .n = 1};
	at.args = call->args + 1;
	at.spans = call->spans + 1;
	Compared m = {.spec = sp_specialise(sp, sp_keep_rule(sp, df->items[0]), &at)};
	const Av *t = df->items[1];
	const uint32_t n = m.spec.nargs;
	m.active = ARENA_ARRAY(sp->a, bool, n + 1);
	m.tangents = ARENA_ARRAY(sp->a, Ref, n + 1);
	Ref *by_param = ARENA_ARRAY(sp->a, Ref, n + 1);
	Fn *flat = m.spec.fn->finished ? written_out(sp, m.spec.fn) : NULL;
	JumpFinder j = {.sp = sp,
	                .f = flat ? flat : m.spec.fn,
	                .asked = OF_BOTH,
	                .own = own,
	                .either = moving >= MOVING_TURNS,
	                .turns = moving >= MOVING_TURNS,
	                .marks = moving == MOVING_MARKS};
	j.of = ARENA_ARRAY(sp->a, uint8_t, j.f->vals.n + 1);
	j.wanted = ARENA_ARRAY(sp->a, bool, j.f->insts.n + 1);
	j.risky = ARENA_ARRAY(sp->a, bool, j.f->vals.n + 1);
	for (uint32_t i = 0; i < t->n; i++) {
		const int p = m.spec.param_of_leaf[i];
		if (p < 0 || t->items[i]->kind != AV_ARRAY) continue;
		if (!dtype_is_inexact((Dtype)ref_ty(build_fn(sp->b), t->items[i]->ref)->dtype)) continue;
		m.active[p] = true;
		by_param[p] = t->items[i]->ref;
		j.of[REF_INDEX(fn_param(j.f, (uint32_t)p))] = OF_MOVING;
	}
	const int place = m.spec.param_of_leaf[t->n];
	if (place >= 0) j.of[REF_INDEX(fn_param(j.f, (uint32_t)place))] |= OF_PLACE;
	for (uint32_t p = 0; p < n; p++)
		if (m.active[p]) m.tangents[m.nactive++] = by_param[p];
	if (j.f->finished && !m.spec.effects) {
		find_risks(&j, &j.f->regions.at[0]);
		walk(&j, &j.f->regions.at[0], true, moving == MOVING_KNOTS ? COUNTED_NONE : COUNTED_ALL);
		if (moving >= MOVING_BOTH) find_searches(&j);
	}
	if (j.other.source && !own && !j.either) {
		Diag *d = diag_error(sp->c, E_NO_RULE, j.other,
		                     "the integrand may jump here, at a place that moves with what the "
		                     "integral is differentiated "
		                     "by: its derivative is not known");
		diag_hint(sp->c, d, "split the integral at the jump: its ends may move");
		if (flat) fn_unref(flat);
		sp_throw(sp);
	}
	m.n = j.n + (j.other.source != 0);
	m.other = j.other;
	if (j.n && !own) m.fn = make_compared(&j);
	if (flat) fn_unref(flat);
	return m;
}

typedef enum JumpQuery {
	ASKED_ALL,
	ASKED_OWN,
	ASKED_OTHERS,
	ASKED_BENDS,
	ASKED_TURNS,
	ASKED_SIDES,
	ASKED_VALUES,
	ASKED_LOOKUPS,
	ASKED_TABLES,
	ASKED_HIDDEN,
} JumpQuery;

/* The same for f(t, ...): what depends on t alone. Other jumps do not count.
 * *count: the number of tables, which have two results each; for ASKED_HIDDEN
 * 1, or 0 if nothing is hidden. */
static Fn *compared_by_clock(Sp *sp, const CallArguments *call, Specialisation *spec,
                             JumpQuery asked, uint32_t *count) {
	CallArguments at = {.span = call->span, .callee_span = call->spans[0], .n = call->n - 1};
	at.args = call->args + 1;
	at.spans = call->spans + 1;
	Av *f = sp_keep_rule(sp, call->args[0]);
	*spec = sp_specialise(sp, f, &at);
	if (!spec->fn->finished || spec->effects) return NULL;
	if ((asked == ASKED_LOOKUPS || asked == ASKED_TABLES) && !spec->fn->may_fail) return NULL;
	Fn *flat = written_out(sp, spec->fn);
	JumpFinder j = {.sp = sp,
	                .f = flat ? flat : spec->fn,
	                .asked = OF_PLACE,
	                .own = asked == ASKED_OWN || asked == ASKED_HIDDEN,
	                .others = asked == ASKED_OTHERS,
	                .bends = asked == ASKED_BENDS,
	                .turns = asked == ASKED_TURNS || asked == ASKED_SIDES,
	                .hidden = asked == ASKED_HIDDEN};
	j.of = ARENA_ARRAY(sp->a, uint8_t, j.f->vals.n + 1);
	j.wanted = ARENA_ARRAY(sp->a, bool, j.f->insts.n + 1);
	j.risky = ARENA_ARRAY(sp->a, bool, j.f->vals.n + 1);
	uint32_t first = 0;
	for (uint32_t i = 0; i < f->n; i++) first += av_count_leaves(f->items[i]);
	for (uint32_t i = first; i < spec->nleaves; i++) {
		const int p = spec->param_of_leaf[i];
		if (p >= 0)
			j.of[REF_INDEX(fn_param(j.f, (uint32_t)p))] |= i == first ? OF_PLACE : OF_MOVING;
	}
	find_risks(&j, &j.f->regions.at[0]);
	walk(&j, &j.f->regions.at[0], true, COUNTED_ALL);
	if (asked == ASKED_HIDDEN) {
		*count = j.other.source != 0;
		j.n = 0;
	}
	if (j.turns) find_searches(&j);
	if (asked == ASKED_VALUES || asked == ASKED_LOOKUPS || asked == ASKED_TABLES) {
		const Region *top = &j.f->regions.at[0];
		memset(j.wanted, 0, j.f->insts.n * sizeof *j.wanted);
		if (asked == ASKED_TABLES) {
			j.searches = ARENA_ARRAY(sp->a, TableSearch, 2 * j.f->insts.n + 1);
			find_tables(&j, top, NULL);
			*count = j.n = j.nsearches;
		} else {
			j.risks = asked == ASKED_LOOKUPS;
			j.met = ARENA_ARRAY(sp->a, bool, j.f->vals.n + 1);
			j.n = 0;
			meet_in(&j, top);
			for (uint32_t k = 0; k < top->nresults; k++) meet(&j, j.f->args.at[top->results + k]);
		}
	}
	const bool sided =
		asked == ASKED_SIDES && j.n && fn_nresults(j.f) == 1 && spec->result->kind == AV_ARRAY;
	Fn *made = sided                          ? make_sided(&j, (uint32_t)spec->param_of_leaf[first])
	           : !j.n || asked == ASKED_SIDES ? NULL
	           : asked == ASKED_TABLES        ? make_tables(&j)
	                                          : make_compared(&j);
	if (flat) fn_unref(flat);
	return made;
}

static Av *no_elements(Sp *sp) {
	Dim none = dim_const(sp->c, 0);
	return av_array(sp, build_zeros(sp->b, type_tensor(sp->c, DT_F64, 1, &none)));
}

static Av *moving_places(Sp *sp, const CallArguments *call, Moving moving) {
	Compared m = compared(sp, call, moving);
	Ref result;
	if (!m.fn) return no_elements(sp);
	build_call(sp->b, m.fn, m.spec.nargs, m.spec.args, &result);
	fn_unref(m.fn);
	return av_array(sp, result);
}

/* _switches(df, x) */
BUILTIN(switches) {
	UNUSED;
	return moving_places(sp, call, MOVING_SWITCHES);
}

/* _switches_and_knots(df, x) */
BUILTIN(switches_and_knots) {
	UNUSED;
	return moving_places(sp, call, MOVING_BOTH);
}

/* _moving_switches(df, x) */
BUILTIN(moving_switches) {
	UNUSED;
	return av_int(sp, compared(sp, call, MOVING_OWN).n);
}

/* _refuse_hidden(df, t): 0, or an error where f may jump at a moving time that
 * is not known. */
BUILTIN(refuse_hidden) {
	UNUSED;
	const Compared m = compared(sp, call, MOVING_OWN);
	if (!m.other.source) return av_int(sp, 0);
	Diag *d = diag_error(sp->c, E_NO_RULE, m.other,
	                     "what is integrated may jump here, at a time that moves with what the "
	                     "solution is differentiated by: its derivative is not known");
	diag_hint(sp->c, d, "compare with the time outside of loops, or make the jump an event");
	sp_throw(sp);
}

/* _moving_knots(df, x) */
BUILTIN(moving_knots) {
	UNUSED;
	return moving_places(sp, call, MOVING_KNOTS);
}

/* _moving_turns(df, x): as _clock_turns. */
BUILTIN(moving_turns) {
	UNUSED;
	return moving_places(sp, call, MOVING_TURNS);
}

/* _turns_that_move(df, x): 1 for each of these that moves with the captured
 * values, else 0. */
BUILTIN(turns_that_move) {
	UNUSED;
	return moving_places(sp, call, MOVING_MARKS);
}

/* _turn_changes(df, x): the change of these along the tangents of the
 * integrand's captured values. */
BUILTIN(turn_changes) {
	UNUSED;
	Compared m = compared(sp, call, MOVING_TURNS);
	if (!m.fn) return no_elements(sp);
	bool moves = false;
	Fn *jvp = ir_services(sp->c)->jvp(sp->c, m.fn, m.active, &moves);
	Ref *args = ARENA_ARRAY(sp->a, Ref, m.spec.nargs + m.nactive + 1), results[2];
	for (uint32_t k = 0; k < m.spec.nargs; k++) args[k] = m.spec.args[k];
	for (uint32_t k = 0; k < m.nactive; k++) args[m.spec.nargs + k] = m.tangents[k];
	build_call(sp->b, jvp, m.spec.nargs + m.nactive, args, results);
	if (!moves) results[1] = build_zeros(sp->b, ref_type(build_fn(sp->b), results[0]));
	fn_unref(m.fn);
	return av_array(sp, results[1]);
}

static Av *by_clock(Sp *sp, const CallArguments *call, JumpQuery asked) {
	Specialisation spec;
	Fn *made = compared_by_clock(sp, call, &spec, asked, NULL);
	if (!made) return no_elements(sp);
	Ref result;
	build_call(sp->b, made, spec.nargs, spec.args, &result);
	fn_unref(made);
	return av_array(sp, result);
}

/* _clock_switches(f, t, ...) */
BUILTIN(clock_switches) {
	UNUSED;
	return by_clock(sp, call, ASKED_ALL);
}

/* _clock_values(f, t, ...) */
BUILTIN(clock_values) {
	UNUSED;
	return by_clock(sp, call, ASKED_VALUES);
}

/* _clock_lookups(f, t, ...) */
BUILTIN(clock_lookups) {
	UNUSED;
	return by_clock(sp, call, ASKED_LOOKUPS);
}

/* _clock_tables(f, t, ...) */
BUILTIN(clock_tables) {
	UNUSED;
	Specialisation spec;
	uint32_t n = 0;
	Fn *made = compared_by_clock(sp, call, &spec, ASKED_TABLES, &n);
	Av **items = ARENA_ARRAY(sp->a, Av *, n + 1);
	if (made) {
		Ref *results = ARENA_ARRAY(sp->a, Ref, 2 * n);
		build_call(sp->b, made, spec.nargs, spec.args, results);
		fn_unref(made);
		for (uint32_t k = 0; k < n; k++) {
			Av *pair[2] = {av_array(sp, results[2 * k]), av_array(sp, results[2 * k + 1])};
			items[k] = av_seq(sp, AV_TUPLE, 2, pair);
		}
	}
	return av_seq(sp, AV_TUPLE, n, items);
}

/* _own_switches(f, x, ...) */
BUILTIN(own_switches) {
	UNUSED;
	return by_clock(sp, call, ASKED_OWN);
}

/* _hides_switches(f, t, ...) */
BUILTIN(hides_switches) {
	UNUSED;
	Specialisation spec;
	uint32_t hidden = 1; /* assumed when f cannot be analysed */
	(void)compared_by_clock(sp, call, &spec, ASKED_HIDDEN, &hidden);
	return av_bool(sp, hidden != 0);
}

/* _clock_bends(f, t, ...) */
BUILTIN(clock_bends) {
	UNUSED;
	return by_clock(sp, call, ASKED_BENDS);
}

/* _clock_turns(f, t, ...) */
BUILTIN(clock_turns) {
	UNUSED;
	return by_clock(sp, call, ASKED_TURNS);
}

/* _clock_sides(f, sides, before, behind, t, ...) */
BUILTIN(clock_sides) {
	UNUSED;
	const uint32_t n = call->n - 3;
	Av **args = ARENA_ARRAY(sp->a, Av *, n);
	Span *spans = ARENA_ARRAY(sp->a, Span, n);
	for (uint32_t k = 0; k < n; k++) {
		args[k] = call->args[k ? k + 3 : 0];
		spans[k] = call->spans[k ? k + 3 : 0];
	}
	const CallArguments whole = {
		.span = call->span, .callee_span = call->callee_span, .n = n, .args = args, .spans = spans};
	const CallArguments at = {.span = call->span,
	                          .callee_span = call->spans[0],
	                          .n = n - 1,
	                          .args = args + 1,
	                          .spans = spans + 1};
	Specialisation spec;
	Fn *made = compared_by_clock(sp, &whole, &spec, ASKED_SIDES, NULL);
	if (!made) return sp_call(sp, args[0], &at);
	Ref *to = ARENA_ARRAY(sp->a, Ref, spec.nargs + 3), result;
	for (uint32_t k = 0; k < spec.nargs; k++) to[k] = spec.args[k];
	to[spec.nargs] = sp_want_array(sp, call->args[1], call->spans[1], "_clock_sides")->ref;
	for (uint32_t k = 1; k < 3; k++)
		to[spec.nargs + k] =
			sp_scalar(sp, call->args[k + 1], DT_F64, call->spans[k + 1], "_clock_sides");
	build_call(sp->b, made, spec.nargs + 3, to, &result);
	fn_unref(made);
	return av_array(sp, result);
}

/* _library_switches(f, x, ...) */
BUILTIN(library_switches) {
	UNUSED;
	return by_clock(sp, call, ASKED_OTHERS);
}

const Builtin builtins_jumps[] = {
	{.name = "_clock_bends", .min_args = 2, .max_args = -1, .run = clock_bends},
	{.name = "_clock_lookups", .min_args = 2, .max_args = -1, .run = clock_lookups},
	{.name = "_clock_sides", .min_args = 5, .max_args = -1, .run = clock_sides},
	{.name = "_clock_switches", .min_args = 2, .max_args = -1, .run = clock_switches},
	{.name = "_clock_tables", .min_args = 2, .max_args = -1, .run = clock_tables},
	{.name = "_clock_turns", .min_args = 2, .max_args = -1, .run = clock_turns},
	{.name = "_clock_values", .min_args = 2, .max_args = -1, .run = clock_values},
	{.name = "_hides_switches", .min_args = 2, .max_args = -1, .run = hides_switches},
	{.name = "_library_switches", .min_args = 2, .max_args = -1, .run = library_switches},
	{.name = "_moving_knots", .min_args = 2, .max_args = 2, .run = moving_knots},
	{.name = "_moving_turns", .min_args = 2, .max_args = 2, .run = moving_turns},
	{.name = "_moving_switches", .min_args = 2, .max_args = 2, .run = moving_switches},
	{.name = "_own_switches", .min_args = 2, .max_args = -1, .run = own_switches},
	{.name = "_refuse_hidden", .min_args = 2, .max_args = 2, .run = refuse_hidden},
	{.name = "_switches", .min_args = 2, .max_args = 2, .run = switches},
	{.name = "_switches_and_knots", .min_args = 2, .max_args = 2, .run = switches_and_knots},
	{.name = "_turns_that_move", .min_args = 2, .max_args = 2, .run = turns_that_move},
	{.name = "_turn_changes", .min_args = 2, .max_args = 2, .run = turn_changes},
	{0},
};
