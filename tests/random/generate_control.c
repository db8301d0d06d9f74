/* generate_control.c - steps with regions, calls or effects.
 *
 * If, for, while, try, calls, recursion, boxed values, output.
 *
 * Needs: generate_internal.h.
 *
 * Guarantees:
 * - Every loop ends: trip counts are small or extents, and the condition of a
 *   while loop has a counter.
 * - Loop-carried values stay bounded for any trip count.
 */
#include "tests/random/generate_internal.h"

enum { CARRIED_MOST = 4 };

static bool too_deep(const Gen *g) { return g->depth >= REGION_DEPTH || g->turns > 60; }

static uint32_t inner_steps(Gen *g) { return 1 + (uint32_t)below(g, g->depth ? 3 : 6); }

/* ---- branches ------------------------------------------------------------ */

/* Builds a region without parameters that yields one value of each type, made
 * by its steps. */
static RegionId branch(Gen *g, uint64_t name, uint32_t n, const TypeId *types, const V *plain) {
	OpenRegion *r = build_region_begin(g->b, 0, NULL, NULL);
	Scope s = scope_open(g, 1);
	run_steps(g, random_mix(g->step, name), (uint32_t)below(g, 4));
	Ref out[CARRIED_MOST];
	for (uint32_t k = 0; k < n; k++) {
		V v = chance(g, 25) ? plain[k] : latest(g, &s);
		out[k] = fit_type(g, tame(g, v, 8), types[k]).ref;
	}
	scope_close(g, s);
	return build_region_end(g->b, r, n, out);
}

static bool step_if(Gen *g) {
	if (too_deep(g)) return false;
	V c = condition(g), plain[CARRIED_MOST] = {{0}};
	TypeId types[CARRIED_MOST] = {0};
	Ref out[CARRIED_MOST];
	uint32_t n = 1 + (uint32_t)below(g, 2);
	for (uint32_t k = 0; k < n; k++) {
		plain[k] = choose(g, chance(g, 90) ? KIND_R : KIND_NUMBER, 0, 2);
		types[k] = type_id_at(g, plain[k].ref);
	}
	RegionId yes = branch(g, 11, n, types, plain), no = branch(g, 12, n, types, plain);
	build_if(g->b, c.ref, yes, no, out);
	for (uint32_t k = 0; k < n; k++) put(g, (V){out[k], fmax(8, plain[k].mag)});
	return true;
}

/* Branches with results of different extents, which only the run determines. */
static bool step_if_lengths(Gen *g) {
	V x, plain;
	if (too_deep(g) || !choose_if(g, KIND_R, 1, 2, &x)) return false;
	Dim d = type_at(g, x.ref).dims[0], none = dim_const(g->c, 0);
	if (least(g, d) < 6) return false;
	V c = condition(g);
	plain = x;
	Ref part[2], out;
	RegionId regions[2];
	for (int k = 0; k < 2; k++) {
		OpenRegion *r = build_region_begin(g->b, 0, NULL, NULL);
		V y = k ? times(g, plain, 0.5) : plain;
		part[k] = sliced(g, y, 0, none, plus(g, d, -1 - k - below(g, 3)), 1).ref;
		regions[k] = build_region_end(g->b, r, 1, &part[k]);
	}
	build_if(g->b, c.ref, regions[0], regions[1], &out);
	V v = {out, x.mag};
	put(g, apply1(g, OP_TANH, v));
	put(g, reduced(g, OP_REDUCE_SUM, v, 1, (int[]){0}));
	return true;
}

/* An index that may be out of range, and a fallback. */
static bool step_try(Gen *g) {
	V x;
	if (too_deep(g) || !choose_if(g, KIND_R, 1, 2, &x)) return false;
	Type t = type_at(g, x.ref);
	V k = fit(g, as_dtype(g, choose(g, KIND_I, 0, 1), DT_I64), 0, NULL);
	Ref out;
	OpenRegion *r = build_region_begin(g->b, 0, NULL, NULL);
	Scope s = scope_open(g, 1);
	if (chance(g, 50)) run_steps(g, random_mix(g->step, 13), 1);
	scope_close(g, s);
	out = build_gather(g->b, x.ref, k.ref, 0, 0);
	RegionId body = build_region_end(g->b, r, 1, &out);
	TypeId dyn = type_dyn(g->c), row = type_tensor(g->c, (Dtype)t.dtype, t.rank - 1u, t.dims + 1);
	Ref message;
	r = build_region_begin(g->b, 1, &dyn, &message);
	out = konst(g, row, -1).ref;
	RegionId handler = build_region_end(g->b, r, 1, &out);
	build_try(g->b, body, handler, &out);
	put(g, (V){out, fmax(1, x.mag)});
	return true;
}

/* error("...") in one of two branches. */
static bool step_fail(Gen *g) {
	if (g->failure != FAIL_USER || g->depth > 1) return false;
	V c = condition(g), x = choose(g, KIND_R, 0, 2), y;
	Value text = value_string(g->c, "stop here", 9);
	if (text.kind == V_UNSET) ctx_throw(g->c, ST_NOMEM);
	Ref message = build_const(g->b, text), out;
	value_unref(text);
	OpenRegion *r = build_region_begin(g->b, 0, NULL, NULL);
	if (chance(g, 30))
		message = build(g->b, OP_FORMAT, 1, (Ref[]){c.ref},
		                words(g, 1, (int64_t[]){atom(g->c, "because {0}")}), NULL);
	build(g->b, OP_FAIL, 1, &message, words(g, 1, (int64_t[]){E_USER}), NULL);
	RegionId stop = build_region_end(g->b, r, 1, &x.ref);
	r = build_region_begin(g->b, 0, NULL, NULL);
	y = times(g, x, 0.75);
	RegionId on = build_region_end(g->b, r, 1, &y.ref);
	build_if(g->b, c.ref, stop, on, &out);
	put(g, (V){out, x.mag});
	return true;
}

/* ---- loops --------------------------------------------------------------- */

enum { LOOP_BOUND = 8 }; /* bound of carried floats */

typedef struct Carried {
	uint32_t n;
	V init[CARRIED_MOST];
	TypeId types[CARRIED_MOST];
} Carried;

static void choose_carried(Gen *g, Carried *k) {
	k->n = 1 + (uint32_t)below(g, 3);
	for (uint32_t i = 0; i < k->n; i++) {
		unsigned kinds = chance(g, 92) ? KIND_R : KIND_NUMBER;
		uint32_t rank = chance(g, 60) ? 1 : 2;
		V v = choose(g, kinds, 0, rank);
		if (i && chance(g, 35)) v = fit_type(g, choose(g, KIND_R, 0, 2), k->types[0]);
		k->init[i] = tame(g, v, LOOP_BOUND);
		k->types[i] = type_id_at(g, v.ref);
	}
}

/* x[i mod n] = or += a value. */
static V update_at(Gen *g, V x, V i, const Scope *s) {
	Type t = type_at(g, x.ref);
	Ref extent = build_extent(g->b, t.dims[0]);
	V at = apply2(g, OP_MOD, i, (V){extent, (double)most(g, t.dims[0])});
	V u = fit(g, as_dtype(g, latest(g, s), (Dtype)t.dtype), t.rank - 1u, t.dims + 1);
	bool add = chance(g, 40);
	u = tame(g, u, add ? 1 : LOOP_BOUND);
	if (add) { /* halves the old value, so that it stays bounded */
		V old = {build_gather(g->b, x.ref, at.ref, 0, 0), x.mag};
		u = apply2(g, OP_SUB, u, times(g, old, 0.5));
	}
	return (V){
		build_scatter(g->b, add ? OP_SCATTER_ADD : OP_SCATTER_SET, x.ref, at.ref, u.ref, 0, 0),
		LOOP_BOUND};
}

/* Returns carried value k after an iteration. */
static Ref next_value(Gen *g, const Carried *c, uint32_t k, const Ref *now, V i, const Scope *s) {
	V x = {now[k], LOOP_BOUND};
	Type t = type_at(g, x.ref);
	bool real = dtype_is_real((Dtype)t.dtype);
	uint32_t other = (k + 1) % c->n;
	switch (below(g, 8)) {
	case 0:
		if (chance(g, 40)) return x.ref;
		break;
	case 1:
		if (c->types[other] == c->types[k]) return now[other];
		break;
	case 2:
	case 3:
	case 4:
		if (t.rank && real && chance(g, 40)) {
			V y = draw_update(g, x, LOOP_BOUND);
			return chance(g, 40) ? draw_update(g, y, LOOP_BOUND).ref : y.ref;
		}
		if (t.rank && real && least(g, t.dims[0]) > 0) return update_at(g, x, i, s).ref;
		break;
	default: break;
	}
	V v = fit_type(g, latest(g, s), c->types[k]);
	if (!real) return tame(g, apply2(g, OP_ADD, x, v), LOOP_BOUND).ref;
	x = times(g, x, 0.5);
	v = times(g, tame(g, v, LOOP_BOUND), 0.5);
	return apply2(g, OP_ADD, x, v).ref;
}

static bool step_for(Gen *g) {
	if (too_deep(g)) return false;
	Carried c;
	choose_carried(g, &c);
	Ref count;
	double turns = (double)below(g, 7);
	int64_t way = below(g, 10);
	if (way < 2 && g->depth == 0) { /* the extent of an axis */
		Dim d = symbol_dim(g);
		count = build_extent(g->b, d);
		turns = (double)most(g, d);
	} else if (way < 4) { /* a computed trip count */
		V k = tame(g, as_dtype(g, fit(g, choose(g, KIND_I, 0, 1), 0, NULL), DT_I64), 6);
		count = shifted(g, k, -1).ref;
		turns = 6;
	} else {
		count = build_i64(g->b, (int64_t)turns);
	}
	if (turns > 200) return false;
	TypeId types[CARRIED_MOST + 1] = {type_scalar(g->c, DT_I64)};
	Ref params[CARRIED_MOST + 1], out[CARRIED_MOST], init[CARRIED_MOST];
	for (uint32_t k = 0; k < c.n; k++) {
		types[k + 1] = c.types[k];
		init[k] = c.init[k].ref;
	}
	OpenRegion *r = build_region_begin(g->b, c.n + 1, types, params);
	Scope s = scope_open(g, fmax(1, turns));
	V i = {params[0], turns};
	put(g, i);
	for (uint32_t k = 0; k < c.n; k++) put(g, (V){params[k + 1], LOOP_BOUND});
	Scope made = s;
	made.npool = g->npool;
	run_steps(g, random_mix(g->step, 21), inner_steps(g));
	for (uint32_t k = 0; k < c.n; k++) out[k] = next_value(g, &c, k, params + 1, i, &made);
	scope_close(g, s);
	RegionId body = build_region_end(g->b, r, c.n, out);
	build_for(g->b, count, c.n, init, body, out);
	for (uint32_t k = 0; k < c.n; k++) put(g, (V){out[k], LOOP_BOUND});
	return true;
}

/* A counter, a limit, and sometimes a second exit condition. */
static bool step_while(Gen *g) {
	if (too_deep(g)) return false;
	Carried c;
	choose_carried(g, &c);
	V limit = tame(g, as_dtype(g, fit(g, choose(g, KIND_I, 0, 1), 0, NULL), DT_I64), 6);
	TypeId types[CARRIED_MOST + 1] = {type_scalar(g->c, DT_I64)};
	Ref params[CARRIED_MOST + 1], out[CARRIED_MOST + 1],
		init[CARRIED_MOST + 1] = {build_i64(g->b, 0)};
	for (uint32_t k = 0; k < c.n; k++) {
		types[k + 1] = c.types[k];
		init[k + 1] = c.init[k].ref;
	}
	OpenRegion *r = build_region_begin(g->b, c.n + 1, types, params);
	Scope s = scope_open(g, 6);
	Ref more = build2(g->b, OP_LT, params[0], limit.ref);
	if (chance(g, 40)) {
		V x = fit(g, (V){params[1], LOOP_BOUND}, 0, NULL);
		if (dtype_is_real((Dtype)type_at(g, x.ref).dtype)) {
			TypeId t = type_id_at(g, x.ref);
			Ref near_enough = build2(g->b, OP_LT, konst(g, t, -3.0137).ref, x.ref);
			more = build2(g->b, OP_MIN, more, near_enough);
		}
	}
	scope_close(g, s);
	RegionId cond = build_region_end(g->b, r, 1, &more);
	r = build_region_begin(g->b, c.n + 1, types, params);
	s = scope_open(g, 6);
	V i = {params[0], 6};
	put(g, i);
	for (uint32_t k = 0; k < c.n; k++) put(g, (V){params[k + 1], LOOP_BOUND});
	Scope made = s;
	made.npool = g->npool;
	run_steps(g, random_mix(g->step, 22), inner_steps(g));
	for (uint32_t k = 0; k < c.n; k++) out[k + 1] = next_value(g, &c, k, params + 1, i, &made);
	out[0] = build2(g->b, OP_ADD, params[0], build_i64(g->b, 1));
	scope_close(g, s);
	RegionId body = build_region_end(g->b, r, c.n + 1, out);
	build_while(g->b, c.n + 1, init, cond, body, out);
	put(g, (V){out[0], 6});
	for (uint32_t k = 0; k < c.n; k++) put(g, (V){out[k + 1], LOOP_BOUND});
	return true;
}

/* An array that grows by a row in each iteration. */
static bool step_for_push(Gen *g) {
	if (too_deep(g)) return false;
	V row = tame(g, choose(g, KIND_R, 0, 1), 4);
	Type t = type_at(g, row.ref);
	Dim dims[MAX_RANK] = {dim_const(g->c, 1)}, grown[MAX_RANK];
	for (uint32_t k = 0; k < t.rank; k++) dims[k + 1] = t.dims[k];
	memcpy(grown, dims, sizeof dims);
	grown[0] = born_dim(g, 8);
	Ref init[2] = {build_reshape(g->b, row.ref, t.rank + 1u, dims), row.ref}, params[3], out[2];
	TypeId types[3] = {type_scalar(g->c, DT_I64),
	                   type_tensor(g->c, (Dtype)t.dtype, t.rank + 1u, grown),
	                   type_id_at(g, row.ref)};
	OpenRegion *r = build_region_begin(g->b, 3, types, params);
	V next = {params[2], 4}, i = as_dtype(g, (V){params[0], 6}, (Dtype)t.dtype);
	next = apply1(g, OP_COS, next);
	next = tame(g, apply2(g, OP_ADD, next, fit(g, i, t.rank, t.dims)), 4);
	out[0] = build2(g->b, OP_PUSH, params[1], next.ref);
	out[1] = next.ref;
	RegionId body = build_region_end(g->b, r, 2, out);
	V k = tame(g, as_dtype(g, fit(g, choose(g, KIND_I, 0, 1), 0, NULL), DT_I64), 6);
	build_for(g->b, chance(g, 50) ? k.ref : build_i64(g->b, below(g, 5)), 2, init, body, out);
	V all = {out[0], 4};
	put(g, apply1(g, OP_SIN, all));
	all.mag = 4 * 8;
	put(g, (V){build_reduce(g->b, OP_REDUCE_SUM, all.ref, 1, (int[]){0}), 32});
	return true;
}

/* ---- calls --------------------------------------------------------------- */

/* Chooses an extent for a callee's symbol, not smaller than the callee
 * requires. Returns false when there is none. */
static bool dim_for_callee(Gen *g, Dim *out) {
	for (int tries = 0; tries < 4 && !g->depth; tries++) {
		*out = any_dim(g);
		if (least(g, *out) >= 16) return true;
	}
	*out = symbol_dim(g);
	return least(g, *out) >= 16;
}

static bool step_call(Gen *g) {
	if (!g->ncallees || g->callee) return false;
	Fn *f = g->callees[below(g, g->ncallees)];
	Dim map[SYMS_MOST];
	uint32_t nsyms = f->syms.n < SYMS_MOST ? f->syms.n : SYMS_MOST;
	for (uint32_t s = 0; s < nsyms; s++)
		if (!dim_for_callee(g, &map[s])) return false;
	if (nsyms && most(g, map[0]) * g->turns > 1500) return false;
	Ref args[PARAMS_MOST], out[RESULTS_MOST];
	for (uint32_t k = 0; k < fn_nparams(f); k++) {
		TypeId t = type_subst(g->c, ref_type(f, fn_param(f, k)), map, nsyms);
		Type ty = *type_of(g->c, t);
		V v;
		if (!affordable(g, ty.rank, ty.dims)) return false;
		if (!choose_type(g, t, &v))
			v = fit_type(
				g, choose(g, 1u << (dtype_kind((Dtype)ty.dtype) == KIND_C ? 2 : 1) | KIND_R, 0, 2),
				t);
		args[k] = tame(g, v, dtype_kind((Dtype)ty.dtype) & KIND_I ? 9 : 2).ref;
	}
	if (chance(g, 80)) build_call(g->b, f, fn_nparams(f), args, out);
	else build_inline(g->b, f, args, out);
	for (uint32_t k = 0; k < fn_nresults(f); k++) put(g, tame(g, (V){out[k], 1e5}, 100));
	return true;
}

/* r(k, x) = if k <= 0 then x else r(k - 1, sin(x) * a + k), as a separate
 * function. */
static bool step_recursion(Gen *g) {
	V x = tame(g, choose(g, KIND_R, 0, 2), 4), k;
	if (g->depth || g->callee) return false;
	Type t = type_at(g, x.ref);
	k = fit(g, as_dtype(g, choose(g, KIND_I, 0, 1), DT_I64), 0, NULL);
	k = tame(g, k, 7);
	double a = between(g, 0.5, 1.5);
	Builder *b = build_begin(g->c, atom(g->c, "again"), 0, NULL);
	Fn *self = build_fn(b);
	Dim dims[MAX_RANK];
	int64_t unused;
	for (uint32_t i = 0; i < t.rank; i++)
		dims[i] = dim_is_const(g->c, t.dims[i], &unused) ? t.dims[i] : build_fresh_dim(b, 0, 0);
	TypeId own = type_tensor(g->c, (Dtype)t.dtype, t.rank, dims);
	Ref n = build_param(b, type_scalar(g->c, DT_I64), 0), y = build_param(b, own, 0), out;
	Ref done = build2(b, OP_LE, n, build_i64(b, 0));
	OpenRegion *r = build_region_begin(b, 0, NULL, NULL);
	RegionId yes = build_region_end(b, r, 1, &y);
	r = build_region_begin(b, 0, NULL, NULL);
	Ref z = build1(b, OP_SIN, y);
	z = build2(b, OP_MUL, z, build_full(b, own, a));
	z = build2(b, OP_ADD, z, build_broadcast_scalar(b, build_convert(b, n, (Dtype)t.dtype), own));
	Ref args[2] = {build2(b, OP_SUB, n, build_i64(b, 1)), z};
	build_typed(b, OP_CALL, 2, args, attr_intern(g->c, (int64_t[]){self->id}, 1), 1, &own, &out);
	RegionId no = build_region_end(b, r, 1, &out);
	build_if(b, done, yes, no, &out);
	Fn *f = build_end(b, 1, &out);
	build_call(g->b, f, 2, (Ref[]){k.ref, x.ref}, &out);
	fn_unref(f);
	put(g, (V){out, 10});
	return true;
}

/* ---- dynamic values and output ------------------------------------------- */

/* Boxes one of two arrays. With a single one the builder would simplify the box
 * away. */
static bool step_box(Gen *g) {
	V x = choose(g, KIND_ALL, 0, 2), y = partner(g, x, KIND_ALL), c = condition(g);
	Ref dyn, hole = build_const(g->b, (Value){.kind = V_UNSET});
	RegionId regions[2];
	for (int k = 0; k < 2; k++) {
		OpenRegion *r = build_region_begin(g->b, 0, NULL, NULL);
		dyn = build(g->b, OP_BOX, 2, (Ref[]){hole, k ? y.ref : x.ref}, 0, NULL);
		regions[k] = build_region_end(g->b, r, 1, &dyn);
	}
	build_if(g->b, c.ref, regions[0], regions[1], &dyn);
	TypeId t = type_id_at(g, x.ref);
	Ref out = build_typed(g->b, OP_UNBOX, 1, &dyn, words(g, 1, (int64_t[]){t}), 1, &t, NULL);
	put(g, (V){out, fmax(x.mag, y.mag)});
	return true;
}

/* Prints integers only: the digits of a float would show its rounding. */
static bool step_print(Gen *g) {
	if (g->depth || g->callee) return false;
	V x = choose(g, KIND_B | KIND_I, 0, 1);
	Ref text =
		build(g->b, OP_FORMAT, 1, &x.ref, words(g, 1, (int64_t[]){atom(g->c, "x = {0}")}), NULL);
	TypeId token = type_token(g->c);
	if (g->token == REF_NONE) g->token = build_typed(g->b, OP_START, 0, NULL, 0, 1, &token, NULL);
	g->token = build(g->b, OP_PRINT, 2, (Ref[]){g->token, text}, 0, NULL);
	g->program->prints = true;
	return true;
}

/*                                         mixed rows loops arrays layers */
const StepKind control_steps[] = {
	{"if", step_if, {7, 4, 10, 4, 3}},
	{"if_lengths", step_if_lengths, {1, 0, 1, 2, 0}},
	{"try", step_try, {1, 0, 1, 1, 0}},
	{"fail", step_fail, {10, 10, 10, 10, 10}},
	{"for", step_for, {8, 5, 24, 4, 5}},
	{"for_push", step_for_push, {1, 0, 2, 1, 0}},
	{"while", step_while, {4, 2, 10, 2, 2}},
	{"call", step_call, {12, 10, 10, 8, 8}},
	{"recursion", step_recursion, {1, 1, 1, 1, 1}},
	{"box", step_box, {1, 1, 1, 1, 1}},
	{"print", step_print, {1, 0, 1, 0, 0}},
	{NULL, NULL, {0}},
};
