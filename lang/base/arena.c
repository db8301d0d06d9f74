/* arena.c - bump allocation in growing chunks.
 *
 * Needs: arena.h and the counted heap of context.h.
 *
 * Contract:
 * - Pointers are 16-byte aligned and stay valid until arena_free.
 * - The heap counts every chunk. A failed chunk throws ST_NOMEM and leaves the
 *   arena unchanged.
 * - A new chunk polls, so that all work that fills an arena answers interrupts
 *   and limits. The context's own arena does not: diagnostics are in it.
 * - The context's own arena is the root of the list of all its arenas. Freeing
 *   the root frees the others, so an arena whose owner was lost in a throw
 *   leaks only until the context is freed.
 */
#include "lang/base/arena.h"
#include <stdio.h>

#define ALIGNMENT ((size_t)16)
#ifdef ATLED_STRESS
/* Every allocation gets its own chunk, so that sanitizers detect stale
 * pointers. */
#define CHUNK_FIRST ((size_t)0)
#define CHUNK_MOST ((size_t)1)
#else
#define CHUNK_FIRST ((size_t)16 * 1024)
#define CHUNK_MOST ((size_t)1024 * 1024)
#endif
#define CHUNK_SMALL ((size_t)512)

typedef struct ArenaChunk {
	struct ArenaChunk *before;
	size_t bytes; /* of the whole block, including this header */
} ArenaChunk;

struct Arena {
	Ctx *ctx;
	/* The list of all arenas of a context; its head is the context's own arena.
	 */
	Arena *prev, *next;
	ArenaChunk *chunks; /* newest first */
	char *free, *end;   /* the free space of the current chunk; `free` is aligned */
	size_t next_chunk;
	size_t bytes;
};

static char *align_up(char *p) { return p + (-(uintptr_t)p & (ALIGNMENT - 1)); }

Arena *arena_new(Ctx *c) {
	Arena *a = heap_alloc(c, sizeof *a);
	if (!a) ctx_throw(c, ST_NOMEM);
	*a = (Arena){.ctx = c, .next_chunk = CHUNK_FIRST, .bytes = sizeof *a};
	Arena *root = ctx_arena(c);
	if (root) {
		a->prev = root;
		a->next = root->next;
		if (a->next) a->next->prev = a;
		root->next = a;
	}
	return a;
}

Arena *arena_small(Ctx *c) {
	Arena *a = arena_new(c);
	if (a->next_chunk > CHUNK_SMALL) a->next_chunk = CHUNK_SMALL;
	return a;
}

/* Frees the chunks that are newer than `last`. */
static void release_chunks(Arena *a, const ArenaChunk *last) {
	while (a->chunks != last) {
		ArenaChunk *k = a->chunks;
		a->chunks = k->before;
		a->bytes -= k->bytes;
		heap_free(a->ctx, k, k->bytes);
	}
}

static void release(Arena *a) {
	release_chunks(a, NULL);
	heap_free(a->ctx, a, sizeof *a);
}

ArenaMark arena_mark(const Arena *a) { return (ArenaMark){a->chunks, a->free, a->end}; }

void arena_release(Arena *a, ArenaMark m) {
	release_chunks(a, m.chunks);
	a->free = m.free;
	a->end = m.end;
}

void arena_free(Arena *a) {
	if (!a) return;
	if (!a->prev) {
		while (a->next) arena_free(a->next);
	} else {
		a->prev->next = a->next;
		if (a->next) a->next->prev = a->prev;
	}
	release(a);
}

size_t arena_bytes(const Arena *a) { return a->bytes; }

/* Allocates a chunk for `bytes` plus header and alignment. It becomes the
 * current chunk only when it leaves more free space than the present one. So a
 * large array does not waste the remainder of a fresh chunk. */
static void *alloc_in_new_chunk(Arena *a, size_t bytes) {
	size_t need = sizeof(ArenaChunk) + ALIGNMENT + bytes;
	if (need < bytes) ctx_throw(a->ctx, ST_NOMEM);
	if (a->prev) ctx_poll_throw(a->ctx);
	size_t want = need > a->next_chunk / 2 ? need : a->next_chunk;
	ArenaChunk *k = heap_alloc(a->ctx, want);
	if (!k) ctx_throw(a->ctx, ST_NOMEM);
	k->bytes = want;
	k->before = a->chunks;
	a->chunks = k;
	a->bytes += want;
	if (want == a->next_chunk && a->next_chunk < CHUNK_MOST) a->next_chunk *= 2;
	char *p = align_up((char *)(k + 1));
	char *rest = align_up(p + bytes), *end = (char *)k + want;
	if (rest < end && end - rest > a->end - a->free) {
		a->free = rest;
		a->end = end;
	}
	return p;
}

void *arena_alloc(Arena *a, size_t bytes) {
	if (bytes > SIZE_MAX / 2) ctx_throw(a->ctx, ST_NOMEM);
	size_t take = bytes ? (bytes + ALIGNMENT - 1) & ~(ALIGNMENT - 1) : ALIGNMENT;
	if ((size_t)(a->end - a->free) < take) return alloc_in_new_chunk(a, take);
	char *p = a->free;
	a->free += take;
	return p;
}

void *arena_zalloc(Arena *a, size_t bytes) { return memset(arena_alloc(a, bytes), 0, bytes); }

char *arena_copy(Arena *a, const char *text, size_t n) {
	char *p = arena_alloc(a, n + 1);
	if (n) memcpy(p, text, n);
	p[n] = 0;
	return p;
}

char *arena_printf(Arena *a, const char *format, ...) {
	char small[256];
	va_list args, again;
	va_start(args, format);
	va_copy(again, args);
	int n = vsnprintf(small, sizeof small, format, args);
	va_end(args);
	const bool fits = n < (int)sizeof small;
	char *p = fits ? arena_copy(a, small, n > 0 ? (size_t)n : 0) : arena_alloc(a, (size_t)n + 1);
	if (!fits) vsnprintf(p, (size_t)n + 1, format, again);
	va_end(again);
	return p;
}
