/* prepare.c - from a finished function to the evaluator's program.
 *
 * Decodes instructions to steps with slots and last uses.
 *
 * Needs: a finished Fn.
 *
 * Contract:
 * - Every step has its eval function, operands, decoded attributes, the symbols
 *   it defines and the slots to release after it.
 * - A value that is not a scalar is released or moved exactly once on every
 *   path without a failure.
 * - The Fn is not changed. All memory is in one arena of the Code.
 *
 * The block that owns a value releases it. That is the block that defines it,
 * with one exception. An `if` whose branches are the last users passes the
 * ownership to both branches. So `if c { x[i] = 1 }` can write in place. Loops
 * do not pass ownership, because the next iteration needs the value, too.
 */
#include "backend/eval/core/unit.h"

enum { NOWHERE = UINT32_MAX, RELEASED = UINT32_MAX - 1 };

typedef struct Prep {
	Ctx *c;
	const Fn *f;
	const NativePlan *plan; /* NULL: the evaluator alone */
	Code *code;
	Arena *keep, *scratch;
	bool *managed;   /* by value: may hold a reference */
	RegionId *owner; /* by value: the region that releases it */
	uint32_t *last;  /* by value: position of its last use in the owner */
	uint32_t *seen;  /* by value: stamp of the last walk that met it */
	uint32_t stamp;
	bool *defined;      /* by symbol */
	VEC(uint32_t) list; /* values met by a walk */
} Prep;

static const EvalFn structural[OP_COUNT] = {
#define ST(ID, ...) [OP_##ID] = eval_##ID,
#include "lang/ir/prims.def"
};

/* ---- attributes, extents, types ------------------------------------------ */

static DimRef dim_ref(Prep *p, Dim d) {
	DimRef r = {.sym = DIM_GENERAL, .dim = d};
	SymId s;
	if (dim_is_const(p->c, d, &r.value)) r.sym = DIM_CONST;
	else if (dim_is_sym(p->c, d, &s)) r.sym = s;
	return r;
}

/* The schema is "name:letter name:letter*", with one space between fields. */
static const AttrField *decode_fields(Prep *p, Op op, AttrId attr) {
	const char *schema = prims[op].attr;
	uint32_t n = 0;
	for (const char *t = schema; *t; t++) n += *t == ':';
	if (!n || !attr) return NULL;
	AttrField *fields = ARENA_ARRAY(p->keep, AttrField, n);
	uint32_t k = 0;
	for (const char *t = schema; *t; t++) {
		if (*t != ':') continue;
		/* The attribute may be freed before this code. */
		const int64_t *words = attr_field(p->c, op, attr, k, &fields[k].n);
		int64_t *copy = ARENA_ARRAY(p->keep, int64_t, fields[k].n);
		if (fields[k].n) memcpy(copy, words, fields[k].n * sizeof *copy);
		fields[k].words = copy;
		if (t[1] == 'D') {
			DimRef *dims = ARENA_ARRAY(p->keep, DimRef, fields[k].n);
			for (uint32_t i = 0; i < fields[k].n; i++)
				dims[i] = dim_ref(p, (Dim)fields[k].words[i]);
			fields[k].dims = dims;
		}
		k++;
	}
	return fields;
}

static TypeRef type_ref(Prep *p, TypeId id) {
	const Type *t = type_of(p->c, id);
	TypeRef r = {.kind = t->kind, .dtype = t->dtype, .rank = t->rank};
	Dim dims[MAX_RANK];
	memcpy(dims, t->dims, sizeof dims);
	for (uint32_t i = 0; i < r.rank && r.kind == TY_TENSOR; i++) r.dims[i] = dim_ref(p, dims[i]);
	return r;
}

/* The symbols that are first an axis by themselves in these consecutive
 * values. */
static const SymDef *find_syms(Prep *p, uint32_t nvalues, uint32_t first, uint32_t *n) {
	VEC(SymDef) defs = {0};
	for (uint32_t v = first; v < first + nvalues; v++) {
		const Type *t = type_of(p->c, p->f->vals.at[v].type);
		for (uint32_t i = 0; t->kind == TY_TENSOR && i < t->rank; i++) {
			SymId s;
			if (!dim_is_sym(p->c, t->dims[i], &s) || p->defined[s]) continue;
			p->defined[s] = true;
			SymDef d = {.from = v, .axis = i, .sym = s, .factor = 1};
			VEC_PUSH(p->keep, &defs, d);
		}
	}
	*n = defs.n;
	return defs.at;
}

typedef struct OneSym {
	const bool *defined;
	uint32_t n;
	SymId sym;
} OneSym;

static void count_unknown(void *ud, SymId s) {
	OneSym *one = ud;
	if (one->defined[s] || (one->n && one->sym == s)) return;
	one->n++;
	one->sym = s;
}

/* A transform may leave a parameter of extent n - 2 as the only trace of n. An
 * extent of the form factor * sym + offset still determines the symbol. Such
 * parameters come after all plain ones. */
static const SymDef *find_param_syms(Prep *p, const Region *r, uint32_t *n) {
	uint32_t nplain;
	const SymDef *plain = find_syms(p, r->nparams, r->params, &nplain);
	VEC(SymDef) defs = {0};
	for (uint32_t i = 0; i < nplain; i++) VEC_PUSH(p->keep, &defs, plain[i]);
	uint32_t nsyms = p->f->syms.n;
	int64_t *at = ARENA_ARRAY(p->scratch, int64_t, nsyms);
	for (uint32_t v = r->params; v < r->params + r->nparams; v++) {
		Type t = *type_of(p->c, p->f->vals.at[v].type);
		for (uint32_t i = 0; t.kind == TY_TENSOR && i < t.rank; i++) {
			OneSym one = {.defined = p->defined};
			dim_each_sym(p->c, t.dims[i], count_unknown, &one);
			int64_t y[3];
			bool linear = one.n == 1;
			for (uint32_t s = 0; s < nsyms; s++) at[s] = -1;
			for (int64_t k = 0; k < 3 && linear; k++) {
				at[one.sym] = k;
				linear = dim_eval(p->c, t.dims[i], at, nsyms, &y[k]);
			}
			if (!linear || y[2] - y[1] != y[1] - y[0] || y[1] == y[0]) continue;
			p->defined[one.sym] = true;
			SymDef d = {
				.from = v, .axis = i, .sym = one.sym, .offset = y[0], .factor = y[1] - y[0]};
			VEC_PUSH(p->keep, &defs, d);
		}
	}
	*n = defs.n;
	return defs.at;
}

/* ---- uses ---------------------------------------------------------------- */

static void meet(Prep *p, Ref r) {
	if (!ref_is_value(r)) return;
	uint32_t v = REF_INDEX(r);
	if (!p->managed[v] || p->seen[v] == p->stamp) return;
	p->seen[v] = p->stamp;
	VEC_PUSH(p->scratch, &p->list, v);
}

static void meet_region(Prep *p, const Region *r);

static void meet_regions(Prep *p, const Inst *in) {
	for (uint32_t k = 0; k < in->nregions; k++) meet_region(p, inst_region(p->f, in, k));
}

static void meet_region(Prep *p, const Region *r) {
	for (uint32_t i = 0; i < r->ninsts; i++) {
		const Inst *in = &p->f->insts.at[p->f->inst_order.at[r->insts + i]];
		for (uint32_t k = 0; k < in->nargs; k++) meet(p, inst_arg(p->f, in, k));
		meet_regions(p, in);
	}
	for (uint32_t k = 0; k < r->nresults; k++) meet(p, p->f->args.at[r->results + k]);
}

static void begin_walk(Prep *p) {
	p->stamp++;
	p->list.n = 0;
}

/* Collects the values that the regions of `in` use, then (from *direct on) the
 * other operands. */
static void walk_inst(Prep *p, const Inst *in, uint32_t *direct) {
	begin_walk(p);
	meet_regions(p, in);
	*direct = p->list.n;
	for (uint32_t k = 0; k < in->nargs; k++) meet(p, inst_arg(p->f, in, k));
}

/* The item's inputs: for a unit its inputs, and nothing inside it. */
static void walk_item(Prep *p, const NativeItem *item, uint32_t *direct) {
	if (!item->unit) {
		walk_inst(p, &p->f->insts.at[item->inst], direct);
		return;
	}
	begin_walk(p);
	*direct = 0;
	for (uint32_t k = 0; k < item->unit->unit->ninputs; k++)
		meet(p, item->unit->unit->inputs[k].ref);
}

/* The steps of a region in order. */
static uint32_t region_items(const Prep *p, RegionId id) {
	return p->plan && p->plan->regions[id].at ? p->plan->regions[id].n
	                                          : p->f->regions.at[id].ninsts;
}
static NativeItem region_item(const Prep *p, RegionId id, uint32_t i) {
	if (p->plan && p->plan->regions[id].at) return p->plan->regions[id].at[i];
	return (NativeItem){.inst = p->f->inst_order.at[p->f->regions.at[id].insts + i]};
}

/* Collects all slots that may hold a reference while the region runs. */
static void collect_owned(Prep *p, const Region *r) {
	for (uint32_t v = r->params; v < r->params + r->nparams; v++) meet(p, ref_value(v));
	for (uint32_t i = 0; i < r->ninsts; i++) {
		const Inst *in = &p->f->insts.at[p->f->inst_order.at[r->insts + i]];
		for (uint32_t k = 0; k < in->nresults; k++) meet(p, inst_result(in, k));
		for (uint32_t k = 0; k < in->nregions; k++) collect_owned(p, inst_region(p->f, in, k));
	}
}

/* ---- steps and blocks ---------------------------------------------------- */

static int32_t operand_code(Ref r) {
	return ref_is_const(r) ? ~(int32_t)REF_INDEX(r) : (int32_t)REF_INDEX(r);
}

static Status finish_step(Frame *f, const Step *s) {
	Status st = s->inner(f, s);
	if (UNLIKELY(st != ST_OK)) return st;
	for (uint32_t i = 0; i < s->nafter; i++) {
		Value *v = &f->slots[s->after[i]];
		value_unref(*v);
		v->kind = V_UNSET;
	}
	if (s->nsyms) bind_syms(f, s->nsyms, s->syms);
	return ST_OK;
}

/* The same where symbols must be read from unused results, before their
 * release. */
static Status finish_step_syms_first(Frame *f, const Step *s) {
	Status st = s->inner(f, s);
	if (UNLIKELY(st != ST_OK)) return st;
	bind_syms(f, s->nsyms, s->syms);
	for (uint32_t i = 0; i < s->nafter; i++) {
		Value *v = &f->slots[s->after[i]];
		value_unref(*v);
		v->kind = V_UNSET;
	}
	return ST_OK;
}

static Status no_such_step(Frame *f, const Step *s) {
	return fail_internal(f, s, "a primitive on a dtype it does not take");
}

static bool all_scalars(Prep *p, const Inst *in) {
	for (uint32_t k = 0; k < in->nargs; k++) {
		const Type *t = type_of(p->c, ref_type(p->f, inst_arg(p->f, in, k)));
		if (t->kind != TY_TENSOR || t->rank) return false;
	}
	return true;
}

static void build_block(Prep *p, RegionId id, uint32_t ngrants, const uint32_t *grants, Block *out);

/* Makes the blocks of an instruction's regions. `grants` are owned by each of
 * them (only for `if`). Symbols that a region defines are undefined afterwards:
 * the next region must define them itself. */
static const Block *build_blocks(Prep *p, const Inst *in, uint32_t ngrants,
                                 const uint32_t *grants) {
	if (!in->nregions) return NULL;
	Block *blocks = ARENA_ARRAY(p->keep, Block, in->nregions);
	uint32_t nsyms = p->f->syms.n;
	bool *before = ARENA_ARRAY(p->scratch, bool, nsyms);
	if (nsyms) memcpy(before, p->defined, nsyms * sizeof *before);
	for (uint32_t k = 0; k < in->nregions; k++) {
		RegionId id = p->f->region_ids.at[in->regions + k];
		build_block(p, id, ngrants, grants, &blocks[k]);
		if (nsyms) memcpy(p->defined, before, nsyms * sizeof *before);
	}
	return blocks;
}

/* Whether an iteration of a loop with that body may take long: it contains
 * calls, loops or tensors. */
static bool is_heavy(const Fn *f, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = &f->insts.at[f->inst_order.at[g->insts + i]];
		if (in->op == OP_CALL || in->op == OP_HOST || in->op == OP_FOR || in->op == OP_WHILE)
			return true;
		if (in->nresults && type_of(f->ctx, f->vals.at[in->results].type)->kind == TY_TENSOR)
			return true;
		for (uint32_t k = 0; k < in->nregions; k++)
			if (is_heavy(f, inst_region(f, in, k))) return true;
	}
	return false;
}

static void decode(Prep *p, RegionId region, uint32_t position, const Inst *in, Step *s) {
	const Fn *f = p->f;
	Op op = (Op)in->op;
	s->op = in->op;
	s->nargs = in->nargs;
	s->nresults = in->nresults;
	s->d = in->results;
	s->span = in->span;
	s->chain = in->chain;
	s->nblocks = (uint8_t)in->nregions;
	s->fields = decode_fields(p, op, in->attr);
	int32_t *args = ARENA_ARRAY(p->keep, int32_t, in->nargs);
	bool *dies = ARENA_ARRAY(p->keep, bool, in->nargs);
	for (uint32_t k = 0; k < in->nargs; k++) args[k] = operand_code(inst_arg(f, in, k));
	s->args = args;
	s->dies = dies;
	s->a = in->nargs > 0 ? args[0] : 0;
	s->b = in->nargs > 1 ? args[1] : 0;
	s->c = in->nargs > 2 ? args[2] : 0;

	if (in->nresults) {
		const Type *t = type_of(p->c, f->vals.at[in->results].type);
		s->out_dtype = t->dtype;
		s->out_rank = t->rank;
	}
	s->dtype = s->out_dtype;
	s->rank = s->out_rank;
	if (in->nargs) {
		const Type *t = type_of(p->c, ref_type(f, inst_arg(f, in, 0)));
		s->dtype = t->dtype;
		s->rank = t->rank;
	}

	if (!prims[op].elementwise) s->inner = structural[op];
	else if (all_scalars(p, in)) s->inner = scalar_step(op, (Dtype)s->dtype);
	else s->inner = prims[op].nargs == 1 ? eval_elementwise1 : eval_elementwise2;
	if (!s->inner) s->inner = no_such_step;

	if (op == OP_CALL) {
		CallSite *site = ARENA_NEW(p->keep, CallSite);
		site->fn = fn_get(p->c, (FnId)attr_int(p->c, op, in->attr, 0));
		s->site = site;
	}
	s->reports = loop_reports(f, in);
	if ((op == OP_FOR || op == OP_WHILE) && !p->plan) {
		LoopSite *site = ARENA_NEW(p->keep, LoopSite);
		site->inst = (uint32_t)(in - f->insts.at);
		for (uint32_t k = 0; k < in->nregions; k++)
			site->heavy |= is_heavy(f, inst_region(f, in, k));
		site->next = p->code->loops;
		p->code->loops = site;
		s->site = site;
	} else if (op == OP_HOST) {
		s->site = (void *)(uintptr_t)host_call(p->c, (HostId)attr_int(p->c, op, in->attr, 0));
	}
	if (op == OP_HOST || op == OP_UNBOX) {
		TypeRef *types = ARENA_ARRAY(p->keep, TypeRef, in->nresults);
		for (uint32_t k = 0; k < in->nresults; k++)
			types[k] = type_ref(p, f->vals.at[in->results + k].type);
		s->types = types;
	}

	/* Values whose last use is here. */
	uint32_t direct, ngrants = 0;
	walk_inst(p, in, &direct);
	uint32_t nmet = p->list.n;
	uint32_t *grants = ARENA_ARRAY(p->scratch, uint32_t, direct);
	VEC(uint32_t) after = {0};
	for (uint32_t i = 0; i < nmet; i++) {
		uint32_t v = p->list.at[i];
		if (p->owner[v] != region || p->last[v] != position) continue;
		p->last[v] = RELEASED;
		if (i < direct && op == OP_IF) {
			grants[ngrants++] = v;
			continue;
		}
		VEC_PUSH(p->keep, &after, v);
		if (i < direct) continue;
		for (uint32_t k = in->nargs; k-- > 0;) {
			if (args[k] != (int32_t)v) continue;
			dies[k] = true;
			break;
		}
	}
	for (uint32_t k = 0; k < in->nresults; k++) {
		uint32_t v = in->results + k;
		if (p->managed[v] && p->last[v] == NOWHERE) VEC_PUSH(p->keep, &after, v);
	}
	s->after = after.at;
	s->nafter = after.n;
	s->blocks = build_blocks(p, in, ngrants, grants);
	if (op == OP_BIND) {
		SymId sym;
		if (dim_is_sym(p->c, (Dim)attr_int(p->c, op, in->attr, 0), &sym)) p->defined[sym] = true;
	}
	s->syms = find_syms(p, in->nresults, in->results, &s->nsyms);
	s->eval = !s->nsyms ? (s->nafter ? finish_step : s->inner) : finish_step_syms_first;
}

static void decode_unit(Prep *p, RegionId region, uint32_t position, NativeUnit *nu, Step *s) {
	const Fn *f = p->f;
	const Unit *u = nu->unit;
	const Inst *first = &f->insts.at[u->insts[0]];
	s->inner = p->code->hooks->unit;
	s->site = nu;
	s->span = first->span;
	s->nargs = u->ninputs;
	int32_t *args = ARENA_ARRAY(p->keep, int32_t, u->ninputs),
			*words = ARENA_ARRAY(p->keep, int32_t, u->nwords);
	bool *dies = ARENA_ARRAY(p->keep, bool, u->ninputs);
	for (uint32_t k = 0; k < u->ninputs; k++) args[k] = operand_code(u->inputs[k].ref);
	for (uint32_t k = 0; k < u->nwords; k++) words[k] = operand_code(u->words[k]);
	s->args = args;
	s->dies = dies;
	nu->words = words;
	DimRef *lengths = ARENA_ARRAY(p->keep, DimRef, u->nsyms + u->ndims);
	for (uint32_t k = 0; k < u->nsyms; k++) lengths[k] = dim_ref(p, dim_sym(p->c, u->syms[k]));
	for (uint32_t k = 0; k < u->ndims; k++) lengths[u->nsyms + k] = dim_ref(p, u->dims[k]);
	nu->lengths = lengths;
	TypeRef *outputs = ARENA_ARRAY(p->keep, TypeRef, u->noutputs);
	Dtype *results = ARENA_ARRAY(p->keep, Dtype, u->nresults);
	for (uint32_t k = 0; k < u->noutputs; k++)
		outputs[k] = type_ref(p, ref_type(f, u->outputs[k].ref));
	for (uint32_t k = 0; k < u->nresults; k++) results[k] = (Dtype)ref_ty(f, u->results[k])->dtype;
	nu->outputs = outputs;
	nu->result_dtypes = results;

	NativeItem item = {.unit = nu};
	uint32_t direct;
	walk_item(p, &item, &direct);
	VEC(uint32_t) after = {0};
	for (uint32_t i = 0; i < p->list.n; i++) {
		uint32_t v = p->list.at[i];
		if (p->owner[v] != region || p->last[v] != position) continue;
		p->last[v] = RELEASED;
		VEC_PUSH(p->keep, &after, v);
		for (uint32_t k = 0; k < u->ninputs; k++) dies[k] |= args[k] == (int32_t)v;
	}
	for (uint32_t k = 0; k < u->noutputs; k++) {
		uint32_t v = REF_INDEX(u->outputs[k].ref);
		if (p->last[v] == NOWHERE) VEC_PUSH(p->keep, &after, v);
	}
	s->after = after.at;
	s->nafter = after.n;
	s->eval = s->nafter ? finish_step : s->inner;
}

static void build_block(Prep *p, RegionId id, uint32_t ngrants, const uint32_t *grants,
                        Block *out) {
	const Fn *f = p->f;
	const Region *r = &f->regions.at[id];
	for (uint32_t v = r->params; v < r->params + r->nparams; v++) p->owner[v] = id;
	for (uint32_t i = 0; i < r->ninsts; i++) {
		const Inst *in = &f->insts.at[f->inst_order.at[r->insts + i]];
		for (uint32_t k = 0; k < in->nresults; k++) p->owner[in->results + k] = id;
	}
	RegionId *old_owner = ARENA_ARRAY(p->scratch, RegionId, ngrants);
	for (uint32_t i = 0; i < ngrants; i++) {
		old_owner[i] = p->owner[grants[i]];
		p->owner[grants[i]] = id;
		p->last[grants[i]] = NOWHERE;
	}
	const uint32_t nitems = region_items(p, id);
	for (uint32_t i = 0; i < nitems; i++) {
		uint32_t direct;
		NativeItem item = region_item(p, id, i);
		walk_item(p, &item, &direct);
		for (uint32_t k = 0; k < p->list.n; k++)
			if (p->owner[p->list.at[k]] == id) p->last[p->list.at[k]] = i;
	}
	bool *untouched = ARENA_ARRAY(p->keep, bool, r->nresults);
	for (uint32_t k = 0; k < r->nresults; k++) {
		Ref x = f->args.at[r->results + k];
		if (!ref_is_value(x) || !p->managed[REF_INDEX(x)] || p->owner[REF_INDEX(x)] != id) continue;
		untouched[k] = p->last[REF_INDEX(x)] == NOWHERE;
		p->last[REF_INDEX(x)] = nitems;
	}

	VEC(uint32_t) dead = {0};
	for (uint32_t v = r->params; v < r->params + r->nparams; v++)
		if (p->managed[v] && p->last[v] == NOWHERE) VEC_PUSH(p->keep, &dead, v);
	for (uint32_t i = 0; i < ngrants; i++)
		if (p->last[grants[i]] == NOWHERE) VEC_PUSH(p->keep, &dead, grants[i]);
	out->dead = dead.at;
	out->ndead = dead.n;
	out->nparams = r->nparams;
	out->params = r->params;
	out->syms = id == 0 ? find_param_syms(p, r, &out->nsyms)
	                    : find_syms(p, r->nparams, r->params, &out->nsyms);

	out->nsteps = nitems;
	out->steps = ARENA_ARRAY(p->keep, Step, nitems);
	for (uint32_t i = 0; i < nitems; i++) {
		NativeItem item = region_item(p, id, i);
		if (item.unit) {
			decode_unit(p, id, i, item.unit, &out->steps[i]);
			continue;
		}
		const Inst *in = &f->insts.at[item.inst];
		decode(p, id, i, in, &out->steps[i]);
		if (prims[in->op].elementwise && !out->steps[i].rank) out->scalar_operations++;
	}

	int32_t *results = ARENA_ARRAY(p->keep, int32_t, r->nresults);
	bool *takes = ARENA_ARRAY(p->keep, bool, r->nresults);
	for (uint32_t k = r->nresults; k-- > 0;) {
		Ref x = f->args.at[r->results + k];
		results[k] = operand_code(x);
		if (!ref_is_value(x)) continue;
		uint32_t v = REF_INDEX(x);
		if (!p->managed[v] || p->owner[v] != id || p->last[v] != nitems) continue;
		takes[k] = true;
		p->last[v] = RELEASED;
	}
	out->results = results;
	out->takes = takes;
	out->untouched = untouched;
	out->nresults = r->nresults;

	begin_walk(p);
	collect_owned(p, r);
	out->nowned = p->list.n;
	uint32_t *owned = ARENA_ARRAY(p->keep, uint32_t, p->list.n);
	for (uint32_t i = 0; i < p->list.n; i++) owned[i] = p->list.at[i];
	out->owned = owned;

	for (uint32_t i = 0; i < ngrants; i++) {
		p->owner[grants[i]] = old_owner[i];
		p->last[grants[i]] = RELEASED;
	}
}

static void run_prepare(Ctx *c, void *arg) {
	Prep *p = arg;
	const Fn *f = p->f;
	p->keep = arena_new(c);
	p->scratch = arena_new(c);
	Code *code = p->code = ARENA_NEW(p->keep, Code);
	code->ctx = c;
	code->hooks = backend_of(c)->hooks;
	code->fn = (Fn *)(uintptr_t)f; /* the function owns the code */
	code->arena = p->keep;
	code->nslots = f->vals.n;
	code->nsyms = f->syms.n;
	Value *consts = ARENA_ARRAY(p->keep, Value, f->consts.n);
	for (uint32_t i = 0; i < f->consts.n; i++) consts[i] = f->consts.at[i].value;
	code->consts = consts;

	p->managed = ARENA_ARRAY(p->scratch, bool, f->vals.n);
	p->owner = ARENA_ARRAY(p->scratch, RegionId, f->vals.n);
	p->last = ARENA_ARRAY(p->scratch, uint32_t, f->vals.n);
	p->seen = ARENA_ARRAY(p->scratch, uint32_t, f->vals.n);
	p->defined = ARENA_ARRAY(p->scratch, bool, f->syms.n);
	for (uint32_t v = 0; v < f->vals.n; v++) {
		const Type *t = type_of(c, f->vals.at[v].type);
		p->managed[v] = t->kind == TY_DYN || (t->kind == TY_TENSOR && t->rank);
		p->owner[v] = NOWHERE;
		p->last[v] = NOWHERE;
	}
	TypeRef *params = ARENA_ARRAY(p->keep, TypeRef, fn_nparams(f));
	for (uint32_t i = 0; i < fn_nparams(f); i++)
		params[i] = type_ref(p, ref_type(f, fn_param(f, i)));
	code->params = params;
	build_block(p, 0, 0, NULL, &code->body);
}

Code *prepare(Ctx *c, Fn *f, const struct NativePlan *plan) {
	Prep p = {.c = c, .f = f, .plan = plan};
	Status st = ctx_protect(c, run_prepare, &p);
	arena_free(p.scratch);
	if (st == ST_OK) return p.code;
	arena_free(p.keep);
	return NULL;
}
