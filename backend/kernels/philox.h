/* philox.h - counter-based random number generator.
 *
 * Method: Philox4x32 with 10 rounds (Salmon, Moraes, Dror, Shaw: Parallel
 * random numbers, as easy as 1, 2, 3).
 *
 * Contract:
 * - Element k of a draw with state (key, counter) is the first 64 bits of the
 *   block for counter + k. Every element can thus be computed on its own, on
 *   any device and thread.
 */
#ifndef ATLED_BACKEND_KERNELS_PHILOX_H
#define ATLED_BACKEND_KERNELS_PHILOX_H

#include <stdint.h>

static inline void philox4x32_10(const uint32_t counter[4], const uint32_t key[2],
                                 uint32_t out[4]) {
	uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0],
			 k1 = key[1];
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC unroll 10 /* so that a loop over counters is vectorised */
#endif
	for (int round = 0; round < 10; round++) {
		const uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
		c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
		c1 = (uint32_t)p1;
		c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
		c3 = (uint32_t)p0;
		k0 += 0x9E3779B9u;
		k1 += 0xBB67AE85u;
	}
	out[0] = c0;
	out[1] = c1;
	out[2] = c2;
	out[3] = c3;
}

/* o[i] = the first 64 bits of the block for counter + i under key. */
void random_fill(uint64_t key, uint64_t counter, int64_t n, uint64_t *o);

#endif
