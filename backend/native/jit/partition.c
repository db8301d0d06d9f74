/* partition.c - partition of a function into units and evaluator steps.
 *
 * Needs: tier.h, lower/context.h.
 *
 * Contract:
 * - An instruction runs after everything it reads, values and extents, and
 *   after the guards before it.
 * - Checks and effects keep their order. Errors and printed text are therefore
 *   those of the original program.
 * - No instruction moves past a reading of the clock.
 *
 * Method: each region is sorted into levels: unit 0, instructions of the
 * evaluator that need no later unit, unit 1, and so on. An instruction's level
 * is the highest level of those it depends on. It is one more when the
 * instruction is for a unit and depends on one of the evaluator's. Time 2L is
 * unit L; time 2L + 1 is the evaluator's instructions of level L.
 */
#include "backend/native/jit/tier.h"
#include "backend/native/lower/context.h"
#include "backend/native/kir/cpu.h"

#define WORTH 6 /* points that a unit needs, see points() */

typedef struct Planner {
	NativePlan *p;
	Ctx *c;
	const Fn *f;
	const int64_t *hints;
	Arena *scratch;
	bool *native; /* by instruction: may be in a unit */
	bool *bears;  /* by instruction: it, or an instruction in it, defines a symbol */
	/* By value: 1 plus the position, in the current region's list, of the
	 * instruction that defines it. */
	uint32_t *at;
	uint32_t *defined_at; /* by symbol: the same */
	uint32_t *uses;       /* by value, in the whole function */
	bool describe;
	const PlanLimit *limit;
} Planner;

static const Inst *inst_of(const Planner *p, InstId i) { return &p->f->insts.at[i]; }

/* ---- definitions of symbols ---------------------------------------------- */

typedef struct DefinedSyms {
	Planner *p;
	bool *known; /* by symbol */
	VEC(SymId) trail;
} DefinedSyms;

static bool define_in_type(DefinedSyms *b, TypeId t) {
	Type ty = *type_of(b->p->c, t);
	bool any = false;
	SymId s;
	for (uint32_t i = 0; ty.kind == TY_TENSOR && i < ty.rank; i++) {
		if (!dim_is_sym(b->p->c, ty.dims[i], &s) || b->known[s]) continue;
		b->known[s] = true;
		VEC_PUSH(b->p->scratch, &b->trail, s);
		any = true;
	}
	return any;
}

static bool define_in_region(DefinedSyms *b, RegionId id) {
	const Fn *f = b->p->f;
	const Region *g = &f->regions.at[id];
	uint32_t mark = b->trail.n;
	bool any = false;
	for (uint32_t k = 0; k < g->nparams; k++)
		any |= define_in_type(b, f->vals.at[g->params + k].type);
	for (uint32_t i = 0; i < g->ninsts; i++) {
		InstId n = f->inst_order.at[g->insts + i];
		const Inst *in = inst_of(b->p, n);
		bool here = in->op == OP_BIND;
		SymId s;
		if (here && dim_is_sym(b->p->c, (Dim)attr_int(b->p->c, OP_BIND, in->attr, 0), &s) &&
		    !b->known[s]) {
			b->known[s] = true;
			VEC_PUSH(b->p->scratch, &b->trail, s);
		}
		for (uint32_t r = 0; r < in->nregions; r++)
			here |= define_in_region(b, f->region_ids.at[in->regions + r]);
		for (uint32_t k = 0; k < in->nresults; k++)
			here |= define_in_type(b, f->vals.at[in->results + k].type);
		b->p->bears[n] = here;
		any |= here;
	}
	while (id && b->trail.n > mark) b->known[b->trail.at[--b->trail.n]] = false;
	return any;
}

/* ---- what an instruction reads ------------------------------------------- */

typedef struct ReadVisitor {
	Planner *p;
	void (*producer)(void *ud, uint32_t position);
	void *ud;
} ReadVisitor;

static void read_sym(void *ud, SymId s) {
	ReadVisitor *r = ud;
	if (r->p->defined_at[s]) r->producer(r->ud, r->p->defined_at[s] - 1);
}

static void read_type(ReadVisitor *r, TypeId t) {
	Type ty = *type_of(r->p->c, t);
	for (uint32_t i = 0; ty.kind == TY_TENSOR && i < ty.rank; i++)
		dim_each_sym(r->p->c, ty.dims[i], read_sym, r);
}

static void read_ref(ReadVisitor *r, Ref x) {
	if (!ref_is_value(x)) return;
	if (r->p->at[REF_INDEX(x)]) r->producer(r->ud, r->p->at[REF_INDEX(x)] - 1);
	read_type(r, ref_type(r->p->f, x));
}

static void read_inst(ReadVisitor *r, const Inst *in) {
	const Fn *f = r->p->f;
	for (uint32_t k = 0; k < in->nargs; k++) read_ref(r, inst_arg(f, in, k));
	for (uint32_t k = 0; k < in->nresults; k++) read_type(r, f->vals.at[in->results + k].type);
	uint32_t field = 0;
	for (const char *t = prims[in->op].attr; *t && in->attr; t++) {
		if (*t != ':') continue;
		uint32_t n;
		const int64_t *words = attr_field(r->p->c, (Op)in->op, in->attr, field++, &n);
		for (uint32_t i = 0; i < n; i++) {
			if (t[1] == 'D') dim_each_sym(r->p->c, (Dim)words[i], read_sym, r);
			if (t[1] == 'y') read_type(r, (TypeId)words[i]);
		}
	}
	for (uint32_t k = 0; k < in->nregions; k++) {
		const Region *g = inst_region(f, in, k);
		for (uint32_t i = 0; i < g->ninsts; i++)
			read_inst(r, &f->insts.at[f->inst_order.at[g->insts + i]]);
		for (uint32_t i = 0; i < g->nresults; i++) read_ref(r, f->args.at[g->results + i]);
	}
}

/* Whether the instruction must keep its order among all for which this
 * holds. */
static bool ordered(const Planner *p, const Inst *in) {
	switch ((Op)in->op) {
	case OP_MOD:
	case OP_FLOORDIV:
	case OP_POW: {
		Ref y = inst_arg(p->f, in, 1);
		return dtype_is_int((Dtype)ref_ty(p->f, y)->dtype) && !ref_is_const(y);
	}
	case OP_GATHER: return true;
	default: break;
	}
	if (!in->nregions)
		return prims[in->op].effect != EFFECT_PURE && in->op != OP_BIND && in->op != OP_PROGRESS;
	for (uint32_t k = 0; k < in->nregions; k++) {
		const Region *g = inst_region(p->f, in, k);
		for (uint32_t i = 0; i < g->ninsts; i++)
			if (ordered(p, inst_of(p, p->f->inst_order.at[g->insts + i]))) return true;
	}
	return false;
}

/* A call without arguments, like clock(), observes the current moment. Nothing
 * moves past it: otherwise a loop that measures its own work would measure
 * nothing. */
static bool is_moment(const Planner *p, const Inst *in) {
	enum { TOKEN_STATE_CALLEE = 3 };
	if (in->op == OP_DYNAMIC) return in->nargs == TOKEN_STATE_CALLEE;
	for (uint32_t k = 0; k < in->nregions; k++) {
		const Region *g = inst_region(p->f, in, k);
		for (uint32_t i = 0; i < g->ninsts; i++)
			if (is_moment(p, inst_of(p, p->f->inst_order.at[g->insts + i]))) return true;
	}
	return false;
}

/* ---- levels -------------------------------------------------------------- */

typedef struct Levels {
	Planner *p;
	uint32_t n;
	const InstId *insts;
	uint32_t *level;
	uint32_t guards;     /* minimum level of the following instructions */
	uint32_t check_time; /* time of the last ordered one */
	uint32_t highest;
	uint32_t now;
} Levels;

static void after_producer(void *ud, uint32_t position) {
	Levels *l = ud;
	if (position >= l->now) return;
	bool native = l->p->native[l->insts[l->now]], from = l->p->native[l->insts[position]];
	uint32_t least = l->level[position] + (native && !from);
	if (least > l->level[l->now]) l->level[l->now] = least;
}

static void sort_levels(Levels *l) {
	ReadVisitor r = {.p = l->p, .producer = after_producer, .ud = l};
	for (l->now = 0; l->now < l->n; l->now++) {
		const Inst *in = inst_of(l->p, l->insts[l->now]);
		bool native = l->p->native[l->insts[l->now]];
		uint32_t *level = &l->level[l->now];
		*level = l->guards;
		read_inst(&r, in);
		const bool moment = !native && is_moment(l->p, in);
		if (moment && *level < l->highest) *level = l->highest;
		if (ordered(l->p, in)) {
			uint32_t least = native ? (l->check_time + 1) / 2 : l->check_time / 2;
			if (least > *level) *level = least;
			l->check_time = 2 * *level + !native;
		}
		if (in->op == OP_GUARD) l->guards = *level + !native;
		if (moment) l->guards = *level + 1;
		if (*level > l->highest) l->highest = *level;
	}
}

/* ---- worth --------------------------------------------------------------- */

static bool is_view(const Planner *p, const Inst *in) {
	switch ((Op)in->op) {
	case OP_BROADCAST:
	case OP_RESHAPE:
	case OP_TRANSPOSE:
	case OP_SLICE:
	case OP_STOP: break;
	case OP_GATHER:
		if (ref_ty(p->f, inst_arg(p->f, in, 1))->rank) return false;
		break;
	default: return false;
	}
	return !type_is_small(p->c, ref_type(p->f, inst_result(in, 0)), NULL);
}

/* Whether generated code computes this matrix product itself. It does so for
 * products that are not large, or many at once: it needs no copies and no call
 * for each. For large ones it has tiles on some machines; on others they go to
 * BLAS in any case. A matrix-vector product is bound by memory. */
static bool is_own_product(const Planner *p, const Inst *in) {
	enum { LARGE = 192 };
	const Type *x = ref_ty(p->f, inst_arg(p->f, in, 0)), *y = ref_ty(p->f, inst_arg(p->f, in, 1));
	uint32_t nc, nb;
	const int64_t *sum = attr_field(p->c, OP_DOT, in->attr, 0, &nc);
	attr_field(p->c, OP_DOT, in->attr, 2, &nb);
	if (!dtype_is_real((Dtype)x->dtype) || x->rank <= nc + nb || y->rank <= nc + nb || !nc)
		return false;
	if (nb || (nc == 1 && x->rank == 2 && y->rank == 2 && ktarget_has_large_tiles(native_target())))
		return true;
	const Type *o = ref_ty(p->f, inst_result(in, 0));
	Dim lengths[MAX_RANK + 1];
	uint32_t n = 0;
	for (uint32_t i = 0; i < o->rank; i++) lengths[n++] = o->dims[i];
	lengths[n++] = x->dims[sum[0]];
	for (uint32_t i = 0; i < n; i++) {
		int64_t v;
		bool known = dim_is_const(p->c, lengths[i], &v) ||
		             (p->hints && dim_eval(p->c, lengths[i], p->hints, p->f->syms.n, &v) && v >= 0);
		if (known && v < LARGE) return true;
	}
	return false;
}

static uint32_t points(const Planner *p, const Inst *in) {
	if (in->op == OP_IF) {
		uint32_t sum = 1;
		for (uint32_t k = 0; k < 2; k++) {
			const Region *g = inst_region(p->f, in, k);
			for (uint32_t i = 0; i < g->ninsts; i++)
				sum += points(p, inst_of(p, p->f->inst_order.at[g->insts + i]));
		}
		return sum;
	}
	if (in->nregions || in->op == OP_CALL) return WORTH;
	if (in->op == OP_GUARD || in->op == OP_EXTENT || in->op == OP_PROGRESS || is_view(p, in))
		return 0;
	if (!in->nresults || type_is_small(p->c, ref_type(p->f, inst_result(in, 0)), NULL)) {
		for (uint32_t k = 0; k < in->nargs; k++)
			if (!type_is_small(p->c, ref_type(p->f, inst_arg(p->f, in, k)), NULL))
				return in->op == OP_GATHER || in->op == OP_SLICE ? 1 : 3;
		return 1;
	}
	switch ((Op)in->op) {
	case OP_DOT: return is_own_product(p, in) ? WORTH : 1;
	case OP_LU:
	case OP_CHOLESKY:
	case OP_TRISOLVE: return WORTH;
	default: return prims[in->op].traits & TRAIT_MATHS ? WORTH : 3;
	}
}

/* Views cost the evaluator nothing, so it gets those that no unit reads. */
typedef struct Readers {
	bool *read; /* by position: read by an instruction of a unit */
} Readers;

static void note_reader(void *ud, uint32_t position) { ((Readers *)ud)->read[position] = true; }

static void give_up_views(Planner *p, uint32_t n, const InstId *insts) {
	Readers k = {.read = ARENA_ARRAY(p->scratch, bool, n + 1)};
	ReadVisitor r = {.p = p, .producer = note_reader, .ud = &k};
	for (uint32_t i = n; i-- > 0;) {
		const Inst *in = inst_of(p, insts[i]);
		if (!p->native[insts[i]]) continue;
		if (is_view(p, in) && !k.read[i]) p->native[insts[i]] = false;
		else read_inst(&r, in);
	}
}

/* ---- regions ------------------------------------------------------------- */

static void plan_region(Planner *p, RegionId id);

static uint32_t count_insts(const Planner *p, const Inst *in) {
	uint32_t n = 1;
	for (uint32_t k = 0; k < in->nregions; k++) {
		const Region *g = inst_region(p->f, in, k);
		for (uint32_t i = 0; i < g->ninsts; i++)
			n += count_insts(p, inst_of(p, p->f->inst_order.at[g->insts + i]));
	}
	return n;
}

/* Returns false when some instructions could not be lowered. They are now the
 * evaluator's, and the region must be sorted again. */
static bool try_region(Planner *p, RegionId id) {
	const Region *g = &p->f->regions.at[id];
	const InstId *insts = p->f->inst_order.at + g->insts;
	uint32_t n = g->ninsts;
	Levels l = {.p = p, .n = n, .insts = insts, .level = ARENA_ARRAY(p->scratch, uint32_t, n + 1)};
	give_up_views(p, n, insts);
	sort_levels(&l);
	VEC(NativeItem) items = {0};
	uint32_t made = 0;
	InstId *chosen = ARENA_ARRAY(p->scratch, InstId, n + 1);
	/* By time: the positions, in order. */
	uint32_t *start = ARENA_ARRAY(p->scratch, uint32_t, 2 * (l.highest + 1) + 2),
			 *sorted = ARENA_ARRAY(p->scratch, uint32_t, n + 1);
	for (uint32_t i = 0; i < n; i++) start[2 * l.level[i] + !p->native[insts[i]] + 1]++;
	for (uint32_t t = 0; t < 2 * (l.highest + 1); t++) start[t + 1] += start[t];
	uint32_t *fill = ARENA_ARRAY(p->scratch, uint32_t, 2 * (l.highest + 1) + 1);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t t = 2 * l.level[i] + !p->native[insts[i]];
		sorted[start[t] + fill[t]++] = i;
	}
	uint32_t in_units = 0;
	for (uint32_t t = 0; t < 2 * (l.highest + 1); t++) {
		uint32_t worth = 0, m = 0;
		for (uint32_t k = start[t]; k < start[t + 1]; k++) {
			chosen[m++] = insts[sorted[k]];
			if (!(t & 1)) worth += points(p, inst_of(p, chosen[m - 1]));
		}
		NativeItem item = {0};
		if (!(t & 1) && m && worth >= WORTH) {
			item.unit = ARENA_NEW(p->p->keep, NativeUnit);
			VEC_RESERVE(p->p->keep, &p->p->units, p->p->units.n + 1);
			Unit *u = lower_unit(p->c, p->f, m, chosen, native_target(), p->hints, p->p->keep,
			                     p->describe);
			if (!u) {
				for (uint32_t k = 0; k < m; k++) p->native[chosen[k]] = false;
				for (uint32_t k = p->p->units.n - made; k < p->p->units.n; k++)
					kmodule_free(p->p->units.at[k]->unit->module);
				p->p->units.n -= made;
				return false;
			}
			item.unit->unit = u;
			/* Added at once, and without a chance to fail: a caller that gives
			 * up frees the units that are listed. */
			p->p->units.at[p->p->units.n++] = item.unit;
			made++;
			if (p->limit) p->p->cost += p->limit->cost(p->limit->ud, u);
			p->p->cut = p->limit && p->p->cost > p->limit->most;
			if (p->p->cut) return true;
			VEC_PUSH(p->p->keep, &items, item);
			for (uint32_t k = 0; k < m; k++) in_units += count_insts(p, inst_of(p, chosen[k]));
			continue;
		}
		for (uint32_t k = 0; k < m; k++) {
			item.inst = chosen[k];
			VEC_PUSH(p->p->keep, &items, item);
		}
	}
	p->p->ninsts += in_units;
	p->p->regions[id].n = items.n;
	p->p->regions[id].at = items.at;
	return true;
}

static void note_definitions(Planner *p, const Region *g, bool on) {
	for (uint32_t i = 0; i < g->ninsts; i++) {
		InstId n = p->f->inst_order.at[g->insts + i];
		const Inst *in = inst_of(p, n);
		for (uint32_t k = 0; k < in->nresults; k++) p->at[in->results + k] = on ? i + 1 : 0;
		if (!p->bears[n]) continue;
		SymId s;
		if (in->op == OP_BIND && dim_is_sym(p->c, (Dim)attr_int(p->c, OP_BIND, in->attr, 0), &s))
			p->defined_at[s] = on ? i + 1 : 0;
		for (uint32_t k = 0; k < in->nresults; k++) {
			Type t = *type_of(p->c, p->f->vals.at[in->results + k].type);
			for (uint32_t a = 0; t.kind == TY_TENSOR && a < t.rank; a++)
				if (dim_is_sym(p->c, t.dims[a], &s) && (!on || !p->defined_at[s]))
					p->defined_at[s] = on ? i + 1 : 0;
		}
	}
}

static void plan_region(Planner *p, RegionId id) {
	const Region *g = &p->f->regions.at[id];
	note_definitions(p, g, true);
	while (!try_region(p, id)) {}
	note_definitions(p, g, false);
	const NativeItems items = p->p->regions[id];
	for (uint32_t i = 0; i < items.n && !p->p->cut; i++) {
		if (items.at[i].unit) continue;
		const Inst *in = inst_of(p, items.at[i].inst);
		for (uint32_t k = 0; k < in->nregions; k++)
			plan_region(p, p->f->region_ids.at[in->regions + k]);
	}
}

NativePlan *native_plan(Ctx *c, const Fn *f, const int64_t *hints, Arena *keep, bool describe,
                        const PlanLimit *limit) {
	NativePlan *plan = ARENA_NEW(keep, NativePlan);
	plan->c = c;
	plan->f = f;
	plan->keep = keep;
	plan->regions = ARENA_ARRAY(keep, NativeItems, f->regions.n + 1);
	Planner p = {.p = plan,
	             .c = c,
	             .f = f,
	             .hints = hints,
	             .scratch = keep,
	             .describe = describe,
	             .limit = limit};
	p.native = ARENA_ARRAY(keep, bool, f->insts.n + 1);
	p.bears = ARENA_ARRAY(keep, bool, f->insts.n + 1);
	p.at = ARENA_ARRAY(keep, uint32_t, f->vals.n + 1);
	p.defined_at = ARENA_ARRAY(keep, uint32_t, f->syms.n + 1);
	DefinedSyms b = {.p = &p, .known = ARENA_ARRAY(keep, bool, f->syms.n + 1)};
	define_in_region(&b, 0);
	for (uint32_t i = 0; i < f->insts.n; i++)
		p.native[i] = !p.bears[i] && lower_takes(f, inst_of(&p, i));
	plan_region(&p, 0);
	return plan;
}

void native_plan_drop(NativePlan *p) {
	for (uint32_t k = 0; k < p->units.n; k++) {
		NativeUnit *u = p->units.at[k];
		if (u->request) native_request_cancel(u->request);
		native_code_free(u->code);
		if (u->unit->module && !u->request) kmodule_free(u->unit->module);
		for (uint32_t i = 0; u->constants && i < u->unit->ninputs; i++)
			tensor_unref(u->constants[i]);
		u->request = NULL;
		u->code = NULL;
		u->unit->module = NULL;
		u->constants = NULL;
	}
}
