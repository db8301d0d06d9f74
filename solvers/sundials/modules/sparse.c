/* sparse.c - SUNDIALS linear solver for sparse Jacobians whose factors fill in:
 * multifrontal LU (UMFPACK), or GMRES with incomplete factors.
 *
 * Method: the preconditioner is relaxed ILU(0) in reverse Cuthill-McKee order.
 * Dropped fill-in is added to the diagonal, which preserves smooth modes,
 * unless the pivot would become small. The columns of A are the rows of A', so
 * the factorisation is A' = L U, and A = U' L'. Sources: Meijerink and van der
 * Vorst, Math. Comp. 31 (1977); Gustafsson, BIT 18 (1978); Axelsson and
 * Lindskog, Numer. Math. 48 (1986); Saad and Schultz, SIAM J. Sci. Stat.
 * Comput. 7 (1986); the order: Duff and Meurant, BIT 29 (1989).
 *
 * Needs: sundials.h, factor_cache.h; SUNDIALS' GMRES.
 *
 * Contract:
 * - The matrix is not changed. GMRES allocates nothing after the first setup.
 * - A singular matrix is a recoverable failure.
 * - On a zero pivot, or when GMRES fails several times in a row, exact factors
 *   replace it permanently. If the user chose iterations, SUNDIALS reduces the
 *   step instead.
 */
#include "solvers/linear/factor_cache.h"
#include "solvers/sundials/modules/sundials.h"
#include <math.h>

enum { KRYLOV = 20, RESTARTS = 5, PATIENCE = 3 };
/* RELAXED: share of the dropped fill-in that is added to the diagonal. TIGHTER:
 * factor on the tolerance that SUNDIALS requests. The residual enters its error
 * estimate; with its own tolerance it takes far more steps. */
#define RELAXED 0.99
#define TIGHTER 0.01

typedef struct Sparse {
	Solve *s;
	const Pattern *p;
	bool iterated;
	int64_t failed_solves; /* consecutive failures */
	/* the matrix by columns in its order, rows ascending; from: index into the
	 * values of SUNDIALS' matrix; diagonal: index of each diagonal element
	 * (iterated) */
	int64_t *start, *row, *from, *diagonal, *place;
	double *values, *moved;
	size_t bytes;
	Factors *factors;
	SUNLinearSolver gmres;
	SUNMatrix matrix;
	int flag;
} Sparse;

static Sparse *sparse_of(SUNLinearSolver s) { return s->content; }

/* ---- the permuted matrix ------------------------------------------------- */

/* Sorts by columns in the order, by two transpositions, so that rows ascend. */
static Status arrange(Sparse *k, const int64_t *order) {
	const Pattern *p = k->p;
	const int64_t n = p->n, nnz = p->nnz;
	const size_t bytes = (size_t)(2 * n + 1 + 2 * nnz) * sizeof(int64_t);
	int64_t *inverse = heap_alloc(k->s->c, bytes);
	if (!inverse) return ST_NOMEM;
	int64_t *next = inverse + n, *column = next + n + 1, *source = column + nnz;
	for (int64_t i = 0; i < n; i++) inverse[order ? order[i] : i] = i;
	/* by rows */
	memset(next, 0, (size_t)(n + 1) * sizeof *next);
	for (int64_t e = 0; e < nnz; e++) next[inverse[p->rowind[e]] + 1]++;
	for (int64_t i = 0; i < n; i++) next[i + 1] += next[i];
	for (int64_t j = 0; j < n; j++) {
		const int64_t old = order ? order[j] : j;
		for (int64_t e = p->colptr[old]; e < p->colptr[old + 1]; e++) {
			const int64_t at = next[inverse[p->rowind[e]]]++;
			column[at] = j;
			source[at] = e;
		}
	}
	/* next[i] is now the end of row i */
	memset(k->start, 0, (size_t)(n + 1) * sizeof *k->start);
	for (int64_t e = 0; e < nnz; e++) k->start[column[e] + 1]++;
	for (int64_t j = 0; j < n; j++) k->start[j + 1] += k->start[j];
	memcpy(k->place, k->start, (size_t)n * sizeof *k->place);
	for (int64_t i = 0, e = 0; i < n; i++)
		for (; e < next[i]; e++) {
			const int64_t at = k->place[column[e]]++;
			k->row[at] = i;
			k->from[at] = source[e];
		}
	for (int64_t j = 0; j < n; j++) {
		k->place[j] = -1;
		for (int64_t e = k->start[j]; e < k->start[j + 1]; e++)
			if (k->row[e] == j) k->diagonal[j] = e;
	}
	heap_free(k->s->c, inverse, bytes);
	return ST_OK;
}

/* ---- incomplete factors -------------------------------------------------- */

/* A' = L U on the pattern of A', whose rows are start, row. The diagonal is
 * replaced by its inverse. Returns false when a pivot is zero or not finite. */
static bool incomplete(Sparse *k) {
	const int64_t n = k->p->n, *start = k->start, *row = k->row, *diagonal = k->diagonal;
	int64_t *place = k->place; /* position of a column in this row */
	double *v = k->values;
	bool good = true;
	for (int64_t i = 0; i < n && good; i++) {
		const int64_t end = start[i + 1];
		double size = 0, dropped = 0;
		const double given = v[diagonal[i]];
		for (int64_t e = start[i]; e < end; e++) {
			place[row[e]] = e;
			size += fabs(v[e]);
		}
		for (int64_t e = start[i]; e < diagonal[i]; e++) {
			const int64_t j = row[e];
			const double factor = v[e] *= v[diagonal[j]];
			for (int64_t q = diagonal[j] + 1; q < start[j + 1]; q++) {
				const int64_t at = place[row[q]];
				if (at >= 0) v[at] -= factor * v[q];
				else dropped -= factor * v[q];
			}
		}
		const double plain = v[diagonal[i]], modified = plain + RELAXED * dropped;
		const double pivot = modified * given > 0.05 * given * given ? modified : plain;
		good = isfinite(pivot) && fabs(pivot) > 1e-14 * size;
		v[diagonal[i]] = 1 / pivot;
		for (int64_t e = start[i]; e < end; e++) place[row[e]] = -1;
	}
	return good;
}

static void incomplete_solve(const Sparse *k, double *x) {
	const int64_t n = k->p->n, *start = k->start, *row = k->row, *diagonal = k->diagonal;
	const double *v = k->values;
	for (int64_t i = 0; i < n; i++) {
		const double y = x[i] *= v[diagonal[i]];
		for (int64_t e = diagonal[i] + 1; e < start[i + 1]; e++) x[row[e]] -= v[e] * y;
	}
	for (int64_t i = n; i-- > 0;) {
		const double z = x[i];
		for (int64_t e = start[i]; e < diagonal[i]; e++) x[row[e]] -= v[e] * z;
	}
}

static int precondition(void *content, N_Vector r, N_Vector z, double tolerance, int left) {
	(void)tolerance, (void)left;
	Sparse *k = content;
	const int64_t n = k->p->n, *order = k->p->order;
	const double *from = vector_data(r);
	double *to = vector_data(z), *x = order ? k->moved : to;
	/* the next SUNDIALS callback reports it again */
	if (ctx_poll(k->s->c, (uint64_t)(2 * k->p->nnz)) != ST_OK) {
		k->s->status = ST_INTERRUPTED;
		return -1;
	}
	for (int64_t i = 0; i < n; i++) x[i] = from[order ? order[i] : i];
	incomplete_solve(k, x);
	for (int64_t i = 0; order && i < n; i++) to[order[i]] = x[i];
	return 0;
}

static int multiply(void *content, N_Vector v, N_Vector z) {
	const Sparse *k = content;
	const int64_t n = k->p->n, *start = k->p->colptr, *row = k->p->rowind;
	const double *a = SM_DATA_S(k->matrix), *x = vector_data(v);
	double *y = vector_data(z);
	memset(y, 0, (size_t)n * sizeof *y);
	for (int64_t j = 0; j < n; j++) {
		const double xj = x[j];
		for (int64_t e = start[j]; e < start[j + 1]; e++) y[row[e]] += a[e] * xj;
	}
	return 0;
}

/* ---- exact factors ------------------------------------------------------- */

/* Switches to exact factors, in UMFPACK's order. */
static int begin_factors(Sparse *k) {
	if (k->factors) return SUN_SUCCESS;
	if (arrange(k, NULL) != ST_OK) return SUN_ERR_MEM_FAIL;
	const SparseMatrix a = {k->p->n, k->p->n, k->start, k->row, k->values};
	for (int64_t e = 0; e < k->p->nnz; e++) k->values[e] = 0;
	k->factors = factors_begin(&a, can_factor_multifrontal() ? FACTOR_UMFPACK : FACTOR_KLU);
	return k->factors ? SUN_SUCCESS : SUN_ERR_MEM_FAIL;
}

static int exact(Sparse *k) {
	bool singular = false;
	int flag = begin_factors(k);
	if (flag != SUN_SUCCESS) return flag;
	const double *data = SM_DATA_S(k->matrix);
	double *values = factors_values(k->factors);
	for (int64_t e = 0; e < k->p->nnz; e++) values[e] = data[k->from[e]];
	const Status st = factors_renew(k->s->c, k->factors, &singular);
	if (st != ST_OK) {
		k->s->status = st;
		return SUN_ERR_MEM_FAIL;
	}
	return singular ? SUNLS_LUFACT_FAIL : SUN_SUCCESS;
}

static void give_up_iterations(Sparse *k) {
	k->iterated = false;
	k->failed_solves = 0;
}

/* ---- SUNDIALS' operations ------------------------------------------------ */

static SUNLinearSolver_Type type_direct(SUNLinearSolver s) {
	(void)s;
	return SUNLINEARSOLVER_DIRECT;
}
static SUNLinearSolver_Type type_iterated(SUNLinearSolver s) {
	(void)s;
	return SUNLINEARSOLVER_MATRIX_ITERATIVE;
}
static SUNLinearSolver_ID custom_id(SUNLinearSolver s) {
	(void)s;
	return SUNLINEARSOLVER_CUSTOM;
}
static int initialize(SUNLinearSolver s) {
	sparse_of(s)->flag = SUN_SUCCESS;
	return SUN_SUCCESS;
}
static sunindextype last_flag(SUNLinearSolver s) { return sparse_of(s)->flag; }

static int set_scaling(SUNLinearSolver s, N_Vector left, N_Vector right) {
	return sundials.SUNLinSolSetScalingVectors(sparse_of(s)->gmres, left, right);
}
static int set_zero_guess(SUNLinearSolver s, sunbooleantype on) {
	return sundials.SUNLinSolSetZeroGuess(sparse_of(s)->gmres, on);
}
/* With 0 iterations SUNDIALS would take the residual for the solution. */
static int iterations(SUNLinearSolver s) {
	return sparse_of(s)->iterated ? sundials.SUNLinSolNumIters(sparse_of(s)->gmres) : 1;
}
static N_Vector residual(SUNLinearSolver s) { return sundials.SUNLinSolResid(sparse_of(s)->gmres); }
static double residual_norm(SUNLinearSolver s) {
	return sparse_of(s)->iterated ? sundials.SUNLinSolResNorm(sparse_of(s)->gmres) : 0;
}

static int setup(SUNLinearSolver s, SUNMatrix m) {
	Sparse *k = sparse_of(s);
	k->matrix = m;
	if (k->iterated) {
		const double *data = SM_DATA_S(m);
		for (int64_t e = 0; e < k->p->nnz; e++) k->values[e] = data[k->from[e]];
		const bool good = incomplete(k);
		if (good || k->p->chosen) return k->flag = good ? SUN_SUCCESS : SUNLS_PSET_FAIL_REC;
		give_up_iterations(k);
	}
	return k->flag = exact(k);
}

static int solve(SUNLinearSolver s, SUNMatrix m, N_Vector x, N_Vector b, double tolerance) {
	Sparse *k = sparse_of(s);
	if (k->iterated) {
		k->flag = sundials.SUNLinSolSolve(k->gmres, m, x, b, tolerance * TIGHTER);
		const bool good = k->flag == SUN_SUCCESS;
		k->failed_solves = good ? 0 : k->failed_solves + 1;
		if (good || k->flag < 0 || k->p->chosen || k->failed_solves < PATIENCE) return k->flag;
		give_up_iterations(k);
		k->flag = exact(k);
		if (k->flag != SUN_SUCCESS) return k->flag;
	}
	if (x != b) memcpy(vector_data(x), vector_data(b), (size_t)k->p->n * sizeof(double));
	const Status st = factors_apply(k->factors, false, vector_data(x));
	if (st != ST_OK) k->s->status = st;
	return k->flag = st == ST_OK ? SUN_SUCCESS : SUN_ERR_MEM_FAIL;
}

static int sparse_free(SUNLinearSolver s) {
	Sparse *k = sparse_of(s);
	if (k) {
		if (k->gmres) sundials.SUNLinSolFree(k->gmres);
		factors_end(k->factors);
		heap_free(k->s->c, k->start, k->bytes);
		heap_free(k->s->c, k, sizeof *k);
	}
	s->content = NULL;
	sundials.SUNLinSolFreeEmpty(s);
	return SUN_SUCCESS;
}

static bool make_gmres(Sparse *k, N_Vector y) {
	const int most = k->p->n < KRYLOV ? (int)k->p->n : KRYLOV;
	k->gmres = sundials.SUNLinSol_SPGMR(y, SUN_PREC_LEFT, most, k->s->sun);
	return k->gmres && sundials.SUNLinSol_SPGMRSetMaxRestarts(k->gmres, RESTARTS) == SUN_SUCCESS &&
	       sundials.SUNLinSolSetATimes(k->gmres, k, multiply) == SUN_SUCCESS &&
	       sundials.SUNLinSolSetPreconditioner(k->gmres, k, NULL, precondition) == SUN_SUCCESS &&
	       sundials.SUNLinSolInitialize(k->gmres) == SUN_SUCCESS;
}

SUNLinearSolver sparse_solver(Solve *s, const Pattern *p, N_Vector y) {
	SUNLinearSolver made = sundials.SUNLinSolNewEmpty(s->sun);
	Sparse *k = made ? heap_alloc(s->c, sizeof *k) : NULL;
	const int64_t words = 3 * p->n + 1 + 2 * p->nnz, numbers = p->nnz + p->n;
	if (k)
		*k = (Sparse){.s = s,
		              .p = p,
		              .iterated = p->iterated,
		              .bytes = (size_t)(words + numbers) * sizeof(int64_t)};
	if (k) k->start = heap_alloc(s->c, k->bytes);
	if (!k || !k->start) {
		if (k) heap_free(s->c, k, sizeof *k);
		if (made) sundials.SUNLinSolFreeEmpty(made);
		return NULL;
	}
	k->row = k->start + p->n + 1;
	k->from = k->row + p->nnz;
	k->diagonal = k->from + p->nnz;
	k->place = k->diagonal + p->n;
	k->values = (double *)(void *)(k->place + p->n);
	k->moved = k->values + p->nnz;
	made->content = k;
	made->ops->gettype = p->iterated ? type_iterated : type_direct;
	made->ops->getid = custom_id;
	made->ops->initialize = initialize;
	made->ops->setup = setup;
	made->ops->solve = solve;
	made->ops->lastflag = last_flag;
	made->ops->free = sparse_free;
	if (p->iterated) {
		made->ops->setscalingvectors = set_scaling;
		made->ops->setzeroguess = set_zero_guess;
		made->ops->numiters = iterations;
		made->ops->resnorm = residual_norm;
		made->ops->resid = residual;
	}
	if (p->iterated ? arrange(k, p->order) == ST_OK && make_gmres(k, y)
	                : begin_factors(k) == SUN_SUCCESS)
		return made;
	sparse_free(made);
	return NULL;
}
