/* laws.h - what must hold between a program and its transforms, whatever the
 * engine.
 *
 * Needs: derive.h. Guarantees: only programs that end well are asked;
 * tolerances are those of compare.h, or said where they are used.
 */
#ifndef ATLED_TESTS_RANDOM_LAWS_H
#define ATLED_TESTS_RANDOM_LAWS_H

#include "tests/random/derive.h"

/* Asks the first case about
 *   its batch, and those of its derivatives: each lane gives what the program
 *   gives for that lane's arguments; its jet of order 1: the coefficients are
 *   the tangents of its jvp; the sums of its second Taylor coefficients along
 *   several lines: they are the same with sums moved before contractions
 *   (autodiff/optimise/sum_pushdown.c); the pattern of its derivative by one
 *   argument: what is other than zero is in it; its vjp, with tapes and with
 *   snapshots for its loops: <cotangents, jvp(tangents)> = <vjp(cotangents),
 *   tangents>.
 * `trouble` stays empty when all is well. */
void check_laws(Ctx *c, uint64_t seed, const Cases *cs, char *trouble, size_t cap);

/* One side of a pairing: Re sum conj(a) b over the results of f that `results`
 * names (-1: zero) with the values in `with`, and in *size the magnitudes of
 * its terms added up; NaN when f fails or something is not finite. */
double pairing_side(Ctx *c, Fn *f, const Value *args, uint32_t n, const int32_t *results,
                    const Value *with, double *size);
/* How far roundings move it; infinite when it is not known. */
double pairing_moves(Ctx *c, Fn *f, const Value *args, uint32_t n, const int32_t *results,
                     const Value *with, double sum);

#endif
