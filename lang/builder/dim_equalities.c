/* dim_equalities.c - symbols, and the equalities of extents in force while a
 * function is built or verified.
 *
 * Method: substitution. Each equality is solved for a symbol where possible.
 *
 * Needs: builder/internal.h.
 *
 * Contract:
 * - An equality holds from its guard to the end of the guard's region.
 * - build_canon is idempotent.
 * - The representative of two symbols is the older one; that of a symbol and a
 *   constant is the constant. An equality of sums is solved for its newest
 *   symbol.
 * - A symbol is visible in the region that last defined it, and in the regions
 *   inside that.
 */
#include "lang/builder/internal.h"

/* ---- symbols ------------------------------------------------------------- */

SymId build_sym(Builder *b, Atom name, SpanId span) {
	Fn *f = b->fn;
	VEC_RESERVE(b->scratch, &f->syms, f->syms.n + 1);
	VEC_RESERVE(b->scratch, &b->equal, f->syms.n + 1);
	VEC_RESERVE(b->scratch, &b->home, f->syms.n + 1);
	b->equal.at[b->equal.n++] = NO_DIM;
	b->home.at[b->home.n++] = NO_REGION;
	f->syms.at[f->syms.n++] = (Sym){.name = name, .span = span};
	return f->syms.n - 1;
}

Dim build_fresh_dim(Builder *b, Atom name, SpanId span) {
	return dim_sym(b->ctx, build_sym(b, name, span));
}

bool sym_visible(const Builder *b, SymId s, RegionId r) {
	if (s >= b->home.n || b->home.at[s] == NO_REGION) return false;
	for (; r != NO_REGION; r = b->region_parent.at[r])
		if (b->home.at[s] == r) return true;
	return false;
}

typedef struct RegionSyms {
	Builder *b;
	RegionId region;
	bool all;
} RegionSyms;

static void visit_enter(void *ud, SymId s) {
	RegionSyms *v = ud;
	if (s < v->b->home.n && !sym_visible(v->b, s, v->region)) v->b->home.at[s] = v->region;
}

static void visit_visible(void *ud, SymId s) {
	RegionSyms *v = ud;
	v->all = v->all && sym_visible(v->b, s, v->region);
}

/* A symbol may be defined again (another loop's parameter, in a function with
 * copied symbols). Its previous region is closed by then, so overwriting it
 * loses nothing. */
void dims_enter_dim(Builder *b, RegionId r, Dim d) {
	if (dim_is_const(b->ctx, d, NULL)) return;
	RegionSyms v = {.b = b, .region = r};
	dim_each_sym(b->ctx, d, visit_enter, &v);
}

void dims_enter(Builder *b, RegionId r, TypeId t) {
	Type ty = *type_of(b->ctx, t);
	for (uint32_t k = 0; ty.kind == TY_TENSOR && k < ty.rank; k++) dims_enter_dim(b, r, ty.dims[k]);
}

bool dim_visible(Builder *b, Dim d, RegionId r) {
	RegionSyms v = {.b = b, .region = r, .all = true};
	dim_each_sym(b->ctx, d, visit_visible, &v);
	return v.all;
}

/* ---- equalities ---------------------------------------------------------- */

static Dim by_symbols(Builder *b, Dim d) {
	return b->nequal ? dim_subst(b->ctx, d, b->equal.at, b->equal.n) : d;
}

/* The first term of a dim that is neither a plain symbol nor a constant:
 * returns its coefficient, or 0 where there is none. */
static int64_t leading_term(const Ctx *c, Dim d, DimPart part[DIM_DEGREE], uint32_t *n) {
	for (uint32_t i = 0; i < dim_term_count(c, d); i++) {
		const int64_t factor = dim_term(c, d, i, part, n);
		if (*n > 1 || (*n == 1 && part[0].by)) return factor;
	}
	return 0;
}

static bool same_parts(const DimPart *x, const DimPart *y, uint32_t n) {
	for (uint32_t k = 0; k < n; k++)
		if (x[k].by != y[k].by || (x[k].by ? x[k].inner != y[k].inner : x[k].sym != y[k].sym))
			return false;
	return true;
}

/* Removes from d the leading term of `zero` (a dim known to be 0), when d
 * contains an exact multiple of that term. */
static Dim without_leading(Ctx *c, Dim d, Dim zero) {
	DimPart lead[DIM_DEGREE], part[DIM_DEGREE];
	uint32_t nlead, n;
	const int64_t factor = leading_term(c, zero, lead, &nlead);
	for (uint32_t i = 0; factor && i < dim_term_count(c, d); i++) {
		const int64_t k = dim_term(c, d, i, part, &n);
		if (n != nlead || !same_parts(part, lead, n)) continue;
		return k % factor ? d : dim_sub(c, d, dim_mul(c, dim_const(c, k / factor), zero));
	}
	return d;
}

/* Applies an equality inside any sum: n - 1 == 7*floor((n + 6)/7) - 7 implies n
 * == 7*floor((n + 6)/7) - 6. Where the coefficient of the leading term does not
 * divide, only a whole side is replaced by the other. */
static Dim by_equality(Ctx *c, Dim d, Dim from, Dim to) {
	const Dim zero = dim_sub(c, from, to);
	d = without_leading(c, d, zero);
	from = without_leading(c, from, zero);
	return d == from ? without_leading(c, to, zero) : d;
}

/* Which of two equal dims becomes the representative: a constant, else the
 * older one. */
static bool is_kept(const Ctx *c, Dim d, Dim other) {
	return dim_is_const(c, d, NULL) || (!dim_is_const(c, other, NULL) && d < other);
}

/* Applies every equality once, rewritten by later substitutions of symbols. */
static Dim by_products(Builder *b, Dim d) {
	for (uint32_t i = 0; i < b->same_from.n; i++) {
		const Dim x = by_symbols(b, b->same_from.at[i]), y = by_symbols(b, b->same_to.at[i]);
		d = is_kept(b->ctx, x, y) ? by_equality(b->ctx, d, y, x) : by_equality(b->ctx, d, x, y);
	}
	return d;
}

Dim build_canon(Builder *b, Dim d) {
	if (!b->nequal && !b->same_from.n) return d;
	if (dim_is_const(b->ctx, d, NULL)) return d;
	d = by_symbols(b, d);
	/* The result of one equality may be rewritten by another. */
	for (uint32_t left = b->same_from.n; left > 0; left--) {
		const Dim before = d;
		d = by_products(b, d);
		if (d == before) break;
	}
	return d;
}

TypeId build_canon_type(Builder *b, TypeId t) {
	if (!b->nequal && !b->same_from.n) return t;
	Type ty = *type_of(b->ctx, t);
	if (ty.kind != TY_TENSOR) return t;
	bool changed = false;
	for (uint32_t k = 0; k < ty.rank; k++) {
		Dim d = build_canon(b, ty.dims[k]);
		changed |= d != ty.dims[k];
		ty.dims[k] = d;
	}
	return changed ? type_tensor(b->ctx, (Dtype)ty.dtype, ty.rank, ty.dims) : t;
}

AttrId build_canon_attr(Builder *b, Op op, AttrId a) {
	if (!a || (!b->nequal && !b->same_from.n)) return a;
	if (b->nequal) a = attr_subst(b->ctx, op, a, b->equal.at, b->equal.n);
	return a;
}

bool build_same_type(Builder *b, TypeId x, TypeId y) {
	return x == y || build_canon_type(b, x) == build_canon_type(b, y);
}

bool build_same_dim(Builder *b, Dim x, Dim y) {
	return x == y || build_canon(b, x) == build_canon(b, y);
}

uint32_t dims_mark(const Builder *b) { return b->trail.n; }

void dims_undo(Builder *b, uint32_t mark) {
	while (b->trail.n > mark) {
		DimUndo u = b->trail.at[--b->trail.n];
		if (u.sym == UINT32_MAX) {
			b->same_from.n--;
			b->same_to.n--;
			continue;
		}
		if (u.old == NO_DIM) b->nequal--;
		b->equal.at[u.sym] = u.old;
	}
}

static void set_equal(Builder *b, SymId s, Dim value) {
	DimUndo u = {.sym = s, .old = b->equal.at[s]};
	VEC_PUSH(b->scratch, &b->trail, u);
	if (u.old == NO_DIM) b->nequal++;
	b->equal.at[s] = value;
}

/* Substitutes value for s, also in the existing entries, so that one
 * substitution always suffices. */
static void bind_symbol(Builder *b, SymId s, Dim value) {
	Dim *one = arena_alloc(b->scratch, (s + 1) * sizeof *one);
	for (uint32_t i = 0; i < s; i++) one[i] = NO_DIM;
	one[s] = value;
	for (SymId k = 0; k < b->equal.n; k++) {
		if (b->equal.at[k] == NO_DIM) continue;
		Dim d = dim_subst(b->ctx, b->equal.at[k], one, s + 1);
		if (d != b->equal.at[k]) set_equal(b, k, d);
	}
	set_equal(b, s, value);
}

void dims_define(Builder *b, SymId s, Dim value) { bind_symbol(b, s, build_canon(b, value)); }

/* Turns x == y into the substitution of a symbol; returns false when no symbol
 * can be replaced. */
static bool assume_of_symbol(Builder *b, Dim x, Dim y) {
	Ctx *c = b->ctx;
	SymId s, t, newest;
	Dim value;
	bool xs = dim_is_sym(c, x, &s) && s < b->equal.n, ys = dim_is_sym(c, y, &t) && t < b->equal.n;
	if (xs && ys) {
		if (s < t) bind_symbol(b, t, x);
		else bind_symbol(b, s, y);
	} else if (dim_solve(c, x, y, &newest, &value) && newest < b->equal.n) {
		bind_symbol(b, newest, value);
	} else if (xs && !dim_mentions(c, y, s)) {
		bind_symbol(b, s, y);
	} else if (ys && !dim_mentions(c, x, t)) {
		bind_symbol(b, t, x);
	} else return false;
	return true;
}

/* Later substitutions may reduce an equality of products to one of a symbol:
 * n*m == 6*m implies n == 6 when m is 2. */
static void settle_products(Builder *b) {
	for (uint32_t i = 0; i < b->same_from.n;) {
		Dim x = by_symbols(b, b->same_from.at[i]), y = by_symbols(b, b->same_to.at[i]);
		bool known = x == y || (dim_is_const(b->ctx, x, NULL) && dim_is_const(b->ctx, y, NULL));
		if (!known && assume_of_symbol(b, x, y)) i = 0;
		else i++;
	}
}

void dims_assume(Builder *b, Dim x, Dim y) {
	Ctx *c = b->ctx;
	x = build_canon(b, x);
	y = build_canon(b, y);
	if (x == y || (dim_is_const(c, x, NULL) && dim_is_const(c, y, NULL))) return;
	if (assume_of_symbol(b, x, y)) {
		settle_products(b);
	} else { /* n*m == k*l: no symbol can be replaced, so the whole dims are equated */
		DimUndo u = {.sym = UINT32_MAX};
		VEC_RESERVE(b->scratch, &b->trail, b->trail.n + 1);
		VEC_RESERVE(b->scratch, &b->same_from, b->same_from.n + 1);
		VEC_RESERVE(b->scratch, &b->same_to, b->same_to.n + 1);
		const bool keep_x = is_kept(c, x, y);
		b->trail.at[b->trail.n++] = u;
		b->same_from.at[b->same_from.n++] = keep_x ? y : x;
		b->same_to.at[b->same_to.n++] = keep_x ? x : y;
	}
}

void dims_assume_region(Builder *b, RegionId r) {
	const Region *g = &b->fn->regions.at[r];
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = &b->fn->insts.at[b->fn->inst_order.at[g->insts + i]];
		if (in->op != OP_GUARD) continue;
		dims_assume(b, (Dim)attr_int(b->ctx, OP_GUARD, in->attr, 0),
		            (Dim)attr_int(b->ctx, OP_GUARD, in->attr, 1));
	}
}

/* For each region, whether it has certainly run once the enclosing region has
 * moved past it: the body of a `for` with a positive constant trip count, and
 * the condition of a `while`. */
static const bool *certain_regions(Builder *b) {
	const Fn *f = b->fn;
	bool *certain = arena_alloc(b->scratch, (f->regions.n + 1) * sizeof *certain);
	for (RegionId r = 0; r < f->regions.n; r++) certain[r] = false;
	for (uint32_t i = 0; i < f->insts.n; i++) {
		const Inst *in = &f->insts.at[i];
		const Const *trip_count = in->op == OP_FOR ? ref_constant(f, inst_arg(f, in, 0)) : NULL;
		int64_t n;
		if (in->op == OP_WHILE || (trip_count && value_as_i64(trip_count->value, &n) && n > 0))
			certain[f->region_ids.at[in->regions]] = true;
	}
	return certain;
}

/* Whether the contents of region r ran before the current position. */
static bool has_run(const Builder *b, const bool *certain, RegionId r) {
	for (;;) {
		RegionId here = b->region->id;
		while (here != r && here != NO_REGION) here = b->region_parent.at[here];
		if (here == r) return true;
		if (r == NO_REGION || !certain[r]) return false;
		r = b->region_parent.at[r];
	}
}

typedef struct VisitedDim {
	Dim dim;
	uint32_t question; /* the last question that visited it; 0: visit again */
	bool used;
} VisitedDim;

/* The slot of an extent, created on first use. */
static VisitedDim *asked(Builder *b, Dim d) {
	if (b->nasked * 2 >= b->asked_slots) {
		const VisitedDim *old = b->asked;
		const uint32_t nold = b->asked_slots;
		b->asked_slots = nold ? nold * 4 : 32;
		b->asked = ARENA_ARRAY(b->scratch, VisitedDim, b->asked_slots);
		b->nasked = 0;
		for (uint32_t i = 0; i < nold; i++)
			if (old[i].used) *asked(b, old[i].dim) = old[i];
	}
	uint32_t at = (d * 2654435761u) >> 7 & (b->asked_slots - 1);
	while (b->asked[at].used && b->asked[at].dim != d) at = (at + 1) & (b->asked_slots - 1);
	if (!b->asked[at].used) {
		b->asked[at] = (VisitedDim){.dim = d, .used = true};
		b->nasked++;
	}
	return &b->asked[at];
}

/* Whether the current question has already visited this extent; marks it as
 * visited. */
static bool was_asked(Builder *b, Dim d) {
	VisitedDim *slot = asked(b, d);
	if (slot->question == b->question) return true;
	slot->question = b->question;
	return false;
}

/* Whether the current assumptions make an extent of an already computed value
 * negative. Then either that computation has failed, or the assumptions do not
 * hold. In both cases the code that follows is unreachable. */
static bool unmakes_a_value(Builder *b) {
	Ctx *c = b->ctx;
	int64_t length;
	const bool *certain = NULL;
	b->question++; /* Many values share few extents: each extent is examined once. */
	for (uint32_t i = 0; i < b->fn->vals.n; i++) {
		const Val *v = &b->fn->vals.at[i];
		const Type *t = type_of(c, v->type);
		for (uint32_t a = 0; t->kind == TY_TENSOR && a < t->rank; a++) {
			const Dim stated = t->dims[a];
			if (was_asked(b, stated)) continue;
			if (!dim_is_const(c, stated, NULL) && !dim_is_sym(c, stated, NULL)) {
				const Dim d = build_canon(b, stated);
				t = type_of(c, v->type); /* interning dims may move it */
				if (dim_is_const(c, d, &length) && length < 0) {
					if (!certain) certain = certain_regions(b);
					if (has_run(b, certain, v->region)) return true;
					/* examine it again for other values with this extent */
					asked(b, stated)->question = 0;
				}
			}
		}
	}
	return false;
}

/* Whether the two extents can be equal without making an extent negative. x and
 * y are canonical. */
static bool may_be_equal(Builder *b, Dim x, Dim y) {
	Ctx *c = b->ctx;
	if (dim_never_zero(c, dim_sub(c, x, y))) return false;
	uint32_t mark = dims_mark(b);
	bool good = true;
	int64_t length;
	dims_assume(b, x, y);
	/* also symbols that earlier equalities tie to these */
	for (uint32_t i = mark; i < b->trail.n && good; i++) {
		SymId s = b->trail.at[i].sym;
		good = s == UINT32_MAX || !dim_is_const(c, b->equal.at[s], &length) || length >= 0;
	}
	good = good && !unmakes_a_value(b);
	dims_undo(b, mark);
	return good;
}

bool build_unify(Builder *b, Dim x, Dim y, Atom what) {
	x = build_canon(b, x);
	y = build_canon(b, y);
	if (x == y) return true;
	if (!may_be_equal(b, x, y)) return false;
	int64_t words[3] = {x, y, what};
	build(b, OP_GUARD, 0, NULL, attr_intern(b->ctx, words, 3), NULL);
	return true;
}

/* ---- extents from scalars ------------------------------------------------ */

static bool constant_int(const Fn *f, Ref r, int64_t *out) {
	const Const *k = ref_constant(f, r);
	return k && k->value.kind == V_SCALAR && dtype_is_int((Dtype)k->value.dtype) &&
	       value_as_i64(k->value, out);
}

/* Coefficients and depth are bounded so that this never reaches the limits of
 * dims. */
static Dim known_at(Builder *b, Ref r, uint32_t depth) {
	Ctx *c = b->ctx;
	int64_t k;
	if (constant_int(b->fn, r, &k))
		return k > -(INT64_C(1) << 31) && k < INT64_C(1) << 31 ? dim_const(c, k) : NO_DIM;
	for (uint32_t i = b->bound.n; i-- > 0;)
		if (b->bound.at[i].scalar == r) return build_canon(b, b->bound.at[i].dim);
	const Inst *in = ref_inst(b->fn, r);
	if (!in || depth > 8) return NO_DIM;
	Op op = (Op)in->op;
	if (op == OP_EXTENT) return build_canon(b, (Dim)attr_int(c, OP_EXTENT, in->attr, 0));
	Ref x = in->nargs ? inst_arg(b->fn, in, 0) : REF_NONE,
		y = in->nargs > 1 ? inst_arg(b->fn, in, 1) : REF_NONE;
	if (op == OP_FLOORDIV) {
		if (!constant_int(b->fn, y, &k) || k <= 0 || k >= INT64_C(1) << 31) return NO_DIM;
		Dim d = known_at(b, x, depth + 1);
		return d == NO_DIM ? NO_DIM : dim_floordiv(c, d, k);
	}
	if (op != OP_ADD && op != OP_SUB && op != OP_MUL) return NO_DIM;
	Dim dx = known_at(b, x, depth + 1);
	if (dx == NO_DIM) return NO_DIM;
	Dim dy = known_at(b, y, depth + 1);
	if (dy == NO_DIM) return NO_DIM;
	if (op == OP_MUL && !dim_is_const(c, dx, NULL) && !dim_is_const(c, dy, NULL) && depth > 3)
		return NO_DIM;
	return op == OP_ADD   ? dim_add(c, dx, dy)
	       : op == OP_SUB ? dim_sub(c, dx, dy)
	                      : dim_mul(c, dx, dy);
}

Dim dim_known(Builder *b, Ref scalar) {
	const Type *t = ref_ty(b->fn, scalar);
	if (t->kind != TY_TENSOR || t->rank || t->dtype != DT_I64) return NO_DIM;
	return known_at(b, scalar, 0);
}

Dim build_dim_of(Builder *b, Ref i64_scalar, Atom name) {
	Dim d = dim_known(b, i64_scalar);
	if (d != NO_DIM) return d;
	if (!name && ref_is_value(i64_scalar)) name = b->fn->vals.at[REF_INDEX(i64_scalar)].name;
	char text[48];
	if (!name && sym_text(b->ctx, b->span, "number in ", text, sizeof text))
		name = atom(b->ctx, text);
	d = build_fresh_dim(b, name, b->span);
	int64_t word = d;
	build(b, OP_BIND, 1, &i64_scalar, attr_intern(b->ctx, &word, 1), NULL);
	return build_canon(b, d);
}

/* An integer as a linear combination of a few values, plus a constant. */
typedef struct LinearCombination {
	Ref of[8];
	int64_t times[8], constant;
	uint32_t n;
} LinearCombination;

/* Adds `times` the value r to the sum; returns false when the sum would become
 * too long. */
static bool sum_add(Builder *b, LinearCombination *s, Ref r, int64_t times, uint32_t depth) {
	int64_t k;
	if (times > INT32_MAX || times < INT32_MIN) return false;
	if (constant_int(b->fn, r, &k))
		return !__builtin_mul_overflow(k, times, &k) &&
		       !__builtin_add_overflow(s->constant, k, &s->constant);
	const Inst *in = ref_inst(b->fn, r);
	const Op op = in && depth < 8 ? (Op)in->op : OP_EXTENT;
	if (op == OP_ADD || op == OP_SUB)
		return sum_add(b, s, inst_arg(b->fn, in, 0), times, depth + 1) &&
		       sum_add(b, s, inst_arg(b->fn, in, 1), op == OP_SUB ? -times : times, depth + 1);
	for (uint32_t i = 0; op == OP_MUL && i < 2; i++)
		if (constant_int(b->fn, inst_arg(b->fn, in, i), &k) && k < INT32_MAX && k > INT32_MIN)
			return sum_add(b, s, inst_arg(b->fn, in, 1 - i), times * k, depth + 1);
	for (uint32_t i = 0; i < s->n; i++) {
		if (s->of[i] != r) continue;
		s->times[i] += times;
		return true;
	}
	if (s->n == sizeof s->of / sizeof *s->of) return false;
	s->of[s->n] = r;
	s->times[s->n++] = times;
	return true;
}

/* x - y when all the values that y consists of cancel; REF_NONE otherwise. */
static Ref difference(Builder *b, Ref x, Ref y) {
	LinearCombination s = {.n = 0}, part = {.n = 0};
	const Type *tx = ref_ty(b->fn, x), *ty = ref_ty(b->fn, y);
	if (tx->kind != TY_TENSOR || ty->kind != TY_TENSOR || tx->rank || ty->rank ||
	    tx->dtype != DT_I64 || ty->dtype != DT_I64)
		return REF_NONE;
	if (!sum_add(b, &part, y, 1, 0) || !sum_add(b, &s, x, 1, 0) || !sum_add(b, &s, y, -1, 0))
		return REF_NONE;
	/* worthwhile only when no value of y remains */
	for (uint32_t i = 0; i < s.n; i++)
		for (uint32_t k = 0; k < part.n; k++)
			if (s.times[i] && s.of[i] == part.of[k]) return REF_NONE;
	Ref r = build_const(b, value_i64(s.constant));
	for (uint32_t i = 0; i < s.n; i++) {
		if (!s.times[i]) continue;
		const Ref term = s.times[i] == 1
		                     ? s.of[i]
		                     : build2(b, OP_MUL, build_const(b, value_i64(s.times[i])), s.of[i]);
		r = build2(b, OP_ADD, r, term);
	}
	return r;
}

bool build_dim_between(Builder *b, Ref from, Ref to, Dim *out) {
	if (dim_known(b, to) != NO_DIM) return false;
	const Ref r = difference(b, to, from);
	if (r == REF_NONE) return false;
	*out = build_canon(b, build_dim_of(b,
	                                   dim_known(b, r) != NO_DIM
	                                       ? r
	                                       : build2(b, OP_MAX, r, build_const(b, value_i64(0))),
	                                   0));
	return true;
}

bool build_is_length(const Builder *b, Ref r) {
	for (uint32_t i = b->bound.n; i-- > 0;)
		if (b->bound.at[i].scalar == r) return true;
	const Inst *in = ref_inst(b->fn, r);
	return in && in->op == OP_EXTENT;
}

bool build_made_of_lengths(Builder *b, Ref r) { return dim_known(b, r) != NO_DIM; }

bool build_counts_down(Builder *b, Ref r) {
	int64_t k;
	if (constant_int(b->fn, r, &k)) return k <= 0;
	const Inst *in = ref_inst(b->fn, r);
	if (!in || (in->op != OP_NEG && in->op != OP_ADD && in->op != OP_SUB)) return false;
	if (in->op == OP_NEG) return true;
	return build_counts_down(b, inst_arg(b->fn, in, 0)) &&
	       (in->op == OP_SUB || build_counts_down(b, inst_arg(b->fn, in, 1)));
}

Ref build_extent(Builder *b, Dim d) {
	int64_t word = d;
	return build(b, OP_EXTENT, 0, NULL, attr_intern(b->ctx, &word, 1), NULL);
}

/* ---- matching types ------------------------------------------------------ */

typedef struct Unknown { /* the symbols of a pattern that are still unknown */
	const Dim *map;
	uint32_t nmap, count;
	SymId sym;
} Unknown;

static void visit_unknown(void *ud, SymId s) {
	Unknown *u = ud;
	if (s >= u->nmap || u->map[s] != NO_DIM || (u->count && u->sym == s)) return;
	u->sym = s;
	u->count++;
}

static Unknown unknowns(Ctx *c, Dim d, const Dim *map, uint32_t nmap) {
	Unknown u = {.map = map, .nmap = nmap};
	dim_each_sym(c, d, visit_unknown, &u);
	return u;
}

bool dim_has_unknown(Ctx *c, Dim d, const Dim *map, uint32_t nmap) {
	return unknowns(c, d, map, nmap).count;
}

/* Solves pattern = rest + k*s with k = +-1, where s is the only unknown: s =
 * (actual - rest) * k. The pattern's known symbols are substituted; `map` is
 * restored. */
static Dim solve_for(Builder *b, Dim pattern, SymId s, Dim actual, Dim *map, uint32_t nmap) {
	Ctx *c = b->ctx;
	map[s] = dim_const(c, 0);
	Dim at0 = dim_subst(c, pattern, map, nmap);
	map[s] = dim_const(c, 1);
	Dim at1 = dim_subst(c, pattern, map, nmap);
	map[s] = dim_const(c, 2);
	Dim at2 = dim_subst(c, pattern, map, nmap);
	map[s] = NO_DIM;
	int64_t k;
	if (!dim_is_const(c, dim_sub(c, at1, at0), &k) || (k != 1 && k != -1)) return NO_DIM;
	if (dim_sub(c, at2, at1) != dim_sub(c, at1, at0)) return NO_DIM;
	return k == 1 ? dim_sub(c, actual, at0) : dim_sub(c, at0, actual);
}

static const char *match_words(Builder *b, uint32_t i, const char *what, TypeId actual) {
	return arena_printf(b->scratch, "operand %u is %s, %s", i + 1, type_words(b, actual), what);
}

bool dims_match(Builder *b, uint32_t n, const TypeId *patterns, const TypeId *actual, Dim *map,
                uint32_t nmap, DimsDiffer differ, void *ud, const char **why) {
	Ctx *c = b->ctx;
	SymId s;
	for (uint32_t i = 0; i < n; i++) {
		Type p = *type_of(c, patterns[i]), t = *type_of(c, actual[i]);
		if (p.kind != t.kind || (p.kind == TY_TENSOR && (p.dtype != t.dtype || p.rank != t.rank))) {
			*why = match_words(b, i, arena_printf(b->scratch, "not %s", type_words(b, patterns[i])),
			                   actual[i]);
			return false;
		}
		for (uint32_t k = 0; p.kind == TY_TENSOR && k < p.rank; k++)
			if (dim_is_sym(c, p.dims[k], &s) && s < nmap && map[s] == NO_DIM)
				map[s] = build_canon(b, t.dims[k]);
	}
	/* Each round may make further dims solvable. */
	for (bool found = true; found;) {
		found = false;
		for (uint32_t i = 0; i < n; i++) {
			Type p = *type_of(c, patterns[i]), t = *type_of(c, actual[i]);
			for (uint32_t k = 0; p.kind == TY_TENSOR && k < p.rank; k++) {
				Unknown u = unknowns(c, p.dims[k], map, nmap);
				if (u.count != 1) continue;
				Dim d = solve_for(b, p.dims[k], u.sym, build_canon(b, t.dims[k]), map, nmap);
				if (d == NO_DIM) continue;
				map[u.sym] = build_canon(b, d);
				found = true;
			}
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		Type p = *type_of(c, patterns[i]), t = *type_of(c, actual[i]);
		for (uint32_t k = 0; p.kind == TY_TENSOR && k < p.rank; k++) {
			if (unknowns(c, p.dims[k], map, nmap).count) continue;
			Dim wanted = build_canon(b, dim_subst(c, p.dims[k], map, nmap)),
				found = build_canon(b, t.dims[k]);
			if (wanted == found || (differ && differ(b, wanted, found, ud))) continue;
			*why = match_words(
				b, i, arena_printf(b->scratch, "whose axis %u must be %s", k, dim_words(b, wanted)),
				actual[i]);
			return false;
		}
	}
	return true;
}

static bool unify_differing(Builder *b, Dim wanted, Dim found, void *ud) {
	return build_unify(b, wanted, found, *(const Atom *)ud);
}

static bool equal_or_could_be(Builder *b, Dim wanted, Dim found, void *ud) {
	(void)ud;
	return may_be_equal(b, wanted, found);
}

static bool params_match(Builder *b, const Fn *f, uint32_t nargs, const Ref *args, Dim *map,
                         DimsDiffer differ, void *ud, const char **why) {
	for (uint32_t s = 0; s < f->syms.n; s++) map[s] = NO_DIM;
	TypeId *patterns = arena_alloc(b->scratch, (nargs + 1) * sizeof *patterns);
	TypeId *actual = arena_alloc(b->scratch, (nargs + 1) * sizeof *actual);
	*why = "a wrong number of arguments";
	if (nargs != fn_nparams(f)) return false;
	for (uint32_t i = 0; i < nargs; i++) {
		patterns[i] = ref_type(f, fn_param(f, i));
		actual[i] = ref_type(b->fn, args[i]);
	}
	return dims_match(b, nargs, patterns, actual, map, f->syms.n, differ, ud, why);
}

bool build_call_fits(Builder *b, const Fn *callee, uint32_t nargs, const Ref *args) {
	const char *why;
	Dim *map = arena_alloc(b->scratch, (callee->syms.n + 1) * sizeof *map);
	return params_match(b, callee, nargs, args, map, equal_or_could_be, NULL, &why);
}

void dims_bind_params(Builder *b, const Fn *f, uint32_t nargs, const Ref *args, Dim *map) {
	const char *why;
	Atom what = atom_f(b->ctx, "the arguments of %s", atom_text(b->ctx, f->name));
	if (params_match(b, f, nargs, args, map, unify_differing, &what, &why)) return;
	why = arena_printf(b->scratch, "%s of '%s'", why, atom_text(b->ctx, f->name));
	build_breach(b, OP_CALL, nargs, args, why);
}

/* ---- messages ------------------------------------------------------------ */

const char *type_words(Builder *b, TypeId t) {
	char text[256];
	size_t n = type_print(b->ctx, t, sym_words, &(SymWords){.fn = b->fn}, text, sizeof text);
	return arena_copy(b->scratch, text, n < sizeof text ? n : sizeof text - 1);
}

const char *dim_words(Builder *b, Dim d) {
	char text[128];
	size_t n = dim_print(b->ctx, d, sym_words, &(SymWords){.fn = b->fn}, text, sizeof text);
	return arena_copy(b->scratch, text, n < sizeof text ? n : sizeof text - 1);
}

/* ---- data-dependent extents of callees ----------------------------------- */

/* Each data-dependent extent of a callee's results gets a symbol of the caller
 * that is an axis by itself. So the evaluator, and copies of the call, can read
 * its value. A symbol that is an axis becomes one of the caller's symbols. For
 * s + 1, the whole dim becomes one, and s follows from it. A dim that cannot be
 * solved, such as 2*s where s is no axis, becomes one as a whole; nothing else
 * is known of it. */
typedef struct FreshDims {
	Builder *b;
	const Fn *callee;
	Dim *map;
	uint32_t nwhole;
	struct {
		Dim pattern, ours;
	} * whole;
} FreshDims;

typedef enum { FRESH_PLAIN, FRESH_SOLVED, FRESH_WHOLE } FreshRound;

static bool define_fresh(FreshDims *w, FreshRound round, Dim pattern) {
	Builder *b = w->b;
	const uint32_t nmap = w->callee->syms.n;
	const Unknown u = unknowns(b->ctx, pattern, w->map, nmap);
	SymId s;
	if (!u.count) return false;
	const bool plain = dim_is_sym(b->ctx, pattern, &s);
	if (round == FRESH_PLAIN && plain)
		w->map[s] = build_fresh_dim(b, w->callee->syms.at[s].name, w->callee->syms.at[s].span);
	if (round == FRESH_PLAIN) return plain;
	for (uint32_t i = 0; i < w->nwhole; i++)
		if (w->whole[i].pattern == pattern) return false;
	const Sym *sym = &w->callee->syms.at[u.sym];
	if (round == FRESH_SOLVED) {
		if (u.count != 1 ||
		    solve_for(b, pattern, u.sym, dim_const(b->ctx, 0), w->map, nmap) == NO_DIM)
			return false;
		w->map[u.sym] =
			build_canon(b, solve_for(b, pattern, u.sym, build_fresh_dim(b, sym->name, sym->span),
		                             w->map, nmap));
		return true;
	}
	w->whole[w->nwhole].pattern = pattern;
	w->whole[w->nwhole++].ours = build_fresh_dim(b, 0, sym->span);
	return true;
}

static Dim fresh_dim(const FreshDims *w, Dim pattern) {
	for (uint32_t i = 0; i < w->nwhole; i++)
		if (w->whole[i].pattern == pattern) return w->whole[i].ours;
	return build_canon(w->b, dim_subst(w->b->ctx, pattern, w->map, w->callee->syms.n));
}

void dims_define_results(Builder *b, const Fn *callee, uint32_t n, TypeId *types, Dim *map) {
	Ctx *c = b->ctx;
	FreshDims w = {.b = b, .callee = callee, .map = map};
	w.whole = arena_alloc(b->scratch, (n * MAX_RANK + 1) * sizeof *w.whole);
	for (FreshRound round = FRESH_PLAIN; round <= FRESH_WHOLE; round++) {
		for (bool found = true; found;) {
			found = false;
			for (uint32_t k = 0; k < n; k++) {
				const Type t = *type_of(c, types[k]);
				for (uint32_t a = 0; t.kind == TY_TENSOR && a < t.rank; a++)
					found |= define_fresh(&w, round, t.dims[a]);
			}
		}
	}
	for (uint32_t k = 0; k < n; k++) {
		Type t = *type_of(c, types[k]);
		if (t.kind != TY_TENSOR) continue;
		for (uint32_t a = 0; a < t.rank; a++) t.dims[a] = fresh_dim(&w, t.dims[a]);
		types[k] = type_tensor(c, (Dtype)t.dtype, t.rank, t.dims);
	}
}
