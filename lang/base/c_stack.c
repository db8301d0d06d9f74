/* c_stack.c - see c_stack.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_getattr_np */
#endif
#include "lang/base/c_stack.h"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__has_feature)
#define HAS_FEATURE(x) __has_feature(x)
#else
#define HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer)
#include <sanitizer/common_interface_defs.h>
#define TELLS_ASAN 1
#else
#define TELLS_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__) || HAS_FEATURE(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define TELLS_TSAN 1
#else
#define TELLS_TSAN 0
#endif

/* Unreadable bytes below a mapped stack; larger than any array on it. */
enum { GUARD_BYTES = 1 << 20 };

/* ---- the thread's own stack ---------------------------------------------- */

typedef struct StackBounds {
	uintptr_t low, high;
} StackBounds;

static _Thread_local StackBounds own;

/* Measures once in each thread. A stack that cannot be measured is empty. */
static const StackBounds *own_bounds(void) {
	if (own.high) return &own;
	own.high = 1;
	pthread_attr_t attr;
	if (pthread_getattr_np(pthread_self(), &attr)) return &own;
	void *low;
	size_t bytes;
	if (!pthread_attr_getstack(&attr, &low, &bytes)) {
		own.low = (uintptr_t)low;
		own.high = own.low + bytes;
	}
	pthread_attr_destroy(&attr);
	return &own;
}

uintptr_t c_stack_low(void) { return own_bounds()->low; }

/* ---- mapped stacks ------------------------------------------------------- */

static char *map_stack(void) {
	char *at = mmap(NULL, GUARD_BYTES + C_STACK_BYTES, PROT_NONE,
	                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (at == MAP_FAILED) return NULL;
	if (!mprotect(at + GUARD_BYTES, C_STACK_BYTES, PROT_READ | PROT_WRITE)) {
		/* A huge page would make each context 2 MB larger. */
		(void)madvise(at, GUARD_BYTES + C_STACK_BYTES, MADV_NOHUGEPAGE);
		return at + GUARD_BYTES;
	}
	munmap(at, GUARD_BYTES + C_STACK_BYTES);
	return NULL;
}

static void unmap_stack(char *at) { munmap(at - GUARD_BYTES, GUARD_BYTES + C_STACK_BYTES); }

void c_stack_trim(CStack *s) {
	if (s->busy) return;
	if (s->mapped) unmap_stack(s->mapped);
	s->mapped = NULL;
}

void c_stack_free(CStack *s) {
	c_stack_trim(s);
	*s = (CStack){0};
}

/* ---- switching ----------------------------------------------------------- */

typedef struct Switch {
	ucontext_t outer, inner;
	Status (*body)(void *arg);
	void *arg;
	Status result;
#if TELLS_ASAN
	const void *outer_bottom;
	size_t outer_bytes;
#endif
#if TELLS_TSAN
	void *outer_fiber, *inner_fiber;
#endif
} Switch;

/* makecontext passes integers of 32 bits. */
static void run_inside(unsigned high, unsigned low) {
	Switch *w = (Switch *)((uintptr_t)high << 32 | low);
#if TELLS_ASAN
	__sanitizer_finish_switch_fiber(NULL, &w->outer_bottom, &w->outer_bytes);
#endif
	w->result = w->body(w->arg);
#if TELLS_ASAN
	__sanitizer_start_switch_fiber(NULL, w->outer_bottom, w->outer_bytes);
#endif
#if TELLS_TSAN
	__tsan_switch_to_fiber(w->outer_fiber, 0);
#endif
	setcontext(&w->outer);
}

static Status run_on(char *stack, Status (*body)(void *arg), void *arg) {
	Switch w = {.body = body, .arg = arg, .result = ST_NOMEM};
	if (getcontext(&w.inner)) return ST_NOMEM;
	w.inner.uc_stack.ss_sp = stack;
	w.inner.uc_stack.ss_size = C_STACK_BYTES;
	w.inner.uc_link = NULL;
	const uintptr_t at = (uintptr_t)&w;
	makecontext(&w.inner, (void (*)(void))run_inside, 2, (unsigned)(at >> 32), (unsigned)at);
#if TELLS_ASAN
	void *fake = NULL;
	__sanitizer_start_switch_fiber(&fake, stack, C_STACK_BYTES);
#endif
#if TELLS_TSAN
	w.outer_fiber = __tsan_get_current_fiber();
	w.inner_fiber = __tsan_create_fiber(0);
	__tsan_switch_to_fiber(w.inner_fiber, 0);
#endif
	swapcontext(&w.outer, &w.inner);
#if TELLS_ASAN
	__sanitizer_finish_switch_fiber(fake, NULL, NULL);
#endif
#if TELLS_TSAN
	__tsan_destroy_fiber(w.inner_fiber);
#endif
	return w.result;
}

Status c_stack_run(CStack *s, Status (*body)(void *arg), void *arg) {
	const uintptr_t here = (uintptr_t)__builtin_frame_address(0), before = s->low;
	const StackBounds *b = own_bounds();
	/* A call from a callback continues on the mapped stack. */
	if (s->busy && here - (uintptr_t)s->mapped < C_STACK_BYTES) return body(arg);
	Status st;
	if (here < b->high && here > b->low && here - b->low >= C_STACK_NEEDED) {
		s->low = b->low;
		st = body(arg);
	} else {
		/* A callback that has changed to a stack of its own. */
		char *extra = s->busy ? map_stack() : NULL;
		if (!s->busy && !s->mapped) s->mapped = map_stack();
		char *stack = s->busy ? extra : s->mapped;
		if (!stack) return ST_NOMEM;
		s->busy = true;
		s->low = (uintptr_t)stack;
		st = run_on(stack, body, arg);
		if (extra) unmap_stack(extra);
		else s->busy = false;
	}
	s->low = before;
	return st;
}
