/* backend.h - the backend of a context: the evaluator with machine code.
 *
 * Needs: lang/ir/ir.h. eval/core/code.h is what callers do with functions.
 */
#ifndef ATLED_BACKEND_BACKEND_H
#define ATLED_BACKEND_BACKEND_H

#include "backend/eval/core/code.h"

/* Installs the backend in a context: fn_hooks()->free_code, ir_services()->run
 * and ->show_native. Does nothing the second time. ST_NOMEM: not installed. */
Status backend_init(Ctx *c);

#endif
