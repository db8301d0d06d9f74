/* frame.h - internals of the evaluator: prepared programs, frames, helpers.
 *
 * Needs: code.h.
 *
 * Contract:
 * - A Step's operands and results are slots of the running frame, or constants
 *   of the code. Slots of rank-0 tensors always hold unboxed scalars.
 * - An eval function reads its operands and may take those that die
 *   (take_operand). On success it writes every result.
 * - A failed step may leave values in its slots; the runner releases them.
 * - The runner, not the eval function, releases values after their last use.
 *
 *     Fn ──prepare.c──▶ Code { Block { Step... } }  ──interpreter.c──▶ values
 *                         ops: one function per primitive, found through the
 *                         table that prims.def expands to
 */
#ifndef ATLED_BACKEND_EVAL_CORE_FRAME_H
#define ATLED_BACKEND_EVAL_CORE_FRAME_H

#include "backend/eval/core/code.h"
#include "lang/base/c_stack.h"
#include "lang/base/parallel.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

typedef struct Frame Frame;
typedef struct Step Step;
typedef struct Backend Backend;
typedef Status (*EvalFn)(Frame *f, const Step *s);

/* ---- prepared programs --------------------------------------------------- */

/* An extent: a constant, a symbol, or a polynomial that dim_eval evaluates. */
typedef struct DimRef {
	int64_t value;
	uint32_t sym; /* DIM_CONST, DIM_GENERAL or a symbol */
	Dim dim;
} DimRef;
enum { DIM_CONST = UINT32_MAX, DIM_GENERAL = UINT32_MAX - 1 };

/* An attribute of the primitive's schema: its words, and the same as extents
 * when its letter is D. */
typedef struct AttrField {
	uint32_t n;
	const int64_t *words;
	const DimRef *dims;
} AttrField;

/* Axis `axis` of value `from` defines symbol `sym`: (extent - offset) /
 * factor. */
typedef struct SymDef {
	uint32_t from; /* slot */
	uint32_t axis, sym;
	int64_t offset, factor;
} SymDef;

/* The required type of a parameter, or of a value that comes from outside. */
typedef struct TypeRef {
	uint8_t kind, dtype, rank;
	DimRef dims[MAX_RANK];
} TypeRef;

typedef struct Block {
	uint32_t nsteps, nparams, params; /* parameters are consecutive slots */
	uint32_t nresults, ndead, nsyms, nowned;
	Step *steps;
	const int32_t *results; /* operands */
	const bool *takes;      /* result k moves out of its slot */
	const bool *untouched;  /* no step of the block reads the value that becomes result k */
	const uint32_t *dead;   /* slots to release before the first step: unused here */
	const SymDef *syms;     /* defined by the parameters */
	/* All slots of this block and of the blocks inside it that may hold a
	 * reference. */
	const uint32_t *owned;
	double scalar_operations; /* of the scalar steps, for one run of the block */
} Block;

struct Step {
	EvalFn eval; /* called by the runner: `inner`, or finish_step around it */
	EvalFn inner;
	int32_t a, b, c; /* operands 0, 1, 2: >= 0 a slot, < 0 constant ~a */
	uint32_t d;      /* slot of the first result; the others follow */
	uint16_t op;
	uint8_t dtype, rank;         /* of operand 0; of the result when there is none */
	uint8_t out_dtype, out_rank; /* of result 0 */
	uint8_t nblocks;
	bool reports; /* the loop reports its progress: ctx_progress_enter */
	uint32_t nargs, nresults, nsyms, nafter;
	const int32_t *args;
	const bool *dies; /* operand k may be taken: this is its last use */
	const AttrField *fields;
	const Block *blocks;
	const SymDef *syms;    /* defined by the results */
	const uint32_t *after; /* slots to release after the step */
	const TypeRef *types;  /* of the results, for values that come from outside */
	/* call: CallSite; host: const HostCall; loop: LoopSite; unit:
	 * NativeUnit. */
	void *site;
	SpanId span;
	ChainId chain;
};

typedef struct CallSite {
	Fn *fn;
	Code *code; /* NULL until the first call */
} CallSite;

/* A loop that may continue as machine code when it turns out to be long. */
typedef struct LoopSite {
	uint32_t inst;
	bool never;
	bool heavy;            /* an iteration may take long: it contains a call, a loop or an array */
	double seen;           /* seconds it had taken when last considered */
	struct OsrLoop *osr;   /* NULL until then */
	struct LoopSite *next; /* in Code.loops */
} LoopSite;

/* The evaluator's interface to machine code; the backend installs the table.
 * native/jit/tier.h documents the functions. unit is eval_native of
 * native/run/unit_step.h. */
typedef struct NativeHooks {
	EvalFn unit;
	Code *(*choose)(Backend *be, Code *code, const Value *args);
	Code *(*ready)(const Backend *be, const Code *code, bool *never);
	bool (*pending)(const Code *code);
	bool (*loop)(Frame *f, const Step *s, int64_t from, int64_t to, double seconds, Value *held,
	             Status *st, bool *soon);
	void (*drop)(Ctx *c, Code *code);
	void (*each)(const Code *code, const RefVisitor *v); /* see FnHooks.each_code */
	void (*free_state)(Ctx *c, Backend *be);
} NativeHooks;

struct Code {
	Ctx *ctx;
	Fn *fn;
	const NativeHooks *hooks; /* the backend's */
	Arena *arena;
	uint32_t nslots, nsyms;
	const Value *consts; /* borrowed from fn */
	const TypeRef *params;
	Block body;
	LoopSite *loops;
	/* The function's tier state. NULL until the first call, and in machine code
	 * itself. */
	struct Tier *tier;
};

/* Prepares f. plan: the instructions that run as units; NULL for none. Returns
 * NULL when it fails; ctx_failure says why. */
struct NativePlan;
Code *prepare(Ctx *c, Fn *f, const struct NativePlan *plan);

/* ---- running ------------------------------------------------------------- */

struct Frame {
	Value *slots;
	const Value *consts;
	int64_t *syms;
	Backend *be;
	Ctx *ctx;
	const Code *code;
	/* By result: memory in which it may be computed, see code_call_into; or
	 * NULL. */
	Tensor *const *places;
};

/* Memory for frames: a list of chunks. Those up to `now` are in use. Slots of
 * free frames hold no references. */
typedef struct FrameChunk {
	struct FrameChunk *before, *next;
	size_t used, room, bytes;
	char *at;
} FrameChunk;
typedef struct FrameStack {
	FrameChunk *first, *now;
} FrameStack;

struct Backend {
	Ctx *ctx;
	RunCounters counters;
	uint64_t work; /* units of work since the last poll */
	uint32_t depth, traced;
	const CStack *stack; /* the context's */
	FrameStack values, syms;
	struct FftPlans *fft;
	const NativeHooks *hooks;
	struct NativeState *native; /* memory of machine code; NULL until its first call */
	struct TierState *tiers;
	const NativePolicy *policy; /* of the engine */
	/* Running calls of functions whose machine code is being compiled,
	 * including calls inside them. */
	uint32_t waiting;
	struct Profile *profile;                            /* NULL: units are not timed */
	struct Observer *observer;                          /* NULL: steps are not observed */
	void (*dump)(void *ud, const char *text, size_t n); /* NULL: kernel IR is not written */
	void *dump_ud;
	/* Identify the failure whose inlined calls have been reported. */
	uint32_t reported_diags, reported_depth;
};

/* Observes a run while be->observer points to it. The evaluator then runs
 * alone, without machine code. */
typedef struct Observer {
	/* Runs the step with s->inner. Results and operands are in their slots;
	 * nothing has been released. */
	Status (*step)(struct Observer *o, Frame *f, const Step *s);
	/* Called before the block runs. */
	void (*block)(struct Observer *o, Frame *f, const Block *b);
} Observer;

/* Makes the context's evaluator once. backend_init (backend.h) calls it. */
Status eval_init(Ctx *c, const NativeHooks *hooks);
void eval_trim(Ctx *c); /* see backend_trim */

static inline Backend *backend_of(const Ctx *c) { return ctx_slot(c, SLOT_BACKEND); }

/* Units of work between two polls. A unit is a step or an element. */
#define POLL_EVERY 1024u
Status charge_and_poll(Backend *be);
/* Arrays of at least this size do not stay in a cache. */
#define STREAM_STORES_FROM ((size_t)16 << 20)
/* The caller's memory for result 0 of step s, with a new reference. NULL if
 * there is none, if the type or shape differs, or if it overlaps an operand. */
Tensor *placed_result(Frame *f, const Step *s, Dtype d, uint32_t rank, const int64_t *shape);
static inline Status spend(Backend *be, uint64_t units) {
	be->work += units;
	return LIKELY(be->work < POLL_EVERY) ? ST_OK : charge_and_poll(be);
}
static inline void count_operations(Frame *f, double n) { f->be->counters.scalar_operations += n; }

Status run_block(Frame *f, const Block *b);
/* Moves or copies the block's results to out. */
void block_results(Frame *f, const Block *b, Value *out);
void bind_syms(Frame *f, uint32_t n, const SymDef *defs);
/* Releases all values that the block may still hold after a failure. */
void sweep_block(Frame *f, const Block *b);
/* Runs callee with args in a new frame. The arguments are moved and left
 * V_UNSET. */
Status call_code(Backend *be, Code *callee, uint32_t nargs, Value *args, Tensor *const *places,
                 Value *results, SpanId span);
/* Needs f->places. The memory that the frame's caller provides for the value in
 * slot, if that value only becomes a result; else NULL. */
Tensor *place_of(const Frame *f, uint32_t slot);

/* Records a diagnostic at the step. Always returns ST_ERROR. */
Status fail_at(Frame *f, const Step *s, DiagCode code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Moves the step's warnings to the user's source, if a call that led to the
 * step has a place there. */
void step_warned(Frame *f, const Step *s, uint32_t diags_before);
/* Adds the call `in` of callee to the trace of a reported failure. */
void report_call_failure(Backend *be, const Fn *callee, const Inst *in);
/* Adds the inlined calls that led to the step's instruction to the trace. Does
 * so once for each failure and frame. Returns st. */
Status report_failure(Frame *f, const Step *s, Status st);
/* Gives a place to a failure that was recorded without one, then does the same
 * as report_failure. */
Status step_failed(Frame *f, const Step *s, Status st);
Diag *diag_step(Frame *f, const Step *s, DiagCode code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
Status fail_internal(Frame *f, const Step *s, const char *what); /* returns ST_INTERNAL */
bool has_type(const Frame *f, Value v, const TypeRef *t);
/* Records that v does not have type t; `what` begins the message. Always
 * returns ST_ERROR. */
Status fail_type(Frame *f, Value v, const TypeRef *t, SpanId span, const char *what);

/* ---- operands, extents, results ------------------------------------------ */

static inline const Value *operand_at(const Frame *f, int32_t a) {
	return a >= 0 ? f->slots + a : f->consts + ~a;
}
static inline const Value *operand(const Frame *f, const Step *s, uint32_t k) {
	return operand_at(f, s->args[k]);
}
/* Stores a result in its slot, member by member. A Value that is built
 * elsewhere and then copied would have to be complete before the copy. Takes
 * ownership of `t`. */
static inline void put_owned(Frame *f, uint32_t slot, Tensor *t) {
	f->slots[slot].kind = V_TENSOR;
	f->slots[slot].tensor = t;
}
static inline void put_scalar(Frame *f, uint32_t slot, Dtype d, const void *bytes) {
	Value *v = &f->slots[slot];
	if (d != DT_F64) {
		*v = value_scalar_from_bytes(d, bytes);
		return;
	}
	v->kind = V_SCALAR;
	v->dtype = DT_F64;
	memcpy(&v->f, bytes, sizeof v->f);
}
/* An owned value: moved out of the slot when the operand dies here, else with a
 * new reference. */
Value take_operand(Frame *f, const Step *s, uint32_t k);
/* An owned tensor, also for a scalar. NULL when memory fails. */
Tensor *operand_tensor(Frame *f, const Step *s, uint32_t k);
/* An owned contiguous tensor. */
Tensor *operand_contiguous(Frame *f, const Step *s, uint32_t k);
/* Whether the operand dies and its elements may be overwritten: it is
 * contiguous and not shared. */
static inline bool operand_is_free(const Frame *f, const Step *s, uint32_t k) {
	const Value *v = operand(f, s, k);
	return s->dies[k] && v->kind == V_TENSOR && v->tensor->contiguous &&
	       tensor_is_unshared(v->tensor);
}
/* The operand's elements in an owned contiguous tensor that may be written: the
 * operand itself when it is free, else a copy. */
Tensor *operand_writable(Frame *f, const Step *s, uint32_t k);

/* False, with a diagnostic, when a symbol is unknown or the extent is
 * negative. */
bool dim_slow(Frame *f, const Step *s, const DimRef *d, int64_t *out);
static inline bool dim_length(Frame *f, const Step *s, const DimRef *d, int64_t *out) {
	if (d->sym == DIM_CONST) {
		*out = d->value;
		if (LIKELY(d->value >= 0)) return true;
	} else if (d->sym != DIM_GENERAL) {
		*out = f->syms[d->sym];
		if (LIKELY(*out >= 0)) return true;
	}
	return dim_slow(f, s, d, out);
}
/* The same for a position, which may be negative. It is checked against an axis
 * later. */
bool dim_position(Frame *f, const Step *s, const DimRef *d, int64_t *out);
bool dim_lengths(Frame *f, const Step *s, const AttrField *field, int64_t *out);

/* Stores result k and takes ownership of t. A NULL t is ST_NOMEM. Rank 0 is
 * unboxed. */
Status put_tensor(Frame *f, const Step *s, uint32_t k, Tensor *t);
static inline void put_value(Frame *f, const Step *s, uint32_t k, Value v) {
	f->slots[s->d + k] = v;
}
static inline Status put_object(Frame *f, const Step *s, uint32_t k, Value v) {
	if (v.kind == V_UNSET) return ST_NOMEM;
	f->slots[s->d + k] = v;
	return ST_OK;
}

/* ---- layouts and views --------------------------------------------------- */

/* Changes the layout of t over its buffer. strides NULL: row-major. */
void set_layout(Tensor *t, uint32_t rank, const int64_t *shape, const int64_t *strides, char *data);
/* A view of operand k with another layout, starting `offset` elements further.
 * Reuses its record when that is not shared. */
Tensor *operand_view(Frame *f, const Step *s, uint32_t k, uint32_t rank, const int64_t *shape,
                     const int64_t *strides, int64_t offset);
/* A part of t without a reference; it must not be stored. */
static inline Tensor part_of(const Tensor *t, uint32_t rank, const int64_t *shape,
                             const int64_t *strides, int64_t offset) {
	Tensor p = *t;
	set_layout(&p, rank, shape, strides, t->data + offset * (int64_t)dtype_size((Dtype)t->dtype));
	return p;
}

/* Reads a tensor's elements in row-major order, a run at a time, for any
 * strides. */
typedef struct ElementStream {
	enum { STREAM_FLAT, STREAM_SPLAT, STREAM_STRIDED } mode;
	const char *data;
	uint32_t size, rank;
	int64_t shape[MAX_RANK], stride[MAX_RANK]; /* merged; strides in bytes */
} ElementStream;
enum { STREAM_RUN = 1024 }; /* elements of a reader's buffer */
void stream_open(ElementStream *st, const Tensor *t);
/* Elements pos .. pos+n-1 (one element for a splat), in place or copied to
 * buffer. n <= STREAM_RUN unless flat. */
const void *stream_read(const ElementStream *st, int64_t pos, int64_t n, void *buffer);

/* ---- the eval functions -------------------------------------------------- */

#define ST(ID, ...) Status eval_##ID(Frame *f, const Step *s);
#include "lang/ir/prims.def"
Status eval_elementwise1(Frame *f, const Step *s);
Status eval_elementwise2(Frame *f, const Step *s);
/* The step of an element-wise primitive on scalars. NULL when it does not take
 * the dtype. */
EvalFn scalar_step(Op op, Dtype d);

/* Failures that machine code reports in the same words. */
Status fail_arithmetic(Frame *f, const Step *s, int64_t y);
Status fail_index(Frame *f, const Step *s, int64_t index, int64_t length);
Status fail_slice(Frame *f, const Step *s, int64_t n, int64_t start, int64_t step, int64_t length);
Status fail_guard(Frame *f, const Step *s, const DimRef *left, const DimRef *right, int64_t x,
                  int64_t y, Atom of);
Status fail_user(Frame *f, const Step *s, int64_t code, const Value *message);
/* A zero pivot (cholesky: not positive), counted from 0, of a matrix with
 * `rows` rows. which: its index among several matrices, or -1. */
Status fail_matrix(Frame *f, const Step *s, int64_t pivot, int64_t rows, int64_t which);

/* ---- state of single files ----------------------------------------------- */

void fft_plans_free(Ctx *c, struct FftPlans *plans);
/* The host function behind nan_check. Throws when memory fails. */
void provenance_register(Ctx *c);

#endif
