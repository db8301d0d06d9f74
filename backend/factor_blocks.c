/* factor_blocks.c - large factorisations and triangular solves by blocks of columns: LAPACK's and BLAS's part is a panel or a product.
 *
 * Needs: factor_blocks.h, blas.h, lapack.h, share_parts (eval.h). Guarantees: what factor_blocks.h says. Matrices stay where they lie, by rows: what LAPACK must see by
 * columns is one panel, copied (QR has its matrix by columns). Of the work all but a part of about 1.5 b/n is products, which threads share by parts that the sizes determine. In
 * QR, whose panels are slow, the next panel is factored while the rest is at its products.
 */
#include "backend/factor_blocks.h"
#include "backend/blas.h"
#include "backend/eval.h"
#include "backend/lapack.h"
#include "backend/pool.h"
#include <complex.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>
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

/* ---- QR ---------------------------------------------------------------------------------------------------------- */

/* Columns of a panel: what a hundred to two thousand columns take least time with. For many rows fewer, so that a panel and a part of its reflections take some ten milliseconds each. */
static int64_t panel_of(Dtype d, int64_t rows, int64_t columns) {
	const int64_t heavy = dtype_is_complex(d) ? 4 : 1;
	int64_t b = columns < 256 ? 32 : 64;
	while (b > 8 && heavy * rows * b * b > BLOCKS_FROM / 4) b /= 2;
	return b < columns ? b : columns;
}

typedef struct Qr {
	Ctx *c;
	LapackQr lapack;
	int64_t size, rows, columns, b, width; /* of panels, and of the parts of what stands right of them */
	int64_t k;                             /* the panel whose reflections go on */
	char *m, *triangles, *work;            /* a triangle b x b for each panel; b numbers for each column, and b */
	atomic_int info;
} Qr;

static Status look_qr(void *ud) {
	const Qr *q = ud;
	if (pool_worker()) return ctx_interrupted(q->c) ? ST_INTERRUPTED : ST_OK;
	return ctx_poll(q->c, 0);
}

static int64_t panel_width(const Qr *q, int64_t k) {
	return q->columns - k < q->b ? q->columns - k : q->b;
}

static void factor_panel(Qr *q, int64_t k) {
	const int64_t b = panel_width(q, k);
	int info = 0;
	if (lapack_qr_panel(&q->lapack, (int)(q->rows - k), (int)b, q->m + (k * q->rows + k) * q->size, (int)q->rows, q->triangles + k * q->b * q->size, q->work + k * q->b * q->size, &info) != ST_OK)
		atomic_store(&q->info, info);
}

/* Panel k's reflections of columns from .. from + n. */
static void reflect(const Qr *q, bool adjoint, int64_t from, int64_t n) {
	const int64_t k = q->k;
	lapack_reflect(&q->lapack, adjoint, (int)(q->rows - k), (int)n, (int)panel_width(q, k), q->m + (k * q->rows + k) * q->size, q->triangles + k * q->b * q->size,
	               q->m + (from * q->rows + k) * q->size, (int)q->rows, q->work + from * q->b * q->size);
}

/* Part 0: the next panel, which is factored as well while other threads are at the rest; then the rest. */
static void forward_part(void *ud, int64_t part) {
	Qr *q = ud;
	const int64_t next = q->k + q->b, from = part ? next + q->b + (part - 1) * q->width : next;
	const int64_t most = part ? q->width : q->b, n = q->columns - from < most ? q->columns - from : most;
	reflect(q, true, from, n);
	if (!part) factor_panel(q, next);
}

static void backward_part(void *ud, int64_t part) {
	const Qr *q = ud;
	const int64_t from = q->k + q->b + part * q->width;
	reflect(q, false, from, q->columns - from < q->width ? q->columns - from : q->width);
}

static int64_t work_of(const Qr *q, int64_t n) {
	return 2 * (q->rows - q->k) * n * q->b;
}

static Status factor(Qr *q) {
	factor_panel(q, 0);
	Status st = look_qr(q);
	for (q->k = 0; q->k + q->b < q->columns && st == ST_OK; q->k += q->b) {
		const int64_t rest = q->columns - q->k - 2 * q->b;
		st = share_parts(backend_of(q->c), work_of(q, q->columns - q->k), 1 + (rest > 0 ? parts_of(rest, q->width) : 0), forward_part, q, look_qr);
	}
	return st;
}

/* From the last panel to the first: the product of the reflections, in place of them. */
static Status form(Qr *q) {
	Status st = ST_OK;
	for (q->k = (q->columns - 1) / q->b * q->b; q->k >= 0 && st == ST_OK; q->k -= q->b) {
		const int64_t k = q->k, b = panel_width(q, k), rest = q->columns - k - b;
		if (rest) st = share_parts(backend_of(q->c), work_of(q, rest), parts_of(rest, q->width), backward_part, q, look_qr);
		if (st != ST_OK) break;
		int info = 0;
		if (lapack_form_panel(&q->lapack, (int)(q->rows - k), (int)b, q->m + (k * q->rows + k) * q->size, (int)q->rows, q->triangles + k * q->b * q->size, q->work, &info) != ST_OK)
			atomic_store(&q->info, info);
		for (int64_t j = k; j < k + b; j++) memset(q->m + j * q->rows * q->size, 0, (size_t)(k * q->size));
		st = look_qr(q);
	}
	return st;
}

Status blocked_qr(Ctx *c, Dtype d, int64_t rows, int64_t columns, void *m, void *r, bool form_q, int *info) {
	*info = 0;
	if (!columns) return ST_OK;
	Qr q = {.c = c, .size = (int64_t)dtype_size(d), .rows = rows, .columns = columns, .b = panel_of(d, rows, columns), .m = m};
	if (lapack_qr_open(d, &q.lapack, info) != ST_OK) return ST_ERROR;
	q.width = 2 * q.b;
	const size_t triangles = (size_t)(columns * q.b * q.size), bytes = 2 * triangles + (size_t)(q.b * q.size);
	if (!(q.triangles = heap_alloc(c, bytes))) return ST_NOMEM;
	q.work = q.triangles + triangles;
	Status st = factor(&q);
	if (st == ST_OK) {
		memset(r, 0, (size_t)(columns * columns * q.size));
		for (int64_t j = 0; j < columns; j++) memcpy((char *)r + j * columns * q.size, q.m + j * rows * q.size, (size_t)((j + 1) * q.size));
		if (form_q) st = form(&q);
	}
	heap_free(c, q.triangles, bytes);
	*info = atomic_load(&q.info);
	return st != ST_OK ? st : *info ? ST_ERROR : ST_OK;
}
