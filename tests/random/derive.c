/* derive.c - implementation of derive.h: transforms of a random program.
 *
 * Needs: derive.h.
 *
 * Guarantees: arguments have the shapes of the original's for the same extents.
 * Residuals are those that the primal function returned.
 */
#include "tests/random/derive.h"
#include "autodiff/autodiff.h"
#include "lang/base/parallel.h"
#include <stdio.h>
#include <stdlib.h>

enum { LARGE = 900 }; /* number of instructions from which a function is not transformed again */

typedef struct Deriving {
	Ctx *c;
	const Sample *program;
	Cases *cases;
	uint64_t rng;
} Deriving;

static bool chance(Deriving *d, int percent) { return random_below(&d->rng, 100) < percent; }

Status run_reference(Ctx *c, Fn *f, const Value *args, Value *results) {
	parallel_set_threads(c, 1);
	backend_set_native(c, NATIVE_OFF);
	Code *code = code_of(c, f);
	return code ? code_call(c, code, args, results) : ST_NOMEM;
}

/* ---- cases --------------------------------------------------------------- */

/* Returns a new case, or NULL. Takes over a reference to the function. */
static Case *add_case(Deriving *d, Fn *f, const char *what, const Case *of) {
	Cases *cs = d->cases;
	if (cs->n == CASES_MOST) {
		fn_unref(f);
		return NULL;
	}
	Case *k = &cs->at[cs->n++];
	*k = (Case){.fn = f, .nargs = fn_nparams(f)};
	if (of) snprintf(k->how, sizeof k->how, "%s of %.60s", what, of->how);
	else snprintf(k->how, sizeof k->how, "%s", what);
	if (!fn_verify(f, k->how) && !cs->trouble[0]) {
		snprintf(cs->trouble, sizeof cs->trouble, "%s does not verify: %s", k->how,
		         diag_total(d->c) ? diag_at(d->c, 0)->message : "?");
		diag_clear(d->c);
	}
	return k;
}

static Value *new_args(Case *k, int set) { return k->args[set] = room(k->nargs, sizeof(Value)); }

static void run_cases(Deriving *d, Case *k) {
	for (int set = 0; set < SETS; set++)
		if (k->args[set]) k->want[set] = outcome_of(d->c, run_reference, k->fn, k->args[set]);
}

void cases_free(Cases *cs) {
	for (uint32_t i = cs->n; i-- > 0;) {
		Case *k = &cs->at[i];
		for (int set = 0; set < SETS; set++) {
			for (uint32_t a = 0; a < k->nargs && k->args[set]; a++) value_unref(k->args[set][a]);
			free(k->args[set]);
			outcome_free(&k->want[set]);
		}
		fn_unref(k->fn);
	}
	cs->n = 0;
}

/* ---- arguments ----------------------------------------------------------- */

static uint32_t shape_of(Value v, int64_t *shape) {
	if (v.kind != V_TENSOR) return 0;
	memcpy(shape, v.tensor->shape, v.tensor->rank * sizeof *shape);
	return v.tensor->rank;
}

/* Returns random values of the shape of v. */
static Value random_like(Deriving *d, Value v) {
	int64_t shape[MAX_RANK];
	uint32_t rank = shape_of(v, shape);
	return random_value(d->c, &d->rng, value_dtype(v), rank, shape, false);
}

/* Scalars that select a branch or a trip count need both signs. Extents
 * determine shapes only. */
static bool first_args(Deriving *d, Case *k) {
	for (int set = 0; set < SETS; set++) {
		Value *args = new_args(k, set);
		for (uint32_t i = 0; i < k->nargs; i++) {
			Type t = *ref_ty(k->fn, fn_param(k->fn, i));
			int64_t shape[MAX_RANK];
			for (uint32_t a = 0; a < t.rank; a++)
				if (!dim_eval(d->c, t.dims[a], d->program->lengths[set], SYMS_MOST, &shape[a]))
					return false;
			args[i] = random_value(d->c, &d->rng, (Dtype)t.dtype, t.rank, shape, d->program->wild);
		}
	}
	return true;
}

/* ---- transforms, protected ----------------------------------------------- */

typedef enum Kind { JVP, VJP_CALLS, VJP_INLINE, VJP_PARTS, JET, BATCH } Kind;

typedef struct Ask {
	Kind kind;
	Fn *f;
	uint32_t order;
	bool active[256], result_active[256];
	Fn *out, *second;
	uint32_t nresiduals;
} Ask;

Fn *vjp_function(Ctx *c, Fn *f, const Linearised *l, Fn *back, bool calls) {
	Builder *b = build_begin(c, atom(c, "gradient"), 0, f);
	uint32_t n = fn_nparams(f), nresults = fn_nresults(f), at = 0;
	Ref *args = ARENA_ARRAY(ctx_arena(c), Ref, n + 1);
	Ref *out = ARENA_ARRAY(ctx_arena(c), Ref, nresults + l->nresiduals + n + 1);
	Ref *given = ARENA_ARRAY(ctx_arena(c), Ref, nresults + l->nresiduals + 1);
	Ref *gradients = ARENA_ARRAY(ctx_arena(c), Ref, fn_nresults(back) + 1);
	for (uint32_t k = 0; k < n; k++) args[k] = build_param(b, ref_type(f, fn_param(f, k)), 0);
	for (uint32_t k = 0; k < nresults; k++)
		if (l->result_active[k])
			given[l->nresiduals + at++] = build_param(b, ref_type(f, fn_result(f, k)), 0);
	if (calls) build_call(b, l->primal, n, args, out);
	else build_inline(b, l->primal, args, out);
	for (uint32_t k = 0; k < l->nresiduals; k++) given[k] = out[nresults + k];
	if (calls) build_call(b, back, l->nresiduals + at, given, gradients);
	else build_inline(b, back, given, gradients);
	for (uint32_t k = 0; k < fn_nresults(back); k++) out[nresults + k] = gradients[k];
	return build_end(b, nresults + fn_nresults(back), out);
}

static void run_transform(Ctx *c, void *arg) {
	Ask *q = arg;
	switch (q->kind) {
	case JVP: q->out = ad_jvp(c, q->f, q->active, q->result_active); break;
	case JET: q->out = ad_jet(c, q->f, q->order, false, q->active, q->result_active); break;
	case BATCH: q->out = ad_batch(c, q->f, q->active); break;
	default: {
		const Linearised *l = ad_linearise(c, q->f, q->active);
		Fn *back = ad_transpose(c, l->linear, l->nresiduals);
		memcpy(q->result_active, l->result_active, fn_nresults(q->f) * sizeof(bool));
		q->nresiduals = l->nresiduals;
		if (q->kind == VJP_PARTS) {
			q->out = l->primal;
			q->second = back;
		} else {
			q->out = vjp_function(c, q->f, l, back, q->kind == VJP_CALLS);
			return; /* it is owned already */
		}
	}
	}
	fn_ref(q->out);
	if (q->second) fn_ref(q->second);
}

/* Returns whether the case ran and failed every time. */
static bool always_fails(const Case *of) {
	bool any = false;
	for (uint32_t k = 0; k < SETS; k++) {
		if (of->args[k] && of->want[k].status == ST_OK) return false;
		any |= of->args[k] != NULL;
	}
	return any;
}

static bool ask_for(Deriving *d, Ask *q, const Case *of) {
	static const char *const names[] = {"jvp", "vjp", "vjp", "vjp", "jet", "batch"};
	uint32_t mark = build_mark(d->c);
	Status st = ctx_protect(d->c, run_transform, q);
	if (st == ST_OK) return true;
	build_unwind(d->c, mark);
	const Diag *g = diag_total(d->c) ? diag_at(d->c, 0) : NULL;
	/* two extents cannot be equal: the transform reports the failure of the
	 * run */
	const bool foreseen = g && g->code == E_SHAPE && always_fails(of);
	if (g && g->code == E_NO_RULE) d->cases->without_rule++;
	else if (!foreseen && !d->cases->trouble[0])
		snprintf(d->cases->trouble, sizeof d->cases->trouble, "%s of %s: %s", names[q->kind],
		         of->how, g ? g->message : "it threw and said nothing");
	diag_clear(d->c);
	return false;
}

/* ---- one transform of one case ------------------------------------------- */

/* Selects some parameters that have a tangent, at least one if possible. */
static bool choose_active(Deriving *d, const Fn *f, bool *active) {
	uint32_t n = 0, last = 0, nparams = fn_nparams(f);
	if (nparams > 256 || fn_nresults(f) > 256) return false;
	for (uint32_t k = 0; k < nparams; k++) {
		if (!type_has_tangent(d->c, ref_type(f, fn_param(f, k)))) continue;
		last = k;
		active[k] = chance(d, 70);
		n += active[k];
	}
	if (!n && type_has_tangent(d->c, ref_type(f, fn_param(f, last)))) n = active[last] = true;
	return n > 0;
}

/* The arguments of `of`, then `each` random ones for every active parameter. */
static void args_with_tangents(Deriving *d, Case *k, const Case *of, const bool *active,
                               uint32_t each) {
	for (int set = 0; set < SETS; set++) {
		if (!of->args[set]) continue;
		Value *args = new_args(k, set);
		uint32_t at = of->nargs;
		for (uint32_t i = 0; i < of->nargs; i++) args[i] = value_ref(of->args[set][i]);
		for (uint32_t i = 0; i < of->nargs; i++)
			for (uint32_t j = 0; active[i] && j < each; j++)
				args[at++] = random_like(d, of->args[set][i]);
	}
}

static Case *derive_forward(Deriving *d, const Case *of, Kind kind) {
	Ask q = {.kind = kind,
	         .f = of->fn,
	         .order = kind == JET ? 1 + (uint32_t)random_below(&d->rng, 3) : 1};
	char what[24] = "jvp";
	if (kind == JET) snprintf(what, sizeof what, "jet %u", q.order);
	if (!choose_active(d, of->fn, q.active) || !ask_for(d, &q, of)) return NULL;
	Case *k = add_case(d, q.out, what, of);
	if (k) args_with_tangents(d, k, of, q.active, q.order);
	return k;
}

/* Writes cotangents of the active results into args from `at` on. */
static void cotangents(Deriving *d, const Ask *q, const Outcome *results, Value *args,
                       uint32_t at) {
	for (uint32_t i = 0; i < fn_nresults(q->f); i++)
		if (q->result_active[i]) args[at++] = random_like(d, results->results[i]);
}

bool lengths_are_known(Ctx *c, const Fn *f) {
	bool known[SYMS_MOST] = {false};
	for (uint32_t k = 0; k < fn_nparams(f); k++) {
		const Type *t = ref_ty(f, fn_param(f, k));
		SymId s;
		for (uint32_t a = 0; t->kind == TY_TENSOR && a < t->rank; a++)
			if (dim_is_sym(c, t->dims[a], &s) && s < SYMS_MOST) known[s] = true;
	}
	for (uint32_t k = 0; k < fn_nresults(f); k++) {
		const Type *t = ref_ty(f, fn_result(f, k));
		for (uint32_t a = 0; t->kind == TY_TENSOR && a < t->rank; a++)
			for (SymId s = 0; s < f->syms.n; s++)
				if ((s >= SYMS_MOST || !known[s]) && dim_mentions(c, t->dims[a], s)) return false;
	}
	return true;
}

static Case *derive_reverse(Deriving *d, const Case *of, Kind kind) {
	Ask q = {.kind = kind, .f = of->fn};
	if (!choose_active(d, of->fn, q.active)) return NULL;
	if (kind != VJP_PARTS && !lengths_are_known(d->c, of->fn)) q.kind = kind = VJP_PARTS;
	if (!ask_for(d, &q, of)) return NULL;
	Case *k = add_case(d, q.out,
	                   kind == VJP_PARTS    ? "primal"
	                   : kind == VJP_INLINE ? "vjp in line"
	                                        : "vjp",
	                   of);
	if (!k) {
		if (q.second) fn_unref(q.second);
		return NULL;
	}
	for (int set = 0; set < SETS; set++) {
		if (!of->args[set] || (kind != VJP_PARTS && of->want[set].status != ST_OK)) continue;
		Value *args = new_args(k, set);
		for (uint32_t i = 0; i < of->nargs; i++) args[i] = value_ref(of->args[set][i]);
		if (kind != VJP_PARTS) cotangents(d, &q, &of->want[set], args, of->nargs);
	}
	if (kind != VJP_PARTS) return k;
	run_cases(d, k);
	Case *back = add_case(d, q.second, "transpose", of);
	if (!back) return k;
	const uint32_t nresults = fn_nresults(of->fn);
	for (int set = 0; set < SETS; set++) {
		if (!k->args[set] || k->want[set].status != ST_OK) continue;
		Value *args = new_args(back, set);
		for (uint32_t i = 0; i < q.nresiduals; i++)
			args[i] = value_ref(k->want[set].results[nresults + i]);
		cotangents(d, &q, &k->want[set], args, q.nresiduals);
	}
	return back;
}

static double cost_of(Deriving *d, const Case *k) {
	double most = 0;
	int64_t lengths[SYMS_MOST];
	for (int set = 0; set < SETS; set++) {
		for (uint32_t s = 0; s < SYMS_MOST; s++)
			lengths[s] = d->program->lengths[set][s] < 0 ? 20 : d->program->lengths[set][s];
		double cost =
			fn_cost(k->fn, lengths, k->fn->syms.n < SYMS_MOST ? k->fn->syms.n : SYMS_MOST);
		if (cost > most) most = cost;
	}
	return most;
}

static Case *derive_batch(Deriving *d, const Case *of) {
	Ask q = {.kind = BATCH, .f = of->fn};
	uint32_t n = of->nargs, flagged = 0;
	if (n > 256 || !n) return NULL;
	for (uint32_t k = 0; k < n; k++) {
		Type t = *ref_ty(of->fn, fn_param(of->fn, k));
		q.active[k] = t.kind == TY_TENSOR && t.rank < 6 && chance(d, 60);
		flagged += q.active[k];
	}
	if (!flagged) return NULL;
	if (!ask_for(d, &q, of)) return NULL;
	Case *k = add_case(d, q.out, "batch", of);
	for (int set = 0; set < SETS && k; set++) {
		if (!of->args[set]) continue;
		Value *args = new_args(k, set);
		int64_t lanes = cost_of(d, of) < 30000 ? (set ? 30 : 17) + random_below(&d->rng, 8)
		                                       : 2 + random_below(&d->rng, 3);
		for (uint32_t i = 0; i < n; i++) {
			Value v = of->args[set][i];
			if (!q.active[i]) {
				args[i] = value_ref(v);
				continue;
			}
			int64_t shape[MAX_RANK + 1] = {lanes};
			uint32_t rank = shape_of(v, shape + 1);
			args[i] = random_value(d->c, &d->rng, value_dtype(v), rank + 1, shape, false);
		}
	}
	return k;
}

static Case *derive_one(Deriving *d, const Case *of, int64_t which) {
	Case *k;
	if (of->fn->insts.n > LARGE) return NULL;
	if (which < 28) k = derive_forward(d, of, JVP);
	else if (which < 64)
		k = derive_reverse(d, of, which < 40 ? VJP_CALLS : which < 52 ? VJP_INLINE : VJP_PARTS);
	else if (which < 76) k = derive_forward(d, of, JET);
	else k = derive_batch(d, of);
	if (k) run_cases(d, k);
	return k;
}

void derive_cases(Ctx *c, const Sample *p, uint64_t seed, Cases *out) {
	Deriving d = {.c = c, .program = p, .cases = out, .rng = random_mix(seed, 99)};
	*out = (Cases){.n = 0};
	fn_ref(p->fn);
	Case *root = add_case(&d, p->fn, "program", NULL);
	if (!first_args(&d, root)) {
		snprintf(out->trouble, sizeof out->trouble, "a parameter has a length that is not known");
		for (int set = 0; set < SETS; set++) {
			free(root->args[set]);
			root->args[set] = NULL;
		}
		return;
	}
	run_cases(&d, root);
	if (out->trouble[0] || p->prints) return;
	d.rng = random_mix(seed, 98);
	uint32_t wanted = (uint32_t)random_below(&d.rng, 4);
	for (uint32_t i = 0; i < wanted; i++) {
		/* the same draws, whatever the shrinker left of earlier cases */
		d.rng = random_mix(seed, 100 + i);
		Case *k = derive_one(&d, root, random_below(&d.rng, 100));
		if (k && chance(&d, 30)) derive_one(&d, k, random_below(&d.rng, 100));
	}
}
