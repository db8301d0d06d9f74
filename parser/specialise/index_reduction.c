/* index_reduction.c - reductions over generators, sum(A[i, j]*B[j, k] for j).
 *
 * Needs: index_notation.h.
 *
 * Contract:
 * - A sum of products becomes contractions. An index is summed as soon as no
 *   later factor has it, unless the product will have another dtype.
 * - An index that nothing mentions counts with its extent.
 * - A generator over a tuple or list is unrolled.
 */
#include "parser/specialise/index_notation.h"

static const Type *ty(Sp *sp, Ref r) { return ref_ty(build_fn(sp->b), r); }

/* ---- sums of products ---------------------------------------------------- */

static Lv reduce_labels(Sp *sp, Op op, Lv v, uint32_t n, const Ix *const *which) {
	int axes[MAX_RANK];
	uint32_t k = 0;
	Lv out = {.weak = v.weak};
	for (uint32_t i = 0; i < v.n; i++) {
		bool gone = false;
		for (uint32_t m = 0; m < n; m++) gone |= v.label[i] == which[m];
		if (gone) axes[k++] = (int)i;
		else out.label[out.n++] = v.label[i];
	}
	out.ref = k ? build_reduce(sp->b, op, v.ref, k, axes) : v.ref;
	return out;
}

static bool in_set(uint32_t n, const Ix *const *set, const Ix *ix) {
	for (uint32_t i = 0; i < n; i++)
		if (set[i] == ix) return true;
	return false;
}

/* A factor as an operand. */
static Av *operand(Sp *sp, Lv v) {
	Av *a = av_array(sp, v.ref);
	a->weak = v.weak;
	return a;
}

static Dtype product_dtype(Sp *sp, Lv x, Lv y) {
	const Dtype d = sp_common_dtype(sp, operand(sp, x), operand(sp, y));
	return d == DT_BOOL ? DT_I64 : d;
}

static uint32_t labels_of_one(Lv x, Lv y, const Ix **out) {
	uint32_t n = 0;
	for (uint32_t i = 0; i < x.n; i++)
		if (lv_label_place(&y, x.label[i]) < 0) out[n++] = x.label[i];
	return n;
}

/* The sum of x*y over `sum`. Every sum has the dtype of the product, because a
 * factor's own could overflow. */
static Lv contract(Notation *nt, Lv x, Lv y, uint32_t nsum, const Ix *const *sum, Span at) {
	Sp *sp = nt->sp;
	const Ix *only[MAX_INDICES];
	const Dtype d = product_dtype(sp, x, y);
	/* If each factor has an index of its own, the product is larger than both.
	 * Indices of one factor alone are summed first. */
	if (labels_of_one(x, y, only) && labels_of_one(y, x, only)) {
		Lv *v[2] = {&x, &y};
		for (uint32_t k = 0; k < 2; k++) {
			uint32_t n = 0, own = labels_of_one(*v[k], *v[1 - k], only);
			for (uint32_t i = 0; i < own; i++)
				if (in_set(nsum, sum, only[i])) only[n++] = only[i];
			if (!n) continue;
			v[k]->ref = sp_to_dtype(sp, operand(sp, *v[k]), d);
			*v[k] = reduce_labels(sp, OP_REDUCE_SUM, *v[k], n, only);
		}
	}
	bool shared = false, alone = false;
	for (uint32_t i = 0; i < nsum; i++) {
		const bool in_x = lv_label_place(&x, sum[i]) >= 0, in_y = lv_label_place(&y, sum[i]) >= 0;
		shared |= in_x && in_y;
		alone |= in_x != in_y;
	}
	bool scalar_parts = ty(sp, x.ref)->rank == x.n && ty(sp, y.ref)->rank == y.n;
	if (!shared || alone || !scalar_parts) {
		Lv v[2] = {x, y};
		return reduce_labels(sp, OP_REDUCE_SUM, lv_combine(nt, AO_MUL, OP_NONE, 2, v, at), nsum,
		                     sum);
	}
	Av *ax = operand(sp, x), *ay = operand(sp, y);
	int xc[MAX_RANK], yc[MAX_RANK], xb[MAX_RANK], yb[MAX_RANK];
	uint32_t nc = 0, nb = 0;
	Lv out = {0};
	for (uint32_t i = 0; i < x.n; i++) {
		int p = lv_label_place(&y, x.label[i]);
		if (p < 0) continue;
		if (in_set(nsum, sum, x.label[i])) {
			xc[nc] = (int)i;
			yc[nc++] = p;
		} else {
			xb[nb] = (int)i;
			yb[nb++] = p;
			out.label[out.n++] = x.label[i];
		}
	}
	for (uint32_t i = 0; i < x.n; i++)
		if (lv_label_place(&y, x.label[i]) < 0) out.label[out.n++] = x.label[i];
	for (uint32_t i = 0; i < y.n; i++)
		if (lv_label_place(&x, y.label[i]) < 0) out.label[out.n++] = y.label[i];
	out.ref =
		build_dot(sp->b, sp_to_dtype(sp, ax, d), sp_to_dtype(sp, ay, d), nc, xc, yc, nb, xb, yb);
	return out;
}

typedef VEC(const Ast *) FactorList;

static void product_factors(const Ast *e, FactorList *out, Arena *a) {
	if (e->kind == A_BINARY && e->op == AO_MUL) {
		product_factors(e->binary.left, out, a);
		product_factors(e->binary.right, out, a);
		return;
	}
	VEC_PUSH(a, out, e);
}

/* ---- conditions ---------------------------------------------------------- */

void sp_want_condition(Sp *sp, Ref r, Span at) {
	if (ty(sp, r)->dtype != DT_BOOL)
		sp_fail(sp, E_TYPE, at, "a condition must be true or false, not %s",
		        sp_type_text(sp, av_array(sp, r)));
}

static Av *of_some(Sp *sp, void *ud) {
	(void)ud;
	return av_none(sp);
}

static Av *of_nothing(Sp *sp, void *ud) {
	Ref message = sp_box(sp, av_string(sp, *(const Op *)ud == OP_REDUCE_MIN
	                                           ? "the smallest element of nothing"
	                                           : "the largest element of nothing"));
	build(sp->b, OP_FAIL, 1, &message, attr_intern(sp->c, (int64_t[]){E_VALUE}, 1), NULL);
	sp_set_dead(sp);
	return av_none(sp);
}

/* An extremum is an error when the filter excludes all elements, as for an
 * empty array. */
static void want_some(Sp *sp, Op op, Lv kept, uint32_t n, const Ix *const *which, Span at) {
	sp_at(sp, at);
	kept = reduce_labels(sp, OP_REDUCE_MAX, kept, n, which);
	kept = reduce_labels(sp, OP_REDUCE_MIN, kept, kept.n, kept.label);
	Av *c = av_array(sp, kept.ref);
	bool known;
	if (av_static_bool(sp, c, &known) && known) return;
	sp_branch(sp, c, of_some, NULL, of_nothing, &op, at);
}

/* True for any() and all(), whose elements are conditions. */
static bool is_logical(Sp *sp, const Ast *call) {
	const char *name = atom_text(sp->c, call->call.callee->name.name);
	return !strcmp(name, "any") || !strcmp(name, "all");
}

static void want_conditions(Sp *sp, const Ast *call, Ref r, Span at) {
	if (!is_logical(sp, call) || ty(sp, r)->dtype == DT_BOOL) return;
	sp_fail(sp, E_TYPE, at, "`%s` takes conditions, not %s",
	        atom_text(sp->c, call->call.callee->name.name), sp_type_text(sp, av_array(sp, r)));
}

/* ---- reductions ---------------------------------------------------------- */

Lv lv_reduce(Notation *nt, const Ast *call, Op op, const Ast *gen) {
	Sp *sp = nt->sp;
	IndexScope s = {.outer = nt->scope};
	Notation inner = *nt;
	ix_open_clauses(&inner, &s, gen->comprehension.n, gen->comprehension.clauses,
	                gen->comprehension.body);
	const Ix *sum[MAX_INDICES];
	bool summed[MAX_INDICES] = {0};
	for (uint32_t i = 0; i < s.n; i++) sum[i] = &s.ix[i];
	const Ast *body = gen->comprehension.body;
	FactorList factors = {0};
	if (op == OP_REDUCE_SUM && !gen->comprehension.filter) product_factors(body, &factors, sp->a);
	Lv v;
	if (factors.n > 1) {
		Lv *f = ARENA_ARRAY(sp->a, Lv, factors.n);
		for (uint32_t i = 0; i < factors.n; i++) {
			f[i] = lv_expr(&inner, factors.at[i]);
			for (uint32_t k = 0; k < s.n; k++) summed[k] |= lv_label_place(&f[i], sum[k]) >= 0;
		}
		v = f[0];
		Lv whole = f[0];
		for (uint32_t i = 1; i < factors.n; i++) {
			const Dtype d = product_dtype(sp, whole, f[i]);
			whole = (Lv){.ref = build_zeros(sp->b, type_scalar(sp->c, d)),
			             .weak = whole.weak && f[i].weak};
		}
		const Dtype d = (Dtype)ty(sp, whole.ref)->dtype;
		for (uint32_t i = 1; i < factors.n; i++) {
			/* Indices that no later factor has are summed now, unless the
			 * product will have another dtype. */
			const Ix *now[MAX_INDICES];
			uint32_t n = 0;
			const bool early = i + 1 == factors.n || product_dtype(sp, v, f[i]) == d;
			for (uint32_t k = 0; early && k < s.n; k++) {
				bool later = false;
				for (uint32_t m = i + 1; m < factors.n; m++)
					later |= lv_label_place(&f[m], sum[k]) >= 0;
				if (!later) now[n++] = sum[k];
			}
			v = contract(&inner, v, f[i], n, now, body->span);
		}
	} else v = lv_expr(&inner, body);
	want_conditions(sp, call, v.ref, body->span);
	if (gen->comprehension.filter) {
		Lv c = lv_expr(&inner, gen->comprehension.filter);
		sp_want_condition(sp, c.ref, gen->comprehension.filter->span);
		if (ty(sp, c.ref)->rank != c.n)
			sp_fail(sp, E_TYPE, gen->comprehension.filter->span,
			        "one condition for each index is wanted here, not an array of them");
		Lv both[2] = {v, c};
		const Ix *labels[MAX_INDICES];
		uint32_t nl = lv_union_labels(both, 2, labels), inner_rank = ty(sp, v.ref)->rank - v.n;
		Ref x = lv_spread(sp, &v, nl, labels, inner_rank),
			m = lv_spread(sp, &c, nl, labels, inner_rank);
		m = sp_broadcast_to(sp, m, ty(sp, x)->rank, ty(sp, x)->dims, body->span, "select from");
		double neutral = op == OP_REDUCE_SUM    ? 0
		                 : op == OP_REDUCE_PROD ? 1
		                 : op == OP_REDUCE_MAX  ? -__builtin_inf()
		                                        : __builtin_inf();
		Dtype d = (Dtype)ty(sp, x)->dtype;
		if (d == DT_BOOL) neutral = op == OP_REDUCE_MIN;
		else if (op == OP_REDUCE_MAX || op == OP_REDUCE_MIN)
			want_some(sp, op, c, s.n, sum, call->span);
		v = (Lv){.ref = build_select(sp->b, m, x,
		                             build_full(sp->b, ref_type(build_fn(sp->b), x), neutral)),
		         .n = nl};
		for (uint32_t i = 0; i < nl; i++) v.label[i] = labels[i];
	}
	/* An index that neither the body nor the filter mentions still contributes
	 * its extent. */
	uint32_t nm = 0, nall = v.n;
	const Ix *all[MAX_INDICES];
	for (uint32_t i = 0; i < v.n; i++) all[i] = v.label[i];
	for (uint32_t i = 0; i < s.n; i++)
		if (lv_label_place(&v, sum[i]) < 0 && !summed[i]) {
			nm++;
			all[nall++] = sum[i];
		}
	if (nm) {
		Lv w = {.ref = lv_spread(sp, &v, nall, all, ty(sp, v.ref)->rank - v.n),
		        .n = nall,
		        .weak = v.weak};
		for (uint32_t i = 0; i < nall; i++) w.label[i] = all[i];
		v = w;
	}
	if ((op == OP_REDUCE_MAX || op == OP_REDUCE_MIN) &&
	    dtype_is_complex((Dtype)ty(sp, v.ref)->dtype))
		sp_fail(sp, E_DTYPE, body->span, "complex numbers have no order");
	if ((op == OP_REDUCE_SUM || op == OP_REDUCE_PROD) && ty(sp, v.ref)->dtype == DT_BOOL)
		v.ref = build_convert(sp->b, v.ref, DT_I64);
	ix_warn_of_parts(sp, &s);
	sp_at(sp, call->span);
	return reduce_labels(sp, op, v, s.n, sum);
}

static Av *reduction_of_nothing(Sp *sp, const Ast *call, Op op) {
	if (op == OP_REDUCE_SUM) return av_weak(sp, build_f64(sp->b, 0));
	if (op == OP_REDUCE_PROD) return av_weak(sp, build_f64(sp->b, 1));
	if (is_logical(sp, call)) return av_bool(sp, op == OP_REDUCE_MIN);
	sp_at(sp, call->span);
	return of_nothing(sp, &op);
}

/* A reduction over the items of a tuple or list. The filter decides first: an
 * item that it leaves out is not computed. */
static Av *unrolled_reduction(Sp *sp, const Ast *call, Op op, const Ast *gen, Av *over) {
	const Ast *body = gen->comprehension.body, *filter = gen->comprehension.filter;
	const Op pair = op == OP_REDUCE_PROD ? OP_MUL : op == OP_REDUCE_MAX ? OP_MAX : OP_MIN;
	const char *name = atom_text(sp->c, call->call.callee->name.name);
	const bool logical = is_logical(sp, call);
	Av *r = NULL;
	for (uint32_t i = 0; i < over->n; i++) {
		Env *saved = sp->env;
		sp->env = env_new(sp, saved);
		sp_assign(sp, gen->comprehension.clauses[0].names[0], over->items[i], gen->span);
		if (!filter || sp_want_bool(sp, sp_expr(sp, filter), filter->span, "the condition")) {
			Av *v = sp_expr(sp, body);
			if (logical)
				want_conditions(sp, call, sp_want_array(sp, v, body->span, name)->ref, body->span);
			r = !r                    ? v
			    : op == OP_REDUCE_SUM ? sp_binary(sp, AO_ADD, r, v, gen->span, NO_SPAN, NO_SPAN)
			                          : sp_elementwise(sp, pair, 2, (Av *[]){r, v}, gen->span);
		}
		sp->env = saved;
	}
	return r ? r : reduction_of_nothing(sp, call, op);
}

Av *sp_reduction(Sp *sp, const Ast *call, Op op, const Ast *gen) {
	Notation nt = {.sp = sp, .e = call};
	/* A generator over a tuple or list is unrolled. */
	if (gen->comprehension.n == 1 && gen->comprehension.clauses[0].n == 1 &&
	    gen->comprehension.clauses[0].range) {
		Av *over = sp_expr(sp, gen->comprehension.clauses[0].range);
		if (over->kind == AV_TUPLE || over->kind == AV_LIST)
			return unrolled_reduction(sp, call, op, gen, over);
	}
	Lv v = lv_reduce(&nt, call, op, gen);
	return av_array(sp, v.ref);
}
