/* band_kernels.h - LU factors of a band and their solves, for one scalar type.
 * band.c includes it once per type.
 *
 * Needs: NUMBER, the type; NAME(x), its names; SIZE(x), the pivot magnitude;
 * RECIPROCAL(x); INLINE.
 *
 * Method: partial pivoting as in LAPACK's gbtrf; multipliers stay where they
 * were computed.
 *
 * Storage: a matrix has `below` diagonals below the main one and `above` above
 * it. Row i of storage holds columns i - below .. i + below + above. The last
 * `below` columns are for fill-in from row interchanges. The factored row holds
 * the multipliers of L, the reciprocal of the pivot, and the row of U divided
 * by the pivot. A solve thus waits for one product and one difference per
 * unknown, and for no division. Without interchanges the rows of U end with the
 * band's last diagonal.
 */

INLINE int64_t NAME(least)(int64_t a, int64_t b) { return a < b ? a : b; }

/* One elimination step without an interchange, on rows of the given width. */
INLINE void NAME(eliminate)(int64_t n, int64_t below, int64_t above, int64_t width, NUMBER *f,
                            int64_t k) {
	const int64_t stride = 2 * below + above + 1, rows = NAME(least)(below, n - 1 - k);
	NUMBER *row = f + k * stride + below;
	const NUMBER d = RECIPROCAL(row[0]);
	for (int64_t r = 1; r <= rows; r++) {
		NUMBER *other = row + r * (stride - 1);
		const NUMBER l = other[0] * d;
		other[0] = l;
		for (int64_t j = 1; j <= width; j++) other[j] -= l * row[j];
	}
	row[0] = d;
	for (int64_t j = 1; j <= width; j++) row[j] *= d;
}

/* exchanges[k]: distance from row k to the row that was moved there. Returns
 * whether any row was interchanged. */
INLINE bool NAME(factor)(int64_t n, int64_t below, int64_t above, NUMBER *f, double *exchanges) {
	const int64_t stride = 2 * below + above + 1;
	int64_t last = -1; /* rows after this one have no fill-in from interchanges so far */
	for (int64_t k = 0; k < n; k++) {
		NUMBER *row = f + k * stride + below;
		const int64_t rows = NAME(least)(below, n - 1 - k);
		double most = SIZE(row[0]);
		int64_t at = 0;
		for (int64_t r = 1; r <= rows; r++) {
			const double size = SIZE(row[r * (stride - 1)]);
			if (size > most) {
				most = size;
				at = r;
			}
		}
		exchanges[k] = (double)at;
		if (__builtin_expect(at > 0, 0)) {
			NUMBER *other = row + at * (stride - 1);
			for (int64_t j = 0; j <= below + above; j++) {
				const NUMBER x = row[j];
				row[j] = other[j];
				other[j] = x;
			}
			last = k + below;
		}
		if (k > last) NAME(eliminate)(n, below, above, above, f, k);
		else NAME(eliminate)(n, below, above, below + above, f, k);
	}
	return last >= 0;
}

/* Back substitution of x[k]. */
INLINE void NAME(back_row)(int64_t n, int64_t below, int64_t width, int64_t stride, const NUMBER *f,
                           NUMBER *x, int64_t k) {
	const NUMBER *row = f + k * stride + below;
	const int64_t m = NAME(least)(width, n - 1 - k);
	NUMBER sum = x[k] * row[0];
	for (int64_t j = m; j >= 1; j--) sum -= row[j] * x[k + j];
	x[k] = sum;
}

/* A x = b in place. */
INLINE void NAME(solve)(int64_t n, int64_t below, int64_t above, bool exchanged, const NUMBER *f,
                        const double *exchanges, NUMBER *x) {
	const int64_t stride = 2 * below + above + 1, width = exchanged ? below + above : above;
	const bool few = __builtin_constant_p(below) && below <= 3 && !exchanged;
	NUMBER last[4] = {0};
	if (exchanged) {
		for (int64_t k = 0; k < n; k++) {
			const int64_t at = k + (int64_t)exchanges[k], rows = NAME(least)(below, n - 1 - k);
			const NUMBER t = x[at];
			x[at] = x[k];
			x[k] = t;
			const NUMBER *l = f + k * stride + below;
			for (int64_t r = 1; r <= rows; r++) x[k + r] -= l[r * (stride - 1)] * t;
		}
	} else {
		const int64_t edge = NAME(least)(below, n);
		for (int64_t k = 1; k < edge; k++)
			for (int64_t j = 0; j < k; j++) x[k] -= f[k * stride + below - (k - j)] * x[j];
		/* the last unknowns stay in registers; otherwise each row would wait
		 * for the store of the previous one */
		if (few) {
			for (int64_t j = 0; j < below && edge == below; j++) last[j] = x[j];
			for (int64_t k = edge; k < n; k++) {
				const NUMBER *row = f + k * stride;
				NUMBER sum = x[k];
				for (int64_t j = 0; j < below; j++) sum -= row[j] * last[j];
				for (int64_t j = 0; j + 1 < below; j++) last[j] = last[j + 1];
				x[k] = last[below - 1] = sum;
			}
		} else {
			for (int64_t k = edge; k < n; k++) {
				const NUMBER *row = f + k * stride;
				NUMBER sum = x[k];
				for (int64_t j = 0; j < below; j++) sum -= row[j] * x[k - below + j];
				x[k] = sum;
			}
		}
	}
	int64_t k = n;
	while (k > 0 && k > n - width) k--, NAME(back_row)(n, below, width, stride, f, x, k);
	if (few && k > 0) {
		for (int64_t j = 1; j <= width; j++) last[j - 1] = x[k + j - 1];
		while (k-- > 0) {
			const NUMBER *row = f + k * stride + below;
			NUMBER sum = x[k] * row[0];
			for (int64_t j = width; j >= 1; j--) sum -= row[j] * last[j - 1];
			for (int64_t j = width; j-- > 1;) last[j] = last[j - 1];
			x[k] = last[0] = sum;
		}
		return;
	}
	while (k-- > 0) {
		const NUMBER *row = f + k * stride + below;
		NUMBER sum = x[k] * row[0];
		for (int64_t j = width; j >= 1; j--) sum -= row[j] * x[k + j];
		x[k] = sum;
	}
}

/* A^T x = b in place. */
INLINE void NAME(solve_transposed)(int64_t n, int64_t below, int64_t above, const NUMBER *f,
                                   const double *exchanges, NUMBER *x) {
	const int64_t stride = 2 * below + above + 1, width = below + above;
	for (int64_t k = 0; k < n; k++) {
		const NUMBER *row = f + k * stride + below;
		const int64_t m = NAME(least)(width, n - 1 - k);
		const NUMBER t = x[k];
		for (int64_t j = 1; j <= m; j++) x[k + j] -= row[j] * t;
		x[k] = t * row[0];
	}
	for (int64_t k = n; k-- > 0;) {
		const NUMBER *l = f + k * stride + below;
		const int64_t rows = NAME(least)(below, n - 1 - k), at = k + (int64_t)exchanges[k];
		NUMBER sum = x[k];
		for (int64_t r = 1; r <= rows; r++) sum -= l[r * (stride - 1)] * x[k + r];
		x[k] = x[at];
		x[at] = sum;
	}
}
