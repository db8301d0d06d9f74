/* kir.h - kernel IR: output of the lowering, input of the code generator.
 *
 * Contract:
 * - Needs lang/ir/ir.h for the numbers of the element-wise primitives (Op), and
 *   nothing at run time.
 * - A module is a set of flat arrays without pointers into the program. It can
 *   be hashed (the key of the code cache), printed, and handed to another
 *   thread or to the code generator's library.
 *
 * Structure: a function is a stream of instructions with nested regions. An
 * instruction that owns regions is followed by them; each is closed by K_END,
 * whose operands are the region's results. Values are numbered in order of
 * definition. A value is visible to what follows it in its region and in the
 * regions within.
 *
 * Values: a value is *uniform* (one scalar) or *varying* (`lanes` scalars, one
 * for each lane of the enclosing vector loop). A vector loop K_VLOOP runs its
 * region for base = 0, L, 2L ... < n with L lanes; lane l is element base + l.
 * The region is written as for one element. A uniform operand beside varying
 * ones is broadcast.
 *
 * Memory: accesses use pointers (K_PTR values, always uniform) and indices in
 * elements of the accessed type.
 */
#ifndef ATLED_BACKEND_NATIVE_KIR_KIR_H
#define ATLED_BACKEND_NATIVE_KIR_KIR_H

#include "lang/ir/ir.h"

typedef uint32_t KRef; /* a value of the function; 0: none */

typedef enum KType { KT_NONE, KT_BOOL, KT_I32, KT_I64, KT_F32, KT_F64, KT_PTR } KType;
/* Size in memory; a bool takes one byte there, 0 or 1. */
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

/* K(ID, name, doc): operands in parentheses; optional ones in []. */
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
	K(SELECT, "select", "(c, a, b): a where c else b; imm 1: see k_clamp_index")                   \
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
	K(PREFETCH, "ahead",                                                                           \
	  "(pointer, index): the line of `type`'s element at index will be read soon. Any index")      \
	K(PTRADD, "ptradd",                                                                            \
	  "(pointer, index): pointer plus index elements of `type`'s size in memory (imm: bytes per "  \
	  "element)")                                                                                  \
	K(STACK, "stack", "pointer to imm bytes of the function's own stack frame, 64-byte aligned")   \
	K(REDUCE_LANES, "fold",                                                                        \
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
	K(POLL, "poll",                                                                                \
	  "(work): i64 units done since the last one; may stop the function. Nothing at a depth of "   \
	  "calls that is not a multiple of imm, a power of two")                                       \
	K(PROGRESS, "progress",                                                                        \
	  "(step, steps, values...): i64, i64, f64: what a loop says at site imm; without operands "   \
	  "imm PROGRESS_ENTER or PROGRESS_LEAVE. imm PROGRESS_ITERATION: (iteration, trip count) of "  \
	  "the outermost loop, which says nothing itself")                                             \
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

/* Does the result depend on the operands alone? Defined here, because the code
 * generator's library does not include kir/builder.c. */
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

/* Addressing of LOAD and STORE in a vector loop. */
typedef enum KMode {
	KM_UNIFORM, /* one element at `index` (uniform) */
	KM_UNIT,    /* lane l at index + l */
	KM_STRIDED, /* lane l at index + l*stride; stride uniform, possibly negative */
	KM_INDEXED  /* lane l at its own `index` (varying) */
} KMode;

/* KInst.flags. Some bits have a meaning for each of several instructions. */
enum {
	/* VLOOP: there is padding after the last element, so loads and unit-stride
	 * stores need no mask in the last iteration, and there is one body.
	 * Otherwise lanes past n neither load nor store. Values reduced over lanes
	 * need K_MASK either way. CONTRACT: the columns of B and C may be rounded
	 * up to whole vectors. */
	KF_PADDED = 1,
	/* VLOOP: n is at most the lanes. There is a single iteration, which is not
	 * split, and the body need not use the index. */
	KF_SINGLE_TRIP = 2,
	KF_ACCUMULATE = 2, /* CONTRACT: C += A B */
	KF_B_COL_UNIT = 4, /* CONTRACT: b_col and c_col are 1; lanes over N */
	KF_K_UNIT = 8,     /* CONTRACT: a_k and b_k are 1; lanes over K */
	KF_COLD = 16,      /* IF: the first region is unlikely */
	/* CONTRACT: tiles of five rows leave fewer unused rows past the last one
	 * (of A; with lanes over K, of the longer side). */
	KF_TILE_5 = 16,
	/* CONTRACT of one product, lanes over N: one more operand, a row that is
	 * added to each row of C when its sums are finished. */
	KF_BIAS = 32,
	/* CONTRACT with KF_B_COL_UNIT, many of them in a loop: k = 16 and one
	 * vector of columns are expected, and the code for this case is inlined. */
	KF_IN_REGISTERS = 64,
	/* BUFFER: no other buffer of the call shares its memory. Otherwise an
	 * output may reuse the memory of an input that dies here; loads of inputs
	 * then keep their order with stores to outputs. */
	KF_NOALIAS = 32,
	KF_NO_DEPTH_CHECK = 64, /* CALL: not a user's call; depth_left is unchanged */
	/* CONTRACT with KF_K_UNIT whose c_col is 1: A has enough rows that packing
	 * B transposed pays; lanes over N. */
	KF_TRANSPOSE_B = 128,
	/* STORE, mode unit: nothing after the loop's last element is written, even
	 * in a padded loop. */
	KF_MASK_TAIL = 128
};

typedef struct KInst {
	/* KOp; KType of the result (of the value for STORE, CONTRACT ...); KMode;
	 * KF_ */
	uint8_t op, type, mode, flags;
	uint16_t prim;        /* Op */
	uint16_t lanes;       /* of the result; VLOOP: of its vectors. 0: uniform */
	uint32_t nargs, args; /* in KFn.refs */
	/* values results .. results+nresults-1 (loops and calls may have
	 * several) */
	uint32_t nresults, results;
	/* Parameters of the (first) region: consecutive values. WHILE has as many
	 * for each region, at params and params+nparams. CALL: index of its site
	 * plus 1, recorded by failures that pass the call; 0: none. */
	uint32_t nparams, params;
	int64_t imm;
	/* SpanId of the source location, for line tables; not part of the key */
	uint32_t span;
	/* IR instruction it came from plus 1, for plan and profile; not part of the
	 * key */
	uint32_t origin;
} KInst;

/* Number of regions that follow the instruction. */
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
	/* last instruction when the value was numbered; for results of instructions
	 * without regions, the one that defines it */
	uint32_t def;
	bool bounded; /* i64: known to be in lo .. hi */
	int64_t lo, hi;
} KVal;

typedef struct KFn {
	VEC(KInst) insts;
	VEC(KVal) vals; /* entry 0 is unused */
	VEC(KRef) refs;
	uint32_t nparams, nresults;
	uint8_t result_types[16]; /* of internal functions */
} KFn;

/* The target of the generated code. */
typedef struct KTarget {
	char cpu[32];          /* x86-64, x86-64-v3, x86-64-v4, aarch64 */
	uint32_t vector_bytes; /* 64 AVX-512, 32 AVX2, 16 SSE2 and NEON, 8: no vectors */
	uint32_t registers;    /* number of vector registers */
	bool has_fma, has_masks;
	uint32_t l1_bytes, l2_bytes; /* per core; determine block sizes */
	uint32_t stream_bytes;       /* results from this size use non-temporal stores */
} KTarget;

/* Are products of hundreds of rows and columns computed by tiles of 8 x 3
 * vectors (native/run/gemm_driver.c), with 24 sums? Otherwise BLAS computes
 * them. */
static inline bool ktarget_has_large_tiles(const KTarget *t) {
	return t->registers >= 32 && t->has_fma && t->has_masks && t->vector_bytes >= 64;
}

/* A module, owned by its arena. Function 0 is the entry, `int32_t
 * entry(NativeCall *)`. */
typedef struct KModule {
	Arena *arena;
	KTarget target;
	VEC(KFn *) fns;
	uint32_t nsites;
} KModule;

/* Throws when out of memory, like every builder call below. */
KModule *kmodule_new(Ctx *c, const KTarget *target);
void kmodule_free(KModule *m);
/* Appends the textual form, for tests and --dump. */
void kmodule_print(Text *out, const KModule *m);
/* A hash of 128 bits over everything that determines the code. */
typedef struct KHash {
	uint64_t lo, hi;
} KHash;
KHash kmodule_hash(const KModule *m);
/* Checks operands, types, lanes and nesting. On failure returns false and
 * reports the fault and its location in `why`. */
bool kmodule_verify(const KModule *m, Text *why);

/* ---- building ------------------------------------------------------------ */

/* An instruction with an open region. */
typedef struct KOpen {
	uint32_t inst;
	uint16_t region, outer_lanes;
	uint32_t known; /* KBuilder.known.n when it was opened */
} KOpen;

/* A pure value in scope, for common-subexpression elimination. */
typedef struct KKnown {
	uint32_t inst, before; /* before: the bucket's previous head, entry plus 1 */
	uint32_t hash;
} KKnown;

typedef struct KBuilder {
	KModule *m;
	KFn *f; /* the function under construction */
	uint32_t fn;
	uint32_t lanes;        /* of the innermost vector loop; 0 outside */
	uint32_t span, origin; /* given to new instructions */
	VEC(KOpen) open;
	VEC(KKnown) known; /* innermost scope last */
	uint32_t *buckets; /* entry plus 1 */
	uint32_t nbuckets; /* a power of two */
} KBuilder;

/* k_declare declares a function and returns its index, k_function begins the
 * body of function `k`. Functions may be declared before they are built. */
uint32_t k_declare(KModule *m, uint32_t nresults, const KType *result_types);
void k_function(KBuilder *b, KModule *m, uint32_t k);
/* Values that became known since there were n of them go out of scope. */
void k_forget_known(KBuilder *b, uint32_t n);

KRef k_const(KBuilder *b, KType t, double x); /* x converted to t */
KRef k_int(KBuilder *b, int64_t x);           /* i64 */
KRef k_bits(KBuilder *b, KType t, uint64_t bits);
KRef k_param(KBuilder *b, KType t);
KRef k_buffer(KBuilder *b, uint32_t k);
KRef k_word(KBuilder *b, KType t, uint32_t k);
void k_result(KBuilder *b, uint32_t k, KRef x);
/* Pure instructions are shared: an equal one in scope is reused. The builder
 * also folds constants and simple identities of i64 (x+0, x*1, x*0), so that
 * index arithmetic stays short. */
KRef k_prim1(KBuilder *b, Op prim, KRef x);
KRef k_prim2(KBuilder *b, Op prim, KRef x, KRef y);
static inline KRef k_add(KBuilder *b, KRef x, KRef y) { return k_prim2(b, OP_ADD, x, y); }
static inline KRef k_sub(KBuilder *b, KRef x, KRef y) { return k_prim2(b, OP_SUB, x, y); }
static inline KRef k_mul(KBuilder *b, KRef x, KRef y) { return k_prim2(b, OP_MUL, x, y); }
static inline KRef k_lt(KBuilder *b, KRef x, KRef y) { return k_prim2(b, OP_LT, x, y); }
static inline KRef k_min(KBuilder *b, KRef x, KRef y) { return k_prim2(b, OP_MIN, x, y); }
static inline KRef k_max(KBuilder *b, KRef x, KRef y) { return k_prim2(b, OP_MAX, x, y); }
KRef k_select(KBuilder *b, KRef c, KRef x, KRef y);
/* Clamps an index: 0 where `outside`, else the index. An index that a check
 * found out of bounds is thus not read. imm of such a SELECT is 1: reads at its
 * result are in bounds. */
KRef k_clamp_index(KBuilder *b, KRef outside, KRef index);
KRef k_convert(KBuilder *b, KRef x, KType to);
KRef k_bitcast(KBuilder *b, KRef x, KType to); /* bit cast */
KRef k_logic(KBuilder *b, int which, KRef x, KRef y);
KRef k_not(KBuilder *b, KRef x); /* of a bool */
KRef k_shift(KBuilder *b, int which, KRef x, KRef n);
KRef k_muladd(KBuilder *b, KRef x, KRef y, KRef z);
KRef k_lane(KBuilder *b);
KRef k_mask(KBuilder *b);
KRef k_load(KBuilder *b, KType t, KMode mode, KRef pointer, KRef index, KRef stride);
void k_store(KBuilder *b, KMode mode, KRef pointer, KRef index, KRef value, KRef stride);
/* Mode unit, KF_MASK_TAIL. streaming: the uniform bool for a non-temporal
 * store; 0: never. */
void k_store_exact(KBuilder *b, KRef pointer, KRef index, KRef value, KRef streaming);
void k_prefetch(KBuilder *b, KType t, KRef pointer, KRef index);
KRef k_ptradd(KBuilder *b, KRef pointer, KRef index, uint32_t element_bytes);
KRef k_stack(KBuilder *b, int64_t bytes);
KRef k_reduce_lanes(KBuilder *b, Op prim, KRef x);
KRef k_arena(KBuilder *b, KRef bytes);
KRef k_scratch(KBuilder *b, KRef bytes);
void k_copy(KBuilder *b, KRef to, KRef from, KRef bytes);
void k_zero(KBuilder *b, KRef at, KRef bytes);
void k_fail_if(KBuilder *b, KRef c, int64_t site, KRef fail_a, KRef fail_b);
void k_poll(KBuilder *b, KRef work);
/* At the start of a function that may recurse: only at depths of calls that are
 * multiples of `levels`, a power of two. It also checks the C stack. */
void k_poll_by_depth(KBuilder *b, KRef work, int64_t levels);
void k_progress(KBuilder *b, int64_t site, uint32_t n, const KRef *operands);
void k_iteration(KBuilder *b, KRef iteration, KRef trip_count);
/* op: K_CONTRACT or K_GEMM. The n operands are in KIR_OPS's order: 12, and for
 * CONTRACT two for each further product or the bias, for GEMM optionally one
 * more. */
void k_contract(KBuilder *b, KOp op, KType t, uint32_t flags, uint32_t n, const KRef *operands);
/* n pairs of a pointer and a count, as in KIR_OPS. */
void k_host(KBuilder *b, uint32_t number, uint32_t n, const KRef *pairs);
/* which: OP_LU, OP_CHOLESKY or OP_TRISOLVE; operands and result as in
 * KIR_OPS. */
KRef k_factor(KBuilder *b, Op which, KType t, int64_t flags, const KRef operands[4]);
void k_call(KBuilder *b, uint32_t fn, uint32_t nargs, const KRef *args, KRef *results);
/* The same, with a site that failures passing the call record. */
void k_call_at(KBuilder *b, uint32_t site, uint32_t fn, uint32_t nargs, const KRef *args,
               KRef *results);

/* Loops: begin returns the region's parameters (index or base first); end takes
 * the carried values and returns the results. */
void k_loop_begin(KBuilder *b, KRef lo, KRef hi, int64_t step, uint32_t ncarried, const KRef *init,
                  KRef *params);
void k_loop_end(KBuilder *b, const KRef *carried, KRef *results);
/* varying[k] (`varying` may be NULL): carried value k is varying in the region
 * and as a result, and init k is broadcast. A varying result may be reduced
 * over lanes, or used in a following vector loop of as many lanes as an initial
 * carried value. */
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

/* A position in the stream. */
typedef struct KMark {
	uint32_t insts, vals, refs, known;
} KMark;
KMark k_mark(const KBuilder *b);
/* Outlines the instructions since the mark into an internal function and
 * replaces them by a call. They must be whole nests whose values nothing
 * outside uses. Equal functions are shared. Does nothing where that does not
 * pay. */
void k_outline(KBuilder *b, KMark mark);

KType k_type(const KBuilder *b, KRef x);
uint32_t k_lanes_of(const KBuilder *b, KRef x);
/* Asserts that x (i64) is in lo .. hi; comparisons that this decides are
 * folded. */
void k_bound(KBuilder *b, KRef x, int64_t lo, int64_t hi);
/* Is x a constant i64? Sets *v to it. */
bool k_is_int(const KBuilder *b, KRef x, int64_t *v);
/* The same for a uniform bool. */
bool k_is_bool(const KBuilder *b, KRef x, bool *v);

#endif
