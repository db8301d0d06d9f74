/* generate_arrays.c - steps with one primitive on arrays each.
 *
 * Element-wise operations, shapes, indices, reductions, contractions.
 *
 * Needs: generate_internal.h.
 *
 * Guarantees:
 * - Every primitive on arrays that the evaluator supports has a step here or in
 *   the other two files.
 * - Operands are first brought into the primitive's domain, so that only
 *   intended failures occur.
 */
#include "autodiff/core/rules.h"
#include "tests/random/generate_internal.h"

/* ---- element-wise operations --------------------------------------------- */

static Op draw_op(Gen *g, int nargs) {
	static const Op often[] = {OP_ADD, OP_SUB, OP_MUL, OP_MUL, OP_ADD, OP_DIV, OP_MAX};
	if (nargs == 2 && chance(g, 40))
		return often[below(g, (int64_t)(sizeof often / sizeof *often))];
	for (;;) {
		Op op = (Op)(1 + below(g, OP_COUNT - 1));
		if (prims[op].elementwise && prims[op].nargs == nargs) return op;
	}
}

/* Returns a value of a dtype that the operation accepts; preferably real. */
static V operand_for(Gen *g, Op op) {
	unsigned kinds = prims[op].kinds, liked = kinds;
	if ((kinds & KIND_R) && chance(g, 80)) liked = KIND_R;
	V x;
	if (choose_if(g, liked, 0, 3, &x) || choose_if(g, kinds, 0, 3, &x)) return x;
	x = choose(g, KIND_R, 0, 3);
	Dtype d = (Dtype)type_at(g, x.ref).dtype;
	return as_dtype(g, x,
	                kinds & KIND_R   ? d
	                : kinds & KIND_C ? dtype_complex_of(d)
	                : kinds & KIND_I ? DT_I64
	                                 : DT_BOOL);
}

static V unary_real(Gen *g, Op op, V x) {
	if (g->wild && chance(g, 60)) return (V){build1(g->b, op, x.ref), INFINITY};
	switch (op) {
	case OP_SIGN:
	case OP_FLOOR:
	case OP_ROUND:
		x = generic(g, x);
		x.mag += 1;
		break;
	case OP_SQRT:
	case OP_LOG:
	case OP_LOG1P:
	case OP_CBRT: x = positive(g, x); break;
	case OP_EXP:
	case OP_EXPM1:
	case OP_SINH:
	case OP_COSH: x = tame(g, x, 2.5); break;
	case OP_SIN:
	case OP_COS: x = tame(g, x, 30); break;
	case OP_TAN: x = tame(g, x, 1.2); break;
	case OP_ASIN:
	case OP_ACOS: x = tame(g, x, 0.9); break;
	default: break;
	}
	V y = apply1(g, op, x);
	switch (op) {
	case OP_EXP:
	case OP_EXPM1:
	case OP_SINH:
	case OP_COSH: y.mag = exp(x.mag) + 1; break;
	case OP_SIN:
	case OP_COS:
	case OP_TANH:
	case OP_ERF:
	case OP_SIGN: y.mag = 1; break;
	case OP_TAN:
	case OP_ATAN:
	case OP_ASIN:
	case OP_ACOS: y.mag = 3; break;
	case OP_SQRT:
	case OP_CBRT:
	case OP_LOG:
	case OP_LOG1P: y.mag = 2 + sqrt(x.mag); break;
	default: break;
	}
	return y;
}

static V unary_complex(Gen *g, Op op, V x) {
	if (op == OP_SQRT || op == OP_LOG) { /* away from the branch cut on the negative axis */
		x = tame(g, x, 4);
		x = shifted(g, x, x.mag + 0.5);
	}
	if (op != OP_NEG && op != OP_REAL && op != OP_IMAG && op != OP_CONJ)
		x = tame(g, x, op == OP_TAN || op == OP_TANH ? 0.7 : 2);
	V y = apply1(g, op, x);
	if (op == OP_EXP || op == OP_SIN || op == OP_COS || op == OP_SINH || op == OP_COSH)
		y.mag = exp(x.mag);
	if (op == OP_TAN || op == OP_TANH) y.mag = 4;
	if (op == OP_LOG || op == OP_SQRT) y.mag = 4 + sqrt(x.mag);
	return y;
}

static bool step_unary(Gen *g) {
	Op op = draw_op(g, 1);
	V x = operand_for(g, op);
	Dtype d = (Dtype)type_at(g, x.ref).dtype;
	put(g, dtype_is_real(d)      ? unary_real(g, op, x)
	       : dtype_is_complex(d) ? unary_complex(g, op, x)
	                             : apply1(g, op, x));
	return true;
}

/* x + iy, an operation on it, and sometimes back to reals. */
static bool step_complex(Gen *g) {
	static const Op ops[] = {OP_CONJ, OP_EXP,  OP_NEG, OP_CONJ, OP_SIN,
	                         OP_SQRT, OP_TANH, OP_COS, OP_LOG};
	V x = tame(g, choose(g, KIND_R, 0, 2), 3), y = tame(g, partner(g, x, KIND_I | KIND_R), 3);
	Dtype d = dtype_complex_of((Dtype)type_at(g, x.ref).dtype);
	double _Complex unit = __builtin_complex(0.0, 1.0), bytes = 0;
	scalar_convert(DT_C128, &unit, d, &bytes);
	V z = as_dtype(g, y, d), i = {build_const(g->b, value_scalar_from_bytes(d, &bytes)), 1};
	z = apply2(g, OP_MUL, z, (V){build_broadcast_scalar(g->b, i.ref, type_id_at(g, z.ref)), 1});
	z = apply2(g, OP_ADD, z, as_dtype(g, x, d));
	for (int64_t k = 1 + below(g, 2); k > 0; k--) z = unary_complex(g, ops[below(g, 9)], z);
	if (chance(g, 40)) {
		z = tame(g, z, 10);
		z = apply2(g, OP_MUL, z, unary_complex(g, OP_CONJ, z));
	}
	put(g, z);
	if (chance(g, 50)) put(g, apply1(g, chance(g, 50) ? OP_REAL : OP_IMAG, z));
	return true;
}

/* Returns integers >= lo, with a 0 among them if the program is to fail by
 * it. */
static V int_operand(Gen *g, V y, int64_t lo, int64_t below_this) {
	if (g->failure == FAIL_DIVISION && chance(g, 25)) return y;
	y = tame(g, y, (double)(below_this - lo));
	return shifted(g, y, (double)lo);
}

static V binary_int(Gen *g, Op op, V x, V y) {
	if (op == OP_MOD || op == OP_FLOORDIV) y = int_operand(g, y, chance(g, 20) ? 2 : 1, 9);
	if (op == OP_POW) y = int_operand(g, y, 0, 5);
	V z = apply2(g, op, x, y);
	if (op == OP_POW) z.mag = pow(fmax(x.mag, 2), 5);
	if (op == OP_MOD && g->failure == FAIL_DIVISION) z.mag = 1e4;
	return z;
}

static V binary_real(Gen *g, Op op, V x, V y) {
	V z;
	TypeId t = type_id_at(g, x.ref);
	if (g->wild && chance(g, 60)) return (V){build2(g->b, op, x.ref, y.ref), INFINITY};
	switch (op) {
	case OP_DIV:
		y = positive(g, y);
		z = apply2(g, op, x, y);
		z.mag = x.mag * 4;
		return z;
	case OP_POW:
		if (chance(g, 50)) {
			static const double exponents[] = {2, 3, 0.5, -1, 1.5, 4, -2, 1, 0};
			y = konst(g, t, exponents[below(g, 9)]);
		} else {
			y = tame(g, y, 2);
		}
		x = positive(g, tame(g, x, 3));
		z = apply2(g, op, x, y);
		z.mag = pow(fmax(x.mag, 4), fmax(1, y.mag));
		return z;
	case OP_ATAN2:
		z = apply2(g, op, x, positive(g, y));
		z.mag = 3.2;
		return z;
	case OP_MOD:
	case OP_FLOORDIV:
		y = positive(g, y);
		z = apply2(g, op, generic(g, tame(g, x, 100)), y);
		z.mag = op == OP_MOD ? y.mag : 1000;
		return z;
	case OP_EQ:
	case OP_LT:
	case OP_LE: return apply2(g, op, generic(g, x), y);
	default: return apply2(g, op, x, y);
	}
}

static V binary_complex(Gen *g, Op op, V x, V y) {
	if (op == OP_DIV || op == OP_POW) {
		x = tame(g, x, 2);
		y = tame(g, y, 2);
		if (op == OP_DIV) y = shifted(g, y, 2.5);
		else x = shifted(g, x, 2.5);
	}
	V z = apply2(g, op, x, y);
	if (op == OP_DIV) z.mag = 10;
	if (op == OP_POW) z.mag = 3000;
	return z;
}

static bool step_binary(Gen *g) {
	Op op = draw_op(g, 2);
	V x = operand_for(g, op), y = partner(g, x, KIND_ALL);
	Dtype d = (Dtype)type_at(g, x.ref).dtype;
	if (chance(g, 12) && d != DT_BOOL)
		y = konst(g, type_id_at(g, x.ref),
		          dtype_is_int(d) ? (double)below(g, 7) : between(g, -2, 2));
	if (chance(g, 30)) {
		V z = x;
		x = y;
		y = z;
	}
	V z = dtype_is_real(d)      ? binary_real(g, op, x, y)
	      : dtype_is_complex(d) ? binary_complex(g, op, x, y)
	      : d == DT_BOOL        ? apply2(g, op, x, y)
	                            : binary_int(g, op, x, y);
	put(g, z);
	return true;
}

static bool step_select(Gen *g) {
	V x = choose(g, KIND_ALL, 0, 3), y = partner(g, x, KIND_ALL), c;
	Type t = type_at(g, x.ref);
	if (chance(g, 50) && choose_if(g, KIND_B, 0, 3, &c)) c = fit(g, c, t.rank, t.dims);
	else if (dtype_is_real((Dtype)t.dtype)) c = apply2(g, OP_LT, generic(g, x), y);
	else c = fit(g, condition(g), t.rank, t.dims);
	put(g, (V){build_select(g->b, c.ref, x.ref, y.ref), fmax(x.mag, y.mag)});
	return true;
}

static bool step_convert(Gen *g) {
	static const Dtype to[] = {DT_BOOL, DT_I32, DT_I64, DT_F32, DT_F64, DT_F64, DT_C64, DT_C128};
	V x = choose(g, KIND_ALL, 0, 3);
	Dtype d = to[below(g, 8)];
	if (dtype_is_complex(d) && chance(g, 50)) return false;
	put(g, as_dtype(g, x, d));
	return true;
}

static bool step_stop(Gen *g) {
	put(g, apply1(g, OP_STOP, choose(g, KIND_ALL, 0, 3)));
	return true;
}

/* ---- shapes -------------------------------------------------------------- */

static bool step_broadcast(Gen *g) {
	V x = choose(g, KIND_ALL, 0, 2);
	Type t = type_at(g, x.ref);
	Dim dims[MAX_RANK];
	uint32_t n = 0, from = (uint32_t)below(g, t.rank + 1);
	for (uint32_t k = 0; k <= t.rank; k++) {
		if (k == from) dims[n++] = any_dim(g);
		if (k < t.rank) dims[n++] = t.dims[k];
	}
	if (!affordable(g, n, dims)) return false;
	int axes[MAX_RANK];
	for (uint32_t k = 0; k < t.rank; k++) axes[k] = (int)(k + (k >= from));
	put(g, (V){build_broadcast(g->b, x.ref, n, dims, axes), x.mag});
	return true;
}

static bool step_reshape(Gen *g) {
	V x = choose(g, KIND_ALL, 1, 4);
	Type t = type_at(g, x.ref);
	Dim dims[MAX_RANK + 1];
	uint32_t n = 0, at = (uint32_t)below(g, t.rank), way = (uint32_t)below(g, 4);
	int64_t length;
	for (uint32_t k = 0; k < t.rank; k++) {
		if (way == 0 && k == at && k + 1u < t.rank) { /* merges two axes */
			dims[n++] = dim_mul(g->c, t.dims[k], t.dims[k + 1]);
			k++;
		} else if (way == 1 && k == at) { /* splits an axis */
			dims[n++] = dim_const(g->c, 1);
			dims[n++] = t.dims[k];
		} else if (way == 2 && k == at && dim_is_const(g->c, t.dims[k], &length) && length > 3 &&
		           length % 2 == 0) {
			dims[n++] = dim_const(g->c, 2);
			dims[n++] = dim_const(g->c, length / 2);
		} else if (way == 3) { /* merges all axes */
			dims[0] = n ? dim_mul(g->c, dims[0], t.dims[k]) : t.dims[k];
			n = 1;
		} else {
			dims[n++] = t.dims[k];
		}
	}
	if (n > 4) return false;
	V y = {build_reshape(g->b, x.ref, n, dims), x.mag};
	put(g, y);
	/* and back after an operation */
	if (way == 3 && t.rank > 1 && t.dtype != DT_BOOL && chance(g, 50)) {
		y = tame(g, shifted(g, y, 1), 4);
		put(g, (V){build_reshape(g->b, y.ref, t.rank, t.dims), y.mag});
	}
	return true;
}

static bool step_transpose(Gen *g) {
	V x;
	if (!choose_if(g, KIND_ALL, 2, 4, &x)) return false;
	uint32_t rank = type_at(g, x.ref).rank;
	int perm[MAX_RANK];
	for (uint32_t k = 0; k < rank; k++) perm[k] = (int)k;
	for (uint32_t k = rank; k-- > 1;) {
		uint32_t j = (uint32_t)below(g, k + 1);
		int p = perm[k];
		perm[k] = perm[j];
		perm[j] = p;
	}
	put(g, (V){build_transpose(g->b, x.ref, perm), x.mag});
	return true;
}

/* Draws a part of an axis: start, length, stride. */
static void draw_part(Gen *g, Dim d, Dim *start, Dim *length, int64_t *stride) {
	int64_t low = least(g, d), n;
	const Dim none = dim_const(g->c, 0);
	*start = none;
	*length = d;
	*stride = 1;
	switch (below(g, 7)) {
	case 0: /* without the first */
		n = 1 + below(g, 2);
		if (low <= n) return;
		*start = dim_const(g->c, n);
		*length = plus(g, d, -n);
		return;
	case 1: /* without the last */
		n = 1 + below(g, 2);
		if (low > n) *length = plus(g, d, -n);
		return;
	case 2: /* the interior */
		if (low < 3) return;
		*start = dim_const(g->c, 1);
		*length = plus(g, d, -2);
		return;
	case 3: /* reversed */
		if (low < 1) return;
		*start = plus(g, d, -1);
		*stride = -1;
		return;
	case 4: /* every second */
		if (low < 1) return;
		*length = dim_floordiv(g->c, plus(g, d, 1), 2);
		*stride = 2;
		return;
	case 5: /* every second, reversed */
		if (low < 1) return;
		*start = plus(g, d, -1);
		*length = dim_floordiv(g->c, plus(g, d, 1), 2);
		*stride = -2;
		return;
	default: /* a few */
		if (low < 1) return;
		n = 1 + below(g, low < 6 ? low : 6);
		*length = dim_const(g->c, n);
		*start = dim_const(g->c, below(g, low - n + 1));
		return;
	}
}

static bool step_slice(Gen *g) {
	V x = choose(g, KIND_ALL, 1, 3);
	Type t = type_at(g, x.ref);
	Dim start[MAX_RANK], length[MAX_RANK];
	int64_t stride[MAX_RANK];
	uint32_t at = (uint32_t)below(g, t.rank);
	for (uint32_t k = 0; k < t.rank; k++) {
		start[k] = dim_const(g->c, 0);
		length[k] = t.dims[k];
		stride[k] = 1;
		if (k == at || chance(g, 20)) draw_part(g, t.dims[k], &start[k], &length[k], &stride[k]);
	}
	if (g->failure == FAIL_INDEX && chance(g, 30)) start[at] = plus(g, start[at], 1);
	put(g, (V){build_slice(g->b, x.ref, start, length, stride), x.mag});
	return true;
}

V draw_update(Gen *g, V x, double bound) {
	Type t = type_at(g, x.ref);
	Dim start[MAX_RANK], length[MAX_RANK];
	int64_t stride[MAX_RANK];
	uint32_t at = (uint32_t)below(g, t.rank);
	for (uint32_t k = 0; k < t.rank; k++) {
		start[k] = dim_const(g->c, 0);
		length[k] = t.dims[k];
		stride[k] = 1;
		if (k == at || chance(g, 40)) draw_part(g, t.dims[k], &start[k], &length[k], &stride[k]);
	}
	V v = fit(g, as_dtype(g, choose(g, KIND_ALL, 0, 3), (Dtype)t.dtype), t.rank, length);
	if (bound > 0) v = tame(g, v, bound);
	/* from x at the same place or a neighbouring one */
	if ((dtype_kind((Dtype)t.dtype) & KIND_NUMBER) && chance(g, 50)) {
		Dim other[MAX_RANK];
		memcpy(other, start, sizeof other);
		bool moved = chance(g, 40) && stride[at] == 1 &&
		             least(g, plus(g, t.dims[at], -1)) > most(g, length[at]);
		if (moved) other[at] = dim_const(g->c, 0);
		V old = {build_slice(g->b, x.ref, other, length, stride), x.mag};
		v = bound > 0 ? apply2(g, OP_ADD, times(g, old, 0.5), times(g, v, 0.5))
		              : apply2(g, OP_ADD, old, v);
	}
	if (!bound && g->failure == FAIL_INDEX && chance(g, 30)) start[at] = plus(g, start[at], 1);
	return (V){build_update(g->b, x.ref, v.ref, start, stride), fmax(x.mag, v.mag)};
}

static bool step_update(Gen *g) {
	put(g, draw_update(g, choose(g, KIND_ALL, 1, 3), 0));
	return true;
}

static bool step_pad(Gen *g) {
	V x = choose(g, KIND_ALL, 1, 3);
	Type t = type_at(g, x.ref);
	Dim low[MAX_RANK], length[MAX_RANK];
	int64_t stride[MAX_RANK];
	uint32_t at = (uint32_t)below(g, t.rank);
	for (uint32_t k = 0; k < t.rank; k++) {
		int64_t before = k == at ? below(g, 3) : 0, after = k == at ? below(g, 3) : 0;
		low[k] = dim_const(g->c, before);
		stride[k] = 1;
		length[k] = plus(g, t.dims[k], before + after);
		if (k != at || least(g, t.dims[k]) < 1) continue;
		if (chance(g, 25)) { /* a zero between any two */
			stride[k] = 2;
			length[k] = plus(g, dim_mul(g->c, t.dims[k], dim_const(g->c, 2)), before + after);
		} else if (chance(g, 20)) { /* reversed */
			stride[k] = -1;
			low[k] = plus(g, t.dims[k], before - 1);
		}
	}
	if (!affordable(g, t.rank, length)) return false;
	put(g, (V){build_pad(g->b, x.ref, low, length, stride), x.mag});
	return true;
}

static bool step_concat(Gen *g) {
	V x = choose(g, KIND_ALL, 1, 3), parts[3] = {x};
	Type t = type_at(g, x.ref);
	uint32_t n = 2 + (uint32_t)below(g, 2), axis = (uint32_t)below(g, t.rank);
	double mag = x.mag;
	for (uint32_t k = 1; k < n; k++) {
		V y = partner(g, x, KIND_ALL);
		Dim start, length;
		int64_t stride;
		draw_part(g, type_at(g, y.ref).dims[axis], &start, &length, &stride);
		parts[k] = chance(g, 50) ? sliced(g, y, (int)axis, start, length, stride) : y;
		mag = fmax(mag, y.mag);
	}
	Ref refs[3] = {parts[0].ref, parts[1].ref, parts[2].ref};
	put(g, (V){build_concat(g->b, n, refs, (int)axis), mag});
	return true;
}

static bool step_push(Gen *g) {
	V x = choose(g, KIND_ALL, 1, 3);
	Type t = type_at(g, x.ref);
	V row = fit(g, as_dtype(g, choose(g, KIND_ALL, 0, 2), (Dtype)t.dtype), t.rank - 1u, t.dims + 1);
	put(g, (V){build2(g->b, OP_PUSH, x.ref, row.ref), fmax(x.mag, row.mag)});
	return true;
}

/* ---- indices ------------------------------------------------------------- */

/* Draws an index tensor for x along an axis, its batch axes first. *out is the
 * type of the selection. */
static V draw_index(Gen *g, const Type *x, uint32_t *axis, uint32_t *batch, Type *out) {
	*axis = (uint32_t)below(g, x->rank);
	*batch = *axis && chance(g, 25) ? 1 + (uint32_t)below(g, *axis) : 0;
	Dim dims[MAX_RANK];
	uint32_t rank = 0, own = (uint32_t)below(g, 3);
	for (uint32_t k = 0; k < *batch; k++) dims[rank++] = x->dims[k];
	if (own == 2 && x->rank > 2) own = 1;
	for (uint32_t k = 0; k < own; k++)
		dims[rank++] = k || chance(g, 50) ? small_dim(g, 1, 5) : any_dim(g);
	*out = *x;
	uint32_t n = *axis;
	for (uint32_t k = *batch; k < rank; k++) out->dims[n++] = dims[k];
	for (uint32_t k = *axis + 1; k < x->rank; k++) out->dims[n++] = x->dims[k];
	out->rank = (uint8_t)n;
	return index_into(g, x->dims[*axis], rank, dims);
}

static bool step_gather(Gen *g) {
	V x = choose(g, KIND_ALL, 1, 3);
	Type t = type_at(g, x.ref), out;
	uint32_t axis, batch;
	V i = draw_index(g, &t, &axis, &batch, &out);
	if (least(g, t.dims[axis]) < 1 || !affordable(g, out.rank, out.dims)) return false;
	put(g, (V){build_gather(g->b, x.ref, i.ref, (int)axis, (int)batch), x.mag});
	return true;
}

static bool step_scatter(Gen *g) {
	Op op = chance(g, 50) ? OP_SCATTER_ADD : OP_SCATTER_SET;
	V x = choose(g, op == OP_SCATTER_ADD ? KIND_NUMBER : KIND_ALL, 1, 3);
	Type t = type_at(g, x.ref), out;
	uint32_t axis, batch;
	if (chance(g, 20)) x = konst(g, type_id_at(g, x.ref), 0);
	V i = draw_index(g, &t, &axis, &batch, &out);
	if (least(g, t.dims[axis]) < 1 || !affordable(g, out.rank, out.dims)) return false;
	V u = fit(g, as_dtype(g, choose(g, KIND_ALL, 0, 3), (Dtype)t.dtype), out.rank, out.dims);
	double hits = op == OP_SCATTER_ADD ? count_most(g, out.rank, out.dims) : 1;
	put(g, (V){build_scatter(g->b, op, x.ref, i.ref, u.ref, (int)axis, (int)batch),
	           x.mag + u.mag * hits});
	return true;
}

/* Puts a selection among zeros, or into a box of the array that it was taken
 * from. */
static V boxed(Gen *g, V some, V y, Dim length) {
	const Dim none = dim_const(g->c, 0), one = dim_const(g->c, 1), longer = plus(g, length, 1);
	if (chance(g, 50)) return (V){build_pad(g->b, some.ref, &one, &longer, NULL), some.mag};
	return (V){build_update(g->b, times(g, y, 0.5).ref, some.ref, &none, NULL), y.mag};
}

/* The positions where a condition holds (perhaps none), and the values
 * there. */
static bool step_nonzero(Gen *g) {
	V x, y;
	if (!choose_if(g, KIND_B, 1, 1, &x)) { x = as_dtype(g, choose(g, KIND_R, 1, 1), DT_BOOL); }
	const bool some = choose_if(g, KIND_R, 1, 2, &y);
	Dim all = type_at(g, x.ref).dims[0], length = born_dim(g, most(g, all));
	if (some) y = fit(g, y, 1, &all);
	if (some && chance(g, 40))
		x = apply2(g, OP_LT, konst(g, type_id_at(g, y.ref), 2 * y.mag + 1), y);
	TypeId t = type_tensor(g->c, DT_I64, 1, &length);
	V places = {
		build_typed(g->b, OP_NONZERO, 1, &x.ref, words(g, 1, (int64_t[]){length}), 1, &t, NULL),
		(double)most(g, all)};
	put(g, places);
	if (!some) return true;
	V picked = {build_gather(g->b, y.ref, places.ref, 0, 0), y.mag};
	put(g, picked);
	put(g, chance(g, 50) ? boxed(g, picked, y, length)
	                     : reduced(g, OP_REDUCE_SUM, picked, 1, (int[]){0}));
	return true;
}

static bool step_argsort(Gen *g) {
	V x = choose(g, KIND_I | KIND_R, 1, 2);
	Type t = type_at(g, x.ref);
	uint32_t axis = (uint32_t)below(g, t.rank);
	double top = (double)most(g, t.dims[axis]);
	V order = {
		build(g->b, OP_ARGSORT, 1, &x.ref, words(g, 2, (int64_t[]){axis, below(g, 2)}), NULL), top};
	put(g, order);
	if (t.rank == 1) put(g, (V){build_gather(g->b, x.ref, order.ref, 0, 0), x.mag});
	return true;
}

/* ---- reductions and contractions ----------------------------------------- */

static bool step_reduce(Gen *g) {
	static const Op ops[] = {OP_REDUCE_SUM,  OP_REDUCE_SUM, OP_REDUCE_SUM,
	                         OP_REDUCE_PROD, OP_REDUCE_MAX, OP_REDUCE_MIN};
	Op op = ops[below(g, 6)];
	bool extreme = op == OP_REDUCE_MAX || op == OP_REDUCE_MIN;
	V x = choose(g, extreme ? KIND_B | KIND_I | KIND_R : KIND_NUMBER, 1, 4);
	Type t = type_at(g, x.ref);
	int axes[MAX_RANK];
	uint32_t n = 0;
	bool rows = chance(g, 30); /* over the first axis only, or over all others */
	bool first = chance(g, 50);
	double count = 1;
	for (uint32_t k = 0; k < t.rank; k++) {
		if (rows && t.rank > 1 ? (k == 0) != first : !chance(g, 60)) continue;
		axes[n++] = (int)k;
		count *= (double)most(g, t.dims[k]);
		if (extreme && least(g, t.dims[k]) < 1) return false;
	}
	if (!n) axes[n++] = (int)t.rank - 1;
	if (extreme && least(g, t.dims[axes[0]]) < 1) return false;
	bool real = dtype_is_real((Dtype)t.dtype);
	if (op == OP_REDUCE_PROD && dtype_is_complex((Dtype)t.dtype)) return false;
	if (op == OP_REDUCE_PROD && real) { /* near 1, or the product would underflow or overflow */
		double width = fmin(1, 3 / count);
		x = shifted(g, tame(g, x, width), 1);
		V y = reduced(g, op, x, n, axes);
		y.mag = 40;
		put(g, y);
		return true;
	}
	put(g, reduced(g, op, x, n, axes));
	return true;
}

static bool step_argmax(Gen *g) {
	V x = choose(g, KIND_I | KIND_R, 1, 3);
	Type t = type_at(g, x.ref);
	uint32_t axis = (uint32_t)below(g, t.rank);
	if (least(g, t.dims[axis]) < 1) return false;
	put(g, (V){build(g->b, OP_ARGMAX, 1, &x.ref, words(g, 1, (int64_t[]){axis}), NULL),
	           (double)most(g, t.dims[axis])});
	return true;
}

static bool step_cumulate(Gen *g) {
	bool sum = chance(g, 65);
	V x = choose(g, sum ? KIND_NUMBER : KIND_I | KIND_R, 1, 3);
	Type t = type_at(g, x.ref);
	uint32_t axis = (uint32_t)below(g, t.rank);
	double count = (double)most(g, t.dims[axis]), mag = x.mag * count;
	if (!sum && dtype_is_real((Dtype)t.dtype)) {
		x = shifted(g, tame(g, x, fmin(1, 3 / count)), 1);
		mag = 40;
	}
	put(g, (V){build(g->b, sum ? OP_CUMSUM : OP_CUMPROD, 1, &x.ref,
	                 words(g, 2, (int64_t[]){axis, below(g, 2)}), NULL),
	           mag});
	return true;
}

/* Contracts two operands along axes of equal extent, some of them as batch
 * axes. Returns false when that is impossible. */
static bool contracted(Gen *g, V x, V y, V *out) {
	Type tx = type_at(g, x.ref), ty = type_at(g, y.ref);
	int xc[MAX_RANK], yc[MAX_RANK], xb[MAX_RANK], yb[MAX_RANK];
	uint32_t nc = 0, nb = 0;
	bool used[MAX_RANK] = {false};
	double count = 1;
	uint32_t turn = (uint32_t)below(g, tx.rank + 1);
	for (uint32_t i = 0; i < tx.rank; i++) {
		uint32_t k = (i + turn) % tx.rank;
		for (uint32_t j = ty.rank; j-- > 0;) {
			if (used[j] || ty.dims[j] != tx.dims[k]) continue;
			int kind = nc ? (int)below(g, 4) : below(g, 5) == 0;
			if (kind > 1) break;
			used[j] = true;
			if (kind == 0) {
				xc[nc] = (int)k;
				yc[nc++] = (int)j;
				count *= (double)most(g, tx.dims[k]);
			} else {
				xb[nb] = (int)k;
				yb[nb++] = (int)j;
			}
			break;
		}
	}
	Dim dims[2 * MAX_RANK];
	uint32_t n = 0;
	for (uint32_t k = 0; k < tx.rank; k++) dims[n++] = tx.dims[k];
	for (uint32_t j = 0; j < ty.rank; j++)
		if (!used[j]) dims[n++] = ty.dims[j];
	/* the work is a multiple of the result's size */
	if (n > MAX_RANK || !(nc + nb) || n - nc > 4 || count_most(g, n, dims) * g->turns > 8 * g->cap)
		return false;
	double per = dtype_is_complex((Dtype)tx.dtype) ? 2 : 1;
	*out = (V){build_dot(g->b, x.ref, y.ref, nc, xc, yc, nb, xb, yb), per * x.mag * y.mag * count};
	return true;
}

static bool step_dot(Gen *g) {
	V x = choose(g, chance(g, 85) ? KIND_R : KIND_NUMBER, 1, 3), z;
	Type t = type_at(g, x.ref);
	for (int tries = 0; tries < 4; tries++) {
		V y = choose(g, KIND_NUMBER, 1, 3);
		y = as_dtype(g, y, (Dtype)t.dtype);
		if (!contracted(g, x, y, &z)) continue;
		put(g, z);
		return true;
	}
	if (!contracted(g, x, x, &z)) return false;
	put(g, z);
	return true;
}

/* ---- new arrays and extents ---------------------------------------------- */

static bool step_iota(Gen *g) {
	static const Dtype to[] = {DT_I64, DT_F64, DT_F32, DT_I32};
	Dim d = any_dim(g);
	V x = {build_iota(g->b, to[below(g, 4)], d), (double)most(g, d)};
	put(g, x);
	return true;
}

static bool step_extent(Gen *g) {
	V x = choose(g, KIND_ALL, 1, 3);
	Type t = type_at(g, x.ref);
	Dim d = t.dims[below(g, t.rank)];
	put(g, (V){build_extent(g->b, d), (double)most(g, d)});
	return true;
}

/* An extent from a scalar, as in linspace. */
static bool step_bind(Gen *g) {
	V k = fit(g, choose(g, KIND_I, 0, 1), 0, NULL);
	k = shifted(g, tame(g, as_dtype(g, k, DT_I64), 6), 1);
	Dim d = build_dim_of(g->b, k.ref, 0);
	V x = {build_iota(g->b, g->real, d), 6};
	V y = fit(g, as_dtype(g, choose(g, KIND_R, 0, 1), g->real), 0, NULL);
	x = tame(g, apply2(g, OP_MUL, x, fit(g, y, 1, &d)), 4);
	put(g, x);
	put(g, reduced(g, OP_REDUCE_SUM, x, 1, (int[]){0}));
	return true;
}

/* Two extents that must be equal: a guard, which fails when they differ. They
 * are equal in the first set, since n = 2 n would make n zero, and n - 1
 * negative. */
static bool step_guard(Gen *g) {
	V x, y;
	if (g->failure != FAIL_GUARD || g->callee || g->depth) return false;
	x = choose(g, KIND_R, 1, 1);
	y = choose(g, KIND_R, 1, 1);
	Type tx = type_at(g, x.ref), ty = type_at(g, y.ref);
	if (least(g, tx.dims[0]) < 17 || least(g, ty.dims[0]) < 17) return false;
	int64_t a, b;
	if (!length_in(g, 0, tx.dims[0], &a) || !length_in(g, 0, ty.dims[0], &b) || a != b)
		return false;
	if (!build_unify(g->b, tx.dims[0], ty.dims[0], atom(g->c, "these"))) return false;
	y = fit_type(g, y, type_id_at(g, x.ref));
	put(g, apply2(g, OP_ADD, x, y));
	return true;
}

static bool step_random(Gen *g) {
	int64_t key[2] = {below(g, 1000), 0}, two = 2;
	key[1] = below(g, 1000);
	Tensor *t = tensor_new(g->c, DT_I64, 1, &two);
	if (!t) ctx_throw(g->c, ST_NOMEM);
	memcpy(t->data, key, sizeof key);
	Ref state = build_const(g->b, value_tensor(t)), out[2];
	tensor_unref(t);
	Dim dims[2] = {any_dim(g)};
	dims[1] = small_dim(g, 1, 5);
	uint32_t rank = (uint32_t)below(g, 3);
	int64_t w[3] = {rank, dims[0], dims[1]};
	if (!affordable(g, rank, dims)) return false;
	build(g->b, OP_RANDOM, 1, &state, words(g, rank + 1, w), out);
	V bits = {out[0], 9.3e18};
	bits = times(g, as_dtype(g, tame(g, bits, 1000), g->real), 0.001);
	put(g, bits);
	put(g, (V){out[1], 9.3e18});
	return true;
}

static bool step_fft(Gen *g) {
	V x = choose(g, KIND_INEXACT, 1, 2);
	Type t = type_at(g, x.ref);
	uint32_t axis = (uint32_t)below(g, t.rank);
	if (least(g, t.dims[axis]) < 1) return false;
	x = as_dtype(g, x, dtype_complex_of((Dtype)t.dtype));
	V y = {build(g->b, OP_FFT, 1, &x.ref, words(g, 2, (int64_t[]){axis, below(g, 2)}), NULL),
	       2 * x.mag * (double)most(g, t.dims[axis])};
	put(g, as_dtype(g, tame(g, y, 10), dtype_real_of((Dtype)t.dtype)));
	return true;
}

/* ---- dense linear algebra, on small matrices far from singular ----------- */

static V matrix(Gen *g, uint32_t rank, const Dim *dims, int64_t n, bool symmetric, Dtype d) {
	V x = tame(g, fit(g, as_dtype(g, choose(g, KIND_R, 0, 3), d), rank, dims), 0.2);
	/* distinct elements: a broadcast would give equal eigenvalues */
	int64_t shape[2] = {n, n};
	uint64_t draw = random_next(&g->rng);
	Value v = random_value(g->c, &draw, DT_F64, 2, shape, false);
	if (v.kind != V_TENSOR) ctx_throw(g->c, ST_NOMEM);
	Tensor *t = tensor_copy(g->c, v.tensor);
	value_unref(v);
	if (!t) ctx_throw(g->c, ST_NOMEM);
	double *at = (double *)(void *)t->data;
	for (int64_t i = 0; i < n * n; i++)
		at[i] = at[i] * 0.1 + (i % (n + 1) ? 0 : 2 + 1.5 * (double)(i / (n + 1)));
	V k = {build_const(g->b, value_tensor(t)), 10};
	tensor_unref(t);
	x = apply2(g, OP_ADD, x, fit(g, as_dtype(g, k, d), rank, dims));
	if (!symmetric) return x;
	int perm[MAX_RANK];
	for (uint32_t i = 0; i < rank; i++) perm[i] = (int)i;
	perm[rank - 2] = (int)rank - 1;
	perm[rank - 1] = (int)rank - 2;
	return apply2(g, OP_ADD, x, (V){build_transpose(g->b, x.ref, perm), x.mag});
}

static bool step_linalg(Gen *g) {
	int64_t n = 2 + below(g, 3);
	Dtype d = g->real;
	Dim dims[3] = {symbol_dim(g), dim_const(g->c, n), dim_const(g->c, n)};
	uint32_t rank = chance(g, 30) ? 3 : 2;
	if (rank == 3 && !affordable(g, 3, dims)) rank = 2;
	const Dim *shape = dims + 3 - rank;
	Op op = (Op)(OP_CHOLESKY + below(g, OP_TRISOLVE - OP_CHOLESKY + 1));
	V a = matrix(g, rank, shape, n, op == OP_CHOLESKY || op == OP_EIGH, d);
	Ref out[3];
	if (op == OP_LU && chance(g, 50)) { /* a system solved with the factors */
		V b = fit(g, as_dtype(g, choose(g, KIND_R, 0, 3), d), rank, shape);
		Ref still = build1(g->b, OP_STOP, a.ref), factors[3] = {a.ref};
		build(g->b, OP_LU, 1, &still, 0, factors + 1);
		put(g, (V){mat_solve_factored(g->b, factors, b.ref, chance(g, 30)), 10 * b.mag});
		return true;
	}
	if (op == OP_TRISOLVE) {
		V b = fit(g, as_dtype(g, choose(g, KIND_R, 0, 3), d), rank, shape);
		int64_t w[3];
		for (int k = 0; k < 3; k++) w[k] = below(g, k < 2 ? 2 : 4) == 0;
		put(g, (V){build(g->b, op, 2, (Ref[]){a.ref, b.ref}, words(g, 3, w), NULL), 10 * b.mag});
		return true;
	}
	build(g->b, op, 1, &a.ref, 0, out);
	/* The order of a conjugate pair is not defined; only symmetric functions of
	 * it are kept. */
	if (op == OP_EIG) {
		V sum = {build1(g->b, OP_REAL, out[0]), 20};
		put(g, reduced(g, OP_REDUCE_SUM, sum, 1, (int[]){(int)rank - 2}));
		return true;
	}
	for (int k = 0; k < prims[op].nres; k++) put(g, (V){out[k], 20});
	return true;
}

/*                                         mixed rows loops arrays layers */
const StepKind array_steps[] = {
	{"unary", step_unary, {24, 36, 20, 14, 26}},
	{"complex", step_complex, {3, 2, 1, 2, 2}},
	{"binary", step_binary, {34, 44, 30, 20, 34}},
	{"select", step_select, {8, 8, 6, 4, 4}},
	{"convert", step_convert, {6, 4, 5, 5, 3}},
	{"stop", step_stop, {1, 1, 1, 1, 1}},
	{"broadcast", step_broadcast, {6, 6, 4, 8, 5}},
	{"reshape", step_reshape, {6, 3, 3, 10, 4}},
	{"transpose", step_transpose, {6, 3, 3, 10, 6}},
	{"slice", step_slice, {9, 6, 6, 16, 5}},
	{"pad", step_pad, {4, 2, 3, 9, 2}},
	{"update", step_update, {5, 3, 6, 10, 2}},
	{"concat", step_concat, {4, 2, 3, 8, 2}},
	{"push", step_push, {1, 1, 2, 3, 1}},
	{"gather", step_gather, {7, 4, 8, 10, 4}},
	{"scatter", step_scatter, {6, 3, 8, 9, 3}},
	{"nonzero", step_nonzero, {3, 1, 2, 4, 1}},
	{"argsort", step_argsort, {1, 1, 1, 2, 1}},
	{"reduce", step_reduce, {12, 16, 8, 12, 10}},
	{"argmax", step_argmax, {2, 2, 2, 3, 2}},
	{"cumulate", step_cumulate, {4, 3, 3, 6, 2}},
	{"dot", step_dot, {8, 6, 5, 8, 18}},
	{"iota", step_iota, {3, 2, 3, 4, 2}},
	{"extent", step_extent, {2, 1, 2, 2, 1}},
	{"bind", step_bind, {1, 0, 1, 1, 0}},
	{"guard", step_guard, {12, 12, 12, 12, 12}},
	{"random", step_random, {1, 1, 1, 1, 1}},
	{"fft", step_fft, {2, 1, 1, 3, 1}},
	{"linalg", step_linalg, {5, 3, 3, 6, 3}},
	{NULL, NULL, {0}},
};
