/* sparse.c - sparse linear systems and least squares as host functions.
 *
 * Needs: sparse.h, factor_cache.h.
 *
 * Contract:
 * - The pattern is checked before SuiteSparse sees it, because programs can
 *   build such records freely.
 * - A singular matrix is an error of the program.
 * - Derivatives of square systems: dx = A⁻¹ (db - dA x). The adjoint of x = A⁻¹
 *   b with respect to b is a solve with the transpose. Those of least squares
 *   are in stdlib/linalg/sparse.dsl.
 */
#include "solvers/linear/sparse.h"

enum { STARTS, ROWS, COLUMNS, VALUES, RIGHT, OPERANDS };
enum { OPTION_TRANSPOSED = 1, OPTION_METHOD = 2 };

static Status refuse(Ctx *c, const char *what) {
	diag_error(c, E_VALUE, NO_SPAN, "a sparse matrix: %s", what);
	return ST_ERROR;
}

Status sparse_check(Ctx *c, const SparseMatrix *a, int64_t nnz) {
	if (a->start[0] != 0 || a->start[a->n] != nnz)
		return refuse(c, "its columns must begin at 0 and end with the last element");
	for (int64_t j = 0; j < a->n; j++) {
		if (a->start[j + 1] < a->start[j] || a->start[j + 1] > nnz)
			return refuse(c, "where its columns begin must not decrease");
		for (int64_t k = a->start[j]; k < a->start[j + 1]; k++) {
			if (a->row[k] < 0 || a->row[k] >= a->m)
				return refuse(c, a->m == a->n ? "a row index is out of range; a system to be "
				                                "solved has as many rows as columns"
				                              : "a row index is out of range");
			if (k > a->start[j] && a->row[k] <= a->row[k - 1])
				return refuse(c, "the rows of a column must ascend");
		}
	}
	return ST_OK;
}

/* Row-major to column-major order, or back. */
static void turn(int64_t n, int64_t k, const double *from, double *to, bool back) {
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < k; j++)
			to[back ? i * k + j : j * n + i] = from[back ? j * n + i : i * k + j];
}

/* Checks the operands and solves. m: rows of A, -1 for a square system. rows:
 * rows of the solution, -1 for those of the right-hand side. */
static Status solve_operands(Ctx *c, const HostCall *call, const Value *args, int64_t m,
                             int64_t rows, Value *result) {
	const bool transposed = call->options[OPTION_TRANSPOSED], least = m >= 0;
	Tensor *t[OPERANDS] = {0}, *x = NULL;
	Status st = ST_OK;
	for (uint32_t k = 0; k < OPERANDS && st == ST_OK; k++) {
		t[k] = args[k].kind == V_TENSOR ? tensor_contiguous(c, args[k].tensor) : NULL;
		if (!t[k]) st = ST_NOMEM;
	}
	const int64_t given = st == ST_OK ? t[RIGHT]->shape[0] : 0,
				  k = st == ST_OK && t[RIGHT]->rank == 2 ? t[RIGHT]->shape[1] : 1;
	SparseMatrix a = {0};
	if (st == ST_OK) {
		const int64_t n = t[STARTS]->shape[0] - 1;
		a = (SparseMatrix){least ? m : n, n, (int64_t *)(void *)t[STARTS]->data,
		                   (int64_t *)(void *)t[ROWS]->data, (double *)(void *)t[VALUES]->data};
		/* a function read from a file may lack its guards */
		if (n < 0 || t[ROWS]->count != t[VALUES]->count || (!least && given != n))
			st = refuse(
				c, "its parts, or the right-hand side, have other lengths than belong together");
		else st = sparse_check(c, &a, t[VALUES]->count);
	}
	const int64_t shape[2] = {rows < 0 ? given : rows, k};
	if (st == ST_OK && !(x = tensor_new(c, DT_F64, t[RIGHT]->rank, shape))) st = ST_NOMEM;
	const size_t taken = (size_t)(given * k + 1) * sizeof(double),
				 got = (size_t)(shape[0] * k + 1) * sizeof(double);
	/* SuiteSparse expects column-major order */
	double *in = st == ST_OK ? heap_alloc(c, taken) : NULL,
		   *out = st == ST_OK ? heap_alloc(c, got) : NULL;
	if (st == ST_OK && (!in || !out)) st = ST_NOMEM;
	if (st == ST_OK && a.n > 0 && a.m > 0 && k > 0) {
		turn(given, k, (const double *)(const void *)t[RIGHT]->data, in, false);
		if (!least) {
			st = factors_solve(c, &a, (FactorMethod)call->options[OPTION_METHOD], transposed, k, in,
			                   NULL);
			turn(given, k, in, (double *)(void *)x->data, true);
		} else {
			st = factors_solve(c, &a, FACTOR_QR, transposed, k, transposed ? in : out,
			                   transposed ? out : in);
			turn(shape[0], k, out, (double *)(void *)x->data, true);
		}
	}
	if (in) heap_free(c, in, taken);
	if (out) heap_free(c, out, got);
	for (uint32_t i = 0; i < OPERANDS; i++) tensor_unref(t[i]);
	if (st == ST_OK) *result = value_tensor(x);
	else tensor_unref(x);
	return st;
}

static Status eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                   uint32_t nresults, Value *results) {
	(void)nargs, (void)nresults;
	return solve_operands(c, call, args, -1, -1, results);
}

/* As sparse_solve, with the additional operand row_start, whose extent gives
 * the number of rows. */
static Status eval_least(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                         uint32_t nresults, Value *results) {
	(void)nargs, (void)nresults;
	const int64_t m = args[OPERANDS].tensor->shape[0] - 1, n = args[STARTS].tensor->shape[0] - 1;
	return solve_operands(c, call, args, m, call->options[OPTION_TRANSPOSED] ? m : n, results);
}

/* Counts of factorisations made, and of cache hits. */
static Status eval_count(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                         uint32_t nresults, Value *results) {
	(void)call, (void)nargs, (void)args, (void)nresults;
	const int64_t two = 2;
	Tensor *t = tensor_new(c, DT_I64, 1, &two);
	if (!t) return ST_NOMEM;
	int64_t *n = (int64_t *)(void *)t->data;
	factors_count(&n[0], &n[1]);
	results[0] = value_tensor(t);
	return ST_OK;
}

static uint32_t types_count(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                            TypeId *out, uint32_t cap) {
	(void)call, (void)args, (void)nargs, (void)cap;
	Ctx *c = build_ctx(b);
	const Dim two = dim_const(c, 2);
	out[0] = type_tensor(c, DT_I64, 1, &two);
	return 1;
}

static uint32_t types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                      TypeId *out, uint32_t cap) {
	Ctx *c = build_ctx(b);
	const Fn *f = build_fn(b);
	(void)cap;
	const bool least = nargs == OPERANDS + 1;
	const Type *r = nargs >= OPERANDS ? ref_ty(f, args[RIGHT]) : NULL;
	if (!r || r->dtype != DT_F64 || ref_ty(f, args[VALUES])->dtype != DT_F64 || r->rank < 1 ||
	    r->rank > 2) {
		diag_error(
			c, E_TYPE, span_of(c, build_span(b)),
			"a sparse system is solved in f64, for a vector or a matrix of right-hand sides");
		ctx_throw(c, ST_ERROR);
	}
	for (uint32_t k = STARTS; k <= VALUES; k++) {
		const Type *t = ref_ty(f, args[k]);
		if (t->rank == 1 && t->dtype == (k == VALUES ? DT_F64 : DT_I64)) continue;
		diag_error(c, E_TYPE, span_of(c, build_span(b)),
		           "the rows, columns and column starts of a sparse matrix are vectors of i64");
		ctx_throw(c, ST_ERROR);
	}
	const Atom elements = atom(c, "the elements of a sparse matrix");
	if (!build_unify(b, ref_ty(f, args[ROWS])->dims[0], ref_ty(f, args[VALUES])->dims[0],
	                 elements) ||
	    !build_unify(b, ref_ty(f, args[COLUMNS])->dims[0], ref_ty(f, args[VALUES])->dims[0],
	                 elements)) {
		diag_error(c, E_SHAPE, span_of(c, build_span(b)),
		           "a sparse matrix has as many rows and columns as values");
		ctx_throw(c, ST_ERROR);
	}
	Type right = *r;
	Dim n = dim_sub(c, ref_ty(f, args[STARTS])->dims[0], dim_const(c, 1));
	if (least) {
		const Dim m = dim_sub(c, ref_ty(f, args[OPERANDS])->dims[0], dim_const(c, 1));
		const bool transposed = call->options[OPTION_TRANSPOSED];
		if (!build_unify(b, transposed ? n : m, right.dims[0],
		                 atom(c, "a sparse least-squares problem and its right-hand side"))) {
			diag_error(c, E_SHAPE, span_of(c, build_span(b)),
			           "a sparse least-squares problem needs a right-hand side with as many rows "
			           "as the matrix");
			ctx_throw(c, ST_ERROR);
		}
		right.dims[0] = transposed ? m : n;
	} else if (!build_unify(b, n, right.dims[0],
	                        atom(c, "a sparse system and its right-hand side"))) {
		diag_error(
			c, E_SHAPE, span_of(c, build_span(b)),
			"a sparse system needs a right-hand side with as many rows as the matrix has columns");
		ctx_throw(c, ST_ERROR);
	}
	out[0] = type_tensor(c, DT_F64, right.rank, right.dims);
	return 1;
}

static Ref solve(Builder *b, const HostCall *call, const Ref *args, bool transposed, Ref right) {
	Ctx *c = build_ctx(b);
	Ref in[OPERANDS], x;
	for (uint32_t k = 0; k < OPERANDS; k++) in[k] = args[k];
	in[RIGHT] = right;
	build_host(b,
	           host_call_intern(c, host_find(c, sparse_solve_host.name), 0, NULL, 3,
	                            (int64_t[]){0, transposed, call->options[OPTION_METHOD]}),
	           OPERANDS, in, &x, 1);
	return x;
}

/* dA x, or dA^T x. */
static Ref product(Builder *b, const Ref *args, Ref values, bool transposed, Ref x) {
	const Ref taken = build_gather(b, x, args[transposed ? ROWS : COLUMNS], 0, 0);
	const Type t = *ref_ty(build_fn(b), taken);
	const Ref terms =
		build2(b, OP_MUL, build_broadcast(b, values, t.rank, t.dims, (int[]){0}), taken);
	return build_scatter(b, OP_SCATTER_ADD, build_zeros(b, ref_type(build_fn(b), x)),
	                     args[transposed ? COLUMNS : ROWS], terms, 0, 0);
}

static void jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                const Ref *results, const Ref *tangents, Ref *result_tangents) {
	const bool transposed = call->options[OPTION_TRANSPOSED];
	(void)nargs;
	Ref right = tangents[RIGHT];
	if (tangents[VALUES] != REF_NONE) {
		const Ref moved = product(b, args, tangents[VALUES], transposed, results[0]);
		right = right == REF_NONE ? build1(b, OP_NEG, moved) : build2(b, OP_SUB, right, moved);
	}
	if (right != REF_NONE) result_tangents[0] = solve(b, call, args, transposed, right);
}

static void transpose(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                      const bool *linear, const Ref *result_cotangents, Ref *cotangents) {
	(void)nargs;
	if (linear[RIGHT] && result_cotangents[0] != REF_NONE)
		cotangents[RIGHT] =
			solve(b, call, args, !call->options[OPTION_TRANSPOSED], result_cotangents[0]);
}

const HostDef sparse_solve_host = {.name = "sparse_solve",
                                   .types = types,
                                   .eval = eval,
                                   .jvp = jvp,
                                   .transpose = transpose,
                                   .may_store = sparse_may_store};
const HostDef sparse_least_host = {.name = "sparse_least", .types = types, .eval = eval_least};
const HostDef sparse_count_host = {
	.name = "sparse_count", .types = types_count, .eval = eval_count};
