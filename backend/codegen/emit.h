/* emit.h - state of one emission and the interface between its files.
 *
 * Covers types, values, memory, loops, branches and failure.
 *
 * Contract:
 * - Private to backend/codegen/. Needs LLVM's C API and kir.h.
 * - Every function emits or leaves through emit_stop with a message, so callers
 *   need no error paths.
 * - Memory from emit_alloc lives as long as the Emitter.
 *
 * Values: a kernel value is an LLVM value in `vals`. Uniform values and values
 * of one lane are scalars; varying values of L > 1 lanes are vectors <L x t>. A
 * bool is i1 as a value and i8 (0 or 1) in memory. Pointers are `ptr` and
 * always scalar.
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

/* The vector loop around the instruction: its lanes, the element of lane 0
 * (`base`), the number of elements (`n`) and the mask. */
typedef struct EmitVector {
	uint32_t lanes;
	/* trip_count: upper bound of the iterations emitted now; at most n. */
	LLVMValueRef base, n, trip_count;
	/* <lanes x i1>, for accesses that must not go past the end. NULL: every
	 * lane is an element or may be treated as one. */
	LLVMValueRef mask;
	bool padded; /* unit-stride accesses need no mask, even when there is one */
	struct EmitStencilLoads *stencil_loads; /* stencil loads that share registers; NULL: none */
	bool partial; /* some lanes may be past n: K_MASK and failures must check */
} EmitVector;

/* The allocation that pointers of the current function point into. Accesses
 * through pointers of two roots do not alias if the roots cannot share memory
 * (emit_apart). */
typedef struct EmitRoot {
	bool buffer, alone, written;
	/* metadata: the root's alias scope; lists of that scope and of those it
	 * does not alias */
	LLVMValueRef scope, same, others;
} EmitRoot;

/* The function whose kernel code is being emitted. Inlined calls form a chain
 * through `outer`. */
typedef struct EmitFn {
	struct EmitFn *outer;
	const KFn *f;
	/* copy of f for epilogues of vector loops with half as many lanes; NULL
	 * until needed */
	KFn *half;
	uint32_t fn, depth; /* depth: number of inlined calls around it */
	LLVMValueRef *vals; /* by KRef */
	LLVMValueRef *args; /* of K_PARAM */
	/* by KRef: last instruction that uses the value; NULL until first needed */
	uint32_t *last_uses;
	uint32_t short_from, short_to; /* instructions known to begin no long stretch */
	uint32_t *root_of;             /* by KRef: root of a pointer; 0: unknown */
	EmitRoot *roots;               /* entry 0 is unused; shared by all emissions of `f` */
	uint32_t nroots;
} EmitFn;

typedef struct Emitter {
	const KModule *m;
	const CodegenOptions *options;
	/* optimisation level of LLVM's passes and back end for this part of the
	 * module; emission itself depends on options->level */
	int level;
	char *error;
	size_t error_size;
	jmp_buf stop;
	struct EmitBlock *memory; /* blocks of emit_alloc */

	LLVMContextRef context;
	LLVMModuleRef module;
	LLVMBuilderRef b;
	LLVMTargetMachineRef machine;
	LLVMTypeRef i1, i8, i32, i64, f32, f64, ptr, token;
	LLVMTypeRef call_type;   /* NativeCall */
	LLVMValueRef *functions; /* by function index; NULL until declared */
	LLVMTypeRef *function_types;
	struct EmitRoots {
		EmitRoot *roots;
		uint32_t *root_of, nroots;
	} * all_roots; /* by function index */
	/* alias metadata for accesses to the call record */
	LLVMValueRef domain, call_scopes, call_others;
	uint64_t frame_bytes;      /* more than the frame of any function of the module */
	uint32_t nbodies, nleaves; /* parallel bodies and outlined loops so far, for their names */
	const NativeKernel *kernels[NATIVE_PARTS_MOST]; /* precompiled functions that are called */
	uint32_t nkernels;
	LLVMDIBuilderRef lines; /* NULL: no line table */
	LLVMMetadataRef file, unit, subprogram;

	/* the LLVM function under construction */
	LLVMValueRef function, call, depth_left;
	bool returns_record; /* {status, results...}; otherwise the status alone */
	/* loops without calls are outlined, so that the remaining code is plain */
	bool apart;
	LLVMTypeRef return_type;
	LLVMBasicBlockRef entry;     /* holds the stack slots */
	LLVMBasicBlockRef failure;   /* returns `failure_status` */
	LLVMValueRef failure_status; /* phi */
	uint32_t emitted;            /* instructions so far; limits inlining */
	EmitFn *fn;
	EmitVector *vector; /* NULL outside of vector loops */
	/* Results of loads already emitted together with an earlier load. */
	struct AdjacentGather *adjacent;
} Emitter;

/* Leaves the emission. The formatted message becomes CodegenOutput.error. */
_Noreturn void emit_stop(Emitter *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
void *emit_alloc(Emitter *e, size_t bytes); /* zeroed */
void emit_free(Emitter *e);                 /* frees all blocks of emit_alloc */

/* ---- types and values: emit.c -------------------------------------------- */

LLVMTypeRef emit_type(Emitter *e, KType t, uint32_t lanes);        /* lanes 0 and 1: the scalar */
LLVMTypeRef emit_memory_type(Emitter *e, KType t, uint32_t lanes); /* the same, with i8 for bool */
static inline KType emit_ref_type(const Emitter *e, KRef x) {
	return (KType)e->fn->f->vals.at[x].type;
}
static inline uint32_t emit_ref_lanes(const Emitter *e, KRef x) {
	return e->fn->f->vals.at[x].lanes;
}
static inline KRef emit_operand(const Emitter *e, const KInst *in, uint32_t k) {
	return e->fn->f->refs.at[in->args + k];
}
/* Returns the value as it is, scalar or vector; stops when it is undefined. */
LLVMValueRef emit_value(Emitter *e, KRef x);
/* Broadcasts a scalar to `lanes` lanes; vectors of that width are returned as
 * they are. */
LLVMValueRef emit_spread(Emitter *e, LLVMValueRef x, uint32_t lanes);
LLVMValueRef emit_value_in(Emitter *e, KRef x, uint32_t lanes); /* emit_spread of emit_value */
LLVMValueRef emit_i32(Emitter *e, int32_t x);
LLVMValueRef emit_i64(Emitter *e, int64_t x);
/* A constant of type t, broadcast to `lanes` lanes. x must be an integer when t
 * is an integer type. */
LLVMValueRef emit_number(Emitter *e, KType t, uint32_t lanes, double x);
uint32_t emit_lanes(LLVMValueRef x); /* 1 for scalars */
/* A lane of -1 is undefined (poison). */
LLVMValueRef emit_shuffle(Emitter *e, LLVMValueRef x, LLVMValueRef y, uint32_t n, const int *lanes);
/* Lanes first .. first+n-1 of x. */
LLVMValueRef emit_part(Emitter *e, LLVMValueRef x, uint32_t first, uint32_t n);
/* Concatenates n values of equal width; overwrites `parts`. */
LLVMValueRef emit_join(Emitter *e, uint32_t n, LLVMValueRef *parts);
/* Calls the LLVM intrinsic `name`, given without type suffixes and overloaded
 * on `types`. */
LLVMValueRef emit_intrinsic(Emitter *e, const char *name, unsigned ntypes, LLVMTypeRef *types,
                            unsigned nargs, LLVMValueRef *args);
/* The same, overloaded on x's type. */
LLVMValueRef emit_intrinsic1(Emitter *e, const char *name, LLVMValueRef x);
LLVMValueRef emit_intrinsic2(Emitter *e, const char *name, LLVMValueRef x, LLVMValueRef y);
/* x*y + z, fused (one rounding) where the target has an FMA instruction. Takes
 * scalars or vectors. */
LLVMValueRef emit_muladd(Emitter *e, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z);
/* Calls a runtime function of abi.h, which is declared on first use. `types`
 * has one letter per type, the result first: p pointer, l i64, i i32, v
 * none. */
LLVMValueRef emit_runtime(Emitter *e, const char *name, const char *types, LLVMValueRef *args);

/* ---- control: codegen/control.c ------------------------------------------ */

LLVMBasicBlockRef emit_block(Emitter *e, const char *name); /* appended, not entered */
void emit_enter(Emitter *e, LLVMBasicBlockRef block); /* moves the builder to the block's end */
/* Conditional branch. unlikely: 1 the first successor, 2 the second, 0
 * neither. */
void emit_branch(Emitter *e, LLVMValueRef condition, LLVMBasicBlockRef yes, LLVMBasicBlockRef no,
                 int unlikely);
/* Allocates stack memory in the function's entry block. */
LLVMValueRef emit_slot(Emitter *e, uint64_t bytes, unsigned alignment);

/* Emits for (i = lo; i < hi; i += step) with loop-carried values; step > 0.
 * Usage:
 *   EmitLoop l = {0};
 *   emit_loop_begin(e, &l, lo, hi, step, n, init);
 *       // l.index and l.carried[k] are the region's parameters
 *   ... body ...
 *   emit_loop_end(e, &l, next);
 *       // l.carried[k] are the results
 * Bodies may contain any blocks. lo and hi are i64. A caller that knows lo < hi
 * sets at_least_once, which omits the test before the first iteration. */
typedef struct EmitLoop {
	LLVMValueRef index, hi;
	LLVMValueRef *carried;
	uint32_t n;
	int64_t step;
	bool at_least_once;
	LLVMBasicBlockRef before, body, after;
	const LLVMValueRef *init;
} EmitLoop;
void emit_loop_begin(Emitter *e, EmitLoop *l, LLVMValueRef lo, LLVMValueRef hi, int64_t step,
                     uint32_t n, const LLVMValueRef *init);
void emit_loop_end(Emitter *e, EmitLoop *l, const LLVMValueRef *next);

/* Emits if (condition) { ... } else { ... } with n results, merged by phis.
 * Usage: emit_if_begin; first branch; emit_if_else(values); second branch;
 * emit_if_end(values, results). */
typedef struct EmitIf {
	LLVMBasicBlockRef other, after, from;
	LLVMValueRef *first;
	uint32_t n;
} EmitIf;
void emit_if_begin(Emitter *e, EmitIf *c, LLVMValueRef condition, int unlikely);
void emit_if_else(Emitter *e, EmitIf *c, uint32_t n, const LLVMValueRef *values);
void emit_if_end(Emitter *e, EmitIf *c, const LLVMValueRef *values, LLVMValueRef *results);

/* Returns `status` (i32) from the function if `condition` (i1) holds. Emission
 * continues where it does not. */
void emit_fail(Emitter *e, LLVMValueRef condition, LLVMValueRef status);
/* Returns `status` from the function if it is not zero. */
void emit_check(Emitter *e, LLVMValueRef status);

/* Emits the instructions from `at` to the end of the region. Returns the index
 * after the terminator and sets *end to it (K_END or K_RETURN; NULL if
 * missing). */
uint32_t emit_region(Emitter *e, uint32_t at, const KInst **end);

/* Emits an instruction that owns regions, and its regions, which begin at `at`.
 * Returns the index of the instruction after them. */
uint32_t emit_nest(Emitter *e, const KInst *in, uint32_t at);
void emit_CALL(Emitter *e, const KInst *in);
/* Marks `function` with EMIT_PLAIN if its code, the region of f at `at`, is
 * plain: no vector loop, no loop without calls, few floating-point operations.
 * In a large module, when only such loops prevent this, the function is marked
 * and the loops are outlined (e->apart). */
void emit_mark_plain(Emitter *e, LLVMValueRef function, const KFn *f, uint32_t at);
void emit_FAIL_IF(Emitter *e, const KInst *in);
/* Emits an instruction that has no regions and does not change control flow. */
void emit_plain(Emitter *e, const KInst *in);
/* Sets the source location for the code emitted next to that of `in`. */
void emit_line(Emitter *e, const KInst *in);
/* Emits the long stretch of element-wise instructions that begins at `at`.
 * Returns the index after it, or `at` if there is none. instruction_order.c */
uint32_t emit_vector_split(Emitter *e, uint32_t at);
/* Emits a vector loop's region that begins at `at`, without its terminator,
 * with its independent dependency chains interleaved. Returns `at` if it has
 * none. interleave.c */
uint32_t emit_interleaved(Emitter *e, uint32_t at);
/* Emits one instruction without regions, with its source location. */
void emit_one(Emitter *e, const KInst *in);
void emit_POLL(Emitter *e, const KInst *in);
void emit_PROGRESS(Emitter *e, const KInst *in);

/* ---- functions: emit.c --------------------------------------------------- */

/* Attribute of functions that run once in a call, or once for a block of many
 * rows. They only pass pointers to the functions with the loops, so optimising
 * them gains nothing. */
#define EMIT_PLAIN "atled-plain"
/* Returns the LLVM function of function k, declaring it if needed. */
LLVMValueRef emit_declare(Emitter *e, uint32_t k);
/* Makes a new frame the current e->fn; the caller restores e->fn. */
EmitFn *emit_enter_fn(Emitter *e, uint32_t k, LLVMValueRef *args);
void emit_open_function(Emitter *e, LLVMValueRef function, LLVMTypeRef type);
void emit_close_function(Emitter *e, uint32_t nresults, const LLVMValueRef *results);

/* ---- functions emitted while another one waits: helper_functions.c ------- */

typedef struct SavedPosition {
	LLVMValueRef function;
	LLVMBasicBlockRef entry, here;
	LLVMMetadataRef line;
	EmitVector *vector;
} SavedPosition;
/* Returns the function `name` of the module, or declares the precompiled one.
 * NULL: the caller must emit it. The name and the target (except its cache
 * sizes) must determine the function's code. */
LLVMValueRef emit_kernel(Emitter *e, const char *name, LLVMTypeRef type);
/* Begins an internal function of the module that is never inlined. plain: LLVM
 * does not optimise it, and it is not precompiled. emit_helper_end returns x
 * from it, nothing when x is NULL, and resumes the function saved in
 * `outer`. */
LLVMValueRef emit_helper_begin(Emitter *e, const char *name, LLVMTypeRef type, bool plain,
                               SavedPosition *outer);
void emit_helper_end(Emitter *e, const SavedPosition *outer, LLVMValueRef x);
/* Is this access better made one lane at a time, by a helper function? It is
 * where lanes are not neighbours and the access is masked (the epilogue of a
 * vector loop) or compile time matters most. It also is for masked neighbours
 * where the target has no suitable masked instruction. */
bool emit_lane_by_lane(const Emitter *e, KType t, uint32_t lanes, bool neighbours);
/* Loads or stores the first `count` (i64) of `lanes` lanes; the other lanes
 * load as 0. `offsets` is a stride (i64) or a vector of offsets from `address`,
 * in bytes. */
LLVMValueRef emit_load_lanes(Emitter *e, KType t, uint32_t lanes, LLVMValueRef address,
                             LLVMValueRef offsets, LLVMValueRef count, KRef root);
void emit_store_lanes(Emitter *e, KType t, LLVMValueRef value, LLVMValueRef address,
                      LLVMValueRef offsets, LLVMValueRef count, KRef root);

/* ---- memory: memory.c ---------------------------------------------------- */

/* The address of element `index` (i64) of an array of type t. */
LLVMValueRef emit_element(Emitter *e, KType t, LLVMValueRef pointer, LLVMValueRef index);
/* Loads `lanes` neighbours (1: a scalar) at `address`, which is aligned to one
 * element. `pointer` is the kernel pointer that `address` is derived from, for
 * alias information; 0: unknown. mask NULL: all lanes. Masked-off lanes load as
 * 0 and are not accessed. */
LLVMValueRef emit_load(Emitter *e, KType t, uint32_t lanes, LLVMValueRef address, KRef pointer,
                       LLVMValueRef mask);
void emit_store(Emitter *e, KType t, LLVMValueRef value, LLVMValueRef address, KRef pointer,
                LLVMValueRef mask);
/* Loads `lanes` elements, lane l at pointer + index + l*stride. */
LLVMValueRef emit_load_strided(Emitter *e, KType t, uint32_t lanes, LLVMValueRef pointer,
                               LLVMValueRef index, LLVMValueRef stride, KRef root,
                               LLVMValueRef mask);
void emit_store_strided(Emitter *e, KType t, LLVMValueRef value, LLVMValueRef pointer,
                        LLVMValueRef index, LLVMValueRef stride, KRef root, LLVMValueRef mask);
/* The mask of the first `count` (i64) of `lanes` lanes. */
LLVMValueRef emit_first_lanes(Emitter *e, uint32_t lanes, LLVMValueRef count);
/* Finds the stencil loads of a vector loop whose region begins at `at`, for
 * iterations without a mask. Returns NULL if there are none. stencil_loads.c */
struct EmitStencilLoads *emit_stencil_loads_find(Emitter *e, uint32_t at, uint32_t lanes);
/* Returns how many of these loads take their first register from the previous
 * iteration. `in` is the loop, `loop` its instruction index. */
enum { EMIT_STENCIL_CARRIED = 4 };
uint32_t emit_stencil_loads_carry(Emitter *e, struct EmitStencilLoads *stencil_loads,
                                  const KInst *in, uint32_t loop);
/* Carried registers: emit_stencil_loads_begin loads them for the first
 * iteration, which must be known to run. emit_stencil_loads_open takes them at
 * the start of the body; emit_stencil_loads_close gives those of the next
 * iteration. */
void emit_stencil_loads_begin(Emitter *e, struct EmitStencilLoads *stencil_loads, const KInst *in,
                              LLVMValueRef *init);
void emit_stencil_loads_open(struct EmitStencilLoads *stencil_loads, const LLVMValueRef *carried);
void emit_stencil_loads_close(struct EmitStencilLoads *stencil_loads, LLVMValueRef *next);
/* The value of a load that belongs to a stencil; NULL: an ordinary load. */
LLVMValueRef emit_stencil_load(Emitter *e, const KInst *in, LLVMValueRef pointer,
                               LLVMValueRef index);
/* The value of an unmasked indexed load when other loads read the elements
 * beside its own: each lane's neighbours are loaded as a row and transposed.
 * NULL: an ordinary load. */
LLVMValueRef emit_adjacent_gather(Emitter *e, const KInst *in, LLVMValueRef pointer,
                                  LLVMValueRef index);
/* Transposes n vectors of n lanes in place; n is a power of two. */
void emit_transpose(Emitter *e, uint32_t n, LLVMValueRef *x);
/* Attaches the alias metadata of `pointer`'s root to an access. */
void emit_tag(Emitter *e, LLVMValueRef access, KRef pointer);
/* Are the two pointers of the function known not to alias? */
bool emit_apart(const Emitter *e, KRef p, KRef q);
void emit_tag_call_record(Emitter *e, LLVMValueRef access);
void emit_find_roots(Emitter *e, uint32_t fn);
void emit_LOAD(Emitter *e, const KInst *in);
void emit_STORE(Emitter *e, const KInst *in);
void emit_AHEAD(Emitter *e, const KInst *in);

/* ---- element-wise: codegen/prims.c --------------------------------------- */

/* An element-wise primitive on operands of type t and equal widths. y is NULL
 * for one operand. */
LLVMValueRef emit_prim(Emitter *e, Op prim, KType t, LLVMValueRef x, LLVMValueRef y);
/* Has the primitive one of these traits of prims.def? */
bool emit_prim_has(Op prim, uint32_t traits);
uint32_t emit_prim_size(Op prim);
/* Reduces all lanes by add, mul, max or min in a fixed tree: the upper half is
 * combined with the lower half until one lane is left. */
LLVMValueRef emit_reduce_lanes(Emitter *e, Op prim, KType t, LLVMValueRef x);
LLVMValueRef emit_convert(Emitter *e, KType from, KType to, LLVMValueRef x);

/* ---- transcendental functions: codegen/vector_math.c --------------------- */

/* Calls function `name` ("exp", "pow") of backend/vmath for f32 or f64 values
 * of any width. y is NULL for one operand. */
LLVMValueRef emit_math(Emitter *e, const char *name, KType t, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef emit_real_mod(Emitter *e, KType t, LLVMValueRef x, LLVMValueRef y);
/* Links the bitcode of the functions in use into the module. */
void emit_math_link(Emitter *e);

/* ---- contractions: contract.c, contract_columns.c ------------------------ */

/* Emits K_CONTRACT. Operands 0..11 are c, c_row, c_col, a, a_row, a_k, b, b_k,
 * b_col, m, n, k, as KIR_OPS says; then the a and b of each further product. */
void emit_contract(Emitter *e, const KInst *in);
/* The last argument of a large product through the runtime: its NativeTiles, or
 * null where BLAS is faster. */
LLVMValueRef emit_large_tiles(Emitter *e, KType t);

/* ---- precompiled functions: precompiled.c -------------------------------- */

/* Attribute of functions that any module for the target may share. */
#define EMIT_KERNEL "atled-kernel"
/* Returns the precompiled function of this name for the module's target, NULL
 * if there is none. Its object file follows it in memory. */
const NativeKernel *kernel_named(const Emitter *e, const char *name);

/* ---- constants: constant_pool.c ------------------------------------------ */

/* Turns vector constants of 32 bytes into memory operands; runs after the
 * passes. */
void emit_constants(Emitter *e);

/* ---- target, object: target.c, object.c ---------------------------------- */

/* Creates the target machine and sets the module's data layout and triple. */
void target_open(Emitter *e);
/* Are floor and round single instructions? */
bool target_rounds(Emitter *e);
void target_set_attributes(Emitter *e, LLVMValueRef function); /* CPU, features, no exceptions */
/* Emits all functions. Functions of backend/vmath in use are only declared. */
void emit_module(Emitter *e);

#endif
