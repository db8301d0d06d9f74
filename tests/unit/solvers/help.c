/* help.c - helpers of the tests of the SUNDIALS host functions; see help.h.
 *
 * Needs: help.h.
 */
#include "tests/unit/solvers/help.h"

static void to_stdout(void *ud, const char *text, size_t n) {
	(void)ud;
	fwrite(text, 1, n, stdout);
}

void sv_show_diags(T *t) {
	for (uint32_t i = 0; i < diag_total(t->c); i++)
		diag_render(t->c, diag_at(t->c, i), false, to_stdout, NULL);
}

/* ---- problems ------------------------------------------------------------ */

static void robertson(T *t, const Ref *p, Ref time, const Ref *y, Ref *out) {
	(void)time;
	Ref a = mul(t, p[0], y[0]), b = mul(t, mul(t, p[1], y[1]), y[2]),
		c = mul(t, mul(t, p[2], y[1]), y[1]);
	out[0] = sub(t, b, a);
	out[1] = sub(t, sub(t, a, b), c);
	out[2] = c;
}
static void robertson_jacobian(T *t, const Ref *p, Ref time, const Ref *y, Ref *out) {
	(void)time;
	Ref b1 = mul(t, p[1], y[2]), b2 = mul(t, p[1], y[1]), c1 = mul(t, K(t, 2), mul(t, p[2], y[1]));
	out[0] = neg(t, p[0]);
	out[1] = b1;
	out[2] = b2;
	out[3] = p[0];
	out[4] = neg(t, add(t, b1, c1));
	out[5] = neg(t, b2);
	out[7] = c1; /* the last row of the pattern lacks its diagonal element */
}

static void lotka_volterra(T *t, const Ref *p, Ref time, const Ref *y, Ref *out) {
	(void)time;
	Ref xy = mul(t, y[0], y[1]);
	out[0] = sub(t, mul(t, p[0], y[0]), mul(t, p[1], xy));
	out[1] = sub(t, mul(t, p[3], xy), mul(t, p[2], y[1]));
}
static void lotka_volterra_jacobian(T *t, const Ref *p, Ref time, const Ref *y, Ref *out) {
	(void)time;
	out[0] = sub(t, p[0], mul(t, p[1], y[1]));
	out[1] = neg(t, mul(t, p[1], y[0]));
	out[2] = mul(t, p[3], y[1]);
	out[3] = sub(t, mul(t, p[3], y[0]), p[2]);
}

const Problem SV_ROBERTSON = {"robertson",      3,   3,         {1, 0, 0},
                              {0.04, 1e4, 3e7}, 4e5, robertson, robertson_jacobian};

const Problem SV_LOTKA_VOLTERRA = {
	"lotka-volterra", 2, 4, {1, 1}, {1.5, 1, 3, 1}, 10, lotka_volterra, lotka_volterra_jacobian};

/* ---- solution ------------------------------------------------------------ */

typedef struct Making {
	T *t;
	const Problem *p;
	const Setting *w;
	Fn *made;
} Making;

static Fn *make_function(T *t, const Problem *p, int which, bool sparse) {
	t->b = build_begin(t->c, atom_f(t->c, "%s%s", p->name, which ? " jacobian" : ""), 0, NULL);
	Ref caps[4], y[MOST], out[MOST * MOST] = {REF_NONE};
	for (uint32_t k = 0; k < p->np; k++) caps[k] = build_param(t->b, scalar(t), 0);
	Ref time = build_param(t->b, scalar(t), 0),
		v = build_param(t->b, vector_type(t, DT_F64, p->n), 0), r;
	for (uint32_t i = 0; i < p->n; i++) y[i] = element(t, v, i);
	(which ? p->jacobian : p->f)(t, caps, time, y, out);
	if (!which) {
		r = gathered(t, p->n, out);
	} else if (sparse) {
		Ref some[MOST * MOST];
		uint32_t k = 0;
		for (uint32_t j = 0; j < p->n; j++)
			for (uint32_t i = 0; i < p->n; i++)
				if (out[i * p->n + j] != REF_NONE) some[k++] = out[i * p->n + j];
		r = gathered(t, k, some);
	} else {
		for (uint32_t i = 0; i < p->n * p->n; i++)
			if (out[i] == REF_NONE) out[i] = K(t, 0);
		r = build_reshape(t->b, gathered(t, p->n * p->n, out), 2,
		                  (Dim[]){dim_const(t->c, p->n), dim_const(t->c, p->n)});
	}
	return build_end(t->b, 1, &r);
}

/* The pattern of the Jacobian, as constants; empty when dense. */
static void make_pattern(T *t, const Problem *p, bool sparse, Ref *colptr, Ref *rowind) {
	int64_t cp[MOST + 1] = {0}, ri[MOST * MOST], nnz = 0;
	Builder *kept = t->b;
	t->b = build_begin(t->c, 0, 0, NULL);
	Ref caps[4], y[MOST], out[MOST * MOST] = {REF_NONE};
	for (uint32_t k = 0; k < 4; k++) caps[k] = build_param(t->b, scalar(t), 0);
	for (uint32_t k = 0; k < MOST; k++) y[k] = build_param(t->b, scalar(t), 0);
	if (sparse) p->jacobian(t, caps, y[0], y, out);
	build_abandon(t->b);
	t->b = kept;
	for (uint32_t j = 0; j < p->n && sparse; j++) {
		for (uint32_t i = 0; i < p->n; i++)
			if (out[i * p->n + j] != REF_NONE) ri[nnz++] = i;
		cp[j + 1] = nnz;
	}
	int64_t ncp = sparse ? p->n + 1 : 0;
	Tensor *a = tensor_new(t->c, DT_I64, 1, &ncp), *b = tensor_new(t->c, DT_I64, 1, &nnz);
	memcpy(a->data, cp, (size_t)ncp * sizeof *cp);
	memcpy(b->data, ri, (size_t)nnz * sizeof *ri);
	*colptr = build_const(t->b, value_tensor(a));
	*rowind = build_const(t->b, value_tensor(b));
	tensor_unref(a);
	tensor_unref(b);
}

/* (y0, t0, t1, rtol, atol, saveat, max_step, p...) -> times, values, stats */
static void make_solve(Ctx *c, void *arg) {
	Making *m = arg;
	T *t = m->t;
	const Problem *p = m->p;
	const Setting *w = m->w;
	Fn *fns[2] = {make_function(t, p, 0, w->sparse), make_function(t, p, 1, w->sparse)};
	t->b = build_begin(c, atom(c, "solve"), 0, NULL);
	Ref in[11], operands[9 + 8], results[3];
	for (uint32_t k = 0; k < 7 + p->np; k++) {
		TypeId type = k == 0 || k == 4 ? vector_type(t, DT_F64, p->n)
		              : k == 5         ? vector_type(t, DT_F64, w->nat)
		                               : scalar(t);
		in[k] = build_param(t->b, type, 0);
	}
	Ref colptr, rowind;
	make_pattern(t, p, w->sparse, &colptr, &rowind);
	memcpy(operands, (Ref[]){in[0], in[1], in[2], in[3], in[4], colptr, rowind, in[5], in[6]},
	       9 * sizeof(Ref));
	for (uint32_t k = 0; k < 2 * p->np; k++) operands[9 + k] = in[7 + k % p->np];
	int64_t options[] = {2, p->np, p->np, w->adams, w->sparse, w->degree, w->max_steps};
	HostId id = host_call_intern(c, host_find(c, "ode"), 2, fns, 7, options);
	fn_unref(fns[0]);
	fn_unref(fns[1]);
	build_host(t->b, id, 9 + 2 * p->np, operands, results, 3);
	m->made = build_end(t->b, 3, results);
}

Fn *sv_make_solve(T *t, const Problem *p, const Setting *w) {
	Making m = {t, p, w, NULL};
	uint32_t mark = build_mark(t->c);
	if (ctx_protect(t->c, make_solve, &m) == ST_OK && m.made) return m.made;
	build_unwind(t->c, mark);
	CHECK_MSG(false, "building failed:");
	sv_show_diags(t);
	diag_clear(t->c);
	return NULL;
}

uint32_t sv_solve_args(T *t, const Problem *p, const Setting *w, Value *args) {
	args[0] = vector(t, p->n, p->y0);
	args[1] = value_f64(w->t0);
	args[2] = value_f64(w->t1);
	args[3] = value_f64(w->rtol);
	args[4] = w->atols ? vector(t, p->n, w->atols) : filled(t, p->n, w->atol);
	args[5] = vector(t, w->nat, w->at);
	args[6] = value_f64(w->max_step);
	for (uint32_t k = 0; k < p->np; k++) args[7 + k] = value_f64(p->p[k]);
	return 7 + p->np;
}

Status sv_run(T *t, Fn *f, const Value *args, Value *results) {
	Code *code = code_of(t->c, f);
	return code ? code_call(t->c, code, args, results) : ST_NOMEM;
}

Status sv_solve(T *t, const Problem *p, const Setting *w, Value *results) {
	Value args[16];
	for (int k = 0; k < 3; k++) results[k] = (Value){.kind = V_UNSET};
	Fn *f = sv_make_solve(t, p, w);
	if (!f) return ST_INTERNAL;
	uint32_t n = sv_solve_args(t, p, w, args);
	Status st = sv_run(t, f, args, results);
	drop(args, n);
	fn_unref(f);
	return st;
}

bool sv_solved(T *t, const Problem *p, const Setting *w, Value *results) {
	Status st = sv_solve(t, p, w, results);
	if (st == ST_OK) return true;
	CHECK_MSG(false, "%s: status %d", p->name, (int)st);
	sv_show_diags(t);
	diag_clear(t->c);
	return false;
}

bool sv_failed_with(T *t, Status st, Status want, DiagCode code, const char *words) {
	bool good = st == want && diag_total(t->c) == 1 && diag_at(t->c, 0)->code == code &&
	            (!words || strstr(diag_at(t->c, 0)->message, words));
	if (!good) {
		printf("status %d:\n", (int)st);
		sv_show_diags(t);
	}
	diag_clear(t->c);
	return good;
}

bool sv_told(T *t, Status st, const char *what) {
	if (st == ST_OK) return true;
	CHECK_MSG(false, "%s: status %d", what, (int)st);
	sv_show_diags(t);
	diag_clear(t->c);
	return false;
}

/* ---- interrupts and allocation failure ----------------------------------- */

static bool same_results(const Value *a, const Value *b, uint32_t n) {
	for (uint32_t i = 0; i < n; i++)
		if (!value_identical(a[i], b[i])) return false;
	return true;
}

void sv_interrupt_everywhere(T *t, Fn *f, const Value *args, uint32_t nresults) {
	Value want[16], r[16];
	Status st = sv_run(t, f, args, want);
	CHECK(st == ST_OK);
	if (st != ST_OK) return;
	bool good = true;
	uint64_t n = 1;
	for (; n < 10000000; n += 1 + n / 4) {
		size_t used = heap_used(t->c);
		ctx_interrupt_at_poll(t->c, n);
		st = sv_run(t, f, args, r);
		ctx_interrupt_at_poll(t->c, 0);
		ctx_clear_interrupt(t->c);
		if (st == ST_OK) break;
		good = good && st == ST_INTERRUPTED && diag_total(t->c) == 1 &&
		       diag_at(t->c, 0)->code == E_INTERRUPT && heap_used(t->c) <= used + 4096;
		diag_clear(t->c);
	}
	CHECK(good && st == ST_OK && n > 10);
	CHECK(st == ST_OK && same_results(want, r, nresults));
	if (st == ST_OK) drop(r, nresults);
	drop(want, nresults);
}

void sv_fail_allocations(T *t, Fn *f, const Value *args, uint32_t nresults) {
	Value want[16], r[16];
	Status st = sv_run(t, f, args, want);
	CHECK(st == ST_OK);
	if (st != ST_OK) return;
	bool good = true;
	for (int forever = 0; forever < 2; forever++) {
		uint64_t n = 1;
		/* Every poll of the set-up, a sample of the steps. */
		for (; n < 10000000; n += n < 150 ? 1 : n / 5) {
			size_t used = heap_used(t->c);
			heap_fail_at(t->c, n, forever);
			st = sv_run(t, f, args, r);
			heap_fail_at(t->c, 0, false);
			if (st == ST_OK) break;
			bool one = st == ST_NOMEM && diag_total(t->c) > 0 && diag_at(t->c, 0)->code == E_MEMORY;
			if (!one) {
				printf("allocation %llu: status %d\n", (unsigned long long)n, (int)st);
				sv_show_diags(t);
			}
			diag_clear(t->c);
			if (heap_used(t->c) > used + 4096)
				printf("allocation %llu leaks %zu bytes\n", (unsigned long long)n,
				       heap_used(t->c) - used);
			good = good && one && heap_used(t->c) <= used + 4096;
		}
		CHECK(st == ST_OK && n > 20 && same_results(want, r, nresults));
		if (st == ST_OK) drop(r, nresults);
	}
	CHECK(good);
	drop(want, nresults);
}

/* ---- runner -------------------------------------------------------------- */

int sv_run_tests(size_t n, const TestCase *tests) {
	setvbuf(stdout, NULL, _IOLBF, 0);
	T t = {.c = ctx_new(NULL)};
	if (!t.c || backend_init(t.c) != ST_OK || solvers_init(t.c) != ST_OK) return 1;
	/* Allocations and their order are those of the evaluator. */
	if (!getenv("ATLED_NATIVE")) backend_set_native(t.c, NATIVE_OFF);
	autodiff_init(t.c);
	ctx_grant(t.c, GRANT_ALL);
	for (size_t i = 0; i < n; i++) {
		check_in(tests[i].name);
		tests[i].run(&t);
		if (diag_total(t.c)) {
			CHECK_MSG(false, "left behind:");
			sv_show_diags(&t);
			diag_clear(t.c);
		}
	}
	ctx_free(t.c);
	return check_end();
}
