/* linear_algebra.c - builtins of linear algebra: factorisations, triangular
 * solves, Fourier transforms.
 *
 * Needs: table.h.
 *
 * Contract: as arrays.c. A stack of matrices is computed matrix by matrix.
 */
#include "parser/builtins/table.h"

static Ref want_matrix(Sp *sp, const CallArguments *call, uint32_t i, const char *what,
                       bool square) {
	Av *x = sp_want_array(sp, call->args[i], call->spans[i], what);
	Type t = *ty(sp, x->ref);
	const char *who = what[0] == '_' ? "this" : arena_printf(sp->a, "`%s`", what);
	if (t.rank < 2)
		sp_fail(sp, E_RANK, call->spans[i], "%s takes a matrix, not %s", who, sp_type_text(sp, x));
	Ref r = dtype_is_inexact((Dtype)t.dtype) ? x->ref : build_convert(sp->b, x->ref, DT_F64);
	if (square) {
		Atom msg = atom_f(sp->c, "%s takes a square matrix, not %s", who, sp_type_text(sp, x));
		if (!build_unify(sp->b, t.dims[t.rank - 2], t.dims[t.rank - 1], msg))
			sp_fail(sp, E_SHAPE, call->spans[i], "%s", atom_text(sp->c, msg));
	}
	return r;
}

BUILTIN(factorisation) {
	UNUSED;
	Ref r = want_matrix(sp, call, 0, self->name, self->op != OP_QR && self->op != OP_SVD),
		results[3];
	const Type t = *ty(sp, r);
	int64_t excess;
	if (self->op == OP_QR &&
	    dim_is_const(sp->c, dim_sub(sp->c, t.dims[t.rank - 2], t.dims[t.rank - 1]), &excess) &&
	    excess < 0) {
		Diag *d = diag_error(sp->c, E_SHAPE, call->spans[0],
		                     "`qr` takes a matrix with at least as many rows as columns, not %s",
		                     sp_type_text(sp, av_array(sp, r)));
		diag_hint(sp->c, d, "qr(A') factorises the adjoint");
		ctx_throw(sp->c, ST_ERROR);
	}
	build(sp->b, self->op, 1, &r, 0, results);
	if (prims[self->op].nres == 1) return av_array(sp, results[0]);
	Av *items[3];
	for (int i = 0; i < prims[self->op].nres; i++) items[i] = av_array(sp, results[i]);
	return av_seq(sp, AV_TUPLE, (uint32_t)prims[self->op].nres, items);
}

BUILTIN(trisolve) {
	UNUSED;
	Ref t = want_matrix(sp, call, 0, "trisolve", true);
	Av *b = sp_want_array(sp, call->args[1], call->spans[1], "trisolve"), *ta = av_array(sp, t);
	Dtype d = sp_common_dtype(sp, ta, b);
	t = sp_to_dtype(sp, ta, d);
	Ref rb = sp_to_dtype(sp, b, d);
	Type tb = *ty(sp, rb), tt = *ty(sp, t);
	bool vector = tb.rank + 1 == tt.rank;
	if (!vector && tb.rank != tt.rank)
		sp_fail(sp, E_RANK, call->spans[1], "cannot solve %s for %s", sp_type_text(sp, ta),
		        sp_type_text(sp, b));
	Atom what = atom_f(sp->c, "cannot solve %s for %s", sp_type_text(sp, ta), sp_type_text(sp, b));
	if (!build_unify(sp->b, tt.dims[tt.rank - 1], tb.dims[vector ? tb.rank - 1 : tb.rank - 2],
	                 what))
		sp_fail(sp, E_SHAPE, call->span, "%s", atom_text(sp->c, what));
	if (vector) {
		Dim dims[MAX_RANK];
		for (uint32_t i = 0; i < tb.rank; i++) dims[i] = build_canon(sp->b, tb.dims[i]);
		dims[tb.rank] = dim_const(sp->c, 1);
		rb = build_reshape(sp->b, rb, tb.rank + 1u, dims);
	}
	int64_t words[3];
	static const char *const names[3] = {"lower", "adjoint", "unit"};
	for (int i = 0; i < 3; i++) {
		Av *o = call_named(call, names[i], sp->c);
		words[i] = o ? sp_want_bool(sp, o, call->span, names[i]) : i == 0;
	}
	Ref r = build(sp->b, OP_TRISOLVE, 2, (Ref[]){t, rb}, attr_intern(sp->c, words, 3), NULL);
	return av_array(sp, vector ? build_reshape(sp->b, r, tb.rank, tb.dims) : r);
}

/* _solved(A, F, p, b, x): x, the solution of A x = b that was computed with the
 * packed LU factorisation F of A and its permutation p. */
BUILTIN(solved) {
	UNUSED;
	Av *x = sp_want_array(sp, call->args[4], call->spans[4], "linsolve"),
	   *b = sp_want_array(sp, call->args[3], call->spans[3], "linsolve");
	const Dtype d = (Dtype)ty(sp, x->ref)->dtype;
	Ref args[5] = {[2] = sp_want_array(sp, call->args[2], call->spans[2], "linsolve")->ref,
	               [3] = sp_to_dtype(sp, b, d),
	               [4] = x->ref};
	for (uint32_t k = 0; k < 2; k++)
		args[k] = sp_to_dtype(sp, av_array(sp, want_matrix(sp, call, k, "linsolve", true)), d);
	Type t = *ty(sp, args[4]);
	const bool vector = t.rank + 1 == ty(sp, args[0])->rank;
	for (uint32_t k = 3; k < 5 && vector; k++) {
		Dim dims[MAX_RANK];
		for (uint32_t i = 0; i < t.rank; i++) dims[i] = build_canon(sp->b, t.dims[i]);
		dims[t.rank] = dim_const(sp->c, 1);
		args[k] = build_reshape(sp->b, args[k], t.rank + 1u, dims);
	}
	const int64_t word = 0;
	Ref r = build(sp->b, OP_SOLVED, 5, args, attr_intern(sp->c, &word, 1), NULL);
	return av_array(sp, vector ? build_reshape(sp->b, r, t.rank, t.dims) : r);
}

/* _right_side(A, b): b, checked to have as many rows as A. */
BUILTIN(right_side) {
	UNUSED;
	Av *a = sp_want_array(sp, call->args[0], call->spans[0], "linsolve"),
	   *b = sp_want_array(sp, call->args[1], call->spans[1], "linsolve");
	Type ta = *ty(sp, a->ref), tb = *ty(sp, b->ref);
	const char *what =
		arena_printf(sp->a, "cannot solve %s for %s", sp_type_text(sp, a), sp_type_text(sp, b));
	bool fits = ta.rank >= 2 && tb.rank >= 1 && tb.rank <= 2;
	fits = fits && build_unify(sp->b, ta.dims[ta.rank - 2], tb.dims[0], atom(sp->c, what));
	if (!fits) sp_fail(sp, E_SHAPE, call->span, "%s", what);
	return b;
}

BUILTIN(fourier) {
	UNUSED;
	Av *x = sp_want_array(sp, call->args[0], call->spans[0], self->name);
	Type t = *ty(sp, x->ref);
	if (t.rank == 0) sp_fail(sp, E_RANK, call->spans[0], "`%s` takes an array", self->name);
	Ref r = build_convert(sp->b, x->ref, t.dtype == DT_F32 || t.dtype == DT_C64 ? DT_C64 : DT_C128);
	int64_t words[2] = {builtin_axis(sp, call, "axis", t.rank, t.rank - 1), self->name[0] == 'i'};
	return av_array(sp, build(sp->b, OP_FFT, 1, &r, attr_intern(sp->c, words, 2), NULL));
}

/* ---- the table ----------------------------------------------------------- */

const Builtin builtins_linear[] = {
	{.name = "cholesky",
     .min_args = 1,
     .max_args = 1,
     .run = factorisation,
     .op = OP_CHOLESKY,
     .doc = "cholesky(A): lower L with L L' = A"},
	{.name = "_lu", .min_args = 1, .max_args = 1, .run = factorisation, .op = OP_LU},
	{.name = "_solved", .min_args = 5, .max_args = 5, .run = solved},
	{.name = "_right_side", .min_args = 2, .max_args = 2, .run = right_side},
	{.name = "qr",
     .min_args = 1,
     .max_args = 1,
     .run = factorisation,
     .op = OP_QR,
     .doc = "qr(A): (Q, R), reduced, diagonal of R positive"},
	{.name = "eigh",
     .min_args = 1,
     .max_args = 1,
     .run = factorisation,
     .op = OP_EIGH,
     .doc = "eigh(A): (ascending eigenvalues, eigenvectors in columns) of a symmetric or Hermitian "
            "matrix"},
	{.name = "eig",
     .min_args = 1,
     .max_args = 1,
     .run = factorisation,
     .op = OP_EIG,
     .doc = "eig(A): (complex eigenvalues, eigenvectors in columns)"},
	{.name = "svd",
     .min_args = 1,
     .max_args = 1,
     .run = factorisation,
     .op = OP_SVD,
     .doc = "svd(A): (U, s, V) with A = U diag(s) V', reduced"},
	{.name = "trisolve",
     .min_args = 2,
     .max_args = 2,
     .named = "lower adjoint unit",
     .run = trisolve,
     .doc =
         "trisolve(T, b; lower = true, adjoint = false, unit = false): T x = b with T triangular"},
	{.name = "fft",
     .min_args = 1,
     .max_args = 1,
     .named = "axis",
     .run = fourier,
     .doc = "fft(x; axis = -1): discrete Fourier transform"},
	{.name = "ifft",
     .min_args = 1,
     .max_args = 1,
     .named = "axis",
     .run = fourier,
     .doc = "ifft(x; axis = -1): inverse of fft"},
	{.name = NULL},
};
