/* band.c - SUNDIALS linear solver for banded Jacobians, with the factors of
 * linear/band.c.
 *
 * Needs: sundials.h, band.h.
 *
 * Contract:
 * - The matrix is not changed. Only the constructor allocates.
 * - A singular matrix is a recoverable failure.
 * - The matrix may use another order of the unknowns than the vectors. They are
 *   then permuted before and after the solve.
 */
#include "solvers/sundials/modules/sundials.h"
#include <math.h>

typedef struct BandContent {
	Ctx *c;
	const Pattern *p;
	BandForm form;
	double *factors, *exchanges, *moved;
	size_t bytes;
	sunindextype failed; /* column of a pivot that is not finite, plus 1 */
} BandContent;

static SUNLinearSolver_Type band_type(SUNLinearSolver s) {
	(void)s;
	return SUNLINEARSOLVER_DIRECT;
}

static SUNLinearSolver_ID band_id(SUNLinearSolver s) {
	(void)s;
	return SUNLINEARSOLVER_CUSTOM;
}

static int band_initialize(SUNLinearSolver s) {
	((BandContent *)s->content)->failed = 0;
	return SUN_SUCCESS;
}

static sunindextype band_last_flag(SUNLinearSolver s) {
	return ((BandContent *)s->content)->failed;
}

/* Column-major to row-major storage. */
static void take_matrix(BandContent *k, SUNMatrix m) {
	const Bandwidth b = k->p->band;
	const int64_t stride = band_stride(b), from = sundials.SUNBandMatrix_LDim(m),
				  upper = sundials.SUNBandMatrix_StoredUpperBandwidth(m);
	const double *data = sundials.SUNBandMatrix_Data(m);
	memset(k->factors, 0, (size_t)(b.n * stride) * sizeof *k->factors);
	for (int64_t j = 0; j < b.n; j++) {
		const int64_t first = j > b.above ? j - b.above : 0,
					  last = j + b.below < b.n ? j + b.below : b.n - 1;
		const double *column = data + j * from + upper - j;
		double *to = k->factors + band_place(b, first, j);
		for (int64_t i = first; i <= last; i++, to += stride - 1) *to = column[i];
	}
}

static int band_setup(SUNLinearSolver s, SUNMatrix m) {
	BandContent *k = s->content;
	const Bandwidth b = k->p->band;
	take_matrix(k, m);
	if (band_twisted(b, k->factors)) k->form = BAND_TWISTED;
	else {
		take_matrix(k, m);
		k->form = band_factor(b, k->factors, k->exchanges);
	}
	k->failed = 0;
	for (int64_t i = 0; i < b.n && !k->failed; i++)
		if (!isfinite(k->factors[band_place(b, i, i)])) k->failed = i + 1;
	return k->failed ? SUNLS_LUFACT_FAIL : SUN_SUCCESS;
}

static int band_solve_vectors(SUNLinearSolver s, SUNMatrix m, N_Vector x, N_Vector b,
                              double tolerance) {
	(void)m, (void)tolerance;
	BandContent *k = s->content;
	const int64_t n = k->p->n, *order = k->p->order;
	double *to = vector_data(x), *at = order ? k->moved : to;
	const double *from = vector_data(b);
	for (int64_t i = 0; order && i < n; i++) at[i] = from[order[i]];
	if (!order && x != b) memcpy(to, from, (size_t)n * sizeof *to);
	band_solve(k->p->band, k->form, false, k->factors, k->exchanges, at);
	for (int64_t i = 0; order && i < n; i++) to[order[i]] = at[i];
	return SUN_SUCCESS;
}

static int band_free(SUNLinearSolver s) {
	BandContent *k = s->content;
	if (k) heap_free(k->c, k->factors, k->bytes);
	if (k) heap_free(k->c, k, sizeof *k);
	s->content = NULL;
	sundials.SUNLinSolFreeEmpty(s);
	return SUN_SUCCESS;
}

SUNLinearSolver band_solver(Solve *s, const Pattern *p) {
	SUNLinearSolver made = sundials.SUNLinSolNewEmpty(s->sun);
	BandContent *k = made ? heap_alloc(s->c, sizeof *k) : NULL;
	const int64_t numbers = p->n * band_stride(p->band);
	if (k)
		*k = (BandContent){
			.c = s->c, .p = p, .bytes = (size_t)(numbers + 2 * p->n) * sizeof(double)};
	if (k) k->factors = heap_alloc(s->c, k->bytes);
	if (!k || !k->factors) {
		if (k) heap_free(s->c, k, sizeof *k);
		if (made) sundials.SUNLinSolFreeEmpty(made);
		return NULL;
	}
	k->exchanges = k->factors + numbers;
	k->moved = k->exchanges + p->n;
	made->content = k;
	made->ops->gettype = band_type;
	made->ops->getid = band_id;
	made->ops->initialize = band_initialize;
	made->ops->setup = band_setup;
	made->ops->solve = band_solve_vectors;
	made->ops->lastflag = band_last_flag;
	made->ops->free = band_free;
	return made;
}
