/* test_autodiff_factor.c - unit tests of the derivatives of factorisations.
 *
 * Covers every factorisation, real and complex, of single matrices and of
 * batches, to second order.
 * Oracle: finite differences and the transpose identity (derivative_check.h).
 *
 * Needs: derivative_check.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 * Usage: an argument selects tests by name.
 */
#include "autodiff/core/rules.h"
#include "tests/unit/autodiff/derivative_check.h"
#include <math.h>

/* x x^H + n I: positive definite, with well separated eigenvalues for most
 * x. */
static Ref definite(T *t, Ref x) {
	Builder *b = t->b;
	Type ty = *ref_ty(build_fn(b), x);
	Ref h = build_transpose(b, x, (int[]){1, 0});
	if (dtype_is_complex((Dtype)ty.dtype)) h = build1(b, OP_CONJ, h);
	Ref row = build_broadcast(b, build_iota(b, DT_I64, ty.dims[0]), 2,
	                          (Dim[]){ty.dims[0], ty.dims[0]}, (int[]){0});
	Ref column = build_broadcast(b, build_iota(b, DT_I64, ty.dims[0]), 2,
	                             (Dim[]){ty.dims[0], ty.dims[0]}, (int[]){1});
	Ref eye = build_convert(b, build2(b, OP_EQ, row, column), (Dtype)ty.dtype);
	return add(b, build_matmul(b, x, h), add(b, eye, eye));
}

/* |x|^2 for each element: it does not depend on the phase of a vector. */
static Ref squares(T *t, Ref x) {
	Builder *b = t->b;
	if (!dtype_is_complex((Dtype)ref_ty(build_fn(b), x)->dtype)) return mul(b, x, x);
	Ref re = build1(b, OP_REAL, x), im = build1(b, OP_IMAG, x);
	return add(b, mul(b, re, re), mul(b, im, im));
}

/* The elements of v as columns, in the shape of m. */
static Ref in_columns(T *t, Ref v, Ref m) {
	return build_broadcast(t->b, v, 2, ref_ty(build_fn(t->b), m)->dims, (int[]){1});
}

static const Bounds looser = {1e-3, 1e-9, 1e-12, 1e-12};

/* With these seeds no pivot and no order of eigenvalues changes within the step
 * of a central difference. */
enum { SEED_OF_ONE = 12352, SEED_OF_MANY = 12353 };

static void check_cholesky(T *t, bool is_complex) {
	const Dtype d = is_complex ? DT_C128 : DT_F64;
	Value args[1];
	begin(t, is_complex ? "cholesky, complex" : "cholesky");
	Dim n = sym(t, "n");
	Ref x = param(t, type_tensor(t->c, d, 2, (Dim[]){n, n}), "x");
	Ref y = build(t->b, OP_CHOLESKY, 1, (Ref[]){definite(t, x)}, 0, NULL);
	args[0] = array(t, d, 2, (int64_t[]){3, 3}, -1, 1);
	check_all(t, end1(t, y), 1, args, 2, &looser);

	begin(t, is_complex ? "cholesky of a lower triangle, complex" : "cholesky of a lower triangle");
	x = param(t, type_tensor(t->c, d, 2, (Dim[]){len(t, 2), len(t, 2)}), "x");
	y = build(t->b, OP_CHOLESKY, 1, &x, 0, NULL);
	if (is_complex) {
		static const double z[8] = {2, 0, 0.3, 0.1, 0.5, 0.7, 3, 0};
		Value shape = array(t, d, 2, (int64_t[]){2, 2}, 0, 0);
		args[0] = shaped(t, shape, z);
		value_unref(shape);
	} else {
		Value shape = array(t, d, 2, (int64_t[]){2, 2}, 0, 0);
		args[0] = shaped(t, shape, (double[]){2, 0.3, 0.5, 3});
		value_unref(shape);
	}
	check_all(t, end1(t, y), 1, args, 2, &looser);
}

static void check_lu_and_qr(T *t, bool is_complex) {
	const Dtype d = is_complex ? DT_C128 : DT_F64;
	Value args[1];
	Ref out[2];
	begin(t, is_complex ? "lu, complex" : "lu");
	Dim n = sym(t, "n");
	Ref x = param(t, type_tensor(t->c, d, 2, (Dim[]){n, n}), "x");
	build(t->b, OP_LU, 1, &x, 0, out);
	args[0] = array(t, d, 2, (int64_t[]){4, 4}, -1, 1);
	check_all(t, end1(t, out[0]), 1, args, 2, &looser);

	begin(t, is_complex ? "qr, complex" : "qr");
	x = param(t, type_tensor(t->c, d, 2, (Dim[]){len(t, 5), len(t, 3)}), "x");
	build(t->b, OP_QR, 1, &x, 0, out);
	args[0] = array(t, d, 2, (int64_t[]){5, 3}, -1, 1);
	check_all(t, end(t, 2, out), 1, args, 2, &looser);
}

static void check_eigenvectors(T *t, bool is_complex) {
	const Dtype d = is_complex ? DT_C128 : DT_F64;
	Value args[1];
	Ref out[3];
	begin(t, is_complex ? "eigh, complex" : "eigh");
	Dim n = sym(t, "n");
	Ref x = param(t, type_tensor(t->c, d, 2, (Dim[]){n, n}), "x");
	build(t->b, OP_EIGH, 1, (Ref[]){definite(t, x)}, 0, out);
	out[1] = squares(t, out[1]);
	args[0] = array(t, d, 2, (int64_t[]){3, 3}, -1, 1);
	check_all(t, end(t, 2, out), 1, args, 2, &looser);

	begin(t, is_complex ? "eig, complex" : "eig");
	x = param(t, type_tensor(t->c, d, 2, (Dim[]){len(t, 3), len(t, 3)}), "x");
	build(t->b, OP_EIG, 1, &x, 0, out);
	/* For a real matrix LAPACK may flip the sign of a vector between nearby
	 * points. */
	Ref vectors = out[1], weighted = mul(t->b, vectors, in_columns(t, out[0], vectors));
	out[2] = build_matmul(t->b, weighted,
	                      build1(t->b, OP_CONJ, build_transpose(t->b, vectors, (int[]){1, 0})));
	if (!is_complex) out[1] = squares(t, vectors);
	args[0] = array(t, d, 2, (int64_t[]){3, 3}, -1, 1);
	check_all(t, end(t, 3, out), 1, args, 2, &looser);
}

static void check_svd(T *t, bool is_complex) {
	const Dtype d = is_complex ? DT_C128 : DT_F64;
	Value args[1];
	Ref out[3];
	for (int wide = 0; wide < 2; wide++) {
		begin(t, is_complex ? "svd, complex" : "svd");
		Ref x = param(
			t, type_tensor(t->c, d, 2, (Dim[]){len(t, wide ? 3 : 4), len(t, wide ? 4 : 3)}), "x");
		build(t->b, OP_SVD, 1, &x, 0, out);
		/* u_i conj(v_j), summed over k with weights, does not depend on the
		 * common phase of u and v. */
		Ref scaled_u = mul(t->b, out[0], build_convert(t->b, in_columns(t, out[1], out[0]), d));
		Ref vh = build_transpose(t->b, out[2], (int[]){1, 0});
		if (is_complex) vh = build1(t->b, OP_CONJ, vh);
		Ref polar = build_matmul(t->b, out[0], vh),
			square = build_matmul(t->b, mul(t->b, scaled_u, scaled_u), mul(t->b, vh, vh));
		args[0] = array(t, d, 2, (int64_t[]){wide ? 3 : 4, wide ? 4 : 3}, -1, 1);
		check_all(t,
		          end(t, 5, (Ref[]){out[1], squares(t, out[0]), squares(t, out[2]), polar, square}),
		          1, args, 2, &looser);
	}
}

static void check_systems(T *t, bool is_complex) {
	const Dtype d = is_complex ? DT_C128 : DT_F64;
	Value args[2];
	for (int64_t k = 0; k < 8; k++) {
		begin(t, is_complex ? "trisolve, complex" : "trisolve");
		Dim n = sym(t, "n");
		Ref x = param(t, type_tensor(t->c, d, 2, (Dim[]){n, n}), "t");
		Ref y = param(t, type_tensor(t->c, d, 2, (Dim[]){n, len(t, 2)}), "b");
		AttrId attr = attr_intern(t->c, (int64_t[]){k & 1, k >> 1 & 1, k >> 2}, 3);
		Ref solved = build(t->b, OP_TRISOLVE, 2, (Ref[]){definite(t, x), y}, attr, NULL);
		args[0] = array(t, d, 2, (int64_t[]){3, 3}, -1, 1);
		args[1] = array(t, d, 2, (int64_t[]){3, 2}, -1, 1);
		check_all(t, end1(t, solved), 2, args, 2, &looser);
	}
	/* Derivatives are with respect to the matrix and the right-hand side,
	 * not to the factors. */
	for (int adjoint = 0; adjoint < 2; adjoint++) {
		begin(t, is_complex ? "solved, complex" : "solved");
		Dim n = sym(t, "n");
		Ref x = param(t, type_tensor(t->c, d, 2, (Dim[]){n, n}), "a");
		Ref y = param(t, type_tensor(t->c, d, 2, (Dim[]){n, len(t, 2)}), "b");
		Ref a[3] = {definite(t, x)}, still = build1(t->b, OP_STOP, a[0]);
		build(t->b, OP_LU, 1, &still, 0, a + 1);
		args[0] = array(t, d, 2, (int64_t[]){3, 3}, -1, 1);
		args[1] = array(t, d, 2, (int64_t[]){3, 2}, -1, 1);
		Ref found = mat_solve_factored(t->b, a, y, adjoint);
		check_all(t, end1(t, found), 2, args, 2, &looser);
	}
}

static void test_factorisations(T *t) {
	t->random = SEED_OF_ONE;
	for (int is_complex = 0; is_complex < 2; is_complex++) {
		check_cholesky(t, is_complex);
		check_lu_and_qr(t, is_complex);
		check_eigenvectors(t, is_complex);
		check_svd(t, is_complex);
		check_systems(t, is_complex);
	}
	begin(t, "lu of a rectangle");
	Ref wide = param(t, mat(t, len(t, 2), len(t, 3)), "x"), factors[2];
	build(t->b, OP_LU, 1, &wide, 0, factors);
	expect_error(t, end1(t, factors[0]), false, E_NO_RULE, "square matrices only", __FILE__,
	             __LINE__);

	/* Equal eigenvalues: derivatives of quantities that do not depend on the
	 * chosen basis are right. */
	begin(t, "eigh of the identity");
	Ref x = param(t, mat(t, len(t, 3), len(t, 3)), "x"), out[2];
	build(t->b, OP_EIGH, 1, &x, 0, out);
	Ref sum = total(t, mul(t->b, out[0], out[0]));
	Fn *f = end1(t, sum);
	Fn *back = reverse_of(t, f, (bool[]){true});
	Value args[2] = {array(t, DT_F64, 2, (int64_t[]){3, 3}, 0, 0), value_f64(1)}, ct;
	Value eye = shaped(t, args[0], (double[]){1, 0, 0, 0, 1, 0, 0, 0, 1});
	value_unref(args[0]);
	args[0] = eye;
	if (run(t, back, args, &ct)) {
		double g[9];
		flatten(t, ct, g);
		for (int i = 0; i < 9; i++) CHECK(fabs(g[i] - (i % 4 ? 0 : 2)) < 1e-14);
		value_unref(ct);
	}
	release(2, args);
	fn_unref(back);
	fn_unref(f);
}

/* Batches of matrices: the last two axes are the matrix. */
static void test_many_matrices(T *t) {
	static const Op ops[] = {OP_CHOLESKY, OP_LU, OP_QR, OP_EIGH, OP_EIG, OP_SVD, OP_TRISOLVE};
	t->random = SEED_OF_MANY;
	for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
		begin(t, prims[ops[k]].name);
		Builder *b = t->b;
		Dim n = sym(t, "n");
		Dim dims[3] = {n, len(t, 3), len(t, 3)};
		Ref x = param(t, type_tensor(t->c, DT_F64, 3, dims), "x"), out[3] = {0};
		/* Symmetric and diagonally dominant, with distinct eigenvalues. */
		Ref turned = build_transpose(b, x, (int[]){0, 2, 1});
		Value shift = array(t, DT_F64, 2, (int64_t[]){3, 3}, 0, 0),
			  diagonal = shaped(t, shift, (double[]){4, 0, 0, 0, 6, 0, 0, 0, 9});
		value_unref(shift);
		Ref a = add(b, add(b, x, turned),
		            build_broadcast(b, constant(t, diagonal), 3, dims, (int[]){1, 2}));
		if (ops[k] == OP_TRISOLVE)
			build(b, OP_TRISOLVE, 2, (Ref[]){a, x}, attr_intern(t->c, (int64_t[]){1, 0, 0}, 3),
			      out);
		else build(b, ops[k], 1, &a, 0, out);
		uint32_t m = 1;
		if (ops[k] == OP_QR) m = 2;
		if (ops[k] == OP_EIGH || ops[k] == OP_EIG) out[m++] = squares(t, out[1]);
		if (ops[k] == OP_SVD) { /* u and v have a common sign */
			out[0] = mul(b, out[0], out[2]);
			m = 2;
		}
		Value args[1] = {array(t, DT_F64, 3, (int64_t[]){2, 3, 3}, -1, 1)};
		check_all(t, end(t, m, out), 1, args, 2, &looser);
	}
}

int main(int argc, char **argv) {
	static const Named tests[] = {
		{"factorisations", test_factorisations},
		{"many matrices", test_many_matrices},
	};
	return run_tests(tests, sizeof tests / sizeof *tests, argc > 1 ? argv[1] : NULL);
}
