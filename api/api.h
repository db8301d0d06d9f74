/* api.h - shared declarations of the C interface: context, handles, entering
 * and leaving.
 *
 * Needs: atled.h, all modules but repl. Private to api/.
 *
 * Contract: every public call that may fail runs its work inside api_run.
 * api_run
 * - refuses a busy context and catches throws;
 * - changes to a stack of our own where the host's is short;
 * - saves and restores the host's floating-point environment;
 * - starts the step and time limits;
 * - ensures that a failure has a diagnostic.
 */
#ifndef ATLED_API_API_H
#define ATLED_API_API_H

#include "include/atled.h"
#include "backend/eval/core/code.h"
#include "parser/session/session.h"
#include <fenv.h>
#include <pthread.h>

typedef struct Handle Handle;

/* Links handles to their context and outlives both. The context and each handle
 * hold one reference. */
typedef struct HandleRegistry {
	pthread_mutex_t lock;
	uint32_t refs;        /* under the lock */
	HeapAccount *account; /* allocates the handles; each block keeps it alive */
	atled_context *ctx;   /* NULL after the context is freed */
	Handle *live;
	_Atomic(Handle *) dead; /* freed while the context was busy; released at the next entry */
} HandleRegistry;

typedef enum HandleKind { HANDLE_VALUE, HANDLE_FUNCTION } HandleKind;

struct Handle {
	HandleRegistry *life; /* NULL: a passing handle on a callback's stack */
	Handle *prev, *next;
	uint8_t kind; /* HandleKind */
};

struct atled_value {
	Handle h;
	Ctx *c; /* of passing handles */
	Value v;
};

#define TYPE_SYMS 32u
#define TYPE_PLACES 64u

/* A function's type. Extents are dims over its own symbols 0 .. nsyms-1, which
 * are named in order of appearance. */
typedef struct Signature {
	uint32_t nin, nout, nsyms;
	bool has_results;
	TypeId *in, *out;
	Atom *syms;
} Signature;

typedef struct Entry Entry;

struct atled_function {
	Handle h;
	Value f; /* the function as a language value */
	Fn *fn;  /* specialised function; owns one reference */
	Signature sig;
	char *type;
	/* Holds the arrays of `sig` and the type's text. It is allocated from the
	 * account, so that the text may outlive the context. */
	void *block;
	size_t block_bytes;
	uint32_t nin, nout;
	Entry *entry;
};

typedef struct Wrapper { /* source of a function that derives others, and its value */
	Atom text;
	Value value;
} Wrapper;

struct atled_engine {
	HostAllocator alloc;
	atomic_uint refs;
	int threads;
	NativePolicy policy;    /* owns its `cache` */
	_Atomic uint32_t epoch; /* counts atled_interrupt_all */
};

typedef struct FloatEnv {
	fenv_t full;
#if defined(__x86_64__)
	uint32_t mxcsr;
	uint16_t x87_control, x87_status;
	bool changed; /* differs from the default; then `full` is set */
#endif
} FloatEnv;

struct atled_context {
	Ctx *c;
	atled_engine *engine;
	void *data; /* the host's */
	void (*free_data)(void *data);
	HandleRegistry *life;
	Session *session;
	atomic_int busy;
	_Atomic uintptr_t owner; /* the thread inside */
	atomic_int callbacks;    /* nesting depth of host callbacks on the owner */
	FloatEnv env;            /* the host's */
	atled_limit limits;
	atled_status status; /* of the last call */
	uint32_t error_base; /* earlier diagnostics belong to an outer call */
	bool misuse;
	atled_error error; /* storage of atled_last_error */
	atled_progress_tell tell;
	void *tell_ud;
	atled_warning_tell warned;
	void *warned_ud;
	VEC(Wrapper) wrappers;
	VEC(const atled_host *) hosts; /* hosts that have a free_ud */
};

static inline atled_context *api_of(const Ctx *c) { return ctx_slot(c, SLOT_API); }

/* ---- context.c ----------------------------------------------------------- */

typedef void (*ApiBody)(Ctx *c, void *arg);
/* ENTER_CALLBACK: callbacks may make the call, too */
typedef enum EnterMode { ENTER_ALONE, ENTER_CALLBACK } EnterMode;

/* Acquires the context. Returns ATLED_OK, ATLED_BUSY or ATLED_MISUSE. */
atled_status api_enter(atled_context *x, EnterMode mode);
/* Records the status, ensures that a failure has a diagnostic, and releases the
 * context. */
atled_status api_leave(atled_context *x, Status st);
/* ctx_protect on a stack that is long enough. */
Status api_protect(atled_context *x, ApiBody body, void *arg);
atled_status api_run(atled_context *x, EnterMode mode, ApiBody body, void *arg);
/* Reports a mistake of the host and throws; only inside a body. */
_Noreturn void api_misuse(Ctx *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Throws unless st is ST_OK; only inside a body. */
void api_want(Ctx *c, Status st);
/* Reports a call that cannot even begin, where the context is free to take the
 * report. Returns ATLED_MISUSE. */
atled_status api_refuse(atled_context *x, const char *call, const char *why);
/* In a public function: returns unless the condition holds. */
#define API_WANT(x, condition, why)                                                                \
	do {                                                                                           \
		if (!(condition)) return api_refuse(x, __func__, why);                                     \
	} while (0)
Status api_status(atled_status st); /* status that a callback returned */
/* Bracket every call of a host callback. */
void api_callback_begin(Ctx *c);
void api_callback_end(Ctx *c);

/* Allocates a zeroed handle of `bytes` and adds it to the live list. Returns
 * NULL when memory fails. */
void *handle_new(atled_context *x, HandleKind kind, size_t bytes);
void handle_free(Handle *h, size_t bytes);
/* Release the contents of a handle. The context must be entered or in
 * destruction. */
void value_handle_release(atled_value *v);
void function_handle_release(atled_function *f);

size_t api_length(const char *text, size_t n); /* resolves ATLED_ZERO */

/* ---- value.c ------------------------------------------------------------- */

/* A handle for v. It takes the reference of v, also on failure. Returns NULL
 * when memory fails. */
atled_value *value_handle(atled_context *x, Value v);
bool api_is_name(const char *name); /* whether programs can use the word as a name */
static inline atled_value value_passing(Ctx *c, Value v) { return (atled_value){.c = c, .v = v}; }

/* ---- types.c ------------------------------------------------------------- */

/* Parses "(f64[n], i64) -> f64[n]" into the arena. Throws with a diagnostic. */
Signature signature_read(Ctx *c, Arena *a, const char *text);
void signature_write(Ctx *c, const Signature *s, Text *out);
/* Binds symbols from an actual shape; false when it does not fit. values has
 * TYPE_SYMS entries; -1: unbound. */
bool signature_match(Ctx *c, TypeId declared, uint32_t rank, const int64_t *shape, int64_t *values);
/* Evaluates the shape of a type; false when a symbol is unbound. */
bool signature_shape(Ctx *c, TypeId declared, const int64_t *values, int64_t *shape);
/* "f64[n, 3]" for messages, in a buffer of the caller. */
const char *signature_type_text(Ctx *c, const Signature *s, TypeId t, char *buf, size_t cap);
const char *array_type_text(int dtype, uint32_t rank, const int64_t *shape, char *buf, size_t cap);

/* ---- tensor.c ------------------------------------------------------------ */

/* The handle is the tensor itself. */
static inline Tensor *tensor_of(const atled_tensor *t) { return (Tensor *)(uintptr_t)t; }
static inline atled_tensor *tensor_handle(Tensor *t) { return (atled_tensor *)(void *)t; }
/* Whether a call may write its result there. */
bool tensor_writable(const Tensor *t);
/* Whether the tensors may share memory. */
bool tensor_meets(const Tensor *x, const Tensor *y);
/* Copies src into dst; they may overlap. Returns false when memory fails. */
bool tensor_move_into(Ctx *c, Tensor *dst, Tensor *src);

#endif
