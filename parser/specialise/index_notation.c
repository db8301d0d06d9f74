/* index_notation.c - index notation: C[i, k] := sum(A[i, j]*B[j, k] for j), and
 * comprehensions.
 *
 * Needs: index_notation.h.
 *
 * Contract:
 * - An index becomes an axis.
 * - Arrays indexed by plain indices (plus a constant) become slices and
 *   transposes. Element-wise arithmetic uses the aligned axes.
 * - Everything else is a function of the indices, batched over them.
 */
#include "parser/specialise/index_notation.h"

static const Type *ty(Sp *sp, Ref r) { return ref_ty(build_fn(sp->b), r); }

/* ---- labelled values ----------------------------------------------------- */

static Lv plain(Sp *sp, Av *v) {
	(void)sp;
	return (Lv){.ref = v->ref, .weak = v->weak};
}

int lv_label_place(const Lv *v, const Ix *ix) {
	for (uint32_t i = 0; i < v->n; i++)
		if (v->label[i] == ix) return (int)i;
	return -1;
}

/* The values of an index itself. */
static Lv index_values(Sp *sp, const Ix *ix) {
	Lv v = {.n = 1, .label = {ix}};
	if (!ix->affine) {
		v.ref = ix->values;
		return v;
	}
	TypeId t = type_tensor(sp->c, DT_I64, 1, &ix->length);
	Ref r = build_iota(sp->b, DT_I64, ix->length);
	if (ix->step != 1) r = build2(sp->b, OP_MUL, r, build_full(sp->b, t, (double)ix->step));
	int64_t zero;
	if (!dim_is_const(sp->c, ix->start, &zero) || zero)
		r = build2(sp->b, OP_ADD, r,
		           build_broadcast_scalar(sp->b, build_extent(sp->b, ix->start), t));
	v.ref = r;
	return v;
}

Ref lv_spread(Sp *sp, const Lv *v, uint32_t n, const Ix *const *to, uint32_t inner) {
	Type t = *ty(sp, v->ref);
	uint32_t own_inner = t.rank - v->n;
	/* Permutes the labels into the order of `to`. */
	int perm[MAX_RANK], axes[MAX_RANK];
	uint32_t k = 0;
	for (uint32_t i = 0; i < n; i++) {
		int p = lv_label_place(v, to[i]);
		if (p >= 0) {
			axes[k] = (int)i;
			perm[k++] = p;
		}
	}
	for (uint32_t i = 0; i < own_inner; i++) {
		axes[k] = (int)(n + inner - own_inner + i);
		perm[k++] = (int)(v->n + i);
	}
	Ref r = build_transpose(sp->b, v->ref, perm);
	t = *ty(sp, r);
	if (n + inner > MAX_RANK)
		sp_fail(sp, E_RANK, NO_SPAN, "index notation over more than %d axes", MAX_RANK);
	Dim shape[MAX_RANK];
	for (uint32_t i = 0; i < n; i++) shape[i] = to[i]->length;
	for (uint32_t i = n; i < n + inner; i++) shape[i] = dim_const(sp->c, 1);
	for (uint32_t i = 0; i < t.rank; i++) shape[axes[i]] = t.dims[i];
	return build_broadcast(sp->b, r, n + inner, shape, axes);
}

uint32_t lv_union_labels(const Lv *v, uint32_t nv, const Ix **out) {
	uint32_t n = 0;
	for (uint32_t k = 0; k < nv; k++)
		for (uint32_t i = 0; i < v[k].n; i++) {
			bool seen = false;
			for (uint32_t m = 0; m < n; m++) seen |= out[m] == v[k].label[i];
			if (!seen && n < MAX_INDICES) out[n++] = v[k].label[i];
		}
	return n;
}

Lv lv_combine(Notation *nt, AstOp op, Op prim, uint32_t n, Lv *v, Span at) {
	Sp *sp = nt->sp;
	const Ix *labels[MAX_INDICES];
	uint32_t nl = lv_union_labels(v, n, labels), inner = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t own = ty(sp, v[i].ref)->rank - v[i].n;
		if (own > inner) inner = own;
	}
	Av *a[2];
	for (uint32_t i = 0; i < n; i++) {
		a[i] = av_array(sp, v[i].n == nl && nl == 0 ? v[i].ref
		                    : n == 1                ? v[i].ref
		                                            : lv_spread(sp, &v[i], nl, labels, inner));
		a[i]->weak = v[i].weak;
	}
	if (n == 1)
		return (Lv){
			.ref = (prim ? sp_elementwise(sp, prim, 1, a, at) : sp_unary(sp, op, a[0], at))->ref,
			.n = v[0].n,
			.weak = v[0].weak,
			.label = {v[0].label[0], v[0].label[1], v[0].label[2], v[0].label[3], v[0].label[4],
		              v[0].label[5], v[0].label[6], v[0].label[7]}};
	Av *r = prim ? sp_elementwise(sp, prim, 2, a, at)
	             : sp_binary(sp, op, a[0], a[1], at, NO_SPAN, NO_SPAN);
	Lv out = {.ref = r->ref, .n = nl, .weak = r->weak};
	for (uint32_t i = 0; i < nl; i++) out.label[i] = labels[i];
	return out;
}

/* ---- functions of the indices -------------------------------------------- */

/* The random state and the effect token, or REF_NONE where there are none
 * yet. */
typedef struct Effects {
	Ref rng, io;
} Effects;

static Effects effects_now(Sp *sp) {
	const Hidden *h = sp_hidden(sp);
	const Av *r = env_find(sp->env, h->rng), *t = env_find(sp->env, h->io);
	return (Effects){r ? r->ref : REF_NONE, t ? t->ref : REF_NONE};
}

/* The origin of a token, followed through calls that print nothing. Calls
 * nested deeper than CALLS_DEEP, as in a recursion, are assumed to print. */
#define CALLS_DEEP 16
static Ref token_origin(Ctx *c, const Fn *f, Ref io, uint32_t depth) {
	for (;;) {
		const Inst *in = ref_is_value(io) ? ref_inst(f, io) : NULL;
		const Fn *g = in ? inst_callee(c, in) : NULL;
		if (!g || !g->finished || depth == CALLS_DEEP) return io;
		const Ref inside =
			token_origin(c, g, fn_result(g, f->vals.at[REF_INDEX(io)].index), depth + 1);
		uint32_t k = 0;
		while (k < fn_nparams(g) && fn_param(g, k) != inside) k++;
		if (k == fn_nparams(g)) return io;
		io = inst_arg(f, in, k);
	}
}

/* If random numbers have been drawn since `then` and nothing was printed,
 * restores the random state and returns true. */
static bool take_back_draws(Sp *sp, Effects then) {
	const Effects now = effects_now(sp);
	if (!then.rng || then.rng == now.rng) return false;
	if (token_origin(sp->c, build_fn(sp->b), then.io, 0) !=
	    token_origin(sp->c, build_fn(sp->b), now.io, 0))
		return false;
	sp_set_effects(sp, then.rng, REF_NONE);
	return true;
}

static Lv batched_over(Notation *nt, const Ast *e, bool all);

/* Batches e over the indices that it mentions. If e draws random numbers, it is
 * batched over all indices, so that each element draws its own. */
static Lv batched(Notation *nt, const Ast *e) {
	const Effects before = effects_now(nt->sp);
	Lv v = batched_over(nt, e, false);
	uint32_t n = 0;
	for (const IndexScope *s = nt->scope; s; s = s->outer) n += s->n;
	return v.n < n && take_back_draws(nt->sp, before) ? batched_over(nt, e, true) : v;
}

/* e as a function of the indices it mentions, or of all, batched over their
 * grid. */
static Lv batched_over(Notation *nt, const Ast *e, bool all) {
	Sp *sp = nt->sp;
	const Ix *ix[MAX_INDICES];
	uint32_t n = 0;
	for (const IndexScope *s = nt->scope; s; s = s->outer)
		for (uint32_t i = 0; i < s->n; i++)
			if ((all || ast_mentions(e, s->ix[i].name)) && n < MAX_INDICES) ix[n++] = &s->ix[i];
	Atom names[MAX_INDICES];
	for (uint32_t i = 0; i < n; i++) names[i] = ix[i]->name;
	const Ast *lambda = session_index_lambda(sp->session, e, n, names);
	Av *f = sp_expr(sp, lambda);
	Dim total = dim_const(sp->c, 1), shape[MAX_RANK];
	for (uint32_t i = 0; i < n; i++) {
		shape[i] = ix[i]->length;
		total = dim_mul(sp->c, total, ix[i]->length);
	}
	Av *args[MAX_INDICES + 1] = {f};
	for (uint32_t i = 0; i < n; i++) {
		Lv v = index_values(sp, ix[i]);
		int axis = (int)i;
		args[1 + i] = av_array(
			sp, build_reshape(sp->b, build_broadcast(sp->b, v.ref, n, shape, &axis), 1, &total));
	}
	Av *r = sp_call_args(sp, av_builtin(sp, "map", 0, NULL), n + 1, args, e->span);
	if (r->kind != AV_ARRAY)
		sp_fail(sp, E_TYPE, e->span, "an entry in index notation is a number or an array, not %s",
		        av_kind_text(r));
	Type t = *ty(sp, r->ref);
	for (uint32_t i = 1; i < t.rank; i++) shape[n + i - 1] = t.dims[i];
	Lv out = {.ref = build_reshape(sp->b, r->ref, n + t.rank - 1, shape), .n = n};
	for (uint32_t i = 0; i < n; i++) out.label[i] = ix[i];
	return out;
}

/* ---- indexed arrays ------------------------------------------------------ */

static _Noreturn void runs_outside(Sp *sp, const Ix *ix, int64_t bad, int64_t length, Span at) {
	Diag *d = diag_error(sp->c, E_INDEX, at, "index %lld is out of range for length %lld",
	                     (long long)bad, (long long)length);
	const char *name = atom_text(sp->c, ix->name);
	if (ix->range) diag_second(sp->c, d, ix->range->span, "`%s` runs over this", name);
	else if (ix->inferred_from)
		diag_second(sp->c, d, ix->inferred_from->origin, "`%s` runs over an axis of %s here", name,
		            sp_type_text(sp, ix->inferred_from));
	sp_throw(sp);
}

/* The items of an index that move with the indices of the notation, and the
 * axes of the array that they index. */
typedef struct MovingItems {
	uint32_t n;
	const Ast *item[MAX_RANK];
	int axis[MAX_RANK];
} MovingItems;

/* Separates the items of e that move with the indices from fixed scalars and
 * slices, and applies the fixed ones to *base. Returns false when e can only be
 * batched. */
static bool apply_fixed_items(Notation *nt, const Ast *e, Av **base, MovingItems *moving) {
	Sp *sp = nt->sp;
	Av *fixed[MAX_RANK];
	Span spans[MAX_RANK];
	bool any_fixed = false;
	if (e->index.n > MAX_RANK) sp_fail(sp, E_RANK, e->span, "too many indices");
	for (uint32_t i = 0; i < e->index.n; i++) {
		const Ast *it = e->index.items[i];
		spans[i] = it->span;
		if (it->kind == A_ELLIPSIS) return false;
		if (it->kind != A_RANGE && ix_mentioned(nt, it)) {
			moving->item[moving->n++] = it;
			Av *open = av_new(sp, AV_UNSET);
			fixed[i] = av_seq(sp, AV_RANGE, 3, (Av *[]){open, open, av_int(sp, 1)});
			continue;
		}
		if (ix_mentioned(nt, it)) return false;
		Av **one;
		Span *one_span;
		Ast probe = *e;
		probe.index.n = 1;
		probe.index.items = (Ast **)&e->index.items[i];
		sp_index_items(sp, &probe, *base, &one, &one_span);
		if (one[0]->kind == AV_ARRAY && ty(sp, one[0]->ref)->rank) return false;
		fixed[i] = one[0];
		any_fixed = true;
	}
	/* The axes of the moving items, after fixed scalars removed theirs. */
	int axis = 0;
	uint32_t m = 0;
	for (uint32_t i = 0; i < e->index.n; i++) {
		const Ast *it = e->index.items[i];
		if (m < moving->n && it == moving->item[m]) moving->axis[m++] = axis++;
		else if (fixed[i]->kind == AV_RANGE) axis++;
	}
	if (any_fixed) *base = sp_index_values(sp, *base, e->index.n, fixed, spans, e->span);
	if (e->index.n > ty(sp, (*base)->ref)->rank && !any_fixed)
		sp_fail(sp, E_RANK, e->span, "%u indices for %s", e->index.n, sp_type_text(sp, *base));
	return true;
}

/* The start of the slice that an index with an offset takes of an axis. Returns
 * false when the offset is not static. Records a range that covers only part of
 * the axis. */
static bool slice_start(Sp *sp, const Ast *item, Ix *ix, const Ast *offset, bool negative,
                        Dim extent, Dim *start) {
	Dim shift = dim_const(sp->c, 0);
	if (offset) {
		int64_t c;
		Av *o = sp_expr(sp, offset);
		if (!av_static_int(sp, o, &c)) return false;
		shift = dim_const(sp->c, negative ? -c : c);
	}
	*start = dim_add(sp->c, ix->start, shift);
	int64_t lo, len, count;
	if (dim_is_const(sp->c, *start, &lo) && dim_is_const(sp->c, ix->length, &count) &&
	    dim_is_const(sp->c, extent, &len) && count > 0) {
		int64_t hi = lo + (count - 1) * ix->step, bad = lo < 0 || lo >= len ? lo : hi;
		if (bad < 0 || bad >= len) runs_outside(sp, ix, bad, len, item->span);
	}
	ix->shifted = ix->shifted || offset;
	const Dim rest = dim_sub(sp->c, extent, ix->length);
	if (ix->shares && dim_is_const(sp->c, rest, &len) && len > 0) {
		ix->part = item->span;
		ix->whole = extent;
	}
	return true;
}

/* x at distinct plain indices, each with a static offset: a slice with the
 * indexed axes first. Returns false for any other items. */
static bool slice_at_indices(Notation *nt, Ref x, const MovingItems *moving, Lv *out) {
	Sp *sp = nt->sp;
	const Type t = *ty(sp, x);
	Dim start[MAX_RANK], length[MAX_RANK];
	int64_t stride[MAX_RANK];
	for (uint32_t i = 0; i < t.rank; i++) {
		start[i] = dim_const(sp->c, 0);
		length[i] = t.dims[i];
		stride[i] = 1;
	}
	*out = (Lv){.n = moving->n};
	for (uint32_t i = 0; i < moving->n; i++) {
		const Ast *offset;
		bool negative;
		const Ix *ix = ix_affine(nt, moving->item[i], &offset, &negative);
		const int axis = moving->axis[i];
		if (!ix || !ix->affine) return false;
		for (uint32_t k = 0; k < i; k++)
			if (out->label[k] == ix) return false;
		if (!slice_start(sp, moving->item[i], (Ix *)ix, offset, negative, t.dims[axis],
		                 &start[axis]))
			return false;
		length[axis] = ix->length;
		stride[axis] = ix->step;
		out->label[i] = ix;
	}
	Ref r = build_slice(sp->b, x, start, length, stride);
	int perm[MAX_RANK];
	uint32_t k = 0;
	for (uint32_t i = 0; i < moving->n; i++) perm[k++] = moving->axis[i];
	for (int i = 0; i < (int)t.rank; i++) {
		bool used = false;
		for (uint32_t q = 0; q < moving->n; q++) used |= moving->axis[q] == i;
		if (!used) perm[k++] = i;
	}
	out->ref = build_transpose(sp->b, r, perm);
	return true;
}

/* The array at computed indices: a gather at paired positions. */
static Lv gather_at_indices(Notation *nt, const Ast *e, Av *base, const MovingItems *moving) {
	Sp *sp = nt->sp;
	const Type t = *ty(sp, base->ref);
	Lv iv[MAX_RANK];
	for (uint32_t i = 0; i < moving->n; i++) {
		iv[i] = lv_expr(nt, moving->item[i]);
		if (ty(sp, iv[i].ref)->rank != iv[i].n || !dtype_is_int((Dtype)ty(sp, iv[i].ref)->dtype))
			sp_fail(sp, E_TYPE, moving->item[i]->span, "an index is an integer, not %s",
			        sp_type_text(sp, av_array(sp, iv[i].ref)));
	}
	const Ix *labels[MAX_INDICES];
	uint32_t nl = lv_union_labels(iv, moving->n, labels);
	Av *items[MAX_RANK];
	Span spans[MAX_RANK];
	for (uint32_t i = 0; i < t.rank; i++) {
		Av *open = av_new(sp, AV_UNSET);
		items[i] = av_seq(sp, AV_RANGE, 3, (Av *[]){open, open, av_int(sp, 1)});
		spans[i] = e->span;
	}
	for (uint32_t i = 0; i < moving->n; i++)
		items[moving->axis[i]] = av_array(sp, lv_spread(sp, &iv[i], nl, labels, 0));
	Av *r = sp_index_values(sp, base, t.rank, items, spans, e->span);
	Type tr = *ty(sp, r->ref);
	int perm[MAX_RANK];
	uint32_t k = 0, first = (uint32_t)moving->axis[0];
	for (uint32_t i = 0; i < nl; i++) perm[k++] = (int)(first + i);
	for (uint32_t i = 0; i < tr.rank; i++)
		if (i < first || i >= first + nl) perm[k++] = (int)i;
	Lv out = {.ref = build_transpose(sp->b, r->ref, perm), .n = nl};
	for (uint32_t i = 0; i < nl; i++) out.label[i] = labels[i];
	return out;
}

static Lv lv_index(Notation *nt, const Ast *e) {
	Sp *sp = nt->sp;
	if (ix_mentioned(nt, e->index.base)) return batched(nt, e);
	Av *base = sp_expr(sp, e->index.base);
	if (base->kind != AV_ARRAY) return batched(nt, e);
	MovingItems moving = {0};
	if (!apply_fixed_items(nt, e, &base, &moving)) return batched(nt, e);
	Lv sliced;
	if (slice_at_indices(nt, base->ref, &moving, &sliced)) return sliced;
	return gather_at_indices(nt, e, base, &moving);
}

/* ---- expressions --------------------------------------------------------- */

static bool reduction_op(const char *name, Op *op) {
	static const struct {
		const char *name;
		Op op;
	} table[] = {{"sum", OP_REDUCE_SUM}, {"prod", OP_REDUCE_PROD}, {"max", OP_REDUCE_MAX},
	             {"min", OP_REDUCE_MIN}, {"any", OP_REDUCE_MAX},   {"all", OP_REDUCE_MIN}};
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
		if (!strcmp(name, table[i].name)) {
			*op = table[i].op;
			return true;
		}
	return false;
}

/* True when an outer index determines the range of one of these. */
static bool ranges_move(const Notation *nt, const Ast *gen) {
	for (uint32_t k = 0; k < gen->comprehension.n; k++)
		if (gen->comprehension.clauses[k].range &&
		    ix_mentioned(nt, gen->comprehension.clauses[k].range))
			return true;
	return false;
}

Lv lv_expr(Notation *nt, const Ast *e) {
	Sp *sp = nt->sp;
	sp_at(sp, e->span);
	if (!ix_mentioned(nt, e)) {
		const Effects before = effects_now(sp);
		Av *v = sp_expr(sp, e);
		if (take_back_draws(sp, before)) return batched_over(nt, e, true);
		return plain(sp, sp_want_array(sp, v, e->span, "index notation"));
	}
	switch ((AstKind)e->kind) {
	case A_NAME: return index_values(sp, ix_find(nt, e->name.name));
	case A_UNARY: {
		Lv v = lv_expr(nt, e->unary.operand);
		return lv_combine(nt, (AstOp)e->op, OP_NONE, 1, &v, e->span);
	}
	case A_BINARY: {
		if (e->op == AO_MATMUL || e->op == AO_DOT || e->op == AO_CROSS || e->op == AO_COMPOSE ||
		    e->op == AO_PIPE)
			return batched(nt, e);
		Lv v[2] = {lv_expr(nt, e->binary.left), lv_expr(nt, e->binary.right)};
		return lv_combine(nt, (AstOp)e->op, OP_NONE, 2, v, e->span);
	}
	case A_COMPARE: {
		Lv result = {0}, left = lv_expr(nt, e->compare.operands[0]);
		for (uint32_t i = 0; i + 1 < e->compare.n; i++) {
			Lv right = lv_expr(nt, e->compare.operands[i + 1]), v[2] = {left, right};
			Lv one = lv_combine(nt, (AstOp)e->compare.ops[i], OP_NONE, 2, v, e->span);
			if (i) {
				Lv both[2] = {result, one};
				result = lv_combine(nt, AO_NONE, OP_MIN, 2, both, e->span);
			} else result = one;
			left = right;
		}
		return result;
	}
	case A_INDEX: return lv_index(nt, e);
	case A_CALL: {
		if (e->call.callee->kind != A_NAME || env_find(sp->env, e->call.callee->name.name))
			return batched(nt, e);
		const char *name = atom_text(sp->c, e->call.callee->name.name);
		Op op;
		if (e->call.n == 1 && e->call.args[0].value->kind == A_COMPREHENSION &&
		    e->call.args[0].value->generator && reduction_op(name, &op))
			return ranges_move(nt, e->call.args[0].value)
			           ? batched(nt, e)
			           : lv_reduce(nt, e, op, e->call.args[0].value);
		const Builtin *b = builtin_find(name);
		if (!b || !prims[b->op].elementwise || e->call.n != (uint32_t)prims[b->op].nargs ||
		    session_lookup(sp->session, sp->module, e->call.callee->name.name).kind != V_UNSET)
			return batched(nt, e);
		Lv v[2];
		for (uint32_t i = 0; i < e->call.n; i++) {
			if (e->call.args[i].name || e->call.args[i].spread) return batched(nt, e);
			v[i] = lv_expr(nt, e->call.args[i].value);
		}
		return lv_combine(nt, AO_NONE, b->op, e->call.n, v, e->span);
	}
	default: return batched(nt, e);
	}
}

/* ---- entries ------------------------------------------------------------- */

/* Orders the axes as the indices were written, and adds the missing ones. */
static Av *in_order(Sp *sp, Lv v, uint32_t n, const Ix *const *order) {
	return av_array(sp, lv_spread(sp, &v, n, order, ty(sp, v.ref)->rank - v.n));
}

static Av *unrolled_comprehension(Sp *sp, const Ast *e, Av *over) {
	uint32_t n;
	Av **items;
	sp_static_items(sp, over, &n, &items);
	VEC_AVS out = {0};
	for (uint32_t i = 0; i < n; i++) {
		Env *saved = sp->env;
		sp->env = env_new(sp, saved);
		sp_assign(sp, e->comprehension.clauses[0].names[0], items[i], e->span);
		bool keep =
			!e->comprehension.filter ||
			sp_want_bool(sp, sp_expr(sp, e->comprehension.filter), e->comprehension.filter->span,
		                 "the condition of a comprehension over a list");
		if (keep) {
			Av *v = sp_expr(sp, e->comprehension.body);
			VEC_PUSH(sp->a, &out, v);
		}
		sp->env = saved;
	}
	bool stackable = out.n > 0;
	for (uint32_t i = 0; i < out.n; i++) {
		stackable &= out.at[i]->kind == AV_ARRAY;
		if (stackable && i) {
			const Type *a = ty(sp, out.at[0]->ref);
			Type ta = *a;
			const Type *b = ty(sp, out.at[i]->ref);
			stackable = ta.rank == b->rank;
			for (uint32_t k = 0; stackable && k < ta.rank; k++)
				stackable = build_canon(sp->b, ta.dims[k]) == build_canon(sp->b, b->dims[k]);
		}
	}
	return stackable ? sp_stack(sp, out.n, out.at, e->span) : av_seq(sp, AV_LIST, out.n, out.at);
}

Av *sp_comprehension(Sp *sp, const Ast *e) {
	Notation nt = {.sp = sp, .e = e};
	if (e->comprehension.n == 1 && e->comprehension.clauses[0].n == 1 &&
	    e->comprehension.clauses[0].range) {
		Av *over = sp_expr(sp, e->comprehension.clauses[0].range);
		bool matrix = over->kind == AV_ARRAY && ty(sp, over->ref)->rank > 1;
		if (over->kind == AV_TUPLE || over->kind == AV_LIST)
			return unrolled_comprehension(sp, e, over);
		if (matrix || e->comprehension.clauses[0].names[0]->kind != A_NAME)
			sp_fail(sp, E_TYPE, e->comprehension.clauses[0].range->span,
			        "a comprehension runs over ranges, vectors, tuples and lists; `map` runs over "
			        "the rows of %s",
			        sp_type_text(sp, over));
	}
	IndexScope s = {0};
	ix_open_clauses(&nt, &s, e->comprehension.n, e->comprehension.clauses, e->comprehension.body);
	const Ix *order[MAX_INDICES];
	for (uint32_t i = 0; i < s.n; i++) order[i] = &s.ix[i];
	Av *r = in_order(sp, lv_expr(&nt, e->comprehension.body), s.n, order);
	ix_warn_of_parts(sp, &s);
	if (!e->comprehension.filter) return r;
	if (s.n != 1)
		sp_fail(sp, E_SYNTAX, e->comprehension.filter->span, "a filter goes with one index");
	Av *mask = in_order(sp, lv_expr(&nt, e->comprehension.filter), s.n, order);
	Span span = e->comprehension.filter->span;
	sp_want_condition(sp, mask->ref, span);
	return sp_index_values(sp, r, 1, &mask, &span, e->span);
}

/* An unknown name used as an index on the right is most likely a forgotten sum,
 * and the message says so. */
struct free_check {
	Sp *sp;
	VEC_ATOMS bound;
};

static void free_visit(void *ud, const Ast *e) {
	struct free_check *f = ud;
	Sp *sp = f->sp;
	uint32_t mark = f->bound.n;
	if (e->kind == A_COMPREHENSION)
		for (uint32_t k = 0; k < e->comprehension.n; k++)
			for (uint32_t i = 0; i < e->comprehension.clauses[k].n; i++)
				if (e->comprehension.clauses[k].names[i]->kind == A_NAME)
					VEC_PUSH(sp->a, &f->bound, e->comprehension.clauses[k].names[i]->name.name);
	if (e->kind == A_INDEX)
		for (uint32_t i = 0; i < e->index.n; i++) {
			const Ast *it = e->index.items[i];
			if (it->kind != A_NAME) continue;
			bool bound = false;
			for (uint32_t k = 0; k < f->bound.n; k++) bound |= f->bound.at[k] == it->name.name;
			if (bound || sp_try_lookup(sp, it->name.name)) continue;
			const char *name = atom_text(sp->c, it->name.name);
			Diag *d = diag_error(sp->c, E_INDEX_FREE, it->span,
			                     "the index `%s` stands on the right only", name);
			diag_hint(sp->c, d, "write sum(... for %s)", name);
			sp_throw(sp);
		}
	ast_children(e, free_visit, f);
	f->bound.n = mark;
}

static void sp_check_free_indices(Sp *sp, const Ast *def) {
	struct free_check f = {.sp = sp};
	for (uint32_t i = 0; i < def->index_def.nindices; i++)
		VEC_PUSH(sp->a, &f.bound, def->index_def.indices[i]->name.name);
	free_visit(&f, def->index_def.value);
}

Av *sp_index_def(Sp *sp, const Ast *e) {
	Notation nt = {.sp = sp, .e = e};
	IndexScope s = {0};
	if (e->index_def.nindices > MAX_INDICES)
		sp_fail(sp, E_RANK, e->span, "more than %d indices", MAX_INDICES);
	for (uint32_t i = 0; i < e->index_def.nindices; i++) {
		const Ast *ix = e->index_def.indices[i];
		if (ix->kind != A_NAME)
			sp_fail(sp, E_TARGET, ix->span, "the left side of := takes plain index names");
		for (uint32_t k = 0; k < i; k++)
			if (s.ix[k].name == ix->name.name)
				sp_fail(sp, E_DUPLICATE, ix->span, "the index `%s` stands twice on the left",
				        atom_text(sp->c, ix->name.name));
		s.ix[s.n++] = (Ix){.name = ix->name.name, .span = ix->span};
	}
	nt.scope = &s;
	for (uint32_t k = 0; k < e->index_def.nclauses; k++)
		for (uint32_t i = 0; i < e->index_def.clauses[k].n; i++) {
			const Ast *name = e->index_def.clauses[k].names[i];
			Ix *ix = name->kind == A_NAME ? (Ix *)ix_find(&nt, name->name.name) : NULL;
			if (!ix) {
				const char *text = name->kind == A_NAME ? atom_text(sp->c, name->name.name) : "it";
				Diag *d = diag_error(sp->c, E_INDEX_FREE, name->span,
				                     "the index `%s` does not stand on the left", text);
				diag_hint(sp->c, d, "write sum(... for %s) to add over it", text);
				sp_throw(sp);
			}
			if (e->index_def.clauses[k].range)
				ix_explicit_range(&nt, ix, e->index_def.clauses[k].range);
			const Ast *other =
				e->index_def.clauses[k].n > 1 ? e->index_def.clauses[k].names[i ? i - 1 : 1] : NULL;
			if (e->index_def.clauses[k].range && other && other->kind == A_NAME)
				ix->shares = other->name.name;
		}
	for (uint32_t i = 0; i < s.n; i++)
		if (!s.ix[i].known) ix_infer_range(&nt, &s.ix[i], e->index_def.value);
	sp_check_free_indices(sp, e);
	const Ix *order[MAX_INDICES];
	for (uint32_t i = 0; i < s.n; i++) order[i] = &s.ix[i];
	Av *r = in_order(sp, lv_expr(&nt, e->index_def.value), s.n, order);
	ix_warn_of_parts(sp, &s);
	return r;
}
