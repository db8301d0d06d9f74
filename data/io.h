/* io.h - files of data: load, save and texts, for the library's module `data`.
 *
 * Needs: lang/. Guarantees: nothing here runs unless the context is granted
 * files; whatever is in a file, reading it gives a value or a message that
 * names the file and the byte or line; a file that is written appears whole
 * under its name, or the one that was there stays. Memory is the context's,
 * counted and limited; long work polls, so that an interrupt ends it.
 */
#ifndef ATLED_DATA_IO_H
#define ATLED_DATA_IO_H

#include "lang/base/value.h"

/* One function of values, as the session takes them: `_load`, `_save`,
 * `_read_text` ... */
typedef struct DataFunction {
	const char *name;
	Status (*fn)(void *ud, Ctx *c, uint32_t nargs, const Value *args, Value *result);
} DataFunction;
extern const DataFunction data_functions[]; /* ends with name NULL */

/* What the room cannot do itself: a function as a record of texts and captured
 * values, and back. Set once for a context; NULL: functions are refused. */
typedef struct DataHooks {
	Status (*function_out)(Ctx *c, Value f, Value *record);
	Status (*function_in)(Ctx *c, Value record, Value *f);
	/* A function that is a piece of IR in its binary form, and back; `name`
	 * begins messages. */
	Status (*ir_out)(Ctx *c, Value f, Text *out);
	Status (*ir_in)(Ctx *c, const char *name, const void *bytes, size_t n, Value *f);
} DataHooks;
void data_set_hooks(Ctx *c, const DataHooks *hooks); /* kept, not copied */
const DataHooks *data_hooks(const Ctx *c);

/* Reads a file that lies in memory, for tests; `name` stands in messages. */
Status data_read_memory(Ctx *c, const char *format, const char *name, const void *bytes, size_t n,
                        Value *result);

#endif
