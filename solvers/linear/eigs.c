/* eigs.c - a basis for some eigenvalues of sparse matrices, as a host function.
 *
 * Method: ARPACK finds a basis for the operator of pencil.h. Of several equal
 * eigenvalues, a Krylov space contains one vector. ARPACK therefore looks for
 * better eigenvalues beside the basis until there is none (deflation: Saad,
 * Numerical Methods for Large Eigenvalue Problems, 2nd ed., SIAM 2011, ch. 4).
 * Where the space has few dimensions, the basis spans all of it.
 *
 * Needs: sparse.h, pencil.h, arpack.h.
 *
 * Contract: as in sparse.h. The caller solves the small eigenproblem on the
 * basis.
 */
#include "solvers/linear/arpack.h"
#include "solvers/linear/pencil.h"
#include "solvers/linear/sparse.h"
#include <math.h>
#include <string.h>

enum { A_STARTS, A_ROWS, A_VALUES, B_STARTS, B_ROWS, B_VALUES, SIGMA, COUNT };
enum { OPTION_INVERSE = 1, OPTION_HERMITIAN = 2, OPTION_WHICH = 3 };
enum { BASIS, IMAGE, STATE, RESULTS };
/* Of STATE, after those of PencilState. */
enum { STATE_WHOLE = 4, STATE_UNCONVERGED = 5 };
/* Spaces of at most so many dimensions are treated whole: of Hermitian problems
 * at once, of others where ARPACK fails. */
enum { WHOLE_AT_MOST = 60, WHOLE_AFTER_FAILURE = 1000 };
enum { RESTARTS = 3000, RESTARTS_BEFORE_WHOLE = 300, RESTARTS_BESIDE = 300 };
/* Without symmetry, exact shifts may stagnate, and a longer basis helps. */
enum { RESTARTS_GENERAL = 1000, LENGTHENED = 2 };
enum { LENGTH_BESIDE = 20, LENGTH_BESIDE_GENERAL = 40 };

/* The values of the option `which`, by index. */
static const char *const which_names[] = {"LM", "SM", "LA", "SA", "LR", "SR", "LI", "SI"};

typedef struct Basis {
	Pencil *p;
	const char *which;
	bool weighted; /* the inner product is B's */
	int64_t columns, room;
	double *q, *bq;         /* the columns; B times them, or q */
	double complex *values; /* the operator's eigenvalues, when ARPACK found them */
	double *h, *t;          /* coefficients; a vector */
	/* Set while ARPACK looks beside the basis: on the basis the operator is
	 * this multiple of the identity. */
	bool deflated;
	double complex neutral;
	size_t bytes;
} Basis;

/* Length of a vector in numbers. */
static int64_t length_of(const Basis *s) { return s->p->n * s->p->unit; }

static Status basis_begin(Basis *s, int64_t room) {
	const size_t n = (size_t)length_of(s), m = (size_t)(room > 0 ? room : 1);
	s->room = room;
	s->columns = 0;
	s->bytes = ((s->weighted ? 2 : 1) * n * m + 4 * m + n) * sizeof(double);
	if (!(s->q = heap_alloc(s->p->c, s->bytes))) return ST_NOMEM;
	s->bq = s->weighted ? s->q + n * m : s->q;
	s->values = (double complex *)(void *)(s->bq + n * m);
	s->h = (double *)(void *)(s->values + m);
	s->t = s->h + 2 * m;
	return ST_OK;
}

static void basis_end(Basis *s) {
	if (s->q) heap_free(s->p->c, s->q, s->bytes);
	s->q = NULL;
}

static double complex dot(const Basis *s, const double *x, const double *y) {
	const int64_t n = length_of(s);
	double re = 0, im = 0;
	if (s->p->unit == 1)
		for (int64_t i = 0; i < n; i++) re += x[i] * y[i];
	else
		for (int64_t i = 0; i < n; i += 2) {
			re += x[i] * y[i] + x[i + 1] * y[i + 1];
			im += x[i] * y[i + 1] - x[i + 1] * y[i];
		}
	return re + im * I;
}

/* y += factor * x */
static void add_multiple(const Basis *s, double complex factor, const double *x, double *y) {
	const int64_t n = length_of(s);
	const double re = creal(factor), im = cimag(factor);
	if (s->p->unit == 1)
		for (int64_t i = 0; i < n; i++) y[i] += re * x[i];
	else
		for (int64_t i = 0; i < n; i += 2) {
			const double a = x[i], b = x[i + 1];
			y[i] += re * a - im * b;
			y[i + 1] += re * b + im * a;
		}
}

/* Removes the basis' part of x; adds its coefficients to h, which may be
 * NULL. */
static void project(const Basis *s, double *x, double complex *h) {
	const int64_t n = length_of(s);
	for (int64_t j = 0; j < s->columns; j++) {
		const double complex part = dot(s, s->bq + j * n, x);
		add_multiple(s, -part, s->q + j * n, x);
		if (h) h[j] += part;
	}
}

/* Appends x made orthonormal, unless what the basis leaves of it is smaller
 * than `least`. */
static void append(Basis *s, const double *x, double least) {
	const int64_t n = length_of(s);
	if (s->columns == s->room) return;
	double *q = s->q + s->columns * n, *bq = s->bq + s->columns * n, norm[2];
	memmove(q, x, (size_t)n * sizeof *q);
	for (int turn = 0; turn < 3; turn++) {
		if (turn > 0) project(s, q, NULL);
		if (s->weighted) pencil_weigh(s->p, q, bq);
		norm[turn > 0] = sqrt(fmax(0, creal(dot(s, bq, q))));
	}
	if (!(norm[1] > least * norm[0])) return;
	for (int64_t i = 0; i < n; i++) q[i] /= norm[1];
	if (s->weighted)
		for (int64_t i = 0; i < n; i++) bq[i] /= norm[1];
	s->columns++;
}

/* ---- ARPACK -------------------------------------------------------------- */

static Status apply(void *ud, double *x, const double *bx, double *y) {
	Basis *s = ud;
	const size_t bytes = (size_t)length_of(s) * sizeof *x;
	double complex *h = (double complex *)(void *)s->h;
	Status st;
	if (!s->deflated) st = pencil_apply(s->p, x, bx, y);
	else {
		memset(h, 0, (size_t)s->columns * sizeof *h);
		memcpy(s->t, x, bytes);
		project(s, s->t, h);
		st = pencil_apply(s->p, s->t, NULL, y);
		project(s, y, NULL);
		if (s->neutral != 0)
			for (int64_t j = 0; j < s->columns; j++)
				add_multiple(s, s->neutral * h[j], s->q + j * length_of(s), y);
	}
	/* as ARPACK expects of B^-1 A */
	if (st == ST_OK && s->weighted && !s->p->inverse && s->p->unit == 1) pencil_weigh(s->p, y, x);
	return st;
}

static Status weigh(void *ud, const double *x, double *y) {
	pencil_weigh(((Basis *)ud)->p, x, y);
	return ST_OK;
}

/* Larger for eigenvalues that are wanted more. */
static double score(const Basis *s, double complex z) {
	const double im = cimag(z), sign = s->which[0] == 'L' ? 1 : -1;
	switch (s->which[1]) {
	case 'M': return sign * cabs(z);
	case 'I': return sign * (s->p->unit == 2 ? im : fabs(im));
	default: return sign * creal(z);
	}
}

/* The k-th best of the basis' eigenvalues. */
static double complex last_wanted(const Basis *s, int64_t k) {
	for (int64_t j = 0; j < s->columns; j++) {
		int64_t better = 0, equal = 0;
		for (int64_t i = 0; i < s->columns; i++) {
			better += score(s, s->values[i]) > score(s, s->values[j]);
			equal += score(s, s->values[i]) == score(s, s->values[j]);
		}
		if (better < k && better + equal >= k) return s->values[j];
	}
	return 0;
}

/* An eigenvalue that is wanted less than z, the last wanted, for the deflated
 * operator on the basis. Returns false where there is none. */
static bool find_neutral(const Basis *s, double complex z, double complex *neutral) {
	const bool large = s->which[0] == 'L', complex_ = s->p->unit == 2;
	double size = 0;
	for (int64_t j = 0; j < s->columns; j++) size = fmax(size, cabs(s->values[j]));
	const double step = large ? -size : size;
	switch (s->which[1]) {
	case 'M': *neutral = large ? 0 : 2 * cabs(z); return true;
	case 'I': *neutral = complex_ ? z + step * I : 0; return large || complex_;
	default: *neutral = creal(z) + step; return true;
	}
}

static ArpackRun new_run(Basis *s, int64_t wanted, int64_t length, int restarts) {
	const bool complex_ = s->p->unit == 2;
	const char *which = s->which;
	if (complex_ && which[1] == 'A') which = which[0] == 'L' ? "LR" : "SR";
	return (ArpackRun){.kind = complex_          ? ARPACK_COMPLEX
	                           : s->p->hermitian ? ARPACK_SYMMETRIC
	                                             : ARPACK_REAL,
	                   .weighted = s->weighted,
	                   .inverse = s->p->inverse,
	                   .which = which,
	                   .n = (int)s->p->n,
	                   .wanted = (int)wanted,
	                   .length = (int)length,
	                   .restarts = restarts,
	                   .apply = apply,
	                   .weigh = weigh,
	                   .ud = s};
}

static size_t run_bytes(const Basis *s, const ArpackRun *r) {
	return ((size_t)length_of(s) + 2) * (size_t)(r->length + 1) * sizeof(double);
}

static Status start_run(Basis *s, ArpackRun *r) {
	if (!(r->vectors = heap_alloc(s->p->c, run_bytes(s, r)))) return ST_NOMEM;
	r->values = (double complex *)(void *)(r->vectors + length_of(s) * r->length);
	return arpack_run(s->p->c, r);
}

static void end_run(Basis *s, ArpackRun *r) {
	if (r->vectors) heap_free(s->p->c, r->vectors, run_bytes(s, r));
	r->vectors = NULL;
}

static void append_found(Basis *s, const ArpackRun *r) {
	for (int j = 0; j < r->found; j++) {
		const int64_t at = s->columns;
		append(s, r->vectors + j * length_of(s), 1e-10);
		if (s->columns > at) s->values[at] = r->values[j];
	}
}

/* Appends eigenvalues that are wanted more than the k-th of the basis, but are
 * not in it. A run that does not converge shows none. */
static Status look_beside(Basis *s, int64_t k) {
	Status st = ST_OK;
	bool more = true;
	for (int start = 1; more && st == ST_OK && s->columns + 2 <= s->room; start++) {
		const double complex last = last_wanted(s, k);
		ArpackRun r =
			new_run(s, 1, s->p->hermitian ? LENGTH_BESIDE : LENGTH_BESIDE_GENERAL, RESTARTS_BESIDE);
		if (!find_neutral(s, last, &s->neutral)) break;
		s->deflated = true;
		more = false;
		/* first roughly, to see whether some may be better */
		const double rough = 1e-4, size = cabs(last);
		for (int turn = 0; turn < 2 && st == ST_OK; turn++) {
			double most = 0;
			r.tol = turn == 0 ? rough : 0;
			r.start = start;
			if ((st = start_run(s, &r)) != ST_OK || r.found == 0) break;
			double gain = score(s, r.values[0]) - score(s, last);
			for (int j = 0; j < r.found; j++) {
				most = fmax(most, cabs(r.values[j]));
				gain = fmax(gain, score(s, r.values[j]) - score(s, last));
			}
			more = turn == 1 && gain > 1e-10 * size + 1e-12 * most;
			if (gain < -2 * rough * size) break;
			if (turn == 0) end_run(s, &r);
		}
		s->deflated = false;
		const int64_t before = s->columns;
		if (more && st == ST_OK) append_found(s, &r);
		more = s->columns > before;
		end_run(s, &r);
	}
	return st;
}

/* ---- bases --------------------------------------------------------------- */

/* A basis of all vectors, except those with B x = 0 in the inner product of
 * B. */
static Status whole_basis(Basis *s, int64_t dimensions) {
	const int64_t n = s->p->n, unit = s->p->unit;
	Status st = basis_begin(s, dimensions);
	if (st != ST_OK) return st;
	if (!s->weighted) {
		memset(s->q, 0, (size_t)(n * n * unit) * sizeof *s->q);
		for (int64_t j = 0; j < n; j++) s->q[unit * (j * n + j)] = 1;
		s->columns = n;
		return ST_OK;
	}
	double *x = s->t;
	memset(x, 0, (size_t)(n * unit) * sizeof *x);
	for (int64_t j = 0; j < n && st == ST_OK; j++) {
		if (!pencil_has_mass(s->p, j)) continue;
		x[unit * j] = 1;
		append(s, x, 1e-7);
		x[unit * j] = 0;
		st = ctx_poll(s->p->c, (uint64_t)(n * s->columns));
	}
	return st;
}

static Status run_until_found(Basis *s, int64_t k, int64_t length, int64_t dimensions,
                              ArpackRun *r) {
	const bool once = s->p->hermitian || dimensions <= WHOLE_AFTER_FAILURE;
	int restarts = dimensions <= WHOLE_AFTER_FAILURE ? RESTARTS_BEFORE_WHOLE
	               : s->p->hermitian                 ? RESTARTS
	                                                 : RESTARTS_GENERAL;
	for (int turn = 0;; turn++, length *= 2, restarts /= 2) {
		*r = new_run(s, k, length, restarts);
		const Status st = start_run(s, r);
		if (st != ST_OK || r->found >= k || once || turn == LENGTHENED || 2 * length > s->p->n)
			return st;
		end_run(s, r);
	}
}

static Status find_basis(Basis *s, int64_t k, int64_t *state) {
	const int64_t n = s->p->n, length = 2 * k + 20;
	int64_t dimensions = n;
	if (s->weighted) {
		dimensions = 0;
		for (int64_t j = 0; j < n; j++) dimensions += pencil_has_mass(s->p, j);
	}
	*state = STATE_WHOLE;
	if (dimensions <= length || (s->p->hermitian && dimensions <= WHOLE_AT_MOST))
		return whole_basis(s, dimensions);
	ArpackRun r = {0};
	Status st = run_until_found(s, k, length, dimensions, &r);
	if (st == ST_OK && r.found < k && dimensions <= WHOLE_AFTER_FAILURE) {
		end_run(s, &r);
		return whole_basis(s, dimensions);
	}
	*state = r.found < k ? STATE_UNCONVERGED : PENCIL_GOOD;
	/* room for what is found beside these */
	if (st == ST_OK) st = basis_begin(s, r.found + 2 * k + 8);
	if (st == ST_OK) append_found(s, &r);
	end_run(s, &r);
	/* without mass but for rounding, vectors are not independent */
	if (*state == PENCIL_GOOD && s->columns < k) *state = STATE_WHOLE;
	return st == ST_OK && *state == PENCIL_GOOD ? look_beside(s, k) : st;
}

/* ---- the host function --------------------------------------------------- */

static Status refuse(Ctx *c, const char *what) {
	diag_error(c, E_VALUE, NO_SPAN, "eigenvalues of sparse matrices: %s", what);
	return ST_ERROR;
}

static Status view(Ctx *c, Tensor *const *t, SparseMatrix *out) {
	const int64_t n = t[A_STARTS]->shape[0] - 1;
	*out = (SparseMatrix){n, n, (int64_t *)(void *)t[A_STARTS]->data,
	                      (int64_t *)(void *)t[A_ROWS]->data, (double *)(void *)t[A_VALUES]->data};
	if (n < 0 || t[A_ROWS]->count != t[A_VALUES]->count)
		return refuse(c, "the parts of a matrix have other lengths than belong together");
	return sparse_check(c, out, t[A_VALUES]->count);
}

/* Row-major [n, columns] from vectors; image: of the operator times them. */
static Status export(Basis *s, bool image, Tensor **out) {
	const int64_t n = s->p->n, unit = s->p->unit, m = s->columns, shape[2] = {n, m};
	Status st = ST_OK;
	if (!(*out = tensor_new(s->p->c, unit == 2 ? DT_C128 : DT_F64, 2, shape))) return ST_NOMEM;
	double *to = (double *)(void *)(*out)->data;
	for (int64_t j = 0; j < m && st == ST_OK; j++) {
		const double *q = s->q + j * n * unit;
		if (image) st = pencil_apply(s->p, q, NULL, s->t);
		for (int64_t i = 0; i < n; i++)
			memcpy(to + (i * m + j) * unit, (image ? s->t : q) + i * unit,
			       (size_t)unit * sizeof *to);
	}
	return st;
}

static Status eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                   uint32_t nresults, Value *results) {
	(void)nargs, (void)nresults;
	Tensor *t[COUNT] = {0}, *out[RESULTS] = {0};
	Status st = ST_OK;
	for (uint32_t i = 0; i < COUNT && st == ST_OK; i++) {
		t[i] = args[i].kind == V_TENSOR ? tensor_contiguous(c, args[i].tensor) : NULL;
		if (!t[i]) st = ST_NOMEM;
	}
	SparseMatrix a = {0}, b = {0};
	if (st == ST_OK) st = view(c, t, &a);
	if (st == ST_OK) st = view(c, t + B_STARTS, &b);
	const int64_t k = args[COUNT].i;
	if (st == ST_OK && (a.n != b.n || k < 1 || k >= a.n || a.n > 1000000000))
		st = refuse(c, "too many rows, or too few for as many eigenvalues");
	PencilState of_pencil = PENCIL_GOOD;
	int64_t state = PENCIL_GOOD;
	Pencil p = {.c = c, .n = a.n};
	Basis s = {.p = &p, .which = which_names[call->options[OPTION_WHICH]]};
	if (st == ST_OK) {
		const double *sigma = (const double *)(const void *)t[SIGMA]->data;
		p.unit = t[A_VALUES]->dtype == DT_C128 ? 2 : 1;
		p.hermitian = call->options[OPTION_HERMITIAN];
		p.inverse = call->options[OPTION_INVERSE];
		st = pencil_begin(&p, &a, &b, p.unit == 2 ? sigma[0] + sigma[1] * I : sigma[0], &of_pencil);
		state = of_pencil;
		s.weighted = p.hermitian && p.massed;
	}
	if (st == ST_OK && state == PENCIL_GOOD) st = find_basis(&s, k, &state);
	const int64_t one = 1;
	if (st == ST_OK) st = export(&s, false, &out[BASIS]);
	if (st == ST_OK) st = export(&s, true, &out[IMAGE]);
	if (st == ST_OK && !(out[STATE] = tensor_new(c, DT_I64, 1, &one))) st = ST_NOMEM;
	if (st == ST_OK) *(int64_t *)(void *)out[STATE]->data = state;
	basis_end(&s);
	pencil_end(&p);
	for (uint32_t i = 0; i < COUNT; i++) tensor_unref(t[i]);
	for (uint32_t i = 0; i < RESULTS; i++) {
		if (st == ST_OK) results[i] = value_tensor(out[i]);
		else tensor_unref(out[i]);
	}
	return st;
}

static uint32_t types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                      TypeId *out, uint32_t cap) {
	Ctx *c = build_ctx(b);
	const Fn *f = build_fn(b);
	(void)call, (void)cap;
	const Dtype d = nargs == COUNT + 1 ? ref_ty(f, args[A_VALUES])->dtype : DT_I64;
	bool good = d == DT_F64 || d == DT_C128;
	for (uint32_t i = 0; good && i <= COUNT; i++) {
		const Type *t = ref_ty(f, args[i]);
		const bool number = i == A_VALUES || i == B_VALUES || i == SIGMA;
		good = t->dtype == (number ? d : DT_I64) && t->rank == (i == COUNT ? 0 : 1);
	}
	if (!good) {
		diag_error(c, E_TYPE, span_of(c, build_span(b)),
		           "the eigenvalues of a sparse matrix are computed in f64 or c128, and its rows "
		           "and column starts are vectors of i64");
		ctx_throw(c, ST_ERROR);
	}
	const Dim one = dim_const(c, 1), n = dim_sub(c, ref_ty(f, args[A_STARTS])->dims[0], one),
			  both[2] = {n, build_fresh_dim(b, 0, 0)};
	out[BASIS] = out[IMAGE] = type_tensor(c, d, 2, both);
	out[STATE] = type_tensor(c, DT_I64, 1, &one);
	return RESULTS;
}

const HostDef sparse_eigs_host = {.name = "sparse_eigs", .types = types, .eval = eval};
