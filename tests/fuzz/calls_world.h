/* calls_world.h - what the calls of the fuzz target `calls` work on.
 *
 * Method: the input is read byte by byte; missing bytes are zeros. Handles are
 * in tables whose places are drawn from the input, so that some are NULL or of
 * another context. A callback makes further calls from the same input.
 *
 * Guarantees:
 * - All strings and arrays are in memory of exactly their size.
 * - A handle that an outer call may use is not freed by a callback.
 * - Memory of the library and all objects of the host are counted.
 */
#ifndef ATLED_TESTS_FUZZ_CALLS_WORLD_H
#define ATLED_TESTS_FUZZ_CALLS_WORLD_H

#include "atled.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXTS = 2, VALUES = 12, FUNCTIONS = 8, TENSORS = 12, EXPORTS = 4, DEPTH_MOST = 3 };

typedef struct CallsWorld {
	const uint8_t *at, *end; /* the rest of the input */
	atled_engine *engine;
	atled_context *ctx[CONTEXTS];
	atled_value *value[VALUES];
	uint8_t home[VALUES]; /* the context of each value; CONTEXTS: freed */
	atled_function *function[FUNCTIONS];
	atled_tensor *tensor[TENSORS];
	struct DLManagedTensor *exported[EXPORTS];
	int depth;      /* of callbacks */
	size_t bytes;   /* that the library has allocated */
	size_t objects; /* of the host that the library must release */
	uint64_t seen;  /* so that what a sink receives is read */
} CallsWorld;

static CallsWorld w;

/* ---- input --------------------------------------------------------------- */

static uint8_t take(void) { return w.at < w.end ? *w.at++ : 0; }

static uint32_t take_below(uint32_t n) { return take() % n; }

static double take_number(void) {
	static const double numbers[] = {0, 1, -1, 2.5, 1e300, 5e-324, 1e18, -0.0};
	const uint8_t b = take();
	if (b < 8) return numbers[b];
	return b == 8 ? (double)NAN : b == 9 ? (double)INFINITY : b - 100;
}

static int64_t take_integer(void) {
	const uint8_t b = take();
	return b == 255 ? INT64_MAX : b == 254 ? INT64_MIN : b < 200 ? b % 8 : b - 230;
}

/* A string in memory of its own. */
typedef struct CallText {
	char *at; /* NULL: the argument is missing */
	size_t n;
} CallText;

/* Takes a string: one of `known`, or bytes of the input. zero: it ends with a
 * zero byte and contains none. */
static CallText take_text(const char *const *known, size_t nknown, bool zero) {
	const uint8_t b = take();
	if (b == 255) return (CallText){NULL, 0};
	const char *from = known[b % nknown];
	size_t n = strlen(from);
	if (b >= 192) {
		n = b - 192u;
		if (n > (size_t)(w.end - w.at)) n = (size_t)(w.end - w.at);
		from = (const char *)w.at;
		w.at += n;
		if (zero) n = strnlen(from, n);
	}
	char *at = malloc(n + zero + !(n + zero));
	if (!at) abort();
	memcpy(at, from, n);
	if (zero) at[n] = 0;
	return (CallText){at, n};
}

/* ---- memory -------------------------------------------------------------- */

enum { BLOCK_HEAD = 16 };

/* Every block begins with its size, which the library must give back. */
static void *world_resize(void *ud, void *p, size_t old_bytes, size_t new_bytes) {
	CallsWorld *of = ud;
	char *block = p ? (char *)p - BLOCK_HEAD : NULL;
	if (block) {
		size_t bytes;
		memcpy(&bytes, block, sizeof bytes);
		if (bytes != old_bytes) abort();
	}
	if (!new_bytes) {
		of->bytes -= old_bytes;
		free(block);
		return NULL;
	}
	if (new_bytes > (size_t)1 << 30) return NULL;
	block = realloc(block, new_bytes + BLOCK_HEAD);
	if (!block) return NULL;
	memcpy(block, &new_bytes, sizeof new_bytes);
	of->bytes += new_bytes - (p ? old_bytes : 0);
	return block + BLOCK_HEAD;
}

static void *object_new(size_t bytes) {
	char *p = calloc(1, bytes);
	if (!p) abort();
	w.objects++;
	return p;
}

static void object_free(void *p) {
	w.objects--;
	free(p);
}

/* ---- places of handles --------------------------------------------------- */

/* Where a result is put, or NULL: it must be freed at once. Callbacks fill only
 * empty places, because outer calls use the others. */
static atled_value **value_place(uint32_t home) {
	const uint32_t k = take_below(VALUES);
	if (w.value[k] && w.depth) return NULL;
	atled_value_free(w.value[k]);
	w.value[k] = NULL;
	w.home[k] = (uint8_t)home;
	return &w.value[k];
}

static void keep_value(uint32_t home, atled_value *v) {
	atled_value **to = value_place(home);
	if (to) *to = v;
	else atled_value_free(v);
}

static void keep_function(atled_function *f) {
	const uint32_t k = take_below(FUNCTIONS);
	if (w.function[k] && w.depth) {
		atled_function_free(f);
		return;
	}
	atled_function_free(w.function[k]);
	w.function[k] = f;
}

static void keep_tensor(atled_tensor *t) {
	const uint32_t k = take_below(TENSORS);
	if (w.tensor[k] && w.depth) {
		atled_tensor_free(t);
		return;
	}
	atled_tensor_free(w.tensor[k]);
	w.tensor[k] = t;
}

/* A value, or NULL. After its context is freed, a value can only be freed. */
static const atled_value *take_value(void) {
	const uint32_t k = take_below(VALUES);
	return w.home[k] < CONTEXTS ? w.value[k] : NULL;
}

/* ---- results ------------------------------------------------------------- */

static void world_sink(void *ud, const char *text, size_t n) {
	(void)ud;
	for (size_t i = 0; i < n; i++) w.seen += (unsigned char)text[i];
}

static void read_string(const char *text) {
	if (text) world_sink(NULL, text, strlen(text));
}

static void read_error(const atled_error *e) {
	if (!e->code || !e->title || !e->message || !strcmp(e->code, "E0999")) abort();
	const char *const texts[] = {e->code,   e->title,       e->message, e->file, e->label,
	                             e->second, e->second_file, e->hint,    e->trace};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) read_string(texts[i]);
}

/* Checks the status of a call into the context `k`: a failure has a reason,
 * which has this status, and a success has none. */
static bool right(uint32_t k, atled_status st) {
	const atled_context *ctx = w.ctx[k];
	if (st == ATLED_INTERNAL || (unsigned)st > ATLED_EXIT) abort();
	if (!ctx) {
		if (st != ATLED_MISUSE) abort();
		return false;
	}
	if (st == ATLED_BUSY) {
		if (!w.depth) abort();
		return false;
	}
	const atled_error *e = atled_last_error(ctx);
	if (st == ATLED_OK) {
		if (e && !w.depth) abort();
		return true;
	}
	if (!e || e->status != st) abort();
	read_error(e);
	return false;
}

#endif
