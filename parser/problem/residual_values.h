/* residual_values.h - residuals of a statement as numbers, at given coordinates
 * and jets, while it is being looked at.
 *
 * Needs: problem.h. Private to parser/problem/. A residual can be evaluated
 * where everything that it takes in is known then: parameters that are
 * arguments of a function being differentiated are not, and nothing is said
 * about the statement in that case.
 */
#ifndef ATLED_PARSER_PROBLEM_RESIDUAL_VALUES_H
#define ATLED_PARSER_PROBLEM_RESIDUAL_VALUES_H

#include "parser/problem/problem.h"

typedef struct Residual {
	const Ast *q;
	const At *at; /* NULL: it holds inside */
	Spot spot;
	Av *f;
	Spec spec;
	uint32_t rows;  /* 0: a number */
	bool *mentions; /* by jet: what its text names */
} Residual;

typedef struct Statement {
	Sp *sp;
	const Layout *l;
	bool checking;                         /* the program is not run */
	double lo[MAX_COORDS], hi[MAX_COORDS]; /* of intervals */
	bool bounded;                          /* all of them are known */
	int64_t *sizes;                        /* by field: 0 a number */
	uint32_t *offset; /* by jet: where its components lie among those of all jets */
	uint32_t total;
	VEC(Residual) residuals;
	const char *type; /* in words, once it has been found */
} Statement;

static inline uint32_t statement_parts(const Statement *s, uint32_t field) {
	return s->sizes[field] ? (uint32_t)s->sizes[field] : 1;
}
static inline uint32_t residual_rows(const Residual *r) { return r->rows ? r->rows : 1; }
/* The residual at coordinates and at the components of all jets; false when it
 * has no finite value there, or cannot be had now. `out` has residual_rows. */
bool residual_at(const Statement *s, const Residual *r, const double *coords, const double *jets,
                 double *out);
/* What one component of one jet adds: R(base + e) - R(base). False also when
 * the residual is not linear in it, unless `any`. */
bool residual_slope(const Statement *s, const Residual *r, const double *coords, const double *base,
                    uint32_t component, bool any, double *out);

enum { SAMPLES = 5 };
/* The k-th place of a few inside the domain, and values for all jets there:
 * any, but the initial values of fields that have them. With `rest` all are
 * zero. */
void sample_of(const Statement *s, uint32_t k, bool rest, double *coords, double *jets);
/* The value that a condition gives to its field at a place: it is about one
 * field's value alone, and linear in it. */
bool value_given(const Statement *s, const Residual *r, const double *coords, uint32_t *field,
                 double *out);

/* Eigenvalues of a real n by n matrix, n at most 8; false when the iteration
 * does not settle. */
enum { MAX_SYSTEM = 8 };
bool eigenvalues_of(uint32_t n, const double *a, double *re, double *im);

/* well_posed.c: reports what is ill-posed, and names the type; throws after
 * errors. */
void statement_check(Statement *s);
/* Whether there are as many scalar equations as components of unknowns; reports
 * what is not so. */
void statement_counts(const Statement *s);

#endif
