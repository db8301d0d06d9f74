/* sensitivity_directions.h - what sensitivities are taken with respect to, and
 * gradients made of them.
 *
 * Needs: rules.h, sundials.h. Guarantees: a direction is divided by its size
 * before an integrator sees it, so that the answer is linear in the direction
 * though steps are chosen by its error.
 */
#ifndef ATLED_SOLVERS_SUNDIALS_SENSITIVITY_DIRECTIONS_H
#define ATLED_SOLVERS_SUNDIALS_SENSITIVITY_DIRECTIONS_H

#include "solvers/sundials/rules.h"
#include "solvers/sundials/sundials.h"

/* Directions k < ns in the space of (y0, active captured values). */
typedef struct Directions {
	Solve *s;
	const Given *in;
	Active active;
	const Value *captured; /* of f */
	uint32_t ns;
	N_Vector *start; /* dy0 */
	Value *values;   /* ns x active.ncaptured: dp */
	/* the derivative in direction k is scale[k] times what comes of start[k]
	 * and values */
	double *scale;
} Directions;

Status directions_begin(Directions *d, Solve *s, const Given *in, Active active,
                        const Value *captured, uint32_t ns);
/* Direction k: dy0 (NULL: zero), and one value for each active captured one, of
 * its shape. */
Status direction_set(Directions *d, uint32_t k, const double *dy0, const Value *dp);
/* Direction k: that in which number `index` of the gradient grows by one. */
Status direction_unit(Directions *d, uint32_t k, int64_t index);
void directions_end(Directions *d);

/* Unknowns (where y0 is active) and the numbers of the active captured values,
 * one after the other: what a gradient has entries for. */
int64_t active_count(const Given *in, Active active, const Value *captured);
/* The gradient cut into values of the dtypes and shapes of what it belongs to.
 */
Status gradient_cut(Solve *s, Active active, Value y0, const Value *captured,
                    const double *gradient, Value *results);
/* max |dp_i| / size of p_i. NAN when memory fails. */
double relative_size_of(Solve *s, Value p, Value dp);
bool row_is_zero(const double *row, int64_t n);

#endif
