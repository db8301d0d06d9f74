/* services.c - registration of the transforms for the other modules.
 *
 * Needs: transform_cache.h, pattern.h.
 *
 * Contract:
 * - After autodiff_init the context's transform services are those of
 *   autodiff.h.
 * - Derived functions are released with the function they came from.
 */
#include "autodiff/sparse/pattern.h"

static void linearise_service(Ctx *c, Fn *f, const bool *active, Fn **primal, Fn **linear,
                              uint32_t *nresiduals, const bool **result_active) {
	const Linearised *l = ad_linearise(c, f, active);
	*primal = l->primal;
	*linear = l->linear;
	*nresiduals = l->nresiduals;
	*result_active = l->result_active;
}

void autodiff_init(Ctx *c) {
	IrServices *s = ir_services(c);
	s->jvp = ad_jvp;
	s->forward = ad_forward;
	s->linearise = linearise_service;
	s->transpose = ad_transpose;
	s->small_jacobian = ad_small_jacobian;
	s->jet = ad_jet;
	s->gradient = ad_gradient;
	s->batch = ad_batch;
	s->checkpoint = ad_checkpoint;
	s->checkpoint_report = ad_checkpoint_report;
	s->reverse_override = ad_reverse_override;
	s->optimise = ad_optimise;
	s->cost = fn_cost;
	s->explain = ad_explain;
	fn_hooks(c)->free_derived = transforms_free;
	sparsity_register(c);
}
