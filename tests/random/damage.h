/* damage.h - programs of which a token or two are others.
 *
 * Needs: derive.h, engines.h.
 *
 * Method: the text form of a program gets another operand, number, name, type
 * or line. Most of these texts are refused. The others are programs that no
 * front end makes, such as a file may hold that a stranger sends.
 */
#ifndef ATLED_TESTS_RANDOM_DAMAGE_H
#define ATLED_TESTS_RANDOM_DAMAGE_H

#include "tests/random/derive.h"

typedef struct Damage {
	uint32_t texts, accepted, ran, compared;
} Damage;

/* Damages the text form of a case of `cs` several times.
 * - A refused text has a message, and it is no internal error.
 * - An accepted one passes the verifier, and its text and binary forms read
 *   back as they were.
 * - Where it still takes the arguments of the case, the evaluator runs it, or
 *   says why not. Some run as machine code too, and give the same or fail too.
 *
 * `trouble` stays empty when all of them hold. */
void check_damaged(Ctx *c, uint64_t seed, const Cases *cs, Damage *tally, char *trouble,
                   size_t cap);

#endif
