/* index_map.c - shape changes as arithmetic on indices: the position at which
 * an operand is read for an element of the result.
 *
 * Needs: loops/loops.h.
 *
 * Contract:
 * - The same rules serve planning and emission. Planning only needs the axes
 *   that an index follows; emission emits the arithmetic.
 * - An index that is an axis of the nest stays one through every rule that does
 *   not move it.
 */
#include "backend/native/loops/loops.h"

bool dim_number(const ArrayPlan *p, Dim d, int64_t *v) {
	return dim_is_const(p->l->c, d, v) && *v <= DIM_SMALL;
}

Dim dims_product(Ctx *c, uint32_t n, const Dim *dims) {
	Dim d = dim_const(c, 1);
	for (uint32_t i = 0; i < n; i++) d = dim_mul(c, d, dims[i]);
	return d;
}

Index index_number(int64_t v) { return (Index){.kind = IX_NUMBER, .number = v}; }

Index index_axis(uint32_t axis) { return (Index){.kind = IX_AXIS, .axis = axis}; }

bool index_equal(Index a, Index b) {
	if (a.kind != b.kind) return false;
	if (a.kind == IX_AXIS) return a.axis == b.axis;
	if (a.kind == IX_NUMBER) return a.number == b.number;
	return a.base == b.base && a.lane == b.lane && a.varying == b.varying;
}

static KBuilder *builder(IndexContext *ix) { return &ix->p->l->k; }

KRef index_base(IndexContext *ix, Index i) {
	if (i.kind == IX_NUMBER) return k_int(builder(ix), i.number);
	KRef base = i.kind == IX_AXIS ? ix->axes[i.axis].base : i.base;
	return base ? base : k_int(builder(ix), 0);
}

KRef index_lane(IndexContext *ix, Index i) {
	return i.kind == IX_NUMBER ? 0 : i.kind == IX_AXIS ? ix->axes[i.axis].lane : i.lane;
}

KRef index_value(IndexContext *ix, Index i) {
	if (i.kind == IX_OTHER && i.varying) return i.varying;
	KRef base = index_base(ix, i), lane = index_lane(ix, i);
	if (!lane) return base;
	KBuilder *k = builder(ix);
	return k_add(k, k_mul(k, k_lane(k), lane), base);
}

static Index other(void) { return (Index){.kind = IX_OTHER}; }

Index index_affine(IndexContext *ix, Index i, Dim start, int64_t stride) {
	int64_t s;
	bool known = dim_is_const(ix->p->l->c, start, &s);
	if (known && s == 0 && stride == 1) return i;
	if (known && i.kind == IX_NUMBER) return index_number(s + stride * i.number);
	if (known && ix->shifts && i.kind == IX_AXIS && stride == 1) {
		i.number += s;
		return i;
	}
	Index out = other();
	if (!ix->emitting) return out;
	KBuilder *k = builder(ix);
	KRef by = k_int(k, stride), from = lower_dim(ix->p->l, start);
	if (i.kind == IX_OTHER && i.varying) {
		out.varying = k_add(k, k_mul(k, i.varying, by), from);
		return out;
	}
	out.base = k_add(k, k_mul(k, index_base(ix, i), by), from);
	KRef lane = index_lane(ix, i);
	out.lane = lane ? k_mul(k, lane, by) : 0;
	return out;
}

/* ---- reshape ------------------------------------------------------------- */

/* The row-major position of indices along axes [from, to) of a block with
 * extents `dims`. */
static Index linear(IndexContext *ix, const Index *at, const Dim *dims, uint32_t from,
                    uint32_t to) {
	bool numbers = true;
	int64_t sum = 0, n;
	for (uint32_t i = from; i < to && numbers; i++) {
		numbers = at[i].kind == IX_NUMBER && dim_is_const(ix->p->l->c, dims[i], &n);
		if (numbers) sum = sum * n + at[i].number;
	}
	if (numbers) return index_number(sum);
	if (!ix->emitting) return other();
	KBuilder *k = builder(ix);
	Index out = other();
	KRef base = k_int(k, 0), lane = 0, varying = 0;
	for (uint32_t i = from; i < to; i++) {
		KRef length = lower_dim(ix->p->l, dims[i]);
		base = k_mul(k, base, length);
		if (lane) lane = k_mul(k, lane, length);
		if (varying) varying = k_mul(k, varying, length);
		if (at[i].kind == IX_OTHER && at[i].varying) {
			varying = varying ? k_add(k, varying, at[i].varying) : at[i].varying;
			continue;
		}
		base = k_add(k, base, index_base(ix, at[i]));
		KRef step = index_lane(ix, at[i]);
		if (step) lane = lane ? k_add(k, lane, step) : step;
	}
	if (varying) {
		out.varying = k_add(k, varying, base);
		if (lane) out.varying = k_add(k, out.varying, k_mul(k, k_lane(k), lane));
		return out;
	}
	out.base = base;
	out.lane = lane;
	return out;
}

/* The inverse: the indices along axes [from, to) of a position. */
static void apart(IndexContext *ix, Index position, const Dim *dims, uint32_t from, uint32_t to,
                  Index *out) {
	if (to - from == 1) {
		out[from] = position;
		return;
	}
	int64_t n;
	bool numbers = position.kind == IX_NUMBER;
	for (uint32_t i = from; i < to; i++)
		numbers = numbers && dim_is_const(ix->p->l->c, dims[i], &n) && n > 0;
	if (numbers) {
		int64_t rest = position.number;
		for (uint32_t i = to; i-- > from;) {
			dim_is_const(ix->p->l->c, dims[i], &n);
			out[i] = index_number(rest % n);
			rest /= n;
		}
		return;
	}
	if (!ix->emitting) {
		for (uint32_t i = from; i < to; i++) out[i] = other();
		return;
	}
	KBuilder *k = builder(ix);
	KRef rest = index_value(ix, position);
	for (uint32_t i = to; i-- > from;) {
		KRef here = rest;
		if (i > from) {
			KRef length = k_max(k, lower_dim(ix->p->l, dims[i]), k_int(k, 1));
			rest = k_prim2(k, OP_FLOORDIV, here, length);
			here = k_sub(k, here, k_mul(k, rest, length));
		}
		out[i] = other();
		if (k_lanes_of(k, here)) out[i].varying = here;
		else out[i].base = here;
	}
}

static bool is_one(IndexContext *ix, Dim d) {
	int64_t n;
	return dim_is_const(ix->p->l->c, d, &n) && n == 1;
}

/* Matches axes of equal extent from both ends and skips axes of extent 1. The
 * axes that remain in the middle are linearised and split again. */
static void reshape_index(IndexContext *ix, const Type *from, const Type *to, const Index *at,
                          Index *out) {
	uint32_t a = 0, b = 0, c = from->rank, d = to->rank;
	for (;;) {
		if (a < c && b < d && from->dims[a] == to->dims[b]) out[a++] = at[b++];
		else if (a < c && is_one(ix, from->dims[a])) out[a++] = index_number(0);
		else if (b < d && is_one(ix, to->dims[b])) b++;
		else break;
	}
	for (;;) {
		if (a < c && b < d && from->dims[c - 1] == to->dims[d - 1]) out[--c] = at[--d];
		else if (a < c && is_one(ix, from->dims[c - 1])) out[--c] = index_number(0);
		else if (b < d && is_one(ix, to->dims[d - 1])) d--;
		else break;
	}
	if (a == c) return;
	apart(ix, linear(ix, at, to->dims, b, d), from->dims, a, c, out);
}

/* ---- the rules ----------------------------------------------------------- */

void operand_index(IndexContext *ix, const Inst *in, uint32_t k, const Index *at, Index *out) {
	const Fn *f = ix->p->l->f;
	Ctx *c = ix->p->l->c;
	Type x = *ref_ty(f, inst_arg(f, in, k)), y = *type_of(c, f->vals.at[in->results].type);
	uint32_t n;
	switch (in->op) {
	case OP_BROADCAST: {
		const int64_t *axes = attr_field(c, OP_BROADCAST, in->attr, 1, &n);
		for (uint32_t i = 0; i < x.rank; i++) {
			/* An operand axis of extent 1 is broadcast, unless the result's is
			 * 1 as well. */
			out[i] = is_one(ix, x.dims[i]) ? index_number(0) : at[axes[i]];
		}
		return;
	}
	case OP_RESHAPE: reshape_index(ix, &x, &y, at, out); return;
	case OP_TRANSPOSE: {
		const int64_t *perm = attr_field(c, OP_TRANSPOSE, in->attr, 0, &n);
		for (uint32_t i = 0; i < y.rank; i++) out[perm[i]] = at[i];
		return;
	}
	case OP_SLICE: {
		const int64_t *start = attr_field(c, OP_SLICE, in->attr, 0, &n),
					  *stride = attr_field(c, OP_SLICE, in->attr, 2, &n);
		for (uint32_t i = 0; i < y.rank; i++)
			out[i] = index_affine(ix, at[i], (Dim)start[i], stride[i]);
		return;
	}
	/* The index array has the result's batch axes, then its own axes. */
	case OP_GATHER: {
		int64_t axis = attr_int(c, OP_GATHER, in->attr, 0),
				batch = attr_int(c, OP_GATHER, in->attr, 1);
		for (uint32_t i = 0; i < x.rank; i++)
			out[i] = i < batch ? at[i] : at[(uint32_t)axis + i - (uint32_t)batch];
		return;
	}
	default: /* element-wise, select, convert, stop_gradient */
		for (uint32_t i = 0; i < x.rank; i++) out[i] = at[i];
	}
}

static bool listed(const int64_t *list, uint32_t n, uint32_t axis, uint32_t *where) {
	for (uint32_t i = 0; i < n; i++)
		if (list[i] == (int64_t)axis) {
			*where = i;
			return true;
		}
	return false;
}

void dot_indices(const ArrayPlan *p, const Inst *in, const Index *at, Index *x, Index *y) {
	const Fn *f = p->l->f;
	Ctx *c = p->l->c;
	uint32_t nc, nb, k, next;
	const int64_t *xc = attr_field(c, OP_DOT, in->attr, 0, &nc),
				  *yc = attr_field(c, OP_DOT, in->attr, 1, &nc);
	const int64_t *xb = attr_field(c, OP_DOT, in->attr, 2, &nb),
				  *yb = attr_field(c, OP_DOT, in->attr, 3, &nb);
	uint32_t xrank = ref_ty(f, inst_arg(f, in, 0))->rank,
			 yrank = ref_ty(f, inst_arg(f, in, 1))->rank;
	uint32_t nresult = type_of(c, f->vals.at[in->results].type)->rank;
	next = nb;
	for (uint32_t i = 0; i < xrank; i++)
		x[i] = listed(xb, nb, i, &k) ? at[k] : listed(xc, nc, i, &k) ? at[nresult + k] : at[next++];
	for (uint32_t i = 0; i < yrank; i++)
		y[i] = listed(yb, nb, i, &k) ? at[k] : listed(yc, nc, i, &k) ? at[nresult + k] : at[next++];
}

void reduce_index(const ArrayPlan *p, const Inst *in, const Index *at, Index *x) {
	const Fn *f = p->l->f;
	Ctx *c = p->l->c;
	uint32_t rank = ref_ty(f, inst_arg(f, in, 0))->rank, n = 0, k, out = 0;
	uint32_t nresult = type_of(c, f->vals.at[in->results].type)->rank;
	int64_t one;
	const int64_t *axes;
	if (in->op == OP_ARGMAX) {
		one = attr_int(c, OP_ARGMAX, in->attr, 0);
		axes = &one;
		n = 1;
	} else {
		axes = attr_field(c, (Op)in->op, in->attr, 0, &n);
	}
	for (uint32_t i = 0; i < rank; i++) x[i] = listed(axes, n, i, &k) ? at[nresult + k] : at[out++];
}
