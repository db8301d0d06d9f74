/* sine_transform.c - discrete sine transforms by way of complex FFTs.
 *
 * Method: for the cosine transform of the odd k, J. Makhoul, A fast cosine
 * transform in one and two dimensions, IEEE Trans. Acoust. Speech Signal
 * Process. 28 (1980). The transforms of real lines are linear, so pairs of
 * lines are processed as complex ones.
 *
 * Contract: sine_transform.h. The same values on every machine.
 */
#include "backend/kernels/options.h"
#include "backend/kernels/sine_transform.h"

typedef double Eight __attribute__((vector_size(64), aligned(8), may_alias));
typedef double Pair __attribute__((vector_size(16), aligned(8), may_alias));
typedef int64_t Lanes __attribute__((vector_size(64)));
typedef int64_t PairLanes __attribute__((vector_size(16)));

#define TURN_EIGHT(x)                                                                              \
	(SHUFFLE(Lanes, x, x, 1, 0, 3, 2, 5, 4, 7, 6) * (Eight){-1, 1, -1, 1, -1, 1, -1, 1})
#define TURN_PAIR(x) (SHUFFLE(PairLanes, x, x, 1, 0) * (Pair){-1, 1})

/* For rows of either width; TIMES_I is the product with the imaginary unit. */
#define OF_WIDTH(Row, name, TIMES_I)                                                               \
	CLONES static void split_##name(int64_t m, Row *restrict rows, Row *restrict waves,            \
	                                const double *restrict twiddles) {                             \
		const int64_t h = m / 2;                                                                   \
		waves[0] = rows[h];                                                                        \
		for (int64_t j = 1; 2 * j <= h; j++) {                                                     \
			const Row p = rows[j], q = rows[m - j], r = rows[h - j], s = rows[h + j], e = p + q,   \
					  c = r + s;                                                                   \
			const double re = twiddles[2 * j - 2], im = twiddles[2 * j - 1];                       \
			const Row along = re * c + im * e, across = im * c - re * e,                           \
					  rotated = TIMES_I(across);                                                   \
			waves[j] = along + rotated;                                                            \
			waves[h - j] = along - rotated;                                                        \
			rows[j] = p - q;                                                                       \
			rows[h - j] = r - s;                                                                   \
		}                                                                                          \
	}                                                                                              \
	CLONES static void odd_##name(int64_t h, const Row *restrict waves, int64_t every,             \
	                              double *restrict o, int64_t step) {                              \
		for (int64_t p = 0; 2 * p < h; p++) {                                                      \
			*(Row *)(void *)(o + ((4 * p + 1) * every - 1) * step) = waves[p];                     \
			if (2 * p + 1 < h)                                                                     \
				*(Row *)(void *)(o + ((4 * p + 3) * every - 1) * step) = -waves[h - 1 - p];        \
		}                                                                                          \
	}                                                                                              \
	CLONES static void continue_##name(int64_t m, const Row *restrict rows, Row *restrict waves) { \
		waves[0] = waves[m] = (Row){0};                                                            \
		for (int64_t j = 1; j < m; j++) {                                                          \
			waves[j] = rows[j];                                                                    \
			waves[2 * m - j] = -rows[j];                                                           \
		}                                                                                          \
	}                                                                                              \
	CLONES static void from_continued_##name(int64_t m, const Row *restrict waves, int64_t every,  \
	                                         double *restrict o, int64_t step) {                   \
		for (int64_t k = 1; k < m; k++) {                                                          \
			const Row half = 0.5 * waves[k];                                                       \
			*(Row *)(void *)(o + (k * every - 1) * step) = TIMES_I(half);                          \
		}                                                                                          \
	}                                                                                              \
	CLONES static void by_table_##name(int64_t m, const Row *restrict rows,                        \
	                                   const double *restrict table, int64_t every,                \
	                                   double *restrict o, int64_t step) {                         \
		for (int64_t k = 1; k < m; k++) {                                                          \
			Row sum = {0};                                                                         \
			for (int64_t j = 1; j < m; j++) sum += table[(k - 1) * (m - 1) + j - 1] * rows[j];     \
			*(Row *)(void *)(o + (k * every - 1) * step) = sum;                                    \
		}                                                                                          \
	}

OF_WIDTH(Eight, eight, TURN_EIGHT)
OF_WIDTH(Pair, pair, TURN_PAIR)

#define EITHER(call_eight, call_pair)                                                              \
	do {                                                                                           \
		if (lanes == 8) call_eight;                                                                \
		else call_pair;                                                                            \
	} while (0)
#define AS(Row, p) ((Row *)(void *)(p))
#define FROM(Row, p) ((const Row *)(const void *)(p))

void dst_split(int lanes, int64_t m, double *rows, double *waves, const double *twiddles) {
	EITHER(split_eight(m, AS(Eight, rows), AS(Eight, waves), twiddles),
	       split_pair(m, AS(Pair, rows), AS(Pair, waves), twiddles));
}
void dst_odd(int lanes, int64_t half, const double *waves, int64_t every, double *o, int64_t step) {
	EITHER(odd_eight(half, FROM(Eight, waves), every, o, step),
	       odd_pair(half, FROM(Pair, waves), every, o, step));
}
void dst_continue(int lanes, int64_t m, const double *rows, double *waves) {
	EITHER(continue_eight(m, FROM(Eight, rows), AS(Eight, waves)),
	       continue_pair(m, FROM(Pair, rows), AS(Pair, waves)));
}
void dst_from_continued(int lanes, int64_t m, const double *waves, int64_t every, double *o,
                        int64_t step) {
	EITHER(from_continued_eight(m, FROM(Eight, waves), every, o, step),
	       from_continued_pair(m, FROM(Pair, waves), every, o, step));
}
void dst_by_table(int lanes, int64_t m, const double *rows, const double *table, int64_t every,
                  double *o, int64_t step) {
	EITHER(by_table_eight(m, FROM(Eight, rows), table, every, o, step),
	       by_table_pair(m, FROM(Pair, rows), table, every, o, step));
}

/* ---- rows and lines ------------------------------------------------------ */

/* Transposes: eight rows from eight lines, or lines from rows. */
#define TURN_SQUARE(GET, PUT)                                                                      \
	do {                                                                                           \
		const Eight a0 = GET(0), a1 = GET(1), a2 = GET(2), a3 = GET(3), a4 = GET(4), a5 = GET(5),  \
					a6 = GET(6), a7 = GET(7);                                                      \
		const Eight b0 = EVEN(a0, a1), b1 = ODD(a0, a1), b2 = EVEN(a2, a3), b3 = ODD(a2, a3);      \
		const Eight b4 = EVEN(a4, a5), b5 = ODD(a4, a5), b6 = EVEN(a6, a7), b7 = ODD(a6, a7);      \
		const Eight c0 = TWOS(b0, b2), c2 = OTHER_TWOS(b0, b2), c1 = TWOS(b1, b3),                 \
					c3 = OTHER_TWOS(b1, b3);                                                       \
		const Eight c4 = TWOS(b4, b6), c6 = OTHER_TWOS(b4, b6), c5 = TWOS(b5, b7),                 \
					c7 = OTHER_TWOS(b5, b7);                                                       \
		PUT(0, LOWER(c0, c4));                                                                     \
		PUT(1, LOWER(c1, c5));                                                                     \
		PUT(2, LOWER(c2, c6));                                                                     \
		PUT(3, LOWER(c3, c7));                                                                     \
		PUT(4, UPPER(c0, c4));                                                                     \
		PUT(5, UPPER(c1, c5));                                                                     \
		PUT(6, UPPER(c2, c6));                                                                     \
		PUT(7, UPPER(c3, c7));                                                                     \
	} while (0)
#define EVEN(x, y) SHUFFLE(Lanes, x, y, 0, 8, 2, 10, 4, 12, 6, 14)
#define ODD(x, y) SHUFFLE(Lanes, x, y, 1, 9, 3, 11, 5, 13, 7, 15)
#define TWOS(x, y) SHUFFLE(Lanes, x, y, 0, 1, 8, 9, 4, 5, 12, 13)
#define OTHER_TWOS(x, y) SHUFFLE(Lanes, x, y, 2, 3, 10, 11, 6, 7, 14, 15)
#define LOWER(x, y) SHUFFLE(Lanes, x, y, 0, 1, 2, 3, 8, 9, 10, 11)
#define UPPER(x, y) SHUFFLE(Lanes, x, y, 4, 5, 6, 7, 12, 13, 14, 15)

CLONES static void load_eight_lines(int64_t n, int64_t apart, const double *restrict x, double by,
                                    double *restrict rows) {
	int64_t j = 0;
#define GET(i) (by * *(const Eight *)(const void *)(x + (i)*apart + j))
#define PUT(i, v) (*(Eight *)(void *)(rows + 8 * (j + (i))) = (v))
	for (; j + 8 <= n; j += 8) TURN_SQUARE(GET, PUT);
#undef GET
#undef PUT
	for (; j < n; j++)
		for (int i = 0; i < 8; i++) rows[8 * j + i] = by * x[i * apart + j];
}

CLONES static void store_eight_lines(int64_t n, int64_t apart, const double *restrict rows,
                                     double *restrict o) {
	int64_t j = 0;
#define GET(i) (*(const Eight *)(const void *)(rows + 8 * (j + (i))))
#define PUT(i, v) (*(Eight *)(void *)(o + (i)*apart + j) = (v))
	for (; j + 8 <= n; j += 8) TURN_SQUARE(GET, PUT);
#undef GET
#undef PUT
	for (; j < n; j++)
		for (int i = 0; i < 8; i++) o[i * apart + j] = rows[8 * j + i];
}

CLONES static void load_side_by_side(int64_t n, int64_t step, const double *restrict x, double by,
                                     double *restrict rows) {
	for (int64_t j = 0; j < n; j++)
		*(Eight *)(void *)(rows + 8 * j) = by * *(const Eight *)(const void *)(x + j * step);
}

void dst_load(int lanes, int lines, int64_t m, int64_t step, int64_t apart, const double *x,
              double by, double *rows) {
	rows += lanes;
	if (lanes == 8 && lines == 8 && step == 1) load_eight_lines(m - 1, apart, x, by, rows);
	else if (lanes == 8 && lines == 8 && apart == 1) load_side_by_side(m - 1, step, x, by, rows);
	else
		for (int64_t j = 0; j < m - 1; j++)
			for (int i = 0; i < lanes; i++)
				rows[lanes * j + i] = i < lines ? by * x[j * step + i * apart] : 0;
}

void dst_store(int lanes, int lines, int64_t m, int64_t step, int64_t apart, const double *rows,
               double *o) {
	rows += lanes;
	if (lanes == 8 && lines == 8 && step == 1) store_eight_lines(m - 1, apart, rows, o);
	else
		for (int64_t j = 0; j < m - 1; j++)
			for (int i = 0; i < lines; i++) o[j * step + i * apart] = rows[lanes * j + i];
}
