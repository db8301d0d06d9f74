/* linear_dependence.c - the values of a function that depend on parameters in
 * which it is linear.
 *
 * Method: least fixed point, through loops, branches and calls.
 *
 * Needs: primal_linear.h.
 *
 * Contract:
 * - A nonlinear use of a tangent, for example in a user's rule, is reported at
 *   its source location.
 * - Products of two linear values are reported later, by the transpose.
 */
#include "autodiff/reverse/primal_linear.h"

static void visit(LinearValues *p, const Region *g);

static bool has_tangent(const LinearValues *p, Ref r) {
	return type_has_tangent(p->c, ref_type(p->f, r));
}

static Ref region_result(const LinearValues *p, const Region *g, uint32_t k) {
	return p->f->args.at[g->results + k];
}

static bool set(LinearValues *p, Ref r) {
	bool was = p->linear[REF_INDEX(r)];
	p->linear[REF_INDEX(r)] = true;
	return !was;
}

bool any_linear_operand(const LinearValues *p, const Inst *in) {
	for (uint32_t k = 0; k < in->nargs; k++)
		if (depends_on(p, inst_arg(p->f, in, k))) return true;
	return false;
}

bool touches_linear(const LinearValues *p, const Inst *in) {
	if (any_linear_operand(p, in)) return true;
	for (uint32_t k = 0; k < in->nresults; k++)
		if (depends_on(p, inst_result(in, k))) return true;
	for (uint32_t r = 0; r < in->nregions; r++) {
		const Region *g = inst_region(p->f, in, r);
		for (uint32_t i = 0; i < g->ninsts; i++)
			if (touches_linear(p, &p->f->insts.at[p->f->inst_order.at[g->insts + i]])) return true;
	}
	return false;
}

static _Noreturn void refuse(const LinearValues *p, const Inst *in) {
	no_rule(p->c, p->f, in, p->transform,
	        "is applied to a tangent, but is not linear: a rule of differentiation must be");
}

/* ---- calls --------------------------------------------------------------- */

static void make_depends(Ctx *c, Transform *d) {
	LinearValues p = {.c = c, .f = d->from, .scratch = d->scratch, .transform = "linearise"};
	p.linear = ARENA_ARRAY(d->scratch, bool, d->from->vals.n + 1u);
	for (uint32_t k = 0; k < d->nmask; k++) p.linear[REF_INDEX(fn_param(d->from, k))] = d->mask[k];
	mark_linear(&p);
	for (uint32_t k = 0; k < fn_nresults(d->from); k++)
		d->result_active[k] = depends_on(&p, fn_result(d->from, k));
}

bool linear_call(LinearValues *p, const Inst *in, bool *places, bool *results) {
	if (!any_linear_operand(p, in)) return false;
	Fn *callee = inst_callee(p->c, in);
	TransformInfo o = transform_info(callee);
	/* No analysis is needed if the linear operands are only where the callee's
	 * transform expects them. */
	bool fits = o.is_jvp || o.is_linear;
	uint32_t from = o.is_jvp ? o.jvp_params : o.linear_from;
	for (uint32_t k = 0; k < in->nargs && fits; k++) {
		places[k] = k >= from;
		fits = places[k] || !depends_on(p, inst_arg(p->f, in, k));
	}
	if (fits) {
		for (uint32_t k = 0; k < in->nresults; k++) results[k] = !o.is_jvp || k >= o.jvp_results;
		return true;
	}
	for (uint32_t k = 0; k < in->nargs; k++) places[k] = depends_on(p, inst_arg(p->f, in, k));
	const Transform *d = transform_get(p->c, callee, TR_DEPENDS, 0, places, make_depends);
	for (uint32_t k = 0; k < in->nresults; k++)
		results[k] = d->done ? d->result_active[k] : has_tangent(p, inst_result(in, k));
	return true;
}

static void visit_call(LinearValues *p, const Inst *in) {
	bool *places = ARENA_ARRAY(p->scratch, bool, in->nargs + 1u),
		 *results = ARENA_ARRAY(p->scratch, bool, in->nresults + 1u);
	if (!linear_call(p, in, places, results)) return;
	for (uint32_t k = 0; k < in->nresults; k++)
		if (results[k]) set(p, inst_result(in, k));
}

/* ---- the walk ------------------------------------------------------------ */

static void visit_loop(LinearValues *p, const Inst *in, const Region *body, uint32_t skip) {
	Ref first = ref_value(body->params + skip);
	for (uint32_t k = 0; k < in->nresults; k++)
		if (depends_on(p, inst_arg(p->f, in, k + skip))) set(p, first + k);
	for (bool more = true; more;) {
		more = false;
		visit(p, body);
		for (uint32_t k = 0; k < in->nresults; k++)
			if (depends_on(p, region_result(p, body, k))) more |= set(p, first + k);
	}
	for (uint32_t k = 0; k < in->nresults; k++)
		if (depends_on(p, first + k)) set(p, inst_result(in, k));
}

static void visit_inst(LinearValues *p, const Inst *in) {
	Op op = (Op)in->op;
	switch (op) {
	case OP_IF:
	case OP_TRY:
		if (any_linear_operand(p, in)) refuse(p, in);
		for (uint32_t r = 0; r < 2; r++) {
			const Region *g = inst_region(p->f, in, r);
			visit(p, g);
			for (uint32_t k = 0; k < in->nresults; k++)
				if (depends_on(p, region_result(p, g, k))) set(p, inst_result(in, k));
		}
		return;
	case OP_FOR:
		if (depends_on(p, inst_arg(p->f, in, 0))) refuse(p, in);
		visit_loop(p, in, inst_region(p->f, in, 0), 1);
		return;
	case OP_WHILE: {
		visit_loop(p, in, inst_region(p->f, in, 1), 0);
		const Region *g = inst_region(p->f, in, 0), *body = inst_region(p->f, in, 1);
		for (uint32_t k = 0; k < g->nparams; k++)
			if (depends_on(p, ref_value(body->params + k))) set(p, ref_value(g->params + k));
		visit(p, g);
		if (depends_on(p, region_result(p, g, 0))) refuse(p, in);
		return;
	}
	case OP_CALL: visit_call(p, in); return;
	default: break;
	}
	if (!any_linear_operand(p, in)) return;
	if (prims[op].deriv == DERIV_ZERO && op != OP_STOP) refuse(p, in);
	bool carries_on = false;
	for (uint32_t k = 0; k < in->nresults; k++) {
		if (!has_tangent(p, inst_result(in, k))) continue;
		set(p, inst_result(in, k));
		carries_on = true;
	}
	if (!carries_on) refuse(p, in);
}

static void visit(LinearValues *p, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++)
		visit_inst(p, &p->f->insts.at[p->f->inst_order.at[g->insts + i]]);
}

void mark_linear(LinearValues *p) { visit(p, &p->f->regions.at[0]); }
