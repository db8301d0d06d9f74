/* rules.h - what the rules of differentiation are handed, and the small pieces
 * of algebra that many of them need.
 *
 * Needs: transform_cache.h. Guarantees: a rule only emits through its builder;
 * REF_NONE stands for a zero tangent or cotangent and costs nothing. Every
 * primitive whose class does not settle its rule has a function here named
 * after it, bound through prims.def: a primitive without one does not link.
 */
#ifndef ATLED_AUTODIFF_CORE_RULES_H
#define ATLED_AUTODIFF_CORE_RULES_H

#include "autodiff/core/transform_cache.h"

/* ---- forward ------------------------------------------------------------- */

/* The tangents of one structural instruction. The primal has been emitted. */
typedef struct JvpRule {
	Ctx *c;
	Builder *b;
	const Fn *f;
	const Inst *in; /* in f, which does not change */
	AttrId attr;    /* with the dims of the function under construction */
	const Ref *x;   /* operands */
	const Ref *y;   /* results */
	const Ref *dx;  /* tangents of the operands; REF_NONE: zero */
	Ref *dy;        /* to fill; REF_NONE on entry */
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
	/* operands that do not depend on the tangents; REF_NONE for those that
	 * do */
	const Ref *x;
	const bool *linear;  /* per operand */
	const TypeId *types; /* of the operands, in the function under construction */
	const Ref *w;        /* cotangents of the results; at least one is not REF_NONE */
	void *state;         /* of the pass: for cotangent_* */
} TransposeRule;
/* Adds to the cotangent of operand k. REF_NONE adds nothing. */
void cotangent_add(TransposeRule *r, uint32_t k, Ref w);
/* The cotangent of operand k so far (zeros when there is none), to be updated
 * in place and given back with cotangent_put. */
Ref cotangent_take(TransposeRule *r, uint32_t k);
void cotangent_put(TransposeRule *r, uint32_t k, Ref w);
/* The sum of a cotangent over some of its axes (transpose_sum.c). */
Ref sum_cotangent(Builder *b, Ref w, uint32_t n, const int *axes);
/* w times, or over, a factor of its shape, and the sum of w over some of its
 * axes: elements of w that are zero because they were left out, or not picked,
 * are zero in the result, whatever the factor is (transpose_support.c). */
Ref cotangent_scaled(Builder *b, Op op, Ref w, Ref factor);
Ref cotangent_summed(Builder *b, Ref w, uint32_t n, const int *axes);
/* The condition outside of which *w is zero, *w then being what it lets
 * through; REF_NONE when there is none. */
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

/* Sum of two terms of which either may be zero. */
Ref sum_of(Builder *b, Ref x, Ref y);
/* x, or zeros of the type when x is REF_NONE. */
Ref or_zeros(Builder *b, Ref x, TypeId t);
/* conj(x) for complex x, else x. */
Ref conjugate(Builder *b, Ref x);
/* x where the condition holds, else 0. */
Ref where(Builder *b, Ref condition, Ref x);
/* x times a number. */
Ref scaled(Builder *b, Ref x, double factor);
/* y, which lacks the axes listed, repeated along them to the shape of type t
 * (its own dtype). */
Ref repeat_along(Builder *b, Ref y, TypeId t, uint32_t naxes, const int *axes);
/* A scalar i64 constant or value as index; x[i] along axis 0. */
Ref row_of(Builder *b, Ref x, Ref index);

/* Matrices: the last two axes; leading axes run together. */
Ref mat_adjoint(Builder *b, Ref x);
Ref mat_mul(Builder *b, Ref x, Ref y);
typedef enum Part {
	PART_LOWER,
	PART_LOWER_STRICT,
	PART_UPPER,
	PART_UPPER_STRICT,
	PART_DIAGONAL
} Part;
Ref mat_part(Builder *b, Ref x, Part part); /* the rest is zero */
Ref mat_solve_triangular(Builder *b, Ref t, Ref rhs, bool lower, bool adjoint, bool unit);
/* A X = rhs (adjoint: A^H X = rhs) for a = (A, its packed LU, the permutation),
 * as the primitive `solved` with its derivatives. */
Ref mat_solve_factored(Builder *b, const Ref *a, Ref rhs, bool adjoint);

#endif
