/* small_linalg.c - factorisations and triangular solves, unrolled in registers
 * or by the runtime; direct calls of host functions.
 *
 * Needs: lower/context.h.
 *
 * Contract:
 * - Factorisations do the operations of kernels/small_linalg.c in the same
 *   order. Pivots, bits and the test for singularity are the evaluator's.
 *   Solves use multiply-adds, as contractions do.
 * - Pivots are chosen by selection, not by branches. With varying elements each
 *   lane has its own pivots.
 */
#include "backend/native/lower/schedule.h"
#include "lang/ir/host.h"

/* The number of matrices, from the leading axes of a factorisation's
 * operand. */
static uint32_t matrix_count(const StaticShape *s) {
	uint32_t n = 1;
	for (uint32_t i = 0; i + 2 < s->rank; i++) n *= (uint32_t)s->n[i];
	return n;
}

/* The first failure of a row's matrices, found without branches. Only `any` is
 * computed on success: the other values are used in the branch of the failure
 * alone, and belong to it. */
typedef struct Failure {
	KRef any;           /* bool; 0: nothing can fail */
	KRef pivot, matrix; /* i64, valid where `any` holds */
	uint32_t number;    /* of the current matrix */
} Failure;

static void note_failure(Lower *l, Failure *all, KRef bad, int64_t pivot) {
	KBuilder *b = &l->k;
	KRef at = k_int(b, pivot), matrix = k_int(b, all->number);
	all->pivot = all->any ? k_select(b, all->any, all->pivot, at) : at;
	all->matrix = all->any ? k_select(b, all->any, all->matrix, matrix) : matrix;
	all->any = all->any ? k_logic(b, 1, all->any, bad) : bad;
}

/* Fails where `any` holds. Reports the pivot and the number of the matrix, -1
 * if there is only one. */
static void check_failure(Lower *l, const Inst *in, const Failure *all, uint32_t count) {
	KBuilder *b = &l->k;
	if (!all->any) return;
	KRef which = all->matrix, total = k_int(b, count), one = k_int(b, 1);
	if (l->in_rows && lower_row_axis(l, inst_arg(l->f, in, 0)) >= 0) {
		which = k_add(b, k_mul(b, l->row_number, total), which);
		total = k_mul(b, total, lower_dim(l, l->row));
	}
	int64_t known;
	if (k_is_int(b, total, &known)) which = known == 1 ? k_int(b, -1) : which;
	else which = k_select(b, k_prim2(b, OP_EQ, total, one), k_int(b, -1), which);
	k_fail_if(b, all->any, lower_site(l, SITE_SINGULAR, in), all->pivot, which);
}

/* ---- the algorithms ------------------------------------------------------ */

/* Pivot of column j, from the entries of rows j and below. where[i]: row i is
 * the pivot row. larger[i]: entry i is larger than all before it. */
static void choose_pivot(Lower *l, uint32_t n, uint32_t j, const KRef *a, KRef *larger,
                         KRef *where) {
	KBuilder *b = &l->k;
	KRef most = k_prim1(b, OP_ABS, a[j * n + j]), later = 0;
	for (uint32_t i = j + 1; i < n; i++) {
		KRef size = k_prim1(b, OP_ABS, a[i * n + j]);
		larger[i] = k_lt(b, most, size);
		most = k_select(b, larger[i], size, most);
	}
	for (uint32_t i = n; i-- > j + 1;) {
		where[i] = later ? k_logic(b, 0, larger[i], k_not(b, later)) : larger[i];
		later = later ? k_logic(b, 1, later, larger[i]) : larger[i];
	}
}

/* Exchanges x[j] with the pivot row's entry. Entries are `step` apart. */
static void swap_rows(Lower *l, uint32_t n, uint32_t j, const KRef *larger, const KRef *where,
                      KRef *x, uint32_t step) {
	KBuilder *b = &l->k;
	KRef old = x[j * step], chosen = old;
	for (uint32_t i = j + 1; i < n; i++) chosen = k_select(b, larger[i], x[i * step], chosen);
	for (uint32_t i = j + 1; i < n; i++) x[i * step] = k_select(b, where[i], old, x[i * step]);
	x[j * step] = chosen;
}

static void lu_matrix(Lower *l, uint32_t n, KRef *a, KRef *p, Failure *failed) {
	KBuilder *b = &l->k;
	Exchanges x = {.n = n};
	for (uint32_t i = 0; i < n; i++) p[i] = k_int(b, i);
	for (uint32_t j = 0; j < n; j++) {
		KRef *larger = x.larger[j], *where = x.where[j];
		choose_pivot(l, n, j, a, larger, where);
		for (uint32_t k = 0; k < n; k++) swap_rows(l, n, j, larger, where, a + k, n);
		swap_rows(l, n, j, larger, where, p, 1);
		KRef pivot = a[j * n + j];
		note_failure(l, failed, k_prim2(b, OP_EQ, pivot, k_const(b, k_type(b, pivot), 0)), j);
		for (uint32_t i = j + 1; i < n; i++) {
			KRef factor = a[i * n + j] = k_prim2(b, OP_DIV, a[i * n + j], pivot);
			for (uint32_t k = j + 1; k < n; k++)
				a[i * n + k] = k_sub(b, a[i * n + k], k_mul(b, factor, a[j * n + k]));
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		k_bound(b, p[i], 0, (int64_t)n - 1);
		x.p[i] = p[i];
	}
	VEC_PUSH(l->scratch, &l->exchanges, x);
}

bool factor_permute(Lower *l, uint32_t n, const KRef *index, uint32_t width, const KRef *x,
                    KRef *out) {
	for (uint32_t e = l->exchanges.n; e-- > 0 && n > 1;) {
		const Exchanges *y = &l->exchanges.at[e];
		if (y->n != n || memcmp(y->p, index, n * sizeof *index)) continue;
		memcpy(out, x, (size_t)n * width * sizeof *out);
		for (uint32_t j = 0; j < n; j++)
			for (uint32_t k = 0; k < width; k++)
				swap_rows(l, n, j, y->larger[j], y->where[j], out + k, width);
		return true;
	}
	return false;
}

static void cholesky_matrix(Lower *l, uint32_t n, KRef *a, Failure *failed) {
	KBuilder *b = &l->k;
	for (uint32_t j = 0; j < n; j++) {
		for (uint32_t i = j; i < n; i++) {
			KRef sum = a[i * n + j], zero = k_const(b, k_type(b, sum), 0);
			for (uint32_t k = 0; k < j; k++)
				sum = k_sub(b, sum, k_mul(b, a[i * n + k], a[j * n + k]));
			if (i == j) note_failure(l, failed, k_not(b, k_lt(b, zero, sum)), j);
			a[i * n + j] = i > j ? k_prim2(b, OP_DIV, sum, a[j * n + j]) : k_prim1(b, OP_SQRT, sum);
		}
		for (uint32_t k = j + 1; k < n; k++) a[j * n + k] = k_const(b, k_type(b, a[0]), 0);
	}
}

/* Solves op(T) X = B in place, with r columns. */
static void solve_matrix(Lower *l, uint32_t n, uint32_t r, bool lower, bool adjoint, bool unit,
                         const KRef *t, KRef *x, Failure *failed) {
	KBuilder *b = &l->k;
	const bool forward = lower != adjoint;
	for (uint32_t i = 0; i < n && !unit; i++)
		note_failure(l, failed, k_prim2(b, OP_EQ, t[i * (n + 1)], k_const(b, k_type(b, t[0]), 0)),
		             i);
	for (uint32_t step = 0; step < n; step++) {
		const uint32_t i = forward ? step : n - 1 - step;
		for (uint32_t back = 0; back < step; back++) {
			const uint32_t k = forward ? back : n - 1 - back;
			const KRef factor = adjoint ? t[k * n + i] : t[i * n + k];
			const KRef minus = k_prim1(b, OP_NEG, factor);
			for (uint32_t j = 0; j < r; j++)
				x[i * r + j] = k_muladd(b, minus, x[k * r + j], x[i * r + j]);
		}
		for (uint32_t j = 0; j < r && !unit; j++)
			x[i * r + j] = k_prim2(b, OP_DIV, x[i * r + j], t[i * (n + 1)]);
	}
}

/* ---- matrices in memory -------------------------------------------------- */

/* A host function that machine code may call: scalars and vectors as operands,
 * and one as its result. */
static bool host_takes(const Fn *f, const Inst *in) {
	const HostDef *def = host_call(f->ctx, (HostId)attr_int(f->ctx, OP_HOST, in->attr, 0))->def;
	if (!def->direct || in->nresults != 1 || in->nargs + 1 > HOST_DIRECT_MOST) return false;
	for (uint32_t k = 0; k <= in->nargs; k++) {
		const Type *t = ref_ty(f, k < in->nargs ? inst_arg(f, in, k) : inst_result(in, 0));
		if (t->kind != TY_TENSOR || t->rank > 1 || (t->dtype != DT_F64 && t->dtype != DT_I64))
			return false;
	}
	return true;
}

bool matrix_takes(const Fn *f, const Inst *in) {
	if (in->op == OP_HOST) return host_takes(f, in);
	if (in->op != OP_LU && in->op != OP_CHOLESKY && in->op != OP_TRISOLVE) return false;
	for (uint32_t k = 0; k < in->nargs; k++) {
		const Type *t = ref_ty(f, inst_arg(f, in, k));
		if (t->kind != TY_TENSOR || t->rank != 2 || (t->dtype != DT_F64 && t->dtype != DT_F32))
			return false;
	}
	return true;
}

/* A pointer to the operand's elements. `written`: a copy that the runtime may
 * overwrite, at `to`. Registers are stored to `to`, or to the stack if it is
 * 0. */
static KRef in_memory(Lower *l, Ref r, KRef to, bool written) {
	KBuilder *b = &l->k;
	const Storage *p = lower_place(l, r);
	if (p->kind == PLACE_MEMORY) {
		if (!written) return p->pointer;
		if (to) lower_copy(l, r, to, p->pointer);
		return to;
	}
	const uint32_t size = ktype_size(ktype_of((Dtype)ref_ty(l->f, r)->dtype));
	if (!to) to = k_stack(b, (int64_t)p->count * size);
	for (uint32_t i = 0; i < p->count; i++)
		k_store(b, KM_UNIFORM, to, k_int(b, i), p->elements[i], 0);
	return to;
}

/* Memory for a result: its own, or the stack if the result will be in
 * registers. */
static KRef result_memory(Lower *l, Ref r) {
	uint32_t count;
	if (!type_is_small(l->c, ref_type(l->f, r), &count)) return lower_destination(l, r);
	return k_stack(&l->k, (int64_t)count * ktype_size(ktype_of((Dtype)ref_ty(l->f, r)->dtype)));
}

static void set_result(Lower *l, Ref r, KRef at) {
	KBuilder *b = &l->k;
	uint32_t count;
	if (!type_is_small(l->c, ref_type(l->f, r), &count)) {
		lower_set_memory(l, r, at);
		return;
	}
	KRef *out = ARENA_ARRAY(l->scratch, KRef, count + 1);
	for (uint32_t i = 0; i < count; i++)
		out[i] = k_load(b, ktype_of((Dtype)ref_ty(l->f, r)->dtype), KM_UNIFORM, at, k_int(b, i), 0);
	lower_set_small(l, r, count, out);
}

static void lower_host(Lower *l, const Inst *in) {
	const Ref result = inst_result(in, 0);
	const void *call = host_call(l->c, (HostId)attr_int(l->c, OP_HOST, in->attr, 0));
	KRef pairs[2 * HOST_DIRECT_MOST], to = result_memory(l, result);
	pairs[0] = to;
	pairs[1] = lower_count(l, ref_type(l->f, result));
	for (uint32_t k = 0; k < in->nargs; k++) {
		const Ref x = inst_arg(l->f, in, k);
		pairs[2 * k + 2] = in_memory(l, x, 0, false);
		pairs[2 * k + 3] = lower_count(l, ref_type(l->f, x));
	}
	Lower *root = l->root;
	uint32_t number = 0;
	while (number < root->hosts.n && root->hosts.at[number] != call) number++;
	if (number == root->hosts.n) VEC_PUSH(root->scratch, &root->hosts, call);
	k_host(&l->k, number, in->nargs + 1, pairs);
	set_result(l, result, to);
}

void lower_matrix(Lower *l, const Inst *in) {
	if (in->op == OP_HOST) {
		lower_host(l, in);
		return;
	}
	KBuilder *b = &l->k;
	const Ref first = inst_arg(l->f, in, 0), result = inst_result(in, 0);
	const KType t = ktype_of((Dtype)ref_ty(l->f, first)->dtype);
	const KRef n = lower_dim(l, ref_ty(l->f, first)->dims[1]);
	int64_t flags = 0;
	KRef failed;
	if (in->op == OP_TRISOLVE) {
		const Ref right = inst_arg(l->f, in, 1);
		for (uint32_t k = 0; k < 3; k++)
			flags |= attr_int(l->c, OP_TRISOLVE, in->attr, k) ? 1 << k : 0;
		const KRef x = in_memory(l, right, result_memory(l, result), true);
		failed = k_factor(b, OP_TRISOLVE, t, flags,
		                  (KRef[]){in_memory(l, first, 0, false), x, n,
		                           lower_dim(l, ref_ty(l->f, right)->dims[1])});
		set_result(l, result, x);
	} else {
		const KRef a = in_memory(l, first, result_memory(l, result), true);
		const KRef p = in->op == OP_LU ? result_memory(l, inst_result(in, 1)) : a;
		failed = k_factor(b, (Op)in->op, t, 0, (KRef[]){a, p, n, n});
		set_result(l, result, a);
		if (in->op == OP_LU) set_result(l, inst_result(in, 1), p);
	}
	if (flags & 4) return; /* a unit triangle has no pivots */
	k_fail_if(b, k_lt(b, k_int(b, 0), failed), lower_site(l, SITE_MATRIX, in),
	          k_sub(b, failed, k_int(b, 1)), n);
	if (in->op != OP_LU) return;
	const Storage *order = lower_place(l, inst_result(in, 1));
	for (uint32_t i = 0; order->kind == PLACE_SMALL && i < order->count; i++)
		k_bound(b, order->elements[i], 0, (int64_t)order->count - 1);
}

/* ---- instructions -------------------------------------------------------- */

bool factor_takes_type(Ctx *c, const Inst *in, TypeId t) {
	const Type *ty = type_of(c, t);
	int64_t n;
	if (in->op != OP_LU && in->op != OP_CHOLESKY && in->op != OP_TRISOLVE) return false;
	return ty->rank >= 2 && dtype_is_real((Dtype)ty->dtype) &&
	       dim_is_const(c, ty->dims[ty->rank - 2], &n) && n <= FACTOR_ROWS;
}

void lower_factor(Lower *l, const Inst *in) {
	const Fn *f = l->f;
	StaticShape s = lower_shape(l, inst_arg(f, in, 0));
	const uint32_t count = matrix_count(&s), n = (uint32_t)s.n[s.rank - 1];
	const KRef *x = lower_place(l, inst_arg(f, in, 0))->elements;
	Failure all = {0};
	if (in->op == OP_TRISOLVE) {
		StaticShape right = lower_shape(l, inst_arg(f, in, 1));
		const uint32_t r = (uint32_t)right.n[right.rank - 1];
		const bool lower = attr_int(l->c, OP_TRISOLVE, in->attr, 0),
				   adjoint = attr_int(l->c, OP_TRISOLVE, in->attr, 1);
		const bool unit = attr_int(l->c, OP_TRISOLVE, in->attr, 2);
		const KRef *given = lower_place(l, inst_arg(f, in, 1))->elements;
		KRef *out = ARENA_ARRAY(l->scratch, KRef, right.count + 1);
		memcpy(out, given, right.count * sizeof *out);
		for (uint32_t m = 0; m < count && right.count; m++) {
			all.number = m;
			solve_matrix(l, n, r, lower, adjoint, unit, x + m * n * n, out + m * n * r, &all);
		}
		check_failure(l, in, &all, count);
		lower_set_small(l, inst_result(in, 0), right.count, out);
		return;
	}
	KRef *out = ARENA_ARRAY(l->scratch, KRef, s.count + 1),
		 *p = ARENA_ARRAY(l->scratch, KRef, count * n + 1);
	memcpy(out, x, s.count * sizeof *out);
	for (uint32_t m = 0; m < count && n; m++) {
		KRef *a = out + m * n * n;
		all.number = m;
		if (in->op == OP_LU) lu_matrix(l, n, a, p + m * n, &all);
		else cholesky_matrix(l, n, a, &all);
	}
	check_failure(l, in, &all, count);
	lower_set_small(l, inst_result(in, 0), s.count, out);
	if (in->op == OP_LU) lower_set_small(l, inst_result(in, 1), count * n, p);
}
