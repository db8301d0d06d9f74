/* sparse.c - linear systems with sparse matrices, by KLU of SuiteSparse (T. A. Davis and E. Palamadai Natarajan, "Algorithm 907: KLU", ACM TOMS 37, 2010).
 *
 * Needs: sparse.h, KLU. Guarantees: the pattern is checked before KLU sees it, since anybody can make such a record; a singular matrix is an error of
 * the program. The rules are those of any linear solve: dx = A⁻¹ (db - dA x), and the adjoint of x = A⁻¹ b in b is a solve with the transpose.
 */
#include "solvers/sparse.h"
#include <klu.h>

enum { STARTS, ROWS, COLUMNS, VALUES, RIGHT, OPERANDS };
enum { OPTION_TRANSPOSED = 1 };

static Status refuse(Ctx *c, const char *what) {
	diag_error(c, E_VALUE, NO_SPAN, "a sparse matrix: %s", what);
	return ST_ERROR;
}

static Status check(Ctx *c, int64_t n, int64_t nnz, const int64_t *start, const int64_t *row) {
	if (start[0] != 0 || start[n] != nnz) return refuse(c, "its columns must begin at 0 and end with the last element");
	for (int64_t j = 0; j < n; j++) {
		if (start[j + 1] < start[j] || start[j + 1] > nnz) return refuse(c, "where its columns begin must not decrease");
		for (int64_t k = start[j]; k < start[j + 1]; k++) {
			if (row[k] < 0 || row[k] >= n) return refuse(c, "a row index is out of range; a system to be solved has as many rows as columns");
			if (k > start[j] && row[k] <= row[k - 1]) return refuse(c, "the rows of a column must ascend");
		}
	}
	return ST_OK;
}

static Status factorised(Ctx *c, int64_t n, int64_t *start, int64_t *row, double *values, bool transposed, int64_t nright, double *x) {
	klu_l_common common;
	klu_l_defaults(&common);
	klu_l_symbolic *symbolic = klu_l_analyze(n, start, row, &common);
	klu_l_numeric *numeric = symbolic ? klu_l_factor(start, row, values, symbolic, &common) : NULL;
	Status st = ST_OK;
	if (!numeric || common.status == KLU_SINGULAR) {
		st = common.status == KLU_OUT_OF_MEMORY ? ST_NOMEM : ST_ERROR;
		if (st == ST_ERROR) diag_error(c, E_SINGULAR, NO_SPAN, "the sparse matrix is singular: no pivot in column %lld", (long long)common.singular_col);
	} else if (!(transposed ? klu_l_tsolve(symbolic, numeric, n, nright, x, &common) : klu_l_solve(symbolic, numeric, n, nright, x, &common))) st = ST_NOMEM;
	if (numeric) klu_l_free_numeric(&numeric, &common);
	if (symbolic) klu_l_free_symbolic(&symbolic, &common);
	return st;
}

static Status eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args, uint32_t nresults, Value *results) {
	Tensor *t[OPERANDS] = {0}, *x = NULL;
	Status st = ST_OK;
	(void)nresults;
	for (uint32_t k = 0; k < nargs && st == ST_OK; k++) {
		t[k] = args[k].kind == V_TENSOR ? tensor_contiguous(c, args[k].tensor) : NULL;
		if (!t[k]) st = ST_NOMEM;
	}
	const int64_t n = st == ST_OK ? t[RIGHT]->shape[0] : 0, k = st == ST_OK && t[RIGHT]->rank == 2 ? t[RIGHT]->shape[1] : 1;
	int64_t *start = NULL, *row = NULL;
	if (st == ST_OK) {
		start = (int64_t *)(void *)t[STARTS]->data;
		row = (int64_t *)(void *)t[ROWS]->data;
		st = check(c, n, t[VALUES]->count, start, row);
	}
	if (st == ST_OK && !(x = tensor_new(c, DT_F64, t[RIGHT]->rank, t[RIGHT]->shape))) st = ST_NOMEM;
	double *room = st == ST_OK && k > 1 ? heap_alloc(c, (size_t)(n * k + 1) * sizeof *room) : NULL;
	if (st == ST_OK && k > 1 && !room) st = ST_NOMEM;
	if (st == ST_OK && n > 0 && k > 0) {
		const double *b = (const double *)(const void *)t[RIGHT]->data;
		double *out = (double *)(void *)x->data, *at = room ? room : out; /* KLU takes column after column */
		for (int64_t i = 0; i < n; i++)
			for (int64_t j = 0; j < k; j++) at[j * n + i] = b[i * k + j];
		st = factorised(c, n, start, row, (double *)(void *)t[VALUES]->data, call->options[OPTION_TRANSPOSED], k, at);
		for (int64_t i = 0; room && i < n; i++)
			for (int64_t j = 0; j < k; j++) out[i * k + j] = at[j * n + i];
	}
	if (room) heap_free(c, room, (size_t)(n * k + 1) * sizeof *room);
	for (uint32_t i = 0; i < OPERANDS; i++) tensor_unref(t[i]);
	if (st == ST_OK) results[0] = value_tensor(x);
	else tensor_unref(x);
	return st;
}

static uint32_t types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs, TypeId *out, uint32_t cap) {
	Ctx *c = build_ctx(b);
	const Fn *f = build_fn(b);
	(void)call, (void)cap;
	const Type *r = nargs == OPERANDS ? ref_ty(f, args[RIGHT]) : NULL;
	if (!r || r->dtype != DT_F64 || ref_ty(f, args[VALUES])->dtype != DT_F64 || r->rank < 1 || r->rank > 2) {
		diag_error(c, E_TYPE, span_of(c, build_span(b)), "a sparse system is solved in f64, for a vector or a matrix of right-hand sides");
		ctx_throw(c, ST_ERROR);
	}
	for (uint32_t k = STARTS; k <= VALUES; k++) {
		const Type *t = ref_ty(f, args[k]);
		if (t->rank == 1 && t->dtype == (k == VALUES ? DT_F64 : DT_I64)) continue;
		diag_error(c, E_TYPE, span_of(c, build_span(b)), "the rows, columns and column starts of a sparse matrix are vectors of i64");
		ctx_throw(c, ST_ERROR);
	}
	const Atom elements = atom(c, "the elements of a sparse matrix");
	if (!build_unify(b, ref_ty(f, args[ROWS])->dims[0], ref_ty(f, args[VALUES])->dims[0], elements) ||
	    !build_unify(b, ref_ty(f, args[COLUMNS])->dims[0], ref_ty(f, args[VALUES])->dims[0], elements)) {
		diag_error(c, E_SHAPE, span_of(c, build_span(b)), "a sparse matrix has as many rows and columns as values");
		ctx_throw(c, ST_ERROR);
	}
	const Type right = *r;
	const Dim n = dim_sub(c, ref_ty(f, args[STARTS])->dims[0], dim_const(c, 1));
	if (!build_unify(b, n, right.dims[0], atom(c, "a sparse system and its right-hand side"))) {
		diag_error(c, E_SHAPE, span_of(c, build_span(b)), "a sparse system needs a right-hand side with as many rows as the matrix has columns");
		ctx_throw(c, ST_ERROR);
	}
	out[0] = type_tensor(c, DT_F64, right.rank, right.dims);
	return 1;
}

static Ref solve(Builder *b, const Ref *args, bool transposed, Ref right) {
	Ctx *c = build_ctx(b);
	Ref in[OPERANDS], x;
	for (uint32_t k = 0; k < OPERANDS; k++) in[k] = args[k];
	in[RIGHT] = right;
	build_host(b, host_call_intern(c, host_find(c, sparse_solve_host.name), 0, NULL, 2, (int64_t[]){0, transposed}), OPERANDS, in, &x, 1);
	return x;
}

/* dA x, or dA^T x. */
static Ref product(Builder *b, const Ref *args, Ref values, bool transposed, Ref x) {
	const Ref taken = build_gather(b, x, args[transposed ? ROWS : COLUMNS], 0, 0);
	const Type t = *ref_ty(build_fn(b), taken);
	const Ref terms = build2(b, OP_MUL, build_broadcast(b, values, t.rank, t.dims, (int[]){0}), taken);
	return build_scatter(b, OP_SCATTER_ADD, build_zeros(b, ref_type(build_fn(b), x)), args[transposed ? COLUMNS : ROWS], terms, 0, 0);
}

static void jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args, const Ref *results, const Ref *tangents, Ref *result_tangents) {
	const bool transposed = call->options[OPTION_TRANSPOSED];
	(void)nargs;
	Ref right = tangents[RIGHT];
	if (tangents[VALUES] != REF_NONE) {
		const Ref moved = product(b, args, tangents[VALUES], transposed, results[0]);
		right = right == REF_NONE ? build1(b, OP_NEG, moved) : build2(b, OP_SUB, right, moved);
	}
	if (right != REF_NONE) result_tangents[0] = solve(b, args, transposed, right);
}

static void transpose(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args, const bool *linear, const Ref *result_cotangents, Ref *cotangents) {
	(void)nargs;
	if (linear[RIGHT] && result_cotangents[0] != REF_NONE) cotangents[RIGHT] = solve(b, args, !call->options[OPTION_TRANSPOSED], result_cotangents[0]);
}

const HostDef sparse_solve_host = {.name = "sparse_solve", .types = types, .eval = eval, .jvp = jvp, .transpose = transpose};
