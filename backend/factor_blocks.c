/* factor_blocks.c - large factorisations and triangular solves by blocks of columns: LAPACK's and BLAS's part is a panel or a product.
 *
 * Needs: factor_blocks.h, blas.h, lapack.h, share_parts (eval.h). Guarantees: what factor_blocks.h says. Matrices stay where they lie, by rows: what LAPACK must see by
 * columns is one panel, copied. Of the work all but a part of about 1.5 b/n is products, which threads share by parts that the sizes determine.
 */
#include "backend/factor_blocks.h"
#include "backend/blas.h"
#include "backend/eval.h"
#include "backend/lapack.h"
#include "backend/pool.h"
#include <complex.h>
#include <math.h>
#undef I

enum { PART_ROWS = 256, PART_COLUMNS = 512, LEAST_BLOCK = 64, MOST_BLOCK = 256 };

/* A panel of n rows takes some ten milliseconds, n b² multiplications. */
static int64_t block_of(Dtype d, int64_t n) {
	const double most = sqrt((double)BLOCKS_FROM / (dtype_is_complex(d) ? 4 : 1) / (double)n);
	const int64_t b = (int64_t)most / 32 * 32;
	return b < LEAST_BLOCK ? LEAST_BLOCK : b > MOST_BLOCK ? MOST_BLOCK : b;
}

/* One piece of work on the rest of a matrix: o += x y for rows, or a triangular solve of rows (right) or columns of o; exchanges of rows. */
typedef struct Job {
	Ctx *c;
	Dtype d;
	int64_t size, m, n, k, leading; /* of o, and the length of the sums */
	char *o;
	BlasMatrix x, y;
	int64_t corner; /* o's rows end after so many columns more than their number; < 0: all of n */
	const void *t;
	int64_t t_leading;
	bool right, lower, adjoint, unit;
	const int *pivots;
} Job;

static Status look(void *ud) {
	const Job *j = ud;
	if (pool_worker()) return ctx_interrupted(j->c) ? ST_INTERRUPTED : ST_OK; /* a part of an outer job: the context's own thread will say so */
	return ctx_poll(j->c, 0);
}

static int64_t parts_of(int64_t n, int64_t part) {
	return (n + part - 1) / part;
}

static void product_part(void *ud, int64_t part) {
	const Job *j = ud;
	const int64_t from = part * PART_ROWS, rows = j->m - from < PART_ROWS ? j->m - from : PART_ROWS;
	int64_t columns = j->n;
	if (j->corner >= 0 && from + rows + j->corner < columns) columns = from + rows + j->corner;
	BlasMatrix x = j->x;
	x.data = (const char *)x.data + from * x.row_stride * j->size;
	blas_gemm(j->c, j->d, rows, columns, j->k, x, j->y, j->o + from * j->leading * j->size, j->leading, true);
}

static Status add_product(Job *j) {
	if (!j->m || !j->n) return ST_OK;
	return share_parts(backend_of(j->c), INT64_MAX, parts_of(j->m, PART_ROWS), product_part, j, look);
}

static void solve_part(void *ud, int64_t part) {
	const Job *j = ud;
	if (j->right) {
		const int64_t from = part * PART_ROWS, rows = j->m - from < PART_ROWS ? j->m - from : PART_ROWS;
		blas_trsm(j->d, true, rows, j->n, j->lower, j->adjoint, j->unit, j->t, j->t_leading, j->o + from * j->leading * j->size, j->leading);
	} else {
		const int64_t from = part * PART_COLUMNS, columns = j->n - from < PART_COLUMNS ? j->n - from : PART_COLUMNS;
		blas_trsm(j->d, false, j->m, columns, j->lower, j->adjoint, j->unit, j->t, j->t_leading, j->o + from * j->size, j->leading);
	}
}

static Status solve(Job *j) {
	if (!j->m || !j->n) return ST_OK;
	return share_parts(backend_of(j->c), INT64_MAX, j->right ? parts_of(j->m, PART_ROWS) : parts_of(j->n, PART_COLUMNS), solve_part, j, look);
}

/* Row i changes places with row pivots[i] - 1, for i = 0 .. k-1 in this order. */
static void exchange_part(void *ud, int64_t part) {
	const Job *j = ud;
	const int64_t from = part * PART_COLUMNS, columns = j->n - from < PART_COLUMNS ? j->n - from : PART_COLUMNS;
	char kept[PART_COLUMNS * 16];
	const size_t bytes = (size_t)(columns * j->size);
	for (int64_t i = 0; i < j->k; i++) {
		const int64_t with = j->pivots[i] - 1;
		if (with == i) continue;
		char *a = j->o + (i * j->leading + from) * j->size, *b = j->o + (with * j->leading + from) * j->size;
		memcpy(kept, a, bytes);
		memcpy(a, b, bytes);
		memcpy(b, kept, bytes);
	}
}

static Status exchange(Job *j) {
	if (!j->n) return ST_OK;
	return share_parts(backend_of(j->c), j->k * j->n, parts_of(j->n, PART_COLUMNS), exchange_part, j, look);
}

/* ---- panels ------------------------------------------------------------------------------------------------------ */

/* to (columns x rows) = the transpose of from (rows x columns, `leading` apart), or back; in strips that stay in a cache. */
#define TURN(T)                                                                                              \
	do {                                                                                                     \
		T *a = matrix, *p = panel;                                                                           \
		for (int64_t i0 = 0; i0 < rows; i0 += STRIP)                                                         \
			for (int64_t j = 0; j < columns; j++)                                                            \
				for (int64_t i = i0; i < rows && i < i0 + STRIP; i++) {                                      \
					if (out) a[i * leading + j] = p[j * rows + i];                                           \
					else p[j * rows + i] = a[i * leading + j];                                               \
				}                                                                                            \
	} while (0)

static void turn_panel(Dtype d, int64_t rows, int64_t columns, void *matrix, int64_t leading, void *panel, bool out) {
	enum { STRIP = 32 };
	switch (dtype_size(d)) {
	case 4: TURN(float); break;
	case 8: TURN(int64_t); break;
	default: TURN(double _Complex); break;
	}
}

/* to (rows x columns, without gaps) = -from, or its conjugate. */
#define NEGATE(T, CONJ)                                                                                      \
	do {                                                                                                     \
		const T *x = from;                                                                                   \
		T *o = to;                                                                                           \
		for (int64_t i = 0; i < rows; i++)                                                                   \
			for (int64_t j = 0; j < columns; j++) o[i * columns + j] = conjugated ? -CONJ(x[i * leading + j]) : -x[i * leading + j]; \
	} while (0)
#define SAME(x) (x)

static void negative(Dtype d, int64_t rows, int64_t columns, const void *from, int64_t leading, void *to, bool conjugated) {
	switch (d) {
	case DT_F32: NEGATE(float, SAME); break;
	case DT_F64: NEGATE(double, SAME); break;
	case DT_C64: NEGATE(float _Complex, conjf); break;
	default: NEGATE(double _Complex, conj); break;
	}
}

/* ---- the three --------------------------------------------------------------------------------------------------- */

Status blocked_lu(Ctx *c, Dtype d, int64_t n, void *a, int *pivots, int *info) {
	const int64_t size = (int64_t)dtype_size(d), most = block_of(d, n);
	const size_t bytes = (size_t)(n * most * size);
	char *panel = heap_alloc(c, bytes), *m = a;
	if (!panel) return ST_NOMEM;
	Status st = ST_OK;
	*info = 0;
	for (int64_t k = 0; k < n && st == ST_OK; k += most) {
		const int64_t b = n - k < most ? n - k : most, rows = n - k, rest = n - k - b;
		char *corner = m + (k * n + k) * size, *right = corner + b * size, *below = corner + b * n * size;
		Job j = {.c = c, .d = d, .size = size, .leading = n, .corner = -1, .pivots = pivots + k};
		turn_panel(d, rows, b, corner, n, panel, false);
		st = lapack_lu(c, d, (int)rows, (int)b, panel, pivots + k, info);
		turn_panel(d, rows, b, corner, n, panel, true);
		if (st != ST_OK) {
			if (*info > 0) *info += (int)k;
			break;
		}
		j.k = b, j.n = k, j.o = m + k * n * size;
		st = exchange(&j);
		j.n = rest, j.o = right;
		if (st == ST_OK) st = exchange(&j);
		j.m = b, j.t = corner, j.t_leading = n, j.lower = j.unit = true;
		if (st == ST_OK) st = solve(&j);
		for (int64_t i = 0; i < b; i++) pivots[k + i] += (int)k;
		if (st != ST_OK || !rest) continue;
		negative(d, rest, b, below, n, panel, false);
		j.m = rest, j.o = below + b * size, j.x = (BlasMatrix){panel, b, 1}, j.y = (BlasMatrix){right, n, 1};
		st = add_product(&j);
	}
	heap_free(c, panel, bytes);
	return st;
}

Status blocked_cholesky(Ctx *c, Dtype d, int64_t n, void *a, int *info) {
	const int64_t size = (int64_t)dtype_size(d), most = block_of(d, n);
	const size_t bytes = (size_t)(n * most * size);
	char *panel = heap_alloc(c, bytes), *m = a;
	if (!panel) return ST_NOMEM;
	Status st = ST_OK;
	*info = 0;
	for (int64_t k = 0; k < n && st == ST_OK; k += most) {
		const int64_t b = n - k < most ? n - k : most, rest = n - k - b;
		char *corner = m + (k * n + k) * size, *below = corner + b * n * size;
		for (int64_t i = 0; i < b; i++) memcpy(panel + i * b * size, corner + i * n * size, (size_t)(b * size));
		st = lapack_cholesky_upper(c, d, (int)b, panel, info);
		for (int64_t i = 0; i < b; i++) memcpy(corner + i * n * size, panel + i * b * size, (size_t)((i + 1) * size));
		if (st != ST_OK) {
			if (*info > 0) *info += (int)k;
			break;
		}
		Job j = {.c = c, .d = d, .size = size, .leading = n, .m = rest, .n = b, .o = below, .t = corner, .t_leading = n, .right = true, .lower = true, .adjoint = true};
		st = solve(&j);
		if (st != ST_OK || !rest) continue;
		negative(d, rest, b, below, n, panel, true);
		j.n = rest, j.k = b, j.corner = 0, j.o = below + b * size, j.x = (BlasMatrix){below, n, 1}, j.y = (BlasMatrix){panel, 1, b};
		st = add_product(&j);
	}
	heap_free(c, panel, bytes);
	return st;
}

Status blocked_trisolve(Ctx *c, Dtype d, int64_t n, int64_t r, bool lower, bool adjoint, bool unit, const void *t, void *x) {
	const int64_t size = (int64_t)dtype_size(d), most = MOST_BLOCK;
	const size_t bytes = (size_t)(n * most * size);
	char *panel = heap_alloc(c, bytes), *b = x;
	if (!panel) return ST_NOMEM;
	const char *m = t;
	const bool forward = lower != adjoint;
	Status st = ST_OK;
	for (int64_t turn = 0; turn * most < n && st == ST_OK; turn++) {
		const int64_t k = forward ? turn * most : (parts_of(n, most) - 1 - turn) * most, now = n - k < most ? n - k : most;
		/* what is not solved yet: the rows below, or those above */
		const int64_t first = forward ? k + now : 0, rest = forward ? n - k - now : k;
		Job j = {.c = c, .d = d, .size = size, .leading = r, .corner = -1, .m = now, .n = r, .o = b + k * r * size, .t = m + (k * n + k) * size, .t_leading = n,
		         .lower = lower, .adjoint = adjoint, .unit = unit};
		st = solve(&j);
		if (st != ST_OK || !rest) continue;
		if (adjoint) negative(d, now, rest, m + (k * n + first) * size, n, panel, true);
		else negative(d, rest, now, m + (first * n + k) * size, n, panel, false);
		j.x = adjoint ? (BlasMatrix){panel, 1, rest} : (BlasMatrix){panel, now, 1};
		j.y = (BlasMatrix){j.o, r, 1};
		j.m = rest, j.k = now, j.o = b + first * r * size;
		st = add_product(&j);
	}
	heap_free(c, panel, bytes);
	return st;
}
