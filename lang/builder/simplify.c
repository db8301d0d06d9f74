/* simplify.c - the table of rewrite rules (peephole simplification).
 *
 * Needs: builder/internal.h.
 *
 * Contract:
 * - A rule returns a simpler equal expression, or declines. It inspects only
 *   the expression and the definitions of its operands.
 * - The first row that applies wins; the builder counts the uses of each row.
 * - Values are unchanged except for: the sign of zero in sums and differences,
 *   the last bit of a sum of equal terms, and the rounding of small integer
 *   powers.
 */
#include "lang/builder/internal.h"
#include <math.h>


/* ---- inspection ---------------------------------------------------------- */

static const Inst *made_by(Builder *b, Ref r, Op op) {
	const Inst *in = ref_inst(b->fn, r);
	return in && in->op == op ? in : NULL;
}

/* The only operand of the instruction that defines r, when its primitive is op;
 * REF_NONE otherwise. */
static Ref under(Builder *b, Op op, Ref r) {
	const Inst *in = made_by(b, r, op);
	return in ? inst_arg(b->fn, in, 0) : REF_NONE;
}

static TypeId type_at(Builder *b, Ref r) { return build_canon_type(b, ref_type(b->fn, r)); }

static Dtype dtype_at(Builder *b, Ref r) { return (Dtype)ref_ty(b->fn, r)->dtype; }

static bool is_kind(Builder *b, Ref r, uint8_t kinds) {
	return (dtype_kind(dtype_at(b, r)) & kinds) != 0;
}

static bool splat_complex(Builder *b, Ref r, double _Complex *out) {
	Value v;
	if (!ref_splat(b->fn, r, &v)) return false;
	scalar_convert((Dtype)v.dtype, value_scalar_bytes(&v), DT_C128, out);
	return true;
}

static bool splat_is(Builder *b, Ref r, double x) {
	double _Complex v;
	return splat_complex(b, r, &v) && creal(v) == x && cimag(v) == 0;
}

static bool splat_int(Builder *b, Ref r, int64_t *out) {
	Value v;
	return is_kind(b, r, KIND_I) && ref_splat(b->fn, r, &v) && value_as_i64(v, out);
}

static bool is_splat(Builder *b, Ref r) {
	Value v;
	return ref_splat(b->fn, r, &v);
}

static const int64_t *field(Builder *b, const Inst *in, uint32_t k, uint32_t *n) {
	return attr_field(b->ctx, (Op)in->op, in->attr, k, n);
}

static const int64_t *expr_field(Builder *b, const Expr *e, uint32_t k, uint32_t *n) {
	return attr_field(b->ctx, e->op, e->attr, k, n);
}

static bool dim_is(Builder *b, int64_t word, int64_t value) {
	int64_t v;
	return dim_is_const(b->ctx, build_canon(b, (Dim)word), &v) && v == value;
}

static bool same_words(Builder *b, int64_t x, int64_t y) {
	return build_same_dim(b, (Dim)x, (Dim)y);
}

/* ---- construction -------------------------------------------------------- */

static Ref full(Builder *b, const Expr *e, double x) { return build_full(b, e->type, x); }

static Ref spread(Builder *b, Ref scalar, TypeId like) {
	return build_broadcast_scalar(b, scalar, like);
}

/* ---- sums ---------------------------------------------------------------- */

static Ref add_zero(Builder *b, const Expr *e) {
	return splat_is(b, e->args[1], 0) ? e->args[0] : REF_NONE;
}

static Ref add_neg(Builder *b, const Expr *e) {
	Ref y = under(b, OP_NEG, e->args[1]);
	if (y != REF_NONE) return build2(b, OP_SUB, e->args[0], y);
	y = under(b, OP_NEG, e->args[0]);
	return y != REF_NONE ? build2(b, OP_SUB, e->args[1], y) : REF_NONE;
}

/* (x . c1) . c2 -> x . (c1 . c2), for integers, whose sums and products
 * associate. */
static Ref gather_constants(Builder *b, const Expr *e) {
	int64_t c1, c2;
	const Inst *in = made_by(b, e->args[0], e->op);
	if (!in || !splat_int(b, e->args[1], &c2) || !splat_int(b, inst_arg(b->fn, in, 1), &c1))
		return REF_NONE;
	Ref x = inst_arg(b->fn, in, 0);
	return build2(b, e->op, x, build2(b, e->op, inst_arg(b->fn, in, 1), e->args[1]));
}

static Ref sub_zero(Builder *b, const Expr *e) {
	return splat_is(b, e->args[1], 0) ? e->args[0] : REF_NONE;
}

static Ref zero_sub(Builder *b, const Expr *e) {
	return splat_is(b, e->args[0], 0) ? build1(b, OP_NEG, e->args[1]) : REF_NONE;
}

static Ref sub_neg(Builder *b, const Expr *e) {
	Ref y = under(b, OP_NEG, e->args[1]);
	return y != REF_NONE ? build2(b, OP_ADD, e->args[0], y) : REF_NONE;
}

static Ref sub_same(Builder *b, const Expr *e) {
	return e->args[0] == e->args[1] && is_kind(b, e->args[0], KIND_I) ? full(b, e, 0) : REF_NONE;
}

/* x - c -> x + (-c), for integers, so that constants can be combined. */
static Ref sub_constant(Builder *b, const Expr *e) {
	int64_t c;
	return splat_int(b, e->args[1], &c)
	           ? build2(b, OP_ADD, e->args[0], build1(b, OP_NEG, e->args[1]))
	           : REF_NONE;
}

static Ref neg_neg(Builder *b, const Expr *e) { return under(b, OP_NEG, e->args[0]); }

static Ref neg_mul_constant(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_MUL);
	if (!in || !is_splat(b, inst_arg(b->fn, in, 1))) return REF_NONE;
	Ref x = inst_arg(b->fn, in, 0);
	return build2(b, OP_MUL, x, build1(b, OP_NEG, inst_arg(b->fn, in, 1)));
}

/* ---- products ------------------------------------------------------------ */

static Ref mul_one(Builder *b, const Expr *e) {
	return splat_is(b, e->args[1], 1) ? e->args[0] : REF_NONE;
}

static Ref mul_minus_one(Builder *b, const Expr *e) {
	return splat_is(b, e->args[1], -1) ? build1(b, OP_NEG, e->args[0]) : REF_NONE;
}

/* Not for floats, where 0 * inf is NaN, unless zeros stand for absent tangents.
 */
static Ref mul_zero(Builder *b, const Expr *e) {
	return (b->zeros_absorb || is_kind(b, e->args[0], KIND_I)) && splat_is(b, e->args[1], 0)
	           ? e->args[1]
	           : REF_NONE;
}

static Ref zero_div(Builder *b, const Expr *e) {
	return b->zeros_absorb && splat_is(b, e->args[0], 0) ? e->args[0] : REF_NONE;
}

static Ref dot_zero(Builder *b, const Expr *e) {
	return b->zeros_absorb && (splat_is(b, e->args[0], 0) || splat_is(b, e->args[1], 0))
	           ? full(b, e, 0)
	           : REF_NONE;
}

static Ref solve_zero(Builder *b, const Expr *e) {
	return b->zeros_absorb && splat_is(b, e->args[1], 0) ? e->args[1] : REF_NONE;
}

static Ref mul_neg(Builder *b, const Expr *e) {
	Ref x = under(b, OP_NEG, e->args[0]), y = under(b, OP_NEG, e->args[1]);
	if (x == REF_NONE && y == REF_NONE) return REF_NONE;
	if (x != REF_NONE && y != REF_NONE) return build2(b, OP_MUL, x, y);
	if (x != REF_NONE && is_splat(b, e->args[1]))
		return build2(b, OP_MUL, x, build1(b, OP_NEG, e->args[1]));
	return build1(b, OP_NEG,
	              x != REF_NONE ? build2(b, OP_MUL, x, e->args[1])
	                            : build2(b, OP_MUL, e->args[0], y));
}

static Ref div_one(Builder *b, const Expr *e) {
	return splat_is(b, e->args[1], 1) ? e->args[0] : REF_NONE;
}

static Ref div_neg(Builder *b, const Expr *e) {
	Ref x = under(b, OP_NEG, e->args[0]), y = under(b, OP_NEG, e->args[1]);
	if (x == REF_NONE && y == REF_NONE) return REF_NONE;
	if (x != REF_NONE && y != REF_NONE) return build2(b, OP_DIV, x, y);
	return build1(b, OP_NEG,
	              x != REF_NONE ? build2(b, OP_DIV, x, e->args[1])
	                            : build2(b, OP_DIV, e->args[0], y));
}

/* x / 2^k -> x * 2^-k: the same bits. */
static Ref div_power_of_two(Builder *b, const Expr *e) {
	double _Complex v;
	if (!is_kind(b, e->args[1], KIND_R) || !splat_complex(b, e->args[1], &v)) return REF_NONE;
	double d = creal(v) < 0 ? -creal(v) : creal(v);
	if (!(d >= 0x1p-64 && d <= 0x1p64)) return REF_NONE;
	while (d < 1) d *= 2;
	while (d > 1) d /= 2;
	return d == 1 ? build2(b, OP_MUL, e->args[0], full(b, e, 1 / creal(v))) : REF_NONE;
}

/* |x| |x| -> x x, which has its true derivatives at 0, where those of |x| are
 * a convention. */
static Ref mul_abs(Builder *b, const Expr *e) {
	Ref x = e->args[0] == e->args[1] ? under(b, OP_ABS, e->args[0]) : REF_NONE;
	return x != REF_NONE ? build2(b, OP_MUL, x, x) : REF_NONE;
}

static Ref pow_whole(Builder *b, const Expr *e) {
	double _Complex v;
	Ref x = e->args[0];
	if (!splat_complex(b, e->args[1], &v) || cimag(v) != 0) return REF_NONE;
	double p = creal(v);
	Ref signed_base = fmod(p, 2) == 0 ? under(b, OP_ABS, x) : REF_NONE;
	if (signed_base != REF_NONE) return build2(b, OP_POW, signed_base, e->args[1]);
	if (p == 0) return full(b, e, 1);
	if (p == 1) return x;
	if (p == -1 && !is_kind(b, x, KIND_I)) return build2(b, OP_DIV, full(b, e, 1), x);
	if (p != 2 && p != 3 && p != 4) return REF_NONE;
	Ref square = build2(b, OP_MUL, x, x);
	return p == 2 ? square : build2(b, OP_MUL, square, p == 3 ? x : square);
}

static Ref floordiv_one(Builder *b, const Expr *e) {
	return is_kind(b, e->args[0], KIND_I) && splat_is(b, e->args[1], 1) ? e->args[0] : REF_NONE;
}

static Ref mod_one(Builder *b, const Expr *e) {
	return is_kind(b, e->args[0], KIND_I) && splat_is(b, e->args[1], 1) ? full(b, e, 0) : REF_NONE;
}

/* ---- comparisons --------------------------------------------------------- */

static Ref same_operands(Builder *b, const Expr *e) {
	(void)b;
	return e->args[0] == e->args[1] ? e->args[0] : REF_NONE;
}

/* For bools, max is `or` and min is `and`. */
static Ref bool_constant(Builder *b, const Expr *e) {
	if (!is_kind(b, e->args[0], KIND_B)) return REF_NONE;
	double absorbs = e->op == OP_MAX ? 1 : 0;
	if (splat_is(b, e->args[1], absorbs)) return e->args[1];
	return splat_is(b, e->args[1], 1 - absorbs) ? e->args[0] : REF_NONE;
}

/* Only for kinds without NaN. */
static Ref same_is_equal(Builder *b, const Expr *e) {
	return e->args[0] == e->args[1] && is_kind(b, e->args[0], KIND_B | KIND_I) ? full(b, e, 1)
	                                                                           : REF_NONE;
}

static Ref same_is_not_less(Builder *b, const Expr *e) {
	return e->args[0] == e->args[1] ? full(b, e, 0) : REF_NONE;
}

static Ref eq_true(Builder *b, const Expr *e) {
	return is_kind(b, e->args[0], KIND_B) && splat_is(b, e->args[1], 1) ? e->args[0] : REF_NONE;
}

/* The operand of a `not`, represented as x == false. */
static Ref under_not(Builder *b, Ref r) {
	const Inst *in = made_by(b, r, OP_EQ);
	if (!in || !is_kind(b, inst_arg(b->fn, in, 0), KIND_B) ||
	    !splat_is(b, inst_arg(b->fn, in, 1), 0))
		return REF_NONE;
	return inst_arg(b->fn, in, 0);
}

static Ref not_not(Builder *b, const Expr *e) {
	if (!is_kind(b, e->args[0], KIND_B) || !splat_is(b, e->args[1], 0)) return REF_NONE;
	return under_not(b, e->args[0]);
}

static Ref select_constant(Builder *b, const Expr *e) {
	Value v;
	if (!ref_splat(b->fn, e->args[0], &v)) return REF_NONE;
	return v.b ? e->args[1] : e->args[2];
}

static Ref select_same(Builder *b, const Expr *e) {
	(void)b;
	return e->args[1] == e->args[2] ? e->args[1] : REF_NONE;
}

static Ref select_not(Builder *b, const Expr *e) {
	Ref c = under_not(b, e->args[0]);
	return c != REF_NONE ? build(b, OP_SELECT, 3, (Ref[]){c, e->args[2], e->args[1]}, 0, NULL)
	                     : REF_NONE;
}

static Ref select_bools(Builder *b, const Expr *e) {
	if (!is_kind(b, e->args[1], KIND_B)) return REF_NONE;
	return splat_is(b, e->args[1], 1) && splat_is(b, e->args[2], 0) ? e->args[0] : REF_NONE;
}

/* ---- unary operations ---------------------------------------------------- */

static Ref abs_neg(Builder *b, const Expr *e) {
	Ref x = under(b, OP_NEG, e->args[0]);
	return x != REF_NONE ? build1(b, OP_ABS, x) : REF_NONE;
}

/* Idempotent: abs(abs x), floor(floor x), stop(stop x) ... */
static Ref twice_is_once(Builder *b, const Expr *e) {
	return made_by(b, e->args[0], e->op) ? e->args[0] : REF_NONE;
}

static Ref round_whole(Builder *b, const Expr *e) {
	Ref x = under(b, OP_CONVERT, e->args[0]);
	bool whole = (x != REF_NONE && is_kind(b, x, KIND_B | KIND_I)) ||
	             made_by(b, e->args[0], OP_FLOOR) || made_by(b, e->args[0], OP_ROUND);
	return whole ? e->args[0] : REF_NONE;
}

/* The real array whose conversion to complex is r; REF_NONE otherwise. */
static Ref under_real(Builder *b, Ref r) {
	Ref x = under(b, OP_CONVERT, r);
	return x != REF_NONE && !is_kind(b, x, KIND_C) ? x : REF_NONE;
}

static Ref conj_conj(Builder *b, const Expr *e) { return under(b, OP_CONJ, e->args[0]); }

static Ref conj_real(Builder *b, const Expr *e) {
	return under_real(b, e->args[0]) != REF_NONE ? e->args[0] : REF_NONE;
}

static Ref real_of(Builder *b, const Expr *e) {
	Ref x = under(b, OP_CONJ, e->args[0]);
	if (x != REF_NONE) return build1(b, OP_REAL, x);
	x = under_real(b, e->args[0]);
	return x != REF_NONE ? build_convert(b, x, (Dtype)type_of(b->ctx, e->type)->dtype) : REF_NONE;
}

static Ref imag_of(Builder *b, const Expr *e) {
	Ref x = under(b, OP_CONJ, e->args[0]);
	if (x != REF_NONE) return build1(b, OP_NEG, build1(b, OP_IMAG, x));
	return under_real(b, e->args[0]) != REF_NONE ? full(b, e, 0) : REF_NONE;
}

static Ref stop_constant(Builder *b, const Expr *e) {
	return is_splat(b, e->args[0]) || ref_is_const(e->args[0]) ? e->args[0] : REF_NONE;
}

/* ---- conversions --------------------------------------------------------- */

/* Whether every value of `from` is a value of `to`. */
static bool widens(Dtype from, Dtype to) {
	switch (from) {
	case DT_BOOL: return true;
	case DT_I32: return to == DT_I32 || to == DT_I64 || to == DT_F64 || to == DT_C128;
	case DT_I64: return to == DT_I64;
	case DT_F32: return to == DT_F32 || to == DT_F64 || to == DT_C64 || to == DT_C128;
	case DT_F64: return to == DT_F64 || to == DT_C128;
	case DT_C64: return to == DT_C64 || to == DT_C128;
	default: return to == DT_C128;
	}
}

static Ref convert_same(Builder *b, const Expr *e) {
	return dtype_at(b, e->args[0]) == (Dtype)type_of(b->ctx, e->type)->dtype ? e->args[0]
	                                                                         : REF_NONE;
}

static Ref convert_chain(Builder *b, const Expr *e) {
	Ref x = under(b, OP_CONVERT, e->args[0]);
	if (x == REF_NONE || !widens(dtype_at(b, x), dtype_at(b, e->args[0]))) return REF_NONE;
	return build_convert(b, x, (Dtype)type_of(b->ctx, e->type)->dtype);
}

/* ---- broadcasts move outwards -------------------------------------------- */

static Ref broadcast_same(Builder *b, const Expr *e) {
	return type_at(b, e->args[0]) == e->type ? e->args[0] : REF_NONE;
}

static Ref broadcast_broadcast(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_BROADCAST);
	if (!in) return REF_NONE;
	uint32_t n, inner_n;
	int axes[MAX_RANK];
	const int64_t *inner = field(b, in, 1, &inner_n), *outer = expr_field(b, e, 1, &n);
	for (uint32_t k = 0; k < inner_n; k++) axes[k] = (int)outer[inner[k]];
	Type t = *type_of(b->ctx, e->type);
	return build_broadcast(b, inst_arg(b->fn, in, 0), t.rank, t.dims, axes);
}

/* Repeats a broadcast, which adds or stretches axes, for another operand. */
static Ref broadcast_again(Builder *b, const Inst *in, Ref x, TypeId shape) {
	uint32_t n;
	int axes[MAX_RANK];
	const int64_t *at = field(b, in, 1, &n);
	for (uint32_t k = 0; k < n; k++) axes[k] = (int)at[k];
	Type t = *type_of(b->ctx, shape);
	return build_broadcast(b, x, t.rank, t.dims, axes);
}

/* Computing before the broadcast must not report an error that no element would
 * have: the broadcast may be empty. */
static bool may_fail(Builder *b, const Expr *e) {
	return fails_alone(b->fn, e->op, e->args, e->attr);
}

static Ref broadcast_out1(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_BROADCAST);
	if (!in) return REF_NONE;
	Inst outer = *in;
	Ref y = build(b, e->op, 1, (Ref[]){inst_arg(b->fn, &outer, 0)}, e->attr, NULL);
	return broadcast_again(b, &outer, y, e->type);
}

/* op of two broadcasts that create some common axes: these are created after
 * op. */
static Ref broadcast_out_common(Builder *b, const Expr *e, Inst ix, Inst iy) {
	Type t = *type_of(b->ctx, e->type);
	uint32_t nx, ny, rank = 0;
	const int64_t *ax = field(b, &ix, 1, &nx), *ay = field(b, &iy, 1, &ny);
	bool had[MAX_RANK] = {false};
	int place[MAX_RANK], outer[MAX_RANK], axes[MAX_RANK];
	Dim dims[MAX_RANK];
	for (uint32_t k = 0; k < nx; k++) had[ax[k]] = true;
	for (uint32_t k = 0; k < ny; k++) had[ay[k]] = true;
	for (uint32_t k = 0; k < t.rank; k++) {
		place[k] = (int)rank;
		if (!had[k]) continue;
		outer[rank] = (int)k;
		dims[rank++] = t.dims[k];
	}
	if (rank == t.rank) return REF_NONE;
	for (uint32_t k = 0; k < nx; k++) axes[k] = place[ax[k]];
	Ref x = build_broadcast(b, inst_arg(b->fn, &ix, 0), rank, dims, axes);
	for (uint32_t k = 0; k < ny; k++) axes[k] = place[ay[k]];
	Ref y = build_broadcast(b, inst_arg(b->fn, &iy, 0), rank, dims, axes);
	return build_broadcast(b, build2(b, e->op, x, y), t.rank, t.dims, outer);
}

/* op of two broadcasts along the same axes, or of a broadcast and a broadcast
 * scalar. */
static Ref broadcast_out2(Builder *b, const Expr *e) {
	const Inst *ix = made_by(b, e->args[0], OP_BROADCAST),
			   *iy = made_by(b, e->args[1], OP_BROADCAST);
	if (!ix || !iy || may_fail(b, e)) return REF_NONE;
	Inst outer = *ix;
	Ref x = inst_arg(b->fn, ix, 0), y = inst_arg(b->fn, iy, 0);
	bool scalar_x = !ref_ty(b->fn, x)->rank, scalar_y = !ref_ty(b->fn, y)->rank;
	if (scalar_x && !scalar_y) {
		outer = *iy;
		x = spread(b, x, type_at(b, y));
	} else if (scalar_y && !scalar_x) {
		y = spread(b, y, type_at(b, x));
	} else if (!scalar_x) {
		uint32_t nx, ny;
		const int64_t *ax = field(b, ix, 1, &nx), *ay = field(b, iy, 1, &ny);
		if (type_at(b, x) != type_at(b, y) || memcmp(ax, ay, nx * sizeof *ax) != 0)
			return broadcast_out_common(b, e, *ix, *iy);
	}
	return broadcast_again(b, &outer, build2(b, e->op, x, y), e->type);
}

static Ref broadcast_out(Builder *b, const Expr *e) {
	return e->nargs == 1 ? broadcast_out1(b, e) : broadcast_out2(b, e);
}

/* ---- shapes -------------------------------------------------------------- */

static Ref reshape_same(Builder *b, const Expr *e) {
	return type_at(b, e->args[0]) == e->type ? e->args[0] : REF_NONE;
}

static Ref reshape_reshape(Builder *b, const Expr *e) {
	Ref x = under(b, OP_RESHAPE, e->args[0]);
	Type t = *type_of(b->ctx, e->type);
	return x != REF_NONE ? build_reshape(b, x, t.rank, t.dims) : REF_NONE;
}

/* The scalar whose broadcast is r; REF_NONE otherwise. */
static Ref under_spread(Builder *b, Ref r) {
	Ref x = under(b, OP_BROADCAST, r);
	return x != REF_NONE && !ref_ty(b->fn, x)->rank ? x : REF_NONE;
}

/* Reshape and transpose: a broadcast scalar stays a broadcast scalar. */
static Ref moves_spread(Builder *b, const Expr *e) {
	Ref x = under_spread(b, e->args[0]);
	return x != REF_NONE ? spread(b, x, e->type) : REF_NONE;
}

/* A reshape that only adds and removes axes of extent 1 is applied before the
 * broadcast. */
static Ref reshape_broadcast(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_BROADCAST);
	if (!in) return REF_NONE;
	Inst outer = *in;
	Type from = *ref_ty(b->fn, e->args[0]), to = *type_of(b->ctx, e->type),
		 t = *ref_ty(b->fn, inst_arg(b->fn, &outer, 0));
	uint32_t n, rank = 0, i = 0;
	const int64_t *placed = field(b, &outer, 1, &n);
	int axis[MAX_RANK], axes[MAX_RANK];
	Dim dims[MAX_RANK];
	bool makes = false;
	for (uint32_t k = 0; k < from.rank; k++) {
		bool made = true;
		axis[k] = -1;
		if (dim_is(b, from.dims[k], 1)) continue;
		while (i < to.rank && dim_is(b, to.dims[i], 1)) i++;
		if (i == to.rank || !build_same_dim(b, from.dims[k], to.dims[i])) return REF_NONE;
		axis[k] = (int)i++;
		for (uint32_t j = 0; j < n; j++) made = made && placed[j] != k;
		makes = makes || made;
	}
	for (; i < to.rank; i++)
		if (!dim_is(b, to.dims[i], 1)) return REF_NONE;
	if (!makes) return REF_NONE;
	for (uint32_t k = 0; k < n; k++) {
		if (axis[placed[k]] < 0) continue;
		axes[rank] = axis[placed[k]];
		dims[rank++] = t.dims[k];
	}
	return build_broadcast(b, build_reshape(b, inst_arg(b->fn, &outer, 0), rank, dims), to.rank,
	                       to.dims, axes);
}

static Ref transpose_identity(Builder *b, const Expr *e) {
	uint32_t n;
	const int64_t *perm = expr_field(b, e, 0, &n);
	for (uint32_t k = 0; k < n; k++)
		if (perm[k] != k) return REF_NONE;
	return e->args[0];
}

static Ref transpose_transpose(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_TRANSPOSE);
	if (!in) return REF_NONE;
	uint32_t n;
	int perm[MAX_RANK];
	const int64_t *inner = field(b, in, 0, &n), *outer = expr_field(b, e, 0, &n);
	for (uint32_t k = 0; k < n; k++) perm[k] = (int)inner[outer[k]];
	return build_transpose(b, inst_arg(b->fn, in, 0), perm);
}

/* A transposed broadcast is another broadcast, when the operand's axes keep
 * their order. */
static Ref transpose_broadcast(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_BROADCAST);
	if (!in) return REF_NONE;
	uint32_t n, naxes;
	int axes[MAX_RANK];
	const int64_t *perm = expr_field(b, e, 0, &n), *placed = field(b, in, 1, &naxes);
	for (uint32_t k = 0; k < naxes; k++) {
		for (uint32_t j = 0; j < n; j++)
			if (perm[j] == placed[k]) axes[k] = (int)j;
		if (k && axes[k] <= axes[k - 1]) return REF_NONE;
	}
	Type t = *type_of(b->ctx, e->type);
	return build_broadcast(b, inst_arg(b->fn, in, 0), t.rank, t.dims, axes);
}

/* Whether axis k of e (a slice or pad) selects a whole operand axis of extent
 * `whole`. */
static bool takes_all(Builder *b, const Expr *e, uint32_t k, Dim whole) {
	uint32_t n;
	return dim_is(b, expr_field(b, e, 0, &n)[k], 0) &&
	       same_words(b, expr_field(b, e, 1, &n)[k], whole) && expr_field(b, e, 2, &n)[k] == 1;
}

static Ref strided_nothing(Builder *b, const Expr *e) {
	Type t = *ref_ty(b->fn, e->args[0]);
	for (uint32_t k = 0; k < t.rank; k++)
		if (!takes_all(b, e, k, t.dims[k])) return REF_NONE;
	return e->args[0];
}

static Ref slice_slice(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_SLICE);
	if (!in) return REF_NONE;
	uint32_t n;
	const int64_t *start1 = field(b, in, 0, &n), *stride1 = field(b, in, 2, &n);
	const int64_t *start2 = expr_field(b, e, 0, &n), *length = expr_field(b, e, 1, &n);
	const int64_t *stride2 = expr_field(b, e, 2, &n);
	Dim start[MAX_RANK], lengths[MAX_RANK];
	int64_t stride[MAX_RANK];
	for (uint32_t k = 0; k < n; k++) {
		if (__builtin_mul_overflow(stride1[k], stride2[k], &stride[k])) return REF_NONE;
		start[k] = dim_add(b->ctx, (Dim)start1[k],
		                   dim_mul(b->ctx, (Dim)start2[k], dim_const(b->ctx, stride1[k])));
		lengths[k] = (Dim)length[k];
	}
	return build_slice(b, inst_arg(b->fn, in, 0), start, lengths, stride);
}

/* Along axes that a broadcast creates, a slice only changes the extent. */
static Ref slice_broadcast(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_BROADCAST);
	if (!in) return REF_NONE;
	Inst outer = *in;
	uint32_t n;
	const int64_t *placed = field(b, &outer, 1, &n);
	for (uint32_t k = 0; k < n; k++)
		if (!takes_all(b, e, (uint32_t)placed[k], ref_ty(b->fn, e->args[0])->dims[placed[k]]))
			return REF_NONE;
	return broadcast_again(b, &outer, inst_arg(b->fn, &outer, 0), e->type);
}

/* A slice that equals one of the concatenated operands. */
static Ref slice_concat(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_CONCAT);
	if (!in) return REF_NONE;
	uint32_t n, axis = (uint32_t)attr_int(b->ctx, OP_CONCAT, in->attr, 0);
	Type t = *ref_ty(b->fn, e->args[0]);
	for (uint32_t k = 0; k < t.rank; k++)
		if (k != axis && !takes_all(b, e, k, t.dims[k])) return REF_NONE;
	if (expr_field(b, e, 2, &n)[axis] != 1) return REF_NONE;
	Dim at = dim_const(b->ctx, 0);
	for (uint32_t i = 0; i < in->nargs; i++) {
		Ref part = inst_arg(b->fn, in, i);
		Dim length = ref_ty(b->fn, part)->dims[axis];
		if (same_words(b, expr_field(b, e, 0, &n)[axis], at) &&
		    same_words(b, expr_field(b, e, 1, &n)[axis], length))
			return part;
		at = dim_add(b->ctx, at, length);
	}
	return REF_NONE;
}

/* ---- updates of a box ---------------------------------------------------- */

/* One axis of a box in an array: `length` elements from `start` with a stride.
 */
typedef struct BoxAxis {
	Dim start, length;
	int64_t stride;
} BoxAxis;

static BoxAxis slice_side(Builder *b, const Expr *e, uint32_t k) {
	uint32_t n;
	return (BoxAxis){(Dim)expr_field(b, e, 0, &n)[k], (Dim)expr_field(b, e, 1, &n)[k],
	                 expr_field(b, e, 2, &n)[k]};
}

static BoxAxis update_side(Builder *b, AttrId attr, Ref v, uint32_t k) {
	uint32_t n;
	return (BoxAxis){(Dim)attr_field(b->ctx, OP_UPDATE, attr, 0, &n)[k], ref_ty(b->fn, v)->dims[k],
	                 attr_field(b->ctx, OP_UPDATE, attr, 1, &n)[k]};
}

static bool same_side(Builder *b, BoxAxis x, BoxAxis y) {
	return build_same_dim(b, x.start, y.start) && build_same_dim(b, x.length, y.length) &&
	       (x.stride == y.stride || dim_is(b, x.length, 1));
}

/* Whether x - y is a known constant, returned in *out. */
static bool dim_difference(Builder *b, Dim x, Dim y, int64_t *out) {
	return dim_is_const(b->ctx,
	                    build_canon(b, dim_sub(b->ctx, build_canon(b, x), build_canon(b, y))), out);
}

static Dim side_end(Builder *b, BoxAxis x) { return dim_add(b->ctx, x.start, x.length); }

/* Whether the two sides are disjoint for all extents. Decided only for stride
 * 1, for which dims can be compared. */
static bool apart(Builder *b, BoxAxis x, BoxAxis y) {
	int64_t gap;
	if (dim_is(b, x.length, 1)) x.stride = 1;
	if (dim_is(b, y.length, 1)) y.stride = 1;
	if (x.stride != 1 || y.stride != 1) return false;
	return (dim_difference(b, x.start, side_end(b, y), &gap) && gap >= 0) ||
	       (dim_difference(b, y.start, side_end(b, x), &gap) && gap >= 0);
}

static bool within(Builder *b, BoxAxis inner, BoxAxis outer) {
	int64_t before, after;
	return inner.stride == 1 && outer.stride == 1 &&
	       dim_difference(b, inner.start, outer.start, &before) && before >= 0 &&
	       dim_difference(b, side_end(b, outer), side_end(b, inner), &after) && after >= 0;
}

/* A slice inside the box is a slice of the written values; a slice outside it
 * is one of the original array. */
static Ref slice_update(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_UPDATE);
	if (!in) return REF_NONE;
	Ref x = inst_arg(b->fn, in, 0), v = inst_arg(b->fn, in, 1);
	AttrId box = in->attr;
	uint32_t rank = ref_ty(b->fn, x)->rank;
	bool same = true, inside = true, beside = false;
	Dim start[MAX_RANK], length[MAX_RANK];
	int64_t stride[MAX_RANK];
	for (uint32_t k = 0; k < rank; k++) {
		BoxAxis s = slice_side(b, e, k), u = update_side(b, box, v, k);
		same = same && same_side(b, s, u);
		inside = inside && within(b, s, u);
		beside = beside || apart(b, s, u);
		start[k] = s.start;
		length[k] = s.length;
		stride[k] = s.stride;
	}
	if (same) return v;
	if (beside) return build_slice(b, x, start, length, stride);
	if (!inside) return REF_NONE;
	for (uint32_t k = 0; k < rank; k++)
		start[k] = dim_sub(b->ctx, start[k], update_side(b, box, v, k).start);
	return build_slice(b, v, start, length, NULL);
}

/* An empty box changes nothing; a box that covers the array replaces all of it.
 */
static Ref update_all(Builder *b, const Expr *e) {
	Type t = *ref_ty(b->fn, e->args[0]);
	bool all = true;
	for (uint32_t k = 0; k < t.rank; k++) {
		BoxAxis u = update_side(b, e->attr, e->args[1], k);
		if (dim_is(b, u.length, 0)) return e->args[0];
		all =
			all && dim_is(b, u.start, 0) && build_same_dim(b, u.length, t.dims[k]) && u.stride == 1;
	}
	return all ? e->args[1] : REF_NONE;
}

/* The second write to the same box overwrites the first. */
static Ref update_again(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_UPDATE);
	if (!in || in->attr != e->attr) return REF_NONE;
	Ref before = inst_arg(b->fn, in, 1), x = inst_arg(b->fn, in, 0);
	if (type_at(b, before) != type_at(b, e->args[1])) return REF_NONE;
	return build(b, OP_UPDATE, 2, (Ref[]){x, e->args[1]}, e->attr, NULL);
}

/* Writing an array's own elements back where they were changes nothing. */
static Ref update_own(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[1], OP_SLICE);
	if (!in || inst_arg(b->fn, in, 0) != e->args[0]) return REF_NONE;
	Expr s = {.op = OP_SLICE, .attr = in->attr};
	for (uint32_t k = 0; k < ref_ty(b->fn, e->args[0])->rank; k++)
		if (!same_side(b, slice_side(b, &s, k), update_side(b, e->attr, e->args[1], k)))
			return REF_NONE;
	return e->args[0];
}

/* ---- padded arrays ------------------------------------------------------- */

static BoxAxis pad_side(Builder *b, AttrId attr, Ref v, uint32_t k) {
	uint32_t n;
	return (BoxAxis){(Dim)attr_field(b->ctx, OP_PAD, attr, 0, &n)[k], ref_ty(b->fn, v)->dims[k],
	                 attr_field(b->ctx, OP_PAD, attr, 2, &n)[k]};
}

/* A slice of the whole box is the operand; one outside the box is zero; one
 * inside it is a slice of the operand. */
static Ref slice_pad(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_PAD);
	if (!in) return REF_NONE;
	const Ref v = inst_arg(b->fn, in, 0);
	const AttrId box = in->attr;
	const uint32_t rank = ref_ty(b->fn, v)->rank;
	bool same = true, inside = true, beside = false;
	Dim start[MAX_RANK], length[MAX_RANK];
	for (uint32_t k = 0; k < rank; k++) {
		BoxAxis s = slice_side(b, e, k), u = pad_side(b, box, v, k);
		same = same && same_side(b, s, u);
		inside = inside && within(b, s, u);
		beside = beside || apart(b, s, u);
		start[k] = dim_sub(b->ctx, s.start, u.start);
		length[k] = s.length;
	}
	if (same) return v;
	if (beside) return full(b, e, 0);
	return inside ? build_slice(b, v, start, length, NULL) : REF_NONE;
}

/* Whether the box is known to cover at most half of the array. A constant
 * extent counts as small compared with a symbolic one, which is assumed to be
 * large. */
static bool is_small_box(Builder *b, Ref v, const Type *whole) {
	double share = 1;
	for (uint32_t k = 0; k < whole->rank; k++) {
		int64_t part, all;
		if (!dim_is_const(b->ctx, build_canon(b, ref_ty(b->fn, v)->dims[k]), &part)) {
			if (!build_same_dim(b, ref_ty(b->fn, v)->dims[k], whole->dims[k])) return false;
		} else if (!dim_is_const(b->ctx, build_canon(b, whole->dims[k]), &all)) share = 0;
		else if (all > 0) share *= (double)part / (double)all;
	}
	return share <= 0.5;
}

/* x + (zeros with a small box) becomes an addition within the box. This
 * accumulates cotangents of slices of one array. */
static Ref add_pad(Builder *b, const Expr *e) {
	for (uint32_t side = 2; side-- > 0;) {
		const Inst *in = made_by(b, e->args[side], OP_PAD);
		if (!in) continue;
		const Ref v = inst_arg(b->fn, in, 0), x = e->args[1 - side];
		const AttrId box = in->attr;
		const Type t = *type_of(b->ctx, e->type);
		if (!is_small_box(b, v, &t)) continue;
		Dim start[MAX_RANK], length[MAX_RANK];
		int64_t stride[MAX_RANK];
		for (uint32_t k = 0; k < t.rank; k++) {
			const BoxAxis s = pad_side(b, box, v, k);
			start[k] = s.start;
			length[k] = s.length;
			stride[k] = s.stride;
		}
		return build_update(b, x, build2(b, OP_ADD, build_slice(b, x, start, length, stride), v),
		                    start, stride);
	}
	return REF_NONE;
}

/* x + (zeros with u added at indices), possibly reshaped, becomes a scatter-add
 * into x. */
static Ref add_scattered(Builder *b, const Expr *e) {
	for (uint32_t side = 2; side-- > 0;) {
		const Ref flat = under(b, OP_RESHAPE, e->args[side]),
				  r = flat != REF_NONE ? flat : e->args[side];
		const Inst *in = made_by(b, r, OP_SCATTER_ADD);
		if (!in || !splat_is(b, inst_arg(b->fn, in, 0), 0)) continue;
		const Ref index = inst_arg(b->fn, in, 1), u = inst_arg(b->fn, in, 2);
		const int axis = (int)attr_int(b->ctx, OP_SCATTER_ADD, in->attr, 0),
				  batch = (int)attr_int(b->ctx, OP_SCATTER_ADD, in->attr, 1);
		const Type t = *type_of(b->ctx, e->type), inner = *ref_ty(b->fn, r);
		Ref x = e->args[1 - side];
		if (flat != REF_NONE) x = build_reshape(b, x, inner.rank, inner.dims);
		x = build_scatter(b, OP_SCATTER_ADD, x, index, u, axis, batch);
		return flat != REF_NONE ? build_reshape(b, x, t.rank, t.dims) : x;
	}
	return REF_NONE;
}

static Ref pad_zero(Builder *b, const Expr *e) {
	return splat_is(b, e->args[0], 0) ? full(b, e, 0) : REF_NONE;
}

static Ref concat_one(Builder *b, const Expr *e) {
	(void)b;
	return e->nargs == 1 ? e->args[0] : REF_NONE;
}

/* Removes empty operands; keeps one when there is no other. */
static Ref concat_empty(Builder *b, const Expr *e) {
	int axis = (int)attr_int(b->ctx, OP_CONCAT, e->attr, 0);
	Ref *parts = arena_alloc(b->scratch, e->nargs * sizeof *parts);
	uint32_t n = 0;
	for (uint32_t i = 0; i < e->nargs; i++)
		if (!dim_is(b, ref_ty(b->fn, e->args[i])->dims[axis], 0)) parts[n++] = e->args[i];
	if (n == e->nargs) return REF_NONE;
	return n ? build_concat(b, n, parts, axis) : e->args[0];
}

/* ---- reductions ---------------------------------------------------------- */

static Ref reduce_nothing(Builder *b, const Expr *e) {
	uint32_t n;
	expr_field(b, e, 0, &n);
	return n ? REF_NONE : e->args[0];
}

static Ref reduce_unit_axes(Builder *b, const Expr *e) {
	uint32_t n;
	const int64_t *axes = expr_field(b, e, 0, &n);
	for (uint32_t k = 0; k < n; k++)
		if (!dim_is(b, ref_ty(b->fn, e->args[0])->dims[axes[k]], 1)) return REF_NONE;
	Type t = *type_of(b->ctx, e->type);
	return build_reshape(b, e->args[0], t.rank, t.dims);
}

/* Over axes that a broadcast creates, a sum is a multiple. */
static Ref sum_of_broadcast(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_BROADCAST);
	if (!in) return REF_NONE;
	Inst outer = *in;
	uint32_t n, naxes, nkept = 0, nleft = 0;
	const int64_t *axes = expr_field(b, e, 0, &n), *placed = field(b, &outer, 1, &naxes);
	Ref x = inst_arg(b->fn, &outer, 0);
	Type from = *ref_ty(b->fn, x), t = *ref_ty(b->fn, e->args[0]);
	bool summed[MAX_RANK] = {false}, made[MAX_RANK];
	int place[MAX_RANK], kept[MAX_RANK], left[MAX_RANK];
	for (uint32_t k = 0; k < n; k++) summed[axes[k]] = true;
	for (uint32_t k = 0; k < t.rank; k++) made[k] = true;
	for (uint32_t k = 0; k < naxes; k++) made[placed[k]] = false;
	Dim copies = dim_const(b->ctx, 1);
	bool any = false;
	for (uint32_t k = 0, at = 0; k < t.rank; k++) {
		place[k] = (int)at;
		if (!summed[k]) at++;
		if (!summed[k] || !made[k]) continue;
		copies = dim_mul(b->ctx, copies, t.dims[k]);
		any = true;
	}
	if (!any) return REF_NONE;
	for (uint32_t k = 0; k < naxes; k++) {
		if (!summed[placed[k]]) left[nleft++] = place[placed[k]];
		else if (same_words(b, from.dims[k], t.dims[placed[k]])) kept[nkept++] = (int)k;
		else return REF_NONE; /* stretched from 1 and then summed */
	}
	x = build_reduce(b, OP_REDUCE_SUM, x, nkept, kept);
	Ref times = build_convert(b, build_extent(b, copies), (Dtype)t.dtype);
	x = build2(b, OP_MUL, x, spread(b, times, ref_type(b->fn, x)));
	Type result = *type_of(b->ctx, e->type);
	return build_broadcast(b, x, result.rank, result.dims, left);
}

static Ref reduce_reduce(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], e->op);
	if (!in) return REF_NONE;
	uint32_t n, inner_n, rank = 0;
	int axes[MAX_RANK], from[MAX_RANK];
	const int64_t *inner = field(b, in, 0, &inner_n), *outer = expr_field(b, e, 0, &n);
	Ref x = inst_arg(b->fn, in, 0);
	for (uint32_t k = 0, at = 0; k < ref_ty(b->fn, x)->rank; k++) {
		if (at < inner_n && inner[at] == k) at++;
		else from[rank++] = (int)k;
	}
	for (uint32_t k = 0; k < inner_n; k++) axes[k] = (int)inner[k];
	for (uint32_t k = 0; k < n; k++) axes[inner_n + k] = from[outer[k]];
	return build_reduce(b, e->op, x, inner_n + n, axes);
}

/* ---- contractions of broadcasts ------------------------------------------ */

/* The operands of a contraction, from which axes are being removed. */
typedef struct DotParts {
	Ref arg[2];
	uint32_t rank[2], nc, nb;
	int contract[2][MAX_RANK], batch[2][MAX_RANK];
	bool made[2][MAX_RANK]; /* the operand is a broadcast that creates this axis */
} DotParts;

static DotParts dot_parts(Builder *b, const Expr *e) {
	DotParts d = {.nc = 0};
	for (uint32_t s = 0; s < 2; s++) {
		const int64_t *c = expr_field(b, e, s, &d.nc), *batch = expr_field(b, e, 2 + s, &d.nb);
		for (uint32_t k = 0; k < d.nc; k++) d.contract[s][k] = (int)c[k];
		for (uint32_t k = 0; k < d.nb; k++) d.batch[s][k] = (int)batch[k];
		d.arg[s] = e->args[s];
		d.rank[s] = ref_ty(b->fn, d.arg[s])->rank;
		const Inst *in = made_by(b, d.arg[s], OP_BROADCAST);
		uint32_t n;
		const int64_t *placed = in ? field(b, in, 1, &n) : NULL;
		for (uint32_t k = 0; in && k < d.rank[s]; k++) d.made[s][k] = true;
		for (uint32_t k = 0; in && k < n; k++) d.made[s][placed[k]] = false;
	}
	return d;
}

static bool is_listed(const int *axes, uint32_t n, uint32_t axis) {
	for (uint32_t k = 0; k < n; k++)
		if (axes[k] == (int)axis) return true;
	return false;
}

/* Removes from operand s, a broadcast, an axis that it creates. */
static void drop_made_axis(Builder *b, DotParts *d, uint32_t s, uint32_t axis) {
	Inst in = *made_by(b, d->arg[s], OP_BROADCAST);
	Type t = *ref_ty(b->fn, d->arg[s]);
	Dim dims[MAX_RANK];
	int axes[MAX_RANK];
	uint32_t n, rank = 0;
	const int64_t *placed = field(b, &in, 1, &n);
	for (uint32_t k = 0; k < n; k++) axes[k] = (int)placed[k] - (placed[k] > axis);
	for (uint32_t k = 0; k < t.rank; k++)
		if (k != axis) dims[rank++] = t.dims[k];
	d->arg[s] = build_broadcast(b, inst_arg(b->fn, &in, 0), rank, dims, axes);
}

static void renumber(DotParts *d, uint32_t s, uint32_t axis) {
	for (uint32_t k = 0; k < d->nc; k++) d->contract[s][k] -= d->contract[s][k] > (int)axis;
	for (uint32_t k = 0; k < d->nb; k++) d->batch[s][k] -= d->batch[s][k] > (int)axis;
	d->rank[s]--;
}

static Ref dot_again(Builder *b, const DotParts *d) {
	return build_dot(b, d->arg[0], d->arg[1], d->nc, d->contract[0], d->contract[1], d->nb,
	                 d->batch[0], d->batch[1]);
}

/* A free axis that a broadcast creates is created after the contraction. The
 * cotangent of a sum over directions is such an operand throughout the reverse
 * sweep. */
static Ref dot_of_broadcast(Builder *b, const Expr *e) {
	DotParts d = dot_parts(b, e);
	uint32_t at = d.nb;
	for (uint32_t s = 0; s < 2; s++)
		for (uint32_t k = 0; k < d.rank[s]; k++) {
			if (is_listed(d.contract[s], d.nc, k) || is_listed(d.batch[s], d.nb, k)) continue;
			if (!d.made[s][k] || d.rank[s] < 2) {
				at++;
				continue;
			}
			drop_made_axis(b, &d, s, k);
			renumber(&d, s, k);
			Ref r = dot_again(b, &d);
			Type t = *type_of(b->ctx, e->type);
			int axes[MAX_RANK];
			uint32_t n = 0;
			for (uint32_t i = 0; i < t.rank; i++)
				if (i != at) axes[n++] = (int)i;
			return build_broadcast(b, r, t.rank, t.dims, axes);
		}
	return REF_NONE;
}

/* Along an axis that a broadcast creates, the other operand is summed first; at
 * least one contracted axis must remain. */
static Ref dot_along_broadcast(Builder *b, const Expr *e) {
	DotParts d = dot_parts(b, e);
	for (uint32_t s = 0; s < 2; s++)
		for (uint32_t k = 0; k < d.nc && d.nc > 1; k++) {
			uint32_t axis = (uint32_t)d.contract[s][k];
			int other = d.contract[1 - s][k];
			if (!d.made[s][axis]) continue;
			drop_made_axis(b, &d, s, axis);
			d.arg[1 - s] = build_reduce(b, OP_REDUCE_SUM, d.arg[1 - s], 1, &other);
			d.nc--;
			for (uint32_t side = 0; side < 2; side++)
				memmove(d.contract[side] + k, d.contract[side] + k + 1,
				        (d.nc - k) * sizeof **d.contract);
			renumber(&d, s, axis);
			renumber(&d, 1 - s, (uint32_t)other);
			return dot_again(b, &d);
		}
	return REF_NONE;
}

/* ---- dynamic values ------------------------------------------------------ */

/* An array that was boxed as it is. Symbols that the unboxing would have
 * defined equal the array's extents. */
static Ref unbox_box(Builder *b, const Expr *e) {
	const Inst *in = made_by(b, e->args[0], OP_BOX);
	if (!in || in->nargs != 2) return REF_NONE;
	const Const *template = ref_constant(b->fn, inst_arg(b->fn, in, 0));
	Ref x = inst_arg(b->fn, in, 1);
	Type t = *ref_ty(b->fn, x), to = *type_of(b->ctx, e->type);
	if (!template || template->value.kind != V_UNSET || t.kind != TY_TENSOR || to.kind != TY_TENSOR)
		return REF_NONE;
	if (t.dtype != to.dtype || t.rank != to.rank) return REF_NONE;
	SymId s;
	for (uint32_t k = 0; k < t.rank; k++) {
		bool fresh = dim_is_sym(b->ctx, to.dims[k], &s) && !sym_visible(b, s, b->region->id);
		for (uint32_t j = 0; j < k; j++) fresh = fresh && to.dims[j] != to.dims[k];
		if (!fresh && !build_same_dim(b, t.dims[k], to.dims[k])) return REF_NONE;
	}
	for (uint32_t k = 0; k < t.rank; k++)
		if (!build_same_dim(b, t.dims[k], to.dims[k]) && dim_is_sym(b->ctx, to.dims[k], &s))
			dims_define(b, s, t.dims[k]);
	return x;
}

/* ---- the table ----------------------------------------------------------- */

typedef struct SimplifyRule {
	uint16_t op; /* OP_NONE: every element-wise primitive */
	const char *name;
	Ref (*apply)(Builder *b, const Expr *e);
} SimplifyRule;

/* The rows of one op are adjacent; they are tried in order. */
static const SimplifyRule rules[] = {
	{OP_NONE, "broadcast_out", broadcast_out},
	{OP_ADD, "add_zero", add_zero},
	{OP_ADD, "add_neg", add_neg},
	{OP_ADD, "gather_constants", gather_constants},
	{OP_ADD, "add_pad", add_pad},
	{OP_ADD, "add_scattered", add_scattered},
	{OP_SUB, "sub_zero", sub_zero},
	{OP_SUB, "zero_sub", zero_sub},
	{OP_SUB, "sub_neg", sub_neg},
	{OP_SUB, "sub_same", sub_same},
	{OP_SUB, "sub_constant", sub_constant},
	{OP_NEG, "neg_neg", neg_neg},
	{OP_NEG, "neg_mul_constant", neg_mul_constant},
	{OP_MUL, "mul_one", mul_one},
	{OP_MUL, "mul_minus_one", mul_minus_one},
	{OP_MUL, "mul_zero", mul_zero},
	{OP_MUL, "mul_neg", mul_neg},
	{OP_MUL, "mul_abs", mul_abs},
	{OP_MUL, "gather_constants", gather_constants},
	{OP_DIV, "zero_div", zero_div},
	{OP_DIV, "div_one", div_one},
	{OP_DIV, "div_neg", div_neg},
	{OP_DIV, "div_power_of_two", div_power_of_two},
	{OP_POW, "pow_whole", pow_whole},
	{OP_FLOORDIV, "floordiv_one", floordiv_one},
	{OP_MOD, "mod_one", mod_one},
	{OP_MAX, "same_operands", same_operands},
	{OP_MAX, "bool_constant", bool_constant},
	{OP_MIN, "same_operands", same_operands},
	{OP_MIN, "bool_constant", bool_constant},
	{OP_EQ, "same_is_equal", same_is_equal},
	{OP_EQ, "eq_true", eq_true},
	{OP_EQ, "not_not", not_not},
	{OP_LE, "same_is_equal", same_is_equal},
	{OP_LT, "same_is_not_less", same_is_not_less},
	{OP_SELECT, "select_constant", select_constant},
	{OP_SELECT, "select_same", select_same},
	{OP_SELECT, "select_not", select_not},
	{OP_SELECT, "select_bools", select_bools},
	{OP_ABS, "abs_neg", abs_neg},
	{OP_ABS, "twice_is_once", twice_is_once},
	{OP_FLOOR, "round_whole", round_whole},
	{OP_ROUND, "round_whole", round_whole},
	{OP_CONJ, "conj_conj", conj_conj},
	{OP_CONJ, "conj_real", conj_real},
	{OP_REAL, "real_of", real_of},
	{OP_IMAG, "imag_of", imag_of},
	{OP_STOP, "twice_is_once", twice_is_once},
	{OP_STOP, "stop_constant", stop_constant},
	{OP_CONVERT, "convert_same", convert_same},
	{OP_CONVERT, "convert_chain", convert_chain},
	{OP_CONVERT, "broadcast_out", broadcast_out},
	{OP_BROADCAST, "broadcast_same", broadcast_same},
	{OP_BROADCAST, "broadcast_broadcast", broadcast_broadcast},
	{OP_RESHAPE, "reshape_same", reshape_same},
	{OP_RESHAPE, "reshape_reshape", reshape_reshape},
	{OP_RESHAPE, "moves_spread", moves_spread},
	{OP_RESHAPE, "reshape_broadcast", reshape_broadcast},
	{OP_TRANSPOSE, "transpose_identity", transpose_identity},
	{OP_TRANSPOSE, "transpose_transpose", transpose_transpose},
	{OP_TRANSPOSE, "transpose_broadcast", transpose_broadcast},
	{OP_SLICE, "strided_nothing", strided_nothing},
	{OP_SLICE, "slice_slice", slice_slice},
	{OP_SLICE, "slice_broadcast", slice_broadcast},
	{OP_SLICE, "slice_concat", slice_concat},
	{OP_SLICE, "slice_update", slice_update},
	{OP_SLICE, "slice_pad", slice_pad},
	{OP_PAD, "strided_nothing", strided_nothing},
	{OP_PAD, "pad_zero", pad_zero},
	{OP_UPDATE, "update_all", update_all},
	{OP_UPDATE, "update_again", update_again},
	{OP_UPDATE, "update_own", update_own},
	{OP_CONCAT, "concat_one", concat_one},
	{OP_CONCAT, "concat_empty", concat_empty},
	{OP_REDUCE_SUM, "reduce_nothing", reduce_nothing},
	{OP_REDUCE_SUM, "reduce_unit_axes", reduce_unit_axes},
	{OP_REDUCE_SUM, "sum_of_broadcast", sum_of_broadcast},
	{OP_REDUCE_SUM, "reduce_reduce", reduce_reduce},
	{OP_REDUCE_PROD, "reduce_nothing", reduce_nothing},
	{OP_REDUCE_PROD, "reduce_unit_axes", reduce_unit_axes},
	{OP_REDUCE_PROD, "reduce_reduce", reduce_reduce},
	{OP_REDUCE_MAX, "reduce_nothing", reduce_nothing},
	{OP_REDUCE_MAX, "reduce_unit_axes", reduce_unit_axes},
	{OP_REDUCE_MIN, "reduce_nothing", reduce_nothing},
	{OP_REDUCE_MIN, "reduce_unit_axes", reduce_unit_axes},
	{OP_DOT, "dot_zero", dot_zero},
	{OP_DOT, "dot_along_broadcast", dot_along_broadcast},
	{OP_DOT, "dot_of_broadcast", dot_of_broadcast},
	{OP_TRISOLVE, "solve_zero", solve_zero},
	{OP_UNBOX, "unbox_box", unbox_box},
};

static uint32_t rule_count(void) { return (uint32_t)(sizeof rules / sizeof *rules); }

uint32_t rule_hits(const Builder *b, const char *name) {
	uint32_t hits = 0;
	for (uint32_t i = 0; i < rule_count(); i++)
		if (!strcmp(rules[i].name, name)) hits += b->rule_hits[i];
	return hits;
}

void rules_setup(Builder *b) {
	for (uint32_t op = 0; op < OP_COUNT; op++) b->rule_first[op] = UINT16_MAX;
	for (uint32_t i = rule_count(); i-- > 0;) b->rule_first[rules[i].op] = (uint16_t)i;
	b->rule_hits = ARENA_ARRAY(b->scratch, uint32_t, rule_count());
}

static Ref try_bucket(Builder *b, Op bucket, const Expr *e) {
	for (uint32_t i = b->rule_first[bucket]; i < rule_count() && rules[i].op == bucket; i++) {
		Ref r = rules[i].apply(b, e);
		if (r == REF_NONE) continue;
		b->rule_hits[i]++;
		return r;
	}
	return REF_NONE;
}

Ref rewrite(Builder *b, const Expr *e) {
	Ref r = try_bucket(b, e->op, e);
	return r == REF_NONE && prims[e->op].elementwise ? try_bucket(b, OP_NONE, e) : r;
}
