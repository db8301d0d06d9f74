/* linearise.c - linearisation: a function that is linear in some parameters,
 * split into a primal and a linear part.
 *
 * Method: ad_linearise splits the forward derivative by dependence on the
 * tangents (Radul et al., "You only linearize once", POPL 2023). The plan, the
 * tapes and the treatment of recursion are specific to this project.
 *
 * Recursion: the number of residuals of a function is unknown while it is being
 * split, so a recursive call has none. Its operands are saved instead, and the
 * linear part calls `joint`, which runs the callee's primal part again and then
 * its linear part. A call chain of depth n thus costs n primal runs of
 * decreasing length, and memory for one.
 *
 * Inlining comes first, so that work common to several callees is one value
 * with one cotangent. For example, u, u_t and u_xx of one network, each a call,
 * share their primal values, and the transpose passes back through those once
 * instead of three times. Later merging of equal instructions cannot achieve
 * this, since the cotangents differ.
 *
 * Needs: primal_linear.h, linearise.h.
 *
 * Contract:
 * - As for ad_linearise in autodiff.h.
 */
#include "autodiff/reverse/checkpoint.h"

static void make_split(Ctx *c, Transform *d);

Transform *split_of(Ctx *c, Fn *f, const bool *linear) {
	Transform *d = transform_get(c, f, TR_SPLIT, 0, linear, make_split);
	LinearSplit *s = split_data(d);
	if (d->done || s->joint) return d;
	s->values_builder = build_begin(c, transform_name(c, f, "values"), f->span, f);
	s->joint_builder = build_begin(c, transform_name(c, f, "joint"), f->span, f);
	build_derivative(s->values_builder);
	build_derivative(s->joint_builder);
	for (uint32_t pass = 0; pass < 2; pass++) {
		for (uint32_t k = 0; k < fn_nparams(f); k++) {
			const Val *v = &f->vals.at[REF_INDEX(fn_param(f, k))];
			if (linear[k] != (pass == 1)) continue;
			if (!pass) build_param(s->values_builder, v->type, v->name);
			build_param(s->joint_builder, v->type, v->name);
		}
	}
	s->values = build_fn(s->values_builder);
	s->joint = build_fn(s->joint_builder);
	return d;
}

/* Builds the two functions that recursive calls use, now that the parts
 * exist. */
static void finish_recursive(Ctx *c, Transform *d) {
	LinearSplit *s = split_data(d);
	Arena *a = d->scratch;
	uint32_t nplain = fn_nparams(s->primal), nlinear = d->nmask - nplain,
			 nvalues = fn_nresults(s->primal);
	Ref *args = ARENA_ARRAY(a, Ref, d->nmask + s->nresiduals + 1u),
		*values = ARENA_ARRAY(a, Ref, nvalues + 1u);
	Ref *results = ARENA_ARRAY(a, Ref, fn_nresults(s->linear) + 1u);
	Builder *b = s->values_builder;
	for (uint32_t k = 0; k < nplain; k++) args[k] = fn_param(s->values, k);
	build_call(b, s->primal, nplain, args, values);
	transform_own(d, build_end(b, s->nplain_results, values));

	b = s->joint_builder;
	for (uint32_t k = 0; k < nplain; k++) args[k] = fn_param(s->joint, k);
	build_call(b, s->primal, nplain, args, values);
	for (uint32_t k = 0; k < s->nresiduals; k++) args[k] = values[s->nplain_results + k];
	for (uint32_t k = 0; k < nlinear; k++) args[s->nresiduals + k] = fn_param(s->joint, nplain + k);
	build_call(b, s->linear, s->nresiduals + nlinear, args, results);
	transform_own(d, build_end(b, s->nlinear_results, results));
	transform_info_set(c, s->joint, (TransformInfo){.is_linear = true, .linear_from = nplain});
}

/* Must agree with linear_call: what a jvp promises, else the actual
 * dependence. */
static void find_linear_results(const LinearisePlan *p, LinearSplit *s) {
	const Fn *f = p->f;
	TransformInfo o = transform_info(f);
	bool jvp = o.is_jvp, linear = o.is_linear;
	for (uint32_t k = 0; k < p->d->nmask; k++) {
		jvp &= p->d->mask[k] == (k >= o.jvp_params);
		linear &= p->d->mask[k] == (k >= o.linear_from);
	}
	for (uint32_t k = 0; k < fn_nresults(f); k++) {
		p->linear_result[k] = jvp ? k >= o.jvp_results : linear || is_linear(p, fn_result(f, k));
		if (p->linear_result[k]) s->nlinear_results++;
		else s->nplain_results++;
		if (is_linear(p, fn_result(f, k)) && !p->linear_result[k]) {
			diag_error(p->c, E_INTERNAL, span_of(p->c, f->span),
			           "splitting %s: a value depends on a tangent", atom_text(p->c, f->name));
			ctx_throw(p->c, ST_INTERNAL);
		}
	}
}

/* Finds the linear values in the function of an entry, with its calls inlined
 * if `flat`. */
static void begin_plan(Ctx *c, Transform *d, bool flat, LinearSplit *s, LinearisePlan *p) {
	Fn *f = d->from, *written = flat ? fn_inline_calls(c, f) : NULL;
	if (written) {
		transform_info_set(c, written, transform_info(f));
		f = transform_own(d, written);
	}
	s->linear_result = ARENA_ARRAY(d->from->arena, bool, fn_nresults(f) + 1u);
	*p =
		(LinearisePlan){.c = c, .f = f, .d = d, .a = d->scratch, .linear_result = s->linear_result};
	p->dep = (LinearValues){.c = c, .f = f, .scratch = d->scratch, .transform = "linearise"};
	p->dep.linear = ARENA_ARRAY(d->scratch, bool, f->vals.n + 1u);
	for (uint32_t k = 0; k < d->nmask; k++) p->dep.linear[REF_INDEX(fn_param(f, k))] = d->mask[k];
	mark_linear(&p->dep);
	find_linear_results(p, s);
}

static void make_split(Ctx *c, Transform *d) {
	LinearSplit *s = ARENA_NEW(d->from->arena, LinearSplit);
	LinearisePlan p;
	d->data = s;
	begin_plan(c, d, true, s, &p);
	plan_split(&p);
	s->nresiduals = p.regions[0].saved.n;
	s->primal = transform_own(d, emit_primal_part(&p));
	s->linear = transform_own(d, emit_linear_part(&p, s->primal));
	transform_info_set(c, s->linear,
	                   (TransformInfo){.is_linear = true,
	                                   .linear_from = s->nresiduals,
	                                   .rounds = transform_info(p.f).rounds + 1});
	if (s->joint) finish_recursive(c, d);
	d->fn = s->linear;
}

/* The primal part alone: without tapes, or (with `report`) returning the report
 * on its checkpointed loops. */
static void make_primal(Ctx *c, Transform *d, bool report) {
	LinearSplit s = {0};
	LinearisePlan p;
	begin_plan(c, d, report, &s, &p);
	p.plain = !report;
	p.report = report;
	plan_split(&p);
	d->fn = transform_own(d, emit_primal_part(&p));
}

static void make_plain(Ctx *c, Transform *d) { make_primal(c, d, false); }

static void make_report(Ctx *c, Transform *d) { make_primal(c, d, true); }

Fn *plain_part(Ctx *c, Fn *f, const bool *linear) {
	return transform_get(c, f, TR_ADVANCE, 0, linear, make_plain)->fn;
}

/* The parameters of a jvp that f does not have. */
static const bool *tangents_of(Arena *a, const Fn *jvp, const Fn *f) {
	bool *linear = ARENA_ARRAY(a, bool, fn_nparams(jvp) + 1u);
	for (uint32_t k = fn_nparams(f); k < fn_nparams(jvp); k++) linear[k] = true;
	return linear;
}

Fn *ad_checkpoint_report(Ctx *c, Fn *f, const bool *active) {
	f = apply_reverse_overrides(c, f);
	Fn *jvp = ad_jvp(c, f, active, NULL);
	Arena *scratch = arena_new(c);
	Fn *report = transform_get(c, jvp, TR_REPORT, 0, tangents_of(scratch, jvp, f), make_report)->fn;
	arena_free(scratch);
	return report;
}

const Linearised *ad_linearise(Ctx *c, Fn *f, const bool *active) {
	f = apply_reverse_overrides(c, f);
	Fn *jvp = ad_jvp(c, f, active, NULL);
	Arena *scratch = arena_new(c);
	Transform *d = split_of(c, jvp, tangents_of(scratch, jvp, f));
	arena_free(scratch);
	if (!d->done) {
		diag_error(c, E_INTERNAL, span_of(c, f->span),
		           "%s is linearised while its linearisation is made", atom_text(c, f->name));
		ctx_throw(c, ST_INTERNAL);
	}
	LinearSplit *s = split_data(d);
	if (s->of) return s->of;
	transform_info_set(c, s->primal,
	                   (TransformInfo){.is_primal = true, .has_source = true, .source = f->id});
	Linearised *out = ARENA_NEW(f->arena, Linearised);
	out->primal = s->primal;
	out->linear = s->linear;
	out->nresiduals = s->nresiduals;
	out->result_active = ARENA_ARRAY(f->arena, bool, fn_nresults(f) + 1u);
	ad_jvp(c, f, active, out->result_active);
	s->of = out;
	return out;
}
