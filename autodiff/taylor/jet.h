/* jet.h - Taylor mode: the transform's state, and truncated power series of
 * element-wise expressions.
 *
 * Needs: transform_cache.h. Used only by autodiff/taylor/.
 *
 * Contract:
 * - A structurally zero coefficient is REF_NONE and costs nothing; coefficient
 *   0 of a value is the value.
 * - `mask` states for every value of f which coefficients may be nonzero. It is
 *   computed before anything is emitted, so that loops and branches know what
 *   they carry.
 */
#ifndef ATLED_AUTODIFF_TAYLOR_JET_H
#define ATLED_AUTODIFF_TAYLOR_JET_H

#include "autodiff/core/transform_cache.h"

typedef struct Jet {
	Ctx *c;
	Builder *b;
	const Fn *f;
	Arena *scratch;
	uint32_t order;
	RefMap map; /* coefficient 0 */
	Ref *coef;  /* [value * order + k - 1]: coefficient k of a value of f */
	/* By value of f: bit k is set if coefficient k may be nonzero; bit 0 is
	 * never set. For a dyn: of the value inside. */
	uint64_t *mask;
	Transform *entry;
	Fn **rule; /* by instruction: the user's or the library's rule, once looked up */
	bool *asked;
} Jet;

/* Coefficients of operands and results in the function under construction. */
Ref jet_get(Jet *j, Ref r, uint32_t k);
Ref jet_full(Jet *j, Ref r, uint32_t k); /* as jet_get, with zeros for REF_NONE */
uint64_t jet_mask(const Jet *j, Ref r);
void jet_set(Jet *j, Ref result, uint32_t k, Ref x);
/* Emits the primal part of an instruction. */
void jet_primal(Jet *j, const Inst *in);
_Noreturn void jet_no_rule(Jet *j, const Inst *in, const char *why);

/* The degrees that a product, or any smooth function, of series with these
 * degrees can have. */
uint64_t mask_closure(uint64_t x, uint32_t order);

/* REF_NONE stands for zero. */
Ref zero_add(Builder *b, Ref x, Ref y);
Ref zero_sub(Builder *b, Ref x, Ref y);
Ref zero_scale(Builder *b, Ref x, double factor);
/* Coefficient k of the product of two series under a bilinear operation,
 * restricted to indices first..k-first: the Cauchy product (Griewank & Walther,
 * Evaluating Derivatives, 2nd ed., table 13.1). `same`: x and y are one series
 * and the operation commutes. */
typedef Ref (*BilinearOp)(void *ud, Ref x, Ref y);
typedef Ref (*SeriesOf)(void *ud, uint32_t which, uint32_t k); /* which: 0 left, 1 right */
Ref cauchy(Builder *b, uint32_t k, uint32_t first, bool same, SeriesOf of, BilinearOp multiply,
           void *ud);

/* Series of element-wise expressions: a graph whose nodes are shared by
 * operation and operands. Coefficients are computed on demand and cached. All
 * nodes have one shape. */
typedef struct Series Series;
typedef uint32_t NodeId;
#define NO_NODE UINT32_MAX
Series *series_new(Ctx *c, Builder *b, Arena *scratch, uint32_t order, SpanId span, TypeId like);
NodeId series_leaf(Series *s, const Ref *coef); /* order + 1 entries, coefficient 0 first; copied */
/* primal: coefficient 0 if it already exists, else REF_NONE. */
NodeId series_node(Series *s, Op op, uint32_t nargs, const NodeId *args, Dtype result, Ref primal);
Ref series_coef(Series *s, NodeId n, uint32_t k);

/* One rule for each structural primitive with DERIV RULE. It calls jet_primal,
 * then sets coefficients 1..order of the results. */
typedef void (*JetRule)(Jet *j, const Inst *in);
JetRule jet_rule(Op op); /* NULL: the primitive's class determines it */
/* The masks of the results of such an instruction, from the masks of its
 * operands. */
uint64_t jet_rule_mask(const Jet *j, const Inst *in);
#define ST(ID, ...) void jet_rule_##ID(Jet *j, const Inst *in);
#include "lang/ir/prims.def"
void jet_linear(Jet *j, const Inst *in);
void jet_bilinear(Jet *j, const Inst *in);

#endif
