/* state.h - the state of a session, and what its files share. Private to
 * session/.
 *
 * Needs: session.h, specialise/internal.h.
 */
#ifndef ATLED_PARSER_SESSION_STATE_H
#define ATLED_PARSER_SESSION_STATE_H

#include "lang/base/read_all.h"
#include "parser/session/session.h"
#include "parser/specialise/internal.h"

#define FAMILY_BUCKETS 256

typedef struct FamilyEntry {
	const char *key;
	uint64_t hash;
	struct Family *family;
	uint32_t newest, oldest; /* see CallKey */
	struct FamilyEntry *next;
} FamilyEntry;

typedef struct LibraryExport {
	Atom name;
	uint32_t library; /* index in library_texts */
	/* The next in the same bucket, in the library's order; NO_EXPORT: the
	 * last. */
	uint32_t next;
} LibraryExport;

#define NO_EXPORT UINT32_MAX
enum { EXPORT_BUCKETS = 1024 };

/* derivative NAME(...) = ..., as written. */
typedef struct RuleDef {
	Atom name;
	const Ast *e;
	Module *module;
} RuleDef;

typedef struct CachedRule {
	Op op;
	Dtype dtype;
	Fn *fn;
} CachedRule;

typedef struct IndexLambda {
	const Ast *body;
	uint32_t n;
	const Ast *lambda;
} IndexLambda;

/* A function of which closures store the id; one reference. */
typedef struct NumberedFn {
	Fn *fn;
	uint32_t newest; /* see session_keep_numbered */
} NumberedFn;

typedef struct RuleLambda {
	const Ast *rule;
	const Param *params;
	uint32_t function; /* the node of these parameters */
	const Ast *lambda;
} RuleLambda;

/* A function and its form with derivatives where eigenvalues coincide; a
 * reference to each. */
typedef struct WholeFn {
	Fn *from, *fn;
	bool *active;
} WholeFn;

/* A program of the host of which something lives: its tree, as long as there
 * are function values with code of it; or places in its text. */
typedef struct ProgramRecord {
	Arena *tree;         /* NULL: freed */
	uint32_t first, end; /* its nodes */
	SourceId source;
	CodeOwner *values;
	bool binds;  /* a name to a function */
	bool rules;  /* it states derivative rules */
	bool unused; /* when the records were last looked through */
} ProgramRecord;

struct Session {
	Ctx *c;
	Arena *a;
	Module *modules, *main;
	/* A module without text: values that the host program gives the library
	 * under private names, and builtins that it looked up. */
	Module *given;
	Hidden hidden;
	FunctionFrame *retry;
	const Builder *bottom;
	struct FamilyMember *finished;
	uint32_t yielded, left_out;
	bool wants_unroll;
	uint64_t specialised; /* number of finished functions */
	FamilyEntry *families[FAMILY_BUCKETS];
	VEC(LibraryExport) exports;
	uint32_t export_heads[EXPORT_BUCKETS]; /* by name */
	VEC(Module *) loaded;                  /* by library index */
	VEC(RuleDef) rules;
	HashChains ruled;       /* calls of functions with a rule */
	struct KeptIr *kept_ir; /* the code of functions that are IR */
	uint32_t ir_number;     /* of the last one */
	VEC(CachedRule) cached_rules;
	VEC(WholeFn) wholes;
	VEC(NumberedFn) numbered;
	VEC(IndexLambda) lambdas;
	VEC(RuleLambda) rule_lambdas;
	int64_t random_key, random_counter;
	const char *folder;
	AllBytes module_text;        /* of the module that is read; freed when it is copied */
	VEC(ProgramRecord) programs; /* of the host, in the order of their nodes */
	uint32_t many_programs;      /* so many are looked through, */
	size_t much_memory;          /* also when the context holds so many bytes */
	struct {                     /* the state before the last of them */
		bool any;                /* it was not yet forgotten */
		uint32_t added;          /* the number of sources ever added, with its own */
		FnId first;
		HostId first_host;
	} last;
	uint32_t newest_family;  /* the largest `newest` of all families */
	uint32_t nfamilies;      /* their number */
	VEC(Arena *) retired;    /* of released families; freed when nothing runs */
	VEC(StatementDone) done; /* statements of the text that ran last in the user's module */
};

/* ---- modules.c ----------------------------------------------------------- */
Module *session_new_module(Session *s, Atom name, SourceId source, bool library);
/* Binds a name in the module; forgets the specialisations that have looked it
 * up. Borrows v. */
void session_set_global(Session *s, Module *m, Atom name, Value v, Span span);
/* Indexes the names of all library texts. */
void session_index_library(Session *s);

/* ---- programs.c ---------------------------------------------------------- */
/* Begins a program and adds its text. Programs of which nothing can mention
 * anything any more are forgotten. Nothing may be running. */
SourceId session_begin_program(Session *s, const char *name, const char *text, size_t n);
/* Whether a program that nothing used has nodes between these two. */
bool session_any_unused(const Session *s, uint32_t oldest, uint32_t newest);
/* Parses it. */
Program session_parse_program(Session *s, SourceId source, bool *ok);

/* ---- statements.c -------------------------------------------------------- */
/* Runs the statements of a module; throws at the first failure. `show` and
 * `last` may be NULL. */
void session_run_statements(Session *s, Module *m, const Program *p, ResultSink show, void *ud,
                            Value *last);

/* ---- specialisations.c --------------------------------------------------- */
/* A function's name has a new binding: everything that looked it up by name is
 * invalid. */
void session_forget_specialisations(Session *s);
/* Frees what released specialisations have left. Nothing may be running. */
void session_free_retired(Session *s);
/* Forgets all specialisations and every function that only caches reference.
 * Nothing may be running. */
void session_forget_caches(Session *s);
/* Forgets the forms of the function `first` and later ones. */
void session_forget_wholes(Session *s, FnId first);
/* Forgets the specialisations with code of the node `first` or a later one. */
void session_forget_code(Session *s, uint32_t first);
/* Forgets those with code of programs or with IR that nothing else uses. */
void session_forget_unused(Session *s);
/* Forgets the syntax made of the nodes from `first` to before `end`. */
void session_forget_syntax(Session *s, uint32_t first, uint32_t end);
/* Releases the functions of which no closure can have stored the id, if there
 * are no closures with code of the node `first` or a later one. */
void session_forget_numbered(Session *s, uint32_t first);

/* ---- derivative_rules.c -------------------------------------------------- */
/* Throws unless the rule fits a function of the module. */
void session_check_rule(Session *s, Module *m, const Ast *e);
/* The derivative of a primitive; NULL: it has none. A service of the IR. */
Fn *session_elementwise_rule(Ctx *c, Op op, Dtype d);

/* ---- host_calls.c -------------------------------------------------------- */
/* A call at run time, also a service of the IR. Replaces the random state. It
 * may use up the reference of an argument, which is then V_UNSET. */
Status session_call_dynamic(Ctx *c, Value f, uint32_t n, Value *args, Value *random_state,
                            Value *result, SpanId span);

#endif
