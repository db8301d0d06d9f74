/* index_notation.c - index notation: C[i, k] := sum(A[i, j]*B[j, k] for j),
 * comprehensions, reductions over generators.
 *
 * Needs: specialise/internal.h.
 *
 * Contract:
 * - An index becomes an axis.
 * - Arrays indexed by plain indices (plus a constant) become slices and
 *   transposes. Sums of products become contractions. Element-wise arithmetic
 *   uses the aligned axes.
 * - Everything else is a function of the indices, batched over them.
 */
#include "parser/specialise/internal.h"

#define MAX_INDICES 8

static const Type *ty(Sp *sp, Ref r) { return ref_ty(build_fn(sp->b), r); }

/* One index variable: either start + step*k for k in 0..length-1, or listed
 * values. */
typedef struct Ix {
	Atom name;
	Span span;
	Dim length;
	bool known;
	bool affine;
	Dim start;
	int64_t step;
	Ref values; /* i64 or any vector, when not affine */
	Av *inferred_from;
	const Ast *range; /* as written; NULL: inferred from use */
	Atom shares;      /* another index of the same clause, with the same range; 0: none */
	bool shifted;     /* used as i + 1 somewhere: the range is meant for interior points */
	/* A use where the range covers only part of an axis, and the extent of that
	 * axis. */
	Span part;
	Dim whole;
} Ix;

typedef struct IndexScope {
	struct IndexScope *outer;
	uint32_t n;
	Ix ix[MAX_INDICES];
} IndexScope;

/* A value with named leading axes. */
typedef struct Lv {
	Ref ref;
	uint32_t n; /* labels, in axis order */
	const Ix *label[MAX_INDICES];
	bool weak;
} Lv;

typedef struct Notation {
	Sp *sp;
	IndexScope *scope;
	const Ast *e;
} Notation;

static const Ix *find_ix(const Notation *nt, Atom name) {
	for (const IndexScope *s = nt->scope; s; s = s->outer)
		for (uint32_t i = 0; i < s->n; i++)
			if (s->ix[i].name == name) return &s->ix[i];
	return NULL;
}

static bool mentions_index(const Notation *nt, const Ast *e) {
	for (const IndexScope *s = nt->scope; s; s = s->outer)
		for (uint32_t i = 0; i < s->n; i++)
			if (ast_mentions(e, s->ix[i].name)) return true;
	return false;
}

/* Matches i, i + c, i - c, c + i. Returns the index; *offset is the constant's
 * expression (NULL: 0). */
static const Ix *affine_index(const Notation *nt, const Ast *e, const Ast **offset,
                              bool *negative) {
	*offset = NULL;
	*negative = false;
	if (e->kind == A_NAME) return find_ix(nt, e->name.name);
	if (e->kind != A_BINARY || (e->op != AO_ADD && e->op != AO_SUB)) return NULL;
	const Ast *l = e->binary.left, *r = e->binary.right;
	if (l->kind == A_NAME && find_ix(nt, l->name.name) && !mentions_index(nt, r)) {
		*offset = r;
		*negative = e->op == AO_SUB;
		return find_ix(nt, l->name.name);
	}
	if (e->op == AO_ADD && r->kind == A_NAME && find_ix(nt, r->name.name) &&
	    !mentions_index(nt, l)) {
		*offset = l;
		return find_ix(nt, r->name.name);
	}
	return NULL;
}

/* ---- ranges from use ----------------------------------------------------- */

/* Tests whether a name in `goal` refers to the same binding as around `from`,
 * not to a parameter or a name set in between. */
struct reach {
	Atom name;
	const Ast *goal;
	bool found;
};

static void reach_visit(void *ud, const Ast *e) {
	struct reach *r = ud;
	r->found |= e == r->goal;
	if (!r->found) ast_children_seeing(e, r->name, reach_visit, r);
}

struct outer {
	const Ast *from, *goal;
	bool all;
};

static void outer_visit(void *ud, const Ast *e) {
	struct outer *o = ud;
	if (e->kind == A_NAME) {
		struct reach r = {e->name.name, o->goal, false};
		reach_visit(&r, o->from);
		o->all &= r.found;
	}
	ast_children(e, outer_visit, ud);
}

/* True when every name in `array` has its binding outside `from`. The array can
 * then be evaluated there. */
static bool is_of_outside(const Ast *array, const Ast *from) {
	struct outer o = {from, array, true};
	outer_visit(&o, array);
	return o.all;
}

struct infer {
	Notation *nt;
	Ix *ix;
	const Ast *body;
	const Ast *offset_use;
};

static void infer_visit(void *ud, const Ast *e) {
	struct infer *in = ud;
	Notation *nt = in->nt;
	Sp *sp = nt->sp;
	if (e->kind == A_INDEX && ast_mentions(e, in->ix->name) && !mentions_index(nt, e->index.base) &&
	    is_of_outside(e->index.base, in->body)) {
		bool dots = false;
		for (uint32_t i = 0; i < e->index.n; i++) dots |= e->index.items[i]->kind == A_ELLIPSIS;
		for (uint32_t i = 0; i < e->index.n && !dots; i++) {
			const Ast *offset;
			bool negative;
			const Ix *ix = affine_index(nt, e->index.items[i], &offset, &negative);
			if (ix != in->ix) continue;
			if (offset) {
				in->offset_use = e->index.items[i];
				continue;
			}
			Av *base = sp_expr(sp, e->index.base);
			base = sp_want_array(sp, base, e->index.base->span, "index notation");
			Type t = *ty(sp, base->ref);
			if (i >= t.rank)
				sp_fail(sp, E_RANK, e->span, "%u indices for %s", e->index.n,
				        sp_type_text(sp, base));
			if (!in->ix->known) {
				in->ix->known = true;
				in->ix->affine = true;
				in->ix->start = dim_const(sp->c, 0);
				in->ix->step = 1;
				in->ix->length = build_canon(sp->b, t.dims[i]);
				in->ix->inferred_from = av_with_origin(sp, base, e->span);
			} else {
				Atom what = atom_f(sp->c, "the index `%s` runs over lengths that differ",
				                   atom_text(sp->c, ix->name));
				if (!build_unify(sp->b, in->ix->length, t.dims[i], what)) {
					Diag *d = diag_error(sp->c, E_SHAPE, e->span, "%s: this is axis %u of %s",
					                     atom_text(sp->c, what), i, sp_type_text(sp, base));
					if (in->ix->inferred_from)
						diag_second(sp->c, d, in->ix->inferred_from->origin, "here it indexes %s",
						            sp_type_text(sp, in->ix->inferred_from));
					sp_throw(sp);
				}
			}
		}
	}
	ast_children_seeing(e, in->ix->name, infer_visit, in);
}

static void infer_range(Notation *nt, Ix *ix, const Ast *body) {
	struct infer in = {nt, ix, body, NULL};
	infer_visit(&in, body);
	Sp *sp = nt->sp;
	const char *name = atom_text(sp->c, ix->name);
	if (!ix->known) {
		Diag *d = diag_error(sp->c, E_INDEX_FREE, ix->span,
		                     "nothing says how far the index `%s` runs", name);
		diag_hint(sp->c, d, "write `for %s in a..b`", name);
		sp_throw(sp);
	}
	if (in.offset_use) {
		Diag *d = diag_error(sp->c, E_INDEX_FREE, in.offset_use->span,
		                     "with a shifted index the range of `%s` must be said", name);
		diag_hint(sp->c, d, "write `for %s in a..b`", name);
		sp_throw(sp);
	}
}

/* Rejects a range that depends on another index of the same clauses, which has
 * no value yet. An outer variable of the same name is not meant. */
static void want_independent(const Notation *nt, const Ix *ix, const Ast *range) {
	Sp *sp = nt->sp;
	for (uint32_t i = 0; i < nt->scope->n; i++) {
		const Ix *other = &nt->scope->ix[i];
		if (other->range == range || other == ix || !ast_mentions(range, other->name)) continue;
		const char *name = atom_text(sp->c, ix->name), *by = atom_text(sp->c, other->name);
		Diag *d = diag_error(sp->c, E_INDEX_FREE, range->span,
		                     "the range of `%s` depends on the index `%s`, which stands beside it",
		                     name, by);
		diag_hint(sp->c, d,
		          "of a sum within a sum it may: sum(sum(... for %s in a..b) for %s in a..b)", name,
		          by);
		sp_throw(sp);
	}
}

static void explicit_range(Notation *nt, Ix *ix, const Ast *range) {
	Sp *sp = nt->sp;
	ix->range = range;
	want_independent(nt, ix, range);
	Av *r = sp_expr(sp, range);
	ix->known = true;
	if (r->kind == AV_RANGE) {
		int64_t step;
		if (!av_static_int(sp, r->items[2], &step))
			step = sp_want_int(sp, r->items[2], range->span, "the step of a range");
		if (step == 0) sp_fail(sp, E_VALUE, range->span, "a range needs a step other than 0");
		Dim lo = build_canon(sp->b, build_dim_of(sp->b, r->items[0]->ref, 0)),
			hi = build_canon(sp->b, build_dim_of(sp->b, r->items[1]->ref, 0));
		Dim span = step > 0 ? dim_sub(sp->c, hi, lo) : dim_sub(sp->c, lo, hi);
		int64_t a = step > 0 ? step : -step, v;
		ix->affine = true;
		ix->start = lo;
		ix->step = step;
		if (dim_is_const(sp->c, span, &v) && v <= 0) ix->length = dim_const(sp->c, 0);
		else
			ix->length =
				a == 1 ? span
					   : dim_floordiv(sp->c, dim_add(sp->c, span, dim_const(sp->c, a - 1)), a);
		return;
	}
	r = sp_want_array(sp, r, range->span, "an index's range");
	if (ty(sp, r->ref)->rank != 1)
		sp_fail(sp, E_RANK, range->span, "an index runs over a range or a vector, not %s",
		        sp_type_text(sp, r));
	ix->values = r->ref;
	ix->length = ty(sp, r->ref)->dims[0];
}

/* Warns, at most once, of an index that provably omits elements of an axis only
 * because it shares the range of another index. */
static void warn_of_parts(Sp *sp, const IndexScope *s) {
	for (uint32_t i = 0; i < s->n; i++) {
		const Ix *ix = &s->ix[i];
		if (!ix->shares || ix->shifted || !ix->part.source) continue;
		const char *name = atom_text(sp->c, ix->name), *other = atom_text(sp->c, ix->shares);
		char whole[64];
		dim_print(sp->c, ix->whole, sym_words, &(SymWords){.fn = build_fn(sp->b)}, whole,
		          sizeof whole);
		Diag *d = diag_warning(
			sp->c, W_INDEX_RANGE, ix->part,
			"`%s` shares its range with `%s`, and covers a part of this axis of length %s", name,
			other, whole);
		diag_second(sp->c, d, ix->range->span, "`%s` and `%s` both run over this", name, other);
		diag_hint(sp->c, d,
		          "`for %s for %s in a..b` leaves `%s` to its axis; `for %s in a..b for %s in "
		          "a..b` says that the part is meant",
		          name, other, name, name, other);
		return;
	}
}

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

/* ---- labelled values ----------------------------------------------------- */

static Lv plain(Sp *sp, Av *v) {
	(void)sp;
	return (Lv){.ref = v->ref, .weak = v->weak};
}

static int label_place(const Lv *v, const Ix *ix) {
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

/* Broadcasts v to the labels `to` (a superset, in that order). Keeps its inner
 * axes and extends them to at least `inner`. */
static Ref spread(Sp *sp, const Lv *v, uint32_t n, const Ix *const *to, uint32_t inner) {
	Type t = *ty(sp, v->ref);
	uint32_t own_inner = t.rank - v->n;
	/* Permutes the labels into the order of `to`. */
	int perm[MAX_RANK], axes[MAX_RANK];
	uint32_t k = 0;
	for (uint32_t i = 0; i < n; i++) {
		int p = label_place(v, to[i]);
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

static uint32_t union_labels(const Lv *v, uint32_t nv, const Ix **out) {
	uint32_t n = 0;
	for (uint32_t k = 0; k < nv; k++)
		for (uint32_t i = 0; i < v[k].n; i++) {
			bool seen = false;
			for (uint32_t m = 0; m < n; m++) seen |= out[m] == v[k].label[i];
			if (!seen && n < MAX_INDICES) out[n++] = v[k].label[i];
		}
	return n;
}

/* Applies op to aligned operands. */
static Lv combine(Notation *nt, AstOp op, Op prim, uint32_t n, Lv *v, Span at) {
	Sp *sp = nt->sp;
	const Ix *labels[MAX_INDICES];
	uint32_t nl = union_labels(v, n, labels), inner = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t own = ty(sp, v[i].ref)->rank - v[i].n;
		if (own > inner) inner = own;
	}
	Av *a[2];
	for (uint32_t i = 0; i < n; i++) {
		a[i] = av_array(sp, v[i].n == nl && nl == 0 ? v[i].ref
		                    : n == 1                ? v[i].ref
		                                            : spread(sp, &v[i], nl, labels, inner));
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

static Lv lv_expr(Notation *nt, const Ast *e);

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

static Lv lv_index(Notation *nt, const Ast *e) {
	Sp *sp = nt->sp;
	if (mentions_index(nt, e->index.base)) return batched(nt, e);
	Av *base = sp_expr(sp, e->index.base);
	if (base->kind != AV_ARRAY) return batched(nt, e);
	/* First the items that do not depend on the indices: scalars and slices. */
	Av *fixed[MAX_RANK];
	Span spans[MAX_RANK];
	const Ast *moving[MAX_RANK];
	uint32_t nmoving = 0;
	bool any_fixed = false;
	if (e->index.n > MAX_RANK) sp_fail(sp, E_RANK, e->span, "too many indices");
	for (uint32_t i = 0; i < e->index.n; i++) {
		const Ast *it = e->index.items[i];
		spans[i] = it->span;
		if (it->kind == A_ELLIPSIS) return batched(nt, e);
		if (it->kind != A_RANGE && mentions_index(nt, it)) {
			moving[nmoving++] = it;
			Av *open = av_new(sp, AV_UNSET);
			fixed[i] = av_seq(sp, AV_RANGE, 3, (Av *[]){open, open, av_int(sp, 1)});
			continue;
		}
		if (mentions_index(nt, it)) return batched(nt, e);
		Av **one;
		Span *one_span;
		Ast probe = *e;
		probe.index.n = 1;
		probe.index.items = (Ast **)&e->index.items[i];
		sp_index_items(sp, &probe, base, &one, &one_span);
		if (one[0]->kind == AV_ARRAY && ty(sp, one[0]->ref)->rank) return batched(nt, e);
		fixed[i] = one[0];
		any_fixed = true;
	}
	/* The axes of the moving items, after fixed scalars removed theirs. */
	int axis_of[MAX_RANK];
	int axis = 0;
	uint32_t m = 0;
	for (uint32_t i = 0; i < e->index.n; i++) {
		const Ast *it = e->index.items[i];
		if (m < nmoving && it == moving[m]) axis_of[m++] = axis++;
		else if (fixed[i]->kind == AV_RANGE) axis++;
	}
	if (any_fixed) base = sp_index_values(sp, base, e->index.n, fixed, spans, e->span);
	Type t = *ty(sp, base->ref);
	if (e->index.n > t.rank && !any_fixed)
		sp_fail(sp, E_RANK, e->span, "%u indices for %s", e->index.n, sp_type_text(sp, base));
	/* Plain indices: slices. */
	const Ix *ix[MAX_RANK];
	Dim start[MAX_RANK], length[MAX_RANK];
	int64_t stride[MAX_RANK];
	bool simple = true;
	for (uint32_t i = 0; i < t.rank; i++) {
		start[i] = dim_const(sp->c, 0);
		length[i] = t.dims[i];
		stride[i] = 1;
	}
	for (uint32_t i = 0; i < nmoving && simple; i++) {
		const Ast *offset;
		bool negative;
		ix[i] = affine_index(nt, moving[i], &offset, &negative);
		simple = ix[i] && ix[i]->affine;
		for (uint32_t k = 0; simple && k < i; k++) simple = ix[k] != ix[i];
		if (!simple) break;
		Dim shift = dim_const(sp->c, 0);
		if (offset) {
			int64_t c;
			Av *o = sp_expr(sp, offset);
			if (!av_static_int(sp, o, &c)) {
				simple = false;
				break;
			}
			shift = dim_const(sp->c, negative ? -c : c);
		}
		start[axis_of[i]] = dim_add(sp->c, ix[i]->start, shift);
		length[axis_of[i]] = ix[i]->length;
		stride[axis_of[i]] = ix[i]->step;
		int64_t lo, len, count;
		if (dim_is_const(sp->c, start[axis_of[i]], &lo) &&
		    dim_is_const(sp->c, ix[i]->length, &count) &&
		    dim_is_const(sp->c, t.dims[axis_of[i]], &len) && count > 0) {
			int64_t hi = lo + (count - 1) * ix[i]->step, bad = lo < 0 || lo >= len ? lo : hi;
			if (bad < 0 || bad >= len) runs_outside(sp, ix[i], bad, len, moving[i]->span);
		}
		Ix *own = (Ix *)ix[i];
		own->shifted = own->shifted || offset;
		const Dim rest = dim_sub(sp->c, t.dims[axis_of[i]], ix[i]->length);
		if (ix[i]->shares && dim_is_const(sp->c, rest, &len) && len > 0) {
			own->part = moving[i]->span;
			own->whole = t.dims[axis_of[i]];
		}
	}
	if (simple) {
		Ref r = build_slice(sp->b, base->ref, start, length, stride);
		int perm[MAX_RANK];
		uint32_t k = 0;
		for (uint32_t i = 0; i < nmoving; i++) perm[k++] = axis_of[i];
		for (int i = 0; i < (int)t.rank; i++) {
			bool used = false;
			for (uint32_t q = 0; q < nmoving; q++) used |= axis_of[q] == i;
			if (!used) perm[k++] = i;
		}
		Lv out = {.ref = build_transpose(sp->b, r, perm), .n = nmoving};
		for (uint32_t i = 0; i < nmoving; i++) out.label[i] = ix[i];
		return out;
	}
	/* Computed indices: gather at paired positions. */
	Lv iv[MAX_RANK];
	for (uint32_t i = 0; i < nmoving; i++) {
		iv[i] = lv_expr(nt, moving[i]);
		if (ty(sp, iv[i].ref)->rank != iv[i].n || !dtype_is_int((Dtype)ty(sp, iv[i].ref)->dtype))
			sp_fail(sp, E_TYPE, moving[i]->span, "an index is an integer, not %s",
			        sp_type_text(sp, av_array(sp, iv[i].ref)));
	}
	const Ix *labels[MAX_INDICES];
	uint32_t nl = union_labels(iv, nmoving, labels);
	Av *items[MAX_RANK];
	for (uint32_t i = 0; i < t.rank; i++) {
		Av *open = av_new(sp, AV_UNSET);
		items[i] = av_seq(sp, AV_RANGE, 3, (Av *[]){open, open, av_int(sp, 1)});
		spans[i] = e->span;
	}
	for (uint32_t i = 0; i < nmoving; i++)
		items[axis_of[i]] = av_array(sp, spread(sp, &iv[i], nl, labels, 0));
	Av *r = sp_index_values(sp, base, t.rank, items, spans, e->span);
	Type tr = *ty(sp, r->ref);
	int perm[MAX_RANK];
	uint32_t k = 0, first = (uint32_t)axis_of[0];
	for (uint32_t i = 0; i < nl; i++) perm[k++] = (int)(first + i);
	for (uint32_t i = 0; i < tr.rank; i++)
		if (i < first || i >= first + nl) perm[k++] = (int)i;
	Lv out = {.ref = build_transpose(sp->b, r->ref, perm), .n = nl};
	for (uint32_t i = 0; i < nl; i++) out.label[i] = labels[i];
	return out;
}

/* ---- reductions ---------------------------------------------------------- */

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
		if (label_place(&y, x.label[i]) < 0) out[n++] = x.label[i];
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
		const bool in_x = label_place(&x, sum[i]) >= 0, in_y = label_place(&y, sum[i]) >= 0;
		shared |= in_x && in_y;
		alone |= in_x != in_y;
	}
	bool scalar_parts = ty(sp, x.ref)->rank == x.n && ty(sp, y.ref)->rank == y.n;
	if (!shared || alone || !scalar_parts) {
		Lv v[2] = {x, y};
		return reduce_labels(sp, OP_REDUCE_SUM, combine(nt, AO_MUL, OP_NONE, 2, v, at), nsum, sum);
	}
	Av *ax = operand(sp, x), *ay = operand(sp, y);
	int xc[MAX_RANK], yc[MAX_RANK], xb[MAX_RANK], yb[MAX_RANK];
	uint32_t nc = 0, nb = 0;
	Lv out = {0};
	for (uint32_t i = 0; i < x.n; i++) {
		int p = label_place(&y, x.label[i]);
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
		if (label_place(&y, x.label[i]) < 0) out.label[out.n++] = x.label[i];
	for (uint32_t i = 0; i < y.n; i++)
		if (label_place(&x, y.label[i]) < 0) out.label[out.n++] = y.label[i];
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

static void open_clauses(Notation *nt, IndexScope *s, uint32_t nclauses, const ForClause *clauses,
                         const Ast *body) {
	Sp *sp = nt->sp;
	uint32_t first[MAX_INDICES];
	for (uint32_t k = 0; k < nclauses; k++) {
		for (uint32_t i = 0; i < clauses[k].n; i++) {
			if (s->n == MAX_INDICES)
				sp_fail(sp, E_RANK, clauses[k].names[i]->span, "more than %d indices", MAX_INDICES);
			if (clauses[k].names[i]->kind != A_NAME)
				sp_fail(sp, E_SYNTAX, clauses[k].names[i]->span, "an index is a single name here");
			first[s->n] = k;
			Ix made = {.name = clauses[k].names[i]->name.name, .span = clauses[k].names[i]->span};
			const Ast *other = clauses[k].n > 1 ? clauses[k].names[i ? i - 1 : 1] : NULL;
			if (clauses[k].range && other && other->kind == A_NAME) made.shares = other->name.name;
			made.range = clauses[k].range;
			s->ix[s->n++] = made;
		}
	}
	nt->scope = s;
	for (uint32_t i = 0; i < s->n; i++) {
		if (clauses[first[i]].range) explicit_range(nt, &s->ix[i], clauses[first[i]].range);
		else infer_range(nt, &s->ix[i], body);
	}
}

static void want_condition(Sp *sp, Ref r, Span at) {
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

static Lv lv_reduce(Notation *nt, const Ast *call, Op op, const Ast *gen) {
	Sp *sp = nt->sp;
	IndexScope s = {.outer = nt->scope};
	Notation inner = *nt;
	open_clauses(&inner, &s, gen->comprehension.n, gen->comprehension.clauses,
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
			for (uint32_t k = 0; k < s.n; k++) summed[k] |= label_place(&f[i], sum[k]) >= 0;
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
					later |= label_place(&f[m], sum[k]) >= 0;
				if (!later) now[n++] = sum[k];
			}
			v = contract(&inner, v, f[i], n, now, body->span);
		}
	} else v = lv_expr(&inner, body);
	want_conditions(sp, call, v.ref, body->span);
	if (gen->comprehension.filter) {
		Lv c = lv_expr(&inner, gen->comprehension.filter);
		want_condition(sp, c.ref, gen->comprehension.filter->span);
		if (ty(sp, c.ref)->rank != c.n)
			sp_fail(sp, E_TYPE, gen->comprehension.filter->span,
			        "one condition for each index is wanted here, not an array of them");
		Lv both[2] = {v, c};
		const Ix *labels[MAX_INDICES];
		uint32_t nl = union_labels(both, 2, labels), inner_rank = ty(sp, v.ref)->rank - v.n;
		Ref x = spread(sp, &v, nl, labels, inner_rank), m = spread(sp, &c, nl, labels, inner_rank);
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
		if (label_place(&v, sum[i]) < 0 && !summed[i]) {
			nm++;
			all[nall++] = sum[i];
		}
	if (nm) {
		Lv w = {
			.ref = spread(sp, &v, nall, all, ty(sp, v.ref)->rank - v.n), .n = nall, .weak = v.weak};
		for (uint32_t i = 0; i < nall; i++) w.label[i] = all[i];
		v = w;
	}
	if ((op == OP_REDUCE_MAX || op == OP_REDUCE_MIN) &&
	    dtype_is_complex((Dtype)ty(sp, v.ref)->dtype))
		sp_fail(sp, E_DTYPE, body->span, "complex numbers have no order");
	if ((op == OP_REDUCE_SUM || op == OP_REDUCE_PROD) && ty(sp, v.ref)->dtype == DT_BOOL)
		v.ref = build_convert(sp->b, v.ref, DT_I64);
	warn_of_parts(sp, &s);
	sp_at(sp, call->span);
	return reduce_labels(sp, op, v, s.n, sum);
}

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
		    mentions_index(nt, gen->comprehension.clauses[k].range))
			return true;
	return false;
}

static Lv lv_expr(Notation *nt, const Ast *e) {
	Sp *sp = nt->sp;
	sp_at(sp, e->span);
	if (!mentions_index(nt, e)) {
		const Effects before = effects_now(sp);
		Av *v = sp_expr(sp, e);
		if (take_back_draws(sp, before)) return batched_over(nt, e, true);
		return plain(sp, sp_want_array(sp, v, e->span, "index notation"));
	}
	switch ((AstKind)e->kind) {
	case A_NAME: return index_values(sp, find_ix(nt, e->name.name));
	case A_UNARY: {
		Lv v = lv_expr(nt, e->unary.operand);
		return combine(nt, (AstOp)e->op, OP_NONE, 1, &v, e->span);
	}
	case A_BINARY: {
		if (e->op == AO_MATMUL || e->op == AO_DOT || e->op == AO_CROSS || e->op == AO_COMPOSE ||
		    e->op == AO_PIPE)
			return batched(nt, e);
		Lv v[2] = {lv_expr(nt, e->binary.left), lv_expr(nt, e->binary.right)};
		return combine(nt, (AstOp)e->op, OP_NONE, 2, v, e->span);
	}
	case A_COMPARE: {
		Lv result = {0}, left = lv_expr(nt, e->compare.operands[0]);
		for (uint32_t i = 0; i + 1 < e->compare.n; i++) {
			Lv right = lv_expr(nt, e->compare.operands[i + 1]), v[2] = {left, right};
			Lv one = combine(nt, (AstOp)e->compare.ops[i], OP_NONE, 2, v, e->span);
			if (i) {
				Lv both[2] = {result, one};
				result = combine(nt, AO_NONE, OP_MIN, 2, both, e->span);
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
		return combine(nt, AO_NONE, b->op, e->call.n, v, e->span);
	}
	default: return batched(nt, e);
	}
}

/* ---- entries ------------------------------------------------------------- */

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

/* Orders the axes as the indices were written, and adds the missing ones. */
static Av *in_order(Sp *sp, Lv v, uint32_t n, const Ix *const *order) {
	return av_array(sp, spread(sp, &v, n, order, ty(sp, v.ref)->rank - v.n));
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
	open_clauses(&nt, &s, e->comprehension.n, e->comprehension.clauses, e->comprehension.body);
	const Ix *order[MAX_INDICES];
	for (uint32_t i = 0; i < s.n; i++) order[i] = &s.ix[i];
	Av *r = in_order(sp, lv_expr(&nt, e->comprehension.body), s.n, order);
	warn_of_parts(sp, &s);
	if (!e->comprehension.filter) return r;
	if (s.n != 1)
		sp_fail(sp, E_SYNTAX, e->comprehension.filter->span, "a filter goes with one index");
	Av *mask = in_order(sp, lv_expr(&nt, e->comprehension.filter), s.n, order);
	Span span = e->comprehension.filter->span;
	want_condition(sp, mask->ref, span);
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
			Ix *ix = name->kind == A_NAME ? (Ix *)find_ix(&nt, name->name.name) : NULL;
			if (!ix) {
				const char *text = name->kind == A_NAME ? atom_text(sp->c, name->name.name) : "it";
				Diag *d = diag_error(sp->c, E_INDEX_FREE, name->span,
				                     "the index `%s` does not stand on the left", text);
				diag_hint(sp->c, d, "write sum(... for %s) to add over it", text);
				sp_throw(sp);
			}
			if (e->index_def.clauses[k].range)
				explicit_range(&nt, ix, e->index_def.clauses[k].range);
			const Ast *other =
				e->index_def.clauses[k].n > 1 ? e->index_def.clauses[k].names[i ? i - 1 : 1] : NULL;
			if (e->index_def.clauses[k].range && other && other->kind == A_NAME)
				ix->shares = other->name.name;
		}
	for (uint32_t i = 0; i < s.n; i++)
		if (!s.ix[i].known) infer_range(&nt, &s.ix[i], e->index_def.value);
	sp_check_free_indices(sp, e);
	const Ix *order[MAX_INDICES];
	for (uint32_t i = 0; i < s.n; i++) order[i] = &s.ix[i];
	Av *r = in_order(sp, lv_expr(&nt, e->index_def.value), s.n, order);
	warn_of_parts(sp, &s);
	return r;
}
