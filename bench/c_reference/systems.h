/* systems.h - right-hand sides and Jacobians of stiff test problems.
 *
 * Systems with rates also have a right-hand side for other rates. Jacobians are
 * stored by columns, j[column * n + row].
 */
#ifndef BENCH_SYSTEMS_H
#define BENCH_SYSTEMS_H

#include <string.h>

typedef void (*Slope)(const double *y, double *f);
typedef void (*Matrix)(const double *y, double *j);
#define INLINE static inline __attribute__((always_inline))

/* Robertson 1966 */
static const double robertson_rates[3] = {0.04, 1e4, 3e7};
INLINE void robertson_with(const double *k, const double *y, double *f) {
	const double a = k[0] * y[0], b = k[1] * y[1] * y[2], c = k[2] * y[1] * y[1];
	f[0] = b - a;
	f[1] = a - b - c;
	f[2] = c;
}
INLINE void robertson_f(const double *y, double *f) { robertson_with(robertson_rates, y, f); }
INLINE void robertson_j(const double *y, double *j) {
	j[0] = -0.04, j[3] = 1e4 * y[2], j[6] = 1e4 * y[1];
	j[1] = 0.04, j[4] = -1e4 * y[2] - 6e7 * y[1], j[7] = -1e4 * y[1];
	j[2] = 0, j[5] = 6e7 * y[1], j[8] = 0;
}

/* Schaefer 1975; Hairer and Wanner II, IV.10 */
INLINE void hires_f(const double *y, double *f) {
	const double v = 280 * y[5] * y[7];
	f[0] = -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007;
	f[1] = 1.71 * y[0] - 8.75 * y[1];
	f[2] = -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4];
	f[3] = 8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3];
	f[4] = -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6];
	f[5] = -v + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6];
	f[6] = v - 1.81 * y[6];
	f[7] = -f[6];
}
INLINE void hires_j(const double *y, double *j) {
#define J(i, k) j[(k)*8 + (i)]
	memset(j, 0, 64 * sizeof *j);
	J(0, 0) = -1.71, J(0, 1) = 0.43, J(0, 2) = 8.32;
	J(1, 0) = 1.71, J(1, 1) = -8.75;
	J(2, 2) = -10.03, J(2, 3) = 0.43, J(2, 4) = 0.035;
	J(3, 1) = 8.32, J(3, 2) = 1.71, J(3, 3) = -1.12;
	J(4, 4) = -1.745, J(4, 5) = 0.43, J(4, 6) = 0.43;
	J(5, 3) = 0.69, J(5, 4) = 1.71, J(5, 5) = -0.43 - 280 * y[7], J(5, 6) = 0.69,
		 J(5, 7) = -280 * y[5];
	J(6, 5) = 280 * y[7], J(6, 6) = -1.81, J(6, 7) = 280 * y[5];
	J(7, 5) = -280 * y[7], J(7, 6) = 1.81, J(7, 7) = -280 * y[5];
#undef J
}

/* Verwer 1994: air pollution with 20 species in 25 reactions */
static const double pollution_rates[25] = {
	0.35,  26.6,  12300,  8.6e-4, 8.2e-4, 15000,   1.3e-4, 24000, 16500, 9000,   0.022, 12000, 1.88,
	16300, 4.8e6, 3.5e-4, 0.0175, 1e8,    4.44e11, 1240,   2.1,   5.78,  0.0474, 1780,  3.12};
INLINE void pollution_with(const double *k, const double *y, double *f) {
	const double r1 = k[0] * y[0], r2 = k[1] * y[1] * y[3], r3 = k[2] * y[4] * y[1];
	const double r4 = k[3] * y[6], r5 = k[4] * y[6], r6 = k[5] * y[6] * y[5];
	const double r7 = k[6] * y[8], r8 = k[7] * y[8] * y[5], r9 = k[8] * y[10] * y[1];
	const double r10 = k[9] * y[10] * y[0], r11 = k[10] * y[12], r12 = k[11] * y[9] * y[1];
	const double r13 = k[12] * y[13], r14 = k[13] * y[0] * y[5], r15 = k[14] * y[2];
	const double r16 = k[15] * y[3], r17 = k[16] * y[3], r18 = k[17] * y[15];
	const double r19 = k[18] * y[15], r20 = k[19] * y[16] * y[5], r21 = k[20] * y[18];
	const double r22 = k[21] * y[18], r23 = k[22] * y[0] * y[3], r24 = k[23] * y[18] * y[0];
	const double r25 = k[24] * y[19];
	f[0] = r2 + r3 + r9 + r11 + r12 + r22 + r25 - r1 - r10 - r14 - r23 - r24;
	f[1] = r1 + r21 - r2 - r3 - r9 - r12;
	f[2] = r1 + r17 + r19 + r22 - r15;
	f[3] = r15 - r2 - r16 - r17 - r23;
	f[4] = 2 * r4 + r6 + r7 + r13 + r20 - r3;
	f[5] = 2 * r18 + r3 - r6 - r8 - r14 - r20;
	f[6] = r13 - r4 - r5 - r6;
	f[7] = r4 + r5 + r6 + r7;
	f[8] = -r7 - r8;
	f[9] = r7 + r9 - r12;
	f[10] = r8 + r11 - r9 - r10;
	f[11] = r9;
	f[12] = r10 - r11;
	f[13] = r12 - r13;
	f[14] = r14;
	f[15] = r16 - r18 - r19;
	f[16] = -r20;
	f[17] = r20;
	f[18] = r23 + r25 - r21 - r22 - r24;
	f[19] = r24 - r25;
}
INLINE void pollution_f(const double *y, double *f) { pollution_with(pollution_rates, y, f); }
INLINE void pollution_j(const double *y, double *j) {
	const double a2 = 26.6 * y[3], b2 = 26.6 * y[1], a3 = 12300 * y[1], b3 = 12300 * y[4];
	const double a6 = 15000 * y[5], b6 = 15000 * y[6], a8 = 24000 * y[5], b8 = 24000 * y[8];
	const double a9 = 16500 * y[1], b9 = 16500 * y[10], a10 = 9000 * y[0], b10 = 9000 * y[10];
	const double a12 = 12000 * y[1], b12 = 12000 * y[9], a14 = 16300 * y[5], b14 = 16300 * y[0];
	const double a20 = 1240 * y[5], b20 = 1240 * y[16], a23 = 0.0474 * y[3], b23 = 0.0474 * y[0];
	const double a24 = 1780 * y[0], b24 = 1780 * y[18];
	memset(j, 0, 400 * sizeof *j);
	j[0] = -0.35 - b10 - a14 - a23 - b24, j[20] = a2 + b3 + b9 + b12, j[60] = b2 - b23, j[80] = a3;
	j[100] = -b14, j[180] = a12, j[200] = a9 - a10, j[240] = 0.022;
	j[360] = 5.78 - a24, j[380] = 3.12, j[1] = 0.35, j[21] = -a2 - b3 - b9 - b12;
	j[61] = -b2, j[81] = -a3, j[181] = -a12, j[201] = -a9;
	j[361] = 2.1, j[2] = 0.35, j[42] = -4.8e6, j[62] = 0.0175;
	j[302] = 4.44e11, j[362] = 5.78, j[3] = -a23, j[23] = -a2;
	j[43] = 4.8e6, j[63] = -b2 - 3.5e-4 - 0.0175 - b23, j[24] = -b3, j[84] = -a3;
	j[104] = b6 + b20, j[124] = 2 * 8.6e-4 + a6, j[164] = 1.3e-4, j[264] = 1.88;
	j[324] = a20, j[5] = -a14, j[25] = b3, j[85] = a3;
	j[105] = -b6 - b8 - b14 - b20, j[125] = -a6, j[165] = -a8, j[305] = 2 * 1e8;
	j[325] = -a20, j[106] = -b6, j[126] = -8.6e-4 - 8.2e-4 - a6, j[266] = 1.88;
	j[107] = b6, j[127] = 8.6e-4 + 8.2e-4 + a6, j[167] = 1.3e-4, j[108] = -b8;
	j[168] = -1.3e-4 - a8, j[29] = b9 - b12, j[169] = 1.3e-4, j[189] = -a12;
	j[209] = a9, j[10] = -b10, j[30] = -b9, j[110] = b8;
	j[170] = a8, j[210] = -a9 - a10, j[250] = 0.022, j[31] = b9;
	j[211] = a9, j[12] = b10, j[212] = a10, j[252] = -0.022;
	j[33] = b12, j[193] = a12, j[273] = -1.88, j[14] = a14;
	j[114] = b14, j[75] = 3.5e-4, j[315] = -1e8 - 4.44e11, j[116] = -b20;
	j[336] = -a20, j[117] = b20, j[337] = a20, j[18] = a23 - b24;
	j[78] = b23, j[378] = -2.1 - 5.78 - a24, j[398] = 3.12, j[19] = b24;
	j[379] = a24, j[399] = -3.12;
}

/* The 1-D Brusselator with 500 cells (Hairer and Wanner II, IV.10); u and v of
 * a cell are adjacent. */
enum { CELLS = 500 };
static const double BETWEEN = 0.02 * 501 * 501;
INLINE void brusselator_f(const double *y, double *f) {
	for (int i = 0; i < CELLS; i++) {
		const double u = y[2 * i], v = y[2 * i + 1], left = i ? y[2 * i - 2] : 1,
					 right = i < CELLS - 1 ? y[2 * i + 2] : 1;
		const double below = i ? y[2 * i - 1] : 3, above = i < CELLS - 1 ? y[2 * i + 3] : 3;
		f[2 * i] = 1 + u * u * v - 4 * u + BETWEEN * (left - 2 * u + right);
		f[2 * i + 1] = 3 * u - u * u * v + BETWEEN * (below - 2 * v + above);
	}
}

#endif
