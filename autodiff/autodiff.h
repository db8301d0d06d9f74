/* autodiff.h - derivatives and batching as transforms from SSA to SSA.
 *
 * Needs: lang/ir/ir.h, and the rules of calculus through ir_services.
 * Guarantees: every transform gives a finished, verified function whose
 * parameters and results are described below, cached on the function it came
 * from; transforms compose in any order. An operation without a rule throws
 * with E_NO_RULE at the user's span, naming the operation.
 *
 * A "mask" has one bool per parameter (or result). Only inexact tensors can be
 * active; active bits elsewhere are ignored.
 */
#ifndef ATLED_AUTODIFF_AUTODIFF_H
#define ATLED_AUTODIFF_AUTODIFF_H

#include "lang/ir/host.h"

/* Fills the transforms of ir_services and the hook that frees derived
 * functions. */
void autodiff_init(Ctx *c);

/* Forward mode. Parameters: those of f, then a tangent of the same type for
 * each active parameter, in order. Results: those of f, then the tangents of
 * the results whose bit is set in result_active (written by the call, one bool
 * per result of f): a result whose tangent is known to be zero has none.
 * Borrowed: lives as long as f. */
Fn *ad_jvp(Ctx *c, Fn *f, const bool *active, bool *result_active);
/* The same of f as it was before it was settled, and of what it calls: for
 * programs that go forwards, which are settled in their turn with all of it in
 * view. There a derivative of a derivative is still seen as such
 * (nested_jets.h). */
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
 * cotangent that is identically zero is given as zeros. Borrowed. */
Fn *ad_transpose(Ctx *c, Fn *linear, uint32_t nresiduals);

/* The matrix of a function that is linear in its last parameter, an array of a
 * few elements: (residuals...) -> the images of the unit vectors along a
 * leading axis. Elements that are zero whatever the residuals are, are not
 * computed. NULL where it would be much text: then a batch over the identity is
 * the better way. Borrowed. */
Fn *ad_columns(Ctx *c, Fn *linear, uint32_t nresiduals);

/* Taylor mode. Parameters: for each parameter of f, its value; then for each
 * active parameter its coefficients 1..order (of x(s) = sum x_k s^k, x_k =
 * derivative / k!), one parameter each, parameter-major; `straight`:
 * coefficient 1 alone, the others are zero. Results: results of f, then for
 * each result flagged in result_active its coefficients 1..order. Of f as it
 * was before it was settled. Borrowed. */
Fn *ad_jet(Ctx *c, Fn *f, uint32_t order, bool straight, const bool *active, bool *result_active);

/* (parameters of f) -> (f, its gradient), where f gives one real number and the
 * one active parameter is a vector of a short fixed length, or a number of
 * which f integrates; else NULL. It goes backwards; ad_settle may put the
 * forward mode in its place. Borrowed. */
Fn *ad_gradient(Ctx *c, Fn *f, const bool *active);

/* f, whose loops keep snapshots instead of tapes when they are run backwards:
 * so many, or as many as fit into so many bytes (one of the two is 0).
 * Derivatives, expansions and batches of it inherit that. Borrowed. */
Fn *ad_checkpoint(Ctx *c, Fn *f, int64_t snapshots, int64_t bytes);
/* What is known beforehand of the loops of ad_checkpoint's function,
 * differentiated with respect to `active`: (parameters of f) -> for each loop
 * in it that keeps snapshots, five i64: its place (of the context's spans),
 * turns, bytes of a snapshot, rows for snapshots, and whether they are taken on
 * the way forward, when one row is for the state before the last turn. It runs
 * f. Borrowed. */
Fn *ad_checkpoint_report(Ctx *c, Fn *f, const bool *active);

/* f, in whose place `other`, with the same parameters and results of the same
 * dtypes and ranks, is taken where reverse mode is asked for: a form of the
 * same value and derivatives that costs less backwards. Forward modes,
 * expansions and batches are those of f. Borrowed. */
Fn *ad_in_reverse(Ctx *c, Fn *f, Fn *other);

/* Batching: the parameters flagged in batched gain a leading axis of a common
 * new symbol length, and so do all results that are arrays but for a random
 * state drawn from inside, which all lanes share. At least one array must be
 * flagged. Borrowed. */
Fn *ad_batch(Ctx *c, Fn *f, const bool *batched);
/* The same, but a result that is one for all lanes keeps its type, and its flag
 * in result_batched is false. */
Fn *ad_batch_partly(Ctx *c, Fn *f, const bool *batched, bool *result_batched);

/* A finished function made cheaper where its sums allow it: calls written out,
 * sums before contractions. Takes the caller's reference to f and gives one to
 * what is to be used instead: f itself where nothing is gained. */
Fn *ad_settle(Ctx *c, Fn *f);

/* Sizes: scalar operations executed by one run of f at the given symbol lengths
 * (loops counted by their trip count where it is constant or an extent, else
 * once): one per element of an element-wise result (zero for moves and
 * constants), 2*m*n*k for contractions. */
double fn_cost(const Fn *f, const int64_t *sym_values, uint32_t nsyms);

/* Each call that f makes: the callee, the lengths of its symbols (-1: unknown)
 * and the operations of one such call. */
typedef void (*CallVisit)(void *ud, Fn *callee, const int64_t *syms, double cost);
void fn_calls(const Fn *f, const int64_t *sym_values, CallVisit visit, void *ud);

/* The derivatives that f takes at these lengths, line by line: of what, in
 * which mode, at what cost; nothing where it takes none. */
void ad_explain(Ctx *c, Fn *f, const int64_t *sym_values, Text *out);

#endif
