/* infer_control.c - the type rules of extents, control flow, calls, dynamic
 * values and effects.
 *
 * Needs: builder/internal.h.
 *
 * Contract: as in infer.c. The result types of control flow and calls may have
 * fresh symbols; builder/control.c creates these, and the rules check the
 * stated types.
 */
#include "lang/builder/internal.h"

static TypeId arg(const TypeQuery *q, uint32_t k) { return ref_type(q->b->fn, q->args[k]); }

static bool want_type(TypeQuery *q, uint32_t k, TypeId t) {
	return arg(q, k) == t || type_wrong(q, "operand %u is %s, not %s", k + 1,
	                                    type_words(q->b, arg(q, k)), type_words(q->b, t));
}

static bool want_scalar(TypeQuery *q, uint32_t k, Dtype d) {
	return want_type(q, k, type_scalar(q->b->ctx, d));
}

static bool want_dyn(TypeQuery *q, uint32_t k) { return want_type(q, k, type_dyn(q->b->ctx)); }

static bool give(TypeQuery *q, TypeId t) {
	q->out[q->nout++] = t;
	return true;
}

bool is_new_extent(const TypeQuery *q, Dim d) {
	SymId s;
	return dim_is_sym(q->b->ctx, d, &s) && !sym_visible(q->b, s, q->here);
}

/* The new symbols of an extent that no other extent has taken. */
typedef struct NewSymbols {
	const TypeQuery *q;
	const bool *taken;
	SymId one;
	uint32_t n;
} NewSymbols;

static void visit_new(void *ud, SymId s) {
	NewSymbols *k = ud;
	if (k->taken[s] || sym_visible(k->q->b, s, k->q->here)) return;
	k->n += !k->n || k->one != s;
	k->one = s;
}

/* Whether d is e + u or e - u with one such symbol u, which can make it any
 * number. Takes it. */
static bool take_new_symbol(const TypeQuery *q, Dim d, bool *taken) {
	Ctx *c = q->b->ctx;
	NewSymbols k = {.q = q, .taken = taken};
	dim_each_sym(c, d, visit_new, &k);
	if (k.n != 1) return false;
	const Dim one = dim_sym(c, k.one);
	if (dim_mentions(c, dim_sub(c, d, one), k.one) && dim_mentions(c, dim_add(c, d, one), k.one))
		return false;
	return taken[k.one] = true;
}

static bool not_its_own(TypeQuery *q, Dim d) {
	return type_wrong(q, "results: only the run knows %s, so it needs a symbol of its own",
	                  dim_words(q->b, d));
}

/* Whether the same holds for extents such as s + t, in which two are unknown:
 * what is stated for each is a new symbol, once for each such extent. */
static bool sums_match(TypeQuery *q, const TypeId *patterns, const Dim *map, uint32_t nmap,
                       bool *taken) {
	Ctx *c = q->b->ctx;
	VEC(Dim) sums = {0};
	VEC(Dim) stated = {0};
	for (uint32_t i = 0; i < q->nstated; i++) {
		const Type p = *type_of(c, patterns[i]), t = *type_of(c, q->stated[i]);
		for (uint32_t k = 0; p.kind == TY_TENSOR && k < p.rank; k++) {
			if (!dim_has_unknown(c, p.dims[k], map, nmap)) continue;
			uint32_t n = 0;
			while (n < sums.n && sums.at[n] != p.dims[k]) n++;
			if (n < sums.n && stated.at[n] == t.dims[k]) continue;
			if (n < sums.n || !take_new_symbol(q, t.dims[k], taken))
				return not_its_own(q, t.dims[k]);
			VEC_PUSH(q->b->scratch, &sums, p.dims[k]);
			VEC_PUSH(q->b->scratch, &stated, t.dims[k]);
		}
	}
	return true;
}

/* Whether the stated types match the patterns. Extents that the map does not
 * determine are unknown until the run: each of them has a new symbol of its
 * own, apart from those of others. */
static bool results_match(TypeQuery *q, const TypeId *patterns, Dim *map, uint32_t nmap) {
	Builder *b = q->b;
	bool *open = arena_alloc(b->scratch, nmap + 1), more = true;
	bool *taken = arena_alloc(b->scratch, b->fn->syms.n + 1);
	memset(taken, 0, b->fn->syms.n);
	for (uint32_t s = 0; s < nmap; s++) open[s] = map[s] == NO_DIM;
	if (!dims_match(b, q->nstated, patterns, q->stated, map, nmap, NULL, NULL, &q->why))
		return type_wrong(q, "results: %s", q->why);
	for (uint32_t round = 0; more; round++) {
		if (round > 8) ctx_poll_throw(b->ctx); /* only in a text that someone made up */
		more = false;
		for (uint32_t s = 0; s < nmap; s++) {
			if (!open[s] || map[s] == NO_DIM || !take_new_symbol(q, map[s], taken)) continue;
			open[s] = false;
			more = true;
		}
	}
	for (uint32_t s = 0; s < nmap; s++)
		if (open[s] && map[s] != NO_DIM) return not_its_own(q, map[s]);
	return sums_match(q, patterns, map, nmap, taken);
}

/* For rules that have checked the stated types themselves. */
static bool stated_are_right(TypeQuery *q) {
	q->nout = UINT32_MAX;
	return true;
}

static bool want_stated(TypeQuery *q) {
	return q->stated || type_wrong(q, "its result types must be stated");
}

/* ---- extents ------------------------------------------------------------- */

bool type_rule_EXTENT(TypeQuery *q) { return give(q, type_scalar(q->b->ctx, DT_I64)); }

bool type_rule_BIND(TypeQuery *q) {
	Dim d = (Dim)attr_int(q->b->ctx, OP_BIND, q->attr, 0);
	return want_scalar(q, 0, DT_I64) &&
	       (is_new_extent(q, d) || type_wrong(q, "its dim is not a new symbol"));
}

bool type_rule_GUARD(TypeQuery *q) {
	(void)q;
	return true;
}

/* ---- regions ------------------------------------------------------------- */

static const Region *region(const TypeQuery *q, uint32_t k) {
	return &q->b->fn->regions.at[q->regions[k]];
}

const TypeId *param_types(Builder *b, RegionId r, uint32_t first, uint32_t n) {
	TypeId *t = arena_alloc(b->scratch, (n + 1) * sizeof *t);
	for (uint32_t k = 0; k < n; k++)
		t[k] = b->fn->vals.at[b->fn->regions.at[r].params + first + k].type;
	return t;
}

static const TypeId *region_types(Builder *b, RegionId r) {
	uint32_t n = b->fn->regions.at[r].nresults;
	TypeId *t = arena_alloc(b->scratch, (n + 1) * sizeof *t);
	for (uint32_t k = 0; k < n; k++)
		t[k] = ref_type(b->fn, b->fn->args.at[b->fn->regions.at[r].results + k]);
	return t;
}

static bool want_regions(TypeQuery *q, uint32_t n) {
	return q->nregions == n || type_wrong(q, "it owns %u regions, not %u", n, q->nregions);
}

/* Symbols visible at the instruction map to themselves; the others are unknown.
 */
static void outer_symbols(const TypeQuery *q, Dim *map) {
	for (SymId s = 0; s < q->b->fn->syms.n; s++)
		map[s] = sym_visible(q->b, s, q->here) ? dim_sym(q->b->ctx, s) : NO_DIM;
}

bool loop_maps(TypeQuery *q, RegionId body, uint32_t skip, uint32_t ncarried, const Ref *init,
               Dim *init_map, Dim *body_map) {
	Builder *b = q->b;
	const Region *g = &b->fn->regions.at[body];
	if (g->nparams != ncarried + skip)
		return type_wrong(q, "a region has %u parameters, not %u", g->nparams, ncarried + skip);
	const TypeId *params = param_types(b, body, skip, ncarried);
	outer_symbols(q, init_map);
	TypeId *initial = arena_alloc(b->scratch, (ncarried + 1) * sizeof *initial);
	for (uint32_t k = 0; k < ncarried; k++) initial[k] = ref_type(b->fn, init[k]);
	if (!dims_match(b, ncarried, params, initial, init_map, b->fn->syms.n, NULL, NULL, &q->why))
		return type_wrong(q, "initial values: %s", q->why);
	if (!body_map) return true;
	if (g->nresults != ncarried)
		return type_wrong(q, "a region gives %u values, not %u", g->nresults, ncarried);
	outer_symbols(q, body_map);
	uint32_t mark = dims_mark(b);
	dims_assume_region(b, body);
	bool good = dims_match(b, ncarried, params, region_types(b, body), body_map, b->fn->syms.n,
	                       NULL, NULL, &q->why);
	dims_undo(b, mark);
	return good || type_wrong(q, "values after a turn: %s", q->why);
}

static bool loop_types(TypeQuery *q, RegionId body, uint32_t skip, uint32_t ncarried,
                       const Ref *init) {
	Builder *b = q->b;
	uint32_t nsyms = b->fn->syms.n;
	Dim *map = arena_alloc(b->scratch, (nsyms + 1) * sizeof *map);
	Dim *after = arena_alloc(b->scratch, (nsyms + 1) * sizeof *after);
	if (!loop_maps(q, body, skip, ncarried, init, map, after)) return false;
	if (q->nstated != ncarried)
		return type_wrong(q, "it gives %u results, not %u", ncarried, q->nstated);
	/* Extents that a turn leaves as they are, or makes what they were at first,
	 * are those of the initial values. */
	for (SymId s = 0; s < nsyms; s++) {
		const bool visible = sym_visible(b, s, q->here);
		if (!visible && after[s] != dim_sym(b->ctx, s) && after[s] != map[s]) map[s] = NO_DIM;
		else if (visible) map[s] = dim_sym(b->ctx, s);
	}
	return results_match(q, param_types(b, body, skip, ncarried), map, nsyms) &&
	       stated_are_right(q);
}

bool type_rule_FOR(TypeQuery *q) {
	if (!want_stated(q) || !want_regions(q, 1)) return false;
	if (!q->nargs) return type_wrong(q, "it has no count");
	if (!want_scalar(q, 0, DT_I64)) return false;
	const Region *g = region(q, 0);
	if (!g->nparams || q->b->fn->vals.at[g->params].type != type_scalar(q->b->ctx, DT_I64))
		return type_wrong(q, "the first region parameter is not an i64 scalar");
	return loop_types(q, q->regions[0], 1, q->nargs - 1, q->args + 1);
}

bool type_rule_WHILE(TypeQuery *q) {
	if (!want_stated(q) || !want_regions(q, 2)) return false;
	Builder *b = q->b;
	Dim *map = arena_alloc(b->scratch, (b->fn->syms.n + 1) * sizeof *map);
	if (!loop_maps(q, q->regions[0], 0, q->nargs, q->args, map, NULL)) return false;
	const Region *cond = region(q, 0);
	if (cond->nresults != 1 || region_types(b, q->regions[0])[0] != type_scalar(b->ctx, DT_BOOL))
		return type_wrong(q, "the condition is not a bool scalar");
	return loop_types(q, q->regions[1], 0, q->nargs, q->args);
}

/* An extent that two regions give, and what is stated. */
typedef struct Joined {
	Dim stated, x, y;
} Joined;

/* Whether it equals both, or is a new symbol, with which nothing else is
 * stated. */
static bool joins(TypeQuery *q, Joined d, Joined *known, uint32_t *n) {
	Builder *b = q->b;
	if (build_same_dim(b, d.stated, d.x) && build_same_dim(b, d.stated, d.y)) return true;
	if (!is_new_extent(q, d.stated)) return false;
	for (uint32_t i = 0; i < *n; i++)
		if (known[i].stated == d.stated &&
		    !(build_same_dim(b, known[i].x, d.x) && build_same_dim(b, known[i].y, d.y)))
			return false;
	known[(*n)++] = d;
	return true;
}

/* The two regions must return the same types up to extents. */
static bool branch_types(TypeQuery *q) {
	Builder *b = q->b;
	Ctx *c = b->ctx;
	Joined *known = arena_alloc(b->scratch, (q->nstated * MAX_RANK + 1) * sizeof *known);
	uint32_t nknown = 0;
	if (region(q, 0)->nresults != q->nstated || region(q, 1)->nresults != q->nstated)
		return type_wrong(q, "the regions give %u and %u values, not %u", region(q, 0)->nresults,
		                  region(q, 1)->nresults, q->nstated);
	const TypeId *x = region_types(b, q->regions[0]), *y = region_types(b, q->regions[1]);
	for (uint32_t k = 0; k < q->nstated; k++) {
		Type tx = *type_of(c, x[k]), ty = *type_of(c, y[k]), t = *type_of(c, q->stated[k]);
		bool fits = tx.kind == ty.kind && tx.kind == t.kind;
		if (fits && t.kind == TY_TENSOR)
			fits = tx.dtype == ty.dtype && tx.dtype == t.dtype && tx.rank == ty.rank &&
			       tx.rank == t.rank;
		for (uint32_t a = 0; fits && t.kind == TY_TENSOR && a < t.rank; a++)
			fits = joins(q, (Joined){t.dims[a], tx.dims[a], ty.dims[a]}, known, &nknown);
		if (!fits)
			return type_wrong(q, "result %u is %s, the regions give %s and %s", k + 1,
			                  type_words(b, q->stated[k]), type_words(b, x[k]),
			                  type_words(b, y[k]));
	}
	return stated_are_right(q);
}

bool type_rule_IF(TypeQuery *q) {
	if (!want_stated(q) || !want_regions(q, 2)) return false;
	if (q->nargs != 1) return type_wrong(q, "it takes a condition");
	if (!want_scalar(q, 0, DT_BOOL)) return false;
	if (region(q, 0)->nparams || region(q, 1)->nparams)
		return type_wrong(q, "its regions have no parameters");
	return branch_types(q);
}

bool type_rule_TRY(TypeQuery *q) {
	if (!want_stated(q) || !want_regions(q, 2)) return false;
	const Region *handler = region(q, 1);
	if (region(q, 0)->nparams || handler->nparams != 1 ||
	    q->b->fn->vals.at[handler->params].type != type_dyn(q->b->ctx))
		return type_wrong(q, "the handler takes one dyn, the body nothing");
	return branch_types(q);
}

/* ---- calls --------------------------------------------------------------- */

bool type_rule_CALL(TypeQuery *q) {
	Builder *b = q->b;
	const Fn *f = fn_get(b->ctx, (FnId)attr_int(b->ctx, OP_CALL, q->attr, 0));
	/* an abandoned function has no regions */
	if (!f || !f->regions.n) return type_wrong(q, "there is no such function");
	if (!want_stated(q)) return false;
	if (q->nargs != fn_nparams(f))
		return type_wrong(q, "%s takes %u arguments", atom_text(b->ctx, f->name), fn_nparams(f));
	uint32_t nsyms = f->syms.n;
	Dim *map = arena_alloc(b->scratch, (nsyms + 1) * sizeof *map);
	for (uint32_t s = 0; s < nsyms; s++) map[s] = NO_DIM;
	TypeId *patterns = arena_alloc(b->scratch, (q->nargs + q->nstated + 1) * sizeof *patterns);
	TypeId *actual = arena_alloc(b->scratch, (q->nargs + 1) * sizeof *actual);
	for (uint32_t k = 0; k < q->nargs; k++) {
		patterns[k] = ref_type(f, fn_param(f, k));
		actual[k] = arg(q, k);
	}
	if (!dims_match(b, q->nargs, patterns, actual, map, nsyms, NULL, NULL, &q->why)) return false;
	/* a recursive call: the results are not known yet */
	if (!f->finished) return stated_are_right(q);
	if (q->nstated != fn_nresults(f))
		return type_wrong(q, "%s gives %u results", atom_text(b->ctx, f->name), fn_nresults(f));
	for (uint32_t k = 0; k < q->nstated; k++) patterns[k] = ref_type(f, fn_result(f, k));
	return results_match(q, patterns, map, nsyms) && stated_are_right(q);
}

bool type_rule_HOST(TypeQuery *q) {
	if (!host_call(q->b->ctx, (HostId)attr_int(q->b->ctx, OP_HOST, q->attr, 0)))
		return type_wrong(q, "there is no such host function");
	return want_stated(q) && stated_are_right(q);
}

/* ---- dynamic values, effects --------------------------------------------- */

static bool no_tokens(TypeQuery *q, uint32_t from) {
	for (uint32_t k = from; k < q->nargs; k++)
		if (arg(q, k) == type_token(q->b->ctx))
			return type_wrong(q, "operand %u is a token", k + 1);
	return true;
}

bool type_rule_BOX(TypeQuery *q) {
	if (!q->nargs || !ref_is_const(q->args[0]))
		return type_wrong(q, "it needs a constant template");
	return want_dyn(q, 0) && no_tokens(q, 1) && give(q, type_dyn(q->b->ctx));
}

bool type_rule_UNBOX(TypeQuery *q) {
	return want_dyn(q, 0) && give(q, (TypeId)attr_int(q->b->ctx, OP_UNBOX, q->attr, 0));
}

bool type_rule_DYNAMIC(TypeQuery *q) {
	Ctx *c = q->b->ctx;
	Dim two = dim_const(c, 2);
	TypeId state = type_tensor(c, DT_I64, 1, &two);
	if (q->nargs < 3) return type_wrong(q, "it takes a token, a state and a function");
	if (!want_type(q, 0, type_token(c)) || !want_type(q, 1, state)) return false;
	for (uint32_t k = 2; k < q->nargs; k++)
		if (!want_dyn(q, k)) return false;
	return give(q, type_token(c)) && give(q, state) && give(q, type_dyn(c));
}

bool type_rule_FORMAT(TypeQuery *q) { return no_tokens(q, 0) && give(q, type_dyn(q->b->ctx)); }

bool type_rule_PRINT(TypeQuery *q) {
	return want_type(q, 0, type_token(q->b->ctx)) && want_dyn(q, 1) &&
	       give(q, type_token(q->b->ctx));
}

bool type_rule_FAIL(TypeQuery *q) { return want_dyn(q, 0); }

bool type_rule_PROGRESS(TypeQuery *q) {
	Ctx *c = q->b->ctx;
	if (q->nargs < 2 || q->nargs > 2 + PROGRESS_VALUES)
		return type_wrong(q, "it takes a step, a number of steps and at most 8 values");
	for (uint32_t k = 0; k < q->nargs; k++)
		if (!want_type(q, k, type_tensor(c, k < 2 ? DT_I64 : DT_F64, 0, NULL))) return false;
	return true;
}

bool type_rule_WARN(TypeQuery *q) { return want_dyn(q, 0); }

bool type_rule_START(TypeQuery *q) { return give(q, type_token(q->b->ctx)); }
