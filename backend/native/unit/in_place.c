/* in_place.c - arrays that are changed in place: by a run, a step or a loop.
 *
 * Needs: flow.h.
 *
 * Contract: an array is changed in place only where no later step, on any path,
 * reads its old elements.
 *
 * A loop changes an array in place if it changes only elements or boxes of it,
 * or passes it through branches and loops that do. The function
 * in_place_chain() follows the loop's result back to the parameter, and the
 * values on the way become one class.
 */
#include "backend/native/unit/flow.h"

/* ---- last uses ----------------------------------------------------------- */

/* Whether nothing in region s reads r after the beginning of p. */
static bool dead_after(const Lower *l, Ref r, const SchedStep *p, const Sched *s) {
	const ValueFlow *v = flow_of(l, r);
	return uses_at(v, p->from) == 1 && !used_between(v, p->from, s->end) && !v->outside &&
	       !v->shared;
}

bool flow_dies_at(const Lower *l, Ref x, const SchedStep *p) {
	if (!ref_is_value(x)) return false;
	const ValueFlow *v = flow_of(l, x);
	return v->last == p && !v->at_end && !v->outside && !v->shared && uses_at(v, p->from) == 1 &&
	       !used_between(v, p->from, p->to);
}

/* ---- box updates in place ------------------------------------------------ */

/* The elements of the updated array that a value is computed from: its own, or
 * elements outside the box. */
enum { FROM_OWN = 1, FROM_BESIDE = 2 };

static const Inst *run_def(const Lower *l, const SchedStep *p, Ref r, uint32_t *at) {
	const Inst *in = ref_inst(l->f, r);
	for (uint32_t i = 0; in && i < p->n; i++)
		if (inst_at(l, p->insts[i]) == in) {
			*at = i;
			return in;
		}
	return NULL;
}

/* Converts an integer made of constants, extents and sums to a Dim; false for
 * others. */
static bool number_as_dim(const Lower *l, Ref r, Dim *out) {
	const Const *k = ref_constant(l->f, r);
	int64_t v;
	if (k) {
		if (k->value.kind != V_SCALAR || !value_as_i64(k->value, &v)) return false;
		*out = dim_const(l->c, v);
		return true;
	}
	const Inst *in = ref_inst(l->f, r);
	Dim x, y;
	if (in && in->op == OP_EXTENT) {
		*out = (Dim)attr_int(l->c, OP_EXTENT, in->attr, 0);
		return true;
	}
	if (!in || in->op != OP_ADD || !number_as_dim(l, inst_arg(l->f, in, 0), &x) ||
	    !number_as_dim(l, inst_arg(l->f, in, 1), &y))
		return false;
	*out = dim_add(l->c, x, y);
	return true;
}

/* The range that a read covers along an axis: a slice, or a gather of one index
 * that number_as_dim converts. False for other reads. */
static bool read_side(const Lower *l, const Inst *in, uint32_t axis, AxisRange *out) {
	if (in->op == OP_SLICE) {
		*out = inst_side(l->f, in, axis);
		return true;
	}
	if (in->op != OP_GATHER || ref_ty(l->f, inst_arg(l->f, in, 1))->rank) return false;
	const Dim whole = ref_ty(l->f, inst_arg(l->f, in, 0))->dims[axis];
	*out = (AxisRange){dim_const(l->c, 0), whole, whole, 1};
	if (attr_int(l->c, OP_GATHER, in->attr, 0) != axis) return true;
	out->length = dim_const(l->c, 1);
	return number_as_dim(l, inst_arg(l->f, in, 1), &out->start);
}

/* Compares a read of the updated array with the box. FROM_OWN: it reads exactly
 * the box. FROM_BESIDE: it reads only elements outside. 0: unknown. */
static uint8_t read_against(const Lower *l, const Inst *read, const Inst *update) {
	bool own = read->op == OP_SLICE, beside = false;
	for (uint32_t i = 0; i < ref_ty(l->f, inst_result(update, 0))->rank; i++) {
		AxisRange s, u = inst_side(l->f, update, i);
		if (!read_side(l, read, i, &s)) return 0;
		own = own && s.start == u.start && s.length == u.length && s.stride == u.stride;
		beside = beside || sides_apart(l->c, s, u);
	}
	return own ? FROM_OWN : beside ? FROM_BESIDE : 0;
}

static bool keeps_index(const Inst *in) {
	return prims[in->op].elementwise || in->op == OP_SELECT || in->op == OP_CONVERT ||
	       in->op == OP_STOP;
}

bool run_updates_in_place(const Lower *l, const SchedStep *p, const Inst *in) {
	if (in->op != OP_UPDATE || !update_by_box(l->f, in)) return false;
	Ref x = inst_arg(l->f, in, 0);
	if (!ref_is_value(x) || inst_arg(l->f, in, 1) == x) return false;
	uint8_t *from = ARENA_ARRAY(l->scratch, uint8_t, p->n + 1);
	for (uint32_t i = 0; i < p->n; i++) {
		const Inst *u = inst_at(l, p->insts[i]);
		if (u == in) continue;
		for (uint32_t k = 0; k < u->nargs; k++) {
			Ref r = inst_arg(l->f, u, k);
			uint32_t d;
			if (r == x) {
				uint8_t part = k == 0 ? read_against(l, u, in) : 0;
				if (!part) return false;
				from[i] |= part;
			} else if (ref_is_value(r) && l->flow->values[REF_INDEX(r)].step == p &&
			           run_def(l, p, r, &d) && from[d]) {
				if ((from[d] & FROM_OWN) && !keeps_index(u)) return false;
				from[i] |= from[d];
			}
		}
		if (from[i] && (!u->nresults || l->needed[u->results])) return false;
	}
	return true;
}

bool run_takes_memory(const Lower *l, const SchedStep *p, const Inst *in) {
	if (!run_updates_in_place(l, p, in)) return false;
	Ref x = inst_arg(l->f, in, 0);
	const ValueFlow *v = flow_of(l, x);
	if (v->step == p) return !l->needed[REF_INDEX(x)];
	return v->last == p && !v->at_end && !v->outside && !v->shared &&
	       !used_between(v, p->from, p->to);
}

/* Within a run: the origin of r's array before the updates in place. */
static Ref run_source(const Lower *l, const SchedStep *p, Ref r) {
	uint32_t at;
	for (;;) {
		const Inst *in = run_def(l, p, r, &at);
		if (!in || !run_updates_in_place(l, p, in)) return r;
		Ref x = inst_arg(l->f, in, 0);
		if (flow_of(l, x)->step == p && l->needed[REF_INDEX(x)]) return r;
		r = x;
	}
}

bool run_changes(const Lower *l, const SchedStep *p, const Inst *in, Ref *x) {
	Ref r = in->nresults ? inst_result(in, 0) : REF_NONE;
	if (in->op != OP_UPDATE || !l->needed[REF_INDEX(r)] || !run_takes_memory(l, p, in))
		return false;
	*x = run_source(l, p, r);
	if (*x == r || !ref_is_value(*x)) return false;
	const ValueFlow *v = flow_of(l, *x);
	return v->step != p && v->last == p && !v->at_end && !v->outside && !v->shared &&
	       !used_between(v, p->from, p->to);
}

/* ---- changes by steps and loops ------------------------------------------ */

bool in_place_chain(Lower *l, const Sched *s, Ref r, Ref from, InPlaceChain *out);

static bool chain_if(Lower *l, const SchedStep *p, uint32_t result, Ref from, InPlaceChain *out) {
	for (uint32_t k = 0; k < 2; k++)
		if (!in_place_chain(l, p->regions[k],
		                    l->f->args.at[p->regions[k]->region->results + result], from, out))
			return false;
	return true;
}

static bool is_within(const Sched *s, const Sched *region) {
	for (; s; s = s->outer)
		if (s == region) return true;
	return false;
}

bool in_place_step(Lower *l, const Sched *s, const SchedStep *p, Ref result, Ref from,
                   uint32_t written, Ref *source, InPlaceChain *out) {
	const Inst *in = p->kind == SCHED_LOOPS ? ref_inst(l->f, result) : inst_at(l, p->inst);
	const uint32_t which = REF_INDEX(result) - in->results;
	switch (p->kind) {
	case SCHED_LOOPS: {
		Ref r = inst_result(in, 0);
		*source = run_source(l, p, r);
		if (*source == r || !ref_is_value(*source)) return false;
		const ValueFlow *v = flow_of(l, *source);
		return v->step != p && !used_between(v, p->from, s->end) && !v->outside && !v->shared;
	}
	case SCHED_ALIAS: {
		*source = inst_arg(l->f, in, 0);
		if (!ref_is_value(*source)) return false;
		const ValueFlow *v = flow_of(l, *source);
		return uses_at(v, p->from) == 1 && !used_between(v, written, s->end) &&
		       uses_at(v, written) == (written == p->from) && !v->outside && v->shared == 1;
	}
	case SCHED_ELEMENT:
		if (!writes_elements(in)) return false;
		*source = inst_arg(l->f, in, 0);
		return ref_is_value(*source) && dead_after(l, *source, p, s);
	case SCHED_CONTROL:
		if (in->op == OP_IF) {
			/* Both branches must lead to the same array: `from` itself, or a
			 * value that the region made of it before. */
			Ref r = l->f->args.at[p->regions[0]->region->results + which];
			for (uint32_t tries = 0; tries < 64 && ref_is_value(r); tries++) {
				const ValueFlow *v = flow_of(l, r);
				/* Also in a nested branch. */
				if (!is_within(v->home, p->regions[0]) || !v->step) break;
				const Inst *d = ref_inst(l->f, r);
				if (v->step->kind == SCHED_VECTOR_MAP ||
				    (v->step->kind == SCHED_LOOPS && d->op != OP_UPDATE))
					return false;
				if (writes_elements(d) || v->step->kind == SCHED_ALIAS) r = inst_arg(l->f, d, 0);
				else if (d->op == OP_FOR || d->op == OP_WHILE)
					r = inst_arg(l->f, d, first_init(d) + REF_INDEX(r) - d->results);
				else if (d->op == OP_IF)
					r = l->f->args
					        .at[v->step->regions[0]->region->results + REF_INDEX(r) - d->results];
				else return false;
			}
			if (!ref_is_value(r)) return false;
			*source = r;
			(void)from;
			const ValueFlow *v = flow_of(l, r);
			if (used_between(v, p->to, s->end) || v->outside || v->shared) return false;
			return chain_if(l, p, which, r, out);
		}
		*source = inst_arg(l->f, in, first_init(in) + which);
		if (!ref_is_value(*source) || !dead_after(l, *source, p, s)) return false;
		VEC_PUSH(l->scratch, &out->members, body_param(in, p, which));
		return in_place_chain(l, body_of(in, p), body_result(l, in, p, which),
		                      body_param(in, p, which), out);
	default: return false;
	}
}

bool in_place_chain(Lower *l, const Sched *s, Ref r, Ref from, InPlaceChain *out) {
	uint32_t written = s->end;
	while (r != from) {
		if (!ref_is_value(r)) return false;
		const ValueFlow *v = flow_of(l, r);
		/* The result is read once: by the end of the region, or by the step
		 * that changes it next. */
		if (v->home != s || !v->step || v->step->kind == SCHED_VECTOR_MAP || v->outside)
			return false;
		VEC_PUSH(l->scratch, &out->members, r);
		Ref source;
		if (!in_place_step(l, s, v->step, r, from, written, &source, out)) return false;
		if (v->step->kind != SCHED_ALIAS) written = v->step->from;
		r = source;
	}
	return true;
}
