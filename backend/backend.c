/* backend.c - the backend of a context: evaluator and machine code.
 *
 * Needs: eval, native. The evaluator accesses machine code only through its
 * hooks. Therefore native includes eval, and eval does not include native.
 */
#include "backend/backend.h"
#include "backend/native/explain/show.h"
#include "backend/native/jit/tier.h"
#include "backend/native/run/runtime.h"
#include "backend/native/run/unit_step.h"

static void free_native(Ctx *c, Backend *be) {
	native_state_free(c, be->native);
	tier_state_free(c, be->tiers);
	profile_free(c, be->profile);
}

static const NativeHooks hooks = {
	.unit = eval_native,
	.choose = tier_choose,
	.ready = tier_ready,
	.pending = tier_pending,
	.loop = osr_enter,
	.drop = tier_drop,
	.each = tier_each,
	.free_state = free_native,
};

static void install(Ctx *c, void *arg) {
	(void)arg;
	ir_services(c)->show_native = native_show;
}

void backend_trim(Ctx *c) { eval_trim(c); }

Status backend_init(Ctx *c) {
	const Status st = eval_init(c, &hooks);
	return st == ST_OK ? ctx_protect(c, install, NULL) : st;
}
