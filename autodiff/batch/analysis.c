/* analysis.c - analysis for batching: the batched values, the effect chains,
 * and where extents are defined.
 *
 * Method: monotone flags, iterated to a fixed point over loops and calls. A
 * value is batched when an operand is, or when it comes out of an `if` or a
 * loop on which batch elements diverge.
 *
 * Needs: batch.h.
 *
 * Contract:
 * - Everything is known before the first instruction is emitted.
 */
#include "autodiff/batch/batch.h"

struct EffectChains { /* of the function being batched, or of one that it calls */
	EffectChains *next;
	const Fn *f;
	bool *at;    /* by value */
	bool random; /* draws random numbers, directly or through calls */
	/* Starts a random state of its own (a seed), directly or through calls. */
	bool starts;
};

/* ---- queries ------------------------------------------------------------- */

bool batch_lanes(const Batcher *s, Ref r) { return ref_is_value(r) && s->lanes[REF_INDEX(r)]; }

bool batch_is_effect(const Batcher *s, Ref r) { return ref_is_value(r) && s->effect[REF_INDEX(r)]; }

static Ref region_result(const Fn *f, const Region *r, uint32_t k) {
	return f->args.at[r->results + k];
}

static const Inst *inst_at(const Fn *f, const Region *r, uint32_t i) {
	return &f->insts.at[f->inst_order.at[r->insts + i]];
}

static InstId id_of(const Fn *f, const Inst *in) { return (InstId)(in - f->insts.at); }

/* Whether `owner` is an instruction around region r, at any distance. */
static bool region_inside(const Fn *f, RegionId r, InstId owner) {
	for (InstId i = f->regions.at[r].owner; i != NO_INST;
	     i = f->regions.at[f->insts.at[i].parent].owner)
		if (i == owner) return true;
	return false;
}

static bool batch_inside(const Batcher *s, Ref r, const Inst *owner) {
	if (!ref_is_value(r)) return false;
	const Val *v = &s->f->vals.at[REF_INDEX(r)];
	RegionId region = v->def == NO_INST ? v->region : s->f->insts.at[v->def].parent;
	return region_inside(s->f, region, id_of(s->f, owner));
}

typedef struct DefinedBefore {
	const Batcher *s;
	InstId at;
	bool all;
} DefinedBefore;

static void visit_definition(void *ud, SymId sym) {
	DefinedBefore *q = ud;
	InstId definition = q->s->defined_by[sym];
	if (definition == NO_INST) return;
	if (definition == q->at || region_inside(q->s->f, q->s->f->insts.at[definition].parent, q->at))
		q->all = false;
}

bool batch_dims_before(const Batcher *s, const Inst *in, TypeId t) {
	Type ty = *type_of(s->c, t);
	DefinedBefore q = {s, id_of(s->f, in), true};
	for (uint32_t k = 0; ty.kind == TY_TENSOR && k < ty.rank; k++)
		dim_each_sym(s->c, ty.dims[k], visit_definition, &q);
	return q.all;
}

static bool region_involved(const Batcher *s, const Region *r) {
	for (uint32_t i = 0; i < r->ninsts; i++)
		if (batch_involved(s, inst_at(s->f, r, i))) return true;
	for (uint32_t k = 0; k < r->nresults; k++)
		if (batch_lanes(s, region_result(s->f, r, k))) return true;
	return false;
}

bool batch_involved(const Batcher *s, const Inst *in) {
	for (uint32_t k = 0; k < in->nargs; k++)
		if (batch_lanes(s, inst_arg(s->f, in, k))) return true;
	for (uint32_t k = 0; k < in->nresults; k++)
		if (batch_lanes(s, inst_result(in, k))) return true;
	for (uint32_t k = 0; k < in->nregions; k++)
		if (region_involved(s, inst_region(s->f, in, k))) return true;
	return false;
}

/* ---- effect chains ------------------------------------------------------- */

typedef struct EffectWalk {
	Batcher *s;
	EffectChains *of;
	bool changed;
} EffectWalk;

static bool is_state(Ctx *c, TypeId t) {
	const Type y = *type_of(c, t);
	int64_t n;
	return y.kind == TY_TENSOR && y.dtype == DT_I64 && y.rank == 1 &&
	       dim_is_const(c, y.dims[0], &n) && n == 2;
}

Ref batch_state_of(Ctx *c, const Fn *f, bool result) {
	const uint32_t n = result ? fn_nresults(f) : fn_nparams(f);
	if (n < 2) return REF_NONE;
	const Ref state = result ? fn_result(f, n - 2) : fn_param(f, n - 2),
			  token = result ? fn_result(f, n - 1) : fn_param(f, n - 1);
	return ref_type(f, token) == type_token(c) && is_state(c, ref_type(f, state)) ? state
	                                                                              : REF_NONE;
}

static EffectChains *effect_chains_of(Batcher *s, const Fn *f) {
	EffectChains **at = &s->known;
	for (; *at; at = &(*at)->next)
		if ((*at)->f == f) return *at;
	EffectChains *t = ARENA_NEW(s->scratch, EffectChains);
	t->f = f;
	t->at = ARENA_ARRAY(s->scratch, bool, f->vals.n + 1);
	for (uint32_t v = 0; v < f->vals.n; v++) t->at[v] = f->vals.at[v].type == type_token(s->c);
	const Ref out = f->finished ? batch_state_of(s->c, f, true) : REF_NONE;
	if (ref_is_value(out)) t->at[REF_INDEX(out)] = true; /* even when nothing is drawn from it */
	t->starts = out && !ref_is_value(out);
	return *at = t;
}

static bool is_effect(const EffectWalk *w, Ref r) {
	return ref_is_value(r) && w->of->at[REF_INDEX(r)];
}

static void mark_effect(EffectWalk *w, Ref r) {
	if (!ref_is_value(r) || w->of->at[REF_INDEX(r)]) return;
	w->of->at[REF_INDEX(r)] = true;
	w->changed = true;
}

static void mark_random(EffectWalk *w, bool random) {
	if (!random || w->of->random) return;
	w->of->random = w->changed = true;
}

static void mark_starts(EffectWalk *w, bool starts) {
	if (!starts || w->of->starts) return;
	w->of->starts = w->changed = true;
}

/* Marks an effect chain entering an instruction. A constant is a state that
 * starts here. */
static void take_effect(EffectWalk *w, Ref r) {
	mark_effect(w, r);
	mark_starts(w, !ref_is_value(r));
}

/* If one of these belongs to an effect chain, all do: they are the same
 * variable at different times. */
static void tie(EffectWalk *w, uint32_t n, const Ref *r) {
	bool any = false;
	for (uint32_t i = 0; i < n; i++) any |= is_effect(w, r[i]);
	for (uint32_t i = 0; any && i < n; i++) take_effect(w, r[i]);
}

static void effect_region(EffectWalk *w, const Region *r);

static void effect_inst(EffectWalk *w, const Inst *in) {
	const Fn *f = w->of->f;
	for (uint32_t k = 0; k < in->nregions; k++) effect_region(w, inst_region(f, in, k));
	const Region *first = in->nregions ? inst_region(f, in, 0) : NULL,
				 *second = in->nregions > 1 ? inst_region(f, in, 1) : NULL;
	switch ((Op)in->op) {
	case OP_RANDOM:
		mark_random(w, true);
		take_effect(w, inst_arg(f, in, 0));
		mark_effect(w, inst_result(in, 1));
		return;
	case OP_DYNAMIC:
		take_effect(w, inst_arg(f, in, 1));
		mark_effect(w, inst_result(in, 1));
		return;
	case OP_IF:
	case OP_TRY:
		for (uint32_t k = 0; k < in->nresults; k++)
			tie(w, 3,
			    (Ref[]){inst_result(in, k), region_result(f, first, k),
			            region_result(f, second, k)});
		return;
	case OP_FOR:
		for (uint32_t k = 0; k < in->nresults; k++)
			tie(w, 4,
			    (Ref[]){inst_result(in, k), inst_arg(f, in, k + 1),
			            ref_value(first->params + k + 1), region_result(f, first, k)});
		return;
	case OP_WHILE:
		for (uint32_t k = 0; k < in->nresults; k++)
			tie(w, 5,
			    (Ref[]){inst_result(in, k), inst_arg(f, in, k), ref_value(first->params + k),
			            ref_value(second->params + k), region_result(f, second, k)});
		return;
	case OP_CALL: {
		const EffectChains *t = effect_chains_of(w->s, inst_callee(w->s->c, in));
		mark_random(w, t->random);
		mark_starts(w, t->starts);
		for (uint32_t k = 0; k < in->nargs; k++)
			if (t->at[REF_INDEX(fn_param(t->f, k))]) take_effect(w, inst_arg(f, in, k));
		for (uint32_t k = 0; k < in->nresults; k++) {
			Ref r = fn_result(t->f, k);
			if (ref_is_value(r) && t->at[REF_INDEX(r)]) mark_effect(w, inst_result(in, k));
		}
		return;
	}
	case OP_PRINT:
	case OP_START: return; /* tokens */
	case OP_HOST: return;
	default:
		for (uint32_t k = 0; k < in->nresults; k++)
			mark_starts(w, is_effect(w, inst_result(in, k)) &&
			                   is_state(w->s->c, ref_type(f, inst_result(in, k))));
		return;
	}
}

static void effect_region(EffectWalk *w, const Region *r) {
	for (uint32_t i = 0; i < r->ninsts; i++) effect_inst(w, inst_at(w->of->f, r, i));
}

/* Functions may be mutually recursive, so all callees are walked together until
 * nothing changes. */
static void find_effects(Batcher *s) {
	s->effect = effect_chains_of(s, s->f)->at;
	for (bool changed = true; changed;) {
		changed = false;
		for (EffectChains *t = s->known; t; t = t->next) {
			EffectWalk w = {s, t, false};
			effect_region(&w, &t->f->regions.at[0]);
			changed |= w.changed;
		}
	}
	s->starts = effect_chains_of(s, s->f)->starts;
}

/* Whether the callee draws random numbers, directly or through calls. */
static bool batch_draws_random(Batcher *s, const Inst *call) {
	return effect_chains_of(s, inst_callee(s->c, call))->random;
}

bool batch_within(const Batcher *s, Ref r, const BatchGroup *g) {
	if (!ref_is_value(r)) return false;
	const InstId def = s->f->vals.at[REF_INDEX(r)].def;
	for (uint32_t i = 0; i < g->n; i++)
		if (def == id_of(s->f, g->at[i]) || batch_inside(s, r, g->at[i])) return true;
	return false;
}

/* The value with which r entered the regions of owner or, when owner is NULL,
 * the group. */
static Ref followed(const Batcher *s, Ref r, const Inst *owner, const BatchGroup *g) {
	const Fn *f = s->f;
	while (r && (owner ? batch_inside(s, r, owner) : batch_within(s, r, g))) {
		/* Never a parameter: the result of a loop is followed to its initial
		 * value. */
		const Val *v = &f->vals.at[REF_INDEX(r)];
		if (v->def == NO_INST) return REF_NONE;
		const Inst *in = &f->insts.at[v->def];
		switch ((Op)in->op) {
		case OP_RANDOM:
		case OP_PRINT: r = inst_arg(f, in, 0); break;
		case OP_DYNAMIC: r = inst_arg(f, in, v->index); break;
		case OP_FOR: r = inst_arg(f, in, v->index + 1); break;
		case OP_WHILE: r = inst_arg(f, in, v->index); break;
		case OP_IF:
		case OP_TRY: r = region_result(f, inst_region(f, in, 0), v->index); break;
		case OP_CALL:
		case OP_HOST: { /* one token, one state */
			Ref found = REF_NONE;
			for (uint32_t k = 0; !found && k < in->nargs; k++) {
				Ref a = inst_arg(f, in, k);
				if (batch_is_effect(s, a) && ref_type(f, a) == v->type) found = a;
			}
			r = found;
			break;
		}
		default: r = REF_NONE; break;
		}
	}
	return r;
}

Ref batch_effect_entry(const Batcher *s, Ref r, const Inst *owner) {
	return followed(s, r, owner, NULL);
}

Ref batch_effect_into(const Batcher *s, Ref r, const BatchGroup *g) {
	return followed(s, r, NULL, g);
}

/* ---- definitions of extents ---------------------------------------------- */

typedef struct BirthWalk {
	Batcher *s;
	InstId at;
	bool *seen;
} BirthWalk;

static void visit_birth(void *ud, SymId sym) {
	BirthWalk *w = ud;
	if (w->seen[sym]) return;
	w->seen[sym] = true;
	w->s->defined_by[sym] = w->at;
}

static void births_in_type(BirthWalk *w, InstId at, Ref r) {
	Type t = *ref_ty(w->s->f, r);
	w->at = at;
	for (uint32_t k = 0; t.kind == TY_TENSOR && k < t.rank; k++)
		dim_each_sym(w->s->c, t.dims[k], visit_birth, w);
}

static void births_in_region(BirthWalk *w, const Region *r) {
	const Fn *f = w->s->f;
	for (uint32_t k = 0; k < r->nparams; k++) births_in_type(w, r->owner, ref_value(r->params + k));
	for (uint32_t i = 0; i < r->ninsts; i++) {
		const Inst *in = inst_at(f, r, i);
		InstId id = id_of(f, in);
		for (uint32_t k = 0; k < in->nregions; k++) births_in_region(w, inst_region(f, in, k));
		if (in->op == OP_BIND) {
			w->at = id;
			dim_each_sym(w->s->c, (Dim)attr_int(w->s->c, OP_BIND, in->attr, 0), visit_birth, w);
		}
		for (uint32_t k = 0; k < in->nresults; k++) births_in_type(w, id, inst_result(in, k));
	}
}

/* ---- batched values ------------------------------------------------------ */

static void lanes_region(Batcher *s, const Region *r);

static bool raise(Batcher *s, Ref r, bool lanes) {
	if (!lanes || !ref_is_value(r) || s->lanes[REF_INDEX(r)]) return false;
	return s->lanes[REF_INDEX(r)] = true;
}

/* Divergence makes every result batched, except effect chains. */
static bool raise_by_control(Batcher *s, Ref r, bool control) {
	return raise(s, r, control && !batch_is_effect(s, r));
}

static bool any_arg(const Batcher *s, const Inst *in) {
	for (uint32_t k = 0; k < in->nargs; k++)
		if (batch_lanes(s, inst_arg(s->f, in, k))) return true;
	return false;
}

static void lanes_branches(Batcher *s, const Inst *in, bool control) {
	const Region *first = inst_region(s->f, in, 0), *second = inst_region(s->f, in, 1);
	lanes_region(s, first);
	lanes_region(s, second);
	if (in->op == OP_TRY) control = region_involved(s, first) || region_involved(s, second);
	for (uint32_t k = 0; k < in->nresults; k++) {
		Ref x = region_result(s->f, first, k), y = region_result(s->f, second, k);
		raise(s, inst_result(in, k), batch_lanes(s, x) || batch_lanes(s, y));
		raise_by_control(s, inst_result(in, k), control);
	}
}

/* first_arg: the index of the first initial value among the operands; skip:
 * parameters of the body before the carried ones. */
static void lanes_loop(Batcher *s, const Inst *in, uint32_t first_arg, uint32_t skip) {
	const Region *test = in->op == OP_WHILE ? inst_region(s->f, in, 0) : NULL;
	const Region *body = inst_region(s->f, in, test ? 1 : 0);
	for (bool changed = true; changed;) {
		changed = false;
		bool control = test ? batch_lanes(s, region_result(s->f, test, 0))
		                    : batch_lanes(s, inst_arg(s->f, in, 0));
		for (uint32_t k = 0; k < in->nresults; k++) {
			Ref param = ref_value(body->params + skip + k), next = region_result(s->f, body, k),
				result = inst_result(in, k);
			bool lanes = batch_lanes(s, inst_arg(s->f, in, first_arg + k)) ||
			             batch_lanes(s, next) || batch_lanes(s, result);
			changed |= raise(s, param, lanes);
			changed |= raise_by_control(s, param, control && next != param);
			raise(s, result, batch_lanes(s, param));
			if (test) changed |= raise(s, ref_value(test->params + k), batch_lanes(s, param));
		}
		if (test) lanes_region(s, test);
		bool after = test ? batch_lanes(s, region_result(s->f, test, 0)) : control;
		lanes_region(s, body);
		for (uint32_t k = 0; k < in->nresults; k++)
			changed |= batch_lanes(s, region_result(s->f, body, k)) &&
			           !batch_lanes(s, ref_value(body->params + skip + k));
		changed |= after != control;
	}
}

Transform *batch_callee(const Batcher *s, const Inst *in) {
	bool *mask = ARENA_ARRAY(s->scratch, bool, in->nargs + 1), array = false;
	for (uint32_t k = 0; k < in->nargs; k++) {
		mask[k] = batch_lanes(s, inst_arg(s->f, in, k));
		array |= mask[k] && type_is_tensor(s->c, ref_type(s->f, inst_arg(s->f, in, k)));
	}
	if (!array)
		batch_no_rule(
			s, in,
			"is given a dynamic value that differs from lane to lane, and no array that does");
	return transform_get(s->c, inst_callee(s->c, in), TR_BATCH, 0, mask, batch_make);
}

bool batch_one_by_one(const Batcher *s, const Inst *call) {
	uint32_t k = inst_callee(s->c, call)->batch_sequentially_by;
	return k && batch_lanes(s, inst_arg(s->f, call, k - 1));
}

/* For a callee under construction (recursion) every result that can be batched
 * counts as batched; the callee will be built accordingly. */
static void lanes_call(Batcher *s, const Inst *in) {
	if (!any_arg(s, in) || batch_one_by_one(s, in)) {
		bool differ = any_arg(s, in) || batch_draws_random(s, in);
		for (uint32_t k = 0; k < in->nresults; k++) raise_by_control(s, inst_result(in, k), differ);
		return;
	}
	const Transform *d = batch_callee(s, in);
	for (uint32_t k = 0; k < in->nresults; k++) {
		Ref r = inst_result(in, k);
		if (d->done) raise(s, r, d->result_active[k]);
		else raise_by_control(s, r, type_is_tensor(s->c, ref_type(s->f, r)));
	}
}

static void lanes_inst(Batcher *s, const Inst *in) {
	switch ((Op)in->op) {
	case OP_IF:
	case OP_TRY: lanes_branches(s, in, any_arg(s, in)); return;
	case OP_FOR: lanes_loop(s, in, 1, 1); return;
	case OP_WHILE: lanes_loop(s, in, 0, 0); return;
	case OP_CALL: lanes_call(s, in); return;
	case OP_RANDOM: raise(s, inst_result(in, 0), true); return;
	case OP_FORMAT: /* one string for all batch elements */
	case OP_PRINT: return;
	default:
		for (uint32_t k = 0; k < in->nresults; k++)
			raise_by_control(s, inst_result(in, k), any_arg(s, in));
		return;
	}
}

static void lanes_region(Batcher *s, const Region *r) {
	for (uint32_t i = 0; i < r->ninsts; i++) lanes_inst(s, inst_at(s->f, r, i));
}

/* ---- tapes --------------------------------------------------------------- */

/* A gradient reads each tape row at the iteration that wrote it. Batch elements
 * with different trip counts can therefore share one tape, as long as the
 * longest needs. This is not valid for a program's own arrays: an index beyond
 * an element's end must fail there. */
static bool made_by_transform(Ctx *c, const Inst *in) {
	char transforms[64];
	chain_transforms(c, in->chain, transforms, sizeof transforms);
	return transforms[0];
}

bool batch_calls_keep_tapes(Ctx *c, Arena *scratch, const Fn *f) {
	uint32_t n;
	const Fn **all = fn_callees(scratch, f, false, &n);
	for (uint32_t k = 1; k < n; k++) {
		for (uint32_t i = 0; all[k]->finished && i < all[k]->insts.n; i++) {
			const Inst *in = &all[k]->insts.at[i];
			if ((in->op == OP_PUSH || in->op == OP_BIND) && made_by_transform(c, in)) return true;
		}
	}
	return false;
}

static void mark_tape_extent(Batcher *s, Dim d) {
	SymId sym;
	if (dim_is_sym(s->c, d, &sym) && sym < s->f->syms.n) s->tape_extent[sym] = true;
}

/* Finds the carried values of a `while` that are only pushed to, and extents of
 * trip counts that differ. */
static void find_tapes(Batcher *s, const Region *r, const uint32_t *uses) {
	const Fn *f = s->f;
	for (uint32_t i = 0; i < r->ninsts; i++) {
		const Inst *in = inst_at(f, r, i);
		for (uint32_t k = 0; k < in->nregions; k++) find_tapes(s, inst_region(f, in, k), uses);
		if (in->op == OP_BIND && any_arg(s, in) && made_by_transform(s->c, in))
			mark_tape_extent(s, (Dim)attr_int(s->c, OP_BIND, in->attr, 0));
		if (in->op != OP_WHILE || !batch_lanes(s, region_result(f, inst_region(f, in, 0), 0)))
			continue;
		const Region *test = inst_region(f, in, 0), *body = inst_region(f, in, 1);
		for (uint32_t k = 0; k < in->nresults; k++) {
			Ref param = ref_value(body->params + k), next = region_result(f, body, k);
			const Inst *push = ref_inst(f, next);
			if (!push || push->op != OP_PUSH || inst_arg(f, push, 0) != param ||
			    !made_by_transform(s->c, push))
				continue;
			if (uses[REF_INDEX(param)] != 1 || uses[REF_INDEX(next)] != 1 || uses[test->params + k])
				continue;
			mark_tape_extent(s, ref_ty(f, param)->dims[0]);
			mark_tape_extent(s, ref_ty(f, ref_value(test->params + k))->dims[0]);
			mark_tape_extent(s, ref_ty(f, inst_result(in, k))->dims[0]);
			s->tape[REF_INDEX(param)] = s->tape[REF_INDEX(next)] = true;
		}
	}
}

typedef struct TapeExtentUse {
	const Batcher *s;
	bool found;
} TapeExtentUse;

static void visit_mention(void *ud, SymId sym) {
	TapeExtentUse *m = ud;
	m->found |= m->s->tape_extent[sym];
}

static bool dim_has_tape_extent(const Batcher *s, Dim d) {
	TapeExtentUse m = {s, false};
	dim_each_sym(s->c, d, visit_mention, &m);
	return m.found;
}

/* Whether an axis other than `but` (-1: any axis) has a tape's extent. */
static bool has_tape_extent(const Batcher *s, Ref r, int but) {
	Type t = *ref_ty(s->f, r);
	for (int k = 0; t.kind == TY_TENSOR && k < t.rank; k++)
		if (k != but && dim_has_tape_extent(s, t.dims[k])) return true;
	return false;
}

static bool attr_has_tape_extent(const Batcher *s, const Inst *in) {
	uint32_t k = 0, n;
	for (const char *at = prims[in->op].attr; (at = strchr(at, ':')); at++, k++) {
		if (at[1] != 'D') continue;
		const int64_t *words = attr_field(s->c, (Op)in->op, in->attr, k, &n);
		for (uint32_t i = 0; i < n; i++)
			if (dim_has_tape_extent(s, (Dim)words[i])) return true;
	}
	return false;
}

/* Whether the instruction may be applied to operands that are padded beyond a
 * batch element's own part. */
static bool allows_tape_extents(const Batcher *s, const Inst *in) {
	const Fn *f = s->f;
	bool args = false, results = false;
	for (uint32_t k = 0; k < in->nargs; k++) args |= has_tape_extent(s, inst_arg(f, in, k), -1);
	for (uint32_t k = 0; k < in->nresults; k++)
		results |= has_tape_extent(s, inst_result(in, k), -1);
	int axis;
	switch ((Op)in->op) {
	case OP_FOR:
	case OP_WHILE:
	case OP_IF:
	case OP_SELECT:
	case OP_CONVERT:
	case OP_STOP: return true;
	case OP_BIND: return !args;
	case OP_BROADCAST: return !args;
	case OP_PUSH: return !(args || results) || s->tape[in->results];
	case OP_GATHER:
	case OP_SCATTER_ADD:
	case OP_SCATTER_SET:
		axis = (int)attr_int(s->c, (Op)in->op, in->attr, 0);
		for (uint32_t k = 1; k < in->nargs; k++)
			if (has_tape_extent(s, inst_arg(f, in, k), -1)) return false;
		return !has_tape_extent(s, inst_arg(f, in, 0), axis) && !(in->op == OP_GATHER && results);
	default: return prims[in->op].elementwise || !(args || results || attr_has_tape_extent(s, in));
	}
}

static bool region_allows_tape_extents(const Batcher *s, const Region *r) {
	for (uint32_t i = 0; i < r->ninsts; i++) {
		const Inst *in = inst_at(s->f, r, i);
		if (!allows_tape_extents(s, in)) return false;
		for (uint32_t k = 0; k < in->nregions; k++)
			if (!region_allows_tape_extents(s, inst_region(s->f, in, k))) return false;
	}
	return true;
}

static void find_tape_extents(Batcher *s) {
	const Fn *f = s->f;
	uint32_t *uses = ARENA_ARRAY(s->scratch, uint32_t, f->vals.n + 1);
	s->tape_extent = ARENA_ARRAY(s->scratch, bool, f->syms.n + 1);
	s->tape = ARENA_ARRAY(s->scratch, bool, f->vals.n + 1);
	fn_count_uses(f, uses);
	find_tapes(s, &f->regions.at[0], uses);
	bool good = region_allows_tape_extents(s, &f->regions.at[0]);
	for (uint32_t k = 0; k < fn_nresults(f); k++)
		good = good && !has_tape_extent(s, fn_result(f, k), -1);
	if (good) return;
	memset(s->tape_extent, 0, f->syms.n + 1);
	memset(s->tape, 0, f->vals.n + 1);
}

void batch_analyse(Batcher *s) {
	const Fn *f = s->f;
	find_effects(s);
	s->defined_by = ARENA_ARRAY(s->scratch, InstId, f->syms.n + 1);
	BirthWalk w = {.s = s, .seen = ARENA_ARRAY(s->scratch, bool, f->syms.n + 1)};
	for (uint32_t i = 0; i <= f->syms.n; i++) s->defined_by[i] = NO_INST;
	births_in_region(&w, &f->regions.at[0]);
	s->lanes = ARENA_ARRAY(s->scratch, bool, f->vals.n + 1);
	for (uint32_t k = 0; k < fn_nparams(f); k++) raise(s, fn_param(f, k), s->entry->mask[k]);
	do {
		lanes_region(s, &f->regions.at[0]);
		find_tape_extents(s);
	} while (batch_find_ragged(s));
}
