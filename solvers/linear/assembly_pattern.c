/* assembly_pattern.c - the sparsity pattern of a matrix assembled from element
 * matrices.
 *
 * Needs: assembly_pattern.h.
 *
 * Method: the rows of a column are those of the cells that contain its unknown.
 * A mark per row, which holds the column's number, finds duplicates. The few
 * rows are then sorted.
 *
 * Contract: as in assembly_pattern.h. Time and memory are linear in the number
 * of elements of the element matrices.
 */
#include "solvers/linear/assembly_pattern.h"
#include "lang/base/tensor.h"
#include <stdlib.h>
#include <string.h>

enum { CELLS, COUPLED, UNKNOWNS };
enum { ROWS, COLUMNS, STARTS, ROW_STARTS, PLACES, FLIP, MIRRORED, RESULTS };
enum { POLL_COLUMNS = 4096 };

typedef struct Cells {
	int64_t m, local, n; /* number of cells, unknowns per cell, all unknowns */
	const int64_t *of;   /* m x local indices of unknowns; negative: none */
	const int64_t *coupled;
	/* for each unknown, where its entries of `of` begin in list; the entries */
	int64_t *first, *list;
	int64_t *mark; /* n: column in which a row was last seen; then its place */
} Cells;

static int64_t *numbers(Tensor *t) { return (int64_t *)(void *)t->data; }

static Status refuse(Ctx *c, const char *what) {
	diag_error(c, E_VALUE, NO_SPAN, "the pattern of a matrix summed from cells: %s", what);
	return ST_ERROR;
}

static Status list_entries(Ctx *c, Cells *p) {
	memset(p->first, 0, (size_t)(p->n + 1) * sizeof *p->first);
	for (int64_t e = 0; e < p->m * p->local; e++) {
		if (p->of[e] >= p->n) return refuse(c, "the number of an unknown is out of range");
		if (p->of[e] >= 0) p->first[p->of[e] + 1]++;
	}
	for (int64_t j = 0; j < p->n; j++) p->first[j + 1] += p->first[j];
	for (int64_t e = 0; e < p->m * p->local; e++)
		if (p->of[e] >= 0) p->list[p->first[p->of[e]]++] = e;
	for (int64_t j = p->n; j > 0; j--) p->first[j] = p->first[j - 1];
	p->first[0] = 0;
	return ST_OK;
}

static int by_number(const void *x, const void *y) {
	const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
	return (a > b) - (a < b);
}

/* Most columns have few rows; an unknown shared by many cells has many. */
static void sort(int64_t *a, int64_t n) {
	if (n > 64) {
		qsort(a, (size_t)n, sizeof *a, by_number);
		return;
	}
	for (int64_t i = 1; i < n; i++) {
		int64_t x = a[i], k = i;
		for (; k && a[k - 1] > x; k--) a[k] = a[k - 1];
		a[k] = x;
	}
}

/* The distinct rows of column j in the order found. Returns their number. rows
 * NULL: count only. */
static int64_t column(Cells *p, int64_t j, int64_t *rows) {
	int64_t count = 0;
	for (int64_t e = p->first[j]; e < p->first[j + 1]; e++) {
		const int64_t cell = p->list[e] / p->local, own = p->list[e] - cell * p->local;
		for (int64_t i = 0; i < p->local; i++) {
			const int64_t r = p->of[cell * p->local + i];
			if (r < 0 || !p->coupled[i * p->local + own] || p->mark[r] == j) continue;
			p->mark[r] = j;
			if (rows) rows[count] = r;
			count++;
		}
	}
	return count;
}

static Status count_columns(Ctx *c, Cells *p, int64_t *start) {
	for (int64_t i = 0; i < p->n; i++) p->mark[i] = -1;
	start[0] = 0;
	for (int64_t j = 0; j < p->n; j++) {
		if (j % POLL_COLUMNS == 0) {
			const Status st = ctx_poll(c, 0);
			if (st != ST_OK) return st;
		}
		start[j + 1] = start[j] + column(p, j, NULL);
	}
	return ST_OK;
}

static Status fill_columns(Ctx *c, Cells *p, const int64_t *start, int64_t *rows, int64_t *columns,
                           int64_t *place) {
	const int64_t local = p->local;
	for (int64_t k = 0; k < p->m * local * local; k++) place[k] = start[p->n];
	for (int64_t i = 0; i < p->n; i++) p->mark[i] = -1;
	for (int64_t j = 0; j < p->n; j++) {
		if (j % POLL_COLUMNS == 0) {
			const Status st = ctx_poll(c, 0);
			if (st != ST_OK) return st;
		}
		int64_t *own = rows + start[j];
		const int64_t count = column(p, j, own);
		sort(own, count);
		/* place is encoded as -2 - place, which is no column number */
		for (int64_t k = 0; k < count; k++) {
			columns[start[j] + k] = j;
			p->mark[own[k]] = -2 - (start[j] + k);
		}
		for (int64_t e = p->first[j]; e < p->first[j + 1]; e++) {
			const int64_t cell = p->list[e] / local, at = p->list[e] - cell * local;
			for (int64_t i = 0; i < local; i++) {
				const int64_t r = p->of[cell * local + i];
				if (r >= 0 && p->coupled[i * local + at])
					place[(cell * local + i) * local + at] = -2 - p->mark[r];
			}
		}
	}
	return ST_OK;
}

/* Computes flip, the elements in the order of the transpose. Returns whether
 * the transpose has the same pattern. */
static bool transpose(int64_t n, const int64_t *start, const int64_t *rows, const int64_t *columns,
                      int64_t *row_start, int64_t *flip, int64_t *next) {
	const int64_t nnz = start[n];
	memset(row_start, 0, (size_t)(n + 1) * sizeof *row_start);
	for (int64_t k = 0; k < nnz; k++) row_start[rows[k] + 1]++;
	for (int64_t i = 0; i < n; i++) row_start[i + 1] += row_start[i];
	memcpy(next, row_start, (size_t)n * sizeof *next);
	for (int64_t k = 0; k < nnz; k++) flip[next[rows[k]]++] = k;
	bool same = true;
	for (int64_t k = 0; same && k < nnz; k++)
		same = rows[flip[k]] == columns[k] && columns[flip[k]] == rows[k];
	return same;
}

static Status find(Ctx *c, Cells *p, Value *results) {
	Tensor *t[RESULTS] = {0};
	const int64_t starts = p->n + 1, places[3] = {p->m, p->local, p->local};
	Status st = list_entries(c, p);
	if (st == ST_OK && !((t[STARTS] = tensor_new(c, DT_I64, 1, &starts)) &&
	                     (t[ROW_STARTS] = tensor_new(c, DT_I64, 1, &starts)) &&
	                     (t[PLACES] = tensor_new(c, DT_I64, 3, places))))
		st = ST_NOMEM;
	if (st == ST_OK) st = count_columns(c, p, numbers(t[STARTS]));
	const int64_t nnz = st == ST_OK ? numbers(t[STARTS])[p->n] : 0;
	if (st == ST_OK && !((t[ROWS] = tensor_new(c, DT_I64, 1, &nnz)) &&
	                     (t[COLUMNS] = tensor_new(c, DT_I64, 1, &nnz)) &&
	                     (t[FLIP] = tensor_new(c, DT_I64, 1, &nnz))))
		st = ST_NOMEM;
	if (st == ST_OK)
		st = fill_columns(c, p, numbers(t[STARTS]), numbers(t[ROWS]), numbers(t[COLUMNS]),
		                  numbers(t[PLACES]));
	if (st == ST_OK) {
		const bool same = transpose(p->n, numbers(t[STARTS]), numbers(t[ROWS]), numbers(t[COLUMNS]),
		                            numbers(t[ROW_STARTS]), numbers(t[FLIP]), p->mark);
		for (int k = 0; k < MIRRORED; k++) results[k] = value_tensor(t[k]);
		results[MIRRORED] = value_i64(same);
		return ST_OK;
	}
	for (int k = 0; k < MIRRORED; k++) tensor_unref(t[k]);
	return st;
}

static Status eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                   uint32_t nresults, Value *results) {
	(void)call, (void)nargs, (void)nresults;
	Tensor *of = tensor_contiguous(c, args[CELLS].tensor),
		   *coupled = tensor_contiguous(c, args[COUPLED].tensor);
	Status st = of && coupled ? ST_OK : ST_NOMEM;
	Cells p = {0};
	if (st == ST_OK) {
		p = (Cells){.m = of->shape[0],
		            .local = of->shape[1],
		            .n = args[UNKNOWNS].i,
		            .of = numbers(of),
		            .coupled = numbers(coupled)};
		if (coupled->shape[0] != p.local || coupled->shape[1] != p.local)
			st = refuse(c, "what couples must be a square of the unknowns of a cell");
		else if (p.n < 0 || p.n > INT64_MAX / 64)
			st = refuse(c, "the number of unknowns is out of range");
	}
	const size_t bytes = (size_t)(2 * p.n + 1 + p.m * p.local) * sizeof(int64_t);
	int64_t *work = st == ST_OK ? heap_alloc(c, bytes) : NULL;
	if (st == ST_OK && !work) st = ST_NOMEM;
	if (st == ST_OK) {
		p.first = work;
		p.mark = work + p.n + 1;
		p.list = p.mark + p.n;
		st = find(c, &p, results);
	}
	if (work) heap_free(c, work, bytes);
	tensor_unref(of), tensor_unref(coupled);
	return st;
}

static uint32_t types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                      TypeId *out, uint32_t cap) {
	(void)cap;
	Ctx *c = build_ctx(b);
	static const uint32_t ranks[] = {2, 2, 0};
	bool good = nargs == 3;
	for (uint32_t k = 0; good && k < nargs; k++) {
		const Type *t = ref_ty(build_fn(b), args[k]);
		good = t->kind == TY_TENSOR && t->dtype == DT_I64 && t->rank == ranks[k];
	}
	if (!good) {
		diag_error(c, E_TYPE, span_of(c, build_span(b)),
		           "%s: wants two matrices of i64 and a number", call->def->name);
		ctx_throw(c, ST_ERROR);
	}
	const Type cells = *ref_ty(build_fn(b), args[CELLS]);
	const Dim elements = build_fresh_dim(b, atom(c, "elements of a matrix"), build_span(b)),
			  starts = build_fresh_dim(b, atom(c, "columns of a matrix"), build_span(b));
	const Dim places[3] = {cells.dims[0], cells.dims[1], cells.dims[1]};
	out[ROWS] = out[COLUMNS] = out[FLIP] = type_tensor(c, DT_I64, 1, &elements);
	out[STARTS] = out[ROW_STARTS] = type_tensor(c, DT_I64, 1, &starts);
	out[PLACES] = type_tensor(c, DT_I64, 3, places);
	out[MIRRORED] = type_tensor(c, DT_I64, 0, NULL);
	return RESULTS;
}

const HostDef cells_pattern_host = {.name = "cells_pattern", .types = types, .eval = eval};
