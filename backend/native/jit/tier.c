/* tier.c - tiering policy: when a function becomes machine code.
 *
 * Needs: tier.h, partition.c, compile_service.h.
 *
 * Contract:
 * - Any failure to compile leaves the function to the evaluator; the program's
 *   results do not change.
 * - A function is compiled once, for all extents.
 *
 * Method: the evaluator's time for a call is estimated in advance. Instructions
 * count by their elements, loops by their trip counts where constants or
 * arguments determine them. A loop with an unknown trip count adds the time it
 * has taken.
 *
 * - A call predicted to run longer than compilation waits for the compiler.
 * - Shorter calls accumulate time. When it exceeds the compile time, the
 *   function is compiled in the background, and a later call uses the machine
 *   code.
 * - While a function's code is being compiled, the accumulated time of its
 *   callees starts no compilation: that code has them inlined. Nor does a first
 *   call, because a statement runs once.
 * - A loop that turns out to be long is compiled in the background. It
 *   continues as machine code from its current iteration.
 * - Compilation is deferred when its predicted time, known after planning,
 *   exceeds its worth so far. Code that is already in memory or on disk is
 *   used.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "backend/native/jit/tier.h"
#include "backend/native/run/unit_step.h"
#include "lang/base/clock.h"
#include <math.h>
#include <stdlib.h>

#define STEP_SECONDS 40e-9     /* of the evaluator, for an instruction */
#define ELEMENT_SECONDS 0.7e-9 /* for an element */
#define MATHS_SECONDS 8e-9     /* for an element of a transcendental function */
#define WAIT_SECONDS 5e-3      /* a longer call waits for the compiler */
/* Predicted compile time of a function, and of each of its instructions, before
 * its kernel IR is known. */
#define COMPILE_SECONDS 2e-3
#define COMPILE_INST_SECONDS 10e-6
#define KERNEL_INST_SECONDS 100e-6 /* for a kernel IR instruction */
#define PLAN_SHARE 0.03            /* of these: for making it */
#define PLANNED_LEAST 20e-3        /* a smaller plan is made to its end */
/* Assumed trip count of a loop that cannot be counted in advance. If it is too
 * low, osr_enter() adds the measured time. */
#define TRIP_COUNT_GUESSED 20
/* Machine instructions, roughly: larger modules are compiled quickly rather
 * than optimised fully. */
#define FULL_LEVEL_INSTS 30000
/* A loop with unknown trip count is predicted to continue for this multiple of
 * the time it has taken. */
#define LEFT_TIMES 1.0
/* Code that is compiled in the background may take so much longer than the
 * calls so far: it costs the program only its plan. */
#define BESIDE_TIMES 8.0
/* Threshold for a loop in a function whose code is being compiled. The loop
 * must be worth another compilation for the current call alone. */
#define WAITING_SECONDS 0.25
#define DEPTH_MOST 12       /* depth of calls and expressions that estimates follow */
#define INLINED_MOST 100000 /* so many instructions are counted */

typedef enum TierStage { TIER_COLD, TIER_PENDING, TIER_HOT, TIER_NEVER } TierStage;

typedef struct Tier {
	TierStage stage;
	uint64_t calls, next_estimate;
	/* The evaluator's time: a lower bound for a call, and an estimate of the
	 * total so far. */
	double call_seconds, spent;
	double first; /* when it was first called */
	double guess_seconds;
	double compile_seconds; /* estimated */
	/* Compilation is predicted to take longer than it is worth so far, or an
	 * interrupt or a limit ended it. */
	bool deferred;
	Fn *flat; /* NULL: the function itself */
	Arena *keep;
	NativePlan *plan;
	Code *hot;
} Tier;

typedef struct TierState {
	NativeService *service;
	NativeMode mode;
	bool asked, available;
} TierState;

/* ---- settings ------------------------------------------------------------ */

static const NativePolicy *policy_of(const Backend *be) {
	static const NativePolicy usual = {.environment = true};
	return be->policy ? be->policy : &usual;
}

static NativeMode initial_mode(const NativePolicy *p) {
	if (p->never) return NATIVE_OFF;
	const char *word = p->environment ? secure_getenv("ATLED_NATIVE") : NULL;
	return !word                     ? NATIVE_ON
	       : !strcmp(word, "off")    ? NATIVE_OFF
	       : !strcmp(word, "always") ? NATIVE_ALWAYS
	                                 : NATIVE_ON;
}

static const char *cache_folder(const NativePolicy *p) {
	if (p->cache || !p->environment) return p->cache;
	const char *asked = secure_getenv("ATLED_CACHE");
	return !asked || !*asked ? NULL : strcmp(asked, "off") ? asked : "";
}

static TierState *state_of(Backend *be) {
	if (be->tiers) return be->tiers;
	TierState *s = heap_alloc(be->ctx, sizeof *s);
	if (!s) return NULL;
	*s = (TierState){.mode = initial_mode(policy_of(be))};
	return be->tiers = s;
}

void backend_set_policy(Ctx *c, const NativePolicy *policy) { backend_of(c)->policy = policy; }

void backend_set_native(Ctx *c, NativeMode mode) {
	TierState *s = state_of(backend_of(c));
	if (s && !policy_of(backend_of(c))->never) s->mode = mode;
}

void tier_state_free(Ctx *c, TierState *s) {
	if (!s) return;
	native_service_free(s->service);
	heap_free(c, s, sizeof *s);
}

static bool is_available(Ctx *c, TierState *s) {
	if (s->asked) return s->available;
	s->asked = true;
	s->service = native_service_new(c, cache_folder(policy_of(backend_of(c))));
	char why[128];
	s->available = s->service && native_available(s->service, why, sizeof why);
	return s->available;
}

/* ---- prediction of the evaluator's time ---------------------------------- */

typedef struct Estimate {
	const Fn *f;
	const int64_t *syms; /* extents, -1 unknown */
	const Value *args;   /* NULL: unknown */
	const struct Estimate *caller;
	uint32_t depth;
	/* Assumed trip count of loops, and calls of a recursion, that cannot be
	 * counted in advance. */
	double guess;
} Estimate;

static double length_of(const Estimate *e, Dim d) {
	int64_t n;
	return dim_eval(e->f->ctx, d, e->syms, e->f->syms.n, &n) && n >= 0 ? (double)n : 100;
}

static double elements_of(const Estimate *e, Ref r) {
	const Type *t = ref_ty(e->f, r);
	double n = 1;
	for (uint32_t i = 0; t->kind == TY_TENSOR && i < t->rank; i++) n *= length_of(e, t->dims[i]);
	return n;
}

/* Evaluates a scalar that arguments, extents and constants determine. */
static bool known_number(const Estimate *e, Ref r, uint32_t depth, double *out) {
	const Const *k = ref_constant(e->f, r);
	if (k) return value_as_f64(k->value, out);
	if (!ref_is_value(r) || !depth) return false;
	const Region *body = &e->f->regions.at[0];
	uint32_t v = REF_INDEX(r);
	if (v >= body->params && v < body->params + body->nparams)
		return e->args && value_as_f64(e->args[v - body->params], out);
	const Inst *in = ref_inst(e->f, r);
	if (!in) return false;
	double x, y;
	int64_t n;
	switch ((Op)in->op) {
	case OP_EXTENT:
		if (!dim_eval(e->f->ctx, (Dim)attr_int(e->f->ctx, OP_EXTENT, in->attr, 0), e->syms,
		              e->f->syms.n, &n))
			return false;
		*out = (double)n;
		return true;
	case OP_CONVERT: return known_number(e, inst_arg(e->f, in, 0), depth - 1, out);
	case OP_ADD:
	case OP_SUB:
	case OP_MUL:
	case OP_DIV:
	case OP_MAX:
	case OP_MIN:
	case OP_FLOORDIV:
		if (!known_number(e, inst_arg(e->f, in, 0), depth - 1, &x) ||
		    !known_number(e, inst_arg(e->f, in, 1), depth - 1, &y))
			return false;
		*out = in->op == OP_ADD   ? x + y
		       : in->op == OP_SUB ? x - y
		       : in->op == OP_MUL ? x * y
		       : in->op == OP_MAX ? fmax(x, y)
		       : in->op == OP_MIN ? fmin(x, y)
		                          : floor(x / y);
		return isfinite(*out);
	default: return false;
	}
}

static double region_seconds(const Estimate *e, const Region *g);

static double call_seconds(const Estimate *e, const Inst *in) {
	Ctx *c = e->f->ctx;
	const Fn *g = inst_callee(c, in);
	if (!g || !g->finished || e->depth >= DEPTH_MOST) return 1e-6;
	for (const Estimate *k = e; k; k = k->caller)
		if (k->f == g) return STEP_SECONDS * e->guess;
	int64_t few[16], *syms = g->syms.n <= 16 ? few : heap_alloc(c, g->syms.n * sizeof *syms);
	if (!syms) return 1e-6;
	for (uint32_t s = 0; s < g->syms.n; s++) syms[s] = -1;
	for (uint32_t k = 0; k < in->nargs; k++) {
		const Type *want = ref_ty(g, fn_param(g, k)), *have = ref_ty(e->f, inst_arg(e->f, in, k));
		for (uint32_t a = 0; want->kind == TY_TENSOR && have->kind == TY_TENSOR && a < want->rank;
		     a++) {
			SymId s;
			int64_t n;
			if (dim_is_sym(c, want->dims[a], &s) &&
			    dim_eval(c, have->dims[a], e->syms, e->f->syms.n, &n))
				syms[s] = n;
		}
	}
	Estimate inner = {.f = g, .syms = syms, .caller = e, .depth = e->depth + 1, .guess = e->guess};
	double t = region_seconds(&inner, &g->regions.at[0]);
	if (syms != few) heap_free(c, syms, g->syms.n * sizeof *syms);
	return t;
}

static double inst_seconds(const Estimate *e, const Inst *in) {
	double trip_count, n = 1;
	switch ((Op)in->op) {
	case OP_CALL: return STEP_SECONDS + call_seconds(e, in);
	case OP_IF:
	case OP_TRY:
		return STEP_SECONDS + fmax(region_seconds(e, inst_region(e->f, in, 0)),
		                           region_seconds(e, inst_region(e->f, in, 1)));
	case OP_FOR:
		if (!known_number(e, inst_arg(e->f, in, 0), DEPTH_MOST, &trip_count)) trip_count = e->guess;
		return trip_count > 0 ? trip_count * region_seconds(e, inst_region(e->f, in, 0)) : 0;
	case OP_WHILE:
		return e->guess * (region_seconds(e, inst_region(e->f, in, 0)) +
		                   region_seconds(e, inst_region(e->f, in, 1)));
	case OP_BROADCAST:
	case OP_RESHAPE:
	case OP_TRANSPOSE:
	case OP_SLICE:
	case OP_HOST:
	case OP_PRINT: return STEP_SECONDS;
	case OP_DOT:
		n = elements_of(e, inst_arg(e->f, in, 0)) + elements_of(e, inst_result(in, 0));
		break;
	default:
		for (uint32_t k = 0; k < in->nargs; k++) n = fmax(n, elements_of(e, inst_arg(e->f, in, k)));
		if (in->nresults) n = fmax(n, elements_of(e, inst_result(in, 0)));
	}
	return STEP_SECONDS +
	       n * (prims[in->op].traits & TRAIT_MATHS ? MATHS_SECONDS : ELEMENT_SECONDS);
}

static double region_seconds(const Estimate *e, const Region *g) {
	double t = STEP_SECONDS;
	for (uint32_t i = 0; i < g->ninsts; i++)
		t += inst_seconds(e, &e->f->insts.at[e->f->inst_order.at[g->insts + i]]);
	return t;
}

/* Counts the instructions of the function and of its callees, once for each
 * call, as inlining does; to so many. */
static void count_inlined(const Fn *f, uint32_t depth, uint32_t most, uint32_t *n) {
	*n += f->insts.n;
	for (uint32_t i = 0; i < f->insts.n && depth && *n < most; i++) {
		const Fn *g = inst_callee_to_run(f, &f->insts.at[i]);
		if (g && g != f) count_inlined(g, depth - 1, most, n);
	}
}

/* The extents that the arguments determine, by symbol. */
static void lengths_of(const Code *code, const Value *args, int64_t *syms) {
	for (uint32_t s = 0; s < code->nsyms; s++) syms[s] = -1;
	for (uint32_t i = 0; i < code->body.nsyms; i++) {
		const SymDef *d = &code->body.syms[i];
		const Value *v = &args[d->from - code->body.params];
		if (v->kind != V_TENSOR || d->axis >= v->tensor->rank) continue;
		int64_t n = v->tensor->shape[d->axis];
		syms[d->sym] = n < d->offset ? -1 : (n - d->offset) / d->factor;
	}
}

static void estimate(Tier *t, Code *code, const Value *args) {
	int64_t few[16],
		*syms = code->nsyms <= 16 ? few : heap_alloc(code->ctx, code->nsyms * sizeof *syms);
	t->next_estimate = 2 * t->calls + 1;
	if (!syms) return;
	lengths_of(code, args, syms);
	Estimate e = {.f = code->fn, .syms = syms, .args = args, .guess = 1};
	t->call_seconds = region_seconds(&e, &code->fn->regions.at[0]);
	e.guess = TRIP_COUNT_GUESSED;
	t->guess_seconds = region_seconds(&e, &code->fn->regions.at[0]);
	if (syms != few) heap_free(code->ctx, syms, code->nsyms * sizeof *syms);
	if (t->compile_seconds) return;
	uint32_t n = 0;
	count_inlined(code->fn, DEPTH_MOST, INLINED_MOST, &n);
	t->compile_seconds = COMPILE_SECONDS + COMPILE_INST_SECONDS * n;
}

/* ---- compiling ----------------------------------------------------------- */

typedef struct TierRequest {
	Tier *t;
	const Fn *f;
	const int64_t *hints;
	const PlanLimit *limit;
} TierRequest;

static void run_plan(Ctx *c, void *arg) {
	TierRequest *m = arg;
	m->t->keep = arena_new(c);
	m->t->plan = native_plan(c, m->f, m->hints, m->t->keep, false, m->limit);
}

static void drop_plan(Tier *t) {
	if (t->plan) native_plan_drop(t->plan);
	arena_free(t->keep);
	t->plan = NULL;
	t->keep = NULL;
	if (t->flat) fn_unref(t->flat);
	t->flat = NULL;
}

static Fn *plan_fn(const Tier *t, const Code *code) { return t->flat ? t->flat : code->fn; }

/* Everything before code generation. The hints are extents of the caller's
 * symbols, which are the first symbols of the inlined function. */
static bool make_plan(Ctx *c, Tier *t, Code *code, const Value *args, const PlanLimit *limit) {
	t->flat = fn_inline_for_execution(c, code->fn);
	const Fn *f = plan_fn(t, code);
	const uint32_t n = f->syms.n > code->nsyms ? f->syms.n : code->nsyms;
	int64_t *hints = heap_alloc(c, (n + 1) * sizeof *hints);
	if (!hints) return false;
	for (uint32_t i = 0; i < n; i++) hints[i] = -1;
	lengths_of(code, args, hints);
	const uint32_t diags = diag_total(c), mark = build_mark(c);
	TierRequest m = {.t = t, .f = f, .hints = hints, .limit = limit};
	Status st = ctx_protect(c, run_plan, &m);
	heap_free(c, hints, (n + 1) * sizeof *hints);
	if (st != ST_OK) {
		build_unwind(c, mark);
		diag_truncate(c, diags);
	}
	if (st != ST_OK || !t->plan || !t->plan->units.n) return false;
	if (backend_of(c)->dump) dump_units(backend_of(c), t->plan);
	return true;
}

/* An instruction on a vector of several registers becomes several machine
 * instructions. LLVM's time depends on their number, and grows faster than in
 * proportion. */
int native_level(const KModule *m) {
	const uint32_t wide =
		m->target.vector_bytes ? m->target.vector_bytes : (uint32_t)sizeof(double);
	uint64_t n = 0;
	for (uint32_t k = 0; k < m->fns.n; k++)
		for (uint32_t i = 0; i < m->fns.at[k]->insts.n; i++) {
			const KInst *in = &m->fns.at[k]->insts.at[i];
			const uint32_t bytes = in->lanes * (uint32_t)sizeof(double);
			n += bytes > wide ? bytes / wide : 1;
		}
	return n > FULL_LEVEL_INSTS ? 0 : 2;
}

/* In NATIVE_ALWAYS, code that would not pay is compiled quickly. */
static NativeOptions options_of(Ctx *c, const Code *code, const Unit *u) {
	const bool quick =
		backend_of(c)->tiers->mode == NATIVE_ALWAYS && code->tier->call_seconds < WAIT_SECONDS;
	return (NativeOptions){.name = code->fn->name ? atom_text(c, code->fn->name) : NULL,
	                       .level = quick ? 0 : native_level(u->module),
	                       .once = quick};
}

typedef struct Constants {
	Tier *t;
	bool ok;
} Constants;

/* Makes contiguous tensors of array constants, as machine code reads them. */
static bool take_constants(Ctx *c, Tier *t, const Fn *f) {
	for (uint32_t k = 0; k < t->plan->units.n; k++) {
		NativeUnit *nu = t->plan->units.at[k];
		for (uint32_t i = 0; i < nu->unit->ninputs; i++) {
			const Const *x = ref_constant(f, nu->unit->inputs[i].ref);
			if (x && !nu->constants[i] &&
			    !(nu->constants[i] = tensor_contiguous(c, x->value.tensor)))
				return false;
		}
	}
	return true;
}

static void make_tables(Ctx *c, void *arg) {
	(void)c;
	Tier *t = ((Constants *)arg)->t;
	for (uint32_t k = 0; k < t->plan->units.n; k++) {
		NativeUnit *nu = t->plan->units.at[k];
		if (!nu->constants) nu->constants = ARENA_ARRAY(t->keep, Tensor *, nu->unit->ninputs + 1);
	}
}

/* All code is available: makes the steps that call it. */
static bool finish(Backend *be, Tier *t, Code *code) {
	Ctx *c = be->ctx;
	Constants k = {.t = t};
	if (ctx_protect(c, make_tables, &k) != ST_OK || !take_constants(c, t, plan_fn(t, code)))
		return false;
	for (uint32_t i = 0; i < t->plan->units.n; i++)
		t->plan->units.at[i]->entry = native_code_entry(t->plan->units.at[i]->code);
	t->hot = prepare(c, plan_fn(t, code), t->plan);
	if (!t->hot) return false;
	be->counters.units_compiled += t->plan->units.n;
	t->stage = TIER_HOT;
	return true;
}

double native_module_seconds(const KModule *m) {
	const bool well = native_level(m) > 0;
	double seconds = 0;
	for (uint32_t k = 0; k < m->fns.n; k++)
		for (uint32_t i = 0; i < m->fns.at[k]->insts.n; i++) {
			const KInst *in = &m->fns.at[k]->insts.at[i];
			seconds += KERNEL_INST_SECONDS * (well && in->op == K_PRIM ? prims[in->prim].code : 1);
		}
	return seconds;
}

/* The predicted compile time of the plan. */
static double planned_seconds(const Tier *t) {
	double seconds = COMPILE_SECONDS;
	for (uint32_t i = 0; i < t->plan->units.n; i++)
		seconds += native_module_seconds(t->plan->units.at[i]->unit->module);
	return seconds;
}

static bool compile_async(Backend *be, TierState *s, Tier *t, Code *code) {
	for (uint32_t i = 0; i < t->plan->units.n; i++) {
		NativeUnit *nu = t->plan->units.at[i];
		if (!nu->unit->module) continue; /* requested before the deadline */
		NativeOptions o = options_of(be->ctx, code, nu->unit);
		nu->request = native_request(s->service, nu->unit->module, &o);
		if (!nu->request) return false;
		nu->unit->module = NULL;
	}
	t->stage = TIER_PENDING;
	return true;
}

/* LLVM cannot be interrupted. An interrupt or a limit leaves the compilation
 * behind. After the policy's deadline it continues in the background. */
static bool compile_now(Backend *be, TierState *s, Tier *t, Code *code) {
	char why[256];
	const double most = policy_of(be)->wait_seconds,
				 until = most > 0 ? clock_seconds() + most : HUGE_VAL;
	for (uint32_t i = 0; i < t->plan->units.n; i++) {
		NativeUnit *nu = t->plan->units.at[i];
		NativeOptions o = options_of(be->ctx, code, nu->unit);
		nu->request = native_request_apart(s->service, nu->unit->module, &o);
		if (nu->request) {
			nu->unit->module = NULL;
			if (!native_request_wait(nu->request, until))
				return !ctx_stops(be->ctx) && compile_async(be, s, t, code);
			nu->code = native_request_take(nu->request, why, sizeof why);
			nu->request = NULL;
		} else { /* no thread */
			nu->code = native_compile(s->service, nu->unit->module, &o, why, sizeof why);
			kmodule_free(nu->unit->module);
			nu->unit->module = NULL;
		}
		if (!nu->code) return false;
	}
	return finish(be, t, code);
}

/* Installs the code when all requests are done; until then does nothing.
 * Returns false on failure. */
static bool install(Backend *be, Tier *t, Code *code) {
	char why[256];
	for (uint32_t i = 0; i < t->plan->units.n; i++)
		if (t->plan->units.at[i]->request && !native_request_done(t->plan->units.at[i]->request))
			return true;
	for (uint32_t i = 0; i < t->plan->units.n; i++) {
		NativeUnit *nu = t->plan->units.at[i];
		if (nu->code) continue; /* taken before the deadline */
		nu->code = native_request_take(nu->request, why, sizeof why);
		nu->request = NULL;
		if (!nu->code) return false;
	}
	return finish(be, t, code);
}

typedef struct CostContext {
	Backend *be;
	const Code *code;
	double worth;
} CostContext;

/* The predicted time to compile a unit. Code in the cache costs its plan. */
static double unit_cost(void *ud, const Unit *u) {
	const CostContext *k = ud;
	const NativeOptions o = options_of(k->be->ctx, k->code, u);
	const bool cached = !isinf(k->worth) && native_is_cached(k->be->tiers->service, u->module, &o);
	return (cached ? PLAN_SHARE : 1) * native_module_seconds(u->module);
}

/* After a failure: the evaluator runs the function. Code that an interrupt or a
 * limit prevented may be made later. */
static void give_up(Backend *be, Tier *t) {
	drop_plan(t);
	if (ctx_stops(be->ctx)) t->deferred = true;
	t->stage = t->deferred ? TIER_COLD : TIER_NEVER;
}

/* Plans and compiles. Waits for the compiler when the evaluator would take
 * longer for the time `ahead`, else compiles in the background. A compilation
 * of more than `worth` seconds is deferred, unless its code is cached. */
static bool compile_for(Backend *be, TierState *s, Tier *t, Code *code, const Value *args,
                        double ahead, double worth) {
	const double from = clock_seconds();
	CostContext k = {be, code, worth};
	const PlanLimit limit = {unit_cost, &k, fmax(worth, PLANNED_LEAST)};
	bool good = make_plan(be->ctx, t, code, args, &limit) && !ctx_stops(be->ctx);
	if (good) t->compile_seconds = COMPILE_SECONDS + t->plan->cost;
	t->deferred = good && t->compile_seconds > worth;
	/* A plan that was cut short costs at least this. The next attempt comes
	 * when twice as much time was spent, so that all plans take little. */
	if (good && t->plan->cut) t->compile_seconds = fmax(t->compile_seconds, 2 * worth);
	good = good && !t->deferred;
	if (good)
		good = ahead > planned_seconds(t) && !policy_of(be)->background
		           ? compile_now(be, s, t, code)
		           : compile_async(be, s, t, code);
	be->counters.compile_seconds += clock_seconds() - from;
	return good;
}

void backend_native_sources(Ctx *c, uint64_t *found, uint64_t *made) {
	const TierState *s = backend_of(c)->tiers;
	*found = *made = 0;
	if (!s || !s->service) return;
	const NativeCounters *n = native_counters(s->service);
	*found = n->from_memory + n->from_disk;
	*made = n->compiled;
}

uint64_t backend_native_pending(Ctx *c) {
	const TierState *s = backend_of(c)->tiers;
	return s && s->service ? native_requests_pending(s->service) : 0;
}

/* ---- choosing ------------------------------------------------------------ */

/* A single instruction gains nothing, unless it is a matrix product or a
 * call. */
static bool may_gain(const Fn *f) {
	if (f->insts.n != 1) return f->insts.n > 1;
	const uint16_t op = f->insts.at[0].op;
	return op == OP_DOT || op == OP_CALL;
}

/* Whether code of a running function is being compiled. False when the code is
 * done, even though the call still runs in the evaluator. The code serves only
 * a later call, which may never come, so callees are then compiled as usual. */
static bool waiting(const Backend *be, const TierState *s) {
	return be->waiting && native_requests_pending(s->service);
}

/* Whether its calls have taken so long. Where loops cannot be counted in
 * advance, the estimate may be far too high; the time since the first call
 * bounds it. */
static bool has_spent(Tier *t, double seconds) {
	if (t->spent > seconds) t->spent = fmin(t->spent, clock_seconds() - t->first);
	return t->spent > seconds;
}

static __attribute__((noinline)) Code *choose(Backend *be, Code *code, const Value *args) {
	TierState *s = state_of(be);
	if (!s || s->mode == NATIVE_OFF || !code->fn->finished || !may_gain(code->fn)) return code;
	if (!code->tier) {
		if (!is_available(be->ctx, s)) return code;
		code->tier = heap_alloc(be->ctx, sizeof *code->tier);
		if (!code->tier) return code;
		*code->tier = (Tier){0};
	}
	Tier *t = code->tier;
	bool good = true;
	if (t->stage == TIER_PENDING) {
		good = install(be, t, code);
	} else if (s->mode == NATIVE_ALWAYS || s->mode == NATIVE_WELL) {
		estimate(t, code, args);
		good = compile_for(be, s, t, code, args, HUGE_VAL, HUGE_VAL);
	} else {
		if (t->calls >= t->next_estimate || !t->calls) estimate(t, code, args);
		if (!t->calls++) t->first = clock_seconds();
		if (t->call_seconds > WAIT_SECONDS && t->call_seconds > 2 * t->compile_seconds) {
			good = compile_for(be, s, t, code, args, t->call_seconds, LEFT_TIMES * t->call_seconds);
		} else {
			t->spent += t->guess_seconds;
			/* A statement runs once. The time of its first call is in loops,
			 * which continue as machine code by themselves, and in calls, which
			 * are counted individually. */
			if (t->calls > 1 && has_spent(t, t->compile_seconds / BESIDE_TIMES) && !waiting(be, s))
				good = compile_for(be, s, t, code, args, 0, BESIDE_TIMES * t->spent);
		}
	}
	if (good) return t->stage == TIER_HOT ? t->hot : code;
	give_up(be, t);
	return code;
}

Code *tier_choose(Backend *be, Code *code, const Value *args) {
	const Tier *t = code->tier;
	if (be->observer || (be->tiers && be->tiers->mode == NATIVE_OFF)) return code;
	if (t && t->stage == TIER_HOT) return t->hot;
	if (t && t->stage == TIER_NEVER) return code;
	return choose(be, code, args);
}

bool tier_pending(const Code *code) { return code->tier && code->tier->stage == TIER_PENDING; }

Code *tier_ready(const Backend *be, const Code *code, bool *never) {
	const Tier *t = code->tier;
	*never = false;
	if (be->observer) return NULL;
	*never = (be->tiers && be->tiers->mode == NATIVE_OFF) || (t && t->stage == TIER_NEVER);
	return !*never && t && t->stage == TIER_HOT ? t->hot : NULL;
}

/* ---- on-stack replacement ------------------------------------------------ */

/* The loop as a function, or NULL, which is permanent unless the context
 * stops. */
static Code *loop_code(Frame *f, LoopSite *site) {
	Ctx *c = f->ctx;
	if (!site->osr) site->osr = native_osr(c, f->code->fn, site->inst, f->code->arena);
	return site->osr ? code_of(c, site->osr->fn) : NULL;
}

double osr_budget(int64_t from, int64_t to, double seconds) {
	return to > from && from > 0 ? seconds / (double)from * (double)(to - from)
	                             : LEFT_TIMES * seconds;
}

bool osr_enter(Frame *f, const Step *s, int64_t from, int64_t to, double seconds, Value *held,
               Status *st, bool *soon) {
	LoopSite *site = s->site;
	Backend *be = f->be;
	TierState *state = state_of(be);
	*soon = false;
	/* The loop's time counts for its function: the assumed trip count may be
	 * far too low. */
	if (f->code->tier)
		f->code->tier->spent += seconds > site->seen ? seconds - site->seen : seconds;
	site->seen = seconds;
	if (!state || state->mode != NATIVE_ON || site->never || be->observer) return false;
	/* The remaining time of a counted loop must also justify the compiler. A
	 * loop that was considered before need not reach the thresholds again. */
	const double worth = osr_budget(from, to, seconds),
				 left = to > from && from > 0 ? worth : seconds;
	const bool asked = site->osr && site->osr->fn->code && ((Code *)site->osr->fn->code)->tier;
	const double least = waiting(be, state) ? WAITING_SECONDS : WAIT_SECONDS;
	if (!asked && (seconds < least || left < least)) return false;
	if (!is_available(f->ctx, state)) {
		site->never = true;
		return false;
	}
	Code *code = loop_code(f, site);
	if (!code) {
		site->never = !ctx_stops(f->ctx);
		return false;
	}
	Tier *t = code->tier;
	if (t && t->stage == TIER_PENDING && !install(be, t, code)) give_up(be, t);
	*soon = t && t->stage == TIER_PENDING;
	if (*soon) return false;
	const OsrLoop *o = site->osr;
	const bool counted = s->op == OP_FOR;
	const uint32_t carried = s->nresults, n = (counted ? 2 : 0) + carried + o->nfree + o->nsyms;
	Value few[32], *args = n <= 32 ? few : heap_alloc(f->ctx, n * sizeof *args);
	if (!args) return false;
	uint32_t k = 0;
	if (counted) {
		args[k++] = value_i64(from);
		args[k++] = value_i64(to);
	}
	for (uint32_t i = 0; i < carried; i++) args[k++] = held[i];
	for (uint32_t i = 0; i < o->nfree; i++) args[k++] = f->slots[o->free[i]];
	for (uint32_t i = 0; i < o->nsyms; i++) args[k++] = value_i64(f->syms[o->syms[i]]);
	if (!t || t->stage == TIER_COLD) {
		if (!t && (code->tier = heap_alloc(f->ctx, sizeof *code->tier))) *code->tier = (Tier){0};
		if (code->tier) {
			t = code->tier;
			estimate(t, code, args);
			if (t->compile_seconds > worth) t->deferred = true;
			else if (!compile_for(be, state, t, code, args, 0, worth)) give_up(be, t);
		}
	}
	*soon = code->tier && code->tier->stage == TIER_PENDING;
	const bool ready = code->tier && code->tier->stage == TIER_HOT;
	if (ready) { /* carried values are moved, the others shared */
		for (uint32_t i = 0; i < carried; i++) held[i].kind = V_UNSET;
		for (uint32_t i = 0; i < o->nfree; i++) value_ref(args[(counted ? 2 : 0) + carried + i]);
		*st = call_code(be, code, n, args, NULL, held, code->fn->span);
	}
	site->never |= !ready && !*soon && !(code->tier && code->tier->deferred);
	if (args != few) heap_free(f->ctx, args, n * sizeof *args);
	return ready;
}

void tier_each(const Code *code, const RefVisitor *v) {
	for (const LoopSite *l = code->loops; l; l = l->next)
		if (l->osr) v->fn(v->ud, l->osr->fn);
	if (code->tier && code->tier->flat) v->fn(v->ud, code->tier->flat);
}

void tier_drop(Ctx *c, Code *code) {
	for (const LoopSite *l = code->loops; l; l = l->next)
		if (l->osr) fn_unref(l->osr->fn);
	Tier *t = code->tier;
	if (!t) return;
	if (t->hot) arena_free(t->hot->arena);
	drop_plan(t);
	heap_free(c, t, sizeof *t);
}
