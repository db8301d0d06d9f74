/* rules.h - the arguments of differentiation rules, and algebra that many rules
 * need.
 *
 * Needs: transform_cache.h.
 *
 * Contract:
 * - A rule only emits, through its builder.
 * - REF_NONE stands for a zero tangent or cotangent and costs nothing.
 * - Every primitive whose class does not determine its rule has a function here
 *   named after it, bound through prims.def. A primitive without one does not
 *   link.
 */
#ifndef ATLED_AUTODIFF_CORE_RULES_H
#define ATLED_AUTODIFF_CORE_RULES_H

#include "autodiff/core/transform_cache.h"

/* ---- forward ------------------------------------------------------------- */

/* The tangents of one structural instruction. The primal has already been
 * emitted. */
typedef struct JvpRule {
	Ctx *c;
	Builder *b;
	const Fn *f;
	const Inst *in; /* in f, which is not modified */
	AttrId attr;    /* with the dims of the function under construction */
	const Ref *x;   /* operands */
	const Ref *y;   /* results */
	const Ref *dx;  /* tangents of the operands; REF_NONE: zero */
	Ref *dy;        /* to be filled; REF_NONE on entry */
} JvpRule;
#define EW1(ID, ...)
#define EW2(ID, ...)
#define ST(ID, name, NARGS, NRES, attr, DERIV, EFFECT, WORK, doc) JVP_DECLARE_##DERIV(ID)
#define JVP_DECLARE_RULE(ID) void jvp_##ID(JvpRule *r);
#define JVP_DECLARE_NONLINEAR(ID) void jvp_##ID(JvpRule *r);
#define JVP_DECLARE_LINEAR(ID)
#define JVP_DECLARE_BILINEAR(ID)
#define JVP_DECLARE_ZERO(ID)
#define JVP_DECLARE_STRUCT(ID)
#include "lang/ir/prims.def"

/* ---- backward ------------------------------------------------------------ */

/* The cotangents of the operands of one linear instruction. */
typedef struct TransposeRule {
	Ctx *c;
	Builder *b;
	const Fn *f;
	const Inst *in;
	AttrId attr;
	/* Operands that do not depend on the tangents; REF_NONE for the others. */
	const Ref *x;
	const bool *linear;  /* per operand */
	const TypeId *types; /* of the operands, in the function under construction */
	const Ref *w;        /* cotangents of the results; at least one is not REF_NONE */
	void *state;         /* the transpose pass, for cotangent_* */
} TransposeRule;
/* Adds w to the cotangent of operand k. REF_NONE adds nothing. */
void cotangent_add(TransposeRule *r, uint32_t k, Ref w);
/* The cotangent of operand k accumulated so far (zeros if there is none). The
 * caller updates it in place and returns it with cotangent_put. */
Ref cotangent_take(TransposeRule *r, uint32_t k);
void cotangent_put(TransposeRule *r, uint32_t k, Ref w);
/* The sum of a cotangent over some of its axes (transpose_sum.c). */
Ref sum_cotangent(Builder *b, Ref w, uint32_t n, const int *axes);
/* w times, or divided by, a factor of its shape; and the sum of w over some of
 * its axes. Elements of w that are structurally zero (masked out or not
 * selected) stay zero in the result, whatever the factor is
 * (transpose_support.c). */
Ref cotangent_scaled(Builder *b, Op op, Ref w, Ref factor);
Ref cotangent_summed(Builder *b, Ref w, uint32_t n, const int *axes);
/* Returns the condition outside which *w is zero and sets *w to the unmasked
 * value; REF_NONE when there is none. */
Ref cotangent_condition(Builder *b, Ref *w);
_Noreturn void not_linear(TransposeRule *r);

#define EW1(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	TRANSPOSE_DECLARE_##DERIV(ID)
#define EW2(ID, name, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, lo, hi, doc)           \
	TRANSPOSE_DECLARE_##DERIV(ID)
#define ST(ID, name, NARGS, NRES, attr, DERIV, EFFECT, WORK, doc) TRANSPOSE_DECLARE_##DERIV(ID)
#define TRANSPOSE_DECLARE_RULE(ID) void transpose_##ID(TransposeRule *r);
#define TRANSPOSE_DECLARE_NONLINEAR(ID)
#define TRANSPOSE_DECLARE_LINEAR(ID) void transpose_##ID(TransposeRule *r);
#define TRANSPOSE_DECLARE_BILINEAR(ID) void transpose_##ID(TransposeRule *r);
#define TRANSPOSE_DECLARE_ZERO(ID)
#define TRANSPOSE_DECLARE_STRUCT(ID)
#include "lang/ir/prims.def"

/* ---- algebra ------------------------------------------------------------- */

static inline Type type_in(Builder *b, Ref r) {
	return *type_of(build_ctx(b), ref_type(build_fn(b), r));
}
static inline Dtype dtype_in(Builder *b, Ref r) { return (Dtype)type_in(b, r).dtype; }
static inline TypeId type_id_in(Builder *b, Ref r) { return ref_type(build_fn(b), r); }

/* The sum of two terms; either may be zero (REF_NONE). */
Ref sum_of(Builder *b, Ref x, Ref y);
/* x, or zeros of the type when x is REF_NONE. */
Ref or_zeros(Builder *b, Ref x, TypeId t);
/* conj(x) for complex x, else x. */
Ref conjugate(Builder *b, Ref x);
/* x where the condition holds, else 0. */
Ref where(Builder *b, Ref condition, Ref x);
/* x times a constant. */
Ref scaled(Builder *b, Ref x, double factor);
/* y, which lacks the axes listed, repeated along them to the shape of type t.
 * Keeps y's dtype. */
Ref repeat_along(Builder *b, Ref y, TypeId t, uint32_t naxes, const int *axes);
/* x[index] along axis 0; `index` is a scalar i64 constant or value. */
Ref row_of(Builder *b, Ref x, Ref index);

/* Matrices are the last two axes; leading axes are batch axes. */
Ref mat_adjoint(Builder *b, Ref x);
Ref mat_mul(Builder *b, Ref x, Ref y);
typedef enum MatrixPart {
	PART_LOWER,
	PART_LOWER_STRICT,
	PART_UPPER,
	PART_UPPER_STRICT,
	PART_DIAGONAL
} MatrixPart;
Ref mat_part(Builder *b, Ref x, MatrixPart part); /* zero outside the part */
Ref mat_solve_triangular(Builder *b, Ref t, Ref rhs, bool lower, bool adjoint, bool unit);
/* A X = rhs (adjoint: A^H X = rhs) for a = (A, its packed LU, the permutation),
 * as the primitive `solved` with its derivatives. */
Ref mat_solve_factored(Builder *b, const Ref *a, Ref rhs, bool adjoint);

#endif
