/* context.h - the context passed to every module: memory, atoms, diagnostics,
 * limits, grants, module state.
 *
 * Needs: nothing but libc.
 *
 * Contract:
 * - There is no global state.
 * - All memory comes from the host's allocator and counts against a limit.
 * - There are two ways to fail, never mixed. Code that builds (parser,
 *   specialiser, transforms) throws to the innermost ctx_protect with
 *   ctx_throw. Code that runs (evaluator, solvers, file layers) returns a
 *   Status.
 * - A throw never crosses a foreign library's frame. The public API protects
 *   every entry.
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
	ST_ERROR,       /* the program is wrong or failed; a diagnostic is recorded */
	ST_NOMEM,       /* allocation failed or the memory limit was reached */
	ST_INTERRUPTED, /* the host or ^C requested a stop */
	ST_LIMIT,       /* a step, time or depth budget is exhausted */
	ST_DENIED,      /* the program used something the host did not grant */
	ST_EXIT,        /* the program called exit: see ctx_exit_code */
	ST_INTERNAL     /* an internal invariant is violated; a diagnostic is recorded */
} Status;

/* ---- the host's allocator and the heap over it --------------------------- */

/* resize(ud, p, old, new): new == 0 frees; p == NULL allocates. On failure it
 * returns NULL and leaves p valid. Blocks are aligned for any scalar type. */
typedef struct HostAllocator {
	void *(*resize)(void *ud, void *p, size_t old_bytes, size_t new_bytes);
	void *ud;
} HostAllocator;

/* The allocator for hosts without their own: malloc, and a page pool for large
 * blocks (lang/base/page_pool.h). */
HostAllocator heap_default(void);

/* Run-time memory (tensors, values, frames). NULL on failure; thread-safe when
 * the host's allocator is. */
void *heap_alloc(Ctx *c, size_t bytes);
void *heap_resize(Ctx *c, void *p, size_t old_bytes, size_t new_bytes);
void heap_free(Ctx *c, void *p, size_t bytes);
size_t heap_used(const Ctx *c);
size_t heap_peak(const Ctx *c);            /* includes spare blocks */
void heap_set_limit(Ctx *c, size_t bytes); /* 0: none */
size_t heap_limit(const Ctx *c);
/* For tests: the n-th allocation from now fails (n = 1: the next); with
 * `forever`, all later ones too. 0 switches it off. */
void heap_fail_at(Ctx *c, uint64_t n, bool forever);
uint64_t heap_allocation_count(const Ctx *c);
void heap_trim(Ctx *c); /* gives unused blocks back to the host's allocator */

/* The heap of tensors: blocks that may outlive the context and be freed on any
 * thread. Each block keeps the account alive. */
typedef struct HeapAccount HeapAccount;
HeapAccount *heap_account(const Ctx *c);
HostAllocator account_allocator(const HeapAccount *a);
void *account_alloc(HeapAccount *a, size_t bytes);
void account_free(HeapAccount *a, void *p, size_t bytes);

/* ---- creation and destruction -------------------------------------------- */

Ctx *ctx_new(const HostAllocator *alloc); /* alloc NULL: malloc; returns NULL when memory fails */
void ctx_free(Ctx *c);
/* Whether $ATLED_VERIFY was set when the context was created. Then IR functions
 * and kernel code are verified as they are built, and invalid kernel code
 * aborts the program. */
bool ctx_verifies(const Ctx *c);

/* ---- non-local exit, compile side only ----------------------------------- */

/* Runs body(c, arg). A ctx_throw inside returns here with its status. Nests. */
Status ctx_protect(Ctx *c, void (*body)(Ctx *c, void *arg), void *arg);
/* ST_ERROR becomes the status of an interrupt or a limit that stops the
 * context. */
_Noreturn void ctx_throw(Ctx *c, Status s);

/* The C stacks of the context; see c_stack.h. */
struct CStack *ctx_stack(Ctx *c);

/* ---- atoms: interned strings --------------------------------------------- */

typedef uint32_t Atom; /* 0 is the empty string */
Atom atom(Ctx *c, const char *text);
Atom atom_n(Ctx *c, const char *text, size_t n);
Atom atom_f(Ctx *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *atom_text(const Ctx *c, Atom a);
size_t atom_length(const Ctx *c, Atom a);

/* ---- interruption, budgets ----------------------------------------------- */

void ctx_interrupt(Ctx *c); /* callable from any thread and from signal handlers */
void ctx_clear_interrupt(Ctx *c);
/* The epoch is a number that many contexts read. A call that runs when another
 * thread changes it is interrupted. ctx_enter_epoch starts a call. */
void ctx_follow_epoch(Ctx *c, const _Atomic uint32_t *epoch);
void ctx_enter_epoch(Ctx *c);
/* Callable from any thread, for long work between polls. NULL: returns false.
 */
bool ctx_interrupted(const Ctx *c);
/* The limit on counted instructions of the running program; 0: none. */
void ctx_set_step_limit(Ctx *c, uint64_t steps);
void ctx_set_time_limit(Ctx *c, double wall_seconds); /* from now; 0: none */
void ctx_set_depth_limit(Ctx *c, uint32_t calls);     /* default 2000 */
uint32_t ctx_depth_limit(const Ctx *c);
/* The progress of a loop or an integration. */
enum { PROGRESS_VALUES = 8, PROGRESS_LEVELS = 8 };
typedef struct Progress {
	int64_t step, steps;   /* completed, and in total; steps 0: unknown */
	double time, from, to; /* of an integration; from == to: none */
	double dt;
	/* The names of the values in one string, separated by commas. */
	Atom names;
	const char *text; /* that string, when the sink is called */
	uint32_t nvalues;
	double values[PROGRESS_VALUES];
	/* The loop reports its progress itself; else its iterations are counted. */
	bool says;
	bool has_report; /* there is something to report */
	/* Its iterations continue from `step` in machine code, which counts them
	 * from 0. */
	bool goes_on;
	int64_t base; /* with goes_on: the `step` at which that began */
} Progress;
/* Starts a loop: returns the record that the loop must update, or NULL when it
 * need not. A record exists when progress is requested, for every loop with
 * `says` and for the outermost of the others. Records form a stack; they end at
 * the latest with the call that runs the program. */
Progress *ctx_progress_enter(Ctx *c, bool says);
/* also leaves all loops inside it; NULL: no effect */
void ctx_progress_leave(Ctx *c, const Progress *p);
uint32_t ctx_progress_depth(const Ctx *c);
void ctx_progress_reset(Ctx *c, uint32_t depth); /* leaves all loops deeper than `depth` */
/* The report of the innermost loop, with at most PROGRESS_VALUES values. Values
 * named time, from, to and dt go to those fields of the record. */
void ctx_report(Ctx *c, Atom names, int64_t step, int64_t steps, uint32_t n, const double *values);
/* Counts the iterations of a machine-code loop without reports of its own. */
void ctx_progress_iteration(Ctx *c, int64_t iteration, int64_t trip_count);
bool ctx_reports_progress(const Ctx *c); /* whether progress is requested */
/* tell(ud, p, n) is called about ten times a second from polls, with the n
 * loops that have something to report, outermost first. NULL: off. */
typedef void (*ProgressTell)(void *ud, const Progress *p, uint32_t n);
/* Extracts the next of comma-separated names; returns its length, 0 at the end.
 */
size_t progress_name(const char **rest, const char **name);
void ctx_report_progress(Ctx *c, ProgressTell tell, void *ud);
/* Called at every poll point. `steps` is the work done since the last poll. */
Status ctx_poll(Ctx *c, uint64_t steps);
/* Whether a poll would ask to stop. Reports nothing and counts nothing. */
bool ctx_stops(Ctx *c);
/* A poll of work that throws, such as a compilation. No effect outside
 * ctx_protect. */
void ctx_poll_throw(Ctx *c);
/* Why a function that catches throws and returns NULL has failed: what a poll
 * says, else ST_NOMEM. */
Status ctx_failure(Ctx *c);
uint64_t ctx_steps(const Ctx *c);
/* For tests: the n-th poll from now raises the interrupt flag; n = 0: none
 * does. Returns how many polls an earlier call still had to wait. */
uint64_t ctx_interrupt_at_poll(Ctx *c, uint64_t n);

/* ---- grants of the host (embedded contexts start without) ---------------- */

typedef enum Grant {
	GRANT_FILES = 1,
	GRANT_CLOCK = 2,
	GRANT_OUTPUT = 4,
	GRANT_ENVIRONMENT = 8,
	GRANT_ALL = 15
} Grant;
void ctx_grant(Ctx *c, unsigned grants); /* can only narrow the grants after the first call */
bool ctx_granted(const Ctx *c, Grant g);
/* The code of exit(code) in the last call that returned ST_EXIT. */
void ctx_set_exit_code(Ctx *c, int code);
int ctx_exit_code(const Ctx *c);

/* The sink of print. NULL: output is discarded. */
typedef void (*OutputSink)(void *ud, const char *text, size_t n);
void ctx_set_output(Ctx *c, OutputSink sink, void *ud);
void ctx_write(Ctx *c, const char *text, size_t n);

/* ---- session arena; slots for the state of other modules ----------------- */

Arena *ctx_arena(Ctx *c);

/* A module stores its per-context state in a slot; `free_state` runs in reverse
 * slot order at ctx_free. */
typedef enum Slot {
	SLOT_CODE_OWNERS,
	SLOT_SOURCES,
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

/* What this layer asks of those above; NULL until they have been used. */
struct Text;
typedef struct CtxHooks {
	/* Appends a function of the IR, given its FunctionObject's code. */
	void (*print_code)(struct Text *out, const void *code);
} CtxHooks;
CtxHooks *ctx_hooks(Ctx *c);

#endif
