/* mutate_text.h - custom mutator for programs.
 *
 * Method: moves, duplicates, deletes and replaces whole tokens and lines, so
 * that the result often remains a program. Every second mutation is libFuzzer's
 * own, of bytes and dictionary words. Include it in a target whose inputs are
 * programs.
 *
 * Needs: parse_tokens.
 *
 * Guarantees: the same mutation for the same seed.
 */
#ifndef ATLED_TESTS_FUZZ_MUTATE_TEXT_H
#define ATLED_TESTS_FUZZ_MUTATE_TEXT_H

#include "parser/syntax/ast.h"

#include <string.h>

/* absent when inputs are replayed */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most) __attribute__((weak));
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed);

typedef struct Piece {
	uint32_t start, end;
	TokenClass kind;
} Piece;

typedef struct Pieces {
	const char *text;
	Piece at[1024];
	uint32_t n;
	bool lines; /* pieces are lines, not tokens */
} Pieces;

static void take_piece(void *ud, TokenClass kind, size_t start, size_t end) {
	Pieces *p = ud;
	if (kind == TC_SPACE || kind == TC_COMMENT || p->n == sizeof p->at / sizeof *p->at) return;
	p->at[p->n++] = (Piece){(uint32_t)start, (uint32_t)end, kind};
}

static void take_lines(Pieces *p, size_t n) {
	for (size_t start = 0; start < n && p->n < sizeof p->at / sizeof *p->at;) {
		const char *end = memchr(p->text + start, '\n', n - start);
		const size_t stop = end ? (size_t)(end - p->text) + 1 : n;
		p->at[p->n++] = (Piece){(uint32_t)start, (uint32_t)stop, TC_SPACE};
		start = stop;
	}
}

static uint32_t draw(uint64_t *state, uint32_t below) {
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*state >> 33) % (below ? below : 1));
}

/* Replaces text[start, end) by n other bytes. */
static size_t put_for(uint8_t *data, size_t size, size_t most, uint32_t start, uint32_t end,
                      const char *bytes, size_t n) {
	const size_t left = size - (end - start);
	if (n > most || left > most - n) return size;
	memmove(data + start + n, data + end, size - end);
	memcpy(data + start, bytes, n);
	return left + n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed) {
	static Pieces p;
	static char copy[1 << 16];
	uint64_t state = seed;
	const uint32_t how = draw(&state, 10);
	if (how < 5 || !size || size >= sizeof copy) return LLVMFuzzerMutate(data, size, most);
	memcpy(copy, data, size);
	copy[size] = 0;
	p = (Pieces){.text = copy};
	if (how < 7) take_lines(&p, size);
	else parse_tokens(copy, size, take_piece, &p);
	if (p.n < 2) return LLVMFuzzerMutate(data, size, most);
	const Piece a = p.at[draw(&state, p.n)];
	Piece b = p.at[draw(&state, p.n)];
	for (int i = 0; i < 20 && how >= 7 && b.kind != a.kind; i++) b = p.at[draw(&state, p.n)];
	switch (draw(&state, 4)) {
	case 0: return put_for(data, size, most, a.start, a.end, "", 0);
	case 1: return put_for(data, size, most, a.start, a.start, copy + b.start, b.end - b.start);
	default: return put_for(data, size, most, a.start, a.end, copy + b.start, b.end - b.start);
	}
}

#endif
