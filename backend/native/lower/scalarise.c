/* scalarise.c - scalar replacement: instructions on scalars and small fixed
 * shapes, fully unrolled, with every element in a register.
 *
 * Needs: lower/context.h.
 *
 * Contract:
 * - Values and failures are the evaluator's. Reductions combine pairwise and
 *   products use multiply-adds, so their last bits may differ.
 * - A constant index picks an element. An index known at run time selects among
 *   a few elements, or uses the stack.
 * - Where lanes are rows (map_vectorise.c), the types have an additional row
 *   axis. Axes in attributes are counted without it here.
 */
#include "backend/native/lower/context.h"

/* Elements that a chain of selects chooses from; with more, the stack is
 * used. */
#define SELECT_MOST 8
/* Element operations of one unrolled instruction, at most. */
#define WORK_MOST 512

bool type_is_small(Ctx *c, TypeId t, uint32_t *count) {
	const Type *ty = type_of(c, t);
	if (ty->kind != TY_TENSOR || dtype_is_complex((Dtype)ty->dtype)) return false;
	int64_t all = 1;
	for (uint32_t i = 0; i < ty->rank; i++) {
		int64_t n;
		if (!dim_is_const(c, ty->dims[i], &n) || n < 0 || n > SMALL_COUNT) return false;
		all *= n;
		if (all > SMALL_COUNT) return false;
	}
	if (count) *count = (uint32_t)all;
	return true;
}

int lower_row_axis(const Lower *l, Ref r) {
	if (!l->in_rows) return -1;
	const Type *t = ref_ty(l->f, r);
	for (int i = 0; i < t->rank; i++)
		if (t->dims[i] == l->row) return i;
	return -1;
}

StaticShape lower_shape(const Lower *l, Ref r) {
	Type t = *ref_ty(l->f, r);
	StaticShape s = {.count = 1};
	const int row = lower_row_axis(l, r);
	for (int i = 0; i < t.rank; i++) {
		if (i == row) continue;
		dim_is_const(l->c, t.dims[i], &s.n[s.rank]);
		s.count *= (uint32_t)s.n[s.rank++];
	}
	return s;
}

/* The words of an attribute with one word for each axis of r, without that of
 * the row axis. */
static uint32_t local_words(const Lower *l, Ref r, uint32_t n, const int64_t *words, int64_t *out) {
	const int row = lower_row_axis(l, r);
	uint32_t m = 0;
	for (uint32_t i = 0; i < n; i++)
		if ((int)i != row) out[m++] = words[i];
	return m;
}

/* An axis of r, counted without the row axis; it must not be the row axis. */
static int64_t local_axis(const Lower *l, Ref r, int64_t axis) {
	const int row = lower_row_axis(l, r);
	return axis - (row >= 0 && axis > row);
}

/* A list of axes of r, without the row axis. */
static uint32_t local_axes(const Lower *l, Ref r, uint32_t n, const int64_t *axes, int64_t *out) {
	const int row = lower_row_axis(l, r);
	uint32_t m = 0;
	for (uint32_t i = 0; i < n; i++)
		if (axes[i] != row) out[m++] = local_axis(l, r, axes[i]);
	return m;
}

static void coordinates(const StaticShape *s, uint32_t at, int64_t *x) {
	for (uint32_t i = s->rank; i-- > 0;) {
		x[i] = at % s->n[i];
		at = (uint32_t)(at / s->n[i]);
	}
}

static uint32_t position_of(const StaticShape *s, const int64_t *x) {
	int64_t at = 0;
	for (uint32_t i = 0; i < s->rank; i++) at = at * s->n[i] + x[i];
	return (uint32_t)at;
}

static KRef *room(Lower *l, uint32_t n) { return ARENA_ARRAY(l->scratch, KRef, n + 1); }

static KRef always(Lower *l) { return k_bits(&l->k, KT_BOOL, 1); }

/* ---- one element --------------------------------------------------------- */

static bool constant_bits(const KBuilder *b, KRef x, int64_t *v) {
	const KInst *in = &b->f->insts.at[b->f->vals.at[x].def];
	if (in->op != K_CONST || in->results != x) return false;
	*v = in->imm;
	return true;
}

KRef lower_element(Lower *l, const Inst *in, KRef x, KRef y, KRef mask) {
	KBuilder *b = &l->k;
	Op op = (Op)in->op;
	if (prims[op].nargs == 1) return k_prim1(b, op, x);
	KType t = k_type(b, y);
	bool whole = t == KT_I32 || t == KT_I64;
	if (whole && (op == OP_MOD || op == OP_FLOORDIV || op == OP_POW)) {
		bool power = op == OP_POW;
		int64_t v;
		if (!constant_bits(b, y, &v) || (power ? v < 0 : v == 0)) {
			KRef zero = k_const(b, t, 0), bad = k_prim2(b, power ? OP_LT : OP_EQ, y, zero);
			if (mask) bad = k_logic(b, 0, bad, mask);
			k_fail_if(b, bad, lower_site(l, power ? SITE_POWER : SITE_DIVIDE, in),
			          k_convert(b, y, KT_I64), k_int(b, 0));
		}
	}
	return k_prim2(b, op, x, y);
}

/* ---- shapes: where each element of the result comes from ----------------- */

/* The start is a constant, and the whole range is inside the axis. */
static bool fixed_run(Ctx *c, Dim start, int64_t n, int64_t step, int64_t length, int64_t *first) {
	if (!dim_is_const(c, start, first)) return false;
	if (!n) return true;
	int64_t last = *first + (n - 1) * step;
	return *first >= 0 && *first < length && last >= 0 && last < length;
}

/* Starts and strides of a slice, pad or update. */
static void run_words(const Lower *l, const Inst *in, int64_t *start, int64_t *stride,
                      uint32_t *n) {
	uint32_t all;
	const int strides = in->op == OP_UPDATE ? 1 : 2;
	const int64_t *first = attr_field(l->c, (Op)in->op, in->attr, 0, &all);
	*n = local_words(l, inst_result(in, 0), all, first, start);
	local_words(l, inst_result(in, 0), all, attr_field(l->c, (Op)in->op, in->attr, strides, &all),
	            stride);
}

static bool fixed_slice(const Lower *l, const Inst *in, int64_t *first) {
	uint32_t n;
	int64_t start[MAX_RANK], stride[MAX_RANK];
	run_words(l, in, start, stride, &n);
	StaticShape x = lower_shape(l, inst_arg(l->f, in, 0)), out = lower_shape(l, inst_result(in, 0));
	for (uint32_t i = 0; i < n; i++)
		if (!fixed_run(l->c, (Dim)start[i], out.n[i], stride[i], x.n[i], &first[i])) return false;
	return true;
}

static bool fixed_pad(const Lower *l, const Inst *in, int64_t *first) {
	uint32_t n;
	int64_t low[MAX_RANK], stride[MAX_RANK];
	run_words(l, in, low, stride, &n);
	StaticShape x = lower_shape(l, inst_arg(l->f, in, 0)), out = lower_shape(l, inst_result(in, 0));
	for (uint32_t i = 0; i < n; i++)
		if (!fixed_run(l->c, (Dim)low[i], x.n[i], stride[i], out.n[i], &first[i])) return false;
	return true;
}

static bool fixed_update(const Lower *l, const Inst *in, int64_t *first) {
	uint32_t n;
	int64_t start[MAX_RANK], stride[MAX_RANK];
	run_words(l, in, start, stride, &n);
	StaticShape v = lower_shape(l, inst_arg(l->f, in, 1)), out = lower_shape(l, inst_result(in, 0));
	for (uint32_t i = 0; i < n; i++)
		if (!fixed_run(l->c, (Dim)start[i], v.n[i], stride[i], out.n[i], &first[i])) return false;
	return true;
}

static void small_broadcast(Lower *l, const Inst *in, const KRef *x, KRef *out) {
	uint32_t n;
	int64_t axes[MAX_RANK] = {0}; /* by axis of the operand: the axis of the result */
	const int64_t *all = attr_field(l->c, OP_BROADCAST, in->attr, 1, &n);
	const int row = lower_row_axis(l, inst_arg(l->f, in, 0)),
			  to_row = lower_row_axis(l, inst_result(in, 0));
	StaticShape from = lower_shape(l, inst_arg(l->f, in, 0)),
				to = lower_shape(l, inst_result(in, 0));
	for (uint32_t i = 0, k = 0; i < n; i++) {
		if ((int)i == row) continue;
		/* -1: one element for all rows */
		axes[k++] = all[i] == to_row ? -1 : local_axis(l, inst_result(in, 0), all[i]);
	}
	for (uint32_t i = 0; i < to.count; i++) {
		int64_t at[MAX_RANK], source[MAX_RANK];
		coordinates(&to, i, at);
		for (uint32_t k = 0; k < from.rank; k++)
			source[k] = from.n[k] == 1 || axes[k] < 0 ? 0 : at[axes[k]];
		out[i] = x[position_of(&from, source)];
	}
}

static void small_transpose(Lower *l, const Inst *in, const KRef *x, KRef *out) {
	uint32_t n;
	int64_t perm[MAX_RANK];
	const int64_t *all = attr_field(l->c, OP_TRANSPOSE, in->attr, 0, &n);
	n = local_axes(l, inst_arg(l->f, in, 0), n, all, perm);
	StaticShape from = lower_shape(l, inst_arg(l->f, in, 0)),
				to = lower_shape(l, inst_result(in, 0));
	for (uint32_t i = 0; i < to.count; i++) {
		int64_t at[MAX_RANK], source[MAX_RANK];
		coordinates(&to, i, at);
		for (uint32_t k = 0; k < n; k++) source[perm[k]] = at[k];
		out[i] = x[position_of(&from, source)];
	}
}

static void small_slice(Lower *l, const Inst *in, const KRef *x, KRef *out) {
	uint32_t n;
	int64_t first[MAX_RANK], stride[MAX_RANK];
	run_words(l, in, first, stride, &n);
	StaticShape from = lower_shape(l, inst_arg(l->f, in, 0)),
				to = lower_shape(l, inst_result(in, 0));
	fixed_slice(l, in, first);
	for (uint32_t i = 0; i < to.count; i++) {
		int64_t at[MAX_RANK];
		coordinates(&to, i, at);
		for (uint32_t k = 0; k < n; k++) at[k] = first[k] + stride[k] * at[k];
		out[i] = x[position_of(&from, at)];
	}
}

static void small_pad(Lower *l, const Inst *in, const KRef *x, KRef *out) {
	uint32_t n;
	int64_t first[MAX_RANK], stride[MAX_RANK];
	run_words(l, in, first, stride, &n);
	StaticShape from = lower_shape(l, inst_arg(l->f, in, 0)),
				to = lower_shape(l, inst_result(in, 0));
	KRef zero =
		to.count ? k_const(&l->k, ktype_of((Dtype)ref_ty(l->f, inst_result(in, 0))->dtype), 0) : 0;
	fixed_pad(l, in, first);
	for (uint32_t i = 0; i < to.count; i++) out[i] = zero;
	for (uint32_t i = 0; i < from.count; i++) {
		int64_t at[MAX_RANK];
		coordinates(&from, i, at);
		for (uint32_t k = 0; k < n; k++) at[k] = first[k] + stride[k] * at[k];
		out[position_of(&to, at)] = x[i];
	}
}

static void small_update(Lower *l, const Inst *in, const KRef *x, const KRef *v, KRef *out) {
	uint32_t n;
	int64_t first[MAX_RANK], stride[MAX_RANK];
	run_words(l, in, first, stride, &n);
	StaticShape from = lower_shape(l, inst_arg(l->f, in, 1)),
				to = lower_shape(l, inst_result(in, 0));
	fixed_update(l, in, first);
	for (uint32_t i = 0; i < to.count; i++) out[i] = x[i];
	for (uint32_t i = 0; i < from.count; i++) {
		int64_t at[MAX_RANK];
		coordinates(&from, i, at);
		for (uint32_t k = 0; k < n; k++) at[k] = first[k] + stride[k] * at[k];
		out[position_of(&to, at)] = v[i];
	}
}

static void small_concat(Lower *l, const Inst *in, KRef *out) {
	int64_t axis = local_axis(l, inst_result(in, 0), attr_int(l->c, OP_CONCAT, in->attr, 0)),
			offset = 0;
	StaticShape to = lower_shape(l, inst_result(in, 0));
	for (uint32_t k = 0; k < in->nargs; k++) {
		StaticShape from = lower_shape(l, inst_arg(l->f, in, k));
		const KRef *x = lower_place(l, inst_arg(l->f, in, k))->elements;
		for (uint32_t i = 0; i < from.count; i++) {
			int64_t at[MAX_RANK];
			coordinates(&from, i, at);
			at[axis] += offset;
			out[position_of(&to, at)] = x[i];
		}
		offset += from.n[axis];
	}
}

/* ---- reductions ---------------------------------------------------------- */

static KRef reduce_pairwise(Lower *l, Op op, const KRef *x, uint32_t n) {
	if (n == 1) return x[0];
	KRef left = reduce_pairwise(l, op, x, n / 2);
	return k_prim2(&l->k, op, left, reduce_pairwise(l, op, x + n / 2, n - n / 2));
}

static void small_reduce(Lower *l, const Inst *in, const KRef *x, KRef *out) {
	Op op = in->op == OP_REDUCE_SUM    ? OP_ADD
	        : in->op == OP_REDUCE_PROD ? OP_MUL
	        : in->op == OP_REDUCE_MAX  ? OP_MAX
	                                   : OP_MIN;
	uint32_t n;
	int64_t axes[MAX_RANK];
	const int64_t *all = attr_field(l->c, (Op)in->op, in->attr, 0, &n);
	n = local_axes(l, inst_arg(l->f, in, 0), n, all, axes);
	StaticShape from = lower_shape(l, inst_arg(l->f, in, 0)),
				to = lower_shape(l, inst_result(in, 0));
	bool gone[MAX_RANK] = {false};
	for (uint32_t i = 0; i < n; i++) gone[axes[i]] = true;
	KType t = ktype_of((Dtype)ref_ty(l->f, inst_result(in, 0))->dtype);
	if (!from.count) {
		bool extreme = (op == OP_MAX || op == OP_MIN) && t != KT_BOOL;
		if (extreme && to.count)
			k_fail_if(&l->k, always(l), lower_site(l, SITE_EMPTY, in), k_int(&l->k, 0),
			          k_int(&l->k, 0));
		for (uint32_t i = 0; i < to.count; i++)
			out[i] = t == KT_BOOL ? k_bits(&l->k, t, op == OP_MIN || op == OP_MUL)
			                      : k_const(&l->k, t, op == OP_MUL);
		return;
	}
	KRef *part = room(l, from.count);
	for (uint32_t i = 0; i < to.count; i++) {
		uint32_t m = 0;
		for (uint32_t j = 0; j < from.count; j++) {
			int64_t at[MAX_RANK], kept[MAX_RANK];
			uint32_t rank = 0;
			coordinates(&from, j, at);
			for (uint32_t k = 0; k < from.rank; k++)
				if (!gone[k]) kept[rank++] = at[k];
			if (position_of(&to, kept) == i) part[m++] = x[j];
		}
		out[i] = reduce_pairwise(l, op, part, m);
	}
}

/* The sequences of elements along `axis`, one for each combination of the other
 * coordinates. `step` is the distance between their elements. */
typedef struct AxisLines {
	uint32_t n, length, step, inner;
} AxisLines;

static AxisLines lines_of(const StaticShape *s, int64_t axis) {
	AxisLines r = {.n = 1, .length = (uint32_t)s->n[axis], .step = 1};
	for (uint32_t i = 0; i < s->rank; i++) {
		if ((int64_t)i > axis) r.step *= (uint32_t)s->n[i];
		if ((int64_t)i != axis) r.n *= (uint32_t)s->n[i];
	}
	r.inner = r.step;
	return r;
}

static uint32_t line_start(const AxisLines *r, uint32_t k) {
	return k / r->inner * r->inner * r->length + k % r->inner;
}

static void small_argmax(Lower *l, const Inst *in, const KRef *x, KRef *out) {
	KBuilder *b = &l->k;
	StaticShape from = lower_shape(l, inst_arg(l->f, in, 0));
	AxisLines r = lines_of(
		&from, local_axis(l, inst_arg(l->f, in, 0), attr_int(l->c, OP_ARGMAX, in->attr, 0)));
	if (!r.length && r.n)
		k_fail_if(b, always(l), lower_site(l, SITE_EMPTY, in), k_int(b, 0), k_int(b, 0));
	for (uint32_t i = 0; i < r.n; i++) {
		out[i] = k_int(b, 0);
		if (!r.length) continue;
		uint32_t at = line_start(&r, i);
		KRef best = x[at];
		bool inexact = k_type(b, best) == KT_F32 || k_type(b, best) == KT_F64;
		for (uint32_t k = 1; k < r.length; k++) {
			KRef v = x[at + k * r.step];
			KRef more = k_lt(b, best, v);
			if (inexact) { /* the first NaN is above all numbers, and nothing is above it */
				KRef unordered = k_not(b, k_prim2(b, OP_LE, v, best));
				more = k_logic(b, 0, unordered, k_prim2(b, OP_EQ, best, best));
			}
			best = k_select(b, more, v, best);
			out[i] = k_select(b, more, k_int(b, k), out[i]);
		}
	}
}

static void small_running(Lower *l, const Inst *in, const KRef *x, KRef *out) {
	StaticShape s = lower_shape(l, inst_arg(l->f, in, 0));
	AxisLines r =
		lines_of(&s, local_axis(l, inst_arg(l->f, in, 0), attr_int(l->c, (Op)in->op, in->attr, 0)));
	bool reverse = attr_int(l->c, (Op)in->op, in->attr, 1);
	for (uint32_t i = 0; i < r.n; i++) {
		KRef sum = 0;
		for (uint32_t k = 0; k < r.length; k++) {
			uint32_t at = line_start(&r, i) + (reverse ? r.length - 1 - k : k) * r.step;
			sum = sum ? k_prim2(&l->k, in->op == OP_CUMSUM ? OP_ADD : OP_MUL, sum, x[at]) : x[at];
			out[at] = sum;
		}
	}
}

typedef struct DotShape {
	uint32_t nc, nb;
	int64_t xc[MAX_RANK], yc[MAX_RANK], xb[MAX_RANK], yb[MAX_RANK];
	StaticShape x, y, out;
	uint32_t terms;
} DotShape;

static DotShape dot_shape(const Lower *l, const Inst *in) {
	DotShape d = {.terms = 1};
	int64_t *lists[4] = {d.xc, d.yc, d.xb, d.yb};
	for (uint32_t k = 0; k < 4; k++) {
		uint32_t n;
		const int64_t *all = attr_field(l->c, OP_DOT, in->attr, k, &n);
		n = local_axes(l, inst_arg(l->f, in, k & 1), n, all, lists[k]);
		*(k < 2 ? &d.nc : &d.nb) = n;
	}
	d.x = lower_shape(l, inst_arg(l->f, in, 0));
	d.y = lower_shape(l, inst_arg(l->f, in, 1));
	d.out = lower_shape(l, inst_result(in, 0));
	for (uint32_t k = 0; k < d.nc; k++) d.terms *= (uint32_t)d.x.n[d.xc[k]];
	return d;
}

/* Sets the coordinates of the axes that are neither batched nor contracted.
 * Returns the next result axis. */
static uint32_t free_axes(const StaticShape *s, uint32_t nc, const int64_t *contract, uint32_t nb,
                          const int64_t *batch, const int64_t *at, uint32_t next, int64_t *out) {
	for (uint32_t i = 0; i < s->rank; i++) {
		bool taken = false;
		for (uint32_t k = 0; k < nc; k++) taken |= contract[k] == i;
		for (uint32_t k = 0; k < nb; k++) taken |= batch[k] == i;
		if (!taken) out[i] = at[next++];
	}
	return next;
}

static void small_dot(Lower *l, const Inst *in, const KRef *x, const KRef *y, KRef *out) {
	KBuilder *b = &l->k;
	DotShape d = dot_shape(l, in);
	KType t = ktype_of((Dtype)ref_ty(l->f, inst_result(in, 0))->dtype);
	bool inexact = t == KT_F32 || t == KT_F64;
	for (uint32_t i = 0; i < d.out.count; i++) {
		int64_t at[MAX_RANK], p[MAX_RANK] = {0}, q[MAX_RANK] = {0};
		coordinates(&d.out, i, at);
		for (uint32_t k = 0; k < d.nb; k++) p[d.xb[k]] = q[d.yb[k]] = at[k];
		uint32_t next = free_axes(&d.x, d.nc, d.xc, d.nb, d.xb, at, d.nb, p);
		free_axes(&d.y, d.nc, d.yc, d.nb, d.yb, at, next, q);
		KRef sum = 0;
		for (uint32_t term = 0; term < d.terms; term++) {
			uint32_t rest = term;
			for (uint32_t k = d.nc; k-- > 0;) {
				int64_t n = d.x.n[d.xc[k]];
				p[d.xc[k]] = q[d.yc[k]] = rest % n;
				rest = (uint32_t)(rest / n);
			}
			KRef u = x[position_of(&d.x, p)], v = y[position_of(&d.y, q)];
			sum = !sum      ? k_mul(b, u, v)
			      : inexact ? k_muladd(b, u, v, sum)
			                : k_add(b, sum, k_mul(b, u, v));
		}
		out[i] = sum ? sum : k_const(b, t, 0);
	}
}

/* ---- indices ------------------------------------------------------------- */

/* A gather or scatter, as in backend/eval/ops/gather.c. */
typedef struct GatherShape {
	uint32_t length, outer, per_batch, nindex, row;
	const KRef *index; /* i64 */
	uint32_t count;    /* of the indices */
} GatherShape;

static GatherShape places_of(Lower *l, const Inst *in, bool check) {
	KBuilder *b = &l->k;
	uint32_t axis =
		(uint32_t)local_axis(l, inst_arg(l->f, in, 0), attr_int(l->c, (Op)in->op, in->attr, 0));
	uint32_t batch = (uint32_t)attr_int(l->c, (Op)in->op, in->attr, 1);
	const int together = lower_row_axis(l, inst_arg(l->f, in, 1));
	if (together >= 0 && together < (int)batch) batch--;
	StaticShape x = lower_shape(l, inst_arg(l->f, in, 0)),
				index = lower_shape(l, inst_arg(l->f, in, 1));
	GatherShape p = {.length = (uint32_t)x.n[axis],
	                 .outer = 1,
	                 .per_batch = 1,
	                 .nindex = 1,
	                 .row = 1,
	                 .count = index.count};
	for (uint32_t i = 0; i < axis; i++) {
		p.outer *= (uint32_t)x.n[i];
		if (i >= batch) p.per_batch *= (uint32_t)x.n[i];
	}
	for (uint32_t i = axis + 1; i < x.rank; i++) p.row *= (uint32_t)x.n[i];
	for (uint32_t i = batch; i < index.rank; i++) p.nindex *= (uint32_t)index.n[i];
	if (!check) return p;
	const KRef *given = lower_place(l, inst_arg(l->f, in, 1))->elements;
	KRef *wide = room(l, p.count);
	for (uint32_t i = 0; i < p.count; i++) {
		int64_t v;
		wide[i] = constant_bits(b, given[i], &v) ? k_int(b, v) : k_convert(b, given[i], KT_I64);
		if (k_is_int(b, wide[i], &v) && v >= 0 && v < p.length) continue;
		KRef bad = k_logic(b, 1, k_lt(b, wide[i], k_int(b, 0)),
		                   k_prim2(b, OP_LE, k_int(b, p.length), wide[i]));
		k_fail_if(b, bad, lower_site(l, SITE_INDEX, in), wide[i], k_int(b, p.length));
	}
	p.index = wide;
	return p;
}

/* Elements in stack memory, where they can be indexed. A uniform element takes
 * one scalar, a varying one a scalar for each lane. */
typedef struct Spilled {
	KRef at;
	uint32_t lanes; /* 0: uniform elements */
} Spilled;

static bool is_varying(const Lower *l, const KRef *x, uint32_t n) {
	bool varying = false;
	for (uint32_t i = 0; i < n; i++) varying |= k_lanes_of(&l->k, x[i]) > 0;
	return varying;
}

/* Loads the element, or stores `value` if it is not 0. */
static KRef spilled(Lower *l, Spilled s, KRef index, KType t, KRef value) {
	KBuilder *b = &l->k;
	KMode mode = KM_UNIFORM;
	if (s.lanes) {
		index = k_mul(b, index, k_int(b, s.lanes));
		mode = k_lanes_of(b, index) ? KM_INDEXED : KM_UNIT;
		if (mode == KM_INDEXED) index = k_add(b, index, k_lane(b));
	}
	if (!value) return k_load(b, t, mode, s.at, index, 0);
	k_store(b, mode, s.at, index, value, 0);
	return 0;
}

static Spilled spill(Lower *l, const KRef *x, uint32_t n, KType t, bool varying) {
	KBuilder *b = &l->k;
	Spilled s = {.lanes = varying ? b->lanes : 0};
	s.at = k_stack(b, (int64_t)n * ktype_size(t) * (s.lanes ? s.lanes : 1));
	for (uint32_t i = 0; i < n; i++) spilled(l, s, k_int(b, i), t, x[i]);
	return s;
}

static void small_gather(Lower *l, const Inst *in, const KRef *x, KRef *out) {
	KBuilder *b = &l->k;
	GatherShape p = places_of(l, in, true);
	uint32_t total = p.outer * p.length * p.row, n = 0;
	if (!total) { /* every index has failed, if there was one */
		uint32_t count = lower_shape(l, inst_result(in, 0)).count;
		for (uint32_t i = 0; i < count; i++)
			out[i] = k_const(b, ktype_of((Dtype)ref_ty(l->f, inst_result(in, 0))->dtype), 0);
		return;
	}
	KType t = k_type(b, x[0]);
	const bool varying = is_varying(l, x, total) || is_varying(l, p.index, p.count);
	Spilled memory = {0};
	for (uint32_t o = 0; o < p.outer; o++) {
		const KRef *index = p.index + o / p.per_batch * p.nindex;
		uint32_t plane = o * p.length * p.row;
		if (p.nindex == p.length && factor_permute(l, p.length, index, p.row, x + plane, out + n)) {
			n += p.length * p.row;
			continue;
		}
		for (uint32_t j = 0; j < p.nindex; j++) {
			int64_t v;
			bool number = k_is_int(b, index[j], &v) && v >= 0 && v < p.length;
			if (!number && p.length > SELECT_MOST && !memory.at)
				memory = spill(l, x, total, t, varying);
			for (uint32_t r = 0; r < p.row; r++, n++) {
				if (number) {
					out[n] = x[plane + (uint32_t)v * p.row + r];
				} else if (p.length <= SELECT_MOST) {
					out[n] = x[plane + r];
					for (uint32_t k = 1; k < p.length; k++)
						out[n] = k_select(b, k_prim2(b, OP_EQ, index[j], k_int(b, k)),
						                  x[plane + k * p.row + r], out[n]);
				} else {
					KRef at = k_add(b, k_mul(b, index[j], k_int(b, p.row)), k_int(b, plane + r));
					out[n] = spilled(l, memory, at, t, 0);
				}
			}
		}
	}
}

static void small_scatter(Lower *l, const Inst *in, const KRef *x, const KRef *u, KRef *out) {
	KBuilder *b = &l->k;
	GatherShape p = places_of(l, in, true);
	uint32_t total = p.outer * p.length * p.row, n = 0;
	for (uint32_t i = 0; i < total; i++) out[i] = x[i];
	if (!total) return;
	KType t = k_type(b, x[0]);
	bool add = in->op == OP_SCATTER_ADD, numbers = true;
	int64_t v;
	for (uint32_t i = 0; i < p.count; i++)
		numbers &= k_is_int(b, p.index[i], &v) && v >= 0 && v < p.length;
	const bool varying = is_varying(l, x, total) || is_varying(l, p.index, p.count) ||
	                     is_varying(l, u, p.outer * p.nindex * p.row);
	const Spilled memory =
		!numbers && p.length > SELECT_MOST ? spill(l, x, total, t, varying) : (Spilled){0};
	for (uint32_t o = 0; o < p.outer; o++) {
		const KRef *index = p.index + o / p.per_batch * p.nindex;
		uint32_t plane = o * p.length * p.row;
		for (uint32_t j = 0; j < p.nindex; j++) {
			for (uint32_t r = 0; r < p.row; r++, n++) {
				if (numbers) {
					k_is_int(b, index[j], &v);
					uint32_t at = plane + (uint32_t)v * p.row + r;
					out[at] = add ? k_add(b, out[at], u[n]) : u[n];
				} else if (memory.at) {
					KRef at = k_add(b, k_mul(b, index[j], k_int(b, p.row)), k_int(b, plane + r));
					spilled(l, memory, at, t,
					        add ? k_add(b, spilled(l, memory, at, t, 0), u[n]) : u[n]);
				} else {
					for (uint32_t k = 0; k < p.length; k++) {
						KRef *to = &out[plane + k * p.row + r];
						*to = k_select(b, k_prim2(b, OP_EQ, index[j], k_int(b, k)),
						               add ? k_add(b, *to, u[n]) : u[n], *to);
					}
				}
			}
		}
	}
	for (uint32_t i = 0; memory.at && i < total; i++)
		out[i] = spilled(l, memory, k_int(b, i), t, 0);
}

/* ---- which instructions, and their cost ---------------------------------- */

bool small_takes(const Lower *l, const Inst *in) {
	uint32_t count = 0, out = 0;
	for (uint32_t k = 0; k < in->nargs; k++) {
		if (in->op == OP_FAIL) break; /* its message is a constant */
		if (!type_is_small(l->c, ref_type(l->f, inst_arg(l->f, in, k)), &count)) return false;
	}
	for (uint32_t k = 0; k < in->nresults; k++)
		if (!type_is_small(l->c, ref_type(l->f, inst_result(in, k)), &out)) return false;
	if (prims[in->op].elementwise) return true;
	return small_rule(l, in, out);
}

bool small_rule(const Lower *l, const Inst *in, uint32_t out) {
	int64_t first[MAX_RANK];
	switch ((Op)in->op) {
	case OP_SELECT:
	case OP_CONVERT:
	case OP_STOP:
	case OP_BROADCAST:
	case OP_RESHAPE:
	case OP_TRANSPOSE:
	case OP_CONCAT:
	case OP_REDUCE_SUM:
	case OP_REDUCE_PROD:
	case OP_REDUCE_MAX:
	case OP_REDUCE_MIN:
	case OP_ARGMAX:
	case OP_CUMSUM:
	case OP_CUMPROD:
	case OP_IOTA:
	case OP_EXTENT:
	case OP_GUARD:
	case OP_FAIL:
	case OP_PROGRESS: return true;
	case OP_LU:
	case OP_CHOLESKY:
	case OP_TRISOLVE: return factor_takes_type(l->c, in, ref_type(l->f, inst_arg(l->f, in, 0)));
	case OP_SLICE: return fixed_slice(l, in, first);
	case OP_PAD: return fixed_pad(l, in, first);
	case OP_UPDATE: return fixed_update(l, in, first);
	case OP_DOT: return dot_shape(l, in).terms * out <= WORK_MOST;
	case OP_GATHER:
	case OP_SCATTER_ADD:
	case OP_SCATTER_SET: {
		GatherShape p = places_of((Lower *)(uintptr_t)l, in, false); /* reads only */
		return p.outer * p.nindex * p.row * (p.length <= SELECT_MOST ? p.length : 1) <= WORK_MOST;
	}
	default: return false;
	}
}

static void small_guard(Lower *l, const Inst *in) {
	KRef x = lower_dim(l, (Dim)attr_int(l->c, OP_GUARD, in->attr, 0)),
		 y = lower_dim(l, (Dim)attr_int(l->c, OP_GUARD, in->attr, 1));
	k_fail_if(&l->k, k_not(&l->k, k_prim2(&l->k, OP_EQ, x, y)), lower_site(l, SITE_GUARD, in), x,
	          y);
}

void lower_small(Lower *l, const Inst *in) {
	KBuilder *b = &l->k;
	const KRef *x[3] = {NULL, NULL, NULL};
	if (in->op == OP_GUARD) {
		small_guard(l, in);
		return;
	}
	if (in->op == OP_PROGRESS) {
		KRef values[2 + PROGRESS_VALUES];
		for (uint32_t k = 0; k < in->nargs; k++)
			values[k] = lower_place(l, inst_arg(l->f, in, k))->elements[0];
		k_progress(b, lower_site(l, SITE_PROGRESS, in), in->nargs, values);
		return;
	}
	if (in->op == OP_FORMAT) return; /* of a message: computed when it is reported */
	if (in->op == OP_FAIL) {
		const Inst *text = message_text(l->f, inst_arg(l->f, in, 0));
		KRef values[2] = {k_int(b, 0), k_int(b, 0)};
		for (uint32_t k = 0; text && k < text->nargs; k++) {
			KRef v = lower_place(l, inst_arg(l->f, text, k))->elements[0];
			KType t = k_type(b, v);
			values[k] = t == KT_F64   ? k_bitcast(b, v, KT_I64)
			            : t == KT_F32 ? k_convert(b, k_bitcast(b, v, KT_I32), KT_I64)
			                          : k_convert(b, v, KT_I64);
		}
		k_fail_if(b, always(l), lower_site(l, SITE_FAIL, in), values[0], values[1]);
		return;
	}
	if (in->op == OP_LU || in->op == OP_CHOLESKY || in->op == OP_TRISOLVE) {
		lower_factor(l, in);
		return;
	}
	for (uint32_t k = 0; k < in->nargs && k < 3; k++)
		x[k] = lower_place(l, inst_arg(l->f, in, k))->elements;
	Ref result = inst_result(in, 0);
	StaticShape to = lower_shape(l, result);
	KType t = ktype_of((Dtype)ref_ty(l->f, result)->dtype);
	KRef *out = room(l, to.count);
	switch ((Op)in->op) {
	case OP_SELECT:
		for (uint32_t i = 0; i < to.count; i++) out[i] = k_select(b, x[0][i], x[1][i], x[2][i]);
		break;
	case OP_CONVERT:
		for (uint32_t i = 0; i < to.count; i++) out[i] = k_convert(b, x[0][i], t);
		break;
	case OP_STOP:
	case OP_RESHAPE:
		for (uint32_t i = 0; i < to.count; i++) out[i] = x[0][i];
		break;
	case OP_BROADCAST: small_broadcast(l, in, x[0], out); break;
	case OP_TRANSPOSE: small_transpose(l, in, x[0], out); break;
	case OP_SLICE: small_slice(l, in, x[0], out); break;
	case OP_PAD: small_pad(l, in, x[0], out); break;
	case OP_UPDATE: small_update(l, in, x[0], x[1], out); break;
	case OP_CONCAT: small_concat(l, in, out); break;
	case OP_REDUCE_SUM:
	case OP_REDUCE_PROD:
	case OP_REDUCE_MAX:
	case OP_REDUCE_MIN: small_reduce(l, in, x[0], out); break;
	case OP_ARGMAX: small_argmax(l, in, x[0], out); break;
	case OP_CUMSUM:
	case OP_CUMPROD: small_running(l, in, x[0], out); break;
	case OP_DOT: small_dot(l, in, x[0], x[1], out); break;
	case OP_GATHER: small_gather(l, in, x[0], out); break;
	case OP_SCATTER_ADD:
	case OP_SCATTER_SET: small_scatter(l, in, x[0], x[2], out); break;
	case OP_IOTA:
		for (uint32_t i = 0; i < to.count; i++) out[i] = k_const(b, t, i);
		break;
	case OP_EXTENT: out[0] = lower_dim(l, (Dim)attr_int(l->c, OP_EXTENT, in->attr, 0)); break;
	default:
		for (uint32_t i = 0; i < to.count; i++)
			out[i] = lower_element(l, in, x[0][i], x[1] ? x[1][i] : 0, 0);
	}
	lower_set_small(l, result, to.count, out);
}
