/* draw.h - random numbers of tests that a seed determines.
 *
 * Method: splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
 */
#ifndef ATLED_TESTS_UNIT_SUPPORT_DRAW_H
#define ATLED_TESTS_UNIT_SUPPORT_DRAW_H

#include <stdint.h>

/* A number below n, which must not be 0. Changes the state. */
static inline uint64_t draw(uint64_t *state, uint64_t n) {
	*state += 0x9e3779b97f4a7c15;
	uint64_t z = *state;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (z ^ z >> 31) % n;
}

#endif
