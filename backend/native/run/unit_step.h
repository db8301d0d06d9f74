/* unit_step.h - units as steps of a prepared block, and their profile.
 *
 * Needs: unit.h.
 *
 *     unit_step.c      a unit as a step: operands, results, failures
 *     direct_call.c    a function that is one unit, called without a frame
 *                      (code.h)
 *     profile.c        time and kernel IR of units
 */
#ifndef ATLED_BACKEND_NATIVE_RUN_UNIT_STEP_H
#define ATLED_BACKEND_NATIVE_RUN_UNIT_STEP_H

#include "backend/eval/core/unit.h"

/* ---- unit_step.c --------------------------------------------------------- */

/* s->site is the NativeUnit; s->args are its arrays. */
Status eval_native(Frame *f, const Step *s);
/* A scalar as a word of the call's record, and back. */
int64_t unit_word(const Value *v);
Value unit_number(Dtype d, int64_t word);
/* Computes an extent for the unit. Returns false with a diagnostic. */
bool unit_length(Frame *f, const Step *s, const DimRef *d, int64_t *out);
/* Whether machine code may read the array in place. */
bool unit_reads(const Tensor *t);

/* ---- profile.c ----------------------------------------------------------- */

typedef struct Profile Profile;
/* Records one call of the unit. Needs be->profile. */
void profile_add(Backend *be, NativeUnit *u, double seconds);
void profile_free(Ctx *c, Profile *p);
/* Writes the kernel IR of all units. Needs be->dump. */
void dump_units(Backend *be, const NativePlan *p);

#endif
