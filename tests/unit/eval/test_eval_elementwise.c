/* test_eval_elementwise.c - unit tests of the evaluator's element-wise
 * primitives, views and in-place writes.
 *
 * Oracle: plain loops.
 *
 * Needs: help.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "backend/kernels/kernels.h"
#include "backend/vmath/vmath.h"
#include "tests/unit/eval/help.h"

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
		{"in place", test_in_place},
		{"chain", test_chain},
	};
	return ev_run_tests(sizeof tests / sizeof *tests, tests);
}
