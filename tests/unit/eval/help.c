/* help.c - helpers of the evaluator tests; see help.h.
 *
 * Needs: help.h.
 */
#include "tests/unit/eval/help.h"

static void to_stdout(void *ud, const char *text, size_t n) {
	(void)ud;
	fwrite(text, 1, n, stdout);
}

void ev_show_diags(T *t) {
	for (uint32_t i = 0; i < diag_total(t->c); i++)
		diag_render(t->c, diag_at(t->c, i), false, to_stdout, NULL);
}

/* ---- scalars and tensors ------------------------------------------------- */

uint64_t ev_bits(T *t) {
	t->seed = t->seed * 6364136223846793005u + 1442695040888963407u;
	return t->seed >> 16 ^ t->seed << 20;
}

double ev_uniform(T *t, double lo, double hi) {
	return lo + (hi - lo) * (double)(ev_bits(t) % 1000003) / 1000003;
}

int64_t ev_below(T *t, int64_t n) { return (int64_t)(ev_bits(t) % (uint64_t)n); }

void ev_put(Dtype d, void *p, double re, double im) {
	double _Complex z = __builtin_complex(re, im);
	scalar_convert(DT_C128, &z, d, p);
}

double _Complex ev_at(const Tensor *x, const int64_t *index) {
	int64_t offset = 0;
	for (uint32_t i = 0; i < x->rank; i++) offset += index[i] * x->stride[i];
	double _Complex z;
	scalar_convert((Dtype)x->dtype, x->data + offset * (int64_t)dtype_size((Dtype)x->dtype),
	               DT_C128, &z);
	return z;
}

void ev_fill(T *t, Tensor *x, double lo, double hi) {
	char *p = x->data;
	for (int64_t i = 0; i < x->count; i++, p += dtype_size((Dtype)x->dtype)) {
		/* One after the other, so that every compiler draws the same values. */
		const double im = ev_uniform(t, lo, hi);
		const double re = dtype_is_int((Dtype)x->dtype) ? floor(ev_uniform(t, lo, hi))
		                  : x->dtype == DT_BOOL         ? (double)ev_below(t, 2)
		                                                : ev_uniform(t, lo, hi);
		ev_put((Dtype)x->dtype, p, re, im);
	}
}

Tensor *ev_tensor(T *t, Dtype d, uint32_t rank, const int64_t *shape, double lo, double hi) {
	Tensor *x = tensor_new(t->c, d, rank, shape);
	ev_fill(t, x, lo, hi);
	return x;
}

/* Advances index in row-major order; returns false after the last. */
bool ev_step(uint32_t rank, const int64_t *shape, int64_t *index) {
	for (uint32_t i = rank; i-- > 0;) {
		if (++index[i] < shape[i]) return true;
		index[i] = 0;
	}
	return false;
}

double ev_off(double _Complex a, double _Complex b) { return cabs(a - b) / fmax(1, cabs(b)); }

/* Returns the largest relative difference from an array in row-major order. */
double ev_distance(Value v, const double _Complex *want) {
	double worst = 0;
	if (v.kind == V_SCALAR) {
		double _Complex z;
		scalar_convert((Dtype)v.dtype, value_scalar_bytes(&v), DT_C128, &z);
		return ev_off(z, want[0]);
	}
	if (v.kind != V_TENSOR) return INFINITY;
	int64_t index[MAX_RANK] = {0};
	for (int64_t i = 0; i < v.tensor->count; i++) {
		double d = ev_off(ev_at(v.tensor, index), want[i]);
		if (!(d <= worst)) worst = d;
		ev_step(v.tensor->rank, v.tensor->shape, index);
	}
	return worst;
}

/* ---- building and running ------------------------------------------------ */

TypeId ev_type_like(T *t, Value v, bool symbolic) {
	if (!value_is_array(v)) return type_dyn(t->c);
	if (v.kind == V_SCALAR) return type_scalar(t->c, (Dtype)v.dtype);
	Dim dims[MAX_RANK];
	for (uint32_t i = 0; i < v.tensor->rank; i++)
		dims[i] = symbolic && v.tensor->shape[i] > DIM_SMALL
		              ? build_fresh_dim(t->b, atom_f(t->c, "n%u", i), 0)
		              : dim_const(t->c, v.tensor->shape[i]);
	return type_tensor(t->c, (Dtype)v.tensor->dtype, v.tensor->rank, dims);
}

void ev_begin(T *t) { t->b = build_begin(t->c, atom(t->c, "f"), 0, NULL); }
Ref ev_param(T *t, TypeId type) { return build_param(t->b, type, 0); }
TypeId ev_num(T *t, Dtype d) { return type_scalar(t->c, d); }
Dim ev_len(T *t, int64_t n) { return dim_const(t->c, n); }
TypeId ev_vec(T *t, Dtype d, int64_t n) {
	Dim k = ev_len(t, n);
	return type_tensor(t->c, d, 1, &k);
}
TypeId ev_vec_of(T *t, Dtype d, Dim n) { return type_tensor(t->c, d, 1, &n); }

typedef struct Make { /* a function to build and its description */
	T *t;
	void (*make)(T *t, const void *what);
	const void *what;
} Make;

static void run_make(Ctx *c, void *arg) {
	(void)c;
	Make *m = arg;
	m->make(m->t, m->what);
}

/* Builds t->f; returns false on failure. */
bool ev_build_it(T *t, void (*make)(T *, const void *), const void *what) {
	t->f = NULL;
	Make m = {t, make, what};
	if (ctx_protect(t->c, run_make, &m) == ST_OK && t->f) return true;
	CHECK_MSG(false, "building failed:");
	ev_show_diags(t);
	diag_clear(t->c);
	return false;
}

Status ev_call(T *t, const Value *args, Value *results) {
	Code *code = code_of(t->c, t->f);
	return code ? code_call(t->c, code, args, results) : ST_NOMEM;
}

/* Builds the function, runs it once and drops it. */
Status ev_once(T *t, void (*make)(T *, const void *), const void *what, const Value *args,
               Value *results) {
	if (!ev_build_it(t, make, what)) return ST_INTERNAL;
	Status st = ev_call(t, args, results);
	fn_unref(t->f);
	return st;
}

void ev_drop(Value *v, uint32_t n) {
	for (uint32_t i = 0; i < n; i++) {
		value_unref(v[i]);
		v[i] = (Value){.kind = V_UNSET};
	}
}

bool ev_failed_with(T *t, Status st, Status want, DiagCode code, const char *words) {
	bool good = st == want && diag_total(t->c) == 1 && diag_at(t->c, 0)->code == code &&
	            (!words || strstr(diag_at(t->c, 0)->message, words));
	if (!good) {
		printf("status %d:\n", (int)st);
		ev_show_diags(t);
	}
	diag_clear(t->c);
	return good;
}

/* ---- runner -------------------------------------------------------------- */

int ev_run_tests(size_t n, const TestCase *tests) {
	setvbuf(stdout, NULL, _IOLBF, 0);
	T t = {.c = ctx_new(NULL), .seed = 12345};
	if (!t.c || backend_init(t.c) != ST_OK) return 1;
	/* These tests are of the evaluator, so machine code is off by default. */
	if (!getenv("ATLED_NATIVE")) backend_set_native(t.c, NATIVE_OFF);
	ctx_grant(t.c, GRANT_ALL);
	text_init(&t.printed, t.c);
	for (size_t i = 0; i < n; i++) {
		check_in(tests[i].name);
		tests[i].run(&t);
		if (diag_total(t.c)) {
			CHECK_MSG(false, "left behind:");
			ev_show_diags(&t);
			diag_clear(t.c);
		}
	}
	text_free(&t.printed);
	ctx_free(t.c);
	return check_end();
}
