/* nan_trace.h - interface of the files that follow a NaN or infinity.
 *
 * Covers origins, the state of one observed run, elements, steps, and wording.
 * nan_trace.c describes the method.
 *
 * Contract: private to backend/eval/nan_trace*.c.
 */
#ifndef ATLED_BACKEND_EVAL_NAN_TRACE_H
#define ATLED_BACKEND_EVAL_NAN_TRACE_H

#include "backend/eval/core/frame.h"
#include "lang/ir/host.h"

typedef enum OriginKind { FROM_OPERATION, FROM_ARGUMENT, FROM_CONSTANT } OriginKind;

typedef struct NanOrigin {
	uint8_t kind;
	bool infinite, shown; /* an infinity; operands are scalars to be shown */
	uint16_t op;
	SpanId span;
	ChainId chain;
	uint32_t rank, noperands, niterations, parameter;
	int64_t index[MAX_RANK], iterations[MAX_RANK]; /* of the surrounding loops, outermost first */
	Value operands[3];                             /* scalars, for element-wise operations */
	Atom names[3];
	bool has_primal; /* derivative code: the operand of the differentiated operation */
	Value primal;
	Op primal_op;
	Atom primal_name;
	uint32_t infinity; /* origin of an infinity among the operands, or 0 */
	Atom inside;       /* the library function that the user called, or 0 */
	Atom host;
	Text note;  /* about array operands */
	Text trace; /* surrounding loops and calls, one a line */
} NanOrigin;

/* The steps around the current one. */
typedef struct EnclosingStep {
	struct EnclosingStep *outer;
	const Frame *f;
	const Step *s;
	int64_t iteration;
} EnclosingStep;

typedef struct SlotOrigin { /* the origin of the infinity in a slot */
	const Value *slot;
	const Code *code;
	uint32_t origin;
} SlotOrigin;

typedef struct Primal { /* the operand of an operation of the program itself, by source span */
	SpanId span;
	Op op;
	Value operand;
	Atom name;
	struct Primal *next;
} Primal;

enum { BUCKETS = 256 };

typedef struct Watch {
	Observer observer;
	Ctx *c;
	NanOrigin *origins; /* [0] is unused */
	uint32_t norigins, cap, last_infinity;
	EnclosingStep *around;
	const Frame *root;
	const Value *root_slots; /* identify places after the frame has ended */
	SlotOrigin *places;
	uint32_t nplaces, room; /* a power of two */
	Primal *primals[BUCKETS];
	const HostCall *call;
	Fn *fn;
	uint32_t *of_parameter; /* origin of the infinity in it */
	bool reverse;           /* a transposed operation was met */
} Watch;

/* ---- elements: nan_trace_origins.c --------------------------------------- */

typedef struct ArrayView {
	Dtype dtype;
	uint32_t rank;
	int64_t count;
	const int64_t *shape, *stride;
	char *data;
	bool contiguous;
} ArrayView;

enum { FINITE = 0, INFINITE = 1, IS_NAN = 2 };

/* False for values without floats. */
bool view_elements(const Value *v, ArrayView *e);
/* The index of an element from its position, in row-major order. */
void view_index(const ArrayView *e, int64_t at, int64_t *index);
char *view_element_at(const ArrayView *e, const int64_t *index);
char *view_element(const ArrayView *e, int64_t at); /* by position */
/* The class of an element. *origin: the id in a NaN's payload, or 0. */
int element_class(const Watch *w, Dtype d, const char *p, uint32_t *origin);
/* Writes an id into the payloads of an element's NaNs. */
void tag_element(Dtype d, char *p, uint32_t origin);
/* The position of the first element of a class, or -1. With untagged, NaNs that
 * have an origin do not count. */
int64_t first_of_class(const Watch *w, const ArrayView *e, int which, bool untagged);

/* ---- origins: nan_trace_origins.c ---------------------------------------- */

/* A new origin with its place and the loops and calls around it. s: the step
 * that made it, or NULL. Returns 0 when there are too many, or when memory
 * fails. */
uint32_t origin_new(Watch *w, OriginKind kind, bool infinite, const Step *s);
/* The place of the slot among those that hold an infinity. Needs w->room. */
SlotOrigin *infinity_place(Watch *w, const Code *code, const Value *slot);
/* Records the origin of the infinity in a slot; 0: the slot has none. */
void set_infinity(Watch *w, const Frame *f, const Value *slot, uint32_t origin);
/* The origin of the infinity in an operand, or 0. */
uint32_t infinity_in(const Watch *w, const Frame *f, int32_t operand);

/* Is the span in the user's source, not in the library? */
bool span_of_user(const Ctx *c, SpanId span);
/* The transforms of the instruction itself, not those of inlined calls. */
const char *own_transforms(const Ctx *c, ChainId chain);
bool chain_is_backwards(const Ctx *c, ChainId chain); /* transposed */
bool chain_is_derived(const Ctx *c, ChainId chain);   /* code of a derivative */
/* A function's name without suffixes of transforms. Its length is 0 for unnamed
 * functions and private ones of the library. */
size_t plain_name(const Ctx *c, Atom name, const char **text);

/* ---- steps: nan_trace_steps.c -------------------------------------------- */

/* The functions of the observer. */
Status watch_step(Observer *o, Frame *f, const Step *s);
void watch_block(Observer *o, Frame *f, const Block *b);
/* Gives an origin to the NaNs of a value that have none: who(ud, element)
 * returns it. */
typedef uint32_t (*Whose)(void *ud, const ArrayView *e, int64_t at);
Status mark_origins(Watch *w, Value *v, Whose who, void *ud);

/* ---- wording: nan_trace_text.c ------------------------------------------- */

typedef struct Derivative {
	const char *mode; /* "", forward, reverse, Taylor */
	uint32_t order;   /* 0: not a derivative, or a Taylor expansion */
	bool rule;        /* inside a user's rule */
} Derivative;
Derivative origin_derivative(const Watch *w, const NanOrigin *o);
/* The user's name of an operation. */
const char *word_of(const NanOrigin *o, const Ctx *c);
/* The library function at the place, such as "norm" for the square root in
 * `norm(x)`; or 0. */
Atom library_call(const Watch *w, const NanOrigin *o);
/* The message, the source line, and the trace. */
void report_origin(Text *out, Watch *w, const NanOrigin *o, bool first, const char *before);

#endif
