/* pencil.c - the operator of a sparse eigenproblem A x = lambda B x.
 *
 * Needs: pencil.h.
 *
 * Contract:
 * - Complex arithmetic is real arithmetic on [re, -im; im, re], since
 *   factorisations are real.
 * - A Hermitian problem needs a B without negative eigenvalues, else its
 *   eigenvalues may be complex. Diagonal dominance or a Cholesky factorisation
 *   proves that; it admits rounding errors of B.
 */
#include "solvers/linear/pencil.h"
#include <string.h>

/* The relative increase of B's diagonal that makes it positive definite if it
 * is semidefinite but for rounding. */
static const double admitted = 1e-10;

/* Memory that pencil_end frees; NULL when there is none. */
static void *take(Pencil *p, int64_t count, size_t size) {
	const size_t bytes = (size_t)(count > 0 ? count : 1) * size;
	void *memory = p->nowned < PENCIL_PARTS ? heap_alloc(p->c, bytes) : NULL;
	if (memory) {
		p->owned[p->nowned].memory = memory;
		p->owned[p->nowned++].bytes = bytes;
	}
	return memory;
}

/* A square matrix with room for nnz elements of `unit` numbers. */
static bool take_matrix(Pencil *p, int64_t n, int64_t nnz, int64_t unit, SparseMatrix *m) {
	*m = (SparseMatrix){n, n, take(p, n + 1, sizeof(int64_t)), take(p, nnz, sizeof(int64_t)),
	                    take(p, nnz * unit, sizeof(double))};
	return m->start && m->row && m->values;
}

/* ---- matrices ------------------------------------------------------------ */

/* out += a - sigma b at column j, where out has room. Rows ascend. */
static void merge_column(const SparseMatrix *a, const SparseMatrix *b, double complex sigma,
                         int64_t unit, int64_t j, SparseMatrix *out) {
	int64_t at = out->start[j], k = a->start[j], l = b->start[j];
	while (k < a->start[j + 1] || l < b->start[j + 1]) {
		const int64_t of_a = k < a->start[j + 1] ? a->row[k] : a->n,
					  of_b = l < b->start[j + 1] ? b->row[l] : a->n;
		double complex value = 0;
		if (of_a <= of_b) {
			value = unit == 2 ? a->values[2 * k] + a->values[2 * k + 1] * I : a->values[k];
			k++;
		}
		if (of_b <= of_a) {
			value -=
				sigma * (unit == 2 ? b->values[2 * l] + b->values[2 * l + 1] * I : b->values[l]);
			l++;
		}
		out->row[at] = of_a < of_b ? of_a : of_b;
		out->values[unit * at] = creal(value);
		if (unit == 2) out->values[2 * at + 1] = cimag(value);
		at++;
	}
	out->start[j + 1] = at;
}

/* The real form of a complex matrix: [re, -im; im, re] for each element,
 * without zeros. */
static bool real_form(Pencil *p, const SparseMatrix *a, SparseMatrix *out) {
	if (!take_matrix(p, 2 * a->n, 4 * a->start[a->n], 1, out)) return false;
	int64_t at = 0;
	for (int64_t j = 0; j < 2 * a->n; j++) {
		out->start[j] = at;
		for (int64_t k = a->start[j / 2]; k < a->start[j / 2 + 1]; k++)
			for (int64_t i = 0; i < 2; i++) {
				const double re = a->values[2 * k], im = a->values[2 * k + 1],
							 value = i == j % 2 ? re
				                     : i        ? im
				                                : -im;
				if (value == 0) continue;
				out->row[at] = 2 * a->row[k] + i;
				out->values[at++] = value;
			}
	}
	out->start[out->n] = at;
	return true;
}

static bool is_identity(const SparseMatrix *b, int64_t unit) {
	for (int64_t j = 0; j < b->n; j++)
		if (b->start[j + 1] != j + 1 || b->row[j] != j || b->values[unit * j] != 1 ||
		    (unit == 2 && b->values[2 * j + 1] != 0))
			return false;
	return true;
}

static void product(const SparseMatrix *a, const double *x, double *y) {
	memset(y, 0, (size_t)a->n * sizeof *y);
	for (int64_t j = 0; j < a->n; j++)
		for (int64_t k = a->start[j]; k < a->start[j + 1]; k++) y[a->row[k]] += a->values[k] * x[j];
}

/* ---- what B must be ------------------------------------------------------ */

/* The diagonal element of column j, and the sum of the others' magnitudes. */
static double diagonal(const SparseMatrix *b, int64_t j, double *others) {
	double d = 0;
	*others = 0;
	for (int64_t k = b->start[j]; k < b->start[j + 1]; k++) {
		if (b->row[k] == j) d = b->values[k];
		else *others += b->values[k] < 0 ? -b->values[k] : b->values[k];
	}
	return d;
}

/* The columns of B with elements, with a slightly increased diagonal. number:
 * for n numbers of columns. */
static void compress(const SparseMatrix *b, int64_t *number, SparseMatrix *out) {
	int64_t columns = 0, at = 0;
	double others;
	for (int64_t j = 0; j < b->n; j++) number[j] = diagonal(b, j, &others) > 0 ? columns++ : -1;
	for (int64_t j = 0; j < b->n; j++) {
		if (number[j] < 0) continue;
		out->start[number[j]] = at;
		for (int64_t k = b->start[j]; k < b->start[j + 1]; k++) {
			if (number[b->row[k]] < 0) continue; /* a stored zero */
			out->row[at] = number[b->row[k]];
			out->values[at++] = b->values[k] * (b->row[k] == j ? 1 + admitted : 1);
		}
	}
	out->start[columns] = at;
	out->m = out->n = columns;
}

static Status check_semidefinite(Pencil *p, PencilState *state) {
	const SparseMatrix *b = &p->b;
	bool dominated = true;
	for (int64_t j = 0; j < b->n; j++) {
		double others;
		const double d = diagonal(b, j, &others);
		if (d < 0 || (d == 0 && others > 0)) *state = PENCIL_INDEFINITE;
		dominated = dominated && d >= others;
	}
	if (dominated || *state != PENCIL_GOOD) return ST_OK;
	SparseMatrix m;
	int64_t *number = take(p, b->n, sizeof *number);
	if (!number || !take_matrix(p, b->n, b->start[b->n], 1, &m)) return ST_NOMEM;
	compress(b, number, &m);
	bool fails = false;
	Factors *f = factors_begin(&m, FACTOR_CHOLMOD);
	const Status st = f ? factors_renew(p->c, f, &fails) : ST_NOMEM;
	factors_end(f);
	if (fails) *state = PENCIL_INDEFINITE;
	return st;
}

/* ---- the operator -------------------------------------------------------- */

/* Frees the memory taken since `from`. */
static void release(Pencil *p, int from) {
	while (p->nowned > from) {
		p->nowned--;
		heap_free(p->c, p->owned[p->nowned].memory, p->owned[p->nowned].bytes);
	}
}

static Status factor(Pencil *p, PencilState *state) {
	if (!p->inverse && !p->massed) return ST_OK;
	const bool positive = p->hermitian && !p->inverse;
	bool singular = false;
	p->factors = factors_begin(p->inverse ? &p->a : &p->b, positive ? FACTOR_CHOLMOD : FACTOR_AUTO);
	if (!p->factors) return ST_NOMEM;
	const Status st = factors_renew(p->c, p->factors, &singular);
	if (singular) *state = p->inverse ? PENCIL_SINGULAR_SHIFT : PENCIL_SINGULAR_MASS;
	return st;
}

Status pencil_begin(Pencil *p, const SparseMatrix *a, const SparseMatrix *b, double complex sigma,
                    PencilState *state) {
	*state = PENCIL_GOOD;
	p->massed = !is_identity(b, p->unit);
	p->a = *a;
	p->b = *b;
	if (p->unit == 2 && !real_form(p, b, &p->b)) return ST_NOMEM;
	if (p->hermitian && p->massed && p->inverse) {
		const int before = p->nowned;
		const Status st = check_semidefinite(p, state);
		release(p, before);
		if (st != ST_OK || *state != PENCIL_GOOD) return st;
	}
	const int before = p->nowned;
	SparseMatrix shifted = *a;
	if (p->inverse) {
		if (!take_matrix(p, a->n, a->start[a->n] + b->start[a->n], p->unit, &shifted))
			return ST_NOMEM;
		shifted.start[0] = 0;
		for (int64_t j = 0; j < a->n; j++) merge_column(a, b, sigma, p->unit, j, &shifted);
	}
	p->a = shifted;
	if (p->unit == 2 && !real_form(p, &shifted, &p->a)) return ST_NOMEM;
	const Status st = factor(p, state);
	/* the factors have a copy */
	if (p->inverse) release(p, before);
	return st;
}

void pencil_end(Pencil *p) {
	factors_end(p->factors);
	release(p, 0);
}

Status pencil_apply(Pencil *p, const double *x, const double *bx, double *y) {
	const size_t bytes = (size_t)(p->n * p->unit) * sizeof *y;
	const Status st = ctx_poll(p->c, (uint64_t)(p->b.start[p->b.n] + p->n));
	if (st != ST_OK) return st;
	if (p->inverse) {
		if (p->massed && !bx) product(&p->b, x, y);
		else memcpy(y, bx ? bx : x, bytes);
	} else product(&p->a, x, y);
	return p->factors ? factors_apply(p->factors, false, y) : ST_OK;
}

void pencil_weigh(const Pencil *p, const double *x, double *y) {
	if (p->massed) product(&p->b, x, y);
	else memcpy(y, x, (size_t)(p->n * p->unit) * sizeof *y);
}

bool pencil_has_mass(const Pencil *p, int64_t j) {
	for (int64_t k = p->b.start[p->unit * j]; k < p->b.start[p->unit * j + 1]; k++)
		if (p->b.values[k] != 0) return true;
	return false;
}
