/* linalg.c - cholesky, lu, qr, eigh, eig, svd, trisolve on the last two axes.
 *
 * Needs: frame.h, small_linalg.h, lapack.h, blas.h.
 *
 * Contract:
 * - Leading axes are a batch. Results are row-major.
 * - Small Cholesky and LU factorisations and triangular solves are computed
 *   here, so that small programs never load LAPACK.
 *
 * LAPACK is column-major and sees the transpose of the matrix in memory. Where
 * that is not simply the other triangle, a transposed copy is the input or
 * output; comments state which.
 */
#include "backend/numlib/blas.h"
#include "backend/eval/core/frame.h"
#include "backend/numlib/blocked_factor.h"
#include "backend/kernels/kernels.h"
#include "backend/kernels/small_linalg.h"
#include "backend/numlib/lapack.h"
#include <complex.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#undef I

/* ---- common -------------------------------------------------------------- */

typedef struct MatrixBatch {
	int64_t count, rows, columns, size; /* size: bytes of an element */
	uint32_t lead;                      /* leading axes */
	Dtype d;
} MatrixBatch;

static Status open_batch(Frame *f, const Step *s, const Tensor *x, MatrixBatch *b) {
	*b = (MatrixBatch){.lead = x->rank - 2u, .count = 1, .d = (Dtype)x->dtype};
	b->rows = x->shape[b->lead];
	b->columns = x->shape[b->lead + 1];
	b->size = (int64_t)dtype_size(b->d);
	for (uint32_t i = 0; i < b->lead; i++) b->count *= x->shape[i];
	return b->rows <= INT_MAX && b->columns <= INT_MAX
	           ? ST_OK
	           : fail_at(f, s, E_VALUE, "a matrix with more than %d rows", INT_MAX);
}

/* A result with the batch's leading axes and one or two of its own (columns <
 * 0: one). */
static Tensor *batch_tensor(Frame *f, const Tensor *x, const MatrixBatch *b, Dtype d, int64_t rows,
                            int64_t columns) {
	int64_t shape[MAX_RANK];
	memcpy(shape, x->shape, sizeof shape);
	shape[b->lead] = rows;
	if (columns >= 0) shape[b->lead + 1] = columns;
	return tensor_new(f->ctx, d, b->lead + (columns >= 0 ? 2u : 1u), shape);
}

/* By square blocks, which stay in a cache. */
#define TRANSPOSE(T)                                                                               \
	do {                                                                                           \
		const T *x = from;                                                                         \
		T *o = to;                                                                                 \
		for (int64_t i0 = 0; i0 < rows && !ctx_interrupted(c); i0 += EDGE)                         \
			for (int64_t j0 = 0; j0 < columns; j0 += EDGE)                                         \
				for (int64_t i = i0; i < rows && i < i0 + EDGE; i++)                               \
					for (int64_t j = j0; j < columns && j < j0 + EDGE; j++)                        \
						o[j * rows + i] = x[i * columns + j];                                      \
	} while (0)

/* Row-major rows x columns to row-major columns x rows. Stops early when the
 * context is interrupted; the next poll returns that. */
static void transpose(const Ctx *c, int64_t size, int64_t rows, int64_t columns, const void *from,
                      void *to) {
	enum { EDGE = 32 };
	if (size == 4) TRANSPOSE(Bits4);
	else if (size == 8) TRANSPOSE(Bits8);
	else TRANSPOSE(Bits16);
}

static void conjugate(Dtype d, int64_t n, void *x) {
	if (!dtype_is_complex(d)) return;
	if (d == DT_C64)
		for (int64_t i = 0; i < n; i++) ((float *)x)[2 * i + 1] = -((float *)x)[2 * i + 1];
	else
		for (int64_t i = 0; i < n; i++) ((double *)x)[2 * i + 1] = -((double *)x)[2 * i + 1];
}

static Status matrix_failed(Frame *f, const Step *s, const char *problem, int64_t pivot,
                            int64_t rows, int64_t which) {
	char name[48] = "";
	if (which >= 0) snprintf(name, sizeof name, "matrix %lld: ", (long long)which);
	return fail_at(f, s, E_SINGULAR, "%s%s (pivot %lld of %lld)", name, problem, (long long)pivot,
	               (long long)rows);
}

/* Reports LAPACK's error in the user's words. `where`: the batch element. */
static Status lapack_failed(Frame *f, const Step *s, Status st, int info, const MatrixBatch *b,
                            int64_t where, const char *problem) {
	if (st != ST_ERROR) return st;
	if (info == LAPACK_MISSING) return fail_at(f, s, E_FILE, "%s", lapack_why());
	if (info < 0) return fail_internal(f, s, "LAPACK refuses an argument");
	return matrix_failed(f, s, problem, info - 1, b->rows, b->count > 1 ? where : -1);
}

Status fail_matrix(Frame *f, const Step *s, int64_t pivot, int64_t rows, int64_t which) {
	return matrix_failed(f, s,
	                     s->op == OP_CHOLESKY ? "the matrix is not positive definite"
	                                          : "the matrix is singular",
	                     pivot, rows, which);
}

/* A matrix with a non-finite element has eigenvalues, singular values and
 * vectors of NaN. LAPACK must not see it (lapack.h). count: elements. */
static bool all_finite(Dtype d, int64_t count, const void *x) {
	if (dtype_is_complex(d)) count *= 2;
	bool finite = true;
	if (dtype_real_of(d) == DT_F32)
		for (int64_t i = 0; i < count; i++) finite &= isfinite(((const float *)x)[i]) != 0;
	else
		for (int64_t i = 0; i < count; i++) finite &= isfinite(((const double *)x)[i]) != 0;
	return finite;
}

static void fill_nan(Dtype d, int64_t count, void *x) {
	if (dtype_is_complex(d)) count *= 2;
	if (dtype_real_of(d) == DT_F32)
		for (int64_t i = 0; i < count; i++) ((float *)x)[i] = NAN;
	else
		for (int64_t i = 0; i < count; i++) ((double *)x)[i] = NAN;
}

static Status drop(Status st, uint32_t n, Tensor **t) {
	for (uint32_t i = 0; i < n; i++) tensor_unref(t[i]);
	return st;
}

static uint64_t cube(const MatrixBatch *b) {
	return (uint64_t)(b->rows * b->columns) *
	       (uint64_t)(b->rows < b->columns ? b->rows : b->columns);
}

/* ---- cholesky, lu -------------------------------------------------------- */

static void clear_above(Dtype d, int64_t n, char *a) {
	const size_t size = dtype_size(d);
	for (int64_t i = 0; i + 1 < n; i++)
		memset(a + (size_t)(i * n + i + 1) * size, 0, (size_t)(n - 1 - i) * size);
}

/* The first NaN pivot, 1-based, or 0. BLAS libraries may accept a NaN as pivot;
 * the small factorisation rejects it. */
static int first_nan_pivot(Dtype d, int64_t n, const char *a) {
	const int64_t step = (n + 1) * (int64_t)dtype_size(d);
	for (int64_t i = 0; i < n; i++, a += step) /* the real part is first */
		if (dtype_real_of(d) == DT_F32 ? isnan(*(const float *)(const void *)a)
		                               : isnan(*(const double *)(const void *)a))
			return (int)i + 1;
	return 0;
}

static bool is_zero(Dtype d, const char *x) {
	switch (d) {
	case DT_F32: return *(const float *)(const void *)x == 0;
	case DT_F64: return *(const double *)(const void *)x == 0;
	case DT_C64:
		return ((const float *)(const void *)x)[0] == 0 && ((const float *)(const void *)x)[1] == 0;
	default:
		return ((const double *)(const void *)x)[0] == 0 &&
		       ((const double *)(const void *)x)[1] == 0;
	}
}

/* Converts LAPACK's error: sets *failed to the failing pivot, or returns a
 * Status with a diagnostic that has no place yet. */
static Status lapack_outcome(Ctx *c, Status st, int info, int64_t *failed) {
	if (st != ST_ERROR) return st;
	if (info > 0) {
		*failed = info;
		return ST_OK;
	}
	if (info == LAPACK_MISSING) diag_error(c, E_FILE, NO_SPAN, "%s", lapack_why());
	else diag_error(c, E_INTERNAL, NO_SPAN, "LAPACK refuses an argument");
	return ST_ERROR;
}

/* Whether the multiplications take longer than an interrupt should wait. */
static bool is_large(Dtype d, int64_t squares, int64_t times) {
	return (double)squares * (double)times * (dtype_is_complex(d) ? 4 : 1) > BLOCKS_FROM;
}

/* Our lower triangle is LAPACK's upper triangle of the transpose: conj(A) = Uᴴ
 * U. So A = Uᵀ conj(U), and Uᵀ, read by rows, is L. */
Status matrix_cholesky(Ctx *c, Dtype d, int64_t n, void *a, int64_t *failed) {
	*failed = 0;
	if (n <= SMALL_MATRIX) {
		*failed = small_cholesky(d, n, a);
		return ST_OK;
	}
	int info;
	Status st = blocked_cholesky(c, d, n, a, &info);
	if (st == ST_OK && (info = first_nan_pivot(d, n, a))) st = ST_ERROR;
	clear_above(d, n, a);
	return lapack_outcome(c, st, info, failed);
}

Status matrix_lu(Ctx *c, Dtype d, int64_t n, void *a, int64_t *p, int64_t *failed) {
	*failed = 0;
	if (n <= SMALL_MATRIX) {
		*failed = small_lu(d, n, a, p);
		return ST_OK;
	}
	const size_t bytes = (size_t)n * sizeof(int);
	int *pivots = heap_alloc(c, bytes), info;
	if (!pivots) return ST_NOMEM;
	const Status st = blocked_lu(c, d, n, a, pivots, &info);
	for (int64_t k = 0; k < n; k++) p[k] = k;
	for (int64_t k = 0; k < n && st == ST_OK; k++) {
		int64_t row = p[k];
		p[k] = p[pivots[k] - 1];
		p[pivots[k] - 1] = row;
	}
	heap_free(c, pivots, bytes);
	return lapack_outcome(c, st, info, failed);
}

/* Up to this many right-hand sides are solved one by one. Solving them all at
 * once packs the triangle, which costs more than reading it a few times. */
enum { FEW_COLUMNS = 3 };

Status matrix_trisolve(Ctx *c, Dtype d, int64_t n, int64_t r, bool lower, bool adjoint, bool unit,
                       const void *t, void *x, int64_t *failed) {
	const int64_t size = (int64_t)dtype_size(d);
	const char *why;
	*failed = 0;
	for (int64_t k = 0; k < n && !unit; k++)
		if (is_zero(d, (const char *)t + k * (n + 1) * size)) {
			*failed = k + 1;
			return ST_OK;
		}
	if (n <= SMALL_MATRIX) small_trisolve(d, n, r, lower, adjoint, unit, t, x);
	else if (blas_open(&why)) {
		if (r > FEW_COLUMNS || is_large(d, n * n, r))
			return blocked_trisolve(c, d, n, r, lower, adjoint, unit, t, x);
		for (int64_t k = 0; k < r; k++)
			blas_trsv(d, n, lower, adjoint, unit, t, n, (char *)x + k * size, r);
	} else {
		diag_error(c, E_FILE, NO_SPAN, "%s", why);
		return ST_ERROR;
	}
	return ST_OK;
}

/* Reports the failure of matrix i in the user's words, with its place. */
static Status report_matrix_failure(Frame *f, const Step *s, Status st, int64_t failed,
                                    const MatrixBatch *b, int64_t i) {
	if (st == ST_ERROR) return step_failed(f, s, st);
	return st != ST_OK || !failed ? st
	                              : fail_matrix(f, s, failed - 1, b->rows, b->count > 1 ? i : -1);
}

Status eval_CHOLESKY(Frame *f, const Step *s) {
	Tensor *a = operand_writable(f, s, 0);
	if (!a) return ST_NOMEM;
	MatrixBatch b;
	Status st = open_batch(f, s, a, &b);
	for (int64_t i = 0; i < b.count && b.rows && st == ST_OK; i++) {
		int64_t failed = 0;
		st = matrix_cholesky(f->ctx, b.d, b.rows, a->data + i * b.rows * b.rows * b.size, &failed);
		st = report_matrix_failure(f, s, st, failed, &b, i);
		if (st == ST_OK) st = spend(f->be, cube(&b) / 3);
	}
	return st == ST_OK ? put_tensor(f, s, 0, a) : drop(st, 1, &a);
}

Status eval_LU(Frame *f, const Step *s) {
	Tensor *t[2] = {operand_writable(f, s, 0), NULL};
	if (!t[0]) return ST_NOMEM;
	MatrixBatch b;
	Status st = open_batch(f, s, t[0], &b);
	if (st == ST_OK && !(t[1] = batch_tensor(f, t[0], &b, DT_I64, b.rows, -1))) st = ST_NOMEM;
	const int64_t n = b.rows;
	for (int64_t i = 0; i < b.count && n && st == ST_OK; i++) {
		int64_t failed = 0;
		st = matrix_lu(f->ctx, b.d, n, t[0]->data + i * n * n * b.size,
		               (int64_t *)(void *)t[1]->data + i * n, &failed);
		st = report_matrix_failure(f, s, st, failed, &b, i);
		if (st == ST_OK) st = spend(f->be, cube(&b) / 3);
	}
	if (st != ST_OK) return drop(st, 2, t);
	put_tensor(f, s, 0, t[0]);
	return put_tensor(f, s, 1, t[1]);
}

/* ---- qr ------------------------------------------------------------------ */

#define POSITIVE_DIAGONAL(T)                                                                       \
	do {                                                                                           \
		T *q_ = q, *r_ = r;                                                                        \
		for (int64_t j = 0; j < columns; j++) {                                                    \
			if (!(creal(r_[j * columns + j]) < 0)) continue;                                       \
			for (int64_t i = 0; i < rows; i++) q_[j * rows + i] = -q_[j * rows + i];               \
			for (int64_t k = j; k < columns; k++) r_[k * columns + j] = -r_[k * columns + j];      \
		}                                                                                          \
	} while (0)

/* Makes R's diagonal positive, since LAPACK does not fix the signs. Q (rows x
 * columns) and R are column-major. */
static void positive_diagonal(Dtype d, int64_t rows, int64_t columns, void *q, void *r) {
	switch (d) {
	case DT_F32: POSITIVE_DIAGONAL(float); break;
	case DT_F64: POSITIVE_DIAGONAL(double); break;
	case DT_C64: POSITIVE_DIAGONAL(float _Complex); break;
	default: POSITIVE_DIAGONAL(double _Complex); break;
	}
}

Status eval_QR(Frame *f, const Step *s) {
	Tensor *a = operand_contiguous(f, s, 0), *t[2] = {NULL, NULL};
	if (!a) return ST_NOMEM;
	MatrixBatch b;
	Status st = open_batch(f, s, a, &b);
	if (st == ST_OK && b.rows < b.columns)
		st = fail_at(f, s, E_SHAPE, "qr needs at least as many rows as columns, not %lld x %lld",
		             (long long)b.rows, (long long)b.columns);
	const int64_t q_bytes = b.rows * b.columns * b.size, r_bytes = b.columns * b.columns * b.size;
	/* When Q is unused it is not formed: least squares by R of [A b], where
	 * forming Q would be half of the work. The operand takes its place. */
	bool form_q = true;
	for (uint32_t k = 0; k < s->nafter; k++) form_q &= s->after[k] != s->d;
	if (st == ST_OK &&
	    (!(t[0] = form_q ? batch_tensor(f, a, &b, b.d, b.rows, b.columns) : tensor_ref(a)) ||
	     !(t[1] = batch_tensor(f, a, &b, b.d, b.columns, b.columns))))
		st = ST_NOMEM;
	char *transposed = NULL;
	const size_t scratch = (size_t)(q_bytes + r_bytes) + dtype_read_behind(b.d, b.rows);
	if (st == ST_OK && !(transposed = heap_alloc(f->ctx, scratch))) st = ST_NOMEM;
	for (int64_t i = 0; i < b.count && b.columns && st == ST_OK; i++) {
		int info = 0;
		transpose(f->ctx, b.size, b.rows, b.columns, a->data + i * q_bytes, transposed);
		if (ctx_interrupted(f->ctx) && (st = ctx_poll(f->ctx, 0)) != ST_OK) break;
		st = blocked_qr(f->ctx, b.d, b.rows, b.columns, transposed, transposed + q_bytes, form_q,
		                &info);
		if (st != ST_OK) {
			st = lapack_failed(f, s, st, info, &b, i, "qr failed");
			break;
		}
		positive_diagonal(b.d, form_q ? b.rows : 0, b.columns, transposed, transposed + q_bytes);
		if (form_q)
			transpose(f->ctx, b.size, b.columns, b.rows, transposed, t[0]->data + i * q_bytes);
		transpose(f->ctx, b.size, b.columns, b.columns, transposed + q_bytes,
		          t[1]->data + i * r_bytes);
		st = spend(f->be, 2 * cube(&b));
	}
	if (transposed) heap_free(f->ctx, transposed, scratch);
	tensor_unref(a);
	if (st != ST_OK) return drop(st, 2, t);
	put_tensor(f, s, 0, t[0]);
	return put_tensor(f, s, 1, t[1]);
}

/* ---- eigenvalues --------------------------------------------------------- */

/* LAPACK sees conj(A) by its upper triangle. Its eigenvectors, one after the
 * other, are the conjugates of ours. */
Status eval_EIGH(Frame *f, const Step *s) {
	Tensor *a = operand_contiguous(f, s, 0), *t[2] = {NULL, NULL};
	if (!a) return ST_NOMEM;
	MatrixBatch b;
	Status st = open_batch(f, s, a, &b);
	const int64_t n = b.rows, bytes = n * n * b.size,
				  real = (int64_t)dtype_size(dtype_real_of(b.d));
	if (st == ST_OK && (!(t[0] = batch_tensor(f, a, &b, dtype_real_of(b.d), n, -1)) ||
	                    !(t[1] = batch_tensor(f, a, &b, b.d, n, n))))
		st = ST_NOMEM;
	char *transposed = NULL;
	const size_t scratch = (size_t)bytes + dtype_read_behind(b.d, n);
	if (st == ST_OK && !(transposed = heap_alloc(f->ctx, scratch))) st = ST_NOMEM;
	for (int64_t i = 0; i < b.count && n && st == ST_OK; i++) {
		int info = 0;
		const char *from = a->data + i * bytes;
		bool finite = true; /* only the lower triangle is used */
		for (int64_t k = 0; k < n; k++) finite &= all_finite(b.d, k + 1, from + k * n * b.size);
		if (!finite) {
			fill_nan(dtype_real_of(b.d), n, t[0]->data + i * n * real);
			fill_nan(b.d, n * n, t[1]->data + i * bytes);
			continue;
		}
		memcpy(transposed, from, (size_t)bytes);
		st = lapack_eigh_upper(f->ctx, b.d, (int)n, transposed, t[0]->data + i * n * real, &info);
		if (st != ST_OK) {
			st = lapack_failed(f, s, st, info, &b, i, "the eigenvalues did not converge");
			break;
		}
		conjugate(b.d, n * n, transposed);
		transpose(f->ctx, b.size, n, n, transposed, t[1]->data + i * bytes);
		st = spend(f->be, 4 * cube(&b));
	}
	if (transposed) heap_free(f->ctx, transposed, scratch);
	tensor_unref(a);
	if (st != ST_OK) return drop(st, 2, t);
	put_tensor(f, s, 0, t[0]);
	return put_tensor(f, s, 1, t[1]);
}

Status eval_EIG(Frame *f, const Step *s) {
	Tensor *a = operand_contiguous(f, s, 0), *t[2] = {NULL, NULL};
	if (!a) return ST_NOMEM;
	MatrixBatch b;
	Status st = open_batch(f, s, a, &b);
	const Dtype to = dtype_complex_of(b.d);
	const int64_t n = b.rows, bytes = n * n * b.size, out_size = (int64_t)dtype_size(to);
	if (st == ST_OK &&
	    (!(t[0] = batch_tensor(f, a, &b, to, n, -1)) || !(t[1] = batch_tensor(f, a, &b, to, n, n))))
		st = ST_NOMEM;
	char *transposed = NULL;
	const int64_t vectors_at = (bytes + 15) & ~(int64_t)15;
	const size_t scratch = (size_t)(vectors_at + n * n * out_size) + dtype_read_behind(to, n);
	if (st == ST_OK && !(transposed = heap_alloc(f->ctx, scratch))) st = ST_NOMEM;
	for (int64_t i = 0; i < b.count && n && st == ST_OK; i++) {
		int info = 0;
		char *vectors = transposed + vectors_at;
		if (!all_finite(b.d, n * n, a->data + i * bytes)) {
			fill_nan(to, n, t[0]->data + i * n * out_size);
			fill_nan(to, n * n, t[1]->data + i * n * n * out_size);
			continue;
		}
		transpose(f->ctx, b.size, n, n, a->data + i * bytes, transposed);
		/* The copy is incomplete, and LAPACK might not return. */
		if (ctx_interrupted(f->ctx) && (st = ctx_poll(f->ctx, 0)) != ST_OK) break;
		st = lapack_eig(f->ctx, b.d, (int)n, transposed, t[0]->data + i * n * out_size, vectors,
		                &info);
		if (st != ST_OK) {
			st = lapack_failed(f, s, st, info, &b, i, "the eigenvalues did not converge");
			break;
		}
		transpose(f->ctx, out_size, n, n, vectors, t[1]->data + i * n * n * out_size);
		st = spend(f->be, 10 * cube(&b));
	}
	if (transposed) heap_free(f->ctx, transposed, scratch);
	tensor_unref(a);
	if (st != ST_OK) return drop(st, 2, t);
	put_tensor(f, s, 0, t[0]);
	return put_tensor(f, s, 1, t[1]);
}

/* LAPACK sees Aᵀ = U₁ S V₁ᴴ (columns x rows), so A = conj(V₁) S U₁ᵀ. U =
 * conj(V₁) is V₁ᴴ read by rows, and V = conj(U₁). */
Status eval_SVD(Frame *f, const Step *s) {
	Tensor *a = operand_contiguous(f, s, 0), *t[3] = {NULL, NULL, NULL};
	if (!a) return ST_NOMEM;
	MatrixBatch b;
	Status st = open_batch(f, s, a, &b);
	const int64_t k = b.rows < b.columns ? b.rows : b.columns;
	const int64_t bytes = b.rows * b.columns * b.size, v_bytes = b.columns * k * b.size,
				  u_bytes = b.rows * k * b.size;
	const int64_t s_bytes = k * (int64_t)dtype_size(dtype_real_of(b.d));
	if (st == ST_OK && (!(t[0] = batch_tensor(f, a, &b, b.d, b.rows, k)) ||
	                    !(t[1] = batch_tensor(f, a, &b, dtype_real_of(b.d), k, -1)) ||
	                    !(t[2] = batch_tensor(f, a, &b, b.d, b.columns, k))))
		st = ST_NOMEM;
	char *scratch = NULL;
	const size_t all = (size_t)(bytes + v_bytes) + dtype_read_behind(b.d, b.rows + b.columns);
	if (st == ST_OK && !(scratch = heap_alloc(f->ctx, all))) st = ST_NOMEM;
	for (int64_t i = 0; i < b.count && k && st == ST_OK; i++) {
		int info = 0;
		if (!all_finite(b.d, b.rows * b.columns, a->data + i * bytes)) {
			fill_nan(b.d, b.rows * k, t[0]->data + i * u_bytes);
			fill_nan(dtype_real_of(b.d), k, t[1]->data + i * s_bytes);
			fill_nan(b.d, b.columns * k, t[2]->data + i * v_bytes);
			continue;
		}
		memcpy(scratch, a->data + i * bytes, (size_t)bytes);
		st = lapack_svd(f->ctx, b.d, (int)b.columns, (int)b.rows, scratch, scratch + bytes,
		                t[1]->data + i * s_bytes, t[0]->data + i * u_bytes, &info);
		if (st != ST_OK) {
			st = lapack_failed(f, s, st, info, &b, i, "the singular values did not converge");
			break;
		}
		conjugate(b.d, b.columns * k, scratch + bytes);
		transpose(f->ctx, b.size, k, b.columns, scratch + bytes, t[2]->data + i * v_bytes);
		st = spend(f->be, 8 * cube(&b));
	}
	if (scratch) heap_free(f->ctx, scratch, all);
	tensor_unref(a);
	if (st != ST_OK) return drop(st, 3, t);
	for (uint32_t i = 0; i < 3; i++) put_tensor(f, s, i, t[i]);
	return ST_OK;
}

/* ---- triangular solves --------------------------------------------------- */

Status eval_TRISOLVE(Frame *f, const Step *s) {
	const bool lower = s->fields[0].words[0] != 0, adjoint = s->fields[1].words[0] != 0,
			   unit = s->fields[2].words[0] != 0;
	Tensor *t = operand_contiguous(f, s, 0), *x = t ? operand_writable(f, s, 1) : NULL;
	if (!x) return drop(ST_NOMEM, 1, &t);
	MatrixBatch b, bx;
	Status st = open_batch(f, s, t, &b), sx = open_batch(f, s, x, &bx);
	if (st == ST_OK) st = sx;
	if (st == ST_OK && (b.rows != bx.rows || b.count != bx.count))
		st = fail_internal(f, s, "operands of different shapes");
	const int64_t n = b.rows, r = bx.columns;
	for (int64_t i = 0; i < b.count && x->count && st == ST_OK; i++) {
		int64_t failed = 0;
		st = matrix_trisolve(f->ctx, b.d, n, r, lower, adjoint, unit, t->data + i * n * n * b.size,
		                     x->data + i * n * r * b.size, &failed);
		st = report_matrix_failure(f, s, st, failed, &b, i);
		if (st == ST_OK) st = spend(f->be, (uint64_t)(n * n) * (uint64_t)r);
	}
	tensor_unref(t);
	return st == ST_OK ? put_tensor(f, s, 0, x) : drop(st, 1, &x);
}
