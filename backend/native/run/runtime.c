/* runtime.c - runtime of generated code, and its entry.
 *
 * Parallel loops, polls, scratch memory, copies, large products.
 *
 * Needs: runtime.h, thread_pool.h, blas.h.
 *
 * Contract:
 * - Results, and the reported failure, do not depend on the number of threads.
 * - A call's memory is charged to its context.
 * - A failed call leaves nothing allocated.
 *
 * Each call of an entry has a NativeRun on the C stack. Each chunk of a
 * parallel loop has its own, with its own copy of the call's record: threads
 * share nothing that generated code writes there. Scratch memory is on stacks
 * of chunks: one for the call (arena), one for the calling thread and one for
 * each worker (scratch). The backend's state owns them all.
 */
#include "backend/native/run/runtime.h"
#include "backend/eval/core/unit.h"
#include "backend/numlib/blas.h"
#include "backend/kernels/small_linalg.h"
#include "backend/native/run/gemm_driver.h"
#include "backend/vmath/payne_hanek.h"
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define LINE ((size_t)64)
#define STACK_CHUNK_BYTES ((size_t)64 * 1024) /* first chunk of a stack */
#define STACK_CHUNK_MOST ((size_t)16 * 1024 * 1024)
/* Scratch that stays allocated between calls. */
#define KEEP_BYTES ((size_t)32 * 1024 * 1024)

/* ---- scratch memory ------------------------------------------------------ */

typedef struct StackChunk {
	struct StackChunk *next;
	size_t used, room, bytes; /* bytes: including this header and the alignment */
	char *at;
} StackChunk;

/* The stack of a thread. Chunks after `now` are unused. Stacks of different
 * threads are on different cache lines. */
typedef struct Stack {
	_Alignas(64) StackChunk *first;
	StackChunk *now;
	size_t bytes;
	/* Total work of the thread's chunks of parallel loops. The thread that runs
	 * them writes it; the loop's caller reads it afterwards. */
	uint64_t work;
} Stack;

typedef struct StackMark {
	StackChunk *now;
	size_t used;
} StackMark;

typedef struct NativeState {
	Stack arena, scratch;
	Stack *workers; /* for the pool's workers 1 .. nworkers */
	uint32_t nworkers, depth;
	uint64_t counted;  /* of the stacks' work, already counted */
	NativeTrace trace; /* of the last failed call */
	size_t bytes;      /* size of this record */
	void *block, *workers_block;
	size_t workers_bytes;
} NativeState;

static StackMark stack_mark(const Stack *s) {
	return (StackMark){s->now, s->now ? s->now->used : 0};
}

static void stack_release(Stack *s, StackMark m) {
	if (s->now == m.now) {
		if (m.now) m.now->used = m.used;
		return;
	}
	for (StackChunk *b = m.now ? m.now->next : s->first;; b = b->next) {
		b->used = 0;
		if (b == s->now) break;
	}
	s->now = m.now;
	if (m.now) m.now->used = m.used;
}

static StackChunk *stack_chunk_new(Ctx *c, size_t room) {
	const size_t bytes = sizeof(StackChunk) + LINE + room;
	char *p = heap_alloc(c, bytes);
	if (!p) return NULL;
	char *at = p + sizeof(StackChunk);
	at += -(uintptr_t)at & (LINE - 1);
	StackChunk *b = (StackChunk *)(void *)p;
	*b = (StackChunk){.room = room, .bytes = bytes, .at = at};
	return b;
}

/* `bytes` from a 64-byte boundary, with 64 more after them; NULL when memory
 * fails. */
static void *stack_push(Ctx *c, Stack *s, int64_t bytes) {
	if (bytes < 0 || bytes > INT64_MAX / 4) return NULL;
	const size_t need = (((size_t)bytes + LINE - 1) & ~(LINE - 1)) + LINE;
	StackChunk *b = s->now ? s->now : s->first, *last = s->now;
	while (b && b->room - b->used < need) {
		last = b;
		b = b->next;
	}
	if (!b) {
		size_t room = s->bytes < STACK_CHUNK_BYTES  ? STACK_CHUNK_BYTES
		              : s->bytes < STACK_CHUNK_MOST ? s->bytes
		                                            : STACK_CHUNK_MOST;
#ifdef ATLED_STRESS
		room = 0;
#endif
		b = stack_chunk_new(c, room < need ? need : room);
		if (!b && room > need) b = stack_chunk_new(c, need); /* near the memory limit */
		if (!b) return NULL;
		if (last) last->next = b;
		else s->first = b;
		s->bytes += b->bytes;
	}
	s->now = b;
	void *p = b->at + b->used;
	b->used += need;
	return p;
}

static void *nowhere;

/* Reserves up to 256 GiB of addresses, or less where the system refuses. Pages
 * that are only read take no memory. A read beyond the reserve would need an
 * empty array whose other axes have that many bytes. */
static void reserve_nowhere(void) {
	static const char little[4096] __attribute__((aligned(64)));
	nowhere = (void *)(uintptr_t)little;
	for (int bits = 38; bits > 16; bits -= 3) {
		void *at = mmap(NULL, (size_t)1 << bits, PROT_READ,
		                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (at == MAP_FAILED) continue;
#ifdef MADV_DONTDUMP
		madvise(at, (size_t)1 << bits, MADV_DONTDUMP);
#endif
		nowhere = at;
		return;
	}
}

void *native_nowhere(void) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, reserve_nowhere);
	return nowhere;
}

static void stack_free(Ctx *c, Stack *s) {
	for (StackChunk *b = s->first; b;) {
		StackChunk *next = b->next;
		heap_free(c, b, b->bytes);
		b = next;
	}
	*s = (Stack){0};
}

static void free_stacks(Ctx *c, NativeState *s) {
	stack_free(c, &s->arena);
	stack_free(c, &s->scratch);
	for (uint32_t i = 0; i < s->nworkers; i++) stack_free(c, &s->workers[i]);
	s->counted = 0;
}

static size_t stacks_bytes(const NativeState *s) {
	size_t n = s->arena.bytes + s->scratch.bytes;
	for (uint32_t i = 0; i < s->nworkers; i++) n += s->workers[i].bytes;
	return n;
}

/* A zeroed block from a 64-byte boundary (the allocator guarantees less). */
static void *aligned_block(Ctx *c, size_t bytes, void **block, size_t *block_bytes) {
	*block_bytes = bytes + LINE;
	char *p = *block = heap_alloc(c, *block_bytes);
	if (!p) return NULL;
	p += -(uintptr_t)p & (LINE - 1);
	memset(p, 0, bytes);
	return p;
}

static NativeState *state_of(Backend *be) {
	if (be->native) return be->native;
	void *block;
	size_t bytes;
	NativeState *s = aligned_block(be->ctx, sizeof *s, &block, &bytes);
	if (!s) return NULL;
	s->block = block;
	s->bytes = bytes;
	return be->native = s;
}

void native_state_free(Ctx *c, NativeState *s) {
	if (!s) return;
	free_stacks(c, s);
	if (s->workers_block) heap_free(c, s->workers_block, s->workers_bytes);
	heap_free(c, s->block, s->bytes);
}

size_t native_state_bytes(const Backend *be) { return be->native ? stacks_bytes(be->native) : 0; }

/* Makes stacks for n workers. No chunk may be running. */
static bool reserve_workers(Ctx *c, NativeState *s, uint32_t n) {
	if (n <= s->nworkers) return true;
	void *block;
	size_t bytes;
	Stack *w = aligned_block(c, n * sizeof *w, &block, &bytes);
	if (!w) return false;
	for (uint32_t i = 0; i < s->nworkers; i++) w[i] = s->workers[i];
	if (s->workers_block) heap_free(c, s->workers_block, s->workers_bytes);
	s->workers = w;
	s->nworkers = n;
	s->workers_block = block;
	s->workers_bytes = bytes;
	return true;
}

/* ---- runs ---------------------------------------------------------------- */

/* A parallel loop, shared by its chunks. The fields that each chunk reads first
 * are one cache line, which is written only on failure. */
typedef struct ParallelLoop {
	_Alignas(64) Backend *be;
	NativeState *state;
	/* As at the beginning of the loop; constant until its end. */
	const NativeCall *call;
	NativeBody body;
	void *env;
	Stack *workers;  /* the state's; its own line is written by the caller at each loop */
	atomic_int halt; /* a Status: all chunks stop */
	/* The lowest failed chunk so far; later chunks need not run. */
	_Atomic int64_t lowest;
	pthread_mutex_t lock; /* protects the arena, and: */
	int32_t status;       /* status of chunk `lowest` */
	int64_t site, fail_a, fail_b;
	NativeTrace trace;
} ParallelLoop;

typedef struct NativeRun {
	Backend *be;
	NativeState *state;
	Stack *scratch;
	int64_t granted;      /* poll_left when last set */
	ParallelLoop *shared; /* NULL outside parallel loops */
	int64_t part, worked;
	bool worker; /* not the context's thread */
	NativeTrace *trace;
} NativeRun;

static NativeRun *run_of(const NativeCall *call) { return call->runtime; }

/* The work since the last poll; grants more. */
static uint64_t work_done(NativeCall *call, NativeRun *r) {
	const int64_t used = r->granted - call->poll_left;
	call->poll_left = r->granted = NATIVE_POLL_EVERY;
	return used > 0 ? (uint64_t)used : 0;
}

static int32_t halt(ParallelLoop *s, Status st) {
	int none = ST_OK;
	atomic_compare_exchange_strong(&s->halt, &none, (int)st);
	return (int32_t)st;
}

int32_t atled_rt_poll(NativeCall *call) {
	NativeRun *r = run_of(call);
	const uint64_t used = work_done(call, r);
	ParallelLoop *s = r->shared;
	if (!s) {
		if (call->asked && call->trip_count)
			ctx_progress_iteration(r->be->ctx, call->iteration, call->trip_count);
		return (int32_t)spend(r->be, used);
	}
	const int halted = atomic_load_explicit(&s->halt, memory_order_relaxed);
	if (halted) return halted;
	/* An earlier chunk has failed, and its failure is the one reported. */
	if (atomic_load_explicit(&s->lowest, memory_order_relaxed) < r->part) return ST_INTERRUPTED;
	if (r->worker) {
		r->worked += (int64_t)used;
		return NATIVE_OK;
	}
	const Status st = spend(r->be, used);
	return st == ST_OK ? NATIVE_OK : halt(s, st);
}

void atled_rt_progress(NativeCall *call, int64_t site, int64_t step, int64_t steps,
                       const void *values) {
	Ctx *c = run_of(call)->be->ctx;
	const Unit *u = call->unit;
	switch (site) {
	case PROGRESS_ENTER: ctx_progress_enter(c, true); return;
	case PROGRESS_LEAVE: ctx_progress_reset(c, ctx_progress_depth(c) - 1); return;
	default: break;
	}
	const Inst *in = &u->sites[site].fn->insts.at[u->sites[site].inst];
	ctx_report(c, (Atom)attr_int(c, OP_PROGRESS, in->attr, 0), step, steps, in->nargs - 2, values);
}

void atled_rt_called(NativeCall *call, int64_t site) {
	NativeTrace *t = run_of(call)->trace;
	if (t->n < NATIVE_TRACE) t->sites[t->n++] = (uint32_t)site;
}

void *atled_rt_arena(NativeCall *call, int64_t bytes) {
	NativeRun *r = run_of(call);
	if (!r->shared) return stack_push(r->be->ctx, &r->state->arena, bytes);
	pthread_mutex_lock(&r->shared->lock);
	void *p = stack_push(r->be->ctx, &r->state->arena, bytes);
	pthread_mutex_unlock(&r->shared->lock);
	return p;
}

void *atled_rt_scratch(NativeCall *call, int64_t bytes) {
	NativeRun *r = run_of(call);
	return stack_push(r->be->ctx, r->scratch, bytes);
}

void atled_rt_copy(void *to, const void *from, int64_t bytes) {
	/* An output may share its input's memory. */
	if (bytes > 0 && to != from) memmove(to, from, (size_t)bytes);
}

void atled_rt_zero(void *at, int64_t bytes) {
	if (bytes > 0) memset(at, 0, (size_t)bytes);
}

/* ---- parallel loops ------------------------------------------------------ */

static void part_failed(ParallelLoop *s, const NativeCall *call, int64_t part, int32_t status) {
	pthread_mutex_lock(&s->lock);
	if (part < atomic_load_explicit(&s->lowest, memory_order_relaxed)) {
		s->status = status;
		s->site = call->site;
		s->fail_a = call->fail_a;
		s->fail_b = call->fail_b;
		s->trace = *run_of(call)->trace;
		atomic_store(&s->lowest, part);
	}
	pthread_mutex_unlock(&s->lock);
}

/* Orders non-temporal stores with other stores. */
static inline void end_streams(void) {
#if defined(__x86_64__)
	__builtin_ia32_sfence();
#endif
}

static void run_part(void *ud, int64_t part) {
	ParallelLoop *s = ud;
	if (atomic_load_explicit(&s->halt, memory_order_relaxed) ||
	    atomic_load_explicit(&s->lowest, memory_order_relaxed) < part)
		return;
	const int w = pool_worker();
	NativeTrace trace;
	trace.n = 0;
	NativeRun r = {.be = s->be,
	               .state = s->state,
	               .shared = s,
	               .part = part,
	               .worker = w != 0,
	               .trace = &trace};
	r.scratch = w ? &s->workers[w - 1] : &s->state->scratch;
	NativeCall call = *s->call;
	call.runtime = &r;
	call.asked = 0; /* chunks do not report iterations */
	call.poll_left = r.granted = NATIVE_POLL_EVERY;
	if (w) call.stack_low = c_stack_low();
	const StackMark mark = stack_mark(r.scratch);
	const int32_t st = s->body(&call, s->env, part);
	end_streams();
	stack_release(r.scratch, mark);
	r.scratch->work += (uint64_t)r.worked + work_done(&call, &r);
	if (st != NATIVE_OK) part_failed(s, &call, part, st);
}

/* Chunks account for their work themselves or at the end. This poll is for
 * interrupts and time limits. */
static Status watch_parts(void *ud) {
	ParallelLoop *s = ud;
	Status st = (Status)atomic_load_explicit(&s->halt, memory_order_relaxed);
	if (st == ST_OK && (st = ctx_poll(s->be->ctx, 0)) != ST_OK) halt(s, st);
	return st;
}

static Pool *pool_of(Backend *be) {
	Pool *pool = parallel_pool(be->ctx);
	return pool && pool_width(pool) > 1 ? pool : NULL;
}

/* The work of chunks since the last call. */
static uint64_t parts_work(NativeState *s) {
	uint64_t all = s->scratch.work;
	for (uint32_t i = 0; i < s->nworkers; i++) all += s->workers[i].work;
	const uint64_t fresh = all - s->counted;
	s->counted = all;
	return fresh;
}

/* Runs the chunks in order, with the caller's record. */
static int32_t parallel_alone(NativeCall *call, NativeBody body, void *env, int64_t nparts) {
	Stack *scratch = run_of(call)->scratch;
	for (int64_t k = 0; k < nparts; k++) {
		const StackMark mark = stack_mark(scratch);
		const int32_t st = body(call, env, k);
		stack_release(scratch, mark);
		end_streams();
		if (st != NATIVE_OK) return st;
	}
	return NATIVE_OK;
}

int32_t atled_rt_parallel(NativeCall *call, NativeBody body, void *env, int64_t nparts) {
	NativeRun *r = run_of(call);
	Pool *pool = nparts > 1 && !r->shared ? pool_of(r->be) : NULL;
	if (!pool || !reserve_workers(r->be->ctx, r->state, (uint32_t)pool_width(pool) - 1))
		return parallel_alone(call, body, env, nparts);
	ParallelLoop s = {.be = r->be,
	                  .state = r->state,
	                  .call = call,
	                  .body = body,
	                  .env = env,
	                  .workers = r->state->workers,
	                  .lowest = INT64_MAX};
	pthread_mutex_init(&s.lock, NULL);
	pool_run_watched(pool, nparts, run_part, &s, watch_parts);
	pthread_mutex_destroy(&s.lock);
	const uint64_t work = parts_work(r->state);
	const int halted = atomic_load(&s.halt);
	if (!halted && atomic_load(&s.lowest) == INT64_MAX) return (int32_t)spend(r->be, work);
	r->be->work += work;
	if (halted) return halted;
	call->site = s.site;
	call->fail_a = s.fail_a;
	call->fail_b = s.fail_b;
	*r->trace = s.trace;
	return s.status;
}

/* ---- large products ------------------------------------------------------ */

/* Sizes of chunks for BLAS. BLAS packs the other operand again for each chunk,
 * but without chunks there would be no threads. Hence at most FEW_PARTS chunks
 * of at least PART_ROWS rows, then chunks of twice as many rows. Where C is
 * wide, nearly square chunks pack less of both operands: (rows + columns) k
 * scalars. */
enum {
	PART_ROWS = 128,
	FEW_PARTS = 8,
	TRIANGLE_ROWS = 150,
	PART_COLUMNS = 256,
	WIDE_COLUMNS = 1024,
	MOST_PARTS = 64
};
/* With tiles: minimum and maximum rows of a chunk. The maximum bounds the work
 * between two polls. */
enum { TILES_LEAST = 64, PIECE = 512 };
#define PARTS_FROM 4e6 /* multiplications */
#define TILES_MANY 1e8

typedef struct Gemm {
	NativeCall *call;
	Dtype d;
	int64_t size, m, n, k;
	int64_t rows, columns; /* of C in one chunk */
	int64_t across;        /* chunks side by side */
	BlasMatrix a, b;
	char *c;
	int64_t leading;
	bool accumulate, blas;
	/* B = A' and C is written in place: only elements on or below the diagonal
	 * are computed (without BLAS, whole diagonal blocks). */
	bool symmetric;
	const NativeTiles *tiles; /* NULL: use BLAS */
	char *panels, *room;      /* for tiles: packed B, and packed A of each thread */
	/* rooms is 1 where the product is inside a parallel loop or has one
	 * chunk. */
	int64_t room_bytes, rooms;
	/* For a matrix times its own transpose: adding the last terms. */
	bool last;
	bool strips, more; /* see GEMM_STRIPS */
	uint64_t work;     /* of each chunk, as counted */
} Gemm;

/* C = or += A B, without BLAS or for sizes that BLAS cannot take. */
#define PLAIN(T)                                                                                   \
	do {                                                                                           \
		for (int64_t i = 0; i < rows; i++) {                                                       \
			T *o = (T *)(void *)c + i * g->leading;                                                \
			if (!g->accumulate) memset(o, 0, (size_t)columns * sizeof *o);                         \
			for (int64_t p = 0; p < g->k; p++) {                                                   \
				const T x = ((const T *)a.data)[i * a.row_stride + p * a.column_stride];           \
				const T *y = (const T *)b.data + p * b.row_stride;                                 \
				for (int64_t j = 0; j < columns; j++) o[j] += x * y[j * b.column_stride];          \
			}                                                                                      \
		}                                                                                          \
	} while (0)

/* Copies a to o (rows x columns, `leading` apart) in blocks that fit the
 * first-level cache for either layout. */
static void pack(int64_t size, int64_t rows, int64_t columns, BlasMatrix a, char *o,
                 int64_t leading) {
	enum { EDGE = 32 };
	for (int64_t i0 = 0; i0 < rows; i0 += EDGE) {
		for (int64_t j0 = 0; j0 < columns; j0 += EDGE) {
			const int64_t i1 = i0 + EDGE < rows ? i0 + EDGE : rows,
						  j1 = j0 + EDGE < columns ? j0 + EDGE : columns;
			for (int64_t i = i0; i < i1; i++) {
				const char *from = (const char *)a.data + i * a.row_stride * size;
				if (size == 8)
					for (int64_t j = j0; j < j1; j++)
						memcpy(o + (i * leading + j) * 8, from + j * a.column_stride * 8, 8);
				else
					for (int64_t j = j0; j < j1; j++)
						memcpy(o + (i * leading + j) * 4, from + j * a.column_stride * 4, 4);
			}
		}
	}
}

/* Copies the elements below the diagonal to above it. */
static void mirror(int64_t size, int64_t n, char *block, int64_t leading) {
	for (int64_t i = 1; i < n; i++)
		pack(size, i, 1, (BlasMatrix){block + i * leading * size, 1, i}, block + i * size, leading);
}

static void gemm_part(void *ud, int64_t part) {
	const Gemm *g = ud;
	/* The longest first, so that no thread is left alone with it. */
	if (g->symmetric) part = (g->m - 1) / g->rows - part;
	const int64_t row = part / g->across * g->rows, column = part % g->across * g->columns;
	const int64_t rows = g->m - row < g->rows ? g->m - row : g->rows;
	int64_t columns = g->n - column < g->columns ? g->n - column : g->columns;
	if (g->symmetric) columns = g->blas ? row : row + rows;
	BlasMatrix a = g->a, b = g->b;
	a.data = (const char *)a.data + row * a.row_stride * g->size;
	b.data = (const char *)b.data + column * b.column_stride * g->size;
	char *c = g->c + (row * g->leading + column) * g->size;
	const Ctx *ctx = run_of(g->call)->be->ctx;
	if (!g->blas && g->d == DT_F64) PLAIN(double);
	else if (!g->blas) PLAIN(float);
	else if (columns) blas_gemm(ctx, g->d, rows, columns, g->k, a, b, c, g->leading, g->accumulate);
	if (g->blas && g->symmetric) {
		char *block = c + row * g->size;
		blas_syrk_lower(ctx, g->d, rows, g->k, a, block, g->leading, g->accumulate);
		mirror(g->size, rows, block, g->leading);
	}
	/* Copies the part left of the diagonal block to above it. No other chunk
	 * writes there. */
	if (g->symmetric && row)
		pack(g->size, row, rows, (BlasMatrix){c, 1, g->leading}, g->c + row * g->size, g->leading);
}

/* By tiles: rows of C. The panels are packed already. */
static void tiles_part(void *ud, int64_t part) {
	const Gemm *g = ud;
	const int64_t row = part * g->rows, rows = g->m - row < g->rows ? g->m - row : g->rows;
	BlasMatrix a = g->a;
	a.data = (const char *)a.data + row * a.row_stride * g->size;
	char *room = g->room + (g->rooms > 1 ? pool_worker() * g->room_bytes : 0);
	tiles_product(run_of(g->call)->be->ctx, g->tiles, g->size, rows, g->n, g->k, a, g->b, g->panels,
	              g->c + row * g->leading * g->size, g->leading, g->accumulate, room);
}

static void pack_part(void *ud, int64_t part) {
	const Gemm *g = ud;
	tiles_pack(g->tiles, g->size, g->n, g->k, g->b, part, g->panels);
}

/* Computes a block of a triangle. When complete, copies it to above the
 * diagonal, where no other chunk writes. */
static void own_part(void *ud, int64_t part) {
	const Gemm *g = ud;
	const TilesBlock b = tiles_own_block(g->tiles, g->m, part);
	tiles_own_product(run_of(g->call)->be->ctx, g->tiles, g->size, g->m, g->k, b, g->panels, g->c,
	                  g->leading, g->accumulate);
	if (!g->last) return;
	const int64_t l = g->leading, from = b.column > b.row ? b.column : b.row,
				  left = b.columns_end < from ? b.columns_end : from;
	/* Columns left of the block's own rows, the triangle, the part below it. */
	if (b.column < left)
		pack(g->size, left - b.column, b.rows_end - b.row,
		     (BlasMatrix){g->c + (b.row * l + b.column) * g->size, 1, l},
		     g->c + (b.column * l + b.row) * g->size, l);
	if (from >= b.columns_end) return;
	mirror(g->size, b.columns_end - from, g->c + from * (l + 1) * g->size, l);
	pack(g->size, b.columns_end - from, b.rows_end - b.columns_end,
	     (BlasMatrix){g->c + (b.columns_end * l + from) * g->size, 1, l},
	     g->c + (from * l + b.columns_end) * g->size, l);
}

static Status poll_work(const Gemm *g, uint64_t work) {
	NativeRun *r = run_of(g->call);
	if (!r->shared) return spend(r->be, work);
	g->call->poll_left -= (int64_t)work;
	return (Status)atled_rt_poll(g->call);
}

static Status poll_gemm(void *ud) {
	const Gemm *g = ud;
	return poll_work(g, g->work);
}

static uint64_t work_of(const Gemm *g) {
	const double work = (double)g->m * (double)g->n * (double)g->k * (g->symmetric ? 0.5 : 1);
	return work < 1e18 ? (uint64_t)work : (uint64_t)1e18;
}

/* Runs all chunks. The counted `work` does not depend on their number. */
static Status run_parts(Gemm *g, int64_t parts, Pool *pool, void (*body)(void *, int64_t),
                        uint64_t work) {
	g->work = work / (uint64_t)parts;
	Status st = ST_OK;
	if (pool) st = pool_run(pool, parts, body, g, poll_gemm);
	for (int64_t i = 0; !pool && i < parts && st == ST_OK; i++) {
		body(g, i);
		st = poll_gemm(g);
	}
	return st == ST_OK ? poll_work(g, work % (uint64_t)parts) : st;
}

/* Computes some terms at a time. The threads first pack their panels together,
 * then run the chunks. The panels fit the third-level cache, or for a single
 * thread its second-level cache. */
static Status tiles_terms(Gemm *g, Pool *pool, int64_t parts, void (*body)(void *, int64_t)) {
	const BlasMatrix a = g->a, b = g->b;
	const int64_t k = g->k, most = pool || g->symmetric ? TILES_TERMS : TILES_DEPTH;
	const bool accumulate = g->accumulate;
	Status st = ST_OK;
	for (int64_t p = 0; p < k && st == ST_OK; p += most) {
		g->k = k - p < most ? k - p : most;
		g->last = p + g->k == k && !g->more;
		if (g->panels) st = run_parts(g, tiles_packs(g->k), pool, pack_part, 0);
		if (st == ST_OK) st = run_parts(g, parts, parts > 1 ? pool : NULL, body, work_of(g));
		g->a.data = (const char *)g->a.data + g->k * a.column_stride * g->size;
		g->b.data = (const char *)g->b.data + g->k * b.row_stride * g->size;
		g->accumulate = true;
	}
	g->a = a;
	g->b = b;
	g->k = k;
	g->accumulate = accumulate;
	return st;
}

/* Computes some columns of C at a time, in blocks of rows. The summation order
 * does not depend on the blocks. There are more blocks than threads, so that
 * others can help a delayed thread. The panels are packed once for all
 * blocks. */
static Status tiles_parts(Gemm *g) {
	NativeRun *r = run_of(g->call);
	const NativeTiles *t = g->tiles;
	const double work = (double)g->m * (double)g->n * (double)g->k;
	Pool *pool = work >= PARTS_FROM && !r->shared ? pool_of(r->be) : NULL;
	const int64_t threads = pool ? pool_width(pool) : 1, most = tiles_columns(t, g->size), n = g->n;
	if (g->symmetric) {
		g->panels = atled_rt_scratch(g->call, tiles_panels_room(t, g->size, n));
		return g->panels ? tiles_terms(g, pool, tiles_own_parts(t, g->m), own_part) : ST_NOMEM;
	}
	const int64_t across = (n + most - 1) / most,
				  wide = ((n + across - 1) / across + t->columns - 1) / t->columns * t->columns;
	int64_t parts = threads == 1 ? 1 : work < TILES_MANY ? threads : 4 * threads;
	if (parts > g->m / TILES_LEAST) parts = g->m / TILES_LEAST > 0 ? g->m / TILES_LEAST : 1;
	if (parts < g->m / PIECE) parts = g->m / PIECE;
	g->rows = ((g->m + parts - 1) / parts + t->rows - 1) / t->rows * t->rows;
	parts = (g->m + g->rows - 1) / g->rows;
	g->rooms = parts > 1 ? threads : 1;
	g->room_bytes = (tiles_rows_room(t, g->size) + 63) / 64 * 64;
	g->room = atled_rt_scratch(g->call, g->room_bytes * g->rooms);
	const bool packed = !tiles_read(g->size, n, g->k, g->b);
	g->panels = g->room && packed
	                ? atled_rt_scratch(g->call, tiles_panels_room(t, g->size, wide < n ? wide : n))
	                : NULL;
	Status st = g->room && (g->panels || !packed) ? ST_OK : ST_NOMEM;
	char *const c = g->c;
	for (int64_t j = 0; j < n && st == ST_OK; j += wide) {
		g->n = n - j < wide ? n - j : wide;
		st = tiles_terms(g, pool, parts, tiles_part);
		g->b.data = (const char *)g->b.data + wide * g->b.column_stride * g->size;
		g->c += wide * g->size;
	}
	g->c = c;
	g->n = n;
	return st;
}

static bool fits_int(int64_t x) { return x <= INT_MAX && x >= -INT_MAX; }

/* The matrix in a form that BLAS accepts: in place, or copied to scratch. */
static bool to_blas(NativeCall *call, int64_t size, int64_t rows, int64_t columns, BlasMatrix *a) {
	if (blas_takes(a, rows, columns)) return true;
	int64_t bytes;
	if (__builtin_mul_overflow(rows, columns, &bytes) ||
	    __builtin_mul_overflow(bytes, size, &bytes))
		return false;
	char *copy = atled_rt_scratch(call, bytes);
	if (!copy) return false;
	pack(size, rows, columns, *a, copy, columns);
	*a = (BlasMatrix){copy, columns, 1};
	return true;
}

#define ADD_BACK(T)                                                                                \
	for (int64_t i = 0; i < g->m; i++)                                                             \
		for (int64_t j = 0; j < g->n; j++) {                                                       \
			T *to = (T *)c + i * c_row + j * c_col;                                                \
			*to = (accumulate ? *to : (T)0) + ((const T *)(const void *)g->c)[i * g->leading + j]; \
		}

/* Cuts C into chunks by the extents alone, so that no sum depends on the number
 * of threads. OpenBLAS itself runs on one thread. Its own threads would cut by
 * their number and spin beside ours; see blas.c. */
static Status gemm_parts(Gemm *g) {
	NativeCall *call = g->call;
	NativeRun *r = run_of(call);
	int64_t parts = 1;
	if ((double)g->m * (double)g->n * (double)g->k >= PARTS_FROM) {
		parts = g->m / PART_ROWS;
		if (parts > FEW_PARTS)
			parts = g->m / (2 * PART_ROWS) > FEW_PARTS ? g->m / (2 * PART_ROWS) : FEW_PARTS;
		if (parts > MOST_PARTS) parts = MOST_PARTS;
	}
	g->rows = g->m;
	g->columns = g->n;
	g->across = 1;
	/* In a triangle the last chunk is the longest. There are enough chunks to
	 * share it among threads, and few enough to limit packing by BLAS. */
	if (g->symmetric && parts > 1 && parts <= FEW_PARTS) {
		parts = g->m / TRIANGLE_ROWS;
		parts = parts < 4 ? 4 : parts < FEW_PARTS ? parts : FEW_PARTS;
	}
	if (parts > 1) {
		while (!g->symmetric && parts % 2 == 0 && g->n / g->across >= 2 * WIDE_COLUMNS &&
		       g->m / parts < g->n / g->across / 2) {
			parts /= 2;
			g->across *= 2;
		}
		g->rows = (g->m + parts - 1) / parts;
		g->columns = (g->n + g->across - 1) / g->across;
		parts = (g->m + g->rows - 1) / g->rows * g->across;
	} else if ((double)g->m * (double)g->n * (double)g->k >= PARTS_FROM &&
	           g->n >= 2 * PART_COLUMNS) {
		parts = g->n / PART_COLUMNS < FEW_PARTS ? g->n / PART_COLUMNS : FEW_PARTS;
		g->columns = (g->n + parts - 1) / parts;
		g->across = parts = (g->n + g->columns - 1) / g->columns;
	} else {
		parts = 1;
	}
	return run_parts(g, parts, parts > 1 && !r->shared ? pool_of(r->be) : NULL, gemm_part,
	                 work_of(g));
}

static int32_t gemm(Gemm *g, void *c, int64_t c_row, int64_t c_col) {
	const bool accumulate = g->accumulate;
	if (g->m <= 0 || g->n <= 0) return NATIVE_OK;
	/* C by columns is its transpose by rows: C' = B' A'. */
	if (c_col != 1 && g->n > 1 && (c_row == 1 || g->m == 1)) {
		const BlasMatrix a = {g->b.data, g->b.column_stride, g->b.row_stride},
						 b = {g->a.data, g->a.column_stride, g->a.row_stride};
		int64_t t = g->m;
		g->m = g->n;
		g->n = t;
		g->a = a;
		g->b = b;
		t = c_row;
		c_row = c_col;
		c_col = t;
	}
	NativeRun *r = run_of(g->call);
	const StackMark mark = stack_mark(r->scratch);
	const char *why;
	const bool tiles = g->tiles && g->k > 0;
	g->leading = g->m == 1 ? g->n : c_row;
	const bool in_place = (c_col == 1 || g->n == 1) && g->leading >= g->n;
	if (!in_place) {
		int64_t bytes;
		const bool fits = !__builtin_mul_overflow(g->m, g->n, &bytes) &&
		                  !__builtin_mul_overflow(bytes, g->size, &bytes);
		g->c = fits ? atled_rt_scratch(g->call, bytes) : NULL;
		g->leading = g->n;
		g->accumulate = false;
	} else {
		g->c = c;
	}
	Status st = g->c ? ST_OK : ST_NOMEM;
	g->blas = !tiles && g->k > 0 && fits_int(g->m) && fits_int(g->n) && fits_int(g->k) &&
	          fits_int(g->leading) && blas_open(&why);
	if (st == ST_OK && g->blas &&
	    !(to_blas(g->call, g->size, g->m, g->k, &g->a) &&
	      to_blas(g->call, g->size, g->k, g->n, &g->b)))
		st = ST_NOMEM;
	g->blas = g->blas && fits_int(g->a.row_stride) && fits_int(g->a.column_stride) &&
	          fits_int(g->b.row_stride) && fits_int(g->b.column_stride);
	g->symmetric = in_place && (!g->accumulate || g->strips) && g->m == g->n &&
	               g->a.data == g->b.data && g->a.row_stride == g->b.column_stride &&
	               g->a.column_stride == g->b.row_stride;
	if (st == ST_OK) st = tiles ? tiles_parts(g) : gemm_parts(g);
	if (st == ST_OK && !in_place) {
		if (g->d == DT_F64) ADD_BACK(double)
		else ADD_BACK(float)
	}
	stack_release(r->scratch, mark);
	return (int32_t)st;
}

int32_t atled_rt_gemm_f64(NativeCall *call, double *c, int64_t c_row, int64_t c_col,
                          const double *a, int64_t a_row, int64_t a_k, const double *b, int64_t b_k,
                          int64_t b_col, int64_t m, int64_t n, int64_t k, int32_t how,
                          const NativeTiles *tiles) {
	Gemm g = {.call = call,
	          .d = DT_F64,
	          .size = 8,
	          .m = m,
	          .n = n,
	          .k = k,
	          .a = {a, a_row, a_k},
	          .b = {b, b_k, b_col}};
	g.tiles = tiles;
	g.accumulate = how & GEMM_ADD;
	g.strips = how & GEMM_STRIPS;
	g.more = how & GEMM_MORE;
	return gemm(&g, c, c_row, c_col);
}

int32_t atled_rt_gemm_f32(NativeCall *call, float *c, int64_t c_row, int64_t c_col, const float *a,
                          int64_t a_row, int64_t a_k, const float *b, int64_t b_k, int64_t b_col,
                          int64_t m, int64_t n, int64_t k, int32_t how, const NativeTiles *tiles) {
	Gemm g = {.call = call,
	          .d = DT_F32,
	          .size = 4,
	          .m = m,
	          .n = n,
	          .k = k,
	          .a = {a, a_row, a_k},
	          .b = {b, b_k, b_col}};
	g.tiles = tiles;
	g.accumulate = how & GEMM_ADD;
	g.strips = how & GEMM_STRIPS;
	g.more = how & GEMM_MORE;
	return gemm(&g, c, c_row, c_col);
}

/* ---- factorisations ------------------------------------------------------ */

int64_t atled_rt_factor(NativeCall *call, void *a, void *x, int64_t n, int64_t r, int64_t what) {
	const Dtype d = what & FACTOR_SINGLE ? DT_F32 : DT_F64;
	Ctx *c = run_of(call)->be->ctx;
	int64_t failed = 0;
	Status st = ST_OK;
	call->poll_left -= n * n * ((what & 3) == FACTOR_SOLVE ? r : n / 3);
	if (LIKELY(n <= SMALL_MATRIX)) { /* as the functions below, without their overhead */
		if ((what & (3 | FACTOR_UNIT)) == (FACTOR_SOLVE | FACTOR_UNIT)) {
			small_trisolve(d, n, r, what & FACTOR_LOWER, what & FACTOR_ADJOINT, true, a, x);
			return 0;
		}
		if ((what & 3) == FACTOR_LU) return small_lu(d, n, a, x);
	}
	switch (what & 3) {
	case FACTOR_LU: st = matrix_lu(c, d, n, a, x, &failed); break;
	case FACTOR_CHOLESKY: st = matrix_cholesky(c, d, n, a, &failed); break;
	default:
		st = matrix_trisolve(c, d, n, r, what & FACTOR_LOWER, what & FACTOR_ADJOINT,
		                     what & FACTOR_UNIT, a, x, &failed);
	}
	return st == ST_OK ? failed : -(int64_t)st;
}

int32_t atled_rt_host(NativeCall *call, int64_t host, void *p0, int64_t n0, void *p1, int64_t n1,
                      void *p2, int64_t n2, void *p3, int64_t n3, void *p4, int64_t n4, void *p5,
                      int64_t n5) {
	const HostCall *h = call->hosts[host];
	const HostArray all[HOST_DIRECT_MOST] = {{p0, n0}, {p1, n1}, {p2, n2},
	                                         {p3, n3}, {p4, n4}, {p5, n5}};
	call->poll_left -= n0;
	return (int32_t)h->def->direct(run_of(call)->be->ctx, h, all + 1, all);
}

/* ---- the entry ----------------------------------------------------------- */

const NativeTrace *native_trace(const Backend *be) {
	static const NativeTrace none;
	const NativeState *s = be->native;
	return s ? &s->trace : &none;
}

void *native_runtime_symbol(const char *name) {
	static const struct {
		const char *name;
		void (*at)(void);
	} table[] = {
		{"atled_rt_parallel", (void (*)(void))atled_rt_parallel},
		{"atled_rt_poll", (void (*)(void))atled_rt_poll},
		{"atled_rt_progress", (void (*)(void))atled_rt_progress},
		{"atled_rt_arena", (void (*)(void))atled_rt_arena},
		{"atled_rt_scratch", (void (*)(void))atled_rt_scratch},
		{"atled_rt_called", (void (*)(void))atled_rt_called},
		{"atled_rt_copy", (void (*)(void))atled_rt_copy},
		{"atled_rt_zero", (void (*)(void))atled_rt_zero},
		{"atled_rt_gemm_f64", (void (*)(void))atled_rt_gemm_f64},
		{"atled_rt_gemm_f32", (void (*)(void))atled_rt_gemm_f32},
		{"atled_rt_factor", (void (*)(void))atled_rt_factor},
		{"atled_rt_host", (void (*)(void))atled_rt_host},
		{"atled_rt_huge_angle", (void (*)(void))atled_rt_huge_angle},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (!strcmp(table[i].name, name)) {
			void *p;
			memcpy(&p, &table[i].at, sizeof p);
			return p;
		}
	return NULL;
}

Status native_run(Backend *be, NativeEntry entry, NativeCall *call) {
	NativeState *s = state_of(be);
	call->site = -1;
	call->fail_a = call->fail_b = 0;
	if (UNLIKELY(!s)) return ST_NOMEM;
	NativeRun r = {.be = be,
	               .state = s,
	               .scratch = &s->scratch,
	               .granted = NATIVE_POLL_EVERY,
	               .trace = &s->trace};
	s->trace.n = 0;
	call->runtime = &r;
	call->poll_left = NATIVE_POLL_EVERY;
	call->asked = ctx_reports_progress(be->ctx);
	call->trip_count = 0;
	const uint32_t loops = ctx_progress_depth(be->ctx);
	const uint32_t most = ctx_depth_limit(be->ctx);
	call->depth_left = most > be->depth ? (int64_t)(most - be->depth) : 0;
	call->stack_low = be->stack->low;
	const StackMark arena = stack_mark(&s->arena), scratch = stack_mark(&s->scratch);
	s->depth++;
	const int32_t result = entry(call);
	s->depth--;
	ctx_progress_reset(be->ctx, loops);
	stack_release(&s->arena, arena);
	stack_release(&s->scratch, scratch);
	if (UNLIKELY(!s->depth && s->arena.bytes + s->scratch.bytes > KEEP_BYTES / 2) &&
	    stacks_bytes(s) > KEEP_BYTES)
		free_stacks(be->ctx, s);
	call->runtime = NULL;
	const uint64_t used = work_done(call, &r);
	if (LIKELY(result == NATIVE_OK)) return spend(be, used);
	be->work += used;
	if (result == NATIVE_FAILED_AT_SITE && call->site >= 0) return ST_ERROR;
	if (result != NATIVE_FAILED_AT_SITE) call->site = -1;
	if (result == NATIVE_TOO_DEEP || result == NATIVE_STACK_SHORT) {
		if (result == NATIVE_TOO_DEEP)
			diag_error(be->ctx, E_DEPTH, NO_SPAN, "the recursion is more than %u calls deep", most);
		else
			diag_error(be->ctx, E_DEPTH, NO_SPAN,
			           "the recursion is deeper than the stack of %zu MB, where each call keeps "
			           "many numbers",
			           C_STACK_BYTES >> 20);
		return ST_LIMIT;
	}
	if (result > ST_OK && result <= ST_INTERNAL) return (Status)result;
	diag_error(be->ctx, E_INTERNAL, NO_SPAN, "generated code came back with %d at site %lld",
	           (int)result, (long long)call->site);
	return ST_INTERNAL;
}
