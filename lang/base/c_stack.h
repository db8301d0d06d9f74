/* c_stack.h - the C stack: how much of it is left, and a stack of our own where
 * the host's is short.
 *
 * Needs: context.h, POSIX threads, the ucontext functions of the C library.
 *
 * Method: parser, specialiser, evaluator and machine code recurse. Their depth
 * must not depend on the thread that calls, which may have 64 kB. A call that
 * enters on a short stack continues on a mapped one, and so does a call from a
 * coroutine, whose stack nobody can measure.
 *
 * Guarantees:
 * - Inside c_stack_run at least C_STACK_NEEDED bytes were left at the start of
 *   the outermost call.
 * - Below a mapped stack lie pages that cannot be read or written.
 * - Callbacks of the host run on the same stack as the code that calls them.
 */
#ifndef ATLED_LANG_BASE_C_STACK_H
#define ATLED_LANG_BASE_C_STACK_H

#include "lang/base/context.h"

#include <stdint.h>

#define C_STACK_BYTES ((size_t)8 << 20)  /* of a mapped stack */
#define C_STACK_NEEDED ((size_t)7 << 20) /* less than this at an entry is short */
/* What recursion leaves to everything that does not count its own depth: the
 * specialiser, transforms, and foreign libraries. */
#define C_STACK_RESERVE ((size_t)3 << 20)

/* The stacks of one context. */
typedef struct CStack {
	uintptr_t low; /* the lowest address of the stack in use; 0: unknown */
	char *mapped;  /* kept for the next call; NULL: none yet */
	bool busy;     /* the mapped one is in use */
} CStack;

/* Runs the body and returns its result. ST_NOMEM without running it when no
 * stack can be mapped. The body must not throw. */
Status c_stack_run(CStack *s, Status (*body)(void *arg), void *arg);
void c_stack_free(CStack *s);
void c_stack_trim(CStack *s); /* unmaps the stack unless it is in use */
/* The lowest address of the calling thread's own stack. */
uintptr_t c_stack_low(void);

/* True where recursion must stop. */
static inline bool c_stack_is_short(const CStack *s) {
	return (uintptr_t)__builtin_frame_address(0) - s->low < C_STACK_RESERVE;
}

#endif
