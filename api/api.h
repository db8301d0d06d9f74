/* api.h - what the files of the public interface share: the context behind
 * atled_context, handles, entering and leaving.
 *
 * Needs: atled.h, all rooms but repl. Private to api/. Guarantees: every public
 * call that may fail runs its work inside api_run, which refuses a busy
 * context, protects against throws, keeps the host's floating-point
 * environment, arms the budgets and sees that a failure leaves a diagnostic.
 */
#ifndef ATLED_API_API_H
#define ATLED_API_API_H

#include "include/atled.h"
#include "parser/session/session.h"
#include <fenv.h>
#include <pthread.h>

typedef struct Handle Handle;

/* Ties handles to their context: it outlives both. Counted by the context and
 * by each handle. */
typedef struct Life {
	pthread_mutex_t lock;
	uint32_t refs;        /* under the lock */
	HeapAccount *account; /* for the blocks of handles; each block keeps it alive */
	atled_context *ctx;   /* NULL when it is gone */
	Handle *live;
	_Atomic(Handle *)
		/* freed while the context was busy, to be released at the next
		 * entry; changed under the lock */
		dead;
} Life;

typedef enum HandleKind { HANDLE_VALUE, HANDLE_FUNCTION } HandleKind;

struct Handle {
	Life *life; /* NULL: a passing value on the stack of a callback */
	Handle *prev, *next;
	uint8_t kind; /* HandleKind */
};

struct atled_value {
	Handle h;
	Ctx *c; /* of passing values */
	Value v;
};

#define TYPE_SYMS 32u
#define TYPE_PLACES 64u

/* A function's type: lengths are dims over its own symbols 0 .. nsyms-1, named
 * in order of appearance. */
typedef struct Signature {
	uint32_t nin, nout, nsyms;
	bool has_results;
	TypeId *in, *out;
	Atom *syms;
} Signature;

typedef struct Entry Entry;

struct atled_function {
	Handle h;
	Value f;       /* the function as a value of the language */
	Fn *fn;        /* specialised; one reference */
	Signature sig; /* arrays in the context's arena: gone with it */
	char *type;    /* account block, so that it may outlive the context */
	size_t type_bytes;
	uint32_t nin, nout;
	Entry *entry;
};

typedef struct Wrapper { /* a text that makes derived functions, and its value */
	Atom text;
	Value value;
} Wrapper;

struct atled_engine {
	HostAllocator alloc;
	atomic_uint refs;
	int threads;
};

typedef struct FloatEnv {
	fenv_t full;
#if defined(__x86_64__)
	uint32_t mxcsr;
	uint16_t x87_control, x87_status;
	bool changed; /* from the default: then `full` is set */
#endif
} FloatEnv;

struct atled_context {
	Ctx *c;
	atled_engine *engine;
	Life *life;
	Session *session;
	atomic_int busy;
	_Atomic uintptr_t owner; /* the thread inside */
	atomic_int callbacks;    /* how deep the owner is in callbacks of the host */
	FloatEnv env;            /* the host's */
	atled_limit limits;
	atled_status status; /* of the last call */
	uint32_t error_base; /* diagnostics before it belong to an outer call */
	bool misuse;
	atled_error error; /* what atled_last_error points to */
	atled_progress_tell tell;
	void *tell_ud;
	VEC(Wrapper) wrappers;
	VEC(const atled_host *) hosts; /* those whose free_ud is to be called */
};

static inline atled_context *api_of(const Ctx *c) { return ctx_slot(c, SLOT_API); }

/* ---- context.c ----------------------------------------------------------- */

typedef void (*ApiBody)(Ctx *c, void *arg);
/* CALLBACK: a callback may call it as well */
typedef enum EnterMode { ENTER_ALONE, ENTER_CALLBACK } EnterMode;

/* Refuses, or makes the context ours. ATLED_OK, ATLED_BUSY or ATLED_MISUSE. */
atled_status api_enter(atled_context *x, EnterMode mode);
/* Notes how the call ended, sees that a failure has a diagnostic, gives the
 * context back. */
atled_status api_leave(atled_context *x, Status st);
atled_status api_run(atled_context *x, EnterMode mode, ApiBody body, void *arg);
/* Inside a body: the host's mistake. Throws. */
_Noreturn void api_misuse(Ctx *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Inside a body: throws unless OK. */
void api_want(Ctx *c, Status st);
Status api_status(atled_status st); /* what a callback returned */
/* Around calls of the host's callbacks. */
void api_callback_begin(Ctx *c);
void api_callback_end(Ctx *c);

/* Makes a handle of `bytes` (cleared) in the list of live ones; NULL when
 * memory fails. */
void *handle_new(atled_context *x, HandleKind kind, size_t bytes);
void handle_free(Handle *h, size_t bytes);
/* What the kinds hold, given back (with the context entered or going). */
void value_handle_release(atled_value *v);
void function_handle_release(atled_function *f);

size_t api_length(const char *text, size_t n); /* resolves ATLED_ZERO */

/* ---- value.c ------------------------------------------------------------- */

/* A handle for v, whose reference it takes (also when it fails). NULL when
 * memory fails. */
atled_value *value_handle(atled_context *x, Value v);
bool api_is_name(const char *name); /* a word that programs can write as a name */
static inline atled_value value_passing(Ctx *c, Value v) { return (atled_value){.c = c, .v = v}; }

/* ---- types.c ------------------------------------------------------------- */

/* Reads "(f64[n], i64) -> f64[n]" into the context's arena; throws with a
 * diagnostic. */
Signature signature_read(Ctx *c, const char *text);
void signature_write(Ctx *c, const Signature *s, Text *out);
/* Learns symbols from an actual shape: false when it does not fit. values has
 * TYPE_SYMS entries, -1: not known yet. */
bool signature_match(Ctx *c, TypeId declared, uint32_t rank, const int64_t *shape, int64_t *values);
/* The shape that a type has under the values; false when a symbol is unknown.
 */
bool signature_shape(Ctx *c, TypeId declared, const int64_t *values, int64_t *shape);
/* "f64[n, 3]" for messages, in a static-size buffer. */
const char *signature_type_text(Ctx *c, const Signature *s, TypeId t, char *buf, size_t cap);
const char *array_type_text(int dtype, uint32_t rank, const int64_t *shape, char *buf, size_t cap);

/* ---- tensor.c ------------------------------------------------------------ */

/* The handle is the tensor. */
static inline Tensor *tensor_of(const atled_tensor *t) { return (Tensor *)(uintptr_t)t; }
static inline atled_tensor *tensor_handle(Tensor *t) { return (atled_tensor *)(void *)t; }
/* May be written as the result of a call. */
bool tensor_writable(const Tensor *t);
/* They may share memory. */
bool tensor_meets(const Tensor *x, const Tensor *y);
/* Copies src into dst, whatever they share. false when memory fails. */
bool tensor_move_into(Ctx *c, Tensor *dst, Tensor *src);

#endif
