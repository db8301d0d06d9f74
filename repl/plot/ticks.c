/* ticks.c - positions and labels of ticks.
 *
 * Needs: internal.h, an axis with usable limits.
 *
 * Guarantees:
 * - Linear ticks are multiples of 1, 2 or 5 times a power of ten. Their labels
 *   are exact decimals, computed from integers.
 * - Log ticks are powers of ten; on short axes, multiples of them.
 * - There are at most as many labels as requested, all different.
 * - The common part of long labels becomes the multiplier.
 */
#include "repl/plot/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MINUS "\xe2\x88\x92"
#define TIMES "\xc3\x97"

static double power_of_ten(int e) {
	/* Two factors avoid overflow and underflow of the intermediate result. */
	return e < -300 ? pow(10, e + 200) * 1e-200 : pow(10, e);
}

/* Returns q * 10^e, with a single rounding where possible. */
static double scaled(int64_t q, int e) {
	return e < 0 && e >= -22 ? (double)q / power_of_ten(-e) : (double)q * power_of_ten(e);
}

/* Writes q * 10^e as a plain decimal with a typographic minus. -20 <= e <=
 * 20. */
static void write_decimal(char *out, size_t cap, int64_t q, int e) {
	char digits[64];
	uint64_t rest = q < 0 ? 0 - (uint64_t)q : (uint64_t)q;
	int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)rest);
	if (!rest) e = e < 0 ? e : 0;
	for (; e > 0; e--) digits[n++] = '0';
	digits[n] = 0;
	int after = -e;
	const char *sign = q < 0 ? MINUS : "";
	if (!after) snprintf(out, cap, "%s%s", sign, digits);
	else if (n > after)
		snprintf(out, cap, "%s%.*s.%s", sign, n - after, digits, digits + n - after);
	else snprintf(out, cap, "%s0.%.*s%s", sign, after - n, "0000000000000000000000000", digits);
}

/* Writes q * 10^e as "1.25×10^{9}", or plainly when that is short. */
static void write_short(char *out, size_t cap, int64_t q, int e) {
	while (q && q % 10 == 0) {
		q /= 10;
		e++;
	}
	int digits = 1;
	for (int64_t rest = q; rest /= 10;) digits++;
	int exponent = digits - 1 + e;
	if (!q || (exponent >= -3 && exponent < 6)) {
		write_decimal(out, cap, q, e);
		return;
	}
	char mantissa[64];
	write_decimal(mantissa, sizeof mantissa, q, 1 - digits);
	if (q == 1)
		snprintf(out, cap, "10^{%s%d}", exponent < 0 ? MINUS : "",
		         exponent < 0 ? -exponent : exponent);
	else
		snprintf(out, cap, "%s" TIMES "10^{%s%d}", mantissa, exponent < 0 ? MINUS : "",
		         exponent < 0 ? -exponent : exponent);
}

void ticks_number(double v, char *out, size_t cap) {
	char text[40];
	if (!isfinite(v)) {
		snprintf(out, cap, "%s", v > 0 ? "\xe2\x88\x9e" : v < 0 ? MINUS "\xe2\x88\x9e" : "NaN");
		return;
	}
	snprintf(text, sizeof text, "%.6g", fabs(v));
	for (char *p = text; *p; p++)
		if (*p == ',') *p = '.'; /* independent of the locale */
	char *e = strchr(text, 'e');
	int exponent = e ? atoi(e + 1) : 0;
	if (e) *e = 0;
	const char *sign = v < 0 ? MINUS : "";
	if (!e) snprintf(out, cap, "%s%s", sign, text);
	else
		snprintf(out, cap, "%s%s%s10^{%s%d}", sign, strcmp(text, "1") ? text : "",
		         strcmp(text, "1") ? TIMES : "", exponent < 0 ? MINUS : "",
		         exponent < 0 ? -exponent : exponent);
}

/* ---- linear -------------------------------------------------------------- */

/* The step m * 10^e with m one of 1, 2, 5, and the first and last multiple of
 * it in [lo, hi]. */
typedef struct Steps {
	int m, e;
	int64_t first, last;
} Steps;

static double multiple(const Steps *s, int64_t k) { return scaled(k * s->m, s->e); }

static bool choose_step(double lo, double hi, int most, Steps *s) {
	static const int ladder[3] = {1, 2, 5};
	double span = hi - lo;
	if (!(span / most > 0 && span < INFINITY)) return false;
	int e = (int)floor(log10(span / most)) - 1;
	for (int rung = 0; rung < 12; rung++) {
		s->m = ladder[rung % 3];
		s->e = e + rung / 3;
		double step = scaled(s->m, s->e);
		if (!(step > 0)) continue;
		double first = ceil(lo / step - 1e-9), last = floor(hi / step + 1e-9);
		if (last - first + 1 > most) continue;
		if (fabs(first) > 1e16 || fabs(last) > 1e16) return false;
		s->first = (int64_t)first;
		s->last = (int64_t)last;
		return true;
	}
	return false;
}

static int64_t integer_power(int e) {
	int64_t p = 1;
	while (e-- > 0) p *= 10;
	return p;
}

static int decimal_exponent(double v) { return (int)floor(log10(v) + 1e-12); }

/* Writes the labels of the multiples. Long labels have a common exponent or
 * offset taken out. */
static void label_steps(const Steps *s, PlotTicks *out) {
	double largest = plot_max(fabs(multiple(s, s->first)), fabs(multiple(s, s->last)));
	double span = multiple(s, s->last) - multiple(s, s->first);
	if (!(span > 0)) span = scaled(s->m, s->e);
	int64_t offset = 0; /* in units of 10^e */
	char base[96] = "", factor[40] = "";
	if (largest > 0 && decimal_exponent(largest) - s->e >= 6 && largest > 20 * span) {
		/* Takes out the roundest number among the labels. */
		int64_t low = s->first * s->m, high = s->last * s->m, unit = integer_power(17);
		for (; unit > 1; unit /= 10) {
			/* the first multiple from low on */
			int64_t up = low / unit * unit + (low > 0 && low % unit ? unit : 0);
			if (up >= low && up <= high) break;
		}
		offset = low / unit * unit + (low > 0 && low % unit ? unit : 0);
		if (offset) write_short(base, sizeof base, offset < 0 ? -offset : offset, s->e);
	}
	double reach = plot_max(fabs(scaled(s->first * s->m - offset, s->e)),
	                        fabs(scaled(s->last * s->m - offset, s->e)));
	int shift = 0;
	if (reach >= 99999.5 || (reach > 0 && reach < 0.1 && s->e < -4))
		shift = decimal_exponent(reach);
	if (shift)
		snprintf(factor, sizeof factor, TIMES "10^{%s%d}", shift < 0 ? MINUS : "",
		         shift < 0 ? -shift : shift);
	for (int i = 0; i < out->n; i++) {
		int64_t q = (s->first + i) * s->m - offset;
		write_decimal(out->major[i].label, sizeof out->major[i].label, q, s->e - shift);
	}
	snprintf(out->multiplier, sizeof out->multiplier, "%s%s%s%s", factor,
	         *factor && *base ? " " : "",
	         !*base       ? ""
	         : offset < 0 ? MINUS " "
	                      : "+ ",
	         base);
}

static void linear_ticks(double lo, double hi, int most, PlotTicks *out) {
	Steps s;
	if (!choose_step(lo, hi, most, &s)) return;
	for (int64_t k = s.first; k <= s.last && out->n < PLOT_TICKS; k++)
		out->major[out->n++].at = multiple(&s, k);
	label_steps(&s, out);

	Steps fine = s; /* 1: fifths, 2: quarters, 5: fifths */
	int parts = s.m == 2 ? 4 : 5;
	fine.m = s.m == 1 ? 2 : s.m == 2 ? 5 : 1;
	fine.e = s.m == 5 ? s.e : s.e - 1;
	for (int64_t k = s.first - 1; k <= s.last; k++) {
		for (int i = 1; i < parts && out->minors < PLOT_MINOR_TICKS; i++) {
			double at = multiple(&fine, k * parts + i);
			if (at >= lo && at <= hi) out->minor[out->minors++] = at;
		}
	}
}

/* ---- logarithmic --------------------------------------------------------- */

static void write_power(char *out, size_t cap, int m, int e) {
	if (m == 1) snprintf(out, cap, "10^{%s%d}", e < 0 ? MINUS : "", e < 0 ? -e : e);
	else snprintf(out, cap, "%d" TIMES "10^{%s%d}", m, e < 0 ? MINUS : "", e < 0 ? -e : e);
}

/* On an axis of ordinary magnitudes 0.5, 1, 2 read better than 5*10^-1, 10^0,
 * 2*10^0. */
static void write_multiple(char *out, size_t cap, int m, int e, bool plain) {
	if (plain) write_decimal(out, cap, m, e);
	else write_power(out, cap, m, e);
}

/* Adds the multiples m * 10^e with m from the list; false when there are more
 * than `most`. */
static bool add_powers(double lo, double hi, const int *list, int count, int stride, int most,
                       PlotTicks *out) {
	int first = (int)floor(log10(lo)) - 1, last = (int)ceil(log10(hi)) + 1;
	out->n = 0;
	for (int e = first; e <= last; e++) {
		if (e % stride) continue;
		for (int i = 0; i < count; i++) {
			double at = scaled(list[i], e);
			if (at < lo * (1 - 1e-9) || at > hi * (1 + 1e-9)) continue;
			if (out->n >= most || out->n >= PLOT_TICKS) {
				out->n = 0;
				return false;
			}
			out->major[out->n].at = at;
			write_multiple(out->major[out->n].label, sizeof out->major[out->n].label, list[i], e,
			               count > 1 && lo > 0.9e-3 && hi < 1.1e4);
			out->n++;
		}
	}
	return true;
}

static void add_minor_powers(double lo, double hi, int stride, PlotTicks *out) {
	int first = (int)floor(log10(lo)) - 1, last = (int)ceil(log10(hi)) + 1;
	if (last - first > 40) return;
	for (int e = first; e <= last; e++) {
		for (int m = stride > 1 ? 1 : 2; m < (stride > 1 ? 2 : 10); m++) {
			double at = scaled(m, e);
			bool labelled = false;
			for (int i = 0; i < out->n; i++)
				labelled = labelled || fabs(out->major[i].at / at - 1) < 1e-6;
			if (!labelled && at >= lo && at <= hi && out->minors < PLOT_MINOR_TICKS)
				out->minor[out->minors++] = at;
		}
	}
}

static void log_ticks(double lo, double hi, int most, PlotTicks *out) {
	static const int decade[1] = {1}, three[3] = {1, 2, 5}, two[2] = {1, 3};
	double decades = log10(hi) - log10(lo);
	static const int strides[] = {1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300};
	for (size_t i = 0; decades >= 1.6 && i < sizeof strides / sizeof *strides; i++) {
		if (!add_powers(lo, hi, decade, 1, strides[i], most, out)) continue;
		if (out->n < 2 && decades < 3) break;
		add_minor_powers(lo, hi, strides[i], out);
		return;
	}
	if (!add_powers(lo, hi, three, 3, 1, most, out) && !add_powers(lo, hi, two, 2, 1, most, out))
		add_powers(lo, hi, decade, 1, 1, most, out);
	if (out->n >= 2 || decades >= 1) {
		add_minor_powers(lo, hi, 1, out);
		return;
	}
	out->n = 0; /* on so short an axis linear ticks read better */
	linear_ticks(lo, hi, most, out);
}

void ticks_find(const PlotSpan *s, int most, PlotTicks *out) {
	out->n = out->minors = 0;
	out->multiplier[0] = 0;
	if (most < 2) most = 2;
	if (most > PLOT_TICKS) most = PLOT_TICKS;
	if (s->log) log_ticks(s->lo, s->hi, most, out);
	else linear_ticks(s->lo, s->hi, most, out);
}
