/* ragged.c - sequential execution of instructions whose arrays have different
 * extents in each batch element.
 *
 * Method: an extent is *ragged* when batch elements may differ in it. Examples:
 * one computed from a batched value, the number of true elements, the rows
 * pushed by a loop with different trip counts, the times an integrator chose.
 * The instructions from the definition of such an extent to its last use form a
 * *ragged range*; batch.c turns it into a loop over the batch elements.
 *
 * Needs: batch.h.
 *
 * Contract:
 * - Each batch element computes what the single call computes. Only values of
 *   one shape leave the range.
 * - A value that differs between batch elements only in an extent counts as
 *   batched.
 * - An extent that leaves the function has no range; the rule of its
 *   instruction reports that.
 * - The tapes of a gradient through one loop need no range: see
 *   find_tape_extents in analysis.c.
 */
#include "autodiff/batch/batch.h"

static const Inst *inst_at(const Fn *f, const Region *r, uint32_t i) {
	return &f->insts.at[f->inst_order.at[r->insts + i]];
}

static Ref region_result(const Fn *f, const Region *r, uint32_t k) {
	return f->args.at[r->results + k];
}

/* ---- uses of extents ----------------------------------------------------- */

typedef struct SymbolUse {
	const bool *which; /* by symbol */
	uint32_t n;
	bool found;
} SymbolUse;

static void visit_mention(void *ud, SymId sym) {
	SymbolUse *m = ud;
	m->found |= sym < m->n && m->which[sym];
}

static bool length_mentions(const Batcher *s, Dim d, const bool *which) {
	SymbolUse m = {which, s->f->syms.n, false};
	dim_each_sym(s->c, d, visit_mention, &m);
	return m.found;
}

static bool type_mentions(const Batcher *s, Ref r, const bool *which) {
	const Type t = *ref_ty(s->f, r);
	for (uint32_t k = 0; t.kind == TY_TENSOR && k < t.rank; k++)
		if (length_mentions(s, t.dims[k], which)) return true;
	return false;
}

static bool attr_mentions(const Batcher *s, const Inst *in, const bool *which) {
	uint32_t k = 0, n;
	for (const char *at = prims[in->op].attr; (at = strchr(at, ':')); at++, k++) {
		if (at[1] != 'D') continue;
		const int64_t *words = attr_field(s->c, (Op)in->op, in->attr, k, &n);
		for (uint32_t i = 0; i < n; i++)
			if (length_mentions(s, (Dim)words[i], which)) return true;
	}
	return false;
}

static bool mentions(const Batcher *s, const Inst *in, const bool *which) {
	const Fn *f = s->f;
	if (attr_mentions(s, in, which)) return true;
	for (uint32_t k = 0; k < in->nargs; k++)
		if (type_mentions(s, inst_arg(f, in, k), which)) return true;
	for (uint32_t k = 0; k < in->nresults; k++)
		if (type_mentions(s, inst_result(in, k), which)) return true;
	for (uint32_t k = 0; k < in->nregions; k++) {
		const Region *r = inst_region(f, in, k);
		for (uint32_t i = 0; i < r->ninsts; i++)
			if (mentions(s, inst_at(f, r, i), which)) return true;
		for (uint32_t i = 0; i < r->nresults; i++)
			if (type_mentions(s, region_result(f, r, i), which)) return true;
	}
	return false;
}

/* ---- extents that differ between batch elements -------------------------- */

/* Whether a batched result has an extent defined inside. */
static bool leaves_ragged(const Batcher *s, const Inst *in) {
	for (uint32_t k = 0; k < in->nresults; k++) {
		const Ref r = inst_result(in, k);
		if (batch_lanes(s, r) && type_is_tensor(s->c, ref_type(s->f, r)) &&
		    !batch_dims_before(s, in, ref_type(s->f, r)) && !s->tape[REF_INDEX(r)])
			return true;
	}
	return false;
}

/* As leaves_ragged, for the carried values of a loop. Tapes are excluded, since
 * they are as long as the longest batch element needs. */
static bool loop_apart(const Batcher *s, const Inst *in) {
	const Region *body = inst_region(s->f, in, in->op == OP_WHILE);
	for (uint32_t k = 0; k < in->nresults; k++) {
		const Ref p = ref_value(body->params + (in->op == OP_FOR) + k);
		if (batch_lanes(s, p) && type_is_tensor(s->c, ref_type(s->f, p)) &&
		    !batch_dims_before(s, in, ref_type(s->f, p)) && !s->tape[REF_INDEX(p)])
			return true;
	}
	return false;
}

static bool any_arg(const Batcher *s, const Inst *in) {
	for (uint32_t k = 0; k < in->nargs; k++)
		if (batch_lanes(s, inst_arg(s->f, in, k))) return true;
	return false;
}

/* Whether an instruction inside passes such an extent out of its region. The
 * extent then belongs to the enclosing instruction. */
static bool gives_apart(const Batcher *s, const Inst *in) {
	for (uint32_t k = 0; k < in->nregions; k++) {
		const Region *r = inst_region(s->f, in, k);
		for (uint32_t i = 0; i < r->nresults; i++)
			if (type_mentions(s, region_result(s->f, r, i), s->ragged)) return true;
	}
	return false;
}

/* Whether some result has an extent that no parameter has. */
static bool gives_lengths(Ctx *c, const Fn *g) {
	if (!g->finished) return false;
	bool *made = heap_alloc(c, g->syms.n + 1u), gives = false;
	if (!made) ctx_throw(c, ST_NOMEM);
	memset(made, 1, g->syms.n + 1u);
	for (uint32_t k = 0; k < fn_nparams(g); k++) {
		const Type t = *ref_ty(g, fn_param(g, k));
		SymId sym;
		for (uint32_t d = 0; t.kind == TY_TENSOR && d < t.rank; d++)
			if (dim_is_sym(c, t.dims[d], &sym)) made[sym] = false;
	}
	for (uint32_t k = 0; k < fn_nresults(g); k++) {
		const Type t = *ref_ty(g, fn_result(g, k));
		SymbolUse m = {made, g->syms.n, false};
		for (uint32_t d = 0; t.kind == TY_TENSOR && d < t.rank; d++)
			dim_each_sym(c, t.dims[d], visit_mention, &m);
		gives |= m.found;
	}
	heap_free(c, made, g->syms.n + 1u);
	return gives;
}

/* Whether the extents that the instruction defines differ between batch
 * elements. */
static bool defines_ragged(const Batcher *s, const Inst *in) {
	SymId sym;
	if (in->nregions && gives_apart(s, in)) return true;
	switch ((Op)in->op) {
	case OP_NONZERO: return any_arg(s, in);
	case OP_BIND:
		return any_arg(s, in) &&
		       !(dim_is_sym(s->c, (Dim)attr_int(s->c, OP_BIND, in->attr, 0), &sym) &&
		         sym < s->f->syms.n && s->tape_extent[sym]);
	case OP_IF: return batch_lanes(s, inst_arg(s->f, in, 0)) && leaves_ragged(s, in);
	case OP_TRY: return leaves_ragged(s, in);
	case OP_FOR: return batch_lanes(s, inst_arg(s->f, in, 0)) && loop_apart(s, in);
	case OP_WHILE:
		return batch_lanes(s, region_result(s->f, inst_region(s->f, in, 0), 0)) &&
		       loop_apart(s, in);
	/* A host function written as an IR function cannot pass on extents from
	 * inside either. */
	case OP_HOST: {
		const HostCall *h = host_call(s->c, (HostId)attr_int(s->c, OP_HOST, in->attr, 0));
		if (h->def->written && any_arg(s, in) && gives_lengths(s->c, h->fns[0])) return true;
		return (!h->def->batch || h->def->written) && leaves_ragged(s, in);
	}
	case OP_CALL: return (!any_arg(s, in) || batch_one_by_one(s, in)) && leaves_ragged(s, in);
	default: return false;
	}
}

/* Marks the extents that `in` defines, or that are defined inside it. */
static bool mark_defined(Batcher *s, const Inst *in) {
	const InstId id = (InstId)(in - s->f->insts.at);
	bool changed = false;
	for (uint32_t k = 0; k < s->f->syms.n; k++) {
		if (s->ragged[k] || s->defined_by[k] != id) continue;
		changed = s->ragged[k] = true;
	}
	return changed;
}

static bool mark_ragged_region(Batcher *s, const Region *r) {
	const Fn *f = s->f;
	bool changed = false;
	for (uint32_t i = 0; i < r->ninsts; i++) {
		const Inst *in = inst_at(f, r, i);
		for (uint32_t k = 0; k < in->nregions; k++)
			changed |= mark_ragged_region(s, inst_region(f, in, k));
		if (defines_ragged(s, in) && mark_defined(s, in)) changed = s->any_ragged = true;
		if (!s->any_ragged || !mentions(s, in, s->ragged)) continue;
		for (uint32_t k = 0; k < in->nresults; k++) {
			const Ref x = inst_result(in, k);
			if (batch_lanes(s, x) || batch_is_effect(s, x)) continue;
			changed = s->lanes[REF_INDEX(x)] = true;
		}
	}
	return changed;
}

bool batch_find_ragged(Batcher *s) {
	if (!s->ragged) s->ragged = ARENA_ARRAY(s->scratch, bool, s->f->syms.n + 1);
	return mark_ragged_region(s, &s->f->regions.at[0]);
}

/* ---- ragged ranges ------------------------------------------------------- */

/* Whether the instruction belongs in the loop over the batch elements: it uses
 * a batched value, such an extent, or a result of the loop. */
static bool needs_sequential(const Batcher *s, const Inst *in, const bool *late) {
	if (batch_involved(s, in) || mentions(s, in, s->ragged)) return true;
	for (uint32_t k = 0; k < in->nargs; k++) {
		const Ref x = inst_arg(s->f, in, k);
		if (ref_is_value(x) && late[REF_INDEX(x)]) return true;
	}
	for (uint32_t k = 0; k < in->nregions; k++) {
		const Region *r = inst_region(s->f, in, k);
		for (uint32_t i = 0; i < r->ninsts; i++)
			if (needs_sequential(s, inst_at(s->f, r, i), late)) return true;
		for (uint32_t i = 0; i < r->nresults; i++) {
			const Ref x = region_result(s->f, r, i);
			if (ref_is_value(x) && late[REF_INDEX(x)]) return true;
		}
	}
	return false;
}

static bool touches_effect(const Batcher *s, const Inst *in) {
	for (uint32_t k = 0; k < in->nargs; k++)
		if (batch_is_effect(s, inst_arg(s->f, in, k))) return true;
	for (uint32_t k = 0; k < in->nresults; k++)
		if (batch_is_effect(s, inst_result(in, k))) return true;
	return false;
}

/* Marks the extents that an instruction defines. */
static bool mark_definitions(const Batcher *s, const Inst *in, bool *defined) {
	bool any = false;
	for (uint32_t k = 0; k < s->f->syms.n; k++)
		if (s->defined_by[k] == (InstId)(in - s->f->insts.at)) any = defined[k] = true;
	return any;
}

/* The range of a function that starts a random state: everything except values
 * shared by all batch elements. */
static void whole_range(const Batcher *s, const Region *r, RaggedRange *range) {
	bool *late = ARENA_ARRAY(s->scratch, bool, s->f->vals.n + 1),
		 *defined = ARENA_ARRAY(s->scratch, bool, s->f->syms.n + 1), any = false;
	range->sequential = ARENA_ARRAY(s->scratch, bool, r->ninsts + 1);
	for (uint32_t i = 0; i < r->ninsts; i++) {
		const Inst *in = inst_at(s->f, r, i);
		if (!touches_effect(s, in) && !needs_sequential(s, in, late) && !mentions(s, in, defined))
			continue;
		any = range->sequential[i] = true;
		for (uint32_t k = 0; k < in->nresults; k++) late[REF_INDEX(inst_result(in, k))] = true;
		mark_definitions(s, in, defined);
	}
	for (uint32_t k = 0; k < r->nresults; k++)
		if (type_mentions(s, region_result(s->f, r, k), defined)) return;
	if (any) range->end = r->ninsts;
}

RaggedRange batch_ragged_range(const Batcher *s, const Region *r, uint32_t from) {
	const Fn *f = s->f;
	RaggedRange range = {.from = from, .end = from};
	if (s->starts && r == &f->regions.at[0] && !from) whole_range(s, r, &range);
	if (range.end > from) return range;
	if (!s->any_ragged || !defines_ragged(s, inst_at(f, r, from))) return range;
	bool *late = ARENA_ARRAY(s->scratch, bool, f->vals.n + 1),
		 *defined = ARENA_ARRAY(s->scratch, bool, f->syms.n + 1);
	range.sequential = ARENA_ARRAY(s->scratch, bool, r->ninsts + 1);
	uint32_t end = from + 1;
	/* The end moves on while extents that are still in use are found. */
	for (uint32_t i = from; i < end; i++) {
		const Inst *in = inst_at(f, r, i);
		/* the value may be shared, but its extent is defined in the loop */
		if (!needs_sequential(s, in, late) && !mentions(s, in, defined)) continue;
		range.sequential[i] = true;
		for (uint32_t k = 0; k < in->nresults; k++) late[REF_INDEX(inst_result(in, k))] = true;
		const bool any = mark_definitions(s, in, defined);
		for (uint32_t j = r->ninsts; any && j-- > end;)
			if (mentions(s, inst_at(f, r, j), defined)) end = j + 1;
	}
	for (uint32_t k = 0; k < r->nresults; k++)
		if (type_mentions(s, region_result(f, r, k), defined)) return range;
	range.end = end;
	return range;
}

/* Whether f calls a function whose batch would have to return arrays of
 * differing extents. Such calls are inlined, so that the range can include the
 * uses. */
bool batch_calls_give_lengths(Ctx *c, const Fn *f) {
	for (uint32_t i = 0; i < f->insts.n; i++) {
		const Fn *g = inst_callee(c, &f->insts.at[i]);
		if (g && gives_lengths(c, g)) return true;
	}
	return false;
}
