/* context.h - the one object every room is handed: memory, atoms, sources,
 * diagnostics, limits, services.
 *
 * Needs: nothing but libc. Guarantees: no global state. All memory goes through
 * the host's allocator and is counted against a limit. Two ways to fail, never
 * mixed: code that *builds* (parser, specialiser, transforms) throws to the
 * innermost ctx_protect with ctx_throw; code that *runs* (evaluator, solvers,
 * file layers) returns a Status. A throw never crosses a foreign library's
 * frame, and the public API protects every entry.
 */
#ifndef ATLED_LANG_BASE_CONTEXT_H
#define ATLED_LANG_BASE_CONTEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if UINTPTR_MAX != UINT64_MAX || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Atled needs a machine of 64 bits that stores the low byte first (x86-64, aarch64)"
#endif

typedef struct Ctx Ctx;
typedef struct Arena Arena;

typedef enum Status {
	ST_OK = 0,
	ST_ERROR,       /* the user's program is wrong or failed; a diagnostic is recorded */
	ST_NOMEM,       /* allocation failed or the memory limit was reached */
	ST_INTERRUPTED, /* the host or ^C asked to stop */
	ST_LIMIT,       /* a step, time or depth budget is used up */
	ST_DENIED,      /* the program asked for something the host did not grant */
	ST_EXIT,        /* the program ended itself: ctx_exit_code */
	ST_INTERNAL     /* an invariant of ours is broken; a diagnostic is recorded */
} Status;

/* ---- the host's allocator and the heap over it --------------------------- */

/* resize(ud, p, old, new): new == 0 frees; p == NULL allocates; returns NULL on
 * failure and then leaves p alone. Blocks are aligned for any scalar type. */
typedef struct HostAllocator {
	void *(*resize)(void *ud, void *p, size_t old_bytes, size_t new_bytes);
	void *ud;
} HostAllocator;

/* malloc, and kept pages for large blocks (lang/base/page_pool.h): what is used
 * when the host has none of its own. */
HostAllocator heap_default(void);

/* Run-time memory (tensors, values, frames). NULL on failure; thread-safe when
 * the host's allocator is. */
void *heap_alloc(Ctx *c, size_t bytes);
void *heap_resize(Ctx *c, void *p, size_t old_bytes, size_t new_bytes);
void heap_free(Ctx *c, void *p, size_t bytes);
size_t heap_used(const Ctx *c);
size_t heap_peak(const Ctx *c);            /* spare blocks count here */
void heap_set_limit(Ctx *c, size_t bytes); /* 0: none */
size_t heap_limit(const Ctx *c);
/* Test seam: the n-th allocation from now fails (n = 1: the next); `forever`:
 * and all after it. 0 switches it off. */
void heap_fail_at(Ctx *c, uint64_t n, bool forever);
uint64_t heap_allocation_count(const Ctx *c);

/* What tensors use: blocks that may outlive the context and be freed on any
 * thread. Each holds the account alive. */
typedef struct HeapAccount HeapAccount;
HeapAccount *heap_account(const Ctx *c);
HostAllocator account_allocator(const HeapAccount *a);
void *account_alloc(HeapAccount *a, size_t bytes);
void account_free(HeapAccount *a, void *p, size_t bytes);

/* ---- life ---------------------------------------------------------------- */

Ctx *ctx_new(const HostAllocator *alloc); /* alloc NULL: malloc; NULL when memory fails */
void ctx_free(Ctx *c);
/* $ATLED_VERIFY was set when it was made: functions of the IR and kernel code
 * are verified as they are built, and unsound kernel code ends the program. */
bool ctx_verifies(const Ctx *c);

/* ---- non-local exit, compile side only ----------------------------------- */

/* Runs body(c, arg); a ctx_throw inside comes back here as the returned status.
 * Nests. */
Status ctx_protect(Ctx *c, void (*body)(Ctx *c, void *arg), void *arg);
_Noreturn void ctx_throw(Ctx *c, Status s);

/* ---- atoms: interned strings --------------------------------------------- */

typedef uint32_t Atom; /* 0 is the empty string */
Atom atom(Ctx *c, const char *text);
Atom atom_n(Ctx *c, const char *text, size_t n);
Atom atom_f(Ctx *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *atom_text(const Ctx *c, Atom a);
size_t atom_length(const Ctx *c, Atom a);

/* ---- interruption, budgets ----------------------------------------------- */

void ctx_interrupt(Ctx *c); /* any thread, signal-safe */
void ctx_clear_interrupt(Ctx *c);
bool ctx_interrupted(const Ctx *c); /* any thread: for work in pieces between polls. NULL: never */
/* counted instructions of the running program; 0: none */
void ctx_set_step_limit(Ctx *c, uint64_t steps);
void ctx_set_time_limit(Ctx *c, double wall_seconds); /* from now; 0: none */
void ctx_set_depth_limit(Ctx *c, uint32_t calls);     /* default 2000 */
uint32_t ctx_depth_limit(const Ctx *c);
/* How far a loop or an integration has come. */
enum { PROGRESS_VALUES = 8, PROGRESS_LEVELS = 8 };
typedef struct Progress {
	int64_t step, steps;   /* done, and in all; steps 0: not known */
	double time, from, to; /* of an integration; from == to: there is none */
	double dt;
	Atom names;       /* of the values, in one text with commas between them: as a loss */
	const char *text; /* that text, when it is told */
	uint32_t nvalues;
	double values[PROGRESS_VALUES];
	bool says; /* it reports by itself; else its turns are counted */
	bool told; /* there is something to tell */
	/* its turns go on from `step` as machine code, which counts them from 0 */
	bool goes_on;
	int64_t base; /* with goes_on: where that was */
} Progress;
/* A loop begins: its record, which it keeps up to date, or NULL: nobody wants
 * to know, or it is not asked. Those are asked that `says`, and the outermost
 * one of the others. Records are a stack; they end with the call that runs at
 * the latest. */
Progress *ctx_progress_enter(Ctx *c, bool says);
void ctx_progress_leave(Ctx *c, const Progress *p); /* and all inside it. NULL: nothing */
uint32_t ctx_progress_depth(const Ctx *c);
void ctx_progress_reset(Ctx *c, uint32_t depth); /* leaves all inside it */
/* What the innermost loop says; at most PROGRESS_VALUES values. Those of the
 * names time, from, to and dt are what the record has under these names. */
void ctx_report(Ctx *c, Atom names, int64_t step, int64_t steps, uint32_t n, const double *values);
/* Turns of a loop of machine code that says nothing. */
void ctx_progress_turn(Ctx *c, int64_t turn, int64_t turns);
bool ctx_is_told(const Ctx *c); /* somebody wants to know */
/* tell(ud, p, n) is called about ten times a second from polls, with the n
 * loops that have something to tell, the outermost first. NULL: not. */
typedef void (*ProgressTell)(void *ud, const Progress *p, uint32_t n);
/* The next of names with commas between them; its length, 0 at the end. */
size_t progress_name(const char **rest, const char **name);
void ctx_tell_progress(Ctx *c, ProgressTell tell, void *ud);
/* Called at every poll point. `steps` is the work done since the last poll. */
Status ctx_poll(Ctx *c, uint64_t steps);
uint64_t ctx_steps(const Ctx *c);
/* Test seam: the interrupt flag goes up at the n-th poll from now. */
void ctx_interrupt_at_poll(Ctx *c, uint64_t n);

/* ---- what the host grants (embedded contexts are denied by default) ------ */

typedef enum Grant {
	GRANT_FILES = 1,
	GRANT_CLOCK = 2,
	GRANT_OUTPUT = 4,
	GRANT_ENVIRONMENT = 8,
	GRANT_ALL = 15
} Grant;
void ctx_grant(Ctx *c, unsigned grants); /* can only narrow after the first call */
bool ctx_granted(const Ctx *c, Grant g);
/* What exit(code) of the last call that gave ST_EXIT said. */
void ctx_set_exit_code(Ctx *c, int code);
int ctx_exit_code(const Ctx *c);

/* Where print goes. NULL sink: dropped. */
typedef void (*OutputSink)(void *ud, const char *text, size_t n);
void ctx_set_output(Ctx *c, OutputSink sink, void *ud);
void ctx_write(Ctx *c, const char *text, size_t n);

/* ---- session-long arena and slots the other rooms hang their state on ---- */

Arena *ctx_arena(Ctx *c);

/* A higher room keeps its per-context state in a slot; `free_state` runs in
 * reverse slot order at ctx_free. */
typedef enum Slot {
	SLOT_DIAG,
	SLOT_TYPE,
	SLOT_IR,
	SLOT_HOSTS,
	SLOT_SYNTAX,
	SLOT_PARSER,
	SLOT_AUTODIFF,
	SLOT_SPARSITY,
	SLOT_THREADS,
	SLOT_DETACHED,
	SLOT_BACKEND,
	SLOT_SOLVERS,
	SLOT_DATA,
	SLOT_API,
	SLOT_COUNT
} Slot;
void *ctx_slot(const Ctx *c, Slot s);
void ctx_set_slot(Ctx *c, Slot s, void *state, void (*free_state)(Ctx *c, void *state));

#endif
