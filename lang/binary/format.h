/* format.h - definitions shared by the writer and the reader of the binary
 * form.
 *
 * Needs: ir.h. Private to lang/.
 *
 * Contract: the numbers here are those of docs/internals/binary.md and never
 * change their meaning; a change of the form is a new version. Instructions and
 * their attributes are defined in prims.def; a file contains the names and
 * schemas that it uses.
 */
#ifndef ATLED_LANG_BINARY_FORMAT_H
#define ATLED_LANG_BINARY_FORMAT_H

#include "lang/ir/ir.h"

enum {
	BINARY_FIRST = 1,
	/* Adds a table of derivative rules after the functions, when there are any.
	 */
	BINARY_RULES = 2
};
#define BINARY_MAGIC                                                                               \
	"\x89"                                                                                         \
	"AIR\r\n\x1a\n"

/* Offsets in the head: the magic, then integers of 4 and 8 bytes. */
enum {
	AT_VERSION = 8,
	AT_ZERO = 12,
	AT_LENGTH = 16,
	AT_ARRAYS = 24,
	AT_CHECKSUM = 32,
	HEAD_BYTES = 40
};
/* Larger arrays, from this many bytes on, are stored after the code, aligned to
 * and padded to this many bytes. Smaller ones are stored inside the code. */
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

/* tags of values */
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
/* an operand is encoded as kind + OPERAND_KINDS * number of the value */
enum { OPERAND_VALUE, OPERAND_CONST, OPERAND_DYN, OPERAND_KINDS };
enum { HAS_SNAPSHOTS = 1, HAS_BATCH_SEQUENTIALLY = 2 }; /* flags of functions */

static inline uint64_t binary_load(const unsigned char *p, int bytes) {
	uint64_t v = 0;
	for (int i = 0; i < bytes; i++) v |= (uint64_t)p[i] << 8 * i;
	return v;
}
static inline void binary_put(unsigned char *p, int bytes, uint64_t v) {
	for (int i = 0; i < bytes; i++) p[i] = (unsigned char)(v >> 8 * i);
}
/* Swaps the byte order of elements on big-endian machines; files are
 * little-endian. */
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
/* The checksum of everything after the head; n is the file's length, a multiple
 * of 8. */
uint64_t binary_checksum(const unsigned char *file, size_t n);

#endif
