/* orders.c - implementation of orders.h.
 *
 * Needs: orders.h, autodiff/autodiff.h.
 *
 * Guarantees: a mode is skipped and not counted when it has no rule, fails at a
 * pole of the derivative, or its result depends on a rounding.
 */
#include "tests/random/orders.h"
#include "tests/random/complex_step.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MANY = 256 };

const char *const mode_names[MODE_COUNT] = {
	"jet", "vjp", "complex step", "second jet", "vjp of jvp", "jvp of vjp", "complex step of jvp"};

typedef struct Asking {
	Ctx *c;
	Fn *f, *jvp, *jvp2;
	uint64_t rng;
	uint32_t n, nactive, nresults;
	bool active[MANY], first[MANY]; /* parameters of f; results with a tangent */
	/* the same parameters among those of the jvp; its results with a tangent
	 * with respect to them */
	bool x_of_jvp[MANY], second[2 * MANY];
	Value *args, *t, *u; /* of f; directions, one for each active parameter */
	Outcome want1, want2;
	Orders *tally;
	bool compared[MODE_COUNT];
	char *trouble;
	size_t cap;

	Fn *out; /* of the current transform; borrowed, except a vjp */
	const Linearised *linear;
	bool flags[3 * MANY];
} Asking;

static void complain(Asking *a, Mode mode, const char *why) {
	if (!a->trouble[0])
		snprintf(a->trouble, a->cap, "law of orders, %s: %s", mode_names[mode], why);
}

/* ---- values -------------------------------------------------------------- */

static Tensor *numbers(Ctx *c, Value v) {
	Tensor *t = value_to_tensor(c, v), *flat = t ? tensor_contiguous(c, t) : NULL;
	if (!flat) abort();
	tensor_unref(t);
	return flat;
}

/* Returns x + by * y; both have one shape. */
static Value combined(Ctx *c, Value x, Value y, double by) {
	Tensor *a = numbers(c, x), *b = numbers(c, y), *out = tensor_new(c, DT_F64, a->rank, a->shape);
	if (!out || a->count != b->count) abort();
	for (int64_t i = 0; i < a->count; i++) {
		double p, q;
		memcpy(&p, a->data + (size_t)i * sizeof p, sizeof p);
		memcpy(&q, b->data + (size_t)i * sizeof q, sizeof q);
		p += by * q;
		memcpy(out->data + (size_t)i * sizeof p, &p, sizeof p);
	}
	tensor_unref(a);
	tensor_unref(b);
	if (out->rank) return value_tensor(out);
	Value v = value_scalar_from_bytes(DT_F64, out->data);
	tensor_unref(out);
	return v;
}

/* Returns x + i h t. */
static Value stepped(Ctx *c, Value x, Value t) {
	Tensor *a = numbers(c, x), *b = numbers(c, t), *out = tensor_new(c, DT_C128, a->rank, a->shape);
	if (!out || a->count != b->count) abort();
	for (int64_t i = 0; i < a->count; i++) {
		double z[2];
		memcpy(&z[0], a->data + (size_t)i * sizeof *z, sizeof *z);
		memcpy(&z[1], b->data + (size_t)i * sizeof *z, sizeof *z);
		z[1] *= COMPLEX_STEP;
		memcpy(out->data + (size_t)i * sizeof z, z, sizeof z);
	}
	tensor_unref(a);
	tensor_unref(b);
	if (out->rank) return value_tensor(out);
	Value v = value_scalar_from_bytes(DT_C128, out->data);
	tensor_unref(out);
	return v;
}

/* Returns Im z / h. */
static Value step_taken(Ctx *c, Value z) {
	Tensor *a = numbers(c, z), *out = tensor_new(c, DT_F64, a->rank, a->shape);
	if (!out) abort();
	for (int64_t i = 0; i < a->count; i++) {
		double parts[2];
		memcpy(parts, a->data + (size_t)i * sizeof parts, sizeof parts);
		parts[1] /= COMPLEX_STEP;
		memcpy(out->data + (size_t)i * sizeof *parts, &parts[1], sizeof *parts);
	}
	tensor_unref(a);
	if (out->rank) return value_tensor(out);
	Value v = value_scalar_from_bytes(DT_F64, out->data);
	tensor_unref(out);
	return v;
}

static double largest(Ctx *c, Value v) { /* NaN when an element is not finite */
	Tensor *t = numbers(c, v);
	double most = 0;
	for (int64_t i = 0; i < t->count; i++) {
		double x;
		memcpy(&x, t->data + (size_t)i * sizeof x, sizeof x);
		most = isfinite(x) ? fmax(most, fabs(x)) : NAN;
		if (isnan(most)) break;
	}
	tensor_unref(t);
	return most;
}

static Value like(Asking *a, Value v) {
	int64_t shape[MAX_RANK];
	uint32_t rank = v.kind == V_TENSOR ? v.tensor->rank : 0;
	for (uint32_t k = 0; k < rank; k++) shape[k] = v.tensor->shape[k];
	return random_value(a->c, &a->rng, value_dtype(v), rank, shape, false);
}

/* ---- positions of tangents ----------------------------------------------- */

/* Returns the index of the tangent of result k among the results of the jvp;
 * -1: it is zero. */
static int32_t tangent_at(uint32_t nresults, const bool *flags, uint32_t k) {
	int32_t at = (int32_t)nresults;
	for (uint32_t i = 0; i < k; i++) at += flags[i];
	return flags[k] ? at : -1;
}

/* Returns the index of the second derivative of result k of f among the results
 * of the jvp of the jvp. */
static int32_t second_at(const Asking *a, uint32_t k) {
	int32_t first = tangent_at(a->nresults, a->first, k);
	return first < 0 ? -1 : tangent_at(fn_nresults(a->jvp), a->second, (uint32_t)first);
}

/* Compares values with the results of `f` at the indices `at` (-1: zero);
 * V_UNSET means that a value is missing. terms: NULL, or by value the sum of
 * the terms whose difference it is. */
static void judge(Asking *a, Mode mode, Fn *f, const Value *args, const Outcome *want,
                  const int32_t *at, uint32_t n, const Value *got, const Value *terms) {
	Outcome other = {.n = want->n, .code = -1, .results = room(want->n, sizeof(Value))};
	other.terms = room(want->n, sizeof(Value));
	bool finite = true;
	for (uint32_t k = 0; k < want->n; k++) {
		other.results[k] = value_ref(want->results[k]);
		other.terms[k].kind = V_UNSET;
	}
	for (uint32_t k = 0; k < n && finite; k++) {
		if (at[k] < 0 && got[k].kind == V_UNSET) continue;
		/* this mode knows that it is zero */
		if (got[k].kind == V_UNSET) finite = largest(a->c, want->results[at[k]]) <= 1e-11;
		else if (at[k] < 0) finite = largest(a->c, got[k]) <= 1e-11;
		else
			finite =
				isfinite(largest(a->c, got[k])) && isfinite(largest(a->c, want->results[at[k]]));
		if (at[k] < 0 || got[k].kind == V_UNSET) {
			if (!finite) complain(a, mode, "one is zero by construction, the other is not zero");
			continue;
		}
		value_unref(other.results[at[k]]);
		other.results[at[k]] = value_ref(got[k]);
		if (terms) other.terms[at[k]] = terms[k];
	}
	if (finite) {
		Verdict v = compare_outcomes(a->c, f, args, want, &other, false, COMPARE_BATCHES);
		char why[600];
		snprintf(why, sizeof why, "result %u of the jvp: %s", v.result, v.why);
		if (!v.same) complain(a, mode, why);
		a->compared[mode] = v.same && !v.lenient;
	}
	free(other.terms);
	outcome_free(&other);
}

/* ---- jets ---------------------------------------------------------------- */

static void ask_jet(Ctx *c, void *arg) {
	Asking *a = arg;
	a->out = ad_jet(c, a->f, 2, true, a->active, a->flags);
}

static void check_jets(Asking *a, const Value *args1, const Value *args2) {
	if (!ask(a->c, a, ask_jet)) return;
	Fn *jet = a->out;
	Value *args = room(a->n + a->nactive, sizeof *args);
	Outcome way[2];
	bool good = true;
	for (int i = 0; i < 2; i++) {
		for (uint32_t k = 0; k < a->n; k++) args[k] = a->args[k];
		for (uint32_t k = 0; k < a->nactive; k++)
			args[a->n + k] = combined(a->c, a->t[k], a->u[k], i ? -1 : 1);
		way[i] = outcome_of(a->c, run_reference, jet, args);
		for (uint32_t k = 0; k < a->nactive; k++) value_unref(args[a->n + k]);
		good = good && way[i].status == ST_OK;
		if (way[i].status != ST_OK && way[i].code != E_SINGULAR)
			complain(a, FIRST_JET, way[i].message);
	}
	Value *first = room(a->nresults, sizeof *first), *second = room(a->nresults, sizeof *second),
		  *terms = room(a->nresults, sizeof *terms);
	int32_t *at1 = room(a->nresults, sizeof *at1), *at2 = room(a->nresults, sizeof *at2),
			from = (int32_t)a->nresults;
	for (uint32_t k = 0; k < a->nresults && good; k++) {
		at1[k] = tangent_at(a->nresults, a->first, k);
		at2[k] = second_at(a, k);
		first[k].kind = second[k].kind = terms[k].kind = V_UNSET;
		if (!a->flags[k]) continue;
		const Value *plus = way[0].results + from, *minus = way[1].results + from;
		Value twice = combined(a->c, plus[0], minus[0], 1); /* f'(t + u) + f'(t - u) */
		first[k] = combined(a->c, twice, twice, -0.5);
		value_unref(twice);
		Value difference = combined(a->c, plus[1], minus[1], -1);
		second[k] = combined(a->c, difference, difference, -0.5);
		terms[k] = combined(a->c, plus[1], minus[1], 1);
		value_unref(difference);
		from += 2;
	}
	if (good) judge(a, FIRST_JET, a->jvp, args1, &a->want1, at1, a->nresults, first, NULL);
	if (good && a->jvp2)
		judge(a, SECOND_JET, a->jvp2, args2, &a->want2, at2, a->nresults, second, terms);
	drop(a->nresults, first);
	drop(a->nresults, second);
	drop(a->nresults, terms);
	free(at1);
	free(at2);
	for (int i = 0; i < 2; i++) outcome_free(&way[i]);
	free(args);
}

/* ---- complex steps ------------------------------------------------------- */

/* Evaluates f at args + i h (directions of the active parameters) and compares
 * with the results of `known` at the indices `at`. */
static void check_step(Asking *a, Mode mode, Fn *f, const bool *active, const Value *args,
                       const Value *directions, Fn *known, const Value *known_args,
                       const Outcome *want, const int32_t *at) {
	bool flags[2 * MANY];
	Op why;
	Fn *g = at_complex_arguments(a->c, f, active, flags, &why);
	if (!g && !why)
		complain(a, mode,
		         diag_total(a->c) ? diag_at(a->c, 0)->message : "its complex form cannot be made");
	diag_clear(a->c);
	if (!g) {
		a->tally->no_form[why]++;
		return;
	}
	if (!fn_verify(g, "complex form")) {
		complain(a, mode, "its complex form does not verify");
		diag_clear(a->c);
	}
	const uint32_t n = fn_nparams(f), m = fn_nresults(f);
	uint32_t next = 0;
	Value *given = room(n, sizeof *given), *got = room(m, sizeof *got);
	for (uint32_t k = 0; k < n; k++)
		given[k] = active[k] ? stepped(a->c, args[k], directions[next++]) : value_ref(args[k]);
	Outcome o = outcome_of(a->c, run_reference, g, given);
	if (o.status == ST_OK) {
		for (uint32_t k = 0; k < m; k++)
			got[k] = flags[k] ? step_taken(a->c, o.results[k]) : (Value){.kind = V_UNSET};
		bool finite = true; /* not finite: a power of a negative number */
		for (uint32_t k = 0; k < m; k++)
			finite = finite && (!flags[k] || isfinite(largest(a->c, got[k])));
		if (finite) judge(a, mode, known, known_args, want, at, m, got, NULL);
	} else if (o.code != E_SINGULAR) {
		complain(a, mode, o.message);
	}
	outcome_free(&o);
	drop(n, given);
	drop(m, got);
	fn_unref(g);
}

static void check_steps(Asking *a, const Value *args1, const Value *args2) {
	const uint32_t m = fn_nresults(a->jvp);
	int32_t *at = room(m, sizeof *at);
	for (uint32_t k = 0; k < a->nresults; k++) at[k] = tangent_at(a->nresults, a->first, k);
	check_step(a, FIRST_STEP, a->f, a->active, a->args, a->t, a->jvp, args1, &a->want1, at);
	if (a->jvp2 && a->compared[FIRST_STEP]) {
		for (uint32_t k = 0; k < m; k++) at[k] = tangent_at(m, a->second, k);
		check_step(a, SECOND_STEP, a->jvp, a->x_of_jvp, args1, a->u, a->jvp2, args2, &a->want2, at);
	}
	free(at);
}

/* ---- reverse mode -------------------------------------------------------- */

static void ask_vjp(Ctx *c, void *arg) {
	Asking *a = arg;
	a->linear = ad_linearise(c, a->f, a->active);
	a->out = vjp_function(c, a->f, a->linear,
	                      ad_transpose(c, a->linear->linear, a->linear->nresiduals), false);
}

static void ask_vjp_of_jvp(Ctx *c, void *arg) {
	Asking *a = arg;
	a->linear = ad_linearise(c, a->jvp, a->x_of_jvp);
	a->out = vjp_function(c, a->jvp, a->linear,
	                      ad_transpose(c, a->linear->linear, a->linear->nresiduals), false);
}

typedef struct Side { /* one side of a pairing */
	Fn *f;
	const Value *args;
	uint32_t n;
	const int32_t *at;
	const Value *with;
} Side;

static void check_pairing(Asking *a, Mode mode, const Side *l, const Side *r) {
	Ctx *c = a->c;
	double size = 0, left = pairing_side(c, l->f, l->args, l->n, l->at, l->with, &size),
		   right = pairing_side(c, r->f, r->args, r->n, r->at, r->with, &size);
	if (!isfinite(left) || !isfinite(right)) return;
	double allowed = 1e-11 * fmax(size, 1e-3);
	if (!(fabs(left - right) <= allowed)) {
		allowed += 16 * pairing_moves(c, l->f, l->args, l->n, l->at, l->with, left);
		allowed += 16 * pairing_moves(c, r->f, r->args, r->n, r->at, r->with, right);
		char why[200];
		snprintf(why, sizeof why,
		         "the pairing is %.17g forwards and %.17g backwards (sizes %.3g, allowed %.3g)",
		         left, right, size, allowed);
		if (!(fabs(left - right) <= allowed)) complain(a, mode, why);
	}
	a->compared[mode] = isfinite(allowed);
}

static void ask_jvp_of_vjp(Ctx *c, void *arg) {
	Asking *a = arg;
	bool x[2 * MANY] = {false};
	for (uint32_t k = 0; k < a->n; k++) x[k] = a->active[k];
	a->out = ad_jvp(c, a->out, x, a->flags);
}

static void check_vjps(Asking *a, const Value *args1, const Value *args2) {
	if (!lengths_are_known(a->c, a->f) || !ask(a->c, a, ask_vjp)) return;
	Fn *vjp = a->out;
	const uint32_t n = a->n, m = a->nresults;
	uint32_t nw = 0;
	Value *w = room(m, sizeof *w), *args = room(n + m + n, sizeof *args);
	int32_t *at1 = room(m, sizeof *at1), *at2 = room(m, sizeof *at2),
			*gradients = room(n, sizeof *gradients);
	for (uint32_t k = 0; k < m; k++) {
		if (!a->linear->result_active[k]) continue;
		at1[nw] = tangent_at(m, a->first, k);
		at2[nw] = second_at(a, k);
		w[nw++] = like(a, a->want1.results[k]);
	}
	for (uint32_t k = 0; k < n; k++) args[k] = a->args[k];
	for (uint32_t k = 0; k < nw; k++) args[n + k] = w[k];
	for (uint32_t k = 0; k < a->nactive; k++) gradients[k] = (int32_t)(m + k);
	Side forward = {a->jvp, args1, nw, at1, w}, back = {vjp, args, a->nactive, gradients, a->t};
	check_pairing(a, FIRST_VJP, &forward, &back);
	if (a->jvp2 && ask(a->c, a, ask_jvp_of_vjp)) {
		int32_t *slopes = room(n, sizeof *slopes);
		for (uint32_t k = 0; k < a->nactive; k++)
			slopes[k] = tangent_at(fn_nresults(vjp), a->flags, m + k);
		for (uint32_t k = 0; k < a->nactive; k++) args[n + nw + k] = a->u[k];
		forward = (Side){a->jvp2, args2, nw, at2, w};
		back = (Side){a->out, args, a->nactive, slopes, a->t};
		check_pairing(a, SECOND_FORWARD_REVERSE, &forward, &back);
		free(slopes);
	}
	fn_unref(vjp);
	drop(nw, w);
	free(args);
	free(at1);
	free(at2);
	free(gradients);
}

static void check_vjp_of_jvp(Asking *a, const Value *args1, const Value *args2) {
	if (!lengths_are_known(a->c, a->jvp) || !ask(a->c, a, ask_vjp_of_jvp)) return;
	Fn *vjp = a->out;
	const uint32_t n = fn_nparams(a->jvp), m = fn_nresults(a->jvp);
	uint32_t nw = 0;
	Value *w = room(m, sizeof *w), *args = room(n + m, sizeof *args);
	int32_t *at = room(m, sizeof *at), *gradients = room(a->n, sizeof *gradients);
	for (uint32_t k = 0; k < m; k++) {
		if (!a->linear->result_active[k]) continue;
		at[nw] = tangent_at(m, a->second, k);
		w[nw++] = like(a, a->want1.results[k]);
	}
	for (uint32_t k = 0; k < n; k++) args[k] = args1[k];
	for (uint32_t k = 0; k < nw; k++) args[n + k] = w[k];
	for (uint32_t k = 0; k < a->nactive; k++) gradients[k] = (int32_t)(m + k);
	Side forward = {a->jvp2, args2, nw, at, w}, back = {vjp, args, a->nactive, gradients, a->u};
	check_pairing(a, SECOND_REVERSE_FORWARD, &forward, &back);
	fn_unref(vjp);
	drop(nw, w);
	free(args);
	free(at);
	free(gradients);
}

/* ---- one program --------------------------------------------------------- */

static void ask_jvp(Ctx *c, void *arg) {
	Asking *a = arg;
	a->jvp = ad_jvp(c, a->f, a->active, a->first);
}

static void ask_jvp_of_jvp(Ctx *c, void *arg) {
	Asking *a = arg;
	a->jvp2 = ad_jvp(c, a->jvp, a->x_of_jvp, a->second);
}

/* Selects real arguments only, since a complex step needs real ones. */
static bool choose_active(Asking *a) {
	for (uint32_t k = 0; k < a->n; k++) {
		const Type *t = ref_ty(a->f, fn_param(a->f, k));
		a->active[k] = a->x_of_jvp[k] =
			t->kind == TY_TENSOR && t->dtype == DT_F64 && random_below(&a->rng, 100) < 75;
		a->nactive += a->active[k];
	}
	return a->nactive > 0;
}

static void compare_orders(Asking *a) {
	const uint32_t n = a->n;
	Value *args = room(n + 3 * a->nactive, sizeof *args);
	for (uint32_t k = 0, at = 0; k < n; k++) {
		args[k] = a->args[k];
		if (!a->active[k]) continue;
		a->t[at] = like(a, a->args[k]);
		a->u[at++] = like(a, a->args[k]);
	}
	for (uint32_t k = 0; k < a->nactive; k++) {
		args[n + k] = a->t[k];
		args[n + a->nactive + k] = a->u[k];
	}
	a->want1 = outcome_of(a->c, run_reference, a->jvp, args);
	if (a->want1.status == ST_OK && ask(a->c, a, ask_jvp_of_jvp)) {
		a->want2 = outcome_of(a->c, run_reference, a->jvp2, args);
		if (a->want2.status != ST_OK) {
			if (a->want2.code != E_SINGULAR) complain(a, SECOND_JET, a->want2.message);
			a->jvp2 = NULL;
		}
	}
	if (a->want1.status == ST_OK) {
		check_jets(a, args, args);
		check_steps(a, args, args);
		check_vjps(a, args, args);
		if (a->jvp2) check_vjp_of_jvp(a, args, args);
	} else if (a->want1.code != E_SINGULAR) {
		complain(a, FIRST_JET, a->want1.message);
	}
	free(args);
}

static void count(Asking *a) {
	bool all = true, linear = true;
	for (int k = 0; k < MODE_COUNT; k++) {
		a->tally->compared[k] += a->compared[k];
		all = all && a->compared[k];
	}
	for (uint32_t k = 0; k < a->nresults; k++) linear = linear && second_at(a, k) < 0;
	a->tally->all += all;
	a->tally->linear += all && linear;
}

/* Complex results and those of other precisions have derivatives, but this file
 * computes in doubles. */
static bool in_doubles(const Asking *a) {
	for (uint32_t k = 0; k < a->nresults; k++)
		if (a->first[k] && ref_ty(a->f, fn_result(a->f, k))->dtype != DT_F64) return false;
	return true;
}

void check_orders(Ctx *c, uint64_t seed, const Cases *cs, Orders *tally, char *trouble,
                  size_t cap) {
	const Case *base = &cs->at[0];
	trouble[0] = 0;
	if (!cs->n || !base->args[0] || base->want[0].status != ST_OK || base->nargs > MANY / 3 ||
	    base->want[0].n > MANY / 3)
		return;
	if (holds_f32(base->fn)) return;
	Asking *a = room(1, sizeof *a);
	*a = (Asking){.c = c,
	              .f = base->fn,
	              .rng = random_mix(seed, 4444),
	              .n = base->nargs,
	              .nresults = base->want[0].n,
	              .args = base->args[0]};
	a->tally = tally;
	a->trouble = trouble;
	a->cap = cap;
	if (choose_active(a) && ask(a->c, a, ask_jvp) && fn_nresults(a->jvp) > a->nresults &&
	    in_doubles(a)) {
		tally->asked++;
		a->t = room(a->nactive, sizeof *a->t);
		a->u = room(a->nactive, sizeof *a->u);
		compare_orders(a);
		if (a->want2.status == ST_OK && a->jvp2) count(a);
		outcome_free(&a->want1);
		outcome_free(&a->want2);
		drop(a->nactive, a->t);
		drop(a->nactive, a->u);
	}
	free(a);
}
