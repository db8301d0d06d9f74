/* generate.c - frame of a random program: parameters, steps and results.
 *
 * Method: draws depend on the name of a step. A value is chosen from the pool
 * by rendezvous hashing: each candidate's key is hashed with the draw, and the
 * best wins. The winner does not change when other candidates disappear, so
 * skipping a step affects only the users of its values.
 *
 * Needs: generate_internal.h; the steps are in the other files of the
 * generator.
 *
 * Guarantees: those of generate.h.
 */
#include "tests/random/generate_internal.h"
#include <stdlib.h>

/* ---- random numbers ------------------------------------------------------ */

uint64_t random_mix(uint64_t a, uint64_t b) {
	uint64_t z = a * 0x9e3779b97f4a7c15u + b + 0x7f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

uint64_t random_next(uint64_t *state) {
	*state += 0x9e3779b97f4a7c15u;
	return random_mix(*state, 1);
}

int64_t random_below(uint64_t *state, int64_t n) {
	return n < 1 ? 0 : (int64_t)(random_next(state) % (uint64_t)n);
}

double random_between(uint64_t *state, double lo, double hi) {
	return lo + (hi - lo) * (double)(random_next(state) >> 11) / 9007199254740992.0;
}

int64_t below(Gen *g, int64_t n) { return random_below(&g->rng, n); }

bool chance(Gen *g, int percent) { return below(g, 100) < percent; }

double between(Gen *g, double lo, double hi) {
	return floor(random_between(&g->rng, lo, hi) * 1000) / 1000;
}

static double random_real(uint64_t *state, bool wild) {
	int64_t k = random_below(state, wild ? 40 : 37);
	switch (k) {
	case 0: return 0;
	case 1: return 1;
	case 2: return -1;
	case 37: return NAN;
	case 38: return INFINITY;
	case 39: return -INFINITY;
	default: return random_between(state, -2, 2);
	}
}

/* Among them those where sums, products and conversions overflow. */
static int64_t random_whole(uint64_t *state, bool wild) {
	static const int64_t edges[] = {INT64_MIN,   INT64_MAX,  INT32_MIN,  INT32_MAX,
	                                -2147483649, 2147483648, 4294967296, 9007199254740993,
	                                64,          -64};
	const int64_t n = sizeof edges / sizeof *edges;
	if (wild && random_below(state, 4) == 0) return edges[random_below(state, n)];
	return random_below(state, 19) - 9;
}

static void put_element(uint64_t *state, Dtype d, char *to, bool wild) {
	if (d == DT_BOOL) {
		*(bool *)to = random_below(state, 2);
		return;
	}
	if (dtype_is_int(d)) {
		const int64_t n = random_whole(state, wild);
		scalar_convert(DT_I64, &n, d, to);
		return;
	}
	double z[2] = {random_real(state, wild), 0};
	if (dtype_is_complex(d)) z[1] = random_real(state, wild);
	scalar_convert(DT_C128, z, d, to);
}

Value random_value(Ctx *c, uint64_t *state, Dtype d, uint32_t rank, const int64_t *shape,
                   bool wild) {
	const size_t size = dtype_size(d);
	if (!rank) {
		_Alignas(16) char bytes[16] = {0};
		put_element(state, d, bytes, wild);
		return value_scalar_from_bytes(d, bytes);
	}
	int64_t turned[MAX_RANK], stride[MAX_RANK], whole = 1;
	bool view = rank > 1 && random_below(state, 8) == 0;
	for (uint32_t k = 0; k < rank; k++) turned[k] = shape[view ? rank - 1 - k : k];
	Tensor *t = tensor_new(c, d, rank, turned);
	if (!t) return (Value){.kind = V_UNSET};
	for (int64_t i = 0; i < t->count; i++) put_element(state, d, t->data + (size_t)i * size, wild);
	if (!view) return value_tensor(t);
	for (uint32_t k = 0; k < rank; k++) {
		stride[k] = whole;
		whole *= shape[k];
	}
	Tensor *v = tensor_view(c, t, rank, shape, stride, 0);
	tensor_unref(t);
	return v ? value_tensor(v) : (Value){.kind = V_UNSET};
}

/* ---- types and extents --------------------------------------------------- */

TypeId type_id_at(const Gen *g, Ref r) {
	return build_canon_type(g->b, ref_type(build_fn(g->b), r));
}

Type type_at(const Gen *g, Ref r) { return *type_of(g->c, type_id_at(g, r)); }

bool length_in(const Gen *g, int set, Dim d, int64_t *out) {
	return dim_eval(g->c, d, g->lengths[set], SYMS_MOST, out);
}

int64_t least(const Gen *g, Dim d) {
	int64_t low = INT64_MAX, v;
	for (int set = 0; set < SETS; set++) {
		if (!length_in(g, set, d, &v)) return 0;
		if (v < low) low = v;
	}
	return low;
}

int64_t most(const Gen *g, Dim d) {
	int64_t high = 0, v;
	for (int set = 0; set < SETS; set++) {
		if (!length_in(g, set, d, &v)) v = 100;
		if (v > high) high = v;
	}
	return high;
}

double count_most(const Gen *g, uint32_t rank, const Dim *dims) {
	double n = 1;
	for (uint32_t k = 0; k < rank; k++) n *= (double)most(g, dims[k]);
	return n;
}

bool affordable(const Gen *g, uint32_t rank, const Dim *dims) {
	return rank <= 5 && count_most(g, rank, dims) * g->turns <= g->cap;
}

Dim plus(const Gen *g, Dim d, int64_t n) {
	return n < 0 ? dim_sub(g->c, d, dim_const(g->c, -n)) : dim_add(g->c, d, dim_const(g->c, n));
}

Dim any_dim(Gen *g) { return g->dims[below(g, g->ndims)]; }

Dim small_dim(Gen *g, int64_t lo, int64_t hi) {
	return dim_const(g->c, lo + below(g, hi - lo + 1));
}

/* Returns one of the plain symbols, which are the first extents. */
Dim symbol_dim(Gen *g) {
	uint32_t n = 0;
	SymId s;
	while (n < g->ndims && dim_is_sym(g->c, g->dims[n], &s)) n++;
	return g->dims[below(g, n)];
}

Dim born_dim(Gen *g, int64_t longest) {
	Dim d = build_fresh_dim(g->b, 0, 0);
	(void)longest; /* unknown to `least` and `most`, which then return safe values */
	return d;
}

/* ---- the pool ------------------------------------------------------------ */

void put(Gen *g, V v) {
	Type t = type_at(g, v.ref);
	if (g->npool == POOL_MOST || t.kind != TY_TENSOR || !affordable(g, t.rank, t.dims)) return;
	if (dtype_is_int((Dtype)t.dtype))
		v.mag = fmin(v.mag, t.dtype == DT_I32 ? 2147483648.0 : 9.3e18);
	if (!(v.mag < 1e6) && !g->wild && (dtype_kind((Dtype)t.dtype) & KIND_INEXACT))
		v = tame(g, v, 4);
	g->pool[g->npool++] = (Entry){.v = v, .key = random_mix(g->step, ++g->serial)};
}

typedef struct Wanted {
	unsigned kinds;
	uint32_t rank_from, rank_to;
	TypeId type; /* 0 here: any */
	bool typed;
} Wanted;

static bool suits(const Gen *g, const Entry *e, const Wanted *w) {
	if (w->typed) return type_id_at(g, e->v.ref) == w->type;
	Type t = type_at(g, e->v.ref);
	return (dtype_kind((Dtype)t.dtype) & w->kinds) && t.rank >= w->rank_from &&
	       t.rank <= w->rank_to;
}

/* Draws an exponential time for each candidate, shorter for unused values; the
 * smallest wins. */
static bool contest(Gen *g, const Wanted *w, V *out) {
	uint64_t drawn = random_next(&g->rng);
	double best = INFINITY;
	Entry *won = NULL;
	for (uint32_t i = 0; i < g->npool; i++) {
		Entry *e = &g->pool[i];
		if (!suits(g, e, w)) continue;
		double u = (double)((random_mix(drawn, e->key) >> 11) + 1) / 9007199254740993.0;
		double time = -log(u) / (e->uses ? 1 : 4);
		if (time >= best) continue;
		best = time;
		won = e;
	}
	if (!won) return false;
	won->uses++;
	*out = won->v;
	return true;
}

bool choose_if(Gen *g, unsigned kinds, uint32_t rank_from, uint32_t rank_to, V *out) {
	Wanted w = {.kinds = kinds, .rank_from = rank_from, .rank_to = rank_to};
	return contest(g, &w, out);
}

bool choose_type(Gen *g, TypeId t, V *out) {
	Wanted w = {.type = t, .typed = true};
	return contest(g, &w, out);
}

V choose(Gen *g, unsigned kinds, uint32_t rank_from, uint32_t rank_to) {
	V v;
	if (choose_if(g, kinds, rank_from, rank_to, &v)) return v;
	Dtype d = kinds & KIND_R   ? g->real
	          : kinds & KIND_I ? DT_I64
	          : kinds & KIND_C ? dtype_complex_of(g->real)
	                           : DT_BOOL;
	if (!choose_if(g, KIND_ALL, 0, MAX_RANK, &v)) v = (V){build_f64(g->b, 0.5), 0.5};
	Dim dims[MAX_RANK];
	for (uint32_t k = 0; k < rank_from; k++) {
		dims[k] = any_dim(g);
		if (!affordable(g, k + 1, dims)) dims[k] = small_dim(g, 2, 4);
	}
	return fit(g, as_dtype(g, v, d), rank_from, dims);
}

V partner(Gen *g, V x, unsigned kinds) {
	Type t = type_at(g, x.ref);
	V y;
	if (chance(g, 50) && choose_type(g, type_id_at(g, x.ref), &y)) return y;
	if (!choose_if(g, kinds, 0, 3, &y)) y = x;
	return fit(g, as_dtype(g, y, (Dtype)t.dtype), t.rank, t.dims);
}

/* ---- building blocks ----------------------------------------------------- */

AttrId words(Gen *g, uint32_t n, const int64_t *w) { return attr_intern(g->c, w, n); }

V apply1(Gen *g, Op op, V x) { return (V){build1(g->b, op, x.ref), x.mag}; }

V apply2(Gen *g, Op op, V x, V y) {
	double mag = fmax(x.mag, y.mag);
	if (op == OP_ADD || op == OP_SUB) mag = x.mag + y.mag;
	if (op == OP_MUL)
		mag = (dtype_is_complex((Dtype)type_at(g, x.ref).dtype) ? 2 : 1) * x.mag * y.mag;
	return (V){build2(g->b, op, x.ref, y.ref), mag};
}

V konst(Gen *g, TypeId like, double x) { return (V){build_full(g->b, like, x), fabs(x)}; }

V times(Gen *g, V x, double by) { return apply2(g, OP_MUL, x, konst(g, type_id_at(g, x.ref), by)); }

V shifted(Gen *g, V x, double by) {
	return apply2(g, OP_ADD, x, konst(g, type_id_at(g, x.ref), by));
}

static V tame_real(Gen *g, V x, double limit) {
	TypeId t = type_id_at(g, x.ref);
	V y;
	switch (below(g, x.mag < 1e9 ? 6 : 4)) {
	case 0: /* the result would depend on the last digits of a large number */
		y = apply1(g, x.mag < 30 ? OP_SIN : OP_ERF, x);
		break;
	case 1: y = apply1(g, OP_ATAN, x), limit /= 1.6; break;
	case 2:
		y = apply2(g, OP_MIN, x, konst(g, t, limit));
		y = apply2(g, OP_MAX, y, konst(g, t, -limit));
		y.mag = limit;
		return y;
	case 3: y = apply1(g, OP_TANH, x); break;
	default: {
		double by = limit / x.mag;
		y = times(g, x, by);
		y.mag = limit;
		return y;
	}
	}
	if (limit != 1) y = times(g, y, limit);
	y.mag = limit;
	return y;
}

V tame(Gen *g, V x, double limit) {
	Type t = type_at(g, x.ref);
	if (t.dtype == DT_BOOL) return x;
	if (dtype_is_int((Dtype)t.dtype)) {
		/* OP_MOD also makes negative numbers nonnegative */
		V y = apply2(g, OP_MOD, x, konst(g, type_id_at(g, x.ref), floor(limit)));
		y.mag = limit;
		return y;
	}
	if (x.mag <= limit || (g->wild && chance(g, 50))) return x;
	if (dtype_is_real((Dtype)t.dtype)) return tame_real(g, x, limit);
	if (x.mag < 1e9) {
		V y = times(g, x, limit / x.mag);
		y.mag = limit;
		return y;
	}
	V re = tame_real(g, apply1(g, OP_REAL, x), limit);
	return (V){build_convert(g->b, re.ref, (Dtype)t.dtype), limit};
}

V positive(Gen *g, V x) {
	V y = x;
	switch (below(g, 4)) {
	case 0:
		y = tame(g, x, 20);
		y = apply2(g, OP_MUL, y, y);
		break;
	case 1:
		y = apply1(g, OP_EXP, tame(g, x, 2));
		y.mag = 8;
		break;
	case 2: {
		TypeId t = type_id_at(g, x.ref);
		y = apply2(g, OP_MAX, x, konst(g, t, 0));
		y.mag = x.mag;
		break;
	}
	default: y = apply1(g, OP_ABS, x); break;
	}
	return shifted(g, y, between(g, 0.25, 1.5));
}

/* Inputs and constants are integers or short decimals, which can hit a jump of
 * floor or a comparison exactly; then roundings would decide. */
V generic(Gen *g, V x) {
	return shifted(g, times(g, x, between(g, 0.7, 1.9) + 0.00031415926), 0.13717421248);
}

V as_dtype(Gen *g, V x, Dtype d) {
	Type t = type_at(g, x.ref);
	Dtype from = (Dtype)t.dtype;
	if (from == d) return x;
	if (from == DT_BOOL) return (V){build_convert(g->b, x.ref, d), 1};
	if (dtype_is_complex(from) && !dtype_is_complex(d)) {
		Op part = chance(g, 70) ? OP_REAL : OP_IMAG;
		return as_dtype(g, apply1(g, part, x), d);
	}
	if (d == DT_BOOL) {
		if (dtype_is_int(from)) return (V){build_convert(g->b, x.ref, d), 1};
		TypeId like = type_id_at(g, x.ref);
		return (V){build2(g->b, OP_LT, konst(g, like, 0.13717421248).ref, x.ref), 1};
	}
	if (dtype_is_int(from)) {
		if (d == DT_I64 || (d == DT_I32 && x.mag < 1e9))
			return (V){build_convert(g->b, x.ref, d), x.mag};
		if (x.mag > 100) x = tame(g, x, 23);
		return (V){build_convert(g->b, x.ref, d), x.mag};
	}
	if (dtype_is_int(d)) {
		x = generic(g, tame(g, x, 30));
		return (V){build_convert(g->b, x.ref, d), x.mag};
	}
	return (V){build_convert(g->b, x.ref, d), x.mag};
}

V reduced(Gen *g, Op op, V x, uint32_t n, const int *axes) {
	Type t = type_at(g, x.ref);
	double count = 1;
	for (uint32_t k = 0; k < n; k++) count *= (double)most(g, t.dims[axes[k]]);
	double mag = x.mag;
	if (op == OP_REDUCE_SUM) mag *= count;
	if (op == OP_REDUCE_PROD) mag = pow(fmax(1, x.mag), count);
	return (V){build_reduce(g->b, op, x.ref, n, axes), mag};
}

V sliced(Gen *g, V x, int axis, Dim start, Dim length, int64_t stride) {
	Type t = type_at(g, x.ref);
	Dim starts[MAX_RANK], lengths[MAX_RANK];
	int64_t strides[MAX_RANK];
	for (int k = 0; k < t.rank; k++) {
		starts[k] = k == axis ? start : dim_const(g->c, 0);
		lengths[k] = k == axis ? length : t.dims[k];
		strides[k] = k == axis ? stride : 1;
	}
	return (V){build_slice(g->b, x.ref, starts, lengths, strides), x.mag};
}

static int64_t least_of_axes(const Gen *g, const Type *t, uint32_t n, const int *axes) {
	int64_t low = INT64_MAX;
	for (uint32_t k = 0; k < n; k++) {
		int64_t v = least(g, t->dims[axes[k]]);
		if (v < low) low = v;
	}
	return low;
}

V drop_axes(Gen *g, V x, uint32_t n, const int *axes) {
	if (!n) return x;
	Type t = type_at(g, x.ref);
	int64_t low = least_of_axes(g, &t, n, axes);
	if (t.dtype == DT_BOOL) {
		if (low >= 1) return reduced(g, chance(g, 50) ? OP_REDUCE_MAX : OP_REDUCE_MIN, x, n, axes);
		Ref as_int = build_convert(g->b, x.ref, DT_I64);
		return as_dtype(g, reduced(g, OP_REDUCE_SUM, (V){as_int, 1}, n, axes), DT_BOOL);
	}
	int way = (int)below(g, low >= 1 ? 6 : 2);
	if (way == 3 && !dtype_is_complex((Dtype)t.dtype)) return reduced(g, OP_REDUCE_MAX, x, n, axes);
	if (way >= 4) { /* one element of each axis */
		for (uint32_t k = n; k-- > 0;) {
			V at = index_into(g, t.dims[axes[k]], 0, NULL);
			x = (V){build_gather(g->b, x.ref, at.ref, axes[k], 0), x.mag};
		}
		return x;
	}
	return reduced(g, OP_REDUCE_SUM, x, n, axes);
}

V fit(Gen *g, V x, uint32_t rank, const Dim *dims) {
	Type t = type_at(g, x.ref);
	int axes[MAX_RANK], drop[MAX_RANK];
	uint32_t nkept = 0, ndrop = 0, from = 0;
	for (uint32_t k = 0; k < t.rank; k++) {
		uint32_t j = from;
		while (j < rank && build_canon(g->b, dims[j]) != t.dims[k]) j++;
		int64_t one;
		/* the axis is broadcast */
		if (j == rank && from < rank && dim_is_const(g->c, t.dims[k], &one) && one == 1) j = from;
		if (j == rank) {
			drop[ndrop++] = (int)k;
			continue;
		}
		axes[nkept++] = (int)j;
		from = j + 1;
	}
	x = drop_axes(g, x, ndrop, drop);
	t = type_at(g, x.ref);
	bool same = t.rank == rank;
	for (uint32_t k = 0; same && k < rank; k++) same = t.dims[k] == build_canon(g->b, dims[k]);
	if (same) return x;
	return (V){build_broadcast(g->b, x.ref, rank, dims, axes), x.mag};
}

V fit_type(Gen *g, V x, TypeId id) {
	Type t = *type_of(g->c, id);
	return as_dtype(g, fit(g, x, t.rank, t.dims), (Dtype)t.dtype);
}

V index_into(Gen *g, Dim length, uint32_t rank, const Dim *dims) {
	TypeId like = type_tensor(g->c, DT_I64, rank, dims);
	int64_t low = least(g, length);
	V k;
	if (!rank && chance(g, 50) && low > 0) {
		int64_t at = below(g, low);
		if (g->failure == FAIL_INDEX && chance(g, 30)) at = most(g, length) + below(g, 4) - 1;
		return (V){build_i64(g->b, at), (double)at};
	}
	if (rank == 1 && chance(g, 40)) {
		k = (V){build_iota(g->b, DT_I64, dims[0]), (double)most(g, dims[0])};
		if (chance(g, 50)) {
			k = times(g, k, (double)(1 + below(g, 3)));
			k = shifted(g, k, (double)below(g, 5));
		}
	} else {
		k = choose(g, KIND_I, 0, 2);
		k = fit(g, as_dtype(g, k, DT_I64), rank, dims);
	}
	if (g->failure == FAIL_INDEX && chance(g, 40)) return k;
	/* An extent that may be 0 has no valid index. The modulus is then 1 and the
	 * index 0, which fails on all engines alike. */
	Ref extent = build_extent(g->b, length);
	if (low < 1) extent = build2(g->b, OP_MAX, extent, build_i64(g->b, 1));
	V y = apply2(g, OP_MOD, k,
	             (V){build_broadcast_scalar(g->b, extent, like), (double)most(g, length)});
	if (chance(g, 15)) y.ref = build_convert(g->b, y.ref, DT_I32);
	return (V){y.ref, (double)most(g, length)};
}

V condition(Gen *g) {
	V v;
	if (chance(g, 30) && choose_if(g, KIND_B, 0, 2, &v)) return fit(g, v, 0, NULL);
	v = fit(g, choose(g, KIND_I | KIND_R, 0, 2), 0, NULL);
	if (!dtype_is_real((Dtype)type_at(g, v.ref).dtype)) {
		V y = konst(g, type_id_at(g, v.ref), (double)below(g, 5) - 2);
		return (V){build2(g->b, chance(g, 50) ? OP_LT : OP_LE, v.ref, y.ref), 1};
	}
	return as_dtype(g, v, DT_BOOL);
}

/* ---- steps --------------------------------------------------------------- */

Scope scope_open(Gen *g, double turns) {
	Scope s = {.npool = g->npool, .depth = g->depth, .turns = g->turns};
	g->depth++;
	g->turns *= turns;
	return s;
}

void scope_close(Gen *g, Scope s) {
	g->npool = s.npool;
	g->depth = s.depth;
	g->turns = s.turns;
}

V latest(Gen *g, const Scope *s) {
	for (uint32_t i = g->npool; i-- > s->npool;) {
		Entry *e = &g->pool[i];
		if (e->uses || !dtype_is_real((Dtype)type_at(g, e->v.ref).dtype)) continue;
		e->uses++;
		return e->v;
	}
	return choose(g, KIND_R, 0, 3);
}

static const StepKind *const all_steps[] = {array_steps, control_steps, pattern_steps};

static const StepKind *draw_kind(Gen *g) {
	int64_t sum = 0;
	for (size_t i = 0; i < sizeof all_steps / sizeof *all_steps; i++)
		for (const StepKind *k = all_steps[i]; k->name; k++) sum += k->weight[g->style];
	int64_t at = below(g, sum);
	for (size_t i = 0; i < sizeof all_steps / sizeof *all_steps; i++)
		for (const StepKind *k = all_steps[i]; k->name; k++)
			if ((at -= k->weight[g->style]) < 0) return k;
	return &array_steps[0];
}

static bool visit(Gen *g, uint64_t name) {
	Plan *p = g->plan;
	for (uint32_t i = 0; i < p->nskipped; i++)
		if (p->skipped[i] == name) return false;
	if (p->nvisited == STEPS_MOST) return false;
	p->visited[p->nvisited++] = name;
	return true;
}

void run_steps(Gen *g, uint64_t name, uint32_t n) {
	const uint64_t rng = g->rng, step = g->step;
	const uint32_t serial = g->serial;
	for (uint32_t i = 0; i < n && build_fn(g->b)->insts.n < INSTS_MOST; i++) {
		uint64_t own = random_mix(name, i + 1);
		if (!visit(g, own)) continue;
		g->step = own;
		g->rng = random_mix(g->plan->seed, own);
		g->serial = 0;
		for (int tries = 0; tries < 5 && !draw_kind(g)->run(g); tries++) {}
	}
	g->rng = rng;
	g->step = step;
	g->serial = serial;
}

/* ---- parameters ---------------------------------------------------------- */

static void add_dim(Gen *g, Dim d) {
	if (g->ndims < DIMS_MOST) g->dims[g->ndims++] = d;
}

/* Draws two sets of extents for the symbols; the second is sometimes large. The
 * extents of a callee are bounded by those of its callers. */
static void draw_lengths(Gen *g, uint32_t nsyms) {
	static const int64_t shortest = DIM_SMALL + 1;
	bool huge = !g->callee && chance(g, 3), large = !huge && !g->callee && chance(g, 12);
	for (uint32_t s = 0; s < nsyms; s++) {
		for (int set = 0; set < SETS; set++) {
			int64_t n = shortest + below(g, chance(g, 50) ? 8 : 54);
			if (set == 1 && s == 0 && large) n = 1000 + below(g, 30);
			if (set == 1 && s == 0 && huge) n = 66000 + below(g, 5000);
			if (g->callee) n = set ? 71 : shortest;
			if (g->plan->small) n = shortest + (set && s == 0);
			g->lengths[set][s] = n;
		}
	}
	g->cap = huge ? 300000 : large ? 60000 : 20000;
	if (g->callee) g->cap = 8000;
	/* the guard holds in the first set and may fail in the second */
	if (g->failure == FAIL_GUARD && nsyms > 1) g->lengths[0][1] = g->lengths[0][0];
}

static void add_param(Gen *g, Dtype d, uint32_t rank, const Dim *dims) {
	if (fn_nparams(build_fn(g->b)) == PARAMS_MOST || count_most(g, rank, dims) > g->cap) return;
	Ref r = build_param(g->b, type_tensor(g->c, d, rank, dims), 0);
	double mag = d == DT_BOOL ? 1 : g->wild ? INFINITY : dtype_is_int(d) ? 9 : 2;
	g->step = random_mix(1000, fn_nparams(build_fn(g->b)));
	g->serial = 0;
	put(g, (V){r, mag});
}

static Dtype draw_dtype(Gen *g) {
	int64_t k = below(g, 100);
	if (k < 68) return g->real;
	if (k < 76) return g->real == DT_F64 ? DT_F32 : DT_F64;
	if (k < 85) return DT_I64;
	if (k < 90) return DT_I32;
	if (k < 96) return DT_BOOL;
	return chance(g, 70) ? DT_C128 : DT_C64;
}

static void add_params(Gen *g, uint32_t nsyms) {
	const Dim first = nsyms ? g->dims[0] : dim_const(g->c, 5);
	for (uint32_t s = 0; s < nsyms; s++) { /* parameters that define the symbols */
		Dim dims[3] = {g->dims[s], small_dim(g, 1, 7), g->dims[s]};
		uint32_t shape = (uint32_t)below(g, 4);
		if (s == 0 && g->style != STYLE_ARRAYS && chance(g, 60)) shape = 1;
		if (shape == 0 || shape == 3) add_param(g, g->real, 1, dims);
		else add_param(g, g->real, 2, dims + (shape == 2));
		/* the matrix was too large */
		if (fn_nparams(build_fn(g->b)) <= s) add_param(g, g->real, 1, dims);
	}
	add_param(g, g->real, 0, NULL);
	uint32_t more = 1 + (uint32_t)below(g, g->callee ? 2 : 5);
	for (uint32_t k = 0; k < more; k++) {
		Dim dims[3];
		uint32_t rank = (uint32_t)below(g, 4);
		for (uint32_t i = 0; i < rank; i++) dims[i] = chance(g, 45) ? symbol_dim(g) : any_dim(g);
		if (rank == 2 && chance(g, 40)) dims[0] = first;
		Dtype d = draw_dtype(g);
		if (g->style == STYLE_LAYERS && chance(g, 50)) { /* weights */
			rank = 2;
			d = g->real;
			dims[0] = small_dim(g, 2, 7);
			dims[1] = small_dim(g, 2, 7);
		}
		add_param(g, d, rank, dims);
	}
	if (!g->callee && chance(g, 50)) add_param(g, DT_I64, 0, NULL);
}

/* Adds symbols first, then extents derived from them, then constants. */
static void draw_dims(Gen *g, uint32_t nsyms) {
	static const char *const names[] = {"n", "m", "k"};
	for (uint32_t s = 0; s < nsyms; s++) add_dim(g, build_fresh_dim(g->b, atom(g->c, names[s]), 0));
	for (uint32_t s = 0; s < nsyms; s++) {
		if (chance(g, 25)) add_dim(g, plus(g, g->dims[s], -1));
		if (chance(g, 15)) add_dim(g, plus(g, g->dims[s], 2));
		if (chance(g, 10)) add_dim(g, dim_mul(g->c, g->dims[s], dim_const(g->c, 2)));
	}
	/* Code treats constants above DIM_SMALL like extents. */
	uint32_t numbers = 2 + (uint32_t)below(g, 3);
	for (uint32_t k = 0; k < numbers; k++)
		add_dim(g, chance(g, 25) && !g->plan->small ? small_dim(g, 8, 2 * DIM_SMALL + 8)
		                                            : small_dim(g, 1, 7));
}

/* ---- results ------------------------------------------------------------- */

static uint32_t choose_results(Gen *g, Ref *out) {
	uint32_t n = 0, most_of = 1 + (uint32_t)below(g, 4);
	bool real = false;
	for (uint32_t i = g->npool; i-- > 0 && n < most_of;) {
		if (g->pool[i].uses || !chance(g, 80)) continue;
		out[n++] = g->pool[i].v.ref;
		real |= dtype_is_real((Dtype)type_at(g, g->pool[i].v.ref).dtype);
	}
	for (uint32_t i = g->npool; i-- > 0 && !real;) { /* at least one differentiable result */
		if (!dtype_is_real((Dtype)type_at(g, g->pool[i].v.ref).dtype)) continue;
		out[n++] = g->pool[i].v.ref;
		real = true;
	}
	if (chance(g, 25)) { /* a scalar, for gradients */
		V sum = drop_axes(g, (V){out[n - 1], 1}, 0, NULL);
		Type t = type_at(g, sum.ref);
		int axes[MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
		if (dtype_is_real((Dtype)t.dtype))
			out[n - 1] = build_reduce(g->b, OP_REDUCE_SUM, out[n - 1], t.rank, axes);
	}
	if (g->token != REF_NONE) out[n++] = g->token;
	if (g->plan->result >= 0 && (uint32_t)g->plan->result < n && !g->callee) {
		out[0] = out[g->plan->result];
		return 1;
	}
	return n;
}

/* ---- whole functions ----------------------------------------------------- */

static Fn *make_function(Gen *g, uint64_t name, uint32_t nsteps) {
	const char *called = g->callee ? "part" : "program";
	g->b = build_begin(g->c, atom_f(g->c, "%s%u", called, g->ncallees), 0, NULL);
	g->npool = g->ndims = g->depth = 0;
	g->turns = 1;
	g->token = REF_NONE;
	g->step = g->rng = random_mix(g->plan->seed, name);
	uint32_t nsyms = chance(g, 5) && !g->callee ? 0 : 1 + (uint32_t)below(g, g->callee ? 2 : 3);
	for (int set = 0; set < SETS; set++)
		for (uint32_t s = 0; s < SYMS_MOST; s++) g->lengths[set][s] = -1;
	draw_lengths(g, nsyms);
	draw_dims(g, nsyms);
	add_params(g, nsyms);
	g->step = random_mix(name, 2000);
	g->rng = random_mix(g->plan->seed, g->step);
	uint64_t after = random_mix(g->rng, 3);
	run_steps(g, name, nsteps);
	g->rng = after;
	Ref results[RESULTS_MOST];
	uint32_t n = choose_results(g, results);
	Fn *f = build_end(g->b, n, results);
	g->b = NULL;
	return f;
}

void generate(Ctx *c, Plan *plan, Sample *out) {
	Gen *g = ARENA_NEW(ctx_arena(c), Gen);
	*g = (Gen){.c = c, .plan = plan, .program = out, .rng = random_mix(plan->seed, 7)};
	plan->nvisited = 0;
	*out = (Sample){.fn = NULL};
	g->real = chance(g, 78) ? DT_F64 : DT_F32;
	g->style = (Style)below(g, STYLE_COUNT);
	out->wild = g->wild = chance(g, 5);
	Failure failure = chance(g, 16) ? (Failure)(1 + below(g, 4)) : FAIL_NONE;
	uint32_t ncallees = chance(g, 35) ? 1 + (uint32_t)below(g, 2) : 0;
	int64_t size = 5 + below(g, 10);
	if (chance(g, 60)) size += below(g, 16);
	if (chance(g, 20)) size += below(g, 30);
	if (plan->part) size = 2 + size / plan->part;
	int64_t bounds[SETS][SYMS_MOST];
	g->lengths = bounds;
	g->callee = true;
	for (uint32_t k = 0; k < ncallees; k++) {
		Fn *f = make_function(g, 100 + k, plan->part > 3 ? 2 : 2 + (uint32_t)below(g, 5));
		g->callees[g->ncallees++] = f;
		g->rng = random_mix(plan->seed, 8 + k);
	}
	g->callee = false;
	g->failure = failure;
	g->lengths = out->lengths;
	out->fn = make_function(g, 1, (uint32_t)size);
	/* the calls hold their own references */
	for (uint32_t k = 0; k < g->ncallees; k++) fn_unref(g->callees[k]);
}
