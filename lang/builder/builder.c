/* builder.c - the builder: opening and abandoning functions, constants,
 * regions, common subexpressions, and the general emitter.
 *
 * Needs: builder/internal.h; type rules, folding and rewriting from their
 * files.
 *
 * Contract:
 * - Operands are checked before any change.
 * - An equal visible expression is returned instead of emitting a new one.
 * - An expression in a region is not found after the region is closed.
 * - A throw leaves the builder in a state that build_abandon can free.
 */
#include "lang/builder/internal.h"

#ifdef ATLED_STRESS
#define HEADS_FIRST 1u
#else
#define HEADS_FIRST 64u
#endif
#define DEPTH_MOST 48u /* limit of nested rewrites; no rule comes near it */

/* ---- opening and abandoning ---------------------------------------------- */

static uint32_t *new_heads(Builder *b, uint32_t n) {
	uint32_t *heads = arena_alloc(b->scratch, n * sizeof *heads);
	for (uint32_t i = 0; i < n; i++) heads[i] = UINT32_MAX;
	return heads;
}

static OpenRegion *open_region(Builder *b) {
	Fn *f = b->fn;
	VEC_RESERVE(b->scratch, &b->region_parent, f->regions.n + 1);
	VEC_RESERVE(b->scratch, &f->regions, f->regions.n + 1);
	OpenRegion *r = ARENA_NEW(b->scratch, OpenRegion);
	r->outer = b->region;
	r->id = f->regions.n;
	r->shared_mark = b->shared.n;
	r->bound_mark = b->bound.n;
	r->meant_mark = b->meant.n;
	r->trail_mark = dims_mark(b);
	f->regions.at[f->regions.n++] = (Region){.params = f->vals.n, .owner = NO_INST};
	b->region_parent.at[b->region_parent.n++] = b->region ? b->region->id : NO_REGION;
	b->region = r;
	return r;
}

Builder *build_begin(Ctx *c, Atom name, SpanId span, const Fn *like) {
	IrState *st = ir_state(c);
	Arena *scratch = arena_new(c);
	Builder *b = ARENA_NEW(scratch, Builder);
	b->ctx = c;
	b->scratch = scratch;
	b->span = span;
	b->shared_heads = new_heads(b, HEADS_FIRST);
	b->const_heads = new_heads(b, HEADS_FIRST);
	b->shared_head_count = b->const_head_count = HEADS_FIRST;
	rules_setup(b);
	Arena *own = arena_new(c);
	Fn *f = ARENA_NEW(own, Fn);
	*f = (Fn){.ctx = c,
	          .arena = own,
	          .name = name,
	          .span = span,
	          .refs = 1,
	          .derivative = like && like->derivative};
	b->fn = f;
	b->unasked = f->derivative;
	fn_register(c, f);
	b->serial = st->serial++;
	b->outer = st->open;
	st->open = b;
	for (uint32_t s = 0; like && s < like->syms.n; s++)
		build_sym(b, like->syms.at[s].name, like->syms.at[s].span);
	open_region(b);
	return b;
}

static void unlink_builder(Builder *b) {
	IrState *st = ir_state(b->ctx);
	for (Builder **at = &st->open; *at; at = &(*at)->outer) {
		if (*at != b) continue;
		*at = b->outer;
		return;
	}
}

/* Others may hold the unfinished function (a specialisation cache, for
 * recursion); they keep an empty one. */
void build_abandon(Builder *b) {
	Fn *f = b->fn;
	unlink_builder(b);
	for (uint32_t i = 0; i < f->consts.n; i++) value_unref(f->consts.at[i].value);
	for (uint32_t i = 0; i < f->insts.n; i++) {
		if (f->insts.at[i].op != OP_CALL) continue;
		Fn *callee = inst_callee(b->ctx, &f->insts.at[i]);
		if (callee != f) fn_unref(callee);
	}
	Fn empty = {.ctx = f->ctx,
	            .arena = f->arena,
	            .id = f->id,
	            .name = f->name,
	            .span = f->span,
	            .derived = f->derived,
	            .code = f->code,
	            .refs = f->refs};
	*f = empty;
	tensor_unref(b->pending);
	arena_free(b->scratch);
	fn_unref(f);
}

uint32_t build_mark(Ctx *c) { return ir_state(c)->serial; }

void build_unwind(Ctx *c, uint32_t mark) {
	IrState *st = ctx_slot(c, SLOT_IR);
	if (!st) return;
	for (Builder *b = st->open; b;) {
		Builder *outer = b->outer;
		if (b->serial >= mark) build_abandon(b);
		b = outer;
	}
}

Fn *build_end(Builder *b, uint32_t nresults, const Ref *results) {
	if (b->region->outer)
		build_breach(b, OP_NONE, 0, NULL, "the function is ended inside a region");
	build_region_end(b, b->region, nresults, results);
	eliminate_dead_code(b);
	Fn *f = b->fn;
	f->finished = true;
	/* The builder is still open, so that the catcher can abandon the function.
	 */
	if (ctx_verifies(b->ctx) && !fn_verify(f, "build")) {
		ir_state(b->ctx)->broken++;
		ctx_throw(b->ctx, ST_INTERNAL);
	}
	unlink_builder(b);
	arena_free(b->scratch);
	return f;
}

Builder *checker_begin(const Fn *f) {
	Arena *scratch = arena_new(f->ctx);
	Builder *b = ARENA_NEW(scratch, Builder);
	b->ctx = f->ctx;
	b->scratch = scratch;
	b->fn = (Fn *)f; /* `checking` prevents changes */
	b->checking = true;
	VEC_RESERVE(scratch, &b->equal, f->syms.n);
	VEC_RESERVE(scratch, &b->home, f->syms.n);
	VEC_RESERVE(scratch, &b->region_parent, f->regions.n);
	b->equal.n = b->home.n = f->syms.n;
	for (uint32_t s = 0; s < f->syms.n; s++) {
		b->equal.at[s] = NO_DIM;
		b->home.at[s] = NO_REGION;
	}
	b->region_parent.n = f->regions.n;
	for (uint32_t r = 0; r < f->regions.n; r++) {
		InstId owner = f->regions.at[r].owner;
		b->region_parent.at[r] = owner < f->insts.n ? f->insts.at[owner].parent : NO_REGION;
	}
	return b;
}

void build_derivative(Builder *b) { b->unasked = b->fn->derivative = true; }

bool build_unasked(Builder *b, bool unasked) {
	const bool before = b->unasked;
	b->unasked = unasked || b->fn->derivative;
	return before;
}

void checker_end(Builder *b) { arena_free(b->scratch); }

/* ---- queries ------------------------------------------------------------- */

Fn *build_fn(Builder *b) { return b->fn; }

Ctx *build_ctx(Builder *b) { return b->ctx; }

void build_at(Builder *b, SpanId span) { b->span = span; }

SpanId build_span(const Builder *b) { return b->span; }

bool build_zeros_absorb(Builder *b, bool absorb) {
	const bool before = b->zeros_absorb;
	b->zeros_absorb = absorb;
	return before;
}

void build_chain(Builder *b, ChainId chain) { b->chain = chain; }

ChainId build_get_chain(const Builder *b) { return b->chain; }

void build_name(Builder *b, Ref r, Atom name) {
	if (ref_is_value(r) && !b->fn->vals.at[REF_INDEX(r)].name)
		b->fn->vals.at[REF_INDEX(r)].name = name;
}

void build_breach(Builder *b, Op op, uint32_t nargs, const Ref *args, const char *why) {
	const char *operands = "";
	for (uint32_t k = 0; k < nargs; k++) {
		bool known = ref_is_value(args[k])
		                 ? REF_INDEX(args[k]) < b->fn->vals.n
		                 : ref_is_const(args[k]) && REF_INDEX(args[k]) < b->fn->consts.n;
		operands = arena_printf(b->scratch, "%s%s%s", operands, k ? ", " : "",
		                        known ? type_words(b, ref_type(b->fn, args[k])) : "?");
	}
	diag_error(b->ctx, E_INTERNAL, span_of(b->ctx, b->span), "%s(%s) in '%s': %s", prims[op].name,
	           operands, atom_text(b->ctx, b->fn->name), why ? why : "wrong operands");
	ctx_throw(b->ctx, ST_INTERNAL);
}

/* Reports negative constant extents. The program checks the others at run time.
 */
static void check_lengths(Builder *b, uint32_t n, const TypeId *types) {
	for (uint32_t k = 0; k < n; k++) {
		const Type *t = type_of(b->ctx, types[k]);
		int64_t length;
		for (uint32_t a = 0; a < t->rank; a++) {
			if (!dim_is_const(b->ctx, t->dims[a], &length) || length >= 0) continue;
			diag_error(b->ctx, E_SHAPE, span_of(b->ctx, b->span),
			           "a length cannot be negative: %lld", (long long)length);
			ctx_throw(b->ctx, ST_ERROR);
		}
	}
}

/* ---- constants ----------------------------------------------------------- */

static uint32_t hash_bytes(uint32_t seed, const void *at, size_t n) {
	const unsigned char *p = at;
	uint64_t h = 0xcbf29ce484222325u ^ seed;
	for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3u;
	return (uint32_t)(h ^ h >> 32);
}

static bool is_small(const Tensor *t) { return t->count <= FOLD_LIMIT && t->contiguous; }

static uint32_t hash_value(TypeId type, Value v) {
	uint32_t h = type * 0x9e3779b1u + v.kind;
	if (v.kind == V_SCALAR)
		return hash_bytes(h, value_scalar_bytes(&v), dtype_size((Dtype)v.dtype));
	if (v.kind == V_TENSOR) {
		const Tensor *t = v.tensor;
		if (is_small(t))
			return hash_bytes(h, t->data, (size_t)t->count * dtype_size((Dtype)t->dtype));
		return hash_bytes(h, &v.tensor, sizeof v.tensor);
	}
	if (v.kind == V_STRING)
		return hash_bytes(h, ((const StringObject *)v.object)->text, v.object->n);
	if (v.kind > V_STRING && v.kind < V_TOKEN) return hash_bytes(h, &v.object, sizeof v.object);
	return h;
}

/* Compares scalars and small arrays by bits, strings by text, others by
 * identity. */
static bool same_constant(Value a, Value b) {
	if (a.kind != b.kind) return false;
	if (a.kind == V_SCALAR)
		return a.dtype == b.dtype &&
		       !memcmp(value_scalar_bytes(&a), value_scalar_bytes(&b), dtype_size((Dtype)a.dtype));
	if (a.kind == V_TENSOR) {
		const Tensor *s = a.tensor, *t = b.tensor;
		if (s == t) return true;
		return is_small(s) && is_small(t) && s->dtype == t->dtype && tensor_same_shape(s, t) &&
		       !memcmp(s->data, t->data, (size_t)s->count * dtype_size((Dtype)s->dtype));
	}
	if (a.kind == V_STRING) {
		const StringObject *s = (const StringObject *)a.object, *t = (const StringObject *)b.object;
		return s == t || (s->head.n == t->head.n && !memcmp(s->text, t->text, s->head.n));
	}
	return a.kind <= V_NONE || a.kind == V_TOKEN || a.object == b.object;
}

static void grow_const_heads(Builder *b) {
	uint32_t n = b->const_head_count * 4;
	uint32_t *heads = new_heads(b, n);
	for (uint32_t i = 0; i < b->fn->consts.n; i++) {
		b->const_next.at[i] = heads[b->const_hash.at[i] & (n - 1)];
		heads[b->const_hash.at[i] & (n - 1)] = i;
	}
	b->const_heads = heads;
	b->const_head_count = n;
}

static TypeId constant_type(Ctx *c, Value v) {
	if (v.kind == V_SCALAR) return type_scalar(c, (Dtype)v.dtype);
	if (v.kind != V_TENSOR) return type_dyn(c);
	Dim dims[MAX_RANK];
	for (uint32_t k = 0; k < v.tensor->rank; k++) dims[k] = dim_const(c, v.tensor->shape[k]);
	return type_tensor(c, (Dtype)v.tensor->dtype, v.tensor->rank, dims);
}

Ref build_const(Builder *b, Value v) {
	Fn *f = b->fn;
	if (v.kind == V_TENSOR && !v.tensor->rank)
		v = value_scalar_from_bytes((Dtype)v.tensor->dtype, v.tensor->data);
	TypeId type = constant_type(b->ctx, v);
	uint32_t hash = hash_value(type, v);
	for (uint32_t i = b->const_heads[hash & (b->const_head_count - 1)]; i != UINT32_MAX;
	     i = b->const_next.at[i])
		if (b->const_hash.at[i] == hash && f->consts.at[i].type == type &&
		    same_constant(f->consts.at[i].value, v))
			return ref_const(i);
	VEC_RESERVE(b->scratch, &f->consts, f->consts.n + 1);
	VEC_RESERVE(b->scratch, &b->const_next, f->consts.n + 1);
	VEC_RESERVE(b->scratch, &b->const_hash, f->consts.n + 1);
	if (f->consts.n >= b->const_head_count) grow_const_heads(b);
	uint32_t *head = &b->const_heads[hash & (b->const_head_count - 1)], i = f->consts.n;
	b->const_next.at[i] = *head;
	b->const_hash.at[i] = hash;
	b->const_next.n = b->const_hash.n = i + 1;
	*head = i;
	f->consts.at[f->consts.n++] = (Const){.type = type, .value = value_ref(v)};
	return ref_const(i);
}

/* ---- common subexpressions ----------------------------------------------- */

static bool may_share(const Builder *b, Op op, AttrId attr) {
	switch (op) {
	case OP_IF:
	case OP_FOR:
	case OP_WHILE:
	case OP_TRY: return false;
	case OP_FAIL:
	case OP_WARN:
	case OP_PROGRESS:
	case OP_BIND:
	case OP_GUARD: return false;
	case OP_HOST:
		return host_is_pure(host_call(b->ctx, (HostId)attr_int(b->ctx, OP_HOST, attr, 0)));
	case OP_CALL: { /* an unfinished function may still turn out to have effects */
		const Fn *callee = fn_get(b->ctx, (FnId)attr_int(b->ctx, OP_CALL, attr, 0));
		return callee && callee->finished && !callee->effects;
	}
	default: return prims[op].effect != EFFECT_EFFECT;
	}
}

static uint32_t hash_expr(Op op, uint32_t nargs, const Ref *args, AttrId attr) {
	uint32_t seed = (uint32_t)op * 0x85ebca6bu ^ attr * 0xc2b2ae35u;
	return hash_bytes(seed, args, nargs * sizeof *args);
}

/* The types are not part of the key: they follow from the rest, up to
 * equalities of extents found later. */
InstId find_shared(Builder *b, Op op, uint32_t nargs, const Ref *args, AttrId attr) {
	const Fn *f = b->fn;
	if (b->verbatim || !may_share(b, op, attr)) return NO_INST;
	uint32_t hash = hash_expr(op, nargs, args, attr);
	for (uint32_t i = b->shared_heads[hash & (b->shared_head_count - 1)]; i != UINT32_MAX;
	     i = b->shared.at[i].next) {
		const SharedExpr *s = &b->shared.at[i];
		const Inst *in = &f->insts.at[s->inst];
		if (s->hash == hash && in->op == op && in->attr == attr && in->nargs == nargs &&
		    (!nargs || !memcmp(&f->args.at[in->args], args, nargs * sizeof *args)))
			return s->inst;
	}
	return NO_INST;
}

static void remember_shared(Builder *b, InstId i) {
	const Fn *f = b->fn;
	const Inst *in = &f->insts.at[i];
	if (b->verbatim || !may_share(b, (Op)in->op, in->attr)) return;
	VEC_RESERVE(b->scratch, &b->shared, b->shared.n + 1);
	if (b->shared.n >= b->shared_head_count) {
		uint32_t n = b->shared_head_count * 4, *heads = new_heads(b, n);
		/* Oldest first, so that a bucket starts with its newest entry. */
		for (uint32_t k = 0; k < b->shared.n; k++) {
			uint32_t *head = &heads[b->shared.at[k].hash & (n - 1)];
			b->shared.at[k].next = *head;
			*head = k;
		}
		b->shared_heads = heads;
		b->shared_head_count = n;
	}
	uint32_t hash =
		hash_expr((Op)in->op, in->nargs, in->nargs ? &f->args.at[in->args] : NULL, in->attr);
	uint32_t *head = &b->shared_heads[hash & (b->shared_head_count - 1)];
	b->shared.at[b->shared.n] = (SharedExpr){.hash = hash, .inst = i, .next = *head};
	*head = b->shared.n++;
}

static void forget_shared(Builder *b, uint32_t mark) {
	while (b->shared.n > mark) {
		const SharedExpr *s = &b->shared.at[--b->shared.n];
		b->shared_heads[s->hash & (b->shared_head_count - 1)] = s->next;
	}
}

/* ---- regions ------------------------------------------------------------- */

static Ref add_param(Builder *b, OpenRegion *r, TypeId type, Atom name) {
	Fn *f = b->fn;
	Region *g = &f->regions.at[r->id];
	if (g->params + g->nparams != f->vals.n || r->order.n)
		build_breach(b, OP_NONE, 0, NULL, "a parameter is added after the first instruction");
	if (!b->verbatim) type = build_canon_type(b, type);
	check_lengths(b, 1, &type);
	Val v = {.type = type, .def = NO_INST, .index = g->nparams, .region = r->id, .name = name};
	VEC_PUSH(b->scratch, &f->vals, v);
	g->nparams++;
	dims_enter(b, r->id, type);
	return ref_value(f->vals.n - 1);
}

Ref build_param(Builder *b, TypeId type, Atom name) {
	if (b->region->outer)
		build_breach(b, OP_NONE, 0, NULL, "a function's parameter is added inside a region");
	return add_param(b, b->region, type, name);
}

OpenRegion *build_region_begin(Builder *b, uint32_t nparams, const TypeId *types, Ref *params) {
	OpenRegion *r = open_region(b);
	r->span = b->span;
	r->chain = b->chain;
	for (uint32_t k = 0; k < nparams; k++) {
		Ref p = add_param(b, r, types[k], 0);
		if (params) params[k] = p;
	}
	return r;
}

RegionId build_region_end(Builder *b, OpenRegion *r, uint32_t nresults, const Ref *results) {
	Fn *f = b->fn;
	if (r != b->region) build_breach(b, OP_NONE, 0, NULL, "regions are not closed innermost first");
	VEC_RESERVE(b->scratch, &f->inst_order, f->inst_order.n + r->order.n);
	VEC_RESERVE(b->scratch, &f->args, f->args.n + nresults);
	Region *g = &f->regions.at[r->id];
	g->insts = f->inst_order.n;
	g->ninsts = r->order.n;
	for (uint32_t i = 0; i < r->order.n; i++) f->inst_order.at[f->inst_order.n++] = r->order.at[i];
	g->results = f->args.n;
	g->nresults = nresults;
	for (uint32_t i = 0; i < nresults; i++) f->args.at[f->args.n++] = results[i];
	forget_shared(b, r->shared_mark);
	/* Restores the symbols whose meaning changed inside the region. */
	while (r->outer && b->meant.n > r->meant_mark) {
		const Meant *m = &b->meant.at[--b->meant.n];
		*m->place = m->old;
	}
	b->bound.n = r->bound_mark;
	dims_undo(b, r->trail_mark);
	b->region = r->outer;
	b->span = r->span;
	b->chain = r->chain;
	return r->id;
}

/* Updates the builder's tables for an instruction just added to the open
 * region. */
static void note_inst(Builder *b, InstId i) {
	Fn *f = b->fn;
	const Inst *in = &f->insts.at[i];
	RegionId here = b->region->id;
	for (uint32_t k = 0; k < in->nresults; k++)
		dims_enter(b, here, f->vals.at[in->results + k].type);
	if (in->op == OP_GUARD) {
		dims_assume(b, (Dim)attr_int(b->ctx, OP_GUARD, in->attr, 0),
		            (Dim)attr_int(b->ctx, OP_GUARD, in->attr, 1));
	} else if (in->op == OP_BIND) {
		Bound known = {.scalar = inst_arg(f, in, 0),
		               .dim = (Dim)attr_int(b->ctx, OP_BIND, in->attr, 0)};
		dims_enter_dim(b, here, known.dim);
		VEC_PUSH(b->scratch, &b->bound, known);
	}
}

void build_region_abandon(Builder *b, OpenRegion *r) {
	OpenRegion *outer = r->outer;
	while (b->region != outer) {
		OpenRegion *inner = b->region;
		if (!inner->outer)
			build_breach(b, OP_NONE, 0, NULL, "a region that is not open is given up");
		forget_shared(b, inner->shared_mark);
		b->bound.n = inner->bound_mark;
		/* Copies made in the region are discarded with their maps. */
		b->meant.n = inner->meant_mark;
		dims_undo(b, inner->trail_mark);
		b->region = inner->outer;
	}
}

void build_regions_close(Builder *b) {
	OpenRegion *r = b->region;
	if (!r->outer) return;
	while (r->outer->outer) r = r->outer;
	build_region_abandon(b, r);
}

OpenRegion *build_region_reopen(Builder *b, RegionId id, Ref *results) {
	Fn *f = b->fn;
	OpenRegion *r = arena_zalloc(b->scratch, sizeof *r);
	r->outer = b->region;
	r->id = id;
	r->shared_mark = b->shared.n;
	r->bound_mark = b->bound.n;
	r->meant_mark = b->meant.n;
	r->trail_mark = dims_mark(b);
	r->span = b->span;
	r->chain = b->chain;
	b->region = r;
	uint32_t n = f->regions.at[id].ninsts, first = f->regions.at[id].insts;
	VEC_RESERVE(b->scratch, &r->order, n);
	for (uint32_t k = 0; k < n; k++) {
		r->order.at[r->order.n++] = f->inst_order.at[first + k];
		note_inst(b, f->inst_order.at[first + k]);
	}
	f->regions.at[id].ninsts = 0;
	if (results)
		for (uint32_t k = 0; k < f->regions.at[id].nresults; k++)
			results[k] = f->args.at[f->regions.at[id].results + k];
	return r;
}

void splice_region(Builder *b, RegionId r) {
	Fn *f = b->fn;
	RegionId here = b->region->id;
	for (uint32_t s = 0; s < b->home.n; s++)
		if (b->home.at[s] == r) b->home.at[s] = here;
	uint32_t n = f->regions.at[r].ninsts, first = f->regions.at[r].insts;
	VEC_RESERVE(b->scratch, &b->region->order, b->region->order.n + n);
	f->regions.at[r].ninsts = 0;
	for (uint32_t k = 0; k < n; k++) {
		InstId i = f->inst_order.at[first + k];
		Inst *in = &f->insts.at[i];
		in->parent = here;
		for (uint32_t v = 0; v < in->nresults; v++) f->vals.at[in->results + v].region = here;
		b->region->order.at[b->region->order.n++] = i;
		note_inst(b, i);
		remember_shared(b, i);
	}
}

/* ---- emitting ------------------------------------------------------------ */

InstId emit_inst(Builder *b, Op op, uint32_t nargs, const Ref *args, AttrId attr, uint32_t nregions,
                 const RegionId *regions, uint32_t nresults, const TypeId *types) {
	Fn *f = b->fn;
	Arena *a = b->scratch;
	VEC_RESERVE(a, &f->args, f->args.n + nargs);
	VEC_RESERVE(a, &f->vals, f->vals.n + nresults);
	VEC_RESERVE(a, &f->region_ids, f->region_ids.n + nregions);
	VEC_RESERVE(a, &f->insts, f->insts.n + 1);
	VEC_RESERVE(a, &b->region->order, b->region->order.n + 1);
	InstId i = f->insts.n;
	Inst in = {.op = (uint16_t)op,
	           .nregions = (uint8_t)nregions,
	           .unasked = b->unasked,
	           .nargs = nargs,
	           .args = f->args.n,
	           .nresults = nresults,
	           .results = f->vals.n,
	           .attr = attr,
	           .span = b->span,
	           .chain = b->chain,
	           .regions = f->region_ids.n,
	           .parent = b->region->id};
	for (uint32_t k = 0; k < nargs; k++) f->args.at[f->args.n++] = args[k];
	for (uint32_t k = 0; k < nregions; k++) {
		f->region_ids.at[f->region_ids.n++] = regions[k];
		f->regions.at[regions[k]].owner = i;
	}
	for (uint32_t k = 0; k < nresults; k++)
		f->vals.at[f->vals.n++] =
			(Val){.type = types[k], .def = i, .index = k, .region = b->region->id};
	f->insts.at[f->insts.n++] = in;
	b->region->order.at[b->region->order.n++] = i;
	if (op == OP_CALL) {
		Fn *callee = fn_get(b->ctx, (FnId)attr_int(b->ctx, OP_CALL, attr, 0));
		f->effects |= callee->effects;
		if (callee != f) fn_ref(callee);
	}
	f->effects |= prims[op].effect == EFFECT_EFFECT;
	note_inst(b, i);
	return i;
}

/* Variables before splats before constants; the older variable first. */
static uint64_t operand_order(const Fn *f, Ref r) {
	Value v;
	uint64_t rank = ref_is_const(r) ? 2 : ref_splat(f, r, &v) ? 1 : 0;
	return rank << 32 | r;
}

static Ref give_results(const Inst *in, Ref *results) {
	for (uint32_t k = 0; results && k < in->nresults; k++) results[k] = inst_result(in, k);
	return in->nresults ? inst_result(in, 0) : REF_NONE;
}

/* An extent that is already known needs no instruction. */
static bool needless(Builder *b, Op op, const Ref *args, AttrId attr) {
	if (op == OP_GUARD)
		return build_same_dim(b, (Dim)attr_int(b->ctx, op, attr, 0),
		                      (Dim)attr_int(b->ctx, op, attr, 1));
	if (op != OP_BIND) return false;
	Dim d = dim_known(b, args[0]), bound = (Dim)attr_int(b->ctx, op, attr, 0);
	int64_t v;
	SymId s;
	if (d == NO_DIM || (dim_is_const(b->ctx, d, &v) && v < 0) || !dim_is_sym(b->ctx, bound, &s))
		return false;
	if (build_same_dim(b, bound, d)) return true;
	if (s >= b->equal.n || b->equal.at[s] != NO_DIM || sym_visible(b, s, b->region->id))
		return false;
	dims_define(b, s, d);
	return true;
}

static Ref build_any(Builder *b, Op op, uint32_t nargs, const Ref *args, AttrId attr,
                     uint32_t nregions, const RegionId *regions, const TypeId *stated,
                     uint32_t nstated, Ref *results) {
	Ref pair[2];
	if (!b->verbatim) {
		/* the dim of a bind is a name, not an extent */
		if (op != OP_BIND) attr = build_canon_attr(b, op, attr);
		if (op < OP_COUNT && nargs == 2 && (prims[op].traits & TRAIT_COMMUTES) &&
		    operand_order(b->fn, args[0]) > operand_order(b->fn, args[1])) {
			pair[0] = args[1];
			pair[1] = args[0];
			args = pair;
		}
	}
	TypeQuery q = {.b = b,
	               .op = op,
	               .nargs = nargs,
	               .args = args,
	               .attr = attr,
	               .nregions = nregions,
	               .regions = regions,
	               .here = b->region->id,
	               .stated = stated,
	               .nstated = nstated};
	if (!infer_types(&q)) build_breach(b, op < OP_COUNT ? op : OP_NONE, nargs, args, q.why);
	const TypeId *types = stated ? stated : q.out;
	uint32_t nresults = stated ? nstated : q.nout;
	check_lengths(b, nresults, types);
	if (!b->verbatim) {
		if (needless(b, op, args, attr)) return REF_NONE;
		InstId known = find_shared(b, op, nargs, args, attr);
		if (known != NO_INST) {
			b->fn->insts.at[known].unasked &= b->unasked;
			return give_results(&b->fn->insts.at[known], results);
		}
		if (nresults == 1 && !nregions && b->depth < DEPTH_MOST) {
			Expr e = {.op = op,
			          .nargs = nargs,
			          .args = args,
			          .attr = attr,
			          .type = build_canon_type(b, types[0])};
			b->depth++;
			Ref r = fold_constants(b, &e);
			if (r == REF_NONE) r = rewrite(b, &e);
			b->depth--;
			if (r != REF_NONE) {
				if (results) results[0] = r;
				return r;
			}
		}
		if (stated) {
			TypeId *canonical = arena_alloc(b->scratch, (nresults + 1) * sizeof *canonical);
			for (uint32_t k = 0; k < nresults; k++) canonical[k] = build_canon_type(b, stated[k]);
			types = canonical;
		}
	}
	InstId i = emit_inst(b, op, nargs, args, attr, nregions, regions, nresults, types);
	remember_shared(b, i);
	return give_results(&b->fn->insts.at[i], results);
}

Ref build(Builder *b, Op op, uint32_t nargs, const Ref *args, AttrId attr, Ref *results) {
	return build_any(b, op, nargs, args, attr, 0, NULL, NULL, 0, results);
}

Ref build_typed(Builder *b, Op op, uint32_t nargs, const Ref *args, AttrId attr, uint32_t nresults,
                const TypeId *types, Ref *results) {
	TypeId none = 0;
	return build_any(b, op, nargs, args, attr, 0, NULL, types ? types : &none, nresults, results);
}

InstId build_owner(Builder *b, Op op, uint32_t nargs, const Ref *args, AttrId attr,
                   uint32_t nregions, const RegionId *regions, uint32_t nresults,
                   const TypeId *types, Ref *results) {
	TypeId none = 0;
	build_any(b, op, nargs, args, attr, nregions, regions, types ? types : &none, nresults,
	          results);
	return b->fn->insts.n - 1;
}
