/* test_taylor_batch.c - unit tests of jets, of batches, and of both together.
 *
 * Oracle: jets against nested jvp, batches against one call for each batch
 * element, adjoints against tangents.
 *
 * Needs: taylor_batch_cases.h.
 * Guarantees: prints each failure with its line, then "N passed, N failed"; the
 * exit status says whether all passed.
 */
#include "tests/unit/autodiff/taylor_batch_cases.h"
#include <math.h>
#include <stdio.h>

/* ---- jets against nested jvp --------------------------------------------- */

#define NEST 3u

typedef struct Nest {
	/* at[k]: (s, coefficients, others) -> k-th derivatives of the results along
	 * the path, at s */
	Fn *f, *at[NEST + 1];
	const bool *active;
	bool *flags[NEST + 1]; /* for each result of f: whether at[k] returns it */
} Nest;

/* s -> f(sum x_k s^k), where the x_k of active parameters are consecutive. */
static void nest_begin(Ctx *c, void *ud) {
	Nest *n = ud;
	Builder *b = build_begin(c, atom(c, "path"), n->f->span, n->f);
	Ref s = build_param(b, type_scalar(c, DT_F64), 0), x[16][NEST + 1], args[16], results[16];
	uint32_t nparams = fn_nparams(n->f);
	for (uint32_t i = 0; i < nparams; i++)
		for (uint32_t k = 0; k <= (n->active[i] ? NEST : 0); k++)
			x[i][k] = build_param(b, ref_type(n->f, fn_param(n->f, i)), 0);
	for (uint32_t i = 0; i < nparams; i++) {
		args[i] = x[i][n->active[i] ? NEST : 0];
		TypeId type = ref_type(n->f, fn_param(n->f, i));
		for (uint32_t k = NEST; n->active[i] && k-- > 0;) {
			Ref wide = build_broadcast_scalar(
				b, build_convert(b, s, (Dtype)type_of(c, type)->dtype), type);
			args[i] = build2(b, OP_ADD, x[i][k], build2(b, OP_MUL, args[i], wide));
		}
	}
	build_inline(b, n->f, args, results);
	n->at[0] = build_end(b, fn_nresults(n->f), results);
	for (uint32_t i = 0; i < fn_nresults(n->f); i++) n->flags[0][i] = true;
}

/* The derivative of at[k-1] with respect to s. */
static void nest_step(Ctx *c, void *ud) {
	Nest *n = ud;
	uint32_t k = 1;
	while (n->at[k]) k++;
	Fn *f = n->at[k - 1];
	bool active[64] = {true}, moves[16] = {false};
	Fn *jvp = ad_jvp(c, f, active, moves);
	Builder *b = build_begin(c, atom(c, "nested"), f->span, f);
	Ref args[65], results[40];
	uint32_t nparams = fn_nparams(f), at = 0, from = fn_nresults(f);
	for (uint32_t i = 0; i < nparams; i++) args[i] = build_param(b, ref_type(f, fn_param(f, i)), 0);
	args[nparams] = build_f64(b, 1);
	build_inline(b, jvp, args, results);
	for (uint32_t i = 0, old = 0; i < fn_nresults(n->f); i++) {
		n->flags[k][i] = n->flags[k - 1][i] && moves[old];
		if (n->flags[k][i]) results[at++] = results[from++];
		if (n->flags[k - 1][i]) old++;
	}
	n->at[k] = build_end(b, at, results);
}

static void jet_case(Test *t, const Case *k, Fn *f) {
	uint32_t n = fn_nparams(f), m = fn_nresults(f), at = 0, from = 1;
	bool active[16], flags[16] = {false}, storage[NEST + 1][16] = {{false}};
	Value args[64], path[64], jet_results[64], nested[16];
	for (uint32_t i = 0; i < n; i++)
		active[i] = type_has_tangent(t->c, ref_type(f, fn_param(f, i)));
	for (uint32_t i = 0; i < n; i++)
		args[at++] = jb_random_value(t, &k->fill, ref_ty(f, fn_param(f, i)), -1);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 1; active[i] && j <= NEST; j++)
			args[at++] =
				jb_random_value(t, &(Fill){-0.3, 0.3, 1, 0}, ref_ty(f, fn_param(f, i)), -1);
	path[0] = value_f64(0);
	for (uint32_t i = 0, series = n; i < n; i++) {
		path[from++] = args[i];
		for (uint32_t j = 1; active[i] && j <= NEST; j++) path[from++] = args[series++];
	}
	Fn *jet = jb_jet_of(t, f, NEST, active, flags);
	Nest nest = {.f = f, .active = active};
	for (uint32_t i = 0; i <= NEST; i++) nest.flags[i] = storage[i];
	uint32_t mark = build_mark(t->c);
	bool good = jet && ctx_protect(t->c, nest_begin, &nest) == ST_OK;
	for (uint32_t i = 1; good && i <= NEST; i++)
		good = ctx_protect(t->c, nest_step, &nest) == ST_OK;
	if (!good) {
		build_unwind(t->c, mark);
		printf("  %s\n", k->name);
		jb_show_diags(t);
	}
	CHECK(good);
	good = good && jb_run(t, jet, args, jet_results);
	CHECK(good);
	double factorial = 1;
	for (uint32_t order = 0; good && order <= NEST; order++) {
		if (order) factorial *= order;
		if (!jb_run(t, nest.at[order], path, nested)) {
			CHECK(false);
			break;
		}
		for (uint32_t i = 0, old = 0, place = m; i < m; i++) {
			Value *mine =
				order ? flags[i] ? &jet_results[place + order - 1] : NULL : &jet_results[i];
			if (flags[i]) place += NEST;
			if (!storage[order][i]) {
				CHECK(!mine || jb_difference(t, *mine, *mine) == 0);
				continue;
			}
			Tensor *derivative = value_to_tensor(t->c, nested[old++]),
				   *scaled = tensor_copy(t->c, derivative);
			for (int64_t e = 0; order && e < scaled->count; e++) {
				if (scaled->dtype == DT_F64) ((double *)scaled->data)[e] /= factorial;
				else if (scaled->dtype == DT_F32) ((float *)scaled->data)[e] /= (float)factorial;
				else if (scaled->dtype == DT_C128) ((double complex *)scaled->data)[e] /= factorial;
			}
			Value want = value_from_tensor(scaled), zero = value_f64(0);
			double far = mine ? jb_difference(t, want, *mine) : 0;
			if (!mine) /* no series: the nested derivative must be zero */
				for (int64_t e = 0; e < derivative->count; e++)
					far = fmax(far, fabs(tensor_get(derivative, (int64_t[MAX_RANK]){0})));
			if (!(far <= k->jet))
				printf("  %s: coefficient %u of result %u is %g off\n", k->name, order, i, far);
			CHECK(far <= k->jet);
			tensor_unref(derivative);
			value_unref(want);
			value_unref(zero);
		}
		uint32_t given = 0;
		for (uint32_t i = 0; i < m; i++) given += storage[order][i];
		jb_drop(given, nested);
	}
	if (good) jb_drop(fn_nresults(jet), jet_results);
	jb_drop(at, args);
	for (uint32_t i = 0; i <= NEST; i++)
		if (nest.at[i]) fn_unref(nest.at[i]);
}

/* ---- batches against single calls ---------------------------------------- */

static void batch_case(Test *t, const Case *k, Fn *f) {
	uint32_t n = fn_nparams(f);
	for (unsigned set = 1; set < 1u << n; set++) {
		bool mask[16], allowed = true;
		for (uint32_t i = 0; i < n; i++) {
			mask[i] = set >> i & 1;
			allowed &= !mask[i] || k->map[i] == 'b';
		}
		if (!allowed) continue;
		Fn *batched = jb_batch_of(t, f, mask);
		CHECK(batched);
		if (!batched) {
			printf("  %s, mask %u\n", k->name, set);
			continue;
		}
		for (int64_t lanes = 0; lanes <= 5; lanes = lanes ? lanes * 2 + 1 : 1) {
			bool good =
				jb_same_as_single_calls(t, k->name, f, batched, mask, &k->fill, lanes, k->batch);
			if (!good) printf("  %s, mask %u, %d lanes\n", k->name, set, (int)lanes);
			CHECK(good);
		}
	}
}

/* The batch of the jet and the jet of the batch both equal one jet for each
 * batch element. */
static void both_case(Test *t, const Case *k, Fn *f) {
	uint32_t n = fn_nparams(f);
	bool active[16] = {false}, mask[16] = {false}, wide[80] = {false}, flags[16] = {false},
		 batch_flags[16] = {false}, any = false;
	for (uint32_t i = 0; i < n; i++) {
		active[i] = type_has_tangent(t->c, ref_type(f, fn_param(f, i)));
		mask[i] = k->map[i] == 'b' && i != 1; /* one parameter that all elements share */
		any |= active[i];
	}
	Fn *jet = jb_jet_of(t, f, 2, active, flags), *batched = jb_batch_of(t, f, mask);
	CHECK(any && jet && batched);
	if (!jet || !batched) return;
	uint32_t at = n;
	for (uint32_t i = 0; i < n; i++) {
		wide[i] = mask[i];
		for (uint32_t j = 0; active[i] && j < 2; j++) wide[at++] = mask[i];
	}
	Fn *batch_of_jet = jb_batch_of(t, jet, wide),
	   *jet_of_batch = jb_jet_of(t, batched, 2, active, batch_flags);
	CHECK(batch_of_jet && jet_of_batch && !memcmp(flags, batch_flags, sizeof flags));
	if (!batch_of_jet || !jet_of_batch) {
		printf("  %s\n", k->name);
		return;
	}
	double tolerance = fmax(k->jet, k->batch);
	bool first =
		jb_same_as_single_calls(t, k->name, jet, batch_of_jet, wide, &k->fill, 3, tolerance);
	bool second =
		jb_same_as_single_calls(t, k->name, jet, jet_of_batch, wide, &k->fill, 3, tolerance);
	if (!first || !second) printf("  %s: %s\n", k->name, first ? "jet of batch" : "batch of jet");
	CHECK(first && second);
}

/* A batch of a batch equals one batch for each outer element. The tangent of a
 * batch equals one tangent for each element. */
static void ask_jvp(Ctx *c, void *ud) {
	Ask *q = ud;
	q->out = ad_jvp(c, q->f, q->mask, q->flags);
	q->verified = fn_verify(q->out, "ad_jvp");
}

static void nested_case(Test *t, const Case *k, Fn *f) {
	uint32_t n = fn_nparams(f), at = n;
	bool mask[16] = {false}, again[16] = {false}, active[16] = {false}, wide[32] = {false},
		 flags[16] = {false};
	for (uint32_t i = 0; i < n; i++) {
		mask[i] = k->map[i] == 'b' && i != 1;
		again[i] = k->map[i] == 'b' && (i == 0 || i == 2 || n == 2);
		active[i] = type_has_tangent(t->c, ref_type(f, fn_param(f, i)));
		wide[i] = mask[i];
	}
	for (uint32_t i = 0; i < n; i++)
		if (active[i]) wide[at++] = mask[i];
	Fn *batched = jb_batch_of(t, f, mask), *twice = batched ? jb_batch_of(t, batched, again) : NULL;
	CHECK(twice &&
	      jb_same_as_single_calls(t, k->name, batched, twice, again, &k->fill, 3, k->batch));
	if (k->jet == 0 || !batched) return;
	Fn *jvp = jb_protected(t, ask_jvp, &(Ask){.f = f, .mask = active, .flags = flags});
	Fn *jvp_of_batch =
		jb_protected(t, ask_jvp, &(Ask){.f = batched, .mask = active, .flags = flags});
	jb_show_diags(t);
	bool good = jvp && jvp_of_batch &&
	            jb_same_as_single_calls(t, k->name, jvp, jvp_of_batch, wide, &k->fill, 3,
	                                    fmax(k->jet, k->batch));
	if (!good) printf("  %s: jvp of batch\n", k->name);
	CHECK(good);
}

typedef struct Adjoint {
	Fn *f, *jvp, *back;
	const Linearised *l;
	const bool *active;
	bool *flags;
} Adjoint;

static void ask_adjoint(Ctx *c, void *ud) {
	Adjoint *q = ud;
	q->jvp = ad_jvp(c, q->f, q->active, q->flags);
	q->l = ad_linearise(c, q->f, q->active);
	q->back = ad_transpose(c, q->l->linear, q->l->nresiduals);
}

static double inner_product(Test *t, Value a, Value b) {
	Tensor *x = value_to_tensor(t->c, a), *y = value_to_tensor(t->c, b);
	double sum = 0;
	int64_t index[MAX_RANK] = {0};
	for (int64_t i = 0; i < x->count; i++) {
		sum += creal(conj(jb_element(x, index)) * jb_element(y, index));
		for (uint32_t k = x->rank; k-- > 0;) {
			if (++index[k] < x->shape[k]) break;
			index[k] = 0;
		}
	}
	tensor_unref(x);
	tensor_unref(y);
	return sum;
}

/* Checks <w, J v> = <J* w, v> for a function made by batching or Taylor
 * mode. */
static void adjoint_case(Test *t, const char *name, Fn *f, const Fill *fill, double tolerance) {
	uint32_t n = fn_nparams(f), m = fn_nresults(f);
	bool active[80] = {false}, flags[80] = {false};
	for (uint32_t i = 0; i < n; i++)
		active[i] = type_has_tangent(t->c, ref_type(f, fn_param(f, i)));
	Adjoint q = {.f = f, .active = active, .flags = flags};
	uint32_t mark = build_mark(t->c);
	if (ctx_protect(t->c, ask_adjoint, &q) != ST_OK) {
		build_unwind(t->c, mark);
		printf("  %s: no adjoint\n", name);
		jb_show_diags(t);
		CHECK(false);
		return;
	}
	Value args[160], forward[160], primal[400], back_args[400], back[80];
	uint32_t at = n;
	for (uint32_t i = 0; i < n; i++)
		args[i] = jb_random_value(t, fill, ref_ty(f, fn_param(f, i)), -1);
	for (uint32_t i = 0; i < n; i++) {
		if (!active[i]) continue;
		Tensor *x = value_to_tensor(t->c, args[i]);
		args[at++] = value_from_tensor(
			jb_random_tensor(t, &(Fill){-1, 1, 1, 0}, (Dtype)x->dtype, x->rank, x->shape));
		tensor_unref(x);
	}
	bool good = jb_run(t, q.jvp, args, forward);
	CHECK(good);
	if (good && !jb_run(t, q.l->primal, args, primal)) {
		CHECK(false);
		good = false;
	}
	double left = 0, right = 0, size = 0;
	if (good) {
		uint32_t nback = q.l->nresiduals, tangent = m;
		for (uint32_t i = 0; i < nback; i++) back_args[i] = value_ref(primal[m + i]);
		for (uint32_t i = 0; i < m; i++) {
			Tensor *y = flags[i] || q.l->result_active[i] ? value_to_tensor(t->c, primal[i]) : NULL;
			Value w = {0};
			if (y)
				w = value_from_tensor(
					jb_random_tensor(t, &(Fill){-1, 1, 1, 0}, (Dtype)y->dtype, y->rank, y->shape));
			if (flags[i]) left += inner_product(t, w, forward[tangent]);
			if (flags[i]) size += sqrt(inner_product(t, forward[tangent], forward[tangent]));
			if (flags[i]) tangent++;
			if (q.l->result_active[i]) back_args[nback++] = value_ref(w);
			value_unref(w);
			tensor_unref(y);
		}
		if (jb_run(t, q.back, back_args, back)) {
			for (uint32_t i = 0; i < fn_nresults(q.back); i++)
				right += inner_product(t, back[i], args[n + i]);
			jb_drop(fn_nresults(q.back), back);
		} else {
			right = NAN;
		}
		jb_drop(nback, back_args);
		jb_drop(fn_nresults(q.l->primal), primal);
		jb_drop(fn_nresults(q.jvp), forward);
	}
	good = good && fabs(left - right) <= tolerance * (1 + size);
	if (!good) printf("  %s: <w, Jv> = %.15g, <J*w, v> = %.15g\n", name, left, right);
	CHECK(good);
	jb_drop(at, args);
}

static void adjoints(Test *t, const Case *k, Fn *f) {
	bool mask[16] = {false}, active[16] = {false}, flags[16];
	for (uint32_t i = 0; i < fn_nparams(f); i++) {
		mask[i] = k->map[i] == 'b' && i != 1;
		active[i] = type_has_tangent(t->c, ref_type(f, fn_param(f, i)));
	}
	char name[200];
	Fn *batched = jb_batch_of(t, f, mask), *jet = jb_jet_of(t, f, 2, active, flags);
	CHECK(batched && jet);
	snprintf(name, sizeof name, "%s, batched", k->name);
	if (batched) adjoint_case(t, name, batched, &k->fill, fmax(1e-9, k->jet));
	snprintf(name, sizeof name, "%s, jet", k->name);
	if (jet) adjoint_case(t, name, jet, &k->fill, fmax(1e-9, k->jet));
}

static void test_cases(Test *t) {
	for (size_t i = 0; i < NCASES; i++) {
		Fn *f = jb_source(t, cases[i].text);
		CHECK(f);
		if (!f) continue;
		if (cases[i].jet != 0) jet_case(t, &cases[i], f);
		if (cases[i].batch != 0) batch_case(t, &cases[i], f);
		if (cases[i].jet != 0 && cases[i].batch != 0) both_case(t, &cases[i], f);
		if (cases[i].batch != 0) nested_case(t, &cases[i], f);
		if (cases[i].jet != 0) adjoints(t, &cases[i], f);
		fn_unref(f);
	}
}

/* ---- allocation failure -------------------------------------------------- */

static void test_memory(Test *t) {
	static const char text[] = "fn @f[n](%0: f64[n], %1: f64, %2: i64) -> (f64[n], f64) { %3: "
							   "f64[n], %4: f64 = for %2, %0, %1 { (%5: i64, "
							   "%6: f64[n], %7: f64): %8: f64[n] = tanh %6 %9: bool = lt %7, 0.0 "
							   "%10: f64 = if %9 { %11: f64 = sin %7 yield "
							   "%11 } "
							   "{ %12: f64 = sqrt %7 yield %12 } yield %8, %10 } return %3, %4 }";
	bool mask[3] = {true, true, true}, flags[2];
	for (int what = 0; what < 2; what++) {
		bool done = false;
		for (uint64_t at = 1; !done && at < 4000; at += 1 + at / 16) {
			Fn *f = jb_source(t, text);
			CHECK(f);
			if (!f) return;
			heap_fail_at(t->c, at, true);
			Fn *out = jb_protected(t, what ? jb_ask_batch : jb_ask_jet,
			                       &(Ask){.f = f, .order = 3, .mask = mask, .flags = flags});
			heap_fail_at(t->c, 0, false);
			done = out != NULL;
			/* A transform that failed for lack of memory succeeds when memory
			 * is available again. */
			if (!done)
				CHECK(jb_protected(t, what ? jb_ask_batch : jb_ask_jet,
				                   &(Ask){.f = f, .order = 3, .mask = mask, .flags = flags}));
			diag_clear(t->c);
			fn_unref(f);
		}
		CHECK(done);
	}
}

int main(void) {
	static const TestCase tests[] = {
		{"cases", test_cases},
		{"memory", test_memory},
	};
	return jb_run_tests(sizeof tests / sizeof *tests, tests);
}
