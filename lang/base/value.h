/* value.h - what a variable holds at run time.
 *
 * Needs: tensor.h. Guarantees: a Value is 24 bytes, passed by value; rank-0
 * tensors are unboxed (V_SCALAR); everything else is reference-counted and
 * immutable. value_ref before keeping a second copy, value_unref when done with
 * one.
 */
#ifndef ATLED_LANG_BASE_VALUE_H
#define ATLED_LANG_BASE_VALUE_H

#include "lang/base/tensor.h"
#include <complex.h>

typedef enum ValueKind {
	V_UNSET = 0, /* no value: an empty slot, never seen by programs */
	V_NONE,
	V_SCALAR,
	V_TENSOR,
	V_STRING,
	V_RANGE,
	V_TUPLE,
	V_LIST,
	V_RECORD,
	V_FUNCTION, /* code + captured values; what the code is only the room that made it knows */
	V_PROBLEM,  /* a problem block with its parameters, same representation */
	V_TOKEN
} ValueKind;

typedef struct Object Object;

typedef struct Value {
	uint8_t kind;  /* ValueKind */
	uint8_t dtype; /* V_SCALAR */
	/* V_SCALAR, V_TENSOR: made of numbers of the text alone; of no meaning
	 * but to the parser, whose names keep it */
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
	uint32_t n;   /* items */
	Ctx *ctx;     /* whose heap it came from */
	size_t bytes;
};

typedef struct StringObject {
	Object head; /* n: bytes, without the final NUL */
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

/* The code_kind of functions that are a finished piece of IR: their code points
 * to a structure that begins with the Fn, and they are written as its text.
 * Other kinds mean what the room says that made them. */
#define CODE_KIND_IR 4

/* V_FUNCTION and V_PROBLEM. `code` belongs to the maker (an AST node, a
 * builtin's descriptor, a host function) and lives as long as the context;
 * `code_id` tells equal code from unequal across the session. */
typedef struct FunctionObject {
	Object head; /* n: captured values */
	uint32_t code_kind;
	uint32_t code_id;
	const void *code;
	Atom name;
	struct {
		Atom name;
		Value value;
	} captured[];
} FunctionObject;

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

/* Values that are gathered before it is known how many there are; begin with
 * {.c = ctx}. */
typedef struct ValueList {
	Ctx *c;
	Value *at;
	uint32_t n, cap;
	bool failed; /* memory failed, or V_UNSET was added */
} ValueList;
void value_list_add(ValueList *l, Value v); /* takes the reference, also when it fails */
/* the V_LIST of them, V_UNSET when it failed; the values are given back */
Value value_list_end(ValueList *l);
void value_list_drop(ValueList *l);

/* Scalars and tensors alike: */
static inline bool value_is_array(Value v) { return v.kind == V_SCALAR || v.kind == V_TENSOR; }
Dtype value_dtype(Value v);
uint32_t value_rank(Value v);
/* A tensor for either (rank 0 for a scalar); NULL when memory fails. Owned. */
Tensor *value_to_tensor(Ctx *c, Value v);
/* The unboxed scalar when rank is 0, the tensor otherwise. Takes the reference.
 */
Value value_from_tensor(Tensor *t);
/* Scalar conversions; false when the value is not a scalar that converts
 * exactly (as_f64 accepts any real number). */
bool value_as_f64(Value v, double *out);
bool value_as_i64(Value v, int64_t *out);
bool value_as_bool(Value v, bool *out);
/* Pointer to the scalar's bytes, for kernels. */
static inline const void *value_scalar_bytes(const Value *v) { return &v->b; }
Value value_scalar_from_bytes(Dtype d, const void *bytes);

/* Record field or V_UNSET; borrowed. */
Value value_field(Value record, Atom name);

/* Growable text on the heap. Once it has failed, what is added is dropped. */
typedef struct Text {
	Ctx *ctx;
	char *at;
	size_t n, cap;
	bool failed;
} Text;
void text_init(Text *t, Ctx *c);
void text_free(Text *t);
void text_add(Text *t, const char *s, size_t n);
void text_str(Text *t, const char *s);
void text_format(Text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* in decimal digits; for keys, of which millions are made, "%u" takes too
 * long */
void text_number(Text *t, uint64_t v);
/* Writes a value the way print does: {spec} as in "{x:.3e}" ("" for default).
 * `edge` caps how many elements of each axis are shown before "..." (0: all).
 */
void value_print(Text *out, Value v, const char *spec, int edge);
/* Whether it is such a spec; one that is not prints the default form. */
bool value_spec_valid(const char *spec);
/* One line: "f64[64, 64]  32 KB  min -1.2  max 3.4" for large tensors. */
void value_header(Text *out, Value v);
/* "f64[3]", "record (W: f64[20, 2], b: f64[20])", "string" ... */
void value_type_print(Text *out, Value v);
/* Same type, shape and bits (NaN equals itself); records compare field by
 * field. */
bool value_identical(Value a, Value b);

#endif
