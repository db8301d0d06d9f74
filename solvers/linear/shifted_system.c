/* shifted_system.c - linear systems of implicit integrators, (s I - J) x = b,
 * where J has a fixed pattern.
 *
 * Three host functions, which stdlib/ode/ode_rosenbrock.dsl calls and gives
 * their derivatives:
 *
 * "shifted_plan"
 *   operands  column_start i64[n + 1], rows i64[nnz]: the pattern by columns
 *   options   wish: 0 the faster one, 1 banded, 2 sparse
 *   results   plan i64[p] for the other two; workspace f64[r] and
 *             complex_pair f64[q], with the extents of the factors
 * "shifted_factor"
 *   operands  plan, workspace or complex_pair, the elements of J f64[nnz], a, b
 *   options   complex_pair: 1 for a complex shift
 *   results   factors of a I - J with workspace; of (a + i b) I - J with
 *             complex_pair
 * "shifted_solve"
 *   operands  plan, factors, b f64[n]; of a complex pair real parts, then
 *             imaginary ones, f64[2n]
 *   options   complex_pair, adjoint
 *   results   x, of b's extent
 *
 * Needs: shifted_system.h, factor_cache.h; KLU's symbolic analysis for the
 * estimate.
 *
 * Contract:
 * - Banded factors are those of band.h, the row interchanges, and the form.
 * - Sparse "factors" are the matrix by columns; the cache of factor_cache.h
 *   holds its factors. A complex pair is a real matrix with twice the unknowns.
 * - A singular banded matrix gives a solution that is not finite. The
 *   integrator then retries with another step size.
 * - A plan's mark and extents are checked before use.
 */
#include "solvers/linear/shifted_system.h"
#include "solvers/linear/factor_cache.h"
#include <klu.h>
#include <math.h>
#include <string.h>

/* ---- choice of the solver ------------------------------------------------ */

/* Cost model in nanoseconds; only ratios matter. It was fitted to five-point
 * stencils on grids of 6 x 6 to 100 x 100. A band that exceeds the caches is
 * reloaded from memory at each solve. */
static double banded_time(Bandwidth b) {
	const double n = (double)b.n, l = (double)b.below, u = (double)b.above;
	const bool far = 8 * n * (double)band_stride(b) > 4e6;
	return n * (8 + l * (1 + 0.08 * (l + u))) * (far ? 2.5 : 1) +
	       8 * n * (2 + 0.27 * (l + u)) * (far ? 4 : 1);
}

/* Above this many operations the symbolic analysis is skipped. Nested
 * dissection of 2-D and 3-D grids needs about ten times the cube of the
 * bandwidth. */
#define BEYOND_FACTORS 2e11
static double expected_flops(Bandwidth b) { return 10 * pow(0.5 * (double)(b.below + b.above), 3); }
/* Above this many operations iterations are usually faster than factors. The
 * threshold was measured with two-field reaction-diffusion systems on squares;
 * other systems may need more iterations. */
bool prefer_iterative(const LinearSolverChoice *c) { return c->flops > 1e9; }

/* UMFPACK's cost per operation is lower than KLU's, and its cost per unknown is
 * higher. KLU reuses the pivots of earlier factors. */
static Status sparse_time(int64_t n, const int64_t *start, const int64_t *row,
                          LinearSolverChoice *out) {
	klu_l_common common;
	klu_l_defaults(&common);
	klu_l_symbolic *s =
		klu_l_analyze(n, (int64_t *)(uintptr_t)start, (int64_t *)(uintptr_t)row, &common);
	out->sparse_ns = 1e300;
	/* structurally singular: the banded pivots will show it */
	if (!s) return common.status == KLU_OUT_OF_MEMORY ? ST_NOMEM : ST_OK;
	const double filled = s->lnz + s->unz;
	out->flops = s->est_flops > 0 ? s->est_flops : 0;
	out->multifrontal = out->flops > 200 * filled && can_factor_multifrontal();
	out->sparse_ns = (out->multifrontal ? 4000.0 * (double)n + 0.3 * out->flops
	                                    : 20.0 * (double)n + 1.1 * out->flops) +
	                 8 * (5.0 * (double)n + 0.65 * filled);
	klu_l_free_symbolic(&s, &common);
	return ST_OK;
}

Status choose_linear_solver(Ctx *c, int64_t n, const int64_t *start, const int64_t *row,
                            LinearSolverKind wish, int64_t *order, int64_t *inverse,
                            LinearSolverChoice *out) {
	*out = (LinearSolverChoice){.solver = wish, .band = band_width(n, start, row, NULL)};
	Status st = ST_OK;
	if (out->band.below + out->band.above > 2) {
		st = band_order(c, n, start, row, order, inverse);
		if (st != ST_OK) return st;
		const Bandwidth other = band_width(n, start, row, inverse);
		/* a new order costs a copy in each direction */
		if (other.below + other.above + 1 < out->band.below + out->band.above) {
			out->band = other;
			out->ordered = true;
		}
	}
	for (int64_t i = 0; i < n && !out->ordered; i++) order[i] = inverse[i] = i;
	out->banded_ns = banded_time(out->band);
	out->sparse_ns = 1e300;
	out->flops = expected_flops(out->band);
	if (wish == LINEAR_AUTO && out->flops > BEYOND_FACTORS && n > 100000) {
		out->multifrontal = can_factor_multifrontal();
		out->sparse_ns = 0.3 * out->flops; /* the analysis would take longer than the first steps */
	} else if (wish != LINEAR_ITERATIVE &&
	           (out->band.below + out->band.above > 6 || wish == LINEAR_SPARSE)) {
		/* skipped for narrower bands, which are always fastest */
		st = sparse_time(n, start, row, out);
	} else out->flops = 0;
	if (!out->solver)
		out->solver = out->banded_ns <= out->sparse_ns ? LINEAR_BANDED : LINEAR_SPARSE;
	return st;
}

/* ---- plans --------------------------------------------------------------- */

enum { MARK = 0x53484946, PLAN_HEAD = 16 };
enum {
	P_MARK,
	P_N,
	P_GIVEN,
	P_SOLVER,
	P_BELOW,
	P_ABOVE,
	P_ORDERED,
	P_WORKSPACE,
	P_COMPLEX_PAIR,
	P_NNZ,
	P_BANDED_NS,
	P_SPARSE_NS,
	P_MULTIFRONTAL,
	P_PREFER_ITERATIVE
};

/* The arrays of a plan, after its header: order[n]; place[given], of each
 * element in the matrix's values. If the solver is sparse: start[n + 1],
 * row[nnz], diagonal[n] of the matrix, and start[2n + 1], row[2 nnz + 2n] of
 * its complex pair. */
typedef struct ShiftedPlan {
	int64_t n, given, solver, nnz, workspace, complex_pair;
	bool ordered;
	Bandwidth band;
	int64_t *order, *place, *start, *row, *diagonal, *start2, *row2;
} ShiftedPlan;

static int64_t plan_length(int64_t n, int64_t given, int64_t solver, int64_t nnz) {
	return PLAN_HEAD + n + given +
	       (solver == LINEAR_SPARSE ? (n + 1) + nnz + n + (2 * n + 1) + (2 * nnz + 2 * n) : 0);
}

static void plan_parts(ShiftedPlan *p, int64_t *at) {
	p->order = at + PLAN_HEAD;
	p->place = p->order + p->n;
	p->start = p->place + p->given;
	p->row = p->start + p->n + 1;
	p->diagonal = p->row + p->nnz;
	p->start2 = p->diagonal + p->n;
	p->row2 = p->start2 + 2 * p->n + 1;
}

static Status wrong_plan(Ctx *c) {
	diag_error(c, E_INTERNAL, NO_SPAN, "a shifted system's plan does not fit its operands");
	return ST_INTERNAL;
}

static Status plan_read(Ctx *c, const HostArray *t, ShiftedPlan *p) {
	int64_t *at = t->data;
	if (t->count < PLAN_HEAD || at[P_MARK] != MARK) return wrong_plan(c);
	*p = (ShiftedPlan){.n = at[P_N],
	                   .given = at[P_GIVEN],
	                   .solver = at[P_SOLVER],
	                   .nnz = at[P_NNZ],
	                   .workspace = at[P_WORKSPACE],
	                   .complex_pair = at[P_COMPLEX_PAIR],
	                   .ordered = at[P_ORDERED],
	                   .band = {at[P_N], at[P_BELOW], at[P_ABOVE]}};
	if (t->count != plan_length(p->n, p->given, p->solver, p->nnz)) return wrong_plan(c);
	plan_parts(p, at);
	return ST_OK;
}

/* Fills in the diagonal and the pair by columns, from the pattern with its
 * diagonal and `place`, which are already set. */
static void fill_sparse(ShiftedPlan *p) {
	int64_t k2 = 0;
	for (int64_t j = 0; j < p->n; j++)
		for (int64_t k = p->start[j]; k < p->start[j + 1]; k++)
			if (p->row[k] == j) p->diagonal[j] = k;
	for (int64_t half = 0; half < 2; half++)
		for (int64_t j = 0; j < p->n; j++) {
			p->start2[half * p->n + j] = k2;
			if (half) p->row2[k2++] = j;
			for (int64_t k = p->start[j]; k < p->start[j + 1]; k++)
				p->row2[k2++] = half * p->n + p->row[k];
			if (!half) p->row2[k2++] = p->n + j;
		}
	p->start2[2 * p->n] = k2;
}

/* The pattern with ascending rows and the diagonal included. place: the
 * position of each given element. An invalid pattern is an error. */
static Status with_diagonal(Ctx *c, int64_t n, const int64_t *start, const int64_t *row,
                            int64_t *out_start, int64_t *out_row, int64_t *place) {
	int64_t k = 0;
	for (int64_t j = 0; j < n; j++) {
		bool there = false;
		out_start[j] = k;
		for (int64_t e = start[j]; e < start[j + 1]; e++) {
			if (row[e] < 0 || row[e] >= n || (e > start[j] && row[e] <= row[e - 1])) {
				diag_error(c, E_VALUE, NO_SPAN,
				           "the sparsity pattern of the Jacobian: the rows of a column must "
				           "ascend, and be rows of it");
				return ST_ERROR;
			}
			if (!there && row[e] >= j) {
				there = true;
				if (row[e] > j) out_row[k++] = j;
			}
			place[e] = k;
			out_row[k++] = row[e];
		}
		if (!there) out_row[k++] = j;
	}
	out_start[n] = k;
	return ST_OK;
}

static Status make_plan(Ctx *c, int64_t n, int64_t given, const int64_t *start, const int64_t *row,
                        LinearSolverKind wish, int64_t *work, Value *results) {
	int64_t *full_start = work, *full_row = full_start + n + 1, *place = full_row + given + n,
			*order = place + given, *inverse = order + n;
	LinearSolverChoice choice;
	Status st = with_diagonal(c, n, start, row, full_start, full_row, place);
	if (st == ST_OK)
		st = choose_linear_solver(c, n, full_start, full_row, wish, order, inverse, &choice);
	if (st != ST_OK) return st;
	const int64_t nnz = full_start[n], length = plan_length(n, given, choice.solver, nnz);
	ShiftedPlan p = {
		.n = n, .given = given, .solver = choice.solver, .nnz = nnz, .band = choice.band};
	const int64_t banded = n * band_stride(choice.band);
	p.workspace = choice.solver == LINEAR_BANDED ? banded + n + 1 : nnz;
	p.complex_pair = choice.solver == LINEAR_BANDED ? 2 * banded + n + 1 : 2 * nnz + 2 * n;
	Tensor *t = tensor_zeros(c, DT_I64, 1, &length),
		   *workspace = tensor_zeros(c, DT_F64, 1, &p.workspace),
		   *complex_pair = tensor_zeros(c, DT_F64, 1, &p.complex_pair);
	if (!t || !workspace || !complex_pair) {
		tensor_unref(t), tensor_unref(workspace), tensor_unref(complex_pair);
		return ST_NOMEM;
	}
	int64_t *at = (int64_t *)(void *)t->data;
	const int64_t head[] = {MARK,
	                        n,
	                        given,
	                        choice.solver,
	                        choice.band.below,
	                        choice.band.above,
	                        choice.ordered,
	                        p.workspace,
	                        p.complex_pair,
	                        nnz,
	                        (int64_t)choice.banded_ns,
	                        choice.sparse_ns < 1e18 ? (int64_t)choice.sparse_ns : -1,
	                        choice.multifrontal,
	                        prefer_iterative(&choice)};
	memcpy(at, head, sizeof head);
	plan_parts(&p, at);
	memcpy(p.order, order, (size_t)n * sizeof *order);
	if (choice.solver == LINEAR_SPARSE) {
		memcpy(p.place, place, (size_t)given * sizeof *place);
		memcpy(p.start, full_start, (size_t)(n + 1) * sizeof *p.start);
		memcpy(p.row, full_row, (size_t)nnz * sizeof *p.row);
		fill_sparse(&p);
	} else {
		for (int64_t j = 0; j < n; j++)
			for (int64_t e = start[j]; e < start[j + 1]; e++)
				p.place[e] = band_place(p.band, inverse[row[e]], inverse[j]);
	}
	results[0] = value_tensor(t);
	results[1] = value_tensor(workspace);
	results[2] = value_tensor(complex_pair);
	return ST_OK;
}

static Status plan_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                        uint32_t nresults, Value *results) {
	(void)nargs, (void)nresults;
	Tensor *start = tensor_contiguous(c, args[0].tensor),
		   *row = tensor_contiguous(c, args[1].tensor);
	Status st = start && row ? ST_OK : ST_NOMEM;
	const int64_t n = st == ST_OK ? start->count - 1 : 0, given = st == ST_OK ? row->count : 0,
				  *s = st == ST_OK ? (const int64_t *)(const void *)start->data : NULL;
	bool good = st == ST_OK && n >= 1 && s[0] == 0 && s[n] == given;
	for (int64_t j = 0; good && j < n; j++) good = s[j + 1] >= s[j];
	if (st == ST_OK && !good) {
		diag_error(c, E_VALUE, NO_SPAN,
		           "the sparsity pattern of the Jacobian: the column pointers must go from 0 to "
		           "the number of row indices");
		st = ST_ERROR;
	}
	const size_t bytes = (size_t)(4 * n + 1 + 2 * given) * sizeof(int64_t);
	int64_t *work = st == ST_OK ? heap_alloc(c, bytes) : NULL;
	if (st == ST_OK && !work) st = ST_NOMEM;
	if (st == ST_OK)
		st = make_plan(c, n, given, s, (const int64_t *)(const void *)row->data,
		               (LinearSolverKind)call->options[1], work, results);
	if (work) heap_free(c, work, bytes);
	tensor_unref(start), tensor_unref(row);
	return st;
}

/* ---- factors ------------------------------------------------------------- */

static bool is_complex_pair(const HostCall *call) { return call->options[1]; }

/* Writes the matrix's values into f, whose contents are overwritten. */
static void matrix_banded(const ShiftedPlan *p, bool complex_pair, const double *values, double a,
                          double b, double *f) {
	const int64_t stride = band_stride(p->band);
	memset(f, 0, (size_t)((complex_pair ? 2 : 1) * p->n * stride) * sizeof *f);
	if (complex_pair) {
		for (int64_t e = 0; e < p->given; e++) f[2 * p->place[e]] = -values[e];
		for (int64_t i = 0; i < p->n; i++) {
			f[2 * (i * stride + p->band.below)] += a;
			f[2 * (i * stride + p->band.below) + 1] = b;
		}
	} else {
		for (int64_t e = 0; e < p->given; e++) f[p->place[e]] = -values[e];
		for (int64_t i = 0; i < p->n; i++) f[i * stride + p->band.below] += a;
	}
}

static void factor_banded(const ShiftedPlan *p, bool complex_pair, const double *values, double a,
                          double b, double *f) {
	double *exchanges = f + (complex_pair ? 2 : 1) * p->n * band_stride(p->band);
	matrix_banded(p, complex_pair, values, a, b, f);
	if (complex_pair ? band_twisted_complex(p->band, f) : band_twisted(p->band, f)) {
		exchanges[p->n] = BAND_TWISTED;
		return;
	}
	matrix_banded(p, complex_pair, values, a, b, f);
	exchanges[p->n] = complex_pair ? band_factor_complex(p->band, f, exchanges)
	                               : band_factor(p->band, f, exchanges);
}

static void matrix_sparse(const ShiftedPlan *p, bool complex_pair, const double *values, double a,
                          double b, double *f) {
	if (!complex_pair) {
		for (int64_t e = 0; e < p->given; e++) f[p->place[e]] = -values[e];
		for (int64_t j = 0; j < p->n; j++) f[p->diagonal[j]] += a;
		return;
	}
	/* column j has an element of b after its own elements; column n + j one of
	 * -b before them */
	double *second = f + p->nnz + p->n;
	for (int64_t j = 0; j < p->n; j++) {
		double *lower = f + p->start[j] + j, *upper = second + p->start[j] + j;
		upper[0] = -b;
		lower[p->start[j + 1] - p->start[j]] = b;
	}
	int64_t j = 0;
	for (int64_t e = 0; e < p->given; e++) {
		while (p->place[e] >= p->start[j + 1]) j++;
		f[p->place[e] + j] = -values[e];
		second[p->place[e] + j + 1] = -values[e];
	}
	for (j = 0; j < p->n; j++) {
		f[p->diagonal[j] + j] += a;
		second[p->diagonal[j] + j + 1] += a;
	}
}

static Status factor_direct(Ctx *c, const HostCall *call, const HostArray *args,
                            const HostArray *results) {
	const bool complex_pair = is_complex_pair(call);
	ShiftedPlan p;
	Status st = plan_read(c, &args[0], &p);
	if (st != ST_OK) return st;
	const int64_t n = complex_pair ? p.complex_pair : p.workspace;
	if (args[1].count != n || args[2].count != p.given || results[0].count != n)
		return wrong_plan(c);
	double *out = results[0].data;
	if (p.solver == LINEAR_BANDED) {
		factor_banded(&p, complex_pair, args[2].data, *(const double *)args[3].data,
		              *(const double *)args[4].data, out);
	} else {
		memset(out, 0, (size_t)n * sizeof *out);
		matrix_sparse(&p, complex_pair, args[2].data, *(const double *)args[3].data,
		              *(const double *)args[4].data, out);
	}
	return ST_OK;
}

static Status solve_banded(Ctx *c, const ShiftedPlan *p, bool complex_pair, bool adjoint,
                           const double *f, double *x) {
	const int64_t n = p->n, numbers = n * band_stride(p->band);
	const double *exchanges = f + (complex_pair ? 2 : 1) * numbers;
	const BandForm form = (BandForm)exchanges[n];
	if (!complex_pair && !p->ordered) {
		band_solve(p->band, form, adjoint, f, exchanges, x);
		return ST_OK;
	}
	const size_t bytes = (size_t)(2 * n) * sizeof(double);
	double *z = heap_alloc(c, bytes);
	if (!z) return ST_NOMEM;
	if (complex_pair) {
		for (int64_t i = 0; i < n; i++) {
			z[2 * i] = x[p->order[i]];
			z[2 * i + 1] = x[n + p->order[i]];
		}
		band_solve_complex(p->band, form, adjoint, f, exchanges, z);
		for (int64_t i = 0; i < n; i++) {
			x[p->order[i]] = z[2 * i];
			x[n + p->order[i]] = z[2 * i + 1];
		}
	} else {
		for (int64_t i = 0; i < n; i++) z[i] = x[p->order[i]];
		band_solve(p->band, form, adjoint, f, exchanges, z);
		for (int64_t i = 0; i < n; i++) x[p->order[i]] = z[i];
	}
	heap_free(c, z, bytes);
	return ST_OK;
}

static Status solve_direct(Ctx *c, const HostCall *call, const HostArray *args,
                           const HostArray *results) {
	const bool complex_pair = is_complex_pair(call), adjoint = call->options[2];
	ShiftedPlan p;
	Status st = plan_read(c, &args[0], &p);
	if (st != ST_OK) return st;
	const int64_t n = (complex_pair ? 2 : 1) * p.n;
	if (args[1].count != (complex_pair ? p.complex_pair : p.workspace) || args[2].count != n ||
	    results[0].count != n)
		return wrong_plan(c);
	double *x = results[0].data;
	memcpy(x, args[2].data, (size_t)n * sizeof *x);
	if (p.solver == LINEAR_BANDED)
		return solve_banded(c, &p, complex_pair, adjoint, args[1].data, x);
	SparseMatrix m = {p.n, p.n, p.start, p.row, args[1].data};
	if (complex_pair) m = (SparseMatrix){n, n, p.start2, p.row2, m.values};
	return factors_solve(c, &m, FACTOR_AUTO, adjoint, 1, x, NULL);
}

/* ---- evaluation on values ------------------------------------------------ */

/* Calls `direct` on values; the one result has the extent of operand `like`. */
static Status by_values(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                        uint32_t like, Value *result) {
	Tensor *t[HOST_DIRECT_MOST] = {0}, *out = NULL;
	double numbers[HOST_DIRECT_MOST];
	HostArray in[HOST_DIRECT_MOST] = {{0}};
	Status st = ST_OK;
	for (uint32_t k = 0; k < nargs && st == ST_OK; k++) {
		if (args[k].kind == V_TENSOR) {
			if (!(t[k] = tensor_contiguous(c, args[k].tensor))) st = ST_NOMEM;
			else in[k] = (HostArray){t[k]->data, t[k]->count};
		} else {
			value_as_f64(args[k], &numbers[k]);
			in[k] = (HostArray){&numbers[k], 1};
		}
	}
	if (st == ST_OK && !(out = tensor_new(c, DT_F64, 1, &in[like].count))) st = ST_NOMEM;
	if (st == ST_OK) st = call->def->direct(c, call, in, &(HostArray){out->data, out->count});
	for (uint32_t k = 0; k < nargs; k++) tensor_unref(t[k]);
	if (st == ST_OK) *result = value_tensor(out);
	else tensor_unref(out);
	return st;
}

static Status factor_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                          uint32_t nresults, Value *results) {
	(void)nresults;
	return by_values(c, call, nargs, args, 1, results);
}

static Status solve_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                         uint32_t nresults, Value *results) {
	(void)nresults;
	return by_values(c, call, nargs, args, 2, results);
}

/* ---- types --------------------------------------------------------------- */

static void want(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                 const char *wanted) {
	bool good = strlen(wanted) == nargs;
	for (uint32_t k = 0; good && k < nargs; k++) {
		const Type *t = ref_ty(build_fn(b), args[k]);
		good = t->kind == TY_TENSOR && t->dtype == (wanted[k] == 'i' ? DT_I64 : DT_F64) &&
		       t->rank == (wanted[k] != 's');
	}
	if (good) return;
	diag_error(build_ctx(b), E_TYPE, span_of(build_ctx(b), build_span(b)),
	           "%s: wants vectors of i64 and f64, and numbers (%s)", call->def->name, wanted);
	ctx_throw(build_ctx(b), ST_ERROR);
}

static uint32_t plan_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                           TypeId *out, uint32_t cap) {
	(void)cap;
	Ctx *c = build_ctx(b);
	want(b, call, args, nargs, "ii");
	static const char *const names[3] = {"a plan", "factors", "factors"};
	for (int k = 0; k < 3; k++) {
		const Dim n = build_fresh_dim(b, atom(c, names[k]), build_span(b));
		out[k] = type_tensor(c, k ? DT_F64 : DT_I64, 1, &n);
	}
	return 3;
}

static uint32_t factor_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                             TypeId *out, uint32_t cap) {
	(void)cap;
	want(b, call, args, nargs, "iffss");
	out[0] = ref_type(build_fn(b), args[1]);
	return 1;
}

static uint32_t solve_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                            TypeId *out, uint32_t cap) {
	(void)cap;
	want(b, call, args, nargs, "iff");
	out[0] = ref_type(build_fn(b), args[2]);
	return 1;
}

const HostDef shifted_plan_host = {.name = "shifted_plan", .types = plan_types, .eval = plan_eval};
const HostDef shifted_factor_host = {
	.name = "shifted_factor", .types = factor_types, .eval = factor_eval, .direct = factor_direct};
const HostDef shifted_solve_host = {
	.name = "shifted_solve", .types = solve_types, .eval = solve_eval, .direct = solve_direct};
