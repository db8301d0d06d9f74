/* orders.h - comparison of first and second derivatives in all modes.
 *
 * Needs: laws.h, complex_step.h.
 *
 * Guarantees: tolerances are those of compare.h: 1e-11 of the largest element
 * plus the effect of roundings. For pairings they are 1e-11 of the sum of
 * magnitudes plus the same.
 */
#ifndef ATLED_TESTS_RANDOM_ORDERS_H
#define ATLED_TESTS_RANDOM_ORDERS_H

#include "tests/random/laws.h"

/* Each mode is compared with the jvp (order 1) or the jvp of the jvp (order 2)
 * of the same program. */
typedef enum Mode {
	FIRST_JET,              /* coefficient 1 of a jet */
	FIRST_VJP,              /* pairing */
	FIRST_STEP,             /* complex step of the program */
	SECOND_JET,             /* coefficient 2 along t + u and t - u, by polarisation */
	SECOND_REVERSE_FORWARD, /* vjp of the jvp */
	SECOND_FORWARD_REVERSE, /* jvp of the vjp */
	SECOND_STEP,            /* complex step of the jvp */
	MODE_COUNT
} Mode;
extern const char *const mode_names[MODE_COUNT];

typedef struct Orders {
	/* numbers of programs; all: compared in every mode; linear: those without a
	 * second derivative */
	uint32_t asked, compared[MODE_COUNT], all, linear;
	uint32_t no_form[OP_COUNT]; /* programs without a complex form because of this operation */
} Orders;

/* Checks the first case. Skips programs with single precision, random numbers,
 * or no real argument. */
void check_orders(Ctx *c, uint64_t seed, const Cases *cs, Orders *tally, char *trouble, size_t cap);

#endif
