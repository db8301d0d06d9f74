/* test_autodiff.c - unit tests of the derivatives of primitives.
 *
 * Covers every primitive with a rule except factorisations, to second order,
 * the documented conventions, and operation counts.
 * Oracle: finite differences and the transpose identity (derivative_check.h).
 *
 * Needs: derivative_check.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 * Usage: an argument selects tests by name.
 */
#include "tests/unit/autodiff/derivative_check.h"
#include <math.h>
#include <stdlib.h>

/* ---- element-wise primitives --------------------------------------------- */

static void domain(Op op, double *lo, double *hi) {
	double margin = 0.2 * (prims[op].hi - prims[op].lo);
	*lo = prims[op].lo + margin;
	*hi = prims[op].hi - margin;
	if (op == OP_ABS) {
		*lo = 0.5;
		*hi = 2;
	}
}

static void test_elementwise(T *t) {
	for (Op op = OP_NONE + 1; op < OP_COUNT; op++) {
		const Prim *p = &prims[op];
		if (!p->elementwise || p->deriv == DERIV_ZERO) continue;
		for (int is_complex = 0; is_complex < 2; is_complex++) {
			if (!(p->kinds & (is_complex ? KIND_C : KIND_R))) continue;
			begin(t, p->name);
			Dtype d = is_complex ? DT_C128 : DT_F64;
			Dim n = sym(t, "n");
			Ref x[2];
			for (int k = 0; k < p->nargs; k++)
				x[k] = build_param(t->b, type_tensor(t->c, d, 1, &n), 0);
			Ref y = build(t->b, op, (uint32_t)p->nargs, x, 0, NULL);
			Value args[2];
			double lo, hi;
			int64_t length = 3;
			domain(op, &lo, &hi);
			for (int k = 0; k < p->nargs; k++) {
				args[k] = array(t, d, 1, &length, lo, hi);
				if (op == OP_ABS) { /* one on each side of the kink */
					Value turned = numbers(t, 3, (double[]){-1.2, 0.7, -0.6});
					value_unref(args[k]);
					args[k] = turned;
				}
			}
			if (op == OP_MAX || op == OP_MIN || op == OP_MOD) {
				release(2, args);
				args[0] = numbers(t, 3, (double[]){1.2, -0.7, 2.5});
				args[1] = numbers(t, 3, (double[]){0.9, 0.8, -1.1});
			}
			check_all(t, end1(t, y), (uint32_t)p->nargs, args, 2, &usual);
		}
	}
}

static void test_f32(T *t) {
	static const Bounds coarse = {0.05, 2e-5, 1e-6, 1e-6};
	begin(t, "f32");
	Dim n = sym(t, "n");
	Ref x = param(t, type_tensor(t->c, DT_F32, 1, &n), "x"), y = param(t, vec(t, n), "y");
	Ref z =
		mul(t->b, build1(t->b, OP_SIN, x), build_convert(t->b, build1(t->b, OP_EXP, y), DT_F32));
	Ref wide = add(t->b, build_convert(t->b, z, DT_F64), y);
	int64_t length = 4;
	Value args[2] = {array(t, DT_F32, 1, &length, -1, 1), array(t, DT_F64, 1, &length, -1, 1)};
	check_all(t, end(t, 2, (Ref[]){z, wide}), 2, args, 1, &coarse);
}

/* Ties share the derivative, abs has derivative 0 at 0, integers and bools have
 * no tangent. */
static void test_conventions(T *t) {
	Builder *b;
	begin(t, "conventions");
	b = t->b;
	Ref x = param(t, num(t), "x"), y = param(t, num(t), "y"), v = param(t, vec(t, len(t, 4)), "v");
	Ref whole = build_convert(b, build_convert(b, x, DT_I64), DT_F64);
	Ref less = build_convert(b, build2(b, OP_LT, x, y), DT_F64);
	Ref results[7] = {build2(b, OP_MAX, x, y),
	                  build2(b, OP_MIN, x, y),
	                  build1(b, OP_ABS, sub(b, x, y)),
	                  add(b, whole, less),
	                  build_reduce(b, OP_REDUCE_MAX, v, 1, (int[]){0}),
	                  mul(b, build1(b, OP_STOP, x), x),
	                  build_f64(b, 3)};
	Fn *f = end(t, 7, results);
	bool active[3] = {true, true, true}, moves[7];
	Fn *jvp = ad_jvp(t->c, f, active, moves);
	CHECK(moves[0] && moves[1] && moves[2] && !moves[3] && moves[4] && moves[5] && !moves[6]);
	Value args[6] = {value_f64(2), value_f64(2), numbers(t, 4, (double[]){1, 5, 5, -2}),
	                 value_f64(1), value_f64(3), numbers(t, 4, (double[]){10, 20, 40, 80})};
	Value out[12];
	if (run(t, jvp, args, out)) {
		CHECK(out[7].f == 2); /* (1 + 3) / 2 */
		CHECK(out[8].f == 2);
		CHECK(out[9].f == 0);
		CHECK(out[10].f == 30); /* (20 + 40) / 2 */
		CHECK(out[11].f == 2);  /* 2 * dx: the stopped factor is a constant */
		release(12, out);
	}
	Fn *back = reverse_of(t, f, active);
	Value in[8] = {args[0],      args[1],      args[2],      value_f64(1),
	               value_f64(0), value_f64(0), value_f64(4), value_f64(0)},
		  ct[3];
	if (run(t, back, in, ct)) {
		double g[4];
		CHECK(ct[0].f == 0.5 && ct[1].f == 0.5);
		flatten(t, ct[2], g);
		CHECK(g[0] == 0 && g[1] == 2 && g[2] == 2 && g[3] == 0);
		release(3, ct);
	}
	fn_unref(back);
	release(6, args);
	fn_unref(f);
}

/* ---- structural primitives ----------------------------------------------- */

static void test_shapes(T *t) {
	Builder *b;
	begin(t, "select");
	b = t->b;
	Dim n = sym(t, "n");
	Ref x = param(t, vec(t, n), "x"), y = param(t, vec(t, n), "y");
	Ref r = build_select(b, build2(b, OP_LT, x, y), mul(b, x, x), build1(b, OP_SIN, y));
	Value args[3] = {numbers(t, 3, (double[]){1, 0.2, -0.5}),
	                 numbers(t, 3, (double[]){0.5, 0.7, 0.1})};
	check_all(t, end1(t, r), 2, args, 2, &usual);

	begin(t, "broadcast");
	b = t->b;
	n = sym(t, "n");
	x = param(t, vec(t, n), "x");
	y = param(t, mat(t, len(t, 1), n), "y");
	Ref s = param(t, num(t), "s");
	Dim shape[3] = {len(t, 2), len(t, 3), n};
	r = mul(b, build_broadcast(b, x, 3, shape, (int[]){2}),
	        build_broadcast(b, y, 3, shape, (int[]){1, 2}));
	r = add(b, r, build_broadcast_scalar(b, build1(b, OP_EXP, s), ref_type(build_fn(b), r)));
	Value three[3] = {vector(t, 4, -1, 1), matrix(t, 1, 4), number(t, -1, 1)};
	check_all(t, end1(t, r), 3, three, 2, &usual);

	begin(t, "reshape, transpose");
	b = t->b;
	n = sym(t, "n");
	Dim m = sym(t, "m");
	x = param(t, mat(t, n, m), "x");
	Dim flat = dim_mul(t->c, n, m);
	r = build_reshape(b, build_transpose(b, mul(b, x, build1(b, OP_COS, x)), (int[]){1, 0}), 1,
	                  &flat);
	args[0] = matrix(t, 3, 5);
	check_all(t, end1(t, r), 1, args, 2, &usual);

	begin(t, "slice, pad");
	b = t->b;
	n = sym(t, "n");
	x = param(t, mat(t, n, len(t, 6)), "x");
	Dim zero = len(t, 0);
	r = build_slice(b, mul(b, x, x), (Dim[]){zero, len(t, 5)}, (Dim[]){n, len(t, 3)},
	                (int64_t[]){1, -2});
	Ref p = build_pad(b, r, (Dim[]){len(t, 1), zero},
	                  (Dim[]){dim_add(t->c, n, len(t, 2)), len(t, 7)}, (int64_t[]){1, 3});
	args[0] = matrix(t, 4, 6);
	check_all(t, end(t, 2, (Ref[]){p, build1(b, OP_SIN, r)}), 1, args, 2, &usual);

	begin(t, "update");
	b = t->b;
	n = sym(t, "n");
	x = param(t, mat(t, n, len(t, 6)), "x");
	r = build_slice(b, mul(b, x, x), (Dim[]){len(t, 1), zero},
	                (Dim[]){dim_sub(t->c, n, len(t, 2)), len(t, 3)}, (int64_t[]){1, 2});
	Ref written =
		build_update(b, build1(b, OP_SIN, x), r, (Dim[]){zero, len(t, 5)}, (int64_t[]){1, -2});
	Ref moved = build_update(b, written,
	                         build_slice(b, written, (Dim[]){len(t, 1), zero},
	                                     (Dim[]){dim_sub(t->c, n, len(t, 1)), len(t, 6)}, NULL),
	                         (Dim[]){zero, zero}, NULL);
	args[0] = matrix(t, 5, 6);
	check_all(t, end(t, 2, (Ref[]){mul(b, moved, moved), written}), 1, args, 2, &usual);

	begin(t, "concat, push");
	b = t->b;
	n = sym(t, "n");
	x = param(t, mat(t, n, len(t, 2)), "x");
	y = param(t, mat(t, len(t, 3), len(t, 2)), "y");
	Ref row = param(t, vec(t, len(t, 2)), "row");
	Ref joined = build_concat(b, 3, (Ref[]){mul(b, x, x), y, x}, 0);
	Ref pushed = build(b, OP_PUSH, 2, (Ref[]){joined, mul(b, row, row)}, 0, NULL);
	three[0] = matrix(t, 4, 2);
	three[1] = matrix(t, 3, 2);
	three[2] = vector(t, 2, -1, 1);
	check_all(t, end1(t, mul(b, pushed, pushed)), 3, three, 2, &usual);

	begin(t, "convert, real, imag, conj");
	b = t->b;
	n = sym(t, "n");
	TypeId vectors = type_tensor(t->c, DT_C128, 1, &n);
	Ref z = param(t, vectors, "z");
	x = param(t, vec(t, n), "x");
	Ref w = mul(b, build1(b, OP_CONJ, z), build_convert(b, x, DT_C128));
	Ref parts[3] = {mul(b, build1(b, OP_REAL, w), build1(b, OP_IMAG, z)),
	                build_convert(b, mul(b, w, z), DT_F64), mul(b, w, w)};
	int64_t length = 3;
	args[0] = array(t, DT_C128, 1, &length, -1, 1);
	args[1] = vector(t, 3, -1, 1);
	check_all(t, end(t, 3, parts), 2, args, 2, &usual);
}

static void test_indexing(T *t) {
	Builder *b;
	static const int64_t index[4] = {2, 0, 2, 1};
	for (int k = 0; k < 3; k++) {
		begin(t, k == 0 ? "gather" : k == 1 ? "scatter_add" : "scatter_set");
		b = t->b;
		Dim n = sym(t, "n");
		Ref x = param(t, mat(t, n, len(t, 3)), "x"), u = param(t, mat(t, n, len(t, 4)), "u");
		Ref i = constant(t, integers(t, 4, index));
		Ref sq = mul(b, x, x), v = build1(b, OP_SIN, u), r;
		if (k == 0) r = mul(b, build_gather(b, sq, i, 1, 0), v);
		else r = build_scatter(b, k == 1 ? OP_SCATTER_ADD : OP_SCATTER_SET, sq, i, v, 1, 0);
		Value args[2] = {matrix(t, 2, 3), matrix(t, 2, 4)};
		check_all(t, end1(t, mul(b, r, r)), 2, args, 2, &usual);
	}
	for (int k = 0; k < 3; k++) {
		begin(t, k == 0   ? "gather, batched"
		         : k == 1 ? "scatter_add, batched"
		                  : "scatter_set, batched");
		b = t->b;
		Dim n = sym(t, "n");
		Ref x = param(t, mat(t, len(t, 2), n), "x"),
			u = param(t, mat(t, len(t, 2), len(t, 2)), "u");
		Tensor *flat = tensor_new(t->c, DT_I64, 2, (int64_t[]){2, 2});
		memcpy(flat->data, index, sizeof index);
		Ref i = constant(t, value_from_tensor(flat));
		Ref sq = mul(b, x, x), v = build1(b, OP_SIN, u), r;
		if (k == 0) r = mul(b, build_gather(b, sq, i, 1, 1), v);
		else r = build_scatter(b, k == 1 ? OP_SCATTER_ADD : OP_SCATTER_SET, sq, i, v, 1, 1);
		Value args[2] = {matrix(t, 2, 3), matrix(t, 2, 2)};
		check_all(t, end1(t, mul(b, r, r)), 2, args, 2, &usual);
	}
	begin(t, "one row");
	b = t->b;
	Dim n = sym(t, "n");
	Ref x = param(t, mat(t, n, len(t, 2)), "x"), i = param(t, type_scalar(t->c, DT_I64), "i");
	Ref row = build_gather(b, x, i, 0, 0);
	Ref y = build_scatter(b, OP_SCATTER_SET, x, build_i64(b, 0), mul(b, row, row), 0, 0);
	Value args[2] = {matrix(t, 3, 2), value_i64(2)};
	check_all(t, end1(t, y), 2, args, 2, &usual);
}

static void test_reductions(T *t) {
	Builder *b;
	static const struct {
		const char *name;
		Op op;
	} ops[] = {{"reduce_sum", OP_REDUCE_SUM},
	           {"reduce_prod", OP_REDUCE_PROD},
	           {"reduce_max", OP_REDUCE_MAX},
	           {"reduce_min", OP_REDUCE_MIN}};
	for (uint32_t k = 0; k < 4; k++) {
		for (uint32_t which = 0; which < 3; which++) {
			begin(t, ops[k].name);
			b = t->b;
			Dim n = sym(t, "n");
			Dim dims[3] = {len(t, 2), n, len(t, 3)};
			Ref x = param(t, type_tensor(t->c, DT_F64, 3, dims), "x");
			static const int axes[3][2] = {{1, 0}, {0, 2}, {2, 0}};
			Ref y =
				build_reduce(b, ops[k].op, build1(b, OP_SIN, x), which == 1 ? 2 : 1, axes[which]);
			Value args[1] = {array(t, DT_F64, 3, (int64_t[]){2, 4, 3}, -1.2, 1.2)};
			check_all(t, end1(t, mul(b, y, y)), 1, args, 2, &usual);
		}
	}
	/* Zeros in the data: the product of the other elements may be nonzero. */
	begin(t, "products with zeros");
	b = t->b;
	Ref x = param(t, vec(t, len(t, 4)), "x"), y = param(t, vec(t, len(t, 4)), "y");
	Ref r[4] = {build_reduce(b, OP_REDUCE_PROD, x, 1, (int[]){0}),
	            build_reduce(b, OP_REDUCE_PROD, y, 1, (int[]){0}),
	            with_ints(t, OP_CUMPROD, x, 2, (int64_t[]){0, 0}),
	            with_ints(t, OP_CUMPROD, y, 2, (int64_t[]){0, 1})};
	Value args[2] = {numbers(t, 4, (double[]){2, 0, 0.5, 3}),
	                 numbers(t, 4, (double[]){0, 1, 0, -2})};
	check_all(t, end(t, 4, r), 2, args, 3, &usual);

	for (int k = 0; k < 4; k++) {
		begin(t, k < 2 ? "cumsum" : "cumprod");
		b = t->b;
		Dim n = sym(t, "n");
		x = param(t, mat(t, n, len(t, 3)), "x");
		y = with_ints(t, k < 2 ? OP_CUMSUM : OP_CUMPROD, build1(b, OP_SIN, x), 2,
		              (int64_t[]){k & 1, k & 1});
		args[0] = matrix(t, 4, 3);
		check_all(t, end1(t, mul(b, y, y)), 1, args, 2, &usual);
	}
}

static void test_contractions(T *t) {
	for (int is_complex = 0; is_complex < 2; is_complex++) {
		Dtype d = is_complex ? DT_C128 : DT_F64;
		begin(t, is_complex ? "dot, complex" : "dot");
		Builder *b = t->b;
		Dim n = sym(t, "n"), m = sym(t, "m");
		Dim left[4] = {m, len(t, 2), n, len(t, 3)}, right[4] = {n, len(t, 3), len(t, 4), len(t, 2)};
		Ref x = param(t, type_tensor(t->c, d, 4, left), "x"),
			y = param(t, type_tensor(t->c, d, 4, right), "y");
		Ref z = build_dot(b, x, y, 2, (int[]){3, 2}, (int[]){1, 0}, 1, (int[]){1}, (int[]){3});
		Value args[2] = {array(t, d, 4, (int64_t[]){2, 2, 3, 3}, -1, 1),
		                 array(t, d, 4, (int64_t[]){3, 3, 4, 2}, -1, 1)};
		check_all(t, end1(t, mul(b, z, z)), 2, args, 2, &usual);

		begin(t, is_complex ? "matmul, complex" : "matmul");
		b = t->b;
		n = sym(t, "n");
		x = param(t, type_tensor(t->c, d, 2, (Dim[]){len(t, 2), n}), "x");
		y = param(t, type_tensor(t->c, d, 1, (Dim[]){n}), "y");
		Ref v = build_matmul(b, x, y);
		args[0] = array(t, d, 2, (int64_t[]){2, 3}, -1, 1);
		args[1] = array(t, d, 1, (int64_t[]){3}, -1, 1);
		check_all(t, end(t, 2, (Ref[]){build_matmul(b, v, x), build_matmul(b, y, y)}), 2, args, 2,
		          &usual);
	}
	for (int inverse = 0; inverse < 2; inverse++) {
		begin(t, inverse ? "inverse fft" : "fft");
		Builder *b = t->b;
		Dim n = sym(t, "n");
		Ref x = param(t, type_tensor(t->c, DT_C128, 2, (Dim[]){n, len(t, 2)}), "x");
		Ref y = with_ints(t, OP_FFT, x, 2, (int64_t[]){0, inverse});
		Value args[1] = {array(t, DT_C128, 2, (int64_t[]){6, 2}, -1, 1)};
		check_all(t, end1(t, mul(b, y, y)), 1, args, 2, &usual);
	}
}

/* ---- linearity ----------------------------------------------------------- */

/* Operations of several operands, only one of which is differentiated. */
static void test_partly(T *t) {
	for (int side = 0; side < 2; side++) {
		begin(t, "one operand of two");
		Builder *b = t->b;
		Ref x = param(t, mat(t, len(t, 3), len(t, 3)), "x"),
			i = constant(t, integers(t, 3, (int64_t[]){2, 0, 2}));
		Ref k = constant(t, matrix(t, 3, 3)), row = constant(t, vector(t, 3, 1, 2)),
			xr = first_of(t, x);
		Ref p = side ? k : x, q = side ? x : k, out[10];
		int64_t words[3] = {1, 0, 1};
		out[0] = add(b, p, q);
		out[1] = sub(b, p, q);
		out[2] = mul(b, p, q);
		out[3] = build2(b, OP_DIV, p, add(b, q, build_full(b, mat(t, len(t, 3), len(t, 3)), 3)));
		out[4] = build(b, OP_PUSH, 2, (Ref[]){p, side ? xr : row}, 0, NULL);
		out[5] = build_scatter(b, OP_SCATTER_ADD, p, i, q, 1, 0);
		out[6] = build_scatter(b, OP_SCATTER_SET, p, i, q, 1, 0);
		out[7] = build_concat(b, 2, (Ref[]){p, q}, 1);
		out[8] = build(b, OP_TRISOLVE, 2, (Ref[]){p, q}, attr_intern(t->c, words, 3), NULL);
		out[9] = build_matmul(b, p, q);
		Value args[1] = {matrix(t, 3, 3)};
		check_all(t, end(t, 10, out), 1, args, 2, &usual);
	}
}

/* Transposition rejects a function that is not linear in its operand, whatever
 * the function is. */
static void run_transpose(Ctx *c, void *arg) { ad_transpose(c, arg, 0); }

static void refused(T *t, Ref y) {
	Fn *f = end1(t, y);
	uint32_t mark = build_mark(t->c);
	Status s = ctx_protect(t->c, run_transpose, f);
	build_unwind(t->c, mark);
	CHECK(s == ST_ERROR && diag_total(t->c) && diag_at(t->c, 0)->code == E_NO_RULE);
	diag_clear(t->c);
	fn_unref(f);
}

static void test_not_linear(T *t) {
	Ref x, out[3];
	for (Op op = OP_NONE + 1; op < OP_COUNT; op++) {
		const Prim *p = &prims[op];
		begin(t, p->name);
		if (p->elementwise && (p->kinds & KIND_R) && p->deriv != DERIV_LINEAR) {
			x = param(t, num(t), "x");
			refused(t, build(t->b, op, (uint32_t)p->nargs, (Ref[]){x, build1(t->b, OP_NEG, x)}, 0,
			                 NULL));
			continue;
		}
		x = param(t, mat(t, len(t, 3), len(t, 3)), "x");
		switch (op) {
		case OP_REDUCE_PROD:
		case OP_REDUCE_MAX:
		case OP_REDUCE_MIN: refused(t, build_reduce(t->b, op, x, 1, (int[]){0})); break;
		case OP_CUMPROD: refused(t, with_ints(t, op, x, 2, (int64_t[]){0, 0})); break;
		case OP_CHOLESKY:
		case OP_LU:
		case OP_QR:
		case OP_EIGH:
		case OP_EIG:
		case OP_SVD:
			build(t->b, op, 1, &x, 0, out);
			refused(t, out[0]);
			break;
		case OP_DOT: refused(t, build_matmul(t->b, x, x)); break;
		case OP_TRISOLVE:
			refused(t, build(t->b, op, 2, (Ref[]){x, x}, attr_intern(t->c, (int64_t[]){1, 0, 0}, 3),
			                 NULL));
			break;
		case OP_ARGMAX:
			refused(t, build_convert(t->b, with_ints(t, op, x, 1, (int64_t[]){0}), DT_F64));
			break;
		case OP_CONVERT:
			refused(t, build_convert(t->b, build_convert(t->b, x, DT_I64), DT_F64));
			break;
		default: build_abandon(t->b);
		}
	}
}

/* ---- costs --------------------------------------------------------------- */

static double operations(T *t, Fn *f, const Value *args) {
	Value *out = calloc(fn_nresults(f) + 1, sizeof *out);
	run_counters(t->c)->scalar_operations = 0;
	if (run(t, f, args, out)) release(fn_nresults(f), out);
	free(out);
	return run_counters(t->c)->scalar_operations;
}

static void test_cost(T *t) {
	begin(t, "cost");
	Builder *b = t->b;
	Dim n = sym(t, "n"), m = sym(t, "m");
	Ref x = param(t, mat(t, n, m), "x"), y = param(t, mat(t, m, n), "y"), z = build_matmul(b, x, y),
		p[2], r;
	TypeId types[2] = {type_scalar(t->c, DT_I64), mat(t, n, n)};
	OpenRegion *open = build_region_begin(b, 2, types, p);
	Ref w = build1(b, OP_TANH, build_matmul(b, p[1], z));
	RegionId last = build_region_end(b, open, 1, &w);
	build_for(b, build_extent(b, m), 1, &z, last, &r);
	Fn *f = end1(t, total(t, build_transpose(b, r, (int[]){1, 0})));
	Value args[2] = {matrix(t, 20, 30), matrix(t, 30, 20)};
	double expected = 2.0 * 20 * 30 * 20 + 30 * (2.0 * 20 * 20 * 20 + 20 * 20) + 20 * 20;
	CHECK(fn_cost(f, (int64_t[]){20, 30}, 2) == expected);
	CHECK(operations(t, f, args) == expected);
	begin(t, "caller");
	x = param(t, mat(t, len(t, 4), len(t, 5)), "x");
	build_call(t->b, f, 2, (Ref[]){x, build_transpose(t->b, x, (int[]){1, 0})}, &r);
	Fn *caller = end1(t, r);
	CHECK(fn_cost(caller, NULL, 0) == fn_cost(f, (int64_t[]){4, 5}, 2));
	release(2, args);
	fn_unref(caller);
	fn_unref(f);
}

static double cost_of(T *t, uint32_t n, const Ref *results) {
	Fn *f = end(t, n, results);
	double cost = fn_cost(f, (int64_t[]){8, -1}, 2);
	fn_unref(f);
	return cost;
}

/* Single operations on a 4 by n matrix, n = 8. Comments in the program give the
 * expected counts. */
static void test_costs(T *t) {
	static const struct {
		Op op;
		uint32_t nwords, nresults;
		int64_t words[3];
		double expected;
	} rows[] = {
		{OP_CUMSUM, 2, 1, {1, 0}, 32},
		{OP_ARGMAX, 1, 1, {1}, 32},
		{OP_ARGSORT, 2, 1, {1, 0}, 32 * 3},
		{OP_TRANSPOSE, 3, 1, {2, 1, 0}, 0},
		{OP_LU, 0, 2, {0}, 4 * 4 * 8 - 64 / 3.0},
		{OP_SVD, 0, 3, {0}, 14 * 4 * 4 * 8 + 8 * 64},
		{OP_STOP, 0, 1, {0}, 0},
	};
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		begin(t, prims[rows[k].op].name);
		Ref x = param(t, mat(t, len(t, 4), sym(t, "n")), "x"), out[3];
		AttrId attr = rows[k].nwords ? attr_intern(t->c, rows[k].words, rows[k].nwords) : 0;
		build(t->b, rows[k].op, 1, &x, attr, out);
		double cost = cost_of(t, rows[k].nresults, out);
		CHECK_MSG(fabs(cost - rows[k].expected) < 1e-9, "costs %g, not %g", cost, rows[k].expected);
	}
	static const struct {
		Op op;
		double expected;
	} square[] = {{OP_CHOLESKY, 512 / 3.0},
	              {OP_EIGH, 9 * 512},
	              {OP_EIG, 25 * 512},
	              {OP_QR, 4 * 512 - 4 * 512 / 3.0}};
	for (size_t k = 0; k < sizeof square / sizeof *square; k++) {
		begin(t, prims[square[k].op].name);
		Dim n = sym(t, "n");
		Ref x = param(t, mat(t, n, n), "x"), out[3];
		build(t->b, square[k].op, 1, &x, 0, out);
		double cost = cost_of(t, 1, out);
		CHECK_MSG(fabs(cost - square[k].expected) < 1e-9, "costs %g, not %g", cost,
		          square[k].expected);
	}
	begin(t, "control");
	Builder *b = t->b;
	Dim n = sym(t, "n"), k = sym(t, "k"), two = len(t, 2);
	Ref x = param(t, vec(t, n), "x"), c = param(t, type_scalar(t->c, DT_BOOL), "c"), p[2], r;
	Ref z = param(t, type_tensor(t->c, DT_C128, 1, &n), "z"),
		seed = param(t, type_tensor(t->c, DT_I64, 1, &two), "seed"), bits[2];
	Ref m = param(t, mat(t, n, n), "m");
	OpenRegion *open = build_region_begin(b, 0, NULL, NULL);
	RegionId yes = build_region_end(b, open, 1, (Ref[]){build1(b, OP_SIN, mul(b, x, x))}); /* 16 */
	open = build_region_begin(b, 0, NULL, NULL);
	RegionId no = build_region_end(b, open, 1, (Ref[]){build1(b, OP_COS, x)}); /* 8 */
	build_if(b, c, yes, no, &r);
	/* 5 * 8 * 3 */
	Ref f = with_ints(t, OP_FFT, z, 2, (int64_t[]){0, 0});
	/* 8 */
	build(b, OP_RANDOM, 1, &seed, attr_intern(t->c, (int64_t[]){1, n}, 2), bits);
	/* 8 */
	Ref some = build(b, OP_NONZERO, 1, (Ref[]){build2(b, OP_LT, x, r)},
	                 attr_intern(t->c, (int64_t[]){k}, 1), NULL);
	Ref picked = build1(b, OP_TAN, build_gather(b, x, some, 0, 0));
	/* ... of unknown extent: 1 */
	/* 1 */
	Ref added = build_scatter(b, OP_SCATTER_ADD, x, some, picked, 0, 0);
	/* 8^3 */
	Ref solved =
		build(b, OP_TRISOLVE, 2, (Ref[]){m, m}, attr_intern(t->c, (int64_t[]){1, 0, 0}, 3), NULL);
	TypeId type = vec(t, n);
	open = build_region_begin(b, 1, &type, p);
	/* 1 */
	RegionId cond =
		build_region_end(b, open, 1, (Ref[]){build2(b, OP_LT, first_of(t, p[0]), build_f64(b, 1))});
	open = build_region_begin(b, 1, &type, p);
	/* 24 */
	RegionId body = build_region_end(
		b, open, 1, (Ref[]){build_select(b, build2(b, OP_LT, x, p[0]), x, add(b, p[0], p[0]))});
	build_while(b, 1, &added, cond, body, &r);
	double cost = cost_of(t, 4, (Ref[]){r, f, bits[0], solved});
	CHECK_MSG(cost == 16 + 120 + 8 + 8 + 1 + 1 + 512 + 1 + 24, "costs %g", cost);
}

/* The sum over i of x[i] sin(x[i - 1]) by a loop that reads one element at a
 * time. */
static Fn *walking_loop(T *t) {
	begin(t, "a gradient costs a constant times the function");
	Builder *b = t->b;
	Dim n = sym(t, "n");
	Ref x = param(t, vec(t, n), "x"), p[3], r[2];
	TypeId types[3] = {type_scalar(t->c, DT_I64), num(t), num(t)};
	OpenRegion *open = build_region_begin(b, 3, types, p);
	Ref xi = element(t, x, p[0]);
	Ref out[2] = {add(b, p[1], mul(b, xi, build1(b, OP_SIN, p[2]))), xi};
	RegionId last = build_region_end(b, open, 2, out);
	build_for(b, build_extent(b, n), 2, (Ref[]){build_f64(b, 0), build_f64(b, 0)}, last, r);
	return end1(t, r[0]);
}

/* The n-th derivative of sin(x) exp(x) by n nested jvp along 1: checks the
 * function's size and value. */
static void test_sizes(T *t) {
	begin(t, "n-th derivative");
	Ref x = param(t, num(t), "x");
	Fn *f = end1(t, mul(t->b, build1(t->b, OP_SIN, x), build1(t->b, OP_EXP, x)));
	for (uint32_t n = 1; n < 8; n++) {
		Fn *jvp = ad_jvp(t->c, f, (bool[]){true}, NULL);
		begin(t, "n-th derivative");
		Ref out[2];
		x = param(t, num(t), "x");
		build_inline(t->b, jvp, (Ref[]){x, build_f64(t->b, 1)}, out);
		Fn *next = end1(t, out[1]);
		fn_unref(f);
		f = next;
		CHECK_MSG(f->insts.n <= 4 + 2 * n, "%u instructions of order %u", f->insts.n, n);
		/* (sin x e^x)^(n) = 2^(n/2) e^x sin(x + n pi / 4) */
		Value at = value_f64(0.7), y;
		double expected = pow(2, n / 2.0) * exp(0.7) * sin(0.7 + n * M_PI / 4);
		bool good = run(t, f, &at, &y) && fabs(y.f - expected) < 1e-14 * pow(2, n);
		CHECK_MSG(good, "%.17g, not %.17g", y.f, expected);
	}
	fn_unref(f);
}

/* Repeated requests return the existing transform and allocate nothing. */
static void test_found(T *t) {
	begin(t, "found again");
	Ref x = param(t, num(t), "x"), y = param(t, num(t), "y");
	Fn *f = end1(t, mul(t->b, build1(t->b, OP_SIN, x), build1(t->b, OP_EXP, y)));
	const bool first[] = {true, false}, both[] = {true, true};
	Fn *one = ad_jvp(t->c, f, first, NULL), *two = ad_jvp(t->c, f, both, NULL);
	const Linearised *linear = ad_linearise(t->c, f, both);
	CHECK(one != two);
	const size_t before = arena_bytes(f->arena);
	bool same = true;
	for (int k = 0; k < 10000; k++)
		same &= ad_jvp(t->c, f, first, NULL) == one && ad_jvp(t->c, f, both, NULL) == two &&
		        ad_linearise(t->c, f, both) == linear;
	CHECK(same && arena_bytes(f->arena) == before);
	fn_unref(f);
}

/* Residuals grow linearly with the work, and the cotangent of an array is
 * updated in place. */
static void test_scaling(T *t) {
	Fn *f = walking_loop(t), *back = reverse_of(t, f, (bool[]){true});
	double work[2];
	size_t peak[2];
	for (int k = 0; k < 2; k++) {
		int64_t n = 4000 << k;
		Value args[2] = {vector(t, n, -1, 1), value_f64(1)};
		Ctx *c = t->c;
		work[k] = operations(t, back, args);
		peak[k] = heap_peak(c);
		CHECK_MSG(work[k] < 12 * operations(t, f, args), "%g operations backwards", work[k]);
		release(2, args);
	}
	CHECK_MSG(work[1] < 2.1 * work[0] && peak[1] < 2.5 * (double)peak[0], "%g, then %g operations",
	          work[0], work[1]);
	fn_unref(back);
	fn_unref(f);
}

/* ---- allocation failure -------------------------------------------------- */

static void derive_both(Ctx *c, void *arg) {
	Fn *f = arg;
	const Linearised *l = ad_linearise(c, f, (bool[]){true});
	ad_transpose(c, l->linear, l->nresiduals);
}

/* Allocation 1, 2, ... fails, once or permanently, until the transform
 * succeeds. The context stays usable each time. */
static void test_memory(T *t) {
	for (int forever = 0; forever < 2; forever++) {
		bool through = false;
		uint64_t n = 1;
		for (; !through && n < 2000; n++) {
			Fn *f = walking_loop(t);
			uint32_t mark = build_mark(t->c);
			heap_fail_at(t->c, n, forever);
			Status s = ctx_protect(t->c, derive_both, f);
			heap_fail_at(t->c, 0, false);
			build_unwind(t->c, mark);
			through = s == ST_OK;
			CHECK_MSG(through || s == ST_NOMEM, "status %d when allocation %d fails", s, (int)n);
			diag_clear(t->c);
			if (ctx_protect(t->c, derive_both, f) != ST_OK) CHECK(false);
			fn_unref(f);
		}
		CHECK(through && n > 10);
	}
}

/* ---- main ---------------------------------------------------------------- */

int main(int argc, char **argv) {
	static const Named tests[] = {
		{"elementwise", test_elementwise},
		{"f32", test_f32},
		{"conventions", test_conventions},
		{"shapes", test_shapes},
		{"indexing", test_indexing},
		{"reductions", test_reductions},
		{"contractions", test_contractions},
		{"partly", test_partly},
		{"not linear", test_not_linear},
		{"cost", test_cost},
		{"costs", test_costs},
		{"scaling", test_scaling},
		{"sizes", test_sizes},
		{"found", test_found},
		{"memory", test_memory},
	};
	return run_tests(tests, sizeof tests / sizeof *tests, argc > 1 ? argv[1] : NULL);
}
