/* blocked_factor.c - blocked factorisations and triangular solves.
 *
 * Method: right-looking blocked algorithms. LAPACK factors a panel, BLAS
 * computes products, and threads share the products in parts that the sizes
 * determine. One thread updates and factors the next panel while the others
 * finish the current update (look-ahead). Panels are narrow, and triangular
 * solves have the triangle on the left, which is faster in OpenBLAS than its
 * own choice.
 *
 * Contract:
 * - blocked_factor.h. Needs blas.h, lapack.h and parallel.h.
 * - Matrices stay in place, row-major. Only a panel is copied, since LAPACK
 *   needs it column-major (QR's matrix is column-major).
 * - All but about 1.5 b/n of the work is products.
 */
#include "backend/numlib/blocked_factor.h"
#include "backend/numlib/blas.h"
#include "lang/base/parallel.h"
#include "backend/numlib/lapack.h"
#include "lang/base/thread_pool.h"
#include <complex.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#undef I

enum { PART_ROWS = 256, BLOCK_ROWS = 256, CHUNK = 8192 };

/* Polls the context. Each kind of work begins with its context pointer. */
static Status look(void *ud) {
	Ctx *c = *(Ctx **)ud;
	/* On a worker of an outer job: the context's own thread reports the
	 * interrupt. */
	if (pool_worker()) return ctx_interrupted(c) ? ST_INTERRUPTED : ST_OK;
	return ctx_poll(c, 0);
}

static int64_t among(int64_t x, int64_t least, int64_t most) {
	return x < least ? least : x > most ? most : x;
}

static int64_t parts_of(int64_t n, int64_t part) { return (n + part - 1) / part; }

/* The extent of a block that begins at `from`: `most`, or what is left before
 * `end`. */
static int64_t length_at(int64_t end, int64_t from, int64_t most) {
	return end - from < most ? end - from : most;
}

/* ---- panels -------------------------------------------------------------- */

/* panel (columns x rows) = the transpose of matrix (rows x columns, `leading`
 * apart), or back (out); in strips that stay in a cache. */
#define TRANSPOSE(T)                                                                               \
	do {                                                                                           \
		T *a = matrix, *p = panel;                                                                 \
		for (int64_t i0 = 0; i0 < rows; i0 += STRIP)                                               \
			for (int64_t j = 0; j < columns; j++)                                                  \
				for (int64_t i = i0; i < rows && i < i0 + STRIP; i++) {                            \
					if (out) a[i * leading + j] = p[j * rows + i];                                 \
					else p[j * rows + i] = a[i * leading + j];                                     \
				}                                                                                  \
	} while (0)

static void transpose_panel(Dtype d, int64_t rows, int64_t columns, void *matrix, int64_t leading,
                            void *panel, bool out) {
	enum { STRIP = 32 };
	switch (dtype_size(d)) {
	case 4: TRANSPOSE(float); break;
	case 8: TRANSPOSE(int64_t); break;
	default: TRANSPOSE(double _Complex); break;
	}
}

/* to (rows x columns) = -from. */
#define NEGATE(T)                                                                                  \
	do {                                                                                           \
		const T *x = from;                                                                         \
		T *o = to;                                                                                 \
		for (int64_t i = 0; i < rows; i++)                                                         \
			for (int64_t j = 0; j < columns; j++) o[i * to_leading + j] = -x[i * leading + j];     \
	} while (0)

static void negative(Dtype d, int64_t rows, int64_t columns, const void *from, int64_t leading,
                     void *to, int64_t to_leading) {
	switch (d) {
	case DT_F32: NEGATE(float); break;
	case DT_F64: NEGATE(double); break;
	case DT_C64: NEGATE(float _Complex); break;
	default: NEGATE(double _Complex); break;
	}
}

/* to (columns x rows) = minus the adjoint of from (rows x columns), in square
 * blocks. */
#define MINUS_ADJOINT(T, CONJ)                                                                     \
	do {                                                                                           \
		const T *x = from;                                                                         \
		T *o = to;                                                                                 \
		for (int64_t i0 = 0; i0 < rows; i0 += EDGE)                                                \
			for (int64_t j0 = 0; j0 < columns; j0 += EDGE)                                         \
				for (int64_t i = i0; i < rows && i < i0 + EDGE; i++)                               \
					for (int64_t j = j0; j < columns && j < j0 + EDGE; j++)                        \
						o[j * to_leading + i] = -CONJ(x[i * leading + j]);                         \
	} while (0)

#define SAME(x) (x)

static void minus_adjoint(Dtype d, int64_t rows, int64_t columns, const void *from, int64_t leading,
                          void *to, int64_t to_leading) {
	enum { EDGE = 8 };
	switch (d) {
	case DT_F32: MINUS_ADJOINT(float, SAME); break;
	case DT_F64: MINUS_ADJOINT(double, SAME); break;
	case DT_C64: MINUS_ADJOINT(float _Complex, conjf); break;
	default: MINUS_ADJOINT(double _Complex, conj); break;
	}
}

/* ---- LU ------------------------------------------------------------------ */

typedef struct Lu {
	Ctx *c;
	Dtype d;
	/* size: of an element; b, width: columns of a panel and of the other parts;
	 * k: first column of the current panel */
	int64_t size, n, b, width, k;
	/* the matrix; the current and the next panel, column-major; above: minus
	 * the rows right of the current panel */
	char *m, *panel[2], *above;
	int *pivots, info;
} Lu;

static char *panel_at(const Lu *q, int64_t k) { return q->panel[k / q->b % 2]; }

static void factor_columns(Lu *q, int64_t k) {
	const int64_t rows = q->n - k, b = length_at(q->n, k, q->b);
	char *at = q->m + k * (q->n + 1) * q->size, *panel = panel_at(q, k);
	transpose_panel(q->d, rows, b, at, q->n, panel, false);
	if (lapack_lu(q->c, q->d, (int)rows, (int)b, panel, q->pivots + k, &q->info) != ST_OK &&
	    q->info > 0)
		q->info += (int)k;
	transpose_panel(q->d, rows, b, at, q->n, panel, true);
}

/* Applies the panel's row exchanges to columns from .. from + columns: row k +
 * i is exchanged with row k + pivots[k + i] - 1, for i = 0 .. b-1 in order. */
static void exchange(const Lu *q, int64_t from, int64_t columns) {
	const int64_t line = q->n * q->size, b = length_at(q->n, q->k, q->b);
	char *o = q->m + q->k * line + from * q->size;
	for (int64_t i = 0; i < b; i++) {
		const int64_t with = q->pivots[q->k + i] - 1;
		for (int64_t at = 0, left = columns * q->size; with != i && left > 0;
		     at += CHUNK, left -= CHUNK) {
			char kept[CHUNK];
			const size_t bytes = (size_t)(left < CHUNK ? left : CHUNK);
			memcpy(kept, o + i * line + at, bytes);
			memcpy(o + i * line + at, o + with * line + at, bytes);
			memcpy(o + with * line + at, kept, bytes);
		}
	}
}

static int64_t parts_right(const Lu *q) {
	const int64_t next = q->k + q->b;
	return next >= q->n ? 0 : 1 + parts_of(q->n - next - length_at(q->n, next, q->b), q->width);
}

/* Part 0 updates and factors the next panel while other threads do the others.
 * Parts after it are the columns right of that panel, then those left of the
 * current one. */
static void beside_part(void *ud, int64_t part) {
	Lu *q = ud;
	const int64_t next = q->k + q->b, right = parts_right(q);
	if (part >= right) {
		const int64_t from = (part - right) * q->width;
		exchange(q, from, length_at(q->k, from, q->width));
		return;
	}
	const int64_t from = part ? next + q->b + (part - 1) * q->width : next,
				  columns = length_at(q->n, from, part ? q->width : q->b), below = q->n - next;
	char *o = q->m + (q->k * q->n + from) * q->size, *above = q->above + (from - next) * q->size;
	exchange(q, from, columns);
	blas_trsm(q->d, false, q->b, columns, true, false, true, q->m + q->k * (q->n + 1) * q->size,
	          q->n, o, q->n);
	negative(q->d, q->b, columns, o, q->n, above, below);
	const BlasMatrix x = {panel_at(q, q->k) + q->b * q->size, 1, q->n - q->k},
					 y = {above, below, 1};
	blas_gemm(q->c, q->d, below, columns, q->b, x, y, o + q->b * q->n * q->size, q->n, true);
	if (!part) factor_columns(q, next);
}

/* The widths are tuned: narrow panels for small n, wider ones for large; wide
 * parts, unless there would be too few. */
Status blocked_lu(Ctx *c, Dtype d, int64_t n, void *a, int *pivots, int *info) {
	Lu q = {.c = c,
	        .d = d,
	        .size = (int64_t)dtype_size(d),
	        .n = n,
	        .b = among(n / 32 / 16 * 16, 16, 64),
	        .width = among(n / 8 / 32 * 32, 96, 192),
	        .m = a,
	        .pivots = pivots};
	const size_t panel = (size_t)(n * q.b * q.size);
	if (!(q.above = heap_alloc(c, 3 * panel))) return ST_NOMEM;
	q.panel[0] = q.above + panel;
	q.panel[1] = q.panel[0] + panel;
	factor_columns(&q, 0);
	Status st = look(&q);
	for (; q.k < n && st == ST_OK && !q.info; q.k += q.b) {
		const int64_t parts = parts_right(&q) + parts_of(q.k, q.width);
		if (parts) st = parallel_for(c, (n - q.k) * (n - q.k) * q.b, parts, beside_part, &q, look);
	}
	for (int64_t i = 0; i < n && st == ST_OK && !q.info; i++) pivots[i] += (int)(i / q.b * q.b);
	heap_free(c, q.above, 3 * panel);
	*info = q.info;
	return st == ST_OK && q.info ? ST_ERROR : st;
}

/* ---- triangular solves --------------------------------------------------- */

/* op(T) X = B, with a block of rows being solved. */
typedef struct Trisolve {
	Ctx *c;
	Dtype d;
	/* X is n x r; m rows from k on are solved, then subtracted from rows first
	 * .. end */
	int64_t size, n, r, k, m, first, end;
	char *x, *minus; /* minus: workspace for a block of columns of T */
	const char *t;
	bool lower, adjoint, unit;
} Trisolve;

/* Columns of X are independent. BLAS packs the triangle once for each strip of
 * them, so strips should be wide. */
static int64_t strip_width(const Trisolve *q) { return among(q->r / 4 / 32 * 32, 64, 192); }

static void strip_part(void *ud, int64_t part) {
	const Trisolve *q = ud;
	const int64_t wide = strip_width(q), from = part * wide, columns = length_at(q->r, from, wide);
	blas_trsm(q->d, false, q->m, columns, q->lower, q->adjoint, q->unit,
	          q->t + q->k * (q->n + 1) * q->size, q->n, q->x + (q->k * q->r + from) * q->size,
	          q->r);
}

static void rest_part(void *ud, int64_t part) {
	const Trisolve *q = ud;
	const int64_t from = q->first + part * PART_ROWS, rows = length_at(q->end, from, PART_ROWS);
	char *minus = q->minus + (from - q->first) * BLOCK_ROWS * q->size;
	if (q->adjoint)
		minus_adjoint(q->d, q->m, rows, q->t + (q->k * q->n + from) * q->size, q->n, minus, q->m);
	else negative(q->d, rows, q->m, q->t + (from * q->n + q->k) * q->size, q->n, minus, q->m);
	const BlasMatrix t = {minus, q->m, 1}, x = {q->x + q->k * q->r * q->size, q->r, 1};
	blas_gemm(q->c, q->d, rows, q->r, q->m, t, x, q->x + from * q->r * q->size, q->r, true);
}

Status blocked_trisolve(Ctx *c, Dtype d, int64_t n, int64_t r, bool lower, bool adjoint, bool unit,
                        const void *t, void *x) {
	Trisolve q = {.c = c,
	              .d = d,
	              .size = (int64_t)dtype_size(d),
	              .n = n,
	              .r = r,
	              .m = n,
	              .x = x,
	              .t = t,
	              .lower = lower,
	              .adjoint = adjoint,
	              .unit = unit};
	const int64_t strips = parts_of(r, strip_width(&q));
	if ((double)n * (double)n * (double)r * (dtype_is_complex(d) ? 4 : 1) <= BLOCKS_FROM)
		return parallel_for(c, n * n * r, strips, strip_part, &q, look);
	const size_t bytes = (size_t)(n * BLOCK_ROWS * q.size);
	if (!(q.minus = heap_alloc(c, bytes))) return ST_NOMEM;
	const bool forward = lower != adjoint;
	Status st = ST_OK;
	for (int64_t block = 0; block * BLOCK_ROWS < n && st == ST_OK; block++) {
		q.k = forward ? block * BLOCK_ROWS : (parts_of(n, BLOCK_ROWS) - 1 - block) * BLOCK_ROWS;
		q.m = length_at(n, q.k, BLOCK_ROWS);
		st = parallel_for(c, INT64_MAX, strips, strip_part, &q, look);
		/* the unsolved rows: below or above */
		q.first = forward ? q.k + q.m : 0;
		q.end = forward ? n : q.k;
		if (st == ST_OK && q.first < q.end)
			st = parallel_for(c, INT64_MAX, parts_of(q.end - q.first, PART_ROWS), rest_part, &q,
			                  look);
	}
	heap_free(c, q.minus, bytes);
	return st;
}

/* ---- Cholesky ------------------------------------------------------------ */

typedef struct Cholesky {
	Ctx *c;
	Dtype d;
	/* b: width of blocks, also rows of a part; k: first column of the current
	 * block */
	int64_t size, n, b, k;
	/* corner: a diagonal block, contiguous; panel: minus the adjoint of the
	 * rows below the current block */
	char *m, *corner, *panel;
	int info;
} Cholesky;

static void factor_corner(Cholesky *q, int64_t k) {
	const int64_t b = length_at(q->n, k, q->b);
	char *at = q->m + k * (q->n + 1) * q->size;
	for (int64_t i = 0; i < b; i++)
		memcpy(q->corner + i * b * q->size, at + i * q->n * q->size, (size_t)(b * q->size));
	if (lapack_cholesky_upper(q->c, q->d, (int)b, q->corner, &q->info) != ST_OK && q->info > 0)
		q->info += (int)k;
	for (int64_t i = 0; i < b; i++)
		memcpy(at + i * q->n * q->size, q->corner + i * b * q->size, (size_t)((i + 1) * q->size));
}

/* Rows X below the current block L. X Lᴴ = A is solved as L P = -Aᴴ, which BLAS
 * does faster; P = -Xᴴ is what the product needs. */
static void below_part(void *ud, int64_t part) {
	const Cholesky *q = ud;
	const int64_t b = q->b, below = q->n - q->k - b, first = part * b,
				  rows = length_at(below, first, b);
	const char *corner = q->m + q->k * (q->n + 1) * q->size;
	char *o = q->m + ((q->k + b + first) * q->n + q->k) * q->size, *p = q->panel + first * q->size;
	minus_adjoint(q->d, rows, b, o, q->n, p, below);
	blas_trsm(q->d, false, b, rows, true, false, false, corner, q->n, p, below);
	minus_adjoint(q->d, b, rows, p, below, o, q->n);
}

/* Updates rows right of the current block, up to the diagonal. Part 0 updates
 * and factors the next block while other threads do the others. The other parts
 * alternate between the shortest and the longest rows, which balances the two
 * halves of the parts. */
static void right_part(void *ud, int64_t part) {
	Cholesky *q = ud;
	const int64_t next = q->k + q->b, below = q->n - next,
				  chunk = part % 2 || !part ? (part + 1) / 2 : parts_of(below, q->b) - part / 2;
	const int64_t first = chunk * q->b, rows = length_at(below, first, q->b), row = next + first;
	const BlasMatrix x = {q->m + (row * q->n + q->k) * q->size, q->n, 1}, y = {q->panel, below, 1};
	blas_gemm(q->c, q->d, rows, first + rows, q->b, x, y, q->m + (row * q->n + next) * q->size,
	          q->n, true);
	if (!part) factor_corner(q, next);
}

/* The block width is tuned, for one thread and two. */
Status blocked_cholesky(Ctx *c, Dtype d, int64_t n, void *a, int *info) {
	const int64_t b = among(n / 24 / 16 * 16, 48, 96);
	Cholesky q = {.c = c, .d = d, .size = (int64_t)dtype_size(d), .n = n, .b = b, .m = a};
	const size_t bytes = (size_t)((n + b) * b * q.size);
	if (!(q.corner = heap_alloc(c, bytes))) return ST_NOMEM;
	q.panel = q.corner + b * b * q.size;
	factor_corner(&q, 0);
	Status st = look(&q);
	for (; q.k + b < n && st == ST_OK && !q.info; q.k += b) {
		const int64_t rest = n - q.k - b, parts = parts_of(rest, b);
		st = parallel_for(c, rest * b * b, parts, below_part, &q, look);
		if (st == ST_OK) st = parallel_for(c, rest * rest * b, parts, right_part, &q, look);
	}
	heap_free(c, q.corner, bytes);
	*info = q.info;
	return st == ST_OK && q.info ? ST_ERROR : st;
}

/* ---- QR ------------------------------------------------------------------ */

/* Columns of a panel, tuned; fewer for many rows, so that a panel and a part of
 * its reflections take some ten milliseconds each. */
static int64_t panel_of(Dtype d, int64_t rows, int64_t columns) {
	const int64_t heavy = dtype_is_complex(d) ? 4 : 1;
	int64_t b = columns < 256 ? 32 : 64;
	while (b > 8 && heavy * rows * b * b > BLOCKS_FROM / 4) b /= 2;
	return b < columns ? b : columns;
}

typedef struct Qr {
	Ctx *c;
	LapackQr lapack;
	/* columns of a panel, and of the parts right of it */
	int64_t size, rows, columns, b, width;
	int64_t k; /* the panel whose reflections are applied */
	/* triangles: b x b for each panel; work: b elements for each column, and b
	 * more */
	char *m, *triangles, *work;
	atomic_int info;
} Qr;

static void factor_panel(Qr *q, int64_t k) {
	const int64_t b = length_at(q->columns, k, q->b);
	int info = 0;
	if (lapack_qr_panel(&q->lapack, (int)(q->rows - k), (int)b, q->m + (k * q->rows + k) * q->size,
	                    (int)q->rows, q->triangles + k * q->b * q->size,
	                    q->work + k * q->b * q->size, &info) != ST_OK)
		atomic_store(&q->info, info);
}

/* Applies panel k's reflections to columns from .. from + n. */
static void reflect(const Qr *q, bool adjoint, int64_t from, int64_t n) {
	const int64_t k = q->k;
	lapack_reflect(&q->lapack, adjoint, (int)(q->rows - k), (int)n,
	               (int)length_at(q->columns, k, q->b), q->m + (k * q->rows + k) * q->size,
	               q->triangles + k * q->b * q->size, q->m + (from * q->rows + k) * q->size,
	               (int)q->rows, q->work + from * q->b * q->size);
}

/* Part 0 updates and factors the next panel while other threads do the other
 * columns. */
static void forward_part(void *ud, int64_t part) {
	Qr *q = ud;
	const int64_t next = q->k + q->b, from = part ? next + q->b + (part - 1) * q->width : next;
	reflect(q, true, from, length_at(q->columns, from, part ? q->width : q->b));
	if (!part) factor_panel(q, next);
}

static void backward_part(void *ud, int64_t part) {
	const Qr *q = ud;
	const int64_t from = q->k + q->b + part * q->width;
	reflect(q, false, from, length_at(q->columns, from, q->width));
}

static int64_t work_of(const Qr *q, int64_t n) { return 2 * (q->rows - q->k) * n * q->b; }

static Status factor(Qr *q) {
	factor_panel(q, 0);
	Status st = look(q);
	for (q->k = 0; q->k + q->b < q->columns && st == ST_OK; q->k += q->b) {
		const int64_t rest = q->columns - q->k - 2 * q->b;
		st = parallel_for(q->c, work_of(q, q->columns - q->k),
		                  1 + (rest > 0 ? parts_of(rest, q->width) : 0), forward_part, q, look);
	}
	return st;
}

/* Replaces the reflections by their product Q, from the last panel to the
 * first. */
static Status form(Qr *q) {
	Status st = ST_OK;
	for (q->k = (q->columns - 1) / q->b * q->b; q->k >= 0 && st == ST_OK; q->k -= q->b) {
		const int64_t k = q->k, b = length_at(q->columns, k, q->b), rest = q->columns - k - b;
		if (rest)
			st = parallel_for(q->c, work_of(q, rest), parts_of(rest, q->width), backward_part, q,
			                  look);
		if (st != ST_OK) break;
		int info = 0;
		if (lapack_form_panel(&q->lapack, (int)(q->rows - k), (int)b,
		                      q->m + (k * q->rows + k) * q->size, (int)q->rows,
		                      q->triangles + k * q->b * q->size, q->work, &info) != ST_OK)
			atomic_store(&q->info, info);
		for (int64_t j = k; j < k + b; j++)
			memset(q->m + j * q->rows * q->size, 0, (size_t)(k * q->size));
		st = look(q);
	}
	return st;
}

Status blocked_qr(Ctx *c, Dtype d, int64_t rows, int64_t columns, void *m, void *r, bool form_q,
                  int *info) {
	*info = 0;
	if (!columns) return ST_OK;
	Qr q = {.c = c,
	        .size = (int64_t)dtype_size(d),
	        .rows = rows,
	        .columns = columns,
	        .b = panel_of(d, rows, columns),
	        .m = m};
	if (lapack_qr_open(d, &q.lapack, info) != ST_OK) return ST_ERROR;
	q.width = 2 * q.b;
	const size_t triangles = (size_t)(columns * q.b * q.size),
				 bytes = 2 * triangles + (size_t)(q.b * q.size);
	if (!(q.triangles = heap_alloc(c, bytes))) return ST_NOMEM;
	q.work = q.triangles + triangles;
	Status st = factor(&q);
	if (st == ST_OK) {
		memset(r, 0, (size_t)(columns * columns * q.size));
		for (int64_t j = 0; j < columns; j++)
			memcpy((char *)r + j * columns * q.size, q.m + j * rows * q.size,
			       (size_t)((j + 1) * q.size));
		if (form_q) st = form(&q);
	}
	heap_free(c, q.triangles, bytes);
	*info = atomic_load(&q.info);
	return st != ST_OK ? st : *info ? ST_ERROR : ST_OK;
}
