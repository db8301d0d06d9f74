/* jump_functions.c - functions of the jumps that jump_finder.c finds: the
 * differences, the tables, and the value on a side of each jump.
 *
 * Needs: jump_finder.h, written_out.h.
 *
 * Method: the function is copied up to what is wanted. Branches that cannot
 * fail are computed even if they are not taken, so their comparisons have
 * values.
 */
#include "parser/builtins/jump_finder.h"

/* ---- differences --------------------------------------------------------- */

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

/* ---- copies of the function ---------------------------------------------- */

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

Fn *make_tables(JumpFinder *j) {
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

Fn *make_compared(JumpFinder *j) {
	const Fn *f = j->f;
	RefMap map;
	Builder *b = written_begin(j->sp, j->f, &map);
	copy_region(j, b, &map, &f->regions.at[0], NULL);
	Dim none = dim_const(j->sp->c, 0);
	Ref all = j->parts.n ? build_concat(b, j->parts.n, j->parts.at, 0)
	                     : build_zeros(b, type_tensor(j->sp->c, DT_F64, 1, &none));
	return build_end(b, 1, &all);
}

/* ---- sides --------------------------------------------------------------- */

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

Fn *make_sided(JumpFinder *j, uint32_t place) {
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
