/* test_eval.c - unit tests of the evaluator.
 *
 * Covers element-wise primitives and views (against plain loops), in-place
 * writes, control flow, guards, errors, try, recursion, budgets, allocation
 * failure, interrupts and threads. test_eval_arrays.c covers the other
 * primitives.
 *
 * Needs: help.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "backend/kernels/kernels.h"
#include "backend/vmath/vmath.h"
#include "tests/unit/eval/help.h"
#include "lang/base/parallel.h"
#include <math.h>

/* ---- element-wise -------------------------------------------------------- */

typedef struct Ew {
	Op op;
	Value args[3];
	uint32_t n;
} Ew;

static void make_ew(T *t, const void *what) {
	const Ew *e = what;
	ev_begin(t);
	Ref x[3], r;
	TypeId first = ev_type_like(t, e->args[e->op == OP_SELECT], true);
	for (uint32_t k = 0; k < e->n; k++) {
		TypeId type = e->args[0].kind == V_SCALAR
		                  ? ev_type_like(t, e->args[k], false)
		                  : type_with_dtype(t->c, first, value_dtype(e->args[k]));
		x[k] = ev_param(t, type);
	}
	r = build(t->b, e->op, e->n, x, 0, NULL);
	t->f = build_end(t->b, 1, &r);
}

/* Two views of the same elements: contiguous, transposed, every other element,
 * one element broadcast. */
enum { FLAT, TURNED, SPARSE, SPLAT, LAYOUTS };

static Tensor *laid_out(T *t, Dtype d, int layout, int64_t n, double lo, double hi) {
	if (layout == FLAT) return ev_tensor(t, d, SHAPE(n, 3), lo, hi);
	Tensor *base = layout == TURNED   ? ev_tensor(t, d, SHAPE(3, n), lo, hi)
	               : layout == SPARSE ? ev_tensor(t, d, SHAPE(n, 7), lo, hi)
	                                  : ev_tensor(t, d, SHAPE(1, 1), lo, hi);
	int64_t stride[2] = {layout == TURNED   ? 1
	                     : layout == SPARSE ? 7
	                                        : 0,
	                     layout == TURNED   ? n
	                     : layout == SPARSE ? 2
	                                        : 0};
	Tensor *view = tensor_view(t->c, base, 2, (int64_t[]){n, 3}, stride, 0);
	tensor_unref(base);
	return view;
}

static const char *element_at(const Tensor *x, int64_t i) {
	return x->data + (i / x->shape[1] * x->stride[0] + i % x->shape[1] * x->stride[1]) *
	                     (int64_t)dtype_size((Dtype)x->dtype);
}

/* Returns whether op is a transcendental function of floats. An element of its
 * result equals the scalar result bit for bit. It is within four units in the
 * last place of the C library, whose cbrt is off by as many. */
static bool is_maths(Op op, Dtype d) {
	static const char *const names[] = {
#define NAME(name) #name,
		VMATH_FUNCTIONS(NAME, NAME)};
	if ((d != DT_F32 && d != DT_F64) || op == OP_SQRT || op == OP_POW) return false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(names[i], prims[op].name)) return true;
	return false;
}
static bool maths_agrees(Op op, Dtype d, const void *x, const void *y, const void *want,
                         const void *got) {
	char alone[16] = {0};
	if (ew_kernel(d)(op, 1, alone, x, y, 0) >= 0 || memcmp(alone, got, dtype_size(d)) != 0)
		return false;
	if (d == DT_F32) {
		const float w = *(const float *)want, g = *(const float *)got;
		return fabsf(g - w) <= 4 * 0x1p-23f * fabsf(w);
	}
	const double w = *(const double *)want, g = *(const double *)got;
	return fabs(g - w) <= 4 * 0x1p-52 * fabs(w);
}

static bool ew_agrees(T *t, Ew *e) {
	Value r;
	Status st = ev_once(t, make_ew, e, e->args, &r);
	if (st != ST_OK) {
		ev_show_diags(t);
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
		const char *ex = element_at(x, i), *ey = y ? element_at(y, i) : NULL;
		good = scalar_apply(e->op, d, ex, ey, want) == ST_OK &&
		       (is_maths(e->op, d) ? maths_agrees(e->op, d, ex, ey, want, got)
		                           : !memcmp(want, got, size));
		if (!good)
			printf("%s of %s differs at %lld\n", prims[e->op].name, dtype_name(d), (long long)i);
	}
	ev_drop(&r, 1);
	return good;
}

static void test_elementwise(T *t) {
	for (Op op = 1; op < OP_COUNT; op++) {
		if (!prims[op].elementwise) continue;
		for (Dtype d = 0; d < DT_COUNT; d++) {
			if (!(prims[op].kinds & dtype_kind(d))) continue;
			const bool whole = dtype_is_int(d) || d == DT_BOOL;
			const double lo = op == OP_POW && whole                          ? 0
			                  : (op == OP_MOD || op == OP_FLOORDIV) && whole ? 1
			                                                                 : prims[op].lo;
			const double hi = whole ? 6 : prims[op].hi;
			for (int layout = 0; layout < LAYOUTS * LAYOUTS; layout++) {
				if (prims[op].nargs == 1 && layout >= LAYOUTS) continue;
				int64_t n = layout == 0 ? 3001 : 400;
				Ew e = {.op = op, .n = (uint32_t)prims[op].nargs};
				e.args[0] = value_tensor(
					laid_out(t, d, layout % LAYOUTS, n, op == OP_POW || !whole ? lo : -6, hi));
				if (e.n > 1) e.args[1] = value_tensor(laid_out(t, d, layout / LAYOUTS, n, lo, hi));
				CHECK(ew_agrees(t, &e));
				ev_drop(e.args, e.n);
			}
			/* Unboxed scalars. */
			char xb[16], yb[16], want[16] = {0};
			ev_put(d, xb, ev_uniform(t, prims[op].lo, prims[op].hi), 0.25);
			ev_put(d, yb, whole ? 2 : ev_uniform(t, prims[op].lo, prims[op].hi), 0.5);
			Ew e = {.op = op,
			        .n = (uint32_t)prims[op].nargs,
			        .args = {value_scalar_from_bytes(d, xb), value_scalar_from_bytes(d, yb)}};
			Value r = {.kind = V_UNSET};
			CHECK(ev_once(t, make_ew, &e, e.args, &r) == ST_OK);
			CHECK(scalar_apply(op, d, xb, yb, want) == ST_OK && r.kind == V_SCALAR);
			CHECK(value_identical(r, value_scalar_from_bytes((Dtype)r.dtype, want)));
		}
	}
}

/* max and min of NaN and the two zeros, in the vector form. */
static void test_extremes(T *t) {
	(void)t;
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
		CHECK(good);
	}
}

static void test_integer_errors(T *t) {
	for (int k = 0; k < 3; k++) {
		static const Op ops[] = {OP_MOD, OP_FLOORDIV, OP_POW};
		Tensor *x = ev_tensor(t, DT_I64, SHAPE(20000), 1, 9),
			   *y = ev_tensor(t, DT_I64, SHAPE(20000), 1, 4);
		((int64_t *)(void *)y->data)[17000] = k == 2 ? -3 : 0;
		Ew e = {.op = ops[k], .n = 2, .args = {value_tensor(x), value_tensor(y)}};
		Value r;
		CHECK(ev_failed_with(t, ev_once(t, make_ew, &e, e.args, &r), ST_ERROR, E_ARITH,
		                     k == 2 ? "-3" : "zero"));
		ev_drop(e.args, 2);
		Ew s = {.op = ops[k], .n = 2, .args = {value_i64(5), value_i64(k == 2 ? -3 : 0)}};
		CHECK(ev_failed_with(t, ev_once(t, make_ew, &s, s.args, &r), ST_ERROR, E_ARITH,
		                     k == 2 ? "-3" : "zero"));
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
			bool good = ev_once(t, make_ew, &e, e.args, &r) == ST_OK;
			for (int64_t i = 0; good && i < 1500; i++) {
				const Tensor *chosen = e.args[*element_at(e.args[0].tensor, i) ? 1 : 2].tensor;
				good = !memcmp(element_at(chosen, i), element_at(r.tensor, i), dtype_size(d));
			}
			CHECK(good);
			ev_drop(&r, 1);
			ev_drop(e.args, 3);
		}
	}
	Ew e = {.op = OP_SELECT, .n = 3, .args = {value_bool(false), value_f64(1), value_f64(2)}};
	Value r;
	CHECK(ev_once(t, make_ew, &e, e.args, &r) == ST_OK && r.f == 2);
}

typedef struct Cast {
	Value x;
	Dtype to;
} Cast;
static void make_cast(T *t, const void *what) {
	const Cast *k = what;
	ev_begin(t);
	Ref r = build_convert(t->b, ev_param(t, ev_type_like(t, k->x, true)), k->to);
	t->f = build_end(t->b, 1, &r);
}

static void test_convert(T *t) {
	for (Dtype from = 0; from < DT_COUNT; from++) {
		for (Dtype to = 0; to < DT_COUNT; to++) {
			for (int layout = 0; layout < 2; layout++) {
				Cast k = {value_tensor(laid_out(t, from, layout, 3000, -4, 4)), to};
				Value r;
				bool good = ev_once(t, make_cast, &k, &k.x, &r) == ST_OK;
				for (int64_t i = 0; good && i < 9000; i++) {
					char want[16] = {0};
					scalar_convert(from, element_at(k.x.tensor, i), to, want);
					good = !memcmp(want, element_at(r.tensor, i), dtype_size(to));
				}
				CHECK(good);
				ev_drop(&r, 1);
				ev_drop(&k.x, 1);
			}
		}
	}
	Cast k = {value_f64(-2.7), DT_I32};
	Value r;
	CHECK(ev_once(t, make_cast, &k, &k.x, &r) == ST_OK && r.dtype == DT_I32 && r.i32 == -2);
}

/* ---- structure ----------------------------------------------------------- */

static void make_structure(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	Dim n = build_fresh_dim(t->b, atom(t->c, "n"), 0), m = ev_len(t, 3);
	Ref x = ev_param(t, type_tensor(t->c, DT_F64, 2, (Dim[]){n, m})),
		s = ev_param(t, ev_num(t, DT_F64));
	Ref r[12];
	Dim one = ev_len(t, 1), two = ev_len(t, 2);
	r[0] = build_transpose(t->b, x, (int[]){1, 0});
	r[1] = build_reshape(t->b, x, 1, (Dim[]){dim_mul(t->c, n, m)});
	r[2] = build_reshape(t->b, r[0], 1, (Dim[]){dim_mul(t->c, n, m)});
	r[3] = build_broadcast(t->b, x, 3, (Dim[]){two, n, m}, (int[]){1, 2});
	r[4] = build_broadcast(t->b, s, 2, (Dim[]){n, two}, (int[]){0});
	r[5] = build_slice(t->b, x, (Dim[]){one, two}, (Dim[]){dim_sub(t->c, n, two), two},
	                   (int64_t[]){1, -2});
	r[6] = build_slice(t->b, x, (Dim[]){dim_sub(t->c, n, one), ev_len(t, 0)}, (Dim[]){n, m},
	                   (int64_t[]){-1, 1});
	r[7] = build_pad(t->b, x, (Dim[]){two, ev_len(t, 4)},
	                 (Dim[]){dim_add(t->c, dim_mul(t->c, two, n), two), ev_len(t, 6)},
	                 (int64_t[]){2, -2});
	r[8] = build_concat(t->b, 3, (Ref[]){x, r[6], x}, 0);
	r[9] = build_concat(t->b, 2, (Ref[]){r[0], r[0]}, 1);
	r[10] = build_iota(t->b, DT_F32, n);
	r[11] = build_extent(t->b, dim_sub(t->c, n, one));
	t->f = build_end(t->b, 12, r);
}

static void test_structure(T *t) {
	enum { N = 21 };
	Tensor *x = ev_tensor(t, DT_F64, SHAPE(N, 3), -1, 1);
	const double(*v)[3] = (const double(*)[3])(void *)x->data;
	Value args[2] = {value_tensor(x), value_f64(7)}, r[12];
	if (ev_once(t, make_structure, NULL, args, r) != ST_OK) {
		ev_show_diags(t);
		CHECK(false);
		return;
	}
	double _Complex w[400];
	int64_t k;
	k = 0;
	for (int j = 0; j < 3; j++)
		for (int i = 0; i < N; i++) w[k++] = v[i][j];
	CHECK(ev_distance(r[0], w) == 0 && r[0].tensor->buffer == x->buffer &&
	      r[0].tensor->shape[1] == N);
	CHECK(ev_distance(r[2], w) == 0 && r[2].tensor->rank == 1);
	k = 0;
	for (int c = 0; c < 2; c++)
		for (int i = 0; i < N; i++)
			for (int j = 0; j < 3; j++) w[k++] = v[i][j];
	CHECK(ev_distance(r[1], w) == 0 && r[1].tensor->buffer == x->buffer);
	CHECK(ev_distance(r[3], w) == 0 && r[3].tensor->buffer == x->buffer &&
	      r[3].tensor->stride[0] == 0);
	for (k = 0; k < 2 * N; k++) w[k] = 7;
	CHECK(ev_distance(r[4], w) == 0 && r[4].tensor->count == 2 * N);
	k = 0;
	for (int i = 1; i < N - 1; i++)
		for (int j = 0; j < 2; j++) w[k++] = v[i][2 - 2 * j];
	CHECK(ev_distance(r[5], w) == 0 && r[5].tensor->count == k);
	k = 0;
	for (int i = N; i-- > 0;)
		for (int j = 0; j < 3; j++) w[k++] = v[i][j];
	CHECK(ev_distance(r[6], w) == 0 && r[6].tensor->buffer == x->buffer);
	for (k = 0; k < (2 * N + 2) * 6; k++) w[k] = 0;
	for (int i = 0; i < N; i++)
		for (int j = 0; j < 3; j++) w[(2 + 2 * i) * 6 + 4 - 2 * j] = v[i][j];
	CHECK(ev_distance(r[7], w) == 0 && r[7].tensor->count == k);
	k = 0;
	for (int i = 0; i < N * 3; i++) w[k++] = v[i / 3][i % 3];
	for (int i = N; i-- > 0;)
		for (int j = 0; j < 3; j++) w[k++] = v[i][j];
	for (int i = 0; i < N * 3; i++) w[k++] = v[i / 3][i % 3];
	CHECK(ev_distance(r[8], w) == 0 && r[8].tensor->shape[0] == 3 * N);
	k = 0;
	for (int j = 0; j < 3; j++)
		for (int i = 0; i < 2 * N; i++) w[k++] = v[i % N][j];
	CHECK(ev_distance(r[9], w) == 0);
	for (k = 0; k < N; k++) w[k] = k;
	CHECK(ev_distance(r[10], w) == 0 && r[10].tensor->dtype == DT_F32);
	CHECK(r[11].i == N - 1);
	ev_drop(r, 12);
	ev_drop(args, 1);
}

/* Slices out of range, with bounds known only at run time. */
static void make_bad_slice(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	Dim n = build_fresh_dim(t->b, atom(t->c, "n"), 0);
	Ref x = ev_param(t, ev_vec_of(t, DT_F64, n)), k = ev_param(t, ev_num(t, DT_I64));
	Dim length = build_dim_of(t->b, k, atom(t->c, "k"));
	Ref r = build_slice(t->b, x, (Dim[]){ev_len(t, 2)}, &length, NULL);
	t->f = build_end(t->b, 1, &r);
}

static void test_bounds(T *t) {
	Tensor *x = ev_tensor(t, DT_F64, SHAPE(20), 0, 1);
	Value r, args[2] = {value_tensor(x), value_i64(18)};
	CHECK(ev_once(t, make_bad_slice, NULL, args, &r) == ST_OK && r.tensor->count == 18);
	ev_drop(&r, 1);
	args[1] = value_i64(19);
	CHECK(ev_failed_with(t, ev_once(t, make_bad_slice, NULL, args, &r), ST_ERROR, E_INDEX,
	                     "length 20"));
	args[1] = value_i64(-1);
	CHECK(ev_failed_with(t, ev_once(t, make_bad_slice, NULL, args, &r), ST_ERROR, E_VALUE,
	                     "negative"));
	args[1] = value_i64(INT64_MAX);
	CHECK(ev_failed_with(t, ev_once(t, make_bad_slice, NULL, args, &r), ST_ERROR, E_INDEX, NULL));
	ev_drop(args, 1);
}

/* push in a loop: n rows. */
static void make_push(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	Ref n = ev_param(t, ev_num(t, DT_I64));
	Dim none = ev_len(t, 0), two = ev_len(t, 2), k = build_fresh_dim(t->b, atom(t->c, "k"), 0);
	Ref p[3];
	Ref init[2] = {build_zeros(t->b, ev_vec_of(t, DT_I64, none)),
	               build_zeros(t->b, type_tensor(t->c, DT_F64, 2, (Dim[]){none, two}))};
	OpenRegion *o = build_region_begin(t->b, 3,
	                                   (TypeId[]){ev_num(t, DT_I64), ev_vec_of(t, DT_I64, k),
	                                              type_tensor(t->c, DT_F64, 2, (Dim[]){k, two})},
	                                   p);
	Ref row = build_broadcast(t->b, build_convert(t->b, p[0], DT_F64), 1, &two, NULL);
	Ref r[2] = {build(t->b, OP_PUSH, 2, (Ref[]){p[1], p[0]}, 0, NULL),
	            build(t->b, OP_PUSH, 2, (Ref[]){p[2], row}, 0, NULL)};
	build_for(t->b, n, 2, init, build_region_end(t->b, o, 2, r), r);
	t->f = build_end(t->b, 2, r);
}

static void test_push(T *t) {
	Value r[2], n = value_i64(1000);
	if (!ev_build_it(t, make_push, NULL)) return;
	CHECK(ev_call(t, &n, r) == ST_OK);
	bool good = r[0].tensor->count == 1000 && r[1].tensor->shape[0] == 1000;
	for (int64_t i = 0; good && i < 1000; i++)
		good = creal(ev_at(r[0].tensor, &i)) == (double)i &&
		       creal(ev_at(r[1].tensor, (int64_t[]){i, 1})) == (double)i;
	CHECK(good);
	ev_drop(r, 2);
	uint64_t before = heap_allocation_count(t->c);
	CHECK(ev_call(t, &n, r) == ST_OK);
	CHECK(/* Each row is a broadcast view; the arrays grow by doubling. */
	      heap_allocation_count(t->c) - before < 5000);
	ev_drop(r, 2);
	fn_unref(t->f);
}

/* ---- control ------------------------------------------------------------- */

/* fib(n) = if n < 2 { n } else { fib(n-1) + fib(n-2) }, or an endless
 * recursion. */
static void make_recursion(T *t, const void *what) {
	const bool endless = *(const bool *)what;
	ev_begin(t);
	Fn *self = build_fn(t->b);
	TypeId i64 = ev_num(t, DT_I64);
	Ref n = ev_param(t, i64), one = build_i64(t->b, 1), two = build_i64(t->b, 2), r;
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
	if (ev_build_it(t, make_recursion, &endless)) {
		run_counters(t->c)->calls = 0;
		CHECK(ev_call(t, &n, &r) == ST_OK && r.i == 6765);
		CHECK(run_counters(t->c)->calls == 21891);
		fn_unref(t->f);
	}
	endless = true;
	if (ev_build_it(t, make_recursion, &endless)) {
		CHECK(ev_failed_with(t, ev_call(t, &n, &r), ST_LIMIT, E_DEPTH, "2000"));
		/* The C stack is the tighter limit, and is not overrun. */
		ctx_set_depth_limit(t->c, 1000000000);
		CHECK(ev_failed_with(t, ev_call(t, &n, &r), ST_LIMIT, E_DEPTH, NULL));
		ctx_set_depth_limit(t->c, 2000);
		n = value_i64(1);
		CHECK(ev_call(t, &n, &r) == ST_OK && r.i == 1);
		fn_unref(t->f);
	}
}

/* while x < limit { x = 2x + 1; k = k + 1 }, with a carried tensor that is
 * changed in place under an `if`. */
static void make_while(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	TypeId f64 = ev_num(t, DT_F64), i64 = ev_num(t, DT_I64),
		   v = ev_vec_of(t, DT_F64, build_fresh_dim(t->b, 0, 0));
	Ref limit = ev_param(t, f64), x0 = ev_param(t, v), p[3], r[3];
	TypeId types[3] = {f64, i64, v};
	OpenRegion *o = build_region_begin(t->b, 3, types, p);
	Ref more = build2(t->b, OP_LT, p[0], limit);
	RegionId cond = build_region_end(t->b, o, 1, &more);
	o = build_region_begin(t->b, 3, types, p);
	Ref y[3] = {
		build2(t->b, OP_ADD, build2(t->b, OP_MUL, p[0], build_f64(t->b, 2)), build_f64(t->b, 1)),
		build2(t->b, OP_ADD, p[1], build_i64(t->b, 1)), REF_NONE};
	OpenRegion *in = build_region_begin(t->b, 0, NULL, NULL);
	Ref set = build_scatter(t->b, OP_SCATTER_SET, p[2], p[1], p[0], 0, 0);
	RegionId yes = build_region_end(t->b, in, 1, &set);
	in = build_region_begin(t->b, 0, NULL, NULL);
	RegionId no = build_region_end(t->b, in, 1, &p[2]);
	Ref odd =
		build2(t->b, OP_EQ, build2(t->b, OP_MOD, p[1], build_i64(t->b, 2)), build_i64(t->b, 1));
	build_if(t->b, odd, yes, no, &y[2]);
	RegionId body = build_region_end(t->b, o, 3, y);
	build_while(t->b, 3, (Ref[]){build_f64(t->b, 1), build_i64(t->b, 0), x0}, cond, body, r);
	t->f = build_end(t->b, 3, r);
}

static void test_while(T *t) {
	if (!ev_build_it(t, make_while, NULL)) return;
	Value args[2] = {value_f64(1e6), value_tensor(ev_tensor(t, DT_F64, SHAPE(100000), 5, 6))}, r[3];
	Tensor *keep = tensor_copy(t->c, args[1].tensor);
	CHECK(ev_call(t, args, r) == ST_OK); /* prepares the function */
	ev_drop(r, 3);
	uint64_t before = heap_allocation_count(t->c);
	CHECK(ev_call(t, args, r) == ST_OK);
	/* The first write copies; the others are in place. */
	CHECK(heap_allocation_count(t->c) - before < 12);
	CHECK(r[0].f == 1048575 && r[1].i == 19);
	CHECK(creal(ev_at(r[2].tensor, (int64_t[]){3})) == 15 &&
	      creal(ev_at(r[2].tensor, (int64_t[]){2})) == creal(ev_at(keep, (int64_t[]){2})));
	CHECK(value_identical(args[1], value_tensor(keep))); /* the caller's argument is unchanged */
	ev_drop(r, 3);
	tensor_unref(keep);
	ev_drop(args, 2);
	fn_unref(t->f);
}

/* try { big = x + 1; y = x[k]; y + sum(big) } catch e { print-able e }: the
 * result is the message. */
static void make_try(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	Ref x = ev_param(t, ev_vec(t, DT_F64, 12)), k = ev_param(t, ev_num(t, DT_I64)), p, r[2];
	Ref big = build2(t->b, OP_ADD, x, x);
	OpenRegion *o = build_region_begin(t->b, 0, NULL, NULL);
	Ref inner = build2(t->b, OP_MUL, big, x);
	Ref y = build2(t->b, OP_ADD, build_gather(t->b, inner, k, 0, 0),
	               build_reduce(t->b, OP_REDUCE_SUM, inner, 1, (int[]){0}));
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
	if (!ev_build_it(t, make_try, NULL)) return;
	Value args[2] = {value_tensor(ev_tensor(t, DT_F64, SHAPE(12), 1, 2)), value_i64(3)}, r[2];
	size_t used = heap_used(t->c);
	CHECK(ev_call(t, args, r) == ST_OK && r[0].f > 12 && r[1].kind == V_NONE);
	ev_drop(r, 2);
	args[1] = value_i64(12);
	CHECK(ev_call(t, args, r) == ST_OK && r[0].f == -1 && r[1].kind == V_STRING &&
	      strstr(((StringObject *)r[1].object)->text, "index 12"));
	CHECK(diag_total(t->c) == 0);
	ev_drop(r, 2);
	ctx_interrupt(t->c); /* an interrupt is not a user error: `try` does not catch it */
	args[1] = value_i64(3);
	Status st = ST_OK;
	for (int i = 0; i < 300 && st == ST_OK; i++) {
		st = ev_call(t, args, r);
		if (st == ST_OK) ev_drop(r, 2);
	}
	ctx_clear_interrupt(t->c);
	CHECK(ev_failed_with(t, st, ST_INTERRUPTED, E_INTERRUPT, NULL));
	CHECK(heap_used(t->c) <= used + 65536);
	ev_drop(args, 1);
	fn_unref(t->f);
}

/* A guard compares two extents at run time. */
static void make_guard(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	SourceId src = source_add(t->c, "g.dsl", "v + w\n", 6);
	Dim n = build_fresh_dim(t->b, atom(t->c, "n"), span_intern(t->c, span_made(src, 0, 1))),
		m = build_fresh_dim(t->b, atom(t->c, "m"), 0);
	Ref x = ev_param(t, ev_vec_of(t, DT_F64, n)), y = ev_param(t, ev_vec_of(t, DT_F64, m));
	build_at(t->b, span_intern(t->c, span_made(src, 0, 5)));
	build_unify(t->b, n, m, atom(t->c, "cannot add f64[n] and f64[m]"));
	Ref r = build2(t->b, OP_ADD, x, y);
	t->f = build_end(t->b, 1, &r);
}

static void test_guard(T *t) {
	if (!ev_build_it(t, make_guard, NULL)) return;
	Value args[2] = {value_tensor(ev_tensor(t, DT_F64, SHAPE(20), 1, 2)),
	                 value_tensor(ev_tensor(t, DT_F64, SHAPE(21), 1, 2))},
		  r;
	Status st = ev_call(t, args, &r);
	const Diag *d = diag_total(t->c) ? diag_at(t->c, 0) : NULL;
	CHECK(st == ST_ERROR && d && d->span.end == 5 && d->second.source && d->second.end == 1);
	CHECK(ev_failed_with(t, st, ST_ERROR, E_GUARD,
	                     "cannot add f64[n] and f64[m]: n = 20 and m = 21 differ"));
	ev_drop(&args[1], 1);
	args[1] = value_ref(args[0]);
	CHECK(ev_call(t, args, &r) == ST_OK && r.tensor->count == 20);
	ev_drop(&r, 1);
	/* Arguments of other types are rejected. */
	ev_drop(&args[1], 1);
	args[1] = value_f64(1);
	CHECK(ev_failed_with(t, ev_call(t, args, &r), ST_ERROR, E_TYPE,
	                     "argument 2 of f: expected f64[m], found"));
	ev_drop(args, 2);
	fn_unref(t->f);
}

/* g calls f with x; the error in f reports the call. */
static void make_caller(T *t, const void *what) {
	Fn *callee = *(Fn *const *)what;
	t->b = build_begin(t->c, atom(t->c, "g"), 0, NULL);
	SourceId src = source_add(t->c, "call.dsl", "g(x) = f(x)\n", 12);
	build_at(t->b, span_intern(t->c, span_made(src, 7, 11)));
	Ref x = ev_param(t, ev_vec_of(t, DT_F64, build_fresh_dim(t->b, 0, 0))),
		y = ev_param(t, ev_vec_of(t, DT_F64, build_fresh_dim(t->b, 0, 0))), r;
	build_call(t->b, callee, 2, (Ref[]){x, y}, &r);
	t->f = build_end(t->b, 1, &r);
}

static void test_trace(T *t) {
	if (!ev_build_it(t, make_guard, NULL)) return;
	Fn *callee = t->f;
	if (ev_build_it(t, make_caller, &callee)) {
		Value args[2] = {value_tensor(ev_tensor(t, DT_F64, SHAPE(20), 1, 2)),
		                 value_tensor(ev_tensor(t, DT_F64, SHAPE(21), 1, 2))},
			  r;
		Status st = ev_call(t, args, &r);
		const char *trace = diag_total(t->c) ? diag_at(t->c, 0)->trace : NULL;
		CHECK(trace && strstr(trace, "in f, called at call.dsl:1:8"));
		CHECK(ev_failed_with(t, st, ST_ERROR, E_GUARD, NULL));
		ev_drop(args, 2);
		fn_unref(t->f);
	}
	fn_unref(callee);
}

/* ---- dynamic values, effects, host functions ----------------------------- */

static void make_dynamic(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	Ctx *c = t->c;
	Ref x = ev_param(t, ev_vec(t, DT_F64, 3)), s = ev_param(t, ev_num(t, DT_I64)),
		state = ev_param(t, ev_vec(t, DT_I64, 2)), r[6], d[3];
	Value hole = {.kind = V_UNSET};
	Value items[3] = {value_f64(0.5), hole, hole};
	Value inner = value_seq(c, V_TUPLE, 2, items + 1);
	Value rec =
		value_record(c, 2, (Atom[]){atom(c, "a"), atom(c, "b")}, (Value[]){items[0], inner});
	Ref template = build_const(t->b, rec);
	ev_drop(&inner, 1);
	ev_drop(&rec, 1);
	r[0] = build(t->b, OP_BOX, 3, (Ref[]){template, x, s}, 0, NULL);
	Ref bare = build_const(t->b, hole);
	r[1] = build(t->b, OP_BOX, 2, (Ref[]){bare, x}, 0, NULL);
	r[2] = build(t->b, OP_FORMAT, 3, (Ref[]){s, r[1], r[0]},
	             attr_intern(c, (int64_t[]){atom(c, "{{s}} = {0:05}, {1}|{0}|")}, 1), NULL);
	Ref token = build(t->b, OP_START, 0, NULL, 0, NULL);
	Ref token2 = build(t->b, OP_PRINT, 2, (Ref[]){token, r[2]}, 0, NULL);
	Ref f = build_const(t->b, value_none());
	build(t->b, OP_DYNAMIC, 5, (Ref[]){token2, state, f, r[1], r[0]}, 0, d);
	r[3] = d[1];
	r[4] = d[2];
	TypeId to = ev_vec(t, DT_F64, 3);
	r[5] = build_typed(t->b, OP_UNBOX, 1, &d[2], attr_intern(c, (int64_t[]){to}, 1), 1, &to, NULL);
	t->f = build_end(t->b, 6, r);
}

static Status fake_dynamic(Ctx *c, Value f, uint32_t nargs, const Value *args, Value *state,
                           Value *result, SpanId span) {
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

static void collect(void *ud, const char *text, size_t n) { text_add(ud, text, n); }

static void test_dynamic(T *t) {
	ir_services(t->c)->call_dynamic = fake_dynamic;
	ctx_set_output(t->c, collect, &t->printed);
	Value args[3] = {value_tensor(ev_tensor(t, DT_F64, SHAPE(3), 1, 2)), value_i64(42),
	                 value_tensor(tensor_zeros(t->c, DT_I64, SHAPE(2)))},
		  r[6];
	if (!ev_build_it(t, make_dynamic, NULL)) return;
	CHECK(ev_call(t, args, r) == ST_OK);
	Value b = value_field(r[0], atom(t->c, "b"));
	CHECK(b.kind == V_TUPLE && ((SeqObject *)b.object)->items[0].tensor == args[0].tensor &&
	      ((SeqObject *)b.object)->items[1].i == 42);
	CHECK(value_identical(r[1], args[0]) && value_identical(r[4], args[0]) &&
	      value_identical(r[5], args[0]));
	CHECK(creal(ev_at(r[3].tensor, (int64_t[]){1})) == 5);
	const char *text = ((StringObject *)r[2].object)->text;
	CHECK(!strncmp(text, "{s} = ", 6) && strstr(text, "|42|"));
	CHECK(t->printed.n == strlen(text) + 1 && !strncmp(t->printed.at, text, strlen(text)) &&
	      t->printed.at[t->printed.n - 1] == '\n');
	ev_drop(r, 6);
	ev_drop(args, 3);
	fn_unref(t->f);
	ctx_set_output(t->c, NULL, NULL);
}

static void make_fail(T *t, const void *what) {
	ev_begin(t);
	Value v = value_string(t->c, "no such thing", 13);
	Ref s = build_const(t->b, v);
	ev_drop(&v, 1);
	Ref x = ev_param(t, ev_num(t, DT_BOOL)), r = x;
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
	ev_begin(t);
	Ref x = ev_param(t, type_dyn(t->c)), r;
	TypeId to = type_tensor(t->c, DT_F64, 2, (Dim[]){build_fresh_dim(t->b, 0, 0), ev_len(t, 3)});
	r = build_typed(t->b, OP_UNBOX, 1, &x, attr_intern(t->c, (int64_t[]){to}, 1), 1, &to, NULL);
	t->f = build_end(t->b, 1, &r);
}

static void test_user_errors(T *t) {
	Value yes = value_bool(true), r;
	int code = E_ASSERT;
	CHECK(ev_failed_with(t, ev_once(t, make_fail, &code, &yes, &r), ST_ERROR, E_ASSERT,
	                     "no such thing"));
	Value x = value_f64(1);
	CHECK(ev_failed_with(t, ev_once(t, make_unbox, NULL, &x, &r), ST_ERROR, E_TYPE,
	                     "this value: expected f64["));
	x = value_tensor(ev_tensor(t, DT_F64, SHAPE(20, 4), 0, 1));
	CHECK(ev_failed_with(t, ev_once(t, make_unbox, NULL, &x, &r), ST_ERROR, E_SHAPE, "3]"));
	ev_drop(&x, 1);
	x = value_tensor(ev_tensor(t, DT_F64, SHAPE(20, 3), 0, 1));
	CHECK(ev_once(t, make_unbox, NULL, &x, &r) == ST_OK && value_identical(x, r));
	ev_drop(&r, 1);
	ev_drop(&x, 1);
}

static uint32_t host_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                           TypeId *out, uint32_t cap) {
	(void)nargs;
	(void)cap;
	(void)call;
	out[0] = ref_type(build_fn(b), args[0]);
	return 1;
}
static Status host_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                        uint32_t nresults, Value *results) {
	(void)nargs;
	(void)nresults;
	if (call->options[0] == 1) return ST_ERROR;
	if (call->options[0] == 2) {
		results[0] = value_f64(3);
		return ST_OK;
	}
	/* The host function runs the evaluator recursively. */
	return ir_services(c)->run(c, call->fns[0], args, results);
}

static void make_square(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	Ref x = ev_param(t, ev_vec_of(t, DT_F64, build_fresh_dim(t->b, 0, 0))),
		r = build2(t->b, OP_MUL, x, x);
	t->f = build_end(t->b, 1, &r);
}

typedef struct Hosted {
	Fn *fn;
	int64_t option;
} Hosted;
static void make_host(T *t, const void *what) {
	const Hosted *h = what;
	HostDef def = {.name = "square", .types = host_types, .eval = host_eval};
	ev_begin(t);
	Ref x = ev_param(t, ev_vec_of(t, DT_F64, build_fresh_dim(t->b, 0, 0))), r;
	HostId id = host_call_intern(t->c, &def, 1, &h->fn, 1, &h->option);
	build_host(t->b, id, 1, &x, &r, 1);
	t->f = build_end(t->b, 1, &r);
}

static void test_host(T *t) {
	if (!ev_build_it(t, make_square, NULL)) return;
	Hosted h = {.fn = t->f};
	Value x = value_tensor(ev_tensor(t, DT_F64, SHAPE(50), 0, 2)), r;
	CHECK(ev_once(t, make_host, &h, &x, &r) == ST_OK &&
	      ev_off(ev_at(r.tensor, (int64_t[]){7}), cpow(ev_at(x.tensor, (int64_t[]){7}), 2)) <
	          1e-15);
	ev_drop(&r, 1);
	h.option = 1;
	CHECK(ev_failed_with(t, ev_once(t, make_host, &h, &x, &r), ST_ERROR, E_HOST, "square failed"));
	h.option = 2;
	CHECK(ev_failed_with(t, ev_once(t, make_host, &h, &x, &r), ST_ERROR, E_TYPE,
	                     "square: expected f64["));
	ev_drop(&x, 1);
	fn_unref(h.fn);
}

/* ---- in-place writes ----------------------------------------------------- */

enum { STEPS = 40, LENGTH = 24 };

/* A random straight-line program over vectors. Its results are its last `shown`
 * values. With all shown no value may be overwritten; with one shown nearly all
 * may. The last value must be the same. */
typedef struct Straight {
	uint64_t seed;
	int shown;
} Straight;

static void make_straight(T *t, const void *what) {
	const Straight *q = what;
	T own = {.seed = q->seed};
	ev_begin(t);
	Builder *b = t->b;
	Dim n = ev_len(t, LENGTH);
	Ref v[STEPS + 3];
	for (int k = 0; k < 3; k++) v[k] = ev_param(t, ev_vec(t, DT_F64, LENGTH));
	Ref i = ev_param(t, ev_num(t, DT_I64)), index = build_iota(b, DT_I64, n);
	for (int k = 3; k < STEPS + 3; k++) {
		Ref x = v[k - 1 - ev_below(&own, k < 6 ? k : 6)],
			y = v[k - 1 - ev_below(&own, k < 6 ? k : 6)];
		switch (ev_below(&own, 11)) {
		case 0: v[k] = build2(b, OP_ADD, x, y); break;
		case 1: v[k] = build2(b, OP_SUB, y, x); break;
		case 2: v[k] = build1(b, OP_NEG, x); break;
		case 3:
			v[k] = build_scatter(b, OP_SCATTER_SET, x, i, build_gather(b, y, i, 0, 0), 0, 0);
			break;
		case 4: v[k] = build_scatter(b, OP_SCATTER_ADD, x, index, y, 0, 0); break;
		case 5:
			v[k] = build_slice(b, x, (Dim[]){ev_len(t, LENGTH - 1)}, &n, (int64_t[]){-1});
			break;
		case 6: v[k] = build_select(b, build2(b, OP_LT, x, y), x, y); break;
		case 7:
			v[k] = build(b, OP_CUMSUM, 1, &x,
			             attr_intern(t->c, (int64_t[]){0, ev_below(&own, 2)}, 2), NULL);
			break;
		case 8:
			v[k] = build_reshape(
				b,
				build_transpose(b, build_reshape(b, x, 2, (Dim[]){ev_len(t, 4), ev_len(t, 6)}),
			                    (int[]){1, 0}),
				1, &n);
			break;
		case 9: {
			Ref p[2];
			OpenRegion *o = build_region_begin(
				b, 2, (TypeId[]){ev_num(t, DT_I64), ev_vec(t, DT_F64, LENGTH)}, p);
			Ref u =
				build_scatter(b, OP_SCATTER_ADD, p[1], p[0], build_gather(b, y, p[0], 0, 0), 0, 0);
			build_for(b, i, 1, &x, build_region_end(b, o, 1, &u), &v[k]);
			break;
		}
		default: {
			Ref c = build2(b, OP_LT, i, build_i64(b, ev_below(&own, 10)));
			OpenRegion *o = build_region_begin(b, 0, NULL, NULL);
			Ref u = build_scatter(b, OP_SCATTER_SET, x, i, build_f64(b, 1), 0, 0);
			RegionId yes = build_region_end(b, o, 1, &u);
			o = build_region_begin(b, 0, NULL, NULL);
			u = build2(b, OP_MIN, y, x);
			RegionId no = build_region_end(b, o, 1, &u);
			build_if(b, c, yes, no, &v[k]);
		}
		}
		/* Keeps values bounded. */
		if (k % 5 == 0) v[k] = build1(b, OP_SIN, v[k]);
	}
	t->f = build_end(b, (uint32_t)q->shown, v + STEPS + 3 - q->shown);
}

static void test_in_place(T *t) {
	Value args[4], keep[3];
	for (int k = 0; k < 3; k++) {
		args[k] = value_tensor(ev_tensor(t, DT_F64, SHAPE(LENGTH), -1, 1));
		keep[k] = value_tensor(tensor_copy(t->c, args[k].tensor));
	}
	args[3] = value_i64(5);
	for (uint64_t seed = 1; seed <= 400; seed++) {
		Value all[STEPS], last = {.kind = V_UNSET};
		Straight q = {seed, STEPS};
		bool good = ev_once(t, make_straight, &q, args, all) == ST_OK;
		q.shown = 1;
		good = good && ev_once(t, make_straight, &q, args, &last) == ST_OK &&
		       value_identical(last, all[STEPS - 1]);
		for (int k = 0; k < 3; k++) good = good && value_identical(args[k], keep[k]);
		if (!good) printf("program %llu\n", (unsigned long long)seed);
		CHECK(good);
		ev_drop(all, STEPS);
		ev_drop(&last, 1);
		if (!good) ev_show_diags(t), diag_clear(t->c);
	}
	ev_drop(args, 3);
	ev_drop(keep, 3);
}

static void make_chain(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	Ref x = ev_param(t, ev_vec_of(t, DT_F64, build_fresh_dim(t->b, 0, 0)));
	for (int k = 0; k < 20; k++) x = build1(t->b, k % 2 ? OP_SIN : OP_EXP, x);
	t->f = build_end(t->b, 1, &x);
}

static void test_chain(T *t) {
	Value x = value_tensor(ev_tensor(t, DT_F64, SHAPE(100), -1, 1)), r;
	if (!ev_build_it(t, make_chain, NULL)) return;
	CHECK(ev_call(t, &x, &r) == ST_OK);
	ev_drop(&r, 1);
	uint64_t before = heap_allocation_count(t->c);
	run_counters(t->c)->scalar_operations = 0;
	run_counters(t->c)->instructions = 0;
	CHECK(ev_call(t, &x, &r) == ST_OK);
	CHECK(heap_allocation_count(t->c) - before <= 3); /* one tensor for twenty steps */
	CHECK(run_counters(t->c)->scalar_operations == 2000 && run_counters(t->c)->instructions == 20);
	ev_drop(&r, 1);
	ev_drop(&x, 1);
	fn_unref(t->f);
}

/* ---- budgets, allocation failure, threads -------------------------------- */

/* A mixture of operations, with failing ones inside try. */
static void make_mixture(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	Builder *b = t->b;
	Dim n = build_fresh_dim(b, atom(t->c, "n"), 0);
	Ref a = ev_param(t, type_tensor(t->c, DT_F64, 2, (Dim[]){n, n})),
		k = ev_param(t, ev_num(t, DT_I64)), r[6], p[2], q;
	Ref at_ = build_transpose(b, a, (int[]){1, 0});
	Ref s = build_matmul(b, a, at_);
	Ref z = build2(b, OP_ADD, build1(b, OP_TANH, at_), s);
	r[0] = build_reduce(b, OP_REDUCE_SUM, z, 1, (int[]){0});
	OpenRegion *o =
		build_region_begin(b, 2, (TypeId[]){ev_num(t, DT_I64), ref_type(build_fn(b), r[0])}, p);
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
	r[5] =
		build(b, OP_FORMAT, 1, &r[0], attr_intern(t->c, (int64_t[]){atom(t->c, "{0}")}, 1), NULL);
	t->f = build_end(b, 6, r);
}

static bool same_results(const Value *a, const Value *b, uint32_t n) {
	bool good = true;
	for (uint32_t k = 0; k < n; k++) good = good && value_identical(a[k], b[k]);
	return good;
}

static void test_allocation_failure(T *t) {
	Value args[2] = {value_tensor(ev_tensor(t, DT_F64, SHAPE(30, 30), -1, 1)), value_i64(7)},
		  want[6], r[6];
	if (!ev_build_it(t, make_mixture, NULL)) return;
	CHECK(ev_call(t, args, want) == ST_OK);
	bool good = true;
	for (int forever = 0; forever < 2; forever++) {
		for (uint64_t n = 1; n < 2000; n++) {
			size_t used = heap_used(t->c);
			heap_fail_at(t->c, n, forever);
			Status st = ev_call(t, args, r);
			heap_fail_at(t->c, 0, false);
			if (st == ST_OK) {
				good = good && same_results(want, r, 6) && n > 10;
				ev_drop(r, 6);
				break;
			}
			if (st != ST_NOMEM || !diag_total(t->c) || diag_at(t->c, 0)->code != E_MEMORY)
				printf("allocation %llu: status %d\n", (unsigned long long)n, (int)st),
					ev_show_diags(t);
			good = good && st == ST_NOMEM && r[0].kind == V_UNSET && diag_total(t->c) > 0 &&
			       diag_at(t->c, 0)->code == E_MEMORY;
			diag_clear(t->c);
			if (heap_used(t->c) > used + 4096)
				printf("allocation %llu leaks %zu bytes\n", (unsigned long long)n,
				       heap_used(t->c) - used);
			good = good && heap_used(t->c) <= used + 4096; /* diag.c may keep its grown buffer */
		}
	}
	CHECK(good);
	CHECK(ev_call(t, args, r) == ST_OK && same_results(want, r, 6));
	ev_drop(r, 6);
	/* Preparation may fail as well. */
	fn_unref(t->f);
	Status st = ST_NOMEM;
	for (uint64_t n = 1; st == ST_NOMEM && n < 100 && ev_build_it(t, make_mixture, NULL); n++) {
		size_t used = heap_used(t->c);
		heap_fail_at(t->c, n, false);
		Code *code = code_of(t->c, t->f);
		heap_fail_at(t->c, 0, false);
		st = code ? ST_OK : ST_NOMEM;
		if (!code) CHECK(heap_used(t->c) == used);
		diag_clear(t->c);
		fn_unref(t->f);
	}
	CHECK(st == ST_OK);
	ev_drop(want, 6);
	ev_drop(args, 1);
}

static void test_interrupts(T *t) {
	Value args[2] = {value_tensor(ev_tensor(t, DT_F64, SHAPE(60, 60), -1, 1)), value_i64(50)},
		  want[6], r[6];
	if (!ev_build_it(t, make_mixture, NULL)) return;
	CHECK(ev_call(t, args, want) == ST_OK);
	uint64_t n = 1;
	bool good = true;
	for (; n < 10000; n++) {
		size_t used = heap_used(t->c);
		ctx_interrupt_at_poll(t->c, n);
		Status st = ev_call(t, args, r);
		ctx_interrupt_at_poll(t->c, 0);
		ctx_clear_interrupt(t->c);
		if (st == ST_OK) break;
		good = good && st == ST_INTERRUPTED && diag_total(t->c) == 1 &&
		       diag_at(t->c, 0)->code == E_INTERRUPT && heap_used(t->c) <= used + 4096;
		diag_clear(t->c);
	}
	CHECK(good && n > 10 && same_results(want, r, 6));
	ev_drop(r, 6);
	ctx_set_step_limit(t->c, 2000);
	CHECK(ev_failed_with(t, ev_call(t, args, r), ST_LIMIT, E_BUDGET, NULL));
	ctx_set_step_limit(t->c, 0);
	CHECK(ev_call(t, args, r) == ST_OK && same_results(want, r, 6));
	ev_drop(r, 6);
	ev_drop(want, 6);
	ev_drop(args, 1);
	fn_unref(t->f);
}

static void make_endless(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	Ref n = ev_param(t, ev_num(t, DT_I64)), q, r;
	TypeId type = ev_num(t, DT_I64);
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
	CHECK(ev_failed_with(t, ev_once(t, make_endless, NULL, &one, &r), ST_LIMIT, E_BUDGET, "time"));
	ctx_set_time_limit(t->c, 0);
}

static void make_large(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	Dim n = build_fresh_dim(t->b, 0, 0), m = build_fresh_dim(t->b, 0, 0);
	Ref x = ev_param(t, type_tensor(t->c, DT_F64, 2, (Dim[]){n, m})), r[4];
	Ref xt = build_transpose(t->b, x, (int[]){1, 0});
	r[0] = build2(t->b, OP_MUL, build1(t->b, OP_SIN, x), x);
	r[1] = build_matmul(t->b, r[0], xt);
	r[2] = build_reduce(t->b, OP_REDUCE_SUM, r[0], 2, (int[]){0, 1});
	r[3] = build1(t->b, OP_EXP, xt);
	t->f = build_end(t->b, 4, r);
}

static void test_threads(T *t) {
	Value x = value_tensor(ev_tensor(t, DT_F64, SHAPE(1100, 300), -1, 1)), want[4], r[4];
	if (!ev_build_it(t, make_large, NULL)) return;
	parallel_set_threads(t->c, 1);
	CHECK(ev_call(t, &x, want) == ST_OK);
	for (int threads = 0; threads < 5; threads++) {
		parallel_set_threads(t->c, threads);
		for (int again = 0; again < 3; again++) {
			CHECK(ev_call(t, &x, r) == ST_OK && same_results(want, r, 4));
			ev_drop(r, 4);
		}
		ctx_interrupt_at_poll(t->c, 7);
		CHECK(ev_failed_with(t, ev_call(t, &x, r), ST_INTERRUPTED, E_INTERRUPT, NULL));
		ctx_interrupt_at_poll(t->c, 0);
		ctx_clear_interrupt(t->c);
	}
	parallel_set_threads(t->c, 0);
	ev_drop(want, 4);
	ev_drop(&x, 1);
	fn_unref(t->f);
}

int main(void) {
	static const TestCase tests[] = {
		{"elementwise", test_elementwise},
		{"extremes", test_extremes},
		{"integer errors", test_integer_errors},
		{"select", test_select},
		{"convert", test_convert},
		{"structure", test_structure},
		{"bounds", test_bounds},
		{"push", test_push},
		{"recursion", test_recursion},
		{"while", test_while},
		{"try", test_try},
		{"guard", test_guard},
		{"trace", test_trace},
		{"dynamic", test_dynamic},
		{"user errors", test_user_errors},
		{"host", test_host},
		{"in place", test_in_place},
		{"chain", test_chain},
		{"allocation failure", test_allocation_failure},
		{"interrupts", test_interrupts},
		{"endless", test_endless},
		{"threads", test_threads},
	};
	return ev_run_tests(sizeof tests / sizeof *tests, tests);
}
