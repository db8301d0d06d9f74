/* nested_jets.h - derivatives of derivatives along one scalar, as one Taylor
 * expansion.
 *
 * Method: a jvp, or a Taylor expansion along a straight line, of f with respect
 * to one real scalar is a *nested jet* of f. Its derivative with respect to the
 * same scalar, with the direction constant, is a nested jet of higher order of
 * the same f:
 * d/dx [f^(k)(x) v^k / k!] = (k + 1) [f^(k+1)(x) v^k / (k+1)!].
 *
 * Needs: transform_cache.h.
 *
 * Contract:
 * - f', f'', f''' written as derivatives of derivatives cost one Taylor
 *   expansion. Its work grows as the square of the order; nested forward
 *   derivatives would double the work with each level.
 */
#ifndef ATLED_AUTODIFF_TAYLOR_NESTED_JETS_H
#define ATLED_AUTODIFF_TAYLOR_NESTED_JETS_H

#include "autodiff/core/transform_cache.h"

/* g = (parameters of f, direction v) -> (results of f, then coefficients
 * 1..order of each result that moves). */
typedef struct NestedJet {
	Fn *f;
	uint32_t order, param; /* the scalar's index among the parameters of f */
	const bool *moves;     /* by result of f: it has coefficients */
} NestedJet;

/* Records in `origin` that d's function is a nested jet, if it is one. */
void nested_jet_mark(const Transform *d, uint32_t order, TransformInfo *origin);
/* Whether the call is to a nested jet that can be extended by `more` orders:
 * the scalar is its only active operand. `active` has a bool for each
 * operand. */
bool nested_jet_match(Ctx *c, const Inst *call, const bool *active, uint32_t more, NestedJet *out);

/* Emits the nested jet with its order extended by `more`. `results` receives
 * the results of the original one, along the direction that is the last of
 * `args`. `further` receives, at [i * more + k - 1], coefficient k = 1..more of
 * result i with respect to the change t of the scalar; REF_NONE where it does
 * not move. */
void nested_jet_expand(Ctx *c, Builder *b, Arena *scratch, const NestedJet *nested, const Ref *args,
                       Ref t, uint32_t more, Ref *results, Ref *further);

#endif
