/* jvp_linalg.c - tangents of the dense factorisations and of the triangular
 * solve, for one matrix or a batch.
 *
 * Method: formulas for real and complex matrices, derived from the defining
 * equations. Sources: M. B. Giles, "Collected matrix derivative results for
 * forward and reverse mode algorithmic differentiation" (2008); M. Seeger et
 * al., "Auto-differentiating linear algebra" (2017) for the form of Cholesky,
 * QR and SVD.
 *
 * Needs: rules.h.
 *
 * Contract:
 * - Where eigenvalues or singular values coincide, the part of the vectors'
 *   tangent inside that eigenspace is taken as zero. This is exact for the
 *   eigenspace, but not for results that depend on the vectors themselves.
 *   User-level derivatives therefore use a form in which they do not coincide
 *   (parser/specialise/decompositions.c).
 * - Complex vectors are determined up to a phase; each rule states the phase of
 *   its tangent.
 */
#include "autodiff/core/rules.h"

/* ---- matrices with batch axes -------------------------------------------- */

Ref mat_adjoint(Builder *b, Ref x) {
	int rank = type_in(b, x).rank, perm[MAX_RANK];
	for (int k = 0; k < rank; k++) perm[k] = k;
	perm[rank - 2] = rank - 1;
	perm[rank - 1] = rank - 2;
	return conjugate(b, build_transpose(b, x, perm));
}

/* Contracts axis xa (counted from the end) of x with axis ya of y. */
static Ref contract(Builder *b, Ref x, int xa, Ref y, int ya) {
	int rank = type_in(b, x).rank, batch[MAX_RANK];
	for (int k = 0; k < rank - 2; k++) batch[k] = k;
	xa = rank - xa;
	ya = rank - ya;
	return build_dot(b, x, y, 1, &xa, &ya, (uint32_t)rank - 2, batch, batch);
}

Ref mat_mul(Builder *b, Ref x, Ref y) { return contract(b, x, 1, y, 2); }
/* x^H y */
static Ref mat_mul_adjoint_left(Builder *b, Ref x, Ref y) {
	return contract(b, conjugate(b, x), 2, y, 2);
}

static bool is_square(Builder *b, const Type *t) {
	return build_canon(b, t->dims[t->rank - 2]) == build_canon(b, t->dims[t->rank - 1]);
}

/* A vector for each matrix, repeated along the rows (axis 1 from the end: entry
 * j is in column j) or the columns. */
static Ref along_columns(Builder *b, Ref v, TypeId shape) {
	return repeat_along(b, v, shape, 1, (int[]){type_of(build_ctx(b), shape)->rank - 2});
}
static Ref along_rows(Builder *b, Ref v, TypeId shape) {
	return repeat_along(b, v, shape, 1, (int[]){type_of(build_ctx(b), shape)->rank - 1});
}

/* A bool mask with the shape of x: the entries that belong to the part. */
static Ref part_mask(Builder *b, Ref x, MatrixPart part) {
	Type t = type_in(b, x);
	int rank = t.rank;
	Ref row = build_broadcast(b, build_iota(b, DT_I64, t.dims[rank - 2]), 2, t.dims + rank - 2,
	                          (int[]){0});
	Ref column = build_broadcast(b, build_iota(b, DT_I64, t.dims[rank - 1]), 2, t.dims + rank - 2,
	                             (int[]){1});
	Ref mask = part == PART_LOWER          ? build2(b, OP_LE, column, row)
	           : part == PART_LOWER_STRICT ? build2(b, OP_LT, column, row)
	           : part == PART_UPPER        ? build2(b, OP_LE, row, column)
	           : part == PART_UPPER_STRICT ? build2(b, OP_LT, row, column)
	                                       : build2(b, OP_EQ, row, column);
	return rank == 2 ? mask : build_broadcast(b, mask, t.rank, t.dims, (int[]){rank - 2, rank - 1});
}

Ref mat_part(Builder *b, Ref x, MatrixPart part) { return where(b, part_mask(b, x, part), x); }

static Ref diagonal(Builder *b, Ref x) {
	return build_reduce(b, OP_REDUCE_SUM, mat_part(b, x, PART_DIAGONAL), 1,
	                    (int[]){type_in(b, x).rank - 1});
}

static Ref identity_like(Builder *b, Ref x) {
	return build_convert(b, part_mask(b, x, PART_DIAGONAL), dtype_in(b, x));
}

Ref mat_solve_triangular(Builder *b, Ref t, Ref rhs, bool lower, bool adjoint, bool unit) {
	int64_t words[3] = {lower, adjoint, unit};
	return build(b, OP_TRISOLVE, 2, (Ref[]){t, rhs}, attr_intern(build_ctx(b), words, 3), NULL);
}

/* x T^-1, or x T^-H, by solving with the adjoint from the left. */
static Ref solve_from_right(Builder *b, Ref x, Ref t, bool lower, bool adjoint) {
	return mat_adjoint(b, mat_solve_triangular(b, t, mat_adjoint(b, x), lower, !adjoint, false));
}

static Ref real_part(Builder *b, Ref x) {
	return dtype_is_complex(dtype_in(b, x)) ? build1(b, OP_REAL, x) : x;
}

/* i times a real array, in the complex dtype d. */
static Ref imaginary(Builder *b, Ref x, Dtype d) {
	Ref z = build_convert(b, x, d);
	Ref unit = build_convert(b, build_const(b, value_c128(I)), d);
	return build2(b, OP_MUL, z, build_broadcast_scalar(b, unit, type_id_in(b, z)));
}

/* 1/x, and 0 where x is 0. */
static Ref reciprocal_or_zero(Builder *b, Ref x) {
	TypeId t = type_id_in(b, x);
	Ref none = build2(b, OP_EQ, x, build_zeros(b, t)), one = build_full(b, t, 1);
	return build_select(b, none, build_zeros(b, t),
	                    build2(b, OP_DIV, one, build_select(b, none, one, x)));
}

/* The Hermitian matrix that a factorisation reading only the lower triangle
 * sees; its diagonal is real. */
static Ref hermitian_of_lower(Builder *b, Ref x) {
	Ref below = mat_part(b, x, PART_LOWER_STRICT), d = mat_part(b, x, PART_DIAGONAL);
	if (dtype_is_complex(dtype_in(b, x)))
		d = build_convert(b, build1(b, OP_REAL, d), dtype_in(b, x));
	return build2(b, OP_ADD, build2(b, OP_ADD, below, mat_adjoint(b, below)), d);
}

/* ---- rules --------------------------------------------------------------- */

static bool attr_flag(const JvpRule *r, uint32_t k) {
	return attr_int(r->c, (Op)r->in->op, r->attr, k) != 0;
}

/* T X = B gives T dX = dB - dT X; only the entries of dT that the solve reads
 * of T count. */
void jvp_TRISOLVE(JvpRule *r) {
	Builder *b = r->b;
	bool lower = attr_flag(r, 0), adjoint = attr_flag(r, 1), unit = attr_flag(r, 2);
	Ref rhs = r->dx[1];
	if (r->dx[0] != REF_NONE) {
		MatrixPart part = lower  ? (unit ? PART_LOWER_STRICT : PART_LOWER)
		                  : unit ? PART_UPPER_STRICT
		                         : PART_UPPER;
		Ref dt = mat_part(b, r->dx[0], part);
		Ref moved = adjoint ? mat_mul_adjoint_left(b, dt, r->y[0]) : mat_mul(b, dt, r->y[0]);
		rhs = rhs == REF_NONE ? build1(b, OP_NEG, moved) : build2(b, OP_SUB, rhs, moved);
	}
	r->dy[0] = mat_solve_triangular(b, r->x[0], rhs, lower, adjoint, unit);
}

Ref mat_solve_factored(Builder *b, const Ref *a, Ref rhs, bool adjoint) {
	Ref x;
	const int axis = type_in(b, rhs).rank - 2;
	if (adjoint) { /* A[p] = L U, so A^H X = U^H L^H X[p] */
		x = mat_solve_triangular(b, a[1], mat_solve_triangular(b, a[1], rhs, false, true, false),
		                         true, true, true);
		x = build_scatter(b, OP_SCATTER_SET, build_zeros(b, type_id_in(b, x)), a[2], x, axis, axis);
	} else {
		x = build_gather(b, rhs, a[2], axis, axis);
		x = mat_solve_triangular(b, a[1], mat_solve_triangular(b, a[1], x, true, false, true),
		                         false, false, false);
	}
	const int64_t word = adjoint;
	return build(b, OP_SOLVED, 5, (Ref[]){a[0], a[1], a[2], rhs, x},
	             attr_intern(build_ctx(b), &word, 1), NULL);
}

/* A X = B gives A dX = dB - dA X, solved with the existing factors. */
void jvp_SOLVED(JvpRule *r) {
	Builder *b = r->b;
	const bool adjoint = attr_flag(r, 0);
	Ref rhs = r->dx[3];
	if (r->dx[0] != REF_NONE) {
		Ref moved =
			adjoint ? mat_mul_adjoint_left(b, r->dx[0], r->y[0]) : mat_mul(b, r->dx[0], r->y[0]);
		rhs = rhs == REF_NONE ? build1(b, OP_NEG, moved) : build2(b, OP_SUB, rhs, moved);
	}
	if (rhs != REF_NONE) r->dy[0] = mat_solve_factored(b, r->x, rhs, adjoint);
}

/* dA = dL L^H + L dL^H, so L^-1 dA L^-H = L^-1 dL + its adjoint: the lower
 * triangle of the left side, with half the diagonal, is L^-1 dL. */
void jvp_CHOLESKY(JvpRule *r) {
	Builder *b = r->b;
	Ref l = r->y[0];
	Ref half = mat_solve_triangular(b, l, hermitian_of_lower(b, r->dx[0]), true, false, false);
	Ref s = solve_from_right(b, half, l, true, true);
	Ref phi = build2(b, OP_SUB, mat_part(b, s, PART_LOWER),
	                 scaled(b, mat_part(b, s, PART_DIAGONAL), 0.5));
	r->dy[0] = mat_mul(b, l, phi);
}

/* A[p] = L U gives L^-1 dA[p] U^-1 = L^-1 dL + dU U^-1, strictly lower plus
 * upper. */
void jvp_LU(JvpRule *r) {
	Builder *b = r->b;
	Ref packed = r->y[0];
	Type t = type_in(b, packed);
	if (!is_square(b, &t))
		no_rule(r->c, r->f, r->in, "jvp", "has a derivative for square matrices only");
	Ref da = build_gather(b, r->dx[0], r->y[1], t.rank - 2, t.rank - 2);
	Ref s = solve_from_right(b, mat_solve_triangular(b, packed, da, true, false, true), packed,
	                         false, false);
	Ref below = mat_part(b, packed, PART_LOWER_STRICT), upper = mat_part(b, packed, PART_UPPER);
	Ref l = build2(b, OP_ADD, below, identity_like(b, packed));
	Ref dl = mat_mul(b, l, mat_part(b, s, PART_LOWER_STRICT)),
		du = mat_mul(b, mat_part(b, s, PART_UPPER), upper);
	r->dy[0] = build2(b, OP_ADD, dl, du);
}

/* M = Q^H dA R^-1 = Q^H dQ + dR R^-1, skew-Hermitian plus upper triangular with
 * a real diagonal. */
void jvp_QR(JvpRule *r) {
	Builder *b = r->b;
	Ref q = r->y[0], upper = r->y[1];
	Ref s = solve_from_right(b, r->dx[0], upper, false, false);
	Ref m = mat_mul_adjoint_left(b, q, s);
	Ref below = mat_part(b, m, PART_LOWER_STRICT);
	Ref skew = build2(b, OP_SUB, below, mat_adjoint(b, below));
	if (dtype_is_complex(dtype_in(b, m)))
		skew =
			build2(b, OP_ADD, skew,
		           imaginary(b, build1(b, OP_IMAG, mat_part(b, m, PART_DIAGONAL)), dtype_in(b, m)));
	Ref rest = build2(b, OP_SUB, m, skew);
	r->dy[0] = build2(b, OP_SUB, s, mat_mul(b, q, rest)); /* Q skew + (S - Q M) */
	r->dy[1] = mat_mul(b, rest, upper);
}

/* Row i, column j: 1/(w_j - w_i), and 0 where they are equal. */
static Ref gaps(Builder *b, Ref w, TypeId shape) {
	return reciprocal_or_zero(
		b, build2(b, OP_SUB, along_columns(b, w, shape), along_rows(b, w, shape)));
}

/* Row i, column j: 1/(w_j - w_i), which is infinite where they are equal, and 0
 * on the diagonal. */
static Ref gaps_of_pairs(Builder *b, Ref w, TypeId shape) {
	Ref gap = build2(b, OP_SUB, along_columns(b, w, shape), along_rows(b, w, shape)),
		one = build_full(b, shape, 1);
	Ref diagonal_part = part_mask(b, gap, PART_DIAGONAL);
	Ref over = build2(b, OP_DIV, one, build_select(b, diagonal_part, one, gap));
	return build_select(b, diagonal_part, build_zeros(b, shape), over);
}

/* M = V^H dA V: dw is its diagonal and dV = V (M over the gaps). The phase is
 * the one with v^H dv = 0. */
void jvp_EIGH(JvpRule *r) {
	Builder *b = r->b;
	Ref w = r->y[0], v = r->y[1];
	TypeId shape = type_with_dtype(r->c, type_id_in(b, v), dtype_in(b, w));
	Ref m = mat_mul_adjoint_left(b, v, mat_mul(b, hermitian_of_lower(b, r->dx[0]), v));
	r->dy[0] = real_part(b, diagonal(b, m));
	r->dy[1] =
		mat_mul(b, v, build2(b, OP_MUL, m, build_convert(b, gaps(b, w, shape), dtype_in(b, v))));
}

/* V^-1 dA V has dw on its diagonal and, divided by the gaps, the coefficients
 * of dV. These do not exist where eigenvalues are equal, and are NaN then. Each
 * vector keeps length 1, and its largest component keeps its phase. LAPACK's
 * geev chooses vectors in this way, which makes the eigenvectors of real
 * eigenvalues real. */
void jvp_EIG(JvpRule *r) {
	Builder *b = r->b;
	Ref w = r->y[0], v = r->y[1];
	Type t = type_in(b, v);
	TypeId shape = type_id_in(b, v);
	int rank = t.rank;
	Ref lu[2];
	build(b, OP_LU, 1, &v, 0, lu);
	Ref rhs = build_gather(b, mat_mul(b, build_convert(b, r->dx[0], (Dtype)t.dtype), v), lu[1],
	                       rank - 2, rank - 2);
	Ref m = mat_solve_triangular(b, lu[0], mat_solve_triangular(b, lu[0], rhs, true, false, true),
	                             false, false, false);
	r->dy[0] = diagonal(b, m);
	Ref dv = mat_mul(b, v, build2(b, OP_MUL, m, gaps_of_pairs(b, w, shape)));

	/* Subtract v times (Re v^H dv + i Im (dv_k / v_k)) where k is the largest
	 * component. */
	int row = rank - 2;
	Ref along =
		build1(b, OP_REAL,
	           build_reduce(b, OP_REDUCE_SUM, build2(b, OP_MUL, conjugate(b, v), dv), 1, &row));
	Ref re = build1(b, OP_REAL, v), im = build1(b, OP_IMAG, v);
	Ref size = build2(b, OP_ADD, build2(b, OP_MUL, re, re), build2(b, OP_MUL, im, im));
	int64_t word = row;
	Ref largest = build(b, OP_ARGMAX, 1, &size, attr_intern(r->c, &word, 1), NULL);
	Dim position_dims[MAX_RANK];
	memcpy(position_dims, t.dims, sizeof position_dims);
	Ref position =
		build_broadcast(b, build_iota(b, DT_I64, t.dims[row]), t.rank, position_dims, (int[]){row});
	Ref chosen =
		build2(b, OP_EQ, position, along_columns(b, largest, type_with_dtype(r->c, shape, DT_I64)));
	Ref dv_k = build_reduce(b, OP_REDUCE_SUM, where(b, chosen, dv), 1, &row);
	Ref v_k = build_reduce(b, OP_REDUCE_SUM, where(b, chosen, v), 1, &row);
	Ref turn = build1(b, OP_IMAG, build2(b, OP_DIV, dv_k, v_k));
	Ref shift = build2(b, OP_ADD, build_convert(b, along, (Dtype)t.dtype),
	                   imaginary(b, turn, (Dtype)t.dtype));
	r->dy[1] = build2(b, OP_SUB, dv, build2(b, OP_MUL, v, along_columns(b, shift, shape)));
}

/* x - u u^H x: the component outside the span of u's columns. */
static Ref outside_of(Builder *b, Ref u, Ref x) {
	return build2(b, OP_SUB, x, mat_mul(b, u, mat_mul_adjoint_left(b, u, x)));
}

/* With P = U^H dA V, a = U^H dU and c = V^H dV skew-Hermitian: P = a S + dS - S
 * c. Off the diagonal P and P^H give a_ij (s_j^2 - s_i^2) = P_ij s_j + s_i
 * P^H_ij and c_ij (s_j^2 - s_i^2) = s_i P_ij + P^H_ij s_j. On the diagonal the
 * phase is the one with c_ii = 0. */
void jvp_SVD(JvpRule *r) {
	Builder *b = r->b;
	Ref da = r->dx[0], u = r->y[0], s = r->y[1], v = r->y[2];
	Dtype d = dtype_in(b, u);
	Ref dav = mat_mul(b, da, v);
	Ref p = mat_mul_adjoint_left(b, u, dav), ph = mat_adjoint(b, p);
	r->dy[1] = real_part(b, diagonal(b, p));

	TypeId shape = type_id_in(b, p), real_shape = type_with_dtype(r->c, shape, dtype_real_of(d));
	Ref column = along_columns(b, s, real_shape), row = along_rows(b, s, real_shape);
	Ref gap = build2(b, OP_MUL, build2(b, OP_SUB, column, row), build2(b, OP_ADD, column, row));
	Ref over = build_convert(b, reciprocal_or_zero(b, gap), d);
	column = build_convert(b, column, d);
	row = build_convert(b, row, d);
	Ref a = build2(b, OP_MUL, over,
	               build2(b, OP_ADD, build2(b, OP_MUL, p, column), build2(b, OP_MUL, row, ph)));
	Ref cc = build2(b, OP_MUL, over,
	                build2(b, OP_ADD, build2(b, OP_MUL, row, p), build2(b, OP_MUL, ph, column)));
	Ref inverse = reciprocal_or_zero(b, s);
	if (dtype_is_complex(d)) {
		Ref turn = build2(b, OP_MUL, build1(b, OP_IMAG, mat_part(b, p, PART_DIAGONAL)),
		                  along_columns(b, inverse, real_shape));
		a = build2(b, OP_ADD, a, imaginary(b, turn, d));
	}
	Ref du = mat_mul(b, u, a), dv = mat_mul(b, v, cc);
	inverse = build_convert(b, inverse, d);
	Type tu = type_in(b, u), tv = type_in(b, v);
	if (!is_square(b, &tu)) {
		Ref out = outside_of(b, u, dav);
		du = build2(b, OP_ADD, du,
		            build2(b, OP_MUL, out, along_columns(b, inverse, type_id_in(b, out))));
	}
	if (!is_square(b, &tv)) {
		Ref out = outside_of(b, v, mat_mul_adjoint_left(b, da, u));
		dv = build2(b, OP_ADD, dv,
		            build2(b, OP_MUL, out, along_columns(b, inverse, type_id_in(b, out))));
	}
	r->dy[0] = du;
	r->dy[2] = dv;
}
