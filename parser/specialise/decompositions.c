/* decompositions.c - functions that decompose a matrix, with derivatives that
 * are right where eigenvalues or singular values coincide.
 *
 * Needs: specialise/internal.h.
 *
 * Contract:
 * - The new function has the same parameters, results and values.
 * - If no two eigenvalues (singular values) of a decomposition coincide, it
 *   computes the function itself.
 *
 * Method: where eigenvalues coincide, the eigenvectors have no derivative. A
 * function of the whole decomposition that is smooth in the matrix has one. The
 * rules of eigh and svd cannot give it, because they divide by the gaps. There,
 * f(A) is the value at e = 0 of the function e -> f(A + e S). S = V diag(d) V',
 * with the eigenvectors V at A held fixed, separates the coinciding
 * eigenvalues.
 *
 * The function of e is analytic where f is. An even polynomial through its
 * values at +-e_k gives its value at 0 to rounding. No two eigenvalues of A +
 * e_k S are close. The derivatives of these values, of every order and in every
 * mode, therefore give those of f.
 *
 * If the polynomial misses the value, f is not smooth in the matrix, or not
 * smooth up to the points e_k. Examples are one of the coinciding eigenvalues
 * and a single vector. The derivatives of f are then those of the rules if the
 * eigenvalues differ by more than rounding, else NaN.
 *
 * The library computes S and the steps (_apart_symmetric and related functions
 * in linalg.dsl).
 */
#include "parser/specialise/internal.h"

typedef struct Whole {
	Sp *sp;
	Fn *f;      /* all calls inlined */
	bool *site; /* by instruction: a top-level decomposition of a value that has derivatives */
	Builder *b;
	Arena *a;
	Fn *moved, *meets, *result;
} Whole;

static const Inst *inst_at(const Fn *f, uint32_t i) {
	return &f->insts.at[f->inst_order.at[f->regions.at[0].insts + i]];
}

/* ---- selection of decompositions ----------------------------------------- */

static bool region_moves(const Fn *f, const Region *g, bool *moves);

/* True when an operand has derivatives, also inside regions. */
static bool takes_moving(const Fn *f, const Inst *in, bool *moves) {
	for (uint32_t k = 0; k < in->nargs; k++) {
		const Ref r = inst_arg(f, in, k);
		if (ref_is_value(r) && moves[REF_INDEX(r)]) return true;
	}
	for (uint32_t k = 0; k < in->nregions; k++)
		if (region_moves(f, inst_region(f, in, k), moves)) return true;
	return false;
}

static bool region_moves(const Fn *f, const Region *g, bool *moves) {
	for (uint32_t k = 0; k < g->nresults; k++) {
		const Ref r = f->args.at[g->results + k];
		if (ref_is_value(r) && moves[REF_INDEX(r)]) return true;
	}
	for (uint32_t i = 0; i < g->ninsts; i++)
		if (takes_moving(f, &f->insts.at[f->inst_order.at[g->insts + i]], moves)) return true;
	return false;
}

static bool find_sites(Whole *w, const bool *active) {
	const Fn *f = w->f;
	bool *moves = ARENA_ARRAY(w->a, bool, f->vals.n + 1), any = false;
	for (uint32_t k = 0; k < fn_nparams(f); k++) {
		const Ref p = fn_param(f, k);
		if (ref_ty(f, p)->kind != TY_TENSOR && active[k]) return false;
		moves[REF_INDEX(p)] = active[k];
	}
	for (uint32_t i = 0; i < f->regions.at[0].ninsts; i++) {
		const Inst *in = inst_at(f, i);
		/* Each sample would repeat the effect. */
		if (prims[in->op].effect == EFFECT_EFFECT) return false;
		if (prims[in->op].deriv == DERIV_ZERO || !takes_moving(f, in, moves)) continue;
		for (uint32_t k = 0; k < in->nresults; k++) moves[in->results + k] = true;
		const bool decomposes = in->op == OP_EIGH || in->op == OP_SVD;
		if (!decomposes || ref_ty(f, inst_arg(f, in, 0))->rank > 3) continue;
		any = w->site[in - f->insts.at] = true;
	}
	return any;
}

static bool decomposes(Arena *a, const Fn *f) {
	uint32_t n;
	const Fn **all = fn_callees(a, f, false, &n);
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; all[k]->finished && i < all[k]->insts.n; i++)
			if (all[k]->insts.at[i].op == OP_EIGH || all[k]->insts.at[i].op == OP_SVD) return true;
	return false;
}

/* ---- component functions ------------------------------------------------- */

static Sp inside(Whole *w, FunctionFrame *frame) {
	*frame = (FunctionFrame){.b = w->b, .fixed = true};
	const Sp *from = w->sp;
	Sp q = {.c = from->c,
	        .session = from->session,
	        .a = w->a,
	        .b = w->b,
	        .module = from->module,
	        .frame = frame};
	q.place = from->place;
	q.env = env_new(&q, NULL);
	static const Av self = {.kind = AV_FUNCTION};
	q.self = (Av *)&self;
	return q;
}

static void begin(Whole *w, const char *what, RefMap *map, Ref *params) {
	const Fn *f = w->f;
	const char *name = f->name ? atom_text(w->sp->c, f->name) : "";
	w->b = build_begin(w->sp->c, atom_f(w->sp->c, "%s.%s", name, what), f->span, f);
	*map = refmap_new(w->b, f, true);
	for (uint32_t k = 0; k < fn_nparams(f); k++) {
		const Val *v = &f->vals.at[REF_INDEX(fn_param(f, k))];
		params[k] = build_param(w->b, v->type, v->name);
		refmap_set(map, fn_param(f, k), params[k]);
	}
}

/* (parameters, e) -> results, with A + e S in place of each A. */
static void make_moved(Ctx *c, void *arg) {
	Whole *w = arg;
	const Fn *f = w->f;
	RefMap map;
	FunctionFrame frame;
	Ref *params = ARENA_ARRAY(w->a, Ref, fn_nparams(f) + 1);
	Ref *out = ARENA_ARRAY(w->a, Ref, fn_nresults(f) + 1), made[3];
	begin(w, "apart", &map, params);
	Ref e = build_param(w->b, type_scalar(c, DT_F64), 0);
	Sp q = inside(w, &frame);
	for (uint32_t i = 0; i < f->regions.at[0].ninsts; i++) {
		const Inst *in = inst_at(f, i);
		build_at(w->b, in->span);
		if (!w->site[in - f->insts.at]) {
			build_copy_inst(w->b, &map, in);
			continue;
		}
		Av *x = av_array(&q, refmap_get(w->b, &map, inst_arg(f, in, 0)));
		const char *name = in->op == OP_EIGH ? "_apart_symmetric" : "_apart_singular";
		Av *apart =
			sp_call_library(&q, name, 2, (Av *[]){x, av_array(&q, e)}, span_of(c, in->span));
		build(w->b, (Op)in->op, 1, &apart->ref, in->attr, made);
		for (uint32_t k = 0; k < in->nresults; k++) refmap_set(&map, inst_result(in, k), made[k]);
	}
	for (uint32_t k = 0; k < fn_nresults(f); k++) out[k] = refmap_get(w->b, &map, fn_result(f, k));
	w->moved = build_end(w->b, fn_nresults(f), out);
	w->b = NULL;
}

/* parameters -> two booleans: eigenvalues nearly coincide; they coincide up to
 * rounding. */
static void make_meets(Ctx *c, void *arg) {
	Whole *w = arg;
	const Fn *f = w->f;
	RefMap map;
	FunctionFrame frame;
	Ref *params = ARENA_ARRAY(w->a, Ref, fn_nparams(f) + 1), any = REF_NONE;
	begin(w, "meets", &map, params);
	Sp q = inside(w, &frame);
	for (uint32_t i = 0; i < f->regions.at[0].ninsts; i++) {
		const Inst *in = inst_at(f, i);
		build_copy_inst(w->b, &map, in);
		if (!w->site[in - f->insts.at]) continue;
		Av *values = av_array(&q, refmap_get(w->b, &map, inst_result(in, in->op == OP_SVD)));
		const char *name = in->op == OP_EIGH ? "_some_meet" : "_some_singular_meet";
		Ref one = sp_call_library(&q, name, 1, &values, span_of(c, in->span))->ref;
		any = any == REF_NONE ? one : build2(w->b, OP_MAX, any, one);
	}
	w->meets = build_end(w->b, 1, &any);
	w->b = NULL;
}

static bool has_slope(const Fn *f, Ref r) {
	const Type *t = ref_ty(f, r);
	return t->kind == TY_TENSOR && dtype_is_inexact((Dtype)t->dtype);
}

static void unify(Builder *b, Ref x, Ref y) {
	const Type s = *ref_ty(build_fn(b), x), t = *ref_ty(build_fn(b), y);
	const Atom what = atom(build_ctx(b), "a result of a function and of its neighbour");
	for (uint32_t k = 0; k < s.rank && k < t.rank; k++) build_unify(b, s.dims[k], t.dims[k], what);
}

/* |re| + |im| */
static Ref size_of(Builder *b, Ref x) {
	const Type t = *ref_ty(build_fn(b), x);
	if (!dtype_is_complex((Dtype)t.dtype)) return build1(b, OP_ABS, x);
	Ref re = build1(b, OP_ABS, build1(b, OP_REAL, x));
	return build2(b, OP_ADD, re, build1(b, OP_ABS, build1(b, OP_IMAG, x)));
}

static Ref times(Builder *b, double factor, Ref x) {
	return build2(b, OP_MUL, build_full(b, ref_type(build_fn(b), x), factor), x);
}

/* True, element by element, where the polynomial reproduces the value. */
static Ref meets_value(Builder *b, Ref x, Ref value) {
	const Dtype d = dtype_real_of((Dtype)ref_ty(build_fn(b), x)->dtype);
	Ref miss = size_of(b, build2(b, OP_SUB, x, value));
	Ref size = build2(b, OP_ADD, size_of(b, x), size_of(b, value));
	const double rounding = d == DT_F32 ? 1e-3 : 1e-7;
	Ref least = build_full(b, ref_type(build_fn(b), size), 1e-4 * rounding);
	return build2(b, OP_LE, miss, build2(b, OP_ADD, times(b, rounding, size), least));
}

/* 0 for x = 0, with derivatives that are NaN. */
static Ref undefined(Builder *b, Ref x) { return build1(b, OP_SQRT, build2(b, OP_MUL, x, x)); }

/* Replaces results: each has its own value and the derivatives of the weighted
 * sum of the results at the sample points. */
static void interpolate(Whole *w, const Ref *params, const Ref *plain, Ref equal, Ref *out) {
	Ctx *c = w->sp->c;
	Builder *b = w->b;
	FunctionFrame frame;
	const uint32_t n = fn_nparams(w->f), nr = fn_nresults(w->f);
	Sp q = inside(w, &frame);
	Av *steps = sp_call_library(&q, "_apart_steps", 0, NULL, NO_SPAN);
	Ref places = steps->items[0]->ref, weights = steps->items[1]->ref;
	Ref *init = ARENA_ARRAY(w->a, Ref, nr + 1), *p = ARENA_ARRAY(w->a, Ref, nr + 2);
	Ref *sums = ARENA_ARRAY(w->a, Ref, nr + 1);
	Ref *args = ARENA_ARRAY(w->a, Ref, n + 1), *made = ARENA_ARRAY(w->a, Ref, nr + 1);
	TypeId *types = ARENA_ARRAY(w->a, TypeId, nr + 2);
	uint32_t m = 0;
	types[0] = type_scalar(c, DT_I64);
	for (uint32_t k = 0; k < nr; k++) {
		if (!has_slope(w->f, fn_result(w->f, k))) continue;
		types[m + 1] = ref_type(build_fn(b), plain[k]);
		init[m] = build_zeros(b, types[m + 1]);
		m++;
	}
	OpenRegion *open = build_region_begin(b, m + 1, types, p);
	for (uint32_t k = 0; k < n; k++) args[k] = params[k];
	args[n] = build_gather(b, places, p[0], 0, 0);
	build_call(b, w->moved, n + 1, args, made);
	m = 0;
	for (uint32_t k = 0; k < nr; k++) {
		if (!has_slope(w->f, fn_result(w->f, k))) continue;
		unify(b, plain[k], made[k]);
		const TypeId type = ref_type(build_fn(b), made[k]);
		Ref weight =
			build_convert(b, build_gather(b, weights, p[0], 0, 0), (Dtype)type_of(c, type)->dtype);
		weight = build_broadcast_scalar(b, weight, type);
		sums[m] = build2(b, OP_ADD, p[m + 1], build2(b, OP_MUL, weight, made[k]));
		m++;
	}
	int64_t count = 0;
	if (!dim_is_const(c, ref_ty(build_fn(b), places)->dims[0], &count)) ctx_throw(c, ST_INTERNAL);
	build_for(b, build_i64(b, count), m, init, build_region_end(b, open, m, sums), p);
	m = 0;
	for (uint32_t k = 0; k < nr; k++) {
		out[k] = plain[k];
		if (!has_slope(w->f, fn_result(w->f, k))) continue;
		Ref change = build2(b, OP_SUB, p[m], build1(b, OP_STOP, p[m]));
		Ref right = meets_value(b, build1(b, OP_STOP, p[m]), build1(b, OP_STOP, plain[k]));
		Ref wrong = build_select(b, right, build_full(b, ref_type(build_fn(b), change), 1), change);
		change = build_select(b, right, change, undefined(b, wrong));
		/* A result that is not smooth in the whole matrix has the derivatives
		 * of the rules, as long as the eigenvalues can be distinguished. */
		Ref taken = build2(b, OP_MAX, right,
		                   build_broadcast_scalar(b, equal, ref_type(build_fn(b), right)));
		out[k] = build_select(b, taken, build2(b, OP_ADD, build1(b, OP_STOP, plain[k]), change),
		                      plain[k]);
		m++;
	}
}

static void make_whole(Ctx *c, void *arg) {
	Whole *w = arg;
	const uint32_t n = fn_nparams(w->f), nr = fn_nresults(w->f);
	RefMap map;
	Ref *params = ARENA_ARRAY(w->a, Ref, n + 1), *asked = ARENA_ARRAY(w->a, Ref, n + 1), both;
	Ref *plain = ARENA_ARRAY(w->a, Ref, nr + 1), *out = ARENA_ARRAY(w->a, Ref, nr + 1);
	begin(w, "whole", &map, params);
	build_at(w->b, w->f->span);
	/* Derivatives of the new function do not apply this transformation again:
	 * the inputs of the test are stopped, and decompositions in branches are
	 * not selected. */
	for (uint32_t k = 0; k < n; k++) {
		asked[k] = params[k];
		if (has_slope(w->f, fn_param(w->f, k))) asked[k] = build1(w->b, OP_STOP, params[k]);
	}
	build_call(w->b, w->meets, n, asked, &both);
	const Ref meets = build_gather(w->b, both, build_i64(w->b, 0), 0, 0);
	const Ref equal = build_gather(w->b, both, build_i64(w->b, 1), 0, 0);
	OpenRegion *open = build_region_begin(w->b, 0, NULL, NULL);
	build_call(w->b, w->f, n, params, plain);
	interpolate(w, params, plain, equal, out);
	const RegionId yes = build_region_end(w->b, open, nr, out);
	open = build_region_begin(w->b, 0, NULL, NULL);
	build_call(w->b, w->f, n, params, plain);
	const RegionId no = build_region_end(w->b, open, nr, plain);
	build_if(w->b, meets, yes, no, out);
	w->result = build_end(w->b, nr, out);
	w->b = NULL;
	(void)c;
}

static void attempt(Whole *w, void (*make)(Ctx *c, void *arg)) {
	Ctx *c = w->sp->c;
	const Status s = ctx_protect(c, make, w);
	if (s == ST_OK) return;
	if (w->b) build_abandon(w->b);
	if (w->moved) fn_unref(w->moved);
	if (w->meets) fn_unref(w->meets);
	ctx_throw(c, s);
}

Fn *sp_whole(Sp *sp, Fn *f, const bool *active) {
	if (!f->finished || f->effects) return f;
	Arena *a = sp->a;
	if (!decomposes(a, f)) return f;
	Fn *known = session_whole(sp->session, f, active);
	if (known) return known;
	Fn *flat = fn_inline_calls(sp->c, f);
	Whole w = {.sp = sp, .f = flat ? flat : f, .a = a};
	w.site = ARENA_ARRAY(a, bool, w.f->insts.n + 1);
	if (find_sites(&w, active)) {
		attempt(&w, make_moved);
		attempt(&w, make_meets);
		attempt(&w, make_whole);
		fn_unref(w.moved);
		fn_unref(w.meets);
	}
	if (flat) fn_unref(flat);
	if (w.result) session_keep_whole(sp->session, f, active, w.result);
	return w.result ? w.result : f;
}
