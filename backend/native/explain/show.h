/* show.h - what a function becomes as machine code, in words or assembly.
 *
 * Needs: lang/ir/ir.h. Compiles nothing that runs.
 */
#ifndef ATLED_BACKEND_NATIVE_EXPLAIN_SHOW_H
#define ATLED_BACKEND_NATIVE_EXPLAIN_SHOW_H

#include "lang/ir/host.h"

/* Appends what f would become at these lengths (by symbol, -1 unknown): the
 * plan in words, or assembly. ST_NOMEM, or a failure of the plan. */
Status native_show(Ctx *c, Fn *f, const int64_t *lengths, uint32_t nlengths, bool assembly,
                   Text *out);

#endif
