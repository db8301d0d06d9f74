/* sensitivity_directions.h - directions of sensitivities, and gradients built
 * from them.
 *
 * Needs: rules.h, sundials.h.
 *
 * Contract: a direction is normalised before the integration. The result is
 * therefore linear in the direction, although its error controls the steps.
 */
#ifndef ATLED_SOLVERS_SUNDIALS_SENSITIVITY_DIRECTIONS_H
#define ATLED_SOLVERS_SUNDIALS_SENSITIVITY_DIRECTIONS_H

#include "solvers/sundials/rules.h"
#include "solvers/sundials/modules/sundials.h"

/* Directions k < ns in the space of (y0, active captured values). */
typedef struct Directions {
	Solve *s;
	const IvpInput *in;
	Active active;
	const Value *captured; /* of f */
	uint32_t ns;
	N_Vector *start; /* dy0 */
	Value *values;   /* ns x active.ncaptured: dp */
	/* the derivative in direction k is scale[k] times that along start[k] and
	 * values */
	double *scale;
} Directions;

Status directions_begin(Directions *d, Solve *s, const IvpInput *in, Active active,
                        const Value *captured, uint32_t ns);
/* Sets direction k: dy0 (NULL: zero), and one value for each active captured
 * value, of the same shape. */
Status direction_set(Directions *d, uint32_t k, const double *dy0, const Value *dp);
/* Sets direction k to the unit vector of the gradient's entry `index`. */
Status direction_unit(Directions *d, uint32_t k, int64_t index);
void directions_end(Directions *d);

/* Number of entries of a gradient: the unknowns (if y0 is active) and the
 * elements of the active captured values. */
int64_t active_count(const IvpInput *in, Active active, const Value *captured);
/* Splits the gradient into values with the dtypes and shapes of the
 * parameters. */
Status gradient_cut(Solve *s, Active active, Value y0, const Value *captured,
                    const double *gradient, Value *results);
/* max |dp_i| / size of p_i. NAN when memory fails. */
double relative_size_of(Solve *s, Value p, Value dp);
bool row_is_zero(const double *row, int64_t n);

#endif
