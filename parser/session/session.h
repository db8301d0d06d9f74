/* session.h - modules, global names, and running statements one after another.
 *
 * Needs: lang/, ast.h. Guarantees: a statement that fails changes no variable.
 * The library's modules are parsed when a name of theirs is first used.
 */
#ifndef ATLED_PARSER_SESSION_SESSION_H
#define ATLED_PARSER_SESSION_SESSION_H

#include "lang/ir/host.h"
#include "parser/syntax/ast.h"

typedef struct Session Session;

typedef struct Global {
	Atom name;
	Value value;
	Span span;
	const char *doc; /* comment lines above the definition, or NULL */
	bool baked;      /* data that a specialised function took in when it was called */
} Global;

typedef struct Module {
	Atom name;
	SourceId source; /* the first text; the user's module grows by one source per statement */
	bool library;    /* part of the standard library */
	VEC(Global) globals;
	VEC(Atom) used_names; /* use x, use "f" as y: name -> module */
	VEC(struct Module *) used;
	struct Module *next;
} Module;

/* The library's texts, embedded in the program: name, text, and the names each
 * exports. */
typedef struct LibraryText {
	const char *name;
	const char *text;
	size_t size;
} LibraryText;
/* generated at build time from stdlib/; ends with name NULL */
extern const LibraryText library_texts[];

/* Makes the session of a context (parser slot). Loads nothing yet but the index
 * of exported names. */
Status session_init(Ctx *c);
Session *session_of(const Ctx *c);
Module *session_main(Session *s); /* the user's module */

/* What running a statement may show: called after each top-level expression
 * statement that is not hidden. */
typedef void (*ResultSink)(void *ud, Value v, const Ast *statement);

/* Runs a text in the user's module, statement by statement; stops at the first
 * failure. `last` (may be NULL) receives the value of the last statement,
 * owned. Parse errors run nothing. */
Status session_run(Session *s, const char *name, const char *text, size_t n, ResultSink show,
                   void *ud, Value *last);
/* The statements of the text that ran last that have succeeded: where they
 * stand in it, and whether they gave something to show. */
typedef struct StatementDone {
	uint32_t start, end;
	bool shown;
} StatementDone;
uint32_t session_done(const Session *s, const StatementDone **at);
/* Parses and specialises everything, runs nothing that matters: all errors in
 * one go. */
Status session_check(Session *s, const char *name, const char *text, size_t n);

/* A name of the library, `_` names too: borrowed, V_UNSET when there is none.
 */
Value session_library(Session *s, Atom name);
/* Global of the user's module (then library): borrowed, V_UNSET when unknown.
 */
Value session_get(Session *s, const char *name);
/* Binds a name in the user's module. Borrows v. */
Status session_set(Session *s, const char *name, Value v);
/* Calls a function value. Results owned. */
Status session_call(Session *s, Value f, uint32_t n, const Value *args, Value *result, SpanId span);
/* A host function under a name: callable from the language like any other.
 * `def` is copied. */
Status session_define_host(Session *s, const char *name, const HostDef *def, int nargs);
/* A native function on values under a name: called when the program runs, with
 * the values as they are; its result is dynamic. */
typedef Status (*NativeFn)(void *ud, Ctx *c, uint32_t nargs, const Value *args, Value *result);
Status session_define_dynamic(Session *s, const char *name, NativeFn fn, void *ud);
/* A finished function of value f on the given argument types (symbolic dims
 * allowed): for `ir`, lookups and derive. One reference. */
Status session_specialise(Session *s, Value f, uint32_t n, const TypeId *types, Fn **out);
/* The same without arguments; what the result is goes to `text`, with the
 * fields of records and the parts of tuples and lists. */
Status session_specialise_described(Session *s, Value f, Fn **out, Text *text);

/* All names that can be used now, for completion and "did you mean":
 * visit(name, what). */
void session_each_name(Session *s, void (*visit)(void *ud, const char *name, Value v), void *ud);
/* The library's modules, by name; the names of a module that the user's module
 * uses, nothing when it uses none of that name. */
void session_each_module(Session *s, void (*visit)(void *ud, const char *name, Value v), void *ud);
void session_each_in_module(Session *s, const char *module,
                            void (*visit)(void *ud, const char *name, Value v), void *ud);
/* "f(x, n = 3)", of data its type, without a new line; false when unknown. */
bool session_signature(Session *s, const char *name, Text *out);
/* Help: signature, comment and derivative rules of a name; false when unknown.
 */
bool session_help(Session *s, const char *name, Text *out, bool source);

/* How many functions have been specialised so far: a call with other lengths
 * must not add to it. */
uint64_t session_specialised(const Session *s);

/* Starts the random numbers anew. */
void session_seed(Session *s, int64_t seed);

/* A function or problem as a record of texts and captured values, and back
 * (function_record.c). Owned. */
Status session_function_out(Ctx *c, Value f, Value *record);
Status session_function_in(Ctx *c, Value record, Value *f);
/* A function that is a finished piece of IR in the binary form (ir_values.c),
 * and back; `name` begins messages. Owned. */
Status session_ir_out(Ctx *c, Value f, Text *out);
Status session_ir_in(Ctx *c, const char *name, const void *bytes, size_t n, Value *f);
/* Such a function of a finished Fn without effects: each parameter is an
 * argument, one result is itself, several are a tuple. */
Status session_ir_of(Ctx *c, Fn *fn, Value *f);
/* "(f64[n0], f64)": what it takes; false when it is no such function, or takes
 * other things than arrays. */
bool session_ir_type(Ctx *c, Value f, Text *out);

/* Folder that `use "file.dsl"` is relative to; NULL: the working directory.
 * Needs GRANT_FILES. */
void session_set_folder(Session *s, const char *folder);

#endif
