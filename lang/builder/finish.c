/* finish.c - the end of a build: dead-code elimination and compaction into the
 * function's own arena.
 *
 * Needs: builder/internal.h; a closed body.
 *
 * Contract:
 * - Instructions that must run stay: guards, bound extents, failures, effects,
 *   host calls, and calls and loops that contain such. So do definitions of
 *   extents that are still mentioned.
 * - An instruction that may fail or not terminate stays too, used or not,
 *   unless it belongs to a derivative.
 * - In the body of a `try` that stays, every instruction that may fail stays,
 *   in a derivative too: its failure decides the result of the `try`.
 * - An `if` returns only the results that are used.
 * - Values, instructions and regions are numbered in program order, the
 *   contents of a region before the results of its owner.
 * - When memory runs out, the function is unchanged.
 */
#include "lang/builder/internal.h"

typedef struct DefiningInst { /* an instruction that defines the symbol */
	SymId sym;
	InstId inst;
	Ref result; /* the result whose type contains it; REF_NONE: an attribute */
} DefiningInst;

typedef struct DeadCode {
	Builder *b;
	Arena *a;
	const Fn *f;
	bool *live, *live_sym;
	bool *used; /* by value: it has a use */
	/* By instruction: 0 not computed, 1 removable, 2 must run; `stays` also
	 * counts possible failures. */
	uint8_t *must, *stays;
	VEC(InstId) work;
	VEC(DefiningInst) definitions;
	bool *defined;                            /* by symbol, during the search for definitions */
	uint32_t *val_map, *inst_map, *const_map; /* UINT32_MAX: removed */
	Fn out;
} DeadCode;

static InstId inst_at(const Fn *f, const Region *g, uint32_t k) {
	return f->inst_order.at[g->insts + k];
}

/* ---- instructions that must run ------------------------------------------ */

static bool has_side_effects(DeadCode *k, InstId i);

static bool region_must_run(DeadCode *k, const Region *g) {
	bool any = false;
	for (uint32_t n = 0; n < g->ninsts; n++) any |= has_side_effects(k, inst_at(k->f, g, n));
	return any;
}

static bool has_side_effects(DeadCode *k, InstId i) {
	if (k->must[i]) return k->must[i] == 2;
	const Inst *in = &k->f->insts.at[i];
	bool must = prims[in->op].effect == EFFECT_EFFECT;
	switch (in->op) {
	case OP_GUARD:
	case OP_BIND:
	case OP_FAIL:
	case OP_WARN:
	case OP_PROGRESS:
	case OP_UNBOX: must = true; break;
	case OP_HOST:
		must =
			!host_is_pure(host_call(k->b->ctx, (HostId)attr_int(k->b->ctx, OP_HOST, in->attr, 0)));
		break;
	case OP_CALL: {
		const Fn *callee = inst_callee(k->b->ctx, in);
		must = !callee->finished || callee->has_side_effects;
		break;
	}
	default:
		for (uint32_t r = 0; r < in->nregions; r++)
			must |= region_must_run(k, inst_region(k->f, in, r));
	}
	k->must[i] = must ? 2 : 1;
	return must;
}

/* Whether a transform added the instruction. All transforms make derivatives
 * except batching, which marks its own additions with `unasked`. */
static bool is_unasked(Ctx *c, const Inst *in) {
	char transforms[160];
	if (in->unasked || !in->chain) return in->unasked;
	chain_transforms(c, in->chain, transforms, sizeof transforms);
	for (const char *word = transforms; *word; word += strspn(word, " ")) {
		size_t n = strcspn(word, " ");
		if (n != 3 || memcmp(word, "map", 3)) return true;
		word += n;
	}
	return false;
}

static bool stays(DeadCode *k, InstId i);

static bool region_stays(DeadCode *k, const Region *g) {
	bool any = false;
	for (uint32_t n = 0; n < g->ninsts; n++) any |= stays(k, inst_at(k->f, g, n));
	return any;
}

/* Whether the instruction stays even when unused. An unused `try` is removed
 * together with the possible failures in its body. */
static bool stays(DeadCode *k, InstId i) {
	if (k->stays[i]) return k->stays[i] == 2;
	const Inst *in = &k->f->insts.at[i];
	bool any = has_side_effects(k, i);
	if (!any && in->op == OP_TRY) any = region_stays(k, inst_region(k->f, in, 1));
	else if (!any && (in->op == OP_IF || in->op == OP_FOR))
		any = region_stays(k, inst_region(k->f, in, 0)) ||
		      (in->nregions == 2 && region_stays(k, inst_region(k->f, in, 1)));
	else if (!any && inst_may_fail(k->f, in)) {
		const Fn *callee = inst_callee(k->b->ctx, in);
		any = !is_unasked(k->b->ctx, in) && !(callee && callee->derivative);
	}
	k->stays[i] = any ? 2 : 1;
	return any;
}

/* Whether the region is inside the body of a `try`. */
static bool is_tried(const Fn *f, const Region *g) {
	while (g->owner != NO_INST) {
		const Inst *owner = &f->insts.at[g->owner];
		if (owner->op == OP_TRY && g == inst_region(f, owner, 0)) return true;
		g = &f->regions.at[owner->parent];
	}
	return false;
}

/* ---- definitions of extents ---------------------------------------------- */

static void note_definitions(DeadCode *k, TypeId type, InstId inst, Ref result, uint32_t *trail,
                             uint32_t *ntrail) {
	Ctx *c = k->b->ctx;
	Type t = *type_of(c, type);
	SymId s;
	for (uint32_t a = 0; t.kind == TY_TENSOR && a < t.rank; a++) {
		if (!dim_is_sym(c, t.dims[a], &s) || s >= k->f->syms.n || k->defined[s]) continue;
		k->defined[s] = true;
		trail[(*ntrail)++] = s;
		DefiningInst definition = {.sym = s, .inst = inst, .result = result};
		if (inst != NO_INST) VEC_PUSH(k->a, &k->definitions, definition);
	}
}

/* A symbol may be defined more than once, in sibling regions. */
static void find_definitions(DeadCode *k, const Region *g, uint32_t *trail, uint32_t ntrail) {
	uint32_t mark = ntrail;
	for (uint32_t p = 0; p < g->nparams; p++)
		note_definitions(k, k->f->vals.at[g->params + p].type, NO_INST, REF_NONE, trail, &ntrail);
	for (uint32_t n = 0; n < g->ninsts; n++) {
		InstId i = inst_at(k->f, g, n);
		const Inst *in = &k->f->insts.at[i];
		for (uint32_t r = 0; r < in->nregions; r++)
			find_definitions(k, inst_region(k->f, in, r), trail, ntrail);
		for (uint32_t v = 0; v < in->nresults; v++)
			note_definitions(k, k->f->vals.at[in->results + v].type, i, inst_result(in, v), trail,
			                 &ntrail);
	}
	while (ntrail > mark) k->defined[trail[--ntrail]] = false;
}

/* ---- liveness ------------------------------------------------------------ */

static void mark_inst(DeadCode *k, InstId i) {
	if (i == NO_INST || k->live[i]) return;
	k->live[i] = true;
	k->work.at[k->work.n++] = i; /* has capacity for every instruction */
}

/* Of an `if`, only the used results are live; of other instructions, all
 * results or none. Where the function defines extents inside, an `if` keeps all
 * results: the code for one result may need an extent that another result
 * defines. */
static bool gives_what_is_read(const DeadCode *k, const Inst *in) {
	return in->op == OP_IF && !k->b->verbatim && !k->definitions.n;
}

static void mark_type(DeadCode *k, TypeId type);
static void mark_ref(DeadCode *k, Ref r) {
	if (!ref_is_value(r) || k->used[REF_INDEX(r)]) return;
	const Val *v = &k->f->vals.at[REF_INDEX(r)];
	k->used[REF_INDEX(r)] = true;
	mark_inst(k, v->def);
	const Inst *in = v->def == NO_INST ? NULL : &k->f->insts.at[v->def];
	if (!in || !gives_what_is_read(k, in)) return;
	mark_type(k, v->type);
	for (uint32_t i = 0; i < in->nregions; i++)
		mark_ref(k,
		         k->f->args.at[inst_region(k->f, in, i)->results + (REF_INDEX(r) - in->results)]);
}

static void mark_sym(void *ud, SymId s) {
	DeadCode *k = ud;
	if (s >= k->f->syms.n || k->live_sym[s]) return;
	k->live_sym[s] = true;
	for (uint32_t i = 0; i < k->definitions.n; i++)
		if (k->definitions.at[i].sym == s) {
			mark_inst(k, k->definitions.at[i].inst);
			mark_ref(k, k->definitions.at[i].result);
		}
}

static void mark_type(DeadCode *k, TypeId type) {
	Type t = *type_of(k->b->ctx, type);
	for (uint32_t a = 0; t.kind == TY_TENSOR && a < t.rank; a++)
		dim_each_sym(k->b->ctx, t.dims[a], mark_sym, k);
}

static void mark_attr(DeadCode *k, const Inst *in) {
	Ctx *c = k->b->ctx;
	const AttrSchema *s = &ir_state(c)->schema[in->op];
	for (uint32_t i = 0; i < s->n; i++) {
		if (s->letter[i] != 'D' && s->letter[i] != 'y') continue;
		uint32_t n;
		const int64_t *w = attr_field(c, (Op)in->op, in->attr, i, &n);
		for (uint32_t m = 0; m < n; m++) {
			if (s->letter[i] == 'D') dim_each_sym(c, (Dim)w[m], mark_sym, k);
			else mark_type(k, (TypeId)w[m]);
		}
	}
}

static void mark_region(DeadCode *k, const Region *g, bool results) {
	for (uint32_t p = 0; p < g->nparams; p++) mark_type(k, k->f->vals.at[g->params + p].type);
	const bool tried = is_tried(k->f, g);
	for (uint32_t n = 0; n < g->ninsts; n++) {
		InstId i = inst_at(k->f, g, n);
		if (k->b->verbatim || stays(k, i) || (tried && inst_may_fail(k->f, &k->f->insts.at[i])))
			mark_inst(k, i);
	}
	for (uint32_t r = 0; results && r < g->nresults; r++)
		mark_ref(k, k->f->args.at[g->results + r]);
}

static void mark(DeadCode *k) {
	enum { POLL = 4096 };
	mark_region(k, &k->f->regions.at[0], true);
	for (uint32_t met = 1; k->work.n; met++) {
		if (met % POLL == 0) ctx_poll_throw(k->b->ctx);
		const Inst *in = &k->f->insts.at[k->work.at[--k->work.n]];
		const bool all = !gives_what_is_read(k, in);
		for (uint32_t n = 0; n < in->nargs; n++) mark_ref(k, inst_arg(k->f, in, n));
		for (uint32_t v = 0; all && v < in->nresults; v++)
			mark_type(k, k->f->vals.at[in->results + v].type);
		mark_attr(k, in);
		for (uint32_t r = 0; r < in->nregions; r++) mark_region(k, inst_region(k->f, in, r), all);
	}
}

/* ---- copying ------------------------------------------------------------- */

static Ref moved(DeadCode *k, Ref r) {
	uint32_t i = REF_INDEX(r);
	if (ref_is_value(r)) return ref_value(k->val_map[i]);
	if (!ref_is_const(r)) return r;
	if (k->const_map[i] == UINT32_MAX) {
		VEC_PUSH(k->a, &k->out.consts, k->f->consts.at[i]);
		k->const_map[i] = k->out.consts.n - 1;
	}
	return ref_const(k->const_map[i]);
}

static void move_value(DeadCode *k, uint32_t v, InstId def, RegionId region) {
	Val val = k->f->vals.at[v];
	val.def = def;
	val.region = region;
	k->val_map[v] = k->out.vals.n;
	VEC_PUSH(k->a, &k->out.vals, val);
}

/* owner: the instruction that owns the region, or NULL. */
static RegionId move_region(DeadCode *k, const Region *g, const Inst *owner) {
	const Fn *f = k->f;
	Fn *o = &k->out;
	RegionId id = o->regions.n;
	Region region = {
		.nparams = g->nparams, .params = o->vals.n, .nresults = g->nresults, .owner = NO_INST};
	VEC_PUSH(k->a, &o->regions, region);
	for (uint32_t p = 0; p < g->nparams; p++) move_value(k, g->params + p, NO_INST, id);
	InstId *order = arena_alloc(k->a, (g->ninsts + 1) * sizeof *order);
	for (uint32_t n = 0; n < g->ninsts; n++) {
		InstId old = inst_at(f, g, n);
		if (!k->live[old]) continue;
		Inst in = f->insts.at[old];
		RegionId *inner = arena_alloc(k->a, (in.nregions + 1u) * sizeof *inner);
		for (uint32_t r = 0; r < in.nregions; r++)
			inner[r] = move_region(k, inst_region(f, &f->insts.at[old], r), &f->insts.at[old]);
		InstId now = o->insts.n;
		uint32_t args = o->args.n, results = o->vals.n, region_ids = o->region_ids.n;
		for (uint32_t a = 0; a < in.nargs; a++)
			VEC_PUSH(k->a, &o->args, moved(k, inst_arg(f, &in, a)));
		uint32_t kept = 0;
		for (uint32_t v = 0; v < in.nresults; v++) {
			if (gives_what_is_read(k, &in) && !k->used[in.results + v]) continue;
			move_value(k, in.results + v, now, id);
			o->vals.at[o->vals.n - 1].index = kept++;
		}
		in.nresults = kept;
		for (uint32_t r = 0; r < in.nregions; r++) {
			VEC_PUSH(k->a, &o->region_ids, inner[r]);
			o->regions.at[inner[r]].owner = now;
		}
		in.args = args;
		in.results = results;
		in.regions = region_ids;
		in.parent = id;
		k->inst_map[old] = now;
		order[region.ninsts++] = now;
		VEC_PUSH(k->a, &o->insts, in);
		const Fn *callee = inst_callee(k->b->ctx, &in);
		o->effects |= prims[in.op].effect == EFFECT_EFFECT || (callee && callee->effects);
	}
	region.insts = o->inst_order.n;
	for (uint32_t n = 0; n < region.ninsts; n++) VEC_PUSH(k->a, &o->inst_order, order[n]);
	region.results = o->args.n;
	o->regions.at[id].nresults = 0;
	for (uint32_t r = 0; r < g->nresults; r++) {
		if (owner && gives_what_is_read(k, owner) && !k->used[owner->results + r]) continue;
		VEC_PUSH(k->a, &o->args, moved(k, f->args.at[g->results + r]));
		o->regions.at[id].nresults++;
	}
	o->regions.at[id].ninsts = region.ninsts;
	o->regions.at[id].insts = region.insts;
	o->regions.at[id].results = region.results;
	return id;
}

/* Moves a vector into the function's own arena, with the exact size. */
#define SETTLE(arena, v)                                                                           \
	do {                                                                                           \
		void *at_ = arena_alloc((arena), sizeof(*(v)->at) * ((size_t)(v)->n + 1u));                \
		if ((v)->n) memcpy(at_, (v)->at, sizeof(*(v)->at) * (size_t)(v)->n);                       \
		(v)->at = at_;                                                                             \
		(v)->cap = (v)->n + 1u;                                                                    \
	} while (0)

static void *filled(Arena *a, uint32_t n, int byte) {
	return memset(arena_alloc(a, ((size_t)n + 1) * 4), byte, ((size_t)n + 1) * 4);
}

void eliminate_dead_code(Builder *b) {
	Fn *f = b->fn;
	Arena *a = b->scratch;
	DeadCode k = {.b = b, .a = a, .f = f};
	k.live = ARENA_ARRAY(a, bool, f->insts.n + 1);
	k.used = ARENA_ARRAY(a, bool, f->vals.n + 1);
	k.must = ARENA_ARRAY(a, uint8_t, f->insts.n + 1);
	k.stays = ARENA_ARRAY(a, uint8_t, f->insts.n + 1);
	k.live_sym = ARENA_ARRAY(a, bool, f->syms.n + 1);
	k.defined = ARENA_ARRAY(a, bool, f->syms.n + 1);
	VEC_RESERVE(a, &k.work, f->insts.n + 1);
	k.val_map = filled(a, f->vals.n, 0xff);
	k.inst_map = filled(a, f->insts.n, 0xff);
	k.const_map = filled(a, f->consts.n, 0xff);
	find_definitions(&k, &f->regions.at[0], filled(a, f->syms.n, 0), 0);
	mark(&k);
	bool must = region_must_run(&k, &f->regions.at[0]);
	k.out = (Fn){.ctx = f->ctx,
	             .arena = f->arena,
	             .id = f->id,
	             .name = f->name,
	             .span = f->span,
	             .derived = f->derived,
	             .code = f->code,
	             .refs = f->refs,
	             .has_side_effects = must,
	             .derivative = f->derivative,
	             .checkpoint = f->checkpoint,
	             .batch_sequentially_by = f->batch_sequentially_by};
	move_region(&k, &f->regions.at[0], NULL);
	for (uint32_t n = 0; n < k.out.regions.at[0].ninsts; n++)
		k.out.may_fail |= inst_may_fail(
			&k.out, &k.out.insts.at[k.out.inst_order.at[k.out.regions.at[0].insts + n]]);
	k.out.syms.at = f->syms.at;
	k.out.syms.n = f->syms.n;
	SETTLE(f->arena, &k.out.vals);
	SETTLE(f->arena, &k.out.insts);
	SETTLE(f->arena, &k.out.regions);
	SETTLE(f->arena, &k.out.consts);
	SETTLE(f->arena, &k.out.args);
	SETTLE(f->arena, &k.out.inst_order);
	SETTLE(f->arena, &k.out.region_ids);
	SETTLE(f->arena, &k.out.syms);
	/* Nothing below can fail. */
	Fn before = *f;
	*f = k.out;
	for (uint32_t i = 0; i < before.consts.n; i++)
		if (k.const_map[i] == UINT32_MAX) value_unref(before.consts.at[i].value);
	for (uint32_t i = 0; i < before.insts.n; i++) {
		if (k.inst_map[i] != UINT32_MAX || before.insts.at[i].op != OP_CALL) continue;
		Fn *callee = inst_callee(b->ctx, &before.insts.at[i]);
		if (callee != f) fn_unref(callee);
	}
}
