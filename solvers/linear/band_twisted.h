/* band_twisted.h - twisted factors of a narrow band and their solves, for one
 * scalar type. band.c includes it after band_kernels.h.
 *
 * Method: twisted (two-sided) factorisation (van der Vorst, Large tridiagonal
 * and block tridiagonal linear systems on vector and parallel computers,
 * Parallel Computing 5, 1987). Each row of a narrow band depends on the
 * previous one. The first rows are therefore eliminated downwards and the last
 * rows upwards, in alternation: two independent chains. The w rows in the
 * middle come last.
 *
 * Needs: as band_kernels.h.
 *
 * Contract:
 * - There are no interchanges; the factorisation fails where one is needed.
 * - Storage is that of band_kernels.h. The last rows hold their multipliers on
 *   the right and the elements of U on the left.
 */

/* Number of rows eliminated downwards; as many, or one more, go upwards. */
INLINE int64_t NAME(first_half)(int64_t n, int64_t w) { return (n - w) / 2; }

/* Eliminates with a pivot row in the `reach` rows that follow it in direction
 * dir. Returns false when a larger pivot exists. */
INLINE bool NAME(twisted_step)(int64_t w, int64_t reach, NUMBER *row, int64_t dir) {
	const int64_t stride = 3 * w + 1;
	const double size = SIZE(row[0]);
	const NUMBER d = RECIPROCAL(row[0]);
	bool good = true;
	for (int64_t r = 1; r <= reach; r++) {
		NUMBER *other = row + dir * r * (stride - 1); /* element in the pivot's column */
		good &= SIZE(other[0]) <= size;
		const NUMBER l = other[0] * d;
		other[0] = l;
		for (int64_t j = 1; j <= reach; j++) other[dir * j] -= l * row[dir * j];
	}
	row[0] = d;
	for (int64_t j = 1; j <= reach; j++) row[dir * j] *= d;
	return good;
}

INLINE bool NAME(twisted_factor)(int64_t n, int64_t w, NUMBER *f) {
	const int64_t stride = 3 * w + 1, m = NAME(first_half)(n, w);
	NUMBER *top = f + w, *bottom = f + (n - 1) * stride + w;
	bool good = true;
	for (int64_t k = 0; k < m; k++) {
		good &= NAME(twisted_step)(w, w, top + k * stride, 1);
		good &= NAME(twisted_step)(w, w, bottom - k * stride, -1);
	}
	if (n - w > 2 * m) good &= NAME(twisted_step)(w, w, bottom - m * stride, -1);
	for (int64_t p = m; p < m + w; p++)
		good &= NAME(twisted_step)(w, m + w - 1 - p, f + p * stride + w, 1);
	return good;
}

INLINE void NAME(twisted_solve)(int64_t n, int64_t w, const NUMBER *f, NUMBER *x) {
	const int64_t stride = 3 * w + 1, m = NAME(first_half)(n, w);
	const NUMBER *top = f + w, *bottom = f + (n - 1) * stride + w;
	NUMBER *end = x + n - 1, a[3], b[3]; /* the last unknowns stay in registers */
	for (int64_t k = 0; k < w; k++)
		for (int64_t j = 1; j <= k; j++) {
			x[k] -= top[k * stride - j] * x[k - j];
			end[-k] -= bottom[-k * stride + j] * end[j - k];
		}
	for (int64_t j = 1; j <= w; j++) a[j - 1] = x[w - j], b[j - 1] = end[j - w];
	for (int64_t k = w; k < m; k++) {
		const NUMBER *r = top + k * stride, *s = bottom - k * stride;
		NUMBER p = x[k], q = end[-k];
		for (int64_t j = w; j >= 1; j--) p -= r[-j] * a[j - 1], q -= s[j] * b[j - 1];
		for (int64_t j = w; j-- > 1;) a[j] = a[j - 1], b[j] = b[j - 1];
		x[k] = a[0] = p;
		end[-k] = b[0] = q;
	}
	if (n - w > 2 * m)
		for (int64_t j = 1; j <= w; j++) end[-m] -= bottom[-m * stride + j] * end[j - m];
	for (int64_t p = m; p < m + w; p++) {
		const NUMBER *r = top + p * stride;
		for (int64_t j = 1; j <= w; j++) {
			x[p] -= r[-j] * x[p - j];
			if (p + j >= m + w) x[p] -= r[j] * x[p + j];
		}
	}
	for (int64_t p = m + w; p-- > m;) {
		const NUMBER *r = top + p * stride;
		x[p] *= r[0];
		for (int64_t j = 1; p + j < m + w; j++) x[p] -= r[j] * x[p + j];
	}
	if (n - w > 2 * m) {
		end[-m] *= bottom[-m * stride];
		for (int64_t j = 1; j <= w; j++) end[-m] -= bottom[-m * stride - j] * end[-m - j];
	}
	for (int64_t j = 1; j <= w; j++) a[j - 1] = x[m + j - 1], b[j - 1] = end[-(m + j - 1)];
	for (int64_t k = m; k-- > 0;) {
		const NUMBER *r = top + k * stride, *s = bottom - k * stride;
		NUMBER p = x[k] * r[0], q = end[-k] * s[0];
		for (int64_t j = w; j >= 1; j--) p -= r[j] * a[j - 1], q -= s[-j] * b[j - 1];
		for (int64_t j = w; j-- > 1;) a[j] = a[j - 1], b[j] = b[j - 1];
		x[k] = a[0] = p;
		end[-k] = b[0] = q;
	}
}

/* The transpose: each operation of the solve transposed, in reverse order. */
INLINE void NAME(twisted_transposed)(int64_t n, int64_t w, const NUMBER *f, NUMBER *x) {
	const int64_t stride = 3 * w + 1, m = NAME(first_half)(n, w);
	const NUMBER *at = f + w;
	for (int64_t p = 0; p < m; p++) {
		for (int64_t j = 1; j <= w; j++) x[p + j] -= at[p * stride + j] * x[p];
		x[p] *= at[p * stride];
	}
	for (int64_t p = n; p-- > m + w;) {
		for (int64_t j = 1; j <= w; j++) x[p - j] -= at[p * stride - j] * x[p];
		x[p] *= at[p * stride];
	}
	for (int64_t p = m; p < m + w; p++) {
		for (int64_t j = 1; p + j < m + w; j++) x[p + j] -= at[p * stride + j] * x[p];
		x[p] *= at[p * stride];
	}
	for (int64_t p = m + w; p-- > m;)
		for (int64_t j = 1; j <= w; j++) {
			x[p - j] -= at[p * stride - j] * x[p];
			if (p + j >= m + w) x[p + j] -= at[p * stride + j] * x[p];
		}
	for (int64_t p = m; p-- > 0;)
		for (int64_t j = 1; j <= w && j <= p; j++) x[p - j] -= at[p * stride - j] * x[p];
	for (int64_t p = m + w; p < n; p++)
		for (int64_t j = 1; j <= w && p + j < n; j++) x[p + j] -= at[p * stride + j] * x[p];
}
