/* backend.h - the backend of a context: evaluator and machine code.
 *
 * Needs: lang/ir/ir.h. Callers use functions through eval/core/code.h.
 */
#ifndef ATLED_BACKEND_BACKEND_H
#define ATLED_BACKEND_BACKEND_H

#include "backend/eval/core/code.h"

/* Installs the backend in a context: fn_hooks()->free_code, ir_services()->run
 * and ->show_native. A second call does nothing. On ST_NOMEM nothing is
 * installed. */
Status backend_init(Ctx *c);
/* Frees the evaluator's stacks and the plans of Fourier transforms. Nothing may
 * be running. */
void backend_trim(Ctx *c);

#endif
