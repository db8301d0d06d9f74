/* atled.h - public C interface of Atled, a differentiable array language.
 *
 * Needs: C11 or C++11. Link with -latled (pkg-config atled). The program
 * `atled` uses this header only.
 *
 * Objects:
 * - engine: the allocator and the threads that contexts share. Any thread may
 *   use it at any time.
 * - context: variables, limits and diagnostics. One thread at a time may use
 *   it; it may move between threads. A call into a busy context returns
 *   ATLED_BUSY. A callback may still make the calls marked "Allowed in
 *   callbacks". A call from a thread with less than 7 MB of stack, or from a
 *   coroutine, runs on a stack of the context, and so do its callbacks.
 * - function, tensor, value: immutable handles. The caller owns every handle
 *   that a call returns. It may free the handle on any thread, before or after
 *   the context is freed.
 *
 * Results:
 * - Calls return a status and write results through pointers. On failure those
 *   pointers are set to NULL (or 0), no variable changes, and the context stays
 *   usable.
 * - Strings are UTF-8. A string whose length is given as ATLED_ZERO ends with a
 *   zero byte.
 * - Pointers to strings and structs that belong to a context are valid until
 *   the next call into it.
 *
 * Guarantees:
 * - The library never exits, aborts, prints or installs a signal handler. It
 *   leaves the locale and the floating-point environment unchanged.
 * - Structs begin with their size. The host sets it to sizeof, and the library
 *   fills the struct up to that size. New fields are added at the end.
 * - Enumerators are never renumbered.
 */
#ifndef ATLED_H
#define ATLED_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ATLED_API __attribute__((visibility("default")))
#else
#define ATLED_API
#endif

#define ATLED_VERSION_STRING "0.1.0"
#define ATLED_VERSION 100 /* 10000 * major + 100 * minor + patch */
#define ATLED_ZERO ((size_t)-1)
#define ATLED_MAX_RANK 8

/* ATLED_VERSION of the running library, which may be newer than this header. */
ATLED_API int atled_version(void);

typedef enum atled_status {
	ATLED_OK = 0,
	ATLED_ERROR = 1,       /* the program is invalid or failed: see atled_last_error */
	ATLED_NOMEM = 2,       /* an allocation failed or exceeded the memory limit */
	ATLED_INTERRUPTED = 3, /* stopped by atled_interrupt */
	ATLED_LIMIT = 4,       /* the limit on steps, time or depth was reached */
	ATLED_DENIED = 5,      /* the program needs a grant that it does not have */
	ATLED_INTERNAL = 6,    /* a bug in Atled */
	ATLED_MISUSE = 7, /* the call is invalid, for example a NULL handle: see atled_last_error */
	ATLED_BUSY = 8,   /* the context is in use; nothing was done or recorded */
	ATLED_EXIT = 9    /* the program called exit(code): see atled_exit_code */
} atled_status;

typedef enum atled_dtype {
	ATLED_BOOL = 0, /* one byte, 0 or 1 */
	ATLED_I32 = 1,
	ATLED_I64 = 2,
	ATLED_F32 = 3,
	ATLED_F64 = 4,
	ATLED_C64 = 5, /* two f32: real part, imaginary part */
	ATLED_C128 = 6
} atled_dtype;

typedef struct atled_engine atled_engine;
typedef struct atled_context atled_context;
typedef struct atled_function atled_function;
typedef struct atled_tensor atled_tensor;
typedef struct atled_value atled_value;

/* Receives a string in pieces that are not zero-terminated. It must not call
 * into the context that writes. */
typedef void (*atled_sink)(void *ud, const char *text, size_t n);

/* ==== engine and context ================================================== */

typedef struct atled_engine_config {
	size_t size;
	/* resize(ud, p, old, new): new == 0 frees p; p == NULL allocates. On
	 * failure it returns NULL and leaves p unchanged. Blocks must be aligned
	 * for any scalar type. Any thread may call it. NULL: malloc and free. */
	void *(*resize)(void *ud, void *p, size_t old_bytes, size_t new_bytes);
	void *ud;
	/* Threads for large operations; 0: one per processor. Results do not depend
	 * on the number of threads. */
	int threads;
	/* Machine code. A context's mode is set by atled_machine.
	 * - no_machine_code: not 0: none is made, loaded or read from the cache.
	 * - background_only: not 0: no call waits for the code generator. Functions
	 *   run in the evaluator until their code is available.
	 * - wait_seconds: the longest wait of a call for the code of one function,
	 *   which is then made in the background; 0 or less: no limit.
	 * - code_cache: full path of the folder that keeps machine code for other
	 *   processes; copied. It is created if missing, and used only when no
	 *   other user may write it or enter it. NULL: $XDG_CACHE_HOME/atled, else
	 *   ~/.cache/atled. "": no files.
	 * - environment: not 0: fields left at 0 follow the environment variables
	 *   ATLED_NATIVE (off, on, always: the initial mode) and ATLED_CACHE (a
	 *   folder, or off). Otherwise both variables are ignored. */
	double wait_seconds;
	int no_machine_code;
	int background_only;
	const char *code_cache;
	int environment;
} atled_engine_config;

/* Creates an engine. config NULL: all fields zero, which is also the value of
 * fields beyond config->size. Returns NULL when memory fails. */
ATLED_API atled_engine *atled_engine_new(const atled_engine_config *config);
/* Releases the engine, which lives until its last context is freed. NULL is
 * allowed. */
ATLED_API void atled_engine_free(atled_engine *engine);

/* Creates a context without limits and without grants. engine NULL: the context
 * gets its own engine. Returns NULL when memory fails. */
ATLED_API atled_context *atled_context_new(atled_engine *engine);
/* Frees a context, which must not be in use. NULL is allowed. */
ATLED_API void atled_context_free(atled_context *ctx);

/* Frees what the context can make again: specialisations, idle stacks, unused
 * memory, and derivatives and compiled code of functions that no variable or
 * handle needs. Variables and handles stay. The next calls are slower. A long
 * life needs no call: what a program leaves is freed when the next one runs. */
ATLED_API atled_status atled_context_compact(atled_context *ctx);

/* Stores a pointer of the host with the context, for callbacks. free_data(data)
 * is called once, when the pointer is replaced or the context is freed. It may
 * be NULL, and must not use the context. Allowed in callbacks. */
ATLED_API atled_status atled_set_data(atled_context *ctx, void *data,
                                      void (*free_data)(void *data));
/* The pointer of atled_set_data; NULL before. Allowed in callbacks. */
ATLED_API void *atled_data(const atled_context *ctx);

typedef enum atled_grants {
	ATLED_GRANT_FILES = 1,       /* read and write files, `use "file.dsl"` */
	ATLED_GRANT_CLOCK = 2,       /* clock, which measures times */
	ATLED_GRANT_OUTPUT = 4,      /* print, which writes to the sink of atled_output */
	ATLED_GRANT_ENVIRONMENT = 8, /* env, which reads environment variables */
	ATLED_GRANT_ALL = 15
} atled_grants;

/* Sets what programs may do. The first call sets the grants; later calls can
 * only remove some. */
ATLED_API atled_status atled_grant(atled_context *ctx, unsigned grants);
/* The current grants. Allowed in callbacks. */
ATLED_API unsigned atled_granted(const atled_context *ctx);
/* The code of exit(code), 0 to 255, after a call that returned ATLED_EXIT.
 * Allowed in callbacks. */
ATLED_API int atled_exit_code(const atled_context *ctx);

typedef struct atled_limit {
	size_t size;
	size_t memory;  /* bytes that the context may hold; 0: no limit. Exceeded: ATLED_NOMEM */
	uint64_t steps; /* work of one call, machine-independent; 0: no limit. Exceeded: ATLED_LIMIT */
	double seconds; /* wall time of one call; 0: no limit. Exceeded: ATLED_LIMIT */
	uint32_t depth; /* nested calls; 0: 2000. Exceeded: ATLED_LIMIT or ATLED_ERROR */
} atled_limit;

/* Sets limits. An existing limit can only be lowered: 0 and larger values leave
 * it unchanged. */
ATLED_API atled_status atled_limits(atled_context *ctx, const atled_limit *limit);

/* Stops the running call within milliseconds (ATLED_INTERRUPTED). If no call
 * runs, the next one is stopped. May be called from any thread and from a
 * signal handler. */
ATLED_API void atled_interrupt(atled_context *ctx);
/* Cancels an interrupt that has not stopped a call. */
ATLED_API void atled_clear_interrupt(atled_context *ctx);
/* Stops the calls that run in the contexts of an engine, and no later ones. May
 * be called from any thread and from a signal handler. NULL is allowed. */
ATLED_API void atled_interrupt_all(atled_engine *engine);

/* Sets the sink of print, which also needs ATLED_GRANT_OUTPUT. NULL:
 * discard. */
ATLED_API atled_status atled_output(atled_context *ctx, atled_sink sink, void *ud);

/* Progress of the running call: the outermost loop or integration that reports
 * its progress, and nested ones through `inside`. */
typedef struct atled_progress_state {
	size_t size;
	int64_t step, steps;   /* done and total; steps 0: total unknown; both 0: nothing known */
	double time, from, to; /* of an integration; from == to: no integration */
	double dt;             /* last step size of the integration */
	uint32_t count;        /* number of further named values, for example a loss */
	const char *const *names;
	const double *values;
	/* the next nested loop that reports progress; NULL: none */
	const struct atled_progress_state *inside;
} atled_progress_state;
typedef void (*atled_progress_tell)(void *ud, const atled_progress_state *state);
/* Calls tell about ten times a second while a call runs, on the thread of that
 * call. tell must not call into the context. NULL: no reports. */
ATLED_API atled_status atled_progress(atled_context *ctx, atled_progress_tell tell, void *ud);

/* ==== errors ============================================================== */

typedef struct atled_error {
	size_t size;
	atled_status status; /* of the call that failed */
	int warning;         /* not 0: a warning */
	const char *code;    /* a stable code, for example "E0302" */
	const char *title;   /* description of the code */
	const char *message; /* one line, without location */
	/* name given with the source; NULL: the error has no location */
	const char *file;
	uint32_t line, column;         /* from 1, in characters; 0 without a location */
	uint32_t end_line, end_column; /* just after the last character */
	const char *label;             /* text beside the caret; it and the fields below may be NULL */
	const char *second; /* label of a related location, such as the source of a conflicting type */
	const char *second_file; /* the related location */
	uint32_t second_line, second_column;
	const char *hint;  /* suggested replacement */
	const char *trace; /* call stack or transforms, one per line */
} atled_error;

/* The first error of the last failed call in this context; NULL when the last
 * call succeeded. Inside a callback it refers to the nested call. */
ATLED_API const atled_error *atled_last_error(const atled_context *ctx);
/* Number of errors and warnings of the last call; at most 20 of each are
 * stored. */
ATLED_API size_t atled_error_count(const atled_context *ctx);
/* Copies the i-th diagnostic into *out; the caller sets out->size. Returns
 * ATLED_MISUSE when i is out of range. */
ATLED_API atled_status atled_error_at(const atled_context *ctx, size_t i, atled_error *out);
typedef enum atled_error_form {
	ATLED_ERROR_TEXT = 0,
	ATLED_ERROR_COLOUR = 1,
	ATLED_ERROR_JSON = 2
} atled_error_form;
/* Writes the i-th diagnostic for people (message, source line, caret, hint) or
 * as one line of JSON. */
ATLED_API atled_status atled_error_write(const atled_context *ctx, size_t i, atled_error_form form,
                                         atled_sink sink, void *ud);

/* Receives a warning, which is valid during the call. i: its index for
 * atled_error_write, which tell may call. It must not make other calls into the
 * context. */
typedef void (*atled_warning_tell)(void *ud, size_t i, const atled_error *warning);
/* Calls tell once for each stored warning of a call: for one of running code
 * when it arises, on the thread of that call and before the calls around it
 * are added to its trace; for others at the end of the call. NULL: no reports.
 * The warnings stay available as above. */
ATLED_API atled_status atled_warnings(atled_context *ctx, atled_warning_tell tell, void *ud);

/* ==== programs ============================================================ */

/* Runs a program for its definitions: functions, problems, variables. It shows
 * no results. name appears in messages (NULL: "<text>"). */
ATLED_API atled_status atled_compile(atled_context *ctx, const char *text, size_t n,
                                     const char *name);
/* Runs a program and returns the value of its last statement (kind ATLED_NONE
 * for a definition). out may be NULL. */
ATLED_API atled_status atled_eval(atled_context *ctx, const char *text, size_t n, const char *name,
                                  atled_value **out);

/* ==== functions =========================================================== */

/* Looks up a function and specialises it for argument types, which are checked
 * here once. `type` is for example
 *     "(f64[n], f64[3, n], i64) -> f64[n]"
 * - It gives the dtype and extents of each argument and, after the arrow, of
 *   each result ("-> (f64, f64[n])" for several). Without an arrow the results
 *   may have any type.
 * - An extent is an integer, a name, or a polynomial of both such as n + 1. A
 *   name stands for the same extent everywhere. Names in a polynomial must have
 *   appeared alone before.
 * - type NULL: the program's annotations, with f64 where there are none.
 *
 * The function must be free of effects. Random numbers and printing need
 * atled_eval or atled_value_call. */
ATLED_API atled_status atled_lookup(atled_context *ctx, const char *name, const char *type,
                                    atled_function **out);
/* The same as atled_lookup for a function value. Allowed in callbacks. */
ATLED_API atled_status atled_function_of(atled_context *ctx, const atled_value *value,
                                         const char *type, atled_function **out);
/* A second handle of the same function. Returns NULL when memory fails. */
ATLED_API atled_function *atled_function_copy(const atled_function *fn);
ATLED_API void atled_function_free(atled_function *fn); /* NULL is allowed */
/* The full type, including results. The string lives as long as the handle. */
ATLED_API const char *atled_function_type(const atled_function *fn);
ATLED_API uint32_t atled_function_inputs(const atled_function *fn);
ATLED_API uint32_t atled_function_outputs(const atled_function *fn);

/* Makes a derivative or a batched form of a function. `how` is a word and the
 * index K of an argument (default 0):
 *     "grad K"            (x...) -> gradient with respect to x_K; fn must
 *                         return one real scalar
 *     "value_and_grad K"  (x...) -> (value, gradient)
 *     "jvp K"             (x..., dx) -> (value, derivative along dx)
 *     "vjp K"             (x..., w) -> (value, cotangent of x_K for the
 *                         cotangent w of the value)
 *     "hvp K"             (x..., v) -> Hessian-vector product
 *     "jacobian K"        (x...) -> array: the result's axes, then those of x_K
 *     "hessian K"         (x...) -> array: the axes of x_K twice
 *     "map"               every argument and result gains the same leading axis
 * The result is an ordinary function and can be differentiated again. It
 * belongs to the function that a call of fn runs, also when names in it have
 * been bound anew since. */
ATLED_API atled_status atled_derive(atled_context *ctx, const atled_function *fn, const char *how,
                                    atled_function **out);

/* Calls a function. Allowed in callbacks.
 * - in: nin arguments, borrowed.
 * - out: nout entries. A NULL entry receives a new tensor. A non-NULL entry is
 *   overwritten in place. It must have the right type, need not be contiguous,
 *   and may overlap the arguments.
 * - An output tensor must come from atled_tensor_wrap with ATLED_WRITABLE, or
 *   from atled_tensor_new and have no other owner.
 * - On failure, NULL entries stay NULL. Other tensors keep their contents or
 *   hold partial results. */
ATLED_API atled_status atled_call(atled_context *ctx, const atled_function *fn, uint32_t nin,
                                  atled_tensor *const *in, uint32_t nout, atled_tensor **out);

/* A plain function pointer for inner loops; arguments need no lookup, boxing or
 * allocation.
 * - lengths[s]: the extent of the s-th name in the function's type, in order of
 *   appearance.
 * - in[k], out[k]: elements of the k-th argument or result, row-major and
 *   contiguous.
 * - Results may overlap arguments; those that do not are computed in place.
 * - On failure, out keeps its contents or holds partial results.
 * - The function's handle must outlive the pointer. Calls may be made only
 *   where the context may be entered. */
typedef atled_status (*atled_raw)(void *ud, const int64_t *lengths, const void *const *in,
                                  void *const *out);
ATLED_API atled_status atled_entry(atled_context *ctx, const atled_function *fn, atled_raw *raw,
                                   void **ud);

/* Writes the intermediate representation of a function, its callees first.
 * stage: "typed" or NULL. Allowed in callbacks. */
ATLED_API atled_status atled_ir(atled_context *ctx, const atled_function *fn, const char *stage,
                                atled_sink sink, void *ud);

/* Serialises a function with its callees, for use without the source program.
 * The bytes are machine-independent and equal those that `save` writes to an
 * .air file. Allowed in callbacks. */
ATLED_API atled_status atled_store(atled_context *ctx, const atled_function *fn, atled_sink sink,
                                   void *ud);
/* Deserialises a function for arguments of the given types (see atled_lookup).
 * type NULL: the types that it was stored with. The bytes are validated; an
 * error names the malformed byte. `name` prefixes messages. The bytes may be
 * freed after the call. */
ATLED_API atled_status atled_load(atled_context *ctx, const char *name, const void *bytes, size_t n,
                                  const char *type, atled_function **out);

/* ==== tensors ============================================================= */

/* Memory layout of an array. */
typedef struct atled_array {
	size_t size;
	atled_dtype dtype;
	uint32_t rank;
	const int64_t *shape;   /* `rank` extents */
	const int64_t *strides; /* `rank` strides, in elements */
	void *data;             /* the first element */
	int64_t count;          /* product of the extents */
	int writable;           /* not 0: elements may be modified */
} atled_array;

/* Creates a tensor of zeros. The caller may fill it through atled_tensor_view
 * until the tensor is first passed to a call. Allowed in callbacks. */
ATLED_API atled_status atled_tensor_new(atled_context *ctx, atled_dtype dtype, uint32_t rank,
                                        const int64_t *shape, atled_tensor **out);
typedef enum atled_wrap_mode { ATLED_READ_ONLY = 0, ATLED_WRITABLE = 1 } atled_wrap_mode;
/* Wraps the host's memory without a copy. strides NULL: row-major. The library
 * only reads the memory, unless mode is ATLED_WRITABLE and the tensor is an
 * output. release (may be NULL) is called once, after the last use, on any
 * thread. It is not called when this call fails. Allowed in callbacks. */
ATLED_API atled_status atled_tensor_wrap(atled_context *ctx, atled_dtype dtype, uint32_t rank,
                                         const int64_t *shape, const int64_t *strides, void *data,
                                         atled_wrap_mode mode,
                                         void (*release)(void *ud, void *data), void *ud,
                                         atled_tensor **out);
/* Another handle of the same tensor. */
ATLED_API atled_tensor *atled_tensor_copy(const atled_tensor *t);
/* Describes the layout; the caller sets view->size. Pointers live as long as
 * the handle. Any thread may call it at any time. */
ATLED_API atled_status atled_tensor_view(const atled_tensor *t, atled_array *view);
ATLED_API void atled_tensor_free(atled_tensor *t); /* NULL is allowed */

/* include dlpack.h, if used, before this header */
#if !defined(DLPACK_DLPACK_H_) && !defined(ATLED_DLPACK)
#define ATLED_DLPACK
/* DLPack, the common exchange format of array libraries. */
typedef struct DLDevice {
	int32_t device_type; /* 1: CPU memory */
	int32_t device_id;
} DLDevice;
typedef struct DLDataType {
	uint8_t code; /* 0 int, 1 unsigned, 2 float, 5 complex, 6 bool */
	uint8_t bits;
	uint16_t lanes;
} DLDataType;
typedef struct DLTensor {
	void *data;
	DLDevice device;
	int32_t ndim;
	DLDataType dtype;
	int64_t *shape;
	int64_t *strides; /* in elements; NULL: row-major */
	uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensor {
	DLTensor dl_tensor;
	void *manager_ctx;
	void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;
#endif

/* Exports a tensor without a copy. The export keeps the tensor alive until its
 * deleter is called, on any thread. Its memory must not be written. Allowed in
 * callbacks. */
ATLED_API atled_status atled_tensor_to_dlpack(atled_context *ctx, const atled_tensor *t,
                                              struct DLManagedTensor **out);
/* Imports dl without a copy, and takes ownership when it succeeds: the deleter
 * is called after the last use. Supports CPU memory and the dtypes above. The
 * memory is only read. Allowed in callbacks. */
ATLED_API atled_status atled_tensor_from_dlpack(atled_context *ctx, struct DLManagedTensor *dl,
                                                atled_tensor **out);

/* ==== host functions ====================================================== */

/* A C function that programs call on arrays and, given jvp or vjp,
 * differentiate.
 * - Callbacks read contiguous arrays and fill contiguous arrays.
 * - A callback returns 0, or not 0 on failure. It may first give the reason
 *   with atled_raise.
 * - An argument of another dtype is converted when the conversion is
 *   lossless. */
typedef struct atled_host {
	size_t size;
	const char *name; /* copied */
	/* As in atled_lookup, results included: "(f64[n], f64) -> f64[n]". Extents
	 * of results must follow from arguments. */
	const char *type;
	void *ud;
	int (*value)(void *ud, atled_context *ctx, const atled_array *in, atled_array *out);
	/* out: tangents of the results for the tangents dx of the arguments. y: the
	 * results. dx[k].data is NULL for an argument that is neither real nor
	 * complex. NULL: no forward derivative. */
	int (*jvp)(void *ud, atled_context *ctx, const atled_array *in, const atled_array *y,
	           const atled_array *dx, atled_array *out);
	/* out: cotangents of the arguments for the cotangents w of the results, so
	 * that <w, jvp(dx)> = <out, dx>. out[k].data is NULL when the cotangent of
	 * argument k is not needed. NULL: no reverse derivative. */
	int (*vjp)(void *ud, atled_context *ctx, const atled_array *in, const atled_array *y,
	           const atled_array *w, atled_array *out);
	void (*free_ud)(void *ud); /* called when the context is freed; may be NULL */
} atled_host;

/* Defines a host function under its name.
 * - Programs may give it a derivative rule, as for their own functions: compile
 *   "derivative name(x), dx = ...". The rule may call other host functions. It
 *   takes precedence over jvp and vjp, and allows derivatives of any order.
 * - jvp and vjp allow first derivatives only.
 * - A derivative without a rule is an error where it is requested.
 * - An invalid type or name is ATLED_MISUSE; free_ud is then not called. */
ATLED_API atled_status atled_define_host(atled_context *ctx, const atled_host *host);

/* Whether derivative rules are checked: those of programs (`derivative f(x) =
 * ...`) and of host functions. On its first run for given argument types, a
 * function's rule is compared with finite differences at a few nearby points.
 * This calls the function many times. The mode applies to code compiled
 * afterwards; the default is no check. */
typedef enum atled_rule_check {
	ATLED_RULES_TRUSTED = 0,
	ATLED_RULES_WARN = 1, /* a wrong rule is a warning, E0405 */
	ATLED_RULES_FAIL = 2  /* a wrong rule is an error */
} atled_rule_check;
ATLED_API atled_status atled_check_rules(atled_context *ctx, atled_rule_check mode);

/* A C function on values of any kind, called at run time, without derivative.
 * args are borrowed. The library takes ownership of *result; NULL means
 * none. */
typedef atled_status (*atled_native)(void *ud, atled_context *ctx, uint32_t nargs,
                                     const atled_value *const *args, atled_value **result);
ATLED_API atled_status atled_define_native(atled_context *ctx, const char *name, atled_native fn,
                                           void *ud);

/* Callbacks only: sets the reason of the failure that the callback will
 * return. */
ATLED_API void atled_raise(atled_context *ctx, const char *message);
/* Callbacks only: writes to the sink of print; does nothing without
 * ATLED_GRANT_OUTPUT. */
ATLED_API void atled_write(atled_context *ctx, const char *text, size_t n);

/* ==== values of any kind ================================================== */

typedef enum atled_kind {
	ATLED_NONE = 0,
	ATLED_ARRAY = 1, /* scalars and arrays */
	ATLED_STRING = 2,
	ATLED_RANGE = 3,
	ATLED_TUPLE = 4,
	ATLED_LIST = 5,
	ATLED_RECORD = 6,
	ATLED_FUNCTION = 7,
	ATLED_PROBLEM = 8,
	ATLED_HOST = 9 /* a pointer of the host: atled_value_of_host */
} atled_kind;

/* Queries of values. They are allowed in callbacks, and on any thread while no
 * other thread uses the context. After the context is freed, a value can only
 * be freed; its kind is then ATLED_NONE. */
ATLED_API atled_kind atled_value_kind(const atled_value *v);
ATLED_API atled_value *atled_value_copy(const atled_value *v); /* NULL when memory fails */
ATLED_API void atled_value_free(atled_value *v);               /* NULL is allowed */
/* Scalar conversions: return 1 and set *out, or return 0 when the value is not
 * a scalar or the conversion loses information. */
ATLED_API int atled_value_f64(const atled_value *v, double *out);
ATLED_API int atled_value_i64(const atled_value *v, int64_t *out);
ATLED_API int atled_value_bool(const atled_value *v, int *out);
/* The bytes of a string, zero-terminated; NULL for other kinds. They live as
 * long as the handle. n may be NULL. */
ATLED_API const char *atled_value_string(const atled_value *v, size_t *n);
ATLED_API int atled_value_range(const atled_value *v, int64_t *start, int64_t *stop, int64_t *step);
/* The pointer of a host value of this type (NULL: of any type). NULL for other
 * values. */
ATLED_API void *atled_value_host(const atled_value *v, const char *type);
/* The name of a host value's type; NULL for other values. It lives as long as
 * the handle. */
ATLED_API const char *atled_value_host_type(const atled_value *v);
/* An array as a new tensor handle. NULL for other kinds or when memory
 * fails. */
ATLED_API atled_tensor *atled_value_tensor(const atled_value *v);
/* Items of a tuple, list or record. Each returned item is a new handle. */
ATLED_API size_t atled_value_count(const atled_value *v);
ATLED_API atled_value *atled_value_item(const atled_value *v, size_t i);
ATLED_API atled_value *atled_value_field(const atled_value *v, const char *name);
ATLED_API const char *atled_value_field_name(const atled_value *v, size_t i);
/* Formats a value like print. spec: a format as in "{x:.3e}"; NULL: default.
 * edge: number of elements shown at each end of an axis around "..."; 0:
 * all. */
ATLED_API atled_status atled_value_write(const atled_value *v, const char *spec, int edge,
                                         atled_sink sink, void *ud);
/* Writes the type, for example "f64[64, 64]" or "record (W: f64[20, 2], b:
 * f64[20])". summary: also the size and range of arrays. */
ATLED_API atled_status atled_value_describe(const atled_value *v, int summary, atled_sink sink,
                                            void *ud);

/* Constructors of values. They return NULL when memory fails or an argument is
 * invalid, and atled_last_error says why. Text is UTF-8. Items are borrowed.
 * All are allowed in callbacks. */
ATLED_API atled_value *atled_value_of_none(atled_context *ctx);
ATLED_API atled_value *atled_value_of_f64(atled_context *ctx, double x);
ATLED_API atled_value *atled_value_of_i64(atled_context *ctx, int64_t x);
ATLED_API atled_value *atled_value_of_bool(atled_context *ctx, int x);
ATLED_API atled_value *atled_value_of_string(atled_context *ctx, const char *text, size_t n);
ATLED_API atled_value *atled_value_of_tensor(atled_context *ctx, const atled_tensor *t);
ATLED_API atled_value *atled_value_of_items(atled_context *ctx, atled_kind tuple_or_list, size_t n,
                                            const atled_value *const *items);
ATLED_API atled_value *atled_value_of_fields(atled_context *ctx, size_t n, const char *const *names,
                                             const atled_value *const *items);

/* A pointer of the host as a value, for example an open file.
 * - Programs keep it in variables, records and lists, hand it to functions,
 *   which may be C functions of atled_define_native, and compare it by identity
 *   (==). Anything else is an error: arithmetic, derivatives, saving to a file.
 * - type: a name of up to 100 bytes, for messages and atled_value_host; copied.
 *   pointer must not be NULL.
 * - finalise(pointer), which may be NULL, is called once, when neither the
 *   context nor a handle needs the value any more, and at the latest when the
 *   context is freed. It may be called on any thread and must not use the
 *   context. It is not called when this call fails.
 * A context keeps the constants of its last program: a value that the program
 * used may live until the next one. */
ATLED_API atled_value *atled_value_of_host(atled_context *ctx, const char *type, void *pointer,
                                           void (*finalise)(void *pointer));

/* Reads a variable or function by name, including the library's. Sets *out to
 * NULL and returns ATLED_ERROR when the name is undefined. */
ATLED_API atled_status atled_get(atled_context *ctx, const char *name, atled_value **out);
ATLED_API atled_status atled_set(atled_context *ctx, const char *name, const atled_value *v);
/* Calls a function value. Allowed in callbacks of atled_define_native. out may
 * be NULL. */
ATLED_API atled_status atled_value_call(atled_context *ctx, const atled_value *fn, size_t n,
                                        const atled_value *const *args, atled_value **out);

/* ==== for tools: the interface of the program `atled` ===================== */

/* Receives the result of a top-level expression. v is borrowed; line: the last
 * line of the statement. */
typedef void (*atled_show)(void *ud, const atled_value *v, uint32_t line);
/* Runs a program statement by statement up to the first failure, and shows
 * results. Statements before the failure keep their effects. */
ATLED_API atled_status atled_run(atled_context *ctx, const char *text, size_t n, const char *name,
                                 atled_show show, void *ud);
/* Visits the statements of the last program in order: their byte ranges, and
 * whether they had a result to show. After a failure, only the statements
 * before it are visited. */
typedef void (*atled_statement_visit)(void *ud, size_t start, size_t end, int shown);
ATLED_API atled_status atled_statements(atled_context *ctx, atled_statement_visit visit, void *ud);
/* Checks a program without running it: names, and types and shapes as far as
 * they are known statically. */
ATLED_API atled_status atled_check(atled_context *ctx, const char *text, size_t n,
                                   const char *name);
/* Writes a program in the standard layout, and verifies that its tokens,
 * comments and meaning are unchanged. A syntax error is ATLED_ERROR, and
 * nothing is written. */
ATLED_API atled_status atled_format(atled_context *ctx, const char *text, size_t n,
                                    const char *name, atled_sink sink, void *ud);
/* Sets the base folder of `use "file.dsl"`; NULL: the working directory. */
ATLED_API atled_status atled_folder(atled_context *ctx, const char *path);
/* Sets the seed of the random number generator. */
ATLED_API atled_status atled_seed(atled_context *ctx, int64_t seed);
/* Returns not 0 when the program ends inside a bracket, block or string. */
ATLED_API int atled_incomplete(const char *text, size_t n);

typedef enum atled_token {
	ATLED_TOKEN_SPACE = 0,
	ATLED_TOKEN_COMMENT = 1,
	ATLED_TOKEN_NUMBER = 2,
	ATLED_TOKEN_STRING = 3,
	ATLED_TOKEN_NAME = 4,
	ATLED_TOKEN_KEYWORD = 5,
	ATLED_TOKEN_OPERATOR = 6,
	ATLED_TOKEN_BRACKET = 7,
	ATLED_TOKEN_ERROR = 8
} atled_token;
/* Visits the tokens of a program in order, as byte ranges. */
ATLED_API void atled_tokens(const char *text, size_t n,
                            void (*visit)(void *ud, atled_token kind, size_t start, size_t end),
                            void *ud);
/* The i-th reserved word; NULL after the last. */
ATLED_API const char *atled_keyword(size_t i);

/* Visits the names in scope, in no particular order: the user's variables (v
 * borrowed) or the library's names (v NULL). The visitor must not call into the
 * context, but may query v. */
typedef void (*atled_name_visit)(void *ud, const char *name, const atled_value *v);
ATLED_API atled_status atled_variables(atled_context *ctx, atled_name_visit visit, void *ud);
ATLED_API atled_status atled_library_names(atled_context *ctx, atled_name_visit visit, void *ud);
/* Visits the modules of the library, or the names of one imported module, which
 * is given by its local name. v is NULL. */
ATLED_API atled_status atled_modules(atled_context *ctx, atled_name_visit visit, void *ud);
ATLED_API atled_status atled_module_names(atled_context *ctx, const char *module,
                                          atled_name_visit visit, void *ud);
/* Writes how a function is called, for example "f(x, n = 3)", or the type of a
 * variable. Returns ATLED_ERROR when the name is undefined. */
ATLED_API atled_status atled_signature(atled_context *ctx, const char *name, atled_sink sink,
                                       void *ud);
/* Writes help on a name: signature, description and derivative rules. source:
 * also the source of its definition. Returns ATLED_ERROR when the name is
 * undefined. */
ATLED_API atled_status atled_help(atled_context *ctx, const char *name, int source, atled_sink sink,
                                  void *ud);
/* Writes the type of an expression and its number of scalar operations, without
 * running it. */
ATLED_API atled_status atled_type(atled_context *ctx, const char *expression, size_t n,
                                  atled_sink sink, void *ud);
/* The code and title of the i-th kind of error; returns 0 after the last. */
ATLED_API int atled_error_kind(size_t i, const char **code, const char **title);

typedef struct atled_stat {
	size_t size;
	uint64_t steps;           /* since the context was made, as counted by the step limit */
	uint64_t instructions;    /* executed since the context was made */
	double scalar_operations; /* the same, in operations on scalars */
	uint64_t calls;           /* function calls */
	size_t memory, memory_peak;
	uint64_t allocations;
	uint64_t native_calls;   /* calls of compiled units */
	uint64_t native_units;   /* compiled units in use */
	uint64_t units_compiled; /* of these, compiled for this context */
	uint64_t units_found;    /* of these, found in a cache in memory or on disk */
	/* run time of programs, without parsing, checking and specialisation */
	double run_seconds;
	double compile_seconds; /* part of run_seconds spent waiting for the compiler */
	/* units being compiled in the background; freeing the context waits for the
	 * current one */
	uint64_t units_pending;
} atled_stat;
ATLED_API atled_status atled_stats(atled_context *ctx, atled_stat *out);

/* When functions are compiled to machine code. */
typedef enum atled_machine_mode {
	ATLED_MACHINE_NEVER = 0,
	ATLED_MACHINE_WHEN_WORTH = 1, /* when it saves more time than compilation takes */
	ATLED_MACHINE_ALWAYS = 2      /* at the first call, for tests */
} atled_machine_mode;
/* Sets the mode; default: ATLED_MACHINE_WHEN_WORTH. In an engine without
 * machine code, modes other than ATLED_MACHINE_NEVER are ATLED_MISUSE. See
 * atled_engine_config for the environment. */
ATLED_API atled_status atled_machine(atled_context *ctx, atled_machine_mode mode);

/* Starts profiling: every compiled unit is timed, at the cost of two clock
 * reads per call. */
ATLED_API atled_status atled_profile(atled_context *ctx);
/* function: the function of the code, "" for a statement. place: its source
 * lines, "file:3-5, 9", or "". */
typedef void (*atled_profile_visit)(void *ud, const char *function, const char *place,
                                    uint64_t calls, double seconds);
/* Visits the timings in no particular order. The visitor must not call into the
 * context. */
ATLED_API atled_status atled_profile_read(atled_context *ctx, atled_profile_visit visit, void *ud);

/* For developers: writes the code of every unit compiled from now on in the
 * form `stage`, which must be "kir". sink NULL: stop. */
ATLED_API atled_status atled_dump(atled_context *ctx, const char *stage, atled_sink sink, void *ud);

/* For tests of hosts: the n-th allocation from now fails, and with `forever`
 * all later ones. n = 0: no failures. */
ATLED_API void atled_fail_allocation(atled_context *ctx, uint64_t n, int forever);

#ifdef __cplusplus
}
#endif

#endif
