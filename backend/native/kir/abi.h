/* abi.h - what generated code and the program around it agree on: one record
 * per call, and the runtime functions it may call.
 *
 * Needs: nothing but C's own headers; shared by the program (which makes the
 * call) and the code generator (which knows the offsets). Change
 * NATIVE_ABI_VERSION with any change here: cached objects of another version
 * are not loaded.
 */
#ifndef ATLED_BACKEND_NATIVE_ABI_H
#define ATLED_BACKEND_NATIVE_ABI_H

#include <stdbool.h>
#include <stdint.h>

#define NATIVE_ABI_VERSION 10

/* Scalars travel in 8-byte words: f64 as its bits, f32 in the low half, i64,
 * i32 sign-extended, bool as 0 or 1. */
typedef struct NativeCall {
	/* arrays by number: inputs, outputs, native_nowhere(). Row-major,
	 * readable to the next multiple of 64 bytes; ours are 64-byte aligned */
	void **buffers;
	const int64_t *words; /* scalar inputs and lengths by number */
	int64_t *results;     /* scalar results by number */
	/* work units until the next poll: code subtracts, and calls
	 * atled_rt_poll when it is negative */
	int64_t poll_left;
	/* calls of generated functions by generated functions that may still be
	 * nested */
	int64_t depth_left;
	/* where it failed: number of the failing check in the unit's table, and
	 * two numbers for the message */
	int64_t site;
	int64_t fail_a, fail_b;
	void *runtime; /* the runtime's own state */
	int64_t asked; /* not 0: somebody wants to know how far loops have come */
	int64_t iteration,
		trip_count;   /* of the outermost loop; trip_count 0: none, -1: it is not known how many */
	const void *unit; /* whose sites they are; for the runtime */
	const void *const *hosts; /* the unit's calls of host functions, by number */
	uintptr_t stack_low;      /* lowest address of the C stack that the code runs on */
} NativeCall;

/* What an entry, a parallel body and most runtime functions return; the values
 * of lang's Status are passed through unchanged. */
enum {
	NATIVE_OK = 0,
	NATIVE_FAILED_AT_SITE = 64,
	NATIVE_TOO_DEEP = 65,   /* depth_left would have gone below zero */
	NATIVE_STACK_SHORT = 66 /* the next frames may not fit on the C stack */
};

typedef int32_t (*NativeEntry)(NativeCall *call);
/* One part of a parallel loop; env is the record of captured values that the
 * generated code made. */
typedef int32_t (*NativeBody)(NativeCall *call, void *env, int64_t part);

/* ---- the runtime --------------------------------------------------------- */

/* Every function that generated code may call, by the name it is linked under.
 * Vector maths has one more, see backend/vmath/payne_hanek.h. */

/* Runs body for parts 0..nparts-1 on the pool, each exactly once; the first
 * failing part's status, lowest part first. */
int32_t atled_rt_parallel(NativeCall *call, NativeBody body, void *env, int64_t nparts);
/* Serves the context's poll point; a Status. Resets poll_left. Safe (and cheap)
 * on worker threads, where it only looks at the stop flag. */
int32_t atled_rt_poll(NativeCall *call);
/* A loop says how far it has come: at this site, with words for up to 8
 * numbers. PROGRESS_ENTER, PROGRESS_LEAVE: it begins, it has ended. */
enum {
	PROGRESS_ENTER = -1,
	PROGRESS_LEAVE = -2,
	PROGRESS_ITERATION = -3 /* kernel code only: iteration and trip count are stored */
};
void atled_rt_progress(NativeCall *call, int64_t site, int64_t step, int64_t steps,
                       const void *values);
/* Scratch of the whole call, 64-byte aligned and padded, alive until the entry
 * returns; NULL when memory fails or bytes is negative. */
void *atled_rt_arena(NativeCall *call, int64_t bytes);
/* Scratch of the calling thread, 64-byte aligned and padded, alive until the
 * part (or, outside of parallel loops, the entry) returns. */
void *atled_rt_scratch(NativeCall *call, int64_t bytes);
/* A failure passes the call with this number of a site on its way out, the
 * innermost first; where a recursion is too deep, the first is the call that
 * was not made. */
void atled_rt_called(NativeCall *call, int64_t site);
void atled_rt_copy(void *to, const void *from, int64_t bytes);
void atled_rt_zero(void *at, int64_t bytes);
/* C's rows by one panel of columns, [k][b_step bytes] of B, made by the code
 * generator for its target: C = A B, or C += A B where `add` holds. Strides in
 * bytes, those of B and C along the columns their element's size; `left`:
 * columns from the panel's first one to the last of all; `panels` of them lie
 * side by side; `bias`: what is added to each row of C in the end, from the
 * panel's first column on, or NULL. */
typedef void (*NativePanel)(void *c, int64_t c_row, int64_t c_col, const void *a, int64_t a_row,
                            int64_t a_k, const void *b, int64_t b_step, int64_t m, int64_t k,
                            int64_t left, bool add, int64_t panels, const void *bias);
/* Copies a panel transposed: k lines of `width` elements, of which element j of
 * line p is at from + j step + p elements; those from number `left` on are
 * element left-1. Up to a vector of lines past k is written. */
typedef void (*NativeTranspose)(void *panel, const void *from, int64_t step, int64_t left,
                                int64_t width, int64_t k);
/* How large products are made by tiles of so many rows and columns: */
typedef struct NativeTiles {
	/* ragged: some columns of the last vector may lie past the last one;
	 * single: the same of one vector of columns alone */
	NativePanel whole, ragged, single;
	/* for widths that are multiples of `lanes`, as `columns` is; `rows`
	 * divides it */
	NativeTranspose transpose;
	int64_t rows, columns, lanes;
} NativeTiles;
/* C[m,n] = (how & GEMM_ADD ? C : 0) + A[m,k] B[k,n] with strides in elements:
 * (c_row, c_col), (a_row, a_k), (b_k, b_col). Large products, by `tiles`, or
 * where that is NULL through BLAS where the strides allow it. 0 or a Status.
 * GEMM_STRIPS: what is there already comes from calls with operands that lie
 * alike, for other terms of the same sum; GEMM_MORE: such calls will follow,
 * and nobody looks at C before the last one. */
enum { GEMM_ADD = 1, GEMM_STRIPS = 2, GEMM_MORE = 4 };
int32_t atled_rt_gemm_f64(NativeCall *call, double *c, int64_t c_row, int64_t c_col,
                          const double *a, int64_t a_row, int64_t a_k, const double *b, int64_t b_k,
                          int64_t b_col, int64_t m, int64_t n, int64_t k, int32_t how,
                          const NativeTiles *tiles);
int32_t atled_rt_gemm_f32(NativeCall *call, float *c, int64_t c_row, int64_t c_col, const float *a,
                          int64_t a_row, int64_t a_k, const float *b, int64_t b_k, int64_t b_col,
                          int64_t m, int64_t n, int64_t k, int32_t how, const NativeTiles *tiles);
/* Row-major n x n factorisations and triangular solves, where their matrices
 * lie: kir.h's FACTOR. what: one of the following, with FACTOR_SINGLE for f32,
 * and for a solve with the three flags. 0, or the number of the pivot that
 * fails, plus 1; below 0: minus a Status. */
enum {
	FACTOR_LU = 0,
	FACTOR_CHOLESKY = 1,
	FACTOR_SOLVE = 2,
	FACTOR_SINGLE = 4,
	FACTOR_LOWER = 8,
	FACTOR_ADJOINT = 16,
	FACTOR_UNIT = 32
};
int64_t atled_rt_factor(NativeCall *call, void *a, void *x, int64_t n, int64_t r, int64_t what);
/* Host function number `host` of the call: results, then operands, as pointers
 * and numbers of elements; null where there are fewer. 0 or a Status. */
int32_t atled_rt_host(NativeCall *call, int64_t host, void *p0, int64_t n0, void *p1, int64_t n1,
                      void *p2, int64_t n2, void *p3, int64_t n3, void *p4, int64_t n4, void *p5,
                      int64_t n5);

#endif
