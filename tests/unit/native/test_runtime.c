/* test_runtime.c - unit tests of the runtime that generated code calls.
 *
 * C functions stand for generated code. The test pretends four processors.
 *
 * Needs: backend/native/run/runtime.h.
 * Guarantees: exit status 0 when every check holds; the last line counts the
 * checks.
 */
#include "backend/backend.h"
#include "backend/native/run/runtime.h"
#include "tests/unit/support/check.h"
#include "lang/base/parallel.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static Ctx *context(int threads) {
	Ctx *c = ctx_new(NULL);
	if (!c || backend_init(c) != ST_OK) exit(2);
	parallel_set_threads(c, threads);
	return c;
}

/* The state that an entry and its bodies share with the test. */
typedef struct Env {
	int64_t parts, fail_part, bytes, units;
	atomic_llong ran, sum, wrong;
	int64_t depth; /* of nested loops */
	uintptr_t stack_low;
	Backend *be;
	int32_t status;
} Env;
static Env env;

static Status run(Ctx *c, NativeEntry entry, NativeCall *call) {
	env.be = backend_of(c);
	return native_run(env.be, entry, call);
}

static DiagCode last_code(const Ctx *c) {
	return diag_total(c) ? diag_at(c, diag_total(c) - 1)->code : (DiagCode)0;
}

/* ---- statuses ------------------------------------------------------------ */

static int32_t returns(NativeCall *call) {
	if (env.status == NATIVE_FAILED_AT_SITE) {
		call->site = 12;
		call->fail_a = -3;
		call->fail_b = 4;
	}
	return env.status;
}

static void test_statuses(void) {
	Ctx *c = context(1);
	NativeCall call = {0};
	env = (Env){0};
	CHECK(run(c, returns, &call) == ST_OK && call.site == -1);
	for (env.status = ST_ERROR; env.status <= ST_INTERNAL; env.status++)
		CHECK(run(c, returns, &call) == (Status)env.status && call.site == -1);
	env.status = NATIVE_FAILED_AT_SITE;
	CHECK(run(c, returns, &call) == ST_ERROR && call.site == 12 && call.fail_a == -3 &&
	      call.fail_b == 4);
	CHECK(diag_total(c) == 0);
	env.status = NATIVE_TOO_DEEP;
	CHECK(run(c, returns, &call) == ST_LIMIT && call.site == -1 && last_code(c) == E_DEPTH);
	env.status = NATIVE_STACK_SHORT;
	CHECK(run(c, returns, &call) == ST_LIMIT && call.site == -1 && last_code(c) == E_DEPTH);
	env.status = 99;
	CHECK(run(c, returns, &call) == ST_INTERNAL && call.site == -1 && last_code(c) == E_INTERNAL);
	env.status = -1;
	CHECK(run(c, returns, &call) == ST_INTERNAL);
	ctx_free(c);
}

static int32_t tells_depth(NativeCall *call) {
	env.sum = call->depth_left;
	env.stack_low = call->stack_low;
	return 0;
}

static void test_depth(void) {
	Ctx *c = context(1);
	NativeCall call = {0};
	run(c, tells_depth, &call);
	CHECK(env.sum == 2000);
	ctx_set_depth_limit(c, 10);
	backend_of(c)->depth = 4;
	run(c, tells_depth, &call);
	CHECK(env.sum == 6);
	backend_of(c)->depth = 11;
	run(c, tells_depth, &call);
	CHECK(env.sum == 0);
	backend_of(c)->depth = 0;
	ctx_stack(c)->low = 4096; /* the code itself compares it with its frame */
	run(c, tells_depth, &call);
	CHECK(env.sum == 10 && env.stack_low == 4096);
	ctx_free(c);
}

/* ---- polls --------------------------------------------------------------- */

static int32_t works(NativeCall *call) {
	for (int64_t done = 0; done < env.units; done += 1000) {
		atomic_fetch_add(&env.ran, 1000);
		call->poll_left -= 1000;
		if (call->poll_left >= 0) continue;
		const int32_t st = atled_rt_poll(call);
		if (st) return st;
	}
	return 0;
}

static void test_polls(void) {
	Ctx *c = context(1);
	NativeCall call = {0};
	env = (Env){.units = 1000000};
	const uint64_t before = ctx_steps(c);
	CHECK(run(c, works, &call) == ST_OK && ctx_steps(c) - before == 1000000);
	env = (Env){.units = 10};
	run(c, works, &call);
	/* Counted now or at the next poll. */
	CHECK(backend_of(c)->work == 1000 || ctx_steps(c) == before + 1001000);
	env = (Env){.units = 10000000};
	ctx_interrupt_at_poll(c, 10);
	CHECK(run(c, works, &call) == ST_INTERRUPTED && env.ran < 400000 &&
	      last_code(c) == E_INTERRUPT && call.site == -1);
	ctx_clear_interrupt(c);
	env = (Env){.units = 10000000};
	ctx_set_step_limit(c, 500000);
	CHECK(run(c, works, &call) == ST_LIMIT && env.ran >= 480000 && env.ran < 540000 &&
	      last_code(c) == E_BUDGET);
	ctx_set_step_limit(c, 0);
	ctx_free(c);
}

/* ---- scratch ------------------------------------------------------------- */

static bool usable(char *p, int64_t bytes) {
	if (!p || (uintptr_t)p % 64) return false;
	memset(p, 0x5a, (size_t)bytes + 64); /* the padding is writable too */
	return true;
}

static int32_t takes(NativeCall *call) {
	char *at[40];
	for (int i = 0; i < 40; i++) {
		const int64_t n = i * i * 37;
		at[i] = i % 3 ? atled_rt_arena(call, n) : atled_rt_scratch(call, n);
		if (!at[i]) return ST_NOMEM;
		if (!usable(at[i], n)) env.wrong++;
		memset(at[i], i, (size_t)n);
	}
	for (int i = 0; i < 40; i++)
		for (int64_t k = 0; k < i * i * 37; k++) env.wrong += at[i][k] != i;
	return 0;
}

static int32_t takes_bytes(NativeCall *call) {
	char *p = atled_rt_arena(call, env.bytes);
	if (!p) return ST_NOMEM;
	if (env.bytes) p[0] = p[env.bytes - 1] = 1;
	return 0;
}

/* An entry inside an entry, like a solver's right-hand side. */
static int32_t nests(NativeCall *call) {
	int64_t *p = atled_rt_scratch(call, 800), *q = atled_rt_arena(call, 800);
	if (!p || !q) return ST_NOMEM;
	for (int i = 0; i < 100; i++) p[i] = q[i] = env.depth * 1000 + i;
	const int64_t depth = env.depth;
	if (env.depth++ < 20) {
		NativeCall inner = {0};
		const Status st = native_run(env.be, nests, &inner);
		if (st != ST_OK) return (int32_t)st;
	}
	for (int i = 0; i < 100; i++) env.wrong += p[i] != depth * 1000 + i || q[i] != p[i];
	return 0;
}

static void test_scratch(void) {
	Ctx *c = context(1);
	NativeCall call = {0};
	env = (Env){0};
	CHECK(run(c, takes, &call) == ST_OK && !env.wrong);
	const uint64_t allocations = heap_allocation_count(c);
	for (int i = 0; i < 10; i++) CHECK(run(c, takes, &call) == ST_OK && !env.wrong);
#ifndef ATLED_STRESS
	CHECK(heap_allocation_count(c) == allocations); /* buffers exist already */
#else
	(void)allocations;
#endif
	CHECK(run(c, nests, &call) == ST_OK && !env.wrong && env.depth == 21);
	/* Invalid sizes. */
	static const int64_t bad[] = {-1, INT64_MIN, INT64_MAX, INT64_MAX / 2, (int64_t)1 << 50};
	heap_set_limit(c, (size_t)1 << 30); /* without it sanitizers report the larger sizes */
	for (size_t i = 0; i < 5; i++) {
		env.bytes = bad[i];
		CHECK(run(c, takes_bytes, &call) == ST_NOMEM);
	}
	heap_set_limit(c, 0);
	env.bytes = 0;
	CHECK(run(c, takes_bytes, &call) == ST_OK);
	/* A large buffer is released, a small one is kept. */
	const size_t used = heap_used(c);
	env.bytes = 100 << 20;
	CHECK(run(c, takes_bytes, &call) == ST_OK && native_state_bytes(backend_of(c)) == 0 &&
	      heap_used(c) < used);
	CHECK(heap_peak(c) >= (size_t)100 << 20);
	env.bytes = 1 << 20;
	CHECK(run(c, takes_bytes, &call) == ST_OK && native_state_bytes(backend_of(c)) > (size_t)1
	                                                                                     << 20);
	/* Scratch counts towards the context's limit. */
	heap_set_limit(c, heap_used(c) + 100000);
	env.bytes = 8 << 20;
	CHECK(run(c, takes_bytes, &call) == ST_NOMEM);
	env.bytes = 1 << 20;
	CHECK(run(c, takes_bytes, &call) == ST_OK);
	heap_set_limit(c, 0);
	ctx_free(c);
	/* Each allocation fails once. */
	for (uint64_t n = 1;; n++) {
		c = context(1);
		env = (Env){.be = backend_of(c)};
		heap_fail_at(c, n, true);
		const Status st = native_run(env.be, takes, &call);
		heap_fail_at(c, 0, false);
		if (st == ST_NOMEM) {
			env = (Env){.be = backend_of(c)};
			CHECK(native_run(env.be, takes, &call) == ST_OK && !env.wrong);
		}
		ctx_free(c);
		if (st == ST_OK) break;
		CHECK(st == ST_NOMEM);
	}
}

/* ---- parallel loops ------------------------------------------------------ */

static int32_t part(NativeCall *call, void *e, int64_t k) {
	Env *v = e;
	atomic_fetch_add(&v->ran, 1);
	atomic_fetch_add(&v->sum, k * k);
	int64_t *p = atled_rt_scratch(call, v->bytes), *q = v->bytes ? atled_rt_arena(call, 64) : p;
	if (!p || !q) return ST_NOMEM;
	for (int64_t i = 0; i < v->bytes / 8; i++) p[i] = k + i;
	if (v->bytes) *q = k;
	for (int64_t left = v->units; left > 0; left -= 500) {
		call->poll_left -= 500;
		const int32_t st = call->poll_left < 0 ? atled_rt_poll(call) : 0;
		if (st) return st;
	}
	for (int64_t i = 0; i < v->bytes / 8; i++) atomic_fetch_add(&v->wrong, p[i] != k + i);
	if (v->bytes && *q != k) atomic_fetch_add(&v->wrong, 1);
	if (k == v->fail_part || k == v->fail_part + 17 || k == v->fail_part + 40) {
		call->site = k;
		call->fail_a = 10 * k;
		call->fail_b = -k;
		return NATIVE_FAILED_AT_SITE;
	}
	return 0;
}

static int32_t loops(NativeCall *call) { return atled_rt_parallel(call, part, &env, env.parts); }

static int32_t inner_part(NativeCall *call, void *e, int64_t k) {
	Env *v = e;
	int64_t *mine = atled_rt_scratch(call, 800);
	if (!mine) return ST_NOMEM;
	for (int i = 0; i < 100; i++) mine[i] = k;
	const int32_t st = atled_rt_parallel(call, part, v, 5);
	for (int i = 0; i < 100; i++) atomic_fetch_add(&v->wrong, mine[i] != k);
	return st;
}

static int32_t loops_twice(NativeCall *call) {
	return atled_rt_parallel(call, inner_part, &env, env.parts);
}

static void test_parallel(void) {
	NativeCall call = {0};
	for (int threads = 0; threads <= 4; threads++) {
		Ctx *c = context(threads);
		static const int64_t counts[] = {0, 1, 2, 3, 100, 1000};
		for (size_t i = 0; i < 6; i++) {
			const int64_t n = counts[i];
			env = (Env){.parts = n, .fail_part = -100, .bytes = 400, .units = 20000};
			const uint64_t before = ctx_steps(c) + backend_of(c)->work;
			CHECK(run(c, loops, &call) == ST_OK && env.ran == n && !env.wrong &&
			      env.sum == (n - 1) * n * (2 * n - 1) / 6);
			/* Steps are counted whichever thread ran them. */
			CHECK(ctx_steps(c) + backend_of(c)->work - before == (uint64_t)(n * 20000));
		}
		env = (Env){.parts = -5};
		CHECK(run(c, loops, &call) == ST_OK && !env.ran);
		env = (Env){.parts = 40, .fail_part = -100, .bytes = 4000};
		CHECK(run(c, loops_twice, &call) == ST_OK && env.ran == 200 && !env.wrong);
		/* The lowest failing chunk is reported for every number of threads. */
		for (int64_t k = 0; k < 200; k += 13) {
			env = (Env){.parts = 200, .fail_part = k, .units = 100};
			CHECK(run(c, loops, &call) == ST_ERROR && call.site == k && call.fail_a == 10 * k &&
			      call.fail_b == -k);
			CHECK(env.ran >= k + 1);
		}
		env = (Env){.parts = 5, .fail_part = 3}; /* in a nested loop */
		CHECK(run(c, loops_twice, &call) == ST_ERROR && call.site == 3 && call.fail_a == 30);
		env = (Env){.parts = 10, .fail_part = -100};
		CHECK(run(c, loops, &call) == ST_OK && call.site == -1);
		ctx_free(c);
	}
}

static void test_parallel_stops(void) {
	NativeCall call = {0};
	for (int threads = 1; threads <= 4; threads += 3) {
		Ctx *c = context(threads);
		/* Chunks of milliseconds: few end while the thread that counts polls
		 * waits for its processor. */
		env = (Env){.parts = 1000, .fail_part = -100, .units = 1000000000};
		ctx_interrupt_at_poll(c, 20);
		CHECK(run(c, loops, &call) == ST_INTERRUPTED && env.ran < 50 &&
		      last_code(c) == E_INTERRUPT && call.site == -1);
		ctx_clear_interrupt(c);
		env = (Env){.parts = 100000, .fail_part = -100, .units = 20000};
		ctx_set_step_limit(c, 2000000);
		CHECK(run(c, loops, &call) == ST_LIMIT && last_code(c) == E_BUDGET &&
		      env.ran < (SANITIZED ? env.parts : 5000));
		ctx_set_step_limit(c, 0);
		/* Half a minute of work: a chunk takes some 40 ns. */
		env = (Env){.parts = 1000000000, .fail_part = -100, .units = 20000};
		ctx_set_time_limit(c, 0.02);
		CHECK(run(c, loops, &call) == ST_LIMIT && last_code(c) == E_BUDGET && env.ran < env.parts);
		ctx_set_time_limit(c, 0);
		ctx_free(c);
	}
}

/* Allocation fails on any thread: a status is returned, and nothing leaks. */
static void test_parallel_memory(void) {
	NativeCall call = {0};
	int fails = 0;
	for (uint64_t n = 1; n < 40; n++) {
		Ctx *c = context(4);
		env = (Env){
			.parts = 50, .fail_part = -100, .bytes = 70000, .units = 100, .be = backend_of(c)};
		heap_fail_at(c, n, n & 1);
		const Status st = native_run(env.be, loops, &call);
		heap_fail_at(c, 0, false);
		CHECK(st == ST_OK || st == ST_NOMEM);
		CHECK(!env.wrong);
		fails += st == ST_NOMEM;
		env = (Env){.parts = 50, .fail_part = -100, .bytes = 70000, .be = backend_of(c)};
		CHECK(native_run(env.be, loops, &call) == ST_OK && env.ran == 50 && !env.wrong);
		const uint64_t allocations = heap_allocation_count(c);
		(void)allocations;
		ctx_free(c);
	}
	CHECK(fails > 3);
	/* More threads than before. */
	Ctx *c = context(2);
	env = (Env){.parts = 50, .fail_part = -100, .bytes = 3000};
	CHECK(run(c, loops, &call) == ST_OK);
	parallel_set_threads(c, 4);
	CHECK(run(c, loops, &call) == ST_OK && env.ran == 100 && !env.wrong);
	env.bytes = 20 << 20;
	env.parts = 3;
	CHECK(run(c, loops, &call) == ST_OK && !env.wrong);
	ctx_free(c);
}

typedef struct Own {
	Ctx *c;
	Env env;
	int64_t good;
} Own;

static int32_t own_loops(NativeCall *call) {
	return atled_rt_parallel(call, part, call->buffers[0], ((Env *)call->buffers[0])->parts);
}

static void *own_context(void *arg) {
	Own *o = arg;
	o->c = context(0);
	for (int i = 0; i < 200; i++) {
		o->env = (Env){.parts = 1 + i % 70, .fail_part = i % 3 ? -100 : i % 40, .bytes = 1000};
		void *buffers[1] = {&o->env};
		NativeCall call = {.buffers = buffers};
		const Status st = native_run(backend_of(o->c), own_loops, &call);
		const bool fails = !(i % 3) && i % 40 < o->env.parts;
		o->good += !o->env.wrong && (fails ? st == ST_ERROR && call.site == i % 40
		                                   : st == ST_OK && o->env.ran == o->env.parts);
	}
	ctx_free(o->c);
	return NULL;
}

static void test_contexts(void) {
	pthread_t ids[3];
	static Own own[3];
	for (int i = 0; i < 3; i++) pthread_create(&ids[i], NULL, own_context, &own[i]);
	for (int i = 0; i < 3; i++) {
		pthread_join(ids[i], NULL);
		CHECK(own[i].good == 200);
	}
}

/* ---- copies -------------------------------------------------------------- */

static void test_copies(void) {
	char a[100], b[100];
	for (int i = 0; i < 100; i++) a[i] = (char)i;
	memset(b, 7, sizeof b);
	atled_rt_copy(b, a, 50);
	CHECK(b[0] == 0 && b[49] == 49 && b[50] == 7);
	atled_rt_copy(a + 10, a, 50); /* overlapping */
	CHECK(a[10] == 0 && a[59] == 49 && a[60] == 60);
	atled_rt_zero(b + 1, 10);
	CHECK(b[0] == 0 && b[10] == 0 && b[11] == 11);
	atled_rt_copy(b, a, 0);
	atled_rt_copy(NULL, NULL, 0);
	atled_rt_zero(b + 20, -5);
	CHECK(b[20] == 20);
	CHECK(native_runtime_symbol("atled_rt_poll") && !native_runtime_symbol("atled_rt_pol") &&
	      !native_runtime_symbol(""));
}

/* ---- products ------------------------------------------------------------ */

typedef struct Shape {
	int64_t m, n, k;
	int64_t c_row, c_col, a_row, a_k, b_k, b_col; /* strides */
	int64_t reach[3];                             /* elements of C, A, B */
	int64_t shift[3];                             /* of the first element */
	bool accumulate, single, in_part, tiles;
	int64_t strips; /* the terms are divided over this number of calls */
} Shape;
static Shape shape;
static void *data[3];

/* Replaces the generated code for tiles by C: 4 x 24 tiles, vectors of 8.
 * Missing last rows and columns of a panel are not written. */
enum { TILE_ROWS = 4, TILE_COLUMNS = 24, TILE_LANES = 8 };
static _Atomic int64_t panels_run;

#define PANEL(T, WIDE)                                                                             \
	for (int64_t i = 0; i < m; i++)                                                                \
		for (int64_t j = 0; j < (WIDE) && j < left; j++) {                                         \
			T *to = (T *)(void *)((char *)c + i * c_row + j * c_col), sum = 0;                     \
			for (int64_t p = 0; p < k; p++)                                                        \
				sum += *(const T *)(const void *)((const char *)a + i * a_row + p * a_k) *         \
				       ((const T *)(const void *)((const char *)b + p * b_step))[j];               \
			*to = add ? *to + sum : sum;                                                           \
		}
static void panel(void *c, int64_t c_row, int64_t c_col, const void *a, int64_t a_row, int64_t a_k,
                  const void *b, int64_t b_step, int64_t m, int64_t k, int64_t left, bool add,
                  int64_t panels, const void *bias) {
	(void)bias;
	CHECK(m > 0 && panels == 1);
	panels_run += (m + TILE_ROWS - 1) / TILE_ROWS;
	if (shape.single) {
		PANEL(float, TILE_COLUMNS)
	} else {
		PANEL(double, TILE_COLUMNS)
	}
}

static void single(void *c, int64_t c_row, int64_t c_col, const void *a, int64_t a_row, int64_t a_k,
                   const void *b, int64_t b_step, int64_t m, int64_t k, int64_t left, bool add,
                   int64_t panels, const void *bias) {
	(void)bias;
	CHECK(m > 0 && panels == 1);
	panels_run += (m + TILE_ROWS - 1) / TILE_ROWS;
	if (shape.single) {
		PANEL(float, TILE_LANES)
	} else {
		PANEL(double, TILE_LANES)
	}
}

static void turn(void *panel, const void *from, int64_t step, int64_t left, int64_t width,
                 int64_t k) {
	/* All of them are written, as vector stores do. */
	const int64_t size = shape.single ? 4 : 8,
				  lines = (k + TILE_LANES - 1) / TILE_LANES * TILE_LANES;
	for (int64_t p = 0; p < lines; p++)
		for (int64_t j = 0; j < width; j++)
			memcpy((char *)panel + (p * width + j) * size,
			       (const char *)from + (j < left ? j : left - 1) * step +
			           (p < k ? p : k - 1) * size,
			       (size_t)size);
}
static const NativeTiles in_c = {panel, panel, single, turn, TILE_ROWS, TILE_COLUMNS, TILE_LANES};

/* Adds terms from .. to-1. */
static int32_t multiply_terms(NativeCall *call, int64_t from, int64_t to, int32_t how) {
	const Shape *s = &shape;
	if (s->single)
		return atled_rt_gemm_f32(call, (float *)data[0] + s->shift[0], s->c_row, s->c_col,
		                         (float *)data[1] + s->shift[1] + from * s->a_k, s->a_row, s->a_k,
		                         (float *)data[2] + s->shift[2] + from * s->b_k, s->b_k, s->b_col,
		                         s->m, s->n, to - from, how, s->tiles ? &in_c : NULL);
	return atled_rt_gemm_f64(call, (double *)data[0] + s->shift[0], s->c_row, s->c_col,
	                         (double *)data[1] + s->shift[1] + from * s->a_k, s->a_row, s->a_k,
	                         (double *)data[2] + s->shift[2] + from * s->b_k, s->b_k, s->b_col,
	                         s->m, s->n, to - from, how, s->tiles ? &in_c : NULL);
}

static int32_t multiply(NativeCall *call) {
	const int64_t k = shape.k, n = shape.strips < k ? shape.strips : k;
	int32_t st = 0, first = shape.accumulate ? GEMM_ADD : 0;
	if (n <= 1) return multiply_terms(call, 0, k, first);
	for (int64_t i = 0; i < n && !st; i++)
		st = multiply_terms(call, k * i / n, k * (i + 1) / n,
		                    GEMM_STRIPS | (i ? GEMM_ADD : first) | (i + 1 < n ? GEMM_MORE : 0));
	return st;
}

static int32_t multiply_part(NativeCall *call, void *unused, int64_t k) {
	(void)unused;
	return k == 1 ? multiply(call) : 0;
}

static int32_t multiplies(NativeCall *call) {
	return shape.in_part ? atled_rt_parallel(call, multiply_part, NULL, 3) : multiply(call);
}

static double element(int which, int64_t i) {
	const int64_t k = shape.shift[which] + i;
	return shape.single ? ((float *)data[which])[k] : ((double *)data[which])[k];
}

static uint64_t seed = 1;
static int64_t below(int64_t n) {
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)((seed >> 33) % (uint64_t)n);
}

/* Strides of rows and columns: row-major or column-major, with gaps, reversed,
 * or strided in both. */
static void strides(int64_t rows, int64_t columns, int which, int64_t *row, int64_t *column) {
	const int64_t gap = below(3) ? 0 : below(5);
	switch (below(6)) {
	case 0:
	case 1: *row = columns + gap, *column = 1; break;
	case 2:
	case 3: *row = 1, *column = rows + gap; break;
	case 4: *row = 2 * columns + gap, *column = 2; break;
	default: *row = -(columns + gap), *column = 1; break;
	}
	const int64_t r = *row * (rows - 1), k = *column * (columns - 1);
	shape.shift[which] = (r < 0 ? -r : 0) + (k < 0 ? -k : 0);
	shape.reach[which] = (r < 0 ? -r : r) + (k < 0 ? -k : k) + 1;
}

static double *expected(void) {
	const Shape *s = &shape;
	double *want = malloc((size_t)(s->m * s->n) * sizeof *want + 1);
	for (int64_t i = 0; want && i < s->m; i++)
		for (int64_t j = 0; j < s->n; j++) {
			double sum = s->accumulate ? element(0, i * s->c_row + j * s->c_col) : 0;
			for (int64_t p = 0; p < s->k; p++)
				sum +=
					element(1, i * s->a_row + p * s->a_k) * element(2, p * s->b_k + j * s->b_col);
			want[i * s->n + j] = sum;
		}
	return want;
}

/* Fills C, A and B with small integers, so that every order of summation gives
 * the same result. */
static void make_data(void) {
	const size_t size = shape.single ? 4 : 8;
	for (int w = 0; w < 3; w++) {
		data[w] = malloc((size_t)shape.reach[w] * size);
		for (int64_t i = 0; data[w] && i < shape.reach[w]; i++) {
			const double x = (double)(below(17) - 8);
			if (shape.single) ((float *)data[w])[i] = (float)x;
			else ((double *)data[w])[i] = x;
		}
	}
}

static void free_data(void) {
	for (int w = 0; w < 3; w++) free(data[w]);
}

static void test_products(void) {
	Ctx *c[2] = {context(1), context(4)};
	NativeCall call = {0};
	int wrong = 0, told = 0;
	for (int i = 0; i < 600; i++) {
		static const int64_t sizes[] = {1, 1, 2, 3, 5, 8, 17, 31, 64, 130, 300};
		shape = (Shape){
			.m = sizes[below(11)], .n = sizes[below(11)], .k = i % 29 ? sizes[below(11)] : 0};
		shape.accumulate = below(2);
		shape.single = below(2);
		shape.in_part = !below(4);
		shape.tiles = below(2);
		if (i % 100 == 11) shape.k = 2000 + below(100); /* the sum in several blocks */
		if (i % 150 == 7) shape.m = 100, shape.n = 1100, shape.k = 60; /* chunks of columns */
		/* Chunks that are nearly square. */
		if (i % 150 == 31) shape.m = i < 300 ? 260 : 520, shape.n = 2051, shape.k = 11;
		strides(shape.m, shape.n, 0, &shape.c_row, &shape.c_col);
		strides(shape.m, shape.k ? shape.k : 1, 1, &shape.a_row, &shape.a_k);
		strides(shape.k ? shape.k : 1, shape.n, 2, &shape.b_k, &shape.b_col);
		if (!below(8)) { /* one row repeated */
			shape.b_k = 0;
			shape.shift[2] = 0;
			shape.reach[2] = (shape.n - 1) * (shape.b_col < 0 ? -shape.b_col : shape.b_col) + 1;
		}
		const bool own = !below(6); /* with its own transpose */
		if (own) {
			shape.n = shape.m, shape.accumulate = false;
			shape.c_row = shape.m + below(3), shape.c_col = 1,
			shape.reach[0] = shape.m * shape.c_row, shape.shift[0] = 0;
			shape.b_k = shape.a_k, shape.b_col = shape.a_row, shape.shift[2] = shape.shift[1],
			shape.reach[2] = shape.reach[1];
		}
		shape.strips = below(3) ? 0 : 1 + below(4);
		make_data();
		void *const second = data[2];
		if (own) data[2] = data[1];
		double *want = expected();
		const Status st = run(c[i & 1], multiplies, &call);
		bool good = st == ST_OK && want;
		for (int64_t r = 0; good && r < shape.m; r++)
			for (int64_t k = 0; good && k < shape.n; k++)
				good = element(0, r * shape.c_row + k * shape.c_col) == want[r * shape.n + k];
		if (!good && told++ < 5)
			fprintf(stderr,
			        "wrong product: %lld %lld %lld, C %lld %lld, A %lld %lld, B %lld %lld\n",
			        (long long)shape.m, (long long)shape.n, (long long)shape.k,
			        (long long)shape.c_row, (long long)shape.c_col, (long long)shape.a_row,
			        (long long)shape.a_k, (long long)shape.b_k, (long long)shape.b_col);
		wrong += !good;
		free(want);
		data[2] = second;
		free_data();
	}
	CHECK(wrong == 0);
	/* Nothing to do. */
	shape = (Shape){
		.m = 0, .n = 5, .k = 5, .c_row = 5, .c_col = 1, .a_row = 5, .a_k = 1, .b_k = 5, .b_col = 1};
	data[0] = data[1] = data[2] = NULL;
	CHECK(run(c[0], multiplies, &call) == ST_OK);
	/* The allocation of a packed copy fails. */
	shape = (Shape){.m = 50,
	                .n = 50,
	                .k = 50,
	                .c_row = 50,
	                .c_col = 1,
	                .a_row = 100,
	                .a_k = 2,
	                .b_k = 50,
	                .b_col = 1,
	                .reach = {2500, 5000, 2500}};
	make_data();
	Ctx *small = context(1);
	heap_fail_at(small, 2, true); /* the first allocation is the state */
	CHECK(run(small, multiplies, &call) == ST_NOMEM);
	heap_fail_at(small, 0, false);
	CHECK(run(small, multiplies, &call) == ST_OK);
	ctx_free(small);
	free_data();
	ctx_free(c[0]);
	ctx_free(c[1]);
}

/* Large products are bit-identical for any number of threads and inside a
 * chunk. An interrupt stops them. */
static void large_products(bool tiles) {
	enum { M = 700, N = 300, K = 257 };
	NativeCall call = {0};
	static double a[M * K], b[K * N], o[4][M * N];
	for (int64_t i = 0; i < M * K; i++) a[i] = sin((double)i * 0.7);
	for (int64_t i = 0; i < K * N; i++) b[i] = cos((double)i * 1.3);
	for (int i = 0; i < 4; i++) {
		Ctx *c = context(i < 3 ? i + 1 : 4);
		shape = (Shape){.m = M,
		                .n = N,
		                .k = K,
		                .c_row = N,
		                .c_col = 1,
		                .a_row = K,
		                .a_k = 1,
		                .b_k = N,
		                .b_col = 1,
		                .in_part = i == 3,
		                .tiles = tiles};
		data[0] = o[i];
		data[1] = a;
		data[2] = b;
		CHECK(run(c, multiplies, &call) == ST_OK);
		CHECK(!memcmp(o[0], o[i], sizeof o[0]));
		const uint64_t steps = ctx_steps(c);
		CHECK(steps >= (uint64_t)M * N * K && steps < (uint64_t)M * N * K * 5 / 4);
		ctx_interrupt_at_poll(c, tiles && !i ? 1 : 2); /* with tiles, one thread has one chunk */
		/* (In a chunk, the surrounding loop polls.) */
		if (i < 3) CHECK(run(c, multiplies, &call) == ST_INTERRUPTED);
		ctx_free(c);
	}
	double worst = 0;
	for (int64_t i = 0; i < M; i += 37)
		for (int64_t j = 0; j < N; j += 11) {
			long double sum = 0;
			for (int64_t p = 0; p < K; p++) sum += (long double)a[i * K + p] * b[p * N + j];
			worst = fmax(worst, fabs((double)(sum - o[0][i * N + j])));
		}
	CHECK(worst < 1e-11);
}

static void test_large_products(void) {
	large_products(false);
	panels_run = 0;
	large_products(true);
	/* Panels of the four complete products. The count for interrupted ones
	 * depends on the threads. */
	CHECK(panels_run >= 4 * (700 / TILE_ROWS) * (300 / TILE_COLUMNS + 1));
}

/* ---- timings ------------------------------------------------------------- */

static double seconds(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int32_t empty_part(NativeCall *call, void *e, int64_t k) {
	(void)call;
	(void)e;
	(void)k;
	return 0;
}

static int32_t empty(NativeCall *call) {
	(void)call;
	return 0;
}

static int32_t fork_join(NativeCall *call) {
	double best = 1e9;
	for (int round = 0; round < 50; round++) {
		const double t = seconds();
		for (int i = 0; i < 100; i++) atled_rt_parallel(call, empty_part, NULL, 2);
		const double each = (seconds() - t) / 100;
		if (each < best) best = each;
	}
	env.sum = (int64_t)(best * 1e12);
	return 0;
}

static void measure(void) {
	NativeCall call = {0};
	pool_pretend_processors(0);
	Ctx *c = context(0);
	double t = seconds();
	for (int i = 0; i < 100000; i++) native_run(backend_of(c), empty, &call);
	printf("a call of an empty entry: %.1f ns\n", (seconds() - t) / 100000 * 1e9);
	run(c, fork_join, &call);
	printf("a parallel loop of 2 empty parts: %.2f us\n", (double)env.sum * 1e-6);
	ctx_free(c);
	for (int threads = 1; threads <= 2; threads++) {
		c = context(threads);
		for (int64_t n = 128; n <= 1024; n *= 2) {
			shape = (Shape){.m = n,
			                .n = n,
			                .k = n,
			                .c_row = n,
			                .c_col = 1,
			                .a_row = n,
			                .a_k = 1,
			                .b_k = n,
			                .b_col = 1};
			for (int w = 0; w < 3; w++) shape.reach[w] = n * n;
			make_data();
			double best = 1e9;
			for (int i = 0; i < 5; i++) {
				t = seconds();
				run(c, multiplies, &call);
				if (seconds() - t < best) best = seconds() - t;
			}
			printf("product of %lld x %lld, %d threads: %.1f Gflop/s\n", (long long)n, (long long)n,
			       threads, 2e-9 * (double)(n * n * n) / best);
			free_data();
		}
		ctx_free(c);
	}
}

int main(void) {
	pool_pretend_processors(4);
	test_statuses();
	test_depth();
	test_polls();
	test_scratch();
	test_parallel();
	test_parallel_stops();
	test_parallel_memory();
	test_contexts();
	test_copies();
	test_products();
	test_large_products();
	if (getenv("ATLED_MEASURE")) measure();
	return check_end();
}
