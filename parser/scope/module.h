/* module.h - modules and their global names, as all of the parser sees them.
 *
 * Needs: lang/, ast.h. session.h is what runs statements in them.
 */
#ifndef ATLED_PARSER_SCOPE_MODULE_H
#define ATLED_PARSER_SCOPE_MODULE_H

#include "lang/base/atom_map.h"
#include "lang/ir/host.h"
#include "parser/syntax/ast.h"

typedef struct Session Session;

typedef struct Global {
	Atom name;
	Value value;
	Span span;
	const char *doc; /* comment lines above the definition, or NULL */
	bool baked;      /* data that a specialised function has baked in */
} Global;

typedef struct Module {
	Atom name;
	SourceId source; /* the first text; the user's module gets one more for each text that runs */
	bool library;    /* part of the standard library */
	VEC(Global) globals;
	AtomMap places;       /* of globals */
	VEC(Atom) used_names; /* use x, use "f" as y: name -> module */
	VEC(struct Module *) used;
	struct Module *next;
} Module;

/* A text of the library, embedded in the program. */
typedef struct LibraryText {
	const char *name;
	const char *names; /* that it defines, one a line */
	const unsigned char *packed;
	size_t packed_size, size;
	_Atomic(char *) text; /* NULL before library_text */
} LibraryText;
/* Generated at build time from stdlib/; ends with a name NULL. */
extern LibraryText library_texts[];

/* Unpacks the text at the first call in the process, and ends it with a zero
 * byte. NULL when memory fails. */
const char *library_text(LibraryText *t);

/* The session of a context; NULL before session_init. */
Session *session_of(const Ctx *c);
Module *session_main(Session *s); /* the user's module */

/* A name of the library, also a private one with `_`. Borrowed; V_UNSET when
 * there is none. */
Value session_library(Session *s, Atom name);
/* Visits all names that can be used now, for completion and "did you mean". */
void session_each_name(Session *s, void (*visit)(void *ud, const char *name, Value v), void *ud);

/* A function of a host program. Returns a failure with its diagnostic. */
typedef Status (*NativeFn)(void *ud, Ctx *c, uint32_t nargs, const Value *args, Value *result);

#endif
