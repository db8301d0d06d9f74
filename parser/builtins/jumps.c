/* jumps.c - discontinuities of a function: its comparisons as switching
 * functions.
 *
 * Needs: table.h, jump_finder.h, written_out.h, the transforms of ir_services.
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
#include "parser/builtins/jump_finder.h"
#include "parser/builtins/table.h"

/* ---- by what moves ------------------------------------------------------- */

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
	CallArguments at = builtin_inner_call(call, 1);
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
		find_jumps(&j, &j.f->regions.at[0], true,
		           moving == MOVING_KNOTS ? COUNTED_NONE : COUNTED_ALL);
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

/* ---- by the clock -------------------------------------------------------- */

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
	CallArguments at = builtin_inner_call(call, call->n - 1);
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
	find_jumps(&j, &j.f->regions.at[0], true, COUNTED_ALL);
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
			find_met(&j, top);
			for (uint32_t k = 0; k < top->nresults; k++)
				note_met(&j, j.f->args.at[top->results + k]);
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

/* ---- builtins ------------------------------------------------------------ */

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
