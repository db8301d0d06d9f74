/* format.h - what the writer and the reader of the binary form share.
 *
 * Needs: ir.h. Guarantees: the numbers here are those of
 * docs/internals/binary.md and are never given another meaning: a change of the
 * form is a new version. What instructions there are and what their attributes
 * hold is not said here but in prims.def, from which a file takes names and
 * schemas with it. Private to lang/.
 */
#ifndef ATLED_LANG_BINARY_FORMAT_H
#define ATLED_LANG_BINARY_FORMAT_H

#include "lang/ir/ir.h"

enum {
	BINARY_FIRST = 1,
	BINARY_RULES = 2 /* a table of derivative rules behind the functions, where there are any */
};
#define BINARY_MAGIC                                                                               \
	"\x89"                                                                                         \
	"AIR\r\n\x1a\n"

/* The head: magic, then numbers of 4 and 8 bytes at these places. */
enum {
	AT_VERSION = 8,
	AT_ZERO = 12,
	AT_LENGTH = 16,
	AT_ARRAYS = 24,
	AT_CHECKSUM = 32,
	HEAD_BYTES = 40
};
/* Arrays of this many bytes stand behind the code, each on such a boundary and
 * filled up to the next; smaller ones stand in the code. */
#define ARRAY_ALIGN 64u

typedef enum BinaryTable {
	TABLE_OPS,
	TABLE_WORDS,
	TABLE_SOURCES,
	TABLE_SPANS,
	TABLE_CHAINS,
	TABLE_DIMS,
	TABLE_TYPES,
	TABLE_COUNT
} BinaryTable;

/* of values */
enum {
	TAG_UNSET,
	TAG_NONE,
	TAG_SCALAR,
	TAG_TENSOR,
	TAG_STRING,
	TAG_RANGE,
	TAG_TUPLE,
	TAG_LIST,
	TAG_RECORD,
	TAG_FUNCTION,
	TAG_PROBLEM,
	TAG_TOKEN
};
/* an operand is kind + OPERAND_KINDS * number of the value */
enum { OPERAND_VALUE, OPERAND_CONST, OPERAND_DYN, OPERAND_KINDS };
enum { HAS_SNAPSHOTS = 1, HAS_BY_LANE = 2 }; /* of functions */

static inline uint64_t binary_load(const unsigned char *p, int bytes) {
	uint64_t v = 0;
	for (int i = 0; i < bytes; i++) v |= (uint64_t)p[i] << 8 * i;
	return v;
}
static inline void binary_put(unsigned char *p, int bytes, uint64_t v) {
	for (int i = 0; i < bytes; i++) p[i] = (unsigned char)(v >> 8 * i);
}
/* Elements change their byte order on machines whose order is not that of the
 * file. */
static inline void binary_elements(Dtype d, void *at, int64_t n) {
	const size_t part = dtype_size(dtype_real_of(d));
	if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ || part == 1) return;
	unsigned char *p = at;
	for (size_t i = 0; i < (size_t)n * (dtype_size(d) / part); i++, p += part)
		for (size_t k = 0; k < part / 2; k++) {
			unsigned char keep = p[k];
			p[k] = p[part - 1 - k];
			p[part - 1 - k] = keep;
		}
}
/* Of what stands behind the head; n is the whole length, a multiple of 8. */
uint64_t binary_checksum(const unsigned char *file, size_t n);

#endif
