/* laws.h - what must hold between a program and its transforms, whatever the engine.
 *
 * Needs: derive.h. Guarantees: only programs that end well are asked; tolerances are those of compare.h, or said where they are used.
 */
#ifndef ATLED_TESTS_RANDOM_LAWS_H
#define ATLED_TESTS_RANDOM_LAWS_H

#include "tests/random/derive.h"

/* Asks the first case about
 *   its batch: each lane gives what the program gives for that lane's arguments;
 *   its jet of order 1: the coefficients are the tangents of its jvp;
 *   the sums of its second Taylor coefficients along several lines: they are the same with sums moved before contractions (autodiff/collapse.c);
 *   its vjp: <cotangents, jvp(tangents)> = <vjp(cotangents), tangents>.
 * `trouble` stays empty when all is well. */
void check_laws(Ctx *c, uint64_t seed, const Cases *cs, char *trouble, size_t cap);

#endif
