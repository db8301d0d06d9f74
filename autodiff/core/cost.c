/* cost.c - the number of scalar operations of one run of a function.
 *
 * Method: operation counts from the instructions. Factorisations count the
 * leading terms of Golub and Van Loan, "Matrix Computations", 4th ed.; sorting
 * n log2 n comparisons; a Fourier transform 5 n log2 n.
 *
 * Needs: autodiff.h.
 *
 * Contract:
 * - Emits nothing and never throws.
 * - An unknown extent (data-dependent, or memory ran out) counts as one.
 * - A loop counts its trip count where that follows from extents and constants,
 *   else one.
 * - Of two branches the more expensive one counts; a recursive call counts as
 *   nothing.
 */
#include "autodiff/autodiff.h"
#include <math.h>

#define KNOWN_DEPTH 16 /* of the integer arithmetic that is followed */

typedef struct Cost {
	const Fn *f;
	/* A private copy; symbols that the function binds are filled in on the way.
	 * NULL when memory ran out. */
	int64_t *syms;
	uint32_t nsyms;
	const struct Cost *caller;
	CallVisit visit; /* or NULL */
	void *ud;
} Cost;

static double length(const Cost *k, Dim d) {
	int64_t v;
	return dim_eval(k->f->ctx, d, k->syms, k->nsyms, &v) ? (double)v : 1;
}

static double elements(const Cost *k, Ref r) {
	const Type *t = ref_ty(k->f, r);
	double n = 1;
	for (uint32_t a = 0; t->kind == TY_TENSOR && a < t->rank; a++) n *= length(k, t->dims[a]);
	return n;
}

static double axis_length(const Cost *k, Ref r, int64_t axis) {
	return length(k, ref_ty(k->f, r)->dims[axis]);
}

static double log2_of(double n) { return n > 1 ? log2(n) : 1; }

static double region_cost(const Cost *k, const Region *g);

/* Evaluates an integer that follows from constants and extents, such as a trip
 * count or the extent of an array. */
static bool known(const Cost *k, Ref r, int64_t *out, uint32_t depth) {
	const Const *constant = ref_constant(k->f, r);
	if (constant) return value_as_i64(constant->value, out);
	const Inst *in = ref_inst(k->f, r);
	if (!in || depth > KNOWN_DEPTH || ref_ty(k->f, r)->rank) return false;
	const Op op = (Op)in->op;
	int64_t x[2] = {0, 0};
	switch (op) {
	case OP_EXTENT:
		return dim_eval(k->f->ctx, (Dim)attr_int(k->f->ctx, op, in->attr, 0), k->syms, k->nsyms,
		                out);
	case OP_NEG:
	case OP_ADD:
	case OP_SUB:
	case OP_MUL:
	case OP_MAX:
	case OP_MIN:
	case OP_FLOORDIV:
	case OP_MOD:
		if (ref_ty(k->f, r)->dtype != DT_I64) return false;
		for (uint32_t i = 0; i < in->nargs; i++)
			if (!known(k, inst_arg(k->f, in, i), &x[i], depth + 1)) return false;
		return scalar_apply(op, DT_I64, &x[0], &x[1], out) == ST_OK;
	default: return false;
	}
}

static double turns(const Cost *k, Ref count) {
	int64_t n;
	if (!known(k, count, &n, 0)) return 1;
	return n > 0 ? (double)n : 0;
}

static double function_cost(const Fn *f, const int64_t *syms, uint32_t nsyms, const Cost *caller,
                            CallVisit visit, void *ud) {
	for (const Cost *k = caller; k; k = k->caller)
		if (k->f == f) return 0;
	Cost k = {.f = f, .caller = caller, .visit = visit, .ud = ud};
	if (f->syms.n) k.syms = heap_alloc(f->ctx, f->syms.n * sizeof *k.syms);
	if (k.syms) k.nsyms = f->syms.n;
	for (uint32_t s = 0; s < k.nsyms; s++) k.syms[s] = s < nsyms ? syms[s] : -1;
	const double cost = region_cost(&k, &f->regions.at[0]);
	if (k.syms) heap_free(f->ctx, k.syms, k.nsyms * sizeof *k.syms);
	return cost;
}

/* Records the value of a symbol that this instruction binds. */
static void bind(const Cost *k, const Inst *in) {
	SymId s;
	int64_t n;
	if (dim_is_sym(k->f->ctx, (Dim)attr_int(k->f->ctx, OP_BIND, in->attr, 0), &s) && s < k->nsyms &&
	    k->syms[s] < 0 && known(k, inst_arg(k->f, in, 0), &n, 0) && n >= 0)
		k->syms[s] = n;
}

/* The callee's symbols take the extents of the operands. */
static double call_cost(const Cost *k, const Inst *in) {
	Ctx *c = k->f->ctx;
	Fn *callee;
	if (in->op == OP_HOST) {
		const HostCall *h = host_call(c, (HostId)attr_int(c, OP_HOST, in->attr, 0));
		callee = h->def->written ? h->fns[0] : NULL;
	} else {
		callee = inst_callee(c, in);
	}
	if (!callee || !callee->finished) return 0;
	uint32_t n = callee->syms.n;
	int64_t *syms = n ? heap_alloc(c, n * sizeof *syms) : NULL;
	for (uint32_t s = 0; syms && s < n; s++) syms[s] = -1;
	for (uint32_t p = 0; syms && p < in->nargs; p++) {
		const Type *want = ref_ty(callee, fn_param(callee, p)),
				   *have = ref_ty(k->f, inst_arg(k->f, in, p));
		for (uint32_t a = 0; want->kind == TY_TENSOR && a < want->rank; a++) {
			SymId s;
			int64_t v;
			if (!dim_is_sym(c, want->dims[a], &s) || syms[s] >= 0) continue;
			if (dim_eval(c, have->dims[a], k->syms, k->nsyms, &v)) syms[s] = v;
		}
	}
	double cost = function_cost(callee, syms, syms ? n : 0, k, NULL, NULL);
	if (k->visit && (syms || !n)) k->visit(k->ud, callee, syms, cost);
	if (syms) heap_free(c, syms, n * sizeof *syms);
	return cost;
}

static double dot_cost(const Cost *k, const Inst *in) {
	uint32_t n;
	const int64_t *axes = attr_field(k->f->ctx, OP_DOT, in->attr, 0, &n);
	double m = 2 * elements(k, inst_result(in, 0));
	for (uint32_t i = 0; i < n; i++) m *= axis_length(k, inst_arg(k->f, in, 0), axes[i]);
	return m;
}

/* a * rows * columns^2 + b * columns^3 for each matrix. */
static double matrix_cost(const Cost *k, Ref x, double a, double b) {
	uint32_t rank = ref_ty(k->f, x)->rank;
	double rows = axis_length(k, x, rank - 2), columns = axis_length(k, x, rank - 1),
		   all = elements(k, x);
	if (rows < columns) {
		double t = rows;
		rows = columns;
		columns = t;
	}
	return rows * columns > 0
	           ? all / (rows * columns) * (a * rows + b * columns) * columns * columns
	           : 0;
}

static double inst_cost(const Cost *k, const Inst *in) {
	const Fn *f = k->f;
	Op op = (Op)in->op;
	if (prims[op].elementwise) return elements(k, inst_result(in, 0));
	Ref x = in->nargs ? inst_arg(f, in, 0) : REF_NONE;
	switch (op) {
	case OP_SELECT: return elements(k, inst_result(in, 0));
	case OP_REDUCE_SUM:
	case OP_REDUCE_PROD:
	case OP_REDUCE_MAX:
	case OP_REDUCE_MIN:
	case OP_ARGMAX:
	case OP_CUMSUM:
	case OP_CUMPROD: return elements(k, x);
	case OP_SCATTER_ADD: return elements(k, inst_arg(f, in, 2));
	case OP_RANDOM: return elements(k, inst_result(in, 0));
	case OP_DOT: return dot_cost(k, in);
	case OP_FFT:
		return 5 * elements(k, x) * log2_of(axis_length(k, x, attr_int(f->ctx, op, in->attr, 0)));
	case OP_ARGSORT:
		return elements(k, x) * log2_of(axis_length(k, x, attr_int(f->ctx, op, in->attr, 0)));
	case OP_CHOLESKY: return matrix_cost(k, x, 1.0 / 3, 0);
	case OP_LU: return matrix_cost(k, x, 1, -1.0 / 3);
	case OP_QR: return matrix_cost(k, x, 4, -4.0 / 3);
	case OP_EIGH: return matrix_cost(k, x, 0, 9);
	case OP_EIG: return matrix_cost(k, x, 0, 25);
	case OP_SVD: return matrix_cost(k, x, 14, 8);
	case OP_TRISOLVE:
		return elements(k, inst_arg(f, in, 1)) * axis_length(k, x, ref_ty(f, x)->rank - 1);
	case OP_IF:
	case OP_TRY: {
		double first = region_cost(k, inst_region(f, in, 0)),
			   second = region_cost(k, inst_region(f, in, 1));
		return first > second ? first : second;
	}
	case OP_FOR: return turns(k, x) * region_cost(k, inst_region(f, in, 0));
	case OP_WHILE:
		return region_cost(k, inst_region(f, in, 0)) + region_cost(k, inst_region(f, in, 1));
	case OP_CALL:
	case OP_HOST: return call_cost(k, in);
	case OP_BIND: bind(k, in); return 0;
	default: return 0;
	}
}

static double region_cost(const Cost *k, const Region *g) {
	double sum = 0;
	for (uint32_t i = 0; i < g->ninsts; i++)
		sum += inst_cost(k, &k->f->insts.at[k->f->inst_order.at[g->insts + i]]);
	return sum;
}

double fn_cost(const Fn *f, const int64_t *sym_values, uint32_t nsyms) {
	return function_cost(f, sym_values, nsyms, NULL, NULL, NULL);
}

void fn_calls(const Fn *f, const int64_t *sym_values, CallVisit visit, void *ud) {
	function_cost(f, sym_values, sym_values ? f->syms.n : 0, NULL, visit, ud);
}
