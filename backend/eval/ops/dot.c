/* dot.c - the general contraction.
 *
 * Needs: frame.h, kernels.h, blas.h.
 *
 * Contract:
 * - Operands are used in place if their free axes, and their contracted axes,
 *   merge into one each. Otherwise they are copied.
 * - Small products, matrix-vector products and integers never use BLAS.
 * - A large product is cut into chunks that its extents alone determine.
 *   Results do not depend on the number of threads.
 *
 * Method: each position of the batch axes is a product out (m x n) = x (m x k)
 * y (k x n).
 */
#include "backend/numlib/blas.h"
#include "backend/eval/core/frame.h"
#include "backend/kernels/kernels.h"
#include <limits.h>

enum {
	SMALL = 1024,    /* multiplications up to which our own loops are faster than BLAS */
	PART_ROWS = 256, /* minimum rows of a chunk: BLAS packs the other operand for each */
	HALF_ROWS = 128, /* where there would be one chunk only */
	MOST_PARTS = 8,
	SYRK_FROM = 16 /* rows */
};

typedef struct DotOperand {
	Tensor *t;                              /* owned */
	int64_t free, contracted;               /* merged extents */
	int64_t free_stride, contracted_stride; /* in elements */
	int64_t batch[MAX_RANK];                /* strides of the batch axes */
} DotOperand;

/* Merges a list of axes into one extent and stride. False when they do not
 * merge. */
static bool merge(const Tensor *t, uint32_t n, const uint32_t *axes, int64_t *length,
                  int64_t *stride) {
	*length = 1;
	*stride = 1;
	for (uint32_t i = n; i-- > 0;) {
		if (t->shape[axes[i]] == 1) continue;
		if (*length == 1) *stride = t->stride[axes[i]];
		else if (t->stride[axes[i]] != *stride * *length) return false;
		*length *= t->shape[axes[i]];
	}
	return true;
}

static void words_to_axes(const AttrField *w, uint32_t *axes) {
	for (uint32_t i = 0; i < w->n; i++) axes[i] = (uint32_t)w->words[i];
}

/* Arranges t (consumed) as batch, free, contracted. */
static Status open_side(Frame *f, Tensor *t, const AttrField *contract, const AttrField *batch,
                        DotOperand *side, uint32_t *nfree, int64_t *free_shape) {
	uint32_t b[MAX_RANK], c[MAX_RANK], free[MAX_RANK], n = 0;
	words_to_axes(contract, c);
	words_to_axes(batch, b);
	for (uint32_t i = 0; i < t->rank; i++) {
		bool used = false;
		for (uint32_t k = 0; k < contract->n; k++) used |= c[k] == i;
		for (uint32_t k = 0; k < batch->n; k++) used |= b[k] == i;
		if (!used) free[n++] = i;
	}
	for (uint32_t i = 0; i < n; i++) free_shape[i] = t->shape[free[i]];
	*nfree = n;
	side->t = t;
	if (!merge(t, n, free, &side->free, &side->free_stride) ||
	    !merge(t, contract->n, c, &side->contracted, &side->contracted_stride)) {
		int64_t shape[MAX_RANK], stride[MAX_RANK];
		uint32_t at = 0;
		for (uint32_t i = 0; i < batch->n; i++, at++)
			b[i] = (shape[at] = t->shape[b[i]], stride[at] = t->stride[b[i]], at);
		for (uint32_t i = 0; i < n; i++, at++)
			free[i] = (shape[at] = t->shape[free[i]], stride[at] = t->stride[free[i]], at);
		for (uint32_t i = 0; i < contract->n; i++, at++)
			c[i] = (shape[at] = t->shape[c[i]], stride[at] = t->stride[c[i]], at);
		Tensor ordered = part_of(t, t->rank, shape, stride, 0);
		Tensor *copy = tensor_copy(f->ctx, &ordered);
		tensor_unref(t);
		side->t = t = copy;
		if (!copy) return ST_NOMEM;
		merge(t, n, free, &side->free, &side->free_stride);
		merge(t, contract->n, c, &side->contracted, &side->contracted_stride);
	}
	for (uint32_t i = 0; i < batch->n; i++)
		side->batch[i] = t->shape[b[i]] == 1 ? 0 : t->stride[b[i]];
	return ST_OK;
}

typedef struct DotProduct {
	Frame *f;
	const Step *s;
	Dtype d;
	int64_t size, m, n, k;
	BlasMatrix x, y;
	char *out;
	int64_t part; /* rows of x in one chunk */
} DotProduct;

static const char *element(const void *base, int64_t i, int64_t size) {
	return (const char *)base + i * size;
}

/* The vector with stride 1, copied if necessary. The caller frees *copy. */
static const void *packed(Frame *f, const void *x, int64_t n, int64_t stride, int64_t size,
                          void **copy) {
	*copy = NULL;
	if (stride == 1 || n == 1) return x;
	char *p = *copy = heap_alloc(f->ctx, (size_t)(n * size));
	for (int64_t i = 0; p && i < n; i++)
		memcpy(p + i * size, element(x, i * stride, size), (size_t)size);
	return p;
}

/* o (rows) = a (rows x k) v: by rows if they are contiguous, else by
 * columns. */
static Status matrix_vector(Frame *f, Dtype d, int64_t size, int64_t rows, int64_t k, BlasMatrix a,
                            const void *v, int64_t v_stride, char *o) {
	void *copy;
	const void *vec = packed(f, v, k, v_stride, size, &copy);
	if (!vec) return ST_NOMEM;
	Status st = ST_OK;
	if (a.column_stride == 1 || k == 1) {
		for (int64_t i = 0; i < rows && st == ST_OK; i++) {
			kernel_inner(d, k, element(a.data, i * a.row_stride, size), vec, o + i * size);
			st = spend(f->be, (uint64_t)k);
		}
	} else if (a.row_stride == 1 || rows == 1) {
		/* A block of rows stays in the nearest cache while the columns pass. */
		for (int64_t from = 0; from < rows && st == ST_OK; from += 512) {
			int64_t n = rows - from < 512 ? rows - from : 512;
			memset(o + from * size, 0, (size_t)(n * size));
			for (int64_t j = 0; j < k; j++)
				kernel_axpy(d, n, element(vec, j, size),
				            element(a.data, from + j * a.column_stride, size), o + from * size);
			st = spend(f->be, (uint64_t)(n * k));
		}
	} else {
		for (int64_t i = 0; i < rows && st == ST_OK; i++) {
			kernel_matmul(d, 1, 1, k, element(a.data, i * a.row_stride, size), 0, a.column_stride,
			              vec, 1, 0, o + i * size);
			st = spend(f->be, (uint64_t)k);
		}
	}
	if (copy) heap_free(f->ctx, copy, (size_t)(k * size));
	return st;
}

static void gemm_part(void *ud, int64_t i) {
	const DotProduct *p = ud;
	int64_t from = i * p->part, n = p->m - from;
	if (n > p->part) n = p->part;
	BlasMatrix x = p->x;
	x.data = element(x.data, from * x.row_stride, p->size);
	blas_gemm(p->f->ctx, p->d, n, p->n, p->k, x, p->y, p->out + from * p->n * p->size, p->n, false);
}

static Status poll_part(void *ud) {
	const DotProduct *p = ud;
	return spend(p->f->be, (uint64_t)(p->part * p->k) * (uint64_t)p->n);
}

/* A row-major copy of a matrix that BLAS does not accept. */
static void *row_major_copy(Frame *f, BlasMatrix *a, int64_t rows, int64_t columns, int64_t size) {
	char *copy = heap_alloc(f->ctx, (size_t)(rows * columns * size));
	if (!copy) return NULL;
	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < columns; j++)
			memcpy(copy + (i * columns + j) * size,
			       element(a->data, i * a->row_stride + j * a->column_stride, size), (size_t)size);
	*a = (BlasMatrix){.data = copy, .row_stride = columns, .column_stride = 1};
	return copy;
}

static bool fits_int(int64_t x) { return x <= INT_MAX && x >= -INT_MAX; }

static Status large_product(DotProduct *p, bool same) {
	Frame *f = p->f;
	Backend *be = f->be;
	const char *why;
	if (!blas_open(&why)) return fail_at(f, p->s, E_FILE, "%s", why);
	void *copies[2] = {NULL, NULL};
	const size_t bytes[2] = {(size_t)(p->m * p->k * p->size), (size_t)(p->k * p->n * p->size)};
	Status st = ST_OK;
	if (!blas_takes(&p->x, p->m, p->k) &&
	    !(copies[0] = row_major_copy(f, &p->x, p->m, p->k, p->size)))
		st = ST_NOMEM;
	if (st == ST_OK && !same && !blas_takes(&p->y, p->k, p->n) &&
	    !(copies[1] = row_major_copy(f, &p->y, p->k, p->n, p->size)))
		st = ST_NOMEM;
	if (st == ST_OK && same) {
		blas_syrk(f->ctx, p->d, p->m, p->k, p->x, p->out);
		st = spend(be, (uint64_t)(p->m * p->k) * (uint64_t)p->m / 2);
	} else if (st == ST_OK) {
		int64_t parts = p->m / PART_ROWS > 1 ? p->m / PART_ROWS : p->m / HALF_ROWS;
		parts = parts < 1 ? 1 : parts > MOST_PARTS ? MOST_PARTS : parts;
		p->part = (p->m + parts - 1) / parts;
		parts = (p->m + p->part - 1) / p->part;
		Pool *pool = parts > 1 ? parallel_pool(be->ctx) : NULL;
		if (pool) {
			st = pool_run(pool, parts, gemm_part, p, poll_part);
		} else {
			for (int64_t i = 0; i < parts && st == ST_OK; i++) {
				gemm_part(p, i);
				st = poll_part(p);
			}
		}
	}
	for (int i = 0; i < 2; i++)
		if (copies[i]) heap_free(f->ctx, copies[i], bytes[i]);
	return st;
}

/* One long sum of products: in pieces that threads share, combined pairwise. */
enum { PIECE = 1 << 16 };
typedef struct Inner {
	Backend *be;
	Dtype d;
	int64_t size, k;
	const char *x, *y;
	char *parts;
} Inner;

static void inner_piece(void *ud, int64_t part) {
	const Inner *p = ud;
	const int64_t from = part * PIECE;
	kernel_inner(p->d, p->k - from < PIECE ? p->k - from : PIECE, p->x + from * p->size,
	             p->y + from * p->size, p->parts + part * p->size);
}

static Status poll_inner(void *ud) {
	const Inner *p = ud;
	return spend(p->be, PIECE);
}

static Status inner(const DotProduct *q) {
	Backend *be = q->f->be;
	Inner p = {.be = be, .d = q->d, .size = q->size, .k = q->k, .x = q->x.data, .y = q->y.data};
	if (p.k <= PIECE) {
		kernel_inner(p.d, p.k, p.x, p.y, q->out);
		return spend(be, (uint64_t)p.k);
	}
	const int64_t count = (p.k + PIECE - 1) / PIECE;
	const size_t bytes = (size_t)(count * p.size);
	p.parts = heap_alloc(be->ctx, bytes);
	if (!p.parts) return ST_NOMEM;
	Status st = parallel_for(be->ctx, p.k, count, inner_piece, &p, poll_inner);
	if (st == ST_OK)
		kernel_reduce_run(p.d == DT_BOOL ? OP_MAX : OP_ADD, p.d, count, p.parts, q->out);
	heap_free(be->ctx, p.parts, bytes);
	return st;
}

/* One matrix product. `same`: y is x transposed. */
static Status multiply(DotProduct *p, bool same) {
	Frame *f = p->f;
	const int64_t m = p->m, n = p->n, k = p->k;
	if (!k) {
		memset(p->out, 0, (size_t)(m * n * p->size));
		return spend(f->be, (uint64_t)(m * n));
	}
	if (m * n == 1 && p->x.column_stride == 1 && p->y.row_stride == 1) return inner(p);
	const double work = (double)m * (double)n * (double)k;
	if (work <= SMALL) {
		kernel_matmul(p->d, m, n, k, p->x.data, p->x.row_stride, p->x.column_stride, p->y.data,
		              p->y.row_stride, p->y.column_stride, p->out);
		return spend(f->be, (uint64_t)work);
	}
	if (n == 1)
		return matrix_vector(f, p->d, p->size, m, k, p->x, p->y.data, p->y.row_stride, p->out);
	if (m == 1) {
		BlasMatrix yt = {
			.data = p->y.data, .row_stride = p->y.column_stride, .column_stride = p->y.row_stride};
		return matrix_vector(f, p->d, p->size, n, k, yt, p->x.data, p->x.column_stride, p->out);
	}
	if (dtype_is_inexact(p->d) && fits_int(m) && fits_int(n) && fits_int(k) &&
	    fits_int(p->x.row_stride) && fits_int(p->x.column_stride) && fits_int(p->y.row_stride) &&
	    fits_int(p->y.column_stride))
		return large_product(p, same && m >= SYRK_FROM);
	for (int64_t i = 0; i < m; i++) {
		kernel_matmul(p->d, 1, n, k, element(p->x.data, i * p->x.row_stride, p->size), 0,
		              p->x.column_stride, p->y.data, p->y.row_stride, p->y.column_stride,
		              p->out + i * n * p->size);
		Status st = spend(f->be, (uint64_t)(n * k));
		if (st != ST_OK) return st;
	}
	return ST_OK;
}

/* If one side's batch strides are all 0, and the other's merge with its free
 * axis, the batch becomes additional rows. */
static bool fold_batch(uint32_t nbatch, const int64_t *length, DotOperand *many,
                       const DotOperand *one) {
	int64_t free = many->free, stride = many->free == 1 ? 0 : many->free_stride;
	for (uint32_t i = nbatch; i-- > 0;) {
		if (length[i] == 1) continue;
		if (one->batch[i]) return false;
		if (free == 1) stride = many->batch[i];
		else if (many->batch[i] != stride * free) return false;
		free *= length[i];
	}
	many->free = free;
	if (free != 1) many->free_stride = stride;
	return true;
}

static Status contract(Frame *f, const Step *s, DotOperand *x, DotOperand *y, uint32_t nbatch,
                       const int64_t *length, char *out) {
	DotProduct p = {.f = f,
	                .s = s,
	                .d = (Dtype)s->out_dtype,
	                .size = (int64_t)dtype_size((Dtype)s->out_dtype),
	                .out = out};
	int64_t at[MAX_RANK] = {0}, xo = 0, yo = 0;
	if (nbatch &&
	    (fold_batch(nbatch, length, x, y) || (x->free == 1 && fold_batch(nbatch, length, y, x))))
		nbatch = 0;
	p.m = x->free;
	p.n = y->free;
	p.k = x->contracted;
	const bool same = x->t->data == y->t->data && !nbatch && p.m == p.n &&
	                  x->free_stride == y->free_stride &&
	                  x->contracted_stride == y->contracted_stride;
	for (;;) {
		p.x = (BlasMatrix){element(x->t->data, xo, p.size), x->free_stride, x->contracted_stride};
		p.y = (BlasMatrix){element(y->t->data, yo, p.size), y->contracted_stride, y->free_stride};
		Status st = multiply(&p, same);
		if (st != ST_OK) return st;
		p.out += p.m * p.n * p.size;
		uint32_t i = nbatch;
		while (i-- > 0) {
			xo += x->batch[i];
			yo += y->batch[i];
			if (++at[i] < length[i]) break;
			xo -= x->batch[i] * length[i];
			yo -= y->batch[i] * length[i];
			at[i] = 0;
		}
		if (i == UINT32_MAX) return ST_OK;
	}
}

/* The inner product of two contiguous vectors, the most frequent case in
 * loops. */
static Status dot_vectors(Frame *f, const Step *s, const Tensor *x, const Tensor *y) {
	_Alignas(16) char scalar[16] = {0};
	DotProduct p = {.f = f,
	                .s = s,
	                .d = (Dtype)s->out_dtype,
	                .size = (int64_t)dtype_size((Dtype)s->out_dtype),
	                .k = x->count,
	                .out = scalar};
	p.x = (BlasMatrix){x->data, 0, 1};
	p.y = (BlasMatrix){y->data, 1, 0};
	count_operations(f, 2.0 * (double)p.k);
	Status st = p.k ? inner(&p) : ST_OK;
	if (st == ST_OK) put_scalar(f, s->d, p.d, scalar);
	return st;
}

Status eval_DOT(Frame *f, const Step *s) {
	const AttrField *fields = s->fields;
	const Value *vx = operand(f, s, 0), *vy = operand(f, s, 1);
	if (!s->out_rank && fields[0].n == 1 && !fields[2].n && vx->kind == V_TENSOR &&
	    vy->kind == V_TENSOR && vx->tensor->contiguous && vy->tensor->contiguous &&
	    vx->tensor->count == vy->tensor->count)
		return dot_vectors(f, s, vx->tensor, vy->tensor);
	DotOperand x = {0}, y = {0};
	uint32_t nx = 0, ny = 0;
	int64_t free_x[MAX_RANK], free_y[MAX_RANK], length[3 * MAX_RANK];
	Tensor *tx = operand_tensor(f, s, 0), *ty = operand_tensor(f, s, 1);
	Status st = tx && ty ? ST_OK : ST_NOMEM;
	bool fits = st == ST_OK;
	for (uint32_t i = 0; fits && i < fields[0].n; i++)
		fits = tx->shape[fields[0].words[i]] == ty->shape[fields[1].words[i]];
	for (uint32_t i = 0; fits && i < fields[2].n; i++)
		fits = tx->shape[fields[2].words[i]] == ty->shape[fields[3].words[i]];
	if (st == ST_OK && !fits) st = fail_internal(f, s, "axes of different lengths");
	if (st != ST_OK) {
		tensor_unref(tx);
		tensor_unref(ty);
		return st;
	}
	for (uint32_t i = 0; i < fields[2].n; i++) length[i] = tx->shape[fields[2].words[i]];
	st = open_side(f, tx, &fields[0], &fields[2], &x, &nx, free_x);
	Status sy = open_side(f, ty, &fields[1], &fields[3], &y, &ny, free_y);
	if (st == ST_OK) st = sy;
	const uint32_t nbatch = fields[2].n;
	uint32_t rank = nbatch;
	for (uint32_t i = 0; i < nx; i++) length[rank++] = free_x[i];
	for (uint32_t i = 0; i < ny; i++) length[rank++] = free_y[i];
	_Alignas(16) char scalar[16]; /* a scalar needs no tensor */
	const bool array = st == ST_OK && rank && rank <= MAX_RANK;
	Tensor *out = array ? placed_result(f, s, (Dtype)s->out_dtype, rank, length) : NULL;
	if (array && !out) out = tensor_new(f->ctx, (Dtype)s->out_dtype, rank, length);
	if (st == ST_OK && rank && !out) st = ST_NOMEM;
	const int64_t count = out ? out->count : 1;
	if (st == ST_OK && count) {
		count_operations(f, 2.0 * (double)count * (double)x.contracted);
		st = contract(f, s, &x, &y, nbatch, length, out ? out->data : scalar);
	}
	tensor_unref(x.t);
	tensor_unref(y.t);
	if (st == ST_OK && !rank) put_scalar(f, s->d, (Dtype)s->out_dtype, scalar);
	if (st == ST_OK) return rank ? put_tensor(f, s, 0, out) : ST_OK;
	tensor_unref(out);
	return st;
}
