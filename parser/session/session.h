/* session.h - modules, global names, and the running of statements.
 *
 * Needs: lang/, ast.h.
 *
 * Contract:
 * - A statement that fails changes no variable.
 * - A module of the library is parsed when one of its names is first used.
 */
#ifndef ATLED_PARSER_SESSION_SESSION_H
#define ATLED_PARSER_SESSION_SESSION_H

#include "parser/scope/module.h"

/* Makes the session of a context (parser slot). Loads only the index of
 * exported names. */
Status session_init(Ctx *c);

/* Receives results: called after each top-level expression statement that is
 * not hidden. */
typedef void (*ResultSink)(void *ud, Value v, const Ast *statement);

/* Runs a text in the user's module, statement by statement; stops at the first
 * failure. `last` (may be NULL) receives the value of the last statement,
 * owned. Parse errors run nothing. */
Status session_run(Session *s, const char *name, const char *text, size_t n, ResultSink show,
                   void *ud, Value *last);
/* The statements of the last text that have succeeded: their positions in it,
 * and whether they showed a result. */
typedef struct StatementDone {
	uint32_t start, end;
	bool shown;
} StatementDone;
uint32_t session_done(const Session *s, const StatementDone **at);
/* Parses and specialises a text without running it, and reports all errors at
 * once. */
Status session_check(Session *s, const char *name, const char *text, size_t n);

/* Frees everything that can be made again. */
void session_compact(Session *s);

/* A global of the user's module, else of the library. Borrowed; V_UNSET when
 * unknown. Throws when memory fails or a poll asks to stop. */
Value session_get(Session *s, const char *name);
/* Binds a name in the user's module. Borrows v. */
Status session_set(Session *s, const char *name, Value v);
/* Calls a function value. Results owned. */
Status session_call(Session *s, Value f, uint32_t n, const Value *args, Value *result, SpanId span);
/* Binds a host function to a name; the language calls it like any function.
 * `def` is copied. */
Status session_define_host(Session *s, const char *name, const HostDef *def, int nargs);
/* Binds a native function on values to a name. It is called at run time with
 * the values themselves, and its result is dynamic. */
Status session_define_dynamic(Session *s, const char *name, NativeFn fn, void *ud);
/* A finished function of value f on the given argument types (symbolic dims
 * allowed): for `ir`, lookups and derive. One reference. */
Status session_specialise(Session *s, Value f, uint32_t n, const TypeId *types, Fn **out);
/* The same without arguments. Writes the result's type to `text`, with the
 * fields of records and the parts of tuples and lists. */
Status session_specialise_described(Session *s, Value f, Fn **out, Text *text);

/* Visit the library's modules by name, and the names of a module. The second
 * visits nothing unless the user's module uses that module. */
void session_each_module(Session *s, void (*visit)(void *ud, const char *name, Value v), void *ud);
void session_each_in_module(Session *s, const char *module,
                            void (*visit)(void *ud, const char *name, Value v), void *ud);
/* Writes "f(x, n = 3)", or the type of data, without a line break. Returns
 * false when the name is unknown. */
bool session_signature(Session *s, const char *name, Text *out);
/* Writes help on a name: signature, comment and derivative rules; with `source`
 * its definition. Returns false when the name is unknown. */
bool session_help(Session *s, const char *name, Text *out, bool source);

/* The number of functions specialised so far. A call with other extents must
 * not increase it. */
uint64_t session_specialised(const Session *s);

/* Restarts the random numbers from a seed. */
void session_seed(Session *s, int64_t seed);

/* Converts a function or problem to a record of strings and captured values,
 * and back (function_record.c). Owned. */
Status session_function_out(Ctx *c, Value f, Value *record);
Status session_function_in(Ctx *c, Value record, Value *f);
/* Converts a function that is finished IR to the binary form, and back
 * (ir_values.c). `name` begins messages. Owned. */
Status session_ir_out(Ctx *c, Value f, Text *out);
Status session_ir_in(Ctx *c, const char *name, const void *bytes, size_t n, Value *f);
/* Makes such a function of a finished Fn without effects. Each parameter is an
 * argument; several results are a tuple. */
Status session_ir_of(Ctx *c, Fn *fn, Value *f);
/* Writes the types of its arguments, "(f64[n0], f64)". Returns false when f is
 * no such function, or takes anything but arrays. */
bool session_ir_type(Ctx *c, Value f, Text *out);

/* The folder to which `use "file.dsl"` is relative; NULL: the working
 * directory. Needs GRANT_FILES. */
void session_set_folder(Session *s, const char *folder);

#endif
