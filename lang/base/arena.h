/* arena.h - arenas with bump allocation, and growable arrays stored in them.
 *
 * Needs: context.h.
 *
 * Contract:
 * - Every pointer is 16-byte aligned and stays valid until the arena is freed.
 * - Failure throws ST_NOMEM (compile side only). So does a poll that asks to
 *   stop, with its status.
 */
#ifndef ATLED_LANG_BASE_ARENA_H
#define ATLED_LANG_BASE_ARENA_H

#include "lang/base/context.h"
#include <string.h>

Arena *arena_new(Ctx *c);
Arena *arena_small(Ctx *c); /* for a few hundred bytes: its first chunks are small */
void arena_free(Arena *a);
void *arena_alloc(Arena *a, size_t bytes);              /* not zeroed */
void *arena_zalloc(Arena *a, size_t bytes);             /* zeroed */
char *arena_copy(Arena *a, const char *text, size_t n); /* adds the terminating NUL */
char *arena_printf(Arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
size_t arena_bytes(const Arena *a);
/* A state of the arena. arena_release frees everything that was allocated since
 * the mark was taken. */
typedef struct ArenaMark {
	void *chunks;
	char *free, *end;
} ArenaMark;
ArenaMark arena_mark(const Arena *a);
void arena_release(Arena *a, ArenaMark m);

#define ARENA_NEW(a, T) ((T *)arena_zalloc((a), sizeof(T)))
#define ARENA_ARRAY(a, T, n) ((T *)arena_zalloc((a), sizeof(T) * (size_t)(n)))

/* A growable array: struct { T *at; uint32_t n, cap; }. Growth copies it inside
 * the arena, so do not store a pointer into it across a push; store the index.
 */
#define VEC(T)                                                                                     \
	struct {                                                                                       \
		T *at;                                                                                     \
		uint32_t n, cap;                                                                           \
	}
#ifdef ATLED_STRESS
#define VEC_FIRST 1u
#else
#define VEC_FIRST 8u
#endif
#define VEC_RESERVE(a, v, want)                                                                    \
	do {                                                                                           \
		uint32_t want_ = (uint32_t)(want);                                                         \
		if ((v)->cap < want_) {                                                                    \
			uint32_t cap_ = (v)->cap ? (v)->cap * 2 : VEC_FIRST;                                   \
			while (cap_ < want_) cap_ *= 2;                                                        \
			void *at_ = arena_alloc((a), sizeof(*(v)->at) * (size_t)cap_);                         \
			if ((v)->n) memcpy(at_, (v)->at, sizeof(*(v)->at) * (size_t)(v)->n);                   \
			(v)->at = at_;                                                                         \
			(v)->cap = cap_;                                                                       \
		}                                                                                          \
	} while (0)
#define VEC_PUSH(a, v, x)                                                                          \
	do {                                                                                           \
		VEC_RESERVE((a), (v), (v)->n + 1u);                                                        \
		(v)->at[(v)->n++] = (x);                                                                   \
	} while (0)

#endif
