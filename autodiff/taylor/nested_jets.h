/* nested_jets.h - functions that expand another function along a number, and
 * what becomes of them when they are expanded again.
 *
 * Needs: transform_cache.h. Guarantees: f', f'', f''' written as derivatives of
 * derivatives cost one Taylor expansion, whose work grows as the square of the
 * order, not one forward derivative of another, whose work doubles with each. A
 * jvp, or a Taylor expansion along a straight line, of f by one real number is
 * a line of f; a derivative of it by the same number, with the direction held
 * fixed, is a longer line of the same f: d/dx [f^(k)(x) v^k / k!] = (k + 1)
 * [f^(k+1)(x) v^k / (k+1)!].
 */
#ifndef ATLED_AUTODIFF_TAYLOR_NESTED_JETS_H
#define ATLED_AUTODIFF_TAYLOR_NESTED_JETS_H

#include "autodiff/core/transform_cache.h"

/* g = (parameters of f, direction v) -> (results of f, then coefficients
 * 1..order of each that moves). */
typedef struct Line {
	Fn *f;
	uint32_t order, param; /* the number's place among the parameters of f */
	const bool *moves;     /* by result of f */
} Line;

/* Says of g, made from f with this mask, that it is a line, if it is one. */
void line_mark(const Derived *d, uint32_t order, Origin *origin);
/* Whether the call is to a line that can be made longer by `more`: of its
 * operands none but the number is active. `active` has a bool for each operand.
 */
bool line_called(Ctx *c, const Inst *call, const bool *active, uint32_t more, Line *out);

/* The results of a line of length order + more, had at once: `results` gets
 * those of the line of length `order` (along the direction that is the last of
 * `args`), and `further` for result i its coefficients 1..more in the number's
 * own change t, at [i * more + k - 1]; REF_NONE where it does not move. */
void line_expand(Ctx *c, Builder *b, Arena *scratch, const Line *line, const Ref *args, Ref t,
                 uint32_t more, Ref *results, Ref *further);

#endif
