/* autodiff.h - derivatives and batching as IR-to-IR transforms.
 *
 * Needs: lang/ir/ir.h, and the rules of calculus through ir_services.
 *
 * Contract:
 * - Every transform returns a finished, verified function with the parameters
 *   and results described below. It is cached on the function it came from.
 * - Transforms compose in any order.
 * - An operation without a rule throws E_NO_RULE at the user's span; the
 *   message names the operation.
 *
 * A "mask" has one bool per parameter (or result). Only inexact tensors can be
 * active; active bits elsewhere are ignored.
 */
#ifndef ATLED_AUTODIFF_AUTODIFF_H
#define ATLED_AUTODIFF_AUTODIFF_H

#include "lang/ir/host.h"

/* Sets the transforms in ir_services, and the hook that frees derived
 * functions. */
void autodiff_init(Ctx *c);

/* Forward mode. Parameters: those of f, then a tangent of the same type for
 * each active parameter, in order. Results: those of f, then the tangents of
 * the results flagged in result_active. The call writes result_active, one bool
 * per result of f; a result whose tangent is known to be zero has none.
 * Borrowed: lives as long as f. */
Fn *ad_jvp(Ctx *c, Fn *f, const bool *active, bool *result_active);
/* As ad_jvp, but of f and its callees as they were before ad_optimise. For
 * forward-mode programs: the program is optimised afterwards as a whole, and
 * derivatives of derivatives are still recognisable then (nested_jets.h). */
Fn *ad_forward(Ctx *c, Fn *f, const bool *active, bool *result_active);

/* Linearisation: primal = (parameters of f) -> (results of f, residuals...);
 * linear = (residuals..., tangents of active parameters) -> tangents of the
 * results flagged in result_active. The linear function contains only
 * operations linear in the tangents. */
typedef struct Linearised {
	Fn *primal, *linear; /* borrowed: live as long as f */
	uint32_t nresiduals;
	bool *result_active; /* one per result of f; lives as long as f */
} Linearised;
const Linearised *ad_linearise(Ctx *c, Fn *f, const bool *active);

/* Transpose of a function that is linear in its last parameters:
 * f(residuals..., x...) -> y... becomes (residuals..., cotangents of y...) ->
 * cotangents of x. The pairing is <a, b> = Re sum conj(a) b, so that the
 * gradient of a real function of complex z is df/d(re) + i df/d(im). A
 * cotangent that is identically zero is returned as zeros. Borrowed. */
Fn *ad_transpose(Ctx *c, Fn *linear, uint32_t nresiduals);

/* The matrix of a function that is linear in its last parameter, a small array:
 * (residuals...) -> the images of the unit vectors along a leading axis.
 * Structurally zero elements are not computed. NULL when the code would be too
 * large or contains an unsupported instruction; the caller then batches over
 * the identity. Borrowed. */
Fn *ad_small_jacobian(Ctx *c, Fn *linear, uint32_t nresiduals);

/* Taylor mode, of f as it was before ad_optimise. Parameters: for each
 * parameter of f, its value; then for each active parameter its coefficients
 * 1..order (of x(s) = sum x_k s^k, x_k = derivative / k!), one parameter each,
 * parameter-major. With `straight` only coefficient 1 is a parameter; the
 * others are zero. Results: results of f, then for each result flagged in
 * result_active its coefficients 1..order. Borrowed. */
Fn *ad_jet(Ctx *c, Fn *f, uint32_t order, bool straight, const bool *active, bool *result_active);

/* (parameters of f) -> (f, its gradient). f must return one real scalar. Its
 * one active parameter is a vector of a small constant extent, or a scalar when
 * f contains an integration; otherwise NULL. The gradient uses reverse mode;
 * ad_optimise may replace it with forward mode. Borrowed. */
Fn *ad_gradient(Ctx *c, Fn *f, const bool *active);

/* f, with loops that store checkpoints instead of tapes in reverse mode. Either
 * the number of checkpoints or the memory for them is given; the other argument
 * is 0. Derivatives, expansions and batches of f inherit the setting.
 * Borrowed. */
Fn *ad_checkpoint(Ctx *c, Fn *f, int64_t snapshots, int64_t bytes);
/* A report on the loops of ad_checkpoint's function, differentiated with
 * respect to `active`: (parameters of f) -> five i64 for each loop of its body.
 * For a loop with checkpoints: its source line, its trip count, the bytes of a
 * checkpoint, the rows for checkpoints, and 1 if the forward sweep stores them,
 * else 0. If 1, one row is for the state before the last iteration. For a loop
 * that needs tapes: its line, -1, a TapeReason, 0, 0. The function runs f.
 * Borrowed. */
Fn *ad_checkpoint_report(Ctx *c, Fn *f, const bool *active);

/* f, with `other` in its place in reverse mode: a function of the same value
 * and derivatives that costs less backward. `other` must have the same
 * parameters and results, of the same dtypes and ranks; otherwise the call
 * returns f unchanged. Forward modes, expansions and batches use f.
 * Borrowed. */
Fn *ad_reverse_override(Ctx *c, Fn *f, Fn *other);

/* Batching: the parameters flagged in batched gain a leading axis of a common
 * new symbolic extent. So do all results that are arrays, except a random state
 * drawn from inside, which all batch elements share. At least one array must be
 * flagged. Borrowed. */
Fn *ad_batch(Ctx *c, Fn *f, const bool *batched);
/* As ad_batch, but a result that is the same for all batch elements keeps its
 * type, and its flag in result_batched is false. */
Fn *ad_batch_partly(Ctx *c, Fn *f, const bool *batched, bool *result_batched);

/* Optimises a finished function: inlines calls and moves sums below
 * contractions where that costs less. Takes the caller's reference to f and
 * returns a reference to the function to use instead; that is f itself when
 * nothing is gained. */
Fn *ad_optimise(Ctx *c, Fn *f);

/* Cost: scalar operations executed by one run of f at the given symbol values.
 * A loop counts its trip count where that is constant or an extent, else once.
 * An element-wise result counts one per element (zero for moves and constants),
 * a contraction 2*m*n*k. */
double fn_cost(const Fn *f, const int64_t *sym_values, uint32_t nsyms);

/* Visits each call that f makes, with the callee, the values of its symbols
 * (-1: unknown) and the operations of one such call. */
typedef void (*CallVisit)(void *ud, Fn *callee, const int64_t *syms, double cost);
void fn_calls(const Fn *f, const int64_t *sym_values, CallVisit visit, void *ud);

/* Writes one line for each derivative that f takes at these extents: of what,
 * in which mode, at what cost. Writes nothing where f takes none. */
void ad_explain(Ctx *c, Fn *f, const int64_t *sym_values, Text *out);

#endif
