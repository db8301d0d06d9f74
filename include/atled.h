/* atled.h - the public interface of Atled, a differentiable language for
 * scientific computing.
 *
 * Needs: C11 or C++11. Link with -latled (pkg-config atled). Everything the
 * program `atled` does, it does through this header.
 *
 * Objects.
 *   engine    the allocator and the threads that contexts share. Any thread may use it at any time.
 *   context   variables, limits, diagnostics. One thread at a time; it may move between threads. A call into a context
 * that is busy is refused with ATLED_BUSY, except for those that are marked (in
 * callbacks), which a callback may use.
 *   function, tensor, value   immutable handles. Every handle that a call gives belongs to the caller, who frees it, on
 * any thread, before or after the context that made it is gone. What a handle
 * still answers after that is said with each.
 *
 * Results. Calls return a status; what they give comes through pointers, which
 * are set to NULL (or 0) when the call fails. Texts are UTF-8. A text given
 * with length ATLED_ZERO ends with a zero byte. A call that fails changes no
 * variable, and the context can be used as before. Pointers to texts and
 * structs that belong to a context are good until the next call into it.
 *
 * The library never exits, aborts, prints, or installs a signal handler, and
 * leaves locale and floating-point environment as it found them. Structs begin
 * with their size, which the host sets to sizeof and the library fills up to;
 * they grow at the end. Enumerations are never renumbered.
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

/* ATLED_VERSION of the library that runs, which may be newer than this header.
 */
ATLED_API int atled_version(void);

typedef enum atled_status {
	ATLED_OK = 0,
	ATLED_ERROR = 1,       /* the program is wrong or failed: see atled_last_error */
	ATLED_NOMEM = 2,       /* memory failed, or the limit on it was reached */
	ATLED_INTERRUPTED = 3, /* atled_interrupt */
	ATLED_LIMIT = 4,       /* steps, time or depth are used up */
	ATLED_DENIED = 5,      /* the program asked for something that was not granted */
	ATLED_INTERNAL = 6,    /* a fault in Atled */
	ATLED_MISUSE =
		/* the call itself is wrong: a NULL, a foreign handle, a number out
		 * of range. atled_last_error says what */
	7,
	ATLED_BUSY = 8, /* the context is in use; nothing was done, nothing recorded */
	ATLED_EXIT = 9  /* the program ended itself by exit(code): see atled_exit_code */
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

/* Receives text in pieces, not zero-terminated. It must not call into the
 * context that writes. */
typedef void (*atled_sink)(void *ud, const char *text, size_t n);

/* ==== engine and context ================================================== */

typedef struct atled_engine_config {
	size_t size;
	/* resize(ud, p, old, new): new == 0 frees; p == NULL allocates; NULL means
	 * failure, which leaves p alone. Blocks are aligned for any scalar type.
	 * Called from any thread. NULL: malloc and free. */
	void *(*resize)(void *ud, void *p, size_t old_bytes, size_t new_bytes);
	void *ud;
	/* for large operations; 0: as many as there are processors. Results do
	 * not depend on it. */
	int threads;
} atled_engine_config;

/* config NULL: all zero. NULL when memory fails. */
ATLED_API atled_engine *atled_engine_new(const atled_engine_config *config);
/* The engine goes when the last context in it does. NULL is allowed. */
ATLED_API void atled_engine_free(atled_engine *engine);

/* engine NULL: one of its own. A new context has no limits and is granted
 * nothing. NULL when memory fails. */
ATLED_API atled_context *atled_context_new(atled_engine *engine);
/* Not while it is in use. NULL is allowed. */
ATLED_API void atled_context_free(atled_context *ctx);

typedef enum atled_grants {
	ATLED_GRANT_FILES = 1, /* reading and writing files, `use "file.dsl"` */
	ATLED_GRANT_CLOCK = 2,
	ATLED_GRANT_OUTPUT = 4,      /* print, which goes to the sink of atled_output */
	ATLED_GRANT_ENVIRONMENT = 8, /* env, which reads variables of the environment */
	ATLED_GRANT_ALL = 15
} atled_grants;

/* What programs may do. The first call says it; later ones can only take away.
 */
ATLED_API atled_status atled_grant(atled_context *ctx, unsigned grants);
/* What is granted now. In callbacks. */
ATLED_API unsigned atled_granted(const atled_context *ctx);
/* The code of exit(code), 0 to 255, after a call that gave ATLED_EXIT. In
 * callbacks. */
ATLED_API int atled_exit_code(const atled_context *ctx);

typedef struct atled_limit {
	size_t size;
	size_t memory;  /* bytes the context holds at any time; 0: none. Reached: ATLED_NOMEM */
	uint64_t steps; /* work of one call, the same on every machine; 0: none. Reached: ATLED_LIMIT */
	double seconds; /* wall time of one call; 0: none. Reached: ATLED_LIMIT */
	uint32_t depth; /* calls inside calls; 0: 2000. Reached: ATLED_LIMIT or ATLED_ERROR */
} atled_limit;

/* Sets limits. A limit that is there can only become narrower: 0 and larger
 * numbers leave it. */
ATLED_API atled_status atled_limits(atled_context *ctx, const atled_limit *limit);

/* Stops the call that runs in the context within milliseconds
 * (ATLED_INTERRUPTED), or, when none runs, the next one. May be called from any
 * thread and from a signal handler. */
ATLED_API void atled_interrupt(atled_context *ctx);
/* Takes back an interrupt that has met no call. */
ATLED_API void atled_clear_interrupt(atled_context *ctx);

/* Where print goes; NULL: nowhere. Needs ATLED_GRANT_OUTPUT as well. */
ATLED_API atled_status atled_output(atled_context *ctx, atled_sink sink, void *ud);

/* How far the call that runs has come: its outermost loop or integration that
 * knows, and those inside it that say so themselves. */
typedef struct atled_progress_state {
	size_t size;
	int64_t step, steps;   /* done, and in all; steps 0: not known; both 0: nothing is known */
	double time, from, to; /* of an integration; from == to: there is none */
	double dt;             /* its last step */
	uint32_t count;        /* what else it says, as a loss: so many values with their names */
	const char *const *names;
	const double *values;
	/* the next loop inside this one that says how far it is; NULL: none */
	const struct atled_progress_state *inside;
} atled_progress_state;
typedef void (*atled_progress_tell)(void *ud, const atled_progress_state *state);
/* tell is called about ten times a second while a call runs, on its thread; it
 * must not call into the context. NULL: not. */
ATLED_API atled_status atled_progress(atled_context *ctx, atled_progress_tell tell, void *ud);

/* ==== errors ============================================================== */

typedef struct atled_error {
	size_t size;
	atled_status status; /* of the call that failed */
	int warning;         /* not 0: only a warning */
	const char *code;    /* "E0302": stable */
	const char *title;   /* what the code stands for */
	const char *message; /* one line, without place */
	/* the name given with the text; NULL when the error has no place */
	const char *file;
	uint32_t line, column;         /* from 1, in characters; 0 without a place */
	uint32_t end_line, end_column; /* just after the last character */
	const char *label;             /* beside the caret; NULL or text, as all below */
	const char *second;            /* where the conflicting type came from ... */
	const char *second_file;       /* ... and its place */
	uint32_t second_line, second_column;
	const char *hint;  /* what to write instead */
	const char *trace; /* calls or transforms on the way, one a line */
} atled_error;

/* The first error of the last call that failed in this context, NULL when the
 * last call did not fail. In callbacks: of the call inside. */
ATLED_API const atled_error *atled_last_error(const atled_context *ctx);
/* All errors and warnings of the last call: at most 20 of each are kept. */
ATLED_API size_t atled_error_count(const atled_context *ctx);
/* Fills *out (out->size set by the caller). ATLED_MISUSE when there is no i-th.
 */
ATLED_API atled_status atled_error_at(const atled_context *ctx, size_t i, atled_error *out);
typedef enum atled_error_form {
	ATLED_ERROR_TEXT = 0,
	ATLED_ERROR_COLOUR = 1,
	ATLED_ERROR_JSON = 2
} atled_error_form;
/* Writes one of them for people (message, source line, caret, hint) or as one
 * line of JSON. */
ATLED_API atled_status atled_error_write(const atled_context *ctx, size_t i, atled_error_form form,
                                         atled_sink sink, void *ud);

/* ==== programs ============================================================ */

/* Runs a text for what it defines: functions, problems, variables. Nothing is
 * shown. `name` stands in messages (NULL: "<text>"). */
ATLED_API atled_status atled_compile(atled_context *ctx, const char *text, size_t n,
                                     const char *name);
/* Runs a text and gives the value of its last statement (kind ATLED_NONE for a
 * definition). out may be NULL. */
ATLED_API atled_status atled_eval(atled_context *ctx, const char *text, size_t n, const char *name,
                                  atled_value **out);

/* ==== functions =========================================================== */

/* A function of the program for arguments of given types, checked once, here.
 * `type` is like
 *     "(f64[n], f64[3, n], i64) -> f64[n]"
 * dtype and lengths for each argument, and for each result after the arrow ("->
 * (f64, f64[n])" for several; without an arrow any results do). A length is a
 * number, a name that stands for the same length everywhere, or a sum of
 * products of both (n + 1), whose names must have come before. type NULL: as
 * the program annotates it, f64 where it says nothing. The function must have
 * no effects: random numbers and printing are for atled_eval and
 * atled_value_call. */
ATLED_API atled_status atled_lookup(atled_context *ctx, const char *name, const char *type,
                                    atled_function **out);
/* The same for a function value; in callbacks. */
ATLED_API atled_status atled_function_of(atled_context *ctx, const atled_value *value,
                                         const char *type, atled_function **out);
/* A handle of its own for the same function. NULL when memory fails. */
ATLED_API atled_function *atled_function_copy(const atled_function *fn);
ATLED_API void atled_function_free(atled_function *fn); /* NULL is allowed */
/* Its full type, results included. Lives as long as the handle. */
ATLED_API const char *atled_function_type(const atled_function *fn);
ATLED_API uint32_t atled_function_inputs(const atled_function *fn);
ATLED_API uint32_t atled_function_outputs(const atled_function *fn);

/* Makes a derivative (or a batched form) of a function. `how` is a word and the
 * number K of an argument, 0 when not
 * said: "grad K"            (x...) -> the gradient with respect to x_K; the function gives one real number
 *     "value_and_grad K"  (x...) -> (value, gradient)
 *     "jvp K"             (x..., dx) -> (value, derivative along dx)
 *     "vjp K"             (x..., w) -> (value, the cotangent of x_K for the cotangent w of the value)
 *     "hvp K"             (x..., v) -> Hessian times v
 *     "jacobian K"        (x...) -> array of the result's shape followed by that of x_K
 *     "hessian K"         (x...) -> array of x_K's shape twice
 *     "map"               every argument and result gains a leading axis of one length
 * The result is a function like any other, of which derivatives can be made
 * again. */
ATLED_API atled_status atled_derive(atled_context *ctx, const atled_function *fn, const char *how,
                                    atled_function **out);

/* Calls a function. in: its nin arguments, borrowed. out: nout places; a place
 * that is NULL receives a new tensor; a place that holds a tensor (contiguous
 * or not, and of the right type) is written in place, and may overlap the
 * arguments. A tensor to be written is one that atled_tensor_wrap made with
 * ATLED_WRITABLE, or one of atled_tensor_new that has no other owner. When the
 * call fails, places that were NULL are NULL again and the others hold what
 * they held or unfinished results. */
ATLED_API atled_status atled_call(atled_context *ctx, const atled_function *fn, uint32_t nin,
                                  atled_tensor *const *in, uint32_t nout, atled_tensor **out);

/* A plain function pointer for inner loops: nothing is looked up, boxed or
 * allocated for the arguments. lengths[s]: the value of the s-th name in the
 * function's type, in order of appearance. in[k], out[k]: elements of the k-th
 * argument or result, row by row without gaps. Results may overlap arguments;
 * those that do not are computed in their place. When a call fails, out holds
 * what it held or unfinished results. Keep the handle for as long as the
 * pointer is used, and call it where the context may be entered. */
typedef atled_status (*atled_raw)(void *ud, const int64_t *lengths, const void *const *in,
                                  void *const *out);
ATLED_API atled_status atled_entry(atled_context *ctx, const atled_function *fn, atled_raw *raw,
                                   void **ud);

/* Writes the program of a function in its intermediate form, the functions it
 * calls first. stage: "typed" or NULL. */
ATLED_API atled_status atled_ir(atled_context *ctx, const atled_function *fn, const char *stage,
                                atled_sink sink, void *ud);

/* Writes a function in the binary form, with what it calls: what a host keeps
 * in a file or in its own program, to use it without the program's text. The
 * bytes are the same on every machine, and what `save` writes into a file that
 * ends in .air. */
ATLED_API atled_status atled_store(atled_context *ctx, const atled_function *fn, atled_sink sink,
                                   void *ud);
/* Reads it back, for arguments of the given types (atled_lookup); type NULL:
 * those that it was written for. Nothing in the bytes is believed: what is
 * malformed is an error that names the byte. `name` begins messages; the bytes
 * are not needed afterwards. */
ATLED_API atled_status atled_load(atled_context *ctx, const char *name, const void *bytes, size_t n,
                                  const char *type, atled_function **out);

/* ==== tensors ============================================================= */

/* How elements lie in memory. */
typedef struct atled_array {
	size_t size;
	atled_dtype dtype;
	uint32_t rank;
	const int64_t *shape;   /* rank lengths */
	const int64_t *strides; /* rank steps, in elements */
	void *data;             /* the first element */
	int64_t count;          /* product of the lengths */
	int writable;           /* not 0: the elements may be changed */
} atled_array;

/* A tensor of zeros, which the caller may fill through atled_tensor_view until
 * it is first given to a call. In callbacks. */
ATLED_API atled_status atled_tensor_new(atled_context *ctx, atled_dtype dtype, uint32_t rank,
                                        const int64_t *shape, atled_tensor **out);
typedef enum atled_wrap_mode { ATLED_READ_ONLY = 0, ATLED_WRITABLE = 1 } atled_wrap_mode;
/* A tensor over memory of the host, which is not copied. strides NULL: row by
 * row. The library reads the memory only, except as a result's place with
 * ATLED_WRITABLE. release (may be NULL) is called once when nothing uses it any
 * more, on whatever thread that is; not when the call fails. In callbacks. */
ATLED_API atled_status atled_tensor_wrap(atled_context *ctx, atled_dtype dtype, uint32_t rank,
                                         const int64_t *shape, const int64_t *strides, void *data,
                                         atled_wrap_mode mode,
                                         void (*release)(void *ud, void *data), void *ud,
                                         atled_tensor **out);
/* Another owner of the same tensor. */
ATLED_API atled_tensor *atled_tensor_copy(const atled_tensor *t);
/* Where and how the elements lie (view->size set by the caller). Pointers live
 * as long as the handle. Any thread, any time. */
ATLED_API atled_status atled_tensor_view(const atled_tensor *t, atled_array *view);
ATLED_API void atled_tensor_free(atled_tensor *t); /* NULL is allowed */

/* dlpack.h, when used, is included before this header */
#if !defined(DLPACK_DLPACK_H_) && !defined(ATLED_DLPACK)
#define ATLED_DLPACK
/* DLPack, the common layout of array libraries. */
typedef struct DLDevice {
	int32_t device_type; /* 1: memory of the processor */
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
	int64_t *strides; /* in elements; NULL: row by row */
	uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensor {
	DLTensor dl_tensor;
	void *manager_ctx;
	void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;
#endif

/* Exchange without copies. What is exported keeps the tensor alive until its
 * deleter is called, which may be on any thread; it must not be written. */
ATLED_API atled_status atled_tensor_to_dlpack(atled_context *ctx, const atled_tensor *t,
                                              struct DLManagedTensor **out);
/* Takes dl over when it succeeds: the deleter is called when nothing uses the
 * memory any more. Memory of the processor, and the dtypes above. The memory is
 * only read. */
ATLED_API atled_status atled_tensor_from_dlpack(atled_context *ctx, struct DLManagedTensor *dl,
                                                atled_tensor **out);

/* ==== functions of the host =============================================== */

/* A C function that programs call on arrays, and differentiate when it brings
 * the rules. Each callback gets contiguous arrays to read and contiguous arrays
 * to fill. It returns 0, or something else when it fails, having said why with
 * atled_raise if it can. An argument in another dtype than declared is
 * converted where that loses nothing. */
typedef struct atled_host {
	size_t size;
	const char *name; /* copied */
	/* as for atled_lookup, with results: "(f64[n], f64) -> f64[n]". Lengths
	 * of results come from arguments. */
	const char *type;
	void *ud;
	int (*value)(void *ud, atled_context *ctx, const atled_array *in, atled_array *out);
	/* out: tangents of the results for the tangents dx of the arguments. y: the
	 * results. dx[k].data is NULL for an argument that is no real or complex
	 * array. NULL: no forward derivative. */
	int (*jvp)(void *ud, atled_context *ctx, const atled_array *in, const atled_array *y,
	           const atled_array *dx, atled_array *out);
	/* out: cotangents of the arguments for the cotangents w of the results: <w,
	 * jvp(dx)> = <out, dx>. out[k].data is NULL for an argument whose cotangent
	 * is not wanted. NULL: no reverse derivative. */
	int (*vjp)(void *ud, atled_context *ctx, const atled_array *in, const atled_array *y,
	           const atled_array *w, atled_array *out);
	void (*free_ud)(void *ud); /* called when the context goes; may be NULL */
} atled_host;

/* Puts a host function under its name. A program can give it a rule as it can
 * to its own functions (atled_compile of "derivative name(x), dx = ..."), of
 * other host functions if need be; derivatives of any order follow from such a
 * rule, and it goes before jvp and vjp. From those come first derivatives. A
 * derivative without its rule is an error where it is asked for, with the name.
 * A text that does not parse, or a name that is none, is ATLED_MISUSE; then
 * free_ud is not called. */
ATLED_API atled_status atled_define_host(atled_context *ctx, const atled_host *host);

/* Whether derivative rules are checked: those that a program gives (`derivative
 * f(x) = ...`) and those of host functions. The first time that such a function
 * runs on arguments of a kind, its rule is compared with differences of its
 * values at a few points near the arguments, which calls it often. Holds for
 * what is compiled from then on; a context begins without. */
typedef enum atled_rule_check {
	ATLED_RULES_TRUSTED = 0,
	ATLED_RULES_WARN = 1, /* a rule that is wrong is a warning, E0405 */
	ATLED_RULES_FAIL = 2  /* and here an error */
} atled_rule_check;
ATLED_API atled_status atled_check_rules(atled_context *ctx, atled_rule_check mode);

/* A C function on values of any kind, called when the program runs; it has no
 * derivative. args are borrowed. *result is taken over; NULL stands for none.
 */
typedef atled_status (*atled_native)(void *ud, atled_context *ctx, uint32_t nargs,
                                     const atled_value *const *args, atled_value **result);
ATLED_API atled_status atled_define_native(atled_context *ctx, const char *name, atled_native fn,
                                           void *ud);

/* For callbacks: the reason of the failure that they are about to return. In
 * callbacks. */
ATLED_API void atled_raise(atled_context *ctx, const char *message);
/* For callbacks: writes where print goes; nothing without ATLED_GRANT_OUTPUT.
 * In callbacks. */
ATLED_API void atled_write(atled_context *ctx, const char *text, size_t n);

/* ==== values of any kind ================================================== */

typedef enum atled_kind {
	ATLED_NONE = 0,
	ATLED_ARRAY = 1, /* numbers and arrays of numbers */
	ATLED_STRING = 2,
	ATLED_RANGE = 3,
	ATLED_TUPLE = 4,
	ATLED_LIST = 5,
	ATLED_RECORD = 6,
	ATLED_FUNCTION = 7,
	ATLED_PROBLEM = 8
} atled_kind;

/* Questions about values may be asked in callbacks and on any thread while
 * nothing else uses the context. After the context is gone a value is only
 * there to be freed, and answers as none. */
ATLED_API atled_kind atled_value_kind(const atled_value *v);
ATLED_API atled_value *atled_value_copy(const atled_value *v); /* NULL when memory fails */
ATLED_API void atled_value_free(atled_value *v);               /* NULL is allowed */
/* A single number: 1 and *out, or 0 when it is not one or does not convert
 * without loss. */
ATLED_API int atled_value_f64(const atled_value *v, double *out);
ATLED_API int atled_value_i64(const atled_value *v, int64_t *out);
ATLED_API int atled_value_bool(const atled_value *v, int *out);
/* The bytes of a string (also zero-terminated), NULL when it is none; they live
 * as long as the handle. n may be NULL.
 */
ATLED_API const char *atled_value_string(const atled_value *v, size_t *n);
ATLED_API int atled_value_range(const atled_value *v, int64_t *start, int64_t *stop, int64_t *step);
/* An array as a tensor with an owner of its own. NULL when it is no array or
 * memory fails. */
ATLED_API atled_tensor *atled_value_tensor(const atled_value *v);
/* Items of a tuple, list or record; each item is a handle of its own. */
ATLED_API size_t atled_value_count(const atled_value *v);
ATLED_API atled_value *atled_value_item(const atled_value *v, size_t i);
ATLED_API atled_value *atled_value_field(const atled_value *v, const char *name);
ATLED_API const char *atled_value_field_name(const atled_value *v, size_t i);
/* Writes a value as print does. spec: as in "{x:.3e}", NULL for the usual form.
 * edge: how many elements of each end of an axis are shown around "..."; 0:
 * all. */
ATLED_API atled_status atled_value_write(const atled_value *v, const char *spec, int edge,
                                         atled_sink sink, void *ud);
/* "f64[64, 64]", "record (W: f64[20, 2], b: f64[20])"; with summary, for arrays
 * also size and range. */
ATLED_API atled_status atled_value_describe(const atled_value *v, int summary, atled_sink sink,
                                            void *ud);

/* Making values; NULL when memory fails or an argument is wrong. Items are
 * borrowed. All in callbacks. */
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

/* A variable's or function's value, the library's included; *out NULL and
 * ATLED_ERROR when there is none. */
ATLED_API atled_status atled_get(atled_context *ctx, const char *name, atled_value **out);
ATLED_API atled_status atled_set(atled_context *ctx, const char *name, const atled_value *v);
/* Calls a function value. In callbacks of atled_define_native. out may be NULL.
 */
ATLED_API atled_status atled_value_call(atled_context *ctx, const atled_value *fn, size_t n,
                                        const atled_value *const *args, atled_value **out);

/* ==== for tools: what the program `atled` is made of ====================== */

/* Receives the result of a top-level expression. v is borrowed; line: where the
 * statement ends. */
typedef void (*atled_show)(void *ud, const atled_value *v, uint32_t line);
/* Runs a text statement by statement up to the first failure, showing results.
 * The statements before a failure keep their effect. */
ATLED_API atled_status atled_run(atled_context *ctx, const char *text, size_t n, const char *name,
                                 atled_show show, void *ud);
/* The statements of the last text that ran which succeeded, in order: where
 * they stand in it, as bytes, and whether they gave a result to show. After a
 * failure, those before it. */
typedef void (*atled_statement_visit)(void *ud, size_t start, size_t end, int shown);
ATLED_API atled_status atled_statements(atled_context *ctx, atled_statement_visit visit, void *ud);
/* Looks for mistakes in a text without running it: names, types and shapes as
 * far as they are known before running. */
ATLED_API atled_status atled_check(atled_context *ctx, const char *text, size_t n,
                                   const char *name);
/* Writes a text in the one layout that programs have: the same tokens, comments
 * and meaning, which is checked. A text with a syntax error is ATLED_ERROR, and
 * nothing is written. */
ATLED_API atled_status atled_format(atled_context *ctx, const char *text, size_t n,
                                    const char *name, atled_sink sink, void *ud);
/* Folder that `use "file.dsl"` starts from; NULL: the working directory. */
ATLED_API atled_status atled_folder(atled_context *ctx, const char *path);
/* Starts the random numbers anew. */
ATLED_API atled_status atled_seed(atled_context *ctx, int64_t seed);
/* Not 0 when the text ends inside a bracket, block or string. */
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
/* The tokens of a text in order, as byte ranges. */
ATLED_API void atled_tokens(const char *text, size_t n,
                            void (*visit)(void *ud, atled_token kind, size_t start, size_t end),
                            void *ud);
/* The i-th word that cannot be a name, NULL after the last. */
ATLED_API const char *atled_keyword(size_t i);

/* Names that can be used now: the user's variables (v borrowed), or those of
 * the library (v NULL). In no particular order. The visitor must not call into
 * the context, but may ask about v. */
typedef void (*atled_name_visit)(void *ud, const char *name, const atled_value *v);
ATLED_API atled_status atled_variables(atled_context *ctx, atled_name_visit visit, void *ud);
ATLED_API atled_status atled_library_names(atled_context *ctx, atled_name_visit visit, void *ud);
/* The modules of the library, which `use` takes; the names of a module that is
 * used, under the name it has here. v is NULL. */
ATLED_API atled_status atled_modules(atled_context *ctx, atled_name_visit visit, void *ud);
ATLED_API atled_status atled_module_names(atled_context *ctx, const char *module,
                                          atled_name_visit visit, void *ud);
/* How a function is called, "f(x, n = 3)"; of data the type. ATLED_ERROR when
 * there is no such name. */
ATLED_API atled_status atled_signature(atled_context *ctx, const char *name, atled_sink sink,
                                       void *ud);
/* Help on a name: signature, description and derivative rules; with source, the
 * text of its definition. ATLED_ERROR when there is no such name. */
ATLED_API atled_status atled_help(atled_context *ctx, const char *name, int source, atled_sink sink,
                                  void *ud);
/* What an expression would give (type and scalar operations), without running
 * it. */
ATLED_API atled_status atled_type(atled_context *ctx, const char *expression, size_t n,
                                  atled_sink sink, void *ud);
/* The i-th kind of error: its code and title; 0 after the last. */
ATLED_API int atled_error_kind(size_t i, const char **code, const char **title);

typedef struct atled_stat {
	size_t size;
	uint64_t steps;           /* counted against the step limit, since the context was made */
	uint64_t instructions;    /* executed since the context was made */
	double scalar_operations; /* the same in operations on single numbers */
	uint64_t calls;           /* functions called */
	size_t memory, memory_peak;
	uint64_t allocations;
	uint64_t native_calls;   /* of pieces of machine code */
	uint64_t native_units;   /* pieces of machine code that the context has got: */
	uint64_t units_compiled; /*   compiled for it */
	uint64_t units_found;    /*   found compiled, in memory or on disk */
	/* programs have run, without the front end that checks and specialises
	 * them */
	double run_seconds;
	double compile_seconds; /* of those, waiting for machine code */
	/* pieces that are being compiled in the background; closing the context
	 * waits for the one under way */
	uint64_t units_pending;
} atled_stat;
ATLED_API atled_status atled_stats(atled_context *ctx, atled_stat *out);

/* When functions become machine code. */
typedef enum atled_machine_mode {
	ATLED_MACHINE_NEVER = 0,
	ATLED_MACHINE_WHEN_WORTH = 1, /* where it saves more time than compiling takes */
	ATLED_MACHINE_ALWAYS = 2      /* at the first call: for tests */
} atled_machine_mode;
/* A context begins as the environment's ATLED_NATIVE (off, on, always) says,
 * with `when worth` where it says nothing. */
ATLED_API atled_status atled_machine(atled_context *ctx, atled_machine_mode mode);

/* From now on every piece of machine code is timed, at the cost of two looks at
 * the clock for each call. */
ATLED_API atled_status atled_profile(atled_context *ctx);
/* function: whose code it is, "" for a statement's. place: the lines it came
 * from, "file:3-5, 9", or "". */
typedef void (*atled_profile_visit)(void *ud, const char *function, const char *place,
                                    uint64_t calls, double seconds);
/* What was timed, in no particular order. The visitor must not call into the
 * context. */
ATLED_API atled_status atled_profile_read(atled_context *ctx, atled_profile_visit visit, void *ud);

/* For developers: from now on, what is compiled is written in the form `stage`,
 * which is "kir". sink NULL: no more. */
ATLED_API atled_status atled_dump(atled_context *ctx, const char *stage, atled_sink sink, void *ud);

/* A seam for tests of hosts: the n-th allocation from now fails, and with
 * `forever` all after it. 0 switches it off. */
ATLED_API void atled_fail_allocation(atled_context *ctx, uint64_t n, int forever);

#ifdef __cplusplus
}
#endif

#endif
