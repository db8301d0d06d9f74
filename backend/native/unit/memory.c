/* memory.c - memory of a unit's values: alias classes, lifetimes, slots.
 *
 * Needs: flow.h.
 *
 * Contract:
 * - As in lower/schedule.h.
 * - Values of a class are never needed at the same time.
 * - Any array that a loop carries and does not change in place alternates
 *   between two buffers.
 */
#include "backend/native/unit/flow.h"

#define FOREVER UINT32_MAX

/* ---- alias classes ------------------------------------------------------- */

uint32_t flow_class(const Lower *l, uint32_t v) {
	while (l->flow->values[v].parent) v = l->flow->values[v].parent - 1;
	return v;
}

static void unite(Lower *l, Ref x, Ref y) {
	uint32_t a = flow_class(l, REF_INDEX(x)), b = flow_class(l, REF_INDEX(y));
	if (a != b) l->flow->values[b].parent = a + 1;
	flow_of(l, x)->owned = flow_of(l, y)->owned = true;
}

static void join_chain(Lower *l, Ref with, const InPlaceChain *c) {
	for (uint32_t i = 0; i < c->members.n; i++) unite(l, with, c->members.at[i]);
}

/* Whether step p may take over the memory of x, which has a class of its own,
 * for its result. */
static bool gives_memory(const Lower *l, const Sched *s, const SchedStep *p, Ref x) {
	if (!ref_is_value(x)) return false;
	const ValueFlow *v = flow_of(l, x);
	return v->home == s && v->owned && !v->alias && flow_dies_at(l, x, p);
}

static void link_loop(Lower *l, Sched *s, SchedStep *p, const Inst *in) {
	uint32_t n = in->nresults, first = first_init(in);
	p->carries = ARENA_ARRAY(l->scratch, Carry, n + 1);
	for (uint32_t k = 0; k < n; k++) {
		Ref init = inst_arg(l->f, in, first + k), param = body_param(in, p, k),
			result = body_result(l, in, p, k), out = inst_result(in, k);
		Carry *y = &p->carries[k];
		if (is_small(l, param)) continue;
		l->needed[REF_INDEX(out)] = true; /* the loop itself uses its memory */
		ValueFlow *end = ref_is_value(result) ? flow_of(l, result) : NULL;
		InPlaceChain c = {{0}};
		if (result == param) {
			y->kind = CARRY_INVARIANT;
			flow_of(l, param)->alias = true;
			if (in->op == OP_WHILE)
				flow_of(l, ref_value(p->regions[0]->region->params + k))->alias = true;
			if (gives_memory(l, s, p, init)) unite(l, init, out);
			else {
				flow_of(l, out)->alias = true;
				if (ref_is_value(init)) flow_of(l, init)->shared++;
			}
			continue;
		}
		bool once = end && uses_at(end, body_of(in, p)->end) == 1;
		if (once && in_place_chain(l, body_of(in, p), result, param, &c)) {
			y->kind = CARRY_INPLACE;
			unite(l, out, param);
			join_chain(l, out, &c);
			if (in->op == OP_WHILE)
				flow_of(l, ref_value(p->regions[0]->region->params + k))->alias = true;
			if (gives_memory(l, s, p, init)) unite(l, init, out);
			continue;
		}
		y->kind = CARRY_DOUBLE_BUFFER;
		flow_of(l, param)->alias = true;
		if (in->op == OP_WHILE)
			flow_of(l, ref_value(p->regions[0]->region->params + k))->alias = true;
		flow_of(l, out)->owned = true;
		y->direct =
			once && end->home == body_of(in, p) && end->step && end->step->kind != SCHED_ALIAS;
	}
}

static void link_run(Lower *l, Sched *s, SchedStep *p) {
	for (uint32_t k = 0; k < p->n; k++) {
		const Inst *in = inst_at(l, p->insts[k]);
		Ref x;
		for (uint32_t i = 0; i < in->nresults; i++) flow_of(l, inst_result(in, i))->owned = true;
		if (!run_changes(l, p, in, &x)) continue;
		const ValueFlow *v = flow_of(l, x);
		if (v->home == s && v->owned && !v->alias) unite(l, x, inst_result(in, 0));
	}
}

/* A value that a branch computes for one result of its `if`, and for nothing
 * else after it, is computed in that result's memory. */
static void link_branch_result(Lower *l, const Sched *branch, uint32_t k, Ref out) {
	const Ref r = l->f->args.at[branch->region->results + k];
	if (!ref_is_value(r)) return;
	const ValueFlow *v = flow_of(l, r);
	if (v->home != branch || !v->step ||
	    (v->step->kind != SCHED_LOOPS && v->step->kind != SCHED_VECTOR_MAP) || v->parent ||
	    v->owned || uses_at(v, branch->end) != 1)
		return;
	unite(l, out, r);
}

static void link(Lower *l, Sched *s) {
	for (uint32_t i = 0; i < s->steps.n; i++) {
		SchedStep *p = s->steps.at[i];
		if (p->kind == SCHED_LOOPS) {
			link_run(l, s, p);
			continue;
		}
		if (p->kind == SCHED_VECTOR_MAP) {
			for (uint32_t k = 0; k < p->n; k++) {
				const Inst *in = inst_at(l, p->insts[k]);
				for (uint32_t r = 0; r < in->nresults; r++)
					flow_of(l, inst_result(in, r))->owned = true;
				/* A tape stays in its memory. */
				for (uint32_t r = 0; in->op == OP_FOR && r < in->nresults; r++) {
					Ref init = inst_arg(l->f, in, 1 + r), out = inst_result(in, r);
					if (value_is_tape(l, out, p) && gives_memory(l, s, p, init))
						unite(l, init, out);
				}
			}
			continue;
		}
		const Inst *in = inst_at(l, p->inst);
		if (p->kind == SCHED_ALIAS) {
			flow_of(l, inst_result(in, 0))->alias = true;
		} else if (p->kind == SCHED_MATRIX) {
			for (uint32_t k = 0; k < in->nresults; k++)
				flow_of(l, inst_result(in, k))->owned = true;
			if (in->op == OP_HOST) continue; /* does not compute in place */
			const Ref x = inst_arg(l->f, in, in->op == OP_TRISOLVE);
			if (!is_small(l, x) && gives_memory(l, s, p, x)) unite(l, x, inst_result(in, 0));
		} else if (p->kind == SCHED_ELEMENT && writes_elements(in)) {
			flow_of(l, inst_result(in, 0))->owned = true;
			if (gives_memory(l, s, p, inst_arg(l->f, in, 0)))
				unite(l, inst_arg(l->f, in, 0), inst_result(in, 0));
		} else if (p->kind == SCHED_CONTROL) {
			if (in->op != OP_IF) link_loop(l, s, p, in);
			for (uint32_t k = 0; in->op == OP_IF && k < in->nresults; k++) {
				InPlaceChain c = {{0}};
				Ref out = inst_result(in, k), source;
				if (is_small(l, out)) continue;
				flow_of(l, out)->owned = true;
				const ValueFlow *v = in_place_step(l, s, p, out, REF_NONE, s->end, &source, &c)
				                         ? flow_of(l, source)
				                         : NULL;
				if (!v || v->home != s || !v->owned || v->alias || v->last != p || v->at_end ||
				    v->outside) {
					for (uint32_t r = 0; r < 2; r++) link_branch_result(l, p->regions[r], k, out);
					continue;
				}
				join_chain(l, out, &c);
				unite(l, out, source);
			}
			for (uint32_t r = 0; r < in->nregions; r++) link(l, p->regions[r]);
		}
	}
}

/* ---- lifetimes ----------------------------------------------------------- */

static void live_to(ValueFlow *v) {
	v->lives_to = v->outside             ? FOREVER
	              : v->at_end && v->home ? v->home->end
	              : v->last              ? v->last->to
	              : v->step              ? v->step->to
	                                     : 0;
}

/* A value that shares another's memory without owning it extends that value's
 * life. Later steps come first. */
static void extend(Lower *l, const Sched *s) {
	for (uint32_t i = s->steps.n; i-- > 0;) {
		const SchedStep *p = s->steps.at[i];
		if (is_run(p)) continue;
		const Inst *in = inst_at(l, p->inst);
		for (uint32_t k = 0; k < in->nresults; k++) {
			const ValueFlow *out = flow_of(l, inst_result(in, k));
			if (!out->alias) continue;
			Ref source = inst_arg(l->f, in, p->kind == SCHED_ALIAS ? 0 : first_init(in) + k);
			if (!ref_is_value(source)) continue;
			ValueFlow *v = flow_of(l, source);
			/* A source of an outer level lives until the end of the enclosing
			 * step anyway. */
			if (v->home == s && out->lives_to > v->lives_to) v->lives_to = out->lives_to;
		}
		for (uint32_t r = 0; r < in->nregions; r++) extend(l, p->regions[r]);
	}
}

static void lifetimes(Lower *l) {
	Flow *w = l->flow;
	for (uint32_t v = 0; v < l->f->vals.n; v++) live_to(&w->values[v]);
	extend(l, w->top);
	for (uint32_t v = 0; v < l->f->vals.n; v++) w->classes[v] = (AliasClass){.from = FOREVER};
	for (uint32_t v = 0; v < l->f->vals.n; v++) {
		const ValueFlow *x = &w->values[v];
		if (!x->owned) continue;
		AliasClass *y = &w->classes[flow_class(l, v)];
		uint32_t from = x->step                     ? x->step->from
		                : x->home && x->home->owner ? x->home->owner->from
		                                            : 0;
		if (from < y->from) y->from = from;
		if (x->lives_to > y->to) y->to = x->lives_to;
		/* A branch writes its results before the step ends. */
		if (x->step && x->step->to > y->to) y->to = x->step->to;
	}
}

/* ---- slots and outputs --------------------------------------------------- */

static Dim count_of(Ctx *c, TypeId t) {
	Type ty = *type_of(c, t);
	Dim n = dim_const(c, 1);
	for (uint32_t i = 0; i < ty.rank; i++) n = dim_mul(c, n, ty.dims[i]);
	return n;
}

static uint32_t add_slot(Lower *l, Ref r, uint32_t from, uint32_t to) {
	MemorySlot s = {.elements = count_of(l->c, ref_type(l->f, r)),
	                .element_bytes = (uint32_t)dtype_size((Dtype)ref_ty(l->f, r)->dtype),
	                .from = from,
	                .to = to};
	VEC_PUSH(l->scratch, &l->slots, s);
	return l->slots.n;
}

/* Outputs have buffers. The value that a body computes for its next iteration
 * has the loop's memory. Others get slots. */
static void assign(Lower *l, Sched *s) {
	Flow *w = l->flow;
	for (uint32_t i = 0; i < s->steps.n; i++) {
		SchedStep *p = s->steps.at[i];
		uint32_t n = is_run(p) ? p->n : 1;
		for (uint32_t k = 0; k < n; k++) {
			const Inst *in = inst_at(l, is_run(p) ? p->insts[k] : p->inst);
			for (uint32_t r = 0; r < in->nresults; r++) {
				Ref out = inst_result(in, r);
				const ValueFlow *v = flow_of(l, out);
				if (!v->owned || v->alias || is_small(l, out) || !l->needed[REF_INDEX(out)])
					continue;
				AliasClass *y = &w->classes[flow_class(l, REF_INDEX(out))];
				if (y->slot || y->output || y->is_dynamic) continue;
				y->slot = add_slot(l, out, y->from, y->to);
			}
			for (uint32_t r = 0; p->carries && r < in->nresults; r++) {
				Carry *y = &p->carries[r];
				if (y->kind != CARRY_DOUBLE_BUFFER) continue;
				y->other = add_slot(l, inst_result(in, r), p->from, p->to);
				Ref result = body_result(l, in, p, r);
				AliasClass *body = y->direct ? &w->classes[flow_class(l, REF_INDEX(result))] : NULL;
				if (body &&
				    (body->slot || body->output || body->is_dynamic || !flow_of(l, result)->owned))
					y->direct = false;
				else if (body) body->is_dynamic = true;
			}
			for (uint32_t r = 0; r < in->nregions && !is_run(p); r++) assign(l, p->regions[r]);
		}
	}
}

static void outputs(Lower *l) {
	Flow *w = l->flow;
	for (uint32_t v = 0; v < l->f->vals.n; v++) {
		const ValueFlow *x = &w->values[v];
		if (!x->outside || !x->home || is_small(l, ref_value(v))) continue;
		uint32_t k = 0;
		while (k < l->unit->noutputs && l->unit->outputs[k].ref != ref_value(v)) k++;
		if (!x->owned || x->alias) continue;
		AliasClass *y = &w->classes[flow_class(l, v)];
		if (!y->output) y->output = k + 1;
	}
}

void flow_memory(Lower *l) {
	Flow *w = l->flow;
	link(l, w->top);
	lifetimes(l);
	outputs(l);
	assign(l, w->top);
}
