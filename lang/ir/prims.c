/* prims.c - the descriptors of the primitives, expanded from prims.def.
 *
 * Needs: ir.h.
 *
 * Contract: prims[op] is complete for every op. Rows and enum have one order
 * because both come from one table.
 */
#include "lang/ir/ir.h"
#include <string.h>

/* <complex.h> defines I; here it is the table's integer kind. */
#undef I
enum { B = KIND_B, I = KIND_I, R = KIND_R, C = KIND_C };
enum {
	COMMUTES = TRAIT_COMMUTES,
	ASSOCIATES = TRAIT_ASSOCIATES,
	FAILS = TRAIT_FAILS,
	MATHS = TRAIT_MATHS
};

const Prim prims[OP_COUNT] = {
	[OP_NONE] = {.name = "none", .attr = "", .doc = ""},
#define ELEMENTWISE(ID, NARGS, NAME, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, LO, HI, DOC)        \
	[OP_##ID] = {.name = NAME,                                                                     \
	             .elementwise = true,                                                              \
	             .nargs = NARGS,                                                                   \
	             .nres = 1,                                                                        \
	             .kinds = KINDS,                                                                   \
	             .result = RESULT_##RESULT,                                                        \
	             .deriv = DERIV_##DERIV,                                                           \
	             .traits = TRAITS,                                                                 \
	             .effect = EFFECT_PURE,                                                            \
	             .work = WORK,                                                                     \
	             .code = CODE,                                                                     \
	             .lo = LO,                                                                         \
	             .hi = HI,                                                                         \
	             .attr = "",                                                                       \
	             .doc = DOC},
#define EW1(ID, NAME, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, LO, HI, DOC)           \
	ELEMENTWISE(ID, 1, NAME, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, LO, HI, DOC)
#define EW2(ID, NAME, USER, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, expr, LO, HI, DOC)           \
	ELEMENTWISE(ID, 2, NAME, KINDS, RESULT, DERIV, TRAITS, WORK, CODE, LO, HI, DOC)
#define ST(ID, NAME, NARGS, NRES, ATTR, DERIV, EFFECT, WORK, DOC)                                  \
	[OP_##ID] = {.name = NAME,                                                                     \
	             .nargs = NARGS,                                                                   \
	             .nres = NRES,                                                                     \
	             .kinds = B | I | R | C,                                                           \
	             .deriv = DERIV_##DERIV,                                                           \
	             .effect = EFFECT_##EFFECT,                                                        \
	             .work = WORK,                                                                     \
	             .code = 1,                                                                        \
	             .attr = ATTR,                                                                     \
	             .doc = DOC},
#include "lang/ir/prims.def"
};

const char *prim_spelling(Op op) {
	switch (op) {
	case OP_ADD: return "+";
	case OP_SUB:
	case OP_NEG: return "-";
	case OP_MUL: return "*";
	case OP_DIV: return "/";
	case OP_POW: return "^";
	case OP_MOD: return "%";
	case OP_FLOORDIV: return "//";
	case OP_EQ: return "==";
	case OP_LT: return "<";
	case OP_LE: return "<=";
	case OP_DOT: return "@";
	default: return prims[op].name;
	}
}

Op prim_from_name(const char *name) {
	for (int op = OP_NONE + 1; op < OP_COUNT; op++)
		if (!strcmp(prims[op].name, name)) return (Op)op;
	return OP_NONE;
}
