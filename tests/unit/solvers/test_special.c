/* test_special.c - robustness tests of the special functions.
 *
 * Every function gets every critical argument: none may crash, end the process,
 * or take long.
 *
 * Method: all rows of the table with all combinations of the arguments below.
 * Of four and more arguments some 3,000 combinations are drawn.
 *
 * Needs: solvers/special/elementwise.h, solvers/special/gsl.h.
 * Guarantees: NaN gives NaN, no call takes a tenth of a second, and results do
 * not depend on earlier calls.
 */
#include "solvers/special/elementwise.h"
#include "solvers/special/gsl.h"
#include "tests/unit/support/check.h"

#include <math.h>
#include <string.h>
#include <time.h>

static const double numbers[] = {
	0.0,
	-0.0,
	1,
	-1,
	2,
	-2,
	0.5,
	-0.5,
	0.1,
	1.5,
	3,
	7,
	-7,
	20.25,
	-20.25,
	100,
	-100,
	1e3,
	-1e3,
	12345.678,
	1e6,
	-1e6,
	1e8,
	999999999,
	-1e9,
	1e12,
	1e100,
	-1e100,
	1e308,
	-1e308,
	1e-5,
	-1e-5,
	1e-20,
	1e-300,
	-1e-300,
	5e-324,
	0.99999999999999989,
	1.0000000000000002,
	INFINITY,
	-INFINITY,
	NAN,
};
enum { NUMBERS = sizeof numbers / sizeof *numbers, DRAWN = 3000 };

static double seconds(void) {
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool same_number(double a, double b) { return (isnan(a) && isnan(b)) || a == b; }

static void try_row(const EachRow *row) {
	uint64_t all = 1, state = 0x9e3779b97f4a7c15u, slow = 0, lost = 0, unlike = 0;
	for (uint32_t k = 0; k < row->nargs; k++) all *= NUMBERS;
	const uint64_t turns = row->nargs < 3 ? all : DRAWN;
	const double longest = SANITIZED ? 2 : 0.1;
	double first[DRAWN];
	for (int again = 0; again < 2; again++) {
		state = 0x9e3779b97f4a7c15u;
		for (uint64_t i = 0; i < turns; i++) {
			double x[EACH_ARGS];
			bool nan = false;
			uint64_t at = i;
			if (row->nargs > 2) {
				state = state * 6364136223846793005u + 1442695040888963407u;
				at = (state >> 11) % all;
			}
			for (uint32_t k = 0; k < row->nargs; k++) {
				x[k] = numbers[at % NUMBERS];
				nan = nan || isnan(x[k]);
				at /= NUMBERS;
			}
			double y = NAN, took = INFINITY;
			/* A busy machine may make one call slow, but not three. */
			for (int turn = 0; turn < 3 && took > longest; turn++) {
				const double begun = seconds();
				y = row->value(x);
				took = fmin(took, seconds() - begun);
			}
			if (took > longest) {
				slow++;
				fprintf(stderr, "%s(%g, %g, %g, %g) takes %.2f s\n", row->name, x[0],
				        row->nargs > 1 ? x[1] : 0, row->nargs > 2 ? x[2] : 0,
				        row->nargs > 3 ? x[3] : 0, took);
			}
			if (nan && !isnan(y)) {
				if (!lost)
					fprintf(stderr, "%s(%g, %g, %g, %g) is %g\n", row->name, x[0],
					        row->nargs > 1 ? x[1] : 0, row->nargs > 2 ? x[2] : 0,
					        row->nargs > 3 ? x[3] : 0, y);
				lost++;
			}
			if (!again) first[i] = y;
			else if (!same_number(first[i], y)) unlike++;
		}
	}
	CHECK(slow == 0);
	CHECK(lost == 0);
	CHECK(unlike == 0);
}

int main(void) {
	CHECK(gsl_open());
	CHECK(gsl_open());
	uint32_t rows = 0;
	for (const EachRow *row = each_rows; row->name; row++, rows++) {
		CHECK(row->nargs >= 1 && row->nargs <= EACH_ARGS);
		for (const EachRow *other = each_rows; other != row; other++)
			CHECK(strcmp(other->name, row->name));
		try_row(row);
	}
	CHECK(rows > 60);
	return check_end();
}
