/* jacobian.c - Jacobians as SUNDIALS' dense, banded and sparse matrices, and
 * their linear solvers.
 *
 * Needs: sundials.h; SUNDIALS' dense solver, modules/band.c for bands,
 * modules/sparse.c for large sparse matrices, KLU (SuiteSparse) for others.
 *
 * Contract: a pattern is checked before use. Duplicate elements are summed.
 * Missing diagonal elements are added: SUNMatScaleAddI (A := I + cA) would
 * otherwise reallocate at every step, and KLU would repeat its analysis.
 */
#include "solvers/sundials/modules/sundials.h"
#include <math.h>

static Status pattern_alloc(Solve *s, Pattern *p, int64_t n, int64_t nvalues, int64_t nnz) {
	size_t words = (size_t)(n + 1 + nnz + nvalues);
	p->n = n;
	p->nvalues = nvalues;
	p->nnz = nnz;
	p->bytes = words * sizeof(int64_t);
	p->colptr = heap_alloc(s->c, p->bytes);
	if (!p->colptr) return ST_NOMEM;
	p->rowind = p->colptr + n + 1;
	p->place = p->rowind + nnz;
	return ST_OK;
}

static Status malformed(Solve *s, const char *what) {
	diag_error(s->c, E_VALUE, NO_SPAN, "the sparsity pattern of the Jacobian: %s", what);
	return ST_ERROR;
}

/* Merges duplicates in the columns of the given pattern and adds the diagonal.
 * mark[i]: the place of row i in this column, or -1. out NULL (first pass):
 * only counts. Returns the number of elements. */
static int64_t build_columns(int64_t n, const int64_t *cp, const int64_t *ri, int64_t *mark,
                             Pattern *out) {
	int64_t nnz = 0;
	for (int64_t j = 0; j < n; j++) {
		const int64_t first = nnz;
		if (out) out->colptr[j] = first;
		for (int64_t k = cp[j]; k <= cp[j + 1]; k++) {
			const int64_t row = k < cp[j + 1] ? ri[k] : j;
			if (mark[row] < first) {
				mark[row] = nnz;
				if (out) out->rowind[nnz] = row;
				nnz++;
			}
			if (out && k < cp[j + 1]) out->place[k] = mark[row];
		}
	}
	if (out) out->colptr[n] = nnz;
	return nnz;
}

/* Chooses the linear solver. For a band, places become those of SUNDIALS' band
 * matrix in column-major order. Values with the same place are still summed. */
static Status choose_factors(Solve *s, Pattern *p, int64_t linear) {
	const int64_t n = p->n;
	const size_t bytes = (size_t)(2 * n) * sizeof *p->order;
	int64_t *order = heap_alloc(s->c, bytes), *inverse = order + n;
	LinearSolverChoice choice;
	if (!order) return ST_NOMEM;
	Status st = choose_linear_solver(s->c, n, p->colptr, p->rowind, (LinearSolverKind)(linear - 1),
	                                 order, inverse, &choice);
	p->chosen = linear - 1 != LINEAR_AUTO;
	p->iterated = choice.solver == LINEAR_ITERATIVE ||
	              (!p->chosen && choice.solver == LINEAR_SPARSE && prefer_iterative(&choice));
	p->banded = choice.solver == LINEAR_BANDED;
	p->multifrontal = choice.solver == LINEAR_SPARSE && choice.multifrontal && !p->iterated;
	if (st != ST_OK || (!p->banded && !p->iterated)) {
		heap_free(s->c, order, bytes);
		return st;
	}
	p->band = choice.band;
	p->order = order;
	p->order_bytes = bytes;
	if (p->iterated) return ST_OK;
	const int64_t rows = choice.band.below + choice.band.above + 1;
	if (!solve_can_count(s, n * rows, "elements of a banded Jacobian")) return s->status;
	for (int64_t k = 0; k < p->nvalues; k++) {
		const int64_t at = p->place[k];
		int64_t low = 0, high = n; /* bisection for the column of `at` */
		while (high - low > 1) {
			const int64_t middle = (low + high) / 2;
			if (p->colptr[middle] <= at) low = middle;
			else high = middle;
		}
		const int64_t i = inverse[p->rowind[at]], j = inverse[low];
		p->place[k] = j * rows + (i - j) + choice.band.above;
	}
	if (!choice.ordered) {
		heap_free(s->c, order, bytes);
		p->order = NULL;
	}
	return ST_OK;
}

Status pattern_begin(Solve *s, Pattern *p, int64_t n, int64_t linear, Value colptr, Value rowind) {
	const bool dense = linear == 0;
	*p = (Pattern){.dense = dense, .n = n, .nvalues = n * n, .nnz = n * n};
	if (dense) return solve_can_count(s, n * n, "elements of a Jacobian") ? ST_OK : s->status;
	const int64_t nvalues = value_count(rowind), *cp, *ri;
	if (!solve_indices(s, colptr, "the column pointers of the Jacobian's pattern", n + 1, &cp))
		return s->status;
	if (!solve_indices(s, rowind, "the row indices of the Jacobian's pattern", nvalues, &ri))
		return s->status;
	if (cp[0] != 0 || cp[n] != nvalues)
		return malformed(s, "the column pointers must go from 0 to the number of row indices");
	for (int64_t j = 0; j < n; j++)
		if (cp[j + 1] < cp[j]) return malformed(s, "the column pointers must not decrease");
	for (int64_t k = 0; k < nvalues; k++)
		if (ri[k] < 0 || ri[k] >= n) return malformed(s, "a row index is out of range");
	int64_t *mark = heap_alloc(s->c, (size_t)n * sizeof *mark);
	if (!mark) return ST_NOMEM;
	for (int64_t i = 0; i < n; i++) mark[i] = -1;
	int64_t nnz = build_columns(n, cp, ri, mark, NULL);
	Status st = solve_can_count(s, nnz, "elements of a Jacobian")
	                ? pattern_alloc(s, p, n, nvalues, nnz)
	                : s->status;
	for (int64_t i = 0; i < n; i++) mark[i] = -1;
	if (st == ST_OK) build_columns(n, cp, ri, mark, p);
	heap_free(s->c, mark, (size_t)n * sizeof *mark);
	return st == ST_OK ? choose_factors(s, p, linear) : st;
}

static Status order_copied(Solve *s, Pattern *p, const Pattern *from) {
	if (!from->order) return ST_OK;
	p->order_bytes = from->order_bytes;
	if (!(p->order = heap_alloc(s->c, p->order_bytes))) return ST_NOMEM;
	memcpy(p->order, from->order, p->order_bytes);
	return ST_OK;
}

/* The transposed band, in the same order. */
static Status band_transposed(Solve *s, Pattern *p, const Pattern *from) {
	const int64_t n = from->n, rows = from->band.below + from->band.above + 1;
	Status st = pattern_alloc(s, p, n, from->nvalues, from->nnz);
	if (st != ST_OK) return st;
	p->banded = true;
	p->band = (Bandwidth){n, from->band.above, from->band.below};
	st = order_copied(s, p, from);
	for (int64_t k = 0; k < from->nvalues; k++) {
		const int64_t j = from->place[k] / rows, i = j + from->place[k] % rows - from->band.above;
		p->place[k] = i * rows + (j - i) + p->band.above;
	}
	return st;
}

Status pattern_transposed(Solve *s, Pattern *p, const Pattern *from) {
	const int64_t n = from->n;
	*p = (Pattern){.dense = from->dense, .n = n, .nvalues = from->nvalues, .nnz = from->nnz};
	if (from->dense) return ST_OK;
	if (from->banded) return band_transposed(s, p, from);
	p->multifrontal = from->multifrontal;
	p->iterated = from->iterated;
	p->chosen = from->chosen;
	int64_t *moved = heap_alloc(s->c, (size_t)(from->nnz + n + 1) * sizeof *moved),
			*next = moved + from->nnz;
	if (!moved) return ST_NOMEM;
	Status st = pattern_alloc(s, p, n, from->nvalues, from->nnz);
	if (st == ST_OK) {
		memset(next, 0, (size_t)(n + 1) * sizeof *next);
		for (int64_t k = 0; k < from->nnz; k++) next[from->rowind[k] + 1]++;
		for (int64_t i = 0; i < n; i++) next[i + 1] += next[i];
		memcpy(p->colptr, next, (size_t)(n + 1) * sizeof *next);
		for (int64_t j = 0; j < n; j++) {
			for (int64_t k = from->colptr[j]; k < from->colptr[j + 1]; k++) {
				moved[k] = next[from->rowind[k]]++;
				p->rowind[moved[k]] = j;
			}
		}
		for (int64_t k = 0; k < from->nvalues; k++) p->place[k] = moved[from->place[k]];
	}
	heap_free(s->c, moved, (size_t)(from->nnz + n + 1) * sizeof *moved);
	return st == ST_OK ? order_copied(s, p, from) : st;
}

void pattern_end(Solve *s, Pattern *p) {
	if (p->colptr) heap_free(s->c, p->colptr, p->bytes);
	if (p->order) heap_free(s->c, p->order, p->order_bytes);
	*p = (Pattern){0};
}

SUNMatrix pattern_matrix(Solve *s, const Pattern *p) {
	const sunindextype n = (sunindextype)p->n;
	if (p->dense) return sundials.SUNDenseMatrix(n, n, s->sun);
	if (p->banded) {
		const sunindextype above = (sunindextype)p->band.above;
		return sundials.SUNBandMatrixStorage(n, above, (sunindextype)p->band.below, above, s->sun);
	}
	return sundials.SUNSparseMatrix(n, n, (sunindextype)p->nnz, CSC_MAT, s->sun);
}

SUNLinearSolver pattern_solver(Solve *s, const Pattern *p, N_Vector y, SUNMatrix m) {
	if (p->banded) return band_solver(s, p);
	if (sundials.SUNMatGetID(m) == SUNMATRIX_DENSE) return sundials.SUNLinSol_Dense(y, m, s->sun);
	if (p->multifrontal || p->iterated) return sparse_solver(s, p, y);
	SUNLinearSolver klu = sundials.SUNLinSol_KLU(y, m, s->sun);
	/* SUNDIALS' default ordering uses the pattern of A'A. KLU's own, by A + A',
	 * has far less fill-in on two-dimensional grids. */
	if (klu) sundials.SUNLinSol_KLUSetOrdering(klu, 0);
	return klu;
}

void pattern_row_sizes(const Pattern *p, const double *values, SUNMatrix m, const double *y,
                       double *sizes) {
	memset(sizes, 0, (size_t)p->n * sizeof *sizes);
	if (p->dense) {
		for (int64_t i = 0; i < p->n; i++)
			for (int64_t j = 0; j < p->n; j++) sizes[i] += fabs(values[i * p->n + j] * y[j]);
	} else if (p->banded) {
		const int64_t above = p->band.above, rows = p->band.below + above + 1;
		for (int64_t k = 0; k < p->nvalues; k++) {
			const int64_t j = p->place[k] / rows, i = p->place[k] % rows - above + j;
			if (p->order) sizes[p->order[i]] += fabs(values[k] * y[p->order[j]]);
			else sizes[i] += fabs(values[k] * y[j]);
		}
	} else {
		const double *data = SM_DATA_S(m);
		for (int64_t j = 0; j < p->n; j++)
			for (int64_t k = p->colptr[j]; k < p->colptr[j + 1]; k++)
				sizes[p->rowind[k]] += fabs(data[k] * y[j]);
	}
}

void pattern_fill(const Pattern *p, const double *values, double sign, bool transposed,
                  SUNMatrix m) {
	if (p->dense) { /* row-major to column-major */
		for (int64_t j = 0; j < p->n; j++) {
			double *column = sundials.SUNDenseMatrix_Column(m, (sunindextype)j);
			for (int64_t i = 0; i < p->n; i++)
				column[i] = sign * (transposed ? values[j * p->n + i] : values[i * p->n + j]);
		}
		return;
	}
	if (p->banded) {
		double *band = sundials.SUNBandMatrix_Data(m);
		memset(band, 0, (size_t)p->n * (size_t)sundials.SUNBandMatrix_LDim(m) * sizeof *band);
		for (int64_t k = 0; k < p->nvalues; k++) band[p->place[k]] += sign * values[k];
		return;
	}
	double *data = SM_DATA_S(m);
	/* SUNMatZero has erased the pattern */
	for (int64_t j = 0; j <= p->n; j++) SM_INDEXPTRS_S(m)[j] = (sunindextype)p->colptr[j];
	for (int64_t k = 0; k < p->nnz; k++) SM_INDEXVALS_S(m)[k] = (sunindextype)p->rowind[k];
	memset(data, 0, (size_t)p->nnz * sizeof *data);
	for (int64_t k = 0; k < p->nvalues; k++) data[p->place[k]] += sign * values[k];
}
