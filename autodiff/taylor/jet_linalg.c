/* jet_linalg.c - Taylor series of triangular solves and of the dense
 * factorisations, order by order.
 *
 * Method: coefficient k of each factor solves the linear problem of the
 * tangent, with a right side made of lower coefficients. Order 1: M. B. Giles,
 * "Collected matrix derivative results for forward and reverse mode algorithmic
 * differentiation", 2008. Higher orders: S. F. Walter, L. Lehmann, "Algorithmic
 * differentiation of linear algebra functions with application in optimum
 * experimental design", 2010.
 *
 * Needs: jet.h, and the matrix algebra of rules.h.
 *
 * Contract:
 * - Where a factor is not unique its series is that of the tangents in
 *   jvp_linalg.c. The phases are the same, and nothing moves inside the space
 *   of coinciding eigenvalues or singular values.
 * - Leading axes are batch axes.
 */
#include "autodiff/taylor/jet.h"
#include "autodiff/core/rules.h"

/* ---- matrices over the last two axes ------------------------------------- */

static bool is_complex(Builder *b, Ref x) { return dtype_is_complex(dtype_in(b, x)); }

/* X with X T = y. */
static Ref solve_right(Builder *b, Ref y, Ref t, bool lower) {
	return mat_adjoint(b, mat_solve_triangular(b, t, mat_adjoint(b, y), lower, true, false));
}

static Ref lower_part(Builder *b, Ref x, bool strict) {
	return mat_part(b, x, strict ? PART_LOWER_STRICT : PART_LOWER);
}

static Ref upper_part(Builder *b, Ref x, bool strict) {
	return mat_part(b, x, strict ? PART_UPPER_STRICT : PART_UPPER);
}

/* Diagonal entries from x (REF_NONE: zeros), the others from y. */
static Ref with_diagonal_of(Builder *b, Ref x, Ref y) {
	Type t = type_in(b, y);
	Ref row = build_broadcast(b, build_iota(b, DT_I64, t.dims[t.rank - 2]), 2, t.dims + t.rank - 2,
	                          (int[]){0});
	Ref column = build_broadcast(b, build_iota(b, DT_I64, t.dims[t.rank - 1]), 2,
	                             t.dims + t.rank - 2, (int[]){1});
	Ref mask = build_broadcast(b, build2(b, OP_EQ, row, column), t.rank, t.dims,
	                           (int[]){t.rank - 2, t.rank - 1});
	return build_select(b, mask, or_zeros(b, x, type_id_in(b, y)), y);
}

static Ref column_sums(Builder *b, Ref x) {
	int axis = type_in(b, x).rank - 2;
	return build_reduce(b, OP_REDUCE_SUM, x, 1, &axis);
}

static Ref diagonal(Builder *b, Ref x) { return column_sums(b, mat_part(b, x, PART_DIAGONAL)); }

/* A vector (with its batch axes) repeated along the columns or the rows of a
 * matrix with the shape of `like`. */
static Ref spread(Builder *b, Ref v, Ref like, bool over_rows) {
	Type t = type_in(b, like);
	int axes[MAX_RANK];
	for (int i = 0; i < t.rank - 1; i++) axes[i] = i;
	if (over_rows) axes[t.rank - 2] = t.rank - 1;
	Ref wide = build_broadcast(b, v, t.rank, t.dims, axes);
	return build_convert(b, wide, (Dtype)t.dtype);
}

static Ref scale_columns(Builder *b, Ref x, Ref v) {
	return build2(b, OP_MUL, x, spread(b, v, x, true));
}

static Ref halved(Builder *b, Ref x) { return zero_scale(b, x, 0.5); }

/* The Hermitian matrix with lower triangle x. */
static Ref hermitian(Builder *b, Ref x) {
	Ref diagonal_part = x;
	if (is_complex(b, x)) diagonal_part = build_convert(b, build1(b, OP_REAL, x), dtype_in(b, x));
	Ref below = lower_part(b, x, true);
	return with_diagonal_of(b, diagonal_part, build2(b, OP_ADD, below, mat_adjoint(b, below)));
}

/* 1/d, and 0 where d is 0. */
static Ref safe_inverse(Builder *b, Ref d) {
	TypeId t = type_id_in(b, d);
	Ref zeros = build_zeros(b, t), ones = build_full(b, t, 1), none = build2(b, OP_EQ, d, zeros);
	return build_select(b, none, zeros, build2(b, OP_DIV, ones, build_select(b, none, ones, d)));
}

/* ---- sums of products ---------------------------------------------------- */

/* Series under construction: coefficients from 0 on, REF_NONE for zeros. */
typedef struct MatrixFactors {
	Builder *b;
	const Ref *left, *right;
	bool left_adjoint, right_adjoint;
} MatrixFactors;

static Ref factor(void *ud, uint32_t which, uint32_t k) {
	const MatrixFactors *f = ud;
	Ref x = which ? f->right[k] : f->left[k];
	return x && (which ? f->right_adjoint : f->left_adjoint) ? mat_adjoint(f->b, x) : x;
}

static Ref times(void *ud, Ref x, Ref y) { return mat_mul(((const MatrixFactors *)ud)->b, x, y); }

/* sum_{i=1..k-1} x_i y_{k-i}, with the adjoint of x or y if flagged. */
static Ref inner_sum(Builder *b, uint32_t k, const Ref *x, bool x_adjoint, const Ref *y,
                     bool y_adjoint) {
	MatrixFactors f = {b, x, y, x_adjoint, y_adjoint};
	return cauchy(b, k, 1, false, factor, times, &f);
}

/* sum_{i=1..k} x_i y_{k-i} */
static Ref sum_from_1(Builder *b, uint32_t k, const Ref *x, bool x_adjoint, const Ref *y) {
	Ref last = x[k] ? mat_mul(b, x_adjoint ? mat_adjoint(b, x[k]) : x[k], y[0]) : REF_NONE;
	return zero_add(b, inner_sum(b, k, x, x_adjoint, y, false), last);
}

/* sum_{i=1..k-1} of x_i with its columns scaled by v_{k-i}. */
static Ref scaled_sum(Builder *b, uint32_t k, const Ref *x, const Ref *v) {
	Ref sum = REF_NONE;
	for (uint32_t i = 1; i < k; i++)
		if (x[i] && v[k - i]) sum = zero_add(b, sum, scale_columns(b, x[i], v[k - i]));
	return sum;
}

/* The diagonal of coefficient k of V_0* V when the columns move orthogonally to
 * themselves, (V* V')_ii = 0: -1/k sum_{i=1..k-1} (k-i) diag(V_i* V_{k-i}). */
static Ref gauge(Builder *b, uint32_t k, const Ref *v) {
	Ref sum = REF_NONE;
	for (uint32_t i = 1; i < k; i++) {
		if (!v[i] || !v[k - i]) continue;
		Ref term = column_sums(b, build2(b, OP_MUL, conjugate(b, v[i]), v[k - i]));
		sum = zero_add(b, sum, zero_scale(b, term, -(double)(k - i) / k));
	}
	return sum;
}

static Ref with_diagonal(Builder *b, Ref x, Ref d) {
	return with_diagonal_of(b, d ? spread(b, d, x, true) : REF_NONE, x);
}

static Ref *coefs_of(Jet *j, Ref r) {
	Ref *x = ARENA_ARRAY(j->scratch, Ref, j->order + 1);
	for (uint32_t k = 0; k <= j->order; k++) x[k] = jet_get(j, r, k);
	return x;
}

static void set_all(Jet *j, const Inst *in, uint32_t result, const Ref *x) {
	for (uint32_t k = 1; k <= j->order; k++) jet_set(j, inst_result(in, result), k, x[k]);
}

/* ---- triangular solve ---------------------------------------------------- */

/* T X = B: T_0 X_k = B_k - sum_{i>=1} T_i X_{k-i} */
void jet_rule_TRISOLVE(Jet *j, const Inst *in) {
	jet_primal(j, in);
	Builder *b = j->b;
	bool lower = attr_int(j->c, OP_TRISOLVE, in->attr, 0),
		 adjoined = attr_int(j->c, OP_TRISOLVE, in->attr, 1);
	bool unit = attr_int(j->c, OP_TRISOLVE, in->attr, 2);
	Ref *t = coefs_of(j, inst_arg(j->f, in, 0)), *x = coefs_of(j, inst_result(in, 0));
	for (uint32_t k = 1; k <= j->order; k++)
		if (t[k]) t[k] = lower ? lower_part(b, t[k], unit) : upper_part(b, t[k], unit);
	for (uint32_t k = 1; k <= j->order; k++) {
		Ref rest =
			zero_sub(b, jet_get(j, inst_arg(j->f, in, 1), k), sum_from_1(b, k, t, adjoined, x));
		x[k] = rest ? mat_solve_triangular(b, t[0], rest, lower, adjoined, unit) : REF_NONE;
	}
	set_all(j, in, 0, x);
}

/* A X = B: A_0 X_k = B_k - sum_{i>=1} A_i X_{k-i} */
void jet_rule_SOLVED(Jet *j, const Inst *in) {
	jet_primal(j, in);
	Builder *b = j->b;
	const bool adjoined = attr_int(j->c, OP_SOLVED, in->attr, 0);
	Ref *a = coefs_of(j, inst_arg(j->f, in, 0)), *x = coefs_of(j, inst_result(in, 0));
	const Ref given[3] = {a[0], jet_get(j, inst_arg(j->f, in, 1), 0),
	                      jet_get(j, inst_arg(j->f, in, 2), 0)};
	for (uint32_t k = 1; k <= j->order; k++) {
		Ref rest =
			zero_sub(b, jet_get(j, inst_arg(j->f, in, 3), k), sum_from_1(b, k, a, adjoined, x));
		x[k] = rest ? mat_solve_factored(b, given, rest, adjoined) : REF_NONE;
	}
	set_all(j, in, 0, x);
}

/* ---- factorisations ------------------------------------------------------ */

/* L_0 L_k* + L_k L_0* = R: with M = L_0^-1 R L_0^-*, L_0^-1 L_k is the lower
 * triangle of M with half its diagonal. */
void jet_rule_CHOLESKY(Jet *j, const Inst *in) {
	jet_primal(j, in);
	Builder *b = j->b;
	Ref *l = coefs_of(j, inst_result(in, 0));
	for (uint32_t k = 1; k <= j->order; k++) {
		Ref a = jet_get(j, inst_arg(j->f, in, 0), k);
		Ref rest = zero_sub(b, a ? hermitian(b, a) : REF_NONE, inner_sum(b, k, l, false, l, true));
		if (!rest) continue;
		Ref m = mat_solve_triangular(
			b, l[0], mat_adjoint(b, mat_solve_triangular(b, l[0], rest, true, false, false)), true,
			false, false);
		m = lower_part(b, m, false);
		l[k] = mat_mul(b, l[0], with_diagonal_of(b, halved(b, m), m));
	}
	set_all(j, in, 0, l);
}

/* L_0 U_k + L_k U_0 = R: with M = L_0^-1 R U_0^-1, L_0^-1 L_k is its strict
 * lower part, and U_k U_0^-1 is the upper part. The pivots do not change. */
void jet_rule_LU(Jet *j, const Inst *in) {
	jet_primal(j, in);
	Builder *b = j->b;
	Ref packed = jet_get(j, inst_result(in, 0), 0), pivots = jet_get(j, inst_result(in, 1), 0);
	Type t = type_in(b, packed);
	int rank = t.rank;
	if (build_canon(b, t.dims[rank - 1]) != build_canon(b, t.dims[rank - 2]))
		jet_no_rule(j, in, "the matrix is not square");
	Ref *l = ARENA_ARRAY(j->scratch, Ref, j->order + 1),
		*u = ARENA_ARRAY(j->scratch, Ref, j->order + 1);
	Ref below = lower_part(b, packed, true);
	l[0] = with_diagonal(b, below, build_full(b, type_id_in(b, diagonal(b, packed)), 1));
	u[0] = upper_part(b, packed, false);
	for (uint32_t k = 1; k <= j->order; k++) {
		Ref a = jet_get(j, inst_arg(j->f, in, 0), k);
		if (a) a = build_gather(b, a, pivots, rank - 2, rank - 2);
		Ref rest = zero_sub(b, a, inner_sum(b, k, l, false, u, false));
		if (!rest) continue;
		Ref m =
			solve_right(b, mat_solve_triangular(b, packed, rest, true, false, true), packed, false);
		l[k] = mat_mul(b, l[0], lower_part(b, m, true));
		u[k] = mat_mul(b, upper_part(b, m, false), u[0]);
		jet_set(j, inst_result(in, 0), k, build2(b, OP_ADD, l[k], u[k]));
	}
}

/* S = Q_0 R_k + Q_k R_0 and Q* Q = 1. Let M = Q_0* S R_0^-1 = T + W, where T =
 * R_k R_0^-1 is upper with a real diagonal and W = Q_0* Q_k, W + W* = -H. The
 * strict lower part of W is that of M, the upper part follows from H, and the
 * diagonal is -H_ii / 2 + i Im M_ii. */
void jet_rule_QR(Jet *j, const Inst *in) {
	jet_primal(j, in);
	Builder *b = j->b;
	Ref *q = coefs_of(j, inst_result(in, 0)), *r = coefs_of(j, inst_result(in, 1));
	Ref q_adjoint = mat_adjoint(b, q[0]);
	for (uint32_t k = 1; k <= j->order; k++) {
		Ref s =
			zero_sub(b, jet_get(j, inst_arg(j->f, in, 0), k), inner_sum(b, k, q, false, r, false));
		Ref h = inner_sum(b, k, q, true, q, false);
		/* Then no lower coefficient moves either, and H is zero. */
		if (!s) continue;
		Ref moved = solve_right(b, s, r[0], false), m = mat_mul(b, q_adjoint, moved);
		Ref below = lower_part(b, m, true);
		Ref w = zero_sub(b, zero_sub(b, below, mat_adjoint(b, below)),
		                 h ? upper_part(b, h, true) : REF_NONE);
		Ref turn = h ? zero_scale(b, h, -0.5) : REF_NONE;
		if (is_complex(b, m)) {
			Ref real = build_convert(b, build1(b, OP_REAL, m), dtype_in(b, m));
			turn = zero_add(b, turn, build2(b, OP_SUB, m, real));
		}
		w = with_diagonal_of(b, turn, w);
		Ref t = upper_part(b, build2(b, OP_SUB, m, w), false);
		r[k] = mat_mul(b, t, r[0]);
		q[k] = build2(b, OP_SUB, moved, mat_mul(b, q[0], t));
	}
	set_all(j, in, 0, q);
	set_all(j, in, 1, r);
}

/* ---- eigenvalues --------------------------------------------------------- */

/* 1 / (v_column - v_row), zero where they are equal */
static Ref inverse_gaps(Builder *b, Ref v, Ref like) {
	return safe_inverse(b, build2(b, OP_SUB, spread(b, v, like, true), spread(b, v, like, false)));
}

/* V = V_0 W and B = V_0^-1 A V_0: B W = W L, so that with
 *     C = B_k + sum_{i=1..k-1} (B_i W_{k-i} - W_i L_{k-i}),
 * L_k is the diagonal of C and W_k = C_ij / (l_j - l_i) off the diagonal. The
 * gauge determines the diagonal of W_k. */
static Ref eigen_step(Builder *b, uint32_t k, const Ref *bs, const Ref *w, const Ref *l) {
	Ref c = zero_add(b, bs[k], inner_sum(b, k, bs, false, w, false));
	return zero_sub(b, c, scaled_sum(b, k, w, l));
}

void jet_rule_EIGH(Jet *j, const Inst *in) {
	jet_primal(j, in);
	Builder *b = j->b;
	Ref *l = coefs_of(j, inst_result(in, 0)), *v = coefs_of(j, inst_result(in, 1));
	Ref *w = ARENA_ARRAY(j->scratch, Ref, j->order + 1),
		*bs = ARENA_ARRAY(j->scratch, Ref, j->order + 1);
	Ref v_adjoint = mat_adjoint(b, v[0]), gaps = inverse_gaps(b, l[0], v[0]);
	for (uint32_t k = 1; k <= j->order; k++) {
		Ref a = jet_get(j, inst_arg(j->f, in, 0), k);
		bs[k] = a ? mat_mul(b, v_adjoint, mat_mul(b, hermitian(b, a), v[0])) : REF_NONE;
		Ref c = eigen_step(b, k, bs, w, l);
		if (!c) continue;
		l[k] = diagonal(b, c);
		if (is_complex(b, c)) l[k] = build1(b, OP_REAL, l[k]);
		w[k] = with_diagonal(b, build2(b, OP_MUL, c, gaps), gauge(b, k, w));
		v[k] = mat_mul(b, v[0], w[k]);
	}
	set_all(j, in, 0, l);
	set_all(j, in, 1, v);
}

/* A mask of the largest entry of each column. */
static Ref largest_entries(Builder *b, Ref v) {
	Type t = type_in(b, v);
	int row = t.rank - 2;
	Ref re = build1(b, OP_REAL, v), im = build1(b, OP_IMAG, v);
	Ref size = build2(b, OP_ADD, build2(b, OP_MUL, re, re), build2(b, OP_MUL, im, im));
	int64_t word = row;
	Ref largest = build(b, OP_ARGMAX, 1, &size, attr_intern(build_ctx(b), &word, 1), NULL);
	Ref position =
		build_broadcast(b, build_iota(b, DT_I64, t.dims[row]), t.rank, t.dims, (int[]){row});
	return build2(b, OP_EQ, position, repeat_along(b, largest, type_id_in(b, position), 1, &row));
}

/* The eigenvectors are not an orthonormal basis: V_0^-1 comes from an LU
 * factorisation. V_k = V_0 W_k + V_0 diag(d), where W_k has a zero diagonal.
 * Constant unit lengths give Re d = -Re diag(V_0* V_0 W_k) - 1/2 sum_{i=1..k-1}
 * diag(V_i* V_{k-i}). A largest component of constant phase gives Im d = -Im
 * (V_0 W_k)_m / (V_0)_m. */
void jet_rule_EIG(Jet *j, const Inst *in) {
	jet_primal(j, in);
	Builder *b = j->b;
	Ref *l = coefs_of(j, inst_result(in, 0)), *v = coefs_of(j, inst_result(in, 1));
	Ref *w = ARENA_ARRAY(j->scratch, Ref, j->order + 1),
		*bs = ARENA_ARRAY(j->scratch, Ref, j->order + 1);
	int rank = type_in(b, v[0]).rank;
	Dtype dtype = dtype_in(b, v[0]);
	/* Vectors of equal eigenvalues have no derivatives: the gaps are infinite
	 * off the diagonal. */
	Ref gap = build2(b, OP_SUB, spread(b, l[0], v[0], true), spread(b, l[0], v[0], false)),
		one = build_full(b, type_id_in(b, gap), 1);
	Ref lu[2], gaps = build2(b, OP_DIV, one, with_diagonal_of(b, one, gap)),
			   chosen = largest_entries(b, v[0]);
	Ref pivot = column_sums(b, where(b, chosen, v[0]));
	build(b, OP_LU, 1, &v[0], 0, lu);
	for (uint32_t k = 1; k <= j->order; k++) {
		Ref a = jet_get(j, inst_arg(j->f, in, 0), k);
		if (a) {
			Ref x = build_gather(b, mat_mul(b, build_convert(b, a, dtype), v[0]), lu[1], rank - 2,
			                     rank - 2);
			x = mat_solve_triangular(b, lu[0], x, true, false, true);
			bs[k] = mat_solve_triangular(b, lu[0], x, false, false, false);
		}
		Ref c = eigen_step(b, k, bs, w, l);
		if (!c) continue;
		l[k] = diagonal(b, c);
		Ref off = with_diagonal(b, build2(b, OP_MUL, c, gaps), REF_NONE),
			moved = mat_mul(b, v[0], off);
		Ref length = column_sums(b, build2(b, OP_MUL, conjugate(b, v[0]), moved));
		for (uint32_t i = 1; i < k; i++)
			if (v[i] && v[k - i])
				length = build2(
					b, OP_ADD, length,
					halved(b, column_sums(b, build2(b, OP_MUL, conjugate(b, v[i]), v[k - i]))));
		Ref turn = build2(b, OP_DIV, column_sums(b, where(b, chosen, moved)), pivot);
		Ref back =
			build2(b, OP_ADD, build_convert(b, build1(b, OP_REAL, length), dtype),
		           build2(b, OP_SUB, turn, build_convert(b, build1(b, OP_REAL, turn), dtype)));
		w[k] = with_diagonal(b, off, build1(b, OP_NEG, back));
		v[k] = mat_mul(b, v[0], w[k]);
	}
	set_all(j, in, 0, l);
	set_all(j, in, 1, v);
}

/* ---- singular values ----------------------------------------------------- */

/* The component of U_k or V_k outside the span of U_0 or V_0: (1 - U_0 U_0*)
 * (sum A_i V_{k-i} - sum U_i S_{k-i}) / s. */
static Ref outside(Builder *b, Ref moved, Ref u0, Ref s0) {
	Type t = type_in(b, u0);
	if (!moved || build_canon(b, t.dims[t.rank - 1]) == build_canon(b, t.dims[t.rank - 2]))
		return REF_NONE;
	Ref rest = build2(b, OP_SUB, moved, mat_mul(b, u0, mat_mul(b, mat_adjoint(b, u0), moved)));
	return build2(b, OP_DIV, rest, spread(b, s0, rest, true));
}

/* A V = U S and A* U = V S, projected on U_0 and V_0. With X = U_0* U_k, Z =
 * V_0* V_k and
 *     E = U_0* sum_{i>=1} A_i V_{k-i} - sum X_i S_{k-i},
 *     F = V_0* sum_{i>=1} A_i* U_{k-i} - sum Z_i S_{k-i}:
 * S_k = Re diag(E + F) / 2, X_ij = (s_j E + s_i F) / (s_j^2 - s_i^2), Z_ij =
 * (s_i E + s_j F) / (s_j^2 - s_i^2). The gauge determines the diagonals. Of a
 * complex pair of vectors only the common phase is free: V has the gauge and U
 * follows. */
void jet_rule_SVD(Jet *j, const Inst *in) {
	jet_primal(j, in);
	Builder *b = j->b;
	Ref *a = coefs_of(j, inst_arg(j->f, in, 0)), *u = coefs_of(j, inst_result(in, 0));
	Ref *s = coefs_of(j, inst_result(in, 1)), *v = coefs_of(j, inst_result(in, 2));
	Ref *x = ARENA_ARRAY(j->scratch, Ref, j->order + 1),
		*z = ARENA_ARRAY(j->scratch, Ref, j->order + 1);
	Ref u_adjoint = mat_adjoint(b, u[0]), v_adjoint = mat_adjoint(b, v[0]);
	Ref like = mat_mul(b, v_adjoint, v[0]); /* for its shape; dead code */
	Ref column = spread(b, s[0], like, true), row = spread(b, s[0], like, false);
	Ref gaps = inverse_gaps(b, build2(b, OP_MUL, s[0], s[0]), like);
	for (uint32_t k = 1; k <= j->order; k++) {
		Ref av = sum_from_1(b, k, a, false, v), au = sum_from_1(b, k, a, true, u);
		Ref e = zero_sub(b, av ? mat_mul(b, u_adjoint, av) : REF_NONE, scaled_sum(b, k, x, s));
		Ref f = zero_sub(b, au ? mat_mul(b, v_adjoint, au) : REF_NONE, scaled_sum(b, k, z, s));
		/* Both are zero or neither is. */
		if (!e || !f) continue;
		Ref centre = halved(b, diagonal(b, build2(b, OP_ADD, e, f)));
		bool phases = is_complex(b, e);
		s[k] = phases ? build1(b, OP_REAL, centre) : centre;
		Ref es = build2(b, OP_MUL, column, e), fs = build2(b, OP_MUL, row, f);
		Ref off_x = build2(b, OP_MUL, build2(b, OP_ADD, es, fs), gaps);
		es = build2(b, OP_MUL, row, e);
		fs = build2(b, OP_MUL, column, f);
		Ref off_z = build2(b, OP_MUL, build2(b, OP_ADD, es, fs), gaps);
		Ref turn_x = gauge(b, k, u), turn_z = gauge(b, k, v);
		if (phases) {
			Ref skew = build1(b, OP_IMAG, diagonal(b, build2(b, OP_SUB, e, f)));
			Ref phase = build2(b, OP_DIV, skew, zero_scale(b, s[0], 2));
			if (turn_z) phase = build2(b, OP_ADD, phase, build1(b, OP_IMAG, turn_z));
			Dtype dtype = dtype_in(b, e);
			Ref i = build_const(b, value_c128(__builtin_complex(0.0, 1.0)));
			i = build_broadcast_scalar(b, build_convert(b, i, dtype),
			                           type_with_dtype(j->c, type_id_in(b, phase), dtype));
			Ref imaginary = build2(b, OP_MUL, i, build_convert(b, phase, dtype));
			Ref real = turn_x ? build_convert(b, build1(b, OP_REAL, turn_x), dtype) : REF_NONE;
			turn_x = zero_add(b, real, imaginary);
		}
		x[k] = with_diagonal(b, off_x, turn_x);
		z[k] = with_diagonal(b, off_z, turn_z);
		Ref out_u = outside(b, zero_sub(b, av, scaled_sum(b, k, u, s)), u[0], s[0]);
		Ref out_v = outside(b, zero_sub(b, au, scaled_sum(b, k, v, s)), v[0], s[0]);
		u[k] = zero_add(b, mat_mul(b, u[0], x[k]), out_u);
		v[k] = zero_add(b, mat_mul(b, v[0], z[k]), out_v);
	}
	set_all(j, in, 0, u);
	set_all(j, in, 1, s);
	set_all(j, in, 2, v);
}
