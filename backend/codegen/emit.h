/* emit.h - the state of one emission and what its files offer each other:
 * types, values, memory, loops, branches, failure.
 *
 * Needs: LLVM's C API and kir.h. Private to backend/codegen/. Guarantees: every
 * function here either emits or leaves by emit_stop with a text, so that
 * callers need no error paths; whatever is allocated through emit_alloc dies
 * with the Emit.
 *
 * Values. A kernel value is an LLVM value in `vals`: uniform ones and those of
 * one lane are scalars, varying ones of L > 1 lanes are vectors <L x t>. A bool
 * is i1 in values and i8 (0 or 1) in memory. Pointers are `ptr` and always
 * scalars.
 */
#ifndef ATLED_BACKEND_CODEGEN_EMIT_H
#define ATLED_BACKEND_CODEGEN_EMIT_H

#include "backend/native/kir/abi.h"
#include "backend/native/jit/codegen.h"
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/TargetMachine.h>
#include <setjmp.h>
#include <stdlib.h>

/* The vector loop around the instruction: how many lanes, which element lane 0
 * is, how many elements, and which lanes are elements. */
typedef struct EmitVector {
	uint32_t lanes;
	LLVMValueRef base, n, turns; /* turns: where the turns that are emitted now end; at most n */
	/* <lanes x i1>, for what must not be touched past the end; NULL: every
	 * lane is an element or may be treated as one */
	LLVMValueRef mask;
	bool padded;           /* unit-stride accesses need no mask even when there is one */
	struct EmitNear *near; /* loads that may be made of each other; NULL: none */
	bool partial;          /* some lanes may be past n: K_MASK and failures must look */
} EmitVector;

/* What pointers of the current function point into. Accesses through pointers
 * of different roots are known not to touch, see emit_root. */
typedef struct EmitRoot {
	bool buffer, alone, written;
	/* metadata: the root's scope; lists of it and of the roots it does not
	 * touch */
	LLVMValueRef scope, same, others;
} EmitRoot;

/* The function whose kernel code is being emitted; a chain when calls are
 * emitted in place. */
typedef struct EmitFn {
	struct EmitFn *outer;
	const KFn *f;
	/* a copy of f, made when the rest of a vector loop goes by vectors of
	 * half as many lanes */
	KFn *half;
	uint32_t fn, depth; /* depth: calls emitted in place around it */
	LLVMValueRef *vals; /* by KRef */
	LLVMValueRef *args; /* of K_PARAM */
	/* by KRef: the last instruction that uses it; NULL until it is asked for */
	uint32_t *last_uses;
	uint32_t short_from, short_to; /* instructions at none of which a long stretch begins */
	uint32_t *root_of;             /* by KRef: number of the root of a pointer, 0 unknown */
	EmitRoot *roots;               /* entry 0 is unused; shared by all emissions of `f` */
	uint32_t nroots;
} EmitFn;

typedef struct Emit {
	const KModule *m;
	const CodegenOptions *options;
	/* of LLVM's passes and back end, for this part of the module; what is
	 * emitted goes by options->level */
	int level;
	char *error;
	size_t error_size;
	jmp_buf stop;
	struct EmitBlock *memory; /* emit_alloc */

	LLVMContextRef context;
	LLVMModuleRef module;
	LLVMBuilderRef b;
	LLVMTargetMachineRef machine;
	LLVMTypeRef i1, i8, i32, i64, f32, f64, ptr, token;
	LLVMTypeRef call_type;   /* NativeCall */
	LLVMValueRef *functions; /* by number: NULL until declared */
	LLVMTypeRef *function_types;
	struct EmitRoots {
		EmitRoot *roots;
		uint32_t *root_of, nroots;
	} * all_roots; /* by function number */
	/* metadata for accesses to the call's own record */
	LLVMValueRef domain, call_scopes, call_others;
	uint32_t nbodies, nleaves; /* parallel bodies so far, and loops that became functions */
	const NativeKernel *kernels[NATIVE_PARTS_MOST]; /* precompiled functions that are called */
	uint32_t nkernels;
	LLVMDIBuilderRef lines; /* NULL: no line table */
	LLVMMetadataRef file, unit, subprogram;

	/* the LLVM function under construction */
	LLVMValueRef function, call, depth_left;
	bool returns_record; /* {status, results...}; otherwise the status alone */
	/* loops that call nothing become functions of their own: the rest is
	 * plain */
	bool apart;
	LLVMTypeRef return_type;
	LLVMBasicBlockRef entry;     /* stack slots go here */
	LLVMBasicBlockRef failure;   /* returns `failure_status` */
	LLVMValueRef failure_status; /* phi */
	uint32_t emitted;            /* instructions so far, to bound what is emitted in place */
	EmitFn *fn;
	EmitVector *vector;        /* NULL outside of vector loops */
	struct EmitBeside *beside; /* loads that were made together with one before */
} Emit;

/* Leaves the emission; the text becomes CodegenOutput.error. */
_Noreturn void emit_stop(Emit *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
void *emit_alloc(Emit *e, size_t bytes); /* cleared */
void emit_free(Emit *e);                 /* all of it */

/* ---- types and values: emit.c -------------------------------------------- */

LLVMTypeRef emit_type(Emit *e, KType t, uint32_t lanes);        /* lanes 0 and 1: the scalar */
LLVMTypeRef emit_memory_type(Emit *e, KType t, uint32_t lanes); /* the same with i8 for bool */
static inline KType emit_ref_type(const Emit *e, KRef x) {
	return (KType)e->fn->f->vals.at[x].type;
}
static inline uint32_t emit_ref_lanes(const Emit *e, KRef x) { return e->fn->f->vals.at[x].lanes; }
static inline KRef emit_operand(const Emit *e, const KInst *in, uint32_t k) {
	return e->fn->f->refs.at[in->args + k];
}
/* as it is: scalar or vector */
LLVMValueRef emit_value(Emit *e, KRef x);
/* a scalar to `lanes` lanes; vectors of as many stay */
LLVMValueRef emit_spread(Emit *e, LLVMValueRef x, uint32_t lanes);
LLVMValueRef emit_value_in(Emit *e, KRef x, uint32_t lanes); /* both */
LLVMValueRef emit_i32(Emit *e, int32_t x);
LLVMValueRef emit_i64(Emit *e, int64_t x);
/* spread; integers from whole x */
LLVMValueRef emit_number(Emit *e, KType t, uint32_t lanes, double x);
uint32_t emit_lanes(LLVMValueRef x); /* 1 for scalars */
/* -1: any */
LLVMValueRef emit_shuffle(Emit *e, LLVMValueRef x, LLVMValueRef y, uint32_t n, const int *lanes);
/* lanes first .. first+n-1 */
LLVMValueRef emit_part(Emit *e, LLVMValueRef x, uint32_t first, uint32_t n);
/* equal widths, one after the other; overwrites parts */
LLVMValueRef emit_join(Emit *e, uint32_t n, LLVMValueRef *parts);
/* An LLVM intrinsic by its name without type suffixes, overloaded on `types`.
 */
LLVMValueRef emit_intrinsic(Emit *e, const char *name, unsigned ntypes, LLVMTypeRef *types,
                            unsigned nargs, LLVMValueRef *args);
/* overloaded on x's type */
LLVMValueRef emit_intrinsic1(Emit *e, const char *name, LLVMValueRef x);
LLVMValueRef emit_intrinsic2(Emit *e, const char *name, LLVMValueRef x, LLVMValueRef y);
/* x*y + z: one rounding where the target has it. Scalars or vectors alike. */
LLVMValueRef emit_muladd(Emit *e, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z);
/* A runtime function of abi.h, declared on first use. Types by letter: p
 * pointer, l i64, i i32; the first is the result, v: none. */
LLVMValueRef emit_runtime(Emit *e, const char *name, const char *types, LLVMValueRef *args);

/* ---- control: codegen/control.c ------------------------------------------ */

LLVMBasicBlockRef emit_block(Emit *e, const char *name); /* appended to the function, not entered */
void emit_enter(Emit *e, LLVMBasicBlockRef block);       /* the builder goes on there */
/* A branch one side of which is unlikely: 1 the first, 2 the second, 0 neither.
 */
void emit_branch(Emit *e, LLVMValueRef condition, LLVMBasicBlockRef yes, LLVMBasicBlockRef no,
                 int unlikely);
/* stack memory of the function */
LLVMValueRef emit_slot(Emit *e, uint64_t bytes, unsigned alignment);

/* for i = lo .. hi-1 by step (> 0), with carried values. Usage:
 *   EmitLoop l = {0};
 *   emit_loop_begin(e, &l, lo, hi, step, n, init);   // l.index and l.carried[k] are the region's parameters
 *   ... body ...
 *   emit_loop_end(e, &l, next);                      // then l.carried[k] are the results
 * Bodies may contain any blocks. lo and hi are i64. at_least_once saves the
 * test before the first turn when the caller knows lo < hi. */
typedef struct EmitLoop {
	LLVMValueRef index, hi;
	LLVMValueRef *carried;
	uint32_t n;
	int64_t step;
	bool at_least_once;
	LLVMBasicBlockRef before, body, after;
	const LLVMValueRef *init;
} EmitLoop;
void emit_loop_begin(Emit *e, EmitLoop *l, LLVMValueRef lo, LLVMValueRef hi, int64_t step,
                     uint32_t n, const LLVMValueRef *init);
void emit_loop_end(Emit *e, EmitLoop *l, const LLVMValueRef *next);

/* if (condition) { ... } else { ... } with n joined values. Usage: begin; first
 * part; else(values); second part; end(values, results). */
typedef struct EmitIf {
	LLVMBasicBlockRef other, after, from;
	LLVMValueRef *first;
	uint32_t n;
} EmitIf;
void emit_if_begin(Emit *e, EmitIf *c, LLVMValueRef condition, int unlikely);
void emit_if_else(Emit *e, EmitIf *c, uint32_t n, const LLVMValueRef *values);
void emit_if_end(Emit *e, EmitIf *c, const LLVMValueRef *values, LLVMValueRef *results);

/* The function stops with this status (i32) where `condition` (i1) holds;
 * emission goes on where it does not. */
void emit_fail(Emit *e, LLVMValueRef condition, LLVMValueRef status);
/* Stops when a status that was returned is not zero. */
void emit_check(Emit *e, LLVMValueRef status);

/* Instructions from `at` to the end of the region; `at` of the next one comes
 * back, *end is the K_END (or K_RETURN). */
uint32_t emit_region(Emit *e, uint32_t at, const KInst **end);

/* Instructions that own regions: emits them and their regions, which begin at
 * `at`; the instruction after them comes back. */
uint32_t emit_nest(Emit *e, const KInst *in, uint32_t at);
void emit_CALL(Emit *e, const KInst *in);
/* Gives the function, which has the region of f that begins at `at`, its
 * attribute when that is plain: no vector loop, no loop without calls, few real
 * numbers. Where such loops are all that it lacks, in a large module, they are
 * made functions of their own: e->apart. */
void emit_mark_plain(Emit *e, LLVMValueRef function, const KFn *f, uint32_t at);
void emit_FAIL_IF(Emit *e, const KInst *in);
/* Instructions without regions and without an effect on where the program goes
 * on. */
void emit_plain(Emit *e, const KInst *in);
/* What is emitted next comes from the instruction's place in the user's text.
 */
void emit_line(Emit *e, const KInst *in);
/* A long stretch of element-wise instructions that begins at `at`: the
 * instruction after it comes back, `at` itself where there is none.
 * instruction_order.c */
uint32_t emit_stretch(Emit *e, uint32_t at);
/* A vector loop's region that begins at `at`, without its end, where it has
 * chains that have nothing to do with each other: turn about. `at` itself where
 * there are none. interleave.c */
uint32_t emit_interleaved(Emit *e, uint32_t at);
/* An instruction without regions. */
void emit_one(Emit *e, const KInst *in);
void emit_POLL(Emit *e, const KInst *in);
void emit_PROGRESS(Emit *e, const KInst *in);

/* ---- functions: emit.c --------------------------------------------------- */

/* The attribute of functions that are run once in a call, or once for a block
 * of many rows: they pass pointers on, call what has the loops, and gain
 * nothing from a better compilation. */
#define EMIT_PLAIN "atled-plain"
/* the LLVM function of function k */
LLVMValueRef emit_declare(Emit *e, uint32_t k);
/* e->fn becomes a new frame; the caller puts e->fn back */
EmitFn *emit_enter_fn(Emit *e, uint32_t k, LLVMValueRef *args);
void emit_open_function(Emit *e, LLVMValueRef function, LLVMTypeRef type);
void emit_close_function(Emit *e, uint32_t nresults, const LLVMValueRef *results);

/* ---- functions inside of the one that is being emitted, which waits: helper_functions.c ---- */

typedef struct EmitOuter {
	LLVMValueRef function;
	LLVMBasicBlockRef entry, here;
	LLVMMetadataRef line;
	EmitVector *vector;
} EmitOuter;
/* The function of this name: the module's, or a precompiled one, which is
 * declared. NULL: it is to be made. The name and the target (caches aside) must
 * say all that the function depends on. */
LLVMValueRef emit_kernel(Emit *e, const char *name, LLVMTypeRef type);
/* Begins an internal function of the module, never inlined. plain: LLVM spends
 * less time on it, and it is not precompiled. The end returns nothing when x is
 * NULL. */
LLVMValueRef emit_inner_begin(Emit *e, const char *name, LLVMTypeRef type, bool plain,
                              EmitOuter *outer);
void emit_inner_end(Emit *e, const EmitOuter *outer, LLVMValueRef x);
/* Is an access of lanes that are no neighbours, or of bools of which some are
 * masked, better made one lane after the other by a function of the module?
 * Where it is rare (the rest of a vector loop), and where compiling fast is all
 * that counts. */
bool emit_lane_by_lane(const Emit *e, KType t, uint32_t lanes, bool neighbours);
/* The first `count` (i64) of `lanes` lanes; the others load as 0. Addresses:
 * `address` and, in bytes, a stride (i64) or a vector of offsets. */
LLVMValueRef emit_load_lanes(Emit *e, KType t, uint32_t lanes, LLVMValueRef address,
                             LLVMValueRef offsets, LLVMValueRef count, KRef root);
void emit_store_lanes(Emit *e, KType t, LLVMValueRef value, LLVMValueRef address,
                      LLVMValueRef offsets, LLVMValueRef count, KRef root);

/* ---- memory: memory.c ---------------------------------------------------- */

/* The address of element `index` (i64) of elements of type t. */
LLVMValueRef emit_element(Emit *e, KType t, LLVMValueRef pointer, LLVMValueRef index);
/* `lanes` neighbours (1: a scalar) at `address`, aligned to single elements.
 * `pointer` is the kernel pointer that the address was made from: it says what
 * the access cannot touch; 0: nothing is known. mask NULL: all lanes.
 * Masked-off lanes load as 0 and are not touched. */
LLVMValueRef emit_load(Emit *e, KType t, uint32_t lanes, LLVMValueRef address, KRef pointer,
                       LLVMValueRef mask);
void emit_store(Emit *e, KType t, LLVMValueRef value, LLVMValueRef address, KRef pointer,
                LLVMValueRef mask);
/* `lanes` elements, lane l at pointer + index + l*stride. */
LLVMValueRef emit_load_strided(Emit *e, KType t, uint32_t lanes, LLVMValueRef pointer,
                               LLVMValueRef index, LLVMValueRef stride, KRef root,
                               LLVMValueRef mask);
void emit_store_strided(Emit *e, KType t, LLVMValueRef value, LLVMValueRef pointer,
                        LLVMValueRef index, LLVMValueRef stride, KRef root, LLVMValueRef mask);
/* The mask of the first `count` (i64) of `lanes` lanes. */
LLVMValueRef emit_first_lanes(Emit *e, uint32_t lanes, LLVMValueRef count);
/* Which loads of a vector loop whose region begins at `at` are neighbours of
 * each other, for turns without a mask; NULL: none. stencil_loads.c */
struct EmitNear *emit_find_near(Emit *e, uint32_t at, uint32_t lanes);
/* Of those, the ones whose first register is what the turn before has loaded:
 * how many. `in` is the loop, its instruction number `loop`. */
enum { EMIT_NEAR_CARRIED = 4 };
uint32_t emit_near_carries(Emit *e, struct EmitNear *near, const KInst *in, uint32_t loop);
/* Their values for the first turn, which is now known to come; in the body,
 * what the turn is given; after it what the next one is. */
void emit_near_begin(Emit *e, struct EmitNear *near, const KInst *in, LLVMValueRef *init);
void emit_near_open(struct EmitNear *near, const LLVMValueRef *carried);
void emit_near_close(struct EmitNear *near, LLVMValueRef *next);
/* The value of a load that is made of its neighbour, or is that; NULL: an
 * ordinary one. */
LLVMValueRef emit_near(Emit *e, const KInst *in, LLVMValueRef pointer, LLVMValueRef index);
/* The value of a load at an index for each lane, without a mask, where others
 * read the elements beside its own: what lies together is read lane by lane and
 * turned. NULL: an ordinary one. */
LLVMValueRef emit_beside(Emit *e, const KInst *in, LLVMValueRef pointer, LLVMValueRef index);
/* n vectors of n lanes (a power of two) transposed, in their places. */
void emit_transpose(Emit *e, uint32_t n, LLVMValueRef *x);
/* Says of an access made by hand what it cannot touch. */
void emit_tag(Emit *e, LLVMValueRef access, KRef pointer);
/* can two pointers of the function not share memory? */
bool emit_apart(const Emit *e, KRef p, KRef q);
void emit_tag_call_record(Emit *e, LLVMValueRef access);
void emit_find_roots(Emit *e, uint32_t fn);
void emit_LOAD(Emit *e, const KInst *in);
void emit_STORE(Emit *e, const KInst *in);
void emit_AHEAD(Emit *e, const KInst *in);

/* ---- element-wise: codegen/prims.c --------------------------------------- */

/* An element-wise primitive on operands of type t and equal widths; y is NULL
 * for one operand. */
LLVMValueRef emit_prim(Emit *e, Op prim, KType t, LLVMValueRef x, LLVMValueRef y);
/* Its row in prims.def: whether it has one of these traits, and how much code
 * it is (column CODE). */
bool emit_prim_has(Op prim, uint32_t traits);
uint32_t emit_prim_size(Op prim);
/* All lanes joined by add, mul, max or min in a fixed tree: the upper half onto
 * the lower half until one is left. */
LLVMValueRef emit_fold(Emit *e, Op prim, KType t, LLVMValueRef x);
LLVMValueRef emit_convert(Emit *e, KType from, KType to, LLVMValueRef x);

/* ---- maths: codegen/vector_math.c ---------------------------------------- */

/* Function `name` of the vector maths ("exp", "pow") for f32 or f64 values of
 * any width; y is NULL for one operand. */
LLVMValueRef emit_math(Emit *e, const char *name, KType t, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef emit_real_mod(Emit *e, KType t, LLVMValueRef x, LLVMValueRef y);
/* Links the functions that were used into the module. */
void emit_math_link(Emit *e);

/* ---- contractions: contract.c -------------------------------------------- */

/* K_CONTRACT. Operands in the order of KIR_OPS: emit_operand(e, in, 0..11) are
 * c, c_row, c_col, a, a_row, a_k, b, b_k, b_col, m, n, k; then the a and b of
 * each further product. */
void emit_contract(Emit *e, const KInst *in);
/* The last argument of a large product through the runtime: its NativeTiles,
 * NULL where BLAS has better ones. */
LLVMValueRef emit_large_tiles(Emit *e, KType t);

/* ---- precompiled functions: precompiled.c -------------------------------- */

/* The attribute of functions that any module for the target may share. */
#define EMIT_KERNEL "atled-kernel"
/* The precompiled function of this name for the module's target; NULL: there is
 * none. Its object follows it. */
const NativeKernel *kernel_named(const Emit *e, const char *name);

/* ---- constants: constant_pool.c ------------------------------------------ */

/* After the passes: constants of vectors of 32 bytes become operands in memory.
 */
void emit_constants(Emit *e);

/* ---- target, object: target.c, object.c ---------------------------------- */

/* machine, data layout and triple of the module */
void target_open(Emit *e);
/* floor and round are instructions */
bool target_rounds(Emit *e);
void target_set_attributes(Emit *e, LLVMValueRef function); /* CPU, features, no exceptions */
/* All functions; what they use of the vector maths is only declared. */
void emit_module(Emit *e);

#endif
