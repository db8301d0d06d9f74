/* residual_values.h - numeric residuals of a problem at given coordinates and
 * jets, for its checks.
 *
 * Needs: problem.h. Private to parser/problem/.
 *
 * Contract: a residual can be evaluated if all its inputs are static.
 * Parameters that are arguments of a function being differentiated are not. The
 * problem is not judged in that case.
 */
#ifndef ATLED_PARSER_PROBLEM_RESIDUAL_VALUES_H
#define ATLED_PARSER_PROBLEM_RESIDUAL_VALUES_H

#include "parser/problem/problem.h"

typedef struct Residual {
	const Ast *q;
	const At *at; /* NULL: it holds inside */
	BoundaryLocation boundary;
	Av *f;
	Specialisation spec;
	uint32_t rows;  /* 0: a scalar */
	bool *mentions; /* by jet: true if its text mentions it */
} Residual;

typedef struct ProblemResiduals {
	Sp *sp;
	const Layout *l;
	bool checking;                         /* the program does not run */
	double lo[MAX_COORDS], hi[MAX_COORDS]; /* of intervals */
	bool bounded;                          /* all of them are static */
	int64_t *sizes;                        /* by field: 0 for a scalar */
	uint32_t *offset; /* by jet: the index of its first component among those of all jets */
	uint32_t total;
	VEC(Residual) residuals;
	const char *type; /* in words, after it has been found */
} ProblemResiduals;

static inline uint32_t statement_parts(const ProblemResiduals *s, uint32_t field) {
	return s->sizes[field] ? (uint32_t)s->sizes[field] : 1;
}
static inline uint32_t residual_rows(const Residual *r) { return r->rows ? r->rows : 1; }
/* The residual at given coordinates and components of all jets. Returns false
 * when it has no finite value there, or cannot be evaluated now. `out` has
 * residual_rows elements. */
bool residual_at(const ProblemResiduals *s, const Residual *r, const double *coords,
                 const double *jets, double *out);
/* The contribution of one component of one jet: R(base + e) - R(base). Also
 * returns false when the residual is not linear in it, unless `any`. */
bool residual_slope(const ProblemResiduals *s, const Residual *r, const double *coords,
                    const double *base, uint32_t component, bool any, double *out);

enum { SAMPLES = 5 };
/* The k-th sample point inside the domain, and values of all jets there. They
 * are arbitrary, except for the initial values of fields that have them. With
 * `rest` all are zero. */
void sample_of(const ProblemResiduals *s, uint32_t k, bool rest, double *coords, double *jets);
/* The value that a condition gives to its field at a point. Returns false
 * unless the condition contains only the value of one field, linearly. */
bool value_given(const ProblemResiduals *s, const Residual *r, const double *coords,
                 uint32_t *field, double *out);

/* Eigenvalues of a real n by n matrix, n at most 8. Returns false when the
 * iteration does not converge. */
enum { MAX_SYSTEM = 8 };
bool eigenvalues_of(uint32_t n, const double *a, double *re, double *im);

/* well_posed.c: reports what is ill-posed and determines the type; throws after
 * errors. */
void statement_check(ProblemResiduals *s);
/* Checks that there are as many scalar equations as components of unknowns, and
 * reports a mismatch. */
void statement_counts(const ProblemResiduals *s);

#endif
