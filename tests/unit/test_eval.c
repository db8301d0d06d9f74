/* test_eval.c - the evaluator: every primitive against plain loops, views, writing in place, guards, errors, try, recursion, budgets,
 * allocation failure, interrupts, threads.
 *
 * Needs: lang/ and backend/. Prints "N passed, N failed"; the exit status is 0 when nothing failed.
 */
#include "backend/code.h"
#include "backend/kernels.h"
#include "backend/random.h"
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#undef I

typedef struct T { /* what a test has at hand */
	uint32_t passed, failed;
	Ctx *c;
	Builder *b;
	Fn *f;
	uint64_t seed;
	Text printed;
} T;

static void check_at(T *t, bool good, const char *what, int line) {
	if (good) {
		t->passed++;
		return;
	}
	t->failed++;
	printf("test_eval.c:%d: %s\n", line, what);
}
#define CHECK(t, x) check_at((t), (x), #x, __LINE__)

static void to_stdout(void *ud, const char *text, size_t n) {
	(void)ud;
	fwrite(text, 1, n, stdout);
}

static void show_diags(T *t) {
	for (uint32_t i = 0; i < diag_total(t->c); i++) diag_render(t->c, diag_at(t->c, i), false, to_stdout, NULL);
}

/* ---- numbers and tensors ---------------------------------------------------------------------------------------------- */

static uint64_t bits(T *t) {
	t->seed = t->seed * 6364136223846793005u + 1442695040888963407u;
	return t->seed >> 16 ^ t->seed << 20;
}

static double uniform(T *t, double lo, double hi) {
	return lo + (hi - lo) * (double)(bits(t) % 1000003) / 1000003;
}

static int64_t below(T *t, int64_t n) {
	return (int64_t)(bits(t) % (uint64_t)n);
}

static void put(Dtype d, void *p, double re, double im) {
	double _Complex z = __builtin_complex(re, im);
	scalar_convert(DT_C128, &z, d, p);
}

static double _Complex at(const Tensor *x, const int64_t *index) {
	int64_t offset = 0;
	for (uint32_t i = 0; i < x->rank; i++) offset += index[i] * x->stride[i];
	double _Complex z;
	scalar_convert((Dtype)x->dtype, x->data + offset * (int64_t)dtype_size((Dtype)x->dtype), DT_C128, &z);
	return z;
}

static void fill(T *t, Tensor *x, double lo, double hi) {
	char *p = x->data;
	for (int64_t i = 0; i < x->count; i++, p += dtype_size((Dtype)x->dtype))
		put((Dtype)x->dtype, p, dtype_is_int((Dtype)x->dtype) ? floor(uniform(t, lo, hi)) : x->dtype == DT_BOOL ? (double)below(t, 2) : uniform(t, lo, hi),
		    uniform(t, lo, hi));
}

static Tensor *tensor(T *t, Dtype d, uint32_t rank, const int64_t *shape, double lo, double hi) {
	Tensor *x = tensor_new(t->c, d, rank, shape);
	fill(t, x, lo, hi);
	return x;
}
#define SHAPE(...) (sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), ((int64_t[]){__VA_ARGS__})

/* Next index in row-major order; false after the last. */
static bool step(uint32_t rank, const int64_t *shape, int64_t *index) {
	for (uint32_t i = rank; i-- > 0;) {
		if (++index[i] < shape[i]) return true;
		index[i] = 0;
	}
	return false;
}

static double off(double _Complex a, double _Complex b) {
	return cabs(a - b) / fmax(1, cabs(b));
}

/* Largest relative difference to an array of numbers in row-major order. */
static double distance(Value v, const double _Complex *want) {
	double worst = 0;
	if (v.kind == V_SCALAR) {
		double _Complex z;
		scalar_convert((Dtype)v.dtype, value_scalar_bytes(&v), DT_C128, &z);
		return off(z, want[0]);
	}
	if (v.kind != V_TENSOR) return INFINITY;
	int64_t index[MAX_RANK] = {0};
	for (int64_t i = 0; i < v.tensor->count; i++) {
		double d = off(at(v.tensor, index), want[i]);
		if (!(d <= worst)) worst = d;
		step(v.tensor->rank, v.tensor->shape, index);
	}
	return worst;
}

/* ---- building and running ------------------------------------------------------------------------------------------------ */

static TypeId type_like(T *t, Value v, bool symbolic) {
	if (!value_is_array(v)) return type_dyn(t->c);
	if (v.kind == V_SCALAR) return type_scalar(t->c, (Dtype)v.dtype);
	Dim dims[MAX_RANK];
	for (uint32_t i = 0; i < v.tensor->rank; i++)
		dims[i] = symbolic && v.tensor->shape[i] > DIM_SMALL ? build_fresh_dim(t->b, atom_f(t->c, "n%u", i), 0)
		                                                     : dim_const(t->c, v.tensor->shape[i]);
	return type_tensor(t->c, (Dtype)v.tensor->dtype, v.tensor->rank, dims);
}

static void begin(T *t) {
	t->b = build_begin(t->c, atom(t->c, "f"), 0, NULL);
}
static Ref param(T *t, TypeId type) {
	return build_param(t->b, type, 0);
}
static TypeId num(T *t, Dtype d) {
	return type_scalar(t->c, d);
}
static Dim len(T *t, int64_t n) {
	return dim_const(t->c, n);
}
static TypeId vec(T *t, Dtype d, int64_t n) {
	Dim k = len(t, n);
	return type_tensor(t->c, d, 1, &k);
}
static TypeId vec_of(T *t, Dtype d, Dim n) {
	return type_tensor(t->c, d, 1, &n);
}

typedef struct Make { /* a function to build, and what it is built from */
	T *t;
	void (*make)(T *t, const void *what);
	const void *what;
} Make;

static void run_make(Ctx *c, void *arg) {
	(void)c;
	Make *m = arg;
	m->make(m->t, m->what);
}

/* Builds t->f; false when that failed. */
static bool build_it(T *t, void (*make)(T *, const void *), const void *what) {
	t->f = NULL;
	Make m = {t, make, what};
	if (ctx_protect(t->c, run_make, &m) == ST_OK && t->f) return true;
	printf("building failed:\n");
	show_diags(t);
	t->failed++;
	diag_clear(t->c);
	return false;
}

static Status call(T *t, const Value *args, Value *results) {
	Code *code = code_of(t->c, t->f);
	return code ? code_call(t->c, code, args, results) : ST_NOMEM;
}

/* Builds, runs once, drops the function. */
static Status once(T *t, void (*make)(T *, const void *), const void *what, const Value *args, Value *results) {
	if (!build_it(t, make, what)) return ST_INTERNAL;
	Status st = call(t, args, results);
	fn_unref(t->f);
	return st;
}

static void drop(Value *v, uint32_t n) {
	for (uint32_t i = 0; i < n; i++) {
		value_unref(v[i]);
		v[i] = (Value){.kind = V_UNSET};
	}
}

static bool failed_with(T *t, Status st, Status want, DiagCode code, const char *words) {
	bool good = st == want && diag_total(t->c) == 1 && diag_at(t->c, 0)->code == code && (!words || strstr(diag_at(t->c, 0)->message, words));
	if (!good) {
		printf("status %d:\n", (int)st);
		show_diags(t);
	}
	diag_clear(t->c);
	return good;
}

/* ---- element-wise ----------------------------------------------------------------------------------------------------------- */

typedef struct Ew {
	Op op;
	Value args[3];
	uint32_t n;
} Ew;

static void make_ew(T *t, const void *what) {
	const Ew *e = what;
	begin(t);
	Ref x[3], r;
	TypeId first = type_like(t, e->args[e->op == OP_SELECT], true);
	for (uint32_t k = 0; k < e->n; k++) {
		TypeId type = e->args[0].kind == V_SCALAR ? type_like(t, e->args[k], false) : type_with_dtype(t->c, first, value_dtype(e->args[k]));
		x[k] = param(t, type);
	}
	r = build(t->b, e->op, e->n, x, 0, NULL);
	t->f = build_end(t->b, 1, &r);
}

/* Two views of the same numbers: contiguous, transposed, every other element, one element stretched. */
enum { FLAT, TURNED, SPARSE, SPLAT, LAYOUTS };

static Tensor *laid_out(T *t, Dtype d, int layout, int64_t n, double lo, double hi) {
	if (layout == FLAT) return tensor(t, d, SHAPE(n, 3), lo, hi);
	Tensor *base = layout == TURNED ? tensor(t, d, SHAPE(3, n), lo, hi) : layout == SPARSE ? tensor(t, d, SHAPE(n, 7), lo, hi) : tensor(t, d, SHAPE(1, 1), lo, hi);
	int64_t stride[2] = {layout == TURNED ? 1 : layout == SPARSE ? 7 : 0, layout == TURNED ? n : layout == SPARSE ? 2 : 0};
	Tensor *view = tensor_view(t->c, base, 2, (int64_t[]){n, 3}, stride, 0);
	tensor_unref(base);
	return view;
}

static const char *element_at(const Tensor *x, int64_t i) {
	return x->data + (i / x->shape[1] * x->stride[0] + i % x->shape[1] * x->stride[1]) * (int64_t)dtype_size((Dtype)x->dtype);
}

static bool ew_agrees(T *t, Ew *e) {
	Value r;
	Status st = once(t, make_ew, e, e->args, &r);
	if (st != ST_OK) {
		show_diags(t);
		diag_clear(t->c);
		return false;
	}
	bool good = true;
	Dtype d = value_dtype(e->args[0]);
	const Tensor *x = e->args[0].tensor, *y = e->n > 1 ? e->args[1].tensor : NULL;
	for (int64_t i = 0; i < r.tensor->count && good; i++) {
		char want[16] = {0};
		const char *got = element_at(r.tensor, i);
		size_t size = dtype_size((Dtype)r.tensor->dtype);
		good = scalar_apply(e->op, d, element_at(x, i), y ? element_at(y, i) : NULL, want) == ST_OK && !memcmp(want, got, size);
		if (!good) printf("%s of %s differs at %lld\n", prims[e->op].name, dtype_name(d), (long long)i);
	}
	drop(&r, 1);
	return good;
}

static void test_elementwise(T *t) {
	for (Op op = 1; op < OP_COUNT; op++) {
		if (!prims[op].elementwise) continue;
		for (Dtype d = 0; d < DT_COUNT; d++) {
			if (!(prims[op].kinds & dtype_kind(d))) continue;
			const bool whole = dtype_is_int(d) || d == DT_BOOL;
			const double lo = op == OP_POW && whole ? 0 : (op == OP_MOD || op == OP_FLOORDIV) && whole ? 1 : prims[op].lo;
			const double hi = whole ? 6 : prims[op].hi;
			for (int layout = 0; layout < LAYOUTS * LAYOUTS; layout++) {
				if (prims[op].nargs == 1 && layout >= LAYOUTS) continue;
				int64_t n = layout == 0 ? 3001 : 400;
				Ew e = {.op = op, .n = (uint32_t)prims[op].nargs};
				e.args[0] = value_tensor(laid_out(t, d, layout % LAYOUTS, n, op == OP_POW || !whole ? lo : -6, hi));
				if (e.n > 1) e.args[1] = value_tensor(laid_out(t, d, layout / LAYOUTS, n, lo, hi));
				CHECK(t, ew_agrees(t, &e));
				drop(e.args, e.n);
			}
			/* unboxed */
			char xb[16], yb[16], want[16] = {0};
			put(d, xb, uniform(t, prims[op].lo, prims[op].hi), 0.25);
			put(d, yb, whole ? 2 : uniform(t, prims[op].lo, prims[op].hi), 0.5);
			Ew e = {.op = op, .n = (uint32_t)prims[op].nargs, .args = {value_scalar_from_bytes(d, xb), value_scalar_from_bytes(d, yb)}};
			Value r = {.kind = V_UNSET};
			CHECK(t, once(t, make_ew, &e, e.args, &r) == ST_OK);
			CHECK(t, scalar_apply(op, d, xb, yb, want) == ST_OK && r.kind == V_SCALAR);
			CHECK(t, value_identical(r, value_scalar_from_bytes((Dtype)r.dtype, want)));
		}
	}
}

/* What the vector form of max and min does with NaN and the two zeros. */
static void test_extremes(T *t) {
	static const double odd[] = {0.0, -0.0, NAN, 1, -1, INFINITY, -INFINITY};
	for (Op op = OP_MAX; op <= OP_MIN; op++) {
		double x[49 + 15], y[49 + 15], got[49 + 15];
		float xf[49 + 15], yf[49 + 15], gotf[49 + 15];
		for (int i = 0; i < 64; i++) {
			xf[i] = (float)(x[i] = odd[i % 49 / 7]);
			yf[i] = (float)(y[i] = odd[i % 49 % 7]);
		}
		ew_kernel(DT_F64)(op, 64, got, x, y, 0);
		ew_kernel(DT_F32)(op, 64, gotf, xf, yf, 0);
		bool good = true;
		for (int i = 0; i < 64; i++) {
			double w;
			float wf;
			scalar_apply(op, DT_F64, &x[i], &y[i], &w);
			scalar_apply(op, DT_F32, &xf[i], &yf[i], &wf);
			good &= isnan(w) ? isnan(got[i]) : !memcmp(&w, &got[i], sizeof w);
			good &= isnan(wf) ? isnan(gotf[i]) : !memcmp(&wf, &gotf[i], sizeof wf);
		}
		CHECK(t, good);
	}
}

static void test_integer_errors(T *t) {
	for (int k = 0; k < 3; k++) {
		static const Op ops[] = {OP_MOD, OP_FLOORDIV, OP_POW};
		Tensor *x = tensor(t, DT_I64, SHAPE(20000), 1, 9), *y = tensor(t, DT_I64, SHAPE(20000), 1, 4);
		((int64_t *)(void *)y->data)[17000] = k == 2 ? -3 : 0;
		Ew e = {.op = ops[k], .n = 2, .args = {value_tensor(x), value_tensor(y)}};
		Value r;
		CHECK(t, failed_with(t, once(t, make_ew, &e, e.args, &r), ST_ERROR, E_ARITH, k == 2 ? "-3" : "zero"));
		drop(e.args, 2);
		Ew s = {.op = ops[k], .n = 2, .args = {value_i64(5), value_i64(k == 2 ? -3 : 0)}};
		CHECK(t, failed_with(t, once(t, make_ew, &s, s.args, &r), ST_ERROR, E_ARITH, k == 2 ? "-3" : "zero"));
	}
}

static void test_select(T *t) {
	for (Dtype d = 0; d < DT_COUNT; d++) {
		for (int layout = 0; layout < 64; layout++) {
			Ew e = {.op = OP_SELECT, .n = 3};
			e.args[0] = value_tensor(laid_out(t, DT_BOOL, layout % 4, 500, 0, 1));
			e.args[1] = value_tensor(laid_out(t, d, layout / 4 % 4, 500, -5, 5));
			e.args[2] = value_tensor(laid_out(t, d, layout / 16, 500, -5, 5));
			Value r;
			bool good = once(t, make_ew, &e, e.args, &r) == ST_OK;
			for (int64_t i = 0; good && i < 1500; i++) {
				const Tensor *chosen = e.args[*element_at(e.args[0].tensor, i) ? 1 : 2].tensor;
				good = !memcmp(element_at(chosen, i), element_at(r.tensor, i), dtype_size(d));
			}
			CHECK(t, good);
			drop(&r, 1);
			drop(e.args, 3);
		}
	}
	Ew e = {.op = OP_SELECT, .n = 3, .args = {value_bool(false), value_f64(1), value_f64(2)}};
	Value r;
	CHECK(t, once(t, make_ew, &e, e.args, &r) == ST_OK && r.f == 2);
}

typedef struct Cast {
	Value x;
	Dtype to;
} Cast;
static void make_cast(T *t, const void *what) {
	const Cast *k = what;
	begin(t);
	Ref r = build_convert(t->b, param(t, type_like(t, k->x, true)), k->to);
	t->f = build_end(t->b, 1, &r);
}

static void test_convert(T *t) {
	for (Dtype from = 0; from < DT_COUNT; from++) {
		for (Dtype to = 0; to < DT_COUNT; to++) {
			for (int layout = 0; layout < 2; layout++) {
				Cast k = {value_tensor(laid_out(t, from, layout, 3000, -4, 4)), to};
				Value r;
				bool good = once(t, make_cast, &k, &k.x, &r) == ST_OK;
				for (int64_t i = 0; good && i < 9000; i++) {
					char want[16] = {0};
					scalar_convert(from, element_at(k.x.tensor, i), to, want);
					good = !memcmp(want, element_at(r.tensor, i), dtype_size(to));
				}
				CHECK(t, good);
				drop(&r, 1);
				drop(&k.x, 1);
			}
		}
	}
	Cast k = {value_f64(-2.7), DT_I32};
	Value r;
	CHECK(t, once(t, make_cast, &k, &k.x, &r) == ST_OK && r.dtype == DT_I32 && r.i32 == -2);
}

/* ---- structure ------------------------------------------------------------------------------------------------------------------ */

static void make_structure(T *t, const void *what) {
	(void)what;
	begin(t);
	Dim n = build_fresh_dim(t->b, atom(t->c, "n"), 0), m = len(t, 3);
	Ref x = param(t, type_tensor(t->c, DT_F64, 2, (Dim[]){n, m})), s = param(t, num(t, DT_F64));
	Ref r[12];
	Dim one = len(t, 1), two = len(t, 2);
	r[0] = build_transpose(t->b, x, (int[]){1, 0});
	r[1] = build_reshape(t->b, x, 1, (Dim[]){dim_mul(t->c, n, m)});
	r[2] = build_reshape(t->b, r[0], 1, (Dim[]){dim_mul(t->c, n, m)});
	r[3] = build_broadcast(t->b, x, 3, (Dim[]){two, n, m}, (int[]){1, 2});
	r[4] = build_broadcast(t->b, s, 2, (Dim[]){n, two}, (int[]){0});
	r[5] = build_slice(t->b, x, (Dim[]){one, two}, (Dim[]){dim_sub(t->c, n, two), two}, (int64_t[]){1, -2});
	r[6] = build_slice(t->b, x, (Dim[]){dim_sub(t->c, n, one), len(t, 0)}, (Dim[]){n, m}, (int64_t[]){-1, 1});
	r[7] = build_pad(t->b, x, (Dim[]){two, len(t, 4)}, (Dim[]){dim_add(t->c, dim_mul(t->c, two, n), two), len(t, 6)}, (int64_t[]){2, -2});
	r[8] = build_concat(t->b, 3, (Ref[]){x, r[6], x}, 0);
	r[9] = build_concat(t->b, 2, (Ref[]){r[0], r[0]}, 1);
	r[10] = build_iota(t->b, DT_F32, n);
	r[11] = build_extent(t->b, dim_sub(t->c, n, one));
	t->f = build_end(t->b, 12, r);
}

static void test_structure(T *t) {
	enum { N = 21 };
	Tensor *x = tensor(t, DT_F64, SHAPE(N, 3), -1, 1);
	const double(*v)[3] = (const double(*)[3])(void *)x->data;
	Value args[2] = {value_tensor(x), value_f64(7)}, r[12];
	if (once(t, make_structure, NULL, args, r) != ST_OK) {
		show_diags(t);
		CHECK(t, false);
		return;
	}
	double _Complex w[400];
	int64_t k;
	k = 0;
	for (int j = 0; j < 3; j++) for (int i = 0; i < N; i++) w[k++] = v[i][j];
	CHECK(t, distance(r[0], w) == 0 && r[0].tensor->buffer == x->buffer && r[0].tensor->shape[1] == N);
	CHECK(t, distance(r[2], w) == 0 && r[2].tensor->rank == 1);
	k = 0;
	for (int c = 0; c < 2; c++) for (int i = 0; i < N; i++) for (int j = 0; j < 3; j++) w[k++] = v[i][j];
	CHECK(t, distance(r[1], w) == 0 && r[1].tensor->buffer == x->buffer);
	CHECK(t, distance(r[3], w) == 0 && r[3].tensor->buffer == x->buffer && r[3].tensor->stride[0] == 0);
	for (k = 0; k < 2 * N; k++) w[k] = 7;
	CHECK(t, distance(r[4], w) == 0 && r[4].tensor->count == 2 * N);
	k = 0;
	for (int i = 1; i < N - 1; i++) for (int j = 0; j < 2; j++) w[k++] = v[i][2 - 2 * j];
	CHECK(t, distance(r[5], w) == 0 && r[5].tensor->count == k);
	k = 0;
	for (int i = N; i-- > 0;) for (int j = 0; j < 3; j++) w[k++] = v[i][j];
	CHECK(t, distance(r[6], w) == 0 && r[6].tensor->buffer == x->buffer);
	for (k = 0; k < (2 * N + 2) * 6; k++) w[k] = 0;
	for (int i = 0; i < N; i++) for (int j = 0; j < 3; j++) w[(2 + 2 * i) * 6 + 4 - 2 * j] = v[i][j];
	CHECK(t, distance(r[7], w) == 0 && r[7].tensor->count == k);
	k = 0;
	for (int i = 0; i < N * 3; i++) w[k++] = v[i / 3][i % 3];
	for (int i = N; i-- > 0;) for (int j = 0; j < 3; j++) w[k++] = v[i][j];
	for (int i = 0; i < N * 3; i++) w[k++] = v[i / 3][i % 3];
	CHECK(t, distance(r[8], w) == 0 && r[8].tensor->shape[0] == 3 * N);
	k = 0;
	for (int j = 0; j < 3; j++) for (int i = 0; i < 2 * N; i++) w[k++] = v[i % N][j];
	CHECK(t, distance(r[9], w) == 0);
	for (k = 0; k < N; k++) w[k] = k;
	CHECK(t, distance(r[10], w) == 0 && r[10].tensor->dtype == DT_F32);
	CHECK(t, r[11].i == N - 1);
	drop(r, 12);
	drop(args, 1);
}

/* Slices whose bounds are only known when running, out of range. */
static void make_bad_slice(T *t, const void *what) {
	(void)what;
	begin(t);
	Dim n = build_fresh_dim(t->b, atom(t->c, "n"), 0);
	Ref x = param(t, vec_of(t, DT_F64, n)), k = param(t, num(t, DT_I64));
	Dim length = build_dim_of(t->b, k, atom(t->c, "k"));
	Ref r = build_slice(t->b, x, (Dim[]){len(t, 2)}, &length, NULL);
	t->f = build_end(t->b, 1, &r);
}

static void test_bounds(T *t) {
	Tensor *x = tensor(t, DT_F64, SHAPE(20), 0, 1);
	Value r, args[2] = {value_tensor(x), value_i64(18)};
	CHECK(t, once(t, make_bad_slice, NULL, args, &r) == ST_OK && r.tensor->count == 18);
	drop(&r, 1);
	args[1] = value_i64(19);
	CHECK(t, failed_with(t, once(t, make_bad_slice, NULL, args, &r), ST_ERROR, E_INDEX, "length 20"));
	args[1] = value_i64(-1);
	CHECK(t, failed_with(t, once(t, make_bad_slice, NULL, args, &r), ST_ERROR, E_VALUE, "negative"));
	args[1] = value_i64(INT64_MAX);
	CHECK(t, failed_with(t, once(t, make_bad_slice, NULL, args, &r), ST_ERROR, E_INDEX, NULL));
	drop(args, 1);
}

/* push in a loop: n rows of growing content. */
static void make_push(T *t, const void *what) {
	(void)what;
	begin(t);
	Ref n = param(t, num(t, DT_I64));
	Dim none = len(t, 0), two = len(t, 2), k = build_fresh_dim(t->b, atom(t->c, "k"), 0);
	Ref p[3];
	Ref init[2] = {build_zeros(t->b, vec_of(t, DT_I64, none)), build_zeros(t->b, type_tensor(t->c, DT_F64, 2, (Dim[]){none, two}))};
	OpenRegion *o = build_region_begin(t->b, 3, (TypeId[]){num(t, DT_I64), vec_of(t, DT_I64, k), type_tensor(t->c, DT_F64, 2, (Dim[]){k, two})}, p);
	Ref row = build_broadcast(t->b, build_convert(t->b, p[0], DT_F64), 1, &two, NULL);
	Ref r[2] = {build(t->b, OP_PUSH, 2, (Ref[]){p[1], p[0]}, 0, NULL), build(t->b, OP_PUSH, 2, (Ref[]){p[2], row}, 0, NULL)};
	build_for(t->b, n, 2, init, build_region_end(t->b, o, 2, r), r);
	t->f = build_end(t->b, 2, r);
}

static void test_push(T *t) {
	Value r[2], n = value_i64(1000);
	if (!build_it(t, make_push, NULL)) return;
	CHECK(t, call(t, &n, r) == ST_OK);
	bool good = r[0].tensor->count == 1000 && r[1].tensor->shape[0] == 1000;
	for (int64_t i = 0; good && i < 1000; i++)
		good = creal(at(r[0].tensor, &i)) == (double)i && creal(at(r[1].tensor, (int64_t[]){i, 1})) == (double)i;
	CHECK(t, good);
	drop(r, 2);
	uint64_t before = heap_allocation_count(t->c);
	CHECK(t, call(t, &n, r) == ST_OK);
	CHECK(t, heap_allocation_count(t->c) - before < 5000); /* rows: a broadcast view each; the arrays grow by doubling */
	drop(r, 2);
	fn_unref(t->f);
}

/* ---- reductions -------------------------------------------------------------------------------------------------------------------- */

typedef struct Reduce {
	Op op;
	Value x;
	uint32_t naxes;
	int axes[3];
} Reduce;

static void make_reduce(T *t, const void *what) {
	const Reduce *q = what;
	begin(t);
	Ref x = param(t, type_like(t, q->x, true)), r;
	if (q->op == OP_CUMSUM || q->op == OP_CUMPROD || q->op == OP_ARGSORT)
		r = build(t->b, q->op, 1, &x, attr_intern(t->c, (int64_t[]){q->axes[0], q->axes[1]}, 2), NULL);
	else if (q->op == OP_ARGMAX) r = build(t->b, q->op, 1, &x, attr_intern(t->c, (int64_t[]){q->axes[0]}, 1), NULL);
	else r = build_reduce(t->b, q->op, x, q->naxes, q->axes);
	t->f = build_end(t->b, 1, &r);
}

/* Three axes in memory orders that exercise rows, columns and copies. */
static Tensor *ordered(T *t, Dtype d, int order, const int64_t *shape) {
	static const int orders[4][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {0, 2, 1}};
	int64_t base_shape[3], stride[3], s = 1;
	for (int k = 0; k < 3; k++) base_shape[k] = shape[orders[order][k]];
	Tensor *base = tensor(t, d, 3, base_shape, d == DT_BOOL ? 0 : -2, 2);
	for (int k = 3; k-- > 0;) {
		stride[orders[order][k]] = s;
		s *= base_shape[k];
	}
	Tensor *view = tensor_view(t->c, base, 3, shape, stride, 0);
	tensor_unref(base);
	return view;
}

static double reduce_error(T *t, const Reduce *q) {
	const Tensor *x = q->x.tensor;
	Value r;
	if (once(t, make_reduce, q, &q->x, &r) != ST_OK) {
		show_diags(t);
		diag_clear(t->c);
		return INFINITY;
	}
	bool gone[3] = {false};
	for (uint32_t i = 0; i < q->naxes; i++) gone[q->axes[i]] = true;
	int64_t kept = 1, at_kept[3];
	for (int k = 0; k < 3; k++) if (!gone[k]) kept *= x->shape[k];
	double _Complex *w = malloc((size_t)(kept + 1) * sizeof *w);
	bool *set = calloc((size_t)kept + 1, 1);
	int64_t index[3] = {0};
	do {
		int64_t to = 0;
		for (int k = 0; k < 3; k++) if (!gone[k]) to = to * x->shape[k] + index[k];
		(void)at_kept;
		double _Complex v = at(x, index);
		if (!set[to]) w[to] = v;
		else if (q->op == OP_REDUCE_SUM) w[to] += v;
		else if (q->op == OP_REDUCE_PROD) w[to] *= v;
		else if (q->op == OP_REDUCE_MAX) w[to] = fmax(creal(w[to]), creal(v));
		else w[to] = fmin(creal(w[to]), creal(v));
		set[to] = true;
	} while (step(3, x->shape, index));
	double e = distance(r, w);
	free(w);
	free(set);
	drop(&r, 1);
	return e;
}

static void test_reduce(T *t) {
	static const int subsets[7][4] = {{1, 0}, {1, 1}, {1, 2}, {2, 0, 1}, {2, 0, 2}, {2, 1, 2}, {3, 0, 1, 2}};
	static const int64_t shapes[5][3] = {{7, 5, 3}, {130, 3, 40}, {3, 200, 17}, {2000, 1, 2}, {5, 20, 1200}};
	for (Dtype d = 0; d < DT_COUNT; d++)
		for (Op op = OP_REDUCE_SUM; op <= OP_REDUCE_MIN; op++)
			for (int shape = 0; shape < 5; shape++)
				for (int order = 0; order < 4; order++)
					for (int k = 0; k < 7; k++) {
						const bool extreme = op == OP_REDUCE_MAX || op == OP_REDUCE_MIN;
						if ((d == DT_BOOL && !extreme) || (dtype_is_complex(d) && extreme)) continue;
						if (op == OP_REDUCE_PROD && shape) continue; /* products of many numbers overflow */
						Reduce q = {.op = op, .x = value_tensor(ordered(t, d, order, shapes[shape])), .naxes = (uint32_t)subsets[k][0]};
						for (int i = 0; i < subsets[k][0]; i++) q.axes[i] = subsets[k][i + 1];
						double limit = dtype_is_inexact(d) && !extreme ? (dtype_real_of(d) == DT_F32 ? 2e-4 : 1e-12) : 0;
						double e = reduce_error(t, &q);
						if (!(e <= limit)) printf("%s %s shape %d order %d axes %d: %g\n", prims[op].name, dtype_name(d), shape, order, k, e);
						CHECK(t, e <= limit);
						drop(&q.x, 1);
					}
}

static void test_reduce_edges(T *t) {
	/* a sum of 3 million equal numbers: naive summation is off by 1e-11 */
	Reduce q = {.op = OP_REDUCE_SUM, .naxes = 1, .axes = {0}};
	Value r;
	for (int columns = 0; columns < 2; columns++) {
		Tensor *x = columns ? tensor_new(t->c, DT_F64, SHAPE(1000000, 3)) : tensor_new(t->c, DT_F64, SHAPE(3000000));
		for (int64_t i = 0; i < x->count; i++) ((double *)(void *)x->data)[i] = 0.1;
		q.x = value_tensor(x);
		CHECK(t, once(t, make_reduce, &q, &q.x, &r) == ST_OK);
		double sum = columns ? ((double *)(void *)r.tensor->data)[2] : r.f;
		CHECK(t, fabs(sum / (columns ? 100000.0 : 300000.0) - 1) < 1e-15);
		drop(&r, 1);
		drop(&q.x, 1);
	}
	Tensor *x = tensor(t, DT_F64, SHAPE(1000), 0, 1);
	((double *)(void *)x->data)[700] = NAN;
	q.x = value_tensor(x);
	for (Op op = OP_REDUCE_MAX; op <= OP_ARGMAX; op++) {
		q.op = op;
		CHECK(t, once(t, make_reduce, &q, &q.x, &r) == ST_OK);
		CHECK(t, op == OP_ARGMAX ? r.i == 700 : isnan(r.f));
	}
	drop(&q.x, 1);
	q.x = value_tensor(tensor(t, DT_F64, SHAPE(0), 0, 1));
	for (Op op = OP_REDUCE_SUM; op <= OP_ARGMAX; op++) {
		q.op = op;
		if (!build_it(t, make_reduce, &q)) continue;
		Status st = call(t, &q.x, &r);
		if (op <= OP_REDUCE_PROD) CHECK(t, st == ST_OK && r.f == (op == OP_REDUCE_PROD));
		else CHECK(t, failed_with(t, st, ST_ERROR, E_VALUE, "of nothing"));
		fn_unref(t->f);
	}
	drop(&q.x, 1);
}

static void test_along_axis(T *t) {
	static const int64_t shape[3] = {4, 60, 3};
	for (int order = 0; order < 4; order++) {
		for (int axis = 0; axis < 3; axis++) {
			for (int reverse = 0; reverse < 2; reverse++) {
				for (int kind = 0; kind < 4; kind++) {
					static const Op ops[] = {OP_CUMSUM, OP_CUMPROD, OP_ARGSORT, OP_ARGMAX};
					const Dtype d = kind == 2 && order == 1 ? DT_I32 : order == 2 ? DT_F32 : DT_F64;
					Reduce q = {.op = ops[kind], .naxes = 1, .axes = {axis, reverse}};
					q.x = value_tensor(ordered(t, d, order, shape));
					const Tensor *x = q.x.tensor;
					Value r;
					bool good = once(t, make_reduce, &q, &q.x, &r) == ST_OK;
					int64_t index[3] = {0}, n = shape[axis];
					do {
						if (index[axis]) continue;
						double acc = kind == 1;
						int64_t best = 0, place[3];
						for (int64_t i = 0; i < n && good; i++) {
							int64_t k = reverse && kind < 2 ? n - 1 - i : i;
							memcpy(place, index, sizeof place);
							place[axis] = k;
							double v = creal(at(x, place));
							if (kind < 2) {
								acc = kind ? acc * v : acc + v;
								good = off(creal(at(r.tensor, place)), acc) < (d == DT_F32 ? 1e-4 : 1e-13);
							} else if (kind == 2 && i) {
								int64_t b = (int64_t)creal(at(r.tensor, place));
								place[axis] = i - 1;
								int64_t a = (int64_t)creal(at(r.tensor, place));
								place[axis] = a;
								double va = creal(at(x, place));
								place[axis] = b;
								double vb = creal(at(x, place));
								good = (reverse ? va > vb : va < vb) || (va == vb && a < b);
							} else if (kind == 3) {
								place[axis] = best;
								if (v > creal(at(x, place))) best = i;
							}
						}
						if (kind == 3 && good) {
							int64_t short_index[2], m = 0;
							for (int k = 0; k < 3; k++) if (k != axis) short_index[m++] = index[k];
							good = (int64_t)creal(at(r.tensor, short_index)) == best;
						}
					} while (step(3, shape, index));
					CHECK(t, good);
					drop(&r, 1);
					drop(&q.x, 1);
				}
			}
		}
	}
}

static void test_sort_edges(T *t) {
	static const double v[] = {3, NAN, -0.0, 0.0, -INFINITY, INFINITY, NAN, -1, 0.0, -0.0};
	static const int64_t up[] = {4, 7, 2, 3, 8, 9, 0, 5, 1, 6}, down[] = {5, 0, 2, 3, 8, 9, 7, 4, 1, 6};
	Tensor *x = tensor_new(t->c, DT_F64, SHAPE(10));
	memcpy(x->data, v, sizeof v);
	for (int descending = 0; descending < 2; descending++) {
		Reduce q = {.op = OP_ARGSORT, .x = value_tensor(x), .axes = {0, descending}};
		Value r;
		CHECK(t, once(t, make_reduce, &q, &q.x, &r) == ST_OK && !memcmp(r.tensor->data, descending ? down : up, sizeof up));
		drop(&r, 1);
	}
	tensor_unref(x);
}

/* ---- contraction ------------------------------------------------------------------------------------------------------------------------ */

typedef struct Dot {
	Value x[2];
	uint32_t ncontract, nbatch;
	int xc[3], yc[3], xb[3], yb[3];
	bool same; /* both operands are the first parameter */
} Dot;

static void make_dot(T *t, const void *what) {
	const Dot *q = what;
	begin(t);
	Type tx = *type_of(t->c, type_like(t, q->x[0], true)), ty = *type_of(t->c, type_like(t, q->x[1], true));
	for (uint32_t k = 0; k < q->ncontract; k++) ty.dims[q->yc[k]] = tx.dims[q->xc[k]];
	for (uint32_t k = 0; k < q->nbatch; k++) ty.dims[q->yb[k]] = tx.dims[q->xb[k]];
	Ref x = param(t, type_tensor(t->c, (Dtype)tx.dtype, tx.rank, tx.dims));
	Ref y = q->same ? x : param(t, type_tensor(t->c, (Dtype)ty.dtype, ty.rank, ty.dims));
	Ref r = build_dot(t->b, x, y, q->ncontract, q->xc, q->yc, q->nbatch, q->xb, q->yb);
	t->f = build_end(t->b, 1, &r);
}

/* Compares with plain loops over every result and every contracted index. */
static double dot_error(T *t, const Dot *q, Value *keep) {
	const Tensor *x = q->x[0].tensor, *y = q->same ? x : q->x[1].tensor;
	Value r;
	if (once(t, make_dot, q, q->x, &r) != ST_OK) {
		show_diags(t);
		diag_clear(t->c);
		return INFINITY;
	}
	int fx[8], fy[8], nx = 0, ny = 0;
	for (int i = 0; i < x->rank; i++) {
		bool used = false;
		for (uint32_t k = 0; k < q->ncontract; k++) used |= q->xc[k] == i;
		for (uint32_t k = 0; k < q->nbatch; k++) used |= q->xb[k] == i;
		if (!used) fx[nx++] = i;
	}
	for (int i = 0; i < y->rank; i++) {
		bool used = false;
		for (uint32_t k = 0; k < q->ncontract; k++) used |= q->yc[k] == i;
		for (uint32_t k = 0; k < q->nbatch; k++) used |= q->yb[k] == i;
		if (!used) fy[ny++] = i;
	}
	int64_t out_shape[8], index[8] = {0}, inner_shape[8];
	uint32_t rank = 0;
	for (uint32_t k = 0; k < q->nbatch; k++) out_shape[rank++] = x->shape[q->xb[k]];
	for (int k = 0; k < nx; k++) out_shape[rank++] = x->shape[fx[k]];
	for (int k = 0; k < ny; k++) out_shape[rank++] = y->shape[fy[k]];
	for (uint32_t k = 0; k < q->ncontract; k++) inner_shape[k] = x->shape[q->xc[k]];
	double worst = 0;
	Tensor *rt = value_to_tensor(t->c, r);
	if (rt->rank != rank || memcmp(rt->shape, out_shape, rank * sizeof *out_shape)) worst = INFINITY;
	bool sampled = rt->count > 3000; /* large results: every 37th element */
	int64_t count = 0;
	do {
		if (sampled && count++ % 37) continue;
		int64_t ix[8], iy[8], inner[8] = {0};
		uint32_t a = 0;
		for (uint32_t k = 0; k < q->nbatch; k++, a++) ix[q->xb[k]] = iy[q->yb[k]] = index[a];
		for (int k = 0; k < nx; k++, a++) ix[fx[k]] = index[a];
		for (int k = 0; k < ny; k++, a++) iy[fy[k]] = index[a];
		double _Complex sum = 0;
		do {
			for (uint32_t k = 0; k < q->ncontract; k++) ix[q->xc[k]] = iy[q->yc[k]] = inner[k];
			sum += at(x, ix) * at(y, iy);
		} while (step(q->ncontract, inner_shape, inner));
		double e = off(at(rt, index), sum);
		if (!(e <= worst)) worst = e;
	} while (step(rank, out_shape, index));
	tensor_unref(rt);
	if (keep) *keep = r;
	else drop(&r, 1);
	return worst;
}

static Tensor *permuted(T *t, Dtype d, uint32_t rank, const int64_t *shape, const int *perm) {
	int64_t base[MAX_RANK] = {0}, stride[MAX_RANK] = {0}, s = 1;
	for (uint32_t k = 0; k < rank; k++) base[k] = shape[perm[k]];
	Tensor *b = tensor(t, d, rank, base, -2, 2);
	for (uint32_t k = rank; k-- > 0; s *= base[k]) stride[perm[k]] = s;
	Tensor *v = tensor_view(t->c, b, rank, shape, stride, 0);
	tensor_unref(b);
	return v;
}

static double dot_limit(Dtype d) {
	return !dtype_is_inexact(d) ? 0 : dtype_real_of(d) == DT_F32 ? 2e-4 : 1e-12;
}

static void test_dot(T *t) {
	static const int64_t sizes[][3] = {{1, 1, 1}, {3, 4, 5}, {1, 40, 60}, {50, 1, 40}, {40, 40, 1}, {33, 20, 47}, {64, 65, 66}, {300, 3, 17}, {2, 900, 2}, {600, 40, 8}, {5, 0, 4}, {0, 3, 4}};
	for (Dtype d = DT_I32; d < DT_COUNT; d++)
		for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
			for (int turned = 0; turned < 4; turned++) {
				const int64_t m = sizes[k][0], c = sizes[k][1], n = sizes[k][2];
				Dot q = {.ncontract = 1, .xc = {1}, .yc = {0}};
				q.x[0] = value_tensor(permuted(t, d, SHAPE(m, c), turned & 1 ? (int[]){1, 0} : (int[]){0, 1}));
				q.x[1] = value_tensor(permuted(t, d, SHAPE(c, n), turned & 2 ? (int[]){1, 0} : (int[]){0, 1}));
				double e = m && c ? dot_error(t, &q, NULL) : 0;
				if (!m || !c) {
					Value r;
					CHECK(t, once(t, make_dot, &q, q.x, &r) == ST_OK);
					int64_t index[2] = {0};
					do e += m ? cabs(at(r.tensor, index)) : 0; while (m && step(2, r.tensor->shape, index));
					drop(&r, 1);
				}
				if (!(e <= dot_limit(d))) printf("dot %s %lldx%lldx%lld turned %d: %g\n", dtype_name(d), (long long)m, (long long)c, (long long)n, turned, e);
				CHECK(t, e <= dot_limit(d));
				drop(q.x, 2);
			}
}

static void test_dot_general(T *t) {
	for (Dtype d = DT_I64; d <= DT_C128; d++) {
		for (int turn = 0; turn < 40; turn++) {
			/* random axes: up to 2 contracted, up to 2 batch, up to 2 free each, all shuffled */
			int64_t len_of[8];
			Dot q = {.ncontract = (uint32_t)below(t, 3), .nbatch = (uint32_t)below(t, 3)};
			const int nfx = (int)below(t, 3), nfy = (int)below(t, 3), nx = (int)(q.ncontract + q.nbatch) + nfx, ny = (int)(q.ncontract + q.nbatch) + nfy;
			for (int k = 0; k < 8; k++) len_of[k] = 1 + below(t, turn % 4 ? 5 : 19);
			int px[8], py[8], sx[8], sy[8];
			for (int k = 0; k < 8; k++) px[k] = py[k] = sx[k] = sy[k] = k;
			for (int k = nx; k-- > 1;) {
				int j = (int)below(t, k + 1), a = (int)below(t, k + 1), w = px[k];
				px[k] = px[j], px[j] = w;
				w = sx[k], sx[k] = sx[a], sx[a] = w;
			}
			for (int k = ny; k-- > 1;) {
				int j = (int)below(t, k + 1), a = (int)below(t, k + 1), w = py[k];
				py[k] = py[j], py[j] = w;
				w = sy[k], sy[k] = sy[a], sy[a] = w;
			}
			int64_t xs[8], ys[8];
			for (int k = 0; k < nx; k++) xs[px[k]] = k < (int)(q.ncontract + q.nbatch) ? len_of[k] : 2 + k;
			for (int k = 0; k < ny; k++) ys[py[k]] = k < (int)(q.ncontract + q.nbatch) ? len_of[k] : 3 + k;
			for (uint32_t k = 0; k < q.ncontract; k++) q.xc[k] = px[k], q.yc[k] = py[k];
			for (uint32_t k = 0; k < q.nbatch; k++) q.xb[k] = px[q.ncontract + k], q.yb[k] = py[q.ncontract + k];
			if (!nx || !ny) continue;
			q.x[0] = value_tensor(permuted(t, d, (uint32_t)nx, xs, sx));
			q.x[1] = value_tensor(permuted(t, d, (uint32_t)ny, ys, sy));
			double e = dot_error(t, &q, NULL);
			CHECK(t, e <= dot_limit(d));
			drop(q.x, 2);
		}
		/* a batch against a broadcast operand folds; a product with itself is symmetric */
		Tensor *w = tensor(t, d, SHAPE(30, 25), -2, 2);
		Tensor *many = tensor_view(t->c, w, SHAPE(6, 30, 25), (int64_t[]){0, 25, 1}, 0);
		Dot q = {.ncontract = 1, .nbatch = 1, .xc = {2}, .yc = {1}, .xb = {0}, .yb = {0}};
		q.x[0] = value_tensor(tensor(t, d, SHAPE(6, 40, 30), -2, 2));
		q.x[1] = value_tensor(many);
		CHECK(t, dot_error(t, &q, NULL) <= dot_limit(d));
		drop(q.x, 1);
		q.x[0] = value_tensor(tensor(t, d, SHAPE(6, 30), -2, 2));
		q.xc[0] = 1;
		CHECK(t, dot_error(t, &q, NULL) <= dot_limit(d));
		q.x[0].tensor = (tensor_unref(q.x[0].tensor), tensor_view(t->c, w, SHAPE(6, 30), (int64_t[]){0, 25}, 0));
		tensor_unref(q.x[1].tensor);
		q.x[1] = value_tensor(tensor(t, d, SHAPE(6, 30, 25), -2, 2));
		CHECK(t, dot_error(t, &q, NULL) <= dot_limit(d));
		drop(q.x, 2);
		tensor_unref(w);
		Dot j = {.ncontract = 1, .xc = {0}, .yc = {0}, .same = true};
		j.x[0] = j.x[1] = value_tensor(tensor(t, d, SHAPE(500, 40), -2, 2));
		Value r = {.kind = V_UNSET};
		CHECK(t, dot_error(t, &j, &r) <= dot_limit(d));
		bool symmetric = true;
		for (int64_t a = 0; a < 40; a++) for (int64_t b = 0; b < a; b++) symmetric &= at(r.tensor, (int64_t[]){a, b}) == at(r.tensor, (int64_t[]){b, a});
		CHECK(t, symmetric);
		drop(&r, 1);
		drop(j.x, 1);
	}
}

/* ---- gather, scatter --------------------------------------------------------------------------------------------------------------------------- */

typedef struct Places {
	Op op;
	Value v[3];
	int axis, batch;
	bool small; /* types with numbers for lengths */
} Places;

static void make_places(T *t, const void *what) {
	const Places *q = what;
	begin(t);
	Ref x = param(t, type_like(t, q->v[0], false)), i = param(t, type_like(t, q->v[1], false));
	Ref r = q->op == OP_GATHER ? build_gather(t->b, x, i, q->axis, q->batch)
	                           : build_scatter(t->b, q->op, x, i, param(t, type_like(t, q->v[2], false)), q->axis, q->batch);
	t->f = build_end(t->b, 1, &r);
}

static void test_places(T *t) {
	static const struct {
		int64_t x[3], i[3];
		uint32_t nx, ni;
		int axis, batch;
	} cases[] = {
	    {{9}, {0}, 1, 0, 0, 0},         {{9}, {5}, 1, 1, 0, 0},          {{9}, {2, 3}, 1, 2, 0, 0},       {{6, 4}, {0}, 2, 0, 0, 0},
	    {{6, 4}, {0}, 2, 0, 1, 0},      {{6, 4}, {7}, 2, 1, 0, 0},       {{6, 4}, {7}, 2, 1, 1, 0},       {{6, 4}, {6, 3}, 2, 2, 1, 1},
	    {{6, 4}, {6}, 2, 1, 1, 1},      {{3, 4, 5}, {3, 2}, 3, 2, 1, 1}, {{3, 4, 5}, {3, 2}, 3, 2, 2, 1}, {{3, 4, 5}, {3, 4, 2}, 3, 3, 2, 2},
	    {{3, 4, 5}, {2, 2}, 3, 2, 1, 0}, {{3, 4, 5}, {3, 4}, 3, 2, 2, 2}, {{50, 40, 2}, {300}, 3, 1, 1, 0},
	};
	static const int normal[3] = {0, 1, 2}, turned2[3] = {1, 0, 2}, turned3[3] = {2, 0, 1};
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		for (int order = 0; order < 2; order++) {
			for (Dtype d = DT_BOOL; d < DT_COUNT; d++) {
				const uint32_t nx = cases[k].nx, ni = cases[k].ni;
				const int axis = cases[k].axis, batch = cases[k].batch;
				Places q = {.axis = axis, .batch = batch};
				q.v[0] = value_tensor(permuted(t, d, nx, cases[k].x, !order ? normal : nx == 3 ? turned3 : nx == 2 ? turned2 : normal));
				const Tensor *x = q.v[0].tensor;
				Tensor *i = tensor(t, order ? DT_I32 : DT_I64, ni, cases[k].i, 0, (double)x->shape[axis]);
				q.v[1] = ni ? value_tensor(i) : value_from_tensor(i);
				int64_t shape[6], index[6] = {0};
				uint32_t n = 0;
				for (int a = 0; a < axis; a++) shape[n++] = x->shape[a];
				for (uint32_t a = (uint32_t)batch; a < ni; a++) shape[n++] = cases[k].i[a];
				for (uint32_t a = (uint32_t)axis + 1; a < nx; a++) shape[n++] = x->shape[a];
				Tensor *u = tensor(t, d, n, shape, -3, 3);
				Value r[3] = {{.kind = V_UNSET}, {.kind = V_UNSET}, {.kind = V_UNSET}};
				q.v[2] = n ? value_tensor(u) : value_from_tensor(tensor_ref(u));
				for (int op = 0; op < 3; op++) {
					q.op = (Op)(OP_GATHER + op);
					if (q.op == OP_SCATTER_ADD && d == DT_BOOL) continue;
					CHECK(t, once(t, make_places, &q, q.v, &r[op]) == ST_OK);
				}
				Tensor *add = tensor_copy(t->c, x), *set = tensor_copy(t->c, x), *got = value_to_tensor(t->c, r[0]);
				Tensor *indices = value_to_tensor(t->c, q.v[1]);
				bool good = true;
				do { /* every result of gather is a place */
					int64_t at_x[3], at_i[6], to = 0;
					for (int a = 0; a < batch; a++) at_i[a] = index[a];
					for (uint32_t a = (uint32_t)batch; a < ni; a++) at_i[a] = index[(uint32_t)axis + a - (uint32_t)batch];
					for (int a = 0; a < axis; a++) at_x[a] = index[a];
					at_x[axis] = (int64_t)creal(at(indices, at_i));
					for (uint32_t a = (uint32_t)axis + 1; a < nx; a++) at_x[a] = index[n - nx + a];
					for (uint32_t a = 0; a < nx; a++) to = to * x->shape[a] + at_x[a];
					double _Complex v = at(x, at_x), w = at(u, index);
					good &= at(got, index) == v;
					const size_t size = dtype_size(d);
					double _Complex sum = at(add, at_x) + w;
					if (d != DT_BOOL) scalar_convert(DT_C128, &sum, d, add->data + to * (int64_t)size);
					scalar_convert(DT_C128, &w, d, set->data + to * (int64_t)size);
				} while (step(n, shape, index));
				CHECK(t, good);
				if (d != DT_BOOL) {
					Value w = value_tensor(add);
					good = true;
					int64_t j[3] = {0};
					do good &= off(at(r[1].tensor, j), at(w.tensor, j)) < 1e-6; while (step(nx, x->shape, j));
					CHECK(t, good);
				}
				CHECK(t, value_identical(r[2], value_tensor(set)));
				tensor_unref(add);
				tensor_unref(set);
				tensor_unref(got);
				tensor_unref(indices);
				if (!n) tensor_unref(u);
				drop(r, 3);
				drop(q.v, 3);
			}
		}
	}
	/* out of range, in every form */
	for (int form = 0; form < 6; form++) {
		Places q = {.op = form < 3 ? OP_GATHER : OP_SCATTER_SET};
		Tensor *i = tensor(t, DT_I64, SHAPE(3), 0, 5);
		((int64_t *)(void *)i->data)[2] = form % 3 == 1 ? -1 : 5;
		q.v[0] = value_tensor(tensor(t, DT_F64, SHAPE(5), 0, 1));
		q.v[1] = form % 3 == 2 ? value_i64(5) : value_tensor(i);
		q.v[2] = form % 3 == 2 ? value_f64(1) : value_tensor(tensor(t, DT_F64, SHAPE(3), 0, 1));
		Value r;
		CHECK(t, failed_with(t, once(t, make_places, &q, q.v, &r), ST_ERROR, E_INDEX, form % 3 == 1 ? "index -1" : "index 5"));
		if (form % 3 == 2) tensor_unref(i);
		drop(q.v, 3);
	}
}

static void make_nonzero(T *t, const void *what) {
	(void)what;
	begin(t);
	Ref x = param(t, vec_of(t, DT_BOOL, build_fresh_dim(t->b, 0, 0))), r[2];
	Dim k = build_fresh_dim(t->b, atom(t->c, "k"), 0);
	TypeId type = vec_of(t, DT_I64, k);
	r[0] = build_typed(t->b, OP_NONZERO, 1, &x, attr_intern(t->c, (int64_t[]){k}, 1), 1, &type, NULL);
	r[1] = build_extent(t->b, k);
	t->f = build_end(t->b, 2, r);
}

static void test_nonzero(T *t) {
	Value x = value_tensor(tensor(t, DT_BOOL, SHAPE(5000), 0, 1)), r[2];
	CHECK(t, once(t, make_nonzero, NULL, &x, r) == ST_OK);
	int64_t k = 0;
	bool good = true;
	for (int64_t i = 0; i < 5000; i++)
		if (x.tensor->data[i]) good = good && k < r[0].tensor->count && ((int64_t *)(void *)r[0].tensor->data)[k++] == i;
	CHECK(t, good && k == r[0].tensor->count && r[1].i == k);
	drop(r, 1);
	drop(&x, 1);
}

/* ---- linear algebra --------------------------------------------------------------------------------------------------------------------------------- */

typedef struct Lin {
	Op op;
	Value x[2];
	int64_t words[3];
} Lin;

static void make_lin(T *t, const void *what) {
	const Lin *q = what;
	begin(t);
	const bool two = q->op == OP_TRISOLVE;
	Ref x[2] = {param(t, type_like(t, q->x[0], false)), two ? param(t, type_like(t, q->x[1], false)) : REF_NONE}, r[3];
	const bool fft = q->op == OP_FFT;
	build(t->b, q->op, two ? 2 : 1, x, two || fft ? attr_intern(t->c, q->words, two ? 3 : 2) : 0, r);
	t->f = build_end(t->b, (uint32_t)prims[q->op].nres, r);
}

static Tensor *product(T *t, const Tensor *x, bool x_adjoint, const Tensor *y, bool y_adjoint, const Tensor *diagonal) {
	int64_t m = x->shape[x_adjoint], k = x->shape[!x_adjoint], n = y->shape[!y_adjoint];
	Tensor *o = tensor_new(t->c, DT_C128, SHAPE(m, n));
	double _Complex *p = (void *)o->data;
	for (int64_t i = 0; i < m; i++) for (int64_t j = 0; j < n; j++) {
		double _Complex sum = 0;
		for (int64_t l = 0; l < k; l++) {
			double _Complex a = x_adjoint ? conj(at(x, (int64_t[]){l, i})) : at(x, (int64_t[]){i, l});
			double _Complex b = y_adjoint ? conj(at(y, (int64_t[]){j, l})) : at(y, (int64_t[]){l, j});
			sum += a * (diagonal ? at(diagonal, &l) : 1) * b;
		}
		*p++ = sum;
	}
	return o;
}

/* Largest difference; takes a. */
static double apart(Tensor *a, const Tensor *b) {
	double worst = 0;
	int64_t index[2] = {0};
	do worst = fmax(worst, cabs(at(a, index) - (b ? at(b, index) : index[0] == index[1]))); while (step(2, a->shape, index));
	tensor_unref(a);
	return worst;
}

/* The matrix b of a batch. */
static Tensor *slice_of(T *t, Value v, int64_t b) {
	Tensor *x = v.tensor;
	return tensor_view(t->c, x, x->rank - 1u, x->shape + 1, x->stride + 1, b * x->stride[0]);
}

static bool triangular(const Tensor *x, bool lower) {
	int64_t index[2] = {0};
	bool good = true;
	do good &= (lower ? index[1] <= index[0] : index[0] <= index[1]) || at(x, index) == 0; while (step(2, x->shape, index));
	return good;
}

static void test_linalg(T *t) {
	static const int sizes[] = {1, 3, 24, 40};
	for (Dtype d = DT_F32; d < DT_COUNT; d++) for (int k = 0; k < 4; k++) {
		const int64_t n = sizes[k], m = n + 7;
		const double eps = (dtype_real_of(d) == DT_F32 ? 2e-4 : 1e-12) * (double)(n + 3);
		Value r[3];
		Tensor *general = tensor(t, d, SHAPE(2, n, n), -1, 1);
		/* Hermitian and positive definite: G Gᴴ + n */
		Tensor *spd = tensor_new(t->c, d, SHAPE(2, n, n));
		for (int64_t b = 0; b < 2; b++) {
			Tensor *g = slice_of(t, value_tensor(general), b), *p = product(t, g, false, g, true, NULL), *to = slice_of(t, value_tensor(spd), b);
			for (int64_t i = 0; i < n; i++) ((double _Complex *)(void *)p->data)[i * (n + 1)] += (double)n;
			tensor_convert_into(to, p);
			tensor_unref(g), tensor_unref(p), tensor_unref(to);
		}
		Lin q = {.op = OP_CHOLESKY, .x = {value_tensor(spd)}};
		CHECK(t, once(t, make_lin, &q, q.x, r) == ST_OK);
		for (int64_t b = 0; b < 2; b++) {
			Tensor *l = slice_of(t, r[0], b), *a = slice_of(t, q.x[0], b);
			CHECK(t, triangular(l, true) && apart(product(t, l, false, l, true, NULL), a) < eps * (double)n);
			tensor_unref(l), tensor_unref(a);
		}
		drop(r, 1);
		q.op = OP_EIGH;
		CHECK(t, once(t, make_lin, &q, q.x, r) == ST_OK);
		for (int64_t b = 0; b < 2; b++) {
			Tensor *w = slice_of(t, r[0], b), *v = slice_of(t, r[1], b), *a = slice_of(t, q.x[0], b);
			CHECK(t, apart(product(t, v, false, v, true, w), a) < eps * (double)n && apart(product(t, v, true, v, false, NULL), NULL) < eps);
			for (int64_t i = 1; i < n; i++) if (creal(at(w, (int64_t[]){i})) < creal(at(w, (int64_t[]){i - 1}))) CHECK(t, false);
			tensor_unref(w), tensor_unref(v), tensor_unref(a);
		}
		drop(r, 2);
		q = (Lin){.op = OP_LU, .x = {value_tensor(general)}};
		CHECK(t, once(t, make_lin, &q, q.x, r) == ST_OK);
		for (int64_t b = 0; b < 2; b++) {
			Tensor *lu = slice_of(t, r[0], b), *a = slice_of(t, q.x[0], b), *l = tensor_zeros(t->c, DT_C128, SHAPE(n, n)), *u = tensor_zeros(t->c, DT_C128, SHAPE(n, n)), *pa = tensor_zeros(t->c, DT_C128, SHAPE(n, n));
			for (int64_t i = 0; i < n; i++) for (int64_t j = 0; j < n; j++) {
				int64_t p = ((int64_t *)(void *)r[1].tensor->data)[b * n + i];
				((double _Complex *)(void *)(i > j ? l : u)->data)[i * n + j] = at(lu, (int64_t[]){i, j});
				((double _Complex *)(void *)pa->data)[i * n + j] = at(a, (int64_t[]){p, j});
				if (i == j) ((double _Complex *)(void *)l->data)[i * n + j] = 1;
			}
			CHECK(t, apart(product(t, l, false, u, false, NULL), pa) < eps);
			tensor_unref(lu), tensor_unref(a), tensor_unref(l), tensor_unref(u), tensor_unref(pa);
		}
		drop(r, 2);
		q.op = OP_EIG;
		CHECK(t, once(t, make_lin, &q, q.x, r) == ST_OK);
		for (int64_t b = 0; b < 2; b++) {
			Tensor *w = slice_of(t, r[0], b), *v = slice_of(t, r[1], b), *a = slice_of(t, q.x[0], b);
			Tensor *av = product(t, a, false, v, false, NULL);
			double worst = 0;
			for (int64_t j = 0; j < n; j++) {
				double norm = 0;
				for (int64_t i = 0; i < n; i++) {
					worst = fmax(worst, cabs(at(av, (int64_t[]){i, j}) - at(w, &j) * at(v, (int64_t[]){i, j})));
					norm += pow(cabs(at(v, (int64_t[]){i, j})), 2);
				}
				worst = fmax(worst, fabs(norm - 1));
			}
			CHECK(t, worst < eps && r[0].tensor->dtype == dtype_complex_of(d));
			tensor_unref(w), tensor_unref(v), tensor_unref(a), tensor_unref(av);
		}
		drop(r, 2);
		for (int wide = 0; wide < 2; wide++) {
			Tensor *x = tensor(t, d, SHAPE(2, wide ? n : m, wide ? m : n), -1, 1);
			q = (Lin){.op = OP_SVD, .x = {value_tensor(x)}};
			CHECK(t, once(t, make_lin, &q, q.x, r) == ST_OK);
			for (int64_t b = 0; b < 2; b++) {
				Tensor *u = slice_of(t, r[0], b), *s = slice_of(t, r[1], b), *v = slice_of(t, r[2], b), *a = slice_of(t, q.x[0], b);
				CHECK(t, apart(product(t, u, false, v, true, s), a) < eps && apart(product(t, u, true, u, false, NULL), NULL) < eps && apart(product(t, v, true, v, false, NULL), NULL) < eps);
				tensor_unref(u), tensor_unref(s), tensor_unref(v), tensor_unref(a);
			}
			drop(r, 3);
			if (!wide) {
				q.op = OP_QR;
				CHECK(t, once(t, make_lin, &q, q.x, r) == ST_OK);
				for (int64_t b = 0; b < 2; b++) {
					Tensor *qq = slice_of(t, r[0], b), *rr = slice_of(t, r[1], b), *a = slice_of(t, q.x[0], b);
					bool positive = true;
					for (int64_t i = 0; i < n; i++) positive &= creal(at(rr, (int64_t[]){i, i})) > 0;
					CHECK(t, positive && triangular(rr, false) && apart(product(t, qq, false, rr, false, NULL), a) < eps && apart(product(t, qq, true, qq, false, NULL), NULL) < eps);
					tensor_unref(qq), tensor_unref(rr), tensor_unref(a);
				}
				drop(r, 2);
			}
			drop(q.x, 1);
		}
		for (int bits3 = 0; bits3 < 8; bits3++) {
			const bool lower = bits3 & 1, adjoint = bits3 & 2, unit = bits3 & 4;
			q = (Lin){.op = OP_TRISOLVE, .x = {value_tensor(spd), value_tensor(tensor(t, d, SHAPE(2, n, 5), -1, 1))}, .words = {lower, adjoint, unit}};
			if (unit) { /* keep it well conditioned: small numbers off the diagonal */
				q.x[0] = value_tensor(tensor(t, d, SHAPE(2, n, n), -0.5 / (double)n, 0.5 / (double)n));
			} else {
				value_ref(q.x[0]);
			}
			CHECK(t, once(t, make_lin, &q, q.x, r) == ST_OK);
			for (int64_t b = 0; b < 2; b++) {
				Tensor *x = slice_of(t, r[0], b), *rhs = slice_of(t, q.x[1], b), *m1 = slice_of(t, q.x[0], b), *tri = tensor_zeros(t->c, DT_C128, SHAPE(n, n));
				for (int64_t i = 0; i < n; i++) for (int64_t j = 0; j < n; j++)
					((double _Complex *)(void *)tri->data)[i * n + j] = i == j && unit ? 1 : (lower ? j <= i : i <= j) ? at(m1, (int64_t[]){i, j}) : 0;
				CHECK(t, apart(product(t, tri, adjoint, x, false, NULL), rhs) < eps * (double)n);
				tensor_unref(x), tensor_unref(rhs), tensor_unref(m1), tensor_unref(tri);
			}
			drop(r, 1);
			drop(q.x, 2);
		}
		/* what has no factorisation */
		Tensor *zero = tensor_zeros(t->c, d, SHAPE(2, n, n));
		static const Op ops[] = {OP_CHOLESKY, OP_LU};
		for (int o = 0; o < 2; o++) {
			q = (Lin){.op = ops[o], .x = {value_tensor(zero)}};
			CHECK(t, failed_with(t, once(t, make_lin, &q, q.x, r), ST_ERROR, E_SINGULAR, "pivot 0"));
		}
		q = (Lin){.op = OP_TRISOLVE, .x = {value_tensor(zero), value_tensor(general)}, .words = {1, 0, 0}};
		CHECK(t, failed_with(t, once(t, make_lin, &q, q.x, r), ST_ERROR, E_SINGULAR, "singular"));
		tensor_unref(zero);
		tensor_unref(general);
		tensor_unref(spd);
	}
}

static void test_fft(T *t) {
	for (Dtype d = DT_C64; d <= DT_C128; d++) for (int axis = 0; axis < 3; axis++) for (int inverse = 0; inverse < 2; inverse++) {
		const int64_t shape[3] = {5, 6, 7};
		Lin q = {.op = OP_FFT, .x = {value_tensor(tensor(t, d, 3, shape, -1, 1))}, .words = {axis, inverse}};
		Value r;
		CHECK(t, once(t, make_lin, &q, q.x, &r) == ST_OK);
		double worst = 0;
		int64_t index[3] = {0}, n = shape[axis];
		do {
			double _Complex sum = 0;
			int64_t place[3];
			memcpy(place, index, sizeof place);
			for (int64_t k = 0; k < n; k++) {
				place[axis] = k;
				double a = (inverse ? 2 : -2) * M_PI * (double)(k * index[axis]) / (double)n;
				sum += at(q.x[0].tensor, place) * __builtin_complex(cos(a), sin(a));
			}
			if (inverse) sum /= (double)n;
			worst = fmax(worst, cabs(sum - at(r.tensor, index)));
		} while (step(3, shape, index));
		CHECK(t, worst < (d == DT_C64 ? 1e-5 : 1e-13));
		drop(&r, 1);
		drop(q.x, 1);
	}
}

/* ---- random bits --------------------------------------------------------------------------------------------------------------------------------------- */

static void make_random(T *t, const void *what) {
	(void)what;
	begin(t);
	Ref s = param(t, vec(t, DT_I64, 2)), r[3];
	build(t->b, OP_RANDOM, 1, &s, attr_intern(t->c, (int64_t[]){2, len(t, 30), len(t, 50)}, 3), r);
	build(t->b, OP_RANDOM, 1, &r[1], attr_intern(t->c, (int64_t[]){0}, 1), &r[1]);
	t->f = build_end(t->b, 3, r);
}

static void test_random(T *t) {
	static const struct {
		uint32_t counter[4], key[2], want[4];
	} known[3] = {
	    /* from the kat_vectors of Random123 1.09 */
	    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
	    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
	    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	};
	for (int k = 0; k < 3; k++) {
		uint32_t out[4];
		philox4x32_10(known[k].counter, known[k].key, out);
		CHECK(t, !memcmp(out, known[k].want, sizeof out));
	}
	Tensor *s = tensor_new(t->c, DT_I64, SHAPE(2));
	((int64_t *)(void *)s->data)[0] = 0x123456789abcdef;
	((int64_t *)(void *)s->data)[1] = 0xfffffffe;
	Value state = value_tensor(s), r[3];
	CHECK(t, once(t, make_random, NULL, &state, r) == ST_OK);
	bool good = true;
	for (uint64_t i = 0; i < 1501; i++) {
		uint64_t counter = 0xfffffffeu + i;
		uint32_t c[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0}, key[2] = {0x89abcdef, 0x01234567}, out[4];
		philox4x32_10(c, key, out);
		uint64_t want = out[0] | (uint64_t)out[1] << 32, got = i < 1500 ? ((uint64_t *)(void *)r[0].tensor->data)[i] : (uint64_t)r[1].i;
		good &= want == got;
	}
	CHECK(t, good && r[0].tensor->shape[0] == 30);
	CHECK(t, ((int64_t *)(void *)r[2].tensor->data)[0] == 0x123456789abcdef && ((int64_t *)(void *)r[2].tensor->data)[1] == (int64_t)0xfffffffe + 1501);
	drop(r, 3);
	drop(&state, 1);
}

/* ---- control ------------------------------------------------------------------------------------------------------------------------------------------------ */

/* fib(n) = if n < 2 { n } else { fib(n-1) + fib(n-2) }, or an endless recursion. */
static void make_recursion(T *t, const void *what) {
	const bool endless = *(const bool *)what;
	begin(t);
	Fn *self = build_fn(t->b);
	TypeId i64 = num(t, DT_I64);
	Ref n = param(t, i64), one = build_i64(t->b, 1), two = build_i64(t->b, 2), r;
	AttrId attr = attr_intern(t->c, (int64_t[]){self->id}, 1);
	OpenRegion *o = build_region_begin(t->b, 0, NULL, NULL);
	RegionId small = build_region_end(t->b, o, 1, &n);
	o = build_region_begin(t->b, 0, NULL, NULL);
	Ref m = endless ? n : build2(t->b, OP_SUB, n, one);
	Ref a = build_typed(t->b, OP_CALL, 1, &m, attr, 1, &i64, NULL);
	if (!endless) {
		Ref k = build2(t->b, OP_SUB, n, two);
		a = build2(t->b, OP_ADD, a, build_typed(t->b, OP_CALL, 1, &k, attr, 1, &i64, NULL));
	}
	RegionId large = build_region_end(t->b, o, 1, &a);
	build_if(t->b, build2(t->b, OP_LT, n, two), small, large, &r);
	t->f = build_end(t->b, 1, &r);
}

static void test_recursion(T *t) {
	Value n = value_i64(20), r;
	bool endless = false;
	if (build_it(t, make_recursion, &endless)) {
		run_counters(t->c)->calls = 0;
		CHECK(t, call(t, &n, &r) == ST_OK && r.i == 6765);
		CHECK(t, run_counters(t->c)->calls == 21891);
		fn_unref(t->f);
	}
	endless = true;
	if (build_it(t, make_recursion, &endless)) {
		CHECK(t, failed_with(t, call(t, &n, &r), ST_LIMIT, E_DEPTH, "2000"));
		ctx_set_depth_limit(t->c, 1000000000); /* the C stack ends first, and is not overrun */
		CHECK(t, failed_with(t, call(t, &n, &r), ST_LIMIT, E_DEPTH, NULL));
		ctx_set_depth_limit(t->c, 2000);
		n = value_i64(1);
		CHECK(t, call(t, &n, &r) == ST_OK && r.i == 1);
		fn_unref(t->f);
	}
}

/* while x < limit { x = 2x + 1; k = k + 1 }, carrying a tensor that is changed in place under an `if`. */
static void make_while(T *t, const void *what) {
	(void)what;
	begin(t);
	TypeId f64 = num(t, DT_F64), i64 = num(t, DT_I64), v = vec_of(t, DT_F64, build_fresh_dim(t->b, 0, 0));
	Ref limit = param(t, f64), x0 = param(t, v), p[3], r[3];
	TypeId types[3] = {f64, i64, v};
	OpenRegion *o = build_region_begin(t->b, 3, types, p);
	Ref more = build2(t->b, OP_LT, p[0], limit);
	RegionId cond = build_region_end(t->b, o, 1, &more);
	o = build_region_begin(t->b, 3, types, p);
	Ref y[3] = {build2(t->b, OP_ADD, build2(t->b, OP_MUL, p[0], build_f64(t->b, 2)), build_f64(t->b, 1)), build2(t->b, OP_ADD, p[1], build_i64(t->b, 1)), REF_NONE};
	OpenRegion *in = build_region_begin(t->b, 0, NULL, NULL);
	Ref set = build_scatter(t->b, OP_SCATTER_SET, p[2], p[1], p[0], 0, 0);
	RegionId yes = build_region_end(t->b, in, 1, &set);
	in = build_region_begin(t->b, 0, NULL, NULL);
	RegionId no = build_region_end(t->b, in, 1, &p[2]);
	Ref odd = build2(t->b, OP_EQ, build2(t->b, OP_MOD, p[1], build_i64(t->b, 2)), build_i64(t->b, 1));
	build_if(t->b, odd, yes, no, &y[2]);
	RegionId body = build_region_end(t->b, o, 3, y);
	build_while(t->b, 3, (Ref[]){build_f64(t->b, 1), build_i64(t->b, 0), x0}, cond, body, r);
	t->f = build_end(t->b, 3, r);
}

static void test_while(T *t) {
	if (!build_it(t, make_while, NULL)) return;
	Value args[2] = {value_f64(1e6), value_tensor(tensor(t, DT_F64, SHAPE(100000), 5, 6))}, r[3];
	Tensor *keep = tensor_copy(t->c, args[1].tensor);
	CHECK(t, call(t, args, r) == ST_OK); /* prepares the function */
	drop(r, 3);
	uint64_t before = heap_allocation_count(t->c);
	CHECK(t, call(t, args, r) == ST_OK);
	CHECK(t, heap_allocation_count(t->c) - before < 12); /* the first write copies, the others are in place */
	CHECK(t, r[0].f == 1048575 && r[1].i == 19);
	CHECK(t, creal(at(r[2].tensor, (int64_t[]){3})) == 15 && creal(at(r[2].tensor, (int64_t[]){2})) == creal(at(keep, (int64_t[]){2})));
	CHECK(t, value_identical(args[1], value_tensor(keep))); /* the argument is the caller's */
	drop(r, 3);
	tensor_unref(keep);
	drop(args, 2);
	fn_unref(t->f);
}

/* try { big = x + 1; y = x[k]; y + sum(big) } catch e { print-able e } : message comes out as a value */
static void make_try(T *t, const void *what) {
	(void)what;
	begin(t);
	Ref x = param(t, vec(t, DT_F64, 12)), k = param(t, num(t, DT_I64)), p, r[2];
	Ref big = build2(t->b, OP_ADD, x, x);
	OpenRegion *o = build_region_begin(t->b, 0, NULL, NULL);
	Ref inner = build2(t->b, OP_MUL, big, x);
	Ref y = build2(t->b, OP_ADD, build_gather(t->b, inner, k, 0, 0), build_reduce(t->b, OP_REDUCE_SUM, inner, 1, (int[]){0}));
	Ref out[2] = {y, build_const(t->b, value_none())};
	RegionId body = build_region_end(t->b, o, 2, out);
	TypeId dyn = type_dyn(t->c);
	o = build_region_begin(t->b, 1, &dyn, &p);
	out[0] = build_f64(t->b, -1);
	out[1] = p;
	RegionId handler = build_region_end(t->b, o, 2, out);
	build_try(t->b, body, handler, r);
	t->f = build_end(t->b, 2, r);
}

static void test_try(T *t) {
	if (!build_it(t, make_try, NULL)) return;
	Value args[2] = {value_tensor(tensor(t, DT_F64, SHAPE(12), 1, 2)), value_i64(3)}, r[2];
	size_t used = heap_used(t->c);
	CHECK(t, call(t, args, r) == ST_OK && r[0].f > 12 && r[1].kind == V_NONE);
	drop(r, 2);
	args[1] = value_i64(12);
	CHECK(t, call(t, args, r) == ST_OK && r[0].f == -1 && r[1].kind == V_STRING && strstr(((StringObject *)r[1].object)->text, "index 12"));
	CHECK(t, diag_total(t->c) == 0);
	drop(r, 2);
	ctx_interrupt(t->c); /* is no user's error: passes through */
	args[1] = value_i64(3);
	Status st = ST_OK;
	for (int i = 0; i < 300 && st == ST_OK; i++) {
		st = call(t, args, r);
		if (st == ST_OK) drop(r, 2);
	}
	ctx_clear_interrupt(t->c);
	CHECK(t, failed_with(t, st, ST_INTERRUPTED, E_INTERRUPT, NULL));
	CHECK(t, heap_used(t->c) <= used + 65536);
	drop(args, 1);
	fn_unref(t->f);
}

/* A guard: two lengths met at run time. */
static void make_guard(T *t, const void *what) {
	(void)what;
	begin(t);
	SourceId src = source_add(t->c, "g.dsl", "v + w\n", 6);
	Dim n = build_fresh_dim(t->b, atom(t->c, "n"), span_intern(t->c, (Span){src, 0, 1})), m = build_fresh_dim(t->b, atom(t->c, "m"), 0);
	Ref x = param(t, vec_of(t, DT_F64, n)), y = param(t, vec_of(t, DT_F64, m));
	build_at(t->b, span_intern(t->c, (Span){src, 0, 5}));
	build_unify(t->b, n, m, atom(t->c, "cannot add f64[n] and f64[m]"));
	Ref r = build2(t->b, OP_ADD, x, y);
	t->f = build_end(t->b, 1, &r);
}

static void test_guard(T *t) {
	if (!build_it(t, make_guard, NULL)) return;
	Value args[2] = {value_tensor(tensor(t, DT_F64, SHAPE(20), 1, 2)), value_tensor(tensor(t, DT_F64, SHAPE(21), 1, 2))}, r;
	Status st = call(t, args, &r);
	const Diag *d = diag_total(t->c) ? diag_at(t->c, 0) : NULL;
	CHECK(t, st == ST_ERROR && d && d->span.end == 5 && d->second.source && d->second.end == 1);
	CHECK(t, failed_with(t, st, ST_ERROR, E_GUARD, "cannot add f64[n] and f64[m]: n = 20 and m = 21 differ"));
	drop(&args[1], 1);
	args[1] = value_ref(args[0]);
	CHECK(t, call(t, args, &r) == ST_OK && r.tensor->count == 20);
	drop(&r, 1);
	/* arguments of other types, whoever passes them */
	drop(&args[1], 1);
	args[1] = value_f64(1);
	CHECK(t, failed_with(t, call(t, args, &r), ST_ERROR, E_TYPE, "argument 2 of f: expected f64[m], found"));
	drop(args, 2);
	fn_unref(t->f);
}

/* g calls f with x; the error inside f says so. */
static void make_caller(T *t, const void *what) {
	Fn *callee = *(Fn *const *)what;
	t->b = build_begin(t->c, atom(t->c, "g"), 0, NULL);
	SourceId src = source_add(t->c, "call.dsl", "g(x) = f(x)\n", 12);
	build_at(t->b, span_intern(t->c, (Span){src, 7, 11}));
	Ref x = param(t, vec_of(t, DT_F64, build_fresh_dim(t->b, 0, 0))), y = param(t, vec_of(t, DT_F64, build_fresh_dim(t->b, 0, 0))), r;
	build_call(t->b, callee, 2, (Ref[]){x, y}, &r);
	t->f = build_end(t->b, 1, &r);
}

static void test_trace(T *t) {
	if (!build_it(t, make_guard, NULL)) return;
	Fn *callee = t->f;
	if (build_it(t, make_caller, &callee)) {
		Value args[2] = {value_tensor(tensor(t, DT_F64, SHAPE(20), 1, 2)), value_tensor(tensor(t, DT_F64, SHAPE(21), 1, 2))}, r;
		Status st = call(t, args, &r);
		const char *trace = diag_total(t->c) ? diag_at(t->c, 0)->trace : NULL;
		CHECK(t, trace && strstr(trace, "in f, called at call.dsl:1:8"));
		CHECK(t, failed_with(t, st, ST_ERROR, E_GUARD, NULL));
		drop(args, 2);
		fn_unref(t->f);
	}
	fn_unref(callee);
}

/* ---- dynamic values, effects, host functions ---------------------------------------------------------------------------------------------------------------- */

static void make_dynamic(T *t, const void *what) {
	(void)what;
	begin(t);
	Ctx *c = t->c;
	Ref x = param(t, vec(t, DT_F64, 3)), s = param(t, num(t, DT_I64)), state = param(t, vec(t, DT_I64, 2)), r[6], d[3];
	Value hole = {.kind = V_UNSET};
	Value items[3] = {value_f64(0.5), hole, hole};
	Value inner = value_seq(c, V_TUPLE, 2, items + 1);
	Value rec = value_record(c, 2, (Atom[]){atom(c, "a"), atom(c, "b")}, (Value[]){items[0], inner});
	Ref template = build_const(t->b, rec);
	drop(&inner, 1);
	drop(&rec, 1);
	r[0] = build(t->b, OP_BOX, 3, (Ref[]){template, x, s}, 0, NULL);
	Ref bare = build_const(t->b, hole);
	r[1] = build(t->b, OP_BOX, 2, (Ref[]){bare, x}, 0, NULL);
	r[2] = build(t->b, OP_FORMAT, 3, (Ref[]){s, r[1], r[0]}, attr_intern(c, (int64_t[]){atom(c, "{{s}} = {0:05}, {1}|{0}|")}, 1), NULL);
	Ref token = build(t->b, OP_START, 0, NULL, 0, NULL);
	Ref token2 = build(t->b, OP_PRINT, 2, (Ref[]){token, r[2]}, 0, NULL);
	Ref f = build_const(t->b, value_none());
	build(t->b, OP_DYNAMIC, 5, (Ref[]){token2, state, f, r[1], r[0]}, 0, d);
	r[3] = d[1];
	r[4] = d[2];
	TypeId to = vec(t, DT_F64, 3);
	r[5] = build_typed(t->b, OP_UNBOX, 1, &d[2], attr_intern(c, (int64_t[]){to}, 1), 1, &to, NULL);
	t->f = build_end(t->b, 6, r);
}

static Status fake_dynamic(Ctx *c, Value f, uint32_t nargs, const Value *args, Value *state, Value *result, SpanId span) {
	(void)f;
	(void)span;
	if (nargs != 2) return ST_INTERNAL;
	Tensor *next = tensor_copy(c, state->tensor);
	if (!next) return ST_NOMEM;
	((int64_t *)(void *)next->data)[1] += 5;
	value_unref(*state);
	*state = value_tensor(next);
	*result = value_ref(args[0]);
	return ST_OK;
}

static void collect(void *ud, const char *text, size_t n) {
	text_add(ud, text, n);
}

static void test_dynamic(T *t) {
	ir_services(t->c)->call_dynamic = fake_dynamic;
	ctx_set_output(t->c, collect, &t->printed);
	Value args[3] = {value_tensor(tensor(t, DT_F64, SHAPE(3), 1, 2)), value_i64(42), value_tensor(tensor_zeros(t->c, DT_I64, SHAPE(2)))}, r[6];
	if (!build_it(t, make_dynamic, NULL)) return;
	CHECK(t, call(t, args, r) == ST_OK);
	Value b = value_field(r[0], atom(t->c, "b"));
	CHECK(t, b.kind == V_TUPLE && ((SeqObject *)b.object)->items[0].tensor == args[0].tensor && ((SeqObject *)b.object)->items[1].i == 42);
	CHECK(t, value_identical(r[1], args[0]) && value_identical(r[4], args[0]) && value_identical(r[5], args[0]));
	CHECK(t, creal(at(r[3].tensor, (int64_t[]){1})) == 5);
	const char *text = ((StringObject *)r[2].object)->text;
	CHECK(t, !strncmp(text, "{s} = ", 6) && strstr(text, "|42|"));
	CHECK(t, t->printed.n == strlen(text) + 1 && !strncmp(t->printed.at, text, strlen(text)) && t->printed.at[t->printed.n - 1] == '\n');
	drop(r, 6);
	drop(args, 3);
	fn_unref(t->f);
	ctx_set_output(t->c, NULL, NULL);
}

static void make_fail(T *t, const void *what) {
	begin(t);
	Value v = value_string(t->c, "no such thing", 13);
	Ref s = build_const(t->b, v);
	drop(&v, 1);
	Ref x = param(t, num(t, DT_BOOL)), r = x;
	OpenRegion *o = build_region_begin(t->b, 0, NULL, NULL);
	build(t->b, OP_FAIL, 1, &s, attr_intern(t->c, (int64_t[]){*(const int *)what}, 1), NULL);
	RegionId yes = build_region_end(t->b, o, 1, &x);
	o = build_region_begin(t->b, 0, NULL, NULL);
	RegionId no = build_region_end(t->b, o, 1, &x);
	build_if(t->b, x, yes, no, &r);
	t->f = build_end(t->b, 1, &r);
}

static void make_unbox(T *t, const void *what) {
	(void)what;
	begin(t);
	Ref x = param(t, type_dyn(t->c)), r;
	TypeId to = type_tensor(t->c, DT_F64, 2, (Dim[]){build_fresh_dim(t->b, 0, 0), len(t, 3)});
	r = build_typed(t->b, OP_UNBOX, 1, &x, attr_intern(t->c, (int64_t[]){to}, 1), 1, &to, NULL);
	t->f = build_end(t->b, 1, &r);
}

static void test_user_errors(T *t) {
	Value yes = value_bool(true), r;
	int code = E_ASSERT;
	CHECK(t, failed_with(t, once(t, make_fail, &code, &yes, &r), ST_ERROR, E_ASSERT, "no such thing"));
	Value x = value_f64(1);
	CHECK(t, failed_with(t, once(t, make_unbox, NULL, &x, &r), ST_ERROR, E_TYPE, "this value: expected f64["));
	x = value_tensor(tensor(t, DT_F64, SHAPE(20, 4), 0, 1));
	CHECK(t, failed_with(t, once(t, make_unbox, NULL, &x, &r), ST_ERROR, E_SHAPE, "3]"));
	drop(&x, 1);
	x = value_tensor(tensor(t, DT_F64, SHAPE(20, 3), 0, 1));
	CHECK(t, once(t, make_unbox, NULL, &x, &r) == ST_OK && value_identical(x, r));
	drop(&r, 1);
	drop(&x, 1);
}

static uint32_t host_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs, TypeId *out, uint32_t cap) {
	(void)nargs;
	(void)cap;
	(void)call;
	out[0] = ref_type(build_fn(b), args[0]);
	return 1;
}
static Status host_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args, uint32_t nresults, Value *results) {
	(void)nargs;
	(void)nresults;
	if (call->options[0] == 1) return ST_ERROR;
	if (call->options[0] == 2) {
		results[0] = value_f64(3);
		return ST_OK;
	}
	return ir_services(c)->run(c, call->fns[0], args, results); /* the evaluator inside the evaluator */
}

static void make_square(T *t, const void *what) {
	(void)what;
	begin(t);
	Ref x = param(t, vec_of(t, DT_F64, build_fresh_dim(t->b, 0, 0))), r = build2(t->b, OP_MUL, x, x);
	t->f = build_end(t->b, 1, &r);
}

typedef struct Hosted {
	Fn *fn;
	int64_t option;
} Hosted;
static void make_host(T *t, const void *what) {
	const Hosted *h = what;
	HostDef def = {.name = "square", .types = host_types, .eval = host_eval};
	begin(t);
	Ref x = param(t, vec_of(t, DT_F64, build_fresh_dim(t->b, 0, 0))), r;
	HostId id = host_call_intern(t->c, &def, 1, &h->fn, 1, &h->option);
	build_host(t->b, id, 1, &x, &r, 1);
	t->f = build_end(t->b, 1, &r);
}

static void test_host(T *t) {
	if (!build_it(t, make_square, NULL)) return;
	Hosted h = {.fn = t->f};
	Value x = value_tensor(tensor(t, DT_F64, SHAPE(50), 0, 2)), r;
	CHECK(t, once(t, make_host, &h, &x, &r) == ST_OK && off(at(r.tensor, (int64_t[]){7}), cpow(at(x.tensor, (int64_t[]){7}), 2)) < 1e-15);
	drop(&r, 1);
	h.option = 1;
	CHECK(t, failed_with(t, once(t, make_host, &h, &x, &r), ST_ERROR, E_HOST, "square failed"));
	h.option = 2;
	CHECK(t, failed_with(t, once(t, make_host, &h, &x, &r), ST_ERROR, E_TYPE, "square: expected f64["));
	drop(&x, 1);
	fn_unref(h.fn);
}

/* ---- writing in place ------------------------------------------------------------------------------------------------------------------------------------------- */

enum { STEPS = 40, LENGTH = 24 };

/* A random straight program over vectors, whose results are its last `shown` values: with all of them shown nothing may be overwritten, with one
 * shown nearly everything may, and the last value must be the same. */
typedef struct Straight {
	uint64_t seed;
	int shown;
} Straight;

static void make_straight(T *t, const void *what) {
	const Straight *q = what;
	T own = {.seed = q->seed};
	begin(t);
	Builder *b = t->b;
	Dim n = len(t, LENGTH);
	Ref v[STEPS + 3];
	for (int k = 0; k < 3; k++) v[k] = param(t, vec(t, DT_F64, LENGTH));
	Ref i = param(t, num(t, DT_I64)), index = build_iota(b, DT_I64, n);
	for (int k = 3; k < STEPS + 3; k++) {
		Ref x = v[k - 1 - below(&own, k < 6 ? k : 6)], y = v[k - 1 - below(&own, k < 6 ? k : 6)];
		switch (below(&own, 11)) {
		case 0: v[k] = build2(b, OP_ADD, x, y); break;
		case 1: v[k] = build2(b, OP_SUB, y, x); break;
		case 2: v[k] = build1(b, OP_NEG, x); break;
		case 3: v[k] = build_scatter(b, OP_SCATTER_SET, x, i, build_gather(b, y, i, 0, 0), 0, 0); break;
		case 4: v[k] = build_scatter(b, OP_SCATTER_ADD, x, index, y, 0, 0); break;
		case 5: v[k] = build_slice(b, x, (Dim[]){len(t, LENGTH - 1)}, &n, (int64_t[]){-1}); break;
		case 6: v[k] = build_select(b, build2(b, OP_LT, x, y), x, y); break;
		case 7: v[k] = build(b, OP_CUMSUM, 1, &x, attr_intern(t->c, (int64_t[]){0, below(&own, 2)}, 2), NULL); break;
		case 8: v[k] = build_reshape(b, build_transpose(b, build_reshape(b, x, 2, (Dim[]){len(t, 4), len(t, 6)}), (int[]){1, 0}), 1, &n); break;
		case 9: {
			Ref p[2];
			OpenRegion *o = build_region_begin(b, 2, (TypeId[]){num(t, DT_I64), vec(t, DT_F64, LENGTH)}, p);
			Ref u = build_scatter(b, OP_SCATTER_ADD, p[1], p[0], build_gather(b, y, p[0], 0, 0), 0, 0);
			build_for(b, i, 1, &x, build_region_end(b, o, 1, &u), &v[k]);
			break;
		}
		default: {
			Ref c = build2(b, OP_LT, i, build_i64(b, below(&own, 10)));
			OpenRegion *o = build_region_begin(b, 0, NULL, NULL);
			Ref u = build_scatter(b, OP_SCATTER_SET, x, i, build_f64(b, 1), 0, 0);
			RegionId yes = build_region_end(b, o, 1, &u);
			o = build_region_begin(b, 0, NULL, NULL);
			u = build2(b, OP_MIN, y, x);
			RegionId no = build_region_end(b, o, 1, &u);
			build_if(b, c, yes, no, &v[k]);
		}
		}
		/* keeps numbers bounded */
		if (k % 5 == 0) v[k] = build1(b, OP_SIN, v[k]);
	}
	t->f = build_end(b, (uint32_t)q->shown, v + STEPS + 3 - q->shown);
}

static void test_in_place(T *t) {
	Value args[4], keep[3];
	for (int k = 0; k < 3; k++) {
		args[k] = value_tensor(tensor(t, DT_F64, SHAPE(LENGTH), -1, 1));
		keep[k] = value_tensor(tensor_copy(t->c, args[k].tensor));
	}
	args[3] = value_i64(5);
	for (uint64_t seed = 1; seed <= 400; seed++) {
		Value all[STEPS], last = {.kind = V_UNSET};
		Straight q = {seed, STEPS};
		bool good = once(t, make_straight, &q, args, all) == ST_OK;
		q.shown = 1;
		good = good && once(t, make_straight, &q, args, &last) == ST_OK && value_identical(last, all[STEPS - 1]);
		for (int k = 0; k < 3; k++) good = good && value_identical(args[k], keep[k]);
		if (!good) printf("program %llu\n", (unsigned long long)seed);
		CHECK(t, good);
		drop(all, STEPS);
		drop(&last, 1);
		if (!good) show_diags(t), diag_clear(t->c);
	}
	drop(args, 3);
	drop(keep, 3);
}

static void make_chain(T *t, const void *what) {
	(void)what;
	begin(t);
	Ref x = param(t, vec_of(t, DT_F64, build_fresh_dim(t->b, 0, 0)));
	for (int k = 0; k < 20; k++) x = build1(t->b, k % 2 ? OP_SIN : OP_EXP, x);
	t->f = build_end(t->b, 1, &x);
}

static void test_chain(T *t) {
	Value x = value_tensor(tensor(t, DT_F64, SHAPE(100), -1, 1)), r;
	if (!build_it(t, make_chain, NULL)) return;
	CHECK(t, call(t, &x, &r) == ST_OK);
	drop(&r, 1);
	uint64_t before = heap_allocation_count(t->c);
	run_counters(t->c)->scalar_operations = 0;
	run_counters(t->c)->instructions = 0;
	CHECK(t, call(t, &x, &r) == ST_OK);
	CHECK(t, heap_allocation_count(t->c) - before <= 3); /* one tensor for twenty steps */
	CHECK(t, run_counters(t->c)->scalar_operations == 2000 && run_counters(t->c)->instructions == 20);
	drop(&r, 1);
	drop(&x, 1);
	fn_unref(t->f);
}

/* ---- budgets, allocation failure, threads -------------------------------------------------------------------------------------------------------------------------- */

/* A bit of everything, with failing parts inside try. */
static void make_mixture(T *t, const void *what) {
	(void)what;
	begin(t);
	Builder *b = t->b;
	Dim n = build_fresh_dim(b, atom(t->c, "n"), 0);
	Ref a = param(t, type_tensor(t->c, DT_F64, 2, (Dim[]){n, n})), k = param(t, num(t, DT_I64)), r[6], p[2], q;
	Ref at_ = build_transpose(b, a, (int[]){1, 0});
	Ref s = build_matmul(b, a, at_);
	Ref z = build2(b, OP_ADD, build1(b, OP_TANH, at_), s);
	r[0] = build_reduce(b, OP_REDUCE_SUM, z, 1, (int[]){0});
	OpenRegion *o = build_region_begin(b, 2, (TypeId[]){num(t, DT_I64), ref_type(build_fn(b), r[0])}, p);
	Ref u = build2(b, OP_ADD, p[1], build_gather(b, a, p[0], 0, 0));
	build_for(b, k, 1, &r[0], build_region_end(b, o, 1, &u), &r[0]);
	build(b, OP_LU, 1, &z, 0, r + 1); /* r[1], r[2] */
	r[2] = build(b, OP_ARGSORT, 1, &r[0], attr_intern(t->c, (int64_t[]){0, 0}, 2), NULL);
	o = build_region_begin(b, 0, NULL, NULL);
	Ref w = build_gather(b, build2(b, OP_MUL, s, s), build_i64(b, 1000000), 0, 0);
	RegionId body = build_region_end(b, o, 1, &w);
	TypeId dyn = type_dyn(t->c);
	o = build_region_begin(b, 1, &dyn, &q);
	w = build_gather(b, s, k, 0, 0);
	RegionId handler = build_region_end(b, o, 1, &w);
	build_try(b, body, handler, &r[3]);
	r[4] = build(b, OP_PUSH, 2, (Ref[]){a, r[3]}, 0, NULL);
	r[5] = build(b, OP_FORMAT, 1, &r[0], attr_intern(t->c, (int64_t[]){atom(t->c, "{0}")}, 1), NULL);
	t->f = build_end(b, 6, r);
}

static bool same_results(const Value *a, const Value *b, uint32_t n) {
	bool good = true;
	for (uint32_t k = 0; k < n; k++) good = good && value_identical(a[k], b[k]);
	return good;
}

static void test_allocation_failure(T *t) {
	Value args[2] = {value_tensor(tensor(t, DT_F64, SHAPE(30, 30), -1, 1)), value_i64(7)}, want[6], r[6];
	if (!build_it(t, make_mixture, NULL)) return;
	CHECK(t, call(t, args, want) == ST_OK);
	bool good = true;
	for (int forever = 0; forever < 2; forever++) {
		for (uint64_t n = 1; n < 2000; n++) {
			size_t used = heap_used(t->c);
			heap_fail_at(t->c, n, forever);
			Status st = call(t, args, r);
			heap_fail_at(t->c, 0, false);
			if (st == ST_OK) {
				good = good && same_results(want, r, 6) && n > 20;
				drop(r, 6);
				break;
			}
			if (st != ST_NOMEM || !diag_total(t->c) || diag_at(t->c, 0)->code != E_MEMORY) printf("allocation %llu: status %d\n", (unsigned long long)n, (int)st), show_diags(t);
			good = good && st == ST_NOMEM && r[0].kind == V_UNSET && diag_total(t->c) > 0 && diag_at(t->c, 0)->code == E_MEMORY;
			diag_clear(t->c);
			if (heap_used(t->c) > used + 4096) printf("allocation %llu leaks %zu bytes\n", (unsigned long long)n, heap_used(t->c) - used);
			good = good && heap_used(t->c) <= used + 4096; /* diag.c may keep what it grew */
		}
	}
	CHECK(t, good);
	CHECK(t, call(t, args, r) == ST_OK && same_results(want, r, 6));
	drop(r, 6);
	/* preparing may fail as well */
	fn_unref(t->f);
	Status st = ST_NOMEM;
	for (uint64_t n = 1; st == ST_NOMEM && n < 100 && build_it(t, make_mixture, NULL); n++) {
		size_t used = heap_used(t->c);
		heap_fail_at(t->c, n, false);
		Code *code = code_of(t->c, t->f);
		heap_fail_at(t->c, 0, false);
		st = code ? ST_OK : ST_NOMEM;
		if (!code) CHECK(t, heap_used(t->c) == used);
		diag_clear(t->c);
		fn_unref(t->f);
	}
	CHECK(t, st == ST_OK);
	drop(want, 6);
	drop(args, 1);
}

static void test_interrupts(T *t) {
	Value args[2] = {value_tensor(tensor(t, DT_F64, SHAPE(60, 60), -1, 1)), value_i64(50)}, want[6], r[6];
	if (!build_it(t, make_mixture, NULL)) return;
	CHECK(t, call(t, args, want) == ST_OK);
	uint64_t n = 1;
	bool good = true;
	for (; n < 10000; n++) {
		size_t used = heap_used(t->c);
		ctx_interrupt_at_poll(t->c, n);
		Status st = call(t, args, r);
		ctx_interrupt_at_poll(t->c, 0);
		ctx_clear_interrupt(t->c);
		if (st == ST_OK) break;
		good = good && st == ST_INTERRUPTED && diag_total(t->c) == 1 && diag_at(t->c, 0)->code == E_INTERRUPT && heap_used(t->c) <= used + 4096;
		diag_clear(t->c);
	}
	CHECK(t, good && n > 10 && same_results(want, r, 6));
	drop(r, 6);
	ctx_set_step_limit(t->c, 2000);
	CHECK(t, failed_with(t, call(t, args, r), ST_LIMIT, E_BUDGET, NULL));
	ctx_set_step_limit(t->c, 0);
	CHECK(t, call(t, args, r) == ST_OK && same_results(want, r, 6));
	drop(r, 6);
	drop(want, 6);
	drop(args, 1);
	fn_unref(t->f);
}

static void make_endless(T *t, const void *what) {
	(void)what;
	begin(t);
	Ref n = param(t, num(t, DT_I64)), q, r;
	TypeId type = num(t, DT_I64);
	OpenRegion *o = build_region_begin(t->b, 1, &type, &q);
	Ref more = build2(t->b, OP_LE, build_i64(t->b, 0), build2(t->b, OP_MOD, q, build_i64(t->b, 3)));
	RegionId cond = build_region_end(t->b, o, 1, &more);
	o = build_region_begin(t->b, 1, &type, &q);
	Ref next = build2(t->b, OP_ADD, q, n);
	RegionId body = build_region_end(t->b, o, 1, &next);
	build_while(t->b, 1, &n, cond, body, &r);
	t->f = build_end(t->b, 1, &r);
}

static void test_endless(T *t) {
	Value one = value_i64(1), r;
	ctx_set_time_limit(t->c, 0.05);
	CHECK(t, failed_with(t, once(t, make_endless, NULL, &one, &r), ST_LIMIT, E_BUDGET, "time"));
	ctx_set_time_limit(t->c, 0);
}

static void make_large(T *t, const void *what) {
	(void)what;
	begin(t);
	Dim n = build_fresh_dim(t->b, 0, 0), m = build_fresh_dim(t->b, 0, 0);
	Ref x = param(t, type_tensor(t->c, DT_F64, 2, (Dim[]){n, m})), r[4];
	Ref xt = build_transpose(t->b, x, (int[]){1, 0});
	r[0] = build2(t->b, OP_MUL, build1(t->b, OP_SIN, x), x);
	r[1] = build_matmul(t->b, r[0], xt);
	r[2] = build_reduce(t->b, OP_REDUCE_SUM, r[0], 2, (int[]){0, 1});
	r[3] = build1(t->b, OP_EXP, xt);
	t->f = build_end(t->b, 4, r);
}

static void test_threads(T *t) {
	Value x = value_tensor(tensor(t, DT_F64, SHAPE(1100, 300), -1, 1)), want[4], r[4];
	if (!build_it(t, make_large, NULL)) return;
	backend_set_threads(t->c, 1);
	CHECK(t, call(t, &x, want) == ST_OK);
	for (int threads = 0; threads < 5; threads++) {
		backend_set_threads(t->c, threads);
		for (int again = 0; again < 3; again++) {
			CHECK(t, call(t, &x, r) == ST_OK && same_results(want, r, 4));
			drop(r, 4);
		}
		ctx_interrupt_at_poll(t->c, 7);
		CHECK(t, failed_with(t, call(t, &x, r), ST_INTERRUPTED, E_INTERRUPT, NULL));
		ctx_interrupt_at_poll(t->c, 0);
		ctx_clear_interrupt(t->c);
	}
	backend_set_threads(t->c, 0);
	drop(want, 4);
	drop(&x, 1);
	fn_unref(t->f);
}

int main(void) {
	setvbuf(stdout, NULL, _IOLBF, 0);
	T t = {.c = ctx_new(NULL), .seed = 12345};
	if (!t.c || backend_init(t.c) != ST_OK) return 1;
	ctx_grant(t.c, GRANT_ALL);
	text_init(&t.printed, t.c);
	static const struct {
		const char *name;
		void (*run)(T *t);
	} tests[] = {
	    {"elementwise", test_elementwise}, {"extremes", test_extremes}, {"integer errors", test_integer_errors}, {"select", test_select},
	    {"convert", test_convert}, {"structure", test_structure}, {"bounds", test_bounds}, {"push", test_push}, {"reduce", test_reduce},
	    {"reduce edges", test_reduce_edges}, {"along axis", test_along_axis}, {"sort", test_sort_edges}, {"dot", test_dot},
	    {"dot general", test_dot_general}, {"places", test_places}, {"nonzero", test_nonzero}, {"linalg", test_linalg}, {"fft", test_fft},
	    {"random", test_random}, {"recursion", test_recursion}, {"while", test_while}, {"try", test_try}, {"guard", test_guard},
	    {"trace", test_trace}, {"dynamic", test_dynamic}, {"user errors", test_user_errors}, {"host", test_host}, {"in place", test_in_place},
	    {"chain", test_chain}, {"allocation failure", test_allocation_failure}, {"interrupts", test_interrupts}, {"endless", test_endless},
	    {"threads", test_threads},
	};
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
		uint32_t failed = t.failed;
		tests[i].run(&t);
		if (diag_total(t.c)) {
			printf("left behind:\n");
			show_diags(&t);
			diag_clear(t.c);
			t.failed++;
		}
		if (t.failed != failed) printf("^ in %s\n", tests[i].name);
	}
	text_free(&t.printed);
	ctx_free(t.c);
	printf("%u passed, %u failed\n", t.passed, t.failed);
	return t.failed != 0;
}
