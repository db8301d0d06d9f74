/* laws.h - identities between a program and its transforms.
 *
 * Needs: derive.h.
 *
 * Guarantees: only programs that succeed are checked. Tolerances are those of
 * compare.h, or given where they are used.
 */
#ifndef ATLED_TESTS_RANDOM_LAWS_H
#define ATLED_TESTS_RANDOM_LAWS_H

#include "tests/random/derive.h"

/* Checks the first case:
 * - Its batch, and the batches of its derivatives: each batch element gives the
 *   results of the program for its arguments.
 * - Its jet of order 1: the coefficients are the tangents of its jvp.
 * - Sums of second Taylor coefficients along several lines: they do not change
 *   when sums are moved before contractions (autodiff/optimise/sum_pushdown.c).
 * - The sparsity pattern of its derivative with respect to one argument: it
 *   contains all nonzeros.
 * - Its vjp, with tapes and with checkpoints for its loops: <cotangents,
 *   jvp(tangents)> = <vjp(cotangents), tangents>.
 *
 * `trouble` stays empty when all of them hold. */
void check_laws(Ctx *c, uint64_t seed, const Cases *cs, char *trouble, size_t cap);

/* Returns one side of a pairing: Re sum conj(a) b over the results of f
 * listed in `results` (-1: zero) and the values `with`. *size is the sum of
 * the magnitudes of its terms. Returns NaN when f fails or a value is not
 * finite. */
double pairing_side(Ctx *c, Fn *f, const Value *args, uint32_t n, const int32_t *results,
                    const Value *with, double *size);
/* Returns how far roundings move the side; infinite when unknown. */
double pairing_moves(Ctx *c, Fn *f, const Value *args, uint32_t n, const int32_t *results,
                     const Value *with, double sum);

#endif
