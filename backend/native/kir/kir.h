/* kir.h - kernel code: what the lowering of a function's arrays and loops
 * produces, and the code generator turns into machine code.
 *
 * Needs: lang/ir/ir.h for the numbers of the element-wise primitives (Op) and
 * nothing at run time. A module is flat arrays without pointers into the
 * program: it can be hashed (the key of the cache), printed, handed to another
 * thread and to the code generator's library.
 *
 * The model. A function is a stream of instructions with nested regions, like a
 * bracketed text: an instruction that owns regions is followed by them, each
 * closed by K_END whose operands are the region's results. Values are numbered
 * in order of definition and are visible to everything that follows inside the
 * region that defines them and the regions within.
 *
 * A value is *uniform* (one number) or *varying* (`lanes` numbers, one for each
 * lane of the vector loop around it). A vector loop K_VLOOP runs its region for
 * base = 0, L, 2L ... < n with L lanes: lane l stands for element base + l.
 * Everything in its region is written as for one element. A uniform operand
 * beside varying ones is spread over the lanes.
 *
 * Memory is reached through pointers (K_PTR values, always uniform) and indices
 * in elements of the accessed type.
 */
#ifndef ATLED_BACKEND_NATIVE_KIR_KIR_H
#define ATLED_BACKEND_NATIVE_KIR_KIR_H

#include "lang/ir/ir.h"

typedef uint32_t KRef; /* a value of the function; 0: none */

typedef enum KType { KT_NONE, KT_BOOL, KT_I32, KT_I64, KT_F32, KT_F64, KT_PTR } KType;
/* Bytes in memory; a bool takes one byte there, 0 or 1. */
static inline uint32_t ktype_size(KType t) {
	return t == KT_BOOL ? 1 : t == KT_I32 || t == KT_F32 ? 4 : 8;
}
static inline KType ktype_of(Dtype d) {
	return d == DT_BOOL  ? KT_BOOL
	       : d == DT_I32 ? KT_I32
	       : d == DT_I64 ? KT_I64
	       : d == DT_F32 ? KT_F32
	       : d == DT_F64 ? KT_F64
	                     : KT_NONE;
}

/* K(ID, name, doc): operands in parentheses; what is in [] is optional. */
#define KIR_OPS(K)                                                                                 \
	K(CONST, "const", "a number: bits in imm; uniform")                                            \
	K(PARAM, "param",                                                                              \
	  "parameter number imm of an internal function; uniform. Parameters come first")              \
	K(BUFFER, "buffer", "call->buffers[imm], a pointer; entry function only")                      \
	K(WORD, "word", "call->words[imm] as `type`; entry function only")                             \
	K(RESULT, "result", "(x): call->results[imm] = x, uniform; entry function only")               \
	K(PRIM, "prim",                                                                                \
	  "(x [, y]): element-wise primitive `prim` on operands of one type, with the semantics of "   \
	  "lang/ir/prims.def")                                                                         \
	K(SELECT, "select", "(c, a, b): a where c else b; imm 1: see k_cut")                           \
	K(CONVERT, "convert", "(x): to `type`, as scalar_convert does")                                \
	K(BITS, "bits", "(x): the same bits as `type` of equal size; i64/f64, i32/f32")                \
	K(SHIFT, "shift", "(x, n): imm 0 left, 1 right without sign, 2 right with sign; integers")     \
	K(LOGIC, "logic", "(x, y): bitwise imm 0 and, 1 or, 2 xor; integers and bools")                \
	K(MULADD, "muladd", "(x, y, z): x*y + z rounded once where the target has it, else twice")     \
	K(LANE, "lane", "0 .. lanes-1, i64, varying; inside a vector loop")                            \
	K(MASK, "mask",                                                                                \
	  "bool, varying: the lane is one of the loop's elements, base + lane < n; inside a vector "   \
	  "loop")                                                                                      \
	K(LOAD, "load", "(pointer, index [, stride]): `type` as `mode` says")                          \
	K(STORE, "store",                                                                              \
	  "(pointer, index, value [, stride, or for mode unit a uniform bool: where it holds, past "   \
	  "the caches]): as `mode` says; uniform values may be stored with any mode")                  \
	K(AHEAD, "ahead",                                                                              \
	  "(pointer, index): the line of `type`'s element at index will be read soon. Any index")      \
	K(PTRADD, "ptradd",                                                                            \
	  "(pointer, index): pointer plus index elements of `type`'s size in memory (imm: bytes per "  \
	  "element)")                                                                                  \
	K(STACK, "stack", "pointer to imm bytes of the function's own stack frame, 64-byte aligned")   \
	K(FOLD, "fold",                                                                                \
	  "(x): all lanes of x joined by `prim` (add, mul, max, min; also max/min as any/all of "      \
	  "bools) in a fixed tree; uniform")                                                           \
	K(LOOP, "loop",                                                                                \
	  "(lo, hi, carried...): region (i, carried...) -> carried for i = lo .. hi-1 by imm; "        \
	  "results: the last carried. Uniform index")                                                  \
	K(VLOOP, "vloop",                                                                              \
	  "(n, carried...): vector loop, see above; region (base, carried...) -> carried. Carried "    \
	  "may be varying (spread over lanes before)")                                                 \
	K(WHILE, "while",                                                                              \
	  "(carried...): region 0 (carried...) -> uniform bool, region 1 (carried...) -> carried")     \
	K(IF, "if", "(c): uniform bool; regions 0 and 1 -> results")                                   \
	K(PARALLEL, "parallel",                                                                        \
	  "(nparts): region (part) for each part, on any thread in any order; no results. Outlined; "  \
	  "captures what it uses")                                                                     \
	K(END, "end", "(results...): closes a region")                                                 \
	K(RETURN, "return",                                                                            \
	  "(results...): of an internal function, its last instruction; of the entry without "         \
	  "operands")                                                                                  \
	K(CALL, "call",                                                                                \
	  "(args...): internal function number imm of the module; its failure is passed on")           \
	K(FAIL_IF, "fail_if",                                                                          \
	  "(c, a, b): where c holds the function stops at site imm with numbers a and b (i64) of the " \
	  "first such lane")                                                                           \
	K(POLL, "poll", "(work): i64 units done since the last one; may stop the function")            \
	K(PROGRESS, "progress",                                                                        \
	  "(step, steps, values...): i64, i64, f64: what a loop says at site imm; without operands "   \
	  "imm PROGRESS_ENTER or PROGRESS_LEAVE. imm PROGRESS_TURN: (turn, turns) of the outermost "   \
	  "loop, which says nothing itself")                                                           \
	K(CONTRACT, "contract",                                                                        \
	  "(c, c_row, c_col, a, a_row, a_k, b, b_k, b_col, m, n, k; a1, b1, ... or bias): C = A B [+ " \
	  "A1 B1 ... or + a row for each of its rows] with element strides, the same for all "         \
	  "products; flags below. Small to medium: generated register-blocked code")                   \
	K(GEMM, "gemm",                                                                                \
	  "the same operands [and how, see GEMM_ADD in abi.h]: through the runtime, for large "        \
	  "products")                                                                                  \
	K(FACTOR, "factor",                                                                            \
	  "(a, x, n, r): row-major matrices of `type` through the runtime, which does what the "       \
	  "evaluator does. `prim` lu: a becomes its packed factors where it lies, x the i64 "          \
	  "permutation; cholesky: a its factor; trisolve: x, n by r, becomes the solution with the "   \
	  "triangle a, imm 1 lower + 2 adjoint + 4 unit. i64: 0, or the number of the pivot that "     \
	  "fails, plus 1")                                                                             \
	K(HOST, "host",                                                                                \
	  "(p, n; ...): call->hosts[imm], a host function, through the runtime: results, then "        \
	  "operands, as pointers and their i64 numbers of elements; six pairs, the last ones of null " \
	  "and 0")                                                                                     \
	K(ARENA, "arena", "(bytes): scratch of the whole call")                                        \
	K(SCRATCH, "scratch", "(bytes): scratch of this thread until the part ends")                   \
	K(COPY, "copy", "(to, from, bytes)")                                                           \
	K(ZERO, "zero", "(pointer, bytes)")

typedef enum KOp {
#define K(ID, name, doc) K_##ID,
	KIR_OPS(K)
#undef K
		K_COUNT
} KOp;

/* Computed from its operands alone. Here, because the code generator's library
 * does not have kir/builder.c. */
static inline bool kop_is_pure(KOp op) {
	switch (op) {
	case K_CONST:
	case K_PRIM:
	case K_SELECT:
	case K_CONVERT:
	case K_BITS:
	case K_SHIFT:
	case K_LOGIC:
	case K_MULADD:
	case K_LANE:
	case K_MASK:
	case K_PTRADD: return true;
	default: return false;
	}
}

/* LOAD and STORE. In a vector loop: */
typedef enum KMode {
	KM_UNIFORM, /* one element at `index` (uniform) */
	KM_UNIT,    /* lane l at index + l */
	KM_STRIDED, /* lane l at index + l*stride, stride uniform, also negative */
	KM_INDEXED  /* lane l at its own `index` (varying) */
} KMode;

/* KInst.flags */
enum {
	/* VLOOP: there is room after the last element, so loads and unit-stride
	 * stores need no masking in the last turn: one body. Otherwise the lanes
	 * past n neither load nor store. Folded values need MASK either way.
	 * CONTRACT: columns may be rounded up to whole vectors in B and C */
	KF_PADDED = 1,
	/* VLOOP: where n is known and not more than the lanes, there is one
	 * turn, which is not cut */
	KF_ONCE = 2,
	KF_ACCUMULATE = 2, /* CONTRACT: C += A B */
	KF_B_COL_UNIT = 4, /* CONTRACT: b_col and c_col are 1: lanes run along the columns */
	KF_K_UNIT = 8,     /* CONTRACT: a_k and b_k are 1: lanes run along the sum */
	KF_COLD = 16,      /* IF: the first region is unlikely */
	/* CONTRACT: fewer rows of tiles lie past the last row (of A; of the
	 * longer side where lanes run along the sum) when a tile has five */
	KF_FIVES = 16,
	/* CONTRACT of one product, lanes along the columns: one more operand,
	 * where the row begins that is added to each of C's when its sums are
	 * finished */
	KF_BIAS = 32,
	/* CONTRACT with KF_B_COL_UNIT, many of them in a loop: 16 terms and one
	 * vector of columns are expected, code for which is then in the loop
	 * itself */
	KF_HELD = 64,
	/* BUFFER: no other buffer of the call lies in its memory. Without it an
	 * output may lie in an input's memory (an input that dies here): loads
	 * of inputs then keep their place among the stores to outputs */
	KF_ALONE = 32,
	KF_UNCOUNTED = 64, /* CALL: not a call of the user's: depth_left stays as it is */
	/* CONTRACT with KF_K_UNIT whose c_col is 1: A has rows enough that B is
	 * copied turned and lanes run along the columns */
	KF_TURN = 128,
	/* STORE, mode unit: nothing past the loop's last element is written, in
	 * a padded loop either */
	KF_EXACT = 128
};

typedef struct KInst {
	/* KOp; KType of the result (of the value for STORE, CONTRACT ...);
	 * KMode; KF_ */
	uint8_t op, type, mode, flags;
	uint16_t prim;        /* Op */
	uint16_t lanes;       /* of the result; VLOOP: of its vectors. 0: uniform */
	uint32_t nargs, args; /* in KFn.refs */
	/* values results .. results+nresults-1 (loops and calls may have
	 * several) */
	uint32_t nresults, results;
	/* of the (first) region: consecutive values; WHILE has the same for both
	 * regions, params and params+nparams; CALL: its site's number plus 1,
	 * which the failures that pass it tell, 0: none */
	uint32_t nparams, params;
	int64_t imm;
	/* SpanId of the user's text, for line tables; not part of the key */
	uint32_t span;
	/* IR instruction it came from plus 1, for plan and profile; not part of
	 * the key */
	uint32_t origin;
} KInst;

/* How many regions follow the instruction. */
static inline uint32_t kinst_regions(const KInst *in) {
	switch (in->op) {
	case K_LOOP:
	case K_VLOOP:
	case K_PARALLEL: return 1;
	case K_WHILE:
	case K_IF: return 2;
	default: return 0;
	}
}

typedef struct KVal {
	uint8_t type;   /* KType */
	uint16_t lanes; /* 0: uniform */
	/* the instruction that was last when it was numbered: its own, for plain
	 * results */
	uint32_t def;
	bool bounded; /* i64: known to lie in lo .. hi */
	int64_t lo, hi;
} KVal;

typedef struct KFn {
	VEC(KInst) insts;
	VEC(KVal) vals; /* entry 0 is unused */
	VEC(KRef) refs;
	uint32_t nparams, nresults;
	uint8_t result_types[16]; /* of internal functions */
} KFn;

/* What the code is for. Widths in elements of one register. */
typedef struct KTarget {
	char cpu[32];          /* x86-64, x86-64-v3, x86-64-v4, aarch64 */
	uint32_t vector_bytes; /* 64 AVX-512, 32 AVX2, 16 SSE2 and NEON, 8: no vectors */
	uint32_t registers;    /* vector registers */
	bool has_fma, has_masks;
	uint32_t l1_bytes, l2_bytes; /* per core: block sizes are chosen from them */
	uint32_t stream_bytes;       /* results of this size are written past the caches */
} KTarget;

/* Are products of hundreds of rows and columns made by tiles of 8 x 3 vectors
 * (native/run/gemm_driver.c), which have 24 sums? Otherwise they are BLAS's. */
static inline bool ktarget_has_large_tiles(const KTarget *t) {
	return t->registers >= 32 && t->has_fma && t->has_masks && t->vector_bytes >= 64;
}

/* A module: function 0 is the entry, `int32_t entry(NativeCall *)`. Owned by
 * its arena. */
typedef struct KModule {
	Arena *arena;
	KTarget target;
	VEC(KFn *) fns;
	uint32_t nsites;
} KModule;

/* throws when memory fails, like every builder call below */
KModule *kmodule_new(Ctx *c, const KTarget *target);
void kmodule_free(KModule *m);
/* Appends the text form: for tests, --dump and people. */
void kmodule_print(Text *out, const KModule *m);
/* 128 bits over everything that determines the code. */
typedef struct KHash {
	uint64_t lo, hi;
} KHash;
KHash kmodule_hash(const KModule *m);
/* Checks operands, types, lanes and nesting; false: `why` says what and where.
 */
bool kmodule_verify(const KModule *m, Text *why);

/* ---- building ------------------------------------------------------------ */

/* An instruction one of whose regions is open. */
typedef struct KOpen {
	uint32_t inst;
	uint16_t region, outer_lanes;
	uint32_t known; /* KBuilder.known.n when it was opened */
} KOpen;

/* A pure value in scope, for sharing equal ones. */
typedef struct KKnown {
	uint32_t inst, bucket, before; /* the entry plus 1 that was first in the bucket */
} KKnown;
enum { K_BUCKETS = 1024 };

typedef struct KBuilder {
	KModule *m;
	KFn *f; /* the function under construction */
	uint32_t fn;
	uint32_t lanes;        /* of the innermost vector loop; 0 outside */
	uint32_t span, origin; /* given to what is emitted next */
	VEC(KOpen) open;
	VEC(KKnown) known; /* innermost scope last */
	uint32_t *buckets; /* entry plus 1 */
} KBuilder;

/* Begins function number `k` (functions may be declared before they are built:
 * k_declare gives the number). */
uint32_t k_declare(KModule *m, uint32_t nresults, const KType *result_types);
void k_function(KBuilder *b, KModule *m, uint32_t k);

KRef k_const(KBuilder *b, KType t, double x); /* x converted to t */
KRef k_int(KBuilder *b, int64_t x);           /* i64 */
KRef k_bits(KBuilder *b, KType t, uint64_t bits);
KRef k_param(KBuilder *b, KType t);
KRef k_buffer(KBuilder *b, uint32_t k);
KRef k_word(KBuilder *b, KType t, uint32_t k);
void k_result(KBuilder *b, uint32_t k, KRef x);
/* Everything pure is shared: an instruction that is in scope already is not
 * made again. Also folds constants and the plainest identities of i64 (x+0,
 * x*1, x*0), so that index arithmetic stays short. */
KRef k_prim1(KBuilder *b, Op prim, KRef x);
KRef k_prim2(KBuilder *b, Op prim, KRef x, KRef y);
static inline KRef k_add(KBuilder *b, KRef x, KRef y) { return k_prim2(b, OP_ADD, x, y); }
static inline KRef k_sub(KBuilder *b, KRef x, KRef y) { return k_prim2(b, OP_SUB, x, y); }
static inline KRef k_mul(KBuilder *b, KRef x, KRef y) { return k_prim2(b, OP_MUL, x, y); }
static inline KRef k_lt(KBuilder *b, KRef x, KRef y) { return k_prim2(b, OP_LT, x, y); }
static inline KRef k_min(KBuilder *b, KRef x, KRef y) { return k_prim2(b, OP_MIN, x, y); }
static inline KRef k_max(KBuilder *b, KRef x, KRef y) { return k_prim2(b, OP_MAX, x, y); }
KRef k_select(KBuilder *b, KRef c, KRef x, KRef y);
/* 0 where `outside`, else the index: what a check of it has found outside is
 * not read from. imm of such a SELECT is 1: whatever is read at its result was
 * seen to be there. */
KRef k_cut(KBuilder *b, KRef outside, KRef index);
KRef k_convert(KBuilder *b, KRef x, KType to);
KRef k_recast(KBuilder *b, KRef x, KType to); /* the same bits */
KRef k_logic(KBuilder *b, int which, KRef x, KRef y);
KRef k_not(KBuilder *b, KRef x); /* of a bool */
KRef k_shift(KBuilder *b, int which, KRef x, KRef n);
KRef k_muladd(KBuilder *b, KRef x, KRef y, KRef z);
KRef k_lane(KBuilder *b);
KRef k_mask(KBuilder *b);
KRef k_load(KBuilder *b, KType t, KMode mode, KRef pointer, KRef index, KRef stride);
void k_store(KBuilder *b, KMode mode, KRef pointer, KRef index, KRef value, KRef stride);
/* Mode unit, KF_EXACT. past: the uniform bool, 0 never. */
void k_store_exact(KBuilder *b, KRef pointer, KRef index, KRef value, KRef past);
void k_ahead(KBuilder *b, KType t, KRef pointer, KRef index);
KRef k_ptradd(KBuilder *b, KRef pointer, KRef index, uint32_t element_bytes);
KRef k_stack(KBuilder *b, int64_t bytes);
KRef k_fold(KBuilder *b, Op prim, KRef x);
KRef k_arena(KBuilder *b, KRef bytes);
KRef k_scratch(KBuilder *b, KRef bytes);
void k_copy(KBuilder *b, KRef to, KRef from, KRef bytes);
void k_zero(KBuilder *b, KRef at, KRef bytes);
void k_fail_if(KBuilder *b, KRef c, int64_t site, KRef fail_a, KRef fail_b);
void k_poll(KBuilder *b, KRef work);
void k_progress(KBuilder *b, int64_t site, uint32_t n, const KRef *operands);
void k_turn(KBuilder *b, KRef turn, KRef turns);
/* op: K_CONTRACT or K_GEMM; operands in KIR_OPS's order, n of them: 12, and for
 * CONTRACT two for each further product or the bias, for GEMM perhaps one more.
 */
void k_contract(KBuilder *b, KOp op, KType t, uint32_t flags, uint32_t n, const KRef *operands);
/* n pairs of a pointer and a count, as KIR_OPS says. */
void k_host(KBuilder *b, uint32_t number, uint32_t n, const KRef *pairs);
/* which: OP_LU, OP_CHOLESKY or OP_TRISOLVE; operands and result as KIR_OPS
 * says. */
KRef k_factor(KBuilder *b, Op which, KType t, int64_t flags, const KRef operands[4]);
void k_call(KBuilder *b, uint32_t fn, uint32_t nargs, const KRef *args, KRef *results);
/* of a site that failures tell */
void k_call_at(KBuilder *b, uint32_t site, uint32_t fn, uint32_t nargs, const KRef *args,
               KRef *results);

/* Loops: begin gives the region's parameters (index or base first); end closes
 * with the carried values and gives the results. */
void k_loop_begin(KBuilder *b, KRef lo, KRef hi, int64_t step, uint32_t ncarried, const KRef *init,
                  KRef *params);
void k_loop_end(KBuilder *b, const KRef *carried, KRef *results);
/* varying[k] (may be NULL): carried value k is varying in the region and as a
 * result, and init k is spread. A varying result may be folded, or used in a
 * following vector loop of as many lanes, by initialising its carried values.
 */
void k_vloop_begin(KBuilder *b, uint32_t lanes, uint32_t flags, KRef n, uint32_t ncarried,
                   const KRef *init, const bool *varying, KRef *params);
void k_vloop_end(KBuilder *b, const KRef *carried, KRef *results);
void k_while_begin(KBuilder *b, uint32_t ncarried, const KRef *init, KRef *params);
void k_while_body(KBuilder *b, KRef condition, KRef *params);
void k_while_end(KBuilder *b, const KRef *carried, KRef *results);
void k_if_begin(KBuilder *b, KRef c, uint32_t flags);
void k_if_else(KBuilder *b, uint32_t nresults, const KRef *results);
void k_if_end(KBuilder *b, const KRef *else_results, KRef *results);
KRef k_parallel_begin(KBuilder *b, KRef nparts);
void k_parallel_end(KBuilder *b);
void k_return(KBuilder *b, uint32_t nresults, const KRef *results);

/* A place in the stream. */
typedef struct KMark {
	uint32_t insts, vals, refs, known;
} KMark;
KMark k_mark(const KBuilder *b);
/* What was emitted since the mark, whole nests whose values nothing outside
 * will use, becomes an internal function and a call of it; equal functions are
 * one. Nothing happens where that does not pay. */
void k_outline(KBuilder *b, KMark mark);

KType k_type(const KBuilder *b, KRef x);
uint32_t k_lanes_of(const KBuilder *b, KRef x);
/* x (i64) is known to lie in lo .. hi: comparisons that this decides are not
 * emitted. */
void k_bound(KBuilder *b, KRef x, int64_t lo, int64_t hi);
/* The number when x is a constant i64. */
bool k_is_int(const KBuilder *b, KRef x, int64_t *v);
/* The same for a uniform bool. */
bool k_is_bool(const KBuilder *b, KRef x, bool *v);

#endif
