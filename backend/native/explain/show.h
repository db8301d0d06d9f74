/* show.h - description of a function's machine code, in words or assembly.
 *
 * Needs: lang/ir/ir.h. Compiles nothing that runs.
 */
#ifndef ATLED_BACKEND_NATIVE_EXPLAIN_SHOW_H
#define ATLED_BACKEND_NATIVE_EXPLAIN_SHOW_H

#include "lang/ir/host.h"

/* Appends to `out` the plan of f in words, or assembly, for these extents (by
 * symbol, -1 unknown). Returns ST_NOMEM, or the status of a failed plan. */
Status native_show(Ctx *c, Fn *f, const int64_t *lengths, uint32_t nlengths, bool assembly,
                   Text *out);

#endif
