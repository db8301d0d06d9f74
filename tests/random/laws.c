/* laws.c - implementation of laws.h: batching and derivatives.
 *
 * Needs: laws.h, autodiff/autodiff.h.
 *
 * Guarantees: a transform without a rule for some operation is skipped.
 */
#include "tests/random/laws.h"
#include "autodiff/autodiff.h"
#include "autodiff/optimise/sum_pushdown.h"
#include "autodiff/sparse/pattern.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MANY = 256 };

typedef struct Law {
	Ctx *c;
	const Case *base;
	uint64_t rng;
	char *trouble;
	size_t cap;
	bool active[MANY], flags[MANY], other_flags[MANY];
	Fn *out; /* borrowed from the base */
	const Linearised *linear;
	int64_t snapshots; /* checkpoints of loops in the vjp; 0: tapes */
	Fn *sums, *moved;  /* one reference each */
	uint32_t ncaptured;
} Law;

static void complain(Law *l, const char *law, const char *why) {
	if (!l->trouble[0]) snprintf(l->trouble, l->cap, "law of %s: %s", law, why);
}

static Value like(Law *l, Value v) {
	int64_t shape[MAX_RANK];
	uint32_t rank = v.kind == V_TENSOR ? v.tensor->rank : 0;
	for (uint32_t k = 0; k < rank; k++) shape[k] = v.tensor->shape[k];
	return random_value(l->c, &l->rng, value_dtype(v), rank, shape, false);
}

static void ask_batch(Ctx *c, void *arg) {
	Law *l = arg;
	l->out = ad_batch(c, l->base->fn, l->active);
}

static void ask_jvp(Ctx *c, void *arg) {
	Law *l = arg;
	l->out = ad_jvp(c, l->base->fn, l->active, l->flags);
}

static void ask_jet(Ctx *c, void *arg) {
	Law *l = arg;
	l->out = ad_jet(c, l->base->fn, 1, false, l->active, l->other_flags);
}

static void ask_transpose(Ctx *c, void *arg) {
	Law *l = arg;
	Fn *f = l->snapshots ? ad_checkpoint(c, l->base->fn, l->snapshots, 0) : l->base->fn;
	l->linear = ad_linearise(c, f, l->active);
	l->out = ad_transpose(c, l->linear->linear, l->linear->nresiduals);
}

/* ---- batches ------------------------------------------------------------- */

static Value lane_of(Ctx *c, Value v, int64_t lane) {
	Tensor *x = v.tensor, *view = tensor_view(c, x, x->rank - 1u, x->shape + 1, x->stride + 1,
	                                          lane * x->stride[0]);
	if (!view) abort();
	return value_from_tensor(view);
}

/* Each batch element draws its own random bits, so there is no single program
 * to compare it with. */
static bool draws_random(const Fn *f) {
	Text text;
	text_init(&text, f->ctx);
	fn_print(&text, f); /* prints callees, too */
	text_add(&text, "", 1);
	bool found = text.failed || strstr(text.at, " random_bits ");
	text_free(&text);
	return found;
}

static void check_batch(Law *l) {
	if (draws_random(l->base->fn)) return;
	const Case *base = l->base;
	const int64_t lanes = 3;
	uint32_t n = base->nargs, flagged = 0;
	for (uint32_t k = 0; k < n; k++) flagged += l->active[k] = random_below(&l->rng, 100) < 60;
	if (!flagged || !ask(l->c, l, ask_batch)) return;
	Fn *batch = l->out;
	Value *args = room(n, sizeof *args), *of_lane = room(n, sizeof *of_lane);
	for (uint32_t k = 0; k < n; k++) {
		Value v = base->args[0][k];
		if (!l->active[k]) {
			args[k] = value_ref(v);
			continue;
		}
		int64_t shape[MAX_RANK + 1] = {lanes};
		uint32_t rank = v.kind == V_TENSOR ? v.tensor->rank : 0;
		for (uint32_t i = 0; i < rank; i++) shape[i + 1] = v.tensor->shape[i];
		args[k] = random_value(l->c, &l->rng, value_dtype(v), rank + 1, shape, false);
	}
	Outcome whole = outcome_of(l->c, run_reference, batch, args);
	Outcome lane[3] = {{.n = 0}, {.n = 0}, {.n = 0}};
	bool all_good = true;
	for (int64_t i = 0; i < lanes; i++) {
		for (uint32_t k = 0; k < n; k++)
			of_lane[k] = l->active[k] ? lane_of(l->c, args[k], i) : value_ref(args[k]);
		lane[i] = outcome_of(l->c, run_reference, base->fn, of_lane);
		all_good = all_good && lane[i].status == ST_OK;
		for (uint32_t k = 0; k < n; k++) value_unref(of_lane[k]);
	}
	if (all_good && whole.status != ST_OK) complain(l, "batches", whole.message);
	for (int64_t i = 0; i < lanes && all_good && whole.status == ST_OK; i++) {
		Outcome part = {.n = lane[i].n, .code = -1, .results = room(lane[i].n, sizeof(Value))};
		for (uint32_t k = 0; k < n; k++)
			of_lane[k] = l->active[k] ? lane_of(l->c, args[k], i) : value_ref(args[k]);
		for (uint32_t k = 0; k < part.n; k++) {
			Value v = whole.results[k];
			uint32_t rank = value_is_array(v) ? value_rank(v) : 0;
			part.results[k] = rank && rank == value_rank(lane[i].results[k]) + 1
			                      ? lane_of(l->c, v, i)
			                      : value_ref(v);
		}
		Verdict v =
			compare_outcomes(l->c, base->fn, of_lane, &lane[i], &part, false, COMPARE_BATCHES);
		char why[600];
		snprintf(why, sizeof why, "lane %lld, result %u: %s", (long long)i, v.result, v.why);
		if (!v.same) complain(l, "batches", why);
		outcome_free(&part);
		for (uint32_t k = 0; k < n; k++) value_unref(of_lane[k]);
	}
	for (int64_t i = 0; i < lanes; i++) outcome_free(&lane[i]);
	outcome_free(&whole);
	drop(n, args);
	free(of_lane);
}

/* ---- derivatives --------------------------------------------------------- */

/* Computes Re sum conj(a) b, and the sum of magnitudes. Returns false when an
 * element is not finite. */
static bool inner(Ctx *c, Value a, Value b, double *sum, double *size) {
	Tensor *s = value_to_tensor(c, a), *t = value_to_tensor(c, b);
	if (!s || !t) abort();
	Tensor *x = tensor_contiguous(c, s), *y = tensor_contiguous(c, t);
	if (!x || !y) abort();
	bool good = x->count == y->count && x->dtype == y->dtype;
	for (int64_t i = 0; i < x->count && good; i++) {
		double _Complex p, q;
		size_t at = (size_t)i * dtype_size((Dtype)x->dtype);
		scalar_convert((Dtype)x->dtype, x->data + at, DT_C128, &p);
		scalar_convert((Dtype)x->dtype, y->data + at, DT_C128, &q);
		double term = creal(p) * creal(q) + cimag(p) * cimag(q);
		*sum += term;
		*size += fabs(term);
		good = isfinite(term);
	}
	tensor_unref(x);
	tensor_unref(y);
	tensor_unref(s);
	tensor_unref(t);
	return good;
}

/* Returns the arguments, then tangents of the active ones. */
static Value *with_tangents(Law *l, uint32_t *n) {
	const Case *base = l->base;
	Value *args = room(2 * base->nargs, sizeof *args);
	*n = base->nargs;
	for (uint32_t k = 0; k < base->nargs; k++) args[k] = value_ref(base->args[0][k]);
	for (uint32_t k = 0; k < base->nargs; k++)
		if (l->active[k]) args[(*n)++] = like(l, base->args[0][k]);
	return args;
}

/* Returns the index of the tangent of result k among the results, or -1. */
static int32_t tangent_at(const Law *l, const bool *flags, uint32_t k) {
	int32_t at = (int32_t)fn_nresults(l->base->fn);
	for (uint32_t i = 0; i < k; i++) at += flags[i];
	return flags[k] ? at : -1;
}

static void check_jet(Law *l, Fn *jvp, const Value *args, const Outcome *want) {
	if (!ask(l->c, l, ask_jet)) return;
	Fn *jet = l->out;
	Outcome got = outcome_of(l->c, run_reference, jet, args);
	if (got.status != ST_OK) {
		complain(l, "jets", got.message);
	} else {
		uint32_t n = fn_nresults(l->base->fn), total = want->n;
		Outcome sorted = {.n = total, .code = -1, .results = room(total, sizeof(Value))};
		bool whole = true;
		for (uint32_t k = 0; k < n; k++) {
			int32_t to = tangent_at(l, l->flags, k), from = tangent_at(l, l->other_flags, k);
			sorted.results[k] = value_ref(got.results[k]);
			if (to >= 0 && from >= 0) sorted.results[to] = value_ref(got.results[from]);
			double sum = 0, size = 0;
			whole = whole && (to < 0 || from >= 0); /* one side knows more zeros */
			/* avoids NaN times a zero that one side knows */
			whole =
				whole && (to < 0 || inner(l->c, want->results[to], want->results[to], &sum, &size));
		}
		Verdict v = {.same = true};
		if (whole) v = compare_outcomes(l->c, jvp, args, want, &sorted, false, COMPARE_BATCHES);
		char why[600];
		snprintf(why, sizeof why, "result %u of the jvp: %s", v.result, v.why);
		if (!v.same) complain(l, "jets", why);
		outcome_free(&sorted);
	}
	outcome_free(&got);
}

double pairing_side(Ctx *c, Fn *f, const Value *args, uint32_t n, const int32_t *results,
                    const Value *with, double *size) {
	Outcome o = outcome_of(c, run_reference, f, args);
	double sum = 0;
	bool good = o.status == ST_OK;
	for (uint32_t k = 0; k < n && good; k++)
		if (results[k] >= 0) good = inner(c, o.results[results[k]], with[k], &sum, size);
	outcome_free(&o);
	return good ? sum : NAN;
}

double pairing_moves(Ctx *c, Fn *f, const Value *args, uint32_t n, const int32_t *results,
                     const Value *with, double sum) {
	double most = 0;
	for (uint64_t k = 0; k < 6; k++) {
		Fn *g = with_other_roundings(c, f, 31 * k + 7, 1e-13, 1e-6);
		double size = 0, other = g ? pairing_side(c, g, args, n, results, with, &size) : NAN;
		if (g) fn_unref(g);
		if (!(fabs(other - sum) <= most)) most = isnan(other) ? INFINITY : fabs(other - sum);
	}
	return most;
}

/* Returns false when some operation has no rule. */
static bool check_pairing(Law *l, Fn *jvp, const Value *args) {
	const Case *base = l->base;
	const char *law = l->snapshots ? "vjps with snapshots" : "vjps";
	if (!ask(l->c, l, ask_transpose)) return false;
	Fn *back = l->out;
	const Linearised *lin = l->linear;
	Outcome primal = outcome_of(l->c, run_reference, lin->primal, args);
	if (primal.status != ST_OK) {
		complain(l, law, primal.message);
		outcome_free(&primal);
		return true;
	}
	uint32_t n = fn_nresults(base->fn), at = lin->nresiduals, ngradients = 0, nresults = 0;
	Value *given = room(at + n, sizeof *given), *cotangents = given + at,
		  *tangents = room(base->nargs, sizeof *tangents);
	int32_t *forwards = room(n, sizeof *forwards),
			*backwards = room(base->nargs, sizeof *backwards);
	for (uint32_t k = 0; k < at; k++) given[k] = value_ref(primal.results[n + k]);
	for (uint32_t k = 0; k < n; k++) {
		if (!lin->result_active[k]) continue;
		forwards[nresults] = tangent_at(l, l->flags, k); /* -1: it is zero */
		cotangents[nresults++] = like(l, primal.results[k]);
	}
	for (uint32_t k = 0; k < base->nargs; k++) {
		if (!l->active[k]) continue;
		backwards[ngradients] = (int32_t)ngradients;
		tangents[ngradients] = args[base->nargs + ngradients];
		ngradients++;
	}
	double size = 0;
	double left = pairing_side(l->c, jvp, args, nresults, forwards, cotangents, &size),
		   right = pairing_side(l->c, back, given, ngradients, backwards, tangents, &size);
	double allowed = (holds_f32(back) ? 1e-4 : 1e-11) * fmax(size, 1e-3);
	if (isfinite(left) && !(fabs(left - right) <= allowed)) {
		allowed += 16 * pairing_moves(l->c, jvp, args, nresults, forwards, cotangents, left);
		allowed += 16 * pairing_moves(l->c, back, given, ngradients, backwards, tangents, right);
		char why[200];
		snprintf(why, sizeof why,
		         "the pairing is %.17g forwards and %.17g backwards (sizes %.3g, allowed %.3g)",
		         left, right, size, allowed);
		if (!(fabs(left - right) <= allowed) && !isnan(right)) complain(l, law, why);
	}
	outcome_free(&primal);
	drop(at + nresults, given);
	free(tangents);
	free(forwards);
	free(backwards);
	return true;
}

static void check_derivatives(Law *l) {
	const Case *base = l->base;
	uint32_t n = 0;
	for (uint32_t k = 0; k < base->nargs; k++) {
		l->active[k] = type_has_tangent(l->c, ref_type(base->fn, fn_param(base->fn, k))) &&
		               random_below(&l->rng, 100) < 75;
		n += l->active[k];
	}
	if (!n || !ask(l->c, l, ask_jvp)) return;
	Fn *jvp = l->out;
	uint32_t nargs;
	Value *args = with_tangents(l, &nargs);
	Outcome tangents = outcome_of(l->c, run_reference, jvp, args);
	if (tangents.status != ST_OK) {
		/* a factorisation of a singular matrix may have a value but no
		 * derivative */
		if (tangents.code != E_SINGULAR) complain(l, "jvps", tangents.message);
	} else {
		check_jet(l, jvp, args, &tangents);
		bool ruled = check_pairing(l, jvp, args);
		l->snapshots = 1 + random_below(&l->rng, 4);
		if (check_pairing(l, jvp, args) != ruled)
			complain(l, "vjps with snapshots",
			         "they have rules, or not, where tapes are otherwise");
		l->snapshots = 0;
	}
	outcome_free(&tangents);
	drop(nargs, args);
}

/* ---- sums ---------------------------------------------------------------- */

/* Sums the second coefficients along several lines, as in a Laplacian. */
static void ask_sums(Ctx *c, void *arg) {
	Law *l = arg;
	Fn *f = l->base->fn, *jet = ad_jet(c, f, 2, true, l->active, l->flags);
	for (uint32_t k = 0; k < fn_nparams(jet); k++) l->other_flags[k] = k >= fn_nparams(f);
	bool lanes[MANY * 3] = {false};
	Fn *batch = ad_batch_partly(c, jet, l->other_flags, lanes);
	Builder *b = build_begin(c, atom(c, "sums"), 0, batch);
	Ref args[2 * MANY], results[3 * MANY];
	for (uint32_t k = 0; k < fn_nparams(batch); k++)
		args[k] = build_param(b, ref_type(batch, fn_param(batch, k)), 0);
	build_call(b, batch, fn_nparams(batch), args, results);
	uint32_t n = 0;
	for (uint32_t k = fn_nresults(f); k < fn_nresults(batch); k++)
		if (lanes[k] && dtype_is_real((Dtype)ref_ty(build_fn(b), results[k])->dtype))
			results[n++] = build_reduce(b, OP_REDUCE_SUM, results[k], 1, (int[]){0});
	l->sums = build_end(b, n, results);
}

static void ask_moved(Ctx *c, void *arg) {
	Law *l = arg;
	Fn *flat = fn_inline_calls(c, l->sums);
	Arena *scratch = arena_new(c);
	l->moved = push_sums_down(c, flat ? flat : l->sums, scratch);
	arena_free(scratch);
	if (flat) fn_unref(flat);
}

static void check_sums(Law *l) {
	const Case *base = l->base;
	uint32_t n = base->nargs, active = 0;
	if (draws_random(base->fn)) return;
	for (uint32_t k = 0; k < n; k++)
		active += l->active[k] =
			type_has_tangent(l->c, ref_type(base->fn, fn_param(base->fn, k))) &&
			random_below(&l->rng, 100) < 75;
	if (!active || !ask(l->c, l, ask_sums)) return;
	if (!ask(l->c, l, ask_moved)) complain(l, "sums", "moving them fails");
	Value *args = room(2 * (size_t)n, sizeof *args);
	for (uint32_t k = 0; k < base->nargs; k++) args[k] = value_ref(base->args[0][k]);
	for (uint32_t k = 0; k < base->nargs; k++) {
		if (!l->active[k]) continue;
		Value v = base->args[0][k];
		int64_t shape[MAX_RANK + 1] = {3};
		uint32_t rank = v.kind == V_TENSOR ? v.tensor->rank : 0;
		for (uint32_t i = 0; i < rank; i++) shape[i + 1] = v.tensor->shape[i];
		args[n++] = random_value(l->c, &l->rng, value_dtype(v), rank + 1, shape, false);
	}
	if (l->moved) {
		Outcome want = outcome_of(l->c, run_reference, l->sums, args),
				got = outcome_of(l->c, run_reference, l->moved, args);
		if (want.status == ST_OK) {
			Verdict v = compare_outcomes(l->c, l->sums, args, &want, &got, false, COMPARE_BATCHES);
			char why[600];
			snprintf(why, sizeof why, "result %u: %s", v.result, v.why);
			if (!v.same) complain(l, "sums", why);
		}
		outcome_free(&want);
		outcome_free(&got);
	}
	drop(n, args);
	if (l->moved) fn_unref(l->moved);
	fn_unref(l->sums);
}

/* ---- sparsity patterns --------------------------------------------------- */

static void ask_sparsity(Ctx *c, void *arg) {
	Law *l = arg;
	l->out = ad_sparsity(c, l->base->fn, l->active, l->ncaptured);
}

static bool holds(const IndexSets *sets, int32_t set, int64_t input) {
	SetView v = index_sets_view(sets, set);
	for (int32_t k = 0; k < v.count; k++)
		if (set_member(v, k) == input) return true;
	return false;
}

/* The pattern of every nonzero element of the tangent must contain the
 * input. */
static void check_column(Law *l, const IndexSets *sets, Value numbers, Value tangent,
                         int64_t input) {
	Tensor *s = value_to_tensor(l->c, numbers), *t = value_to_tensor(l->c, tangent);
	if (!s || !t) abort();
	Tensor *x = tensor_contiguous(l->c, s), *y = tensor_contiguous(l->c, t);
	if (!x || !y) abort();
	if (!tensor_same_shape(x, y))
		complain(l, "patterns", "the sets have another shape than the tangent");
	for (int64_t i = 0; i < x->count && i < y->count && !l->trouble[0]; i++) {
		double _Complex v;
		scalar_convert((Dtype)y->dtype, y->data + (size_t)i * dtype_size((Dtype)y->dtype), DT_C128,
		               &v);
		if (v == 0 || v != v || holds(sets, ((const int32_t *)(const void *)x->data)[i], input))
			continue;
		char why[200];
		snprintf(why, sizeof why, "element %lld depends on input %lld, and its set does not say so",
		         (long long)i, (long long)input);
		complain(l, "patterns", why);
	}
	tensor_unref(x);
	tensor_unref(y);
	tensor_unref(s);
	tensor_unref(t);
}

/* Checks some elements of one parameter. The others either all count as
 * captured, or all vary. */
static void check_patterns(Law *l) {
	const Case *base = l->base;
	const uint32_t n = base->nargs, which = n ? (uint32_t)random_below(&l->rng, n) : 0,
				   nresults = fn_nresults(base->fn);
	if (!n || draws_random(base->fn)) return;
	const Type type = *ref_ty(base->fn, fn_param(base->fn, which));
	if (type.kind != TY_TENSOR || !dtype_is_real((Dtype)type.dtype)) return;
	memset(l->active, 0, sizeof l->active);
	l->active[which] = true;
	l->ncaptured = random_below(&l->rng, 2) ? n : 0;
	if (!ask(l->c, l, ask_sparsity)) return;
	Fn *program = l->out;
	if (!ask(l->c, l, ask_jvp)) return;
	Fn *jvp = l->out;
	const Value x = base->args[0][which];
	const int64_t inputs = x.kind == V_TENSOR ? x.tensor->count : 1;
	Value *numbers = room(nresults, sizeof *numbers), *args = room(n + 1, sizeof *args);
	IndexSets *sets = NULL;
	for (uint32_t k = 0; k < n; k++) args[k] = value_ref(base->args[0][k]);
	diag_clear(l->c);
	if (inputs && sparsity_run(l->c, program, inputs, args, numbers, &sets) == ST_OK) {
		for (uint32_t turn = 0; turn < 8 && !l->trouble[0]; turn++) {
			const int64_t input = (int64_t)random_below(&l->rng, (uint64_t)inputs),
						  none[MAX_RANK] = {0};
			Tensor *unit = tensor_zeros(l->c, (Dtype)type.dtype, type.rank,
			                            x.kind == V_TENSOR ? x.tensor->shape : none);
			if (!unit) abort();
			if (type.dtype == DT_F64) ((double *)(void *)unit->data)[input] = 1;
			else ((float *)(void *)unit->data)[input] = 1;
			args[n] = value_from_tensor(unit);
			Outcome o = outcome_of(l->c, run_reference, jvp, args);
			uint32_t at = 0;
			for (uint32_t k = 0; k < nresults && o.status == ST_OK; k++) {
				if (!type_has_tangent(l->c, ref_type(base->fn, fn_result(base->fn, k)))) continue;
				const int32_t tangent = tangent_at(l, l->flags, k);
				if (tangent >= 0) check_column(l, sets, numbers[at], o.results[tangent], input);
				at++;
			}
			outcome_free(&o);
			value_unref(args[n]);
			args[n] = (Value){0};
		}
		index_sets_free(sets);
	}
	diag_clear(l->c);
	drop(nresults, numbers);
	drop(n, args);
}

void check_laws(Ctx *c, uint64_t seed, const Cases *cs, char *trouble, size_t cap) {
	trouble[0] = 0;
	const Case *base = &cs->at[0];
	if (!cs->n || !base->args[0] || base->want[0].status != ST_OK || base->nargs > MANY ||
	    base->want[0].n > MANY)
		return;
	Law *l = room(1, sizeof *l);
	*l = (Law){.c = c, .base = base, .rng = random_mix(seed, 3333), .trouble = trouble, .cap = cap};
	check_batch(l);
	check_derivatives(l);
	check_sums(l);
	check_patterns(l);
	for (uint32_t k = 1; k < cs->n; k++) {
		l->base = &cs->at[k];
		if (l->base->args[0] && l->base->want[0].status == ST_OK && l->base->nargs <= MANY &&
		    l->base->want[0].n <= MANY)
			check_batch(l);
	}
	free(l);
}
