/* linearise_emit.c - emission of the two parts of a split function.
 *
 * Method: tapes. A `for` writes row i of an array allocated before the loop, in
 * place, when the saved value keeps its shape. A `while` pushes rows. Saved
 * values whose shape varies between iterations (mostly those of inner loops) go
 * to a flat array, one for each dtype, that doubles when it is full. The offset
 * of each iteration is stored, so the cost stays proportional to the data
 * saved.
 *
 * Needs: linearise.h, a finished plan.
 *
 * Contract:
 * - The primal part computes what the function computes without its linear
 *   values, with the same checks. It returns the saved values of its body as
 *   further results.
 * - The linear part contains only linear instructions, and recomputed views and
 *   integers; it reads tapes.
 * - Neither part saves anything that the other does not use.
 */
#include "autodiff/reverse/checkpoint.h"

typedef struct SplitEmitter {
	LinearisePlan *p;
	Ctx *c;
	const Fn *f;
	Builder *b;
	RefMap map;  /* its dims extend to the further symbols of the plan */
	bool *known; /* by symbol: bound so far */
	bool linear; /* which part */
} SplitEmitter;

static SplitEmitter emit_begin(LinearisePlan *p, Builder *b, bool linear) {
	SplitEmitter e = {.p = p, .c = p->c, .f = p->f, .b = b, .linear = linear};
	e.map = refmap_new(b, p->f, true);
	Dim *dims = ARENA_ARRAY(p->a, Dim, p->nsyms + 1u);
	e.known = ARENA_ARRAY(p->a, bool, p->nsyms + 1u);
	for (SymId s = 0; s < p->nsyms; s++) {
		dims[s] = s < p->f->syms.n ? e.map.dims[s] : UINT32_MAX;
		e.known[s] = !linear && s < p->f->syms.n;
	}
	e.map.dims = dims;
	return e;
}

static Ref get(SplitEmitter *e, Ref r) {
	Ref to = refmap_get(e->b, &e->map, r);
	if (to != REF_NONE) return to;
	diag_error(e->c, E_INTERNAL, span_of(e->c, build_span(e->b)),
	           "splitting %s: value %u is not there", atom_text(e->c, e->f->name), REF_INDEX(r));
	ctx_throw(e->c, ST_INTERNAL);
}

static Dim dim_here(SplitEmitter *e, Dim d) {
	return build_canon(e->b, dim_subst(e->c, d, e->map.dims, e->p->nsyms));
}

static TypeId type_here(SplitEmitter *e, TypeId t) {
	return build_canon_type(e->b, type_subst(e->c, t, e->map.dims, e->p->nsyms));
}

/* Binds the symbols in types `from` to the shapes of the values `to`. Symbols
 * not yet bound take the values' extents; the others are checked against
 * them. */
static void learn(SplitEmitter *e, uint32_t n, const TypeId *from, const Ref *to) {
	SymId s;
	for (uint32_t pass = 0; pass < 2; pass++) {
		for (uint32_t k = 0; k < n; k++) {
			Type old = *type_of(e->c, from[k]), new = type_in(e->b, to[k]);
			if (old.kind != TY_TENSOR) continue;
			for (uint32_t a = 0; a < old.rank; a++) {
				if (pass) {
					build_unify(e->b, dim_here(e, old.dims[a]), new.dims[a],
					            atom(e->c, "what a derivative has kept"));
				} else if (dim_is_sym(e->c, old.dims[a], &s) && !e->known[s]) {
					e->map.dims[s] = new.dims[a];
					e->known[s] = true;
				}
			}
		}
	}
}

static void at_inst(SplitEmitter *e, const Inst *in) {
	build_at(e->b, in->span);
	build_chain(e->b, chain_push(e->c, in->chain, "linearise"));
}

static Ref *refs(SplitEmitter *e, uint32_t n) { return ARENA_ARRAY(e->p->a, Ref, n + 1u); }

static void set_results(SplitEmitter *e, const Inst *in, bool linear, const Ref *results) {
	for (uint32_t k = 0; k < in->nresults; k++) {
		Ref r = inst_result(in, k);
		if (linear ? !is_live(e->p, r) : is_linear(e->p, r)) continue;
		if (linear) learn(e, 1, &e->f->vals.at[REF_INDEX(r)].type, results);
		refmap_set(&e->map, r, *results);
		if (ref_is_value(*results)) build_name(e->b, *results, e->f->vals.at[REF_INDEX(r)].name);
		results++;
	}
}

/* ---- saved values in the primal part ------------------------------------- */

static Ref saved_ref(SplitEmitter *e, const SavedValue *value) {
	switch ((SavedKind)value->kind) {
	case SAVED_VALUE: return get(e, ref_value(value->id));
	case SAVED_INST: return e->p->insts[value->id].primal[value->k];
	case SAVED_EXTENT: return build_extent(e->b, dim_here(e, dim_sym(e->c, value->id)));
	case SAVED_WITNESS: break;
	}
	Type t = *type_of(e->c, type_here(e, value->type));
	return build_broadcast(e->b, build_bool(e->b, false), t.rank, t.dims, NULL);
}

/* The placeholder for a saved value in the other branch: zeros, empty along the
 * extents that only the saved value's own branch knows. */
static Ref filler(SplitEmitter *e, const SavedValue *value, RegionId branch) {
	Type t = *type_of(e->c, value->type);
	if (t.kind != TY_TENSOR) return build_const(e->b, value_none());
	for (uint32_t k = 0; k < t.rank; k++) {
		TypeId alone = type_tensor(e->c, DT_BOOL, 1, &t.dims[k]);
		t.dims[k] =
			type_varies_in(e->p, alone, branch) ? dim_const(e->c, 0) : dim_here(e, t.dims[k]);
	}
	return build_zeros(e->b, type_tensor(e->c, (Dtype)t.dtype, t.rank, t.dims));
}

/* Records the saved values of an instruction that has been emitted. */
static void set_given(SplitEmitter *e, InstPlan *ip, Ref *given) {
	learn(e, ip->given.n, ip->given.at, given);
	if (e->linear) ip->linear = given;
	else ip->primal = given;
}

/* ---- tapes --------------------------------------------------------------- */

static Ref i64_add(Builder *b, Ref x, Ref y) { return build2(b, OP_ADD, x, y); }

static TypeId vector_type(SplitEmitter *e, Dtype d, Dim length) {
	return type_tensor(e->c, d, 1, &length);
}

static TypeId rows_type(SplitEmitter *e, Dim n, TypeId row) {
	Type t = *type_of(e->c, row);
	Dim dims[MAX_RANK] = {n};
	memcpy(dims + 1, t.dims, t.rank * sizeof *dims);
	return type_tensor(e->c, (Dtype)t.dtype, t.rank + 1u, dims);
}

/* first, first + 1, ... as indices. */
static Ref positions(SplitEmitter *e, Ref first, Dim length) {
	Ref iota = build_iota(e->b, DT_I64, length);
	return i64_add(e->b, iota, build_broadcast_scalar(e->b, first, type_id_in(e->b, iota)));
}

static Dim size_of(SplitEmitter *e, const Type *t) {
	Dim size = dim_const(e->c, 1);
	for (uint32_t k = 0; k < t->rank; k++) size = dim_mul(e->c, size, t->dims[k]);
	return build_canon(e->b, size);
}

/* The saved values that share a flat tape with saved value k, concatenated. */
static Ref flat_items(SplitEmitter *e, const RegionPlan *g, uint32_t k) {
	Ref *parts = refs(e, g->saved.n);
	uint32_t n = 0;
	uint8_t dtype = type_of(e->c, g->saved.at[k].type)->dtype;
	for (; k < g->saved.n; k++) {
		if (!g->saved.at[k].ragged || type_of(e->c, g->saved.at[k].type)->dtype != dtype) continue;
		Ref v = saved_ref(e, &g->saved.at[k]);
		Type t = type_in(e->b, v);
		Dim size = size_of(e, &t);
		parts[n++] = build_reshape(e->b, v, 1, &size);
	}
	return n == 1 ? parts[0] : build_concat(e->b, n, parts, 0);
}

/* Writes v to the flat tape at position `used`, and advances `used`. */
static void append_flat(SplitEmitter *e, Ref *flat, Ref *used, Ref v) {
	Builder *b = e->b;
	Type t = type_in(b, v);
	Dim size = t.dims[0], room = type_in(b, *flat).dims[0];
	Ref end = i64_add(b, *used, build_extent(b, size)), grown;
	Ref full = build2(b, OP_LT, build_extent(b, room), end);
	OpenRegion *open = build_region_begin(b, 0, NULL, NULL);
	Ref more = build_zeros(b, vector_type(e, (Dtype)t.dtype, build_dim_of(b, end, 0)));
	Ref longer = build_concat(b, 2, (Ref[]){*flat, more}, 0);
	RegionId grow = build_region_end(b, open, 1, &longer);
	open = build_region_begin(b, 0, NULL, NULL);
	RegionId keep = build_region_end(b, open, 1, flat);
	build_if(b, full, grow, keep, &grown);
	*flat = build_scatter(b, OP_SCATTER_SET, grown, positions(e, *used, size), v, 0, 0);
	*used = end;
}

/* The carried values that hold the saved values of a loop: a tape for each, or
 * for saved values on a flat tape the tape, its used extent and the offsets. */
typedef struct TapeWriter {
	SplitEmitter *e;
	const RegionPlan *g;
	bool counted;
	Dim turns;     /* rows of the tapes of a `for` */
	TypeId *types; /* of the carried values */
	Ref *init, *now;
	uint32_t n;
} TapeWriter;

static void carry(TapeWriter *r, TypeId type, Ref init) {
	r->types[r->n] = type;
	r->init[r->n++] = init;
}

/* A tape of rows: fully allocated in a `for`, growing in a `while`, where
 * `growing` is its extent in an iteration. */
static void carry_rows(TapeWriter *r, TypeId row, Dim growing) {
	SplitEmitter *e = r->e;
	Dim n = r->counted ? r->turns : growing, start = r->counted ? r->turns : dim_const(e->c, 0);
	carry(r, rows_type(e, n, row), build_zeros(e->b, rows_type(e, start, row)));
}

static TapeWriter tape_writer_begin(SplitEmitter *e, const RegionPlan *g, bool counted, Dim turns) {
	TapeWriter r = {.e = e, .g = g, .counted = counted, .turns = turns};
	Arena *a = e->p->a;
	r.types = ARENA_ARRAY(a, TypeId, 3 * g->saved.n + 1u);
	r.init = ARENA_ARRAY(a, Ref, 3 * g->saved.n + 1u);
	TypeId number = type_scalar(e->c, DT_I64);
	Dim growing = counted || !g->saved.n ? 0 : build_fresh_dim(e->b, 0, build_span(e->b));
	for (uint32_t k = 0; k < g->saved.n; k++) {
		const SavedValue *value = &g->saved.at[k];
		if (!value->ragged) carry_rows(&r, type_here(e, value->type), growing);
		if (!opens_flat_tape(e->p, g, k)) continue;
		Dtype d = (Dtype)type_of(e->c, value->type)->dtype;
		TypeId flat = vector_type(e, d, build_fresh_dim(e->b, 0, build_span(e->b)));
		carry(&r, flat, build_zeros(e->b, vector_type(e, d, dim_const(e->c, 0))));
		carry(&r, number, build_i64(e->b, 0));
		carry_rows(&r, number, growing);
	}
	return r;
}

static Ref write_row(TapeWriter *r, Ref tape, Ref turn, Ref row) {
	Builder *b = r->e->b;
	return r->counted ? build_scatter(b, OP_SCATTER_SET, tape, turn, row, 0, 0)
	                  : build(b, OP_PUSH, 2, (Ref[]){tape, row}, 0, NULL);
}

/* Writes the saved values at the end of an iteration: `params` are the carried
 * values at its beginning, `out` their new values. */
static void tape_write(TapeWriter *r, Ref turn, const Ref *params, Ref *out) {
	for (uint32_t k = 0, at = 0; k < r->g->saved.n; k++) {
		const SavedValue *value = &r->g->saved.at[k];
		if (!value->ragged) {
			out[at] = write_row(r, params[at], turn, saved_ref(r->e, value));
			at++;
		} else if (opens_flat_tape(r->e->p, r->g, k)) {
			Ref flat = params[at], used = params[at + 1];
			out[at + 2] = write_row(r, params[at + 2], turn, used);
			append_flat(r->e, &flat, &used, flat_items(r->e, r->g, k));
			out[at] = flat;
			out[at + 1] = used;
			at += 3;
		}
	}
}

/* Collects the saved values of the loop from its results. */
static void tape_collect(const TapeWriter *r, const Ref *results, Ref *given) {
	for (uint32_t k = 0; k < r->g->saved.n; k++) {
		if (!r->g->saved.at[k].ragged) *given++ = *results++;
		if (!opens_flat_tape(r->e->p, r->g, k)) continue;
		*given++ = results[0];
		*given++ = results[2];
		results += 3;
	}
}

/* ---- the primal part ----------------------------------------------------- */

static void primal_region(SplitEmitter *e, const Region *g);

static uint32_t plain_values(SplitEmitter *e, const Region *g, const Inst *in, Ref *out) {
	uint32_t n = 0;
	for (uint32_t k = 0; k < g->nresults; k++)
		if (!is_linear(e->p, inst_result(in, k))) out[n++] = get(e, plan_result(e->p, g, k));
	return n;
}

static void primal_branches(SplitEmitter *e, const Inst *in) {
	LinearisePlan *p = e->p;
	InstPlan *ip = plan_of(p, in);
	RegionId ids[2] = {region_id(p, in, 0), region_id(p, in, 1)}, closed[2];
	uint32_t most = in->nresults + p->regions[ids[0]].saved.n + p->regions[ids[1]].saved.n + 1;
	Ref *results = refs(e, most);
	uint32_t nplain = 0;
	for (uint32_t i = 0; i < 2; i++) {
		const Region *g = inst_region(e->f, in, i);
		TypeId message = type_dyn(e->c);
		Ref param;
		OpenRegion *open = build_region_begin(e->b, g->nparams, &message, &param);
		if (g->nparams) refmap_set(&e->map, ref_value(g->params), param);
		primal_region(e, g);
		uint32_t n = nplain = plain_values(e, g, in, results);
		for (uint32_t j = 0; j < 2; j++) {
			const RegionPlan *from = &p->regions[ids[j]];
			for (uint32_t k = 0; k < from->saved.n; k++)
				results[n++] = i == j ? saved_ref(e, &from->saved.at[k])
				                      : filler(e, &from->saved.at[k], ids[j]);
		}
		if (in->op == OP_TRY) results[n++] = build_bool(e->b, i == 0);
		closed[i] = build_region_end(e->b, open, n, results);
	}
	if (in->op == OP_IF)
		build_if(e->b, get(e, inst_arg(e->f, in, 0)), closed[0], closed[1], results);
	else build_try(e->b, closed[0], closed[1], results);
	set_results(e, in, false, results);
	if (ip->given.n) set_given(e, ip, results + nplain);
}

/* Opens a region of a loop in the primal part. Its parameters are `nfirst`
 * scalars, the carried values that are not linear, and those of the
 * tape writer. */
static OpenRegion *open_turn(SplitEmitter *e, const Inst *in, const Region *g, uint32_t skip,
                             uint32_t nfirst, const TapeWriter *r, Ref *params) {
	TypeId *types = ARENA_ARRAY(e->p->a, TypeId, nfirst + g->nparams + r->n + 1u);
	uint32_t n = nfirst;
	for (uint32_t k = 0; k < nfirst; k++) types[k] = type_scalar(e->c, DT_I64);
	for (uint32_t k = 0; k < in->nresults; k++)
		if (!is_linear(e->p, inst_result(in, k)))
			types[n++] = refmap_type(e->b, &e->map, e->f->vals.at[g->params + skip + k].type);
	memcpy(types + n, r->types, r->n * sizeof *types);
	OpenRegion *open = build_region_begin(e->b, n + r->n, types, params);
	if (skip) refmap_set(&e->map, ref_value(g->params), params[0]);
	n = nfirst;
	for (uint32_t k = 0; k < in->nresults; k++) {
		if (is_linear(e->p, inst_result(in, k))) continue;
		build_name(e->b, params[n], e->f->vals.at[g->params + skip + k].name);
		refmap_set(&e->map, ref_value(g->params + skip + k), params[n++]);
	}
	return open;
}

/* The rows of the tapes of a `for`: a known extent, or max(count, 0). */
static Dim tape_rows(SplitEmitter *e, const InstPlan *ip, Ref count) {
	if (ip->turns_known) return dim_here(e, ip->turns);
	return build_dim_of(e->b, build2(e->b, OP_MAX, count, build_i64(e->b, 0)), 0);
}

/* The fixed operands of a checkpointed loop. */
static uint32_t fixed_operands(SplitEmitter *e, const SnapshotPlan *s, Ref *out) {
	uint32_t n = 0;
	for (uint32_t k = 0; k < s->nwitnesses; k++) {
		Type t = *type_of(e->c, type_here(e, s->witnesses[k]));
		out[n++] = build_broadcast(e->b, build_bool(e->b, false), t.rank, t.dims, NULL);
	}
	for (uint32_t k = 0; k < s->ncaptured; k++) out[n++] = get(e, s->captured[k]);
	return n;
}

static void primal_sweep(SplitEmitter *e, const Inst *in) {
	InstPlan *ip = plan_of(e->p, in);
	const SnapshotPlan *s = ip->snapshots;
	const SnapshotLoop *loop = s->loop;
	Ref *fixed = refs(e, loop->nfixed), *state = refs(e, loop->nstate),
		*stack = refs(e, snapshot_stack_size(loop));
	fixed_operands(e, s, fixed);
	for (uint32_t k = 0; k < loop->nstate; k++) state[k] = get(e, s->state[k]);
	snapshot_sweep(e->b, e->p->a, loop, get(e, inst_arg(e->f, in, 0)), fixed, state, stack);
	set_results(e, in, false, state);
	if (ip->given.n) set_given(e, ip, stack);
}

static void primal_for(SplitEmitter *e, const Inst *in) {
	LinearisePlan *p = e->p;
	InstPlan *ip = plan_of(p, in);
	if (ip->snapshots && any_live_result(p, in)) {
		primal_sweep(e, in);
		return;
	}
	const Region *body = inst_region(e->f, in, 0);
	const RegionPlan *g = &p->regions[region_id(p, in, 0)];
	Ref count = get(e, inst_arg(e->f, in, 0));
	TapeWriter r = tape_writer_begin(e, g, true, g->saved.n ? tape_rows(e, ip, count) : 0);
	uint32_t most = in->nresults + r.n + 1, n = 0;
	Ref *init = refs(e, most), *params = refs(e, most), *out = refs(e, most),
		*results = refs(e, most);
	for (uint32_t k = 0; k < in->nresults; k++)
		if (!is_linear(p, inst_result(in, k))) init[n++] = get(e, inst_arg(e->f, in, k + 1));
	memcpy(init + n, r.init, r.n * sizeof *init);
	OpenRegion *open = open_turn(e, in, body, 1, 1, &r, params);
	primal_region(e, body);
	plain_values(e, body, in, out);
	tape_write(&r, params[0], params + 1 + n, out + n);
	build_for(e->b, count, n + r.n, init, build_region_end(e->b, open, n + r.n, out), results);
	set_results(e, in, false, results);
	Ref *given = refs(e, 2 * g->saved.n);
	tape_collect(&r, results + n, given);
	if (ip->given.n) set_given(e, ip, given);
}

static void primal_while(SplitEmitter *e, const Inst *in) {
	LinearisePlan *p = e->p;
	InstPlan *ip = plan_of(p, in);
	const Region *cond = inst_region(e->f, in, 0), *body = inst_region(e->f, in, 1);
	const RegionPlan *g = &p->regions[region_id(p, in, 1)];
	uint32_t counter = ip->given.n > 0; /* if so, the first carried value counts the iterations */
	TapeWriter r = tape_writer_begin(e, g, false, 0);
	uint32_t most = in->nresults + r.n + 2, n = counter;
	Ref *init = refs(e, most), *params = refs(e, most), *out = refs(e, most),
		*results = refs(e, most);
	init[0] = build_i64(e->b, 0);
	for (uint32_t k = 0; k < in->nresults; k++)
		if (!is_linear(p, inst_result(in, k))) init[n++] = get(e, inst_arg(e->f, in, k));
	memcpy(init + n, r.init, r.n * sizeof *init);
	OpenRegion *open = open_turn(e, in, cond, 0, counter, &r, params);
	primal_region(e, cond);
	Ref go_on = get(e, plan_result(p, cond, 0));
	RegionId condition = build_region_end(e->b, open, 1, &go_on);
	open = open_turn(e, in, body, 0, counter, &r, params);
	primal_region(e, body);
	if (counter) out[0] = i64_add(e->b, params[0], build_i64(e->b, 1));
	plain_values(e, body, in, out + counter);
	tape_write(&r, REF_NONE, params + n, out + n);
	RegionId turn = build_region_end(e->b, open, n + r.n, out);
	build_while(e->b, n + r.n, init, condition, turn, results);
	set_results(e, in, false, results + counter);
	if (!counter) return;
	Ref *given = refs(e, 2 * g->saved.n + 1);
	given[0] = results[0];
	tape_collect(&r, results + n, given + 1);
	set_given(e, ip, given);
}

static uint32_t call_operands(SplitEmitter *e, const Inst *in, bool linear, Ref *out) {
	const InstPlan *ip = plan_of(e->p, in);
	uint32_t n = 0;
	for (uint32_t k = 0; k < in->nargs; k++)
		if (ip->places[k] == linear) out[n++] = get(e, inst_arg(e->f, in, k));
	return n;
}

/* The types of the results of one kind, as a call to an unfinished function
 * states them. */
static uint32_t result_types(SplitEmitter *e, const Inst *in, bool linear, TypeId *out) {
	const InstPlan *ip = plan_of(e->p, in);
	uint32_t n = 0;
	for (uint32_t k = 0; k < in->nresults; k++)
		if (ip->results[k] == linear) out[n++] = type_here(e, e->f->vals.at[in->results + k].type);
	return n;
}

static void set_call_results(SplitEmitter *e, const Inst *in, bool linear, const Ref *results) {
	const InstPlan *ip = plan_of(e->p, in);
	for (uint32_t k = 0; k < in->nresults; k++) {
		if (ip->results[k] != linear) continue;
		Ref r = inst_result(in, k);
		if (linear) learn(e, 1, &e->f->vals.at[REF_INDEX(r)].type, results);
		refmap_set(&e->map, r, *results++);
	}
}

static void call_unfinished(SplitEmitter *e, const Inst *in, const Fn *callee, bool linear,
                            uint32_t n, const Ref *args, Ref *results) {
	TypeId *types = ARENA_ARRAY(e->p->a, TypeId, in->nresults + 1u);
	uint32_t m = result_types(e, in, linear, types);
	int64_t word = callee->id;
	build_typed(e->b, OP_CALL, n, args, attr_intern(e->c, &word, 1), m, types, results);
}

static void primal_call(SplitEmitter *e, const Inst *in) {
	InstPlan *ip = plan_of(e->p, in);
	if (!ip->split) return; /* all its results are linear */
	const LinearSplit *s = split_data(ip->split);
	Ref *args = refs(e, in->nargs);
	uint32_t n = call_operands(e, in, false, args);
	if (ip->mode == CALL_SPLIT) {
		Ref *results = refs(e, fn_nresults(s->primal));
		build_call(e->b, s->primal, n, args, results);
		set_call_results(e, in, false, results);
		if (ip->given.n) set_given(e, ip, results + s->nplain_results);
		return;
	}
	bool some = false;
	for (uint32_t k = 0; k < in->nresults; k++) some |= !ip->results[k];
	if (!some) return;
	Ref *results = refs(e, in->nresults);
	call_unfinished(e, in, s->values, false, n, args, results);
	set_call_results(e, in, false, results);
}

typedef struct AllPlain {
	const SplitEmitter *e;
	bool all;
} AllPlain;

static void visit_plain(void *ud, SymId s) {
	AllPlain *k = ud;
	k->all = k->all && k->e->p->shown[s];
}

/* Whether all extents of the guard exist in the primal part; other guards
 * belong to the linear part. */
static bool is_plain_guard(const SplitEmitter *e, const Inst *in) {
	AllPlain k = {e, true};
	dim_each_sym(e->c, (Dim)attr_int(e->c, OP_GUARD, in->attr, 0), visit_plain, &k);
	dim_each_sym(e->c, (Dim)attr_int(e->c, OP_GUARD, in->attr, 1), visit_plain, &k);
	return k.all;
}

static void primal_inst(SplitEmitter *e, const Inst *in) {
	if (in->op == OP_GUARD && !is_plain_guard(e, in)) return;
	if (!touches_linear(&e->p->dep, in)) {
		build_copy_inst(e->b, &e->map, in);
		return;
	}
	build_at(e->b, in->span);
	build_chain(e->b, in->chain);
	switch ((Op)in->op) {
	case OP_IF:
	case OP_TRY: primal_branches(e, in); break;
	case OP_FOR: primal_for(e, in); break;
	case OP_WHILE: primal_while(e, in); break;
	case OP_CALL: primal_call(e, in); break;
	default: break; /* entirely linear */
	}
}

static void primal_region(SplitEmitter *e, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++) primal_inst(e, plan_inst(e->p, g, i));
}

/* Five scalars for each checkpointed loop of the body. For a loop that should
 * use checkpoints but does not: its line, -1, the reason, and two zeros. */
static Ref report(SplitEmitter *e) {
	LinearisePlan *p = e->p;
	const Region *g = &e->f->regions.at[0];
	Dim none = dim_const(e->c, 0), one = dim_const(e->c, 1);
	Ref all = build_zeros(e->b, type_tensor(e->c, DT_I64, 1, &none));
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = plan_inst(p, g, i);
		const SnapshotPlan *s = plan_of(p, in)->snapshots;
		const TapeReason why = plan_of(p, in)->tapes;
		if ((!s && !why) || !any_live_result(p, in)) continue;
		uint32_t line, column;
		source_position(e->c, span_of(e->c, in->span), &line, &column);
		Ref none_of = build_i64(e->b, 0),
			row[5] = {build_i64(e->b, line), build_i64(e->b, -1), build_i64(e->b, why), none_of,
		              none_of},
			*parts = refs(e, 6);
		if (s) {
			row[1] = s->loop->swept ? get(e, inst_arg(e->f, in, 0)) : plan_of(p, in)->primal[0];
			Ref *state = refs(e, s->loop->nstate);
			for (uint32_t k = 0; k < s->loop->nstate; k++) state[k] = get(e, s->state[k]);
			snapshot_sizes(e->b, s->loop, row[1], state, &row[3], &row[2]);
			row[4] = build_i64(e->b, s->loop->swept);
		}
		parts[0] = all;
		for (uint32_t k = 0; k < 5; k++) parts[k + 1] = build_reshape(e->b, row[k], 1, &one);
		all = build_concat(e->b, 6, parts, 0);
	}
	return all;
}

Fn *emit_primal_part(LinearisePlan *p) {
	const Fn *f = p->f;
	Builder *b = build_begin(p->c, transform_name(p->c, f, "primal"), f->span, f);
	build_derivative(b);
	SplitEmitter e = emit_begin(p, b, false);
	for (uint32_t k = 0; k < fn_nparams(f); k++) {
		if (p->d->mask[k]) continue;
		const Val *v = &f->vals.at[REF_INDEX(fn_param(f, k))];
		refmap_set(&e.map, fn_param(f, k), build_param(b, v->type, v->name));
	}
	primal_region(&e, &f->regions.at[0]);
	const RegionPlan *g = &p->regions[0];
	Ref *results = refs(&e, fn_nresults(f) + g->saved.n);
	uint32_t n = 0;
	if (p->report) {
		results[0] = report(&e);
		return build_end(b, 1, results);
	}
	for (uint32_t k = 0; k < fn_nresults(f); k++)
		if (!p->linear_result[k]) results[n++] = get(&e, fn_result(f, k));
	for (uint32_t k = 0; k < g->saved.n; k++) results[n++] = saved_ref(&e, &g->saved.at[k]);
	return build_end(b, n, results);
}

/* ---- the linear part ----------------------------------------------------- */

static void linear_region(SplitEmitter *e, const Region *g);

/* The saved values of an instruction, in the linear part; an empty array when
 * it has none. */
static Ref *given_to(SplitEmitter *e, InstPlan *ip) {
	if (!ip->linear) ip->linear = refs(e, ip->given.n);
	return ip->linear;
}

/* Makes the saved values of a region available, and binds its symbols. */
static void enter(SplitEmitter *e, const RegionPlan *g, const Ref *saved) {
	TypeId *types = ARENA_ARRAY(e->p->a, TypeId, g->saved.n + 1u);
	for (uint32_t k = 0; k < g->saved.n; k++) types[k] = g->saved.at[k].type;
	learn(e, g->saved.n, types, saved);
	for (uint32_t k = 0; k < g->saved.n; k++) {
		const SavedValue *value = &g->saved.at[k];
		if (value->kind == SAVED_VALUE) refmap_set(&e->map, ref_value(value->id), saved[k]);
		if (value->kind != SAVED_INST) continue;
		given_to(e, &e->p->insts[value->id])[value->k] = saved[k];
	}
}

static void forget_symbols(SplitEmitter *e, const RegionPlan *g) {
	for (uint32_t k = 0; k < g->defined.n; k++) e->known[g->defined.at[k].sym] = false;
}

static void linear_branches(SplitEmitter *e, const Inst *in) {
	LinearisePlan *p = e->p;
	InstPlan *ip = plan_of(p, in);
	RegionId closed[2];
	Ref *results = refs(e, in->nresults);
	const Ref *saved = given_to(e, ip);
	for (uint32_t i = 0; i < 2; i++) {
		const RegionPlan *g = &p->regions[region_id(p, in, i)];
		const Region *region = inst_region(e->f, in, i);
		OpenRegion *open = build_region_begin(e->b, 0, NULL, NULL);
		forget_symbols(e, g);
		enter(e, g, saved);
		saved += g->saved.n;
		linear_region(e, region);
		uint32_t n = 0;
		for (uint32_t k = 0; k < in->nresults; k++)
			if (is_live(p, inst_result(in, k))) results[n++] = get(e, plan_result(p, region, k));
		closed[i] = build_region_end(e->b, open, n, results);
	}
	Ref cond = in->op == OP_IF ? get(e, inst_arg(e->f, in, 0)) : *saved;
	build_if(e->b, cond, closed[0], closed[1], results);
	set_results(e, in, true, results);
}

/* Reads this iteration's section of a flat tape and splits it into the saved
 * values that share it with saved value k. */
static void read_flat(SplitEmitter *e, const RegionPlan *g, uint32_t k, Ref flat, Ref offsets,
                      Ref turn, Ref *saved) {
	uint8_t dtype = type_of(e->c, g->saved.at[k].type)->dtype;
	Type *types = ARENA_ARRAY(e->p->a, Type, g->saved.n + 1u);
	Dim total = dim_const(e->c, 0), start = total;
	for (uint32_t i = k; i < g->saved.n; i++) {
		if (!g->saved.at[i].ragged || type_of(e->c, g->saved.at[i].type)->dtype != dtype) continue;
		types[i] = *type_of(e->c, type_here(e, g->saved.at[i].type));
		total = dim_add(e->c, total, size_of(e, &types[i]));
	}
	Ref all = row_of(e->b, flat, positions(e, row_of(e->b, offsets, turn), total));
	for (uint32_t i = k; i < g->saved.n; i++) {
		if (!g->saved.at[i].ragged || type_of(e->c, g->saved.at[i].type)->dtype != dtype) continue;
		Dim size = size_of(e, &types[i]);
		saved[i] = build_reshape(e->b, build_slice(e->b, all, &start, &size, NULL), types[i].rank,
		                         types[i].dims);
		start = dim_add(e->c, start, size);
	}
}

/* Reads the saved values of one iteration of the linear loop, extents first,
 * because the shapes of ragged saved values follow from them. `varying` gives,
 * by symbol, the extents of the carried values in this iteration, where they
 * vary. */
static void read_items(SplitEmitter *e, const RegionPlan *g, const Ref *tapes, Ref turn,
                       const Dim *varying) {
	Ref *saved = refs(e, g->saved.n);
	for (uint32_t pass = 0; pass < 2; pass++) {
		for (uint32_t k = 0, at = 0; k < g->saved.n; k++) {
			const SavedValue *value = &g->saved.at[k];
			bool length = value->kind == SAVED_EXTENT, flat = opens_flat_tape(e->p, g, k);
			if (length == !pass) {
				if (flat) read_flat(e, g, k, tapes[at], tapes[at + 1], turn, saved);
				if (!value->ragged) saved[k] = row_of(e->b, tapes[at], turn);
			}
			if (length && !pass) {
				Atom name = value->id < e->f->syms.n ? e->f->syms.at[value->id].name : 0;
				e->map.dims[value->id] = build_dim_of(e->b, saved[k], name);
				e->known[value->id] = true;
				if (varying[value->id] != UINT32_MAX)
					build_unify(e->b, varying[value->id], e->map.dims[value->id],
					            atom(e->c, "a turn of a loop and its derivative"));
			}
			at += flat ? 2 : !value->ragged;
		}
	}
	enter(e, g, saved);
}

/* A checkpointed loop from its first iteration, in one call. */
static void linear_run(SplitEmitter *e, const Inst *in) {
	const InstPlan *ip = plan_of(e->p, in);
	const SnapshotPlan *s = ip->snapshots;
	const SnapshotLoop *loop = s->loop;
	uint32_t nstack = loop->swept ? snapshot_stack_size(loop) : 0;
	Ref *args = refs(e, fn_nparams(s->run)), *results = refs(e, loop->ncarried);
	uint32_t n = fixed_operands(e, s, args);
	args[n++] = loop->swept ? get(e, inst_arg(e->f, in, 0)) : ip->linear[0];
	for (uint32_t k = 0; k < loop->nstate; k++) args[n++] = get(e, s->state[k]);
	for (uint32_t k = 0; k < nstack; k++) args[n++] = ip->linear[k];
	for (uint32_t k = 0; k < loop->ncarried; k++) args[n++] = get(e, s->carried[k]);
	for (uint32_t k = 0; k < loop->nheld; k++) args[n++] = get(e, s->held[k]);
	build_call(e->b, s->run, n, args, results);
	set_results(e, in, true, results);
}

static void linear_loop(SplitEmitter *e, const Inst *in) {
	LinearisePlan *p = e->p;
	InstPlan *ip = plan_of(p, in);
	if (ip->snapshots) {
		linear_run(e, in);
		return;
	}
	bool counted = in->op == OP_FOR;
	uint32_t skip = counted, n = 0;
	const Region *body = inst_region(e->f, in, !counted);
	const RegionPlan *g = &p->regions[region_id(p, in, !counted)];
	Ref *init = refs(e, in->nresults), *params = refs(e, in->nresults + 1),
		*results = refs(e, in->nresults);
	TypeId *types = ARENA_ARRAY(p->a, TypeId, in->nresults + 2u);
	Ref count = counted ? get(e, inst_arg(e->f, in, 0)) : ip->linear[0];
	const Ref *tapes = given_to(e, ip) + !counted;

	Dim *varying = ARENA_ARRAY(p->a, Dim, p->nsyms + 1u);
	memset(varying, 0xff, p->nsyms * sizeof *varying);
	for (uint32_t k = 0; k < in->nresults; k++)
		if (is_live(p, inst_result(in, k))) init[n++] = get(e, inst_arg(e->f, in, k + skip));
	forget_symbols(e, g);
	for (uint32_t k = 0; k < g->defined.n; k++) {
		SymId s = g->defined.at[k].sym;
		if (!g->defined.at[k].needed || s >= e->f->syms.n) continue;
		for (uint32_t m = 0; m < in->nresults; m++) {
			if (!is_live(p, inst_result(in, m))) continue;
			Type t = *type_of(e->c, e->f->vals.at[body->params + skip + m].type);
			for (uint32_t a = 0; a < t.rank; a++)
				if (varying[s] == UINT32_MAX && dim_mentions(e->c, t.dims[a], s))
					e->map.dims[s] = varying[s] =
						build_fresh_dim(e->b, e->f->syms.at[s].name, in->span);
		}
	}
	types[0] = type_scalar(e->c, DT_I64);
	uint32_t m = 1;
	for (uint32_t k = 0; k < in->nresults; k++)
		if (is_live(p, inst_result(in, k)))
			types[m++] = type_here(e, e->f->vals.at[body->params + skip + k].type);
	OpenRegion *open = build_region_begin(e->b, m, types, params);
	if (counted) refmap_set(&e->map, ref_value(body->params), params[0]);
	read_items(e, g, tapes, params[0], varying);
	m = 1;
	for (uint32_t k = 0; k < in->nresults; k++)
		if (is_live(p, inst_result(in, k)))
			refmap_set(&e->map, ref_value(body->params + skip + k), params[m++]);
	linear_region(e, body);
	m = 0;
	for (uint32_t k = 0; k < in->nresults; k++)
		if (is_live(p, inst_result(in, k))) results[m++] = get(e, plan_result(p, body, k));
	at_inst(e, in);
	build_for(e->b, count, n, init, build_region_end(e->b, open, m, results), results);
	set_results(e, in, true, results);
}

static void linear_part_call(SplitEmitter *e, const Inst *in) {
	InstPlan *ip = plan_of(e->p, in);
	const LinearSplit *s = ip->split ? split_data(ip->split) : NULL;
	uint32_t nresiduals = ip->given.n;
	Ref *args = refs(e, nresiduals + in->nargs), *results = refs(e, in->nresults);
	if (ip->mode == CALL_SPLIT) {
		if (nresiduals) memcpy(args, ip->linear, nresiduals * sizeof *args);
		uint32_t n = nresiduals + call_operands(e, in, true, args + nresiduals);
		build_call(e->b, s->linear, n, args, results);
	} else {
		uint32_t n = call_operands(e, in, false, args);
		n += call_operands(e, in, true, args + n);
		if (s) call_unfinished(e, in, s->joint, true, n, args, results);
		else build_call(e->b, inst_callee(e->c, in), n, args, results);
	}
	set_call_results(e, in, true, results);
}

typedef struct AllKnown {
	const SplitEmitter *e;
	bool all;
} AllKnown;

static void visit_known(void *ud, SymId s) {
	AllKnown *k = ud;
	/* by a linear value */
	const bool brought = s < k->e->f->syms.n && !k->e->p->shown[s] && k->e->p->brought[s];
	k->all = k->all && s < k->e->p->nsyms && (k->e->known[s] || brought);
}

/* Copies a guard whose extents the linear part knows; others are not needed. */
static void linear_guard(SplitEmitter *e, const Inst *in) {
	Dim x = (Dim)attr_int(e->c, OP_GUARD, in->attr, 0),
		y = (Dim)attr_int(e->c, OP_GUARD, in->attr, 1);
	AllKnown k = {e, true};
	dim_each_sym(e->c, x, visit_known, &k);
	dim_each_sym(e->c, y, visit_known, &k);
	if (k.all)
		build_unify(e->b, dim_here(e, x), dim_here(e, y),
		            (Atom)attr_int(e->c, OP_GUARD, in->attr, 2));
}

static void linear_inst(SplitEmitter *e, const Inst *in) {
	at_inst(e, in);
	if (in->op == OP_GUARD) {
		linear_guard(e, in);
		return;
	}
	bool remade = in->nresults && e->p->kept[in->results] == KEPT_REMADE;
	if (!remade && !any_live_result(e->p, in)) return;
	switch ((Op)in->op) {
	case OP_IF:
	case OP_TRY: linear_branches(e, in); break;
	case OP_FOR:
	case OP_WHILE: linear_loop(e, in); break;
	case OP_CALL: linear_part_call(e, in); break;
	default: build_copy_inst(e->b, &e->map, in);
	}
}

static void linear_region(SplitEmitter *e, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++) linear_inst(e, plan_inst(e->p, g, i));
}

typedef struct BoundSymbols {
	const bool *is;
	bool all;
} BoundSymbols;

static void visit_shown(void *ud, SymId s) {
	BoundSymbols *v = ud;
	v->all = v->all && v->is[s];
}

/* The types of the saved values from the primal part. The extent of one may be
 * m // 2 where no other saved value has m, because a later guard made m equal
 * to n. Then m cannot be bound here, and the axis gets a fresh symbol that is
 * checked later. */
static TypeId *saved_types(SplitEmitter *e, const Fn *primal, uint32_t first, uint32_t n) {
	bool *shown = ARENA_ARRAY(e->p->a, bool, primal->syms.n + 1u);
	TypeId *types = ARENA_ARRAY(e->p->a, TypeId, n + 1u);
	SymId s;
	for (uint32_t k = 0; k < n; k++) {
		const Type *t = ref_ty(primal, fn_result(primal, first + k));
		for (uint32_t a = 0; t->kind == TY_TENSOR && a < t->rank; a++)
			if (dim_is_sym(e->c, t->dims[a], &s)) shown[s] = true;
	}
	for (uint32_t k = 0; k < n; k++) {
		types[k] = ref_type(primal, fn_result(primal, first + k));
		Type t = *type_of(e->c, types[k]);
		bool changed = false;
		for (uint32_t a = 0; t.kind == TY_TENSOR && a < t.rank; a++) {
			BoundSymbols v = {shown, true};
			dim_each_sym(e->c, t.dims[a], visit_shown, &v);
			if (v.all) continue;
			t.dims[a] = build_fresh_dim(e->b, 0, 0);
			changed = true;
		}
		if (changed) types[k] = type_tensor(e->c, (Dtype)t.dtype, t.rank, t.dims);
	}
	return types;
}

Fn *emit_linear_part(LinearisePlan *p, const Fn *primal) {
	const Fn *f = p->f;
	Builder *b = build_begin(p->c, transform_name(p->c, f, "linear"), f->span, primal);
	build_derivative(b);
	SplitEmitter e = emit_begin(p, b, true);
	const RegionPlan *g = &p->regions[0];
	uint32_t first = fn_nresults(primal) - g->saved.n, n = 0;
	Ref *saved = refs(&e, g->saved.n);
	const TypeId *types = saved_types(&e, primal, first, g->saved.n);
	for (uint32_t k = 0; k < g->saved.n; k++) {
		const SavedValue *value = &g->saved.at[k];
		Atom name = value->kind == SAVED_VALUE ? f->vals.at[value->id].name : 0;
		saved[k] = build_param(b, types[k], name);
	}
	/* Bind first the symbols in the types of the other parameters; equalities
	 * wait until all are bound. */
	SymId s;
	for (uint32_t k = 0; k < g->saved.n; k++) {
		Type old = *type_of(p->c, g->saved.at[k].type), new = type_in(b, saved[k]);
		for (uint32_t a = 0; old.kind == TY_TENSOR && a < old.rank; a++) {
			if (!dim_is_sym(p->c, old.dims[a], &s) || e.known[s]) continue;
			e.map.dims[s] = new.dims[a];
			e.known[s] = true;
		}
	}
	Ref *tangents = refs(&e, fn_nparams(f));
	for (uint32_t k = 0; k < fn_nparams(f); k++) {
		if (!p->d->mask[k]) continue;
		const Val *v = &f->vals.at[REF_INDEX(fn_param(f, k))];
		tangents[k] = build_param(b, type_here(&e, v->type), v->name);
	}
	enter(&e, g, saved);
	for (uint32_t k = 0; k < fn_nparams(f); k++)
		if (p->d->mask[k]) refmap_set(&e.map, fn_param(f, k), tangents[k]);
	linear_region(&e, &f->regions.at[0]);
	Ref *results = refs(&e, fn_nresults(f));
	for (uint32_t k = 0; k < fn_nresults(f); k++)
		if (p->linear_result[k]) results[n++] = get(&e, fn_result(f, k));
	return build_end(b, n, results);
}
