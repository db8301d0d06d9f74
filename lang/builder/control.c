/* control.c - building calls and the instructions that own regions.
 *
 * Needs: builder/internal.h.
 *
 * Contract:
 * - A branch whose condition is known becomes no `if`; a loop without
 *   iterations becomes no loop.
 * - Result types have a fresh symbol only for extents that differ between the
 *   regions or the iterations.
 */
#include "lang/builder/internal.h"

static const Region *closed(Builder *b, RegionId r) { return &b->fn->regions.at[r]; }

static Ref region_result(Builder *b, RegionId r, uint32_t k) {
	return b->fn->args.at[b->fn->regions.at[r].results + k];
}

static void region_results(Builder *b, RegionId r, Ref *results) {
	for (uint32_t k = 0; results && k < closed(b, r)->nresults; k++)
		results[k] = region_result(b, r, k);
}

static bool constant_scalar(Builder *b, Ref r, int64_t *out) {
	const Const *k = ref_constant(b->fn, r);
	if (!k || k->value.kind != V_SCALAR) return false;
	if (k->value.dtype == DT_BOOL) *out = k->value.b;
	else if (k->value.dtype == DT_I64) *out = k->value.i;
	else return false;
	return true;
}

/* ---- branches ------------------------------------------------------------ */

/* The extents that differ between two regions, and the fresh symbol for each
 * pair. */
typedef struct Pairs {
	uint32_t n;
	struct {
		Dim x, y, fresh;
	} * at;
} Pairs;

static Dim join_dims(Builder *b, Pairs *pairs, Dim x, Dim y) {
	if (build_same_dim(b, x, y) && dim_visible(b, x, b->region->id)) return build_canon(b, x);
	for (uint32_t i = 0; i < pairs->n; i++)
		if (pairs->at[i].x == x && pairs->at[i].y == y) return pairs->at[i].fresh;
	pairs->at[pairs->n].x = x;
	pairs->at[pairs->n].y = y;
	return pairs->at[pairs->n++].fresh = build_fresh_dim(b, 0, b->span);
}

/* Types that hold whichever region runs. Where the two cannot match, returns
 * the first region's types, which the type rule then rejects. */
static const TypeId *join_types(Builder *b, RegionId x, RegionId y, uint32_t n) {
	Pairs pairs = {.at = arena_alloc(b->scratch, (n * MAX_RANK + 1) * sizeof *pairs.at)};
	TypeId *out = arena_alloc(b->scratch, (n + 1) * sizeof *out);
	for (uint32_t k = 0; k < n; k++) {
		out[k] = ref_type(b->fn, region_result(b, x, k));
		if (k >= closed(b, y)->nresults) continue;
		Type tx = *type_of(b->ctx, out[k]),
			 ty = *type_of(b->ctx, ref_type(b->fn, region_result(b, y, k)));
		if (tx.kind != TY_TENSOR || ty.kind != TY_TENSOR || tx.rank != ty.rank ||
		    tx.dtype != ty.dtype)
			continue;
		for (uint32_t a = 0; a < tx.rank; a++)
			tx.dims[a] = join_dims(b, &pairs, tx.dims[a], ty.dims[a]);
		out[k] = type_tensor(b->ctx, (Dtype)tx.dtype, tx.rank, tx.dims);
	}
	return out;
}

static void build_branch(Builder *b, Op op, uint32_t nargs, const Ref *args, RegionId x, RegionId y,
                         Ref *results) {
	uint32_t n = closed(b, x)->nresults;
	const TypeId *types = join_types(b, x, y, n);
	build_owner(b, op, nargs, args, 0, 2, (RegionId[]){x, y}, n, types, results);
	/* When both regions return the same outer value, users of the result can
	 * use that value directly. */
	for (uint32_t k = 0; results && !b->verbatim && k < n; k++)
		if (region_result(b, x, k) == region_result(b, y, k)) results[k] = region_result(b, x, k);
}

void build_if(Builder *b, Ref cond, RegionId then_region, RegionId else_region, Ref *results) {
	int64_t chosen;
	if (!b->verbatim && constant_scalar(b, cond, &chosen)) {
		RegionId r = chosen ? then_region : else_region;
		splice_region(b, r);
		region_results(b, r, results);
		return;
	}
	build_branch(b, OP_IF, 1, &cond, then_region, else_region, results);
}

/* Whether nothing in the region can end in a user's error. */
static bool cannot_fail(Builder *b, RegionId r) {
	const Region *g = closed(b, r);
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = &b->fn->insts.at[b->fn->inst_order.at[g->insts + i]];
		if (in->nregions || inst_may_fail(b->fn, in)) return false;
	}
	return true;
}

void build_try(Builder *b, RegionId body, RegionId handler, Ref *results) {
	if (!b->verbatim && cannot_fail(b, body)) {
		splice_region(b, body);
		region_results(b, body, results);
		return;
	}
	build_branch(b, OP_TRY, 0, NULL, body, handler, results);
}

/* ---- loops --------------------------------------------------------------- */

/* The parameter types, with each symbol of the parameter list replaced: by its
 * initial value when no iteration changes it, else by a fresh symbol. */
static const TypeId *loop_results(Builder *b, RegionId body, uint32_t skip, uint32_t n,
                                  const Dim *at_start, const Dim *after) {
	uint32_t nsyms = b->fn->syms.n;
	RegionId here = b->region->id;
	Dim *map = arena_alloc(b->scratch, (nsyms + 1) * sizeof *map);
	const TypeId *params = param_types(b, body, skip, n);
	for (SymId s = 0; s < nsyms; s++) {
		map[s] = NO_DIM;
		if (sym_visible(b, s, here) || at_start[s] == NO_DIM) continue;
		bool stays = after[s] == dim_sym(b->ctx, s) || after[s] == at_start[s];
		const Sym *sym = &b->fn->syms.at[s];
		map[s] = stays ? at_start[s] : build_fresh_dim(b, sym->name, sym->span);
	}
	TypeId *out = arena_alloc(b->scratch, (n + 1) * sizeof *out);
	for (uint32_t k = 0; k < n; k++) out[k] = type_subst(b->ctx, params[k], map, nsyms);
	return out;
}

static void build_loop(Builder *b, Op op, uint32_t nargs, const Ref *args, uint32_t skip,
                       uint32_t nregions, const RegionId *regions, Ref *results) {
	RegionId body = regions[nregions - 1];
	uint32_t n = nargs - skip;
	TypeQuery q = {.b = b, .op = op, .here = b->region->id};
	uint32_t nsyms = b->fn->syms.n;
	Dim *at_start = arena_alloc(b->scratch, (nsyms + 1) * sizeof *at_start);
	Dim *after = arena_alloc(b->scratch, (nsyms + 1) * sizeof *after);
	if (!loop_maps(&q, body, skip, n, args + skip, at_start, after))
		build_breach(b, op, nargs, args, q.why);
	const TypeId *types = loop_results(b, body, skip, n, at_start, after);
	build_owner(b, op, nargs, args, 0, nregions, regions, n, types, results);
	/* A value that no iteration changes equals its initial value. */
	for (uint32_t k = 0; results && !b->verbatim && k < n; k++)
		if (region_result(b, body, k) == ref_value(closed(b, body)->params + skip + k))
			results[k] = args[skip + k];
}

static void give_initial(uint32_t n, const Ref *init, Ref *results) {
	for (uint32_t k = 0; results && k < n; k++) results[k] = init[k];
}

void build_for(Builder *b, Ref count, uint32_t ncarried, const Ref *init, RegionId body,
               Ref *results) {
	int64_t trip_count;
	if (!b->verbatim && constant_scalar(b, count, &trip_count) && trip_count <= 0) {
		give_initial(ncarried, init, results);
		return;
	}
	Ref *args = arena_alloc(b->scratch, (ncarried + 1) * sizeof *args);
	args[0] = count;
	for (uint32_t k = 0; k < ncarried; k++) args[k + 1] = init[k];
	build_loop(b, OP_FOR, ncarried + 1, args, 1, 1, &body, results);
}

void build_while(Builder *b, uint32_t ncarried, const Ref *init, RegionId cond, RegionId body,
                 Ref *results) {
	int64_t trip_count;
	if (!b->verbatim && closed(b, cond)->nresults == 1 && !closed(b, cond)->ninsts &&
	    constant_scalar(b, region_result(b, cond, 0), &trip_count) && !trip_count) {
		give_initial(ncarried, init, results);
		return;
	}
	build_loop(b, OP_WHILE, ncarried, init, 0, 2, (RegionId[]){cond, body}, results);
}

/* ---- calls --------------------------------------------------------------- */

void build_call(Builder *b, Fn *callee, uint32_t nargs, const Ref *args, Ref *results) {
	int64_t word = callee->id;
	AttrId attr = attr_intern(b->ctx, &word, 1);
	if (!callee->finished)
		build_breach(b, OP_CALL, nargs, args,
		             "the results of an unfinished function are not known");
	InstId known = find_shared(b, OP_CALL, nargs, args, attr);
	if (known != NO_INST) {
		for (uint32_t k = 0; results && k < fn_nresults(callee); k++)
			results[k] = inst_result(&b->fn->insts.at[known], k);
		return;
	}
	uint32_t n = fn_nresults(callee);
	Dim *map = arena_alloc(b->scratch, (callee->syms.n + 1) * sizeof *map);
	dims_bind_params(b, callee, nargs, args, map);
	TypeId *types = arena_alloc(b->scratch, (n + 1) * sizeof *types);
	for (uint32_t k = 0; k < n; k++) types[k] = ref_type(callee, fn_result(callee, k));
	dims_define_results(b, callee, n, types, map);
	build_typed(b, OP_CALL, nargs, args, attr, n, types, results);
}

uint32_t build_host(Builder *b, HostId id, uint32_t nargs, const Ref *args, Ref *results,
                    uint32_t cap) {
	const HostCall *call = host_call(b->ctx, id);
	if (!call) build_breach(b, OP_HOST, nargs, args, "there is no such host function");
	TypeId *types = arena_alloc(b->scratch, (cap + 1) * sizeof *types);
	uint32_t n = call->def->types(b, call, args, nargs, types, cap);
	if (n > cap)
		build_breach(b, OP_HOST, nargs, args, "it gives more results than there is room for");
	int64_t words[2] = {id, 0};
	build_typed(b, OP_HOST, nargs, args, attr_intern(b->ctx, words, 2), n, types, results);
	return n;
}
