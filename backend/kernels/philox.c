/* philox.c - fills arrays from the counter-based generator.
 *
 * Contract: philox.h. Integer arithmetic only, so the bits are the same
 * everywhere.
 */
#include "backend/kernels/options.h"
#include "backend/kernels/philox.h"

CLONES void random_fill(uint64_t key, uint64_t counter, int64_t n, uint64_t *o) {
	const uint32_t k[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
	for (int64_t i = 0; i < n; i++) {
		const uint64_t at = counter + (uint64_t)i;
		const uint32_t c[4] = {(uint32_t)at, (uint32_t)(at >> 32), 0, 0};
		uint32_t bits[4];
		philox4x32_10(c, k, bits);
		o[i] = bits[0] | (uint64_t)bits[1] << 32;
	}
}
