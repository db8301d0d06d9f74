/* unit_step.h - units of machine code as steps of a prepared block, timed.
 *
 * Needs: unit.h.
 *
 *     unit_step.c      a unit as a step: operands in, results out, failures
 *     direct_call.c    a function that is one unit, called without a frame
 *                      (code.h)
 *     profile.c        the time and the kernel code of units
 */
#ifndef ATLED_BACKEND_NATIVE_RUN_UNIT_STEP_H
#define ATLED_BACKEND_NATIVE_RUN_UNIT_STEP_H

#include "backend/eval/core/unit.h"

/* ---- unit_step.c --------------------------------------------------------- */

/* s->site is the NativeUnit; s->args are its arrays. */
Status eval_native(Frame *f, const Step *s);
/* How a scalar travels, and back. */
int64_t unit_word(const Value *v);
Value unit_number(Dtype d, int64_t word);
/* A length that the unit wants; false: a diagnostic. */
bool unit_length(Frame *f, const Step *s, const DimRef *d, int64_t *out);
/* May machine code read the array where it lies? */
bool unit_reads(const Tensor *t);

/* ---- profile.c ----------------------------------------------------------- */

typedef struct Profile Profile;
/* One call of the unit; while be->profile. */
void profile_add(Backend *be, NativeUnit *u, double seconds);
void profile_free(Ctx *c, Profile *p);
/* While be->dump. */
void dump_units(Backend *be, const NativePlan *p);

#endif
