/* value.h - the run-time value of a variable.
 *
 * Needs: tensor.h, code_owner.h.
 *
 * Contract:
 * - A Value is 24 bytes and passed by value.
 * - Rank-0 tensors are unboxed (V_SCALAR). Everything else is reference-counted
 *   and immutable.
 * - Call value_ref before storing a second copy, value_unref to release one.
 */
#ifndef ATLED_LANG_BASE_VALUE_H
#define ATLED_LANG_BASE_VALUE_H

#include "lang/base/code_owner.h"
#include "lang/base/tensor.h"
#include <complex.h>

typedef enum ValueKind {
	V_UNSET = 0, /* no value: an empty slot, never visible to programs */
	V_NONE,
	V_SCALAR,
	V_TENSOR,
	V_STRING,
	V_RANGE,
	V_TUPLE,
	V_LIST,
	V_RECORD,
	/* Code and captured values; only the module that created it interprets the
	 * code. */
	V_FUNCTION,
	V_PROBLEM, /* a problem block with its parameters; same representation */
	V_HOST,    /* a pointer of the host, which programs only pass on */
	V_TOKEN
} ValueKind;

typedef struct Object Object;

typedef struct Value {
	uint8_t kind;  /* ValueKind */
	uint8_t dtype; /* V_SCALAR */
	/* V_SCALAR, V_TENSOR: computed from literals alone. Only the parser uses
	 * it; its names keep it. */
	bool weak;
	union {
		bool b;
		int32_t i32;
		int64_t i;
		float f32;
		double f;
		float _Complex c64;
		double _Complex c;
		Tensor *tensor;
		Object *object;
	};
} Value;

struct Object {
	atomic_int refs;
	uint8_t kind; /* ValueKind */
	uint32_t n;   /* number of items */
	Ctx *ctx;     /* the context whose heap owns it */
	size_t bytes;
};

typedef struct StringObject {
	Object head; /* n: bytes, without the terminating NUL */
	char text[];
} StringObject;

typedef struct RangeObject {
	Object head;
	int64_t start, stop, step; /* half open; step != 0 */
} RangeObject;

typedef struct SeqObject { /* V_TUPLE, V_LIST */
	Object head;
	Value items[];
} SeqObject;

typedef struct RecordObject {
	Object head;
	struct {
		Atom name;
		Value value;
	} fields[];
} RecordObject;

/* The code_kind of functions in finished IR, which are written as its text
 * form. Their code points to a structure that begins like this one. Each module
 * defines the other kinds. */
#define CODE_KIND_IR 4
struct Fn;
typedef struct IrCode {
	struct Fn *fn;
	CodeOwner *owner; /* counts the values */
	uint32_t newest;  /* the last node of syntax when it was made */
} IrCode;
/* Of functions whose code is a node of syntax; its number is the code_id. */
#define CODE_KIND_AST 1

/* V_FUNCTION and V_PROBLEM. The creator owns `code` (an AST node, a builtin's
 * descriptor, a host function), which lives as long as the value. `code_id`
 * is equal for equal code, throughout the session. */
typedef struct FunctionObject {
	Object head; /* n: number of captured values */
	uint32_t code_kind;
	uint32_t code_id;
	const void *code;
	Atom name;
	CodeOwner *owner; /* counts it; may be NULL */
	struct {
		Atom name;
		Value value;
	} captured[];
} FunctionObject;

/* V_HOST. finalise may be NULL. It is called once, with the last reference, on
 * the thread that drops it. */
typedef struct HostObject {
	Object head;
	void *pointer;
	Atom type; /* its name, which the host chose */
	void (*finalise)(void *pointer);
} HostObject;

static inline Value value_none(void) { return (Value){.kind = V_NONE}; }
static inline Value value_f64(double x) {
	return (Value){.kind = V_SCALAR, .dtype = DT_F64, .f = x};
}
static inline Value value_i64(int64_t x) {
	return (Value){.kind = V_SCALAR, .dtype = DT_I64, .i = x};
}
static inline Value value_bool(bool x) {
	return (Value){.kind = V_SCALAR, .dtype = DT_BOOL, .b = x};
}
static inline Value value_c128(double _Complex x) {
	return (Value){.kind = V_SCALAR, .dtype = DT_C128, .c = x};
}
/* takes the reference */
static inline Value value_tensor(Tensor *t) { return (Value){.kind = V_TENSOR, .tensor = t}; }

Value value_ref(Value v);
void value_unref(Value v);

/* Constructors return V_UNSET when memory fails. Items are borrowed (each gets
 * a reference). */
Value value_string(Ctx *c, const char *text, size_t n);
Value value_range(Ctx *c, int64_t start, int64_t stop, int64_t step);
Value value_seq(Ctx *c, ValueKind kind, uint32_t n, const Value *items);
Value value_record(Ctx *c, uint32_t n, const Atom *names, const Value *items);
Value value_function(Ctx *c, ValueKind kind, uint32_t code_kind, uint32_t code_id, const void *code,
                     Atom name, uint32_t n, const Atom *names, const Value *items);

/* A list or tuple with one more item, or with another one, and a string with
 * more bytes, which lie elsewhere. They take the reference of the first
 * argument, which becomes V_UNSET. In amortised constant time when that was the
 * only one. On failure they return V_UNSET and change nothing. */
Value value_seq_with(Value *seq, Value item);
Value value_seq_replaced(Value *seq, uint32_t i, Value item);
Value value_string_with(Value *string, const char *more, size_t bytes);

/* Without a finaliser, which the caller sets when nothing can fail any more. */
Value value_host(Ctx *c, Atom type, void *pointer);

/* A list of values whose number is not yet known; initialise with {.c = ctx}.
 */
typedef struct ValueList {
	Ctx *c;
	Value *at;
	uint32_t n, cap;
	bool failed; /* memory failed, or V_UNSET was added */
} ValueList;
void value_list_add(ValueList *l, Value v); /* takes the reference, also on failure */
/* Returns the values as a V_LIST, or V_UNSET when the list failed; releases the
 * values. */
Value value_list_end(ValueList *l);
void value_list_drop(ValueList *l);

/* These accept scalars and tensors alike. */
static inline bool value_is_array(Value v) { return v.kind == V_SCALAR || v.kind == V_TENSOR; }
Dtype value_dtype(Value v);
uint32_t value_rank(Value v);
/* A tensor of either kind (rank 0 for a scalar); NULL when memory fails. Owned.
 */
Tensor *value_to_tensor(Ctx *c, Value v);
/* The unboxed scalar when the rank is 0, the tensor otherwise. Takes the
 * reference. */
Value value_from_tensor(Tensor *t);
/* Scalar conversions; return false when the value is not a scalar that converts
 * exactly (as_f64 accepts any real number). */
bool value_as_f64(Value v, double *out);
bool value_as_i64(Value v, int64_t *out);
bool value_as_bool(Value v, bool *out);
/* A pointer to the scalar's bytes, for kernels. */
static inline const void *value_scalar_bytes(const Value *v) { return &v->b; }
Value value_scalar_from_bytes(Dtype d, const void *bytes);

/* The record's field, or V_UNSET; borrowed. */
Value value_field(Value record, Atom name);

/* A growable string on the heap. After a failure, further additions are
 * ignored. */
typedef struct Text {
	Ctx *ctx;
	char *at;
	size_t n, cap;
	bool failed;
} Text;
/* *bad: the first byte that is not UTF-8; unchanged when all are. */
bool utf8_valid(const char *text, size_t n, size_t *bad);

void text_init(Text *t, Ctx *c);
void text_free(Text *t);
void text_add(Text *t, const char *s, size_t n);
void text_str(Text *t, const char *s);
void text_format(Text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Decimal digits; faster than "%u", for keys, which are numerous. */
void text_number(Text *t, uint64_t v);
/* Prints a value as print does: {spec} as in "{x:.3e}" ("" for the default).
 * `edge` limits the elements shown at each end of an axis around "..." (0:
 * all). */
void value_print(Text *out, Value v, const char *spec, int edge);
/* Whether spec is valid; an invalid one prints the default form. */
bool value_spec_valid(const char *spec);
/* One line for large tensors: "f64[64, 64]  32 KB  min -1.2  max 3.4". */
void value_header(Text *out, Value v);
/* "f64[3]", "record (W: f64[20, 2], b: f64[20])", "string" ... */
void value_type_print(Text *out, Value v);
/* Same type, shape and bits (NaN equals itself); records are compared field by
 * field. */
bool value_identical(Value a, Value b);

#endif
