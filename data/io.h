/* io.h - data files: load, save and text, for the library's module `data`.
 *
 * Needs: lang/.
 *
 * Contract:
 * - Nothing runs unless the context has been granted files.
 * - Whatever a file contains, reading it returns a value or an error that names
 *   the file and the byte or line.
 * - A written file appears complete under its name; otherwise the previous file
 *   stays.
 * - Memory is allocated from the context and counts towards its limit. Long
 *   operations poll for interrupts.
 */
#ifndef ATLED_DATA_IO_H
#define ATLED_DATA_IO_H

#include "lang/base/value.h"

/* A function on values for the session: `_load`, `_save`, `_read_text` ... */
typedef struct DataFunction {
	const char *name;
	Status (*fn)(void *ud, Ctx *c, uint32_t nargs, const Value *args, Value *result);
} DataFunction;
extern const DataFunction data_functions[]; /* the last has name NULL */

/* Conversions that data/ cannot do itself: a function to a record of strings
 * and captured values, and back. Set once per context; NULL: functions are
 * refused. */
typedef struct DataHooks {
	Status (*function_out)(Ctx *c, Value f, Value *record);
	Status (*function_in)(Ctx *c, Value record, Value *f);
	/* A function that is IR, to its binary form and back; `name` prefixes
	 * messages. */
	Status (*ir_out)(Ctx *c, Value f, Text *out);
	Status (*ir_in)(Ctx *c, const char *name, const void *bytes, size_t n, Value *f);
} DataHooks;
void data_set_hooks(Ctx *c, const DataHooks *hooks); /* not copied; must outlive the context */
const DataHooks *data_hooks(const Ctx *c);

/* Reads a file from memory, for tests; `name` appears in messages. */
Status data_read_memory(Ctx *c, const char *format, const char *name, const void *bytes, size_t n,
                        Value *result);

#endif
