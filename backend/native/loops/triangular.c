/* triangular.c - triangular (banded) structure of matrices: one side of a
 * diagonal is known to be zero.
 *
 * Needs: loops/loops.h.
 *
 * Method: the structure follows from the instructions that compute a matrix. A
 * select between an element and 0 gives a bound, if its condition compares the
 * element's positions along two axes: `where(i > j, x, 0)`, tril, triu, a mask
 * computed earlier and transposed. Positions are followed back through shape
 * changes to iota, as sums of the two axes and a constant. Products then need
 * no terms from the zero side.
 *
 * Contract: a bound that band_of returns holds for all extents.
 */
#include "backend/native/loops/loops.h"

/* k times the position along the first axis, plus j times that along the
 * second, plus a constant. */
typedef struct AffinePosition {
	int64_t k, j, number;
} AffinePosition;

typedef struct BandSearch {
	const ArrayPlan *p;
	IndexContext ix;
	uint32_t k, j; /* the axes */
	BandBounds *band;
	uint32_t left; /* instructions that may still be visited */
} BandSearch;

/* Can the position be followed through the instruction? Then `out` is the index
 * at which its operand is read. */
static bool changes_shape(BandSearch *w, const Inst *in, const Index *at, Index *out) {
	switch (in->op) {
	case OP_BROADCAST:
	case OP_RESHAPE:
	case OP_TRANSPOSE:
	case OP_SLICE:
	case OP_STOP: operand_index(&w->ix, in, 0, at, out); return true;
	default: return false;
	}
}

/* The integer value of element `at` of r, as an AffinePosition. */
static bool line_of(BandSearch *w, Ref r, const Index *at, AffinePosition *out) {
	const Fn *f = w->p->l->f;
	Value v;
	if (ref_splat(f, r, &v)) {
		*out = (AffinePosition){.number = v.i};
		return v.dtype == DT_I64;
	}
	const Inst *in = ref_inst(f, r);
	Index inner[MAX_RANK];
	AffinePosition x, y;
	if (!in || !w->left || ref_ty(f, r)->dtype != DT_I64) return false;
	w->left--;
	if (changes_shape(w, in, at, inner)) return line_of(w, inst_arg(f, in, 0), inner, out);
	switch (in->op) {
	case OP_IOTA:
		*out = (AffinePosition){.number = at[0].number};
		if (at[0].kind == IX_AXIS) out->k = at[0].axis == w->k, out->j = at[0].axis == w->j;
		return at[0].kind == IX_NUMBER || out->k || out->j;
	case OP_ADD:
	case OP_SUB: {
		const int64_t sign = in->op == OP_ADD ? 1 : -1, most = (int64_t)1 << 40;
		if (!line_of(w, inst_arg(f, in, 0), at, &x) || !line_of(w, inst_arg(f, in, 1), at, &y))
			return false;
		if (x.number > most || x.number < -most || y.number > most || y.number < -most)
			return false;
		*out = (AffinePosition){x.k + sign * y.k, x.j + sign * y.j, x.number + sign * y.number};
		return true;
	}
	default: return false;
	}
}

/* The bound that follows from d < 0. */
static void below_zero(BandBounds *band, AffinePosition d) {
	if (d.k == 1 && d.j == -1 && (!band->has_high || -d.number < band->high))
		band->has_high = true, band->high = -d.number;
	if (d.k == -1 && d.j == 1 && (!band->has_low || d.number + 1 > band->low))
		band->has_low = true, band->low = d.number + 1;
}

/* The bounds that follow from element `at` of the bool r being `value`. */
static void from_condition(BandSearch *w, Ref r, const Index *at, bool value) {
	const Fn *f = w->p->l->f;
	const Inst *in = ref_inst(f, r);
	Index inner[MAX_RANK];
	Value v;
	AffinePosition x, y;
	if (!in || !w->left) return;
	w->left--;
	if (changes_shape(w, in, at, inner)) {
		from_condition(w, inst_arg(f, in, 0), inner, value);
		return;
	}
	const Ref a = in->nargs > 0 ? inst_arg(f, in, 0) : REF_NONE,
			  b = in->nargs > 1 ? inst_arg(f, in, 1) : REF_NONE;
	if (in->op == OP_EQ && ref_splat(f, b, &v) && v.dtype == DT_BOOL)
		from_condition(w, a, at, v.b ? value : !value);
	if ((in->op != OP_LT && in->op != OP_LE) || !line_of(w, a, at, &x) || !line_of(w, b, at, &y))
		return;
	/* x < y is x - y < 0, its negation y - x - 1 < 0; similarly for <=. */
	const int64_t less = in->op == OP_LT ? 0 : 1;
	if (value)
		below_zero(w->band, (AffinePosition){x.k - y.k, x.j - y.j, x.number - y.number - less});
	else
		below_zero(w->band, (AffinePosition){y.k - x.k, y.j - x.j, y.number - x.number - 1 + less});
}

static bool is_zero(const Fn *f, Ref r) {
	Value v;
	if (!ref_splat(f, r, &v)) return false;
	return v.dtype == DT_F64 ? v.f == 0 : v.dtype == DT_F32 && v.f32 == 0;
}

static void from_element(BandSearch *w, Ref r, const Index *at) {
	const Fn *f = w->p->l->f;
	const Inst *in = ref_inst(f, r);
	Index inner[MAX_RANK];
	if (!in || !w->left) return;
	w->left--;
	if (changes_shape(w, in, at, inner)) {
		from_element(w, inst_arg(f, in, 0), inner);
	} else if (in->op == OP_SELECT) {
		for (uint32_t side = 1; side <= 2; side++) {
			if (!is_zero(f, inst_arg(f, in, 3 - side))) continue;
			from_condition(w, inst_arg(f, in, 0), at, side == 1);
			from_element(w, inst_arg(f, in, side), at);
			return;
		}
	}
}

BandBounds band_of(const ArrayPlan *p, Ref r, const Index *at, uint32_t k, uint32_t j) {
	BandBounds band = {0};
	BandSearch w = {
		.p = p, .ix = {.p = p, .shifts = true}, .k = k, .j = j, .band = &band, .left = 64};
	from_element(&w, r, at);
	return band;
}
